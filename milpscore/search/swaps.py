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
from milpscore.search.beam import (
    Choices,
    Coded,
    Score,
    best_line,
    fitted_loss,
    grouped,
    refit,
    tallied_totals,
)

_BETTER = 1e-9
_SINGLES = 6
_PAIRS = 10
"""Moves of one column, and of two, that are judged before the search gives up."""
_STEEP, _TEMPERED = 10.0, 0.4
"""From this spread of the scores on moves are priced again, at so much of the slope."""
_FREE = np.linspace(1.6, 0.2, 24)
_FIXED = np.linspace(1.4, 0.6, 9)
"""Multipliers of real weights that are rounded: of the largest within the ranges, of the scale."""
_BEYOND, _CUT_OFF = 10, 64.0
"""So many larger ones cut the largest weights off: where rows can be parted these mean little."""


class Rows(NamedTuple):
    """The rows and the points their columns may have.

    ``grid``: all distances off the modes are whole; ``modes`` and ``means`` (p,) of the columns as
    they are read, of which a total lacks w.modes, one of centred columns w.means; ``nothing`` (p,):
    the choice closest to 0 of each column.
    """

    coded: Coded
    choices: Choices
    score: Score
    grid: bool
    modes: Any
    means: Any
    nothing: Any


class Moves(NamedTuple):
    """Moves to be judged, ``each`` of them (one, to, two, at): columns and their new choices.

    ``one`` is negative where a column moves alone; ``promises`` are the objectives expected.
    """

    promises: Any
    each: Any


@inner
def multipliers(rows: Rows, order: Any, w: Any) -> Any:
    """Points in one unit of weights w (t,): around the scale, or up to beyond the ranges."""
    if rows.score.scale > 0.0:
        return rows.score.scale * _FIXED
    least, most = np.inf, 0.0
    for k in range(len(order)):
        j = order[k]
        reach = rows.choices.values[j, rows.choices.counts[j] - 1]
        if w[k] <= 0.0:
            reach = -rows.choices.values[j, 0]
        if abs(w[k]) > 1e-12 and reach > 0.0:
            least, most = min(least, reach / abs(w[k])), max(most, reach / abs(w[k]))
    if least == np.inf:
        return _FREE * 1.0
    most = min(max(most, 2.0 * least), _CUT_OFF * least)
    found = np.empty(len(_FREE) + _BEYOND)
    for k in range(_BEYOND):
        found[k] = 1.7 * least * (most / (1.7 * least)) ** (k / (_BEYOND - 1.0))
    found[_BEYOND:] = least * _FREE
    return found


@compiled
def rounded(
    rows: Rows, order: Any, start: Any, lower: Any, upper: Any, index: Any, state: Any
) -> None:
    """The best of many roundings of a support's real weights ``start`` (t + 1,), refitted.

    ``index`` (p,) gets the choices of its columns ``order`` (t,), ``state`` (3,) objective, slope
    and shift.
    """
    t, values, costs = len(order), rows.choices.values, rows.choices.prices
    groups, w = grouped(rows.coded, order), start.copy()
    refit(groups.patterns, groups.sides, w, lower[order], upper[order])
    totals, now, last = np.empty(len(groups.patterns)), np.empty(t, np.int64), np.empty(t, np.int64)
    state[0], last[:] = np.inf, -1
    for multiplier in multipliers(rows, order, w):
        new, price, offset, off_mode = False, 0.0, 0.0, 0.0
        totals[:] = 0.0
        for k in range(t):
            j, v = order[k], 0
            target = w[k] * multiplier
            while v + 1 < rows.choices.counts[j] and (
                abs(values[j, v + 1] - target) < abs(values[j, v] - target)
            ):
                v += 1
            now[k], new = v, new or v != last[k]
            price += costs[j, v]
            offset += rows.means[j] * values[j, v]
            off_mode += (rows.means[j] - rows.modes[j]) * values[j, v]
            if values[j, v] != 0.0:
                for i in range(len(totals)):
                    totals[i] += values[j, v] * groups.patterns[i, k]
        if not new:
            continue
        last[:] = now
        few, sides = tallied_totals(totals, groups.sides, rows.grid)
        loss, a, c = fitted_loss(
            few, offset, sides, 1.0 / multiplier, w[t], state[0] - price, rows.score
        )
        if loss + price < state[0]:
            state[0], state[1], state[2] = loss + price, a, c - a * off_mode
            for k in range(t):
                index[order[k]] = now[k]


