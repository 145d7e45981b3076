"""Classification and regression by a penalised linear model: answers in, predictions out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError
from milpscore.data import encode_labels
from milpscore.data.labels import class_weights
from milpscore.estimators._base import binary_labels
from milpscore.estimators._penalised import PenalisedModel
from milpscore.losses import LINKS, smooth_loss
from milpscore.proximal import ProximalResult

_WITH_CHANCES = ("logistic", "multinomial", "probit")


def has_chances(model: Any) -> bool:
    """Whether the loss is the likelihood of a model of the classes."""
    name = getattr(model.loss, "name", model.loss)
    if str(name).replace("-", "_") not in _WITH_CHANCES:
        raise AttributeError(
            f"the loss {name!r} states no probabilities; use one of {', '.join(_WITH_CHANCES)}"
        )
    return True


class PenalisedClassifierBase(ClassifierMixin, PenalisedModel):
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

    @available_if(has_chances)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities; for the losses logistic, probit and multinomial only.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)

        Returns
        -------
        ndarray of shape (n, K)
        """
        scores = self.decision_function(X)
        if scores.ndim == 2:
            chance = np.exp(scores - scores.max(axis=1, keepdims=True))
            return np.asarray(chance / chance.sum(axis=1, keepdims=True))
        loss = smooth_loss(self.loss).name
        positive = LINKS[loss if loss in LINKS else "logistic"]
        return np.column_stack([positive(-scores), positive(scores)])

    @available_if(has_chances)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of :meth:`predict_proba`, shape (n, K)."""
        return np.asarray(np.log(self.predict_proba(X)))

    def checked_answers(self, y: Any) -> npt.NDArray[Any]:
        """The labels as a vector; see :meth:`PenalisedModel.checked_answers`."""
        loss = smooth_loss(self.loss)
        if loss.task == "multinomial":
            return _labels(y)
        if loss.task != "classification":
            raise OptionError(
                f"the loss {loss.name!r} is one of {loss.task}; a classifier takes logistic,"
                " squared_hinge, smoothed_hinge, probit or multinomial."
            )
        return binary_labels(y)[0]

    def _encode(self, y: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        labels = self.checked_answers(y)
        _match(labels, weight)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if smooth_loss(self.loss).task == "multinomial":
            weight = _class_weighted(self.class_weight, codes, weight, self.classes_)
            return codes.astype(np.float64), weight
        signs, classes = encode_labels(labels, positive=self.classes_[1])
        return signs.astype(np.float64), class_weights(self.class_weight, signs, weight, classes)

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


def _labels(y: Any) -> npt.NDArray[Any]:
    """Labels of two classes or more."""
    if y is None:
        raise DataError(
            "a classification requires y to be passed, but the target y is None. Pass one label a"
            " row."
        )
    labels: npt.NDArray[Any] = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    try:
        count = len(np.unique(labels))
    except TypeError as error:
        raise DataError(f"the labels cannot be ordered ({error}): use one type.") from error
    if count < 2:
        raise DataError(
            f"y has {len(labels)} row(s) and {count} class(es); a classifier needs two."
        )
    return labels


def _class_weighted(
    class_weight: Mapping[Any, float] | str | None,
    codes: npt.NDArray[np.intp],
    weight: FloatArray,
    classes: npt.NDArray[Any],
) -> FloatArray:
    """Class weights of K classes multiplied into sample weights."""
    if class_weight is None:
        return weight
    totals = np.bincount(codes, weights=weight, minlength=len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise DataError(
                f"class_weight={class_weight!r} is unknown; use None, 'balanced', or a dict from"
                " label to weight."
            )
        if not totals.all():
            raise DataError(f"class {classes[totals.argmin()]!r} has no row of positive weight.")
        return np.asarray(weight * (totals.sum() / (len(classes) * totals))[codes])
    factors = dict.fromkeys(classes.tolist(), 1.0)
    unknown = [label for label in class_weight if label not in factors]
    if unknown:
        raise DataError(f"class_weight names {unknown[0]!r}; the labels are {list(factors)}.")
    factors |= {label: float(value) for label, value in class_weight.items()}
    return np.asarray(weight * np.array([factors[label] for label in classes.tolist()])[codes])
