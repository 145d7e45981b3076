"""Studies from TOML: what a file asks for, its mistakes, its table and its exports."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from study_cases import SMALL, written

import milpscore_study as study
from milpscore.certificate import Certificate
from milpscore.core.errors import (
    DataError,
    MissingDependencyError,
    NotApplicableError,
    OptionError,
)
from milpscore_show.plots import study_figure
from milpscore_study import load_study, run_study

WIDE = """
certificates = true
seeds = [3]
[folds]
number = 2
stratified = false
whole = true
[limits]
time_limit = 5
node_limit = 50
[[data]]
name = "table"
csv = "${FOLDER}/table.csv"
target = "ill"
positive = "yes"
weights = "w"
bins = 2
[[data]]
name = "credible"
generator = "study_cases:make_credible"
arguments = {n_samples = 60}
class_weight = "balanced"
[[models]]
estimator = "slim"
arguments = {max_terms = 2, constraints = [{type = "at_most", k = 1, columns = ["age"]}]}
kind = "heuristic"
[[models]]
estimator = "hinge"
kind = "randomised"
[[models]]
estimator = "hinge"
kind = "relaxed"
[[models]]
name = "eye"
estimator = "eye"
kind = "relaxed"
arguments = {lam = 0.05, solver = "clarabel"}
[[models]]
name = "eye again"
estimator = "eye"
arguments = {lam = 0.05}
[[models]]
estimator = "FacetsClassifier"
[[models]]
estimator = "RiskScoreClassifier"
kind = "cross_validated"
arguments = {search = {grid = {max_terms = [1, 2]}, cv = 2}}
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished small study."""
    folder = tmp_path_factory.mktemp("small")
    out = folder / "small.sqlite"
    run_study(written(folder), out)
    return out


def test_the_tasks_are_all_combinations_with_stable_keys(tmp_path: Path) -> None:
    found = load_study(written(tmp_path))
    tasks = found.tasks()
    assert len(tasks) == 1 * 2 * (2 + 1) * 2 == len({task.key for task in tasks})
    assert [task.number for task in tasks] == list(range(12))
    assert tasks[0].identity == {
        "data": "planted_score", "model": "l1", "parameters": {"lam": 0.01}, "fold": 0, "seed": 0,
    }  # fmt: skip
    # written down once: a key that changes would orphan the rows of every file there is
    assert tasks[0].key == "411b6b7e1a7bbe55d7af"
    wider = load_study(written(tmp_path, SMALL.replace("[0.01, 0.1]", "[0.5, 0.01]"), "b.toml"))
    assert tasks[0].key in {task.key for task in wider.tasks()}


def test_a_study_may_be_json(tmp_path: Path) -> None:
    content = tomllib.loads(SMALL)
    file = written(tmp_path, json.dumps(content), "small.json")
    assert load_study(file).settings() == load_study(written(tmp_path)).settings()
    with pytest.raises(DataError, match=r"small\.json is no JSON"):
        load_study(written(tmp_path, "{", "small.json"))


def test_a_study_keeps_figures_cards_and_certificates(small: Path) -> None:
    report = study.read_study(small)
    assert (report.done, report.failed, report.left, report.experiment) == (12, 0, 0, "study")
    table = report.table()
    assert table["number"].tolist() == list(range(12))
    assert (table["train_rows"] + table["test_rows"] == 40).all()
    hinge = table[table["model"] == "hinge (nearest)"]
    assert hinge["verified"].all()
    assert (hinge["bound"] <= hinge["objective"] + 1e-9).all()
    row = hinge.iloc[0]
    assert row["train_errors"] / row["train_rows"] == pytest.approx(1 - row["train_accuracy"])
    card, certificate = report.card(row["key"]), report.certificate(row["key"])
    assert card.certificate["errors"] == certificate["errors"] == row["train_errors"]
    assert certificate["bound_source"] == row["bound_source"]
    relaxed = table[table["model"] == "l1"].iloc[0]
    assert report.certificate(relaxed["key"])["bound"] == pytest.approx(relaxed["bound"])
    with pytest.raises(NotApplicableError, match="no card under the key"):
        report.card(relaxed["key"])
    with pytest.raises(NotApplicableError, match="no certificate under the key 'none'"):
        report.certificate("none")
    # the view is for those who read the file with SQL
    connection = sqlite3.connect(small)
    (best,) = connection.execute("SELECT max(test_accuracy) FROM figures").fetchone()
    connection.close()
    assert best == table["test_accuracy"].max()


def test_every_kind_of_data_and_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDER", str(tmp_path))
    rows = pd.DataFrame({"age": range(20, 60), "sex": ["f", "m"] * 20, "w": [1, 2] * 20})
    rows["ill"] = ["yes" if age > 38 + 5 * (age % 3) else "no" for age in rows["age"]]
    rows.to_csv(tmp_path / "table.csv", index=False)
    out = tmp_path / "wide.sqlite"
    report = run_study(written(tmp_path, WIDE), out)
    table = study.read_study(out).table()
    assert len(table) == report.planned == 2 * 3 * 7
    assert table["fold"].isna().sum() == 14
    state = table.groupby(["data", "model"], sort=False)["status"].agg(set)
    failed = set(state[state != {"done"}].index)
    # the generator knows no age, and the table no expert
    errors = set(table[table["status"] == "failed"]["error"])
    assert failed == {
        ("credible", "slim (heuristic)"), ("table", "eye"), ("table", "eye again"),
    }, errors  # fmt: skip
    assert {error.partition(": ")[2][:16] for error in errors} == {
        "AtMost names 'ag",
        "eye needs expert",
    }


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[[models]]", "[[modles]]", r"small\.toml: no key 'modles'; did you mean 'models'"),
        ("[[data]]", "[data]", r"small\.toml, data: expected `array`, got \{"),
        ("seeds", "seedz", r"small\.toml: no key 'seedz'; did you mean 'seeds'\? known are"),
        ("seeds = [0, 1]", "seeds = [0, 0]", r"small\.toml: seeds must be distinct, got \[0, 0\]"),
        ("seeds = [0, 1]", "seeds = 0", r"small\.toml, seeds: expected `array`, got 0"),
        ("seeds = [0, 1]", "seeds = [-1]", r"toml, seeds 1: expected `int` >= 0, got -1"),
        ("number = 2", "number = 1", r"folds: number must be 0 or at least 2, got 1"),
        ("number = 2", "number = true", r"folds, number: expected `int`, got True"),
        ("number = 2", "numbr = 2", r"folds: no key 'numbr'; did you mean 'number'"),
        ("number = 2", "whole = false", r"number = 0 and whole = false leave nothing"),
        (
            "time_limit = 300",
            "time_limit = -1",
            r"limits, time_limit: expected `float` >= 0.*got -1",
        ),
        ("time_limit = 300", "time_limit = nan", r"limits, time_limit: must be a finite number"),
        ("time_limit = 300", "threads = 1.5", r"limits, threads: expected `int`.*got 1\.5"),
        ('"planted_score"', '"planted"', r"data 1: generator: 'planted'; did you mean 'planted_s"),
        ('"planted_score"', '"nowhere:make"', r"generator: 'nowhere:make' cannot be imported"),
        ("n_samples = 40, ", "", r"data 1: arguments: n_samples is missing"),
        ("n_samples", "n_sample", r"data 1: arguments: no key 'n_sample'; did you mean 'n_samples"),
        (
            "generator =",
            'bundled = "iris"\ngenerator =',
            r"data 1: needs one of .* got bundled and g",
        ),
        ("generator =", 'target = "a"\ngenerator =', r"target does not go with generator"),
        ("generator =", 'encoding = "onehot"\ngenerator =', r"add bins or thresholds"),
        ("generator =", "bins = 1\ngenerator =", r"data 1, bins: expected `int` >= 2, got 1"),
        ("generator =", 'missing = "drop"\ngenerator =', r"data 1, missing: invalid.*got 'drop'"),
        ('"hinge"', '"hing"', r"models 2: estimator: 'hing'; did you mean 'hinge'"),
        ('"nearest"', '"nearst"', r"models 2: kind: 'nearst'; did you mean 'nearest'"),
        (
            '"nearest"',
            '"nearest"\narguments = {solver = "hihgs"}',
            r"models 2: solver: 'hihgs'; did you mean 'h",
        ),
        ('"nearest"', '"nearest"\narguments = {tol = 1}', r"models 2: arguments: no key 'tol'"),
        (
            '"nearest"',
            '"nearest"\narguments = {margn = 1}',
            r"no key 'margn'; did you mean 'mar",
        ),
        ('"nearest"', '"nearest"\narguments = {constraints = [{type = "at_mst"}]}', r"mean AtMost"),
        (
            '"nearest"',
            '"cross_validated"\narguments = {search = {cv = 2}}',
            r"models 2: kind: 'cross_validated'; known are card",
        ),
        ('"l1"', '"l11"', r"models 1: estimator: 'l11'; did you mean 'l1'"),
        ('"l1"', '"weighted_l2"', r"models 1: weighted_l2 needs weights in arguments or grid"),
        ('"l1"', '"SlimClasifier"', r"did you mean 'SlimClassifier'"),
        (
            '"l1"',
            '"l1"\narguments = {loss = "logistc"}',
            r"loss: 'logistc'; did you mean 'logistic'",
        ),
        ('"l1"', '"l1"\narguments = {lam = 1}', r"lam stands in arguments and in grid: keep one"),
        ("[0.01, 0.1]", "[0.01, nan]", r"models 1, grid, lam: must be a finite number, got nan"),
        (
            '"l1"',
            '"l1"\narguments = {tol = inf}',
            r"arguments, tol: must be a finite number",
        ),
        ("[0.01, 0.1]", "0.1", r"models 1, grid.*: expected `array`, got"),
        ("[0.01, 0.1]", "[]", r"models 1, grid.*: expected `array` of length >= 1"),
        ('estimator = "l1"', "", r"models 1: missing required field `estimator`"),
        ('kind = "nearest"', 'name = "l1"', r"models: 2 entries, and two of them are called 'l1'"),
        ("[[data]]", "[[data", r"small\.toml is no TOML"),
    ],
)
def test_mistakes_name_file_key_and_nearest(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in SMALL
    with pytest.raises((OptionError, DataError), match=words) as caught:
        load_study(written(tmp_path, SMALL.replace(old, new, 1)))
    assert str(caught.value).startswith("small.toml")


def test_csv_files_are_found_and_their_rows_are_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
    [[data]]
    csv = "${PLACE}/rows.csv"
    target = "y"
    [[models]]
    estimator = "l1"
    arguments = {lam = 0.1}
    """
    file, out = written(tmp_path, text), tmp_path / "out.sqlite"
    with pytest.raises(OptionError, match="the variable PLACE is not set: export PLACE=FOLDER"):
        load_study(file)
    monkeypatch.setenv("PLACE", "here")
    with pytest.raises(DataError, match=r"data 1, csv: '.*rows\.csv' cannot be read \(No such"):
        load_study(file)
    (tmp_path / "here").mkdir()
    rows = tmp_path / "here" / "rows.csv"
    rows.write_text("x,y\n" + "".join(f"{k},{int(k > 5)}\n" for k in range(12)))
    assert run_study(file, out).done == 1
    digest = load_study(file).data[0].digest
    rows.write_text(rows.read_text() + "12,1\n")
    with pytest.raises(OptionError, match=r"data\[0\]\.digest='.*name another file"):
        run_study(file, out)
    pinned = written(tmp_path, text.replace("target =", f'digest = "{digest}"\ntarget ='), "p.toml")
    with pytest.raises(
        DataError, match=r"p\.toml, data 1, csv: .* has other rows than digest says"
    ):
        load_study(pinned)
    with pytest.raises(DataError, match="there is no file"):
        load_study(tmp_path / "none.toml")


