"""The command line: exit codes, purity of the JSON, one-line errors, round trips, Ctrl-C."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import milpscore
from milpscore.cli import compare as demo_module
from milpscore.cli.app import app
from milpscore.core.writing import as_json
from milpscore.formulations import FORMULATIONS
from milpscore.scorecard import Scorecard

KEYS = {
    "formulation",
    "claim",
    "verified",
    "objective",
    "loss",
    "penalty",
    "bound",
    "bound_source",
    "gap",
    "coefficients",
    "intercept",
    "terms",
    "train_accuracy",
    "seconds",
}
SPELT = [name.replace("_", "-") for name in FORMULATIONS]
NEEDS = {"sparse-rounding": ["--max-terms", "2"], "fused-lasso": ["--bins", "3"]}
NEEDS_EXPORTED = {**NEEDS, "risk-score": ["--max-terms", "2", "--bins", "2"]}
RAW_SLIM = ("--raw", "--formulation", "slim")


def run(*arguments: object) -> Any:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def parse(text: str) -> dict[str, Any]:
    """Exactly one JSON object, and strictly valid: no NaN, no Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    return found


def fit(data: Path, *arguments: object) -> dict[str, Any]:
    """Fit with ``--json`` and return the object."""
    done = run("fit", data, "--target", "ill", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return parse(done.stdout)


def error(*arguments: object) -> str:
    """The one line a command with bad input ends in."""
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Scored: ")]
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    return lines[0]


def table(n: int = 40) -> pd.DataFrame:
    """Whole-number features with noise on the labels."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": random.integers(20, 80, n),
            "marker": random.integers(0, 6, n),
            "smoker": random.integers(0, 2, n),
        }
    )
    total = frame["age"] / 10 + 2 * frame["marker"] + 3 * frame["smoker"]
    noisy = total + random.normal(0, 1.5, n)
    return frame.assign(ill=np.where(noisy > total.median(), "yes", "no"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The table as a CSV file."""
    path = tmp_path / "patients.csv"
    table().to_csv(path, index=False)
    return path


# -------------------------------------------------------------------------------- fit


@pytest.mark.parametrize("formulation", SPELT)
def test_fit_prints_one_json_object_for_every_formulation(data: Path, formulation: str) -> None:
    given = NEEDS.get(formulation, [])
    report = fit(data, "--formulation", formulation, *given, "--time-limit", 300)
    assert report.keys() >= KEYS
    assert report["formulation"] == formulation.replace("-", "_")
    assert report["verified"] is True
    unproved = {"feasible"} if formulation == "risk-score" else set()
    assert report["claim"] in {"optimal", "gap"} | unproved
    assert all(isinstance(points, int) for points in report["coefficients"].values())
    assert len(report["coefficients"]) == report["n_columns"]
    assert report["bound"] <= report["objective"]
    assert report["objective"] == pytest.approx(report["loss"] + report["penalty"])
    assert (report["decision"]["by"] == "the fit") == (report["intercept"] == -report["threshold"])


def test_json_says_what_the_threshold_is_compared_with(tmp_path: Path) -> None:
    level = np.arange(120) % 12
    ill = np.where((level < 5) ^ (np.arange(120) % 9 == 0), "yes", "no")
    pd.DataFrame({"level": level, "ill": ill}).to_csv(path := tmp_path / "falling.csv", index=False)
    report = fit(path, "--encoding", "cumulative", "--max-terms", 2, "--positive", "yes")
    cuts = {name: float(name.split(">= ")[1]) for name in report["coefficients"]}
    totals = sum(w * (level >= cuts[name]) for name, w in report["coefficients"].items())
    assert sum(report["base_points"].values()) > 0  # what falls is printed from 0
    answered = totals + sum(report["base_points"].values()) >= report["threshold"]
    assert int((answered != (ill == "yes")).sum()) == report["errors"]


def test_slim_report_agrees_with_its_definition(data: Path) -> None:
    asked = ("--max-terms", 2, "--set", "l0_penalty=0.01", "--coef-min", -3)
    report = fit(data, *RAW_SLIM, *asked)
    frame = table()
    w = pd.Series(report["coefficients"])
    answered = frame[w.index] @ w >= report["threshold"]
    wrong = int((answered != (frame["ill"] == "yes")).sum())
    nonzero = int((w != 0).sum())
    assert list(w.index) == ["age", "marker", "smoker"]
    assert w.min() >= -3
    assert nonzero <= 2
    assert report["terms"] == nonzero
    assert report["errors"] == wrong
    assert report["train_accuracy"] == pytest.approx(1 - wrong / len(frame))
    assert report["loss"] == pytest.approx(wrong / len(frame))
    assert report["penalty"] == pytest.approx(0.01 * nonzero)
    assert report["claim"] == "optimal"
    assert report["gap"] == pytest.approx(0, abs=1e-6)


def test_fit_prints_a_card_for_people(data: Path) -> None:
    done = run("fit", data, "--target", "ill", "--max-terms", 1)
    assert done.exit_code == 0
    for text in ("Variable", "Points", "Decision: high risk (", "Sensitivity", "Claim: optimal"):
        assert text in done.stdout
    labels = table()["ill"].value_counts()
    said = f"Scored: 'yes' ({labels['yes']} of {labels.sum()} rows); --positive no for the other\n"
    assert done.stderr == said
    assert run("fit", data, "--target", "ill", "--max-terms", 1, "--quiet").stderr == ""


def test_values_of_set_are_json_and_a_bare_word_is_text(data: Path) -> None:
    hinge = ["--formulation", "hinge", "--raw"]
    report = fit(
        data, *hinge, "--set", "intercept=zero", "--set", "coef_max={'age': 0}".replace("'", '"')
    )
    assert report["intercept"] == 0
    assert report["coefficients"]["age"] <= 0
    assert fit(data, *hinge, "--set", 'intercept="zero"')["intercept"] == 0
    assert fit(data, *hinge, "--set", "intercept_bounds=[-2, -2]")["intercept"] == -2


def test_positive_label_is_the_last_or_the_named_one(data: Path) -> None:
    asked = (*RAW_SLIM, "--max-terms", 1)
    assert fit(data, *asked)["classes"] == ["no", "yes"]
    named = fit(data, *asked, "--positive", "no")
    assert named["classes"] == ["yes", "no"]
    assert named["coefficients"]["marker"] <= 0


def test_columns_are_binned_unless_they_are_to_stay_as_they_are(data: Path, tmp_path: Path) -> None:
    cuts = tmp_path / "cuts.json"
    cuts.write_text('{"age": [40, 60]}')
    short = ("--formulation", "slim", "--max-terms", 1)
    assert list(fit(data, *short, "--raw")["coefficients"]) == ["age", "marker", "smoker"]
    asked = ("--thresholds", cuts)
    raw = fit(data, *short, "--raw", *asked)["coefficients"]
    assert list(raw) == ["age < 40", "40 <= age < 60", "age >= 60", "marker", "smoker"]
    binned = fit(data, *short, *asked)["coefficients"]
    markers = [f"marker >= {cut}" for cut in range(1, 6)]
    assert list(binned) == ["age >= 40", "age >= 60", *markers, "smoker"]
    one_hot = fit(data, *short, *asked, "--encoding", "onehot")["coefficients"]
    assert list(one_hot)[:3] == ["age < 40", "40 <= age < 60", "age >= 60"]
    default = fit(data, *short)["coefficients"]
    assert [name for name in default if not name.startswith("age")] == [*markers, "smoker"]
    assert (
        len(
            [
                name
                for name in fit(data, *short, "--bins", 3)["coefficients"]
                if name.startswith("age")
            ]
        )
        == 2
    )
    assert "leave out --bins, or --raw" in error(
        "fit", data, "--target", "ill", "--raw", "--bins", 3
    )


def test_what_is_of_no_use_is_left_out_in_one_line(tmp_path: Path) -> None:
    frame = table().assign(site="A", no_smoker=lambda t: 1 - t["smoker"])
    frame.insert(0, "patient id", range(1000, 1000 + len(frame)))
    path = tmp_path / "clinic.csv"
    frame.to_csv(path, index=False)
    done = run("fit", path, "--target", "ill", "--max-terms", 1)
    assert done.exit_code == 0
    assert done.stderr.splitlines()[1:] == [
        "Warning: left out, of no use to a card: 'patient id' (identifier), 'site' (one value), "
        "'no_smoker' (the reverse of 'smoker'). Is 'patient id' a measurement? "
        "Name it beside the others in --features."
    ]


def test_missing_values_are_refused_or_given_a_column(tmp_path: Path) -> None:
    frame = table().astype({"age": float})
    frame.loc[:4, "age"] = np.nan
    path = tmp_path / "holes.csv"
    frame.to_csv(path, index=False)
    assert "age" in error("fit", path, "--target", "ill", "--missing", "error")
    assert "age" in error("fit", path, "--target", "ill", "--raw")
    for asked in ((), ("--raw", "--missing", "bin")):
        report = fit(path, *asked, "--max-terms", 1)
        assert "age missing" in report["coefficients"]


def test_weights_and_class_weights_change_the_loss(tmp_path: Path) -> None:
    frame = table()
    frame["weight"] = np.where(frame["ill"] == "yes", 3, 1)
    path = tmp_path / "weighted.csv"
    frame.to_csv(path, index=False)
    report = fit(path, *RAW_SLIM, "--weights-column", "weight", "--max-terms", 1)
    w = pd.Series(report["coefficients"])
    wrong = (frame[w.index] @ w >= report["threshold"]) != (frame["ill"] == "yes")
    assert "weight" not in report["coefficients"]
    assert report["loss"] == pytest.approx(np.average(wrong, weights=frame["weight"]))
    lone = frame[(frame["ill"] == "yes") | (frame.index % 5 == 0)].drop(columns="weight")
    lone.to_csv(path, index=False)
    balanced = fit(path, *RAW_SLIM, "--class-weight", "balanced", "--time-limit", 0)
    assert balanced["loss"] == pytest.approx(0.5)


def test_time_limit_zero_is_a_feasible_empty_card(data: Path) -> None:
    for formulation in SPELT:
        given = NEEDS.get(formulation, [])
        report = fit(data, "--formulation", formulation, *given, "--time-limit", 0)
        assert report["claim"] == "feasible"
        assert not any(report["coefficients"].values())
        assert report["termination"] == "time_limit"


@pytest.mark.parametrize("formulation", ["slim", "risk-score"])
def test_a_heuristic_card_is_verified_and_claims_no_proof(data: Path, formulation: str) -> None:
    asked = ["--formulation", formulation, "--max-terms", "2"]
    quick, proved = fit(data, *asked, "--heuristic"), fit(data, *asked)
    assert quick["claim"] == "feasible"
    assert quick["verified"]
    assert quick["bound"] is None
    assert quick["gap"] is None
    assert quick["terms"] <= 2
    assert quick["objective"] >= proved["objective"] - 1e-9
    assert quick["objective"] < fit(data, *asked, "--time-limit", "0")["objective"]
    said = run("fit", data, "--target", "ill", *asked, "--heuristic").stdout
    assert "no solver ran, nothing is proved" in said
    refused = error("fit", data, "--target", "ill", "--formulation", "convex-rounding",
                    "--heuristic")  # fmt: skip
    assert "leave heuristic out" in refused


def test_no_card_exits_with_one_and_still_prints_json(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    done = run(
        *("fit", data, "--target", "ill", "--coef-min", 1, "--max-terms", 1, "--json"),
        *("--out", out),
    )
    report = parse(done.stdout)
    assert done.exit_code == 1
    assert report.keys() >= KEYS
    assert report["claim"] == "none"
    assert report["verified"] is False
    assert report["objective"] is report["gap"] is report["coefficients"] is None
    assert "no card meets every constraint" in done.stderr
    assert not out.exists()


# -------------------------------------------------------------------------------- errors


def test_bad_data_is_one_line(data: Path, tmp_path: Path) -> None:
    assert "nowhere.csv" in error("fit", tmp_path / "nowhere.csv", "--target", "ill")
    assert "did you mean 'ill'?" in error("fit", data, "--target", "Ill ")
    three = tmp_path / "three.csv"
    table().assign(ill=lambda frame: frame["marker"] % 3).to_csv(three, index=False)
    assert "3 distinct labels" in error("fit", three, "--target", "ill")
    assert "not a label" in error("fit", data, "--target", "ill", "--positive", "maybe")
    assert "thresholds" in error("fit", data, "--target", "ill", "--thresholds", tmp_path / "no")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "max_term=3"], "did you mean 'max_terms'?"),
        (["--set", "max_terms"], "key=value"),
        (["--set", "max_terms=3", "--max-terms", "3"], "--max-terms is given twice"),
        (["--set", "class_weight=balanced"], "use --class-weight"),
        (["--set", "margin=2"], "risk-score has no argument 'margin'"),
        (["--set", "l0_penalty=NaN"], "l0_penalty must be a finite number"),
        (["--set", "intercept_bounds=3"], "two finite numbers"),
        (["--set", "coef_max=many"], "--coef-max must be whole numbers"),
        (["--formulation", "slm"], "did you mean slim?"),
        (["--formulation", "convex-rounding", "--max-terms", "3"], "takes no --max-terms"),
        (["--formulation", "sparse-rounding", "--coef-min", "0"], "takes no --coef-min"),
        (["--formulation", "fused-lasso", "--max-terms", "3"], "takes no --max-terms"),
        (["--formulation", "fused-lasso", "--raw"], "--bins N / --thresholds FILE"),
        (
            ["--formulation", "fused-lasso", "--bins", "3", "--encoding", "cumulative"],
            "one-hot bins",
        ),
        (["--raw", "--encoding", "onehot"], "add --bins N"),
        (["--coef-min", "3", "--coef-max", "2"], "--coef-min 3 is larger than --coef-max 2"),
        (["--time-limit", "-1"], "--time-limit"),
        (["--time-limit", "soon"], "--time-limit"),
        (["--bins", "1"], "--bins"),
        (["--missing", "drop"], "--missing"),
        (["--unknown"], "--unknown"),
        (["--out", "/nowhere/card.json"], "there is no folder '/nowhere'"),
    ],
)
def test_bad_options_are_one_line(data: Path, arguments: list[str], said: str) -> None:
    assert said in error("fit", data, "--target", "ill", *arguments)


