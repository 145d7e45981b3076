"""What tightens the 0-1 program: no card breaks it, and bounds rise, to no optimum's above."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from formulation_cases import SLIM_CASES, points_of
from pyomo.repn import generate_standard_repn

from milpscore.constraints import MaxFPR
from milpscore.core.card import Card
from milpscore.core.errors import FormulationError
from milpscore.core.result import Claim
from milpscore.data import make_ordinal_design
from milpscore.formulations import _ordinal as ordinal_module, ordinal, slim
from milpscore.formulations.pair_covers import nearest_pairs
from milpscore.formulations.policy import POLICY
from milpscore.solvers import solve
from milpscore.verify import check


def table(seed: int, decimals: bool = False) -> tuple[Any, Any]:
    """Rows of three columns with repeats, contradictions and weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(24, 3)).astype(np.float64)
    y = (X[:, 0] - X[:, 1] + rng.normal(size=24) > 0).astype(int)
    y[:2] = 0, 1
    return (X + rng.random((24, 3)) if decimals else X), y


@pytest.mark.parametrize("decimals", [False, True])
@pytest.mark.parametrize("case", SLIM_CASES)
def test_no_card_breaks_a_cover(case: str, decimals: bool) -> None:
    program = slim(*table(3, decimals), **SLIM_CASES[case])
    statement, rng = program.statement, np.random.default_rng(5)
    assert len(program.model.pair_covers) > 0
    choices = points_of(statement)
    for _ in range(60):
        w = np.array([rng.choice(list(values)) for values in choices], dtype=np.int64)
        if statement.max_terms is not None and np.count_nonzero(w) > statement.max_terms:
            continue
        rule = statement.intercept
        anywhere = rng.uniform(float(rule.lower), float(rule.upper))
        for card in (statement.with_best_intercept(w), Card(w, rule.nearest(anywhere))):
            assert check(program, card).violations == ()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", SLIM_CASES)
def test_they_change_no_optimum_and_raise_bounds(case: str, seed: int) -> None:
    with_them = slim(*table(seed), **SLIM_CASES[case])
    without = slim(*table(seed), **SLIM_CASES[case], pair_covers=False, big_m="row")
    exact, other = solve(with_them, "highs", progress=False), solve(without, "tree", progress=False)
    assert exact.claim is other.claim is Claim.OPTIMAL
    assert exact.objective == pytest.approx(other.objective, abs=1e-9)
    tight, loose = (solve(p.relaxed(), "highs").dual_bound for p in (with_them, without))
    assert loose - 1e-9 <= tight <= exact.objective + 1e-9


@pytest.mark.parametrize("tightening", [{}, {"pair_covers": False}, {"big_m": "row"}])
def test_rows_of_ones_own_keep_their_meaning(tightening: dict[str, Any]) -> None:
    answers = []
    for given in (tightening, {"pair_covers": False, "big_m": "row"}):
        program = slim(*table(1), coef_min=-3, coef_max=3, **given)
        m = program.model
        m.knapsack = pyo.Constraint(expr=2 * m.w[0] + 3 * m.w[1] - m.w[2] <= -4)
        m.errors = pyo.Constraint(expr=sum(m.z[i] for i in m.I_neg) <= 2)
        answers.append(solve(program, "highs", progress=False).objective)
    assert answers[0] == pytest.approx(answers[1], abs=1e-9)


@pytest.mark.parametrize("given", [{}, {"spacing": 2}, {"max_terms": 1}, {"l0_penalty": 0.0}])
@pytest.mark.parametrize("seed", range(3))
def test_covers_of_several_thresholds_change_no_optimum(given: dict[str, Any], seed: int) -> None:
    X, _ = table(seed)
    level = np.random.default_rng(seed).permutation(np.arange(24) % 3)
    level[:3] = 0, 1, 2
    programs = [
        ordinal(X, level, coef_min=-2, coef_max=[2, 0, 1], pair_covers=covers, **given)
        for covers in (True, False)
    ]
    assert len(programs[0].model.pair_covers) > 0
    exact = [solve(program, "highs", progress=False) for program in programs]
    assert exact[0].objective == pytest.approx(exact[1].objective, abs=1e-9)
    tight, loose = (solve(program.relaxed(), "highs").dual_bound for program in programs)
    assert loose + 1e-3 < tight <= exact[0].objective + 1e-9
    rng, statement = np.random.default_rng(seed), programs[0].statement
    for _ in range(40):  # whatever the gaps: no card breaks a row
        ends = statement.coef_min, statement.coef_max.clip(max=9)
        card = statement.with_best_intercept(rng.integers(ends[0], ends[1] + 1))
        if (
            statement.max_terms is None
            or np.count_nonzero(card.coefficients) <= statement.max_terms
        ):
            assert check(programs[0], card).violations == ()


def spoken(m: Any) -> None:
    """A row on T."""
    m.late = pyo.Constraint(expr=3 + m.w[0] <= m.T)


def bounded(m: Any) -> None:
    """Another bound of T."""
    m.T.setlb(2)


