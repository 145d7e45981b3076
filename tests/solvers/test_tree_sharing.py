"""One search by several processes, or by the workers of a Dask cluster; some of them killed."""

from __future__ import annotations

import importlib
import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killing import killed_once
from study_cases import dask_cluster, needs_dask
from tree_cases import set_policy
from typer.testing import CliRunner

from fuzz.running import Here
from milpscore.cli.app import app
from milpscore.constraints import Constraint, MaxFPR
from milpscore.core import cluster
from milpscore.core.errors import NotApplicableError, OptionError, SolverError
from milpscore.core.program import Program
from milpscore.core.result import Result, Termination, TracePoint
from milpscore.estimators import SlimClassifier
from milpscore.formulations import risk_score, slim
from milpscore.solvers import solve
from milpscore.solvers.options import Options
from milpscore.solvers.trees.risk import tree as risk
from milpscore.solvers.trees.shared import best_first as sharing
from milpscore.solvers.trees.zero_one import (
    descent as descents,
    rows as patterns,
    support_bounds as subsets,
    tree as zero_one,
)


def hard() -> Program:
    """Some 500 nodes of noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = (X[:, :3].sum(axis=1) + 4 * rng.logistic(size=200) > 0).astype(int)
    return risk_score(X, y, max_terms=6, coef_min=-5, coef_max=5, l0_penalty=1e-6)


def counted(*rules: Constraint, columns: int = 12) -> Program:
    """A 0-1 score of four terms on the noise of twelve columns of few values."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(120, 12))
    y = (X[:, :3].sum(axis=1) + 3 * rng.logistic(size=120) > 4.5).astype(int)
    return slim(X[:, :columns], y, max_terms=4, coef_min=-3, coef_max=3, constraints=rules)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches are shared from their first node on, in small parts."""
    set_policy(monkeypatch, zero_one, alone=0.0, part_entries=20_000, part_visits=20_000)
    set_policy(monkeypatch, risk, alone=0.0)
    set_policy(monkeypatch, risk, "SHARED", part_work=1e8)


@pytest.fixture(scope="module")
def alone() -> Result:
    return solve(hard(), "tree", time_limit=600)


def same(result: Result, alone: Result) -> None:
    """The answer of one process, and as much proved."""
    assert str(result.claim) == str(alone.claim) == "optimal"
    assert result.card == alone.card
    assert result.objective == alone.objective


@pytest.mark.parametrize("workers", [1, 3, 40])
def test_any_number_of_workers_gives_the_answer_of_one_process(workers: int, alone: Result) -> None:
    here = Here(workers)
    result = solve(hard(), "tree", client=here, time_limit=600)
    same(result, alone)
    assert here.parts > 10
    assert result.nodes <= 1.5 * alone.nodes
    assert "client" not in result.options


@pytest.mark.parametrize("workers", [1, 3, 40])
@pytest.mark.parametrize("rules", [[], [MaxFPR(0.1)]], ids=["free", "limited"])
def test_the_zero_one_tree_gives_the_answer_of_one_process(workers: int, rules: Any) -> None:
    alone, here = solve(counted(*rules), "tree", time_limit=600), Here(workers)
    result = solve(counted(*rules), "tree", client=here, time_limit=600)
    same(result, alone)
    assert here.parts > 10


@pytest.mark.parametrize("seed", [5, 18])
def test_what_parts_find_is_searched(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a descent, behind whose card a lost support would hide."""
    set_policy(monkeypatch, zero_one, part_entries=300, part_visits=10)
    monkeypatch.setattr(descents.CoordinateDescent, "run", lambda *_: None)
    rng = np.random.default_rng(seed)
    X = (rng.random((40, 7)) < 0.5).astype(float)
    y = ((X[:, 0] + X[:, 3] >= 1) ^ (rng.random(40) < 0.2)).astype(int)
    program, here = slim(X, y, max_terms=3, coef_min=-2, coef_max=2), Here(2)
    shared = solve(program, "tree", client=here, time_limit=600)
    assert shared.objective == solve(program, "tree", time_limit=600).objective
    assert here.parts > 3


def test_a_limit_on_nodes_holds_for_all_workers_together() -> None:
    result = solve(hard(), "tree", client=Here(5), node_limit=100, time_limit=600)
    assert result.termination is Termination.NODE_LIMIT
    assert 100 <= result.nodes <= 120
    assert 0 < result.dual_bound < result.objective


def test_an_answer_comes_with_what_was_kept_of_its_own_part() -> None:
    crew = sharing.Crew(lambda problem: problem, 10, 1, Here(2))
    for part in range(4):
        crew.send(("kept of", part), lambda problem, part: problem + part, part)
    assert [crew.take(60) for _ in range(4)] == [(10 + k, ("kept of", k)) for k in range(4)]
    assert not crew.out


def test_a_solver_that_cannot_use_a_cluster_says_so() -> None:
    with pytest.raises(NotApplicableError, match="highs searches in this process"):
        solve(slim([[0], [1], [1]], [0, 1, 0], max_terms=1), "highs", client=Here(2))


def test_supports_with_signs_are_shared_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    set_policy(monkeypatch, zero_one, enumerate_always=0.0, enumerate_if_pairs_weak=-1.0)
    program, here = counted(columns=6), Here(3)
    alone = solve(program, "tree", time_limit=600)
    same(solve(program, "tree", client=here, time_limit=600), alone)
    assert here.parts > 3


