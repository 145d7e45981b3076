"""Certificates of survival scores: true ones are accepted, false ones refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from milpscore.certificate import Certificate, certify, verify_certificate
from milpscore.certificate.cards import exact_rows, plain_cards
from milpscore.data import make_survival_design, survival_target
from milpscore.formulations import survival_score
from milpscore.solvers import solve
from milpscore_check.cards import GRID, Cards
from milpscore_check.hazards import Hazards
from milpscore_check.proof import Lines, prove
from milpscore_check.report import check
from milpscore_check.values import Refused
from tests.survival_cases import best_by_enumeration, loss_by_definition, small_times

CASES = [
    {"times": 4},
    {"times": "events", "exposure": "at_risk"},
    {"times": 3, "scale": 2.0},
    {"times": [0.9, 2.5, 1e4], "penalty": "l1", "lam": 0.01},
    {"times": 4, "exposure": "discrete"},
    {"times": [0.9, 2.5, 4.0, 1e4], "exposure": "discrete", "scale": 1.5},
]


def _program(seed, **options):
    design = small_times(seed, late=seed % 3 == 1, weighted=seed % 3 == 2)
    options = {"coef_min": -2, "coef_max": 2, "max_terms": 2, "l0_penalty": 1e-3, **options}
    return survival_score(design, **options)


def _checked(program):
    """Return rows and cards as the checker has them."""
    design = program.statement.design
    return exact_rows(design), Cards(plain_cards(program.statement), design.shape[1])


@pytest.mark.parametrize("options", CASES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_true_claims_are_proved_and_false_ones_refused(options, seed):
    program = _program(seed, **options)
    result = solve(program, "tree", progress=False)
    made = certify(program, result, progress=False)
    assert made.evidence["kind"] == "leaves", made.evidence
    assert verify_certificate(made, program.statement.design).proved
    rows, cards = _checked(program)
    least = best_by_enumeration(program)
    for goal, holds in ((result.dual_bound - 1e-5, True), (least + 1e-4, False)):
        proved, why = prove(rows, cards, made.evidence, Fraction(goal))
        assert proved is holds, why


@pytest.mark.parametrize("options", CASES, ids=str)
def test_lines_lie_below_the_loss_wherever_they_are_drawn(options):
    program = _program(1, **options)
    statement = program.statement
    design, intervals = statement.design, statement.loss.base.intervals
    rows, cards = _checked(program)
    rng = np.random.default_rng(0)
    low, high = (float(1 / end) for end in cards.scale[::-1])
    for _ in range(40):
        w = rng.normal(size=3) * rng.choice([0.1, 1.0, 10.0])
        slope = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        lines = Lines(rows, cards, [[[0, 1, 2], w.tolist(), 0.0, slope]])
        constant, g, _, _ = lines.line(0)
        for _ in range(5):
            points, at = rng.integers(-2, 3, 3), np.exp(rng.uniform(np.log(low), np.log(high)))
            scores = at * (design.X @ points)
            loss = loss_by_definition(design, intervals.cuts, intervals.kind, scores)
            line = constant / 2.0**GRID + at * float(np.dot([float(x) for x in g], points))
            assert line <= loss + 1e-9 * (1 + abs(loss))
        # and touch it at their own point, if that is not too far out
        if (scores := slope * (design.X @ w)).max() - scores.min() < 30:
            loss = loss_by_definition(design, intervals.cuts, intervals.kind, scores)
            line = constant / 2.0**GRID + slope * float(np.dot([float(x) for x in g], w))
            assert line == pytest.approx(loss, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("options", CASES, ids=str)
def test_the_loss_of_a_card_is_enclosed(options):
    program = _program(2, **options)
    rows, cards = _checked(program)
    design, intervals = program.statement.design, program.statement.loss.base.intervals
    for w in ([0, 0, 0], [1, -2, 0], [2, 2, 2]):
        for scale in (Fraction(1, 20), Fraction(2), Fraction(500)):
            low, high = rows.loss(cards, w, Fraction(0), scale)
            scores = design.X @ np.array(w) / float(scale)
            assert low <= high < low + Fraction(1, 10**13)
            if scores.max() < 600:
                defined = loss_by_definition(design, intervals.cuts, intervals.kind, scores)
                assert float(low) == pytest.approx(defined, rel=1e-12)


def test_scores_far_apart_are_summed_from_the_largest_of_each_interval():
    design = make_survival_design(
        [[0.0], [1.0], [0.0], [1.0]], time=[4.0, 1.0, 5.0, 2.0], event=[1, 1, 1, 1]
    )
    program = survival_score(design, times=[2.0, 5.0], scale=(1e-3, 1.0), coef_max=5)
    rows = program.statement.loss.base.raw
    scores = 5000.0 * design.X[:, 0]  # of the second interval no row is at the top
    assert rows.mean(scores) == pytest.approx(rows.mean(30.0 * design.X[:, 0]), abs=1e-9)
    cards, exact = _checked(program)[::-1]
    low, high = exact.loss(cards, [5], Fraction(0), Fraction(1, 1000))
    assert float(low) == pytest.approx(rows.mean(scores), rel=1e-12)
    assert high - low < 1e-12
    wide = rows.pull(scores)
    assert np.abs(wide).max() < 1.0
    assert wide.sum() == pytest.approx(0.0, abs=1e-12)
    bend, shared = rows.bend(scores)
    assert (bend >= (shared**2).sum(axis=1) - 1e-12).all()
    result = solve(program, "tree", progress=False)
    assert str(result.claim) == "optimal"


def test_leaves_are_drawn_at_scores_however_far_apart():
    design = small_times(0)
    far = make_survival_design(250.0 * design.X, time=design.time, event=design.event)
    program = survival_score(far, times=4, scale=(1e-3, 1.0), coef_max=2, coef_min=-2, max_terms=2)
    result = solve(program, "tree", progress=False)
    made = certify(program, result, progress=False)
    assert made.evidence["kind"] == "leaves"
    assert verify_certificate(made, far).proved


def test_forgeries_are_refused(tmp_path):
    design = small_times(4)
    frame = pd.DataFrame(design.X, columns=list("abc"))
    frame = frame.assign(t=design.time, d=(design.y > 0).astype(int))
    frame.to_csv(table := tmp_path / "t.csv", index=False)
    program = survival_score(
        frame, time="t", event="d", times=4, coef_min=-2, coef_max=2, max_terms=2
    )
    result = solve(program, "tree", progress=False)
    source = {"target": "d", "time": "t"}
    made = certify(program, result, source=source, progress=False)
    made.to_json(path := tmp_path / "proof.json")
    assert {status for _, status, _ in check(table, path)} == {"proved"}
    assert Certificate.from_json(path) == made

    def refused(change):
        content = json.loads(path.read_text())
        change(content)
        fields = {k: v for k, v in content.items() if k not in ("kind", "version")}
        forged = Certificate(**fields).sealed()
        forged.to_json(false := tmp_path / "false.json")
        try:
            return {status for _, status, _ in check(table, false)} != {"proved"}
        except Refused:
            return True

    def put(*where, value):
        def change(content):
            for name in where[:-1]:
                content = content[name]
            content[where[-1]] = value

        return change

    better = made.objective + 1e-3
    assert refused(put("bound", value=better))
    assert refused(put("loss", value=made.loss - 1e-6))
    assert refused(put("cards", "survival", "cuts", value=["1", "2"]))
    assert refused(put("cards", "survival", "exposure", value="at_risk"))
    assert refused(put("cards", "survival", value=None))
    assert refused(put("cards", "loss", value="logistic"))
    assert refused(put("data", "time", value="a"))
    assert refused(put("data", "target", value="a"))
    assert refused(put("evidence", "tree", value=[0]))
    assert refused(put("evidence", "tree", value=[-2]))
    assert refused(put("card", "coefficients", value=[0, 0, 0]))
    assert refused(put("cards", "intercept", value=["-1", "1", None]))


def test_another_table_is_refused():
    program = _program(0)
    made = certify(program, solve(program, "tree", progress=False), progress=False)
    design = program.statement.design
    later = replace(design, time=design.time + 1.0)
    assert "data" in verify_certificate(made, later).failed
    y = survival_target(design.event, design.time)
    assert verify_certificate(made, pd.DataFrame(design.X, columns=design.names), y).proved


def test_rows_without_times_have_no_such_loss():
    program = _program(0)
    rows, cards = _checked(program)
    rows.lives = None
    with pytest.raises(Refused, match="a table with times"):
        Hazards(rows, cards)
    assert math.isfinite(float(cards.scale[0]))


def test_chances_of_0_and_1_alone_make_a_line() -> None:
    """Where scores lie hundreds apart no chance is left to move, and none has to be."""
    X = np.array([[0, 0.001], [0.001, 0.001], [1, 250], [0, 1], [0, 1], [250, 0], [0.001, 1],
                  [0, 0], [0.001, 250]])  # fmt: skip
    time = [0.621, 0.237, 1.872, 0.405, 1.079, 0.593, 1.934, 0.07, 0.4]
    event = [False, True, True, True, False, True, False, False, True]
    weight = [1, 0.25, 1, 0.25, 2, 0.25, 2, 3.5, 1]
    program = survival_score(
        make_survival_design(X, time=time, event=event, sample_weight=weight), coef_min=-1,
        coef_max=1, l0_penalty=0.0, times="events", exposure="discrete", scale=1.0, penalty="l1",
        lam=0.01,
    )  # fmt: skip
    proof = certify(program, solve(program, "tree", progress=False), progress=False)
    assert proof.evidence["kind"] == "leaves"
    assert verify_certificate(proof, program.statement.design).proved
