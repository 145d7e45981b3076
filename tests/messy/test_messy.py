"""The plain command on tables as they arrive: what it says, its card, and what the card is worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from messy_tables import TABLES
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner, Result

from milpscore.cli.app import app
from milpscore.data import read_patterns


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)


def fitted(path: Path, target: str, *options: object, quiet: bool = False) -> tuple[Result, Path]:
    """A card of the fast mode by the plain command, and its file."""
    out = path.with_suffix(".json")
    more = ("--quiet",) if quiet else ()
    done = run("fit", path, "--target", target, "--heuristic", "--out", out, *options, *more)
    assert done.exit_code == 0, done.output
    return done, out


def auc(card: Path, table: Path, target: str, *options: object) -> float:
    """What the risks of a card are worth on a table, by the command."""
    answers = card.with_suffix(".answers.csv")
    done = run("predict", card, table, "--out", answers, "--keep", target, *options)
    assert done.exit_code == 0, done.output
    found = pd.read_csv(answers)
    kept = json.loads(card.read_text())["classes"]
    return float(roc_auc_score(found[target].astype(str) == str(kept[1]), found["risk"]))


def of(name: str, folder: Path) -> tuple[Result, Path]:
    """Fit the messy table of a name, whose card is worth as much as that of the clean one."""
    made = TABLES[name]()
    clean, messy = made.write(folder)
    _, best = fitted(clean, made.target, quiet=True)
    done, card = fitted(messy, made.target, *made.options)
    worth = [auc(best, clean, made.target), auc(card, messy, made.target)]
    assert abs(worth[0] - worth[1]) < 0.01, worth
    return done, card


def test_two_deaths_are_too_few_for_any_line(tmp_path: Path) -> None:
    done, card = of("few", tmp_path)
    assert "Scored: 1 (2 of 25 rows); --positive 0 for the other" in done.stderr
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("Too few events")]
    assert "the rarer label has 2 rows" in said
    assert "at ten per line they are enough for no line at all" in said
    assert "Too few events" in run("card", card).stdout
    lines = done.stdout.splitlines()
    assert lines.index(said) == [line.startswith("Claim: ") for line in lines].index(True) + 1


@pytest.mark.parametrize("scored", ["alive", "dead"])
def test_the_rarer_label_is_scored_however_a_table_is_read(tmp_path: Path, scored: Any) -> None:
    table = pd.DataFrame({"age": [1, 2, 3, 4], "end": ["alive", "dead", "alive", "dead"]})
    table = pd.concat([table, table.assign(end=scored), table], ignore_index=True)
    rarer = "dead" if scored == "alive" else "alive"
    table.to_csv(path := tmp_path / "t.csv", index=False)
    assert read_patterns(path, "end", progress=False).classes == (scored, rarer)
    done, _ = fitted(path, "end")
    assert f"Scored: '{rarer}' (4 of 12 rows); --positive {scored} for the other" in done.stderr
