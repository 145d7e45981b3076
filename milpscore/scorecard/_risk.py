"""Risks: what a total means as a probability, and the totals a printed card lists."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from milpscore.core.card import DecisionRule
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError
from milpscore.core.grid import as_fraction
from milpscore.losses import LINKS
from milpscore.scorecard._rows import PLAIN, Style, number

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

_TINY = 0.0005


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
        values = {
            "scale": float(self.scale),
            "edges": tuple(as_fraction(edge) for edge in self.edges),
            "unit": None if self.unit is None else as_fraction(self.unit),
            "least": None if self.least is None else as_fraction(self.least),
            "most": None if self.most is None else as_fraction(self.most),
            "rows": tuple(int(count) for count in self.rows),
            "shares": tuple(None if share is None else float(share) for share in self.shares),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
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


@dataclass(frozen=True)
class RiskColumn:
    """One printed column: totals, their risk, and what was observed, as text."""

    totals: str
    risk: str
    observed: str
    rows: str


def risk_columns(card: Scorecard, style: Style = PLAIN) -> tuple[RiskColumn, ...]:
    """The columns of the risk table, escaped for ``style``; empty for a card without risks.

    Parameters
    ----------
    card : Scorecard
    style : Style

    Returns
    -------
    tuple of RiskColumn, at most :data:`milpscore.scorecard._risk_groups.MAX_GROUPS`
    """
    scale = card.risk
    if scale is None:
        return ()
    bounds = (None, *scale.edges, None)
    columns = []
    for k in range(len(scale.edges) + 1):
        lower, upper = _closed(scale, bounds[k], bounds[k + 1])
        share = scale.shares[k] if scale.shares else None
        columns.append(
            RiskColumn(
                totals=_totals_text(scale, lower, upper, style),
                risk=_risk_text(scale, card.rule, lower, upper, style),
                observed="-" if share is None else style.escape(f"{share:.1%}"),
                rows=str(scale.rows[k]) if scale.rows else "-",
            )
        )
    return tuple(columns)


def risk_lines(card: Scorecard, style: Style = PLAIN) -> tuple[tuple[str, ...], ...]:
    """The risk table line by line, each a label and its cells, escaped for ``style``.

    Parameters
    ----------
    card : Scorecard
    style : Style

    Returns
    -------
    tuple of tuples of str
        Totals, risks and, where training rows were counted, observed shares and rows; empty for a
        card without risks.
    """
    columns = risk_columns(card, style)
    if card.risk is None:
        return ()
    lines = [
        ("Total", *(column.totals for column in columns)),
        ("Risk", *(column.risk for column in columns)),
    ]
    if card.risk.rows:
        lines += [
            ("Observed", *(column.observed for column in columns)),
            ("Rows", *(column.rows for column in columns)),
        ]
    return tuple(lines)


def _closed(
    scale: RiskScale, lower: Fraction | None, upper: Fraction | None
) -> tuple[Fraction | None, Fraction | None]:
    """The first and the last total of a group; on no grid the last is its open end."""
    if upper is not None and scale.unit is not None:
        upper -= scale.unit
    # a group at the end of what is possible that holds one total needs no "or less"
    if lower is None and scale.least == (scale.most if upper is None else upper):
        lower = scale.least
    if upper is None and lower == scale.most:
        upper = scale.most
    return lower, upper


def _totals_text(
    scale: RiskScale, lower: Fraction | None, upper: Fraction | None, style: Style
) -> str:
    """The totals of a group in signs."""
    low, high = (None if end is None else number(float(end)) for end in (lower, upper))
    if low is None and high is None:
        return "any"
    if low is None:
        return f"{style.less if scale.unit is None else style.at_most} {high}"
    if high is None:
        return f"{style.at_least} {low}"
    if lower == upper:
        return low
    return f"{low} to {style.less} {high}" if scale.unit is None else f"{low} to {high}"


def _risk_text(
    scale: RiskScale,
    rule: DecisionRule,
    lower: Fraction | None,
    upper: Fraction | None,
    style: Style,
) -> str:
    """The risks of a group: one figure, two ends, or an open end."""
    if lower is None and upper is None:
        return "any"
    if lower is None or upper is None:
        risk = _risk_of(scale, rule, upper if lower is None else lower)
        if risk < _TINY or risk >= 1 - _TINY:  # its figure says "less" or "more" by itself
            return _percent(risk, style)
        return f"{style.at_most if lower is None else style.at_least} {_percent(risk, style)}"
    low, high = (_percent(_risk_of(scale, rule, end), style) for end in (lower, upper))
    return low if low == high else f"{low.removesuffix(style.escape('%'))} to {high}"


def _risk_of(scale: RiskScale, rule: DecisionRule, total: Fraction | None) -> float:
    """The risk of one total; of none, where there is none."""
    return math.nan if total is None else float(scale.risks(np.array([float(total)]), rule)[0])


def _percent(risk: float, style: Style) -> str:
    """A risk in per cent, never written as a certainty."""
    if risk < _TINY:
        return f"{style.less} " + style.escape("0.1%")
    if risk >= 1 - _TINY:
        return f"{style.more} " + style.escape("99.9%")
    return style.escape(f"{risk:.1%}")
