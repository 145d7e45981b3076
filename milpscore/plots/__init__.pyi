from ._bounds import bounds_over_time as bounds_over_time
from ._calibration import calibration as calibration
from ._comparison import comparison_figure as comparison_figure
from ._heat_maps import facets_heat_maps as facets_heat_maps, heat_map as heat_map
from ._level_sets import level_sets as level_sets
from ._path import regularisation_path as regularisation_path
from ._points import coefficients as coefficients
from ._pool import loss_against_terms as loss_against_terms, points_over_pool as points_over_pool
from ._profiles import bound_curves as bound_curves, performance_profile as performance_profile
from ._prox_curves import prox_curves as prox_curves
from ._study import (
    accuracy_over_terms as accuracy_over_terms,
    study_figure as study_figure,
)
