"""Coordinate descent on a quadratic plus a penalty; imported where it is used.

The quadratic d'Hd/2 + slope'd is known by H itself, or by the columns of a dense or sparse X with
H = X' diag(curvature) X, never formed. There the intercept is eliminated: ``means`` are the
columns' means under the curvature, and a column counts less its mean. ``penalty`` is a ``Ramps`` as
``Ramps.for_kernels`` gives it. Each kernel ends when a full sweep moves no coordinate by more
than ``tol`` in units of the gradient, or after ``sweeps``, and returns its number of sweeps, one
more than ``sweeps`` if it had not ended; between full sweeps coordinates at zero are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled, inlined, inner
from milpscore.penalties.kernels import least


@inner
def _moved(old: float, slope: float, h: float, j: int, penalty: Any) -> Any:
    """Return where coordinate j goes from ``old``: slope, second derivative h of the quadratic."""
    weight, ridge, shape = penalty
    v = old - slope / h
    x = least(h * abs(v), h + ridge[j], weight[j], shape)
    return x if v > 0.0 else -x


@compiled
def descend_gram(gram: Any, slope: Any, w: Any, penalty: Any, tol: float, sweeps: int) -> int:
    """Descend with H = ``gram`` (m, m); ``slope`` (m,) stays that of the moved point ``w``."""
    flat = 0.0
    for j in range(len(w)):
        flat = max(flat, gram[j, j])
    flat = flat * 1e-14 + 1e-300  # a column that is constant has no curvature of its own
    full = True
    for sweep in range(sweeps):
        worst = 0.0
        for j in range(len(w)):
            old = w[j]
            if not full and old == 0.0:
                continue
            h = max(gram[j, j], flat)
            new = _moved(old, slope[j], h, j, penalty)
            if new != old:
                slope += (new - old) * gram[j]
                w[j] = new
                worst = max(worst, abs(new - old) * h)
        if worst <= tol and full:
            return sweep + 1
        full = worst <= tol
    return sweeps + 1


@compiled
def descend_box(
    gram: Any, slope: Any, w: Any, lower: Any, upper: Any, tol: float, sweeps: int
) -> int:
    """Descend with every coordinate held to [lower, upper] (m,), and no penalty."""
    for sweep in range(sweeps):
        worst = 0.0
        for j in range(len(w)):
            h = gram[j, j]
            if h <= 0.0:
                continue
            old = w[j]
            new = min(max(old - slope[j] / h, lower[j]), upper[j])
            if new != old:
                slope += (new - old) * gram[j]
                w[j] = new
                worst = max(worst, (new - old) * (new - old) * h)
        if worst <= tol:
            return sweep + 1
    return sweeps


@compiled
def descend_dense(X: Any, rows: Any, w: Any, penalty: Any, tol: float, sweeps: int) -> int:
    """Descend with X (n, m) by columns and ``rows`` = (curvature, residual, means, bends)."""
    # ``residual`` (n,), the row derivatives of the loss, follows the moves; ``bends`` (m,) is the
    # diagonal of H
    curvature, residual, means, bends = rows
    mass, total = curvature.sum(), residual.sum()
    full = True
    for sweep in range(sweeps):
        worst = 0.0
        for j in range(len(w)):
            old = w[j]
            if not full and old == 0.0:
                continue
            column = X[:, j]
            slope = np.dot(column, residual) - means[j] * total
            new = _moved(old, slope, bends[j], j, penalty)
            if new != old:
                move = new - old
                for i in range(len(column)):
                    residual[i] += move * column[i] * curvature[i]
                total += move * means[j] * mass
                w[j] = new
                worst = max(worst, abs(move) * bends[j])
        if worst <= tol and full:
            return sweep + 1
        full = worst <= tol
    return sweeps + 1


@compiled
def descend_sparse(X: Any, rows: Any, w: Any, penalty: Any, tol: float, sweeps: int) -> int:
    """Descend with X = (data, row positions, column starts), CSC without repeated entries."""
    curvature, residual, means, bends = rows
    data, positions, starts = X
    mass, total = curvature.sum(), residual.sum()
    busy = np.arange(len(w))  # its first ``count`` entries are looked at
    count, full = len(w), True
    for sweep in range(sweeps):
        worst, used = 0.0, 0
        for at in range(count):
            j = busy[at]
            old, slope = w[j], -means[j] * total
            # unsigned: no test for indices that count from the end
            begin, end = np.uint64(starts[j]), np.uint64(starts[j + 1])
            for k in range(begin, end):
                slope += data[k] * residual[np.uint64(positions[k])]
            new = _moved(old, slope, bends[j], j, penalty)
            if new != old:
                move = new - old
                for k in range(begin, end):
                    i = np.uint64(positions[k])
                    residual[i] += move * data[k] * curvature[i]
                total += move * means[j] * mass
                w[j] = new
                worst = max(worst, abs(move) * bends[j])
            if full and new != 0.0:
                busy[used] = j
                used += 1
        if worst <= tol and full:
            return sweep + 1
        if full:
            count, full = used, False
        elif worst <= tol:
            busy, count, full = np.arange(len(w)), len(w), True
    return sweeps + 1


@compiled
def gather(gram: Any, index: Any, sign: Any, member: Any, size: int) -> Any:
    """Return S'GS for ``size`` clusters of coordinates: w[index[i]] = sign[i] z[member[i]]."""
    table = np.zeros((size, size))
    for i in range(len(index)):
        line, row = gram[index[i]], table[member[i]]
        for j in range(len(index)):
            row[member[j]] += sign[i] * sign[j] * line[index[j]]
    return table


