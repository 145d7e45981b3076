"""Risks: what a total means as a probability, the totals a card lists, and what was observed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.card import DecisionRule
from milpscore.core.design import Design, FloatArray, as_fraction
from milpscore.core.errors import DataError
from milpscore.data.checking import row_weights
from milpscore.losses import LINKS, RiskLoss
from milpscore.losses.kinds import link_of
from milpscore.scorecard.rows import PLAIN, Feature, Style, number, settle

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard


_TINY = 0.0005

End: TypeAlias = Fraction | None


@dataclass(frozen=True)
class RiskScale:
    """How totals become risks, and the groups of totals that are printed.

    Group 0 holds the totals below the first edge, group k those from edge k - 1 to below edge k.

    Attributes
    ----------
    link : str
        A key of :data:`milpscore.losses.LINKS`: the risk of a total is link((total - T) / scale).
    scale : float
        Points in one unit of the score, > 0.
    edges : tuple of Fraction, ascending
    unit : Fraction or None
        Totals are multiples of it; None where they lie on no grid.
    least, most : Fraction or None
        The smallest and the largest total a row can have; None where there is no limit.
    rows : tuple of int
        Training rows of positive weight in each group; empty if unknown.
    shares : tuple of float or None
        Weighted share of positive rows among them; None in a group without rows.

    Raises
    ------
    DataError
        If the parts do not fit together.
    """

    link: str = "logistic"
    scale: float = 1.0
    edges: tuple[Fraction, ...] = ()
    unit: Fraction | None = Fraction(1)
    least: Fraction | None = None
    most: Fraction | None = None
    rows: tuple[int, ...] = ()
    shares: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        exact = {name: getattr(self, name) for name in ("unit", "least", "most")}
        settle(
            self,
            scale=float(self.scale),
            edges=tuple(map(as_fraction, self.edges)),
            rows=tuple(map(int, self.rows)),
            shares=tuple(None if share is None else float(share) for share in self.shares),
            **{name: None if end is None else as_fraction(end) for name, end in exact.items()},
        )
        if self.link not in LINKS:
            raise DataError(f"unknown link {self.link!r} of a risk; there are {sorted(LINKS)}")
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise DataError(f"the scale of a risk must be finite and > 0, not {self.scale!r}")
        if any(a >= b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise DataError("the edges of a risk table must ascend")
        if self.unit is not None and self.unit <= 0:
            raise DataError(f"the unit of the totals must be positive, not {self.unit}")
        for counted in (self.rows, self.shares):
            if counted and len(counted) != len(self.edges) + 1:
                raise DataError(
                    f"{len(self.edges)} edges part totals into {len(self.edges) + 1} groups, not "
                    f"{len(counted)}"
                )

    def risks(self, totals: FloatArray, rule: DecisionRule) -> FloatArray:
        """The risk of each total, above 1/2 exactly where the answer is positive.

        A tie has the risk 1/2; the next larger float is given for it, so that the more probable
        class is the one answered.

        Parameters
        ----------
        totals : ndarray of shape (n,)
        rule : DecisionRule
            The card's.

        Returns
        -------
        ndarray of shape (n,), in [0, 1]
        """
        values = np.asarray(totals, dtype=np.float64)
        risk = LINKS[self.link]((values - float(rule.threshold)) / self.scale)
        above = np.maximum(risk, np.nextafter(0.5, 1.0))
        return np.where(rule.positive(values), above, np.minimum(risk, 0.5))

    def group(self, totals: FloatArray) -> npt.NDArray[np.intp]:
        """The group of each total, shape (n,)."""
        # half a unit below the edge: rounding must not move a total across it
        shift = 0.0 if self.unit is None else float(self.unit) / 2
        edges = np.array([float(edge) for edge in self.edges]) - shift
        return np.searchsorted(edges, np.asarray(totals, dtype=np.float64), side="right")


def risk_lines(card: Scorecard, style: Style = PLAIN) -> tuple[tuple[str, ...], ...]:
    """The risk table: lines of a label and a cell for each group; empty for a card without risks.

    Everything is escaped for ``style``.
    """
    scale = card.risk
    if scale is None:
        return ()
    groups = [_closed(scale, *ends) for ends in pairwise((None, *scale.edges, None))]
    lines = [
        ("Total", *(_totals_text(scale, *group, style) for group in groups)),
        ("Risk", *(_risk_text(scale, card.rule, *group, style) for group in groups)),
    ]
    if scale.rows:
        shares = scale.shares or [None] * len(groups)
        observed = ("-" if each is None else style.escape(f"{each:.1%}") for each in shares)
        lines += [("Observed", *observed), ("Rows", *map(str, scale.rows))]
    return tuple(lines)


def _closed(scale: RiskScale, lower: End, upper: End) -> tuple[End, End]:
    """The first and the last total of a group; on no grid the last is its open end."""
    if upper is not None and scale.unit is not None:
        upper -= scale.unit
    # a group at the end of what is possible that holds one total needs no "or less"
    if lower is None and scale.least == (scale.most if upper is None else upper):
        lower = scale.least
    if upper is None and lower == scale.most:
        upper = scale.most
    return lower, upper


def _totals_text(scale: RiskScale, lower: End, upper: End, style: Style) -> str:
    """The totals of a group in signs."""
    low, high = ("" if end is None else number(float(end)) for end in (lower, upper))
    less = f"{style.less} " if scale.unit is None else ""
    if not low:
        return f"{less or style.at_most + ' '}{high}" if high else "any"
    if not high:
        return f"{style.at_least} {low}"
    return low if lower == upper else f"{low} to {less}{high}"


def _risk_text(scale: RiskScale, rule: DecisionRule, lower: End, upper: End, style: Style) -> str:
    """The risks of a group: one figure, two ends, or an open end."""
    ends = np.array([float(end) for end in (lower, upper) if end is not None])
    risks = scale.risks(ends, rule).tolist()
    shown = [_percent(risk, style) for risk in risks]
    if not shown:
        return "any"
    if len(shown) == 1:
        # the figure of next to nothing, or to everything, says "less" or "more" by itself
        sign = style.at_most if lower is None else style.at_least
        return f"{sign} {shown[0]}" if _TINY <= risks[0] < 1 - _TINY else shown[0]
    low, high = shown
    return low if low == high else f"{low.removesuffix(style.escape('%'))} to {high}"


def _percent(risk: float, style: Style) -> str:
    """A risk in per cent, never written as a certainty."""
    if risk < _TINY:
        return f"{style.less} " + style.escape("0.1%")
    if risk >= 1 - _TINY:
        return f"{style.more} " + style.escape("99.9%")
    return style.escape(f"{risk:.1%}")


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
    """
    if (link := link_of(loss)) is None or not isinstance(loss, RiskLoss):
        return None
    least, most = attainable(card)
    scale = RiskScale(link, loss.scale, unit=_unit(card), least=least, most=most)
    counted = design.weight > 0
    totals = card.score_design(design.X)[counted]
    scale = replace(scale, edges=_edges(card, scale, totals))
    return _observed(scale, totals, design.y[counted] > 0, design.weight[counted])


