"""Supports of two-valued columns: no card below the cutoff is lost, no bound lies above a card.

The oracle tries every allowed w, and slopes and intercepts by the general minimiser that
``test_risk_scale`` holds against bisection.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from tree_cases import set_policy

from milpscore.constraints import (
    AtLeast,
    AtMost,
    EitherOr,
    Exclude,
    Include,
    MaxErrors,
    MaxFPR,
    MinTPR,
    Range,
    Sign,
)
from milpscore.formulations import risk_score
from milpscore.solvers import solve
from milpscore.solvers.trees.risk import support_bounds as supports, tree as risk
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.limit_prices import ErrorLimits
from milpscore.solvers.trees.risk.relaxation import OUT, Node
from milpscore.solvers.trees.risk.support_bounds import Enumeration
from milpscore.verify import evaluate

LOSSES = ("logistic", "squared", "squared_hinge", "poisson")


def case(seed: int, **given: Any) -> Any:
    """A tiny program on two-valued columns, some of them equal, mirrored or constant."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 40)), int(rng.integers(3, 7))
    X = (rng.random((n, p)) < rng.choice([0.15, 0.5])).astype(float)
    if seed % 3 == 0:
        X[:, 1] = 1.0 - X[:, 0]
    if seed % 4 == 0:
        X[:, 2] = X[:, 0]
    if seed % 5 == 0:
        X[:, p - 1] = 1.0
    if seed % 7 == 0:
        X[:, 0] = np.where(X[:, 0] > 0, 2.5, -0.5)
    y = X @ rng.normal(size=p) + rng.logistic(size=n) * rng.choice([0.0, 0.5]) > 0.2
    y[0], y[1] = True, False
    arguments: dict[str, Any] = {
        "loss": LOSSES[seed % 4] if seed % 2 else "logistic",
        "scale": "auto" if seed % 3 else 1.0,
        "coef_min": -1 if seed % 5 else 0,
        "coef_max": 1,
        "max_terms": int(rng.integers(1, 5)),
        "l0_penalty": float(rng.choice([1e-6, 0.02])),
    }
    if seed % 4 == 1:
        arguments["sample_weight"] = rng.integers(1, 4, size=n).astype(float)
    if seed % 4 == 3:
        arguments["class_weight"] = "balanced"
    if seed % 6 == 1:
        arguments |= {"penalty": str(rng.choice(["l1", "l2", "facets"])), "lam": 0.02}
    if seed % 8 == 5:
        arguments["intercept"] = "zero"
    return risk_score(X, y.astype(int), **arguments, **given)


def cards(statement: Any) -> list[tuple[float, np.ndarray]]:
    """Every allowed w with its best objective."""
    p = statement.shape[1]
    most = p if statement.max_terms is None else statement.max_terms
    low, high = statement.ranges
    found = []
    for points in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        w = np.array(points, np.int64)
        if np.count_nonzero(w) <= most and statement.allows(w[None, :])[0]:
            card = statement.with_best_intercept(w)
            if not statement.violations(card):
                found.append((evaluate(statement, card).objective, w))
    assert len(found) <= 3**p
    return found


RULES: list[list[Any]] = [
    [Include(["x0", "x1"])],
    [AtLeast(2, ["x0", "x1", "x2"])],
    [Range("x1", 1, 1)],
    [EitherOr("x0", "x2"), Exclude("x1")],
    [Sign(["x0", "x1"], "+"), Sign("x2", "-")],
    [MaxFPR(0.1)],
    [MinTPR(0.9), MaxErrors("x1 >= 1", share=0.2)],
    [MinTPR(0.8), MaxFPR(0.3), Include("x2")],
]
"""Supports are to be left out by them, or all to hold some columns."""


RULED = [(seed, rules) for k, rules in enumerate(RULES) for seed in range(k, 48, 16)]


