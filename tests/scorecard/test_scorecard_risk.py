"""Risks on a card: what a total means, which totals are printed, and that nothing is lost."""

from __future__ import annotations

import json
import math
import sqlite3
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from designs import design

from milpscore.core.design import CellRules, Column
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.data import Binner, make_design
from milpscore.fitting import fit_card
from milpscore.losses import Hinge, Logistic, RiskLoss, Squared
from milpscore.losses.kinds import link_of
from milpscore.scorecard import RiskScale, Scorecard, calibration_table, certified_card
from milpscore.scorecard.certified import risk_scale
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import attainable_totals
from milpscore.scorecard.risks import wilson


def sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-np.asarray(z, dtype=float)))


def numeric(points: list[int], threshold: Any = 0, step: Any = 1, **more: Any) -> Scorecard:
    columns = tuple(Column(f"x{j}", f"x{j}") for j in range(len(points)))
    return Scorecard(columns, tuple(points), Fraction(threshold), step=step, **more)


def with_risks(
    card: Scorecard, X: Any, y: Any, scale: float = 1.0, weight: Any = None
) -> Scorecard:
    made = design(X, y, weight)
    return replace(card, risk=risk_scale(card, made, RiskLoss(Logistic(), scale)))


def cells(card: Scorecard) -> dict[str, tuple[str, ...]]:
    return {line[0]: line[1:] for line in card.risk_lines}


