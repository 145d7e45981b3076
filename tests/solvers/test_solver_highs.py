"""HiGHS behind the re-check: limits, starts, interrupts, statuses, and a solver that lies."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from designs import binned, card_of, design, hard, noisy
from scipy import sparse

from milpscore.core.card import Card
from milpscore.core.errors import (
    FormulationError,
    NotApplicableError,
    OptionError,
    SelfTestError,
    SolverError,
)
from milpscore.core.program import Program
from milpscore.core.result import Claim, Termination, TracePoint
from milpscore.formulations import FORMULATIONS, convex_rounding, fused_lasso, hinge, slim
from milpscore.search import start_card
from milpscore.solvers import Outcome, Session, load, solve
from milpscore.solvers.running import highs_of, run_here, self_test, set_option
from milpscore.verify import evaluate

TESTS = Path(__file__).parents[1]


# ------------------------------------------------------------------ the self-test


def test_the_installed_solver_passes() -> None:
    assert self_test().startswith("1.")


def test_a_wrong_optimum_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(highspy.Highs):  # type: ignore[misc]
        def getInfo(self) -> Any:
            return SimpleNamespace(objective_function_value=15.0)

    monkeypatch.setattr("milpscore.solvers.running.highspy.Highs", Wrong)
    with pytest.raises(SelfTestError, match=r"answers 15 .* optimum is 9: install highspy"):
        self_test.__wrapped__()


def test_nothing_is_solved_after_a_failed_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> str:
        raise SelfTestError("wrong")

    monkeypatch.setattr("milpscore.solvers.session.self_test", fails)
    with pytest.raises(SelfTestError):
        solve(slim(noisy()), "highs")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("presolve", [True, False])
def test_an_instance_on_which_highs_restarts_into_a_wrong_optimum(
    seed: int, presolve: bool
) -> None:
    # HiGHS 1.15.1 with restarts calls 0.202 optimal for most seeds; the card (2, 0, 0) has 0.201
    X = [[-1, -1, -1]] * 2 + [[-1, 0, 0]] * 2 + [[0, 1, 1], [2, -1, 2]]
    program = slim(design(X, [-1, 1, -1, 1, 1, 1], [4, 1, 4, 2, 1, 3]), coef_min=-2, coef_max=2)
    m = program.model
    m.half = pyo.Var(domain=pyo.Integers, bounds=(-7, 7))
    m.parity = pyo.Constraint(expr=m.w[0] - m.w[2] == 2 * m.half)
    result = solve(program, random_state=seed, presolve=presolve)
    assert result.objective == pytest.approx(0.201, abs=1e-9)
    assert result.claim is Claim.OPTIMAL


# ------------------------------------------------------------------ limits and options


@pytest.mark.parametrize("build", [slim, hinge])
def test_no_time_gives_the_verified_empty_card(build: Callable[..., Program]) -> None:
    program = build(noisy())
    result = solve(program, time_limit=0)
    assert (result.claim, result.origin, result.verified) == (Claim.FEASIBLE, "empty card", True)
    assert result.termination is Termination.TIME_LIMIT
    assert result.card == program.statement.empty_card()
    assert (result.dual_bound, result.nodes, result.trace) == (0.0, 0, ())


def test_no_time_returns_the_warm_start_where_it_is_better() -> None:
    program = slim(noisy())
    start = start_card(program)
    result = solve(program, time_limit=0, warm_start=start)
    assert (result.card, result.origin) == (start, "warm start")


def test_one_node_stops_with_a_bound_and_never_below_the_start() -> None:
    program = slim(hard(400, 12), max_terms=4)
    start = start_card(program)
    assert start is not None
    result = solve(program, node_limit=1, warm_start=start)
    assert result.termination is Termination.NODE_LIMIT
    assert result.claim is Claim.GAP
    assert 0 < result.dual_bound < result.objective
    assert result.objective <= evaluate(program.statement, start).objective


def test_a_gap_asked_for_is_not_called_optimal() -> None:
    weak = slim(hard(100, 6), max_terms=3, pair_covers=False, big_m="row")
    result = solve(weak, "highs", mip_gap=0.5)
    assert result.termination is Termination.GAP_REACHED
    assert result.claim is Claim.GAP
    assert 1e-6 < result.gap <= 0.5


def test_a_gap_asked_for_but_closed_is_optimal() -> None:
    exact = solve(slim(noisy()), "highs")
    loose = solve(slim(noisy()), "highs", mip_gap=1e-9)
    assert (loose.claim, loose.objective) == (Claim.OPTIMAL, exact.objective)


def test_a_time_limit_is_kept_again_and_again() -> None:
    session = load(slim(hard()))
    for _ in range(2):
        started = time.perf_counter()
        result = solve(session, time_limit=0.4)
        assert 0.3 < time.perf_counter() - started < 60  # it would go on for hours
        assert result.termination is Termination.TIME_LIMIT
        assert result.verified


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timelimit": 3}, "did you mean 'time_limit'"),
        ({"colour": 3}, "known are time_limit"),
        ({"time_limit": -1}, "time_limit must be a number of seconds >= 0"),
        ({"time_limit": math.nan}, "time_limit must be"),
        ({"time_limit": "60"}, "time_limit must be"),
        ({"mip_gap": -0.1}, "mip_gap must be a finite number >= 0"),
        ({"mip_gap": math.inf}, "mip_gap must be"),
        ({"node_limit": 1.5}, "node_limit must be a whole number"),
        ({"node_limit": 2**40}, "node_limit must be a whole number"),
        ({"threads": 0}, "threads must be a whole number >= 1"),
        ({"random_state": -1}, "random_state must be"),
        ({"random_state": None}, "random_state must be"),
        ({"presolve": "on"}, "presolve must be True or False"),
        ({"log_file": "/no/such/folder/log"}, "folder that exists"),
        ({"log_file": 3}, "folder that exists"),
        ({"log_file": "."}, "a file that can be written"),
        ({"log_file": "/dev/null/log"}, "a file that can be written"),
        ({"log_file": "/proc/no.log"}, "a file that can be written"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        solve(slim(noisy()), "highs", **options)


def test_an_unknown_solver_is_named() -> None:
    with pytest.raises(OptionError, match=r"no solver 'lindo'; there are highs, .*, auto"):
        solve(slim(noisy()), "lindo")


def test_highs_refusals_of_options_are_raised() -> None:
    with pytest.raises(SolverError, match="refused option nonsense"):
        set_option(highspy.Highs(), "nonsense", 1)


def test_numpy_numbers_and_paths_are_options_too(tmp_path: Path) -> None:
    log = tmp_path / "highs.log"
    limits = {"time_limit": np.int64(20), "node_limit": np.int32(10**6)}
    result = solve(slim(noisy()), "highs", log_file=log, **limits)
    assert result.claim is Claim.OPTIMAL
    assert "HiGHS" in log.read_text()


def test_no_log_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    solve(slim(noisy()), "highs")
    assert capfd.readouterr() == ("", "")


def test_the_same_input_gives_the_same_answer() -> None:
    first, second = (solve(slim(hard(60, 5), max_terms=3), random_state=5) for _ in range(2))
    assert first.card == second.card
    assert (first.nodes, first.dual_bound) == (second.nodes, second.dual_bound)
    assert first.options["threads"] == 1
    incumbents = [sorted({p.objective for p in r.trace}) for r in (first, second)]
    assert incumbents[0] == pytest.approx(incumbents[1], abs=1e-12)


def test_more_threads_find_the_same_optimum() -> None:
    one, two = (solve(slim(noisy()), "highs", threads=k) for k in (1, 2))
    assert one.objective == two.objective
    assert two.claim is Claim.OPTIMAL


# ------------------------------------------------------------------ progress


@pytest.mark.parametrize("solver", ["highs", "tree"])
def test_the_progress_line_tells_phase_share_and_the_verified_card(
    solver: str, capfd: pytest.CaptureFixture[str]
) -> None:
    program = slim(hard(60, 5), max_terms=3)
    start = program.statement.empty_card()
    told = {"verbose": True, "node_limit": 200, "time_limit": 60, "second_opinion": False}
    solve(program, solver, warm_start=start, **told)
    lines = [each for each in capfd.readouterr().err.splitlines() if each.startswith("slim: ")]
    assert any(f"slim: {solver} searches, " in each and "% of 60 s" in each for each in lines)
    assert any("re-check" in each for each in lines)
    if solver == "tree":  # HiGHS shows a log of its own; the tree's cards are re-checked at its end
        known = f"verified objective {evaluate(program.statement, start).objective:.6g}"
        assert any(f"{known} (" in each and "still to be verified)" in each for each in lines)


def test_what_highs_tells_is_of_verified_cards() -> None:
    program, seen = slim(hard(60, 5), max_terms=3), []
    result = solve(program, "highs", node_limit=200, callback=seen.append, second_opinion=False)
    told = [point.objective for point in seen if math.isfinite(point.objective)]
    assert told
    # a re-check's figures to the last digit, not a solver's sums
    reached = {evaluate(program.statement, result.card).objective, result.objective}
    assert told[-1] in reached
    assert all(value >= result.objective for value in told)


def test_an_error_while_a_point_is_judged_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any, **options: Any) -> Any:
        raise RuntimeError("judged")

    program = slim(hard(60, 5), max_terms=3)
    monkeypatch.setattr("milpscore.solvers.session.check", fails)
    with pytest.raises(RuntimeError, match="judged"):
        solve(program, "highs", node_limit=200)


def test_the_trace_is_monotone_and_ends_at_the_answer() -> None:
    seen: list[TracePoint] = []
    result = solve(slim(hard(100, 6), max_terms=3), "highs", callback=seen.append)
    assert tuple(seen) == result.trace
    assert len(seen) > 2
    objective = [p.objective for p in seen if math.isfinite(p.objective)]
    for values in (
        [p.seconds for p in seen],
        [p.dual_bound for p in seen],
        [-v for v in objective],
    ):
        assert all(b >= a - 1e-12 for a, b in pairwise(values))
    assert result.objective <= objective[-1] + 1e-9


def test_exceptions_of_a_callback_reach_the_caller() -> None:
    class Stop(Exception):
        pass

    def callback(point: TracePoint) -> None:
        raise Stop

    with pytest.raises(Stop):
        solve(slim(hard(200, 8)), callback=callback)


def test_a_progress_line_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    solve(slim(noisy()), "highs", progress=True)
    assert capfd.readouterr().out == ""


INTERRUPTED = """
    import json, signal, sys

    # a shell that runs this in the background has told it to ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from designs import card_of, hard
    from milpscore.formulations import slim
    from milpscore.solvers import solve

    ready = []
    def callback(point):
        if not ready:
            ready.append(print("running", flush=True))

    result = solve(slim(hard()), callback=callback, time_limit=120)
    print(json.dumps({**result.summary(), "card": result.card.coefficients.tolist()}))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is sent")
