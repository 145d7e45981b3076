"""What integer cards are charged: the hinge, the 0-1 loss, and a smooth loss of a risk score.

Row losses are exact where the totals lie on a grid; each loss also finds the intercept (minus the
threshold) that suits given totals best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from milpscore.core.card import FloatTotals, GridTotals, Totals
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import InterceptRange, LossTask, SmoothLoss

_INT64_SAFE = 2**62
_NEWTON_STEPS = 60
_NEWTON_TOLERANCE = 1e-13


def _raw(totals: Totals) -> tuple[IntArray | FloatArray, Fraction]:
    """Totals of shape (n,) in units of their grid, or as they are, and the unit."""
    if isinstance(totals, GridTotals):
        return totals.counts, totals.unit
    return totals.values, Fraction(1)


def _stepped(
    best: FloatArray, allowed: InterceptRange, mean: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """The better of the two allowed intercepts beside each minimiser of a convex mean loss."""
    if allowed.step is None:
        return best, mean(best)
    step = float(allowed.step)
    least = float(math.ceil(allowed.lower / allowed.step) * allowed.step)
    most = float(math.floor(allowed.upper / allowed.step) * allowed.step)
    below = np.clip(np.floor(best / step + 1e-9) * step, least, most)
    above = np.minimum(below + step, most)
    low, high = mean(below), mean(above)
    return np.where(low <= high, below, above), np.minimum(low, high)


@dataclass(frozen=True)
class Hinge:
    """max(0, margin - y (w.x + b)) / margin.

    References
    ----------
    Chevaleyre, Koriche & Zucker, "Learning linear classifiers with ternary weights from
    metagenomic data" (2013), sec. 2; the paper's gamma is ``margin``.
    """

    margin: float = 1.0
    name: ClassVar[str] = "hinge"
    task: ClassVar[LossTask] = "classification"

    def value(self, z: FloatArray, y: FloatArray | IntArray) -> FloatArray:
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
        return self.value(totals.values + float(intercept), y)

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> Fraction:
        """Exact minimiser over b: a convex piecewise-linear loss, kinks at y margin - total."""
        margin = Fraction(repr(float(self.margin)))
        values, unit = _raw(totals)
        kinks = y * float(margin / unit) - values
        order = np.argsort(kinks, kind="stable")
        # the slope starts at -(weight of positives) and rises by each row's weight at its kink
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
        """(intercepts, mean losses), both of shape (V,), for totals of shape (n, V)."""
        kinks = self.margin * y[:, None] - totals
        order = np.argsort(kinks, axis=0)
        slope = np.cumsum(weight[order], axis=0) - weight[y > 0].sum()
        at = np.argmax(slope >= 0, axis=0)[None, :]
        best = np.take_along_axis(kinks, np.take_along_axis(order, at, axis=0), axis=0)[0]

        def mean(b: FloatArray) -> FloatArray:
            slack = np.maximum(0.0, self.margin - y[:, None] * (totals + b))
            return np.asarray(weight @ slack / (self.margin * weight.sum()))

        return _stepped(np.clip(best, float(allowed.lower), float(allowed.upper)), allowed, mean)


@dataclass(frozen=True)
class ZeroOne:
    """1 where the card errs: positive iff w.x >= T with T = -b, a tie is positive.

    References
    ----------
    Ustun & Rudin, "Supersparse linear integer models for optimized medical scoring systems",
    Machine Learning 102 (2016), eq. 1. The paper's margin counts a total of zero as an error in
    both classes; here a card is charged only for what it answers.
    """

    name: ClassVar[str] = "zero_one"
    task: ClassVar[LossTask] = "classification"

    def exact_rows(
        self, totals: GridTotals, intercept: Fraction, y: IntArray
    ) -> tuple[IntArray, Fraction]:
        """Errors as 0/1 with unit 1."""
        least_positive = math.ceil(-intercept / totals.unit)
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
        """One sweep over the sorted totals; among equals the threshold in the middle of the gap."""
        counted = weight > 0  # a row of weight 0 must not move the middle of a gap
        raw, unit = _raw(totals)
        y, weight = y[counted], weight[counted]
        distinct, where = np.unique(raw[counted], return_inverse=True)
        positive = np.bincount(where, weights=weight * (y > 0), minlength=len(distinct))
        negative = np.bincount(where, weights=weight * (y < 0), minlength=len(distinct))
        # cut k answers positive from distinct[k] on: misses positives below, takes negatives above
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
        """(intercepts, mean losses), both of shape (V,), for totals of shape (n, V).

        Thresholds outside the allowed range are left out; a column with none inside has an
        infinite loss.
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
        # without a grid a total that equals the threshold is undecided
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
        return int(np.searchsorted(distinct, math.ceil(threshold)))
    return int(np.searchsorted(distinct, float(threshold)))


