"""Kernels that count rows in the cells of supports of two-valued columns, and what cells lose.

A support of m such columns parts the rows into at most 2^m cells, and no function of its columns
(no card, whatever its points, scale and intercept) loses less than the sum of the cells' least
losses. Rows are laid out as bits by the cells of a *base*, all columns of the support but three,
and by label: a third column then costs one population count a segment, and the other seven parts
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

LANES = 8
"""Words that are counted at once, 512 bits."""

_NEWTON = 40
_HALVINGS = 30
_LOG_2 = math.log(2.0)
_EPS = float(np.finfo(np.float64).eps)


def _popcount(typing: Any, word: Any) -> Any:
    """Bits set in a word of 64; LLVM knows how to count many words at once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


popcount: Any = intrinsic(_popcount)


class Losses(NamedTuple):
    """The kind of loss, what one positive and one negative row weigh, and tables of f(x) = x log x.

    ``positive`` and ``negative`` hold f of the weight of p positive or n negative rows, ``both`` by
    p + n where the two labels weigh alike (else it is empty); all three are empty but for LOGISTIC.
    ``paid_positive`` and ``paid_negative`` are what a row pays besides on the wrong side of 0, the
    prices of limits on errors; LOGISTIC alone has any.
    """

    kind: int
    weight_positive: float
    weight_negative: float
    positive: FloatArray
    negative: FloatArray
    both: FloatArray
    paid_positive: float = 0.0
    paid_negative: float = 0.0


class CellLayout(NamedTuple):
    """Columns laid out by the impure cells of a base, those that lose most first.

    ``bits`` (m, W); the words ``segments[2c]`` to ``segments[2c + 1]`` are of the positive rows of
    cell c, of which there are ``size[2c]``, those up to ``segments[2c + 2]`` of the negative ones.
    """

    bits: NDArray[np.uint64]
    segments: IntArray
    size: NDArray[np.uint64]


class KnownPairs(NamedTuple):
    """What is known of a layout's pairs of columns, for bounds on triples.

    ``pairs[i, j, s]``, i <= j: rows of segment s with both (with i, for j = i). ``lone`` (m,): what
    base and column lose; ``parted[i, j]``: how much of that column j takes off at most.
    """

    pairs: NDArray[np.uint32]
    lone: FloatArray
    parted: FloatArray


@inner
def least(losses: Any, p: int, n: int) -> Any:
    """The least loss of p positive and n negative rows that all get one score, and pay for it."""
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
        zero = total * _LOG_2
        above = (h if weight_p >= weight_n else zero) + n * losses.paid_negative
        below = (h if weight_p <= weight_n else zero) + p * losses.paid_positive
        return min(above, below)
    if losses.kind == POISSON:
        # above what a positive row loses whatever happens, which is 1
        return weight_p * math.log1p(weight_n / weight_p)
    return 2.0 * weight_p * weight_n / (weight_p + weight_n)


@compiled
def lay(rows: Any, cell: Any, place: Any, out: Any) -> None:
    """Write rows by cells, those of cell c from ``place[c]`` on, which moves; none below 0."""
    for i in range(len(rows)):
        at = place[cell[i]]
        if at >= 0:
            out[at] = rows[i]
            place[cell[i]] = at + 1


@compiled
def pack(columns: Any, order: Any, out: Any) -> None:
    """Lay rows out as bits: bit b of word w of ``out[c]`` is row ``order[64 w + b]`` of column c.

    ``columns`` (m, n) hold 0 and 1, ``order`` has -1 for no row.
    """
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
    """Bits that ``a`` and row k of ``bits`` have in common in the words first..end-1."""
    # a view of the row would be counted as a reference each time
    total = np.uint64(0)
    whole = end - (end - first) % LANES
    for w in range(first, whole, LANES):
        for lane in range(LANES):
            total += popcount(a[w + lane] & bits[k, w + lane])
    for w in range(whole, end):
        total += popcount(a[w] & bits[k, w])
    return total


@inner
def entropy(table: Any, p: Any, n: Any) -> Any:
    """The least log loss of p and n rows of equal weight; 0 where either is 0."""
    return table[p + n] - table[p] - table[n]


@compiled
def gains(layout: Any, losses: Any, ways: Any, out: Any) -> float:
    """What the base's cells lose; ``out`` (m,) gets how much of it each column parts at most.

    Of p n pairs of a positive and a negative row in a cell that loses h, a column that parts a
    share t leaves at least (1 - t) h, and several columns part at most the sum of their shares:
    h / (p n) falls in p and in n, so that no part of the cell loses less a pair (it is the least
    over scores z of F(z) / p + G(z) / n, F and G being what a row of each class loses and pays).
    ``ways`` (m, 2)
    are 1 where a column may put rows that have its bit above others, and below them: of a loss
    that rises as the score of a row falls to the other class, pairs in the wrong order lose as
    much as pairs of one score.
    """
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
    """Fill what is known of pairs of columns; ``ways`` as in :func:`gains`."""
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


