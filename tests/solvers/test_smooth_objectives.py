"""Objectives of one's own under smooth losses, against every card."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from risk_cases import LOSSES, omega, small

from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.result import Claim, Termination
from milpscore.formulations import risk_score, survival_score
from milpscore.solvers import epsilon_front, lexicographic, load, minimax, minimize, solve
from milpscore.verify import check

BOX: dict[str, Any] = {"scale": 1.0, "coef_min": -2, "coef_max": 2}
DATA = small(7, n=18)
GROUPS = np.array(["a", "b", "c"])[np.random.default_rng(7).integers(0, 3, 18)]
VARIANTS: list[dict[str, Any]] = [
    {},
    {"intercept": "real"},
    {"intercept": "zero", "penalty": "l2", "lam": 0.01},
    {"penalty": "l1", "lam": 0.03},
    {"max_terms": 2, "scale": 2.0, "l0_penalty": 0.01},
]

CASES = [
    pytest.param(loss, variant, id=f"{loss} {variant}")
    for loss in LOSSES
    for variant in VARIANTS
    if loss == "logistic" or "real" not in variant.values()
]


def means(w: Any, b: float, loss: str, scale: float = 1.0) -> list[float]:
    """The mean loss of each group of the raw rows, and of all rows."""
    rows = LOSSES[loss]((DATA.X @ np.asarray(w, dtype=float) + b) / scale, DATA.y)
    sets = [*(g == GROUPS for g in "abc"), np.ones(len(rows), bool)]
    return [
        math.fsum((rows * DATA.weight)[each].tolist()) / DATA.weight[each].sum() for each in sets
    ]


def worst(w: Any, b: float, loss: str, scale: float = 1.0) -> float:
    return max(means(w, b, loss, scale)[:3])


def points() -> Iterator[tuple[int, ...]]:
    return itertools.product(range(-2, 3), repeat=3)


@cache
def cards() -> list[tuple[tuple[int, ...], int, list[float]]]:
    """All points and whole intercepts with their mean losses, scale 1."""
    return [(w, b, means(w, b, "logistic")) for w in points() for b in range(-12, 13)]


def best_worst(loss: str, given: dict[str, Any]) -> float:
    """The least over all cards of the worst group's loss and the penalty."""
    kind, scale = given.get("intercept", "integer"), given.get("scale", 1.0)
    best = math.inf
    for w in points():
        terms = int(np.count_nonzero(w))
        if terms > given.get("max_terms", 3):
            continue
        charge = given.get("l0_penalty", 1e-6) * terms
        charge += given.get("lam", 0.0) * omega(given.get("penalty", "none"), w, None)
        if kind == "real":
            low, high = -40.0, 40.0  # a convex function of b
            for _ in range(120):
                first, second = (2 * low + high) / 3, (low + 2 * high) / 3
                if worst(w, first, loss, scale) <= worst(w, second, loss, scale):
                    high = second
                else:
                    low = first
            best = min(best, charge + worst(w, low, loss, scale))
            continue
        for b in (0,) if kind == "zero" else range(-12, 13):
            best = min(best, charge + worst(w, b, loss, scale))
    return best


@pytest.mark.parametrize(("loss", "variant"), CASES)
def test_the_worst_group_over_all_cards(loss: str, variant: dict[str, Any]) -> None:
    given = {**BOX, **variant}
    program = risk_score(DATA, loss=loss, **given)
    assert len(DATA.merged.y) < len(DATA.y)
    result = solve(minimax(program, GROUPS), time_limit=300)
    best = best_worst(loss, given)
    assert (result.claim, result.solver) == (Claim.OPTIMAL, "outer_approximation")
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert result.dual_bound <= best * (1 + 1e-12)
    card = result.card
    assert card is not None
    now = means(card.coefficients, float(card.intercept), loss, given["scale"])
    true = max(now[:3]) + program.statement.penalty(card.coefficients)
    assert result.objective == pytest.approx(true, rel=1e-14)
    assert result.loss == pytest.approx(now[3], rel=1e-14)


def test_a_real_intercept_is_not_called_better_proved_than_it_is() -> None:
    # a bound within 1e-9 was taken for the objective: that of another intercept is less
    program = minimax(risk_score(DATA, intercept="real", **BOX), GROUPS)
    result = solve(program, time_limit=300)
    assert result.dual_bound < result.objective


def test_the_worst_group_of_a_relaxation() -> None:
    program = minimax(risk_score(DATA, **BOX), GROUPS)
    relaxed, exact = solve(program.relaxed()), solve(program, time_limit=300)
    assert relaxed.claim is Claim.OPTIMAL
    assert relaxed.objective <= exact.objective
    assert relaxed.coefficients is not None
    assert relaxed.intercept is not None
    assert relaxed.loss == pytest.approx(
        means(relaxed.coefficients, relaxed.intercept, "logistic")[3], rel=1e-9
    )


def test_changes_in_place_sessions_and_second_solves() -> None:
    program = minimax(risk_score(DATA, max_terms=2, **BOX), GROUPS)
    session = load(minimax(risk_score(DATA, max_terms=2, **BOX), GROUPS))
    changes: list[dict[str, Any]] = [{}, {}, {"l0_penalty": 0.05}, {"max_terms": 1}]
    given = {**BOX, "max_terms": 2}
    for change in changes:
        given = {**given, **change}
        best = best_worst("logistic", given)
        for each in (program, session):
            each.set(**change)
            result = solve(each, time_limit=300)
            assert result.claim is Claim.OPTIMAL
            assert result.objective == pytest.approx(best, rel=1e-9)
            assert result.dual_bound <= best
    with pytest.raises(FormulationError, match="the Var worst was added"):
        program.set(scale=2.0)


