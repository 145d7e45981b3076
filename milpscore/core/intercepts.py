"""The best intercept of given points, where limits on errors allow only some of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.totals import FloatTotals, GridTotals, Totals

if TYPE_CHECKING:
    from milpscore.core.statement import InterceptRule, Statement

_MOST_RUNS = 8
"""Ranges of intercepts looked at, those next to the unlimited best one first."""


def best_card(statement: Statement, w: IntArray, totals: Totals) -> Card:
    """The card of whole coefficients w with the best intercept the limits on errors allow.

    Parameters
    ----------
    statement : Statement
    w : ndarray of int64, shape (p,)
    totals : Totals
        Of the raw rows.

    Returns
    -------
    Card
        Where no intercept was found that keeps to the limits, the best one that does not.
    """
    design, rule = statement.design, statement.intercept
    limits = [each for each in statement.constraints if each.limits_answers]
    free = statement.loss.best_intercept(totals, design.y, design.weight, rule)
    first = Card(w, free)
    if not any(limit.violation(statement, first) for limit in limits):
        return first
    best, least = first, np.inf
    for allowed in _near(_runs(statement, totals, limits), free):
        b = statement.loss.best_intercept(totals, design.y, design.weight, allowed)
        card = Card(w, b)
        if any(limit.violation(statement, card) for limit in limits):
            continue  # a total on no grid may be too close to the threshold to tell
        lost = _mean_loss(statement, totals, b)
        if lost < least:
            best, least = card, lost
    return best


def best_losses(
    statement: Statement, totals: FloatArray, points: IntArray, below: FloatArray | None = None
) -> FloatArray:
    """Mean loss of many cards, each with the best intercept the limits on errors allow.

    Parameters
    ----------
    statement : Statement
    totals : ndarray of shape (m, V)
        Of the merged rows, one card a column.
    points : ndarray of int64, shape (V, p)
    below : ndarray of shape (V,), optional
        A card whose loss is not below this without any limit is not looked at further.

    Returns
    -------
    ndarray of shape (V,)
        Infinite where no intercept was found that keeps to the limits.
    """
    rows, rule = statement.design.merged, statement.intercept
    found, losses = statement.loss.best_intercepts(totals, rows.y, rows.weight, rule)
    limits = [each for each in statement.constraints if each.limits_answers]
    if not limits:
        return losses
    nothing = 1e-9 * (1.0 + np.abs(totals).max(initial=0.0))
    positive = totals + found >= -nothing
    fine = np.logical_and.reduce([limit.allows_answers(positive) for limit in limits])
    limited = losses.copy()
    for k in np.flatnonzero(~fine).tolist():
        limited[k] = np.inf
        if below is not None and losses[k] >= below[k]:
            continue
        card = statement.with_best_intercept(points[k])
        if not any(limit.violation(statement, card) for limit in limits):
            merged = FloatTotals(totals[:, k], 0.0)
            mean = statement.loss.rows(merged, card.intercept, rows.y) @ rows.weight
            limited[k] = float(mean) / float(rows.weight.sum())
    return limited


def _mean_loss(statement: Statement, totals: Totals, b: Fraction) -> float:
    """Mean weighted loss over the raw rows, in floating point."""
    design = statement.design
    if isinstance(totals, GridTotals):
        totals = FloatTotals(totals.counts.astype(np.float64) * float(totals.unit), 0.0)
    rows = statement.loss.rows(totals, b, design.y)
    return float(rows @ design.weight) / float(design.weight.sum())


def _near(runs: Iterator[InterceptRule], b: Fraction) -> list[InterceptRule]:
    """The ranges closest to an intercept."""

    def distance(rule: InterceptRule) -> Fraction:
        return max(rule.lower - b, b - rule.upper, Fraction(0))

    return sorted(runs, key=distance)[:_MOST_RUNS]


def _runs(statement: Statement, totals: Totals, limits: list[Any]) -> Iterator[InterceptRule]:
    """Every longest range of intercepts that keeps to the limits."""
    grid = isinstance(totals, GridTotals)
    unit = totals.unit if isinstance(totals, GridTotals) else Fraction(1)
    values = totals.counts if isinstance(totals, GridTotals) else totals.values
    distinct, place = np.unique(values, return_inverse=True)
    cuts = len(distinct) + 1
    fine = np.logical_and.reduce([limit.allows_cuts(place, cuts) for limit in limits])
    changes = np.flatnonzero(np.diff(np.r_[False, fine, False].astype(np.int8)))
    for first, last in zip(changes[::2].tolist(), (changes[1::2] - 1).tolist(), strict=True):
        lower, upper = statement.intercept.lower, statement.intercept.upper
        if last < cuts - 1:  # a tie is positive: b = -total takes the row
            lower = max(lower, -Fraction(distinct[last].item()) * unit)
        if first > 0:
            beyond = -Fraction(distinct[first - 1].item()) * unit
            upper = min(upper, _below(statement.intercept, beyond, unit, lower, grid))
        if lower <= upper and _holds_step(statement.intercept.step, lower, upper):
            yield replace(statement.intercept, lower=lower, upper=upper)


def _below(
    rule: InterceptRule, end: Fraction, unit: Fraction, lower: Fraction, grid: bool
) -> Fraction:
    """The largest intercept below ``end``; without a step one that stays well away from it."""
    if rule.step is not None:
        return (-((-end) // rule.step) - 1) * rule.step
    return end - unit / 2 if grid else (end + max(lower, end - 1)) / 2


def _holds_step(step: Fraction | None, lower: Fraction, upper: Fraction) -> bool:
    """Whether a multiple of the step lies between the ends."""
    return step is None or -((-lower) // step) * step <= upper
