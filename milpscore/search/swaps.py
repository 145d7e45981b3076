"""Whole points by compiled moves: one column at a time, or two, priced first and then judged.

A move adds e = d x to the totals T of a card with slope a and shift c. With g and h the rows'
derivatives there, the loss that slope and shift refitted leave is to second order

    L + a d sum g x + (a d)^2 / 2 (sum h x^2 - b' A^-1 b),  b = (sum h x, sum h T x),

A the second derivatives in shift and slope. One pass over the entries prices every column; the
cheapest moves are then judged by the loss itself. Import it where it is used: it loads numba.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from milpscore.core.jit import compiled, inner
from milpscore.search.beam import Score, best_line, fitted_loss, tallied_totals
from milpscore.search.points import Choices
from milpscore.search.policy import TUNED


class Entries(NamedTuple):
    """What totals need of `Coded`; few arrays, as each costs time to compile."""

    weights: Any
    starts: Any
    rows: Any
    deltas: Any
    alike: Any  # (p,): whether all entries of the column are one distance off its mode


class SwapRows(NamedTuple):
    """The rows and the points their columns may have."""

    entries: Entries
    choices: Choices
    score: Score
    grid: bool  # whether all distances off the modes are whole
    modes: Any  # (p,), of the columns as they are read: a total lacks w.modes,
    means: Any  # (p,): and one of centred columns w.means
    nothing: Any  # (p,): the choice closest to 0 of each column


class Moves(NamedTuple):
    """Moves to be judged."""

    promises: Any  # the objectives expected
    each: Any  # (one, to, two, at): columns and their new choices, one < 0 if two moves alone


@inner
def multipliers(values: Any, counts: Any, scale: float, order: Any, w: Any) -> Any:
    """Points in one unit of weights w (t,): around the scale, or up to beyond the ranges."""
    if scale > 0.0:
        found = np.empty(len(TUNED.near_scale))
        for k in range(len(TUNED.near_scale)):
            found[k] = scale * TUNED.near_scale[k]
        return found
    least, most = np.inf, 0.0
    for k in range(len(order)):
        j = order[k]
        reach = values[j, counts[j] - 1] if w[k] > 0.0 else -values[j, 0]
        if abs(w[k]) > 1e-12 and reach > 0.0:
            least, most = min(least, reach / abs(w[k])), max(most, reach / abs(w[k]))
    beyond = TUNED.larger_scales if least < np.inf else 0
    least = least if least < np.inf else 1.0
    most = min(max(most, 2.0 * least), TUNED.largest_scale * least)
    found = np.empty(beyond + len(TUNED.below_range))
    for k in range(beyond):
        found[k] = 1.7 * least * (most / (1.7 * least)) ** (k / (TUNED.larger_scales - 1.0))
    for k in range(len(TUNED.below_range)):
        found[beyond + k] = least * TUNED.below_range[k]
    return found


@compiled
def rounded(
    rows: SwapRows, patterns: Any, shares: Any, order: Any, w: Any, index: Any, state: Any
) -> None:
    """Find the best of many roundings of a support's real weights w (t + 1,)."""
    # ``patterns`` (G, t) and ``shares`` (2, G) are those of its groups of rows; ``index`` (p,) gets
    # the choices of its columns ``order`` (t,), ``state`` (3,) objective, slope and shift
    values, costs, counts = rows.choices.values, rows.choices.prices, rows.choices.counts
    means, modes, score, grid = rows.means, rows.modes, rows.score, rows.grid
    t, totals = len(order), np.empty(len(patterns))
    now, last = np.empty(t, np.int64), np.empty(t, np.int64)
    state[0] = np.inf
    for k in range(t):
        last[k] = -1
    each = multipliers(values, counts, score.scale, order, w)
    for n in range(len(each)):
        # 1) Round each weight to its nearest choice, and add up totals and prices.
        new, price, offset, off_mode = False, 0.0, 0.0, 0.0
        for i in range(len(totals)):
            totals[i] = 0.0
        for k in range(t):
            j, v = order[k], 0
            target = w[k] * each[n]
            while v + 1 < counts[j] and (
                abs(values[j, v + 1] - target) < abs(values[j, v] - target)
            ):
                v += 1
            now[k], new = v, new or v != last[k]
            point = values[j, v]
            price += costs[j, v]
            offset += means[j] * point
            off_mode += (means[j] - modes[j]) * point
            if point != 0.0:
                for i in range(len(totals)):
                    totals[i] += point * patterns[i, k]
        # 2) Judge points other than the last ones by the loss; keep the best.
        if not new:
            continue
        for k in range(t):
            last[k] = now[k]
        few, sides = tallied_totals(totals, shares, grid)
        loss, a, c = fitted_loss(few, offset, sides, 1.0 / each[n], w[t], state[0] - price, score)
        if loss + price < state[0]:
            state[0], state[1], state[2] = loss + price, a, c - a * off_mode
            for k in range(t):
                index[order[k]] = now[k]


