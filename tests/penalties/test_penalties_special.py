"""Special cases, the propositions of the sources, and wrong arguments."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from penalty_cases import awkward

from milpscore.core.errors import OptionError
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
    data_driven_weights,
)
from milpscore.penalties.points import BlockTV

POINTS = awkward(np.random.default_rng(11), 120, 6)


def same(one: Any, other: Any, points: np.ndarray = POINTS) -> None:
    """Two penalties agree in everything they answer, away from the borders of their domains."""
    for y, g in zip(points, np.roll(points, 1, axis=0), strict=True):
        assert one.value(y) == pytest.approx(other.value(y), rel=1e-12, abs=1e-12)
        for step in (0.1, 1.7):
            np.testing.assert_allclose(one.prox(y, step), other.prox(y, step), atol=1e-11)
        ratio = one.lam / other.lam
        assert one.lambda_max(y) == pytest.approx(ratio * other.lambda_max(y), rel=1e-12)
        t = 0.999 * min(one.dual_scale(g), other.dual_scale(g))
        assert one.dual_scale(g) == pytest.approx(other.dual_scale(g), rel=1e-12)
        assert one.conjugate(t * g) == pytest.approx(other.conjugate(t * g), rel=1e-9, abs=1e-12)
        x = one.prox(y, 1.0)
        distances = (p.subdiff_distance(x, g) for p in (one, other))
        first, second = (float(np.linalg.norm(d)) for d in distances)
        assert first == pytest.approx(second, rel=1e-9, abs=1e-9)


PAIRS = {
    "EYE, r = 0, is 2 L1": (EYE(0.6, expert=np.zeros(6)), L1(1.2)),
    "OWL, equal weights, is L1": (OWL(0.6, weights=np.full(6, 2.0)), L1(1.2)),
    "elastic net, ratio 1": (ElasticNet(0.6, l1_ratio=1), L1(0.6)),
    "elastic net, ratio 0": (ElasticNet(0.6, l1_ratio=0), L2(0.6)),
    "equal weights are L1": (WeightedL1(0.6, weights=np.full(6, 2.0)), L1(1.2)),
    "equal weights are L2": (WeightedL2(0.6, weights=np.full(6, 2.0)), L2(2.4)),
    "adaptive from ones": (AdaptiveL1(0.6, initial=[1, -1, 1, 1, -1, 1]), L1(0.6)),
    "naive, nothing known": (NaiveCredibility(0.6, expert=np.zeros(6), beta=0.5), L1(0.6)),
    "naive, all known": (NaiveCredibility(0.6, expert=np.ones(6), beta=0.5), L2(0.6)),
    "alpha = 1 is Facets": (AlphaFacets(0.6, alpha=(1, 1, 1), gamma=0.5), Facets(0.6, 0.5)),
    "SCF of eps 1": (StronglyConvexFacets(0.6, eps=1, gamma=2), ElasticNet(0.45, l1_ratio=2 / 3)),
    "unit weights": (WeightedTV(0.6, np.ones(5)), WeightedTV(0.6)),
}


@pytest.mark.parametrize("name", [n for n in PAIRS if n != "SCF of eps 1"])
def test_special_cases(name: str) -> None:
    same(*PAIRS[name])


def test_strongly_convex_facets_of_eps_one_is_an_elastic_net() -> None:
    """lam (|w| / gamma + w^2 / (2 gamma^2)): .6/2 = .45 * 2/3 and .6/4 = .45 * 1/3."""
    one, other = PAIRS["SCF of eps 1"]
    for y in POINTS:
        assert one.value(y) == pytest.approx(other.value(y))
        np.testing.assert_allclose(one.prox(y, 0.7), other.prox(y, 0.7), atol=1e-12)
        assert one.conjugate(y) == pytest.approx(other.conjugate(y), rel=1e-12, abs=1e-12)


def test_eye_is_continuous_in_what_the_expert_says() -> None:
    for r in (np.zeros(6), np.array([0, 1, 0, 1, 1, 0.0])):
        exact, nearly = EYE(0.6, expert=r), EYE(0.6, expert=np.clip(r, 1e-9, 1 - 1e-9))
        for y in POINTS:
            assert nearly.value(y) == pytest.approx(exact.value(y), rel=1e-6)
            assert nearly.dual_norm(y) == pytest.approx(exact.dual_norm(y), rel=1e-6)
            np.testing.assert_allclose(nearly.prox(y, 1.0), exact.prox(y, 1.0), atol=1e-6)


def test_eye_that_knows_all_is_the_euclidean_norm() -> None:
    penalty = EYE(0.6, expert=np.ones(6))
    for y in POINTS:
        size = np.linalg.norm(y)
        assert penalty.value(y) == pytest.approx(0.6 * size)
        assert penalty.dual_norm(y) == pytest.approx(size)
        shrunk = max(0.0, 1 - 0.6 * 1.5 / size) * y if size else y
        np.testing.assert_allclose(penalty.prox(y, 1.5), shrunk, atol=1e-13)


def test_eye_dual_norm_of_known_and_unknown() -> None:
    """B if A <= B, else (A^2 + B^2) / (2 A)."""
    r = np.array([0, 1, 0, 1, 1, 0])
    for z in POINTS:
        a, b = np.abs(z[r == 0]).max(), np.linalg.norm(z[r == 1])
        wanted = b if a <= b else (a * a + b * b) / (2 * a)
        assert EYE(1.0, expert=r).dual_norm(z) == pytest.approx(wanted, rel=1e-13)


def test_owl_has_the_sup_norm() -> None:
    penalty = OWL.sup_norm(0.6, 6)
    for y in POINTS:
        assert penalty.value(y) == pytest.approx(0.6 * np.abs(y).max())
        assert penalty.dual_norm(y) == pytest.approx(np.abs(y).sum())
        x = penalty.prox(y, 1.0)
        if np.abs(y).sum() > 0.6:  # the top is levelled, by 0.6 in all
            assert np.abs(y - x).sum() == pytest.approx(0.6)
            np.testing.assert_allclose(
                np.abs(x), np.minimum(np.abs(y), np.abs(x).max()), atol=1e-12
            )


def test_facets_is_l1_inside_the_unit_cube() -> None:
    rng = np.random.default_rng(1)
    for w in rng.uniform(-1, 1, size=(50, 6)):
        assert Facets(0.7).value(w) == pytest.approx(L1(0.7).value(w))
        assert Facets(0.7, 2.0).value(2 * w) == pytest.approx(L1(0.7).value(w))
        y = w * 1.7
        np.testing.assert_allclose(Facets(0.7).prox(y, 1.0), L1(0.7).prox(y, 1.0), atol=1e-15)


@pytest.mark.parametrize("gamma", [1.0, 0.25])
def test_facets_is_the_envelope_on_the_grid(gamma: float) -> None:
    """The largest convex function below (w^2 + |w|) / 2 on the grid: equal there, linear between.

    Erratum: the envelope of w^2, which Proposition 2 names, has alpha = (1, 2, 2, ...).
    """
    k = np.arange(-9.0, 10)
    between = np.linspace(-9, 9, 361)
    for penalty, target in (
        (Facets(1.0, gamma), (k * k + np.abs(k)) / 2),
        (AlphaFacets(1.0, gamma=gamma), k * k),
    ):
        got = [penalty.value(np.array([w * gamma])) for w in between]
        np.testing.assert_allclose(got, np.interp(between, k, target), atol=1e-12)
        assert np.all(np.diff(got, 2) >= -1e-12)


def test_bound_4_of_the_facets_paper() -> None:
    for w in awkward(np.random.default_rng(2), 500, 7):
        middle = 2 * Facets(1.0).value(w)
        low = np.abs(w).sum() + w @ w
        assert low * (1 - 1e-12) <= middle <= (low + 7 / 4) * (1 + 1e-12)
        assert Facets(1.0).value(w) >= max(L1(1.0).value(w), L2(1.0).value(w)) * (1 - 1e-12)
    # both ends are reached: on the grid, and half-way between
    assert 2 * Facets(1.0).value(np.array([3.0, -2.0])) == 18
    assert 2 * Facets(1.0).value(np.array([2.5])) == 2.5 + 2.5**2 + 0.25


def test_proposition_5_of_the_facets_paper() -> None:
    """The minimiser of loss + lam * Facets goes to 0 with lam, and is 0 from lambda_max on."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)

    def minimiser(lam: float) -> np.ndarray:
        w, step = np.zeros(5), 40 / np.linalg.norm(X, 2) ** 2
        for _ in range(400):
            w = Facets(lam, 0.05).prox(w - step * X.T @ (X @ w - y) / 40, step)
        return w

    limit = Facets(1.0, 0.05).lambda_max(X.T @ y / 40)
    sizes = [np.linalg.norm(minimiser(f * limit)) for f in (0.0, 0.1, 0.5, 0.9, 0.999, 1.001, 5.0)]
    assert all(a >= b - 1e-9 for a, b in pairwise(sizes))
    assert sizes[4] > 0
    assert sizes[5] == sizes[6] == 0


