"""Integer coordinate descent with swaps: a good card in milliseconds, for starts and polishing."""

from __future__ import annotations

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import Statement, best_losses
from milpscore.penalties.cards import BlockTV
from milpscore.search.moves import IMPROVEMENT
from milpscore.search.points import shifts_within
from milpscore.verify import evaluate

_LIMITED_WORK = 10
"""Where errors are limited, a row total costs about so many: some intercepts are looked for."""


def coordinate_descent(
    statement: Statement,
    card: Card | None = None,
    *,
    max_sweeps: int = 50,
    max_work: float = float("inf"),
) -> Card:
    """Change one coefficient or swap two, the best intercept following, until nothing helps.

    Every allowed value of a coordinate is tried at once against all merged rows. Bins of one
    feature move together from a bin on, so that jumps appear and vanish one at a time.

    Parameters
    ----------
    statement : Statement
    card : Card, optional
        Where to start; default no points. Must meet the statement's requirements.
    max_sweeps : int
    max_work : float
        Most row totals to compute; the best card so far is returned. Unlike seconds it stops at
        the same card on every machine.

    Returns
    -------
    Card
        Never worse than ``card`` in the statement's objective; deterministic.
    """
    start = statement.empty_card() if card is None else card
    search = _Search(statement, start, max_work)
    for _ in range(max_sweeps):
        improved = search.sweep()
        if not improved and not search.swap():
            break
        if search.spent:
            break
    # the search judges in floating point, and cuts only at totals: the exact figures decide
    found = search.card()
    reached, before = evaluate(statement, found), evaluate(statement, start)
    return found if reached.feasible and reached.objective < before.objective else start


class _Search:
    """The current coefficients with their totals on the merged rows."""

    def __init__(self, statement: Statement, card: Card, max_work: float) -> None:
        self.statement = statement
        self.rows = statement.design.merged
        self.work_left = max_work
        limited = any(each.limits_answers for each in statement.constraints)
        self.work = _LIMITED_WORK if limited else 1
        self.directions = _directions(statement)
        self.w = card.coefficients.copy()
        self.totals: FloatArray = self.rows.X @ self.w.astype(np.float64)
        self.objective = np.inf
        self.objective = float(self._objectives(self.totals[:, None], self.w[None, :])[0])

    @property
    def spent(self) -> bool:
        """Whether the allowed work is done."""
        return self.work_left <= 0

    def card(self) -> Card:
        """The current coefficients with their exact best intercept."""
        return self.statement.with_best_intercept(self.w)

    def sweep(self) -> bool:
        """Try every direction once; whether anything improved."""
        improved = False
        for direction in self.directions:
            if self.spent:
                break
            improved |= self._best_of(self.w, self.totals, direction)
        return improved

    def swap(self) -> bool:
        """Where terms are limited: take the best exchange of one used term for another."""
        limit = self.statement.max_terms
        binds = limit is not None and np.count_nonzero(self.w) >= limit
        if not binds and not self.statement.constraints:
            return False
        lower, upper = self.statement.ranges
        for j in np.flatnonzero((self.w != 0) & (lower <= 0) & (upper >= 0)):
            without = self.w.copy()
            without[j] = 0
            totals = self.totals - self.rows.X[:, j] * float(self.w[j])
            for direction in self.directions:
                if self.spent:
                    return False
                first = direction[0]
                if first != j and not without[first] and self._best_of(without, totals, direction):
                    return True
        return False

    def _best_of(self, w: IntArray, totals: FloatArray, direction: IntArray) -> bool:
        """Move along one direction from w to its best value, if that beats the current card."""
        lower, upper = self.statement.ranges
        low = int((lower[direction] - w[direction]).max())
        high = int((upper[direction] - w[direction]).min())
        shifts = shifts_within(low, high, -int(w[direction[0]]))
        shifts = shifts[shifts != 0]
        candidates = np.repeat(w[None, :], len(shifts), axis=0)
        candidates[:, direction] += shifts[:, None]
        allowed = self.statement.allows(candidates)
        shifts, candidates = shifts[allowed], candidates[allowed]
        if not len(shifts):
            return False
        column = self.rows.X[:, direction].sum(axis=1)
        trial = totals[:, None] + column[:, None] * shifts.astype(np.float64)
        objectives = self._objectives(trial, candidates)
        k = int(np.argmin(objectives))
        if objectives[k] >= self.objective - IMPROVEMENT:
            return False
        self.w, self.totals = candidates[k], trial[:, k]
        self.objective = float(objectives[k])
        return True

    def _objectives(self, totals: FloatArray, candidates: IntArray) -> FloatArray:
        """Objective of each candidate, shape (V, p), with its best intercept."""
        self.work_left -= self.work * totals.size
        penalties = np.array([self.statement.penalty(w) for w in candidates], dtype=np.float64)
        losses = best_losses(self.statement, totals, candidates, self.objective - penalties)
        total: FloatArray = losses + penalties
        return total


def _directions(statement: Statement) -> list[IntArray]:
    """Single columns; inside blocks also all bins from one on (a jump of the total variation)."""
    lower, upper = statement.ranges
    free = lower < upper
    singles = [np.array([j]) for j in np.flatnonzero(free)]
    tails = []
    if any(isinstance(term, BlockTV) for term in statement.penalties):
        for block in statement.design.blocks:
            bins = np.array(block)
            tails += [bins[start:] for start in range(1, len(bins) - 1) if free[bins[start:]].all()]
    return [*tails, *singles]
