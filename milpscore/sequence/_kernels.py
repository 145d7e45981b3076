"""Forward-backward compiled: rows, groups and sets as :class:`._prepared.Schedule` sorts them.

Import it where it is used, and only where numba is there: uncompiled, the loops over labels are
slow, and :mod:`._forward_backward` has the same in NumPy.

A set of bigram observations is worked on through its matrix E = exp(lambda), or, where ``counts``
is not negative, through the ``counts`` nonzero entries of M = exp(lambda) - 1 (the sparse
recursion), which stand from ``s * most`` on in ``where`` (y' L + y) and ``excess``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled

# The sum 1 + M loses a digit where M nears -1: below -8 a set is worked on through E (3e-13 lost).
CANCELLING = 8.0
# From this many multiplications on a BLAS call is quicker than plain loops.
_BLAS_FROM = 4000


@compiled
def add_scores(lam: Any, ids: Any, scores: Any) -> None:
    """Write the sum of the observations' rows of lambda to ``scores``."""
    scores[:] = lam[ids[0]]
    for k in range(1, len(ids)):
        row = lam[ids[k]]
        for j in range(len(scores)):
            scores[j] += row[j]


@compiled
def fill_sets(
    lam: Any, ptr: Any, ids: Any, most: int, steep: float, matrices: Any, out: Any
) -> None:
    """Fill E, or the entries of M where there are at most ``most``, and the largest |lambda|.

    A set with a score below -``CANCELLING`` gets its E in any case.

    ``out`` is (counts, where, excess, biggest). Scores beyond +-``steep`` are cut there: sequences
    that meet them are not worked on here. With ``most`` negative ``matrices`` is left at lambda:
    the caller takes the exponential of all at once.
    """
    counts, where, excess, biggest = out
    for s in range(1, len(ptr) - 1):
        scores = matrices[s].reshape(matrices.shape[1] * matrices.shape[2])
        add_scores(lam, ids[ptr[s] : ptr[s + 1]], scores)
        top, low = 0.0, 0.0
        count = 0
        for j in range(len(scores)):
            top = max(top, scores[j])
            low = min(low, scores[j])
            count += scores[j] != 0.0
        top = max(top, -low)
        biggest[s] = top
        if top > steep:
            for j in range(len(scores)):
                scores[j] = min(max(scores[j], -steep), steep)
        if most < 0:
            counts[s] = -1
        elif count > most or low < -CANCELLING:
            counts[s] = -1
            for j in range(len(scores)):
                scores[j] = np.exp(scores[j])
        else:
            counts[s] = count
            k = s * most
            for j in range(len(scores)):
                if scores[j] != 0.0:
                    where[k] = j
                    excess[k] = np.expm1(scores[j])
                    k += 1


@compiled
def dense_step(block: Any, E: Any, room: Any) -> None:
    """``room`` = ``block`` E, a line a row."""
    n, L = block.shape
    if n * L * L >= _BLAS_FROM:
        np.dot(block, E, room)
        return
    for r in range(n):
        vector, line = block[r], room[r]
        line[:] = 0.0
        for y0 in range(L):
            factor = vector[y0]
            for y in range(L):
                line[y] += factor * E[y0, y]


@compiled
def dense_step_back(block: Any, E: Any, room: Any) -> None:
    """``room`` = ``block`` E', a line a row."""
    n, L = block.shape
    if n * L * L >= _BLAS_FROM:
        np.dot(block, E.T, room)
        return
    for r in range(n):
        vector, line = block[r], room[r]
        for y0 in range(L):
            total = 0.0
            for y in range(L):
                total += E[y0, y] * vector[y]
            line[y0] = total


@compiled
def sparse_step(block: Any, where: Any, excess: Any, room: Any) -> None:
    """``room`` = ``block`` (1 + M), from M's entries, where each row of ``block`` sums to 1."""
    n, L = block.shape
    for r in range(n):
        vector, line = block[r], room[r]
        line[:] = 1.0
        for k in range(len(where)):
            y0 = where[k] // L
            line[where[k] - y0 * L] += vector[y0] * excess[k]


