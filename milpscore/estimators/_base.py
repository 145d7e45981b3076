"""What all estimators share: a binner, names of design columns, labels, probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from milpscore.core.design import Column, Design, FloatArray, unmasked
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.result import CLAIM_TOLERANCE, Claim, Result, Termination
from milpscore.data import Binner, encode_labels, in_steps, read_table
from milpscore.data.binner import binner_of
from milpscore.data.checking import positive_label, two_numbers
from milpscore.data.columns import renamed
from milpscore.data.cut_points import questions
from milpscore.losses import LINKS
from milpscore.losses.kinds import link_of

# keyword-only parameters, compared and shown by scikit-learn's own rules
parameters = dataclass(kw_only=True, eq=False, repr=False)


def warn_of_questions(
    estimator: BaseEstimator, remarks: Sequence[str], labelled: Design | None = None
) -> None:
    """Warn of columns that may mean something else, and of the more frequent label scored."""
    asked = questions(remarks)
    words = labelled is not None and isinstance(labelled.classes[1], str)  # numbers have an order
    if labelled is not None and words and not hasattr(labelled, "levels"):
        positive = labelled.y > 0
        rows = [int(labelled.rows[side].sum()) for side in (~positive, positive)]
        other, scored = labelled.classes[:2]
        if positive_label([other, scored], None, lambda: rows) == 0:
            asked.append(
                f"the card scores {scored!r}, the last label in order ({rows[1]:,} of"
                f" {sum(rows):,} rows); for one that scores {other!r}, fit y == {other!r}"
            )
    for remark in asked:
        warnings.warn(f"{type(estimator).__name__}: {remark}", UserWarning, stacklevel=3)


def warn_of_unproved(estimator: BaseEstimator, results: Sequence[Result]) -> None:
    """Issue one ConvergenceWarning for all fits that were cut short, or that lack a proof."""
    if getattr(estimator, "heuristic", False):  # no proof was asked for
        cut = [each for each in results if each.termination is Termination.WORK_LIMIT]
        if cut:
            which = "" if len(results) == 1 else f"{len(cut)} of {len(results)} fits, the first: "
            said = f"{type(estimator).__name__}: {which}{cut[0].message}."
            warnings.warn(said, ConvergenceWarning, stacklevel=3)
        return
    wanted = max(getattr(estimator, "mip_gap", 0.0), CLAIM_TOLERANCE)
    short = [each for each in results if each.kind == "exact" and not each.gap <= wanted]
    near = getattr(estimator, "mip_gap_abs", 0.0)
    short = [each for each in short if not each.objective - each.dual_bound <= near]
    short = [each for each in short if each.claim is not Claim.OPTIMAL]
    if not short:
        return
    worst = max(short, key=lambda result: result.gap)
    which = "" if len(results) == 1 else f"{len(short)} of {len(results)} fits, the worst: "
    how_far = (
        "nothing is proved about how good it is"
        if worst.claim is Claim.FEASIBLE
        else f"the gap is {worst.gap:.1%}, so a card may have an objective up to {worst.gap:.1%} "
        "lower"
    )
    limit = getattr(estimator, "time_limit", None)
    raised = f"time_limit (now {limit:g} s)" if limit is not None else "time_limit"
    if worst.termination is Termination.NODE_LIMIT:
        raised = "node_limit"
    ended = worst.termination.sentence
    if worst.termination is Termination.WORK_LIMIT:  # of many rows, whose bins are too many
        ended, raised = f"{worst.message[0].upper()}{worst.message[1:]}.", "the rows per bin"
    warnings.warn(
        f"{type(estimator).__name__}: {which}the card is verified, but not proved to be the best: "
        f"{how_far}. {ended} For a proof raise {raised}, lower max_terms or "
        "the range of the points, or use fewer columns; mip_gap says which gap is small enough.",
        ConvergenceWarning,
        stacklevel=3,
    )


class OnDesign(BaseEstimator):
    """An estimator that reads design columns, as a binner of its own or none makes them."""

    @classmethod
    @cache  # a signature takes longer to read than some searches take
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names

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
        columns, features = self._named_columns()
        given = map(str, _check_feature_names_in(self, input_features))
        names = dict(zip(features, given, strict=True))
        return np.array([renamed(c, names[c.feature]).name for c in columns], dtype=object)

    def _named_columns(self) -> tuple[Sequence[Column], Sequence[str]]:
        """The design columns, and the features they read, in order."""
        raise TypeError(f"{type(self).__name__} must define _named_columns")  # pragma: no cover

    def _binner(self) -> Binner | None:
        """An unfitted binner, or None for columns as they are."""
        found: Binner | None = binner_of(getattr(self, "binner", None))
        return found

    def __sklearn_tags__(self) -> Any:
        """What input is welcome is the binner's to say."""
        tags = super().__sklearn_tags__()
        tags.input_tags = (self._binner() or Binner.raw()).__sklearn_tags__().input_tags
        return tags


