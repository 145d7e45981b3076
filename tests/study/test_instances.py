"""Instances by name: what MIPLIB 2017 publishes of its own, rows, files, and what is known."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from designs import design

import milpscore
from milpscore.core.errors import DataError, OptionError
from milpscore.core.result import Claim
from milpscore.formulations import slim
from milpscore.solvers import solve
from milpscore.solvers.trees.zero_one.rows import Patterns
from milpscore.verify import check
from milpscore_study import Race, instance_race, instances, load_study, run_study
from milpscore_study.instances import HANDICAP, INSTANCES, names, write_solu
from milpscore_study.profiles import primal_integral

MADE = ("planted200", "planted1000", "planted5000", "noisy", "wide", "genes")


@pytest.fixture
def sets(uci: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a check that a set is there, for instances to read."""
    default = Path(__file__).parents[3] / "shared" / "data"
    monkeypatch.setenv("MILPSCORE_DATA", os.environ.get("MILPSCORE_DATA", str(default)))
    return uci


def read(path: Path) -> highspy.Highs:
    solver = highspy.Highs()
    solver.silent()
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    return solver


def solution(path: Path) -> tuple[float, dict[str, float]]:
    first, *lines = path.read_text().splitlines()
    assert first.startswith("=obj= ")
    pairs = (line.rsplit(" ", 1) for line in lines)
    return float(first.split()[1]), {label: float(value) for label, value in pairs}


def value_in(solver: highspy.Highs, values: dict[str, float]) -> float:
    """The objective of a solution, which is checked against every row, range and kind."""
    lp = solver.getLp()
    assert set(values) <= set(lp.col_names_)
    x = np.array([values.get(name, 0.0) for name in lp.col_names_])
    low, high = np.array(lp.col_lower_), np.array(lp.col_upper_)
    assert ((x >= low - 1e-9) & (x <= high + 1e-9)).all()
    whole = np.array([kind == highspy.HighsVarType.kInteger for kind in lp.integrality_])
    assert np.allclose(x[whole], np.rint(x[whole]))
    start, index, entries = (
        np.array(getattr(lp.a_matrix_, n)) for n in ("start_", "index_", "value_")
    )
    rows = np.zeros(lp.num_row_)
    columns = np.repeat(np.arange(lp.num_col_), np.diff(start[: lp.num_col_ + 1]))
    np.add.at(rows, index[: len(columns)], entries[: len(columns)] * x[columns])
    assert (rows >= np.array(lp.row_lower_) - 1e-7).all()
    assert (rows <= np.array(lp.row_upper_) + 1e-7).all()
    return float(np.array(lp.col_cost_) @ x + lp.offset_)


# what the library's page of the instance says: rows, columns, nonzeros
@pytest.mark.parametrize(("name", "size"), [
    ("breastcancer-regularized", (723, 715, 8283)), ("mushroom-best", (8580, 8468, 188735)),
])  # fmt: skip
def test_published_files_are_the_librarys(
    name: str, size: tuple[int, int, int], sets: Any, tmp_path: Path
) -> None:
    sets(name.partition("-")[0])
    instance = INSTANCES[name]
    model, solved = instance.write(tmp_path)
    solver = read(model)
    assert (solver.getNumRow(), solver.getNumCol(), solver.getNumNz()) == size
    stated, values = solution(solved)
    assert value_in(solver, values) == pytest.approx(stated, abs=1e-9)
    assert stated == pytest.approx(instance.reference, rel=1e-8)
    assert instance.known is not None
    assert instance.known.claim == "optimal"


def test_the_published_rule_against_the_written_model(sets: Any, tmp_path: Path) -> None:
    """HiGHS on the library's model of some rows, and the tree on ours, find the same optimum."""
    sets("breastcancer")
    instance = INSTANCES["breastcancer-regularized"]
    program = instance.program()
    found = solve(program, time_limit=60.0, progress=False)
    assert found.claim is Claim.OPTIMAL
    assert instance.in_rows(found.objective) == pytest.approx(instance.reference, rel=1e-8)
    assert found.card is not None
    card, rows = found.card, program.statement.design
    totals = rows.X[:, :-1] @ card.coefficients[:-1] + float(card.intercept) + 1
    wrong = (np.where(rows.y > 0, totals, -totals) < 0.001).sum()  # 0 is an error in both classes
    terms, size = np.count_nonzero(card.coefficients[:-1]), np.abs(card.coefficients[:-1]).sum()
    l0, l1 = (instance.arguments[name] * len(rows.y) for name in ("l0_penalty", "l1_penalty"))
    assert instance.in_rows(found.objective) == pytest.approx(wrong + l0 * terms + l1 * size)
    with pytest.raises(OptionError, match="no other units"):
        INSTANCES["breastcancer-regularized-card"].in_rows(1.0)


