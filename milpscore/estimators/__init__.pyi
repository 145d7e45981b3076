from ._cards import (
    ESTIMATORS as ESTIMATORS,
    CardClassifier as CardClassifier,
    ConvexRoundingClassifier as ConvexRoundingClassifier,
    FacetsHingeClassifier as FacetsHingeClassifier,
    FormulationClassifier as FormulationClassifier,
    FusedLassoClassifier as FusedLassoClassifier,
    HingeClassifier as HingeClassifier,
    RiskScoreClassifier as RiskScoreClassifier,
    SlimClassifier as SlimClassifier,
    SparseRoundingClassifier as SparseRoundingClassifier,
)
from ._cv import OneStandardErrorCV as OneStandardErrorCV, one_standard_error as one_standard_error
from ._ordinal import OrdinalScoreClassifier as OrdinalScoreClassifier
from ._penalised import (
    BinarsityClassifier as BinarsityClassifier,
    BinarsityRegressor as BinarsityRegressor,
    EyeClassifier as EyeClassifier,
    EyeRegressor as EyeRegressor,
    FacetsClassifier as FacetsClassifier,
    FacetsRegressor as FacetsRegressor,
    PenalisedClassifier as PenalisedClassifier,
    PenalisedModel as PenalisedModel,
    PenalisedRegressor as PenalisedRegressor,
)
from ._survival import SurvivalScoreEstimator as SurvivalScoreEstimator
