"""Choices of columns that cells leave to lines: the engine lists them, the checker counts again."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tree_cases import set_policy

from milpscore.certificate import certify, leaves, supports, verify_certificate
from milpscore.certificate.cards import exact_rows, plain_cards
from milpscore.certificate.supports import Missed
from milpscore.core.program import Program
from milpscore.data import make_design
from milpscore.formulations import risk_score
from milpscore.solvers import solve
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore_check.cards import Box, Cards, floor
from milpscore_check.proof import Cells, prove


def drawn(seed: int, **more: Any) -> Program:
    """Columns of 0 and 1, two of them alike, one the other way round, and one constant."""
    rng = np.random.default_rng(seed)
    X = (rng.random((60, 6)) < 0.4).astype(float)
    X = np.column_stack([X, X[:, 0], 1.0 - X[:, 1], np.ones(60)])
    y = np.where(X[:, :3] @ [2.0, -1.5, 1.0] + rng.normal(0, 1, 60) > 0.4, 1, -1)
    weight = rng.integers(1, 4, 60).astype(float)
    return risk_score(make_design(X, y, sample_weight=weight), max_terms=3, scale="auto", **more)


def proved(program: Program, bound: float) -> tuple[bool, str]:
    """Whether the checker believes the tree that is grown for a bound."""
    statement = program.statement
    evidence = leaves.grow_tree(statement, bound, 120.0, 8_000_000)
    cards = Cards(plain_cards(statement), statement.shape[1])
    return prove(exact_rows(statement.design), cards, evidence, Fraction(bound))


def listed(missed: Missed) -> bool:
    """List all choices; whether they are few."""
    steps = missed.listed(lambda: None)
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return bool(end.value)


@pytest.mark.parametrize("seed", range(4))
def test_the_choices_are_those_that_the_checker_misses(seed: int) -> None:
    program = drawn(seed)
    statement, goal = program.statement, (0.45, 0.5)[seed % 2]
    missed = Missed(Arrays(statement), goal)
    assert listed(missed)
    cards = Cards(plain_cards(statement), statement.shape[1])
    counted = Cells(exact_rows(statement.design), cards, lambda done, of: None)
    box = Box(cards.values, cards.b, cards.scale)
    found = {frozenset(each) for each in counted.missed(box, floor(Fraction(goal)))}
    classes, p = missed.of_column, statement.shape[1]
    met = 0
    for size in range(4):
        for columns in itertools.combinations(range(p), size):
            own = {classes[j] for j in columns if j in classes}
            inside = any(own <= choice for choice in missed.choices) and missed.short(
                frozenset(own)
            )
            assert inside == (frozenset(columns) in found)
            met += inside
    assert 0 < met < len(list(itertools.combinations(range(p), 3)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("more", [{}, {"l0_penalty": 1e-3}, {"intercept_bounds": (0, 0)}])
def test_the_checker_believes_what_is_grown_from_them(
    seed: int, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policy(monkeypatch, leaves, few_choices=0)
    # lines are as quick on tables so small: the list goes alone
    first_of = leaves._first_of
    monkeypatch.setattr(leaves, "_first_of", lambda ways: first_of(ways[-1:]))
    program = drawn(seed, **more)
    found = solve(program, "tree")
    held, said = proved(program, found.dual_bound)
    assert held, said
    assert "choices of columns" in said


def test_more_than_can_be_kept_are_left_to_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    program = drawn(1)
    set_policy(monkeypatch, supports, most_missed=0)
    assert not listed(Missed(Arrays(program.statement), 0.4))
    set_policy(monkeypatch, leaves, few_choices=0, most_left=0)
    assert proved(program, solve(program, "tree").dual_bound)[0]


def test_the_line_of_a_choice_is_level_along_its_columns() -> None:
    statement = drawn(2).statement
    missed = Missed(Arrays(statement), 0.4)
    assert listed(missed)
    used = np.array([missed.classes[c][0] for c in sorted(min(missed.choices, key=sorted))])
    space = leaves.Space(statement)
    rows = leaves.TangentRows(statement)
    drawn_line = leaves._level_line(space, missed.weights(used), used, rows)
    assert np.abs(drawn_line.line.slope[used]).max() < 1e-10
    assert abs(drawn_line.line.slope_b) < 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_a_stopped_search_has_evidence_for_its_own_bound(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boxes are grown beside the list of choices, and end first; the same evidence each time."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (300, 24)).astype(float)
    y = np.where(X[:, :6].sum(axis=1) + rng.normal(0, 2, 300) > 3, 1, -1)
    program = risk_score(make_design(X, y), max_terms=8, scale="auto")
    set_policy(monkeypatch, leaves, few_choices=100)
    stopped = solve(program, "tree", node_limit=40, progress=False)
    assert str(stopped.claim) == "gap"
    made = [certify(program, stopped, time_limit=300.0, progress=False) for _ in range(2)]
    assert made[0].evidence["kind"] == "leaves", made[0].evidence
    assert made[0].bound is not None
    assert made[0].bound > stopped.dual_bound - 1e-6
    assert made[0].evidence == made[1].evidence
    assert any(entry >= 0 for entry in made[0].evidence["tree"] if not isinstance(entry, list))
    assert verify_certificate(made[0], program.statement.design)["bound"].status == "proved"
