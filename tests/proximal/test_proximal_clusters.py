"""OWL by clusters: the same optimum as by first-order steps and by a cone solver, and quickly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from milpscore.formulations import owl
from milpscore.penalties import L1, OWL
from milpscore.proximal import fit_proximal, path
from milpscore.proximal.coordinate import descend_sorted
from milpscore.solvers import solve


def correlated(n: int, p: int, loss: str, seed: int = 0) -> tuple[Any, Any]:
    """Columns that follow each other at .8, a tenth of them with effects."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    w = np.where(rng.random(p) < 0.1, rng.choice([-2.0, -1.0, 1.0, 2.0], p), 0.0)
    total = X @ w
    if loss == "squared":
        return X, total + rng.normal(size=n) * total.std()
    return X, np.where(2 * total / total.std() + rng.logistic(size=n) > 0, 1.0, -1.0)


def lambda_max(X: Any, y: Any, weights: Any) -> float:
    """Where the null model is just optimal, for both losses up to the factor of their curvature."""
    pull = np.sort(np.abs(X.T @ (y - y.mean()) / len(y)))[::-1]
    return float((np.cumsum(pull) / np.cumsum(weights)).max())


WEIGHTS = {
    "falling": lambda p: np.linspace(1.0, 0.1, p),
    "equal": np.ones,
    "sup norm": lambda p: np.eye(1, p)[0],
    "steps, then zero": lambda p: np.repeat([3.0, 1.0, 0.0], -(-p // 3))[:p],
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_the_minimiser_of_a_quadratic(weights: Any) -> None:
    """Every answer is a fixed point of the prox, from whatever start."""
    rng = np.random.default_rng(3)
    for p in (1, 2, 5, 17):
        for kind in range(3):
            X = rng.normal(size=(40, p))
            if kind and p > 2:
                X[:, 1], X[:, 2] = X[:, 0], -X[:, 0]  # sizes of equal columns are free to move
            gram = X.T @ X / 40
            penalty = OWL(0.3 if kind < 2 else 1e-3, weights=weights(p))
            linear = -X.T @ rng.normal(size=40) / 40
            w = rng.normal(size=p) * (rng.random(p) < 0.7)
            x = descend_sorted(gram, linear + gram @ w, w, penalty, 1e-10)
            slope = linear + gram @ x
            assert np.abs(penalty.prox(x - slope, 1.0) - x).max() <= 1e-8


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_optimum_is_that_of_cones_and_of_first_order_steps(loss: str) -> None:
    X, y = correlated(60, 9, loss, seed=2)
    weights = np.linspace(1.0, 0.2, 9)
    lam = 0.1 * lambda_max(X, y, weights)
    ours = fit_proximal(X, y, loss=loss, penalty=OWL(lam, weights=weights), tol=1e-9)
    assert ours.algorithm == "working_set"
    assert ours.gap <= 1e-9
    slow = fit_proximal(
        X, y, loss=loss, penalty=OWL(lam, weights=weights), tol=1e-9, algorithm="fista"
    )
    assert ours.objective == pytest.approx(slow.objective, rel=3e-9)
    cones = solve(owl(X, y, weights=weights, lam=lam, loss=loss))
    assert ours.objective == pytest.approx(cones.objective, rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "poisson"])
def test_other_losses_and_no_intercept(loss: str) -> None:
    X, y = correlated(80, 12, "squared" if loss in {"squared", "poisson"} else "logistic", seed=4)
    y = np.rint(np.exp(0.3 * y / y.std())) if loss == "poisson" else y
    penalty = OWL(0.02, weights=np.linspace(1.0, 0.5, 12))
    for intercept in (True, False):
        common: dict[str, Any] = {"loss": loss, "penalty": penalty, "intercept": intercept}
        ours = fit_proximal(X, y, **common, tol=1e-8)
        slow = fit_proximal(X, y, **common, tol=1e-8, algorithm="fista")
        assert ours.gap <= 1e-8
        assert ours.objective == pytest.approx(slow.objective, rel=3e-8)


def test_equal_columns_share_one_size() -> None:
    X, y = correlated(200, 6, "squared", seed=5)
    X = np.column_stack([X, X[:, 0], -X[:, 1]])
    penalty = OWL(0.05, weights=np.linspace(1.0, 0.3, 8))
    found = fit_proximal(X, y, loss="squared", penalty=penalty)
    w = found.coefficients
    assert w[0] == w[6] != 0
    assert w[1] == -w[7] != 0


def test_equal_weights_give_the_lasso_path() -> None:
    X, y = correlated(150, 80, "logistic", seed=6)
    ours = path(X, y, penalty=OWL(1.0, weights=np.ones(80)), n_lams=6, ratio=0.05)
    lasso = path(X, y, penalty=L1, n_lams=6, ratio=0.05)
    np.testing.assert_allclose(ours.lams, lasso.lams)
    assert ours.table["gap"].max() <= 1e-6
    np.testing.assert_allclose(ours.table["objective"], lasso.table["objective"], rtol=2e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_correlated_columns_take_few_steps(loss: str) -> None:
    """First-order steps took thousands of passes, Newton steps on all columns too long a model."""
    X, y = correlated(400, 160, loss)
    weights = np.linspace(1.0, 0.1, 160)
    top = lambda_max(X, y, weights) * (1.0 if loss == "squared" else 0.5)
    for share in (0.3, 0.05):
        found = fit_proximal(X, y, loss=loss, penalty=OWL(share * top, weights=weights))
        assert found.gap <= 1e-6
        assert found.iterations <= 12