def test_ctrl_c_keeps_the_best_card_and_its_bound() -> None:
    import json

    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
    )
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "running"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    answer = json.loads(out)
    assert answer["termination"] == "interrupted"
    assert answer["verified"]
    assert answer["claim"] in ("gap", "feasible")
    assert 0 <= answer["bound"] < answer["objective"] < 1
    assert len(answer["card"]) == 30
    assert answer["seconds"] < 60


# ------------------------------------------------------------------ warm starts


def test_a_good_start_is_accepted() -> None:
    program = slim(hard(60, 5), max_terms=3)
    start = start_card(program)
    assert solve(program, warm_start=start).warm_start == "accepted"
    assert solve(program).warm_start == "none"


def test_a_result_is_a_start() -> None:
    first = solve(slim(noisy()), "highs")
    assert solve(slim(noisy()), "highs", warm_start=first).warm_start == "accepted"
    with pytest.raises(NotApplicableError, match="holds no card"):
        solve(slim(noisy()), "highs", warm_start=solve(slim(noisy()).relaxed()))
    with pytest.raises(OptionError, match=r"warm_start must be a Card, .* got \[1, 2, 3\]"):
        solve(slim(noisy()), warm_start=[1, 2, 3])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        (card_of([9, 0, 0], 0), r"x0: 9 lies outside \[-5, 5\]"),
        (card_of([1, 0], 0), "2 coefficients, the design 3 columns"),
        (card_of([1, 0, 0, 1], 0), "4 coefficients, the design 3 columns"),
        (card_of([1, 0, 0], 0.5), "intercept 1/2 is not an allowed grid value"),
        (card_of([0, 0, 1], 0), "constraint asked"),
    ],
)
def test_a_useless_start_is_rejected_with_its_reason(card: Card, reason: str) -> None:
    import re

    program = slim(noisy())
    program.model.asked = pyo.Constraint(expr=program.model.w[2] <= 0)
    result = solve(program, warm_start=card)
    assert re.match(f"rejected: .*{reason}", result.warm_start)
    assert result.claim is Claim.OPTIMAL