@inner
def moved(coded: Coded, totals: Any, j: int, by: float, after: Any) -> None:
    """``totals`` with ``by`` points more for column j, into ``after``."""
    for i in range(len(totals)):
        after[i] = totals[i]
    for e in range(coded.starts[j], coded.starts[j + 1]):
        after[coded.rows[e]] += by * coded.deltas[e]


@inner
def price_moves(
    rows: Rows, totals: Any, a: float, c: float, free: bool, columns: Any, slopes: Any, bends: Any
) -> None:
    """Gradient and curvature of the loss in the points of each of the columns, in place, (p,).

    The shift follows, and the slope where that is ``free``.
    """
    coded, m = rows.coded, len(totals)
    g, h = np.empty(m), np.empty(m)
    gc, ga, hcc, hca, haa = 0.0, 0.0, 1e-300, 0.0, 0.0
    for i in range(m):
        e = math.exp(-abs(a * totals[i] + c))
        rest = 1.0 / (1.0 + e)
        risk = rest if a * totals[i] + c >= 0.0 else e * rest
        both = coded.weights[0, i] + coded.weights[1, i]
        g[i] = both * risk - coded.weights[0, i]
        h[i] = both * e * rest * rest
        gc += g[i]
        ga += g[i] * totals[i]
        hcc += h[i]
        hca += h[i] * totals[i]
        haa += h[i] * totals[i] * totals[i]
    det = hcc * haa - hca * hca
    lined = free and det > 1e-12 * hcc * haa
    for j in columns:
        gx, hx, htx, hxx = 0.0, 0.0, 0.0, 0.0
        for e in range(coded.starts[j], coded.starts[j + 1]):
            x, i = coded.deltas[e], coded.rows[e]
            bent = h[i] * x
            gx += g[i] * x
            hx += bent
            htx += bent * totals[i]
            hxx += bent * x
        if lined:
            bx, bt = (haa * hx - hca * htx) / det, (hcc * htx - hca * hx) / det
            slopes[j], taken = a * (gx - gc * bx - ga * bt), hx * bx + htx * bt
        else:
            slopes[j], taken = a * (gx - gc * hx / hcc), hx * hx / hcc
        bends[j] = a * a * max(hxx - taken, 1e-9 * hxx) + 1e-300


@inner
def listed(moves: Any, promise: float, one: int, to: int, two: int, at: int) -> None:
    """Keep a move in the place of the least promising one, where it promises more."""
    k = moves.promises.argmax()
    if promise < moves.promises[k]:
        moves.promises[k] = promise
        moves.each[k, 0], moves.each[k, 1] = one, to
        moves.each[k, 2], moves.each[k, 3] = two, at


@inner
def offered(
    rows: Rows, index: Any, columns: Any, before: float, slopes: Any, bends: Any, moves: Any,
    one: int, to: int,
) -> None:  # fmt: skip
    """List the two most promising other choices of each column after the move (one, to)."""
    values, costs = rows.choices.values, rows.choices.prices
    for j in columns:
        if j == one:
            continue
        first, second, k, n = np.inf, np.inf, -1, -1
        for v in range(rows.choices.counts[j]):
            d = values[j, v] - values[j, index[j]]
            value = d * (slopes[j] + 0.5 * d * bends[j]) + costs[j, v] - costs[j, index[j]]
            if v != index[j] and value < first:
                first, second, k, n = value, first, v, k
            elif v != index[j] and value < second:
                second, n = value, v
        if k >= 0:
            listed(moves, before + first, one, to, j, k)
        if n >= 0:
            listed(moves, before + second, one, to, j, n)


