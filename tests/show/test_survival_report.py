"""The page about a card of times to an event."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.core.errors import DataError, MissingDependencyError
from milpscore.data import make_survival_design, survival_target
from milpscore.estimators import SurvivalScoreEstimator
from milpscore.metrics import concordance, concordance_of
from milpscore_show.report import survival_report, timed
from tests.survival_cases import small_times

try:
    import lifelines
    from sksurv import metrics
except ModuleNotFoundError:
    lifelines = metrics = None

needs_both = pytest.mark.skipif(
    metrics is None, reason="scikit-survival and lifelines are not installed"
)


@pytest.fixture(scope="module")
def rows():
    design = small_times(1, rows=150)
    frame = pd.DataFrame(design.X, columns=["a", "b", "c"])
    y = survival_target(design.event, design.time)
    model = SurvivalScoreEstimator(max_terms=2, binner=None, at=[0.6, 1.2]).fit(frame, y)
    return model, frame, y


@pytest.mark.skipif(metrics is not None, reason="scikit-survival is installed")
def test_without_the_extra_the_page_says_what_to_install(rows):
    model, X, y = rows
    with pytest.raises(MissingDependencyError, match=r"milpscore\[survival\]"):
        model.report(X, y)


def test_categories_without_points_are_known(rows):
    _, X, y = rows
    kind = np.where(X["a"] > 0, "u", np.where(X["b"] > 0, "v", "w"))
    frame = X[["c"]].assign(kind=kind)
    model = SurvivalScoreEstimator(max_terms=2).fit(frame, y)
    used = [c for c, w in zip(model.card_.card.columns, model.coef_, strict=True) if w]
    assert 0 < sum(column.feature == "kind" for column in used) < 3
    given = timed.TimedRows.of(model.card_, frame, y, None)
    assert list(given.lines) == [column.name for column in used]
    for column in used:
        if column.feature == "kind":
            assert (given.lines[column.name] == (frame["kind"] == column.category)).all()


def test_net_benefit_is_its_definition(rows):
    model, X, y = rows
    given = timed.TimedRows.of(model.card_, X, y, None)
    risk = model.card_.risks(given.totals, [1.2])[:, 0]
    p = float(np.median(risk))
    found = timed.net_benefit(given, 1.2, [p])
    # without censoring before that time Kaplan and Meier's estimate is the share itself
    acted = risk >= p
    early = ~y["event"] & (y["time"] < 1.2)
    if not (early & acted).any():
        share = (y["time"][acted] <= 1.2).mean()
        assert found[0, 0] == pytest.approx(acted.mean() * (share - (1 - share) * p / (1 - p)))
    assert found.shape == (2, 1)
    assert timed.net_benefit(given, 1.2, [0.0])[0, 0] == pytest.approx(
        timed.net_benefit(given, 1.2, [0.0])[1, 0]
    )


def test_net_benefit_is_unknown_where_nobody_was_seen_so_long(rows):
    model, X, y = rows
    short = y.copy()
    short["time"], short["event"] = np.minimum(y["time"], 0.9), y["event"] & (y["time"] < 0.9)
    given = timed.TimedRows.of(model.card_, X, short, None)
    assert np.isnan(timed.net_benefit(given, 1.2, [0.01])).all()


@needs_both
def test_figures_are_those_of_the_packages(rows, tmp_path):
    model, X, y = rows
    page = survival_report(model.card_, X, y, path=tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page
    expected = metrics.concordance_index_censored(y["event"], y["time"], model.predict(X))[0]
    assert f"{expected:.4f}" in page
    assert page.count("<svg") == 2
    assert "At risk" in page
    assert not re.search(r"\bnan\b", page)
    given = timed.TimedRows.of(model.card_, X, y, None)
    lines = timed.calibration_of(given, 1.2)
    assert sum(int(line[1]) for line in lines[1:]) == 150
    assert len(timed.proportionality_of(given)) == 1 + len(given.lines.columns)


_ODD = {
    "all times are one": lambda y: (y["event"], np.full(150, 1.0)),
    "no event": lambda y: (np.zeros(150, dtype=bool), y["time"]),
    "the last row alone has an event": lambda y: (y["time"] == y["time"].max(), y["time"]),
    "all times lie beyond the card": lambda y: (y["event"], 1000.0 + y["time"]),
}


@needs_both
@pytest.mark.parametrize("odd", list(_ODD))
def test_figures_that_odd_rows_do_not_define_are_said_to_be_so(rows, odd):
    model, X, y = rows
    event, time = _ODD[odd](y)
    page = survival_report(model.card_, X, survival_target(event, time), by="c")
    assert "not defined" in page
    assert not re.search(r"\bnan\b", page)


@needs_both
def test_no_share_is_drawn_on_beyond_the_last_time_that_rows_were_seen(rows):
    model, X, y = rows
    event, time = y["event"] & (y["time"] <= 0.9), np.minimum(y["time"], 0.9)
    given = timed.TimedRows.of(model.card_, X, survival_target(event, time), None)
    assert {tuple(line[3:]) for line in timed.calibration_of(given, 1.2)[1:]} == {("", "")}
    assert all(line[3] for line in timed.calibration_of(given, 0.6)[1:])


@needs_both
def test_rows_without_an_order_are_refused_or_unknown(rows):
    _, X, _ = rows
    design = make_survival_design(X, time=np.full(150, 2.0), event=np.ones(150))
    with pytest.raises(DataError, match="not defined"):
        concordance(design.event, design.time, X["a"])
    assert np.isnan(concordance_of(design, X["a"]))


@needs_both
def test_rows_that_come_late_have_a_page_too(rows):
    model, X, y = rows
    entry = np.where(np.arange(150) % 3 == 0, 0.5 * y["time"], 0.0)
    page = survival_report(model.card_, X, y, entry=entry)
    assert "not tested" in page
    assert "leave out of account when rows came" in page
    assert not re.search(r"\bnan\b", page)


@needs_both
def test_subgroups_have_their_own_order_and_risks(rows, tmp_path):
    model, X, y = rows
    given = timed.TimedRows.of(model.card_, X, y, None)
    caption, lines = timed.subgroups_of(given, X, "a")
    assert caption == "Subgroups by a"
    assert sum(int(line[1]) for line in lines[1:]) == 150
    for line in lines[1:]:
        own = X["a"].to_numpy() == float(line[0])
        order = metrics.concordance_index_censored(
            y["event"][own], y["time"][own], given.totals[own]
        )[0]
        assert line[3] == f"{order:.4f}"
        fit = lifelines.KaplanMeierFitter().fit(y["time"][own], y["event"][own])
        assert line[5] == f"{1 - fit.predict(0.6):.1%}"
        assert line[4] == f"{model.card_.risks(given.totals[own])[:, 0].mean():.1%}"
    assert "Subgroups by a" in survival_report(model.card_, X, y, by="a")
    for by in ("d", [1, 2]):
        with pytest.raises(DataError):
            timed.subgroups_of(given, X, by)


@needs_both
def test_fit_ends_with_what_the_card_is_worth(rows, tmp_path):
    _, X, y = rows
    frame = X.assign(t=y["time"], d=y["event"].astype(int))
    frame.to_csv(table := tmp_path / "t.csv", index=False)
    given = "fit", table, "--time", "t", "--event", "d", "--max-terms", 2
    done = CliRunner().invoke(app, [str(part) for part in given])
    assert done.exit_code == 0, done.output
    line = re.search(
        r"C (\S+) here, (\S+) on new rows; Cox's model on all columns (\S+),", done.stdout
    )
    assert line is not None, done.output
    assert all(0.5 < float(each) < 1.0 for each in line.groups())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--weights-column", "a"), "takes no --weights-column"),
        (("--outcome", "dies"), "takes no --outcome"),
        (("--pool", 0.01), "takes no --pool"),
        (("--verify",), "takes no --verify"),
        (None, "--entry and --positive belong to --time"),
    ],
)
def test_options_that_the_page_leaves_out_are_refused(rows, tmp_path, given, words):
    model, X, y = rows
    frame = X.assign(t=y["time"], d=y["event"].astype(int))
    frame.to_csv(table := tmp_path / "t.csv", index=False)
    model.card_.save(card := tmp_path / "card.json")
    more = ("--time", "t", *given) if given else ("--entry", "t")
    asked = "report", card, table, "--target", "d", *more, "--out", tmp_path / "page.html"
    done = CliRunner().invoke(app, [str(part) for part in asked])
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "page.html").exists()


@needs_both
def test_the_command_writes_it(rows, tmp_path):
    model, X, y = rows
    frame = X.assign(t=y["time"], d=y["event"].astype(int))
    frame.to_csv(table := tmp_path / "t.csv", index=False)
    model.card_.save(card := tmp_path / "card.json")
    out = tmp_path / "page.html"
    given = "report", card, table, "--time", "t", "--target", "d", "--out", out
    done = CliRunner().invoke(app, [str(part) for part in given])
    assert done.exit_code == 0, done.output
    assert "C, Harrell" in out.read_text()