def attainable(card: Scorecard) -> tuple[Fraction | None, Fraction | None]:
    """The smallest and the largest total any row can have; None where a number is unlimited."""
    if any(not column.is_indicator for column in _counting(card)):
        return None, None
    ends = [_feature_ends(card, feature) for feature in card.used_features]
    return Fraction(sum(low for low, _ in ends)), Fraction(sum(high for _, high in ends))


def _counting(card: Scorecard) -> list[Any]:
    """The columns that have points."""
    return [column for column, w in zip(card.columns, card.points, strict=True) if w]


def _feature_ends(card: Scorecard, feature: Feature) -> tuple[int, int]:
    """The least and the most points of one raw feature of indicators."""
    steps = [j for j in feature.outside if card.columns[j].kind == "step"]
    ascending = sorted(steps, key=lambda j: card.columns[j].lower)
    reached = accumulate(card.points[j] for j in ascending)
    others = [card.points[j] for j in feature.outside if j not in steps]
    # exactly one bin of a block applies
    choices = [[card.points[j] for j in block] for block in feature.blocks]
    choices.append([0, *others, *reached])
    return sum(map(min, choices)), sum(map(max, choices))


def _unit(card: Scorecard) -> Fraction | None:
    """What totals are multiples of: the grid of the used columns times the points' divisor."""
    whole = all(column.is_indicator for column in _counting(card))
    step = Fraction(1) if whole else card.rule.step
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


