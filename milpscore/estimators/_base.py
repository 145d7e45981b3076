"""What all estimators share: checked data in, one verified card out, and how it answers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError, SolverError
from milpscore.core.result import Result
from milpscore.data import Binner, apply_columns, encode_labels
from milpscore.data.checking import validated_frame
from milpscore.data.columns import renamed
from milpscore.fitting import fit_card
from milpscore.scorecard import Scorecard, certified_card

_SOLVER_OPTIONS = ("mip_gap", "node_limit", "threads")


class CardClassifier(ClassifierMixin, BaseEstimator):
    """Base of the estimators: binary labels, integer points, a certificate.

    A subclass names its ``formulation`` and lists the builder's arguments in ``__init__``, all of
    them by the builder's own names, followed by the parameters below. The positive label is
    ``classes_[1]``, the last in order, as everywhere in scikit-learn.

    Parameters
    ----------
    binner : Binner, optional
        Makes the design columns. It is cloned and fitted in each ``fit``, so that in a
        cross-validation every fold finds its own bins; its parameters are reached as
        ``binner__n_bins`` and so on. None takes numbers as they are, and one column a category of
        all other features.
    use_start : bool
        Exact programs only: hand the solver a card found by coordinate descent. (scikit-learn's
        ``warm_start`` means something else: to go on from the last call of ``fit``.)
    n_draws : int
        Relaxed programs only: draws of the randomised rounding.
    solver : str
        As in :func:`milpscore.solve`.
    time_limit : float
        Seconds. A solve that hits it can end elsewhere in a second run; one that ends on its own
        or at ``node_limit`` cannot.
    mip_gap : float
        Exact programs only: relative gap at which the solver may stop; 0 asks for a proof.
    node_limit : int or None
        Exact programs only: branch-and-bound nodes.
    threads : int
        Runs with more than one are not reproducible.
    random_state : int, RandomState instance or None
        Seed of the solver and of the rounding.
    verbose : bool
        Show a progress line on standard error.

    Attributes
    ----------
    scorecard_ : Scorecard
        The card, to be printed, saved, or turned into SQL.
    result_ : Result
        The certificate: claim, objective, bound, gap, times.
    classes_ : ndarray of shape (2,)
        The labels in order; the second is the positive one.
    coef_ : ndarray of int64, shape (1, p)
        Points, in the order of ``get_feature_names_out()``.
    intercept_ : ndarray of shape (1,)
        -T. ``decision_function`` is half a step of the data's grid above
        ``coef_ @ x + intercept_``, because a tie is positive.
    binner_ : Binner
        Fitted.
    warnings_ : tuple of str
        Constant, duplicate and suspicious columns; all are legal.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where ``fit`` was given names.
    """

    formulation: ClassVar[str]

    binner: Binner | None
    class_weight: Any

    classes_: npt.NDArray[Any]
    scorecard_: Scorecard
    result_: Result
    binner_: Binner
    coef_: IntArray
    intercept_: FloatArray
    warnings_: tuple[str, ...]
    n_features_in_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """State the program on the data, solve it, and keep the best verified card.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)
        y : array of shape (n,)
            Two distinct labels.
        sample_weight : array of shape (n,), optional
            Finite, non-negative. A row of weight 2 counts as two rows.

        Returns
        -------
        CardClassifier
            Itself.

        Raises
        ------
        DataError, FormulationError, SizeError, OptionError
            The data or a parameter cannot be used; all are ``ValueError``.
        SolverError
            No card meets every requirement, or none was found.
        """
        frame = validated_frame(self, X, reset=True)
        labels, self.classes_ = binary_labels(y)
        self.binner_ = self._fresh_binner()
        design = self.binner_.fit_design(
            frame,
            labels,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
            positive=self.classes_[1],
        )
        program, result = fit_card(design, self.formulation, **self._arguments())
        if result.card is None:
            raise SolverError(f"{self.formulation} gave no card: {result.message}")
        self.result_ = result
        self.warnings_ = design.warnings
        self.scorecard_ = certified_card(design, result, statement=program.statement)
        self.coef_ = result.card.coefficients[np.newaxis, :].copy()
        self.intercept_ = np.array([float(result.card.intercept)])
        self._describe(design)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """w.x - T + step/2: > 0 exactly where the answer is positive, and never 0.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)

        Returns
        -------
        ndarray of shape (n,)
            See :meth:`milpscore.scorecard.Scorecard.decision_function` for data on no grid.

        Raises
        ------
        DataError
            The columns are not those of ``fit``, or a value has no stated result.
        """
        check_is_fitted(self)
        frame = validated_frame(self, X, reset=False)
        values = apply_columns(self.binner_.columns_, frame, unseen=self.binner_.unseen)
        return self.scorecard_.rule.decision(self.scorecard_.score_design(values))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of each row: ``classes_[1]`` iff its total reaches the threshold.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)

        Returns
        -------
        ndarray of shape (n,)
        """
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

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
        names = dict(
            zip(
                self.binner_.feature_names_in_,
                map(str, _check_feature_names_in(self, input_features)),
                strict=True,
            )
        )
        columns = self.binner_.columns_
        return np.array([renamed(c, names[c.feature]).name for c in columns], dtype=object)

    def _describe(self, design: Design) -> None:
        """Keep what else a subclass tells of the training rows."""

    def _fresh_binner(self) -> Binner:
        """An unfitted binner."""
        if self.binner is None:
            return self._default_binner()
        if not isinstance(self.binner, Binner):
            raise OptionError(
                f"binner must be a milpscore.data.Binner or None, got {self.binner!r}"
            )
        fresh: Binner = clone(self.binner)
        return fresh

    def _default_binner(self) -> Binner:
        """What ``binner=None`` stands for."""
        return Binner(n_bins=None)

    def _arguments(self) -> dict[str, Any]:
        """Arguments of :func:`milpscore.fitting.fit_card`, the builder's own among them."""
        given: dict[str, Any] = self.get_params(deep=False)
        del given["binner"], given["class_weight"]
        given["options"] = {name: given.pop(name) for name in _SOLVER_OPTIONS if name in given}
        given["progress"] = bool(given.pop("verbose"))
        given["random_state"] = _seed(given["random_state"])
        if "use_start" in given:
            given["warm_start"] = given.pop("use_start")
        return given

    def complexity(self) -> int:
        """What the one-standard-error rule makes small: the number of nonzero points."""
        return int(np.count_nonzero(self.coef_))

    def __sklearn_tags__(self) -> Any:
        """Two classes only; what input is welcome is the binner's to say."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        binner = self.binner if isinstance(self.binner, Binner) else self._default_binner()
        tags.input_tags = binner.__sklearn_tags__().input_tags
        return tags


def binary_labels(y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The labels as a vector, and the two distinct ones in order.

    Parameters
    ----------
    y : array-like of shape (n,)

    Returns
    -------
    (labels, classes) : ndarrays of shape (n,) and (2,)

    Raises
    ------
    DataError
        y is absent, has missing labels, has not exactly two distinct ones, or these two have no
        order.
    ValueError
        They are fractions, which scikit-learn takes for a regression's.
    """
    labels: Any = None if y is None else column_or_1d(y, warn=True)
    if labels is not None and labels.dtype == object:
        # Whole numbers kept as objects are no labels to scikit-learn's splitters.
        labels = pd.Series(labels, dtype=object).infer_objects().to_numpy()
    encode_labels(labels)
    try:
        classes = np.unique(labels)
    except TypeError as error:
        raise DataError(f"the two labels cannot be ordered ({error}): use one type") from error
    check_classification_targets(labels)
    return labels, classes


def _seed(random_state: Any) -> int:
    """An integer seed from whatever scikit-learn calls a random state."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
