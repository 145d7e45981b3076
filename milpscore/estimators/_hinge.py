"""Estimators of the hinge program: hinge loss with a margin, integer points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from milpscore.constraints import Constraint
from milpscore.data import Binner
from milpscore.estimators._base import CardClassifier
from milpscore.estimators._cv import CardClassifierCV


class HingeClassifier(CardClassifier):
    """The integer score of least hinge loss.

    Parameters
    ----------
    margin, weights, coef_min, coef_max, max_terms, l0_penalty, l1_penalty, intercept, \
intercept_bounds, class_weight :
        As in :func:`milpscore.formulations.hinge`.
    binner, use_start, solver, time_limit, mip_gap, node_limit, threads, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.
    """

    formulation = "hinge"

    def __init__(
        self,
        *,
        margin: float = 1.0,
        weights: Literal["binary", "ternary"] | None = None,
        coef_min: int | Sequence[int] | Mapping[str, int] = -5,
        coef_max: int | Sequence[int] | Mapping[str, int] = 5,
        max_terms: int | None = None,
        l0_penalty: float = 0.0,
        l1_penalty: float = 0.0,
        intercept: Literal["zero", "integer", "real"] = "integer",
        intercept_bounds: Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        class_weight: Mapping[Any, float] | str | None = None,
        binner: Binner | None = None,
        use_start: bool = True,
        solver: str = "auto",
        time_limit: float = 4.0,
        mip_gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.margin = margin
        self.weights = weights
        self.coef_min = coef_min
        self.coef_max = coef_max
        self.max_terms = max_terms
        self.l0_penalty = l0_penalty
        self.l1_penalty = l1_penalty
        self.intercept = intercept
        self.intercept_bounds = intercept_bounds
        self.constraints = constraints
        self.class_weight = class_weight
        self.binner = binner
        self.use_start = use_start
        self.solver = solver
        self.time_limit = time_limit
        self.mip_gap = mip_gap
        self.node_limit = node_limit
        self.threads = threads
        self.random_state = random_state
        self.verbose = verbose


class HingeClassifierCV(CardClassifierCV):
    """A :class:`HingeClassifier` whose ``max_terms`` and ``l0_penalty`` are cross-validated.

    Parameters
    ----------
    estimator, cv, scoring, n_jobs, random_state :
        As in :class:`CardClassifierCV`.
    max_terms, l0_penalty : sequence, optional
        The values to choose from; None keeps the estimator's own.
    """

    template = HingeClassifier
    searched = ("max_terms", "l0_penalty")

    def __init__(
        self,
        estimator: HingeClassifier | None = None,
        *,
        max_terms: Sequence[int] | None = (1, 2, 3, 4, 5),
        l0_penalty: Sequence[float] | None = None,
        cv: Any = 5,
        scoring: Any = "accuracy",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.max_terms = max_terms
        self.l0_penalty = l0_penalty
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