@inner
def shift(entries: Entries, totals: Any, j: int, by: float) -> None:
    """Add points to column j, in place."""
    starts, where, deltas = entries.starts, entries.rows, entries.deltas
    for e in range(starts[j], starts[j + 1]):
        totals[where[e]] += by * deltas[e]


@inner
def price_moves(
    entries: Entries, totals: Any, a: float, c: float, free: bool, columns: Any, slopes: Any,
    bends: Any,
) -> None:  # fmt: skip
    """Write gradient and curvature of the loss in each column's points; the line follows."""
    m, weights = len(totals), entries.weights
    starts, where, deltas = entries.starts, entries.rows, entries.deltas
    row = np.empty((m, 3))  # first and second derivative, and the second times the total
    gc, ga, hcc, hca, haa = 0.0, 0.0, 1e-300, 0.0, 0.0
    for i in range(m):
        t = totals[i]
        e = math.exp(-abs(a * t + c))
        rest = 1.0 / (1.0 + e)
        risk = rest if a * t + c >= 0.0 else e * rest
        both = weights[0, i] + weights[1, i]
        slope, bend = both * risk - weights[0, i], both * e * rest * rest
        row[i, 0], row[i, 1], row[i, 2] = slope, bend, bend * t
        gc += slope
        ga += slope * t
        hcc += bend
        hca += bend * t
        haa += bend * t * t
    det = hcc * haa - hca * hca
    lined = free and det > 1e-12 * hcc * haa
    for n in range(len(columns)):
        j = columns[n]
        first, last, gx, hx, htx, hxx = starts[j], starts[j + 1], 0.0, 0.0, 0.0, 0.0
        if entries.alike[j]:
            for k in range(first, last):
                i = where[k]
                gx += row[i, 0]
                hx += row[i, 1]
                htx += row[i, 2]
            x = deltas[first]
            gx, hx, htx, hxx = gx * x, hx * x, htx * x, hx * x * x
        else:
            for k in range(first, last):
                x, i = deltas[k], where[k]
                gx += row[i, 0] * x
                hx += row[i, 1] * x
                htx += row[i, 2] * x
                hxx += row[i, 1] * x * x
        if lined:
            bx, bt = (haa * hx - hca * htx) / det, (hcc * htx - hca * hx) / det
            slopes[j], taken = a * (gx - gc * bx - ga * bt), hx * bx + htx * bt
        else:
            slopes[j], taken = a * (gx - gc * hx / hcc), hx * hx / hcc
        bends[j] = a * a * max(hxx - taken, 1e-9 * hxx) + 1e-300


@inner
def offered(
    choices: Choices, index: Any, columns: Any, before: float, slopes: Any, bends: Any,
    moves: Moves, one: int, to: int,
) -> None:  # fmt: skip
    """List the two most promising other choices of each column after the move (one, to)."""
    values, costs, counts = choices.values, choices.prices, choices.counts
    promises, each = moves.promises, moves.each
    for i in range(len(columns)):
        j = columns[i]
        if j == one:
            continue
        now = index[j]
        first, second, at, next_at = np.inf, np.inf, 0, 0
        for v in range(counts[j]):
            d = values[j, v] - values[j, now]
            value = d * (slopes[j] + 0.5 * d * bends[j]) + costs[j, v] - costs[j, now]
            if v != now and value < first:
                first, second, at, next_at = value, first, v, at
            elif v != now and value < second:
                second, next_at = value, v
        for _ in range(2):  # in the place of the least promising move listed, if it promises more
            k = 0
            for n in range(1, len(promises)):
                if promises[n] > promises[k]:
                    k = n
            if before + first < promises[k]:
                promises[k] = before + first
                each[k, 0], each[k, 1], each[k, 2], each[k, 3] = one, to, j, at
            first, at = second, next_at


