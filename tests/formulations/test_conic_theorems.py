"""What the papers prove of their penalties, seen in the solutions of the conic programs."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from conic_cases import BLOCKS, COLUMNS, EXPERT, LOSSES, SMOOTH, table
from designs import binned

from milpscore.formulations import (
    binarsity,
    elastic_net,
    eye,
    facets,
    naive_credibility,
    owl,
    strongly_convex_facets,
    weighted_fused_lasso,
    weighted_l1,
    weighted_l2,
)
from milpscore.penalties import EYE, Facets, StronglyConvexFacets
from milpscore.solvers import solve

SEEDS = range(5)
with_losses = pytest.mark.parametrize("loss", LOSSES)
seeded = pytest.mark.parametrize("seed", SEEDS)


def objective(program: Any) -> float:
    result = solve(program)
    assert result.verified
    return float(result.objective)


def coefficients(program: Any) -> Any:
    result = solve(program)
    assert result.verified
    return np.asarray(result.coefficients)


def regression(seed: int, n: int = 60, p: int = 6) -> tuple[Any, Any]:
    """Correlated columns of norm 1 and answers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 1.5 * rng.normal(size=(n, 1))
    X /= np.linalg.norm(X, axis=0)
    return X, X @ rng.normal(size=p) * 5 + rng.normal(size=n)


# ------------------------------------------------------------------ EYE


@seeded
@pytest.mark.parametrize("lam", [1e-3, 1e-2, 3e-2])
def test_the_grouping_bound_of_corollary_7_2(seed: int, lam: float) -> None:
    """|w_i - w_j| / Z <= sqrt(2 (1 - rho)) ||y|| / (r^2 n lam) for r_i = r_j and equal signs.

    Erratum: the columns have norm 1 (not variance 1), rho is their inner product. The loss here is
    a mean: the paper's n lambda, of a sum, is n times this lam.
    """
    X, y = regression(seed)
    r = np.array([1.0, 1.0, 1.0, 0.5, 0.5, 0.0])
    w = coefficients(eye(X, y, expert=r, lam=lam, loss="squared", intercept=False))
    Z = np.hypot(np.abs((1 - r) * w).sum(), np.linalg.norm(r * w))
    checked = 0
    for i, j in [(0, 1), (0, 2), (1, 2), (3, 4)]:
        if w[i] * w[j] > 0:
            apart = np.sqrt(2 * (1 - X[:, i] @ X[:, j]))
            bound = apart * np.linalg.norm(y) / (r[i] ** 2 * len(y) * lam)
            assert abs(w[i] - w[j]) / Z <= bound * (1 + 1e-9)
            checked += 1
    assert checked


@seeded
def test_the_bound_of_theorem_7_1_for_unequal_knowledge(seed: int) -> None:
    X, y = regression(seed)
    r, lam = np.array([1.0, 0.8, 0.6, 0.4, 0.9, 0.7]), 5e-3
    w = coefficients(eye(X, y, expert=r, lam=lam, loss="squared", intercept=False))
    a = np.abs((1 - r) * w).sum()
    Z = np.hypot(a, np.linalg.norm(r * w))
    pairs = [(i, j) for i in range(6) for j in range(i) if w[i] * w[j] > 0]
    assert pairs
    for i, j in pairs:
        apart = np.sqrt(2 * (1 - X[:, i] @ X[:, j])) * np.linalg.norm(y) / (len(y) * lam)
        known = abs(r[i] - r[j]) * (1 + a / Z)
        assert abs(r[i] ** 2 * w[i] - r[j] ** 2 * w[j]) / Z <= (apart + known) * (1 + 1e-9)


@with_losses
def test_perfect_correlation(loss: str) -> None:
    """Section 7.5: of equal columns the known ones share, and the unknown one gets nothing."""
    X, y = table("eye", loss)
    X = np.column_stack([X[:, 0], X[:, 0], X[:, 0], X[:, 1:3]])
    w = coefficients(eye(X, y, expert=[1, 1, 0, 0, 1], lam=0.02, loss=loss))
    assert abs(w[0]) > 0.05
    assert w[0] == pytest.approx(w[1], abs=1e-4)
    assert w[2] == pytest.approx(0.0, abs=1e-6)