def test_a_start_without_a_value_for_an_added_variable_is_rejected() -> None:
    program = slim(noisy())
    program.model.extra = pyo.Var(bounds=(0, 9))
    program.model.link = pyo.Constraint(expr=program.model.extra >= program.model.w[0])
    start = program.statement.empty_card()
    assert solve(program, warm_start=start, time_limit=0).warm_start.startswith("rejected: ")
    program.model.extra.set_value(0)
    assert solve(program, warm_start=start).warm_start == "accepted"


def test_the_start_is_returned_where_the_solver_finds_nothing_better() -> None:
    program = slim(hard(300, 10))
    start = start_card(program, max_work=1e6)
    assert start is not None
    result = solve(program, warm_start=start, node_limit=1, time_limit=300)
    assert result.objective <= evaluate(program.statement, start).objective


def test_a_relaxation_takes_no_card() -> None:
    result = solve(slim(noisy()).relaxed(), warm_start=card_of([0, 0, 0]))
    assert result.warm_start == "rejected: a relaxation takes no card"


# ------------------------------------------------------------------ what users add


def test_infeasible_additions_give_no_card_and_a_next_step() -> None:
    program = slim(noisy())
    program.model.never = pyo.Constraint(expr=program.model.w[0] >= 100)
    result = solve(program)
    assert (result.claim, result.verified, result.card) == (Claim.NONE, False, None)
    assert result.termination is Termination.INFEASIBLE
    assert "no card meets 'never' within the ranges and max_terms" in result.message
    assert "constraint never" in result.message
    assert math.isinf(result.gap)


