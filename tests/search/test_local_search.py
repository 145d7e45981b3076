"""Supermodular local search and hill climbing: where they end is checked by brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from experiments.ternary.climbing import hill_climbing
from milpscore.constraints import AtLeast, EitherOr, Sign
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.result import Claim
from milpscore.data import Binner, double_features, make_design, undouble
from milpscore.formulations import facets_hinge, fused_lasso, hinge, slim
from milpscore.search import local_search
from milpscore.search.moves import hinge_sweep
from milpscore.solvers import solve
from milpscore.verify import evaluate

NOISE = 1e-11


def data(seed: int, n: int = 20, p: int = 6, whole: bool = False) -> tuple[Any, Any, Any]:
    """X of both signs, classes that depend on it, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 4, (n, p)).astype(float) if whole else rng.normal(size=(n, p))
    y = (X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + rng.normal(size=n) > 0.3).astype(int)
    y[:2] = (0, 1)
    return X, y, rng.random(n) + 0.2


def held(X: Any, y: Any, s: Any, c: Any, r: float, margin: float) -> float:
    """The paper's loss on the mean, threshold r."""
    slack = np.maximum(0.0, margin - np.where(y > 0, 1, -1) * (X @ c - r)) / margin
    return float(np.average(slack, weights=s))


def flips(c: Any) -> list[Any]:
    """All of {0,1}^d at Hamming distance 1."""
    return [np.where(np.arange(len(c)) == j, 1 - c, c) for j in range(len(c))]


def test_a_sweep_is_the_sum_of_its_definition() -> None:
    rng = np.random.default_rng(0)
    for n, d, K in [(1, 1, 1), (7, 3, 2), (300, 500, 1), (40, 70_000, 2), (5, 0, 2), (0, 4, 1)]:
        A, u, shifts = rng.normal(size=(n, d)), rng.normal(size=n), rng.integers(-2, 3, (K, d))
        wanted = [np.maximum(0, u[:, None] - A * row).sum(axis=0) for row in shifts]
        assert np.allclose(hinge_sweep(A, u, shifts), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("r", [0.0, 1.0])
@pytest.mark.parametrize("margin", [0.5, 2.0])
@pytest.mark.parametrize("seed", range(8))
def test_binary_search_follows_the_paper_move_by_move(seed: int, margin: float, r: float) -> None:
    X, y, s = data(seed)
    program = hinge(X, y, margin=margin, sample_weight=s, weights="binary")
    found = local_search(program.statement, threshold=r)
    c = np.zeros(6, dtype=int)
    trace = [held(X, y, s, c, r, margin)]
    while True:
        options = [held(X, y, s, other, r, margin) for other in flips(c)]
        if not min(options) < trace[-1] - NOISE:
            break
        c = flips(c)[int(np.argmin(options))]
        trace.append(min(options))
    assert found.points.tolist() == c.tolist()
    assert found.trace == pytest.approx(trace)
    assert len(found.moves) == len(trace) - 1
    assert found.complete
    assert found.dimension == 6
    assert not found.supermodular  # some x is negative


@pytest.mark.parametrize("seed", range(20))
def test_without_eps_it_ends_at_a_hamming_minimum_of_the_doubled_design(seed: int) -> None:
    X, y, s = data(seed, p=5, whole=seed % 2 == 0)
    found = local_search(hinge(X, y, sample_weight=s, weights="ternary").statement)
    doubled = double_features(X)
    assert found.dimension == doubled.shape[1]
    value = held(X, y, s, found.points, 0.0, 1.0)
    assert value == pytest.approx(found.trace[-1])
    # every pair (c+, c-) that stands for these weights is a minimum
    for twice in itertools.product((0, 1), repeat=5):
        both = np.where(found.points == 0, twice, 0)
        c = np.stack([(found.points > 0) | both, (found.points < 0) | both], axis=1).ravel()
        c = c.astype(int)
        assert undouble(c).tolist() == found.points.tolist()
        assert min(held(doubled, y, s, o, 0.0, 1.0) for o in flips(c)) >= value - NOISE


@pytest.mark.parametrize("seed", [17, 29])
def test_a_weight_taken_early_is_given_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(20, 3))
    X = np.column_stack([parts.sum(axis=1) + 0.5 * rng.normal(size=20), parts])
    y = (parts.sum(axis=1) > 0).astype(int)
    y[:2] = (0, 1)
    s = rng.random(20) + 0.2
    found = local_search(hinge(X, y, sample_weight=s, weights="binary").statement)
    assert found.moves == ((0, 1), (3, 1), (2, 1), (0, -1))
    assert found.points.tolist() == [0, 0, 1, 1]
    least = min(held(X, y, s, c, 0.0, 1.0) for c in flips(found.points))
    assert least >= found.trace[-1] - NOISE


