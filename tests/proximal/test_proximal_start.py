"""Cards from proximal paths: allowed, never worse where it was promised, and what they save."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from typer.testing import CliRunner

import milpscore
from milpscore import formulations, rounding, search
from milpscore.cli.app import app
from milpscore.comparison.answers import COLUMNS, KINDS, PROXIMAL_COLUMNS
from milpscore.core.errors import OptionError
from milpscore.data import Binner, make_planted_score
from milpscore.search.starts import deviation_of, find_start
from milpscore.verify import check, evaluate

ARGUMENTS: dict[str, dict[str, Any]] = {
    "slim": {"max_terms": 3},
    "hinge": {"max_terms": 3, "margin": 2},
    "convex_rounding": {},
    "sparse_rounding": {"max_terms": 3},
    "facets_hinge": {"lam": 0.01},
    "fused_lasso": {"lam": 0.01},
}


def planted(n: int = 120, p: int = 6, seed: int = 0) -> Any:
    X, y, _ = make_planted_score(n, p, n_terms=3, max_points=3, noise=0.1, random_state=seed)
    return X, y


def program(name: str, seed: int = 0, **changes: Any) -> Any:
    design = Binner(3, encoding="onehot").fit_design(*planted(seed=seed))
    return formulations.FORMULATIONS[name](design, **(ARGUMENTS[name] | changes))


@pytest.mark.parametrize("penalty", ["l1", "facets"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_start_meets_every_constraint(name: str, penalty: Any) -> None:
    exact = program(name).exact()
    card = search.proximal_start(exact, penalty=penalty)
    assert card is not None
    assert check(exact, card).feasible
    empty = exact.statement.empty_card()
    assert evaluate(exact.statement, card).objective < evaluate(exact.statement, empty).objective
    again = search.proximal_start(exact, penalty=penalty)
    assert again == card


def test_ranges_and_sets_hold() -> None:
    X, y = planted()
    stated = formulations.slim(X, y, coef_min=0, coef_max=2, max_terms=2)
    card = search.proximal_start(stated)
    assert card is not None
    assert card.coefficients.min() >= 0
    assert card.coefficients.max() <= 2
    assert card.nonzeros <= 2


def test_a_users_constraint_refuses_a_start() -> None:
    stated = program("slim")
    card = search.proximal_start(stated)
    assert card is not None
    j = int(np.flatnonzero(card.coefficients)[0])
    stated.model.mine = pyo.Constraint(expr=stated.model.w[j] == 0)
    refused = search.proximal_start(stated)
    assert refused is None or refused.coefficients[j] == 0


def test_start_card_is_the_better_of_both() -> None:
    for seed in range(4):
        statement = program("slim", seed=seed).statement
        reached = search.start_card(program("slim", seed=seed))
        descent = search.coordinate_descent(statement, statement.empty_card())
        found = find_start(statement)
        assert reached is not None
        assert found is not None
        least = min(evaluate(statement, card).objective for card in (descent, found.card))
        assert evaluate(statement, reached).objective == pytest.approx(least)


@pytest.mark.data
@pytest.mark.parametrize(("name", "limit"), [("mammo", 0.200), ("bankruptcy", 0.0031)])
def test_a_path_finds_what_descent_misses(
    uci: Callable[[str], tuple[Any, Any]], name: str, limit: float
) -> None:
    stated = formulations.slim(*uci(name), max_terms=5)
    statement = stated.statement
    descent = search.coordinate_descent(statement, statement.empty_card())
    found = search.proximal_start(stated)
    assert found is not None
    assert evaluate(statement, found).objective < evaluate(statement, descent).objective
    assert evaluate(statement, found).objective <= limit


def test_no_work_and_one_class_give_no_start() -> None:
    stated = program("slim")
    assert search.proximal_start(stated, max_work=10) is None
    assert search.start_card(stated, max_work=10) is not None


def test_no_start_where_no_card_is_allowed() -> None:
    impossible = formulations.slim(*planted(40, 3), coef_min=1, max_terms=1)
    assert search.proximal_start(impossible) is None
    assert search.start_card(impossible) is None


def test_extreme_columns_are_no_danger() -> None:
    values = np.random.default_rng(0).normal(size=(40, 3))
    size = np.array([1e200, 1e-200, 1.0])
    found = deviation_of(values * size, np.ones(40))
    assert np.allclose(found / size, values.std(axis=0))
    assert (deviation_of(np.ones((5, 2)), np.ones(5)) == 1).all()


def test_wrong_options_are_refused() -> None:
    stated = program("slim")
    with pytest.raises(OptionError, match="smoothed_hinge"):
        search.proximal_start(stated, loss="hinge")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="from 1 on"):
        search.proximal_start(stated, n_lams=0)
    with pytest.raises(OptionError, match="seed"):
        rounding.warm_start_savings(stated, seeds=())


def test_the_proximal_row_comes_last_and_bounds_nothing() -> None:
    X, y = planted(80, 4)
    answer = milpscore.compare(
        X,
        y,
        binner=Binner(3, encoding="onehot"),
        proximal=True,
        max_terms=2,
        time_limit=60,
        cv=2,
        n_draws=20,
    )
    table = answer.table
    assert list(table.columns) == [*COLUMNS, *PROXIMAL_COLUMNS]
    for name, rows in table.groupby("formulation", sort=False):
        assert list(rows["kind"]) == [*KINDS, "proximal"]
        row = rows.iloc[-1]
        result = answer.results[name, "proximal"]
        assert result.verified
        assert result.card is not None
        relaxed = rows[rows["kind"] == "relaxed"].iloc[0]
        assert row["bound"] == pytest.approx(min(relaxed["bound"], row["objective"]))
        exact = rows[rows["kind"] == "exact"].iloc[0]
        assert exact["objective"] <= row["objective"] + 1e-9
        assert 0 <= row["surrogate_gap"] < 0.01
        assert row["surrogate_objective"] >= row["surrogate_loss"]
        assert np.isfinite(row["cv_accuracy"])
        assert rows["surrogate_lam"].iloc[:-1].isna().all()
    # without it, the table is what it was
    plain = milpscore.compare(
        X, y, formulations=["hinge"], max_terms=2, time_limit=300, cv=None
    ).table
    assert list(plain.columns) == list(COLUMNS)
    assert list(plain["kind"]) == list(KINDS)


def small() -> Any:
    """A program that is proved optimal in a moment."""
    return formulations.slim(*planted(50, 4), max_terms=2, coef_min=-3, coef_max=3)


def test_the_command_line_shows_the_proximal_row(tmp_path: Path) -> None:
    X, y = planted(60, 4)
    place = tmp_path / "table.csv"
    X.assign(ill=np.asarray(y)).to_csv(place, index=False)
    common = ["compare", str(place), "--target", "ill", "--formulations", "hinge", "--proximal",
              "--cv", "0", "--time-limit", "300"]  # fmt: skip
    done = CliRunner().invoke(app, common)
    assert done.exit_code == 0, done.stderr
    assert "proximal" in done.stdout
    rows = json.loads(CliRunner().invoke(app, [*common, "--json"]).stdout)["table"]
    assert [row["kind"] for row in rows] == [*KINDS, "proximal"]
    assert rows[-1]["surrogate"] == "smoothed_hinge with l1"


def test_savings_with_and_without_a_start() -> None:
    stated = small()
    table = rounding.warm_start_savings(stated, seeds=(0, 1), time_limit=300)
    assert list(zip(table["seed"], table["start"], strict=True)) == [
        (0, "none"), (0, "proximal"), (1, "none"), (1, "proximal"),
    ]  # fmt: skip
    assert (table["claim"] == "optimal").all()
    assert table["objective"].nunique() == 1
    best = table["objective"].iloc[0]
    for row in table.itertuples():
        assert row.first_nodes <= row.nodes
        assert row.first_seconds >= 0
        if row.start == "proximal":
            assert row.warm_start == "accepted"
            if row.start_objective <= 1.01 * best:
                assert row.first_nodes == 0


def test_a_given_start_is_named_so() -> None:
    stated = small()
    card = stated.statement.empty_card()
    table = rounding.warm_start_savings(stated, seeds=(3,), start=card, time_limit=300)
    assert list(table["start"]) == ["none", "given"]
    assert table["start_objective"].iloc[1] == evaluate(stated.statement, card).objective


def test_compare_says_what_the_start_saved() -> None:
    from milpscore import compare

    X, y, _ = make_planted_score(120, 6, n_terms=3, noise=0.1, random_state=2)
    answer = compare(
        X, y, formulations=("slim", "hinge"), max_terms=3, cv=0, time_limit=300, savings=(0, 1)
    )
    table, saved = answer.table, answer.savings
    assert saved is not None
    assert list(saved["formulation"]) == ["slim"] * 4 + ["hinge"] * 4
    assert set(saved["seed"]) == {0, 1}
    exact = table[table["kind"] == "exact"].set_index("formulation")["objective"]
    for name, part in saved.groupby("formulation"):
        assert part["objective"].min() == pytest.approx(exact[name], abs=1e-9)
    assert compare(X, y, formulations=("hinge",), cv=0, time_limit=300).savings is None
