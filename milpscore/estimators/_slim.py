"""Estimators of the slim program: 0-1 loss, integer points, few terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from milpscore.constraints import Constraint
from milpscore.data import Binner
from milpscore.estimators._base import CardClassifier
from milpscore.estimators._cv import CardClassifierCV


class SlimClassifier(CardClassifier):
    """The integer score with the fewest (weighted) training errors, terms penalised.

    Parameters
    ----------
    coef_min, coef_max, coef_sets, max_terms, l0_penalty, l1_penalty, intercept_bounds, \
threshold_gap, class_weight :
        As in :func:`milpscore.formulations.slim`.
    binner, use_start, solver, time_limit, mip_gap, node_limit, threads, random_state, \
verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.

    Examples
    --------
    >>> from milpscore.estimators import SlimClassifier
    >>> X, y = [[0, 1], [1, 1], [1, 0], [0, 0]], [0, 1, 1, 0]
    >>> card = SlimClassifier(max_terms=1).fit(X, y)
    >>> card.coef_.tolist(), str(card.result_.claim)
    ([[1, 0]], 'optimal')
    """

    formulation = "slim"

    def __init__(
        self,
        *,
        coef_min: int | Sequence[int] | Mapping[str, int] = -5,
        coef_max: int | Sequence[int] | Mapping[str, int] = 5,
        coef_sets: Mapping[str, Sequence[int]] | None = None,
        max_terms: int | None = None,
        l0_penalty: float = 1e-3,
        l1_penalty: float = 0.0,
        intercept_bounds: Sequence[float] | None = None,
        threshold_gap: float | None = None,
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
        self.coef_min = coef_min
        self.coef_max = coef_max
        self.coef_sets = coef_sets
        self.max_terms = max_terms
        self.l0_penalty = l0_penalty
        self.l1_penalty = l1_penalty
        self.intercept_bounds = intercept_bounds
        self.threshold_gap = threshold_gap
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


class SlimClassifierCV(CardClassifierCV):
    """A :class:`SlimClassifier` whose ``max_terms`` and ``l0_penalty`` are cross-validated.

    Parameters
    ----------
    estimator, cv, scoring, n_jobs, random_state :
        As in :class:`CardClassifierCV`.
    max_terms, l0_penalty : sequence, optional
        The values to choose from; None keeps the estimator's own.
    """

    template = SlimClassifier
    searched = ("max_terms", "l0_penalty")

    def __init__(
        self,
        estimator: SlimClassifier | None = None,
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
