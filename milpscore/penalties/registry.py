"""The penalties that have a prox, by name."""

from __future__ import annotations

from typing import Any

from milpscore.core.errors import Registry

PENALTIES: Registry[Any] = Registry(
    "penalty",
    {
        "adaptive_l1": "milpscore.penalties.ramps:AdaptiveL1",
        "alpha_facets": "milpscore.penalties.ramps:AlphaFacets",
        "binarsity": "milpscore.penalties._chains:Binarsity",
        "box": "milpscore.penalties._norms:Box",
        "elastic_net": "milpscore.penalties.ramps:ElasticNet",
        "eye": "milpscore.penalties._norms:EYE",
        "facets": "milpscore.penalties.ramps:Facets",
        "group_l1": "milpscore.penalties._norms:GroupL1",
        "l1": "milpscore.penalties.ramps:L1",
        "l2": "milpscore.penalties.ramps:L2",
        "naive_credibility": "milpscore.penalties.ramps:NaiveCredibility",
        "owl": "milpscore.penalties._norms:OWL",
        "scf": "milpscore.penalties.ramps:StronglyConvexFacets",
        "sparse_hull": "milpscore.penalties._norms:SparseHull",
        "weighted_l1": "milpscore.penalties.ramps:WeightedL1",
        "weighted_l2": "milpscore.penalties.ramps:WeightedL2",
        "weighted_tv": "milpscore.penalties._chains:WeightedTV",
    },
)
"""Name -> class of every penalty with a prox; box and sparse_hull are sets and have no ``lam``."""
