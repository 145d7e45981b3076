"""Compiled loops of the fast risk scores: Newton's method on grouped rows, and whole points.

Rows that agree on the columns of a support are one row with a positive and a negative weight, so
a problem has tens of rows where the data have thousands. All loops are over scalars, which numba
compiles in a fraction of the time that array expressions take. Import it where it is used: it
loads numba.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from milpscore.core.jit import compiled

NEARLY_DONE = 1e-6
"""Newton's decrement from which one more step leaves an error far below a rounding's effect."""

_STEEPEST = 12.0
_LONGEST = 5.0
_FLAT = 1e-13
_FAR = 1e-9
_BETTER = 1e-9
_ENOUGH = 1e-4
_STEPS = 12


class Coded(NamedTuple):
    """Centred columns, of each only the entries off its most frequent value (its mode).

    ``weights`` (2, m): the rows' shares of the weight in the positive and the negative class;
    ``values`` (p, V): distinct centred values, the mode alone where there are too many to code;
    ``widths`` (p,): how many, 0 where there are too many; ``modes`` (p,): index of the mode;
    ``starts`` (p + 1,): column j's entries are starts[j]:starts[j + 1]; ``rows``, ``codes``,
    ``deltas`` (e,): an entry's row, the index of its value, and how far it lies off the mode.
    """

    weights: Any
    values: Any
    widths: Any
    modes: Any
    starts: Any
    rows: Any
    codes: Any
    deltas: Any


class Groups(NamedTuple):
    """Rows that agree on t columns: ``cells`` (m,) is each row's group, of which there are G.

    ``patterns`` (G, t): the groups' centred values; ``sides`` (2, G): their positive and negative
    weight.
    """

    cells: Any
    patterns: Any
    sides: Any


class Choices(NamedTuple):
    """Allowed points of t columns in rising order: ``values``, their ``prices`` (t, V), ``counts``.

    Of the V entries of column j the first ``counts[j]`` are meant.
    """

    values: Any
    prices: Any
    counts: Any


class Score(NamedTuple):
    """How totals become risks: the ``scale`` (0: slope and intercept are free), the intercept.

    With a fixed scale the intercept, in points, lies in [lower, upper] on multiples of ``step``
    (0: any). Below the loss ``parted`` no row is on its wrong side: a rising slope takes it to 0.
    """

    scale: float
    lower: float
    upper: float
    step: float
    parted: float


class Whole(NamedTuple):
    """A support on the way to whole points: its rows, and what its columns may have.

    ``patterns`` (G, t) and ``sides`` (2, G) as in `Groups`; ``means`` (t,): what centring took off.
    """

    patterns: Any
    sides: Any
    means: Any
    choices: Choices
    score: Score


@compiled
def row_terms(z: float, up: float, down: float) -> tuple[float, float, float]:
    """up log(1 + exp(-z)) + down log(1 + exp(z)), and its first two derivatives."""
    e = math.exp(-abs(z))
    rest = 1.0 / (1.0 + e)
    probability = rest if z >= 0.0 else e * rest
    both = up + down
    loss = both * (math.log(1.0 + e) + max(z, 0.0)) - up * z
    return loss, both * probability - up, both * e * rest * rest


@compiled
def line_sums(totals: Any, sides: Any, a: float, c: float) -> Any:
    """Loss of a * totals + c, gradient in (c, a), and Hessian (cc, ca, aa)."""
    loss, gc, ga, hcc, hca, haa = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(totals)):
        t = totals[i]
        value, slope, bend = row_terms(a * t + c, sides[0, i], sides[1, i])
        loss += value
        gc += slope
        ga += slope * t
        hcc += bend
        hca += bend * t
        haa += bend * t * t
    return loss, gc, ga, hcc, hca, haa


@compiled
def best_line(
    totals: Any, sides: Any, slope: float, shift: float, cutoff: float, parted: float, enough: float
) -> tuple[float, float, float]:
    """The least loss of slope * totals + shift, slope >= 0: (loss, slope, shift).

    Newton's method in two variables from the given ones. Ends early, with a loss that is too high,
    once twice the decrease that a step promises leaves it above ``cutoff``; and with the loss 0
    once it falls below ``parted``. Of a step that promises less than ``enough`` the promise is
    believed.
    """
    up, down, widest = 0.0, 0.0, 1e-300
    for i in range(len(totals)):
        up += sides[0, i]
        down += sides[1, i]
        widest = max(widest, abs(totals[i]))
    odds = math.log((up + 1e-300) / (down + 1e-300))
    constant = row_terms(odds, up, down)[0]
    # where all rows are saturated there is no curvature to step by: start before that
    a, c = min(slope, _STEEPEST / widest), shift
    loss, gc, ga, hcc, hca, haa = line_sums(totals, sides, a, c)
    if loss > constant:  # from a worse place than no slope at all a step can lead anywhere
        a, c = 0.0, odds
        loss, gc, ga, hcc, hca, haa = line_sums(totals, sides, a, c)
    for _ in range(60):
        hcc, haa = hcc * (1.0 + _FLAT) + 1e-300, haa * (1.0 + _FLAT) + 1e-300
        det = hcc * haa - hca * hca
        if det <= 1e-14 * hcc * haa:  # all totals equal, or no curvature left
            da, dc = 0.0, -gc / hcc
        else:
            da, dc = (hca * gc - hcc * ga) / det, (hca * ga - haa * gc) / det
        decrement = -(da * ga + dc * gc)
        if loss < parted:
            return 0.0, a, c
        if decrement <= 1e-16 or loss - decrement > cutoff:
            break
        if decrement <= min(enough, 0.01 * loss):
            a, c, loss = a + da, c + dc, loss - 0.5 * decrement
            break
        step, trial = 1.0, loss
        for _halving in range(30):
            trial, gc, ga, hcc, hca, haa = line_sums(totals, sides, a + step * da, c + step * dc)
            if trial <= loss - 0.1 * step * decrement:
                break
            step *= 0.5
        if trial > loss:
            break
        a, c, loss = a + step * da, c + step * dc, trial
    if a <= 0.0:  # a score that is better turned round is no score at all
        return constant, 0.0, odds
    return loss, a, c


@compiled
def best_shift(
    totals: Any, sides: Any, slope: float, shift: float, cutoff: float
) -> tuple[float, float]:
    """The least loss of slope * totals + shift: (loss, shift); ends early as `best_line` does."""
    c = shift
    loss, g, _, h, _, _ = line_sums(totals, sides, slope, c)
    for _ in range(100):
        dc = min(max(-g / (h + 1e-300), -_LONGEST), _LONGEST)  # saturated rows promise any step
        decrement = -dc * g
        if decrement <= 1e-16 or loss - decrement > cutoff:
            break
        if decrement <= min(NEARLY_DONE, 0.01 * loss):
            c, loss = c + dc, loss - 0.5 * decrement
            break
        step, trial = 1.0, loss
        for _halving in range(30):
            trial, g, _, h, _, _ = line_sums(totals, sides, slope, c + step * dc)
            if trial <= loss - 0.1 * step * decrement:
                break
            step *= 0.5
        if trial > loss:
            break
        c, loss = c + step * dc, trial
    return loss, c


@compiled
def fitted_loss(
    totals: Any, offset: float, sides: Any, slope: float, shift: float, cutoff: float, score: Score
) -> tuple[float, float, float]:
    """The least loss of totals in points: (loss, slope, shift), from the slope and shift given.

    With a fixed scale the intercept in points, shift * scale - offset, obeys the score's rule.
    """
    if score.scale <= 0.0:
        return best_line(totals, sides, slope, shift, cutoff, score.parted, NEARLY_DONE)
    a = 1.0 / score.scale
    loss, c = best_shift(totals, sides, a, shift, cutoff)
    if loss > cutoff:
        return loss, a, c
    b = min(max(c * score.scale - offset, score.lower), score.upper)
    if score.step > 0.0:
        # the better of the multiples of the step next to b, within the bounds
        least = math.ceil(score.lower / score.step - 1e-9) * score.step
        most = math.floor(score.upper / score.step + 1e-9) * score.step
        below = min(max(math.floor(b / score.step) * score.step, least), most)
        c, high = (below + offset) * a, (min(below + score.step, most) + offset) * a
        loss, above = line_sums(totals, sides, a, c)[0], line_sums(totals, sides, a, high)[0]
        if above < loss:
            loss, c = above, high
    elif b != c * score.scale - offset:
        c = (b + offset) * a
        loss = line_sums(totals, sides, a, c)[0]
    return loss, a, c


@compiled
def moments(groups: Groups, coded: Coded, z: Any) -> Any:
    """Sums of g x, h x and h x^2 by column, x the distance off the mode; then of g and h alone.

    g and h are the rows' first and second derivatives at the groups' scores z (G,); the answer
    has shape (3, p + 1), its last column sum g, sum h and 0.
    """
    m, p = len(groups.cells), len(coded.starts) - 1
    terms, found = np.empty((2, m)), np.zeros((3, p + 1))
    by_group = np.empty((2, len(z)))
    for k in range(len(z)):  # probability of the positive class, and its slope
        _, by_group[0, k], by_group[1, k] = row_terms(z[k], 0.0, 1.0)
    for i in range(m):
        both = coded.weights[0, i] + coded.weights[1, i]
        terms[0, i] = both * by_group[0, groups.cells[i]] - coded.weights[0, i]
        terms[1, i] = both * by_group[1, groups.cells[i]]
        found[0, p] += terms[0, i]
        found[1, p] += terms[1, i]
    for j in range(p):
        gx, hx, hxx = 0.0, 0.0, 0.0
        for e in range(coded.starts[j], coded.starts[j + 1]):
            x, i = coded.deltas[e], coded.rows[e]
            gx += terms[0, i] * x
            hx += terms[1, i] * x
            hxx += terms[1, i] * x * x
        found[0, j], found[1, j], found[2, j] = gx, hx, hxx
    return found


@compiled
def tallied(groups: Groups, coded: Coded, j: int) -> Any:
    """Weight of both classes by (group, value of column j), shape (2, G V)."""
    width, mode = coded.widths[j], coded.modes[j]
    tally = np.zeros((2, len(groups.patterns) * width))
    for e in range(coded.starts[j], coded.starts[j + 1]):
        i = coded.rows[e]
        key = groups.cells[i] * width + coded.codes[e]
        tally[0, key] += coded.weights[0, i]
        tally[1, key] += coded.weights[1, i]
    # only entries off the mode are listed: the mode has the rest of the group's weight
    for group in range(len(groups.patterns)):
        for side in range(2):
            others = 0.0
            for key in range(group * width, (group + 1) * width):
                others += tally[side, key]
            rest = groups.sides[side, group] - others
            if rest > 1e-13 * groups.sides[side, group]:
                tally[side, group * width + mode] = rest
    return tally


@compiled
def part(groups: Groups, coded: Coded, columns: Any) -> Groups:
    """Part the groups by each of the columns; by one with too many values, row from row."""
    m = len(groups.cells)
    for j in columns:
        t, width = groups.patterns.shape[1], coded.widths[j]
        single = width == 0 or width * len(groups.patterns) > 4 * m + 1024
        tally = coded.weights if single else tallied(groups, coded, j)
        # names: the new group of each (group, value) that occurs, or of each row
        names, kept = np.empty(tally.shape[1], np.int64), 0
        for key in range(len(names)):
            names[key] = kept if single or tally[0, key] + tally[1, key] > 0.0 else -1
            kept += names[key] >= 0
        patterns, sides = np.empty((kept, t + 1)), np.empty((2, kept))
        for key in range(len(names)):
            g = names[key]
            if g >= 0:
                old = groups.cells[key] if single else key // width
                for k in range(t):
                    patterns[g, k] = groups.patterns[old, k]
                patterns[g, t] = coded.values[j, coded.modes[j] if single else key % width]
                sides[0, g], sides[1, g] = tally[0, key], tally[1, key]
        cells = np.empty(m, np.int64)
        for i in range(m):
            cells[i] = i if single else names[groups.cells[i] * width + coded.modes[j]]
        for e in range(coded.starts[j], coded.starts[j + 1]):
            i = coded.rows[e]
            if single:
                patterns[i, t] += coded.deltas[e]
            else:
                cells[i] = names[groups.cells[i] * width + coded.codes[e]]
        groups = Groups(cells, patterns, sides)
    return groups


@compiled
def newton_step(bend: Any, gradient: Any) -> Any:
    """The d with bend d = -gradient, bend positive definite: L y = -gradient, then L'd = y."""
    n = len(gradient)
    factor, d = np.empty((n, n)), np.empty(n)
    for j in range(n):
        for i in range(j, n):
            factor[i, j] = bend[i, j]
            for k in range(j):
                factor[i, j] -= factor[i, k] * factor[j, k]
        root = math.sqrt(max(factor[j, j], 1e-300))
        d[j] = -gradient[j]
        for i in range(j, n):
            factor[i, j] /= root
        for k in range(j):
            d[j] -= factor[j, k] * d[k]
        d[j] /= factor[j, j]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            d[j] -= factor[k, j] * d[k]
        d[j] /= factor[j, j]
    return d


