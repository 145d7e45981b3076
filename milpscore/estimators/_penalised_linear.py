"""Penalised linear estimators for any penalty with a prox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.terms import ProxPenalty, SmoothLoss
from milpscore.data import Binner
from milpscore.estimators._penalised import PenalisedModel
from milpscore.estimators._penalised_cv import PenalisedClassifierCVBase, PenalisedRegressorCVBase
from milpscore.estimators._penalised_tasks import PenalisedClassifierBase, PenalisedRegressorBase
from milpscore.penalties import PENALTIES
from milpscore.proximal.engine import Algorithm, Maker, as_maker

_LAM = 0.01


class _AnyPenalty(PenalisedModel):
    """The meaning of ``penalty`` and ``lam``."""

    penalty: Any

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        given = "l1" if self.penalty is None else self.penalty
        if isinstance(given, str):
            return _named(given)

        def replaced(lam: float) -> ProxPenalty:
            # not sooner: a penalty without a lam (a box) can be fitted all the same
            return as_maker(given)(lam)

        return replaced

    def _penalty(self, maker: Maker) -> ProxPenalty:
        if self.lam is not None:
            return maker(self.lam)
        if self.penalty is None or isinstance(self.penalty, str | type):
            return maker(_LAM)
        own: ProxPenalty = self.penalty
        return own


class PenalisedClassifier(_AnyPenalty, PenalisedClassifierBase):
    """Linear classification under any penalty of :mod:`milpscore.penalties`.

    Parameters
    ----------
    penalty : penalty, str or class, optional
        An instance, or a name of ``milpscore.penalties.PENALTIES`` or a class where lam is all it
        needs. None is "l1".
    lam : float, optional
        The penalty's weight. None leaves an instance its own, and is 0.01 for a name.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    class_weight :
        As in :class:`PenalisedClassifierBase`.

    Examples
    --------
    >>> from milpscore.estimators import PenalisedClassifier
    >>> from milpscore.penalties import Facets
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = PenalisedClassifier(Facets(0.2)).fit(X, y)
    >>> model.coef_.round(6), bool(model.result_.gap <= 1e-6)
    (array([[1.]]), True)
    """

    def __init__(
        self,
        penalty: Any = None,
        *,
        lam: float | None = None,
        loss: str | SmoothLoss = "logistic",
        class_weight: Mapping[Any, float] | str | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        algorithm: Algorithm = "auto",
        binner: Binner | None = None,
    ) -> None:
        self.penalty = penalty
        self.lam = lam
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.algorithm = algorithm
        self.binner = binner


class PenalisedRegressor(_AnyPenalty, PenalisedRegressorBase):
    """Linear regression under any penalty of :mod:`milpscore.penalties`.

    Parameters
    ----------
    penalty, lam :
        As in :class:`PenalisedClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """

    def __init__(
        self,
        penalty: Any = None,
        *,
        lam: float | None = None,
        loss: str | SmoothLoss = "squared",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        algorithm: Algorithm = "auto",
        binner: Binner | None = None,
    ) -> None:
        self.penalty = penalty
        self.lam = lam
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.algorithm = algorithm
        self.binner = binner


class PenalisedClassifierCV(PenalisedClassifierCVBase):
    """A :class:`PenalisedClassifier` whose ``lam`` is cross-validated over its path.

    Parameters
    ----------
    estimator, lams, n_lams, ratio, cv, scoring, n_jobs, random_state :
        As in :class:`PenalisedModelCV`.
    """

    template = PenalisedClassifier


class PenalisedRegressorCV(PenalisedRegressorCVBase):
    """A :class:`PenalisedRegressor` whose ``lam`` is cross-validated over its path.

    Parameters
    ----------
    estimator, lams, n_lams, ratio, cv, scoring, n_jobs, random_state :
        As in :class:`PenalisedModelCV`.
    """

    template = PenalisedRegressor


def _named(name: str) -> Maker:
    """The penalty of a name as a function of lam.

    Raises
    ------
    OptionError
        There is none of that name, or lam is not all it needs.
    """
    found: Any = PENALTIES[name]
    needed = [f.name for f in fields(found) if f.default is MISSING]
    if needed != ["lam"]:
        more = ", ".join(field for field in needed if field != "lam")
        raise OptionError(
            f"the penalty {name!r} needs {more}; pass an instance, milpscore.penalties."
            f"{found.__name__}({', '.join(f'{field}=...' for field in needed)})."
        )
    made: Maker = found
    return made
