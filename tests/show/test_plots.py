"""Figures show the numbers they are given, on the Axes they are given."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

import milpscore
from milpscore.comparison import Comparison
from milpscore.comparison.answers import KINDS
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.result import Claim, Result, Termination, TracePoint
from milpscore.data import Binner, make_planted_score
from milpscore_show import plots
from milpscore_show.plots.drawing import PALETTE, wrapped


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def answer() -> Comparison:
    X, y, _ = make_planted_score(60, 5, n_terms=2, random_state=1)
    return milpscore.compare(
        X,
        y,
        binner=Binner(3, encoding="onehot"),
        formulations=["slim", "fused_lasso"],
        cv=None,
        time_limit=300,
    )


def solved(**changes: Any) -> Result:
    fields: dict[str, Any] = {
        "formulation": "slim", "kind": "exact", "claim": Claim.GAP, "verified": True,
        "termination": Termination.TIME_LIMIT,
        "objective": 0.2, "dual_bound": 0.15, "solve_seconds": 4.0,
        "coefficients": np.array([0.0, -3.0, 2.0]),
        "trace": (
            TracePoint(0.5, float("inf"), float("-inf"), 0),
            TracePoint(1.0, 0.4, 0.1, 1),
            TracePoint(2.0, 0.25, 0.1, 5),
        ),
    }  # fmt: skip
    return Result(**(fields | changes))


def test_bounds_over_time_draws_the_trace_to_its_end() -> None:
    _, ax = plt.subplots()
    assert plots.bounds_over_time(solved(), ax) is ax
    best, bound = ax.lines[0], ax.lines[1]
    assert best.get_xdata().tolist() == [0.5, 1.0, 2.0, 4.0]
    assert best.get_ydata()[1:].tolist() == [0.4, 0.25, 0.2]
    assert np.isnan(best.get_ydata()[0])
    assert bound.get_ydata()[1:].tolist() == [0.1, 0.1, 0.15]
    assert bound.get_linestyle() == "--"
    assert ax.get_xlabel() == "seconds of solving"
    assert ax.get_ylabel() == "objective"


def test_bounds_over_time_of_a_comparison(answer: Comparison) -> None:
    ax = plots.bounds_over_time(answer)
    assert isinstance(ax, Axes)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[0].startswith("slim (")
    assert texts[1].startswith("fused lasso (")
    assert {"LP bound", "randomised rounding", "nearest rounding"} <= set(texts)
    levels = {round(float(v), 9) for line in ax.lines for v in line.get_ydata()}
    for result in answer.results.values():
        assert (
            round(result.dual_bound if result.kind == "relaxed" else result.objective, 9) in levels
        )


def test_formulations_differ_in_colour(answer: Comparison) -> None:
    ax = plots.bounds_over_time(answer)
    slim, fused = (handle.get_color() for handle in ax.get_legend().legend_handles[:2])
    assert slim != fused


def test_coefficients_are_bars_side_by_side(answer: Comparison) -> None:
    _, ax = plt.subplots()
    assert plots.coefficients(answer, ax, formulation="fused-lasso", max_columns=99) is ax
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    names, results = answer.names, answer.results
    shown = [names.index(label) for label in labels]
    assert shown == sorted(shown)
    for bars, kind in zip(ax.containers, KINDS, strict=True):
        w = results["fused_lasso", kind].coefficients
        assert [bar.get_width() for bar in bars] == w[shown].tolist()
        hidden = np.delete(w, shown)
        assert np.allclose(hidden, 0)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == list(KINDS)


def test_only_the_largest_columns_are_drawn() -> None:
    result = solved(coefficients=np.array([1.0, -3.0, 2.0, 0.0]))
    ax = plots.coefficients(result, names=("a", "b", "c", "d"), max_columns=2)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b", "c"]
    assert "1 smaller ones not shown" in ax.get_xlabel()


def test_a_card_without_terms_can_be_drawn() -> None:
    ax = plots.coefficients(solved(coefficients=np.zeros(3)))
    assert ax.get_yticklabels() == []
    assert [text.get_text() for text in ax.texts] == ["no column has points"]
    assert ax.get_legend() is None


def test_one_figure_with_both(answer: Comparison, tmp_path: Any) -> None:
    figure = plots.comparison_figure(answer)
    titles = [ax.get_title(loc="left") for part in figure.subfigs for ax in part.axes]
    assert titles == [
        "Best card and proven bound", "slim: coefficients", "fused lasso: coefficients",
    ]  # fmt: skip
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_nothing_to_draw_says_what_to_do(answer: Comparison) -> None:
    with pytest.raises(NotApplicableError, match=r"compare"):
        plots.bounds_over_time(Comparison(pd.DataFrame({"objective": [1.0]})))
    with pytest.raises(NotApplicableError, match="hinge"):
        plots.coefficients(answer, formulation="hinge")
    nothing = solved(objective=float("nan"), dual_bound=float("-inf"), trace=())
    with pytest.raises(NotApplicableError, match="raise the time limit"):
        plots.bounds_over_time(nothing)


def test_calibration_draws_the_table() -> None:
    table = pd.DataFrame(
        {
            "total": [0.0, 1.0, 3.0], "risk": [0.2, 0.5, 0.9], "observed": [0.1, 0.6, 1.0],
            "lower": [0.0, 0.4, 0.7], "upper": [0.3, 0.8, 1.0], "rows": [10, 40, 5],
        }
    )  # fmt: skip
    _, ax = plt.subplots()
    assert plots.calibration(table, ax, title="held out") is ax
    risk = next(line for line in ax.lines if "risk" in str(line.get_label()))
    assert risk.get_xydata().tolist() == [[0.0, 0.2], [1.0, 0.5], [3.0, 0.9]]
    points = ax.collections[-1]
    assert np.asarray(points.get_offsets()).tolist() == [[0.0, 0.1], [1.0, 0.6], [3.0, 1.0]]
    areas = points.get_sizes()
    assert areas[1] > areas[0] > areas[2]
    bars = ax.collections[0].get_segments()
    np.testing.assert_allclose([bar[:, 1] for bar in bars], [[0, 0.3], [0.4, 0.8], [0.7, 1.0]])
    assert ax.get_title(loc="left") == "held out"


def test_calibration_without_risks_has_no_line() -> None:
    from milpscore.scorecard import Scorecard, calibration_table

    card = Scorecard((), (), Fraction(0))
    ax = plots.calibration(calibration_table(card, [0.0, 0.0], [True, False]))
    assert not [line for line in ax.lines if "risk" in str(line.get_label())]
    assert np.asarray(ax.collections[-1].get_offsets()).tolist() == [[0.0, 0.5]]
    with pytest.raises(NotApplicableError, match="lacks lower, observed"):
        plots.calibration(pd.DataFrame({"total": [1.0], "risk": [0.5], "rows": [3]}))


labels = np.array([0, 0, 1, 0, 1, 1, 0, 1])
totals = np.array([0, 1, 1, 2, 3, 3, 3, 5])
weight = np.array([1, 2, 1, 1, 3, 1, 1, 2])


def test_the_roc_curve_goes_through_every_threshold() -> None:
    _, ax = plt.subplots()
    assert plots.roc_curve(labels, totals, ax, weight=weight, threshold=2, label="card") is ax
    chance, curve, mark = ax.lines
    assert chance.get_xydata().tolist() == [[0, 0], [1, 1]]
    rates = [
        [
            weight[(totals >= cut) & (labels == side)].sum() / weight[labels == side].sum()
            for side in (0, 1)
        ]
        for cut in (9, 5, 3, 2, 1, 0)
    ]
    np.testing.assert_allclose(curve.get_xydata(), rates)
    np.testing.assert_allclose(mark.get_xydata()[0], rates[3])
    area = milpscore.metrics.auc(labels, totals, weight)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [f"card: area {area:.3f}"]
    plots.roc_curve(labels, -totals, ax)
    assert len(ax.lines) == 4  # one line of chance for all
    with pytest.raises(DataError, match="both classes"):
        plots.roc_curve([1, 1], [0, 1], ax)


def test_a_decision_curve_is_the_net_benefit_of_acting() -> None:
    risk = np.array([0.05, 0.1, 0.1, 0.3, 0.6, 0.6, 0.6, 0.9])
    ax = plots.decision_curve(labels, risk, weight=weight, label="card")
    nobody, own, every = ax.lines
    assert not np.any(nobody.get_ydata())
    for t, shown, all_of_them in zip(
        own.get_xdata(), own.get_ydata(), every.get_ydata(), strict=True
    ):
        for acted, value in ((risk >= t, shown), (risk >= 0, all_of_them)):
            true, false = (weight[acted & (labels == side)].sum() for side in (1, 0))
            assert value == pytest.approx((true - false * t / (1 - t)) / weight.sum())
    assert len(ax.get_legend().get_texts()) == 3


def test_bars_of_totals_hold_every_row() -> None:
    ax = plots.totals_by_class(labels, totals, threshold=2, labels=("well", "ill"))
    up, down = ([bar.get_height() for bar in bars] for bars in ax.containers)
    assert up == [0, 1, 0, 2, 0, 1]
    assert down == [-1, -1, -1, -1, 0, 0]
    assert ax.lines[-1].get_xdata()[0] == 1.5
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["threshold", "ill", "well"]
    many = np.random.default_rng(0).normal(0, 50, 60)
    ax = plots.totals_by_class(many > 0, many, plt.figure().subplots(), threshold=3.3, labels=None)
    assert sum(bar.get_height() for bar in ax.containers[0]) == (many > 0).sum()
    edges = np.array([bar.get_x() + bar.get_width() / 2 for bar in ax.containers[0]])
    steps = (edges - 3.3) / np.diff(edges).mean()
    assert np.allclose(steps - 0.5, np.rint(steps - 0.5), atol=1e-6)
    assert len(edges) <= 42


def test_names_are_never_cut() -> None:
    name = "average number of cigarettes a day over the last ten years, as told by the patient"
    assert wrapped(name).replace("\n", " ") == name
    assert max(map(len, wrapped(name).split("\n"))) <= 34
    assert wrapped("a" * 60) == "a" * 60
    ax = plots.coefficients(solved(coefficients=np.array([3.0])), names=(name,))
    assert ax.get_yticklabels()[0].get_text() == wrapped(name)


def test_one_palette_in_the_style_and_in_the_code() -> None:
    with plt.style.context("milpscore_show.plots.style"):
        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
    assert tuple(cycle) == PALETTE or tuple(f"#{c}" for c in cycle) == PALETTE


def test_every_function_draws_in_the_one_style() -> None:
    for name in plots.__all__:
        assert hasattr(getattr(plots, name), "__wrapped__"), name
