"""A decision chosen after the fit: held against its definition; points, risks and proof stay."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore import Scorecard, formulations
from milpscore.cli.app import app
from milpscore.core.card import Card
from milpscore.core.errors import OptionError
from milpscore.data import Binner
from milpscore.estimators import RiskScoreClassifier, SlimClassifier
from milpscore.fitting import fit_card
from milpscore.scorecard import certified_card
from milpscore.scorecard.decisions import DecisionBy
from milpscore.verify import check
from milpscore_show.report import report

RULES = ["youden", "prevalence", "cost=10:1", "cost=1:3", "net-benefit=20%", "net-benefit"]


def rows(seed: int, n: int = 80) -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.integers(0, 5, n) for name in "abc"})
    rare = X["a"] + X["b"] - X["c"] + 2 * rng.normal(size=n) > 4
    y = np.where(rare, "ill", "well")
    y[:2] = "ill", "well"
    return X, y, rng.integers(1, 4, n).astype(float)


def card_of(formulation: str, seed: int, by: str | None = None) -> tuple[Scorecard, Any]:
    """A card of any points on random rows; which ones is of no matter to the decision."""
    X, y, weight = rows(seed)
    design = Binner().fit_design(X, y, sample_weight=weight, positive="ill")
    fixed = {"scale": 1.0} if formulation == "risk_score" else {}
    program = formulations.FORMULATIONS[formulation](design, **fixed)
    rng = np.random.default_rng(seed)
    w = np.zeros(len(design.names), dtype=int)
    w[rng.choice(len(w), 3, replace=False)] = rng.choice([-2, -1, 1, 3], 3)
    result = check(program, Card(w, -2)).result()
    return certified_card(design, result, statement=program.statement, threshold_by=by), design


def shares(answered: Any, design: Any) -> tuple[float, float]:
    """The weighted shares of the positives and of the others that are answered positive."""
    hit, weight = design.y > 0, design.weight
    each = (weight[group & answered].sum() / weight[group].sum() for group in (hit, ~hit))
    return float(next(each)), float(next(each))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("formulation", ["risk_score", "slim"])
@pytest.mark.parametrize("by", RULES)
def test_the_decision_is_the_one_the_rule_defines(formulation: str, seed: int, by: str) -> None:
    card, design = card_of(formulation, seed, by)
    totals, weight, hit = card.score_design(design.X), design.weight, design.y > 0
    answered = card.rule.positive(totals)
    share = weight[hit].sum() / weight.sum()
    odds = {"cost=10:1": 1 / 11, "cost=1:3": 3 / 4, "net-benefit=20%": 0.2}.get(by, share)
    if by == "youden":

        def worth(positive: Any) -> float:
            true, false = shares(positive, design)
            return true - false
    elif formulation == "risk_score":
        assert np.array_equal(answered, card.risks(totals) >= odds - 1e-9)
        return
    else:

        def worth(positive: Any) -> float:
            missed, alarms = weight[hit & ~positive].sum(), weight[~hit & positive].sum()
            return -float((1 - odds) * missed + odds * alarms)

    cuts = [*np.unique(totals), np.inf]
    assert worth(answered) == pytest.approx(max(worth(totals >= cut) for cut in cuts))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("formulation", ["risk_score", "slim"])
def test_points_risks_and_proof_stay(formulation: str, seed: int) -> None:
    plain, design = card_of(formulation, seed)
    chosen, _ = card_of(formulation, seed, "cost=30:1")
    assert chosen.threshold != plain.threshold
    assert chosen.card == plain.card
    assert chosen.certificate["objective"] == plain.certificate["objective"]
    totals = chosen.score_design(design.X)
    assert np.array_equal(totals, plain.score_design(design.X))
    if formulation == "risk_score":
        assert np.array_equal(chosen.risks(totals), plain.risks(totals))
        assert [line[0] for line in chosen.risk_lines] == [line[0] for line in plain.risk_lines]
    wrong = chosen.rule.positive(totals) != (design.y > 0)
    assert chosen.certificate["errors"] == wrong.sum()
    told = chosen.certificate["decision"]
    true, false = shares(chosen.rule.positive(totals), design)
    assert (told["sensitivity"], told["specificity"]) == pytest.approx((true, 1 - false))
    said = f"Sensitivity {true:.1%}, specificity {1 - false:.1%} on the training rows."
    assert said in chosen.to_text()
    assert said.replace("%", "\\%") in chosen.to_latex()
    assert said in chosen.to_html()
    said = f"what is claimed and proved speaks of total ≥ {plain.threshold}".replace("-", "−")
    assert (said in chosen.to_text()) == (formulation == "slim")
    assert Scorecard.from_json(chosen.to_json()) == chosen


@pytest.mark.parametrize("seed", range(3))
def test_without_a_rule_a_high_risk_is_one_of_at_least_the_share_of_positives(seed: int) -> None:
    card, design = card_of("risk_score", seed)
    assert card == card_of("risk_score", seed, "prevalence")[0]
    share = np.average(design.y > 0, weights=design.weight)
    totals = card.score_design(design.X)
    assert np.array_equal(card.rule.positive(totals), card.risks(totals) >= share - 1e-9)
    assert "otherwise low risk" in card.to_text() or "high risk, as" in card.to_text()
    assert "high risk is answered by ill, low risk by well." in card.to_text()


def test_a_card_without_risks_or_points_keeps_the_decision_of_its_fit() -> None:
    X, y, weight = rows(2)
    design = Binner().fit_design(X, y, sample_weight=weight, positive="ill")
    for name, terms in (("slim", 2), ("risk_score", 0)):
        program, result = fit_card(design, name, heuristic=True, max_terms=terms)
        card = certified_card(design, result, statement=program.statement)
        assert result.card is not None
        assert card.fitted_threshold is None
        assert "Decision chosen" not in card.to_text()
        true, false = shares(card.rule.positive(card.score_design(design.X)), design)
        assert f"Sensitivity {true:.1%}, specificity {1 - false:.1%}" in card.to_text()


def test_a_file_written_without_figures_keeps_its_decision() -> None:
    card, design = card_of("risk_score", 1, "net-benefit=50%")
    plain = {k: v for k, v in card.certificate.items() if k != "decision"}
    earlier = replace(card, certificate=plain, fitted_threshold=None)
    read = Scorecard.from_json(earlier.to_json())
    assert read == earlier
    assert "Sensitivity" not in read.to_text()
    totals = card.score_design(design.X)
    assert np.array_equal(read.rule.positive(totals), card.risks(totals) >= 0.5)


def test_the_table_the_file_and_the_database_decide_alike() -> None:
    card, _ = card_of("risk_score", 1, "cost=30:1")
    X, y, _ = rows(1)
    assert not np.array_equal(card.predict(X) == "ill", card.predict_proba(X)[:, 1] > 0.5)
    with closing(sqlite3.connect(":memory:")) as base:
        X.to_sql("data", base, index=False)
        base.create_function("EXP", 1, np.exp)
        total, label, risk = zip(*base.execute(card.to_sql()), strict=True)
    np.testing.assert_array_equal(total, card.score(X))
    np.testing.assert_array_equal(label, card.predict(X))
    np.testing.assert_allclose(risk, card.risks(card.score(X)), rtol=1e-12)
    assert ((card.decision_function(X) > 0) == (card.predict(X) == "ill")).all()
    assert "Decision chosen by a cost of 30" in report(card, X, y)


@pytest.mark.filterwarnings("ignore:.*the card scores 'well', the last label")
@pytest.mark.parametrize("kind", [RiskScoreClassifier, SlimClassifier])
def test_an_estimator_decides_by_its_parameter(kind: Any) -> None:
    X, y, _ = rows(2)
    plain = kind(max_terms=2, heuristic=True).fit(X, y)
    chosen = kind(max_terms=2, heuristic=True, threshold_by="cost=50:1").fit(X, y)
    assert np.array_equal(plain.coef_, chosen.coef_)
    assert (chosen.predict(X) == "well").sum() > (plain.predict(X) == "well").sum()
    assert np.array_equal(chosen.predict(X), chosen.scorecard_.predict(X))
    scores = chosen.binner_.transform(X) @ chosen.coef_[0] + chosen.intercept_[0]
    assert np.array_equal(np.asarray(scores) >= 0, chosen.predict(X) == "well")
    if kind is RiskScoreClassifier:
        assert np.array_equal(plain.predict_proba(X), chosen.predict_proba(X))
    with pytest.raises(OptionError, match="use youden, prevalence, cost=10:1"):
        kind(threshold_by="gini").fit(X, y)


@pytest.mark.parametrize(
    "given", ["cost", "cost=1", "cost=0:1", "cost=-1:2", "cost=inf:1", "net-benefit=0",
              "net-benefit=100%", "net-benefit=nan", "youden=1", "", "0.5"],
)  # fmt: skip
def test_other_rules_are_refused(given: str) -> None:
    with pytest.raises(OptionError, match="threshold_by"):
        DecisionBy.of(given)


def test_the_command_line_says_which_risk_the_decision_stands_for(tmp_path: Path) -> None:
    X, y, _ = rows(3)
    X.assign(state=y).to_csv(tmp_path / "t.csv", index=False)
    saved = tmp_path / "card.json"
    asked = [str(tmp_path / "t.csv"), "--target", "state", "--positive", "ill", "--heuristic"]
    done = CliRunner().invoke(
        app, ["fit", *asked, "--threshold-by", "net-benefit=5%", "--out", str(saved)]
    )
    assert done.exit_code == 0, done.output
    card = Scorecard.load(saved)
    reached = card.risks(np.array([float(card.threshold)]))[0]
    assert 0.05 <= reached < 0.5
    assert f"high risk ({reached:.1%} or more) if total" in done.stdout
    assert "of acting from a risk of 0.05" in done.stdout
    refused = CliRunner().invoke(app, ["fit", *asked, "--threshold-by", "gini"])
    assert refused.exit_code == 2
    assert "--threshold-by gini; use youden, prevalence, cost=10:1 (of" in refused.stderr


@pytest.mark.filterwarnings("ignore:.*the card scores 'well', the last label")
def test_a_card_that_answers_all_rows_alike_is_noticed(tmp_path: Path) -> None:
    """Few are ill, and nothing tells them: points and risks, but no risk of one half."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.r_[np.zeros(150), np.ones(50)].astype(int), "b": range(200)})
    y = np.where(np.arange(200) % 50 < 2, "ill", "well")
    y[150:160] = "ill"
    X["b"] = rng.integers(0, 4, 200)
    with pytest.warns(UserWarning, match="'well' for every row, though .*threshold_by='youden'"):
        RiskScoreClassifier(max_terms=1, heuristic=True, threshold_by="net-benefit=50%").fit(X, y)
    RiskScoreClassifier(max_terms=1, heuristic=True).fit(X, y)
    X.assign(state=y).to_csv(tmp_path / "t.csv", index=False)
    asked = [
        "fit",
        str(tmp_path / "t.csv"),
        "--target",
        "state",
        "--positive",
        "ill",
        "--heuristic",
    ]
    half = ["--threshold-by", "net-benefit=50%"]
    done = CliRunner().invoke(app, [*asked, "--max-terms", "1", *half])
    assert "for every row, though 8.0% of them are 'ill': choose from" in done.stderr
    assert "by --threshold-by youden, or let" in done.stderr
    assert "never high risk, as no total reaches" in done.stdout
    empty = CliRunner().invoke(app, [*asked, "--max-terms", "0"])
    assert "as it has no points: let both classes weigh the same by --class-weight balanced" in (
        empty.stderr
    )
