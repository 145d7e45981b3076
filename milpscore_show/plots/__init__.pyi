from ._cards import (
    calibration as calibration,
    instability as instability,
    loss_against_terms as loss_against_terms,
    points_over_pool as points_over_pool,
)
from ._comparison import (
    accuracy_over_terms as accuracy_over_terms,
    bound_curves as bound_curves,
    bounds_over_time as bounds_over_time,
    coefficients as coefficients,
    comparison_figure as comparison_figure,
    gap_curves as gap_curves,
    performance_profile as performance_profile,
    profiles_figure as profiles_figure,
    race_figure as race_figure,
    study_figure as study_figure,
)
from ._nomogram import nomogram as nomogram
from ._penalties import (
    facets_heat_maps as facets_heat_maps,
    heat_map as heat_map,
    level_sets as level_sets,
    prox_curves as prox_curves,
    regularisation_path as regularisation_path,
)
from ._totals import (
    decision_curve as decision_curve,
    roc_curve as roc_curve,
    totals_by_class as totals_by_class,
)
