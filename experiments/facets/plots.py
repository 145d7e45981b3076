"""Table 2 and Figure 3 of the Facets paper: counts beside the print, and maps of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.plots._heat_maps import _edges
from milpscore.plots.drawing import PALETTE, axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.facets.grid import FacetsFigure3, FacetsTable2

_NULL = "0.86"
_SPAN = 0.1
_TICKS = (-1000, -300, -100, -30, -10, -4, -2, 0, 2, 4, 10, 30, 100, 300, 1000)
_COUNTS = {"null": "null models", "integral": "integral models", "optimal": "optimal models"}
_MEASURES = {"cv_accuracy": "Accuracy, held out", "cv_integrity": "Integrity, mean of the folds"}


def facets_table2_figure(found: FacetsTable2) -> Figure:
    """Draw the counts of every set beside the printed ones, on a figure of its own.

    Parameters
    ----------
    found : FacetsTable2

    Returns
    -------
    Figure

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Table 2.
    """
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
    for column, panel in zip(_COUNTS, panels, strict=True):
        set_counts(found, column, panel)
    panels[0].legend(loc="best", fontsize="small", frameon=False)
    return figure


def set_counts(found: FacetsTable2, column: str, ax: Axes | None = None) -> Axes:
    """Draw one count, a row a set: dots are ours, hollow diamonds the paper's.

    Parameters
    ----------
    found : FacetsTable2
    column : {"null", "integral", "optimal"}
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    table = found.summary
    rows = np.arange(len(table))
    ax.plot(table[column], rows, linestyle="none", marker="o", color=PALETTE[0], label="here")
    ax.plot(
        table[f"paper_{column}"], rows, linestyle="none", marker="D", markersize=8,
        markerfacecolor="none", color="0.35", label="printed",
    )  # fmt: skip
    ax.set_yticks(rows, table["set"].tolist())
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
    ax.set_xlim(left=min(0.0, -0.03 * ax.get_xlim()[1]))
    ax.set_xlabel(f"of {int(table['grid_points'].max())}")
    ax.set_title(_COUNTS[column], loc="left")
    ax.grid(axis="x", color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    tidy(ax)
    return ax


def facets_figure(found: FacetsFigure3) -> Figure:
    """Draw accuracy, integrity and the coefficients, on a figure of its own.

    Parameters
    ----------
    found : FacetsFigure3

    Returns
    -------
    Figure

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Figure 3.
    """
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    for measure, panel in zip(_MEASURES, panels, strict=False):
        measure_map(found, measure, panel)
    panels[1].set_ylabel("")
    coefficient_path(found, panels[2])
    return figure


def measure_map(found: FacetsFigure3, measure: str, ax: Axes | None = None) -> Axes:
    """Draw a measure of every model over beta and alpha; null models are grey.

    Parameters
    ----------
    found : FacetsFigure3
    measure : {"cv_accuracy", "cv_integrity"}
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes
        With a colour bar; accuracies a tenth or more below the best share a colour.
    """
    ax = axes(ax)
    # alphas fall in the finding, cells want rising edges
    values = np.ma.masked_where(_grid(found, "null")[::-1] > 0, _grid(found, measure)[::-1])
    ax.set_facecolor(_NULL)
    whole = measure == "cv_integrity"
    best = float(values.max()) if values.count() else 1.0
    low, high = (0.0, 1.0) if whole else (max(float(values.min()), best - _SPAN), best)
    mesh = ax.pcolormesh(
        _edges(found.betas), _edges(found.alphas[::-1]), values,
        cmap="viridis", rasterized=True, vmin=low, vmax=high,
    )  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("beta = lam / gamma^2, the shape")
    ax.set_ylabel("alpha = lam / gamma, the strength")
    ax.set_title(f"{_MEASURES[measure]}: {found.data}", loc="left", fontsize="medium")
    ax.figure.colorbar(mesh, ax=ax, pad=0.02)
    if values.mask.any():
        ax.text(0.02, 0.98, "grey: null models", transform=ax.transAxes, va="top", fontsize="small")
    return ax


def coefficient_path(found: FacetsFigure3, ax: Axes | None = None) -> Axes:
    """Draw every coefficient over beta, at the alpha of the best integral model.

    Coefficients are in units of gamma, so that integers lie on the grid's lines. Without an
    integral model it is the alpha in the middle.

    Parameters
    ----------
    found : FacetsFigure3
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes
    """
    import matplotlib as mpl

    ax = axes(ax)
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
    ax.grid(axis="y", color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.set_xlabel("beta = lam / gamma^2, the shape")
    ax.set_ylabel("coefficient / gamma")
    ax.set_title(
        f"Path of {len(lines)} coefficients, alpha = {found.alphas[row]:.3g}",
        loc="left", fontsize="medium",
    )  # fmt: skip
    tidy(ax)
    return ax


def _grid(found: FacetsFigure3, column: str) -> FloatArray:
    """A column's mean over the repetitions, shape (a, b)."""
    shape = len(found.alphas), len(found.betas)
    values = found.runs[column].to_numpy(dtype=np.float64).reshape(-1, *shape)
    return np.asarray(values.mean(axis=0))
