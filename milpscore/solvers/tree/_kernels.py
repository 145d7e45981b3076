"""Compiled inner loops of the tree search: merging rows, coordinate steps, bounds, fixings.

One source for both roads: compiled where numba is installed, plain Python else. Import it where it
is used.

Everywhere a coefficient j takes one of its ``points[j, lo[j]..hi[j]]``; ``table`` holds its penalty
there and ``zero[j]`` the position of 0 (-1 where 0 is no choice). ``status`` is 1 for a feature in,
0 for an undecided one, -1 for one out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled
from milpscore.solvers.tree._node import IN, OPEN, OUT


@compiled
def merge_codes(keys: Any, slots: Any, names: Any, labels: Any, first: Any) -> int:
    """Number equal keys alike: ``labels`` (n,) gets the numbers, ``first`` a row of each.

    ``slots`` and ``names`` are scratch of a power of two above 2 n; returns how many there are.
    """
    mask = len(slots) - 1
    slots[:] = -1
    found = 0
    for i in range(len(keys)):
        key = keys[i]
        at = ((key ^ (key >> 17) ^ (key >> 31)) * 40503) & mask
        while slots[at] >= 0 and names[at] != key:
            at = (at + 1) & mask
        if slots[at] < 0:
            slots[at] = found
            names[at] = key
            first[found] = i
            found += 1
        labels[i] = slots[at]
    return found


@compiled
def gather(X: Any, rows: Any, columns: Any, out: Any) -> None:
    """out[i, c] = X[rows[i], columns[c]], a column at a time."""
    for c in range(len(columns)):
        column = X[:, columns[c]]
        for i in range(len(rows)):
            out[i, c] = column[rows[i]]


@compiled
def column_sums(data: Any, rows: Any, starts: Any, wanted: Any, u: Any, out: Any) -> None:
    """out[j] = sum_i X[i, j] u[i] for the wanted columns of X in compressed form, else 0."""
    for j in range(len(wanted)):
        total = 0.0
        if wanted[j]:
            for t in range(starts[j], starts[j + 1]):
                total += data[t] * u[rows[t]]
        out[j] = total


@compiled
def chord(points: Any, table: Any, lo: int, hi: int, zero: int, kappa: float) -> Any:
    """Least cost per unit right and left of 0 where any nonzero pays ``kappa``, and where.

    The convex envelope of table + kappa [v != 0] is this line up to the point it touches, and the
    table's own slopes beyond.
    """
    right, right_at = np.inf, zero
    for k in range(zero + 1, hi + 1):
        cost = (table[k] + kappa) / points[k]
        if cost <= right:
            right, right_at = cost, k
    left, left_at = np.inf, zero
    for k in range(zero - 1, lo - 1, -1):
        cost = -(table[k] + kappa) / points[k]
        if cost <= left:
            left, left_at = cost, k
    return right, right_at, left, left_at


@compiled
def up_from(points: Any, table: Any, k: int, hi: int, h: float, a: float) -> float:
    """The minimiser of h/2 (x-a)^2 + table over [points[k], points[hi]]."""
    while k < hi:
        slope = (table[k + 1] - table[k]) / (points[k + 1] - points[k])
        x = a - slope / h
        if x <= points[k]:
            return float(points[k])
        if x <= points[k + 1]:
            return float(x)
        k += 1
    return float(points[hi])


@compiled
def down_from(points: Any, table: Any, k: int, lo: int, h: float, a: float) -> float:
    """The minimiser of h/2 (x-a)^2 + table over [points[lo], points[k]]."""
    while k > lo:
        slope = (table[k] - table[k - 1]) / (points[k] - points[k - 1])
        x = a - slope / h
        if x >= points[k]:
            return float(points[k])
        if x >= points[k - 1]:
            return float(x)
        k -= 1
    return float(points[lo])


@compiled
def from_zero(
    points: Any, table: Any, lo: int, hi: int, chords: Any, touch: Any, h: float, a: float
) -> float:
    """The minimiser of h/2 (x-a)^2 + the envelope of an undecided feature, see :func:`chord`."""
    if h * a > chords[0]:
        new = a - chords[0] / h
        if new > points[touch[0]]:
            return float(up_from(points, table, touch[0], hi, h, a))
        return float(new)
    if -h * a > chords[1]:
        new = a + chords[1] / h
        if new < points[touch[1]]:
            return float(down_from(points, table, touch[1], lo, h, a))
        return float(new)
    return 0.0


@compiled
def sweep_model(
    gram: Any,
    grad: Any,
    w: Any,
    points: Any,
    table: Any,
    lo: Any,
    hi: Any,
    zero: Any,
    inside: Any,
    kappa: float,
    chords: Any,
    touch: Any,
    tol: float,
    sweeps: int,
) -> float:
    """Coordinate descent on grad'd + d'gram d/2 + envelopes; returns the share of terms used."""
    m = len(w)
    least = 1e-300
    for j in range(m):
        least = max(least, gram[j, j] * 1e-13)
        if not inside[j]:
            c = chord(points[j], table[j], lo[j], hi[j], zero[j], kappa)
            chords[j, 0], touch[j, 0], chords[j, 1], touch[j, 1] = c[0], c[1], c[2], c[3]
    for _ in range(sweeps):
        worst = 0.0
        for j in range(m):
            h = max(gram[j, j], least)
            old = w[j]
            a = old - grad[j] / h
            if inside[j]:
                new = up_from(points[j], table[j], lo[j], hi[j], h, a)
            else:
                new = from_zero(points[j], table[j], lo[j], hi[j], chords[j], touch[j], h, a)
            if new != old:
                step = new - old
                for i in range(m):
                    grad[i] += step * gram[j, i]
                w[j] = new
                worst = max(worst, abs(step) * h)
        if worst <= tol:
            break
    return float(shares(w, points, inside, touch))


@compiled
def shares(w: Any, points: Any, inside: Any, touch: Any) -> float:
    """The sum of the undecided coefficients' shares of a term: |w| over where its chord ends."""
    used = 0.0
    for j in range(len(w)):
        if not inside[j] and w[j] != 0.0:
            end = points[j, touch[j, 0]] if w[j] > 0.0 else points[j, touch[j, 1]]
            used += min(1.0, w[j] / end)
    return used


