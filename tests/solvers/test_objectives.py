"""Objectives of one's own, against every card."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from designs import noisy

from milpscore.core.card import Card
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Claim
from milpscore.formulations import eye, hinge, ordinal, slim
from milpscore.solvers import epsilon_front, lexicographic, load, minimax, minimize, solve
from milpscore.verify import check, evaluate

SMALL: dict[str, Any] = {"coef_min": -2, "coef_max": 2}
DATA = noisy(40, 3)
GROUPS = np.arange(40) % 3


def every_card(program: Program) -> Iterator[Card]:
    """All cards of three columns, at each threshold or whole intercept."""
    statement = program.statement
    rule = statement.intercept
    assert rule.step is not None
    count = int((rule.upper - rule.lower) / rule.step)
    cuts = [rule.lower + k * rule.step for k in range(count + 1)]
    for points in itertools.product(range(-2, 3), repeat=3):
        for cut in cuts:
            yield Card(np.array(points, dtype=np.int64), cut)


def least(program: Program, value: Callable[[Card], float]) -> float:
    return min(value(card) for card in every_card(program))


def mean_losses(program: Program, card: Card) -> np.ndarray:
    """The mean loss of each group, from the raw rows."""
    design, loss = program.statement.design, program.statement.loss
    scores = card.totals(design.X) + float(card.intercept)
    if program.formulation == "slim":
        rows = ((scores >= 0) != (design.y > 0)).astype(float)
    else:
        rows = np.maximum(0.0, 1.0 - design.y * scores / loss.margin)  # type: ignore[attr-defined]
    means = [np.average(rows[g == GROUPS], weights=design.weight[g == GROUPS]) for g in range(3)]
    return np.array(means)


OWN: dict[str, tuple[Callable[[Any], Any], Callable[[Program, Card], float]]] = {
    "a second price": (
        lambda m: m.loss + m.penalty + 0.05 * m.w[0] - 0.03 * m.w[2],
        lambda program, card: (
            evaluate(program.statement, card).objective
            + 0.05 * card.coefficients[0]
            - 0.03 * card.coefficients[2]
        ),
    ),
    "below 0": (
        lambda m: 2 * m.w[0] + m.w[1] - 3,
        lambda program, card: 2.0 * card.coefficients[0] + card.coefficients[1] - 3,
    ),
    "half the loss": (
        lambda m: 0.5 * m.loss - 0.01 * m.w[1],
        lambda program, card: (
            0.5 * evaluate(program.statement, card).loss - 0.01 * card.coefficients[1]
        ),
    ),
}
OTHER = {"loss": "points", "penalty": "loss"}


@pytest.mark.parametrize("build", [slim, hinge])
@pytest.mark.parametrize("name", OWN)
def test_the_least_of_an_own_objective_over_all_cards(build: Any, name: str) -> None:
    expression, value = OWN[name]
    program = build(DATA, **SMALL)
    best = least(program, lambda card: value(program, card))
    result = solve(minimize(program, expression), time_limit=300)
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(best, abs=1e-8)
    assert result.dual_bound <= best + 1e-8
    assert result.card is not None
    assert value(program, result.card) == pytest.approx(result.objective, abs=1e-8)
    assert result.loss == evaluate(program.statement, result.card).loss
    assert result.message == "what is minimised is the model's own_objective"
    assert result.solver == "highs"
    relaxed = solve(minimize(program.relaxed(), expression))
    assert relaxed.claim is Claim.OPTIMAL
    assert relaxed.objective <= best + 1e-8
    assert program.own_objective is None
    assert solve(program).objective == least(
        program, lambda card: evaluate(program.statement, card).objective
    )


@pytest.mark.parametrize("build", [slim, hinge])
def test_the_worst_group_over_all_cards(build: Any) -> None:
    program = build(DATA, l1_penalty=0.001, **SMALL)
    best = least(
        program,
        lambda card: (
            mean_losses(program, card).max() + program.statement.penalty(card.coefficients)
        ),
    )
    worst = minimax(program, GROUPS)
    result = solve(worst, time_limit=300)
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(best, abs=1e-9)
    assert result.card is not None
    true = mean_losses(program, result.card).max() + program.statement.penalty(
        result.card.coefficients
    )
    assert result.objective == pytest.approx(true, abs=1e-12)
    # a plain card leaves some group worse
    plain = solve(program).card
    assert plain is not None
    assert check(worst, plain).objective >= result.objective - 1e-12


def test_the_worst_group_at_a_margin_set_later() -> None:
    program = minimax(hinge(DATA, **SMALL), GROUPS)
    new = solve(minimax(hinge(DATA, margin=4, **SMALL), GROUPS), time_limit=300)
    session = load(minimax(hinge(DATA, **SMALL), GROUPS))
    for changed in (program, session):
        changed.set(margin=4)
        result = solve(changed, time_limit=300)
        assert result.claim is new.claim is Claim.OPTIMAL
        assert result.objective == pytest.approx(new.objective, abs=1e-9)
    assert new.card is not None
    program.fill(new.card)
    assert program.model.worst.value == pytest.approx(
        mean_losses(program, new.card).max(), abs=1e-12
    )


def test_an_objective_takes_the_place_of_an_own_one() -> None:
    program = hinge(DATA, **SMALL)
    again = minimax(minimize(program, "loss"), GROUPS)
    assert solve(again).objective == solve(minimax(program, GROUPS)).objective
    twice = minimize(again, lambda m: m.own_objective.expr + m.w[0])
    assert solve(twice).objective < solve(again).objective


def test_a_session_hears_of_what_its_own_rows_speak_of() -> None:
    def limited(build: Any, part: str, most: float, **given: Any) -> Program:
        program: Program = minimize(build(DATA, l1_penalty=0.01, **SMALL, **given), OTHER[part])
        program.model.own = pyo.Constraint(expr=program.model.component(part) <= most)
        return program

    cases: list[tuple[Any, str, float, dict[str, float], dict[str, float]]] = [
        (hinge, "loss", 0.6, {"margin": 1}, {"margin": 2}),
        (slim, "penalty", 0.05, {"l0_penalty": 0.001}, {"l0_penalty": 0.02}),
    ]
    for build, part, most, given, changed in cases:
        first = limited(build, part, most, **given)
        before, session = solve(first).objective, load(first)
        session.set(**changed)
        mine, new = solve(session), solve(limited(build, part, most, **{**given, **changed}))
        assert mine.claim is new.claim is Claim.OPTIMAL
        assert mine.objective == pytest.approx(new.objective, abs=1e-9) != before


def test_one_objective_after_the_other_over_all_cards() -> None:
    program = slim(DATA, l1_penalty=1e-4, **SMALL)
    figures = [
        (
            round(evaluate(program.statement, card).loss, 12),
            int(np.count_nonzero(card.coefficients)),
            int(np.abs(card.coefficients).sum()),
        )
        for card in every_card(program)
    ]
    stages = lexicographic(program, ["loss", "terms", "points"], time_limit=300)
    assert [stage.name for stage in stages] == ["loss", "terms", "points"]
    assert [stage.value for stage in stages] == pytest.approx(list(min(figures)), abs=1e-9)
    assert all(stage.result.claim is Claim.OPTIMAL for stage in stages)
    loose = lexicographic(program, ["loss", "terms"], tolerance=0.5, time_limit=300)
    kept = 1.5 * min(figures)[0]
    assert loose[1].value == min(terms for loss, terms, _ in figures if loss <= kept + 1e-9)


def test_stages_after_a_value_of_zero_are_proved() -> None:
    X = np.random.default_rng(0).integers(0, 2, (30, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] >= 2).astype(int)
    values: dict[str, Callable[[Program, Card], float]] = {
        "loss": lambda program, card: round(evaluate(program.statement, card).loss, 12),
        "points": lambda _, card: int(np.abs(card.coefficients).sum()),
        "own": lambda _, card: int(card.coefficients[0]) + 2,
    }
    own: dict[str, Any] = {"own": lambda m: 0.1 * m.w[0] + 0.3 - 0.1}
    orders = (["loss", "points"], ["points", "loss"], ["own", "points"])
    for build, order in itertools.product((hinge, slim), orders):
        program = build(X, y, l1_penalty=0.001, **SMALL)
        stages = lexicographic(program, [own.get(name, name) for name in order], time_limit=300)
        best = min(
            tuple(values[name](program, card) for name in order) for card in every_card(program)
        )
        assert all(stage.result.claim is Claim.OPTIMAL for stage in stages)
        scale = [0.1 if name in own else 1.0 for name in order]
        wanted = [value * unit for value, unit in zip(best, scale, strict=True)]
        assert [stage.value for stage in stages] == pytest.approx(wanted, abs=1e-9)


def test_the_stated_objective_stated_again_is_no_change() -> None:
    program = hinge(DATA, **SMALL)
    result = solve(minimize(program, "objective"))
    assert result.objective == solve(program).objective
    assert result.message == ""


def test_a_front_over_limits_against_all_cards() -> None:
    program = slim(DATA, l1_penalty=1e-4, **SMALL)
    stages = epsilon_front(program, "points", [1, 0, 6, 3], time_limit=300)
    assert [stage.value for stage in stages] == [6, 3, 1, 0]
    for stage in stages:
        best = min(
            evaluate(program.statement, card).objective
            for card in every_card(program)
            if np.abs(card.coefficients).sum() <= stage.value
        )
        assert stage.result.claim is Claim.OPTIMAL
        assert stage.result.objective == pytest.approx(best, abs=1e-12)


def test_constraints_of_ones_own_stay_in_the_copy() -> None:
    program = slim(DATA, **SMALL)
    program.model.own = pyo.Constraint(expr=program.model.w[0] >= 1)
    result = solve(minimize(program, lambda m: m.w[0] + m.loss))
    assert result.card is not None
    assert result.card.coefficients[0] == 1


def test_a_session_and_other_engines() -> None:
    mine = minimize(slim(DATA, **SMALL), lambda m: m.loss + 0.1 * m.w[0])
    result = solve(load(mine))
    assert result.claim is Claim.OPTIMAL
    for engine in ("tree", "support_tree"):
        with pytest.raises(NotApplicableError):
            solve(mine, engine)
    opinion = solve(mine, second_opinion=True)
    assert "no second opinion" in opinion.message


def test_what_cannot_be_minimised_is_refused_with_words() -> None:
    program = slim(DATA, l0_penalty=0.0, **SMALL)
    with pytest.raises(NotApplicableError, match="a conic program"):
        minimize(eye(DATA.X, DATA.y, expert=["x0"], lam=0.1), "loss")
    with pytest.raises(NotApplicableError, match="minimax needs a 0-1, a hinge or a risk"):
        minimax(ordinal(DATA), GROUPS)
    with pytest.raises(OptionError, match="one group for each of the 40 rows"):
        minimax(program, GROUPS[:5])
    with pytest.raises(OptionError, match="no objective 'lost': known are"):
        minimize(program, "lost")
    with pytest.raises(OptionError, match="a name or a function"):
        minimize(program, 3)  # type: ignore[arg-type]
    with pytest.raises(NotApplicableError, match="max_terms or l0_penalty"):
        minimize(program, "terms")
    for limits in ([], [1.0, float("nan")]):
        with pytest.raises(OptionError, match="limits must be numbers, at least one"):
            epsilon_front(program, "loss", limits)
    with pytest.raises(OptionError, match="needs objectives"):
        lexicographic(program, [])
    joint = slim(DATA, **SMALL)
    with pytest.raises(FormulationError, match="big_m"):
        solve(minimize(joint, lambda m: m.loss + 0.1 * m.T))
