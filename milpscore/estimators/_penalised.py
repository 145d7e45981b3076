"""Penalised linear estimators: any penalty with a prox; Facets, EYE and binarsity by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import MISSING, field, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from milpscore.core.design import Column, Design, FloatArray, unmasked
from milpscore.core.errors import DataError, OptionError
from milpscore.core.statement import LAM, ProxPenalty, SmoothLoss
from milpscore.data import BinnedDesign, Binner, apply_columns
from milpscore.data.checking import class_weights, row_weights, validated_frame
from milpscore.data.columns import (
    Expert,
    Unseen,
    expert_vector,
    numeric_column,
    raw_columns,
    refuse_equal_names,
)
from milpscore.data.onehot_codes import MAX_BINS, bin_codes
from milpscore.data.sources import at_size
from milpscore.estimators._base import (
    Decided,
    OnDesign,
    class_labels,
    given_design,
    parameters,
    rows_by_name,
    values_of,
    warn_of_questions,
)
from milpscore.losses import LINKS, smooth_loss
from milpscore.losses.kinds import link_of
from milpscore.penalties import (
    EYE,
    PENALTIES,
    Binarsity,
    Facets,
    StronglyConvexFacets,
    data_driven_weights,
)
from milpscore.proximal import ProximalPath, ProximalResult, fit_proximal, path
from milpscore.proximal.engine import Algorithm, Maker, as_maker


@parameters
class _Fitted:
    """Parameters of every penalised model."""

    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int | None = None
    algorithm: Algorithm = "auto"


class PenalisedModel(_Fitted, OnDesign):
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

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """What a search tries besides lam."""

    lam: float | None
    loss: str | SmoothLoss

    columns_: tuple[Column, ...]
    _blocks: tuple[tuple[int, ...], ...]
    warnings_: tuple[str, ...]
    coef_: FloatArray
    intercept_: Any
    result_: ProximalResult
    n_iter_: int
    n_features_in_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Minimise the mean loss plus the penalty.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, list of rows, or table of another library, (n, q)
            Of two classes also large files and relations of DuckDB, read as by
            :func:`milpscore.data.read_patterns`; or a Design, whose columns, classes and weights
            are used as they are.
        y : array of shape (n,), or str
            The answers, or the name of their column in X.
        sample_weight : array of shape (n,) or str, optional
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
        problem, maker = self._problem(X, y, sample_weight)
        result = fit_proximal(**problem, penalty=self._penalty(maker))
        self._take(result)
        warn_of_gaps(type(self).__name__, [result], self.tol)
        warn_of_questions(self, self.warnings_)
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
        problem, maker = self._problem(X, y, sample_weight)
        found = path(**problem, penalty=maker, lams=lams, n_lams=n_lams, ratio=ratio)
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
        """Checked answers as the loss reads them, and the weights of the rows."""
        raise TypeError(f"{type(self).__name__} must define _encode")  # pragma: no cover

    def _take(self, result: ProximalResult) -> None:
        """Set the attributes a result fills."""
        self.result_, self.n_iter_ = result, result.iterations

    def _penalty(self, maker: Maker) -> ProxPenalty:
        """The penalty of a single fit; the penalty itself checks lam."""
        return maker(self.lam)  # type: ignore[arg-type]

    # ------------------------------------------------------------ from data to a problem

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[dict[str, Any], Maker]:
        """What a fit and a path need, design columns learned; and what makes the penalty of lam."""
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise OptionError(
                "{fit_intercept}; use True or False.", fit_intercept=self.fit_intercept
            )
        merged = self._merged(X, y, sample_weight)
        if merged is None:
            X, y, sample_weight = rows_by_name(X, y, sample_weight)
            design = self._learn(X, sample_weight)
        else:
            design, sample_weight = self._learn_merged(merged), merged.weight
            y = np.array(merged.classes)[(merged.y > 0).astype(np.intp)]
        weight = row_weights(sample_weight, design.shape[0])
        given_answers = self.checked_answers(y)
        if len(given_answers) != len(weight):
            raise DataError(
                f"X has {len(weight)} rows but y has {len(given_answers)} entries; inconsistent"
                " numbers of samples. Pass one answer for each row."
            )
        answers, weight = self._encode(given_answers, weight)
        given = {"X": design, "y": answers, "sample_weight": weight, "loss": self.loss}
        options = {"tol": self.tol, "max_iter": self.max_iter, "algorithm": self.algorithm}
        return {**given, "intercept": self.fit_intercept, **options}, self._maker(design, weight)

    def _merged(self, X: Any, y: Any, sample_weight: Any) -> Design | None:
        """The Design given, or the distinct rows of a table too large for memory."""
        design = given_design(X, y, sample_weight)
        if design is None and (isinstance(y, str) or not hasattr(X, "shape")) and at_size(X):
            binner = self._binner() or Binner.raw()
            design = binner.fit_patterns(X, y, sample_weight=sample_weight, positive=max)
        if design is not None and smooth_loss(self.loss).task != "classification":
            raise OptionError(
                f"the loss {getattr(self.loss, 'name', self.loss)!r} takes the rows of a table, and"
                " equal rows of two classes alone are merged: give rows that fit into memory"
            )
        return design

    def _learn_merged(self, design: Design) -> Any:
        """Settle the design columns as a Design has them; its values."""
        binner = Binner.raw()._take(design)
        self.columns_, self._blocks, self.warnings_ = design.columns, design.blocks, design.warnings
        self._features = list(binner.feature_names_in_)
        self._unseen = getattr(self._binner(), "unseen", "error")
        self.n_features_in_, self.feature_names_in_ = len(self._features), binner.feature_names_in_
        return design.X

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
        if isinstance(X, Design):
            return values_of(X, self.columns_)
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


@parameters
class PenalisedClassifierBase(Decided, PenalisedModel):
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

    loss: str | SmoothLoss = "logistic"
    class_weight: Mapping[Any, float] | str | None = None

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

    def _probabilities(self, X: Any) -> FloatArray:
        """Return the loss's own model; two classes of the multinomial one are logistic."""
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
        self.classes_, codes = np.unique(y, return_inverse=True)
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


