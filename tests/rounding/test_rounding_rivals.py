"""Weights that are scaled and rounded, and online learning on a coarse grid."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from milpscore.constraints import Sign
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError
from milpscore.core.result import Claim
from milpscore.formulations import hinge, slim
from milpscore.rounding import (
    golovin,
    nearest,
    scaled_rounding,
)
from milpscore.rounding.scaled import random_round
from milpscore.solvers import solve
from milpscore.verify import evaluate


def data(seed: int, n: int = 120, p: int = 5) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, p)).astype(float)
    y = (2 * X[:, 0] - X[:, 1] + rng.normal(size=n) > 1.5).astype(int)
    return X, y, rng.integers(1, 4, n)


@pytest.mark.parametrize("build", [hinge, slim])
def test_the_best_scale_is_the_best_of_all_tried(build: Any) -> None:
    X, y, s = data(0)
    statement = build(X, y, sample_weight=s, max_terms=3).statement
    w = np.array([0.31, -0.17, 0.02, 0.0, 0.001])
    found = scaled_rounding(statement, w, n_scales=50)
    assert found.scales[0] == pytest.approx(0.5 / 0.31)
    assert found.scales[-1] == pytest.approx(statement.coef_max[0] / 0.31)
    assert np.all(np.diff(found.scales) > 0)
    objectives = []
    for scale in found.scales:
        card = nearest(statement, scale * w)
        objectives.append(evaluate(statement, card).objective)
    assert found.trace == pytest.approx(objectives)
    assert found.objective == pytest.approx(min(objectives))
    assert found.scale == found.scales[int(np.argmin(objectives))]
    assert found.card is not None
    assert not statement.violations(found.card)


def test_only_the_direction_of_the_weights_matters() -> None:
    X, y, _ = data(1)
    statement = hinge(X, y).statement
    w = np.array([0.3, -0.2, 0.1, 0.0, 0.05])
    assert scaled_rounding(statement, w).card == scaled_rounding(statement, 1024 * w).card


def test_weights_of_nothing_give_the_card_without_points() -> None:
    X, y, _ = data(2)
    statement = hinge(X, y).statement
    found = scaled_rounding(statement, np.zeros(5))
    assert found.card == statement.empty_card()
    assert math.isnan(found.scale)
    assert len(found.scales) == 0


def test_scales_that_break_a_constraint_are_passed_over() -> None:
    X, y, _ = data(3)
    statement = hinge(X, y, constraints=[Sign("x0", "-")]).statement
    found = scaled_rounding(statement, [0.4, -0.2, 0.0, 0.1, 0.0])
    assert found.card is not None
    assert found.card.coefficients[0] <= 0
    assert not statement.violations(found.card)


def test_a_scaled_regression_is_far_better_than_no_card_and_starts_a_solve() -> None:
    X, y, s = data(5)
    program = hinge(X, y, sample_weight=s, max_terms=3)
    statement = program.statement
    model = LogisticRegression(max_iter=1000).fit(X, y, sample_weight=s)
    found = scaled_rounding(statement, model.coef_[0])
    assert found.card is not None
    assert found.objective == evaluate(statement, found.card).objective
    assert found.objective < 0.8 * evaluate(statement, statement.empty_card()).objective
    result = solve(program, warm_start=found.card)
    assert result.claim is Claim.OPTIMAL
    assert result.objective <= found.objective + 1e-9


def test_random_rounding_is_unbiased_and_never_leaves_the_neighbours() -> None:
    """Means of N draws lie 5 deviations off with a chance below 6e-7 each (normal limit)."""
    rng = np.random.default_rng(6)
    values, grid = rng.normal(size=50), np.exp2(-rng.integers(0, 6, 50))
    draws = 20_000
    rounded = np.stack([random_round(values, grid, rng.random(50)) for _ in range(draws)])
    assert np.all(np.abs(rounded - values) < grid)
    assert np.array_equal(np.rint(rounded / grid), rounded / grid)
    f = values / grid - np.floor(values / grid)
    deviation = grid * np.sqrt(f * (1 - f) / draws)
    assert np.all(np.abs(rounded.mean(axis=0) - values) <= 5 * deviation)
    assert random_round(np.array([0.75]), np.array([0.25]), np.zeros(1)).tolist() == [0.75]


def test_golovin_keeps_its_weights_on_their_grids() -> None:
    X, y, s = data(7)
    statement = hinge(X, y, sample_weight=s).statement
    found = golovin(statement, radius=4.0)
    largest = np.r_[np.abs(X).max(axis=0), 1.0]
    weights = np.r_[found.weights, found.intercept]
    assert np.allclose(weights, found.multiples * found.grid, rtol=1e-15)
    assert np.all(np.abs(weights * largest) <= 4.0)
    powers = np.log2(4.0 / (found.grid * largest))
    assert np.array_equal(np.rint(powers), powers)
    rates = 1.0 / np.sqrt(found.counts + 1)
    assert np.all(found.grid * largest <= 0.5 * rates + 1e-12)
    assert np.all(found.grid * largest > 0.25 * rates)


def test_golovin_learns() -> None:
    X, y, s = data(8, n=400)
    statement = hinge(X, y, sample_weight=s).statement
    found = golovin(statement)
    assert len(found.losses) == 6
    assert found.losses[0] == pytest.approx(math.log(2))
    assert found.losses[-1] < 0.6 * math.log(2)
    sign = np.where(y > 0, 1, -1)
    loss = np.average(np.logaddexp(0, -sign * (X @ found.weights + found.intercept)), weights=s)
    assert found.losses[-1] == pytest.approx(loss)
    assert found.card is not None
    assert found.objective < 0.8 * evaluate(statement, statement.empty_card()).objective


def test_counters_count_without_bias() -> None:
    """5 deviations: a Morris counter's variance after n events is (base - 1) n (n - 1) / 2."""
    n, p, base = 60, 400, 1.3
    y = np.arange(n) % 2
    statement = hinge(np.ones((n, p)), y).statement
    found = golovin(statement, n_passes=1, base=base, n_scales=1)
    deviation = math.sqrt((base - 1) * n * (n - 1) / 2 / (p + 1))
    assert abs(found.counts.mean() - n) < 5 * deviation
    assert np.allclose(found.counts, (base**found.counters - base) / (base - 1))


