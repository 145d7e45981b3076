"""What a search holds is never lost: starts by size, cards no model states, freer statements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

import milpscore
from milpscore.constraints import AtMost, Include
from milpscore.core.errors import OptionError
from milpscore.core.result import Claim
from milpscore.data import make_design
from milpscore.fitting import fit_card
from milpscore.formulations import hinge, risk_score, slim
from milpscore.scorecard import certified_card
from milpscore.search import start_card
from milpscore.verify import evaluate


def measured(n: int = 240, p: int = 6, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Skewed measured columns on no usable grid, some rows in both classes."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    X = np.exp(hidden[:, None] * rng.uniform(-1, 1.5, p) + rng.normal(size=(n, p)) * 0.7)
    X *= 10.0 ** np.arange(-2, p - 2)
    y = (hidden + rng.logistic(size=n) * 0.3 > 0.2).astype(int)
    X[:20] = X[20:40]
    y[:10] = 1 - y[20:30]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(p)]), y


def test_off_the_grid_contradicting_rows_refuse_no_start() -> None:
    """A threshold within the gap above a pair's total errs twice in the model, once as printed."""
    X, y = measured()
    program = slim(X, y, max_terms=3)
    assert program.statement.caveat
    assert len(program.statement.design.merged.conflicts)
    start = start_card(program)
    assert start is not None
    empty = evaluate(program.statement, program.statement.empty_card()).objective
    reached = evaluate(program.statement, start).objective
    assert reached < empty
    result = milpscore.solve(program, "highs", warm_start=start, node_limit=0, progress=False)
    assert result.warm_start == "accepted"
    assert result.objective <= reached


def test_a_card_that_only_the_model_refuses_is_kept_with_the_reason() -> None:
    X, y = measured()
    program = slim(X, y, max_terms=3)
    start = start_card(program)
    assert start is not None
    # a row of the builder's own that says less than the rule as printed
    model = program.model
    model.del_component(model.contradictions)
    model.contradictions = pyo.Constraint(expr=float(start.threshold) + 1.0 <= model.T)
    program.remember()
    result = milpscore.solve(program, "highs", warm_start=start, node_limit=0, progress=False)
    best = evaluate(program.statement, start).objective
    assert result.warm_start.startswith("rejected")
    assert result.verified
    assert result.claim is not Claim.NONE
    assert result.objective <= best
    assert "the rows of the data verify this card" in result.message
    # a row that somebody added is obeyed
    model.mine = pyo.Constraint(expr=float(start.threshold) + 1.0 <= model.T)
    obeyed = milpscore.solve(program, "highs", warm_start=start, node_limit=0, progress=False)
    assert obeyed.card is None or obeyed.card.threshold >= start.threshold + 1


# ------------------------------------------------------------------ freer statements

BUILDERS = {"slim": slim, "hinge": hinge, "risk_score": risk_score}


def table(seed: int, kind: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Correlated columns, cut into three values or measured, and noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 5)) @ rng.normal(size=(5, 5))
    y = (X @ rng.normal(size=5) + rng.normal(size=90) * 1.5 > 0).astype(int)
    if kind == "grid":
        X = np.digitize(X, [-1.0, 1.0]).astype(float)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(5)]), y


def reached(program: Any, **given: Any) -> float:
    """The objective of the start."""
    card = start_card(program, **given)
    return math.inf if card is None else evaluate(program.statement, card).objective


@pytest.mark.parametrize("kind", ["grid", "measured"])
@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("work", [2e4, 1e6])
def test_a_start_with_more_terms_or_larger_points_is_no_worse(
    name: str, kind: str, work: float
) -> None:
    """Whatever work is allowed: by size, and at each size by the reach of the points."""
    X, y = table(0, kind)
    build = BUILDERS[name]
    found = np.array(
        [
            [
                reached(build(X, y, max_terms=k, coef_min=-m, coef_max=m), max_work=work)
                for m in (5, 10, 20)
            ]
            for k in (1, 2, 3, None)
        ]
    )
    assert (np.diff(found, axis=0) <= 1e-12).all(), found
    assert (np.diff(found, axis=1) <= 1e-12).all(), found
    assert found.min() < reached(build(X, y, max_terms=0))


