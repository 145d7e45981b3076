"""Ordered classes by one total: against every card and all thresholds, and what is made of it."""

from __future__ import annotations

import io
import json
import pickle
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import brute
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from milpscore.certificate import Certificate, certify, verify_certificate
from milpscore.cli.app import app
from milpscore.comparison import compare
from milpscore.constraints import AtMost, MaxErrors, MaxFeatures, Monotone, Sign
from milpscore.core.errors import DataError, FormulationError, NotApplicableError, OptionError
from milpscore.core.result import Claim
from milpscore.data import make_ordinal_design
from milpscore.estimators import OrdinalScoreClassifier
from milpscore.fitting import fit_card
from milpscore.formulations import ordinal, slim
from milpscore.scorecard import OrdinalCard, ordinal_card
from milpscore.solvers import solve
from milpscore.verify import check, evaluate


def run(*arguments: object, code: int = 0) -> Any:
    """A command in this process, and how it ends."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == code, done.output
    return done


def drawn(seed: int, n: int = 11, levels: int = 3) -> tuple[Any, Any, Any]:
    """Rows, levels and whole weights; every level has a row."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 2)).astype(float)
    c = np.r_[np.arange(levels), rng.integers(0, levels, n - levels)]
    return X, c, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("cost", brute.COSTS)
@pytest.mark.parametrize("levels", [3, 4])
def test_it_is_the_best_of_all_cards(cost: Any, levels: int) -> None:
    X, c, s = drawn(levels, levels=levels)
    d = make_ordinal_design(X, c, cost=cost, sample_weight=s)
    spacing = levels - 2
    program = ordinal(d, coef_min=-2, coef_max=2, l0_penalty=0.01, spacing=spacing)
    truth = brute.best_ordinal(X, c, s, cost, spacing=spacing)
    for solver in ("highs", "tree"):
        result = solve(program, solver)
        assert result.claim is Claim.OPTIMAL
        assert result.objective == pytest.approx(truth, abs=1e-9)
    below = solve(program.relaxed())
    assert below.objective <= truth + 1e-7


@pytest.mark.parametrize("cost", ["absolute", "zero_one"])
def test_the_hinge_too(cost: Any) -> None:
    X, c, s = drawn(5, n=8)
    d = make_ordinal_design(X, c, cost=cost, sample_weight=s)
    program = ordinal(d, loss="hinge", margin=2, coef_min=-1, coef_max=1, l0_penalty=0.01)
    result = solve(program)
    assert result.claim is Claim.OPTIMAL
    truth = brute.best_ordinal(X, c, s, cost, margin=2.0, reach=1)
    assert result.objective == pytest.approx(truth, abs=1e-9)
    assert solve(program.relaxed()).objective <= truth + 1e-7


def test_points_keep_rules_and_limits() -> None:
    X, c, s = drawn(8)
    d = make_ordinal_design(pd.DataFrame(X, columns=["a", "b"]), c, sample_weight=s)
    for rules, terms, kept in (
        ([MaxFeatures(1)], None, lambda w: np.count_nonzero(w) <= 1),
        ([AtMost(1, ["a", "b"])], None, lambda w: np.count_nonzero(w) <= 1),
        ([Sign("a", "-")], None, lambda w: w[0] <= 0),
        ([], 1, lambda w: np.count_nonzero(w) <= 1),
        ([], 0, lambda w: not any(w)),
    ):
        program = ordinal(
            d, coef_min=-2, coef_max=2, l0_penalty=0.01, max_terms=terms, constraints=rules
        )
        result = solve(program)
        truth = brute.best_ordinal(X, c, s, "absolute", allowed=kept)
        assert result.objective == pytest.approx(truth, abs=1e-9)
    with pytest.raises(FormulationError, match="limits on errors speak of two classes"):
        ordinal(d, constraints=[MaxErrors("a >= 1", count=3)])


