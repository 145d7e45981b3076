"""Derandomised rounding: the estimator never rises, and what it promises is kept."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from milpscore.core.errors import FormulationError, NotApplicableError, OptionError, SizeError
from milpscore.core.result import Claim
from milpscore.data import make_design
from milpscore.formulations import convex_rounding, hinge, slim, sparse_rounding
from milpscore.rounding import (
    ROUNDINGS,
    Request,
    derandomised,
    expected_loss,
    nearest,
    round_program,
    rounding_bounds,
)
from milpscore.rounding.program import round_by_name
from milpscore.solvers import solve
from milpscore.verify import evaluate

ROOM = 1e-12
CASES = 100


def case(seed: int, whole: bool) -> tuple[Any, Any, float, float]:
    """A random statement with weights, real weights, an intercept and the margin."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 30)), int(rng.integers(1, 9))
    X = rng.integers(-3, 4, (n, p)).astype(float) if whole else rng.normal(size=(n, p))
    y = np.where(rng.random(n) < 0.5, 1, 0)
    y[:2] = (0, 1)
    margin = float(rng.choice([0.5, 1.0, 3.0]))
    weight = rng.integers(1, 4, n) if seed % 2 else rng.random(n) + 0.1
    ranges: list[Any] = [
        {"weights": "ternary"},
        {"weights": "binary"},
        {"coef_min": -4, "coef_max": 4},
    ]
    statement = hinge(X, y, margin=margin, sample_weight=weight, **ranges[seed % 3]).statement
    w = rng.uniform(statement.coef_min, statement.coef_max)
    w[rng.random(p) < 0.2] = 0.0
    return statement, w, float(rng.normal()), margin


def mean_hinge(statement: Any, c: Any, b: float) -> float:
    design, margin = statement.design, statement.loss.margin
    losses = np.maximum(0.0, margin - design.y * (design.X @ c + b)) / margin
    return float(np.average(losses, weights=design.weight))


def estimator(statement: Any, w: Any, b: float, fixed: dict[int, float]) -> float:
    """U from its definition, over the raw rows."""
    design, margin = statement.design, statement.loss.margin
    f = w - np.floor(w)
    mean, variance = np.zeros(len(design.y)), np.zeros(len(design.y))
    for j in range(len(w)):
        if j in fixed:
            mean += (fixed[j] - w[j]) * design.X[:, j]
        else:
            variance += design.X[:, j] ** 2 * f[j] * (1 - f[j])
    spread = float(np.average(np.sqrt(mean**2 + variance), weights=design.weight))
    return mean_hinge(statement, w, b) + spread / float(margin)


@pytest.mark.parametrize("order", ["uncertain", "given"])
@pytest.mark.parametrize("whole", [True, False])
def test_the_pessimistic_estimator_never_rises_and_its_promise_is_kept(
    whole: bool, order: Any
) -> None:
    for seed in range(CASES):
        statement, w, b, _ = case(seed, whole)
        found = derandomised(statement, w, b, order=order)
        assert np.all(np.diff(found.trace) <= ROOM), seed
        assert found.promise == pytest.approx(rounding_bounds(statement, w, b)["sharp_bound"])
        assert found.held_loss == pytest.approx(mean_hinge(statement, found.points, b))
        assert found.held_loss <= found.trace[-1] + ROOM, seed
        assert found.held_loss <= found.promise + ROOM, seed
        assert np.all(np.abs(found.points - w) < 1)
        assert len(found.trace) == len(found.order) + 1 == np.count_nonzero(w % 1) + 1


@pytest.mark.parametrize("order", ["uncertain", "given"])
def test_the_exact_estimator_never_rises_and_ends_at_the_loss(order: Any) -> None:
    for seed in range(CASES):
        statement, w, b, _ = case(seed, whole=True)
        found = derandomised(statement, w, b, estimator="exact", order=order)
        assert np.all(np.diff(found.trace) <= ROOM), seed
        assert found.promise == pytest.approx(expected_loss(statement, w, b), abs=1e-12)
        assert found.held_loss == pytest.approx(found.trace[-1], abs=1e-12)
        assert found.promise <= rounding_bounds(statement, w, b)["sharp_bound"] + ROOM


