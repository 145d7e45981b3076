"""Any separable penalty with a prox on a CRF: accelerated proximal gradient with backtracking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.terms import ProxPenalty
from milpscore.sequence._data import SequenceData
from milpscore.sequence._model import negative_log_likelihood
from milpscore.sequence._prepared import Prepared
from milpscore.sequence._stopping import Objective, Status
from milpscore.sequence._trace import Recorder, TrainOptions, TrainResult, train_by

_MORE_CURVATURE = 2.0
_LESS_CURVATURE = 0.8
# sums of losses are known to some such share of themselves
_ROUNDING = 1e-13
_STEEPEST = 1e300


def check_penalty(penalty: Any) -> None:
    """Refuse what cannot be the penalty of a CRF.

    Raises
    ------
    OptionError
        It has no prox, or is no sum over the coefficients.
    """
    if not all(hasattr(penalty, name) for name in ("value", "prox", "subdiff_distance")):
        raise OptionError(
            f"penalty={penalty!r} has no value, prox and subdiff_distance: give an object of "
            "milpscore.penalties, for example Facets(0.5)"
        )
    if not penalty.separable:
        raise OptionError(
            f"the penalty {penalty.name} is no sum over the coefficients, and the features of a "
            "CRF have no order or groups for it: use Facets, StronglyConvexFacets, AlphaFacets, "
            "L1, L2 or ElasticNet"
        )


def train_penalised(
    data: SequenceData | Prepared, penalty: ProxPenalty, options: TrainOptions
) -> TrainResult:
    """Minimise sum_i -log p(y_i | x_i) + penalty(theta) by FISTA with backtracking and restarts.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    penalty : ProxPenalty
        Separable; its weight counts against the summed loss, as rho1 does.
    options : TrainOptions
        Those for all trainers, with rho1 = rho2 = 0: the penalty stands in their place.

    Returns
    -------
    TrainResult

    Raises
    ------
    DataError
        Labels are missing or were never seen in training, or the start is of another model.
    OptionError
        The penalty does not fit, or rho1 or rho2 is not 0.

    References
    ----------
    Beck & Teboulle, "A fast iterative shrinkage-thresholding algorithm" (2009); O'Donoghue &
    Candes, "Adaptive restart for accelerated gradient schemes" (2015). For the Facets penalty:
    Belahcene et al. (2020), eqs 10, 11 (which omits lambda), 12 and 18.
    """
    check_penalty(penalty)
    if options.rho1 or options.rho2:
        raise OptionError("a penalty stands in the place of rho1 and rho2: set both to 0")

    def algorithm(objective: Objective, start: FloatArray, recorder: Recorder) -> Status:
        return _Descent(objective, penalty, start).run(recorder)

    return train_by(algorithm, data, options)


@dataclass(eq=False)
class _Point:
    """Parameters, and the loss and its gradient there."""

    theta: FloatArray
    loss: float
    gradient: FloatArray


class _Descent:
    """The state of one run."""

    def __init__(self, objective: Objective, penalty: ProxPenalty, start: FloatArray) -> None:
        self.objective, self.penalty = objective, penalty
        self.now = self._at(start)
        self.ahead = self.now
        self.speed = 1.0
        self.bend = 1.0
        zero = objective.prepared.layout.zeros()
        gradient = objective.smooth(zero)[1]
        self.unit = self._rest(zero, gradient) or float(np.linalg.norm(gradient)) or 1.0

    def run(self, recorder: Recorder) -> Status:
        """Step until the recorder says why to stop."""
        iteration = 0
        while True:
            now = self.now
            value = now.loss + self.penalty.value(now.theta)
            distance = self._rest(now.theta, now.gradient) / self.unit
            status = recorder.note(iteration, now.theta, value, distance)
            if status is not None:
                return status
            if not self._step():
                return Status.STALLED
            iteration += 1

    def _at(self, theta: FloatArray) -> _Point:
        return _Point(theta, *self.objective.smooth(theta))

    def _rest(self, theta: FloatArray, gradient: FloatArray) -> float:
        """Distance of 0 to the subdifferential."""
        return float(np.linalg.norm(self.penalty.subdiff_distance(theta, gradient)))

    def _step(self) -> bool:
        """One proximal step; False where nothing moves any more."""
        old, ahead = self.now, self.ahead
        new = self._backtrack(ahead)
        if np.array_equal(new, ahead.theta):
            if ahead is old:
                return False
            # at rest from a point ahead: look from the point itself
            self.ahead, self.speed = old, 1.0
            return self._step()
        self.now = self._at(new)
        if float((ahead.theta - new) @ (new - old.theta)) > 0:
            # the momentum points uphill: forget it, and let the curvature shrink again
            self.speed, self.ahead = 1.0, self.now
            self.bend *= _LESS_CURVATURE
            return True
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.speed**2))
        factor = (self.speed - 1.0) / faster
        self.speed = faster
        self.ahead = self._at(new + factor * (new - old.theta)) if factor > 0 else self.now
        return True

    def _backtrack(self, ahead: _Point) -> FloatArray:
        """Raise the curvature until the parabola lies above the loss at the new point."""
        prepared = self.objective.prepared
        while True:
            step = 1.0 / self.bend
            new = self.penalty.prox(ahead.theta - step * ahead.gradient, step)
            move = new - ahead.theta
            above = 0.5 * self.bend * float(move @ move) + _ROUNDING * abs(ahead.loss)
            rise = negative_log_likelihood(prepared, new) - ahead.loss
            if rise <= float(ahead.gradient @ move) + above or self.bend > _STEEPEST:
                return new
            self.bend *= _MORE_CURVATURE
