"""Rounding: what each road promises, checked by enumeration and against brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import brute
import numpy as np
import pyomo.environ as pyo
import pytest

from milpscore import rounding
from milpscore.core.card import Card
from milpscore.core.errors import (
    FormulationError,
    NotApplicableError,
    OptionError,
)
from milpscore.core.result import Claim, Termination
from milpscore.data import Binner, double_features
from milpscore.formulations import (
    convex_rounding,
    fused_lasso,
    fused_lasso_by_feature,
    hinge,
    slim,
    sparse_rounding,
)
from milpscore.solvers import solve
from milpscore.verify import check, evaluate


def tiny(seed: int, n: int = 9, p: int = 3, decimals: int = 1) -> tuple[Any, Any, Any]:
    """X on a grid, y with both classes, whole weights."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, p)), decimals)
    y = np.where(rng.random(n) < 0.5, 1, 0)
    y[:2] = (0, 1)
    return X, y, rng.integers(1, 4, n)


def outcomes(w: Any) -> Iterator[tuple[float, Any]]:
    """Every way to round w, with its probability."""
    floor = np.floor(w)
    for up in itertools.product((0, 1), repeat=len(w)):
        chance = np.prod(np.where(up, w - floor, 1 - (w - floor)))
        yield float(chance), floor + np.array(up)


def mean_hinge(X: Any, y: Any, s: Any, c: Any, b: float, margin: float) -> float:
    losses = np.maximum(0.0, margin - np.where(y > 0, 1, -1) * (X @ c + b)) / margin
    return float(np.average(losses, weights=s))


@pytest.mark.parametrize(
    ("w", "expected"),
    [
        ([0.49, 0.51, -0.49, -0.51], [0, 1, 0, -1]),
        ([0.5, -0.5, 1.5, -1.5], [0, 0, 1, -1]),  # half-way goes towards zero
        ([7.0, -7.0, 1.9999999999, 2.0], [2, -2, 2, 2]),  # into the range first
    ],
)
def test_nearest(w: list[float], expected: list[int]) -> None:
    X, y, _ = tiny(0, p=4)
    card = rounding.nearest(hinge(X, y, coef_min=-2, coef_max=2).statement, w)
    assert card.coefficients.tolist() == expected


def test_nearest_uses_sets_and_the_limit_on_terms() -> None:
    X, y, _ = tiny(1, p=4)
    statement = slim(X, y, coef_sets={"x0": [0, 1, 5, 10]}, max_terms=2).statement
    card = rounding.nearest(statement, [3.1, 0.9, -2.2, 0.8])
    assert card.coefficients.tolist() == [5, 0, -2, 0]
    assert rounding.nearest(statement, [2.9, 0, 0, 0]).coefficients[0] == 1
    assert not statement.violations(card)


@pytest.mark.parametrize("seed", range(5))
def test_nearest_takes_the_best_intercept(seed: int) -> None:
    X, y, s = tiny(seed)
    statement = hinge(X, y, sample_weight=s, intercept_bounds=[-6, 6]).statement
    card = rounding.nearest(statement, [1.2, -0.7, 0.1])
    best = min(mean_hinge(X, y, s, [1, -1, 0], b, 1.0) for b in range(-6, 7))
    assert evaluate(statement, card).loss == pytest.approx(best)