PYTHON = re.compile(
    r"\b\w+=['\"\d]|\bNone\b|DataFrame|ndarray|Binner|to_csv|save\(\)|\b[Xy] has\b|\bpandas\b"
    r"|(?<!-)\b(time_limit|max_terms|coef_min|coef_max|class_weight|sample_weight)\b(?!=)"
)


@pytest.mark.parametrize(
    ("change", "arguments", "said"),
    [
        ({"ill": "yes"}, [], "column 'ill' holds 'yes' in all 40 row(s)"),
        ({"age": np.inf}, [], "'age' holds 40 infinite value(s)"),
        ({"age": np.nan}, ["--missing", "error"], "--missing bin"),
        ({"ill": range(40)}, [], "--positive=LABEL"),
        ({"age": -1}, ["--weights-column", "age"], "line of the file 2, 3, 4, 5, 6 and 35 more"),
        ({}, ["--set", "max_terms=-1"], "--max-terms must be a whole number >= 0 or null"),
        ({}, ["--set", "max_terms=two"], "--max-terms"),
        ({}, ["--formulation", "fused-lasso", "--encoding", "cumulative"], "bins"),
        ({}, ["--formulation", "sparse-rounding", "--set", "max_terms=null"], "--max-terms=k"),
        ({}, ["--solver", "outer_approximation", "--formulation", "slim"], "use --solver highs"),
        ({}, ["--positive", "maybe"], "--positive maybe is not a label"),
        ({}, ["--csv-encoding", "klingon"], "--csv-encoding klingon is unknown"),
        ({}, ["--features", "age", "--drop", "age"], "'age' is named for two uses"),
        ({}, ["--id", "ill"], "'ill' is named for two uses"),
        ({}, ["--drop", "age,marker,smoker"], "no column is left"),
        ({}, ["--drop", "agee"], "did you mean 'age'?"),
    ],
)
def test_errors_speak_of_options_never_of_python(
    tmp_path: Path, change: dict[str, Any], arguments: list[str], said: str
) -> None:
    path = tmp_path / "odd.csv"
    table().assign(**change).to_csv(path, index=False)
    message = error("fit", path, "--target", "ill", *arguments)
    assert said in message
    assert not PYTHON.search(message), message


