from ._chains import (
    Binarsity as Binarsity,
    WeightedTV as WeightedTV,
    data_driven_weights as data_driven_weights,
)
from ._norms import EYE as EYE, OWL as OWL, Box as Box, GroupL1 as GroupL1, SparseHull as SparseHull
from .perspective import Perspective as Perspective
from .points import L0 as L0
from .ramps import (
    L1 as L1,
    L2 as L2,
    AdaptiveL1 as AdaptiveL1,
    AlphaFacets as AlphaFacets,
    ElasticNet as ElasticNet,
    Facets as Facets,
    NaiveCredibility as NaiveCredibility,
    StronglyConvexFacets as StronglyConvexFacets,
    WeightedL1 as WeightedL1,
    WeightedL2 as WeightedL2,
)
from .registry import PENALTIES as PENALTIES
