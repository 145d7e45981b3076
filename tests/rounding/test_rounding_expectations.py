"""What is expected of random rounding: exact expectations, bounds, and draws beside them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from milpscore.constraints import EitherOr
from milpscore.core.errors import FormulationError, NotApplicableError, SizeError
from milpscore.formulations import hinge, risk_score, slim
from milpscore.rounding import (
    draws as draws_module,
    expected_loss,
    randomised,
    rounding_bounds,
)
from milpscore.rounding.draws import held_losses


def integer_case(seed: int, p: int = 6) -> tuple[Any, Any, Any, Any]:
    """Whole numbers, negative ones among them, classes, weights, and real weights in [0, 1]^p."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 4, (15, p)).astype(float)
    y = rng.integers(0, 2, 15)
    y[:2] = (0, 1)
    return X, y, rng.integers(1, 4, 15), np.round(rng.random(p), 3)


def enumerated(w: Any, loss: Any) -> tuple[float, float]:
    """Mean and variance of loss(c) over {0,1}^d, c_j = 1 with probability w_j."""
    mean = square = 0.0
    for c in itertools.product((0, 1), repeat=len(w)):
        chance = float(np.prod(np.where(c, w, 1 - w)))
        value = loss(np.array(c))
        mean, square = mean + chance * value, square + chance * value**2
    return mean, max(square - mean**2, 0.0)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("b", [0.0, -1.0, 0.37])
