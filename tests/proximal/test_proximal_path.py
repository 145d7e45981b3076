"""Paths and grids: the right models in the right order, each with its certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, random_array
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

from milpscore.core.clock import Clock
from milpscore.core.errors import DataError, OptionError
from milpscore.core.result import Termination
from milpscore.metrics import accuracy, auc
from milpscore.penalties import (
    EYE,
    L1,
    L2,
    AlphaFacets,
    Box,
    ElasticNet,
    Facets,
    StronglyConvexFacets,
    WeightedL1,
)
from milpscore.proximal import facets_grid, fit_proximal, path
from milpscore.proximal.coordinate import Quadratic
from milpscore.proximal.operators import DenseOperator, SparseOperator


def data(n: int = 150, p: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, p)).astype(float)
    total = X[:, 0] - X[:, 1] + 0.5 * X[:, 2]
    return X, np.where(total - total.mean() + rng.logistic(size=n) > 0, 1, -1)


X, Y = data()


def test_path_is_that_of_single_fits() -> None:
    found = path(X, Y, penalty=L1, n_lams=8, tol=1e-8)
    assert found.coefficients.shape == (8, 8)
    assert found.lams[-1] == pytest.approx(0.01 * found.lams[0])
    for k, lam in enumerate(found.lams):
        alone = fit_proximal(X, Y, penalty=L1(lam), tol=1e-8)
        np.testing.assert_allclose(found.coefficients[k], alone.coefficients, atol=1e-3)
        row = found.table.iloc[k]
        assert row["objective"] == pytest.approx(alone.objective, rel=2e-8)
        assert row["lam"] == lam
        assert row["terms"] == np.count_nonzero(found.coefficients[k])
        assert row["magnitude"] == pytest.approx(np.abs(found.coefficients[k]).sum())
        assert 0 <= row["gap"] <= 1e-8
    losses = found.table["loss"].to_numpy()
    assert (np.diff(losses) < 0).all()


@pytest.mark.parametrize(
    "penalty",
    [L1, L1(7.0), Facets, lambda lam: EYE(lam, expert=np.r_[np.ones(4), np.zeros(4)])],
    ids=["class", "instance", "facets", "function"],
)
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "probit"])
def test_lambda_max_is_where_the_model_turns_null(penalty: Any, loss: str) -> None:
    found = path(X, Y, penalty=penalty, loss=loss, n_lams=2, ratio=0.999, tol=1e-10)
    assert found.table["null"].tolist() == [True, False]
    assert found.table["gap"].iloc[0] <= 1e-10


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize(
    "penalty",
    [
        L1,
        lambda lam: ElasticNet(lam, l1_ratio=0.7),
        lambda lam: WeightedL1(lam, weights=np.r_[0.0, 50.0, np.arange(1.0, 7.0)]),
        lambda lam: Facets(lam, gamma=0.25),
        lambda lam: AlphaFacets(lam, alpha=(1.0, 1.5, 4.0), gamma=0.2),
    ],
    ids=["l1", "elastic", "weighted", "facets", "alpha"],
)
def test_small_problems_have_the_models_of_other_algorithms(
    penalty: Any, loss: str, intercept: bool
) -> None:
    """Working sets against first-order steps, which know no model of the loss."""
    y = np.maximum(Y, 0) if loss == "poisson" else Y
    weight = np.random.default_rng(3).random(len(y)) + 0.1
    readonly = X.copy()
    readonly.setflags(write=False)
    settings: dict[str, Any] = {"loss": loss, "intercept": intercept, "sample_weight": weight}
    lams = [0.1, 0.03, 0.02, 0.01]
    found = path(readonly, y, penalty=penalty, lams=lams, tol=1e-9, **settings)
    for result, lam in zip(found.results, lams, strict=True):
        assert result.algorithm == "working_set"
        assert result.converged
        # what one Newton step cannot end, several do
        assert result.iterations <= 20
        other = fit_proximal(
            X, y, penalty=penalty(lam), algorithm="fista", tol=1e-8, start=result, **settings
        )
        assert result.objective <= other.objective + 1e-8 * abs(other.objective)
        score = X @ result.coefficients + result.intercept
        rows = {
            "squared": 0.5 * (score - y) ** 2,
            "logistic": np.logaddexp(0.0, -y * score),
            "poisson": np.exp(score) - y * score,
        }[loss]
        assert result.loss == pytest.approx(float(weight @ rows / weight.sum()), rel=1e-12)


def test_given_lams_descend() -> None:
    found = path(X, Y, penalty=L2, lams=[0.01, 1.0, 0.1])
    np.testing.assert_array_equal(found.lams, [1.0, 0.1, 0.01])
    with pytest.raises(OptionError, match="give lams"):
        path(X, Y, penalty=L2)


def test_strong_rule_misses_nothing_with_many_columns() -> None:
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(60, 400))
    wide[:, 200:] = wide[:, :200] + 0.1 * rng.normal(size=(60, 200))
    y = np.where(wide[:, :5].sum(axis=1) > 0, 1, -1)
    for design in (wide, csr_array(wide)):
        found = path(design, y, penalty=L1, n_lams=10, ratio=0.1, tol=1e-8)
        assert found.table["gap"].max() <= 1e-8
        alone = fit_proximal(wide, y, penalty=L1(found.lams[-1]), algorithm="fista", tol=1e-9)
        assert found.table["objective"].iloc[-1] == pytest.approx(alone.objective, rel=1e-7)


def test_multinomial_path() -> None:
    y = np.digitize(X[:, 0], [1.0, 2.0])
    found = path(X, y, loss="multinomial", penalty=L1, n_lams=3, ratio=0.1)
    assert found.coefficients.shape == (3, 8, 3)
    assert found.intercepts.shape == (3, 3)
    assert found.table["null"].tolist() == [True, False, False]


def test_many_classes_held_out_are_those_of_single_fits() -> None:
    y, rows = np.digitize(X[:, 0], [1.0, 2.0]), np.arange(len(Y))
    folds = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    common: dict[str, Any] = {"loss": "multinomial", "tol": 1e-8}
    found = path(X, y, penalty=L1, lams=[0.05, 0.01], cv=folds, **common)
    grid = facets_grid(X, y, alphas=[0.05, 0.02], gammas=[0.5, 1.0], cv=folds, **common)
    assert grid.coefficients.shape == (2, 2, 8, 3)
    assert grid.intercepts.shape == (2, 2, 3)
    cell = grid.table.query("alpha == 0.02 and gamma == 1.0").iloc[0]
    for penalty, row in ((L1(0.01), found.table.iloc[1]), (Facets(0.02), cell)):
        hits, areas = [], []
        for train, test in folds:
            fit = fit_proximal(X[train], y[train], penalty=penalty, **common)
            scores = X[test] @ fit.coefficients + fit.intercept
            hits.append(np.mean(scores.argmax(axis=1) == y[test]))
            chances = softmax(scores, axis=1)
            areas.append(roc_auc_score(y[test], chances, multi_class="ovr"))
        assert row["cv_accuracy"] == pytest.approx(np.mean(hits), abs=0.01)
        assert row["cv_auc"] == pytest.approx(np.mean(areas), abs=0.002)
    with pytest.raises(DataError, match="no rows to be fitted"):
        path(X, y, penalty=L1, n_lams=1, cv=[(rows[y < 2], rows[y == 2])], **common)


def test_cross_validation_is_that_of_single_fits() -> None:
    rows = np.arange(len(Y))
    folds = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    weight = 1.0 + rows % 2
    lams = [0.1, 0.02]
    found = path(X, Y, penalty=L1, lams=lams, cv=folds, sample_weight=weight, tol=1e-8)
    for lam, row in zip(lams, found.table.itertuples(), strict=True):
        hits, areas = [], []
        for train, test in folds:
            fit = fit_proximal(
                X[train], Y[train], penalty=L1(lam), sample_weight=weight[train], tol=1e-8
            )
            scores = X[test] @ fit.coefficients + float(fit.intercept)
            hits.append(accuracy(Y[test] > 0, scores >= 0, weight[test]))
            areas.append(auc(Y[test], scores, weight[test]))
        assert row.cv_accuracy == pytest.approx(np.mean(hits), abs=0.01)
        assert row.cv_auc == pytest.approx(np.mean(areas), abs=0.01)
    counted = path(X, Y, penalty=L1, lams=lams, cv=3, random_state=0)
    assert counted.table["cv_auc"].between(0.5, 1).all()


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    path(X, Y, penalty=L1, n_lams=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lams": []}, "at least one"),
        ({"lams": [-1.0]}, "not negative"),
        ({"n_lams": 0}, "n_lams=0"),
        ({"ratio": 1.0}, "ratio=1.0"),
        ({"cv": 1}, "cv=1"),
        ({"cv": 10_000}, "the rarer class"),
        ({"cv": 2.5}, "number of folds"),
        ({"cv": 3, "loss": "squared"}, "classification loss"),
        ({"penalty": 3.0}, "no lam to vary"),
    ],
)
def test_bad_path_options_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        path(X, Y, **{"penalty": L1, **options})


def test_a_penalty_without_lam_has_no_path() -> None:
    with pytest.raises(OptionError):
        path(X, Y, penalty=Box(np.zeros(8), np.ones(8)))


# --- the grid ------------------------------------------------------------------------------------


def test_grid_is_that_of_single_fits() -> None:
    grid = facets_grid(X, Y, n_alpha=6, n_gamma=4, tol=1e-8)
    assert grid.coefficients.shape == (6, 4, 8)
    assert len(grid.table) == 24
    assert grid.gammas[0] == pytest.approx(0.02)
    assert grid.gammas[-1] == pytest.approx(2.0)
    objective = grid.heat_map("objective")
    for i, alpha in enumerate(grid.alphas):
        for k, gamma in enumerate(grid.gammas):
            alone = fit_proximal(X, Y, penalty=Facets(alpha * gamma, gamma), tol=1e-9)
            assert objective[i, k] == pytest.approx(alone.objective, rel=2e-8)
    np.testing.assert_array_equal(
        grid.heat_map("null").astype(bool), ~grid.coefficients.any(axis=2)
    )
    on_grid = np.abs(
        grid.coefficients / grid.gammas[None, :, None]
        - np.rint(grid.coefficients / grid.gammas[None, :, None])
    )
    np.testing.assert_allclose(grid.heat_map("integrity"), (on_grid <= 1e-6).mean(axis=2))
    table = grid.table
    np.testing.assert_allclose(table["beta"], table["lam"] / table["gamma"] ** 2)
    np.testing.assert_allclose(table["alpha"], table["lam"] / table["gamma"])
    assert table["gap"].max() <= 1e-8


def test_null_rows_are_whole_and_lie_where_they_should() -> None:
    grid = facets_grid(X, Y, n_gamma=5)
    null = grid.heat_map("null")
    assert null.sum() == 5 * 5
    assert null[19:].all()
    # the default axis: the 19th point would be 18.5 steps up at lambda_max
    assert grid.alphas[18] / grid.alphas[0] == pytest.approx(10 ** (3 * 18 / 18.5))
    edge = fit_proximal(X, Y, penalty=Facets(grid.alphas[19] * 0.3, 0.3), tol=1e-10)
    assert not edge.coefficients.any()
    assert (grid.table.loc[grid.table["null"], "iterations"] == 0).all()


def test_grid_in_parallel_is_the_same() -> None:
    axes: dict[str, Any] = {"alphas": [0.3, 0.01, 0.05], "gammas": [1.0, 0.1, 0.5]}
    done: list[int] = []
    one = facets_grid(X, Y, **axes, tol=1e-9)
    two = facets_grid(
        X, Y, **axes, tol=1e-9, n_jobs=2, progress=lambda count, total: done.append(count)
    )
    np.testing.assert_allclose(one.heat_map("objective"), two.heat_map("objective"), rtol=1e-8)
    np.testing.assert_array_equal(one.alphas, [0.01, 0.05, 0.3])
    assert done[-1] == 9


def test_grid_of_another_penalty_with_cross_validation() -> None:
    grid = facets_grid(
        X,
        Y,
        penalty=lambda lam, gamma: StronglyConvexFacets(lam, gamma=gamma),
        n_alpha=4,
        n_gamma=3,
        cv=3,
        random_state=0,
    )
    assert {"cv_accuracy", "cv_auc"} <= set(grid.table.columns)
    null = grid.table[grid.table["null"]]
    np.testing.assert_allclose(null["cv_auc"], 0.5)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"gammas": [0.0]}, "gammas must be"),
        ({"alphas": [-1.0]}, "alphas must be"),
        ({"n_alpha": 0}, "n_alpha=0"),
        ({"n_gamma": 1.5}, "n_gamma=1.5"),
    ],
)
def test_bad_grids_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        facets_grid(X, Y, **options)


@pytest.mark.data
def test_mammography_grid_has_the_known_counts(uci: Any) -> None:
    """500 null and 222 integral models on this grid; the paper counts 500 and 236 on its own."""
    table, y = uci("mammo")
    grid = facets_grid(table, y, gammas=np.geomspace(0.02, 2, 100)[::10])
    assert int(grid.heat_map("null").sum()) == 50
    assert grid.table["gap"].max() <= 1e-6
    assert 15 <= int(grid.heat_map("integral").sum()) <= 30


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_sparse_path_with_many_columns_in_use(loss: str) -> None:
    """More than a Gram matrix takes are in use; sweeps alone took hundreds for each model."""
    rng = np.random.default_rng(0)
    X = random_array((700, 700), density=0.012, format="csr", rng=rng, data_sampler=rng.normal)
    y = rng.choice([-1.0, 1.0], 700)
    found = path(X, y, penalty=L1, loss=loss, n_lams=8, ratio=0.01)
    assert found.table["gap"].max() <= 1e-6
    assert found.table["terms"].iloc[-1] > 420
    assert found.table["iterations"].max() <= 8
    dense = fit_proximal(X.toarray(), y, penalty=L1(found.lams[-1]), loss=loss)
    assert dense.objective == pytest.approx(found.table["objective"].iloc[-1], rel=3e-6)


@pytest.mark.parametrize(
    "penalty", [L1(0.01), Facets(0.002, 0.1), ElasticNet(0.01, l1_ratio=0.5)], ids=lambda p: p.name
)
@pytest.mark.parametrize("sparse", [True, False])
def test_model_of_many_columns_that_are_alike(penalty: Any, sparse: bool) -> None:
    """Conjugate gradients between kinks end where coordinate descent would, in few sweeps."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(300, 450)) * (rng.random((300, 450)) < 0.3) + 0.2
    X = SparseOperator(csc_array(values)) if sparse else DenseOperator(np.asfortranarray(values))
    curvature = rng.uniform(0.1, 1.0, 300) / 300
    rows = rng.normal(size=300) / 300
    model = Quadratic(X, curvature, intercept=True)
    ramps = penalty.ramps(450)
    w = model.descend(rows, X.rmatvec(rows), np.zeros(450), ramps, 1e-9)
    centred = values - model.means
    slope = centred.T @ (rows + curvature * (centred @ w))
    assert ramps.distance(w, slope).max() <= 1e-7
    assert np.count_nonzero(w) > 20


