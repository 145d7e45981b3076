"""Kernels that count rows in the cells of supports of two-valued columns, and what cells lose.

A support of m such columns parts the rows into at most 2^m cells, and no function of its columns
(no card, whatever its points, scale and intercept) loses less than the sum of the cells' least
losses. Rows are laid out as bits by the cells of a *base*, all columns of the support but three,
and by label: a third column then costs one population count per segment, and the other seven parts
of each cell follow by inclusion and exclusion.

References
----------
Lin, Zhong, Hu, Rudin & Seltzer, "Generalized and scalable optimal sparse decision trees" (2020):
rows alike in what is read, as a bound on what is lost, by bit vectors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, inner
from milpscore.losses import LOSSES

LOGISTIC, SQUARED, SQUARED_HINGE, POISSON, ZERO_ONE = range(5)
"""The losses whose least value in a cell is known."""

KINDS = {
    LOSSES["logistic"]: LOGISTIC,
    LOSSES["squared"]: SQUARED,
    LOSSES["squared_hinge"]: SQUARED_HINGE,
    LOSSES["poisson"]: POISSON,
}
"""The smooth ones among them."""


def _popcount(typing: Any, word: Any) -> Any:
    """Count the bits set in a word of 64; LLVM knows how to count many words at once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


popcount: Any = intrinsic(_popcount)


class Losses(NamedTuple):
    """The kind of loss, weights per row, and tables of f(x) = x log x for LOGISTIC (else empty)."""

    kind: int
    weight_positive: float
    weight_negative: float
    positive: FloatArray  # f of the weight of p positive rows
    negative: FloatArray
    both: FloatArray  # by p + n if the two labels weigh alike, else empty
    # prices of limits on errors: paid per row on the wrong side of 0, with LOGISTIC alone
    paid_positive: float = 0.0
    paid_negative: float = 0.0


class CellLayout(NamedTuple):
    """Columns as bits, laid out by the impure cells of a base, the costliest first."""

    bits: NDArray[np.uint64]  # (m, W)
    # the positive rows of cell c are in words segments[2c] to segments[2c + 1], its negative ones
    # up to segments[2c + 2]
    segments: IntArray
    size: NDArray[np.uint64]  # rows of each segment


class KnownPairs(NamedTuple):
    """Counts and losses of pairs of a layout's columns, for bounds on triples."""

    pairs: NDArray[np.uint32]  # [i, j, s], i <= j: rows of segment s with both (with i if j = i)
    lone: FloatArray  # (m,): what base and column lose
    parted: FloatArray  # [i, j]: how much of that column j takes off at most
    crossed: FloatArray  # the same by [j, i]


class Lanes(NamedTuple):
    """The pairs once more, so that the errors of many third columns are counted at once."""

    bits: NDArray[np.uint64]  # (W, m)
    both: NDArray[np.int32]  # [i, s, k]: rows of segment s with i and k
    single: NDArray[np.int32]  # (S, m): with k


def lanes_of(layout: CellLayout, pairs: NDArray[np.uint32]) -> Lanes:
    """Lay out bits and pairs for :func:`count_errors`."""
    both = np.ascontiguousarray(pairs.transpose(0, 2, 1)).astype(np.int32)
    single = np.ascontiguousarray(np.diagonal(both, axis1=0, axis2=2))
    return Lanes(np.ascontiguousarray(layout.bits.T), both, single)


@inner
def number_of(key: int, table: Any, count: int) -> int:
    """Return a key's number; a new key gets the number ``count``."""
    # ``table`` (2, a power of two): open hash table of numbers, -1 where free, and their keys
    mask = table.shape[1] - 1
    slot = (key ^ (key >> 17) ^ (key >> 31)) & mask  # the key itself if there are few
    while table[0, slot] >= 0 and table[1, slot] != key:
        slot = (slot + 1) & mask
    if table[0, slot] < 0:
        table[0, slot], table[1, slot] = count, key
    return int(table[0, slot])


