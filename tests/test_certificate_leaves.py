"""The proof by leaves against enumeration: it proves optima, and nothing above them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from milpscore.certificate import verify_certificate
from milpscore.certificate.leaves import Space, Tangent, grow_tree, prove_by_leaves
from milpscore.certificate.tangents import CURVES, Rows, eye_slope
from milpscore.constraints import MaxFPR
from milpscore.core.card import Card
from milpscore.core.errors import NotApplicableError
from milpscore.formulations import risk_score
from milpscore.penalties import EYE
from milpscore.verify import evaluate
from tests.certificate_cases import X, Y, certificate_of, random_program


@pytest.mark.parametrize("seed", range(60))
def test_leaves_prove_the_optimum_and_nothing_above_it(seed: int) -> None:
    program, best = random_program(seed)
    optimum, statement = best["objective"], program.statement
    if not np.isfinite(optimum):
        nodes = grow_tree(statement, 10.0, 30, 10**7)
        assert prove_by_leaves(statement, nodes, 10.0)[0]
        return
    goal = optimum - 1e-8 * max(1.0, abs(optimum))
    nodes = grow_tree(statement, goal, 30, 10**7)
    assert prove_by_leaves(statement, nodes, goal)[0]
    above = optimum + 1e-8 * max(1.0, abs(optimum))
    assert not prove_by_leaves(statement, nodes, above)[0]
    with pytest.raises(NotApplicableError, match="single card"):
        grow_tree(statement, above, 30, 10**7)


@pytest.mark.parametrize("seed", range(30))
def test_no_tree_of_random_splits_proves_too_much(seed: int) -> None:
    """Whatever a forger writes: a tree that is accepted proves a bound that holds."""
    program, best = random_program(seed)
    if not np.isfinite(best["objective"]):
        return
    rng = np.random.default_rng(seed)
    p = program.statement.design.shape[1]

    def tree(depth: int) -> list[Any]:
        if rng.random() < 0.2:
            return [None]
        point = [list(range(p)), rng.normal(0, 2, p).tolist(), float(rng.normal())]
        if depth == 0:
            return [[*point, None]]
        split = [int(rng.integers(-1, p)), float(rng.integers(-3, 4))]
        return [[*point, split], *tree(depth - 1), *tree(depth - 1)]

    above = best["objective"] + 1e-9
    for _ in range(5):
        assert not prove_by_leaves(program.statement, tree(5), above)[0]


@pytest.mark.parametrize("intercept", ["real", "zero"])
@pytest.mark.parametrize("loss", list(CURVES))
def test_other_intercepts_are_proved(intercept: str, loss: str) -> None:
    program = risk_score(X, Y, loss=loss, intercept=intercept, max_terms=2, penalty="l2", lam=0.01)
    made = certificate_of(program, "tree")
    assert made.evidence["kind"] == "leaves"
    found = verify_certificate(made, X, Y)
    assert found.proved, found.to_text()


@pytest.mark.parametrize("seed", range(20))
def test_lines_lie_below_every_card(seed: int) -> None:
    program, _ = random_program(seed)
    statement = program.statement
    rng = np.random.default_rng(seed)
    p = statement.design.shape[1]
    made = Rows(statement).tangents(rng.normal(0, 1.5, (8, p)), rng.normal(0, 2, 8))
    whole = rng.integers(-3, 4, (30, p))
    separable = [t for t in statement.penalties if statement.arguments["penalty"] != "eye"]
    separable = separable or [statement.penalties[0]]
    for w in np.clip(whole, statement.coef_min, statement.coef_max):
        card = Card(w, Fraction(int(rng.integers(-4, 5))))
        cost = evaluate(statement, card).objective - sum(t.value(w) for t in separable)
        heights = made.constant + made.slope @ w + made.slope_b * float(card.intercept)
        assert (heights <= cost + 1e-13 * max(1.0, abs(cost))).all()


@pytest.mark.parametrize("seed", range(120))
def test_tightening_drops_exactly_what_a_line_puts_above_the_goal(seed: int) -> None:
    statement = random_program(seed % 40)[0].statement
    if statement.constraints:
        statement = replace(statement, constraints=())
    rng = np.random.default_rng(seed)
    space = Space(statement)
    p = len(space.values)
    line = Tangent(float(rng.normal()), rng.normal(0, 0.3, p), float(rng.choice([0.0, 0.2, -0.5])))
    choices = [space.values[j, space.real[j]].astype(int) for j in range(p)]
    cards = [
        (w, b)
        for w in itertools.product(*choices)
        for b in range(-4, 5)
        if sum(v != 0 for v in w) <= space.terms
    ]
    omega = statement.penalties[:1] if statement.arguments["penalty"] == "eye" else None
    heights = np.array([
        line.constant
        + line.slope @ np.array(w)
        + line.slope_b * b
        + sum(t.value(np.array(w)) for t in omega or statement.penalties)
        for w, b in cards
    ])  # fmt: skip
    if not cards:
        assert space.tighten(line, space.all_cards(), 1e9)
        return
    for goal in [*np.quantile(heights, [0.0, 0.05, 0.3, 0.9]) + 1e-6, heights.min() - 1e-6]:
        box = space.all_cards()
        closed = space.tighten(line, box, float(goal))
        assert closed == bool(heights.min() >= goal)
        if closed:
            continue
        left = [
            box.b_low <= b <= box.b_high
            and all(
                space.values[j, box.low[j]] <= v <= space.values[j, box.high[j]]
                and not (v == 0 and box.used[j])
                for j, v in enumerate(w)
            )
            for w, b in cards
        ]
        below = heights < goal
        assert np.array(left)[below].all()
        # every end of what is left belongs to some card below the goal
        points = np.array([w for w, _ in cards])[below]
        for j in range(p):
            assert points[:, j].min() == space.values[j, box.low[j]]
            assert points[:, j].max() == space.values[j, box.high[j]]
            assert bool(box.used[j]) <= bool((points[:, j] != 0).all())


def test_eye_lines_touch_and_support() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        expert = rng.choice([0.0, 0.3, 1.0], 4)
        w = rng.normal(0, 1, 4) * rng.integers(0, 2, 4)
        penalty = EYE(0.7, expert=expert)
        s = eye_slope(w, rng.normal(0, 1, 4), 0.7, expert)
        assert s @ w == pytest.approx(penalty.value(w), abs=1e-12)
        for v in rng.normal(0, 2, (20, 4)):
            assert s @ v <= penalty.value(v) + 1e-12


def test_a_limit_on_errors_is_proved_too() -> None:
    program = risk_score(
        X, Y, max_terms=2, coef_min=-2, coef_max=2, constraints=[MaxFPR(0.05)],
        intercept_bounds=(-8, 8),
    )  # fmt: skip
    made = certificate_of(program, "highs", evidence="leaves")
    assert made.statement["arguments"]["constraints"][0]["type"] == "max_fpr"
    assert verify_certificate(made, X, Y).failed == ()