@pytest.fixture(scope="module")
def fitted() -> tuple[pd.DataFrame, Any, Scorecard]:
    """A binned card with real rows behind it."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"age": rng.integers(20, 80, 300), "bmi": rng.integers(18, 40, 300)})
    y = np.where(rng.random(300) < sigmoid((X["age"] - 50) / 15 + (X["bmi"] - 29) / 5), 1, 0)
    made = Binner(4, encoding="onehot").fit_design(X, y)
    program, result = fit_card(
        made, "risk_score", max_terms=4, heuristic=True, scale=2.0, time_limit=300
    )
    return X, y, certified_card(made, result, "Ill <or> not", statement=program.statement)


# ------------------------------------------------------------------ what a total means


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
def test_risks_are_the_logistic_function_of_the_distance(scale: float) -> None:
    card = numeric([1], 3, risk=RiskScale(scale=scale))
    totals = np.arange(-20.0, 25.0)
    np.testing.assert_allclose(card.risks(totals), sigmoid((totals - 3) / scale), rtol=1e-12)


def test_probit_risks_are_the_normal_distribution_function() -> None:
    card = numeric([1], 0, risk=RiskScale(link="probit", scale=2.0))
    found = card.risks(np.array([-4.0, 0.0, 2.0]))
    expected = [0.5 * math.erfc(z / math.sqrt(2)) for z in (2.0, 0.0, -1.0)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("step", [1, "1/10", None])
def test_the_more_probable_class_is_the_answer(step: Any) -> None:
    card = numeric([1], Fraction(3, 10), None if step is None else Fraction(step))
    card = replace(card, risk=RiskScale(scale=2.0, unit=card.step))
    X = np.array([[0.3], [0.1 + 0.2], [0.2999], [-1.0], [5.0], [0.3 - 1e-12]])
    chances = card.predict_proba(X)
    assert np.array_equal(np.argmax(chances, axis=1), card.predict(X))
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert chances[0, 1] == np.nextafter(0.5, 1.0)


def test_extreme_totals_do_not_overflow() -> None:
    card = numeric([1], 0, risk=RiskScale())
    with np.errstate(all="raise", under="ignore"):
        assert card.risks(np.array([-1e6, 1e6])).tolist() == [0.0, 1.0]


def test_a_card_that_only_decides_has_no_risks() -> None:
    card = numeric([1])
    with pytest.raises(NotApplicableError, match="logistic"):
        card.risks(np.zeros(1))
    with pytest.raises(NotApplicableError, match="risk score"):
        card.predict_proba(np.zeros((1, 1)))
    assert card.risk_lines == ()
    assert "Risk" not in card.to_text()
    assert '"risk"' not in card.to_sql()


def test_only_likelihoods_of_two_classes_have_links() -> None:
    assert link_of("logistic") == link_of(Logistic()) == link_of(RiskLoss(Logistic(), 2.0))
    assert link_of("probit") == "probit"
    assert [link_of(x) for x in ("poisson", "squared_hinge", Squared(), Hinge(), None)] == [
        None
    ] * 5
    made = design([[0], [1]], [-1, 1])
    assert risk_scale(numeric([1]), made, RiskLoss(Squared(), 1.0)) is None


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"link": "linear"}, "unknown link"),
        ({"scale": 0.0}, "scale"),
        ({"scale": math.inf}, "scale"),
        ({"edges": (1, 1)}, "ascend"),
        ({"unit": 0}, "unit"),
        ({"edges": (1,), "rows": (3,)}, "2 groups"),
        ({"shares": (0.5, 0.5)}, "1 groups"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        RiskScale(**parts)


# ------------------------------------------------------------------ which totals are printed


def test_every_total_between_the_extremes_has_a_column() -> None:
    X, y = [[-2], [-2], [0], [0], [0], [2]], [-1, 1, -1, -1, 1, 1]
    card = with_risks(numeric([1], 1), X, y)
    found = cells(card)
    assert found["Total"] == ("≤ −2", "−1", "0", "1", "≥ 2")
    assert found["Risk"] == ("≤ 4.7%", "11.9%", "26.9%", "50.0%", "≥ 73.1%")
    assert found["Observed"] == ("50.0%", "–", "33.3%", "–", "100.0%")
    assert found["Rows"] == ("2", "0", "3", "0", "1")


def test_totals_no_row_can_exceed_need_no_signs() -> None:
    columns = (
        Column("a < 1", "a", "interval", upper=1.0),
        Column("a >= 1", "a", "interval", lower=1.0),
        Column("b", "b", "category", category="yes"),
    )
    card = Scorecard(columns, (-2, 1, 1), Fraction(1), blocks=((0, 1),))
    assert attainable_totals(card) == [-2, -1, 1, 2]
    X = [[1, 0, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1]]
    card = with_risks(card, X, [-1, 1, 1, -1])
    assert cells(card)["Total"] == ("−2", "−1", "1", "2")
    assert cells(card)["Risk"][0] == "4.7%"


def test_steps_add_up_to_what_can_be_attained() -> None:
    columns = tuple(Column(f"a >= {k}", "a", "step", lower=float(k)) for k in (3, 1, 2))
    card = Scorecard(columns, (-4, 2, 3), Fraction(1))
    assert attainable_totals(card) == [0, 1, 2, 5]  # 2, 2 + 3, 2 + 3 - 4
    assert attainable_totals(numeric([1, 0])) is None
    assert attainable_totals(Scorecard(columns, (0, 0, 0), Fraction(0))) == [0]


def test_points_with_a_common_divisor_skip_totals() -> None:
    X, y = [[0, 0], [1, 0], [1, 1], [0, 1]], [-1, 1, 1, -1]
    card = with_risks(numeric([4, 2], 3), X, y, scale=2.0)
    assert cells(card)["Total"] == ("≤ 0", "2", "4", "≥ 6")
    tenths = with_risks(numeric([3], "3/10", Fraction(1, 10)), [[0.1], [0.2], [0.3]], [-1, 1, 1])
    assert cells(tenths)["Total"] == ("≤ 0.3", "0.6", "≥ 0.9")


@pytest.mark.parametrize("step", [Fraction(1), None])
@pytest.mark.parametrize("scale", [0.01, 1.0, 40.0, 1e4])
@pytest.mark.parametrize("threshold", [0, "17/3", -900, 900])
def test_many_totals_are_put_into_few_groups(step: Any, scale: float, threshold: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-500, 500, (400, 1)) if step else rng.normal(0, 200, (400, 1))
    y = np.where(rng.random(400) < 0.5, 1, -1)
    card = with_risks(numeric([1], threshold, step), X, y, scale)
    assert card.risk is not None
    found = cells(card)
    assert 2 <= len(found["Total"]) <= POLICY.most_groups
    assert sum(map(int, found["Rows"])) == 400
    # each row lies in the group whose ends hold its total
    edges = [-math.inf, *map(float, card.risk.edges), math.inf]
    totals = X[:, 0].astype(float)
    inside = [(totals >= a) & (totals < b) for a, b in pairwise(edges)]
    assert [int(m.sum()) for m in inside] == [int(rows) for rows in found["Rows"]]
    for m, share in zip(inside, card.risk.shares, strict=True):
        assert share == (pytest.approx((y[m] == 1).mean()) if m.any() else None)
    if step and -500 < float(card.threshold) < 500:  # no group mixes both answers
        cut = math.ceil(card.threshold)
        assert cut in [int(e) for e in card.risk.edges]


def test_a_risk_is_never_printed_as_a_certainty() -> None:
    X = [[k] for k in range(-5, 6)]
    y = [-1] * 5 + [1] * 6
    text = " ".join(cells(with_risks(numeric([1]), X, y, scale=0.2))["Risk"])
    assert "< 0.1%" in text
    assert "> 99.9%" in text
    assert " 0.0%" not in text
    assert "100.0%" not in text


def test_shares_are_weighted_and_rows_of_no_weight_left_out() -> None:
    X, y, weight = [[0], [0], [1], [1], [9]], [-1, 1, 1, -1, 1], [1, 3, 1, 1, 0]
    card = with_risks(numeric([1], 1), X, y, weight=weight)
    assert cells(card)["Total"] == ("≤ 0", "≥ 1")
    assert cells(card)["Observed"] == ("75.0%", "50.0%")
    assert cells(card)["Rows"] == ("2", "2")


def test_an_empty_card_has_one_risk() -> None:
    card = with_risks(numeric([0, 0], 1), [[0, 1], [1, 1]], [-1, 1])
    assert cells(card)["Total"] == ("0",)
    assert cells(card)["Risk"] == ("26.9%",)


# ------------------------------------------------------------------ showing and keeping it


class Cells(HTMLParser):
    """The texts of all table cells."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.inside = tag in ("td", "th")
        self.found += [""] if self.inside else []

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1] += data