def test_files_as_they_are_written_elsewhere(tmp_path: Path) -> None:
    plain, other = tmp_path / "plain.csv", tmp_path / "other.csv"
    frame = table().assign(age=lambda each: each["age"] + 0.5).rename(columns={"age": "größe"})
    frame.to_csv(plain, index=False)
    frame.to_csv(other, index=False, sep=";", decimal=",", encoding="cp1252")
    given = ["--max-terms", 2, "--formulation", "slim"]
    told = ["--decimal", ",", "--csv-encoding", "cp1252"]
    same, proof = fit(plain, *given), tmp_path / "proof.json"
    found = fit(other, *given, *told, "--certificate", proof)
    assert found["fingerprint"] == same["fingerprint"]
    assert found["coefficients"] == same["coefficients"]
    assert "encoding='cp1252'" not in (message := error("fit", other, "--target", "ill", *given))
    assert "--csv-encoding cp1252" in message
    # a certificate remembers how its table was written
    assert run("verify", proof, other).exit_code == 0


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text('a,note,ill\n1,"two\nlines",yes\n\n2,x,\n3,x,no\n4,x,\n')
    assert "line of the file 5, 7:" in error("fit", path, "--target", "ill")


def test_columns_are_left_out_or_chosen(data: Path, tmp_path: Path) -> None:
    table().assign(patient=[f"p{k}" for k in range(40)]).to_csv(data, index=False)
    left = fit(data, "--id", "patient", "--drop", "smoker", "--max-terms", 2, "--raw")
    assert list(left["coefficients"]) == ["age", "marker"]
    chosen = fit(data, "--features", "smoker, marker", "--max-terms", 2, "--raw")
    assert list(chosen["coefficients"]) == ["smoker", "marker"]
    comma = tmp_path / "comma.csv"
    table().rename(columns={"age": "age, years"}).to_csv(comma, index=False)
    kept = fit(comma, "--features", '"age, years"', "--max-terms", 1, "--raw")
    assert list(kept["coefficients"]) == ["age, years"]


