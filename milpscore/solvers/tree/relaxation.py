"""A node and its relaxation, bounded by a line and rounded to cards."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.search import coordinate_descent
from milpscore.search.points import repaired
from milpscore.solvers.tree.arrays import Arrays, Choices, hull_cost, new_hulls, solve_model

IN, OPEN, OUT = 1, 0, -1
"""What a node's ``status`` says of a feature; one in may still have 0 points."""

FAR = 300.0
"""Scores are held to [-FAR, FAR] in a line where the loss overflows at one of them."""

_ROUNDS = 12
_NEWTON = 12
_BACKTRACK = 12
_ADDED = 12
"""Undecided columns taken into a relaxation at once."""

_EASY = 0.1
"""A node's relaxation is solved well enough once the bound misses it by this share of the room."""

_ROUNDING = 1e-11
"""Conjugates answer 0 up to 1e-12 relative outside their domain."""


@dataclass(slots=True, eq=False)
class Node:
    """Decisions, box, bound, and what the node's parts start from.

    The line says: every card (v, b) has loss + (a penalty that is not a sum) >= ``constant`` +
    ``slope``.v + ``slope_b`` b, everywhere and not only in this node. ``lo`` and ``hi`` are
    positions among the choices, ``primal`` is the relaxation's value at (w, b), and ``mu`` the
    multiplier of the limit on terms.
    """

    status: NDArray[np.int8]
    lo: IntArray
    hi: IntArray
    b_lo: float
    b_hi: float
    w: FloatArray
    b: float
    slope: FloatArray
    slope_b: float = 0.0
    constant: float = -math.inf
    bound: float = -math.inf
    primal: float = math.inf
    mu: float = 0.0

    @classmethod
    def root(cls, arrays: Arrays) -> Node:
        """Nothing decided but what the ranges decide, and no line yet."""
        status = np.where(arrays.zero < 0, IN, np.where(arrays.hi == 0, OUT, OPEN))
        return cls(
            status.astype(np.int8),
            np.zeros(arrays.p, np.int64),
            arrays.hi.copy(),
            arrays.b_lower,
            arrays.b_upper,
            np.zeros(arrays.p),
            min(max(0.0, arrays.b_lower), arrays.b_upper),
            np.zeros(arrays.p),
        )

    @property
    def sure(self) -> int:
        """How many features are in."""
        return int(np.count_nonzero(self.status == IN))

    def child(self) -> Node:
        """A copy to decide something more in; the line is shared, never written to."""
        return replace(
            self,
            status=self.status.copy(),
            lo=self.lo.copy(),
            hi=self.hi.copy(),
            w=self.w.copy(),
        )

    def project(self, arrays: Arrays) -> None:
        """Move w and b into the box."""
        at = np.arange(arrays.p)
        np.clip(self.w, arrays.points[at, self.lo], arrays.points[at, self.hi], out=self.w)
        self.b = min(max(self.b, self.b_lo), self.b_hi)


