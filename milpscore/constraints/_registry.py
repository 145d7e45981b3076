"""The constraints by name; adding one is a new class and one line here."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from milpscore.core.errors import FormulationError

if TYPE_CHECKING:
    from milpscore.constraints._base import Constraint

CONSTRAINTS: dict[str, str] = {
    "AtLeast": "milpscore.constraints._counts",
    "AtMost": "milpscore.constraints._counts",
    "EitherOr": "milpscore.constraints._logic",
    "Exactly": "milpscore.constraints._counts",
    "Exclude": "milpscore.constraints._points",
    "Implies": "milpscore.constraints._logic",
    "Include": "milpscore.constraints._counts",
    "MaxErrors": "milpscore.constraints._errors",
    "MaxFPR": "milpscore.constraints._errors",
    "MaxFeatures": "milpscore.constraints._counts",
    "MinTPR": "milpscore.constraints._errors",
    "Monotone": "milpscore.constraints._points",
    "Range": "milpscore.constraints._points",
    "Sign": "milpscore.constraints._points",
    "TotalRange": "milpscore.constraints._total",
}


def constraint_class(name: str) -> type[Constraint]:
    """The class called ``name``: ``AtMost``, or ``at_most`` as files write it.

    Raises
    ------
    FormulationError
        Where there is none; the message names the nearest.
    """
    wanted = _folded(name)
    for known, home in CONSTRAINTS.items():
        if _folded(known) == wanted:
            found: type[Constraint] = getattr(import_module(home), known)
            return found
    close = get_close_matches(wanted, [_folded(known) for known in CONSTRAINTS], n=1)
    meant = next((known for known in CONSTRAINTS if close and _folded(known) == close[0]), "")
    hint = f"did you mean {meant}? " if meant else ""
    raise FormulationError(
        f"there is no constraint {name!r}; {hint}there are {', '.join(CONSTRAINTS)}"
    )


def _folded(name: str) -> str:
    """A name without case, hyphens and underscores."""
    return name.lower().replace("_", "").replace("-", "")
