"""Bounds under limits on errors against every card of a node."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from designs import design

from milpscore.constraints import MaxErrors, MaxFPR, MaxGap, MinTPR
from milpscore.core.clock import Clock
from milpscore.core.statement import Statement
from milpscore.formulations import risk_score
from milpscore.solvers.trees.risk import tree as risk
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.limit_prices import card_bounds
from milpscore.solvers.trees.risk.relaxation import IN, OUT, Node, Relaxation
from milpscore.solvers.trees.shared.answer import Limits

RULES: list[Any] = [
    lambda share: [MaxFPR(share)],
    lambda share: [MinTPR(1.0 - share)],
    lambda share: [MaxErrors(share=share)],
    lambda share: [MaxErrors("x0 >= 1", share=share), MaxFPR(0.5)],
]
GAPS: list[Any] = [
    lambda share: [MaxGap("selection", "x0", share)],
    lambda share: [MaxErrors(share=0.5), MaxGap("selection", "x0", share)],
]


def limited(seed: int, rules: list[Any] = RULES) -> Statement:
    """A tiny statement with limits on errors, or on gaps; every third scale is fixed."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 12)), int(rng.integers(1, 4))
    X = rng.integers(0, 2, (n, p)) if rng.random() < 0.5 else rng.integers(-2, 3, (n, p))
    X[:2, 0] = 0, 1
    y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    weight = rng.choice([1.0, 1.0, 0.3, 2.5], n) if rng.random() < 0.5 else None
    return risk_score(
        design(X, y, weight),
        constraints=rules[int(rng.integers(len(rules)))](float(rng.choice([0.0, 0.2, 0.34]))),
        coef_min=-int(rng.integers(0, 3)),
        coef_max=int(rng.integers(1, 3)),
        max_terms=int(rng.integers(1, p + 1)),
        l0_penalty=float(rng.choice([0.0, 0.01])),
        scale=1.0 if seed % 3 == 0 else "auto",
    ).statement


def least(statement: Statement, w: Any) -> float:
    """The least objective of points w within the limits, up to what a grid of slopes misses."""
    data = statement.design
    totals, share = data.X @ w, data.weight / data.weight.sum()
    allowed = [limit for each in statement.constraints for limit in each.limits]
    rule, scales = statement.intercept, statement.scales
    if scales is None:
        lines = [(1.0, float(b)) for b in range(math.ceil(rule.lower), math.floor(rule.upper) + 1)]
    else:
        ends = 1.0 / scales.upper, 1.0 / scales.lower
        inside = np.unique(np.concatenate([totals, totals + 1e-9, totals + 0.5]))
        inside = inside[(-inside >= float(rule.lower)) & (-inside <= float(rule.upper))]
        lines = list(itertools.product(np.geomspace(*ends, 60), -inside))
    best = math.inf
    for s, b in lines:
        if all(paid[totals + b < 0].sum() <= most for paid, most, _ in allowed):
            z = s * (totals + b)
            best = min(best, float(share @ np.logaddexp(0.0, -data.y * z)))
    card = statement.with_best_intercept(w)
    if not statement.violations(card):
        best = min(best, Arrays(statement).objective_of(card) - statement.penalty(w))
    return best + statement.penalty(w)


def cards(arrays: Arrays, node: Node) -> Any:
    """All points of a node, shape (V, p)."""
    ranges = [arrays.points[j, node.lo[j] : node.hi[j] + 1] for j in range(arrays.p)]
    points = np.array(list(itertools.product(*ranges)), dtype=np.int64)
    return points[arrays.statement.allows(points)]


def part_of(root: Node, arrays: Arrays, rng: np.random.Generator) -> Node:
    """A node below the root: some columns out, some in with a narrower range, steep slopes off."""
    node = root.child()
    for j in range(arrays.p):
        zero, drawn = int(arrays.zero[j]), rng.random()
        if drawn < 0.3 and zero >= 0:
            node.status[j], node.lo[j], node.hi[j] = OUT, zero, zero
        elif drawn < 0.7:
            # in: points of one sign, as the search's own nodes have them
            low, high = (0, zero - 1) if rng.random() < 0.5 else (zero + 1, int(arrays.hi[j]))
            if zero >= 0 and low <= high:
                ends = np.sort(rng.integers(low, high + 1, 2))
                node.status[j], node.lo[j], node.hi[j] = IN, ends[0], ends[1]
    return node


