"""Learners of linear models for cross-validation: a name, a grid, and how to fit it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np

from milpscore.core.design import Design, FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.penalties import L1, L2
from milpscore.proximal import facets_grid, path

Params = Mapping[str, Any]

_WHOLE = 1e-9
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Answers positive where w.x + b >= 0.

    Attributes
    ----------
    coefficients : ndarray of shape (p,)
    intercept : float
    unit : float
        What whole coefficients are whole multiples of.
    """

    coefficients: FloatArray
    intercept: float
    unit: float = 1.0

    @property
    def whole(self) -> bool:
        """Whether every coefficient is a whole multiple of the unit."""
        multiples = self.coefficients / self.unit
        return bool((np.abs(multiples - np.rint(multiples)) <= _WHOLE).all())

    @property
    def empty(self) -> bool:
        """Whether every coefficient is 0."""
        return not self.coefficients.any()

    def answers(self, X: FloatArray) -> Any:
        """Whether each row of X, shape (n, p), is answered positive."""
        total = X @ self.coefficients
        # a tie with the threshold is positive, whatever rounding makes of the sum
        slack = 1e-9 * (1.0 + abs(self.intercept))
        return total + self.intercept >= -slack


class Learner(Protocol):
    """What cross-validation needs of a learner."""

    @property
    def name(self) -> str:
        """What its rows are called."""

    @property
    def integer(self) -> bool:
        """Whether its models are all whole."""

    @property
    def grid(self) -> Sequence[Params]:
        """The parameters to choose from, the simplest model first: it wins ties."""

    def fit_grid(self, train: Design) -> Sequence[LinearModel]:
        """A model for each entry of the grid."""

    def refit(self, train: Design, order: Sequence[int], seconds: float) -> tuple[int, LinearModel]:
        """The final model, and which entry of the grid it is of.

        Parameters
        ----------
        train : Design
        order : sequence of int
            The entries of the grid from the best to the worst.
        seconds : float
            What a solver may take.
        """


@dataclass(frozen=True)
class OfGrid(ABC):
    """A learner whose whole grid is fitted at once, from its data's own largest penalty."""

    @abstractmethod
    def fit_grid(self, train: Design) -> Sequence[LinearModel]:
        """A model for each entry of the grid."""

    def refit(self, train: Design, order: Sequence[int], seconds: float) -> tuple[int, LinearModel]:
        """The best entry's model."""
        return order[0], self.fit_grid(train)[order[0]]


# --- penalised models ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Penalised(OfGrid):
    """A path of lam on columns scaled to unit deviation.

    Parameters
    ----------
    name : str
    penalty : callable
        lam -> penalty.
    loss : str
    shares : sequence of float
        lam as shares of the largest absolute slope of the loss at the null model, descending.
    """

    name: str
    penalty: Any
    loss: str = "logistic"
    shares: tuple[float, ...] = tuple(np.geomspace(0.5, 1e-4, 12).tolist())
    tol: float = 1e-5
    integer: ClassVar[bool] = False

    @property
    def grid(self) -> Sequence[Params]:
        """One entry a share."""
        return [{"lam_share": share} for share in self.shares]

    def fit_grid(self, train: Design) -> Sequence[LinearModel]:
        """The path, its coefficients in the columns' own units."""
        weight = train.weight / train.weight.sum()
        center = weight @ train.X
        scale = np.sqrt(weight @ (train.X - center) ** 2)
        used = scale > 0
        X = (train.X[:, used] - center[used]) / scale[used]
        y = train.y.astype(np.float64)
        top = _steepest(X, y, weight)
        found = path(
            X,
            y if self.loss == "squared" else train.y,
            loss=self.loss,
            penalty=self.penalty,
            lams=[share * top for share in self.shares],
            sample_weight=train.weight,
            tol=self.tol,
        )
        models = []
        for row, b in zip(found.coefficients, found.intercepts.tolist(), strict=True):
            w = np.zeros(train.shape[1])
            w[used] = row / scale[used]
            models.append(LinearModel(w, b - float(center @ w)))
        return models


