"""Every rule gets a card, or the proof that no card meets it, within few nodes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks._rules import rules
from milpscore import solve
from milpscore.constraints import MaxErrors, MaxFPR, TotalRange
from milpscore.core.result import Claim, Termination
from milpscore.core.statement import Statement
from milpscore.data import make_design
from milpscore.fitting import fit_card
from milpscore.formulations import hinge, slim
from milpscore.verify import evaluate


def table(seed: int = 0, rows: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    """Small whole numbers, one 0/1 column, noisy labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 4, (rows, 4)), columns=list("abcd"))
    X["d"] = rng.integers(0, 2, rows)
    y = (X["a"] - X["b"] + rng.normal(size=rows) * 1.5 > 0).astype(int)
    return X, y.to_numpy()


RULES = [
    *rules(make_design(*table())).values(),
    *(MaxErrors("d", share=share) for share in (0.15, 0.25, 0.3)),
    MaxErrors("d", count=3), TotalRange(-4, 4), TotalRange(0, 4),
]  # fmt: skip


def allowed(statement: Statement, points: int) -> bool:
    """Whether some card of at most so many points meets the statement, by trying all."""
    cards = itertools.product(range(-points, points + 1), repeat=statement.shape[1])
    return any(
        evaluate(statement, statement.with_best_intercept(np.array(w))).feasible for w in cards
    )


@pytest.mark.parametrize("name", ["slim", "hinge", "risk_score"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.sentence)
def test_every_rule_gets_a_card_or_a_proof(name: str, rule: Any) -> None:
    """An objective over all rows once led no search to the cards that a subgroup's limit allows."""
    made = make_design(*table())
    integer: dict[str, Any] = {"intercept": "integer"} if name != "slim" else {}
    if name == "risk_score":
        integer["scale"] = 1.0  # a free one takes no integer
    small = {"coef_min": -2, "coef_max": 2, "max_terms": 3}
    program, result = fit_card(
        made, name, constraints=[rule], time_limit=60, progress=False,
        options={"node_limit": 20}, **small, **integer,
    )  # fmt: skip
    if result.card is not None:
        assert evaluate(program.statement, result.card).feasible
    else:
        assert result.termination is Termination.INFEASIBLE
        assert "no card meets 'errors <=" in result.message or "at most 3 errors" in result.message
        assert not allowed(program.statement, 2)


@pytest.mark.parametrize("build", [slim, hinge])
@pytest.mark.parametrize("seed", range(2))
def test_a_subgroups_limit_is_met_exactly_where_some_card_meets_it(build: Any, seed: int) -> None:
    X, y = table(seed, 40)
    ends = {"coef_min": -2, "coef_max": 2}
    for count in (0, 4, 7):
        program = build(X, y, constraints=[MaxErrors("d", count=count)], **ends)
        result = solve(program, "highs")
        assert (result.claim is not Claim.NONE) == allowed(program.statement, 2)
        if result.claim is Claim.NONE:
            assert result.termination is Termination.INFEASIBLE
            assert "loosen it" in result.message or "loosen one" in result.message


def test_what_a_subgroup_costs_at_least_is_said() -> None:
    X, y = table()
    result = solve(slim(X, y, coef_min=-2, coef_max=2, constraints=[MaxErrors("d", count=1)]))
    assert "no card meets 'at most 1 errors where d'" in result.message
    assert "every card answers at least" in result.message
    assert result.nodes == 0


def test_few_columns_and_many_rows_are_the_trees() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (400, 3))
    y = (X @ [2, -1, 1] + rng.normal(size=400) * 4 > 5).astype(int)
    result = solve(slim(X, y))
    assert (result.solver, result.claim) == ("tree", Claim.OPTIMAL)


def test_limits_on_errors_are_counted_whatever_the_intercepts_of_a_free_scale_reach() -> None:
    """The model's cut once had the intercept's range, too wide for the integrality tolerance."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(30, 90, 60), "b": rng.integers(50, 70, 60)})
    y = (X["a"] + 20 * rng.normal(size=60) > 45).to_numpy().astype(int)
    program, result = fit_card(
        make_design(X, y), "risk_score", constraints=[MaxFPR(0.2)], max_terms=2, progress=False,
        options={"node_limit": 20},
    )  # fmt: skip
    assert max(abs(program.statement.intercept.lower), program.statement.intercept.upper) > 10**6
    assert result.card is not None
    assert evaluate(program.statement, result.card).feasible
