"""Options of the solvers of conic programs, under one set of names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from milpscore.solvers._options import is_number, is_whole, refuse_unknown, require

CONIC_SOLVERS: dict[str, str] = {
    "ecos": "milpscore.solvers._ecos",
    "clarabel": "milpscore.solvers._clarabel",
    "proximal": "milpscore.solvers._proximal",
}
"""Solvers of conic programs by name; the order is that of preference."""


@dataclass(frozen=True)
class ConicOptions:
    """What may be asked of any solver of conic programs.

    Attributes
    ----------
    tol : float
        Feasibility, absolute and relative gap at which the solver calls a point optimal.
    max_iter : int or None
        Iterations; None: the solver's own choice.
    time_limit : float
        Seconds of solving, without end by default; 0 returns the model without terms. ECOS cannot
        be stopped by the clock.
    zero_tol : float
        A coefficient is tried at exactly 0 (or on the grid of gamma) where that moves no score
        by more than this share of the largest score; kept where the objective allows it.
    verbose : bool
        Whether the solver prints its own log.
    """

    tol: float = 1e-9
    max_iter: int | None = None
    time_limit: float = math.inf
    zero_tol: float = 1e-6
    verbose: bool = False

    def __post_init__(self) -> None:
        positive = "a number in (0, 1)"
        require(is_number(self.tol) and 0 < self.tol < 1, "tol", self.tol, positive)
        require(
            self.max_iter is None or is_whole(self.max_iter, 1),
            "max_iter",
            self.max_iter,
            "a whole number >= 1 or None",
        )
        require(
            is_number(self.time_limit) and self.time_limit >= 0,
            "time_limit",
            self.time_limit,
            "a number of seconds >= 0",
        )
        require(
            is_number(self.zero_tol) and 0 <= self.zero_tol < 1,
            "zero_tol",
            self.zero_tol,
            "a number in [0, 1)",
        )
        require(isinstance(self.verbose, bool), "verbose", self.verbose, "True or False")

    def as_dict(self) -> dict[str, Any]:
        """Name to value."""
        return asdict(self)


def make_conic_options(given: Mapping[str, Any]) -> ConicOptions:
    """Checked options.

    Raises
    ------
    OptionError
        For an unknown name (with the nearest known one) or a value outside its range.
    """
    refuse_unknown(given, [f.name for f in fields(ConicOptions)])
    return ConicOptions(**given)
