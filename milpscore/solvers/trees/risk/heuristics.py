"""Cards on the way: integer moves on rows merged by a card's few features."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import scaled_card
from milpscore.search import coordinate_descent
from milpscore.search.points import repaired
from milpscore.search.starts import fast_cards
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.policy import POLICY
from milpscore.solvers.trees.risk.relaxation import IN, OUT, Node, Relaxation


class Best(NamedTuple):
    """A card and its objective; one tuple, so that an interrupt never leaves half of one."""

    objective: float = math.inf
    card: Card | None = None


class Cards:
    """The best allowed card so far, and the ways to better ones."""

    def __init__(self, arrays: Arrays, relaxation: Relaxation, root: Node) -> None:
        self.arrays, self.relaxation, self.root = arrays, relaxation, root
        self.best = Best()
        self.tried: set[bytes] = set()
        self.mended: set[bytes] = set()
        self.descents = 0
        self.work = 0.0  # a guess of the nanoseconds of polishing
        self.deadline = self.end = Clock()  # of the first card, and of all

    def card(self, w: IntArray, b: float, s: float = 1.0) -> Card:
        """Coefficients, intercept and slope as a card, the intercept on its step."""
        statement = self.arrays.statement
        if self.arrays.scaled:
            return scaled_card(statement, w, s, b)
        return Card(w, statement.intercept.nearest(b))

    def take(self, card: Card) -> bool:
        """Offer a card of the statement's."""
        if self.arrays.statement.constraints and self.arrays.statement.violations(card):
            return False
        objective = self.arrays.objective_of(card)
        if objective < self.best.objective:
            self.best = Best(objective, card)
        return True

    def offer(self, w: IntArray, b: float, s: float = 1.0) -> bool:
        """Take a card where it is better than the best and allowed; whether it is allowed."""
        if self.arrays.statement.constraints:
            return self.take(self.card(w, b, s))
        objective = self.arrays.objective(w, b, s)
        if objective < self.best.objective:
            self.best = Best(objective, self.card(w, b, s))
        return True

    def mend(self, w: IntArray, b: float, s: float) -> None:
        """Offer an allowed card near a refused one, if that beats the best, and descend from it."""
        statement = self.arrays.statement
        key = w.astype(np.int32).tobytes()
        if key in self.mended or len(self.mended) >= POLICY.most_mended:
            return
        self.mended.add(key)
        before = self.best.objective
        if self.arrays.objective(w, b, s) >= before:
            return
        near = repaired(statement, w)
        if near is None or not self.take(near):
            return
        # descents end in different cards: the first ones are worth their time, later only the best
        if self.descents < POLICY.descents or self.best.objective < before:
            self.descents += 1
            most = POLICY.descent_totals
            self.take(coordinate_descent(statement, near, max_work=most, time_limit=self.end))

    def empty(self) -> None:
        """Offer the card without terms, where that is allowed."""
        self.polish(self.root, np.empty(0, np.int64))

    def first(self) -> None:
        """Offer the card of the fast mode, unless there is a card to start from."""
        if self.best.card is not None and self.best.card.nonzeros:
            return
        fast, _ = fast_cards(self.arrays.statement, self.deadline)
        if fast is not None:
            self.take(fast)

    def fitted(self, support: tuple[int, ...]) -> Node:
        """The real weights of a support, with the slopes of all features at them."""
        a = self.arrays
        node = self.root.child()
        inside = list(support)
        node.status[:] = OUT
        node.status[inside] = IN
        node.lo, node.hi = a.zero.copy(), a.zero.copy()
        node.lo[inside], node.hi[inside] = 0, a.hi[inside]
        self.relaxation.fit(node)
        return node

    def round(self, node: Node) -> None:
        """Polish the card of a relaxation's largest features."""
        a = self.arrays
        weight = np.abs(node.w) * a.spread
        weight[node.status == IN] = np.inf
        order = np.argsort(-weight, kind="stable")[: a.terms]
        support = np.sort(order[weight[order] > 0])
        if support.astype(np.int32).tobytes() not in self.tried:
            self.polish(self.fitted(tuple(support.tolist())), support)

    def polish(self, node: Node, support: IntArray | None = None) -> None:
        """Round a node's weights on a support and improve them by steps of one and two choices."""
        a = self.arrays
        if support is None:
            support = np.flatnonzero(node.status == IN)
        key = support.astype(np.int32).tobytes()
        if key in self.tried:
            return
        if len(self.tried) < POLICY.most_tried:
            self.tried.add(key)
        if bool((np.delete(a.zero, support) < 0).any()):
            return  # a feature that cannot be 0 is missing
        if self.best.objective <= node.primal - a.l0 * node.sure < math.inf:
            return
        if self.end.is_up and self.best.objective < math.inf:
            return
        walk = _Walk(a, support)
        at = walk.rescaled(node.w) if a.scaled else _nearest(a, support, node.w)
        at, b, s = walk.run(at, node.b, self.end)
        self.work += walk.work
        w = np.zeros(a.p, np.int64)
        w[support] = a.points[support, at].astype(np.int64)
        if not self.offer(w, b, s):
            self.mend(w, b, s)