def test_the_file_of_a_worst_group_holds_its_tangents(tmp_path: Any) -> None:
    program = minimax(risk_score(DATA, **BOX), GROUPS)
    with pytest.raises(FormulationError, match="no tangent of it yet"):
        program.write(tmp_path / "none.lp")
    result = solve(program, time_limit=300)
    assert len(program.model.cuts) == 0  # nothing speaks of the mean loss
    assert len(program.model.worst_cuts) >= 3
    program.write(tmp_path / "some.lp")
    bound = solve(program, "highs", time_limit=300)  # of the tangents there are
    assert bound.dual_bound == pytest.approx(result.objective, rel=1e-5)


OWN: dict[str, tuple[Callable[[Any], Any], Callable[[Any, float], float]]] = {
    "a second price": (
        lambda m: m.loss + 0.05 * m.w[0] - 0.03 * m.w[2],
        lambda w, loss: loss + 0.05 * w[0] - 0.03 * w[2],
    ),
    "below 0": (lambda m: 2 * m.w[0] + m.w[1] - 3, lambda w, _: 2.0 * w[0] + w[1] - 3),
    "0 at best": (lambda m: m.w[0] + m.w[1] + 4, lambda w, _: float(w[0] + w[1] + 4)),
    "far above": (lambda m: 1e5 * m.loss + 3e3 * m.w[1], lambda w, loss: 1e5 * loss + 3e3 * w[1]),
}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("most", [math.inf, 0.45])
def test_the_least_of_an_own_objective_within_a_limit_on_the_loss(name: str, most: float) -> None:
    expression, value = OWN[name]
    program = minimize(risk_score(DATA, **BOX), expression)
    if math.isfinite(most):
        program.model.limit = pyo.Constraint(expr=program.model.loss <= most)
    best = min(value(w, each[3]) for w, _, each in cards() if each[3] <= most)
    result = solve(program, time_limit=300)
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert result.dual_bound <= best + 1e-9 * max(1.0, abs(best))
    assert result.loss <= most


def test_one_objective_after_the_other_over_all_cards() -> None:
    program = minimax(risk_score(DATA, **BOX), GROUPS)
    stages = lexicographic(
        program, [lambda m: m.worst, "terms", "loss"], tolerance=0.5, time_limit=300
    )
    known = [(max(each[:3]), int(np.count_nonzero(w)), each[3]) for w, _, each in cards()]
    first = min(known)[0]
    assert stages[0].value == pytest.approx(first, rel=1e-6)
    good = [card for card in known if card[0] <= 1.5 * stages[0].value]
    assert stages[1].value == min(terms for _, terms, _ in good)
    kept = [loss for _, terms, loss in good if terms <= 1.5 * stages[1].value]
    assert stages[2].value == pytest.approx(min(kept), rel=1e-6)
    assert all(stage.result.claim is Claim.OPTIMAL for stage in stages)


def test_a_front_of_the_worst_group_over_limits_on_terms_and_loss() -> None:
    program = minimax(risk_score(DATA, **BOX), GROUPS)
    known = [
        (max(each[:3]) + 1e-6 * np.count_nonzero(w), np.count_nonzero(w), each[3])
        for w, _, each in cards()
    ]
    for stage in epsilon_front(program, "terms", [0, 1, 2, 3], time_limit=300):
        best = min(value for value, terms, _ in known if terms <= stage.value)
        assert stage.result.claim is Claim.OPTIMAL
        assert stage.result.objective == pytest.approx(best, rel=1e-6)
        assert stage.result.dual_bound <= best
    plain = min(loss for _, _, loss in known)
    front = epsilon_front(program, "loss", [1.01 * plain, 2 * plain], time_limit=300)
    for stage in front:
        best = min(value for value, _, loss in known if loss <= stage.value)
        assert stage.result.claim is Claim.OPTIMAL
        assert stage.result.objective == pytest.approx(best, rel=1e-6)
    assert front[1].result.objective > front[0].result.objective  # the limit binds


def test_what_has_no_bound_says_so() -> None:
    result = solve(minimize(risk_score(DATA, **BOX), lambda m: -m.loss), time_limit=300)
    assert result.termination is Termination.UNBOUNDED
    assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, -math.inf)
    assert "falls as it rises" in result.message


def test_what_tangents_cannot_hold_is_refused_with_words() -> None:
    free = risk_score(DATA, coef_min=-2, coef_max=2)
    with pytest.raises(NotApplicableError, match="give scale"):
        minimax(free, GROUPS)
    with pytest.raises(NotApplicableError, match="give scale"):
        minimize(free, "loss")
    free.model.mine = pyo.Objective(expr=free.model.w[0])
    free.model.objective.deactivate()
    with pytest.raises(FormulationError, match="give scale"):
        solve(free)
    timed = survival_score(DATA.X, time=np.arange(1.0, 19.0), event=DATA.y > 0, scale=1.0)
    with pytest.raises(NotApplicableError, match="minimax needs a 0-1, a hinge or a risk"):
        minimax(timed, GROUPS)
    program = minimax(risk_score(DATA, **BOX), GROUPS)
    with pytest.raises(NotApplicableError, match="a part called 'worst'"):
        minimax(program, GROUPS)
    with pytest.raises(NotApplicableError, match="worst was added"):
        solve(program, "tree")


def test_the_plain_card_is_no_better_at_the_worst_group() -> None:
    program = risk_score(DATA, **BOX)
    fair, plain = minimax(program, GROUPS), solve(program, "outer_approximation")
    assert plain.card is not None
    result = solve(fair, warm_start=plain.card, time_limit=300)
    assert check(fair, plain.card).objective >= result.objective
