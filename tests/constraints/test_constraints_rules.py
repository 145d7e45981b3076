"""Constraints by themselves: what they mean, how they are named, read and refused."""

from __future__ import annotations

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from designs import card_of, design
from sklearn.base import clone

from milpscore import constraints as c
from milpscore.core.design import Column, Design
from milpscore.core.errors import FormulationError, MilpscoreError
from milpscore.data import Binner, make_design
from milpscore.estimators import FusedLassoClassifier, OneStandardErrorCV, SlimClassifier
from milpscore.formulations import facets_hinge, hinge, risk_score, slim
from milpscore.scorecard import certified_card
from milpscore.search import start_card
from milpscore.search.points import repaired
from milpscore.search.starts import find_start
from milpscore.solvers import solve

Y = np.array([0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1])


def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "Age": rng.integers(20, 70, 12),
            "Sex": rng.choice(["female", "male"], 12),
            "BMI": rng.integers(18, 40, 12),
        }
    )


def bins() -> Design:
    made: Design = Binner(thresholds={"Age": [30, 45]}, n_bins=None, encoding="onehot").fit_design(
        table(), Y
    )
    return made


EVERY = [
    c.AtLeast(1, ["Age", "BMI"]),
    c.AtMost(2, "Age", name="two cuts"),
    c.Budget(7.5, {"Age": 2, "BMI": 5.5, "Sex": 0}),
    c.EitherOr("Age", ["BMI", "Sex"], neither=True),
    c.Exactly(1, ["Age", "BMI"]),
    c.Exclude("Sex"),
    c.Implies("Age", ["BMI"], need="any"),
    c.Include("BMI"),
    c.MaxErrors("Age >= 30", count=3),
    c.MaxErrors(["Age >= 30", "Sex = male"], share=0.25),
    c.MaxFPR(0.2),
    c.MaxFeatures(2),
    c.MinTPR(0.8, where="BMI < 30"),
    c.Monotone("Age"),
    c.Range("BMI", -1, 3),
    c.Sign(["Age", "BMI"], "-"),
    c.Span(3, "Age"),
    c.TotalRange(0, 12),
]


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: type(rule).__name__)
def test_a_constraint_is_plain_data(rule: c.Constraint) -> None:
    assert c.make_constraint(rule.as_mapping()) == rule
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert copy.deepcopy(rule) == rule
    assert json.loads(json.dumps(rule.as_mapping())) == rule.as_mapping()
    (bound,) = c.apply_constraints([rule], bins())
    assert bound.name == (rule.name or rule.sentence)
    with pytest.raises(AttributeError):
        rule.name = "other"  # type: ignore[misc]


def test_columns_go_before_features_and_near_names_are_named() -> None:
    d = bins()
    names = d.names
    assert "Age < 30" in names
    (one,) = c.apply_constraints([c.Exclude("Age < 30")], d)
    (all_three,) = c.apply_constraints([c.Exclude("Age")], d)
    points = np.zeros((2, len(names)), dtype=np.int64)
    points[0, names.index("Age < 30")] = points[1, names.index("Age >= 45")] = 1
    assert one.allows(points).tolist() == [False, True]
    assert all_three.allows(points).tolist() == [False, False]
    for wrong in (
        c.Sign("age", "+"),
        c.AtMost(1, ["Agee"]),
        c.Monotone("Ages"),
        c.AtMost(1, "age"),
    ):
        with pytest.raises(FormulationError, match="did you mean 'Age'"):
            slim(d, constraints=[wrong])


def test_violations_are_told_exactly() -> None:
    # 3 * 0.1 is above 0.3 in floating point; on the grid it is a tie, which is positive
    d = design([[0.1], [0.3], [0.1], [0.2]], [1, 1, -1, -1])
    statement = slim(d, coef_min=0, coef_max=3).statement
    rule = c.MaxFPR(0.5)
    assert rule.violation(statement, card_of([3], -0.3)) == (
        "false positive rate <= 0.5, the card has 1"
    )
    assert rule.violation(statement, card_of([3], -0.6)) == ""
    assert c.MinTPR(1.0).violation(statement, card_of([3], -0.3)) == ""
    assert "0.5 missed" in c.MinTPR(0.6).violation(statement, card_of([3], -0.6))