@compiled
def solve_model(
    gram: Any,
    grad: Any,
    w: Any,
    points: Any,
    table: Any,
    lo: Any,
    hi: Any,
    zero: Any,
    inside: Any,
    l0: float,
    budget: float,
    mu: float,
    tol: float,
    sweeps: int,
) -> float:
    """The model's minimiser with at most ``budget`` shares of terms, by its multiplier.

    ``w`` and ``grad`` are moved to it; returns the multiplier, which starts at ``mu``.
    """
    m = len(w)
    chords = np.zeros((m, 2))
    touch = np.zeros((m, 2), np.int64)
    undecided = 0
    for j in range(m):
        if not inside[j]:
            undecided += 1
    if undecided <= budget:
        sweep_model(
            gram, grad, w, points, table, lo, hi, zero, inside, l0, chords, touch, tol, sweeps
        )
        return 0.0
    low, high = 0.0, np.inf
    used_low, used_high = np.inf, 0.0
    slack = 1e-3 * max(budget, 0.1)
    for _ in range(40):
        used = sweep_model(
            gram, grad, w, points, table, lo, hi, zero, inside, l0 + mu, chords, touch, tol, sweeps
        )
        if abs(used - budget) <= slack or (mu == 0.0 and used <= budget):
            break
        if used > budget:
            low, used_low = mu, used
        else:
            high, used_high = mu, used
        if np.isfinite(high) and high - low <= 1e-9 * high:
            break
        if not np.isfinite(high):
            mu = max(2.0 * mu, 1e-6)
        elif not np.isfinite(used_low):
            mu = 0.5 * mu if mu > 1e-9 else 0.0
        else:
            part = (used_low - budget) / (used_low - used_high)
            mu = low + (high - low) * min(max(part, 0.1), 0.9)
    return mu


@compiled
def envelope_cost(
    w: Any, points: Any, table: Any, lo: Any, hi: Any, zero: Any, inside: Any, kappa: float
) -> Any:
    """(sum of the envelopes at w, shares of terms used); ``kappa`` is what a term costs."""
    total = 0.0
    used = 0.0
    for j in range(len(w)):
        x = w[j]
        start = lo[j]
        if not inside[j]:
            if x == 0.0:
                continue
            c = chord(points[j], table[j], lo[j], hi[j], zero[j], kappa)
            end = points[j, c[1]] if x > 0.0 else points[j, c[3]]
            used += min(1.0, x / end)
            if abs(x) <= abs(end):
                total += c[0] * x if x > 0.0 else -c[2] * x
                continue
            total += kappa
        k = start
        while k < hi[j] - 1 and points[j, k + 1] < x:
            k += 1
        if hi[j] == start:
            total += table[j, start]
        else:
            part = (x - points[j, k]) / (points[j, k + 1] - points[j, k])
            total += table[j, k] + part * (table[j, k + 1] - table[j, k])
    return total, used


@compiled
def least_terms(
    g: Any, points: Any, table: Any, lo: Any, hi: Any, zero: Any, status: Any, l0: float, best: Any
) -> float:
    """Least g_j v + table over each feature's points; the sum over the features in.

    ``best[j]`` gets it; of an undecided feature over its nonzero points, l0 included, infinite
    where there is none. Features in pay their l0 too.
    """
    total = 0.0
    for j in range(len(g)):
        best[j] = np.inf
        if status[j] == OUT:
            continue
        for k in range(lo[j], hi[j] + 1):
            if status[j] == IN or k != zero[j]:
                best[j] = min(best[j], g[j] * points[j, k] + table[j, k])
        best[j] += l0
        if status[j] == IN:
            total += best[j]
    return total


@compiled
def tighten(
    g: Any,
    points: Any,
    table: Any,
    lo: Any,
    hi: Any,
    zero: Any,
    status: Any,
    l0: float,
    best: Any,
    room: float,
    last: float,
    next_: float,
) -> int:
    """Drop what would raise the bound by ``room`` or more; returns the number of changes.

    ``last`` is the worst term the bound counts among the undecided (0 where a place is free),
    ``next_`` what would take the place of one that is left out.
    """
    changes = 0
    for j in range(len(g)):
        if status[j] == OUT:
            continue
        counted = best[j]
        if status[j] == OPEN:
            counted = min(best[j], last)
            if best[j] - counted >= room:
                status[j] = OUT
                lo[j] = zero[j]
                hi[j] = zero[j]
                changes += 1
                continue
            if best[j] <= last and min(next_, 0.0) - best[j] >= room:
                status[j] = IN
                counted = best[j]
                changes += 1
        while lo[j] < hi[j] and not (status[j] == OPEN and lo[j] == zero[j]):
            if l0 + g[j] * points[j, lo[j]] + table[j, lo[j]] - counted < room:
                break
            lo[j] += 1
            changes += 1
        while lo[j] < hi[j] and not (status[j] == OPEN and hi[j] == zero[j]):
            if l0 + g[j] * points[j, hi[j]] + table[j, hi[j]] - counted < room:
                break
            hi[j] -= 1
            changes += 1
    return changes
