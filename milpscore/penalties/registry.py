"""The penalties that have a prox, by name."""

from __future__ import annotations

from typing import Any

from milpscore.core.errors import Registry

PENALTIES: Registry[Any] = Registry(
    "penalty",
    {
        "adaptive_l1": "milpscore.penalties._sums:AdaptiveL1",
        "alpha_facets": "milpscore.penalties._sums:AlphaFacets",
        "binarsity": "milpscore.penalties._chains:Binarsity",
        "box": "milpscore.penalties._sets:Box",
        "elastic_net": "milpscore.penalties._sums:ElasticNet",
        "eye": "milpscore.penalties._norms:EYE",
        "facets": "milpscore.penalties._sums:Facets",
        "group_l1": "milpscore.penalties._norms:GroupL1",
        "l1": "milpscore.penalties._sums:L1",
        "l2": "milpscore.penalties._sums:L2",
        "naive_credibility": "milpscore.penalties._sums:NaiveCredibility",
        "owl": "milpscore.penalties._norms:OWL",
        "scf": "milpscore.penalties._sums:StronglyConvexFacets",
        "sparse_hull": "milpscore.penalties._sets:SparseHull",
        "weighted_l1": "milpscore.penalties._sums:WeightedL1",
        "weighted_l2": "milpscore.penalties._sums:WeightedL2",
        "weighted_tv": "milpscore.penalties._chains:WeightedTV",
    },
)
"""Name -> class of every penalty with a prox; box and sparse_hull are sets and have no ``lam``."""
