"""Steps of blocks compiled: the move, the line search along it, and sweeps over all blocks.

See :mod:`._kernels_blocks` for ``world`` and ``span``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled
from milpscore.sequence._kernels_blocks import column_derivatives, derivatives, forward

# Longest move of one parameter in one step: where p nears 0 or 1 the parabola knows nothing.
_FARTHEST = 4.0
_SUFFICIENT = 1e-3
_TRIALS = 25
# Of this the line search keeps a step away: weights and entries stay in floating-point range.
_STEEPEST = np.exp(75.0)
# A listed entry keeps above it, or 1 + (entry - 1) would cancel; whole matrices know no such bound.
_LEAST_LISTED = np.exp(-14.0)
# Curvatures below are nil.
_FLAT = 1e-10


@compiled
def shift(block: int, span: Any, move: Any, length: float, world: Any) -> bool:
    """Multiply weights and entries by exp(length * move); False where one left its range."""
    weights, ptr, _, _, values = world[2]
    mu_ptr, mu_set, mu_held, lam_ptr, lam_set, lam_held = world[3][6:]
    map_ptr, entry, y_at, _ = world[4]
    mu_a, mu_b, lam_a, lam_b = span
    n_mu = mu_b - mu_a
    L = weights.shape[1]
    inside = True
    for k in range(n_mu):
        if move[k] == 0.0:
            continue
        once, y = np.exp(length * move[k]), y_at[mu_a + k]
        for e in range(mu_ptr[block], mu_ptr[block + 1]):
            weight = weights[mu_set[e], y] * once ** mu_held[e]
            weights[mu_set[e], y] = weight
            inside = inside and 1.0 / _STEEPEST < weight < _STEEPEST
    for k in range(lam_b - lam_a):
        if move[n_mu + k] == 0.0:
            continue
        once = np.exp(length * move[n_mu + k])
        for e in range(lam_ptr[block], lam_ptr[block + 1]):
            j, s = entry[map_ptr[e] + k], lam_set[e]
            value = values[j] * once ** lam_held[e]
            values[j] = value
            least = 1.0 / _STEEPEST if ptr[s + 1] - ptr[s] == L * L else _LEAST_LISTED
            inside = inside and least < value < _STEEPEST
    return inside


@compiled
def settle(block: int, moved: bool, world: Any) -> None:
    """Say which vectors hold after a step, or after a search that found none."""
    _, _, _, ready, opened = world[1]
    group_ptr, group_seq, group_occ, position = world[3][:4]
    for g in range(group_ptr[block], group_ptr[block + 1]):
        i, last = group_seq[g], position[group_occ[g + 1] - 1]
        if moved:
            ready[i] = last + 1
            opened[i] = max(opened[i], last)
        else:
            ready[i] = min(ready[i], position[group_occ[g]])


@compiled
def direction(
    theta: Any, first: Any, second: Any, rho1: float, rho2: float, farthest: float, move: Any
) -> tuple[float, float]:
    """The step S(theta H - g, rho1) / (H + rho2) - theta of each parameter.

    ``first`` and ``second`` are g and H of the loss alone. Answers the slope of the objective along
    it and the squared norm of the least subgradient.
    """
    slope, violation = 0.0, 0.0
    for k in range(len(theta)):
        x, g, h = theta[k], first[k], second[k]
        smooth = g + rho2 * x
        if x > 0.0:
            least = smooth + rho1
        elif x < 0.0:
            least = smooth - rho1
        else:
            least = smooth - min(max(smooth, -rho1), rho1)
        violation += least * least
        curvature = max(h + rho2, 1e-10)
        # theta H - g with the H that is divided by, less rho2: the same but where H is nil
        aim = x * (curvature - rho2) - g
        target = (aim - min(max(aim, -rho1), rho1)) / curvature
        step = min(max(target - x, -farthest), farthest)
        move[k] = step
        slope += smooth * step + rho1 * (abs(x + step) - abs(x))
    return slope, violation


@compiled
def penalty_rise(theta: Any, move: Any, length: float, rho1: float, rho2: float) -> float:
    """By how much rho1 |.|_1 + rho2/2 |.|_2^2 rises with a step."""
    total = 0.0
    for k in range(len(theta)):
        x, step = theta[k], length * move[k]
        total += rho1 * (abs(x + step) - abs(x)) + rho2 * step * (x + 0.5 * step)
    return total


@compiled
def tilt(values: Any, signs: Any, n: int, c: float, rho1: float, rho2: float, side: float) -> float:
    """Derivative of rho1 sum |v + s c| + rho2/2 sum (v + s c)^2 by c, from one side of c."""
    total = 0.0
    for k in range(n):
        at = values[k] + signs[k] * c
        if at > 0.0:
            total += rho1 * signs[k]
        elif at < 0.0:
            total -= rho1 * signs[k]
        else:
            total += rho1 * side
        total += rho2 * signs[k] * at
    return total


@compiled
def common_shift(
    values: Any, signs: Any, n: int, slope: float, curvature: float, rho1: float, rho2: float
) -> float:
    """The c that minimises slope c + curvature/2 c^2 + rho1 sum |v + s c| + rho2/2 sum (v + s c)^2.

    A zero of a parameter is hit exactly.
    """
    bend = curvature + rho2 * n
    up = slope + tilt(values, signs, n, 0.0, rho1, rho2, 1.0)
    down = slope + tilt(values, signs, n, 0.0, rho1, rho2, -1.0)
    if up >= 0.0 >= down:
        return 0.0
    way = 1.0 if up < 0.0 else -1.0
    here = 0.0
    for _ in range(n + 1):
        steep = slope + curvature * here + tilt(values, signs, n, here, rho1, rho2, way)
        if steep * way >= 0.0:
            return here
        # as far as the line reaches zero, or to the next kink
        reach = here - steep / bend
        kink = way * np.inf
        for k in range(n):
            at = -values[k] * signs[k]
            if (at - here) * way > 0.0 and (at - kink) * way < 0.0:
                kink = at
        if (reach - kink) * way <= 0.0:
            return reach
        here = kink
    return here


@compiled
def column_moves(
    span: Any, theta: Any, counts: Any, rhos: Any, world: Any, first: Any, second: Any, move: Any
) -> float:
    """The moves of all column shifts of a block; answers the objective's slope along them.

    See :func:`._kernels_blocks.column_derivatives`.
    """
    rho1, rho2 = rhos
    y_at = world[4][2]
    mu_a, mu_b, lam_a, _ = span
    n_mu, n, L = mu_b - mu_a, len(theta), len(first)
    labels, members = np.full(n, L, np.int64), np.empty(n, np.int64)
    starts = np.zeros(L + 2, np.int64)
    for k in range(n):
        if k < n_mu:
            labels[k] = y_at[mu_a + k]
        elif theta[k] != 0.0:
            labels[k] = y_at[lam_a + k - n_mu]
        starts[labels[k] + 1] += 1
    for y in range(L + 1):
        starts[y + 1] += starts[y]
    filled = starts.copy()
    for k in range(n):
        members[filled[labels[k]]] = k
        filled[labels[k]] += 1
    values, signs = np.empty(L + 1), np.empty(L + 1)
    move[:] = 0.0
    slope = 0.0
    for y in range(L):
        size = starts[y + 1] - starts[y]
        if size < 2 or second[y] + rho2 < _FLAT:
            continue
        smooth = first[y]
        for m in range(size):
            k = members[starts[y] + m]
            signs[m] = 1.0 if k < n_mu else -1.0
            values[m] = theta[k]
            smooth -= signs[m] * counts[k]
        c = common_shift(values, signs, size, smooth, second[y], rho1, rho2)
        c = min(max(c, -_FARTHEST), _FARTHEST)
        slope += smooth * c
        for m in range(size):
            k = members[starts[y] + m]
            move[k] = signs[m] * c
            slope += rho1 * (abs(theta[k] + move[k]) - abs(theta[k])) + rho2 * theta[k] * move[k]
    return slope


@compiled
def search(
    block: int,
    span: Any,
    theta: Any,
    counts: Any,
    move: Any,
    slope: float,
    length: float,
    rhos: Any,
    world: Any,
    logs: Any,
    new_logs: Any,
) -> tuple[float, float]:
    """Move a block along ``move`` as far as the objective falls enough: the fall and the length.

    ``theta`` and ``counts`` (observed) are of the parameters ``span`` alone; theta moves in place.
    Where no length will do the fall is 0.
    """
    rho1, rho2 = rhos
    group_ptr = world[3][0]
    observed = 0.0
    for k in range(len(theta)):
        observed += counts[k] * move[k]
    done = 0.0
    for _ in range(_TRIALS):
        inside = shift(block, span, move, length - done, world)
        done = length
        change = np.inf
        if inside:
            forward(block, True, world, new_logs)
            change = penalty_rise(theta, move, length, rho1, rho2) - length * observed
            for g in range(group_ptr[block + 1] - group_ptr[block]):
                change += new_logs[g] - logs[g]
        if change <= _SUFFICIENT * length * slope:
            for k in range(len(theta)):
                theta[k] += length * move[k]
            settle(block, True, world)
            return -change, length
        shorter = 0.25
        if change < np.inf:
            # the parabola through both values and the slope
            shorter = min(max(-0.5 * length * slope / (change - length * slope), 0.1), 0.6)
        length *= shorter
    shift(block, span, move, -done, world)
    settle(block, False, world)
    return 0.0, length


@compiled
def step(
    block: int,
    span: Any,
    theta: Any,
    counts: Any,
    last_length: float,
    rhos: Any,
    world: Any,
    out: Any,
) -> tuple[float, float, float]:
    """One step of the parameters ``span`` of a block, with its line search.

    Parameters
    ----------
    theta, counts : ndarray
        Of these parameters alone: their values, moved in place, and observed counts.
    out : tuple
        Rooms for (first, second, move), each as long as the widest block, and (logs, new_logs).

    Returns
    -------
    violation : float
        Squared norm of the least subgradient before the step.
    fall : float
        Of the objective.
    length : float
        Of the step, for the next search to start from.
    """
    n = len(theta)
    first, second, move = out[0][0, :n], out[0][1, :n], out[0][2, :n]
    logs, new_logs = out[1][0], out[1][1]
    derivatives(block, span, world, logs, first, second)
    first -= counts
    unseen = world[3][0][block] == world[3][0][block + 1]
    farthest = np.inf if unseen else _FARTHEST
    slope, violation = direction(theta, first, second, rhos[0], rhos[1], farthest, move)
    if not slope < 0.0:
        return violation, 0.0, last_length
    length = 1.0 if unseen else min(1.0, 2.0 * last_length)
    fall, length = search(
        block, span, theta, counts, move, slope, length, rhos, world, logs, new_logs
    )
    return violation, fall, length if fall > 0.0 else last_length


@compiled
def step_columns(
    block: int, span: Any, theta: Any, counts: Any, rhos: Any, world: Any, out: Any
) -> float:
    """One step of the column shifts of a block: the fall.

    ``out`` also has room for three numbers a label; the rest is as for :func:`step`.
    """
    move = out[0][2, : len(theta)]
    logs, new_logs = out[1][0], out[1][1]
    first, second, mass = out[2][0], out[2][1], out[2][2]
    nothing = (span[0], span[0], span[2], span[2])
    derivatives(block, nothing, world, logs, first[:0], second[:0])  # for vectors and logs alone
    column_derivatives(block, span, theta, world, mass, first, second)
    slope = column_moves(span, theta, counts, rhos, world, first, second, move)
    if not slope < 0.0:
        return 0.0
    return search(block, span, theta, counts, move, slope, 1.0, rhos, world, logs, new_logs)[0]


@compiled
def sweep_blocks(
    order: Any,
    quiet: float,
    violations: Any,
    theta: Any,
    counts: Any,
    lengths: Any,
    rhos: Any,
    ranges: Any,
    world: Any,
    out: Any,
) -> tuple[float, float]:
    """Step all blocks in order: first their mu, then their lambda, then columns of both.

    Left out are parts whose squared violation was below ``quiet`` the last time. Answers the sum of
    the squared violations met, and by how much the objective fell.

    ``theta`` and ``counts`` are of all working parameters, ``ranges`` those of mu and of lambda of
    each block, ``lengths`` the last step length of each.
    """
    total, fallen = 0.0, 0.0
    group_ptr = world[3][0]
    for block in order:
        loud = False
        for kind in range(2):
            a, b = ranges[kind][block]
            if a == b:
                continue
            if violations[block, kind] >= quiet:
                span = (a, b, 0, 0) if kind == 0 else (0, 0, a, b)
                violations[block, kind], fall, lengths[block, kind] = step(
                    block, span, theta[a:b], counts[a:b], lengths[block, kind], rhos, world, out
                )
                fallen += fall
                loud = True
            total += violations[block, kind]
        mu_a, mu_b = ranges[0][block]
        lam_a, lam_b = ranges[1][block]
        n_mu, size = mu_b - mu_a, mu_b - mu_a + lam_b - lam_a
        if not loud or lam_b - lam_a < 2 or group_ptr[block] == group_ptr[block + 1]:
            continue
        own, observed = out[0][3, :size], out[0][4, :size]
        own[:n_mu], own[n_mu:] = theta[mu_a:mu_b], theta[lam_a:lam_b]
        observed[:n_mu], observed[n_mu:] = counts[mu_a:mu_b], counts[lam_a:lam_b]
        span = (mu_a, mu_b, lam_a, lam_b)
        fallen += step_columns(block, span, own, observed, rhos, world, out)
        theta[mu_a:mu_b], theta[lam_a:lam_b] = own[:n_mu], own[n_mu:]
    return total, fallen