@compiled
def boxed_step(bend: Any, gradient: Any, low: Any, high: Any) -> Any:
    """The d in [low, high] that minimises gradient'd + d'bend d/2, bend positive definite."""
    n, inside = len(gradient), True
    d = newton_step(bend, gradient)
    for j in range(n):
        inside = inside and low[j] <= d[j] <= high[j]
    if inside:
        return d
    # coordinate descent from the clipped point; slope = gradient + bend d
    slope = np.empty(n)
    for j in range(n):
        d[j] = min(max(d[j], low[j]), high[j])
    for i in range(n):
        slope[i] = gradient[i]
        for j in range(n):
            slope[i] += bend[i, j] * d[j]
    for _ in range(100):
        worst = 0.0
        for j in range(n):
            move = min(max(d[j] - slope[j] / bend[j, j], low[j]), high[j]) - d[j]
            if move != 0.0:
                d[j] += move
                for i in range(n):
                    slope[i] += move * bend[j, i]
                worst = max(worst, abs(move) * math.sqrt(bend[j, j]))
        if worst <= 1e-7:
            break
    return d


@compiled
def weights_sums(patterns: Any, sides: Any, w: Any, gradient: Any, bend: Any) -> float:
    """The loss at weights w, the intercept last, shape (t + 1,); gradient and Hessian in place."""
    t, loss = len(w) - 1, 0.0
    for j in range(t + 1):
        gradient[j] = 0.0
        for k in range(t + 1):
            bend[j, k] = 0.0
    for i in range(len(patterns)):
        z = w[t]
        for j in range(t):
            z += w[j] * patterns[i, j]
        value, slope, curve = row_terms(z, sides[0, i], sides[1, i])
        loss += value
        gradient[t] += slope
        bend[t, t] += curve
        for j in range(t):
            x = patterns[i, j]
            gradient[j] += slope * x
            bend[t, j] += curve * x
            for k in range(j + 1):
                bend[j, k] += curve * x * patterns[i, k]
    for j in range(t + 1):
        for k in range(j):
            bend[k, j] = bend[j, k]
    return loss