def test_naive_credibility_lets_the_unknown_twin_in_where_eye_does_not() -> None:
    """Figure 1: with little regularisation the naive penalty prefers what nobody knows."""
    X, y = regression(0)
    X = np.column_stack([X[:, 0], X[:, 0]])
    y = 20.0 * X[:, 0]
    shared = {"expert": [1.0, 0.0], "loss": "squared", "intercept": False, "lam": 1e-3}
    naive = coefficients(naive_credibility(X, y, beta=0.5, **shared))
    fair = coefficients(eye(X, y, **shared))
    assert naive[1] > 5 * naive[0]
    # moving d to the twin costs EYE no more than lam d^2 / (2 w): flat, so not exactly 0
    assert abs(fair[1]) < 0.01
    assert fair[0] > 15.0


@with_losses
def test_nothing_known_is_the_lasso_with_twice_lam(loss: str) -> None:
    X, y = table("eye", loss)
    one = solve(eye(X, y, expert=np.zeros(COLUMNS), lam=0.04, loss=loss))
    other = solve(elastic_net(X, y, l1_ratio=1.0, lam=0.08, loss=loss))
    assert one.objective == pytest.approx(other.objective, rel=1e-7)
    np.testing.assert_allclose(one.coefficients, other.coefficients, atol=2e-4)


@with_losses
def test_all_known_is_the_euclidean_norm(loss: str) -> None:
    X, y = table("eye", loss)
    program = eye(X, y, expert=np.ones(COLUMNS), lam=0.04, loss=loss)
    direct = cp.Problem(
        cp.Minimize(program.loss + 0.04 * cp.norm(program.w)), [*program.own]
    ).solve(solver=cp.CLARABEL)
    assert objective(program) == pytest.approx(direct, rel=1e-7)


@with_losses
@seeded
def test_a_permuted_expert_is_a_permuted_table(seed: int, loss: str) -> None:
    X, y = table("eye", loss, seed)
    order = np.random.default_rng(seed).permutation(COLUMNS)
    r = np.array(EXPERT)
    one = coefficients(eye(X, y, expert=r, lam=0.03, loss=loss))
    other = coefficients(eye(X[:, order], y, expert=r[order], lam=0.03, loss=loss))
    np.testing.assert_allclose(other, one[order], atol=2e-4)


@seeded
def test_eye_is_null_from_its_dual_norm_on(seed: int) -> None:
    X, y = table("eye", "squared", seed)
    penalty = EYE(1.0, expert=np.array(EXPERT))
    centred = y - y.mean()
    most = penalty.lambda_max(-(X - X.mean(axis=0)).T @ centred / len(y))
    assert not coefficients(eye(X, y, expert=EXPERT, lam=1.0001 * most, loss="squared")).any()
    assert coefficients(eye(X, y, expert=EXPERT, lam=0.98 * most, loss="squared")).any()


@seeded
def test_a_norm_scales_with_the_answers_and_the_naive_penalty_does_not(seed: int) -> None:
    X, y = regression(seed)
    shared = {"expert": EXPERT, "loss": "squared"}
    one = coefficients(eye(X, y, lam=0.01, **shared))
    np.testing.assert_allclose(
        coefficients(eye(X, 3 * y, lam=0.03, **shared)), 3 * one, rtol=1e-3, atol=1e-3
    )
    naive = coefficients(naive_credibility(X, y, beta=0.5, lam=0.01, **shared))
    scaled = coefficients(naive_credibility(X, 3 * y, beta=0.5, lam=0.03, **shared))
    assert np.abs(scaled - 3 * naive).max() > 0.1


# ------------------------------------------------------------------ Facets


