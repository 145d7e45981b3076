"""Programs in small numbers: HiGHS gets them in other units, and is not believed beyond them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from milpscore import solve
from milpscore.core.card import Card, card_totals
from milpscore.core.program import Program
from milpscore.core.result import Claim
from milpscore.formulations import facets_hinge, hinge, slim
from milpscore.solvers import load
from milpscore.verify import evaluate

SMALL, LABELS = np.array([[1.0], [1.0], [-1.0], [-1.0]]) * 9e-10, [1, 1, 0, 0]
WIDE = {"coef_min": -10_000, "coef_max": 10_000}


def best(program: Program, points: int) -> float:
    """The least objective, each coefficient from -points to points."""
    statement = program.statement
    cards = itertools.product(range(-points, points + 1), repeat=statement.shape[1])
    return min(
        evaluate(statement, statement.with_best_intercept(np.array(w))).objective for w in cards
    )


def test_small_entries_of_the_hinge_reach_highs_in_units_of_their_size() -> None:
    """Once proved at 1.0: HiGHS drops entries of 1e-9, and the card 10000 has no loss."""
    result = solve(hinge(SMALL, LABELS, **WIDE, intercept="zero", margin=9e-6), "highs")
    assert (result.claim, result.objective) == (Claim.OPTIMAL, 0.0)


def test_small_entries_beside_a_large_margin_prove_nothing() -> None:
    """Once proved at 1.0 beside a card of 0.999991: no unit brings such numbers together."""
    result = solve(hinge(SMALL, LABELS, **WIDE, intercept="zero"), "highs")
    assert result.objective == pytest.approx(0.999991, abs=1e-12)
    assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, 0.0)
    assert result.bound_source == "trivial"
    assert "HiGHS drops numbers as small as the 9e-10 of x0 in row " in result.message
    assert "so that its bound is not used" in result.message
    assert "multiply that column by a power of ten" in result.message


def test_small_entries_of_facets_reach_highs_in_units_of_their_size() -> None:
    """Once proved at 1.0 where 0.10005 is reached."""
    short = {"coef_min": -100, "coef_max": 100}
    result = solve(facets_hinge(100 * SMALL, LABELS, lam=1e-8, gamma=1e5, **short), "highs")
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(0.1 + 1e-8 * 5050, abs=1e-9)


def test_small_columns_off_the_grid_prove_nothing_beside_a_large_one() -> None:
    """Once proved at half of the rows: ten columns of 9.9e-10, which part them together."""
    X = np.hstack([np.tile([[1.0], [-1.0]], (2, 10)) * 9.9e-10, [[1.0], [1.0], [0.3], [0.3]]])
    wide = {f"x{j}": 10_000 for j in range(10)}
    low = {name: -most for name, most in wide.items()}
    program = slim(
        X, [1, 0, 1, 0], coef_min={**low, "x10": 0}, coef_max={**wide, "x10": 1}, l0_penalty=0.0
    )
    assert program.statement.caveat
    result = solve(program, "highs")
    assert result.objective == 0.0 or result.claim is Claim.FEASIBLE
    assert result.dual_bound == 0.0


@pytest.mark.parametrize("seed", range(16))
def test_the_hinge_in_any_units_against_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (8, 2)) * 10.0 ** rng.uniform(-10, -1, 2)
    y, margin = np.r_[0, 1, rng.integers(0, 2, 6)], 10.0 ** rng.uniform(-9, 0)
    kind = "zero" if seed % 2 else "real"
    program = hinge(X, y, coef_min=-9, coef_max=9, margin=margin, intercept=kind)
    result, least = solve(program, "highs"), best(program, 9)
    assert result.dual_bound <= least + 1e-6
    if result.claim is Claim.OPTIMAL:
        assert result.objective <= least + 1e-6
    else:
        assert "HiGHS drops" in result.message


def test_a_doubted_bound_is_taken_out_of_the_trace_as_well() -> None:
    """Once a bound of 1 in the trace beside a result that said 0 and a card of 0.99989."""
    X = np.array([[0.0], [9e-10], [0.0], [0.0], [9e-10]])
    program = hinge(
        X, [1, 0, 0, 0, 1], sample_weight=[0.3, 2.5, 1.1, 0.3, 0.7], coef_min=-54, coef_max=6450,
        intercept="zero",
    )  # fmt: skip
    result = solve(program, "highs")
    assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, 0.0)
    assert result.trace
    assert max(point.dual_bound for point in result.trace) <= 0.0


LARGE = np.array([[-999_999_999.0, 0.0], [-999_999_999.0, -0.649703]])


def test_a_loss_beside_totals_of_a_billion_is_exact_to_the_last_digit() -> None:
    """Once 2.4e-8 off: a total of 1e9 and an intercept of -1e9 were rounded before they met."""
    program = hinge(LARGE, [1, 0], coef_min=[1, 0], coef_max=[2, 0], margin=0.7, intercept="real")
    statement = program.statement
    for best in (
        statement.with_best_intercept(np.array([1, 0])), solve(program, "highs").card,
    ):  # fmt: skip
        assert best is not None
        total = Fraction(-999_999_999) * int(best.coefficients[0]) + best.intercept
        true = sum(max(Fraction(0), Fraction(7, 10) - y * total) for y in (1, -1)) / Fraction(
            14, 10
        )
        assert evaluate(statement, best).loss == pytest.approx(float(true), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_scores_off_the_grid_are_rounded_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 4)) * 10.0 ** rng.integers(-10, 10, 4)
    w = rng.integers(-1000, 1000, 4)
    totals = [sum(Fraction(v) * int(k) for v, k in zip(row, w, strict=True)) for row in X]
    b = -totals[seed] + Fraction(rng.normal()).limit_denominator(10**6)
    found = card_totals(X, None, Card(w, b))
    assert found.floats.scores(b).tolist() == [float(total + b) for total in totals]
    assert found.exact(seed) == pytest.approx(float(totals[seed]), rel=1e-30, abs=0)


def test_duals_and_values_come_back_in_the_models_units() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.integers(-3, 4, (12, 3)).astype(float), rng.integers(0, 2, 12)
    plain, small = (
        hinge(X, y, intercept="real"),
        hinge(X * 2.0**-12, y, intercept="real", margin=2.0**-12),
    )
    sessions = [load(program.relaxed()) for program in (plain, small)]
    first, second = (solve(session) for session in sessions)
    assert np.all(sessions[0].stretch == 1)
    assert np.all(sessions[1].stretch > 1)
    assert second.objective == pytest.approx(first.objective, abs=1e-9)
    assert second.dual_bound == pytest.approx(first.dual_bound, abs=1e-9)
    model = sessions[1].program.model
    for i in model.I:  # xi_i is the slack of the row in the model's own numbers
        body = model.margin_rows[i].body()
        assert body >= 2.0**-12 - 1e-12
    dual = [abs(model.dual[model.margin_rows[i]]) for i in model.I]
    share = 1.0 / (12 * 2.0**-12)
    assert max(dual) <= share * 12 * (1 + 1e-9)
    assert max(dual) >= share * (1 - 1e-9) or first.objective == 0
