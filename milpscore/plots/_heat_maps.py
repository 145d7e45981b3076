"""Heat maps of a grid of Facets models over penalty weight and coefficient unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.errors import NotApplicableError
from milpscore.plots.drawing import axes, log_edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milpscore.proximal import FacetsGrid

_TITLES = {
    "cv_accuracy": "CV accuracy",
    "cv_auc": "CV area under the curve",
    "integrity": "Integrity: share of whole coefficients",
    "magnitude": "Magnitude: sum of |w|",
    "terms": "Terms",
    "loss": "Training loss",
    "objective": "Objective",
    "gap": "Relative duality gap",
}
_NULL = "0.86"
_SPAN = 0.1


def facets_heat_maps(
    grid: FacetsGrid, *, measures: Sequence[str] | None = None, figure: Figure | None = None
) -> Figure:
    """Draw measures of every model of the grid side by side.

    Parameters
    ----------
    grid : FacetsGrid
        From :func:`milpscore.proximal.facets_grid`.
    measures : sequence of str, optional
        Columns of its table; by default the cross-validated accuracy (the training loss where the
        grid was made without ``cv``), the integrity and the number of terms.
    figure : Figure, optional
        An empty one; by default a new one.

    Returns
    -------
    Figure

    Raises
    ------
    NotApplicableError
        For a measure the table does not have.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Figure 3.
    """
    import matplotlib.pyplot as plt

    first = "cv_accuracy" if "cv_accuracy" in grid.table else "loss"
    chosen = (first, "integrity", "terms") if measures is None else tuple(measures)
    if figure is None:
        figure = plt.figure(figsize=(4.6 * len(chosen), 4.0), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(chosen), sharey=True))
    for k, (measure, panel) in enumerate(zip(chosen, panels, strict=True)):
        heat_map(grid, measure, panel)
        if k:
            panel.set_ylabel("")
    return figure


def heat_map(grid: FacetsGrid, measure: str, ax: Axes | None = None) -> Axes:
    """Draw one measure of every model over gamma and alpha; null models are grey.

    Parameters
    ----------
    grid : FacetsGrid
    measure : str
        A column of the grid's table.
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes
        With a colour bar.

    Raises
    ------
    NotApplicableError
        For a measure the table does not have.
    """
    from matplotlib.ticker import MaxNLocator

    if measure not in grid.table:
        hint = " (pass cv= to facets_grid)" if measure.startswith("cv_") else ""
        known = ", ".join(str(name) for name in grid.table.columns)
        raise NotApplicableError(f"the grid has no {measure!r}{hint}; it has {known}")
    ax = axes(ax)
    values = np.ma.masked_where(grid.heat_map("null") > 0, grid.heat_map(measure))
    ax.set_facecolor(_NULL)
    low, high = _range(measure, values)
    mesh = ax.pcolormesh(
        log_edges(grid.gammas), log_edges(grid.alphas), values,
        cmap="viridis", rasterized=True, vmin=low, vmax=high,
    )  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("gamma, the unit of the coefficients")
    ax.set_ylabel("alpha = lam / gamma")
    ax.set_title(_TITLES.get(measure, measure.replace("_", " ")), loc="left", fontsize="medium")
    below = low is not None and bool(values.count()) and float(values.min()) < low
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02, extend="min" if below else "neither")
    if measure == "terms":
        bar.locator = MaxNLocator(integer=True)
        bar.update_ticks()
    if values.mask.any():
        ax.text(0.02, 0.98, "grey: null models", transform=ax.transAxes, va="top", fontsize="small")
    return ax


def _range(measure: str, values: Any) -> tuple[float | None, float | None]:
    """Ends of the colour scale; None leaves them to the values.

    Shares of whole coefficients span 0 to 1. The models beside the null ones are so much worse
    held out than all others that everything a tenth below the best shares a colour.
    """
    if measure == "integrity":
        return 0.0, 1.0
    if not values.count():
        return None, None
    if values.min() == values.max():
        return float(values.min()) - 0.5, float(values.max()) + 0.5
    if measure.startswith("cv_"):
        return max(float(values.min()), float(values.max()) - _SPAN), float(values.max())
    return None, None
