"""Points moved until they meet the constraints: a start where the empty card is not allowed."""

from __future__ import annotations

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import Statement

_STEPS = 200
_WIDE = 40
"""Of wider ranges only the points near the current ones, 0 and the ends are tried."""


def repaired(statement: Statement, points: IntArray) -> Card | None:
    """A card near some points that meets every requirement of the statement.

    Parameters
    ----------
    statement : Statement
    points : ndarray of int64, shape (p,)

    Returns
    -------
    Card or None
        None where :func:`repaired_points` fails, or no intercept keeps to the limits on errors.
    """
    w = repaired_points(statement, points)
    if w is None:
        return None
    card = statement.with_best_intercept(w)
    return None if statement.violations(card) else card


def repaired_points(statement: Statement, points: IntArray) -> IntArray | None:
    """Points near the given ones that meet everything but limits on errors.

    One coefficient at a time takes the value that brings the points closest to what the
    constraints demand; of equal ones the least change.

    Returns
    -------
    ndarray of int64, shape (p,), or None
        None where no single change helps any more.
    """
    lower, upper = statement.ranges
    w = np.clip(points, lower, upper)
    for j, allowed in statement.coef_sets.items():
        w[j] = min(allowed, key=lambda value: abs(value - int(w[j])))
    over = float(_excess(statement, w[None, :])[0])
    for _ in range(_STEPS):
        if over == 0:
            break
        trials = _neighbours(statement, w)
        found = _excess(statement, trials)
        changes = np.abs(trials - w).sum(axis=1)
        k = int(np.lexsort((changes, found))[0])
        if found[k] >= over:
            return None
        w, over = trials[k], float(found[k])
    return w if over == 0 else None


def _excess(statement: Statement, points: IntArray) -> FloatArray:
    """How far rows of points, shape (V, p), are from meeting everything; shape (V,)."""
    over = np.zeros(len(points))
    if statement.max_terms is not None:
        over += np.maximum(np.count_nonzero(points, axis=1) - statement.max_terms, 0)
    for constraint in statement.constraints:
        over += constraint.excess(points)
    return over


def _neighbours(statement: Statement, w: IntArray) -> IntArray:
    """The points with one coefficient at another allowed value, shape (V, p)."""
    lower, upper = statement.ranges
    columns, values = [], []
    for j in range(len(w)):
        low, high, now = int(lower[j]), int(upper[j]), int(w[j])
        if j in statement.coef_sets:
            own = [value for value in statement.coef_sets[j] if low <= value <= high]
        elif high - low <= _WIDE:
            own = list(range(low, high + 1))
        else:
            near = {now + step for step in range(-5, 6)} | {0, low, high}
            own = sorted(value for value in near if low <= value <= high)
        other = [value for value in own if value != now]
        columns += [j] * len(other)
        values += other
    trials = np.repeat(w[None, :], len(columns) + 1, axis=0)
    trials[np.arange(len(columns)), columns] = values
    return trials
