"""Figures: a comparison, a regularisation path, a grid of Facets models, penalties themselves.

Each function takes an Axes and gives it back; those that draw several take and give a Figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.plots._bounds import bounds_over_time
    from milpscore.plots._comparison import comparison_figure
    from milpscore.plots._heat_maps import facets_heat_maps, heat_map
    from milpscore.plots._level_sets import level_sets
    from milpscore.plots._path import regularisation_path
    from milpscore.plots._points import coefficients
    from milpscore.plots._prox_curves import prox_curves

__all__ = [
    "bounds_over_time",
    "coefficients",
    "comparison_figure",
    "facets_heat_maps",
    "heat_map",
    "level_sets",
    "prox_curves",
    "regularisation_path",
]

_EXPORTS = {
    "bounds_over_time": "milpscore.plots._bounds",
    "coefficients": "milpscore.plots._points",
    "comparison_figure": "milpscore.plots._comparison",
    "facets_heat_maps": "milpscore.plots._heat_maps",
    "heat_map": "milpscore.plots._heat_maps",
    "level_sets": "milpscore.plots._level_sets",
    "prox_curves": "milpscore.plots._prox_curves",
    "regularisation_path": "milpscore.plots._path",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