@inner
def first_target(rows: SwapRows, index: Any, own: Any, n: int) -> tuple[int, int]:
    """Return the n-th first move of a pair: a column of the card, its new choice (-1: none)."""
    # each column may lose its points, or have a little fewer or more
    j, kind = own[n // 3], n % 3
    now, nothing = index[j], rows.nothing[j]
    to = nothing if kind == 0 else now + 2 * kind - 3
    if to == now or to < 0 or to >= rows.choices.counts[j] or (kind > 0 and to == nothing):
        return j, -1
    return j, to


@inner
def judge_firsts(
    rows: SwapRows, index: Any, sums: Any, state: Any, totals: Any, own: Any, tempered: bool
) -> Any:
    """Objective, slope and shift after each first move of a pair, infinite where there is none."""
    values, costs, score = rows.choices.values, rows.choices.prices, rows.score
    lines, other = np.empty((3 * len(own), 3)), np.empty(len(totals))
    for n in range(len(lines)):
        lines[n, 0] = np.inf
        j, to = first_target(rows, index, own, n)
        if to < 0:
            continue
        by, price = values[j, to] - values[j, index[j]], costs[j, to] - costs[j, index[j]]
        for i in range(len(totals)):
            other[i] = totals[i]
        shift(rows.entries, other, j, by)
        few, sides = tallied_totals(other, rows.entries.weights, rows.grid)
        loss, a, c = fitted_loss(
            few, sums[0] + by * rows.modes[j], sides, state[1], state[2], np.inf, score
        )
        if tempered and a > 0.0:
            loss, a, c = best_line(
                few, sides, TUNED.tempered * a, TUNED.tempered * c, np.inf, np.inf, -1.0, 1e-6
            )
        if a > 0.0:
            lines[n, 0], lines[n, 1], lines[n, 2] = loss + sums[1] + price, a, c
    return lines


@inner
def list_pairs(
    rows: SwapRows, index: Any, sums: Any, state: Any, totals: Any, own: Any, movable: Any,
    tempered: bool, moves: Moves,
) -> None:  # fmt: skip
    """List the most promising moves of two columns, the first one of the card."""
    # Slope and shift follow the first move. ``sums`` (2,) are what the totals lack, and the price
    # of the points. At a lower, ``tempered`` slope more rows of a widely spread score have
    # derivatives.
    values, score = rows.choices.values, rows.score
    free = score.scale <= 0.0 and not tempered
    other, slopes, bends = np.empty(len(totals)), np.empty(len(index)), np.empty(len(index))
    # every first move is judged, and the best ones of them are moved on from
    lines = judge_firsts(rows, index, sums, state, totals, own, tempered)
    for _ in range(min(len(lines), TUNED.first_moves)):
        n = 0
        for k in range(1, len(lines)):
            if lines[k, 0] < lines[n, 0]:
                n = k
        if lines[n, 0] == np.inf:
            break
        j, to = first_target(rows, index, own, n)
        for i in range(len(totals)):
            other[i] = totals[i]
        shift(rows.entries, other, j, values[j, to] - values[j, index[j]])
        columns = movable if values[j, to] == 0.0 else own
        lined = free and lines[n, 1] < TUNED.loose_slope * score.steepest
        price_moves(rows.entries, other, lines[n, 1], lines[n, 2], lined, columns, slopes, bends)
        offered(rows.choices, index, columns, lines[n, 0], slopes, bends, moves, j, to)
        lines[n, 0] = np.inf


@inner
def moved(rows: SwapRows, index: Any, move: Any, totals: Any, sums: Any) -> None:
    """Make a move (one, to, two, at), in place; ``index`` stays."""
    values, costs = rows.choices.values, rows.choices.prices
    for side in range(0, 4, 2):
        j, to = move[side], move[side + 1]
        if j >= 0:
            by = values[j, to] - values[j, index[j]]
            sums[0] += by * rows.modes[j]
            sums[1] += costs[j, to] - costs[j, index[j]]
            shift(rows.entries, totals, j, by)


@inner
def best_move(
    rows: SwapRows, index: Any, sums: Any, state: Any, totals: Any, moves: Moves, after: Any
) -> int:
    """The listed move of the least objective; its state goes into ``after``; -1 if none is less."""
    promises, new, trial = moves.promises, np.empty(len(totals)), np.empty(2)
    chosen, after[0] = -1, state[0] - TUNED.better
    for _ in range(len(promises)):
        k = 0
        for n in range(1, len(promises)):
            if promises[n] < promises[k]:
                k = n
        if promises[k] == np.inf:
            break
        promises[k] = np.inf
        trial[0], trial[1] = sums[0], sums[1]
        for i in range(len(totals)):
            new[i] = totals[i]
        moved(rows, index, moves.each[k], new, trial)
        few, sides = tallied_totals(new, rows.entries.weights, rows.grid)
        loss, a, c = fitted_loss(
            few, trial[0], sides, state[1], state[2], after[0] - trial[1], rows.score
        )
        if loss + trial[1] < after[0]:
            chosen, after[0], after[1], after[2] = k, loss + trial[1], a, c
    return chosen


@inner
def spread(totals: Any) -> float:
    """Return the highest total less the lowest one."""
    low, high = np.inf, -np.inf
    for i in range(len(totals)):
        low, high = min(low, totals[i]), max(high, totals[i])
    return high - low


@inner
def used_of(values: Any, index: Any, movable: Any) -> Any:
    """Those of the columns that have points."""
    own, used = np.empty(len(movable), np.int64), 0
    for n in range(len(movable)):
        if values[movable[n], index[movable[n]]] != 0.0:
            own[used] = movable[n]
            used += 1
    return own[:used]


@inner
def placed(rows: SwapRows, index: Any, totals: Any, sums: Any) -> None:
    """Totals of the choices of all columns, and what they lack and cost, in place."""
    sums[0], sums[1] = 0.0, 0.0
    for i in range(len(totals)):
        totals[i] = 0.0
    for j in range(len(index)):
        point = rows.choices.values[j, index[j]]
        sums[0] += point * rows.modes[j]
        sums[1] += rows.choices.prices[j, index[j]]
        if point != 0.0:
            shift(rows.entries, totals, j, point)


@compiled
def improve(
    rows: SwapRows, index: Any, state: Any, movable: Any, limit: int, first: int, last: int
) -> None:
    """Move points of one column, or else of two, while the objective falls; all in place."""
    # ``index`` (p,) are the choices of the columns, ``state`` (3,) objective, slope and shift;
    # ``movable`` are the columns that may move, and at most ``limit`` may have points. Three ways
    # of listing moves follow each other if nothing is better, from ``first`` to ``last``, and from
    # the first one again for a better card: single ones, pairs, and pairs priced at a lower slope,
    # for scores that spread so widely that prices say little.
    score, p = rows.score, len(index)
    totals, sums = np.empty(rows.entries.weights.shape[1]), np.empty(2)
    slopes, bends, after = np.empty(p), np.empty(p), np.empty(3)
    placed(rows, index, totals, sums)
    way, free = first, score.scale <= 0.0
    while way <= last and state[1] > 0.0 and state[0] > 0.0:
        if way == 2 and not (free and state[1] * spread(totals) > TUNED.wide_spread):
            break

        # 1) List the most promising moves by first and second derivatives.
        own = used_of(rows.choices.values, index, movable)
        count = TUNED.single_moves if way == 0 else TUNED.paired_moves
        moves = Moves(np.full(count, np.inf), np.empty((count, 4), np.int64))
        if way == 0:
            columns = movable if len(own) < limit else own
            lined = free and state[1] < TUNED.loose_slope * score.steepest
            price_moves(rows.entries, totals, state[1], state[2], lined, columns, slopes, bends)
            # -1 and 0, which as constants would be types of their own
            offered(rows.choices, index, columns, state[0], slopes, bends, moves, way - 1, way)
        else:
            list_pairs(rows, index, sums, state, totals, own, movable, way == 2, moves)

        # 2) Make the one of least objective, or list moves in the next way.
        k = best_move(rows, index, sums, state, totals, moves, after)
        if k < 0:
            way += 1
            continue
        moved(rows, index, moves.each[k], totals, sums)
        for side in range(0, 4, 2):
            if moves.each[k, side] >= 0:
                index[moves.each[k, side]] = moves.each[k, side + 1]
        for i in range(3):
            state[i] = after[i]
        way = 0
