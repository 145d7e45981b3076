"""Forward-backward and list Viterbi, compiled. Import it where it is used: numba takes its time.

With L labels, the recursions over the positions t of a sequence are

    alpha_t(y)  = w_t(y) sum_y' alpha_{t-1}(y') E_t(y', y),   alpha_1 = w_1,
    beta_t(y')  = sum_y E_{t+1}(y', y) w_{t+1}(y) beta_{t+1}(y),   beta_T = 1,

where w = exp(sum of mu) and E = exp(sum of lambda) depend on the sets of unigram and of bigram
observations at t alone. Each alpha_t is divided by its sum (``scale``): Z is the product of these.
Where few lambda are not zero, M = E - 1 is sparse, and sum_y' alpha(y') E(y', y) is
sum_y' alpha(y') + sum_{y' : M(y', y) != 0} alpha(y') M(y', y) (slide "Sparse Forward-Backward").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from milpscore.core.jit import compiled, inner

ENTRY = np.dtype([("pair", np.int64), ("excess", np.float64)])
"""A nonzero of M: y' L + y, and exp(lambda) - 1 there."""

# 1 + M loses digits where M nears -1: with a score below -8 a set is worked on by E (3e-13 lost).
CANCELLING = 8.0
# From this many multiplications on a BLAS call is quicker than plain loops.
_BLAS_FROM = 4000


class Chain(NamedTuple):
    """The arrays of a sweep: T rows and G groups of a :class:`.Schedule`, S bigram sets."""

    rows: Any  # (T,) of ROW
    groups: Any  # (G,) of GROUP
    weights: Any  # (unigram sets, L): w
    matrices: Any  # (S, L, L): E of each set, where counts[s] < 0
    counts: Any  # (S,): how many of entries[s] count; -1: by the whole matrix
    entries: Any  # (S, most) of ENTRY
    arriving: Any  # (T, L): the scaled alpha of the position before
    leaving: Any  # (T, L): w beta / scale
    scale: Any  # (T,)
    room: Any  # (rows of the widest group, L)


@compiled
def fill_sets(lam: Any, ptr: Any, ids: Any, steep: float, dense: bool, chain: Any) -> Any:
    """Fill E, or the entries of M where these suffice; answer the largest |score| of each set."""
    # Scores beyond +-``steep`` are cut there: sequences that meet them are not worked on here. If
    # ``dense``, the matrices are left at the scores: the caller takes all exponentials at once.
    matrices, counts, entries = chain.matrices, chain.counts, chain.entries
    most = entries.shape[1]
    biggest = np.zeros(len(counts))
    # set 0 is empty: its matrix is 1 throughout, and its M has no entries
    for s in range(1, len(counts)):
        scores = matrices[s].reshape(matrices.shape[1] * matrices.shape[2])
        scores[:] = 0.0
        for k in range(ptr[s], ptr[s + 1]):
            row = lam[ids[k]]
            for j in range(len(scores)):
                scores[j] += row[j]
        top, low = 0.0, 0.0
        count = 0
        for j in range(len(scores)):
            top = max(top, scores[j])
            low = min(low, scores[j])
            count += scores[j] != 0.0
        biggest[s] = max(top, -low)
        if biggest[s] > steep:
            for j in range(len(scores)):
                scores[j] = min(max(scores[j], -steep), steep)
        counts[s] = -1
        if dense:
            continue
        if count > most or low < -CANCELLING:
            for j in range(len(scores)):
                scores[j] = np.exp(scores[j])
            continue
        counts[s] = count
        k = 0
        for j in range(len(scores)):
            if scores[j] != 0.0:
                entries[s, k].pair = j
                entries[s, k].excess = np.expm1(scores[j])
                k += 1
    return biggest


@inner
def times(block: Any, E: Any, room: Any) -> None:
    """``room`` (n, L) = ``block`` (n, L) E (L, L)."""
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


@inner
def times_back(block: Any, E: Any, room: Any) -> None:
    """``room`` (n, L) = ``block`` (n, L) E' (L, L)."""
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
def forward(chain: Any) -> None:
    """Write the scaled alpha of each row to ``arriving`` of the row after it, its sum to scale."""
    rows, weights, arriving = chain.rows, chain.weights, chain.arriving
    L = arriving.shape[1]
    for g in range(len(chain.groups)):
        start, end, s = chain.groups[g].start, chain.groups[g].end, chain.groups[g].bigrams
        lines = chain.room[: end - start]
        if s >= 0 and chain.counts[s] < 0:
            times(arriving[start:end], chain.matrices[s], lines)
        else:
            # alpha sums to 1, and so does what stands for it at first positions
            lines[:] = 1.0
            for k in range(chain.counts[s] if s >= 0 else 0):
                entry = chain.entries[s, k]
                y0 = entry.pair // L
                y = entry.pair - y0 * L
                for r in range(end - start):
                    lines[r, y] += arriving[start + r, y0] * entry.excess
        for r in range(end - start):
            line, weight = lines[r], weights[rows[start + r].unigrams]
            total = 0.0
            for y in range(L):
                line[y] *= weight[y]
                total += line[y]
            chain.scale[start + r] = total
            target = arriving[rows[start + r].after]
            factor = 1.0 / total
            for y in range(L):
                target[y] = line[y] * factor