@inner
def least(losses: Any, p: int, n: int) -> Any:
    """Return the least loss of p positive and n negative rows at one score, prices included."""
    if p == 0 or n == 0:
        return 0.0
    weight_p, weight_n = p * losses.weight_positive, n * losses.weight_negative
    if losses.kind == ZERO_ONE:
        return min(weight_p, weight_n)
    if losses.kind == LOGISTIC:
        total = weight_p + weight_n
        if len(losses.both) > 0:
            h = losses.both[p + n] - losses.positive[p] - losses.negative[n]
        else:
            h = total * math.log(total) - losses.positive[p] - losses.negative[n]
        # across 0 from the best score, rows lose least at 0
        zero = total * math.log(2.0)
        above = (h if weight_p >= weight_n else zero) + n * losses.paid_negative
        below = (h if weight_p <= weight_n else zero) + p * losses.paid_positive
        return min(above, below)
    if losses.kind == POISSON:
        # above what a positive row loses whatever happens, which is 1
        return weight_p * math.log1p(weight_n / weight_p)
    return 2.0 * weight_p * weight_n / (weight_p + weight_n)


@compiled
def lay(rows: Any, cell: Any, place: Any, out: Any) -> None:
    """Write rows by cells, those of cell c from ``place[c]`` on, which moves; none if negative."""
    for i in range(len(rows)):
        at = place[cell[i]]
        if at >= 0:
            out[at] = rows[i]
            place[cell[i]] = at + 1


@compiled
def pack(columns: Any, order: Any, out: Any) -> None:
    """Set bit b of word w of ``out[c]`` to row ``order[64 w + b]`` of column c; -1 for no row."""
    for c in range(out.shape[0]):
        column = columns[c]
        for w in range(out.shape[1]):
            word = np.uint64(0)
            for b in range(64):
                row = order[64 * w + b]
                if row >= 0:
                    word |= np.uint64(column[row]) << np.uint64(b)
            out[c, w] = word


@inner
def shared(a: Any, bits: Any, k: int, first: int, end: int) -> Any:
    """Count the bits that ``a`` and row k of ``bits`` share in the words first..end-1."""
    # a view of the row would be counted as a reference each time
    total, lanes = np.uint64(0), 8  # words counted at once, 512 bits
    whole = end - (end - first) % lanes
    for w in range(first, whole, lanes):
        for lane in range(lanes):
            total += popcount(a[w + lane] & bits[k, w + lane])
    for w in range(whole, end):
        total += popcount(a[w] & bits[k, w])
    return total


@inner
def entropy(table: Any, p: Any, n: Any) -> Any:
    """Return the least log loss of p and n rows of equal weight; 0 if either is 0."""
    return table[p + n] - table[p] - table[n]