def test_facets_scaling_is_equation_16() -> None:
    y = POINTS.ravel()
    for gamma in (0.02, 0.7, 3.0):
        for build in (Facets,
                      lambda lam, g: StronglyConvexFacets(lam, eps=0.1, gamma=g)):  # fmt: skip
            plain = gamma * build(0.9 / gamma**2, 1.0).prox(y / gamma, 1.0)
            np.testing.assert_allclose(build(0.9, gamma).prox(y, 1.0), plain, atol=1e-13)


def test_strongly_convex_facets_contracts() -> None:
    """The prox is (1 + mu eps)^-1 Lipschitz (sec. 5.3)."""
    penalty = StronglyConvexFacets(0.8, eps=0.3)
    x = penalty.prox(POINTS, 1.5)
    moved, before = np.abs(np.diff(x, axis=0)), np.abs(np.diff(POINTS, axis=0))
    assert np.all(moved <= before / (1 + 1.2 * 0.3) + 1e-12)


def test_weighted_tv_is_the_fused_lassos_penalty() -> None:
    blocks = ((0, 1, 2), (3, 4, 5))
    parted = WeightedTV(0.6, [1, 1, 0, 1, 1])
    for w in POINTS:
        assert parted.value(w) == pytest.approx(BlockTV(0.6, blocks).value(w))


