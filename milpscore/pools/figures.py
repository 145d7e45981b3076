"""Figures of many cards at once, on the merged rows; and the re-check of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.card import Card
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.errors import SolverError
from milpscore.core.statement import Statement
from milpscore.losses import ZeroOne
from milpscore.verify import evaluate

FIGURES = (
    "objective", "loss", "penalty", "terms", "nonzeros", "decisions", "scores", "intercept",
)  # fmt: skip
"""The columns of a pool's table before the points."""

_CELLS = 2_000_000
"""Rows times cards looked at in one go."""

_AGREE = 1e-9
_SAMPLE = 20
"""So many cards of a pool are checked by the raw rows as well."""


def points_of(cards: Sequence[Card], p: int) -> IntArray:
    """The cards' points, shape (V, p)."""
    return np.array([card.coefficients for card in cards], dtype=np.int64).reshape(-1, p)


def intercepts_of(cards: Sequence[Card]) -> FloatArray:
    """The cards' intercepts, shape (V,)."""
    return np.array([float(card.intercept) for card in cards])


def with_points(figures: Mapping[str, Any], points: IntArray, names: Sequence[str]) -> pd.DataFrame:
    """A table of figures with the points (V, p) behind; a column called like one has "(points)"."""
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
    """Mean weighted losses of points (V, p) and intercepts (V,); shape (V,)."""
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
    """(decisions, scores), shapes (V,): cards that answer all rows, or score them, alike share one.

    Numbers count from 0 in the order of first appearance.
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

    ``points`` (V, p) and ``losses`` (V,) are those of the cards as they are. Shape (V,): 0 for a
    card that has no points there; below 0 for one that is better without them. Limits on errors do
    not bind the refitted intercept.
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


def by_objective(statement: Statement, cards: Sequence[Card]) -> tuple[list[Card], FloatArray]:
    """The cards in the order of their objectives, ties by points, and the objectives."""
    points = points_of(cards, statement.design.shape[1])
    b = intercepts_of(cards)
    values = losses_of(statement, points, b) + penalties_of(statement, points)
    # to twelve digits: rounding must not order what ties
    keys = [(float(f"{values[i]:.12g}"), tuple(points[i].tolist()), b[i]) for i in range(len(b))]
    order = sorted(range(len(b)), key=keys.__getitem__)
    return [cards[i] for i in order], values[order]


def recheck(statement: Statement, cards: Sequence[Card], objectives: FloatArray) -> None:
    """Check every card's requirements, and the objectives against those of the raw rows.

    All cards are checked for ranges, terms, intercepts and constraints; the first, the last and
    some others, drawn with a fixed seed, with :func:`milpscore.verify.evaluate` as well.

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


def _allowed(statement: Statement, cards: Sequence[Card]) -> BoolArray:
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