def test_a_budget_is_kept_to_the_cent() -> None:
    d = design([[0, 1], [1, 0], [1, 1], [0, 0]], [1, -1, 1, -1])
    statement = slim(d).statement
    prices = {"x0": 0.1, "x1": 0.2}
    assert c.Budget(0.3, prices).violation(statement, card_of([1, 1], 0)) == ""
    said = c.Budget(0.29, prices).violation(statement, card_of([1, -1], 0))
    assert said == "at most 0.29 for what is used of x0, x1, the card uses 0.3"
    assert solve(slim(d, constraints=[c.Budget(0.15, prices)])).coefficients[1] == 0
    for wrong in ("x0", {"x0": -1}, {"x0": math.nan}, {1: 2}, {}):
        with pytest.raises(FormulationError, match="Budget: "):
            c.Budget(1, wrong)  # type: ignore[arg-type]
    with pytest.raises(FormulationError, match="no common step"):
        slim(d, constraints=[c.Budget(1, {"x0": math.pi, "x1": math.e})])


def test_shares_are_weighted_and_counts_are_rows() -> None:
    d = design([[0], [1], [2], [3]], [-1, -1, -1, 1], [5, 1, 0, 2])
    statement = hinge(d).statement
    card = card_of([1], -1)  # wrong on rows 1 and 2, the second of weight 0
    assert c.MaxFPR(0.1666).violation(statement, card) != ""
    assert c.MaxFPR(1 / 6).violation(statement, card) == ""  # though the float is a little less
    assert c.MaxErrors(count=1).violation(statement, card) == ""
    assert c.MaxErrors(count=0).violation(statement, card) != ""
    weights = design([[0], [1], [2]], [-1, -1, 1], [0.1, 0.2, 1.0])
    third = c.MaxFPR(0.6667)  # 0.2 / 0.30000000000000004, counted in tenths
    assert third.violation(hinge(weights).statement, card_of([1], -1)) == ""
    odd = design([[0], [1], [2]], [-1, -1, 1], [np.pi, np.e, 1.0])
    share = float(np.e / (np.e + np.pi))
    assert c.MaxFPR(share).violation(hinge(odd).statement, card_of([1], -1)) == ""
    assert c.MaxFPR(share - 1e-6).violation(hinge(odd).statement, card_of([1], -1)) != ""


def test_balanced_classes_do_not_move_a_rate() -> None:
    X = [[0], [1], [2], [3], [4]]
    for weight in (None, "balanced"):
        d = make_design(X, [0, 0, 0, 1, 1], class_weight=weight)
        statement = hinge(d).statement
        assert c.MaxFPR(1 / 3).violation(statement, card_of([1], -2)) == ""
        assert c.MaxFPR(1 / 3 - 1e-6).violation(statement, card_of([1], -2)) != ""


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("Age >= 30", lambda t: t["Age"] >= 30),
        ("Age < 45", lambda t: t["Age"] < 45),
        (["Age >= 30", "Age < 45"], lambda t: (t["Age"] >= 30) & (t["Age"] < 45)),
        ("Sex = male", lambda t: t["Sex"] == "male"),
        ("Sex != 'male'", lambda t: t["Sex"] != "male"),
        ("Sex = female", lambda t: t["Sex"] == "female"),
        ("BMI > 25", lambda t: t["BMI"] > 25),
        ("BMI <= 25", lambda t: t["BMI"] <= 25),
        ("Age < 30", lambda t: t["Age"] < 30),
    ],
)
@pytest.mark.parametrize("encoding", ["onehot", "cumulative"])
def test_subgroups(where: Any, rows: Any, encoding: str) -> None:
    from milpscore.constraints.subgroups import plain_where, rows_where

    t = table()
    binner = Binner(thresholds={"Age": [30, 45]}, n_bins=None, encoding=encoding)
    d = binner.fit_design(t, Y)
    found = rows_where(d, plain_where(where, "MaxErrors"), "MaxErrors")
    assert found.tolist() == rows(t).tolist()
    mask = rows(t).to_numpy()
    statement = hinge(d).statement
    empty = statement.empty_card()
    for rule in (c.MaxErrors(where, count=1), c.MaxErrors(mask, count=1)):
        assert bool(rule.violation(statement, empty)) == bool(
            ((float(empty.intercept) >= 0) != (Y[mask] > 0)).sum() > 1
        )


