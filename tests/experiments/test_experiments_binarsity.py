"""The experiments of the binarsity slides: toys of known truth, and the comparison."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from experiments.binarsity.comparison import BinarsityComparison
from experiments.binarsity.data import make_additive_steps
from experiments.binarsity.models import (
    METHODS,
    PathOptions,
    binned,
    choose,
    count_jumps,
    maker,
    matched,
)
from experiments.binarsity.rate import BinarsityRate
from experiments.binarsity.toys import BinarsityToys
from experiments.runner import Finding, means_of
from experiments.sets import OfSets, joined, read_joined
from milpscore.core.errors import OptionError
from milpscore.data import Binner
from milpscore.penalties import L1, Binarsity, GroupL1, WeightedTV
from milpscore.proximal import fit_proximal
from milpscore_study import StudyError

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


@pytest.mark.parametrize(
    "wrong", [{"n_samples": 1}, {"n_relevant": 3}, {"n_jumps": 0}, {"scale": 0}, {"n_features": 0}]
)
def test_wrong_sizes_of_steps_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        make_additive_steps(**{"n_samples": 10, **wrong})


def test_group_lasso_of_single_columns_is_the_lasso_and_equal_columns_share() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    single = fit_proximal(X, y, penalty=GroupL1(0.05, blocks=((0,), (1,), (2,))), tol=1e-10)
    lasso = fit_proximal(X, y, penalty=L1(0.05), tol=1e-10)
    np.testing.assert_allclose(single.coefficients, lasso.coefficients, atol=1e-5)
    twins = np.column_stack([X[:, 0], X[:, 0], X[:, 1]])
    pair = fit_proximal(twins, y, penalty=GroupL1(0.05, blocks=((0, 1), (2,))), tol=1e-10)
    assert pair.coefficients[0] == pytest.approx(pair.coefficients[1], abs=1e-5)
    assert pair.coefficients[0] > 0


def test_group_lasso_refuses_blocks_and_weights_that_do_not_fit() -> None:
    with pytest.raises(OptionError, match="exactly once"):
        GroupL1(1.0, blocks=((0, 1), (1, 2)))
    with pytest.raises(OptionError, match="2 blocks"):
        GroupL1(1.0, blocks=((0, 1), (2,)), weights=[1.0])
    with pytest.raises(OptionError, match="> 0"):
        GroupL1(1.0, blocks=((0, 1), (2,)), weights=[1.0, 0.0])


def test_without_the_constraint_total_variation_has_the_same_answers() -> None:
    X, y, _ = make_additive_steps(400, 2, random_state=2)
    design = binned(Binner(10, encoding="onehot").fit(X), X)
    one = fit_proximal(design, y, penalty=maker("binarsity", design)(0.3), tol=1e-9)
    other = fit_proximal(design, y, penalty=maker("tv", design)(0.3), tol=1e-9)
    assert isinstance(maker("binarsity", design)(1.0), Binarsity)
    assert isinstance(maker("tv", design)(1.0), WeightedTV)
    assert one.objective == pytest.approx(other.objective, abs=1e-8)
    np.testing.assert_allclose(
        design.matvec(one.coefficients) + one.intercept,
        design.matvec(other.coefficients) + other.intercept,
        atol=1e-3,
    )


def test_the_chosen_model_has_the_least_validation_loss() -> None:
    X, y, _ = make_additive_steps(600, 2, random_state=4)
    binner, labels = Binner(10, encoding="onehot").fit(X[:300]), y.to_numpy()
    train, other = ((binned(binner, X[p]), labels[p]) for p in (slice(300), slice(300, 600)))
    for method in METHODS:
        found = choose(method, train, other, SHORT)
        assert found.gap <= SHORT.tol

        models = [
            fit_proximal(*train, penalty=maker(method, train[0])(lam), tol=1e-4, max_iter=5000)
            for lam in (found.lam, 100.0)
        ]
        signs, X_other = 2 * other[1] - 1, other[0]
        chosen, null = (
            np.log1p(np.exp(-signs * (X_other.matvec(m.coefficients) + m.intercept))).mean()
            for m in models
        )
        assert chosen < null
        np.testing.assert_allclose(
            X_other.matvec(found.coefficients) + found.intercept,
            X_other.matvec(models[0].coefficients) + models[0].intercept,
            atol=0.1,
        )


def test_matched_counts_what_is_near() -> None:
    assert matched(np.array([10, 20]), np.array([9, 30]), 1) == {"recall": 0.5, "precision": 0.5}
    assert matched(np.array([10]), np.array([]), 1) == {"recall": 0.0, "precision": None}
    assert count_jumps(np.array([1.0, 1, 2, 5, 5]), ((0, 1, 2), (3, 4))) == 1


def test_means_leave_out_what_is_missing() -> None:
    runs = pd.DataFrame({"run": [0, 1, 2], "m": ["a", "a", "b"], "x": [1.0, np.nan, 4.0]})
    table = means_of(runs, ["m"], ["x"])
    assert table["x"].tolist() == [1.0, 4.0]
    assert table["runs"].tolist() == [2, 1]


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


def test_toys_resume_and_run_in_parallel(tmp_path: Path, toys: Finding) -> None:
    file = tmp_path / "toys.sqlite"
    BinarsityToys(**SMALL).run(1, out=file)
    found = BinarsityToys(**SMALL).run(2, out=file, n_jobs=2)
    pd.testing.assert_frame_equal(found.runs, toys.runs)
    with pytest.raises(OptionError, match="n_bins=20"):
        BinarsityToys(**{**SMALL, "n_bins": 21}).run(2, out=file)


def test_toys_done_are_not_done_again(
    tmp_path: Path, toys: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "toys.sqlite"
    BinarsityToys(**SMALL).run(1, out=file)
    monkeypatch.setattr(BinarsityToys, "_steps", None)
    kept = BinarsityToys(**SMALL).run(1, out=file)
    pd.testing.assert_frame_equal(kept.runs, toys.runs[toys.runs["run"] == 0])
    with pytest.raises(StudyError, match="1 of 2 runs failed"):
        BinarsityToys(**SMALL).run(2, out=file)


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


def test_comparison_resumes(tmp_path: Path, comparison: Finding) -> None:
    file = tmp_path / "comparison.sqlite"
    BinarsityComparison(**GIVEN).run(1, out=file)
    found = BinarsityComparison(**GIVEN).run(2, out=file)
    pd.testing.assert_frame_equal(
        found.runs.drop(columns="seconds"), comparison.runs.drop(columns="seconds")
    )


def test_comparison_leaves_absent_sets_out_and_says_so(tmp_path: Path) -> None:
    found = BinarsityComparison(
        data=str(tmp_path), sets=("adult", "wdbc"), sizes=(), n_bins=2, options=QUICK
    ).run(1)
    assert found.sets["set"].tolist() == ["wdbc"]
    assert found.notes["about"].tolist() == ["adult"]
    assert "adult.csv" in found.notes.loc[0, "note"]
    assert found.summary.loc[0, "accuracy"] > 0.85
    with pytest.raises(OptionError, match="no set"):
        BinarsityComparison(data=str(tmp_path), sets=("adult",), sizes=()).run(1)


def test_the_risk_falls_as_the_rows_grow() -> None:
    found = BinarsityRate(sizes=(200, 3200), n_bins=10, options=SHORT).run(1)
    risk = found.summary.pivot(index="n", columns="method", values="risk")
    assert (risk.loc[3200] < 0.4 * risk.loc[200]).all()
    assert (risk > 0).all(axis=None)
    rates = found.rates.set_index("method")["slope"]
    assert rates["lasso"] == pytest.approx(np.log(risk["lasso"]).diff().iloc[1] / np.log(16))
    share = found.summary.set_index(["n", "method"])["share"]
    assert share[3200, "ridge"] == pytest.approx(risk.loc[3200, "ridge"] * 3200 / (6 * np.log(20)))


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


def test_mushrooms_have_their_features(uci: Callable[[str], tuple[Any, Any]]) -> None:
    X, _ = uci("mushroom")
    found = joined(X)
    assert found.shape == (8124, 21)
    assert "other" not in set(found["odor"])


def test_figures_show_the_findings(toys: Finding, comparison: Finding) -> None:
    signal, first, _ = BinarsityToys().draw(toys).axes
    labels = [text.get_text() for text in signal.get_legend().get_texts()]
    assert labels == ["noisy", "truth", "TV", "weighted TV"]
    assert len(first.lines) == 2  # one for each true threshold
    accuracy, area, seconds = BinarsityComparison().draw(comparison).axes
    assert len(area.containers) == 9
    drawn = np.asarray(accuracy.containers[0].lines[0].get_xdata(), dtype=float)
    own = comparison.summary[comparison.summary["method"] == "binarsity"]
    np.testing.assert_allclose(drawn, own["accuracy"])
    assert seconds.get_xscale() == "log"
    plt.close("all")
