"""Supports with signs, bounded by pairs of rows that no card on them puts in order.

A card is right about a positive row a and a negative row b only where a scores more, so only where
some column has a_j > b_j and a weight above 0, or a_j < b_j and one below: where one of the pair's
*literals* (column, sign) is in use. Give pairs weights of which no row gets more than its own: a
card errs at least on the weight of the pairs it has no literal of, and each literal settles no more
than the weight of its pairs. The best weights are the duals of a linear program, whatever the
duals' errors: they are rounded down to whole parts of the rows' units, and all sums are exact.

Nodes decide literals, in or out, best bound first; a node whose literals are all decided is one
support with signs, and goes to the walk over its weights. The program is that of set covering with
a limit on the sets; the pairs are found as they are violated.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, inner
from milpscore.solvers.running import add_rows, highs_of, limit_run, run_here, set_option
from milpscore.solvers.trees.shared.support_enumeration import asked_for
from milpscore.solvers.trees.zero_one.policy import POLICY
from milpscore.solvers.trees.zero_one.rows import Patterns
from milpscore.solvers.trees.zero_one.support_bounds import Bounded

OUT, OPEN, IN = 0, 1, 2

States = NDArray[np.int8]
"""(m, 2): of each column's literals, weight above and below 0, whether it is out, open or in."""


