"""Lines under the 0-1 loss: pairs of rows of both classes, by the duals of the tree's programs.

A card is right about a positive row and a negative one only where some column raises the first
above the second. Weights of such pairs, of which no row gets more than its own, bound the errors;
each sign of a column takes off at most the weight of the pairs that it puts in order.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from milpscore.certificate.cards import exact_rows, merged_names, plain_cards
from milpscore.certificate.leaves import CardBox, Drawn, Source, Space, Split
from milpscore.certificate.policy import POLICY
from milpscore.core.clock import Clock
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.errors import NotApplicableError
from milpscore.solvers.trees.zero_one.pair_bounds import IN, OPEN, OUT, Pairs
from milpscore.solvers.trees.zero_one.policy import POLICY as SEARCH
from milpscore_check.cards import Box, Cards, floor
from milpscore_check.proof import Cells, Data


@dataclass(frozen=True)
class PairLine:
    """objective >= constant - what the signs of the points take off, at cards (w, b)."""

    constant: float
    taken: FloatArray  # (2, p): by points above 0, and by points below
    slope_b: float = 0.0

    def prices(self, slope: float, values: FloatArray) -> FloatArray:
        """Return what each value of each column adds, shape (p, K)."""
        above, below = self.taken[:, :, None]
        return np.asarray(-(above * (values > 0) + below * (values < 0)))


def exact_columns(data: Data, at: list[int], most: float) -> IntArray | None:
    """Return columns of some rows in whole numbers, if totals of such points fit into 64 bits."""
    sizes = [max(map(abs, column), default=0) for column in data.columns]
    if sum(sizes) * most >= 2.0**62:
        return None
    return np.array(data.columns, np.int64).reshape(len(sizes), -1).T[at]


class Merged(NamedTuple):
    """Rows that are alike in some columns, by class, and by how much they differ in these."""

    used: list[int]
    apart: IntArray  # (used, a, b)
    above: list[IntArray]  # (a,) rows of class +1
    below: list[IntArray]  # (b,) rows of class -1
    sizes_above: IntArray  # their shares of weight
    sizes_below: IntArray


def largest_flow(joined: BoolArray, above: IntArray, below: IntArray) -> list[tuple[int, int, int]]:
    """Return pairs of joined places and what flows between them, within the places' sizes."""
    m, n = joined.shape
    i, k = np.nonzero(joined)
    start, end = np.r_[np.zeros(m, int), 1 + i, 1 + m + np.arange(n)], 1 + m + n
    stop = np.r_[1 + np.arange(m), 1 + m + k, np.full(n, end)]
    room = np.r_[above, np.minimum(above[i], below[k]), below].astype(np.int32)
    graph = csr_array((room, (start, stop)), shape=(end + 1, end + 1))
    sent = maximum_flow(graph, 0, end).flow.tocoo()
    inner = (sent.data > 0) & (sent.row > 0) & (sent.col < end)
    places = sent.row[inner] - 1, sent.col[inner] - 1 - m, sent.data[inner]
    return [*zip(*(own.tolist() for own in places), strict=True)]


