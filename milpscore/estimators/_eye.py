"""Estimators with the EYE penalty: sparse where nothing is known, dense where an expert knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from milpscore.core.column import Column
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError
from milpscore.core.terms import SmoothLoss
from milpscore.data import Binner
from milpscore.data._checking import near_matches
from milpscore.estimators._penalised import PenalisedModel
from milpscore.estimators._penalised_cv import PenalisedClassifierCVBase, PenalisedRegressorCVBase
from milpscore.estimators._penalised_tasks import PenalisedClassifierBase, PenalisedRegressorBase
from milpscore.penalties import EYE
from milpscore.proximal._fit import Algorithm
from milpscore.proximal._path import Maker

Expert: TypeAlias = "Sequence[str] | Mapping[str, float] | Sequence[float] | FloatArray | None"


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


def expert_vector(expert: Expert, columns: Sequence[Column], features: Sequence[str]) -> FloatArray:
    """What the expert knows, one number a design column.

    Parameters
    ----------
    expert : as in :class:`EyeClassifier`
    columns : sequence of Column, length p
    features : sequence of str, length q
        Names of the raw features.

    Returns
    -------
    ndarray of shape (p,)

    Raises
    ------
    DataError
        A name is neither a feature nor a design column.
    OptionError
        The numbers are not one a feature or one a column.
    """
    if expert is None:
        return np.zeros(len(columns))
    if isinstance(expert, str):
        raise OptionError(f"expert={expert!r} is a single text; pass a list of names.")
    if isinstance(expert, Mapping):
        return _by_name({str(name): float(known) for name, known in expert.items()}, columns)
    given = list(expert)
    if any(isinstance(entry, str) for entry in given):
        return _by_name(dict.fromkeys(map(str, given), 1.0), columns)
    if len(given) == len(columns):
        return np.asarray(given)
    if len(given) == len(features):
        by_feature = dict(zip(features, given, strict=True))
        return np.array([by_feature[c.feature] for c in columns])
    raise OptionError(
        f"expert has {len(given)} numbers for {len(features)} features and {len(columns)} design"
        " columns; give one a feature or one a column, or names."
    )


def _by_name(known: Mapping[str, float], columns: Sequence[Column]) -> FloatArray:
    """A column's own name goes before that of its feature."""
    names = {column.name for column in columns} | {column.feature for column in columns}
    strange = [name for name in known if name not in names]
    if strange:
        raise DataError(f"expert names {strange[0]!r}; {near_matches(strange[0], sorted(names))}")
    return np.array([known.get(c.name, known.get(c.feature, 0.0)) for c in columns])