@compiled
def descend_clusters(
    table: Any, slope: Any, z: Any, count: Any, sums: Any, into: Any, tol: float, sweeps: int
) -> int:
    """Move the sizes of OWL's clusters, one after the other, to the optimum of each; some merge."""
    # The model is z'Qz/2 + ..., Q = ``table`` (k, k) with ``slope`` (k,) its gradient at ``z``
    # (k,), signed sizes; ``count`` (k,) says how many coefficients a cluster has, ``sums`` (p + 1,)
    # holds the sums of OWL's weights. Where cluster i merges with another one, ``into[i]`` is that
    # + 1, negative if their signs differ, and it leaves the game; so does one that becomes 0.
    #
    # Larsson, Klopfenstein, Massias and Wallin, "Coordinate descent for SLOPE" (2023).
    size = len(z)
    order = np.argsort(-np.abs(z), kind="mergesort")
    place, above = np.empty(size, np.int64), np.empty(size, np.int64)
    ranks = order, place, above  # cluster at a place, its place (-1: left), coefficients above it
    total, flat = 0, 0.0
    for at in range(size):
        place[order[at]], above[at] = at, total
        total += count[order[at]]
        flat = max(flat, table[at, at])
    flat = flat * 1e-14 + 1e-300
    alive = size
    for sweep in range(sweeps):
        worst = 0.0
        for i in range(size):
            if place[i] < 0:
                continue
            # 1) The best size of cluster i, past its neighbours or at the size of one.
            h, old = max(table[i, i], flat), z[i]
            wanted = old - slope[i] / h
            x, partner = _ranked(i, abs(wanted), h, z, count, sums, ranks, alive)
            # 2) The move.
            new = np.copysign(x, wanted) if x > 0.0 else 0.0
            if new != old:
                line, move = table[i], new - old
                for other in range(size):
                    slope[other] += move * line[other]
                z[i] = new
                worst = max(worst, abs(move) * h / count[i])
            # 3) At zero, or at the size of another one, it leaves the game.
            if new == 0.0 or partner >= 0:
                over = above[place[i]]
                _leave(i, count[i] if new == 0.0 else 0, ranks, alive)
                alive -= 1
                into[i] = i + 1
                if new != 0.0:
                    above[place[partner]] = min(above[place[partner]], over)
                    into[i] = _joined(i, partner, z, count, slope, table)
        if worst <= tol:
            return sweep + 1
    return sweeps + 1


@inlined
def _ranked(
    i: int, far: float, h: float, z: Any, count: Any, sums: Any, ranks: Any, alive: int
) -> Any:
    """Find the best size of cluster i and its rank; return it and the cluster met there, or -1."""
    # A cluster of m coefficients with ``over`` others above it pays per unit of its size for
    # weights over + 1 to over + m. Going up or down it passes a neighbour, or stops at its size.
    order, place, above = ranks
    at, m = place[i], count[i]
    over, partner = above[at], -1
    x = far - (sums[over + m] - sums[over]) / h
    step = -1 if at > 0 and x > abs(z[order[at - 1]]) else 1
    while partner < 0 and 0 <= at + step < alive:
        other = order[at + step]
        theirs = abs(z[other])
        if step * x >= step * theirs:
            break
        under = over + step * count[other]
        x = far - (sums[under + m] - sums[under]) / h
        if step * x >= step * theirs:
            x, partner = theirs, other
        else:
            order[at], place[other], above[at] = other, at, under + m if step < 0 else over
            at, over = at + step, under
    order[at], place[i], above[at] = i, at, over
    return x, partner


@inner
def _leave(i: int, rise: int, ranks: Any, alive: int) -> None:
    """Take cluster i out of the order: all below it go up by one place and ``rise`` ranks."""
    order, place, above = ranks
    for below in range(place[i] + 1, alive):
        order[below - 1], above[below - 1] = order[below], above[below] - rise
        place[order[below]] = below - 1
    place[i] = -1


@inner
def _joined(i: int, partner: int, z: Any, count: Any, slope: Any, table: Any) -> Any:
    """Add cluster i to its partner; return the entry of ``into``."""
    same = 1.0 if (z[i] > 0.0) == (z[partner] > 0.0) else -1.0
    count[partner] += count[i]
    slope[partner] += same * slope[i]
    table[partner] += same * table[i]
    for other in range(len(z)):
        table[other, partner] += same * table[other, i]
    return np.int64(same) * (partner + 1)
