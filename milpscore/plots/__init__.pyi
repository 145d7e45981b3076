from ._binarsity import (
    binarsity_figure as binarsity_figure,
)
from ._binarsity import (
    method_values as method_values,
)
from ._binarsity import (
    recovered_signal as recovered_signal,
)
from ._binarsity import (
    recovered_steps as recovered_steps,
)
from ._bounds import bounds_over_time as bounds_over_time
from ._calibration import calibration as calibration
from ._comparison import comparison_figure as comparison_figure
from ._credibility import (
    credibility_figure as credibility_figure,
)
from ._credibility import (
    group_credibility as group_credibility,
)
from ._credibility import (
    log_ratios as log_ratios,
)
from ._credibility import (
    method_auc as method_auc,
)
from ._credibility import (
    method_credibility as method_credibility,
)
from ._credibility import (
    twin_accuracy as twin_accuracy,
)
from ._facets_study import (
    coefficient_path as coefficient_path,
)
from ._facets_study import (
    facets_figure as facets_figure,
)
from ._facets_study import (
    facets_table2_figure as facets_table2_figure,
)
from ._facets_study import (
    measure_map as measure_map,
)
from ._facets_study import (
    set_counts as set_counts,
)
from ._heat_maps import facets_heat_maps as facets_heat_maps
from ._heat_maps import heat_map as heat_map
from ._level_sets import level_sets as level_sets
from ._path import regularisation_path as regularisation_path
from ._points import coefficients as coefficients
from ._pool import loss_against_terms as loss_against_terms
from ._pool import points_over_pool as points_over_pool
from ._profiles import bound_curves as bound_curves
from ._profiles import performance_profile as performance_profile
from ._prox_curves import prox_curves as prox_curves
from ._scores import (
    recovered_points as recovered_points,
)
from ._scores import (
    recovery_by_size as recovery_by_size,
)
from ._scores import (
    score_figure as score_figure,
)
from ._scores import (
    score_histogram as score_histogram,
)
from ._study import (
    accuracy_over_terms as accuracy_over_terms,
)
from ._study import (
    finding_figure as finding_figure,
)
from ._study import (
    study_figure as study_figure,
)
from ._ternary import (
    binary_weights as binary_weights,
)
from ._ternary import (
    rounding_errors as rounding_errors,
)
from ._ternary import (
    search_errors as search_errors,
)
from ._ternary import (
    ternary_figure as ternary_figure,
)
from ._ternary import (
    weight_path as weight_path,
)
