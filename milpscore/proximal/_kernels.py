"""Coordinate descent on a quadratic plus a penalty; imported where it is used.

The last kernels are for OWL, whose coordinates move in clusters; those before them are for the
penalty of a ``Ramps``. They differ in how they know the quadratic d'Hd/2 + slope'd: by H
itself, or by the columns of a dense or sparse X with H = X' diag(curvature) X, never formed. There
the intercept is eliminated: ``means`` are the columns' means under the curvature, and a column
counts less its mean.
Each ends when a full sweep moves no coordinate by more than ``tol`` in units of the gradient, or
after ``sweeps``, and returns its number of sweeps, one more than ``sweeps`` where it had not ended;
between full sweeps coordinates at zero are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled, inner
from milpscore.penalties.kernels import least


@inner
def _moved(
    old: float, slope: float, h: float, j: int, weight: Any, ridge: Any, shape: Any
) -> float:
    """Where coordinate j goes from ``old``: slope and second derivative h of the quadratic."""
    v = old - slope / h
    slopes, growth, gamma = shape
    x = least(h * abs(v), h + ridge[j], weight[j], slopes, growth, gamma)
    return x if v > 0.0 else -x


@compiled
def descend_gram(
    gram: Any, slope: Any, w: Any, weight: Any, ridge: Any, shape: Any, tol: float, sweeps: int
) -> int:
    """H = ``gram`` (m, m); ``slope`` (m,) is kept at its value in the moved point ``w``."""
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
            new = _moved(old, slope[j], h, j, weight, ridge, shape)
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
    """The same with every coordinate held to [lower, upper] (m,), and no penalty."""
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
def descend_dense(
    X: Any,
    rows: Any,
    w: Any,
    weight: Any,
    ridge: Any,
    shape: Any,
    tol: float,
    sweeps: int,
) -> int:
    """X (n, m) by columns; ``rows`` = (curvature, residual, means, bends).

    ``residual`` (n,) holds the row derivatives of the loss and follows the moves, ``bends`` (m,)
    the diagonal of H.
    """
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
            new = _moved(old, slope, bends[j], j, weight, ridge, shape)
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
def descend_sparse(
    X: Any,
    rows: Any,
    w: Any,
    weight: Any,
    ridge: Any,
    shape: Any,
    tol: float,
    sweeps: int,
) -> int:
    """The same for X = (data, row positions, column starts), CSC without repeated entries."""
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
            new = _moved(old, slope, bends[j], j, weight, ridge, shape)
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
    """S'GS for ``size`` clusters of coordinates: w[index[i]] = sign[i] z[member[i]]."""
    table = np.zeros((size, size))
    for i in range(len(index)):
        line, row = gram[index[i]], table[member[i]]
        for j in range(len(index)):
            row[member[j]] += sign[i] * sign[j] * line[index[j]]
    return table


@compiled
def descend_clusters(  # noqa: PLR0912, PLR0915 - one loop over much state
    table: Any, slope: Any, z: Any, count: Any, sums: Any, into: Any, tol: float, sweeps: int
) -> int:
    """Move the sizes of clusters, one after the other, to the optimum of each; they may merge.

    The model is z'Qz/2 + ..., Q = ``table`` (k, k) with ``slope`` (k,) its gradient at ``z`` (k,),
    signed sizes; ``count`` (k,) says how many coefficients a cluster has, ``sums`` (p + 1,) holds
    the sums of OWL's weights. Where cluster i merges with another one, ``into[i]`` is that + 1,
    negative where their signs differ, and it is out of the game; so is one that becomes 0.

    A cluster of m coefficients that has ``above`` others above it pays per unit of its size for
    weights above + 1 to above + m. Going up or down it passes a neighbour, or stops at its size.

    Larsson, Klopfenstein, Massias and Wallin, "Coordinate descent for SLOPE" (2023).
    """
    size = len(z)
    order = np.argsort(-np.abs(z), kind="mergesort")
    place, above = np.empty(size, np.int64), np.empty(size, np.int64)
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
            at = place[i]
            if at < 0:
                continue
            h, m, old = max(table[i, i], flat), count[i], z[i]
            wanted = old - slope[i] / h
            far, over = abs(wanted), above[at]
            x = far - (sums[over + m] - sums[over]) / h
            partner = -1
            if at > 0 and x > abs(z[order[at - 1]]):
                while at > 0 and partner < 0:
                    other = order[at - 1]
                    theirs = abs(z[other])
                    if x <= theirs:
                        break
                    under = over - count[other]
                    x = far - (sums[under + m] - sums[under]) / h
                    if x <= theirs:
                        x, partner = theirs, other
                    else:
                        order[at], place[other], above[at] = other, at, under + m
                        at, over = at - 1, under
            else:
                while at < alive - 1 and partner < 0:
                    other = order[at + 1]
                    theirs = abs(z[other])
                    if x >= theirs:
                        break
                    under = over + count[other]
                    x = far - (sums[under + m] - sums[under]) / h
                    if x >= theirs:
                        x, partner = theirs, other
                    else:
                        order[at], place[other], above[at] = other, at, over
                        at, over = at + 1, under
            order[at], place[i], above[at] = i, at, over
            new = np.copysign(x, wanted) if x > 0.0 else 0.0
            if new != old:
                line, move = table[i], new - old
                for other in range(size):
                    slope[other] += move * line[other]
                z[i] = new
                worst = max(worst, abs(move) * h / m)
            if new != 0.0 and partner < 0:
                continue
            # it leaves the game: all below it go up by one place
            rise = m if new == 0.0 else 0
            for below in range(at + 1, alive):
                order[below - 1], above[below - 1] = order[below], above[below] - rise
                place[order[below]] = below - 1
            alive -= 1
            place[i] = -1
            if new == 0.0:
                into[i] = i + 1
                continue
            above[place[partner]] = min(above[place[partner]], over)
            same = 1.0 if (new > 0.0) == (z[partner] > 0.0) else -1.0
            into[i] = np.int64(same) * (partner + 1)
            count[partner] += m
            slope[partner] += same * slope[i]
            table[partner] += same * table[i]
            for other in range(size):
                table[other, partner] += same * table[other, i]
        if worst <= tol:
            return sweep + 1
    return sweeps + 1
