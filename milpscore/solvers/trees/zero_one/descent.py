"""Local search under the 0-1 loss: one coefficient at all its values, or swapped for another."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, inner
from milpscore.solvers.trees.zero_one.policy import POLICY
from milpscore.solvers.trees.zero_one.rows import Patterns


class CoordinateDescent:
    """Integer coordinate descent with swaps under the 0-1 loss; ``offer`` gets every card."""

    def __init__(
        self, patterns: Patterns, offer: Callable[[IntArray], None], stopped: Callable[[], bool],
        random_state: int,
    ) -> None:  # fmt: skip
        self.patterns, self.offer, self.stopped = patterns, offer, stopped
        self.random = np.random.default_rng(random_state)
        self.movable = np.concatenate([patterns.forced, patterns.candidates])
        forced = set(patterns.forced.tolist())
        self.choices = [
            _few(points) if j in forced else np.append(_few(points), 0)
            for j, points in enumerate(patterns.points)
        ]
        self.penalties: list[FloatArray] = [
            patterns.l0 * (values != 0) + price * np.abs(values)
            for values, price in zip(self.choices, patterns.price, strict=True)
        ]
        self.left = POLICY.descent_entries

    def run(self, starts: list[IntArray]) -> None:
        """Descend from each start, then from shaken copies of the ends, each in its turn."""
        ends = [self.descend(w) for w in starts]
        for turn in range(POLICY.restarts):
            if POLICY.descent_entries - self.left > POLICY.restart_entries or self.stopped():
                return
            at = turn % len(ends)
            ends[at] = min(ends[at], self.descend(self._shaken(ends[at][1])), key=itemgetter(0))

    def _shaken(self, w: IntArray) -> IntArray:
        """A copy with about a third of its terms dropped and the rest moved at random."""
        w = w.copy()
        for j in np.flatnonzero(w).tolist():
            at = self.random.random()
            if 0 in self.choices[j] and at < 1 / 3:
                w[j] = 0
            elif at < 2 / 3:
                w[j] = int(self.random.choice(self.patterns.points[j]))
        return w

    def descend(self, w: IntArray) -> tuple[float, IntArray]:
        """The best single change, else the best swap, until neither helps."""
        objective = math.inf
        while not self.stopped():
            step = self._best_change(w)
            if step[0] >= objective - 1e-12:
                droppable = [j for j in np.flatnonzero(w).tolist() if 0 in self.choices[j]]
                swaps = [self._best_change(w, dropped) for dropped in droppable]
                step = min(swaps, key=lambda found: found[0], default=step)
            if step[0] >= objective - 1e-12:
                break
            objective, w = step
            self.offer(w)
            if self.left <= 0:
                break
        return objective, w

    def _best_change(self, w: IntArray, dropped: int | None = None) -> tuple[float, IntArray]:
        """The best card that differs from w (less a term) in one coefficient."""
        p = self.patterns
        w = w.copy()
        if dropped is not None:
            w[dropped] = 0
        totals = p.X @ w
        full = int(np.count_nonzero(w)) >= p.terms
        rest = p.objective(p.base, w)
        best, at = math.inf, (-1, 0)
        for j in self.movable.tolist():
            if full and w[j] == 0:
                continue
            if self.stopped():  # one column of 10^5 measured rows takes tenths of a second
                break
            without = totals - int(w[j]) * p.X[:, j] if w[j] else totals
            values = p.values[j, : int(p.cards[j])]
            errors, work = least_errors(
                without, p.codes[j], values, p.net, self.choices[j], *p.window
            )
            self.left -= int(work) + POLICY.column_entries
            own = p.l0 * (w[j] != 0) + p.price[j] * abs(int(w[j]))
            objectives = rest - own + self.penalties[j] + errors * p.unit
            k = int(np.argmin(objectives))
            if objectives[k] < best:
                best, at = float(objectives[k]), (j, int(self.choices[j][k]))
        if at[0] >= 0:
            w[at[0]] = at[1]
        return best, w


def _few(points: IntArray) -> IntArray:
    """The smallest points, and others spread over the range, where there are many."""
    if len(points) <= POLICY.most_choices:
        return points
    near = np.argsort(np.abs(points), kind="stable")[: POLICY.most_choices // 2]
    spread = np.linspace(0, len(points) - 1, POLICY.most_choices // 2).round().astype(np.int64)
    few: IntArray = points[np.unique(np.append(near, spread))]
    return few


# -- the kernels: one weight at each of its values ------------------------------------------------


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
