from ._binarsity import (
    binarsity_figure as binarsity_figure,
    method_values as method_values,
    recovered_signal as recovered_signal,
    recovered_steps as recovered_steps,
)
from ._bounds import bounds_over_time as bounds_over_time
from ._calibration import calibration as calibration
from ._comparison import comparison_figure as comparison_figure
from ._credibility import (
    credibility_figure as credibility_figure,
    group_credibility as group_credibility,
    log_ratios as log_ratios,
    method_auc as method_auc,
    method_credibility as method_credibility,
    twin_accuracy as twin_accuracy,
)
from ._facets_study import (
    coefficient_path as coefficient_path,
    facets_figure as facets_figure,
    facets_table2_figure as facets_table2_figure,
    measure_map as measure_map,
    set_counts as set_counts,
)
from ._heat_maps import facets_heat_maps as facets_heat_maps, heat_map as heat_map
from ._level_sets import level_sets as level_sets
from ._path import regularisation_path as regularisation_path
from ._points import coefficients as coefficients
from ._pool import loss_against_terms as loss_against_terms, points_over_pool as points_over_pool
from ._profiles import bound_curves as bound_curves, performance_profile as performance_profile
from ._prox_curves import prox_curves as prox_curves
from ._scores import (
    recovered_points as recovered_points,
    recovery_by_size as recovery_by_size,
    score_figure as score_figure,
    score_histogram as score_histogram,
)
from ._study import (
    accuracy_over_terms as accuracy_over_terms,
    finding_figure as finding_figure,
    study_figure as study_figure,
)
from ._ternary import (
    binary_weights as binary_weights,
    rounding_errors as rounding_errors,
    search_errors as search_errors,
    ternary_figure as ternary_figure,
    weight_path as weight_path,
)