@dataclass(frozen=True)
class RiskLoss:
    """base((w.x + b) / scale, y): the loss of a risk score.

    Parameters
    ----------
    base : SmoothLoss
        Logistic, squared, ... of y in {-1, 1}; a loss of counts reads 0 and 1.
    scale : float
        Points in one unit of the score: a risk is 1 / (1 + exp(-(w.x + b) / scale)).
    """

    base: SmoothLoss
    scale: float = 1.0

    @property
    def name(self) -> str:
        """The base loss's name."""
        return self.base.name

    def answers(self, y: IntArray) -> FloatArray:
        """The classes -1/+1 as the base loss reads them."""
        values = y.astype(np.float64)
        return (values + 1.0) / 2.0 if self.base.task == "count" else values

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Row losses in floating point, shape (n,)."""
        z = (totals.values + float(intercept)) / self.scale
        return self.base.value(z, self.answers(y))

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> Fraction:
        """The allowed intercept of least mean loss."""
        raw, unit = _raw(totals)
        values = raw.astype(np.float64) * float(unit)
        best, _ = self.best_intercepts(values[:, None], y, weight, allowed)
        value = Fraction(float(best[0]))
        if allowed.step is None:
            return min(max(value, allowed.lower), allowed.upper)
        return round(value / allowed.step) * allowed.step

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> tuple[FloatArray, FloatArray]:
        """(intercepts, mean losses), both of shape (V,), for totals of shape (n, V)."""
        share = weight / weight.sum()
        answers = np.broadcast_to(self.answers(y)[:, None], totals.shape)

        def mean(b: FloatArray) -> FloatArray:
            return np.asarray(share @ self.base.value((totals + b) / self.scale, answers))

        return _stepped(self._minimisers(totals, answers, share, allowed), allowed, mean)

    def _minimisers(
        self, totals: FloatArray, answers: FloatArray, share: FloatArray, allowed: InterceptRange
    ) -> FloatArray:
        """Newton's method in a shrinking bracket, all columns at once: the slope never falls."""
        columns = totals.shape[1]
        lower = np.full(columns, float(allowed.lower))
        upper = np.full(columns, float(allowed.upper))
        b = np.clip(-(share @ totals), lower, upper)
        open_ = np.arange(columns)  # columns whose minimiser is not found yet
        for _ in range(_NEWTON_STEPS):
            at, low, high = b[open_], lower[open_], upper[open_]
            given = answers[:, open_]
            z = (totals[:, open_] + at) / self.scale
            rows = self.base.gradient(z, given)
            slope, size = share @ rows, share @ np.abs(rows)
            bend = share @ self.base.hessian(z, given)
            rising = slope > 0
            high, low = np.where(rising, at, high), np.where(rising, low, at)
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = at - self.scale * slope / bend
            inside = (moved > low) & (moved < high)
            settled = (np.abs(slope) <= _NEWTON_TOLERANCE * size) | (
                high - low <= 1e-14 * (1.0 + np.abs(at))
            )
            b[open_] = np.where(settled, at, np.where(inside, moved, 0.5 * (low + high)))
            lower[open_], upper[open_] = low, high
            open_ = open_[~settled]
            if not len(open_):
                break
        return b
