"""The space of cards a certificate speaks of: values, penalties, intercepts, scales, rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from milpscore_check.balls import GRID
from milpscore_check.table import Refused, number

LOSSES = ("logistic", "squared", "squared_hinge", "poisson", "hinge", "zero_one")
_MOST_VALUES = 2_000_000


@dataclass(frozen=True)
class Card:
    """Points, the intercept in points, and how many points make one unit of the score."""

    w: tuple[int, ...]
    b: Fraction
    scale: Fraction


@dataclass(frozen=True)
class Box:
    """Cards whose points lie between two places among the allowed values, and so on.

    ``low`` and ``high`` are places; ``used`` are the columns without 0; ``b`` and ``slope`` are the
    ends of the intercept (in points) and of 1 / scale.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    used: frozenset[int]
    b: tuple[Fraction, Fraction]
    slope: tuple[Fraction, Fraction]


class Cards:
    """Every card of a certificate's entry ``cards``."""

    def __init__(self, given: Mapping[str, Any], columns: int) -> None:
        self.loss = given["loss"]["kind"]
        self.margin = number(given["loss"].get("margin", "1"))
        ends = [(_whole(a), _whole(b)) for a, b in given["ranges"]]
        if given["other"]:
            raise Refused(f"the penalty {given['other'][0]!r} is not known here")
        if len(ends) != columns or self.loss not in LOSSES or self.margin <= 0:
            raise Refused("the loss is not known, or there is not a range for every column")
        if sum(max(0, b - a + 1) for a, b in ends) > _MOST_VALUES:
            raise Refused("the ranges hold too many values")
        self.values = [list(range(a, b + 1)) for a, b in ends]
        for j, allowed in given["sets"].items():
            a, b = ends[int(j)]
            self.values[int(j)] = sorted({v for v in map(_whole, allowed) if a <= v <= b})
        most = given["max_terms"]
        self.terms = columns if most is None else min(_whole(most), columns)
        self.l0 = number(given["l0_penalty"])
        self.table = [number(cost) for cost in given["points"]]
        largest = max((abs(v) for values in self.values for v in values), default=0)
        if min([self.l0, *self.table, Fraction(self.terms)]) < 0 or len(self.table) <= largest:
            raise Refused("a penalty is below 0, or there is none for some number of points")
        self.eye = None if given["eye"] is None else number(given["eye"]["lam"])
        marks = [] if given["eye"] is None else given["eye"]["expert"]
        self.expert = [number(r) for r in marks]
        self.jumps = [(_whole(a), _whole(b), number(c)) for a, b, c in given["jumps"]]
        if any(c < 0 or not {a, b} <= set(range(columns)) for a, b, c in self.jumps):
            raise Refused("a jump costs less than 0, or joins no two columns")
        if self.eye is not None and (len(self.expert) != columns or self.eye < 0):
            raise Refused("the expert does not mark every column")
        if any(not 0 <= r <= 1 for r in self.expert):
            raise Refused("an expert's mark lies outside [0, 1]")
        rule = given["intercept"]
        self.b = number(rule["lower"]), number(rule["upper"])
        self.step = None if rule["step"] is None else number(rule["step"])
        if self.step is not None:
            if self.step <= 0:
                raise Refused("the intercept's step is not above 0")
            self.b = -(-self.b[0] // self.step) * self.step, self.b[1] // self.step * self.step
        self.scale = number(given["scale"][0]), number(given["scale"][1])
        if not 0 < self.scale[0] <= self.scale[1] or self.b[0] > self.b[1]:
            raise Refused("the scales or the intercepts are empty, or a scale is not above 0")
        self.free = self.scale[0] < self.scale[1]
        if self.free and self.step is not None:
            raise Refused("an intercept with a step needs a fixed scale")
        self.rules = given["rules"]
        charges = [c + (self.l0 if k else 0) for k, c in enumerate(self.table)]
        self.charge = [(c.numerator << GRID) // c.denominator for c in charges]

    def card(self, given: Mapping[str, Any]) -> Card:
        """The certificate's card."""
        scale = given.get("scale")
        return Card(
            tuple(_whole(w) for w in given["coefficients"]),
            number(given["intercept"]),
            self.scale[0] if scale is None else number(scale),
        )

    def penalty(self, w: Sequence[int]) -> tuple[Fraction, Fraction]:
        """The penalty of points, as the square root in it is enclosed."""
        size = [abs(v) for v in w]
        total = sum((self.table[k] + (self.l0 if k else 0) for k in size), Fraction(0))
        total += sum((c * abs(w[a] - w[b]) for a, b, c in self.jumps), Fraction(0))
        if self.eye is None:
            return total, total
        marks = list(zip(self.expert, size, strict=True))
        a = sum(((1 - r) * k for r, k in marks), Fraction(0))
        low, high = root(a * a + sum((r * r * k * k for r, k in marks), Fraction(0)))
        return total + self.eye * (a + low), total + self.eye * (a + high)

    def broken(self, card: Card, data: Any) -> Iterator[str]:
        """What a card breaks, in words."""
        if len(card.w) != len(self.values):
            yield f"it has {len(card.w)} coefficients for {len(self.values)} columns"
            return
        for j, v in enumerate(card.w):
            if v not in self.values[j]:
                yield f"{v} points are not allowed for column {j}"
        if sum(v != 0 for v in card.w) > self.terms:
            yield f"it has more than {self.terms} terms"
        on_step = self.step is None or card.b % self.step == 0
        if not (on_step and self.b[0] <= card.b <= self.b[1]):
            yield f"the intercept {card.b} is not allowed"
        if not self.scale[0] <= card.scale <= self.scale[1]:
            yield f"the scale {float(card.scale):g} is not allowed"
        box = self.single(card)
        for rule in self.rules:
            if self.forbids(rule, box) or (rule["kind"] == "errors" and _errs(rule, card, data)):
                yield f"it breaks {rule.get('name', rule['kind'])!r}"

    def single(self, card: Card) -> Box:
        """The box of one card, which is allowed."""
        places = tuple(
            values.index(v) if v in values else 0
            for v, values in zip(card.w, self.values, strict=True)
        )
        slope = 1 / card.scale
        return Box(places, places, frozenset(), (card.b, card.b), (slope, slope))

    # ---------------------------------------------------------------- boxes

    def everything(self) -> Box:
        """The box of every card."""
        places = tuple(len(values) - 1 for values in self.values)
        slopes = 1 / self.scale[1], 1 / self.scale[0]
        return Box(tuple(0 for _ in places), places, frozenset(), self.b, slopes)

    def halves(self, box: Box, j: int, at: Any) -> tuple[Box, Box]:
        """Two boxes that hold every card of this one.

        Of a column, values up to ``at`` and above; for None 0 and all others. The number of columns
        names the intercept, which is parted at a multiple of its step; the next one 1 / scale.
        """
        p = len(self.values)
        if j >= p:
            value = Fraction(at)
            if j == p:
                low, high = box.b
                ends = (value, value) if self.step is None else _beside(value, self.step)
                return (
                    replace(box, b=(low, min(high, ends[0]))),
                    replace(box, b=(max(low, ends[1]), high)),
                )
            low, high = box.slope
            return (
                replace(box, slope=(low, min(high, value))),
                replace(box, slope=(max(low, value), high)),
            )
        values = self.values[j]
        if at is None:
            zero = values.index(0) if 0 in values else len(values)
            first, last = max(box.low[j], zero), min(box.high[j], zero)
            nothing = replace(box, low=_at(box.low, j, first), high=_at(box.high, j, last))
            return nothing, replace(box, used=box.used | {j})
        last = sum(v <= at for v in values) - 1
        return (
            replace(box, high=_at(box.high, j, min(box.high[j], last))),
            replace(box, low=_at(box.low, j, max(box.low[j], last + 1))),
        )

    def allowed(self, box: Box, j: int) -> list[int]:
        """The values a box leaves a column."""
        values = self.values[j][box.low[j] : box.high[j] + 1]
        return [v for v in values if v] if j in box.used else values

    def empty(self, box: Box) -> bool:
        """Whether a box surely holds no allowed card."""
        if box.b[0] > box.b[1] or box.slope[0] > box.slope[1]:
            return True
        left = [self.allowed(box, j) for j in range(len(self.values))]
        if not all(left) or sum(0 not in values for values in left) > self.terms:
            return True
        return any(self.forbids(rule, box) for rule in self.rules)

    def forbids(self, rule: Mapping[str, Any], box: Box) -> bool:
        """Whether a rule rules a whole box out; limits on errors never do."""
        kind = rule["kind"]
        if kind == "used":
            sums = [0, 0]
            for group, factor in zip(rule["groups"], rule["factors"], strict=True):
                left = [self.allowed(box, j) for j in group]
                surely = any(0 not in values for values in left)
                never = all(set(values) == {0} for values in left)
                ends = {factor} if surely else {0} if never else {0, factor}
                sums = [sums[0] + min(ends), sums[1] + max(ends)]
            return _outside(sums[0], sums[1], rule["lower"], rule["upper"])
        if kind == "ordered":
            return any(
                min(self.allowed(box, a)) > max(self.allowed(box, b)) for a, b in rule["pairs"]
            )
        if kind == "totals":
            least, most = Fraction(0), Fraction(0)
            for columns, rows in rule["features"]:
                values = [self.allowed(box, j) for j in columns]
                parts = [
                    [[v * number(x) for v in own] for own, x in zip(values, row, strict=True)]
                    for row in rows
                ]
                # no card's least total is larger, no card's largest one smaller
                least += min(sum(map(max, row), Fraction(0)) for row in parts)
                most += max(sum(map(min, row), Fraction(0)) for row in parts)
            low, high = (None if e is None else number(e) for e in (rule["lower"], rule["upper"]))
            return (low is not None and least < low) or (high is not None and most > high)
        if kind != "errors":
            raise Refused(f"{kind!r} is no kind of rule")
        return False


def root(q: Fraction) -> tuple[Fraction, Fraction]:
    """The square root between two multiples of 2^-GRID."""
    low = math.isqrt((q.numerator << 2 * GRID) // q.denominator)
    return Fraction(low, 1 << GRID), Fraction(low + 1, 1 << GRID)


def _errs(rule: Mapping[str, Any], card: Card, data: Any) -> bool:
    """Whether a card errs on more of a rule's rows than it may."""
    rows = range(len(data.y)) if rule["rows"] is None else rule["rows"]
    mine = [i for i in rows if rule["label"] in (0, data.y[i]) and data.weight[i] > 0]
    wrong = [i for i in mine if data.wrong(card, i)]
    if rule["count"] is not None:
        return len(wrong) > int(rule["count"])
    total = sum(data.weight[i] for i in mine)
    share = number(rule["share"]) + Fraction(1, 10**9)
    return bool(sum(data.weight[i] for i in wrong) > share * total)


def _outside(least: int, most: int, lower: int | None, upper: int | None) -> bool:
    """Whether an interval does not meet another one; None is no end."""
    return (lower is not None and most < lower) or (upper is not None and least > upper)


def _beside(value: Fraction, step: Fraction) -> tuple[Fraction, Fraction]:
    """The multiples of a step at or below a value, and above."""
    below = value // step * step
    return below, below + step


def _at(places: tuple[int, ...], j: int, place: int) -> tuple[int, ...]:
    """Another place for one column."""
    return (*places[:j], place, *places[j + 1 :])


def _whole(value: Any) -> int:
    """A whole number, as JSON holds it."""
    if type(value) is not int or abs(value) > 10**12:
        raise Refused(f"{str(value)[:40]!r} is no whole number, or a very large one")
    return value
