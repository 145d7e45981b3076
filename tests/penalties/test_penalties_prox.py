"""Every prox against a slow one written from the definition, and against a conic solver."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from penalty_cases import (
    FEATURES,
    awkward,
    chain_prox,
    every_form,
    eye_prox,
    hull_prox,
    make,
    scalar_prox,
    sorted_prox,
)

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
    SparseHull,
    StronglyConvexFacets,
    WeightedL1,
    WeightedL2,
    WeightedTV,
)

EXACT = 1e-9


def edges(mu: float, gamma: float, rng: np.random.Generator) -> np.ndarray:
    """Points on both edges of the plateaus, a few units in the last place around, and others."""
    k = np.arange(40.0)
    lower, upper = k * (gamma + mu / gamma), k * gamma + (k + 1) * mu / gamma
    points = np.concatenate([lower, upper, *(np.nextafter(lower, s * np.inf) for s in (-1, 1))])
    points = np.concatenate([points, points * (1 + 1e-6), rng.normal(size=400) * gamma * 10, [0.0]])
    return points * rng.choice([-1, 1], size=len(points))


FACETS: dict[str, Any] = {
    "facets": (Facets, lambda x: np.floor(x) + 1),
    "scf .01": (lambda lam, g: StronglyConvexFacets(lam, gamma=g),
                lambda x: np.floor(x) + 1 + 0.01 * (x - np.floor(x))),
    "scf .7": (lambda lam, g: StronglyConvexFacets(lam, eps=0.7, gamma=g),
               lambda x: np.floor(x) + 1 + 0.7 * (x - np.floor(x))),
    "alpha (1,)": (lambda lam, g: AlphaFacets(lam, alpha=(1,), gamma=g), lambda x: np.floor(x) + 1),
    "alpha (1, 2)": (lambda lam, g: AlphaFacets(lam, alpha=(1, 2), gamma=g),
                     lambda x: 2 * np.floor(x) + 1),
    "alpha mixed": (lambda lam, g: AlphaFacets(lam, alpha=(2, 0.5, 1.5), gamma=g),
                    lambda x: 2 + 0.5 * (x >= 1) + 1.5 * np.maximum(np.floor(x) - 1, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", FACETS)
@pytest.mark.parametrize("gamma", [1.0, 0.3, 7.0])
def test_grid_penalties(name: str, gamma: float) -> None:
    build, slope = FACETS[name]
    rng = np.random.default_rng(1)
    for mu in (1e-9, 1e-3, 0.25, 1.0, 3.7, 1e3):
        y = edges(mu, gamma, rng)
        x = build(mu / 2, gamma).prox(y, 2.0)
        wanted = gamma * scalar_prox(y / gamma, lambda v, m=mu: m / gamma**2 * slope(v))
        assert np.all(np.abs(x - wanted) <= np.minimum(4e-15 * np.abs(y), EXACT))


@pytest.mark.parametrize("build", [Facets, lambda lam: StronglyConvexFacets(lam, eps=0.3)])
@pytest.mark.parametrize("gamma", [1, 0.1])
def test_plateaus_end_on_the_grid_itself(build: Any, gamma: float) -> None:
    """Eq. 12 as printed misses whole numbers at |w| = k (1 + mu)."""
    k = np.arange(10_000.0)
    for mu in (0.1, 1 / 3, 0.7, 2.9):
        penalty = build(mu)
        slope = 1 + mu * getattr(penalty, "eps", 0.0)
        begin = k * (1 + mu) + (slope - 1.0)  # plateau k; for Facets at k (1 + mu)
        begin[0] = 0.0
        np.testing.assert_array_equal(penalty.prox(begin, 1.0), k)
        np.testing.assert_array_equal(penalty.prox(k + mu * (k + 1), 1.0), k)


def scalar_cases() -> dict[str, Any]:
    """Separable penalties of 8 features with the slope of Omega at x >= 0."""
    rng = np.random.default_rng(7)
    u, r = rng.uniform(0.1, 2, 8), rng.uniform(0, 1, 8)
    return {
        "l1": (L1(0.7), lambda x: 0 * x + 1),
        "l2": (L2(0.7), lambda x: x),
        "elastic net": (ElasticNet(0.7, l1_ratio=0.4), lambda x: 0.4 + 0.6 * x),
        "weighted l1": (WeightedL1(0.7, weights=u), lambda x: u + 0 * x),
        "weighted l2": (WeightedL2(0.7, weights=u), lambda x: u**2 * x),
        "adaptive": (AdaptiveL1(0.7, initial=-u), lambda x: 1 / u + 0 * x),
        "naive": (NaiveCredibility(0.7, expert=r, beta=0.3),
                  lambda x: 0.6 * (1 - r) + 1.4 * r**2 * x),
    }  # fmt: skip


@pytest.mark.parametrize("name", scalar_cases())
def test_absolute_and_square_penalties(name: str) -> None:
    penalty, slope = scalar_cases()[name]
    y = awkward(np.random.default_rng(3), 400, 8)
    for step in (1e-8, 0.4, 1.0, 30.0, 1e8):
        wanted = scalar_prox(y, lambda x, t=step: 0.7 * t * slope(x))
        got = np.array([penalty.prox(row, step) for row in y[:100]])
        np.testing.assert_allclose(got, wanted[:100], rtol=1e-14, atol=1e-13)
    np.testing.assert_allclose(penalty.prox(y.T.copy(), 1.0).T,
                               scalar_prox(y, lambda x: 0.7 * slope(x)), atol=1e-13)  # fmt: skip


def test_long_vectors_may_be_strided_and_overwritten() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=100_003) * 4
    for penalty in (L1(0.6), L2(0.6), ElasticNet(0.6, l1_ratio=0.5), Facets(0.6, 0.7),
                    StronglyConvexFacets(0.6), WeightedL1(0.6, weights=rng.random(len(y))),
                    AlphaFacets(0.6, alpha=(1, 2))):  # fmt: skip
        whole, own = penalty.prox(y, 0.9), y.copy()
        assert penalty.prox(own, 0.9, out=own) is own
        np.testing.assert_array_equal(own, whole)
        assert np.max(penalty.subdiff_distance(whole, (whole - y) / 0.9)) < 1e-12
        strided = np.repeat(y, 2)[::2]
        np.testing.assert_array_equal(penalty.prox(strided, 0.9), whole)


# --- total variation -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["l1", "elastic net", "weighted l1", "weighted l2"])
def test_long_vectors_get_what_short_ones_get(name: str) -> None:
    n, copies = 50, 100  # together beyond what NumPy does alone
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=n) * 3, np.abs(rng.normal(size=n))
    y[:5] = 0.0, -0.0, 0.3, -0.3, 1e-300

    def penalty(times: int) -> Any:
        many = np.tile(weights, times)
        return {
            "l1": L1(0.7),
            "elastic net": ElasticNet(0.7, l1_ratio=0.4),
            "weighted l1": WeightedL1(0.7, weights=many),
            "weighted l2": WeightedL2(0.7, weights=many),
        }[name]

    short, long = penalty(1).prox(y, 0.9), penalty(copies).prox(np.tile(y, copies), 0.9)
    assert np.array_equal(long, np.tile(short, copies))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_total_variation_of_short_chains(n: int) -> None:
    rng = np.random.default_rng(n)
    y = awkward(rng, 400, n)
    for weights in (np.ones(n - 1), rng.uniform(0, 2, n - 1), rng.integers(0, 2, n - 1) * 0.5):
        for mu in (1e-10, 0.3, 1.0, 1e12):
            penalty = WeightedTV(mu / 2, weights if n > 1 else None)
            got = np.array([penalty.prox(row, 2.0) for row in y])
            np.testing.assert_allclose(got, chain_prox(y, np.minimum(mu, 1e6) * weights),
                                       rtol=1e-13, atol=EXACT)  # fmt: skip


LONG = {
    "noise": lambda rng, n: rng.normal(size=n),
    "ramp": lambda rng, n: np.linspace(-3, 50, n),
    "falling parabola": lambda rng, n: -(np.linspace(-3, 3, n) ** 2),
    "steps": lambda rng, n: np.repeat(rng.normal(size=n // 50 + 1), 50)[:n],
    "walk": lambda rng, n: np.cumsum(rng.normal(size=n)),
    # here a stack takes over midway
    "noise, then waves": lambda rng, n: np.append(
        rng.normal(size=500), 5 * np.sin(np.arange(n - 500) / 300)
    ),
    "waves with noise": lambda rng, n: 5 * np.sin(np.arange(n) / 200) + 0.1 * rng.normal(size=n),
    "zigzag": lambda rng, n: np.arange(n) % 2 * 1.0,
    "offset": lambda rng, n: 1e6 + rng.normal(size=n),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("weighted", ["one", "drawn", "some zero"])
def test_total_variation_meets_the_optimality_conditions(name: str, weighted: str) -> None:
    """|cumsum(x - y)| <= width, with equality and the right sign at every jump."""
    rng = np.random.default_rng(5)
    n = 3001
    y = LONG[name](rng, n)
    weights = np.ones(n - 1) if weighted == "one" else rng.uniform(0.05, 2, n - 1)
    if weighted == "some zero":
        weights *= rng.integers(0, 20, n - 1).clip(0, 1)
    for mu in (1e-6, 0.1, 3.0, 500.0, 1e15):
        penalty = WeightedTV(mu, None if weighted == "one" else weights)
        x = penalty.prox(y, 1.0)
        width = mu * weights
        sums = np.cumsum(x - y)
        dual, jump = sums[:-1], np.diff(x)
        error = 4e-15 * n * np.abs(y).max()
        assert abs(sums[-1]) <= error
        assert np.all(np.abs(dual) <= width + error)
        moved = np.abs(jump) > 1e-12 * np.abs(y).max()
        np.testing.assert_allclose(dual[moved], (width * np.sign(jump))[moved], atol=error)


def test_total_variation_stays_linear_on_a_ramp() -> None:
    """A quadratic algorithm would take hours here; ours takes a hundredth of a second."""
    n = 1_000_000
    for y in (np.linspace(0, 1e3, n), -(np.linspace(-3, 3, n) ** 2)):
        for mu in (0.5, 1e4):
            started = time.process_time()
            x = WeightedTV(mu).prox(y, 1.0)
            assert time.process_time() - started < 10
            assert x.sum() == pytest.approx(y.sum(), rel=1e-9)


def test_binarsity_of_short_blocks() -> None:
    rng = np.random.default_rng(2)
    weights = rng.uniform(0, 2, 8)
    blocks = ((2, 0, 1), (3,), (7, 5, 4, 6))
    for y in awkward(rng, 200, 8):
        x = Binarsity(0.8, blocks=blocks, weights=weights).prox(y, 0.5)
        for block in blocks:
            columns = list(block)
            smooth = chain_prox(y[None, columns], 0.4 * weights[columns][1:])[0]
            np.testing.assert_allclose(x[columns], smooth - smooth.mean(), atol=EXACT)


# --- norms and hulls -----------------------------------------------------------------------------


def test_owl() -> None:
    rng = np.random.default_rng(4)
    for y in awkward(rng, 400, 7):
        weights = np.sort(rng.uniform(0, 1, 7))[::-1] * rng.choice([1e-6, 0.5, 5.0, 1e6])
        weights[3:] *= rng.integers(0, 2)
        got = OWL(0.7, weights=weights).prox(y, 1.3)
        np.testing.assert_allclose(got, sorted_prox(y, 0.91 * weights), rtol=1e-13, atol=EXACT)


@pytest.mark.parametrize("kind", ["binary", "fractional", "mixed", "nearly binary"])
def test_eye(kind: str) -> None:
    rng = np.random.default_rng(6)
    y = awkward(rng, 500, 6)
    r = {
        "binary": np.array([0, 1, 1, 0, 1, 0.0]),
        "fractional": np.array([0.1, 0.9, 0.5, 0.5, 0.3, 0.7]),
        "mixed": np.array([0, 1, 0.5, 0, 0.2, 1]),
        "nearly binary": np.array([1e-6, 1 - 1e-6, 1, 0, 1, 1e-6]),
    }[kind]
    size = np.abs(y).max(axis=1) + 0.1
    mu = size * rng.choice([1e-9, 0.01, 0.2, 0.45, 0.5, 0.9, 3.0], size=len(y))
    got = np.array([EYE(m, expert=r).prox(row, 1.0) for row, m in zip(y, mu, strict=True)])
    np.testing.assert_allclose(got, eye_prox(y, r, mu[:, None]), rtol=1e-12, atol=EXACT)


@pytest.mark.parametrize("r", [[0, 1, 1, 0], [0.5, 1, 0.2, 0]])
def test_eye_near_the_border_of_zero(r: list[float]) -> None:
    rng = np.random.default_rng(9)
    expert = np.array(r)
    for _ in range(100):
        y = rng.normal(size=4)
        border = EYE(1.0, expert=expert).dual_norm(y)
        assert not EYE(border * (1 + 1e-12), expert=expert).prox(y, 1.0).any()
        for closeness in (1e-3, 1e-6, 1e-9):
            penalty = EYE(border * (1 - closeness), expert=expert)
            x = penalty.prox(y, 1.0)
            assert x.any() or closeness < 1e-8
            if not x.any():
                continue
            # directions of tiny vectors are differences of numbers of the size of y
            assert penalty.subdiff_distance(x, x - y) <= 1e-14 + 1e-14 / np.abs(x).max()


def test_eye_of_the_print() -> None:
    """Sec. 7.4 claims Z != 0; here the prox is 0."""
    assert not EYE(1.0, expert=[0, 1]).prox(np.array([0.3, 0.4]), 1.0).any()


@pytest.mark.parametrize("k", [0, 1, 3, 7, 20])
def test_sparse_hull(k: int) -> None:
    y = awkward(np.random.default_rng(8), 300, 7)
    got = np.array([SparseHull(k).prox(row, 1.0) for row in y])
    np.testing.assert_allclose(got, hull_prox(y, k), atol=1e-12)
    binary = np.array([SparseHull(k, weights="binary").prox(row, 1.0) for row in y])
    np.testing.assert_allclose(binary, hull_prox(np.maximum(y, 0), k), atol=1e-12)


def test_box() -> None:
    y = np.array([-3.0, -0.5, 0.2, 9.0])
    np.testing.assert_array_equal(Box(-1, 1).prox(y, 5.0), [-1, -0.5, 0.2, 1])
    sides = Box([-np.inf, 0, 0.5, 2], [0, 0, np.inf, 3])
    np.testing.assert_array_equal(sides.prox(y, 5.0), [-3, 0, 0.5, 3])
    np.testing.assert_array_equal(Box(0, np.inf).prox(np.array([1.0, -1.0]), 1.0), [1, 0])


@pytest.mark.parametrize(("name", "form"), every_form())
def test_conic_solver_agrees(name: str, form: int) -> None:
    rng = np.random.default_rng(10)
    for _ in range(2):
        penalty, y = make(name, form, rng), rng.normal(size=FEATURES) * 2
        w = cp.Variable(FEATURES)
        omega, limits = stated(cp, name, penalty, w)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(w - y) / 2 + 0.8 * omega), limits)
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        np.testing.assert_allclose(penalty.prox(y, 0.8), w.value, atol=1e-5)


def stated(  # noqa: PLR0911, PLR0912 a table of formulas
    cp: Any, name: str, penalty: Any, w: Any
) -> tuple[Any, list[Any]]:
    """lam * Omega(w) and constraints in CVXPY, from the formula in the source."""
    lam, size = penalty.lam, cp.abs(w)
    if name in ("facets", "scf", "alpha_facets"):
        alpha = getattr(penalty, "alpha", (1.0,))
        kinks = range(60)
        total = sum(alpha[min(i, len(alpha) - 1)] * cp.sum(cp.pos(size / penalty.gamma - i))
                    for i in kinks)  # fmt: skip
        if name == "scf":
            smooth = cp.sum(size) / penalty.gamma + cp.sum_squares(w / penalty.gamma) / 2
            total = (1 - penalty.eps) * total + penalty.eps * smooth
        return lam * total, []
    if name == "eye":
        t, r = cp.Variable(), penalty.expert
        return lam * (t + cp.norm2(cp.hstack([t, cp.multiply(r, w)]))), [
            t >= cp.norm1(cp.multiply(1 - r, w))
        ]
    if name == "owl":
        steps = -np.diff(np.r_[penalty.weights, 0.0])
        return lam * sum(s * cp.sum_largest(size, k + 1) for k, s in enumerate(steps)), []
    if name == "weighted_tv":
        weights = np.ones(FEATURES - 1) if penalty.weights is None else penalty.weights
        return lam * (weights @ cp.abs(cp.diff(w))), []
    if name == "binarsity":
        weights = np.ones(FEATURES) if penalty.weights is None else penalty.weights
        jumps = [weights[b] * cp.abs(w[b] - w[a]) for block in penalty.blocks
                 for a, b in pairwise(block)]  # fmt: skip
        return lam * sum(jumps), [cp.sum(w[list(block)]) == 0 for block in penalty.blocks]
    if name == "group_l1":
        sizes = [len(block) for block in penalty.blocks]
        weights = np.sqrt(sizes) if penalty.weights is None else penalty.weights
        return lam * sum(
            weight * cp.norm2(w[list(block)])
            for weight, block in zip(weights, penalty.blocks, strict=True)
        ), []
    if name == "box":
        sides = [(w >= penalty.lower, penalty.lower), (w <= penalty.upper, penalty.upper)]
        held = [row if np.all(np.isfinite(side)) else None for row, side in sides]
        upper = np.minimum(penalty.upper, 1e3)
        return 0, [row for row in held if row is not None] + [w <= upper]
    if name == "sparse_hull":
        low = 0 if penalty.weights == "binary" else -1
        return 0, [cp.norm1(w) <= penalty.max_terms, w >= low, w <= 1]
    if name == "elastic_net":
        ratio = penalty.l1_ratio
        return lam * (ratio * cp.norm1(w) + (1 - ratio) / 2 * cp.sum_squares(w)), []
    if name == "naive_credibility":
        r, beta = penalty.expert, penalty.beta
        return lam * ((1 - beta) * cp.sum_squares(cp.multiply(r, w))
                      + 2 * beta * cp.norm1(cp.multiply(1 - r, w))), []  # fmt: skip
    if name == "adaptive_l1":
        alive = penalty.initial != 0
        factor = 1 / np.where(alive, np.abs(penalty.initial), 1.0)
        return lam * (factor @ size), [w[int(j)] == 0 for j in np.flatnonzero(~alive)]
    if name == "l2":
        return lam * cp.sum_squares(w) / 2, []
    if name == "weighted_l2":
        return lam * cp.sum_squares(cp.multiply(penalty.weights, w)) / 2, []
    factor = penalty.weights if name == "weighted_l1" else np.ones(FEATURES)
    return lam * (factor @ size), []
