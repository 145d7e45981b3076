from ._base import CardClassifier as CardClassifier
from ._binarsity import (
    BinarsityClassifier as BinarsityClassifier,
    BinarsityClassifierCV as BinarsityClassifierCV,
    BinarsityRegressor as BinarsityRegressor,
    BinarsityRegressorCV as BinarsityRegressorCV,
)
from ._convex_rounding import ConvexRoundingClassifier as ConvexRoundingClassifier
from ._cv import CardClassifierCV as CardClassifierCV, one_standard_error as one_standard_error
from ._expected import EXPECTED_FAILED_CHECKS as EXPECTED_FAILED_CHECKS
from ._eye import (
    EyeClassifier as EyeClassifier,
    EyeClassifierCV as EyeClassifierCV,
    EyeRegressor as EyeRegressor,
    EyeRegressorCV as EyeRegressorCV,
)
from ._facets import (
    FacetsClassifier as FacetsClassifier,
    FacetsClassifierCV as FacetsClassifierCV,
    FacetsRegressor as FacetsRegressor,
    FacetsRegressorCV as FacetsRegressorCV,
)
from ._facets_hinge import (
    FacetsHingeClassifier as FacetsHingeClassifier,
    FacetsHingeClassifierCV as FacetsHingeClassifierCV,
)
from ._fused_lasso import (
    FusedLassoClassifier as FusedLassoClassifier,
    FusedLassoClassifierCV as FusedLassoClassifierCV,
)
from ._hinge import HingeClassifier as HingeClassifier, HingeClassifierCV as HingeClassifierCV
from ._penalised import PenalisedModel as PenalisedModel
from ._penalised_cv import PenalisedModelCV as PenalisedModelCV
from ._penalised_linear import (
    PenalisedClassifier as PenalisedClassifier,
    PenalisedClassifierCV as PenalisedClassifierCV,
    PenalisedRegressor as PenalisedRegressor,
    PenalisedRegressorCV as PenalisedRegressorCV,
)
from ._registry import (
    ESTIMATORS as ESTIMATORS,
    PENALISED as PENALISED,
    estimator_class as estimator_class,
    penalised_class as penalised_class,
)
from ._risk_score import (
    RiskScoreClassifier as RiskScoreClassifier,
    RiskScoreClassifierCV as RiskScoreClassifierCV,
)
from ._slim import SlimClassifier as SlimClassifier, SlimClassifierCV as SlimClassifierCV
from ._sparse_rounding import (
    SparseRoundingClassifier as SparseRoundingClassifier,
    SparseRoundingClassifierCV as SparseRoundingClassifierCV,
)