@compiled
def backward(chain: Any) -> None:
    """Write w beta / scale to ``leaving``, which holds ones at the last positions."""
    # Afterwards the pair posterior at a row is arriving(y') E(y', y) leaving(y).
    rows, weights, leaving = chain.rows, chain.weights, chain.leaving
    L = leaving.shape[1]
    for g in range(len(chain.groups) - 1, -1, -1):
        start, end, s = chain.groups[g].start, chain.groups[g].end, chain.groups[g].bigrams
        for r in range(start, end):
            line, weight = leaving[r], weights[rows[r].unigrams]
            factor = 1.0 / chain.scale[r]
            for y in range(L):
                line[y] *= weight[y] * factor
        if s < 0:
            continue
        lines = chain.room[: end - start]
        if chain.counts[s] < 0:
            times_back(leaving[start:end], chain.matrices[s], lines)
        else:
            for r in range(end - start):
                total = 0.0
                for y in range(L):
                    total += leaving[start + r, y]
                lines[r] = total
            for k in range(chain.counts[s]):
                entry = chain.entries[s, k]
                y0 = entry.pair // L
                y = entry.pair - y0 * L
                for r in range(end - start):
                    lines[r, y0] += leaving[start + r, y] * entry.excess
        # loops: numba takes two seconds to compile the assignment of one slice to another
        for r in range(end - start):
            target = leaving[rows[start + r].before]
            for y in range(L):
                target[y] = lines[r, y]


@compiled
def add_pairs(ptr: Any, ids: Any, set_rows: Any, chain: Any, gradient: Any) -> None:
    """Add the pair posteriors of all rows of a set to the gradient (n, L^2) of its observations."""
    arriving, leaving = chain.arriving, chain.leaving
    L = arriving.shape[1]
    sums = np.empty((L, L))
    flat = sums.reshape(L * L)
    for s in range(1, len(ptr) - 1):
        start, end = set_rows[s], set_rows[s + 1]
        # sum over the rows of alpha(y') (w beta)(y), then times E(y', y), which they share
        if (end - start) * L * L >= _BLAS_FROM:
            np.dot(arriving[start:end].T, leaving[start:end], sums)
        else:
            sums[:] = 0.0
            for r in range(start, end):
                for y0 in range(L):
                    factor = arriving[r, y0]
                    for y in range(L):
                        sums[y0, y] += factor * leaving[r, y]
        if chain.counts[s] >= 0:
            for k in range(chain.counts[s]):
                flat[chain.entries[s, k].pair] *= 1.0 + chain.entries[s, k].excess
        else:
            matrix = chain.matrices[s].reshape(L * L)
            for j in range(L * L):
                flat[j] *= matrix[j]
        for k in range(ptr[s], ptr[s + 1]):
            row = gradient[ids[k]]
            for j in range(L * L):
                row[j] += flat[j]


@compiled
def add_singles(chain: Any, sums: Any) -> None:
    """Add the posterior of each row to the line of its set of unigram observations."""
    for r in range(len(chain.rows)):
        u, scale = chain.rows[r].unigrams, chain.scale[r]
        before, after = chain.arriving[chain.rows[r].after], chain.leaving[r]
        weight, line = chain.weights[u], sums[u]
        for y in range(len(line)):
            line[y] += before[y] * after[y] * scale / weight[y]


class Active(NamedTuple):
    """The parameters that are not zero, by observation: those of u are ptr[u]:ptr[u+1]."""

    ptr: Any
    at: Any  # the label, or y' L + y
    weights: Any


@inner
def _add_active(ids: Any, active: Active, scores: Any) -> None:
    """Write the sum of the observations' parameters to ``scores``."""
    for j in range(len(scores)):
        scores[j] = 0.0
    for k in range(len(ids)):
        for j in range(active.ptr[ids[k]], active.ptr[ids[k] + 1]):
            scores[active.at[j]] += active.weights[j]