@compiled
def gains(layout: Any, losses: Any, ways: Any, out: Any) -> float:
    """Return what the base's cells lose; ``out`` (m,) gets how much each column parts at most."""
    # ``ways`` (m, 2): whether a column may put rows with its bit above others, and below. Under a
    # loss that rises towards the other class, pairs in the wrong order lose as much as equal ones.
    # Among the p n pairs of a positive and a negative row in a cell that loses h, a column that
    # parts a share t leaves at least (1 - t) h, and several columns part at most the sum of their
    # shares: h / (p n) falls in p and in n, so that no part of the cell loses less per pair (it is
    # the least over scores z of F(z) / p + G(z) / n, F and G being what a row of each class loses
    # and pays).
    total = 0.0
    out[:] = 0.0
    for c in range(len(layout.size) // 2):
        p, n = layout.size[2 * c], layout.size[2 * c + 1]
        h = least(losses, p, n)
        total += h
        a, b, e = layout.segments[2 * c], layout.segments[2 * c + 1], layout.segments[2 * c + 2]
        for j in range(len(out)):
            q = shared(layout.bits[j], layout.bits, j, a, b)
            r = shared(layout.bits[j], layout.bits, j, b, e)
            above, below = float(q) / p * (1.0 - float(r) / n), (1.0 - float(q) / p) * r / n
            out[j] += h * (ways[j, 0] * above + ways[j, 1] * below)
    return total


@compiled
def know_pairs(layout: Any, losses: Any, ways: Any, known: Any) -> None:
    """Fill ``known``; ``ways`` as in :func:`gains`."""
    bits, segments, size = layout.bits, layout.segments, layout.size
    m = len(bits)
    for i in range(m):
        for j in range(i, m):
            for s in range(len(size)):
                known.pairs[i, j, s] = shared(bits[i], bits, j, segments[s], segments[s + 1])
    for i in range(m):
        parted = known.parted[i]
        parted[:] = 0.0
        lone = 0.0
        for c in range(len(size) // 2):
            for side in range(2):
                p, n = known.pairs[i, i, 2 * c], known.pairs[i, i, 2 * c + 1]
                if side == 1:
                    p, n = size[2 * c] - p, size[2 * c + 1] - n
                if p == 0 or n == 0:
                    continue
                h = least(losses, p, n)
                lone += h
                h /= float(p) * float(n)
                for j in range(m):
                    pair = known.pairs[min(i, j), max(i, j)]
                    q, r = pair[2 * c], pair[2 * c + 1]
                    if side == 1:
                        q = known.pairs[j, j, 2 * c] - q
                        r = known.pairs[j, j, 2 * c + 1] - r
                    above, below = float(q) * float(n - r), float(p - q) * float(r)
                    parted[j] += h * (ways[j, 0] * above + ways[j, 1] * below)
        known.lone[i] = lone
        for j in range(m):
            known.crossed[j, i] = parted[j]


@inner
def add_cells(
    layout: Any, pairs: Any, losses: Any, both: Any, i: int, j: int, k: int, lost: float,
    cutoff: float,
) -> Any:  # fmt: skip
    """Add what the cells of base, i, j and k lose to ``lost``, until that reaches ``cutoff``."""
    bits, segments, size, table = layout.bits, layout.segments, layout.size, losses.both
    entropies = losses.kind == LOGISTIC and len(table) > 0
    entropies = entropies and losses.paid_positive == 0.0 and losses.paid_negative == 0.0
    for c in range(len(size) // 2):
        s, t = 2 * c, 2 * c + 1
        # rows of the eight parts, by membership of (i, j, k) read as bits
        p7 = shared(both, bits, k, segments[s], segments[t])
        n7 = shared(both, bits, k, segments[t], segments[t + 1])
        p6, n6 = pairs[i, j, s] - p7, pairs[i, j, t] - n7
        p5, n5 = pairs[i, k, s] - p7, pairs[i, k, t] - n7
        p3, n3 = pairs[j, k, s] - p7, pairs[j, k, t] - n7
        p4, n4 = pairs[i, i, s] - p7 - p6 - p5, pairs[i, i, t] - n7 - n6 - n5
        p2, n2 = pairs[j, j, s] - p7 - p6 - p3, pairs[j, j, t] - n7 - n6 - n3
        p1, n1 = pairs[k, k, s] - p7 - p5 - p3, pairs[k, k, t] - n7 - n5 - n3
        p0 = size[s] - pairs[i, i, s] - p2 - p3 - p1
        n0 = size[t] - pairs[i, i, t] - n2 - n3 - n1
        if entropies:
            lost += entropy(table, p7, n7) + entropy(table, p6, n6) + entropy(table, p5, n5)
            lost += entropy(table, p4, n4) + entropy(table, p3, n3) + entropy(table, p2, n2)
            lost += entropy(table, p1, n1) + entropy(table, p0, n0)
        else:
            lost += least(losses, p7, n7) + least(losses, p6, n6) + least(losses, p5, n5)
            lost += least(losses, p4, n4) + least(losses, p3, n3) + least(losses, p2, n2)
            lost += least(losses, p1, n1) + least(losses, p0, n0)
        if lost >= cutoff:
            break
    return lost


@inner
def count_errors(layout: Any, lanes: Any, both: Any, i: int, j: int, rows: Any, out: Any) -> None:
    """Count errors in the cells of base, i, j and each later k; ``rows`` is scratch."""
    m, bits, cross, single = len(out), lanes.bits, lanes.both, lanes.single
    out[j + 1 :] = 0
    for c in range(len(layout.size) // 2):
        for side in range(2):
            for k in range(j + 1, m):
                rows[side, k] = 0
            first, end = layout.segments[2 * c + side], layout.segments[2 * c + side + 1]
            whole = end - (end - first) % 4
            for w in range(first, whole, 4):
                a, b, e, f = both[w], both[w + 1], both[w + 2], both[w + 3]
                for k in range(j + 1, m):
                    some = popcount(a & bits[w, k]) + popcount(b & bits[w + 1, k])
                    more = popcount(e & bits[w + 2, k]) + popcount(f & bits[w + 3, k])
                    rows[side, k] += np.int32(some + more)
            for w in range(whole, end):
                a = both[w]
                for k in range(j + 1, m):
                    rows[side, k] += np.int32(popcount(a & bits[w, k]))
        s, t = 2 * c, 2 * c + 1
        p, n = np.int32(layout.size[s]), np.int32(layout.size[t])
        pi, ni, pj, nj = single[s, i], single[t, i], single[s, j], single[t, j]
        pij, nij = cross[i, s, j], cross[i, t, j]
        for k in range(j + 1, m):
            # rows of the eight parts, by membership of (i, j, k) read as bits
            p7, n7 = rows[0, k], rows[1, k]
            p5, n5 = np.int32(cross[i, s, k] - p7), np.int32(cross[i, t, k] - n7)
            p3, n3 = np.int32(cross[j, s, k] - p7), np.int32(cross[j, t, k] - n7)
            p1 = np.int32(single[s, k] - cross[i, s, k] - p3)
            n1 = np.int32(single[t, k] - cross[i, t, k] - n3)
            p6, n6 = np.int32(pij - p7), np.int32(nij - n7)
            p4, n4 = np.int32(pi - pij - p5), np.int32(ni - nij - n5)
            p2, n2 = np.int32(pj - pij - p3), np.int32(nj - nij - n3)
            p0, n0 = np.int32(p - pi - p2 - p3 - p1), np.int32(n - ni - n2 - n3 - n1)
            lost = min(p7, n7) + min(p6, n6) + min(p5, n5) + min(p4, n4)
            lost += min(p3, n3) + min(p2, n2) + min(p1, n1) + min(p0, n0)
            out[k] += np.int32(lost)


@inner
def mark_open(known: Any, charge: Any, i: int, j: int, cutoff: float, open_: Any) -> int:
    """Mark third columns with which i and j may lose less than ``cutoff``; return their number."""
    # what two of the three leave at least, less what the other one parts
    lone, parted, paid, left = known.lone, known.parted, charge[i] + charge[j], 0
    of_i, of_j = lone[i] - parted[i, j] + paid, lone[j] - parted[j, i] + paid
    by_i, by_j, to_i, to_j = parted[i], parted[j], known.crossed[i], known.crossed[j]
    for k in range(j + 1, len(open_)):
        rest = max(of_i - by_i[k], of_j - by_j[k], lone[k] - to_i[k] - to_j[k] + paid)
        open_[k] = rest + charge[k] < cutoff
        left += open_[k]
    return left


@compiled
def write_triples(
    layout: Any, known: Any, lanes: Any, losses: Any, charge: Any, cutoff: float, most: int,
    state: Any, out: Any, bounds: Any,
) -> int:  # fmt: skip
    """Write the triples of columns whose cells lose less than ``cutoff``; return their number."""
    # ``charge`` (m,): what a column costs at least; ``state`` (4,): the pair to begin with, how
    # many were looked at and counted; ``bounds`` (room,): what their cells lose, with charges.
    # Ends at (m, m), where ``out`` (room, 3) may be full, or at ``most`` counted triples.
    # ``lanes`` are for the 0-1 loss, else None, which numba knows when compiling.
    bits, m = layout.bits, len(layout.bits)
    both = np.empty(bits.shape[1], np.uint64)
    rows, errors = np.zeros((2, m), np.int32), np.empty(m, np.int32)
    open_ = np.empty(m, np.bool_)
    count = 0
    i, j = state[0], state[1]
    while i < m - 2:
        while j < m - 1:
            if count + m > len(out) or state[3] >= most:
                state[0], state[1] = i, j
                return count
            # 1) Find the third columns that may matter.
            left = mark_open(known, charge, i, j, cutoff, open_)
            state[2] += m - 1 - j
            state[3] += left
            if left == 0:
                j += 1
                continue
            # 2) Count the cells with them: all at once if they are many.
            at_once, paid = False, charge[i] + charge[j]
            for w in range(bits.shape[1]):
                both[w] = bits[i, w] & bits[j, w]
            if lanes is not None:
                at_once = left * 8 > m - 1 - j
                if at_once:
                    count_errors(layout, lanes, both, i, j, rows, errors)
            for k in range(j + 1, m):
                if not open_[k]:
                    continue
                lost = paid + charge[k]
                if at_once:
                    lost += errors[k]
                else:
                    lost = add_cells(layout, known.pairs, losses, both, i, j, k, lost, cutoff)
                if lost < cutoff:
                    out[count, 0], out[count, 1], out[count, 2] = i, j, k
                    bounds[count] = lost
                    count += 1
            j += 1
        i += 1
        j = i + 1
    state[0], state[1] = m, m
    return count
