"""Searches by single changes: coordinate descent, local search, climbs from random states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import Statement, best_losses
from milpscore.penalties.ramps import BlockTV
from milpscore.search.moves import IMPROVEMENT, Descent, HeldOrBest, MoveTable, descend
from milpscore.search.points import (
    RoundedCard,
    allowed_start,
    limit_terms,
    read_only,
    rounded_card,
    shifts_within,
)
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


_WIDEST = 20
"""Of a wider range not every other value can be tried at every move."""


def local_search(
    statement: Statement,
    *,
    eps: float = 0.0,
    intercept: HeldOrBest = "held",
    threshold: float = 0.0,
    max_work: float = math.inf,
) -> RoundedCard:
    r"""From no weights, the best Hamming-1 move while f falls below (1 - eps / d^2) f.

    Weights lie in {0,1}; ternary ones are binary on the doubled features (x, -x), d = 2p. Adding or
    removing either copy of a feature changes its weight by one, and the pair (1, 1) moves as (0, 0)
    does, so the doubled columns need not be made: the moves are :math:`w_j \pm 1`. The objective of
    all d moves is one pass over the matrix.

    What holds at the end: no single move brings the objective searched below (1 - eps/d^2) times
    its value; with ``eps=0`` the weights are a Hamming-1 minimum. No ratio to the optimum is
    promised: the printed Theorem 4 is a bound for maximisation and cannot hold for a minimum.

    Parameters
    ----------
    statement : Statement
        Whose coefficients are {0,1} throughout, or {-1,0,1} throughout.
    eps : float
        At least 0; the larger, the sooner the search ends.
    intercept : {"held", "best"}
        ``held`` is the paper's r-threshold class, under the hinge loss: every card has threshold r,
        and only the card returned gets the best allowed intercept. ``best`` gives each card that is
        tried its best allowed intercept, under any loss; it sorts a column of totals per move.
    threshold : float
        r, where it is held; -r must be an allowed intercept.
    max_work : float
        Most row totals to compute.

    Returns
    -------
    RoundedCard
        ``trace[k]`` is the objective after k moves, with the intercept searched under; it includes
        the statement's penalties. Moves the statement does not allow are left out; where it does
        not allow a card without weights, the search starts at a few that it does. Also ``moves``, a
        tuple of (column, +1 or -1); ``eps``; ``dimension``, d; ``intercept``; ``threshold``, the r
        held or NaN; ``supermodular``, whether the loss searched surely is: weights in {0,1}, every
        x >= 0, the intercept held, and no penalty or requirement; ``complete``, whether the search
        ended by its own rule, and not for lack of work.

    Raises
    ------
    OptionError
        For a negative ``eps``, or an intercept that is not allowed.
    NotApplicableError
        For other coefficient ranges, or a held intercept without the hinge loss.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 6 (its n is d here, its d too). Proposition 3, that
    the loss is supermodular, holds for x >= 0 and weights in {0,1}: on doubled features it fails.
    """
    if isinstance(eps, bool) or not (math.isfinite(eps) and eps >= 0):
        raise OptionError(f"eps must be a number >= 0, got {eps!r}")
    ends = zip(statement.coef_min.tolist(), statement.coef_max.tolist(), strict=True)
    ranges = set(ends)
    if ranges not in ({(0, 1)}, {(-1, 1)}):
        raise NotApplicableError(
            f"local search needs weights in {{0,1}} or in {{-1,0,1}}, {statement.formulation} has "
            f"ranges {sorted(ranges)[:3]}: state it with weights='binary' or 'ternary', or take "
            "hill_climbing or coordinate_descent"
        )
    binary, p = ranges == {(0, 1)}, statement.design.shape[1]
    dimension = p if binary else 2 * p
    table = MoveTable(statement, intercept, threshold, max_work)
    found = descend(
        table,
        allowed_start(statement, np.zeros(p, dtype=np.int64)),
        _flips if binary else _flips_of_pairs,
        factor=1.0 - eps / max(dimension, 1) ** 2,
    )
    return rounded_card(
        "local_search", statement, found.points, found.points, found.trace,
        moves=tuple(found.moves), eps=float(eps), dimension=dimension, intercept=intercept,
        threshold=table.threshold, supermodular=binary and table.held and _plain(statement),
        complete=found.complete,
    )  # fmt: skip


def _flips(w: IntArray) -> IntArray:
    """The change of each binary weight, shape (1, p)."""
    return 1 - 2 * w[None, :]


def _flips_of_pairs(w: IntArray) -> IntArray:
    """The changes of each ternary weight by one copy of its feature, shape (2, p)."""
    return np.where(w == 0, np.array([[1], [-1]]), np.stack([-w, np.zeros_like(w)]))


def _plain(statement: Statement) -> bool:
    """Whether nothing but a hinge loss of non-negative features is minimised."""
    alone = statement.max_terms is None and not statement.constraints and not statement.coef_sets
    nothing = all(not getattr(term, "lam", 1.0) for term in statement.penalties)
    return alone and nothing and bool((statement.design.merged.X >= 0).all())


def hill_climbing(
    statement: Statement,
    *,
    n_restarts: int = 10,
    intercept: HeldOrBest = "held",
    threshold: float = 0.0,
    random_state: Any = 0,
    max_work: float = math.inf,
) -> RoundedCard:
    """Climb from several states by setting any one weight to any other value, and keep the best.

    Parameters
    ----------
    statement : Statement
        Ternary weights in the paper; any ranges of at most 20 steps here.
    n_restarts : int
        Climbs: the first from no weights, each other from a random state whose weights are drawn
        evenly from their allowed values (too many terms are dropped at random).
    intercept, threshold, max_work :
        As in :func:`local_search`; ``held`` with threshold 0 is the paper's class.
    random_state : int or Generator

    Returns
    -------
    RoundedCard
        ``trace[k]`` is the objective of the best climb after k moves, ``moves`` are its moves, and
        ``best`` is its number; ``ends`` are the objectives the climbs ended at, in the order they
        were made. Where ``complete``, no change of one weight lowers the objective the climbs
        searched. There is no guarantee on the distance to the optimum. Also ``intercept``;
        ``threshold``, the r held or NaN.

    Raises
    ------
    OptionError
        Where ``n_restarts`` is not a whole number >= 1, or the intercept is not allowed.
    NotApplicableError
        For wider ranges, or a held intercept without the hinge loss.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), end of sec. 4.
    """
    if isinstance(n_restarts, bool) or not hasattr(n_restarts, "__index__") or n_restarts < 1:
        raise OptionError(f"n_restarts must be a whole number >= 1, got {n_restarts!r}")
    generator = np.random.default_rng(random_state)
    widest = int((statement.coef_max - statement.coef_min).max(initial=0))
    if widest > _WIDEST:
        raise NotApplicableError(
            f"hill climbing tries every value of a weight, and a range here has {widest + 1}: "
            f"narrow coef_min and coef_max to {_WIDEST} steps, or take coordinate_descent"
        )
    # every difference between two values of a weight, small ones first: 1, -1, 2, -2, ...
    sizes = np.arange(1, max(widest, 1) + 1, dtype=np.int64)
    steps = np.stack([sizes, -sizes], axis=1).reshape(-1, 1)
    table = MoveTable(statement, intercept, threshold, max_work)
    climbs: list[Descent] = []
    for k in range(int(n_restarts)):
        if climbs and table.spent:
            break
        start = _start(statement, generator if k else None)
        climbs.append(descend(table, start, lambda w: np.repeat(steps, len(w), axis=1)))
    ends = [climb.trace[-1] for climb in climbs]
    best = int(np.argmin(ends))
    chosen = climbs[best]
    return rounded_card(
        "hill_climbing", statement, chosen.points, chosen.points, chosen.trace,
        random_state=random_state, moves=tuple(chosen.moves), ends=read_only(ends), best=best,
        intercept=intercept, threshold=table.threshold,
        complete=len(climbs) == n_restarts and all(climb.complete for climb in climbs),
    )  # fmt: skip


def _start(statement: Statement, generator: np.random.Generator | None) -> IntArray:
    """No weights, or random ones; changed until the statement allows them, where that succeeds."""
    p = statement.design.shape[1]
    points = np.zeros(p, dtype=np.int64)
    if generator is not None:
        lower, upper = statement.ranges
        points = generator.integers(lower, upper + 1)
        for j, values in statement.coef_sets.items():
            points[j] = generator.choice([v for v in values if lower[j] <= v <= upper[j]])
        points = limit_terms(statement, points[None, :], generator.random(p))[0][0]
    return allowed_start(statement, points)
