"""Nearest rounding: every weight to the closest allowed value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card
from milpscore.core.design import IntArray
from milpscore.core.statement import Statement
from milpscore.rounding._allowed import SNAP, limit_terms, neighbours
from milpscore.verify import mean_loss


def nearest(statement: Statement, w: npt.ArrayLike, b: float | None = None) -> Card:
    """Round every weight to the closest allowed value, without any chance.

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


def nearest_points(statement: Statement, w: npt.ArrayLike) -> IntArray:
    """The closest allowed value of each weight, before any limit on terms; shape (p,)."""
    low, high, fraction = neighbours(statement, w)
    tie = np.abs(fraction - 0.5) <= SNAP
    upwards = np.where(tie, np.abs(high) < np.abs(low), fraction > 0.5)
    return np.where(upwards, high, low)
