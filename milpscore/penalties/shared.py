"""The prox of total variation whose jumps are rows: all classes of a model jump at one place."""

from __future__ import annotations

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, inner


@compiled
def shared_variation(y: FloatArray, width: FloatArray, out: FloatArray) -> None:
    """Write argmin over X of ||Y - X||^2 / 2 + sum_k width_k ||X_{k+1} - X_k||_2 to ``out``."""
    # y, out (n, K), width (n - 1,): a zero parts the rows into independent chains. On a chain the
    # dual variables U (m, K), one row per jump, solve (T + diag(z)) U = B with B the differences of
    # Y, T the matrix with 2 on its diagonal and -1 beside it, z >= 0, and ||U_k|| <= width_k, =
    # where z_k > 0; then z_k U_k is the jump, exactly 0 where z_k is. z minimises the convex
    #
    #     f(z) = sum(B * U(z)) / 2 + sum_k z_k width_k^2 / 2,
    #
    # whose Hessian is inv(T + diag(z)) * (U U'): projected Newton steps (Bertsekas, 1982), aimed at
    # 1 / ||U_k|| = 1 / width_k, which is nearly linear in z.
    n, classes = y.shape
    jumps, row, room = np.empty((n, classes)), np.empty((2, classes)), np.empty((3, n, classes))
    first = 0
    while first < n:
        last = first
        while last < n - 1 and width[last] > 0.0:
            last += 1
        m, size = last - first, 0.0
        for k in range(m):
            for c in range(classes):
                jumps[k, c] = y[first + k + 1, c] - y[first + k, c]
                size = max(size, abs(jumps[k, c]))
        # the mean of the rows stays; rows follow from jumps, so that what does not jump is equal
        # to the last digit
        for c in range(classes):
            row[0, c] = row[1, c] = 0.0
            for k in range(m + 1):
                row[0, c] += y[first + k, c] / (m + 1)
        if size > 0.0:
            _jump(jumps, width[first:last], size, room)
        for c in range(classes):
            total = 0.0
            for k in range(m):
                row[1, c] += jumps[k, c]
                total += row[1, c] / (m + 1)
            out[first, c] = row[0, c] - total if m > 0 else y[first, c]
            for k in range(m):
                out[first + k + 1, c] = out[first + k, c] + jumps[k, c]
        first = last + 1


@inner
def _jump(B: FloatArray, width: FloatArray, size: float, room: FloatArray) -> None:
    """Turn the differences B (m, K) of one chain, none above ``size``, into its jumps z_k U_k."""
    m, classes = len(width), B.shape[1]
    U, V, differences = room[0], room[1], room[2]
    z, new, c = np.zeros(m), np.zeros(m), np.empty(m)
    pivots, lengths, free = np.empty(m), np.empty(m), np.zeros(m, dtype=np.int64)
    for k in range(m):
        c[k] = max(width[k] / size, 1e-30)  # below this share of the data no digit changes
        for j in range(classes):
            differences[k, j] = B[k, j] / size
    value = _dual(differences, z, c, pivots, U, lengths)
    if _loose(z, lengths, c, free)[0] > 0:
        _sweep(differences, c, U, z)
        value = _dual(differences, z, c, pivots, U, lengths)
    before, plain = np.inf, False
    for _ in range(200):
        # 1) The z that move, and how far the worst length is off its limit.
        count, worst = _loose(z, lengths, c, free)
        near = worst <= 1e-6  # from where full steps are taken without a look at the value
        if worst <= 1e-13 or (near and worst >= 0.5 * before):
            break
        before = worst if near else np.inf
        # 2) A Newton step, halved until f falls.
        step = _step(U, lengths, c, pivots, free, count, plain)
        length = 1.0
        while True:
            for k in range(m):
                new[k] = z[k]
            for at in range(count):
                new[free[at]] = max(z[free[at]] + length * step[at], 0.0)
            reached = _dual(differences, new, c, pivots, V, lengths)
            if near or reached < value or length < 1e-6:
                break
            length *= 0.5
        plain = not plain and length < 0.25  # the aimed step led nowhere: once a plain one
        z, new, U, V, value = new, z, V, U, reached
        # 3) Sweeps, where steps have become short.
        if length < 1e-2:
            _sweep(differences, c, U, z)
            value = _dual(differences, z, c, pivots, U, lengths)
    for k in range(m):
        for j in range(classes):
            B[k, j] = z[k] * U[k, j] * size


