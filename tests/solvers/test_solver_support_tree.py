"""The search over supports against HiGHS and enumeration, and its limits."""

from __future__ import annotations

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from formulation_cases import bits, enumerate_hinge, enumerate_slim, integers

from milpscore.constraints import MaxErrors
from milpscore.core.clock import Clock
from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Program
from milpscore.core.result import Claim, Termination
from milpscore.data import make_design, make_planted_score
from milpscore.formulations import hinge, slim
from milpscore.search import start_card
from milpscore.solvers import SOLVERS, load, solve


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("build", "arguments", "truth", "data"),
    [
        (hinge, {"coef_min": -1, "coef_max": 2, "max_terms": 2}, enumerate_hinge, integers),
        (hinge, {"coef_min": -1, "coef_max": 1, "l0_penalty": 0.02}, enumerate_hinge, bits),
        (slim, {"coef_min": -2, "coef_max": 2, "max_terms": 2}, enumerate_slim, integers),
    ],
)
def test_optimum_equals_enumeration(build, arguments, truth, data, seed) -> None:  # type: ignore[no-untyped-def]
    design = data(np.random.default_rng(seed))
    result = solve(build(design, **arguments), "support_tree")
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(truth(design, arguments).objective, abs=1e-9)
    assert result.solver == "support_tree"


def planted(noise: float = 0.1) -> Program:
    X, y, _ = make_planted_score(300, 12, n_terms=4, noise=noise, random_state=3)
    return hinge(make_design(X, y), max_terms=4, coef_min=-3, coef_max=3)


def test_agrees_with_highs_on_more_rows() -> None:
    program = planted()
    first = solve(program, "highs", time_limit=60)
    second = solve(program, "support_tree", warm_start=start_card(program), time_limit=60)
    assert first.claim is second.claim is Claim.OPTIMAL
    assert first.objective == pytest.approx(second.objective, abs=1e-6)


def test_bound_rises_and_never_passes_the_optimum() -> None:
    program = planted(noise=0.3)
    optimum = solve(program, time_limit=60).objective
    result = solve(program, "support_tree", node_limit=9, warm_start=start_card(program))
    assert result.termination is Termination.NODE_LIMIT
    bounds = [point.dual_bound for point in result.trace]
    assert bounds == sorted(bounds)
    assert result.dual_bound <= optimum + 1e-9
    assert result.objective >= optimum - 1e-9


def test_user_constraints_hold() -> None:
    program = planted()
    free = solve(program, "support_tree")
    used = int(np.flatnonzero(free.coefficients)[0])
    program.model.forbid = pyo.Constraint(expr=program.model.w[used] == 0)
    bound = solve(program, "support_tree")
    assert bound.coefficients[used] == 0
    assert bound.objective >= free.objective - 1e-12
    assert bound.objective == pytest.approx(solve(program, "highs").objective, abs=1e-6)


def test_same_answer_twice() -> None:
    first, second = (solve(planted(), "support_tree", node_limit=30) for _ in range(2))
    assert first.card == second.card
    assert first.dual_bound == second.dual_bound


def test_needs_terms_to_decide() -> None:
    X, y, _ = make_planted_score(50, 3, n_terms=2, random_state=0)
    design = make_design(X, y)
    with pytest.raises(NotApplicableError, match="highs"):
        solve(hinge(design), "support_tree")
    with pytest.raises(NotApplicableError, match="highs"):
        solve(hinge(design, max_terms=2).relaxed(), "support_tree")


def test_the_time_limit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = itertools.count()  # a look at the clock takes a hundredth of its seconds
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: next(looks) / 100))
    X, y, _ = make_planted_score(1500, 25, n_terms=8, noise=0.3, random_state=1)
    program = slim(make_design(X, y), max_terms=8)
    result = solve(program, "support_tree", time_limit=1.5)
    assert result.termination is Termination.TIME_LIMIT
    assert result.solve_seconds < 4


def test_a_session_may_solve_its_relaxation_for_longer_than_one_limit() -> None:
    X, y, _ = make_planted_score(200, 10, random_state=1)
    session = load(hinge(make_design(X, y)))
    session.relax()
    limit = 300.0
    for _ in range(3):
        session.highs.clearSolver()
        spent = session.highs.getRunTime()
        assert solve(session, time_limit=limit).termination is Termination.COMPLETED
        assert spent < session.highs.getOptionValue("time_limit")[1] - 0.9 * limit
        assert session.highs.getRunTime() > spent


def test_auto_takes_the_tree_for_many_rows_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    program = planted()
    assert solve(program).solver == "highs"
    monkeypatch.setattr(SOLVERS["support_tree"], "ROWS", 100)
    assert solve(program, node_limit=2).solver == "support_tree"
    assert solve(program.relaxed()).solver == "highs"
    slim_program = slim(program.statement.design, max_terms=2)
    assert solve(slim_program, node_limit=1).solver == "tree"
    priced = slim(program.statement.design)
    assert solve(priced, node_limit=1).solver == "tree"
    # without limit or price the tree chooses points, HiGHS rows that are wrong: the fewer of both
    free = slim(program.statement.design, l0_penalty=0.0)
    assert solve(free, node_limit=1).solver == "tree"
    parted = slim(np.eye(30, dtype=int), [0, 1] * 15, l0_penalty=0.0)
    assert solve(parted, node_limit=1).solver == "highs"


def test_the_card_found_within_limits_on_errors_is_not_forgotten() -> None:
    design = make_design(np.array([[-2.0], [1.0]]), np.array([0, 1]))
    limits = [MaxErrors(share=0.2)]
    program = slim(design, constraints=limits, coef_min=-18, coef_max=7, l0_penalty=0.2)
    result = solve(program, "support_tree", time_limit=60)
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(0.2)  # w = 1 with T = 1 makes no error
