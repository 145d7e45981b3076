"""Coordinate descent on a quadratic plus the penalty of a ``Ramps``; imported where it is used.

The three kernels differ in how they know the quadratic d'Hd/2 + slope'd: by H itself, or by the
columns of a dense or sparse X with H = X' diag(curvature) X, never formed. There the intercept is
eliminated: ``means`` are the columns' means under the curvature, and a column counts less its mean.
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
