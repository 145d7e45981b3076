"""The space of cards a certificate speaks of: values, penalties, intercepts, scales, rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from milpscore_check.balls import GRID
from milpscore_check.table import Refused, number

LOSSES = ("logistic", "squared", "squared_hinge", "poisson", "hinge", "zero_one")
_MOST_VALUES = 2_000_000


class Card(NamedTuple):
    """Points, the intercept in points, and how many points make one unit of the score."""

    w: tuple[int, ...]
    b: Fraction
    scale: Fraction


class Box(NamedTuple):
    """The cards whose points are among some values a column, and so on.

    ``b`` and ``slope`` are the ends of the intercept (in points) and of 1 / scale.
    """

    values: tuple[tuple[int, ...], ...]
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
        sets = {int(j): set(map(_whole, allowed)) for j, allowed in given["sets"].items()}
        self.values = tuple(
            tuple(v for v in range(a, b + 1) if j not in sets or v in sets[j])
            for j, (a, b) in enumerate(ends)
        )
        most = given["max_terms"]
        self.terms = columns if most is None else min(_whole(most), columns)
        self.l0 = number(given["l0_penalty"])
        self.table = [number(cost) for cost in given["points"]]
        largest = max((abs(v) for values in self.values for v in values), default=0)
        if min([self.l0, *self.table, Fraction(self.terms)]) < 0 or len(self.table) <= largest:
            raise Refused("a penalty is below 0, or there is none for some number of points")
        eye = given["eye"]
        self.eye = Fraction(0) if eye is None else number(eye["lam"])
        self.expert = [] if eye is None else [number(r) for r in eye["expert"]]
        self.jumps = [(_whole(a), _whole(b), number(c)) for a, b, c in given["jumps"]]
        if any(c < 0 or not {a, b} <= set(range(columns)) for a, b, c in self.jumps):
            raise Refused("a jump costs less than 0, or joins no two columns")
        marked = len(self.expert) == columns and all(0 <= r <= 1 for r in self.expert)
        if self.eye < 0 or (eye is not None and not marked):
            raise Refused("the expert does not mark every column with a number in [0, 1]")
        rule = given["intercept"]
        self.b = number(rule["lower"]), number(rule["upper"])
        self.step = None if rule["step"] is None else number(rule["step"])
        if self.step is not None:
            self.b = -(-self.b[0] // self.step) * self.step, self.b[1] // self.step * self.step
        self.scale = number(given["scale"][0]), number(given["scale"][1])
        self.free = self.scale[0] < self.scale[1]
        if (
            not 0 < self.scale[0] <= self.scale[1]
            or self.b[0] > self.b[1]
            or (self.step is not None and (self.free or self.step <= 0))
        ):
            raise Refused(
                "no scale or intercept is left, or an intercept with a step at free scale"
            )
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
        if not self.eye:
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
        box = Box(tuple((v,) for v in card.w), (card.b, card.b), (1 / card.scale, 1 / card.scale))
        for rule in self.rules:
            if self.forbids(rule, box) or (rule["kind"] == "errors" and _errs(rule, card, data)):
                yield f"it breaks {rule.get('name', rule['kind'])!r}"

    # ---------------------------------------------------------------- boxes

    def everything(self) -> Box:
        """The box of every card."""
        return Box(self.values, self.b, (1 / self.scale[1], 1 / self.scale[0]))

    def halves(self, box: Box, j: int, at: Any) -> tuple[Box, Box]:
        """Two boxes that hold every card of this one.

        Of a column, values up to ``at`` and above; for None 0 and all others. The number of columns
        names the intercept, which is parted at a multiple of its step; the next one 1 / scale.
        """
        p = len(box.values)
        if j < p:
            low = tuple(v for v in box.values[j] if (v == 0 if at is None else v <= at))
            parts = low, tuple(v for v in box.values[j] if v not in low)
            first, rest = ((*box.values[:j], part, *box.values[j + 1 :]) for part in parts)
            return box._replace(values=first), box._replace(values=rest)
        name, step = ("b", self.step) if j == p else ("slope", None)
        ends, value = getattr(box, name), Fraction(at)
        below = value if step is None else value // step * step
        return (
            box._replace(**{name: (ends[0], min(ends[1], below))}),
            box._replace(**{name: (max(ends[0], below + (step or 0)), ends[1])}),
        )

    def empty(self, box: Box) -> bool:
        """Whether a box surely holds no allowed card."""
        if box.b[0] > box.b[1] or box.slope[0] > box.slope[1] or not all(box.values):
            return True
        if sum(0 not in values for values in box.values) > self.terms:
            return True
        return any(self.forbids(rule, box) for rule in self.rules)

    @staticmethod
    def forbids(rule: Mapping[str, Any], box: Box) -> bool:
        """Whether a rule rules a whole box out; limits on errors never do."""
        kind = rule["kind"]
        if kind == "ordered":
            return any(min(box.values[a]) > max(box.values[b]) for a, b in rule["pairs"])
        least = most = Fraction(0)  # of what must lie between two ends, the most that it reaches
        if kind == "used":
            for group, factor in zip(rule["groups"], rule["factors"], strict=True):
                left = [box.values[j] for j in group]
                surely = any(0 not in values for values in left)
                never = all(set(values) == {0} for values in left)
                ends = {factor} if surely else {0} if never else {0, factor}
                least, most = least + min(ends), most + max(ends)
        elif kind == "totals":
            for columns, rows in rule["features"]:
                left = [box.values[j] for j in columns]
                parts = [
                    [[v * number(x) for v in own] for own, x in zip(left, row, strict=True)]
                    for row in rows
                ]
                # no card's least total is above ``most``, no card's largest one below ``least``
                most += min(sum(map(max, row), Fraction(0)) for row in parts)
                least += max(sum(map(min, row), Fraction(0)) for row in parts)
        elif kind != "errors":
            raise Refused(f"{kind!r} is no kind of rule")
        else:
            return False
        lower, upper = (None if e is None else number(e) for e in (rule["lower"], rule["upper"]))
        return (lower is not None and most < lower) or (upper is not None and least > upper)


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


def _whole(value: Any) -> int:
    """A whole number, as JSON holds it."""
    if type(value) is not int or abs(value) > 10**12:
        raise Refused(f"{str(value)[:40]!r} is no whole number, or a very large one")
    return value