def test_one_of_three_classes_against_the_rest(data: Path, tmp_path: Path) -> None:
    frame = table()
    kind = np.where(frame["ill"] == "no", "none", np.where(frame["smoker"] == 1, "mild", "bad"))
    frame.assign(ill=kind).to_csv(data, index=False)
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    found = fit(data, "--positive", "bad", "--max-terms", 2, "--out", card, "--certificate", proof)
    assert found["classes"] == ["not bad", "bad"]
    answers = pd.read_csv(io.StringIO(run("predict", card, data).stdout))["prediction"]
    assert found["train_accuracy"] == pytest.approx(((answers == "bad") == (kind == "bad")).mean())
    assert run("verify", proof, data).exit_code == 0
    page = tmp_path / "page.html"
    for first in (card, proof):
        assert run("report", first, data, "--target", "ill", "--out", page).exit_code == 0
    assert "'none'" in error("fit", data, "--target", "ill")
    assert "is not a label" in error("fit", data, "--target", "ill", "--positive", "worse")


def test_predictions_keep_columns_and_tell_probabilities_and_groups(
    data: Path, tmp_path: Path
) -> None:
    frame = table().assign(patient=[f"p{k}" for k in range(40)])
    frame.to_csv(data, index=False)
    out, card = tmp_path / "card.json", ["--id", "patient", "--max-terms", 2]
    fit(data, *card, "--formulation", "risk-score", "--out", out)
    asked = ["--id", "patient", "--keep", "age,ill", "--probabilities", "--groups", "--scores"]
    found = pd.read_csv(io.StringIO(run("predict", out, data, *asked).stdout))
    assert list(found) == [
        "patient", "age", "ill", "total", "prediction", "risk", "probability of no",
        "probability of yes", "risk group",
    ]  # fmt: skip
    assert found["patient"].tolist() == frame["patient"].tolist()
    assert np.allclose(found["probability of yes"], found["risk"])
    assert np.allclose(found["probability of no"] + found["risk"], 1)
    loaded = Scorecard.load(out)
    assert set(found["risk group"].astype(str)) <= set(loaded.risk_lines[0][1:])
    assert (found.groupby("total")["risk group"].nunique() == 1).all()
    fit(data, *card, "--formulation", "slim", "--out", out)
    assert "fit a risk score" in error("predict", out, data, "--groups")
    assert "'patients'" in error("predict", out, data, "--keep", "patients")