@compiled
def best_labels(
    offsets: Any, unigrams: Any, bigrams: Any, mu: Active, lam: Active, labels: Any, own: Any
) -> None:
    """Write the best labelling of each sequence to ``labels`` (T,)."""
    # ``unigrams`` and ``bigrams`` are the ptr and ids held at the positions, ``own`` (longest, L)
    # is room for sums of mu. Ties go to the lower earlier label.
    L = own.shape[1]
    value, moves = np.empty(L), np.empty(L * L)
    # came[t, y]: the label at t - 1 on the best way to y at t
    came = np.empty(own.shape, dtype=np.int64)
    for i in range(len(offsets) - 1):
        start, n = offsets[i], offsets[i + 1] - offsets[i]
        for t in range(n):
            ptr, ids = unigrams
            _add_active(ids[ptr[start + t] : ptr[start + t + 1]], mu, own[t])
            line, back = own[t], came[t]
            if t > 0:
                ptr, ids = bigrams
                _add_active(ids[ptr[start + t] : ptr[start + t + 1]], lam, moves)
                before = own[t - 1]
                for y in range(L):
                    value[y] = before[0] + moves[y]
                    back[y] = 0
                for y0 in range(1, L):
                    here, row = before[y0], moves[y0 * L : (y0 + 1) * L]
                    for y in range(L):
                        # both kept or both replaced, without a branch: the loop is vectorised
                        candidate = here + row[y]
                        better = candidate > value[y]
                        value[y] = candidate if better else value[y]
                        back[y] = y0 if better else back[y]
                for y in range(L):
                    line[y] += value[y]
        best = 0
        if n > 0:
            for y in range(1, L):
                if own[n - 1, y] > own[n - 1, best]:
                    best = y
        for t in range(n - 1, -1, -1):
            labels[start + t] = best
            best = came[t, best] if t > 0 else 0


@inner
def _insert(candidate: float, mark: int, values: Any, marks: Any) -> None:
    """Put a candidate into a falling list in place of its last; equals stay in front."""
    at = len(values) - 1
    while at > 0 and candidate > values[at - 1]:
        values[at] = values[at - 1]
        marks[at] = marks[at - 1]
        at -= 1
    values[at] = candidate
    marks[at] = mark


@inner
def _grow(value: Any, moves: Any, grown: Any, came: Any) -> None:
    """The best values (L, k) at the next position, and the y' k + rank' that each goes on."""
    L, k = value.shape
    grown[:] = -np.inf
    for y0 in range(L):
        for rank in range(k):
            here = value[y0, rank]
            if here == -np.inf:
                break
            for y in range(L):
                candidate = here + moves[y0 * L + y]
                if candidate > grown[y, k - 1]:
                    _insert(candidate, y0 * k + rank, grown[y], came[y])


@compiled
def best_paths(
    offsets: Any, unigrams: Any, bigrams: Any, mu: Active, lam: Active, labels: Any, scores: Any,
    came: Any,
) -> None:  # fmt: skip
    """Write the k best labellings of each sequence to ``labels`` (k, T), ``scores`` (k, N)."""
    # The first five are those of `best_labels`. came (longest, L, k) is room: the rank-th best at
    # (t, y) goes on entry came[t, y, rank] = y' k + rank' at t - 1. Ties go to the lower earlier
    # label, then to the better rank there. Scores of labellings that do not exist stay as they are.
    _, L, k = came.shape
    value, grown = np.empty((L, k)), np.empty((L, k))
    own, moves = np.empty(L), np.empty(L * L)
    for i in range(len(offsets) - 1):
        start, end = offsets[i], offsets[i + 1]
        if start == end:
            scores[0, i] = 0.0
            continue
        value[:] = -np.inf
        for t in range(start, end):
            ptr, ids = unigrams
            _add_active(ids[ptr[t] : ptr[t + 1]], mu, own)
            if t == start:
                for y in range(L):
                    value[y, 0] = own[y]
                continue
            ptr, ids = bigrams
            _add_active(ids[ptr[t] : ptr[t + 1]], lam, moves)
            _grow(value, moves, grown, came[t - start])
            for y in range(L):
                for rank in range(k):
                    value[y, rank] = grown[y, rank] + own[y]
        for place in range(k):
            at = 0
            for j in range(1, L * k):
                if value[j // k, j % k] > value[at // k, at % k]:
                    at = j
            if value[at // k, at % k] == -np.inf:
                break
            scores[place, i] = value[at // k, at % k]
            value[at // k, at % k] = -np.inf
            for t in range(end - 1, start - 1, -1):
                labels[place, t] = at // k
                at = came[t - start, at // k, at % k]