def test_a_card_that_parts_the_classes_by_far_is_filled_in() -> None:
    program = slim([[0, 1], [30, 0]], [1, 0], coef_min=-1, coef_max=0)
    for threshold in range(-24, 1):
        card = Card(np.array([-1, 0]), program.statement.intercept.nearest(-threshold))
        assert check(program, card).violations == ()
    assert solve(program, "highs", progress=False).claim is Claim.OPTIMAL


def test_rows_that_are_always_right_hold_the_threshold() -> None:
    program = slim([[0], [1]], [0, 1], coef_min=[2], coef_max=[2])
    result = solve(program, "highs", progress=False)
    assert (result.claim, result.loss) == (Claim.OPTIMAL, 0.0)
    # a card is filled in at the threshold next to a row, where such a row is right
    for threshold in (0, 1):
        card = Card(np.array([2]), program.statement.intercept.nearest(-threshold))
        assert check(program, card).violations == ()


@pytest.mark.parametrize("edit", [spoken, bounded, lambda m: m.T.fix(1)])
def test_rows_on_the_threshold_need_big_m_of_their_own(edit: Any, tmp_path: Any) -> None:
    program = slim(*table(1), coef_min=-3, coef_max=3)
    edit(program.model)
    for use in (lambda: solve(program, "highs"), lambda: program.write(tmp_path / "model.lp")):
        with pytest.raises(FormulationError, match=r"holds T next to .* big_m"):
            use()
    with_cuts, without = (
        slim(*table(1), coef_min=-3, coef_max=3, big_m="row", pair_covers=covers)
        for covers in (True, False)
    )
    edit(with_cuts.model)
    edit(without.model)
    values = [solve(p, "highs", progress=False).objective for p in (with_cuts, without)]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", SLIM_CASES)
def test_joint_big_m_are_the_least_over_cards_and_thresholds_beside_rows(
    case: str, seed: int
) -> None:
    X, y = table(seed)
    program = slim(X, y, **SLIM_CASES[case])
    statement, m = program.statement, program.model
    rows, sign = statement.design.merged.X, statement.design.merged.y
    choices = points_of(statement)
    W = np.array(list(product(*choices)))
    if statement.max_terms is not None:
        W = W[np.count_nonzero(W, axis=1) <= statement.max_terms]
    totals = rows @ W.T
    most, least = totals[sign < 0].max(axis=0) + 1, totals[sign > 0].min(axis=0)
    needed = np.where(sign[:, None] > 0, most - totals, totals - least + 1).max(axis=1)
    ends = ((m.positive_rows, 1), (m.negative_rows, -1))
    for i, need in enumerate(needed.tolist()):
        stated = next((c[i] for c, _ in ends if i in c), None)
        if stated is None:
            assert need <= 0
            continue
        repn = generate_standard_repn(stated.body)
        entries = dict(zip(map(id, repn.linear_vars), repn.linear_coefs, strict=True))
        big_m = abs(entries.get(id(m.z[i]), 0.0))
        assert big_m >= need - 1e-9
        if not statement.coef_sets:
            assert big_m == max(need, 0.0)


def test_big_m_of_rows_where_joint_ones_would_cut_cards_off() -> None:
    X, y = table(2)
    joint, row = (slim(X, y, big_m=kind) for kind in ("joint", "row"))
    assert joint.model.component("beside_rows") is not None
    held = [
        row,
        slim(X, y, intercept_bounds=(-4, 4)),
        slim(X, y, constraints=[MaxFPR(0.2)]),
        slim(*table(2, decimals=True)),
    ]
    assert all(program.model.component("beside_rows") is None for program in held)
    with pytest.raises(FormulationError, match="big_m must be joint or row"):
        slim(X, y, big_m="least")


