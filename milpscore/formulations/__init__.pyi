from ._auc import auc as auc
from ._conic_penalties import (
    binarsity as binarsity,
    elastic_net as elastic_net,
    eye as eye,
    facets as facets,
    naive_credibility as naive_credibility,
    owl as owl,
    strongly_convex_facets as strongly_convex_facets,
    weighted_fused_lasso as weighted_fused_lasso,
    weighted_l1 as weighted_l1,
    weighted_l2 as weighted_l2,
)
from ._fused_lasso import (
    fused_lasso as fused_lasso,
    fused_lasso_by_feature as fused_lasso_by_feature,
)
from ._hinge import (
    convex_rounding as convex_rounding,
    facets_hinge as facets_hinge,
    hinge as hinge,
    sparse_rounding as sparse_rounding,
)
from ._ordinal import ordinal as ordinal
from ._pairwise import PairwiseBound as PairwiseBound, pairwise_bound as pairwise_bound
from ._perspective import perspective as perspective
from ._registry import (
    CONIC_FORMULATIONS as CONIC_FORMULATIONS,
    FORMULATIONS as FORMULATIONS,
    SURVIVAL_FORMULATIONS as SURVIVAL_FORMULATIONS,
    card_builder as card_builder,
    card_name as card_name,
)
from ._risk_score import (
    BEYOND as BEYOND,
    any_scale as any_scale,
    gentle_scale as gentle_scale,
    over_gentle_scales as over_gentle_scales,
    risk_score as risk_score,
)
from ._slim import slim as slim
from ._survival_score import survival_score as survival_score
