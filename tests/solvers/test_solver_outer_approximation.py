"""Outer approximation against enumeration; bounds, limits, starts, exports."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from designs import card_of, design, hard, noisy
from risk_cases import optimum, small

from milpscore.constraints import MaxFPR, Range
from milpscore.core.design import Column, Design
from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.result import Claim, Termination, TracePoint
from milpscore.data import make_design
from milpscore.formulations import hinge, risk_score
from milpscore.losses import RiskLoss, smooth_loss
from milpscore.solvers import load, solve
from milpscore.solvers.tangents import LossCurve, NormCurve
from milpscore.verify import check

NAME = "outer_approximation"
BOX: dict[str, Any] = {"scale": 1.0, "coef_min": -2, "coef_max": 2}
KNOWN = np.array([1.0, 0.0, 0.5])

FIRST_AND_SLOW = [0, pytest.param(1, marks=pytest.mark.slow)]

VARIANTS: list[dict[str, Any]] = [
    {},
    {"max_terms": 1},
    {"max_terms": 2, "l0_penalty": 0.02},
    {"intercept": "real"},
    {"intercept": "zero", "max_terms": 2},
    {"scale": 3.0},
    {"penalty": "l1", "lam": 0.03},
    {"penalty": "l2", "lam": 0.03, "max_terms": 2},
    {"penalty": "facets", "lam": 0.02},
    {"penalty": "eye", "lam": 0.05, "max_terms": 2},
    {"penalty": "eye", "lam": 0.05, "intercept": "real"},
    {"coef_sets": {"x1": (-2, 0, 1)}, "max_terms": 2},
    {"l0_penalty": 0.0},
]


def built(data: Any, loss: str, variant: dict[str, Any]) -> Any:
    """The program of a variant."""
    further = {"expert": KNOWN} if variant.get("penalty") == "eye" else {}
    return risk_score(data, loss=loss, **{**BOX, **variant, **further})


def enumerated(data: Any, loss: str, variant: dict[str, Any]) -> float:
    """Its optimum by enumeration."""
    given = {key: value for key, value in variant.items() if key != "coef_sets"}
    sets = {1: variant["coef_sets"]["x1"]} if "coef_sets" in variant else None
    return optimum(data, loss=loss, sets=sets, known=KNOWN, **given)


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "poisson"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("seed", FIRST_AND_SLOW)
def test_optimum_and_bound_equal_enumeration(loss: str, variant: dict[str, Any], seed: int) -> None:
    data = small(seed)
    program = built(data, loss, variant)
    result = solve(program, NAME)
    truth = enumerated(data, loss, variant)
    assert result.claim is Claim.OPTIMAL
    assert result.termination is Termination.COMPLETED
    assert result.solver == NAME
    assert result.objective == pytest.approx(truth, abs=1.1e-6)
    assert result.objective >= truth - 1e-9
    assert result.dual_bound <= truth + 1e-9


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("seed", FIRST_AND_SLOW)
def test_the_relaxation_converges_below_the_exact_optimum(
    variant: dict[str, Any], seed: int
) -> None:
    data = small(seed + 50)
    program = built(data, "logistic", variant)
    result = solve(program.relaxed(), NAME)
    assert result.claim is Claim.OPTIMAL
    assert result.objective - result.dual_bound <= 1e-6
    assert result.dual_bound <= enumerated(data, "logistic", variant) + 1e-9


def test_the_relaxation_is_the_continuous_optimum_of_the_box() -> None:
    from scipy.optimize import minimize

    data = small(3)
    program = risk_score(data, l0_penalty=0.0, intercept="real", **BOX)
    curve = LossCurve(program.statement)
    rule = program.statement.intercept
    ranges = [(-2.0, 2.0)] * 3 + [(float(rule.lower), float(rule.upper))]
    truth = minimize(curve.value, np.zeros(4), bounds=ranges, options={"ftol": 1e-14}).fun
    result = solve(program.relaxed(), NAME)
    assert result.objective == pytest.approx(truth, abs=1e-6)
    assert result.dual_bound <= truth + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_tangents_lie_below_their_curves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = small(seed)
    for loss in ("logistic", "squared", "squared_hinge", "poisson"):
        statement = risk_score(data, loss=loss, **BOX).statement
        assert isinstance(statement.loss, RiskLoss)
        assert statement.loss.base == smooth_loss(loss)
        curve = LossCurve(statement)
        points = np.clip(rng.normal(size=(60, 4)) * curve.reach, -curve.reach, curve.reach)
        for v in points[:20]:
            tangent = curve.tangent(v)
            if tangent is None:
                assert loss == "poisson"
                continue
            below = points @ tangent.gradient + tangent.constant
            assert np.all(below <= curve.values(points))
            assert v @ tangent.gradient + tangent.constant == pytest.approx(
                curve.value(v), rel=1e-9, abs=1e-9
            )
    statement = built(data, "logistic", {"penalty": "eye", "lam": 1.0}).statement
    norm = NormCurve(statement.penalties[1].make(1.0))  # type: ignore[attr-defined]
    points = rng.integers(-2, 3, size=(60, 4)).astype(float)
    for v in points[:20]:
        tangent = norm.tangent(v)
        if tangent is None:
            assert not v[:-1].any()
            continue
        heights = points @ tangent.gradient + tangent.constant
        assert np.all(heights <= np.array([norm.value(u) for u in points]) + 1e-12)
        assert v @ tangent.gradient == pytest.approx(norm.value(v), rel=1e-6)


def test_auto_sees_what_needs_tangents() -> None:
    data = small(0)
    assert solve(risk_score(data, **BOX), time_limit=300).solver != "highs"
    with pytest.raises(NotApplicableError, match="highs"):
        solve(hinge(data), NAME)


def test_the_exported_master_shows_the_tangents(tmp_path: Any) -> None:
    program = risk_score(small(1), max_terms=2, **BOX)
    with pytest.raises(FormulationError, match="would lack the loss"):
        program.write(tmp_path / "before.lp")
    result = solve(program, NAME)
    text = program.write(tmp_path / "after.lp").read_text()
    assert text.count("_cuts(") == len(program.model.cuts) > 0
    assert check(program, result.card).feasible
    # with the tangents in, HiGHS alone proves no more than the truth, and no less than a start
    alone = solve(program, "highs")
    assert alone.dual_bound <= result.objective + 1e-9
    assert alone.dual_bound >= solve(program.relaxed(), "highs").dual_bound - 1e-6


def test_a_session_keeps_its_tangents_and_follows_new_weights() -> None:
    data = small(2)
    program = risk_score(data, penalty="l1", lam=0.01, **BOX)
    session = load(program)
    first = solve(session, NAME)
    tangents = len(program.model.cuts)
    assert len(session.rows) == session.matrix.shape[0] == session.highs.getNumRow()
    again = solve(session, NAME, warm_start=first)
    assert again.objective == first.objective
    assert tangents <= len(program.model.cuts)
    session.set(lam=0.2)
    changed = solve(session, NAME)
    truth = optimum(data, penalty="l1", lam=0.2)
    assert changed.objective == pytest.approx(truth, abs=1.1e-6)
    session.relax()
    relaxed = solve(session, NAME)
    assert relaxed.kind == "relaxed"
    assert relaxed.dual_bound <= truth + 1e-9


def test_a_second_solve_proves_the_same_without_the_tangents_of_the_first() -> None:
    program = risk_score(small(0), max_terms=2, coef_min=-2, coef_max=2)
    program.model.mine = pyo.Constraint(expr=program.model.w[0] + program.model.w[1] <= 3)
    first = solve(program)
    tangents = len(program.model.cuts)
    # HiGHS's own answer on the tangents is not doubted for entries near to 0
    assert solve(program, "highs").dual_bound > 0.0
    again = solve(program)
    assert first.claim is again.claim is Claim.OPTIMAL
    assert (again.dual_bound, again.message) == (first.dual_bound, first.message)
    assert len(program.model.cuts) == len(program.touched) == tangents
    session = load(program)
    for _ in range(3):  # a session's tangents stay, none of them twice
        solve(session)
    points = {v.tobytes() for v in program.touched}
    assert len(program.model.cuts) == len(program.touched) == len(points)
    session.set(coef_max=1)
    assert solve(session).claim is Claim.OPTIMAL


def test_user_constraints_fixed_variables_and_infeasibility() -> None:
    data = small(4)
    program = risk_score(data, **BOX)
    m = program.model
    m.pair = pyo.Constraint(expr=m.w[0] + m.w[1] == 1)
    m.w[2].fix(1)
    result = solve(program, NAME)
    truth = optimum(data, allowed=lambda w: w[0] + w[1] == 1 and w[2] == 1)
    assert result.objective == pytest.approx(truth, abs=1.1e-6)
    assert result.dual_bound <= truth + 1e-9
    m.never = pyo.Constraint(expr=m.w[0] - m.w[1] >= 5)
    nothing = solve(program, NAME)
    assert nothing.termination is Termination.INFEASIBLE
    assert nothing.claim is Claim.NONE
    assert "no card meets 'never'" in nothing.message


def test_a_bound_on_the_loss_itself_holds() -> None:
    data = small(5)
    free = solve(risk_score(data, l0_penalty=0.1, **BOX), NAME)
    program = risk_score(data, l0_penalty=0.1, **BOX)
    most = free.loss - 0.01
    program.model.good = pyo.Constraint(expr=program.model.eta <= most)
    result = solve(program, NAME)
    assert result.claim is not Claim.NONE
    assert result.loss <= most + 1e-6
    assert free.objective - 1e-9 <= result.dual_bound + 1e-6 <= result.objective + 1e-6


def test_warm_starts() -> None:
    program = risk_score(small(6), max_terms=2, **BOX)
    best = solve(program, NAME)
    assert solve(program, NAME, warm_start=best).warm_start == "accepted"
    stopped = solve(program, NAME, warm_start=best, node_limit=0)
    assert stopped.objective == best.objective
    bad = solve(program, NAME, warm_start=card_of([2, 2, 2]))
    assert bad.warm_start.startswith("rejected")
    assert bad.objective == best.objective


def test_limits_and_gap() -> None:
    program = risk_score(hard(400, 20), scale=1.0, max_terms=6)
    nothing = solve(program, NAME, time_limit=0)
    assert nothing.termination is Termination.TIME_LIMIT
    assert nothing.verified
    assert nothing.origin == "empty card"
    assert solve(program.relaxed(), NAME, time_limit=0).claim is Claim.NONE
    short = solve(program, NAME, time_limit=1)
    assert short.termination is Termination.TIME_LIMIT
    assert short.dual_bound <= short.objective <= nothing.objective
    nodes = solve(
        risk_score(hard(400, 20), scale=1.0, max_terms=6), NAME, node_limit=5, time_limit=300
    )
    assert nodes.termination is Termination.NODE_LIMIT
    assert nodes.objective < nothing.objective
    assert 0 < nodes.dual_bound <= nodes.objective
    loose = solve(program, NAME, mip_gap=0.9, time_limit=60)
    assert loose.termination is Termination.GAP_REACHED
    assert loose.gap <= 0.9 + 1e-9


def test_progress_is_reported_and_bounds_only_rise() -> None:
    points: list[Any] = []
    result = solve(risk_score(noisy(60, 5), scale=1.0, max_terms=3), NAME, callback=points.append)
    assert tuple(points) == result.trace
    assert len(points) >= 2
    bounds = [point.dual_bound for point in points]
    objectives = [point.objective for point in points]
    assert bounds == sorted(bounds)
    assert objectives == sorted(objectives, reverse=True)


def test_a_failing_callback_is_raised_and_the_session_stays_usable() -> None:
    session = load(risk_score(small(7), **BOX))

    def fail(point: Any) -> None:
        raise RuntimeError("full disk")

    with pytest.raises(RuntimeError, match="full disk"):
        solve(session, NAME, callback=fail)
    assert solve(session, NAME).claim is Claim.OPTIMAL


def test_an_interrupt_ends_the_search_with_the_best_card() -> None:
    import _thread

    program = risk_score(hard(600, 25), scale=1.0, max_terms=6)
    told = itertools.count()

    def press(_: TracePoint) -> None:
        if next(told) == 0:  # the search has begun
            _thread.interrupt_main()

    result = solve(program, NAME, time_limit=600, callback=press)
    assert result.termination is Termination.INTERRUPTED
    assert result.verified


@pytest.mark.parametrize(
    ("stop", "ended"),
    [
        ({"cutoff": 0.5}, Termination.CUTOFF),
        ({"callback": lambda point: point.dual_bound > 0.5}, Termination.INTERRUPTED),
    ],
)
def test_a_stop_at_the_last_report_is_an_answer(stop: Any, ended: Termination) -> None:
    X = np.array([[0.0, 2], [1, 1], [0, 1], [1, 0]])
    given: dict[str, Any] = {"coef_min": -1, "coef_max": 1, "scale": 1, "l0_penalty": 0.01}
    result = solve(risk_score(X, [0, 1, 1, 0], **given), NAME, **stop)
    assert (result.termination, result.verified) == (ended, True)
    assert result.dual_bound > 0.5


def test_same_answer_twice() -> None:
    first, second = (
        solve(risk_score(noisy(50, 5, seed=3), scale=1.0, max_terms=3), NAME) for _ in range(2)
    )
    assert first.card == second.card
    assert first.dual_bound == second.dual_bound
    assert first.nodes == second.nodes


@pytest.mark.parametrize("seed", range(3))
def test_columns_without_information(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.zeros(10), rng.choice([0.0, 1.0], 10), np.ones(10)])
    data = design(X, [1, -1] * 5)
    for variant in ({}, {"l0_penalty": 0.0}, {"max_terms": 0}):
        result = solve(risk_score(data, **BOX, **variant), NAME)
        given = {"l0_penalty": 1e-6, **variant}
        assert result.objective == pytest.approx(optimum(data, **given), abs=1.1e-6)


def test_overflowing_losses_are_drawn_in() -> None:
    rng = np.random.default_rng(0)
    data = design(rng.integers(0, 900, size=(20, 2)), rng.choice([-1, 1], 20))
    result = solve(risk_score(data, loss="poisson", **BOX), NAME)
    best = math.inf
    share = data.weight / data.weight.sum()
    for w in itertools.product(range(-2, 3), repeat=2):
        total = data.X @ np.array(w, dtype=float)
        for b in range(-4000, 4001):
            z = total + b
            if z.max() < 50:
                loss = float(share @ (np.exp(z) - (data.y + 1) / 2 * z))
                best = min(best, loss + 1e-6 * sum(v != 0 for v in w))
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(best, abs=1.1e-6)


@pytest.mark.parametrize(
    ("name", "truth"),
    [("haberman", 0.57796757), ("bankruptcy", 0.01239852), ("breastcancer", 0.11336465)],
)
def test_known_optima(uci: Any, name: str, truth: float) -> None:
    X, y = uci(name)
    program = risk_score(make_design(X, y), scale=1.0, max_terms=5)
    result = solve(program, NAME, mip_gap=1e-4, time_limit=120)
    assert result.objective == pytest.approx(truth, abs=1e-8)
    assert result.gap <= 1e-4 + 1e-9
    assert result.dual_bound <= truth + 1e-8


def test_a_free_scale_is_proved_where_the_master_has_another_slope_than_the_card() -> None:
    """Once a gap of .1 %, without a word, as no new tangent was drawn."""
    program = risk_score(
        np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 1.0]]), [0, 1, 1], loss="poisson",
        scale=[0.5, 2.0], coef_min=0, coef_max=1,
    )  # fmt: skip
    result = solve(program, NAME, time_limit=120)
    assert str(result.claim) == "optimal"
    assert result.objective == pytest.approx(solve(program, "tree").objective, abs=1e-9)


@pytest.mark.parametrize("intercept", ["integer", "real"])
@pytest.mark.parametrize("with_cards", [True, False])
def test_tangents_that_overflow_rule_no_card_out(
    intercept: str, with_cards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once "no card meets every constraint", where the tree proves one of 1319.94."""
    X = 300.0 * np.array([[3.0], [2], [-1], [-3], [1]])
    program = risk_score(
        X, [1, 1, 0, 1, 0], loss="poisson", scale=1, coef_min=-2, coef_max=-2, intercept=intercept
    )
    if not with_cards:
        home = "milpscore.solvers._outer_approximation._TangentSearch._consider"
        monkeypatch.setattr(home, lambda search, card: None)
    result = solve(program, NAME)
    assert result.termination is not Termination.INFEASIBLE
    assert "no card meets" not in result.message
    if with_cards:
        assert result.objective == pytest.approx(1319.94, abs=0.01)
        assert result.dual_bound <= result.objective
    else:
        assert (result.claim, result.termination) == (Claim.NONE, Termination.INACCURATE)
        assert "numerical trouble" in result.message