@pytest.mark.parametrize("kind", ["grid", "measured"])
@pytest.mark.parametrize("name", BUILDERS)
def test_a_fast_card_with_more_terms_is_no_worse(name: str, kind: str) -> None:
    made = make_design(*table(1, kind))
    found = [fit_card(made, name, heuristic=True, max_terms=k)[1].objective for k in range(6)]
    assert (np.diff(found) <= 1e-12).all(), found
    assert found[-1] < found[0]
    polished = [
        fit_card(made, name, heuristic=True, polish=True, max_terms=k, time_limit=300)[1].objective
        for k in (1, 3)
    ]
    assert polished[0] <= found[1] + 1e-12
    assert polished[1] <= found[3] + 1e-12
    with pytest.raises(OptionError, match="polish improves the card of heuristic"):
        fit_card(made, name, polish=True)


@pytest.mark.parametrize(("kind", "seed"), [("grid", 0), ("grid", 1), ("measured", 0)])
@pytest.mark.parametrize("name", BUILDERS)
def test_a_freer_statement_never_ends_with_a_worse_card(name: str, kind: str, seed: int) -> None:
    """Terms, ranges and rules, few nodes allowed."""
    made = make_design(*table(seed, kind))

    def ended(**given: Any) -> float:
        bounded = {"options": {"node_limit": 5}, "time_limit": 60, "progress": False}
        result = fit_card(made, name, **bounded, **given)[1]
        return result.objective if result.card is not None else math.inf

    by_terms = [ended(max_terms=k) for k in (1, 2, 4)]
    assert (np.diff(by_terms) <= 1e-9).all(), by_terms
    if kind == "grid":  # off it a solver's luck within five nodes counts, which no start can know
        by_range = [ended(max_terms=2, coef_min=-m, coef_max=m) for m in (2, 5, 10)]
        assert (np.diff(by_range) <= 1e-9).all(), by_range
    ruled = [
        ended(max_terms=2, constraints=rules)
        for rules in ((Include("x0"), AtMost(1, ["x1", "x2"])), (Include("x0"),), ())
    ]
    assert (np.diff(ruled) <= 1e-9).all(), ruled


# ------------------------------------------------------------------ what was once lost


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "best"), [("adult", 0.1783), ("mushroom", 0.0080), ("breastcancer", 0.0284)]
)
def test_ten_terms_start_no_worse_than_five(uci: Any, name: str, best: float) -> None:
    """Each was once returned with a worse card, or the empty one, than five terms had."""
    made = make_design(*uci(name))
    five, ten = (reached(slim(made, max_terms=k), max_work=2e7) for k in (5, 10))
    assert ten <= five <= best + 1e-4


def test_measured_columns_without_a_limit_keep_the_start() -> None:
    """A start was once held with less than half of the errors of what was returned."""
    made = make_design(*measured(500, 12, seed=1))
    found = {}
    for terms in (3, None):
        program, result = fit_card(
            made, "slim", max_terms=terms, options={"node_limit": 0}, time_limit=60, progress=False
        )
        assert program.statement.caveat
        assert result.objective <= reached(program, max_work=1e6) + 1e-12
        found[terms] = result.objective
    assert found[None] <= found[3]