def test_an_added_constraint_changes_the_answer_and_is_verified() -> None:
    free = solve(slim(noisy()), "highs")
    assert free.card is not None
    assert free.card.coefficients[0] > 0
    program = slim(noisy())
    program.model.sign = pyo.Constraint(expr=program.model.w[0] <= 0)
    held = solve(program)
    assert held.card is not None
    assert held.card.coefficients[0] <= 0
    assert held.claim is Claim.OPTIMAL
    assert held.objective > free.objective


def test_an_objective_of_ones_own_is_refused_where_it_is_unclear() -> None:
    program = slim(noisy())
    program.model.objective.set_sense(pyo.maximize)
    with pytest.raises(FormulationError, match="objective is maximised: minimise its negative"):
        solve(program)
    program = slim(noisy())
    program.model.second = pyo.Objective(expr=program.model.w[0])
    with pytest.raises(FormulationError, match="exactly one active objective"):
        solve(program)


def test_what_is_not_linear_is_refused() -> None:
    program = slim(noisy())
    program.model.product = pyo.Constraint(expr=program.model.w[0] * program.model.w[1] <= 1)
    with pytest.raises(FormulationError, match="linear constraints"):
        solve(program)


def test_an_added_integer_needs_finite_bounds() -> None:
    program = slim(noisy())
    program.model.wide = pyo.Var(domain=pyo.Integers)
    program.model.link = pyo.Constraint(expr=program.model.wide == program.model.w[0])
    with pytest.raises(FormulationError, match="wide has no finite bounds: give it some"):
        solve(program)