def test_nearest_keeps_the_lp_intercept_among_equals() -> None:
    X, y = np.array([[0.0], [8.0]]), [0, 1]
    statement = hinge(X, y, coef_min=0, coef_max=2).statement
    losses = {b: mean_hinge(X, np.array(y), [1, 1], [1], b, 1.0) for b in range(-8, 1)}
    assert losses[-3] == losses[-5] == 0
    assert rounding.nearest(statement, [1.0], -3.2).intercept == -3
    assert rounding.nearest(statement, [1.0], -5.0).intercept == -5


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("margin", [0.5, 2.0])
def test_bounds_by_full_enumeration(seed: int, margin: float) -> None:
    X, y, s = tiny(seed, p=4)
    rng = np.random.default_rng(100 + seed)
    program = hinge(X, y, margin=margin, sample_weight=s, weights="ternary")
    w, b = np.round(rng.uniform(-1, 1, 4), 3), float(np.round(rng.normal(), 2))
    bounds = rounding.rounding_bounds(program.statement, w, b)
    expectation = sum(q * mean_hinge(X, y, s, c, b, margin) for q, c in outcomes(w))
    at_nearest = mean_hinge(X, y, s, np.rint(w), b, margin)

    assert bounds["lp_loss"] == pytest.approx(mean_hinge(X, y, s, w, b, margin))
    assert bounds["lp_loss"] <= expectation + 1e-12  # Jensen
    assert expectation <= bounds["sharp_bound"] + 1e-12
    assert bounds["sharp_bound"] <= bounds["expected_bound"] + 1e-12
    assert at_nearest <= bounds["sure_bound"] + 1e-12

    doubled = double_features(X)
    x2 = np.linalg.norm(doubled, axis=1).max()
    assert x2 == pytest.approx(math.sqrt(2) * np.linalg.norm(X, axis=1).max())
    assert bounds["expected_bound"] - bounds["lp_loss"] == pytest.approx(x2 / (2 * margin))
    x1 = np.abs(X).sum(axis=1).max()
    assert bounds["sure_bound"] - bounds["lp_loss"] == pytest.approx(x1 / (2 * margin))
    spread = [
        math.sqrt(sum(x**2 * abs(v) * (1 - abs(v)) for x, v in zip(r, w, strict=True))) for r in X
    ]
    assert bounds["sharp_bound"] - bounds["lp_loss"] == pytest.approx(
        np.average(spread, weights=s) / margin
    )


def test_the_paper_s_draw_of_both_signs_obeys_the_expected_bound() -> None:
    X, y, s = tiny(3, p=2)
    statement = hinge(X, y, sample_weight=s, weights="ternary").statement
    doubled, pair = double_features(X), np.array([0.7, 0.3, 0.5, 0.5])
    bound = rounding.rounding_bounds(statement, pair[0::2] - pair[1::2], 0.0)["expected_bound"]
    expectation = sum(q * mean_hinge(doubled, y, s, c, 0.0, 1.0) for q, c in outcomes(pair))
    assert expectation <= bound + 1e-12


def test_single_draws_may_exceed_the_sharp_bound() -> None:
    X, y, s = tiny(5, p=4)
    statement = hinge(X, y, sample_weight=s, weights="ternary").statement
    w = np.array([0.05, -0.05, 0.05, -0.05])
    sharp = rounding.rounding_bounds(statement, w, 0.0)["sharp_bound"]
    assert max(mean_hinge(X, y, s, c, 0.0, 1.0) for q, c in outcomes(w) if q > 0) > sharp


def test_bounds_need_a_hinge_loss() -> None:
    X, y, _ = tiny(0)
    with pytest.raises(NotApplicableError, match="hinge"):
        rounding.rounding_bounds(slim(X, y).statement, np.zeros(3), 0.0)