def test_any_card_is_filled_in_and_keeps_its_figures() -> None:
    X, c, _ = drawn(2, levels=4)
    program = ordinal(make_ordinal_design(X, c), coef_min=-2, coef_max=2)
    statement = program.statement
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = rng.integers(statement.coef_min, statement.coef_max + 1)
        card = statement.with_best_intercept(w)
        verdict = check(program, card)
        assert verdict.feasible, verdict.violations
        # thresholds beyond all totals moved next to them: no answer changes
        assert verdict.objective == pytest.approx(evaluate(statement, card).objective, abs=1e-9)


def test_two_classes_are_those_of_slim() -> None:
    X, c, s = drawn(4, levels=2)
    plain = solve(slim(X, c, sample_weight=s, coef_min=-2, coef_max=2))
    same = solve(ordinal(X, c, sample_weight=s, coef_min=-2, coef_max=2))
    assert same.objective == pytest.approx(plain.objective, abs=1e-12)


def test_a_certificate_is_proved_from_the_raw_rows(tmp_path: Any) -> None:
    X, c, s = drawn(9, levels=4)
    levels = ["none", "mild", "moderate", "severe"]
    table, y = pd.DataFrame(X, columns=["a", "b"]), np.array(levels)[c]
    d = make_ordinal_design(table, y, levels=levels, cost="squared", sample_weight=s)
    program = ordinal(d, coef_min=-1, coef_max=1, max_terms=1)
    path = certify(program, solve(program)).to_json(tmp_path / "card.json")
    made = Certificate.from_json(path)
    assert made.data["levels"] == levels
    assert made.evidence["kind"] == "leaves"
    found = verify_certificate(made, table, y, sample_weight=s)
    assert found.proved, found.to_text()
    assert not verify_certificate(made, table, y[::-1].copy(), sample_weight=s).proved
    assert verify_certificate(made, d).proved


def diarem(n: int, noise: float, seed: int = 1) -> tuple[pd.DataFrame, Any]:
    """Patients whose group of five is that of DiaRem's total, give or take a point or two."""
    rng = np.random.default_rng(seed)
    age, hba1c = rng.integers(25, 70, n), np.round(rng.uniform(5.5, 11, n), 1)
    drugs, insulin = rng.integers(0, 2, n), rng.integers(0, 2, n)
    cuts = {f"age >= {cut}": age >= cut for cut in (40, 50, 60)}
    cuts |= {f"HbA1c >= {cut}": hba1c >= cut for cut in (6.5, 7, 9)}
    X = pd.DataFrame({**cuts, "drugs": drugs, "insulin": insulin}).astype(int)
    total = X.to_numpy() @ np.array([1, 1, 1, 2, 2, 2, 3, 10])
    return X, np.digitize(total + np.rint(rng.normal(0, noise, n)), [3, 8, 13, 18])


def test_diarem_comes_back_proved() -> None:
    X, group = diarem(400, 0.0)  # of 300 rows another card answers as well
    given: dict[str, Any] = {"coef_min": 0, "coef_max": 10, "l0_penalty": 1e-5}
    program, result = fit_card(
        make_ordinal_design(X, group), "ordinal", progress=False, time_limit=120,
        options={"node_limit": 20_000}, **given,
    )  # fmt: skip
    assert result.claim is Claim.OPTIMAL
    made = ordinal_card(program, result)
    assert made.card.points == (1, 1, 1, 2, 2, 2, 3, 10)
    assert list(map(int, made.thresholds)) == [3, 8, 13, 18]
    assert made.card.certificate["errors"] == 0
    text = made.to_text()
    for line in ("8 to 12", "≥ 18", "400 of 400 training rows", "does better: proved"):
        assert line in text
    again = OrdinalCard.from_json(made.to_json())
    assert again == made
    assert all(f"<td>{total}</td>" in made.to_html() for total in made.ranges)
    np.testing.assert_array_equal(again.predict(X), group)


