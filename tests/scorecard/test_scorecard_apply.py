"""Applying a card: totals, ties, the decision value, and every kind of awkward row."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from milpscore import Scorecard
from milpscore.core.card import Card, DecisionRule
from milpscore.core.design import Column, Design, as_fraction
from milpscore.core.errors import DataError


def numeric(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, name) for name in names)


def sex_and_age() -> Scorecard:
    columns = (
        Column("sex=f", "sex", "category", category="f"),
        Column("sex=m", "sex", "category", category="m"),
        Column("age<40", "age", "interval", upper=40),
        Column("age>=40", "age", "interval", lower=40),
        Column("age missing", "age", "missing"),
        Column("weight", "weight"),
    )
    return Scorecard(columns, (0, 2, 0, 3, 1, 0), 3, blocks=((2, 3),), classes=("no", "yes"))


decimals = st.integers(-40, 40)


@settings(max_examples=200, deadline=None)
@given(
    points=st.lists(st.integers(-9, 9), min_size=1, max_size=5),
    threshold=st.fractions(-20, 20, max_denominator=60),
    denominator=st.sampled_from([1, 2, 4, 5, 10, 100, 1000]),
    data=st.data(),
)
def test_on_the_grid_the_answer_is_that_of_exact_arithmetic(points, threshold, denominator, data):
    width = len(points)
    multiples = data.draw(
        st.lists(st.lists(decimals, min_size=width, max_size=width), min_size=1, max_size=8)
    )
    step = Fraction(1, denominator)
    X = np.array(multiples) / denominator
    exact = [sum(w * m * step for w, m in zip(points, row, strict=True)) for row in multiples]
    rule = DecisionRule(threshold, step)
    totals = rule.totals(X, points)
    assert rule.positive(totals).tolist() == [total >= threshold for total in exact]
    assert totals.tolist() == [float(total) for total in exact]
    decision = rule.decision(totals)
    assert (decision > 0).tolist() == [total >= threshold for total in exact]
    if threshold % step == 0:
        wanted = [float(total - threshold + step / 2) for total in exact]
        np.testing.assert_allclose(decision, wanted, atol=1e-9)


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 10), None])
@pytest.mark.parametrize("threshold", [Fraction(0), Fraction(3, 10), Fraction(-7)])
def test_the_decision_value_never_is_zero_and_keeps_sign_and_order(step, threshold):
    rule = DecisionRule(threshold, step)
    near = float(threshold) + np.array([0, 1e-13, -1e-13, 1e-5, -1e-5, 1e-2, -1e-2, 0.05, -0.05])
    values = np.sort(np.concatenate([near, np.linspace(-9, 9, 1001)]))
    totals = rule.totals(values[:, None], [1])
    decision = rule.decision(totals)
    assert np.all(decision != 0)
    assert np.array_equal(decision > 0, rule.positive(totals))
    assert np.array_equal(np.diff(decision) > 0, np.diff(totals) > 0)
    far = np.abs(totals - float(threshold)) > 0.01
    assert np.array_equal(decision[far] > 0, totals[far] >= float(threshold))


def test_a_sum_that_rounding_moved_is_a_tie_and_positive():
    card = Scorecard(numeric("a", "b", "c"), (1, 1, 1), "3/10", step=Fraction(1, 10))
    X = pd.DataFrame([[0.1, 0.1, 0.1], [0.1, 0.2, 0.0], [0.7, -0.4, 0], [0.1, 0.1, 0]])
    X.columns = list("abc")
    assert set(X.iloc[:3].sum(axis=1)) - {0.3}, "rounding must move at least one of the sums"
    assert card.predict(X).tolist() == [1, 1, 1, 0]
    assert card.score(X).tolist() == [0.3, 0.3, 0.3, 0.2]
    np.testing.assert_allclose(card.decision_function(X), [0.05, 0.05, 0.05, -0.05])
    below = Scorecard(numeric("a", "b", "c"), (-1, -1, -1), "-3/10", step=Fraction(1, 10))
    assert below.predict(X).tolist() == [1, 1, 1, 1]


def test_a_value_off_the_grid_is_judged_by_its_own_total():
    card = Scorecard(numeric("a"), (1,), 3)
    X = np.array([[2.4], [2.6], [2.99], [3.0], [3.4]])
    assert card.predict(X).tolist() == [0, 0, 0, 1, 1]
    assert (card.decision_function(X) > 0).tolist() == [False, False, False, True, True]


def test_a_threshold_off_the_grid_does_not_move_to_it():
    card = Scorecard(numeric("a"), (1,), Fraction(30005, 10000), step=Fraction(1))
    assert card.predict(np.array([[3.0], [4.0]])).tolist() == [0, 1]
    assert (card.decision_function(np.array([[3.0], [4.0]])) > 0).tolist() == [False, True]


def test_without_a_grid_a_tie_is_relative_to_the_summands():
    card = Scorecard(numeric("a", "b"), (3, -1), 0, step=None)
    X = np.array([[0.1, 0.3], [0.1, 0.3001], [1e6 / 3, 1e6]])
    assert 3 * 0.1 - 0.3 != 0
    assert card.predict(X).tolist() == [1, 0, 1]
    assert np.all(card.decision_function(X) != 0)


def test_the_design_matrix_and_the_raw_data_give_one_total():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(30, 3)).astype(float)
    y = np.where(rng.random(30) < 0.5, -1, 1)
    design = Design(X, y, np.ones(30), numeric("a", "b", "c"), classes=("n", "p"))
    card = Scorecard.from_card(Card(np.array([2, 0, -1]), Fraction(-1)), design)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])[["c", "a", "b"]].assign(extra="x")
    expected = X @ [2, 0, -1]
    for totals in (card.score(X), card.score(frame), card.score_design(X)):
        np.testing.assert_array_equal(totals, expected)
    other_order = card.score(X[:, ::-1], feature_names=["c", "b", "a"])
    np.testing.assert_array_equal(other_order, expected)
    assert card.predict(X).tolist() == np.where(expected >= 1, "p", "n").tolist()
    assert card.fingerprint == design.fingerprint
    assert card.card == Card(np.array([2, 0, -1]), Fraction(-1))
    assert card.coefficients == {"a": 2, "b": 0, "c": -1}
    assert card.intercept == -1


def test_every_row_has_an_answer_or_a_clear_error():
    card = sex_and_age()
    X = pd.DataFrame({"sex": ["m", "f", "m"], "age": [39.9, 40, None], "weight": None})
    assert card.score(X).tolist() == [2, 3, 3], "weight has no points, so its gaps do not matter"
    assert card.predict(X).tolist() == ["no", "yes", "yes"]
    strange = X.assign(sex=["m", "x", "f"])
    with pytest.raises(DataError, match="'x'"):
        card.score(strange)
    assert card.score(strange, unseen="zero").tolist() == [2, 3, 1]
    with pytest.raises(DataError, match="sex"):
        card.score(X.drop(columns="sex"))
    with pytest.raises(DataError, match="sex"):
        card.score(X.assign(sex=[None, "f", "m"]))
    with pytest.raises(DataError, match="design matrix"):
        card.score_design(np.zeros((2, 3)))
    assert card.score(X.iloc[:0]).shape == (0,)


def test_what_no_printed_line_is_for_counts_nothing():
    # the card prints "sex = f: 3", "age < 50: 4" of points fitted to the others
    columns = (
        Column("sex = m", "sex", "category", category="m"),
        Column("sex = f", "sex", "category", category="f"),
        Column("age >= 50", "age", "step", lower=50.0),
    )
    base = {"sex": 3, "age": 4}
    card = Scorecard(columns, (-3, 0, -4), Fraction(5), base_points=base)
    X = pd.DataFrame({"sex": ["m", "f", "x", None], "age": [30.0, 60.0, None, 30.0]})
    assert card.score(X.iloc[:2]).tolist() == [4, 3]
    assert card.score(X, unseen="zero").tolist() == [4, 3, 0, 4]
    assert card.predict(X, unseen="zero").tolist() == [0, 0, 0, 0]
    grid = Scorecard(columns[:2], (-3, 0), Fraction(3, 2), base_points={"sex": 3}, step=None)
    assert grid.score(X[["sex"]], unseen="zero").tolist() == [0, 3, 0, 0]
    assert card.score_design(np.array([[np.nan, np.nan, 1.0]])).tolist() == [0]


def test_a_card_without_points_answers_by_its_threshold():
    columns = numeric("a")
    X = pd.DataFrame({"a": [np.nan, 1.0]})
    assert Scorecard(columns, (0,), 0).predict(X).tolist() == [1, 1]
    assert Scorecard(columns, (0,), 1).predict(X).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [
        ((np.int64(0), np.int64(1)), np.int64),
        ((np.str_("a"), np.str_("b")), np.dtype("U1")),
        ((np.bool_(False), np.bool_(True)), np.bool_),
        ((1.5, 2.5), np.float64),
        ((0, "one"), object),
    ],
)
def test_labels_come_back_as_the_user_wrote_them(classes, dtype):
    card = Scorecard(numeric("a"), (1,), 1, classes=classes)
    predicted = card.predict(np.array([[0.0], [1.0]]))
    assert predicted.dtype == dtype
    assert predicted.tolist() == list(card.classes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": (1,)}, "as many points"),
        ({"points": (1, 0.5)}, "whole numbers"),
        ({"points": (1, np.nan)}, "whole numbers"),
        ({"columns": numeric("a", "a")}, "share a name"),
        ({"blocks": ((0, 2),)}, "outside"),
        ({"classes": (1, True)}, "two different labels"),
        ({"classes": (1, None)}, "recode the target"),
        ({"step": 0}, "step"),
        ({"certificate": {"model": object()}}, "certificate"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, message):
    parts = {"columns": numeric("a", "b"), "points": (1, 2), "threshold": 1, **change}
    with pytest.raises(DataError, match=message):
        Scorecard(**parts)


def test_a_float_is_read_as_the_decimal_it_prints_as():
    assert (
        as_fraction(0.3) == as_fraction(np.float64(0.3)) == as_fraction("3/10") == Fraction(3, 10)
    )
    assert as_fraction(np.int64(4)) == 4


def test_a_card_can_be_pickled_compared_and_hashed():
    card = sex_and_age()
    copy = pickle.loads(pickle.dumps(card))
    assert copy == card
    assert hash(copy) == hash(card)
    assert card != Scorecard(card.columns, card.points, 2, card.blocks, card.classes)