def test_sets_of_scikit_learn(tmp_path: Path) -> None:
    text = """
    [[data]]
    bundled = "iris"
    positive = "versicolor"
    [[data]]
    bundled = "breast_cancer"
    [[models]]
    estimator = "l1"
    arguments = {lam = 0.1}
    """
    run_study(written(tmp_path, text), tmp_path / "out.sqlite")
    assert study.read_study(tmp_path / "out.sqlite").table()["train_rows"].tolist() == [150, 569]
    for positive, words in (("", "has 3 classes: name the positive"), ("rose", "positive: 'rose'")):
        changed = text.replace(
            'positive = "versicolor"', f'positive = "{positive}"' * bool(positive)
        )
        with pytest.raises(OptionError, match=words):
            run_study(written(tmp_path, changed), tmp_path / "other.sqlite")
    assert not (tmp_path / "other.sqlite").exists()


def test_exports_hold_the_table(small: Path, tmp_path: Path) -> None:
    table = study.read_study(small).table()
    study.read_study(small).export(tmp_path / "a.csv")
    read = pd.read_csv(tmp_path / "a.csv")
    assert read.columns.tolist() == table.columns.tolist()
    assert read["objective"].tolist() == pytest.approx(table["objective"].tolist())
    with pytest.raises(OptionError, match="format='xml' is unknown; use one of csv, parquet"):
        study.read_study(small).export(tmp_path / "a.xml", "xml")


