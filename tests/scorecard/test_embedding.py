"""A card in a model of one's own: total and decision are those of the card, whatever the inputs."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

import milpscore
from milpscore import Scorecard
from milpscore.core.design import Column
from milpscore.core.errors import FormulationError
from milpscore.data import Binner
from milpscore.formulations import slim
from milpscore.scorecard import certified_card
from milpscore.solvers import solve

AGES = np.arange(20, 31)
COLORS = ("blue", "red")


def columns() -> tuple[Column, ...]:
    """Cuts and bins of a whole and of a real input, categories, a number, a flag."""
    return (
        Column("age >= 23", "age", "step", 23.0),
        Column("age >= 26.5", "age", "step", 26.5),
        Column("height < 1.5", "height", "interval", upper=1.5),
        Column("1.5 <= height < 1.8", "height", "interval", 1.5, 1.8),
        Column("height >= 1.8", "height", "interval", 1.8),
        Column("color = blue", "color", "category", category="blue"),
        Column("color = red", "color", "category", category="red"),
        Column("visits", "visits"),
        Column("smoker", "smoker"),
        Column("age missing", "age", "missing"),
    )


def random_card(rng: np.random.Generator) -> Scorecard:
    """Points of either sign, and a threshold among the totals there are."""
    points = (*map(int, rng.integers(-3, 4, 9)), 2)
    base = {"age": int(rng.integers(0, 3)), "color": 1}
    threshold = Fraction(int(rng.integers(-4, 6))) + Fraction(int(rng.integers(0, 2)), 2)
    return Scorecard(
        columns(), points, threshold, ((2, 3, 4),), ("no", "yes"), base_points=base, flags=(8,)
    )


def own_model() -> tuple[Any, dict[str, Any]]:
    """A model with an input of every kind, and what the card may read of it."""
    m = pyo.ConcreteModel()
    m.age = pyo.Var(domain=pyo.Integers, bounds=(20, 30))
    m.height = pyo.Var(bounds=(1.2, 2.1))
    m.color = pyo.Var(COLORS, domain=pyo.Binary)
    m.visits = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 4))
    m.smoker = pyo.Var(domain=pyo.Binary)
    m.one_color = pyo.Constraint(expr=sum(m.color[name] for name in COLORS) == 1)
    inputs = {"age": m.age, "height": m.height, "color": m.color, "visits": m.visits}
    return m, {**inputs, "color": dict(m.color), "smoker": m.smoker}


def row_of(m: Any) -> pd.DataFrame:
    """The inputs as a row of raw data, in their own precision."""
    color = next(name for name in COLORS if pyo.value(m.color[name]) > 0.5)
    values = {"age": round(pyo.value(m.age)), "height": round(pyo.value(m.height), 6)}
    counts = {"visits": round(pyo.value(m.visits)), "smoker": round(pyo.value(m.smoker))}
    return pd.DataFrame([{**values, "color": color, **counts}])


def solved(m: Any) -> Any:
    """HiGHS's answer."""
    return pyo.SolverFactory("appsi_highs").solve(m)


def agrees(card: Scorecard, m: Any, block: Any) -> bool:
    """Whether total and decision of a solved model are those of the card on its inputs."""
    row = row_of(m)
    same = pyo.value(block.total) == pytest.approx(card.score(row)[0], abs=1e-5)
    return same and (card.predict(row)[0] == "yes") == bool(round(pyo.value(block.positive)))


@pytest.mark.parametrize("seed", range(6))
def test_fixed_inputs_have_the_total_and_decision_of_the_card(seed: int) -> None:
    rng = np.random.default_rng(seed)
    card = random_card(rng)
    m, inputs = own_model()
    block = milpscore.embed(card, m, inputs)
    m.goal = pyo.Objective(expr=0.0 * m.age)
    for _ in range(6):
        m.age.fix(int(rng.choice(AGES)))
        m.height.fix(float(rng.choice([1.2, 1.4, 1.4999, 1.5, 1.7, 1.8, 2.1])))
        m.color["red"].fix(int(rng.integers(0, 2)))
        m.visits.fix(int(rng.integers(0, 5)))
        m.smoker.fix(int(rng.integers(0, 2)))
        solved(m)
        assert agrees(card, m, block)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_change_of_a_decision_is_that_of_enumeration(seed: int, side: int) -> None:
    card = random_card(np.random.default_rng(100 + seed))
    m, inputs = own_model()
    block = milpscore.embed(card, m, inputs, name="score")
    m.wanted = pyo.Constraint(expr=block.positive == side)
    m.goal = pyo.Objective(expr=m.age + 10 * m.visits + 7 * m.smoker + 3 * m.color["red"])
    grid = list(itertools.product(AGES, (1.4, 1.6, 1.9), COLORS, range(5), (0, 1)))
    rows = pd.DataFrame(grid, columns=["age", "height", "color", "visits", "smoker"])
    cost = rows.age + 10 * rows.visits + 7 * rows.smoker + 3 * (rows.color == "red")
    fitting = cost[(card.predict(rows) == "yes") == bool(side)]
    if fitting.empty:
        m.del_component("wanted")
        solved(m)
        assert round(pyo.value(block.positive)) == 1 - side
        return
    solved(m)
    assert pyo.value(m.goal) == pytest.approx(fitting.min())
    assert agrees(card, m, block)