def ordered(seed: int, cost: Any = "absolute", levels: int = 4) -> Any:
    """Rows of two columns with repeats and weights, and levels that follow them by half."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(10, 2)).astype(np.float64)
    level = np.r_[np.arange(levels), rng.integers(0, levels, 10 - levels)]
    return make_ordinal_design(X, level, cost=cost, sample_weight=rng.integers(1, 4, size=10))


@pytest.mark.parametrize("spacing", [1, 2])
@pytest.mark.parametrize("cost", ["absolute", "squared", "zero_one"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_thresholds_near_the_rows_of_either_side_lose_nothing(
    seed: int, cost: Any, spacing: int
) -> None:
    program = ordinal(ordered(seed, cost), coef_min=-1, coef_max=2, spacing=spacing)
    assert program.model.component("beside_rows") is not None
    statement, m = program.statement, program.model
    rows, nearer = statement.design.merged, 0
    boundary = np.count_nonzero(rows.X[:, 2:], axis=1)
    for w in product(range(-1, 3), repeat=2):
        for first, *gaps in product(range(-4, 8, 3), (0, 3), (0, 1)):
            points = np.array([*w, *(spacing + gap for gap in gaps)], dtype=np.int64)
            card = Card(points, statement.intercept.nearest(-first))
            program.fill(card)
            # every row of the model holds, at thresholds by which no row errs but by the card's own
            assert check(program, card).violations == ()
            found = np.array([m.T[k].value for k in m.K])
            assert (np.diff(found) >= spacing).all()
            totals = rows.X[:, :2] @ points[:2]
            wrong = (totals >= found[boundary]) != (rows.y > 0)
            own = (rows.X @ points >= float(card.threshold)) != (rows.y > 0)
            assert (wrong <= own).all()
            nearer += int((wrong < own).any())
    assert nearer


@pytest.mark.parametrize("given", [{}, {"spacing": 2}, {"max_terms": 1}, {"coef_min": [0, -2]}])
@pytest.mark.parametrize("cost", ["absolute", "squared", "zero_one"])
@pytest.mark.parametrize("seed", range(2))
def test_joint_big_m_of_several_thresholds_change_no_optimum_and_raise_bounds(
    seed: int, cost: Any, given: dict[str, Any]
) -> None:
    asked = {"coef_min": -2, "coef_max": 2, **given}
    joint, row = (
        ordinal(ordered(seed, cost), big_m=kind, pair_covers=False, **asked)
        for kind in ("joint", "row")
    )
    exact, other = solve(joint, "highs", progress=False), solve(row, "tree", progress=False)
    assert exact.claim is other.claim is Claim.OPTIMAL
    assert exact.objective == pytest.approx(other.objective, abs=1e-9)
    tight, loose = (solve(p.relaxed(), "highs").dual_bound for p in (joint, row))
    assert loose - 1e-9 <= tight <= exact.objective + 1e-9


def test_two_classes_have_the_big_m_of_slim() -> None:
    X, y = table(1)
    given: dict[str, Any] = {"coef_min": -2, "coef_max": 2}
    same, plain = ordinal(X, y, **given), slim(X, y, **given)
    bounds = [solve(each.relaxed(), "highs").dual_bound for each in (same, plain)]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-7)


def gap_held(m: Any) -> None:
    """A row on a gap."""
    m.far = pyo.Constraint(expr=m.w[2] >= 2)


def last_held(m: Any) -> None:
    """A row on a threshold but the first."""
    m.late = pyo.Constraint(expr=m.T[2] >= 3)


@pytest.mark.parametrize("edit", [gap_held, last_held, lambda m: m.T[1].setub(1)])
def test_rows_on_ordered_thresholds_need_big_m_of_their_own(edit: Any) -> None:
    design, given = ordered(3, levels=3), {"coef_min": -2, "coef_max": 2}
    program = ordinal(design, **given)
    edit(program.model)
    with pytest.raises(FormulationError, match=r"holds (T|w)\[\d\] next to .* big_m"):
        solve(program, "highs")
    program = ordinal(design, big_m="row", **given)
    edit(program.model)
    assert solve(program, "highs", progress=False).claim is Claim.OPTIMAL


def test_ordered_thresholds_have_big_m_of_rows_where_joint_ones_do_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    design = ordered(0)
    with pytest.raises(FormulationError, match="big_m must be joint or row"):
        ordinal(design, big_m="least")  # type: ignore[arg-type]
    monkeypatch.setattr(ordinal_module, "POLICY", replace(POLICY, joint_entries=10))
    held = [ordinal(design), ordinal(design, loss="hinge")]
    assert all(program.model.component("beside_rows") is None for program in held)
    monkeypatch.undo()
    assert ordinal(design, loss="hinge").model.component("beside_rows") is None


def test_the_pairs_are_the_nearest_rows_of_the_other_class() -> None:
    X, y = table(7, decimals=True)
    X[:, 2] = X[:, 2] > 2
    sign, width = np.where(y > 0, 1, -1), np.ptp(X, axis=0)
    expected = set()
    for i in range(len(X)):
        others = [k for k in range(len(X)) if sign[k] != sign[i] and (X[i] != X[k]).any()]
        apart = {k: ((X[i] != X[k]).sum(), (abs(X[i] - X[k]) / width)[:2].sum()) for k in others}
        near = sorted(others, key=lambda k: (apart[k], k))[: POLICY.near_rows]
        expected |= {(i, k) if sign[i] > 0 else (k, i) for k in near}
    assert {(i, k) for i, k in nearest_pairs(X, sign, np.ones(len(X))).tolist()} == expected


def test_few_rows_are_compared_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    import milpscore.formulations.pair_covers as module

    X, y = table(9, decimals=True)
    weight = np.arange(1.0, len(X) + 1.0)
    monkeypatch.setattr(module, "POLICY", replace(POLICY, compared_rows=4, compared_at_once=2))
    pairs = nearest_pairs(X, np.where(y > 0, 1, -1), weight)
    for side, label in ((0, 1), (1, 0)):
        heaviest = np.flatnonzero(y == label)[-4:]
        assert set(pairs[:, side].tolist()) <= set(heaviest.tolist())
    assert len(pairs) >= 4
