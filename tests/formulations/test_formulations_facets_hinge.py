"""The integer program of Facets under the hinge loss, in the paper's units: w = gamma k."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from designs import binned, design, noisy
from scipy.optimize import linprog

import milpscore
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, SizeError
from milpscore.core.result import Claim
from milpscore.data import make_planted_score
from milpscore.formulations import facets_hinge, hinge
from milpscore.penalties import Facets
from milpscore.penalties.points import IntegerFacets
from milpscore.search import coordinate_descent
from milpscore.search.starts import find_start
from milpscore.solvers import load, solve
from milpscore.verify import check, evaluate


def tiny(seed: int) -> tuple[Design, dict[str, Any]]:
    """A random instance and its arguments."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 13)), int(rng.integers(1, 4))
    X = rng.choice([-1.0, -0.5, 0, 0.5, 1, 2], size=(n, p))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    arguments: dict[str, Any] = {
        "lam": float(rng.choice([0.02, 0.05, 0.1, 0.3])),
        "gamma": float(rng.choice([0.25, 0.3, 1, 2])),
        "margin": float(rng.choice([0.5, 1, 3])),
        "intercept": ["real", "integer", "zero"][seed % 3],
    }
    if seed % 2:
        arguments["max_terms"] = int(rng.integers(0, p + 1))
    return design(X, y, rng.uniform(0.1, 3, size=n)), arguments


def whole(k: Any) -> Any:
    """(||k||_2^2 + ||k||_1) / 2 of each column."""
    return (k * k + abs(k)).sum(axis=0) / 2


def least(d: Design, a: dict[str, Any], reach: int) -> float:
    """The optimum over w = gamma k, |k_j| <= reach, with the best intercept b of the kind."""
    gamma, margin = a["gamma"], a["margin"]
    points = np.array(list(itertools.product(range(-reach, reach + 1), repeat=d.shape[1]))).T
    if "max_terms" in a:
        points = points[:, np.count_nonzero(points, axis=0) <= a["max_terms"]]
    totals = d.X @ (gamma * points)
    share = (d.weight / d.weight.sum())[:, None]
    most = int(np.abs(totals).max(initial=0) / gamma + margin / gamma) + 1
    cuts: dict[str, Any] = {
        "real": [margin * c - row for c, row in zip(d.y, totals, strict=True)],
        "integer": [np.full(points.shape[1], gamma * b) for b in range(-most, most + 1)],
        "zero": [np.zeros(points.shape[1])],
    }
    losses = [
        (share * np.maximum(0, margin - d.y[:, None] * (totals + b)) / margin).sum(axis=0)
        for b in cuts[a["intercept"]]
    ]
    return float((np.min(losses, axis=0) + a["lam"] * whole(points)).min())


def facets_lp(d: Design, a: dict[str, Any], levels: int = 60) -> float:
    """The Facets penalty with hinge loss: its tangents at every kink, w and b free."""
    (n, p), gamma, margin = d.shape, a["gamma"], a["margin"]
    share = d.weight / d.weight.sum() / margin
    cost = np.r_[np.zeros(p + 1), np.full(p, a["lam"]), share]  # w, b, cost of each w, slacks
    rows = [np.hstack([-d.y[:, None] * d.X, -d.y[:, None], np.zeros((n, p)), -np.eye(n)])]
    ends = [np.full(n, -margin)]
    for i, sign in itertools.product(range(levels), (1, -1)):
        slope = sign * (i + 1) / gamma * np.eye(p)
        rows.append(np.hstack([slope, np.zeros((p, 1)), -np.eye(p), np.zeros((p, n))]))
        ends.append(np.full(p, i * (i + 1) / 2))
    free = (None, None)
    b = (0, 0) if a["intercept"] == "zero" else free
    bounds = [*[free] * p, b, *[(0, None)] * (p + n)]
    found = linprog(cost, np.vstack(rows), np.concatenate(ends), bounds=bounds)
    assert found.status == 0
    return float(found.fun)


# ------------------------------------------------------------------ the penalty


def test_the_penalty_is_its_definition_and_its_envelope() -> None:
    rng = np.random.default_rng(0)
    penalty = IntegerFacets(0.25)
    assert (penalty.name, penalty.lam, penalty.value(np.zeros(3, dtype=np.int64))) == (
        "lam",
        0.25,
        0,
    )
    for _ in range(50):
        k = rng.integers(-10_000, 10_001, size=7)
        assert penalty.value(k) == 0.25 * sum(int(v) * int(v) + abs(int(v)) for v in k) / 2
        w = rng.normal(size=7) * 4
        envelope = sum(max(0.0, abs(v) - i) for v in w for i in range(40))
        assert penalty.value(w) == pytest.approx(0.25 * envelope, rel=1e-13)
        assert penalty.value(w) == Facets(0.25).value(w)
    assert replace(penalty, lam=2.0).value(np.array([-2, 1])) == 8.0
    with pytest.raises(TypeError, match="gamma"):
        IntegerFacets(0.25, gamma=2.0)  # type: ignore[call-arg]


# ------------------------------------------------------------------ the optimum


