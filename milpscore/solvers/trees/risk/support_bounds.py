"""Every support of two-valued columns, bounded by what no function of its columns avoids.

Where best points are steep (a slope of many units of score a point) convex relaxations say nothing
until nearly all columns are decided; the cells of a support say as much at any slope. Supports are
visited depth first. A prefix is left as soon as the pairs of rows that the next columns can part at
most leave too much (``counts.gains``); what is left at the end is bounded by its cells, then by the
loss of real weights on them, and what is below the cutoff still goes to the search over points.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.limit_prices import ErrorLimits
from milpscore.solvers.trees.risk.policy import POLICY
from milpscore.solvers.trees.risk.relaxation import IN, OPEN, OUT, Node
from milpscore.solvers.trees.risk.side_bounds import PointBox, SupportRows, bound_supports
from milpscore.solvers.trees.shared import cell_counts as counts
from milpscore.solvers.trees.shared.cell_counts import CellLayout, Losses
from milpscore.solvers.trees.shared.support_enumeration import ColumnChoices, asked_for


class Enumeration(ColumnChoices):
    """The supports of at most ``size`` columns, in slices of work, as far as they may matter.

    ``found`` are those no bound closes, with their bounds; all others are at or above ``cutoff``,
    or ``floor`` where more were found than are kept. Where a card is known, ``limits`` on errors
    are priced: a card within them loses no more than it loses and pays, less what is granted.
    """

    def __init__(
        self, arrays: Arrays, root: Node, memory: float = math.inf,
        limits: ErrorLimits | None = None, known: Card | None = None,
    ) -> None:  # fmt: skip
        self.arrays, self.root = arrays, root
        one = sys.getsizeof(tuple(range(arrays.terms))) + POLICY.support_bytes
        self.most_found = int(min(POLICY.most_found, max(2.0, memory / one)))
        super().__init__()
        self.cutoff = self.floor = math.inf
        self.fitted = 0
        self.constant: list[int] = []
        self.found: list[tuple[float, tuple[int, ...]]] = []
        self.done = self.applies = False
        self.prices: FloatArray | None = None
        kind = counts.KINDS.get(type(arrays.loss))
        if kind is None:
            return
        self.kind = kind
        self.positive = np.where(arrays.y > 0, arrays.share, 0.0)
        self.negative = arrays.share - self.positive
        if not (self._find_classes() and self._count_rows()):
            if limits:
                self._list_all()
            return
        self.size = min(arrays.terms, len(self.classes))
        asked = asked_for(arrays.statement, np.flatnonzero(root.status != OUT))
        if asked.any():
            wanted = set(np.flatnonzero(root.status != OUT)[asked].tolist())
            self.asked = np.array([not wanted.isdisjoint(c.tolist()) for c in self.classes])
        every = np.arange(len(self.classes))
        # what ranges or rules ask for is in every support
        self.needed = tuple(
            c
            for c, each in enumerate(self.classes)
            if (root.status[each] == IN).any() or not self._allowed(np.delete(every, c).tolist())
        )
        self.applies = len(self.needed) <= self.size and 0 < self.size <= POLICY.most_terms
        self.applies &= len(self.classes) <= POLICY.most_classes
        self.limits = limits if limits and self.applies else None
        if self.limits is not None and known is not None and kind == counts.LOGISTIC:
            self._price(self.limits, known)
        self.pairs = np.zeros((0, len(self.classes)), np.bool_)  # met by :meth:`_parting`
        self._walk = self._all()

    def _list_all(self) -> None:
        """Take every support where they are few, and have few cells each: sides bound them."""
        a, status = self.arrays, self.root.status
        self.classes = [np.array([j]) for j in np.flatnonzero(status != OUT)]
        self.size = min(a.terms, len(self.classes))
        levels = sorted((a.levels[int(j)] for (j,) in self.classes), reverse=True)
        sure = [c for c, (j,) in enumerate(self.classes) if status[j] == IN]
        others = [c for c, (j,) in enumerate(self.classes) if status[j] == OPEN]
        more = max(self.size - len(sure), 0)
        number = math.comb(len(others), more)
        self.applies = bool(self.classes) and number <= min(POLICY.listed_supports, self.most_found)
        self.applies &= math.prod(levels[: self.size]) <= POLICY.most_cells
        every = itertools.combinations(others, more) if self.applies else ()
        self.found = [
            (self.root.bound, (*sure, *some)) for some in every if self._allowed((*sure, *some))
        ]
        self._walk = iter(())

    def _find_classes(self) -> bool:
        """Columns by the two parts they make of the rows; False where one makes more."""
        a = self.arrays
        classes: dict[bytes, list[int]] = {}
        self.constant = []
        for j in np.flatnonzero(self.root.status != OUT).tolist():
            if a.levels[j] > 2:
                return False
            if a.levels[j] < 2:
                self.constant.append(j)
                continue
            column = (a.codes[j] != a.codes[j][0]).astype(np.uint8)
            classes.setdefault(column.tobytes(), []).append(j)
        self.classes = [np.array(each) for each in classes.values()]
        self.columns = np.array(
            [np.frombuffer(each, np.uint8) for each in classes], np.uint8
        ).reshape(len(classes), a.n)
        # weights of the bits: the sum over the columns alike
        s_hi = self.root.s_hi
        self.ends = np.zeros((2, len(self.classes)))
        self.charge = np.zeros(len(self.classes))
        for c, each in enumerate(self.classes):
            for j in each.tolist():
                change = a.X[:, j] - a.X[0, j]
                width = float(change[np.argmax(np.abs(change))])
                points = a.points[j, : a.hi[j] + 1]
                ends = s_hi * width * np.array([0.0, points.min(), points.max()])
                self.ends[:, c] += ends.min(), ends.max()
            costs = [a.table[j, k] for j in each for k in range(a.hi[j] + 1) if k != a.zero[j]]
            self.charge[c] = a.l0 + max(0.0, min(costs, default=0.0))
        # which way a bit may move the score, where the loss only falls or only rises with it
        either = self.kind not in (counts.LOGISTIC, counts.SQUARED_HINGE)
        ways = np.stack([self.ends[1] > 0.0, self.ends[0] < 0.0], axis=1) | either
        self.ways = ways.astype(np.float64)
        return True

    def _count_rows(self) -> bool:
        """Rows as copies of one unit of weight a label; False where weights have none."""
        copies, units = np.zeros(self.arrays.n, np.int64), [1.0, 1.0]
        for label, weight in enumerate((self.positive, self.negative)):
            inside = weight > 0.0
            if not inside.any():
                continue
            for part in range(1, 11):
                unit = weight[inside].min() / part
                times = weight[inside] / unit
                if (np.abs(times - np.rint(times)) <= POLICY.unit_slack * times).all():
                    break
            else:
                return False
            copies[inside], units[label] = np.rint(times).astype(np.int64), unit
        if copies.sum() > POLICY.most_copies * self.arrays.n + 100_000:
            return False
        rows = np.repeat(np.arange(self.arrays.n), copies)
        self.rows, self.is_positive = rows, self.positive[rows] > 0.0
        self.group = np.zeros(self.arrays.n, np.int64)
        tables: list[FloatArray] = [np.zeros(0)] * 3
        if self.kind == counts.LOGISTIC:
            p, n = int(self.is_positive.sum()), int((~self.is_positive).sum())
            alike = abs(units[0] - units[1]) <= POLICY.unit_slack * units[0]
            tables = [_x_log_x(units[0], p), _x_log_x(units[1], n)]
            tables.append(_x_log_x(units[0], p + n) if alike else np.zeros(0))
        self.losses = Losses(self.kind, units[0], units[1], tables[0], tables[1], tables[2])
        # what every card loses, beside its cells; less what limits grant
        self.sure = float(self.positive.sum()) if self.kind == counts.POISSON else 0.0
        return True

    def _price(self, limits: ErrorLimits, known: Card) -> None:
        """Have errors cost what bounds a sample of supports best, up to the card's objective."""
        # per unit of weight on the wrong side of 0, the least that any row of its class pays
        sides = self.positive, self.negative
        rates = np.array([
            [float((limits.cost[k, each][w > 0.0] / w[w > 0.0]).min(initial=math.inf))
             for k, w in enumerate(sides)]
            for each in range(len(limits))
        ])  # fmt: skip
        rates = np.where(np.isfinite(rates), rates, 0.0) * (1.0 - POLICY.unit_slack)
        own = [c for c, each in enumerate(self.classes) if known.coefficients[each].any()]
        rng, count = np.random.default_rng(0), len(self.classes)
        drawn = [rng.choice(count, self.size, replace=False) for _ in range(POLICY.priced_sample)]
        each = np.array([self._weigh(some) for some in (own, *drawn)])
        p, n = np.where((each > 0.0).all(axis=1, keepdims=True), each, 0.0).transpose(1, 0, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = (p + n) * np.log(p + n) - p * np.log(p) - n * np.log(n)
        lost, zero = np.where(p > 0.0, lost, 0.0), (p + n) * math.log(2)
        above, below = np.where(p >= n, lost, zero), np.where(p <= n, lost, zero)
        # of the cells that change sides at a price
        shares = np.linspace(0.02, 0.98, 33)
        most, prices = self.arrays.objective_of(known), np.zeros(len(limits))
        for k in [*range(len(limits))] * 2:
            prices[k] = 0.0
            paid = prices @ rates
            up, down = above + paid[1] * n, below + paid[0] * p
            steep_up, steep_down = rates[k, 1] * n, rates[k, 0] * p
            with np.errstate(divide="ignore", invalid="ignore"):
                kinks = (down - up) / (steep_up - steep_down)
            kinks = kinks[np.isfinite(kinks) & (kinks > 0.0)]
            tried = np.r_[0.0, np.quantile(kinks, shares) if len(kinks) else kinks]
            granted = tried * limits.allowed[k] + prices @ limits.allowed
            bounds = [
                np.minimum(up + price * steep_up, down + price * steep_down).sum(axis=1) - free
                for price, free in zip(tried, granted, strict=True)
            ]
            values = np.minimum(bounds, most).mean(axis=1)
            prices[k] = tried[np.argmax(values)]
        if prices.any():
            self.prices, self.sure = prices, -float(prices @ limits.allowed)
            pays = prices @ rates * (self.losses.weight_positive, self.losses.weight_negative)
            self.losses = self.losses._replace(paid_positive=pays[0], paid_negative=pays[1])

    def _weigh(self, support: Iterable[int]) -> FloatArray:
        """Weights of the positive and of the negative rows in the cells of a support's classes."""
        key, sides = self.cells(support), (self.positive, self.negative)
        return np.array([np.bincount(key, w, 1 << min(self.size, 12)) for w in sides])

    def _allowed(self, inside: Iterable[int]) -> bool:
        """Whether rules leave a card with points on these classes of columns, or some of them."""
        status = np.full(self.arrays.p, OUT, np.int8)
        status[self.constant] = OPEN
        for c in inside:
            status[self.classes[c]] = OPEN
        return self.arrays.may_be_allowed(status)

    def advance(self, cutoff: float, work: float) -> bool:
        """Go on until ``work`` is spent; return whether all supports have been visited."""
        self.cutoff = cutoff
        while self.work < work and not self.done:
            self.done = next(self._walk, True) is True
        return self.done

    @property
    def bound(self) -> float:
        """Once done: no card that can be better than the cutoff is below it."""
        return min([self.floor, self.cutoff, *(bound for bound, _ in self.found)])

    def node(self, bound: float, support: tuple[int, ...]) -> Node:
        """The cards on a support, or on a part of it."""
        node = self.root.child()
        inside = np.concatenate([self.constant, *(self.classes[c] for c in support)]).astype(int)
        out = np.ones(len(node.status), np.bool_)
        out[inside] = False
        node.status[out] = OUT  # what is sure to be in stays so
        node.lo[out] = node.hi[out] = self.arrays.zero[out]
        node.bound = max(node.bound, bound)
        node.prices = self.prices
        return node

    @property
    def limit(self) -> float:
        """What the cells of a support may lose at most, for it to matter."""
        most = min(self.cutoff, self.floor)
        return most - self.sure + POLICY.cutoff_slack * (most + abs(self.sure)) + 1e-13

    def _all(self) -> Iterator[None]:
        """Supports of the largest size, or of every size where terms cost something."""
        sizes: Any = (self.size,)
        if self.size * self.charge.max(initial=0.0) > POLICY.trifle * self.cutoff:
            sizes = range(self.size + 1)
        else:
            self.charge[:] = 0.0
        others = np.delete(np.arange(len(self.classes)), self.needed)
        cheapest = np.sort(self.charge[others])
        for more in (size - len(self.needed) for size in sizes):
            if more < 0:
                continue
            room = self.limit - float(self.charge[list(self.needed)].sum() + cheapest[:more].sum())
            if room <= 0.0:
                return  # larger ones cost more still
            look = self._parting if room < self._least_pair() else self._every
            yield from look(self.needed, others, more, 0.0, 1.0)

    def _every(
        self, base: tuple[int, ...], columns: IntArray, more: int, begin: float, end: float
    ) -> Iterator[None]:
        """Supports of a base and ``more`` of these columns."""
        if more > 2:
            yield from self.visit(base, columns, more, begin, end)
            return
        some = _subsets(columns, more)
        some = np.concatenate([np.broadcast_to(base, (len(some), len(base))), some], axis=1)
        some = some.astype(np.int64)
        yield from self.take(some, np.full(len(some), -math.inf))

    def _least_pair(self) -> float:
        """What a cell loses at least that holds rows of both classes."""
        p, n = self.losses.weight_positive, self.losses.weight_negative
        if self.kind == counts.LOGISTIC:
            return (p + n) * math.log(p + n) - p * math.log(p) - n * math.log(n)
        return p * math.log1p(n / p) if self.kind == counts.POISSON else 2.0 * p * n / (p + n)

    def _parting(
        self, base: tuple[int, ...], columns: IntArray, more: int, begin: float, end: float
    ) -> Iterator[None]:
        """Visit those supports that leave no two rows of different classes alike."""
        # some pair is parted by few columns: one of these is in
        self.share = begin
        self.work += POLICY.parting_cost + 20.0 * len(self.pairs) * len(self.columns)
        loose = self.pairs[~self.pairs[:, list(base)].any(axis=1)]
        if not len(loose):
            pairs = self._unparted(base, columns)
            if not len(pairs):
                yield from self._every(base, columns, more, begin, end)
                self.share = end
                return
            self.pairs, loose = np.concatenate([self.pairs, pairs]), pairs
        yield
        by, left = loose[:, columns], more
        first = by[np.argmin(by.sum(axis=1))]
        while left >= 0 and len(by):  # pairs with no column in common want one each
            taken = by[np.argmin(by.sum(axis=1))]
            by, left = by[~by[:, taken].any(axis=1)], left - 1
            if not taken.any():
                left = -1
        if left < 0:
            self.share = end
            return
        some = columns[first]
        for at, c in enumerate(some.tolist()):
            after = begin + (end - begin) * (at + 1) / len(some)
            rest = np.setdiff1d(columns, some[: at + 1], assume_unique=True)
            yield from self._parting((*base, c), rest, more - 1, self.share, after)
            self.share = after

    def _unparted(self, base: tuple[int, ...], columns: IntArray) -> NDArray[np.bool_]:
        """Pairs of rows that a base leaves alike, by the columns that part them: a few."""
        self.work += 20.0 * self.arrays.n
        cell = self.cells(base)
        sides = self.positive > 0.0, self.negative > 0.0
        sizes = [np.bincount(cell[side], minlength=1 << len(base)) for side in sides]
        impure = np.flatnonzero(np.minimum(*sizes) > 0)
        if not len(impure):
            return np.zeros((0, len(self.columns)), np.bool_)
        least = impure[np.argmin((sizes[0] * sizes[1])[impure])]
        a, b = (np.flatnonzero(side & (cell == least))[: POLICY.rows_compared] for side in sides)
        parted = self.columns[:, a, None] != self.columns[:, None, b]
        parted = parted.reshape(len(self.columns), -1).T
        self.work += 2.0 * parted.size
        order = np.argsort(parted[:, columns].sum(axis=1), kind="stable")
        return np.asarray(parted[order[: POLICY.pairs_kept]])

    def allowed(self, base: tuple[int, ...], columns: IntArray) -> bool:
        """Whether rules leave any support of a base and some of these columns."""
        return self._allowed((*base, *columns.tolist()))

    def triples(
        self, base: tuple[int, ...], columns: IntArray, layout: CellLayout
    ) -> Iterator[None]:
        """Supports of a base and three of these columns."""
        if len(columns) ** 2 * len(layout.size) > POLICY.most_pairs:
            self.floor = -math.inf  # nothing is said of the supports that were not visited
            return
        yield from super().triples(base, columns, layout)

    def take(self, supports: IntArray, lost: FloatArray) -> Iterator[None]:
        """Keep the supports that the loss of real weights leaves below the cutoff."""
        bounds = lost + self.sure
        bounds -= POLICY.cutoff_slack * (np.abs(bounds) + abs(self.sure))
        cost = np.zeros((2, 0, self.arrays.n)) if self.limits is None else self.limits.cost
        allowed = np.zeros(0) if self.limits is None else self.limits.allowed
        rows = SupportRows(self.columns, self.ends, self.positive, self.negative, cost, allowed)
        reach, choices = self.arrays.cell_reach, POLICY.side_choices if self.limits else None
        for first in range(0, len(supports), 1000):
            some, each = supports[first : first + 1000], bounds[first : first + 1000].copy()
            charge = self.charge[some].sum(axis=1)
            each -= charge
            most = min(self.cutoff, self.floor) - float(charge.min(initial=0.0))
            number, q = some.shape
            low, high = np.append(np.zeros(q), [1.0, -reach]), np.append(np.zeros(q), [1.0, reach])
            box = PointBox(low[:q], high[:q], low, high, reach, self.arrays.cell_gamma)
            solved = bound_supports(self.kind, rows, some, box, most, choices, each)
            cells = 8 * solved if self.limits else number * min(self.arrays.n, 1 << q)
            each += charge
            self.fitted += number
            self.work += number * (1.2 * self.arrays.n * q + 3e4) + cells * (50 + 3 * q * q)
            for k in np.flatnonzero(each < min(self.cutoff, self.floor)).tolist():
                if self._allowed(some[k].tolist()):
                    self.found.append((float(each[k]), tuple(some[k].tolist())))
            if len(self.found) > self.most_found:
                self.found.sort()
                self.floor = min(self.floor, self.found[self.most_found // 2][0])
                del self.found[self.most_found // 2 :]
            yield
        yield


def _subsets(columns: IntArray, size: int) -> IntArray:
    """All subsets of at most two columns, shape (number, size)."""
    if size == 2:
        return np.stack([columns[each] for each in np.triu_indices(len(columns), 1)], axis=1)
    return columns[:, None] if size else np.empty((1, 0), np.int64)


def _x_log_x(unit: float, most: int) -> FloatArray:
    """x log x at 0, 1, ... most units."""
    x = unit * np.arange(most + 1)
    return np.asarray(x * np.log(np.where(x > 0.0, x, 1.0)))
