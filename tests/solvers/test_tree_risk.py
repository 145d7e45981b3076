"""The tree search for risk scores against trying every card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tree_cases import (
    LOSSES,
    PENALTIES,
    TIGHT,
    Problem,
    Rule,
    brute,
    card_of,
    hard_problem,
    penalty_of,
    random_problem,
    search,
    value_at,
    values_of,
)

from milpscore.core.errors import OptionError
from milpscore.losses import Logistic, Poisson
from milpscore.penalties import L1
from milpscore.solvers.trees.risk import tree as risk
from milpscore.solvers.trees.risk.hulls import Arrays, PointChoices, new_hulls, solve_model
from milpscore.solvers.trees.shared.answer import Answer, Limits, SearchClock


def assert_proved(problem: Problem, answer: Answer, best: float) -> None:
    """The optimum, and bounds that were never above it."""
    if not np.isfinite(best):
        assert answer.card is None
        assert answer.objective == np.inf
        return
    slack = 1e-9 * (1.0 + abs(best))
    assert answer.objective == pytest.approx(best, abs=slack)
    assert best - slack <= answer.bound <= best + 1e-12 * (1.0 + abs(best))
    assert all(point.dual_bound <= best + 1e-12 * (1.0 + abs(best)) for point in answer.trace)
    bounds = [point.dual_bound for point in answer.trace]
    assert bounds == sorted(bounds)
    w, b = card_of(answer)
    assert value_at(problem, w, b) == pytest.approx(answer.objective, abs=1e-12)
    assert np.count_nonzero(w) <= problem.terms
    assert all(w[j] in problem.choices(j) for j in range(len(w)))


@pytest.mark.parametrize("block", range(20))
def test_random_problems_reach_the_optimum(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        problem = random_problem(seed)
        assert_proved(problem, search(problem, **TIGHT), brute(problem))


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_every_loss_with_every_penalty(name: str, loss: Any) -> None:
    for seed in (5, 6):
        problem = random_problem(seed, loss=loss)
        rng = np.random.default_rng(seed)
        problem = replace(problem, penalty=penalty_of(name, problem.X.shape[1], rng))
        assert_proved(problem, search(problem, **TIGHT), brute(problem))


def test_conflicting_rows_and_no_rows_of_weight() -> None:
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 4, axis=0)
    y = np.array([1, -1] * 4)
    weight = np.array([3.0, 1.0, 0.0, 0.0, 1.0, 2.0, 0.5, 0.0])
    problem = Problem(
        X=X,
        y=y,
        loss=Logistic(),
        lower=np.full(2, -3),
        upper=np.full(2, 3),
        sample_weight=weight,
        max_terms=1,
        b_lower=-3.0,
        b_upper=3.0,
        b_step=1.0,
    )
    assert_proved(problem, search(problem, **TIGHT), brute(problem))


def test_scores_that_overflow_are_survived() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (30, 3)).astype(float)
    problem = Problem(
        X=X,
        y=rng.choice([-1, 1], 30),
        loss=Poisson(),
        lower=np.full(3, -8),
        upper=np.full(3, 8),
        max_terms=2,
        l0_penalty=0.01,
        b_lower=-5.0,
        b_upper=5.0,
        b_step=1.0,
    )
    with np.errstate(over="ignore"):
        best = brute(problem)
    assert_proved(problem, search(problem, **TIGHT), best)


def even(w: np.ndarray, b: float) -> bool:
    """A constraint that is not part of the arrays."""
    return int(w.sum()) % 2 == 0 and abs(b) <= 3


def test_constraints_on_complete_cards() -> None:
    for seed in range(800, 830):
        problem = random_problem(seed)
        if problem.b_step is not None:
            problem = replace(problem, rule=Rule(even))
            assert_proved(problem, search(problem, **TIGHT), brute(problem))


def test_partial_decisions_may_be_ruled_out() -> None:
    seen = 0
    for seed in range(900, 940):
        problem = random_problem(seed, max_terms=None, sets={})
        if problem.X.shape[1] < 2 or problem.lower.max() > 0 or problem.b_step is None:
            continue
        seen += 1
        # feature 1 only together with feature 0
        rule = Rule(lambda w, b: not (w[1] != 0 and w[0] == 0), lambda out: len(out) < 9)
        problem = replace(problem, rule=rule)
        assert_proved(problem, search(problem, **TIGHT), brute(problem))
        none = replace(problem, rule=Rule(lambda w, b: False, lambda out: False))
        assert search(none, **TIGHT).card is None
    assert seen > 3


def test_two_searches_are_alike_and_rows_may_come_in_any_order() -> None:
    rng = np.random.default_rng(1)
    for seed in range(40, 60):
        problem = random_problem(seed)
        first, second = search(problem, **TIGHT), search(problem, **TIGHT)
        assert (first.objective, first.bound, first.nodes) == (
            second.objective,
            second.bound,
            second.nodes,
        )
        order = rng.permutation(len(problem.y))
        weight = problem.sample_weight
        mixed = replace(
            problem,
            X=problem.X[order],
            y=problem.y[order],
            sample_weight=None if weight is None else weight[order],
        )
        third = search(mixed, **TIGHT)
        assert (third.objective, third.bound, third.nodes) == (
            first.objective,
            first.bound,
            first.nodes,
        )
        again = np.repeat(np.arange(len(problem.y)), 3)
        thrice = replace(
            problem,
            X=problem.X[again],
            y=problem.y[again],
            sample_weight=None if weight is None else weight[again],
        )
        assert search(thrice, **TIGHT).objective == pytest.approx(first.objective, abs=1e-12)


def test_columns_may_come_in_any_order() -> None:
    for seed in range(60, 75):
        problem = random_problem(seed, sets={}, penalty=L1(0.01))
        order = np.random.default_rng(seed).permutation(problem.X.shape[1])
        mixed = replace(
            problem,
            X=problem.X[:, order],
            lower=problem.lower[order],
            upper=problem.upper[order],
        )
        one, other = search(problem, **TIGHT), search(mixed, **TIGHT)
        assert other.objective == pytest.approx(one.objective, abs=2e-10)


def test_bad_problems_and_options_are_refused() -> None:
    problem = hard_problem()
    for change in ({"lower": np.full(12, 5)}, {"upper": np.full(12, 10**7)}, {"sets": {0: ()}}):
        with pytest.raises(OptionError, match="range"):
            search(replace(problem, **change))
    for limit in ("time_limit", "node_limit", "gap_abs", "gap_rel", "most_open"):
        with pytest.raises(OptionError, match=limit):
            Limits(**{limit: -1})
    with pytest.raises(OptionError, match="jobs"):
        search(problem, jobs=0)


def test_every_line_lies_below_the_objective() -> None:
    for seed in range(200, 260):
        problem = random_problem(seed)
        tree = risk.RiskTree(Arrays(problem.statement), SearchClock(Limits()))
        tree.cards.empty()
        node = tree.root
        if (node.status == 1).sum() > problem.terms:
            continue
        rng = np.random.default_rng(seed)
        tree.relaxation.solve(node.child(), np.inf)
        support = tuple(np.flatnonzero((node.status == 1) | (rng.random(len(node.w)) < 0.5)))
        fitted = tree.cards.fitted(tuple(int(j) for j in support))
        w = np.array(
            [[rng.choice(problem.choices(j)) for j in range(len(node.w))] for _ in range(50)]
        )
        w = w[np.count_nonzero(w, axis=1) <= problem.terms]
        b = rng.uniform(*problem.intercepts(), len(w))
        line = fitted.constant + w @ fitted.slope + b * fitted.slope_b
        line += problem.l0_penalty * np.count_nonzero(w, axis=1)
        if problem.penalty is not None and problem.penalty.separable:
            line += np.array([problem.penalty.value(row) for row in w])
        assert np.all(line <= values_of(problem, w, b))


REAL = {
    "bankruptcy": 0.01239852,
    "haberman": 0.57796757,
    "breastcancer": 0.11336465,
    "mammo": 0.46855923,
    "mushroom": 0.06869288,
    "adult": 0.38334845,
}


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_sets_are_proved(name: str, uci: Any) -> None:
    X, y = uci(name)
    p = X.shape[1]
    problem = Problem(
        X=X.to_numpy(dtype=float),
        y=np.where(y > 0, 1, -1),
        loss=Logistic(),
        lower=np.full(p, -5),
        upper=np.full(p, 5),
        max_terms=5,
        l0_penalty=1e-6,
        b_lower=-600.0,
        b_upper=600.0,
        b_step=1.0,
    )
    answer = search(problem, gap_rel=1e-4)
    assert answer.objective == pytest.approx(REAL[name], abs=1e-8)
    assert answer.gap <= 1e-4
    assert value_at(problem, *card_of(answer)) == pytest.approx(answer.objective, abs=1e-12)


def test_columns_that_nearly_depend_on_each_other_come_to_rest() -> None:
    """No coefficient within its range has a derivative left, where sweeps alone need thousands."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X[:, 4] = X[:, 0] + X[:, 1] + 1e-3 * rng.normal(size=60)
    y = X @ np.array([1.3, -2.2, 0.4, 3.1, 0.8]) + rng.normal(size=60)
    points = np.tile([-9.0, 0.0, 9.0], (5, 1))
    start, end = np.zeros(5, np.int64), np.full(5, 2, np.int64)
    choices = PointChoices(points, np.zeros((5, 3)), start, end, start + 1, np.ones(5, np.bool_))
    gram, gradient, w = X.T @ X / 60, -X.T @ y / 60, np.zeros(5)
    solve_model(gram, gradient.copy(), w, choices, new_hulls(5, 3), 0.0, 5.0, 0.0)
    inside = np.abs(w) < 9.0
    assert inside.sum() >= 3
    left = gram @ w + gradient
    assert np.abs(left[inside]).max() < 1e-8
    assert (left[~inside] * w[~inside] <= 1e-8).all()


def test_a_support_is_rounded_where_its_real_weights_may_be_better() -> None:
    """Tried are the supports that can win, and only these."""
    problem = hard_problem()
    answer = search(problem, **TIGHT)
    tree = risk.RiskTree(Arrays(problem.statement), SearchClock(Limits()))
    assert answer.card is not None
    tree.cards.take(answer.card)
    best = tree.cards.best.objective
    own = tree.cards.fitted(tuple(np.flatnonzero(answer.card.coefficients).tolist()))
    assert own.primal <= best
    tree.cards.polish(own)
    assert tree.cards.work > 0.0
    spent = tree.cards.work
    nothing = tree.cards.fitted(())
    assert nothing.primal > best
    tree.cards.polish(nothing)
    assert tree.cards.work == spent