def test_usage_errors_are_one_line_and_point_to_help(data: Path) -> None:
    assert "see milpscore fit --help" in error_of_main("fit", data)
    assert "did you mean 'fit'?" in error_of_main("fti").lower()


def error_of_main(*arguments: object) -> str:
    """The one line of a command run under its own name."""
    done = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="milpscore")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_unexpected_errors_are_not_swallowed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("milpscore.fitting.fit_card", broken)
    done = run("fit", data, "--target", "ill")
    assert isinstance(done.exception, ZeroDivisionError)


# -------------------------------------------------------------------------------- predict, export


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-terms", "2"],
        ["--bins", "3", "--formulation", "fused-lasso", "--set", "lam=0.001"],
        ["--bins", "3", "--encoding", "cumulative", "--max-terms", "2"],
        ["--formulation", "hinge", "--set", "intercept=real", "--positive", "no"],
    ],
)
def test_saved_card_predicts_what_it_did_in_training(
    data: Path, tmp_path: Path, arguments: list[str]
) -> None:
    out = tmp_path / "card.json"
    report = fit(data, *arguments, "--time-limit", 300, "--out", out)
    done = run("predict", out, data, "--scores")
    assert done.exit_code == 0
    answers = pd.read_csv(io.StringIO(done.stdout))
    frame = table()
    right = (answers["prediction"] == frame["ill"]).mean()
    positive = report["classes"][1]
    assert right == pytest.approx(report["train_accuracy"])
    assert ((answers["prediction"] == positive) == (answers["total"] >= report["threshold"])).all()
    card = Scorecard.load(out)
    assert card.coefficients == report["coefficients"]
    assert card.certificate["claim"] == report["claim"]
    np.testing.assert_array_equal(card.predict(frame), answers["prediction"])


