"""Penalised linear models: a design, a penalty of lam, a fit with its gap; classes and counts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from milpscore.core.design import Column, FloatArray
from milpscore.core.errors import DataError, OptionError
from milpscore.core.statement import ProxPenalty, SmoothLoss
from milpscore.data import apply_columns
from milpscore.data.checking import class_weights, row_weights, validated_frame
from milpscore.data.columns import numeric_column, raw_columns, refuse_equal_names
from milpscore.estimators._base import OnDesign, Probabilities, class_labels
from milpscore.losses import LINKS, smooth_loss
from milpscore.losses.kinds import link_of
from milpscore.proximal import ProximalPath, ProximalResult, fit_proximal, path
from milpscore.proximal.engine import Algorithm, Maker


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit and a path need: the design, the answers coded, row weights, lam -> penalty."""

    design: Any
    answers: FloatArray
    weight: FloatArray
    maker: Maker

    @property
    def arguments(self) -> dict[str, Any]:
        """Those the two functions of :mod:`milpscore.proximal` have in common."""
        return {"X": self.design, "y": self.answers, "sample_weight": self.weight}


class PenalisedModel(OnDesign):
    """Base of the penalised linear estimators: mean loss plus penalty, solved to a stated gap.

    A subclass says in ``_maker`` what penalty its parameters mean; it lists these in ``__init__``,
    followed by the parameters below.

    Parameters
    ----------
    lam : float
        The penalty's weight beside the weighted *mean* loss.
    loss : str or SmoothLoss
        A name of ``milpscore.losses.LOSSES`` or an instance.
    fit_intercept : bool
        False fixes the intercept at 0; else it is free and not penalised.
    tol : float
        Relative duality gap wanted.
    max_iter, algorithm :
        As for :func:`milpscore.proximal.fit_proximal`.
    binner : Binner, optional
        Makes the design columns; it is cloned and fitted in each ``fit``, so in every fold. None
        takes numbers as they are, and one column a category of all other features; a sparse X then
        stays sparse.

    Attributes
    ----------
    coef_ : ndarray
        In the order of ``get_feature_names_out()``.
    intercept_ : ndarray or float
    result_ : ProximalResult
        The certificate: objective, dual bound, gap, trace, why it stopped.
    n_iter_ : int
        0 where the start, the model without terms, was good enough.
    columns_ : tuple of Column
        What each design column reads.
    warnings_ : tuple of str
        What the binner remarks.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where ``fit`` was given names.
    """

    lam: float | None
    loss: str | SmoothLoss
    fit_intercept: bool
    tol: float
    max_iter: int | None
    algorithm: Algorithm

    columns_: tuple[Column, ...]
    _blocks: tuple[tuple[int, ...], ...]
    warnings_: tuple[str, ...]
    coef_: FloatArray
    intercept_: Any
    result_: ProximalResult
    n_iter_: int
    n_features_in_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the mean loss plus the penalty.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Finite, non-negative. A row of weight 2 counts as two rows.

        Returns
        -------
        PenalisedModel
            Itself.

        Raises
        ------
        DataError, OptionError, SizeError
            The data or a parameter cannot be used; all are ``ValueError``.

        Warns
        -----
        ConvergenceWarning
            The gap stayed above ``tol``; the message says why.
        """
        problem = self._problem(X, y, sample_weight)
        penalty = self._penalty(problem.maker)
        result = fit_proximal(**problem.arguments, penalty=penalty, **self._options())
        self._take(result)
        warn_of_gaps(type(self).__name__, [result], self.tol)
        return self

    def complexity(self) -> int:
        """The number of nonzero coefficients."""
        return int(np.count_nonzero(self.coef_))

    def along_path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        lams: Sequence[float] | FloatArray | None = None,
        n_lams: int = 30,
        ratio: float = 0.01,
    ) -> tuple[ProximalPath, list[Self]]:
        """Fit a copy of this estimator for each of many lam, each started from the one before.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.
        lams, n_lams, ratio
            As for :func:`milpscore.proximal.path`.

        Returns
        -------
        (ProximalPath, list of fitted estimators)
            In descending order of lam. What did not converge is in the path's table; no warning.
        """
        problem = self._problem(X, y, sample_weight)
        found = path(
            **problem.arguments,
            penalty=problem.maker,
            lams=lams,
            n_lams=n_lams,
            ratio=ratio,
            **self._options(),
        )
        models = []
        for lam, result in zip(found.lams.tolist(), found.results, strict=True):
            model = copy(self)
            model.lam = lam
            model._take(result)
            models.append(model)
        return found, models

    # ------------------------------------------------------------ what a subclass says

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        """What makes the penalty from lam, for this design and these row weights."""
        raise TypeError(f"{type(self).__name__} must define _maker")  # pragma: no cover

    def checked_answers(self, y: Any) -> npt.NDArray[Any]:
        """``y`` as a vector that ``fit`` can use, shape (n,)."""
        raise TypeError(f"{type(self).__name__} must define checked_answers")  # pragma: no cover

    def _encode(self, y: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Answers as the loss reads them, and the weights of the rows."""
        raise TypeError(f"{type(self).__name__} must define _encode")  # pragma: no cover

    def _take(self, result: ProximalResult) -> None:
        """Set the attributes a result fills."""
        self.result_, self.n_iter_ = result, result.iterations

    def _penalty(self, maker: Maker) -> ProxPenalty:
        """The penalty of a single fit; the penalty itself checks lam."""
        return maker(self.lam)  # type: ignore[arg-type]

    # ------------------------------------------------------------ from data to a problem

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """Check everything and learn the design columns."""
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise OptionError(f"fit_intercept={self.fit_intercept!r}; use True or False.")
        design = self._learn(X, sample_weight)
        answers, weight = self._encode(y, row_weights(sample_weight, design.shape[0]))
        return Problem(design, answers, weight, self._maker(design, weight))

    def _options(self) -> dict[str, Any]:
        return {
            "loss": self.loss,
            "intercept": self.fit_intercept,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "algorithm": self.algorithm,
        }

    def _named_columns(self) -> tuple[Sequence[Column], Sequence[str]]:
        return self.columns_, self._features

    def _learn(self, X: Any, sample_weight: Any) -> Any:
        """Settle the design columns and return the design of the rows of X."""
        binner = self._binner()
        self.warnings_, self._unseen, self._blocks = (), "error", ()
        if binner is None and sparse.issparse(X):
            values = _checked_sparse(self, X, reset=True)
            self._features = [f"x{j}" for j in range(values.shape[1])]
            self.columns_ = tuple(map(numeric_column, self._features))
            return values
        frame = validated_frame(self, X, reset=True)
        self._features = list(frame.columns)
        if binner is None:
            columns = raw_columns(frame)
            refuse_equal_names(columns)
            self.columns_ = tuple(columns)
        else:
            binner._learn(frame, sample_weight)
            self.columns_, self.warnings_ = binner.columns_, binner.warnings_
            self._unseen, self._blocks = binner.unseen, binner.blocks_
        return self._values(frame)

    def _design(self, X: Any) -> Any:
        """The design of new rows: array, sparse array or BinnedDesign, shape (n, p)."""
        check_is_fitted(self)
        if sparse.issparse(X) and all(column.kind == "numeric" for column in self.columns_):
            return _checked_sparse(self, X, reset=False)
        return self._values(validated_frame(self, X, reset=False))

    def _values(self, frame: pd.DataFrame) -> Any:
        """The design columns of a table under the names of ``fit``."""
        if all(c.kind == "numeric" for c in self.columns_) and _plain(frame):
            values = frame.to_numpy(dtype=np.float64)
            if np.isfinite(values).all():
                return values
        return apply_columns(self.columns_, frame, unseen=self._unseen)  # type: ignore[arg-type]

    def _scores(self, X: Any) -> FloatArray:
        """X w + b, shape (n,) or (n, K)."""
        design, w = self._design(X), self.result_.coefficients
        product = design.matvec(w) if hasattr(design, "matvec") else design @ w
        return np.asarray(product + self.result_.intercept)


