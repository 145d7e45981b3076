"""Estimators with the EYE penalty: sparse where nothing is known, dense where an expert knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from milpscore.core.design import FloatArray
from milpscore.core.terms import SmoothLoss
from milpscore.data import Binner
from milpscore.data.columns import Expert, expert_vector
from milpscore.estimators._penalised import PenalisedModel
from milpscore.estimators._penalised_cv import PenalisedClassifierCVBase, PenalisedRegressorCVBase
from milpscore.estimators._penalised_tasks import PenalisedClassifierBase, PenalisedRegressorBase
from milpscore.penalties import EYE
from milpscore.proximal.engine import Algorithm, Maker


class _Eye(PenalisedModel):
    """The meaning of ``expert``."""

    expert: Any

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        known = expert_vector(self.expert, self.columns_, self._features)
        return lambda lam: EYE(lam, expert=known)


class EyeClassifier(_Eye, PenalisedClassifierBase):
    """Linear classification that favours the features an expert knows to matter.

    Parameters
    ----------
    lam : float
    expert : sequence of names, mapping of name to number, or array of numbers in [0, 1], optional
        What is known: the names of the features (or of single design columns) that matter; or a
        number a name, 1 for known and 0 for unknown; or such numbers, one a feature or one a
        design column. None: nothing is known, which is the lasso with 2 lam.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    class_weight :
        As in :class:`PenalisedClassifierBase`.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018).
    """

    def __init__(
        self,
        *,
        lam: float = 0.01,
        expert: Expert = None,
        loss: str | SmoothLoss = "logistic",
        class_weight: Mapping[Any, float] | str | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        algorithm: Algorithm = "auto",
        binner: Binner | None = None,
    ) -> None:
        self.lam = lam
        self.expert = expert
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.algorithm = algorithm
        self.binner = binner


class EyeRegressor(_Eye, PenalisedRegressorBase):
    """Linear regression that favours the features an expert knows to matter.

    Parameters
    ----------
    lam, expert :
        As in :class:`EyeClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """

    def __init__(
        self,
        *,
        lam: float = 0.01,
        expert: Expert = None,
        loss: str | SmoothLoss = "squared",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        algorithm: Algorithm = "auto",
        binner: Binner | None = None,
    ) -> None:
        self.lam = lam
        self.expert = expert
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.algorithm = algorithm
        self.binner = binner


class EyeClassifierCV(PenalisedClassifierCVBase):
    """A :class:`EyeClassifier` whose ``lam`` is cross-validated over its path.

    Parameters
    ----------
    estimator, lams, n_lams, ratio, cv, scoring, n_jobs, random_state :
        As in :class:`PenalisedModelCV`; ``expert`` is the estimator's.
    """

    template = EyeClassifier


class EyeRegressorCV(PenalisedRegressorCVBase):
    """A :class:`EyeRegressor` whose ``lam`` is cross-validated over its path.

    Parameters
    ----------
    estimator, lams, n_lams, ratio, cv, scoring, n_jobs, random_state :
        As in :class:`PenalisedModelCV`; ``expert`` is the estimator's.
    """

    template = EyeRegressor
