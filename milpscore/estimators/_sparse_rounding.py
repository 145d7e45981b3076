"""Estimators of sparse rounding: convex rounding with a limit on the terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from milpscore.constraints import Constraint
from milpscore.data import Binner
from milpscore.estimators._base import CardClassifier
from milpscore.estimators._cv import CardClassifierCV


class SparseRoundingClassifier(CardClassifier):
    """The best card among roundings of the LP over weights with at most ``max_terms`` terms.

    Parameters
    ----------
    max_terms, margin, weights, intercept, intercept_bounds, constraints, class_weight :
        As in :func:`milpscore.formulations.sparse_rounding`; the builder has no default
        for ``max_terms``.
    binner, n_draws, solver, time_limit, threads, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.
    """

    formulation = "sparse_rounding"

    def __init__(
        self,
        *,
        max_terms: int = 5,
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
        self.max_terms = max_terms
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


class SparseRoundingClassifierCV(CardClassifierCV):
    """A :class:`SparseRoundingClassifier` whose ``max_terms`` is cross-validated.

    Parameters
    ----------
    estimator, cv, scoring, n_jobs, random_state :
        As in :class:`CardClassifierCV`.
    max_terms : sequence of int
        The values to choose from.
    """

    template = SparseRoundingClassifier
    searched = ("max_terms",)

    def __init__(
        self,
        estimator: SparseRoundingClassifier | None = None,
        *,
        max_terms: Sequence[int] = (1, 2, 3, 4, 5),
        cv: Any = 5,
        scoring: Any = "accuracy",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.max_terms = max_terms
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
