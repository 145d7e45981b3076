"""What people try at a command line: files in any order, names nearly right, silence."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from milpscore import Scorecard
from milpscore.cli import app as module
from milpscore.cli.app import COMMANDS, app
from milpscore.core.clock import Clock
from milpscore.core.design import CellRules, Column
from milpscore.core.errors import DataError, near_matches
from milpscore.core.result import TracePoint
from milpscore.data import read_frame
from milpscore.formulations import FORMULATIONS
from milpscore.solvers.engine import Line
from milpscore_check.__main__ import main
from milpscore_check.report import check as check_file
from milpscore_check.values import Refused


def run(*arguments: object) -> Any:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def error(*arguments: object) -> str:
    """The line a command with bad input ends in."""
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    return str(done.stderr.splitlines()[-1])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 40), "marker": rng.integers(0, 5, 40)})
    ill = frame["marker"] + rng.normal(size=40) > 2
    path = tmp_path / "patients.csv"
    frame.assign(ill=np.where(ill, "yes", "no")).to_csv(path, index=False)
    return path


def test_files_come_in_either_order(data: Path, tmp_path: Path, capsys: Any) -> None:
    proof = tmp_path / "proof.json"
    run("fit", data, "--target", "ill", "--max-terms", 1, "--certificate", proof)
    for pair in ((proof, data), (data, proof)):
        done = run("verify", *pair)
        assert done.exit_code == 0, done.stderr
        assert main([str(path) for path in pair]) == 0
        assert "everything claimed was proved" in capsys.readouterr().out


def test_the_program_to_export_is_named_in_one_of_two_ways(data: Path, tmp_path: Path) -> None:
    model, other = tmp_path / "model.mps", tmp_path / "other.mps"
    given = ["export", data, "--target", "ill", "--formulation", "slim", "--bins", 3]
    assert run(*given, model).exit_code == 0
    assert run(*given, "--out", other).exit_code == 0
    assert model.read_text().splitlines()[1:] == other.read_text().splitlines()[1:]
    assert "--out FILE" in error(*given)
    assert "--out FILE" in error(*given, model, "--out", other)


def test_near_labels_are_named(data: Path) -> None:
    assert "did you mean 'yes'?" in error("fit", data, "--target", "ill", "--positive", "yess")
    assert "the labels are " in error("fit", data, "--target", "ill", "--positive", "7")


def test_quiet_is_quiet(data: Path, tmp_path: Path) -> None:
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    done = run(
        "fit", data, "--target", "ill", "--max-terms", 1, "-q",
        "--out", card, "--certificate", proof,
    )  # fmt: skip
    assert done.stderr == ""
    assert card.exists()
    assert proof.exists()
    figure = tmp_path / "path.png"
    done = run("path", data, "--target", "ill", "--n-lams", 2, "-q", "--plot", figure)
    assert done.stderr == ""
    assert figure.exists()


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it; those of a group one by one."""
    whole = get_command(app)
    for name in COMMANDS:
        command = whole.get_command(None, name)
        if hasattr(command, "commands"):
            yield from ((f"{name} {own}", each) for own, each in command.commands.items())
        else:
            yield name, command


@pytest.mark.parametrize(("words", "command"), list(commands()), ids=str)
def test_help_begins_with_an_example_and_the_options_that_matter(words: str, command: Any) -> None:
    help = command.help.split("\n\n")
    assert help[1].startswith(f"Example: milpscore {words}")
    options = {option: own for own in command.params for option in own.opts}
    assert set(re.findall(r"--[a-z-]+", help[1])) <= set(options)
    first = [own for own in command.params if own.rich_help_panel == "Most used"]
    assert len(first) <= 5
    others = [own for own in command.params if own.param_type_name == "option"]
    assert others[: len(first)] == first


def test_a_comparison_begins_with_the_risk_score(data: Path) -> None:
    done = run("compare", data, "--target", "ill", "--max-terms", 1, "--cv", 0, "--draws", 1)
    assert done.exit_code == 0, done.output
    assert "risk-score" in done.stdout
    assert "slim" in done.stdout


