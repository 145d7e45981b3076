"""The experiments of the binarsity slides: toys of known truth, and the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")


from experiments.binarsity.comparison import BinarsityComparison
from experiments.binarsity.data import make_additive_steps
from experiments.binarsity.models import (
    METHODS,
    PathOptions,
)
from experiments.binarsity.toys import BinarsityToys
from experiments.runner import Finding
from experiments.sets import OfSets, joined, read_joined

SHORT = PathOptions(n_lams=6, ratio=0.02, tol=1e-4)
QUICK = PathOptions(n_lams=3, ratio=0.05, tol=1e-3)
SMALL: dict[str, Any] = {
    "n_samples": 300,
    "n_bins": 20,
    "n_jumps": 2,
    "n_points": 80,
    "near": 1,
    "options": SHORT,
    "random_state": 3,
}


GIVEN: dict[str, Any] = {"sets": (), "sizes": (300, 400), "n_bins": 5, "options": QUICK}


@pytest.fixture(scope="module")
def toys() -> Finding:
    return BinarsityToys(**SMALL).run(2)


@pytest.fixture(scope="module")
def comparison() -> Finding:
    return BinarsityComparison(**GIVEN).run(2)


def test_the_log_odds_are_the_sum_of_the_step_functions() -> None:
    X, y, truth = make_additive_steps(40_000, 3, n_relevant=2, random_state=1)
    assert [len(each) for each in truth.thresholds] == [3, 3, 0]
    by_hand = sum(
        truth.levels[j][(X[f"x{j + 1}"].to_numpy()[:, None] >= truth.thresholds[j]).sum(axis=1)]
        for j in range(3)
    )
    np.testing.assert_allclose(truth.score(X), by_hand)
    chance = 1 / (1 + np.exp(-truth.score(X)))
    for low in np.arange(0.1, 0.9, 0.2):
        inside = (chance >= low) & (chance < low + 0.2)
        if inside.sum() > 500:
            assert y[inside].mean() == pytest.approx(chance[inside].mean(), abs=0.03)
    # each function has mean 0 over [0, 1]
    grid = (np.arange(100_000) + 0.5) / 100_000
    assert truth.values(0, grid).mean() == pytest.approx(0, abs=1e-4)
    again, _, _ = make_additive_steps(40_000, 3, n_relevant=2, random_state=1)
    pd.testing.assert_frame_equal(X, again)


def test_toys_recover_the_truth_better_with_binarsity(toys: Finding) -> None:
    rows = toys.summary.set_index("method")
    assert list(rows.index) == list(METHODS)
    assert rows.loc["binarsity", "rmse"] < rows.loc["lasso", "rmse"]
    assert rows.loc["binarsity", "jumps"] < rows.loc["ridge", "jumps"]
    assert rows.loc["binarsity", "precision"] > rows.loc["ridge", "precision"]
    assert (rows["runs"] == 2).all()
    signal = toys.signal.set_index("method")
    assert signal.loc["tv", "rmse"] < 0.5 * signal.loc["noisy", "rmse"]
    assert signal.loc["noisy", "rmse"] == pytest.approx(0.5, rel=0.2)
    part = toys.runs[(toys.runs["toy"] == "steps") & (toys.runs["method"] == "lasso")]
    assert rows.loc["lasso", "rmse"] == pytest.approx(part["rmse"].mean())
    steps = toys.drawn["steps"]
    widths = steps["upper"] - steps["lower"]
    assert (widths * steps["binarsity"]).groupby(steps["feature"]).sum().abs().max() < 1e-9


def test_comparison_has_every_method_on_every_set(comparison: Finding) -> None:
    assert comparison.sets["set"].tolist() == ["steps 300", "steps 400"]
    assert comparison.sets["columns"].tolist() == [40, 40]
    assert len(comparison.runs) == 2 * 2 * 9
    part = comparison.runs[
        (comparison.runs["set"] == "steps 400") & (comparison.runs["method"] == "group_l1")
    ]
    rows = comparison.summary.set_index(["set", "method"])
    assert rows.loc[("steps 400", "group_l1"), "auc"] == pytest.approx(part["auc"].mean())
    assert rows.loc[("steps 400", "group_l1"), "auc_stdev"] == pytest.approx(part["auc"].std())
    areas = rows["auc"].unstack()
    np.testing.assert_allclose(areas["tv"], areas["binarsity"], atol=0.01)
    assert (comparison.runs["gap"].dropna() <= QUICK.tol).all()
    assert (comparison.runs["seconds"] >= 0).all()
    assert comparison.runs["auc"].between(0.5, 1).all()


def test_one_hot_columns_are_joined_to_features(tmp_path: Path) -> None:
    table = pd.DataFrame({"cap_eq_1": [1, 0, 0], "cap_eq_flat": [0, 1, 0], "age": [3, 4, 5]})
    assert joined(table)["cap"].tolist() == ["1", "flat", "other"]
    assert joined(table)["age"].tolist() == [3, 4, 5]
    table.insert(0, "y", [0, 1, 1])
    table.to_csv(tmp_path / "caps.csv", index=False)
    X, y = read_joined(str(tmp_path), "caps")
    assert list(X) == ["cap", "age"]
    assert y.tolist() == [0, 1, 1]
    assert OfSets(data=str(tmp_path), sets=("caps", "no", "wdbc")).here == ("caps", "wdbc")
