"""Estimators of the fused-lasso score: points per bin, equal neighbours merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from milpscore.constraints import Constraint
from milpscore.data import Binner
from milpscore.estimators._base import CardClassifier
from milpscore.estimators._cv import CardClassifierCV


class FusedLassoClassifier(CardClassifier):
    """Bins and points together, by hinge loss and total variation inside each feature.

    Parameters
    ----------
    lam, margin, coef_min, coef_max, reference, features, weights, intercept, \
intercept_bounds, class_weight :
        As in :func:`milpscore.formulations.fused_lasso`.
    binner, use_start, solver, time_limit, mip_gap, node_limit, threads, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too. Here ``binner=None``
        stands for ``Binner()``: one-hot bins, found anew in each ``fit``.
    """

    formulation = "fused_lasso"

    def __init__(
        self,
        *,
        lam: float = 0.01,
        margin: float = 1.0,
        coef_min: int | Sequence[int] | Mapping[str, int] = -5,
        coef_max: int | Sequence[int] | Mapping[str, int] = 5,
        reference: Literal["first", "lowest"] = "first",
        features: Sequence[str] | None = None,
        weights: Sequence[float] | Literal["data"] | None = None,
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
        self.lam = lam
        self.margin = margin
        self.coef_min = coef_min
        self.coef_max = coef_max
        self.reference = reference
        self.features = features
        self.weights = weights
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

    def _default_binner(self) -> Binner:
        """Four bins a feature, or one a value where there are few."""
        return Binner()

    def complexity(self) -> int:
        """The number of jumps between neighbouring bins."""
        points = self.coef_[0]
        return sum(int(np.count_nonzero(np.diff(points[list(b)]))) for b in self.scorecard_.blocks)


class FusedLassoClassifierCV(CardClassifierCV):
    """A :class:`FusedLassoClassifier` whose ``lam`` is cross-validated.

    Parameters
    ----------
    estimator, cv, scoring, n_jobs, random_state :
        As in :class:`CardClassifierCV`.
    lam : sequence of float
        The values to choose from.
    """

    template = FusedLassoClassifier
    searched = ("lam",)

    def __init__(
        self,
        estimator: FusedLassoClassifier | None = None,
        *,
        lam: Sequence[float] = (0.001, 0.003, 0.01, 0.03, 0.1),
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