@pytest.mark.parametrize("seed", range(48))
def test_optimum_over_all_multiples_of_gamma(seed: int) -> None:
    d, a = tiny(seed)
    program = facets_hinge(d, **a)
    reach = int(program.statement.coef_max.max())
    result = solve(program, time_limit=60)
    assert result.claim is Claim.OPTIMAL, result.summary()
    # one point more than the default range: nothing better lies beyond it (10 points cost > 1)
    assert result.objective == pytest.approx(least(d, a, min(reach + 1, 9)), abs=1e-9)
    assert result.card is not None
    k = result.card.coefficients
    assert result.penalty == pytest.approx(a["lam"] * whole(k), abs=1e-12)
    assert solve(program.relaxed()).objective <= result.objective + 1e-8


@pytest.mark.parametrize("seed", range(0, 48, 2))
def test_the_relaxation_is_the_facets_lp(seed: int) -> None:
    d, a = tiny(seed)
    relaxed = solve(facets_hinge(d, **a).relaxed())
    assert relaxed.claim is Claim.OPTIMAL
    assert relaxed.objective == pytest.approx(facets_lp(d, a), abs=1e-7)
    penalty = Facets(a["lam"]).value(relaxed.coefficients)
    assert relaxed.penalty == pytest.approx(penalty, abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_search_over_supports_agrees(seed: int) -> None:
    d = noisy(20, 4, seed)
    a = {"lam": 0.02, "gamma": 0.5, "margin": 1.0, "intercept": "integer", "max_terms": 2}
    program = facets_hinge(d, **a)
    assert int(program.statement.coef_max.max()) > 4
    result = solve(program, "support_tree", time_limit=60)
    assert (result.solver, result.claim) == ("support_tree", Claim.OPTIMAL)
    assert result.objective == pytest.approx(least(d, a, 9), abs=1e-9)


def test_ramps_are_one_fewer_than_the_points() -> None:
    program = facets_hinge(noisy(p=3), coef_min=[-4, 0, 0], coef_max=[2, 1, 0])
    assert sorted(program.model.kinks) == [(0, 1), (0, 2), (0, 3)]
    assert program.statement.coef_min.tolist() == [-4, 0, 0]
    card = program.statement.with_best_intercept(np.array([-3, 1, 0]))
    assert check(program, card).feasible
    ramps = [program.model.ramp[0, i].value for i in (1, 2, 3)]
    assert ramps == [2, 1, 0]
    assert evaluate(program.statement, card).penalty == pytest.approx(0.01 * (6 + 1))


# ------------------------------------------------------------------ the default range


@pytest.mark.parametrize("seed", range(0, 48, 3))
def test_a_wider_range_is_never_better(seed: int) -> None:
    d, a = tiny(seed)
    program = facets_hinge(d, **a)
    K = int(program.statement.coef_max.max())
    empty = evaluate(program.statement, program.statement.empty_card()).objective
    assert a["lam"] * K * (K - 1) / 2 < empty <= a["lam"] * K * (K + 1) / 2 * (1 + 1e-12)
    wide = facets_hinge(d, coef_min=-K - 4, coef_max=K + 4, **a)
    for first, second in ((program, wide), (program.relaxed(), wide.relaxed())):
        found = [solve(p).objective for p in (first, second)]
        assert found[0] == pytest.approx(found[1], abs=1e-7)


def test_columns_left_out_of_a_mapping_get_the_default() -> None:
    plain = facets_hinge(noisy(), lam=0.05).statement
    mixed = facets_hinge(noisy(), lam=0.05, coef_max={"x1": 0}, coef_min=-1).statement
    K = plain.coef_max[0]
    assert K > 1
    assert mixed.coef_max.tolist() == [K, 0, K]
    assert mixed.coef_min.tolist() == [-1] * 3


def test_where_nothing_can_be_won_the_range_is_empty() -> None:
    statement = facets_hinge(noisy(), lam=1e9).statement
    assert statement.coef_max.max() == 1  # a relaxed coefficient may be less than 1
    assert solve(facets_hinge(noisy(), lam=1e9)).objective <= 1


# ------------------------------------------------------------------ lam in place


@pytest.mark.parametrize("seed", range(4))
def test_lam_in_place_equals_a_new_program(seed: int) -> None:
    d = noisy(16, 3, seed)
    program = facets_hinge(d, lam=0.01, gamma=0.5)
    session = load(facets_hinge(d, lam=0.01, gamma=0.5))
    for lam in (0.01, 0.2, 0.03):
        program.set(lam=lam)
        session.set(lam=lam)
        fresh = solve(facets_hinge(d, lam=lam, gamma=0.5)).objective
        assert solve(program).objective == pytest.approx(fresh, abs=1e-9)
        assert solve(session).objective == pytest.approx(fresh, abs=1e-9)
        assert program.statement.penalties[0].lam == program.statement.arguments["lam"] == lam


def test_less_lam_than_the_default_range_was_derived_from_is_refused() -> None:
    program = facets_hinge(noisy(), lam=0.1, coef_max=3)
    for edit in (program.set, program.relaxed().set, load(program).set):
        with pytest.raises(
            FormulationError, match=r"lies below 0\.1, .* give coef_min and coef_max"
        ):
            edit(lam=0.05)
    assert program.statement.penalties[0].lam == 0.1
    ranged = facets_hinge(noisy(), lam=0.1, coef_min=-3, coef_max=3)
    ranged.set(lam=0.001)
    fresh = facets_hinge(noisy(), lam=0.001, coef_min=-3, coef_max=3)
    assert solve(ranged).objective == pytest.approx(solve(fresh).objective, abs=1e-9)
    ranged.set(lam=0)
    plain = hinge(noisy(), coef_min=-3, coef_max=3, intercept="real")
    assert solve(ranged).objective == pytest.approx(solve(plain).objective, abs=1e-9)


# ------------------------------------------------------------------ who else reads it


def test_the_path_of_a_start_has_the_facets_penalty() -> None:
    X, y, _ = make_planted_score(120, 6, n_terms=3, max_points=3, noise=0.1, random_state=0)
    statement = facets_hinge(X, y, lam=0.01).statement
    found = find_start(statement)
    assert found is not None
    assert found.figures["surrogate"] == "smoothed_hinge with facets"
    assert find_start(hinge(X, y).statement).figures["surrogate"] == "smoothed_hinge with l1"  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(4, 10))