def test_missing_values_belong_to_no_side_of_a_cut() -> None:
    from milpscore.constraints.subgroups import rows_where

    t = table().assign(Age=[np.nan, *range(21, 64, 4)])
    for encoding in ("onehot", "cumulative"):
        binner = Binner(thresholds={"Age": [45]}, n_bins=None, encoding=encoding, missing="bin")
        d = binner.fit_design(t, Y)
        low, high = (rows_where(d, (f"Age {sign} 45",), "x") for sign in ("<", ">="))
        assert not low[0]
        assert not high[0]
        assert (low | high)[1:].all()
        assert c.apply_constraints([c.Monotone("Age")], d)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("Age >= 40", "cut at 30, 45"),
        ("Age > 45", "cut at 30, 45"),
        ("Age = 30", "cut at 30, 45"),
        ("Aeg >= 30", "did you mean 'Age'"),
        ("nonsense", "where names 'nonsense'"),
        ("BMI", "not a 0/1 column"),
        ("BMI >= tall", "not a number"),
        ("Sex = other", "female, male"),
        ("Sex < male", "female, male"),
        ("BMI > 1000", "no row of positive weight"),
        ([True, False], "2 entries for 12 rows"),
        (3, "one truth value per row"),
        ([], "one truth value per row"),
    ],
)
def test_bad_subgroups(where: Any, said: str) -> None:
    with pytest.raises(FormulationError, match=said):
        slim(bins(), constraints=[c.MaxErrors(where, count=1)])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: c.Sign("x", "up"), "'positive' or 'negative'"),
        (lambda: c.Sign([], "+"), "needs the names"),
        (lambda: c.Sign(3, "+"), "needs the names"),
        (lambda: c.Range("x"), "lower, upper, or both"),
        (lambda: c.Range("x", 3, 1), "larger than upper"),
        (lambda: c.Range("x", 0.5), "whole number"),
        (lambda: c.AtMost(-1, ["x"]), "whole number >= 0"),
        (lambda: c.AtMost(True, ["x"]), "whole number >= 0"),
        (lambda: c.EitherOr("x", "y", neither=True, both=True), "demands nothing"),
        (lambda: c.EitherOr("x", "y", neither=1), "True or False"),
        (lambda: c.Implies("x", "y", need="some"), "'all' or 'any'"),
        (lambda: c.Monotone("x", "up"), "'increasing' or 'decreasing'"),
        (lambda: c.MaxFPR(20), "between 0 and 1"),
        (lambda: c.MinTPR(float("nan")), "between 0 and 1"),
        (lambda: c.MaxErrors("x"), "share or count"),
        (lambda: c.MaxErrors("x", share=0.1, count=2), "share or count"),
        (c.TotalRange, "lower, upper, or both"),
        (lambda: c.TotalRange(3, 2), "larger than upper"),
        (lambda: c.TotalRange(float("inf")), "finite"),
    ],
)
def test_bad_constraints(make: Any, said: str) -> None:
    with pytest.raises(FormulationError, match=said):
        make()


def test_bad_lists_and_bad_data() -> None:
    d = bins()
    for given in ("rules.toml", {"type": "sign"}, 3, ["sign"], [c.Sign]):
        with pytest.raises(FormulationError, match=r"milpscore\.constraints"):
            slim(d, constraints=given)  # type: ignore[arg-type]
    assert len(slim(d, constraints=c.Sign("Age", "+")).statement.constraints) == 1  # type: ignore[arg-type]
    with pytest.raises(FormulationError, match="have no order"):
        slim(d, constraints=[c.Monotone("Sex")])
    with pytest.raises(FormulationError, match="there are 2; lower k"):
        slim(d, constraints=[c.AtLeast(3, ["Age", "BMI"])])
    one_class = design([[0], [1], [2]], [1, 1, -1], [1, 1, 0])
    with pytest.raises(FormulationError, match="no negative row"):
        hinge(one_class, constraints=[c.MaxFPR(0.1)])


