"""Figures of the binarsity experiments: recovered steps, and accuracy and seconds by method."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.runner import Finding
from milpscore_show.plots.drawing import PALETTE, plain_log, styled

_STYLES = {
    "binarsity": ("binarsity", PALETTE[0], "o"),
    "tv": ("TV", PALETTE[1], "s"),
    "group_l1": ("group lasso", PALETTE[2], "^"),
    "lasso": ("lasso", PALETTE[3], "D"),
    "ridge": ("ridge", PALETTE[4], "v"),
    "raw_lasso": ("lasso, raw columns", PALETTE[5], "X"),
    "raw_ridge": ("ridge, raw columns", "0.35", "P"),
    "random_forest": ("random forest", "0.55", "<"),
    "boosting": ("boosted trees", "0.7", ">"),
}
"""Method -> name, colour, marker."""

_SHOWN = ("binarsity", "lasso", "ridge")
_TITLES = {"accuracy": "Accuracy", "auc": "AUC", "seconds": "Seconds for the path"}


@styled
def toys_figure(found: Finding) -> Figure:
    """The two toys of the slides, run 0: a denoised signal, and a panel a feature."""
    count = int(found.drawn["steps"]["feature"].nunique())
    figure, every = plt.subplots(1, 1 + count, figsize=(5.2 * (1 + count), 4.4))
    _draw_signal(found, every[0])
    for feature, ax in enumerate(every[1:]):
        _draw_steps(found, feature, ax)
    every[-1].legend(loc="best")
    return figure


@styled
def comparison_figure(found: Finding) -> Figure:
    """Measures of every method on every set; bars are standard deviations over repetitions."""
    high = 1.6 + 0.5 * len(found.sets)
    figure, every = plt.subplots(1, 3, figsize=(13, high), sharey=True)
    for ax, measure in zip(every, _TITLES, strict=True):
        _draw_measure(found, measure, ax)
    every[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _draw_signal(found: Finding, ax: Axes) -> None:
    """A noisy signal, the true one and its recovery by total variation."""
    table = found.drawn["signal"]
    ax.plot(table["noisy"], linestyle="none", marker=".", markersize=2, color="0.7", label="noisy")
    ax.plot(table["truth"], color="0.1", linewidth=2.4, drawstyle="steps-post", label="truth")
    for at, (name, label) in enumerate((("tv", "TV"), ("weighted_tv", "weighted TV"))):
        ax.plot(
            table[name], color=PALETTE[at], linewidth=1.2, linestyle=("-", "--")[at], label=label,
            drawstyle="steps-post",
        )  # fmt: skip
    ax.set_xlabel("place")
    ax.set_title("Signal recovered by total variation")
    ax.legend(loc="best")


def _draw_steps(found: Finding, feature: int, ax: Axes) -> None:
    """A feature's coefficients beside the true function; vertical lines at true thresholds."""
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
    ax.set_title(f"Feature {feature + 1}: {len(part)} bins")


def _draw_measure(found: Finding, measure: str, ax: Axes) -> None:
    """A measure of every method, sets from top to bottom."""
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
        plain_log(ax)
    ax.set_xlabel(_TITLES[measure] if measure != "seconds" else "seconds of CPU")
    ax.set_title(_TITLES[measure])
    ax.grid(axis="x")
