"""The file of results: commits, one writer, other people's files, full disks, killed processes."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from study_cases import started, wait_until

from experiments.runner import RunStore, finish_runs
from milpscore.core.errors import DataError, OptionError
from milpscore_study import StudyError, read_study, store
from milpscore_study.store import Answer

SLOW = """
import sys, time
from experiments.runner import RunStore, finish_runs

def slow(run):
    time.sleep(0.02)
    return {"value": run}

finish_runs(RunStore(sys.argv[1], "slow", {}), slow, 10_000)
"""


def value(run: int) -> dict[str, Any]:
    return {"value": run}


def rows(file: Path) -> dict[int, tuple[str, str]]:
    """What is finished, and when."""
    connection = sqlite3.connect(file)
    found = connection.execute(
        "SELECT number, result, finished FROM solves WHERE number >= 0"
    ).fetchall()
    connection.close()
    return {number: (result, finished) for number, result, finished in found}


def small(file: Path) -> Path:
    """A file with three runs."""
    finish_runs(RunStore(file, "slow", {}), value, 3)
    return file


def test_killed_at_any_moment_the_finished_runs_stay_and_a_dead_writer_does_not_hold_the_file(
    tmp_path: Path,
) -> None:
    file = tmp_path / "runs.sqlite"
    seen: dict[int, tuple[str, str]] = {}
    for _ in range(2):
        child = started("-c", SLOW, str(file))
        try:
            wait_until(lambda: file.exists() and file.stat().st_size and _has_table(file))
            before = len(rows(file))
            wait_until(lambda enough=before + 5: len(rows(file)) >= enough)
            with pytest.raises(StudyError, match=rf"process {child.pid} on this machine is writ"):
                finish_runs(RunStore(file, "slow", {}), value, 10_000)
            found = rows(file)
        finally:
            child.send_signal(signal.SIGKILL)
        _ended(child.pid)
        after = rows(file)
        assert found.items() <= after.items()
        assert seen.items() <= after.items()
        assert sorted(after) == list(range(len(after)))
        seen = after
        total = len(after) + 3
        finished = finish_runs(RunStore(file, "slow", {}), value, total)
        assert finished == {run: value(run) for run in range(total)}
        assert seen.items() <= rows(file).items()
        seen = rows(file)
        child.communicate()
    # what is left is one plain file
    assert [path.name for path in tmp_path.iterdir()] == ["runs.sqlite"]
    assert read_study(file).table()["key"].is_unique


def _ended(process: int) -> None:
    """Wait for the end of every thread of a killed process and leave it, a zombie, to be reaped.

    Its first thread may be gone, and look like a zombie, while others still hold its files.
    """
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)


def _has_table(file: Path) -> bool:
    """Whether the file is laid out."""
    connection = sqlite3.connect(file)
    try:
        return bool(
            connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'solves'").fetchone()
        )
    finally:
        connection.close()


def test_a_lock_file_left_behind_holds_nothing(tmp_path: Path) -> None:
    file = small(tmp_path / "runs.sqlite")
    Path(f"{file}.lock").write_text("")
    assert len(finish_runs(RunStore(file, "slow", {}), value, 4)) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["runs.sqlite"]


def test_finished_runs_are_read_while_another_process_writes(tmp_path: Path) -> None:
    file = small(tmp_path / "runs.sqlite")
    with store.locked(file):
        assert finish_runs(RunStore(file, "slow", {}), value, 3)[2] == value(2)
        with pytest.raises(StudyError, match=f"process {os.getpid()} on this machine is writing"):
            finish_runs(RunStore(file, "slow", {}), value, 4)


def test_no_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"there is no folder .*none' for runs\.sqlite"):
        finish_runs(RunStore(tmp_path / "none" / "runs.sqlite", "slow", {}), value, 1)
    assert not list(tmp_path.iterdir())


def test_one_process_writes_once_at_a_time(tmp_path: Path) -> None:
    file = small(tmp_path / "runs.sqlite")
    runs = RunStore(file, "slow", {})
    with runs.writing():
        with pytest.raises(StudyError, match=f"process {os.getpid()} on this machine is writing"):
            finish_runs(RunStore(file, "slow", {}), value, 4)
        runs.keep(Answer(3, value(3)))
    assert sorted(rows(file)) == [0, 1, 2, 3]


def test_a_writer_whose_file_was_taken_writes_no_more(tmp_path: Path) -> None:
    file = small(tmp_path / "runs.sqlite")

    def robbed(run: int) -> dict[str, Any]:
        if run == 4:
            # somebody removes the lock file by hand, and another process begins to write
            Path(f"{file}.lock").unlink()
            other = RunStore(file, "slow", {})
            with other.writing():
                other.keep(Answer(9, value(9)))
        return value(run)

    with pytest.raises(StudyError, match="another process has taken"):
        finish_runs(RunStore(file, "slow", {}), robbed, 9)
    assert sorted(rows(file)) == [0, 1, 2, 3, 9]


def test_a_row_is_never_written_twice(tmp_path: Path) -> None:
    runs = RunStore(small(tmp_path / "runs.sqlite"), "slow", {})
    with runs.writing(), pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE .*solves\.key"):
        runs.keep(Answer(1, {"value": 7}))
    assert rows(tmp_path / "runs.sqlite")[1][0] == '{"value": 1}'


def test_a_full_disk_keeps_the_rows_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = small(tmp_path / "runs.sqlite")
    connect = store.connect

    def with_quota(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute("PRAGMA max_page_count = 20")
        return connection

    def long(run: int) -> dict[str, Any]:
        return {"value": "x" * 3000}

    monkeypatch.setattr(store, "connect", with_quota)
    with pytest.raises(StudyError, match=r"no room for .*database or disk is full"):
        finish_runs(RunStore(file, "slow", {}), long, 100)
    monkeypatch.undo()
    there = len(rows(file))
    assert 3 < there < 100
    assert len(finish_runs(RunStore(file, "slow", {}), long, 100)) == 100
    assert len(rows(file)) == 100


def test_a_study_is_read_while_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "runs.sqlite"
    counts = []

    def looked_at(run: int) -> dict[str, Any]:
        counts.append(read_study(file).done)
        return value(run)

    finish_runs(RunStore(file, "slow", {}), looked_at, 4)
    assert counts == [0, 1, 2, 3]
    report = read_study(file)
    assert (report.done, report.failed, report.left, report.planned) == (4, 0, 0, 4)


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "runs.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE mine (a)")
    connection.commit()
    connection.close()
    lines = tmp_path / "old.jsonl"
    lines.write_text('{"experiment": "eye-table2", "run": 0}\n')
    text = tmp_path / "notes.txt"
    text.write_text("not a database")
    for path, words in (
        (file, r"SQLite database of another program \(application_id 0\)"),
        (lines, "is not an SQLite file"),
        (text, "is not an SQLite file"),
    ):
        before = path.read_bytes()
        for read in (
            lambda path=path: RunStore(path, "slow", {}),
            lambda path=path: read_study(path),
        ):
            with pytest.raises(DataError, match=words):
                read()
        assert path.read_bytes() == before
    with pytest.raises(DataError, match="there is no file"):
        read_study(tmp_path / "none.sqlite")
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(DataError, match="is empty: run the study first"):
        read_study(tmp_path / "empty.sqlite")


def test_a_later_layout_and_damage_are_told(tmp_path: Path) -> None:
    file = small(tmp_path / "runs.sqlite")
    whole = file.read_bytes()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(DataError, match="has layout 99, this milpscore reads layout 3"):
        RunStore(file, "slow", {})
    page = 4096
    for start in range(page, len(whole), page):
        file.write_bytes(whole[:start] + b"\xff" * page + whole[start + page :])
        with pytest.raises(DataError, match=r"is damaged \(.*restore a copy"):
            RunStore(file, "slow", {})
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="is damaged"):
        read_study(file)
    file.write_bytes(whole)
    assert read_study(file).done == 3


def test_settings_nested_in_tables_are_named(tmp_path: Path) -> None:
    file = tmp_path / "runs.sqlite"
    settings = {"a": [{"b": 1, "c": [1, 2]}], "d": {"e": None}}
    finish_runs(RunStore(file, "slow", settings), value, 1)
    RunStore(file, "slow", {"d": {}, "f": None, "a": [{"c": [1, 2], "b": 1}]})
    with pytest.raises(OptionError, match=r"a\[0\]\.b=1 \(now 3\), d\.e=None \(now 2\): name"):
        RunStore(file, "slow", {"a": [{"b": 3, "c": [1, 2]}], "d": {"e": 2}})
    many = {f"k{k}": k for k in range(9)}
    with pytest.raises(OptionError, match="and 6 more"):
        RunStore(file, "slow", many)


def test_ctrl_c_as_a_transaction_begins_is_told_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_short(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        raise KeyboardInterrupt

    runs = RunStore(tmp_path / "runs.sqlite", "cut short", {})

    def write() -> None:
        with runs.writing():
            monkeypatch.setattr(store, "transaction", cut_short)
            runs.commit("a", 0, Answer(0, {"value": 0}))

    with pytest.raises(KeyboardInterrupt):
        write()
    monkeypatch.undo()
    with runs.writing():
        pass