@parameters
class PenalisedRegressorBase(RegressorMixin, PenalisedModel):
    """Base of the regressors: real answers, or counts with ``loss="poisson"``.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
    intercept_ : float
    """

    loss: str | SmoothLoss = "squared"

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
            answers = np.asarray(column_or_1d(unmasked(y), warn=True), dtype=np.float64)
        except TypeError as error:
            raise DataError(f"y must hold numbers: {error}.") from error
        if not np.isfinite(answers).all():
            raise DataError("Input y contains NaN or infinity (inf). Drop these rows.")
        return answers

    def _encode(self, y: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        return y, weight

    def _take(self, result: ProximalResult) -> None:
        super()._take(result)
        self.coef_ = result.coefficients.copy()
        self.intercept_ = float(result.intercept)

    def __sklearn_tags__(self) -> Any:
        """Counts are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = getattr(self.loss, "name", self.loss) == "poisson"
        return tags


# ------------------------------------------------------------ the penalties by name


@parameters
class _AnyPenalty(PenalisedModel):
    """The meaning of ``penalty`` and ``lam``."""

    penalty: Any = field(default=None, kw_only=False)
    lam: float | None = None
    binner: Binner | None = None

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
            return maker(LAM)
        own: ProxPenalty = self.penalty
        return own


@parameters
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


@parameters
class PenalisedRegressor(_AnyPenalty, PenalisedRegressorBase):
    """Linear regression under any penalty of :mod:`milpscore.penalties`.

    Parameters
    ----------
    penalty, lam :
        As in :class:`PenalisedClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """


@parameters
class _Facets(PenalisedModel):
    """The meaning of ``gamma`` and ``eps``."""

    default_grid: ClassVar = {"gamma": (0.1, 0.2, 0.5, 1.0, 2.0)}

    lam: float = LAM
    gamma: float = 1.0
    eps: float = 0.0
    binner: Binner | None = None

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        if self.eps == 0:
            return lambda lam: Facets(lam, self.gamma)
        return lambda lam: StronglyConvexFacets(lam, eps=self.eps, gamma=self.gamma)


@parameters
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


@parameters
class FacetsRegressor(_Facets, PenalisedRegressorBase):
    """Linear regression with coefficients that prefer the multiples of ``gamma``.

    Parameters
    ----------
    lam, gamma, eps :
        As in :class:`FacetsClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """


@parameters
class _Eye(PenalisedModel):
    """The meaning of ``expert``."""

    lam: float = LAM
    expert: Expert = None
    binner: Binner | None = None

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        known = expert_vector(self.expert, self.columns_, self._features)
        return lambda lam: EYE(lam, expert=known)


@parameters
class EyeClassifier(_Eye, PenalisedClassifierBase):
    """Linear classification that favours the features an expert knows to matter.

    Parameters
    ----------
    lam : float
    expert : sequence of names, mapping of name to number, or array of numbers in [0, 1], optional
        What is known: the names of the features (or of single design columns) that matter; or a
        number a name, 1 for known and 0 for unknown; or such numbers, one per feature or one per
        design column. None: nothing is known, which is the lasso with 2 lam.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    class_weight :
        As in :class:`PenalisedClassifierBase`.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018).
    """


@parameters
class EyeRegressor(_Eye, PenalisedRegressorBase):
    """Linear regression that favours the features an expert knows to matter.

    Parameters
    ----------
    lam, expert :
        As in :class:`EyeClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """


@parameters
class _Binarsity(PenalisedModel):
    """One-hot bins, kept as one-byte codes, and the penalty's weights found in them."""

    lam: float = LAM
    n_bins: int = 10
    thresholds: Mapping[str, Sequence[float]] | None = None
    max_distinct: int = 10
    unseen: Unseen = "error"

    # rows of which a feature's one-hot columns are written out at a time
    rows_at_once: ClassVar[int] = 1 << 16

    def _binner(self) -> Binner:
        return Binner(
            self.n_bins,
            thresholds=self.thresholds,
            encoding="onehot",
            missing="error",
            max_distinct=self.max_distinct,
            digits=None,
            useless="keep",
            unseen=self.unseen,
        )

    def _learn_merged(self, design: Design) -> BinnedDesign:
        return BinnedDesign.from_onehot(super()._learn_merged(design), design.blocks)

    def _values(self, frame: pd.DataFrame) -> BinnedDesign:
        """The bin of every row in every feature."""
        codes = np.empty((len(frame), len(self._blocks)), dtype=np.uint8, order="F")
        for f, block in enumerate(self._blocks):
            columns = [self.columns_[j] for j in block]
            if len(block) > MAX_BINS:
                raise DataError(
                    f"feature {columns[0].feature!r} has {len(block)} bins, more than the"
                    f" {MAX_BINS} a code of one byte tells apart; use fewer, or merge categories."
                )
            codes[:, f] = bin_codes(
                columns, frame[[columns[0].feature]], self.unseen, self.rows_at_once
            )
        return BinnedDesign(codes, tuple(len(block) for block in self._blocks))

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        in_bins = design.rmatvec(weight)
        counts = [in_bins[list(block)] for block in design.blocks]
        self.penalty_weights_ = data_driven_weights(counts, design.blocks)
        blocks, weights, shared = design.blocks, self.penalty_weights_, self._shared
        return lambda lam: Binarsity(lam, blocks=blocks, weights=weights, shared=shared)

    @property
    def _shared(self) -> bool:
        """Whether classes have their cuts in common; a regression has no such question."""
        return getattr(self, "shared", False)

    def complexity(self) -> int:
        """The number of jumps between neighbouring bins, shared ones counted once."""
        rows = np.atleast_2d(self.coef_)
        jumps = [np.diff(rows[:, list(block)], axis=1) != 0 for block in self._blocks]
        return sum(int((jump.any(axis=0) if self._shared else jump).sum()) for jump in jumps)


@parameters
class BinarsityClassifier(_Binarsity, PenalisedClassifierBase):
    """Additive classification: the score of a feature is a step function of its bins.

    Parameters
    ----------
    lam : float
        The jumps' own weights are those of :func:`milpscore.penalties.data_driven_weights`.
    n_bins, thresholds, max_distinct, unseen :
        As in :class:`milpscore.data.Binner`; the bins are found anew in each ``fit``. Text,
        boolean and categorical features have one bin a category, in their order.
    shared : bool
        With ``loss="multinomial"``: whether all classes have their cuts in common, see
        :class:`milpscore.penalties.Binarsity`.
    loss, fit_intercept, tol, max_iter, algorithm :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    class_weight :
        As in :class:`PenalisedClassifierBase`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, p), or (K, p) for the multinomial loss
        One entry a bin; those of a feature sum to 0.
    penalty_weights_ : ndarray of shape (p,)
        Weight of the jump into each bin.

    References
    ----------
    Alaya, Bussy, Gaiffas & Guilloux, "Binarsity: a penalization for one-hot encoded features",
    JMLR 20 (2019).
    """

    shared: bool = False


@parameters
class BinarsityRegressor(_Binarsity, PenalisedRegressorBase):
    """Additive regression: the score of a feature is a step function of its bins.

    Parameters
    ----------
    lam, n_bins, thresholds, max_distinct, unseen :
        As in :class:`BinarsityClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """


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
