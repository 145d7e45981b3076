"""Supermodular local search: the best change of one binary weight while the loss falls enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import Statement
from milpscore.search.moves import HeldOrBest, MoveTable, descend
from milpscore.search.points import RoundedCard, completed, repaired_points


@dataclass(frozen=True, eq=False)
class LocalSearch(RoundedCard):
    """What the local search gave.

    ``trace[k]`` is the objective after k moves, with the intercept searched under.

    Attributes
    ----------
    moves : tuple of (column, +1 or -1)
    eps : float
    dimension : int
        d: the columns, twice as many where weights are ternary.
    intercept : {"held", "best"}
    threshold : float
        The r held; NaN for the best intercept.
    supermodular : bool
        Whether the loss searched is surely supermodular: weights in {0,1}, every x >= 0, the
        intercept held, and no penalty or requirement beside it.
    complete : bool
        Whether the search ended by its own rule, and not for lack of work.
    """

    moves: tuple[tuple[int, int], ...]
    eps: float
    dimension: int
    intercept: HeldOrBest
    threshold: float
    supermodular: bool
    complete: bool


def local_search(
    statement: Statement,
    *,
    eps: float = 0.0,
    intercept: HeldOrBest = "held",
    threshold: float = 0.0,
    max_work: float = math.inf,
) -> LocalSearch:
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
    LocalSearch
        The objective searched includes the statement's penalties; moves it does not allow are left
        out. Where no weights at all are not allowed, the search starts at a few that are.

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
    low, high = _weights(statement)
    dimension = statement.design.shape[1] * (high - low)
    table = MoveTable(statement, intercept, threshold, max_work)
    start = np.zeros(statement.design.shape[1], dtype=np.int64)
    if not statement.allows(start[None, :])[0]:
        mended = repaired_points(statement, start)
        start = start if mended is None else mended
    factor = 1.0 - eps / max(dimension, 1) ** 2
    found = descend(table, start, _flips if low == 0 else _flips_of_pairs, factor)
    return LocalSearch(
        method="local_search",
        **completed(statement, found.points, found.points, found.trace),
        moves=tuple(found.moves),
        eps=float(eps),
        dimension=dimension,
        intercept=intercept,
        threshold=-table.b if table.held else math.nan,
        supermodular=low == 0 and table.held and _plain(statement),
        complete=found.complete,
    )


def _weights(statement: Statement) -> tuple[int, int]:
    """The common range of all coefficients: (0, 1) or (-1, 1)."""
    lower: IntArray = statement.coef_min
    upper: IntArray = statement.coef_max
    ranges: set[Any] = set(zip(lower.tolist(), upper.tolist(), strict=True))
    if ranges not in ({(0, 1)}, {(-1, 1)}):
        raise NotApplicableError(
            f"local search needs weights in {{0,1}} or in {{-1,0,1}}, {statement.formulation} has "
            f"ranges {sorted(ranges)[:3]}: state it with weights='binary' or 'ternary', or take "
            "hill_climbing or coordinate_descent"
        )
    found: tuple[int, int] = ranges.pop()
    return found


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