class Relaxation:
    """Solves nodes in place: raises ``bound``, moves ``w`` and ``b``, fixes and tightens."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.omega = None if arrays.separable else Omega(arrays.penalty, arrays.most)
        self.solved = 0
        self._least = np.empty(arrays.p)  # of each feature: what it adds to the line at least

    def solve(self, node: Node, cutoff: float) -> bool:
        """Whether the node stays open: False as soon as its bound passes ``cutoff``."""
        if not self.tighten(node, cutoff):
            return False
        self.solved += 1
        node.project(self.arrays)
        active = (node.status == IN) | ((node.w != 0.0) & (node.status == OPEN))
        for _ in range(_ROUNDS):
            rows = _Rows(self.arrays, np.flatnonzero(active))
            self._descend(node, rows, cutoff)
            self._draw_line(node, rows, node.status != OUT)
            if not self.tighten(node, cutoff):
                return False
            if not self._extend(node, active, cutoff):
                break
        return True

    def fit(self, node: Node) -> None:
        """Solve a node whose features are all decided, and draw its line over every feature."""
        node.project(self.arrays)
        rows = _Rows(self.arrays, np.flatnonzero(node.status == IN))
        self._descend(node, rows, math.inf)
        self._draw_line(node, rows, np.ones(self.arrays.p, np.bool_))

    def tighten(self, node: Node, cutoff: float) -> bool:
        """Bound the node by its line, drop what the line rules out, until nothing changes."""
        a = self.arrays
        while True:
            free = a.terms - node.sure
            if free <= 0:  # every term is used up: what is undecided is out
                rest = node.status == OPEN
                node.status[rest], node.lo[rest], node.hi[rest] = OUT, a.zero[rest], a.zero[rest]
            inside, undecided = node.status == IN, node.status == OPEN
            place, zero = a.places, a.is_zero & undecided
            allowed = (place >= node.lo) & (place <= node.hi)
            cost = np.where(allowed, node.slope * a.values + a.charges, np.inf)
            # an undecided feature at 0 costs nothing; it is a term at its other choices
            self._least = least = np.where(zero, np.inf, cost).min(axis=0)
            # at best the `free` cheapest undecided features become terms: the `last` of them
            # counts (0 where a place stays free), and `next_` would take a place that gets free
            cheapest = np.sort(np.minimum(least[undecided], 0.0))
            last = float(cheapest[free - 1]) if 0 < free <= len(cheapest) else 0.0
            next_ = float(cheapest[free]) if 0 < free < len(cheapest) else 0.0
            ends = node.slope_b * node.b_lo, node.slope_b * node.b_hi
            terms = float(least[inside].sum()) + float(cheapest[: max(free, 0)].sum())
            bound = node.constant + min(ends) + terms
            if not math.isfinite(bound):
                return True
            node.bound = max(node.bound, bound)
            if node.bound >= cutoff:
                return False
            room = (cutoff - bound) * (1.0 + 1e-9)
            counted = np.where(inside, least, np.minimum(least, last))
            out = undecided & (least - counted >= room)
            enters = undecided & ~out & (least <= last) & (min(next_, 0.0) - least >= room)
            node.status[out], node.status[enters] = OUT, IN
            kept = (cost - counted < room) & ~out | zero & ~enters
            lo, hi = kept.argmax(axis=0), len(place) - 1 - kept[::-1].argmax(axis=0)
            fixed = node.status == OUT
            lo[fixed], hi[fixed] = a.zero[fixed], a.zero[fixed]
            changed = bool((out | enters | (lo != node.lo) | (hi != node.hi)).any())
            node.lo, node.hi = lo, hi
            self._tighten_intercept(node, room)
            if not changed:
                return True
            if node.sure > a.terms:
                # more features than allowed must be in: nothing here beats the cutoff
                node.bound = max(node.bound, cutoff)
                return False

    def _tighten_intercept(self, node: Node, room: float) -> None:
        """Move the intercept's farther end in to where the line stays within ``room``."""
        step = self.arrays.b_step
        if node.slope_b == 0.0 or node.b_lo == node.b_hi:
            return
        reach = room / abs(node.slope_b)
        if reach >= node.b_hi - node.b_lo:
            return
        if step is not None:
            reach = math.floor(reach / step + 1e-9) * step + 0.0
        if node.slope_b > 0:
            node.b_hi = node.b_lo + reach
        else:
            node.b_lo = node.b_hi - reach

    def _descend(self, node: Node, rows: _Rows, cutoff: float) -> None:
        """Newton steps on the rows merged by the active columns."""
        a, columns = self.arrays, rows.columns
        model = _Model(self, node, rows)
        w, b, mu = node.w[columns].copy(), node.b, node.mu
        z = rows.scores(w, b)
        value = model.value(z, w)
        careful = False
        for _ in range(_NEWTON):
            if not math.isfinite(value):
                break
            new_w, new_b, mu = model.minimise(rows.slopes(z, careful), w, b, mu)
            here = model.cost(w, mu)[0] + value
            t = 1.0
            for _ in range(_BACKTRACK):
                try_w, try_b = w + t * (new_w - w), b + t * (new_b - b)
                try_z = rows.scores(try_w, try_b)
                try_value = model.value(try_z, try_w)
                cost, used = model.cost(try_w, mu)
                gain = here - cost - try_value
                if gain >= 0.0:
                    break
                t *= 0.5
            if not gain > 0.0:
                if careful or not math.isfinite(a.loss.curvature):
                    break
                # where the second derivative vanishes beyond a kink, its upper bound still descends
                careful = True
                continue
            w, b, z, value = try_w, try_b, try_z, try_value
            # what the multiplier charges beyond the terms themselves is not part of the objective
            node.primal = value + cost - mu * used + a.l0 * node.sure
            room = min(abs(cutoff - node.primal), 0.01 * abs(node.primal))
            if gain <= max(1e-10, 0.02 * room):
                break
            model.move(w)
        node.w[columns], node.b, node.mu = w, b, mu
        rows.z = z

    def _draw_line(self, node: Node, rows: _Rows, wanted: BoolArray) -> None:
        """The loss's tangent at the node's point over the wanted features, less its rounding."""
        a, z = self.arrays, rows.z
        value = a.loss.value(z, rows.y)
        if not np.isfinite(value).all():
            # any score gives a line below a row's loss, so one where it is finite is as good
            z = np.clip(z, -FAR, FAR)
            value = a.loss.value(z, rows.y)
        u = a.loss.gradient(z, rows.y)
        sizes = rows.share @ np.abs(value), rows.share @ np.abs(u)
        most = float(np.abs(z).max()) + a.reach
        slack = a.gamma * (sizes[0] + sizes[1] * most) + a.table_slack
        # loss(z') >= loss(z) + u (z' - z), and z' = (v.x + b') / scale
        constant = float(rows.share @ (value - u * z)) - float(slack)
        slope = np.where(wanted, a.column_sums(a.share * u[rows.labels]), 0.0)
        if self.omega is not None:
            s, offset = self.omega.line(node.w, slope)
            slope, constant = slope + s, constant + offset
        if math.isfinite(constant) and np.isfinite(slope).all():
            node.constant, node.slope = constant, slope
            node.slope_b = float(rows.share @ u) * a.unit

    def _extend(self, node: Node, active: BoolArray, cutoff: float) -> bool:
        """Take in the undecided columns that violate the multiplier most; False where done."""
        fixed = active & (node.status == OUT)
        active[fixed] = False
        moved = bool(node.w[fixed].any())
        node.project(self.arrays)
        missed = node.primal - node.bound
        easy = node.primal < cutoff and missed <= _EASY * (cutoff - node.bound)
        if easy and not moved:
            return False
        # a column at 0 stays there while its cheapest choice costs more than the multiplier gives
        short = np.where((node.status == OPEN) & ~active, self._least + node.mu, 0.0)
        worst = np.argsort(short, kind="stable")[:_ADDED]
        worst = worst[short[worst] < -1e-9 - 1e-3 * node.mu]
        active[worst] = True
        active |= node.status == IN
        return bool(len(worst)) or moved or missed > max(1e-9, _EASY * abs(cutoff - node.bound))


