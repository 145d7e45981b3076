"""The cards of a statement as boxes, and what a line proves of all cards in one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.statement import Statement

_EPS = float(np.finfo(np.float64).eps)
INTERCEPT = -1
"""The number by which a split names the intercept."""


@dataclass
class Box:
    """Cards with w_j between two of its allowed values and b in an interval.

    Attributes
    ----------
    low, high : int arrays of shape (p,)
        Positions among the allowed values.
    used : bool array of shape (p,)
        Whether 0 is ruled out.
    b_low, b_high : float
    """

    low: IntArray
    high: IntArray
    used: BoolArray
    b_low: float
    b_high: float

    def copy(self) -> Box:
        """A box of its own."""
        return Box(self.low.copy(), self.high.copy(), self.used.copy(), self.b_low, self.b_high)


@dataclass(frozen=True)
class Line:
    """objective >= constant + slope . w + slope_b b + (terms, and penalties that are sums)."""

    constant: float
    slope: FloatArray
    slope_b: float


class Space:
    """Every card a risk score's statement allows.

    Parameters
    ----------
    statement : Statement

    Attributes
    ----------
    values : ndarray of shape (p, K)
        Each coefficient's allowed values, ascending, padded.
    cost : ndarray of shape (p, K)
        What each costs by itself: its term, and a penalty that is a sum.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        p = statement.design.shape[1]
        low, high = statement.ranges
        choices = [
            np.array(
                [v for v in statement.coef_sets[j] if low[j] <= v <= high[j]]
                if j in statement.coef_sets
                else range(int(low[j]), int(high[j]) + 1)
            )
            for j in range(p)
        ]
        width = max((len(each) for each in choices), default=1) or 1
        self.values, self.real = np.zeros((p, width)), np.zeros((p, width), dtype=bool)
        for j, each in enumerate(choices):
            self.values[j, : len(each)], self.real[j, : len(each)] = each, True
        self.count = self.real.sum(axis=1)
        self.is_zero = self.real & (self.values == 0)
        self.terms = p if statement.max_terms is None else min(statement.max_terms, p)
        self.cost = self._costs()
        self.at = np.arange(width)
        rule = statement.intercept
        self.step = None if rule.step is None else float(rule.step)
        self.b_low, self.b_high = float(rule.lower), float(rule.upper)
        if rule.step is not None:
            self.b_low = float(math.ceil(rule.lower / rule.step) * rule.step)
            self.b_high = float(math.floor(rule.upper / rule.step) * rule.step)
        self.most = np.abs(self.values).max(axis=1, initial=0.0)
        self.largest_b = max(abs(self.b_low), abs(self.b_high))
        self.largest_cost = float(self.cost.max(axis=1, initial=0.0).sum())

    def _costs(self) -> FloatArray:
        """The table of single costs."""
        statement, size = self.statement, np.abs(self.values)
        cost = np.where(self.values != 0, float(statement.penalties[0].lam), 0.0)
        if len(statement.penalties) > 1:
            lam, kind = float(statement.penalties[1].lam), statement.arguments["penalty"]
            shapes = {"l1": size, "l2": size**2 / 2, "facets": (size**2 + size) / 2}
            cost += lam * shapes.get(kind, np.zeros_like(size))
        return cost

    def all_cards(self) -> Box:
        """The box of every card."""
        return Box(
            np.zeros(len(self.values), dtype=np.int64),
            (self.count - 1).astype(np.int64),
            np.zeros(len(self.values), dtype=bool),
            self.b_low,
            self.b_high,
        )

    def halves(self, box: Box, j: int, value: float) -> tuple[Box, Box]:
        """The cards of a box with w_j (or b) at most ``value``, and those above: all of them."""
        below, above = box.copy(), box.copy()
        if j == INTERCEPT:
            if self.step is None:
                below.b_high, above.b_low = min(box.b_high, value), max(box.b_low, value)
            else:
                k = math.floor(value / self.step + 1e-9)
                below.b_high = min(box.b_high, k * self.step)
                above.b_low = max(box.b_low, (k + 1) * self.step)
            return below, above
        last = int(np.searchsorted(self.values[j, : self.count[j]], value, side="right")) - 1
        below.high[j], above.low[j] = min(box.high[j], last), max(box.low[j], last + 1)
        return below, above

    def inside(self, box: Box) -> BoolArray:
        """Which values a box holds, shape (p, K)."""
        within = (self.at >= box.low[:, None]) & (self.at <= box.high[:, None])
        return np.asarray(within & ~(box.used[:, None] & self.is_zero))

    def empty(self, box: Box) -> bool:
        """Whether no card is left by ranges, limit on terms and constraints."""
        inside = self.inside(box)
        if box.b_low > box.b_high or not inside.any(axis=1).all():
            return True
        must = ~(inside & self.is_zero).any(axis=1)
        if must.sum() > self.terms:
            return True
        return bool(self.statement.constraints) and self._forbidden(box, inside, must)

    def _forbidden(self, box: Box, inside: BoolArray, must: BoolArray) -> bool:
        """Whether the constraints rule the whole box out."""
        never = (inside & ~self.is_zero).sum(axis=1) == 0
        included, excluded = np.flatnonzero(must).tolist(), np.flatnonzero(never).tolist()
        if not all(c.allows_support(included, excluded) for c in self.statement.constraints):
            return True
        if not (inside.sum(axis=1) == 1).all():
            return False
        w = self.values[inside].astype(np.int64)
        if not self.statement.allows(w[None, :])[0]:
            return True
        if self.step is None or box.b_low < box.b_high:
            return False
        return bool(self.statement.violations(Card(w, self.statement.intercept.nearest(box.b_low))))

    def tighten(self, line: Line, box: Box, goal: float) -> bool:
        """Drop from a box, in place, what the line puts at ``goal`` or above; whether all went."""
        if not math.isfinite(line.constant):
            return self.empty(box)
        price = line.slope[:, None] * self.values + self.cost
        size = np.abs(line.slope) @ self.most + abs(line.slope_b) * self.largest_b
        size += abs(line.constant) + self.largest_cost
        base = line.constant - 8.0 * _EPS * (len(self.values) + 8) * float(size)
        while not self.empty(box):
            inside = self.inside(box)
            least, totals = self._least(price, inside)
            ends = line.slope_b * box.b_low, line.slope_b * box.b_high
            bound = base + min(ends) + least
            if bound >= goal:
                return True
            kept = inside & ~(base + min(ends) + totals >= goal)
            self._shorten(line.slope_b, box, goal - bound)
            if (kept == inside).all():
                return False
            if not kept.any(axis=1).all():
                return True
            box.low = kept.argmax(axis=1).astype(np.int64)
            box.high = (len(self.at) - 1 - kept[:, ::-1].argmax(axis=1)).astype(np.int64)
            gone = (inside & self.is_zero & ~kept).any(axis=1)
            if (self.inside(box) == inside).all() and not (gone & ~box.used).any():
                return False
            box.used |= gone
        return True

    def _least(self, price: FloatArray, inside: BoolArray) -> tuple[float, FloatArray]:
        """The least sum of prices over the cards of a box, and that with each single value."""
        nonzero = np.where(inside & ~self.is_zero, price, np.inf).min(axis=1, initial=np.inf)
        may = (inside & self.is_zero).any(axis=1)
        room = self.terms - int((~may).sum())
        gain = np.where(may, np.minimum(nonzero, 0.0), 0.0)
        order = np.sort(gain[may])
        least = float(nonzero[~may].sum() + order[:room].sum())
        last = float(order[room - 1]) if 0 < room <= len(order) else 0.0
        following = float(order[room]) if 0 < room < len(order) else 0.0
        # a value of w_j takes the place of what w_j itself, or the last one counted, contributes
        own = np.where(may, np.minimum(gain, last), nonzero)
        totals = least - own[:, None] + price
        without = np.where(gain <= last, least - gain + min(following, 0.0), least)
        if room == 0:
            totals[may], without = np.inf, np.full(len(gain), least)
        return least, np.where(self.is_zero, without[:, None], totals)

    def _shorten(self, slope_b: float, box: Box, room: float) -> None:
        """Move the intercept's dearer end in to where the line stays within ``room``."""
        if slope_b == 0.0 or box.b_low == box.b_high:
            return
        reach = room / abs(slope_b) * (1.0 + 1e-9)
        if self.step is not None:
            reach = math.floor(reach / self.step + 1e-9) * self.step
        if slope_b > 0:
            box.b_high = min(box.b_high, box.b_low + reach)
        else:
            box.b_low = max(box.b_low, box.b_high - reach)
