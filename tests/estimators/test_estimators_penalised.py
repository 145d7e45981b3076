"""The penalised linear estimators: what they minimise, how they answer, what they refuse."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit, ndtr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from milpscore.core.errors import DataError, OptionError
from milpscore.core.result import Termination
from milpscore.data import Binner
from milpscore.estimators import (
    BinarsityClassifier,
    BinarsityRegressor,
    EyeClassifier,
    EyeRegressor,
    FacetsClassifier,
    FacetsRegressor,
    PenalisedClassifier,
    PenalisedRegressor,
)
from milpscore.losses import Logistic, SmoothedHinge
from milpscore.penalties import (
    EYE,
    L1,
    L2,
    Binarsity,
    Box,
    ElasticNet,
    Facets,
    StronglyConvexFacets,
    data_driven_weights,
)
from milpscore.proximal import fit_proximal

TIGHT = 1e-12
CLASSIFIERS = [PenalisedClassifier(), FacetsClassifier(), EyeClassifier(), BinarsityClassifier()]
REGRESSORS = [PenalisedRegressor(), FacetsRegressor(), EyeRegressor(), BinarsityRegressor()]

each = pytest.mark.parametrize(
    "estimator", CLASSIFIERS + REGRESSORS, ids=lambda e: type(e).__name__
)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["age", "dose", "noise"])
    X["site"] = rng.choice(["north", "south", "west"], 120)
    return X


@pytest.fixture(scope="module")
def signal(table: pd.DataFrame) -> Any:
    noise = np.random.default_rng(1).normal(size=len(table))
    return (2 * table["age"] - table["dose"] + (table["site"] == "west") + noise).to_numpy()


@pytest.fixture(scope="module")
def labels(signal: Any) -> Any:
    return np.where(signal > 0.5, "yes", "no")


def numbers(table: pd.DataFrame) -> Any:
    return table[["age", "dose", "noise"]].to_numpy()


# ------------------------------------------------------------------ what is minimised


def test_l1_regression_is_the_lasso(table: pd.DataFrame, signal: Any) -> None:
    X = numbers(table)
    weight = np.random.default_rng(2).uniform(0, 2, len(X))
    ours = PenalisedRegressor("l1", lam=0.1, tol=TIGHT).fit(X, signal, weight)
    theirs = Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(X, signal, weight)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-8)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-8)
    assert ours.score(X, signal) > 0.5


def test_ridge_logistic_regression_is_scikit_learns(table: pd.DataFrame, labels: Any) -> None:
    X, n = numbers(table), len(table)
    ours = PenalisedClassifier(L2(0.05), tol=TIGHT).fit(X, labels)
    theirs = LogisticRegression(C=1 / (0.05 * n), tol=1e-10).fit(X, labels)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_multinomial_and_poisson_are_scikit_learns(table: pd.DataFrame, signal: Any) -> None:
    X, n = numbers(table), len(table)
    site = table["site"].to_numpy()
    ours = PenalisedClassifier("l2", lam=0.1, loss="multinomial", tol=1e-10).fit(X, site)
    theirs = LogisticRegression(C=1 / (0.1 * n), tol=1e-10).fit(X, site)
    assert ours.coef_.shape == (3, 3)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    counts = np.random.default_rng(3).poisson(np.exp(signal / 4))
    count = PenalisedRegressor(L2(0.1), loss="poisson", tol=1e-10).fit(X, counts)
    other = PoissonRegressor(alpha=0.1, tol=1e-10).fit(X, counts)
    assert np.allclose(count.predict(X), other.predict(X), rtol=1e-4)


def test_the_named_ones_are_their_penalties(table: pd.DataFrame, labels: Any) -> None:
    X, y = numbers(table), (labels == "yes").astype(float)
    known = [1.0, 0.0, 0.5]
    pairs: list[tuple[Any, Any]] = [
        (FacetsClassifier(lam=0.02, gamma=0.5), Facets(0.02, 0.5)),
        (
            FacetsClassifier(lam=0.02, gamma=0.5, eps=0.3),
            StronglyConvexFacets(0.02, eps=0.3, gamma=0.5),
        ),
        (EyeClassifier(lam=0.02, expert=known), EYE(0.02, expert=np.array(known))),
        (EyeClassifier(lam=0.02), L1(0.04)),
        (PenalisedClassifier("scf", lam=0.02), StronglyConvexFacets(0.02)),
        (PenalisedClassifier(Facets, lam=0.02), Facets(0.02)),
        (
            PenalisedClassifier(ElasticNet(7.0, l1_ratio=0.5), lam=0.02),
            ElasticNet(0.02, l1_ratio=0.5),
        ),
        (PenalisedClassifier(Box(0.0, 1.0)), Box(0.0, 1.0)),
        (PenalisedClassifier(), L1(0.01)),
    ]
    for model, penalty in pairs:
        model.set_params(tol=1e-9).fit(X, labels)
        direct = fit_proximal(X, y, penalty=penalty, tol=1e-9)
        assert model.result_.objective == pytest.approx(direct.objective, rel=2e-9)
        assert np.allclose(model.coef_[0], direct.coefficients, atol=1e-4)
        assert model.result_.gap <= 1e-9
        assert model.n_iter_ == model.result_.iterations
        assert np.array_equal(model.coef_[0], model.result_.coefficients)


def test_facets_holds_on_to_the_grid(table: pd.DataFrame, labels: Any) -> None:
    X = numbers(table)
    whole = [FacetsClassifier(lam=lam).fit(X, labels).coef_[0, 0] for lam in (0.09, 0.12)]
    assert whole == [1.0, 1.0]
    half = [FacetsClassifier(lam=lam, gamma=0.5).fit(X, labels) for lam in (0.03, 0.04)]
    assert [model.coef_[0, 0] for model in half] == [1.0, 1.0]
    smooth = [PenalisedClassifier("l1", lam=lam).fit(X, labels).coef_[0, 0] for lam in (0.09, 0.12)]
    assert smooth[0] > smooth[1]


def test_binarsity_by_its_definition(table: pd.DataFrame, labels: Any) -> None:
    weight = np.random.default_rng(4).integers(0, 3, len(table)).astype(float)
    model = BinarsityClassifier(lam=0.3, n_bins=4).fit(table, labels, weight)
    binner = Binner(4, encoding="onehot", digits=None, useless="keep")
    binner.fit(table, sample_weight=weight)
    onehot = binner.transform(table).to_numpy()
    counts = [weight @ onehot[:, list(block)] for block in binner.blocks_]
    weights = data_driven_weights(counts, binner.blocks_)
    assert np.allclose(model.penalty_weights_, weights)
    penalty = Binarsity(0.3, blocks=binner.blocks_, weights=weights)
    direct = fit_proximal(onehot, labels == "yes", penalty=penalty, sample_weight=weight)
    assert model.result_.objective == pytest.approx(direct.objective, rel=2e-6)
    assert np.allclose(model.decision_function(table), onehot @ model.coef_[0] + model.intercept_)
    assert model.get_feature_names_out().tolist() == binner.get_feature_names_out().tolist()
    jumps = 0
    for block in binner.blocks_:
        points = model.coef_[0, list(block)]
        assert points.sum() == pytest.approx(0, abs=1e-9)
        jumps += int((points[1:] != points[:-1]).sum())
    assert model.complexity() == jumps > 0


def test_codes_made_some_rows_at_a_time(
    table: pd.DataFrame, labels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = BinarsityClassifier().fit(table, labels)
    monkeypatch.setattr(BinarsityClassifier, "rows_at_once", 7)
    parts = BinarsityClassifier().fit(table, labels)
    assert np.array_equal(whole.coef_, parts.coef_)
    assert np.array_equal(whole.predict(table), parts.predict(table))


def test_codes_are_the_binners(labels: Any) -> None:
    rng = np.random.default_rng(8)
    X = pd.DataFrame({"few": rng.integers(0, 4, 120), "many": rng.integers(0, 40, 120)})
    X["flag"] = rng.random(120) < 0.3
    X["one"] = 7.0
    model = BinarsityClassifier(n_bins=5).fit(X, labels)
    with pytest.warns(UserWarning, match="fewer than two distinct"):
        binner = Binner(
            5, encoding="onehot", digits=None, missing="error", useless="keep", unseen="error"
        ).fit(X)
    assert np.array_equal(model._design(X).toarray(), binner.transform(X).to_numpy())
    assert any("one" in text for text in model.warnings_)
    gaps = X.assign(many=X["many"].where(X["many"] > 20))
    with pytest.raises(DataError, match="missing"):
        model.predict(gaps)
    model.set_params(unseen="zero").fit(X, labels)
    assert np.array_equal(
        model._design(gaps).toarray(), binner.set_params(unseen="zero").transform(gaps).to_numpy()
    )
    with pytest.raises(DataError, match="255"):
        BinarsityClassifier(n_bins=300).fit(rng.normal(size=(900, 1)), rng.random(900) < 0.5)


def test_bins_without_rows_and_unseen_categories(table: pd.DataFrame, labels: Any) -> None:
    cuts = {"age": [0.0, 50.0, 60.0]}
    model = BinarsityClassifier(thresholds=cuts, unseen="zero", lam=0.2).fit(table, labels)
    assert np.isfinite(model.coef_).all()
    assert model.result_.gap <= 1e-6
    strange = table.assign(site="east")
    site = model.coef_[0, -3:]
    base = model.decision_function(table.assign(site="west"))
    assert np.allclose(model.decision_function(strange), base - site[2])
    with pytest.raises(DataError, match="'east'"):
        BinarsityClassifier().fit(table, labels).predict(strange)


# ------------------------------------------------------------------ data in


@each
def test_tables_with_text_copies_and_pickles(
    estimator: Any, table: pd.DataFrame, signal: Any, labels: Any
) -> None:
    y = labels if estimator in CLASSIFIERS else signal
    model = clone(estimator).fit(table, y)
    assert model.score(table, y) > 0.6
    assert model.feature_names_in_.tolist() == list(table.columns)
    assert any("west" in name for name in model.get_feature_names_out())
    assert len(model.get_feature_names_out()) == model.coef_.shape[-1]
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(table), model.predict(table))
    assert again.result_.gap == model.result_.gap
    assert not hasattr(clone(model), "coef_")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename(columns={"age": "years"}))
    with pytest.raises(DataError, match="missing"):
        model.predict(table.assign(age=np.nan))
    with pytest.raises(DataError, match="y has 119"):
        clone(estimator).fit(table, y[:-1])


@each
def test_weights_are_repetitions(
    estimator: Any, table: pd.DataFrame, signal: Any, labels: Any
) -> None:
    y = labels if estimator in CLASSIFIERS else signal
    times = np.random.default_rng(5).integers(0, 3, len(table))
    rows = np.repeat(np.arange(len(table)), times)
    weighted = clone(estimator).set_params(tol=1e-9).fit(table, y, times)
    repeated = clone(estimator).set_params(tol=1e-9).fit(table.iloc[rows], y[rows])
    assert weighted.result_.objective == pytest.approx(repeated.result_.objective, rel=1e-8)
    assert np.allclose(weighted.coef_, repeated.coef_, atol=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_class_weights(loss: str, table: pd.DataFrame, labels: Any) -> None:
    X = numbers(table)
    weight = np.random.default_rng(6).uniform(0.5, 2, len(X))
    share = {c: weight[labels == c].sum() / weight.sum() for c in ("no", "yes")}
    by_hand = weight * np.array([0.5 / share[c] for c in labels])
    plain = PenalisedClassifier(loss=loss, tol=1e-9).fit(X, labels, by_hand)
    model = PenalisedClassifier(loss=loss, class_weight="balanced", tol=1e-9)
    assert np.allclose(model.fit(X, labels, weight).coef_, plain.coef_, atol=1e-6)
    model.set_params(class_weight={"no": 0.5 / share["no"], "yes": 0.5 / share["yes"]})
    assert np.allclose(model.fit(X, labels, weight).coef_, plain.coef_, atol=1e-6)
    with pytest.raises(DataError, match="maybe"):
        model.set_params(class_weight={"maybe": 2.0}).fit(X, labels)


def test_sparse_stays_sparse(labels: Any) -> None:
    X = sparse.random_array((120, 300), density=0.02, rng=np.random.default_rng(7), format="csr")
    model = PenalisedClassifier(lam=0.002).fit(X, labels)
    dense = PenalisedClassifier(lam=0.002).fit(X.toarray(), labels)
    assert model.result_.objective == pytest.approx(dense.result_.objective, rel=2e-6)
    assert np.allclose(model.decision_function(X), model.decision_function(X.toarray()))
    assert sparse.issparse(model._design(X))
    assert model.get_feature_names_out()[299] == "x299"


def test_a_binner_is_refitted(table: pd.DataFrame, labels: Any) -> None:
    model = PenalisedClassifier(binner=Binner(3, encoding="cumulative")).fit(table, labels)
    assert any(">=" in name for name in model.get_feature_names_out())
    scores = GridSearchCV(model, {"binner__n_bins": [2, 4], "lam": [0.01, 10.0]}, cv=2)
    best = scores.fit(table, labels).best_estimator_
    assert best.lam == 0.01
    assert best.score(table, labels) > 0.7
    with pytest.raises(OptionError, match="Binner or None"):
        PenalisedClassifier(binner=3).fit(table, labels)


def test_what_the_expert_knows(table: pd.DataFrame, labels: Any) -> None:
    forms: list[Any] = [
        ["age", "site"],
        np.array(["age", "site"]),
        {"age": 1, "site": 1.0},
        [1, 0, 0, 1],
        np.array([1, 0, 0, 1, 1, 1]),
        ["age", "site = north", "site = south", "site = west"],
    ]
    fitted = [EyeClassifier(lam=0.03, expert=expert).fit(table, labels) for expert in forms]
    for model in fitted[1:]:
        assert np.array_equal(model.coef_, fitted[0].coef_)
    unknown = EyeClassifier(lam=0.03).fit(table, labels)
    assert np.count_nonzero(fitted[0].coef_[0, 3:]) == 3 > np.count_nonzero(unknown.coef_[0, 3:])
    for expert, message in (
        (["Age"], "did you mean 'age'"),
        ([1, 0], "2 numbers for 4 features and 6 design columns"),
        ("age", "a single text"),
        ([0, 0, 0, 2], "expert"),
    ):
        with pytest.raises(ValueError, match=message):
            EyeClassifier(expert=expert).fit(table, labels)


# ------------------------------------------------------------------ answers


def test_probabilities(table: pd.DataFrame, labels: Any) -> None:
    X = numbers(table)
    for loss, curve in (("logistic", expit), (Logistic(), expit), ("probit", ndtr)):
        model = PenalisedClassifier(loss=loss).fit(X, labels)
        chance = model.predict_proba(X)
        assert np.allclose(chance[:, 1], curve(model.decision_function(X)))
        assert np.allclose(chance.sum(axis=1), 1)
        assert np.allclose(np.exp(model.predict_log_proba(X)), chance)
    for loss in ("squared_hinge", SmoothedHinge(0.5)):
        model = PenalisedClassifier(loss=loss).fit(X, labels)
        assert not hasattr(model, "predict_proba")
        assert model.score(X, labels) > 0.7
    two = PenalisedClassifier(loss="multinomial").fit(X, labels)
    assert np.allclose(two.predict_proba(X)[:, 1], expit(two.decision_function(X)))


def test_a_tie_is_positive() -> None:
    model = PenalisedClassifier(lam=9.0).fit([[0.0], [1.0]], ["a", "b"])
    assert not model.coef_.any()
    assert model.decision_function([[5.0]]) == 0
    assert model.predict([[5.0]]) == "b"


def test_without_an_intercept(table: pd.DataFrame, signal: Any) -> None:
    model = FacetsRegressor(fit_intercept=False).fit(numbers(table), signal)
    assert model.intercept_ == 0
    assert np.allclose(model.predict(np.zeros((2, 3))), 0)


def test_inside_pipelines_and_searches(table: pd.DataFrame, labels: Any, signal: Any) -> None:
    X = table[["age", "dose", "noise"]]
    chain = make_pipeline(StandardScaler(), FacetsClassifier())
    scores = cross_validate(chain, X, labels, cv=3, scoring="roc_auc", error_score="raise")
    assert (scores["test_score"] > 0.8).all()
    search = GridSearchCV(EyeRegressor(expert=["age"]), {"lam": [1e-3, 100.0]}, cv=3)
    assert search.fit(X, signal).best_params_ == {"lam": 1e-3}


# ------------------------------------------------------------------ what is stated, what is refused


def test_a_gap_not_reached_is_stated(table: pd.DataFrame, labels: Any) -> None:
    X = numbers(table)
    with pytest.warns(ConvergenceWarning, match=r"PenalisedClassifier.*asked for, 1e-06.*max_iter"):
        short = PenalisedClassifier(lam=1e-3, max_iter=1, algorithm="fista").fit(X, labels)
    assert short.result_.gap > 1e-6
    assert short.result_.termination is Termination.ITERATION_LIMIT
    with pytest.warns(ConvergenceWarning, match="tolerance of the subdifferential"):
        free = PenalisedClassifier(lam=0.0).fit(X, labels)
    assert free.result_.termination is Termination.CONVERGED
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(X, labels)
    assert np.allclose(free.coef_, theirs.coef_, atol=1e-3)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (PenalisedClassifier("eye"), r"needs expert; pass an instance, .*EYE\(lam=..., expert"),
        (PenalisedClassifier("no"), "no penalty 'no'; there are"),
        (PenalisedClassifier(Box(0.0, 1.0), lam=0.1), "no lam to vary"),
        (PenalisedClassifier(3), "not a penalty with a prox"),
        (PenalisedClassifier(loss="squared"), "a classifier takes logistic"),
        (PenalisedRegressor(loss="logistic"), "a regressor takes squared"),
        (PenalisedClassifier(loss="hinge"), "has no derivative"),
        (PenalisedClassifier(lam=-1.0), "lam must be"),
        (PenalisedClassifier(tol=0.0), "tol=0.0"),
        (PenalisedClassifier(fit_intercept="yes"), "fit_intercept='yes'"),
        (FacetsClassifier(gamma=0.0), "gamma must be"),
        (FacetsClassifier(eps=2.0), "eps must be"),
        (FacetsClassifier(eps=-1.0), "eps must be"),
        (EyeClassifier(algorithm="working_set"), "does not allow"),
        (BinarsityClassifier(n_bins=1), "n_bins=1"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_refusals(estimator: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        estimator.fit([[0.0], [1.0], [3.0]], [0, 1, 1])


def test_labels_that_cannot_be_used() -> None:
    X = [[0.0], [1.0], [3.0]]
    with pytest.raises(DataError, match="Only binary classification"):
        PenalisedClassifier().fit(X, [0, 1, 2])
    with pytest.raises(DataError, match=r"1 class\(es\)"):
        PenalisedClassifier(loss="multinomial").fit(X, [1, 1, 1])
    with pytest.raises(DataError, match="NaN or infinity"):
        PenalisedRegressor().fit(X, [1, np.nan, 1])
    with pytest.raises(DataError, match="counts"):
        PenalisedRegressor(loss="poisson").fit(X, [1, -1, 1])
