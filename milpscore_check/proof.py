"""The proof of a bound: losses as lines below them, errors as counts, and the tree of boxes.

At a score z of class y (-1 or +1) with t = y z, and for any multiplier a in [0, 1],

    loss >= h(a) - a t;   logistic h(a) = -a log a - (1 - a) log(1 - a),   hinge h(a) = a,

and under (1 - t)^2 / 2 for any a, or where only t < 1 counts any a >= 0, with h(a) = a - a^2 / 2.

With weights s_i of sum S and scores z = slope (w . x + b), each card's objective is so at least

    sum s_i h(a_i) / S + slope (g . w + g_b b) + penalty(w),   g_j = -sum s_i a_i y_i x_ij / S,

whatever the multipliers are. At a fixed slope the least of it over a box of cards is found column
by column; in the slope it is concave, being a least of linear functions, and least at an end.

Cells are counted, one choice of columns after the other. A card with points on these treats rows
alike that agree on them, and loses what one score for each such cell loses at least. Where errors
ask for more, the columns' points are fixed one by one, all values in turn: rows that agree on those
not yet fixed keep the order of their totals, and each group errs as its own best threshold does.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache, reduce
from itertools import accumulate, groupby
from operator import add, mul
from typing import Any

from milpscore_check.cards import GRID, Box, Cards, floor
from milpscore_check.hazards import Life
from milpscore_check.periods import lives_of
from milpscore_check.values import Refused, count, double, maybe, read, whole

CELLS = -2  # a leaf that cells prove, choice of columns by choice of columns
ONE = 1 << 48  # multipliers are whole multiples of 1 / ONE
SQUARES = "squared", "squared_hinge"
_DIGITS = (
    14  # entropies are computed at multipliers of this number of binary digits, chords join them
)
_CONTEXT = Context(prec=34)  # Python's decimal rounds exponentials and logarithms correctly

PAIR = [count], [double]
_POINT = *PAIR, double, double, PAIR, PAIR
_PAIRS = [count], [count], [count], lambda value: whole(value, 1)
_MOST_PENDING = 10_000_000  # parts of a tree that wait for their turn, times columns

Pair = tuple[Fraction, Fraction]  # lower and upper end
Cell = tuple[int, int, int, int]  # rows of class -1 and of class +1, as bits; how many they are
Named = dict[int, tuple[int, int, Fraction]]  # where a row lies that has a number, count, weight
Progress = Callable[[int, int], None]  # called with how much is done, and of how much


def _enclosed(function: Callable[[Decimal], Decimal], q: Fraction) -> Pair:
    """A function's value at q with far more room than 34 digits, rounded twice, need."""
    value = Fraction(function(_CONTEXT.divide(Decimal(q.numerator), Decimal(q.denominator))))
    room = (1 + abs(value)) / 10**28
    return value - room, value + room


def softplus(q: Fraction) -> Pair:
    """log(1 + e^q), enclosed; above 0 by q + log(1 + e^-q)."""
    ends = _enclosed(_CONTEXT.exp, max(-abs(q), Fraction(-100)))  # e^-100 < 1e-28
    (low, _), (_, high) = (_enclosed(_CONTEXT.ln, 1 + end) for end in ends)
    return low + max(q, Fraction(0)), high + max(q, Fraction(0))


def loss_at(kind: str, z: Fraction, y: int) -> Pair:
    """The loss of a score and a class, enclosed."""
    if kind == "logistic":
        return softplus(-y * z)
    if kind == "zero_one":
        return (Fraction((z >= 0) != (y > 0)),) * 2
    short = 1 - y * z if kind == "squared" else max(1 - y * z, Fraction(0))
    return (short**2 / 2 if kind in SQUARES else short,) * 2


@cache
def _log_power(k: int) -> tuple[int, int]:
    """k log k, enclosed in 2^-GRID."""
    low, high = _enclosed(_CONTEXT.ln, Fraction(max(k, 1)))
    return floor(k * low), -floor(-k * high)


def entropy(n: int, p: int) -> int:
    """n log((n + p) / n) + p log((n + p) / p) from below, in 2^-GRID."""
    return max(_log_power(n + p)[0] - _log_power(n)[1] - _log_power(p)[1], 0)


@cache
def _share_lost(k: int) -> int:
    """h(k / ONE) from below, in 2^-GRID."""
    return entropy(k, ONE - k) // ONE


