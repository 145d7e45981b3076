"""Trainers that step by whole gradients: OWL-QN, SciPy's L-BFGS-B, proximal gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.core.result import Termination
from milpscore.core.statement import ProxPenalty
from milpscore.sequence.inference import negative_log_likelihood
from milpscore.sequence.training import (
    Algorithm,
    Objective,
    Recorder,
    TrainOptions,
    least_subgradient,
)

_MEMORY = 10
# OWL-QN: share of the promised fall that a step must reach, and halvings of a step.
_SUFFICIENT = 1e-4
_HALVINGS = 30
# Proximal gradients: factors of the curvature; sums of losses are known to some such share.
_MORE_CURVATURE, _LESS_CURVATURE, _STEEPEST = 2.0, 0.8, 1e300
_ROUNDING = 1e-13


class Iterate(NamedTuple):
    """A point of a quasi-Newton run: parameters, objective, gradient of the smooth part."""

    theta: FloatArray
    value: float
    gradient: FloatArray

    @classmethod
    def at(cls, objective: Objective, theta: FloatArray) -> Iterate:
        """Evaluate the objective at theta."""
        smooth, gradient = objective.smooth(theta)
        return cls(theta, objective.penalised(theta, smooth), gradient)


class Memory:
    """The last pairs (step, change of gradient) on the working coordinates.

    Of a million parameters a few thousand are worked on: those not at zero, those that leave zero,
    and those that moved within the memory. The others keep still in an iteration anyhow.
    """

    def __init__(self) -> None:
        self.index: IntArray = np.zeros(0, dtype=np.int64)
        self.pairs: list[tuple[FloatArray, FloatArray]] = []

    def move_to(self, wanted: npt.NDArray[np.bool_]) -> IntArray:
        """Lay the pairs out on ``wanted`` (a mask) and the coordinates that moved; return these.

        A coordinate that is new has no known change of gradient: it starts uncoupled.
        """
        for step, _ in self.pairs:
            wanted[self.index[step != 0.0]] = True
        index = np.flatnonzero(wanted)
        if self.pairs and not np.array_equal(index, self.index):
            source = np.flatnonzero(wanted[self.index])
            target = np.searchsorted(index, self.index[source])

            def laid_out(values: FloatArray) -> FloatArray:
                placed = np.zeros(len(index))
                placed[target] = values[source]
                return placed

            self.pairs = [(laid_out(step), laid_out(change)) for step, change in self.pairs]
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


def owlqn(objective: Objective, start: FloatArray, recorder: Recorder) -> Termination:
    """L-BFGS that stays in an orthant (Andrew & Gao 2007); with rho1 = 0 plain L-BFGS."""
    now, memory = Iterate.at(objective, start), Memory()
    iteration = 0
    while True:
        slope = least_subgradient(now.theta, now.gradient, objective.rho1)
        stop = recorder.note(iteration, now.theta, now.value, objective.relative(slope))
        if stop is not None:
            return stop
        found = quasi_newton_step(objective, now, slope, memory)
        if found is None:
            return Termination.STALLED
        now = found
        iteration += 1


def quasi_newton_step(
    objective: Objective, now: Iterate, slope: FloatArray, memory: Memory
) -> Iterate | None:
    """One step of OWL-QN along the least subgradient ``slope``, kept in ``memory``.

    None where no step lowers the objective, one without memory included.
    """
    at = memory.move_to((slope != 0.0) | (now.theta != 0.0))
    found = _searched(objective, now, slope[at], at, memory)
    if found is None and memory.pairs:
        memory.pairs = []
        found = _searched(objective, now, slope[at], at, memory)
    if found is not None:
        memory.add(found.theta[at] - now.theta[at], found.gradient[at] - now.gradient[at])
    return found


def _searched(
    objective: Objective, now: Iterate, slope: FloatArray, at: IntArray, memory: Memory
) -> Iterate | None:
    """The first point of a backtracking search that falls enough, None where there is none."""
    here = now.theta[at]
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
        new = now.theta.copy()
        new[at] = there
        found = Iterate.at(objective, new)
        promised = _SUFFICIENT * float(slope @ (there - here))
        if found.value <= now.value + promised and found.value < now.value:
            return found
        length *= 0.5
    return None


def lbfgs(objective: Objective, start: FloatArray, recorder: Recorder) -> Termination:
    """SciPy's L-BFGS-B; with rho1 > 0 over u, v >= 0, theta = u - v, |theta|_1 their sum."""
    from scipy.optimize import Bounds, minimize

    split = bool(objective.rho1)
    seen: list[Iterate] = []

    def evaluated(x: FloatArray) -> Iterate:
        """The objective at a point, most often the one evaluated last."""
        theta = x[: len(start)] - x[len(start) :] if split else x.copy()
        if not seen or not np.array_equal(seen[0].theta, theta):
            seen[:] = [Iterate(theta, *objective.smooth(theta))]
        return seen[0]

    def value_and_slope(x: FloatArray) -> tuple[float, FloatArray]:
        _, smooth, gradient = evaluated(x)
        if not split:
            return smooth, gradient
        slope = np.concatenate([gradient + objective.rho1, objective.rho1 - gradient])
        return smooth + objective.rho1 * float(x.sum()), slope

    stop: Termination | None = None
    iteration = 0

    def look(x: FloatArray) -> None:
        nonlocal stop, iteration
        theta, smooth, gradient = evaluated(x)
        value = objective.penalised(theta, smooth)
        stop = recorder.note(iteration, theta, value, objective.distance(theta, gradient))
        iteration += 1

    def callback(xk: FloatArray) -> None:
        look(xk)
        if stop is not None:
            raise StopIteration

    x = np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)]) if split else start
    look(x)
    endless: dict[str, Any] = {"maxcor": _MEMORY, "maxiter": 10**9, "maxfun": 10**9}
    while stop is None:
        before = iteration
        outcome = minimize(
            value_and_slope,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(0.0, np.inf) if split else None,
            callback=callback,
            options={**endless, "ftol": 0.0, "gtol": 0.0},
        )
        # SciPy gives up where its line search fails: once more without its memory, if it had moved
        if stop is None and iteration == before:
            return Termination.STALLED
        x = outcome.x
    return stop


