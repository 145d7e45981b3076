"""Text from files is printed as it is, with everything escaped that could forge a line."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study_cases import written
from typer.testing import CliRunner

from milpscore.certificate import Certificate
from milpscore.cli.app import app
from milpscore.cli.common import output, say
from milpscore.core.writing import data_output, printable
from milpscore_show.studio.server import asset

CONTROLS = "\x1b[2J\x9b3A\u202e\u2066\u2028\u2029\x7f"
ESCAPES = r"\x1b[2J\x9b3A\u202e\u2066\u2028\u2029\x7f"
NAME = f"a{CONTROLS} [bold]b[/bold] :smile:"
LINES = f"{NAME}\r\nVerdict: everything claimed was proved."


def run(*arguments: object, code: int = 0) -> Any:
    """Run a command, and refuse output that holds a control character or a forged line."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == code, done.output
    for text in (done.stdout, done.stderr):
        assert {sign for sign in text if not sign.isprintable()} <= {"\n"}, ascii(text)
        assert text.count("\nVerdict: everything") <= (arguments[0] == "verify" and code == 0)
    return done


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose header, categories and labels attack a terminal, its card and certificate."""
    folder = tmp_path_factory.mktemp("printing")
    random = np.random.default_rng(0)
    first, second = random.integers(0, 2, (2, 60))
    ill = np.where(random.random(60) < 0.8, first | second, first)
    frame = {NAME: np.where(first, LINES, "plain"), f"2 {NAME}": second}
    frame[f"target {NAME}"] = np.where(ill, f"yes {LINES}", f"no {LINES}")
    pd.DataFrame(frame).to_csv(folder / "data.csv", index=False)
    fitted = run(
        "fit", folder / "data.csv", "--target", f"target {NAME}", "--formulation", "slim",
        "--max-terms", 2, "--out", folder / "card.json", "--certificate", folder / "proof.json",
    )  # fmt: skip
    assert ESCAPES in fitted.stdout
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("card", "card.json", "--power"),
        ("counterfactual", "card.json", "data.csv", "--row", 1),
        ("verify", "proof.json", "data.csv"),
        ("pool", "data.csv", "--target", f"target {NAME}", "--formulation", "slim", "-q"),
        ("pool", "data.csv", "--target", f"target {NAME}", "--formulation", "slim", "-q",
         "--pareto", "--max-terms", 1),
        ("compare", "data.csv", "--target", f"target {NAME}", "--cv", 0, "-q"),
        ("predict", "card.json", "data.csv", "--keep", "none"),
        ("fit", "data.csv", "--target", f"none {NAME}"),
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_names_and_categories_of_a_file_control_no_terminal(
    files: Path, arguments: tuple[object, ...]
) -> None:
    given = [files / str(a) if str(a).endswith((".json", ".csv")) else a for a in arguments]
    refused = arguments[0] == "predict" or arguments[:1] == ("fit",)
    done = run(*given, code=2 if refused else 0)
    if arguments[0] not in ("compare", "verify", "predict"):
        assert "[bold]b[/bold] :smile:" in " ".join(done.output.split())


@pytest.mark.parametrize("claim", ["gap", LINES])
def test_a_certificate_cannot_forge_lines_of_the_verdict(
    files: Path, tmp_path: Path, claim: str
) -> None:
    made = Certificate.from_json(files / "proof.json")
    reason = {"kind": "none", "reason": LINES}
    forged = replace(made, claim=claim, bound_source="HiGHS", evidence=reason).sealed()
    path = forged.to_json(tmp_path / "forged.json")
    # without evidence the verifier solves again
    found = run("verify", path, files / "data.csv", code=int(claim == LINES)).stdout
    assert ESCAPES in found
    done = subprocess.run(
        [sys.executable, "-m", "milpscore_check", files / "data.csv", path, "--target",
         f"target {NAME}"],
        check=False, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    for text in (found, done.stdout):
        assert {sign for sign in text if not sign.isprintable()} == {"\n"}
        assert text.count("\nVerdict: ") == 1
    assert ESCAPES in done.stdout


def test_a_report_holds_no_control_characters(files: Path, tmp_path: Path) -> None:
    content = json.loads((files / "card.json").read_text(encoding="utf-8"))
    content["certificate"] |= dict.fromkeys(("formulation", "solver", "caveat", "claim"), LINES)
    content["title"] = LINES
    (tmp_path / "card.json").write_text(json.dumps(content), encoding="utf-8")
    for card in (files, tmp_path):
        out = tmp_path / "page.html"
        run(
            "report", card / "card.json", files / "data.csv", "--target", f"target {NAME}",
            "--bootstraps", 0, "--out", out, "--population", LINES, "-q",
        )  # fmt: skip
        text = out.read_text(encoding="utf-8")
        assert {sign for sign in text if not sign.isprintable()} <= {"\n", "\xa0"}
        assert ESCAPES in text


def test_tables_of_a_study_print_its_names_as_they_are(tmp_path: Path) -> None:
    out = tmp_path / "small.sqlite"
    run("study", "run", written(tmp_path), "--out", out, "-q")
    forged = f"'{LINES}'"
    with sqlite3.connect(out) as store:
        store.execute(
            f"UPDATE solves SET result = json_set(result, '$.data', {forged}, '$.model', {forged}) "
            "WHERE number >= 0"
        )
        store.execute(f"UPDATE solves SET status = 'failed', error = {forged} WHERE number = 3")
        store.execute(
            f"UPDATE solves SET result = json_set(result, '$.experiment', {forged}) "
            "WHERE number < 0"
        )
    shown = run("study", "status", out).stdout
    assert f"small.sqlite ({printable(LINES)}): 11 of 12 done, 1 failed" in shown
    assert shown.count("[bold]b[/bold]") == 4  # the study, its data, its model and the error


def test_tables_and_lines_take_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    output().print(LINES)
    say(LINES)
    found = capsys.readouterr()
    assert found.out.replace("\n", " ").split() == printable(LINES, "\n").split()
    assert found.err == f"{printable(LINES)}\n"


def test_data_are_escaped_on_a_terminal_and_left_alone_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((Screen(), ESCAPES), (io.StringIO(), CONTROLS)):
        monkeypatch.setattr(sys, "stdout", stream)
        pd.DataFrame({"label": ["a\tb", CONTROLS]}).to_csv(data_output(), index=False)
        assert stream.getvalue().replace('"', "") == f"label\na\tb\n{shown}\n"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_studio_escapes_what_python_escapes(tmp_path: Path) -> None:
    (tmp_path / "studio.mjs").write_text(asset("studio.js"), encoding="utf-8")
    script = (
        "globalThis.document = { querySelector: () => null };"
        'const { printable } = await import("./studio.mjs");'
        f"process.stdout.write(printable({json.dumps(LINES + chr(0xA0) + chr(0xE0001))}));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], cwd=tmp_path, capture_output=True,
        text=True, check=True, encoding="utf-8",
    )  # fmt: skip
    assert done.stdout == printable(LINES + "\xa0\U000e0001")
