"""Risks: what a total means as a probability, how it is printed, and what was observed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.card import DecisionRule
from milpscore.core.design import FloatArray, as_fraction
from milpscore.core.errors import DataError
from milpscore.data.checking import row_weights
from milpscore.losses import LINKS
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import number, settle

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard


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
    whole : bool
        Whether each group is one total: the first is ``least``, of the others their edge.
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
    whole: bool = False

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

    def lines(self, rule: DecisionRule) -> tuple[tuple[str, ...], ...]:
        """The risk table: lines of a label and a cell for each group."""
        groups = [_closed(self, *ends) for ends in pairwise((None, *self.edges, None))]
        lines = [
            ("Total", *(_totals_text(self, *group) for group in groups)),
            ("Risk", *(_risk_text(self, rule, *group) for group in groups)),
        ]
        if self.rows:
            shares = self.shares or [None] * len(groups)
            observed = ("–" if each is None else f"{each:.1%}" for each in shares)
            lines += [("Observed", *observed), ("Rows", *map(str, self.rows))]
        return tuple(lines)


def _closed(scale: RiskScale, lower: End, upper: End) -> tuple[End, End]:
    """The first and the last total of a group; on no grid the last is its open end."""
    if scale.whole:
        lower = scale.least if lower is None else lower
        return lower, lower
    if upper is not None and scale.unit is not None:
        upper -= scale.unit
    # a group at the end of what is possible that holds one total needs no "or less"
    if lower is None and scale.least == (scale.most if upper is None else upper):
        lower = scale.least
    if upper is None and lower == scale.most:
        upper = scale.most
    return lower, upper


def _totals_text(scale: RiskScale, lower: End, upper: End) -> str:
    """The totals of a group in signs."""
    low, high = ("" if end is None else number(float(end)) for end in (lower, upper))
    less = "< " if scale.unit is None else ""
    if not low:
        return f"{less or '≤ '}{high}" if high else "any"
    if not high:
        return f"≥ {low}"
    return low if lower == upper else f"{low} to {less}{high}"


def _risk_text(scale: RiskScale, rule: DecisionRule, lower: End, upper: End) -> str:
    """The risks of a group: one figure, two ends, or an open end."""
    ends = np.array([float(end) for end in (lower, upper) if end is not None])
    risks = scale.risks(ends, rule).tolist()
    shown = [_percent(risk) for risk in risks]
    if not shown:
        return "any"
    if len(shown) == 1:
        # the figure of next to nothing, or to everything, says "less" or "more" by itself
        sign = "≤" if lower is None else "≥"
        near = POLICY.certain
        return f"{sign} {shown[0]}" if near <= risks[0] < 1 - near else shown[0]
    low, high = shown
    return low if low == high else f"{low.removesuffix('%')} to {high}"


def _percent(risk: float) -> str:
    """A risk in per cent, never written as a certainty."""
    if risk < POLICY.certain:
        return "< 0.1%"
    return "> 99.9%" if risk >= 1 - POLICY.certain else f"{risk:.1%}"


Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


def calibration_table(
    card: Scorecard,
    totals: npt.ArrayLike,
    positive: npt.ArrayLike,
    sample_weight: Any = None,
    *,
    min_rows: int = 1,
    counts: Any = None,
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
        Neighbouring totals are put together until a line has as many rows; ``total`` and ``risk``
        then are weighted means.
    counts : array of int, shape (n,), optional
        How many rows each one stands for (``Design.rows``); by default itself.

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
    count = np.ones(len(values)) if counts is None else np.asarray(counts, dtype=np.float64)
    values, hit, weight, count = values[kept], hit[kept], weight[kept], count[kept]
    risk = np.full(len(values), np.nan) if card.risk is None else card.risks(values)
    line = _lines(values, count, min_rows)

    def added(amount: FloatArray) -> FloatArray:
        return np.bincount(line, weights=amount).astype(np.float64)

    mass = added(weight)
    share = added(weight * hit) / mass
    lower, upper = wilson(share, mass**2 / added(weight**2 / count))
    rows = added(count).astype(np.int64)
    single = np.bincount(line) == 1
    return pd.DataFrame(
        {
            "total": np.where(single, added(values), added(weight * values) / mass),
            "risk": added(weight * risk) / mass,
            "observed": share,
            "lower": lower,
            "upper": upper,
            "rows": rows,
            "positives": added(count * hit).astype(np.int64),
            "weight": mass,
        }
    )


def wilson(share: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilson's 95 % interval of a proportion."""
    spread = Z95**2 / rows
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(np.maximum(share * (1 - share), 0.0) * spread + spread**2 / 4) / (1 + spread)
    return np.clip(centre - half, 0.0, share), np.clip(centre + half, share, 1.0)


def _lines(totals: FloatArray, count: FloatArray, min_rows: int) -> npt.NDArray[np.intp]:
    """The line of each row: equal totals together, sparse ones with their neighbours."""
    distinct, where = np.unique(totals, return_inverse=True)
    counts = np.bincount(where, weights=count)
    line = np.zeros(len(distinct), dtype=np.intp)
    current, held = 0, 0
    for k, own in enumerate(counts.tolist()):
        line[k], held = current, held + own
        if held >= min_rows:
            current, held = current + 1, 0
    if held and current:  # too few rows are left over at the end: they join the line before
        line[line == current] = current - 1
    return np.asarray(line[where], dtype=np.intp)
