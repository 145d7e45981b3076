"""What the penalised linear estimators share: a design, a penalty of lam, a fit with its gap."""

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
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from milpscore.core.design import Column, FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.terms import ProxPenalty, SmoothLoss
from milpscore.data import Binner, apply_columns
from milpscore.data.checking import row_weights, validated_frame
from milpscore.data.columns import numeric_column, raw_columns, refuse_equal_names, renamed
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


class PenalisedModel(BaseEstimator):
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

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the design columns, in the order of ``coef_``.

        Parameters
        ----------
        input_features : array of str, shape (q,), optional
            Names of the features where ``fit`` was given none.

        Returns
        -------
        ndarray of object, shape (p,)
        """
        check_is_fitted(self)
        given = map(str, _check_feature_names_in(self, input_features))
        names = dict(zip(self._features, given, strict=True))
        return np.array([renamed(c, names[c.feature]).name for c in self.columns_], dtype=object)

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
        """``y`` as a vector that ``fit`` can use.

        Parameters
        ----------
        y : array-like of shape (n,)

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        DataError, ValueError
            It cannot be used.
        OptionError
            The loss is not one for such answers.
        """
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

    def _binner(self) -> Binner | None:
        """An unfitted binner, or None for the columns as they are."""
        given = getattr(self, "binner", None)
        if given is None:
            return None
        if not isinstance(given, Binner):
            raise OptionError(f"binner must be a milpscore.data.Binner or None, got {given!r}")
        fresh: Binner = clone(given)
        return fresh

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

    def __sklearn_tags__(self) -> Any:
        """What input is welcome is the binner's to say."""
        tags = super().__sklearn_tags__()
        given = getattr(self, "binner", None)
        # without a binner numbers stay as they are, as under one that bins none
        binner = given if isinstance(given, Binner) else Binner(n_bins=None)
        tags.input_tags = binner.__sklearn_tags__().input_tags
        return tags


def warn_of_gaps(name: str, results: Sequence[ProximalResult], tol: float) -> None:
    """One ConvergenceWarning for all fits whose duality gap is above ``tol``.

    Parameters
    ----------
    name : str
        Of the estimator.
    results : sequence of ProximalResult
    tol : float
    """
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