@pytest.mark.parametrize("seed", range(12))
def test_every_entry_of_the_trace_is_the_estimator_of_its_definition(seed: int) -> None:
    statement, w, b, _ = case(seed, whole=False)
    found = derandomised(statement, w, b)
    fixed: dict[int, float] = {}
    for k, j in enumerate(found.order.tolist()):
        assert found.trace[k] == pytest.approx(estimator(statement, w, b, fixed), abs=1e-12)
        options = {
            v: estimator(statement, w, b, {**fixed, j: v}) for v in (np.floor(w[j]), np.ceil(w[j]))
        }
        fixed[j] = float(found.points[j])
        assert options[fixed[j]] <= min(options.values()) + 1e-12
    assert found.trace[-1] == pytest.approx(estimator(statement, w, b, fixed), abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_every_exact_entry_is_the_conditional_expectation(seed: int) -> None:
    statement, w, b, _ = case(seed, whole=True)
    found = derandomised(statement, w, b, estimator="exact")
    for k in range(len(found.trace)):
        open_columns = found.order[k:]
        c, expectation = found.points.astype(float), 0.0
        f = w - np.floor(w)
        for ups in itertools.product((0, 1), repeat=len(open_columns)):
            up = np.array(ups, dtype=float)
            c[open_columns] = np.floor(w[open_columns]) + up
            chance = np.prod(np.where(up > 0, f[open_columns], 1 - f[open_columns]))
            expectation += float(chance) * mean_hinge(statement, c, b)
        assert found.trace[k] == pytest.approx(expectation, abs=1e-12)


def test_the_most_uncertain_column_is_fixed_first() -> None:
    X = np.array([[1.0, 3.0, 1.0], [1.0, -3.0, 0.0], [0.0, 3.0, 1.0]])
    statement = hinge(X, [0, 1, 1], weights="binary").statement
    found = derandomised(statement, [0.5, 0.1, 0.99], 0.0)
    doubt = [0.25 * 2, 0.09 * 27, 0.0099 * 2]
    assert found.order.tolist() == np.argsort(doubt)[::-1].tolist()
    assert derandomised(statement, [0.5, 0.1, 0.99], 0.0, order="given").order.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["pessimistic", "exact"])
@pytest.mark.parametrize("seed", range(6))
def test_permuted_columns_and_rows_change_nothing_else(seed: int, kind: Any) -> None:
    statement, w, b, _ = case(seed, whole=True)
    design, rng = statement.design, np.random.default_rng(seed)
    rows, columns = rng.permutation(len(design.y)), rng.permutation(len(w))
    shuffled = make_design(
        design.X[rows][:, columns], design.y[rows], sample_weight=design.weight[rows]
    )
    other = hinge(
        shuffled, margin=statement.loss.margin,
        coef_min=int(statement.coef_min[0]), coef_max=int(statement.coef_max[0]),
    ).statement  # fmt: skip
    one = derandomised(statement, w, b, estimator=kind)
    two = derandomised(other, w[columns], b, estimator=kind)
    assert two.points.tolist() == one.points[columns].tolist()
    assert two.trace == pytest.approx(one.trace, abs=1e-12)


def test_a_change_of_all_signs_changes_nothing_else() -> None:
    for seed in range(0, 30, 3):  # the ternary cases
        statement, w, b, _ = case(seed, whole=True)
        design = statement.design
        mirrored = hinge(
            make_design(-design.X, design.y, sample_weight=design.weight),
            margin=statement.loss.margin, weights="ternary",
        ).statement  # fmt: skip
        one, two = derandomised(statement, w, b), derandomised(mirrored, -w, b)
        assert two.points.tolist() == (-one.points).tolist()


def test_columns_whose_values_lie_apart_obey_the_bounds_too() -> None:
    for seed in range(40):
        plain, w, b, _ = case(3 * seed + 2, whole=True)
        sets = dict.fromkeys(range(len(w)), (-4, -1, 1, 4))
        statement = replace(plain, coef_sets=sets)
        bounds = rounding_bounds(statement, w, b)
        expectation = expected_loss(statement, w, b)
        assert expectation <= bounds["sharp_bound"] + ROOM
        assert bounds["sharp_bound"] <= bounds["expected_bound"] + ROOM
        found = derandomised(statement, w, b)
        assert found.promise == pytest.approx(bounds["sharp_bound"])
        assert np.all(np.diff(found.trace) <= ROOM)
        assert found.held_loss <= found.promise + ROOM
        closest = nearest(statement, w).coefficients
        assert mean_hinge(statement, closest, b) <= bounds["sure_bound"] + ROOM


def test_the_bounds_of_values_that_lie_apart_by_hand() -> None:
    X, y = np.array([[3.0, -4.0], [0.0, 0.0]]), [0, 1]
    plain = hinge(X, y, coef_min=-4, coef_max=4, margin=2.0).statement
    bounds = rounding_bounds(replace(plain, coef_sets={0: (-4, 0, 4)}), [1.0, 0.5], 0.0)
    added = {name: bounds[name] - bounds["lp_loss"] for name in bounds}
    assert added["sure_bound"] == pytest.approx((3 * 4 + 4) / (2 * 2.0))
    assert added["expected_bound"] == pytest.approx(np.hypot(12, 4) / (2 * 2.0))
    variance = 12**2 * 0.25 * 0.75 + 4**2 * 0.25
    assert added["sharp_bound"] == pytest.approx(variance**0.5 / 2 / 2.0)


