"""Races of solvers: the same programs in several orders, wrong answers counted, tables, resumed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.core.errors import MilpscoreError, NotApplicableError, OptionError
from milpscore.core.result import Termination
from milpscore.solvers import SOLVERS, Outcome, Solver
from milpscore_study import Race, performance_profile, race_study, run_study
from milpscore_study.profiles import shifted_geometric_mean
from milpscore_study.work import load_data_set

DATA = {
    "name": "planted",
    "generator": "planted_score",
    "arguments": {"n_samples": 40, "n_features": 4, "n_terms": 3},
}
BOX = {"coef_min": -2, "coef_max": 2}
LIMITS: dict[str, Any] = {"time_limit": 60.0}


def raced(folder: Path, formulations: list[str], solvers: list[str], **more: Any) -> Race:
    given = {"arguments": BOX, **LIMITS, **more}
    study = race_study([DATA], formulations, solvers, **given)
    return Race(run_study(study, folder / "race.sqlite"))


def test_weak_and_strong_programs_side_by_side(tmp_path: Path) -> None:
    solvers = ["highs", "tree", "pyomo:appsi_highs"]
    race = raced(tmp_path, ["slim:textbook", "slim:conflicts", "hinge"], solvers, seeds=2)
    table = race.table().set_index(["formulation", "solver"])
    assert list(table.loc["slim"].index) == [
        "highs, textbook", "tree", "pyomo:appsi_highs, textbook", "highs, conflicts",
        "pyomo:appsi_highs, conflicts",
    ]  # fmt: skip
    proved = table[table["error"] == ""]
    assert (proved["status"] == "optimal").all()
    assert (proved["verified"] == 2).all()
    assert not table["wrong"].any()
    for name in ("slim", "hinge"):
        assert np.ptp(proved.loc[name]["objective"]) < 1e-9
    lp = table["lp_bound"]
    assert lp["slim", "highs, textbook"] <= lp["slim", "highs, conflicts"] + 1e-9
    roots = proved["root_bound"].dropna()
    assert (roots <= proved["objective"][roots.index] + 1e-6).all()
    assert ("hinge", "highs") in roots.index
    assert "tree search has no bounds for the hinge loss" in table.loc[("hinge", "tree"), "error"]
    summary = race.summary().set_index(["formulation", "solver"])
    assert summary.loc[("slim", "tree"), ["solves", "proved", "failed"]].tolist() == [2, 2, 0]
    assert summary.loc[("hinge", "tree"), ["solves", "proved", "failed"]].tolist() == [2, 0, 2]
    costs = race.costs("hinge")
    assert costs.shape == (2, 2)  # the tree has no answer
    assert performance_profile(costs).iloc[-1].tolist() == [1.0, 1.0]
    assert (race.costs("slim", by="nodes") >= 1).all(axis=None)
    ends = race.curves().curves.groupby(["set", "formulation"]).last()
    assert np.allclose(ends["objective"], ends["bound"], atol=1e-6)


def test_a_seed_orders_rows_and_columns_and_keeps_their_meaning() -> None:
    study = race_study([DATA], ["slim"], ["highs"], seeds=2)
    data = load_data_set(study.data[0])
    other = data.permuted(1)
    assert data.permuted(0) is data
    first, second = data.design(), other.design()
    names = [column.name for column in first.columns]
    again = [column.name for column in second.columns]
    assert names != again
    assert sorted(names) == sorted(again)
    rows = np.column_stack([first.X, first.y])
    same = np.column_stack([second.X[:, [again.index(name) for name in names]], second.y])
    assert not np.array_equal(rows, same)
    assert np.array_equal(np.unique(rows, axis=0), np.unique(same, axis=0))
    assert sorted(map(tuple, rows)) == sorted(map(tuple, same))


class Bold(Solver):
    """Claims more than it has found."""

    bound, ended = 0.9, Termination.COMPLETED

    def solve(self, task: Any) -> Outcome:
        card = task.program.statement.empty_card()
        return Outcome(self.ended, card=card, dual_bound=self.bound)


class Content(Bold):
    """Calls the empty card the best."""

    bound = math.inf

    def solve(self, task: Any) -> Outcome:
        from milpscore.verify import evaluate

        statement = task.program.statement
        card = statement.empty_card()
        objective = evaluate(statement, card).objective
        return Outcome(self.ended, card=card, dual_bound=objective)


class Desperate(Bold):
    """Finds nothing, and says that there is nothing."""

    bound, ended = -math.inf, Termination.INFEASIBLE

    def solve(self, task: Any) -> Outcome:
        return Outcome(self.ended)


def test_wrong_answers_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SOLVERS, "_homes", dict(SOLVERS._homes))
    for solver in (Bold, Content, Desperate):
        SOLVERS.register(solver.__name__.lower(), solver)
    race = raced(tmp_path, ["slim"], ["highs", "bold", "content", "desperate"], seeds=2)
    wrong = race.rows().set_index("solver")["wrong"]
    assert wrong["highs"].eq("").all()
    assert wrong["bold"].str.contains(r"claims the bound 0.9, above the verified").all()
    assert wrong["content"].str.contains("lies above a verified card").all()
    assert wrong["desperate"].str.contains("infeasible although this card was verified").all()
    summary = race.summary().set_index("solver")
    assert summary["wrong"].tolist() == [0, 2, 2, 2]
    assert summary["proved"].tolist() == [2, 0, 0, 0]
    assert np.isinf(race.costs("slim")[["bold", "content", "desperate"]]).all(axis=None)
    assert summary.loc["content", "seconds"] == pytest.approx(60)  # unproved: the limit


def test_nodes_limit_a_race_the_same_way_every_time(tmp_path: Path) -> None:
    tables = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        race = raced(tmp_path / name, ["slim:textbook"], ["highs", "tree"], node_limit=2)
        tables.append(race.table().drop(columns=["seconds", "primal_integral"]))
    pd.testing.assert_frame_equal(*tables)


def test_the_command(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (30, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=(X[:, 0] > X[:, 1]).astype(int))
    frame.to_csv(tmp_path / "small.csv", index=False)
    out = tmp_path / "race.sqlite"
    command = [
        "race", tmp_path / "small.csv", "--target", "y", "--formulations", "slim,fused-lasso",
        "--solvers", "highs,tree,glpk", "--bins", 2, "--seeds", 2, "--coef-max", 1, "--coef-min",
        -1, "--set", "fused_lasso.lam=0.1", "--time-limit", 60, "--out", out,
    ]  # fmt: skip
    first = invoke(*command, "--csv", tmp_path / "t.csv")
    assert first.exit_code == 0, first.output
    assert "small, fused-lasso" in first.stdout
    assert "fused-lasso by tree: " in first.stdout
    assert len(pd.read_csv(tmp_path / "t.csv")) == 6
    again = invoke(*command, "--json", "--plot", tmp_path / "race.png")
    assert again.exit_code == 0, again.output
    content = json.loads(again.stdout)
    assert {row["solver"] for row in content["table"]} == {"highs", "tree", "glpk"}
    assert all(row["wrong"] == 0 for row in content["summary"])
    assert "race: 12 of 12 solves" in again.stderr or "failed" in again.stderr
    assert (tmp_path / "race.png").stat().st_size > 10_000
    plt.close("all")


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_what_is_refused(tmp_path: Path) -> None:
    for formulations, solvers, more, said in (
        (["slin"], ["highs"], {}, "did you mean slim"),
        (["slim:weak"], ["highs"], {}, "strengths are of slim: slim:textbook"),
        (["hinge:textbook"], ["highs"], {}, "strengths are of slim"),
        (["slim"], ["hihgs"], {}, "did you mean highs"),
        (["slim"], ["scs"], {}, "solver: 'scs'"),
        (["slim"], ["highs"], {"arguments": {"marginal": 1}}, "takes 'marginal'"),
        (["slim"], ["highs"], {"arguments": {"hinge.margin": 1}}, "hinge is not in this race"),
        (["slim"], ["highs"], {"time_limit": -1}, "the race, limits, time_limit"),
    ):
        with pytest.raises(MilpscoreError, match=said):
            race_study([DATA], formulations, solvers, **more)  # type: ignore[arg-type]
    text = '[[data]]\nbundled = "iris"\npositive = "setosa"\n[[models]]\nestimator = "slim"\n'
    for more, said in (
        ('kind = "race"\n[folds]\nnumber = 2\n', "leave out folds"),
        ('arguments = {strength = "merged"}\n', "strength goes with slim of kind = 'race'"),
    ):
        (tmp_path / "study.toml").write_text(text + more)
        with pytest.raises(OptionError, match=said):
            run_study(tmp_path / "study.toml", tmp_path / "out.sqlite")
    (tmp_path / "study.toml").write_text(text.replace('"slim"', '"l1"\narguments = {lam = 0.1}'))
    report = run_study(tmp_path / "study.toml", tmp_path / "out.sqlite")
    with pytest.raises(NotApplicableError, match="holds no race"):
        Race(report)


def test_shifted_geometric_means() -> None:
    values = [0.0, 3.0, 15.0]
    assert shifted_geometric_mean(values, 1.0) == pytest.approx((1 * 4 * 16) ** (1 / 3) - 1)
    assert shifted_geometric_mean([0.0, np.nan], 10.0) == 0.0
    assert math.isnan(shifted_geometric_mean([np.nan], 1.0))