def test_a_constraint_added_after_the_hand_over_is_still_verified() -> None:
    program = slim(noisy())
    session = load(program)
    program.model.sign = pyo.Constraint(expr=program.model.w[0] <= 0)
    result = solve(session)
    assert result.claim is Claim.OPTIMAL
    assert result.card is not None
    assert result.card.coefficients[0] <= 0


# ------------------------------------------------------------------ a solver that lies


def lie(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """HiGHS's outcome, with some of it replaced; a callable gets the true outcome and session."""
    truth = Session.run

    def run(session: Any, *args: Any) -> Outcome:
        outcome = truth(session, *args)
        made = {k: v(outcome, session) if callable(v) else v for k, v in changes.items()}
        return replace(outcome, **made)

    monkeypatch.setattr(Session, "run", run)


def test_a_worse_vector_than_claimed_is_no_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = solve(slim(noisy()), "highs")
    lie(monkeypatch, values=lambda outcome, session: np.zeros_like(outcome.values))
    result = solve(slim(noisy()), "highs")
    # who counts its own card wrongly is not believed about the others
    assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, 0.0)
    assert "counts 0 for its own card" in result.message
    assert result.objective > truth.objective
    assert result.termination is Termination.COMPLETED  # HiGHS's own word is kept apart


def test_a_bound_above_a_verified_card_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in (0.9, math.inf):
        lie(monkeypatch, dual_bound=bound)
        result = solve(slim(noisy()), "highs")
        assert result.claim is Claim.FEASIBLE
        assert result.dual_bound == 0
        assert "above the verified objective" in result.message
        assert "refused" in result.message


def test_a_bound_above_a_verified_card_is_refused_without_a_grid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    lie(monkeypatch, dual_bound=0.9)
    decimals = design(rng.normal(size=(8, 2)), [1, -1] * 4)
    result = solve(slim(decimals, coef_min=-2, coef_max=2), "highs")
    assert result.caveat
    assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, 0.0)


def test_a_bound_that_is_no_number_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    lie(monkeypatch, dual_bound=math.nan)
    result = solve(slim(noisy()), "highs")
    assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, 0.0)


def test_a_proof_by_one_solver_is_asked_for_again() -> None:
    program = slim(noisy())
    result = solve(program, "highs")
    assert (result.claim, result.bound_source) == (Claim.OPTIMAL, "second")
    assert program.card() == result.card
    alone = solve(program, "highs", second_opinion=False)
    assert (alone.claim, alone.bound_source) == (Claim.OPTIMAL, "solver")
    assert alone.objective == result.objective


