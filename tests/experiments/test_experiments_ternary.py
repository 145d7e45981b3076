"""The ternary paper's figures on small data: order, repeatability, shape, pictures, commands."""

from __future__ import annotations

import itertools
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from experiments.runner import Finding
from experiments.ternary.figures import METHODS, TernaryFigures, in_order
from experiments.ternary.shape import BINARY, count_binary
from milpscore.core.errors import OptionError
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


def test_what_is_out_of_order_is_called_so() -> None:
    fine = dict.fromkeys(METHODS, 0.5) | {"relaxed": 0.3, "exact": 0.4}
    assert in_order(fine, 0.35)
    assert not in_order(fine, 0.45)
    assert not in_order(fine, 0.25)
    assert not in_order(fine | {"nearest": 0.39}, 0.35)


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


def test_errors_are_of_the_training_rows(found: Finding) -> None:
    drawing, _ = np.random.SeedSequence([1, 0]).spawn(2)
    X, y, _ = make_ternary(16, 6, random_state=drawing)
    c = found.weights[0, 1, 0].reshape(-1, 2)
    wrong = (X.to_numpy() @ (c[:, 0] - c[:, 1]) >= 0) != (np.asarray(y) == 1)
    assert by_method(found, "error").loc[(0, GAMMAS[1]), "relaxed"] == pytest.approx(wrong.mean())


def test_the_same_runs_resumed(tmp_path: Path, found: Finding) -> None:
    file = tmp_path / "runs.sqlite"
    TernaryFigures(gammas=GAMMAS, random_state=1, **SMALL).run(1, out=file)
    resumed = TernaryFigures(gammas=GAMMAS[::-1], random_state=1, **SMALL).run(3, out=file)
    for name in ("runs", "binary", "summary", "objectives", "proofs", "shape"):
        pd.testing.assert_frame_equal(getattr(resumed, name), getattr(found, name))
    np.testing.assert_array_equal(resumed.weights, found.weights)
    with pytest.raises(OptionError, match=r"n_draws=20 \(now 21\)"):
        TernaryFigures(gammas=GAMMAS, random_state=1, **(SMALL | {"n_draws": 21})).run(3, out=file)


def test_tables_are_means_over_the_runs(found: Finding) -> None:
    errors = by_method(found, "error").groupby("gamma").mean()
    np.testing.assert_allclose(found.summary[list(METHODS)], errors[list(METHODS)])
    losses = by_method(found, "objective").groupby("gamma").mean()
    np.testing.assert_allclose(found.objectives[list(METHODS)], losses[list(METHODS)])
    np.testing.assert_allclose(found.proofs["exact"], losses["exact"])
    assert (found.proofs["bound"] <= found.proofs["exact"] + 1e-7).all()
    assert (found.proofs["proved"] == 3).all()
    assert (found.proofs["in_order"] == 3).all()
    assert (found.binary["dimension"] == 12).all()
    counts = [count_binary(run[2, 0], BINARY["vertex"]) for run in found.weights]
    assert found.binary.loc[2, "vertex"] == np.mean(counts)
    assert found.binary.loc[2, "least_vertex"] == min(counts)


def test_a_vertex_has_as_few_fractions_as_rows(wide: Finding) -> None:
    assert (wide.binary["least_vertex"] >= 48 - 12).all()
    assert (wide.binary["vertex"] >= wide.binary["interior"]).all()


def test_the_figures_have_the_shape_of_the_papers(wide: Finding) -> None:
    assert wide.binary["interior"].is_monotonic_increasing
    assert wide.binary["interior"].iloc[-1] == 48
    table = wide.shape
    assert set(table["reproduced"]) <= {"yes", "no"}
    verdicts = table.set_index("statement")["reproduced"]
    for statement in (
        "as the margin grows, nearly all weights become binary (interior)",
        "all are binary where it is large enough (interior)",
        "most of the first 20 lie between 0 and 1 at low margins (interior)",
        "at low margins randomised rounding adds a huge error (interior)",
        "the mean loss of draws is at most the optimum + X_1/(2 gamma)",
    ):
        assert verdicts[statement] == "yes", statement
    # a simplex answers a vertex, where few weights are fractions at any margin
    assert verdicts["most of the first 20 lie between 0 and 1 at low margins (vertex)"] == "no"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gammas": (0.0, 1.0)}, "gammas must be finite positive"),
        ({"gammas": ()}, "gammas"),
        ({"n_draws": 0}, "n_draws=0"),
        ({"n_restarts": 0}, "n_restarts=0"),
    ],
)
def test_bad_settings_are_refused_at_once(settings: dict[str, object], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        TernaryFigures(**settings)  # type: ignore[arg-type]


def test_the_picture_has_four_panels(found: Finding) -> None:
    panels = TernaryFigures().draw(found).axes
    assert len(panels) == 4
    assert all(panel.get_xscale() == "log" for panel in panels)
    interior, vertex = panels[0].lines[:2]
    np.testing.assert_array_equal(interior.get_ydata(), found.binary["interior"])
    np.testing.assert_array_equal(vertex.get_ydata(), found.binary["vertex"])
    np.testing.assert_array_equal(panels[1].lines[3].get_ydata(), found.weights[0, :, 1, 3])
    for panel in panels[2:]:
        lines = {line.get_label(): line for line in panel.lines}
        np.testing.assert_array_equal(lines["exact program"].get_ydata(), found.summary["exact"])
    assert panels[2].get_ylim() == panels[3].get_ylim()
    plt.close("all")
