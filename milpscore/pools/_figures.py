"""Figures of many cards at once, on the merged rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.card import Card
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.statement import Statement
from milpscore.losses import ZeroOne

_CELLS = 2_000_000
"""Rows times cards looked at in one go."""


def points_of(cards: Sequence[Card], p: int) -> IntArray:
    """The cards' points, shape (V, p)."""
    return np.array([card.coefficients for card in cards], dtype=np.int64).reshape(-1, p)


def intercepts_of(cards: Sequence[Card]) -> FloatArray:
    """The cards' intercepts, shape (V,)."""
    return np.array([float(card.intercept) for card in cards])


def with_points(figures: Mapping[str, Any], points: IntArray, names: Sequence[str]) -> pd.DataFrame:
    """A table of figures with the points of every column, shape (V, p), behind them.

    A design column that is called like one of the figures stands as "<name> (points)".
    """
    heads = [f"{name} (points)" if name in figures else name for name in names]
    return pd.concat([pd.DataFrame(figures), pd.DataFrame(points, columns=heads)], axis=1)


def penalties_of(statement: Statement, points: IntArray) -> FloatArray:
    """The cards' penalties, shape (V,)."""
    return np.array([statement.penalty(w) for w in points], dtype=np.float64)


def scores_in_parts(
    statement: Statement, points: IntArray, intercepts: FloatArray
) -> Iterator[tuple[slice, FloatArray]]:
    """(which cards, their scores w.x + b on the merged rows, one card a column), part by part."""
    X = statement.design.merged.X
    step = max(1, _CELLS // max(1, len(X)))
    for first in range(0, len(points), step):
        part = slice(first, first + step)
        yield part, X @ points[part].T.astype(np.float64) + intercepts[part]


def losses_of(statement: Statement, points: IntArray, intercepts: FloatArray) -> FloatArray:
    """Mean weighted losses, shape (V,).

    Parameters
    ----------
    statement : Statement
        Under a smooth loss, or the 0-1 loss.
    points : ndarray of int64, shape (V, p)
    intercepts : ndarray of shape (V,)

    Returns
    -------
    ndarray of shape (V,)
    """
    rows = statement.design.merged
    share = rows.weight / rows.weight.sum()
    found = np.empty(len(points))
    for part, scores in scores_in_parts(statement, points, intercepts):
        found[part] = share @ _row_losses(statement.loss, scores, rows.y)
    return found


def _row_losses(loss: Any, scores: FloatArray, y: IntArray) -> FloatArray:
    """Losses of the merged rows, shape (m, V)."""
    if isinstance(loss, ZeroOne):
        return np.asarray(is_positive(scores) != (y > 0)[:, None], dtype=np.float64)
    z = scores / loss.scale
    return np.asarray(loss.base.value(z, np.broadcast_to(loss.answers(y)[:, None], z.shape)))


def is_positive(scores: FloatArray) -> BoolArray:
    """Which scores answer positive: a tie does, and sums round."""
    return np.asarray(scores >= -1e-9 * (1.0 + np.abs(scores).max(initial=0.0)))


def groups_of(
    statement: Statement, points: IntArray, intercepts: FloatArray
) -> tuple[IntArray, IntArray]:
    """Which cards answer every row alike, and which give every row the same score.

    Returns
    -------
    (decisions, scores) : ndarrays of int64, shape (V,)
        Cards of one number are alike; numbers count from 0 in the order of first appearance.
    """
    decided: dict[bytes, int] = {}
    scored: dict[bytes, int] = {}
    decisions, same = np.empty(len(points), np.int64), np.empty(len(points), np.int64)
    for part, scores in scores_in_parts(statement, points, intercepts):
        nothing = 1e-9 * (1.0 + np.abs(scores).max(initial=0.0))
        positive = np.packbits(is_positive(scores), axis=0)
        whole = np.rint(scores / (2 * nothing)).astype(np.int64)
        at = range(*part.indices(len(points)))
        for k, i in enumerate(at):
            decisions[i] = decided.setdefault(positive[:, k].tobytes(), len(decided))
            same[i] = scored.setdefault(whole[:, k].tobytes(), len(scored))
    return decisions, same


def reliance_of(
    statement: Statement,
    points: IntArray,
    losses: FloatArray,
    columns: IntArray,
) -> FloatArray:
    """How much each card's loss rises once some columns lose their points and b is refitted.

    Parameters
    ----------
    statement : Statement
    points : ndarray of int64, shape (V, p)
    losses : ndarray of shape (V,)
        Of the cards as they are.
    columns : int array
        What is set to 0.

    Returns
    -------
    ndarray of shape (V,)
        0 for a card that has no points there; below 0 for one that is better without them. Limits
        on errors do not bind the refitted intercept.
    """
    rows = statement.design.merged
    risen = np.zeros(len(points))
    using = np.flatnonzero(points[:, columns].any(axis=1))
    bare = points[using].copy()
    bare[:, columns] = 0
    # cards that differ in these columns only lose the same
    distinct, back = np.unique(bare, axis=0, return_inverse=True)
    least = np.empty(len(distinct))
    for part, totals in scores_in_parts(statement, distinct, np.zeros(len(distinct))):
        _, least[part] = statement.loss.best_intercepts(
            totals, rows.y, rows.weight, statement.intercept
        )
    risen[using] = least[back.ravel()] - losses[using]
    return risen
