"""Limits on errors under a support: the least loss where each cell of rows lies on a known side.

A support parts the rows into cells, and within limits on errors only some choices of the cells at
or above a score of 0 are left. With sides decided the rest is convex: least loss subject to z >= 0
or z <= 0 for each decided cell. Cells are decided one after the other, where the least loss so far
breaks a limit: each either changes its side or spends of what is allowed, and what is left to
spend decides others. Coefficients are real multiples of points in a box, v = s w, so that a box
holds for every slope.

Bounds are those of Lagrange's dual: for any multipliers >= 0 and any point, the loss less what the
multipliers charge falls from there nowhere faster than its gradient says. Multipliers come from the
method of augmented Lagrangians.

References
----------
Hestenes, "Multiplier and gradient methods" (1969); Rockafellar, "A dual approach to solving
nonlinear programming problems by unconstrained optimization" (1973): the method.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, inner
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.limit_prices import ErrorLimits
from milpscore.solvers.trees.risk.policy import POLICY
from milpscore.solvers.trees.risk.relaxation import OUT, Node
from milpscore.solvers.trees.shared.cell_counts import KINDS, at_score, put, solve

MOST_CELLS = 512
_MOST_NODES = 400
"""Choices of sides that are solved for one node of the tree."""


_OUTER, _NEWTON, _HALVINGS = 5, 20, 30
_STIFF, _STIFFER = 1.0, 8.0
"""What a score on the wrong side costs by its square, and how much more each time."""

_ON = 1e-7
"""A score so near 0 lies on either side."""

_EPS = float(np.finfo(np.float64).eps)


class Cells(NamedTuple):
    """The rows of a support by its columns: m distinct ones, X (m, q).

    ``positive`` and ``negative`` (m,) are their weights, ``cost`` (2, L, m) what a cell costs each
    limit where it is answered negative, and positive; ``allowed`` (L,).
    """

    X: FloatArray
    positive: FloatArray
    negative: FloatArray
    cost: FloatArray
    allowed: FloatArray


class PointBox(NamedTuple):
    """Points ``lo`` to ``hi`` (q,); ends (k,) of the variables, coefficients, slope, intercept.

    No score lies farther from 0 than ``reach``; ``gamma`` is the rounding of sums.
    """

    lo: FloatArray
    hi: FloatArray
    low: FloatArray
    high: FloatArray
    reach: float
    gamma: float


class Sides:
    """Bounds of nodes that leave few columns, by the sides of their cells."""

    def __init__(self, arrays: Arrays, limits: ErrorLimits) -> None:
        self.arrays, self.limits = arrays, limits
        self.kind = KINDS.get(type(arrays.loss), -1)
        self._cells: dict[bytes, Cells | None] = {}
        far = arrays.reach + max(abs(arrays.b_lower), abs(arrays.b_upper)) * arrays.unit
        self.reach = abs(arrays.offset) + 2.0 * arrays.slopes[1] * far
        self.known = bool(len(limits)) and self.kind >= 0

    def applies_to(self, node: Node) -> bool:
        """Whether the node leaves few enough columns."""
        return (
            self.known
            and int(np.count_nonzero(node.status != OUT))
            <= POLICY.sided_columns * self.arrays.terms
        )

    def cells(self, columns: IntArray) -> Cells | None:
        """The rows by these columns; None where they are too many."""
        key = columns.tobytes()
        if key not in self._cells:
            if len(self._cells) >= POLICY.sided_supports:
                self._cells.clear()
            self._cells[key] = self._part(columns)
        return self._cells[key]

    def _part(self, columns: IntArray) -> Cells | None:
        a, limits = self.arrays, self.limits
        labels, first = a.merge(columns, by_class=False)
        m = len(first)
        if m > MOST_CELLS:
            return None

        def sums(values: FloatArray, some: Any) -> FloatArray:
            return np.bincount(labels[some], values[some], m).astype(np.float64)

        sides = limits.positive, ~limits.positive
        cost = np.array([[sums(each, some) for each in limits.cost] for some in sides])
        return Cells(
            a.part(first, columns),
            sums(a.share, a.y > 0),
            sums(a.share, ~(a.y > 0)),
            cost.reshape(2, len(limits), m),
            limits.allowed,
        )

    def bound(self, node: Node, cutoff: float) -> bool | None:
        """Raise a node's bound: whether it stays open; None where nothing is said."""
        a = self.arrays
        columns = np.flatnonzero(node.status != OUT)
        cells = self.cells(columns) if self.applies_to(node) else None
        if cells is None:
            return None
        box, charge = self._box(node, columns), self._charge(node, columns)
        u = np.append(node.s * node.w[columns], [node.s, node.b * a.unit])
        if not np.isfinite(u).all():
            u[:] = 0.0
        np.clip(u, box.low, box.high, out=u)
        value, _, ended = least_sided(self.kind, cells, box, u, cutoff - charge, _MOST_NODES)
        node.bound = max(node.bound, value + charge)
        if node.bound >= cutoff:
            return False
        node.s = _least_slope(u, box)
        node.w[:] = 0.0
        if node.s > 0.0:
            node.w[columns] = u[:-2] / node.s
        node.b, node.primal = float(u[-1]) / a.unit, node.bound
        node.project(a)
        return True if ended and len(columns) <= a.terms else None

    def _box(self, node: Node, columns: IntArray) -> PointBox:
        """What the node leaves to the coefficients."""
        a, q = self.arrays, len(columns)
        lo, hi = a.points[columns, node.lo[columns]], a.points[columns, node.hi[columns]]
        low, high = np.empty(q + 2), np.empty(q + 2)
        low[:q] = np.minimum(lo * node.s_lo, lo * node.s_hi)
        high[:q] = np.maximum(hi * node.s_lo, hi * node.s_hi)
        low[q], high[q] = node.s_lo, node.s_hi
        low[q + 1], high[q + 1] = -self.reach, self.reach
        if not a.scaled:
            low[q + 1], high[q + 1] = node.b_lo * a.unit, node.b_hi * a.unit
        elif a.statement.intercept.kind == "zero":
            low[q + 1] = high[q + 1] = 0.0
        return PointBox(lo, hi, low, high, self.reach, 4.0 * (a.n + MOST_CELLS) * _EPS)

    def _charge(self, node: Node, columns: IntArray) -> float:
        """The least that penalties of coefficients and of terms charge."""
        a = self.arrays
        allowed = (a.places >= node.lo) & (a.places <= node.hi)
        cost = np.where(allowed, np.where(a.is_zero, a.charges - a.l0, a.charges), np.inf)
        least = cost[:, columns].min(axis=0).sum()
        return float(least - a.table_slack)


