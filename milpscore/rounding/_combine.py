"""Points learnt one feature at a time, put into one card."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from milpscore.core.card import Card, GridTotals, card_totals
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError
from milpscore.core.statement import InterceptRule
from milpscore.losses import ZeroOne


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
