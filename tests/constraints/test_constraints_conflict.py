"""What conflicts: the smallest subset, checked by enumeration, and what messages say of it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from constraint_cases import FORMULATIONS as CASES, MAKERS, every_card
from designs import noisy

from milpscore.constraints import (
    AtMost,
    Exclude,
    Implies,
    Include,
    MaxErrors,
    MaxFPR,
    MinTPR,
    Range,
    Sign,
)
from milpscore.core.errors import OptionError, SolverError
from milpscore.core.result import Claim, Termination
from milpscore.estimators import SlimClassifier
from milpscore.formulations import FORMULATIONS, hinge, risk_score, slim
from milpscore.rounding import round_program
from milpscore.solvers import conflict, solve
from milpscore.solvers.conflicts import ConflictSearch

TYPES = sorted(MAKERS)


@pytest.mark.parametrize("form", ["slim", "hinge", "fused_lasso", "convex_rounding", "risk_score"])
def test_a_smallest_conflict_is_found(form: str) -> None:
    stated, build = CASES[form], FORMULATIONS[form]
    seen = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 77])
        d = stated.design(rng)
        rules = [MAKERS[str(kind)](rng, d) for kind in rng.choice(TYPES, 5)]
        table = every_card(form, d)
        if not math.isinf(table.best(rules)):
            continue
        seen += 1
        program = build(d, constraints=[r.constraint for r in rules], **stated.arguments)
        found = conflict(program)
        assert found is not None
        assert found.smallest
        assert found.irreducible
        names = [each.name for each in program.statement.constraints]
        chosen = [rules[names.index(name)] for name in found.names]
        assert math.isinf(table.best(chosen))
        for fewer in range(len(chosen)):
            for subset in itertools.combinations(rules, fewer):
                assert not math.isinf(table.best(list(subset)))
        if seen == 6:
            break
    assert seen >= 3


def data(seed: int = 0) -> Any:
    return CASES["slim"].design(np.random.default_rng(seed))


IMPOSSIBLE = [
    Include("A", name="age counts"),
    Sign("B", "+"),
    Implies("A", "C", name="age needs C"),
    AtMost(1, ["A", "B", "C"], name="one term"),
]
NAMED = "no card meets 'age counts', 'age needs C', 'one term' together"


@pytest.mark.parametrize("solver", ["highs", "support_tree"])
def test_the_message_names_the_conflict(solver: str) -> None:
    result = solve(slim(data(), constraints=IMPOSSIBLE), solver)
    assert result.claim is Claim.NONE
    assert NAMED in result.message
    assert "smallest conflicting subset" in result.message


def test_a_rounding_says_it_too() -> None:
    result = round_program(FORMULATIONS["convex_rounding"](data(), constraints=IMPOSSIBLE))
    assert result.card is None
    assert NAMED in result.message
    empty = [Include("A"), Exclude("A")]
    refused = round_program(FORMULATIONS["convex_rounding"](data(), constraints=empty))
    assert "'points for A', 'no points for A' together" in refused.message


def test_an_estimator_raises_with_the_conflict() -> None:
    X, y = [[0, 1], [1, 1], [1, 0], [0, 0]], [0, 1, 1, 0]
    with pytest.raises(SolverError, match="'points for x0', 'no points for x0' together"):
        SlimClassifier(constraints=[Include("x0"), Exclude("x0")]).fit(X, y)


def test_one_constraint_alone() -> None:
    found = conflict(hinge(data(), constraints=[Range("B", 7), Sign("C", "+")]))
    assert found is not None
    assert found.names == ("points from 7 for B",)
    assert "within the ranges and max_terms" in found.sentence


def test_what_conflicts_without_any_constraint_is_no_constraint_s_fault() -> None:
    program = slim(data(), coef_min=1, coef_max=2, max_terms=2, constraints=[Sign("B", "+")])
    found = conflict(program)
    assert found is not None
    assert found.names == ()
    assert "even without its constraints" in found.sentence
    assert "no card meets every constraint" in solve(program).message


def test_no_conflict_and_no_time() -> None:
    assert conflict(slim(data(), constraints=[Sign("B", "+")])) is None
    assert conflict(slim(data())) is None
    assert conflict(slim(data(), constraints=IMPOSSIBLE), time_limit=0) is None
    with pytest.raises(OptionError, match="time_limit"):
        conflict(slim(data()), time_limit=-1)


def test_what_was_not_decided_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ConflictSearch.possible

    def hurried(self: Any, kept: Any) -> bool | None:
        chosen = frozenset(kept)
        return honest(self, chosen) if len(chosen) in (0, 4) else None

    monkeypatch.setattr(ConflictSearch, "possible", hurried)
    found = conflict(slim(data(), constraints=IMPOSSIBLE))
    assert found is not None
    assert len(found.names) == 4
    assert not found.smallest
    assert not found.irreducible
    assert "time ran out" in found.sentence


def test_rows_of_the_user_count_as_given() -> None:
    import pyomo.environ as pyo

    program = hinge(data(), constraints=[Include("C", name="C counts"), Sign("B", "+")])
    program.model.mine = pyo.Constraint(expr=program.model.w[3] == 0)
    result = solve(program)
    assert result.claim is Claim.NONE
    assert "no card meets 'C counts'" in result.message


def test_a_subgroup_that_no_card_gets_right() -> None:
    d = data()
    twins = d.merged.conflicts
    assert len(twins)  # one of the two is wrong whatever the card
    result = solve(slim(d, constraints=[MaxErrors(count=0, name="no errors")]))
    assert "no card meets 'no errors'" in result.message


@pytest.mark.parametrize("build", [slim, risk_score])
def test_a_tree_that_was_cut_short_is_told_that_there_is_no_card(build: Any) -> None:
    rules = [MaxFPR(0.0), MinTPR(0.95)]
    program = build(noisy(80, 5), max_terms=2, constraints=rules)
    result = solve(program, "tree", node_limit=2)
    assert result.termination is Termination.INFEASIBLE
    assert (
        "no card meets 'false positive rate <= 0', 'true positive rate >= 0.95'" in result.message
    )
    stopped = solve(program, "tree", callback=lambda point: True)
    assert "HiGHS" not in stopped.message  # who asks to stop waits for nobody
    possible = solve(build(noisy(80, 5), max_terms=2, constraints=rules[:1]), node_limit=2)
    assert possible.termination is not Termination.INFEASIBLE
