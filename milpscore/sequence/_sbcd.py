"""SBCD: sparse blockwise coordinate descent, a block an observation symbol."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.sequence._blocks import Blocks, Working
from milpscore.sequence._data import SequenceData
from milpscore.sequence._owlqn import Memory, quasi_newton_step
from milpscore.sequence._prepared import Prepared
from milpscore.sequence._stopping import Objective, Status, least_subgradient
from milpscore.sequence._trace import Recorder, TrainOptions, TrainResult, train_by

# Sweeps over the working parameters between two looks at all of them: no more than so many, and
# none once the violation met has fallen to this share of the one at the last look.
_SWEEPS = 2
_ENOUGH = 0.2
# Steps of all parameters together after the sweeps.
_JOINT_STEPS = 2
# Sums of losses are known to some such share of themselves.
_ROUNDING = 1e-15


def sbcd(
    data: SequenceData | Prepared, rho1: float = 0.0, rho2: float = 0.0, **options: Any
) -> TrainResult:
    """Train by sparse blockwise coordinate descent.

    A block is an observation symbol: its row of mu and, where it is a bigram observation, its
    matrix of lambda. All of a block's parameters step to S(theta H - g, rho1) / (H + rho2) at once,
    g and H being the first and the diagonal second derivatives of the loss at the block's turn: mu
    first, then lambda, then a shift of each mu_y against its column of lambda. A line search along
    each step makes it lower the objective. H takes occurrences of a symbol in one sequence as
    independent: it is exact where there is one.

    Only sequences that hold the symbol are touched, and of them only the positions between this
    step and the last one: forward and backward vectors are kept, and a step at a position leaves
    those before it, or those behind it, as they were. Between two looks at the whole gradient the
    sweeps are over the parameters that are not zero or want to leave zero, two of them or fewer.
    Blocks that hold at the same positions (a word and its part of speech) follow each other but
    slowly: after the sweeps come two steps of OWL-QN, whose memory holds the sweeps too. An
    iteration of the trace is all of these.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    rho1, rho2 : float
        Weights of |theta|_1 and |theta|_2^2 / 2 beside the summed loss.
    **options
        See :class:`TrainOptions`.

    Returns
    -------
    TrainResult

    Raises
    ------
    DataError
        Labels are missing or were never seen in training, or the start is of another model.
    OptionError
        An option outside its range.

    References
    ----------
    Sokolovska (slides), "Blockwise Coordinate Descent" and "Sparse Forward-Backward"; Sokolovska,
    Lavergne, Cappe & Yvon, "Efficient learning of sparse conditional random fields" (2010). The
    line search, which is not there, is that of Tseng & Yun (2009): without it the step of a whole
    block may diverge. The joint steps are those of Andrew & Gao (2007).
    """
    return train_sbcd(data, TrainOptions(rho1=rho1, rho2=rho2, **options))


def train_sbcd(data: SequenceData | Prepared, options: TrainOptions) -> TrainResult:
    """The same with its options in one object, see :func:`sbcd`."""
    return train_by(_run, data, options)


class BlockDescent:
    """The state of one run: kept vectors, step lengths, the parameters.

    Parameters
    ----------
    objective : Objective
    start : ndarray of shape (n_parameters,)
    """

    def __init__(self, objective: Objective, start: FloatArray) -> None:
        data = objective.prepared.data
        self.objective, self.theta = objective, start
        self.blocks = Blocks(objective.prepared)
        index, count = objective.prepared.observed
        self.counts = objective.prepared.layout.zeros()
        self.counts[index] = count
        sets = self.blocks.unigrams.of_position, self.blocks.bigrams.of_position
        self.chain = (data.offsets, *sets)
        shape = (data.n_positions, data.n_labels)
        self.state: tuple[Any, ...] = (
            np.ones(shape),
            np.ones(shape),
            np.ones(shape[0]),
            np.empty_like(data.offsets[1:]),
            np.empty_like(data.offsets[1:]),
        )
        self.lengths = np.ones((len(self.blocks.unigram), 2))
        self.forget()

    def forget(self) -> None:
        """The kept vectors are of other parameters: only the last backward ones, ones, hold."""
        backward, offsets = self.state[1], self.blocks.data.offsets
        self.state[3][:] = offsets[:-1]
        self.state[4][:] = np.maximum(offsets[1:] - 1, offsets[:-1])
        backward[offsets[1:][np.diff(offsets) > 0] - 1] = 1.0

    def working(self, gradient: FloatArray) -> Working:
        """The parameters that are not zero or, at this gradient, want to leave zero."""
        rho1 = self.objective.rho1
        if rho1 == 0.0:
            at = np.arange(len(self.theta))
        else:
            at = np.flatnonzero((self.theta != 0.0) | (np.abs(gradient) > rho1))
        return Working(self.blocks, self.theta, at)

    def descend(self, working: Working, violation: float, sweeps: int) -> bool:
        """Sweep over the working parameters; whether any step was made.

        Parameters
        ----------
        working : Working
        violation : float
            Norm of the least subgradient now; a share of it is enough.
        sweeps : int
        """
        from milpscore.sequence._kernels_steps import sweep_blocks

        labels = self.blocks.data.n_labels
        rooms = (np.empty(labels), np.ones(labels))
        index = self.blocks.arrays
        world = (self.chain, self.state, working.sets, index, working.arrays, rooms)
        out = (
            np.empty((5, working.widest)),
            np.empty((2, self.blocks.most)),
            np.empty((3, labels)),
        )
        rhos = (float(self.objective.rho1), float(self.objective.rho2))
        counts = self.counts[working.at]
        wanted = _ENOUGH * violation
        quiet = (0.1 * wanted) ** 2 / max(len(working.order), 1)
        violations = np.full(self.lengths.shape, np.inf)
        moved = False
        for _ in range(sweeps):
            met, fall = sweep_blocks(
                working.order,
                quiet,
                violations,
                working.theta,
                counts,
                self.lengths,
                rhos,
                working.ranges,
                world,
                out,
            )
            if fall == 0.0:
                break
            moved = True
            if met <= wanted**2:
                break
        return moved

    def finish(self, working: Working) -> None:
        """Take over the working parameters; the kept vectors are theirs."""
        self.theta = self.theta.copy()
        self.theta[working.at] = working.theta

    def go_to(self, theta: FloatArray) -> None:
        """Go on from these parameters."""
        self.theta = theta
        self.forget()


def _run(objective: Objective, start: FloatArray, recorder: Recorder) -> Status:
    descent, memory = BlockDescent(objective, start), Memory()
    smooth, gradient = objective.smooth(start)
    value = objective.penalised(start, smooth)
    iteration = 0
    while True:
        theta, before = descent.theta, value
        least = least_subgradient(theta, gradient, objective.rho1)
        status = recorder.note(iteration, theta, value, objective.relative(least))
        if status is not None:
            return status
        working = descent.working(gradient)
        if not descent.descend(working, float(np.linalg.norm(least)), _SWEEPS):
            return Status.STALLED
        descent.finish(working)
        smooth, swept = objective.smooth(descent.theta)
        value = objective.penalised(descent.theta, smooth)
        at = memory.move_to((theta != 0.0) | (descent.theta != 0.0))
        memory.add((descent.theta - theta)[at], (swept - gradient)[at])
        gradient = swept
        for _ in range(_JOINT_STEPS):
            found = _joint_step(objective, descent, value, gradient, memory)
            if found is None:
                break
            value, gradient = found
        if before - value <= _ROUNDING * abs(before):
            return Status.STALLED
        iteration += 1


def _joint_step(
    objective: Objective, descent: BlockDescent, value: float, gradient: FloatArray, memory: Memory
) -> tuple[float, FloatArray] | None:
    """Move all parameters together by a step of OWL-QN: the new objective and smooth gradient."""
    slope = least_subgradient(descent.theta, gradient, objective.rho1)
    if not slope.any():
        return None
    found = quasi_newton_step(objective, descent.theta, value, gradient, slope, memory)
    if found is None:
        return None
    descent.go_to(found[0])
    return found[1], found[2]