@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_priced_bounds_stay_below_every_card(block: int) -> None:
    raised = 0
    for seed in range(30 * block, 30 * block + 30):
        statement, rng = limited(seed), np.random.default_rng(seed)
        arrays = Arrays(statement)
        relaxation, root = Relaxation(arrays), Node.root(arrays)
        for _ in range(3):
            node = part_of(root, arrays, rng)
            points = cards(arrays, node)
            if node.sure > arrays.terms or not len(points):
                continue
            best = min(least(statement, w) for w in points)
            plain = node.child()
            relaxation.solve(plain, math.inf)
            node.prices = rng.choice([0.0, 0.1, 1.0, 10.0, 1e3], len(relaxation.limits))
            relaxation.solve(node, math.inf)
            assert node.bound <= best + 1e-12, (seed, node.bound, best)
            raised += node.bound > plain.bound + 1e-6
            found = relaxation.priced(plain, 2.0 if math.isinf(best) else best + 0.01, Clock())
            assert found.bound <= max(best, 2.0 if math.isinf(best) else best + 0.01) + 1e-12
            if found.bound < best + 0.01:
                assert found.bound <= best + 1e-12, (seed, found.bound, best)
    assert raised > 10


@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_single_cards_are_bounded_where_they_lie(block: int) -> None:
    held = 0
    for seed in range(30 * block, 30 * block + 30):
        statement = limited(seed)
        arrays = Arrays(statement)
        if not arrays.scaled:
            continue
        relaxation, root = Relaxation(arrays), Node.root(arrays)
        points = cards(arrays, root)
        bounds = card_bounds(arrays, relaxation.limits, points, arrays.slopes)
        for w, bound in zip(points, bounds.tolist(), strict=True):
            best = least(statement, w) - statement.penalty(w)
            assert bound <= best + 1e-12, (seed, w)
            assert bound == best == math.inf or bound >= best - 1e-6, (seed, w, bound, best)
            unlimited = arrays.leaf_bound(w, *arrays.slopes) - statement.penalty(w)
            held += unlimited + 1e-6 < bound < math.inf
    assert held > 25


@pytest.mark.parametrize("rules", [RULES, GAPS], ids=["errors", "gaps"])
@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_search_ends_at_the_best_card_within_the_limits(block: int, rules: list[Any]) -> None:
    for seed in range(15 * block, 15 * block + 15):
        statement = limited(seed, rules)
        arrays = Arrays(statement)
        best = min(least(statement, w) for w in cards(arrays, Node.root(arrays)))
        answer = risk.search(statement, Limits(gap_rel=1e-7))
        assert answer.bound <= best + 1e-12, seed
        if math.isinf(best):
            assert answer.card is None
        else:
            assert answer.objective <= best + 1e-6
            assert answer.card is not None
            assert not statement.violations(answer.card)


@pytest.mark.parametrize(("share", "priced"), [(0.0, True), (0.9, False)])
def test_a_limit_that_costs_nothing_has_no_price(share: float, priced: bool) -> None:
    """At a price, however small, nodes take longer and their lines say less of the slopes."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 3)).astype(float)
    y = np.where(X @ [1.0, -1.0, 0.5] + rng.normal(size=60) > 0.4, 1, -1)
    arrays = Arrays(risk_score(X, (y > 0).astype(int), constraints=[MaxFPR(share)]).statement)
    relaxation, root = Relaxation(arrays), Node.root(arrays)
    assert relaxation.solve(root, 1.0)
    assert (relaxation.priced(root, 1.0, Clock()).prices is not None) == priced


def test_a_node_is_left_where_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line holds wherever it is drawn, so that the bound is valid, only lower."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (40, 6)).astype(float)
    y = (rng.random(40) < 0.5).astype(int)
    arrays = Arrays(risk_score(X, y, max_terms=2, scale=2.0).statement)
    solved, left = Node.root(arrays), Node.root(arrays)
    Relaxation(arrays).solve(solved, math.inf)
    monkeypatch.setattr("milpscore.solvers.trees.risk.relaxation._Model.minimise", None)
    assert Relaxation(arrays, Clock(0.0)).solve(left, math.inf)
    assert -math.inf < left.bound < solved.bound