@inner
def add_cells(
    layout: Any, pairs: Any, losses: Any, both: Any, i: int, j: int, k: int, lost: float,
    cutoff: float,
) -> Any:  # fmt: skip
    """What the cells of base, i, j and k lose, added to ``lost`` until that reaches ``cutoff``.

    ``both`` (W,) are the rows with i and j.
    """
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


@compiled
def write_triples(
    layout: Any,
    known: Any,
    losses: Any,
    charge: Any,
    cutoff: float,
    most: int,
    state: Any,
    out: Any,
    bounds: Any,
) -> int:
    """Write the triples of columns whose cells lose less than ``cutoff``; how many there are.

    ``charge`` (m,) is what a column costs at least. ``state`` (4,) is the pair to begin with, which
    ends at (m, m), or where ``out`` (room, 3) may be full or ``most`` triples are counted, and how
    many were looked at and counted so far; ``bounds`` (room,) what their cells lose, with charges.
    """
    bits, pairs, lone, parted = layout.bits, known.pairs, known.lone, known.parted
    m = len(bits)
    both = np.empty(bits.shape[1], np.uint64)
    found = 0
    i, j = state[0], state[1]
    while i < m - 2:
        while j < m - 1:
            if found + m > len(out) or state[3] >= most:
                state[0], state[1] = i, j
                return found
            for w in range(bits.shape[1]):
                both[w] = bits[i, w] & bits[j, w]
            paid = charge[i] + charge[j]
            # what is left at least after a third column, less what that one parts
            of_i, of_j = lone[i] - parted[i, j] + paid, lone[j] - parted[j, i] + paid
            state[2] += m - 1 - j
            for k in range(j + 1, m):
                cost = charge[k]
                if of_i - parted[i, k] + cost >= cutoff or of_j - parted[j, k] + cost >= cutoff:
                    continue
                if lone[k] - parted[k, i] - parted[k, j] + paid + cost >= cutoff:
                    continue
                state[3] += 1
                lost = add_cells(layout, pairs, losses, both, i, j, k, paid + cost, cutoff)
                if lost < cutoff:
                    out[found, 0], out[found, 1], out[found, 2] = i, j, k
                    bounds[found] = lost
                    found += 1
            j += 1
        i += 1
        j = i + 1
    state[0], state[1] = m, m
    return found


class Lanes(NamedTuple):
    """What is known of pairs once more, so that many third columns are counted at once.

    ``bits`` (W, m); ``both[i, s, k]``: rows of segment s with i and k, ``own`` (S, m): with k;
    ``parted`` (m, m) is that of :class:`KnownPairs`, its axes exchanged.
    """

    bits: NDArray[np.uint64]
    both: NDArray[np.int32]
    own: NDArray[np.int32]
    parted: FloatArray


@inner
def count_errors(layout: Any, lanes: Any, both: Any, i: int, j: int, rows: Any, out: Any) -> None:
    """Write what the cells of base, i, j and each later k err on to ``out`` (m,).

    ``both`` (W,) are the rows with i and j; ``rows`` (2, m) is scratch. Every row weighs 1.
    """
    m, bits, cross, own = len(out), lanes.bits, lanes.both, lanes.own
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
        pi, ni, pj, nj = own[s, i], own[t, i], own[s, j], own[t, j]
        pij, nij = cross[i, s, j], cross[i, t, j]
        for k in range(j + 1, m):
            # rows of the eight parts, by membership of (i, j, k) read as bits
            p7, n7 = rows[0, k], rows[1, k]
            p5, n5 = np.int32(cross[i, s, k] - p7), np.int32(cross[i, t, k] - n7)
            p3, n3 = np.int32(cross[j, s, k] - p7), np.int32(cross[j, t, k] - n7)
            p1 = np.int32(own[s, k] - cross[i, s, k] - p3)
            n1 = np.int32(own[t, k] - cross[i, t, k] - n3)
            p6, n6 = np.int32(pij - p7), np.int32(nij - n7)
            p4, n4 = np.int32(pi - pij - p5), np.int32(ni - nij - n5)
            p2, n2 = np.int32(pj - pij - p3), np.int32(nj - nij - n3)
            p0, n0 = np.int32(p - pi - p2 - p3 - p1), np.int32(n - ni - n2 - n3 - n1)
            lost = min(p7, n7) + min(p6, n6) + min(p5, n5) + min(p4, n4)
            lost += min(p3, n3) + min(p2, n2) + min(p1, n1) + min(p0, n0)
            out[k] += np.int32(lost)