def test_limits_on_errors_need_a_grid_outside_slim() -> None:
    d = bins()
    limit = [c.MaxFPR(0.3)]
    with pytest.raises(FormulationError, match="intercept='integer'"):
        hinge(d, intercept="real", constraints=limit)
    with pytest.raises(FormulationError, match="intercept='integer'"):
        facets_hinge(d, coef_min=-2, coef_max=2, constraints=limit)
    rng = np.random.default_rng(0)
    off = design(rng.normal(size=(12, 2)), np.where(Y > 0, 1, -1))
    for build in (hinge, risk_score):
        with pytest.raises(FormulationError, match="bin the columns or round"):
            build(off, constraints=limit)
    result = solve(slim(off, constraints=limit))
    assert result.card is not None
    assert c.MaxFPR(0.3).violation(slim(off).statement, result.card) == ""
    wide = design([[0.001, 1e4], [0.002, 3e4], [1, 2]], [1, -1, 1])
    with pytest.raises(FormulationError, match="integrality tolerance"):
        hinge(wide, constraints=limit)


def test_default_ranges_are_not_derived_from_a_card_that_is_not_allowed() -> None:
    with pytest.raises(FormulationError, match="give coef_min and coef_max"):
        facets_hinge(bins(), constraints=[c.Include("BMI", name="weight matters")])
    assert facets_hinge(bins(), constraints=[c.Sign("BMI", "+")]).statement.constraints


def test_a_rare_class_leaves_room_for_its_own_limit() -> None:
    # the best intercept of a frequent class lies far from where few rows are answered positive
    d = design([[0]] * 19 + [[0]], [1] * 19 + [-1])
    result = solve(risk_score(d, constraints=[c.MaxFPR(0)]))
    assert result.card is not None
    assert result.verified
    assert result.card.intercept < 0


def test_a_start_is_mended_until_it_obeys() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (80, 6))
    d = make_design(X, (X[:, 0] + X[:, 1] - X[:, 2] + rng.normal(0, 3, 80) > 4).astype(int))
    rules = [
        c.Exactly(2, ["x0", "x1", "x2"]),
        c.Implies("x0", "x5"),
        c.TotalRange(-9, 27),
        c.MinTPR(0.6),
        c.MaxFPR(0.4),
    ]
    for program in (slim(d, constraints=rules), hinge(d, constraints=rules)):
        start = start_card(program)
        assert start is not None
        assert not program.statement.violations(start)
        found = find_start(program.statement)
        assert found is not None
        assert not program.statement.violations(found.card)
    assert repaired(slim(d, constraints=[c.Include("x0"), c.Exclude("x0")]).statement,
                    np.zeros(6, dtype=np.int64)) is None  # fmt: skip


def test_wide_ranges_and_sets_are_mended_too() -> None:
    d = bins()
    names = {name: j for j, name in enumerate(d.names)}
    rules = [c.Range("BMI", 120, 130), c.Include("Sex = male")]
    program = slim(d, coef_min=-500, coef_max=500, coef_sets={"Sex = male": [-3, 0, 4]},
                   constraints=rules)  # fmt: skip
    card = repaired(program.statement, np.zeros(len(names), dtype=np.int64))
    assert card is not None
    assert card.coefficients[names["BMI"]] == 120
    assert card.coefficients[names["Sex = male"]] in (-3, 4)


def test_equal_names_are_told_apart() -> None:
    d = bins()
    rules = [
        c.Sign("Age", "+"),
        c.Sign("Age", "+"),
        c.Range("BMI", 0, name="positive points for Age"),
    ]
    names = [each.name for each in slim(d, constraints=rules).statement.constraints]
    assert len(set(names)) == 3
    assert names[1] == "positive points for Age (2)"


