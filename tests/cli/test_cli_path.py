"""``milpscore path``: pure JSON, a table for people, one-line errors, figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.cli.path import loss_names, penalty_names
from milpscore.losses import smooth_loss
from milpscore.penalties import L1, PENALTIES, Facets
from milpscore.proximal import path
from milpscore.proximal.engine import MAX_ITER

NEEDS = {
    "adaptive-l1": ["--set", "initial=[1,0.5,2]"],
    "binarsity": ["--bins", "3"],
    "group-l1": ["--bins", "3"],
    "elastic-net": ["--set", "l1_ratio=0.5"],
    "eye": ["--expert-features", "age,marker"],
    "l2": ["--lams", "0.1,1"],
    "naive-credibility": ["--expert-features", "age", "--set", "beta=0.5", "--lams", "1,0.1"],
    "owl": ["--set", "weights=[3,2,1]"],
    "weighted-l1": ["--set", "weights=[1,2,3]"],
    "weighted-l2": ["--set", "weights=[1,2,3]", "--lams", "0.1,1"],
    "weighted-tv": ["--lams", "1,0.1"],
}


def run(*arguments: object) -> Any:
    """Run a command in this process."""
    return CliRunner().invoke(app, ["path", *(str(argument) for argument in arguments)])


def report(data: Path, *arguments: object) -> dict[str, Any]:
    """The one strictly valid JSON object of ``--json``."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    done = run(data, "--target", "ill", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout, parse_constant=refuse)
    assert isinstance(found, dict)
    return found


def error(*arguments: object) -> str:
    """The one line a command with bad input ends in."""
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    (line,) = (line for line in done.stderr.splitlines() if not line.startswith("Scored: "))
    assert line.startswith("Error: ")
    return str(line)


