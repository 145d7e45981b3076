"""The same as :mod:`._kernels` in NumPy: one product a group of rows, slower where those are small.

On letters (26 observations, long groups) it takes twice as long as the compiled road; on words,
where most groups are one row, some ten times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# See _kernels.CANCELLING.
CANCELLING = 8.0


def fill_sets(
    lam: Any, ptr: Any, ids: Any, most: int, steep: float, matrices: Any, out: Any
) -> None:
    """See :func:`._kernels.fill_sets`."""
    counts, where, excess, biggest = out
    if len(ptr) == 2:
        return
    scores = matrices[1:].reshape(len(ptr) - 2, -1)
    np.add.reduceat(lam[ids], ptr[1:-1], axis=0, out=scores)
    biggest[1:] = np.abs(scores).max(axis=1)
    np.clip(scores, -steep, steep, out=scores)
    counts[1:] = -1
    if most < 0:
        return
    nonzero = np.count_nonzero(scores, axis=1)
    thin = (nonzero <= most) & (scores.min(axis=1) >= -CANCELLING)
    counts[1:][thin] = nonzero[thin]
    for s in np.flatnonzero(thin):
        at = np.flatnonzero(scores[s])
        start = (s + 1) * most
        where[start : start + len(at)] = at
        excess[start : start + len(at)] = np.expm1(scores[s, at])
    np.exp(scores, out=scores)


def forward(
    matrices: Any,
    entries: Any,
    weights: Any,
    unigram_of_row: Any,
    group_ptr: Any,
    group_set: Any,
    after: Any,
    arriving: Any,
    scale: Any,
    room: Any,
) -> None:
    """See :func:`._kernels.forward`."""
    counts, where, excess, most = entries
    labels = arriving.shape[1]
    for (start, end), s in zip(group_ptr, group_set, strict=True):
        lines = room[: end - start]
        if s < 0 or counts[s] >= 0:
            lines[:] = 1.0
            if s >= 0 and counts[s]:
                held = slice(s * most, s * most + counts[s])
                y0, y = np.divmod(where[held], labels)
                np.add.at(lines.T, y, (arriving[start:end, y0] * excess[held]).T)
        else:
            np.dot(arriving[start:end], matrices[s], lines)
        lines *= weights[unigram_of_row[start:end]]
        scale[start:end] = lines.sum(axis=1)
        arriving[after[start:end]] = lines / scale[start:end, None]


def backward(
    matrices: Any,
    entries: Any,
    weights: Any,
    unigram_of_row: Any,
    group_ptr: Any,
    group_set: Any,
    before: Any,
    leaving: Any,
    scale: Any,
    room: Any,
) -> None:
    """See :func:`._kernels.backward`."""
    counts, where, excess, most = entries
    labels = leaving.shape[1]
    for (start, end), s in zip(group_ptr[::-1], group_set[::-1], strict=True):
        own, lines = leaving[start:end], room[: end - start]
        own *= weights[unigram_of_row[start:end]] / scale[start:end, None]
        if s < 0:
            continue
        if counts[s] >= 0:
            lines[:] = own.sum(axis=1, keepdims=True)
            held = slice(s * most, s * most + counts[s])
            y0, y = np.divmod(where[held], labels)
            np.add.at(lines.T, y0, (own[:, y] * excess[held]).T)
        else:
            np.dot(own, matrices[s].T, lines)
        leaving[before[start:end]] = lines


def add_pairs(
    matrices: Any,
    entries: Any,
    ptr: Any,
    ids: Any,
    set_rows: Any,
    arriving: Any,
    leaving: Any,
    gradient: Any,
) -> None:
    """See :func:`._kernels.add_pairs`."""
    counts, where, excess, most = entries
    for s in range(1, len(ptr) - 1):
        rows = slice(set_rows[s], set_rows[s + 1])
        sums = (arriving[rows].T @ leaving[rows]).reshape(-1)
        if counts[s] >= 0:
            held = slice(s * most, s * most + counts[s])
            sums[where[held]] *= 1.0 + excess[held]
        else:
            sums *= matrices[s].reshape(-1)
        np.add.at(gradient, ids[ptr[s] : ptr[s + 1]], sums)


def add_singles(
    weights: Any,
    unigram_of_row: Any,
    after: Any,
    arriving: Any,
    leaving: Any,
    scale: Any,
    sums: Any,
) -> None:
    """See :func:`._kernels.add_singles`."""
    posterior = arriving[after] * leaving * scale[:, None] / weights[unigram_of_row]
    for y in range(sums.shape[1]):
        sums[:, y] += np.bincount(unigram_of_row, posterior[:, y], len(sums))
