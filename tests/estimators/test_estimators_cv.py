"""The cross-validated estimators: the one-standard-error rule, on scikit-learn's machinery."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from milpscore.core.errors import OptionError
from milpscore.data import Binner, make_planted_score
from milpscore.estimators import (
    FacetsHingeClassifier,
    FusedLassoClassifier,
    HingeClassifier,
    OneStandardErrorCV,
    SlimClassifier,
    SparseRoundingClassifier,
    one_standard_error,
)


@pytest.fixture(scope="module")
def planted() -> tuple[pd.DataFrame, pd.Series[Any]]:
    X, y, _ = make_planted_score(80, 5, n_terms=2, max_points=3, noise=0.05, random_state=1)
    return X, y


def results(scores: Any, complexity: Any) -> dict[str, Any]:
    """cv_results_ of scores of shape (folds, candidates)."""
    scores = np.asarray(scores, dtype=float)
    table: dict[str, Any] = {f"split{k}_test_score": row for k, row in enumerate(scores)}
    # Names that look alike must not be taken for scores.
    table |= {"split0_test_complexity": np.zeros(scores.shape[1])}
    return {**table, "mean_test_complexity": np.asarray(complexity, dtype=float)}


# ------------------------------------------------------------------ the rule


def test_the_simplest_within_one_standard_error() -> None:
    # Best mean .80 with standard error .1 / sqrt(4) = .05: the floor is .75.
    best = np.array([0.7, 0.7, 0.9, 0.9])
    best = 0.8 + (best - 0.8) / best.std(ddof=1) * 0.1
    flat = np.ones(4)
    scores = np.column_stack([0.74 * flat, 0.76 * flat, best, 0.79 * flat])
    assert one_standard_error(results(scores, [1, 2, 3, 4])) == 1
    assert one_standard_error(results(scores, [1, 3, 2, 4])) == 2
    assert one_standard_error(results(scores, [1, 5, 5, 4])) == 3
    # Of two equally simple ones the better, of two equal ones the first.
    assert one_standard_error(results(scores, [1, 2, 2, 2])) == 2
    assert one_standard_error(results(np.column_stack([flat, flat]), [2, 2])) == 0


def test_the_rule_by_its_definition() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.integers(0, 20, (5, 6)) / 20
        complexity = rng.integers(0, 4, 6)
        means = [sum(column) / 5 for column in scores.T]
        best = max(range(6), key=lambda c: means[c])
        spread = math.sqrt(sum((s - means[best]) ** 2 for s in scores[:, best]) / 4)
        floor = means[best] - spread / math.sqrt(5)
        fine = [c for c in range(6) if means[c] >= floor - 1e-12]
        chosen = one_standard_error(results(scores, complexity))
        assert chosen in fine
        assert complexity[chosen] == min(complexity[c] for c in fine)


# ------------------------------------------------------------------ the estimators


@pytest.mark.parametrize(
    ("plain", "grid"),
    [
        (SlimClassifier(), {"max_terms": (1, 2, 4)}),
        (HingeClassifier(max_terms=None), {"l0_penalty": (0.0, 0.05, 5.0)}),
        (SparseRoundingClassifier(), {"max_terms": (1, 3)}),
        (FusedLassoClassifier(), {"lam": (0.01, 0.1, 5.0)}),
        (FacetsHingeClassifier(), {"lam": (0.01, 0.1, 5.0)}),
    ],
    ids=["slim", "hinge", "sparse_rounding", "fused_lasso", "facets_hinge"],
)
def test_chosen_and_fitted_again(plain: Any, grid: Any, planted: Any) -> None:
    X, y = planted
    model = OneStandardErrorCV(plain, grid=grid, cv=3).fit(X, y)
    table = pd.DataFrame(model.cv_results_)
    ((name, values),) = grid.items()
    assert table[f"param_{name}"].tolist() == list(values)
    chosen = table.loc[model.best_index_]
    assert chosen["params"] == model.best_params_
    assert chosen["mean_test_score"] >= model.score_floor_ > 0.5
    simpler = table[table["mean_test_complexity"] < chosen["mean_test_complexity"]]
    assert (simpler["mean_test_score"] < model.score_floor_).all()
    again = clone(plain).set_params(**model.best_params_).fit(X, y)
    assert again.scorecard_.points == model.scorecard_.points
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert np.array_equal(model.predict(X) == 1, model.decision_function(X) > 0)
    assert model.result_ is model.best_estimator_.result_
    assert model.get_feature_names_out().tolist() == again.get_feature_names_out().tolist()


def test_scores_are_those_of_the_folds(planted: Any) -> None:
    X, y = planted
    model = OneStandardErrorCV(
        SlimClassifier(coef_min=0), grid={"max_terms": (1, 2)}, cv=3, random_state=4
    )
    model.fit(X, y)
    assert (model.coef_ >= 0).all()
    folds = StratifiedKFold(3, shuffle=True, random_state=4)
    for k, (train, test) in enumerate(folds.split(X, y)):
        card = SlimClassifier(coef_min=0, max_terms=1).fit(X.iloc[train], y.iloc[train])
        assert model.cv_results_[f"split{k}_test_score"][0] == card.score(
            X.iloc[test], y.iloc[test]
        )
        assert model.cv_results_[f"split{k}_test_complexity"][0] == np.count_nonzero(card.coef_)


def test_weights_reach_fits_and_scores(planted: Any) -> None:
    X, y = planted
    weight = np.random.default_rng(0).integers(1, 9, len(y)).astype(float)
    model = OneStandardErrorCV(SlimClassifier(), grid={"max_terms": (1, 2)}, cv=3)
    model.fit(X, y, sample_weight=weight)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    train, test = next(iter(folds.split(X, y)))
    card = SlimClassifier(max_terms=2).fit(X.iloc[train], y.iloc[train], weight[train])
    answers = card.predict(X.iloc[test])
    expected = accuracy_score(y.iloc[test], answers, sample_weight=weight[test])
    assert model.cv_results_["split0_test_score"][1] == pytest.approx(expected)
    again = SlimClassifier(**model.best_params_).fit(X, y, weight)
    assert again.scorecard_.points == model.scorecard_.points


def test_processes_change_nothing(planted: Any) -> None:
    one, two = (
        OneStandardErrorCV(
            SparseRoundingClassifier(), grid={"max_terms": (1, 2)}, cv=2, n_jobs=jobs
        ).fit(*planted)
        for jobs in (None, 2)
    )
    assert one.best_params_ == two.best_params_
    for name in ("mean_test_score", "mean_test_complexity"):
        assert np.array_equal(one.cv_results_[name], two.cv_results_[name])


def test_inside_a_cross_validation(planted: Any) -> None:
    search = OneStandardErrorCV(
        HingeClassifier(binner=Binner(encoding="onehot")), grid={"max_terms": (1, 2)}, cv=2
    )
    chain = make_pipeline(MinMaxScaler(), search)
    scores = cross_validate(chain, *planted, cv=2, scoring="roc_auc", error_score="raise")
    assert (scores["test_score"] > 0.5).all()


@pytest.mark.parametrize(
    ("search", "weighted", "message"),
    [
        (OneStandardErrorCV(LogisticRegression()), False, "estimator must be a card classifier"),
        (OneStandardErrorCV(SlimClassifier(), grid={}), False, "at least one value"),
        (OneStandardErrorCV(SlimClassifier(), grid={"max_terms": ()}), False, "at least one value"),
        (
            OneStandardErrorCV(SlimClassifier(), scoring=lambda m, X, y: 0.0),
            True,
            "takes no sample_weight",
        ),
    ],
    ids=["another estimator", "nothing to search", "no values", "a score without weights"],
)
def test_refusals(search: Any, weighted: bool, message: str, planted: Any) -> None:
    X, y = planted
    with pytest.raises(OptionError, match=message):
        search.fit(X, y, sample_weight=np.ones(len(y)) if weighted else None)
