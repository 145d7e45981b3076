"""Penalties of the coefficients, one a file: value, prox, conjugate, subdifferential."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.penalties._adaptive_l1 import AdaptiveL1
    from milpscore.penalties._alpha_facets import AlphaFacets
    from milpscore.penalties._binarsity import Binarsity, data_driven_weights
    from milpscore.penalties._block_tv import BlockTV
    from milpscore.penalties._box import Box
    from milpscore.penalties._elastic_net import ElasticNet
    from milpscore.penalties._eye import EYE
    from milpscore.penalties._facets import Facets
    from milpscore.penalties._group_l1 import GroupL1
    from milpscore.penalties._integer_facets import IntegerFacets
    from milpscore.penalties._l0 import L0
    from milpscore.penalties._l1 import L1
    from milpscore.penalties._l2 import L2
    from milpscore.penalties._naive_credibility import NaiveCredibility
    from milpscore.penalties._of_points import PointPenalty
    from milpscore.penalties._owl import OWL
    from milpscore.penalties._registry import PENALTIES, penalty_class
    from milpscore.penalties._sparse_hull import SparseHull
    from milpscore.penalties._strongly_convex_facets import StronglyConvexFacets
    from milpscore.penalties._weighted_l1 import WeightedL1
    from milpscore.penalties._weighted_l2 import WeightedL2
    from milpscore.penalties._weighted_tv import WeightedTV

__all__ = [
    "EYE",
    "L0",
    "L1",
    "L2",
    "OWL",
    "PENALTIES",
    "AdaptiveL1",
    "AlphaFacets",
    "Binarsity",
    "BlockTV",
    "Box",
    "ElasticNet",
    "Facets",
    "GroupL1",
    "IntegerFacets",
    "NaiveCredibility",
    "PointPenalty",
    "SparseHull",
    "StronglyConvexFacets",
    "WeightedL1",
    "WeightedL2",
    "WeightedTV",
    "data_driven_weights",
    "penalty_class",
]

_EXPORTS = {
    "PENALTIES": "milpscore.penalties._registry",
    "AdaptiveL1": "milpscore.penalties._adaptive_l1",
    "AlphaFacets": "milpscore.penalties._alpha_facets",
    "Binarsity": "milpscore.penalties._binarsity",
    "BlockTV": "milpscore.penalties._block_tv",
    "Box": "milpscore.penalties._box",
    "EYE": "milpscore.penalties._eye",
    "ElasticNet": "milpscore.penalties._elastic_net",
    "Facets": "milpscore.penalties._facets",
    "GroupL1": "milpscore.penalties._group_l1",
    "IntegerFacets": "milpscore.penalties._integer_facets",
    "L0": "milpscore.penalties._l0",
    "L1": "milpscore.penalties._l1",
    "L2": "milpscore.penalties._l2",
    "NaiveCredibility": "milpscore.penalties._naive_credibility",
    "OWL": "milpscore.penalties._owl",
    "PointPenalty": "milpscore.penalties._of_points",
    "SparseHull": "milpscore.penalties._sparse_hull",
    "StronglyConvexFacets": "milpscore.penalties._strongly_convex_facets",
    "WeightedL1": "milpscore.penalties._weighted_l1",
    "WeightedL2": "milpscore.penalties._weighted_l2",
    "WeightedTV": "milpscore.penalties._weighted_tv",
    "data_driven_weights": "milpscore.penalties._binarsity",
    "penalty_class": "milpscore.penalties._registry",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