@inner
def list_near(rows: Rows, index: Any, own: Any, moves: Any) -> None:
    """List every step of one column of a card, or of two, and every column without points."""
    n = 0
    for k in range(len(own)):
        j = own[k]
        for step in range(-1, 2):
            to = index[j] + step if step != 0 else rows.nothing[j]
            if to < 0 or to >= rows.choices.counts[j]:
                continue
            moves.promises[n], moves.each[n, 0] = 0.0, -1
            moves.each[n, 2], moves.each[n, 3] = j, to
            n += 1
            for other in own[: k if step != 0 else 0]:
                for at in (index[other] - 1, index[other] + 1):
                    if 0 <= at < rows.choices.counts[other]:
                        moves.promises[n], moves.each[n, 0], moves.each[n, 1] = 0.0, j, to
                        moves.each[n, 2], moves.each[n, 3] = other, at
                        n += 1


@inner
def list_pairs(
    rows: Rows, index: Any, sums: Any, state: Any, totals: Any, own: Any, movable: Any,
    tempered: bool, moves: Moves,
) -> None:  # fmt: skip
    """List the most promising moves of two columns, the first one of the card.

    The first one goes where it may have no points, or has a little more or less; slope and shift
    follow it. ``sums`` (2,) are what the totals lack, and the price of the points. Where few rows
    tell anything, more of them do at a lower, ``tempered`` slope.
    """
    values, costs = rows.choices.values, rows.choices.prices
    other, slopes, bends = np.empty(len(totals)), np.empty(len(index)), np.empty(len(index))
    for j in own:
        now, nothing = index[j], rows.nothing[j]
        for kind in range(3):
            to = nothing if kind == 0 else now + 2 * kind - 3
            if to == now or to < 0 or to >= rows.choices.counts[j] or (kind > 0 and to == nothing):
                continue
            by = values[j, to] - values[j, now]
            moved(rows.coded, totals, j, by, other)
            few, sides = tallied_totals(other, rows.coded.weights, rows.grid)
            loss, a, c = fitted_loss(
                few, sums[0] + by * rows.modes[j], sides, state[1], state[2], np.inf, rows.score
            )
            if a <= 0.0:
                continue
            if tempered:
                loss, a, c = best_line(few, sides, _TEMPERED * a, _TEMPERED * c, np.inf, -1.0, 1e-6)
            columns = movable if values[j, to] == 0.0 else own
            free = rows.score.scale <= 0.0 and not tempered
            price_moves(rows, other, a, c, free, columns, slopes, bends)
            before = loss + sums[1] + costs[j, to] - costs[j, now]
            offered(rows, index, columns, before, slopes, bends, moves, j, to)


@inner
def best_move(
    rows: Rows, index: Any, sums: Any, state: Any, totals: Any, moves: Moves, after: Any
) -> int:
    """The listed move of the least objective; its state goes into ``after``; -1 if none is less."""
    values, costs = rows.choices.values, rows.choices.prices
    one_moved, both_moved = np.empty(len(totals)), np.empty(len(totals))
    chosen, after[0] = -1, state[0] - _BETTER
    for _ in range(len(moves.promises)):
        k = moves.promises.argmin()
        if moves.promises[k] == np.inf:
            break
        moves.promises[k] = np.inf
        one, to, two, at = moves.each[k, 0], moves.each[k, 1], moves.each[k, 2], moves.each[k, 3]
        by = values[two, at] - values[two, index[two]]
        offset = sums[0] + by * rows.modes[two]
        price = sums[1] + costs[two, at] - costs[two, index[two]]
        moved(rows.coded, totals, two, by, one_moved)
        new = one_moved
        if one >= 0:
            by = values[one, to] - values[one, index[one]]
            offset += by * rows.modes[one]
            price += costs[one, to] - costs[one, index[one]]
            moved(rows.coded, one_moved, one, by, both_moved)
            new = both_moved
        few, sides = tallied_totals(new, rows.coded.weights, rows.grid)
        loss, a, c = fitted_loss(
            few, offset, sides, state[1], state[2], after[0] - price, rows.score
        )
        if loss + price < after[0]:
            chosen, after[0], after[1], after[2] = k, loss + price, a, c
    return chosen


