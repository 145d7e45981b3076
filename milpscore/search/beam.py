"""A beam over supports under logistic loss, and the compiled loops of the fast risk scores.

Rows that agree on the columns of a support are one row with a positive and a negative weight, so
a problem has tens of rows where the data have thousands. All loops are over scalars, which numba
compiles in a fraction of the time that array expressions take. Import it where it is used: it
loads numba.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray, MergedRows
from milpscore.core.jit import compiled, inner
from milpscore.search.points import Support, SupportRules
from milpscore.search.policy import POLICY, TUNED, Work


class Coded(NamedTuple):
    """Centred columns, each by its entries off its most frequent value (its mode)."""

    weights: Any  # (2, m): the rows' shares of the weight in the positive and the negative class
    values: Any  # (p, V): distinct centred values, the mode alone if they are too many to code
    widths: Any  # (p,): how many, 0 if too many
    modes: Any  # (p,): index of the mode
    starts: Any  # (p + 1,): column j's entries are starts[j]:starts[j + 1]
    rows: Any  # (e,): an entry's row,
    codes: Any  # (e,): the index of its value,
    deltas: Any  # (e,): and how far it lies off the mode


class Groups(NamedTuple):
    """G groups of rows that agree on t columns."""

    cells: Any  # (m,): the group of each row
    patterns: Any  # (G, t): the groups' centred values
    sides: Any  # (2, G): their positive and negative weight


class Score(NamedTuple):
    """How totals become risks."""

    scale: float  # 0: slope and intercept are free
    steepest: float  # the largest free slope
    lower: float  # ends of the intercept in points, with a fixed scale,
    upper: float
    step: float  # and what it is a multiple of (0: any)
    parted: float  # loss below which no row is on its wrong side: a rising slope takes it to 0
    enough: float  # Newton steps that promise less are the last ones


@inner
def row_terms(z: float, up: float, down: float) -> tuple[float, float, float]:
    """up log(1 + exp(-z)) + down log(1 + exp(z)), and its first two derivatives."""
    e = math.exp(-abs(z))
    rest = 1.0 / (1.0 + e)
    probability = rest if z >= 0.0 else e * rest
    both = up + down
    loss = both * (math.log(1.0 + e) + max(z, 0.0)) - up * z
    return loss, both * probability - up, both * e * rest * rest


@inner
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


@inner
def constant_line(totals: Any, sides: Any) -> tuple[float, float, float]:
    """Loss of the best constant score, that score, and the largest absolute total."""
    up, down, widest = 0.0, 0.0, 1e-300
    for i in range(len(totals)):
        up += sides[0, i]
        down += sides[1, i]
        widest = max(widest, abs(totals[i]))
    odds = math.log((up + 1e-300) / (down + 1e-300))
    return row_terms(odds, up, down)[0], odds, widest


@inner
def line_step(
    gc: float, ga: float, hcc: float, hca: float, haa: float, room: float, held: bool,
    longest: float,
) -> tuple[float, float]:  # fmt: skip
    """Newton's step of slope and shift, the slope rising by ``room`` at most; none if ``held``."""
    det = hcc * haa - hca * hca
    if held or det <= 1e-14 * hcc * haa:  # or all totals equal, or no curvature left
        # saturated rows promise any step
        return 0.0, min(max(-gc / hcc, -longest), longest)
    da, dc = (hca * gc - hcc * ga) / det, (hca * ga - haa * gc) / det
    if da > room:  # up to there, and the shift follows
        da = room
        dc = -(gc + hca * da) / hcc
        dc = min(max(dc, -longest), longest)
    return da, dc


