"""The least loss on the cells of a support, with the side of 0 known of some cells.

Within limits on errors only some choices of the cells at or above a score of 0 are left. With sides
decided the rest is convex: least loss subject to z >= 0 or z <= 0 for each decided cell. Cells are
decided one after the other, where the least loss so far breaks a limit: each either changes its
side or spends of what is allowed. Coefficients are real multiples of points in a box, v = s w, so
that a box holds for every slope.

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
from numpy.typing import NDArray

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, inner
from milpscore.solvers.trees.risk.hulls import Arrays, solve
from milpscore.solvers.trees.risk.limit_prices import ErrorLimits, group_sums
from milpscore.solvers.trees.risk.policy import POLICY
from milpscore.solvers.trees.risk.relaxation import OUT, Node
from milpscore.solvers.trees.shared.cell_counts import KINDS, LOGISTIC, POISSON, SQUARED_HINGE


class Cells(NamedTuple):
    """The rows of a support by its columns: m distinct ones, X (m, q), with their weights (m,)."""

    X: FloatArray
    positive: FloatArray
    negative: FloatArray
    cost: FloatArray  # (2, L, m): what a cell costs each limit if answered negative, and positive
    allowed: FloatArray  # (L,)


class SupportRows(NamedTuple):
    """The n rows as :func:`bound_supports` reads them."""

    columns: NDArray[np.uint8]  # (c, n), of 0 and 1
    ends: FloatArray  # (2, c): the least and the largest weight of each column
    positive: FloatArray  # (n,): weights
    negative: FloatArray
    cost: FloatArray  # (2, L, n): what a row costs each limit if answered negative, and positive
    allowed: FloatArray  # (L,)


class PointBox(NamedTuple):
    """Points ``lo`` to ``hi`` (q,); ends of the variables (k,): coefficients, slope, intercept."""

    lo: FloatArray
    hi: FloatArray
    low: FloatArray
    high: FloatArray
    reach: float  # no score lies farther from 0
    gamma: float  # rounding of sums over cells


class Sides:
    """Bounds of nodes that leave few columns, by the sides of their cells."""

    def __init__(self, arrays: Arrays, limits: ErrorLimits) -> None:
        self.arrays, self.limits = arrays, limits
        self.kind = KINDS.get(type(arrays.loss), -1)
        self._cells: dict[bytes, Cells | None] = {}
        self.known = bool(len(limits)) and self.kind >= 0

    def applies_to(self, node: Node) -> bool:
        """Return whether the node leaves few enough columns."""
        most = POLICY.sided_columns * self.arrays.terms
        return self.known and int(np.count_nonzero(node.status != OUT)) <= most

    def cells(self, columns: IntArray) -> Cells | None:
        """Return the rows by these columns; None if the cells are too many."""
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
        if m > POLICY.most_cells:
            return None

        cost = np.array([[group_sums(labels, c, m) for c in each] for each in limits.cost])
        plus, minus = (group_sums(labels, a.share, m, some) for some in (a.y > 0, ~(a.y > 0)))
        return Cells(a.part(first, columns), plus, minus, cost.reshape(2, -1, m), limits.allowed)

    def bound(self, node: Node, cutoff: float) -> bool | None:
        """Raise a node's bound and return whether it stays open; None if nothing is known of it."""
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
        most = POLICY.side_choices
        value, _, ended = least_sided(self.kind, cells, box, u, cutoff - charge, most)
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
        """Return what the node leaves to the coefficients."""
        a, q = self.arrays, len(columns)
        lo, hi = a.points[columns, node.lo[columns]], a.points[columns, node.hi[columns]]
        low, high = np.empty(q + 2), np.empty(q + 2)
        low[:q] = np.minimum(lo * node.s_lo, lo * node.s_hi)
        high[:q] = np.maximum(hi * node.s_lo, hi * node.s_hi)
        low[q], high[q] = node.s_lo, node.s_hi
        low[q + 1], high[q + 1] = -a.cell_reach, a.cell_reach
        if not a.scaled:
            low[q + 1], high[q + 1] = node.b_lo * a.unit, node.b_hi * a.unit
        elif a.statement.intercept.kind == "zero":
            low[q + 1] = high[q + 1] = 0.0
        return PointBox(lo, hi, low, high, a.cell_reach, a.cell_gamma)

    def _charge(self, node: Node, columns: IntArray) -> float:
        """Return the least that penalties of coefficients and of terms charge."""
        a = self.arrays
        allowed = (a.places >= node.lo) & (a.places <= node.hi)
        cost = np.where(allowed, np.where(a.is_zero, a.charges - a.l0, a.charges), np.inf)
        least = cost[:, columns].min(axis=0).sum()
        return float(least - a.table_slack)


def _least_slope(u: FloatArray, box: PointBox) -> float:
    """Return the least slope that keeps coefficients to the points' range: points are largest."""
    q = len(box.lo)
    ends = np.where(u[:q] > 0.0, box.hi, box.lo)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(u[:q] * ends > 0.0, u[:q] / ends, 0.0)
    return float(min(max(least.max(initial=0.0), box.low[q]), box.high[q]))


