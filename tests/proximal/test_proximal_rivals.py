"""Proximal fits against glum at equal parameters, and against a conic solve of the same program."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from milpscore.penalties import EYE, L1, Facets
from milpscore.proximal import fit_proximal


def planted(n: int = 60, p: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, p))
    return X, np.where(X @ np.linspace(-2, 2, p) + rng.normal(size=n) > 0.3, 1, -1)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.0])
def test_glum_at_equal_parameters(l1_ratio: float) -> None:
    glum = pytest.importorskip("glum", reason="glum is not installed (pip install glum)")
    from milpscore.penalties import L2

    X, y = planted(n=300)
    lam = 0.03
    theirs = glum.GeneralizedLinearRegressor(
        family="binomial", alpha=lam, l1_ratio=l1_ratio, gradient_tol=1e-10, max_iter=1000
    ).fit(X, (y > 0).astype(float))
    ours = fit_proximal(X, y, penalty=L1(lam) if l1_ratio else L2(lam), tol=1e-13)
    assert ours.coefficients == pytest.approx(theirs.coef_, abs=1e-6)
    assert ours.intercept == pytest.approx(theirs.intercept_, abs=1e-6)


def facets(w: cp.Variable, gamma: float) -> cp.Expression:
    """sum_j sum_i (|w_j| / gamma - i)_+ up to |w_j| <= 12 gamma, eq. 3 of the Facets paper."""
    return sum(cp.sum(cp.pos(cp.abs(w) / gamma - i)) for i in range(12))


def eye(w: cp.Variable, expert: np.ndarray) -> cp.Expression:
    """eq. 2 of the EYE paper, with an epigraph variable for its first norm."""
    unknown = cp.norm1(cp.multiply(1 - expert, w))
    above = cp.Variable(nonneg=True)
    known = cp.multiply(expert, w)
    return unknown + cp.norm2(cp.hstack([above, known])) + 1e6 * cp.pos(unknown - above)


EXPERT = np.array([1.0, 0.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("penalty", "conic"),
    [
        (L1(0.05), lambda w: 0.05 * cp.norm1(w)),
        (Facets(0.02, gamma=0.5), lambda w: 0.02 * facets(w, 0.5)),
        (EYE(0.05, expert=EXPERT), lambda w: 0.05 * eye(w, EXPERT)),
    ],
    ids=["l1", "facets", "eye"],
)
def test_the_conic_solve_agrees_and_its_bound_holds(penalty, conic) -> None:  # type: ignore[no-untyped-def]
    X, y = planted()
    found = fit_proximal(X, y, penalty=penalty, tol=1e-10)
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    loss = cp.sum(cp.logistic(-cp.multiply(y, X @ w + b))) / len(y)
    problem = cp.Problem(cp.Minimize(loss + conic(w)))
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == "optimal"
    assert found.objective >= problem.value - 1e-6
    assert found.objective == pytest.approx(problem.value, abs=1e-6)
    assert found.dual_objective <= problem.value + 1e-6