def test_a_program_keeps_its_constraints() -> None:
    d = bins()
    program = hinge(
        d, constraints=[c.Include("BMI"), c.MaxErrors("Age >= 30", count=3)], l0_penalty=0.1
    )
    again = program.relaxed().exact()
    again.set(l0_penalty=0.2)
    assert [each.name for each in again.statement.constraints] == [
        each.name for each in program.statement.constraints
    ]
    first, second = solve(hinge(d, l0_penalty=0.2, constraints=[c.Include("BMI"),
                          c.MaxErrors("Age >= 30", count=3)])), solve(again)  # fmt: skip
    assert first.objective == second.objective
    assert program.added_by_user() == ""


def test_estimators_take_constraints() -> None:
    rules = [c.Sign("BMI", "+"), c.Include("Age"), c.MaxFPR(0.5)]
    card = SlimClassifier(constraints=rules, binner=Binner(3, encoding="onehot"))
    assert clone(card).get_params()["constraints"] == rules
    card.fit(table(), Y)
    points = dict(zip(card.get_feature_names_out(), card.coef_[0].tolist(), strict=True))
    assert all(points[name] >= 0 for name in points if "BMI" in name)
    assert any(points[name] for name in points if "Age" in name)
    predicted = card.predict(table())
    assert predicted[Y == 0].mean() <= 0.5
    listed = card.scorecard_.certificate["constraints"]
    assert [entry["type"] for entry in listed] == ["sign", "include", "max_fpr"]
    loaded = type(card.scorecard_).from_json(card.scorecard_.to_json())
    assert loaded.certificate == card.scorecard_.certificate
    bare = SlimClassifier(constraints=[c.Include("x1")], binner=None).fit(
        table()[["Age", "BMI"]].to_numpy(), Y
    )
    assert bare.coef_[0, 1] != 0


def test_folds_bind_the_constraints_anew() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"Age": rng.integers(20, 70, 40), "BMI": rng.integers(18, 40, 40)})
    y = (X["Age"] + rng.normal(0, 10, 40) > 45).astype(int)
    inner = FusedLassoClassifier(constraints=[c.Monotone("Age"), c.Exclude("BMI")])
    search = OneStandardErrorCV(
        SlimClassifier(
            constraints=[c.MaxErrors("Age >= 30", share=0.5)], time_limit=300, binner=None
        ),
        grid={"max_terms": (1, 2)},
        cv=2,
    ).fit(X, y)
    assert search.coef_.shape == (1, 2)
    columns = inner.fit(X, y).program_.statement.design.columns
    ages = [j for j, column in enumerate(columns) if column.feature == "Age"]
    assert len(ages) > 1
    assert (np.diff(inner.coef_[0, ages]) >= 0).all()


def test_an_unconstrained_certificate_says_nothing_of_constraints() -> None:
    program = slim(bins())
    result = solve(program)
    card = certified_card(program.statement.design, result, statement=program.statement)
    assert "constraints" not in card.certificate


def test_totals_are_bounded_exactly_on_decimals() -> None:
    d = design([[0.1, 0.0], [0.3, 1.0], [0.2, 1.0]], [1, -1, 1])
    statement = hinge(d).statement
    assert c.TotalRange(upper=0.9).violation(statement, card_of([3, 0])) == ""
    told = c.TotalRange(0, 0.8).violation(statement, card_of([3, 0]))
    assert told == "totals from 0 to 0.8: totals reach from 0.3 to 0.9, outside [0, 0.8]"
    result = solve(slim(d, l0_penalty=0, constraints=[c.TotalRange(-0.3, 0.3)]))
    assert result.card is not None
    assert result.card.coefficients[1] == 0
    assert abs(result.card.coefficients[0]) <= 1
    off = design([[np.pi, 0.0], [np.e, 1.0], [1.0, 1.0]], [1, -1, 1])
    bound = c.TotalRange(upper=2 * np.pi)
    assert bound.violation(hinge(off).statement, card_of([2, 0])) == ""
    assert bound.violation(hinge(off).statement, card_of([3, 0])) != ""


