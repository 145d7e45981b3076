"""Cross-validated estimators: the simplest card within one standard error of the best."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from contextlib import nullcontext
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.data.checking import row_weights, validated_frame
from milpscore.estimators._base import CardClassifier, binary_labels


class CardClassifierCV(ClassifierMixin, BaseEstimator):
    """Base of the cross-validated estimators.

    All candidates are fitted on all folds by :class:`sklearn.model_selection.GridSearchCV`; the
    one chosen by :func:`one_standard_error` is fitted again on all rows.

    Parameters
    ----------
    estimator : CardClassifier, optional
        All parameters that are not searched; default: the template with its defaults.
    cv : int or splitter
        A number of stratified, shuffled folds, or any splitter of scikit-learn's.
    scoring : str or callable
        As in scikit-learn; greater is better.
    n_jobs : int, optional
        Processes of joblib's.
    random_state : int, RandomState instance or None
        Shuffles the folds where ``cv`` is a number.

    Attributes
    ----------
    best_estimator_ : CardClassifier
        Fitted on all rows.
    best_params_ : dict
    best_index_ : int
    cv_results_ : dict of arrays
        As GridSearchCV's, with the columns ``*_test_score`` and ``*_test_complexity``; a pandas
        DataFrame takes it as it is. The complexity is the number of nonzero points, or of jumps
        between bins for the fused lasso.
    score_floor_ : float
        The best mean score less one standard error: what the chosen candidate at least has.
    scorecard_, result_, classes_, coef_, intercept_, n_features_in_ :
        Those of ``best_estimator_``.
    """

    template: ClassVar[type[CardClassifier]]
    searched: ClassVar[tuple[str, ...]]

    estimator: CardClassifier | None
    cv: Any
    scoring: Any
    n_jobs: int | None
    random_state: Any

    best_estimator_: CardClassifier
    n_features_in_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the parameters and fit with them on all rows.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)
        y : array of shape (n,)
            Two distinct labels.
        sample_weight : array of shape (n,), optional
            Weights the fits and the scores; the folds count rows.

        Returns
        -------
        CardClassifierCV
            Itself.

        Raises
        ------
        DataError, FormulationError, SizeError, OptionError, SolverError
            As in :meth:`CardClassifier.fit`; OptionError too where there is nothing to search.
        """
        frame = validated_frame(self, X, reset=True)
        labels, self.classes_ = binary_labels(y)
        weighted = sample_weight is not None
        # Only routed weights reach the scores as well as the fits.
        with config_context(enable_metadata_routing=True) if weighted else nullcontext():
            search = self._search(weighted)
            weights = {"sample_weight": row_weights(sample_weight, len(frame))} if weighted else {}
            search.fit(X, labels, **weights)
        self.best_estimator_ = search.best_estimator_
        self.best_params_ = search.best_params_
        self.best_index_ = search.best_index_
        self.cv_results_ = search.cv_results_
        self.score_floor_ = score_floor(_split_scores(search.cv_results_))
        for name in ("scorecard_", "result_", "coef_", "intercept_"):
            setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """As :meth:`CardClassifier.decision_function`, of ``best_estimator_``."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """As :meth:`CardClassifier.predict`, of ``best_estimator_``."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """As :meth:`CardClassifier.get_feature_names_out`, of ``best_estimator_``."""
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)

    def _search(self, weighted: bool) -> GridSearchCV:
        """The grid search, its fits and scores asking for sample weights if there are any."""
        candidate = self._candidate()
        scorer = deepcopy(check_scoring(candidate, scoring=self.scoring))
        if weighted:
            candidate.set_fit_request(sample_weight=True)
            if not hasattr(scorer, "set_score_request"):
                raise OptionError(
                    "scoring is a plain function, which takes no sample_weight: pass the name of a"
                    " score, or a scorer from sklearn.metrics.make_scorer"
                )
            scorer.set_score_request(sample_weight=True)
        return GridSearchCV(
            candidate,
            self._grid(),
            scoring={"score": scorer, "complexity": _complexity},
            cv=self._folds(),
            n_jobs=self.n_jobs,
            refit=one_standard_error,
            error_score="raise",
        )

    def _candidate(self) -> Any:
        """An unfitted estimator with the parameters that are not searched."""
        if self.estimator is None:
            return self.template()
        if not isinstance(self.estimator, self.template):
            raise OptionError(
                f"estimator must be a {self.template.__name__} or None, got {self.estimator!r}"
            )
        return clone(self.estimator)

    def _grid(self) -> dict[str, list[Any]]:
        """Searched parameter -> its values."""
        given = {name: getattr(self, name) for name in self.searched}
        grid = {name: list(values) for name, values in given.items() if values is not None}
        if not grid or not all(grid.values()):
            raise OptionError(f"give at least one value of {' or '.join(self.searched)} to try")
        return grid

    def _folds(self) -> Any:
        """The splitter."""
        if isinstance(self.cv, numbers.Integral):
            return StratifiedKFold(int(self.cv), shuffle=True, random_state=self.random_state)
        return self.cv

    def __sklearn_tags__(self) -> Any:
        """Those of the estimator."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.template() if self.estimator is None else self.estimator)
        tags.classifier_tags, tags.input_tags = inner.classifier_tags, inner.input_tags
        return tags


def one_standard_error(cv_results: Mapping[str, Any]) -> int:
    """Index of the simplest candidate whose mean score is within one standard error of the best.

    Parameters
    ----------
    cv_results : mapping
        ``cv_results_`` of a GridSearchCV that scores ``score`` and ``complexity``.

    Returns
    -------
    int
        Of equally simple candidates the one with the better mean score, then the first.

    Notes
    -----
    Reference: Breiman, Friedman, Olshen & Stone, "Classification and regression trees" (1984),
    sec. 3.4.3. Simple is what the fitted cards are on average, not what their parameters allow.
    """
    scores = _split_scores(cv_results)
    mean = scores.mean(axis=0)
    within = np.flatnonzero(mean >= score_floor(scores))
    complexity = np.asarray(cv_results["mean_test_complexity"])[within]
    return int(within[np.lexsort((within, -mean[within], complexity))[0]])


def score_floor(scores: FloatArray) -> float:
    """The best mean score less its standard error over the folds.

    Parameters
    ----------
    scores : ndarray of shape (folds, candidates)

    Returns
    -------
    float
    """
    mean = scores.mean(axis=0)
    best = int(np.argmax(mean))
    error = scores[:, best].std(ddof=1) / math.sqrt(len(scores))
    return float(mean[best] - error)


def _split_scores(cv_results: Mapping[str, Any]) -> FloatArray:
    """Scores of shape (folds, candidates)."""
    folds = sum(re.fullmatch(r"split\d+_test_score", name) is not None for name in cv_results)
    return np.stack([np.asarray(cv_results[f"split{k}_test_score"]) for k in range(folds)])


def _complexity(estimator: CardClassifier, X: Any, y: Any) -> int:
    """A scorer that looks at the card only."""
    return estimator.complexity()