def test_randomised_has_the_expectation_of_the_weights() -> None:
    X, y, s = tiny(7)
    statement = hinge(X, y, sample_weight=s, coef_min=-3, coef_max=3).statement
    w, b, draws = np.array([0.3, -1.6, 2.0]), 0.25, 20_000
    losses = [(q, mean_hinge(X, y, s, c, b, 1.0)) for q, c in outcomes(w) if q > 0]
    mean = sum(q * v for q, v in losses)
    deviation = math.sqrt(sum(q * (v - mean) ** 2 for q, v in losses) / draws)
    drawn = rounding.randomised(statement, w, intercept=b, n_draws=draws, random_state=1)
    assert drawn.n_distinct == 4
    assert abs(drawn.held_loss - mean) < 5 * deviation
    assert {tuple(v) for v in drawn.points.tolist()} == {
        (u, v, 2) for u in (0, 1) for v in (-2, -1)
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("decimals", [0, 1, 12])  # whole numbers, a grid, no grid
@pytest.mark.parametrize("build", [hinge, slim])
def test_randomised_returns_the_best_of_its_draws(build: Any, decimals: int, seed: int) -> None:
    X, y, s = tiny(seed, decimals=decimals)
    statement = build(X, y, sample_weight=s).statement
    drawn = rounding.randomised(statement, [0.5, -1.5, 2.5], n_draws=200, random_state=seed)
    assert drawn.n_distinct == len(drawn.points) == 8
    cards = [statement.with_best_intercept(points) for points in drawn.points]
    objectives = [evaluate(statement, card).objective for card in cards]
    assert drawn.card is not None
    assert drawn.objective == pytest.approx(min(objectives))
    assert drawn.objective == evaluate(statement, drawn.card).objective
    assert objectives == pytest.approx(sorted(objectives), abs=1e-9)
    assert drawn.card == next(drawn.cards(statement))


def test_randomised_is_reproducible() -> None:
    X, y, _ = tiny(2, p=4)
    statement = hinge(X, y).statement
    w = [0.5, 0.5, 0.5, -0.5]
    one, two, other = (
        rounding.randomised(statement, w, n_draws=3, random_state=s) for s in (4, 4, 9)
    )
    assert np.array_equal(one.points, two.points)
    assert not np.array_equal(one.points, other.points)


def test_violating_draws_are_repaired_and_counted() -> None:
    X, y, _ = tiny(4, p=4)
    statement = sparse_rounding(X, y, max_terms=2).statement
    drawn = rounding.randomised(statement, [1.0, -0.9, 0.5, 1e-12], n_draws=400, random_state=0)
    # three terms with chance 0.45; the half is dropped, never a weight of 0.9 or 1
    assert 140 < drawn.n_repaired < 220
    assert drawn.n_discarded == 0
    assert {tuple(v) for v in drawn.points.tolist()} == {(1, 0, 0, 0), (1, 0, 1, 0), (1, -1, 0, 0)}


def test_draws_that_cannot_be_repaired_are_discarded() -> None:
    X, y, _ = tiny(4, p=3)
    statement = replace(hinge(X, y, coef_min=1, coef_max=2).statement, max_terms=2)
    drawn = rounding.randomised(statement, [1.5, 1.5, 1.5], n_draws=10)
    assert (drawn.n_discarded, drawn.n_repaired) == (10, 0)
    assert drawn.card is None
    assert drawn.evaluation is None
    assert math.isnan(drawn.objective)
    assert math.isnan(drawn.mean_loss)


def test_bad_input_is_refused() -> None:
    X, y, _ = tiny(0)
    statement = hinge(X, y).statement
    with pytest.raises(FormulationError, match="one weight per design column"):
        rounding.randomised(statement, [1.0])
    with pytest.raises(FormulationError, match="finite"):
        rounding.nearest(statement, [math.nan, 0, 0])
    with pytest.raises(OptionError, match="n_draws"):
        rounding.randomised(statement, [0.5, 0, 0], n_draws=0)


@pytest.mark.parametrize("seed", range(6))
def test_relaxed_exact_rounded_in_order(seed: int) -> None:
    X, y, s = tiny(seed, n=10)
    program = sparse_rounding(
        X, y, max_terms=2, margin=1.0, sample_weight=s, intercept_bounds=[-5, 5]
    )
    optimum = brute.best_card(
        brute.decimals(X),
        np.where(y > 0, 1, -1).tolist(),
        s.tolist(),
        loss=brute.hinge(1.0),
        values=[(-1, 0, 1)] * 3,
        intercepts=brute.whole_numbers(-5, 5),
        max_terms=2,
    )
    relaxed = solve(program)
    result = rounding.round_program(program, n_draws=50, random_state=seed)
    assert relaxed.objective <= optimum.objective + 1e-9
    assert optimum.objective <= result.objective + 1e-9
    assert result.dual_bound == pytest.approx(max(relaxed.objective, 0), abs=1e-7)
    assert result.objective <= evaluate(program.statement, program.statement.empty_card()).objective
    assert result.verified
    assert result.claim is not Claim.OPTIMAL or result.gap < 1e-5
    assert result.origin in {"nearest", "randomised", "empty card"}
    assert "50 draws" in result.message


@pytest.mark.parametrize("build", [hinge, slim, convex_rounding])
def test_the_model_holds_the_card_and_keeps_its_kind(build: Any) -> None:
    X, y, _ = tiny(8, n=12)
    program = build(X, y)
    kind = program.kind
    domains = [v.is_continuous() for v in program.model.component_data_objects(pyo.Var)]
    result = rounding.round_program(program)
    assert program.kind == kind
    assert [v.is_continuous() for v in program.model.component_data_objects(pyo.Var)] == domains
    assert program.card() == result.card
    assert check(program).feasible
    assert pyo.value(program.model.objective) == pytest.approx(result.objective)


def test_user_constraints_hold_for_the_card() -> None:
    X, y, _ = tiny(2, n=12)
    program = convex_rounding(X, y)
    w = [program.model.c[0] - program.model.c[1], program.model.c[2] - program.model.c[3]]
    program.model.apart = pyo.Constraint(expr=w[0] - w[1] >= 1.2)
    result = rounding.round_program(program, n_draws=200)
    assert result.verified
    assert result.card is not None
    assert result.card.coefficients[0] == 1
    assert result.card.coefficients[1] == -1
    assert "empty card: 1 refused (constraint apart" in result.message


def test_a_user_s_integer_variable_must_be_whole() -> None:
    X, y, _ = tiny(2, n=12)
    program = hinge(X, y)
    program.model.extra = pyo.Var(domain=pyo.Integers, bounds=(0, 3))
    program.model.half = pyo.Constraint(expr=2 * program.model.extra == 3)
    result = rounding.round_program(program.relaxed())
    assert result.claim is Claim.NONE
    assert "extra = 1.5 is not a whole number" in result.message
    assert result.dual_bound > -math.inf


def test_an_infeasible_relaxation_says_so() -> None:
    X, y, _ = tiny(2)
    program = convex_rounding(X, y)
    program.model.too_much = pyo.Constraint(expr=program.model.c[0] >= 2)
    result = rounding.round_program(program)
    assert result.claim is Claim.NONE
    assert result.termination is Termination.INFEASIBLE
    assert result.card is None
    assert "no card meets every constraint" in result.message


def test_time_limit_zero_gives_the_empty_card() -> None:
    X, y, _ = tiny(3)
    program = convex_rounding(X, y)
    result = rounding.round_program(program, time_limit=0)
    assert result.claim is Claim.FEASIBLE
    assert result.verified
    assert result.origin == "empty card"
    assert result.card == program.statement.empty_card()


def test_no_card_is_divided_by_hand_where_the_builder_does_it() -> None:
    X, y = np.arange(12.0)[:, None], [0] * 6 + [1] * 6
    program = slim(X, y, coef_min=3, coef_max=5)
    # only 3 may stay: 1 is out of range, so the greatest common divisor must not be divided out
    assert rounding.round_program(program).card.coefficients.tolist() == [3]  # type: ignore[union-attr]


def test_combine_finds_the_best_separator() -> None:
    rng = np.random.default_rng(5)
    table = rng.integers(0, 4, (60, 3)).astype(float)
    y = (table.sum(axis=1) + rng.normal(size=60) > 4.5).astype(int)
    weight = rng.integers(1, 3, 60)
    design = Binner(encoding="onehot").fit_design(table, y, sample_weight=weight)
    cards = {f: solve(p, time_limit=300).card for f, p in fused_lasso_by_feature(design).items()}
    assert len(cards) == 3
    card = rounding.combine(design, cards)  # type: ignore[arg-type]
    assert np.array_equal(card.coefficients, sum(c.coefficients for c in cards.values()))  # type: ignore[union-attr]
    totals = design.X @ card.coefficients
    errors = {
        t: weight[(totals >= t) != (y == 1)].sum() for t in [*np.unique(totals), totals.max() + 1]
    }
    assert errors[float(card.threshold)] == min(errors.values())
    assert min(errors.values()) < min(weight[y == 1].sum(), weight[y == 0].sum())


def test_combine_refuses_cards_of_other_features() -> None:
    table = np.array([[0.0, 1], [1, 0], [0, 0], [1, 1]])
    design = Binner(encoding="onehot").fit_design(table, [0, 1, 0, 1])
    first, second = design.columns[0].feature, design.columns[2].feature
    good = Card(np.array([0, 2, 0, 0]), Fraction(-1))
    assert rounding.combine(design, {first: good}).coefficients.tolist() == [0, 2, 0, 0]
    with pytest.raises(FormulationError, match="points on other features"):
        rounding.combine(design, {second: good})
    with pytest.raises(FormulationError, match="no feature"):
        rounding.combine(design, {"nothing": good})
    with pytest.raises(FormulationError, match="4 columns"):
        rounding.combine(design, {first: Card(np.array([1]), Fraction(0))})


def test_rounding_works_on_bins() -> None:
    from sklearn.datasets import load_breast_cancer

    table, y = load_breast_cancer(return_X_y=True, as_frame=True)
    design = Binner(4, encoding="onehot").fit_design(table.iloc[:, :6], y)
    result = rounding.round_program(fused_lasso(design, lam=0.01))
    assert result.claim is Claim.GAP
    assert result.gap < 0.05
