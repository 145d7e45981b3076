"""A card as a form: what a pencil adds up from its lines is what the program says."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from typer.testing import CliRunner

from milpscore import Scorecard, formulations
from milpscore.certificate import certify
from milpscore.cli.app import app
from milpscore.constraints import AtMost, Range
from milpscore.core.card import Card
from milpscore.core.design import Column, Design
from milpscore.core.errors import DataError, OptionError
from milpscore.data import Binner, make_design
from milpscore.estimators import RiskScoreClassifier
from milpscore.fitting import fit_card
from milpscore.losses import Logistic, RiskLoss
from milpscore.scorecard import RiskScale, certified_card
from milpscore.scorecard.certified import risk_scale, with_coprime_points, with_least_zero
from milpscore.scorecard.rendering import attainable_totals
from milpscore_show.report import report


def by_pencil(card: Scorecard, row: pd.Series) -> int:
    """The sum of the points of every printed line that applies."""
    total = 0
    for lines in card.lines:
        value = row[lines.name]
        for line in lines.printed:
            if pd.isna(value):
                applies = line.kind == "missing"
            elif line.kind == "interval":
                applies = line.lower <= value < line.upper
            elif line.kind == "flag":
                applies = value == line.lower
            else:
                applies = line.kind == "category" and str(value) in line.categories
            total += line.points * applies
    return total


def mixed(seed: int) -> tuple[pd.DataFrame, Design]:
    """Measurements, a 0/1 column and text with gaps, and a design of cuts, bins and categories."""
    rng = np.random.default_rng(seed)
    n = 60
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n).astype(float),
            "dose": rng.integers(0, 40, n) / 4,
            "smoker": rng.integers(0, 2, n),
            "group": rng.choice(["a", "b", "c"], n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    kinds = ["cumulative", "onehot"]
    y = rng.integers(0, 2, n)
    binned = Binner(4, encoding=kinds[seed % 2], missing="bin").fit_design(
        frame[["age", "dose", "group"]], y
    )
    flag = Column("smoker", "smoker")
    X = np.column_stack([binned.X, frame["smoker"]])
    return frame, make_design(X, y, columns=(*binned.columns, flag), blocks=binned.blocks)


def random_card(design: Design, seed: int, reach: int = 5) -> Scorecard:
    rng = np.random.default_rng(seed)
    points = rng.integers(-reach, reach + 1, design.shape[1]) * (rng.random(design.shape[1]) < 0.6)
    threshold = Fraction(int(rng.integers(-4, 9)), int(rng.integers(1, 3)))
    return Scorecard.from_card(Card(points, -threshold), design)


@pytest.mark.parametrize("seed", range(20))
def test_least_points_of_zero_answer_alike(seed: int) -> None:
    frame, design = mixed(seed)
    raw = replace(random_card(design, seed), risk=RiskScale(scale=1.7))
    reach = 5 if seed % 3 else 20
    statement = formulations.slim(design, coef_min=-20, coef_max=reach, max_terms=None).statement
    card = with_least_zero(raw, statement)
    np.testing.assert_array_equal(card.predict(frame), raw.predict(frame))
    np.testing.assert_allclose(card.predict_proba(frame), raw.predict_proba(frame), rtol=1e-12)
    np.testing.assert_allclose(
        card.decision_function(frame), raw.decision_function(frame), atol=1e-9
    )
    np.testing.assert_array_equal(card.score_design(design.X), card.score(frame))
    assert card.card == raw.card
    assert Scorecard.from_json(card.to_json()) == card
    for lines in card.lines:
        points = [row.points for row in lines.everything]
        assert min(points) == 0 or max(points) - min(points) > reach
    assert any(card.base_points.values()) or seed % 3


@pytest.mark.parametrize("seed", range(20))
def test_points_without_their_common_divisor_answer_alike(seed: int) -> None:
    frame, design = mixed(seed)
    found, factor = random_card(design, seed, reach=3).card, 2 + seed % 3
    # a scale at its lower end: half of it is no card of the statement's
    fitted = Card(factor * found.coefficients, factor * found.intercept, Fraction("1.7"))
    common = int(np.gcd.reduce(fitted.coefficients))
    statement = formulations.risk_score(
        design, coef_min=-20, coef_max=20, scale=(1.7, 9.0), max_terms=None
    ).statement
    raw = replace(Scorecard.from_card(fitted, design), risk=RiskScale(scale=1.7))
    shown = with_coprime_points(with_least_zero(raw, statement), statement)
    assert shown.divisor == common
    assert math.gcd(*shown.points) == 1
    assert shown.card == raw.card
    shown = replace(shown, risk=RiskScale(scale=1.7 / common))
    np.testing.assert_array_equal(shown.predict(frame), raw.predict(frame))
    np.testing.assert_allclose(shown.predict_proba(frame), raw.predict_proba(frame), rtol=1e-9)
    assert Scorecard.from_json(shown.to_json()) == shown
    # ranges, sets and a fixed scale speak of the points as they are
    least = {"coef_min": {design.names[j]: int(fitted.coefficients[j]) for j in [0]}}
    sets = {"coef_sets": {design.names[0]: sorted({0, int(fitted.coefficients[0])})}}
    for limits in (least, sets, {"scale": 1.7}):
        kept = formulations.risk_score(
            design, **{"coef_max": 20, "scale": (1.7, 9.0), "max_terms": None, **limits}
        ).statement
        allowed = kept.allows(fitted.coefficients[None, :] // common)[0] and not limits.get("scale")
        assert (with_coprime_points(raw, kept).divisor == common) == allowed


def test_a_fitted_card_prints_points_without_their_common_divisor() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (80, 4)).astype(float)
    y = (X @ [1, 1, 2, 0] >= 2).astype(int)
    model = RiskScoreClassifier(heuristic=True, max_terms=3, scale=(4.0, 50.0)).fit(X, y)
    assert model.result_.card is not None
    divisor = int(np.gcd.reduce(model.result_.card.coefficients))
    assert divisor > 1
    np.testing.assert_array_equal(divisor * model.coef_[0], model.result_.card.coefficients)
    card = model.scorecard_
    assert (card.divisor, card.points) == (divisor, tuple(model.coef_[0].tolist()))
    assert replace(card.card, scale=model.result_.card.scale) == model.result_.card
    totals = card.score(X)
    np.testing.assert_allclose(
        X @ model.coef_[0] + model.intercept_, totals - float(card.threshold)
    )
    risks = model.result_.card.totals(X) + float(model.result_.card.intercept)
    expected = 1 / (1 + np.exp(-risks / float(model.result_.card.scale)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-9)
    report(card, X, y, certificate=certify(model.program_, model.result_))


@pytest.mark.parametrize("seed", range(20))
def test_a_pencil_a_program_and_a_database_find_the_same_totals(seed: int) -> None:
    frame, design = mixed(seed)
    statement = formulations.slim(design, coef_min=-9, coef_max=30, max_terms=None).statement
    for card in (random_card(design, seed), with_least_zero(random_card(design, seed), statement)):
        totals = card.score(frame)
        assert [by_pencil(card, row) for _, row in frame.iterrows()] == totals.tolist()
        with closing(sqlite3.connect(":memory:")) as base:
            frame.to_sql("data", base, index=False)
            answers = pd.read_sql(card.to_sql(), base)
        assert answers["total"].tolist() == totals.tolist()
        assert answers["prediction"].tolist() == card.predict(frame).tolist()


def test_nothing_is_shifted_where_the_statement_speaks_of_points() -> None:
    _, design = mixed(0)
    raw = random_card(design, 3)
    assert min(row.points for lines in raw.lines for row in lines.everything) < 0
    within = {"coef_min": -30, "coef_max": 30, "max_terms": None}
    ruled = [AtMost(40, columns=list(design.names))], [Range("smoker", -2, 2)]
    free, used, ranged = (
        formulations.slim(design, constraints=rules, **within).statement for rules in ((), *ruled)
    )
    narrow = formulations.slim(design, coef_max=0, coef_min=-5, max_terms=None).statement
    assert with_least_zero(raw, free).base_points == with_least_zero(raw, used).base_points != {}
    assert with_least_zero(raw, ranged) == raw
    assert not with_least_zero(raw, narrow).base_points


def test_a_column_of_zeros_and_ones_is_no_measurement() -> None:
    X = pd.DataFrame({"smoker": [0, 1, 1, 0], "age >= 40": [1, 0, 1, 0], "weight": [1, 0, 2, 1]})
    design = make_design(X, [0, 1, 1, 0])
    card = Scorecard.from_card(Card(np.array([2, 1, 3]), Fraction(-2)), design)
    shown = [row.condition for rows in card.rows for row in rows]
    assert shown == ["= 1", "yes", "per unit"]
    odd = pd.DataFrame({"smoker": [0, 2], "age >= 40": [1, 1], "weight": [1, 1]})
    with pytest.raises(DataError, match=r"'smoker' is 2 in row\(s\) 1 \(counted from 0\)"):
        card.score(odd)
    assert card.score(odd, unseen="zero").tolist() == [4, 4]


def test_what_is_missing_is_stated_in_every_feature_that_foresees_it() -> None:
    columns = (
        Column("age >= 40", "age", "step", lower=40),
        Column("age >= 60", "age", "step", lower=60),
        Column("age missing", "age", "missing"),
        Column("b", "b", "step", lower=1),
    )
    card = Scorecard(columns, (2, 1, 0, 4), 3)
    shown = [[(row.condition, row.points) for row in rows] for rows in card.rows]
    assert shown == [[("40 to < 60", 2), ("≥ 60", 3), ("missing", 0)], [("≥ 1", 4)]]


def test_the_users_words_stand_in_place_of_names_and_conditions() -> None:
    columns = (
        Column("a", "crp_mg_l", "step", lower=10),
        Column("b", "sex", "category", category="f"),
        Column("c", "sex", "category", category="m"),
        Column("d", "dose"),
    )
    words = {
        "crp_mg_l": {"name": "C-reactive protein", "unit": "mg/l"},
        "sex": {"name": "Sex", "lines": {"=m": "male"}},
        "dose": {"unit": "mg"},
    }
    card = Scorecard(columns, (2, 0, 1, 1), 3, words=words, outcome="Sepsis", title="Score")
    shown = [(row.feature, row.condition) for rows in card.rows for row in rows]
    assert shown == [("C-reactive protein", "≥ 10 mg/l"), ("Sex", "male"), ("dose", "per mg")]
    for text in (card.to_text(), card.to_html(), card.to_markdown(), card.to_latex()):
        assert "C-reactive protein" in text
        assert "Sepsis" in text
    again = Scorecard.from_json(card.to_json())
    assert again == card
    with pytest.raises(DataError, match="did you mean 'crp_mg_l'"):
        replace(card, words={"crp_mgl": "CRP"})
    with pytest.raises(DataError, match="'name', 'unit' and 'column'"):
        replace(card, words={"dose": {"units": "mg"}})


def test_many_categories_are_told_by_the_few_others() -> None:
    """One town of twelve has points: eleven names say less than that one."""
    towns = [f"t{k}" for k in range(12)]
    town = Column("town = t0", "town", "category", category="t0", others=tuple(towns[1:]))
    card = Scorecard((town,), (-5,), 3, base_points={"town": 5})
    assert [[(row.condition, row.points) for row in rows] for rows in card.rows] == [
        [("other than t0", 5)]
    ]
    assert "other than t0" in Scorecard.from_json(card.to_json()).to_text()
    assert card.score(pd.DataFrame({"town": towns})).tolist() == [0, *[5] * 11]
    block = tuple(Column(f"town = {name}", "town", "category", category=name) for name in towns)
    whole = Scorecard(block, (2, 2, *[1] * 10), 3, blocks=(tuple(range(12)),))
    assert [row.condition for row in whole.rows[0]] == ["= t0 or t1", "other than t0 or t1"]
    few = Scorecard(block[:9], (2, *[1] * 8), 3, blocks=(tuple(range(9)),))
    assert few.rows[0][1].condition == "= t1, t2, t3, t4, t5, t6, t7 or t8"


def test_a_decision_that_cannot_fall_says_so() -> None:
    columns = (Column("a", "a", "step", lower=1), Column("b", "b", "step", lower=1))
    card = Scorecard(columns, (2, 3), 8)
    assert "Decision: never 1, as no total reaches 8." in card.to_text()
    assert "never <strong>1</strong>, as no total reaches 8." in card.to_html()
    always = replace(card, threshold=Fraction(-1))
    assert "Decision: always 1, as every total reaches −1." in always.to_text()
    risky = replace(card, threshold=Fraction(7, 2), risk=RiskScale())
    assert "high risk (62.2% or more) if total ≥ 4, otherwise low risk." in risky.to_text()


def test_the_proof_speaks_of_errors_and_names_the_rules() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 3))
    y = (X.sum(axis=1) + rng.integers(0, 2, 40) >= 2).astype(int)
    design = make_design(X, y)
    rules = [AtMost(1, columns=["x0", "x1"]), Range("x2", 0, 3)]
    program, result = fit_card(
        design, "slim", max_terms=2, l0_penalty=0.0, constraints=rules, progress=False
    )
    card = certified_card(design, result, statement=program.statement)
    names = [each.name for each in program.statement.constraints]
    said = card.to_text()
    wrong = card.certificate["errors"]
    kind = "at most 2 terms, points from −5 to 5 (some columns narrower)"
    assert f"proved: no card with {kind} and the rules “{names[0]}; {names[1]}”" in said
    assert f"misclassifies fewer than {wrong} of 40 (bound: " in said
    # the figure is the bound's: a lower one proves less, and unequal rows are not counted
    weaker = {**card.certificate, "bound": (wrong - 1.5) / 40, "claim": "gap"}
    assert f"fewer than {wrong - 1} of 40" in replace(card, certificate=weaker).to_text()
    unequal = {**card.certificate, "equal_rows": False}
    assert "misclassifies" not in replace(card, certificate=unequal).to_text()


@pytest.mark.parametrize("seed", range(6))
def test_every_total_that_can_occur_is_listed_with_its_risk(seed: int) -> None:
    frame, design = mixed(seed)
    raw = random_card(design, seed, reach=2)
    card = replace(raw, risk=risk_scale(raw, design, RiskLoss(Logistic(), 2.0)))
    heads, risks, _, rows = card.risk_lines
    listed = [int(text.replace("−", "-")) for text in heads[1:]]
    assert listed == attainable_totals(card)
    for total, risk in zip(listed, risks[1:], strict=True):
        true = card.risks(np.array([float(total)]))[0]
        assert risk in (f"{true:.1%}", "< 0.1%", "> 99.9%")
    counts = pd.Series(card.score(frame)).value_counts()
    assert [int(text) for text in rows[1:]] == [counts.get(float(t), 0) for t in listed]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_holds_every_word_inside_its_page(theme: str) -> None:
    _, design = mixed(2)
    raw = random_card(design, 2)
    name = "a name of $many$ words & <signs> " + "W" * 90
    card = replace(
        raw, risk=risk_scale(raw, design, RiskLoss(Logistic(), 2.0)), title=name,
        words={"age": {"name": name, "unit": "years"}}, certificate={"claim": "feasible"},
    )  # fmt: skip
    figure = card.figure(theme)
    renderer = FigureCanvasAgg(figure).get_renderer()
    said = "".join(text.get_text() for text in figure.texts)
    for part in ("Total", "Points", *card.risk_lines[0][1:], "Claim:feasible;"):
        assert part in said.replace(" ", "") or part in said
    page = figure.bbox
    places = [text.get_window_extent(renderer) for text in figure.texts]
    for place in places:
        assert page.x0 <= place.x0
        assert place.x1 <= page.x1 + 1
        assert page.y0 <= place.y0
        assert place.y1 <= page.y1
    for k, one in enumerate(places):
        assert not any(one.shrunk(0.98, 0.6).overlaps(other) for other in places[k + 1 :])


KINDS = ("txt", "md", "tex", "html", "sql", "json", "png", "svg", "pdf")


def test_a_card_is_written_in_the_form_its_name_asks_for(tmp_path: Path) -> None:
    columns = (Column("a", "a", "step", lower=1),)
    card = Scorecard(columns, (2,), 1, title="T & co", words={"a": "<A>"})
    for kind in KINDS:
        first = card.write(tmp_path / f"card.{kind}").read_bytes()
        assert len(first) > 100
        assert card.write(tmp_path / f"again.{kind}").read_bytes() == first
    assert "T &amp; co" in (tmp_path / "card.html").read_text()
    assert "<A>" not in (tmp_path / "card.html").read_text()
    assert Scorecard.load(tmp_path / "card.json") == card
    with pytest.raises(OptionError, match=r"must end in \.txt"):
        card.write(tmp_path / "card.doc")
    with pytest.raises(OptionError, match="light"):
        card.figure("blue")


JSON_WORDS = (
    '{"age": {"name": "Age", "unit": "years", "lines": {"< 40": "young"}}, "smoker": "Smokes"}'
)
TOML_WORDS = """
smoker = "Smokes"
[age]
name = "Age"
unit = "years"
lines = { "< 40" = "young" }
"""
CSV_WORDS = """feature,name,unit,line,text
age,Age,years,,
age,,,< 40,young
smoker,Smokes,,,
"""


@pytest.mark.parametrize(
    ("name", "text"), [("w.json", JSON_WORDS), ("w.toml", TOML_WORDS), ("w.csv", CSV_WORDS)]
)
def test_words_come_from_any_kind_of_file(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    columns = (Column("a", "age", "step", lower=40), Column("s", "smoker"))
    card = Scorecard(columns, (2, 1), 1, flags=(1,)).with_words(tmp_path / name, outcome="ill")
    shown = [(row.feature, row.condition) for rows in card.rows for row in rows]
    assert shown == [("Age", "≥ 40 years"), ("Smokes", "= 1")]
    assert card.unused_words == ("age: < 40",)  # the line "< 40 years" is another
    (tmp_path / name).write_text("{")
    with pytest.raises(DataError, match="feature,name,unit,column,line,text"):
        card.with_words(tmp_path / name)


def command(*arguments: object, code: int = 0) -> Any:
    """What a command answers."""
    answer = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert answer.exit_code == code, answer.output
    return answer


def test_the_command_line_writes_cards_in_the_readers_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"smoker": rng.integers(0, 2, 40), "old": rng.integers(0, 2, 40)})
    frame.assign(y=frame["smoker"] | frame["old"]).to_csv(tmp_path / "d.csv", index=False)
    words = tmp_path / "words.json"
    words.write_text('{"smoker": {"name": "Smokes", "lines": {"= 1": "daily", "= 7": "never"}}}')
    saved = tmp_path / "card.json"
    answer = command(
        "fit", tmp_path / "d.csv", "--target", "y", "--formulation", "slim", "--title", "Risk",
        "--outcome", "ill", "--labels", words, "--out", saved,
    )  # fmt: skip
    assert answer.stdout.startswith("Risk\n")
    for part in ("Smokes", "daily", "Decision: ill if total ≥"):
        assert part in answer.stdout
    assert "no line for the labels 'smoker: = 7'" in answer.stderr
    assert command("card", saved).stdout.startswith("Risk\n")
    assert "Decision: sick if" in command("card", saved, "--outcome", "sick").stdout
    voted = command("card", saved, "--power").stdout
    assert "Positive where any of two holds: " in voted
    assert ["old", "0.5", "0.5"] in [line.split() for line in voted.splitlines()]
    for kind in ("svg", "html", "json"):
        command("card", saved, "--out", tmp_path / f"out.{kind}", "--dark", "--title", "Other")
    assert Scorecard.load(tmp_path / "out.json").title == "Other"
    words.write_text('{"smokr": "Smokes"}')
    wrong = ("--target", "y", "--labels", words)
    assert "did you mean 'smoker'" in command("fit", tmp_path / "d.csv", *wrong, code=2).stderr
    assert "must end in .txt" in command("card", saved, "--out", tmp_path / "x.doc", code=2).stderr
