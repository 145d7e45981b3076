"""Figures of the experiments on credibility: EYE beside the naive penalty and its rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.errors import NotApplicableError
from milpscore.plots.drawing import PALETTE, axes, spaced, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from experiments.eye.figure2 import EyeFigure2
    from experiments.eye.figure4 import EyeFigure4
    from experiments.eye.table2 import EyeTable

_METHODS = ("eye", "weighted_l1", "weighted_l2", "l1", "elastic_net", "owl")
_NAMES = {"eye": "EYE", "owl": "OWL", "l1": "L1", "weighted_l1": "weighted L1"}
_NAMES |= {"weighted_l2": "weighted L2"}
_MARKERS = ("o", "s", "^", "D", "v", "X")
_MOST_RATIO = 5.0
_NORMAL_95 = 1.96


def credibility_figure(found: EyeFigure2 | EyeFigure4 | EyeTable) -> Figure:
    """Draw what `the experiments` found about credibility, on a figure of its own.

    Parameters
    ----------
    found : EyeFigure2, EyeFigure4 or EyeTable

    Returns
    -------
    Figure

    Raises
    ------
    NotApplicableError
        For anything else.
    """
    import matplotlib.pyplot as plt

    from experiments.eye.figure2 import EyeFigure2
    from experiments.eye.figure4 import EyeFigure4
    from experiments.eye.table2 import EyeTable

    if isinstance(found, EyeFigure2):
        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
        log_ratios(found, left)
        twin_accuracy(found, right)
    elif isinstance(found, EyeFigure4):
        figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
        group_credibility(found, ax)
    elif isinstance(found, EyeTable):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(10, 3.8), sharey=True, layout="constrained"
        )
        method_credibility(found, left)
        method_auc(found, right)
        right.set_ylabel("")
    else:
        raise NotApplicableError(
            f"{type(found).__name__} is no finding on credibility: pass what a function of "
            "milpscore.study returned"
        )
    return figure


def log_ratios(found: EyeFigure2, ax: Axes | None = None) -> Axes:
    """Draw log |known / unknown| over lam, one line a penalty: above 0 is credible.

    Lines are medians over the runs. Ratios beyond 5 either way, infinite ones too, are drawn at 5;
    null models have no ratio.

    Parameters
    ----------
    found : EyeFigure2
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Figure 2a.
    """
    ax = axes(ax)
    table = found.runs.assign(
        log_ratio=found.runs["log_ratio"].clip(lower=-_MOST_RATIO, upper=_MOST_RATIO)
    )
    _draw_curves(ax, table, "log_ratio")
    ax.axhline(0, color="0.3", linewidth=0.8, zorder=0)
    ax.set_ylim(-_MOST_RATIO * 1.06, _MOST_RATIO * 1.06)
    ticks = np.arange(-4, 5, 2).tolist()
    ax.set_yticks(
        [-_MOST_RATIO, *ticks, _MOST_RATIO],
        [f"-{_MOST_RATIO:g} or less", *map(str, ticks), f"{_MOST_RATIO:g} or more"],
    )
    ax.set_ylabel("log |known / unknown|")
    ax.set_title("Weight of the known twin", loc="left")
    return ax


def twin_accuracy(found: EyeFigure2, ax: Axes | None = None) -> Axes:
    """Draw the mean accuracy over lam, one line a penalty.

    Parameters
    ----------
    found : EyeFigure2
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Figure 2b.
    """
    ax = axes(ax)
    _draw_curves(ax, found.runs, "accuracy")
    ax.set_ylabel("accuracy on new rows")
    ax.set_title("Accuracy", loc="left")
    ax.legend(loc="lower right", fontsize="small", frameon=False, ncols=2)
    return ax


def group_credibility(found: EyeFigure4, ax: Axes | None = None) -> Axes:
    """Draw the mean symmetric KL of each group, one line a method, with 95 % intervals.

    Parameters
    ----------
    found : EyeFigure4
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Figure 4.
    """
    ax = axes(ax)
    labels = found.summary[found.label].to_numpy(dtype=np.float64)
    # intervals of several methods side by side rather than on top of one another
    width = float(np.diff(labels).min()) * 0.5 if len(labels) > 1 else 0.5
    for at, method in enumerate(_METHODS):
        part = found.runs[found.runs["method"] == method].groupby(found.label)["sym_kl"]
        reach = _NORMAL_95 * (part.std() / np.sqrt(part.count())).fillna(0.0)
        shift = width * (at / (len(_METHODS) - 1) - 0.5)
        ax.errorbar(
            labels + shift, part.mean(), yerr=reach, color=PALETTE[at], marker=_MARKERS[at],
            markersize=5, linewidth=1.2, elinewidth=0.8, capsize=0, label=_named(method),
        )  # fmt: skip
    ax.set_xticks(labels)
    # a divergence is not negative, though an interval around its mean may reach below 0
    ax.set_ylim(bottom=-0.03 * ax.get_ylim()[1])
    ax.set_xlabel(found.label)
    ax.set_ylabel("symmetric KL (less is more credible)")
    count = found.runs["run"].nunique()
    ax.set_title(f"Credibility by group, mean of {count} runs", loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
    tidy(ax)
    return ax


def method_credibility(found: EyeTable, ax: Axes | None = None) -> Axes:
    """Draw the summed symmetric KL of each method beside the printed one.

    Dots are means with their 95 % intervals, hollow diamonds the paper's means.

    Parameters
    ----------
    found : EyeTable
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 2.
    """
    ax = axes(ax)
    _draw_rows(ax, found.summary, "sym_kl")
    ax.set_xscale("log")
    ax.set_xlabel("summed symmetric KL (less is more credible)")
    ax.set_title("Credibility", loc="left")
    ax.legend(loc="best", fontsize="small", frameon=False)
    return ax


def method_auc(found: EyeTable, ax: Axes | None = None) -> Axes:
    """Draw the AUC of each method on the test rows beside the printed one.

    Parameters
    ----------
    found : EyeTable
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 2.
    """
    ax = axes(ax)
    _draw_rows(ax, found.summary, "auc")
    ax.set_xlabel("AUC")
    ax.set_title(f"AUC, {int(found.summary['runs'].max())} runs", loc="left")
    return ax


def _draw_curves(ax: Axes, table: DataFrame, column: str) -> None:
    """One line a penalty over lam, the penalty growing weaker to the right; EYE on top."""
    import matplotlib as mpl

    betas = np.sort(table["beta"].dropna().unique())
    shades = mpl.colormaps["viridis"](np.linspace(0.9, 0.15, len(betas)))
    # a median needs no finite neighbours, a mean of accuracies uses all of its runs
    rule = "median" if column == "log_ratio" else "mean"
    for beta, shade in zip(betas, shades, strict=True):
        line = table[table["beta"] == beta].groupby("lam")[column].agg(rule)
        ax.plot(
            line.index, line, color=shade, linewidth=1.3, marker=".", markersize=4,
            label=f"naive {beta:g}",
        )  # fmt: skip
    line = table[table["penalty"] == "eye"].groupby("lam")[column].agg(rule)
    ax.plot(line.index, line, color=PALETTE[1], linewidth=2.4, linestyle="--", label="EYE")
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel("lam")
    tidy(ax)


def _draw_rows(ax: Axes, summary: DataFrame, column: str) -> None:
    """Means with 95 % intervals, a row a method, the first at the top."""
    rows = np.arange(len(summary))
    reach = _NORMAL_95 * (summary[f"{column}_stdev"] / np.sqrt(summary["runs"])).fillna(0.0)
    for at, method in enumerate(summary["method"]):
        ax.errorbar(
            summary[column].iloc[at], at, xerr=reach.iloc[at], fmt="o", capsize=3,
            color=PALETTE[_METHODS.index(method)], label="here" if at == 0 else None,
        )  # fmt: skip
    ax.plot(
        summary[f"paper_{column}"], rows, linestyle="none", marker="D", markersize=7,
        markerfacecolor="none", color="0.35", label="printed",
    )  # fmt: skip
    ax.set_yticks(rows, [_named(method) for method in summary["method"]])
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
    ax.grid(axis="x", color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    tidy(ax)


def _named(method: str) -> str:
    return _NAMES.get(method, spaced(method))
