"""The least change that turns an answer: against every change there is."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore.core.design import CellRules, Column
from milpscore.core.errors import (
    DataError,
    FormulationError,
    NotApplicableError,
    OptionError,
)
from milpscore.data import Binner
from milpscore.scorecard import OrdinalCard, Scorecard, counterfactual

STEPS = tuple(Column(f"age >= {cut}", "age", "step", cut) for cut in (40, 50, 60))
BINS = (
    Column("bmi < 25", "bmi", "interval", upper=25),
    Column("25 <= bmi < 30.5", "bmi", "interval", 25, 30.5),
    Column("bmi >= 30.5", "bmi", "interval", 30.5),
)
JOBS = tuple(Column(f"job = {c}", "job", "category", category=c) for c in ("desk", "field"))
COLUMNS = (*STEPS, *BINS, *JOBS, Column("smoker", "smoker"), Column("drinks", "drinks"))


def card_of(points: Any, threshold: int, **more: Any) -> Scorecard:
    return Scorecard(
        COLUMNS, tuple(points), Fraction(threshold), blocks=((3, 4, 5),), classes=("well", "ill"),
        flags=(8,), **more,
    )  # fmt: skip


CARD = card_of((1, 1, 2, 0, 1, 3, -1, 2, 4, 1), 7)
ROW = {"age": 55, "bmi": 31.2, "job": "field", "smoker": 1, "drinks": 2}
VALUES: dict[str, list[Any]] = {
    "age": [20, 39, 40, 49, 50, 55, 59, 60, 70],
    "bmi": [20.0, 24.9, 25.0, 28.0, 30.4, 30.5, 31.2, 35.0],
    "job": ["desk", "field"],
    "smoker": [0, 1],
    "drinks": list(range(7)),
}


def cheapest(
    card: Any, row: dict[str, Any], wanted: Any, costs: dict[str, Any], allowed: Any
) -> float:
    """The least cost over all combinations of values, each changed feature priced in words."""
    rows = [dict(zip(VALUES, each, strict=True)) for each in itertools.product(*VALUES.values())]
    rows = [each for each in rows if allowed(each)]
    answers = card.predict(pd.DataFrame(rows))

    def cost(each: dict[str, Any]) -> float:
        numbers = sum(abs(each[f] - row[f]) * costs.get(f, 1) for f in ("age", "bmi", "drinks"))
        return float(
            numbers + sum((each[f] != row[f]) * costs.get(f, 1) for f in ("job", "smoker"))
        )

    return min((cost(r) for r, a in zip(rows, answers, strict=True) if a == wanted), default=np.inf)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_least_of_all_changes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    card = card_of(rng.integers(-2, 4, len(COLUMNS)), int(rng.integers(0, 8)))
    row = {f: VALUES[f][int(rng.integers(len(VALUES[f])))] for f in VALUES}
    costs = {f: int(rng.integers(1, 9)) for f in VALUES}
    (answer,) = card.predict(pd.DataFrame([row]))
    wanted = "ill" if answer == "well" else "well"
    fixed = [f for f in ("job", "smoker") if rng.random() < 0.3]

    def allowed(each: dict[str, Any]) -> bool:
        return each["age"] >= row["age"] and all(each[f] == row[f] for f in fixed)

    found = counterfactual(
        card, row, costs=costs, fixed=fixed, directions={"age": "+"},
        ranges={"drinks": (0, 6), "age": (20, 70), "bmi": (20, 35)}, units={"bmi": 0.1},
    )  # fmt: skip
    truth = cheapest(card, row, wanted, costs, allowed)
    if not len(found):
        assert truth == np.inf
        assert "No change of these inputs" in found.reason
        return
    (way,) = found
    assert way.proved
    assert float(way.cost) == pytest.approx(truth, abs=1e-9)
    changed = {**row, **{change.feature: change.new for change in way.changes}}
    assert card.predict(pd.DataFrame([changed]))[0] == wanted


def test_moves_into_bins_are_told_with_their_points() -> None:
    found = counterfactual(CARD, ROW, fixed=["age", "drinks"], costs={"smoker": 5, "job": 9})
    (way,) = found
    assert str(found).splitlines()[0] == "Total 13: ill. For well (total ≤ 6):"
    told = "cost 11.3 (least), total 6: bmi 31.2 → 24.9 (−3); smoker 1 → 0 (−4)"
    assert str(way) == told


def test_several_ways_differ_and_none_contains_another() -> None:
    found = counterfactual(
        CARD, ROW, ranges={"drinks": (0, 6)}, directions={"age": "+"}, k=20, per="bin"
    )
    costs = [way.cost for way in found]
    assert costs == sorted(costs)
    moves = [{(c.feature, c.points > 0, c.points) for c in way.changes} for way in found]
    assert len(found) > 2
    assert not any(a <= b for a, b in itertools.permutations(moves, 2))
    assert "No further change of these inputs" in found.reason
    assert all(way.proved for way in found)


def test_bins_of_equal_points_are_one_way() -> None:
    card = card_of((1, 0, 2, 2, 2, 3, 0, 0, 0, 0), 4)
    found = counterfactual(card, {**ROW, "age": 70}, k=9, per="bin")
    assert sorted(str(way).partition(": ")[2] for way in found) == [
        "age 70 → 39 (−3)",
        "age 70 → 59 (−2); bmi 31.2 → 30.4 (−1)",
    ]
    assert [way.cost for way in found] == [2, 2]


def test_no_change_is_proved_without_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milpscore.scorecard.counterfactuals._solved", None)
    found = counterfactual(CARD, ROW, fixed=["bmi", "smoker", "drinks"], directions={"age": "+"})
    assert not len(found)
    assert found.reason.endswith("they bring the total to at least 10.")
    nothing = counterfactual(CARD, ROW, fixed=list(ROW))
    assert "at least 13" in nothing.reason


def test_missing_values_and_fixed_ones_stay() -> None:
    X = pd.DataFrame({"a": [1.0, 2, 3, 4, np.nan, 6] * 10, "b": [0, 1] * 30})
    binner = Binner(thresholds={"a": [3]}).fit(X)
    points = [2 if c.kind == "missing" else 1 for c in binner.columns_]
    card = Scorecard(tuple(binner.columns_), tuple(points), Fraction(2), flags=(len(points) - 1,))
    found = counterfactual(card, {"a": np.nan, "b": 0})
    assert not len(found)
    assert "at least 2" in found.reason


def test_numbers_in_disguise_are_read_as_the_card_reads_them() -> None:
    how = CellRules(signs=".,", unit="$"), CellRules(spelt=(("m", "male"),))
    columns = (
        Column("pay >= 40000", "pay", "step", lower=40_000.0, cells=how[0]),
        Column("sex = male", "sex", "category", category="male", cells=how[1]),
        Column("sex = female", "sex", "category", category="female", cells=how[1]),
    )
    card = Scorecard(columns, (3, 1, 0), Fraction(2))
    (way,) = counterfactual(card, {"pay": "$ 36,763", "sex": "m"})
    assert "pay 36763 → 40000 (+3)" in str(way)
    (way,) = counterfactual(card, {"pay": "$41,000.50", "sex": "m"})
    assert way.total == 1
    assert [change.feature for change in way.changes] == ["pay"]


def test_an_ordinal_card_is_asked_for_a_group() -> None:
    card = OrdinalCard(CARD, ("low", "middle", "high"), (Fraction(7), Fraction(11)))
    asked: dict[str, Any] = {"ranges": {"drinks": (0, 6)}, "costs": {"smoker": 50}}
    with pytest.raises(OptionError, match="to is needed"):
        counterfactual(card, ROW)
    found = counterfactual(card, ROW, to="middle", **asked)
    (way,) = found
    assert found.demand == "total 7 to 10"
    truth = cheapest(card, ROW, "middle", {"smoker": 50}, lambda each: True)
    assert float(way.cost) == pytest.approx(truth, abs=1e-9)
    with pytest.raises(NotApplicableError, match="'high' already"):
        counterfactual(card, ROW, to="high")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"costs": {"aeg": 1}}, DataError, "no feature 'aeg'.*'age'"),
        ({"costs": {"age": 0}}, FormulationError, "cost of 'age'"),
        ({"directions": {"age": "up"}}, OptionError, "'\\+' or '-'"),
        ({"directions": {"job": "+"}}, OptionError, "'job' is not a number"),
        ({"per": "mile"}, OptionError, "'unit' or 'bin'"),
        ({"k": 0}, OptionError, "k=0"),
        ({"to": "fine"}, DataError, "no answer 'fine'"),
        ({}, OptionError, "'drinks' counts by the unit"),
        ({"ranges": {"drinks": (0, 6)}, "units": {"drinks": 0.5}}, FormulationError, "multiple"),
    ],
)
def test_odd_questions_are_refused(given: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        counterfactual(CARD, ROW, **given)
