"""Which totals a risk score lists, and what was observed among the training rows of each."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import Design, FloatArray
from milpscore.losses import RiskLoss, link_of
from milpscore.scorecard._risk import RiskScale
from milpscore.scorecard._rows import Feature

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

MAX_GROUPS, MAX_RANGES = 12, 8
"""So many columns fit on a page, of single totals and of ranges of them."""

_TAIL = 0.01
"""Where totals are many, risks below it and above 1 - it are not told apart."""


def risk_scale(card: Scorecard, design: Design, loss: Any) -> RiskScale | None:
    """The risks of a card and the totals to print.

    One group for each total on the grid between the smallest and the largest that occur. Where
    these are more than :data:`MAX_GROUPS`, the ends, which say little more than "no" and "yes",
    are cut off at a risk of 1 %; where they still are, they are put into at most
    :data:`MAX_RANGES` groups of equal width, with the threshold as an edge.

    Parameters
    ----------
    card : Scorecard
    design : Design
        The training data.
    loss : Loss
        The statement's.

    Returns
    -------
    RiskScale or None
        None where the loss is no likelihood of two classes.
    """
    link = link_of(loss)
    if link is None or not isinstance(loss, RiskLoss):
        return None
    least, most = attainable(card)
    scale = RiskScale(link, loss.scale, unit=_unit(card), least=least, most=most)
    counted = design.weight > 0
    totals = card.score_design(design.X)[counted]
    scale = replace(scale, edges=_edges(card, scale, totals))
    return _observed(scale, totals, design.y[counted] > 0, design.weight[counted])


def attainable(card: Scorecard) -> tuple[Fraction | None, Fraction | None]:
    """The smallest and the largest total any row can have; None where a number is unlimited.

    Parameters
    ----------
    card : Scorecard

    Returns
    -------
    (least, most)
    """
    if any(not column.is_indicator for column in _counting(card)):
        return None, None
    ends = [_feature_ends(card, feature) for feature in card.used_features]
    return Fraction(sum(low for low, _ in ends)), Fraction(sum(high for _, high in ends))


def _counting(card: Scorecard) -> list[Any]:
    """The columns that have points."""
    return [column for column, w in zip(card.columns, card.points, strict=True) if w]


def _feature_ends(card: Scorecard, feature: Feature) -> tuple[int, int]:
    """The least and the most points of one raw feature of indicators."""
    low = high = 0
    for block in feature.blocks:  # exactly one bin of a block applies
        low += min(card.points[j] for j in block)
        high += max(card.points[j] for j in block)
    steps = [j for j in feature.outside if card.columns[j].kind == "step"]
    reached = np.cumsum(
        [card.points[j] for j in sorted(steps, key=lambda j: card.columns[j].lower)]
    )
    others = [card.points[j] for j in feature.outside if j not in steps]
    choices = [0, *others, *reached.astype(int).tolist()]
    return low + min(choices), high + max(choices)


def _unit(card: Scorecard) -> Fraction | None:
    """What totals are multiples of: the grid of the used columns times the points' divisor."""
    counting = _counting(card)
    if all(column.is_indicator for column in counting):
        step: Fraction | None = Fraction(1)
    else:
        step = card.rule.step
    return None if step is None else step * (math.gcd(*card.points) or 1)


def _edges(card: Scorecard, scale: RiskScale, totals: FloatArray) -> tuple[Fraction, ...]:
    """The edges of at most MAX_GROUPS groups of the totals that occur."""
    low, high = float(totals.min()), float(totals.max())
    if scale.least is not None and scale.least == scale.most:
        return ()
    if scale.unit is None:
        return _even_edges(card, *_trimmed(card, scale, low, high))
    unit = scale.unit
    first, last = (round(Fraction(end) / unit) for end in (low, high))
    if last - first >= MAX_GROUPS:
        near, far = _trimmed(card, scale, low, high)
        first = max(first, math.floor(Fraction(near) / unit))
        last = min(last, math.ceil(Fraction(far) / unit))
    last = max(last, first + 1)  # a single group would say nothing
    width = 1
    cut = math.ceil(card.threshold / unit)
    while len(found := _grid_edges(first, last, cut, width)) >= (
        MAX_GROUPS if width == 1 else MAX_RANGES
    ):
        width += 1
    return tuple(k * unit for k in found)


def _grid_edges(first: int, last: int, cut: int, width: int) -> list[int]:
    """Multiples of the width from the cut on, above the first total and up to the last."""
    start = first + 1 + (cut - first - 1) % width
    return list(range(start, last + 1, width))


def _trimmed(card: Scorecard, scale: RiskScale, low: float, high: float) -> tuple[float, float]:
    """The range of totals without the ends whose risks are next to certain."""
    reach = scale.scale * math.log((1 - _TAIL) / _TAIL)
    if scale.link == "probit":
        from scipy.special import ndtri

        reach = scale.scale * float(ndtri(1 - _TAIL))
    cut = float(card.threshold)
    near = min(max(low, cut - reach), high)
    return near, max(min(high, cut + reach), near)


def _even_edges(card: Scorecard, low: float, high: float) -> tuple[Fraction, ...]:
    """Edges at round distances from the threshold, for totals on no grid."""
    if not high > low:
        return (card.threshold,)
    wide = (high - low) / (MAX_RANGES - 2)
    power = Fraction(10) ** math.floor(math.log10(wide))
    width = next(power * k for k in (1, 2, 5, 10) if float(power * k) >= wide * (1 - 1e-9))
    cut = round(card.threshold / (width / 10)) * (width / 10)
    start = cut + math.ceil((Fraction(low) - cut) / width) * width
    count = math.floor((Fraction(high) - start) / width) + 1
    return tuple(start + k * width for k in range(count)) or (cut,)


def _observed(
    scale: RiskScale, totals: FloatArray, positive: npt.NDArray[np.bool_], weight: FloatArray
) -> RiskScale:
    """The scale with the rows and the weighted share of positives of each group."""
    where, groups = scale.group(totals), len(scale.edges) + 1
    rows = np.bincount(where, minlength=groups)
    mass = np.bincount(where, weights=weight, minlength=groups)
    hits = np.bincount(where, weights=weight * positive, minlength=groups)
    shares = [float(h / m) if m > 0 else None for h, m in zip(hits, mass, strict=True)]
    return replace(scale, rows=tuple(rows.tolist()), shares=tuple(shares))