def test_all_outputs_say_the_same(fitted: Any) -> None:
    _, _, card = fitted
    figures = [cell for name in ("Observed", "Rows") for cell in cells(card)[name]]
    text, markdown, latex = card.to_text(), card.to_markdown(), card.to_latex()
    parser = Cells()
    parser.feed(card.to_html())
    for figure in figures:
        assert figure in text
        assert f" {figure} |" in markdown
        assert figure.replace("%", r"\%") in latex
        assert figure in parser.found
    for sentence in ("Risk: the probability of 1, 1 / (1 + exp(−", "/ 2))", "mean logistic loss"):
        assert sentence in text
    assert "Training errors" not in text
    assert "Without points the loss would be" in text
    assert "<or>" not in card.to_html()
    assert "%" not in latex.replace(r"\%", "")


def test_text_is_no_wider_than_a_terminal_and_aligned(fitted: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(-3000, 3000, (200, 1))
    card = with_risks(numeric([1], 5), X, np.where(X[:, 0] > 0, 1, -1), scale=500.0)
    lines = card.to_text().splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("Total "))
    stop = next(k for k, line in enumerate(lines) if line.startswith("Decision"))
    bands = "\n".join(lines[start:stop]).strip().split("\n\n")
    assert len(bands) > 1
    for band in bands:
        widths = {len(line) for line in band.splitlines()}
        assert len(widths) == 1
        assert max(widths) <= 79
    totals = [c.strip() for band in bands for c in band.splitlines()[0].split("|")[1:]]
    assert tuple(totals) == cells(card)["Total"]


def test_json_gives_the_same_card_back(fitted: Any) -> None:
    X, _, card = fitted
    again = Scorecard.from_json(card.to_json())
    assert again == card
    assert again.risk == card.risk
    np.testing.assert_array_equal(again.predict_proba(X), card.predict_proba(X))
    old = json.loads(card.to_json())
    del old["risk"]
    assert Scorecard.from_json(json.dumps(old)) == replace(card, risk=None)
    damaged = {**json.loads(card.to_json()), "risk": {"link": "logistic"}}
    with pytest.raises(DataError, match="damaged"):
        Scorecard.from_json(json.dumps(damaged))


@pytest.mark.parametrize("scale", [1.0, 0.25, 30.0])
def test_sql_computes_the_same_risks(scale: float) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x0": rng.integers(-900, 900, 60), "risk": rng.integers(0, 2, 60)})
    card = Scorecard(
        (Column("x0", "x0"), Column("risk", "risk")),
        (1, -3),
        Fraction(2),
        risk=RiskScale(scale=scale),
    )
    with sqlite3.connect(":memory:") as base:
        base.create_function("EXP", 1, math.exp)  # not every SQLite is built with it
        frame.to_sql("data", base, index=False)
        answers = pd.read_sql(card.to_sql(), base)
    assert list(answers.columns) == ["total", "prediction", "card_risk"]
    np.testing.assert_array_equal(answers["prediction"], card.predict(frame))
    expected = card.predict_proba(frame)[:, 1]
    np.testing.assert_allclose(answers["card_risk"], expected, rtol=1e-12, atol=1e-300)


def test_sql_without_a_normal_distribution_leaves_the_column_out() -> None:
    card = numeric([1], risk=RiskScale(link="probit"))
    assert "risk" not in card.to_sql()


