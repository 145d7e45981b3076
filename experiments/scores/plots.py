"""Figures of score learning: how the totals of two classes part, and points beside DiaRem's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.plots.drawing import PALETTE, axes, spaced, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from experiments.scores.learning import ScoreLearning
    from experiments.scores.recovery import DiaremRecovery

_WIDTH, _HEIGHT = 4.6, 3.3


def score_figure(found: ScoreLearning | DiaremRecovery) -> Figure:
    """Draw the totals of either class for each learnt score, on a figure of its own.

    Parameters
    ----------
    found : ScoreLearning or DiaremRecovery

    Returns
    -------
    Figure

    Raises
    ------
    NotApplicableError
        For anything else.
    """
    import matplotlib.pyplot as plt

    from experiments.scores.learning import ScoreLearning
    from experiments.scores.recovery import DiaremRecovery

    if isinstance(found, ScoreLearning):
        sets = list(dict.fromkeys(name for name, _ in found.cards))
        size = (2 * _WIDTH, _HEIGHT * len(sets))
        figure, every = plt.subplots(
            len(sets), 2, figsize=size, squeeze=False, layout="constrained"
        )
        for ax, (name, method) in zip(every.flat, found.cards, strict=True):
            separator = float(found.cards[name, method].threshold)
            score_histogram(found.totals[name, method], separator, ax)
            ax.set_title(f"{name}, {spaced(method)}", loc="left")
        every[0, 0].legend(loc="best", fontsize="small", frameon=False)
    elif isinstance(found, DiaremRecovery):
        figure, every = plt.subplots(2, 3, figsize=(3 * _WIDTH, 2 * _HEIGHT), layout="constrained")
        for ax, name in zip(every.flat, found.cards, strict=False):
            score_histogram(found.totals[name], float(found.cards[name].threshold), ax)
            ax.set_title("DiaRem" if name == "diarem" else f"learnt: {spaced(name)}", loc="left")
        every[0, 0].legend(
            *every[0, 0].get_legend_handles_labels(), loc="best", fontsize="small", frameon=False
        )
        recovered_points(found, every[1, 1])
        recovery_by_size(found, every[1, 2])
    else:
        raise NotApplicableError(
            f"{type(found).__name__} is no finding on scores: pass what score_learning or "
            "diarem_recovery of milpscore.study returned"
        )
    return figure


def score_histogram(totals: DataFrame, separator: float, ax: Axes | None = None) -> Axes:
    """Draw how many rows of either class have each total, and the separator.

    Parameters
    ----------
    totals : DataFrame
        Columns total, negative, positive.
    separator : float
        From this total on a row is answered positive.
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Sokolovska, Chevaleyre & Zucker, score learning: distributions of the scores.
    """
    ax = axes(ax)
    held = totals[(totals["negative"] > 0) | (totals["positive"] > 0)]["total"]
    width = float(np.diff(held).min()) * 0.42 if len(held) > 1 else 0.42
    for side, shift, colour, hatch in (
        ("negative", -0.5, PALETTE[0], ""),
        ("positive", 0.5, PALETTE[1], "//"),
    ):
        ax.bar(
            totals["total"] + shift * width, totals[side], width=width, color=colour, hatch=hatch,
            edgecolor="white", linewidth=0.0, label=side,
        )  # fmt: skip
    ax.axvline(
        _between(held.to_numpy(dtype=float), separator),
        color="0.2",
        linewidth=1.0,
        linestyle="--",
        label="separator",
    )
    ax.set_xlabel("total")
    ax.set_ylabel("rows")
    tidy(ax)
    return ax


def _between(totals: FloatArray, separator: float) -> float:
    """The middle of the totals on either side of the separator."""
    below, above = totals[totals < separator], totals[totals >= separator]
    low = below.max() if len(below) else separator - 1.0
    return float(low + (above.min() if len(above) else low + 1.0)) / 2


def recovered_points(found: DiaremRecovery, ax: Axes | None = None) -> Axes:
    """Draw the points of every bin of the grid beside DiaRem's; bars are standard deviations.

    Parameters
    ----------
    found : DiaremRecovery
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    table = found.points
    places = np.arange(len(table))
    ax.bar(places, table["diarem"], color="0.85", width=0.9, label="DiaRem")
    for at, method in enumerate(("by_feature", "joint", "binarsity")):
        ax.errorbar(
            places + 0.25 * (at - 1), table[method], yerr=table[f"{method}_stdev"].fillna(0.0),
            linestyle="none", marker=("^", "s", "o")[at], markersize=4, elinewidth=0.8,
            color=PALETTE[at], label=spaced(method),
        )  # fmt: skip
    first = table.groupby("feature", sort=False).head(1).index
    last = np.append(first[1:], len(table))
    # two-line names: a block of two bins is narrow
    ax.set_xticks(
        (first + last - 1) / 2,
        [spaced(name).replace(" ", "\n") for name in table["feature"][first]],
    )
    for place in first[1:]:
        ax.axvline(place - 0.5, color="0.6", linewidth=0.8, linestyle=":")
    ax.set_ylabel("points, scaled to a total of 22")
    ax.set_title("Points of the bins", loc="left")
    ax.legend(loc="best", fontsize="small", frameon=False)
    tidy(ax)
    return ax


def recovery_by_size(found: DiaremRecovery, ax: Axes | None = None) -> Axes:
    """Draw the accuracy on fresh patients over the size of the cohort.

    Parameters
    ----------
    found : DiaremRecovery
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    styles = {"by_feature": 0, "joint": 1, "binarsity": 2}
    for method, part in found.summary.groupby("method", sort=False):
        if method == "diarem":
            ax.plot(part["size"], part["accuracy"], color="0.3", linestyle="--", label="DiaRem")
            continue
        at = styles[str(method)]
        ax.errorbar(
            part["size"], part["accuracy"], yerr=part["accuracy_stdev"].fillna(0.0),
            color=PALETTE[at], marker=("^", "s", "o")[at], markersize=4, linewidth=1.2, capsize=2,
            label=spaced(str(method)),
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_xlabel("patients")
    ax.set_ylabel("accuracy on fresh patients")
    ax.set_title("Accuracy", loc="left")
    ax.legend(loc="best", fontsize="small", frameon=False)
    tidy(ax)
    return ax
