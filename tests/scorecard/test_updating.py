"""The least change of a card in use, against every change."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from milpscore import Scorecard, update
from milpscore.certificate import certify, verify_certificate
from milpscore.core.design import Column
from milpscore.core.errors import DataError, OptionError
from milpscore.core.result import Termination
from milpscore.data import Binner
from milpscore.estimators import RiskScoreClassifier
from milpscore.fitting import fit_card

POINTS = (2, -1, 0)


def _rows(seed=0, rows=80):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, (rows, 3)), columns=["a", "b", "c"])
    score = X.to_numpy() @ [1.0, 0.5, 1.5] - 1.2
    return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def _card(**given):
    columns = tuple(Column(name, name) for name in "abc")
    return Scorecard(columns, POINTS, 1, title="In use", **given)


def _least(X, y, w, weight):
    """The least mean loss of points, slope and intercept by another optimiser."""
    total, share = X.to_numpy() @ np.array(w, dtype=float), weight / weight.sum()
    side = np.where(y == 1, -1.0, 1.0)

    def loss(line):
        return share @ np.logaddexp(0.0, side * (line[0] * total + line[1]))

    ends = [(0.0, 40.0), (-200.0, 200.0)]
    return min(minimize(loss, (s, 0.0), bounds=ends).fun for s in (0.1, 1.0))


@pytest.mark.parametrize("most", [None, 0, 1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_change_is_searched(seed, weighted, most):
    X, y = _rows(seed)
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0) if weighted else np.ones(len(y))
    made = update(
        _card(), X, y, changes=2, point_changes=most, coef_min=-2, coef_max=2, sample_weight=weight
    )  # fmt: skip
    every = {
        w: _least(X, y, w, weight) for w in itertools.product(range(-2, 3), repeat=3)
    }  # fmt: skip
    for rung in made.rungs:
        within = [
            loss for w, loss in every.items()
            if sum(a != b for a, b in zip(w, POINTS, strict=True)) <= rung.changes
            and (most is None or sum(abs(a - b) for a, b in zip(w, POINTS, strict=True)) <= most)
        ]  # fmt: skip
        assert rung.loss == pytest.approx(min(within), rel=1e-5)
        assert rung.bound <= min(within) + 1e-7
        assert str(rung.result.claim) == "optimal"
        assert len(rung.changed) <= rung.changes
        moved = sum(abs(line.after - line.before) for line in rung.changed)
        assert most is None or moved <= most
        # the card that is shown states the risks of that loss
        risk = rung.card.predict_proba(X)[:, 1]
        own = -np.log(np.where(y == 1, risk, 1.0 - risk))
        assert own @ weight / weight.sum() == pytest.approx(rung.loss, rel=1e-9)
    losses = [rung.loss for rung in made.rungs]
    assert losses == sorted(losses, reverse=True)


def test_what_stays_is_printed_as_before():
    X, y = _rows(rows=300)
    old = RiskScoreClassifier(max_terms=2, binner=Binner.raw()).fit(X[:100], y[:100]).scorecard_
    made = update(old, X[100:], y[100:], changes=1)
    assert made.stated_loss >= made.intercept_loss >= made.rungs[0].loss
    assert not made.rungs[0].changed
    for rung in made.rungs:
        assert rung.card.base_points == old.base_points
        moved = [line.line for line in rung.changed]
        for column, before, after in zip(
            old.columns, old.points, rung.card.points, strict=True
        ):  # fmt: skip
            assert (before != after) == (column.name in moved)
    text = made.to_text()
    assert "No change of at most one line, to points from -5 to 5, takes more than" in text
    assert "no card that changes at most one line" in made.rungs[1].card.to_text()
    again = Scorecard.from_json(made.rungs[1].card.to_json())
    assert again.predict_proba(X) == pytest.approx(made.rungs[1].card.predict_proba(X))


def test_a_certificate_of_the_changes_is_proved():
    X, y = _rows()
    rung = update(_card(), X, y, changes=1).rungs[1]
    proof = certify(rung.program, rung.result, progress=False)
    assert proof.evidence["kind"] == "leaves"
    assert verify_certificate(proof, rung.program.statement.design).proved


def test_new_lines_are_found():
    rng = np.random.default_rng(3)
    X, y = _rows(rows=400)
    X["age"] = rng.integers(20, 80, len(X))
    y = np.where(X["age"] >= 50, 1, y)
    made = update(_card(), X, y, changes=1, new_lines=Binner(n_bins=4))
    (line,) = made.rungs[1].changed
    assert "age" in line.line
    assert line.before == 0
    assert made.rungs[1].card.score(X).shape == (400,)


def test_a_card_that_needs_no_change_keeps_its_lines():
    X, _ = _rows(rows=200)
    y = (X.to_numpy() @ POINTS >= 1).astype(int)
    made = update(_card(), X, y, changes=2)
    assert all(not rung.changed for rung in made.rungs)
    assert made.rungs[0].loss < 1e-8


def test_bad_input_is_refused():
    X, y = _rows()
    with pytest.raises(OptionError, match="whole number from 0"):
        update(_card(), X, y, changes=-1)
    with pytest.raises(OptionError, match="point_changes"):
        update(_card(), X, y, point_changes=1.5)
    with pytest.raises(DataError, match="labels hold 2"):
        update(_card(), X, y + 1)
    with pytest.raises(DataError, match="one total"):
        update(_card(), X * 0, y)
    with pytest.raises(DataError):
        update(_card(), X.drop(columns="a"), y)
    with pytest.raises(DataError):
        update(_card(), X, np.ones(len(X), dtype=int))


def test_features_without_points_may_be_absent():
    X, y = _rows()
    whole = update(_card(), X.assign(c=0), y, changes=1)
    short = update(_card(), X.drop(columns="c"), y, changes=1)
    assert short.rungs[1].loss == pytest.approx(whole.rungs[1].loss)
    assert [column.name for column in short.rungs[1].card.columns] == ["a", "b"]


def test_ctrl_c_keeps_the_rungs_so_far(monkeypatch):
    X, y = _rows()

    def stopped(*given, **options):
        program, result = fit_card(*given, **options)
        ended = Termination.INTERRUPTED if options["max_terms"] == 2 else result.termination
        return program, replace(result, termination=ended)

    monkeypatch.setattr("milpscore.updating.fit_card", stopped)
    made = update(_card(), X, y, changes=3)
    assert [rung.changes for rung in made.rungs] == [0, 1]
    remark = "The solve was interrupted at 1 of 3 changes: better cards may be left there."
    assert made.remark == made.to_text().splitlines()[-1] == remark
    assert remark in made.rungs[-1].card.to_text()


def test_ctrl_c_between_two_searches_keeps_the_rungs_so_far(monkeypatch):
    X, y = _rows()

    def pressed(*given, **options):
        if options["max_terms"] == most:
            raise KeyboardInterrupt
        return fit_card(*given, **options)

    monkeypatch.setattr("milpscore.updating.fit_card", pressed)
    most = 3
    made = update(_card(), X, y, changes=3)
    assert [rung.changes for rung in made.rungs] == [0, 1]
    assert made.remark.startswith("The solve was interrupted at 2 of 3 changes")
    most = 1
    with pytest.raises(KeyboardInterrupt):
        update(_card(), X, y, changes=3)


def test_a_limit_of_no_time_still_answers():
    X, y = _rows()
    made = update(_card(), X, y, changes=2, time_limit=0)
    assert len(made.rungs) == 3
    assert all(rung.loss < 0.7 for rung in made.rungs)
    assert made.remark.startswith("The time limit was reached at 0, 1, 2 of 2 changes")
    assert made.table["bound"].isna().all()
    assert "What a change of at most one line, to points from -5 to 5, takes is not bounded" in str(
        made
    )
    assert made.remark in made.rungs[-1].card.to_text()
    assert not update(_card(), X, y, changes=1).remark