@pytest.mark.parametrize("eps", [0.0, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("seed", range(8))
def test_no_move_falls_below_the_factor_at_the_end(seed: int, eps: float) -> None:
    X, y, s = data(seed, p=4)
    statement = hinge(X, y, sample_weight=s, weights="binary").statement
    found = local_search(statement, eps=eps)
    factor = 1 - eps / 4**2
    value = found.trace[-1]
    least = min(held(X, y, s, c, 0.0, 1.0) for c in flips(found.points))
    assert least >= factor * value - NOISE
    assert np.all(found.trace[1:] < factor * found.trace[:-1])
    assert len(local_search(statement, eps=16.0).trace) == 1  # nothing falls below 0


@pytest.mark.parametrize("seed", range(6))
def test_non_negative_data_and_binary_weights_are_supermodular(seed: int) -> None:
    X, y, s = data(seed, p=4)
    X = np.abs(X)
    statement = hinge(X, y, sample_weight=s, weights="binary").statement
    assert local_search(statement).supermodular
    points = [np.array(c) for c in itertools.product((0, 1), repeat=4)]
    f = {tuple(c): held(X, y, s, c, 0.0, 1.0) for c in points}
    for c, e in itertools.product(points, repeat=2):
        both, none = tuple(np.maximum(c, e)), tuple(np.minimum(c, e))
        assert f[both] + f[none] >= f[tuple(c)] + f[tuple(e)] - NOISE
    assert not local_search(hinge(X, y, weights="ternary").statement).supermodular
    assert not local_search(statement, intercept="best").supermodular
    assert not local_search(hinge(X, y, weights="binary", max_terms=2).statement).supermodular
    assert not local_search(hinge(X, y, weights="binary", l0_penalty=0.1).statement).supermodular


@pytest.mark.parametrize("search", [local_search, hill_climbing])
@pytest.mark.parametrize("seed", range(6))
def test_with_best_intercepts_no_single_change_helps(seed: int, search: Any) -> None:
    X, y, s = data(seed, whole=True, p=4)
    statement = hinge(
        X, y, sample_weight=s, weights="ternary", l0_penalty=0.01, l1_penalty=0.02, max_terms=3
    ).statement
    found = search(statement, intercept="best")
    assert found.complete
    assert found.card is not None
    assert found.objective == pytest.approx(found.trace[-1])
    reach = (-1, 1) if search is local_search else (-2, -1, 1, 2)
    for j, by in itertools.product(range(4), reach):
        other = found.points.copy()
        other[j] += by
        if abs(other[j]) <= 1 and np.count_nonzero(other) <= 3:
            card = statement.with_best_intercept(other)
            assert evaluate(statement, card).objective >= found.objective - NOISE


def test_a_penalty_of_the_whole_vector_and_blocks_are_searched_too() -> None:
    rng = np.random.default_rng(3)
    table, y = rng.integers(0, 4, (40, 2)).astype(float), rng.integers(0, 2, 40)
    design = Binner(encoding="onehot").fit_design(table, y)
    for statement in (
        fused_lasso(design, lam=0.01, coef_min=-1, coef_max=1).statement,
        facets_hinge(design, lam=0.01, coef_min=-1, coef_max=1).statement,
    ):
        found = hill_climbing(statement, intercept="best", n_restarts=2)
        assert found.card is not None
        assert found.objective == pytest.approx(found.trace[-1])


@pytest.mark.parametrize("seed", range(6))
def test_hill_climbing_ends_where_no_value_of_any_weight_is_better(seed: int) -> None:
    X, y, s = data(seed)
    statement = hinge(X, y, sample_weight=s, weights="ternary").statement
    found = hill_climbing(statement, n_restarts=5, random_state=seed)
    assert found.complete
    assert len(found.ends) == 5
    assert found.ends[found.best] == found.ends.min() == found.trace[-1]
    assert found.trace[-1] == pytest.approx(held(X, y, s, found.points, 0.0, 1.0))
    for j, value in itertools.product(range(6), (-1, 0, 1)):
        other = found.points.copy()
        other[j] = value
        assert held(X, y, s, other, 0.0, 1.0) >= found.trace[-1] - NOISE


def test_many_restarts_find_the_optimum_of_a_small_program() -> None:
    X, y, s = data(11, p=5)
    statement = hinge(X, y, sample_weight=s, weights="ternary").statement
    optimum = min(
        held(X, y, s, np.array(c), 0.0, 1.0) for c in itertools.product((-1, 0, 1), repeat=5)
    )
    found = hill_climbing(statement, n_restarts=40)
    assert found.trace[-1] == pytest.approx(optimum)
    assert found.ends.max() >= optimum


def test_the_seed_decides_the_restarts() -> None:
    X, y, s = data(2, p=12)
    statement = hinge(X, y, sample_weight=s, weights="ternary").statement
    one, two, other = (hill_climbing(statement, random_state=k) for k in (1, 1, 2))
    assert one.card == two.card
    assert np.array_equal(one.ends, two.ends)
    assert one.ends[0] == other.ends[0]  # from no weights
    assert not np.array_equal(one.ends, other.ends)
    assert (one.random_state, other.random_state) == (1, 2)


@pytest.mark.parametrize("weights", ["binary", "ternary"])
def test_permuted_columns_and_rows_change_nothing_else(weights: Any) -> None:
    for seed in range(5):
        X, y, s = data(seed)
        rng = np.random.default_rng(seed)
        rows, columns = rng.permutation(len(y)), rng.permutation(6)
        one = local_search(hinge(X, y, sample_weight=s, weights=weights).statement)
        shuffled = make_design(X[rows][:, columns], y[rows], sample_weight=s[rows])
        two = local_search(hinge(shuffled, weights=weights).statement)
        assert two.points.tolist() == one.points[columns].tolist()
        assert two.trace == pytest.approx(one.trace)


def test_constraints_are_kept_on_the_way_and_at_the_start() -> None:
    X, y, s = data(4)
    rules = [Sign("x1", "+"), AtLeast(2, ["x3", "x4", "x5"]), EitherOr("x0", "x2")]
    statement = hinge(X, y, sample_weight=s, weights="ternary", constraints=rules).statement
    assert not statement.allows(np.zeros((1, 6), dtype=np.int64))[0]
    for found in (
        local_search(statement),
        local_search(statement, intercept="best"),
        hill_climbing(statement, n_restarts=4),
    ):
        assert found.card is not None, found.refusal
        assert not statement.violations(found.card)
        assert found.objective == evaluate(statement, found.card).objective
        assert np.all(np.diff(found.trace) < 0)


def test_searches_start_exact_solves() -> None:
    X, y, s = data(5)
    program = hinge(X, y, sample_weight=s, weights="ternary")
    for found in (local_search(program.statement), hill_climbing(program.statement)):
        result = solve(program, warm_start=found.card)
        assert result.claim is Claim.OPTIMAL
        assert result.objective <= found.objective + 1e-9
        assert result.warm_start != "none"


def test_limited_work_stops_early_at_the_same_card() -> None:
    X, y, s = data(6, n=60, p=20)
    statement = hinge(X, y, sample_weight=s, weights="ternary").statement
    short = local_search(statement, max_work=5000)
    assert not short.complete
    assert 0 < len(short.moves) < len(local_search(statement).moves)
    assert short.card == local_search(statement, max_work=5000).card
    climbed = hill_climbing(statement, max_work=20_000)
    assert not climbed.complete
    assert len(climbed.ends) < 10


def test_bad_input_is_refused() -> None:
    X, y, _ = data(7)
    ternary = hinge(X, y, weights="ternary").statement
    for eps in (-0.1, math.nan, math.inf, True):
        with pytest.raises(OptionError, match="eps"):
            local_search(ternary, eps=eps)
    with pytest.raises(OptionError, match="'held' or 'best'"):
        local_search(ternary, intercept="zero")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"threshold 0\.5 means intercept -0\.5"):
        local_search(ternary, threshold=0.5)
    with pytest.raises(OptionError, match="finite"):
        hill_climbing(ternary, threshold=math.nan)
    with pytest.raises(NotApplicableError, match=r"ranges \[\(-5, 5\)\]"):
        local_search(hinge(X, y).statement)
    with pytest.raises(NotApplicableError, match="hinge loss, not zero_one"):
        hill_climbing(slim(X, y).statement)
    with pytest.raises(NotApplicableError, match="a range here has 61"):
        hill_climbing(hinge(X, y, coef_min=-30, coef_max=30).statement)
    with pytest.raises(OptionError, match="n_restarts"):
        hill_climbing(ternary, n_restarts=0)


def test_a_search_may_make_more_moves_than_there_are_features() -> None:
    """The paper says the number of iterations cannot be higher than d; here d = 4."""
    X = np.array([[2, 3, 1, 1], [1, 1, 1, 0], [1, 2, 4, 2], [2, 2, 5, 5]])
    y = np.array([1, 0, 0, 1])
    program = hinge(X, y, coef_min=0, coef_max=1, margin=0.5, intercept_bounds=(-5, -5))
    found = local_search(program.statement, eps=0.0, threshold=5.0)
    assert list(found.moves) == [(2, 1), (0, 1), (1, 1), (2, -1), (3, 1)]
    assert found.trace == pytest.approx([22 / 4, 10 / 4, 6 / 4, 5 / 4, 1, 1 / 4])
