"""The distinct rows of a 0-1 problem, with what every card of it has or loses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray, common_step, on_grid
from milpscore.core.errors import OptionError
from milpscore.core.statement import Statement
from milpscore.penalties.points import point_prices
from milpscore.solvers.trees.shared.answer import choices_of, largest_sums, scale_of
from milpscore.solvers.trees.zero_one.policy import POLICY


class Patterns:
    """A statement under the 0-1 loss by its distinct rows x, totals in steps of the grid.

    Where columns have no step, ``rows``, ``X`` and ``values`` are multiples of 2^``bits`` steps, a
    power so small that ``rests``, ``rest`` and ``parts`` (else None) hold what is left in steps.

    ``rows``, ``y``, ``weight``: the design's merged rows. ``X`` (m, p): distinct rows whose classes
    do not cancel; ``net`` (m,): positive minus negative weight, in units of ``unit``, a share of
    all weight; ``base``: the units any card errs on. ``codes`` (p, m) numbers each column's
    ``cards`` (p,) values in ``values`` (p, most); ``points``: the nonzero ones of ``choices``.
    Thresholds lie in ``t_low``, ``t_high``; ``every_cut``: that loses no best card. ``thrifty``:
    cards that others are as good as may be left out. ``forced`` columns cannot be 0; all but the
    ``handicaps``, which raise negative rows by one weight, are ``parting``. Other ``candidates``
    may help; ``twin`` (p,): an equal or mirrored column without which this one is
    never needed, or -1. ``primitive``: some best card has weights without a common divisor.
    ``price``, ``penalty`` (p,): what a point, and the column used, cost at least. ``limits``: paid
    by rows answered negative, and the most allowed; ``signed``: the rows' units, by class.

    With ``prices`` of the limits, weight for cost, rows also weigh what their costs are priced at;
    ``granted`` is the share that a card at the limits pays for nothing. No card has less than
    ``least``; what is less than ``level`` below another objective is level with it.
    """

    def __init__(
        self, statement: Statement, every_card: bool = False, prices: Sequence[float] = ()
    ) -> None:
        self.statement = statement
        weights = {term.name: term.lam for term in statement.penalties}
        self.l0, p = weights.get("l0_penalty", 0.0), statement.shape[1]
        found = (point_prices(term, p) for term in statement.penalties)
        self.price = sum((prices for prices in found if prices is not None), np.zeros(p))
        self.constrained = bool(statement.constraints)
        self.thrifty = not (self.constrained or every_card)
        scale = scale_of(statement)
        assert scale is not None
        self.step, self.bits = scale
        rows = statement.design.merged
        self.y, self.weight = rows.y, rows.weight
        self.rests: IntArray | None = None
        if self.bits:
            exact = np.ldexp(rows.X, self.step.denominator.bit_length() - self.bits - 1)
            self.rows = np.rint(exact).astype(np.int64)
            self.rests = np.ldexp(exact - self.rows, self.bits).astype(np.int64)
        else:
            self.rows = on_grid(rows.X, self.step)
        p = self.rows.shape[1]
        self.terms = p if statement.max_terms is None else min(statement.max_terms, p)
        self.choices = choices_of(statement)
        self.limits = [
            (rows.sums(paid), allowed)
            for each in statement.constraints
            for paid, allowed, _ in each.limits
        ]
        self._limit_totals()
        self._merge_rows(prices)
        self._number_values()
        self.points = [values[values != 0] for values in self.choices]
        without_0 = [j for j, values in enumerate(self.choices) if 0 not in values]
        self.forced = np.array(without_0, dtype=np.int64)
        self.handicaps = self.forced[[self._is_handicap(j) for j in without_0]]
        self.parting = np.setdiff1d(self.forced, self.handicaps)
        smallest = [float(np.abs(values).min(initial=POLICY.most_total)) for values in self.points]
        self.penalty = self.l0 + self.price * np.array(smallest, dtype=float)
        self.every_cut = self.thrifty and self._has_every_cut()
        self.candidates = self._find_candidates()
        self.twin = self._find_twins()
        self.primitive = self.thrifty and self._is_divisible()

    def card(self, w: IntArray, threshold: int) -> Card:
        """Weights and a threshold in steps of the grid as a card."""
        rule = self.statement.intercept
        if rule.step is not None:
            return Card(w, -threshold * self.step)
        # anywhere above the total before: clear of both
        return Card(w, rule.nearest((Fraction(1, 2) - threshold) * self.step))

    def totals(self, w: IntArray, merged: bool = False) -> Any:
        """Totals of the distinct rows, or of all ``merged`` ones, in steps; of any size."""
        X, rest = (self.rows, self.rests) if merged else (self.X, self.rest)
        whole = X @ w
        return whole if rest is None else whole.astype(object) * (1 << self.bits) + rest @ w

    @property
    def window(self) -> tuple[int, int]:
        """The range of thresholds as kernels read it."""
        return self.t_low >> self.bits, self.t_high >> self.bits

    def allowed(self, w: IntArray, threshold: int) -> bool:
        """Whether a card of the search meets the constraints as well."""
        return not self.constrained or not self.statement.violations(self.card(w, threshold))

    def without_handicaps(self) -> tuple[NDArray[Any], NDArray[Any], int]:
        """Return (net weights, codes, sure errors) of rows merged where only handicaps differ."""
        if not len(self.handicaps):
            return self.net, self.codes, 0
        left = np.delete(self.codes, self.handicaps, axis=0)
        _, sample, label = np.unique(left, axis=1, return_index=True, return_inverse=True)
        net = np.zeros(len(sample), np.int64)
        np.add.at(net, label.ravel(), self.net)
        lost = (int(np.abs(self.net.astype(np.int64)).sum()) - int(np.abs(net).sum())) // 2
        kept = net != 0
        kept[0] |= not kept.any()
        return net[kept], self.codes[:, sample[kept]], lost

    def may_use(self, columns: Sequence[int]) -> bool:
        """Whether the constraints leave a card with points on exactly these columns."""
        if not self.constrained:
            return True
        others = sorted(set(range(len(self.points))).difference(columns))
        return all(each.allows_support(columns, others) for each in self.statement.constraints)

    def charge(self, w: IntArray) -> float:
        """The penalties of w."""
        return float(self.l0 * np.count_nonzero(w) + self.price @ np.abs(w))

    def objective(self, units: int, w: IntArray) -> float:
        """Return the objective of a card that errs on ``units`` units."""
        return units * self.unit + self.charge(w)

    def exact_objective(self, w: IntArray, threshold: int) -> float:
        """The objective of a card from the weights themselves, their sums correctly rounded."""
        answer = np.where(self.totals(w, True) >= threshold, 1, -1)
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
        cut = math.floor if rule.step is not None else math.ceil  # those below a real T
        self.t_high = cut(-rule.lower / self.step)
        largest = sum(
            int(np.abs(column).max()) * int(np.abs(values).max())
            for column, values in zip(self.rows.T, self.choices, strict=True)
        )
        if max(largest, *map(abs, self.window)) >= POLICY.most_total:
            raise OptionError("totals reach 2^60: give the columns a larger unit, or bin them")

    def _merge_rows(self, prices: Sequence[float]) -> None:
        """Distinct rows with whole weights; those whose classes cancel only raise ``base``."""
        total, weight, self.granted = math.fsum(self.weight), self.weight, 0.0
        for price, (paid, allowed) in zip(prices, self.limits, strict=False):
            # a negative row that errs is not answered negative
            weight, granted = weight + price * paid * self.y, allowed - paid[self.y < 0].sum()
            self.granted += price * granted / total
        counts, self.unit = _whole_units(weight, total)
        # priced rows may have a unit above any gap
        self.level = POLICY.surely * (_whole_units(self.weight, total)[1] if prices else self.unit)
        # merged rows are sorted: those alike in all but their class are neighbours
        X = self.statement.design.merged.X if self.bits else self.rows
        first = np.append(True, (X[1:] != X[:-1]).any(axis=1))
        positive, negative = (
            np.add.reduceat(np.where(self.y == sign, counts, 0), np.flatnonzero(first))
            for sign in (1, -1)
        )
        self.base = int(np.minimum(positive, negative).sum())
        self.least = self.base * self.unit - self.granted
        net = positive - negative
        self.signed = np.where(self.y > 0, counts, -counts)
        kept = net != 0
        kept[0] |= not kept.any()  # nothing is left to decide: one row of no weight stands for it
        small = int(np.abs(net).sum()) < np.iinfo(np.int32).max
        self.X = np.ascontiguousarray(self.rows[first][kept])
        self.rest = None if self.rests is None else np.ascontiguousarray(self.rests[first][kept])
        self.exact = X[first][kept]
        self.net = net[kept].astype(np.int32 if small else np.int64)

    def _number_values(self) -> None:
        """Codes of the columns' values."""
        m, p = self.X.shape
        self.codes = np.zeros((p, m), dtype=np.int32)
        places = []
        for j in range(p):
            _, place, self.codes[j] = np.unique(self.exact[:, j], True, True)
            places.append(place)
        self.cards = np.array([len(place) for place in places], dtype=np.int64)
        self.values = np.zeros((p, int(self.cards.max(initial=0))), dtype=np.int64)
        self.parts = None if self.rest is None else np.zeros_like(self.values)
        for j, place in enumerate(places):
            self.values[j, : len(place)] = self.X[place, j]
            if self.parts is not None and self.rest is not None:
                self.parts[j, : len(place)] = self.rest[place, j]

    def _has_every_cut(self) -> bool:
        """Whether the range of thresholds leaves out no cut of allowed totals that can be best."""
        smallest, largest = self._extreme_totals()
        # a rest is at most half a unit
        away = sum(int(np.abs(values).max()) for values in self.choices) if self.bits else 0
        least = int(smallest[self.net > 0].min(initial=0)) - away
        most = int(largest[self.net < 0].max(initial=0)) + 1 + away
        low, high = self.window
        return low <= least and high >= most

    def _extreme_totals(self) -> tuple[IntArray, IntArray]:
        """The least and the largest total of each pattern over the allowed cards."""
        free = np.ones(len(self.points), dtype=bool)
        free[self.forced] = False
        spare = max(self.terms - len(self.forced), 0)
        ends = np.array([[v.min(initial=0), v.max(initial=0)] for v in self.points], dtype=np.int64)
        for j in self.forced.tolist():
            ends[j] = self.points[j][[0, -1]]
        if not len(ends):
            return np.zeros(len(self.X), np.int64), np.zeros(len(self.X), np.int64)
        both = np.stack([self.X * ends[:, 0], self.X * ends[:, 1]])
        least, most = -both.min(axis=0), both.max(axis=0)
        return -largest_sums(least, free, spare), largest_sums(most, free, spare)

    def _is_handicap(self, j: int) -> bool:
        """Whether a column has one weight, and each negative row no less of it than any other."""
        if len(self.points[j]) != 1 or self.bits:
            return False
        own = self.X[:, j] * self.points[j]
        positive, negative = own[self.net > 0], own[self.net < 0]
        return bool(positive.max(initial=own.min()) <= negative.min(initial=own.max()))

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
        """Return per candidate the previous one that is equal, shifted or mirrored; else -1."""
        # swapping the two only moves the threshold: supports with the later one alone are left out
        twin = np.full(len(self.points), -1, dtype=np.int64)
        if not self.every_cut:
            return twin
        seen: dict[Any, int] = {}
        for j in self.candidates.tolist():
            points = self.points[j]
            price = float(self.price[j])
            if self.rest is not None and self.rest[:, j].any():  # equal to the last digit
                key = self.exact[:, j].tobytes(), points.tobytes(), price
            else:
                column = self.X[:, j] - self.X[:, j].min()
                mirrored = column.max() - column
                keys = [(column.tobytes(), points.tobytes())]
                keys.append((mirrored.tobytes(), np.ascontiguousarray(-points[::-1]).tobytes()))
                key = *min(keys), price
            twin[j] = seen.get(key, -1)
            seen[key] = j
        return twin

    def _is_divisible(self) -> bool:
        """Whether a card divided by a common divisor of its weights always stays allowed."""
        if self.t_low > 1 or self.t_high < 0:
            return False
        for points in self.points:
            largest = int(np.abs(points).max(initial=0))
            if largest > POLICY.most_divided:
                return False
            for g in range(2, largest + 1):
                if not np.isin(points[points % g == 0] // g, points).all():
                    return False
        return True


def _whole_units(weight: FloatArray, total: float) -> tuple[IntArray, float]:
    """Return weights in whole units, rounded down off the grid, and the unit's share of a total."""
    largest = math.fsum(np.abs(weight))
    step = common_step(weight)
    if step is not None:
        counts = np.rint(weight * (step.denominator / step.numerator)).astype(np.int64)
        if largest / float(step) < 1 << 53:  # as floats are exact
            return counts, float(step / Fraction(total))
    units = POLICY.weight_units
    return np.floor(weight / largest * units).astype(np.int64), largest / total / units
