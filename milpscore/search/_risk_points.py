"""From real weights of a support to whole points: many scales, a quadratic model, then the loss.

The first stage judges points by the quadratic model of the loss around the real weights, which
costs nanoseconds; the second by the loss itself, slope and intercept (or the intercept alone)
following. Compiled where numba is installed; import it where it is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled
from milpscore.search._risk_kernels import NEARLY_DONE, best_line, best_shift, loss_of, terms_of

_BETTER = 1e-9


@compiled
def fitted_loss(
    totals: Any,
    offset: float,
    positive: Any,
    negative: Any,
    slope: float,
    shift: float,
    cutoff: float,
    parted: float,
    scale: float,
    rule: Any,
) -> tuple[float, float, float]:
    """The least loss of totals in points: (loss, slope, shift).

    ``scale`` 0 leaves slope and intercept free; else the slope is 1 / scale and the intercept in
    points, shift * scale - offset, obeys ``rule``: lower, upper, step (0: any).
    """
    if scale <= 0.0:
        return best_line(totals, positive, negative, slope, shift, cutoff, parted, NEARLY_DONE)
    z = totals / scale
    loss, c = best_shift(z, positive, negative, shift, cutoff)
    if loss > cutoff:
        return loss, 1.0 / scale, c
    b = min(max(c * scale - offset, rule[0]), rule[1])
    if rule[2] > 0.0:
        least = np.ceil(rule[0] / rule[2] - 1e-9) * rule[2]
        most = np.floor(rule[1] / rule[2] + 1e-9) * rule[2]
        below = min(max(np.floor(b / rule[2]) * rule[2], least), most)
        above = min(below + rule[2], most)
        c, high = (below + offset) / scale, (above + offset) / scale
        loss, above_loss = loss_of(z + c, positive, negative), loss_of(z + high, positive, negative)
        if above_loss < loss:
            loss, c = above_loss, high
    elif b != c * scale - offset:
        c = (b + offset) / scale
        loss = loss_of(z + c, positive, negative)
    return loss, 1.0 / scale, c


@compiled
def nearest_index(values: Any, count: int, target: float) -> int:
    """Position of the allowed value closest to ``target``."""
    best = 0
    for i in range(1, count):
        if abs(values[i] - target) < abs(values[best] - target):
            best = i
    return best


@compiled
def model_value(square: float, along: float, scale: float) -> float:
    """The quadratic model, up to a constant, of points v with v'bend v and v'pull given."""
    if scale > 0.0:
        return 0.5 * square / (scale * scale) - along / scale
    return -0.5 * along * along / square if along > 0.0 and square > 0.0 else 0.0


@compiled
def model_descent(
    bend: Any,
    pull: Any,
    values: Any,
    counts: Any,
    prices: Any,
    index: Any,
    scale: float,
    max_sweeps: int,
) -> float:
    """Coordinate descent in the quadratic model, ``index`` in place: value and prices."""
    k = len(index)
    v, price = np.zeros(k), 0.0
    for j in range(k):
        v[j] = values[j, index[j]]
        price += prices[j, index[j]]
    turned = np.dot(bend, v)
    square, along = np.dot(v, turned), np.dot(v, pull)
    for _ in range(max_sweeps):
        moved = False
        for j in range(k):
            here, chosen = index[j], index[j]
            best = model_value(square, along, scale) - _BETTER
            for i in range(counts[j]):
                t = values[j, i] - v[j]
                s = square + 2.0 * t * turned[j] + t * t * bend[j, j]
                value = model_value(s, along + t * pull[j], scale)
                value += prices[j, i] - prices[j, here]
                if value < best:
                    best, chosen = value, i
            if chosen != here:
                t = values[j, chosen] - v[j]
                square += 2.0 * t * turned[j] + t * t * bend[j, j]
                along += t * pull[j]
                turned += t * bend[j]
                v[j] = values[j, chosen]
                price += prices[j, chosen] - prices[j, here]
                index[j] = chosen
                moved = True
        if not moved:
            break
    return float(model_value(square, along, scale) + price)


@compiled
def attempt(
    patterns: Any,
    means: Any,
    positive: Any,
    negative: Any,
    values: Any,
    prices: Any,
    index: Any,
    trial: Any,
    state: Any,
    parted: float,
    scale: float,
    rule: Any,
) -> bool:
    """Move ``index`` to ``trial``, and ``state`` with it, where that lowers the objective."""
    v, price = np.zeros(len(trial)), 0.0
    for j in range(len(trial)):
        v[j] = values[j, trial[j]]
        price += prices[j, trial[j]]
    loss, slope, shift = fitted_loss(
        np.dot(patterns, v), np.dot(means, v), positive, negative, state[1], state[2],
        state[0] - price, parted, scale, rule,
    )  # fmt: skip
    if loss + price >= state[0] - _BETTER:
        return False
    index[:] = trial
    state[0], state[1], state[2] = loss + price, slope, shift
    return True


@compiled
def descend(
    patterns: Any,
    means: Any,
    positive: Any,
    negative: Any,
    values: Any,
    counts: Any,
    prices: Any,
    index: Any,
    state: Any,
    parted: float,
    scale: float,
    rule: Any,
) -> None:
    """Walk along single points, then pairs, while the objective falls; all in place.

    Along one point the profiled loss has no second valley, so the walk ends at the first rise.
    ``state`` holds objective, slope, shift.
    """
    k = len(index)
    for _ in range(100):
        moved = False
        for j in range(k):
            for direction in (1, -1, 0):
                better = True
                while better:
                    trial = index.copy()
                    trial[j] += direction
                    if direction == 0:  # dropping the term at once, for its price
                        trial[j] = nearest_index(values[j], counts[j], 0.0)
                    inside = 0 <= trial[j] < counts[j] and trial[j] != index[j]
                    better = inside and attempt(
                        patterns, means, positive, negative, values, prices, index, trial, state,
                        parted, scale, rule,
                    )  # fmt: skip
                    moved = moved or better
        for pair in range(4 * k * k):
            i, j = pair // 4 % k, pair // 4 // k
            trial = index.copy()
            trial[i] += 1 - 2 * (pair & 1)
            trial[j] += 1 - (pair & 2)
            if i < j and np.all(trial >= 0) and np.all(trial < counts):
                moved = (
                    attempt(
                        patterns, means, positive, negative, values, prices, index, trial, state,
                        parted, scale, rule,
                    )
                    or moved
                )  # fmt: skip
        if not moved:
            break


@compiled
def curvature_of(patterns: Any, positive: Any, negative: Any, w: Any, c: float) -> Any:
    """Second derivatives of the loss in the weights, the intercept following: shape (t, t)."""
    _, rows = terms_of(np.dot(patterns, w) + c, positive, negative)
    weighted = patterns * rows[1].reshape(-1, 1)
    mean = np.sum(weighted, axis=0)
    mass = np.sum(rows[1]) + 1e-300
    return np.dot(patterns.T, weighted) - mean.reshape(-1, 1) * mean / mass


@compiled
def round_support(
    patterns: Any,
    means: Any,
    positive: Any,
    negative: Any,
    w: Any,
    c: float,
    values: Any,
    counts: Any,
    prices: Any,
    multipliers: Any,
    parted: float,
    scale: float,
    rule: Any,
    n_exact: int,
    n_descents: int,
    floor: float,
    incumbent: float,
) -> tuple[Any, Any]:
    """Whole points of one support: indices into the allowed values and their objectives.

    Parameters
    ----------
    patterns, positive, negative : the groups' centred values, shape (G, t), and weights
    means : ndarray of shape (t,)
        What was taken off the columns.
    w, c : the real weights and the intercept of the centred columns
    values, prices : ndarrays of shape (t, V); counts : ndarray of int64, shape (t,)
        Allowed points of each column in rising order, and what each costs.
    multipliers : ndarray
        Points in one unit of the real weights, one start each.
    parted : as in :func:`milpscore.search._risk_kernels.best_line`
    scale, rule : as in :func:`fitted_loss`
    n_exact, n_descents : int
        Candidates of the model whose loss is computed, and of these the ones that are improved.
    floor : float
        The real weights' loss.
    incumbent : float
        Objective to beat: descents that will not come near it are left out.

    Returns
    -------
    (ndarray of int64, shape (n_descents, t), ndarray of shape (n_descents,))
        Unused rows have objective infinity.
    """
    t, total = len(w), 2 * len(multipliers)
    bend = curvature_of(patterns, positive, negative, w, c)
    pull = np.dot(bend, w)
    indices = np.zeros((total, t), dtype=np.int64)
    models = np.empty(total)
    for m in range(total):
        for j in range(t):
            indices[m, j] = nearest_index(values[j], counts[j], w[j] * multipliers[m // 2])
        # each rounding as it is, and improved in the model
        sweeps = 20 * (m % 2)
        models[m] = model_descent(bend, pull, values, counts, prices, indices[m], scale, sweeps)
    order = np.argsort(models, kind="mergesort")
    found = np.zeros((n_exact, t), dtype=np.int64)
    states = np.full((n_exact, 3), np.inf)
    taken, best = 0, np.inf
    for m in order:
        if taken == n_exact:
            break
        known = False
        for other in range(taken):
            known = known or bool(np.all(found[other] == indices[m]))
        if known:
            continue
        v, price = np.zeros(t), 0.0
        for j in range(t):
            v[j] = values[j, indices[m, j]]
            price += prices[j, indices[m, j]]
        square = np.dot(v, np.dot(bend, v))
        slope = max(np.dot(v, pull), 0.0) / square if square > 0.0 else 0.0
        loss, a, shift = fitted_loss(
            np.dot(patterns, v), np.dot(means, v), positive, negative, slope, c,
            2.0 * best - floor, parted, scale, rule,
        )  # fmt: skip
        found[taken] = indices[m]
        states[taken, 0], states[taken, 1], states[taken, 2] = loss + price, a, shift
        best = min(best, loss + price)
        taken += 1
    points = np.zeros((n_descents, t), dtype=np.int64)
    objectives = np.full(n_descents, np.inf)
    ranked = np.argsort(states[:, 0], kind="mergesort")
    for n in range(min(n_descents, taken)):
        m = ranked[n]
        state = states[m]
        if 0.5 * (state[0] + floor) <= incumbent:
            descend(
                patterns, means, positive, negative, values, counts, prices, found[m], state,
                parted, scale, rule,
            )  # fmt: skip
        points[n] = found[m]
        objectives[n] = state[0]
    return points, objectives