def check_penalty(penalty: Any) -> None:
    """Refuse what cannot be the penalty of a CRF: it has no prox, or is not a sum."""
    if not all(hasattr(penalty, name) for name in ("value", "prox", "subdiff_distance")):
        raise OptionError(
            f"penalty={penalty!r} has no value, prox and subdiff_distance: give an object of "
            "milpscore.penalties, for example Facets(0.5)"
        )
    if not penalty.separable:
        raise OptionError(
            f"the penalty {penalty.name} is not a sum over the coefficients, and the features of a "
            "CRF have no order or groups for it: use Facets, StronglyConvexFacets, AlphaFacets, "
            "L1, L2 or ElasticNet"
        )


def by_penalty(penalty: ProxPenalty, options: TrainOptions) -> Algorithm:
    """The algorithm for sum_i -log p(y_i | x_i) + penalty(theta)."""
    check_penalty(penalty)
    if options.rho1 or options.rho2:
        raise OptionError("a penalty stands in the place of rho1 and rho2: set both to 0")

    def fista(objective: Objective, start: FloatArray, recorder: Recorder) -> Termination:
        return _accelerated(objective, penalty, start, recorder)

    return fista


class _Point(NamedTuple):
    """Parameters, and the loss and its gradient there."""

    theta: FloatArray
    loss: float
    gradient: FloatArray


def _accelerated(
    objective: Objective, penalty: ProxPenalty, start: FloatArray, recorder: Recorder
) -> Termination:
    """Accelerated proximal gradient steps with backtracking and restarts (FISTA).

    From ``ahead`` = now + momentum, one step goes to prox(ahead - gradient / bend, 1 / bend), where
    the parabola of curvature ``bend`` must lie above the loss.
    """

    def at(theta: FloatArray) -> _Point:
        return _Point(theta, *objective.smooth(theta))

    def rest(point: _Point) -> float:
        """Distance of 0 to the subdifferential."""
        return float(np.linalg.norm(penalty.subdiff_distance(point.theta, point.gradient)))

    zero = at(np.zeros_like(start))
    unit = rest(zero) or float(np.linalg.norm(zero.gradient)) or 1.0
    now = ahead = at(start)
    speed = bend = 1.0
    iteration = 0
    while True:
        value = now.loss + penalty.value(now.theta)
        stop = recorder.note(iteration, now.theta, value, rest(now) / unit)
        if stop is not None:
            return stop
        new, bend = _backtracked(objective, penalty, ahead, bend)
        if np.array_equal(new, ahead.theta) and ahead is not now:
            # at rest from a point ahead: look from the point itself
            ahead, speed = now, 1.0
            new, bend = _backtracked(objective, penalty, ahead, bend)
        if np.array_equal(new, ahead.theta):
            return Termination.STALLED
        old, now = now, at(new)
        iteration += 1
        if float((ahead.theta - new) @ (new - old.theta)) > 0:
            # the momentum points uphill: forget it, and let the curvature shrink again
            speed, ahead = 1.0, now
            bend *= _LESS_CURVATURE
            continue
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed**2))
        factor, speed = (speed - 1.0) / faster, faster
        ahead = at(new + factor * (new - old.theta)) if factor > 0 else now


def _backtracked(
    objective: Objective, penalty: ProxPenalty, ahead: _Point, bend: float
) -> tuple[FloatArray, float]:
    """The new point from ``ahead``, the curvature raised until its parabola is above the loss."""
    while True:
        step = 1.0 / bend
        new = penalty.prox(ahead.theta - step * ahead.gradient, step)
        move = new - ahead.theta
        above = 0.5 * bend * float(move @ move) + _ROUNDING * abs(ahead.loss)
        rise = negative_log_likelihood(objective.prepared, new) - ahead.loss
        if rise <= float(ahead.gradient @ move) + above or bend > _STEEPEST:
            return new, bend
        bend *= _MORE_CURVATURE
