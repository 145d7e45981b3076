"""The points each column may have, what they cost, and the scales at which weights are rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import Statement
from milpscore.penalties import L0

_WIDEST = 1000
"""Of wider ranges the search takes whole points up to this size, and the bounds themselves."""

_FREE = np.linspace(0.2, 1.6, 36)
_FIXED = np.linspace(0.6, 1.4, 9)


@dataclass(frozen=True, eq=False)
class AllowedPoints:
    """Allowed points by column, in rising order.

    Attributes
    ----------
    values, prices : ndarrays of shape (p, V)
        Points, and the penalty of each alone (what no penalty of one column at a time says is
        left to the final choice among the cards found).
    counts : ndarray of int64, shape (p,)
        How many of the V entries are meant.
    usable : ndarray of bool, shape (p,)
        Columns that may have points other than 0.
    forced : tuple of int
        Columns that may not have 0 points.
    """

    values: FloatArray
    prices: FloatArray
    counts: IntArray
    usable: npt.NDArray[np.bool_]
    forced: tuple[int, ...]

    @classmethod
    def of(cls, statement: Statement) -> AllowedPoints:
        """The points a statement allows."""
        lists = [
            _points(int(low), int(high), statement.coef_sets.get(j))
            for j, (low, high) in enumerate(
                zip(*(bound.tolist() for bound in statement.ranges), strict=True)
            )
        ]
        counts = np.array([len(points) for points in lists], dtype=np.int64)
        values = np.zeros((len(lists), int(counts.max(initial=1))))
        for j, points in enumerate(lists):
            values[j, : len(points)] = points
        inside = np.arange(values.shape[1]) < counts[:, None]
        return cls(
            values=values,
            prices=_prices(statement, values, inside),
            counts=counts,
            usable=((values != 0) & inside).any(axis=1),
            forced=tuple(np.flatnonzero(~((values == 0) & inside).any(axis=1)).tolist()),
        )

    @property
    def least_price(self) -> FloatArray:
        """The cheapest points other than 0 of each column, shape (p,)."""
        inside = np.arange(self.values.shape[1]) < self.counts[:, None]
        least: FloatArray = np.where(inside & (self.values != 0), self.prices, np.inf).min(axis=1)
        return least

    def of_column(self, j: int) -> set[int]:
        """The points of one column."""
        return {int(v) for v in self.values[j, : self.counts[j]]}

    def price(self, w: IntArray) -> float:
        """The prices of points w of shape (p,), added up."""
        used = np.flatnonzero(w).tolist()
        return float(
            sum(
                self.prices[j, np.searchsorted(self.values[j, : self.counts[j]], w[j])]
                for j in used
            )
        )

    def real_bounds(self, scale: float) -> tuple[FloatArray, FloatArray]:
        """Bounds on real weights: points / scale, or their signs where the scale is free (0)."""
        last = self.values[np.arange(len(self.counts)), self.counts - 1]
        low, high = self.values[:, 0], last
        if scale > 0:
            return low / scale, high / scale
        return np.where(low < 0, -np.inf, 0.0), np.where(high > 0, np.inf, 0.0)

    def multipliers(self, order: list[int], weights: FloatArray, scale: float) -> FloatArray:
        """Points in one unit of the weights: around the scale, or up to beyond the ranges."""
        if scale > 0:
            return scale * _FIXED
        last = self.values[order, self.counts[order] - 1]
        reach = np.where(weights > 0, last, -self.values[order, 0])
        used = np.abs(weights) > 1e-12
        fits = np.divide(reach, np.abs(weights), out=np.full(len(order), np.inf), where=used)
        most = float(fits.min(initial=np.inf))
        return (most if np.isfinite(most) and most > 0 else 1.0) * _FREE


def _points(low: int, high: int, chosen: tuple[int, ...] | None) -> list[int]:
    """Whole numbers of a range, or the chosen ones."""
    if chosen is not None:
        return [v for v in chosen if low <= v <= high]
    if high - low <= 2 * _WIDEST:
        return list(range(low, high + 1))
    near = range(max(low, -_WIDEST), min(high, _WIDEST) + 1)
    return sorted({low, high, *near})


def _prices(statement: Statement, values: FloatArray, inside: npt.NDArray[np.bool_]) -> FloatArray:
    """What each point alone costs."""
    prices = np.zeros_like(values)
    w = np.zeros(len(values))
    for term in statement.penalties:
        if isinstance(term, L0):
            prices += np.where(inside & (values != 0), term.lam, 0.0)
            continue
        nothing = term.value(w)
        for j, i in np.argwhere(inside & (values != 0)).tolist():
            w[j] = values[j, i]
            prices[j, i] += term.value(w) - nothing
            w[j] = 0.0
    return prices
