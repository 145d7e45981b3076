"""Limits on how differently groups are answered, beside the gaps that a pool measures."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore import Scorecard, solve, update
from milpscore.certificate import certify, verify_certificate
from milpscore.constraints import Exclude, MaxFPR, MaxGap, make_constraint
from milpscore.core.card import Card
from milpscore.core.errors import FormulationError, OptionError
from milpscore.core.result import Claim, Termination
from milpscore.data import make_design
from milpscore.formulations import risk_score, slim
from milpscore.pools import fairness, gap_front, group_gaps, pool
from milpscore.scorecard import certified_card
from milpscore_check.report import check
from milpscore_check.values import Refused

SMALL: dict[str, Any] = {"coef_min": -2, "coef_max": 2, "max_terms": 3}


def table(rows: int = 120) -> tuple[pd.DataFrame, Any]:
    """Three answers and a group that the classes depend on."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 2, (rows, 4)), columns=[*"abc", "group"])
    score = 1.5 * X["a"] - X["b"] + 1.2 * X["group"] + rng.normal(size=rows)
    return X, (score > 0.8).to_numpy(np.int64)


def gap(card: Card, X: pd.DataFrame, y: Any, rate: str) -> float:
    """The gap of a card between the two groups, from its answers."""
    positive = X.to_numpy() @ card.coefficients + float(card.intercept) >= 0
    counted = {"tpr": y > 0, "fpr": y < 1, "selection": y >= 0}[rate]
    shares = [positive[counted & (X["group"] == group)].mean() for group in (0, 1)]
    return float(abs(shares[0] - shares[1]))


@pytest.mark.parametrize("rate", ["tpr", "fpr", "selection"])
@pytest.mark.parametrize("build", [slim, risk_score])
def test_engines_agree_on_the_best_card_within_a_gap(build: Any, rate: str) -> None:
    X, y = table()
    given = SMALL if build is slim else {**SMALL, "scale": 1.0, "intercept": "integer"}
    free, rules = build(make_design(X, y), **given), [MaxGap(rate, "group", 0.05)]
    program = build(make_design(X, y), constraints=rules, **given)
    unlimited, tree = solve(free, "tree"), solve(program, "tree")
    other = solve(program, "highs" if build is slim else "outer_approximation")
    assert gap(unlimited.card, X, y, rate) > 0.05  # the limit has something to forbid
    assert tree.claim is other.claim is Claim.OPTIMAL
    assert tree.objective == pytest.approx(other.objective, abs=1e-6)
    assert unlimited.objective < tree.objective
    assert gap(tree.card, X, y, rate) <= 0.05 + 1e-9
    assert gap(other.card, X, y, rate) <= 0.05 + 1e-9


@pytest.mark.parametrize("rate", ["tpr", "fpr", "selection"])
def test_the_best_card_within_a_gap_is_the_best_of_the_pool_within_it(rate: str) -> None:
    X, y = table()
    program = risk_score(make_design(X, y), **SMALL)
    cards = pool(program, epsilon=0.15)
    gaps, least = group_gaps(cards, X["group"])[rate].to_numpy(), 0.0
    assert cards.complete
    for limit in (0.3, 0.2, 0.1):
        if not (gaps <= limit).any():
            continue
        rules = [MaxGap(rate, "group", limit)]
        best = solve(risk_score(make_design(X, y), constraints=rules, **SMALL), "tree")
        # at another intercept a card of the pool may keep to the gap as well
        assert best.objective <= cards.objectives[gaps <= limit].min() + 1e-6
        assert best.claim is Claim.OPTIMAL
        assert best.objective >= least
        least = best.objective
    assert least > 0.0


def test_the_front_says_what_each_limit_costs() -> None:
    X, y = table()
    rules = [Exclude("c")]
    program = slim(make_design(X, y), constraints=rules, **SMALL)
    front = gap_front(program, "group", ("tpr", "fpr"), (0.2, 0.05, 1.0))
    assert front["limit"].tolist() == [0.05, 0.2, 1.0]
    assert front["claim"].tolist() == ["optimal"] * 3
    assert front["objective"].is_monotonic_decreasing
    assert (front["dual_bound"] <= front["objective"]).all()
    assert front["objective"].iloc[-1] == pytest.approx(solve(program).objective)
    for limit, result in zip(front["limit"], front["result"], strict=True):
        assert max(gap(result.card, X, y, rate) for rate in ("tpr", "fpr")) <= limit + 1e-9
        assert result.card.coefficients[2] == 0  # the program's own constraints stay
        alone = [*rules, MaxGap("tpr", "group", limit), MaxGap("fpr", "group", limit)]
        best = solve(slim(make_design(X, y), constraints=alone, **SMALL), "highs")
        assert result.objective == pytest.approx(best.objective, abs=1e-9)


def test_an_interrupt_keeps_the_limits_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()
    calls = iter(range(9))

    def stopped(*given: Any, **options: Any) -> Any:
        result = solve(*given, **options)
        ended = Termination.INTERRUPTED if next(calls) == 1 else result.termination
        return replace(result, termination=ended)

    monkeypatch.setattr(fairness, "solve", stopped)
    limits = iter((0.05, 0.2, 1.0))
    front = gap_front(slim(make_design(X, y), **SMALL), "group", iter(["tpr"]), limits)
    assert front["limit"].tolist() == [0.05, 0.2]
    for limit, result in zip(front["limit"], front["result"], strict=True):
        assert gap(result.card, X, y, "tpr") <= limit + 1e-9  # rates may be an iterator


