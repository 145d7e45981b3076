"""Every formulation against enumeration, and its relaxation below it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import brute
import numpy as np
import pytest
from formulation_cases import (
    binned_design,
    bits,
    enumerate_auc,
    enumerate_facets,
    enumerate_fused,
    enumerate_hinge,
    enumerate_ordered,
    enumerate_risk,
    enumerate_slim,
    integers,
    ordered_design,
    random_design,
    tenths,
)

from milpscore.core.card import Card
from milpscore.core.design import Column, Design
from milpscore.core.errors import FormulationError
from milpscore.core.result import Claim
from milpscore.data import OrdinalDesign, make_design
from milpscore.data.ordinal import by_boundaries
from milpscore.formulations import FORMULATIONS
from milpscore.solvers import solve
from milpscore.verify import evaluate

SEEDS = range(8)


@dataclass(frozen=True)
class Case:
    """A random tiny instance: how to build it, and what enumeration says."""

    arguments: dict[str, Any]
    design: Callable[[np.random.Generator], Design]
    optimum: Callable[[Design, dict[str, Any]], brute.Optimum]
    extra: tuple[dict[str, Any], ...] = field(default=())


CASES: dict[str, list[Case]] = {
    "slim": [
        Case({"coef_min": -3, "coef_max": 3}, integers, enumerate_slim),
        Case(
            {"coef_min": -2, "coef_max": 2, "max_terms": 2, "l0_penalty": 0.0}, bits, enumerate_slim
        ),
        Case({"coef_min": -3, "coef_max": 3, "l1_penalty": 1e-3}, tenths, enumerate_slim),
        Case(
            {"coef_sets": {"x0": (-5, 0, 1, 2), "x1": (1, 3)}, "coef_min": -1, "coef_max": 1},
            integers,
            enumerate_slim,
        ),
    ],
    "hinge": [
        Case({"coef_min": -2, "coef_max": 3, "max_terms": 2}, integers, enumerate_hinge),
        Case({"weights": "ternary", "margin": 2.5, "l0_penalty": 0.01}, integers, enumerate_hinge),
        Case({"weights": "binary", "intercept": "zero"}, bits, enumerate_hinge),
        Case(
            {"coef_min": -3, "coef_max": 3, "intercept": "real", "margin": 0.7},
            tenths,
            enumerate_hinge,
        ),
    ],
    "convex_rounding": [
        Case({"weights": "ternary", "margin": 1.5}, integers, enumerate_hinge),
        Case({"weights": "binary", "intercept": "zero"}, bits, enumerate_hinge),
    ],
    "sparse_rounding": [
        Case({"max_terms": 2, "margin": 1.0}, integers, enumerate_hinge),
        Case({"max_terms": 1, "weights": "binary", "intercept": "real"}, bits, enumerate_hinge),
    ],
    "facets_hinge": [
        Case(
            {"lam": 0.03, "coef_min": -2, "coef_max": 3, "gamma": 0.5}, integers, enumerate_facets
        ),
        Case(
            {"lam": 0.1, "margin": 2.0, "intercept": "integer", "max_terms": 2},
            integers,
            enumerate_facets,
        ),
        Case({"lam": 0.1, "intercept": "zero", "gamma": 2.0}, bits, enumerate_facets),
        Case({"lam": 0.1, "margin": 0.3, "gamma": 0.3}, tenths, enumerate_facets),
    ],
    "risk_score": [
        Case({"scale": 1.0, "coef_min": -2, "coef_max": 2}, integers, enumerate_risk),
        Case(
            {
                "scale": 1.0,
                "coef_min": -3,
                "coef_max": 3,
                "max_terms": 1,
                "penalty": "l2",
                "lam": 0.01,
            },
            integers,
            enumerate_risk,
        ),
        Case(
            {
                "coef_min": -2,
                "coef_max": 3,
                "scale": 2.0,
                "intercept": "real",
                "penalty": "facets",
                "lam": 0.005,
            },
            tenths,
            enumerate_risk,
        ),
        Case(
            {
                "scale": 1.0,
                "coef_min": -1,
                "coef_max": 1,
                "intercept": "zero",
                "l0_penalty": 0.01,
                "penalty": "l1",
                "lam": 0.01,
            },
            bits,
            enumerate_risk,
        ),
    ],
    "auc": [
        Case({"coef_min": -2, "coef_max": 2}, integers, enumerate_auc),
        Case(
            {"coef_min": -3, "coef_max": 3, "max_terms": 2, "l0_penalty": 0.0}, bits, enumerate_auc
        ),
    ],
    "ordinal": [
        Case({"coef_min": -1, "coef_max": 1}, partial(ordered_design, cost=cost), enumerate_ordered)
        for cost in ("absolute", "zero_one")
    ],
    "fused_lasso": [
        Case(
            {"lam": 0.03, "coef_min": -2, "coef_max": 2},
            lambda r: binned_design(r, 12, (3, 3)),
            enumerate_fused,
        ),
        Case(
            {"lam": 0.2, "coef_min": 0, "coef_max": 3},
            lambda r: binned_design(r, 10, (4, 2)),
            enumerate_fused,
        ),
    ],
}
FLAT = [(name, k) for name, cases in CASES.items() for k in range(len(cases))]
MOST = {"risk_score": 3}
"""Seeds of what takes long, whose first alone is quick; of the others the first four are."""
SEEDED = [
    pytest.param(name, k, seed, marks=[] if seed < (1 if name in MOST else 4) else pytest.mark.slow)
    for name, k in FLAT
    for seed in SEEDS[: MOST.get(name)]
]


def enumerated(name: str, case: Case, design: Design) -> brute.Optimum:
    defaults = {"weights": "ternary"} if "rounding" in name else {}
    return case.optimum(design, {**defaults, **case.arguments})


def test_every_registered_formulation_has_a_case() -> None:
    assert set(CASES) == set(FORMULATIONS)


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize("k", range(len(CASES["risk_score"])))
def test_the_best_risk_score_is_taken_as_a_start(k: int, seed: int) -> None:
    case = CASES["risk_score"][k]
    design = case.design(np.random.default_rng(seed))
    program = FORMULATIONS["risk_score"](design, **case.arguments)
    truth = case.optimum(design, case.arguments)
    best = Card(np.array(truth.w), program.statement.intercept.nearest(truth.b))
    started = solve(program, warm_start=best, time_limit=60)
    assert started.warm_start == "accepted"
    assert started.objective == pytest.approx(truth.objective, abs=1e-9)
    below = solve(program.relaxed(), time_limit=300.0)
    assert below.dual_bound <= truth.objective + 1e-8


@pytest.mark.parametrize(("name", "k", "seed"), SEEDED)
def test_optimum_equals_enumeration(name: str, k: int, seed: int) -> None:
    case = CASES[name][k]
    design = case.design(np.random.default_rng(seed))
    program = FORMULATIONS[name](design, **case.arguments).exact()
    truth = enumerated(name, case, design)
    result = solve(program, time_limit=60)
    assert result.claim is Claim.OPTIMAL, result.summary()
    assert result.verified
    assert result.card is not None
    assert result.objective == pytest.approx(truth.objective, abs=1e-9)
    assert result.objective == pytest.approx(
        evaluate(program.statement, result.card).objective, abs=0
    )
    relaxed = solve(program.relaxed())
    assert relaxed.claim is Claim.OPTIMAL
    assert relaxed.objective <= result.objective + 1e-8
    assert relaxed.dual_bound <= relaxed.objective


@pytest.mark.parametrize(("name", "k"), FLAT)
def test_presolve_and_seed_do_not_change_the_optimum(name: str, k: int) -> None:
    case = CASES[name][k]
    design = case.design(np.random.default_rng(100))
    found = {
        round(
            solve(
                FORMULATIONS[name](design, **case.arguments).exact(),
                presolve=presolve,
                random_state=seed,
            ).objective,
            9,
        )
        for presolve, seed in ((True, 0), (False, 7))
    }
    assert len(found) == 1


def taken(d: Design, rows: Any, cols: Any) -> Design:
    """Rows and columns in another order; of ordered classes the rows before they were parted."""
    if isinstance(d, OrdinalDesign):
        rows, cols = (
            each[each < size] for each, size in zip((rows, cols), d.base.X.shape, strict=True)
        )
        return by_boundaries(taken(d.base, rows, cols), d.codes[rows], d.levels, d.cost)
    columns = tuple(d.columns[j] for j in cols)
    return Design(d.X[rows][:, cols], d.y[rows], d.weight[rows], columns, d.blocks)


@pytest.mark.parametrize(("name", "k"), FLAT)
def test_row_and_column_order_do_not_matter(name: str, k: int) -> None:
    case = CASES[name][k]
    rng = np.random.default_rng(200)
    design = case.design(rng)
    rows = rng.permutation(design.shape[0])
    shuffled = taken(design, rows, np.arange(design.shape[1]))
    first, second = (
        solve(FORMULATIONS[name](d, **case.arguments).exact()).objective for d in (design, shuffled)
    )
    assert first == pytest.approx(second, abs=1e-12)
    if design.blocks or "coef_sets" in case.arguments:
        return
    turned = taken(design, np.arange(design.shape[0]), rng.permutation(design.shape[1]))
    assert solve(FORMULATIONS[name](turned, **case.arguments).exact()).objective == pytest.approx(
        first, abs=1e-12
    )


@pytest.mark.parametrize("name", ["slim", "hinge"])
def test_merging_rows_does_not_matter(name: str) -> None:
    rng = np.random.default_rng(5)
    design = random_design(rng, 10, 3, [0, 1, 2])
    repeats = design.weight.astype(int)
    rows = np.repeat(np.arange(10), repeats)
    long = Design(design.X[rows], design.y[rows], np.ones(len(rows)), design.columns)
    first, second = (
        solve(FORMULATIONS[name](d, coef_min=-2, coef_max=2)).objective for d in (design, long)
    )
    assert first == pytest.approx(second, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_swapping_the_labels_mirrors_a_symmetric_hinge(seed: int) -> None:
    design = random_design(np.random.default_rng(seed), 10, 3, [0, 1, 2])
    mirrored = Design(design.X, -design.y, design.weight, design.columns)
    first, second = (
        solve(FORMULATIONS["hinge"](d, coef_min=-2, coef_max=2)).objective
        for d in (design, mirrored)
    )
    assert first == pytest.approx(second, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_swapping_the_labels_mirrors_slim(seed: int) -> None:
    # a tie is positive, but on integer data T may lie one step above any total: nothing is lost
    design = random_design(np.random.default_rng(seed), 10, 3, [0, 1, 2])
    mirrored = Design(design.X, -design.y, design.weight, design.columns)
    first, second = (
        solve(FORMULATIONS["slim"](d, coef_min=-2, coef_max=2)).objective
        for d in (design, mirrored)
    )
    assert first == pytest.approx(second, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_hinge_relaxation_is_the_rounding_lp(seed: int) -> None:
    design = random_design(np.random.default_rng(seed), 12, 4, [0, 1, 2])
    for k in (None, 2):
        box = solve(
            FORMULATIONS["hinge"](design, weights="ternary", max_terms=k).relaxed()
        ).objective
        name, limit = (
            ("convex_rounding", {}) if k is None else ("sparse_rounding", {"max_terms": k})
        )
        hull = solve(FORMULATIONS[name](design, **limit)).objective
        assert box == pytest.approx(hull, abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_no_grid_uses_a_threshold_gap_and_says_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 2))
    y = np.where(rng.random(10) < 0.5, 1, -1)
    y[:2] = 1, -1
    design = Design(X, y.astype(np.int64), np.ones(10), (Column("a", "a"), Column("b", "b")))
    program = FORMULATIONS["slim"](design, coef_min=-3, coef_max=3)
    result = solve(program)
    assert "below T" in result.caveat
    truth = enumerate_slim(design, {"coef_min": -3, "coef_max": 3})
    assert truth.objective - 1e-9 <= result.objective
    # normal draws leave totals far apart compared with the gap, so nothing is lost here
    assert result.objective == pytest.approx(truth.objective, abs=1e-9)


def test_totals_closer_than_any_solver_can_tell_are_refused() -> None:
    rng = np.random.default_rng(0)
    y = np.array([1, -1] * 5)
    with pytest.raises(FormulationError, match="give the columns a smaller unit, or bin them"):
        FORMULATIONS["slim"](make_design(rng.normal(size=(10, 2)) * 1e-9, y))


def test_whole_intercepts_beyond_the_solvers_integers_are_refused() -> None:
    X, y = np.arange(8.0)[:, None] * 1e8, [0, 0, 0, 0, 1, 1, 1, 1]
    with pytest.raises(FormulationError, match=r"b reaches .*give the columns a larger unit"):
        solve(FORMULATIONS["hinge"](X, y))
    assert solve(FORMULATIONS["hinge"](X / 1e8, y)).claim is Claim.OPTIMAL
    assert solve(FORMULATIONS["hinge"](X, y, intercept="real")).verified


def test_programs_and_results_show_themselves_in_one_line() -> None:
    program = FORMULATIONS["slim"](np.arange(4.0)[:, None], [0, 0, 1, 1])
    assert repr(program.relaxed()) == "<Program slim, relaxed, of 4 rows x 1 columns>"
    shown = repr(solve(program))
    assert shown == "<Result slim, exact: optimal, objective 0.001, bound 0.001, terms 1>"
