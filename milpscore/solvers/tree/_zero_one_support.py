"""One support: its patterns merged into cells, and the walk over its weights."""

from __future__ import annotations

import numpy as np

from milpscore.core.design import IntArray
from milpscore.solvers.tree._zero_one_patterns import Patterns

_MOST_CURVES = 1 << 23
_CURVE_PER_CELL = 1000
_SMALL_CURVES = 1 << 16
"""Curves longer than this per cell cost more than sorting the cells' totals."""


class Walk:
    """The weights of one support, depth first; :meth:`run` goes on where it stopped.

    Columns of many values, far apart, are decided first: the groups left to the end are then few
    and large, and what each of them cannot avoid, taken alone, says much.
    """

    def __init__(self, patterns: Patterns, columns: IntArray) -> None:
        from milpscore.solvers.tree import _zero_one_kernels as kernels

        self.patterns = patterns
        self.fixed = patterns.base * patterns.unit + patterns.problem.l0_penalty * len(columns)
        spread = patterns.X[:, columns].std(axis=0)
        self.columns = columns[np.lexsort((-spread, -patterns.cards[columns]))]
        k, m = len(columns), len(patterns.net)
        labels = np.empty((k + 1, m), dtype=np.int32)
        groups = np.empty(k + 1, dtype=np.int64)
        kernels.cell_labels(self.columns, patterns.codes, patterns.cards, labels, groups)
        self.offset = np.r_[0, np.cumsum(groups)]
        cells = int(groups[0])
        self.first = np.zeros(int(self.offset[-1]) + k + 1, dtype=np.int64)
        self.value = np.zeros(int(self.offset[-1]), dtype=np.int64)
        self.negative = np.zeros(int(self.offset[-1]), dtype=np.int64)
        self.cell_net = np.zeros(cells, dtype=patterns.net.dtype)
        self.cell_label = np.zeros((k + 1, cells), dtype=np.int64)
        kernels.group_levels(
            self.columns,
            patterns.codes,
            patterns.values,
            patterns.net,
            labels,
            self.offset,
            self.first,
            self.value,
            self.negative,
            self.cell_net,
            self.cell_label,
        )
        self._list_weights()
        self._lay_out_curves(groups)
        self.least = np.zeros(int(self.offset[-1]), dtype=np.int64)
        self.rest = np.zeros(int(self.offset[-1]), dtype=np.int64)
        self.walk = np.zeros((5, k + 1), dtype=np.int64)
        self.walk[2, 0] = 2
        if self.dense:  # no total yet: every cell's curve is one step, and no cell errs alone
            self.curves[1 : 2 * cells : 2] = self.cell_net

    def _list_weights(self) -> None:
        """The nonzero weights of each column, and what they cost at least."""
        points = [self.patterns.points[j] for j in self.columns.tolist()]
        self.counts = np.array([len(v) for v in points], dtype=np.int64)
        self.weights = np.zeros((len(points), int(self.counts.max())), dtype=np.int64)
        for d, v in enumerate(points):
            self.weights[d, : len(v)] = v
        least = [float(np.abs(v).min()) for v in points]
        self.tail = np.r_[np.cumsum(least[::-1])[::-1], 0.0]
        self.points = np.zeros(len(points) + 1)

    def _lay_out_curves(self, groups: IntArray) -> None:
        """Room for every level's curves, or for totals where curves would be too long."""
        k = len(self.columns)
        self.extremes = np.zeros((k, 2), dtype=np.int64)
        for d in range(k):
            values = self.value[self.offset[d] : self.offset[d + 1]]
            self.extremes[d] = values.min(), values.max()
        span = np.abs(self.weights).max(axis=1) * np.ptp(self.extremes, axis=1)
        self.stride = np.r_[2, 2 + np.cumsum(span)].astype(np.int64)
        size = [int(g) * int(s) for g, s in zip(groups, self.stride, strict=True)]
        last = int(groups[k - 1]) * int(self.stride[k])
        self.dense = (
            sum(size) <= _MOST_CURVES and last <= _CURVE_PER_CELL * int(groups[0]) + _SMALL_CURVES
        )
        self.curve_at = np.r_[0, np.cumsum(size if self.dense else [0] * len(size))]
        self.curves = np.zeros(int(self.curve_at[-1]), dtype=self.patterns.net.dtype)
        self.totals = np.zeros((k + 1, 0 if self.dense else int(groups[0])), dtype=np.int64)

    @property
    def nodes(self) -> int:
        """Partial and complete weight vectors bounded so far."""
        return int(self.walk[4, 1])

    @property
    def w(self) -> IntArray:
        """The card the walk stands at, shape (p,)."""
        w = np.zeros(len(self.patterns.points), dtype=np.int64)
        at = self.walk[0, : len(self.columns)] - 1
        w[self.columns] = self.weights[np.arange(len(self.columns)), at]
        return w

    def run(self, cutoff: float, budget: int, most_nodes: int) -> int:
        """Go on until a card below ``cutoff``, the end, or so many curve entries or nodes.

        Parameters
        ----------
        cutoff : float
            Objective to beat.
        budget : int
            Curve entries of this call.
        most_nodes : int
            Of all calls.

        Returns
        -------
        int
            FINISHED, FOUND (:attr:`w` is below ``cutoff`` with its best threshold) or PAUSED.
        """
        from milpscore.solvers.tree._zero_one_dive import dive

        p, problem = self.patterns, self.patterns.problem
        low, high = problem.threshold_range
        return int(
            dive(
                self.weights,
                self.counts,
                self.offset,
                self.first,
                self.value,
                self.negative,
                self.cell_label,
                self.cell_net,
                self.extremes,
                self.curve_at,
                self.stride,
                self.curves,
                self.least,
                self.rest,
                self.totals,
                self.walk,
                self.points,
                self.tail,
                problem.l1_penalty,
                p.primitive,
                low,
                high,
                p.unit,
                cutoff - self.fixed,
                budget,
                most_nodes,
            )
        )
