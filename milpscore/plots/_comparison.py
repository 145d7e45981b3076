"""One figure of a whole comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from milpscore.plots._bounds import bounds_over_time
from milpscore.plots._points import coefficients
from milpscore.plots.drawing import results_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from milpscore.comparison import Comparison


def comparison_figure(comparison: Comparison, *, max_columns: int = 12) -> Figure:
    """Bounds over time above, the coefficients of every formulation below.

    Parameters
    ----------
    comparison : Comparison
        From :func:`milpscore.compare`.
    max_columns : int
        Columns drawn for each formulation.

    Returns
    -------
    Figure

    Raises
    ------
    NotApplicableError
        Where it has no results.
    """
    import matplotlib.pyplot as plt

    known = results_of(comparison)
    formulations = list(
        dict.fromkeys(name for (name, _), result in known.items() if result.coefficients.size)
    )
    lower = max(-(-len(formulations) // 2), 1)
    figure = plt.figure(figsize=(12.5, 4.2 + 4.8 * lower), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[4.2, 4.8 * lower])
    top, bottom = parts
    bounds_over_time(comparison, top.add_subplot())
    grid = bottom.add_gridspec(lower, 2)
    for k, name in enumerate(formulations):
        alone = k % 2 == 0 and k == len(formulations) - 1
        cell = grid[k // 2, :] if alone else grid[k // 2, k % 2]
        coefficients(
            comparison, bottom.add_subplot(cell), formulation=name, max_columns=max_columns
        )
    return figure
