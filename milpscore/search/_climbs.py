"""Searches by the best single change: local search from no weights, climbs from random states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import Statement
from milpscore.search.moves import Descent, HeldOrBest, MoveTable, descend
from milpscore.search.points import (
    RoundedCard,
    allowed_start,
    limit_terms,
    read_only,
    rounded_card,
)

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
        Where ``n_restarts`` is no whole number >= 1, or the intercept is not allowed.
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
