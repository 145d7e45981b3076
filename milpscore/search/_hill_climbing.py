"""Random-restart hill climbing: the best change of one weight, from many random states."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import Statement
from milpscore.search.moves import Descent, HeldOrBest, MoveTable, descend
from milpscore.search.points import RoundedCard, completed, limit_terms, read_only, repaired_points

_WIDEST = 20
"""Of a wider range not every other value can be tried at every move."""


@dataclass(frozen=True, eq=False)
class HillClimbing(RoundedCard):
    """What the best of the climbs gave.

    ``trace[k]`` is the objective of the best climb after k moves.

    Attributes
    ----------
    moves : tuple of (column, shift)
        Of the best climb.
    ends : ndarray of float64, read-only
        The objective each climb ended at, in the order they were made.
    best : int
        Which of them is the best.
    intercept : {"held", "best"}
    threshold : float
        The r held; NaN for the best intercept.
    complete : bool
        Whether every climb was made, and ended where no change helps.
    """

    moves: tuple[tuple[int, int], ...]
    ends: FloatArray
    best: int
    intercept: HeldOrBest
    threshold: float
    complete: bool


def hill_climbing(
    statement: Statement,
    *,
    n_restarts: int = 10,
    intercept: HeldOrBest = "held",
    threshold: float = 0.0,
    random_state: Any = 0,
    max_work: float = math.inf,
) -> HillClimbing:
    """Climb from several states by setting any one weight to any other value, and keep the best.

    Parameters
    ----------
    statement : Statement
        Ternary weights in the paper; any ranges of at most 20 steps here.
    n_restarts : int
        Climbs: the first from no weights, each other from a random state whose weights are drawn
        evenly from their allowed values (too many terms are dropped at random).
    intercept : {"held", "best"}
        As in :func:`local_search`; ``held`` with threshold 0 is the paper's class.
    threshold : float
        r, where it is held.
    random_state : int or Generator
    max_work : float
        Most row totals to compute.

    Returns
    -------
    HillClimbing
        Where ``complete``, no change of one weight lowers the objective the climbs searched. There
        is no guarantee on the distance to the optimum.

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
    steps = _steps(statement)
    table = MoveTable(statement, intercept, threshold, max_work)
    climbs: list[Descent] = []
    if not len(steps):  # every weight has but one value
        steps = np.zeros((1, 1), dtype=np.int64)
    for k in range(int(n_restarts)):
        if climbs and table.spent:
            break
        start = _start(statement, generator if k else None)
        climbs.append(descend(table, start, lambda w: np.repeat(steps, len(w), axis=1)))
    best = int(np.argmin([climb.trace[-1] for climb in climbs]))
    chosen = climbs[best]
    return HillClimbing(
        method="hill_climbing",
        **completed(statement, chosen.points, chosen.points, chosen.trace, random_state),
        moves=tuple(chosen.moves),
        ends=read_only([climb.trace[-1] for climb in climbs]),
        best=best,
        intercept=intercept,
        threshold=-table.b if table.held else math.nan,
        complete=len(climbs) == n_restarts and all(climb.complete for climb in climbs),
    )


def _steps(statement: Statement) -> IntArray:
    """Every difference between two values of a weight, small ones first, shape (K, 1)."""
    widest = int((statement.coef_max - statement.coef_min).max(initial=0))
    if widest > _WIDEST:
        raise NotApplicableError(
            f"hill climbing tries every value of a weight, and a range here has {widest + 1}: "
            f"narrow coef_min and coef_max to {_WIDEST} steps, or take coordinate_descent"
        )
    sizes = np.arange(1, widest + 1, dtype=np.int64)
    return np.stack([sizes, -sizes], axis=1).reshape(-1, 1)


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
    if statement.allows(points[None, :])[0]:
        return points
    mended = repaired_points(statement, points)
    return points if mended is None else mended
