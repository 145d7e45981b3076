"""The core of the checker once more, in another style: by definition, from documentation alone.

Nothing is merged, left out early or rounded down: the tree is walked by recursion, a line is summed
over rows as fractions, and cells and thresholds of every choice of columns are gone through one by
one. Entropies are doubles, so that a margin is right to about 1e-12. Where a point's line hangs on
the last digits of a double (on a corner of the hinge, at the end of what multipliers may be, or
beside codes of sixteen digits), the margin is called delicate.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fuzz.certificates import Cards, Rows

NOTHING = -math.inf
CELLS, EMPTY = -2, -1
NEAR, HAIR = Fraction(1, 10**9), Fraction(1, 2**44)


class Unproved(Exception):
    """A leaf or the tree itself proves nothing."""


@dataclass(frozen=True)
class Box:
    """Values of each column, intercepts in points, and values of 1 / scale."""

    values: tuple[tuple[int, ...], ...]
    b: tuple[Fraction, Fraction]
    slope: tuple[Fraction, Fraction]


def margin(
    rows: Rows, cards: Cards, evidence: dict[str, Any], bound: Fraction
) -> tuple[float, bool]:
    """By how much the weakest leaf exceeds the bound, and whether that is delicate.

    Minus infinity where the tree does not cover all cards, or a leaf proves nothing.
    """
    values = tuple(tuple(v for span in own for v in span) for own in cards.values)
    step, (low, high) = cards.step, cards.b
    if step:
        low, high = math.ceil(low / step) * step, math.floor(high / step) * step
    box = Box(values, (low, high), (1 / cards.scale[1], 1 / cards.scale[0]))
    tree = evidence["tree"] or ([CELLS] if cards.loss == "zero_one" else [])
    proof = Proof(rows, cards, evidence["points"], bound)
    nodes = iter(tree)
    try:
        least = proof.walk(box, nodes)
    except (Unproved, StopIteration):
        least = NOTHING
    return NOTHING if next(nodes, None) is not None else least, proof.delicate


@dataclass
class Proof:
    """What is known while a tree is walked."""

    rows: Rows
    cards: Cards
    points: list[Any]
    bound: Fraction
    delicate: bool = False

    def __post_init__(self) -> None:
        counted = [i for i, s in enumerate(self.rows.weight) if s > 0]
        self.x = [self.rows.x[i] for i in counted]
        self.y = [self.rows.y[i] for i in counted]
        whole = sum(self.rows.weight[i] for i in counted)
        self.s = [self.rows.weight[i] / whole for i in counted]
        self.terms = min(self.cards.terms, len(self.cards.values))

    def walk(self, box: Box, nodes: Iterator[Any]) -> float:
        """The least margin of the leaves below a node."""
        entry = next(nodes)
        if isinstance(entry, list):
            first, second = self.halves(box, *entry)
            return min(self.walk(first, nodes), self.walk(second, nodes))
        if self.empty(box):
            return math.inf
        if entry == EMPTY:
            raise Unproved
        if entry == CELLS:
            return self.cells(box)
        line = self.paired if self.cards.loss == "zero_one" else self.line
        return line(box, self.points[entry])

    def halves(self, box: Box, j: int, at: Any) -> tuple[Box, Box]:
        """The two boxes of a split."""
        p = len(box.values)
        if j >= p and at is None:
            raise Unproved
        if j < p:
            own = box.values[j]
            inside = [v == 0 if at is None else v <= at for v in own]
            parts = [tuple(v for v, k in zip(own, inside, strict=True) if k is side)
                     for side in (True, False)]  # fmt: skip
            first, second = (
                replace(box, values=(*box.values[:j], part, *box.values[j + 1 :])) for part in parts
            )
            return first, second
        name = "b" if j == p else "slope"
        (low, high), cut, jump = getattr(box, name), Fraction(at), Fraction(0)
        if j == p and self.cards.step:
            jump = self.cards.step
            cut = math.floor(cut / jump) * jump
        both = (low, min(high, cut)), (max(low, cut + jump), high)
        return replace(box, **{name: both[0]}), replace(box, **{name: both[1]})

    def empty(self, box: Box) -> bool:
        """Whether no card lies in a box."""
        if not all(box.values) or box.b[0] > box.b[1] or box.slope[0] > box.slope[1]:
            return True
        if sum(0 not in own for own in box.values) > self.terms:
            return True
        return any(map(self.excluded, self.cards.rules, itertools.repeat(box)))

    def excluded(self, rule: dict[str, Any], box: Box) -> bool:
        """Whether a rule's figure lies beyond an end for all of a box."""
        low, high = Fraction(0), Fraction(0)
        if rule["kind"] == "used":
            for group, factor in rule["groups"]:
                can = any(set(box.values[j]) != {0} for j in group)
                must = any(0 not in box.values[j] for j in group)
                reached = [factor] * can + [Fraction(0)] * (not must)
                low, high = low + min(reached), high + max(reached)
        elif rule["kind"] == "totals":
            for columns, levels in rule["features"]:
                ends = [
                    [sorted((box.values[j][0] * x, box.values[j][-1] * x)) for j, x in pairs]
                    for pairs in (zip(columns, level, strict=True) for level in levels)
                ]
                low += max(sum((e[0] for e in own), Fraction(0)) for own in ends)
                high += min(sum((e[1] for e in own), Fraction(0)) for own in ends)
        lower, upper = rule.get("lower"), rule.get("upper")
        return (lower is not None and high < lower) or (upper is not None and low > upper)

    def price(self, j: int, v: int) -> Fraction:
        """What v points of column j cost."""
        return self.cards.points[abs(v)] + abs(v) * self.cards.prices[j]

    # --- lines ----------------------------------------------------------------------------------

    def line(self, box: Box, point: Sequence[Any]) -> float:
        """By how much the line of a point exceeds the bound over a box."""
        (columns, at, b, slope), further = point[:4], [*point[4:], [[], []], [[], []]]
        w = dict(zip(columns, map(Fraction, at), strict=True))
        a = self.multipliers(w, Fraction(b), Fraction(slope), further[0])
        pull = [-k * y * s for k, y, s in zip(a, self.y, self.s, strict=True)]
        height = math.fsum(float(s) * self.height(k) for s, k in zip(self.s, a, strict=True))
        g = [sum((f * x[j] for f, x in zip(pull, self.x, strict=True)), Fraction(0))
             for j in range(len(box.values))]  # fmt: skip
        fixed = self.below_jumps(w, further[1])
        least = []
        zero = Fraction(0)
        for rate in box.slope:
            level = min(rate * sum(pull) * end for end in box.b)
            best = [min((rate * g[j] + fixed[j]) * v + self.price(j, v) for v in own)
                    for j, own in enumerate(box.values)]  # fmt: skip
            forced = [c for c, own in zip(best, box.values, strict=True) if 0 not in own]
            other = sorted(
                min(c, zero) for c, own in zip(best, box.values, strict=True) if 0 in own
            )
            level += sum(forced) + sum(other[: self.terms - len(forced)])
            least.append(height + float(level - self.bound))
        return min(least)

    def paired(self, box: Box, point: Sequence[Any]) -> float:
        """By how much pairs of rows, and what columns cost, exceed the bound over a box."""
        above, below, weights, one = point
        given: dict[Any, Fraction] = defaultdict(Fraction)
        for i, k, weight in zip(above, below, weights, strict=True):
            if one < 1 or weight < 0 or self.rows.y[i] < 0 or self.rows.y[k] > 0:
                raise Unproved
            if not self.rows.weight[i] or not self.rows.weight[k]:
                raise Unproved
            for row in (i, k):
                given[tuple(self.rows.x[row]), self.rows.y[row]] += Fraction(weight, one)
        for (x, y), share in given.items():
            alike = [s for own, c, s in zip(self.x, self.y, self.s, strict=True)
                     if tuple(own) == x and c == y]  # fmt: skip
            if share > sum(alike, Fraction(0)):
                raise Unproved
        # those that no card of the box puts in order: the extremes of a sum lie at the ends
        never, paid = Fraction(0), -self.bound
        for i, k, weight in zip(above, below, weights, strict=True):
            gaps = [x - z for x, z in zip(self.rows.x[i], self.rows.x[k], strict=True)]
            most = sum(max(v * gap for v in own) for own, gap in zip(box.values, gaps, strict=True))
            never += Fraction(weight, one) * (most <= 0)
        paid += sum(min(self.price(j, v) for v in own) if 0 not in own else 0
                    for j, own in enumerate(box.values))  # fmt: skip
        level, best = sum(Fraction(w, one) for w in weights) - self.bound, []
        for j, own in enumerate(box.values):
            gaps = [self.rows.x[i][j] - self.rows.x[k][j]
                    for i, k in zip(above, below, strict=True)]  # fmt: skip
            worth = [self.price(j, v) - sum((Fraction(w, one) for w, gap in zip(weights, gaps,
                     strict=True) if v * gap > 0), Fraction(0)) for v in own]  # fmt: skip
            if 0 in own:
                best.append(min(Fraction(0), *worth))
            else:
                level += min(worth)
        level += sum(sorted(best)[: self.terms - (len(box.values) - len(best))])
        return float(max(level, never + paid))

    def multipliers(
        self, w: dict[int, Fraction], b: Fraction, slope: Fraction, stated: Any
    ) -> list[Fraction]:
        """Each row's multiplier: its loss's derivative at the point, as stated, or levelled."""
        loss, a = self.cards.loss, list[Fraction]()
        square = loss.startswith("squared")
        for x, y in zip(self.x, self.y, strict=True):
            t = y * slope * (b + sum((v * x[j] for j, v in w.items()), Fraction(0)))
            self.delicate |= loss == "hinge" and abs(t - 1) < NEAR
            self.delicate |= max(map(abs, x)) > 10**12
            short = 1 - t if loss == "squared" else max(1 - t, Fraction(0))
            doubtful = Fraction(1 / (1 + math.exp(min(t, Fraction(700)))))
            a.append({"hinge": Fraction(t < 1), "logistic": doubtful}.get(loss, short))
        for i, share in zip(*stated, strict=True):
            alike = self.rows.x[i], self.rows.y[i]
            a = [Fraction(share) if (x, y) == alike else k
                 for k, x, y in zip(a, self.x, self.y, strict=True)]  # fmt: skip
        if self.cards.scale[0] < self.cards.scale[1] and any(self.cards.b):
            room = [round((k if square else min(k, 1 - k)) * 2**48) for k in a]
            k = room.index(max(room))
            mine = [i for i in range(len(a)) if (self.x[i], self.y[i]) == (self.x[k], self.y[k])]
            excess = -sum(f * y * s for f, y, s in zip(a, self.y, self.s, strict=True))
            for i in mine:
                a[i] += self.y[k] * excess / sum((self.s[i] for i in mine), Fraction(0))
            self.delicate |= min(abs(a[k] - end) for end in (0, 1)) < NEAR
        least = -math.inf if loss == "squared" else 0
        most = math.inf if square else 1
        if min(a) < least - HAIR or max(a) > most + HAIR:
            raise Unproved
        return [Fraction(min(max(k, least), most)) for k in a]

    def height(self, a: Fraction) -> float:
        """h(a): where the line of a multiplier meets a margin of 0."""
        if self.cards.loss == "hinge":
            return float(a)
        if self.cards.loss.startswith("squared"):
            return float(a - a * a / 2)
        return -math.fsum(float(k) * math.log(k) for k in (a, 1 - a) if k)

    def below_jumps(self, w: dict[int, Fraction], stated: Any) -> list[Fraction]:
        """Slopes of a linear function below the jumps."""
        fixed, given = [Fraction(0)] * len(self.cards.values), dict(zip(*stated, strict=True))
        for k, (i, j, cost) in enumerate(self.cards.jumps):
            gap = w.get(i, Fraction(0)) - w.get(j, Fraction(0))
            share = Fraction(given.get(k, (gap > 0) - (gap < 0)))
            if abs(share) > 1:
                raise Unproved
            fixed[i] += cost * share
            fixed[j] -= cost * share
        return fixed

    # --- cells ----------------------------------------------------------------------------------

    def cells(self, box: Box) -> float:
        """By how much the weakest choice of columns exceeds the bound."""
        able = [j for j, own in enumerate(box.values) if any(own)]
        choices = itertools.chain.from_iterable(
            itertools.combinations(able, k) for k in range(self.terms + 1)
        )
        return min(map(self.choice, itertools.repeat(box), choices), default=math.inf)

    def choice(self, box: Box, used: tuple[int, ...]) -> float:
        """The margin of cards with points on just these columns."""
        own = [tuple(v for v in values if v) if j in used else (0,) * (0 in values)
               for j, values in enumerate(box.values)]  # fmt: skip
        if self.empty(replace(box, values=tuple(own))):
            return math.inf
        cells: dict[tuple[Fraction, ...], list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 2)
        for x, y, s in zip(self.x, self.y, self.s, strict=True):
            cells[tuple(x[j] for j in used)][y > 0] += s
        paid = sum((min(self.price(j, v) for v in own[j]) for j in used), Fraction(0))
        lost = math.fsum(self.alike(*both) for both in cells.values()) + float(paid - self.bound)
        if self.cards.loss != "zero_one" or lost >= 0:
            return lost
        return min(self.errors(used, w) for w in itertools.product(*(own[j] for j in used)))

    def alike(self, n: Fraction, p: Fraction) -> float:
        """What rows of both classes lose that all get one score."""
        if self.cards.loss.startswith("squared"):
            return float(2 * n * p / (n + p))
        if self.cards.loss != "logistic":
            return float(min(n, p) * (2 if self.cards.loss == "hinge" else 1))
        return math.fsum(float(k) * math.log((n + p) / k) for k in (n, p) if k)

    def errors(self, used: tuple[int, ...], w: tuple[int, ...]) -> float:
        """The margin of points, whatever the threshold."""
        points = dict(zip(used, w, strict=True))
        totals = [sum((v * x[j] for j, v in points.items()), Fraction(0)) for x in self.x]
        rows = list(zip(totals, self.y, self.s, strict=True))
        cuts = [*set(totals), max(totals) + 1]
        wrong = [sum(s for t, y, s in rows if (t >= cut) != (y > 0)) for cut in cuts]
        paid = sum((self.price(j, v) for j, v in points.items()), Fraction(0))
        return float(min(wrong) + paid - self.bound)