def test_parquet_needs_pyarrow(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as absent:
        absent.setitem(__import__("sys").modules, "pyarrow", None)
        with pytest.raises(MissingDependencyError, match="pip install pyarrow"):
            study.read_study(small).export(tmp_path / "a.parquet", "parquet")
    pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    study.read_study(small).export(tmp_path / "a.parquet", "parquet")
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "a.parquet").astype(object).fillna(0),
        study.read_study(small).table().astype(object).fillna(0),
    )


def test_the_figure_shows_the_means(small: Path) -> None:
    table = study.read_study(small).table()
    (ax,) = study_figure(table).axes
    assert ax.get_ylabel() == "accuracy on held-out rows"
    line = ax.containers[0].lines[0]
    l1 = table[table["model"] == "l1"].groupby("parameters.lam")["test_accuracy"].mean()
    assert sorted(line.get_ydata()) == pytest.approx(sorted(l1))
    with pytest.raises(NotApplicableError, match="no solve of this study is done"):
        study_figure(table[:0])
    plt.close("all")


def test_certificates_hold_their_evidence(tmp_path: Path) -> None:
    text = SMALL.replace("seeds = [0, 1]", "certificates = true").replace("number = 2", "")
    text = text.replace('estimator = "hinge"\nkind = "nearest"', 'estimator = "risk_score"')
    out = tmp_path / "out.sqlite"
    run_study(written(tmp_path, text.replace("n_features = 6", "n_features = 3, n_terms = 2")), out)
    table = study.read_study(out).table()
    row = table[table["model"] == "risk_score"].iloc[0]
    assert row["claim"] == "optimal", row["error"]
    content = study.read_study(out).certificate(row["key"])
    assert content["evidence"]["kind"] == "leaves"
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(content))
    assert Certificate.from_json(file).claim == "optimal"