@inner
def at_score(kind: int, z: float, p: float, n: float) -> Any:
    """Return (loss, two derivatives, size of the first one's terms) of p and n at score z."""
    if kind == LOGISTIC:
        e = math.exp(-abs(z))
        small, log = e / (1.0 + e), math.log1p(e)
        up, down = (1.0 - small, small) if z >= 0.0 else (small, 1.0 - small)
        value = p * (log - min(z, 0.0)) + n * (log + max(z, 0.0))
        return value, n * up - p * down, (p + n) * up * down, n * up + p * down
    if kind == POISSON:
        e = math.exp(z)
        return (p + n) * e - p * z, (p + n) * e - p, (p + n) * e, (p + n) * e + p
    a, b = 1.0 - z, 1.0 + z
    if kind == SQUARED_HINGE:
        a, b = max(a, 0.0), max(b, 0.0)
    bend = (p if a != 0.0 else 0.0) + (n if b != 0.0 else 0.0)
    size = n * abs(b) + p * abs(a)
    return 0.5 * (p * a * a + n * b * b), n * b - p * a, bend, size


@inner
def put(values: Any, to: Any) -> None:
    """Do to[:] = values, for which numba compiles a check of shapes, and its words, for seconds."""
    for i in range(len(to)):
        to[i] = values[i]


@inner
def look(kind: int, cells: Any, box: Any, sides: Any, held: Any, stiff: float, u: Any, g: Any,
         bend: Any) -> Any:  # fmt: skip
    """Return (augmented value, Lagrangian, size of its slopes) at u; fill ``g`` and ``bend``."""
    # ``held`` (m + 2 q,) are multipliers of the cells' sides, then of the points' lower and upper
    # ends; only the lower half of ``bend`` is filled
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
    """Move the multipliers to those of u; return how far constraints with one are from holding."""
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
    """Write Newton's step within the box and return what it promises; overwrites ``bend``."""
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
def bound_sides(kind: int, cells: Any, box: Any, sides: Any, held: Any, u: Any, cutoff: float,
                scratch: Any) -> float:  # fmt: skip
    """Bound the least loss with these sides from below; moves u and the multipliers towards it."""
    step, new, g, bend = scratch
    # what a score on the wrong side costs by its square; it rises until the multipliers settle
    best, stiff = -math.inf, 1.0
    for _outer in range(5):
        value, below, size = look(kind, cells, box, sides, held, stiff, u, g, bend)
        for _newton in range(40):
            # 1) From u the convex Lagrangian falls nowhere faster than its gradient says.
            lost, far = 0.0, 2.0 * box.reach
            for a in range(len(u)):
                lost += max(g[a] * (u[a] - box.low[a]), g[a] * (u[a] - box.high[a]))
                far += abs(u[a]) + max(abs(box.low[a]), abs(box.high[a]))
            found = below - lost - box.gamma * (abs(below) + abs(value) + size * far)
            if math.isfinite(found) and found > best:  # exponentials may overflow
                best = found
            if best >= cutoff:
                return float(best)
            # 2) Take Newton's step, or the part of it that lowers the value as promised.
            promised, t, moved = step_of(box, u, g, bend, step), 1.0, False
            if not promised > 1e-15 * abs(value):
                break
            for _halving in range(30):
                for a in range(len(u)):
                    new[a] = min(max(u[a] + t * step[a], box.low[a]), box.high[a])
                after, below, size = look(kind, cells, box, sides, held, stiff, new, g, bend)
                if after < value - t * 1e-4 * promised:
                    put(new, u)
                    value, moved = after, True
                    break
                t *= 0.5
            if not moved:
                break
        if renew(cells, box, sides, held, stiff, u) <= 1e-9:
            break
        stiff *= 8.0
    return float(best)


@inner
def decide(cells: Any, sides: Any) -> bool:
    """Decide cells to which limits leave no choice; False if some limit is broken anyhow."""
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
def choose(cells: Any, sides: Any, z: Any, on: float) -> int:
    """Return the cell that matters most to a limit that scores z break; -1 if they keep to all."""
    for limit in range(len(cells.allowed)):
        spent, best, at = 0.0, 0.0, -1
        for c in range(len(z)):
            low, high = cells.cost[0, limit, c], cells.cost[1, limit, c]
            if sides[c] == 0 and abs(z[c]) <= on:
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
    """Return the least bound of nodes on the way down whose other side is still to be searched."""
    for d in range(len(bounds)):
        if rest[d] != 0:
            least = min(least, bounds[d])
    return least


