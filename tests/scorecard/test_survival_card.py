"""Survival cards: risks against their definition, Kaplan and Meier, SQL, files."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.data import make_survival_design
from milpscore.formulations import risk_score, survival_score
from milpscore.scorecard import SurvivalCard, kaplan_meier, survival_card
from milpscore.solvers import solve
from tests.survival_cases import small_times, table_by_definition

KINDS = [
    {"times": 5},
    {"times": "events", "exposure": "at_risk"},
]


def _card(seed=1, at=None, **options):
    design = small_times(seed, rows=80, late=True)
    program = survival_score(design, coef_min=-3, coef_max=3, max_terms=2, **options)
    result = solve(program, "tree", progress=False)
    return survival_card(program, result, at=at), program, result


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_risks_are_those_of_the_fitted_hazards(options):
    card, program, result = _card(**options)
    design, intervals = program.statement.design, program.statement.loss.base.intervals
    exposed, dead = table_by_definition(design, intervals.cuts, intervals.kind)
    scores = design.X @ result.card.coefficients / float(result.card.scale)
    hazard = dead.sum(axis=0) / (exposed * np.exp(scores)[:, None]).sum(axis=0) / intervals.unit
    length = np.diff(np.append(0.0, intervals.cuts)) if intervals.kind == "time" else 1.0
    total = np.cumsum(hazard * length)
    expected = 1.0 - np.exp(-np.exp(scores)[:, None] * total)
    totals = card.card.score_design(design.X)
    assert card.risks(totals, card.cuts) == pytest.approx(expected, rel=1e-9)


def test_discrete_risks_are_products_of_chances(tmp_path):
    card, program, result = _card(times=4, exposure="discrete")
    design, base = program.statement.design, program.statement.loss.base
    exposed, dead = table_by_definition(design, base.intervals.cuts, "discrete")
    scores = design.X @ result.card.coefficients / float(result.card.scale)
    chances = 1.0 / (1.0 + np.exp(-base.raw.levels(scores) - scores[:, None]))
    # the events that are expected in each interval are those that were seen
    assert (exposed * chances).sum(axis=0) == pytest.approx(dead.sum(axis=0), rel=1e-9)
    totals = card.card.score_design(design.X)
    expected = 1.0 - np.cumprod(1.0 - chances, axis=1)
    assert card.risks(totals, card.cuts) == pytest.approx(expected, rel=1e-9)
    assert set(card.times) <= set(card.cuts)  # a time within an interval would miss it
    assert card.risks(totals, [card.cuts[0] / 2]) == pytest.approx(0.0)
    again = SurvivalCard.load(card.save(tmp_path / "card.json"))
    assert again.risks(totals) == pytest.approx(card.risks(totals), rel=0)
    assert card.risks(np.array([1e7, -1e7]), [card.cuts[-1]]).ravel() == pytest.approx([1.0, 0.0])


def test_between_cuts_hazards_rise_evenly_or_at_events():
    even, *_ = _card(times=5)
    first, second = even.accumulated(np.array(even.cuts[:2]))[0]
    assert even.accumulated(np.array([np.mean(even.cuts[:2])]))[0, 0] == pytest.approx(
        (first + second) / 2
    )
    steps, *_ = _card(times="events", exposure="at_risk")
    inside = np.array([steps.cuts[0] - 1e-9, steps.cuts[0], np.mean(steps.cuts[:2])])
    assert steps.accumulated(inside)[0] == pytest.approx([0.0, steps.hazard[0], steps.hazard[0]])


def test_risks_rise_with_the_total_and_with_time():
    card, *_ = _card(times=5)
    risks = card.risks(np.arange(0.0, 8.0), card.cuts)
    assert (np.diff(risks, axis=0) >= 0).all()
    assert (np.diff(risks, axis=1) >= 0).all()
    assert ((risks >= 0) & (risks <= 1)).all()
    assert card.risks(np.array([1e6, -1e6]), [card.cuts[-1]]).ravel() == pytest.approx([1.0, 0.0])
    with pytest.raises(OptionError, match="knows risks at times"):
        card.risks(np.zeros(1), [card.cuts[-1] + 1])


def test_groups_hold_all_rows():
    card, program, _ = _card(times=5)
    design = program.statement.design
    assert sum(group.rows for group in card.observed) == len(design.y)
    assert sum(group.events for group in card.observed) == int(design.event.sum())
    text = card.to_text()
    assert "claim optimal" in text
    assert "No card of at most 2 terms does better: proved." in text
    assert "Too few" not in text or card.card.certificate["events"] < 20
    assert card.to_html().count("<table") == 2


def test_risks_are_printed_in_per_cent_that_say_no_certainty():
    card, *_ = _card(times=5)
    group = replace(card.observed[0], stated=(0.9967,), observed=(1.0,))
    low = replace(group, stated=(0.0996,), observed=(0.0004,))
    shown = replace(card, times=card.times[:1], observed=(group, low)).table[1:]
    assert [row[3:] for row in shown] == [["99.7%", "100%"], ["10%", "0.0%"]]


def test_kaplan_meier_by_hand():
    time, event = np.array([1.0, 2.0, 2.0, 3.0, 5.0]), np.array([1, 1, 0, 1, 0], dtype=bool)
    found = kaplan_meier(time, event, np.zeros(5), np.ones(5), [0.5, 1.0, 2.0, 4.0, 6.0])
    assert found[:4] == pytest.approx([1.0, 0.8, 0.6, 0.3])
    assert np.isnan(found[4])  # nobody was seen so long
    # one that comes later is not at risk before; a weight of 2 is two rows
    late = kaplan_meier(time, event, np.array([0, 0, 0, 2.0, 0]), np.ones(5), [1.0])
    assert late == pytest.approx([0.75])
    heavy = kaplan_meier(time, event, np.zeros(5), np.array([2.0, 1, 1, 1, 1]), [1.0])
    assert heavy == pytest.approx([4 / 6])


def test_kaplan_meier_is_that_of_lifelines():
    lifelines = pytest.importorskip("lifelines", reason="lifelines is not installed")
    rng = np.random.default_rng(0)
    time, event = rng.integers(1, 20, 100).astype(float), rng.random(100) < 0.6
    at = np.arange(1.0, 20.0)
    theirs = lifelines.KaplanMeierFitter().fit(time, event).predict(at).to_numpy()
    ours = kaplan_meier(time, event, np.zeros(100), np.ones(100), at)
    assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("exposure", ["time", "discrete"])
def test_sql_gives_the_risks(exposure):
    pytest.importorskip("sqlglot", reason="sqlglot is not installed")
    card, program, _ = _card(times=5, exposure=exposure)
    design = program.statement.design
    frame = pd.DataFrame(design.X, columns=design.names)
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("data", base, index=False)
        found = pd.read_sql(card.to_sql("data", dialect="sqlite"), base)
    totals = card.score(frame)
    assert found["total"].to_numpy() == pytest.approx(totals)
    risks = found[[f"risk_{k + 1}" for k in range(len(card.times))]].to_numpy()
    assert risks == pytest.approx(card.risks(totals), abs=1e-12)


def test_files_are_read_back(tmp_path):
    card, *_ = _card(times=5, at=[1.0, 2.0])
    again = SurvivalCard.load(card.save(tmp_path / "card.json"))
    assert again.to_text() == card.to_text()
    assert again.times == (1.0, 2.0)
    for ending in ("txt", "html", "sql", "json"):
        assert card.write(tmp_path / f"card.{ending}").stat().st_size > 100
    with pytest.raises(OptionError, match="docx"):
        card.write(tmp_path / "card.docx")
    text = (tmp_path / "card.json").read_text()
    with pytest.raises(DataError):
        SurvivalCard.from_json(text.replace('"scale": ', '"scale": -'))
    with pytest.raises(DataError, match="not a survival card"):
        SurvivalCard.from_json(text.replace("milpscore.survival_card", "milpscore.ordinal_card", 1))


def test_parts_have_to_fit():
    card, *_ = _card(times=5)
    late: tuple[float, ...] = (1e9,)
    changes: list[dict[str, tuple[float, ...]]] = [
        {"cuts": (2.0, 1.0)}, {"hazard": (1.0,)}, {"times": (0.0,)}, {"times": late}, {"times": ()}
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(DataError):
            replace(card, **change)


def test_other_programs_have_no_such_card():
    program = risk_score([[0], [1], [0], [1]], [0, 1, 1, 0])
    with pytest.raises(NotApplicableError, match="knows no times"):
        survival_card(program, solve(program, progress=False))


def test_few_events_are_said():
    design = small_times(2, rows=12)
    program = survival_score(design, max_terms=2)
    result = solve(program, "tree", progress=False)
    assert "events for" in survival_card(program, result).to_text()


def test_a_claim_names_scales_where_it_does_not_hold_for_all():
    card, program, result = _card(times=5)
    assert card.card.certificate["allowed"]["scale"] == "any"
    # steeper slopes change nothing, flatter ones do not reach the bound
    base, totals = program.statement.loss.base.raw, program.statement.design.X @ [3, -2, 1]
    scales = program.statement.scales
    steep = base.mean(totals / scales.lower)
    assert base.mean(3.0 * totals / scales.lower) >= steep - 2.2e-9
    assert base.mean(0.1 * totals / scales.upper) >= result.dual_bound
    held, *_ = _card(times=5, scale=(0.5, 3.0))
    assert "its scale from 0.5 to 3 points," in held.to_text()


def test_one_event_is_one_event():
    time, event = np.arange(1.0, 41.0), np.arange(40) == 3
    design = make_survival_design(pd.DataFrame({"a": event * 1}), time=time, event=event)
    program = survival_score(design, max_terms=1, coef_min=0, coef_max=2)
    said = " ".join(survival_card(program, solve(program, progress=False)).sentences)
    assert "Made from 40 rows with 1 event." in said
    assert "Only 1 event for 1 line:" in said
