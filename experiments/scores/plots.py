"""Figures of score learning: how the totals of two classes part, and points beside DiaRem's."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.runner import Finding
from experiments.scores.recovery import DIAREM, RECOVERY_METHODS, SCALE
from milpscore_show.plots.drawing import PALETTE, spaced, styled

_WIDTH, _HEIGHT = 4.6, 3.3
_MARKERS = ("^", "s", "o")


@styled
def learning_figure(found: Finding) -> Figure:
    """The totals of either class for each set and method."""
    sets = list(dict.fromkeys(name for name, _ in found.cards))
    size = (2 * _WIDTH, _HEIGHT * len(sets))
    figure, every = plt.subplots(len(sets), 2, figsize=size, squeeze=False)
    for ax, (name, method) in zip(every.flat, found.cards, strict=True):
        _draw_totals(found.totals[name, method], float(found.cards[name, method].threshold), ax)
        ax.set_title(f"{name}, {spaced(method)}")
    every[0, 0].legend(loc="best")
    return figure


@styled
def recovery_figure(found: Finding) -> Figure:
    """The same of learnt cards and DiaRem, points of every bin, and accuracy by size."""
    figure, every = plt.subplots(2, 3, figsize=(3 * _WIDTH, 2 * _HEIGHT))
    for ax, name in zip(every.flat, found.cards, strict=False):
        _draw_totals(found.totals[name], float(found.cards[name].threshold), ax)
        ax.set_title("DiaRem" if name == DIAREM else f"learnt: {spaced(name)}")
    every[0, 0].legend(loc="best")
    _draw_points(found.points, every[1, 1])
    _draw_sizes(found.summary, every[1, 2])
    return figure


def _draw_totals(totals: pd.DataFrame, separator: float, ax: Axes) -> None:
    """How many rows of either class have each total, and the separator."""
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
    # drawn in the middle of the totals on either side of it
    below, above = held[held < separator], held[held >= separator]
    low = below.max() if len(below) else separator - 1.0
    middle = float(low + (above.min() if len(above) else low + 1.0)) / 2
    ax.axvline(middle, color="0.2", linewidth=1.0, linestyle="--", label="separator")
    ax.set_xlabel("total")
    ax.set_ylabel("rows")


def _draw_points(table: pd.DataFrame, ax: Axes) -> None:
    """The points of every bin of the grid beside DiaRem's."""
    places = np.arange(len(table))
    ax.bar(places, table[DIAREM], color="0.85", width=0.9, label="DiaRem")
    for at, method in enumerate(RECOVERY_METHODS):
        ax.errorbar(
            places + 0.25 * (at - 1), table[method], yerr=table[f"{method}_stdev"].fillna(0.0),
            linestyle="none", marker=_MARKERS[at], markersize=4, elinewidth=0.8,
            color=PALETTE[at], label=spaced(method),
        )  # fmt: skip
    first = table.groupby("feature", sort=False).head(1).index
    last = np.append(first[1:], len(table))
    # two-line names: a block of two bins is narrow
    names = [spaced(name).replace(" ", "\n") for name in table["feature"][first]]
    ax.set_xticks((first + last - 1) / 2, names)
    for place in first[1:]:
        ax.axvline(place - 0.5, color="0.6", linewidth=0.8, linestyle=":")
    ax.set_ylabel(f"points, scaled to a total of {SCALE}")
    ax.set_title("Points of the bins")
    ax.legend(loc="best")


def _draw_sizes(summary: pd.DataFrame, ax: Axes) -> None:
    """The accuracy on fresh patients over the size of the cohort."""
    parts = dict(iter(summary.groupby("method", sort=False)))
    for at, method in enumerate(RECOVERY_METHODS):
        part = parts[method]
        ax.errorbar(
            part["size"], part["accuracy"], yerr=part["accuracy_stdev"].fillna(0.0),
            color=PALETTE[at], marker=_MARKERS[at], markersize=4, linewidth=1.2, capsize=2,
            label=spaced(method),
        )  # fmt: skip
    own = parts[DIAREM]
    ax.plot(own["size"], own["accuracy"], color="0.3", linestyle="--", label="DiaRem")
    ax.set_xscale("log")
    ax.set_xlabel("patients")
    ax.set_ylabel("accuracy on fresh patients")
    ax.set_title("Accuracy")
    ax.legend(loc="best")