@compiled
def write_errors(
    layout: Any,
    known: Any,
    lanes: Any,
    losses: Any,
    charge: Any,
    cutoff: float,
    most: int,
    state: Any,
    out: Any,
    bounds: Any,
) -> int:
    """Do what :func:`write_triples` does for the 0-1 loss, many third columns at once."""
    bits, lone, parted = layout.bits, known.lone, known.parted
    m = len(bits)
    both = np.empty(bits.shape[1], np.uint64)
    rows, errors = np.zeros((2, m), np.int32), np.empty(m, np.int32)
    open_ = np.empty(m, np.bool_)
    found = 0
    i, j = state[0], state[1]
    while i < m - 2:
        while j < m - 1:
            if found + m > len(out) or state[3] >= most:
                state[0], state[1] = i, j
                return found
            paid = charge[i] + charge[j]
            of_i, of_j = lone[i] - parted[i, j] + paid, lone[j] - parted[j, i] + paid
            by_i, by_j, to_i, to_j = parted[i], parted[j], lanes.parted[i], lanes.parted[j]
            left = 0
            for k in range(j + 1, m):
                least = max(of_i - by_i[k], of_j - by_j[k], lone[k] - to_i[k] - to_j[k] + paid)
                open_[k] = least + charge[k] < cutoff
                left += open_[k]
            state[2] += m - 1 - j
            state[3] += left
            if left == 0:
                j += 1
                continue
            for w in range(bits.shape[1]):
                both[w] = bits[i, w] & bits[j, w]
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
                    out[found, 0], out[found, 1], out[found, 2] = i, j, k
                    bounds[found] = lost
                    found += 1
            j += 1
        i += 1
        j = i + 1
    state[0], state[1] = m, m
    return found


@inner
def at_score(kind: int, z: float, p: float, n: float) -> Any:
    """Loss, derivatives and size of the first one of weights p (positive) and n at score z.

    The size is the sum of what positive and negative rows add to the derivative.
    """
    if kind == LOGISTIC:
        e = math.exp(-abs(z))
        small, log = e / (1.0 + e), math.log1p(e)
        up, down = (1.0 - small, small) if z >= 0.0 else (small, 1.0 - small)
        value = p * (log - min(z, 0.0)) + n * (log + max(z, 0.0))
        return value, n * up - p * down, (p + n) * up * down, n * up + p * down
    if kind == POISSON:
        e = math.exp(z)
        return (p + n) * e - p * z, (p + n) * e - p, (p + n) * e, (p + n) * e + p
    a, b = 1.0 - z, 1.0 + z
    if kind == SQUARED_HINGE:
        a, b = max(a, 0.0), max(b, 0.0)
    bend = (p if a != 0.0 else 0.0) + (n if b != 0.0 else 0.0)
    size = n * abs(b) + p * abs(a)
    return 0.5 * (p * a * a + n * b * b), n * b - p * a, bend, size


@inner
def put(values: Any, to: Any) -> None:
    """Do to[:] = values, for which numba compiles a check of shapes, and its words, for seconds."""
    for i in range(len(to)):
        to[i] = values[i]


@inner
def solve(a: Any, b: Any) -> None:
    """Solve the positive definite a x = b in place, by Cholesky's method."""
    m = len(b)
    for i in range(m):
        for j in range(i + 1):
            s = a[i, j]
            for q in range(j):
                s -= a[i, q] * a[j, q]
            a[i, j] = math.sqrt(max(s, 1e-300)) if i == j else s / a[j, j]
    for i in range(m):
        for q in range(i):
            b[i] -= a[i, q] * b[q]
        b[i] /= a[i, i]
    for i in range(m - 1, -1, -1):
        for q in range(i + 1, m):
            b[i] -= a[q, i] * b[q]
        b[i] /= a[i, i]


@inner
def value_of(kind: int, v: Any, positive: Any, negative: Any) -> float:
    """The loss of the cells at the weights v, the intercept last."""
    m = len(v) - 1
    total = 0.0
    for cell in range(len(positive)):
        if positive[cell] + negative[cell] > 0.0:
            z = v[m]
            for j in range(m):
                if (cell >> j) & 1:
                    z += v[j]
            total += at_score(kind, z, positive[cell], negative[cell])[0]
    return total


@inner
def count_cells(
    columns: Any, positive: Any, negative: Any, support: Any, p_cell: Any, n_cell: Any
) -> None:
    """The weights of the rows in each cell: bit a of its number is column ``support[a]``."""
    p_cell[:] = 0.0
    n_cell[:] = 0.0
    for row in range(len(positive)):
        cell = 0
        for a in range(len(support)):
            cell |= np.int64(columns[support[a], row]) << a  # type: ignore[assignment]
        p_cell[cell] += positive[row]
        n_cell[cell] += negative[row]