def test_the_exact_estimator_serves_the_loss_of_a_card() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (30, 5)).astype(float), rng.integers(0, 2, 30)
    statement = slim(X, y).statement
    w = rng.uniform(-2, 2, 5)
    found = derandomised(statement, w, -1.0, estimator="exact")
    errors = float(np.mean((X @ found.points >= 1) != (y == 1)))
    assert np.all(np.diff(found.trace) <= ROOM)
    assert found.held_loss == pytest.approx(errors)
    assert found.objective <= errors + statement.penalty(found.points) + ROOM
    with pytest.raises(NotApplicableError, match="estimator='exact'"):
        derandomised(statement, w, -1.0)


def test_the_limit_on_terms_is_kept_by_repair() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 6)), rng.integers(0, 2, 20)
    statement = sparse_rounding(X, y, max_terms=2).statement
    found = derandomised(statement, [0.9, 0.9, -0.9, 0.8, 0.5, 0.4], 0.0)
    assert np.count_nonzero(found.points) > 2
    assert found.repaired
    assert found.card is not None
    assert found.card.nonzeros == 2
    assert not statement.violations(found.card)
    assert found.objective == evaluate(statement, found.card).objective


def test_points_that_cannot_be_repaired_are_refused_by_name() -> None:
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    statement = replace(hinge(X, y, coef_min=1, coef_max=2).statement, max_terms=1)
    found = derandomised(statement, [1.5, 1.5], 0.0)
    assert found.card is None
    assert "2 terms where at most 1" in found.refusal
    assert np.isnan(found.objective)


def test_a_derandomised_card_starts_an_exact_solve() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(20, 4)), rng.integers(0, 2, 20)
    program = convex_rounding(X, y)
    relaxed = solve(program)
    found = derandomised(program.statement, relaxed.coefficients, relaxed.intercept)
    result = solve(program.exact(), warm_start=found.card)
    assert result.claim is Claim.OPTIMAL
    assert relaxed.objective - 1e-9 <= result.objective <= found.objective + 1e-9
    assert result.warm_start != "none"


def test_named_roundings_join_the_candidates_of_a_program() -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(40, 8)), rng.integers(0, 2, 40)
    program = convex_rounding(X, y, margin=2.0)
    plain = round_program(program, n_draws=1)
    more = round_program(program, n_draws=1, roundings=list(ROUNDINGS))
    assert more.verified
    assert more.objective <= plain.objective
    assert more.origin in {*ROUNDINGS, "nearest", "randomised"}
    with pytest.raises(OptionError, match="no rounding 'nothing'; there are derandomised"):
        round_program(program, roundings=["nothing"])


def test_each_registered_rounding_is_a_row() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.integers(0, 3, (30, 4)).astype(float), rng.integers(0, 2, 30)
    for build in (convex_rounding, slim):
        program = build(X, y)
        relaxed = solve(program.relaxed())
        rows, figures = round_by_name(
            program, relaxed, list(ROUNDINGS), n_draws=10, random_state=0, max_work=1e7
        )
        assert list(rows) == list(figures) == list(ROUNDINGS)
        proved = figures["derandomised"]
        if build is convex_rounding:
            assert proved["rounding_loss"] <= proved["sharp_bound"] + ROOM
        else:
            assert list(proved) == ["rounding_loss"]
        for name, row in rows.items():
            if build is slim and name == "local_search":
                assert row.card is None
                assert "local search needs weights" in row.message
                continue
            assert row.verified, (name, row.message)
            assert row.origin == name
            assert row.objective == evaluate(program.statement, row.card).objective  # type: ignore[arg-type]
            assert row.dual_bound <= row.objective + 1e-9


@pytest.mark.parametrize("name", sorted(ROUNDINGS))
def test_one_answer_for_one_seed(name: str) -> None:
    statement, w, b, _ = case(9, whole=True)
    request = Request(w, b, random_state=3)
    one, two = (ROUNDINGS[name.replace("_", "-")](statement, request) for _ in range(2))
    assert one.method == name
    assert one.card == two.card
    assert np.array_equal(one.trace, two.trace)
    assert not one.trace.flags.writeable
    assert one.card is not None
    assert one.evaluation == evaluate(statement, one.card)


def test_bad_input_is_refused() -> None:
    statement, w, b, _ = case(1, whole=False)
    for wrong in ({"estimator": "guess"}, {"order": "random"}):
        with pytest.raises(OptionError, match="use one of pessimistic, exact"):
            derandomised(statement, w, b, **wrong)  # type: ignore[arg-type]
    with pytest.raises(FormulationError, match="one weight per design column"):
        derandomised(statement, [*w, 0.5], b)
    with pytest.raises(FormulationError, match="finite"):
        derandomised(statement, np.full(len(w), np.nan), b)
    with pytest.raises((NotApplicableError, SizeError), match="pessimistic"):
        derandomised(statement, w, b, estimator="exact")