def test_predict_writes_a_file_and_needs_only_the_used_columns(data: Path, tmp_path: Path) -> None:
    card, out, few = tmp_path / "card.json", tmp_path / "answers.csv", tmp_path / "few.csv"
    report = fit(data, *RAW_SLIM, "--max-terms", 1, "--out", card)
    used = [name for name, points in report["coefficients"].items() if points]
    table()[used].to_csv(few, index=False)
    assert run("predict", card, few, "--out", out).exit_code == 0
    with out.open() as file:
        answers = [row["prediction"] for row in csv.DictReader(file)]
    assert answers == [
        line["prediction"]
        for line in csv.DictReader(io.StringIO(run("predict", card, data).stdout))
    ]
    table().drop(columns=used).to_csv(few, index=False)
    assert used[0] in error("predict", card, few)


def test_predict_refuses_what_is_no_card(data: Path, tmp_path: Path) -> None:
    assert "not JSON" in error("predict", data, data)
    assert "card.json" in error("predict", tmp_path / "card.json", data)
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "binary.json" in error("predict", binary, data)


@pytest.mark.parametrize("formulation", SPELT)
@pytest.mark.parametrize("suffix", ["lp", "mps"])
def test_export_writes_every_formulation(
    data: Path, tmp_path: Path, formulation: str, suffix: str
) -> None:
    model = tmp_path / f"model.{suffix}"
    given = [*NEEDS_EXPORTED.get(formulation, []), "--formulation", formulation]
    done = run("export", data, "--target", "ill", *given, model)
    assert done.exit_code == 0
    assert model.stat().st_size > 500
    assert ("tangents of the loss" in done.stderr) == (formulation == "risk-score")
    if suffix == "mps":
        return  # as the other format
    relaxed = run("export", data, "--target", "ill", *given, model, "--relaxed")
    assert "(0 of them integer)" in relaxed.stdout
    exact = run("export", data, "--target", "ill", *given, model, "--exact")
    assert "(0 of them integer)" not in exact.stdout


def test_export_refuses_other_endings_and_absent_folders(data: Path, tmp_path: Path) -> None:
    assert ".lp, .mps or .nl" in error("export", data, "--target", "ill", tmp_path / "model.txt")
    assert "no folder" in error("export", data, "--target", "ill", tmp_path / "no" / "model.lp")


def test_exported_relaxation_has_the_bound_of_the_lp(data: Path, tmp_path: Path) -> None:
    import highspy

    model = tmp_path / "model.mps"
    given = ["--formulation", "convex-rounding"]
    assert run("export", data, "--target", "ill", *given, model).exit_code == 0
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(model))
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(fit(data, *given)["bound"])


# -------------------------------------------------------------------------------- compare, demo