def test_the_estimator_answers_with_classes() -> None:
    X, group = diarem(120, 1.0)
    names = np.array(["A", "B", "C", "D", "E"])
    model = OrdinalScoreClassifier(
        levels=list(names), coef_min=0, coef_max=4, max_terms=3, binner=None, time_limit=60,
        cost="zero_one",
    ).fit(X, names[group])  # fmt: skip
    totals = X.to_numpy() @ model.coef_[0]
    np.testing.assert_array_equal(model.decision_function(X), totals)
    answer = names[(totals[:, None] >= model.thresholds_).sum(axis=1)]
    np.testing.assert_array_equal(model.predict(X), answer)
    errors = int((answer != names[group]).sum())
    assert model.ordinal_card_.card.certificate["errors"] == errors
    # a row between two boundaries decides twice, and errs at most at one of them
    inner = int(np.isin(group, [1, 2, 3]).sum())
    assert model.result_.loss == pytest.approx(errors / (len(group) + inner), abs=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), answer)
    assert list(again.get_feature_names_out()) == list(X.columns)
    assert again.program_.statement.max_terms == 3 + 3
    page = model.report()
    assert "The class of each total" in page
    lines = re.findall(
        r'<th scope="row">(\d+)</th><td>([A-E])</td>((?:<td class="figure">\d+</td>)+)', page
    )
    found = {int(t): (g, [*map(int, re.findall(r">(\d+)<", of))]) for t, g, of in lines}
    for total in np.unique(totals):
        own = totals == total
        counts = [int((own & (group == k)).sum()) for k in range(5)]
        assert found[int(total)] == (answer[own][0], counts)
    with pytest.raises(NotApplicableError, match="'by' speak of two classes"):
        model.report(by=X["drugs"])
    with pytest.raises(OptionError, match="threshold_by"):
        clone(model).set_params(threshold_by="youden").fit(X, names[group])


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_databases_answer_with_the_class(engine: str, unit: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": unit * rng.integers(0, 9, 60), "b's": rng.integers(0, 2, 60)}).round(1)
    y = np.array(["low", "it's mid", "high"])[np.digitize(X["a"] / unit + 2 * X["b's"], [3, 6])]
    design = make_ordinal_design(X, y, levels=["low", "it's mid", "high"])
    program = ordinal(design, coef_min=0, coef_max=20)
    made = ordinal_card(program, solve(program, time_limit=60))
    statement = made.to_sql("data", keys=["row"], dialect="ansi" if engine == "sqlite" else engine)
    stored = X.assign(row=np.arange(60))
    stored.loc[0, "a"] = np.nan
    if engine == "sqlite":
        with closing(sqlite3.connect(":memory:")) as connection:
            stored.to_sql("data", connection, index=False)
            found = pd.read_sql_query(statement, connection)
    else:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect() as connection:
            connection.register("data", stored)
            found = connection.execute(statement).df()
    found = found.sort_values("row", ignore_index=True)
    assert found["prediction"].isna().tolist() == [True] + [False] * 59
    assert found["prediction"].tolist()[1:] == made.predict(X)[1:].tolist()
    assert statement.startswith("-- Scorecard\n-- high if total >= ")
    assert made.write(tmp_path / "card.sql").read_text().count("WHEN") > 4
    assert made.to_html() in made.write(tmp_path / "card.html").read_text()


@pytest.mark.filterwarnings("ignore:OrdinalScoreClassifier")
def test_the_binner_makes_bins_and_monotone_rules_hold() -> None:
    rng = np.random.default_rng(0)
    age = 5 * rng.integers(4, 16, 150)
    y = np.digitize(age + rng.normal(0, 8, 150), [40, 60])
    model = OrdinalScoreClassifier(
        constraints=[Monotone("age", "increasing")], max_terms=2, node_limit=200
    )
    model.fit(pd.DataFrame({"age": age}), y)
    assert (model.coef_ >= 0).all()
    assert model.score(pd.DataFrame({"age": age}), y) > 0.6


def test_the_command_line_fits_shows_predicts_and_verifies(tmp_path: Path) -> None:
    X, group = diarem(60, 0.5)
    names = np.array(["A", "B", "C", "D", "E"])
    table, card, proof = (tmp_path / name for name in ("table.csv", "card.json", "proof.json"))
    X.assign(group=names[group]).to_csv(table, index=False)
    asked = ("--target", "group", "--formulation", "ordinal", "--raw", "--coef-max", "3",
             "--coef-min", "0", "--max-terms", "2", "--levels", "A,B,C,D,E")  # fmt: skip
    report = json.loads(
        run("fit", table, *asked, "--json", "--out", card, "--certificate", proof).stdout
    )
    made = OrdinalCard.load(card)
    assert report["classes"] == list(names)
    assert [each["total"] for each in report["groups"]] == list(made.ranges)
    assert sum(map(sum, made.observed)) == report["n_rows"] == 60
    assert run("card", card).stdout.strip() == made.to_text()
    answers = pd.read_csv(io.StringIO(run("predict", card, table, "--scores").stdout))
    assert answers["prediction"].tolist() == made.predict(X).tolist()
    assert answers["total"].tolist() == made.score(X).tolist()
    assert "everything claimed was proved" in run("verify", proof, table).stdout
    first, *rest = answers["prediction"]
    to = next(each for each in rest if each != first)  # some row has it, so it is in reach
    way = json.loads(run("counterfactual", card, table, "--to", to, "--json").stdout)
    assert (way["answer"], way["wanted"]) == (first, to)
    assert way["ways"][0]["cost"] == pytest.approx(way["ways"][0]["bound"])
    for each in (card, proof):
        told = run("report", each, table, "--target", "group", code=2).stderr
        assert "of ordered ones 'milpscore card" in told
    refused = run("fit", table, "--target", "group", "--formulation", "ordinal", code=2)
    assert "whose order nobody knows: give --levels" in refused.output
    assert "--levels" in run("fit", table, *asked, "--positive", "A", code=2).output


@pytest.mark.parametrize(
    ("y", "levels", "words"),
    [
        (["a", "b", "c", "a"], None, "text, whose order nobody knows: give levels"),
        ([0, 1, 2, 1], [0, 1], "label 2 is none of the levels"),
        ([0, 1, 2, 1], [0, 1, 2, 3], "no row has the class 3"),
        ([0, 0, 0, 0], None, "1 class"),
        ([0, 1, np.nan, 1], None, "missing label"),
        ([0, 1], None, "4 rows but y has 2 labels"),
    ],
)
def test_labels_without_an_order_are_refused(y: Any, levels: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        make_ordinal_design(np.eye(4), y, levels=levels)


def test_odd_arguments_are_refused() -> None:
    X, c, _ = drawn(0)
    d = make_ordinal_design(X, c)
    with pytest.raises(DataError, match="part the decisions of a row"):
        compare(d, formulations=["ordinal"], cv=2, time_limit=1)
    for arguments, words in (
        ({"loss": "logistic"}, "zero_one, hinge"),
        ({"spacing": 0}, "spacing"),
        ({"spacing": 1.5}, "whole number of steps"),
        ({"coef_max": 9000}, "narrow the coefficients"),
    ):
        with pytest.raises(FormulationError, match=words):
            ordinal(d, **arguments)
    with pytest.raises(DataError, match="bin the columns"):
        make_ordinal_design(np.random.default_rng(0).normal(size=(9, 1)), np.arange(9) % 3)
    with pytest.raises(OptionError, match="cost='cubic'"):
        make_ordinal_design(X, c, cost="cubic")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="up to 20 ordered"):
        make_ordinal_design(np.arange(30)[:, None], np.arange(30))
    ordered = pd.Categorical(["low", "high", "mid"], ["low", "mid", "high"], ordered=True)
    assert make_ordinal_design(np.eye(3), pd.Series(ordered)).levels == ("low", "mid", "high")
