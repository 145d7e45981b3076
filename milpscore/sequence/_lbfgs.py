"""SciPy's L-BFGS-B; the L1 norm by parting theta into its positive and its negative part."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.sequence._data import SequenceData
from milpscore.sequence._prepared import Prepared
from milpscore.sequence._stopping import Objective, Status
from milpscore.sequence._trace import Recorder, TrainOptions, TrainResult, train_by

_MEMORY = 10


def lbfgs(
    data: SequenceData | Prepared, rho1: float = 0.0, rho2: float = 0.0, **options: Any
) -> TrainResult:
    """Train by SciPy's L-BFGS-B.

    With rho1 > 0 it minimises over u, v >= 0 with theta = u - v, where the L1 norm is the sum of
    both: twice the variables, some 40 vectors of them in memory.

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
    """
    return train_lbfgs(data, TrainOptions(rho1=rho1, rho2=rho2, **options))


def train_lbfgs(data: SequenceData | Prepared, options: TrainOptions) -> TrainResult:
    """The same with its options in one object, see :func:`lbfgs`."""
    return train_by(_run, data, options)


class _Split:
    """The objective over the variables SciPy sees, and what it evaluated last."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.seen: tuple[FloatArray, float, FloatArray] | None = None

    def variables(self, theta: FloatArray) -> FloatArray:
        """Theta itself, or its positive and its negative part."""
        if not self.objective.rho1:
            return theta
        return np.concatenate([np.maximum(theta, 0.0), np.maximum(-theta, 0.0)])

    def theta(self, x: FloatArray) -> FloatArray:
        """The parameters of a point."""
        if not self.objective.rho1:
            return x.copy()
        positive, negative = np.split(x, 2)
        return np.asarray(positive - negative)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at a point."""
        theta = self.theta(x)
        value, gradient = self.objective.smooth(theta)
        self.seen = theta, value, gradient
        rho1 = self.objective.rho1
        if not rho1:
            return value, gradient
        return value + rho1 * float(x.sum()), np.concatenate([gradient + rho1, rho1 - gradient])

    def at(self, x: FloatArray) -> tuple[FloatArray, float, float]:
        """Theta, objective and distance at an iterate, most often what was evaluated last."""
        if self.seen is None or not np.array_equal(self.seen[0], self.theta(x)):
            self(x)
        if self.seen is None:
            raise RuntimeError("an evaluation must be remembered")
        theta, value, gradient = self.seen
        return (
            theta,
            self.objective.penalised(theta, value),
            self.objective.distance(theta, gradient),
        )


def _run(objective: Objective, start: FloatArray, recorder: Recorder) -> Status:
    from scipy.optimize import Bounds, minimize

    split = _Split(objective)
    x = split.variables(start)
    status = recorder.note(0, *split.at(x))
    iteration = 0

    def look(xk: FloatArray) -> None:
        nonlocal status, iteration
        iteration += 1
        status = recorder.note(iteration, *split.at(xk))
        if status is not None:
            raise StopIteration

    while status is None:
        before = iteration
        outcome = minimize(
            split,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(0.0, np.inf) if objective.rho1 else None,
            callback=look,
            options={
                "maxcor": _MEMORY,
                "maxiter": 10**9,
                "maxfun": 10**9,
                "ftol": 0.0,
                "gtol": 0.0,
            },
        )
        # SciPy gives up where its line search fails: once more without its memory, if it had moved
        if status is None and iteration == before:
            return Status.STALLED
        x = outcome.x
    return status