def orthonormal(seed: int) -> tuple[Any, Any, Any]:
    """X with X'X = n I, answers, and the least-squares coefficients."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(40) * np.linalg.qr(rng.normal(size=(40, 8)))[0]
    y = X @ rng.uniform(-2.5, 2.5, size=8) + rng.normal(size=40)
    return X, y, X.T @ y / 40


@seeded
@pytest.mark.parametrize(("lam", "gamma"), [(0.05, 1.0), (0.3, 0.5), (2.0, 1.0), (0.02, 0.1)])
def test_orthonormal_columns_give_the_prox_of_least_squares(
    seed: int, lam: float, gamma: float
) -> None:
    """Eqs 12, 15 and 16: the same numbers, and exactly the same whole multiples of gamma."""
    X, y, least_squares = orthonormal(seed)
    shared = {"lam": lam, "gamma": gamma, "loss": "squared", "intercept": False}
    w = coefficients(facets(X, y, **shared))
    expected = Facets(lam, gamma=gamma).prox(least_squares, 1.0)
    np.testing.assert_allclose(w, expected, atol=1e-4)
    whole = np.isclose(expected / gamma, np.rint(expected / gamma), atol=1e-12)
    assert np.array_equal(w[whole], (np.rint(w / gamma) * gamma)[whole])
    blended = coefficients(strongly_convex_facets(X, y, eps=0.3, **shared))
    expected = StronglyConvexFacets(lam, eps=0.3, gamma=gamma).prox(least_squares, 1.0)
    np.testing.assert_allclose(blended, expected, atol=1e-4)


@pytest.mark.parametrize("loss", SMOOTH)
def test_enough_push_to_the_grid_makes_every_coefficient_whole(loss: str) -> None:
    """The integrity of sec. 5 grows with lam / gamma^2, lam / gamma being fixed."""
    X, y = table("eye", loss)
    shares = []
    for gamma in (2.0, 0.5, 0.002):
        w = coefficients(facets(X, y, lam=0.02 * gamma, gamma=gamma, loss=loss))
        shares.append(np.mean(np.abs(w / gamma - np.rint(w / gamma)) < 1e-9))
        assert np.any(w)
    assert shares[0] < 1.0
    assert shares[-1] >= 5 / 6
    assert shares[-1] > shares[0]


@with_losses
@pytest.mark.parametrize("gamma", [0.1, 0.5, 3.0])
def test_the_grid_scales_with_the_table(gamma: float, loss: str) -> None:
    """Eq. 16: coefficients over the grid of gamma are gamma times those of gamma X over Z."""
    X, y = table("eye", loss)
    one = solve(facets(X, y, lam=0.02, gamma=gamma, loss=loss))
    other = solve(facets(gamma * X, y, lam=0.02, gamma=1.0, loss=loss))
    assert one.objective == pytest.approx(other.objective, rel=1e-7)
    if loss != "hinge":  # whose minimiser need not be unique
        np.testing.assert_allclose(
            one.coefficients, gamma * other.coefficients, atol=2e-4 * max(1.0, gamma)
        )


@with_losses
def test_strongly_convex_facets_lies_between_facets_and_the_elastic_net(loss: str) -> None:
    """eps = 1 is |w| + w^2 / 2, eps near 0 is Facets (eq. 13)."""
    X, y = table("eye", loss)
    ends = objective(strongly_convex_facets(X, y, lam=0.02, eps=1.0, loss=loss))
    assert ends == pytest.approx(
        objective(elastic_net(X, y, lam=0.04, l1_ratio=0.5, loss=loss)), rel=1e-7
    )
    near = objective(strongly_convex_facets(X, y, lam=0.02, eps=1e-9, loss=loss))
    assert near == pytest.approx(objective(facets(X, y, lam=0.02, loss=loss)), rel=1e-6)


# ------------------------------------------------------------------ OWL and weights


@with_losses
def test_owl_with_equal_weights_is_the_lasso(loss: str) -> None:
    X, y = table("eye", loss)
    one = objective(owl(X, y, weights=np.full(COLUMNS, 2.0), lam=0.02, loss=loss))
    other = objective(elastic_net(X, y, l1_ratio=1.0, lam=0.04, loss=loss))
    assert one == pytest.approx(other, rel=1e-7)


@with_losses
def test_owl_with_one_weight_is_the_sup_norm(loss: str) -> None:
    X, y = table("eye", loss)
    program = owl(X, y, weights=np.eye(1, COLUMNS)[0], lam=0.2, loss=loss)
    direct = cp.Problem(
        cp.Minimize(program.loss + 0.2 * cp.norm_inf(program.w)), [*program.own]
    ).solve(solver=cp.CLARABEL)
    assert objective(program) == pytest.approx(direct, rel=1e-7)
    size = np.abs(program.w.value)
    assert np.sum(size > size.max() - 1e-5) >= 2, "the sup norm ties coefficients"


@with_losses
@pytest.mark.parametrize(
    ("weighted", "ratio"), [(weighted_l1, 1.0), (weighted_l2, 0.0)], ids=["l1", "l2"]
)
def test_weights_are_a_scaling_of_the_columns(weighted: Any, ratio: float, loss: str) -> None:
    X, y = table("eye", loss)
    weights = np.array([1.0, 2.0, 0.3, 0.5, 1.0, 1.5])
    one = objective(weighted(X, y, weights=weights, lam=0.03, loss=loss))
    other = objective(elastic_net(X / weights, y, l1_ratio=ratio, lam=0.03, loss=loss))
    assert one == pytest.approx(other, rel=1e-7)


# ------------------------------------------------------------------ binarsity


@with_losses
def test_bins_may_be_read_backwards_and_blocks_in_any_order(loss: str) -> None:
    X, y = table("binarsity", loss)
    one = objective(binarsity(X, y, blocks=BLOCKS, lam=0.02, loss=loss))
    backwards = [block[::-1] for block in BLOCKS[::-1]]
    assert one == pytest.approx(
        objective(binarsity(X, y, blocks=backwards, lam=0.02, loss=loss)), rel=1e-7
    )


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@seeded
def test_equal_neighbours_may_merge_into_one_bin(seed: int, loss: str) -> None:
    """The optimum over the merged bins is the same, whatever jump was left out."""
    made = binned(40, seed)
    result = solve(binarsity(made, lam=0.04, loss=loss))
    w = result.coefficients
    level = [k for k in (0, 1, 3, 4) if abs(w[k + 1] - w[k]) < 1e-8]
    assert level
    k = level[0]
    X = np.delete(made.X, k + 1, axis=1)
    X[:, k] += made.X[:, k + 1]
    blocks = [(0, 1), (2, 3, 4)] if k < 2 else [(0, 1, 2), (3, 4)]
    merged = objective(binarsity(X, made.y, blocks=blocks, lam=0.04, loss=loss))
    assert merged == pytest.approx(result.objective, rel=1e-7)


@with_losses
def test_the_sums_of_zero_cost_nothing_where_the_intercept_is_free(loss: str) -> None:
    """Total variation and the intercept do not see a constant in a block."""
    X, y = table("binarsity", loss)
    one = objective(binarsity(X, y, blocks=BLOCKS, lam=0.02, loss=loss))
    chain = weighted_fused_lasso(X, y, weights=[1.0, 1, 0, 1, 1], lam=0.02, loss=loss)
    assert one == pytest.approx(objective(chain), rel=1e-7)


@with_losses
def test_weights_and_lam_multiply(loss: str) -> None:
    X, y = table("binarsity", loss)
    weights = np.array([0.0, 1.0, 2.0, 0.0, 0.5, 1.0])
    one = objective(binarsity(X, y, blocks=BLOCKS, lam=0.02, weights=3 * weights, loss=loss))
    other = objective(binarsity(X, y, blocks=BLOCKS, lam=0.06, weights=weights, loss=loss))
    assert one == pytest.approx(other, rel=1e-8)


@seeded
def test_binarsity_is_null_from_its_dual_norm_on(seed: int) -> None:
    X, y = table("binarsity", "squared", seed)
    program = binarsity(X, y, blocks=BLOCKS, loss="squared")
    gradient = -(X - X.mean(axis=0)).T @ (y - y.mean()) / len(y)
    most = program.statement.penalty.lambda_max(gradient)
    program.set(lam=1.0001 * most)
    assert np.abs(coefficients(program)).max() < 1e-9
    program.set(lam=0.98 * most)
    assert np.abs(coefficients(program)).max() > 1e-4
