"""A solver of one's own, registered from outside, behind the same re-check as every other."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from conic_cases import make
from designs import noisy

from milpscore.core.card import Card
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.result import Claim, Termination
from milpscore.formulations import slim
from milpscore.solvers import SOLVERS, Outcome, Solver, load, solve
from milpscore.solvers.options import ConicOptions, Options
from milpscore.verify import evaluate

BOX: dict[str, Any] = {"coef_min": -1, "coef_max": 1}


class BruteForce(Solver):
    """Every card."""

    def refuse(self, task: Any) -> None:
        if task.program.added_by_user():
            raise NotApplicableError("brute force reads the statement only")

    def solve(self, task: Any) -> Outcome:
        statement = task.program.statement
        points = itertools.product(
            *(range(a, b + 1) for a, b in zip(*statement.ranges, strict=True))
        )
        cards = [statement.with_best_intercept(np.array(w)) for w in points]
        costs = [evaluate(statement, card).objective for card in cards]
        best = int(np.argmin(costs))
        outcome = Outcome(Termination.COMPLETED, card=cards[best], dual_bound=costs[best])
        outcome.remarks = (f"{len(cards)} cards",)
        return outcome


class Liar(Solver):
    """A worthless card called optimal."""

    def solve(self, task: Any) -> Outcome:
        card = Card(np.array([9, 8, 7]), task.program.statement.empty_card().intercept)
        return Outcome(Termination.COMPLETED, card=card, dual_bound=0.9)


class Rows(Solver):
    """Says how many rows HiGHS was given."""

    loads = True

    def solve(self, task: Any) -> Outcome:
        rows = task.session.highs.getNumRow()
        return Outcome(Termination.HEURISTIC, remarks=(f"{rows} rows",))


class Nothing(Solver):
    """A conic solver that answers w = 0, b = 1."""

    conic = True

    def solve(self, task: Any) -> Outcome:
        p = task.program.statement.shape[1]
        return Outcome(Termination.COMPLETED, "done", point=(np.zeros(p), 1.0))


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SOLVERS, "_homes", dict(SOLVERS._homes))
    for name, solver in (
        ("brute-force", BruteForce), ("liar", Liar), ("rows", Rows), ("nothing", Nothing),
    ):  # fmt: skip
        SOLVERS.register(name, solver)


def test_a_solver_of_ones_own_is_one_name_more() -> None:
    result, truth = solve(slim(noisy(), **BOX), "Brute_Force"), solve(slim(noisy(), **BOX), "highs")
    assert (result.solver, result.claim) == ("brute-force", Claim.OPTIMAL)
    assert result.objective == pytest.approx(truth.objective, abs=1e-12)
    assert "27 cards" in result.message
    assert solve(slim(noisy(), **BOX), "brute-force", second_opinion=True).second_opinion


def test_it_is_believed_no_more_than_the_others() -> None:
    result = solve(slim(noisy()), "liar")
    assert (result.origin, result.claim) == ("empty card", Claim.FEASIBLE)
    assert "liar claims the bound 0.9" in result.message


def test_it_refuses_what_it_cannot_hold() -> None:
    program = slim(noisy(), **BOX)
    program.model.w[0].fix(1)
    with pytest.raises(NotApplicableError, match="reads the statement only"):
        solve(program, "brute-force")
    with pytest.raises(NotApplicableError, match="slim is a relaxed one: use solver='highs'"):
        solve(slim(noisy()).relaxed(), "brute-force")
    with pytest.raises(NotApplicableError, match="eye is a conic program: use ecos"):
        solve(make("eye"), "brute-force")


def test_it_may_ask_for_the_program_inside_highs() -> None:
    session = load(slim(noisy()))
    assert f"{session.highs.getNumRow()} rows" in solve(session, "rows").message


def test_a_conic_solver_of_ones_own() -> None:
    result = solve(make("eye"), "nothing")
    assert (result.solver, result.claim) == ("nothing", Claim.FEASIBLE)
    assert result.origin == "empty card"  # its intercept is the best one
    with pytest.raises(NotApplicableError, match="nothing solves conic programs"):
        solve(slim(noisy()), "nothing")


def test_a_name_is_taken_once() -> None:
    with pytest.raises(OptionError, match="a solver called 'highs' already"):
        SOLVERS.register("highs", Liar)


def test_defaults_stand_in_the_options() -> None:
    assert (Options.time_limit, Options.mip_gap, Options.threads) == (30.0, 1e-6, 1)
    assert Options.of({}) == Options()
    assert ConicOptions.time_limit == math.inf