def _least_slope(u: FloatArray, box: PointBox) -> float:
    """The least slope at which coefficients keep to the points' range: points are largest there."""
    q = len(box.lo)
    ends = np.where(u[:q] > 0.0, box.hi, box.lo)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(u[:q] * ends > 0.0, u[:q] / ends, 0.0)
    return float(min(max(least.max(initial=0.0), box.low[q]), box.high[q]))


@inner
def look(kind: int, cells: Any, box: Any, sides: Any, held: Any, stiff: float, u: Any, g: Any,
         bend: Any) -> Any:  # fmt: skip
    """(augmented value, Lagrangian at the new multipliers, size of its slopes) at u.

    Fills the gradient, which both share, and the lower half of ``bend``. ``held`` (m + 2 q,) are
    the multipliers of the cells' sides, then those of the points' lower and upper ends.
    """
    X, m, q = cells.X, cells.X.shape[0], cells.X.shape[1]
    g[:] = 0.0
    bend[:, :] = 0.0
    value, below, size = 0.0, 0.0, 0.0
    for c in range(m):
        z = u[q + 1]
        for a in range(q):
            z += X[c, a] * u[a]
        f, slope, h, both = at_score(kind, z, cells.positive[c], cells.negative[c])
        value += f
        below += f
        size += both
        if sides[c] != 0:
            t = held[c] - stiff * sides[c] * z
            value -= held[c] * held[c] / (2.0 * stiff)
            if t > 0.0:
                value += t * t / (2.0 * stiff)
                below -= t * sides[c] * z
                slope -= t * sides[c]
                h += stiff
                size += t
        for a in range(q):
            x = X[c, a]
            if x != 0.0:
                g[a] += slope * x
                for b in range(a + 1):
                    bend[a, b] += h * x * X[c, b]
                bend[q + 1, a] += h * x
        g[q + 1] += slope
        bend[q + 1, q + 1] += h
    if box.low[q] < box.high[q]:
        # where the slope is free: s lo <= v <= s hi
        for a in range(q):
            for end in range(2):
                sign, x = (1.0, box.lo[a]) if end == 0 else (-1.0, box.hi[a])
                at, room = m + 2 * a + end, sign * (u[a] - x * u[q])
                t = held[at] - stiff * room
                value -= held[at] * held[at] / (2.0 * stiff)
                if t > 0.0:
                    value += t * t / (2.0 * stiff)
                    below -= t * room
                    size += t * (1.0 + abs(x))
                    g[a] -= t * sign
                    g[q] += t * sign * x
                    bend[a, a] += stiff
                    bend[q, a] -= stiff * x
                    bend[q, q] += stiff * x * x
    return value, below, size


