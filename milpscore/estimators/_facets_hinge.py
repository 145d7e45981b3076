"""Estimators of the integer Facets program: hinge loss, points drawn to small whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from milpscore.constraints import Constraint
from milpscore.data import Binner
from milpscore.estimators._base import CardClassifier
from milpscore.estimators._cv import CardClassifierCV


class FacetsHingeClassifier(CardClassifier):
    """The integer score of least hinge loss and Facets penalty.

    Parameters
    ----------
    lam, gamma, margin, coef_min, coef_max, max_terms, intercept, intercept_bounds, \
constraints, class_weight :
        As in :func:`milpscore.formulations.facets_hinge`.
    binner, use_start, solver, time_limit, mip_gap, node_limit, threads, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.
    """

    formulation = "facets_hinge"

    def __init__(
        self,
        *,
        lam: float = 0.1,
        gamma: float = 1.0,
        margin: float = 1.0,
        coef_min: int | Sequence[int] | Mapping[str, int] | None = None,
        coef_max: int | Sequence[int] | Mapping[str, int] | None = None,
        max_terms: int | None = None,
        intercept: Literal["real", "integer", "zero"] = "real",
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
        self.lam = lam
        self.gamma = gamma
        self.margin = margin
        self.coef_min = coef_min
        self.coef_max = coef_max
        self.max_terms = max_terms
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


class FacetsHingeClassifierCV(CardClassifierCV):
    """A :class:`FacetsHingeClassifier` whose ``lam`` is cross-validated.

    Parameters
    ----------
    estimator, cv, scoring, n_jobs, random_state :
        As in :class:`CardClassifierCV`.
    lam : sequence of float
        The values to choose from.
    """

    template = FacetsHingeClassifier
    searched = ("lam",)

    def __init__(
        self,
        estimator: FacetsHingeClassifier | None = None,
        *,
        lam: Sequence[float] = (0.003, 0.01, 0.03, 0.1, 0.3),
        cv: Any = 5,
        scoring: Any = "accuracy",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.lam = lam
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