class _Rows:
    """Rows merged by the active columns and y."""

    def __init__(self, arrays: Arrays, columns: IntArray) -> None:
        self.columns = columns
        self.labels, first = arrays.merge(columns)
        self.X = arrays.part(first, columns)
        self.y = arrays.y[first]
        self.share = np.bincount(self.labels, weights=arrays.share, minlength=len(first))
        self.loss, self.unit = arrays.loss, arrays.unit
        self.z = np.zeros(len(first))

    def scores(self, w: FloatArray, b: float) -> FloatArray:
        """The rows' scores."""
        z: FloatArray = self.X @ w
        z += b * self.unit
        return z

    def slopes(self, z: FloatArray, careful: bool) -> tuple[FloatArray, FloatArray]:
        """First and second derivatives times the weights; ``careful``: the largest second one."""
        u = self.share * self.loss.gradient(z, self.y)
        if careful:
            return u, np.asarray(self.share * self.loss.curvature)
        return u, np.asarray(self.share * self.loss.hessian(z, self.y))


class _Model:
    """The relaxation of a node on its active columns: values, costs, second-order steps."""

    def __init__(self, relaxation: Relaxation, node: Node, rows: _Rows) -> None:
        a, columns = relaxation.arrays, rows.columns
        self.arrays, self.omega, self.node, self.rows = a, relaxation.omega, node, rows
        self.budget = float(a.terms - node.sure)
        self.choices = Choices(
            a.points[columns],
            a.table[columns],
            node.lo[columns],
            node.hi[columns],
            a.zero[columns],
            node.status[columns] == IN,
        )
        self.hulls = new_hulls(*self.choices.points.shape)
        self.move(node.w[columns])

    def move(self, w: FloatArray) -> None:
        """Charge what a penalty that is not a sum charges near w."""
        if self.omega is not None:
            weight, ridge = (
                each[self.rows.columns, None] for each in self.omega.nearby(self._full(w))
            )
            points = self.choices.points
            table = weight * np.abs(points) + 0.5 * ridge * points * points
            self.choices = self.choices._replace(table=table)

    def _full(self, w: FloatArray) -> FloatArray:
        """The node's coefficients with w at the active columns, shape (p,)."""
        full = self.node.w.copy()
        full[self.rows.columns] = w
        return full

    def value(self, z: FloatArray, w: FloatArray) -> float:
        """The mean loss at scores z, and a penalty of w that is not a sum."""
        value = float(self.rows.share @ self.rows.loss.value(z, self.rows.y))
        return value if self.omega is None else value + self.arrays.penalised(self._full(w))

    def cost(self, w: FloatArray, mu: float) -> tuple[float, float]:
        """(hulls at w, l0 and multiplier in them; the shares of terms used)."""
        if self.omega is None:
            cost, used = hull_cost(w, self.choices.inside, self.hulls)
            return cost, used
        # the penalty itself is part of the value: only terms are left, and hulls without a penalty
        # run straight to the ends of the range
        choices, at = self.choices, np.arange(len(w))
        ends = choices.points[at, np.where(w > 0.0, choices.hi, choices.lo)]
        paying = ~choices.inside & (w != 0.0)
        used = float((w[paying] / ends[paying]).sum())
        return (self.arrays.l0 + mu) * used, used

    def minimise(
        self, slopes: tuple[FloatArray, FloatArray], w: FloatArray, b: float, mu: float
    ) -> tuple[FloatArray, float, float]:
        """(w, b, multiplier) at the minimum of the second-order model around (w, b)."""
        X, unit, node = self.rows.X, self.arrays.unit, self.node
        u, h = slopes
        bent = X * h[:, None]
        gram, gradient = X.T @ bent, X.T @ u
        slope_b, bend_b = float(u.sum()) * unit, float(h.sum()) * unit * unit
        cross = bent.sum(axis=0) * unit
        new_b, moved = min(max(b, node.b_lo), node.b_hi), w.copy()
        rest = self.choices, self.hulls, self.arrays.l0, self.budget, mu
        if node.b_lo < node.b_hi and bend_b > 1e-12:
            # the best intercept is linear in w: b' = b - (slope_b + cross.d) / bend_b
            reduced = gram - np.outer(cross, cross) / bend_b
            free = solve_model(reduced, gradient - cross * (slope_b / bend_b), moved, *rest)
            new_b = b - (slope_b + float(cross @ (moved - w))) / bend_b
            if node.b_lo <= new_b <= node.b_hi:
                return moved, new_b, free
            moved, new_b = w.copy(), min(max(new_b, node.b_lo), node.b_hi)
        mu = solve_model(gram, gradient + cross * (new_b - b), moved, *rest)
        return moved, new_b, mu


