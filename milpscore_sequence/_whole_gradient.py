"""Trainers that step by whole gradients: OWL-QN, and proximal gradients."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.core.result import Termination
from milpscore.core.statement import ProxPenalty
from milpscore_sequence._data import Prepared
from milpscore_sequence.inference import expected_counts, negative_log_likelihood
from milpscore_sequence.training import (
    Algorithm,
    Objective,
    Recorder,
    TrainOptions,
    least_subgradient,
)

_MEMORY = 30
# OWL-QN: newcomers from zero in an iteration, these or as many as there are; its steps at most, and
# the share of the slope at which they end.
_NEWCOMERS = 1000
_STEPS = 30
_ENOUGH = 0.2
# Share of the promised fall that a step must reach, and halvings of a step.
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


class Face:
    """The objective of the parameters ``at`` (sorted) alone, all others being zero."""

    # Only their observations are looked at: few, in few distinct sets, so that a look at some
    # thousands of parameters takes a small share of one at all the millions.
    def __init__(self, objective: Objective, at: IntArray) -> None:
        self.objective, self.at = objective, at
        self.counts = objective.counts[at]
        self.prepared, self.place = objective.prepared, at
        if len(at) < objective.prepared.layout.n_parameters:
            data, self.place = objective.prepared.data.restricted(at)
            self.prepared = Prepared(data)

    def look(self, theta: FloatArray) -> Iterate:
        """Evaluate the objective at these parameters."""
        objective, placed = self.objective, self.prepared.layout.zeros()
        placed[self.place] = theta
        total, expected = expected_counts(self.prepared, placed)
        smooth, gradient = objective.ridged(
            total - float(self.counts @ theta), expected[self.place] - self.counts, theta
        )
        return Iterate(theta, objective.penalised(theta, smooth), gradient)


class Memory:
    """The last pairs (step, change of gradient) on the working coordinates."""

    def __init__(self) -> None:
        self.index: IntArray = np.zeros(0, dtype=np.int64)
        self.pairs: list[tuple[FloatArray, FloatArray]] = []

    def move_to(self, index: IntArray) -> None:
        """Lay the pairs out on other coordinates (sorted)."""
        # A coordinate that is new has no known change of gradient: it starts uncoupled.
        if not np.array_equal(index, self.index):
            _, source, target = np.intersect1d(
                self.index, index, assume_unique=True, return_indices=True
            )
            pairs, self.pairs = self.pairs, []
            for pair in pairs:
                step, change = np.zeros((2, len(index)))
                step[target], change[target] = (each[source] for each in pair)
                self.add(step, change)
        self.index = index

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


def working_set(objective: Objective, now: Iterate) -> IntArray:
    """The parameters that are not zero, and of those that want to leave zero the steepest."""
    if not objective.rho1:
        return np.arange(len(now.theta))
    steep = np.abs(now.gradient)
    steep[now.theta != 0.0] = np.inf
    steepest = np.flatnonzero(steep > objective.rho1)
    active = int(np.count_nonzero(now.theta))
    most = active + max(active, _NEWCOMERS)
    if len(steepest) > most:
        steepest = np.sort(steepest[np.argpartition(-steep[steepest], most)[:most]])
    return steepest


def descended(
    face: Face, here: Iterate, memory: Memory, recorder: Recorder, wanted: float, steps: int
) -> Iterate:
    """At most ``steps`` steps of OWL-QN from ``here``, until the slope is as ``wanted``."""
    # Fewer where no step lowers the objective, one without memory included, or time is up.
    for _ in range(steps):
        slope = least_subgradient(here.theta, here.gradient, face.objective.rho1)
        if float(np.linalg.norm(slope)) <= wanted or recorder.clock.is_up:
            break
        found = _searched(face, here, slope, memory)
        if found is None and memory.pairs:
            memory.pairs = []
            found = _searched(face, here, slope, memory)
        if found is None:
            break
        memory.add(found.theta - here.theta, found.gradient - here.gradient)
        here = found
    return here


def owlqn(objective: Objective, start: FloatArray, recorder: Recorder) -> Termination:
    """L-BFGS that stays in an orthant (Andrew & Gao 2007); with rho1 = 0 plain L-BFGS."""
    return finished(objective, Iterate.at(objective, start), recorder, 0)


def finished(objective: Objective, now: Iterate, recorder: Recorder, iteration: int) -> Termination:
    """OWL-QN from an iterate that is yet to be noted by this number."""
    # An iteration is a look at the whole gradient, and steps of the parameters that are not zero or
    # most want to leave it, as long as they make good progress.
    memory = Memory()
    while True:
        distance = objective.distance(now.theta, now.gradient)
        stop = recorder.note(iteration, now.theta, now.value, distance)
        if stop is not None:
            return stop
        face = Face(objective, working_set(objective, now))
        memory.move_to(face.at)
        here = Iterate(now.theta[face.at], now.value, now.gradient[face.at])
        wanted = objective.unit * max(_ENOUGH * distance, 0.5 * recorder.options.tol)
        here = descended(face, here, memory, recorder, wanted, _STEPS)
        theta = objective.prepared.layout.zeros()
        theta[face.at] = here.theta
        before, now = now, Iterate.at(objective, theta)
        if now.value >= before.value:
            return recorder.stalled()
        iteration += 1


def _searched(face: Face, now: Iterate, slope: FloatArray, memory: Memory) -> Iterate | None:
    """The first point of a backtracking search that falls enough, None where there is none."""
    rho1 = face.objective.rho1
    direction = -memory.times(slope)
    if rho1:
        # only where the model agrees with the slope (Andrew & Gao, step 2)
        direction[direction * slope >= 0.0] = 0.0
        orthant = np.where(now.theta != 0.0, np.sign(now.theta), -np.sign(slope))
    if direction @ slope >= 0.0:
        return None
    length = 1.0 if memory.pairs else min(1.0, 1.0 / float(np.linalg.norm(slope)))
    for _ in range(_HALVINGS):
        theta = now.theta + length * direction
        if rho1:
            theta[theta * orthant <= 0.0] = 0.0
        found = face.look(theta)
        promised = _SUFFICIENT * float(slope @ (theta - now.theta))
        if found.value <= now.value + promised and found.value < now.value:
            return found
        length *= 0.5
    return None


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
    return partial(_accelerated, penalty=penalty)


def _accelerated(
    objective: Objective, start: FloatArray, recorder: Recorder, *, penalty: ProxPenalty
) -> Termination:
    """Accelerated proximal gradient steps with backtracking and restarts (FISTA)."""
    # From ``ahead`` = now + momentum, one step goes to prox(ahead - gradient / bend, 1 / bend),
    # where the parabola of curvature ``bend`` must lie above the loss: rho1 and rho2 are 0.

    def rest(point: Iterate) -> float:
        """Distance of 0 to the subdifferential."""
        return float(np.linalg.norm(penalty.subdiff_distance(point.theta, point.gradient)))

    zero = Iterate.at(objective, np.zeros_like(start))
    unit = rest(zero) or float(np.linalg.norm(zero.gradient)) or 1.0
    now = ahead = Iterate.at(objective, start)
    speed = bend = 1.0
    iteration = 0
    while True:
        value = now.value + penalty.value(now.theta)
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
        old, now = now, Iterate.at(objective, new)
        iteration += 1
        if float((ahead.theta - new) @ (new - old.theta)) > 0:
            # the momentum points uphill: forget it, and let the curvature shrink again
            speed, ahead = 1.0, now
            bend *= _LESS_CURVATURE
            continue
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed**2))
        factor, speed = (speed - 1.0) / faster, faster
        ahead = Iterate.at(objective, new + factor * (new - old.theta)) if factor > 0 else now


def _backtracked(
    objective: Objective, penalty: ProxPenalty, ahead: Iterate, bend: float
) -> tuple[FloatArray, float]:
    """The new point from ``ahead``, the curvature raised until its parabola is above the loss."""
    while True:
        step = 1.0 / bend
        new = penalty.prox(ahead.theta - step * ahead.gradient, step)
        move = new - ahead.theta
        above = 0.5 * bend * float(move @ move) + _ROUNDING * abs(ahead.value)
        rise = negative_log_likelihood(objective.prepared, new) - ahead.value
        if rise <= float(ahead.gradient @ move) + above or bend > _STEEPEST:
            return new, bend
        bend *= _MORE_CURVATURE