class SignedSupports:
    """Supports with signs, best bound first: no card of one not yet ``seen`` is below ``floor``."""

    def __init__(
        self, patterns: Patterns, remaining: Callable[[], float] = lambda: math.inf
    ) -> None:
        self.patterns = p = patterns
        self.seen = self.nodes = 0
        self.columns = p.candidates
        self.spare = min(p.terms - len(p.forced), len(p.candidates))
        net, codes, lost = p.without_handicaps()
        self.fixed = p.least + p.forced_penalty + lost * p.unit
        self.cost = p.penalty[self.columns]
        self.pairs = Pairs(p, net, codes, self.spare, remaining)
        place = {int(j): at for at, j in enumerate(self.columns)}
        self.twin = np.array([place.get(int(p.twin[j]), -1) for j in self.columns], np.int64)
        signs = [(p.points[j].max() > 0, p.points[j].min() < 0) for j in self.columns.tolist()]
        self.root = np.array(signs, np.int8).reshape(-1, 2) * np.int8(OPEN)
        self._forced = bool(len(p.forced))
        self.asked = asked_for(p.statement, self.columns)
        self._order = 0
        self._heap: list[tuple[float, int, States, int]] = []
        self._next: list[tuple[float, States, int]] = []
        self.floor = math.inf
        if self.spare >= 0:
            self._next = [(self.fixed, self.root, 0)]
            self.commit()

    def _may_be_used(self, state: States) -> bool:
        """Whether the rules leave a card with points on what is in, and on nothing that is out."""
        rules = self.patterns.statement.constraints
        if not rules:
            return True
        inside = (state == IN).any(axis=1)
        included = {*self.patterns.forced.tolist(), *self.columns[inside].tolist()}
        left = {*included, *self.columns[(state == OPEN).any(axis=1)].tolist()}
        excluded = set(range(len(self.patterns.points))) - left
        return all(each.allows_support(included, excluded) for each in rules)

    @property
    def visits(self) -> float:
        """The work of the programs so far, in pattern visits."""
        return float(POLICY.visit_rate * self.pairs.work)

    def more(self, limit: float) -> Bounded:
        """Supports whose bound is below ``limit``; :meth:`commit` then moves the floor."""
        found: Bounded = []
        bound, _, state, rounds = self._heap[0]
        if self._forced:
            self._forced = False
            self._emit(found, bound, state)
        if bound >= limit or not self.spare:
            self._next, self._heap = [], self._heap[:1]
            return found
        self.nodes += 1
        if not (state == OPEN).any():
            self._next = []
            self.pairs.solve(state, POLICY.node_rounds)
            bound = max(bound, self.exact(state))
            if bound < limit:
                self._emit(found, bound, state)
            return found
        shallow = len(self._heap) == 1 and rounds <= POLICY.root_rounds
        before, most = bound, 1 if shallow else POLICY.node_rounds
        solved, done = self.pairs.solve(state, most)
        value, state = self.bound(state, limit)
        bound = max(bound, value)
        if bound >= limit or not (state == OPEN).any():
            self._next = []
        elif rounds < POLICY.root_rounds and most == 1 and not done:
            slow = self.pairs.finished and bound - before < POLICY.least_gain * (limit - before)
            self._next = [(bound, state, POLICY.root_rounds if slow and rounds > 1 else rounds + 1)]
        else:
            self._next = self._split(bound, state, solved, limit)
        return found

    def commit(self) -> None:
        """Say that what :meth:`more` gave is kept: the floor may rise over it."""
        if self._heap:
            heapq.heappop(self._heap)
        for bound, state, rounds in self._next:
            self._order -= 1  # of equal bounds the last one is first, which dives
            heapq.heappush(self._heap, (bound, self._order, state, rounds))
        self._next = []
        self.floor = self._heap[0][0] if self._heap else math.inf

    def rounded(self) -> IntArray:
        """The card of the least points on the literals that the last program used most."""
        p, used = self.patterns, self.pairs.solution[1]
        w = p.smallest_card()
        for c in np.argsort(-used.max(axis=1), kind="stable")[: self.spare].tolist():
            sign = 1 - 2 * int(np.argmax(used[c]))
            points = p.points[self.columns[c]]
            points = points[points * sign > 0]
            if used[c].max() > 0 and len(points):
                w[self.columns[c]] = points[np.argmin(np.abs(points))]
        return w

    def _split(
        self, bound: float, state: States, solved: FloatArray, limit: float
    ) -> list[tuple[float, States, int]]:
        """The node's parts: without a literal, with it and others, and with it as the last one."""
        # what rules ask for is decided first
        solved = np.where(state == OPEN, solved + self.asked[:, None], -1.0)
        c, side = divmod(int(np.argmax(solved)), 2)
        inside, outside = state.copy(), state.copy()
        inside[c] = OUT
        inside[c, side], outside[c, side] = IN, OUT
        parts = []
        full = int((inside == IN).sum()) >= self.spare
        for half in (outside,) if full else (outside, inside):
            value, left = self.bound(half, limit)
            if value < limit and (left == OPEN).any():
                parts.append((max(bound, value), left, POLICY.root_rounds + 1))
        last = np.where(inside == IN, np.int8(IN), np.int8(OUT))
        value = max(bound, self.exact(last))
        if value < limit and self._is_needed(last) and self._may_be_used(last):
            parts.append((value, last, 0))
        return parts

    def _is_needed(self, state: States) -> bool:
        """Whether no twin support is as good as what is in."""
        chosen = np.flatnonzero((state == IN).any(axis=1))
        twin = self.twin[chosen]
        return bool(np.isin(twin[twin >= 0], chosen).all())

    def _emit(self, found: Bounded, bound: float, state: States) -> None:
        """Offer the support of what is in."""
        self.seen += 1
        chosen, side = np.nonzero(state == IN)
        forced = self.patterns.forced.tolist()
        columns = (*forced, *self.columns[chosen].tolist())
        found.append((bound, columns, (*(0 for _ in forced), *(1 - 2 * side).tolist())))

    def exact(self, state: States) -> float:
        """A bound for the cards that use just what is in."""
        total, _ = self.pairs.weigh(state)
        p = self.patterns
        paid = self.fixed + float(self.cost[(state == IN).any(axis=1)].sum())
        return float(paid + p.unit * total)

    def bound(self, state: States, limit: float) -> tuple[float, States]:
        """Bound the cards that use more than what is in; return the state less what is closed."""
        # with r further literals the pairs lose at most the r largest gains, one for each column
        open_ = state == OPEN
        inside = (state == IN).any(axis=1)
        free = np.flatnonzero(open_.any(axis=1))
        most = min(self.spare - int(inside.sum()), len(free))
        if most < 1 or not self._may_be_used(state):
            return math.inf, state
        total, gain = self.pairs.weigh(state, parts=True)
        best = np.where(open_, gain, -1).max(axis=1)[free]
        order = np.argsort(-best, kind="stable")
        top = np.concatenate([[0], np.cumsum(best[order])])
        sure = self.fixed + float(self.cost[inside].sum())
        paid = sure + np.cumsum(np.sort(self.cost[free]))[:most]
        r = np.arange(1, most + 1)
        value = float(self._value(total - top[r], paid).min())
        # with a literal of column c in: its gain, and the r - 1 largest others
        rank = np.empty(len(free), np.int64)
        rank[order] = np.arange(len(free))
        others = np.where(rank[:, None] < r - 1, top[r] - best[:, None], top[r - 1])
        with_it = self._value(total - gain[free][:, :, None] - others[:, None, :], paid)
        closed = np.zeros_like(open_)
        closed[free] = with_it.min(axis=2) >= limit
        state = np.where(closed & open_, np.int8(OUT), state)
        return value, state

    def _value(self, lost: Any, paid: Any) -> Any:
        """Return the objectives of cards that err on at least this number of parts of a unit."""
        units = -(np.minimum(-lost, 0) // self.pairs.parts)
        return units * self.patterns.unit + paid


class Pairs:
    """Pairs of rows in a program that covers them with literals, and the weights of its duals."""

    def __init__(
        self, patterns: Patterns, net: NDArray[Any], codes: NDArray[Any], spare: int,
        remaining: Callable[[], float],
    ) -> None:  # fmt: skip
        p, self.remaining = patterns, remaining
        weight = np.abs(net.astype(np.int64))
        sides = np.flatnonzero(net > 0), np.flatnonzero(net < 0)
        few = min(math.isqrt(POLICY.most_pairs), *(max(len(rows), 1) for rows in sides))
        kept = [
            np.sort(rows[np.argsort(-weight[rows], kind="stable")[: POLICY.most_pairs // few]])
            for rows in sides
        ]
        self.rows = rows = np.concatenate(kept)
        self.positive = len(kept[0])
        self.weight = weight[rows]
        self.codes = np.ascontiguousarray(codes[p.candidates][:, rows].T)
        self.forced = np.ascontiguousarray(codes[p.parting][:, rows].T)
        self.columns = self.codes.shape[1]
        large = int(self.weight.sum()).bit_length() + self.columns.bit_length()
        self.parts = 1 << max(0, min(POLICY.unit_parts, 61 - large))
        self.a = self.b = np.zeros(0, np.int64)
        self.shares = np.zeros(0, np.int64)
        self.finished = True
        self.work = self.width = 0.0  # nanoseconds so far, a guess; literals of a pair
        n, m = len(rows), self.columns
        # sum of all literals, and of each column's two
        both = sp.hstack([sp.csc_array((m, n)), sp.kron(sp.eye_array(m), np.ones((1, 2)))])
        every = sp.hstack([sp.csc_array((1, n)), sp.csc_array(np.ones((1, 2 * m)))])
        self.unit = max(1.0, float(self.weight.mean())) if n else 1.0
        cost = np.repeat(p.penalty[p.candidates] / p.unit, 2)
        self.highs = highs_of(
            sp.csc_array(sp.vstack([every, both])),
            (np.concatenate([self.weight, cost]) / self.unit, 0.0),
            (np.zeros(n + 2 * m), np.concatenate([np.full(n, np.inf), np.ones(2 * m)])),
            (np.full(m + 1, -np.inf), np.concatenate([[float(spare)], np.ones(m)])),
        )
        settings: dict[str, Any] = {
            "solver": "simplex", "simplex_strategy": 1, "presolve": "off", "threads": 1,
            "simplex_scale_strategy": 0, "simplex_iteration_limit": POLICY.simplex_iterations,
        }  # fmt: skip
        for name, value in settings.items():
            set_option(self.highs, name, value)
        self.solution = np.zeros(n), np.full((m, 2), 1.0 / (m + 1))

    def solve(self, state: States, rounds: int) -> tuple[FloatArray, bool]:
        """A node's program, with pairs added so often: its literals; whether it wants none."""
        n, m = len(self.weight), self.columns
        lower, upper = (state == IN).ravel().astype(float), (state != OUT).ravel().astype(float)
        where = np.arange(n, n + 2 * m, dtype=np.int32)
        self.highs.changeColsBounds(2 * m, where, lower, upper)
        done = False
        for turn in range(rounds):
            # what is violated at another node is seldom so here; a run that was cut short goes on
            if self.finished and (turn or rounds == 1):
                done = not self._add_violated()
            if not done:
                self._run()
        return self.solution[1], done

    def _run(self) -> None:
        """Solve the program; keep its solution, and its duals as whole parts of units."""
        n = len(self.weight)
        limit_run(self.highs, self.remaining(), None, mip=False)
        run_here(self.highs)
        self.finished = self.highs.getModelStatus() != highspy.HighsModelStatus.kIterationLimit
        steps = self.highs.getInfo().simplex_iteration_count
        self.work += POLICY.entry_cost * steps * (n + len(self.a) * (2 + self.width))
        solution = self.highs.getSolution()
        values = np.array(solution.col_value)
        self.solution = values[:n], values[n:].reshape(-1, 2)
        dual = np.array(solution.row_dual)[1 + self.columns :]
        dual = np.where(np.isfinite(dual), np.maximum(dual, 0.0), 0.0) * self.unit
        self.shares = np.floor(np.minimum(dual, float(self.weight.max(initial=0))) * self.parts)
        self.shares = self.shares.astype(np.int64)
        clip(self.a, self.b, self.weight * self.parts, self.shares)
        if len(self.a) > POLICY.pairs_per_row * n + 1000:
            idle = np.flatnonzero(self.shares == 0)
            self.highs.deleteRows(len(idle), (idle + 1 + self.columns).astype(np.int32))
            used = self.shares > 0
            self.a, self.b, self.shares = self.a[used], self.b[used], self.shares[used]

    def _add_violated(self) -> bool:
        """Add each row's most violated pair; whether there was any."""
        z, u = self.solution
        most = u.max(axis=1)
        active = np.flatnonzero(most > 1e-9)
        active = active[np.argsort(-most[active], kind="stable")]
        a, b = np.empty((2, len(z)), np.int64)
        self.work += POLICY.pair_cost * self.positive * (len(z) - self.positive)
        # pairs left out only loosen the bound; the search of all knows no clock
        most = 1 + POLICY.pair_looks // (1 + self.positive * len(active))
        found = violated(
            self.codes, self.forced, self.positive, z, u, active, POLICY.violation, most, a, b
        )
        if not found:
            return False
        a, b = np.unique(np.stack([a[:found], b[:found]]), axis=1)
        change = self.codes[a] - self.codes[b]
        n, at, one = len(z), np.arange(len(a)), np.ones(len(a))
        rows = [sp.csr_array((one, (at, which)), shape=(len(a), n)) for which in (a, b)]
        literals = np.stack([change > 0, change < 0], axis=2).reshape(len(a), -1)
        self.width = float(literals.sum()) / len(a)
        cover = sp.csr_array(sp.hstack([rows[0] + rows[1], sp.csr_array(literals.astype(float))]))
        add_rows(self.highs, cover, np.ones(len(a)), np.full(len(a), np.inf))
        self.a, self.b = np.append(self.a, a), np.append(self.b, b)
        return True

    def weigh(self, state: States, parts: bool = False) -> Any:
        """Return what pairs without a literal in weigh, and what each literal settles of it."""
        gain = np.zeros(state.shape, np.int64)
        used = self.shares > 0
        a, b, shares = self.a[used], self.b[used], self.shares[used]
        total = int(settle(self.codes, a, b, shares, state, gain))
        return (total, gain) if parts else (-(-total // self.parts), gain)


@inner
def violation(row: Any, other: Any, u: Any, active: Any, over: float, level: float) -> Any:
    """What ``over`` leaves of a pair's literals, or something at most ``level``."""
    for c in active:
        if row[c] > other[c]:
            over -= u[c, 0]
        elif row[c] < other[c]:
            over -= u[c, 1]
        if over <= level:
            break
    return over


@compiled
def violated(
    codes: Any, forced: Any, positive: int, z: Any, u: Any, active: Any, least: float, most: int,
    a: Any, b: Any,
) -> int:  # fmt: skip
    """Write each row's most violated pair to ``a`` and ``b``; return their number."""
    # ``codes`` (n, m) and ``forced`` (n, f) number values, the first ``positive`` rows being so;
    # ``z`` (n,), ``u`` (m, 2) solve the program, nonzero in ``active`` columns. Pairs that a forced
    # column parts are none; violated means by more than ``least``. Each row tries ``most`` mates.
    n = len(z)
    worst, mate = np.full(n, least), np.full(n, -1, np.int64)
    negative = n - positive
    for i in range(positive):
        # rows begin at different places, so that equals do not all take the same mate
        first = i * negative // positive
        for step in range(min(negative, most)):
            k = positive + (first + step) % negative
            over = 1.0 - z[i] - z[k]
            level = min(worst[i], worst[k])
            if over <= level:
                continue
            over = violation(codes[i], codes[k], u, active, over, level)
            if over <= level or (forced[i] != forced[k]).any():
                continue
            if over > worst[i]:
                worst[i], mate[i] = over, k
            if over > worst[k]:
                worst[k], mate[k] = over, i
    found = 0
    for i in range(n):
        if mate[i] >= 0:
            a[found], b[found] = (i, mate[i]) if i < positive else (mate[i], i)
            found += 1
    return found


@compiled
def clip(a: Any, b: Any, most: Any, shares: Any) -> None:
    """Cut the pairs' shares so that no row gets more than ``most`` (n,) of them."""
    left = most.copy()
    for at in range(len(a)):
        shares[at] = min(shares[at], left[a[at]], left[b[at]])
        left[a[at]] -= shares[at]
        left[b[at]] -= shares[at]


@compiled
def settle(codes: Any, a: Any, b: Any, shares: Any, state: Any, gain: Any) -> int:
    """What pairs without a literal that is in weigh; ``gain`` (m, 2) gets each open one's share."""
    total = 0
    for at in range(len(a)):
        row, other = codes[a[at]], codes[b[at]]
        covered = False
        for c in range(len(row)):
            if (row[c] > other[c] and state[c, 0] == IN) or (
                row[c] < other[c] and state[c, 1] == IN
            ):
                covered = True
                break
        if covered:
            continue
        total += shares[at]
        for c in range(len(row)):
            if row[c] > other[c]:
                gain[c, 0] += shares[at]
            elif row[c] < other[c]:
                gain[c, 1] += shares[at]
    return total