def test_evidence_is_said_where_a_named_file_keeps_it(data: Path, tmp_path: Path) -> None:
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    fit = ["fit", data, "--target", "ill", "--max-terms", 1, "--no-check", "--out", card]
    assert "(bound: solver)" in run(*fit).stdout
    assert "(bound: solver)" in run("card", card).stdout
    done = run(*fit, "--certificate", proof)
    assert "'milpscore verify' and milpscore-check take about as long at most" in done.stderr
    assert "(bound: evidence, in proof.json)" in run("card", card).stdout


@pytest.mark.parametrize("formulation", ["auc", "ordinal"])
def test_who_reads_the_evidence_is_said(tmp_path: Path, formulation: str) -> None:
    path, proof = tmp_path / "t.csv", tmp_path / "proof.json"
    rows = {"a": [0, 0, 1, 1, 2, 2, 3, 3], "b": [0, 1] * 4, "ill": [0, 0, 0, 1, 1, 1, 1, 1]}
    if formulation == "ordinal":
        rows["ill"] = [0, 0, 1, 0, 1, 2, 2, 2]
    pd.DataFrame(rows).to_csv(path, index=False)
    given = "fit", path, "--target", "ill", "--formulation", formulation, "--max-terms", 1
    done = run(*given, "--no-check", "--certificate", proof)
    assert done.exit_code == 0, done.output
    said = "'milpscore verify' takes about as long at most; milpscore-check does not read it."
    assert said in done.stderr
    with pytest.raises(Refused, match="only 'milpscore verify' proves those"):
        check_file(path, proof, "ill")


def test_options_of_an_answer_are_named_as_the_command_has_them(tmp_path: Path) -> None:
    path, card = tmp_path / "t.csv", tmp_path / "card.json"
    rows = {"a": [0, 0, 1, 1, 2, 2], "ill": [0, 0, 1, 1, 2, 2]}
    pd.DataFrame(rows).to_csv(path, index=False)
    for formulation, target in (("ordinal", "ill"), ("slim", "ill")):
        more = ("--positive", 2) if formulation == "slim" else ()
        given = "--target", target, "--formulation", formulation, "--no-check", "--out", card
        assert run("fit", path, *given, *more).exit_code == 0
        if formulation == "ordinal":
            assert "--to is needed: which answer" in run("counterfactual", card, path).stderr
            again = run("counterfactual", card, path, "--row", 1, "--to", 0)
            assert "already: give another --to" in again.stderr
        else:
            assert "--groups needs risks" in run("predict", card, path, "--groups").stderr


def test_progress_shows_no_bound_below_0() -> None:
    shown: list[str] = []
    with_bound = Line("solving", Clock.of(math.inf), shown.append)
    with_bound.show(TracePoint(0.0, 0.5, -0.25, 1))
    assert "bound 0  gap 100.00%" in shown[-1]


def test_a_package_adds_its_own_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("own-lines", "milpscore.formulations:hinge", "milpscore.formulations"),
        EntryPoint("own-list", "milpscore.cli._fit:list_command", "milpscore.commands"),
        EntryPoint("other", "nowhere:nothing", "console_scripts"),
    ]
    package = SimpleNamespace(entry_points=points)
    monkeypatch.setattr(module, "distributions", lambda: [package])
    module.plug_in.cache_clear()
    try:
        answer = CliRunner().invoke(module.app, ["own-list"])
        assert answer.exit_code == 0
        assert "own-lines" in answer.output
        module.plug_in.cache_clear()
        twice = CliRunner().invoke(module.app, ["list"])
        assert twice.exit_code == 2
        assert "there is a formulation called 'own-lines' already" in twice.output
    finally:
        monkeypatch.undo()
        FORMULATIONS.remove("own-lines")
        module.COMMANDS.remove("own-list")
        module.plug_in.cache_clear()


