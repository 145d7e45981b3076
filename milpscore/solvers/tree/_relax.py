"""A node's relaxation: Newton steps on merged rows, each followed by a bound and by fixings."""

from __future__ import annotations

import math

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.solvers.tree._arrays import Arrays
from milpscore.solvers.tree._node import IN, OPEN, OUT, Node
from milpscore.solvers.tree._omega import Omega
from milpscore.solvers.tree._problem import Point

_ROUNDS = 12
_NEWTON = 12
_ADDED = 12
_BACKTRACK = 12
FAR = 300.0
"""Scores are held to [-FAR, FAR] in a line where the loss overflows at one of them."""

_EASY = 0.1
"""A node's relaxation is solved well enough once the bound misses it by this share of the room."""


class Relaxation:
    """Solves nodes in place: raises ``bound``, moves ``w`` and ``b``, fixes and tightens."""

    def __init__(self, arrays: Arrays, record: bool = False) -> None:
        self.arrays, self.record = arrays, record
        self.omega = None if arrays.separable else Omega(arrays.penalty, arrays.most)
        self.solved = 0

    def solve(self, node: Node, cutoff: float, rounds: int = _ROUNDS) -> bool:
        """Whether the node stays open: False as soon as its bound passes ``cutoff``."""
        if not self.tighten(node, cutoff):
            return False
        self.solved += 1
        project(self.arrays, node)
        active = (node.status == IN) | ((node.w != 0.0) & (node.status == OPEN))
        for _ in range(rounds):
            columns = np.flatnonzero(active)
            labels, first = self.arrays.merge(columns)
            rows = _Rows(self.arrays, columns, labels, first)
            self._descend(node, rows, cutoff)
            self._draw_line(node, rows, node.status != OUT)
            if not self.tighten(node, cutoff):
                return False
            if not self._extend(node, active, cutoff):
                break
        return True

    def fit(self, node: Node) -> None:
        """Solve a node whose features are all decided, and draw its line over every feature."""
        project(self.arrays, node)
        columns = np.flatnonzero(node.status == IN)
        rows = _Rows(self.arrays, columns, *self.arrays.merge(columns))
        self._descend(node, rows, math.inf)
        self._draw_line(node, rows, np.ones(self.arrays.p, np.bool_))

    def tighten(self, node: Node, cutoff: float) -> bool:
        """Bound the node by its line, fix what the line allows, until nothing changes."""
        from milpscore.solvers.tree._kernels import least_terms, tighten

        a = self.arrays
        best = np.empty(a.p)
        while True:
            free = a.terms - int((node.status == IN).sum())
            if free <= 0:
                _close_undecided(a, node)
            total = least_terms(
                node.slope, a.points, a.table, node.lo, node.hi, a.zero, node.status, a.l0, best
            )
            undecided = np.sort(np.minimum(best[node.status == OPEN], 0.0))
            counted = undecided[:free]
            last = float(counted[-1]) if 0 < free <= len(undecided) else 0.0
            next_ = float(undecided[free]) if 0 < free < len(undecided) else 0.0
            ends = node.slope_b * node.b_lo, node.slope_b * node.b_hi
            bound = node.constant + min(ends) + total + float(counted.sum())
            if not math.isfinite(bound):
                return True
            node.bound = max(node.bound, bound)
            if node.bound >= cutoff:
                return False
            room = (cutoff - bound) * (1.0 + 1e-9)
            changes = tighten(
                node.slope,
                a.points,
                a.table,
                node.lo,
                node.hi,
                a.zero,
                node.status,
                a.l0,
                best,
                room,
                last,
                next_,
            )
            self._tighten_intercept(node, room)
            if not changes:
                return True
            if int((node.status == IN).sum()) > a.terms:
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
            reach = (math.floor(reach / step + 1e-9) + 0.0) * step
        if node.slope_b > 0:
            node.b_hi = node.b_lo + reach
        else:
            node.b_lo = node.b_hi - reach

    def _descend(self, node: Node, rows: _Rows, cutoff: float) -> None:
        """Newton steps on the rows merged by the active columns."""
        a, columns = self.arrays, rows.columns
        inside = node.status[columns] == IN
        budget = float(a.terms - int((node.status == IN).sum()))
        box = node.lo[columns], node.hi[columns], a.zero[columns], inside
        points = a.points[columns]
        w, b, mu = node.w[columns].copy(), node.b, node.mu
        z = rows.scores(w, b)
        table = self._table(node.w, columns)
        value = self._value(rows, z, w, node)
        careful = False
        for _ in range(_NEWTON):
            if not math.isfinite(value):
                break
            slopes = rows.slopes(z, careful)
            new_w, new_b, mu = self._model_step(
                rows, slopes, w, b, node, points, table, box, budget, mu
            )
            here = self._cost(w, points, table, box, mu)[0] + value
            t = 1.0
            for _ in range(_BACKTRACK):
                try_w, try_b = w + t * (new_w - w), b + t * (new_b - b)
                try_z = rows.scores(try_w, try_b)
                try_value = self._value(rows, try_z, try_w, node)
                cost, used = self._cost(try_w, points, table, box, mu)
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
            # what the multiplier charges beyond the terms themselves is no part of the objective
            node.primal = value + cost - mu * used + a.l0 * float((node.status == IN).sum())
            room = min(abs(cutoff - node.primal), 0.01 * abs(node.primal))
            if gain <= max(1e-10, 0.02 * room):
                break
            if self.omega is not None:
                full = node.w.copy()
                full[columns] = w
                table = self._table(full, columns)
        node.w[columns], node.b, node.mu = w, b, mu
        rows.z = z

    def _model_step(
        self,
        rows: _Rows,
        slopes: tuple[FloatArray, FloatArray],
        w: FloatArray,
        b: float,
        node: Node,
        points: FloatArray,
        table: FloatArray,
        box: tuple[IntArray, IntArray, IntArray, IntArray],
        budget: float,
        mu: float,
    ) -> tuple[FloatArray, float, float]:
        """The minimiser of the second-order model, its intercept and multiplier."""
        from milpscore.solvers.tree._kernels import solve_model

        unit = self.arrays.unit
        u, h = slopes
        bent = rows.X * h[:, None]
        gram, gradient = rows.X.T @ bent, rows.X.T @ u
        slope_b, bend_b = float(u.sum()) * unit, float(h.sum()) * unit * unit
        cross = bent.sum(axis=0) * unit
        free = node.b_lo < node.b_hi and bend_b > 1e-12
        moved, tol = w.copy(), 1e-9
        if free:
            reduced = gram - np.outer(cross, cross) / bend_b
            start = gradient - cross * (slope_b / bend_b)
            mu_free = solve_model(
                reduced, start, moved, points, table, *box, self.arrays.l0, budget, mu, tol, 60
            )
            new_b = b - (slope_b + float(cross @ (moved - w))) / bend_b
            if node.b_lo <= new_b <= node.b_hi:
                return moved, new_b, mu_free
            moved = w.copy()
            new_b = min(max(new_b, node.b_lo), node.b_hi)
        else:
            new_b = min(max(b, node.b_lo), node.b_hi)
        start = gradient + cross * (new_b - b)
        mu = solve_model(
            gram, start, moved, points, table, *box, self.arrays.l0, budget, mu, tol, 60
        )
        return moved, new_b, mu

    def _cost(
        self,
        w: FloatArray,
        points: FloatArray,
        table: FloatArray,
        box: tuple[IntArray, IntArray, IntArray, IntArray],
        mu: float,
    ) -> tuple[float, float]:
        """(envelopes at w with multiplier, share of terms used)."""
        from milpscore.solvers.tree._kernels import envelope_cost

        if self.omega is not None:
            table = np.zeros_like(table)
        cost, used = envelope_cost(w, points, table, *box, self.arrays.l0 + mu)
        return float(cost), float(used)

    def _value(self, rows: _Rows, z: FloatArray, w: FloatArray, node: Node) -> float:
        """Loss, and a penalty that is no sum."""
        value = rows.value(z)
        if self.omega is not None:
            full = node.w.copy()
            full[rows.columns] = w
            value += self.arrays.penalised(full)
        return value

    def _table(self, w: FloatArray, columns: IntArray) -> FloatArray:
        """The separable penalty's table, or that of the local model of another one."""
        if self.omega is None:
            return np.asarray(self.arrays.table[columns])
        weight, ridge = self.omega.nearby(w)
        points = self.arrays.points[columns]
        return np.asarray(
            weight[columns, None] * np.abs(points) + 0.5 * ridge[columns, None] * points * points
        )

    def _draw_line(self, node: Node, rows: _Rows, wanted: IntArray) -> None:
        """Linearise at the node's point: a line below the loss at every card, rounding included."""
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
        constant = float(rows.share @ (value - u * z)) - float(slack)
        weighted = a.share * u[rows.labels]
        slope = a.column_sums(wanted, weighted)
        if self.omega is not None:
            s, offset = self.omega.line(node.w, slope)
            slope, constant = slope + s, constant + offset
        if math.isfinite(constant) and np.isfinite(slope).all():
            node.constant, node.slope = constant, slope
            node.slope_b = float(rows.share @ u) * a.unit
            if self.record:
                node.points.append(Point(rows.columns, node.w[rows.columns], node.b))

    def _extend(self, node: Node, active: IntArray, cutoff: float) -> bool:
        """Take in the undecided columns that violate the multiplier most; False where done."""
        from milpscore.solvers.tree._kernels import least_terms

        a = self.arrays
        fixed = active & (node.status == OUT)
        active[fixed] = False
        moved = bool(node.w[fixed].any())
        project(a, node)
        easy = node.primal < cutoff and node.primal - node.bound <= _EASY * (cutoff - node.bound)
        if easy and not moved:
            return False
        best = np.empty(a.p)
        least_terms(
            node.slope, a.points, a.table, node.lo, node.hi, a.zero, node.status, a.l0, best
        )
        short = np.where((node.status == OPEN) & ~active, best + node.mu, 0.0)
        worst = np.argsort(short, kind="stable")[:_ADDED]
        worst = worst[short[worst] < -1e-9 - 1e-3 * node.mu]
        active[worst] = True
        active |= node.status == IN
        gap = node.primal - node.bound
        return bool(len(worst)) or moved or gap > max(1e-9, _EASY * abs(cutoff - node.bound))


