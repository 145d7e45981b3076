"""One cross-validation for all estimators: the simplest within one standard error of the best."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.data.checking import row_weights, validated_frame
from milpscore.estimators._base import class_labels
from milpscore.estimators._cards import CardClassifier
from milpscore.estimators._penalised import PenalisedModel, warn_of_gaps
from milpscore.proximal import ProximalPath, ProximalResult

# what a search takes over from the estimator it has chosen
_COPIED = ("scorecard_", "result_", "classes_", "coef_", "intercept_", "n_iter_", "n_features_in_",
           "feature_names_in_")  # fmt: skip


def _delegated(name: str) -> Any:
    """A method of the chosen estimator, there where it has one."""

    def there(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    def method(self: Any, X: Any) -> npt.NDArray[Any]:
        check_is_fitted(self)
        return np.asarray(getattr(self.best_estimator_, name)(X))

    method.__name__, method.__doc__ = name, f"As the estimator's ``{name}``, of the one chosen."
    return available_if(there)(method)


class _Searched(MetaEstimatorMixin, BaseEstimator):
    """What a search has once it is fitted."""

    best_estimator_: Any
    best_index_: int
    best_params_: dict[str, Any]
    cv_results_: dict[str, Any]
    lams_: FloatArray
    path_: ProximalPath
    score_floor_: float


@dataclass(eq=False, repr=False)
class OneStandardErrorCV(_Searched):
    """An estimator of this package whose parameters are cross-validated.

    Every candidate is fitted on all folds; the simplest one whose mean score is within one
    standard error of the best is kept, fitted on all rows. A card's candidates are those of a
    grid, by :class:`sklearn.model_selection.GridSearchCV`. A penalised model's are the values of
    ``lam`` along its path: every fold descends them, each model started from the one before.

    Parameters
    ----------
    estimator : CardClassifier or PenalisedModel
        With all parameters that are not searched.
    grid : mapping from parameter to values, optional
        By default that of the estimator's class (``default_grid``): ``max_terms`` from 1 to 5 for
        most cards. Of a penalised model it holds ``lam`` alone; by default ``n_lams`` values in
        geometric progression from the least lam without terms down to ``ratio`` times it.
    n_lams : int
    ratio : float in (0, 1)
    cv : int or splitter
        A number of shuffled folds (stratified for a classifier), or any splitter of scikit-learn's.
    scoring : str or callable, optional
        As in scikit-learn; greater is better. None: the log likelihood of a risk score, accuracy
        of any other classifier, R^2 of a regressor.
    n_jobs : int, optional
        Processes of joblib's.
    random_state : int, RandomState instance or None
        Shuffles the folds where ``cv`` is a number.

    Attributes
    ----------
    best_estimator_ : CardClassifier or PenalisedModel
        Fitted on all rows.
    best_params_ : dict
    best_index_ : int
    cv_results_ : dict of arrays
        As GridSearchCV's; ``mean_test_complexity`` counts nonzero coefficients, or the jumps
        between bins of the fused lasso and binarsity.
    score_floor_ : float
        The best mean score less one standard error: what the chosen candidate at least has.
    lams_, path_ :
        Of a penalised model: the values of lam, descending, and the path of all rows.
    scorecard_, result_, classes_, coef_, intercept_, n_iter_, n_features_in_ :
        Those of ``best_estimator_``, where it has them.

    Examples
    --------
    >>> from milpscore.estimators import OneStandardErrorCV, SlimClassifier
    >>> search = OneStandardErrorCV(SlimClassifier(), grid={"max_terms": [1, 2]}, cv=2)
    >>> search.fit([[0, 1], [1, 1], [1, 0], [0, 0]], [0, 1, 1, 0]).best_params_
    {'max_terms': 1}

    References
    ----------
    Breiman, Friedman, Olshen & Stone, "Classification and regression trees" (1984), sec. 3.4.3.
    """

    estimator: Any
    _: KW_ONLY
    grid: Mapping[str, Sequence[Any]] | None = None
    n_lams: int = 30
    ratio: float = 0.01
    cv: Any = 5
    scoring: Any = None
    n_jobs: int | None = None
    random_state: Any = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the parameters and fit with them on all rows.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Weights the fits and the scores; the folds count rows.

        Returns
        -------
        OneStandardErrorCV
            Itself.

        Raises
        ------
        DataError, FormulationError, SizeError, OptionError, SolverError
            As in the estimator's ``fit``; OptionError too where there is nothing to search.

        Warns
        -----
        ConvergenceWarning
            Once, for all fits of a penalised model whose gap stayed above its ``tol``.
        """
        if isinstance(self.estimator, CardClassifier):
            self._fit_grid(X, y, sample_weight)
        elif isinstance(self.estimator, PenalisedModel):
            self._fit_path(X, y, sample_weight)
        else:
            raise OptionError(
                "estimator must be a card classifier or a penalised model of "
                f"milpscore.estimators, got {self.estimator!r}"
            )
        for name in _COPIED:
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
        return self

    predict = _delegated("predict")
    decision_function = _delegated("decision_function")
    predict_proba = _delegated("predict_proba")
    predict_log_proba = _delegated("predict_log_proba")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R^2 of a regressor, of ``best_estimator_``."""
        return float(self._best().score(X, y, sample_weight))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """As the estimator's ``get_feature_names_out``, of ``best_estimator_``."""
        return np.asarray(self._best().get_feature_names_out(input_features), dtype=object)

    def _best(self) -> Any:
        """The chosen estimator."""
        check_is_fitted(self)
        return self.best_estimator_

    # ------------------------------------------------------------ cards: a grid

    def _fit_grid(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Every candidate of the grid on every fold."""
        frame = validated_frame(self, X, reset=True)
        labels, _ = class_labels(y)
        weighted = sample_weight is not None
        # Only routed weights reach the scores as well as the fits.
        with config_context(enable_metadata_routing=True) if weighted else nullcontext():
            search = self._grid_search(weighted)
            weights = {"sample_weight": row_weights(sample_weight, len(frame))} if weighted else {}
            search.fit(X, labels, **weights)
        self.best_estimator_ = search.best_estimator_
        self.best_params_ = search.best_params_
        self.best_index_ = int(search.best_index_)
        self.cv_results_ = search.cv_results_
        self.score_floor_ = score_floor(_split_scores(search.cv_results_))

    def _grid_search(self, weighted: bool) -> GridSearchCV:
        """The grid search, its fits and scores asking for sample weights if there are any."""
        candidate = clone(self.estimator)
        scoring = self.estimator.default_scoring if self.scoring is None else self.scoring
        scorer = deepcopy(check_scoring(candidate, scoring=scoring))
        if weighted:
            candidate.set_fit_request(sample_weight=True)
            _require_weights(scorer)
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

    def _grid(self) -> dict[str, list[Any]]:
        """Searched parameter -> its values."""
        given = self.estimator.default_grid if self.grid is None else self.grid
        grid = {name: list(values) for name, values in given.items()}
        if not grid or not all(grid.values()):
            raise OptionError("grid holds no values to try: give at least one value of a parameter")
        return grid

    # ------------------------------------------------------------ penalised models: a path

    def _fit_path(self, X: Any, y: Any, sample_weight: Any) -> None:
        """The path of all rows settles the values of lam; every fold descends them."""
        candidate = clone(self.estimator)
        y = candidate.checked_answers(y)
        found, models = candidate.along_path(
            X, y, sample_weight, lams=self._lams(), n_lams=self.n_lams, ratio=self.ratio
        )
        parts = self._across_folds(candidate, X, y, sample_weight, found.lams)
        scores = np.array([part[0] for part in parts])
        self.score_floor_ = score_floor(scores)
        # lam descends, so the first is the simplest
        self.best_index_ = int(np.flatnonzero(scores.mean(axis=0) >= self.score_floor_)[0])
        self.cv_results_ = _table(found.lams, scores, np.array([part[1] for part in parts]))
        self.lams_, self.path_ = found.lams, found
        self.best_estimator_ = models[self.best_index_]
        self.best_params_ = {"lam": float(self.best_estimator_.lam or 0.0)}
        fits = [*found.results, *(result for part in parts for result in part[2])]
        warn_of_gaps(type(self).__name__, fits, candidate.tol)

    def _lams(self) -> Any:
        """The values of lam asked for, or None."""
        if self.grid is None:
            return None
        if set(self.grid) != {"lam"}:
            raise OptionError(
                f"the grid of a penalised model holds lam alone, got {', '.join(self.grid)}"
            )
        return self.grid["lam"]

    def _across_folds(
        self, candidate: Any, X: Any, y: npt.NDArray[Any], sample_weight: Any, lams: FloatArray
    ) -> list[tuple[FloatArray, FloatArray, tuple[ProximalResult, ...]]]:
        """Scores, complexities and results of all lam, fold by fold."""
        scorer = check_scoring(candidate, scoring=self.scoring)
        weight = None
        if sample_weight is not None:
            if callable(self.scoring):
                _require_weights(scorer)
            weight = row_weights(sample_weight, len(y))
        (rows,) = indexable(X)
        folds = check_cv(self._folds(), y, classifier=is_classifier(candidate))
        splits = list(folds.split(rows, y))
        if len(splits) < 2:
            raise OptionError(f"cv={self.cv!r} makes one fold; a standard error needs two.")
        jobs = (
            delayed(_one_fold)(clone(candidate), scorer, rows, y, weight, lams, train, test)
            for train, test in splits
        )
        parts: list[tuple[FloatArray, FloatArray, tuple[ProximalResult, ...]]]
        parts = Parallel(n_jobs=self.n_jobs)(jobs)
        return parts

    def _folds(self) -> Any:
        """The splitter."""
        if not isinstance(self.cv, numbers.Integral):
            return self.cv
        kind = StratifiedKFold if is_classifier(self.estimator) else KFold
        return kind(int(self.cv), shuffle=True, random_state=self.random_state)

    def __sklearn_tags__(self) -> Any:
        """Those of the estimator."""
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
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
    """The best mean score less its standard error; scores of shape (folds, candidates)."""
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


def _require_weights(scorer: Any) -> None:
    """Refuse a score that cannot weigh rows."""
    if not hasattr(scorer, "set_score_request"):
        raise OptionError(
            "scoring is a plain function, which takes no sample_weight: pass the name of a score, "
            "or a scorer from sklearn.metrics.make_scorer"
        )


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