def test_a_feature_of_one_bin_has_no_order_to_break() -> None:
    columns = (Column("A (any value)", "A", "interval"),)
    d = Design(np.ones((4, 1)), np.array([1, -1, 1, -1]), np.ones(4), columns, ((0,),))
    assert c.apply_constraints([c.Monotone("A")], d)[0].parts == ()


FAR = 10**26


@pytest.mark.parametrize(
    ("rule", "like"),
    [
        (c.Range("a", -FAR, 1), c.Range("a", None, 1)),
        (c.Range("a", -1, FAR), c.Range("a", -1, None)),
        (c.AtMost(10**20, ["a", "b"]), None),
        (c.MaxFeatures(10**20), None),
        (c.Budget(0.0, {"a": 0}), None),
        (c.TotalRange(-1e300, 1e300), None),
        (c.TotalRange(-FAR, 2), c.TotalRange(None, 2)),
        (c.MaxErrors(count=10**20), None),
        (c.Range("a", FAR, None), c.Range("a", 4, None)),
        (c.TotalRange(1e300, None), c.TotalRange(99, None)),
        (c.Range("a", -(10**400), 1), c.Range("a", None, 1)),
        (c.Range("a", 10**400, None), c.Range("a", 4, None)),
        (c.AtMost(10**400, ["a", "b"]), None),
        (c.MaxErrors(count=10**400), None),
    ],
    ids=str,
)
@pytest.mark.parametrize("builder", [slim, risk_score])
def test_ends_beyond_64_bits_mean_what_they_say(builder: Any, rule: Any, like: Any) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, (30, 3)), columns=list("abc"))
    y = (X["a"] + rng.normal(0, 1, 30) > 1.5).astype(int)
    answers = [
        solve(
            builder(X, y, max_terms=2, coef_min=-3, coef_max=3, constraints=rules),
            progress=False,
            time_limit=300,
        )
        for rules in ([rule], [] if like is None else [like])
    ]
    assert answers[0].claim == answers[1].claim
    if answers[1].card is not None:
        assert answers[0].objective == pytest.approx(answers[1].objective, abs=1e-9)


def test_a_limit_on_totals_of_data_on_no_grid_is_not_clipped() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(0, 1e25, (40, 2)), columns=["a", "b"])
    y = (X["a"] > 0).astype(int)
    answers = [
        solve(risk_score(X, y, max_terms=1, constraints=rules), progress=False, node_limit=1000)
        for rules in ([], [c.TotalRange(None, 1e28)])
    ]
    assert answers[0].objective == pytest.approx(answers[1].objective, rel=1e-9)
    assert answers[1].card is not None
    assert answers[1].card.nonzeros == 1


@pytest.mark.parametrize(
    ("refused", "given"),
    [
        (True, {"coef_min": -(10**400)}), (True, {"coef_max": 10**26}),
        (True, {"coef_sets": {"a": [0, 10**26]}}), (False, {"max_terms": 10**26}),
        (False, {"intercept_bounds": (-(10**26), 10**26)}), (False, {"l0_penalty": 10**26}),
        (True, {"l0_penalty": 10**400}), (False, {"l1_penalty": 10**26}),
        (True, {"sample_weight": [10**400] * 30}), (False, {"sample_weight": [10**26] * 30}),
        (True, {"class_weight": {0: 10**400}}), (False, {"constraints": [c.Span(10**26, "s")]}),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)  # fmt: skip
def test_arguments_beyond_64_bits_are_taken_or_refused_by_name(refused: bool, given: Any) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, (30, 2)), columns=list("ab"))
    X["s"] = np.where(X["b"] > 1, "u", "v")
    y = (X["a"] + rng.normal(0, 1, 30) > 1.5).astype(int)
    if refused:
        with pytest.raises(MilpscoreError, match=next(iter(given))):
            slim(X, y, **given)
    else:
        assert solve(slim(X, y, **given), progress=False, node_limit=5000).card is not None
