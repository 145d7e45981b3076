"""Intervals of stated risks: by their definition, over the pool, on the report, and covering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from milpscore.certificate import certify
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.data import make_design
from milpscore.fitting import fit_card
from milpscore.pools import RiskIntervals, pool, risk_intervals
from milpscore.pools.redraws import CardsAgain, resampled
from milpscore.scorecard import Scorecard, certified_card
from milpscore_show import plots
from milpscore_show.report import report

BETA = np.array([1.2, 0.9, -0.8, 0.7, 0.5, -0.4, 0.3, 0.0, 0.0, 0.0])


def cohort(rows: int, seed: int) -> tuple[pd.DataFrame, Any, Any]:
    """Rows of a logistic truth, their classes and their true risks."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, len(BETA))) < 0.4).astype(int)
    risk = 1 / (1 + np.exp(1.3 - X @ BETA))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(len(BETA))])
    return frame, (rng.random(rows) < risk).astype(int), risk


def made(rows: int, seed: int) -> tuple[Any, Scorecard]:
    """A program of a cohort, and its card by fast mode."""
    X, y, _ = cohort(rows, seed)
    design = make_design(X, y)
    program, result = fit_card(
        design, "risk_score", heuristic=True, progress=False, max_terms=5, coef_min=-5, coef_max=5
    )
    return program, certified_card(design, result, statement=program.statement)


@pytest.fixture(scope="module")
def found() -> tuple[Any, Scorecard, RiskIntervals]:
    program, card = made(300, 0)
    return program, card, risk_intervals(program, card, bootstraps=20, progress=False)


def test_intervals_are_quantiles_of_what_cards_made_again_state(found: Any) -> None:
    program, card, given = found
    design, again = program.statement.design, CardsAgain.of(program, 0)
    totals = card.score_design(design.X)
    means: dict[float, list[float]] = {total: [] for total in np.unique(totals)}
    for seed in np.random.SeedSequence(0).spawn(20):
        other = again.card(resampled(design, np.random.default_rng(seed)))
        risks = other.risks(other.score_design(design.X))
        for total, own in means.items():
            own.append(float(risks[totals == total].mean()))
    assert given.totals["total"].tolist() == sorted(means)
    assert given.totals["rows"].sum() == given.rows["rows"].sum() == 300
    for row in given.totals.itertuples():
        lower, upper = np.quantile(means[row.total], [0.025, 0.975])
        assert (row.lower, row.upper) == pytest.approx((lower, upper), abs=1e-6)
        assert row.risk == pytest.approx(card.risks(np.array([row.total]))[0])


def test_a_higher_level_is_wider_and_workers_change_nothing(found: Any) -> None:
    program, card, given = found
    wide = risk_intervals(program, card, bootstraps=20, level=0.99, n_jobs=2, progress=False)
    assert (wide.totals["lower"] <= given.totals["lower"]).all()
    assert (wide.totals["upper"] >= given.totals["upper"]).all()
    same = risk_intervals(program, card, bootstraps=20, n_jobs=2, progress=False)
    pd.testing.assert_frame_equal(same.rows, given.rows)


def test_the_pool_adds_the_range_of_its_cards(found: Any) -> None:
    program, card, _ = found
    cards = pool(program, epsilon=0.01, max_cards=500, progress=False)
    given = risk_intervals(program, card, pool=cards, bootstraps=3, progress=False)
    design = program.statement.design
    every = []
    for each in cards.cards:
        scores = design.X @ each.coefficients + float(each.intercept)
        every.append(1 / (1 + np.exp(-scores / float(each.scale))))
    assert given.rows["pool_least"].min() == pytest.approx(np.min(every))
    assert given.rows["pool_most"].max() == pytest.approx(np.max(every))
    ax = plots.instability(given, Figure().add_subplot())
    assert "the same, all nearly best cards" in [
        text.get_text() for text in ax.get_legend().get_texts()
    ]


def test_the_report_lists_the_interval_of_every_total(tmp_path: Path) -> None:
    X, y, _ = cohort(300, 0)
    program, result = fit_card(
        make_design(X, y), "risk_score", progress=False, max_terms=2, coef_min=-2, coef_max=2
    )
    proof = certify(program, result, evidence="none")
    report(proof, X, y, path=tmp_path / "card.html", bootstraps=5, progress=False)
    page = " ".join((tmp_path / "card.html").read_text(encoding="utf-8").split())
    assert "What 5 cards made again state for the rows of each total" in page
    card = certified_card(program.statement.design, result, statement=program.statement)
    again = risk_intervals(program, card, bootstraps=5, progress=False).totals
    for row in again.itertuples():  # the same samples, the same cards
        assert f"{row.lower:.1%} to {row.upper:.1%}" in page


@pytest.mark.slow
def test_intervals_cover_the_true_mean_risk_of_each_total() -> None:
    """Count 40 cohorts; benchmarks/bench_intervals.py counts 200."""
    whole, _, true = cohort(100_000, 10**6)
    covered, weight = [], []
    for seed in range(40):
        program, card = made(500, seed)
        given = risk_intervals(program, card, bootstraps=60, random_state=seed, progress=False)
        totals = card.score(whole)
        for row in given.totals.itertuples():
            mean = true[totals == row.total].mean()
            covered.append(row.lower <= mean <= row.upper)
            weight.append(row.rows)
    assert 0.91 <= np.average(covered, weights=weight) <= 0.98


def test_what_has_no_interval_is_refused(found: Any) -> None:
    program, card, _ = found
    X, y, _ = cohort(200, 1)
    design = make_design(X, y)
    slim, result = fit_card(design, "slim", heuristic=True, progress=False)
    decides = certified_card(design, result, statement=slim.statement)
    with pytest.raises(NotApplicableError, match="states no risks"):
        risk_intervals(slim, decides)
    with pytest.raises(OptionError, match="level"):
        risk_intervals(program, card, level=1.0)
    with pytest.raises(OptionError, match="bootstraps"):
        risk_intervals(program, card, bootstraps=1)
