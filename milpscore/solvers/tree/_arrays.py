"""The arrays of a problem in the forms the inner loops read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.solvers.tree._problem import TreeProblem

_EPS = float(np.finfo(np.float64).eps)


class Arrays:
    """A problem's merged rows, its codes for merging further, and its tables of choices.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Distinct (x, y) rows over ``scale``, column by column in memory.
    y, share : ndarrays of shape (n,)
        Answers; weights that sum to 1.
    points, table : ndarrays of shape (p, K)
        Each feature's choices, ascending, and a separable penalty at them.
    lo, hi, zero : int arrays of shape (p,)
        First and last choice; the position of 0, or -1.
    """

    def __init__(self, problem: TreeProblem) -> None:
        self.problem = problem
        self.loss = problem.loss
        self.penalty = problem.penalty
        self.separable = problem.penalty is None or bool(problem.penalty.separable)
        self.l0, self.terms = float(problem.l0_penalty), problem.terms
        self.unit = 1.0 / problem.scale
        self.b_step = problem.b_step
        self.b_lower, self.b_upper = problem.intercepts()
        self._merge_rows()
        self._compress()
        self._tabulate()
        self._code()
        self._measure()

    def _merge_rows(self) -> None:
        """Distinct rows with positive weight, in an order that rows' own order does not matter."""
        problem = self.problem
        weight = np.ones(len(problem.y)) if problem.sample_weight is None else problem.sample_weight
        kept = weight > 0
        weight = weight[kept]
        # + 0.0 turns -0.0 into 0.0
        both = np.column_stack([problem.y, problem.X])[kept] + 0.0
        codes = [np.unique(column, return_inverse=True)[1].ravel() for column in both.T]
        # equal weights are summed in the same order whatever the order of the rows
        order = np.lexsort([weight, *codes])
        both, weight = both[order], weight[order]
        starts = np.flatnonzero(np.append(True, np.any(both[1:] != both[:-1], axis=1)))
        self.share = np.add.reduceat(weight, starts) / math.fsum(weight)
        self.y = np.ascontiguousarray(both[starts, 0])
        self.raw = np.asfortranarray(both[starts, 1:])
        self.X = np.asfortranarray(self.raw * self.unit)
        self.n, self.p = self.X.shape

    def _compress(self) -> None:
        """The nonzeros, column by column."""
        columns, rows = np.nonzero(self.X.T)
        self.rows = rows.astype(np.int32)
        self.data = np.ascontiguousarray(self.X.T[columns, rows])
        self.starts = np.searchsorted(columns, np.arange(self.p + 1)).astype(np.int64)

    def _tabulate(self) -> None:
        """Choices and penalties, padded to the longest."""
        choices = [self.problem.choices(j) for j in range(self.p)]
        width = max((len(c) for c in choices), default=1)
        self.points = np.zeros((self.p, width))
        self.table = np.zeros((self.p, width))
        self.lo = np.zeros(self.p, np.int64)
        self.hi = np.array([len(c) - 1 for c in choices], dtype=np.int64)
        self.zero = np.full(self.p, -1, np.int64)
        for j, values in enumerate(choices):
            self.points[j, : len(values)] = values
            at = int(np.searchsorted(values, 0))
            if at < len(values) and values[at] == 0:
                self.zero[j] = at
        if self.penalty is not None and self.separable:
            self._tabulate_penalty()

    def _tabulate_penalty(self) -> None:
        """A separable penalty, read one coefficient at a time."""
        w = np.zeros(self.p)
        for j in range(self.p):
            for k in range(self.hi[j] + 1):
                w[j] = self.points[j, k]
                self.table[j, k] = self.penalty.value(w)
            w[j] = 0.0

    def _code(self) -> None:
        """Each column's levels as whole numbers, for merging rows alike in some columns."""
        self.codes = np.zeros((self.n, self.p), np.int64, order="F")
        self.levels = np.ones(self.p, np.int64)
        for j in range(self.p):
            values, label = np.unique(self.raw[:, j], return_inverse=True)
            self.codes[:, j] = label.ravel()
            self.levels[j] = len(values)
        values, label = np.unique(self.y, return_inverse=True)
        self.y_codes: IntArray = label.ravel().astype(np.int64)
        self.y_levels = len(values)
        size = 4
        while size < 2 * self.n + 2:
            size *= 2
        self._slots = np.empty(size, np.int64)
        self._names = np.empty(size, np.int64)
        self._first = np.empty(self.n, np.int64)

    def _measure(self) -> None:
        """Spreads of the columns, and what bounds every rounding error."""
        mean = self.share @ self.raw
        self.spread = np.sqrt(self.share @ np.square(self.raw - mean)) if self.p else np.zeros(0)
        size = np.abs(self.points).max(axis=1) if self.p else np.zeros(0)
        self.most = size
        reach = np.abs(self.X) * size
        if self.terms < self.p:
            reach = np.sort(reach, axis=1)[:, self.p - self.terms :]
        most_b = max(abs(self.b_lower), abs(self.b_upper)) * self.unit
        self.reach = (float(reach.sum(axis=1).max()) if self.terms else 0.0) + most_b
        # a sum of n products, each a few roundings; doubled for the second order
        self.gamma = 2.0 * (self.n + self.p + 64) * _EPS
        self.table_slack = (
            64.0
            * _EPS
            * (self.p + 4)
            * (float(np.abs(self.table).max(axis=1, initial=0.0).sum()) + self.l0 * self.p)
        )

    def merge(self, columns: IntArray) -> tuple[IntArray, IntArray]:
        """Rows alike in these columns and y: (their number for each row, a row of each)."""
        from milpscore.solvers.tree._kernels import merge_codes

        keys, radix = self.y_codes.copy(), self.y_levels
        labels = np.empty(self.n, np.int64)
        for j in columns:
            if radix * int(self.levels[j]) > 2**62:
                radix = merge_codes(keys, self._slots, self._names, labels, self._first)
                keys[:] = labels
            keys += radix * self.codes[:, j]
            radix *= int(self.levels[j])
        found = merge_codes(keys, self._slots, self._names, labels, self._first)
        return labels, self._first[:found].copy()

    def part(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """These rows and columns of X."""
        from milpscore.solvers.tree._kernels import gather

        out = np.empty((len(rows), len(columns)))
        gather(self.X, rows, columns, out)
        return out

    def objective(self, w: IntArray, b: float) -> float:
        """A card's objective, summed without rounding error of its own."""
        z = self.X @ w.astype(np.float64) + b * self.unit
        rows = self.share * self.loss.value(z, self.y)
        total = math.fsum(rows) if np.isfinite(rows).all() else math.inf
        return total + self.l0 * int(np.count_nonzero(w)) + self.penalised(w)

    def intercept_slack(self, w: IntArray, b: float) -> float:
        """How far below a card's objective any other intercept can be: by its slope in b."""
        z = self.X @ w.astype(np.float64) + b * self.unit
        u = self.share * self.loss.gradient(z, self.y)
        error = self.gamma * float(np.abs(u).sum()) * self.unit
        slope = float(math.fsum(u)) * self.unit
        room = (self.b_upper - b) if slope < 0 else (b - self.b_lower)
        rounding = self.gamma * float(self.share @ np.abs(self.loss.value(z, self.y)))
        most = self.b_upper - self.b_lower
        return float(abs(slope) * room + 2.0 * error * most + rounding)

    def penalised(self, w: FloatArray | IntArray) -> float:
        """The penalty of w, 0 without one."""
        return 0.0 if self.penalty is None else float(self.penalty.value(w))

    def column_sums(self, wanted: Any, u: FloatArray) -> FloatArray:
        """X'u for the wanted columns, 0 for the others."""
        from milpscore.solvers.tree._kernels import column_sums

        out = np.empty(self.p)
        column_sums(self.data, self.rows, self.starts, wanted, u, out)
        return out
