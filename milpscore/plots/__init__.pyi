from ._cards import (
    calibration as calibration,
    loss_against_terms as loss_against_terms,
    points_over_pool as points_over_pool,
)
from ._comparison import (
    accuracy_over_terms as accuracy_over_terms,
    bound_curves as bound_curves,
    bounds_over_time as bounds_over_time,
    coefficients as coefficients,
    comparison_figure as comparison_figure,
    performance_profile as performance_profile,
    race_figure as race_figure,
    study_figure as study_figure,
)
from ._penalties import (
    facets_heat_maps as facets_heat_maps,
    heat_map as heat_map,
    level_sets as level_sets,
    prox_curves as prox_curves,
    regularisation_path as regularisation_path,
)
