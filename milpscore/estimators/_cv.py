"""One cross-validation for all estimators: the simplest within one standard error of the best."""

from __future__ import annotations

import math
import numbers
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, ParameterGrid, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from milpscore.core.design import Design, FloatArray
from milpscore.core.errors import OptionError
from milpscore.data import Binner
from milpscore.data.binner import folds_of, stratified_splits
from milpscore.data.checking import row_weights, validated_frame
from milpscore.data.sources import at_size
from milpscore.estimators._base import (
    class_labels,
    given_design,
    rows_by_name,
    seed_of,
    warn_of_unproved,
)
from milpscore.estimators._cards import CardClassifier
from milpscore.estimators._penalised import PenalisedModel, warn_of_gaps
from milpscore.proximal import ProximalPath

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
    grid. A penalised model's are the values of ``lam`` along a path for every combination of what
    else the grid holds: every fold descends them, each model started from the one before.

    Parameters
    ----------
    estimator : CardClassifier or PenalisedModel
        With all parameters that are not searched.
    grid : mapping from parameter to values, optional
        By default that of the estimator's class (``default_grid``): ``max_terms`` from 1 to 5 for
        most cards, five units ``gamma`` for Facets models, nothing for other penalised ones. For a
        penalised model ``lam`` need not be in it: by default ``n_lams`` values in geometric
        progression from the least lam without terms down to ``ratio`` times it.
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
        As GridSearchCV's, without times; ``mean_test_complexity`` counts nonzero coefficients, or
        the jumps between bins of the fused lasso and binarsity.
    score_floor_ : float
        The best mean score less one standard error: what the chosen candidate at least has.
    lams_, path_ :
        Of a penalised model: the values of lam, descending, and the path of all rows, for what else
        was chosen.
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the parameters and fit with them on all rows.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, list of rows, table or Design, shape (n, q)
            As in the estimator's ``fit``. Merged rows of each pattern are dealt to the
            folds by chance, and the columns are those of all rows in every fold.
        y : array of shape (n,), or str
        sample_weight : array of shape (n,) or str, optional
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
            Once, for all fits whose gap stayed above ``tol`` (penalised models) or ``mip_gap``
            (cards).
        """
        if not isinstance(self.estimator, CardClassifier | PenalisedModel):
            raise OptionError(
                "estimator must be a card classifier or a penalised model of "
                f"milpscore.estimators, got {self.estimator!r}"
            )
        candidate, grid = clone(self.estimator), self._grid()
        if isinstance(X, Design) or at_size(X, rows=True):
            X, y, sample_weight = self._merged(candidate, X, y, sample_weight), None, None
        else:
            X, y, sample_weight = rows_by_name(X, y, sample_weight)
        if isinstance(candidate, PenalisedModel):
            self._fit_paths(candidate, grid, X, y, sample_weight)
        else:
            self._fit_grid(candidate, grid, X, y, sample_weight)
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

    def _grid(self) -> dict[str, list[Any]]:
        """Searched parameter -> its values; of a penalised model empty for the path's own."""
        given = self.estimator.default_grid if self.grid is None else self.grid
        grid = {name: list(values) for name, values in given.items()}
        if not all(grid.values()) or not (grid or self.grid is None):
            raise OptionError("grid holds no values to try: give at least one value of a parameter")
        if unknown := sorted(grid.keys() - self.estimator.get_params(deep=False).keys()):
            raise OptionError(
                f"{type(self.estimator).__name__} has no parameter {', '.join(unknown)} to search"
            )
        return grid

    def _merged(self, candidate: Any, X: Any, y: Any, sample_weight: Any) -> Design:
        """The Design given, or the distinct rows of a large table in the candidate's columns."""
        design = given_design(X, y, sample_weight)
        if design is None:
            weights = {"class_weight": candidate.class_weight} if is_classifier(candidate) else {}
            binner = candidate._binner() or Binner.raw()
            design = binner.fit_patterns(X, y, sample_weight=sample_weight, positive=max, **weights)
        if is_classifier(candidate):
            candidate.class_weight = None  # it is in the weights of the Design
        return design

    def _fit_grid(self, candidate: Any, grid: Any, X: Any, y: Any, sample_weight: Any) -> None:
        """Every candidate of the grid on every fold."""
        labels = None
        if not isinstance(X, Design):
            validated_frame(self, X, reset=True)
            labels, _ = class_labels(y)
        points = list(ParameterGrid(grid))
        fits = self._score([[point] for point in points], candidate, X, labels, sample_weight)
        self.best_index_ = one_standard_error(self.cv_results_)
        self.best_params_ = points[self.best_index_]
        chosen = candidate.set_params(**self.best_params_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said once, below
            self.best_estimator_ = chosen.fit(X, labels, sample_weight)
        warn_of_unproved(candidate, [*fits, self.best_estimator_.result_])

    def _fit_paths(self, candidate: Any, grid: Any, X: Any, y: Any, sample_weight: Any) -> None:
        """The paths of all rows settle the values of lam; every fold descends them."""
        y = None if isinstance(X, Design) else candidate.checked_answers(y)
        lams = grid.pop("lam", None)
        others = list(ParameterGrid(grid))
        found = [
            clone(candidate)
            .set_params(**point)
            .along_path(X, y, sample_weight, lams=lams, n_lams=self.n_lams, ratio=self.ratio)
            for point in others
        ]
        batches = [
            [{**point, "lam": lam} for lam in path.lams.tolist()]
            for point, (path, _) in zip(others, found, strict=True)
        ]
        fits = self._score(batches, candidate, X, y, sample_weight)
        # lam descends, so the first of a path is its simplest
        mean = self.cv_results_["mean_test_score"].reshape(len(batches), -1)
        within = mean >= self.score_floor_
        paths = np.flatnonzero(within.any(axis=1))
        firsts = paths * mean.shape[1] + within[paths].argmax(axis=1)
        self.best_index_ = _simplest(mean.ravel(), self.cv_results_, firsts)
        chosen, at = divmod(self.best_index_, mean.shape[1])
        self.path_, models = found[chosen]
        self.lams_, self.best_estimator_ = self.path_.lams, models[at]
        self.best_params_ = batches[chosen][at]
        every = [*chain.from_iterable(path.results for path, _ in found), *fits]
        warn_of_gaps(type(self).__name__, every, candidate.tol)

    def _score(
        self, batches: Sequence[Any], candidate: Any, X: Any, y: Any, sample_weight: Any
    ) -> list[Any]:
        """Fill ``cv_results_`` of candidates fitted batch by batch; the results of their fits."""
        scoring = self.scoring or getattr(candidate, "default_scoring", None)
        scorer = check_scoring(candidate, scoring=scoring)
        weight, merged = None, isinstance(X, Design)
        if sample_weight is not None or merged:
            if not hasattr(scorer, "set_score_request") and callable(self.scoring):
                raise OptionError(
                    "scoring is a plain function, which takes no sample_weight: pass the name of a "
                    "score, or a scorer from sklearn.metrics.make_scorer"
                )
            weight = None if merged else row_weights(sample_weight, len(y))
        if merged:
            # scores read labels that come in order
            plain = replace(X, classes=(0, 1))
            dealt, splits = stratified_splits(plain, self.cv, seed_of(self.random_state))
            folds: list[Any] = [(None, *fold) for fold in folds_of(dealt, splits, X, None)]
        else:
            (rows,) = indexable(X)
            splits = list(
                check_cv(self._folds(), y, classifier=is_classifier(candidate)).split(rows, y)
            )
            folds = [((rows, y, weight), *split) for split in splits]
        if len(splits) < 2:
            raise OptionError("{cv} makes one fold; a standard error needs two.", cv=self.cv)
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(_one_fold)(clone(candidate), scorer, points, *fold)
            for fold in folds
            for points in batches
        )
        scores = np.concatenate([part[0] for part in parts]).reshape(len(splits), -1)
        complexity = np.concatenate([part[1] for part in parts]).reshape(len(splits), -1)
        self.score_floor_ = score_floor(scores)
        self.cv_results_ = _table(list(chain(*batches)), scores, complexity)
        return [result for part in parts for result in part[2]]

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
    return _simplest(mean, cv_results, np.flatnonzero(mean >= score_floor(scores)))


