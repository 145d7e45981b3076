"""Figures of the binarsity experiments: recovered steps, and accuracy and seconds by method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.errors import NotApplicableError
from milpscore.plots.drawing import PALETTE, axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.binarsity.comparison import BinarsityComparison
    from experiments.binarsity.toys import BinarsityToys

_STYLES = {
    "binarsity": ("binarsity", PALETTE[0], "o"),
    "tv": ("TV", PALETTE[1], "s"),
    "group_l1": ("group lasso", PALETTE[2], "^"),
    "lasso": ("lasso", PALETTE[3], "D"),
    "ridge": ("ridge", PALETTE[4], "v"),
    "raw_lasso": ("lasso, raw columns", PALETTE[5], "X"),
    "raw_ridge": ("ridge, raw columns", "0.35", "P"),
}
"""Method -> name, colour, marker."""

_SHOWN = ("binarsity", "lasso", "ridge")


def binarsity_figure(found: BinarsityToys | BinarsityComparison) -> Figure:
    """Draw what `the experiments` found about binarsity, on a figure of its own.

    Parameters
    ----------
    found : BinarsityToys or BinarsityComparison

    Returns
    -------
    Figure

    Raises
    ------
    NotApplicableError
        For anything else.
    """
    import matplotlib.pyplot as plt

    from experiments.binarsity.comparison import BinarsityComparison
    from experiments.binarsity.toys import BinarsityToys

    if isinstance(found, BinarsityToys):
        count = found.drawn["steps"]["feature"].nunique()
        figure, every = plt.subplots(
            1, 1 + count, figsize=(5.2 * (1 + count), 4.4), layout="constrained"
        )
        recovered_signal(found, every[0])
        for feature, ax in enumerate(every[1:]):
            recovered_steps(found, feature, ax)
        every[-1].legend(loc="best", fontsize="small", frameon=False)
    elif isinstance(found, BinarsityComparison):
        high = 1.6 + 0.5 * len(found.sets)
        figure, every = plt.subplots(1, 3, figsize=(13, high), sharey=True, layout="constrained")
        for ax, measure in zip(every, ("accuracy", "auc", "seconds"), strict=True):
            method_values(found, measure, ax)
        every[-1].legend(
            loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False
        )
    else:
        raise NotApplicableError(
            f"{type(found).__name__} is no finding on binarsity: pass what binarsity_toys or "
            "binarsity_comparison of milpscore.study returned"
        )
    return figure


def recovered_signal(found: BinarsityToys, ax: Axes | None = None) -> Axes:
    """Draw a noisy signal, the true one and its recovery by total variation.

    Parameters
    ----------
    found : BinarsityToys
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), "Toy example:
    recovery of piecewise constant signal using TV".
    """
    ax = axes(ax)
    table = found.drawn["signal"]
    ax.plot(table["noisy"], linestyle="none", marker=".", markersize=2, color="0.7", label="noisy")
    ax.plot(table["truth"], color="0.1", linewidth=2.4, drawstyle="steps-post", label="truth")
    for at, (name, label) in enumerate((("tv", "TV"), ("weighted_tv", "weighted TV"))):
        ax.plot(
            table[name], color=PALETTE[at], linewidth=1.2, linestyle=("-", "--")[at], label=label,
            drawstyle="steps-post",
        )  # fmt: skip
    ax.set_xlabel("place")
    ax.set_title("Signal recovered by total variation", loc="left")
    ax.legend(loc="best", fontsize="small", frameon=False)
    tidy(ax)
    return ax


def recovered_steps(found: BinarsityToys, feature: int, ax: Axes | None = None) -> Axes:
    """Draw the coefficients of a feature's bins beside the true step function.

    Vertical lines stand at the true thresholds.

    Parameters
    ----------
    found : BinarsityToys
    feature : int
        Counted from 0.
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), "Toy example
    (n = 1000, p = 2, d_1 = d_2 = 100)".
    """
    ax = axes(ax)
    table = found.drawn["steps"]
    part = table[table["feature"] == feature]
    edges = np.append(part["lower"], part["upper"].iloc[-1])
    for method in _SHOWN[::-1]:
        name, colour, _ = _STYLES[method]
        width = 2.2 if method == "binarsity" else 0.9
        ax.stairs(part[method], edges, color=colour, linewidth=width, label=name, baseline=None)
    ax.stairs(
        part["truth"], edges, color="0.1", linewidth=1.6, linestyle="--", label="truth",
        baseline=None,
    )  # fmt: skip
    marks = found.drawn["thresholds"]
    for threshold in marks.loc[marks["feature"] == feature, "threshold"]:
        ax.axvline(threshold, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    # single bins of the others reach far out
    reach = 1.8 * float(part[["truth", "binarsity"]].abs().to_numpy().max())
    ax.set_ylim(-reach, reach)
    ax.set_xlabel(f"x{feature + 1}")
    ax.set_ylabel("coefficient of the bin (log odds)")
    ax.set_title(f"Feature {feature + 1}: {len(part)} bins", loc="left")
    tidy(ax)
    return ax


def method_values(found: BinarsityComparison, measure: str, ax: Axes | None = None) -> Axes:
    """Draw a measure of every method on every set, sets from top to bottom.

    Bars are standard deviations over the repetitions.

    Parameters
    ----------
    found : BinarsityComparison
    measure : {"accuracy", "auc", "seconds"}
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), "Real data" and
    "Computing time comparisons".
    """
    ax = axes(ax)
    rows = np.arange(len(found.sets))
    for at, (method, (name, colour, marker)) in enumerate(_STYLES.items()):
        shift = 0.6 * (at / (len(_STYLES) - 1) - 0.5)
        part = found.summary[found.summary["method"] == method]
        ax.errorbar(
            part[measure], rows + shift, xerr=part[f"{measure}_stdev"].fillna(0.0),
            linestyle="none", color=colour, marker=marker, markersize=5, elinewidth=0.8, label=name,
        )  # fmt: skip
    ax.set_yticks(rows, found.sets["set"])
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
    if measure == "seconds":
        ax.set_xscale("log")
    title = {"accuracy": "Accuracy", "auc": "AUC", "seconds": "Seconds for the path"}[measure]
    ax.set_xlabel(title if measure != "seconds" else "seconds of CPU")
    ax.set_title(title, loc="left")
    ax.grid(axis="x", color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    tidy(ax)
    return ax
