"""``milpscore fit --time``, and what is done with its cards."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.core.errors import SizeError
from milpscore.data import sources
from milpscore_check.report import check
from tests.survival_cases import small_times
from tests.tree_cases import set_policy


def run(*arguments: object) -> Any:
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    design = small_times(1, rows=120, late=True)
    frame = pd.DataFrame(design.X, columns=["a", "b, c", "d"])
    frame = frame.assign(
        years=design.time, died=(design.y > 0).astype(int), came=design.entry, id=np.arange(120)
    )
    frame.to_csv(path := tmp_path_factory.mktemp("times") / "t.csv", index=False)
    return path


def test_from_a_table_to_a_proof(table, tmp_path):
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    done = run(
        "fit", table, "--time", "years", "--event", "died", "--entry", "came", "--id", "id",
        "--at", "0.5,1", "--max-terms", 2, "--out", card, "--certificate", proof,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "risk by 0.5" in done.stdout
    assert "Events: " in done.stderr
    assert {status for _, status, _ in check(table, proof)} == {"proved"}
    verified = run("verify", proof, table)
    assert verified.exit_code == 0, verified.output
    answers = run("predict", card, table, "--id", "id", "--scores")
    assert answers.exit_code == 0
    assert answers.stdout.splitlines()[0] == "id,total,risk by 0.5,risk by 1"
    shown = run("card", card, "--out", tmp_path / "card.html")
    assert shown.exit_code == 0
    assert "risk by" in (tmp_path / "card.html").read_text()
    # the columns of times are no features
    columns = json.loads(card.read_text())["card"]["columns"]
    assert not {"years", "came", "id"} & {column["feature"] for column in columns}


def test_discrete_time_is_set_by_an_argument(table, tmp_path):
    proof = tmp_path / "proof.json"
    done = run(
        "fit", table, "--time", "years", "--event", "died", "--drop", "came,id", "--max-terms", 1,
        "--set", "exposure=discrete", "--set", "times=3", "--certificate", proof,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert {status for _, status, _ in check(table, proof)} == {"proved"}
    assert run("verify", proof, table).exit_code == 0


def test_json_holds_hazards_and_groups(table):
    done = run(
        "fit", table, "--time", "years", "--event", "died", "--drop", "came,id", "--max-terms", 1,
        "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["formulation"] == "survival_score"
    assert found["claim"] == "optimal"
    assert len(found["cuts"]) == len(found["hazard"])
    assert sum(group["rows"] for group in found["groups"]) == 120


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--target", "died", "--formulation", "survival-score"), "needs --time"),
        (("--target", "died", "--entry", "came"), "belong to --time"),
        (("--target", "died", "--levels", "0,1"), "add --formulation ordinal"),
        (("--target", "died", "--cost", "squared"), "add --formulation ordinal"),
        (("--event", "died", "--time", "years", "--levels", "0,1"), "add --formulation ordinal"),
        (("--event", "died", "--time", "weeks"), "no column 'weeks'"),
        (("--event", "a", "--time", "years"), "use 1 or True"),
        (("--event", "died", "--time", "years", "--formulation", "slim"), "leave out"),
        (("--event", "died", "--time", "years", "--threshold-by", "youden"), "has no meaning"),
        (("--event", "died", "--time", "years", "--at", "1,x"), "list of numbers"),
        (("--event", "died", "--time", "years", "--at", "1e9"), "risks can be stated"),
        (("--event", "died", "--time", "years", "--set", "times=0"), "whole number"),
    ],
    ids=str,
)
def test_bad_calls_say_what_to_do(table, arguments, words):
    done = run("fit", table, *arguments, "--heuristic")
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (
            "years",
            0,
            "'years' has 1 value(s) that are no time above 0, as 0.0, in line of the file 5",
        ),
        ("years", "unknown", "that are no time above 0, as unknown, in line of the file 5"),
        ("years", "2026-03-01", "that are no time above 0, as 2026-03-01, in line of the file 5"),
        ("years", None, "'years' has 1 value(s) that are no time above 0, in line of the file 5"),
        (
            "came",
            1e9,
            "'came' has 1 value(s) that are no entry, from 0 to below the time, as 1000000000.0",
        ),
        ("came", -1, "as -1.0, in line of the file 5"),
    ],
)
def test_bad_times_are_named_by_their_lines(table, tmp_path, column, value, words):
    frame = pd.read_csv(table).astype({column: object})
    frame.loc[3, column] = value
    frame.to_csv(path := tmp_path / "bad.csv", index=False)
    done = run("fit", path, "--time", "years", "--event", "died", "--entry", "came", "--id", "id")
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


def test_polish_alone_and_levels_to_compare_are_refused(table):
    done = run("fit", table, "--target", "died", "--polish")
    assert "--polish improves the card of --heuristic" in done.stderr
    for command in ("compare", "counts"):
        done = run(command, table, "--target", "died", "--levels", "0,1")
        assert done.exit_code == 2
        assert "No such option: --levels" in done.stderr


def test_an_entry_that_is_no_column_is_refused(table):
    done = run("fit", table, "--time", "years", "--event", "died", "--entry", "cane")
    assert done.exit_code == 2
    assert "there is no column 'cane'; did you mean 'came'" in done.stderr


def test_rows_without_any_event_are_refused_as_such(table, tmp_path):
    pd.read_csv(table).assign(died=0).to_csv(path := tmp_path / "bad.csv", index=False)
    done = run("fit", path, "--time", "years", "--event", "died", "--drop", "came,id")
    assert done.exit_code == 2
    assert "no row with weight has an event" in done.stderr


def test_a_pool_of_times_names_no_decision(table):
    given = "--time", "years", "--event", "died", "--drop", "came,id", "--max-terms", 1
    done = run("pool", table, *given, "--epsilon", 0.1)
    assert done.exit_code == 0, done.output
    assert "cards, which score the rows in" in done.stdout
    assert "positive from" not in done.stdout


def test_other_commands_say_what_such_a_card_lacks(table, tmp_path):
    card = tmp_path / "card.json"
    given = "--time", "years", "--event", "died", "--drop", "came,id", "--heuristic"
    assert run("fit", table, *given, "--out", card).exit_code == 0
    for command in (
        ("counterfactual", card, table, "--row", 1), ("report", card, table),
        ("predict", card, table, "--probabilities"), ("predict", card, table, "--groups"),
        ("card", card, "--power"),
    ):  # fmt: skip
        done = run(*command)
        assert done.exit_code == 2
        assert "survival card" in done.stderr or "times to an event" in done.stderr
    for format, name in (("calculator", "page.html"), ("xlsx", "card.xlsx")):
        done = run("card", card, "--format", format, "--out", tmp_path / name)
        assert done.exit_code == 0, done.output
        assert (tmp_path / name).stat().st_size > 1000


def test_one_cause_is_named_by_its_value_and_all_rows_may_have_an_event(table, tmp_path):
    frame = pd.read_csv(table)
    cause = frame["died"] * (1 + (frame["a"] > 0))
    path, proof = tmp_path / "causes.csv", tmp_path / "proof.json"
    frame.assign(died=cause).to_csv(path, index=False)
    given = "--time", "years", "--event", "died", "--drop", "came,id", "--max-terms", 1
    refused = run("fit", path, *given)
    assert refused.exit_code == 2
    assert "--positive" in refused.stderr
    done = run("fit", path, *given, "--positive", 2, "--certificate", proof, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["events"] == (cause == 2).sum()
    assert {status for _, status, _ in check(path, proof)} == {"proved"}
    assert run("verify", proof, path).exit_code == 0
    # the other cause is another table's answer
    other = json.loads(proof.read_text())
    other["data"]["positive"] = "1"
    proof.write_text(json.dumps(other))
    assert {status for _, status, _ in check(path, proof)} != {"proved"}
    frame.assign(died=1).to_csv(path, index=False)
    done = run("fit", path, *given, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["events"] == len(frame)


def test_tables_beyond_memory_are_merged(table, tmp_path, monkeypatch):
    pytest.importorskip("duckdb", reason="tables beyond memory are read by DuckDB")
    given = (
        "fit", table, "--time", "years", "--event", "died", "--entry", "came", "--drop", "id",
        "--max-terms", 2, "--set", "times=4",
    )  # fmt: skip
    small = run(*given, "--json")
    set_policy(monkeypatch, sources, max_bytes_in_memory=0)
    large = run(*given, "--json")
    assert large.exit_code == 0, large.output
    assert "in 120 rows" in large.stderr
    few, rows = json.loads(large.stdout), json.loads(small.stdout)
    for name in ("cuts", "events", "coefficients", "claim"):
        assert few[name] == rows[name]
    assert few["hazard"] == pytest.approx(rows["hazard"])
    pool = run("pool", *given[1:], "--max-cards", 5, "--json")
    assert pool.exit_code == 0, pool.output
    refused = run(*given, "--certificate", tmp_path / "proof.json")
    assert refused.exit_code == 2
    assert "fits into memory" in refused.stderr
    # a table that fits, and whose columns would not
    set_policy(monkeypatch, sources, max_bytes_in_memory=10**9)

    def refuse(*_: object, **__: object) -> None:
        raise SizeError("the design would hold too many values")

    monkeypatch.setattr("milpscore.data.binner.timed_rows", refuse)
    merged = run(*given, "--json")
    assert merged.exit_code == 0, merged.output
    assert json.loads(merged.stdout)["coefficients"] == rows["coefficients"]


def test_no_time_gives_the_card_without_points(table):
    done = run("fit", table, "--time", "years", "--event", "died", "--time-limit", 0, "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["claim"] == "feasible"
    assert not any(said["coefficients"].values())