def test_a_column_of_zeros_is_never_touched() -> None:
    X, y, _ = data(9)
    X[:, 2] = 0.0
    found = golovin(hinge(X, y).statement)
    assert (found.counters[2], found.multiples[2], found.counts[2]) == (1, 0, 0.0)


def test_the_seed_decides_golovin() -> None:
    X, y, _ = data(10)
    statement = hinge(X, y).statement
    one, two, other = (golovin(statement, random_state=k) for k in (1, 1, 2))
    assert np.array_equal(one.multiples, two.multiples)
    assert one.card == two.card
    assert not np.array_equal(one.multiples, other.multiples)
    assert (one.random_state, other.random_state) == (1, 2)
    assert golovin(statement, random_state=np.random.default_rng(1)).random_state is None


def test_bad_input_is_refused() -> None:
    X, y, s = data(11)
    statement = hinge(X, y).statement
    for wrong in (
        {"n_passes": 0}, {"learning_rate": 0.0}, {"resolution": -1.0},
        {"base": 1.0}, {"radius": math.inf}, {"n_scales": 0},
    ):  # fmt: skip
        with pytest.raises(OptionError, match=next(iter(wrong))):
            golovin(statement, **wrong)
    with pytest.raises(FormulationError, match="one weight per design column"):
        scaled_rounding(statement, [1.0])
    design = replace(statement.design, weight=np.where(y > 0, s, 0.0))
    one_class = replace(statement, design=design)
    with pytest.raises(NotApplicableError, match="both classes"):
        golovin(one_class)