def table(n: int = 90) -> pd.DataFrame:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": random.integers(0, 6, n) * 1.0,
            "marker": random.integers(0, 6, n) * 1.0,
            "smoker": random.integers(0, 2, n),
        }
    )
    total = frame["age"] + 2 * frame["marker"] + 3 * frame["smoker"]
    noisy = total + random.normal(0, 3, n)
    return frame.assign(ill=np.where(noisy > total.median(), "yes", "no"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    place = tmp_path / "patients.csv"
    table().to_csv(place, index=False)
    return place


def test_the_report_is_the_path_of_the_library(data: Path) -> None:
    found = report(data, "--penalty", "facets", "--gamma", 0.5, "--n-lams", 5, "--cv", 3)
    frame = table()
    X, y = frame[["age", "marker", "smoker"]].to_numpy(float), (frame["ill"] == "yes").astype(int)
    same = path(X, y, penalty=Facets(1.0, 0.5), n_lams=5, cv=3, random_state=0)
    assert found["design_columns"] == ["age", "marker", "smoker"]
    assert np.allclose(found["coefficients"], same.coefficients)
    assert np.allclose(found["intercepts"], same.intercepts)
    rows = pd.DataFrame(found["table"])
    for column in ("lam", "integrity", "loss", "objective", "cv_accuracy", "cv_auc"):
        assert np.allclose(rows[column], same.table[column])
    assert found["models"] == 5
    assert found["null"] == 1
    assert found["worst_gap"] <= 1e-6
    assert found["classes"] == ["no", "yes"]


@pytest.mark.parametrize("penalty", penalty_names())
def test_every_penalty_makes_a_path(data: Path, penalty: str) -> None:
    found = report(data, "--penalty", penalty, "--n-lams", 3, *NEEDS.get(penalty, []))
    assert found["penalty"] == penalty.replace("-", "_")
    rows = found["table"]
    # total variation does not see a constant: its conjugate is finite on a plane only
    ends = {"gap_reached"} | ({"converged"} if penalty == "weighted-tv" else set())
    assert {row["termination"] for row in rows} <= ends
    assert all(row["objective"] == pytest.approx(row["loss"] + row["penalty"]) for row in rows)
    lams = [row["lam"] for row in rows]
    assert lams == sorted(lams, reverse=True)


def test_every_penalty_with_a_weight_is_offered() -> None:
    assert {name.replace("-", "_") for name in penalty_names()} | {"box", "sparse_hull"} == set(
        PENALTIES
    )


def test_three_classes_and_more_have_the_multinomial_loss(tmp_path: Path) -> None:
    frame = table()
    total = frame["age"] + 2 * frame["marker"]
    frame["ill"] = np.select([total < 5, total < 11], ["mild", "none"], "severe")
    place = tmp_path / "groups.csv"
    frame.to_csv(place, index=False)
    found = report(place, "--penalty", "l1", "--loss", "multinomial", "--n-lams", 4)
    assert found["classes"] == ["mild", "none", "severe"]
    X = frame[["age", "marker", "smoker"]].to_numpy(float)
    codes = np.unique(frame["ill"], return_inverse=True)[1]
    same = path(X, codes, loss="multinomial", penalty=L1, n_lams=4)
    assert np.shape(found["coefficients"]) == (4, 3, 3)
    np.testing.assert_allclose(found["coefficients"], same.coefficients, atol=1e-8)
    np.testing.assert_allclose(found["intercepts"], same.intercepts, atol=1e-8)
    used = [int(w.any(axis=1).sum()) for w in same.coefficients]
    assert [row["terms"] for row in found["table"]] == used
    # group TV: total variation inside each feature's bins
    bins = report(place, "--penalty", "binarsity", "--bins", 3, "--loss", "multinomial",
                  "--n-lams", 2)  # fmt: skip
    assert np.shape(bins["coefficients"])[2] == 3
    # classes that weigh the same, rows left out, a grid of units, a panel a class
    several = ("--penalty", "l1", "--loss", "multinomial", "--n-lams", 3, "--cv", 3)
    drawn = tmp_path / "classes.svg"
    found = report(place, *several, "--class-weight", "balanced", "--plot", drawn)
    weight = (1 / np.bincount(codes))[codes]
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(X, codes)
    same = path(X, codes, loss="multinomial", penalty=L1, n_lams=3, cv=splits, sample_weight=weight)
    np.testing.assert_allclose(found["coefficients"], same.coefficients, atol=1e-8)
    # (the first is null, and its classes weigh the same)
    for row, kept in zip(found["table"][1:], same.table[1:].to_dict("records"), strict=True):
        assert row["cv_accuracy"] == pytest.approx(kept["cv_accuracy"])
        assert row["cv_auc"] == pytest.approx(kept["cv_auc"])
    assert np.shape(found["chosen"]["coefficients"]["age"]) == (3,)
    assert all(f"path, {name} -->" in drawn.read_text() for name in ("mild", "none", "severe"))
    grid = report(
        place, "--penalty", "facets", "--loss", "multinomial", "--cv", 2, "--grid", "3x2",
        "--plot", tmp_path / "grid.svg",
    )  # fmt: skip
    assert grid["models"] == 6
    assert {"cv_accuracy", "gamma"} <= set(grid["table"][0])
    assert np.shape(grid["chosen"]["coefficients"]["marker"]) == (3,)


def test_every_loss_offered_is_for_classes(data: Path) -> None:
    for name in loss_names():
        assert smooth_loss(name).task in ("classification", "multinomial")
    assert report(data, "--penalty", "l1", "--loss", "squared-hinge", "--n-lams", 2)["loss"] == (
        "squared_hinge"
    )


def test_terms_are_raw_features_and_blocks_sum_to_zero(data: Path) -> None:
    found = report(data, "--penalty", "binarsity", "--bins", 3, "--n-lams", 3)
    last = found["table"][-1]
    assert last["terms"] <= 3 < last["nonzeros"]
    w = dict(zip(found["design_columns"], found["coefficients"][-1], strict=True))
    for feature in ("age", "marker", "smoker"):
        assert sum(v for name, v in w.items() if feature in name) == pytest.approx(0)


def test_expert_features_favour_their_columns(data: Path) -> None:
    known = report(data, "--penalty", "eye", "--expert-features", "age", "--n-lams", 6)
    unknown = report(data, "--penalty", "eye", "--expert-features", "marker", "--n-lams", 6)
    j = known["design_columns"].index("age")
    k = known["design_columns"].index("marker")
    share = [np.abs(np.array(f["coefficients"])[1, [j, k]]) for f in (known, unknown)]
    assert share[0][0] > share[1][0]


def test_a_grid_counts_null_and_whole_models(data: Path) -> None:
    found = report(data, "--penalty", "scf", "--set", "eps=0.05", "--grid", "6x4")
    rows = pd.DataFrame(found["table"])
    assert found["models"] == len(rows) == 24
    assert rows["gamma"].nunique() == 4
    assert found["null"] == rows["null"].sum() >= 4
    assert found["integral"] == rows["integral"].sum()
    assert "coefficients" not in found


def test_cross_validation_chooses_gamma_as_well_as_lam(data: Path) -> None:
    found = report(
        data, "--penalty", "facets", "--grid", "8x8", "--cv", 3, "--intercept", "zero"
    )  # fmt: skip
    rows, chosen = pd.DataFrame(found["table"]), found["chosen"]
    whole = rows[rows["integral"]]
    assert 0 < len(whole) < len(rows)
    assert chosen["cv_accuracy"] == whole["cv_accuracy"].max()
    assert chosen["integral"]
    w = np.array([chosen["coefficients"][name] for name in found["design_columns"]])
    units = w / chosen["gamma"]
    np.testing.assert_allclose(units, units.round(), atol=1e-6)
    assert chosen["terms"] == np.count_nonzero(w) > 0
    assert chosen["intercept"] == 0
    same = report(data, "--penalty", "facets", "--gamma", chosen["gamma"], "--intercept", "zero",
                  "--lams", chosen["lam"])  # fmt: skip
    np.testing.assert_allclose(same["coefficients"][0], w, atol=1e-4)
    assert same["chosen"] is None  # without folds nothing chooses

    line = report(data, "--penalty", "l1", "--n-lams", 4, "--cv", 3)
    alive = [row for row in line["table"] if not row["null"]]
    assert line["chosen"]["cv_accuracy"] == max(row["cv_accuracy"] for row in alive)
    assert line["chosen"]["intercept"] in line["intercepts"]


def test_people_get_tables_and_a_figure(data: Path, tmp_path: Path) -> None:
    for extra, words in (
        (["--n-lams", 4, "--gamma", 0.25], ["lam", "terms", "whole", "gap", "100%"]),
        (["--grid", "4x3", "--cv", 2], ["12 models", "alpha", "held out", "Chosen"]),
    ):
        figure = tmp_path / "figure.png"
        done = run(data, "--target", "ill", "--penalty", "facets", *extra, "--plot", figure)
        assert done.exit_code == 0, done.stderr
        assert all(word in done.stdout for word in words)
        assert done.stderr.endswith(f"\nThe figure was saved in {figure}.\n")
        assert figure.stat().st_size > 5000
        figure.unlink()


def test_models_that_stop_early_are_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAX_ITER, "newton", 1)
    done = run(data, "--target", "ill", "--penalty", "eye", "--expert-features", "age",
               "--tol", "1e-12", "--n-lams", 5)  # fmt: skip
    assert done.exit_code == 0
    assert "stopped with a gap above 1e-12" in done.stderr


def test_a_path_that_its_time_ends_is_told(data: Path) -> None:
    done = run(data, "--target", "ill", "--penalty", "l1", "--time-limit", 0, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["models"] == 1
    assert "Stopped at the time limit, after 1 models." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--penalty", "facet"], "did you mean 'facets'?"),
        (["--penalty", "box"], "box is a set"),
        (["--penalty", "l1", "--loss", "hinge"], "use logistic"),
        (["--penalty", "l1", "--gamma", 1], "takes no --gamma"),
        (["--penalty", "l1", "--expert-features", "age"], "takes no --expert-features"),
        (["--penalty", "eye"], "add --expert-features"),
        (["--penalty", "eye", "--expert-features", "agee"], "did you mean 'age'?"),
        (["--penalty", "elastic-net"], "--set l1_ratio=VALUE"),
        (["--penalty", "elastic-net", "--set", "ratio=1"], "it has l1_ratio"),
        (["--penalty", "facets", "--set", "gamma=1"], "use --gamma"),
        (["--penalty", "facets", "--gamma", -1], "gamma must be"),
        (["--penalty", "scf", "--set", "eps=text"], "eps"),
        (["--penalty", "binarsity"], "add --bins N"),
        (["--penalty", "binarsity", "--bins", 3, "--encoding", "cumulative"], "bins"),
        (["--penalty", "l2"], "give --lams"),
        (["--penalty", "l1", "--lams", "a,b"], "numbers with commas"),
        (["--penalty", "l1", "--ratio", 2], "between 0 and 1"),
        (["--penalty", "l1", "--tol", 0], "tol"),
        (["--penalty", "l1", "--intercept", "none"], "is not one of 'real', 'zero'"),
        (["--penalty", "l1", "--grid", "2x2"], "has no unit"),
        (["--penalty", "facets", "--grid", "24"], "24x100"),
        (["--penalty", "facets", "--grid", "2x2", "--gamma", 1], "exclude each other"),
        (["--penalty", "facets", "--grid", "2x2", "--time-limit", 1], "leave out --time-limit"),
        (["--penalty", "l1", "--cv", 2, "--time-limit", 1], "leave out --time-limit"),
        (["--penalty", "l1", "--plot", "figure.txt"], "must end in"),
    ],
)
def test_bad_input_is_one_line(data: Path, arguments: list[object], words: str) -> None:
    assert words in error(data, "--target", "ill", *arguments)


def test_ctrl_c_ends_with_its_code(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import milpscore.proximal as room

    def interrupted(*args: Any, **extra: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "path", interrupted)
    done = run(data, "--target", "ill", "--penalty", "l1")
    assert done.exit_code == 130
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith("Interrupted")


def test_a_path_is_of_l1_unless_asked_and_names_what_the_list_names(data: Path) -> None:
    given = [data, "--target", "ill", "--n-lams", 3]
    assert report(*given)["penalty"] == report(*given, "--penalty", "l1")["penalty"] == "l1"
    message = error(*given, "--penalty", "zzz")
    assert f"there are {', '.join(penalty_names())}" in message
    assert "did you mean 'elastic-net'?" in error(*given, "--penalty", "elastic")
