"""A card as a nomogram: points above, a scale per feature, the total and its risk below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.errors import NotApplicableError
from milpscore.scorecard.rendering import attainable_totals, least_positive, number
from milpscore_show.plots.drawing import PALETTE, axes, styled, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milpscore.scorecard import Scorecard

Marks = list[tuple[float, str]]
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@styled
def nomogram(card: Scorecard, ax: Axes | None = None) -> Axes:
    """Draw a card as a nomogram.

    Read the points of each value off the scale on top, add them up, and find the total and its
    risk on the scales at the bottom.

    Parameters
    ----------
    card : Scorecard

    Raises
    ------
    NotApplicableError
        No feature has points, or one counts by the unit: its totals have no ends.
    """
    from matplotlib.ticker import MaxNLocator

    totals = attainable_totals(card)
    if not card.rows or totals is None:
        why = "has no points" if not card.rows else "counts a number by the unit"
        raise NotApplicableError(f"the card {why}: a nomogram needs lines with points")
    scales = [
        (rows[0].feature, [(float(row.points), row.condition) for row in rows])
        for lines in card.lines if lines.printed
        for rows in [[row for row in lines.everything if row.points or row.kind != "missing"]]
    ]  # fmt: skip
    points = [0.0, *(at for _, marks in scales for at, _ in marks)]
    low, high = min(points), max(points)
    first, last = float(totals[0]), float(totals[-1])

    def placed(total: float) -> float:
        """Where a total stands below the points."""
        return low + (total - first) / max(last - first, 1.0) * (high - low)

    ticks = MaxNLocator(14, integer=True).tick_values
    drawn: list[tuple[str, Marks]] = [
        ("Points", [(at, number(at)) for at in ticks(low, high) if low <= at <= high]), *scales,
        ("Total", [(placed(at), number(at)) for at in ticks(first, last) if first <= at <= last]),
    ]  # fmt: skip
    if card.risk is not None:
        fine = np.linspace(first, last, 2001)
        at = np.interp(_SHARES, card.risks(fine), fine, left=np.nan, right=np.nan).tolist()
        found = zip(at, _SHARES, strict=True)
        drawn.append(("Risk", [(placed(a), f"{s:.0%}") for a, s in found if np.isfinite(a)]))
    ax = axes(ax)
    for row, (name, marks) in enumerate(drawn):
        if marks:
            _scale(ax, row, name, marks)
    if first < float(card.rule.cut) <= last:  # positive from here on
        cut = placed(float(least_positive(card)))
        ax.plot([cut, cut], [len(scales) + 0.6, len(drawn) - 0.5], color=PALETTE[1], linewidth=1.4)
    ax.set_ylim(len(drawn) - 0.3, -0.7)
    ax.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    ax.axis("off")
    ax.set_title(wrapped(card.title, 70))
    return ax


def _scale(ax: Axes, row: int, name: str, marks: Marks) -> None:
    """One horizontal scale with its name on the left; labels of equal points share a tick."""
    shared: dict[float, list[str]] = {}
    for at, says in marks:
        shared.setdefault(at, []).append(says)
    places = sorted(shared)
    ax.plot([places[0], places[-1]], [row, row], color="0.2", linewidth=1.0, solid_capstyle="butt")
    for k, at in enumerate(places):
        side = 1 if k % 2 else -1  # neighbours do not meet
        ax.plot([at, at], [row, row + 0.12 * side], color="0.2", linewidth=0.9)
        ax.annotate(
            wrapped("\n".join(shared[at]), 22), (at, row + 0.15 * side), ha="center",
            va="top" if side > 0 else "bottom", fontsize="small", annotation_clip=False,
        )  # fmt: skip
    ax.annotate(
        wrapped(name, 26), (0, row), xycoords=("axes fraction", "data"), xytext=(-8, 0),
        textcoords="offset points", ha="right", va="center", annotation_clip=False,
    )  # fmt: skip
