"""Compiled neighbourhood of a card under the 0-1 loss: one weight at each of its values.

Import it where it is used: it loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled

_FAR = 1 << 61


@compiled
def least_errors(
    totals: Any, codes: Any, values: Any, net: Any, choices: Any, low: int, high: int
) -> Any:
    """Least net errors over thresholds in [low, high] with a column's weight set to each choice.

    Parameters
    ----------
    totals : int array of shape (m,), m >= 1
        Of the card without the column.
    codes, values : int arrays of shape (m,), (V,)
        The column: values[codes].
    net : int array of shape (m,)
        Positive minus negative weight of each distinct row.
    choices : int array of shape (C,)
    low, high : int
        Thresholds allowed: a row is positive from its threshold on.

    Returns
    -------
    (errors, work)
        Int array of shape (C,), and how many array entries were passed, about.
    """
    m, cards = len(totals), len(values)
    errors = np.zeros(len(choices), np.int64)
    negative = 0  # errors where every row is called positive
    for i in range(m):
        negative += max(-net[i], 0)
    start, last = _ends(totals)
    least, most = _ends(values)
    smallest, largest = _ends(choices)
    # net weight by value of the column and total, unless the totals are spread too thinly: then
    # each choice sorts them
    length, reach = last - start + 2, max(-smallest, largest) * (most - least)
    if (length + reach) * cards > 4 * m + 4096:
        moved, order = np.empty(m, np.int64), np.empty((2, m), np.int64)
        for at in range(len(choices)):
            for i in range(m):
                moved[i] = totals[i] + choices[at] * values[codes[i]]
            errors[at] = negative + _least_by_sorting(moved, net, order, low, high)
        return errors, 20 * m * len(choices)
    # D_v(t): net weight of the rows with value v and a total below start + t
    below = np.zeros((cards, length), np.int64)
    for i in range(m):
        below[codes[i], totals[i] - start + 1] += net[i]
    for v in range(cards):
        for t in range(1, length):
            below[v, t] += below[v, t - 1]
    curve = np.zeros(length + reach, np.int64)
    for at in range(len(choices)):
        weight = choices[at]
        # the weight moves D_v right by weight * v; the curves' sum begins at `origin`
        shift = min(weight * least, weight * most)
        origin, new = start + shift, length + abs(weight) * (most - least)
        for t in range(new):
            curve[t] = 0
        for v in range(cards):
            by, end = weight * values[v] - shift, below[v, length - 1]
            for t in range(length):
                curve[by + t] += below[v, t]
            for t in range(by + length, new):
                curve[t] += end
        # thresholds before and beyond the curve answer as its ends do
        first, final = min(max(low - origin, 0), new - 1), min(max(high - origin, 0), new - 1)
        best = curve[first]
        for t in range(first, final + 1):
            best = min(best, curve[t])
        errors[at] = best + negative
    return errors, m + len(choices) * len(curve) * (cards + 1) // 4


@compiled
def _ends(values: Any) -> Any:
    """The least and the largest entry."""
    least, most = values[0], values[0]
    for value in values:
        least, most = min(least, value), max(most, value)
    return least, most


@compiled
def sort_places(values: Any, order: Any) -> int:
    """Merge sort of the places of ``values`` (n,); which row of ``order`` (2, n) they end up in."""
    n = len(values)
    for at in range(n):
        order[0, at] = at
    now, run = 0, 1  # row `now` holds sorted runs of so many places
    while run < n:
        for start in range(0, n, 2 * run):
            i, j = start, min(start + run, n)
            middle, end = j, min(start + 2 * run, n)
            for at in range(start, end):
                if j >= end or (i < middle and values[order[now, i]] <= values[order[now, j]]):
                    order[1 - now, at] = order[now, i]
                    i += 1
                else:
                    order[1 - now, at] = order[now, j]
                    j += 1
        now, run = 1 - now, 2 * run
    return now


@compiled
def _least_by_sorting(totals: Any, net: Any, order: Any, low: int, high: int) -> Any:
    """The least of D(t) over thresholds t in [low, high], D(t) the net weight of totals below t."""
    best, reached, below = _FAR, -_FAR, 0
    row = sort_places(totals, order)
    for at in range(len(totals)):
        i = order[row, at]
        if totals[i] > reached:
            if max(reached + 1, low) <= min(totals[i], high):
                best = min(best, below)
            reached = totals[i]
        below += net[i]
    return min(best, below) if high > reached else best
