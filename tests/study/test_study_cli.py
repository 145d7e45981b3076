"""The commands of studies: run, status, export, plot; failures and Ctrl-C."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from study_cases import SMALL, figures, written
from typer.testing import CliRunner

import milpscore_study as study
from milpscore.cli.app import app
from milpscore_study import read_study, run_study, work
from milpscore_study.study_command import _print_by_model


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_the_commands(tmp_path: Path) -> None:
    file, out = written(tmp_path), tmp_path / "small.sqlite"
    done = invoke("study", "run", file, "--out", out)
    assert done.exit_code == 0, done.output
    lines = done.stderr.splitlines()
    assert (lines[0], lines[-2]) == ("small: 0 of 12 solves", "small: 12 of 12 solves")
    assert lines[-1] == "small.sqlite (study): 12 of 12 done"
    again = invoke("study", "run", file, "--out", out, "--quiet")
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "")
    status = invoke("study", "status", out)
    assert "12 of 12 done" in status.stdout
    assert "hinge (nearest)" in status.stdout
    report = json.loads(invoke("study", "status", out, "--json").stdout)
    assert (report["done"], report["failed"], report["left"]) == (12, 0, 0)
    for format in ("csv", "xml"):
        saved = invoke("study", "export", out, "--format", format, "--out", tmp_path / "t.csv")
        assert saved.exit_code == (0 if format == "csv" else 2), saved.output
    assert len(pd.read_csv(tmp_path / "t.csv")) == 12
    drawn = invoke("study", "plot", out, "--out", tmp_path / "fig.png")
    assert drawn.exit_code == 0, drawn.output
    assert (tmp_path / "fig.png").stat().st_size > 10_000
    plt.close("all")
    changed = written(tmp_path, SMALL.replace("number = 2", "number = 3"))
    refused = invoke("study", "run", changed, "--out", out)
    assert refused.exit_code == 2
    assert "folds.number=2 (now 3): name another file" in refused.stderr
    assert study.read_study(out).done == 12


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    file = written(tmp_path)
    for arguments, words in (
        (("run", tmp_path / "none.toml", "--out", tmp_path / "a.sqlite"), "there is no file"),
        (("run", file, "--out", tmp_path / "none" / "a.sqlite"), "no folder"),
        (("run", file, "--out", tmp_path / "a.sqlite", "--jobs", 0), "jobs=0"),
        (("run", file, "--out", file), "which is read by this command"),
        (("run", file, "--out", Path(__file__)), "is not an SQLite file"),
        (
            ("run", file, "--out", tmp_path / "a.sqlite", "--jobs", 2, "--dask", "tcp://x"),
            "keep one",
        ),
        (("status", tmp_path / "none.sqlite"), "there is no file"),
    ):
        done = invoke("study", *arguments)
        assert done.exit_code == 2, done.output
        (line,) = done.stderr.splitlines()
        assert words in line


def test_failed_solves_are_rows_and_are_tried_again_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = written(tmp_path), tmp_path / "small.sqlite"
    fit = work.fit_model

    def unlucky(model: Any, task: Any, *rest: Any) -> Any:
        if task.seed == 1:
            raise ValueError("no luck")
        return fit(model, task, *rest)

    monkeypatch.setattr(work, "fit_model", unlucky)
    done = invoke("study", "run", file, "--out", out)
    assert done.exit_code == 1, done.output
    assert "6 of 12 done, 6 failed" in done.stderr
    table = read_study(out).table()
    failed = table[table["status"] == "failed"]
    assert (failed["seed"] == 1).all()
    assert (failed["error"] == "ValueError: no luck").all()
    connection = sqlite3.connect(out)
    (text,) = connection.execute("SELECT traceback FROM solves WHERE status = 'failed'").fetchone()
    connection.close()
    assert "in unlucky" in text
    assert "6 failed: ValueError: no luck" in invoke("study", "status", out).stdout

    monkeypatch.undo()
    assert run_study(file, out).failed == 6  # kept, not tried again unasked
    report = run_study(file, out, retry_failed=True)
    assert (report.done, report.failed) == (12, 0)
    assert read_study(out).table()["error"].isna().all()


def test_ctrl_c_keeps_the_finished_solves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, out = written(tmp_path), tmp_path / "small.sqlite"
    fit, calls = work.fit_model, []

    def pressed(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return fit(*given)

    monkeypatch.setattr(work, "fit_model", pressed)
    done = invoke("study", "run", file, "--out", out)
    assert done.exit_code == 130
    assert "the same command goes on from there" in done.stderr
    assert study.read_study(out).done == 3
    first = figures(out)
    assert invoke("study", "run", file, "--out", out).exit_code == 0
    pd.testing.assert_frame_equal(figures(out).head(3), first)


def test_the_table_of_no_rows_has_no_column_to_leave_out() -> None:
    names = ["data", "model", "status", "claim", "terms", "train_accuracy", "test_accuracy"]
    _print_by_model(pd.DataFrame(columns=[*names, "gap", "solve_seconds"], dtype=float))
