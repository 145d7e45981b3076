"""A saved card is the card."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from milpscore import Scorecard
from milpscore.core.design import Column
from milpscore.core.errors import DataError
from milpscore.estimators import RiskScoreClassifier


@pytest.fixture
def card() -> Scorecard:
    columns = (
        Column("x", 'Größe "1"\n'),
        Column("x low", "x", "interval", upper=0.1 + 0.2),
        Column("x high", "x", "interval", lower=0.1 + 0.2),
        Column("s", "s", "step", lower=-1e-300),
        Column("c", "c", "category", category=""),
        Column("m", "c", "missing"),
    )
    certificate = {
        "claim": "gap",
        "objective": 0.1 + 0.2,
        "bound": -math.inf,
        "gap": math.inf,
        "exact": Fraction(1, 3),
        "n_rows": np.int64(961),
        "verified": np.bool_(True),
        "trace": ((0.5, np.float64(1.5)), [None, "x"]),
        "options": {"time_limit": 60},
    }
    return Scorecard(
        columns,
        np.array([2, 0, -3, 10**12, 0, 1]),
        Fraction(1, 3),
        blocks=((1, 2),),
        classes=(np.str_("no"), "yes"),
        step=Fraction(1, 10),
        certificate=certificate,
        fingerprint="ab" * 32,
        title="T",
    )


def test_the_round_trip_is_exact(card, tmp_path):
    again = Scorecard.from_json(card.to_json())
    assert again == card
    assert again.certificate == card.certificate
    assert again.certificate["exact"] == Fraction(1, 3)
    assert again.columns[1].upper == 0.1 + 0.2
    assert again.to_json() == card.to_json()
    assert Scorecard.load(card.save(tmp_path / "card.json")) == card


@pytest.mark.parametrize("classes", [(0, 1), (False, True), (-1.0, 1.0), ("0", "1")])
def test_labels_keep_their_type(classes):
    card = Scorecard((Column("a", "a"),), (1,), 1, classes=classes, step=None)
    again = Scorecard.from_json(card.to_json())
    assert [type(label) for label in again.classes] == [type(label) for label in classes]
    assert again == card


def test_the_text_is_standard_json_with_version_and_fingerprint(card):
    def refuse(constant):
        raise AssertionError(constant)

    content = json.loads(card.to_json(), parse_constant=refuse)
    assert content["schema_version"] == 2
    assert content["fingerprint"] == card.fingerprint
    assert content["threshold"] == "1/3"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(schema_version=1), "schema_version 1"),
        (lambda content: content.pop("schema_version"), "schema_version None"),
        (lambda content: content.update(kind="x"), "not a scorecard"),
        (lambda content: content.pop("threshold"), "damaged"),
        (lambda content: content.update(threshold="a"), "damaged"),
        (lambda content: content.update(threshold="1/0"), "damaged"),
        (lambda content: content.update(columns=3), "damaged"),
        (lambda content: content.update(certificate=[1]), "damaged"),
        (lambda content: content["columns"][0].pop("feature"), "damaged"),
        (lambda content: content["columns"][0].update(kind="magic"), "damaged"),
        (lambda content: content["columns"][0].update(feature=3), "damaged"),
        (lambda content: content.update(title=None), "damaged"),
        (lambda content: content["columns"][0].update(points=0.5), "whole numbers"),
        (lambda content: content.update(blocks=[[99]]), "outside"),
    ],
)
def test_damaged_text_is_refused(card, change, message):
    content = json.loads(card.to_json())
    change(content)
    with pytest.raises(DataError, match=message):
        Scorecard.from_json(json.dumps(content))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null"])
def test_other_text_is_refused(text):
    with pytest.raises(DataError, match="save"):
        Scorecard.from_json(text)


@pytest.mark.parametrize("scale", ["auto", 2.0, (1.0, 4.0)])
def test_a_saved_risk_score_keeps_the_scales_of_its_claim(scale):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, size=(60, 3))
    y = (X[:, 0] + rng.random(60) > 0.8).astype(int)
    made = RiskScoreClassifier(scale=scale, heuristic=True, binner=None).fit(X, y).scorecard_
    assert made.certificate["allowed"]["scale"] is not None
    again = Scorecard.from_json(made.to_json())
    assert again.to_text() == made.to_text()
    assert again.to_json() == made.to_json()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text.replace('"title":', '"title": "another", "title":'), "repeats the key"),
        (lambda text: text.replace('"title":', '"tilte": "x", "title":'), "unknown field `tilte`"),
        (lambda text: text.replace('"category":', '"weight": 3, "category":', 1), "unknown field"),
    ],
)
def test_repeated_and_unknown_entries_are_refused(card, damage, said):
    text = card.to_json()
    assert damage(text) != text
    with pytest.raises(DataError, match=said):
        Scorecard.from_json(damage(text))


def test_a_gap_that_is_not_the_cards_own_is_refused(card):
    true = {"objective": 0.5, "bound": 0.4, "gap": 0.2}
    assert Scorecard.from_json(replace(card, certificate=true).to_json()).certificate == true
    with pytest.raises(DataError, match=r"a gap of 0\.01 for an objective of 0\.5"):
        Scorecard.from_json(replace(card, certificate={**true, "gap": 0.01}).to_json())
