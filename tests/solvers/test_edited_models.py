"""A model edited by hand: what is claimed holds for the model as it stands, or is refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

from milpscore.certificate import certify
from milpscore.core.card import Card
from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result, Termination
from milpscore.formulations import hinge, risk_score, slim
from milpscore.pools import pareto, pool
from milpscore.solvers import load, solve
from milpscore.verify import evaluate

Allowed = Callable[[tuple[int, ...], int], bool]
BUILDERS = {"slim": slim, "hinge": hinge, "risk_score": risk_score}
REACH = 3


def program_of(kind: str, seed: int) -> Program:
    """A tiny program whose cards can all be tried."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 3, (9, 3)), columns=list("abc"))
    y = np.array(X["a"] - X["b"] + rng.normal(0, 0.8, 9) > 0, dtype=int)
    y[:2] = 0, 1
    more = {"scale": 2.0} if kind == "risk_score" else {}
    return BUILDERS[kind](
        X, y, max_terms=2, coef_min=-1, coef_max=1, l0_penalty=0.01,
        intercept_bounds=(-REACH, REACH), **more,
    )  # fmt: skip


def edit(program: Program, rng: np.random.Generator) -> Allowed:
    """Edit the model in one of many ways; what it allows from then on."""
    m, j = program.model, int(rng.integers(3))
    cut = next(m.component(name) for name in ("T", "b") if m.component(name) is not None)
    sign = -1 if cut.name == "T" else 1
    end = int(rng.integers(-2, 3))

    def upper(bound: Any) -> Allowed:
        return lambda w, b: sign * b <= bound

    ways: list[Callable[[], Allowed]] = [
        lambda: (m.w[j].setub(0), lambda w, b: w[j] <= 0)[1],
        lambda: (m.w[j].setlb(0), lambda w, b: w[j] >= 0)[1],
        lambda: (m.w[j].fix(1), lambda w, b: w[j] == 1)[1],
        lambda: (m.w[j].fix(0), lambda w, b: w[j] == 0)[1],
        lambda: (m.alpha[j].setub(0), lambda w, b: w[j] == 0)[1],
        lambda: (m.alpha[j].fix(0), lambda w, b: w[j] == 0)[1],
        lambda: (cut.setub(end), upper(end))[1],
        lambda: (cut.fix(end), lambda w, b: sign * b == end)[1],
        lambda: (setattr(m.w[j], "domain", pyo.NonNegativeIntegers), lambda w, b: w[j] >= 0)[1],
        lambda: (m.used_above[j].set_value(m.w[j] <= 0), lambda w, b: w[j] <= 0)[1],
        lambda: (
            m.add_component("mine", pyo.Constraint(expr=m.w[0] + m.w[1] + m.w[2] <= end)),
            lambda w, b: sum(w) <= end,
        )[1],
    ]
    return ways[int(rng.integers(len(ways)))]()


def best_of(program: Program, allowed: Allowed) -> float:
    """The least objective of all cards that the edited model allows, by trying every one."""
    statement, least = program.statement, math.inf
    for w in itertools.product((-1, 0, 1), repeat=3):
        for b in range(-REACH, REACH + 1):
            if sum(v != 0 for v in w) <= 2 and allowed(w, b):
                figures = evaluate(statement, Card(np.array(w), Fraction(b)))
                if figures.feasible:
                    least = min(least, figures.objective)
    return least


def holds(result: Result, program: Program, allowed: Allowed) -> None:
    """Hold a result against every card of the edited model."""
    least = best_of(program, allowed)
    if result.card is None:
        assert math.isinf(least), result.message
        return
    w, b = tuple(result.card.coefficients.tolist()), int(result.card.intercept)
    assert allowed(w, b), result
    assert result.objective >= least - 1e-9
    assert result.dual_bound <= least + 1e-6
    assert result.claim is Claim.OPTIMAL, result.message