@inner
def take(rows: Rows, index: Any, sums: Any, totals: Any, j: int, to: int) -> None:
    """Give column j another choice, in place."""
    by = rows.choices.values[j, to] - rows.choices.values[j, index[j]]
    sums[0] += by * rows.modes[j]
    sums[1] += rows.choices.prices[j, to] - rows.choices.prices[j, index[j]]
    for e in range(rows.coded.starts[j], rows.coded.starts[j + 1]):
        totals[rows.coded.rows[e]] += by * rows.coded.deltas[e]
    index[j] = to


@inner
def add(rows: Rows, index: Any, sums: Any, totals: Any, j: int) -> None:
    """Add the points of column j to what there is, in place."""
    v = rows.choices.values[j, index[j]]
    sums[0] += v * rows.modes[j]
    sums[1] += rows.choices.prices[j, index[j]]
    for e in range(rows.coded.starts[j], rows.coded.starts[j + 1] if v != 0.0 else 0):
        totals[rows.coded.rows[e]] += v * rows.coded.deltas[e]


@compiled
def improve(
    rows: Rows, index: Any, state: Any, movable: Any, limit: int, first: int, last: int
) -> None:
    """Move points of one column, or else of two, while the objective falls; all in place.

    ``index`` (p,) are the choices of the columns, ``state`` (3,) objective, slope and shift;
    ``movable`` are the columns that may move, and at most ``limit`` may have points. Four ways of
    listing moves follow each other where nothing is better, from ``first`` to ``last``, and from
    the first one again for a better card: single ones, pairs, pairs priced at a lower slope, and
    all that are near; the latter two for scores that spread so widely that prices tell little.
    """
    p, room = len(index), max(_PAIRS, min(limit, len(movable)) * (2 * limit + 3))
    totals, sums, after = np.zeros(rows.coded.weights.shape[1]), np.zeros(2), np.empty(3)
    for j in range(p):
        add(rows, index, sums, totals, j)
    slopes, bends = np.zeros(p), np.zeros(p)
    promises, each = np.empty(room), np.empty((room, 4), np.int64)
    way, free = first, rows.score.scale <= 0.0
    while way <= last and state[1] > 0.0 and state[0] > 0.0:
        if way == 2 and not (free and state[1] * (totals.max() - totals.min()) > _STEEP):
            break
        used = 0
        own = np.empty(p, np.int64)
        for j in movable:
            if rows.choices.values[j, index[j]] != 0.0:
                own[used] = j
                used += 1
        own = own[:used]
        count = room if way == 3 else (_SINGLES if way == 0 else _PAIRS)
        moves = Moves(promises[:count], each[:count])
        moves.promises[:] = np.inf
        if way == 0:
            columns = movable if used < limit else own
            price_moves(rows, totals, state[1], state[2], free, columns, slopes, bends)
            offered(rows, index, columns, state[0], slopes, bends, moves, -1, 0)
        elif way == 3:
            list_near(rows, index, own, moves)
        else:
            list_pairs(rows, index, sums, state, totals, own, movable, way == 2, moves)
        k = best_move(rows, index, sums, state, totals, moves, after)
        if k >= 0:
            if moves.each[k, 0] >= 0:
                take(rows, index, sums, totals, moves.each[k, 0], moves.each[k, 1])
            take(rows, index, sums, totals, moves.each[k, 2], moves.each[k, 3])
            state[:] = after
            way = 0
        else:
            way += 1