@pytest.mark.parametrize(
    "line",
    [
        "fit DATA --target ill --out DATA",
        "fit DATA --target ill --certificate LINK",
        "fit DATA --target ill --thresholds CARD --out CARD",
        "fit CARD --target ill --sites OTHER,LINK --out DATA",
        "predict CARD DATA --out HARD",
        "predict CARD FOLDER --out FOLDER/part.parquet",
        "pool DATA --target ill --plot DATA",
        "path DATA --target ill --plot DATA",
        "compare DATA --target ill --report DATA",
        "counts DATA --target ill --out DATA",
        "export DATA DATA --target ill",
        "card CARD --out CARD",
        "report CARD DATA --out CARD",
        "update CARD DATA --target ill --certificate CARD",
        "update CARD DATA --target ill --out DATA",
        "study export CARD --out CARD",
        "race OTHER DATA --target ill --csv DATA",
        "crf tag CARD DATA --out DATA",
    ],
)
def test_an_output_is_no_input(data: Path, tmp_path: Path, line: str) -> None:
    names = {"DATA": data, "CARD": tmp_path / "card.json", "OTHER": tmp_path / "other"}
    names |= {"LINK": tmp_path / "link.csv", "HARD": tmp_path / "hard.csv"}
    names |= {"FOLDER": tmp_path / "folder"}
    names["CARD"].write_text("{}")
    names["LINK"].symlink_to(data)
    names["HARD"].hardlink_to(data)
    names["FOLDER"].mkdir()
    (names["FOLDER"] / "part.parquet").write_text("rows")
    before = data.read_bytes()
    words = re.sub("[A-Z]{4,}", lambda name: str(names[name[0]]), line).split()
    assert "which is read by this command: name another file" in error(*words)
    assert data.read_bytes() == before
    assert names["CARD"].read_text() == "{}"


def test_two_outputs_are_two_files(data: Path, tmp_path: Path) -> None:
    fast = "fit", data, "--target", "ill", "--heuristic", "--no-check"
    one = tmp_path / "one.json"
    said = error(*fast, "--out", one, "--certificate", f"{tmp_path}/./one.json")
    assert "which is also --certificate: name another file" in said
    assert not one.exists()
    assert run(*fast, "--out", "/dev/null", "--certificate", "/dev/null").exit_code == 0


def test_a_card_is_updated_in_place(data: Path, tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    run("fit", data, "--target", "ill", "--heuristic", "--no-check", "--out", card)
    done = run("update", card, data, "--target", "ill", "--changes", 0, "--out", card)
    assert done.exit_code == 0, done.output


def test_names_that_cannot_be_told_apart_are_one_line(data: Path) -> None:
    said = error("fit", data, "--target", "ill", "--drop", "age\nmarker")
    assert "is not a list of names with commas between them" in said
    assert 'in quotes, "..."' in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", [["list"], ["fit", "--help"]])
def test_a_full_standard_output_is_one_line(command: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "milpscore", *command], stdout=full, stderr=subprocess.PIPE,
            text=True, check=False, timeout=600,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "Error: standard output: No space left on device\n"


def test_a_table_comes_through_a_pipe(data: Path, tmp_path: Path) -> None:
    card, pipes = tmp_path / "card.json", [tmp_path / "first", tmp_path / "second"]
    run("fit", data, "--target", "ill", "--heuristic", "--no-check", "--out", card)
    expected = run("predict", card, data).stdout
    for pipe, path in zip(pipes, (card, data), strict=True):
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_bytes, args=[path.read_bytes()], daemon=True).start()
    assert run("predict", *pipes).stdout == expected
    with pytest.raises(DataError, match="can be read only once: save what it gives in a file"):
        read_frame(pipes[1])


def test_predict_says_that_numbers_lost_their_unit(tmp_path: Path) -> None:
    how = CellRules(signs=".,", unit="k")
    column = Column("plate >= 271", "plate", "step", lower=271.0, cells=how)
    Scorecard((column,), (2,), Fraction(1)).write(card := tmp_path / "card.json")
    table = tmp_path / "rows.csv"
    said = {}
    for cells in ("265K,300K,", "265000,300000,", "265K,300000,"):
        table.write_text("\n".join(["id,plate", *(f"0,{c}" for c in cells.split(","))]))
        done = run("predict", card, table, "--unseen", "zero")
        assert done.exit_code == 0, done.output
        said[cells] = "read as if in 'k'" in done.stderr
    assert [*said.values()] == [False, True, False]


