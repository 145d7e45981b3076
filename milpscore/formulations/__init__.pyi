from ._binarsity import binarsity as binarsity
from ._convex_rounding import convex_rounding as convex_rounding
from ._elastic_net import elastic_net as elastic_net
from ._eye import eye as eye
from ._facets import facets as facets
from ._facets_hinge import facets_hinge as facets_hinge
from ._fused_lasso import (
    fused_lasso as fused_lasso,
    fused_lasso_by_feature as fused_lasso_by_feature,
)
from ._hinge import hinge as hinge
from ._naive_credibility import naive_credibility as naive_credibility
from ._owl import owl as owl
from ._registry import (
    CONIC_FORMULATIONS as CONIC_FORMULATIONS,
    FORMULATIONS as FORMULATIONS,
)
from ._risk_score import risk_score as risk_score
from ._slim import slim as slim
from ._sparse_rounding import sparse_rounding as sparse_rounding
from ._strongly_convex_facets import strongly_convex_facets as strongly_convex_facets
from ._weighted_fused_lasso import weighted_fused_lasso as weighted_fused_lasso
from ._weighted_l1 import weighted_l1 as weighted_l1
from ._weighted_l2 import weighted_l2 as weighted_l2
