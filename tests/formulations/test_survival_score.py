"""Survival scores against their definition, every card, and other packages."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from milpscore.constraints import AtMost, MaxFPR, Sign
from milpscore.core.card import Card
from milpscore.core.errors import DataError, FormulationError, NotApplicableError
from milpscore.data import make_survival_design, survival_target
from milpscore.fitting import fit_card
from milpscore.formulations import survival_score
from milpscore.losses.hazards import HazardRows
from milpscore.pools import pool
from milpscore.solvers import solve
from milpscore.verify import evaluate
from tests.survival_cases import (
    best_by_enumeration,
    loss_by_definition,
    small_times,
    table_by_definition,
)

KINDS = [
    {"times": 4},
    {"times": "events", "exposure": "at_risk"},
    {"times": 1},
    {"times": 3, "exposure": "at_risk"},
    {"times": [0.9, 2.5, 1e4]},
    {"times": 3, "exposure": "discrete"},
    {"times": [0.9, 2.5, 4.0, 1e4], "exposure": "discrete"},
]


def _objective(program, w, slope=0.4):
    """Return the loss of points at a slope, by the statement and by the definition."""
    statement = program.statement
    scale = None if statement.scales is None else 1 / slope
    slope = slope if statement.scales is not None else 1 / statement.loss.scale
    from fractions import Fraction

    card = Card(np.array(w), Fraction(0), None if scale is None else Fraction(scale))
    intervals = statement.loss.base.intervals
    scores = slope * (statement.design.X @ np.array(w))
    defined = loss_by_definition(statement.design, intervals.cuts, intervals.kind, scores)
    return evaluate(statement, card).loss, defined


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_its_definition(options, late, weighted):
    for seed in range(4):
        program = survival_score(small_times(seed, late=late, weighted=weighted), **options)
        for w in ([0, 0, 0], [1, -2, 3], [5, 5, 5]):
            stated, defined = _objective(program, w)
            assert stated == pytest.approx(defined, rel=1e-12)
            assert stated >= 0.0


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_every_card_is_searched(options):
    for seed in range(3):
        design = small_times(seed, late=seed == 1, weighted=seed == 2)
        for scale in ("auto", 2.0):
            program = survival_score(
                design,
                coef_min=-2,
                coef_max=2,
                max_terms=2,
                l0_penalty=1e-3,
                scale=scale,
                **options,
            )
            least = best_by_enumeration(program)
            for solver in ("tree", "outer_approximation"):
                result = solve(program, solver, progress=False)
                assert str(result.claim) == "optimal"
                assert result.objective == pytest.approx(least, rel=1e-7)
                assert result.dual_bound <= least + 1e-9


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        ({}, [Sign("x0", "+")]),
        ({}, [AtMost(1, ["x0", "x1"])]),
        ({"penalty": "l1", "lam": 0.01}, []),
        ({"penalty": "l2", "lam": 0.01}, [Sign("x1", "-")]),
        ({"coef_sets": {"x0": [0, 2]}}, []),
    ],
    ids=str,
)
def test_rules_and_penalties_hold(options, rules):
    frame = pd.DataFrame(small_times(5).X, columns=["x0", "x1", "x2"])
    design = small_times(5)
    program = survival_score(
        frame, time=design.time, event=design.event, coef_min=-2, coef_max=2,
        constraints=rules, **options,
    )  # fmt: skip
    result = solve(program, "tree", progress=False)
    assert str(result.claim) == "optimal"
    assert result.objective == pytest.approx(best_by_enumeration(program), rel=1e-7)


@pytest.mark.parametrize("exposure", ["time", "discrete"])
def test_derivatives_are_those_of_the_mean(exposure):
    program = survival_score(small_times(3), times=5, exposure=exposure)
    rows: HazardRows = program.statement.loss.base.rows
    rng = np.random.default_rng(0)
    z, step = rng.normal(size=len(rows.died)), 1e-5
    eye = np.eye(len(z)) * step
    numeric = [(rows.mean(z + e) - rows.mean(z - e)) / (2 * step) for e in eye]
    assert rows.pull(z) == pytest.approx(np.array(numeric), abs=1e-8)
    second = np.array([(rows.pull(z + e) - rows.pull(z - e)) / (2 * step) for e in eye])
    bend, shared = rows.bend(z)
    assert np.diag(bend) - shared @ shared.T == pytest.approx(second, abs=1e-7)
    assert rows.terms(z).sum() == pytest.approx(rows.mean(z), rel=1e-12)
    many = np.column_stack([z, 2 * z])
    assert rows.mean(many) == pytest.approx([rows.mean(z), rows.mean(2 * z)])
    slope, _, bent, _, _ = rows.along(many, many)
    assert slope == pytest.approx((rows.pull(many) * many).sum(axis=0))
    assert bent[0] == pytest.approx(z @ second @ z, rel=1e-5)


@pytest.mark.parametrize("exposure", ["time", "discrete"])
def test_merged_groups_have_the_same_mean(exposure):
    rows = survival_score(small_times(2), times=4, exposure=exposure).statement.loss.base.rows
    labels = np.arange(len(rows.died)) // 3
    first = np.unique(labels, return_index=True)[1]
    merged = rows.merged(labels, first)
    z = np.random.default_rng(1).normal(size=len(first))
    assert merged.mean(z) == pytest.approx(rows.mean(z[labels]), rel=1e-12)
    assert rows.at_rows(merged, z, labels) == pytest.approx(rows.pull(z[labels]), abs=1e-14)


def test_a_weight_of_two_is_two_rows():
    one = small_times(1)
    weight = np.where(np.arange(len(one.y)) % 3 == 0, 2.0, 1.0)
    rows = np.repeat(np.arange(len(one.y)), weight.astype(int))
    heavy = make_survival_design(one.X, time=one.time, event=one.event, sample_weight=weight)
    twice = make_survival_design(one.X[rows], time=one.time[rows], event=one.event[rows])
    found = [solve(survival_score(d, max_terms=2), "tree", progress=False) for d in (heavy, twice)]
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-12)


def test_what_is_never_seen_counts_for_nothing():
    design = small_times(4)
    program = survival_score(design, times="events", exposure="at_risk")
    gone = design.time < program.statement.loss.base.intervals.cuts[0]
    assert not design.event[gone].any()  # such rows leave before the first event
    assert (program.statement.loss.base.intervals.exposure[gone] == 0).all()


def test_the_partial_likelihood_of_breslow_is_that_of_lifelines():
    lifelines = pytest.importorskip("lifelines", reason="lifelines is not installed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(1)
    time = rng.exponential(size=60)  # without ties its Efron and Breslow agree
    event = rng.random(60) < 0.7
    program = survival_score(
        X, time=time, event=event, times="events", exposure="at_risk", scale=2.0
    )
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(time=time, event=event)
    fitter = lifelines.CoxPHFitter().fit(frame, "time", "event")
    w = np.array([3, -2])
    ours = evaluate(program.statement, Card(w, 0)).loss * 60
    model = fitter._model if hasattr(fitter, "_model") else fitter
    beta = fitter.params_.to_numpy()
    rows = program.statement.loss.base.raw
    # its own coefficients, taken back from standardised ones, give its own likelihood
    theirs = -fitter.log_likelihood_
    assert model is not None
    assert rows.mean(X @ beta) * 60 == pytest.approx(theirs, rel=1e-9)
    assert ours >= theirs


def test_the_partial_likelihood_of_breslow_is_that_of_sksurv():
    sksurv = pytest.importorskip("sksurv.linear_model", reason="scikit-survival is not installed")
    design = small_times(8, rows=80)
    y = survival_target(design.event, design.time)
    model = sksurv.CoxPHSurvivalAnalysis(ties="breslow", tol=1e-12).fit(design.X, y)
    program = survival_score(design, times="events", exposure="at_risk")
    rows = program.statement.loss.base.raw
    at_best = rows.pull(design.X @ model.coef_) @ design.X  # its gradient is ours
    assert np.abs(at_best).max() < 1e-6


def test_scikit_survivals_target_is_read():
    design = small_times(0)
    y = survival_target(design.event, design.time)
    again = make_survival_design(design.X, y)
    assert (again.time == design.time).all()
    assert (again.y == design.y).all()


def test_columns_are_named():
    design = small_times(0)
    frame = pd.DataFrame(design.X, columns=list("abc")).assign(t=design.time, d=design.y > 0)
    again = make_survival_design(frame, time="t", event="d")
    assert again.names == ("a", "b", "c")
    with pytest.raises(DataError, match="no column 'week'"):
        make_survival_design(frame, time="week", event="d")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time": [0.0, 1.0, 2.0, 3.0]}, "not above 0"),
        ({"time": [np.nan, 1.0, 2.0, 3.0]}, "no finite number as time"),
        ({"time": ["1", "2", "3", "unknown"]}, r"no finite number as time \(first unknown\)"),
        ({"time": pd.date_range("2026-01-01", periods=4)}, "holds dates or spans"),
        ({"time": pd.to_timedelta([1, 2, 3, 4], "D")}, "holds dates or spans"),
        ({"event": [0, 0, 0, 0]}, "no row with weight has an event"),
        ({"event": [0, 2, 1, 0]}, "use 1 or True"),
        ({"event": [0, None, 1, 0]}, "missing"),
        ({"entry": [0, 2, 0, 0]}, "at or after the time"),
        ({"entry": [-1, 0, 0, 0]}, "below 0"),
        ({"time": [1.0, 2.0]}, "one each per row"),
        ({"event": None}, "are needed"),
    ],
    ids=str,
)
def test_bad_times_are_refused(change, words):
    given = {"time": [1.0, 2.0, 3.0, 4.0], "event": [1, 0, 1, 0], **change}
    with pytest.raises(DataError, match=words):
        make_survival_design([[0.0], [1.0], [1.0], [0.0]], **given)


def test_discrete_time_is_a_logistic_regression_of_rows_at_risk():
    from sklearn.linear_model import LogisticRegression

    design = small_times(7, rows=120)
    program = survival_score(design, times=4, exposure="discrete")
    base = program.statement.loss.base
    exposed, dead = table_by_definition(design, base.intervals.cuts, "discrete")
    rows, periods = np.nonzero(exposed)
    table = np.column_stack([design.X[rows], np.eye(4)[periods]])
    model = LogisticRegression(C=1e10, fit_intercept=False, tol=1e-10, max_iter=5000)
    model.fit(table, dead[rows, periods])
    z = design.X @ model.coef_[0, :3]
    own = -np.log(model.predict_proba(table)[np.arange(len(rows)), dead[rows, periods].astype(int)])
    assert base.raw.mean(z) == pytest.approx(own.mean(), rel=1e-9)
    assert base.raw.levels(z) == pytest.approx(model.coef_[0, 3:], abs=1e-4)
    assert design.X.T @ base.raw.pull(z) == pytest.approx(np.zeros(3), abs=1e-6)


def test_scores_far_apart_leave_discrete_time_finite():
    rows = survival_score(small_times(1), times=3, exposure="discrete").statement.loss.base.rows
    z = np.linspace(-9000.0, 9000.0, len(rows.died))
    for many in (z[:, None], -z[:, None]):
        assert np.isfinite(rows.mean(many)).all()
        assert np.isfinite(rows.pull(many)).all()
        slope, _, bent, _, _ = rows.along(many, many)
        assert np.isfinite(slope).all()
        assert (bent >= 0.0).all()
    assert rows.mean(np.full(len(z), math.inf)) == math.inf


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"times": 0}, "whole number >= 1"),
        ({"times": 2.5}, "whole number >= 1"),
        ({"times": "weeks"}, "'events' or cuts"),
        ({"times": [2.0, 1.0]}, "ascending"),
        ({"times": [0.3]}, "after the last"),
        ({"exposure": "days"}, "'at_risk' or 'discrete'"),
        ({"constraints": [MaxFPR(0.2)]}, "limits errors"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(options, words):
    with pytest.raises(FormulationError, match=words):
        survival_score(small_times(0), **options)


def test_a_table_without_times_is_refused():
    with pytest.raises(DataError, match="are needed"):
        survival_score([[0.0], [1.0]], None)


def test_rows_have_no_loss_of_their_own():
    loss = survival_score(small_times(0)).statement.loss
    with pytest.raises(NotApplicableError, match="no loss of its own"):
        loss.rows(None, 0, None)
    with pytest.raises(NotApplicableError, match="known times"):
        loss.mean_rows(np.array([1, -1, 1]), np.ones(3))


def test_all_rows_may_end_with_an_event():
    design = small_times(6)
    program = survival_score(design.X, time=design.time, event=np.ones(len(design.y)), max_terms=1)
    result = solve(program, "tree", progress=False)
    assert str(result.claim) == "optimal"
    assert math.isfinite(result.objective)


@pytest.mark.parametrize("scale", ["auto", 1.0])
def test_a_pool_holds_every_card_near_the_best(scale):
    design = small_times(1)
    program = survival_score(
        design, times=4, coef_min=-2, coef_max=2, max_terms=2, l0_penalty=1e-3, scale=scale
    )
    found = pool(program, epsilon=0.02)
    limit = found.threshold
    held = {tuple(card.coefficients.tolist()) for card in found.cards}
    for w in itertools.product(range(-2, 3), repeat=3):
        if np.count_nonzero(w) > 2 or (scale == "auto" and math.gcd(*w) > 1):
            continue  # at a free scale a card and its multiples are one
        only = survival_score(
            design, times=4, scale=scale, l0_penalty=1e-3,
            coef_sets={name: [v] for name, v in zip(design.names, w, strict=True)},
        )  # fmt: skip
        value = best_by_enumeration(only)
        if abs(value - limit) > 1e-7:
            assert (w in held) == (value < limit), (w, value, limit)


def test_groups_without_events_get_a_gentle_scale():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (120, 2)).astype(float)
    time = rng.exponential(size=120) + 0.01
    event = (rng.random(120) < 0.6) & (X[:, 0] == 0)  # nobody with the first column has one
    design = make_survival_design(X, time=time, event=event)
    program, result = fit_card(design, "survival_score", max_terms=2, progress=False)
    assert str(result.claim) == "optimal"
    assert result.card.coefficients[0] < 0
    # at five points the column divides the hazard by a few hundreds, not by e^200
    added = abs(result.card.coefficients[0]) / float(result.card.scale)
    assert added <= 5.0 * (1.0 + event.sum() / 500.0) * 1.1
    assert isinstance(program.arguments["scale"], tuple)