class PairLines(Source):
    """Pairs of a statement's rows in a program whose signs are decided box by box."""

    def __init__(self, space: Space, bound: float, clock: Clock) -> None:
        statement = space.statement
        rows, data = statement.design.merged, exact_rows(statement.design)
        self.space, self.clock, self.goal = space, clock, -floor(-Fraction(bound))
        self.aim = bound * (1.0 + 2.0 * POLICY.margin)
        self.cards = Cards(plain_cards(statement), space.p)
        self.cells = Cells(data, self.cards, self._watch)
        # looks at choices of columns and of points, and how many there may be
        self.looks, self.room = 0, math.inf
        self.names, self.whole = merged_names(statement.design), data.whole
        # rows without weight are none of the checker's
        at = [data.named[i][0] if i in data.named else -1 for i in self.names.tolist()]
        self.share, positive = np.array([*data.share, 0], np.int64)[at], rows.y > 0
        codes = [np.unique(column, return_inverse=True)[1].ravel() for column in rows.X.T]
        self.codes = np.array(codes, np.int64).reshape(space.p, len(rows.y))
        # 1) Columns that cannot be 0 part pairs or, where they only hinder, none.
        inside = space.real & ~space.is_zero
        forced = ~space.is_zero.any(axis=1)
        some = np.flatnonzero(inside.any(axis=1) & ~forced & (np.ptp(self.codes, axis=1) > 0))
        hinders = [j for j in np.flatnonzero(forced).tolist() if self._hinders(j, positive)]
        parting = np.setdiff1d(np.flatnonzero(forced), hinders)
        # 2) Rows that nothing else parts are pairs whatever is chosen.
        self.sure, left = self._alike(np.concatenate([some, parting]), positive)
        # 3) The others stand in the program of the tree, prices in units of the rows' shares.
        costs = np.where(inside, space.cost, np.inf).min(axis=1, initial=np.inf)
        patterns = SimpleNamespace(
            candidates=some, parting=parting, penalty=costs, unit=1.0 / self.whole
        )
        spare = min(space.terms - int(forced.sum()), len(some))
        seconds = lambda: clock.left  # noqa: E731
        self.columns, net = some, np.where(positive, left, -left)
        self.pairs = Pairs(cast("Any", patterns), net, self.codes, max(spare, 0), seconds)
        self.rounds = SEARCH.root_rounds
        # 4) Where signs are decided, totals of whole numbers say which pairs stay out of order.
        most = float(space.most.max(initial=1.0))
        self.positive, self.exact = positive, exact_columns(data, at, most)
        self.spread = rows.X.std(axis=0)
        self.merged = lru_cache(4)(self._merged)  # boxes of one support follow each other

    def _hinders(self, j: int, positive: BoolArray) -> bool:
        """Return whether a column's one value raises no positive row above a negative one."""
        values = self.space.values[j, self.space.real[j]]
        raised, counts = np.sign(values[0]) * self.codes[j], self.share > 0
        above, below = raised[positive & counts], raised[~positive & counts]
        return len(values) == 1 and above.max(initial=-np.inf) <= below.min(initial=np.inf)

    def _alike(self, columns: IntArray, positive: BoolArray) -> tuple[Any, IntArray]:
        """Return weighted pairs of rows alike in these columns, and what weight rows have left."""
        found, left = [], self.share.copy()
        group = np.unique(self.codes[columns], axis=1, return_inverse=True)[1].ravel()
        order = np.argsort(group, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
            above, below = (rows[positive[rows] == sign].tolist() for sign in (True, False))
            while above and below:
                i, k = above[-1], below[-1]
                weight = min(left[i], left[k])
                if weight:
                    found.append((i, k, weight))
                    left[[i, k]] -= weight
                for own in (above, below):
                    if not left[own[-1]]:
                        own.pop()
        return np.array(found, np.int64).reshape(-1, 3).T, left

    def _watch(self, done: int, of: int) -> None:
        """End the counting of cells where it takes too long."""
        self.looks += 1
        if self.looks > self.room or self.clock.is_up:
            raise NotApplicableError("the cells of a box were not counted in time")

    def closes(self, box: CardBox) -> bool:
        """Return whether the checker's cells close a box; they must if no split is left."""
        inside = self.space.inside(box)
        decided = not (self._state(inside) == OPEN).any()
        last = decided and ((box.low == box.high).all() or self._patterns(box) is None)
        if decided and not last:
            return False  # its pairs close it sooner, once its ranges are halved
        self.looks, self.room = 0, math.inf if last else POLICY.few_cells
        values = tuple(
            tuple(map(int, v[i])) for v, i in zip(self.space.values, inside, strict=True)
        )
        ends = 1 / self.cards.scale[1], 1 / self.cards.scale[0]
        try:
            missed = next(self.cells.missed(Box(values, self.cards.b, ends), self.goal), None)
        except NotApplicableError:
            if last:
                raise
            return False
        if missed is not None and last:
            raise NotApplicableError(f"a card on the columns {missed} reaches below it")
        return missed is None

    def _state(self, inside: BoolArray) -> Any:
        """Return of each column's signs whether it is out, open or in."""
        values, zero = self.space.values, (inside & self.space.is_zero).any(axis=1)
        above, below = ((inside & side).any(axis=1) for side in (values > 0, values < 0))
        sides = np.stack([above, below], axis=1)
        sure = sides & ~zero[:, None] & ~sides[:, ::-1]
        return np.where(sure, IN, np.where(sides, OPEN, OUT)).astype(np.int8)[self.columns]

    def draw(
        self, parent: Any, box: CardBox, goal: float
    ) -> tuple[FloatArray, float, float, Drawn, Any]:
        """Return the line of a box's program; its literals are the node."""
        state = self._state(self.space.inside(box))
        if parent is not None and parent.max(initial=-1.0) < 0.0:
            solved = parent  # the signs were decided before
        else:  # pairs of a support with signs are of use to others, too
            solved, _ = self.pairs.solve(state, self.rounds)
            self.rounds = SEARCH.node_rounds
        drawn = self._line(state) if (state == OPEN).any() else self._unsettled(box)
        node = np.where(state == OPEN, np.maximum(solved, 0.0), -1.0)
        return np.zeros(self.space.p), 0.0, 1.0, drawn, node

    def _line(self, state: Any) -> Drawn:
        """Return the line of the pairs in whose order no column is sure to put them."""
        pairs, parts = self.pairs, self.pairs.parts
        change = np.sign(pairs.codes[pairs.a] - pairs.codes[pairs.b])
        sure = (change > 0) & (state[:, 0] == IN) | (change < 0) & (state[:, 1] == IN)
        # fewer parts of a unit make a shorter file
        coarse = max(parts >> POLICY.pair_bits, 1)
        used = ~sure.any(axis=1) & (pairs.shares >= coarse)
        one, shares = parts // coarse, pairs.shares[used] // coarse
        a, b = pairs.rows[pairs.a[used]], pairs.rows[pairs.b[used]]
        a, b = np.concatenate([self.sure[0], a]), np.concatenate([self.sure[1], b])
        shares = np.concatenate([self.sure[2] * one, shares])
        one *= self.whole
        divisor = math.gcd(one, *shares.tolist())
        one, shares = one // divisor, shares // divisor
        change = np.sign(self.codes[:, a] - self.codes[:, b])
        taken = np.stack([(change > 0) @ shares, (change < 0) @ shares]) / one
        return self._drawn(a, b, shares, one, taken)

    def _drawn(self, a: Any, b: Any, shares: IntArray, one: int, taken: FloatArray) -> Drawn:
        """Return the line of pairs of merged rows."""
        entry = [self.names[a].tolist(), self.names[b].tolist(), shares.tolist(), one]
        return Drawn(PairLine(float(shares.sum()) / one, taken), entry)

    def _patterns(self, box: CardBox) -> Merged | None:
        """Return the rows by the columns with points in a box; None where they are too many."""
        at = np.arange(self.space.p)
        ends = self.space.values[at, box.low], self.space.values[at, box.high]
        used = tuple(np.flatnonzero(np.any(ends, axis=0)).tolist())
        return self.merged(used) if self.exact is not None and used else None

    def _merged(self, used: tuple[int, ...]) -> Merged | None:
        """Return the rows by their values in some columns; None where they are too many."""
        assert self.exact is not None
        values, rows = self.exact[:, list(used)], []
        for side in (self.positive, ~self.positive):
            own = np.flatnonzero(side & (self.share > 0))
            label = np.unique(values[own], axis=0, return_inverse=True)[1].ravel()
            order = np.argsort(label, kind="stable")
            rows.append(np.split(own[order], np.flatnonzero(np.diff(label[order])) + 1))
        if len(rows[0]) * len(rows[1]) * len(used) > POLICY.most_differences:
            return None
        first = [values[[each[0] for each in own]] for own in rows]
        sizes = [np.array([self.share[each].sum() for each in own]) for own in rows]
        apart = first[0].T[:, :, None] - first[1].T[:, None, :]
        return Merged(list(used), apart, rows[0], rows[1], sizes[0], sizes[1])

    def _unsettled(self, box: CardBox) -> Drawn:
        """Return the pairs that no card of a box puts in order, as many as it takes to close it."""
        space, none = self.space, np.zeros((2, self.space.p))
        if (merged := self._patterns(box)) is None:
            return Drawn(PairLine(-math.inf, none), [])
        inside = space.inside(box)
        cost = np.where(inside, space.cost, np.inf).min(axis=1)
        paid = float(cost[~(inside & space.is_zero).any(axis=1)].sum())
        wanted = math.ceil((self.aim - paid) * self.whole)
        low, high = (
            space.values[merged.used, end[merged.used]].astype(np.int64)[:, None, None]
            for end in (box.low, box.high)
        )
        most = np.maximum(merged.apart * low, merged.apart * high).sum(axis=0)
        flows = largest_flow(most <= 0, merged.sizes_above, merged.sizes_below)
        if sum(weight for *_, weight in flows) < wanted:
            return Drawn(PairLine(-math.inf, none), [])
        found, left = [], self.share.copy()
        for i, k, flow in flows:
            for row, other in itertools.product(merged.above[i], merged.below[k]):
                if weight := min(flow, wanted, left[row], left[other]):
                    found.append((row, other, weight))
                    left[[row, other]] -= weight
                    flow, wanted = flow - weight, wanted - weight  # noqa: PLW2901
        a, b, shares = np.array(found, np.int64).reshape(-1, 3).T
        return self._drawn(a, b, shares, self.whole, none)

    def parting(self, node: Any, box: CardBox, goal: float) -> Split | None:
        """Return the split of the sign that the program uses most, else of the widest range."""
        if node.max(initial=-1.0) < 0.0:
            at = np.arange(self.space.p)
            width = self.space.values[at, box.high] - self.space.values[at, box.low]
            j = int(np.argmax(width * (self.spread + 1e-9)))
            return j, float(self.space.values[j, (box.low[j] + box.high[j]) // 2])
        c, side = divmod(int(np.argmax(node)), 2)
        j = int(self.columns[c])
        zero = int(self.space.is_zero[j].argmax())
        return j, float(self.space.values[j, zero - side])
