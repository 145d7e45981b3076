"""Proximal fits: against scikit-learn, against each other, and what their certificates promise."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csc_matrix, csr_array
from sklearn.linear_model import (
    ElasticNet as SkElasticNet,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
)
from tree_cases import set_policy

from milpscore.core.errors import DataError, OptionError
from milpscore.core.result import Termination
from milpscore.data import BinnedDesign
from milpscore.losses import LOSSES, SmoothedHinge, smooth_loss
from milpscore.penalties import (
    EYE,
    L1,
    L2,
    OWL,
    AdaptiveL1,
    AlphaFacets,
    Binarsity,
    Box,
    ElasticNet,
    Facets,
    NaiveCredibility,
    StronglyConvexFacets,
    WeightedL1,
    WeightedL2,
    WeightedTV,
)
from milpscore.proximal import ProximalResult, coordinate, fit_proximal, newton, operators
from milpscore.proximal.problem import Run, prepare

N, P = 120, 12
LOSS_NAMES = [*sorted(set(LOSSES) - {"hinge", "zero_one", "multinomial"})]


def data(seed: int = 0, n: int = N, p: int = P) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.linspace(0.5, 3, p) + rng.normal(size=p)
    w = np.where(np.arange(p) % 3 == 0, 1.0, 0.0)
    return X, X @ w - np.median(X @ w) + rng.logistic(size=n)


def answers(total: np.ndarray, task: str) -> np.ndarray:
    if task == "classification":
        return np.where(total > 0, 1, -1)
    if task == "count":
        return np.random.default_rng(1).poisson(np.exp(np.clip(0.2 * total, -2, 2))).astype(float)
    if task == "multinomial":
        return np.digitize(total, [-1.0, 1.0])
    return total


def objective(X: np.ndarray, y: np.ndarray, loss: Any, penalty: Any, w: Any, b: float) -> float:
    return float(loss.value(X @ w + b, y).mean() + penalty.value(w))


def penalties(p: int = P) -> list[Any]:
    rng = np.random.default_rng(4)
    r = (np.arange(p) % 2).astype(float)
    return [
        L1(0.05),
        ElasticNet(0.05, l1_ratio=0.3),
        WeightedL1(0.05, weights=rng.uniform(0.5, 2, p)),
        WeightedL2(0.1, weights=rng.uniform(0.5, 2, p)),
        AdaptiveL1(0.02, initial=np.where(r > 0, 0.5, 0.0)),
        Facets(0.03, 0.25),
        AlphaFacets(0.02, alpha=(1, 0.5, 3), gamma=0.1),
        StronglyConvexFacets(0.03, eps=0.2, gamma=0.25),
        NaiveCredibility(0.05, expert=0.1 + 0.8 * r, beta=0.5),
    ]


SEPARABLE = [pytest.param(k, id=type(pen).__name__) for k, pen in enumerate(penalties())]


# --- against other solvers -----------------------------------------------------------------------


def test_lasso_and_elastic_net_are_those_of_scikit_learn() -> None:
    X, y = data()
    lasso = Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(X, y)
    ours = fit_proximal(X, y, loss="squared", penalty=L1(0.1), tol=1e-10)
    np.testing.assert_allclose(ours.coefficients, lasso.coef_, atol=1e-6)
    assert ours.intercept == pytest.approx(lasso.intercept_, abs=1e-6)
    net = SkElasticNet(alpha=0.2, l1_ratio=0.4, tol=1e-12, max_iter=100_000).fit(X, y)
    ours = fit_proximal(X, y, loss="squared", penalty=ElasticNet(0.2, l1_ratio=0.4), tol=1e-10)
    np.testing.assert_allclose(ours.coefficients, net.coef_, atol=1e-6)
    ours = fit_proximal(X, y, loss="squared", penalty=L1(0.1), intercept=False, tol=1e-10)
    lasso = Lasso(alpha=0.1, tol=1e-12, max_iter=100_000, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coefficients, lasso.coef_, atol=1e-6)
    assert ours.intercept == 0


def test_logistic_models_are_those_of_scikit_learn() -> None:
    X, total = data()
    y, lam = answers(total, "classification"), 0.03
    ridge = LogisticRegression(C=1 / (N * lam), solver="newton-cg", tol=1e-12).fit(X, y)
    ours = fit_proximal(X, y, penalty=L2(lam), tol=1e-13)
    np.testing.assert_allclose(ours.coefficients, ridge.coef_[0], atol=1e-6)
    assert ours.intercept == pytest.approx(ridge.intercept_[0], abs=1e-6)
    scaled = X / X.std(axis=0)
    lasso = LogisticRegression(
        C=1 / (N * lam), l1_ratio=1.0, solver="saga", tol=1e-11, max_iter=20_000, random_state=0
    ).fit(scaled, y)
    ours = fit_proximal(scaled, y, penalty=L1(lam), tol=1e-12)
    np.testing.assert_allclose(ours.coefficients, lasso.coef_[0], atol=1e-6)
    assert ours.intercept == pytest.approx(lasso.intercept_[0], abs=1e-6)


def test_poisson_is_that_of_scikit_learn() -> None:
    X, total = data()
    y = answers(total, "count")
    theirs = PoissonRegressor(alpha=0.1, solver="newton-cholesky", tol=1e-12).fit(X, y)
    for algorithm in ("fista", "working_set"):
        ours = fit_proximal(X, y, loss="poisson", penalty=L2(0.1), tol=1e-13, algorithm=algorithm)
        np.testing.assert_allclose(ours.coefficients, theirs.coef_, atol=1e-6)
        assert ours.intercept == pytest.approx(theirs.intercept_, abs=1e-6)


def test_multinomial_is_that_of_scikit_learn() -> None:
    X, total = data()
    y, lam = answers(total, "multinomial"), 0.05
    theirs = LogisticRegression(C=1 / (N * lam), solver="newton-cg", tol=1e-12).fit(X, y)
    ours = fit_proximal(X, y, loss="multinomial", penalty=L2(lam), tol=1e-13)
    np.testing.assert_allclose(ours.coefficients, theirs.coef_.T, atol=2e-6)
    shift = ours.intercept - ours.intercept.mean()
    np.testing.assert_allclose(shift, theirs.intercept_ - theirs.intercept_.mean(), atol=2e-6)
    sparse = fit_proximal(X, y, loss="multinomial", penalty=L1(lam))
    assert sparse.converged
    assert 0 < np.count_nonzero(sparse.coefficients) < sparse.coefficients.size
    with pytest.raises(OptionError, match="multinomial"):
        fit_proximal(X, y, loss="multinomial", penalty=L1(lam), algorithm="working_set")


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_ridge_of_every_loss_is_that_of_a_general_minimiser(name: str) -> None:
    X, total = data()
    X = X / X.std(axis=0)
    loss = smooth_loss(name)
    y = answers(total, loss.task).astype(float)

    def value(point: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = point[:-1], point[-1]
        z = X @ w + b
        rows = loss.gradient(z, y) / N
        slope = np.append(X.T @ rows + 0.1 * w, rows.sum())
        return float(loss.value(z, y).mean() + 0.05 * w @ w), slope

    found = minimize(value, np.zeros(P + 1), jac=True, method="BFGS", options={"gtol": 1e-9})
    ours = fit_proximal(X, y, loss=loss, penalty=L2(0.1), tol=1e-12)
    np.testing.assert_allclose(ours.coefficients, found.x[:-1], atol=1e-6)
    assert ours.objective <= found.fun + 1e-12
    assert ours.dual_objective <= found.fun + 1e-12


# --- the algorithms among themselves -------------------------------------------------------------


@pytest.mark.parametrize("k", SEPARABLE)
@pytest.mark.parametrize("name", ["logistic", "poisson", "smoothed_hinge"])
def test_algorithms_agree(k: int, name: str) -> None:
    X, total = data()
    loss = smooth_loss(name)
    y = answers(total, loss.task).astype(float)
    penalty = penalties()[k]
    fits = {
        a: fit_proximal(X, y, loss=loss, penalty=penalty, algorithm=a, tol=1e-8)
        for a in ("working_set", "fista")
    }
    for algorithm, fit in fits.items():
        assert fit.algorithm == algorithm
        assert fit.termination is Termination.GAP_REACHED
        assert 0 <= fit.gap <= 1e-8
        recomputed = objective(X, y, loss, penalty, fit.coefficients, float(fit.intercept))
        assert fit.objective == pytest.approx(recomputed, rel=1e-12)
    assert fits["working_set"].objective == pytest.approx(fits["fista"].objective, rel=1e-7)


@pytest.mark.parametrize("k", SEPARABLE)
def test_ramps_are_the_penalty(k: int) -> None:
    """The coordinate form of a penalty has its values, and its prox coordinate by coordinate."""
    penalty = penalties()[k]
    ramps = penalty.ramps(P)
    rng = np.random.default_rng(k)
    for scale in (0.1, 1.0, 10.0):
        w, g = scale * rng.normal(size=P), rng.normal(size=P)
        point = penalty.prox(w, 0.7)
        ours = np.empty(P)
        ramps.prox(w, 0.7, ours)
        np.testing.assert_allclose(ours, point, atol=1e-12)
        assert ramps.value(point) == pytest.approx(penalty.value(point), rel=1e-12)
        np.testing.assert_allclose(ramps.distance(point, g), penalty.subdiff_distance(point, g))
        some = ramps.some(np.arange(0, P, 2))
        assert some.value(point[::2]) == pytest.approx(
            penalty.value(point * (np.arange(P) % 2 == 0)), rel=1e-12
        )


def test_ista_agrees_and_its_objective_never_rises() -> None:
    X, total = data()
    y = answers(total, "classification")
    slow = fit_proximal(X, y, penalty=Facets(0.02, 0.5), algorithm="ista", tol=1e-7)
    fast = fit_proximal(X, y, penalty=Facets(0.02, 0.5), algorithm="fista", tol=1e-7)
    assert slow.objective == pytest.approx(fast.objective, rel=1e-6)
    trace = [point.objective for point in slow.trace]
    assert all(b <= a + 1e-15 for a, b in pairwise(trace))
    assert fast.iterations <= slow.iterations


@pytest.mark.parametrize(
    "penalty",
    [
        EYE(0.05, expert=(np.arange(P) % 2).astype(float)),
        EYE(0.05, expert=np.linspace(0, 1, P)),
        OWL(0.05, weights=np.linspace(1, 0.1, P)),
        WeightedTV(0.05),
        Box(np.full(P, -0.3), np.full(P, 0.3)),
    ],
    ids=["EYE", "fractional", "OWL", "TV", "box"],
)
def test_penalties_that_are_no_sums(penalty: Any) -> None:
    X, total = data()
    y = answers(total, "classification").astype(float)
    fit = fit_proximal(X, y, penalty=penalty, tol=1e-9)
    by_clusters = isinstance(penalty, OWL)
    assert fit.algorithm == ("working_set" if by_clusters else "newton")
    assert fit.converged
    loss = smooth_loss("logistic")
    for algorithm in ("fista", "newton"):
        other = fit_proximal(X, y, penalty=penalty, tol=1e-9, algorithm=algorithm)
        assert other.algorithm == algorithm
        assert other.objective == pytest.approx(fit.objective, rel=1e-8)
    best = objective(X, y, loss, penalty, fit.coefficients, float(fit.intercept))
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):  # no neighbour is better, feasible ones being those of the prox
        near = penalty.prox(fit.coefficients + size * rng.normal(size=P), 1e-12)
        assert objective(X, y, loss, penalty, near, float(fit.intercept)) >= best - 1e-9
    if not by_clusters:
        with pytest.raises(OptionError, match="coefficient by coefficient"):
            fit_proximal(X, y, penalty=penalty, algorithm="working_set")


def test_newton_steps_reach_what_first_order_steps_do_not() -> None:
    """Separable classes and hardly any penalty: the loss bends along almost no row."""
    X, _ = data(n=200, p=6)
    y = np.sign(X @ np.array([3.0, -2.0, 1.0, 0.5, -1.0, 2.0]) + 0.2)
    penalty = EYE(1e-6, expert=np.array([1.0, 0, 1, 0, 1, 0]))
    newton = fit_proximal(X, y, penalty=penalty, tol=1e-8)
    fista = fit_proximal(X, y, penalty=penalty, tol=1e-8, algorithm="fista", max_iter=2000)
    assert newton.algorithm == "newton"
    assert newton.converged
    assert newton.iterations < 60
    assert not fista.converged
    assert newton.objective < fista.objective


# --- designs and weights -------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["working_set", "fista"])
def test_dense_sparse_and_binned_designs_agree(algorithm: Any) -> None:
    rng = np.random.default_rng(2)
    design = BinnedDesign(rng.integers(0, 12, (400, 5)), (12,) * 5)
    X = design.toarray()
    y = np.where(X @ np.tile(np.linspace(-1, 1, 12), 5) + rng.logistic(size=400) > 0, 1, -1)
    kinds = [X, np.ascontiguousarray(X), csr_array(X), csc_matrix(X), design, X.astype(int)]
    fits = [fit_proximal(A, y, penalty=L1(0.01), algorithm=algorithm, tol=1e-9) for A in kinds]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.coefficients, fits[0].coefficients, atol=1e-4)
        assert fit.objective == pytest.approx(fits[0].objective, rel=1e-8)
    steps = [
        fit_proximal(A, y, penalty=Binarsity(0.01, blocks=design.blocks), tol=1e-8)
        for A in (X, csr_array(X), design)
    ]
    assert steps[0].converged
    for fit in steps[1:]:
        np.testing.assert_allclose(fit.coefficients, steps[0].coefficients, atol=1e-4)


@pytest.mark.parametrize("algorithm", ["working_set", "fista"])
def test_weights_are_repetitions(algorithm: Any) -> None:
    X, total = data()
    y = answers(total, "classification")
    times = np.random.default_rng(3).integers(0, 4, N)
    options: dict[str, Any] = {"penalty": Facets(0.02, 0.5), "algorithm": algorithm, "tol": 1e-9}
    weighted = fit_proximal(X, y, sample_weight=2.5 * times, **options)
    repeated = fit_proximal(np.repeat(X, times, axis=0), np.repeat(y, times), **options)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, atol=1e-5)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)


def test_equal_rows_are_merged_whatever_the_design() -> None:
    from milpscore.proximal.problem import prepare

    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 4)).astype(float)
    X[::7] *= -0.0  # a negative zero is a zero
    y = rng.integers(0, 3, 300).astype(float)
    smooth = prepare(X, y, "squared")
    distinct = np.unique(np.column_stack([X, y]), axis=0)
    assert smooth.X.shape[0] == len(distinct)
    assert smooth.weight.sum() == pytest.approx(1.0)
    codes = BinnedDesign(rng.integers(0, 2, (300, 4)))
    assert prepare(codes, y, "squared").X.shape[0] <= 48
    unique = rng.normal(size=(300, 4))
    assert prepare(unique, y, "squared").X.shape[0] == 300


@pytest.mark.parametrize("sparse", [False, True])
def test_more_columns_than_rows(sparse: bool) -> None:
    rng = np.random.default_rng(6)
    n, p = 80, 1500
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.05)
    y = np.where(X[:, :10].sum(axis=1) + 0.1 * rng.normal(size=n) > 0, 1, -1)
    design: Any = csr_array(X) if sparse else X
    null = fit_proximal(design, y, penalty=L1(1.0))
    assert not null.coefficients.any()
    lam = 0.3 * L1(1.0).lambda_max(_null_gradient(X, y))
    fit = fit_proximal(design, y, penalty=L1(lam), tol=1e-8)
    assert fit.algorithm == "working_set"
    assert fit.termination is Termination.GAP_REACHED
    slow = fit_proximal(X, y, penalty=L1(lam), algorithm="fista", tol=1e-8)
    np.testing.assert_allclose(fit.coefficients, slow.coefficients, atol=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
def test_large_working_sets_do_without_a_gram_matrix(
    sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, total = data(n=60, p=8)
    X[np.abs(X) < 2] = 0
    design: Any = X
    if sparse:
        set_policy(monkeypatch, operators, dense_cells=0)
        design = csr_array(X)
    y = answers(total, "classification")
    for penalty in (L1(0.02), StronglyConvexFacets(0.02, eps=0.1, gamma=0.3)):
        with_gram = fit_proximal(design, y, penalty=penalty, tol=1e-9)
        with monkeypatch.context() as patch:
            set_policy(patch, coordinate, gram_columns=2)
            without = fit_proximal(design, y, penalty=penalty, tol=1e-9)
            bare = fit_proximal(design, y, penalty=penalty, tol=1e-9, intercept=False)
        np.testing.assert_allclose(without.coefficients, with_gram.coefficients, atol=1e-4)
        assert without.converged
        assert bare.converged


def _null_gradient(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    share = (y > 0).mean()
    return np.asarray(X.T @ np.where(y > 0, share - 1, share) / len(y))


# --- certificates --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("intercept", [True, False])
def test_dual_never_exceeds_primal_anywhere(name: str, intercept: bool) -> None:
    from milpscore.proximal.problem import duality_gap, prepare

    X, total = data(n=40, p=6)
    loss = smooth_loss(name)
    smooth = prepare(X, answers(total, loss.task), loss, intercept=intercept)
    rng = np.random.default_rng(0)
    extra = [EYE(0.1, expert=np.linspace(0, 1, 6)), OWL(0.1, weights=np.arange(6.0, 0, -1))]
    for penalty in [*penalties(6), *extra]:
        best = fit_proximal(
            X, answers(total, loss.task), loss=loss, penalty=penalty, intercept=intercept
        )
        for scale in (0.0, 0.1, 1.0):
            w = penalty.prox(scale * rng.normal(size=6), 0.1)
            point = duality_gap(smooth, penalty, smooth.settled(w, X @ w, np.zeros(())))
            assert point.objective >= point.dual - 1e-12 * abs(point.objective)
            assert point.dual <= best.objective + 1e-12
            assert point.objective >= best.dual_objective - 1e-12


def test_gaps_of_the_trace_shrink_below_tol() -> None:
    X, total = data()
    y = answers(total, "classification")
    fit = fit_proximal(X, y, penalty=L1(0.01), algorithm="fista", tol=1e-8)
    assert [point.iteration for point in fit.trace] == sorted(p.iteration for p in fit.trace)
    assert fit.trace[0].iteration == 0
    assert fit.trace[-1].gap == fit.gap <= 1e-8
    assert min(point.gap for point in fit.trace) >= 0
    assert "gap" in fit.summary()


def test_unpenalised_coefficients_stop_by_distance() -> None:
    X, total = data()
    y = answers(total, "classification")
    weights = np.r_[0.0, 0.0, np.ones(P - 2)]
    for algorithm in ("working_set", "fista"):
        fit = fit_proximal(
            X, y, penalty=WeightedL1(0.05, weights=weights), algorithm=algorithm, tol=1e-8
        )
        assert fit.termination is Termination.CONVERGED
        assert fit.converged
        assert fit.distance < 1e-7
    plain = fit_proximal(X, y, penalty=L1(0.0), tol=1e-9)
    theirs = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(plain.coefficients, theirs.coef_[0], atol=1e-5)


def test_limits_and_starts() -> None:
    X, total = data()
    y = answers(total, "classification")
    for algorithm in ("working_set", "fista", "ista"):
        none = fit_proximal(X, y, penalty=L1(0.01), algorithm=algorithm, max_iter=0)
        assert none.termination is Termination.ITERATION_LIMIT
        assert not none.converged
        assert none.gap > 1e-6
        assert not none.coefficients.any()
        full = fit_proximal(X, y, penalty=L1(0.01), algorithm=algorithm, tol=1e-8)
        again = fit_proximal(X, y, penalty=L1(0.01), algorithm=algorithm, tol=1e-7, start=full)
        assert again.iterations == 0
        pair = (full.coefficients, full.intercept)
        again = fit_proximal(X, y, penalty=L1(0.01), algorithm=algorithm, tol=1e-7, start=pair)
        assert again.objective == pytest.approx(full.objective, rel=1e-9)
        assert isinstance(again, ProximalResult)


def test_impossible_accuracy_is_admitted() -> None:
    X, total = data()
    y = answers(total, "classification")
    fit = fit_proximal(X, y, penalty=L1(0.01), tol=1e-300)
    assert fit.termination in {Termination.STALLED, Termination.GAP_REACHED}
    assert fit.gap < 1e-12


def test_integers_of_facets_are_exact() -> None:
    X, total = data()
    fit = fit_proximal(X, answers(total, "classification"), penalty=Facets(0.05, 0.25))
    whole = np.rint(fit.coefficients / 0.25)
    exact = fit.coefficients == whole * 0.25
    assert exact.mean() > 0.5
    assert (whole[exact] != 0).any()


def test_separable_classes_are_no_trouble_with_a_penalty() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    for penalty in (L1(1e-3), Facets(1e-3), L2(1e-4)):
        fit = fit_proximal(X, [0, 0, 1, 1], penalty=penalty)
        assert fit.converged
        assert fit.coefficients[0] > 1


# --- errors --------------------------------------------------------------------------------------

GOOD = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
CLASSES = [0, 1, 1]


@pytest.mark.parametrize(
    ("X", "y", "options", "text"),
    [
        (GOOD, [0, 1], {}, "3 rows but y"),
        (GOOD, [0, 1, 2], {}, "-1 and 1"),
        (GOOD, [1, 1, 1], {}, "one class"),
        (GOOD, ["a", "b", "b"], {}, "encode labels"),
        (GOOD, [0, 1, np.nan], {}, "missing"),
        (GOOD[0], CLASSES, {}, "two are needed"),
        (np.zeros((3, 0)), CLASSES, {}, "at least one row"),
        (np.full((3, 2), np.nan), CLASSES, {}, "missing or infinite"),
        (csr_array(np.full((3, 2), np.inf)), CLASSES, {}, "missing or infinite"),
        ([["a"], ["b"], ["c"]], CLASSES, {}, "not a table of numbers"),
        (GOOD, CLASSES, {"sample_weight": [1, 1]}, "one weight a row"),
        (GOOD, CLASSES, {"sample_weight": [1, 1, -1]}, "non-negative"),
        (GOOD, CLASSES, {"sample_weight": [0, 0, 0]}, "every sample_weight is zero"),
        (GOOD, CLASSES, {"sample_weight": [0, 1, 1]}, "one class"),
        (GOOD, [-1, 0, 1], {"loss": "poisson"}, "negative"),
        (GOOD, [0, 0, 0], {"loss": "poisson"}, "all counts are 0"),
        (GOOD, [0, 2, 2], {"loss": "multinomial"}, "no row of positive weight"),
        (GOOD, [0.5, 1, 2], {"loss": "multinomial"}, "whole numbers"),
    ],
)
def test_bad_data_is_refused(X: Any, y: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(DataError, match=text):
        fit_proximal(X, y, penalty=L1(0.1), **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tol": 0.0}, "tol=0"),
        ({"tol": float("nan")}, "tol=nan"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"algorithm": "gauss"}, "there are auto, working_set"),
        ({"loss": "hinge"}, "no derivative"),
        ({"loss": "huber"}, "no loss 'huber'"),
        ({"intercept": "zero"}, "intercept='zero'"),
        ({"penalty": 0.1}, "not a penalty with a prox"),
        ({"penalty": WeightedL1(0.1, weights=np.ones(3))}, "shape"),
        ({"start": (np.zeros(3), 0.0)}, "coefficients of shape"),
        ({"start": (np.full(2, np.nan), 0.0)}, "not finite"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        fit_proximal(GOOD, CLASSES, **{"penalty": L1(0.1), **options})


def test_smoothed_hinge_comes_with_its_width() -> None:
    X, total = data()
    y = answers(total, "classification")
    wide = fit_proximal(X, y, loss=SmoothedHinge(1.0), penalty=L2(0.1))
    narrow = fit_proximal(X, y, loss=SmoothedHinge(0.01), penalty=L2(0.1))
    assert wide.converged
    assert narrow.converged
    assert wide.objective < narrow.objective


def test_steps_stay_long_where_the_objective_is_all_rounding() -> None:
    """Near the optimum differences of mean losses are noise; backtracking must not trust them."""
    rng = np.random.default_rng(8)
    design = BinnedDesign(rng.integers(0, 20, (30_000, 4)), (20,) * 4)
    w = np.zeros((4, 20))
    w[0, 8:] = 1.0
    total = design.matvec((w - w.mean(axis=1, keepdims=True)).ravel())
    y = np.where(total + rng.logistic(size=30_000) > 0, 1, -1)
    fit = fit_proximal(design, y, penalty=Binarsity(0.01, blocks=design.blocks), tol=1e-13)
    # the curvature is at most a quarter of the largest eigenvalue, which is about 1/20
    assert fit.step > 10
    assert fit.converged
    assert fit.iterations < 200
    # what carries no signal merges into one bin, whose coefficients are zero without rounding
    blocks = fit.coefficients.reshape(4, 20)
    assert blocks[0].any()
    assert not blocks[1:].any()


@pytest.mark.parametrize("most", [3, 6, 200])
def test_first_order_steps_go_on_from_newton_steps_that_stalled(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stalls(*given: Any, max_iter: int, **options: Any) -> Run:
        run: Run = whole(*given, max_iter=min(max_iter, 3), **options)
        run.stop = run.stop or Termination.STALLED
        return run

    whole = newton.proximal_newton
    monkeypatch.setattr(newton, "proximal_newton", stalls)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * [1.0, 2.0, 3.0, 4.0, 5.0]
    y = np.where(X @ [1.0, 0.5, 0.0, 0.0, 0.2] + rng.logistic(size=200) > 0, 1.0, -1.0)
    penalty = EYE(0.02, expert=[1.0, 1.0, 0.0, 0.0, 0.0])
    found = fit_proximal(X, y, penalty=penalty, algorithm="newton", tol=1e-6, max_iter=most)
    steps = [point.iteration for point in found.trace]
    seconds = [point.seconds for point in found.trace]
    assert found.algorithm == "newton"
    assert steps[:4] == [0, 1, 2, 3]  # Newton's looks are kept, those after them follow
    assert steps == sorted(set(steps))
    assert seconds == sorted(seconds)
    assert found.iterations == steps[-1] <= most
    assert found.converged == (most == 200)
    assert (found.termination is Termination.STALLED) == (most < 200)


def test_many_rows_start_from_a_sample() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 50, size=(1 << 19, 4), dtype=np.uint8)
    design = BinnedDesign(codes, (50,) * 4)
    w = np.repeat([0.0, 1.0, 0.0, -1.0, 0.0, 0.5, 0.5, 0.0], 25)
    y = np.where(design.matvec(w) + rng.logistic(size=len(codes)) > 0, 1.0, -1.0)
    common: Any = {"penalty": Binarsity(3e-3, blocks=design.blocks), "tol": 1e-5}
    sampled = fit_proximal(design, y, **common)
    plain = fit_proximal(design, y, start=(np.zeros(200), 0.0), **common)
    assert sampled.gap <= 1e-5
    assert plain.gap <= 1e-5
    assert abs(sampled.objective - plain.objective) <= 1e-5 * plain.objective
    assert sampled.iterations < plain.iterations
    # without both classes in the sample, from the null model
    rare = np.full(len(codes), -1.0)
    rare[1:33:2] = 1.0
    assert fit_proximal(design, rare, penalty=Binarsity(1.0, blocks=design.blocks)).iterations == 0


@pytest.mark.parametrize("name", ["logistic", "squared", "poisson", "probit", "squared_hinge"])
def test_one_way_through_the_rows(name: str) -> None:
    rng = np.random.default_rng(1)
    n = 40_000  # some parts and a piece
    X, task = rng.normal(size=(n, 2)), smooth_loss(name).task
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0) if task == "classification" else rng.random(n) * 3
    smooth = prepare(X, y, name, sample_weight=rng.uniform(0.5, 2.0, n))
    eta, b = rng.normal(size=n), np.asarray(0.3)
    rows = np.empty(n)
    value = smooth.value_and_rows(eta, b, out=rows)
    losses = smooth.loss.value(eta + b, smooth.y)
    slopes = smooth.loss.gradient(eta + b, smooth.y)
    assert value == pytest.approx(float(smooth.weight @ losses), rel=1e-12)
    assert smooth.value(eta, b) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(rows, smooth.weight * slopes, rtol=1e-12, atol=1e-20)
    # the best intercept, of all rows and of two
    zero = np.zeros(2)
    for at in (smooth.null, smooth.settled(zero, np.zeros(n), np.asarray(0.0))):
        np.testing.assert_allclose(at.u, smooth.loss.gradient(np.full(n, float(at.b)), smooth.y))
        assert abs(float(smooth.weight @ at.u)) <= 1e-12
        assert at.loss == pytest.approx(smooth.value(np.zeros(n), at.b), rel=1e-12)
        np.testing.assert_allclose(at.gradient, X.T @ (smooth.weight * at.u), atol=1e-13)
