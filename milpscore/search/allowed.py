"""What a statement allows: points of its columns, and supports before any points are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import Statement
from milpscore.penalties import L0
from milpscore.search.beam import Choices, Support
from milpscore.search.policy import POLICY


@dataclass(frozen=True, eq=False)
class AllowedPoints:
    """The points each column may have, and the scale they are of."""

    # a price is the penalty of one column's points alone: the final choice among the cards found
    # looks at the penalties of whole cards
    choices: Choices
    scale: float  # 0: free,
    least: float = 0.0  # and at least this

    @classmethod
    def of(cls, statement: Statement, scale: float, least: float = 0.0) -> AllowedPoints:
        """Return the points a statement allows."""
        ends = zip(*(bound.tolist() for bound in statement.ranges), strict=True)
        listed = cache(_points)
        lists = [
            listed(low, high, statement.coef_sets.get(j)) for j, (low, high) in enumerate(ends)
        ]
        counts = np.array([len(points) for points in lists], dtype=np.int64)
        values = np.full((len(lists), int(counts.max(initial=1))), np.inf)
        for j, points in enumerate(lists):
            values[j, : len(points)] = points
        inside = np.arange(values.shape[1]) < counts[:, None]
        return cls(Choices(values, _prices(statement, values, inside), counts), scale, least)

    @cached_property
    def _nonzero(self) -> npt.NDArray[np.bool_]:
        """Which of the entries are meant and not 0, shape (p, V)."""
        values, _, counts = self.choices
        used: npt.NDArray[np.bool_] = (np.arange(values.shape[1]) < counts[:, None]) & (values != 0)
        return used

    @cached_property
    def nothing(self) -> IntArray:
        """Positions of the points closest to 0, shape (p,)."""
        values = self.choices.values
        found: IntArray = _nearest_indices(values, np.zeros((1, len(values))))[0]
        return found

    @property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Columns that may have points other than 0, shape (p,)."""
        usable: npt.NDArray[np.bool_] = np.asarray(self._nonzero.any(axis=1))
        return usable

    @property
    def forced(self) -> Support:
        """Columns that may not have 0 points."""
        return tuple(np.flatnonzero(self._nonzero.sum(axis=1) == self.choices.counts).tolist())

    @property
    def least_price(self) -> FloatArray:
        """The cheapest points other than 0 of each column, shape (p,)."""
        least: FloatArray = np.where(self._nonzero, self.choices.prices, np.inf).min(axis=1)
        return least

    def price(self, w: IntArray) -> float:
        """Return the prices of points w, shape (p,), added up."""
        values, prices, counts = self.choices
        used = np.flatnonzero(w).tolist()
        return float(sum(prices[j, np.searchsorted(values[j, : counts[j]], w[j])] for j in used))

    @property
    def real_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds on real weights: points / scale, or their signs where any scale will do."""
        low, high = self._ends
        if self.scale > 0:
            return low / self.scale, high / self.scale
        if self.least > 0:
            return np.minimum(low, 0.0) / self.least, np.maximum(high, 0.0) / self.least
        return np.where(low < 0, -np.inf, 0.0), np.where(high > 0, np.inf, 0.0)

    @property
    def reach(self) -> FloatArray:
        """The most points of either sign; infinite where the scale is fixed; shape (p,)."""
        low, high = self._ends
        most = np.maximum(np.maximum(-low, high), 1.0)
        return np.full(len(most), np.inf) if self.scale > 0 else most

    @property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        values, counts = self.choices.values, self.choices.counts
        return values[:, 0], values[np.arange(len(counts)), counts - 1]


def _points(low: int, high: int, chosen: tuple[int, ...] | None) -> list[int]:
    """Whole numbers of a range, or the chosen ones."""
    if chosen is not None:
        return [v for v in chosen if low <= v <= high]
    if high - low <= 2 * POLICY.widest_range:
        return list(range(low, high + 1))
    return sorted(
        {low, high, *range(max(low, -POLICY.widest_range), min(high, POLICY.widest_range) + 1)}
    )


def _prices(statement: Statement, values: FloatArray, inside: npt.NDArray[np.bool_]) -> FloatArray:
    """What each point alone costs, shape (p, V)."""
    prices, w = np.zeros_like(values), np.zeros(len(values))
    used = inside & (values != 0)
    for term in statement.penalties:
        if isinstance(term, L0):
            prices += np.where(used, term.lam, 0.0)
            continue
        nothing = term.value(w)
        for j, i in np.argwhere(used).tolist():
            w[j] = values[j, i]
            prices[j, i] += term.value(w) - nothing
            w[j] = 0.0
    return prices


@dataclass(frozen=True, eq=False)
class SupportRules:
    """What the constraints of a statement say of supports before any points are known."""

    statement: Statement

    def demanded(self) -> Support:
        """Columns without which no card meets the constraints."""
        p = self.statement.design.shape[1] if self.statement.constraints else 0
        return tuple(j for j in range(p) if not self._fine((), (j,)))

    def first(self, keyed: Iterator[tuple[int, Support]], most: int) -> dict[int, Support]:
        """By column the first supports that may grow into allowed ones, and that may be one."""
        if not self.statement.constraints:
            return dict(islice(keyed, most))
        fine = [pair for pair in keyed if self._fine(pair[1], ())]
        whole = (pair for pair in fine if self._fine(pair[1], self._rest(pair[1])))
        return dict([*fine[:most], *islice(whole, most)])

    def holds(self, key: Support) -> bool:
        """Whether points on these columns alone, some of them 0 perhaps, may be allowed."""
        return not self.statement.constraints or self._fine((), self._rest(key))

    def _fine(self, used: Support, unused: Support) -> bool:
        return all(c.allows_support(used, unused) for c in self.statement.constraints)

    def _rest(self, key: Support) -> Support:
        """Return the columns outside."""
        outside = np.ones(self.statement.design.shape[1], dtype=bool)
        outside[list(key)] = False
        return tuple(np.flatnonzero(outside).tolist())


def _nearest_indices(values: FloatArray, targets: FloatArray) -> IntArray:
    """Positions of the values (t, V) closest to targets (M, t); the first of equal ones."""
    found: IntArray = np.abs(values - targets[:, :, None]).argmin(axis=2)
    return found
