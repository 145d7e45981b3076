from ._adaptive_l1 import AdaptiveL1 as AdaptiveL1
from ._alpha_facets import AlphaFacets as AlphaFacets
from ._binarsity import Binarsity as Binarsity, data_driven_weights as data_driven_weights
from ._block_tv import BlockTV as BlockTV
from ._box import Box as Box
from ._elastic_net import ElasticNet as ElasticNet
from ._eye import EYE as EYE
from ._facets import Facets as Facets
from ._group_l1 import GroupL1 as GroupL1
from ._integer_facets import IntegerFacets as IntegerFacets
from ._l0 import L0 as L0
from ._l1 import L1 as L1
from ._l2 import L2 as L2
from ._naive_credibility import NaiveCredibility as NaiveCredibility
from ._of_points import PointPenalty as PointPenalty
from ._owl import OWL as OWL
from ._registry import PENALTIES as PENALTIES, penalty_class as penalty_class
from ._sparse_hull import SparseHull as SparseHull
from ._strongly_convex_facets import StronglyConvexFacets as StronglyConvexFacets
from ._weighted_l1 import WeightedL1 as WeightedL1
from ._weighted_l2 import WeightedL2 as WeightedL2
from ._weighted_tv import WeightedTV as WeightedTV