def height(kind: str, k: int, one: int) -> int:
    """h(k / one) from below, in 2^-GRID: h is concave, and above its chords."""
    if kind == "hinge":
        return (k << GRID) // one
    if kind in SQUARES:
        return (k * (2 * one - k) << GRID) // (2 * one * one)
    ones, rest = divmod(k * ONE, one)
    step = max(min(ones, ONE - ones).bit_length() - _DIGITS, 0)
    left = ones >> step << step
    at = (ones - left) * one + rest  # 0 at the left, one << step at the right end
    least, last = _share_lost(left), _share_lost(min(left + (1 << step), ONE))
    return (least * ((one << step) - at) + last * at) // (one << step)


_MULTIPLIER: dict[str, Callable[[float], int]] = {  # of the line that touches the loss at t
    "hinge": lambda t: ONE * (t < 1),
    "logistic": lambda t: round(ONE / (1 + math.exp(min(t, 700)))),
    "squared": lambda t: round(ONE * (1 - t)),
    "squared_hinge": lambda t: round(ONE * max(1 - t, 0.0)),
}


def _whole_shares(weights: Sequence[Fraction]) -> list[int]:
    """Weights as the least whole numbers in their proportions."""
    common = math.lcm(*(w.denominator for w in weights))
    share = [int(w * common) for w in weights]
    return [s // math.gcd(*share) for s in share]


class Data:
    """The rows, equal ones of a class merged; weights as whole shares of ``whole``."""

    def __init__(
        self,
        columns: Sequence[Sequence[Fraction]],
        y: Sequence[int],
        weight: Sequence[Fraction],
        counts: Sequence[int] | None = None,
        named: Named | None = None,
        lives: Sequence[Life] | None = None,
    ) -> None:
        # values are whole multiples of 1 / unit
        self.unit = math.lcm(*{v.denominator for column in columns for v in column})
        values = [[v.numerator * (self.unit // v.denominator) for v in own] for own in columns]
        merged: dict[tuple[Any, int], list[int]] = defaultdict(list)
        for i, key in enumerate(zip(zip(*values, strict=True), y, strict=True)):
            if weight[i] > 0:
                merged[key].append(i)
        place = {i: k for k, own in enumerate(merged.values()) for i in own}
        each = counts or [1] * len(y)
        by_number = {i: (i, each[i], weight[i]) for i in place} if named is None else named
        self.named = {i: (place[k], n, w) for i, (k, n, w) in by_number.items()}
        sums = [sum((weight[i] for i in own), Fraction(0)) for own in merged.values()]
        count = (sum(each[i] for i in own) for own in merged.values())
        self.parts = [*zip(range(len(merged)), count, sums, strict=True)]
        self.share = _whole_shares(sums)
        self.whole, self.classes = sum(self.share), [c for _, c in merged]
        self.columns = [list(column) for column in zip(*(x for x, _ in merged), strict=True)]
        self.lives = self._lived(place, lives, y, weight)

    @staticmethod
    def _lived(
        place: dict[int, int],
        lives: Sequence[Life] | None,
        y: Sequence[int],
        weight: Sequence[Fraction],
    ) -> list[tuple[int, Life, bool, Fraction]] | None:
        """Where each row with a weight lies, when it was seen, with an event or not, its weight."""
        if lives is None:
            return None
        return [(k, lives[i], y[i] > 0, weight[i]) for i, k in place.items()]

    def totals(self, w: Sequence[int]) -> list[int]:
        """What each merged row's points add up to, as multiples of 1 / unit."""
        totals = [0] * len(self.classes)
        for v, column in zip(w, self.columns, strict=True):
            totals = [t + v * x for t, x in zip(totals, column, strict=True)] if v else totals
        return totals

    def loss(self, cards: Cards, w: Sequence[int], b: Fraction, scale: Fraction) -> Pair:
        """The mean loss of a card, enclosed."""
        kind = cards.loss
        if kind == "survival":
            return lives_of(self, cards).loss(
                [Fraction(t, self.unit) / scale for t in self.totals(w)]
            )
        shares: dict[tuple[int, int], int] = defaultdict(int)
        for t, y, s in zip(self.totals(w), self.classes, self.share, strict=True):
            shares[t, y] += s
        low = high = Fraction(0)
        for (t, y), s in shares.items():
            least, most = loss_at(kind, (Fraction(t, self.unit) + b) / scale, y)
            low, high = low + s * least, high + s * most
        return low / self.whole, high / self.whole


class Lines:
    """Lines constant + (slope g + fixed) . w + slope g_b b below all but penalties of columns."""

    def __init__(self, data: Data, cards: Cards, points: Sequence[Any]) -> None:
        self.data, self.cards, self.points = data, cards, points
        # places and values of a column's entries that are not 0
        some = ([(k, x) for k, x in enumerate(column) if x] for column in data.columns)
        self.entries: list[Any] = [tuple(zip(*own, strict=True)) or ((), ()) for own in some]
        self.hazards = lives_of(data, cards) if cards.loss == "survival" else None
        self.line = lru_cache(256)(self._pairs if cards.loss == "zero_one" else self._line)
        self.prices = lru_cache(512)(self._prices)

    def least(self, box: Box, number: int) -> int:
        """A bound from below of the objective over a box, in units of 2^-GRID."""
        (constant, _, g_b, _), found = self.line(number), []
        for slope in set(box.slope):
            total = constant + min(floor(slope * g_b * b) for b in box.b)
            gains, room = [], self.cards.terms
            for values, price in zip(box.values, self.prices(number, slope), strict=True):
                least = min(map(price.__getitem__, values))
                if 0 not in values:
                    total, room = total + least, room - 1
                elif least < 0:
                    gains.append(least)
            found.append(total + sum(sorted(gains)[:room]))
        return min(found)

    def _prices(self, number: int, slope: Fraction) -> list[dict[int, int]]:
        """What each number of points of each column adds to a line at a slope, with its penalty."""
        (_, g, _, fixed), made = self.line(number), []
        if self.cards.loss == "zero_one":
            both = zip(self.cards.charge, g, strict=True)
            return [{v: c + own[(v > 0) - (v < 0)] for v, c in cost.items()} for cost, own in both]
        for charge, own, more in zip(self.cards.charge, g, fixed, strict=True):
            n, d = (slope * own + more).numerator << GRID, (slope * own + more).denominator
            made.append({v: v * n // d + cost for v, cost in charge.items()})
        return made

    def _pairs(self, number: int) -> tuple[int, list[Any], Fraction, list[Any]]:
        """What pairs of rows of both classes weigh, and what each column's signs take off that.

        Both rows are right only if the one of class +1 has the higher total: if one of the columns
        in which they differ has points that raise it above the other.
        """
        above, below, weights, one = read(self.points[number], _PAIRS)
        a, b = ([self.data.named[i][0] for i in own] for own in (above, below))
        left, classes = [one * share for share in self.data.share], self.data.classes
        for i, k, weight in zip(a, b, weights, strict=True):
            for row in (i, k):
                left[row] -= self.data.whole * weight
            if min(left[i], left[k]) < 0 or not classes[i] > 0 > classes[k]:
                raise Refused("pairs of rows weigh more than these, or are not of both classes")
        taken: list[Any] = []
        for x in self.data.columns:
            signs = [(x[i] > x[k]) - (x[i] < x[k]) for i, k in zip(a, b, strict=True)]
            sums = (sum(w for w, s in zip(weights, signs, strict=True) if s == y) for y in (1, -1))
            taken.append((0, *(-(total << GRID) // one for total in sums)))  # by the points' sign
        return (sum(weights) << GRID) // one, taken, Fraction(0), [a, b, weights, one]

    def unsettled(self, box: Box, number: int) -> int:
        """A bound as :meth:`least`: the pairs of a point that no card of the box puts in order."""
        *_, (a, b, weights, one) = self.line(number)
        ends = [(own[0], own[-1], x) for own, x in zip(box.values, self.data.columns, strict=True)]
        ends = [each for each in ends if each[0] or each[1]]

        def most(i: int, k: int) -> int:
            apart = ((low, high, x[i] - x[k]) for low, high, x in ends)
            return sum(max(low * d, high * d) for low, high, d in apart)

        pairs = zip(a, b, weights, strict=True)
        total = sum(weight for i, k, weight in pairs if most(i, k) <= 0)
        both = zip(box.values, self.cards.charge, strict=True)
        paid = sum(min(map(cost.__getitem__, own)) for own, cost in both if 0 not in own)
        return int((total << GRID) // one + paid)

    def _line(self, number: int) -> tuple[int, list[Fraction], Fraction, list[Fraction]]:
        """The line of a point; that it is one does not depend on where the point lies."""
        data = self.data
        where, values, b, slope, *further = read(
            self.points[number], _POINT[: len(self.points[number])]
        )
        w = dict(zip(where, values, strict=True))
        # multipliers of single rows, and of jumps
        stated = [{i: round(s * ONE) for i, s in zip(*own, strict=True)} for own in further] + [
            {},
            {},
        ]
        scores = [slope * b] * len(data.classes)
        for j, x in w.items():
            for k, v in zip(*self.entries[j], strict=True):
                scores[k] += slope * x * v / data.unit
        if self.hazards is not None:
            constant, shares = self.hazards.line(scores)
            g = [
                sum(map(mul, map(shares.__getitem__, at), own), Fraction(0)) / data.unit
                for at, own in self.entries
            ]
            return constant, g, Fraction(0), self._below_jumps(w, stated[1])
        one, loss, square = ONE, self.cards.loss, self.cards.loss in SQUARES
        a = list(map(_MULTIPLIER[loss], map(mul, data.classes, scores)))
        for i, share in stated[0].items():
            a[data.named[i][0]] = share
        pull = [-y * s for y, s in zip(data.classes, data.share, strict=True)]
        if self.cards.free and any(self.cards.b):
            # no range bounds the intercept of such a score: the row of most room levels the line
            most = max(range(len(a)), key=lambda i: a[i] if square else min(a[i], ONE - a[i]))
            excess, one = sum(map(mul, a, pull)), ONE * data.share[most]
            a = [k * data.share[most] for k in a]
            a[most] += data.classes[most] * excess
        if (min(a) < 0 and loss != "squared") or (max(a) > one and not square):
            raise Refused("a multiplier lies outside the range of its loss")
        heights = {k: height(loss, k, one) for k in set(a)}
        constant = sum(map(mul, data.share, map(heights.__getitem__, a))) // data.whole
        pull = list(map(mul, a, pull))
        sums = [sum(map(mul, map(pull.__getitem__, at), own)) for at, own in self.entries]
        rate = Fraction(1, data.whole * one)
        g = [rate / data.unit * total for total in sums]
        return constant, g, rate * sum(pull), self._below_jumps(w, stated[1])

    def _below_jumps(self, w: dict[int, float], stated: dict[int, int]) -> list[Fraction]:
        """A linear function of w below the jumps: c |d| >= c u d for any u in [-1, 1]."""
        fixed = [Fraction(0)] * len(self.cards.values)
        for k, (left, right, cost) in enumerate(self.cards.jumps):
            gap = w.get(left, 0.0) - w.get(right, 0.0)
            share = stated.get(k, ONE * ((gap > 0) - (gap < 0)))
            if abs(share) > ONE:
                raise Refused("a jump's multiplier lies outside [-1, 1]")
            fixed[left] += cost * Fraction(share, ONE)
            fixed[right] -= cost * Fraction(share, ONE)
        return fixed


def _origins(columns: list[list[int]], rows: int, span: int) -> list[int]:
    """Where the totals of each row begin: rows that agree on the columns lie a span from others."""
    number: dict[tuple[int, ...], int] = {}
    groups = [tuple(column[k] for column in columns) for k in range(rows)]
    return [number.setdefault(g, len(number)) * span + span // 2 for g in groups]


class Cells:
    """What rows lose that all get one score, in 2^-GRID of a row's share: ``least`` of a cell."""

    def __init__(self, data: Data, cards: Cards, progress: Progress) -> None:
        self.data, self.cards, self.progress, self.done = data, cards, progress, 0
        if cards.loss == "survival":
            raise Refused("cells say nothing of times")
        if data.whole > 10_000_000:
            raise Refused("not decided here: cells of rows with weights of too many digits")
        self.rows: tuple[list[int], list[int]] = [], []  # by class; as often as shares of weight
        for k, (y, s) in enumerate(zip(data.classes, data.share, strict=True)):
            self.rows[y > 0].extend([k] * s)
        self.of_value = []  # of each column, the rows that have a value
        for x in data.columns:
            bits = [["".join("01"[x[k] == v] for k in own) for own in self.rows] for v in set(x)]
            self.of_value.append([(int("0" + low, 2), int("0" + high, 2)) for low, high in bits])
        mistaken = GRID + (cards.loss == "hinge")  # a hinge loses 2 where one answer errs
        least: Callable[[int, int], int] = lambda n, p: min(n, p) << mistaken  # noqa: E731
        if cards.loss in SQUARES:
            least = lambda n, p: (2 * n * p << GRID) // max(n + p, 1)  # noqa: E731
        self.least = lru_cache(1 << 18)(entropy if cards.loss == "logistic" else least)
        # rows alike in all columns have one score whatever is chosen
        alike: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0, 0])
        for *x, y, s in zip(*data.columns, data.classes, data.share, strict=True):
            alike[tuple(x)][y > 0] += s
        self.sure = sum(self.least(*own) for own in alike.values())
        self.cost = [{v: data.whole * c for v, c in own.items()} for own in cards.charge]

    def missed(self, box: Box, wanted: int) -> Iterator[list[int]]:
        """The choices of columns whose cards in a box may cost less than is wanted."""
        self.box, self.wanted = box, wanted * self.data.whole
        self.points = [tuple(filter(None, own)) for own in box.values]
        both = zip(self.cost, self.points, strict=True)
        self.cheapest = [min(map(cost.__getitem__, own), default=0) for cost, own in both]
        used = [j for j, own in enumerate(box.values) if 0 not in own]
        more = [j for j, own in enumerate(self.points) if own and j not in used]
        low, high = self.rows
        everything = [(-bool(low), -bool(high), len(low), len(high))]
        self.aside = [j for j in used if self._hinders(j)]
        parting = [j for j in used if j not in self.aside]
        return self._missed(used, more, reduce(self._parted, parting, everything))

    def _hinders(self, j: int) -> bool:
        """Whether a column has one value, which raises each row of class -1 no less than any other.

        Of rows alike but for it, a threshold that keeps one of class -1 right puts all others
        below it, too: as many err as if they had one score. A convex loss knows no such rule.
        """
        if self.cards.loss != "zero_one" or len(self.points[j]) != 1:
            return False
        raised = [self.points[j][0] * x for x in self.data.columns[j]]
        low, high = ([raised[k] for k in own] for own in self.rows)
        return not low or not high or max(high) <= min(low)

    def _parted(self, cells: list[Cell], j: int) -> list[Cell]:
        """Cells parted by the values of one more column."""
        both = ((a & low, b & high) for a, b, *_ in cells for low, high in self.of_value[j])
        return [(a, b, a.bit_count(), b.bit_count()) for a, b in both if a or b]

    def _missed(self, used: list[int], more: list[int], cells: list[Cell]) -> Iterator[list[int]]:
        """Those among points on some columns, and any of more."""
        paid, room = sum(map(self.cheapest.__getitem__, used)), self.cards.terms - len(used)
        if paid + self.sure >= self.wanted or room < 0:
            return
        if price := min(map(self.cheapest.__getitem__, more), default=0):
            room = min(room, (self.wanted - paid - self.sure - 1) // price)
        self.done += 1
        self.progress(self.done, 0)
        total = paid + sum(self.least(n, p) for *_, n, p in cells)
        if total < self.wanted:
            values = tuple(own if j in used else (0,) for j, own in enumerate(self.points))
            none = self.cards.empty(self.box._replace(values=values))
            apart = reduce(self._parted, self.aside, cells)
            if not none and not (self.cards.loss == "zero_one" and self._walked(used, apart)):
                yield used
        mixed = [cell for cell in cells if cell[2] and cell[3]]
        if room == 1:
            mixed.sort(key=lambda cell: -self.least(*cell[2:]))
            for j in more:
                enough = self.wanted - paid - self.cheapest[j]
                if self._lost(mixed, j, enough) < enough:
                    yield from self._missed([*used, j], [], self._parted(cells, j))
                else:
                    self.done += 1
            return
        gains = sorted(((self._gain(mixed, j), j) for j in more if room), reverse=True)
        for j, others in self._firsts(gains, total - self.wanted, room):
            yield from self._missed([*used, j], others, self._parted(cells, j))

    @staticmethod
    def _firsts(
        gains: list[tuple[int, int]], reserve: int, room: int
    ) -> Iterator[tuple[int, list[int]]]:
        """Columns that may be the first of more to use up a reserve, each with the others."""
        for k, (own, j) in enumerate(gains):
            best = [max(gain, 0) for gain, _ in gains[k + 1 : k + room]]
            least = reserve - max(own, 0) - sum(best)
            if least >= 0:
                return
            # another has to take the place of the last of the best
            least += best[-1] if len(best) == room - 1 else 0
            yield j, [i for gain, i in gains[k + 1 :] if max(gain, 0) > least]

    def _lost(self, mixed: list[Cell], j: int, enough: int) -> int:
        """What cells lose that one more column parts, as far as that is less than ``enough``."""
        lost, least, values = 0, self.least, self.of_value[j][1:]
        for a, b, above, below in mixed:
            n, p = above, below
            for low, high in values:
                q, r = (a & low).bit_count(), (b & high).bit_count()
                lost, n, p = lost + least(q, r), n - q, p - r
            lost += least(n, p)
            if lost >= enough:
                break
        return lost

    def _gain(self, mixed: list[Cell], j: int) -> int:
        """How much one more column takes off at most, whatever other columns there are.

        A cell's loss is shared by its n p pairs of both classes. Pairs a column leaves together
        lose as much or more then: least(n, p) / (n p) falls in n and in p.
        """
        gain = -self.cheapest[j]
        for a, b, n, p in mixed:
            alike, above, below = 0, n, p
            for low, high in self.of_value[j][1:]:
                q, r = (a & low).bit_count(), (b & high).bit_count()
                alike, above, below = alike + q * r, above - q, below - r
            parted = n * p - alike - above * below
            gain += parted and self.least(n, p) * parted // (n * p) + 1
        return gain

    def _walked(self, used: list[int], cells: list[Cell]) -> bool:
        """Whether cards with points on some columns err often enough, their values in turn."""
        rows = [self.rows[not a][-(a or b).bit_length()] for a, b, *_ in cells]
        columns = [[self.data.columns[j][k] for k in rows] for j in used]
        cost = [{v: self.cost[j][v] for v in self.points[j]} for j in used]
        both = zip(cost, columns, strict=True)
        span = 1 + 2 * sum(max(map(abs, own)) * max(map(abs, column)) for own, column in both)
        origins = [_origins(columns[d:], len(rows), span) for d in range(len(used) + 1)]
        # with a threshold below all totals every row of class -1 is an error
        wrong, gains = sum(n for *_, n, _ in cells), [p - n for *_, n, p in cells]

        def reaches(d: int, totals: list[int], paid: int) -> bool:
            self.progress(self.done, 0)
            sums: dict[int, int] = defaultdict(int)
            for place, gain in zip(map(add, totals, origins[d]), gains, strict=True):
                sums[place] += gain
            runs = groupby(sorted(sums), key=span.__rfloordiv__)
            best = sum(min(0, *accumulate(map(sums.__getitem__, run))) for _, run in runs)
            held = (wrong + best << GRID) + paid >= self.wanted
            for v, more in cost[d].items() if d < len(used) and not held else ():
                moved = [t + v * x for t, x in zip(totals, columns[d], strict=True)]
                if not reaches(d + 1, moved, paid - min(cost[d].values()) + more):
                    return False
            return held or d < len(used)

        return reaches(0, [0] * len(rows), sum(min(own.values()) for own in cost))


def prove(
    data: Data, cards: Cards, evidence: Any, goal: Fraction, progress: Progress = lambda k, of: None
) -> tuple[bool, str]:
    """Whether no card has an objective below the goal, and how that is known."""
    wanted = -floor(-goal)
    entries = evidence["tree"] or [CELLS] * (cards.loss == "zero_one")
    counted = Cells(data, cards, progress) if CELLS in entries else None
    lines, last = Lines(data, cards, evidence["points"]), len(evidence["points"]) - 1
    split = (lambda j: whole(j, 0, len(cards.values) + 1), maybe(double))
    pending, leaves = [Box(cards.values, cards.b, (1 / cards.scale[1], 1 / cards.scale[0]))], 0
    for k, entry in enumerate(entries):
        if not pending:
            return False, f"the tree ends before its entry {k}"
        box = pending.pop()
        if type(entry) is list:
            j, at = read(entry, split)
            pending += reversed(cards.halves(box, j, at))
            if len(pending) * len(box.values) > _MOST_PENDING:
                raise Refused(f"entry {k} of the tree lies too deep")
            continue
        leaves, point = leaves + 1, whole(entry, CELLS, last)
        progress(k + 1, len(entries))
        if cards.empty(box):
            continue
        if counted and point == CELLS:
            for missed in counted.missed(box, wanted):
                return False, f"leaf {leaves} (entry {k}) misses it at the columns {missed}"
            continue
        if point < 0:
            return False, f"leaf {leaves} (entry {k}) holds cards and names no point"
        reached = lines.least(box, point)
        if reached < wanted and cards.loss == "zero_one":
            reached = lines.unsettled(box, point)
        if reached < wanted:
            return False, f"leaf {leaves} (entry {k}) proves {reached / 2.0**GRID:.9g} only"
    if pending:
        return False, f"{len(pending)} parts of the tree are missing: cards are left out"
    how = f" or cells of {counted.done} choices of columns" if counted else ""
    return True, f"{leaves} leaves cover every card, and a line{how} proves each"