@compiled
def least_sided(kind: int, cells: Any, box: Any, u: Any, cutoff: float, most: int) -> Any:
    """Return (bound, choices of sides solved, whether all were) of the least loss within limits."""
    # depth first from ``u`` (k,), which gets the point of the least loss; what reaches ``cutoff``
    # is not searched; beyond ``most`` choices the bound is that of what is left
    m, q = cells.X.shape
    k, on = q + 2, 1e-7  # a score this close to 0 lies on either side
    sides, known, z = np.zeros(m, np.int8), np.zeros(m, np.int8), np.empty(m)
    held, here, bound = np.zeros(m + 2 * q), u.copy(), -math.inf
    scratch = np.empty(k), np.empty(k), np.empty(k), np.empty((k, k))
    # per node on the way down: its bound, the cell parted on and the side still to be searched (0
    # if both were), what is decided, the point and the multipliers
    bounds, cell, rest = np.empty(m + 1), np.empty(m + 1, np.int64), np.empty(m + 1, np.int8)
    decided, points = np.empty((m + 1, m), np.int8), np.empty((m + 1, k))
    multipliers, depth, solved, least = np.empty((m + 1, m + 2 * q)), 0, 0, cutoff
    while True:
        # 1) Solve the node, unless its parent's scores lie on the sides decided since.
        alive = decide(cells, sides)
        if alive:
            fits = solved > 0
            for c in range(m):
                fits = fits and (sides[c] == known[c] or sides[c] * z[c] >= -on)
            if not fits:
                bound = max(bound, bound_sides(kind, cells, box, sides, held, here, least, scratch))
                scores(cells, here, z)
                if solved == 0:
                    put(here, u)
                solved += 1
            put(sides, known)
            alive = bound < least
        # 2) Part on the cell that matters most to a broken limit; without one the node is a leaf.
        if alive:
            c = choose(cells, sides, z, on)
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
        # 3) Go back to the last node whose other side may matter.
        while depth > 0 and (rest[depth - 1] == 0 or bounds[depth - 1] >= least):
            depth -= 1
        if depth == 0:
            # a root that is closed at once may have passed the cutoff
            return max(least, bound) if solved == 1 else least, solved, True
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
def occupied(table: Any, spent: Any, allowed: Any, q: int) -> Any:
    """Return the cells of q columns that hold rows; bit a of a cell's number is column a."""
    m = 0
    for key in range(table.shape[1]):
        m += table[0, key] + table[1, key] > 0.0
    X, weight, paid = np.empty((m, q)), np.empty((2, m)), np.empty((2, len(allowed), m))
    c = 0
    for key in range(table.shape[1]):
        if not table[0, key] + table[1, key] > 0.0:
            continue
        for a in range(q):
            X[c, a] = float((key >> a) & 1)
        for side in range(2):
            weight[side, c] = table[side, key]
            for limit in range(len(allowed)):
                paid[side, limit, c] = spent[side, limit, key]
        c += 1
    return Cells(X, weight[0], weight[1], paid, allowed)


@compiled
def bound_supports(
    kind: int, rows: Any, supports: Any, box: Any, cutoff: float, most: int | None, bounds: Any
) -> int:
    """Raise the bounds of supports (number, q) by real weights, to ``cutoff``; return the work."""
    # ``box`` gets the ends of a support's columns. Without limits ``most`` is None, which numba
    # knows when compiling. The work is choices of sides solved, times cells.
    q, n, limits = supports.shape[1], len(rows.positive), len(rows.allowed)
    table, spent = np.empty((2, 1 << q)), np.empty((2, limits, 1 << q))
    keys, u, work, before = np.empty(n, np.int64), np.empty(q + 2), 0, -1
    for at in range(len(supports)):
        if bounds[at] >= cutoff:
            continue
        # 1) Number the rows by all columns but the last: supports mostly differ in that alone.
        support = supports[at]
        alike = before >= 0
        for a in range(q - 1):
            alike = alike and support[a] == supports[before, a]
        if not alike:
            keys[:] = 0
            for a in range(q - 1):
                for row in range(n):
                    keys[row] |= np.int64(rows.columns[support[a], row]) << a
        # 2) Sum weights and costs by cells; the empty support has no last column.
        table[:, :] = 0.0
        spent[:, :, :] = 0.0
        before, column, last = at, rows.columns[support[q - 1] if q > 0 else 0], (1 << q) >> 1
        for row in range(n):
            key = keys[row] + last * np.int64(column[row])
            table[0, key] += rows.positive[row]
            table[1, key] += rows.negative[row]
            for side in range(2):
                for limit in range(limits):
                    spent[side, limit, key] += rows.cost[side, limit, row]
        # 3) Bound the cells; far from 0 losses hardly bend, so every support begins there.
        for a in range(q):
            box.low[a], box.high[a] = rows.ends[0, support[a]], rows.ends[1, support[a]]
        u[:] = 0.0
        u[q] = 1.0
        cells = occupied(table, spent, rows.allowed, q)
        if most is None:
            k, m = q + 2, len(cells.X)
            scratch = np.empty(k), np.empty(k), np.empty(k), np.empty((k, k))
            sides, held = np.zeros(m, np.int8), np.zeros(m + 2 * q)
            bound, solved = bound_sides(kind, cells, box, sides, held, u, cutoff, scratch), 1
        else:
            bound, solved, _ = least_sided(kind, cells, box, u, cutoff, most)
        bounds[at] = max(bounds[at], bound)
        work += solved * len(cells.X)
    return work
