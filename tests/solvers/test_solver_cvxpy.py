"""Other people's conic solvers through CVXPY, behind the same re-check as ours, where installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import pytest
from conic_cases import make

from milpscore.core.errors import (
    MissingDependencyError,
    NotApplicableError,
    OptionError,
    SolverError,
)
from milpscore.core.result import Claim, Termination
from milpscore.solvers import SOLVERS, solve
from milpscore.solvers.options import OUTSIDE_CONES

# solvers warn of their own interfaces and licences
pytestmark = pytest.mark.filterwarnings("ignore")

CLOCKS = ("scs", "mosek", "copt")


@pytest.fixture(params=[*OUTSIDE_CONES, "cvxpy:clarabel", "cvxpy:ecos"])
def name(request: pytest.FixtureRequest, outside: Callable[[str], str]) -> str:
    """A solver that is installed, and may be used."""
    name = outside(request.param)
    try:
        solve(make("facets", "hinge"), name)
    except SolverError as error:
        pytest.skip(str(error))  # a licence
    return name


@pytest.mark.parametrize(
    ("formulation", "loss"), [("facets", "hinge"), ("weighted_l2", "squared"), ("eye", "logistic")]
)
def test_it_agrees_with_ours(name: str, formulation: str, loss: str) -> None:
    ours, program = solve(make(formulation, loss)), make(formulation, loss)
    if loss == "logistic" and name in ("cvxopt", "qoco"):
        with pytest.raises(NotApplicableError, match=f"{name} does not take the cones"):
            solve(program, name)
        return
    theirs = solve(program, name, second_opinion=name in CLOCKS)
    assert theirs.solver == name
    assert (theirs.claim, theirs.verified) == (Claim.OPTIMAL, True)
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-7)
    assert theirs.bound_source == "evidence"  # recomputed from the data
    assert theirs.residuals["primal"] < 1e-6
    assert theirs.residuals["dual"] < 1e-6
    if theirs.second_opinion is not None:
        assert theirs.second_opinion.relative_difference < 1e-7


def test_added_constraints_go_over(name: str) -> None:
    program = make("facets", "hinge")
    program.subject_to(program.w[0] >= 0.5, cp.sum(program.w) == 0.25)
    reference = make("facets", "hinge")
    reference.subject_to(reference.w[0] >= 0.5, cp.sum(reference.w) == 0.25)
    theirs = solve(program, name)
    assert theirs.verified
    assert theirs.coefficients[0] >= 0.5 - 1e-6
    assert theirs.objective == pytest.approx(solve(reference, "ecos").objective, abs=1e-6)
    program.subject_to(program.w[0] <= 0.25)
    assert solve(program, name).claim is Claim.NONE


def test_options_go_over_or_are_refused_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, heard, real = make("facets", "hinge"), {}, cp.Problem.solve

    def listen(problem: Any, **told: Any) -> Any:
        heard.update(told)
        return real(problem, **told)

    monkeypatch.setattr(cp.Problem, "solve", listen)
    if name not in CLOCKS:
        with pytest.raises(OptionError, match=f"{name} cannot be stopped by the clock"):
            solve(program, name, time_limit=300)
    else:
        assert solve(program, name, time_limit=60).claim is Claim.OPTIMAL
    if name.startswith("cvxpy:"):
        for option in ({"tol": 1e-6}, {"max_iter": 3}):
            refusal = f"has no option {next(iter(option))} here"
            with pytest.raises(NotApplicableError, match=refusal):
                solve(program, name, **option)
        return
    solve(program, name, tol=1e-6, max_iter=99, verbose=True)
    assert heard.pop("verbose")
    assert {1e-6, 99} <= {*heard.get("mosek_params", heard).values()}


def test_what_stops_early_is_no_optimum(outside: Callable[[str], str]) -> None:
    result = solve(make("eye"), outside("scs"), max_iter=2)
    assert result.termination is Termination.INACCURATE
    assert result.claim is not Claim.OPTIMAL
    assert result.verified
    assert result.dual_bound <= result.objective


def test_names() -> None:
    assert SOLVERS["cvxpy:SCS"] is SOLVERS["scs"]
    assert SOLVERS.name_of("CVXPY:ECOS") == "cvxpy:ecos"
    with pytest.raises(
        OptionError, match=r"CVXPY knows no conic solver 'nix'; it knows .*clarabel"
    ):
        solve(make("eye"), "cvxpy:nix")
    with pytest.raises(OptionError, match="pyomo:NAME or cvxpy:NAME of any other"):
        solve(make("eye"), "nix")
    with pytest.raises(NotApplicableError, match="does not take the cones"):
        solve(make("eye"), "cvxpy:highs")


def test_an_absent_solver_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cp, "installed_solvers", list)
    with pytest.raises(MissingDependencyError, match="scs is not installed: pip install scs"):
        solve(make("eye"), "scs")
    with pytest.raises(MissingDependencyError, match="see CVXPY's page"):
        solve(make("eye"), "cvxpy:clarabel")


@pytest.mark.parametrize(
    "error", [cp.error.SolverError("Solver 'SCS' failed."), RuntimeError("no licence")]
)
def test_failures_are_told(
    monkeypatch: pytest.MonkeyPatch, outside: Callable[[str], str], error: Exception
) -> None:
    def fail(*given: Any, **more: Any) -> None:
        raise error

    outside("scs")
    monkeypatch.setattr(cp.Problem, "solve", fail)
    if isinstance(error, RuntimeError):
        with pytest.raises(SolverError, match=r"scs failed.*no licence"):
            solve(make("eye"), "scs")
        return
    result = solve(make("eye"), "scs")
    assert result.termination is Termination.ERROR
    assert result.claim is Claim.FEASIBLE  # the model without terms
