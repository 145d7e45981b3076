"""Figures 3, 4, 7 and 8 of the ternary paper, with the exact optimum among the curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from milpscore.plots.drawing import PALETTE, axes, spaced, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.ternary.figures import TernaryFigures

_PATH = 20
_ROUNDED = ("draw_of_interior", "nearest", "best_of_draws", "derandomised")
_SEARCHED = ("local_search", "hill_climbing")
_NAMES = {
    "relaxed": "LP, before rounding",
    "draw_of_interior": "one draw (interior point)",
    "best_of_draws": "best of the draws",
    "exact": "exact program",
}
_MARKERS = ("o", "s", "^", "D")


def ternary_figure(found: TernaryFigures) -> Figure:
    """Draw the four figures of the paper, on a figure of its own.

    Parameters
    ----------
    found : TernaryFigures

    Returns
    -------
    Figure

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figures 3, 4, 7 and 8.
    """
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    binary_weights(found, panels[0, 0])
    weight_path(found, panels[0, 1])
    rounding_errors(found, panels[1, 0])
    search_errors(found, panels[1, 1])
    top = max(panel.get_ylim()[1] for panel in panels[1])
    for panel in panels[1]:
        panel.set_ylim(-0.02 * top, top)
    return figure


def binary_weights(found: TernaryFigures, ax: Axes | None = None) -> Axes:
    """Draw how many of the LP's doubled weights are 0 or 1 over the margin, means over the runs.

    Parameters
    ----------
    found : TernaryFigures
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 3.
    """
    ax = axes(ax)
    table = found.binary
    ax.plot(table["gamma"], table["interior"], color=PALETTE[0], marker="o", markersize=4,
            label="interior point, as the paper's solver gives it")  # fmt: skip
    ax.plot(table["gamma"], table["vertex"], color=PALETTE[1], marker="s", markersize=4,
            linestyle="--", label="vertex, as the simplex gives it")  # fmt: skip
    dimension = int(table["dimension"].iloc[0])
    ax.axhline(dimension, color="0.6", linewidth=0.8, zorder=0)
    ax.set_ylim(-0.03 * dimension, 1.08 * dimension)
    ax.set_ylabel(f"weights that are 0 or 1, of {dimension}")
    ax.set_title("Binary weights in the LP's solution", loc="left")
    ax.legend(loc="center left", fontsize="small", frameon=False)
    return _margin_axis(ax)


def weight_path(found: TernaryFigures, ax: Axes | None = None) -> Axes:
    """Draw the first 20 doubled weights of the first run over the margin, at the interior point.

    Parameters
    ----------
    found : TernaryFigures
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 4.
    """
    import matplotlib as mpl

    ax = axes(ax)
    paths = found.weights[0, :, 1, :_PATH]
    shades = mpl.colormaps["viridis"](np.linspace(0.05, 0.95, paths.shape[1]))
    for path, shade in zip(paths.T, shades, strict=True):
        ax.plot(found.gammas, path, color=shade, linewidth=1.0, marker=".", markersize=3)
    ax.set_ylim(-0.03, 1.03)
    ax.set_ylabel("weight")
    ax.set_title(f"The first {paths.shape[1]} weights of one run", loc="left")
    return _margin_axis(ax)


def rounding_errors(found: TernaryFigures, ax: Axes | None = None) -> Axes:
    """Draw the error of the LP's weights before and after each rounding over the margin.

    Parameters
    ----------
    found : TernaryFigures
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 7.
    """
    ax = axes(ax)
    _draw_errors(ax, found, _ROUNDED)
    ax.set_title("Error before and after rounding", loc="left")
    return ax


def search_errors(found: TernaryFigures, ax: Axes | None = None) -> Axes:
    """Draw the error of local search and hill climbing over the margin.

    Parameters
    ----------
    found : TernaryFigures
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 8.
    """
    ax = axes(ax)
    _draw_errors(ax, found, _SEARCHED)
    count = found.runs["run"].nunique()
    ax.set_title(f"Error of searches (means, runs: {count})", loc="left")
    return ax


def _draw_errors(ax: Axes, found: TernaryFigures, methods: Sequence[str]) -> None:
    """The LP dashed and the exact program dotted beside the methods."""
    table = found.summary
    ax.plot(table["gamma"], table["relaxed"], color="0.35", linestyle="--", linewidth=1.4,
            label=_NAMES["relaxed"])  # fmt: skip
    for k, method in enumerate(methods):
        ax.plot(
            table["gamma"], table[method], color=PALETTE[k], marker=_MARKERS[k], markersize=4,
            linewidth=1.2, label=_NAMES.get(method, spaced(method)),
        )  # fmt: skip
    ax.plot(table["gamma"], table["exact"], color="black", linestyle=":", linewidth=2.0,
            label=_NAMES["exact"])  # fmt: skip
    ax.set_ylabel("error on the training rows")
    ax.legend(loc="upper right", fontsize="small", frameon=False)
    _margin_axis(ax)


def _margin_axis(ax: Axes) -> Axes:
    ax.set_xscale("log")
    ax.set_xlabel("margin gamma")
    tidy(ax)
    return ax