def warn_of_gaps(name: str, results: Sequence[ProximalResult], tol: float) -> None:
    """One ConvergenceWarning for all fits whose duality gap is above ``tol``."""
    short = [result for result in results if not result.gap <= tol]
    if not short:
        return
    worst = max(short, key=lambda result: result.gap)
    which = "the fit" if len(results) == 1 else f"{len(short)} of {len(results)} fits"
    advice = "" if worst.converged else " Raise max_iter or tol, scale the features, or raise lam."
    warnings.warn(
        f"{name}: {which} stopped above the relative duality gap asked for, {tol:g}; the largest"
        f" is {worst.gap:.1e} after {worst.iterations} iterations of {worst.algorithm}."
        f" {worst.termination.sentence}{advice}",
        ConvergenceWarning,
        stacklevel=3,
    )


def _checked_sparse(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """A sparse X of finite numbers, its columns compared with those of ``fit``."""
    return validate_data(estimator, X, accept_sparse=("csc", "csr"), dtype=np.float64, reset=reset)


def _plain(frame: pd.DataFrame) -> bool:
    """Whether all columns are NumPy numbers, so that the table is an array already."""
    return all(isinstance(d, np.dtype) and d.kind in "iuf" for d in frame.dtypes.unique())


class PenalisedClassifierBase(Probabilities, ClassifierMixin, PenalisedModel):
    """Base of the classifiers: two classes, or any number with ``loss="multinomial"``.

    Parameters
    ----------
    class_weight : None, "balanced", or mapping of label to weight
        Multiplied into the sample weights; "balanced" is n / (K n_c), rows counted by their
        weights.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels in order; of two the second is the positive one.
    coef_ : ndarray of shape (1, p), or (K, p) for the multinomial loss
    intercept_ : ndarray of shape (1,) or (K,)
    """

    class_weight: Any
    classes_: npt.NDArray[Any]

    def decision_function(self, X: Any) -> FloatArray:
        """w.x + b; an answer is positive where it is >= 0.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)

        Returns
        -------
        ndarray of shape (n,), or (n, K) for K > 2 classes
            For two classes under the multinomial loss the difference of their scores.
        """
        scores = self._scores(X)
        two = scores.ndim == 2 and scores.shape[1] == 2
        return np.asarray(scores[:, 1] - scores[:, 0]) if two else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of each row; a tie of two classes is positive.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self.decision_function(X)
        chosen = scores.argmax(axis=1) if scores.ndim == 2 else (scores >= 0).astype(np.intp)
        return np.asarray(self.classes_[chosen])

    def _probabilities(self, X: Any) -> FloatArray:
        """Of the loss's own model; two classes of the multinomial one are logistic."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return np.asarray(softmax(scores, axis=1))
        positive = LINKS[link_of(self.loss) or "logistic"]
        return np.column_stack([positive(-scores), positive(scores)])

    def checked_answers(self, y: Any) -> npt.NDArray[Any]:
        """The labels as a vector; see :meth:`PenalisedModel.checked_answers`."""
        loss = smooth_loss(self.loss)
        if loss.task not in {"classification", "multinomial"}:
            raise OptionError(
                f"the loss {loss.name!r} is one of {loss.task}; a classifier takes logistic,"
                " squared_hinge, smoothed_hinge, probit or multinomial."
            )
        return class_labels(y, two=loss.task == "classification")[0]

    def _encode(self, y: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        labels = self.checked_answers(y)
        _match(labels, weight)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        weight = class_weights(self.class_weight, codes, weight, self.classes_.tolist())
        multinomial = smooth_loss(self.loss).task == "multinomial"
        return (codes if multinomial else 2 * codes - 1).astype(np.float64), weight

    def _take(self, result: ProximalResult) -> None:
        super()._take(result)
        self.coef_ = np.atleast_2d(result.coefficients.T).copy()
        self.intercept_ = np.atleast_1d(np.array(result.intercept, dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        """More than two classes for the multinomial loss only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = getattr(self.loss, "name", self.loss) == "multinomial"
        return tags


class PenalisedRegressorBase(RegressorMixin, PenalisedModel):
    """Base of the regressors: real answers, or counts with ``loss="poisson"``.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
    intercept_ : float
    """

    def predict(self, X: Any) -> FloatArray:
        """The mean answer of each row: w.x + b, or exp(w.x + b) for the Poisson loss.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self._scores(X)
        return np.exp(scores) if smooth_loss(self.loss).task == "count" else scores

    def checked_answers(self, y: Any) -> npt.NDArray[Any]:
        """The answers as floats; see :meth:`PenalisedModel.checked_answers`."""
        loss = smooth_loss(self.loss)
        if loss.task not in {"regression", "count"}:
            raise OptionError(
                f"the loss {loss.name!r} is one of {loss.task}; a regressor takes squared or"
                " poisson."
            )
        if y is None:
            raise DataError(
                "a regression requires y to be passed, but the target y is None. Pass one number a"
                " row."
            )
        try:
            answers = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        except TypeError as error:
            raise DataError(f"y must hold numbers: {error}.") from error
        if not np.isfinite(answers).all():
            raise DataError("Input y contains NaN or infinity (inf). Drop these rows.")
        return answers

    def _encode(self, y: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        answers = self.checked_answers(y)
        _match(answers, weight)
        return answers, weight

    def _take(self, result: ProximalResult) -> None:
        super()._take(result)
        self.coef_ = result.coefficients.copy()
        self.intercept_ = float(result.intercept)

    def __sklearn_tags__(self) -> Any:
        """Counts are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = getattr(self.loss, "name", self.loss) == "poisson"
        return tags


def _match(answers: npt.NDArray[Any], weight: FloatArray) -> None:
    """Refuse another number of answers than of rows."""
    if len(answers) != len(weight):
        raise DataError(
            f"X has {len(weight)} rows but y has {len(answers)} entries; inconsistent numbers of"
            " samples. Pass one answer for each row."
        )
