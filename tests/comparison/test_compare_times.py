"""Exact beside relaxed beside rounded, of times to an event."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.comparison import compare
from milpscore.data import survival_target
from milpscore.data.binner import Binner, binned_design, folds_of, stratified_splits
from milpscore.formulations import risk_score, survival_score
from milpscore.solvers import solve
from tests.survival_cases import small_times


def table(rows: int = 90) -> tuple[pd.DataFrame, np.ndarray]:
    design = small_times(1, rows=rows, late=True)
    X = pd.DataFrame(design.X, columns=["a", "b", "c"])
    return X, survival_target(design.event, design.time, design.entry)


@pytest.mark.parametrize("scale", [1.0, "auto"], ids=str)
def test_relaxed_is_below_exact_and_exact_below_rounded(scale):
    X, y = table()
    answer = compare(
        X, y, formulations=["survival-score"], max_terms=2, scale=scale, cv=None, time_limit=60
    )
    by = answer.table.set_index("kind")
    assert by["claim"]["exact"] == "optimal"
    assert by["claim"]["relaxed"] == "optimal"
    assert by["bound"]["relaxed"] <= by["objective"]["exact"] + 1e-9
    for kind in ("randomised", "nearest"):
        assert by["objective"][kind] >= by["objective"]["exact"] - 1e-9
    assert by["train_accuracy"].isna().all()
    try:
        import sksurv  # noqa: F401
    except ModuleNotFoundError:
        assert by["train_auc"].isna().all()
        assert "scikit-survival" in by["message"]["exact"]
    else:
        assert by["train_auc"]["exact"] > 0.5


def test_folds_keep_times_and_cut_by_their_own_events():
    X, y = table()
    binner = Binner(n_bins=3)
    design = binned_design(X, y, binner)
    dealt, splits = stratified_splits(design, 3, 0)
    held = []
    for fold, (train, test) in zip(folds_of(dealt, splits, X, binner), splits, strict=True):
        for part, rows in ((fold.train, train), (fold.test, test)):
            assert (part.time == y["time"][rows]).all()
            assert (part.entry == y["entry"][rows]).all()
            assert (part.event == y["event"][rows]).all()
        alone = binned_design(X.iloc[train], y[train], binner)
        assert fold.train.columns == alone.columns == fold.test.columns
        assert fold.train.fingerprint == alone.fingerprint
        held.append(test)
    assert sorted(np.concatenate(held)) == list(range(len(y)))


@pytest.mark.parametrize("build", [risk_score, survival_score])
def test_a_relaxation_ends_when_its_bound_meets_its_point(build):
    design = small_times(2, rows=60)
    program = build(design, max_terms=1, scale=1.0).relaxed()
    result = solve(program, progress=False, second_opinion=False)
    assert str(result.claim) == "optimal"
    assert str(result.termination) == "completed"
    assert len(program.model.cuts) < 1000  # of the 2,000 at which planes are given up


def test_the_commands_take_times(tmp_path):
    X, y = table(60)
    frame = X.assign(years=y["time"], died=y["event"].astype(int), came=y["entry"])
    frame.to_csv(path := tmp_path / "t.csv", index=False)
    given = (
        str(path), "--time", "years", "--event", "died", "--entry", "came", "--max-terms", "1",
    )  # fmt: skip
    run = CliRunner().invoke
    done = run(app, ["compare", *given, "--cv", "0", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["table"]
    assert [row["formulation"] for row in rows] == ["survival_score"] * 4
    assert rows[0]["claim"] == "optimal"
    assert "Harrell" in run(app, ["compare", *given, "--cv", "0"]).stdout
    done = run(app, ["pool", *given, "--json"])
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["cards"]) > 1
    done = run(app, ["export", *given, "--out", str(tmp_path / "m.mps")])
    assert done.exit_code == 0, done.output
    for command in (
        ("compare", *given, "--formulations", "slim"),
        ("compare", *given, "--report", str(tmp_path / "r.html")),
        ("pool", *given, "--by", "a"),
        ("compare", str(path), "--target", "died", "--formulations", "survival-score"),
    ):
        assert run(app, list(command)).exit_code == 2
