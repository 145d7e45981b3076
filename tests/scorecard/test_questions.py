"""The order of questions, against every order and every patient."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from milpscore import Scorecard
from milpscore.core.design import Column
from milpscore.core.errors import DataError, NotApplicableError, SizeError
from milpscore.data import Binner
from milpscore.estimators import RiskScoreClassifier
from milpscore.scorecard import question_order
from milpscore_show.report import report


def _card(threshold=5):
    return Scorecard.from_points(
        {"age": {65: 1, 75: 2}, "stroke": 2, "temp": {-math.inf: 4, 36: 0, 39: 3},
         "smokes": {"now": 3, "never": -1}},
        threshold=threshold,
    )  # fmt: skip


def _rows(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(40, 90, rows),
            "stroke": rng.integers(0, 2, rows),
            "temp": rng.normal(37, 1.5, rows).round(1),
            "smokes": rng.choice(["now", "never"], rows),
        }
    )


def _points(row):
    """The points of each feature of a row, by hand."""
    age = 2 if row["age"] >= 75 else 1 if row["age"] >= 65 else 0
    temp = 4 if row["temp"] < 36 else 3 if row["temp"] >= 39 else 0
    return {"age": age, "stroke": 2 * row["stroke"], "temp": temp,
            "smokes": 3 if row["smokes"] == "now" else -1}  # fmt: skip


ENDS = {"age": (0, 2), "stroke": (0, 2), "temp": (0, 4), "smokes": (-1, 3)}


def _asked(row, order, threshold):
    """How many questions a row takes in an order, by hand."""
    own, total = _points(row), 0
    for k in range(len(order) + 1):
        low, high = (sum(ENDS[name][side] for name in order[k:]) for side in (0, 1))
        if total + low >= threshold or total + high < threshold:
            return k
        total += own[order[k]]
    raise AssertionError


@pytest.mark.parametrize("threshold", [1, 5, 8, 30])
def test_no_order_takes_fewer_questions(threshold):
    X = _rows()
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.5], len(X))
    found = question_order(_card(threshold), X, weight)
    rows = X.to_dict("records")
    every = {
        order: np.average([_asked(row, order, threshold) for row in rows], weights=weight)
        for order in itertools.permutations(ENDS)
    }
    own = tuple(question.feature for question in found.questions)
    assert found.expected == pytest.approx(min(every.values()))
    assert every[own] == pytest.approx(found.expected)
    assert every[tuple(ENDS)] == pytest.approx(found.as_printed)


def test_where_to_stop_is_the_answer_of_the_whole_card():
    X = _rows(seed=2)
    card = _card()
    found, answers = question_order(card, X), card.predict(X)
    for row, answer in zip(X.to_dict("records"), answers, strict=True):
        total = 0
        for question in found.questions:
            total += _points(row)[question.feature]
            if question.positive_from is not None and total >= question.positive_from:
                assert answer == 1
            if question.negative_below is not None and total < question.negative_below:
                assert answer == 0
        first, last = found.questions[0], found.questions[-1]
        assert first.negative_below is None  # what is left to ask could still make it positive
        assert last.undecided == 0.0
        assert last.positive_from == last.negative_below == 5
    assert "stop if the total is" in found.to_text()


def test_base_points_and_bins_of_a_fitted_card():
    X = _rows(400)[["age", "temp", "stroke"]]
    y = ((X["age"] > 60) & (X["temp"] > 36.5) | (X["stroke"] > 0)).astype(int)
    card = RiskScoreClassifier(max_terms=4, binner=Binner(4)).fit(X, y).scorecard_
    found = question_order(card, X)
    assert found.expected <= found.as_printed
    assert found.questions[-1].positive_from == card.threshold
    assert len(found.questions) == len(card.used_features)


def test_what_has_no_order_is_refused():
    X = _rows()
    with pytest.raises(NotApplicableError, match="by the unit"):
        question_order(Scorecard((Column("age", "age"),), (2,), 100), X)
    with pytest.raises(DataError, match="no points"):
        question_order(Scorecard((Column("age", "age"),), (0,), 1), X)
    with pytest.raises(DataError, match="weights"):
        question_order(_card(), X, -np.ones(len(X)))
    many = {f"x{j}": 1 for j in range(15)}
    with pytest.raises(SizeError):
        question_order(Scorecard.from_points(many), pd.DataFrame([dict.fromkeys(many, 0)]))


def test_the_form_says_in_one_sentence_where_to_stop(tmp_path: Path) -> None:
    card, X = _card(), _rows()
    order = question_order(card, X)
    said = order.sentence
    assert f"after {order.expected:.1f} of 4 questions" in said
    listed = said.partition("in this order: ")[2]
    at = [listed.index(question.feature) for question in order.questions]
    assert at == sorted(at)
    for question in order.questions[:-1]:
        if question.positive_from is not None:
            assert f"stop at {question.positive_from} or more" in said
    y = np.array([sum(_points(row).values()) >= 5 for row in X.to_dict("records")])
    labels = np.where(y, card.classes[1], card.classes[0])
    report(card, X, labels, path=tmp_path / "card.html", bootstraps=0, progress=False)
    page = " ".join((tmp_path / "card.html").read_text(encoding="utf-8").split())
    assert "Decided soonest, on average after" in page
    # counted by the year, so that nothing is decided before it is known
    by_unit = replace(Scorecard.from_points({"age": 1, "stroke": 2}, threshold=50), flags=())
    report(by_unit, X, labels, path=tmp_path / "card.html", bootstraps=0, progress=False)
    assert "Decided soonest" not in (tmp_path / "card.html").read_text(encoding="utf-8")