def test_predict_says_so_of_files_read_in_passes(tmp_path: Path) -> None:
    how = CellRules(signs=".,", unit="k")
    column = Column("plate >= 271", "plate", "step", lower=271.0, cells=how)
    Scorecard((column,), (2,), Fraction(1)).write(card := tmp_path / "card.json")
    for cells, odd in ((["265K", "300K"], False), (["265000", "300000"], True)):
        pd.DataFrame({"plate": cells}).to_parquet(table := tmp_path / "rows.parquet")
        done = run("predict", card, table, "--unseen", "zero")
        assert done.exit_code == 0, done.output
        assert (done.stderr.count("read as if in 'k'") == 1) is odd


def test_predict_says_what_is_odd_about_a_table(data: Path, tmp_path: Path) -> None:
    card, odd = tmp_path / "card.json", tmp_path / "odd.csv"
    run("fit", data, "--target", "ill", "--heuristic", "--no-check", "--out", card)
    head, first, *rest = data.read_text().splitlines()
    odd.write_text(f"{head},age\n{first},1\n{rest[0]}\n")
    said = run("predict", card, odd).stderr
    assert "column name(s) used again are numbered: 'age.2'." in said
    assert "fewer fields than the header" in said
    assert not run("predict", card, data).stderr


def test_answers_are_written_as_their_name_says(data: Path, tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    run("fit", data, "--target", "ill", "--heuristic", "--no-check", "--out", card)
    assert "must end in .csv, .txt, .parquet or .pq" in error(
        "predict", card, data, "--out", tmp_path / "answers.xlsx"
    )
    levels = tmp_path / "levels.csv"
    pd.read_csv(data).assign(ill=[0, 1, 2, 1] * 10).to_csv(levels, index=False)
    asked = ("--target", "ill", "--formulation", "ordinal", "--time-limit", 0)
    run("fit", levels, *asked, "--out", card)
    assert run("predict", card, levels, "--out", tmp_path / "a.parquet").exit_code == 0
    assert len(pd.read_parquet(tmp_path / "a.parquet")) == 40


def test_decimals_with_commas_are_cured_by_an_option(data: Path, tmp_path: Path) -> None:
    card, odd = tmp_path / "card.json", tmp_path / "odd.csv"
    run("fit", data, "--target", "ill", "--heuristic", "--no-check", "--out", card)
    head, first, *rest = data.read_text().splitlines()
    odd.write_text("\n".join([head, f'"1,5",{first.partition(",")[2]}', *rest]))
    assert "commas stand before decimals, read it with --decimal ,." in error("predict", card, odd)
    odd.write_text("\n".join([head, f"x,{first.partition(',')[2]}", *rest]))
    assert error("predict", card, odd).endswith("numbers are needed. Convert it.")


def test_known_names_stand_in_one_order() -> None:
    names = {"walnut", "fig", "date", "cherry", "banana", "apple"}
    listed = "the columns are 'apple', 'banana', 'cherry', 'date', 'fig', 'walnut'."
    assert near_matches("xyz", names) == listed


def test_too_long_lines_are_one_line_of_text(data: Path, tmp_path: Path) -> None:
    long = tmp_path / "long.csv"
    head, *rest = data.read_text().splitlines()
    long.write_text("\n".join([f"code,{head}", *(f"007,{line},9" for line in rest)]))
    with warnings.catch_warnings(record=True) as leaked:
        warnings.simplefilter("always")
        line = error("fit", long, "--target", "ill")
    assert "more fields than the header has names (4): line 2 has 5" in line
    assert not [each for each in leaked if each.category is pd.errors.ParserWarning]


def test_json_is_no_table(data: Path, tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    run("fit", data, "--target", "ill", "--heuristic", "--no-check", "--certificate", card)
    for command in ("predict", "verify", "report"):
        assert "card.json is JSON, where a table is needed" in error(command, card, card)


def test_a_confidence_is_a_share(data: Path) -> None:
    assert "--confidence" in error("fit", data, "--target", "ill", "--confidence", 2)
