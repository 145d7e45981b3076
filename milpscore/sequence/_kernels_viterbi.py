"""The list Viterbi recursion compiled; import it only where numba is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled


@compiled
def sum_scores(lam: Any, ids: Any, summed: Any) -> None:
    """Write the sum of the observations' matrices to ``summed``."""
    summed[:] = 0.0
    for j in range(len(ids)):
        matrix = lam[ids[j]]
        for y0 in range(len(summed)):
            for y in range(len(summed)):
                summed[y0, y] += matrix[y0, y]


@compiled
def insert(candidate: float, mark: int, values: Any, marks: Any) -> None:
    """Put a candidate into a falling list in place of its last; equals stay in front."""
    at = len(values) - 1
    while at > 0 and candidate > values[at - 1]:
        values[at] = values[at - 1]
        marks[at] = marks[at - 1]
        at -= 1
    values[at] = candidate
    marks[at] = mark


@compiled
def grow(value: Any, summed: Any, grown: Any, came: Any) -> None:
    """The best values at the next position, and the y' k + rank that each came from."""
    L, k = value.shape
    grown[:] = -np.inf
    for y0 in range(L):
        for rank in range(k):
            here = value[y0, rank]
            if here == -np.inf:
                break
            for y in range(L):
                candidate = here + summed[y0, y]
                if candidate > grown[y, k - 1]:
                    insert(candidate, y0 * k + rank, grown[y], came[y])


@compiled
def best_paths(
    offsets: Any,
    unigram_scores: Any,
    unigram_set: Any,
    bigram_set: Any,
    ptr: Any,
    ids: Any,
    lam: Any,
    k: int,
    labels: Any,
    scores: Any,
) -> None:
    """Write the ``k`` best labellings of each sequence to ``labels`` (k, T), ``scores`` (k, N).

    Ties go to the lower earlier label, then to the better rank there. Where there are fewer
    labellings than ``k``, the score stays minus infinity.
    """
    L = unigram_scores.shape[1]
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    value = np.empty((L, k))
    grown = np.empty((L, k))
    origin = np.empty((longest, L, k), dtype=np.int32)
    summed = np.zeros((L, L))
    for i in range(len(offsets) - 1):
        start, end = offsets[i], offsets[i + 1]
        if start == end:
            scores[0, i] = 0.0
            continue
        value[:] = -np.inf
        value[:, 0] = unigram_scores[unigram_set[start]]
        for t in range(start + 1, end):
            s = bigram_set[t]
            sum_scores(lam, ids[ptr[s] : ptr[s + 1]], summed)
            grow(value, summed, grown, origin[t - start])
            for y in range(L):
                value[y] = grown[y] + unigram_scores[unigram_set[t], y]
        final = value.copy().reshape(L * k)
        for place in range(k):
            at = int(np.argmax(final))
            if final[at] == -np.inf:
                break
            scores[place, i] = final[at]
            final[at] = -np.inf
            for t in range(end - 1, start - 1, -1):
                labels[place, t] = at // k
                at = int(origin[t - start, at // k, at % k])