class _Rows:
    """Rows merged by the active columns and y."""

    def __init__(
        self, arrays: Arrays, columns: IntArray, labels: IntArray, first: IntArray
    ) -> None:
        self.columns, self.labels = columns, labels
        self.X = arrays.part(first, columns)
        self.y = arrays.y[first]
        self.share = np.bincount(labels, weights=arrays.share, minlength=len(first))
        self.loss, self.unit = arrays.loss, arrays.unit
        self.z = np.zeros(len(first))

    def scores(self, w: FloatArray, b: float) -> FloatArray:
        """The rows' scores."""
        z: FloatArray = self.X @ w
        z += b * self.unit
        return z

    def value(self, z: FloatArray) -> float:
        """The mean loss at scores z."""
        return float(self.share @ self.loss.value(z, self.y))

    def slopes(self, z: FloatArray, careful: bool) -> tuple[FloatArray, FloatArray]:
        """First and second derivatives times the weights; ``careful``: the largest second one."""
        u = self.share * self.loss.gradient(z, self.y)
        if careful:
            return u, np.asarray(self.share * self.loss.curvature)
        return u, np.asarray(self.share * self.loss.hessian(z, self.y))


def project(arrays: Arrays, node: Node) -> None:
    """Move w and b into the node's box."""
    at = np.arange(arrays.p)
    low, high = arrays.points[at, node.lo], arrays.points[at, node.hi]
    np.clip(node.w, low, high, out=node.w)
    node.b = min(max(node.b, node.b_lo), node.b_hi)


def _close_undecided(arrays: Arrays, node: Node) -> None:
    """With every term used up, what is undecided is out."""
    rest = node.status == OPEN
    node.status[rest] = OUT
    node.lo[rest] = arrays.zero[rest]
    node.hi[rest] = arrays.zero[rest]
