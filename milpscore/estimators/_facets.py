"""Estimators with the Facets penalty: coefficients drawn to the multiples of gamma."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from milpscore.core.design import FloatArray
from milpscore.core.terms import SmoothLoss
from milpscore.data import Binner
from milpscore.estimators._penalised import PenalisedModel
from milpscore.estimators._penalised_cv import PenalisedClassifierCVBase, PenalisedRegressorCVBase
from milpscore.estimators._penalised_tasks import PenalisedClassifierBase, PenalisedRegressorBase
from milpscore.penalties import Facets, StronglyConvexFacets
from milpscore.proximal.engine import Algorithm, Maker


class _Facets(PenalisedModel):
    """The meaning of ``gamma`` and ``eps``."""

    gamma: float
    eps: float

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        if self.eps == 0:
            return lambda lam: Facets(lam, self.gamma)
        return lambda lam: StronglyConvexFacets(lam, eps=self.eps, gamma=self.gamma)


class FacetsClassifier(_Facets, PenalisedClassifierBase):
    """Linear classification with coefficients that prefer the multiples of ``gamma``.

    Parameters
    ----------
    lam : float
    gamma : float
        The unit of the coefficient grid: whole numbers where gamma = 1.
    eps : float
        0 is :class:`milpscore.penalties.Facets`; beyond it, up to 1,
        :class:`milpscore.penalties.StronglyConvexFacets`, whose optimum is unique.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    class_weight :
        As in :class:`PenalisedClassifierBase`.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020).
    """

    def __init__(
        self,
        *,
        lam: float = 0.01,
        gamma: float = 1.0,
        eps: float = 0.0,
        loss: str | SmoothLoss = "logistic",
        class_weight: Mapping[Any, float] | str | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        algorithm: Algorithm = "auto",
        binner: Binner | None = None,
    ) -> None:
        self.lam = lam
        self.gamma = gamma
        self.eps = eps
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.algorithm = algorithm
        self.binner = binner


class FacetsRegressor(_Facets, PenalisedRegressorBase):
    """Linear regression with coefficients that prefer the multiples of ``gamma``.

    Parameters
    ----------
    lam, gamma, eps :
        As in :class:`FacetsClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """

    def __init__(
        self,
        *,
        lam: float = 0.01,
        gamma: float = 1.0,
        eps: float = 0.0,
        loss: str | SmoothLoss = "squared",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        algorithm: Algorithm = "auto",
        binner: Binner | None = None,
    ) -> None:
        self.lam = lam
        self.gamma = gamma
        self.eps = eps
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.algorithm = algorithm
        self.binner = binner


class FacetsClassifierCV(PenalisedClassifierCVBase):
    """A :class:`FacetsClassifier` whose ``lam`` is cross-validated over its path.

    Parameters
    ----------
    estimator, lams, n_lams, ratio, cv, scoring, n_jobs, random_state :
        As in :class:`PenalisedModelCV`; ``gamma`` and ``eps`` are the estimator's.
    """

    template = FacetsClassifier


class FacetsRegressorCV(PenalisedRegressorCVBase):
    """A :class:`FacetsRegressor` whose ``lam`` is cross-validated over its path.

    Parameters
    ----------
    estimator, lams, n_lams, ratio, cv, scoring, n_jobs, random_state :
        As in :class:`PenalisedModelCV`; ``gamma`` and ``eps`` are the estimator's.
    """

    template = FacetsRegressor