def _steepest(X: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Largest absolute slope of the squared loss at the null model; logistic's is half of it."""
    return float(np.abs(X.T @ (weight * (y - weight @ y))).max(initial=0.0)) or 1.0


def lasso() -> Penalised:
    """Least squares on the classes with an L1 penalty."""
    return Penalised("lasso", L1, "squared")


def ridge() -> Penalised:
    """Least squares on the classes with an L2 penalty."""
    return Penalised("ridge", L2, "squared", tuple(np.geomspace(10.0, 1e-4, 10).tolist()))


def logistic() -> Penalised:
    """Logistic regression with an L2 penalty."""
    return Penalised("logistic", L2, "logistic", tuple(np.geomspace(1.0, 1e-4, 9).tolist()))


# --- Facets --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Facets(OfGrid):
    """The grid of Facets models over alpha and gamma, on the columns as they are.

    Parameters
    ----------
    whole : bool
        Only models whose coefficients are all whole multiples of gamma are answers, those that are
        not null before the others.
    thresholds : sequence of str
        "loss" keeps the intercept of the logistic loss, "errors" moves it to where the training
        rows have the fewest errors.
    n_alpha, n_gamma : int
        As for :func:`milpscore.proximal.facets_grid`; null rows of the grid are left out.
    tol : float
    """

    whole: bool = False
    thresholds: tuple[str, ...] = ("loss", "errors")
    n_alpha: int = 16
    n_gamma: int = 12
    tol: float = 1e-5

    @property
    def name(self) -> str:
        """``facets``, or ``facets_whole``."""
        return "facets_whole" if self.whole else "facets"

    @property
    def integer(self) -> bool:
        """Whether all answers are whole."""
        return self.whole

    @property
    def grid(self) -> Sequence[Params]:
        """Places on the grid, alpha descending, then gamma descending."""
        return [
            {"alpha_place": i, "gamma_place": k, "threshold": threshold}
            for threshold in self.thresholds
            for i in reversed(range(self.n_alpha))
            for k in reversed(range(self.n_gamma))
        ]

    def fit_grid(self, train: Design) -> Sequence[LinearModel]:
        """Every model of the grid; the last few designs' are remembered."""
        models = _facets_models(train, self.n_alpha, self.n_gamma, self.tol)
        kept = {"loss": lambda: models, "errors": lambda: _fewest_errors(train, models)}
        return [model for threshold in self.thresholds for model in kept[threshold]()]

    def refit(self, train: Design, order: Sequence[int], seconds: float) -> tuple[int, LinearModel]:
        """The best entry's model; where asked, the best one that is whole."""
        models = self.fit_grid(train)
        if not self.whole:
            return order[0], models[order[0]]
        found = [at for at in order if models[at].whole]
        if not found:
            raise NotApplicableError(
                "no model of the Facets grid is whole: take larger alphas, whose models are null"
            )
        at = next((at for at in found if not models[at].empty), found[0])
        return at, models[at]


@lru_cache(maxsize=12)
def _facets_models(train: Design, n_alpha: int, n_gamma: int, tol: float) -> list[LinearModel]:
    """In the order of :attr:`Facets.grid`. Designs are told apart as objects."""
    found = facets_grid(
        train.X, train.y, sample_weight=train.weight, n_alpha=n_alpha, n_gamma=n_gamma, tol=tol
    )
    return [
        LinearModel(found.coefficients[i, k], float(found.intercepts[i, k]), float(gamma))
        for i in reversed(range(n_alpha))
        for k, gamma in reversed(list(enumerate(found.gammas)))
    ]


def _fewest_errors(train: Design, models: Sequence[LinearModel]) -> list[LinearModel]:
    """The models with their thresholds in the middle of the best gap between two totals.

    Among equal gaps the one nearest to the threshold that the model has.
    """
    rows = train.merged
    totals = rows.X @ np.stack([model.coefficients for model in models], axis=1)
    signed = rows.weight * rows.y
    found = []
    for model, values in zip(models, totals.T, strict=True):
        order = np.argsort(values)
        ordered = values[order]
        # a cut before place k leaves k rows below: positive ones there are errors
        gains = np.r_[0.0, np.cumsum(signed[order])]
        ends = np.r_[ordered[0] - 2.0, ordered, ordered[-1] + 2.0]
        gap, middle = np.diff(ends), (ends[:-1] + ends[1:]) / 2.0
        cuts = np.flatnonzero(gap > _SAME * (1.0 + np.abs(middle)))
        best = cuts[gains[cuts] <= gains[cuts].min() + 1e-9]
        at = best[np.argmin(np.abs(middle[best] + model.intercept))]
        found.append(LinearModel(model.coefficients, -float(middle[at]), model.unit))
    return found
