"""Table 2 and Figure 3 of the Facets paper: counts beside the print, and maps of the grid."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.runner import Finding
from milpscore.core.design import FloatArray
from milpscore_show.plots.drawing import PALETTE, draw_map, styled

_SPAN = 0.1
_TICKS = (-1000, -300, -100, -30, -10, -4, -2, 0, 2, 4, 10, 30, 100, 300, 1000)
_COUNTS = {"null": "null models", "integral": "integral models", "optimal": "optimal models"}
_MEASURES = {"cv_accuracy": "Accuracy, held out", "cv_integrity": "Integrity, mean of the folds"}


@styled
def table2_figure(found: Finding) -> Figure:
    """Table 2: each count, a row per set; dots are ours, hollow diamonds the paper's."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True)
    table = found.summary
    rows = np.arange(len(table))
    for (column, title), ax in zip(_COUNTS.items(), panels, strict=True):
        ax.plot(table[column], rows, linestyle="none", marker="o", color=PALETTE[0], label="here")
        ax.plot(
            table[f"paper_{column}"], rows, linestyle="none", marker="D", markersize=8,
            markerfacecolor="none", color="0.35", label="printed",
        )  # fmt: skip
        ax.set_xlim(left=min(0.0, -0.03 * ax.get_xlim()[1]))
        ax.set_xlabel(f"of {int(table['grid_points'].max())}")
        ax.set_title(title)
        ax.grid(axis="x")
    panels[0].set_yticks(rows, table["set"].tolist())
    panels[0].invert_yaxis()
    panels[0].legend(loc="best")
    return figure


@styled
def figure3(found: Finding) -> Figure:
    """Figure 3: accuracy and integrity over beta and alpha, and the path of the coefficients."""
    figure, panels = plt.subplots(1, 3, figsize=(14, 4.2))
    for measure, panel in zip(_MEASURES, panels, strict=False):
        _draw_map(found, measure, panel)
    panels[1].set_ylabel("")
    _draw_path(found, panels[2])
    return figure


def _draw_map(found: Finding, measure: str, ax: Axes) -> None:
    """A measure of every model; accuracies a tenth or more below the best share a colour."""
    # alphas fall in the finding, cells want rising edges
    values = np.ma.masked_where(_grid(found, "null")[::-1] > 0, _grid(found, measure)[::-1])
    best = float(values.max()) if values.count() else 1.0
    low = max(float(values.min()), best - _SPAN)
    whole = measure == "cv_integrity"
    ends = (0.0, 1.0) if whole else (low, best)
    draw_map(ax, found.betas, found.alphas[::-1], values, ends)
    ax.set_xlabel("beta = lam / gamma^2, the shape")
    ax.set_ylabel("alpha = lam / gamma, the strength")
    ax.set_title(f"{_MEASURES[measure]}: {found.data}", fontsize="medium")


def _draw_path(found: Finding, ax: Axes) -> None:
    """Every coefficient over beta in units of gamma, at the alpha of the best integral model.

    Without an integral model it is the alpha in the middle.
    """
    held_out, integral = _grid(found, "cv_accuracy"), _grid(found, "integral") > 0
    row = len(found.alphas) // 2
    if integral.any():
        row = int(np.where(integral, held_out, -1.0).max(axis=1).argmax())
    lines = found.coefficients[row].T
    shades = mpl.colormaps["viridis"](np.linspace(0.05, 0.95, len(lines)))
    for line, shade in zip(lines, shades, strict=True):
        ax.plot(found.betas, line, color=shade, linewidth=1.2)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=4.0)
    low, high = ax.get_ylim()
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.grid(axis="y")
    ax.set_xlabel("beta = lam / gamma^2, the shape")
    ax.set_ylabel("coefficient / gamma")
    ax.set_title(
        f"Path of {len(lines)} coefficients, alpha = {found.alphas[row]:.3g}",
        fontsize="medium",
    )  # fmt: skip


def _grid(found: Finding, column: str) -> FloatArray:
    """A column's mean over the repetitions, shape (a, b)."""
    shape = len(found.alphas), len(found.betas)
    values = found.runs[column].to_numpy(dtype=np.float64).reshape(-1, *shape)
    return np.asarray(values.mean(axis=0))