@inner
def _sweep(B: FloatArray, c: FloatArray, U: FloatArray, z: FloatArray) -> None:
    """Bring each row of U, and its z, to its best beside its neighbours, several times over."""
    # widths of many powers of ten on one chain need it before Newton steps
    m, classes = len(c), B.shape[1]
    for turn in range(10):
        for at in range(m):
            k = at if turn % 2 == 0 else m - 1 - at
            square = 0.0
            for j in range(classes):
                U[k, j] = B[k, j]
                if k > 0:
                    U[k, j] += U[k - 1, j]
                if k < m - 1:
                    U[k, j] += U[k + 1, j]
                square += U[k, j] * U[k, j]
            length = np.sqrt(square)
            z[k] = max(length / c[k] - 2.0, 0.0)
            for j in range(classes):
                U[k, j] /= 2.0 + z[k]


@inner
def _loose(z: FloatArray, lengths: FloatArray, c: FloatArray, free: IntArray) -> tuple[int, float]:
    """Write which z move to ``free``; return their number and the worst length's relative error."""
    worst, count = 0.0, 0
    for k in range(len(z)):
        off = lengths[k] / c[k] - 1.0
        if z[k] > 0.0 or off > 0.0:
            free[count] = k
            count += 1
            worst = max(worst, abs(off))
    return count, worst


@inner
def _dual(
    B: FloatArray, z: FloatArray, c: FloatArray, pivots: FloatArray, U: FloatArray,
    lengths: FloatArray,
) -> float:  # fmt: skip
    """Return f(z); write U with (T + diag(z)) U = B, its rows' lengths and the pivots."""
    m, classes = len(z), B.shape[1]
    for k in range(m):
        pivots[k] = 2.0 + z[k] - (1.0 / pivots[k - 1] if k > 0 else 0.0)
        for j in range(classes):
            U[k, j] = B[k, j] + (U[k - 1, j] / pivots[k - 1] if k > 0 else 0.0)
    value = 0.0
    for back in range(m):
        k = m - 1 - back
        square = 0.0
        for j in range(classes):
            U[k, j] = (U[k, j] + (U[k + 1, j] if back > 0 else 0.0)) / pivots[k]
            square += U[k, j] * U[k, j]
            value += 0.5 * B[k, j] * U[k, j]
        lengths[k] = np.sqrt(square)
        if z[k] > 0.0:
            value += 0.5 * z[k] * c[k] * c[k]
    return value


@inner
def _step(
    U: FloatArray, lengths: FloatArray, c: FloatArray, pivots: FloatArray, free: IntArray,
    count: int, plain: bool,
) -> FloatArray:  # fmt: skip
    """Return the Newton step of the free z, shape (count,)."""
    m, classes = len(lengths), U.shape[1]
    hessian, right, column = np.empty((count, count)), np.empty(count), np.empty(m)
    for at in range(count):
        # a column of the inverse
        j = free[at]
        for k in range(m):
            column[k] = 1.0 if k == j else (column[k - 1] / pivots[k - 1] if k > j else 0.0)
        for back in range(m):
            k = m - 1 - back
            column[k] = (column[k] + (column[k + 1] if back > 0 else 0.0)) / pivots[k]
        for other in range(count):
            i, product = free[other], 0.0
            for k in range(classes):
                product += U[i, k] * U[j, k]
            hessian[other, at] = column[i] * product
        if plain:
            right[at] = 0.5 * (lengths[j] * lengths[j] - c[j] * c[j])
        else:
            right[at] = lengths[j] * lengths[j] * (lengths[j] / c[j] - 1.0)
    _solve(hessian, right)
    return right


@inner
def _solve(hessian: FloatArray, right: FloatArray) -> None:
    """Solve in place by Cholesky, with a hair on the diagonal for rows of U that vanish."""
    count = len(right)
    for j in range(count):
        least = 1e-14 * hessian[j, j] + 1e-200
        pivot = hessian[j, j] + least
        for k in range(j):
            pivot -= hessian[j, k] * hessian[j, k]
        hessian[j, j] = np.sqrt(max(pivot, least))
        for i in range(j + 1, count):
            for k in range(j):
                hessian[i, j] -= hessian[i, k] * hessian[j, k]
            hessian[i, j] /= hessian[j, j]
    for i in range(count):
        for k in range(i):
            right[i] -= hessian[i, k] * right[k]
        right[i] /= hessian[i, i]
    for back in range(count):
        i = count - 1 - back
        for k in range(i + 1, count):
            right[i] -= hessian[k, i] * right[k]
        right[i] /= hessian[i, i]
