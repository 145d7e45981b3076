"""Who does the solves: one process, several, a Dask cluster; some of them killed."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from killing import killed_by_itself
from study_cases import MANY, dask_cluster, figures, needs_dask, started, wait_until, written
from typer.testing import CliRunner

from experiments.runner import RunStore, finish_runs
from milpscore.cli.app import app
from milpscore.core import cluster
from milpscore.core.errors import MissingDependencyError
from milpscore_study import StudyError, engines, read_study, run_study

RUN = """
import signal
from milpscore.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 60 solves done in this process."""
    folder = tmp_path_factory.mktemp("serial")
    out = folder / "serial.sqlite"
    run_study(written(folder, MANY), out)
    return out


def lines(path: Path) -> int:
    """Rows of a file that another process writes."""
    if not path.exists() or not path.stat().st_size:
        return 0
    connection = sqlite3.connect(path)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'solves'").fetchone():
            return 0
        query = "SELECT count(*) FROM solves WHERE number >= 0"
        return int(connection.execute(query).fetchone()[0])
    finally:
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_cut_off_goes_on_where_it_was(
    tmp_path: Path, serial: Path, number: signal.Signals
) -> None:
    file, out = written(tmp_path, MANY), tmp_path / "out.sqlite"
    child = started("-c", RUN, "study", "run", str(file), "--out", str(out))
    try:
        wait_until(lambda: lines(out) >= 5)
    finally:
        child.send_signal(number)
        _, said = child.communicate()
    assert child.returncode == (130 if number is signal.SIGINT else -signal.SIGKILL), said
    assert ("goes on from there" in said) == (number is signal.SIGINT)
    before = read_study(out)
    assert before.left is not None
    assert 5 <= before.done < 60
    kept = before.table()
    report = run_study(file, out)
    assert (report.done, report.failed, report.left) == (60, 0, 0)
    pd.testing.assert_frame_equal(figures(out), figures(serial))
    after = report.table().set_index("key").loc[kept["key"]]
    assert after["finished"].tolist() == kept["finished"].tolist()


def test_several_processes_give_the_same(tmp_path: Path, serial: Path) -> None:
    out = tmp_path / "out.sqlite"
    run_study(written(tmp_path, MANY), out, jobs=2)
    pd.testing.assert_frame_equal(figures(out), figures(serial))


def test_a_killed_process_of_joblib_is_told(tmp_path: Path) -> None:
    file = tmp_path / "runs.sqlite"
    with pytest.raises(StudyError, match=r"a process of --jobs was killed.*with fewer jobs"):
        finish_runs(RunStore(file, "deadly", {}), killed_by_itself, 4, n_jobs=2)


def test_dask_that_is_absent_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    out = tmp_path / "out.sqlite"
    with pytest.raises(MissingDependencyError, match=r"pip install 'milpscore\[distributed\]'"):
        run_study(written(tmp_path, MANY), out, dask="tcp://127.0.0.1:1")
    done = CliRunner().invoke(
        app,
        ["study", "run", str(tmp_path / "small.toml"), "--out", str(out), "--dask", "tcp://x:1"],
    )
    assert done.exit_code == 2
    assert "milpscore[distributed]" in done.stderr


@needs_dask
def test_no_scheduler_at_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(StudyError, match=r"there is no Dask scheduler at 'tcp://127\.0\.0\.1:1'"):
        run_study(written(tmp_path, MANY), tmp_path / "out.sqlite", dask="tcp://127.0.0.1:1")


@needs_dask
@pytest.mark.parametrize("address", ["nonsense", "foo://127.0.0.1:1", "tcp://127.0.0.1"])
def test_an_address_that_is_none_makes_no_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    import distributed

    # a client of such an address waits 20 s when it is collected, and ends in a traceback
    monkeypatch.setattr(distributed, "Client", None)
    with pytest.raises(StudyError, match=f"there is no Dask scheduler at '{address}'"):
        run_study(written(tmp_path, MANY), tmp_path / "out.sqlite", dask=address)


@needs_dask
def test_a_scheduler_lost_before_the_first_solve_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    class Lost(contextlib.AbstractContextManager[Any]):
        """A client whose scheduler ends before the work is sent."""

        def __exit__(self, *error: object) -> None:
            """Nothing to close."""

        def wait_for_workers(self, count: int, timeout: float) -> None:
            """There are some."""

        def submit(self, *given: Any, **named: Any) -> None:
            raise OSError("Timed out trying to connect")

    monkeypatch.setattr(distributed, "Client", lambda *_, **__: Lost())
    with pytest.raises(StudyError, match=r"tcp://127\.0\.0\.1:1 is gone \(Timed out .*again"):
        run_study(written(tmp_path, MANY), tmp_path / "out.sqlite", dask="tcp://127.0.0.1:1")


def square(run: int) -> dict[str, Any]:
    """A run that a worker can import."""
    return {"value": run**2}


@needs_dask
def test_a_deadly_solve_is_an_error_and_a_lost_scheduler_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    file, runs = tmp_path / "out.sqlite", RunStore(tmp_path / "deadly.sqlite", "deadly", {})
    with dask_cluster(tmp_path) as (address, (*_, scheduler)):
        with (
            engines.on_dask(address),
            pytest.raises(StudyError, match=r"runs failed, run \d with KilledWorker"),
        ):
            finish_runs(runs, killed_by_itself, 2)

        def strike(counts: Any) -> None:
            if counts.done >= 5:
                scheduler.kill()

        with pytest.raises(StudyError, match=r"the Dask scheduler at .* is gone"):
            run_study(written(tmp_path, MANY), file, dask=address, progress=strike)
    assert 5 <= read_study(file).done < 60
    assert finish_runs(runs, square, 2)[1] == square(1)


@needs_dask
def test_a_cluster_gives_the_same_also_with_a_worker_killed_midway(
    tmp_path: Path, serial: Path
) -> None:
    file, out = written(tmp_path, MANY), tmp_path / "killed.sqlite"
    with dask_cluster(tmp_path) as (address, workers):
        whole = tmp_path / "whole.sqlite"
        run_study(file, whole, dask=address)
        pd.testing.assert_frame_equal(figures(whole), figures(serial))

        with engines.on_dask(address):
            found = finish_runs(RunStore(tmp_path / "runs.sqlite", "squares", {}), square, 20)
        assert found == {run: square(run) for run in range(20)}

        def strike(counts: Any) -> None:
            if counts.done >= 15 and workers[0].poll() is None:
                workers[0].send_signal(signal.SIGKILL)
                workers[0].wait()

        report = run_study(file, out, dask=address, progress=strike)
        assert workers[0].returncode == -signal.SIGKILL
        assert (report.done, report.failed, report.left) == (60, 0, 0)
        pd.testing.assert_frame_equal(figures(out), figures(serial))
