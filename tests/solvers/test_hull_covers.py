"""Rows that a solver adds where the hulls of both classes meet: no card breaks one."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from formulation_cases import SLIM_CASES, points_of
from tree_cases import set_policy

import milpscore.solvers.hull_covers as module
from milpscore.core.clock import Clock
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Claim, Termination
from milpscore.formulations import eye, hinge, ordinal, slim
from milpscore.solvers import add_hull_covers, broken_covers, load, policy, solve
from milpscore.solvers.hull_covers import hull_covers
from milpscore.solvers.options import Options

CASES = {**SLIM_CASES, "row": {"coef_min": -3, "coef_max": 3, "big_m": "row"}}


def table(seed: int, kind: str = "whole", n: int = 60) -> tuple[Any, Any]:
    """Rows of three columns whose classes overlap: whole, on a grid of eighths, or on none."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, 3)).astype(float)
    y = (X[:, 0] - X[:, 1] + 2 * rng.normal(size=n) > 0).astype(int)
    parts = {"whole": 0.0, "eighths": rng.integers(0, 8, X.shape) / 8, "free": rng.random(X.shape)}
    return X + parts[kind], y


def covers_of(program: Any) -> tuple[Any, Any]:
    """A session and the rows that are added to it."""
    session = load(program)
    return session, hull_covers(session, Options())


@pytest.mark.parametrize("kind", ["whole", "eighths", "free"])
@pytest.mark.parametrize("case", CASES)
def test_no_card_breaks_a_cover(case: str, kind: str) -> None:
    program = slim(*table(3, kind), **CASES[case])
    statement, rng = program.statement, np.random.default_rng(0)
    assert (statement.intercept.kind == "real") == (kind == "free")
    session, covers = covers_of(program)
    assert covers.shape[0] > 5
    every = [
        np.array(w, dtype=np.int64)
        for w in itertools.product(*points_of(statement))
        if statement.max_terms is None or np.count_nonzero(w) <= statement.max_terms
    ]
    for k in rng.permutation(len(every))[:150]:
        program.layout.fill(program.model, statement, statement.with_best_intercept(every[k]))
        assert (covers @ session.vector()).min() >= 1.0 - 1e-9