@compiled
def refit(patterns: Any, sides: Any, w: Any, lower: Any, upper: Any) -> float:
    """Newton's method on weights w, the intercept last, in place: the loss.

    The weights, not the intercept, stay within ``lower`` and ``upper``, shape (t,). It ends once a
    step promises little; on rows that can be parted after some steps.
    """
    t = len(w) - 1
    gradient, bend = np.empty(t + 1), np.empty((t + 1, t + 1))
    low, high, moved = np.empty(t + 1), np.empty(t + 1), np.empty(t + 1)
    low[t], high[t] = -np.inf, np.inf
    loss = weights_sums(patterns, sides, w, gradient, bend)
    for _ in range(_STEPS):
        for j in range(t + 1):
            bend[j, j] = bend[j, j] * (1.0 + 1e-9) + 1e-12
        for j in range(t):
            low[j], high[j] = lower[j] - w[j], upper[j] - w[j]
        step = boxed_step(bend, gradient, low, high)
        decrement = 0.0
        for j in range(t + 1):
            decrement -= gradient[j] * step[j]
        if decrement <= 1e-15 or loss <= _FAR:
            break
        length, trial = 1.0, loss
        for _halving in range(30):
            for j in range(t + 1):
                moved[j] = w[j] + length * step[j]
            trial = weights_sums(patterns, sides, moved, gradient, bend)
            if trial <= loss - 0.1 * length * decrement:
                break
            length *= 0.5
        if trial > loss:
            break
        for j in range(t + 1):
            w[j] = moved[j]
        loss = trial
        if decrement <= _ENOUGH:
            break
    return loss