def round_up(width: float) -> Fraction:
    """The next 1, 2 or 5 times a power of ten."""
    power = Fraction(10) ** math.floor(math.log10(width))
    return next(power * k for k in (1, 2, 5, 10) if float(power * k) >= width * (1 - 1e-9))


def _even_edges(card: Scorecard, low: float, high: float) -> tuple[Fraction, ...]:
    """Edges at round distances from the threshold, for totals on no grid."""
    if not high > low:
        return (card.threshold,)
    width = round_up((high - low) / (MAX_RANGES - 2))
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


Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

COLUMNS = ("total", "risk", "observed", "lower", "upper", "rows", "positives", "weight")


def calibration_table(
    card: Scorecard,
    totals: npt.ArrayLike,
    positive: npt.ArrayLike,
    sample_weight: Any = None,
    *,
    min_rows: int = 1,
) -> pd.DataFrame:
    """The stated risk and the observed share of each total.

    Parameters
    ----------
    card : Scorecard
    totals : array of shape (n,)
        Of :meth:`Scorecard.score`, of training rows or others.
    positive : array of bool, shape (n,)
        Whether each row is of the positive class.
    sample_weight : array of shape (n,), optional
        Rows of weight zero are left out.
    min_rows : int
        Neighbouring totals are put together until a line has so many rows; ``total`` and ``risk``
        then are weighted means.

    Returns
    -------
    DataFrame
        Sorted by ``total``. ``risk`` is NaN for a card without risks; ``observed`` is the weighted
        share of positive rows, ``lower`` and ``upper`` its 95 % interval (:func:`wilson`, with
        (sum s)^2 / sum s^2 rows where weights differ), ``rows`` and ``positives`` count rows.

    Raises
    ------
    DataError
        If the arrays differ in length, or the weights cannot be used.
    """
    values = np.asarray(totals, dtype=np.float64)
    hit = np.asarray(positive, dtype=bool)
    if values.ndim != 1 or values.shape != hit.shape:
        raise DataError(
            f"totals and positive are vectors of one length, not {values.shape} and {hit.shape}"
        )
    weight = row_weights(sample_weight, len(values))
    kept = weight > 0
    values, hit, weight = values[kept], hit[kept], weight[kept]
    risk = np.full(len(values), np.nan) if card.risk is None else card.risks(values)
    line = _lines(values, min_rows)

    def added(amount: FloatArray) -> FloatArray:
        return np.bincount(line, weights=amount).astype(np.float64)

    mass = added(weight)
    share = added(weight * hit) / mass
    lower, upper = wilson(share, mass**2 / added(weight**2))
    rows = np.bincount(line)
    return pd.DataFrame(
        {
            "total": np.where(rows == 1, added(values), added(weight * values) / mass),
            "risk": added(weight * risk) / mass,
            "observed": share,
            "lower": lower,
            "upper": upper,
            "rows": rows,
            "positives": np.bincount(line[hit], minlength=len(rows)),
            "weight": mass,
        },
        columns=list(COLUMNS),
    )


def wilson(share: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilson's 95 % interval of a proportion."""
    spread = Z95**2 / rows
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(np.maximum(share * (1 - share), 0.0) * spread + spread**2 / 4) / (1 + spread)
    return np.clip(centre - half, 0.0, share), np.clip(centre + half, share, 1.0)


def _lines(totals: FloatArray, min_rows: int) -> npt.NDArray[np.intp]:
    """The line of each row: equal totals together, sparse ones with their neighbours."""
    distinct, where, counts = np.unique(totals, return_inverse=True, return_counts=True)
    line = np.zeros(len(distinct), dtype=np.intp)
    current, held = 0, 0
    for k, count in enumerate(counts.tolist()):
        line[k], held = current, held + count
        if held >= min_rows:
            current, held = current + 1, 0
    if held and current:  # too few rows are left over at the end: they join the line before
        line[line == current] = current - 1
    return np.asarray(line[where], dtype=np.intp)
