"""A study of times to an event: folds, cards, certificates, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from milpscore.core.errors import OptionError
from milpscore.scorecard import SurvivalCard
from milpscore_study import load_study, run_study
from tests.survival_cases import small_times

STUDY = """
certificates = true

[folds]
number = 2
whole = true

[[data]]
csv = "times.csv"
target = "cause"
positive = 2
time = "years"
entry = "came"

[[models]]
estimator = "survival_score"
arguments = {{ max_terms = 1, times = 4 }}

[[models]]
estimator = "survival_score"
kind = "relaxed"
name = "relaxed"
arguments = {{ max_terms = 1, times = 4, scale = 1.0 }}
{more}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    design = small_times(1, rows=80, late=True)
    frame = pd.DataFrame(design.X.astype(int), columns=["a", "b", "c"])
    frame = frame.assign(years=design.time, cause=2 * (design.y > 0), came=design.entry)
    frame.to_csv(tmp_path / "times.csv", index=False)
    return tmp_path


def study(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_cards_of_folds_and_of_all_rows_are_kept(folder: Path) -> None:
    report = run_study(study(folder, STUDY.format(more="")), folder / "found.sqlite")
    table = report.table()
    assert (table["status"] == "done").all(), table["message"].tolist()
    cards = table[table["model"] == "survival_score"]
    assert (cards["claim"] == "optimal").all()
    assert cards["train_accuracy"].isna().all()
    assert (cards["train_rows"] == [40, 40, 80]).all()
    for key in cards["key"]:
        card = report.card(key)
        assert isinstance(card, SurvivalCard)
        assert len(card.cuts) <= 4
        assert report.certificate(key)["evidence"]["kind"] == "leaves"
    known = report.certificate(cards["key"].iloc[-1])["data"]
    assert (known["time"], known["entry"], known["positive"]) == ("years", "came", "2")
    pytest.importorskip("sksurv", reason="scikit-survival is not installed: Harrell's C is by it")
    assert cards["train_auc"].between(0.5, 1.0).all()
    assert cards["test_auc"].notna().sum() == 2


def test_the_same_file_without_times_keeps_its_keys(folder: Path) -> None:
    text = STUDY.format(more="").replace('time = "years"\nentry = "came"\n', "")
    text = text.replace('"survival_score"', '"risk_score"').replace(", times = 4", "")
    settings = load_study(study(folder, text)).settings()
    assert not {"time", "entry"} & settings["data"][0].keys()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('time = "years"', "", "entry goes with time"),
        ('time = "years"', 'time = "years"\nclass_weight = "balanced"', "class_weight"),
    ],
    ids=str,
)
def test_bad_keys_are_named(folder: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        load_study(study(folder, STUDY.format(more="").replace(old, new, 1)))


def test_a_study_of_all_events_has_folds(folder: Path) -> None:
    frame = pd.read_csv(folder / "times.csv").assign(cause=2)
    frame.to_csv(folder / "times.csv", index=False)
    report = run_study(study(folder, STUDY.format(more="")), folder / "found.sqlite")
    assert (report.table()["status"] == "done").all()
    frame.assign(years=0).to_csv(folder / "times.csv", index=False)
    report = run_study(study(folder, STUDY.format(more="")), folder / "other.sqlite")
    assert (report.table()["status"] == "failed").all()
    assert report.table()["message"].str.contains("not above 0").all()
