"""Cards written down by their points, and published ones."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from milpscore import Scorecard
from milpscore.core.errors import DataError, OptionError
from milpscore.scorecard import PUBLISHED, published_card


def test_points_count_as_they_are_written():
    card = Scorecard.from_points(
        {"age": {65: 1, 75: 2}, "stroke": 2, "smokes": {"now": 3, "never": 0},
         "temp": {-math.inf: 4, 36: 0, 39: 3}},
        threshold=5, title="By hand", allow_missing=True,
    )  # fmt: skip
    rows = pd.DataFrame(
        {
            "age": [64.9, 65.0, 75.0, np.nan],
            "stroke": [0, 1, 0, 0],
            "smokes": ["now", "never", "now", "never"],
            "temp": [35.9, 36.0, 39.0, np.nan],
        }
    )
    assert card.score(rows).tolist() == [7.0, 3.0, 8.0, 0.0]
    assert card.predict(rows).tolist() == [1, 0, 1, 0]
    assert Scorecard.from_json(card.to_json()).score(rows).tolist() == [7.0, 3.0, 8.0, 0.0]
    assert "By hand" in card.to_text()
    bare = Scorecard.from_points({"age": {65: 1}})
    with pytest.raises(DataError, match="age"):
        bare.score(rows[["age"]])


@pytest.mark.parametrize("points", [{"a": {2: 1, 1: 2}}, {"a": 1.5}, {"a": {}}, {"a": {1: "x"}}])
def test_what_is_no_card_is_refused(points):
    with pytest.raises(DataError):
        Scorecard.from_points(points)


def test_published_cards_give_their_known_totals():
    old = {"heart_failure": [1], "hypertension": [0], "age": [80], "diabetes": [0], "stroke": [1]}
    assert published_card("chads2").score(pd.DataFrame(old)).tolist() == [4.0]
    diarem = pd.DataFrame({"age": [62], "hba1c": [9.1], "other_drugs": [1], "insulin": [1]})
    assert published_card("diarem").score(diarem).tolist() == [22.0]  # its largest total
    saps = published_card("saps1", {"Age": "years"}, allow_missing=True)
    well = dict.fromkeys(PUBLISHED["saps1"].points, 0.0)
    well |= {"HR": 80, "SysABP": 120, "Temp": 37, "RespRate": 16, "BUN": 15, "HCT": 40}
    well |= {"WBC": 8, "Glucose": 100, "K": 4, "Na": 140, "HCO3": 25, "GCS": 15}
    frame = pd.DataFrame([well]).rename(columns={"Age": "years"}).assign(years=[40])
    assert saps.score(frame).tolist() == [0.0]
    assert saps.score(frame.assign(GCS=3, years=90, Na=100)).tolist() == [12.0]
    assert saps.score(frame * np.nan).tolist() == [0.0]


def test_every_published_card_has_a_source_and_is_printed():
    for name, known in PUBLISHED.items():
        assert any(part.isdigit() for part in known.source.replace("(", " ").split("-"))
        assert known.title in published_card(name).to_text()


def test_unknown_names_are_refused():
    with pytest.raises(OptionError, match="chads2"):
        published_card("chads")
    with pytest.raises(OptionError, match="stroke"):
        published_card("chads2", {"strokes": "x"})
    with pytest.raises(OptionError, match="one name"):
        published_card("chads2", {"stroke": "age"})
