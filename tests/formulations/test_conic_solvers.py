"""The solvers of conic programs: options, refusals, absent or failing solvers, statuses."""

from __future__ import annotations

import builtins
import re
from dataclasses import replace
from typing import Any

import clarabel
import numpy as np
import pytest
from conic_cases import make, table
from cvxpy.reductions.solvers.conic_solvers.ecos_conif import ECOS

from milpscore.core.errors import (
    MissingDependencyError,
    NotApplicableError,
    OptionError,
)
from milpscore.core.result import Claim, Termination
from milpscore.formulations import eye, slim
from milpscore.solvers import SOLVERS, Outcome, solve

CONES = ("ecos", "clarabel")
with_cones = pytest.mark.parametrize("solver", CONES)


# ------------------------------------------------------------------ solvers and options


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"mip_gap": 0.1}, OptionError, "mip_gap"),
        ({"tool": 1e-9}, OptionError, "tol"),
        ({"tol": 0.0}, OptionError, "tol"),
        ({"max_iter": 0}, OptionError, "max_iter"),
        ({"time_limit": -1}, OptionError, "time_limit"),
        ({"zero_tol": 1.0}, OptionError, "zero_tol"),
        ({"verbose": 1}, OptionError, "verbose"),
        ({"solver": "eecos"}, OptionError, "no solver 'eecos'; did you mean ecos"),
        ({"solver": "highs"}, NotApplicableError, "eye is a conic program: use ecos"),
        ({"solver": "support_tree"}, NotApplicableError, "eye is a conic program"),
        ({"solver": "ecos", "time_limit": 5.0}, OptionError, "cannot be stopped by the clock"),
        ({"solver": "proximal", "time_limit": 5.0}, OptionError, "time_limit"),
        ({"options": {"clarabel": 1}}, OptionError, "options"),
        ({"options": {"nobody": {}}}, OptionError, "nobody"),
        (
            {"solver": "clarabel", "options": {"clarabel": {"tol_feas": 1.0}}},
            OptionError,
            "use tol",
        ),
        ({"solver": "ecos", "options": {"ecos": {"max_iters": 1}}}, OptionError, "max_iter"),
        (
            {"solver": "clarabel", "options": {"clarabel": {"max_step": 0.9}}},
            OptionError,
            "did you mean .*max_step_fraction",
        ),
        (
            {"solver": "clarabel", "options": {"clarabel": {"max_step_fraction": "big"}}},
            OptionError,
            "max_step_fraction='big'",
        ),
    ],
)
def test_what_solve_refuses(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        solve(make("eye"), **given)


@pytest.mark.parametrize(
    ("solver", "own"),
    [
        ("ecos", {"reltol_inacc": 1e-3}), ("clarabel", {"max_step_fraction": 0.7}),
        ("cvxpy:SCS", {"acceleration_lookback": 0}),
    ],
)  # fmt: skip
def test_options_in_a_solvers_own_words(solver: str, own: dict[str, Any]) -> None:
    program = make("eye")
    plain = solve(program, "clarabel", second_opinion=False)
    found = solve(program, solver, options={solver: own}, second_opinion=False, tol=1e-8)
    assert found.objective == pytest.approx(plain.objective, rel=1e-5)
    other = solve(program, solver, options={"highs": {"mip_heuristic_effort": 0.5}}, tol=1e-8)
    assert other.objective == pytest.approx(plain.objective, rel=1e-5)


def test_options_reach_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    plain = clarabel.DefaultSolver

    def watched(*given: Any) -> Any:
        seen.append(given[-1].max_step_fraction)
        return plain(*given)

    monkeypatch.setattr(clarabel, "DefaultSolver", watched)
    own = {"clarabel": {"max_step_fraction": 0.625}}
    solve(make("eye"), "clarabel", options=own, second_opinion=False)
    assert set(seen) == {0.625}


def test_a_warm_start_is_refused() -> None:
    result = solve(make("eye"))
    with pytest.raises(NotApplicableError, match="no warm start"):
        solve(make("eye"), warm_start=result)


@pytest.mark.parametrize("solver", [*CONES, "proximal"])
def test_conic_solvers_refuse_integer_programs(solver: str) -> None:
    X, y = table()
    with pytest.raises(NotApplicableError, match=f"{solver} solves conic programs"):
        solve(slim(np.rint(X), y), solver)


def test_no_time_at_all_gives_the_model_without_terms() -> None:
    program = make("eye")
    result = solve(program, time_limit=0)
    assert result.termination is Termination.TIME_LIMIT
    assert result.origin == "empty card"
    assert result.claim is Claim.FEASIBLE
    assert not result.coefficients.any()
    assert result.objective == pytest.approx(
        program.statement.mean_loss(np.zeros(6), result.intercept)
    )


def test_no_time_and_constraints_that_zero_breaks_give_nothing() -> None:
    program = make("eye")
    program.subject_to(program.w[0] >= 0.5)
    result = solve(program, time_limit=0)
    assert (result.claim, result.verified) == (Claim.NONE, False)


@pytest.mark.parametrize("solver", [*CONES, "proximal"])
def test_one_iteration_is_no_optimum(solver: str) -> None:
    result = solve(make("eye"), solver, max_iter=1)
    assert result.termination is Termination.ITERATION_LIMIT
    assert result.verified
    assert result.dual_bound <= result.objective


@with_cones
def test_the_proximal_path_refuses_what_it_cannot_hold(solver: str) -> None:
    program = make("eye")
    program.subject_to(program.w[0] >= 0.125)
    with pytest.raises(
        NotApplicableError, match=r"cannot hold the constraint .*0.125.*use solver="
    ):
        solve(program, "proximal")
    with pytest.raises(NotApplicableError, match="hinge loss has no derivative"):
        solve(make("eye", "hinge"), "proximal")
    assert solve(program, solver).verified


def without_ecos(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a Python that has no ECOS."""
    real = builtins.__import__

    def absent(name: str, *rest: Any, **named: Any) -> Any:
        if name == "ecos":
            raise ImportError("No module named 'ecos'")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", absent)


def test_without_ecos_clarabel_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = solve(make("eye"), "ecos")
    without_ecos(monkeypatch)
    result = solve(make("eye"))
    assert result.solver == "clarabel"
    assert "ECOS is not installed" in result.message
    assert result.objective == pytest.approx(expected.objective, rel=1e-7)
    with pytest.raises(MissingDependencyError, match=re.escape("pip install 'milpscore[ecos]'")):
        solve(make("eye"), "ecos")


def test_a_second_opinion_says_what_the_other_solver_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = make("eye")
    result = solve(program, second_opinion=True)
    assert result.solver == "ecos"
    assert result.second_opinion is not None
    assert result.second_opinion.solver == "clarabel"
    assert result.second_opinion.relative_difference < 1e-7
    np.testing.assert_array_equal(program.w.value, result.coefficients)
    without_ecos(monkeypatch)
    alone = solve(make("eye"), "clarabel", second_opinion=True)
    assert alone.second_opinion is None
    assert "no second opinion" in alone.message


def inaccurate(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let a solver find the optimum and call it inaccurate."""
    solver: Any = SOLVERS[name]
    real = solver.run

    def run(self: Any, form: Any, options: Any) -> Outcome:
        found: Outcome = real(self, form, options)
        return replace(found, termination=Termination.INACCURATE, status="so so")

    monkeypatch.setattr(solver, "run", run)


def test_inaccurate_is_never_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    inaccurate(monkeypatch, "clarabel")
    result = solve(make("eye"), "clarabel")
    assert result.termination is Termination.INACCURATE
    assert result.gap < 1e-6
    assert result.claim is Claim.GAP


def test_auto_asks_another_solver_where_the_first_is_inaccurate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inaccurate(monkeypatch, "ecos")
    result = solve(make("eye"))
    assert "ecos stopped with 'so so', so clarabel was asked as well" in result.message
    assert result.verified


def test_a_wrong_point_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    solver: Any = SOLVERS["clarabel"]
    real = solver.run

    def run(self: Any, form: Any, options: Any) -> Outcome:
        found: Outcome = real(self, form, options)
        assert found.values is not None
        return replace(found, values=found.values + 1.0)

    monkeypatch.setattr(solver, "run", run)
    true = solve(make("eye"), "ecos").objective
    program = make("eye")
    program.subject_to(program.w[0] <= 0.3)
    result = solve(program, "clarabel")
    assert result.objective >= true - 1e-9
    assert result.claim is not Claim.OPTIMAL
    assert result.dual_bound <= result.objective


# ------------------------------------------------------------------ every status has a meaning


def terminations(name: str) -> dict[Any, Any]:
    """What a solver's own words mean."""
    solver: Any = SOLVERS[name]
    means: dict[Any, Any] = solver.TERMINATIONS
    return means


def test_every_flag_of_ecos_is_mapped() -> None:
    assert set(terminations("ecos")) == set(ECOS.STATUS_MAP)


def test_every_status_of_clarabel_is_mapped() -> None:
    members = {name for name in dir(clarabel.SolverStatus) if not name.startswith("_")}
    assert set(terminations("clarabel")) == members


@pytest.mark.parametrize(
    ("name", "done"),
    [
        ("ecos", {0}),
        ("clarabel", {"Solved"}),
        ("proximal", {Termination.GAP_REACHED, Termination.CONVERGED}),
    ],
)
def test_only_full_convergence_counts_as_completed(name: str, done: set[Any]) -> None:
    means = {k: v[1] if isinstance(v, tuple) else v for k, v in terminations(name).items()}
    assert {k for k, v in means.items() if v is Termination.COMPLETED} == done


@with_cones
def test_separable_classes_without_a_penalty_have_no_optimum(solver: str) -> None:
    X = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    result = solve(eye(X, [-1, -1, 1, 1], expert=None, lam=0.0), solver)
    assert result.verified
    assert 0.0 <= result.dual_bound <= result.objective < 1e-3