@inner
def renew(cells: Any, box: Any, sides: Any, held: Any, stiff: float, u: Any) -> float:
    """Move the multipliers to those of u; how far constraints with one are from holding."""
    X, m, q = cells.X, cells.X.shape[0], cells.X.shape[1]
    worst = 0.0
    for c in range(m):
        if sides[c] != 0:
            z = u[q + 1]
            for a in range(q):
                z += X[c, a] * u[a]
            t = max(held[c] - stiff * sides[c] * z, 0.0)
            worst = max(worst, abs(t - held[c]) / stiff)
            held[c] = t
    if box.low[q] < box.high[q]:
        for a in range(q):
            for end in range(2):
                sign, x = (1.0, box.lo[a]) if end == 0 else (-1.0, box.hi[a])
                at = m + 2 * a + end
                t = max(held[at] - stiff * sign * (u[a] - x * u[q]), 0.0)
                worst = max(worst, abs(t - held[at]) / stiff)
                held[at] = t
    return worst


@inner
def step_of(box: Any, u: Any, g: Any, bend: Any, step: Any) -> float:
    """Newton's step within the box, and what it promises; spends ``bend``."""
    k, most, promised = len(u), 0.0, 0.0
    for a in range(k):
        most = max(most, bend[a, a])
    for a in range(k):
        step[a] = -g[a]
        bend[a, a] += 1e-11 * most + 1e-300
    for a in range(k):
        at_end = (u[a] <= box.low[a] and g[a] >= 0.0) or (u[a] >= box.high[a] and g[a] <= 0.0)
        if at_end:
            step[a] = 0.0
            bend[a, :a] = 0.0
            bend[a:, a] = 0.0
            bend[a, a] = 1.0
    solve(bend, step)
    for a in range(k):
        promised -= g[a] * step[a]
    return promised


@inner
def move(kind: int, cells: Any, box: Any, sides: Any, held: Any, stiff: float, u: Any, goal: Any,
         scratch: Any) -> bool:  # fmt: skip
    """Take the step, or the part of it that brings the value below ``goal[0]`` - t ``goal[1]``."""
    step, new, g, bend = scratch
    t = 1.0
    for _ in range(_HALVINGS):
        for a in range(len(u)):
            new[a] = min(max(u[a] + t * step[a], box.low[a]), box.high[a])
        value = look(kind, cells, box, sides, held, stiff, new, g, bend)[0]
        if value < goal[0] - t * goal[1]:
            put(new, u)
            return True
        t *= 0.5
    return False


@inner
def bound_sides(kind: int, cells: Any, box: Any, sides: Any, held: Any, u: Any, cutoff: float,
                scratch: Any) -> float:  # fmt: skip
    """The least loss with these sides, from below; moves u and the multipliers towards it."""
    step, _, g, bend = scratch
    best, stiff = -math.inf, _STIFF
    for _outer in range(_OUTER):
        for _ in range(_NEWTON):
            value, below, size = look(kind, cells, box, sides, held, stiff, u, g, bend)
            lost, far = 0.0, 2.0 * box.reach
            for a in range(len(u)):
                lost += max(g[a] * (u[a] - box.low[a]), g[a] * (u[a] - box.high[a]))
                far += abs(u[a]) + max(abs(box.low[a]), abs(box.high[a]))
            found = below - lost - box.gamma * (abs(below) + abs(value) + size * far)
            if math.isfinite(found) and found > best:  # exponentials may overflow
                best = found
            if best >= cutoff:
                return float(best)
            promised = step_of(box, u, g, bend, step)
            goal = value, 1e-4 * promised
            if not promised > 1e-15 * abs(value) or not move(
                kind, cells, box, sides, held, stiff, u, goal, scratch
            ):
                break
        if renew(cells, box, sides, held, stiff, u) <= 1e-9:
            break
        stiff *= _STIFFER
    return float(best)


