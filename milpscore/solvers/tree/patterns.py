"""The distinct rows of a 0-1 problem, its weights in whole units, and what its columns allow."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.core.grid import common_step, on_grid
from milpscore.core.statement import Statement
from milpscore.solvers.tree.arrays import choices_of

_EXACT = 1 << 53
_UNITS = 1 << 44
"""Weights on no grid are rounded down to the 2^-44th part of their sum: bounds stay below."""

_MOST_DIVIDED = 1000
_MOST = 1 << 60
"""Beyond all totals."""


class Patterns:
    """A statement under the 0-1 loss by its distinct rows x, totals in steps of the grid.

    Attributes
    ----------
    rows, y, weight : arrays of shapes (n, p), (n,), (n,)
        The design's merged rows in steps, their classes and weights.
    X : int64 ndarray of shape (m, p)
        Distinct rows whose classes do not cancel.
    net : int32 or int64 ndarray of shape (m,)
        Positive minus negative weight of each, in units.
    base : int
        The units any card errs on: rows of both classes.
    unit : float
        The share of all weight that one unit is.
    codes : int32 ndarray of shape (p, m)
        Each column's values by number.
    cards : int64 ndarray of shape (p,)
        How many values each column takes.
    values : int64 ndarray of shape (p, max cards)
    choices, points : lists of int64 ndarrays
        The values each coefficient may take, and the nonzero ones of them.
    t_low, t_high : int
        Thresholds allowed.
    constrained, thrifty : bool
        Whether constraints limit a card; whether cards may be left out that others are as good as.
    every_cut : bool
        Whether no best card is lost by the range of thresholds.
    forced, candidates : int64 ndarrays
        Columns that cannot be 0; others that may help.
    twin : int64 ndarray of shape (p,)
        An equal or mirrored column without which this one is never needed; -1 for none.
    primitive : bool
        Whether some best card has weights without a common divisor.
    penalty : float64 ndarray of shape (p,)
        The least penalty of each column once it is used.
    """

    def __init__(self, statement: Statement, every_card: bool = False) -> None:
        self.statement = statement
        weights = {term.name: term.lam for term in statement.penalties}
        self.l0, self.l1 = weights.get("l0_penalty", 0.0), weights.get("l1_penalty", 0.0)
        self.constrained = bool(statement.constraints)
        self.thrifty = not (self.constrained or every_card)
        step = statement.intercept.step
        assert step is not None
        self.step = step
        rows = statement.design.merged
        self.rows, self.y, self.weight = on_grid(rows.X, step), rows.y, rows.weight
        p = self.rows.shape[1]
        self.terms = p if statement.max_terms is None else min(statement.max_terms, p)
        self.choices = choices_of(statement)
        self._limit_totals()
        self._merge_rows()
        self._number_values()
        self.points = [values[values != 0] for values in self.choices]
        without_0 = [j for j, values in enumerate(self.choices) if 0 not in values]
        self.forced = np.array(without_0, dtype=np.int64)
        smallest = [float(np.abs(values).min(initial=_MOST)) for values in self.points]
        self.penalty = self.l0 + self.l1 * np.array(smallest, dtype=float)
        self.every_cut = self.thrifty and self._has_every_cut()
        self.candidates = self._find_candidates()
        self.twin = self._find_twins()
        self.primitive = self.thrifty and self._is_divisible()

    def card(self, w: IntArray, threshold: int) -> Card:
        """Weights and a threshold in steps of the grid as a card."""
        return Card(w, -threshold * self.step)

    def allowed(self, w: IntArray, threshold: int) -> bool:
        """Whether a card of the search meets the constraints as well."""
        return not self.constrained or not self.statement.violations(self.card(w, threshold))

    def charge(self, w: IntArray) -> float:
        """The penalties of w."""
        return float(self.l0 * np.count_nonzero(w) + self.l1 * np.abs(w).sum())

    def objective(self, units: int, w: IntArray) -> float:
        """The objective of a card that errs on so many units."""
        return units * self.unit + self.charge(w)

    def exact_objective(self, w: IntArray, threshold: int) -> float:
        """The objective of a card from the weights themselves, their sums correctly rounded."""
        answer = np.where(self.rows @ w >= threshold, 1, -1)
        return math.fsum(self.weight[answer != self.y]) / math.fsum(self.weight) + self.charge(w)

    def smallest_card(self) -> IntArray:
        """The card of fewest and smallest points, shape (p,)."""
        w = np.zeros(len(self.points), dtype=np.int64)
        for j in self.forced.tolist():
            w[j] = min(self.points[j].tolist(), key=abs)
        return w

    @property
    def forced_penalty(self) -> float:
        """The least penalty of the columns that cannot be 0."""
        return float(self.penalty[self.forced].sum())

    def _limit_totals(self) -> None:
        """The range of thresholds; refuse totals that do not fit into whole numbers."""
        rule = self.statement.intercept
        self.t_low = math.ceil(-rule.upper / self.step)
        self.t_high = math.floor(-rule.lower / self.step)
        largest = sum(
            int(np.abs(column).max()) * int(np.abs(values).max())
            for column, values in zip(self.rows.T, self.choices, strict=True)
        )
        if max(largest, -self.t_low, self.t_high) >= _MOST:
            raise OptionError("totals reach 2^60: give the columns a larger unit, or bin them")

    def _merge_rows(self) -> None:
        """Distinct rows with whole weights; those whose classes cancel only raise ``base``."""
        counts, self.unit = _whole_units(self.weight)
        # merged rows are sorted: those alike in all but their class are neighbours
        first = np.append(True, (self.rows[1:] != self.rows[:-1]).any(axis=1))
        positive, negative = (
            np.add.reduceat(np.where(self.y == sign, counts, 0), np.flatnonzero(first))
            for sign in (1, -1)
        )
        self.base = int(np.minimum(positive, negative).sum())
        net = positive - negative
        kept = net != 0
        kept[0] |= not kept.any()  # nothing is left to decide: one row of no weight stands for it
        small = int(np.abs(net).sum()) < np.iinfo(np.int32).max
        self.X = np.ascontiguousarray(self.rows[first][kept])
        self.net = net[kept].astype(np.int32 if small else np.int64)

    def _number_values(self) -> None:
        """Codes of the columns' values."""
        m, p = self.X.shape
        self.codes = np.zeros((p, m), dtype=np.int32)
        taken = []
        for j in range(p):
            distinct, code = np.unique(self.X[:, j], return_inverse=True)
            self.codes[j] = code
            taken.append(distinct)
        self.cards = np.array([len(distinct) for distinct in taken], dtype=np.int64)
        self.values = np.zeros((p, int(self.cards.max(initial=0))), dtype=np.int64)
        for j, distinct in enumerate(taken):
            self.values[j, : len(distinct)] = distinct

    def _has_every_cut(self) -> bool:
        """Whether the range of thresholds leaves out no cut of allowed totals that can be best."""
        smallest, largest = self._extreme_totals()
        least = int(smallest[self.net > 0].min(initial=0))
        most = int(largest[self.net < 0].max(initial=0)) + 1
        return self.t_low <= least and self.t_high >= most

    def _extreme_totals(self) -> tuple[IntArray, IntArray]:
        """The least and the largest total of each pattern over the allowed cards."""
        forced = np.zeros(len(self.points), dtype=bool)
        forced[self.forced] = True
        spare = max(self.terms - len(self.forced), 0)
        ends = np.array([[v.min(initial=0), v.max(initial=0)] for v in self.points], dtype=np.int64)
        for j in self.forced.tolist():
            ends[j] = self.points[j][[0, -1]]
        if not len(ends):
            return np.zeros(len(self.X), np.int64), np.zeros(len(self.X), np.int64)
        both = np.stack([self.X * ends[:, 0], self.X * ends[:, 1]])

        def extreme(contribution: IntArray) -> IntArray:
            optional = np.sort(np.maximum(contribution[:, ~forced], 0), axis=1)
            best = optional[:, max(optional.shape[1] - spare, 0) :].sum(axis=1)
            total: IntArray = best + contribution[:, forced].sum(axis=1)
            return total

        return -extreme(-both.min(axis=0)), extreme(both.max(axis=0))

    def _find_candidates(self) -> IntArray:
        """Columns that may be 0, may be something else, and do not only move the threshold."""
        forced = set(self.forced.tolist())
        kept = []
        for j, points in enumerate(self.points):
            moot = self.cards[j] <= 1 and (
                self.every_cut or (self.thrifty and not self.values[j].any())
            )
            if j not in forced and len(points) and not moot:
                kept.append(j)
        return np.array(kept, dtype=np.int64)

    def _find_twins(self) -> IntArray:
        """For each candidate the previous one that is equal, shifted or mirrored, with its points.

        Swapping the two then only moves the threshold, so supports with the later one alone are
        left out.
        """
        twin = np.full(len(self.points), -1, dtype=np.int64)
        if not self.every_cut:
            return twin
        seen: dict[Any, int] = {}
        for j in self.candidates.tolist():
            column = self.X[:, j] - self.X[:, j].min()
            mirrored = column.max() - column
            points = self.points[j]
            keys = [(column.tobytes(), points.tobytes())]
            keys.append((mirrored.tobytes(), np.ascontiguousarray(-points[::-1]).tobytes()))
            key = min(keys)
            twin[j] = seen.get(key, -1)
            seen[key] = j
        return twin

    def _is_divisible(self) -> bool:
        """Whether a card divided by a common divisor of its weights always stays allowed."""
        if self.t_low > 1 or self.t_high < 0:
            return False
        for points in self.points:
            largest = int(np.abs(points).max(initial=0))
            if largest > _MOST_DIVIDED:
                return False
            for g in range(2, largest + 1):
                if not np.isin(points[points % g == 0] // g, points).all():
                    return False
        return True


def _whole_units(weight: FloatArray) -> tuple[IntArray, float]:
    """Weights as whole numbers of a unit, and the share of their sum that the unit is.

    Exact where the weights lie on a grid; else rounded down by less than a unit each.
    """
    total = math.fsum(weight)
    step = common_step(weight)
    if step is not None:
        counts = np.rint(weight * (step.denominator / step.numerator)).astype(np.int64)
        if float(total) / float(step) < _EXACT:
            return counts, float(step / Fraction(total))
    return np.floor(weight / total * _UNITS).astype(np.int64), 1.0 / _UNITS
