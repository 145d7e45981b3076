"""Solvers: HiGHS for LP and MILP. A solver knows no formulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.solvers._conflict import Conflict, conflict
    from milpscore.solvers._options import Options
    from milpscore.solvers._self_test import self_test
    from milpscore.solvers._session import Session
    from milpscore.solvers._solve import SOLVERS, load, solve

__all__ = [
    "SOLVERS",
    "Conflict",
    "Options",
    "Session",
    "conflict",
    "load",
    "self_test",
    "solve",
]

_EXPORTS = {
    "Conflict": "milpscore.solvers._conflict",
    "Options": "milpscore.solvers._options",
    "SOLVERS": "milpscore.solvers._solve",
    "Session": "milpscore.solvers._session",
    "conflict": "milpscore.solvers._conflict",
    "load": "milpscore.solvers._solve",
    "self_test": "milpscore.solvers._self_test",
    "solve": "milpscore.solvers._solve",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