class Omega:
    """Lines below a penalty that is not a sum, and |w| and w^2 terms that resemble it nearby."""

    def __init__(self, penalty: Any, most: FloatArray) -> None:
        self.penalty, self.most = penalty, most

    def line(self, w: FloatArray, slope: FloatArray) -> tuple[FloatArray, float]:
        """(s, c) with penalty(v) >= s.v + c for every v in the ranges, touching near w.

        Of the subgradients at w one is taken that nearly cancels ``slope``, the loss's gradient.
        """
        if hasattr(self.penalty, "prox"):
            step = 1.0 / (1.0 + float(np.abs(slope).max(initial=0.0)))
            moved = w - step * slope
            s = (moved - self.penalty.prox(moved, step)) / step
            s *= self.penalty.dual_scale(s)
            constant = -float(self.penalty.conjugate(s))
        else:
            s = np.asarray(self.penalty.subgradient(w), dtype=np.float64)
            constant = float(self.penalty.value(w) - s @ w)
        slack = _ROUNDING * float(np.abs(s) @ (self.most + np.abs(w)) + abs(constant))
        return s, constant - slack

    def nearby(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(weight, ridge) of sum_j weight_j |w_j| + ridge_j w_j^2 / 2, both of shape (p,)."""
        from milpscore.penalties import EYE

        if isinstance(self.penalty, EYE):
            return _eye_nearby(self.penalty, w)
        if hasattr(self.penalty, "nearby"):
            weight, ridge = self.penalty.nearby(w)
            return np.asarray(weight, dtype=np.float64), np.asarray(ridge, dtype=np.float64)
        s, _ = self.line(w, np.zeros(len(w)))
        return np.abs(s), np.zeros(len(w))


def _eye_nearby(penalty: Any, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a + sqrt(a^2 + b^2) linearised in a and in b^2; rounded off where both are small."""
    sparse = 1.0 - penalty.expert
    a = float(sparse @ np.abs(w))
    root = float(np.hypot(np.hypot(a, np.linalg.norm(penalty.expert * w)), 0.3))
    return penalty.lam * sparse * (1.0 + a / root), penalty.lam * penalty.expert**2 / root


_BEAM = 3
_CANDIDATES = 8
_MOVES = 60
_MOST_TRIED = 100_000
_MOST_MENDED = 500
_DESCENTS = 8

_DESCENT = 1e6
"""Row totals a descent from a mended card may compute."""

_PAIRS = 12
"""Supports of more features are not moved by steps of two coefficients: there are too many."""


class Best(NamedTuple):
    """A card and its objective; one tuple, so that an interrupt never leaves half of one."""

    objective: float = math.inf
    w: IntArray | None = None
    b: float = 0.0


class Cards:
    """The best allowed card so far, and the ways to better ones."""

    def __init__(self, arrays: Arrays, relaxation: Relaxation, root: Node) -> None:
        self.arrays, self.relaxation, self.root = arrays, relaxation, root
        self.best = Best()
        self.tried: set[bytes] = set()
        self.mended: set[bytes] = set()
        self.descents = 0
        self.deadline = Clock()

    def card(self, w: IntArray, b: float) -> Card:
        """Coefficients and intercept as a card, the intercept on its step."""
        return Card(w, self.arrays.statement.intercept.nearest(b))

    def allowed(self, w: IntArray, b: float) -> bool:
        """Whether a card of the tree meets the constraints as well."""
        statement = self.arrays.statement
        return not (statement.constraints and statement.violations(self.card(w, b)))

    def offer(self, w: IntArray, b: float) -> bool:
        """Take a card where it is better than the best and allowed; whether it is allowed."""
        objective = self.arrays.objective(w, b)
        if not self.allowed(w, b):
            return False
        if objective < self.best.objective:
            self.best = Best(objective, w.copy(), float(b))
        return True

    def mend(self, w: IntArray, b: float) -> None:
        """Offer an allowed card near one that was refused, and what a descent makes of it.

        A refused card no better than the best one is left: what is near it is seldom better.
        """
        statement = self.arrays.statement
        key = w.astype(np.int32).tobytes()
        if key in self.mended or len(self.mended) >= _MOST_MENDED:
            return
        self.mended.add(key)
        before = self.best.objective
        if self.arrays.objective(w, b) >= before:
            return
        near = repaired(statement, w)
        if near is None or not self.offer(near.coefficients, float(near.intercept)):
            return
        # descents end in different cards: the first ones are worth their time, later only the best
        if self.descents < _DESCENTS or self.best.objective < before:
            self.descents += 1
            better = coordinate_descent(statement, near, max_work=_DESCENT)
            self.offer(better.coefficients, float(better.intercept))

    def empty(self) -> None:
        """Offer the card without terms, where that is allowed."""
        self.polish(self.root, np.empty(0, np.int64))

    def start(self) -> None:
        """A beam search over supports, then swaps, each support's best weights rounded."""
        a = self.arrays
        must = tuple(int(j) for j in np.flatnonzero(self.root.status == IN))
        beam = [self.fitted(must)]
        best = beam[0]
        for _ in range(a.terms - len(must)):
            found: dict[tuple[int, ...], Node] = {}
            for node in beam:
                if self._late():
                    break
                for j in self._candidates(node):
                    support = tuple(sorted((*np.flatnonzero(node.status == IN).tolist(), j)))
                    if support not in found:
                        found[support] = self.fitted(support)
            if not found:
                break
            beam = sorted(found.values(), key=lambda node: node.primal)[:_BEAM]
            for node in beam:
                self.polish(node)
            if beam[0].primal >= best.primal - a.l0:
                break
            best = beam[0]
        self.polish(best)
        self._swap(best)

    def _swap(self, node: Node) -> None:
        """Exchange one feature for another while that helps."""
        for _ in range(2 * self.arrays.terms):
            support = np.flatnonzero(node.status == IN)
            free = support[self.arrays.zero[support] >= 0]
            found: list[Node] = []
            for j in free:
                if self._late():
                    return
                less = self.fitted(tuple(int(i) for i in support if i != j))
                found += [
                    self.fitted(tuple(sorted((*np.flatnonzero(less.status == IN).tolist(), i))))
                    for i in self._candidates(less)
                    if i != j
                ]
            if not found:
                return
            found.sort(key=lambda other: other.primal)
            for other in found[:_BEAM]:
                self.polish(other)
            if found[0].primal >= node.primal - 1e-12:
                return
            node = found[0]

    def _late(self) -> bool:
        """Whether the time for a first card is over."""
        return self.deadline.is_up

    def _candidates(self, node: Node) -> list[int]:
        """Features out of a fitted node whose slope over their spread is largest."""
        a = self.arrays
        eligible = (node.status == OUT) & (self.root.status != OUT) & (a.spread > 0)
        gain = np.where(eligible, np.abs(node.slope) / np.where(eligible, a.spread, 1.0), 0.0)
        order = np.argsort(-gain, kind="stable")[:_CANDIDATES]
        return [int(j) for j in order if gain[j] > 0]

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
        self.polish(node, support)

    def polish(self, node: Node, support: IntArray | None = None) -> None:
        """Round a node's weights on a support and improve them by steps of one and two choices."""
        a = self.arrays
        if support is None:
            support = np.flatnonzero(node.status == IN)
        key = support.astype(np.int32).tobytes()
        if key in self.tried:
            return
        if len(self.tried) < _MOST_TRIED:
            self.tried.add(key)
        if bool((np.delete(a.zero, support) < 0).any()):
            return  # a feature that cannot be 0 is missing
        at = _nearest(a, support, node.w)
        walk = _Walk(a, support)
        at, b, _ = walk.run(at, node.b)
        w = np.zeros(a.p, np.int64)
        w[support] = a.points[support, at].astype(np.int64)
        if not self.offer(w, b):
            self.mend(w, b)


class _Walk:
    """Integer moves of a few coefficients, the intercept following."""

    def __init__(self, arrays: Arrays, support: IntArray) -> None:
        self.arrays, self.support = arrays, support
        labels, first = arrays.merge(support)
        self.X = arrays.part(first, support)
        self.y = arrays.y[first]
        self.share = np.bincount(labels, weights=arrays.share, minlength=len(first))
        self.moves = _moves(len(support))

    def run(self, at: IntArray, b: float) -> tuple[IntArray, float, float]:
        """(positions of the choices, intercept, objective) no move improves."""
        hi = self.arrays.hi[self.support]
        b = self.arrays.snap(b)
        value = math.inf
        for _ in range(_MOVES):
            near = at + self.moves
            near = near[((near >= 0) & (near <= hi)).all(axis=1)]
            values, intercepts = self.evaluate(near, b)
            k = int(np.argmin(values))
            if not values[k] < value:
                break
            at, b, value = near[k], float(intercepts[k]), float(values[k])
        return at, b, value

    def evaluate(self, at: IntArray, b: float) -> tuple[FloatArray, FloatArray]:
        """Each card's objective at the best intercept near b: (objectives, intercepts)."""
        a = self.arrays
        w = a.points[self.support[None, :], at]
        totals = self.X @ w.T
        y = np.broadcast_to(self.y[:, None], totals.shape)
        if a.b_step is None:
            intercepts = self._follow(totals, y, b)[None, :]
        else:
            near = np.array([b, b - a.b_step, b + a.b_step])
            near = near[(near >= a.b_lower) & (near <= a.b_upper)]
            intercepts = np.repeat(near[:, None], len(w), axis=1)
        values = np.stack(
            [self.share @ a.loss.value(totals + row * a.unit, y) for row in intercepts]
        )
        values[~np.isfinite(values)] = np.inf
        best = np.argmin(values, axis=0)
        chosen = best, np.arange(len(w))
        return values[chosen] + self._priced(w), intercepts[chosen]

    def _priced(self, w: FloatArray) -> FloatArray:
        """Penalties and term costs of the cards."""
        a = self.arrays
        cost = a.l0 * np.count_nonzero(w, axis=1)
        if a.penalty is None:
            return np.asarray(cost, dtype=np.float64)
        full = np.zeros((len(w), a.p))
        full[:, self.support] = w
        return np.asarray(cost + np.array([a.penalised(row) for row in full]))

    def _follow(self, totals: FloatArray, y: FloatArray, b: float) -> FloatArray:
        """The best real intercepts, by Newton's method in a bracket."""
        a = self.arrays
        low, high = np.full(totals.shape[1], a.b_lower), np.full(totals.shape[1], a.b_upper)
        best = np.full(totals.shape[1], b)
        if a.b_lower == a.b_upper:
            return best
        for _ in range(60):
            z = totals + best * a.unit
            slope = (self.share @ a.loss.gradient(z, y)) * a.unit
            bend = (self.share @ a.loss.hessian(z, y)) * a.unit**2
            low, high = np.where(slope > 0, low, best), np.where(slope > 0, best, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = best - slope / bend
            inside = (moved > low) & (moved < high)
            new = np.where(inside, moved, 0.5 * (low + high))
            if np.all(np.abs(new - best) <= 1e-13 * (1.0 + np.abs(best))):
                break
            best = new
        return best


def best_intercept(arrays: Arrays, w: IntArray, b: float) -> float:
    """The best real intercept of a card, from ``b`` on."""
    support = np.flatnonzero(w)
    at = _nearest(arrays, support, w.astype(np.float64))
    _, intercepts = _Walk(arrays, support).evaluate(at[None, :], b)
    return float(intercepts[0])


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
    if 1 < m <= _PAIRS:
        first, second = np.triu_indices(m, 1)
        eye = np.eye(m, dtype=np.int64)
        rows += [s * eye[first] + t * eye[second] for s in (1, -1) for t in (1, -1)]
    return np.vstack(rows)