def test_the_expected_hinge_loss_by_enumeration(seed: int, b: float) -> None:
    X, y, s, w = integer_case(seed)
    statement = hinge(X, y, margin=1.5, sample_weight=s, weights="binary").statement
    sign = np.where(y > 0, 1, -1)

    def loss(c: Any) -> float:
        return float(np.average(np.maximum(0.0, 1.5 - sign * (X @ c + b)) / 1.5, weights=s))

    assert expected_loss(statement, w, b) == pytest.approx(enumerated(w, loss)[0], abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_expected_loss_of_cards_and_of_scores_by_enumeration(seed: int) -> None:
    X, y, s, w = integer_case(seed)
    b, sign = -2.0, np.where(y > 0, 1, -1)

    def errors(c: Any) -> float:  # a tie is positive
        return float(np.average((X @ c >= 2) != (y == 1), weights=s))

    def logistic(c: Any) -> float:
        return float(np.average(np.logaddexp(0, -sign * (X @ c + b) / scale), weights=s))

    cards = slim(X, y, sample_weight=s).statement
    assert expected_loss(cards, w, b) == pytest.approx(enumerated(w, errors)[0], abs=1e-12)
    scores = risk_score(X, y, scale=1.0, sample_weight=s).statement
    scale = float(getattr(scores.loss, "scale", 1.0))
    assert expected_loss(scores, w, b) == pytest.approx(enumerated(w, logistic)[0], abs=1e-12)


def test_data_on_a_decimal_grid_and_negative_weights() -> None:
    X, y, s, _ = integer_case(1, p=5)
    tenths = X / 10
    w = np.array([-1.3, 0.25, 1.75, -0.5, 2.0])
    statement = hinge(tenths, y, sample_weight=s, coef_min=-3, coef_max=3).statement
    sign, low = np.where(y > 0, 1, -1), np.floor(w)

    def loss(c: Any) -> float:
        slack = np.maximum(0.0, 1 - sign * (tenths @ (low + c) + 0.2))
        return float(np.average(slack, weights=s))

    assert expected_loss(statement, w, 0.2) == pytest.approx(enumerated(w - low, loss)[0])


def test_whole_weights_expect_their_own_loss() -> None:
    X, y, s, _ = integer_case(2)
    statement = hinge(X, y, sample_weight=s).statement
    w = np.array([1, 0, -2, 3, 0, 1])
    own = held_losses(statement, w[None, :], 0.5)[0]
    assert expected_loss(statement, w, 0.5) == pytest.approx(own, abs=1e-14)


def test_the_order_of_bounds_holds_in_hundreds_of_cases() -> None:
    for seed in range(200):
        X, y, s, w = integer_case(seed, p=1 + seed % 12)
        statement = hinge(X, y, margin=2.0, sample_weight=s, weights="binary").statement
        bounds = rounding_bounds(statement, w, -1.0)
        expected = expected_loss(statement, w, -1.0)
        assert bounds["lp_loss"] <= expected + 1e-12
        assert expected <= bounds["sharp_bound"] + 1e-12
        assert bounds["sharp_bound"] <= bounds["expected_bound"] + 1e-12
        assert bounds["expected_bound"] <= bounds["sure_bound"] + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_draws_meet_the_expectation_within_five_deviations(seed: int) -> None:
    """A mean of N draws lies 5 deviations off with a chance below 6e-7 (normal limit)."""
    X, y, s, w = integer_case(seed)
    statement = hinge(X, y, sample_weight=s, weights="binary").statement
    sign, draws = np.where(y > 0, 1, -1), 40_000

    def loss(c: Any) -> float:
        return float(np.average(np.maximum(0.0, 1 - sign * (X @ c)), weights=s))

    mean, variance = enumerated(w, loss)
    drawn = randomised(statement, w, intercept=0.0, n_draws=draws, random_state=seed)
    assert abs(drawn.held_loss - mean) < 5 * math.sqrt(variance / draws)
    assert abs(drawn.held_loss - expected_loss(statement, w, 0.0)) < 5 * math.sqrt(variance / draws)
    assert mean <= drawn.bounds["sharp_bound"]


def test_a_result_of_draws_carries_its_bounds_and_its_trace() -> None:
    X, y, s, w = integer_case(5)
    statement = hinge(X, y, sample_weight=s, weights="binary").statement
    drawn = randomised(statement, w, intercept=0.3, n_draws=60, random_state=1)
    assert dict(drawn.bounds) == rounding_bounds(statement, w, 0.3)
    assert len(drawn.trace) == 60
    assert drawn.trace.min() == pytest.approx(drawn.objective)
    assert drawn.trace.mean() == pytest.approx(drawn.mean_loss)
    assert not drawn.trace.flags.writeable
    again = randomised(statement, w, intercept=0.3, n_draws=60, random_state=1)
    assert np.array_equal(again.trace, drawn.trace)
    assert not randomised(statement, w).bounds
    assert not randomised(slim(X, y).statement, w, intercept=0.0).bounds


def test_discarded_draws_are_infinite_in_the_trace() -> None:
    X, y, _, _ = integer_case(6, p=3)
    statement = hinge(X, y, constraints=[EitherOr("x0", "x1")], coef_min=-1, coef_max=1).statement
    drawn = randomised(statement, [0.5, 0.5, 0.0], n_draws=200, random_state=2)
    lost = np.isinf(drawn.trace)
    assert 65 < drawn.n_discarded == np.count_nonzero(lost) < 135  # half of them, 5 deviations
    assert drawn.trace[~lost].mean() == pytest.approx(drawn.mean_loss)


def test_more_probabilities_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, s, w = integer_case(7)
    statement = hinge(X, y, sample_weight=s, weights="binary").statement
    monkeypatch.setattr(draws_module, "MAX_CELLS", 50)
    with pytest.raises(SizeError, match=r"distinct rows x \d+ totals.*bin the features"):
        expected_loss(statement, w, 0.0)


def test_data_on_no_grid_are_refused() -> None:
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
    with pytest.raises(NotApplicableError, match="data on a grid"):
        expected_loss(hinge(X, y).statement, [0.5, 0.5, 0.5], 0.0)
    with pytest.raises(FormulationError, match="one weight per design column"):
        expected_loss(hinge(X, y).statement, [0.5], 0.0)
