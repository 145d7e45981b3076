from ._base import CardClassifier as CardClassifier
from ._binarsity import (
    BinarsityClassifier as BinarsityClassifier,
)
from ._binarsity import (
    BinarsityClassifierCV as BinarsityClassifierCV,
)
from ._binarsity import (
    BinarsityRegressor as BinarsityRegressor,
)
from ._binarsity import (
    BinarsityRegressorCV as BinarsityRegressorCV,
)
from ._convex_rounding import ConvexRoundingClassifier as ConvexRoundingClassifier
from ._cv import CardClassifierCV as CardClassifierCV
from ._cv import one_standard_error as one_standard_error
from ._expected import EXPECTED_FAILED_CHECKS as EXPECTED_FAILED_CHECKS
from ._eye import (
    EyeClassifier as EyeClassifier,
)
from ._eye import (
    EyeClassifierCV as EyeClassifierCV,
)
from ._eye import (
    EyeRegressor as EyeRegressor,
)
from ._eye import (
    EyeRegressorCV as EyeRegressorCV,
)
from ._facets import (
    FacetsClassifier as FacetsClassifier,
)
from ._facets import (
    FacetsClassifierCV as FacetsClassifierCV,
)
from ._facets import (
    FacetsRegressor as FacetsRegressor,
)
from ._facets import (
    FacetsRegressorCV as FacetsRegressorCV,
)
from ._facets_hinge import (
    FacetsHingeClassifier as FacetsHingeClassifier,
)
from ._facets_hinge import (
    FacetsHingeClassifierCV as FacetsHingeClassifierCV,
)
from ._fused_lasso import (
    FusedLassoClassifier as FusedLassoClassifier,
)
from ._fused_lasso import (
    FusedLassoClassifierCV as FusedLassoClassifierCV,
)
from ._hinge import HingeClassifier as HingeClassifier
from ._hinge import HingeClassifierCV as HingeClassifierCV
from ._penalised import PenalisedModel as PenalisedModel
from ._penalised_cv import PenalisedModelCV as PenalisedModelCV
from ._penalised_linear import (
    PenalisedClassifier as PenalisedClassifier,
)
from ._penalised_linear import (
    PenalisedClassifierCV as PenalisedClassifierCV,
)
from ._penalised_linear import (
    PenalisedRegressor as PenalisedRegressor,
)
from ._penalised_linear import (
    PenalisedRegressorCV as PenalisedRegressorCV,
)
from ._registry import (
    ESTIMATORS as ESTIMATORS,
)
from ._registry import (
    PENALISED as PENALISED,
)
from ._registry import (
    estimator_class as estimator_class,
)
from ._registry import (
    penalised_class as penalised_class,
)
from ._risk_score import (
    RiskScoreClassifier as RiskScoreClassifier,
)
from ._risk_score import (
    RiskScoreClassifierCV as RiskScoreClassifierCV,
)
from ._slim import SlimClassifier as SlimClassifier
from ._slim import SlimClassifierCV as SlimClassifierCV
from ._sparse_rounding import (
    SparseRoundingClassifier as SparseRoundingClassifier,
)
from ._sparse_rounding import (
    SparseRoundingClassifierCV as SparseRoundingClassifierCV,
)
