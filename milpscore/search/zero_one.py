"""Compiled neighbourhood of a card under the 0-1 loss: one weight at each of its values.

Import it where it is used: it loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from milpscore.core.design import IntArray
from milpscore.core.jit import compiled, inner


def least_errors(
    totals: IntArray,
    codes: NDArray[np.int32],
    values: IntArray,
    net: NDArray[Any],
    choices: IntArray,
    low: int,
    high: int,
) -> tuple[IntArray, int]:
    """Return least net errors with a column's weight set to each choice, (C,), and the work."""
    # ``totals`` (m,) are the card's without the column ``values[codes]``, values ascending; ``net``
    # (m,) is positive minus negative weight of the rows; thresholds lie in [low, high]; the work is
    # counted in array entries passed
    m, cards = len(totals), len(values)
    errors = np.empty(len(choices), np.int64)
    start = int(totals.min())
    length = int(totals.max()) - start + 2
    reach = int(np.abs(choices).max()) * int(values[-1] - values[0])
    # net weight by value of the column and total, unless the totals are spread too thinly: then
    # each choice sorts them
    if (length + reach) * cards > 4 * m + 4096:
        scratch = np.empty((3, m), np.int64)
        least_by_sorting(totals, codes, values, net, choices, low, high, scratch, errors)
        return errors, 20 * m * len(choices)
    below, curve = np.zeros((cards, length), np.int64), np.empty(length + reach, np.int64)
    least_by_curves(totals, codes, values, net, choices, low - start, high - start, below, curve,
                    errors)  # fmt: skip
    return errors, m + len(choices) * len(curve) * (cards + 1) // 4


@compiled
def least_by_curves(
    totals: Any,
    codes: Any,
    values: Any,
    net: Any,
    choices: Any,
    low: int,
    high: int,
    below: Any,
    curve: Any,
    errors: Any,
) -> None:
    """Write `least_errors` of dense totals; thresholds count from the least total here."""
    # ``below`` (V, length) comes zeroed, for D_v(t): the net weight of the rows with value v and
    # one of the t least totals. ``curve`` has room for the sum of the D_v, each moved by weight * v
    cards, length = below.shape
    negative, start = 0, totals[0]  # errors where every row is called positive; the least total
    for i in range(len(totals)):
        negative += max(-net[i], 0)
        start = min(start, totals[i])
    for i in range(len(totals)):
        below[codes[i], totals[i] - start + 1] += net[i]
    for v in range(cards):
        for t in range(1, length):
            below[v, t] += below[v, t - 1]
    for at in range(len(choices)):
        weight = choices[at]
        origin = min(weight * values[0], weight * values[cards - 1])
        new = length + abs(weight) * (values[cards - 1] - values[0])
        for t in range(new):
            curve[t] = 0
        for v in range(cards):
            shift, end = weight * values[v] - origin, below[v, length - 1]
            moved, own = curve[shift:], below[v]
            for t in range(length):
                moved[t] += own[t]
            for t in range(length, new - shift):
                moved[t] += end
        # thresholds before and beyond the curve answer as its ends do
        first = min(max(low - origin, 0), new - 1)
        final = min(max(high - origin, 0), new - 1)
        best = curve[first]
        for t in range(first, final + 1):
            best = min(best, curve[t])
        errors[at] = best + negative


@compiled
def least_by_sorting(
    totals: Any,
    codes: Any,
    values: Any,
    net: Any,
    choices: Any,
    low: int,
    high: int,
    scratch: Any,
    errors: Any,
) -> None:
    """:func:`least_errors` by sorting the totals of each choice; ``scratch`` is (3, m)."""
    moved, order, far = scratch[0], scratch[1:], 1 << 61
    for at in range(len(choices)):
        for i in range(len(totals)):
            moved[i] = totals[i] + choices[at] * values[codes[i]]
        row = sort_places(moved, order)
        # D(t): net weight of the totals below t, constant from one total to the next
        best, reached, below, negative = far, -far, 0, 0
        for place in range(len(moved)):
            i = order[row, place]
            if moved[i] > reached:
                if max(reached + 1, low) <= min(moved[i], high):
                    best = min(best, below)
                reached = moved[i]
            below += net[i]
            negative += max(-net[i], 0)
        errors[at] = negative + (min(best, below) if high > reached else best)


@inner
def sort_places(values: Any, order: Any) -> int:
    """Merge sort of the places of ``values`` (n,); which row of ``order`` (2, n) they end up in."""
    n = len(values)
    for at in range(n):
        order[0, at] = at
    now, run = 0, 1  # row `now` holds sorted runs of ``run`` places
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
