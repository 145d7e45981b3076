"""Local search under the 0-1 loss: one coefficient at all its values, or swapped for another."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.search.zero_one import least_errors
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
