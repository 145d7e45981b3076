"""Arguments changed in place: the edited program is the one that a builder would make."""

from __future__ import annotations

import copy
import gc
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from designs import noisy

from milpscore.constraints import MaxFPR, MaxPoints, Range, Sign
from milpscore.core.card import Card
from milpscore.core.errors import FormulationError
from milpscore.core.program import Program
from milpscore.core.result import Claim
from milpscore.formulations import facets_hinge, hinge, risk_score, slim, sparse_rounding
from milpscore.solvers import load, solve
from milpscore.verify import check

DATA = noisy(60, 4)

PLACES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "fewer terms": (slim, {"max_terms": 3}, {"max_terms": 1}),
    "no terms": (slim, {"max_terms": 3}, {"max_terms": 0}),
    "narrower points": (slim, {}, {"coef_min": -1, "coef_max": {"x0": 2}}),
    "thresholds": (slim, {"big_m": "row"}, {"intercept_bounds": (-1.0, 1.0)}),
    "a limit on errors": (slim, {"big_m": "row"}, {"constraints": [MaxFPR(0.2)]}),
    "a limit beside rows": (slim, {}, {"constraints": [MaxFPR(0.2)]}),
    "bounds beside rows": (slim, {}, {"intercept_bounds": (-1.0, 1.0)}),
    "more terms": (slim, {"max_terms": 1}, {"max_terms": 3}),
    "wider points": (slim, {"coef_min": -1, "coef_max": 1}, {"coef_max": 4}),
    "textbook big-M": (slim, {}, {"big_m": "row", "pair_covers": False}),
    "another penalty": (slim, {"l1_penalty": 0.0}, {"l1_penalty": 0.01}),
    "a rule for another": (
        hinge, {"constraints": [Sign("x0", "+")]}, {"constraints": [Range("x1", -1, 1)]},
    ),
    "no rule": (hinge, {"constraints": [Sign("x0", "-")]}, {"constraints": []}),
    "less margin": (hinge, {"margin": 2.0}, {"margin": 0.5}),
    "more margin": (hinge, {"margin": 0.5}, {"margin": 3.0, "coef_max": 2}),
    "margin and weight": (hinge, {"l0_penalty": 0.01}, {"margin": 2.0, "l0_penalty": 0.1}),
    "wider intercepts": (
        hinge, {"intercept_bounds": (-1, 1)}, {"intercept_bounds": (-30, 30)},
    ),
    "real intercepts": (hinge, {"intercept": "integer"}, {"intercept": "real"}),
    "terms of a hull": (sparse_rounding, {"max_terms": 3}, {"max_terms": 1}),
    "derived ranges": (facets_hinge, {"lam": 0.1, "max_terms": 3}, {"max_terms": 2}),
    "derived anew": (facets_hinge, {"lam": 0.1}, {"margin": 0.5}),
    "a risk": (risk_score, {"max_terms": 3, "l0_penalty": 0.01}, {"max_terms": 1, "coef_max": 2}),
    "a scale": (risk_score, {"scale": 1.0}, {"scale": 2.0}),
}  # fmt: skip
EDITED = {
    "fewer terms", "no terms", "narrower points", "thresholds", "a limit on errors",
    "a rule for another", "no rule", "less margin", "more margin", "margin and weight",
    "terms of a hull", "derived ranges", "a risk", "wider intercepts",
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_an_edited_program_is_the_one_that_would_be_built(name: str) -> None:
    build, given, changed = PLACES[name]
    program: Program = build(DATA, **given)
    model = program.model
    program.set(**changed)
    assert (program.model is model) == (name in EDITED)
    rebuilt: Program = build(DATA, **{**given, **changed})
    assert program.arguments == rebuilt.arguments
    assert program.edited() == program.added_by_user() == ""
    engine = "auto" if build is risk_score else "highs"
    mine, new = solve(program.exact(), engine), solve(rebuilt.exact(), engine)
    assert mine.claim is new.claim is Claim.OPTIMAL
    assert mine.objective == pytest.approx(new.objective, abs=1e-9)
    if name in EDITED and build is not risk_score:  # of that each made the tangents it needs
        relaxed, other = solve(program.relaxed(), "highs"), solve(rebuilt.relaxed(), "highs")
        assert relaxed.objective <= mine.objective + 1e-9
        assert other.objective <= mine.objective + 1e-9


@pytest.mark.parametrize(
    "name", sorted(name for name in EDITED if PLACES[name][0] is not risk_score)
)
def test_a_session_follows_without_being_compiled(name: str) -> None:
    build, given, changed = PLACES[name]
    session = load(build(DATA, **given).exact())
    highs = session.highs
    session.set(**changed)
    if "constraints" not in changed:
        assert session.highs is highs
    new = solve(build(DATA, **{**given, **changed}).exact(), "highs")
    mine = solve(session, "highs")
    assert mine.claim is new.claim is Claim.OPTIMAL
    assert mine.objective == pytest.approx(new.objective, abs=1e-9)
    session.relax()
    assert solve(session).objective <= mine.objective + 1e-9


def test_slacks_reach_as_far_as_the_intercepts_of_each_change() -> None:
    program = hinge(DATA)
    program.model  # noqa: B018 made, to be edited
    steps: list[dict[str, Any]] = [
        {"margin": 0.5, "intercept_bounds": (-1, 1)},
        {"intercept_bounds": (-25, 25)},
        {"margin": 2.0},
    ]
    given: dict[str, Any] = {}
    for step in steps:
        given |= step
        program.set(**step)
        rebuilt = hinge(DATA, **given)
        for points, cut in (([5, 5, 5, 5], 25), ([-5, -5, -5, -5], -25), ([0, 0, 0, 0], 1)):
            card = Card(np.array(points, dtype=np.int64), Fraction(cut))
            assert check(program, card).violations == check(rebuilt, card).violations


def test_there_and_back_is_the_first_program() -> None:
    session = load(slim(DATA, max_terms=3))
    first = solve(session, "highs").objective
    for changed in ({"max_terms": 1, "coef_max": 2}, {"max_terms": 3, "coef_max": 5}):
        session.set(**changed)
    assert solve(session, "highs").objective == pytest.approx(first, abs=1e-12)


def test_rows_of_ones_own_stay_and_a_wider_model_is_refused() -> None:
    program = slim(DATA, max_terms=3, coef_max=3)
    program.model.own = pyo.Constraint(expr=program.points["x0"] + program.points["x1"] <= 1)
    program.set(max_terms=2)
    assert program.model.component("own") is not None
    card = solve(program, "highs").card
    assert card is not None
    assert card.nonzeros <= 2
    assert card.coefficients[:2].sum() <= 1
    with pytest.raises(FormulationError, match=r"too narrow for this change.*own was added"):
        program.set(max_terms=4)
    assert program.statement.max_terms == 2


OWN_ENDS: dict[str, tuple[Any, dict[str, Any], str, Any, dict[str, Any]]] = {
    "points": (hinge, {"max_terms": 3}, "w", 0, {"max_terms": 1}),
    "an intercept": (hinge, {"max_terms": 3}, "b", None, {"coef_max": 2}),
    "a slack": (hinge, {"max_terms": 3}, "xi", 3, {"margin": 0.5}),
    "a threshold": (slim, {"max_terms": 3, "big_m": "row"}, "T", None, {"coef_max": 2}),
    "a risk": (risk_score, {"max_terms": 3, "scale": 2.0}, "b", None, {"max_terms": 1}),
    "a score": (risk_score, {"scale": (1.0, 3.0)}, "c", None, {"intercept_bounds": (-4, 4)}),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN_ENDS)
def test_ends_set_by_hand_stay_in_force(name: str) -> None:
    build, given, part, index, changed = OWN_ENDS[name]
    program: Program = build(DATA, **given)
    program.model.component(part)[index].setub(0)
    words = program.added_by_user()
    for copied in (program.exact(), program.relaxed(), program):
        model = copied.model
        copied.set(**changed)
        assert copied.model is model
        assert model.component(part)[index].ub == 0
        assert copied.added_by_user() == words == f"the bounds of {part}{_at(index)} were changed"


def _at(index: Any) -> str:
    return "" if index is None else f"[{index}]"


def test_an_end_set_by_hand_is_there_again_after_a_narrower_one() -> None:
    program = hinge(DATA, coef_min=-3, coef_max=3)
    w = program.model.w
    w[0].setub(1)
    w[1].setlb(0)
    for most, ends in ((2, 1), (0, 0), (1, 1), (3, 1)):
        program.set(coef_max=most)
        assert (w[0].ub, w[1].lb, w[1].ub) == (ends, 0, most)
    w[0].setub(2)  # by hand again
    program.set(coef_max=1)
    program.set(coef_max=3)
    assert w[0].ub == 2
    card = solve(program, "highs").card
    assert card is not None
    assert card.coefficients[0] <= 2
    assert card.coefficients[1] >= 0


def test_a_change_that_would_lose_what_was_edited_by_hand_is_refused() -> None:
    given: dict[str, Any] = {"max_terms": 3, "constraints": [Sign("x0", "-")]}

    def rule(m: Any) -> Any:
        return next(each for each in m.rules.component_objects(pyo.Constraint) if len(each))

    edits: list[Any] = [
        lambda m: m.rules.deactivate(),
        lambda m: next(iter(rule(m).values())).deactivate(),
        lambda m: m.at_most_k_terms.set_value(m.at_most_k_terms.body <= 1),
        lambda m: m.margin_rows[0].set_value(m.margin_rows[0].body >= 2),
    ]
    for edit in edits:
        program = hinge(DATA, **given)
        edit(program.model)
        with pytest.raises(FormulationError, match="has to be made anew, and "):
            program.set(max_terms=2)


def test_a_threshold_beside_rows_cannot_be_bounded_in_a_copy_either() -> None:
    program = slim(DATA, max_terms=3)
    program.model.T.setlb(3)
    for copied in (program.exact, program.relaxed, lambda: program.set(max_terms=1)):
        with pytest.raises(FormulationError, match="bounds of T were changed"):
            copied()


@pytest.mark.parametrize(
    "changed", [{"constraints": [MaxPoints(1)]}, {"intercept_bounds": (-9, -6)}]
)
def test_a_range_of_scales_narrowed_is_the_one_that_would_be_built(changed: dict[str, Any]) -> None:
    X = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [1, 0], [0, 0], [1, 1], [0, 1], [1, 0]])
    y = [0, 1, 0, 0, 0, 0, 1, 0, 0, 0]
    given: dict[str, Any] = {"coef_min": -1, "coef_max": 0, "scale": (5.0, 10.0), "max_terms": 1}
    built, program = risk_score(X, y, **given, **changed), risk_score(X, y, **given)
    model = program.model
    program.set(**changed)
    assert program.model is model
    for engine in ("auto", "outer_approximation"):
        mine, new = solve(program, engine), solve(built, engine)
        assert mine.claim is new.claim is Claim.OPTIMAL
        assert mine.objective == pytest.approx(new.objective, abs=1e-9)
    for part in ("b", "c"):
        assert model.component(part).bounds == built.model.component(part).bounds
    for row in ("c_above", "c_below"):
        assert str(model.component(row).expr) == str(built.model.component(row).expr)
    session = load(risk_score(X, y, **given))
    session.set(**changed)
    again = load(risk_score(X, y, **given, **changed))
    assert (abs(session.matrix - again.matrix) > 1e-12).nnz == 0


