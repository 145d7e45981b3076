"""The penalised estimators cross-validated over their path."""

from __future__ import annotations

import math
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from milpscore.core.errors import OptionError
from milpscore.estimators import (
    BinarsityClassifier,
    EyeClassifier,
    EyeRegressor,
    FacetsClassifier,
    FacetsRegressor,
    OneStandardErrorCV,
    PenalisedClassifier,
    PenalisedRegressor,
)
from milpscore.penalties import L2, ElasticNet

SEARCHES = [
    OneStandardErrorCV(PenalisedClassifier(), n_lams=6, cv=3),
    OneStandardErrorCV(PenalisedClassifier(ElasticNet(1.0, l1_ratio=0.5)), n_lams=6, cv=3),
    OneStandardErrorCV(FacetsClassifier(eps=0.1), grid={"gamma": [0.5]}, n_lams=6, cv=3),
    OneStandardErrorCV(EyeClassifier(expert=["a"]), n_lams=6, cv=3),
    OneStandardErrorCV(BinarsityClassifier(n_bins=4), n_lams=5, ratio=0.05, cv=3),
]


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd"))
    return X, (X["a"] - 0.7 * X["b"] + rng.normal(size=120)).to_numpy()


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(s.estimator).__name__)
def test_the_largest_lam_within_one_standard_error(search: Any, data: Any) -> None:
    X, y = data[0], np.where(data[1] > 0, "yes", "no")
    model = clone(search).fit(X, y)
    table = pd.DataFrame(model.cv_results_)
    assert len(table) == search.n_lams == len(model.path_.results)
    assert (np.diff(table["param_lam"]) < 0).all()
    scores = table[[f"split{k}_test_score" for k in range(3)]].to_numpy().T
    best = max(range(len(table)), key=lambda c: scores[:, c].sum())
    spread = math.sqrt(sum((s - scores[:, best].mean()) ** 2 for s in scores[:, best]) / 2)
    floor = scores[:, best].mean() - spread / math.sqrt(3)
    assert model.score_floor_ == pytest.approx(floor)
    first = next(c for c in range(len(table)) if scores[:, c].mean() >= floor - 1e-12)
    assert model.best_index_ == first
    searched = {name: values[0] for name, values in (search.grid or {}).items()}
    lam = table["param_lam"][first]
    assert model.best_params_ == {**searched, "lam": lam} == table["params"][first]
    assert table["rank_test_score"][best] == 1
    # the model kept is that of the estimator at this lam, to the gap
    again = clone(search.estimator).set_params(**model.best_params_).fit(X, y)
    assert model.result_.objective == pytest.approx(again.result_.objective, rel=3e-6)
    assert model.result_ is model.best_estimator_.result_
    assert np.array_equal(model.coef_[0], model.result_.coefficients)
    assert model.score(X, y) > 0.65
    assert np.allclose(model.predict_proba(X)[:, 1] > 0.5, model.predict(X) == "yes")
    assert np.allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert model.get_feature_names_out().tolist() == again.get_feature_names_out().tolist()
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_facets_models_choose_gamma_as_well_as_lam(data: Any) -> None:
    """Each unit has a path of its own; the simplest model within one standard error of the best."""
    X, y = data[0], (data[1] > 0).astype(int)
    model = OneStandardErrorCV(FacetsClassifier(eps=0.1), n_lams=5, cv=3).fit(X, y)
    table = pd.DataFrame(model.cv_results_)
    assert table["param_gamma"].tolist() == [g for g in (0.1, 0.2, 0.5, 1.0, 2.0) for _ in range(5)]
    within = table[table["mean_test_score"] >= model.score_floor_]
    firsts = within.groupby("param_gamma").head(1)
    chosen = table.loc[model.best_index_]
    assert model.best_index_ in firsts.index
    assert chosen["mean_test_complexity"] == firsts["mean_test_complexity"].min()
    assert model.best_params_ == {"gamma": chosen["param_gamma"], "lam": chosen["param_lam"]}
    assert (
        model.lams_.tolist()
        == table[table["param_gamma"] == chosen["param_gamma"]]["param_lam"].tolist()
    )
    cold = FacetsClassifier(eps=0.1, **model.best_params_).fit(X, y)
    assert model.result_.objective == pytest.approx(cold.result_.objective, rel=3e-6)
    one = OneStandardErrorCV(
        FacetsClassifier(eps=0.1), grid={"gamma": [0.2], "lam": model.lams_}, cv=3
    ).fit(X, y)
    train, test = next(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    part = FacetsClassifier(eps=0.1, gamma=0.2, lam=model.lams_[3]).fit(X.iloc[train], y[train])
    assert one.cv_results_["split0_test_score"][3] == part.score(X.iloc[test], y[test])


def test_scores_are_those_of_cold_fits_on_the_folds(data: Any) -> None:
    X, y = data[0], (data[1] > 0).astype(int)
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y))
    lams = (0.2, 0.05, 0.01)
    base = BinarsityClassifier(n_bins=4, tol=1e-8)
    model = OneStandardErrorCV(base, grid={"lam": lams}, cv=3, random_state=7).fit(X, y, weight)
    folds = StratifiedKFold(3, shuffle=True, random_state=7)
    for k, (train, test) in enumerate(folds.split(X, y)):
        for c, lam in enumerate(lams):
            # bins and the penalty's weights are those of the fold
            cold = clone(base).set_params(lam=lam).fit(X.iloc[train], y[train], weight[train])
            answers = cold.predict(X.iloc[test])
            wanted = accuracy_score(y[test], answers, sample_weight=weight[test])
            assert model.cv_results_[f"split{k}_test_score"][c] == pytest.approx(wanted)
    assert model.lams_.tolist() == list(lams)


