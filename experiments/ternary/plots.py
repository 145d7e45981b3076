"""Figures 3, 4, 7 and 8 of the ternary paper, with the exact optimum among the curves."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.runner import Finding
from experiments.ternary.shape import PATH
from milpscore_show.plots.drawing import PALETTE, spaced, styled

_ROUNDED = ("draw_of_interior", "nearest", "best_of_draws", "derandomised")
_SEARCHED = ("local_search", "hill_climbing")
_NAMES = {
    "relaxed": "LP, before rounding",
    "draw_of_interior": "one draw (interior point)",
    "best_of_draws": "best of the draws",
    "exact": "exact program",
}
_MARKERS = ("o", "s", "^", "D")


@styled
def ternary_figure(found: Finding) -> Figure:
    """The four figures of the paper."""
    figure, panels = plt.subplots(2, 2, figsize=(11, 8))
    _draw_binary(found, panels[0, 0])
    _draw_path(found, panels[0, 1])
    _draw_errors(found, _ROUNDED, panels[1, 0])
    panels[1, 0].set_title("Error before and after rounding")
    _draw_errors(found, _SEARCHED, panels[1, 1])
    count = found.runs["run"].nunique()
    panels[1, 1].set_title(f"Error of searches (means, runs: {count})")
    top = max(panel.get_ylim()[1] for panel in panels[1])
    for panel in panels[1]:
        panel.set_ylim(-0.02 * top, top)
    for panel in panels.flat:
        panel.set_xscale("log")
        panel.set_xlabel("margin gamma")
    return figure


def _draw_binary(found: Finding, ax: Axes) -> None:
    """Figure 3: how many of the LP's doubled weights are 0 or 1, means over the runs."""
    table = found.binary
    ax.plot(table["gamma"], table["interior"], color=PALETTE[0], marker="o", markersize=4,
            label="interior point, as the paper's solver gives it")  # fmt: skip
    ax.plot(table["gamma"], table["vertex"], color=PALETTE[1], marker="s", markersize=4,
            linestyle="--", label="vertex, as the simplex gives it")  # fmt: skip
    dimension = int(table["dimension"].iloc[0])
    ax.axhline(dimension, color="0.6", linewidth=0.8, zorder=0)
    ax.set_ylim(-0.03 * dimension, 1.08 * dimension)
    ax.set_ylabel(f"weights that are 0 or 1, of {dimension}")
    ax.set_title("Binary weights in the LP's solution")
    ax.legend(loc="center left")


def _draw_path(found: Finding, ax: Axes) -> None:
    """Figure 4: the first 20 doubled weights of the first run, at the interior point."""
    paths = found.weights[0, :, 1, :PATH]
    shades = mpl.colormaps["viridis"](np.linspace(0.05, 0.95, paths.shape[1]))
    for path, shade in zip(paths.T, shades, strict=True):
        ax.plot(found.gammas, path, color=shade, linewidth=1.0, marker=".", markersize=3)
    ax.set_ylim(-0.03, 1.03)
    ax.set_ylabel("weight")
    ax.set_title(f"The first {paths.shape[1]} weights of one run")


def _draw_errors(found: Finding, methods: Sequence[str], ax: Axes) -> None:
    """Figures 7 and 8: the LP dashed and the exact program dotted beside the methods."""
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
    ax.legend(loc="upper right")
