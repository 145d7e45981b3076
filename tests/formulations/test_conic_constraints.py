"""Conic programs with added constraints, models that are refused, and honest statuses."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from conic_cases import COLUMNS, make

from milpscore.core.errors import (
    FormulationError,
    NotApplicableError,
)
from milpscore.core.result import Claim, Termination
from milpscore.formulations import CONIC_FORMULATIONS
from milpscore.solvers import SOLVERS, Outcome, load, solve
from milpscore.verify.cards import added_violations, check_conic

CONES = ("ecos", "clarabel")
with_cones = pytest.mark.parametrize("solver", CONES)


# ------------------------------------------------------------------ constraints of a user


@with_cones
@pytest.mark.parametrize("name", CONIC_FORMULATIONS)
def test_added_constraints_are_held(name: str, solver: str) -> None:
    free = solve(make(name), solver)
    program = make(name)
    program.subject_to(program.w[0] + 0.25 <= program.w[3], program.w[1] <= 0.5)
    held = solve(program, solver)
    assert held.verified
    assert held.coefficients[0] + 0.25 <= held.coefficients[3] + 1e-6
    assert held.objective > free.objective
    assert held.dual_bound <= held.objective
    assert held.dual_bound >= held.objective - 1e-5
    assert not added_violations(program)
    assert not check_conic(program).violations


@with_cones
@pytest.mark.parametrize("loss", ["hinge", "logistic", "poisson", "squared"])
def test_equations_and_variables_of_ones_own(loss: str, solver: str) -> None:
    program = make("eye", loss)
    top = cp.Variable(name="top")
    returned = program.subject_to(
        cp.sum(program.w) == 1.0, program.w[0] >= 0.0, cp.abs(program.w) <= top, top <= 0.4
    )
    assert returned is program
    assert len(program.added) == 4
    result = solve(program, solver)
    assert result.verified
    assert abs(result.coefficients.sum() - 1.0) < 1e-6
    assert result.coefficients[0] >= -1e-6
    assert np.abs(result.coefficients).max() <= 0.4 + 1e-6
    assert result.dual_bound == pytest.approx(result.objective, abs=1e-5)


@with_cones
def test_a_constraint_that_does_not_bind_changes_nothing(solver: str) -> None:
    free = solve(make("eye"), solver)
    program = make("eye")
    program.subject_to(program.w <= 100.0)
    held = solve(program, solver)
    assert held.claim is Claim.OPTIMAL
    assert held.objective == pytest.approx(free.objective, rel=1e-7)
    np.testing.assert_allclose(held.coefficients, free.coefficients, atol=1e-4)


@pytest.mark.parametrize("bound", [None, 100.0], ids=["free", "constrained"])
def test_a_copy_changes_without_its_original(bound: float | None) -> None:
    program, before = make("eye"), solve(make("eye"))
    if bound is not None:
        program.subject_to(program.w <= bound)
    program.relaxed().set(lam=5.0)
    after = solve(program)
    assert after.claim is Claim.OPTIMAL
    assert after.objective == pytest.approx(before.objective, rel=1e-7)


@pytest.mark.parametrize("bound", [None, 100.0], ids=["free", "constrained"])
def test_parameters_moved_by_hand_make_no_false_optimum(bound: float | None) -> None:
    program, expected = make("eye"), solve(make("eye"))
    if bound is not None:
        program.subject_to(program.w <= bound)
    for part in program.model.parameters():
        part.value = 100.0 * part.value
    result = solve(program)
    assert result.dual_bound <= expected.objective + 1e-8
    if result.claim is Claim.OPTIMAL:
        assert result.objective == pytest.approx(expected.objective, rel=1e-6)


def test_a_point_that_breaks_a_constraint_is_not_verified() -> None:
    program = make("eye")
    program.subject_to(cp.sum(program.w) == 1.0)
    solve(program)
    program.load(program.w.value + 0.01, 0.0)
    found = check_conic(program)
    assert any("is broken by 0.06" in text for text in found.violations)


def test_constraints_survive_the_growth_of_the_grid() -> None:
    program = make("facets", "squared", lam=1e-4, gamma=0.02)
    program.subject_to(program.w[0] <= 0.7)
    result = solve(program)
    assert "the grid was extended to" in result.message
    assert result.verified
    assert len(program.added) == 1
    assert result.coefficients[0] == pytest.approx(0.7, abs=1e-6)
    wide = solve(make("facets", "squared", lam=1e-4, gamma=0.02), "proximal")
    assert wide.coefficients[0] > 0.75
    assert "extended" not in solve(program).message, "it has grown already"


@pytest.mark.parametrize("name", ["facets", "strongly_convex_facets"])
def test_growth_finds_the_true_optimum(name: str) -> None:
    program = make(name, "squared", lam=1e-4, gamma=0.02)
    grown, true = solve(program), solve(program, "proximal")
    assert "the grid was extended to" in grown.message
    assert grown.objective == pytest.approx(true.objective, rel=1e-7)


def test_a_relaxed_copy_has_constraints_of_its_own() -> None:
    program = make("eye")
    program.subject_to(program.w[0] <= 0.1)
    copy = program.relaxed()
    copy.subject_to(copy.w[1] >= 0.0)
    assert (len(program.added), len(copy.added)) == (1, 2)
    assert solve(copy).objective >= solve(program).objective


@with_cones
def test_infeasible_constraints_are_called_so(solver: str) -> None:
    program = make("eye")
    program.subject_to(program.w[0] >= 1.0, program.w[0] <= 0.0)
    result = solve(program, solver)
    assert result.termination is Termination.INFEASIBLE
    assert result.claim is Claim.NONE
    assert not result.verified
    assert "no coefficients meet the constraints you added: loosen one" in result.message


def test_an_objective_without_end_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    program = make("eye")
    program.subject_to(program.w[0] >= 1.0)  # else w = 0 would answer
    outcome = Outcome(Termination.UNBOUNDED, "dual infeasible")
    monkeypatch.setattr(SOLVERS["clarabel"], "run", lambda self, form, options: outcome)
    result = solve(program, "clarabel")
    assert (result.termination, result.claim) == (Termination.UNBOUNDED, Claim.NONE)
    assert "the objective falls without end: raise lam" in result.message


def test_a_solver_that_calls_the_empty_model_infeasible_is_contradicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcome = Outcome(Termination.INFEASIBLE, "PrimalInfeasible")
    monkeypatch.setattr(SOLVERS["clarabel"], "run", lambda self, form, options: outcome)
    result = solve(make("eye"), "clarabel")
    assert result.origin == "empty card"
    assert result.claim is Claim.FEASIBLE
    assert "infeasible although w = 0 is not" in result.message


# ------------------------------------------------------------------ refused models


def test_a_constraint_on_an_auxiliary_variable_is_refused() -> None:
    program = make("eye")
    inner = next(part for part in program.model.variables() if part.name() == "z")
    program.subject_to(inner <= 1.0)
    with pytest.raises(FormulationError, match=r"auxiliary variable z: state it on program\.w"):
        solve(program)


@pytest.mark.parametrize("kind", ["integer", "boolean"])
def test_an_integer_variable_is_refused(kind: str) -> None:
    program = make("eye")
    whole = cp.Variable(COLUMNS, name="k", **{kind: True})
    program.subject_to(program.w == 0.5 * whole)
    with pytest.raises(FormulationError, match=r"variable k is integer.*program.exact\(\)"):
        solve(program)


def test_a_changed_objective_is_refused() -> None:
    program = make("eye")
    program.model = cp.Problem(
        cp.Minimize(program.model.objective.expr + cp.sum(program.w)), program.model.constraints
    )
    with pytest.raises(FormulationError, match="the model's objective is not the one"):
        solve(program)


def test_a_dropped_constraint_is_refused() -> None:
    program = make("eye")
    program.model = cp.Problem(program.model.objective, program.model.constraints[1:])
    with pytest.raises(FormulationError):
        solve(program)


def test_a_constraint_that_is_not_convex_is_refused() -> None:
    program = make("eye")
    program.subject_to(cp.norm(program.w) >= 1.0)
    with pytest.raises(FormulationError, match="CVXPY does not accept the problem"):
        solve(program, "clarabel")


def test_cones_beyond_the_supported_are_refused() -> None:
    program = make("eye")
    program.subject_to(cp.diag(program.w) << np.eye(COLUMNS))
    with pytest.raises(FormulationError, match="semidefinite or power cones"):
        solve(program, "clarabel")


@pytest.mark.parametrize("method", ["card", "fill"])
def test_there_is_no_card(method: str) -> None:
    program = make("eye")
    with pytest.raises(NotApplicableError, match="card"):
        getattr(program, method)(*([None] if method == "fill" else []))


def test_there_is_no_session_and_no_value_before_a_solve() -> None:
    with pytest.raises(NotApplicableError, match="needs no session"):
        load(make("eye"))
    with pytest.raises(NotApplicableError, match="solve it first"):
        make("eye").coefficients()
