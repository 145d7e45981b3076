"""Figures: a comparison, a path, a grid of Facets models, penalties, a card's calibration.

Each function takes an Axes and gives it back; those that draw several take and give a Figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.plots._bounds import bounds_over_time
    from milpscore.plots._calibration import calibration
    from milpscore.plots._comparison import comparison_figure
    from milpscore.plots._credibility import (
        credibility_figure,
        group_credibility,
        log_ratios,
        method_auc,
        method_credibility,
        twin_accuracy,
    )
    from milpscore.plots._heat_maps import facets_heat_maps, heat_map
    from milpscore.plots._level_sets import level_sets
    from milpscore.plots._path import regularisation_path
    from milpscore.plots._points import coefficients
    from milpscore.plots._prox_curves import prox_curves

__all__ = [
    "bounds_over_time",
    "calibration",
    "coefficients",
    "comparison_figure",
    "credibility_figure",
    "facets_heat_maps",
    "group_credibility",
    "heat_map",
    "level_sets",
    "log_ratios",
    "method_auc",
    "method_credibility",
    "prox_curves",
    "regularisation_path",
    "twin_accuracy",
]

_EXPORTS = {
    "bounds_over_time": "milpscore.plots._bounds",
    "calibration": "milpscore.plots._calibration",
    "coefficients": "milpscore.plots._points",
    "comparison_figure": "milpscore.plots._comparison",
    "credibility_figure": "milpscore.plots._credibility",
    "facets_heat_maps": "milpscore.plots._heat_maps",
    "group_credibility": "milpscore.plots._credibility",
    "heat_map": "milpscore.plots._heat_maps",
    "level_sets": "milpscore.plots._level_sets",
    "log_ratios": "milpscore.plots._credibility",
    "method_auc": "milpscore.plots._credibility",
    "method_credibility": "milpscore.plots._credibility",
    "prox_curves": "milpscore.plots._prox_curves",
    "regularisation_path": "milpscore.plots._path",
    "twin_accuracy": "milpscore.plots._credibility",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