@inner
def best_line(
    totals: Any, sides: Any, slope: float, shift: float, steepest: float, cutoff: float,
    parted: float, enough: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Minimise the loss of slope * totals + shift, 0 <= slope <= steepest: (loss, slope, shift)."""
    # The one root-finder of the kernels; `milpscore.losses.lines` is NumPy's. The slope is held if
    # ``parted`` < 0. A search that cannot come below ``cutoff`` ends early, above its least loss.
    held = parted < 0.0
    constant, odds, widest = constant_line(totals, sides)
    a, c = slope if held else min(slope, TUNED.steepest_start / widest, steepest), shift
    da, dc, step, decrement, loss = 0.0, 0.0, 1.0, 0.0, np.inf
    taken, halved, longest = 0, 0, TUNED.longest_shift
    # one loop over steps and their halvings: each call of the sums is compiled for itself
    while taken <= 100:
        # 1) Judge the step: halve it until it keeps its promise, end if it only goes up.
        trial, gc, ga, hcc, hca, haa = line_sums(totals, sides, a + step * da, c + step * dc)
        if taken == 0 and trial > constant and not held and a > 0.0:
            # from worse than no slope at all a step can lead anywhere
            a, c = 0.0, odds
            continue
        if taken > 0 and trial > loss - 0.1 * step * decrement and halved < 30:
            step, halved = 0.5 * step, halved + 1
            continue
        if trial > loss:
            break
        # 2) Take it, and find the next one.
        a, c, loss = a + step * da, c + step * dc, trial
        taken, halved, step = taken + 1, 0, 1.0
        hcc, haa = hcc * (1.0 + TUNED.ridge) + 1e-300, haa * (1.0 + TUNED.ridge) + 1e-300
        da, dc = line_step(gc, ga, hcc, hca, haa, steepest - a, held, longest)
        # where rows are saturated the shift may have far to go: each step in a row is twice as long
        longest = 2.0 * longest if abs(dc) == longest else TUNED.longest_shift
        decrement = -(da * ga + dc * gc)
        if loss < parted:
            return 0.0, a, c
        # 3) End at the least loss, or where the cutoff is out of reach: the larger the part of the
        # loss that a step saves, the more the ones after it save.
        promise = (1.0 + TUNED.growth * decrement / loss) * decrement
        if decrement <= 1e-16 or (loss - promise > cutoff and decrement < 0.5 * loss):
            break
        if decrement <= min(enough, 0.01 * loss):  # so small a step keeps its promise
            a, c, loss = a + da, c + dc, loss - 0.5 * decrement
            break
    if a <= 0.0:  # a score that is better turned round is not a score at all
        return constant, 0.0, odds
    return loss, a, c


@compiled
def fitted_loss(
    totals: Any, offset: float, sides: Any, slope: float, shift: float, cutoff: float, score: Score
) -> tuple[float, float, float]:
    """Return the least loss of totals in points: (loss, slope, shift), from a slope and a shift."""
    # with a fixed scale the intercept in points, shift * scale - offset, obeys the score's rule
    free = score.scale <= 0.0
    parted = score.parted if free else -1.0
    start = slope if free else 1.0 / score.scale
    loss, a, c = best_line(
        totals, sides, start, shift, score.steepest, cutoff, parted, score.enough
    )
    if free or loss > cutoff:
        return loss, a, c
    b = min(max(c * score.scale - offset, score.lower), score.upper)
    low, high = b, b
    if score.step > 0.0:
        # the better of the multiples of the step next to b, within the bounds
        least = math.ceil(score.lower / score.step - 1e-9) * score.step
        most = math.floor(score.upper / score.step + 1e-9) * score.step
        low = min(max(math.floor(b / score.step) * score.step, least), most)
        high = min(low + score.step, most)
    elif b == c * score.scale - offset:
        return loss, a, c
    loss = np.inf
    for k in range(2 if high > low else 1):
        at = ((low if k == 0 else high) + offset) * a
        value = line_sums(totals, sides, a, at)[0]
        if value < loss:
            loss, c = value, at
    return loss, a, c


@inner
def tallied_totals(totals: Any, sides: Any, grid: bool) -> Any:
    """Return distinct totals and their weights of both classes if the totals are whole and few."""
    m, low, high = len(totals), np.inf, -np.inf
    if not grid:
        return totals, sides
    for i in range(m):
        low, high = min(low, totals[i]), max(high, totals[i])
    if not high - low < m / 2:
        return totals, sides
    width = int(high - low + 0.5) + 1
    tally = np.empty((2, width))
    for k in range(width):
        tally[0, k], tally[1, k] = 0.0, 0.0
    for i in range(m):
        k = int(totals[i] - low + 0.5)
        tally[0, k] += sides[0, i]
        tally[1, k] += sides[1, i]
    kept = 0
    for k in range(width):
        kept += tally[0, k] + tally[1, k] > 0.0
    values, shares, n = np.empty(kept), np.empty((2, kept)), 0
    for k in range(width):
        if tally[0, k] + tally[1, k] > 0.0:
            values[n], shares[0, n], shares[1, n] = low + k, tally[0, k], tally[1, k]
            n += 1
    return values, shares


@inner
def step_gains(coded: Coded, groups: Groups, w: Any, low: Any, high: Any, saved: Any) -> None:
    """Write what a Newton step within [low, high], (p,), along each column alone would save."""
    # The intercept follows: with g and h the first and second derivatives of the rows and
    # M = sum h, a column x has gradient sum g x - sum g sum h x / M and curvature
    # sum h x^2 - (sum h x)^2 / M. The distances x count from the columns' modes.
    cells, patterns, weights = groups.cells, groups.patterns, coded.weights
    starts, rows, deltas, widths = coded.starts, coded.rows, coded.deltas, coded.widths
    (size, t), m = patterns.shape, len(cells)
    risks, row = np.empty((size, 2)), np.empty((m, 2))  # of each row g and h
    for i in range(size):
        z = w[t]
        for k in range(t):
            z += w[k] * patterns[i, k]
        e = math.exp(-abs(z))
        rest = 1.0 / (1.0 + e)
        risks[i, 0], risks[i, 1] = (rest if z >= 0.0 else e * rest), e * rest * rest
    slope, mass = 0.0, 1e-300
    for i in range(m):
        both, cell = weights[0, i] + weights[1, i], cells[i]
        g, h = both * risks[cell, 0] - weights[0, i], both * risks[cell, 1]
        row[i, 0], row[i, 1] = g, h
        slope += g
        mass += h
    for j in range(len(saved)):
        saved[j] = 0.0
        if low[j] >= high[j]:
            continue
        first, last, gx, hx, hxx = starts[j], starts[j + 1], 0.0, 0.0, 0.0
        if widths[j] == 2:  # all entries are one distance off the mode
            for n in range(first, last):
                i = rows[n]
                gx += row[i, 0]
                hx += row[i, 1]
            x = deltas[first]
            gx, hx, hxx = gx * x, hx * x, hx * x * x
        else:
            for n in range(first, last):
                x, i = deltas[n], rows[n]
                gx += row[i, 0] * x
                hx += row[i, 1] * x
                hxx += row[i, 1] * x * x
        gradient, curvature = gx - slope / mass * hx, hxx - hx * hx / mass
        # a column without curvature left adds nothing to the support
        if curvature > 1e-13 * mass:
            step = min(max(-gradient / curvature, low[j]), high[j])
            saved[j] = -(gradient * step + 0.5 * curvature * step * step)


@inner
def tallied(groups: Groups, coded: Coded, j: int) -> Any:
    """Weight of both classes by (group, value of column j), shape (2, G V)."""
    cells, sides, size = groups.cells, groups.sides, len(groups.patterns)
    weights, rows, codes = coded.weights, coded.rows, coded.codes
    width, mode, first, last = coded.widths[j], coded.modes[j], coded.starts[j], coded.starts[j + 1]
    tally = np.empty((2, size * width))
    for side in range(2):
        for key in range(size * width):
            tally[side, key] = 0.0
        for e in range(first, last):
            tally[side, cells[rows[e]] * width + codes[e]] += weights[side, rows[e]]
        # only entries off the mode are listed: the mode has the rest of the group's weight
        for group in range(size):
            rest = sides[side, group]
            for key in range(group * width, (group + 1) * width):
                rest -= tally[side, key]
            if rest > 1e-13 * sides[side, group]:
                tally[side, group * width + mode] = rest
    return tally


@inner
def part(groups: Groups, coded: Coded, columns: Any, named: bool) -> Groups:
    """Part the groups by each of the columns, by one of too many values row from row."""
    m, values = len(groups.cells), coded.values
    starts, rows, codes, deltas = coded.starts, coded.rows, coded.codes, coded.deltas
    for n in range(len(columns)):
        j, former, before = columns[n], groups.cells, groups.patterns
        t, width, mode = before.shape[1], coded.widths[j], coded.modes[j]
        single = width == 0 or width * len(before) > 4 * m + 1024
        # 1) Name the new groups: one per (group, value) that occurs, or one per row.
        tally = coded.weights if single else tallied(groups, coded, j)
        names, kept = np.empty(tally.shape[1], np.int64), 0
        for key in range(len(names)):
            names[key] = kept if single or tally[0, key] + tally[1, key] > 0.0 else -1
            kept += names[key] >= 0
        # 2) Give them their values and weights.
        patterns, sides = np.empty((kept, t + 1)), np.empty((2, kept))
        for key in range(len(names)):
            g = names[key]
            if g >= 0:
                old = former[key] if single else key // width
                for k in range(t):
                    patterns[g, k] = before[old, k]
                patterns[g, t] = values[j, mode if single else key % width]
                sides[0, g], sides[1, g] = tally[0, key], tally[1, key]
        if single:
            for e in range(starts[j], starts[j + 1]):
                patterns[rows[e], t] += deltas[e]
        # 3) Give every row its group; after the last column only if they are asked for.
        if not named and n + 1 == len(columns):
            return Groups(former, patterns, sides)
        cells = np.empty(m, np.int64)
        for i in range(m):
            cells[i] = i if single else names[former[i] * width + mode]
        for e in range(starts[j], starts[j + 1] if not single else starts[j]):
            i = rows[e]
            cells[i] = names[former[i] * width + codes[e]]
        groups = Groups(cells, patterns, sides)
    return groups


@inner
def boxed_step(bend: Any, gradient: Any, low: Any, high: Any) -> Any:
    """Return the d in [low, high] that minimises gradient'd + d'bend d/2, by coordinate descent."""
    # (the columns are centred, so that the intercept hardly bends with them)
    n = len(gradient)
    d, slope = np.empty(n), np.empty(n)  # slope = gradient + bend d
    for j in range(n):
        d[j], slope[j] = 0.0, gradient[j]
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


@inner
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


@inner
def refit(patterns: Any, sides: Any, w: Any, lower: Any, upper: Any) -> float:
    """Refit weights w (t + 1,), the intercept last, in place by Newton's method: the loss."""
    # the weights, not the intercept, stay within ``lower`` and ``upper`` (t,)
    t = len(w) - 1
    gradient, bend = np.empty(t + 1), np.empty((t + 1, t + 1))
    low, high, moved = np.empty(t + 1), np.empty(t + 1), np.empty(t + 1)
    low[t], high[t] = -np.inf, np.inf
    for j in range(t + 1):
        moved[j] = w[j]
    step, length, decrement, loss, taken, halved = moved, 1.0, 0.0, np.inf, 0, 0
    # one loop over steps and their halvings, as in `best_line`
    while taken <= TUNED.refit_steps:
        # 1) Judge the step: halve it until it keeps its promise, end if it only goes up.
        trial = weights_sums(patterns, sides, moved, gradient, bend)
        if taken > 0 and trial > loss - 0.1 * length * decrement and halved < 30:
            length, halved = 0.5 * length, halved + 1
            for j in range(t + 1):
                moved[j] = w[j] + length * step[j]
            continue
        if trial > loss:
            break
        # 2) Take it; the step before promised little, or rows that can be parted never end it.
        for j in range(t + 1):
            w[j] = moved[j]
        loss, taken, halved, length = trial, taken + 1, 0, 1.0
        if taken > 1 and decrement <= TUNED.refit_decrement:
            break
        # 3) Find the next step within the bounds.
        for j in range(t + 1):
            bend[j, j] = bend[j, j] * (1.0 + 1e-9) + 1e-12
        for j in range(t):
            low[j], high[j] = lower[j] - w[j], upper[j] - w[j]
        step = boxed_step(bend, gradient, low, high)
        decrement = 0.0
        for j in range(t + 1):
            decrement -= gradient[j] * step[j]
            moved[j] = w[j] + step[j]
        if decrement <= 1e-15 or loss <= TUNED.refit_loss:
            break
    return loss


@inner
def one_group(coded: Coded) -> Groups:
    """Return all rows in a group."""
    weights, m, up, down = coded.weights, coded.weights.shape[1], 0.0, 0.0
    cells, sides = np.empty(m, np.int64), np.empty((2, 1))
    for i in range(m):
        cells[i] = 0
        up += weights[0, i]
        down += weights[1, i]
    sides[0, 0], sides[1, 0] = up, down
    return Groups(cells, np.empty((1, 0)), sides)


@compiled
def refit_supports(
    coded: Coded, orders: Any, weights: Any, parents: Any, columns: Any, lower: Any, upper: Any,
    gains: Any,
) -> Any:  # fmt: skip
    """Refit supports ``orders`` (B, t) with e columns more: losses (C,), weights (C, t + e + 1)."""
    # ``parents`` (C,), in rising order, and ``columns`` (C, e) say which; ``weights`` (B, t + 1).
    # The groups of the last one come third. Instead ``gains`` (B, p), if it has rows, gets what a
    # step along each column alone would save each parent; without weights there are groups alone.
    # It is one kernel because each one takes seconds to compile with all that it calls.
    t, count, more = orders.shape[1], len(columns), columns.shape[1]
    losses, found = np.empty(count), np.empty((count, t + more + 1))
    low, high = np.empty(t + more), np.empty(t + more)
    whole, last = one_group(coded), -1
    groups, parted = whole, whole
    for k in range(count):
        n = parents[k]
        if n != last:
            # not True and False, which as constants would be types of their own
            groups, last = part(whole, coded, orders[n], n >= 0), n
        if len(gains) > 0:
            step_gains(coded, groups, weights[n], lower, upper, gains[n])
            continue
        parted = part(groups, coded, columns[k], n < 0)
        if len(weights) == 0:
            continue
        for i in range(t + more):
            j = orders[n, i] if i < t else columns[k, i - t]
            low[i], high[i] = lower[j], upper[j]
            found[k, i] = weights[n, i] if i < t else 0.0
        found[k, t + more] = weights[n, t]
        losses[k] = refit(parted.patterns, parted.sides, found[k], low, high)
    return losses, found, parted


# -- the beam --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Columns:
    """Merged rows as the beam reads them."""

    coded: Coded  # minus their
    means: FloatArray  # (p,)
    modes: FloatArray  # (p,): most frequent values
    grid: bool  # whether all distances off them are whole

    @classmethod
    def of(cls, rows: MergedRows) -> Columns:
        """Weighted distinct rows, centred and coded."""
        share = rows.weight / rows.weight.sum()
        means = share @ rows.X
        codes, values, widths = _coded(rows.X)
        m = len(rows.y)
        modes = (2 * np.count_nonzero(codes, axis=1) > m).astype(np.int64)
        for j in np.flatnonzero(widths != 2).tolist():
            modes[j] = np.bincount(codes[j], minlength=1).argmax()
        base = values[np.arange(len(modes)), modes]
        unusual = codes != modes[:, None].astype(np.uint8)
        wide = np.flatnonzero(widths == 0)
        unusual[wide] = rows.X.T[wide] != base[wide, None]
        starts = np.concatenate([[0], np.cumsum(np.count_nonzero(unusual, axis=1))])
        row = np.empty(starts[-1], dtype=np.int32)
        deltas, entries = np.empty(len(row)), np.empty(len(row), dtype=np.uint8)
        grid = True
        # column by column: arrays of all entries at once do not fit into caches
        for j, (begin, end) in enumerate(pairwise(starts.tolist())):
            row[begin:end] = at = np.flatnonzero(unusual[j])
            if widths[j] == 2:
                distances = values[j, 1 - modes[j]] - base[j]
                entries[begin:end] = 1 - modes[j]
            else:
                distances = rows.X[at, j] - base[j]
                entries[begin:end] = codes[j, at]
            deltas[begin:end] = distances
            grid = grid and bool((np.rint(distances) == distances).all())
        coded = Coded(
            weights=np.stack([np.where(rows.y > 0, share, 0.0), np.where(rows.y > 0, 0.0, share)]),
            values=values - means[:, None],
            widths=widths,
            modes=modes,
            starts=starts,
            rows=row,
            codes=entries,
            deltas=deltas,
        )
        return cls(coded, means, base, grid)

    @property
    def log_odds(self) -> float:
        """Score of the best constant risk."""
        up, down = self.coded.weights.sum(axis=1)
        return float(np.log(up / down))

    def groups(self, support: Sequence[int]) -> Groups:
        """Rows that agree on the support's columns; each for itself where values are too many."""
        order, no_ends = np.array(support, dtype=np.int64), np.empty(0)
        return self.refit(order, np.empty((0, 0)), no_ends, no_ends)[2]

    def refit(
        self, order: IntArray, w: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> tuple[FloatArray, FloatArray, Groups]:
        """Loss (1,) and weights of one support, from weights w (1, t + 1), and its groups."""
        parents, none = np.zeros(1, dtype=np.int64), np.empty((1, 0), dtype=np.int64)
        found: tuple[FloatArray, FloatArray, Groups] = refit_supports(
            self.coded, order[None, :], w, parents, none, lower, upper, np.empty((0, 0))
        )
        return found


def _coded(X: FloatArray) -> tuple[npt.NDArray[np.uint8], FloatArray, IntArray]:
    """Codes (p, m), distinct values (p, V) and their number (p,), 0 above 256."""
    low, high = X.min(axis=0), X.max(axis=0)
    if (high - low).max(initial=0.0) < POLICY.most_levels:
        shifted = X - low if low.any() else X
        small = shifted.astype(np.uint8)
        if np.array_equal(small, shifted):  # whole numbers: no sorting needed
            widths = (high - low).astype(np.int64) + 1
            return np.ascontiguousarray(small.T), low[:, None] + np.arange(widths.max()), widths
    codes = np.zeros(X.shape[::-1], dtype=np.uint8)
    distinct, widths = [], np.zeros(X.shape[1], dtype=np.int64)
    for j in range(X.shape[1]):
        found, where, counts = np.unique(X[:, j], return_inverse=True, return_counts=True)
        if len(found) <= POLICY.most_levels:
            codes[j], widths[j] = where, len(found)
        else:
            found = found[[counts.argmax()]]
        distinct.append(found)
    values = np.zeros((X.shape[1], max(map(len, distinct), default=1)))
    for j, found in enumerate(distinct):
        values[j, : len(found)] = found
    return codes, values, widths


class Known(NamedTuple):
    """A support and its real weights."""

    order: Support
    w: FloatArray  # in this order, the intercept last
    loss: float
    floor: float  # the loss, and the least that points of these columns cost
    key: Support  # the columns in rising order
    lost: bool = False  # whether some weight is too small to be a point beside the others


@dataclass(eq=False)
class Beam:
    """Supports by forward selection and exchange; every one that was refitted is remembered."""

    columns: Columns
    lower: FloatArray  # (p,): ends of real weights, infinite if a free slope leaves only the sign
    upper: FloatArray
    reach: FloatArray  # (p,): most points of either sign, infinite with a fixed scale
    usable: npt.NDArray[np.bool_]  # (p,): columns that may enter
    forced: Support  # columns that must
    prices: FloatArray  # (p,): the least a column's points cost
    limit: int  # the largest size
    width: int  # supports kept per size
    tried: int  # supports refitted per size, the most promising ones
    rules: SupportRules  # what constraints say of supports
    work: Work = field(default_factory=Work)  # once it runs short, one per size is refitted
    known: dict[Support, Known] = field(default_factory=dict)
    sizes: dict[int, list[Known]] = field(default_factory=dict)
    refits: int = 0
    growing: bool = True  # whether the last size has a smaller loss than the one before

    def __post_init__(self) -> None:
        # no range is left to columns that may not enter
        self.low = np.where(self.usable, self.lower, 0.0)
        self.high = np.where(self.usable, self.upper, 0.0)
        coded = self.columns.coded
        self.wide = coded.widths != 2
        self.rows, self.entries = coded.weights.shape[1], len(coded.rows)
        # values that part rows: a column of too many parts row from row
        self.parts = np.where(coded.widths > 0, coded.widths, self.rows).astype(np.float64)

    def levels(self) -> Iterator[float]:
        """Add columns one at a time up to the limit; yield the least loss of each size."""
        # what is known of a size depends on no larger limit: a search with more terms knows all
        # that one with fewer does
        beam = [self.support(self.forced)]
        yield beam[0].loss
        least = beam[0].loss
        for size in range(len(self.forced) + 1, self.limit + 1):
            if self.work.is_up:
                return
            self._grow(beam if self.work.plenty else beam[:1])
            if not (beam := self.best(size)):
                return
            before, least = least, min(known.loss for known in beam)
            yield least
            if least >= before - POLICY.same_loss:
                self.growing = False
                return
            beam = self.best(size)  # with supports that were added between two sizes

    def best(self, size: int) -> list[Known]:
        """The best supports of a size, of those with one and the same loss (twins) only one."""
        kept: list[Known] = []
        for known in sorted(self.sizes.get(size, ()), key=attrgetter("lost", "loss", "key")):
            if (
                not kept
                or known.loss > kept[-1].loss + POLICY.same_loss
                or known.lost > kept[-1].lost
            ):
                kept.append(known)
            if len(kept) == self.width:
                break
        return kept

    def _grow(self, parents: list[Known]) -> None:
        """Refit the most promising supports that have one column more than one of the parents."""
        coded, tried = self.columns.coded, self.tried if self.work.plenty else 1
        orders = np.array([each.order for each in parents], dtype=np.int64)
        weights = np.array([each.w for each in parents])
        gains, each = np.empty((len(parents), len(self.low))), np.arange(len(parents))
        none = np.empty((len(parents), 0), dtype=np.int64)
        refit_supports(coded, orders, weights, each, none, self.low, self.high, gains)
        gains[each[:, None], orders] = 0.0
        floors = np.array([[each.floor] for each in parents]) - gains + self.prices
        floors[gains <= POLICY.no_gain] = np.inf
        asked = self._asked(parents, floors, tried)
        self.work.spend(len(parents) * (self.entries + (orders.shape[1] + 4) * self.rows))
        if not asked:
            return
        ranked = sorted((n, j, key) for key, (n, j) in asked.items())
        at, new = np.array([n for n, _, _ in ranked]), np.array([[j] for _, j, _ in ranked])
        losses, found, _ = refit_supports(
            coded, orders, weights, at, new, self.lower, self.upper, np.empty((0, 0))
        )
        self.refits += len(ranked)
        columns = np.hstack([orders[at], new])
        self._count_refits(self.parts[columns].prod(axis=1), columns.shape[1])
        size = np.abs(found[:, :-1])
        full = (size / self.reach[columns]).max(axis=1, keepdims=True)
        tiny = self.wide[columns] & (size < POLICY.least_points * full)
        figures = zip(losses.tolist(), found, tiny.any(axis=1).tolist(), strict=True)
        for (n, j, key), (loss, w, lost) in zip(ranked, figures, strict=True):
            floor = loss + (parents[n].floor - parents[n].loss + float(self.prices[j]))
            self._remember(Known((*parents[n].order, j), w, loss, floor, key, lost))

    def _count_refits(self, groups: FloatArray, terms: int) -> None:
        """Count refits of supports of this size whose columns part the rows into these groups."""
        each = np.minimum(groups, self.rows)
        self.work.spend(
            len(each) * self.rows + POLICY.refit_steps * float(each.sum()) * (terms + 1) ** 2
        )

    def _asked(
        self, parents: list[Known], floors: FloatArray, tried: int
    ) -> dict[Support, tuple[int, int]]:
        """Return the supports to refit, by what they promise: their parent, the column they add."""
        asked: dict[Support, tuple[int, int]] = {}
        p = floors.shape[1]
        if self.rules.statement.constraints:  # per parent the first ones that these let through
            for n, each in enumerate(floors):
                ranked = np.argsort(each, kind="stable")[: np.isfinite(each).sum()].tolist()
                self.work.spend(POLICY.rule_steps * p)
                keyed = ((j, tuple(sorted((*parents[n].order, j)))) for j in ranked)
                for j, key in self.rules.first(keyed, tried).items():
                    asked.setdefault(key, (n, j))
        else:
            # a stable order, so that equal columns do not change places
            for at in np.argsort(floors, axis=None, kind="stable")[: 4 * tried].tolist():
                n, j = divmod(at, p)
                if len(asked) == tried or floors[n, j] == np.inf:
                    break
                asked.setdefault(tuple(sorted((*parents[n].order, j))), (n, j))
        return {key: pair for key, pair in asked.items() if key not in self.known}

    def support(self, order: Support) -> Known:
        """Refit a support from no points, and remember it."""
        columns = np.array(order, dtype=np.int64)
        start = np.clip(0.0, self.lower[columns], self.upper[columns])
        w = np.append(start, self.columns.log_odds)[None, :]
        losses, found, groups = self.columns.refit(columns, w, self.lower, self.upper)
        self.refits += 1
        self._count_refits(np.array([len(groups.patterns)]), len(order))
        loss = float(losses[0])
        floor, key = loss + float(self.prices[columns].sum()), tuple(sorted(order))
        if key not in self.known:
            self._remember(Known(order, found[0], loss, floor, key))
        return self.known[key]

    def _remember(self, known: Known) -> None:
        self.known[known.key] = known
        self.sizes.setdefault(len(known.key), []).append(known)