@inner
def decide(cells: Any, sides: Any) -> bool:
    """Decide cells to which limits leave no choice; False where some limit is broken anyhow."""
    for _ in range(2):
        for limit in range(len(cells.allowed)):
            low, high = cells.cost[0, limit], cells.cost[1, limit]
            room = cells.allowed[limit]
            for c in range(len(sides)):
                if sides[c] == 0:
                    room -= min(low[c], high[c])
                else:
                    room -= high[c] if sides[c] > 0 else low[c]
            if room < 0.0:
                return False
            for c in range(len(sides)):
                if sides[c] == 0 and abs(high[c] - low[c]) > room:
                    sides[c] = -1 if high[c] > low[c] else 1
    return True


@inner
def scores(cells: Any, u: Any, z: Any) -> None:
    """Write the cells' scores to z."""
    q = len(u) - 2
    for c in range(len(z)):
        z[c] = u[q + 1]
        for a in range(q):
            z[c] += cells.X[c, a] * u[a]


@inner
def choose(cells: Any, sides: Any, z: Any) -> int:
    """The cell that matters most to a limit which scores z break; -1 where they keep to all."""
    for limit in range(len(cells.allowed)):
        spent, best, at = 0.0, 0.0, -1
        for c in range(len(z)):
            low, high = cells.cost[0, limit, c], cells.cost[1, limit, c]
            if sides[c] == 0 and abs(z[c]) <= _ON:
                spent += min(low, high)
                continue
            above = sides[c] > 0 or (sides[c] == 0 and z[c] > 0.0)
            spent += high if above else low
            more = (high - low) * z[c]
            if sides[c] == 0 and more > best:
                best, at = more, c
        if spent > cells.allowed[limit] and at >= 0:
            return at
    return -1


@inner
def pending(bounds: Any, rest: Any, least: float) -> float:
    """The least bound of nodes on the way down whose other side is still to be looked at."""
    for d in range(len(bounds)):
        if rest[d] != 0:
            least = min(least, bounds[d])
    return least


@compiled
def least_sided(kind: int, cells: Any, box: Any, u: Any, cutoff: float, most: int) -> Any:
    """(bound, choices of sides solved, whether all were) of the least loss within the limits.

    Depth first; ``u`` (k,) is where to begin, and gets the point of the least loss. What is at or
    above ``cutoff`` is not looked at; beyond ``most`` choices the bound is that of what is left.
    """
    m, q = cells.X.shape
    k = q + 2
    sides, known, z = np.zeros(m, np.int8), np.zeros(m, np.int8), np.empty(m)
    held, here, bound = np.zeros(m + 2 * q), u.copy(), -math.inf
    scratch = np.empty(k), np.empty(k), np.empty(k), np.empty((k, k))
    # of each node on the way down: its bound, the cell parted on and the side still to be looked
    # at (0 where both were), what is decided, the point and the multipliers
    bounds, cell, rest = np.empty(m + 1), np.empty(m + 1, np.int64), np.empty(m + 1, np.int8)
    decided, points = np.empty((m + 1, m), np.int8), np.empty((m + 1, k))
    multipliers, depth, solved, least = np.empty((m + 1, m + 2 * q)), 0, 0, cutoff
    while True:
        alive = decide(cells, sides)
        if alive:
            fits = solved > 0
            for c in range(m):
                fits = fits and (sides[c] == known[c] or sides[c] * z[c] >= -_ON)
            if not fits:
                bound = max(bound, bound_sides(kind, cells, box, sides, held, here, least, scratch))
                scores(cells, here, z)
                if solved == 0:
                    put(here, u)
                solved += 1
            put(sides, known)
            alive = bound < least
        if alive:
            c = choose(cells, sides, z)
            if c < 0:
                least = bound
                put(here, u)
            elif solved >= most:
                put(here, u)
                return pending(bounds[:depth], rest, bound), solved, False
            else:
                side = -1 if z[c] > 0.0 else 1
                bounds[depth], cell[depth], rest[depth] = bound, c, -side
                put(sides, decided[depth])
                put(here, points[depth])
                put(held, multipliers[depth])
                depth += 1
                sides[c] = side
                continue
        while depth > 0 and (rest[depth - 1] == 0 or bounds[depth - 1] >= least):
            depth -= 1
        if depth == 0:
            return least, solved, True
        d = depth - 1
        bound = bounds[d]
        put(decided[d], sides)
        put(decided[d], known)
        put(points[d], here)
        put(multipliers[d], held)
        scores(cells, here, z)
        sides[cell[d]] = rest[d]
        rest[d] = 0


