"""scikit-learn estimators: parameters in, formulation, solver and integer card out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.estimators._base import CardClassifier
    from milpscore.estimators._convex_rounding import ConvexRoundingClassifier
    from milpscore.estimators._cv import CardClassifierCV, one_standard_error
    from milpscore.estimators._expected import EXPECTED_FAILED_CHECKS
    from milpscore.estimators._fused_lasso import FusedLassoClassifier, FusedLassoClassifierCV
    from milpscore.estimators._hinge import HingeClassifier, HingeClassifierCV
    from milpscore.estimators._registry import ESTIMATORS, estimator_class
    from milpscore.estimators._slim import SlimClassifier, SlimClassifierCV
    from milpscore.estimators._sparse_rounding import (
        SparseRoundingClassifier,
        SparseRoundingClassifierCV,
    )

__all__ = [
    "ESTIMATORS",
    "EXPECTED_FAILED_CHECKS",
    "CardClassifier",
    "CardClassifierCV",
    "ConvexRoundingClassifier",
    "FusedLassoClassifier",
    "FusedLassoClassifierCV",
    "HingeClassifier",
    "HingeClassifierCV",
    "SlimClassifier",
    "SlimClassifierCV",
    "SparseRoundingClassifier",
    "SparseRoundingClassifierCV",
    "estimator_class",
    "one_standard_error",
]

_EXPORTS = {
    "ESTIMATORS": "milpscore.estimators._registry",
    "EXPECTED_FAILED_CHECKS": "milpscore.estimators._expected",
    "CardClassifier": "milpscore.estimators._base",
    "CardClassifierCV": "milpscore.estimators._cv",
    "ConvexRoundingClassifier": "milpscore.estimators._convex_rounding",
    "FusedLassoClassifier": "milpscore.estimators._fused_lasso",
    "FusedLassoClassifierCV": "milpscore.estimators._fused_lasso",
    "HingeClassifier": "milpscore.estimators._hinge",
    "HingeClassifierCV": "milpscore.estimators._hinge",
    "SlimClassifier": "milpscore.estimators._slim",
    "SlimClassifierCV": "milpscore.estimators._slim",
    "SparseRoundingClassifier": "milpscore.estimators._sparse_rounding",
    "SparseRoundingClassifierCV": "milpscore.estimators._sparse_rounding",
    "estimator_class": "milpscore.estimators._registry",
    "one_standard_error": "milpscore.estimators._cv",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