def test_binarsity_centres_what_total_variation_gives() -> None:
    penalty = Binarsity(0.6, blocks=((0, 1, 2), (3, 4, 5)))
    smooth = WeightedTV(0.6, [1, 1, 0, 1, 1])
    for y in POINTS:
        x = smooth.prox(y, 1.0)
        x = (x.reshape(2, 3) - x.reshape(2, 3).mean(axis=1, keepdims=True)).ravel()
        np.testing.assert_allclose(penalty.prox(y, 1.0), x, atol=1e-12)
    assert penalty.value(np.arange(6.0)) == np.inf
    assert penalty.value(np.array([-1.0, 0, 1, 2, 2, -4])) == pytest.approx(0.6 * 8)


def test_data_driven_weights_share_the_rows_from_each_bin_on() -> None:
    """Erratum: share of bins k..d, so that the last jump has a weight too."""
    weights = data_driven_weights([[10, 30, 60], [50, 50]], ((0, 1, 2), (4, 3)))
    share = np.array([1.0, 0.9, 0.6, 0.5, 1.0])
    np.testing.assert_allclose(weights, np.sqrt(np.log(5) / 100 * share))
    assert Binarsity(1.0, blocks=((0, 1, 2), (4, 3)), weights=weights).lambda_max(np.ones(5)) == 0


def test_adaptive_zeros_stay() -> None:
    for lam in (0.0, 0.5):
        penalty = AdaptiveL1(lam, initial=[0.0, 2.0])
        np.testing.assert_allclose(penalty.prox(np.array([5.0, 5.0]), 1.0), [0, 5 - lam / 2])
        assert penalty.value(np.array([1.0, 0.0])) == np.inf
        assert penalty.value(np.array([0.0, 2.0])) == pytest.approx(lam)
        assert penalty.conjugate(np.array([1e9, 0.0])) == 0


