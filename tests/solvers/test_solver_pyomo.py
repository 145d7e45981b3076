"""Other people's solvers through Pyomo, behind the same re-check as our own, where installed."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from designs import binned, hard, noisy

from milpscore.constraints import Range
from milpscore.core.errors import (
    MissingDependencyError,
    NotApplicableError,
    OptionError,
    SolverError,
)
from milpscore.core.result import Claim, Termination
from milpscore.formulations import fused_lasso, hinge, risk_score, slim
from milpscore.formulations.strength import slim_program
from milpscore.search import start_card
from milpscore.solvers import SOLVERS, load, solve
from milpscore.solvers.options import OUTSIDE

# plugins warn of their own interfaces and licences
pytestmark = pytest.mark.filterwarnings("ignore")

BOX: dict[str, Any] = {"coef_min": -2, "coef_max": 2}


@pytest.fixture(params=OUTSIDE)
def name(request: pytest.FixtureRequest, outside: Callable[[str], str]) -> str:
    """A solver that is installed."""
    return outside(request.param)


@pytest.mark.parametrize(
    "program",
    [
        slim(noisy(12), **BOX),
        hinge(noisy(25, seed=3), **BOX),
        fused_lasso(binned(10), lam=0.1, **BOX),
    ],
    ids=lambda program: program.formulation,
)
def test_it_agrees_with_highs(name: str, program: Any) -> None:
    ours = solve(program, "highs")
    theirs = solve(program, name, time_limit=60)
    assert theirs.solver == name
    assert theirs.verified
    assert theirs.claim is Claim.OPTIMAL
    assert theirs.objective == pytest.approx(ours.objective, abs=1e-9)
    assert theirs.bound_source == "second"  # HiGHS was asked as well
    alone = solve(program, name, time_limit=60, second_opinion=False)
    assert alone.bound_source == "solver"
    assert alone.dual_bound <= ours.objective + 1e-6


def test_a_relaxation_is_bounded_by_duals_that_were_recomputed(name: str) -> None:
    program = slim(noisy(12), **BOX).relaxed()
    if name == "scip":
        with pytest.raises(NotApplicableError, match="no duals"):
            solve(program, name)
        return
    ours, theirs = solve(program, "highs"), solve(program, name)
    assert theirs.bound_source == "evidence"
    assert theirs.dual_bound == pytest.approx(ours.dual_bound, abs=1e-7)
    assert theirs.objective == pytest.approx(ours.objective, abs=1e-7)


def test_constraints_options_and_starts_go_over(name: str, tmp_path: Path) -> None:
    data = noisy(12)
    program = slim(data, constraints=[Range("x0", 1, 2)], **BOX)
    start = start_card(program)
    options: dict[str, Any] = {"mip_gap": 1e-4, "random_state": 3}
    options |= {} if name == "glpk" else {"node_limit": 1000, "presolve": False}
    result = solve(program, name, warm_start=start, second_opinion=False, **options)
    assert result.card is not None
    assert 1 <= int(result.card.coefficients[0]) <= 2
    assert result.objective == pytest.approx(solve(program, "highs").objective, abs=1e-3)
    expected = "accepted" if name in ("cbc", "gurobi", "cplex", "xpress") else "rejected"
    assert result.warm_start.startswith(expected)


def test_a_time_limit_leaves_the_best_card_and_a_bound(name: str) -> None:
    program = slim(hard(200, 6), coef_min=-9, coef_max=9)
    if name in ("gurobi", "cplex", "xpress"):
        pytest.skip(f"{name} without a licence takes small programs only")
    result = solve(program, name, time_limit=2, second_opinion=False)
    assert result.card is not None
    assert result.verified
    assert 0.0 <= result.dual_bound <= result.objective


def test_nodes_are_counted_and_limited(name: str) -> None:
    program = slim(hard(60, 6), **BOX)
    if name == "glpk":
        assert solve(program, name, second_opinion=False).nodes > 1
        return
    weak = slim_program(program.statement.design, "textbook", **BOX)  # not solved at the root
    result = solve(weak, name, node_limit=1, second_opinion=False)
    assert result.termination in (Termination.NODE_LIMIT, Termination.COMPLETED)
    assert result.nodes <= 1
    assert result.verified
    assert not result.refused
    assert 0.0 < result.dual_bound <= result.objective


def test_what_nothing_meets_is_called_infeasible(name: str) -> None:
    program = slim(noisy(12), **BOX)
    program.model.never = pyo.Constraint(
        expr=sum(program.model.w[j] for j in program.model.w) >= 100
    )
    result = solve(program, name, second_opinion=False)
    assert result.claim is Claim.NONE
    assert result.termination is Termination.INFEASIBLE
    assert f"{name}'s word alone" in result.message


@pytest.mark.parametrize("told", ["noSolution", "other", "error"])
def test_no_answer_is_no_proof_that_there_is_none(
    monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    from pyomo.opt import SolverResults

    results = SolverResults()
    results.solver.termination_condition = pyo.TerminationCondition[told]
    monkeypatch.setattr(pyo, "SolverFactory", _Factory(_Broken(results)))
    result = solve(slim(noisy(12), **BOX), "pyomo:appsi_cbc")
    assert result.termination is Termination.ERROR
    assert result.claim is Claim.FEASIBLE
    assert result.dual_bound == 0.0


def test_a_program_beyond_a_licence_says_so() -> None:
    program = slim(noisy(2500, values=tuple(range(1000))), **BOX)
    try:
        SOLVERS["gurobi"]()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    with pytest.raises(SolverError, match=r"gurobi failed.*licen"):
        solve(program, "gurobi")


def test_an_option_it_does_not_have_is_refused() -> None:
    try:
        SOLVERS["glpk"]()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    with pytest.raises(NotApplicableError, match="has no option threads"):
        solve(slim(noisy(8), **BOX), "glpk", threads=2)
    with pytest.raises(NotApplicableError, match="smooth loss"):
        solve(risk_score(noisy(8), **BOX), "glpk")
    relaxed = load(slim(noisy(8), **BOX))
    relaxed.relax()
    with pytest.raises(NotApplicableError, match=r"program\.relaxed"):
        solve(relaxed, "glpk")


def test_any_name_of_the_factory_is_reached() -> None:
    assert SOLVERS["pyomo:cbc"] is SOLVERS["cbc"]
    result = solve(slim(noisy(12), **BOX), "pyomo:appsi_highs", second_opinion=False)
    assert result.solver == "pyomo:appsi_highs"
    assert result.claim is Claim.OPTIMAL
    with pytest.raises(OptionError, match="Pyomo knows no solver 'nix'"):
        solve(slim(noisy(8), **BOX), "pyomo:nix")


def test_a_solver_that_is_absent_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    from pyomo.common.fileutils import Executable

    Executable.rehash()
    try:
        with pytest.raises(MissingDependencyError, match="glpk-utils"):
            solve(slim(noisy(8), **BOX), "glpk")
    finally:
        monkeypatch.undo()
        Executable.rehash()


class _Broken:
    """A plugin that fails, is stopped, or gives this answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def available(self, exception_flag: bool = True) -> bool:
        return True

    def version(self) -> tuple[int, ...]:
        return (1,)

    def solve(self, model: Any, **given: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("stopped", [False, True])
def test_failures_and_ctrl_c(monkeypatch: pytest.MonkeyPatch, stopped: bool) -> None:
    error = KeyboardInterrupt() if stopped else RuntimeError("no licence")
    monkeypatch.setattr(pyo, "SolverFactory", _Factory(_Broken(error)))
    program = slim(noisy(12), **BOX)
    if not stopped:
        with pytest.raises(SolverError, match=r"appsi_cbc failed.*no licence"):
            solve(program, "pyomo:appsi_cbc")
        return
    start = start_card(program)
    result = solve(program, "pyomo:appsi_cbc", warm_start=start)
    assert result.termination is Termination.INTERRUPTED
    assert result.verified
    assert math.isfinite(result.objective)


class _Factory(dict[str, Any]):
    """Pyomo's factory, whatever the name."""

    def __init__(self, solver: Any) -> None:
        super().__init__({"appsi_cbc": solver})

    def __call__(self, name: str) -> Any:
        return self[name]