@pytest.mark.parametrize("found", ["a better card", "less of a bound"])
def test_a_second_run_that_disagrees_takes_the_claim_down(
    monkeypatch: pytest.MonkeyPatch, found: str
) -> None:
    worse = solve(slim(noisy(), max_terms=1), "highs")
    truth = solve(slim(noisy()), "highs")
    assert truth.objective < worse.objective
    honest, calls = Session.run, []

    def run(session: Any, *given: Any) -> Any:
        outcome = honest(session, *given)
        calls.append(given[0].random_state)
        first = len(calls) == 1
        if first and found == "a better card":  # proved, and wrong
            session.program.fill(worse.card)
            outcome.values, outcome.dual_bound = session.vector(), worse.objective
        elif not first and found != "a better card":
            outcome.dual_bound = 0.5 * truth.objective
        return outcome

    monkeypatch.setattr(Session, "run", run)
    result = solve(slim(noisy()), "highs")
    assert calls == [0, 1]
    assert result.objective == truth.objective
    if found == "a better card":
        assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, 0.0)
        assert "neither bound is used" in result.message
    else:
        assert (result.claim, result.dual_bound) == (Claim.GAP, 0.5 * truth.objective)
        assert "a second run (highs, seed 1) no more than" in result.message


def test_where_no_time_is_left_for_a_second_run_the_result_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest, calls = Session.run, []

    def run(session: Any, *given: Any) -> Any:
        outcome = honest(session, *given)
        calls.append(1)
        if len(calls) == 2:
            outcome.termination, outcome.dual_bound = Termination.TIME_LIMIT, 0.01
        return outcome

    monkeypatch.setattr(Session, "run", run)
    result = solve(slim(noisy()), "highs")
    assert (result.claim, result.bound_source) == (Claim.OPTIMAL, "solver")
    assert "word alone: a second run (highs, seed 1) reached 0.01" in result.message


def test_infeasible_vectors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (71.0, math.nan):  # 71, 72, ...: coprime, so no division brings them into range
        lie(
            monkeypatch,
            values=lambda outcome, session, v=value: v + np.arange(len(outcome.values)),
        )
        result = solve(slim(noisy()), "highs")
        assert result.origin == "empty card"
        assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, 0.0)


def test_a_vector_that_breaks_an_addition_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def vector(outcome: Outcome, session: Any) -> Any:
        session.program.fill(best)
        return session.vector()

    best = solve(slim(noisy()), "highs").card
    program = slim(noisy())
    program.model.sign = pyo.Constraint(expr=program.model.w[0] <= 0)
    lie(monkeypatch, values=vector)
    result = solve(program)
    assert result.origin == "empty card"
    assert "the solver was refused: constraint sign" in result.message


def test_called_infeasible_beside_a_verified_card(monkeypatch: pytest.MonkeyPatch) -> None:
    lie(monkeypatch, termination=Termination.INFEASIBLE, values=None, dual_bound=math.inf)
    result = solve(slim(noisy()), "highs")
    assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, 0.0)
    assert "infeasible although this card was verified" in result.message


def test_an_error_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lie(monkeypatch, termination=Termination.ERROR)
    result = solve(slim(noisy()), "highs")
    assert (result.claim, result.dual_bound) == (Claim.FEASIBLE, 0.0)


# ------------------------------------------------------------------ statuses

STATUS = highspy.HighsModelStatus
MEANINGS = {
    STATUS.kOptimal: Termination.COMPLETED,
    STATUS.kModelEmpty: Termination.COMPLETED,
    STATUS.kInfeasible: Termination.INFEASIBLE,
    # every objective here is bounded by finite ranges, so nothing but infeasibility is left
    STATUS.kUnboundedOrInfeasible: Termination.INFEASIBLE,
    STATUS.kUnbounded: Termination.UNBOUNDED,
    STATUS.kTimeLimit: Termination.TIME_LIMIT,
    STATUS.kIterationLimit: Termination.ITERATION_LIMIT,
    STATUS.kSolutionLimit: Termination.NODE_LIMIT,
    STATUS.kInterrupt: Termination.INTERRUPTED,
}