def rows_by_name(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights, where y is the name of a column of X those columns taken out of it."""
    if not isinstance(y, str):
        return X, y, sample_weight
    named = sample_weight if isinstance(sample_weight, str) else None
    X, y, *rest = read_table(X, y, weights=named)
    return X, y, rest[0] if rest else sample_weight


def given_design(X: Any, y: Any, sample_weight: Any) -> Design | None:
    """X where it is a Design, which has labels and weights of its own."""
    if not isinstance(X, Design):
        return None
    if y is not None or sample_weight is not None:
        raise DataError("a Design holds its classes and weights: leave out y and sample_weight")
    return X


def values_of(design: Design, columns: Sequence[Column]) -> FloatArray:
    """The values of a Design for an estimator that was fitted on these columns."""
    for own in (design, in_steps(design)):  # by cuts, where jumps are penalised
        if own.columns == tuple(columns):
            return own.X
    raise DataError("the Design has other columns than the one this estimator was fitted on")


def says_probabilities(estimator: Any) -> bool:
    """Whether the loss is a likelihood of the classes."""
    loss = getattr(estimator, "loss", None)
    name = getattr(loss, "name", loss)
    if link_of(loss) is None and name != "multinomial":
        raise NotApplicableError(
            f"the loss {name!r} is not a likelihood of the classes and gives no probabilities: use "
            f"one of {', '.join(LINKS)}"
        )
    return True


class Decided(ClassifierMixin):
    """Classes from ``decision_function``, and their probabilities where the loss gives some."""

    classes_: npt.NDArray[Any]

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of shape (n,), positive answers at 0 and above, or (n, K)."""
        raise TypeError(f"{type(self).__name__} must define decision_function")  # pragma: no cover

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of each row; of two classes a tie is positive, ``classes_[1]``.

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

    @available_if(says_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class, where the loss is a likelihood; a card's is its risk.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes_``. With two classes the second is above 1/2 exactly where the
            answer is positive, a card's tie by one float; not so of a risk score, whose decision
            is chosen by ``threshold_by``.

        Raises
        ------
        DataError
            The columns are not those of ``fit``, or a value has no stated result.
        """
        check_is_fitted(self)
        return self._probabilities(X)

    @available_if(says_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of :meth:`predict_proba`, shape (n, K); -inf where one rounds to 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _probabilities(self, X: Any) -> FloatArray:
        """Probabilities of shape (n, K), of a fitted estimator."""
        raise TypeError(f"{type(self).__name__} must define _probabilities")  # pragma: no cover


def class_labels(y: Any, *, two: bool = True) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The labels as a vector, shape (n,), and the distinct ones in order: two, or at least two."""
    if (found := two_numbers(y)) is not None:
        return y, found  # nothing is left to doubt
    labels: Any = None if y is None else column_or_1d(unmasked(y), warn=True)
    if labels is not None and labels.dtype == object:
        # Whole numbers kept as objects are no labels to scikit-learn's splitters.
        labels = pd.Series(labels, dtype=object).infer_objects().to_numpy()
    if (found := two_numbers(labels)) is not None:
        return labels, found
    if two or labels is None:
        encode_labels(labels)
    try:
        classes = np.unique(labels)
    except TypeError as error:
        raise DataError(f"the labels cannot be ordered ({error}): use one type") from error
    check_classification_targets(labels)
    if len(classes) < 2:
        raise DataError(f"y has {len(labels)} row(s) and 1 class(es); a classifier needs two.")
    return labels, classes


def seed_of(random_state: Any) -> int:
    """An integer seed from whatever scikit-learn calls a random state."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