@pytest.mark.parametrize("ends", [(-5, 5), (0, 3), (1, 1), (-2, -1), (1, 3)])
def test_off_the_grid_the_loss_is_what_the_printed_card_errs(ends: tuple[int, int]) -> None:
    """The range of T once ended on the least positive total: loss 0.2, training errors 0 of 5."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(5, 2)), np.r_[0, 1, rng.integers(0, 2, 3)]
        made = make_design(X, y)
        program = slim(made, coef_min=ends[0], coef_max=ends[1], l0_penalty=0.0)
        assert program.statement.caveat
        points = rng.integers(ends[0], ends[1] + 1, 2)
        card = program.statement.with_best_intercept(points)
        totals = X @ points
        least = min(int(((totals >= cut) != (y > 0)).sum()) for cut in [*np.sort(totals), math.inf])
        assert evaluate(program.statement, card).loss == least / 5
        assert int(((totals >= float(card.threshold)) != (y > 0)).sum()) == least


def test_a_threshold_held_on_a_total_is_counted_alike_by_loss_and_card() -> None:
    X, y = np.array([[0.1], [0.2], [np.pi], [4.4], [7.1]]), [0, 0, 1, 1, 1]
    made = make_design(X, y)
    program = slim(made, coef_min=1, coef_max=1, intercept_bounds=(-np.pi, -np.pi))
    result = milpscore.solve(program, "highs", progress=False)
    shown = certified_card(made, result, statement=program.statement)
    assert result.loss * 5 == shown.certificate["errors"]


@pytest.mark.parametrize("form", ["risk_score", "slim", "hinge"])
def test_points_that_are_all_given_need_no_path(form: str) -> None:
    """Ranges of one value leave only the intercept: no column is left for a path of models."""
    X = np.random.default_rng(0).integers(0, 2, (40, 2)).astype(float)
    y = X[:, 0].astype(int)
    _, result = fit_card(make_design(X, y), form, coef_min=1, coef_max=1, progress=False)
    assert result.claim is Claim.OPTIMAL
    assert result.card is not None
    assert result.card.coefficients.tolist() == [1, 1]


# ------------------------------------------------------------------ a price and no limit of terms

PRICE = 0.01


def priced(n: int = 300, p: int = 16) -> Any:
    """More columns than the 0-1 tree takes without a price, labels that lean on a few of them."""
    rng = np.random.default_rng(2)
    X = (rng.random((n, p)) < 0.4).astype(float)
    y = (X[:, :4] @ [3, 2, -2, -1] + rng.logistic(size=n) > 0.8).astype(int)
    return make_design(X, y)


def few_terms(made: Any) -> float:
    """The best objective of the searches' own cards of one, two and three terms."""
    return min(
        evaluate(whole, card).objective
        for k in (1, 2, 3)
        for program in [slim(made, max_terms=k, l0_penalty=PRICE)]
        for whole in [slim(made, l0_penalty=PRICE).statement]
        for card in (start_card(program), fit_card(made, "slim", heuristic=True, max_terms=k,
                                                   l0_penalty=PRICE)[1].card)
        if card is not None
    )  # fmt: skip


@pytest.mark.parametrize("solver", ["auto", "highs", "support_tree"])
def test_at_a_price_without_a_limit_of_terms_no_engine_is_worse_than_small_cards(
    solver: str,
) -> None:
    made = priced()
    least = few_terms(made)
    assert least < evaluate(*_empty(made)).objective
    _, result = fit_card(
        made, "slim", l0_penalty=PRICE, solver=solver, options={"node_limit": 1}, progress=False
    )
    assert result.objective <= least
    assert result.solver == ("tree" if solver == "auto" else solver)
    # and nobody gives the engine a start
    fast = fit_card(made, "slim", l0_penalty=PRICE, heuristic=True)[1]
    result = milpscore.solve(
        slim(made, l0_penalty=PRICE), solver, node_limit=1, progress=False, second_opinion=False
    )
    assert result.objective <= fast.objective
    assert "limit was reached" in result.message or result.claim is Claim.OPTIMAL


def _empty(made: Any) -> tuple[Any, Any]:
    """The statement of the price, and its card without terms."""
    statement = slim(made, l0_penalty=PRICE).statement
    return statement, statement.empty_card()


@pytest.mark.data
@pytest.mark.parametrize(("name", "most"), [("adult", 7020.83), ("mushroom", 363.72)])
def test_at_a_price_alone_auto_finds_the_card_that_a_limit_of_terms_proves(
    uci: Any, name: str, most: float
) -> None:
    """HiGHS answers 7,841 (no points at all) and 1,001 after a minute."""
    made = make_design(*uci(name))
    result = milpscore.solve(
        slim(made, l0_penalty=PRICE), node_limit=50, time_limit=300, progress=False
    )
    assert result.solver == "tree"
    assert result.objective * made.weight.sum() <= most + 1e-6


def test_columns_by_the_thousand_without_a_limit_of_terms() -> None:
    """The number of all supports is beyond the largest float."""
    rng = np.random.default_rng(0)
    X = (rng.random((60, 1300)) < 0.3).astype(float)
    program = slim(X, (X[:, 0] > 0).astype(int), l0_penalty=0.01)
    result = milpscore.solve(program, "tree", node_limit=1, time_limit=300, progress=False)
    assert result.card is not None
    assert result.objective <= 0.01 + 1e-12