def test_supports_begun_here_and_sent_out_are_all_supports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever a search begins to be shared, in the middle of a task too."""
    rng = np.random.default_rng(0)
    X, y = (rng.random((60, 9)) < 0.5).astype(float), rng.choice([0, 1], 60)
    program = slim(X, y, coef_min=-1, coef_max=1, max_terms=6, l0_penalty=0.0)
    layout = patterns.Patterns(program.statement)
    set_policy(monkeypatch, subsets, visits=0)

    def found(alone: int) -> list[tuple[int, ...]]:
        supports, worker = subsets.Supports(layout), subsets.Supports(layout)
        seen: subsets.Bounded = []
        steps = 0
        while not math.isinf(supports.floor):
            if steps < alone or supports.size == 0:
                seen += supports.more(math.inf)
                steps += 1
                supports.commit()
            elif supports.begun:
                seen += supports.rest(math.inf)
            elif (part := supports.part(1e5)) is not None:
                seen += worker.bounded(part, math.inf)
            else:
                supports.commit()
        return sorted(columns for _, columns, _ in seen)

    every = found(10**9)
    assert len(every) == len(set(every)) == sum(math.comb(9, k) for k in range(1, 7))
    assert all(found(alone) == every for alone in range(36, 46))


@pytest.mark.parametrize("limit", [0, "10kB"])
@pytest.mark.parametrize("program", [hard, counted])
def test_little_memory_gives_the_same_answer(
    program: Callable[[], Program], limit: int | str
) -> None:
    """Depth first, by one process or several; the bound holds at every moment."""
    whole = solve(program(), "tree", time_limit=600)
    seen: list[TracePoint] = []
    for client in (None, Here(2)):
        result = solve(
            program(), "tree", client=client, memory_limit=limit, time_limit=600,
            callback=seen.append,
        )  # fmt: skip
        same(result, whole)
    assert all(point.dual_bound <= whole.objective for point in seen)


def test_amounts_of_memory_are_read_or_refused() -> None:
    assert [Options(memory_limit=m).memory for m in (5, "2GB", "1.5 kB", "4G", None)] == [
        5,
        2e9,
        1.5e3,
        4e9,
        None,
    ]
    for wrong in (-1, "2", "much", 1.5, True):
        with pytest.raises(OptionError, match="memory_limit must be bytes"):
            Options(memory_limit=wrong)  # type: ignore[arg-type]


def test_a_killed_process_is_replaced_and_its_part_searched_again(tmp_path: Path) -> None:
    with sharing.crew(abs, -1, jobs=2) as crew:
        assert crew is not None
        for name in "abc":
            crew.send(name, killed_once, tmp_path / "mark", False)
        assert [crew.take(600) for _ in range(3)] == [(2, "a"), (2, "b"), (2, "c")]
        crew.send("d", killed_once, tmp_path / "mark", True)
        with pytest.raises(SolverError, match="lower memory_limit"):
            crew.take(600)


def connected(address: str) -> Any:
    """A client of the scheduler at an address."""
    client: Any = importlib.import_module("distributed").Client
    return client(address)


@needs_dask
def test_a_cluster_gives_the_same_also_with_a_worker_killed_midway(
    tmp_path: Path, alone: Result
) -> None:
    seen: list[TracePoint] = []
    with dask_cluster(tmp_path, 4) as (address, workers), connected(address) as client:
        client.wait_for_workers(4)  # on whatever cores there are
        same(solve(hard(), "tree", client=address, time_limit=600), alone)

        def strike(point: TracePoint) -> None:
            seen.append(point)
            if point.nodes >= 100 and workers[0].poll() is None:
                workers[0].send_signal(signal.SIGKILL)
                workers[0].wait()

        result = solve(hard(), "tree", client=client, callback=strike, time_limit=600)
        assert workers[0].poll() is not None
        same(result, alone)
        assert all(point.dual_bound <= alone.objective for point in seen)

        # by the address, and by every door
        rows = [[0, 1], [1, 1], [1, 0], [0, 0]]
        assert SlimClassifier(client=address).fit(rows, [0, 1, 1, 0]).score(rows, [0, 1, 1, 0]) == 1
        table = tmp_path / "table.csv"
        table.write_text("a,b,y\n0,1,0\n1,1,1\n1,0,1\n0,0,0\n")
        given = ["fit", str(table), "--target", "y", "--dask", address, "--memory-limit", "1G"]
        assert CliRunner().invoke(app, given).exit_code == 0

        def stop(point: TracePoint) -> None:
            if point.nodes >= 100:
                raise KeyboardInterrupt

        cut = solve(hard(), "tree", client=client, callback=stop, time_limit=600)
        assert cut.termination is Termination.INTERRUPTED
        assert cut.card is not None
        assert 0 < cut.dual_bound <= alone.objective <= cut.objective


@needs_dask
def test_no_scheduler_and_two_kinds_of_workers_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(SolverError, match=r"there is no Dask scheduler at 'tcp://127\.0\.0\.1:1'"):
        solve(hard(), "tree", client="tcp://127.0.0.1:1", time_limit=600)
    table = tmp_path / "table.csv"
    table.write_text("a,y\n0,0\n1,1\n")
    given = ["fit", str(table), "--target", "y", "--dask", "tcp://127.0.0.1:1", "--threads", "2"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 2
    assert "--threads and --dask" in done.stderr