@pytest.mark.parametrize("when", ["before", "after the load", "between two solves"])
@pytest.mark.parametrize("kind", BUILDERS)
def test_claims_hold_for_the_model_as_it_stands(kind: str, when: str) -> None:
    for seed in range(22):
        rng = np.random.default_rng(seed)
        program = program_of(kind, seed)
        if when == "before":
            allowed = edit(program, rng)
            holds(solve(program, progress=False, node_limit=5000), program, allowed)
            continue
        session = load(program)
        if when == "between two solves":
            holds(solve(session, progress=False, node_limit=5000), program, lambda w, b: True)
        allowed = edit(program, rng)
        holds(solve(session, progress=False, node_limit=5000), program, allowed)


def test_the_message_names_what_was_edited() -> None:
    program = program_of("slim", 0)
    program.model.w[0].setub(0)
    result = solve(program, progress=False)
    assert result.solver == "highs"
    assert "the model was changed by hand (the bounds of w[0] were changed)" in result.message
    assert "the bounds of w[0] were changed" in program.relaxed().exact().added_by_user()
    untouched = program_of("slim", 0)
    assert untouched.exact().added_by_user() == untouched.relaxed().added_by_user() == ""


@pytest.mark.parametrize("kind", ["slim", "risk_score"])
def test_pools_and_certificates_refuse_an_edited_model_by_name(kind: str) -> None:
    program = program_of(kind, 1)
    program.model.alpha[1].setub(0)
    with pytest.raises(NotApplicableError, match=r"the bounds of alpha\[1\] were changed"):
        pool(program, epsilon=0.1)
    result = solve(program, progress=False)
    assert result.card is not None
    with pytest.raises(NotApplicableError, match=r"the bounds of alpha\[1\] were changed"):
        certify(program, result)
    for k, found in pareto(program, progress=False).results.items():
        assert found.card is None or found.card.coefficients[1] == 0, k


@pytest.mark.parametrize("kind", BUILDERS)
def test_edits_of_the_objective_are_refused(kind: str) -> None:
    def price(m: Any) -> None:
        m.l0_penalty.set_value(0.5)

    def loss(m: Any) -> None:
        m.loss.set_value(2 * m.loss.expr)

    def objective(m: Any) -> None:
        m.objective.set_value(m.loss + 3 * m.penalty)

    for change in (price, loss, objective):
        for loaded in (False, True):
            program = program_of(kind, 2)
            target = load(program) if loaded else program
            change(program.model)
            if change is objective:  # one of the user's own, and said so
                result = solve(target, progress=False)
                assert "what is minimised is the model's objective" in result.message
                assert result.objective == pytest.approx(result.loss + 3 * result.penalty, abs=1e-9)
                continue
            with pytest.raises(FormulationError, match=r"objective|stated"):
                solve(target, progress=False)
    program = program_of(kind, 2)
    program.set(l0_penalty=0.5)
    assert program.added_by_user() == ""
    assert solve(program, progress=False).claim is Claim.OPTIMAL


@pytest.mark.parametrize("solver", ["highs", "support_tree"])
def test_a_row_that_no_card_meets_by_its_own_errors_is_explained(solver: str) -> None:
    program = program_of("slim", 0)
    z = program.model.z
    program.model.mine = pyo.Constraint(expr=sum(z.values()) >= 6)
    result = solve(program, solver)
    assert (result.claim, result.termination) == (Claim.NONE, Termination.INACCURATE)
    assert "none is ruled out: what was added to the model may ask" in result.message
    assert "before the stop" not in result.message


def test_rows_let_off_are_named_and_nothing_false_is_claimed() -> None:
    program = program_of("slim", 3)
    for i in list(program.model.positive_rows)[:3]:
        program.model.positive_rows[i].deactivate()
    result = solve(program, progress=False)
    assert "positive_rows" in result.message
    assert result.dual_bound <= best_of(program, lambda w, b: True) + 1e-9
