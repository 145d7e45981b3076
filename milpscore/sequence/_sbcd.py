"""SBCD: sparse blockwise coordinate descent, a block an observation symbol."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.sequence._blocks import Blocks, Working
from milpscore.sequence._data import SequenceData
from milpscore.sequence._prepared import Prepared
from milpscore.sequence._stopping import Objective, Status, least_subgradient
from milpscore.sequence._trace import Recorder, TrainOptions, TrainResult, train_by

# Sweeps over the working parameters between two looks at all of them: no more than so many, and
# none once the violation met has fallen to this share of the one at the last look.
_SWEEPS = 5
_ENOUGH = 0.2
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
    sweeps are over the parameters that are not zero or want to leave zero, five of them or fewer.
    An iteration of the trace is such a look; it is also taken at the point the sweeps are bound for
    (Anderson acceleration), and goes on from there where the objective is lower.

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
    block may diverge. The acceleration is that of Bertrand & Massias (2021).
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

    def descend(self, working: Working, violation: float, sweeps: int) -> list[FloatArray]:
        """Sweep over the working parameters; their values before, and after each sweep.

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
        seen = [working.theta.copy()]
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
            seen.append(working.theta.copy())
            if met <= wanted**2:
                break
        return seen

    def move(self, working: Working, values: FloatArray) -> None:
        """Go on from these values of the working parameters."""
        self.theta = self.theta.copy()
        self.theta[working.at] = values
        if not np.array_equal(values, working.theta):
            self.forget()


def extrapolated(seen: list[FloatArray]) -> FloatArray | None:
    """Where a sequence of sweeps is bound for (Anderson acceleration); None where that is unclear.

    The affine combination of the iterates whose steps cancel best.
    """
    if len(seen) < 3:
        return None
    steps = np.diff(np.array(seen), axis=0)
    gram = steps @ steps.T
    top = float(gram.diagonal().max())
    gram[np.diag_indices(len(gram))] += 1e-12 * top
    try:
        shares = np.linalg.solve(gram, np.ones(len(gram)))
    except np.linalg.LinAlgError:
        return None
    total = float(shares.sum())
    if not (np.isfinite(total) and total > 0.0):
        return None
    return np.asarray(shares / total @ np.array(seen[1:]))


def _run(objective: Objective, start: FloatArray, recorder: Recorder) -> Status:
    descent = BlockDescent(objective, start)
    smooth, gradient = objective.smooth(start)
    value = objective.penalised(start, smooth)
    iteration = 0
    while True:
        least = least_subgradient(descent.theta, gradient, objective.rho1)
        status = recorder.note(iteration, descent.theta, value, objective.relative(least))
        if status is not None:
            return status
        working = descent.working(gradient)
        seen = descent.descend(working, float(np.linalg.norm(least)), _SWEEPS)
        if len(seen) == 1:
            return Status.STALLED
        ahead, before = extrapolated(seen), value
        descent.move(working, seen[-1])
        smooth, gradient = objective.smooth(descent.theta)
        value = objective.penalised(descent.theta, smooth)
        if ahead is not None:
            descent.move(working, ahead)
            smooth_ahead, gradient_ahead = objective.smooth(descent.theta)
            value_ahead = objective.penalised(descent.theta, smooth_ahead)
            if value_ahead < value:
                value, gradient = value_ahead, gradient_ahead
            else:
                descent.move(working, seen[-1])
        if before - value <= _ROUNDING * abs(before):
            return Status.STALLED
        iteration += 1
