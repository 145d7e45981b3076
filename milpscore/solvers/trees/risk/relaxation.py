"""A node and its relaxation: Newton steps on merged rows, each bounded by a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from milpscore.core.clock import Clock
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.statement import Reach
from milpscore.solvers.trees.risk.hulls import (
    Arrays,
    PointChoices,
    by_columns,
    hull_cost,
    new_hulls,
    solve_model,
)
from milpscore.solvers.trees.risk.limit_prices import ErrorLimits, PricedPatterns, score_ranges
from milpscore.solvers.trees.risk.policy import POLICY

IN, OPEN, OUT = 1, 0, -1
"""What a node's ``status`` says of a feature; one in may still have 0 points."""


@dataclass(slots=True, eq=False)
class Node:
    """Decisions, box, bound, and what the node's parts start from.

    The line says: every card (v, b) has loss + (a penalty that is not a sum) >= ``constant`` +
    (``s`` ``slope`` + ``fixed``).v + ``slope_b`` b at every slope s of at most ``s_hi`` as the line
    was drawn, and not only in this node (with ``prices`` in this node alone). It is linear in s:
    the least of it over some cards is concave, and over a range of slopes least at an end.
    """

    status: NDArray[np.int8]
    lo: IntArray  # positions among the choices
    hi: IntArray
    b_lo: float
    b_hi: float
    w: FloatArray
    b: float
    slope: FloatArray
    fixed: FloatArray | float = 0.0
    s: float = 1.0
    s_lo: float = 1.0
    s_hi: float = 1.0
    slope_b: float = 0.0
    constant: float = -math.inf
    bound: float = -math.inf
    primal: float = math.inf  # the relaxation's value at (w, b, s)
    mu: float = 0.0  # the multiplier of the limit on terms
    prices: FloatArray | None = None  # of limits on errors
    depth: int = 0

    @classmethod
    def root(cls, arrays: Arrays) -> Node:
        """Nothing decided but what the ranges decide, and no line yet."""
        status = np.where(arrays.zero < 0, IN, np.where(arrays.hi == 0, OUT, OPEN))
        s_lo, s_hi = arrays.slopes
        p, low, high = arrays.p, arrays.b_lower, arrays.b_upper
        return cls(
            status.astype(np.int8), np.zeros(p, np.int64), arrays.hi.copy(), low, high, np.zeros(p),
            min(max(0.0, low), high), np.zeros(p),
            s=min(max(1.0, s_lo), s_hi), s_lo=s_lo, s_hi=s_hi,
        )  # fmt: skip

    @property
    def sure(self) -> int:
        """How many features are in."""
        return int(np.count_nonzero(self.status == IN))

    def child(self) -> Node:
        """A copy to decide something more in; the line is shared, never written to."""
        return replace(
            self, status=self.status.copy(), lo=self.lo.copy(), hi=self.hi.copy(), w=self.w.copy()
        )

    def project(self, arrays: Arrays) -> None:
        """Move w, s and b into the box."""
        at = np.arange(arrays.p)
        np.clip(self.w, arrays.points[at, self.lo], arrays.points[at, self.hi], out=self.w)
        self.s = min(max(self.s, self.s_lo), self.s_hi)
        low, high = arrays.intercepts(self.s, self.b_lo, self.b_hi)
        self.b = min(max(self.b, low), high)

    def holds_zero(self, arrays: Arrays) -> bool:
        """Whether every column may be 0: the hull of steep cards then holds the gentler ones."""
        at = np.arange(arrays.p)
        lowest, highest = arrays.points[at, self.lo], arrays.points[at, self.hi]
        return bool((lowest <= 0.0).all() and (highest >= 0.0).all())

    def starts_steep(self, arrays: Arrays) -> bool:
        """Whether the first line is drawn at the steepest slope, which bounds all of them."""
        first = self.constant == -math.inf and self.prices is None
        return first and self.s_lo < self.s_hi and self.holds_zero(arrays)

    def narrow(self, arrays: Arrays) -> bool:
        """Drop choices that the others leave no room in sums; whether some are left of each."""
        if not arrays.sums:
            return True
        at = np.arange(arrays.p)
        lower, upper = (arrays.points[at, end].astype(np.int64) for end in (self.lo, self.hi))
        reach = Reach(lower, upper, np.zeros(arrays.p, np.bool_), arrays.p)
        for part in arrays.sums:
            reach = part.narrowed(reach)
        kept = (arrays.places >= self.lo) & (arrays.places <= self.hi)
        kept &= (arrays.values >= reach.lower) & (arrays.values <= reach.upper)
        if not kept.any(axis=0).all():
            return False
        self.lo, self.hi = kept.argmax(axis=0), len(kept) - 1 - kept[::-1].argmax(axis=0)
        free, zero = self.status == OPEN, arrays.zero
        self.status[free & ((self.lo > zero) | (self.hi < zero))] = IN
        self.status[free & (self.lo == zero) & (self.hi == zero)] = OUT
        return bool(self.sure <= arrays.terms)


