"""A card's calibration, a pool of near-optimal cards, and the best card of every size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from milpscore.core.errors import NotApplicableError, OptionError
from milpscore_show.plots import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from milpscore.pools import Front, Pool, RiskIntervals

_CLAIMS = {"optimal": ("o", "proved"), "gap": ("D", "gap"), "feasible": ("s", "nothing proved")}


@drawing.styled
def calibration(table: DataFrame, ax: Axes | None = None, *, title: str = "Calibration") -> Axes:
    """The stated risk of each total as a line, the observed share with its interval as a point.

    The area of a point grows with its rows. Where a point's 95 % interval misses the line, the
    card states a risk these rows speak against. A card that only decides has points and no line.

    Parameters
    ----------
    table : DataFrame
        A calibration table: ``risk_table_`` of a risk score, its ``calibration_table(X, y)`` for
        held-out rows, or :func:`milpscore.scorecard.calibration_table`, whose ``min_rows`` puts
        sparse totals together.
    title : str

    Raises
    ------
    NotApplicableError
        Where the table is another one.
    """
    missing = {"total", "risk", "observed", "lower", "upper", "rows"} - set(table.columns)
    if missing:
        raise NotApplicableError(
            f"this is not a calibration table, it lacks {', '.join(sorted(missing))}: pass "
            "risk_table_ or what calibration_table returns"
        )
    ax = drawing.axes(ax)
    total, share = table["total"].to_numpy(float), table["observed"].to_numpy(float)
    reach = np.abs(np.stack([share - table["lower"], table["upper"] - share]))
    rows = table["rows"].to_numpy(float)
    ax.axhline(0.5, color="0.8", linewidth=0.8, zorder=0)
    if table["risk"].notna().all():
        mark = "." if len(total) <= 12 else ""
        style: dict[str, Any] = {"color": drawing.PALETTE[0], "linewidth": 1.6, "marker": mark}
        ax.plot(total, table["risk"], label="risk stated by the card", **style)
    ax.errorbar(
        total, share, yerr=reach, fmt="none", ecolor="0.55", elinewidth=1.0, capsize=2.0, zorder=2
    )
    ax.scatter(
        total, share, s=14 + 110 * rows / rows.max(), color=drawing.PALETTE[1], edgecolor="white",
        linewidth=0.6, zorder=3, label="observed share, 95 % interval (area: rows)",
    )  # fmt: skip
    if len(total) == 1:
        ax.set_xlim(total[0] - 1, total[0] + 1)
    ax.set_ylim(-0.04, 1.04)
    drawing.in_percent(ax.yaxis)
    if np.array_equal(total, np.rint(total)):
        drawing.in_whole_numbers(ax.xaxis)
    ax.legend(ncols=2, **drawing.LEGEND_ABOVE)
    return drawing.finish(ax, title, "total (points)", "positive", pad=22)


@drawing.styled
def instability(intervals: RiskIntervals, ax: Axes | None = None) -> Axes:
    """The stated risk of each distinct row, and what cards made again state for it.

    Each row is a thin line from the lower to the upper end, and the mean of a total's rows a thick
    one; with a pool a line spans its cards. The diagonal is the card itself (Riley and Collins
    2023).

    Parameters
    ----------
    intervals : RiskIntervals
        What :func:`milpscore.pools.risk_intervals` returns.
    """
    ax, rows, means = drawing.axes(ax), intervals.rows, intervals.totals
    asked = f"{intervals.level:.0%} of {len(intervals.samples.made)} cards made again"
    ax.vlines(
        rows["risk"], rows["lower"], rows["upper"], color="0.8", linewidth=1.0, zorder=1,
        label=f"a single row, {asked}",
    )  # fmt: skip
    ax.vlines(
        means["risk"], means["lower"], means["upper"], color=drawing.PALETTE[0], linewidth=4.5,
        label="mean of the rows of a total",
    )  # fmt: skip
    if "pool_least" in means:
        ax.vlines(
            means["risk"], means["pool_least"], means["pool_most"], color=drawing.PALETTE[1],
            linewidth=1.6, label="the same, all nearly best cards",
        )  # fmt: skip
    ax.plot([0, 1], [0, 1], color="0.3", linewidth=0.9, label="the card itself")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    drawing.in_percent(ax.xaxis, ax.yaxis)
    ax.legend(ncols=2, **drawing.LEGEND_ABOVE)
    return drawing.finish(
        ax, "Instability", "risk the card states", "risk stated by other cards", pad=36
    )


@drawing.styled
def loss_against_terms(front: Front, ax: Axes | None = None) -> Axes:
    """The best objective of every size, and down to where each is proved.

    Filled markers are cards that no smaller card equals, hollow ones are dominated; their shape is
    the claim. The dashed line is the bound, the band what is still open.

    Parameters
    ----------
    front : Front
        Of :func:`milpscore.pools.pareto`.

    Raises
    ------
    NotApplicableError
        Where no size has a card.
    """
    table = front.table
    table = table[table["claim"] != "none"]
    if not len(table):
        raise NotApplicableError("no size has a card to draw: raise the time limit")
    ax = drawing.axes(ax)
    colour = drawing.PALETTE[0]
    sizes, best = table["max_terms"].to_numpy(), table["objective"].to_numpy()
    proved = np.where(np.isfinite(table["bound"]), table["bound"], 0.0)
    ax.step(sizes, best, where="post", color=colour, linewidth=1.6, label="best card")
    ax.step(
        sizes, proved, where="post", color=colour, linewidth=1.4, linestyle="--",
        label="proven bound",
    )  # fmt: skip
    ax.fill_between(sizes, proved, best, step="post", color=colour, alpha=0.12, linewidth=0)
    for claim, (marker, words) in _CLAIMS.items():
        for dominated, fill in ((False, colour), (True, "white")):
            part = table[(table["claim"] == claim) & (table["dominated"] == dominated)]
            if len(part):
                ax.plot(
                    part["max_terms"], part["objective"], marker=marker, markersize=6,
                    color=colour, markerfacecolor=fill, linestyle="none", zorder=3,
                    label=words + (", dominated" if dominated else ""),
                )  # fmt: skip
    drawing.in_whole_numbers(ax.xaxis)
    ax.legend()
    name = next(iter(front.results.values())).formulation
    title = f"{drawing.spaced(name)}: the best card of every size"
    return drawing.finish(ax, title, "terms allowed", "objective")


@drawing.styled
def points_over_pool(
    pool: Pool,
    ax: Axes | None = None,
    *,
    by: Literal["column", "feature"] = "column",
    max_columns: int = 15,
) -> Axes:
    """The points each column has over the cards of a pool.

    A bar runs from the least to the most points, its shade is the share of cards that use the
    column, and the dot is the best card's points.

    Parameters
    ----------
    pool : Pool
        Of :func:`milpscore.pools.pool`.
    by : {"column", "feature"}
        A bar for each design column, or one for all columns of a raw feature (without the dot).
    max_columns : int
        Only ``most`` are drawn, those that most cards use; the axis counts the others.

    Raises
    ------
    OptionError
    NotApplicableError
        For a pool without cards.
    """
    if by not in ("column", "feature"):
        raise OptionError(f"by must be 'column' or 'feature', got {by!r}")
    if max_columns < 1:
        raise OptionError(f"max_columns must be at least 1, got {max_columns!r}")
    if not pool.cards:
        raise NotApplicableError(f"there is no card to draw: {pool.missing}")
    ax = drawing.axes(ax)
    ranges = pool.importance if by == "column" else pool.feature_importance
    ranges = ranges.assign(best=pool.points[0] if by == "column" else np.nan)
    used = ranges[ranges["share"] > 0].sort_values("share", ascending=False, kind="stable")
    shown = used.head(max_columns)
    at = np.arange(len(shown))
    for row, (_, values) in zip(at, shown.iterrows(), strict=True):
        low, high = values["min_points"], values["max_points"]
        ax.barh(
            row, high - low, left=low, height=0.55, color=drawing.PALETTE[0],
            alpha=0.15 + 0.6 * values["share"], linewidth=0,
        )  # fmt: skip
        ax.vlines([low, high], row - 0.275, row + 0.275, color=drawing.PALETTE[0], linewidth=1.6)
        ax.annotate(
            _percent(values["share"]), (1.0, row), xycoords=("axes fraction", "data"),
            xytext=(4, 0), textcoords="offset points", va="center", fontsize="small",
        )  # fmt: skip
    if by == "column" and len(shown):
        ax.plot(
            shown["best"], at, marker="o", markersize=5, color=drawing.PALETTE[1], linestyle="none",
            label="best card",
        )  # fmt: skip
        ax.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, borderpad=0.0
        )  # fmt: skip
    if len(shown):
        low, high = shown["min_points"].min(), shown["max_points"].max()
        ax.set_xlim(min(low, 0) - 0.5, max(high, 0) + 0.5)
    drawing.name_rows(ax, [*map(str, shown.index)], "no card has points")
    more = len(used) - len(shown)
    known = "all" if pool.complete else "some of the"
    title = f"Points over {known} {len(pool)} cards within {pool.epsilon:.3g}"
    words = "points; at the right: share of the cards that use it"
    return drawing.finish(ax, title, words + (f"\n{more} more not shown" if more else ""), "")


def _percent(share: float) -> str:
    """A share above 0 in percent: 100 % means every card."""
    return "<1%" if share < 0.01 else f"{math.floor(100 * share + 1e-9)}%"
