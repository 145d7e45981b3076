"""The re-check of a pool: all its cards in floating point, some of them the slow, exact way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.errors import SolverError
from milpscore.core.statement import Statement
from milpscore.pools._figures import intercepts_of, is_positive, points_of, scores_in_parts
from milpscore.verify import evaluate

_AGREE = 1e-9
_SAMPLE = 20


def recheck(statement: Statement, cards: Sequence[Card], objectives: FloatArray) -> None:
    """Check every card's requirements, and the objectives against those of the raw rows.

    All cards are checked for ranges, terms, intercepts and constraints; the first, the last and
    some others, drawn with a fixed seed, with :func:`milpscore.verify.evaluate` as well.

    Parameters
    ----------
    statement : Statement
    cards : sequence of Card
        At least one.
    objectives : ndarray of shape (V,)
        What the pool says they have.

    Raises
    ------
    SolverError
        Naming the card and what is wrong with it.
    """
    for i in np.flatnonzero(~_allowed(statement, cards)).tolist():
        said = statement.violations(cards[i])
        if said:
            raise SolverError(
                f"card {i} of the pool is not allowed ({said[0]}): please report this"
            )
    for i in _sample(len(cards)):
        again = evaluate(statement, cards[i])
        if again.violations:
            raise SolverError(
                f"card {i} of the pool is not allowed ({again.violations[0]}): please report this"
            )
        if not abs(again.objective - objectives[i]) <= _AGREE * max(1.0, abs(again.objective)):
            raise SolverError(
                f"card {i} of the pool has objective {objectives[i]!r} on merged rows and "
                f"{again.objective!r} on the raw ones: please report this"
            )


def _allowed(statement: Statement, cards: Sequence[Card]) -> np.ndarray:
    """Which cards keep every requirement, as far as floating point tells."""
    points, intercepts = points_of(cards, statement.design.shape[1]), intercepts_of(cards)
    fine = np.asarray(statement.allows(points))
    fine &= [statement.intercept.allows(card.intercept) for card in cards]
    limits = [each for each in statement.constraints if each.limits_answers]
    if limits:
        for part, scores in scores_in_parts(statement, points, intercepts):
            positive = is_positive(scores)
            fine[part] &= np.logical_and.reduce([each.allows_answers(positive) for each in limits])
    return fine


def _sample(count: int) -> list[int]:
    """The first card, the last one, and some between."""
    drawn = np.random.default_rng(0).choice(count, size=min(count, _SAMPLE), replace=False)
    return sorted({0, count - 1, *drawn.tolist()})
