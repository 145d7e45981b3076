"""What a risk score states beside what was observed, total by total."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.errors import NotApplicableError
from milpscore.plots.drawing import PALETTE, axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


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
    ax : Axes, optional
        Default: the current one.
    title : str

    Returns
    -------
    Axes

    Raises
    ------
    NotApplicableError
        Where the table is another one.
    """
    missing = {"total", "risk", "observed", "lower", "upper", "rows"} - set(table.columns)
    if missing:
        raise NotApplicableError(
            f"this is no calibration table, it lacks {', '.join(sorted(missing))}: pass "
            "risk_table_ or what calibration_table returns"
        )
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    ax = axes(ax)
    total, share = table["total"].to_numpy(float), table["observed"].to_numpy(float)
    reach = np.abs(np.stack([share - table["lower"], table["upper"] - share]))
    rows = table["rows"].to_numpy(float)
    ax.axhline(0.5, color="0.8", linewidth=0.8, zorder=0)
    if table["risk"].notna().all():
        mark = "." if len(total) <= 12 else ""
        style: dict[str, Any] = {"color": PALETTE[0], "linewidth": 1.6, "marker": mark}
        ax.plot(total, table["risk"], label="risk stated by the card", **style)
    ax.errorbar(
        total, share, yerr=reach, fmt="none", ecolor="0.55", elinewidth=1.0, capsize=2.0, zorder=2
    )
    ax.scatter(
        total,
        share,
        s=14 + 110 * rows / rows.max(),
        color=PALETTE[1],
        edgecolor="white",
        linewidth=0.6,
        zorder=3,
        label="observed share, 95 % interval (area: rows)",
    )
    if len(total) == 1:
        ax.set_xlim(total[0] - 1, total[0] + 1)
    ax.set_ylim(-0.04, 1.04)
    ax.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    if np.array_equal(total, np.rint(total)):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("total (points)")
    ax.set_ylabel("positive")
    ax.set_title(title, loc="left", pad=22)
    ax.legend(
        frameon=False, fontsize="small", ncols=2, columnspacing=1.2, handlelength=1.4,
        loc="lower left", bbox_to_anchor=(0.0, 0.995), borderaxespad=0.2, borderpad=0.0,
    )  # fmt: skip
    tidy(ax)
    return ax
