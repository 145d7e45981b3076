"""The estimator of each formulation; adding one is a new file and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal

from milpscore.core.errors import FormulationError, OptionError

if TYPE_CHECKING:
    from milpscore.estimators._base import CardClassifier
    from milpscore.estimators._penalised import PenalisedModel
    from milpscore.estimators._penalised_cv import PenalisedModelCV

ESTIMATORS: dict[str, str] = {
    "convex_rounding": "ConvexRoundingClassifier",
    "facets_hinge": "FacetsHingeClassifier",
    "fused_lasso": "FusedLassoClassifier",
    "hinge": "HingeClassifier",
    "risk_score": "RiskScoreClassifier",
    "slim": "SlimClassifier",
    "sparse_rounding": "SparseRoundingClassifier",
}
"""Formulation name -> estimator name; the module is called after the formulation."""

PENALISED: dict[str, str] = {
    "any": "milpscore.estimators._penalised_linear:Penalised",
    "binarsity": "milpscore.estimators._binarsity:Binarsity",
    "eye": "milpscore.estimators._eye:Eye",
    "facets": "milpscore.estimators._facets:Facets",
}
"""Penalty -> module and stem: each has a {stem}Classifier and Regressor, both also as ...CV."""


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


def penalised_class(
    penalty: str, task: Literal["classifier", "regressor"] = "classifier", *, cv: bool = False
) -> type[PenalisedModel] | type[PenalisedModelCV]:
    """The estimator made for a penalty, or for "any"; hyphens count as underscores.

    Raises
    ------
    OptionError
        Where there is none; the message lists those there are.
    """
    key = penalty.replace("-", "_")
    if key not in PENALISED or task not in {"classifier", "regressor"}:
        raise OptionError(
            f"no {task} of its own for {penalty!r}; there are {', '.join(sorted(PENALISED))}, each"
            " as classifier and regressor. PenalisedClassifier takes any penalty."
        )
    module, _, stem = PENALISED[key].partition(":")
    found: type[PenalisedModel] | type[PenalisedModelCV]
    found = getattr(import_module(module), f"{stem}{task.capitalize()}{'CV' if cv else ''}")
    return found
