"""``milpscore pool``: what it prints and saves, exit codes, bad input, Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_cli import data, error, parse, run, table

from milpscore.certificate import Certificate
from milpscore.data import Binner
from milpscore.formulations import risk_score, slim
from milpscore.pools import pareto, pool
from milpscore.scorecard.certified import shown_card
from milpscore.scorecard.rendering import card_line, exact_number, least_positive

__all__ = ["data"]  # a fixture


def report(data: Path, *arguments: object, code: int = 0) -> dict[str, Any]:
    """The object of ``--json``."""
    done = run("pool", data, "--target", "ill", *arguments, "--json", "--quiet")
    assert done.exit_code == code, done.output
    return parse(done.stdout)


def design() -> Any:
    frame = table()
    return Binner().fit_design(frame.drop(columns="ill"), frame["ill"])


@pytest.mark.parametrize("formulation", ["risk-score", "slim"])
def test_the_json_is_what_python_answers(data: Path, formulation: str) -> None:
    said = report(
        data, "--formulation", formulation, "--max-terms", 2, "--epsilon", 0.05,
        "--coef-min", -3, "--coef-max", 3,
    )  # fmt: skip
    build = {"risk-score": risk_score, "slim": slim}[formulation]
    program = build(design(), max_terms=2, coef_min=-3, coef_max=3)
    found = pool(program, epsilon=0.05, progress=False)
    assert said["n_cards"] == len(found) == len(said["cards"]) > 1
    assert [card["coefficients"] for card in said["cards"]] == found.points.tolist()
    assert [card["objective"] for card in said["cards"]] == pytest.approx(found.objectives.tolist())
    assert (said["complete"], said["termination"], said["proved"]) == (True, "completed", True)
    assert said["complete_up_to"] == pytest.approx(found.threshold)
    shares = {row["column"]: row["share"] for row in said["importance"]}
    assert shares == found.importance["share"].to_dict()
    assert said["design_columns"] == list(found.statement.design.names)


def test_a_pool_of_the_largest_auc_has_gaps_between_groups(data: Path) -> None:
    frame = pd.read_csv(data)
    column = frame.columns.drop("ill")[0]
    given = "--formulation", "auc", "--max-terms", 2, "--epsilon", 0.2, "--by", column
    done = run("pool", data, "--target", "ill", *given)
    assert done.exit_code == 0, done.output
    assert "order the rows in" in done.stdout
    assert "Gap of selection between groups" in done.stdout
    frame.assign(ill=np.arange(len(frame)) % 3).to_csv(data.parent / "three.csv", index=False)
    given = "--target", "ill", "--formulation", "ordinal", "--by", column
    refused = run("pool", data.parent / "three.csv", *given)
    assert "gaps between groups are of two answers" in refused.stderr
    refused = run("fit", data, "--target", "ill", "--formulation", "auc", "--sample", 20)
    assert "and for slim: auc has none" in refused.stderr


def test_cards_of_ordered_classes_say_the_totals_of_each_class(data: Path) -> None:
    frame = pd.read_csv(data)
    totals = frame.drop(columns="ill").to_numpy()[:, -2:].sum(axis=1)
    three = np.digitize(totals, np.quantile(totals, [0.4, 0.8]))
    frame.assign(ill=three).to_csv(data.parent / "three.csv", index=False)
    given = data.parent / "three.csv", "--target", "ill", "--formulation", "ordinal"
    for further in ((), ("--pareto",)):
        done = run("pool", *given, "--max-terms", 2, *further)
        assert done.exit_code == 0, done.output
        assert "gap below" not in done.stdout
        assert "positive from" not in done.stdout
        # a card of at most two lines, and the totals of its three classes
        best = next(line for line in done.stdout.splitlines() if "0: ≤" in line and "2: ≥" in line)
        assert {*best.split()} & {"0", "1", "2"}
        assert "1: " in best


def test_a_person_reads_cards_and_ranges(data: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "pool.csv", tmp_path / "pool.png"
    done = run("pool", data, "--target", "ill", "--max-terms", 2, "--epsilon", 0.4,
               "--out", out, "--plot", plot)  # fmt: skip
    assert done.exit_code == 0, done.output
    for text in (
        "complete, no card is missing",
        "cards, which answer the rows in",
        "rise of the loss",
        "smoker",
    ):
        assert text in " ".join(done.stdout.split())
    saved = pd.read_csv(out)
    built = design()
    found = pool(risk_score(built, max_terms=2), epsilon=0.4, progress=False)
    assert saved[list(built.names)].to_numpy().tolist() == found.points.tolist()
    assert f"and {len(saved) - 10} more" in done.stdout
    assert plot.stat().st_size > 5000
    assert f"{out}." in done.stderr


def test_gaps_between_groups_are_said(data: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(data)
    frame["site"] = np.where(np.arange(len(frame)) % 3 == 0, "north", "south")
    frame.to_csv(tmp_path / "sites.csv", index=False)
    asked = ("--max-terms", 2, "--epsilon", 0.4, "--by", "site", "--drop", "site")
    said = report(tmp_path / "sites.csv", *asked)
    assert len(said["gaps"]["tpr"]) == said["n_cards"]
    done = run("pool", tmp_path / "sites.csv", "--target", "ill", *asked,
               "--out", tmp_path / "pool.csv")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Gap of tpr between groups" in done.stdout
    assert "no card of the pool has less" in done.stdout
    saved = pd.read_csv(tmp_path / "pool.csv")
    assert saved["tpr"].tolist() == pytest.approx(said["gaps"]["tpr"])
    absent = run("pool", data, "--target", "ill", "--by", "sight")
    assert absent.exit_code == 2
    assert "sight" in absent.output
    assert run("pool", data, "--target", "ill", "--by", "ill", "--pareto").exit_code == 2


def test_the_best_card_is_the_one_that_fit_prints(data: Path) -> None:
    fitted = parse(
        run("fit", data, "--target", "ill", "--max-terms", 2, "--json", "-q", "--no-check").stdout
    )
    program = risk_score(design(), max_terms=2)
    found = pool(program, progress=False)
    best = shown_card(program.statement, found.cards[0])
    assert best.coefficients == fitted["coefficients"]
    assert float(best.threshold) == fitted["threshold"]
    for more in ([], ["--pareto"]):
        done = run("pool", data, "--target", "ill", "--max-terms", 2, *more)
        said = " ".join(done.stdout.split())
        assert f"{exact_number(least_positive(best))} {card_line(best)}" in said


def test_limits_are_said(data: Path) -> None:
    few = report(data, "--max-terms", 2, "--epsilon", 0.2, "--max-cards", 2)
    assert (few["complete"], few["termination"]) == (False, "card_limit")
    assert few["complete_up_to"] < few["threshold"]
    each = report(data, "--max-terms", 1, "--epsilon", 0.05, "--every-intercept")
    once = report(data, "--max-terms", 1, "--epsilon", 0.05)
    assert each["every_intercept"] is True
    assert each["n_cards"] >= once["n_cards"]


def test_a_file_of_constraints_is_kept(data: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[constraints]]\ntype = "exclude"\ncolumns = ["marker"]\n')
    said = report(data, "--max-terms", 2, "--epsilon", 0.05, "--constraints", rules)
    of_marker = [j for j, name in enumerate(said["design_columns"]) if "marker" in name]
    assert of_marker
    assert all(card["coefficients"][j] == 0 for card in said["cards"] for j in of_marker)
    rules.write_text(
        '[[constraints]]\ntype = "exclude"\ncolumns = ["marker"]\n'
        '[[constraints]]\ntype = "include"\ncolumns = ["marker"]\n'
    )
    none = report(data, "--max-terms", 2, "--coef-min", 0, "--coef-max", 1,
                  "--constraints", rules, code=1)  # fmt: skip
    assert (none["n_cards"], none["cards"], none["complete"]) == (0, [], True)
    assert none["objective"] is None
    done = run("pool", data, "--target", "ill", "--max-terms", 2, "--coef-min", 0, "--coef-max", 1,
               "--constraints", rules)  # fmt: skip
    assert (done.exit_code, "no card is allowed: loosen" in done.stdout) == (1, True)


@pytest.mark.parametrize("formulation", ["risk-score", "slim", "hinge"])
def test_a_front_lists_every_size(data: Path, tmp_path: Path, formulation: str) -> None:
    folder, plot = tmp_path / "proofs", tmp_path / "front.svg"
    folder.mkdir()
    said = report(data, "--pareto", "--formulation", formulation, "--max-terms", 2,
                  "--certificates", folder, "--plot", plot)  # fmt: skip
    assert [row["max_terms"] for row in said["sizes"]] == [0, 1, 2]
    assert said["complete"] is True
    objectives = [row["objective"] for row in said["sizes"]]
    assert objectives == sorted(objectives, reverse=True)
    kept = [row["max_terms"] for row in said["sizes"] if not row["dominated"]]
    assert sorted(path.name for path in folder.iterdir()) == [f"terms-{k}.json" for k in kept]
    last = Certificate.from_json(folder / f"terms-{kept[-1]}.json")
    assert last.objective == pytest.approx(said["sizes"][kept[-1]]["objective"])
    assert plot.read_text().startswith("<?xml")


def test_a_front_without_a_limit_goes_through_all_columns(data: Path) -> None:
    done = run("pool", data, "--target", "ill", "--pareto", "--formulation", "slim")
    front = pareto(slim(design()), progress=False)
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[2:6]] == ["0", "1", "2", "3"]
    assert f"{front.results[3].objective:.6f}" in done.stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (["--formulation", "hinge"], "build a risk score"),
    (["--epsilon", "-1"], "epsilon"),
    (["--pareto", "--epsilon", "0.1"], "--epsilon belongs to a pool"),
    (["--pareto", "--max-cards", "5"], "--max-cards belongs to a pool"),
    (["--certificates", "."], "--pareto"),
    (["--pareto", "--certificates", "nowhere"], "no folder"),
    (["--out", "nowhere/pool.csv"], "no folder"),
    (["--plot", "pool.docx"], "must end in"),
    (["--max-cards", "0"], "max-cards"),
])  # fmt: skip
def test_bad_input_is_one_line(data: Path, arguments: list[str], words: str) -> None:
    assert words in error("pool", data, "--target", "ill", *arguments)


def test_ctrl_c_keeps_what_is_there(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from milpscore.solvers.trees.risk.tree import AllCards

    original = AllCards.take

    def pressed(tree: Any, *leaf: Any) -> None:
        original(tree, *leaf)
        if len(tree.found) >= 6:  # of a card and its multiples the pool lists one
            import signal

            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(AllCards, "take", pressed)
    said = report(data, "--max-terms", 2, "--epsilon", 0.3, code=130)
    assert (said["termination"], said["complete"]) == ("interrupted", False)
    assert said["n_cards"] >= 2


def test_ctrl_c_before_the_search_is_said(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("milpscore.pools.pool", pressed)
    done = run("pool", data, "--target", "ill")
    assert (done.exit_code, done.stdout) == (130, "")
    assert "no card yet" in done.stderr


def test_the_epsilon_of_the_help_is_that_of_python() -> None:
    import inspect

    assert "(default 0.01)" in " ".join(run("pool", "--help").stdout.replace("│", "").split())
    assert inspect.signature(pool).parameters["epsilon"].default == 0.01
    assert inspect.signature(pool).parameters["max_cards"].default == 10_000
    assert np.isfinite(inspect.signature(pool).parameters["time_limit"].default)
