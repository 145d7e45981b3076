"""Performance profiles by their definition, and gap integrals by hand."""

from __future__ import annotations

import math

import matplotlib as mpl
import numpy as np
import pytest

from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.core.result import Claim, Result, Termination, TracePoint
from milpscore_study import bound_curves, data_profile, performance_profile

mpl.use("Agg")

TIMES = {"a": [1.0, 4.0, math.inf, math.inf], "b": [2.0, 4.0, 3.0, math.nan]}


def test_shares_are_those_of_the_definition() -> None:
    # ratios: a 1, 1, inf, inf; b 2, 1, 1, inf (the last problem is nobody's)
    profile = performance_profile(TIMES)
    assert profile.index.tolist() == [1.0, 2.0]
    assert profile["a"].tolist() == [0.5, 0.5]
    assert profile["b"].tolist() == [0.5, 0.75]


def test_shares_at_given_ratios_agree_with_counting() -> None:
    rng = np.random.default_rng(0)
    times = np.where(rng.random((30, 3)) < 0.2, np.inf, rng.integers(1, 9, size=(30, 3)))
    taus = [1.0, 1.5, 3.0]
    profile = performance_profile(dict(zip("abc", times.T, strict=True)), taus)
    for s, name in enumerate("abc"):
        for tau in taus:
            counted = sum(row[s] <= tau * min(row) < math.inf for row in times.tolist())
            assert profile.loc[tau, name] == pytest.approx(counted / 30)


def test_data_profile_counts_within_budgets_and_units() -> None:
    assert data_profile(TIMES, [1, 3, 5])["b"].tolist() == [0.0, 0.5, 0.75]
    halved = data_profile(TIMES, [1, 3, 5], unit=[2, 2, 2, 2])
    assert halved["b"].tolist() == [0.25, 0.75, 0.75]


@pytest.mark.parametrize("times", [{}, {"a": [0.0]}, {"a": [-1.0]}])
def test_costs_that_have_no_ratio_are_refused(times: dict[str, list[float]]) -> None:
    with pytest.raises(DataError):
        performance_profile(times)


def test_ratios_below_one_are_refused() -> None:
    with pytest.raises(DataError, match="from 1 on"):
        performance_profile(TIMES, [0.5])
    with pytest.raises(DataError, match="unit must hold 4"):
        data_profile(TIMES, unit=[1.0])


def solve_like(
    points: list[tuple[float, float, float]], seconds: float, *, verified: bool = True
) -> Result:
    """A result whose trace is ``points``: seconds, objective, bound; the last one is the answer."""
    trace = tuple(TracePoint(t, objective, bound, 0) for t, objective, bound in points)
    _, objective, bound = points[-1]
    return Result(
        formulation="slim", kind="exact", claim=Claim.GAP, termination=Termination.TIME_LIMIT,
        verified=verified, objective=objective,
        dual_bound=bound, solve_seconds=seconds, trace=trace,
    )  # fmt: skip


def test_integrals_are_those_computed_by_hand() -> None:
    # f* = 0.2; the card 0.4 comes at 1 s, 0.2 at 3 s; the bound is 0, 0.1 from 2 s on; T = 4 s
    points = [(1.0, 0.4, 0.0), (2.0, 0.4, 0.1), (3.0, 0.2, 0.1)]
    found = bound_curves({("set", "slim", 0): solve_like(points, 4.0)}).runs.iloc[0]
    assert found["primal_integral"] == pytest.approx(1 * 1 + 2 * 0.5 + 1 * 0)
    assert found["dual_integral"] == pytest.approx(1 + 1 * 1 + 2 * 0.5)
    assert found["gap_integral"] == pytest.approx(1 + 1 * 1 + 1 * 0.75 + 1 * 0.5)


def test_a_solve_that_ends_early_keeps_its_answer() -> None:
    results = {
        ("set", "quick", 0): solve_like([(0.5, 0.2, 0.2)], 0.5),
        ("set", "slow", 0): solve_like([(8.0, 0.2, 0.2)], 10.0),
    }
    runs = bound_curves(results).runs.set_index("formulation")
    assert runs.loc["quick", "gap_integral"] == pytest.approx(0.5)
    assert runs.loc["slow", "gap_integral"] == pytest.approx(8.0)


def test_median_and_range_are_taken_over_the_seeds() -> None:
    starts = (1.0, 2.0, 4.0)
    results = {
        ("set", "slim", seed): solve_like([(at, 0.2, 0.2)], 8.0) for seed, at in enumerate(starts)
    }
    found = bound_curves(results)
    row = found.summary.iloc[0]
    assert row["primal_integral_median"] == pytest.approx(2.0)
    assert (row["primal_integral_min"], row["primal_integral_max"]) == (1.0, 4.0)
    assert row["seeds"] == 3
    curve = found.curves
    between = curve[(curve["seconds"] > 2.1) & (curve["seconds"] < 3.9)]
    assert (between["objective"] == 0.2).all()
    assert np.isinf(between["objective_high"]).all()
    assert (between["objective_low"] == 0.2).all()


def test_other_statements_have_references_of_their_own() -> None:
    results = {
        ("set", "slim", 0): solve_like([(1.0, 0.2, 0.2)], 2.0),
        ("set", "hinge", 0): solve_like([(1.0, 0.8, 0.8)], 2.0),
    }
    apart = bound_curves(results, same_statement=False).runs.set_index("formulation")
    assert apart.loc["hinge", "primal_integral"] == pytest.approx(1.0)
    together = bound_curves(results).runs.set_index("formulation")
    assert together.loc["hinge", "primal_integral"] == pytest.approx(1.0 + 0.75)


def test_what_has_no_objective_to_measure_by_is_refused() -> None:
    none = solve_like([(1.0, math.nan, 0.0)], 2.0, verified=False)
    with pytest.raises(NotApplicableError, match="pass reference"):
        bound_curves({("set", "slim", 0): none})
    found = bound_curves({("set", "slim", 0): none}, reference={"set": 0.1})
    assert found.runs["primal_integral"].tolist() == [2.0]
    with pytest.raises(NotApplicableError, match="no results"):
        bound_curves({})
    with pytest.raises(OptionError, match="horizon"):
        bound_curves({("set", "slim", 0): none}, reference={"set": 0.1}, horizon=0)


def test_figures_show_every_solver_and_every_set() -> None:
    import matplotlib.pyplot as plt

    from milpscore_show.plots import (
        bound_curves as draw_curves,
        gap_curves,
        performance_profile as draw_profile,
    )

    ax = draw_profile(performance_profile(TIMES), plt.figure().subplots())
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    assert lines["a"][-1] == 0.5
    assert lines["b"][-1] == 0.75
    results = {
        (name, "slim", seed): solve_like([(1.0 + seed, 0.4, 0.1)], 4.0)
        for name in ("one", "two")
        for seed in range(2)
    }
    figure = draw_curves(bound_curves(results))
    assert [panel.get_title("left") for panel in figure.axes] == ["one", "two"]
    figure = gap_curves(bound_curves(results))
    (line,) = figure.axes[0].lines
    seconds, gap = line.get_xdata(), line.get_ydata()
    assert (gap[seconds < 1] == 1).all()  # nothing is known yet
    np.testing.assert_allclose(gap[(seconds > 1) & (seconds < 3.9)], 0.75)
    with pytest.raises(NotApplicableError, match="no solver solved"):
        draw_profile(performance_profile({"a": [math.inf]}), plt.figure().subplots())
    plt.close("all")
