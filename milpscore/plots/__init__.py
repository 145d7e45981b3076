"""Figures: a comparison, a path, a grid of Facets models, a pool, penalties, a calibration.

Each function takes an Axes and gives it back; those that draw several take and give a Figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.plots._binarsity import (
        binarsity_figure,
        method_values,
        recovered_signal,
        recovered_steps,
    )
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
    from milpscore.plots._facets_study import (
        coefficient_path,
        facets_figure,
        facets_table2_figure,
        measure_map,
        set_counts,
    )
    from milpscore.plots._heat_maps import facets_heat_maps, heat_map
    from milpscore.plots._level_sets import level_sets
    from milpscore.plots._path import regularisation_path
    from milpscore.plots._points import coefficients
    from milpscore.plots._pool import loss_against_terms, points_over_pool
    from milpscore.plots._profiles import bound_curves, performance_profile
    from milpscore.plots._prox_curves import prox_curves
    from milpscore.plots._scores import (
        recovered_points,
        recovery_by_size,
        score_figure,
        score_histogram,
    )
    from milpscore.plots._study import accuracy_over_terms, finding_figure, study_figure
    from milpscore.plots._ternary import (
        binary_weights,
        rounding_errors,
        search_errors,
        ternary_figure,
        weight_path,
    )

__all__ = [
    "accuracy_over_terms",
    "binarsity_figure",
    "binary_weights",
    "bound_curves",
    "bounds_over_time",
    "calibration",
    "coefficient_path",
    "coefficients",
    "comparison_figure",
    "credibility_figure",
    "facets_figure",
    "facets_heat_maps",
    "facets_table2_figure",
    "finding_figure",
    "group_credibility",
    "heat_map",
    "level_sets",
    "log_ratios",
    "loss_against_terms",
    "measure_map",
    "method_auc",
    "method_credibility",
    "method_values",
    "performance_profile",
    "points_over_pool",
    "prox_curves",
    "recovered_points",
    "recovered_signal",
    "recovered_steps",
    "recovery_by_size",
    "regularisation_path",
    "rounding_errors",
    "score_figure",
    "score_histogram",
    "search_errors",
    "set_counts",
    "study_figure",
    "ternary_figure",
    "twin_accuracy",
    "weight_path",
]

_EXPORTS = {
    "accuracy_over_terms": "milpscore.plots._study",
    "binarsity_figure": "milpscore.plots._binarsity",
    "binary_weights": "milpscore.plots._ternary",
    "bound_curves": "milpscore.plots._profiles",
    "bounds_over_time": "milpscore.plots._bounds",
    "calibration": "milpscore.plots._calibration",
    "coefficient_path": "milpscore.plots._facets_study",
    "coefficients": "milpscore.plots._points",
    "comparison_figure": "milpscore.plots._comparison",
    "credibility_figure": "milpscore.plots._credibility",
    "facets_figure": "milpscore.plots._facets_study",
    "facets_heat_maps": "milpscore.plots._heat_maps",
    "facets_table2_figure": "milpscore.plots._facets_study",
    "finding_figure": "milpscore.plots._study",
    "group_credibility": "milpscore.plots._credibility",
    "heat_map": "milpscore.plots._heat_maps",
    "level_sets": "milpscore.plots._level_sets",
    "log_ratios": "milpscore.plots._credibility",
    "loss_against_terms": "milpscore.plots._pool",
    "measure_map": "milpscore.plots._facets_study",
    "method_auc": "milpscore.plots._credibility",
    "method_credibility": "milpscore.plots._credibility",
    "method_values": "milpscore.plots._binarsity",
    "performance_profile": "milpscore.plots._profiles",
    "points_over_pool": "milpscore.plots._pool",
    "prox_curves": "milpscore.plots._prox_curves",
    "recovered_points": "milpscore.plots._scores",
    "recovered_signal": "milpscore.plots._binarsity",
    "recovered_steps": "milpscore.plots._binarsity",
    "recovery_by_size": "milpscore.plots._scores",
    "regularisation_path": "milpscore.plots._path",
    "rounding_errors": "milpscore.plots._ternary",
    "score_figure": "milpscore.plots._scores",
    "score_histogram": "milpscore.plots._scores",
    "search_errors": "milpscore.plots._ternary",
    "set_counts": "milpscore.plots._facets_study",
    "study_figure": "milpscore.plots._study",
    "ternary_figure": "milpscore.plots._ternary",
    "twin_accuracy": "milpscore.plots._credibility",
    "weight_path": "milpscore.plots._ternary",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
