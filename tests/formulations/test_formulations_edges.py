"""Corners of the formulations against enumeration: odd ranges, grids, weights, additions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import brute
import numpy as np
import pyomo.environ as pyo
import pytest
from designs import design, noisy
from formulation_cases import random_design
from tree_cases import set_policy

from milpscore.core.card import Card
from milpscore.core.design import Design, as_fraction
from milpscore.core.errors import FormulationError
from milpscore.core.result import Claim
from milpscore.formulations import CONIC_FORMULATIONS, FORMULATIONS, hinge, risk_score, slim
from milpscore.solvers import load, session as highs_session, solve
from milpscore.verify import evaluate

Cuts = Callable[[Sequence[Fraction]], list[Fraction]]

VALUES: list[list[float]] = [
    [0, 1],
    [0, 2, 4],  # step 2
    [0.25, 0.5, -0.75, 1],
    [0, -3, 3],
    [0.1, 0.2, 0.3, 0.7],
    [5],  # all rows are one
    [0],  # no row speaks
    [100, -20, 40],
    [1.5, 3, 4.5],
]


def odd_design(rng: np.random.Generator) -> Design:
    n, p = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    X = rng.choice(VALUES[rng.integers(len(VALUES))], size=(n, p))
    if rng.random() < 0.4:
        X[n // 2 :] = X[rng.integers(0, n // 2, size=n - n // 2)]
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    weights = (np.ones(n), rng.integers(0, 4, n), rng.random(n) + 0.01, 1e-3 * rng.random(n) + 1e-4)
    weight = np.asarray(weights[rng.integers(4)], dtype=np.float64)
    weight[:2] = np.maximum(weight[:2], 0.5)
    return design(X, y, weight)


def odd_arguments(rng: np.random.Generator, name: str, p: int) -> dict[str, Any]:
    low = rng.integers(-3, 2, size=p)
    arguments: dict[str, Any] = {
        "coef_min": low.tolist(),
        "coef_max": (low + rng.integers(0, 4, size=p)).tolist(),
        "l0_penalty": float(rng.choice([0, 1e-3, 0.03])),
        "l1_penalty": float(rng.choice([0, 0, 1e-3])),
        "max_terms": [None, 0, 1, 2][rng.integers(4)],
    }
    if rng.random() < 0.4:  # fractional bounds; a multiple of any step here is among them: 0
        arguments["intercept_bounds"] = [
            round(-float(rng.uniform(0, 6)), 1),
            round(float(rng.uniform(0, 6)), 1),
        ]
    if name == "slim" and rng.random() < 0.3:
        arguments["coef_sets"] = {"x0": sorted({*rng.integers(-4, 5, size=3).tolist()})}
    if name == "hinge":
        arguments["margin"] = float(rng.choice([1, 0.3, 2.5, 0.07]))
        arguments["intercept"] = str(rng.choice(["integer", "real", "zero"]))
    return arguments


def multiples(step: Fraction, low: Fraction, high: Fraction) -> list[Fraction]:
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def cuts_of(name: str, made: Design, a: dict[str, Any], y: Sequence[int]) -> Cuts:
    """Every intercept worth trying, from the definitions."""
    bounds = [as_fraction(v) for v in a["intercept_bounds"]] if "intercept_bounds" in a else None
    if name == "slim":
        step = made.step
        assert step is not None
        if bounds is None:
            return lambda totals: [-t for t in {*totals, max(totals) + step}]
        return lambda totals: multiples(step, *bounds)
    return hinge_cuts(brute.kinks(a["margin"], y), a["intercept"], bounds)


def hinge_cuts(kinks: Cuts, kind: str, bounds: list[Fraction] | None) -> Cuts:
    """A convex function of b has its minimum at a kink, or next to one on the step."""
    if kind == "zero":
        return brute.whole_numbers(0, 0)
    if kind == "real":
        low, high = bounds or (Fraction(-(10**9)), Fraction(10**9))
        return lambda totals: [min(max(b, low), high) for b in kinks(totals)]
    if bounds is not None:
        return lambda totals: multiples(Fraction(1), *bounds)
    return lambda totals: [Fraction(f(b)) for b in kinks(totals) for f in (math.floor, math.ceil)]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("name", ["slim", "hinge"])
def test_odd_cases_equal_enumeration(name: str, seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    made = odd_design(rng)
    a = odd_arguments(rng, name, made.shape[1])
    counted = made.weight > 0
    y = made.y[counted].tolist()
    values = [range(low, high + 1) for low, high in zip(a["coef_min"], a["coef_max"], strict=True)]
    if "coef_sets" in a:
        values[0] = a["coef_sets"]["x0"]
    truth = brute.best_card(
        brute.decimals(made.X[counted]),
        y,
        made.weight[counted].tolist(),
        loss=brute.zero_one if name == "slim" else brute.hinge(a["margin"]),
        values=values,
        intercepts=cuts_of(name, made, a, y),
        max_terms=a["max_terms"],
        penalty=lambda w: (
            a["l0_penalty"] * sum(v != 0 for v in w) + a["l1_penalty"] * sum(map(abs, w))
        ),
    )
    program = FORMULATIONS[name](made, **a)
    result = solve(program)
    if not truth.w:  # more forced terms than allowed
        assert (result.claim, result.card) == (Claim.NONE, None)
        assert "loosen" in result.message
        return
    assert result.claim is Claim.OPTIMAL, result.message
    assert result.objective == pytest.approx(truth.objective, abs=1e-9)
    relaxed = solve(program.relaxed())
    # beside an objective of almost 0 the duals' own rounding is more than a millionth of it
    assert relaxed.claim is Claim.OPTIMAL or relaxed.objective - relaxed.dual_bound < 1e-9
    assert relaxed.dual_bound <= result.objective + 1e-9


ADDITIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Fraction], bool]]] = {
    "fixed": (lambda m: m.w[0].fix(2), lambda w, b: w[0] == 2),
    "fractional bounds": (
        lambda m: (m.w[1].setub(1.5), m.w[1].setlb(-0.5)),
        lambda w, b: w[1] in (0, 1),
    ),
    "at least": (
        lambda m: m.add_component("own", pyo.Constraint(expr=m.w[0] + m.w[1] >= 1.5)),
        lambda w, b: w[0] + w[1] >= 2,
    ),
    "parity": (
        lambda m: (
            m.add_component("half", pyo.Var(domain=pyo.Integers, bounds=(-7.5, 7.5))),
            m.add_component("own", pyo.Constraint(expr=m.w[0] - m.w[2] == 2 * m.half)),
        ),
        lambda w, b: (w[0] - w[2]) % 2 == 0,
    ),
    "exclusion": (
        lambda m: m.add_component("own", pyo.Constraint(expr=m.alpha[0] + m.alpha[1] <= 1)),
        lambda w, b: w[0] == 0 or w[1] == 0,
    ),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ADDITIONS)
@pytest.mark.parametrize("name", ["slim", "hinge"])
def test_additions_of_the_user_equal_enumeration(name: str, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = 0.1 * rng.choice([0, 1, 2, -1], size=(9, 3)) if seed % 2 else rng.integers(-1, 3, (9, 3))
    y = np.where(rng.random(9) < 0.5, 1, -1)
    y[:2] = 1, -1
    made = design(np.round(X, 1), y, rng.integers(1, 4, size=9))
    add, allowed = ADDITIONS[kind]
    truth = brute.best_card(
        brute.decimals(made.X),
        y.tolist(),
        made.weight.tolist(),
        loss=brute.zero_one if name == "slim" else brute.hinge(1.0),
        values=[range(-2, 3)] * 3,
        intercepts=brute.every_threshold if name == "slim" else brute.whole_numbers(-9, 9),
        penalty=lambda w: 1e-3 * sum(v != 0 for v in w),
        allowed=allowed,
    )
    program = FORMULATIONS[name](made, coef_min=-2, coef_max=2, l0_penalty=1e-3)
    add(program.model)
    for form in (program, program.relaxed().exact()):
        result = solve(form)
        assert result.claim is Claim.OPTIMAL, result.message
        assert result.objective == pytest.approx(truth.objective, abs=1e-9)
        assert result.card is not None
        assert allowed(result.card.coefficients.tolist(), result.card.intercept)


@pytest.mark.parametrize("seed", range(6))
def test_a_limit_on_false_positives_equals_enumeration(seed: int) -> None:
    made = noisy(12, 2, seed)
    X = brute.decimals(made.X)
    negatives = [i for i in range(12) if made.y[i] < 0]

    def allowed(w: Any, b: Fraction) -> bool:
        totals = [sum(v * x for v, x in zip(w, X[i], strict=True)) for i in negatives]
        return bool(sum(t >= -b for t in totals) <= 0.2 * len(negatives))

    truth = brute.best_card(
        X,
        made.y.tolist(),
        made.weight.tolist(),
        loss=brute.zero_one,
        values=[range(-3, 4)] * 2,
        intercepts=brute.every_threshold,
        penalty=lambda w: 1e-3 * sum(v != 0 for v in w),
        allowed=allowed,
    )
    program = slim(made, coef_min=-3, coef_max=3)
    m, weight = program.model, made.merged.weight
    m.few_false_alarms = pyo.Constraint(
        expr=sum(float(weight[i]) * m.z[i] for i in m.I_neg) <= 0.2 * len(negatives)
    )
    result = solve(program)
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(truth.objective, abs=1e-9)
    assert result.card is not None
    assert allowed(result.card.coefficients.tolist(), result.card.intercept)


@pytest.mark.parametrize("seed", range(6))
def test_demands_on_alpha_are_never_met_by_name_only(seed: int) -> None:
    # alpha_j = 1 says that w_j may differ from 0: a program may pay for a term it does not use,
    # and the card, which then breaks the demand, must be refused
    program = slim(noisy(12, 3, seed), coef_min=-2, coef_max=2)
    m = program.model
    m.both_or_none = pyo.Constraint(expr=m.alpha[0] == m.alpha[2])
    result = solve(program)
    assert result.card is not None
    assert (result.card.coefficients[0] == 0) == (result.card.coefficients[2] == 0)
    assert result.dual_bound <= result.objective
    if result.origin != "solver":
        assert "the solver was refused: constraint both_or_none" in result.message


def test_a_deactivated_row_only_weakens_the_bound() -> None:
    truth = solve(slim(noisy()))
    program = slim(noisy())
    program.model.positive_rows.deactivate()
    result = solve(program)
    assert result.dual_bound < truth.dual_bound
    # the solver counts too few errors for its own card, so nothing it says of others is believed
    assert result.claim is Claim.FEASIBLE
    assert result.objective >= truth.objective


def test_wide_intercept_bounds_cost_nothing() -> None:
    narrow, wide = slim(noisy()), slim(noisy(), intercept_bounds=[-1e9, 1e9])
    assert wide.statement.intercept == narrow.statement.intercept
    assert not wide.statement.caveat


def test_a_given_threshold_gap_on_decimals_with_contradictions() -> None:
    # T lies exactly on decimal totals here, where 0.1 * 3 and 0.3 differ in floating point
    X = [[0.1, 0.2], [0.1, 0.2], [0.3, 0.1], [0.2, 0.7], [0.2, 0.7], [0.7, 0.1]]
    made = design(X, [1, -1, 1, -1, 1, -1])
    result = solve(slim(made, threshold_gap=0.05, coef_min=-3, coef_max=3))
    plain = solve(slim(made, coef_min=-3, coef_max=3))
    assert "0.05 below T" in result.caveat
    assert (result.claim, result.objective) == (Claim.OPTIMAL, plain.objective)
    assert "refused" not in result.message


def test_auto_keeps_to_a_threshold_gap_that_was_asked_for() -> None:
    # the tree would answer for all thresholds
    X, y = noisy(40, 3, seed=1).X + math.pi / 7, noisy(40, 3, seed=1).y
    asked = solve(slim(design(X, y), max_terms=2, threshold_gap=1e-3))
    assert "0.001 below T" in asked.caveat
    assert solve(slim(design(X, y), max_terms=2)).caveat == ""


def test_a_gap_that_loses_cards_never_lies_about_its_own() -> None:
    # totals 0.1 apart, a gap of 0.35: the best card lies outside the class the caveat names
    made = design([[0.1], [0.2], [0.3], [0.4]], [-1, -1, 1, 1])
    result = solve(slim(made, threshold_gap=0.35, coef_min=0, coef_max=1))
    assert result.card is not None
    assert result.objective == evaluate(slim(made).statement, result.card).objective
    assert result.dual_bound <= result.objective


def test_balanced_classes_weigh_the_same() -> None:
    table, labels = np.array([[0], [1], [1], [1], [2], [2]]), [0, 0, 0, 0, 1, 0]
    balanced = solve(slim(table, labels, class_weight="balanced"))
    assert balanced.loss == pytest.approx(0.1)  # one of five negatives, worth half together
    assert solve(slim(table, labels)).loss == pytest.approx(1 / 6)


def test_one_class_may_lose_all_its_weight() -> None:
    result = solve(hinge(design([[0], [1], [1]], [1, -1, 1], [1, 0, 2])))
    assert (result.claim, result.objective) == (Claim.OPTIMAL, 0.0)


def test_an_optimum_proved_to_the_last_digit_is_claimed() -> None:
    # HiGHS stops its bound one feasibility tolerance below the incumbent
    made = design([[5, 5]] * 3, [1, -1, -1], [1, 2, 3])
    program = hinge(made, coef_min=[0, -2], coef_max=[1, 0], max_terms=1, l0_penalty=1e-3)
    assert solve(program).claim is Claim.OPTIMAL
    zero = hinge(
        made,
        coef_min=[0, -2],
        coef_max=[1, 0],
        max_terms=1,
        l0_penalty=1e-3,
        margin=0.07,
        intercept="zero",
    )
    result = solve(zero)
    assert (result.claim, result.objective) == (Claim.OPTIMAL, 1.0)


def test_bounds_of_the_intercept_move_inwards_to_the_step() -> None:
    # wrong optima come back where an integer column has fractional bounds
    rule = hinge(noisy(), intercept_bounds=[-0.5, 2.5]).statement.intercept
    assert [rule.lower, rule.upper] == [0, 2]
    rule = slim(noisy(values=(0, 2, 4)), intercept_bounds=[-5.5, 1.5]).statement.intercept
    assert [rule.lower, rule.upper, rule.step] == [-4, 0, 2]
    assert hinge(noisy(), intercept="real", intercept_bounds=[-0.5, 2.5]).model.b.bounds == (
        -0.5,
        2.5,
    )


@pytest.mark.parametrize("build", [hinge, risk_score])
def test_an_intercept_at_zero_lies_within_its_bounds(build: Any) -> None:
    more = {"scale": 1} if build is risk_score else {}
    with pytest.raises(FormulationError, match=r"\(2, 7\) leave out 0, where intercept='zero'"):
        build(noisy(), intercept="zero", intercept_bounds=(2, 7), **more)
    rule = build(noisy(), intercept="zero", intercept_bounds=(0, 7), **more).statement.intercept
    assert (rule.kind, rule.lower, rule.upper) == ("zero", 0, 0)


def test_an_intercept_beyond_64_bits_is_evaluated_exactly() -> None:
    made = design([[5], [0]], [1, -1])
    statement = hinge(made, intercept="real").statement
    fine = Fraction(1, 2**61)  # its own multiples fit, those of the step 5 do not
    figures = evaluate(statement, Card(np.array([0]), fine))
    assert figures.exact
    assert figures.loss == float((1 - fine + 1 + fine) / 2)


def test_a_used_term_has_points_where_the_range_ends_at_zero() -> None:
    rng = np.random.default_rng(0)
    data = random_design(rng, 12, 3, [0, 1, 2])
    for low, high in ((0, 3), (-3, 0)):
        program = FORMULATIONS["slim"](data, coef_min=low, coef_max=high)
        program.model.demand = pyo.Constraint(expr=program.model.alpha[1] == 1)
        result = solve(program)
        assert result.claim is Claim.OPTIMAL
        assert result.card is not None
        assert result.card.coefficients[1] != 0


@pytest.mark.parametrize("least_cost", [2.0**-9, 1.0, 64.0])
def test_the_scale_of_the_costs_changes_no_figure(
    least_cost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policy(monkeypatch, highs_session, least_cost=least_cost)
    data = random_design(np.random.default_rng(3), 12, 3, [0, 1, 2])
    program = FORMULATIONS["hinge"](data, max_terms=2, coef_min=-2, coef_max=2, l0_penalty=0.01)
    exact = solve(program)
    assert exact.objective == pytest.approx(exact.dual_bound, abs=1e-9)
    assert exact.trace[-1].dual_bound <= exact.objective + 1e-9
    session = load(program)
    assert (session.scale > 1) == (least_cost > 2.0**-9)
    session.relax()
    relaxed = solve(session)
    assert relaxed.dual_bound == pytest.approx(relaxed.objective, abs=1e-7)
    session.set(l0_penalty=0.05)
    again = FORMULATIONS["hinge"](data, max_terms=2, coef_min=-2, coef_max=2, l0_penalty=0.05)
    assert solve(session).objective == pytest.approx(solve(again.relaxed()).objective, abs=1e-9)
    tree = solve(program, "support_tree")
    assert tree.objective == pytest.approx(solve(again).objective, abs=1e-9)


@pytest.mark.parametrize("name", [*FORMULATIONS, *CONIC_FORMULATIONS])
def test_an_unknown_argument_is_met_with_the_nearest(name: str) -> None:
    build = {**FORMULATIONS, **CONIC_FORMULATIONS}[name]
    with pytest.raises(
        TypeError, match=rf"{name} takes no 'sampel_weight'; did you mean 'sample_w"
    ):
        build(noisy(), sampel_weight=[1.0])