def test_a_certificate_holds_the_card_to_its_gap(tmp_path: Path) -> None:
    X, y = table()
    rules = [MaxGap("tpr", "group", 0.05), Exclude("group")]
    program = slim(make_design(X, y), constraints=rules, **SMALL)
    made = certify(program, solve(program, "tree"), source={"target": "y"})
    assert [rule["kind"] for rule in made.cards["rules"]].count("gap") == 2
    assert verify_certificate(made, X, y).failed == ()
    free = slim(make_design(X, y), constraints=[Exclude("group")], **SMALL)
    other = certify(free, solve(free, "tree"), source={"target": "y"})
    forged = replace(made, card=other.card, objective=other.objective, loss=other.loss).sealed()
    assert "<= 0.05, the card has 0.4" in verify_certificate(forged, X, y)["card"].sentence
    with_classes = X.assign(y=y)
    for certificate, status in ((made, "proved"), (forged, "refuted")):
        file, csv = tmp_path / "made.json", tmp_path / "rows.csv"
        certificate.to_json(file)
        with_classes.to_csv(csv, index=False)
        parts = {name: became for name, became, _ in check(csv, file)}
        assert parts["card"] == status
    # a rule names both of its groups by itself, and rows that are not there are refused
    first, _ = made.cards["rules"][:2]
    alone = replace(made, cards={**made.cards, "rules": [first]}).sealed()
    assert {name: became for name, became, _ in check(csv, alone.to_json(file))}["card"] == "proved"
    far = {**first, "others": [*first["others"], 120]}
    with pytest.raises(Refused, match="no row 120"):
        check(csv, replace(made, cards={**made.cards, "rules": [far]}).sealed().to_json(file))


def test_labels_of_rows_and_their_column_are_the_same_groups() -> None:
    X, y = table()
    design = make_design(X, y)
    column, labels = (MaxGap("fpr", by, 0.1).parts(design) for by in ("group", X["group"]))
    for one, other in zip(column, labels, strict=True):
        assert np.array_equal(one.paid, other.paid)
        assert one.limit == other.limit
    entry = MaxGap("fpr", "group", 0.1).as_mapping()
    assert make_constraint(entry) == MaxGap("fpr", "group", 0.1)
    assert MaxGap("fpr", X["group"], 0.1).as_mapping()["by"] == "2 groups of 120 rows"


def test_a_card_beyond_the_gap_is_named_with_its_gap() -> None:
    X, y = table()
    program = slim(make_design(X, y), constraints=[MaxGap("selection", "group", 0.1)], **SMALL)
    card = program.statement.with_best_intercept(np.array([0, 0, 0, 1]))
    if gap(card, X, y, "selection") < 1:
        card = Card(np.array([0, 0, 0, 1]), Fraction(-1))
    (said,) = program.statement.violations(card)
    assert said == "gap in selection rate by group <= 0.1, the card has 1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("odds", "group", 0.1), "rate must be one of tpr, fpr, selection"),
        (("tpr", "group", 1.5), "a share between 0 and 1"),
        (("tpr", "grupp", 0.1), "group"),
        (("tpr", [0] * 120, 0.1), "fewer than two groups"),
        (("tpr", [0, 1], 0.1), "2 labels for 120 rows"),
        (("tpr", list(range(120)), 0.1), "120 groups are more than 12"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused(given: Any, message: str) -> None:
    X, y = table()
    with pytest.raises(FormulationError, match=message):
        slim(make_design(X, y), constraints=[MaxGap(*given)])


@pytest.mark.parametrize("rules", [[MaxGap("tpr", "group", 0.05)], [MaxFPR(0.1)]], ids=str)
def test_the_printed_decision_is_the_one_that_keeps_to_the_limit(rules: Any) -> None:
    """A risk score once answered by the share of positives, which no limit was proved for."""
    X, y = table()
    design = make_design(X, y)
    program = risk_score(design, constraints=rules, **SMALL)
    result = solve(program, "tree")
    card = certified_card(design, result, statement=program.statement)
    answers = card.predict(X)
    assert card.certificate["decision"]["by"] == "the fit"
    if isinstance(rules[0], MaxFPR):
        assert answers[y == 0].mean() <= 0.1
    else:
        shares = [answers[(y == 1) & (X["group"] == group)].mean() for group in (0, 1)]
        assert abs(shares[0] - shares[1]) <= 0.05 + 1e-9
    other = certified_card(design, result, statement=program.statement, threshold_by="prevalence")
    assert other.certificate["decision"]["by"] != "the fit"
    cards = pool(program, epsilon=0.05)
    if isinstance(rules[0], MaxGap):
        assert (group_gaps(cards, X["group"])["tpr"] <= 0.05 + 1e-9).all()


def test_an_update_keeps_to_limits_on_answers() -> None:
    X, y = table()
    in_use = Scorecard.from_points(
        {"a": 2, "b": -1, "c": 0, "group": 2}, threshold=2, classes=(0, 1), title="In use"
    )
    free = update(in_use, X, y, changes=2, coef_min=-2, coef_max=2, progress=False)
    rules = [MaxGap("selection", "group", 0.1)]
    made = update(
        in_use, X, y, changes=2, coef_min=-2, coef_max=2, constraints=rules, progress=False
    )
    for rung, unlimited in zip(made.rungs, free.rungs, strict=True):
        answers = rung.card.predict(X)
        shares = [answers[X["group"] == group].mean() for group in (0, 1)]
        assert abs(shares[0] - shares[1]) <= 0.1 + 1e-9
        assert rung.loss >= unlimited.loss - 1e-9
        assert rung.bound <= rung.loss + 1e-9
        assert len(rung.changed) <= rung.changes
    assert made.rungs[-1].card.certificate["rungs"][-1]["changes"] == 2
    with pytest.raises(OptionError, match="speaks of points"):
        update(in_use, X, y, constraints=[Exclude("a")])
