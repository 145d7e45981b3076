"""The Facets paper's Table 2 and Figure 3 on small sets; its null models on the UCI sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from experiments.facets.grid import (
    ALPHAS,
    BETAS,
    PAPER,
    FacetsFigure3,
    FacetsTable2,
    counts_of,
)
from experiments.runner import Finding
from milpscore.core.errors import DataError, OptionError

AXES: dict[str, Any] = {"alphas": (1.0, 0.2, 0.05, 0.01), "betas": (0.01, 0.3, 3.0, 30.0, 300.0)}
SMALL: dict[str, Any] = {**AXES, "folds": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small sets under names of the paper's."""
    where = tmp_path_factory.mktemp("sets")
    for seed, name in enumerate(("mammo", "haberman")):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 4, (60, 4)).astype(float)
        chance = 1 / (1 + np.exp(-(2 * X[:, 0] - X[:, 1] - 1.5)))
        table = pd.DataFrame(X, columns=list("abcd"))
        table.insert(0, "label", (rng.random(60) < chance).astype(int))
        table.to_csv(where / f"{name}.csv", index=False)
    return where


@pytest.fixture(scope="module")
def table(folder: Path) -> Finding:
    return FacetsTable2(data=str(folder), **SMALL).run(2)


@pytest.fixture(scope="module")
def figure(folder: Path) -> Finding:
    return FacetsFigure3(data=str(folder), **SMALL).run()


def standardised(path: Path) -> tuple[Any, Any]:
    frame = pd.read_csv(path)
    X = frame.iloc[:, 1:].to_numpy(dtype=float)
    return (X - X.mean(axis=0)) / X.std(axis=0), frame.iloc[:, 0].to_numpy()


def null_rows(X: Any, y: Any, alphas: Any) -> int:
    """Rows of the grid that are null: alpha against the gradient where only an intercept is."""
    Z = np.asarray(X, dtype=float)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    top = np.abs(Z.T @ (y - y.mean())).max() / len(y)
    return int((np.asarray(alphas) >= top).sum())


@pytest.mark.parametrize("name", sorted(PAPER))
def test_the_default_axis_has_the_papers_null_models(
    name: str, uci: Callable[[str], tuple[Any, Any]]
) -> None:
    X, y = uci(name)
    assert len(ALPHAS) * len(BETAS) == 2400
    assert 100 * null_rows(X, y, ALPHAS) == PAPER[name][0]


def test_the_counts_of_a_grid() -> None:
    grid = {
        "null": np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]),
        "integral": np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]),
        "cv_accuracy": np.array([[0.5, 0.5], [0.801, 0.804], [0.804, 0.7]]),
        "gap": np.full((3, 2), 1e-9),
    }
    found = counts_of(grid)
    assert (found["null"], found["integral"], found["optimal"]) == (2, 3, 1)
    assert found["accuracy"] == found["integral_accuracy"] == 0.804
    # the best of the integral ones counts, not the best of all
    better = counts_of(grid | {"integral": np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])})
    assert (better["optimal"], better["integral_accuracy"], better["accuracy"]) == (1, 0.801, 0.804)
    # a repetition that fitted integral models alone tells nothing of the best of all
    held = np.where(grid["integral"] > 0, grid["cv_accuracy"], np.nan)
    partly = counts_of(grid | {"cv_accuracy": held})
    assert partly["optimal"] == 1
    assert np.isnan(partly["accuracy"])
    nothing = counts_of(grid | {"integral": np.zeros((3, 2))})
    assert nothing["optimal"] == 0
    assert np.isnan(nothing["integral_accuracy"])


def test_models_are_null_and_whole_where_they_must_be(folder: Path, figure: Finding) -> None:
    Z, y = standardised(folder / "mammo.csv")
    assert figure.data == "mammo"
    assert figure.features == ("a", "b", "c", "d")
    null = figure.runs["null"].to_numpy().reshape(4, 5)
    assert null.all(axis=1).sum() == null_rows(Z, y, AXES["alphas"]) > 0
    np.testing.assert_array_equal(null, (figure.coefficients == 0).all(axis=2))
    whole = (np.abs(figure.coefficients - figure.coefficients.round()) <= 1e-6).all(axis=2)
    integral = figure.runs["integral"].to_numpy().reshape(4, 5)
    np.testing.assert_array_equal(integral, whole & ~null)
    assert 0 < integral.sum() < (~null).sum()
    assert figure.runs["integrity"].between(0, 1).all()
    assert (figure.runs["gamma"] == figure.runs["alpha"] / figure.runs["beta"]).all()
    assert (figure.runs["lam"] == figure.runs["alpha"] * figure.runs["gamma"]).all()


def test_models_meet_the_optimality_conditions(folder: Path, figure: Finding) -> None:
    """Minus the gradient lies in the subdifferential of strongly convex Facets, written out."""
    Z, y = standardised(folder / "mammo.csv")
    sign, eps = np.where(y == 1, 1.0, -1.0), 0.01
    for i, j in ((2, 0), (2, 2), (3, 1), (3, 3)):
        gamma, alpha = figure.alphas[i] / figure.betas[j], figure.alphas[i]
        u = figure.coefficients[i, j]
        base = Z @ (u * gamma)  # and no intercept
        pull = Z.T @ (sign / (1 + np.exp(sign * base))) / 60 / alpha
        size = np.abs(u)
        near = np.where(np.abs(size - size.round()) < 1e-6, size.round(), size)
        low = (1 - eps) * np.ceil(near) + eps * (1 + near)
        high = (1 - eps) * (np.floor(near) + 1) + eps * (1 + near)
        low = np.where(near == 0, -1.0, low)
        along = np.where(near == 0, pull, np.sign(u) * pull)
        assert (along >= low - 1e-2).all()
        assert (along <= high + 1e-2).all()


