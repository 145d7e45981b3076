"""Integer coordinate descent: never worse than its start, always allowed, often optimal."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import brute
import numpy as np
import pytest
from designs import binned, design, hard, noisy

from milpscore.core.card import Card
from milpscore.core.program import Program
from milpscore.core.statement import Statement
from milpscore.formulations import FORMULATIONS, fused_lasso, hinge, slim
from milpscore.search import coordinate_descent, start_card
from milpscore.verify import check, evaluate

SEEDS = range(25)

ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("slim", {"coef_min": -3, "coef_max": 3}),
    ("slim", {"coef_min": -2, "coef_max": 2, "max_terms": 1, "l0_penalty": 0.0}),
    ("slim", {"coef_sets": {"x0": [-4, 0, 3], "x2": [1, 2]}, "l1_penalty": 1e-3}),
    ("slim", {"coef_min": [1, -3, -3], "intercept_bounds": [-2.5, 1.5]}),
    ("hinge", {"coef_min": -2, "coef_max": 2, "max_terms": 2}),
    ("hinge", {"weights": "ternary", "intercept": "real", "margin": 0.7, "l1_penalty": 0.01}),
    ("hinge", {"weights": "binary", "intercept": "zero"}),
    ("hinge", {"coef_min": -2, "coef_max": 2, "intercept_bounds": [0.5, 3.5]}),
]


def random_program(seed: int, name: str, arguments: dict[str, Any]) -> Program:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(11) < 0.5, 1, -1)
    y[:2] = 1, -1
    made = design(rng.choice([-1, 0, 1, 2], size=(11, 3)), y, rng.integers(1, 4, size=11))
    return FORMULATIONS[name](made, **arguments)


def random_start(rng: np.random.Generator, statement: Statement) -> Card:
    """A card that meets the statement's requirements."""
    w = rng.integers(statement.coef_min, statement.coef_max + 1)
    for j, values in statement.coef_sets.items():
        w[j] = rng.choice(values)
    if statement.max_terms is not None:
        drop = rng.permutation(len(w))[statement.max_terms :]
        w[drop] = 0
    return statement.with_best_intercept(w)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS)
def test_never_worse_always_allowed_and_repeatable(
    name: str, arguments: dict[str, Any], seed: int
) -> None:
    statement = random_program(seed, name, arguments).statement
    start = random_start(np.random.default_rng(seed), statement)
    before = evaluate(statement, start)
    assert before.feasible
    found = coordinate_descent(statement, start)
    after = evaluate(statement, found)
    assert after.feasible, after.violations
    assert after.objective <= before.objective
    assert coordinate_descent(statement, start) == found
    again = evaluate(statement, coordinate_descent(statement, found))
    assert again.objective <= after.objective


def test_without_swaps_a_used_term_is_never_exchanged() -> None:
    apart = 0
    for seed in SEEDS:
        statement = random_program(seed, *ARGUMENTS[1]).statement
        start = coordinate_descent(statement, swaps=False)
        found = coordinate_descent(statement, start, swaps=False)
        assert found == start
        apart += coordinate_descent(statement, start) != start
    assert apart > 0


def optimum(statement: Statement) -> float:
    """By enumeration, sharing no code with the search."""
    made = statement.design
    rule = statement.intercept
    cuts = (
        brute.every_threshold
        if statement.loss.name == "zero_one"
        else brute.whole_numbers(int(rule.lower), int(rule.upper))
    )
    loss = brute.zero_one if statement.loss.name == "zero_one" else brute.hinge(1.0)
    return brute.best_card(
        brute.decimals(made.X),
        made.y.tolist(),
        made.weight.tolist(),
        loss=loss,
        values=[range(-2, 3)] * 3,
        intercepts=cuts,
        penalty=penalty(statement),
        max_terms=statement.max_terms,
    ).objective


def penalty(statement: Statement) -> Any:
    lam = sum(term.lam for term in statement.penalties if term.name == "l0_penalty")
    return lambda w: lam * sum(v != 0 for v in w)


@pytest.mark.parametrize(("name", "share"), [("slim", 0.8), ("hinge", 0.6)])
def test_often_the_optimum(name: str, share: float) -> None:
    arguments = {"coef_min": -2, "coef_max": 2, "max_terms": 2, "l0_penalty": 1e-3}
    hits = []
    for seed in range(15):
        program = random_program(seed, name, arguments)
        found = start_card(program)
        assert found is not None
        objective = evaluate(program.statement, found).objective
        best = optimum(program.statement)
        assert objective >= best - 1e-12
        hits.append(objective <= best + 1e-12)
    assert np.mean(hits) >= share


@pytest.mark.parametrize("seed", range(10))
def test_jumps_are_moved_as_a_whole(seed: int) -> None:
    made = binned(30, seed)
    program = fused_lasso(made, lam=0.01, coef_min=-2, coef_max=2)
    found = start_card(program)
    assert found is not None
    figures = evaluate(program.statement, found)
    w = found.coefficients
    jumps = sum(abs(int(w[a] - w[b])) for block in made.blocks for a, b in pairwise(block))
    assert figures.feasible
    assert figures.penalty == pytest.approx(0.01 * jumps)
    assert w[0] == w[3] == 0  # the reference bins
    empty = evaluate(program.statement, program.statement.empty_card())
    assert figures.objective <= empty.objective


def test_without_time_the_start_comes_back() -> None:
    statement = slim(noisy()).statement
    start = statement.with_best_intercept(np.array([1, 0, 0]))
    assert coordinate_descent(statement, start, max_work=0) == start
    assert coordinate_descent(statement, start, max_sweeps=0) == start


def test_the_work_is_limited() -> None:
    program = slim(hard(500, 15))
    few = start_card(program, max_work=1e5)
    many = start_card(program)
    assert few is not None
    assert many is not None
    worse, better = (evaluate(program.statement, card).objective for card in (few, many))
    assert better <= worse
    assert better < evaluate(program.statement, program.statement.empty_card()).objective


def test_a_start_where_no_points_is_not_allowed_comes_from_the_path() -> None:
    for program in (slim(noisy(), coef_min=1), hinge(noisy(), coef_max=[-1, 5, 5])):
        found = start_card(program)
        assert found is not None
        mended = start_card(program, max_work=0)  # without work for a path: least points, mended
        assert mended is not None
        assert check(program, found).feasible
        assert check(program, mended).feasible
        better, worse = (evaluate(program.statement, card) for card in (found, mended))
        assert better.objective < worse.objective


def test_a_narrow_intercept_does_not_lose_the_start() -> None:
    # of all thresholds only 6 is allowed, and no total of the start's neighbours equals it
    program = slim(design([[2], [4], [7], [9]], [-1, -1, 1, 1]), intercept_bounds=[-6, -6])
    start = program.statement.with_best_intercept(np.array([1]))
    assert evaluate(program.statement, start).loss == 0
    assert coordinate_descent(program.statement, start) == start
