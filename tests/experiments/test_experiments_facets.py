"""The Facets paper's Table 2 and Figure 3 on small sets; its null models on the UCI sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.facets.grid import (
    ALPHAS,
    BETAS,
    PAPER,
    FacetsFigure3,
    FacetsTable2,
    counts_of,
)
from experiments.runner import Finding

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