def test_held_out_accuracies_are_means_over_stratified_folds(folder: Path, figure: Finding) -> None:
    """Null models have a tie in every row, which is positive; with an intercept they answer it."""
    _, y = standardised(folder / "mammo.csv")
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(y[:, None], y))
    first = figure.runs[figure.runs["alpha"] == 1.0]
    assert first["null"].all()
    np.testing.assert_allclose(first["cv_accuracy"], np.mean([y[test].mean() for _, test in folds]))
    shares = [(y[test] == (y[train].mean() >= 0.5)).mean() for train, test in folds]
    assert figure.runs["cv_accuracy"].max() > np.mean(shares)
    free = FacetsFigure3(
        data=str(folder), alphas=(1.0,), betas=(0.3,), folds=3, intercept="real"
    ).run()
    np.testing.assert_allclose(free.runs["cv_accuracy"], np.mean(shares))


def test_later_repetitions_hold_out_integral_models_alone(table: Finding) -> None:
    later = table.runs[table.runs["run"] == 1].set_index("set")
    first = table.runs[table.runs["run"] == 0].set_index("set")
    assert later["accuracy"].isna().all()
    assert (later["integral_accuracy"] > 0.5).all()
    assert table.summary.set_index("set")["accuracy"].to_dict() == first["accuracy"].to_dict()


def test_sets_that_are_missing_are_left_out_and_named(table: Finding) -> None:
    assert table.summary["set"].tolist() == ["haberman", "mammo", "wdbc"]
    notes = table.notes.groupby("about")["note"].agg(" ".join)
    for name in ("adult", "bankruptcy", "breastcancer", "mushroom"):
        assert f"left out: there is no {name}.csv" in notes[name]


def test_the_table_lays_counts_beside_the_print(table: Finding) -> None:
    rows = table.summary.set_index("set")
    assert rows.loc["mammo", "paper_null"] == 500
    assert rows.loc["mammo", "paper_optimal"] == 23
    assert rows.loc["wdbc", ["paper_null", "paper_integral", "paper_optimal"]].isna().all()
    means = table.runs.groupby("set")["optimal"].mean()
    assert rows["optimal"].to_dict() == means.to_dict()
    assert (rows["grid_points"] == 20).all()
    assert (rows["integral_accuracy"] <= rows["accuracy"] + 1e-12).all()
    assert (table.runs["gap"] <= 1e-6).all()
    bundled = load_breast_cancer()
    assert rows.loc["wdbc", "null"] == 5 * null_rows(bundled.data, bundled.target, AXES["alphas"])
    # other folds, the same models
    per_run = table.runs.pivot(index="set", columns="run", values="integral")
    assert (per_run[0] == per_run[1]).all()


def test_the_same_rows_resumed(tmp_path: Path, folder: Path, figure: Finding) -> None:
    file = tmp_path / "rows.sqlite"
    FacetsFigure3(data=str(folder), **SMALL).run(1, out=file)
    before = file.read_bytes()
    resumed = FacetsFigure3(data=str(folder), **SMALL).run(1, out=file)
    assert file.read_bytes() == before
    pd.testing.assert_frame_equal(resumed.runs, figure.runs)
    pd.testing.assert_frame_equal(resumed.summary, figure.summary)
    np.testing.assert_array_equal(resumed.coefficients, figure.coefficients)
    with pytest.raises(OptionError, match=r"eps=0.01 \(now 0.02\)"):
        FacetsFigure3(data=str(folder), eps=0.02, **SMALL).run(1, out=file)


def test_a_set_stands_in_for_mammo_only_where_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MILPSCORE_DATA", raising=False)
    found = FacetsFigure3(alphas=(0.1,), betas=(0.1, 10.0), folds=2).run()
    assert found.data == "wdbc"
    assert "wdbc is shown in its place" in found.notes["note"].iloc[0]
    with pytest.raises(DataError, match=r"no mammo\.csv .* data_set='wdbc'"):
        FacetsFigure3(data=str(tmp_path), data_set="mammo").run()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alphas": (-1.0,)}, "alphas must be"),
        ({"betas": ()}, "betas must be"),
        ({"eps": 0.0}, "eps"),
    ],
)
def test_bad_settings_are_refused_at_once(
    folder: Path, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(OptionError, match=words):
        FacetsTable2(data=str(folder), **settings)


def test_the_pictures(table: Finding, figure: Finding) -> None:
    counts = FacetsTable2().draw(table).axes
    assert [panel.get_title(loc="left") for panel in counts] == [
        "null models", "integral models", "optimal models"
    ]  # fmt: skip
    np.testing.assert_array_equal(counts[1].lines[0].get_xdata(), table.summary["integral"])

    panels = FacetsFigure3().draw(figure).axes
    for panel, column in zip(panels[:2], ("cv_accuracy", "cv_integrity"), strict=True):
        drawn = panel.collections[0].get_array()
        # alpha rises in the picture
        values = figure.runs[column].to_numpy().reshape(4, 5)[::-1]
        null = figure.runs["null"].to_numpy().reshape(4, 5)[::-1]
        np.testing.assert_array_equal(np.ma.getmaskarray(drawn), null)
        np.testing.assert_allclose(drawn[~null], values[~null])
    assert len(panels[2].lines) == 4
    row = next(i for i, a in enumerate(figure.alphas) if f"{a:.3g}" in panels[2].get_title("left"))
    np.testing.assert_array_equal(panels[2].lines[1].get_ydata(), figure.coefficients[row, :, 1])
    plt.close("all")