@inner
def look(kind: int, v: Any, p_cell: Any, n_cell: Any, gradient: Any, bend: Any) -> Any:
    """(loss, sum of what rows add to its derivative) at v; fills gradient and lower half of bend.

    The intercept comes last.
    """
    q = len(v) - 1
    gradient[:] = 0.0
    bend[:, :] = 0.0
    value, size = 0.0, 0.0
    for cell in range(len(p_cell)):
        if p_cell[cell] + n_cell[cell] == 0.0:
            continue
        z = v[q]
        for a in range(q):
            if (cell >> a) & 1:
                z += v[a]
        f, g, h, both = at_score(kind, z, p_cell[cell], n_cell[cell])
        value += f
        size += both
        for a in range(q + 1):
            if a == q or (cell >> a) & 1:
                gradient[a] += g
                for b in range(a + 1):
                    if b == q or (cell >> b) & 1:
                        bend[a, b] += h
    return value, size


@inner
def step_of(v: Any, low: Any, high: Any, gradient: Any, bend: Any, step: Any) -> Any:
    """Newton's step within the box, and what it promises; spends ``bend``."""
    q = len(v) - 1
    ridge = 1e-12 * bend[q, q] + 1e-300
    for a in range(q + 1):
        step[a] = -gradient[a]
        bend[a, a] += ridge
    for a in range(q):
        if (v[a] <= low[a] and step[a] < 0.0) or (v[a] >= high[a] and step[a] > 0.0):
            step[a] = 0.0  # held at its end
            bend[a, :a] = 0.0
            bend[a:, a] = 0.0
            bend[a, a] = 1.0
    solve(bend, step)
    promised = 0.0
    for a in range(q + 1):
        promised -= gradient[a] * step[a]
    return promised


@inner
def move(
    kind: int, v: Any, step: Any, low: Any, high: Any, goal: Any, p_cell: Any, n_cell: Any, new: Any
) -> bool:
    """Take the step, or the part of it that brings the loss below ``goal[0]`` - t ``goal[1]``."""
    q, t = len(v) - 1, 1.0
    for _ in range(_HALVINGS):
        new[q] = v[q] + t * step[q]
        for a in range(q):
            new[a] = min(max(v[a] + t * step[a], low[a]), high[a])
        if value_of(kind, new, p_cell, n_cell) < goal[0] - t * goal[1]:
            put(new, v)
            return True
        t *= 0.5
    return False


@compiled
def bound_supports(
    columns: Any,
    positive: Any,
    negative: Any,
    kind: int,
    supports: Any,
    ends: Any,
    reach: float,
    cutoff: float,
    bounds: Any,
) -> None:
    """Raise ``bounds`` to the least loss of real weights on each support, less what is not sure.

    ``columns`` (m, n) hold 0 and 1, ``positive`` and ``negative`` (n,) the rows' weights; column j
    weighs from ``ends[0, j]`` to ``ends[1, j]``, and no row scores beyond +-``reach``. From the
    points that Newton's method visits the convex loss falls nowhere faster than its gradient says.
    A support whose bound passes ``cutoff`` is left there.
    """
    q = supports.shape[1]
    p_cell, n_cell = np.empty(1 << q), np.empty(1 << q)
    v, new, gradient, step = np.empty(q + 1), np.empty(q + 1), np.empty(q + 1), np.empty(q + 1)
    bend, low, high = np.empty((q + 1, q + 1)), np.empty(q), np.empty(q)
    gamma = 2.0 * (len(positive) + 64 + (1 << q)) * _EPS
    for at in range(len(supports)):
        count_cells(columns, positive, negative, supports[at], p_cell, n_cell)
        for a in range(q):
            low[a], high[a] = ends[0, supports[at, a]], ends[1, supports[at, a]]
        v[:] = 0.0
        for _ in range(_NEWTON):
            value, size = look(kind, v, p_cell, n_cell, gradient, bend)
            lost, far = abs(gradient[q]) * (reach + abs(v[q])), 2.0 * reach + abs(v[q])
            for a in range(q):
                g = gradient[a]
                lost += max(g * (v[a] - low[a]), g * (v[a] - high[a]))
                far += abs(v[a]) + max(abs(low[a]), abs(high[a]))
            bounds[at] = max(bounds[at], value - lost - gamma * (value + size * far))
            if bounds[at] >= cutoff:
                break
            promised = step_of(v, low, high, gradient, bend, step)
            if not promised > 1e-15 * value:
                break
            goal = (value, 1e-4 * promised)
            if not move(kind, v, step, low, high, goal, p_cell, n_cell, new):
                break
