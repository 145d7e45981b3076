"""The ternary paper's figures on small data: order, repeatability, shape, pictures, commands."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from experiments.runner import Finding
from experiments.ternary.figures import METHODS, TernaryFigures
from milpscore.data import make_ternary

SMALL = {"n_samples": 16, "n_features": 6, "n_draws": 20, "n_restarts": 3}
GAMMAS = (0.1, 1.0, 5.0, 20.0, 200.0)


@pytest.fixture(scope="module")
def found() -> Finding:
    return TernaryFigures(gammas=GAMMAS, random_state=1, **SMALL).run(3)


@pytest.fixture(scope="module")
def wide() -> Finding:
    """More features than rows, as in the paper: what its figures show is there to be seen."""
    return TernaryFigures(
        gammas=(0.1, 1.0, 20.0, 100.0), n_samples=12, n_features=24, node_limit=200
    ).run(2)


def by_method(found: Finding, column: str) -> pd.DataFrame:
    return found.runs.pivot_table(index=["run", "gamma"], columns="method", values=column)


def test_relaxed_exact_and_rounded_are_in_order(found: Finding, wide: Finding) -> None:
    for each in (found, wide):
        assert each.runs["in_order"].all()
        table = by_method(each, "objective")
        bound = each.runs.groupby(["run", "gamma"])["bound"].first()
        assert (table["relaxed"] <= bound + 1e-7).all()
        assert (bound <= table["exact"] + 1e-7).all()
        for method in set(METHODS) - {"relaxed", "exact"}:
            assert (table["exact"] <= table[method] + 1e-7).all(), method
    # and it is no empty claim: rounding costs something, and so do whole weights
    table = by_method(found, "objective")
    assert (table["draw"] > table["exact"] + 1e-3).any()
    assert (table["exact"] > table["relaxed"] + 1e-3).any()


def test_the_exact_program_is_the_best_of_all_cards(found: Finding) -> None:
    cards = np.array(list(itertools.product((-1, 0, 1), repeat=6)))
    for run in range(3):
        drawing, _ = np.random.SeedSequence([1, run]).spawn(2)
        X, y, _ = make_ternary(16, 6, random_state=drawing)
        signed = np.where(np.asarray(y) == 1, 1, -1)[:, None] * (X.to_numpy() @ cards.T)
        for gamma in GAMMAS:
            least = np.maximum(0, gamma - signed).mean(axis=0).min() / gamma
            row = found.runs.query("run == @run and gamma == @gamma and method == 'exact'").iloc[0]
            assert row["claim"] == "optimal"
            assert row["objective"] == pytest.approx(least, abs=1e-9)