def test_descent_moves_bins_one_by_one(seed: int) -> None:
    # moving all bins from one on together is for jumps: this penalty knows none
    d = binned(30, seed)
    statement = facets_hinge(d, lam=0.01).statement
    unblocked = facets_hinge(replace(d, blocks=()), lam=0.01).statement
    assert coordinate_descent(statement) == coordinate_descent(unblocked)


def test_relaxed_exact_rounded_in_order() -> None:
    X, y, _ = make_planted_score(60, 4, n_terms=2, max_points=3, noise=0.1, random_state=0)
    table = milpscore.compare(
        X, y, formulations=["facets-hinge"], lam=0.01, gamma=0.5, cv=None, time_limit=300
    ).table.set_index("kind")
    exact, relaxed = table.loc["exact"], table.loc["relaxed"]
    assert exact["claim"] == "optimal"
    assert relaxed["objective"] <= exact["objective"] + 1e-9
    for kind in ("randomised", "nearest"):
        assert table.loc[kind, "verified"]
        assert exact["objective"] <= table.loc[kind, "objective"] + 1e-9
    assert table.loc["nearest", "rounding_loss"] <= table.loc["nearest", "sure_bound"] + 1e-9


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lam": 0}, "lam = 0 leaves the points without a default range: give coef_min"),
        ({"lam": 0, "coef_min": -1}, "give coef_min and coef_max"),
        ({"lam": 0, "coef_min": -1, "coef_max": {"x0": 1}}, "give coef_min and coef_max"),
        ({"lam": -1}, "lam must be a finite number >= 0"),
        ({"lam": np.nan}, "lam must be a finite number >= 0"),
        ({"lam": 1e-9}, "so small that its default range reaches"),
        ({"lam": 5e-324}, "so small that its default range reaches"),
        ({"gamma": 0}, "gamma must be a finite number > 0"),
        ({"gamma": "1"}, "gamma must be a finite number > 0"),
        ({"margin": -1}, "margin must be a finite number > 0"),
        ({"margin": 1e300, "gamma": 1e-300}, "margin / gamma must be a finite number > 0"),
        ({"coef_min": 1}, "x0: its range excludes 0.*give both coef_min and coef_max"),
        ({"coef_max": {"x1": -1}}, "x1: its range excludes 0"),
        ({"coef_min": 2, "coef_max": 1}, "x0: coef_min 2 is larger than coef_max 1"),
        ({"coef_min": {"x9": 1}, "coef_max": 1}, "coef_min names 'x9'"),
        ({"coef_max": 1.5}, "coef_max must be finite whole numbers"),
        ({"coef_max": 10**6}, "coef_max beyond 10000"),
        ({"max_terms": 0.5}, "max_terms must be a whole number"),
        ({"intercept": "grid"}, "intercept must be 'integer', 'zero' or 'real'"),
        ({"intercept_bounds": [1, 0]}, "intercept_bounds"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(FormulationError, match=message):
        facets_hinge(noisy(), **arguments)


def test_lam_0_with_ranges_is_the_plain_hinge() -> None:
    a: dict[str, Any] = {"coef_min": -2, "coef_max": {"x0": 2, "x1": 2, "x2": 2}}
    free, plain = facets_hinge(noisy(), lam=0, **a), hinge(noisy(), intercept="real", **a)
    assert solve(free).objective == pytest.approx(solve(plain).objective, abs=1e-9)
    free.set(lam=1.0)  # there was no weight in the model: it is made anew
    assert solve(free).objective == solve(facets_hinge(noisy(), lam=1.0, **a)).objective


def test_more_ramps_than_a_program_can_hold_are_refused() -> None:
    wide = design(np.eye(1000)[:30], np.tile([1, -1], 15))
    with pytest.raises(SizeError, match="narrow coef_min and coef_max, bin the columns"):
        facets_hinge(wide, coef_min=-10_000, coef_max=10_000)
