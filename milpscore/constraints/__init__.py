"""Operational constraints on integer cards: one name, one class, for every formulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.constraints._base import Constraint, bind
    from milpscore.constraints._counts import AtLeast, AtMost, Exactly, Include, MaxFeatures
    from milpscore.constraints._errors import MaxErrors, MaxFPR, MinTPR
    from milpscore.constraints._file import make_constraint, read_constraints
    from milpscore.constraints._logic import EitherOr, Implies
    from milpscore.constraints._points import Exclude, Monotone, Range, Sign
    from milpscore.constraints._registry import CONSTRAINTS, constraint_class
    from milpscore.constraints._total import TotalRange

__all__ = [
    "CONSTRAINTS",
    "AtLeast",
    "AtMost",
    "Constraint",
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
    "bind",
    "constraint_class",
    "make_constraint",
    "read_constraints",
]

_EXPORTS = {
    "AtLeast": "milpscore.constraints._counts",
    "AtMost": "milpscore.constraints._counts",
    "CONSTRAINTS": "milpscore.constraints._registry",
    "Constraint": "milpscore.constraints._base",
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
    "bind": "milpscore.constraints._base",
    "constraint_class": "milpscore.constraints._registry",
    "make_constraint": "milpscore.constraints._file",
    "read_constraints": "milpscore.constraints._file",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