class FakeHighs:
    """What a run of HiGHS left behind, with the status of our choice."""

    def __init__(self, status: Any, feasible: bool) -> None:
        self.status, self.feasible = status, feasible

    def getModelStatus(self) -> Any:
        return self.status

    def getInfo(self) -> Any:
        kinds = highspy.SolutionStatus
        return SimpleNamespace(
            primal_solution_status=kinds.kSolutionStatusFeasible
            if self.feasible
            else kinds.kSolutionStatusInfeasible,
            mip_dual_bound=0.0,
            mip_gap=0.0,
            mip_node_count=-1,
        )

    def getSolution(self) -> Any:
        return SimpleNamespace(value_valid=True, dual_valid=False, col_value=[0.0])


@pytest.mark.parametrize("status", list(STATUS.__members__.values()), ids=str)
def test_every_status_of_highs_has_a_meaning(status: Any) -> None:
    session = load(slim(noisy()))
    session.highs = FakeHighs(status, feasible=False)
    read = session.outcome(interrupted=True, mip_gap=0.0)
    assert read.termination is MEANINGS.get(status, Termination.ERROR)
    assert (read.values, read.nodes) == (None, 0)
    session.highs = FakeHighs(status, feasible=True)
    assert session.outcome(interrupted=True, mip_gap=0.0).values is not None
    if status == STATUS.kInterrupt:  # without Ctrl-C it was our own watchdog
        read = session.outcome(interrupted=False, mip_gap=0.0)
        assert read.termination is Termination.TIME_LIMIT


@pytest.mark.parametrize("threads", [(1, 2, 1), (2, 1, 2)])
def test_runs_of_one_thread_may_differ_in_their_threads(threads: tuple[int, ...]) -> None:
    # HiGHS refuses such a run: its scheduler keeps the number of the first one
    for each in threads:
        ends = np.array([4.5]), np.array([np.inf])
        columns = np.zeros(2), np.full(2, 10.0)
        highs = highs_of(
            sparse.csc_array(np.ones((1, 2))), (np.array([2.0, 3.0]), 0.0), columns, ends
        )
        set_option(highs, "threads", each)
        run_here(highs)
        assert highs.getInfo().objective_function_value == pytest.approx(9.0)


def test_a_run_that_did_not_happen_is_said() -> None:
    done: list[Any] = []

    def run() -> highspy.HighsStatus:
        done.append("run")
        return highspy.HighsStatus.kError

    def set_option(name: str, value: Any) -> highspy.HighsStatus:
        done.append(value)
        return highspy.HighsStatus.kOk

    refused = SimpleNamespace(
        getOptionValue=lambda name: (None, {"threads": 1, "presolve": "off"}[name]),
        setOptionValue=set_option,
        clearSolver=lambda: done.append("cleared"),
        run=run,
        getModelStatus=lambda: highspy.HighsModelStatus.kNotset,
    )
    with pytest.raises(SolverError, match="broke down"):
        run_here(refused)
    # a simplex that broke down gets a second run: from nothing, and presolved
    assert done[:6] == ["off", "run", "off", "cleared", "on", "run"]


# ------------------------------------------------------------------ relaxations

RELAXATIONS = [
    slim(noisy()).relaxed,
    hinge(noisy(), max_terms=2, l0_penalty=0.01).relaxed,
    lambda: convex_rounding(noisy()),
    fused_lasso(binned(), lam=0.03).relaxed,
]


@pytest.mark.parametrize("make", RELAXATIONS)
def test_the_bound_of_a_relaxation_follows_from_its_duals(make: Callable[[], Program]) -> None:
    program = make()
    result = solve(program)
    session = load(program)
    session.highs.run()
    highs = session.highs.getInfo().objective_function_value
    assert result.objective == pytest.approx(highs, abs=1e-9)
    assert result.dual_bound == pytest.approx(highs, abs=1e-8)
    assert result.dual_bound <= result.objective
    assert result.bound_source == "evidence"
    dual = np.array(session.highs.getSolution().row_dual)
    rng = np.random.default_rng(0)
    for size in (1e-9, 1e-3, 1.0):
        for _ in range(5):
            shaken = dual + size * rng.normal(size=len(dual))
            assert session.dual_bound_of(shaken) <= highs + 1e-12
    assert session.dual_bound_of(np.zeros_like(dual)) <= highs