def test_the_best_intercept_of_counts_is_found_where_most_overflow() -> None:
    """Newton's steps are one unit of the score there, and thousands of them are needed."""
    X = np.array([[3.0], [2], [-1], [-3], [1]])
    for times in (30.0, 300.0, 3000.0):
        program = risk_score(times * X, [1, 1, 0, 1, 0], loss="poisson", scale=1, intercept="real")
        card = program.statement.with_best_intercept(np.array([-2]))
        assert float(card.intercept) == pytest.approx(-6 * times + math.log(3), abs=1e-6)


def test_a_first_point_that_no_rule_allows_sets_no_ceiling() -> None:
    """Once left with a gap of 2e-4: tangents at the best card were drawn in to a lower loss."""
    columns = tuple(
        Column(f"f{f}b{k}", f"f{f}", "interval", k, k + 1.0)
        for f, size in enumerate((2, 3))
        for k in range(size)
    )
    X = np.array([[1.0, 0, 1, 0, 0], [0, 1, 0, 0, 1], [0, 1, 1, 0, 0]])
    rows = Design(X, np.array([1, -1, 1]), np.array([1.0, 2, 1]), columns, ((0, 1), (2, 3, 4)))
    program = risk_score(
        rows, constraints=[Range(["f0b1", "f1b2"], lower=1, upper=1)], coef_min=[-1, 1, -1, 2, -2],
        coef_max=[0, 2, 1, 2, 1], l0_penalty=0.2, scale=0.1, penalty="facets", lam=1e-4,
        intercept="zero",
    )  # fmt: skip
    result = solve(program, "outer_approximation")
    assert (result.claim, result.termination) == (Claim.OPTIMAL, Termination.COMPLETED)
    assert result.objective == pytest.approx(10.773798145895)
    relaxed = solve(program.relaxed(), "outer_approximation")
    # once a gap of 0.04
    assert relaxed.dual_bound == pytest.approx(relaxed.objective, abs=1e-6)


def test_tangents_without_a_card_prove_nothing() -> None:
    """At the flattest slopes HiGHS's points are no cards, and the tree knows one."""
    X = np.array([[-1.0, 1.0], [3.0, 3.0], [3.0, 2.0], [-1.0, 1.0], [1.0, 0.0], [1.0, 3.0]])
    program = risk_score(
        design(X, np.array([-1, 1, 1, 1, -1, 1])), coef_min=-7, coef_max=3, l0_penalty=1e-5,
        intercept_bounds=(2, 3), constraints=[MaxFPR(0.25)],
    )  # fmt: skip
    known = solve(program, "tree", time_limit=300)
    assert known.claim is Claim.OPTIMAL
    result = solve(program, "outer_approximation", time_limit=300)
    if result.card is None:
        assert result.termination is Termination.INACCURATE
        assert "none is ruled out" in result.message


def test_highs_says_that_it_bounds_tangents_alone() -> None:
    program = risk_score(noisy(), max_terms=2)
    result = solve(program, "highs")
    assert result.claim is Claim.FEASIBLE
    assert "by the model's tangents alone" in result.message
    assert "tangents" not in solve(program, NAME).message