def test_totals_move_as_far_as_the_inputs_allow() -> None:
    card = random_card(np.random.default_rng(7))
    m, inputs = own_model()
    block = milpscore.embed(card, m, inputs)
    m.goal = pyo.Objective(expr=block.total, sense=pyo.maximize)
    solved(m)
    grid = list(itertools.product(AGES, (1.4, 1.6, 1.9), COLORS, range(5), (0, 1)))
    rows = pd.DataFrame(grid, columns=["age", "height", "color", "visits", "smoker"])
    assert pyo.value(block.total) == pytest.approx(card.score(rows).max())


def test_a_learned_card_embeds_by_features_columns_and_numbers() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.integers(0, 10, 80), "b": rng.integers(0, 10, 80)})
    y = (X.a + X.b > 9).astype(int)
    design = Binner(n_bins=3, encoding="cumulative").fit_design(X, y)
    result = solve(slim(design, coef_min=0, max_terms=3), "tree")
    card = certified_card(design, result)
    m = pyo.ConcreteModel()
    m.a = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    m.b = pyo.Var(bounds=(0, 9))
    whole = milpscore.embed(card, m, {"a": m.a, "b": 5})
    twice = milpscore.embed(card, m, {"a": m.a - 1 + 1, "b": m.b}, name="again")
    flags = {column.name: column.lower <= 5 for column in card.columns if column.feature == "b"}
    named = milpscore.embed(card, m, {**flags, "a": m.a}, name="named")
    m.b.fix(5.0)
    m.goal = pyo.Objective(expr=m.a)
    m.yes = pyo.Constraint(expr=whole.positive == 1)
    solved(m)
    rows = pd.DataFrame({"a": range(10), "b": 5})
    least = int(np.flatnonzero(card.predict(rows) == 1)[0])
    assert round(pyo.value(m.a)) == least
    assert round(pyo.value(twice.positive)) == 1
    assert pyo.value(twice.total) == pytest.approx(pyo.value(whole.total))
    assert pyo.value(named.total) == pytest.approx(pyo.value(whole.total))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": None}, "inputs have no 'age'"),
        ({"color": "green light"}, "does not know the category 'green light'; the categories are"),
        ({"color": "Red"}, "did you mean 'red'"),
        ({"color": {"blue": 1}}, "'red' among them"),
        ({"age": "young"}, "read as a number"),
        ({"smoker": 3}, "0 or 1"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    card = Scorecard(columns(), (1, 1, 1, 0, 0, 2, 1, 1, 1, 0), Fraction(3), flags=(8,))
    m, inputs = own_model()
    given = {key: value for key, value in {**inputs, **change}.items() if value is not None}
    with pytest.raises(FormulationError, match=message):
        milpscore.embed(card, m, given)


def test_a_category_that_has_no_column_is_known_all_the_same() -> None:
    only = Column("sex = m", "sex", "category", category="m", others=("f",))
    card = Scorecard((only,), (2,), Fraction(1))
    totals = [
        pyo.value(milpscore.embed(card, pyo.ConcreteModel(), {"sex": each}).total) for each in "mf"
    ]
    assert totals == [2, 0]


def test_inputs_need_bounds_and_blocks_names_of_their_own() -> None:
    card = Scorecard((Column("age >= 3", "age", "step", 3.0),), (1,), Fraction(1))
    m = pyo.ConcreteModel()
    m.age = pyo.Var(bounds=(0, None))
    with pytest.raises(FormulationError, match="finite bounds"):
        milpscore.embed(card, m, {"age": m.age})
    with pytest.raises(FormulationError, match="'card' already"):
        milpscore.embed(card, m, {"age": 3})
    with pytest.raises(FormulationError, match="gap must be"):
        milpscore.embed(card, m, {"age": 3}, name="other", gap=0)
    with pytest.raises(FormulationError, match="did you mean 'Age'"):
        milpscore.embed(card, m, {"Age": 3}, name="third")
    assert milpscore.embed(card, m, {"age": 3}, name="fixed").positive.value == 1