@pytest.mark.parametrize("seed", range(8))
def test_a_handicap_closes_no_card(seed: int) -> None:
    """The tree with a column that raises negative rows, against every card."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (24, 3)), rng.choice([-1, 1], 24)
    rows = np.column_stack([X, y < 0])
    program = slim(
        design(rows, y), coef_min=-2, coef_max=2, coef_sets={"x3": [1]}, l0_penalty=0.01,
        l1_penalty=0.001,
    )  # fmt: skip
    assert Patterns(program.statement).handicaps.tolist() == [3]
    best = np.inf
    for w in np.stack(np.meshgrid(*[range(-2, 3)] * 3), -1).reshape(-1, 3):
        totals = X @ w + (y < 0)
        errors = min(
            int(((totals >= t) != (y > 0)).sum()) for t in range(totals.min(), totals.max() + 2)
        )
        price = 0.01 * (np.count_nonzero(w) + 1) + 0.001 * (np.abs(w).sum() + 1)
        best = min(best, errors / 24 + price)
    found = solve(program, "tree", progress=False)
    assert found.claim is Claim.OPTIMAL
    assert found.objective == pytest.approx(best, abs=1e-9)


def test_a_column_that_helps_is_no_handicap() -> None:
    y = np.array([1, -1, 1, -1, 1, -1])
    X = np.column_stack([[0, 0, 1, 1, 2, 2], y > 0])
    program = slim(design(X, y), coef_min=-2, coef_max=2, coef_sets={"x1": [1]})
    assert not len(Patterns(program.statement).handicaps)
    found = solve(program, "tree", progress=False)
    assert found.loss == 0.0


def test_every_table_that_is_made_has_its_instances() -> None:
    assert len(names()) == len(INSTANCES) > 250
    for table in MADE:
        for name in names(f"*-{table}-*"):
            if table != "planted5000":
                program = INSTANCES[name].program()
                assert program.statement.design.shape[0] > 0
    assert milpscore.instances is instances


def test_what_is_known_holds(sets: Any) -> None:
    """Each card is checked again from its rows; no bound lies above its card."""
    for name in ("haberman", "mammo", "breastcancer", "bankruptcy"):
        sets(name)
    checked = 0
    for name in names():
        known = INSTANCES[name].known
        if known is None:
            continue
        assert known.bound <= known.objective
        if "adult" in name or "5000" in name or "mushroom" in name:
            continue  # their rows take long to read
        program = INSTANCES[name].program()
        verdict = check(program, known.card)
        assert verdict.feasible, name
        assert verdict.objective == pytest.approx(known.objective, rel=1e-9, abs=1e-12), name
        checked += 1
    assert checked > 20


def test_the_file_of_what_is_known_is_in_order() -> None:
    path = Path(instances.__file__).with_name("best_known.csv")
    with path.open(newline="") as file:
        held = [row["name"] for row in csv.DictReader(file)]
    assert held == [name for name in names() if name in held]


def test_files_of_an_instance_of_our_own(tmp_path: Path) -> None:
    instance = INSTANCES["slim-planted200-3"]
    model, solved = instance.write(tmp_path)
    stated, values = solution(solved)
    assert instance.known is not None
    assert stated == pytest.approx(instance.known.objective)
    assert value_in(read(model), values) == pytest.approx(stated, abs=1e-9)
    path = write_solu(tmp_path / "own.solu", names("slim-planted200-*"))
    lines = path.read_text().splitlines()
    assert len(lines) == 3
    assert lines[0] == instance.solution_line()
    assert lines[0].startswith("=opt= slim-planted200-3 ")


def test_a_race_of_instances(tmp_path: Path) -> None:
    which = ["slim-planted200-3", "hinge-planted200-3"]
    study = instance_race(which, ["highs", "tree"], node_limit=20)
    race = Race(run_study(study, tmp_path / "race.sqlite"))
    table = race.table()
    assert len(table) == 4
    assert set(table["data"]) == set(which)
    assert not table["wrong"].any()
    rows = race.rows()
    done = rows[rows["status"] == "done"]
    known = {name: INSTANCES[name].known for name in set(done["data"])}
    for row in done.to_dict("records"):
        held = known[row["data"]]
        assert held is not None
        assert row["best"] <= held.objective + 1e-12
        assert 0 <= row["primal_integral"] <= 30
    assert "primal_integral" in race.summary()
    # another statement under the name of an instance is not held against its card
    content = study.settings()
    own = next(each for each in content["models"] if each["name"] == "slim-planted200-3 by tree")
    own["arguments"]["l0_penalty"] = 1e-6
    content |= {"models": [own], "data": content["data"][:1], "seeds": [0]}
    (tmp_path / "another.json").write_text(json.dumps(content))
    another = load_study(tmp_path / "another.json")
    (row,) = Race(run_study(another, tmp_path / "b.sqlite")).rows().to_dict("records")
    held = known["slim-planted200-3"]
    assert held is not None
    assert row["best"] < held.objective - 1e-3
    assert row["wrong"] == ""


def test_the_primal_integral() -> None:
    steps = [(1.0, 4.0), (2.0, np.inf), (3.0, 2.0)]
    # a second without a card, two at half, the rest at the best
    assert primal_integral(steps, 2.0, 10.0) == pytest.approx(1.0 + 2 * 0.5)
    assert primal_integral([], 2.0, 10.0) == 10.0
    assert primal_integral([(0.0, 0.0)], 0.0, 10.0) == 0.0
    assert primal_integral([(20.0, 1.0)], 1.0, 10.0) == 10.0


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="did you mean") as refused:
        names("slim-planted200-4")
    assert len(str(refused.value)) < 200  # it lists not all of hundreds of names
    with pytest.raises(OptionError, match="no table 'nothing'"):
        instances.make_table("nothing")
    monkeypatch.delenv("MILPSCORE_DATA", raising=False)
    with pytest.raises(DataError, match="export MILPSCORE_DATA"):
        INSTANCES["slim-haberman-3"].design()
    monkeypatch.setenv("MILPSCORE_DATA", str(tmp_path))
    with pytest.raises(DataError, match="cannot be read"):
        INSTANCES["slim-haberman-3"].design()
    (tmp_path / "haberman.csv").write_text("AliveAfter5Yrs,Age\n1,2\n0,3\n")
    with pytest.raises(DataError, match="other rows"):
        INSTANCES["slim-haberman-3"].design()


def test_handicap_is_a_column_of_the_published_rule_alone(sets: Any) -> None:
    sets("breastcancer")
    published, plain = (
        instances.make_table("breastcancer", rule=r)[0] for r in ("published", "card")
    )
    assert [*published.columns] == [*plain.columns, HANDICAP]
