"""The 0-1 loss, counted exactly as the printed card decides."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from milpscore.core.card import FloatTotals, GridTotals, Totals
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.terms import InterceptRange


@dataclass(frozen=True)
class ZeroOne:
    """1 where the card errs: positive iff w.x >= T with T = -b, a tie is positive.

    References
    ----------
    Ustun & Rudin, "Supersparse linear integer models for optimized medical scoring systems",
    Machine Learning 102 (2016), eq. 1. The paper's margin counts a total of zero as an error in
    both classes; here a card is charged only for what it answers.
    """

    name: str = "zero_one"

    def exact_rows(
        self, totals: GridTotals, intercept: Fraction, y: IntArray
    ) -> tuple[IntArray, Fraction]:
        """Errors as 0/1 with unit 1."""
        least_positive = -((intercept / totals.unit).__floor__())  # ceil(T / unit)
        answer = np.where(totals.counts >= least_positive, 1, -1)
        return (answer != y).astype(np.int64), Fraction(1)

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Errors as 0.0/1.0; a total closer to T than its rounding error counts as an error."""
        distance = totals.values + float(intercept)
        answer = np.where(distance >= 0, 1, -1)
        undecided = np.abs(distance) <= totals.error * (1.0 + abs(float(intercept)))
        wrong: FloatArray = ((answer != y) | undecided).astype(np.float64)
        return wrong

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> Fraction:
        """One sweep over the sorted totals; among equals the threshold in the middle of the gap.

        Parameters
        ----------
        totals : Totals of shape (n,)
        y, weight : arrays of shape (n,)
        allowed : InterceptRange

        Returns
        -------
        Fraction
        """
        counted = weight > 0  # a row of weight 0 must not move the middle of a gap
        raw = (totals.counts if isinstance(totals, GridTotals) else totals.values)[counted]
        y, weight = y[counted], weight[counted]
        unit = totals.unit if isinstance(totals, GridTotals) else Fraction(1)
        distinct, where = np.unique(raw, return_inverse=True)
        positive = np.bincount(where, weights=weight * (y > 0), minlength=len(distinct))
        negative = np.bincount(where, weights=weight * (y < 0), minlength=len(distinct))
        # cut k answers positive from distinct[k] on: misses positives below, takes negatives above.
        errors = np.r_[0.0, np.cumsum(positive)] + np.r_[np.cumsum(negative[::-1])[::-1], 0.0]
        for k in np.argsort(errors, kind="stable"):
            threshold = _threshold(distinct, int(k), unit, isinstance(totals, GridTotals))
            intercept = _within(-threshold, allowed)
            if _cut(distinct, unit, intercept) == k:
                return intercept
        return _within(Fraction(0), allowed)

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> tuple[FloatArray, FloatArray]:
        """The best threshold of each column of totals by one sorted sweep, and its mean loss.

        Cuts outside the allowed range are left out; where a column has none inside, its loss is
        infinite.

        Parameters
        ----------
        totals : ndarray of shape (n, V)
        y, weight : arrays of shape (n,)
        allowed : InterceptRange

        Returns
        -------
        (intercepts, losses) : ndarrays of shape (V,)
        """
        order = np.argsort(totals, axis=0)
        ranked = np.take_along_axis(totals, order, axis=0)
        signed = (weight * y)[order]
        negatives = weight[y < 0].sum()
        # a threshold at ranked[k] takes every row from k on: raising it past a row trades that row
        errors = negatives + np.vstack([np.zeros(totals.shape[1]), np.cumsum(signed, axis=0)])
        gap = 1.0 if allowed.step is None else float(allowed.step)
        thresholds = np.vstack([ranked, ranked[-1:] + gap])
        tied = np.zeros(thresholds.shape, dtype=bool)
        tied[1:-1] = ranked[1:] <= ranked[:-1] + 1e-9
        outside = (-thresholds < float(allowed.lower) - 1e-9) | (
            -thresholds > float(allowed.upper) + 1e-9
        )
        errors = np.where(tied | outside, np.inf, errors)
        at = np.argmin(errors, axis=0)[None, :]
        best = np.take_along_axis(thresholds, at, axis=0)[0]
        return -best, np.take_along_axis(errors, at, axis=0)[0] / weight.sum()


def _threshold(distinct: np.ndarray, k: int, unit: Fraction, grid: bool) -> Fraction:
    """A threshold that answers positive exactly from ``distinct[k]`` on."""
    if k == 0:
        # Without a grid a total that equals the threshold is undecided.
        return Fraction(distinct[0].item()) * unit if grid else Fraction(distinct[0].item()) - 1
    if k == len(distinct):
        return (Fraction(distinct[-1].item()) + 1) * unit
    low, high = Fraction(distinct[k - 1].item()), Fraction(distinct[k].item())
    return high * unit if grid else (low + high) / 2


def _within(intercept: Fraction, allowed: InterceptRange) -> Fraction:
    """``intercept`` moved into the bounds and, where there is one, down to the step."""
    value = min(max(intercept, allowed.lower), allowed.upper)
    if allowed.step is None:
        return value
    down = (value // allowed.step) * allowed.step
    return down if down >= allowed.lower else down + allowed.step


def _cut(distinct: np.ndarray, unit: Fraction, intercept: Fraction) -> int:
    """How many of the distinct totals lie below the threshold."""
    threshold = -intercept / unit
    if np.issubdtype(distinct.dtype, np.integer):
        return int(np.searchsorted(distinct, threshold.__ceil__()))
    return int(np.searchsorted(distinct, float(threshold)))