@pytest.mark.parametrize(("seed", "rules"), [*((seed, []) for seed in range(48)), *RULED], ids=str)
def test_no_card_below_the_cutoff_is_lost(seed: int, rules: list[Any]) -> None:
    """Each lies on a support that is found, whose bound is not above it; the rest is proved."""
    statement = case(seed, constraints=rules).statement.narrowed()
    every = [] if statement is None else sorted(cards(statement), key=lambda each: each[0])
    if rules and not every:  # one term where two are asked for
        return
    for share in (0.0, 0.1, 0.5):
        enumeration = enumerated(statement, every, share)
        assert enumeration.applies == (enumeration.size > 0)  # else no two-valued column is left


def enumerated(statement: Any, every: list[tuple[float, np.ndarray]], share: float) -> Enumeration:
    """The supports at a cutoff, at the optimum itself or above some of the cards; none is lost."""
    arrays = Arrays(statement)
    cutoff = every[int(share * (len(every) - 1))][0] * (1.0 + 1e-9) + 1e-12
    known = statement.with_best_intercept(every[0][1])
    enumeration = Enumeration(arrays, Node.root(arrays), limits=ErrorLimits(arrays), known=known)
    if not enumeration.applies:
        return enumeration
    assert enumeration.advance(cutoff, math.inf)
    boxes = [(bound, enumeration.node(bound, each)) for bound, each in enumeration.found]
    for objective, w in every:
        if objective >= cutoff:
            break
        assert enumeration.bound <= objective
        holding = [bound for bound, box in boxes if not w[box.status == OUT].any()]
        assert holding, (objective, w)
        assert min(holding) <= objective
    return enumeration


def test_supports_that_part_the_classes_are_found_by_the_pairs_they_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same ones as by looking at all, where a card of next to no loss is known."""
    parted = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = (rng.random((int(rng.integers(12, 40)), 9)) < 0.4).astype(float)
        y = X[:, :3] @ rng.choice([-2, 1, 2], 3) > 0.5
        if 0 < y.sum() < len(y):
            rules = [Include("x5")] if seed % 3 == 0 else []
            made = risk_score(
                X, y.astype(int), max_terms=5, l0_penalty=1e-4, coef_min=-3, coef_max=3,
                class_weight="balanced" if seed % 4 == 1 else None, constraints=rules,
            )  # fmt: skip
            found = []
            for least in (None, 0.0):
                with monkeypatch.context() as patch:
                    if least is not None:
                        patch.setattr(Enumeration, "_least_pair", lambda _: 0.0)
                    arrays = Arrays(made.statement)
                    enumeration = Enumeration(arrays, Node.root(arrays))
                    assert enumeration.advance(6e-4, math.inf)
                    found.append({tuple(sorted(s)): b for b, s in enumeration.found})
                    parted += len(enumeration.pairs)
            assert found[0] == pytest.approx(found[1], abs=1e-12)
    assert parted > 30


@pytest.mark.parametrize("label", [-1, 1])
@pytest.mark.parametrize("seed", range(4))
def test_priced_cells_lose_no_more_than_any_function_of_them_within_a_limit(
    seed: int, label: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all ways to answer the cells that keep to the limit, the best one is not below the bound.

    A limit on errors of one class; rows of both classes weigh alike or balanced.
    """
    monkeypatch.setattr(supports, "bound_supports", lambda *given: 0)
    rng = np.random.default_rng(seed)
    X = (rng.random((150, 6)) < rng.uniform(0.2, 0.6, size=6)).astype(float)
    y = np.where(X @ [2.0, 1.0, -2.0, 1.0, -1.0, 0.0] + 2.0 * rng.logistic(size=150) > 0.5, 1, -1)
    rule = MaxFPR(0.05) if label < 0 else MinTPR(0.95)
    given = {"max_terms": 3 + seed % 2, "class_weight": "balanced" if seed > 1 else None}
    program = risk_score(X, (y > 0).astype(int), l0_penalty=0.0, constraints=[rule], **given)
    arrays = Arrays(program.statement)
    known = program.statement.with_best_intercept(np.array([1, 1, -1, 0, 0, 0]))
    enumeration = Enumeration(arrays, Node.root(arrays), limits=ErrorLimits(arrays), known=known)
    assert enumeration.prices is not None
    assert enumeration.advance(math.inf, math.inf)
    assert len(enumeration.found) == math.comb(6, 3 + seed % 2)
    share = np.where(y > 0, 0.5 / (y > 0).sum(), 0.5 / (y < 0).sum()) if seed > 1 else 1.0 / 150
    above = 0
    for bound, each in enumeration.found:
        columns = [int(enumeration.classes[c][0]) for c in each]
        _, cell = np.unique(X[:, columns], axis=0, return_inverse=True)
        p, n = (np.bincount(cell.ravel(), share * (y == side)) for side in (1, -1))
        wrong = [np.bincount(cell.ravel(), (y == side) * (y == label)) for side in (-1, 1)]
        free = np.array([least("logistic", *pair) for pair in zip(p, n, strict=True)])
        zero = (p + n) * math.log(2.0)
        answers = np.array(list(itertools.product((True, False), repeat=len(p))))
        held = np.where(answers, *wrong).sum(axis=1) <= 0.05 * (y == label).sum() + 1e-9
        lost = np.where(answers, np.where(p >= n, free, zero), np.where(p <= n, free, zero))
        assert bound <= lost.sum(axis=1)[held].min()
        above += bound > free.sum()
    assert above > 0


