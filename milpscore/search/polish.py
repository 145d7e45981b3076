"""From an interior point to exact zeros and exact multiples of gamma."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from milpscore.core.conic import ConicProgram, ConicStatement
from milpscore.core.design import FloatArray
from milpscore.core.statement import InterceptRule
from milpscore.losses import Hinge
from milpscore.proximal.problem import Smooth
from milpscore.verify.cards import added_violations, evaluate_conic, smooth_part

SLACK = 1e-9
"""A polished point may cost this much more, relatively: far less than the solver's own tolerance
allows, and nothing against exact zeros."""

_PROX_STEPS = 5
_FAR = Fraction(-(10**15))

Point = tuple[FloatArray, float]


def polished(program: ConicProgram, w: FloatArray, b: float, zero_tol: float) -> Point:
    """(w, b), w of shape (p,), with negligible coefficients at exactly 0 or on gamma's grid.

    A few proximal steps where nothing was added (they leave exact zeros and exact multiples of
    gamma, and never raise the objective); then every coefficient that cannot move a score by more
    than ``zero_tol`` of the largest one is set to 0, or to the nearest multiple of gamma. Whatever
    breaks an added constraint or costs more than 1e-9 is not taken. The model, which holds the
    values of the solve, is loaded with the point.
    """
    statement = program.statement
    base = statement.penalty.prox(w, 0.0), b  # into the penalty's domain: sums of 0 and the like
    best, cost = base, evaluate_conic(statement, *base).objective
    limit = cost + SLACK * max(1.0, abs(cost))
    for candidate in _candidates(program, base, zero_tol):
        program.load(*candidate)
        value = evaluate_conic(statement, *candidate).objective
        if value <= limit and not added_violations(program):
            best = candidate
    program.load(*best)
    return best


def _candidates(program: ConicProgram, base: Point, zero_tol: float) -> Iterator[Point]:
    """Points to try, each simpler than the one before."""
    statement = program.statement
    free = not program.added
    at = base
    if free and not isinstance(statement.loss, Hinge):
        smooth = smooth_part(statement)
        at = _prox_steps(smooth, statement, base)
        yield at
    snapped = _snapped(statement, at[0], zero_tol)
    if not np.array_equal(snapped, at[0]):
        yield snapped, at[1]
        if free and statement.intercept:
            yield snapped, _best_intercept(statement, snapped, at[1])


def _snapped(statement: ConicStatement, w: FloatArray, zero_tol: float) -> FloatArray:
    """Coefficients moved to 0 or to the grid where no score changes by more than the tolerance."""
    reach = np.abs(statement.merged.X).max(axis=0, initial=0.0)
    allowed = zero_tol * max(1.0, float((np.abs(w) * reach).max(initial=0.0)))
    gamma = getattr(statement.penalty, "gamma", math.inf)
    target = np.rint(w / gamma) * gamma if math.isfinite(gamma) else np.zeros_like(w)
    near = np.abs(w - target) * np.maximum(reach, np.finfo(float).tiny) <= allowed
    return np.where(near, target, w) + 0.0


def _prox_steps(smooth: Smooth, statement: ConicStatement, base: Point) -> Point:
    """A few proximal gradient steps, each accepted only where the objective does not rise."""
    penalty = statement.penalty
    w, b = base
    point = smooth.settled(w, smooth.X.matvec(w), np.asarray(b))
    cost = point.loss + penalty.value(point.w)
    bend = 2.0 * float(smooth.loss.hessian(point.eta + point.b, smooth.y).max(initial=0.0))
    step = 1.0 / max(bend * float(smooth.X.squares(smooth.weight).sum()), 1e-300)
    for _ in range(_PROX_STEPS):
        moved = penalty.prox(point.w - step * point.gradient, step)
        new = smooth.settled(moved, smooth.X.matvec(moved), point.b)
        value = new.loss + penalty.value(moved)
        if not value <= cost + 1e-15 * abs(cost):
            step /= 4.0
            continue
        point, cost = new, value
    return point.w, float(point.b)


def _best_intercept(statement: ConicStatement, w: FloatArray, b: float) -> float:
    """The intercept that minimises the loss of coefficients w."""
    smooth = smooth_part(statement)
    if not isinstance(statement.loss, Hinge):
        return float(smooth.settled(w, smooth.X.matvec(w), np.asarray(b)).b)
    real = InterceptRule("real", _FAR, -_FAR, None)
    totals = smooth.X.matvec(w)[:, None]
    answers = smooth.y.astype(np.int64)
    best, _ = statement.loss.best_intercepts(totals, answers, smooth.weight, real)
    return float(best[0])
