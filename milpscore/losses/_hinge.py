"""The hinge loss with a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from milpscore.core.card import FloatTotals, GridTotals, Totals
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.terms import InterceptRange, LossTask

_INT64_SAFE = 2**62


@dataclass(frozen=True)
class Hinge:
    """max(0, margin - y (w.x + b)) / margin.

    References
    ----------
    Chevaleyre, Koriche & Zucker, "Learning linear classifiers with ternary weights from
    metagenomic data" (2013), sec. 2; the paper's gamma is ``margin``.
    """

    margin: float = 1.0
    name: str = "hinge"
    task: LossTask = "classification"

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses of real scores of shape (n,)."""
        return np.asarray(np.maximum(0.0, self.margin - y * z) / self.margin)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """u y margin where 0 <= -y u margin <= 1, else infinite."""
        share = -(y * u) * self.margin
        return np.where((share >= 0.0) & (share <= 1.0), -share, np.inf)

    def exact_rows(
        self, totals: GridTotals, intercept: Fraction, y: IntArray
    ) -> tuple[IntArray, Fraction]:
        """Whole multiples of a unit: everything is scaled to the denominators' common multiple."""
        margin = Fraction(repr(float(self.margin)))
        unit = totals.unit
        # math.lcm: a real intercept's denominator takes the product beyond 64 bits
        grain = Fraction(1, math.lcm(margin.denominator, intercept.denominator, unit.denominator))
        scale, shift, goal = int(unit / grain), int(intercept / grain), int(margin / grain)
        counts = totals.counts
        reach = int(np.abs(counts).max(initial=1)) * scale + abs(shift) + goal
        if reach >= _INT64_SAFE:
            counts = counts.astype(object)
        slack = goal - y * (counts * scale + shift)
        return np.maximum(slack, 0), grain / margin

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Row losses in floating point."""
        score = totals.values + float(intercept)
        return np.maximum(0.0, self.margin - y * score) / self.margin

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> Fraction:
        """Exact minimiser over b of a convex piecewise-linear function with kinks y margin - total.

        Parameters
        ----------
        totals : Totals of shape (n,)
        y, weight : arrays of shape (n,)
        allowed : InterceptRange

        Returns
        -------
        Fraction
        """
        margin = Fraction(repr(float(self.margin)))
        if isinstance(totals, GridTotals):
            values: IntArray | FloatArray = totals.counts
            unit = totals.unit
        else:
            values, unit = totals.values, Fraction(1)
        kinks = y * float(margin / unit) - values
        order = np.argsort(kinks, kind="stable")
        # the slope starts at -(weight of positives) and rises by each row's weight at its kink.
        slope = np.cumsum(weight[order]) - weight[y > 0].sum()
        at = int(order[min(int(np.searchsorted(slope, 0.0)), len(order) - 1)])
        kink = int(y[at]) * margin - Fraction(values[at].item()) * unit
        best = min(max(kink, allowed.lower), allowed.upper)
        if allowed.step is None:
            return best
        below = (best // allowed.step) * allowed.step
        near = [b for b in (below, below + allowed.step) if allowed.lower <= b <= allowed.upper]
        floats = FloatTotals(values.astype(np.float64) * float(unit), 0.0)
        losses = [float(weight @ self.rows(floats, b, y)) for b in near]
        return near[int(np.argmin(losses))]

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> tuple[FloatArray, FloatArray]:
        """The minimising intercept of each column of totals, and its mean loss.

        Parameters
        ----------
        totals : ndarray of shape (n, V)
        y, weight : arrays of shape (n,)
        allowed : InterceptRange

        Returns
        -------
        (intercepts, losses) : ndarrays of shape (V,)
        """
        kinks = self.margin * y[:, None] - totals
        order = np.argsort(kinks, axis=0)
        slope = np.cumsum(weight[order], axis=0) - weight[y > 0].sum()
        at = np.argmax(slope >= 0, axis=0)[None, :]
        best = np.take_along_axis(kinks, np.take_along_axis(order, at, axis=0), axis=0)[0]
        best = np.clip(best, float(allowed.lower), float(allowed.upper))
        if allowed.step is None:
            return best, self._mean(totals, best, y, weight)
        step = float(allowed.step)
        least = float(math.ceil(allowed.lower / allowed.step) * allowed.step)
        most = float(math.floor(allowed.upper / allowed.step) * allowed.step)
        below = np.maximum(np.floor(best / step + 1e-9) * step, least)
        above = np.minimum(below + step, most)
        low, high = self._mean(totals, below, y, weight), self._mean(totals, above, y, weight)
        return np.where(low <= high, below, above), np.minimum(low, high)

    def _mean(
        self, totals: FloatArray, intercepts: FloatArray, y: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Mean loss of each column."""
        slack = np.maximum(0.0, self.margin - y[:, None] * (totals + intercepts))
        return np.asarray(weight @ slack / (self.margin * weight.sum()))
