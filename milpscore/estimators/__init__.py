"""scikit-learn estimators: parameters in, formulation, solver and integer card out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.estimators._base import CardClassifier
    from milpscore.estimators._binarsity import (
        BinarsityClassifier,
        BinarsityClassifierCV,
        BinarsityRegressor,
        BinarsityRegressorCV,
    )
    from milpscore.estimators._convex_rounding import ConvexRoundingClassifier
    from milpscore.estimators._cv import CardClassifierCV, one_standard_error
    from milpscore.estimators._expected import EXPECTED_FAILED_CHECKS
    from milpscore.estimators._eye import (
        EyeClassifier,
        EyeClassifierCV,
        EyeRegressor,
        EyeRegressorCV,
    )
    from milpscore.estimators._facets import (
        FacetsClassifier,
        FacetsClassifierCV,
        FacetsRegressor,
        FacetsRegressorCV,
    )
    from milpscore.estimators._facets_hinge import FacetsHingeClassifier, FacetsHingeClassifierCV
    from milpscore.estimators._fused_lasso import FusedLassoClassifier, FusedLassoClassifierCV
    from milpscore.estimators._hinge import HingeClassifier, HingeClassifierCV
    from milpscore.estimators._penalised import PenalisedModel
    from milpscore.estimators._penalised_cv import PenalisedModelCV
    from milpscore.estimators._penalised_linear import (
        PenalisedClassifier,
        PenalisedClassifierCV,
        PenalisedRegressor,
        PenalisedRegressorCV,
    )
    from milpscore.estimators._registry import (
        ESTIMATORS,
        PENALISED,
        estimator_class,
        penalised_class,
    )
    from milpscore.estimators._risk_score import RiskScoreClassifier, RiskScoreClassifierCV
    from milpscore.estimators._slim import SlimClassifier, SlimClassifierCV
    from milpscore.estimators._sparse_rounding import (
        SparseRoundingClassifier,
        SparseRoundingClassifierCV,
    )

__all__ = [
    "ESTIMATORS",
    "EXPECTED_FAILED_CHECKS",
    "PENALISED",
    "BinarsityClassifier",
    "BinarsityClassifierCV",
    "BinarsityRegressor",
    "BinarsityRegressorCV",
    "CardClassifier",
    "CardClassifierCV",
    "ConvexRoundingClassifier",
    "EyeClassifier",
    "EyeClassifierCV",
    "EyeRegressor",
    "EyeRegressorCV",
    "FacetsClassifier",
    "FacetsClassifierCV",
    "FacetsHingeClassifier",
    "FacetsHingeClassifierCV",
    "FacetsRegressor",
    "FacetsRegressorCV",
    "FusedLassoClassifier",
    "FusedLassoClassifierCV",
    "HingeClassifier",
    "HingeClassifierCV",
    "PenalisedClassifier",
    "PenalisedClassifierCV",
    "PenalisedModel",
    "PenalisedModelCV",
    "PenalisedRegressor",
    "PenalisedRegressorCV",
    "RiskScoreClassifier",
    "RiskScoreClassifierCV",
    "SlimClassifier",
    "SlimClassifierCV",
    "SparseRoundingClassifier",
    "SparseRoundingClassifierCV",
    "estimator_class",
    "one_standard_error",
    "penalised_class",
]

_EXPORTS = {
    "BinarsityClassifier": "milpscore.estimators._binarsity",
    "BinarsityClassifierCV": "milpscore.estimators._binarsity",
    "BinarsityRegressor": "milpscore.estimators._binarsity",
    "BinarsityRegressorCV": "milpscore.estimators._binarsity",
    "CardClassifier": "milpscore.estimators._base",
    "CardClassifierCV": "milpscore.estimators._cv",
    "ConvexRoundingClassifier": "milpscore.estimators._convex_rounding",
    "ESTIMATORS": "milpscore.estimators._registry",
    "EXPECTED_FAILED_CHECKS": "milpscore.estimators._expected",
    "EyeClassifier": "milpscore.estimators._eye",
    "EyeClassifierCV": "milpscore.estimators._eye",
    "EyeRegressor": "milpscore.estimators._eye",
    "EyeRegressorCV": "milpscore.estimators._eye",
    "FacetsClassifier": "milpscore.estimators._facets",
    "FacetsClassifierCV": "milpscore.estimators._facets",
    "FacetsHingeClassifier": "milpscore.estimators._facets_hinge",
    "FacetsHingeClassifierCV": "milpscore.estimators._facets_hinge",
    "FacetsRegressor": "milpscore.estimators._facets",
    "FacetsRegressorCV": "milpscore.estimators._facets",
    "FusedLassoClassifier": "milpscore.estimators._fused_lasso",
    "FusedLassoClassifierCV": "milpscore.estimators._fused_lasso",
    "HingeClassifier": "milpscore.estimators._hinge",
    "HingeClassifierCV": "milpscore.estimators._hinge",
    "PENALISED": "milpscore.estimators._registry",
    "PenalisedClassifier": "milpscore.estimators._penalised_linear",
    "PenalisedClassifierCV": "milpscore.estimators._penalised_linear",
    "PenalisedModel": "milpscore.estimators._penalised",
    "PenalisedModelCV": "milpscore.estimators._penalised_cv",
    "PenalisedRegressor": "milpscore.estimators._penalised_linear",
    "PenalisedRegressorCV": "milpscore.estimators._penalised_linear",
    "RiskScoreClassifier": "milpscore.estimators._risk_score",
    "RiskScoreClassifierCV": "milpscore.estimators._risk_score",
    "SlimClassifier": "milpscore.estimators._slim",
    "SlimClassifierCV": "milpscore.estimators._slim",
    "SparseRoundingClassifier": "milpscore.estimators._sparse_rounding",
    "SparseRoundingClassifierCV": "milpscore.estimators._sparse_rounding",
    "estimator_class": "milpscore.estimators._registry",
    "one_standard_error": "milpscore.estimators._cv",
    "penalised_class": "milpscore.estimators._registry",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
