"""One program a file: Pyomo for LP and MILP, CVXPY for cones. A formulation knows no solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.formulations._binarsity import binarsity
    from milpscore.formulations._convex_rounding import convex_rounding
    from milpscore.formulations._elastic_net import elastic_net
    from milpscore.formulations._eye import eye
    from milpscore.formulations._facets import facets
    from milpscore.formulations._facets_hinge import facets_hinge
    from milpscore.formulations._fused_lasso import fused_lasso, fused_lasso_by_feature
    from milpscore.formulations._hinge import hinge
    from milpscore.formulations._naive_credibility import naive_credibility
    from milpscore.formulations._owl import owl
    from milpscore.formulations._registry import (
        CONIC_FORMULATIONS,
        FORMULATIONS,
        builder,
        conic_builder_of,
    )
    from milpscore.formulations._risk_score import risk_score
    from milpscore.formulations._slim import slim
    from milpscore.formulations._sparse_rounding import sparse_rounding
    from milpscore.formulations._strongly_convex_facets import strongly_convex_facets
    from milpscore.formulations._weighted_fused_lasso import weighted_fused_lasso
    from milpscore.formulations._weighted_l1 import weighted_l1
    from milpscore.formulations._weighted_l2 import weighted_l2

__all__ = [
    "CONIC_FORMULATIONS",
    "FORMULATIONS",
    "binarsity",
    "builder",
    "conic_builder_of",
    "convex_rounding",
    "elastic_net",
    "eye",
    "facets",
    "facets_hinge",
    "fused_lasso",
    "fused_lasso_by_feature",
    "hinge",
    "naive_credibility",
    "owl",
    "risk_score",
    "slim",
    "sparse_rounding",
    "strongly_convex_facets",
    "weighted_fused_lasso",
    "weighted_l1",
    "weighted_l2",
]

_EXPORTS = {
    "CONIC_FORMULATIONS": "milpscore.formulations._registry",
    "FORMULATIONS": "milpscore.formulations._registry",
    "binarsity": "milpscore.formulations._binarsity",
    "builder": "milpscore.formulations._registry",
    "conic_builder_of": "milpscore.formulations._registry",
    "convex_rounding": "milpscore.formulations._convex_rounding",
    "elastic_net": "milpscore.formulations._elastic_net",
    "eye": "milpscore.formulations._eye",
    "facets": "milpscore.formulations._facets",
    "facets_hinge": "milpscore.formulations._facets_hinge",
    "fused_lasso": "milpscore.formulations._fused_lasso",
    "fused_lasso_by_feature": "milpscore.formulations._fused_lasso",
    "hinge": "milpscore.formulations._hinge",
    "naive_credibility": "milpscore.formulations._naive_credibility",
    "owl": "milpscore.formulations._owl",
    "risk_score": "milpscore.formulations._risk_score",
    "slim": "milpscore.formulations._slim",
    "sparse_rounding": "milpscore.formulations._sparse_rounding",
    "strongly_convex_facets": "milpscore.formulations._strongly_convex_facets",
    "weighted_fused_lasso": "milpscore.formulations._weighted_fused_lasso",
    "weighted_l1": "milpscore.formulations._weighted_l1",
    "weighted_l2": "milpscore.formulations._weighted_l2",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
