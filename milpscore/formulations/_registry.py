"""The formulations by name; adding one is a new file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from milpscore.core.errors import FormulationError

if TYPE_CHECKING:  # the names alone are read by the command line, which must start at once
    from milpscore.core.program import Program

Builder: TypeAlias = "Callable[..., Program]"

FORMULATIONS: dict[str, str] = {
    "convex_rounding": "milpscore.formulations._convex_rounding",
    "fused_lasso": "milpscore.formulations._fused_lasso",
    "hinge": "milpscore.formulations._hinge",
    "slim": "milpscore.formulations._slim",
    "sparse_rounding": "milpscore.formulations._sparse_rounding",
}


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