def test_no_card_of_several_thresholds_breaks_a_cover() -> None:
    X, _ = table(1, n=40)
    level = np.random.default_rng(1).permutation(np.arange(40) % 3)
    program = ordinal(X, level, coef_min=-2, coef_max=2)
    session, covers = covers_of(program)
    assert covers.shape[0] > 5
    statement, rng = program.statement, np.random.default_rng(0)
    for _ in range(60):
        most = statement.coef_max.clip(max=9)
        card = statement.with_best_intercept(rng.integers(statement.coef_min, most + 1))
        program.layout.fill(program.model, statement, card)
        assert (covers @ session.vector()).min() >= 1.0 - 1e-9


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_they_change_no_optimum_and_raise_the_bound(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = slim(*table(seed), coef_min=-3, coef_max=3, max_terms=2)
    exact = solve(program, "tree", progress=False)
    assert exact.claim is Claim.OPTIMAL
    session, covers = covers_of(program)
    relaxation = session.copy(relaxed=True)
    relaxation.run()
    before = relaxation.getInfo().objective_function_value
    with session.beside(covers):
        assert session.highs.getNumRow() == len(session.rows) + covers.shape[0]
        session.relax()
        session.highs.run()
        after = session.highs.getInfo().objective_function_value
        session.restore()
    assert session.highs.getNumRow() == len(session.rows)
    assert before + 0.01 < after <= exact.objective * session.scale + 1e-9
    nodes = []
    for entries in (policy.POLICY.cover_entries, 0):
        set_policy(monkeypatch, module, cover_entries=entries)
        result = solve(program, "highs", progress=False)
        assert (result.claim, result.objective) == (
            Claim.OPTIMAL, pytest.approx(exact.objective, abs=1e-9),
        )  # fmt: skip
        nodes.append(result.nodes)
    assert nodes[0] <= nodes[1]


def test_there_are_none_without_errors_in_binaries_or_where_they_are_not_wanted() -> None:
    X, y = table(0)
    for program in (slim(X, y, pair_covers=False), hinge(X, y)):
        assert covers_of(program)[1].shape[0] == 0


def test_a_model_takes_them_and_stays_what_was_stated(tmp_path: Path) -> None:
    X, y = table(2)
    program = slim(X, y, coef_min=-3, coef_max=3, max_terms=2)
    before = solve(program.relaxed(), "highs", progress=False).dual_bound
    added = add_hull_covers(program)
    assert added == len(program.model.hull_covers) > 5
    assert program.added_by_user() == ""
    after = solve(program.relaxed(), "highs", progress=False).dual_bound
    exact = solve(program, "tree", progress=False)
    assert before + 0.01 < after <= exact.objective + 1e-9
    assert solve(program, "highs", progress=False).objective == pytest.approx(exact.objective)
    assert "hull_covers" in program.write(tmp_path / "tight.lp").read_text()
    with pytest.raises(NotApplicableError, match="has its hull covers"):
        add_hull_covers(program)
    # a row of one's own is still seen as such
    program.model.mine = pyo.Constraint(expr=program.model.w[0] <= 2)
    assert "mine" in program.added_by_user()
    assert add_hull_covers(hinge(X, y)) == 0
    with pytest.raises(NotApplicableError, match="a conic program has no errors"):
        add_hull_covers(eye(X, y, expert=["x0"]))
    program.set(max_terms=1)  # in place
    assert program.model.component("hull_covers") is not None


def test_variables_fixed_by_hand_break_no_cover() -> None:
    program = slim(*table(2), coef_min=-3, coef_max=3, max_terms=2)
    exact = solve(program, "highs", progress=False)
    assert exact.card is not None
    program.layout.fill(program.model, program.statement, exact.card)
    m = program.model
    wrong = [i for i in m.I if m.z[i].value > 0.5]
    for i in wrong:  # as the best card has them
        m.z[i].fix(1)
    again = solve(program, "highs", progress=False)
    assert again.objective == pytest.approx(exact.objective, abs=1e-9)


def test_an_interrupt_between_rounds_keeps_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    program = slim(*table(2), coef_min=-3, coef_max=3, max_terms=2)
    start = solve(program, "highs", progress=False).card

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_broken", pressed)
    result = solve(program, "highs", warm_start=start, progress=False)
    assert result.termination is Termination.INTERRUPTED
    assert (result.card, result.claim) == (start, Claim.FEASIBLE)


def test_rounds_count_as_seconds_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, sets = [0.0], Clock.now

    def late(*_: object) -> list[Any]:
        waits[0] += 1000.0
        return []

    monkeypatch.setattr(Clock, "now", staticmethod(lambda: sets() + waits[0]))
    monkeypatch.setattr(module, "_broken", late)
    result = solve(slim(*table(2), max_terms=2), "highs", progress=False)
    assert result.solve_seconds >= 1000.0
    assert all(point.seconds >= 1000.0 for point in result.trace)


@pytest.mark.parametrize("case", CASES)
def test_broken_covers_raise_the_relaxation_round_by_round(case: str) -> None:
    program = slim(*table(3), **CASES[case])
    best = solve(program, "tree", progress=False).objective
    relaxed, bounds = program.relaxed(), []
    relaxed.model.lazy = pyo.ConstraintList()
    for _ in range(4):
        bounds.append(solve(relaxed, "highs", progress=False).dual_bound)
        rows = broken_covers(relaxed)
        lacks = [1.0 - pyo.value(row.args[1]) for row in rows]  # 1 <= sum
        assert lacks == pytest.approx(sorted(lacks, reverse=True))
        assert all(lack > 0.0 for lack in lacks)
        for row in rows:
            relaxed.model.lazy.add(row)
    assert bounds == sorted(bounds)
    assert bounds[0] + 1e-6 < bounds[-1] <= best + 1e-9


def test_a_model_without_values_breaks_nothing_yet() -> None:
    with pytest.raises(NotApplicableError, match="holds no values"):
        broken_covers(slim(*table(3)))
    assert broken_covers(hinge(*table(3))) == []
