"""The experiments by name, their settings, and the command that runs them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from experiments import EXPERIMENTS
from experiments.__main__ import main
from experiments.eye.table2 import EyeTable2
from milpscore.core.errors import OptionError
from milpscore_study import read_study

TWINS = ["eye-figure2", "--set", "betas=[0.5]", "--set", "lams=[1.0, 0.1]", "--set", "n_samples=60"]


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_experiment_is_found_by_its_name_and_its_settings_are_json(name: str) -> None:
    experiment = EXPERIMENTS[name](data="") if "data" in EXPERIMENTS[name].__struct_fields__ else (
        EXPERIMENTS[name]()
    )  # fmt: skip
    assert experiment.name == name
    assert "data" not in experiment.settings()
    json.dumps(experiment.settings(), allow_nan=False)
    assert pickle.loads(pickle.dumps(experiment)) == experiment  # other processes do its runs
    with pytest.raises(OptionError, match="runs=0"):
        experiment.run(0)


def test_study_files_are_of_experiments() -> None:
    files = sorted((Path(__file__).parents[2] / "experiments").rglob("*.toml"))
    assert len(files) > 5
    import tomllib

    for file in files:
        content = tomllib.loads(file.read_text())
        content["settings"].pop("runs", None)
        EXPERIMENTS[content["experiment"]].of(content["settings"])


def test_the_command_runs_resumes_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, figure = tmp_path / "runs.sqlite", tmp_path / "figure.png"
    assert main([*TWINS, "--runs", "1", "--out", str(file), "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    assert "summary" in out
    assert "eye-figure2: 1 of 1 runs" in err
    more = ["--runs", "2", "--out", str(file), "--plot", str(figure), "--json"]
    assert main([*TWINS, *more, "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert [row["penalty"] for row in report["summary"]] == ["eye", "naive"]
    assert report["random_state"] == 3
    assert "1 of 2 runs" in err
    assert figure.stat().st_size > 10_000
    assert read_study(file).done == 2
    assert main([*TWINS, *more, "--seed", "4"]) == 2
    assert "random_state=3 (now 4)" in capsys.readouterr().err
    plt.close("all")


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["eye-table4"], "eye-table"),
        (["eye-table2", "--out", str(tmp_path / "none" / "x.sqlite")], "no folder"),
        (["eye-table2", "--plot", "figure.txt"], "must end in"),
        (["eye-table2", "--set", "n_sample=3"], "n_sample"),
    ):
        assert main(arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert words in line


@pytest.mark.parametrize("keep", [False, True])
def test_ctrl_c_ends_with_its_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    keep: bool,
) -> None:
    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(EyeTable2, "__call__", interrupted)
    where = ["--out", str(tmp_path / "runs.sqlite")] if keep else []
    assert main(["eye-table2", *where]) == 130
    out, err = capsys.readouterr()
    assert ("goes on from there" if keep else "nothing is kept") in err
    assert out == ""
