"""Small logistic problems on grouped rows: Newton steps, the best slope and intercept of totals.

Rows that agree on the columns of a support are one row with a positive and a negative weight, so
a problem has tens of rows where the data have thousands. One source for both roads: compiled where
numba is installed, plain NumPy else. Import it where it is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled
from milpscore.search._risk_tally import groupable, moments, part

NEARLY_DONE = 1e-6
"""Newton's decrement from which one more step leaves an error far below a rounding's effect."""

_STEEPEST = 12.0
_LONGEST = 5.0
_FLAT = 1e-13
_FAR = 1e-9


@compiled
def loss_of(z: Any, positive: Any, negative: Any) -> float:
    """Sum of positive log(1+exp(-z)) + negative log(1+exp(z))."""
    spread = np.log(1.0 + np.exp(-np.abs(z))) + np.maximum(z, 0.0)
    return float(np.sum((positive + negative) * spread - positive * z))


@compiled
def terms_of(z: Any, positive: Any, negative: Any) -> tuple[float, Any]:
    """The loss, and the first and second derivatives of its rows, shape (2, m)."""
    e = np.exp(-np.abs(z))
    chance = 1.0 / (1.0 + e)
    both = positive + negative
    rows = np.empty((2, len(z)))
    rows[0] = both * np.where(z >= 0.0, chance, e * chance) - positive
    rows[1] = both * e * chance * chance
    loss = np.sum(both * (np.maximum(z, 0.0) - np.log(chance)) - positive * z)
    return float(loss), rows


@compiled
def best_line(
    totals: Any,
    positive: Any,
    negative: Any,
    slope: float,
    shift: float,
    cutoff: float,
    parted: float,
    enough: float,
) -> tuple[float, float, float]:
    """The least loss of slope * totals + shift, slope >= 0: (loss, slope, shift).

    Newton's method in two variables from the given ones. Ends early, with a loss that is too high,
    once twice the decrease that a step promises leaves it above ``cutoff``; and with the loss 0
    once it falls below ``parted``: at log 2 times the least weight every row lies on its side, and
    a rising slope takes the loss to 0. Of a step that promises less than ``enough`` the promise is
    believed.
    """
    squares = totals * totals
    # where all rows are saturated there is no curvature to step by: start before that
    a, c = min(slope, _STEEPEST / (np.max(np.abs(totals)) + 1e-300)), shift
    loss, rows = terms_of(a * totals + c, positive, negative)
    up, down = np.sum(positive), np.sum(negative)
    odds = float(np.log((up + 1e-300) / (down + 1e-300)))
    constant = loss_of(np.full(1, odds), np.full(1, up), np.full(1, down))
    if loss > constant:  # from a worse place than no slope at all a step can lead anywhere
        a, c = 0.0, odds
        loss, rows = terms_of(a * totals + c, positive, negative)
    for _ in range(60):
        g0, g1 = np.sum(rows[0]), np.dot(rows[0], totals)
        h00, h01 = np.sum(rows[1]), np.dot(rows[1], totals)
        h11 = np.dot(rows[1], squares)
        h00, h11 = h00 * (1.0 + _FLAT) + 1e-300, h11 * (1.0 + _FLAT) + 1e-300
        det = h00 * h11 - h01 * h01
        if det <= 1e-14 * h00 * h11:  # all totals equal, or no curvature left
            da, dc = 0.0, -g0 / h00
        else:
            da, dc = (h01 * g0 - h00 * g1) / det, (h01 * g1 - h11 * g0) / det
        decrement = -(da * g1 + dc * g0)
        if loss < parted:
            return 0.0, a, c
        if decrement <= 1e-16 or loss - decrement > cutoff:
            break
        if decrement <= min(enough, 0.01 * loss):
            a, c, loss = a + da, c + dc, loss - 0.5 * decrement
            break
        step = 1.0
        for _halving in range(30):
            z = (a + step * da) * totals + (c + step * dc)
            trial, rows = terms_of(z, positive, negative)
            if trial <= loss - 0.1 * step * decrement:
                break
            step *= 0.5
        if trial > loss:
            break
        a, c, loss = a + step * da, c + step * dc, trial
    if a <= 0.0:  # a score that is better turned round is no score at all
        return constant, 0.0, odds
    return float(loss), float(a), float(c)


@compiled
def best_slope(scores: Any, positive: Any, negative: Any, parted: float) -> tuple[float, float]:
    """The least loss of slope * scores, slope >= 0: (loss, slope); ends below ``parted``."""
    a = 0.0
    loss, rows = terms_of(a * scores, positive, negative)
    for _ in range(60):
        g = np.dot(rows[0], scores)
        h = np.dot(rows[1], scores * scores) + 1e-300
        step = max(-g / h, -a)
        if loss < parted or abs(g * step) <= 1e-16:
            break
        for _halving in range(30):
            trial, rows = terms_of((a + step) * scores, positive, negative)
            if trial <= loss + 0.1 * step * g:
                break
            step *= 0.5
        if trial > loss:
            break
        a, loss = a + step, trial
    return float(loss), float(a)


@compiled
def best_shift(
    totals: Any, positive: Any, negative: Any, shift: float, cutoff: float
) -> tuple[float, float]:
    """The least loss of totals + shift: (loss, shift); ends early as :func:`best_line` does."""
    c = shift
    loss, rows = terms_of(totals + c, positive, negative)
    for _ in range(100):
        g, h = np.sum(rows[0]), np.sum(rows[1]) + 1e-300
        dc = min(max(-g / h, -_LONGEST), _LONGEST)  # saturated rows promise any step
        decrement = -dc * g
        if decrement <= 1e-16 or loss - decrement > cutoff:
            break
        if decrement <= min(NEARLY_DONE, 0.01 * loss):
            c, loss = c + dc, loss - 0.5 * decrement
            break
        step = 1.0
        for _halving in range(30):
            trial, rows = terms_of(totals + (c + step * dc), positive, negative)
            if trial <= loss - 0.1 * step * decrement:
                break
            step *= 0.5
        if trial > loss:
            break
        c, loss = c + step * dc, trial
    return float(loss), float(c)


@compiled
def newton_gains(
    cells: Any,
    patterns: Any,
    weights: Any,
    w: Any,
    c: float,
    rows: Any,
    deltas: Any,
    starts: Any,
    lower: Any,
    upper: Any,
) -> Any:
    """What a Newton step along each column alone, the intercept following, saves: shape (p,)."""
    z = np.dot(patterns, w) + c
    e = np.exp(-np.abs(z))
    share = np.where(z >= 0.0, 1.0, e) / (1.0 + e)
    both = weights[0] + weights[1]
    slope = both * share[cells] - weights[0]
    bend = both * (e / ((1.0 + e) * (1.0 + e)))[cells]
    mass = np.sum(bend) + 1e-300
    sums = moments(rows, deltas, starts, slope, bend)
    gradient = sums[0] - np.sum(slope) / mass * sums[1]
    curvature = sums[2] - sums[1] * sums[1] / mass
    # a column without curvature left tells nothing that the support does not
    told = curvature > 1e-13 * mass
    curvature = np.where(told, curvature, 1.0)
    step = np.minimum(np.maximum(-gradient / curvature, lower), upper)
    return np.where(told, -(gradient * step + 0.5 * curvature * step * step), 0.0)


@compiled
def refit(
    patterns: Any,
    positive: Any,
    negative: Any,
    w: Any,
    c: float,
    lower: Any,
    upper: Any,
    enough: float,
    max_steps: int,
) -> tuple[float, float]:
    """Newton's method on real weights within [lower, upper], ``w`` in place: (loss, intercept).

    Ends once a step promises less than ``enough``; on separable rows after ``max_steps``.
    """
    t = len(w)
    loss, rows = terms_of(np.dot(patterns, w) + c, positive, negative)
    design = np.ones((len(patterns), t + 1))
    design[:, :t] = patterns
    low, high = np.full(t + 1, -np.inf), np.full(t + 1, np.inf)
    for _ in range(max_steps):
        gradient = np.dot(rows[0], design)
        weighted = design * rows[1].reshape(-1, 1)
        bend = np.dot(design.T, weighted)
        for j in range(t + 1):
            bend[j, j] = bend[j, j] * (1.0 + 1e-9) + 1e-12
        low[:t], high[:t] = lower - w, upper - w
        step = boxed_step(bend, gradient, low, high)
        decrement = -np.dot(gradient, step)
        if decrement <= 1e-15 or loss <= _FAR:
            break
        length = 1.0
        for _halving in range(30):
            z = np.dot(patterns, w + length * step[:t]) + (c + length * step[t])
            trial, rows = terms_of(z, positive, negative)
            if trial <= loss - 0.1 * length * decrement:
                break
            length *= 0.5
        if trial > loss:
            break
        w += length * step[:t]
        c += length * step[t]
        loss = trial
        if decrement <= enough:
            break
    return float(loss), float(c)


@compiled
def boxed_step(bend: Any, gradient: Any, low: Any, high: Any) -> Any:
    """The d in [low, high] that minimises gradient'd + d'bend d/2."""
    d = np.linalg.solve(bend, -gradient)
    if np.all(d >= low) and np.all(d <= high):
        return d
    d = np.minimum(np.maximum(d, low), high)
    slope = gradient + np.dot(bend, d)
    for _ in range(100):
        worst = 0.0
        for j in range(len(d)):
            new = min(max(d[j] - slope[j] / bend[j, j], low[j]), high[j])
            move = new - d[j]
            if move != 0.0:
                d[j] = new
                slope += move * bend[j]
                worst = max(worst, abs(move) * np.sqrt(bend[j, j]))
        if worst <= 1e-7:
            break
    return d


@compiled
def expand(
    cells: Any,
    patterns: Any,
    totals: Any,
    w: Any,
    c: float,
    candidates: Any,
    rows: Any,
    codes: Any,
    deltas: Any,
    starts: Any,
    values: Any,
    widths: Any,
    modes: Any,
    weights: Any,
    lower: Any,
    upper: Any,
    enough: float,
    max_steps: int,
) -> tuple[Any, Any]:
    """Refit a support with each candidate column added: losses (C,), weights and c (C, t + 2).

    ``lower`` and ``upper`` are the candidates' bounds with the support's before them, shape
    (C, t + 1).
    """
    t = patterns.shape[1]
    losses = np.empty(len(candidates))
    found = np.zeros((len(candidates), t + 2))
    for k in range(len(candidates)):
        j = candidates[k]
        mine = rows[starts[j] : starts[j + 1]]
        if groupable(widths[j] * len(patterns), len(cells)):
            parted, sides, _ = part(
                cells, patterns, totals, values[j, : widths[j]], modes[j], mine,
                codes[starts[j] : starts[j + 1]], weights,
            )  # fmt: skip
        else:  # too many values to group by
            parted, sides = np.empty((len(cells), t + 1)), weights
            parted[:, :t] = patterns[cells]
            parted[:, t] = values[j, 0]
            parted[mine, t] += deltas[starts[j] : starts[j + 1]]
        trial = np.zeros(t + 1)
        trial[:t] = w
        losses[k], found[k, t + 1] = refit(
            parted, sides[0], sides[1], trial, c, lower[k], upper[k], enough, max_steps
        )
        found[k, : t + 1] = trial
    return losses, found
