"""Compiled inner loops of the 0-1 tree: cells of a support, curves of errors, and their least.

One source for both roads: compiled where numba is installed, plain Python else. Import it where it
is used.

A *pattern* is a distinct row x with ``net`` = its positive minus its negative weight, in whole
units. The *curve* of a group of patterns is D(c) = sum of the net weight of those with total < c:
the group's errors at threshold c are D(c) plus its negative net weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled, has_numba

FINISHED, FOUND, PAUSED = 0, 1, 2

_ROOMY = 64
"""Tables of (label, code) up to so many times the patterns are filled directly, else sorted."""

_FAR = 1 << 61


if has_numba():

    @compiled
    def add_to(target: Any, source: Any) -> None:
        """target += source; a plain loop over two views is what the compiler turns into vectors."""
        for i in range(len(target)):
            target[i] += source[i]

    @compiled
    def least_of(values: Any) -> Any:
        """The least entry."""
        least = values[0]
        for value in values:
            least = min(least, value)
        return least

    @compiled
    def add_multiple(target: Any, source: Any, factor: int) -> None:
        """target += factor * source."""
        for i in range(len(target)):
            target[i] += factor * source[i]

else:

    def add_multiple(target: Any, source: Any, factor: int) -> None:
        """target += factor * source."""
        np.add(target, factor * source, out=target)

    def add_to(target: Any, source: Any) -> None:
        """target += source."""
        np.add(target, source, out=target)

    def least_of(values: Any) -> Any:
        """The least entry."""
        return int(values.min())


@compiled
def refine(labels: Any, groups: int, codes: Any, cards: int, out: Any) -> int:
    """Split groups of patterns by one more column; equal (label, code) get equal new labels.

    New labels ascend with (label, code), so the parts of a group are neighbours. Returns how many.
    """
    size = groups * cards
    found = 0
    if size > _ROOMY * len(labels) + 4096:
        keys = labels.astype(np.int64) * cards + codes
        order = np.argsort(keys)
        for at in range(len(order)):
            if at > 0 and keys[order[at]] != keys[order[at - 1]]:
                found += 1
            out[order[at]] = found
        return found + 1
    number = np.full(size, -1, np.int64)
    for i in range(len(labels)):
        number[labels[i] * cards + codes[i]] = 0
    for key in range(size):
        if number[key] == 0:
            number[key] = found
            found += 1
    for i in range(len(labels)):
        out[i] = number[labels[i] * cards + codes[i]]
    return found


@compiled
def cell_labels(columns: Any, codes: Any, cards: Any, labels: Any, counts: Any) -> None:
    """Row d of ``labels`` (k + 1, m): groups of the patterns that agree on columns d and later."""
    labels[len(columns)] = 0
    counts[len(columns)] = 1
    for d in range(len(columns) - 1, -1, -1):
        j = columns[d]
        counts[d] = refine(labels[d + 1], counts[d + 1], codes[j], cards[j], labels[d])


@compiled
def group_levels(
    columns: Any,
    codes: Any,
    values: Any,
    net: Any,
    labels: Any,
    offset: Any,
    first: Any,
    value: Any,
    negative: Any,
    cell_net: Any,
    cell_label: Any,
) -> None:
    """Fill the flat arrays of a support's weight tree; they come zeroed.

    At level d the first d columns are decided, and a group is the patterns that agree on the rest;
    the groups of level d - 1 that fall into one of level d are neighbours.

    Parameters
    ----------
    offset : int array of shape (k + 2,)
        Level d is at ``offset[d]:offset[d + 1]``.
    first : int array
        Group g of level d is made of the groups from ``first[offset[d] + d + g]`` to the next one
        of level d - 1.
    value : int array
        A group's value in the column decided next.
    negative : array
        A group's negative net weight.
    cell_net, cell_label : arrays of shape (cells,), (k + 1, cells)
        Net weight of the groups of level 0, and their group at every level.
    """
    k = len(columns)
    for i in range(len(net)):
        cell = labels[0, i]
        cell_net[cell] += net[i]
        for d in range(k + 1):
            cell_label[d, cell] = labels[d, i]
            if d < k:
                value[offset[d] + labels[d, i]] = values[columns[d], codes[columns[d], i]]
    for cell in range(len(cell_net)):
        for d in range(k + 1):
            negative[offset[d] + cell_label[d, cell]] += max(-cell_net[cell], 0)
    for d in range(1, k + 1):
        first[offset[d + 1] + d] = offset[d] - offset[d - 1]
        for cell in range(len(cell_net) - 1, -1, -1):
            # labels of a level need not ascend with the cells, so the least child is kept
            at = offset[d] + d + cell_label[d, cell]
            child = cell_label[d - 1, cell] + 1
            first[at] = child if first[at] == 0 else min(first[at], child)
        for at in range(offset[d] + d, offset[d + 1] + d):
            first[at] -= 1


@compiled
def shift_curves(
    source: Any,
    length: int,
    value: Any,
    first: Any,
    negative: Any,
    rest: Any,
    weight: int,
    low: int,
    target: Any,
    new_length: int,
    window_low: int,
    window_high: int,
    limit: float,
    least: Any,
) -> Any:
    """Curves of the next level's groups, and the sum of their least errors.

    A child's curve moves right by weight * value - low and its end is held from there on. Stops
    with at least ``limit`` as soon as the groups seen, and for the others ``rest``, reach it.

    Parameters
    ----------
    source, target : arrays of shape (groups, stride)
    value : of the source's groups
    first, negative, rest, least : of the target's groups (``first`` has one more)
    """
    total = 0
    for g in range(len(negative)):
        row = target[g, :new_length]
        row[:] = 0
        for child in range(first[g], first[g + 1]):
            shift = weight * value[child] - low
            add_to(row[shift : shift + length], source[child, :length])
            end = source[child, length - 1]
            if end != 0:
                row[shift + length :] += end
        least[g] = least_of(row[window_low : window_high + 1]) + negative[g]
        total += least[g]
        if total + rest[g] >= limit:
            return total + rest[g]
    return total


@compiled
def sweep(
    totals: Any,
    label: Any,
    net: Any,
    negative: Any,
    low: int,
    high: int,
    least: Any,
) -> Any:
    """Sum over the groups of their least errors over thresholds in [low, high], by one sort."""
    order = np.argsort(totals)
    groups = len(negative)
    reached = np.full(groups, -_FAR, np.int64)
    change = np.zeros(groups, np.int64)
    best = np.full(groups, _FAR, np.int64)
    for i in order:
        g, total = label[i], totals[i]
        if total > reached[g]:
            if max(reached[g] + 1, low) <= min(total, high):
                best[g] = min(best[g], change[g])
            reached[g] = total
        change[g] += net[i]
    total_least = 0
    for g in range(groups):
        if high > reached[g]:
            best[g] = min(best[g], change[g])
        least[g] = best[g] + negative[g]
        total_least += least[g]
    return total_least


@compiled
def rest_of(least: Any, first: Any, rest: Any) -> None:
    """For each group of the next level: the least errors of all later groups' children."""
    later = 0
    for g in range(len(rest) - 1, -1, -1):
        rest[g] = later
        for child in range(first[g], first[g + 1]):
            later += least[child]


@compiled
def common_divisor(a: Any, b: Any) -> Any:
    """Greatest common divisor of two whole numbers, not negative."""
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return a


@compiled
def window(low: int, high: int, start: int, length: int) -> Any:
    """First and last position of the thresholds [low, high] on a curve that begins at ``start``.

    Thresholds before and beyond the curve answer as its ends do.
    """
    return min(max(low - start, 0), length - 1), min(max(high - start, 0), length - 1)
