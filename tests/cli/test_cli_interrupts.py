"""Ctrl-C while a command saves its work, and what a command leaves behind."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_cli import data, fit, parse, run

import milpscore.fitting  # takes solve by its name, before a test puts another in its place
import milpscore.solvers
from milpscore.cli.common import noting_interrupts
from milpscore.core.result import Termination

__all__ = ["data"]


def test_a_ctrl_c_while_saving_is_only_noted() -> None:
    handler = signal.getsignal(signal.SIGINT)
    with noting_interrupts() as interrupted:
        pass
    signal.raise_signal(signal.SIGINT)
    assert interrupted.is_set()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, handler)
    with pytest.raises(KeyboardInterrupt), noting_interrupts() as interrupted:
        signal.raise_signal(signal.SIGINT)
    assert interrupted.is_set()
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.parametrize(
    "place", ["milpscore.solvers.solve", "milpscore.cli.groups.DataOptions.design"]
)
def test_ctrl_c_ends_an_export_with_130(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    out, solve = tmp_path / "model.lp", milpscore.solvers.solve

    def pressed(*given: Any, **options: Any) -> Any:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        if not place.endswith("solve"):
            raise KeyboardInterrupt
        return replace(solve(*given, **options), termination=Termination.INTERRUPTED)

    monkeypatch.setattr(place, pressed)
    done = run("export", data, "--target", "ill", "--raw", "--out", out)
    assert done.exit_code == 130
    assert out.exists() == place.endswith("solve")
    said = "cut short: its optimum may lie below that of the loss. interrupted"
    assert (said if out.exists() else "Interrupted: no file was written.") in done.stderr


def test_a_command_leaves_the_handler_of_ctrl_c(data: Path) -> None:
    handler = signal.getsignal(signal.SIGINT)
    fit(data, "--max-terms", 1)
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.parametrize("formulation", ["risk-score", "hinge"])
def test_ctrl_c_before_the_solver_runs_gives_the_empty_card(
    data: Path, monkeypatch: pytest.MonkeyPatch, formulation: str
) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("milpscore.fitting.start_beside", pressed)
    out = data.with_name("card.json")
    done = run("fit", data, "--target", "ill", "--formulation", formulation, "--json", "--out", out)
    report = parse(done.stdout)
    assert done.exit_code == 130
    assert report["termination"] == "interrupted"
    assert report["claim"] == "feasible"
    assert report["message"] == "no solver ran"
    shown = run("card", out).stdout
    assert "Cut short: The solve was interrupted." in shown
    assert "time limit" not in shown
