"""Coordinate descent on a quadratic with a penalty of :class:`milpscore.core.terms.Ramps`.

One source for both roads: compiled where numba is installed, plain NumPy else. Import it where it
is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled


@compiled
def ramp_prox(
    v: float, h: float, weight: float, ridge: float, slopes: Any, growth: float, gamma: float
) -> float:
    """The x that minimises h/2 (x-v)^2 + weight phi(|x|) + ridge/2 x^2.

    Between two kinks x is a soft threshold; where that leaves the piece, the kink itself is the
    answer, so plateaus come out exact.
    """
    pull = h * abs(v)
    if pull <= weight * slopes[0]:
        return 0.0
    bend = h + ridge
    last = len(slopes) - 1
    k: int = 0
    while k < last and pull - weight * slopes[k] >= bend * (k + 1) * gamma:
        k += 1
    slope = slopes[k]
    end = np.inf
    if k < last:
        end = (k + 1) * gamma
    elif growth > 0.0 and weight > 0.0:
        free = pull - weight * (slopes[last] - last * growth)
        beyond = np.floor((free - bend * gamma) / (weight * growth + bend * gamma)) + 1.0
        k = max(last, int(beyond))
        slope = slopes[last] + (k - last) * growth
        end = (k + 1) * gamma
    x = min(max(k * gamma, (pull - weight * slope) / bend), end)
    return float(x) if v > 0.0 else -float(x)


@compiled
def descend_gram(
    gram: Any,
    gradient: Any,
    w: Any,
    weight: Any,
    ridge: Any,
    slopes: Any,
    growth: float,
    gamma: float,
    tol: float,
    max_sweeps: int,
) -> int:
    """Minimise gradient'd + d'gram d/2 + penalty(w + d) in place; return the sweeps.

    ``gradient`` is kept at its value in the moved point. Ends when a full sweep moves no
    coordinate by more than ``tol`` in units of the gradient.
    """
    m = len(w)
    least = 0.0
    for j in range(m):
        least = max(least, gram[j, j])
    least = least * 1e-14 + 1e-300
    full = True
    for sweep in range(max_sweeps):
        worst = 0.0
        for j in range(m):
            old = w[j]
            if not full and old == 0.0:
                continue
            h = max(gram[j, j], least)
            new = ramp_prox(old - gradient[j] / h, h, weight[j], ridge[j], slopes, growth, gamma)
            if new != old:
                gradient += (new - old) * gram[j]
                w[j] = new
                worst = max(worst, abs(new - old) * h)
        if worst <= tol:
            if full:
                return sweep + 1
            full = True
        else:
            # coordinates at zero are looked at again only once the others are at rest
            full = False
    return max_sweeps


@compiled
def descend_dense(
    X: Any,
    curvature: Any,
    residual: Any,
    total: Any,
    means: Any,
    bends: Any,
    w: Any,
    weight: Any,
    ridge: Any,
    slopes: Any,
    growth: Any,
    gamma: Any,
    tol: Any,
    max_sweeps: Any,
) -> int:
    """The same with X' diag(curvature) X never formed: ``residual`` holds the row derivatives.

    ``means`` are the columns' means under ``curvature``, ``total`` the sum of ``residual``; both
    take the intercept, which follows at its optimum, out of the problem. ``bends`` holds the
    diagonal.
    """
    m = len(w)
    mass = curvature.sum()
    full = True
    for sweep in range(max_sweeps):
        worst = 0.0
        for j in range(m):
            old = w[j]
            if not full and old == 0.0:
                continue
            h = bends[j]
            column = X[:, j]
            slope = np.dot(column, residual) - means[j] * total
            new = ramp_prox(old - slope / h, h, weight[j], ridge[j], slopes, growth, gamma)
            if new != old:
                residual += (new - old) * column * curvature
                total += (new - old) * means[j] * mass
                w[j] = new
                worst = max(worst, abs(new - old) * h)
        if worst <= tol:
            if full:
                return sweep + 1
            full = True
        else:
            full = False
    return int(max_sweeps)


@compiled
def descend_sparse(
    data: Any,
    rows: Any,
    starts: Any,
    curvature: Any,
    residual: Any,
    total: Any,
    means: Any,
    bends: Any,
    w: Any,
    weight: Any,
    ridge: Any,
    slopes: Any,
    growth: Any,
    gamma: Any,
    tol: Any,
    max_sweeps: Any,
) -> int:
    """The same for columns in compressed form (CSC without repeated entries)."""
    m = len(w)
    mass = curvature.sum()
    full = True
    for sweep in range(max_sweeps):
        worst = 0.0
        for j in range(m):
            old = w[j]
            if not full and old == 0.0:
                continue
            h = bends[j]
            where = rows[starts[j] : starts[j + 1]]
            values = data[starts[j] : starts[j + 1]]
            slope = np.sum(values * residual[where]) - means[j] * total
            new = ramp_prox(old - slope / h, h, weight[j], ridge[j], slopes, growth, gamma)
            if new != old:
                residual[where] += (new - old) * values * curvature[where]
                total += (new - old) * means[j] * mass
                w[j] = new
                worst = max(worst, abs(new - old) * h)
        if worst <= tol:
            if full:
                return sweep + 1
            full = True
        else:
            full = False
    return int(max_sweeps)