def test_a_program_without_a_model_makes_none() -> None:
    program = slim(DATA, max_terms=3)
    program.set(max_terms=2, coef_min=-2)
    assert not program.is_built
    assert program.arguments["max_terms"] == program.statement.max_terms == 2
    assert program.statement.coef_min.tolist() == [-2] * 4


def test_a_deep_copy_is_as_unchanged_as_its_original() -> None:
    program = slim(DATA, max_terms=2)
    program.model  # noqa: B018 made, to be copied
    copied = copy.deepcopy(program)
    assert copied.edited() == copied.added_by_user() == ""
    assert copied.own_objective is None
    copied.require_apart()
    copied.set(l0_penalty=0.5)
    assert copied.edited() == ""
    copied.model.w[0].setub(1)
    assert copied.edited() == "the bounds of w[0] were changed"
    assert program.edited() == ""
    program.model.w[1].domain = pyo.Reals
    assert program.edited() == "the domain of w[1] was changed"
    program.model.w[0].fix(1)
    assert program.edited() == "variable w[0] is fixed"


def test_a_relaxation_solved_before_its_rules_went_can_be_copied() -> None:
    program = hinge(DATA, constraints=[MaxFPR(0.2)]).relaxed()
    solve(program, "highs")
    assert len(program.model.dual)
    program.set(constraints=[])
    assert len(program.model.dual) == len(program.model.rc) == 0
    gc.collect()
    assert solve(program.exact(), "highs").claim is Claim.OPTIMAL


@pytest.mark.parametrize("seed", range(6))
def test_every_card_keeps_its_place_in_an_edited_program(seed: int) -> None:
    draw = np.random.default_rng(seed)
    program, margin = hinge(DATA, margin=1.0, max_terms=3), float(draw.integers(1, 5)) / 2
    program.model  # noqa: B018 made, to be edited
    program.set(margin=margin, max_terms=2, coef_max=3)
    new = hinge(DATA, margin=margin, max_terms=2, coef_max=3)
    for _ in range(40):
        points = draw.integers(-5, 6, 4) * draw.integers(0, 2, 4)
        card = new.statement.with_best_intercept(points)
        mine, rebuilt = check(program, card), check(new, card)
        assert mine.feasible == rebuilt.feasible
        assert mine.objective == pytest.approx(rebuilt.objective, abs=1e-12)
