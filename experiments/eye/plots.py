"""Figures of the experiments on credibility: EYE beside the naive penalty and its rivals."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.eye.methods import METHODS
from experiments.eye.shrinkage import one_unknown
from experiments.runner import Finding
from milpscore_show.plots.drawing import PALETTE, spaced, styled

_NAMES = {"eye": "EYE", "owl": "OWL", "l1": "L1", "weighted_l1": "weighted L1"}
_NAMES |= {"weighted_l2": "weighted L2"}
_MARKERS = ("o", "s", "^", "D", "v", "X")
_MOST_RATIO = 5.0
_NORMAL_95 = 1.96


@styled
def twins_figure(found: Finding) -> Figure:
    """Figure 2: log |known / unknown|, above 0 is credible, and accuracy; one line a penalty.

    Ratios beyond 5 either way, infinite ones too, are drawn at 5; null models have no ratio.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4))
    ratio = found.runs["log_ratio"].clip(lower=-_MOST_RATIO, upper=_MOST_RATIO)
    _draw_curves(left, found.runs.assign(log_ratio=ratio), "log_ratio")
    left.axhline(0, color="0.3", linewidth=0.8, zorder=0)
    left.set_ylim(-_MOST_RATIO * 1.06, _MOST_RATIO * 1.06)
    ticks = np.arange(-4, 5, 2).tolist()
    left.set_yticks(
        [-_MOST_RATIO, *ticks, _MOST_RATIO],
        [f"-{_MOST_RATIO:g} or less", *map(str, ticks), f"{_MOST_RATIO:g} or more"],
    )
    left.set_ylabel("log |known / unknown|")
    left.set_title("Weight of the known twin")
    _draw_curves(right, found.runs, "accuracy")
    right.set_ylabel("accuracy on new rows")
    right.set_title("Accuracy")
    right.legend(loc="lower right", ncols=2)
    return figure


@styled
def shrinkage_figure(found: Finding) -> Figure:
    """Figure 3: coefficients over those of least squares; curves by formula, dots by fits."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True)
    weight, ends = found.weight, np.linspace(0.0, 4.0 * found.weight, 201)
    for at, (name, penalty) in enumerate(
        (("l1", "L1"), ("elastic_net", "elastic net"), ("l2", "L2"))
    ):
        part = found.runs[found.runs["penalty"] == name]
        panels[0].plot(
            part["ols"].abs(), part["fitted"].abs(), linestyle="none", marker=_MARKERS[at],
            markersize=4, color=PALETTE[at], label=penalty,
        )  # fmt: skip
    for beside, style in ((0.0, ":"), (2.0 * weight, "--"), (4.0 * weight, "-")):
        as_unknown = one_unknown(ends, beside, weight)[0]
        as_known = one_unknown(beside, ends, weight)[1]
        for curve, word, color in (
            (as_unknown, "unknown", PALETTE[0]),
            (as_known, "known", PALETTE[1]),
        ):
            panels[1].plot(
                ends, curve, color=color, linestyle=style,
                label=f"{word}, the other at {beside:g}",
            )  # fmt: skip
    for ax, title in zip(
        panels, ("Rivals, fitted", "EYE, one feature unknown and one known"), strict=True
    ):
        ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8, zorder=0)
        ax.set_xlim(0, ends[-1])
        ax.set_xlabel("|least squares|")
        ax.set_title(title)
        ax.legend(loc="upper left")
    panels[0].set_ylabel(f"|coefficient|, n lambda = {weight:g}")
    return figure


@styled
def groups_figure(found: Finding) -> Figure:
    """Figure 4: the mean symmetric KL of each group with 95 % intervals, one line a method."""
    figure, ax = plt.subplots(figsize=(7.5, 4.6))
    labels = found.summary[found.label].to_numpy(dtype=np.float64)
    # intervals of several methods side by side rather than on top of one another
    width = float(np.diff(labels).min()) * 0.5 if len(labels) > 1 else 0.5
    for at, method in enumerate(METHODS):
        part = found.runs[found.runs["method"] == method].groupby(found.label)["sym_kl"]
        reach = _NORMAL_95 * (part.std() / np.sqrt(part.count())).fillna(0.0)
        shift = width * (at / (len(METHODS) - 1) - 0.5)
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
    ax.set_title(f"Credibility by group, mean of {count} runs")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


@styled
def table2_figure(found: Finding) -> Figure:
    """Table 2: means with 95 % intervals, and the paper's as hollow diamonds."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    _draw_rows(left, found.summary, "sym_kl")
    left.set_xscale("log")
    left.set_xlabel("summed symmetric KL (less is more credible)")
    left.set_title("Credibility")
    left.legend(loc="best")
    _draw_rows(right, found.summary, "auc")
    right.set_xlabel("AUC")
    right.set_title(f"AUC, {int(found.summary['runs'].max())} runs")
    return figure


def _draw_curves(ax: Axes, table: pd.DataFrame, column: str) -> None:
    """One line a penalty over lam, the penalty growing weaker to the right; EYE on top."""
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


def _draw_rows(ax: Axes, summary: pd.DataFrame, column: str) -> None:
    """Means with 95 % intervals, a row per method, the first at the top."""
    rows = np.arange(len(summary))
    reach = _NORMAL_95 * (summary[f"{column}_stdev"] / np.sqrt(summary["runs"])).fillna(0.0)
    for at, method in enumerate(summary["method"]):
        ax.errorbar(
            summary[column].iloc[at], at, xerr=reach.iloc[at], fmt="o", capsize=3,
            color=PALETTE[METHODS.index(method)], label="here" if at == 0 else None,
        )  # fmt: skip
    ax.plot(
        summary[f"paper_{column}"], rows, linestyle="none", marker="D", markersize=7,
        markerfacecolor="none", color="0.35", label="printed",
    )  # fmt: skip
    ax.set_yticks(rows, [_named(method) for method in summary["method"]])
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
    ax.grid(axis="x")


def _named(method: str) -> str:
    return _NAMES.get(method, spaced(method))
