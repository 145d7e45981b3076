"""The fused-lasso program with a weight for each jump, and its relaxation: binarsity's LP."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import brute
import numpy as np
import pandas as pd
import pytest
from designs import binned
from formulation_cases import binned_design
from scipy.optimize import linprog

from milpscore.core.design import Design
from milpscore.core.errors import FormulationError
from milpscore.core.result import Claim
from milpscore.data import Binner
from milpscore.estimators import FusedLassoClassifier
from milpscore.formulations import fused_lasso, fused_lasso_by_feature
from milpscore.penalties import Binarsity
from milpscore.penalties.points import BlockTV
from milpscore.search import start_card
from milpscore.solvers import load, solve
from milpscore.verify import check, evaluate


def weighted(seed: int, bins: tuple[int, ...] = (3, 3), n: int = 12) -> tuple[Design, Any]:
    """Random bins with row weights, and one weight a column, some of them 0."""
    rng = np.random.default_rng(seed)
    d = binned_design(rng, n, bins)
    rows = rng.uniform(0.2, 3, size=n)
    v = rng.choice([0.0, 0.3, 1.0, 2.5], size=d.shape[1])
    return Design(d.X, d.y, rows, d.columns, d.blocks), v


def variation(d: Design, v: Any, w: Any) -> float:
    """The weighted jumps by their definition."""
    return float(sum(v[k] * abs(w[k] - w[i]) for block in d.blocks for i, k in pairwise(block)))


def data_weights(d: Design) -> Any:
    """sqrt(log p / n * share of the rows in this bin and all later ones), by weight."""
    v = np.zeros(d.shape[1])
    for block in d.blocks:
        for k in block:
            later = d.X[:, [j for j in block if j >= k]].any(axis=1)
            n = d.weight.sum()
            v[k] = np.sqrt(np.log(d.shape[1]) / n * (d.weight[later].sum() / n))
    return v


# ------------------------------------------------------------------ the penalty


@pytest.mark.parametrize("seed", range(10))
def test_the_penalty_is_binarsitys_without_its_sums(seed: int) -> None:
    d, v = weighted(seed)
    rng = np.random.default_rng(seed)
    penalty = BlockTV(0.3, d.blocks, v)
    for w in (rng.integers(-5, 6, size=6), rng.normal(size=6)):
        assert penalty.value(w) == pytest.approx(0.3 * variation(d, v, w), abs=1e-12)
        centred = w - np.repeat(w.reshape(2, 3).mean(axis=1), 3)
        twin = Binarsity(0.3, blocks=d.blocks, weights=v).value(centred)
        assert penalty.value(w) == pytest.approx(twin, abs=1e-12)
    ones = BlockTV(0.3, d.blocks, np.ones(6))
    assert ones.value(w) == pytest.approx(BlockTV(0.3, d.blocks).value(w), abs=1e-12)


# ------------------------------------------------------------------ the optimum


@pytest.mark.parametrize("how", ["array", "data"])
@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 8))]
)
def test_optimum_equals_enumeration(seed: int, how: str) -> None:
    d, v = weighted(seed)
    lam, given = (0.05, v.tolist()) if how == "array" else (0.3, "data")
    v = v if how == "array" else data_weights(d)
    program = fused_lasso(d, lam=lam, weights=given, coef_min=-2, coef_max=2)
    result = solve(program, time_limit=60)
    truth = brute.best_card(
        brute.decimals(d.X),
        d.y,
        d.weight,
        loss=brute.hinge(1.0),
        values=[range(1) if j in (0, 3) else range(-2, 3) for j in range(6)],
        intercepts=brute.whole_numbers(-6, 6),
        penalty=lambda w: lam * variation(d, v, w),
    )
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(truth.objective, abs=1e-9)
    assert solve(program.relaxed()).objective <= result.objective + 1e-8


@pytest.mark.parametrize("reference", ["first", "lowest"])
def test_weights_of_1_change_nothing(reference: Any) -> None:
    d = binned(20, 3)
    plain = fused_lasso(d, lam=0.03, reference=reference)
    ones = fused_lasso(d, lam=0.03, reference=reference, weights=np.ones(6))
    for first, second in ((plain, ones), (plain.relaxed(), ones.relaxed())):
        assert solve(first).objective == pytest.approx(solve(second).objective, abs=1e-9)
    assert plain.size == ones.size


@pytest.mark.parametrize("seed", range(12))
def test_the_relaxation_is_binarsity_s_lp(seed: int) -> None:
    """Every block sums to 0 there, and no range binds: w, b and jumps as they stand in the text."""
    d, v = weighted(seed, (4, 2, 3), 25)
    v = data_weights(d) if seed % 2 else v
    lam, margin, (n, p) = 0.2, 1.5, d.shape
    pairs = [pair for block in d.blocks for pair in pairwise(block)]
    q = len(pairs)
    jump = np.zeros((q, p))
    for row, (i, k) in enumerate(pairs):
        jump[row, [i, k]] = -1, 1
    sums = np.array([[float(j in block) for j in range(p)] for block in d.blocks])
    cost = np.r_[
        np.zeros(p + 1), [lam * v[k] for _, k in pairs], d.weight / d.weight.sum() / margin
    ]
    rows = np.vstack([
        np.hstack([-d.y[:, None] * np.c_[d.X, np.ones(n)], np.zeros((n, q)), -np.eye(n)]),
        np.hstack([jump, np.zeros((q, 1)), -np.eye(q), np.zeros((q, n))]),
        np.hstack([-jump, np.zeros((q, 1)), -np.eye(q), np.zeros((q, n))]),
    ])  # fmt: skip
    found = linprog(
        cost, rows, np.r_[np.full(n, -margin), np.zeros(2 * q)],
        np.hstack([sums, np.zeros((len(sums), 1 + q + n))]), np.zeros(len(sums)),
        bounds=[*[(None, None)] * (p + 1), *[(0, None)] * (q + n)],
    )  # fmt: skip
    given = "data" if seed % 2 else v
    program = fused_lasso(
        d, lam=lam, margin=margin, weights=given, coef_min=-50, coef_max=50, intercept="real"
    )
    assert solve(program.relaxed()).objective == pytest.approx(found.fun, abs=1e-7)


# ------------------------------------------------------------------ editing, starts, cards


def test_lam_in_place_equals_a_new_program() -> None:
    d, v = weighted(3, n=20)
    session = load(fused_lasso(d, lam=0.01, weights=v))
    for lam in (0.2, 0.003, 0.05):
        session.set(lam=lam)
        fresh = solve(fused_lasso(d, lam=lam, weights=v))
        assert solve(session).objective == pytest.approx(fresh.objective, abs=1e-9)
    penalty = session.program.statement.penalties[0]
    assert isinstance(penalty, BlockTV)
    np.testing.assert_array_equal(penalty.weights, v)


@pytest.mark.parametrize("seed", range(5))
def test_a_start_is_judged_by_the_weights(seed: int) -> None:
    d, v = weighted(seed, n=30)
    program = fused_lasso(d, lam=0.02, weights=v)
    card = start_card(program)
    assert card is not None
    assert check(program, card).feasible
    figures = evaluate(program.statement, card)
    assert figures.penalty == pytest.approx(0.02 * variation(d, v, card.coefficients), abs=1e-12)


def test_one_feature_at_a_time() -> None:
    d, v = weighted(1)
    for feature, program in fused_lasso_by_feature(d, lam=0.05, weights=v).items():
        assert solve(program).claim is Claim.OPTIMAL, feature
        np.testing.assert_array_equal(program.statement.penalties[0].weights, v)  # type: ignore[attr-defined]


def test_the_estimator_takes_the_data_s_weights() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, size=(60, 2)), columns=["a", "b"])
    y = (X["a"] + rng.normal(size=60) > 1.5).astype(int)
    model = FusedLassoClassifier(lam=0.1, weights="data").fit(X, y)
    program = fused_lasso(Binner(encoding="onehot").fit_design(X, y), lam=0.1, weights="data")
    assert model.result_.objective == pytest.approx(solve(program).objective, abs=1e-9)
    plain = FusedLassoClassifier(lam=0.1).fit(X, y)
    assert model.result_.objective < plain.result_.objective  # the data's weights are below 1


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("even", "weights must be numbers or 'data', got 'even'"),
        ("ternary", "weights must be numbers or 'data'"),
        ([1, 2], r"one number per column \(6\) or 'data', got shape \(2,\)"),
        (1.0, r"got shape \(\)"),
        ([[1] * 6], r"got shape \(1, 6\)"),
        ([1, -1, 1, 1, 1, 1], r"f0b1: the weight -1\.0 must be a finite number >= 0"),
        ([1, 1, np.nan, 1, 1, 1], "f0b2: the weight nan"),
        ([1, 1, 1, 1, 1, np.inf], "f1b2: the weight inf"),
        ({"f0b1": 2}, "weights must be numbers or 'data'"),
        (["a"] * 6, "weights must be numbers or 'data'"),
    ],
)
def test_bad_weights(weights: Any, message: str) -> None:
    with pytest.raises(FormulationError, match=message):
        fused_lasso(binned(), weights=weights)
