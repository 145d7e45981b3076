"""Every constraint in every integer formulation against enumeration."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pandas as pd
import pytest
from constraint_cases import FORMULATIONS, MAKERS, Rule, every_card

from milpscore.constraints import CONSTRAINTS, Include, MaxFeatures, MaxFPR, TotalRange
from milpscore.core.card import Card
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result, Termination
from milpscore.data import make_design, make_planted_score
from milpscore.formulations import FORMULATIONS as REGISTERED, risk_score
from milpscore.rounding import round_program
from milpscore.search import coordinate_descent, start_card
from milpscore.solvers import solve
from milpscore.solvers.trees.zero_one import tree as zero_one
from milpscore.verify import check, evaluate

SEEDS = range(int(os.environ.get("MILPSCORE_CONSTRAINT_SEEDS", "1")))
"""Raise it for a long run: each seed is one instance of every constraint and formulation."""

TYPES = sorted(MAKERS)
PAIRS = [(form, kind) for form in FORMULATIONS for kind in TYPES]


def obeys(rules: list[Rule], program: Program, card: Card) -> bool:
    d = program.statement.design
    wrong = (d.X @ card.coefficients + float(card.intercept) >= 0) != (d.y > 0)
    return all(r.points(card.coefficients.tolist()) and bool(r.errors(wrong)) for r in rules)


def instance(
    form: str, kinds: list[str], seed: int, **tightening: Any
) -> tuple[Program, Program, list[Rule]]:
    """A program with constraints, the one without, and what the constraints mean."""
    rng = np.random.default_rng([seed, *map(ord, form + "".join(kinds))])
    stated = FORMULATIONS[form]
    d = stated.design(rng)
    rules = [MAKERS[kind](rng, d) for kind in kinds]
    build: Any = REGISTERED[form]
    given = [rule.constraint for rule in rules]
    arguments = {**stated.arguments, **tightening}
    free, bound = build(d, **arguments), build(d, constraints=given, **arguments)
    return bound, free, rules


def compare(form: str, program: Program, rules: list[Rule]) -> Result:
    """Solve, and hold the answer against every card there is."""
    exact = program if program.kind == "exact" else program.exact()
    d = exact.statement.design
    table = every_card(form, d)
    truth, unlimited = table.best(rules), table.best([])
    assert truth >= unlimited  # a more constrained program is never better
    result = solve(exact, time_limit=60)
    if math.isinf(truth):
        assert result.claim is Claim.NONE
        assert "no card meets" in result.message
        return result
    assert result.card is not None, result.message
    assert obeys(rules, exact, result.card)
    assert result.objective == evaluate(exact.statement, result.card).objective
    assert result.dual_bound - 1e-9 <= truth <= result.objective + 1e-9
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(truth, abs=1e-6 if form == "risk_score" else 1e-9)
    below = solve(exact.relaxed(), "highs" if form == "risk_score" else "auto")
    assert below.objective <= truth + 1e-7
    assert below.dual_bound <= truth + 1e-7
    return result


def test_every_constraint_and_every_formulation_has_a_case() -> None:
    assert set(MAKERS) == set(CONSTRAINTS)
    # sparse_rounding is convex_rounding with a limit on terms, tried below; ordinal cards and those
    # of the largest AUC, which take rules of points alone, have tests of their own
    assert set(FORMULATIONS) | {"sparse_rounding", "ordinal", "auc"} == set(REGISTERED)


@pytest.mark.parametrize(("form", "kind"), PAIRS)
def test_one_constraint(form: str, kind: str) -> None:
    for seed in SEEDS:
        program, _, rules = instance(form, [kind], seed)
        compare(form, program, rules)


@pytest.mark.parametrize("form", sorted(FORMULATIONS))
def test_several_constraints(form: str) -> None:
    for seed in range(100, 100 + 2 * len(SEEDS)):
        kinds = [str(k) for k in np.random.default_rng(seed).choice(TYPES, 3, replace=False)]
        program, _, rules = instance(form, kinds, seed)
        compare(form, program, rules)


@pytest.mark.parametrize("kind", TYPES)
def test_the_constrained_card_is_never_better(kind: str) -> None:
    for form in ("slim", "hinge"):
        # a limit on errors leaves a program the big-M of its rows: relaxations are compared by them
        tightening = {"big_m": "row"} if form == "slim" else {}
        bound, free, _ = instance(form, [kind], 7, **tightening)
        assert not solve(bound).objective < solve(free).objective - 1e-9
        assert not solve(bound.relaxed()).objective < solve(free.relaxed()).objective - 1e-9


@pytest.mark.parametrize("kind", TYPES)
def test_starts_obey_and_are_taken_up(kind: str) -> None:
    for seed in range(20, 20 + len(SEEDS)):
        for form in ("slim", "hinge", "fused_lasso", "risk_score"):
            program, _, rules = instance(form, [kind], seed)
            start = start_card(program)
            if start is None:
                continue
            assert obeys(rules, program, start)
            assert check(program, start).feasible
            solved = solve(program, "highs", warm_start=start)
            assert solved.warm_start == "accepted"
            assert solved.objective <= evaluate(program.statement, start).objective + 1e-12


@pytest.mark.parametrize("kind", TYPES)
def test_filling_is_complete_and_meets_the_rows_where_the_card_obeys(kind: str) -> None:
    # the rows and the exact re-check say the same of any card at all
    rng = np.random.default_rng(3)
    for form in ("slim", "hinge", "fused_lasso", "convex_rounding"):
        program, _, rules = instance(form, [kind], 40)
        exact = program if program.kind == "exact" else program.exact()
        statement = exact.statement
        low, high = statement.coef_min, statement.coef_max
        for _ in range(10):
            card = statement.with_best_intercept(rng.integers(low, high + 1))
            verdict, stated = check(exact, card), not statement.violations(card)
            assert stated == obeys(rules, exact, card)
            assert verdict.feasible == stated, verdict.violations


@pytest.mark.parametrize("kind", TYPES)
def test_rounded_cards_obey(kind: str) -> None:
    for form, further in (("convex_rounding", {}), ("sparse_rounding", {"max_terms": 2})):
        program, _, rules = instance("convex_rounding", [kind], 60)
        d, given = program.statement.design, [rule.constraint for rule in rules]
        result = round_program(REGISTERED[form](d, constraints=given, **further), n_draws=30)
        best = every_card("convex_rounding", d).best(rules)
        if result.card is None:
            assert math.isinf(best) or "no rounded card" in result.message or further
            continue
        assert obeys(rules, program, result.card)
        assert result.objective >= best - 1e-9
        exact = solve(REGISTERED[form](d, constraints=given, **further).exact())
        assert result.dual_bound - 1e-9 <= exact.objective <= result.objective + 1e-9


@pytest.mark.parametrize("form", ["slim", "hinge", "facets_hinge"])
@pytest.mark.parametrize("kind", TYPES)
def test_the_support_tree_agrees(kind: str, form: str) -> None:
    rng = np.random.default_rng([5, *map(ord, kind)])
    stated = FORMULATIONS[form]
    d = stated.design(rng)
    rule = MAKERS[kind](rng, d)
    program = REGISTERED[form](d, constraints=[rule.constraint], max_terms=3, **stated.arguments)
    tree, plain = solve(program, "support_tree"), solve(program, "highs")
    assert tree.claim is plain.claim
    if plain.card is not None:
        assert tree.objective == pytest.approx(plain.objective, abs=1e-9)
        assert tree.card is not None
        assert obeys([rule], program, tree.card)


@pytest.mark.parametrize("kind", TYPES)
def test_every_solver_of_risk_scores_agrees(kind: str) -> None:
    program, _, rules = instance("risk_score", [kind], 11)
    best = every_card("risk_score", program.statement.design).best(rules)
    for solver in ("outer_approximation", "tree"):
        result = solve(program, solver, time_limit=60)
        if math.isinf(best):
            assert "no card meets" in result.message
            continue
        assert result.card is not None
        assert obeys(rules, program, result.card)
        assert result.claim is Claim.OPTIMAL
        assert result.objective == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("kind", TYPES)
def test_what_a_support_rules_out_no_card_has(kind: str) -> None:
    rng = np.random.default_rng([9, *map(ord, kind)])
    d = FORMULATIONS["slim"].design(rng)
    rule = MAKERS[kind](rng, d)
    program = REGISTERED["slim"](d, constraints=[rule.constraint], coef_min=-2, coef_max=2)
    (bound,) = program.statement.constraints
    allowed = [w for w in every_card("slim", d).points if rule.points(w)]
    for _ in range(30):
        decided = rng.integers(-1, 2, len(d.columns))
        included, excluded = np.flatnonzero(decided > 0), np.flatnonzero(decided < 0)
        fits = any(
            all(w[j] != 0 for j in included) and all(w[j] == 0 for j in excluded) for w in allowed
        )
        if fits:
            assert bound.allows_support(included.tolist(), excluded.tolist())
    assert bound.allows_support((), ()) or not allowed


@pytest.mark.parametrize("kind", ["AtMost", "Exactly", "MaxFPR", "Implies", "Monotone"])
def test_descent_keeps_to_the_rules(kind: str) -> None:
    for seed in range(80, 80 + len(SEEDS)):
        program, _, rules = instance("slim", [kind], seed)
        start = start_card(program)
        if start is None:
            continue
        found = coordinate_descent(program.statement, start)
        assert obeys(rules, program, found)
        assert not program.statement.violations(found)


def test_the_tree_finds_a_card_that_obeys_at_once() -> None:
    # its best cards break both rules: without mending 400 nodes end without any card
    X, y, _ = make_planted_score(200, 8, n_terms=3, random_state=0)
    rules = [MaxFPR(0.1), Include(["x4", "x5"])]
    program = risk_score(X, y, max_terms=4, constraints=rules)
    result = solve(program, "tree", node_limit=1)
    assert result.card is not None
    assert not program.statement.violations(result.card)
    assert result.claim is Claim.GAP
    assert 0 < result.dual_bound < result.objective


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", TYPES)
def test_narrowed_ranges_hold_every_card_the_rules_allow(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, *map(ord, kind)])
    d = FORMULATIONS["slim"].design(rng)
    rule = MAKERS[kind](rng, d)
    program = REGISTERED["slim"](d, constraints=[rule.constraint], coef_min=-2, coef_max=2)
    narrow = program.statement.narrowed()
    allowed = np.array([w for w in every_card("slim", d).points if rule.points(w)])
    if narrow is None:
        assert not len(allowed)
        return
    assert len(allowed) == 0 or narrow.allows(allowed).all()


def test_a_range_of_totals_leaves_few_points_and_terms() -> None:
    d = make_design(pd.DataFrame([[1, 10, 30, -1], [10, 1, 83, 1]], columns=list("abcd")), [0, 1])
    program = REGISTERED["slim"](d, constraints=[TotalRange(-10, 10)])
    narrow = program.statement.narrowed()
    assert narrow is not None
    assert narrow.max_terms == 3
    assert narrow.coef_max.tolist() == [1, 1, 0, 5]
    d = make_design(pd.DataFrame([[-1, 1], [1, -1]], columns=list("ab")), [0, 1])
    held = REGISTERED["slim"](d, constraints=[TotalRange(0, 10)]).statement.narrowed()
    assert held is not None
    assert not held.coef_min.any()
    assert not held.coef_max.any()


def test_what_must_be_used_is_not_0_and_a_limit_on_features_is_one_on_terms() -> None:
    d = make_design(pd.DataFrame([[0, 1, 2], [1, 0, 1]], columns=list("abc")), [0, 1])
    narrow = REGISTERED["slim"](d, constraints=[Include("a")]).statement.narrowed()
    assert narrow is not None
    assert 0 not in narrow.coef_sets[0]
    few = REGISTERED["slim"](d, constraints=[MaxFeatures(2)]).statement.narrowed()
    assert few is not None
    assert few.max_terms == 2
    both = [Include(["a", "b"]), MaxFeatures(1)]
    result = solve(REGISTERED["slim"](d, constraints=both), "tree")
    assert result.termination is Termination.INFEASIBLE
    assert "no card meets" in result.message


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "kinds", [["MaxFPR"], ["MinTPR"], ["MaxErrors"], ["MaxErrors", "MinTPR"], ["MaxGap"]]
)
def test_whatever_limits_are_priced_at_no_bound_is_above_the_best_card(
    kinds: list[str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, _, rules = instance("slim", kinds, seed)
    best = every_card("slim", program.statement.design).best(rules)
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(
        zero_one, "_best_prices", lambda seen, _: rng.choice([0.0, 0.5, 1.3, 7.0], len(seen[0]) - 1)
    )
    result = solve(program, "tree")
    if math.isinf(best):
        assert result.termination is Termination.INFEASIBLE
    else:
        assert result.claim is Claim.OPTIMAL
        assert result.objective == pytest.approx(best, abs=1e-9)
    assert all(point.dual_bound <= best + 1e-9 for point in result.trace)
