"""The estimator of each formulation that has one of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore.core.errors import FormulationError, Registry

if TYPE_CHECKING:
    from milpscore.estimators._cards import CardClassifier

_HOME = "milpscore.estimators._cards"

ESTIMATORS: Registry[type[CardClassifier]] = Registry(
    "estimator for",
    {
        "convex_rounding": f"{_HOME}:ConvexRoundingClassifier",
        "facets_hinge": f"{_HOME}:FacetsHingeClassifier",
        "fused_lasso": f"{_HOME}:FusedLassoClassifier",
        "hinge": f"{_HOME}:HingeClassifier",
        "risk_score": f"{_HOME}:RiskScoreClassifier",
        "slim": f"{_HOME}:SlimClassifier",
        "sparse_rounding": f"{_HOME}:SparseRoundingClassifier",
    },
    FormulationError,
)
"""By formulation; FormulationClassifier takes all others."""
