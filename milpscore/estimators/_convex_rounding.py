"""Estimator of convex rounding: an LP, rounded to binary or ternary weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from milpscore.constraints import Constraint
from milpscore.data import Binner
from milpscore.estimators._base import CardClassifier


class ConvexRoundingClassifier(CardClassifier):
    """The best card among roundings of the LP over the hull of binary or ternary weights.

    Parameters
    ----------
    margin, weights, intercept, intercept_bounds, constraints, class_weight :
        As in :func:`milpscore.formulations.convex_rounding`.
    binner, n_draws, solver, time_limit, threads, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.
    """

    formulation = "convex_rounding"

    def __init__(
        self,
        *,
        margin: float = 1.0,
        weights: Literal["binary", "ternary"] = "ternary",
        intercept: Literal["zero", "integer", "real"] = "integer",
        intercept_bounds: Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        class_weight: Mapping[Any, float] | str | None = None,
        binner: Binner | None = None,
        n_draws: int = 100,
        solver: str = "auto",
        time_limit: float = 4.0,
        threads: int = 1,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.margin = margin
        self.weights = weights
        self.intercept = intercept
        self.intercept_bounds = intercept_bounds
        self.constraints = constraints
        self.class_weight = class_weight
        self.binner = binner
        self.n_draws = n_draws
        self.solver = solver
        self.time_limit = time_limit
        self.threads = threads
        self.random_state = random_state
        self.verbose = verbose