@compiled
def expand(
    groups: Groups, coded: Coded, w: Any, candidates: Any, lower: Any, upper: Any
) -> tuple[Any, Any]:
    """Refit a support's weights w (t + 1,) with each candidate column: losses (C,), w (C, t + 2).

    ``lower`` and ``upper`` are the candidates' bounds with the support's before them, (C, t + 1).
    """
    t = len(w) - 1
    losses, found = np.empty(len(candidates)), np.zeros((len(candidates), t + 2))
    for k in range(len(candidates)):
        parted = part(groups, coded, candidates[k : k + 1])
        for j in range(t):
            found[k, j] = w[j]
        found[k, t + 1] = w[t]
        losses[k] = refit(parted.patterns, parted.sides, found[k], lower[k], upper[k])
    return losses, found


@compiled
def model_value(square: float, along: float, scale: float) -> float:
    """The quadratic model, up to a constant, of points v with v'bend v and v'pull given."""
    if scale > 0.0:
        return 0.5 * square / (scale * scale) - along / scale
    return -0.5 * along * along / square if along > 0.0 and square > 0.0 else 0.0


@compiled
def model_descents(bend: Any, pull: Any, choices: Choices, scale: float, indices: Any) -> Any:
    """The model's values, prices included, of points at ``indices`` (M, t), shape (M,).

    Those of odd number are improved first, in place, by coordinate descent.
    """
    models, t = np.empty(len(indices)), len(pull)
    v, turned = np.empty(t), np.empty(t)
    for m in range(len(indices)):
        # square = v'bend v, along = v'pull and turned = bend v are kept up to date for points v
        index, price, square, along = indices[m], 0.0, 0.0, 0.0
        for j in range(t):
            v[j] = choices.values[j, index[j]]
            price += choices.prices[j, index[j]]
            along += v[j] * pull[j]
        for i in range(t):
            turned[i] = 0.0
            for j in range(t):
                turned[i] += bend[i, j] * v[j]
            square += v[i] * turned[i]
        moved, sweep = m % 2 == 1, 0
        while moved and sweep < 20:
            moved, sweep = False, sweep + 1
            for j in range(t):
                here, chosen = index[j], index[j]
                best = model_value(square, along, scale) - _BETTER
                for i in range(choices.counts[j]):
                    by = choices.values[j, i] - v[j]
                    after = square + 2.0 * by * turned[j] + by * by * bend[j, j]
                    value = model_value(after, along + by * pull[j], scale)
                    value += choices.prices[j, i] - choices.prices[j, here]
                    if value < best:
                        best, chosen = value, i
                if chosen != here:
                    by = choices.values[j, chosen] - v[j]
                    square += 2.0 * by * turned[j] + by * by * bend[j, j]
                    along += by * pull[j]
                    for i in range(t):
                        turned[i] += by * bend[j, i]
                    v[j] = choices.values[j, chosen]
                    price += choices.prices[j, chosen] - choices.prices[j, here]
                    index[j] = chosen
                    moved = True
        models[m] = model_value(square, along, scale) + price
    return models


