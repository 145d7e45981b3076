"""The estimator of each formulation; adding one is a new file and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from milpscore.core.errors import FormulationError

if TYPE_CHECKING:
    from milpscore.estimators._base import CardClassifier

ESTIMATORS: dict[str, str] = {
    "convex_rounding": "ConvexRoundingClassifier",
    "fused_lasso": "FusedLassoClassifier",
    "hinge": "HingeClassifier",
    "slim": "SlimClassifier",
    "sparse_rounding": "SparseRoundingClassifier",
}
"""Formulation name -> estimator name; the module is called after the formulation."""


def estimator_class(formulation: str) -> type[CardClassifier]:
    """The estimator of a formulation; hyphens count as underscores.

    Raises
    ------
    FormulationError
        Where there is none; the message lists those there are.
    """
    key = formulation.replace("-", "_")
    if key not in ESTIMATORS:
        raise FormulationError(
            f"no estimator for {formulation!r}; there are {', '.join(sorted(ESTIMATORS))}"
        )
    module = import_module(f"milpscore.estimators._{key}")
    found: type[CardClassifier] = getattr(module, ESTIMATORS[key])
    return found
