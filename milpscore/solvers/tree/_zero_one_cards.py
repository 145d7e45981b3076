"""The best accepted card of the 0-1 tree."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.errors import OptionError
from milpscore.solvers.tree._zero_one_patterns import Patterns


class Best(NamedTuple):
    """A card, its objective in whole units of weight (``lowest``) and from the raw rows."""

    w: IntArray | None = None
    threshold: int | None = None
    lowest: float = math.inf
    objective: float = math.inf
    error_weight: float = math.nan


class Cards:
    """Keeps the best accepted card."""

    def __init__(self, patterns: Patterns) -> None:
        self.patterns = patterns
        self.best = Best()

    def take_start(self, w: IntArray, threshold: int) -> None:
        """Begin with the caller's card.

        Raises
        ------
        OptionError
            Where it is no card of the problem, or not accepted.
        """
        problem = self.patterns.problem
        points = np.asarray(w)
        whole = bool(np.all(points == np.round(points))) and int(threshold) == threshold
        if not whole or not problem.allows(points.astype(np.int64), int(threshold)):
            raise OptionError("start is no card of this problem: check ranges, terms, threshold")
        points = points.astype(np.int64)
        if problem.accept is not None and not problem.accept(points.copy(), int(threshold)):
            raise OptionError("start breaks a constraint: pass one that is accepted, or none")
        totals = self.patterns.X @ points
        wrong = np.where(totals >= threshold, self.patterns.net < 0, self.patterns.net > 0)
        units = int(np.abs(self.patterns.net[wrong].astype(np.int64)).sum())
        self._take(points, int(threshold), units)
        self.offer(points)

    def offer(self, w: IntArray) -> None:
        """Take w with its best accepted threshold where that is better than the best card."""
        accept = self.patterns.problem.accept
        for units, low, high in self._cuts(w):
            if self.patterns.objective(self.patterns.base + units, w) >= self.best.lowest:
                return
            if accept is None:
                self._take(w, high, units)
                return
            for threshold in range(high, low - 1, -1):
                if accept(w.copy(), threshold):
                    self._take(w, threshold, units)
                    return

    def _take(self, w: IntArray, threshold: int, units: int) -> None:
        """Make a card the best one, in one assignment that no interrupt can part."""
        problem = self.patterns.problem
        self.best = Best(
            w.copy(),
            threshold,
            lowest=self.patterns.objective(self.patterns.base + units, w),
            objective=problem.objective(w, threshold),
            error_weight=problem.error_weight(w, threshold),
        )

    def _cuts(self, w: IntArray) -> list[tuple[int, int, int]]:
        """(net errors in units, least T, largest T) of every way to cut the totals, best first."""
        p = self.patterns
        least, most = p.problem.threshold_range
        distinct, where = np.unique(p.X @ w, return_inverse=True)
        steps = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(steps, where.ravel(), p.net)
        negative = -int(p.net[p.net < 0].astype(np.int64).sum())
        errors = negative + np.r_[0, np.cumsum(steps)]
        beyond = int(distinct[-1]) + 1
        low = np.r_[least, distinct + 1]
        high = np.r_[distinct, max(beyond, least if p.problem.accept is None else most)]
        low, high = np.maximum(low, least), np.minimum(high, most)
        kept = np.flatnonzero(low <= high)
        order = kept[np.argsort(errors[kept], kind="stable")]
        return [(int(errors[i]), int(low[i]), int(high[i])) for i in order.tolist()]
