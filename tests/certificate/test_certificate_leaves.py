"""The proof by leaves against enumeration: it proves optima, and nothing above them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from milpscore.certificate import verify_certificate
from milpscore.certificate.cards import SMOOTH, exact_rows, plain_cards
from milpscore.certificate.leaves import ScoreTangent, Space, grow_tree
from milpscore.certificate.tangents import TangentRows
from milpscore.constraints import MaxFPR
from milpscore.core.card import Card
from milpscore.core.errors import NotApplicableError
from milpscore.formulations import risk_score
from milpscore.verify import evaluate
from milpscore_check.cards import Cards
from milpscore_check.proof import prove
from tests.certificate_cases import X, Y, certificate_of, random_program


def proves(statement: Any, evidence: Any, goal: float) -> bool:
    """Whether the checker accepts evidence for a bound."""
    cards = Cards(plain_cards(statement), statement.shape[1])
    return prove(exact_rows(statement.design), cards, evidence, Fraction(goal))[0]


@pytest.mark.parametrize("loss", sorted(SMOOTH))
@pytest.mark.parametrize("seed", range(60))
def test_leaves_prove_the_optimum_and_nothing_above_it(seed: int, loss: str) -> None:
    program, best = random_program(seed, loss)
    optimum, statement = best["objective"], program.statement
    if not np.isfinite(optimum):
        evidence = grow_tree(statement, 10.0, 30, 10**7)
        assert proves(statement, evidence, 10.0)
        return
    goal = optimum - 1e-8 * max(1.0, abs(optimum))
    evidence = grow_tree(statement, goal, 30, 10**7)
    assert proves(statement, evidence, goal)
    above = optimum + 1e-8 * max(1.0, abs(optimum))
    assert not proves(statement, evidence, above)
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
    slope = 1.0 / float(plain_cards(program.statement)["scale"][0])

    def tree(depth: int) -> list[Any]:
        if depth == 0 or rng.random() < 0.2:
            return [int(rng.integers(-1, 6))]
        split = [int(rng.integers(0, p + 1)), int(rng.integers(-3, 4))]
        return [split, *tree(depth - 1), *tree(depth - 1)]

    above = best["objective"] + 1e-9
    for _ in range(5):
        points = [
            [list(range(p)), rng.normal(0, 2, p).tolist(), float(rng.normal()), slope]
            for _ in range(6)
        ]
        assert not proves(program.statement, {"points": points, "tree": tree(5)}, above)


@pytest.mark.parametrize("loss", sorted(SMOOTH))
@pytest.mark.parametrize("given", [{"intercept": "real"}, {"intercept": "zero"}, {"scale": "auto"}])
def test_other_intercepts_and_scales_are_proved(given: Any, loss: str) -> None:
    given = {"scale": 1.0, "loss": loss, **given}
    program = risk_score(X, Y, max_terms=2, penalty="l2", lam=0.01, **given)
    made = certificate_of(program, "tree")
    assert made.evidence["kind"] == "leaves"
    found = verify_certificate(made, X, Y)
    assert found.proved, found.to_text()


@pytest.mark.parametrize(
    ("other", "named"),
    [({"loss": "poisson"}, "poisson"), ({"penalty": "eye", "lam": 0.01, "expert": ["x0"]}, "eye")],
)
def test_what_the_checker_does_not_decide_is_a_solvers_word(other: Any, named: str) -> None:
    """Neither loss nor penalty: no evidence is made, and none that is forged is accepted."""
    program = risk_score(X, Y, max_terms=2, coef_min=-2, coef_max=2, scale=1.0, **other)
    made = certificate_of(program, "tree")
    assert made.evidence["kind"] == "none"
    assert named in made.evidence["reason"].lower()
    forged = {"kind": "leaves", "points": [[[], [], 0.0, 1.0]], "tree": [0]}
    found = verify_certificate(replace(made, evidence=forged).sealed(), X, Y)
    assert found["bound"].status == "not proved"
    assert "not decided here" in found["bound"].sentence


@pytest.mark.parametrize("loss", sorted(SMOOTH))
@pytest.mark.parametrize("seed", range(20))
def test_lines_lie_below_every_card(seed: int, loss: str) -> None:
    program, _ = random_program(seed, loss)
    statement = program.statement
    rng = np.random.default_rng(seed)
    p = statement.design.shape[1]
    rows, scale = TangentRows(statement), float(plain_cards(statement)["scale"][0])
    whole = rng.integers(-3, 4, (30, p))
    for _ in range(8):
        line = rows.tangent(rng.normal(0, 1.5, p), float(rng.normal(0, 2)), 1.0 / scale)
        for w in np.clip(whole, statement.coef_min, statement.coef_max):
            card = Card(w, Fraction(int(rng.integers(-4, 5))))
            cost = evaluate(statement, card).objective - sum(
                t.value(w) for t in statement.penalties
            )
            height = line.slope @ w + line.slope_b * float(card.intercept)
            height = line.constant + height / scale + line.fixed @ w
            assert height <= cost + 1e-13 * max(1.0, abs(cost))


@pytest.mark.parametrize("seed", range(120))
def test_cuts_drop_only_what_a_line_puts_above_the_goal(seed: int) -> None:
    statement = random_program(seed % 40)[0].statement
    if statement.constraints:
        statement = replace(statement, constraints=())
    rng = np.random.default_rng(seed)
    space = Space(statement)
    p, slope = space.p, space.slope[0]
    line = ScoreTangent(
        float(rng.normal()), rng.normal(0, 0.3, p), float(rng.choice([0.0, 0.2, -0.5])), np.zeros(p)
    )
    choices = [space.values[j, space.real[j]].astype(int) for j in range(p)]
    cards = [
        (w, b)
        for w in itertools.product(*choices)
        for b in range(-4, 5)
        if sum(v != 0 for v in w) <= space.terms
    ]
    heights = np.array([
        line.constant
        + slope * (line.slope @ np.array(w) + line.slope_b * b)
        + sum(t.value(np.array(w)) for t in statement.penalties)
        for w, b in cards
    ])  # fmt: skip
    if not cards:
        assert space.empty(space.all_cards())
        return
    for goal in [*np.quantile(heights, [0.0, 0.05, 0.3, 0.9]) + 1e-6, heights.min() - 1e-6]:
        box = space.all_cards()
        closed, cuts = space.cuts(line, box, float(goal))
        assert closed == bool(heights.min() >= goal)
        for split, side in cuts:
            j, value = split
            for (w, b), height in zip(cards, heights, strict=True):
                at = b if j == p else w[j]
                low = at == 0 if value is None else at <= value
                assert height >= goal or low == (side == 1)


def test_a_limit_on_errors_is_proved_too() -> None:
    program = risk_score(
        X, Y, max_terms=2, coef_min=-2, coef_max=2, constraints=[MaxFPR(0.05)],
        intercept_bounds=(-8, 8),
    )  # fmt: skip
    made = certificate_of(program, "highs", evidence="leaves")
    assert made.statement["arguments"]["constraints"][0]["type"] == "max_fpr"
    assert verify_certificate(made, X, Y).failed == ()