def compare(data: Path, *arguments: object) -> dict[str, Any]:
    """Compare with ``--json``; the rows by formulation and kind."""
    done = run("compare", data, "--target", "ill", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    rows = parse(done.stdout)["table"]
    return {f"{row['formulation']} {row['kind']}": row for row in rows}


def test_compare_orders_relaxed_exact_and_rounded(data: Path) -> None:
    names = "slim,hinge,sparse-rounding"
    rows = compare(data, "--formulations", names, "--max-terms", 2, "--cv", 0, "--time-limit", 300)
    for name in ("slim", "hinge", "sparse_rounding"):
        exact = rows[f"{name} exact"]
        assert exact["claim"] == "optimal"
        assert rows[f"{name} relaxed"]["objective"] <= exact["objective"] + 1e-9
        for kind in ("randomised", "nearest"):
            assert rows[f"{name} {kind}"]["objective"] >= exact["objective"] - 1e-9
    fitted = fit(data, "--formulation", "slim", "--max-terms", 2)
    assert rows["slim exact"]["objective"] == pytest.approx(fitted["objective"])
    assert rows["slim exact"]["cv_accuracy"] is None


def test_compare_sets_arguments_of_all_or_of_one(data: Path) -> None:
    given = ["--max-terms", 1, "--cv", 0, "--set", "l0_penalty=0.125", "--set", "hinge.margin=3"]
    rows = compare(data, *given)
    assert rows["slim exact"]["penalty"] in {0, 0.125}
    assert rows["hinge exact"]["penalty"] in {0, 0.125}
    fitted = fit(data, "--formulation", "hinge", "--max-terms", 1, "--set", "l0_penalty=0.125")
    other = fit(data, *("--formulation", "hinge"), *given[:2], *given[4:6], "--set", "margin=3")
    assert rows["hinge exact"]["objective"] == pytest.approx(other["objective"])
    assert other["objective"] != pytest.approx(fitted["objective"])


def test_compare_prints_a_table_and_draws_a_figure(data: Path, tmp_path: Path) -> None:
    figure = tmp_path / "figure.png"
    done = run(
        *("compare", data, "--target", "ill", "--formulations", "slim,fused-lasso"),
        *("--max-terms", 1, "--cv", 2, "--time-limit", 300, "--plot", figure),
    )
    assert done.exit_code == 0
    for text in ("slim", "LP relaxation", "randomised", "nearest", "held out", "not stated"):
        assert text in done.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_compare_prints_a_row_for_each_further_rounding(data: Path) -> None:
    done = run(
        *("compare", data, "--target", "ill", "--formulations", "hinge", "--cv", 0, "--proximal"),
        *("--roundings", "derandomised,golovin,local-search", "--time-limit", 300, "--quiet"),
    )
    assert done.exit_code == 0, done.output
    cells = [line.split() for line in done.stdout.splitlines()]
    claims = {row[0]: row[1] for row in cells if len(row) > 1}
    for name in ("derandomised", "golovin", "proximal"):
        assert claims[name] in {"optimal", "gap", "feasible"}
    assert claims["local-search"] == "none"
    assert "hinge, local-search: local search needs weights in {0,1}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--roundings", "golovin,golovin"], "golovin is given twice"),
        (["--roundings", "sideways"], "there are derandomised"),
        (["--formulations", "slim,hing"], "did you mean hinge?"),
        (["--formulations", ","], "at least one formulation"),
        (["--formulations", "fused-lasso"], "bins"),
        (["--set", "lam=1"], "none of risk_score, slim, hinge takes 'lam'"),
        (["--set", "slim.margin=1"], "slim has no argument 'margin'"),
        (["--set", "fused-lasso.lam=1"], "not among --formulations"),
        (["--set", "hinge.margin=1", "--set", "hinge.margin=2"], "given twice"),
        (["--plot", "figure.xyz"], "must end in"),
        (["--cv", "1"], "cv"),
    ],
)
def test_bad_options_of_compare_are_one_line(data: Path, arguments: list[str], said: str) -> None:
    assert said in error("compare", data, "--target", "ill", *arguments)


def test_demo_shows_card_certificate_and_table() -> None:
    done = run("demo", "--time-limit", 0.5, "--quiet")
    assert done.exit_code == 0
    assert done.stderr == ""
    for text in ("569 tumours, 212", "Decision: high risk (52.8% or more) if total",
                 "What is proved", "LP relaxation", "whatever the scale"):  # fmt: skip
        assert text in done.stdout
    for name in ("slim", "hinge", "sparse-rounding", "fused-lasso"):
        assert f"\n{name}" in done.stdout