def test_sparse_hull_is_the_hull() -> None:
    """Support functions of a hull and of its vertices agree."""
    for weights, values in (("ternary", (-1, 0, 1)), ("binary", (0, 1))):
        vertices = np.array([v for v in product(values, repeat=6) if np.count_nonzero(v) <= 2])
        penalty = SparseHull(2, weights=weights)  # type: ignore[arg-type]
        for z in POINTS:
            assert penalty.conjugate(z) == pytest.approx((vertices @ z).max())
        assert all(penalty.value(v) == 0 for v in vertices)
        assert penalty.value(np.array([1, 1, 0.1, 0, 0, 0])) == np.inf
        assert penalty.value(np.array([1.1, 0, 0, 0, 0, 0])) == np.inf
    assert SparseHull(2, weights="binary").value(np.array([-0.1, 0, 0])) == np.inf
    assert SparseHull(3).subdiff_distance(np.full(4, 1.0), np.zeros(4)) == np.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Facets(1, 0), "gamma must be a finite number > 0"),
        (lambda: Facets(1, -1), "gamma"),
        (lambda: AlphaFacets(1, alpha=(1, 0)), "alpha"),
        (lambda: AlphaFacets(1, alpha=()), "non-empty vector"),
        (lambda: StronglyConvexFacets(1, eps=0), "eps"),
        (lambda: StronglyConvexFacets(1, eps=1.5), "<= 1"),
        (lambda: EYE(1, expert=[0, 1.2]), r"expert\[1\] is 1.2"),
        (lambda: EYE(1, expert=[-0.1]), r"in \[0, 1\]"),
        (lambda: EYE(1, expert=[[0, 1]]), "shape"),
        (lambda: EYE(1, expert=["a"]), "sequence of numbers"),
        (lambda: NaiveCredibility(1, expert=[0, 1], beta=2), "beta"),
        (lambda: NaiveCredibility(1, expert=[0, np.nan], beta=0.5), "expert"),
        (lambda: ElasticNet(1, l1_ratio=-0.1), "l1_ratio"),
        (lambda: WeightedL1(1, weights=[1, -1]), r"weights\[1\] is -1"),
        (lambda: WeightedL2(1, weights=[1, np.inf]), "weights"),
        (lambda: WeightedTV(1, [-1.0]), "weights"),
        (lambda: AdaptiveL1(1, initial=[np.nan]), "initial"),
        (lambda: OWL(1, weights=[1, 2]), "must not increase"),
        (lambda: OWL(1, weights=[0, 0]), "must not increase and must begin above 0"),
        (lambda: Binarsity(1, blocks=((0, 1), (1, 2))), "exactly once"),
        (lambda: Binarsity(1, blocks=((0, 2),)), "exactly once"),
        (lambda: Binarsity(1, blocks=((0,), ())), "empty"),
        (lambda: Binarsity(1, blocks=((0, 1),), weights=[1.0]), "1 entries for 2 columns"),
        (lambda: Box(1, 0), "lower <= upper"),
        (lambda: Box([0, 0], [1, 1, 1]), "differ in length"),
        (lambda: Box(np.nan, 0), "number"),
        (lambda: Box([0, 0], 1).value(np.ones(3)), "2 ends"),
        (lambda: SparseHull(-1), "max_terms"),
        (lambda: SparseHull(2.5), "max_terms"),  # type: ignore[arg-type]
        (lambda: SparseHull(2, weights="unary"), "ternary"),  # type: ignore[arg-type]
        (lambda: data_driven_weights([[1, 1]], ((0,), (1,))), "give one each"),
        (lambda: data_driven_weights([[1, 1, 1]], ((0, 1),)), "do not fit"),
        (lambda: data_driven_weights([[0, 0]], ((0, 1),)), "at least one row"),
    ],
)
def test_wrong_arguments_are_refused(make: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()


def test_parameters_are_copies() -> None:
    weights = np.ones(3)
    penalty = WeightedL1(1.0, weights=weights)
    weights[0] = 7
    assert penalty.weights[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        penalty.weights[0] = 2