def _simplest(mean: FloatArray, cv_results: Mapping[str, Any], of: npt.NDArray[np.intp]) -> int:
    """The simplest of some candidates, of equally simple ones the better, then the first."""
    complexity = np.asarray(cv_results["mean_test_complexity"])[of]
    return int(of[np.lexsort((of, -mean[of], complexity))[0]])


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


def _one_fold(
    model: Any,
    scorer: Any,
    points: Sequence[Mapping[str, Any]],
    table: tuple[Any, npt.NDArray[Any], FloatArray | None] | None,
    train: Any,
    test: Any,
) -> tuple[list[float], list[float], Sequence[Any]]:
    """Fit some candidates to some rows and score them on the others; a path is descended.

    Both are rows of the table, or designs of their own where there is none.
    """
    given: tuple[Any, ...] = (train, None, None)
    if table is None:
        rest, truth, left_out = test, (test.y > 0).astype(np.int64), test.weight
    else:
        X, y, weight = table
        given = _safe_indexing(X, train), y[train], None if weight is None else weight[train]
        rest, truth = _safe_indexing(X, test), y[test]
        left_out = None if weight is None else weight[test]
    if isinstance(model, PenalisedModel):
        model.set_params(**points[0])
        found, models = model.along_path(*given, lams=[point["lam"] for point in points])
        results: Sequence[Any] = found.results
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said once, for all fits
            models = [clone(model).set_params(**point).fit(*given) for point in points]
        results = [one.result_ for one in models]
    weighed = {} if left_out is None else {"sample_weight": left_out}
    scores = [float(scorer(one, rest, truth, **weighed)) for one in models]
    return scores, [float(one.complexity()) for one in models], results


def _table(
    points: Sequence[Mapping[str, Any]], scores: FloatArray, complexity: FloatArray
) -> dict[str, Any]:
    """Columns named as GridSearchCV names them; measures of shape (folds, m)."""
    columns = {name: [point[name] for point in points] for name in points[0]}
    found: dict[str, Any] = {
        f"param_{name}": pd.Series(values, dtype=object).infer_objects().to_numpy()
        for name, values in columns.items()
    }
    found["params"] = list(points)
    for name, measured in (("score", scores), ("complexity", complexity)):
        found |= {f"split{k}_test_{name}": row for k, row in enumerate(measured)}
        found |= {f"mean_test_{name}": measured.mean(axis=0)}
        found |= {f"std_test_{name}": measured.std(axis=0)}
    mean = scores.mean(axis=0)
    return {**found, "rank_test_score": 1 + (mean[:, None] < mean).sum(axis=1)}