def test_demo_without_time_shows_empty_cards() -> None:
    done = run("demo", "--time-limit", 0, "--quiet")
    assert done.exit_code == 0
    assert "none has a loss and penalty below 0 (this card" in " ".join(done.stdout.split())


def test_demo_counts_cards() -> None:
    for columns in (1, 2):
        values = 2 * demo_module.MOST_POINTS + 1
        assert demo_module.number_of_cards(columns) == values**columns
    points = np.indices((11,) * 6).reshape(6, -1) - 5
    allowed = (points != 0).sum(axis=0) <= demo_module.MAX_TERMS
    assert demo_module.number_of_cards(6) == allowed.sum()


# -------------------------------------------------------------------------------- the rest


def test_list_names_every_formulation_its_arguments_and_versions() -> None:
    done = run("list")
    assert done.exit_code == 0
    for name in SPELT:
        assert f"  {name}\n" in done.stdout
    for text in ("l0_penalty", "intercept_bounds", "lam", "highspy", "1."):
        assert text in done.stdout


def test_no_option_is_named_twice() -> None:
    for name in ("fit", "compare", "pool", "path", "predict", "crf"):
        shown = run(name, "--help").stdout
        assert "--" in shown
        assert not re.search(r"(--[a-z-]+),\1\b", shown), name


def test_help_names_every_formulation_and_version_is_that_of_the_package() -> None:
    text = run("fit", "--help").stdout
    for name in SPELT:
        assert name in text
    assert run("--version").stdout == f"milpscore {milpscore.__version__}\n"
    assert "fit" in run().stdout


def test_strict_json_has_no_infinities() -> None:
    assert as_json({"gap": float("inf"), "more": [float("nan"), 1.5]}) == {
        "gap": None,
        "more": [None, 1.5],
    }


# -------------------------------------------------------------------------------- child processes

CHILD = """
import os, signal, sys, threading, time
from milpscore.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)

def press():
    while not any(thread.name == "highs" for thread in threading.enumerate()):
        time.sleep(0.01)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)

if sys.argv[1] == "interrupt":
    threading.Thread(target=press, daemon=True).start()
del sys.argv[1]
main()
"""


def child(*arguments: object, interrupt: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own; with ``interrupt``, Ctrl-C half a second in."""
    command = [sys.executable, "-c", CHILD, "interrupt" if interrupt else "run"]
    environment = {**os.environ, "PYTHONPATH": str(Path(milpscore.__file__).parents[1])}
    return subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
        check=False,
    )


def test_ctrl_c_keeps_the_best_card_and_bound(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.integers(0, 9, (150, 8)), columns=list("abcdefgh"))
    frame.assign(ill=random.integers(0, 2, 150)).to_csv(tmp_path / "noise.csv", index=False)
    out = tmp_path / "card.json"
    done = child(
        *("fit", tmp_path / "noise.csv", "--target", "ill", "--set", "max_terms=null"),
        *("--formulation", "slim", "--solver", "highs", "--json", "--out", out),
        *("--time-limit", 600),
        interrupt=True,
    )
    assert done.returncode == 130, done.stderr
    report = parse(done.stdout)
    assert report["termination"] == "interrupted"
    assert report["verified"] is True
    assert report["claim"] in {"gap", "feasible"}
    assert report["seconds"] < 300
    assert Scorecard.load(out).coefficients == report["coefficients"]
    assert "Traceback" not in done.stderr


def test_standard_output_holds_nothing_but_the_json(data: Path) -> None:
    done = child("fit", data, "--target", "ill", "--bins", 2, "--json")
    assert done.returncode == 0
    assert parse(done.stdout)["claim"] == "optimal"


def test_bad_input_in_a_child_is_one_line_and_no_traceback(data: Path) -> None:
    done = child("fit", data, "--target", "il")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "Error: there is no column 'il'; did you mean 'ill'?\n"


def test_the_shell_completes_commands() -> None:
    asked = {"_MILPSCORE_COMPLETE": "complete_bash", "COMP_WORDS": "milpscore p", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'milpscore'; from milpscore.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["path", "pool", "predict"]
