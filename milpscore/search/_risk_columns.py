"""Merged rows as the search for risk scores reads them: coded columns without their modes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray, MergedRows

_LEVELS = 256

Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows that agree on some columns.

    Attributes
    ----------
    cells : ndarray of int64, shape (m,)
        Each row's group.
    patterns : ndarray of shape (G, t)
        The groups' centred values.
    totals : ndarray of shape (2, G)
        Their positive and negative weight.
    """

    cells: IntArray
    patterns: FloatArray
    totals: FloatArray

    @property
    def sides(self) -> tuple[FloatArray, FloatArray]:
        """Positive and negative weight of each group."""
        return self.totals[0], self.totals[1]


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns minus their weighted means; of each only the entries off its most frequent value.

    Attributes
    ----------
    weights : ndarray of shape (2, m)
        The rows' shares of the weight, in the positive and in the negative class.
    means : ndarray of shape (p,)
    values : ndarray of shape (p, V)
        Distinct centred values; the most frequent one alone where there are too many to code.
    widths : ndarray of int64, shape (p,)
        How many, 0 where there are too many.
    modes : ndarray of int64, shape (p,)
        Index of the most frequent value.
    starts : ndarray of int64, shape (p + 1,)
        Column j's entries are those from ``starts[j]`` on.
    rows, codes, deltas : ndarrays of shape (e,)
        An entry's row, the index of its value, and how far it lies from the most frequent one.
    """

    weights: FloatArray
    means: FloatArray
    values: FloatArray
    widths: IntArray
    modes: IntArray
    starts: IntArray
    rows: npt.NDArray[np.int32]
    codes: Codes
    deltas: FloatArray

    @classmethod
    def of(cls, rows: MergedRows) -> Columns:
        """Weighted distinct rows, centred and coded."""
        share = rows.weight / rows.weight.sum()
        means = share @ rows.X
        codes, values, widths = _coded(rows.X)
        modes = np.array(
            [np.bincount(column, minlength=1).argmax() for column in codes], dtype=np.int64
        )
        base = values[np.arange(len(modes)), modes]
        off = codes != modes[:, None].astype(np.uint8)
        wide = np.flatnonzero(widths == 0)
        off[wide] = rows.X.T[wide] != base[wide, None]
        column, row = np.nonzero(off)
        return cls(
            weights=np.stack([np.where(rows.y > 0, share, 0.0), np.where(rows.y > 0, 0.0, share)]),
            means=means,
            values=values - means[:, None],
            widths=widths,
            modes=modes,
            starts=np.concatenate([[0], np.cumsum(np.count_nonzero(off, axis=1))]),
            rows=row.astype(np.int32),
            codes=codes[off],
            deltas=rows.X[row, column] - base[column],
        )

    @property
    def log_odds(self) -> float:
        """Score of the best constant risk."""
        up, down = self.weights.sum(axis=1)
        return float(np.log(up / down))

    def column(self, j: int) -> FloatArray:
        """One centred column, shape (m,)."""
        entries = slice(self.starts[j], self.starts[j + 1])
        dense = np.full(self.weights.shape[1], self.values[j, self.modes[j]])
        dense[self.rows[entries]] += self.deltas[entries]
        return dense

    def groups(self, support: Iterable[int]) -> Groups:
        """Rows that agree on the support's columns; each for itself where values are too many."""
        from milpscore.search._risk_tally import group

        order = list(support)
        cells, patterns, totals = group(
            np.array(order, dtype=np.int64), self.rows, self.codes, self.starts, self.values,
            self.widths, self.modes, self.weights,
        )  # fmt: skip
        if len(cells):
            return Groups(cells, patterns, totals)
        every = np.stack([self.column(j) for j in order], axis=1)
        return Groups(np.arange(self.weights.shape[1]), every, self.weights)


def _coded(X: FloatArray) -> tuple[Codes, FloatArray, IntArray]:
    """Codes (p, m), distinct values (p, V) and their number (p,), 0 above 256."""
    low, high = X.min(axis=0), X.max(axis=0)
    if (high - low).max(initial=0.0) < _LEVELS:
        shifted = X - low
        small = shifted.astype(np.uint8)
        if np.array_equal(small, shifted):  # whole numbers: no sorting needed
            widths = (high - low).astype(np.int64) + 1
            return np.ascontiguousarray(small.T), low[:, None] + np.arange(widths.max()), widths
    codes = np.zeros(X.shape[::-1], dtype=np.uint8)
    distinct, widths = [], np.zeros(X.shape[1], dtype=np.int64)
    for j in range(X.shape[1]):
        found, where, counts = np.unique(X[:, j], return_inverse=True, return_counts=True)
        if len(found) <= _LEVELS:
            codes[j], widths[j] = where, len(found)
        else:
            found = found[[counts.argmax()]]
        distinct.append(found)
    values = np.zeros((X.shape[1], max(map(len, distinct), default=1)))
    for j, found in enumerate(distinct):
        values[j, : len(found)] = found
    return codes, values, widths