class _Price(NamedTuple):
    """A line at one slope."""

    bound: float  # its least value
    cost: FloatArray  # of each choice
    least: FloatArray  # (p,): of each feature's cheapest choice
    counted: FloatArray  # what of it is counted in the bound
    next_: float  # the cheapest one not counted


def _narrow(node: Node, at_low: float, at_high: float, cutoff: float) -> bool:
    """Cut off slopes whose bounds, above the chord, rule out every card; whether that went far."""
    width = node.s_hi - node.s_lo
    if at_low == at_high:
        return False
    share = (max(at_low, at_high) - cutoff) / abs(at_low - at_high) * (1.0 - 1e-9)
    if not share > 0.0:
        return False
    if at_low > at_high:
        node.s_lo = min(node.s_lo + share * width, node.s_hi)
    else:
        node.s_hi = max(node.s_hi - share * width, node.s_lo)
    return share > 0.1 and node.s_lo < node.s_hi


def _cheapest(
    cost: FloatArray, zero: BoolArray, undecided: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return each feature's cheapest choice, and those of undecided ones ascending, at most 0."""
    # an undecided feature at 0 costs nothing; it is a term at its other choices
    least = np.where(zero, np.inf, cost).min(axis=0)
    return least, np.sort(np.minimum(least[undecided], 0.0))


def _either(first: Any, second: Any) -> Any:
    """What two ends of a range of slopes agree on: (out, in, kept by either)."""
    out = first[0] & second[0]
    return out, first[1] & second[1] & ~out, first[2] | second[2]


class Relaxation:
    """Solves nodes in place: raises ``bound``, moves ``w`` and ``b``, fixes and tightens."""

    def __init__(
        self, arrays: Arrays, clock: Clock | None = None, on_bound: Callable[[], None] | None = None
    ) -> None:
        self.arrays = arrays
        # a node left unsolved has a bound all the same, a lower one
        self.clock = Clock() if clock is None else clock
        self.omega = None if arrays.separable else Omega(arrays.penalty, arrays.most)
        self.wide = self.omega is None and arrays.p > POLICY.newton_columns
        self.limits = ErrorLimits(arrays)
        self.excess = np.zeros(len(self.limits))  # of the node solved last
        self.solved = 0
        # nanoseconds a node may take
        columns = POLICY.wide_columns if self.wide else min(arrays.p, POLICY.active_columns)
        self.each = POLICY.node_cost + POLICY.entry_cost * arrays.X.size * columns
        # called as a long solve raises a bound
        slow = self.wide or self.each > POLICY.first_turn
        self.on_bound = on_bound if on_bound and slow else lambda: None
        self._least = np.empty(arrays.p)  # of each feature: what it adds to the line at least

    def solve(self, node: Node, cutoff: float) -> bool:
        """Whether the node stays open: False as soon as its bound passes ``cutoff``."""
        if not self.tighten(node, cutoff):
            return False
        self.solved += 1
        node.project(self.arrays)
        active = (node.status == IN) | ((node.w != 0.0) & (node.status == OPEN))
        # steep scores use almost all columns
        active |= node.starts_steep(self.arrays)
        active &= node.status != OUT
        patterns = None
        if node.prices is not None:
            columns = np.flatnonzero(node.status != OUT)
            patterns = PricedPatterns(self.arrays, self.limits, node.prices, columns)
            patterns.bound_scores(*score_ranges(self.arrays, node, patterns))
        columns, rows, tolerance = active.copy(), None, POLICY.least_gain
        for _ in range(POLICY.rounds):
            if rows is None or (columns != active).any():
                columns = active.copy()
                rows = _ActiveRows(self.arrays, np.flatnonzero(active), patterns)
            before = node.bound
            self._descend(node, rows, cutoff, tolerance)
            self._draw_line(node, rows, node.status != OUT)
            if not self.tighten(node, cutoff):
                return False
            self.on_bound()
            if self.clock.is_up or not self._extend(node, active, cutoff):
                break
            if (columns == active).all():
                # the line misses the value by how far the point is from the minimum
                if tolerance < POLICY.least_gain and node.bound - before < 0.1 * (
                    node.primal - before
                ):
                    break
                tolerance *= 0.01
        if rows is not None and not self._temper(node, rows, cutoff):
            return False
        if patterns is not None and node.prices is not None and rows is not None:
            # dearer for the node's parts where more is wrong than allowed, else cheaper
            self.excess = patterns.excess(rows.z)
            node.prices = node.prices * np.where(
                self.excess > 0.0, POLICY.price_factor, 1.0 / POLICY.price_factor
            )
        return True

    def _temper(self, node: Node, rows: _ActiveRows, cutoff: float) -> bool:
        """Draw gentler lines where a value, but no line, is above the cutoff; False once closed."""
        # Scores of steep slopes lie far from 0, where Newton's steps have no curvature to go by. A
        # line holds at every slope, and rises with it beyond the best one; one with prices of
        # limits on errors holds for the node's scores alone.
        a, gentler = self.arrays, node.child()
        if not a.scaled or node.primal < cutoff or node.prices is not None:
            return True
        for tempered in range(POLICY.temperings):
            s = max(node.s_lo / POLICY.gentler**tempered, a.slopes[0])
            if tempered and s == gentler.s:
                break
            gentler.s = gentler.s_lo = gentler.s_hi = s
            totals = rows.X @ gentler.w[rows.columns]
            gentler.b = float(a.lines(totals[:, None], rows.rows, (s, s)).intercepts[0])
            gentler.project(a)
            self._descend(gentler, rows, cutoff)
            self._draw_line(node, rows, node.status != OUT)
            if not self.tighten(node, cutoff):
                return False
        return True

    def priced(self, node: Node, cutoff: float, clock: Clock) -> Node:
        """Return the node as the best prices of limits on errors bound it, one after the other."""
        # the bound is concave in a price, and rises with it while more is wrong than is allowed; a
        # limit that is never broken has none: nodes at a price take longer
        best, share = node, self.arrays.share
        for limit, paid in enumerate(self.limits.paid):
            cost = np.abs(paid)
            low, high, most = 0.0, math.inf, float(cost.max(initial=0.0))
            without = best
            price = float(share[cost > 0.0].mean()) / most if most else 0.0
            for _ in range(POLICY.price_trials if most else 0):
                if clock.is_up or best.bound >= cutoff:
                    return best
                tried = node.child()
                kept = np.zeros(len(self.limits)) if best.prices is None else best.prices.copy()
                kept[limit] = price
                tried.prices = kept
                if not self.solve(tried, cutoff):
                    return tried
                if tried.bound > best.bound:
                    best, tried.prices = tried, kept
                if self.excess[limit] > 0.0:
                    low = price
                else:
                    high = price
                ends = high < math.inf, low > 0.0
                price = math.sqrt(low * high) if all(ends) else price * (0.5 if ends[0] else 2.0)
            best = best if low > 0.0 else without
        return best

    def fit(self, node: Node) -> None:
        """Solve a node whose features are all decided, and draw its line over every feature."""
        node.project(self.arrays)
        rows = _ActiveRows(self.arrays, np.flatnonzero(node.status == IN))
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
            undecided = node.status == OPEN
            zero = a.is_zero & undecided
            # concave in the slope: a range of slopes is bounded by its ends
            ends = (node.s_lo,) if node.s_lo == node.s_hi else (node.s_lo, node.s_hi)
            prices = [self._price(node, s, free, zero) for s in ends]
            bound = min(price.bound for price in prices)
            if not math.isfinite(bound):
                return True
            # no loss is negative: beside a loss of almost 0 a line's rounding counts
            node.bound = max(node.bound, bound, self._charged(node))
            if node.bound >= cutoff:
                return False
            narrower = len(ends) > 1 and _narrow(node, prices[0].bound, prices[1].bound, cutoff)
            answers = [self._told(price, undecided, zero, cutoff) for price in prices]
            out, enters, kept = answers[0] if len(answers) == 1 else _either(*answers)
            node.status[out], node.status[enters] = OUT, IN
            lo, hi = kept.argmax(axis=0), len(a.places) - 1 - kept[::-1].argmax(axis=0)
            fixed = node.status == OUT
            lo[fixed], hi[fixed] = a.zero[fixed], a.zero[fixed]
            changed = bool((out | enters | (lo != node.lo) | (hi != node.hi)).any())
            node.lo, node.hi = lo, hi
            if not a.scaled:
                self._tighten_intercept(node, (cutoff - bound) * (1.0 + 1e-9))
            if not changed and not narrower:
                return True
            if node.sure > a.terms:
                # more features than allowed must be in: nothing here beats the cutoff
                node.bound = max(node.bound, cutoff)
                return False

    def _price(self, node: Node, s: float, free: int, zero: BoolArray) -> _Price:
        """What the node's line says at one slope: of all its cards, and of each choice."""
        a, inside, undecided = self.arrays, node.status == IN, node.status == OPEN
        allowed = (a.places >= node.lo) & (a.places <= node.hi)
        slope = node.slope if s == 1.0 else s * node.slope
        cost = np.where(allowed, (slope + node.fixed) * a.values + a.charges, np.inf)
        # at best the `free` cheapest undecided features become terms: the `last` of them
        # counts (0 where a place stays free), and `next_` would take a place that gets free
        least, cheapest = _cheapest(cost, zero, undecided)
        last = float(cheapest[free - 1]) if 0 < free <= len(cheapest) else 0.0
        next_ = float(cheapest[free]) if 0 < free < len(cheapest) else 0.0
        low, high = a.intercepts(s, node.b_lo, node.b_hi)
        terms = float(least[inside].sum()) + float(cheapest[: max(free, 0)].sum())
        bound = node.constant + min(node.slope_b * low, node.slope_b * high) + terms
        self._least = least
        counted = np.where(inside, least, np.minimum(least, last))
        return _Price(bound, cost, least, counted, next_)

    def _charged(self, node: Node) -> float:
        """Return the least penalty of the features that are in."""
        a = self.arrays
        allowed = (a.places >= node.lo) & (a.places <= node.hi)
        least = np.where(allowed & ~a.is_zero, a.charges, np.inf).min(axis=0)
        return float(least[node.status == IN].sum())

    def _told(self, price: _Price, undecided: BoolArray, zero: BoolArray, cutoff: float) -> Any:
        """(features out, features in, choices kept) by what a line says at one slope."""
        room = (cutoff - price.bound) * (1.0 + 1e-9)
        if price.bound >= cutoff:
            nothing = np.zeros_like(price.cost, np.bool_)
            return undecided, undecided, nothing
        least, counted = price.least, price.counted
        out = undecided & (least - counted >= room)
        enters = undecided & ~out & (least <= counted) & (min(price.next_, 0.0) - least >= room)
        return out, enters, (price.cost - counted < room) & ~out | zero & ~enters

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

    def _descend(
        self, node: Node, rows: _ActiveRows, cutoff: float, tolerance: float = POLICY.least_gain
    ) -> None:
        """Newton steps on the rows merged by the active columns."""
        a, columns = self.arrays, rows.columns
        if self.wide and len(columns) > POLICY.newton_columns and rows.patterns is None:
            self._descend_by_gradients(node, rows, cutoff)
            return
        held = node
        if node.starts_steep(a):
            held = node.child()
            held.s = held.s_lo = node.s_hi
        model = _Model(self, held, rows)
        w, b, s, mu = held.w[columns].copy(), held.b, held.s, held.mu
        z = rows.scores(w, b, s)
        value = model.value(z, w)
        careful = False
        for _ in range(POLICY.newton_steps):
            if not math.isfinite(value) or self.clock.is_up:
                break
            new_w, new_b, new_s, mu = model.minimise(rows.slopes(z, careful), w, b, s, mu)
            here = model.cost(w, mu)[0] + value
            t = 1.0
            for _ in range(POLICY.backtracks):
                try_w, try_b = w + t * (new_w - w), b + t * (new_b - b)
                try_s = s + t * (new_s - s)
                try_z = rows.scores(try_w, try_b, try_s)
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
            w, b, s, z, value = try_w, try_b, try_s, try_z, try_value
            # what the multiplier charges beyond the terms themselves is not part of the objective
            node.primal = value + cost - mu * used + a.l0 * node.sure
            room = min(abs(cutoff - node.primal), 0.01 * abs(node.primal))
            if gain <= max(1e-14, tolerance * room):
                break
            model.move(w)
        node.w[columns], node.b, node.s, node.mu = w, b, s, mu
        rows.z = z

    def _descend_by_gradients(self, node: Node, rows: _ActiveRows, cutoff: float) -> None:
        """Accelerated proximal gradient steps at the node's steepest slope, or the best one."""
        # Beck & Teboulle, "A fast iterative shrinkage-thresholding algorithm" (2009)
        a, columns, held, w = self.arrays, rows.columns, node.child(), node.w[rows.columns]
        s, b = self._one_slope(node, rows, rows.X @ w)
        held.s = held.s_lo = held.s_hi = s
        model, mu, momentum = _Model(self, held, rows), node.mu, 1.0
        bend = POLICY.first_bend * s * s
        # single precision is enough to find the place of a line, of columns about their means
        middle = rows.X.mean(axis=0)
        X = by_columns(rows.X, np.float32, middle)
        # the loss bends along a column as far as its values vary
        spread = np.square(a.spread[columns])
        shares = np.maximum(spread / max(float(spread.mean()), 1e-300), POLICY.least_spread)
        low, high = a.intercepts(s, node.b_lo, node.b_hi)
        rows.z = rows.scores(w, b, s)
        totals = rows.X @ w - float(middle @ w)
        ahead, ahead_totals = w, totals
        for count in range(POLICY.gradient_steps):
            if self.clock.is_up:
                break
            # 1) The loss and its gradient at the point ahead, with a better intercept there.
            z = s * (ahead_totals + float(middle @ ahead)) + b * a.unit
            b, z = rows.intercept(b, z, low, high)
            value, u = rows.value(z), rows.rows.pull(z)
            # an intercept that is held does not make up for the columns' means
            means = np.zeros_like(middle) if low < b < high else middle
            gradient = s * ((u.astype(np.float32) @ X).astype(np.float64) + means * u.sum())
            # 2) End once the line there bounds well enough what these columns leave.
            looks = count % POLICY.gradient_looks == POLICY.gradient_looks - 1
            if looks and _is_near(node, model, (ahead, value, gradient, mu), cutoff):
                w = ahead
                break
            # 3) Step as far as the loss bends no more than the model; at its precision, end.
            for _ in range(POLICY.backtracks):
                new, weights = ahead.copy(), bend * shares
                rest = model.choices, model.hulls, a.l0, model.budget, mu
                mu = solve_model(weights, gradient.copy(), new, *rest)
                step, new_totals = new - ahead, (X @ new.astype(np.float32)).astype(np.float64)
                most = value + gradient @ step + 0.5 * (weights @ (step * step)) + 1e-6 * abs(value)
                away = new_totals - ahead_totals + float(means @ step)
                if fits := bool(rows.value(z + s * away) <= most):
                    break
                bend *= 2.0
            if not fits:
                break
            bend *= POLICY.unbend
            # 4) Look ahead, unless that leads back.
            back = float((ahead - new) @ (shares * (new - w))) > 0.0
            later = 1.0 if back else 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
            share = 0.0 if back else (momentum - 1.0) / later
            before, ahead = ahead, new + share * (new - w)
            ahead_totals = new_totals + share * (new_totals - totals)
            b -= s * float((middle - means) @ (ahead - before)) / a.unit
            w, totals, momentum = new, new_totals, later
        if count == 0:
            return
        line = a.lines((rows.X @ w)[:, None], rows.rows, (s, s))
        node.w[columns], node.s, node.b, node.mu = w, s, float(line.intercepts[0]) / a.unit, mu
        rows.z = rows.scores(w, node.b, s)
        node.primal = model.primal(rows.value(rows.z), w, mu)

    def _one_slope(self, node: Node, rows: _ActiveRows, totals: FloatArray) -> tuple[float, float]:
        """Return the slope, and an intercept, at which a node's line is drawn."""
        # a line drawn at the steepest slope bounds the gentler ones, too; elsewhere the best one
        a = self.arrays
        if node.holds_zero(a):
            return node.s_hi, node.b
        line = a.lines(totals[:, None], rows.rows, (node.s_lo, node.s_hi))
        return float(line.slopes[0]), float(line.intercepts[0]) / a.unit

    def _draw_line(self, node: Node, rows: _ActiveRows, wanted: BoolArray) -> None:
        """The loss's tangent at the node's point over the wanted features, less its rounding."""
        a = self.arrays
        values, u, z, slope = rows.lines()
        sizes = float(np.abs(values).sum()), rows.size(z, u)
        most = float(np.abs(z).max()) + a.reach
        if a.scaled:
            most += 2.0 * node.s_hi * a.reach + abs(a.offset)
        slack = a.gamma * (sizes[0] + sizes[1] * most) + a.table_slack
        # loss(z') >= loss(z) + u (z' - z), and z' = (v.x + b') / scale
        constant = float(values.sum() - u @ z) - float(slack)
        if rows.patterns is not None:
            constant -= rows.patterns.granted * (1.0 + a.gamma)
        slope = np.where(wanted, slope, 0.0)
        if self.omega is not None:
            s, offset = self.omega.line(node.w, node.s * slope if a.scaled else slope)
            constant += offset
            if not a.scaled:
                slope += s
        if math.isfinite(constant) and np.isfinite(slope).all():
            node.constant, node.slope = constant, slope
            if a.scaled and self.omega is not None:
                node.fixed = s
            node.slope_b = float(u.sum()) * a.unit

    def _extend(self, node: Node, active: BoolArray, cutoff: float) -> bool:
        """Take in the undecided columns that violate the multiplier most; False where done."""
        fixed = active & (node.status == OUT)
        active[fixed] = False
        moved = bool(node.w[fixed].any())
        node.project(self.arrays)
        missed = node.primal - node.bound
        easy = node.primal < cutoff and missed <= POLICY.good_enough * (cutoff - node.bound)
        if easy and not moved:
            return False
        # a column at 0 stays there while its cheapest choice costs more than the multiplier gives
        if node.s_lo < node.s_hi:
            zero = self.arrays.is_zero & (node.status == OPEN)
            self._price(node, node.s, self.arrays.terms - node.sure, zero)
        short = np.where((node.status == OPEN) & ~active, self._least + node.mu, 0.0)
        more = max(POLICY.columns_added, int(np.count_nonzero(active)))
        if self.wide and node.prices is None and more > POLICY.newton_columns:
            more = len(active)
        worst = np.argsort(short, kind="stable")[:more]
        worst = worst[short[worst] < -1e-9 - 1e-3 * node.mu]
        active[worst] = True
        active |= node.status == IN
        return (
            bool(len(worst))
            or moved
            or missed > max(1e-9, POLICY.good_enough * abs(cutoff - node.bound))
        )


_Slopes: TypeAlias = tuple[FloatArray, FloatArray, FloatArray | None]
"""First derivatives by row; second ones, diag(h) - C C' or diag(h) alone."""


def _is_near(
    node: Node, model: _Model, at: tuple[FloatArray, float, FloatArray, float], cutoff: float
) -> bool:
    """Return whether a line at (w, loss, gradient, multiplier) bounds the model well enough."""
    w, value, gradient, mu = at
    here = model.primal(value, w, mu)
    missed = here - value - model.least_of(gradient) + float(gradient @ w)
    bound = max(here - missed, node.bound, 0.0)
    enough = 0.5 * POLICY.good_enough * min(cutoff - bound, here)
    if not node.bound > 0.0:
        enough = POLICY.rough_share * here
    return bool(bound >= cutoff or missed <= enough)


class _ActiveRows:
    """Rows merged by the active columns and y."""

    def __init__(
        self, arrays: Arrays, columns: IntArray, patterns: PricedPatterns | None = None
    ) -> None:
        self.arrays, self.columns, self.patterns = arrays, columns, patterns
        self.labels, first = (
            arrays.merge(columns) if patterns is None else (patterns.labels, patterns.first)
        )
        self.X = arrays.part(first, columns)
        self.first, self.unit = first, arrays.unit
        self.rows = arrays.rows.merged(self.labels, first)
        self.z = np.zeros(len(first))

    def value(self, z: FloatArray) -> float:
        """The mean loss, of patterns with what limits on errors cost."""
        if self.patterns is not None:
            return self.patterns.value(z)
        return float(self.rows.mean(z))

    def lines(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """At the scores: lines' values, slopes, and scores of each row; slopes by column."""
        a, z = self.arrays, self.z
        if self.patterns is not None:
            values, u, z = self.patterns.line(z)
            each = np.zeros(a.n)
            each[self.first] = u  # alike in all columns that are not out
            return values, u, z, a.column_sums(each)
        values = self.rows.terms(z)
        if not np.isfinite(values).all():
            # any score gives a line below a row's loss, so one where it is finite is as good
            z = np.clip(z, -POLICY.far_score, POLICY.far_score)
            values = self.rows.terms(z)
        u = self.rows.pull(z)
        return values, u, z, a.column_sums(a.rows.at_rows(self.rows, z, self.labels))

    def size(self, z: FloatArray, u: FloatArray) -> float:
        """The sum of the sizes of what a line's slopes are computed from."""
        return self.rows.size(z) if self.patterns is None else float(np.abs(u).sum())

    def scores(self, w: FloatArray, b: float, s: float) -> FloatArray:
        """The rows' scores."""
        z: FloatArray = self.X @ w
        if s != 1.0:
            z *= s
        z += b * self.unit
        return z

    def intercept(
        self, b: float, z: FloatArray, low: float, high: float
    ) -> tuple[float, FloatArray]:
        """Return (intercept, scores) after a Newton step that moves no score farther than 1."""
        step = float(self.rows.pull(z).sum()) / max(float(self.rows.bend(z)[0].sum()), 1e-12)
        moved = min(max(b - min(max(step, -1.0), 1.0) / self.unit, low), high)
        return moved, z + (moved - b) * self.unit

    def slopes(self, z: FloatArray, careful: bool) -> _Slopes:
        """First and second derivatives times the weights; ``careful``: the largest second one."""
        if self.patterns is not None:
            return *self.patterns.slopes(z), None
        u = self.rows.pull(z)
        if careful:
            share = self.arrays.share_of(self.labels)
            return u, np.asarray(share * self.arrays.loss.curvature), None
        return u, *self.rows.bend(z)


class _Model:
    """The relaxation of a node on its active columns: values, costs, second-order steps."""

    def __init__(self, relaxation: Relaxation, node: Node, rows: _ActiveRows) -> None:
        a, columns = relaxation.arrays, rows.columns
        self.arrays, self.omega, self.node, self.rows = a, relaxation.omega, node, rows
        self.budget = float(a.terms - node.sure)
        self.choices = PointChoices(
            a.points[columns], a.table[columns], node.lo[columns], node.hi[columns],
            a.zero[columns], node.status[columns] == IN,
        )  # fmt: skip
        self.free_slope = node.s_lo < node.s_hi
        if self.free_slope:
            self.choices = _with_slope(self.choices, node.s_lo, node.s_hi)
        self.hulls = new_hulls(*self.choices.points.shape)
        self.move(node.w[columns])

    def move(self, w: FloatArray) -> None:
        """Charge what a penalty that is not a sum charges near w."""
        if self.omega is not None:
            weight, ridge = (
                each[self.rows.columns, None] for each in self.omega.nearby(self._full(w))
            )
            points = self.choices.points[: len(w)]
            table = weight * np.abs(points) + 0.5 * ridge * points * points
            if self.free_slope:
                table = np.vstack([table, np.zeros((1, table.shape[1]))])
            self.choices = self.choices._replace(table=table)

    def _full(self, w: FloatArray) -> FloatArray:
        """The node's coefficients with w at the active columns, shape (p,)."""
        full = self.node.w.copy()
        full[self.rows.columns] = w
        return full

    def value(self, z: FloatArray, w: FloatArray) -> float:
        """The mean loss at scores z, and a penalty of w that is not a sum."""
        value = self.rows.value(z)
        return value if self.omega is None else value + self.arrays.penalised(self._full(w))

    def cost(self, w: FloatArray, mu: float) -> tuple[float, float]:
        """(hulls at w, l0 and multiplier in them; the shares of terms used)."""
        if self.omega is None:
            cost, used = hull_cost(w, self.choices.inside, self.hulls)
            return cost, used
        # the penalty itself is part of the value: only terms are left, and hulls without a penalty
        # run straight to the ends of the range
        choices, m = self.choices, len(w)  # a free slope is one more row of the choices
        ends = choices.points[np.arange(m), np.where(w > 0.0, choices.hi[:m], choices.lo[:m])]
        paying = ~choices.inside[:m] & (w != 0.0)
        used = float((w[paying] / ends[paying]).sum())
        return (self.arrays.l0 + mu) * used, used

    def primal(self, value: float, w: FloatArray, mu: float) -> float:
        """Return the relaxation's value at w of this loss, without what the multiplier charges."""
        cost, used = self.cost(w, mu)
        return value + cost - mu * used + self.arrays.l0 * self.node.sure

    def least_of(self, gradient: FloatArray) -> float:
        """Return the least of a linear loss and the penalties over all cards of these columns."""
        a, node, at, inside = self.arrays, self.node, self.rows.columns, self.choices.inside
        allowed = (a.places >= node.lo[at]) & (a.places <= node.hi[at])
        cost = np.where(allowed, gradient * a.values[:, at] + a.charges[:, at], np.inf)
        least, cheapest = _cheapest(cost, a.is_zero[:, at] & ~inside, ~inside)
        return float(least[inside].sum() + cheapest[: int(self.budget)].sum())

    def minimise(
        self, slopes: _Slopes, w: FloatArray, b: float, s: float, mu: float
    ) -> tuple[FloatArray, float, float, float]:
        """Return (w, b, slope, multiplier) at the least of the second-order model at (w, b, s)."""
        # a free slope is one more coefficient: the scores s X w + b are linear in it at the given w
        X, unit, node, m = self.rows.X, self.arrays.unit, self.node, len(w)
        u, h, shared = slopes
        bent = X * np.sqrt(h)[:, None]
        gram, gradient = bent.T @ bent, X.T @ u  # BLAS computes half of a matrix times its own
        if shared is not None:  # what rows of one baseline have in common
            common = X.T @ shared
            gram -= common @ common.T
        slope_b, bend_b = float(u.sum()) * unit, float(h.sum()) * unit * unit
        cross = (h @ X) * unit
        if self.arrays.scaled:
            gram, gradient, cross = s * s * gram, s * gradient, s * cross
        if self.free_slope:
            gram, gradient, cross = _bordered(gram, gradient, cross, w, s)
            w = np.append(w, s)
        low, high = self.arrays.intercepts(s, node.b_lo, node.b_hi)
        new_b, moved = min(max(b, low), high), w.copy()
        rest = self.choices, self.hulls, self.arrays.l0, self.budget, mu
        if low < high and bend_b > 1e-12:
            # the best intercept is linear in w: b' = b - (slope_b + cross.d) / bend_b
            reduced = gram - np.outer(cross, cross) / bend_b
            free = solve_model(reduced, gradient - cross * (slope_b / bend_b), moved, *rest)
            new_b = b - (slope_b + float(cross @ (moved - w))) / bend_b
            if low <= new_b <= high:
                return moved[:m], new_b, float(moved[m]) if self.free_slope else s, free
            moved, new_b = w.copy(), min(max(new_b, low), high)
        mu = solve_model(gram, gradient + cross * (new_b - b), moved, *rest)
        return moved[:m], new_b, float(moved[m]) if self.free_slope else s, mu


def _bordered(
    gram: FloatArray, gradient: FloatArray, cross: FloatArray, w: FloatArray, s: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the second-order model with the slope as one more coefficient, of the column X w."""
    t, m = w / s, len(w)
    wide = np.empty((m + 1, m + 1))
    wide[:m, :m] = gram
    wide[m, :m] = wide[:m, m] = gram @ t
    wide[m, m] = t @ wide[m, :m]
    return wide, np.append(gradient, gradient @ t), np.append(cross, cross @ t)


def _with_slope(choices: PointChoices, low: float, high: float) -> PointChoices:
    """The choices with the slope as one more coefficient, of no cost, between two points."""
    m, width = choices.points.shape
    points, table = np.zeros((m + 1, max(width, 2))), np.zeros((m + 1, max(width, 2)))
    points[:m, :width], table[:m, :width] = choices.points, choices.table
    points[m, :2] = low, high
    lo, hi, zero = (np.append(each, k) for each, k in zip(choices[2:5], (0, 1, -1), strict=True))
    return PointChoices(points, table, lo, hi, zero, np.append(choices.inside, True))


class Omega:
    """Lines below a penalty that is not a sum, and |w| and w^2 terms that resemble it nearby."""

    def __init__(self, penalty: Any, most: FloatArray) -> None:
        self.penalty, self.most = penalty, most

    def line(self, w: FloatArray, slope: FloatArray) -> tuple[FloatArray, float]:
        """Return (s, c) with penalty(v) >= s.v + c in the ranges, s nearly cancelling ``slope``."""
        step = 1.0 / (1.0 + float(np.abs(slope).max(initial=0.0)))
        moved = w - step * slope
        s: FloatArray = (moved - self.penalty.prox(moved, step)) / step
        s *= self.penalty.dual_scale(s)
        constant = -float(self.penalty.conjugate(s))
        slack = POLICY.conjugate_slack * float(np.abs(s) @ (self.most + np.abs(w)) + abs(constant))
        return s, constant - slack

    def nearby(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(weight, ridge) of sum_j weight_j |w_j| + ridge_j w_j^2 / 2, both of shape (p,)."""
        if hasattr(self.penalty, "nearby"):
            weight, ridge = self.penalty.nearby(w)
            return np.asarray(weight, dtype=np.float64), np.asarray(ridge, dtype=np.float64)
        s, _ = self.line(w, np.zeros(len(w)))
        return np.abs(s), np.zeros(len(w))