@compiled
def judge(whole: Whole, indices: Any, states: Any, floor: float) -> None:
    """Objective, slope and shift of the points at ``indices`` (K, t), in ``states`` (K, 3).

    These hold an objective to beat, and slope and shift to begin with. Points that do not come
    half as near to the ``floor`` as the best of those before are given up early.
    """
    size, t = whole.patterns.shape
    totals, best = np.empty(size), np.inf
    for k in range(len(indices)):
        offset, price = 0.0, 0.0
        for i in range(size):
            totals[i] = 0.0
        for j in range(t):
            v = whole.choices.values[j, indices[k, j]]
            price += whole.choices.prices[j, indices[k, j]]
            offset += whole.means[j] * v
            for i in range(size):
                totals[i] += v * whole.patterns[i, j]
        cutoff = min(states[k, 0] - price, 2.0 * best - floor)
        loss, a, c = fitted_loss(
            totals, offset, whole.sides, states[k, 1], states[k, 2], cutoff, whole.score
        )
        states[k, 0], states[k, 1], states[k, 2] = loss + price, a, c
        best = min(best, loss + price)


@compiled
def descend(whole: Whole, index: Any, nothing: Any, state: Any) -> None:
    """Walk along single columns, then pairs, while the objective falls; all in place.

    ``state`` (3,) holds objective, slope and shift of the points at ``index`` (t,); ``nothing``
    (t,) are the indices of the points closest to 0. Along one column the profiled loss has no
    second valley, so a walk ends at the first rise.
    """
    t, counts = len(index), whole.choices.counts
    trials, after = np.empty((1, t), np.int64), np.empty((1, 3))
    trial = trials[0]
    for _ in range(100):
        moved = False
        # first each column up, down and to 0 at once (3 t); then pairs, a sign each (4 t t)
        for move in range(3 * t + 4 * t * t):
            single, pair = move < 3 * t, move - 3 * t
            i, j = (move // 3, move // 3) if single else (pair // 4 % t, pair // 4 // t)
            better = single or i < j
            while better:
                for k in range(t):
                    trial[k] = index[k]
                if not single:
                    trial[i] += 1 - 2 * (pair & 1)
                    trial[j] += 1 - (pair & 2)
                elif move % 3 == 2:
                    trial[i] = nothing[i]
                else:
                    trial[i] += 1 - 2 * (move % 3)
                inside = 0 <= trial[i] < counts[i] and 0 <= trial[j] < counts[j]
                if not inside or trial[i] == index[i]:
                    break
                for k in range(3):
                    after[0, k] = state[k]
                judge(whole, trials, after, 0.0)
                better = after[0, 0] < state[0] - _BETTER
                if better:
                    index[i], index[j] = trial[i], trial[j]
                    for k in range(3):
                        state[k] = after[0, k]
                    moved = True
                    better = single
        if not moved:
            break