def test_duals_and_reduced_costs_lie_in_suffixes() -> None:
    program = hinge(noisy(), max_terms=2).relaxed()
    solve(program)
    m = program.model
    assert set(m.dual) == set(m.component_data_objects(pyo.Constraint, active=True))
    # c - A'y, by hand, for the intercept: it stands in every margin row with its sign
    y = program.statement.design.merged.y
    by_hand = -sum(y[i] * m.dual[m.margin_rows[i]] for i in m.I)
    assert m.rc[m.b] == pytest.approx(by_hand, abs=1e-9)
    assert m.dual[m.at_most_k_terms] <= 1e-12  # a looser limit cannot cost


def test_a_free_variable_does_not_weaken_a_relaxation() -> None:
    program = hinge(noisy()).relaxed()
    m = program.model
    m.sum = pyo.Var()
    m.link = pyo.Constraint(expr=m.w[0] + m.w[1] == m.sum)
    result = solve(program)
    assert result.claim is Claim.OPTIMAL
    session = load(program)
    session.highs.run()
    dual = np.array(session.highs.getSolution().row_dual)
    row = next(i for i, end in enumerate(session.rows) if end.constraint is m.link)
    dual[row] += 0.5  # now the free column could improve without end
    assert session.dual_bound_of(dual) == -math.inf


def test_integers_added_to_a_relaxation_are_relaxed_too() -> None:
    program = convex_rounding(noisy())
    plain = solve(convex_rounding(noisy()))
    program.model.flag = pyo.Var(domain=pyo.Binary)
    program.model.link = pyo.Constraint(expr=program.model.c[0] <= program.model.flag)
    relaxed, exact = solve(program), solve(program.exact())
    assert relaxed.claim is Claim.OPTIMAL
    assert relaxed.objective == pytest.approx(plain.objective, abs=1e-9)
    assert exact.claim is Claim.OPTIMAL
    assert program.exact().size.integers > 0


def test_an_infeasible_relaxation_says_so() -> None:
    program = hinge(noisy()).relaxed()
    program.model.never = pyo.Constraint(expr=program.model.w[0] >= 100)
    result = solve(program)
    assert (result.claim, result.termination) == (Claim.NONE, Termination.INFEASIBLE)
    assert "no point meets every constraint" in result.message


@pytest.mark.parametrize("name", ["slim", "hinge"])
def test_an_exact_program_without_integers_left_is_proved(name: str) -> None:
    # all-zero columns stand in no row: nothing but a real or fixed intercept remains
    arguments = {"intercept": "real"} if name == "hinge" else {"l0_penalty": 0.0}
    zeros = design(np.zeros((5, 2)), [1, 1, 1, -1, -1])
    result = solve(FORMULATIONS[name](zeros, coef_min=1, coef_max=3, **arguments))
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(0.4 if name == "slim" else 0.8)
    assert result.card is not None
    assert result.card.coefficients.min() >= 1


@pytest.mark.parametrize("word", ["tee", "verbose"])
def test_the_log_is_shown_where_it_is_asked_for(
    word: str, capfd: pytest.CaptureFixture[str]
) -> None:
    solve(slim(noisy()), "highs", progress=False)
    assert capfd.readouterr() == ("", "")
    solve(slim(noisy()), "highs", progress=False, **{word: True})
    assert "HiGHS" in capfd.readouterr().out
    solve(slim(noisy(), max_terms=2), "tree", progress=False, **{word: True})
    told = capfd.readouterr().err
    assert "slim: tree searches, 0% of 30 s" in told
    assert "slim: re-check" in told
    with pytest.raises(OptionError, match="verbose must be True or False"):
        solve(slim(noisy()), "highs", **{word: "loud"})
