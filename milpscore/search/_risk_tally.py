"""Groups of rows and column sums over coded columns: the loops over rows of the fast risk scores.

Compiled where numba is installed; import it where it is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled, has_numba


def _tallied(cells: Any, width: int, rows: Any, codes: Any, weights: Any, size: int) -> Any:
    """Weight of each (group, value) among the given rows, shape (2, size)."""
    keys = cells[rows] * width + codes
    return np.stack([np.bincount(keys, side[rows], size) for side in weights])


def _tallied_by_row(cells: Any, width: int, rows: Any, codes: Any, weights: Any, size: int) -> Any:
    """The same as a loop, which compiles to a fraction of the time."""
    tally = np.zeros((2, size))
    for e in range(len(rows)):
        i = rows[e]
        key = cells[i] * width + codes[e]
        tally[0, key] += weights[0, i]
        tally[1, key] += weights[1, i]
    return tally


def _moments(rows: Any, deltas: Any, starts: Any, slope: Any, bend: Any) -> Any:
    """Column sums of slope x, bend x and bend x^2 over the listed entries, shape (3, p)."""
    first = bend[rows] * deltas
    sums = np.stack([slope[rows] * deltas, first, first * deltas])
    ends = np.concatenate([np.zeros((3, 1)), np.cumsum(sums, axis=1)], axis=1)
    return ends[:, starts[1:]] - ends[:, starts[:-1]]


def _moments_by_entry(rows: Any, deltas: Any, starts: Any, slope: Any, bend: Any) -> Any:
    """The same as a loop."""
    found = np.zeros((3, len(starts) - 1))
    for j in range(len(starts) - 1):
        g, h, s = 0.0, 0.0, 0.0
        for e in range(starts[j], starts[j + 1]):
            x, i = deltas[e], rows[e]
            hx = bend[i] * x
            g += slope[i] * x
            h += hx
            s += hx * x
        found[0, j], found[1, j], found[2, j] = g, h, s
    return found


# loops over rows are what numba is for, and what plain Python cannot afford
tallied = compiled(_tallied_by_row) if has_numba() else _tallied
moments = compiled(_moments_by_entry) if has_numba() else _moments


@compiled
def part(
    cells: Any,
    patterns: Any,
    totals: Any,
    values: Any,
    mode: int,
    rows: Any,
    codes: Any,
    weights: Any,
) -> tuple[Any, Any, Any]:
    """Part the groups of rows by one more column.

    Parameters
    ----------
    cells : ndarray of int64, shape (m,)
        The group of each row, 0 .. G - 1.
    patterns : ndarray of shape (G, t)
        Each group's values of the support's columns.
    totals : ndarray of shape (2, G)
        Each group's positive and negative weight.
    values : ndarray of shape (V,)
        The column's distinct values.
    mode : int
        The most frequent one.
    rows, codes : ndarrays of shape (e,)
        Rows with another value, and which.
    weights : ndarray of shape (2, m)
        The rows' positive and negative weights.

    Returns
    -------
    (patterns, totals, keys)
        Of the groups that occur; a row's key is its group * V + code.
    """
    width, t = len(values), patterns.shape[1]
    size = len(patterns) * width
    tally = tallied(cells, width, rows, codes, weights, size)
    first = np.arange(len(patterns)) * width
    for side in range(2):
        others = np.sum(tally[side].reshape(-1, width), axis=1)
        rest = totals[side] - others
        tally[side, first + mode] = np.where(rest > 1e-13 * totals[side], rest, 0.0)
    kept = np.flatnonzero(tally[0] + tally[1] > 0.0)
    parted = np.empty((len(kept), t + 1))
    parted[:, :t] = patterns[kept // width]
    parted[:, t] = values[kept % width]
    return parted, np.ascontiguousarray(tally[:, kept]), kept


@compiled
def group(
    order: Any,
    rows: Any,
    codes: Any,
    starts: Any,
    values: Any,
    widths: Any,
    modes: Any,
    weights: Any,
) -> tuple[Any, Any, Any]:
    """Rows that agree on the columns of ``order``: (cells, patterns, totals) as in :func:`part`.

    Ends with no cells where the columns have too many values to group by.
    """
    m = weights.shape[1]
    cells = np.zeros(m, dtype=np.int64)
    patterns, totals = np.zeros((1, 0)), np.sum(weights, axis=1).reshape(2, 1)
    for j in order:
        width, size = widths[j], widths[j] * len(patterns)
        if not groupable(size, m):
            return cells[:0], patterns, totals
        mine, their = rows[starts[j] : starts[j + 1]], codes[starts[j] : starts[j + 1]]
        keys = cells * width + modes[j]
        keys[mine] = cells[mine] * width + their
        patterns, totals, kept = part(
            cells, patterns, totals, values[j, :width], modes[j], mine, their, weights
        )
        where = np.zeros(size, dtype=np.int64)
        where[kept] = np.arange(len(kept))
        cells = where[keys]
    return cells, patterns, totals


@compiled
def groupable(size: int, m: int) -> bool:
    """Whether a table of so many groups is worth its while for m rows."""
    return 0 < size <= 4 * m + 1024