class _Walk:
    """Integer moves of a few coefficients, the intercept following."""

    def __init__(self, arrays: Arrays, support: IntArray) -> None:
        self.arrays, self.support = arrays, support
        labels, first = arrays.merge(support)
        self.X = arrays.part(first, support)
        self.rows = arrays.rows.merged(labels, first)
        self.moves = _moves(len(support))
        self.work = 0.0

    def rescaled(self, w: FloatArray) -> IntArray:
        """The best rounding of the coefficients times a multiplier that keeps to the ranges."""
        a, support = self.arrays, self.support
        inside = w[support]
        ends = np.where(inside < 0, a.points[support, 0], a.points[support, a.hi[support]])
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(inside * ends > 0, ends / inside, np.inf)
        most = float(fits.min(initial=math.inf))
        most = most if math.isfinite(most) else 1.0
        near = np.stack([_nearest(a, support, w * most * each) for each in POLICY.scale_multiples])
        values, _, _ = self.evaluate(near, 0.0)
        return np.asarray(near[int(np.argmin(values))])

    def run(self, at: IntArray, b: float, clock: Clock) -> tuple[IntArray, float, float]:
        """(positions of the choices, intercept, slope) no move improves, or none in time."""
        hi = self.arrays.hi[self.support]
        b, s = b if self.arrays.scaled else self.arrays.snap(b), 1.0
        value = math.inf
        for _ in range(POLICY.most_moves):
            near = at + self.moves
            near, before = near[((near >= 0) & (near <= hi)).all(axis=1)], value
            size = max(int(POLICY.totals_at_once / len(self.X)), 1)
            for part in (near[k : k + size] for k in range(0, len(near), size)):
                values, intercepts, slopes = self.evaluate(part, b)
                k = int(np.argmin(values))
                if values[k] < value:
                    at, value = part[k], float(values[k])
                    line = float(intercepts[k]), float(slopes[k])
                if clock.is_up:
                    break
            if not value < before:
                break
            b, s = line
            if clock.is_up:
                break
        return at, b, s

    def evaluate(self, at: IntArray, b: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Each card's objective at the best slope and the best intercept near b, and these."""
        a = self.arrays
        w = a.points[self.support[None, :], at]
        totals = self.X @ w.T
        self.work += POLICY.line_cost * totals.size
        if a.b_step is None:
            priced = self._priced(w)
            lines = a.lines(totals, self.rows, charges=priced)
            return lines.losses + priced, lines.intercepts / a.unit, lines.slopes
        near = np.array([b, b - a.b_step, b + a.b_step])
        near = near[(near >= a.b_lower) & (near <= a.b_upper)]
        intercepts = np.repeat(near[:, None], len(w), axis=1)
        values = np.stack([self.rows.mean(totals + row * a.unit) for row in intercepts])
        values[~np.isfinite(values)] = np.inf
        best = np.argmin(values, axis=0)
        chosen = best, np.arange(len(w))
        return values[chosen] + self._priced(w), intercepts[chosen], np.ones(len(w))

    def _priced(self, w: FloatArray) -> FloatArray:
        """Penalties and term costs of the cards."""
        a = self.arrays
        cost = a.l0 * np.count_nonzero(w, axis=1)
        if a.penalty is None:
            return np.asarray(cost, dtype=np.float64)
        full = np.zeros((len(w), a.p))
        full[:, self.support] = w
        return np.asarray(cost + np.array([a.penalised(row) for row in full]))


def _nearest(arrays: Arrays, support: IntArray, w: FloatArray) -> IntArray:
    """The position of the choice nearest to each coefficient of the support."""
    at = np.zeros(len(support), np.int64)
    for i, j in enumerate(support):
        at[i] = np.argmin(np.abs(arrays.points[j, : arrays.hi[j] + 1] - w[j]))
    return at


def _moves(m: int) -> IntArray:
    """No move, one step of one coefficient, one step of each of two."""
    single = np.vstack([np.eye(m, dtype=np.int64), -np.eye(m, dtype=np.int64)])
    rows = [np.zeros((1, m), np.int64), single]
    if 1 < m <= POLICY.paired_features:
        first, second = np.triu_indices(m, 1)
        eye = np.eye(m, dtype=np.int64)
        rows += [s * eye[first] + t * eye[second] for s in (1, -1) for t in (1, -1)]
    return np.vstack(rows)