@pytest.mark.parametrize("seed", range(0, 48, 3))
def test_supports_prove_what_boxes_prove(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search that takes turns from its first node on ends with the enumerated optimum."""
    program = case(seed)
    least = min(objective for objective, _ in cards(program.statement))
    set_policy(monkeypatch, risk, first_turn=0.0, turn_nodes=1, node_cost=1e9)
    result = solve(program, "tree", mip_gap=0.0, time_limit=60.0, node_limit=20_000)
    assert result.objective == pytest.approx(least, rel=1e-6, abs=1e-9)
    assert result.dual_bound <= least + 1e-12
    assert str(result.claim) == "optimal"


@pytest.mark.parametrize("seed", range(12))
def test_left_are_the_supports_whose_cells_lose_less(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No prefix is left too early, whatever the loss, the weights and the size."""
    monkeypatch.setattr(supports, "bound_supports", lambda *given: 0)
    rng = np.random.default_rng(seed)
    n, p, size = int(rng.integers(30, 700)), 9, 3 + seed % 4
    X = (rng.random((n, p)) < rng.uniform(0.1, 0.6, size=p)).astype(float)
    y = np.where(X[:, :4].sum(axis=1) + rng.logistic(size=n) > 1.5, 1, 0)
    program = risk_score(
        X, y, loss=LOSSES[seed % 4], scale="auto", max_terms=size, l0_penalty=0.0,
        class_weight="balanced" if seed % 3 else None,
    )  # fmt: skip
    arrays = Arrays(program.statement)
    lost, codes = {}, np.array(arrays.codes)
    for support in itertools.combinations(range(p), size):
        _, cell = np.unique(codes[list(support)], axis=1, return_inverse=True)
        positive, negative = (
            np.bincount(cell.ravel(), weights=arrays.share * (arrays.y > 0.0)),
            np.bincount(cell.ravel(), weights=arrays.share * (arrays.y <= 0.0)),
        )
        lost[support] = sum(
            least(LOSSES[seed % 4], *each) for each in zip(positive, negative, strict=True)
        )
    for share in (0.02, 0.3):
        cutoff = float(np.quantile(list(lost.values()), share)) * (1.0 + 1e-7)
        enumeration = Enumeration(arrays, Node.root(arrays))
        assert enumeration.advance(cutoff, math.inf)
        names = {
            tuple(sorted(int(enumeration.classes[c][0]) for c in each)): bound
            for bound, each in enumeration.found
        }
        assert set(names) == {each for each, value in lost.items() if value < cutoff}
        for each, bound in names.items():
            assert bound == pytest.approx(lost[each], rel=1e-8)
            assert bound <= lost[each]


def least(loss: str, p: float, n: float) -> float:
    """The least loss of weights p positive and n negative at one score, from the formulas."""
    if loss == "poisson":
        return p - p * math.log(p / (p + n)) if p else 0.0
    if loss == "logistic":
        return sum(x * math.log((p + n) / x) for x in (p, n) if x)
    return 2 * p * n / (p + n)


def test_a_steep_card_is_proved_whatever_the_scale() -> None:
    """Where boxes have a bound of 0 until nearly all is decided: few nodes, by supports."""
    program = steep()
    result = solve(program, "tree", time_limit=60.0, node_limit=1000)
    assert str(result.claim) == "optimal"
    assert set(np.flatnonzero(result.card.coefficients)) == set(range(0, 30, 6))


def test_rules_only_take_cards_away() -> None:
    """Supports that a rule forbids are left, the best card that keeps to it is proved."""
    rng = np.random.default_rng(5)
    X = (rng.random((120, 6)) < 0.4).astype(float)
    y = (X @ [3.0, 3.0, -3.0, 0.0, 1.0, 0.0] + rng.logistic(size=120) > 1.0).astype(int)
    rules = [AtMost(1, ["x0", "x1"]), MaxFPR(0.2)]
    program = risk_score(X, y, max_terms=3, coef_min=-1, coef_max=1, constraints=rules)
    allowed = [
        objective
        for objective, w in cards(program.statement)
        if not program.statement.violations(program.statement.with_best_intercept(w))
    ]
    with pytest.MonkeyPatch.context() as patch:
        set_policy(patch, risk, first_turn=0.0, node_cost=1e9)
        result = solve(program, "tree", time_limit=60.0)
    assert result.objective == pytest.approx(min(allowed), rel=1e-6)
    assert str(result.claim) == "optimal"


def steep() -> Any:
    """A program whose best card is many units of score a point."""
    rng = np.random.default_rng(1)
    X = (rng.random((3000, 30)) < rng.uniform(0.1, 0.6, size=30)).astype(float)
    score = X[:, ::6] @ np.array([9.0, -6.0, 12.0, -9.0, 6.0]) - 4.0
    y = (score + rng.logistic(size=len(X)) > 0).astype(int)
    return risk_score(X, y, max_terms=5)


def test_too_many_pairs_to_count_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Supports are given up at once, not the memory of the machine; the boxes prove the card."""
    program = case(9)
    statement = program.statement
    arrays, least_of = Arrays(statement), min(objective for objective, _ in cards(statement))
    set_policy(monkeypatch, supports, most_pairs=0)
    enumeration = Enumeration(arrays, Node.root(arrays))
    assert enumeration.size >= 3
    assert enumeration.advance(least_of + 0.3, math.inf)  # supports need not part all rows
    assert enumeration.bound == -math.inf
    set_policy(monkeypatch, risk, first_turn=0.0, node_cost=1e9)
    result = solve(program, "tree", mip_gap=0.0, time_limit=60.0)
    assert str(result.claim) == "optimal"
    assert result.objective == pytest.approx(least_of, rel=1e-6)


def test_an_interrupt_among_supports_keeps_card_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-done enumeration proves nothing beyond the boxes, and loses nothing."""
    program = steep()
    best = solve(program, "tree", time_limit=60.0)

    def interrupted(self: Enumeration, cutoff: float, work: float) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Enumeration, "advance", interrupted)
    set_policy(monkeypatch, risk, first_turn=0.0)
    result = solve(program, "tree", time_limit=60.0)
    assert str(result.termination) == "interrupted"
    assert result.card is not None
    assert result.dual_bound <= best.objective


def test_several_processes_share_what_supports_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is that of one process."""
    set_policy(monkeypatch, risk, first_turn=0.0, alone=0.0)
    alone, shared = (solve(steep(), "tree", threads=k, time_limit=60.0) for k in (1, 2))
    assert shared.objective == alone.objective
    assert str(shared.claim) == str(alone.claim) == "optimal"


def test_other_columns_are_left_to_the_boxes() -> None:
    """Three values in a column, or weights that are no multiples of one, are not counted."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(40, 4)).astype(float)
    y = (X[:, 0] + rng.random(40) > 0.8).astype(int)
    weighted = risk_score(X, y, sample_weight=rng.random(40) + 0.1)
    X[0, 3] = 2.0
    for program in (weighted, risk_score(X, y)):
        arrays = Arrays(program.statement)
        assert not Enumeration(arrays, Node.root(arrays)).applies
