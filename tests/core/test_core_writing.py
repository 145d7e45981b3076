"""What was there before a write that fails is there afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import milpscore
from milpscore.certificate import certify
from milpscore.cli.app import app
from milpscore.core.writing import replacing, write_text
from milpscore.data import make_design
from milpscore.fitting import fit_card
from milpscore.scorecard import certified_card
from milpscore_show.report import report


@pytest.fixture(scope="module")
def solved() -> Any:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (40, 3)), columns=list("abc"))
    y = (X["a"] + rng.normal(0, 0.5, 40) > 1).astype(int)
    return fit_card(make_design(X, y), "slim", max_terms=2, progress=False)


@pytest.mark.parametrize("name", ["card.json", "card.txt", "card.html", "card.svg", "card.sql"])
def test_a_card_survives_a_full_disk(
    name: str, solved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = certified_card(solved[0].statement.design, solved[1])
    _survives(card.write, tmp_path / name, monkeypatch)


@pytest.mark.parametrize("kind", ["certificate", "model", "report"])
def test_what_is_written_of_a_solve_survives_a_full_disk(
    kind: str, solved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, result = solved
    card = certified_card(program.statement.design, result)
    design = program.statement.design
    write: Callable[[Path], Any] = {
        "certificate": certify(program, result).to_json,
        "model": program.write,
        "report": lambda path: report(card, design, path=path),
    }[kind]
    ending = {"certificate": "json", "model": "lp", "report": "html"}[kind]
    _survives(write, tmp_path / f"file.{ending}", monkeypatch)


def _survives(write: Callable[[Path], Any], path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write once, then onto a disk that is full when the file is synced."""
    write(path)
    before = path.read_bytes()
    assert before

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write(path)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


LIMITED = """
import resource, sys
from milpscore.core.writing import write_text
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_text(sys.argv[1], "x" * 100_000)
except OSError as error:
    print(error.filename)
"""


def test_a_limit_on_the_size_of_files_leaves_what_was_there(tmp_path: Path) -> None:
    path = write_text(tmp_path / "file.txt", "before")
    home = str(Path(milpscore.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)],
        env={**os.environ, "PYTHONPATH": home}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_command_that_cannot_write_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = pd.DataFrame({"a": [0, 1] * 20, "y": [0, 1] * 18 + [1, 0] * 2})
    X.to_csv(tmp_path / "data.csv", index=False)
    out = write_text(tmp_path / "proof.json", "before")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = CliRunner().invoke(
        app, ["fit", str(tmp_path / "data.csv"), "--target", "y", "--certificate", str(out)]
    )
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == f"Error: {out}: No space left on device"
    assert out.read_text() == "before"


def test_links_lead_on_and_devices_are_written_to(tmp_path: Path) -> None:
    target = write_text(tmp_path / "target.txt", "old")
    target.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    with replacing(os.devnull) as part:
        assert part == Path(os.devnull)
    with pytest.raises(OSError, match="No such file") as caught:
        write_text(tmp_path / "none" / "file.txt", "x")
    assert "none" in caught.value.filename
