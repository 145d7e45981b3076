"""The constraints by name; adding one is a new class and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore.core.errors import FormulationError
from milpscore.core.registry import Registry

if TYPE_CHECKING:
    from milpscore.constraints._base import Constraint

CONSTRAINTS: Registry[type[Constraint]] = Registry(
    "constraint",
    {
        name: f"milpscore.constraints:{name}"
        for name in (
            "AtLeast",
            "AtMost",
            "EitherOr",
            "Exactly",
            "Exclude",
            "Implies",
            "Include",
            "MaxErrors",
            "MaxFPR",
            "MaxFeatures",
            "MinTPR",
            "Monotone",
            "Range",
            "Sign",
            "TotalRange",
        )
    },
    FormulationError,
)
"""Names as files write them count too: ``at_most`` is ``AtMost``."""
