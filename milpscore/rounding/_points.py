"""Rounding to the nearest and at random, and points learnt one feature at a time in one card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card, GridTotals, card_totals
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import FormulationError, OptionError
from milpscore.core.statement import InterceptRule, Statement
from milpscore.losses import Hinge, ZeroOne
from milpscore.rounding.expectations import held_losses, rounding_bounds
from milpscore.search.points import (
    best_objectives,
    limit_terms,
    nearest_points,
    neighbours,
    read_only,
    seed_of,
)
from milpscore.verify import Evaluation, evaluate
from milpscore.verify.cards import mean_loss

JUDGED = 5
"""So many of the best draws are re-evaluated exactly before one is called the best."""


@dataclass(frozen=True, eq=False)
class Rounding:
    """What N draws gave.

    Attributes
    ----------
    card : Card or None
        The best one; None where every draw had to be discarded.
    evaluation : Evaluation or None
        Its exact figures.
    points : ndarray of int64, shape (q, p)
        The distinct vectors of points left after repair, best first.
    n_draws, n_distinct : int
        Draws, and distinct vectors of points among them.
    n_repaired, n_discarded : int
        Draws with too many terms: repaired by dropping the terms of least LP weight, or
        discarded because the dropped columns may not be 0. Draws that break a constraint, limits
        on errors under every intercept included, are discarded too.
    mean_loss : float
        Mean loss over the draws that were kept, each with its best allowed intercept.
    held_loss : float
        Mean loss over all draws before any repair, with the intercept held at the LP's: what the
        bounds of :func:`rounding_bounds` on the expectation speak of. NaN without an intercept.
    random_state : int or None
        None where a Generator was given.
    trace : ndarray of float64, shape (n_draws,), read-only
        Objective of each draw after repair with its best allowed intercept, in the order drawn;
        infinite where it was discarded.
    bounds : mapping
        What :func:`rounding_bounds` says of these weights: ``sharp_bound`` and ``expected_bound``
        bound the expectation of ``held_loss`` (single draws exceed them). Empty without an
        intercept or under another loss than the hinge.
    """

    card: Card | None
    evaluation: Evaluation | None
    points: IntArray
    n_draws: int
    n_distinct: int
    n_repaired: int
    n_discarded: int
    mean_loss: float
    held_loss: float
    random_state: int | None
    trace: FloatArray
    bounds: Mapping[str, float]

    @property
    def objective(self) -> float:
        """Objective of the best card, NaN without one."""
        return float("nan") if self.evaluation is None else self.evaluation.objective

    def cards(self, statement: Statement) -> Iterator[Card]:
        """The cards of all ``points``, best first, each made when asked for.

        Parameters
        ----------
        statement : Statement
            The one the draws were made for.
        """
        return map(statement.with_best_intercept, self.points)

    @property
    def counts(self) -> str:
        """The draws in words."""
        return (
            f"{self.n_draws} draws, {self.n_distinct} distinct, {self.n_repaired} repaired, "
            f"{self.n_discarded} discarded"
        )


def nearest(statement: Statement, w: npt.ArrayLike, b: float | None = None) -> Card:
    """Round every weight to the closest allowed value, without drawing.

    Parameters
    ----------
    statement : Statement
        Its ranges and sets say which values are allowed; where ``max_terms`` is exceeded, the
        terms of least absolute LP weight are dropped.
    w : array of shape (p,)
        Real weights, say those of a relaxed result.
    b : float, optional
        The LP's intercept: kept (moved to the closest allowed one) where none is better.

    Returns
    -------
    Card
        With the allowed intercept of least loss for the rounded weights. A weight half-way
        between two values (within 1e-9) goes to the one closer to 0, so that a change of all
        signs changes nothing else. The card breaks ``max_terms`` only where more columns than
        that cannot be 0; it may break a constraint, which only the re-check tells.

    Raises
    ------
    FormulationError
        For weights of another shape, or not finite.

    See Also
    --------
    rounding_bounds : what this rounding surely obeys under the hinge loss.
    """
    points, _ = limit_terms(statement, nearest_points(statement, w)[None, :], w)
    best = statement.with_best_intercept(points[0])
    if b is None:
        return best
    close = Card(points[0], statement.intercept.nearest(b))
    if any(constraint.violation(statement, close) for constraint in statement.constraints):
        return best
    return close if mean_loss(statement, close)[0] <= mean_loss(statement, best)[0] else best


def randomised(
    statement: Statement,
    w: npt.ArrayLike,
    *,
    intercept: float | None = None,
    n_draws: int = 100,
    random_state: Any = 0,
) -> Rounding:
    """Draw whole weights whose expectation is w, and keep the best card.

    Each weight is rounded up with probability equal to its fractional part, down otherwise,
    independently of the others. For binary weights this is the paper's draw. For ternary ones it
    is the paper's draw on the doubled features with the pair (c+, c-) of each feature reduced to
    (max(w, 0), max(-w, 0)): the expectation is the same and the variance never larger.

    Parameters
    ----------
    statement : Statement
    w : array of shape (p,)
        Real weights, say those of a relaxed result.
    intercept : float, optional
        The LP's intercept b; only needed for ``held_loss`` and ``bounds``.
    n_draws : int
        At least 1.
    random_state : int or Generator

    Returns
    -------
    Rounding

    Raises
    ------
    FormulationError
        For weights of another shape, or not finite.
    OptionError
        Where ``n_draws`` is not a whole number >= 1.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 1, steps (2) and (3). The paper returns one draw;
    here the best of N is returned, judged exactly.
    """
    if isinstance(n_draws, bool) or not hasattr(n_draws, "__index__") or n_draws < 1:
        raise OptionError(f"n_draws must be a whole number >= 1, got {n_draws!r}")
    generator = np.random.default_rng(random_state)
    low, high, fraction = neighbours(statement, w)
    up = generator.random((int(n_draws), len(low))) < fraction
    drawn, which = np.unique(np.where(up, high, low), axis=0, return_inverse=True)
    times = np.bincount(which.ravel(), minlength=len(drawn)).astype(np.int64)
    repaired, feasible = limit_terms(statement, drawn, w)
    changed = (repaired != drawn).any(axis=1)
    points, kept_times, places = _distinct(repaired[feasible], times[feasible])
    losses, sums = best_objectives(statement, points)
    objectives = np.full(len(drawn), np.inf)
    objectives[feasible] = sums[places]
    within = np.isfinite(losses)
    beyond = int(kept_times[~within].sum())
    kept_times, losses = kept_times[within], losses[within]
    judged, ordered = _judged(statement, points[within], sums[within])
    held = float("nan")
    if intercept is not None:
        held = _average(held_losses(statement, drawn, intercept), times)
    hinge = isinstance(statement.loss, Hinge)
    return Rounding(
        card=judged[0][0] if judged else None,
        evaluation=judged[0][1] if judged else None,
        points=ordered,
        n_draws=int(n_draws),
        n_distinct=len(drawn),
        n_repaired=int(times[changed & feasible].sum()),
        n_discarded=int(times[~feasible].sum()) + beyond,
        mean_loss=_average(losses, kept_times),
        held_loss=held,
        random_state=seed_of(random_state),
        trace=read_only(objectives[which.ravel()]),
        bounds=rounding_bounds(statement, w, intercept) if hinge and intercept is not None else {},
    )


def _judged(
    statement: Statement, points: IntArray, objectives: FloatArray
) -> tuple[list[tuple[Card, Evaluation]], IntArray]:
    """The best few cards in exact order, and all vectors of points, best first.

    The order of the others comes from sums in floating point.
    """
    order = np.argsort(objectives, kind="stable")
    cards = [statement.with_best_intercept(points[k]) for k in order[:JUDGED]]
    judged = sorted(
        ((card, evaluate(statement, card)) for card in cards), key=lambda pair: pair[1].objective
    )
    first = [card.coefficients for card, _ in judged]
    return judged, np.array([*first, *points[order[JUDGED:]]], dtype=np.int64).reshape(points.shape)


def _distinct(points: IntArray, times: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Distinct rows, how often each was drawn, and which of them each row is."""
    rows, inverse = np.unique(points, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    drawn = np.bincount(inverse, weights=times, minlength=len(rows)).astype(np.int64)
    return rows, drawn, inverse


def _average(values: FloatArray, times: IntArray) -> float:
    """Mean over the draws, NaN where there is none."""
    return float(values @ times / times.sum()) if times.sum() else float("nan")


def combine(design: Design, cards: Mapping[str, Card]) -> Card:
    """Sum the points of per-feature cards and cut the totals by the best separator.

    Parameters
    ----------
    design : Design
        The binned data all cards were learnt on.
    cards : mapping from raw feature to Card
        Each has p points, those of other features being 0, as the programs of
        :func:`milpscore.formulations.fused_lasso_by_feature` give them. Their own intercepts are
        forgotten.

    Returns
    -------
    Card
        Its threshold has the least weighted 0-1 loss of all; one sweep over the sorted totals
        finds it.

    Raises
    ------
    FormulationError
        For an unknown feature, a card of another length, or points on another feature.

    References
    ----------
    Sokolovska, Chevaleyre & Zucker, score learning, steps 3 and 4: sum the scores, then find an
    optimal separator between the two classes.
    """
    points = np.zeros(design.shape[1], dtype=np.int64)
    for feature, card in cards.items():
        _require_own_columns(design, feature, card)
        points += card.coefficients
    totals = card_totals(design.X, design.step, Card(points, Fraction(0)))
    threshold_of = totals.unit if isinstance(totals, GridTotals) else Fraction(1)
    values = totals.counts if isinstance(totals, GridTotals) else totals.values
    low, high = Fraction(values.min().item()), Fraction(values.max().item())
    rule = InterceptRule(
        "grid" if isinstance(totals, GridTotals) else "real",
        -(high + 1) * threshold_of,
        -low * threshold_of,
        totals.unit if isinstance(totals, GridTotals) else None,
    )
    b = ZeroOne().best_intercept(totals, design.y, design.weight, rule)
    return Card(points, b)


def _require_own_columns(design: Design, feature: str, card: Card) -> None:
    """Refuse a card that does not score exactly this feature."""
    own = np.array([column.feature == feature for column in design.columns])
    if not own.any():
        known = sorted({column.feature for column in design.columns})
        raise FormulationError(f"combine: no feature {feature!r} in the design; there are {known}")
    if len(card.coefficients) != len(own):
        raise FormulationError(
            f"combine: the card of {feature!r} has {len(card.coefficients)} points, the design "
            f"{len(own)} columns: pass cards learnt on this design"
        )
    if np.any(card.coefficients[~own]):
        raise FormulationError(
            f"combine: the card of {feature!r} has points on other features; learn it with "
            f"fused_lasso(design, features=[{feature!r}])"
        )
