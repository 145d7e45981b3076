"""The proof of a bound: a tree parts the space of cards, and a line closes each of its leaves.

Every loss lies above lines: for any multiplier a_i of row i, loss_i >= h(a_i) + q_i z_i at every
score z_i. With weights s_i of sum S, and scores z = slope (w . x + b), every card's objective is at
least

    sum s_i h_i / S + slope (g . w + g_b b) + penalty(w),   g_j = sum s_i q_i x_ij / S,

whatever the multipliers are. They are whole multiples of 2^-BITS, so that g is exact; h is a bound
from below. At a fixed slope the least of it over a box of cards is found column by column; in the
slope it is concave, being a least of linear functions, and so least at an end.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import add, mul
from typing import Any, NamedTuple

from milpscore_check import balls
from milpscore_check.balls import GRID
from milpscore_check.cards import Box, Card, Cards
from milpscore_check.table import Refused

BITS = 48
"""Multipliers are multiples of 2^-BITS."""

_ONE = 1 << BITS
_KEPT = 256


class Line(NamedTuple):
    """objective >= constant + (slope g + fixed) . w + slope g_b b + (penalties that are sums)."""

    constant: int  # in units of 2^-GRID, rounded down
    g: list[Fraction]
    g_b: Fraction
    fixed: list[Fraction] | None


class Data:
    """The rows as exact numbers, equal ones merged."""

    def __init__(
        self, columns: Sequence[Sequence[Fraction]], y: Sequence[int], weight: Sequence[Fraction]
    ) -> None:
        self.raw, self.y, self.weight = list(zip(*columns, strict=True)), y, weight
        merged: dict[tuple[Any, int], list[int]] = {}
        for i, (x, c) in enumerate(zip(self.raw, y, strict=True)):
            if weight[i] > 0:
                merged.setdefault((x, c), []).append(i)
        self.place = {i: k for k, own in enumerate(merged.values()) for i in own}
        sums = [sum((weight[i] for i in own), Fraction(0)) for own in merged.values()]
        common = math.lcm(*(s.denominator for s in sums))
        self.share = [int(s * common) for s in sums]
        self.whole = sum(self.share)
        self.classes = [c for _, c in merged]
        rows = [x for x, _ in merged]
        self.unit = math.lcm(*{v.denominator for x in set(rows) for v in x}, 1)
        self.columns = [[int(x[j] * self.unit) for x in rows] for j in range(len(columns))]
        # what is added up for a column: places and values of its nonzeros, None for all ones
        self.sparse = []
        for values in self.columns:
            at = [k for k, v in enumerate(values) if v]
            own = [values[k] for k in at]
            self.sparse.append((at, None if set(own) <= {1} else own))
        self.floats = [[float(Fraction(v, self.unit)) for v in values] for values in self.columns]

    def wrong(self, card: Card, i: int) -> bool:
        """Whether a card errs on a raw row: it answers positive from 0 on."""
        total = sum((w * x for w, x in zip(card.w, self.raw[i], strict=True) if w), card.b)
        return (total >= 0) != (self.y[i] > 0)

    def loss(self, cards: Cards, card: Card) -> tuple[Fraction, Fraction]:
        """The mean loss of a card, enclosed."""
        totals = [0] * len(self.classes)
        for w, values in zip(card.w, self.columns, strict=True):
            totals = [t + w * v for t, v in zip(totals, values, strict=True)] if w else totals
        shares: dict[tuple[int, int], int] = defaultdict(int)
        for t, c, s in zip(totals, self.classes, self.share, strict=True):
            shares[t, c] += s
        low = high = Fraction(0)
        for (t, c), s in shares.items():
            ends = _loss(cards, (Fraction(t, self.unit) + card.b) / card.scale, c)
            low, high = low + s * ends[0], high + s * ends[1]
        return low / self.whole, high / self.whole


def _loss(cards: Cards, z: Fraction, c: int) -> tuple[Fraction, Fraction]:
    """The loss of one row at a score, enclosed."""
    kind, t = cards.loss, c * z
    if kind in ("logistic", "poisson"):
        ends = balls.softplus(-t) if kind == "logistic" else balls.exp(z)
        less = z if kind == "poisson" and c > 0 else Fraction(0)
        return Fraction(ends[0], 1 << GRID) - less, Fraction(ends[1], 1 << GRID) - less
    exact = {
        "squared": (1 - t) ** 2 / 2,
        "squared_hinge": max(Fraction(0), 1 - t) ** 2 / 2,
        "hinge": max(Fraction(0), cards.margin - t) / cards.margin,
        "zero_one": Fraction((z >= 0) != (c > 0)),
    }[kind]
    return exact, exact


class Lines:
    """Draws lines below the loss and the penalties that are no sums over the columns."""

    def __init__(self, data: Data, cards: Cards, points: Sequence[Any]) -> None:
        self.data, self.cards, self.points = data, cards, points
        self.kept: dict[int, Line] = {}
        self.at_slope: dict[tuple[int, Fraction], list[tuple[int, int]]] = {}
        self.rate = 1 / cards.margin if cards.loss == "hinge" else Fraction(1)
        self.choice, self.height = _CHOICE[cards.loss], _HEIGHT[cards.loss]
        self.level = cards.free and any(cards.b)

    def least(self, box: Box, number: int) -> int:
        """A bound from below of the objective over a box, in units of 2^-GRID."""
        if number not in self.kept:
            if len(self.kept) >= _KEPT:
                self.kept.clear()
                self.at_slope.clear()
            self.kept[number] = self._line(number)
        ends = set(box.slope)
        return min(self._least(box, number, slope) for slope in ends)

    def _least(self, box: Box, number: int, slope: Fraction) -> int:
        """The least value of a line over a box at one slope."""
        line, cards = self.kept[number], self.cards
        if (number, slope) not in self.at_slope:
            fixed = line.fixed or [Fraction(0)] * len(line.g)
            sums = (slope * g + f for g, f in zip(line.g, fixed, strict=True))
            self.at_slope[number, slope] = [(f.numerator << GRID, f.denominator) for f in sums]
        b = min(slope * line.g_b * end for end in box.b) if line.g_b else Fraction(0)
        total = line.constant + (b.numerator << GRID) // b.denominator
        gains, room = [], cards.terms
        for values, (n, d) in zip(box.values, self.at_slope[number, slope], strict=True):
            least = min(((v * n) // d + cards.charge[abs(v)] for v in values if v), default=0)
            if 0 not in values:
                room -= 1
                total += least
            elif least < 0:
                gains.append(least)
        return total + sum(sorted(gains)[: max(room, 0)])

    def _line(self, number: int) -> Line:
        """The line of a point; that it is one does not depend on where the point lies."""
        data, cards = self.data, self.cards
        where, values, b, slope, *further = self.points[number]
        single: list[dict[int, int]] = [{}, {}]
        for own, (at, shares) in zip(single, further, strict=False):
            own.update({int(i): round(float(s) * _ONE) for i, s in zip(at, shares, strict=True)})
        rows, jumps = single
        w = {int(j): float(x) for j, x in zip(where, values, strict=True)}
        if not all(map(math.isfinite, (b, slope, *w.values()))):
            raise Refused(f"point {number} is not finite")
        scores = [float(slope * b)] * len(data.classes)
        for j, x in w.items():
            scores = [
                z + slope * x * value for z, value in zip(scores, data.floats[j], strict=True)
            ]
        known: dict[Any, int] = {}
        a = []
        for key in zip(scores, data.classes, strict=True):
            if key not in known:
                known[key] = round(_ONE * self.choice(key[0], key[1], float(cards.margin)))
            a.append(known[key])
        for i, share in rows.items():
            a[data.place[i]] = share
        low, high = _RANGE[cards.loss]
        if not all(low * _ONE <= k <= high * _ONE for k in {*known.values(), *rows.values()}):
            raise Refused("a multiplier lies outside the range of its loss")
        a, one = self._level(a) if self.level else (a, _ONE)
        heights: dict[tuple[int, int], int] = {}
        constant = 0
        pull = []
        for k, y, s in zip(a, data.classes, data.share, strict=True):
            if (k, y) not in heights:
                heights[k, y] = self.height(k, one)
            constant += s * heights[k, y]
            pull.append(s * (k - (one if y > 0 else 0) if cards.loss == "poisson" else -y * k))
        rate = self.rate / (data.whole * one)
        unit = rate / data.unit
        sums = (
            sum(map(pull.__getitem__, at))
            if own is None
            else sum(map(mul, map(pull.__getitem__, at), own))
            for at, own in data.sparse
        )
        g = [unit * total for total in sums]
        return Line(constant // data.whole, g, rate * sum(pull), self._fixed(w, slope, g, jumps))

    def _level(self, a: list[int]) -> tuple[list[int], int]:
        """Multipliers of a line that is level in the intercept, and what 1 is written as.

        Where the scale is free so is the intercept of the score: only level lines bound it. The
        class that pulls more is scaled down (for Poisson counts the pull upwards, to the counts;
        under the squared loss, where any number is a multiplier, one class is shifted).
        """
        pull, weight = {-1: 0, 1: 0}, {-1: 0, 1: 0}
        for k, y, s in zip(a, self.data.classes, self.data.share, strict=True):
            pull[y] += s * k
            weight[y] += s
        if self.cards.loss == "poisson":
            return [k * weight[1] for k in a], sum(pull.values())
        if self.cards.loss == "squared":
            shift = {-1: 0, 1: pull[-1] - pull[1]}
            shifted = zip(a, self.data.classes, strict=True)
            return [k * weight[1] + shift[y] for k, y in shifted], _ONE * weight[1]
        if min(pull.values()) <= 0:
            return [0 for _ in a], _ONE
        most, least = max(pull.values()), min(pull.values())
        factor = {c: least if pull[c] == most else most for c in pull}
        return [k * factor[y] for k, y in zip(a, self.data.classes, strict=True)], _ONE * most

    def _fixed(
        self, w: dict[int, float], slope: float, g: list[Fraction], jumps: dict[int, int]
    ) -> list[Fraction] | None:
        """A linear function of w below EYE, or below the jumps between neighbours."""
        cards = self.cards
        if not cards.jumps and not cards.eye:
            return None
        h = [Fraction(0)] * len(g)
        for k, (left, right, cost) in enumerate(cards.jumps):
            gap = w.get(left, 0.0) - w.get(right, 0.0)
            share = jumps.get(k, _ONE * ((gap > 0) - (gap < 0)))
            if abs(share) > _ONE:
                raise Refused("a jump's multiplier lies outside [-1, 1]")
            h[left] += cost * Fraction(share, _ONE)
            h[right] -= cost * Fraction(share, _ONE)
        if cards.eye:
            self._eye(w, [Fraction(slope) * each for each in g], h)
        return h

    def _eye(self, w: dict[int, float], g: list[Fraction], h: list[Fraction]) -> None:
        """Add s with lam EYE(w) >= s . w everywhere: s = lam ((1 - r) t (1 + rho) + r q).

        It is one for all t in [-1, 1] and rho^2 + |q|^2 <= 1, as EYE(w) is A + sqrt(A^2 + B^2) with
        A = |(1 - r) w|_1 and B = |r w|_2: what is rounded here is put back into these sets.
        """
        cards, lam = self.cards, self.cards.eye
        at = [w.get(j, 0.0) for j in range(len(g))]
        largest = max(map(abs, at), default=0.0) or 1.0
        marks = [float(r) for r in cards.expert]
        known = [r * x / largest for r, x in zip(marks, at, strict=True)]
        a = sum((1 - r) * abs(x) / largest for r, x in zip(marks, at, strict=True))
        size = math.hypot(a, *known)
        if not size:  # where nothing is used: against the loss's slope
            known = [-r * float(slope / lam) for r, slope in zip(marks, g, strict=True)]
            size = max(1.0, math.hypot(*known))
            a = math.sqrt(max(0.0, size**2 - math.hypot(*known) ** 2))
        rho, *q = (Fraction(round(x / size * _ONE), _ONE) for x in (a, *known))
        norm = rho**2 + sum(x**2 for x in q)
        if norm > 1:  # 1 / norm lies below what would just do
            rho, q = rho / norm, [x / norm for x in q]
        for j, r in enumerate(cards.expert):
            most = lam * (1 - r) * (1 + rho)
            inner = lam * r * q[j]
            want = most if at[j] > 0 else -most if at[j] < 0 else -(g[j] + inner)
            h[j] += min(max(want, -most), most) + inner


# ---------------------------------------------------------------- multipliers and heights
# At score z of class y a multiplier is chosen in floating point (any will do), in 2^-BITS. The
# height of its line at score 0, bounded from below, is minus the conjugate of the loss.

_CHOICE: dict[str, Callable[[float, int, float], float]] = {
    "logistic": lambda z, y, margin: 1.0 / (1.0 + math.exp(min(y * z, 700.0))),
    "poisson": lambda z, y, margin: max(2.0**-BITS, math.exp(min(z, 300.0))),
    "squared": lambda z, y, margin: 1.0 - y * z,
    "squared_hinge": lambda z, y, margin: max(0.0, 1.0 - y * z),
    "hinge": lambda z, y, margin: float(y * z < margin),
}


def _entropy(k: int, one: int) -> int:
    """-x log x - (1 - x) log(1 - x) at x = k / one."""
    parts = [part for part in (k, one - k) if part]
    return sum(part * -balls.log(Fraction(part, one))[1] // one for part in parts)


_HEIGHT: dict[str, Callable[[int, int], int]] = {
    "logistic": _entropy,
    "poisson": lambda k, one: ((k << GRID) - k * balls.log(Fraction(k, one))[1]) // one,
    "squared": lambda k, one: ((2 * k * one - k * k) << GRID) // (2 * one * one),
    "hinge": lambda k, one: (k << GRID) // one,
}
_HEIGHT["squared_hinge"] = _HEIGHT["squared"]
_RANGE = {"logistic": (0, 1), "hinge": (0, 1), "squared_hinge": (0, math.inf),
          "poisson": (2.0**-BITS, math.inf), "squared": (-math.inf, math.inf)}  # fmt: skip
"""Where a multiplier is one, in units."""

# ---------------------------------------------------------------- counting errors


def counted(data: Data, cards: Cards, box: Box, wanted: int) -> int:
    """The wanted bound (in units of 2^-GRID) where the errors in a box reach it, else 0.

    Where some columns are fixed, rows that agree on all others keep the order of their totals: each
    such group errs as often as the best threshold of its own does, and the groups together as often
    as the sum. Columns that are not fixed are fixed one by one, all their values in turn.
    """
    allowed = list(box.values)
    if sum(0 not in values for values in allowed) >= cards.terms:
        allowed = [(0,) if 0 in values else values for values in allowed]
    given = sum(cards.charge[abs(values[0])] for values in allowed if len(values) == 1)
    free = [j for j, values in enumerate(allowed) if len(values) > 1]
    totals = [0] * len(data.classes)
    for j, values in enumerate(allowed):
        if len(values) == 1 and values[0]:
            totals = [t + values[0] * x for t, x in zip(totals, data.columns[j], strict=True)]
    free.sort(key=lambda j: (-len(set(data.columns[j])), j))
    # rows alike in all that matters are one: negative weight, positive weight
    cells: dict[tuple[int, ...], list[int]] = {}
    columns = [data.columns[j] for j in free]
    for c, s, *key in zip(data.classes, data.share, totals, *columns, strict=True):
        cells.setdefault(tuple(key), [0, 0])[c > 0] += s
    net = [up - down for down, up in cells.values()]
    # with a threshold below all totals every negative row is an error
    errors = sum(down for down, _ in cells.values())
    most = [max(map(abs, allowed[j])) * max(map(abs, data.columns[j])) for j in free]
    span = 2 * (max(map(abs, totals)) + sum(most)) + 1
    # a row's place: its total, and its group span apart from the others
    group = [_numbered([key[d + 1 :] for key in cells]) for d in range(len(free) + 1)]
    start = [key[0] + span * g for key, g in zip(cells, group[0], strict=True)]
    moves = [
        {
            v: [
                v * key[d + 1] + span * (b - a)
                for key, a, b in zip(cells, group[d], group[d + 1], strict=True)
            ]
            for v in allowed[j]
        }
        for d, j in enumerate(free)
    ]
    charges = [min(cards.charge[abs(v)] for v in allowed[j]) for j in free]
    tails = [sum(charges[d:]) for d in range(len(free) + 1)]

    def reaches(d: int, places: list[int], paid: int) -> bool:
        low = errors + _gained(places, net, span)
        if (low << GRID) // data.whole + paid + tails[d] >= wanted:
            return True
        return d < len(free) and all(
            reaches(d + 1, list(map(add, places, move)), paid + cards.charge[abs(v)])
            for v, move in moves[d].items()
        )

    return wanted if reaches(0, start, given) else 0


def _numbered(keys: list[tuple[int, ...]]) -> list[int]:
    """The number of each key, from 0."""
    number: dict[tuple[int, ...], int] = {}
    return [number.setdefault(key, len(number)) for key in keys]


def _gained(places: list[int], net: list[int], span: int) -> int:
    """How far the best thresholds, one a group, take the errors down."""
    sums: dict[int, int] = defaultdict(int)
    for place, s in zip(places, net, strict=True):
        sums[place] += s
    gained = least = running = 0
    edge = None
    for place in sorted(sums):
        if edge is None or place > edge:  # the next group; half a span around its middle
            gained, least, running = gained + least, 0, 0
            edge = (place + span // 2) // span * span + span // 2
        running += sums[place]
        least = min(least, running)
    return gained + least


# ---------------------------------------------------------------- the tree


def prove(
    data: Data,
    cards: Cards,
    evidence: Any,
    goal: Fraction,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[bool, str]:
    """Whether a tree of boxes proves that no card has an objective below the goal.

    Its entries are in preorder: a split [column, value], or a leaf, which is the number of a point
    or -1 where the box holds no card; under the 0-1 loss errors are counted in every other leaf.
    """
    zero, entries = cards.loss == "zero_one", evidence["tree"]
    lines = None if zero else Lines(data, cards, evidence["points"])
    wanted = -((-goal.numerator << GRID) // goal.denominator)
    pending, leaves = [cards.everything()], 0
    for k, entry in enumerate(entries):
        if not pending:
            return False, f"the tree ends before its entry {k}"
        box = pending.pop()
        if isinstance(entry, list):
            j, at = entry
            if type(j) is not int or not 0 <= j <= len(cards.values) + 1:
                raise Refused(f"entry {k} of the tree splits no column")
            pending += reversed(cards.halves(box, j, at))
            continue
        leaves += 1
        if cards.empty(box):
            continue
        if lines is None:
            reached = counted(data, cards, box, wanted)
        elif type(entry) is not int or not 0 <= entry < len(evidence["points"]):
            return False, f"leaf {leaves} (entry {k}) holds cards and names no point"
        else:
            reached = lines.least(box, entry)
        if reached < wanted:
            return False, f"leaf {leaves} (entry {k}) proves {reached / 2.0**GRID:.9g} only"
        progress(k + 1, len(entries))
    if pending:
        return False, f"{len(pending)} parts of the tree are missing: cards are left out"
    how = "the errors none avoids prove" if zero else "a line proves"
    return True, f"{leaves} leaves cover every card, and {how} each"
