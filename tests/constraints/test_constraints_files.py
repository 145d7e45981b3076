"""Constraints in files, on the command line and in the documents."""

from __future__ import annotations

import builtins
import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_constraints_rules import EVERY, Y, table
from typer.testing import CliRunner

from milpscore import constraints as c
from milpscore.cli.app import app
from milpscore.core.errors import DataError, FormulationError, MissingDependencyError

TOML = """
[[constraints]]
type = "monotone"
features = "Age"

[[constraints]]
type = "max_fpr"
value = 0.25
where = ["Age >= 30", "Sex = male"]
name = "few false alarms"

[[constraints]]
type = "AtMost"
k = 2
columns = ["Age", "Sex", "BMI"]
"""
YAML = """
constraints:
  - {type: monotone, features: Age}
  - type: max_fpr
    value: 0.25
    where: ["Age >= 30", "Sex = male"]
    name: few false alarms
  - {type: at-most, k: 2, columns: [Age, Sex, BMI]}
"""
MEANT = (
    c.Monotone("Age"),
    c.MaxFPR(0.25, ["Age >= 30", "Sex = male"], name="few false alarms"),
    c.AtMost(2, ["Age", "Sex", "BMI"]),
)


def saved(folder: Path, text: str, name: str = "rules.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_toml_and_yaml_say_the_same(tmp_path: Path) -> None:
    assert c.read_constraints(saved(tmp_path, TOML)) == MEANT
    pytest.importorskip("yaml", reason="PyYAML is optional")
    assert c.read_constraints(saved(tmp_path, YAML, "rules.yaml")) == MEANT


def test_every_constraint_survives_a_file(tmp_path: Path) -> None:
    def line(key: str, value: Any) -> str:
        if isinstance(value, dict):
            return f"{key} = {{ {', '.join(line(*item) for item in value.items())} }}"
        return f"{key} = {json.dumps(value)}"  # of these values TOML and JSON write the same

    entries = [
        "\n".join(["[[constraints]]", *(line(*item) for item in rule.as_mapping().items())])
        for rule in EVERY
    ]
    assert c.read_constraints(saved(tmp_path, "\n\n".join(entries))) == tuple(EVERY)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[constraints]]\ntype = 'at_moist'\nk = 1", "did you mean AtMost"),
        ("[[constraints]]\ntype = 'at_most'\nk = 1\ncolumn = ['Age']", "did you mean 'columns'"),
        ("[[constraints]]\ntype = 'at_most'\nk = 1", "AtMost needs columns"),
        ("[[constraints]]\nk = 1", "needs a type"),
        ("[[constraints]]\ntype = 'sign'\ncolumns = 'x'\nsign = 'up'", "constraint 1: Sign"),
        ("[[constraints]]\ntype = 'include'\ncolumns = 'x'\nname = 3", "name must be text"),
        ("[[constraint]]\ntype = 'sign'", "list called constraints"),
        ("constraints = 3", "list called constraints"),
        ("[other]\nx = 1\n[[constraints]]\ntype='include'\ncolumns='x'", "no key 'other'"),
        ("[[constraints]", "is no TOML"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises((DataError, FormulationError), match=said):
        c.read_constraints(saved(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="there is no file"):
        c.read_constraints(tmp_path / "absent.toml")
    with pytest.raises(DataError, match=r"\.toml, \.yaml"):
        c.read_constraints(saved(tmp_path, TOML, "rules.txt"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        c.read_constraints(tmp_path / "folder.toml")
    (tmp_path / "latin.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-8"):
        c.read_constraints(tmp_path / "latin.toml")
    path = saved(tmp_path, YAML, "rules.yml")
    real = builtins.__import__

    def without_yaml(name: str, *rest: Any) -> Any:
        if name == "yaml":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    with pytest.raises(MissingDependencyError, match="pip install pyyaml"):
        c.read_constraints(path)


def test_broken_yaml(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="PyYAML is optional")
    with pytest.raises(DataError, match="is no YAML"):
        c.read_constraints(saved(tmp_path, "constraints: [", "rules.yaml"))


# -------------------------------------------------------------------------------- command line


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    table().assign(ill=Y).to_csv(path, index=False)
    return path


def test_fit_compare_and_export_read_a_file(tmp_path: Path, data: Path) -> None:
    rules = saved(tmp_path, "[[constraints]]\ntype = 'include'\ncolumns = 'BMI'\n")
    common = (data, "--target", "ill", "--bins", 2, "--constraints", rules)
    done = run("fit", *common, "--json", "--out", tmp_path / "card.json")
    assert done.exit_code == 0, done.stderr
    points = json.loads(done.stdout)["coefficients"]
    assert any(points[name] for name in points if "BMI" in name)
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    assert card["certificate"]["constraints"] == [
        {"type": "include", "columns": ["BMI"], "name": "points for BMI"}
    ]
    both = run("compare", *common, "--formulations", "slim,hinge", "--cv", 0, "--json")
    assert both.exit_code == 0, both.stderr
    wrote = run("export", data, tmp_path / "m.lp", *common[1:])
    assert wrote.exit_code == 0, wrote.stderr
    assert "include_0" in (tmp_path / "m.lp").read_text(encoding="utf-8")


def test_the_command_line_says_what_conflicts(tmp_path: Path, data: Path) -> None:
    text = "[[constraints]]\ntype = 'include'\ncolumns = 'BMI'\n"
    rules = saved(tmp_path, text + "[[constraints]]\ntype = 'exclude'\ncolumns = 'BMI'\n")
    done = run("fit", data, "--target", "ill", "--constraints", rules, "-q")
    assert done.exit_code == 1
    assert "'points for BMI', 'no points for BMI' together" in done.stderr
    wrong = run("fit", data, "--target", "ill", "--set", "constraints=[]")
    assert wrong.exit_code == 2
    assert "use --constraints instead" in wrong.stderr


# -------------------------------------------------------------------------------- documents

DOCUMENT = Path(__file__).parents[2] / "docs" / "constraints.md"


def snippets(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found


def test_the_document_s_examples_do_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    expected = re.findall(r"<!-- prints: (.*?) -->", DOCUMENT.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for code in snippets("python"):
        exec(compile(code, str(DOCUMENT), "exec"), names)
    assert capsys.readouterr().out.splitlines() == expected


def test_the_document_s_files_are_read(tmp_path: Path) -> None:
    (toml,), (yaml,) = snippets("toml"), snippets("yaml")
    found = c.read_constraints(saved(tmp_path, toml))
    assert [type(rule).__name__ for rule in found] == ["Monotone", "MaxFPR", "AtMost"]
    pytest.importorskip("yaml", reason="PyYAML is optional")
    assert c.read_constraints(saved(tmp_path, yaml, "rules.yaml")) == found


def test_the_document_lists_every_constraint() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for name in c.CONSTRAINTS:
        assert f"`{name}" in text