def test_a_certificate_speaks_of_the_loss(fitted: Any) -> None:
    _, y, card = fitted
    said = card.certificate
    share = np.mean(y)
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    assert said["loss_name"] == "logistic"
    assert said["loss"] < said["loss_without_points"]
    assert said["loss_without_points"] >= entropy - 1e-12
    proved = replace(card, certificate={**said, "claim": "gap", "bound": 0.25})
    assert (
        "no card with at most 4 columns and points from −5 to 5, at a scale of 2, has "
        "mean logistic loss plus penalty below 0.25"
    ) in str(proved)


# ------------------------------------------------------------------ the calibration table


def test_calibration_by_hand() -> None:
    card = numeric([1], 1, risk=RiskScale(scale=2.0))
    table = calibration_table(
        card, [0, 3, 0, 3, 3], [True, True, False, False, True], [1, 2, 3, 1, 0]
    )
    assert table["total"].tolist() == [0.0, 3.0]
    np.testing.assert_allclose(table["risk"], sigmoid([-0.5, 1.0]))
    np.testing.assert_allclose(table["observed"], [1 / 4, 2 / 3])
    assert table["rows"].tolist() == [2, 2]
    assert table["positives"].tolist() == [1, 1]
    assert table["weight"].tolist() == [4.0, 3.0]
    low, high = wilson(np.array([0.25]), np.array([16 / 10]))
    assert (table["lower"][0], table["upper"][0]) == (low[0], high[0])


def test_wilson_against_the_printed_formula() -> None:
    # 0 of 10 and 5 of 10, from solving (p - share)^2 = z^2 p (1 - p) / n for p
    z2 = 1.959963984540054**2
    for hits, n in ((0, 10), (5, 10), (10, 10), (1, 3)):
        share = hits / n
        roots = np.roots([1 + z2 / n, -2 * share - z2 / n, share**2]).real
        low, high = wilson(np.array([share]), np.array([float(n)]))
        assert low[0] == pytest.approx(min(roots), abs=1e-9)
        assert high[0] == pytest.approx(max(roots), abs=1e-9)


def test_sparse_totals_join_their_neighbours() -> None:
    card = numeric([1], 0, risk=RiskScale())
    totals = np.repeat([0, 1, 2, 3, 4], [1, 1, 3, 4, 1])
    table = calibration_table(card, totals, totals > 1, min_rows=4)
    assert table["rows"].tolist() == [5, 5]
    assert table["total"].tolist() == pytest.approx([7 / 5, 16 / 5])
    lone = calibration_table(card, totals, totals > 1, min_rows=100)
    assert lone["rows"].tolist() == [10]


def test_tables_that_do_not_fit_are_refused() -> None:
    card = numeric([1])
    assert calibration_table(card, [0, 1], [True, False])["risk"].isna().all()
    with pytest.raises(DataError, match="one length"):
        calibration_table(card, [0, 1], [True])
    with pytest.raises(DataError, match="weight"):
        calibration_table(card, [0, 1], [True, False], [0, 0])


def test_a_table_with_text_and_missing_values_has_its_range() -> None:
    frame = pd.DataFrame({"sex": ["m", "f", "f", "m"] * 5, "age": [30.0, None, 50.0, 60.0] * 5})
    y = [0, 1, 1, 0] * 5
    made = Binner(2, missing="bin", encoding="onehot").fit_design(frame, y)
    program, result = fit_card(made, "risk_score", heuristic=True, coef_max=2, coef_min=-2)
    card = certified_card(made, result, statement=program.statement)
    assert set(card.score(frame)) <= set(attainable_totals(card) or ())
    assert make_design(frame[["sex"]], y).shape[1] == 2


def test_a_card_of_weighted_rows_says_whose_risks_it_states() -> None:
    X, y = pd.DataFrame({"a": [0, 1] * 50}), np.array([0, 0, 0, 1, 0] * 20)
    said = {}
    for weight in (None, "balanced"):
        made = make_design(X, y, class_weight=weight)
        program, result = fit_card(made, "risk_score", max_terms=1, heuristic=True)
        said[weight] = certified_card(made, result, statement=program.statement).to_text()
    assert "weighted" not in said[None]
    assert "50.0% of their weight is 1, 20.0% of the rows are" in said["balanced"]


def test_numbers_in_disguise_keep_their_unit_on_the_card() -> None:
    how = CellRules(signs=".,", unit="k")
    column = Column("plate >= 271", "plate", "step", lower=271.0, cells=how)
    card = Scorecard((column,), (2,), Fraction(1))
    assert "≥ 271 k" in card.to_text()
    named = replace(card, words={"plate": {"unit": "10³/µl"}})
    assert "≥ 271 10³/µl" in named.to_text()
