"""The integer card, its exact totals on raw rows, and the rule that decides by them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray, as_fraction, on_grid
from milpscore.core.errors import FormulationError

Exact = int | Fraction


@dataclass(frozen=True, eq=False)
class Card:
    """Integer coefficients and an intercept.

    Attributes
    ----------
    coefficients : ndarray of int64, shape (p,)
        The points w.
    intercept : Fraction
        b; the card answers positive iff ``w.x >= -b``. A tie is positive. A float is read as the
        decimal it prints as.
    scale : Fraction or None
        Points in one unit of the score, (w.x + b) / scale, where the statement leaves it to the
        card; None where it does not.

    Raises
    ------
    FormulationError
        Where the coefficients are no vector of whole numbers, or the scale is not above 0.
    """

    coefficients: IntArray
    intercept: Fraction
    scale: Fraction | None = None

    def __post_init__(self) -> None:
        given = np.asarray(self.coefficients)
        whole = given.dtype.kind in "iufb" and bool(np.isfinite(given).all())
        if given.ndim != 1 or not whole or np.any(np.rint(given) != given):
            raise FormulationError(
                "a card's coefficients are a vector of whole numbers; round them first"
            )
        object.__setattr__(self, "coefficients", np.rint(given).astype(np.int64))
        object.__setattr__(self, "intercept", as_fraction(self.intercept))
        if self.scale is not None:
            object.__setattr__(self, "scale", as_fraction(self.scale))
            if self.scale <= 0:
                raise FormulationError(f"a card's scale must be above 0, got {self.scale}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Card):
            return NotImplemented
        same = (self.intercept, self.scale) == (other.intercept, other.scale)
        return same and np.array_equal(self.coefficients, other.coefficients)

    def __hash__(self) -> int:
        return hash((self.coefficients.tobytes(), self.intercept, self.scale))

    @property
    def threshold(self) -> Fraction:
        """T = -b: the smallest total that is answered positive."""
        return -self.intercept

    @property
    def coprime(self) -> Card:
        """Points, intercept and scale over the points' common divisor: the same risks."""
        divisor = int(np.gcd.reduce(self.coefficients)) if self.nonzeros else 1
        if divisor == 1 or self.scale is None:
            return self
        return Card(self.coefficients // divisor, self.intercept / divisor, self.scale / divisor)

    @property
    def nonzeros(self) -> int:
        """Number of nonzero coefficients."""
        return int(np.count_nonzero(self.coefficients))

    def totals(self, X: FloatArray) -> FloatArray:
        """Totals w.x of the rows of X in floating point, shape (n,)."""
        return np.asarray(X, dtype=np.float64) @ self.coefficients.astype(np.float64)


@dataclass(frozen=True)
class GridTotals:
    """Exact totals: row i's total is ``counts[i] * unit``."""

    counts: IntArray  # (n,)
    unit: Fraction  # the grid step of the data

    def exact(self, row: int) -> Fraction:
        """One row's total."""
        return int(self.counts[row]) * self.unit

    @property
    def in_units(self) -> tuple[IntArray, Fraction]:
        """The totals as multiples of a unit, and that."""
        return self.counts, self.unit

    @property
    def floats(self) -> FloatTotals:
        """The same in floating point."""
        whole, top = self.counts.astype(np.float64), self.unit.numerator
        return FloatTotals(whole * top / self.unit.denominator, 0.0)


@dataclass(frozen=True)
class FloatTotals:
    """Totals in twice the usual precision, for data on no usable grid."""

    values: FloatArray  # (n,)
    # a bound on the rounding error of each: a large row leaves small ones as they are
    error: FloatArray | float
    # what the totals are beyond ``values``: a threshold may lie as far away as they do
    rest: FloatArray | float = 0.0

    def exact(self, row: int) -> Fraction:
        """One row's total."""
        rest = float(np.broadcast_to(self.rest, self.values.shape)[row])
        return Fraction(float(self.values[row])) + Fraction(rest)

    @property
    def in_units(self) -> tuple[FloatArray, Fraction]:
        """The totals as they are, in units of 1."""
        return self.values, Fraction(1)

    @property
    def floats(self) -> FloatTotals:
        """These."""
        return self

    def scores(self, intercept: Fraction) -> FloatArray:
        """Totals plus an intercept, rounded once; shape (n,)."""
        near = float(intercept)
        score, lost = _two_sum(self.values, near)
        return np.asarray(score + (lost + self.rest + float(intercept - Fraction(near))))


Totals = GridTotals | FloatTotals


def card_totals(X: FloatArray, step: Fraction | None, card: Card) -> Totals:
    """Totals of a card on rows X."""
    used = np.flatnonzero(card.coefficients)
    w = card.coefficients[used]
    if not len(used):  # no points: every total is exactly 0, whatever the data
        return GridTotals(np.zeros(len(X), dtype=np.int64), step or Fraction(1))
    if step is not None:
        counts = on_grid(X[:, used], step)
        reach = float(np.abs(counts).max(initial=0)) * float(np.abs(w).sum())
        if reach < 2.0**53:
            exact = counts.astype(np.float64) @ w.astype(np.float64)
            return GridTotals(exact.astype(np.int64), step)
    magnitude = np.abs(X[:, used]) @ np.abs(w).astype(np.float64)
    values, rest = _two_fold(X[:, used], w)
    return FloatTotals(values, 2.0**-52 * (magnitude + 1.0), rest)


@dataclass(frozen=True, eq=False)
class TotalCuts:
    """The ways to cut totals: cut k answers positive from ``distinct[k]`` on (a tie does).

    ``distinct`` (K,) rises, and the cut K answers positive nowhere; ``place`` (n,) is where each
    row's total stands.
    """

    distinct: npt.NDArray[Any]
    place: IntArray

    @classmethod
    def of(cls, totals: npt.NDArray[Any]) -> TotalCuts:
        """Sort the totals of rows, shape (n,)."""
        order, place = np.argsort(totals), np.empty(len(totals), dtype=np.int64)
        ordered, first = totals[order], np.ones(len(totals), dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        place[order] = np.cumsum(first) - 1
        return cls(ordered[first], place)

    def __len__(self) -> int:
        """How many cuts there are, K + 1."""
        return len(self.distinct) + 1

    def below(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sums of the rows' values over the rows that each cut answers negative; (K + 1,)."""
        sums = np.zeros(len(self), values.dtype)
        np.add.at(sums[1:], self.place, values)  # exact for whole numbers beyond 2^53 as well
        return np.cumsum(sums, out=sums)

    def above(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sums of the rows' values over the rows that each cut answers positive; (K + 1,)."""
        sums = np.zeros(len(self), values.dtype)
        np.add.at(sums, self.place, values)
        return np.cumsum(sums[::-1])[::-1]

    def wrong(self, cost: npt.NDArray[Any], positive: npt.NDArray[np.bool_]) -> FloatArray:
        """Cost of the rows that each cut errs on; ``positive`` are the true classes; (K + 1,)."""
        missed, taken = np.where(positive, cost, 0.0), np.where(positive, 0.0, cost)
        return np.asarray(self.below(missed) + self.above(taken))


def _two_sum(a: FloatArray, b: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Return a sum as it is rounded, and what rounding took (Knuth, TAOCP 2, sec. 4.2.2)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _two_fold(X: FloatArray, w: IntArray) -> tuple[FloatArray, FloatArray]:
    """X @ w rounded, and the rest of it, both of shape (n,)."""
    high = low = np.zeros(len(X))
    for column, points in zip(X.T, w.tolist(), strict=True):
        # half the digits each, so that products with whole numbers are exact
        mantissa, exponent = np.frexp(column)
        head = np.ldexp(np.rint(np.ldexp(mantissa, 26)), exponent - 26)
        for part in (head * points, (column - head) * points):
            high, lost = _two_sum(high, part)
            low = low + lost
    return _two_sum(high, low)


TIE_SHARE = Fraction(1, 1000)
"""A total within this share of a step of a grid point is that grid point."""

RELATIVE_ROUNDING = 1e-9
"""Without a grid, a total this close to the threshold (relative to the summands) is a tie."""


@dataclass(frozen=True)
class DecisionRule:
    """Positive iff the total reaches the threshold; a tie is positive.

    Floating-point sums such as 0.1 + 0.1 + 0.1 miss the grid point they mean. Totals are therefore
    put back on the grid of ``step`` where they lie within a thousandth of a step of it, and only
    there: a row whose values are off the grid keeps its own total.

    Attributes
    ----------
    threshold : Fraction
        T; positive iff total >= T.
    step : Fraction or None
        The grid of the data. None where there is no usable one; a total within 1e-9 of the
        threshold, relative to the size of its summands, then is a tie.
    """

    threshold: Fraction
    step: Fraction | None

    @property
    def cut(self) -> Fraction:
        """The number a computed total is compared with.

        A thousandth of a step below the threshold, but above the last grid point below it (which
        matters where the threshold itself lies off the grid). Without a grid, the threshold.
        """
        if self.step is None:
            return self.threshold
        rounding = TIE_SHARE * self.step
        below = self.step * (-((-self.threshold) // self.step) - 1)
        return max(self.threshold - rounding, below + rounding)

    @property
    def offset(self) -> float:
        """What a tie scores in :meth:`decision`: step/2, or 1e-9 max(1, abs(T)) without a grid."""
        if self.step is None:
            return RELATIVE_ROUNDING * max(1.0, abs(float(self.threshold)))
        return float(self.step / 2)

    def totals(self, X: npt.ArrayLike, points: npt.ArrayLike) -> FloatArray:
        """Totals w.x of the rows of X, put back on the grid where rounding left it."""
        values = np.asarray(X, dtype=np.float64)
        weights = np.asarray(points, dtype=np.float64)
        raw = values @ weights
        if self.step is None:
            target = float(self.threshold)
            size = np.abs(values) @ np.abs(weights) + abs(target)
            return np.where(np.abs(raw - target) <= RELATIVE_ROUNDING * size, target, raw)
        multiple = np.rint(raw * (self.step.denominator / self.step.numerator))
        nearest = multiple * self.step.numerator / self.step.denominator
        return np.where(np.abs(raw - nearest) <= float(TIE_SHARE * self.step), nearest, raw)

    def positive(self, totals: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether each total of :meth:`totals` is answered positive, shape (n,)."""
        return np.asarray(totals, dtype=np.float64) >= float(self.cut)

    def decision(self, totals: FloatArray) -> FloatArray:
        """Return a value that is > 0 exactly where the total is positive, and never 0.

        On the grid it is total - T + step/2. Off the grid a total between T - step/2 and T gets
        half its (negative) distance to T instead, which keeps both the sign and the order.
        """
        distance = np.asarray(totals, dtype=np.float64) - float(self.threshold)
        shifted = distance + self.offset
        # A threshold off the grid may lie above a total by less than floats can tell.
        below_zero = -np.finfo(np.float64).tiny
        negative = np.minimum(np.minimum(shifted, distance / 2), below_zero)
        return np.where(self.positive(totals), shifted, negative)
