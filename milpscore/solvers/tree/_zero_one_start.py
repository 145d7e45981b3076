"""Good cards early: best single changes and swaps from a few starts, on the distinct rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from milpscore.core.design import IntArray
from milpscore.solvers.tree._zero_one_patterns import Patterns

Offer = Callable[[IntArray], None]

_WORK = 250_000_000
"""Array entries the descents may spend together; a count, so that runs repeat."""

_RESTARTS = 30
_RESTART_WORK = 100_000_000
"""Entries after which no shaken start is tried any more."""

_MOST_CHOICES = 100
"""Of a coefficient's range so many values are tried: the rest is left to the search."""

_OVERHEAD = 2_000
"""What looking at a column costs beside them."""


class Descent:
    """Integer coordinate descent with swaps under the 0-1 loss.

    Parameters
    ----------
    patterns : Patterns
    offer : callable
        Told of every card on the way.
    stopped : callable
        Whether to give up; asked between passes.
    random_state : int
    """

    def __init__(
        self,
        patterns: Patterns,
        offer: Offer,
        stopped: Callable[[], bool],
        random_state: int,
    ) -> None:
        self.patterns, self.offer, self.stopped = patterns, offer, stopped
        self.random = np.random.default_rng(random_state)
        problem = patterns.problem
        self.low, self.high = problem.threshold_range
        self.movable = np.concatenate([patterns.forced, patterns.candidates])
        forced = set(patterns.forced.tolist())
        self.choices = [
            _few(points) if j in forced else np.r_[_few(points), 0]
            for j, points in enumerate(patterns.points)
        ]
        self.penalties = [
            problem.l0_penalty * (values != 0) + problem.l1_penalty * np.abs(values)
            for values in self.choices
        ]
        self.left = _WORK

    def run(self, starts: list[IntArray]) -> None:
        """Descend from each start, then from shaken copies of the best end."""
        best: IntArray | None = None
        lowest = np.inf
        for w in starts:
            end, objective = self._descend(w)
            if objective < lowest:
                best, lowest = end, objective
        for _ in range(_RESTARTS):
            if best is None or _WORK - self.left > _RESTART_WORK or self.stopped():
                return
            end, objective = self._descend(self._shaken(best))
            if objective < lowest:
                best, lowest = end, objective

    def _shaken(self, w: IntArray) -> IntArray:
        """A copy with about a third of its terms dropped and the rest moved at random."""
        w = w.copy()
        for j in np.flatnonzero(w).tolist():
            at = self.random.random()
            droppable = 0 in self.choices[j]
            if droppable and at < 1 / 3:
                w[j] = 0
            elif at < 2 / 3:
                w[j] = int(self.random.choice(self.patterns.points[j]))
        return w

    def _descend(self, w: IntArray) -> tuple[IntArray, float]:
        """The best single change, else the best swap, until neither helps."""
        w = w.copy()
        objective = np.inf
        while not self.stopped():
            step = self._best_change(w)
            if step[0] >= objective - 1e-12:
                step = min(
                    (self._best_change(w, dropped) for dropped in self._droppable(w)),
                    key=lambda found: found[0],
                    default=step,
                )
            if step[0] >= objective - 1e-12:
                break
            objective, w = step
            self.offer(w)
            if self.left <= 0:
                break
        return w, float(objective)

    def _droppable(self, w: IntArray) -> list[int]:
        """Terms that may be taken out."""
        return [j for j in np.flatnonzero(w).tolist() if 0 in self.choices[j]]

    def _best_change(self, w: IntArray, dropped: int | None = None) -> tuple[float, IntArray]:
        """The best card that differs from w (less a term) in one coefficient."""
        from milpscore.search.zero_one import least_errors

        p, problem = self.patterns, self.patterns.problem
        w = w.copy()
        if dropped is not None:
            w[dropped] = 0
        totals = p.X @ w
        full = int(np.count_nonzero(w)) >= problem.terms
        rest = p.objective(p.base, w)
        best, at = np.inf, (-1, 0)
        for j in self.movable.tolist():
            if full and w[j] == 0:
                continue
            without = totals - int(w[j]) * p.X[:, j] if w[j] else totals
            values = p.values[j, : int(p.cards[j])]
            errors, work = least_errors(
                without, p.codes[j], values, p.net, self.choices[j], self.low, self.high
            )
            self.left -= int(work) + _OVERHEAD
            own = problem.l0_penalty * (w[j] != 0) + problem.l1_penalty * abs(int(w[j]))
            objectives = rest - own + self.penalties[j] + errors * p.unit
            k = int(np.argmin(objectives))
            if objectives[k] < best:
                best, at = float(objectives[k]), (j, int(self.choices[j][k]))
        if at[0] >= 0:
            w[at[0]] = at[1]
        return best, w


def _few(points: IntArray) -> IntArray:
    """The smallest points, and others spread over the range, where there are many."""
    if len(points) <= _MOST_CHOICES:
        return points
    near = np.argsort(np.abs(points), kind="stable")[: _MOST_CHOICES // 2]
    spread = np.linspace(0, len(points) - 1, _MOST_CHOICES // 2).round().astype(np.int64)
    few: IntArray = points[np.unique(np.r_[near, spread])]
    return few
