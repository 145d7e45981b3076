"""The formulations by name; adding one is a new file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from milpscore.core.errors import FormulationError

if TYPE_CHECKING:  # the names alone are read by the command line, which must start at once
    from milpscore.core.conic import ConicProgram
    from milpscore.core.program import Program

Builder: TypeAlias = "Callable[..., Program]"
ConicBuilder: TypeAlias = "Callable[..., ConicProgram]"

FORMULATIONS: dict[str, str] = {
    "convex_rounding": "milpscore.formulations._convex_rounding",
    "facets_hinge": "milpscore.formulations._facets_hinge",
    "fused_lasso": "milpscore.formulations._fused_lasso",
    "hinge": "milpscore.formulations._hinge",
    "risk_score": "milpscore.formulations._risk_score",
    "slim": "milpscore.formulations._slim",
    "sparse_rounding": "milpscore.formulations._sparse_rounding",
}

CONIC_FORMULATIONS: dict[str, str] = {
    "binarsity": "milpscore.formulations._binarsity",
    "elastic_net": "milpscore.formulations._elastic_net",
    "eye": "milpscore.formulations._eye",
    "facets": "milpscore.formulations._facets",
    "naive_credibility": "milpscore.formulations._naive_credibility",
    "owl": "milpscore.formulations._owl",
    "strongly_convex_facets": "milpscore.formulations._strongly_convex_facets",
    "weighted_fused_lasso": "milpscore.formulations._weighted_fused_lasso",
    "weighted_l1": "milpscore.formulations._weighted_l1",
    "weighted_l2": "milpscore.formulations._weighted_l2",
}
"""Those over real coefficients, in CVXPY."""


def builder(name: str) -> Builder:
    """The builder called ``name``; hyphens count as underscores.

    Raises
    ------
    FormulationError
        Where there is none; the message lists those there are.
    """
    key = name.replace("-", "_")
    if key not in FORMULATIONS:
        raise FormulationError(
            f"no formulation {name!r}; there are {', '.join(sorted(FORMULATIONS))}"
        )
    found: Builder = getattr(import_module(FORMULATIONS[key]), key)
    return found


def conic_builder_of(name: str) -> ConicBuilder:
    """The builder over real coefficients called ``name``; hyphens count as underscores.

    Raises
    ------
    FormulationError
        Where there is none; the message lists those there are.
    """
    key = name.replace("-", "_")
    if key not in CONIC_FORMULATIONS:
        raise FormulationError(
            f"no conic formulation {name!r}; there are {', '.join(sorted(CONIC_FORMULATIONS))}"
        )
    found: ConicBuilder = getattr(import_module(CONIC_FORMULATIONS[key]), key)
    return found