@compiled
def sparse_step_back(block: Any, where: Any, excess: Any, room: Any) -> None:
    """``room`` = ``block`` (1 + M)', from M's entries."""
    n, L = block.shape
    for r in range(n):
        vector, line = block[r], room[r]
        line[:] = vector.sum()
        for k in range(len(where)):
            y0 = where[k] // L
            line[y0] += vector[where[k] - y0 * L] * excess[k]


@compiled
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
    """Scaled forward vectors: write that of each row to ``arriving`` of the row after it.

    ``scale`` gets the factor each was divided by; the log of their product is log Z.
    """
    counts, where, excess, most = entries
    L = arriving.shape[1]
    for g in range(len(group_set)):
        start, end, s = group_ptr[g, 0], group_ptr[g, 1], group_set[g]
        lines = room[: end - start]
        if s < 0:
            lines[:] = 1.0
        elif counts[s] >= 0:
            a, b = s * most, s * most + counts[s]
            sparse_step(arriving[start:end], where[a:b], excess[a:b], lines)
        else:
            dense_step(arriving[start:end], matrices[s], lines)
        for r in range(end - start):
            line, weight = lines[r], weights[unigram_of_row[start + r]]
            total = 0.0
            for y in range(L):
                line[y] *= weight[y]
                total += line[y]
            scale[start + r] = total
            target = arriving[after[start + r]]
            factor = 1.0 / total
            for y in range(L):
                target[y] = line[y] * factor


@compiled
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
    """Scaled backward vectors times exp(mu): ``leaving`` holds ones at the last positions.

    Afterwards the pair posterior at a row is arriving(y') E(y', y) leaving(y).
    """
    counts, where, excess, most = entries
    L = leaving.shape[1]
    for g in range(len(group_set) - 1, -1, -1):
        start, end, s = group_ptr[g, 0], group_ptr[g, 1], group_set[g]
        for r in range(start, end):
            line, weight = leaving[r], weights[unigram_of_row[r]]
            factor = 1.0 / scale[r]
            for y in range(L):
                line[y] *= weight[y] * factor
        if s < 0:
            continue
        lines = room[: end - start]
        if counts[s] >= 0:
            a, b = s * most, s * most + counts[s]
            sparse_step_back(leaving[start:end], where[a:b], excess[a:b], lines)
        else:
            dense_step_back(leaving[start:end], matrices[s], lines)
        for r in range(end - start):
            leaving[before[start + r]] = lines[r]


@compiled
def outer_sum(arriving: Any, leaving: Any, sums: Any) -> None:
    """``sums`` = the sum over rows of the outer products."""
    n, L = arriving.shape
    if n * L * L >= _BLAS_FROM:
        np.dot(arriving.T, leaving, sums)
        return
    sums[:] = 0.0
    for r in range(n):
        vector, other = arriving[r], leaving[r]
        for y0 in range(L):
            factor = vector[y0]
            for y in range(L):
                sums[y0, y] += factor * other[y]


@compiled
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
    """Add the pair posteriors of all rows of a set to the gradient of its observations."""
    counts, where, excess, most = entries
    L = arriving.shape[1]
    sums = np.empty((L, L))
    flat = sums.reshape(L * L)
    for s in range(1, len(ptr) - 1):
        start, end = set_rows[s], set_rows[s + 1]
        outer_sum(arriving[start:end], leaving[start:end], sums)
        if counts[s] >= 0:
            for k in range(s * most, s * most + counts[s]):
                flat[where[k]] *= 1.0 + excess[k]
        else:
            flat *= matrices[s].reshape(L * L)
        for k in range(ptr[s], ptr[s + 1]):
            row = gradient[ids[k]]
            for j in range(L * L):
                row[j] += flat[j]


@compiled
def add_singles(
    weights: Any,
    unigram_of_row: Any,
    after: Any,
    arriving: Any,
    leaving: Any,
    scale: Any,
    sums: Any,
) -> None:
    """Add the posterior of each row to the line of its set of unigram observations."""
    L = arriving.shape[1]
    for r in range(len(after)):
        u = unigram_of_row[r]
        own, other, weight, line = arriving[after[r]], leaving[r], weights[u], sums[u]
        for y in range(L):
            line[y] += own[y] * other[y] * scale[r] / weight[y]