def test_regressors(data: Any) -> None:
    X, y = data
    model = OneStandardErrorCV(
        PenalisedRegressor(), n_lams=8, cv=4, scoring="neg_mean_squared_error"
    ).fit(X, y)
    folds = KFold(4, shuffle=True, random_state=0)
    train, test = next(iter(folds.split(X)))
    cold = PenalisedRegressor(lam=model.lams_[5]).fit(X.iloc[train], y[train])
    wanted = -np.mean((y[test] - cold.predict(X.iloc[test])) ** 2)
    assert model.cv_results_["split0_test_score"][5] == pytest.approx(wanted, rel=1e-3)
    assert model.score(X, y) > 0.3
    for search in (
        OneStandardErrorCV(FacetsRegressor(), n_lams=4, cv=3),
        OneStandardErrorCV(EyeRegressor(), n_lams=4, cv=3),
    ):
        fitted = search.fit(X, y)
        assert fitted.score(X, y) > 0.2
        assert not hasattr(fitted, "predict_proba")
        assert np.ndim(fitted.intercept_) == 0


def test_processes_and_splitters_change_nothing(data: Any) -> None:
    X, y = data[0], data[1] > 0
    one = OneStandardErrorCV(FacetsClassifier(), n_lams=4, cv=2).fit(X, y)
    two = OneStandardErrorCV(FacetsClassifier(), n_lams=4, cv=2, n_jobs=2).fit(X, y)
    splits = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    three = OneStandardErrorCV(FacetsClassifier(), n_lams=4, cv=splits).fit(X.to_numpy(), y)
    for other in (two, three):
        assert one.best_params_ == other.best_params_
        assert np.array_equal(
            one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
        )


def test_methods_follow_the_estimator(data: Any) -> None:
    X, y = data[0], data[1] > 0
    hinge = OneStandardErrorCV(PenalisedClassifier(loss="squared_hinge"), n_lams=3, cv=2)
    assert not hasattr(hinge.fit(X, y), "predict_proba")
    three = np.digitize(data[1], [-0.8, 0.8])
    many = OneStandardErrorCV(PenalisedClassifier(loss="multinomial"), n_lams=4, cv=2)
    assert many.fit(X, three).predict_proba(X).shape == (120, 3)
    assert many.decision_function(X).shape == (120, 3)


def test_inside_a_cross_validation(data: Any) -> None:
    X, y = data[0], data[1] > 0
    chain = make_pipeline(
        StandardScaler(), OneStandardErrorCV(PenalisedClassifier(), n_lams=4, cv=2)
    )
    scores = cross_validate(chain, X, y, cv=2, scoring="roc_auc", error_score="raise")
    assert (scores["test_score"] > 0.7).all()


def test_one_warning_for_all_gaps(data: Any) -> None:
    X, y = data[0], data[1] > 0
    base = PenalisedClassifier(max_iter=1, algorithm="ista")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        OneStandardErrorCV(base, n_lams=5, cv=2).fit(X, y)
    (only,) = seen
    assert only.category is ConvergenceWarning
    assert "of 15 fits stopped above" in str(only.message)


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        (PenalisedClassifier(), {"grid": {"gamma": [1]}}, "no parameter gamma"),
        (PenalisedClassifier(L2(1.0)), {}, "lam"),
        (PenalisedClassifier(), {"n_lams": 0}, "n_lams=0"),
        (PenalisedClassifier(), {"ratio": 2.0}, "ratio=2.0"),
        (PenalisedClassifier(), {"grid": {"lam": ()}}, "at least one"),
        (PenalisedClassifier(), {"scoring": lambda m, X, y: 0.0}, "takes no sample_weight"),
        (PenalisedClassifier(), {"cv": [(np.arange(60), np.arange(60, 120))]}, "makes one fold"),
    ],
    ids=["another parameter", "no path", "no lams", "ratio", "empty", "plain score", "one fold"],
)
def test_refusals(model: Any, changes: Any, message: str, data: Any) -> None:
    X, y = data[0], data[1] > 0
    with pytest.raises(OptionError, match=message):
        OneStandardErrorCV(model, **changes).fit(X, y, sample_weight=np.ones(len(y)))
