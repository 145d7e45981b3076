"""Hill climbing over whole weights from several states, as rivals of the searches are run."""

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
"""Steps of the widest range whose every value is tried."""


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