@pytest.mark.parametrize("algorithm", ["auto", "newton", "fista"])
def test_a_path_ends_with_its_time(algorithm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = path(X, Y, penalty=L1, n_lams=8, tol=1e-9, algorithm=algorithm)
    # a clock that goes on by a second at every question
    ticks = iter(range(100_000))
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: float(next(ticks))))
    for limit in (0, 4, 12):
        found = path(X, Y, penalty=L1, n_lams=8, tol=1e-9, algorithm=algorithm, time_limit=limit)
        kept = len(found.lams)
        assert 1 <= kept < 8
        assert len(found.table) == len(found.results) == len(found.coefficients) == kept
        np.testing.assert_array_equal(found.lams, whole.lams[:kept])
        for early, late in zip(found.results[:-1], whole.results, strict=False):
            assert early.converged
            assert early.objective == pytest.approx(late.objective, rel=1e-8)
        last = found.results[-1]
        assert last.converged or last.termination is Termination.TIME_LIMIT
        # what it says of its gap holds
        optimum = whole.results[kept - 1].dual_objective
        assert last.objective - optimum <= last.gap * last.objective + 1e-9
    fit = fit_proximal(X, Y, penalty=L1(1e-3), tol=1e-9, algorithm=algorithm, time_limit=0)
    assert fit.termination is Termination.TIME_LIMIT
    assert fit.gap > 1e-9
    with pytest.raises(OptionError, match="cv"):
        path(X, Y, penalty=L1, cv=2, time_limit=1)