@inner
def pick(table: Any, spent: Any, some: Any, weight: Any, paid: Any) -> None:
    """Weights and costs of the cells that occur, in place; ``some`` are their places."""
    for side in range(2):
        for c in range(weight.shape[1]):
            weight[side, c] = table[side, some[c]]
            for limit in range(paid.shape[1]):
                paid[side, limit, c] = spent[side, limit, some[c]]


@compiled
def bound_sided(
    columns: Any, positive: Any, negative: Any, kind: int, supports: Any, ends: Any,
    reach: float, cutoff: float, bounds: Any, limits: Any,
) -> int:  # fmt: skip
    """Raise ``bounds`` of supports of 0/1 columns; how many choices of sides were solved, in cells.

    As :func:`counts.bound_supports` has them; ``limits`` are (cost (L, n) of each row where it is
    wrong, what is allowed (L,)).
    """
    cost, allowed = limits
    q, n, gamma = supports.shape[1], len(positive), 4.0 * (len(positive) + MOST_CELLS) * _EPS
    table, spent = np.empty((2, 1 << q)), np.empty((2, len(allowed), 1 << q))
    some, keys = np.empty(1 << q, np.int64), np.empty(n, np.int64)
    low, high, u, work, before = np.empty(q + 2), np.empty(q + 2), np.empty(q + 2), 0, -1
    for at in range(len(supports)):
        if bounds[at] >= cutoff:
            continue
        support = supports[at]
        table[:, :] = 0.0
        spent[:, :, :] = 0.0
        # supports come one after the other with all columns alike but the last
        if before < 0 or (support[: q - 1] != supports[before, : q - 1]).any():
            keys[:] = 0
            for a in range(q - 1):
                for row in range(n):
                    keys[row] |= np.int64(columns[support[a], row]) << a
        # the empty support has no last column
        before, column, last = at, columns[support[q - 1] if q > 0 else 0], (1 << q) >> 1
        for row in range(n):
            key = keys[row] + last * np.int64(column[row])
            table[0, key] += positive[row]
            table[1, key] += negative[row]
            side = 0 if positive[row] > 0.0 else 1
            for limit in range(len(allowed)):
                spent[side, limit, key] += cost[limit, row]
        m = 0
        for key in range(1 << q):
            if table[0, key] + table[1, key] > 0.0:
                some[m] = key
                m += 1
        X, weight = np.empty((m, q)), np.empty((2, m))
        paid = np.empty((2, len(allowed), m))
        for c in range(m):
            for a in range(q):
                X[c, a] = float((some[c] >> a) & 1)
        pick(table, spent, some, weight, paid)
        cells = Cells(X, weight[0], weight[1], paid, allowed)
        for a in range(q):
            low[a], high[a] = ends[0, support[a]], ends[1, support[a]]
        low[q], high[q], low[q + 1], high[q + 1] = 1.0, 1.0, -reach, reach
        # far from 0 losses hardly bend: a point of another support is not a place to begin
        u[:] = 0.0
        u[q] = 1.0
        box = PointBox(low[:q], high[:q], low, high, reach, gamma)
        found, solved, _ = least_sided(kind, cells, box, u, cutoff, _MOST_NODES)
        bounds[at] = max(bounds[at], found)
        work += solved * m
    return work
