"""The re-check: figures of any card against their definitions, and solutions from elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import brute
import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from designs import binned, card_of, design, noisy

from milpscore.constraints import MinTPR
from milpscore.core.card import Card
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Claim
from milpscore.formulations import convex_rounding, facets_hinge, fused_lasso, hinge, slim
from milpscore.scorecard import certified_card
from milpscore.solvers import solve
from milpscore.verify import check, evaluate

DATA = {
    "whole": [-2, 0, 1, 3],
    "tenths": [0.1, 0.2, 0.3, 0.7, -0.4],
    "quarters": [0.25, 0.5, -1.75, 2],
    "large": [1e5, -3e5, 7e4],
}


def random_case(seed: int, values: list[float]) -> tuple[Any, Card]:
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, size=12).astype(float) if seed % 2 else rng.random(12)
    weight[:2] = 1
    y = np.where(rng.random(12) < 0.5, 1, -1)
    y[:2] = 1, -1
    made = design(rng.choice(values, size=(12, 3)), y, weight)
    assert made.step is not None
    w = rng.integers(-5, 6, size=3)
    return made, Card(w, int(rng.integers(-6, 7)) * made.step)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("values", DATA.values(), ids=DATA)
def test_figures_equal_their_definitions(seed: int, values: list[float]) -> None:
    made, card = random_case(seed, values)
    X = brute.decimals(made.X)
    w = [int(v) for v in card.coefficients]
    totals = [sum((x * v for x, v in zip(row, w, strict=True)), Fraction(0)) for row in X]
    errors = evaluate(slim(made, l0_penalty=0.01, l1_penalty=0.002).statement, card)
    assert errors.exact
    truth = brute.zero_one(totals, made.y, made.weight, card.intercept)
    assert errors.loss == pytest.approx(truth, abs=1e-15)
    penalty = 0.01 * sum(v != 0 for v in w) + 0.002 * sum(map(abs, w))
    assert errors.penalty == pytest.approx(penalty, abs=1e-15)
    assert errors.objective == errors.loss + errors.penalty
    for margin in (1.0, 0.3, 2.5):
        slack = evaluate(hinge(made, margin=margin, intercept="real").statement, card)
        truth = brute.hinge(margin)(totals, made.y, made.weight, card.intercept)
        assert slack.loss == pytest.approx(truth, rel=1e-14)


def test_a_tie_of_decimals_is_exact() -> None:
    # 0.1 * 3 is 0.30000000000000004 in floating point; the card's total is 3/10, a tie
    made = design([[0.1], [0.1], [0.2]], [1, -1, -1])
    program = slim(made)
    assert evaluate(program.statement, card_of([3], Fraction(-3, 10))).loss == 2 / 3
    assert evaluate(program.statement, card_of([3], -0.3)).loss == 2 / 3
    assert evaluate(program.statement, card_of([3], Fraction(-4, 10))).loss == 2 / 3
    sums = design([[0.1, 0.2, -0.3]] * 2, [1, -1])
    tie = card_of([1, 1, 1], 0)  # 0.1 + 0.2 - 0.3 > 0 in floating point, in truth 0
    assert evaluate(slim(sums).statement, tie).loss == 0.5
    mirrored = design([[-0.1, -0.2, 0.3], [9, 9, 9]], [1, -1])
    assert evaluate(slim(mirrored).statement, tie).loss == 0.5


def test_whole_weights_give_a_correctly_rounded_quotient() -> None:
    made = design([[1], [0], [0]], [1, -1, 1], [1, 1, 1])
    assert evaluate(slim(made).statement, card_of([1], -1)).loss == 1 / 3


@pytest.mark.parametrize("seed", range(5))
def test_data_on_no_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = design(rng.normal(size=(10, 3)), [1, -1] * 5)
    card = card_of(rng.integers(-5, 6, size=3), 0.25)
    figures = evaluate(slim(made).statement, card)
    assert not figures.exact
    totals = made.X @ card.coefficients
    assert figures.loss == pytest.approx(np.mean((totals >= -0.25) != (made.y > 0)))


def test_large_rows_leave_small_totals_as_they_are() -> None:
    made = design([[0.0, -1e-7], [-2e9, 0.0], [0.0, 0.0]], [1, 1, -1], [0.7, 0.3, 0.3])
    for rules in ((), (MinTPR(0.5),)):
        program = slim(made, coef_min=-1, coef_max=0, constraints=rules)
        result = solve(program, "tree", progress=False)
        assert (result.claim, result.loss, result.terms) == (Claim.OPTIMAL, 0.0, 2)


def test_a_total_on_the_threshold_is_undecided_without_a_grid() -> None:
    x = 1 / 3
    made = design([[x, np.pi], [0.0, np.e]], [1, -1])
    assert made.step is None
    on_it = card_of([1, 0], Fraction(-x))
    assert evaluate(slim(made).statement, on_it).loss == 0.5  # charged, whatever rounding says


# ------------------------------------------------------------------ what is broken is named


@pytest.mark.parametrize(
    ("card", "sentence"),
    [
        (card_of([6, 0, 0], 0), "x0: 6 lies outside [-5, 5]"),
        (card_of([0, 3, 0], 0), "x1: 3 is not one of [0, 1, 5]"),
        (card_of([1, 1, 1], 0), "3 terms where at most 2 are allowed"),
        (card_of([0, 0, 0], 99), "intercept 99 is not an allowed grid value in [-3, 3]"),
        (card_of([0, 0, 0], 0.5), "intercept 1/2 is not an allowed grid value in [-3, 3]"),
        (card_of([0, 0], 0), "the card has 2 coefficients, the design 3 columns"),
    ],
)
def test_broken_requirements_are_named(card: Card, sentence: str) -> None:
    program = slim(noisy(), coef_sets={"x1": [5, 0, 1]}, max_terms=2, intercept_bounds=(-3, 3))
    assert sentence in evaluate(program.statement, card).violations
    assert sentence in check(program, card).violations


def test_additions_fixings_and_bounds_of_the_user_are_named() -> None:
    card = card_of([1, -1, 0], 0)
    program = slim(noisy())
    m = program.model
    assert check(program, card).feasible
    m.sign = pyo.Constraint(expr=m.w[0] + m.w[1] >= 1)
    m.w[2].fix(2)
    m.w[1].setlb(0)
    named = check(program, card).violations
    assert named[0] == "w[2] is fixed at 2, the card implies 0"
    assert any(s.startswith("w[1]: -1 is below its bound 0") for s in named)
    assert any(s.startswith("constraint sign: 0 is below its bound 1") for s in named)
    assert m.w[2].value == 2  # the next solve must find it as the user left it
    m.sign.deactivate()
    assert not any("sign" in s for s in check(program, card).violations)


def test_what_cannot_be_read_is_a_violation() -> None:
    program = slim(noisy())
    program.model.either = pyo.SOSConstraint(var=program.model.w, sos=1)
    (sentence,) = check(program, card_of([0, 0, 0], 0)).violations
    assert sentence.startswith("either is a SOSConstraint, which cannot be re-checked")


def test_a_changed_objective_is_named() -> None:
    program = slim(noisy())
    m = program.model
    m.objective.set_value(m.objective.expr + m.alpha[0])
    stated = slim(noisy())
    for points, more in (([0, 0, 1], 0.0), ([1, 0, 0], 1.0)):
        card = card_of(points, 0)
        mine, true = check(program, card), check(stated, card)
        assert mine.feasible
        assert mine.objective == pytest.approx(true.objective + more, abs=1e-12)
        assert mine.loss == true.loss
        assert mine.result(bound=0.0).message.endswith("what is minimised is the model's objective")
        assert true.result().message == ""
    # a loss or a price that was changed states something else
    program = slim(noisy(), l0_penalty=0.1)
    program.model.l0_penalty.set_value(1.0)
    (sentence,) = check(program, card_of([1, 0, 0], 0)).violations
    assert "it was changed, or states something else" in sentence


def test_fixed_points_are_kept_by_the_solve() -> None:
    program = slim(noisy())
    program.model.w[2].fix(3)
    result = solve(program)
    assert result.card is not None
    assert result.card.coefficients[2] == 3
    assert program.model.w[2].value == 3
    # the empty card breaks the fixing: without a solve there is nothing to return
    assert solve(program, time_limit=0).card is None


# ------------------------------------------------------------------ another solver

MADE: dict[str, Any] = {
    "slim": lambda: slim(noisy(), max_terms=2),
    "hinge": lambda: hinge(noisy(), l1_penalty=0.01),
    "facets_hinge": lambda: facets_hinge(noisy(), lam=0.01, gamma=0.5),
    "fused_lasso": lambda: fused_lasso(binned(), lam=0.03),
    "weighted": lambda: fused_lasso(binned(), lam=0.1, weights="data"),
    "convex_rounding": lambda: convex_rounding(noisy()).exact(),
}


def solved_elsewhere(program: Program, tmp_path: Any) -> None:
    """Write the model, let a bare HiGHS read and solve it, put the values back by name."""
    path = program.write(tmp_path / "model.lp")
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.readModel(str(path))
    other.run()
    labels = program.labels
    for j, value in enumerate(other.getSolution().col_value):
        labels[other.getColName(j)[1]].set_value(value, skip_validation=True)


@pytest.mark.parametrize("name", MADE)
def test_a_solution_from_another_solver_is_verified(name: str, tmp_path: Any) -> None:
    program = MADE[name]()
    solved_elsewhere(program, tmp_path)
    figures = check(program)
    assert figures.feasible
    assert figures.objective == pytest.approx(solve(MADE[name]()).objective, abs=1e-9)
    program.model.w_or_c = pyo.Constraint(expr=program.model.objective.expr <= -1)
    assert not check(program).feasible


def test_an_answer_from_outside_becomes_a_result_on_its_own_word() -> None:
    program = slim(noisy(), max_terms=2)
    solved = solve(program, "tree")
    outside = check(program, solved.card).result(solved.dual_bound, "gurobi 12")
    assert outside.claim is Claim.OPTIMAL
    assert outside.bound_source == "outside (gurobi 12)"
    assert "the word of gurobi 12" in outside.message
    assert (outside.objective, outside.loss, outside.terms) == (
        solved.objective,
        solved.loss,
        solved.terms,
    )
    assert (
        "bound: outside (gurobi 12)" in certified_card(program.statement.design, outside).to_text()
    )
    bare = check(program, solved.card).result()
    assert (bare.claim, bare.dual_bound) == (Claim.FEASIBLE, -math.inf)
    half = check(program, solved.card).result(solved.objective / 2)
    assert (half.claim, half.dual_bound) == (Claim.GAP, solved.objective / 2)


def test_an_outside_bound_that_the_card_refutes_is_refused() -> None:
    program = slim(noisy())
    card = program.statement.empty_card()
    figures = check(program, card)
    with pytest.raises(OptionError, match="lies above this card's objective"):
        figures.result(figures.objective + 1e-3)
    for bound in (math.nan, math.inf, True, "0"):
        with pytest.raises(OptionError, match="finite number"):
            figures.result(bound)
    with pytest.raises(NotApplicableError, match=r"program.exact\(\)"):
        check(program.relaxed(), card).result()


def test_a_broken_card_from_outside_is_no_result() -> None:
    program = slim(noisy(), max_terms=1)
    many = card_of([1] * program.statement.shape[1], 0)
    answer = check(program, many).result(0.0, "cbc")
    assert (answer.claim, answer.card) == (Claim.NONE, None)
    assert "terms" in answer.message


def test_an_unsolved_model_cannot_be_checked() -> None:
    with pytest.raises(NotApplicableError, match="solve it first, or fill it"):
        check(slim(noisy()))


@pytest.mark.parametrize("points", [[0.5, 1], [[1, 2]], [np.nan], ["a"], [None]])
def test_a_card_has_whole_points(points: Any) -> None:
    with pytest.raises(FormulationError, match="whole numbers; round them first"):
        card_of(points)
