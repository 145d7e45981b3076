"""The formulations by name; adding one is a new file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from milpscore.core.errors import FormulationError, Registry, homes

if TYPE_CHECKING:  # the names alone are read by the command line, which must start at once
    from milpscore.core.conic import ConicProgram
    from milpscore.core.program import Program

Builder: TypeAlias = "Callable[..., Program]"
ConicBuilder: TypeAlias = "Callable[..., ConicProgram]"

FORMULATIONS: Registry[Builder] = Registry(
    "formulation",
    homes(
        "milpscore.formulations",
        "auc convex_rounding facets_hinge fused_lasso hinge ordinal risk_score slim "
        "sparse_rounding",
    ),
    FormulationError,
)
"""Those over whole points, in Pyomo."""

SURVIVAL_FORMULATIONS: Registry[Builder] = Registry(
    "survival formulation", homes("milpscore.formulations", "survival_score"), FormulationError
)
"""Those of times to an event, over whole points."""


def card_name(name: str) -> str:
    """Return the registry's name of a formulation over whole points."""
    plain = name.replace("-", "_")
    return plain if plain in SURVIVAL_FORMULATIONS else FORMULATIONS.name_of(name)


def card_builder(name: str) -> Builder:
    """Return the builder of a name among those over whole points."""
    known = card_name(name)
    return (SURVIVAL_FORMULATIONS if known in SURVIVAL_FORMULATIONS else FORMULATIONS)[known]


CONIC_FORMULATIONS: Registry[ConicBuilder] = Registry(
    "conic formulation",
    homes(
        "milpscore.formulations",
        "binarsity elastic_net eye facets naive_credibility owl perspective "
        "strongly_convex_facets weighted_fused_lasso weighted_l1 weighted_l2",
    ),
    FormulationError,
)
"""Those over real coefficients, in CVXPY."""
