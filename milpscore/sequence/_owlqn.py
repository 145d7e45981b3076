"""OWL-QN: L-BFGS that stays in an orthant, for the L1 norm."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.sequence._data import SequenceData
from milpscore.sequence._prepared import Prepared
from milpscore.sequence._stopping import Objective, Status, least_subgradient
from milpscore.sequence._trace import Recorder, TrainOptions, TrainResult, train_by

BoolArray = npt.NDArray[np.bool_]

_MEMORY = 10
_SUFFICIENT = 1e-4
_HALVINGS = 30


def owlqn(
    data: SequenceData | Prepared, rho1: float = 0.0, rho2: float = 0.0, **options: Any
) -> TrainResult:
    """Train by OWL-QN.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    rho1, rho2 : float
        Weights of |theta|_1 and |theta|_2^2 / 2 beside the summed loss. With rho1 = 0 it is L-BFGS
        with a backtracking line search.
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
    Andrew & Gao, "Scalable training of L1-regularized log-linear models" (2007). Its quasi-Newton
    model is built here on the working coordinates alone: those not at zero, those that leave zero,
    and those that moved within the memory. The others keep still in an iteration anyhow; of
    a million parameters a few thousand are left.
    """
    return train_owlqn(data, TrainOptions(rho1=rho1, rho2=rho2, **options))


def train_owlqn(data: SequenceData | Prepared, options: TrainOptions) -> TrainResult:
    """The same with its options in one object, see :func:`owlqn`."""
    return train_by(_run, data, options)


class Memory:
    """The last pairs (step, change of gradient) on the working coordinates."""

    def __init__(self) -> None:
        self.index: IntArray = np.zeros(0, dtype=np.int64)
        self.pairs: list[tuple[FloatArray, FloatArray]] = []

    def clear(self) -> None:
        """Forget all pairs."""
        self.pairs = []

    def move_to(self, wanted: BoolArray) -> IntArray:
        """Lay the pairs out on ``wanted`` (a mask) and the coordinates that moved; return these.

        A coordinate that is new has no known change of gradient: it starts uncoupled.
        """
        if self.pairs:
            moved = np.zeros(len(self.index), dtype=bool)
            for step, _ in self.pairs:
                moved |= step != 0.0
            wanted[self.index[moved]] = True
        index = np.flatnonzero(wanted)
        if self.pairs and not np.array_equal(index, self.index):
            source = np.flatnonzero(wanted[self.index])
            target = np.searchsorted(index, self.index[source])
            self.pairs = [
                (
                    _laid_out(step, source, target, len(index)),
                    _laid_out(change, source, target, len(index)),
                )
                for step, change in self.pairs
            ]
        self.index = index
        return index

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Keep a pair on the present coordinates where its curvature is positive."""
        if step @ change > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.pairs = [*self.pairs[1 - _MEMORY :], (step, change)]

    def times(self, vector: FloatArray) -> FloatArray:
        """The inverse Hessian's model times a vector (two-loop recursion)."""
        result = vector.copy()
        if not self.pairs:
            return result
        parts = []
        for step, change in reversed(self.pairs):
            rate = 1.0 / float(step @ change)
            share = rate * float(step @ result)
            result -= share * change
            parts.append((rate, share))
        step, change = self.pairs[-1]
        result *= float(step @ change) / float(change @ change)
        for (step, change), (rate, share) in zip(self.pairs, reversed(parts), strict=True):
            result += (share - rate * float(change @ result)) * step
        return result


def _laid_out(values: FloatArray, source: IntArray, target: IntArray, size: int) -> FloatArray:
    placed = np.zeros(size)
    placed[target] = values[source]
    return placed


def _run(objective: Objective, start: FloatArray, recorder: Recorder) -> Status:
    rho1 = objective.rho1
    theta, memory = start, Memory()
    smooth, gradient = objective.smooth(theta)
    value = objective.penalised(theta, smooth)
    iteration = 0
    while True:
        slope = least_subgradient(theta, gradient, rho1)
        status = recorder.note(iteration, theta, value, objective.relative(slope))
        if status is not None:
            return status
        found = quasi_newton_step(objective, theta, value, gradient, slope, memory)
        if found is None:
            return Status.STALLED
        theta, value, gradient = found
        iteration += 1


def quasi_newton_step(
    objective: Objective,
    theta: FloatArray,
    value: float,
    gradient: FloatArray,
    slope: FloatArray,
    memory: Memory,
) -> tuple[FloatArray, float, FloatArray] | None:
    """One step of OWL-QN, kept in ``memory``: the new parameters, objective and smooth gradient.

    ``slope`` is the least subgradient at ``theta``. None where no step lowers the objective, one
    without memory included.
    """
    at = memory.move_to((slope != 0.0) | (theta != 0.0))
    found = _searched(objective, theta, value, slope[at], at, memory)
    if found is None and memory.pairs:
        memory.clear()
        found = _searched(objective, theta, value, slope[at], at, memory)
    if found is not None:
        memory.add(found[0][at] - theta[at], found[2][at] - gradient[at])
    return found


def _searched(
    objective: Objective,
    theta: FloatArray,
    value: float,
    slope: FloatArray,
    at: IntArray,
    memory: Memory,
) -> tuple[FloatArray, float, FloatArray] | None:
    """The first point of a backtracking search that falls enough, None where there is none."""
    here = theta[at]
    direction = -memory.times(slope)
    if objective.rho1:
        # only where the model agrees with the slope (Andrew & Gao, step 2)
        direction[direction * slope >= 0.0] = 0.0
        orthant = np.where(here != 0.0, np.sign(here), -np.sign(slope))
    if direction @ slope >= 0.0:
        return None
    length = 1.0 if memory.pairs else min(1.0, 1.0 / float(np.linalg.norm(slope)))
    for _ in range(_HALVINGS):
        there = here + length * direction
        if objective.rho1:
            there[there * orthant <= 0.0] = 0.0
        new = theta.copy()
        new[at] = there
        smooth, gradient = objective.smooth(new)
        reached = objective.penalised(new, smooth)
        fall = float(slope @ (there - here))
        if reached <= value + _SUFFICIENT * fall and reached < value:
            return new, reached, gradient
        length *= 0.5
    return None
