"""Penalised models cross-validated over a warm-started path of lam."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.data.checking import row_weights
from milpscore.estimators._cv import score_floor
from milpscore.estimators._penalised import PenalisedModel, warn_of_gaps
from milpscore.estimators._penalised_tasks import PenalisedClassifierBase, has_chances
from milpscore.proximal import ProximalPath, ProximalResult


class PenalisedModelCV(BaseEstimator):
    """Base of the estimators cross-validated over the path.

    The path of all rows settles the values of lam. Every fold then descends them, each model
    started from the one before, and scores its models on the rows left out. The largest lam whose
    mean score is within one standard error of the best is chosen.

    Parameters
    ----------
    estimator : PenalisedModel, optional
        All parameters but lam; default: the template with its defaults.
    lams : sequence of float, optional
        The values to choose from. By default ``n_lams`` of them in geometric progression from the
        least lam without terms down to ``ratio`` times it.
    n_lams : int
    ratio : float in (0, 1)
    cv : int or splitter
        A number of shuffled folds (stratified for a classifier), or any splitter of scikit-learn's.
    scoring : str or callable
        As in scikit-learn; greater is better. None: accuracy, or R^2 for a regressor.
    n_jobs : int, optional
        Processes of joblib's, one fold each.
    random_state : int, RandomState instance or None
        Shuffles the folds where ``cv`` is a number.

    Attributes
    ----------
    best_estimator_ : PenalisedModel
        That of the path of all rows.
    lam_ : float
        The one chosen.
    best_params_ : dict
    best_index_ : int
    lams_ : ndarray of shape (m,), descending
    path_ : ProximalPath
        Of all rows.
    cv_results_ : dict of arrays of shape (m,)
        As GridSearchCV's: param_lam, params, split*_test_score, mean_test_score, std_test_score,
        rank_test_score, and mean_test_complexity (nonzero coefficients, or jumps between bins for
        binarsity).
    score_floor_ : float
        The best mean score less one standard error: what the chosen lam at least has.
    coef_, intercept_, result_, n_iter_, n_features_in_, classes_ :
        Those of ``best_estimator_``.

    References
    ----------
    Breiman, Friedman, Olshen & Stone, "Classification and regression trees" (1984), sec. 3.4.3.
    """

    template: ClassVar[type[PenalisedModel]]

    best_estimator_: Any
    lams_: FloatArray
    path_: ProximalPath
    n_features_in_: int

    def __init__(
        self,
        estimator: PenalisedModel | None = None,
        *,
        lams: Sequence[float] | FloatArray | None = None,
        n_lams: int = 30,
        ratio: float = 0.01,
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.lams = lams
        self.n_lams = n_lams
        self.ratio = ratio
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose lam and keep its model of all rows.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Weights the fits and the scores; the folds count rows.

        Returns
        -------
        PenalisedModelCV
            Itself.

        Raises
        ------
        DataError, OptionError, SizeError
            As in :meth:`PenalisedModel.fit`; OptionError too where the penalty has no path of its
            own and no ``lams`` were given.

        Warns
        -----
        ConvergenceWarning
            Once, for all fits whose gap stayed above the estimator's ``tol``.
        """
        candidate = self._candidate()
        y = candidate.checked_answers(y)
        found, models = candidate.along_path(
            X, y, sample_weight, lams=self.lams, n_lams=self.n_lams, ratio=self.ratio
        )
        parts = self._across_folds(candidate, X, y, sample_weight, found.lams)
        scores = np.array([part[0] for part in parts])
        self.score_floor_ = score_floor(scores)
        # lam descends, so the first is the simplest
        self.best_index_ = int(np.flatnonzero(scores.mean(axis=0) >= self.score_floor_)[0])
        self.cv_results_ = _table(found.lams, scores, np.array([part[1] for part in parts]))
        self.lams_, self.path_ = found.lams, found
        self._take(models[self.best_index_])
        fits = [*found.results, *(result for part in parts for result in part[2])]
        warn_of_gaps(type(self).__name__, fits, candidate.tol)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """As the estimator's ``predict``, of ``best_estimator_``."""
        check_is_fitted(self)
        answers: npt.NDArray[Any] = self.best_estimator_.predict(X)
        return answers

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """As :meth:`PenalisedModel.get_feature_names_out`, of ``best_estimator_``."""
        check_is_fitted(self)
        names: npt.NDArray[np.object_] = self.best_estimator_.get_feature_names_out(input_features)
        return names

    def _take(self, best: PenalisedModel) -> None:
        """Keep the chosen model, its fitted attributes as one's own."""
        self.best_estimator_ = best
        self.lam_ = float(best.lam or 0.0)
        self.best_params_ = {"lam": self.lam_}
        for name in ("coef_", "intercept_", "result_", "n_iter_", "classes_"):
            if hasattr(best, name):
                setattr(self, name, getattr(best, name))
        self.n_features_in_ = best.n_features_in_
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def _candidate(self) -> Any:
        """An unfitted estimator with the parameters that are not searched."""
        if self.estimator is None:
            return self.template()
        if not isinstance(self.estimator, self.template):
            raise OptionError(
                f"estimator must be a {self.template.__name__} or None, got {self.estimator!r}"
            )
        return clone(self.estimator)

    def _across_folds(
        self, candidate: Any, X: Any, y: npt.NDArray[Any], sample_weight: Any, lams: FloatArray
    ) -> list[tuple[FloatArray, FloatArray, tuple[ProximalResult, ...]]]:
        """Scores, complexities and results of all lam, fold by fold."""
        scorer = check_scoring(candidate, scoring=self.scoring)
        weight = None
        if sample_weight is not None:
            if callable(self.scoring) and not hasattr(scorer, "set_score_request"):
                raise OptionError(
                    "scoring is a plain function, which takes no sample_weight: pass the name of a"
                    " score, or a scorer from sklearn.metrics.make_scorer"
                )
            weight = row_weights(sample_weight, len(y))
        (rows,) = indexable(X)
        splits = list(self._folds(y).split(rows, y))
        if len(splits) < 2:
            raise OptionError(f"cv={self.cv!r} makes one fold; a standard error needs two.")
        jobs = (
            delayed(_one_fold)(clone(candidate), scorer, rows, y, weight, lams, train, test)
            for train, test in splits
        )
        parts: list[tuple[FloatArray, FloatArray, tuple[ProximalResult, ...]]]
        parts = Parallel(n_jobs=self.n_jobs)(jobs)
        return parts

    def _folds(self, y: npt.NDArray[Any]) -> Any:
        """The splitter."""
        stratified = issubclass(self.template, PenalisedClassifierBase)
        if isinstance(self.cv, numbers.Integral):
            kind = StratifiedKFold if stratified else KFold
            return kind(int(self.cv), shuffle=True, random_state=self.random_state)
        return check_cv(self.cv, y, classifier=stratified)

    def _tags_of_estimator(self, tags: Any) -> Any:
        """What input is welcome is the estimator's to say."""
        inner = get_tags(self.template() if self.estimator is None else self.estimator)
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags


def _has_chances(search: Any) -> bool:
    """Whether the estimator has probabilities."""
    return has_chances(search.template() if search.estimator is None else search.estimator)


class PenalisedClassifierCVBase(ClassifierMixin, PenalisedModelCV):
    """Base of the cross-validated classifiers."""

    classes_: npt.NDArray[Any]

    def decision_function(self, X: Any) -> FloatArray:
        """As :meth:`PenalisedClassifierBase.decision_function`, of ``best_estimator_``."""
        check_is_fitted(self)
        scores: FloatArray = self.best_estimator_.decision_function(X)
        return scores

    @available_if(_has_chances)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """As :meth:`PenalisedClassifierBase.predict_proba`, of ``best_estimator_``."""
        check_is_fitted(self)
        chances: FloatArray = self.best_estimator_.predict_proba(X)
        return chances

    @available_if(_has_chances)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of :meth:`predict_proba`, shape (n, K)."""
        return np.asarray(np.log(self.predict_proba(X)))

    def __sklearn_tags__(self) -> Any:
        return self._tags_of_estimator(super().__sklearn_tags__())


class PenalisedRegressorCVBase(RegressorMixin, PenalisedModelCV):
    """Base of the cross-validated regressors."""

    def __sklearn_tags__(self) -> Any:
        return self._tags_of_estimator(super().__sklearn_tags__())


def _one_fold(
    model: PenalisedModel,
    scorer: Any,
    X: Any,
    y: npt.NDArray[Any],
    weight: FloatArray | None,
    lams: FloatArray,
    train: IntArray,
    test: IntArray,
) -> tuple[FloatArray, FloatArray, tuple[ProximalResult, ...]]:
    """Descend the path on some rows and score every model on the others."""
    inside = None if weight is None else weight[train]
    found, models = model.along_path(_safe_indexing(X, train), y[train], inside, lams=lams)
    left_out = {} if weight is None else {"sample_weight": weight[test]}
    rest, answers = _safe_indexing(X, test), y[test]
    scores = np.array([scorer(one, rest, answers, **left_out) for one in models])
    return scores, np.array([float(one.complexity()) for one in models]), found.results


def _table(lams: FloatArray, scores: FloatArray, complexity: FloatArray) -> dict[str, Any]:
    """Columns named as GridSearchCV names them; scores of shape (folds, m)."""
    mean = scores.mean(axis=0)
    return {
        "param_lam": lams,
        "params": [{"lam": lam} for lam in lams.tolist()],
        **{f"split{k}_test_score": row for k, row in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": 1 + (mean[:, None] < mean).sum(axis=1),
        "mean_test_complexity": complexity.mean(axis=0),
    }
