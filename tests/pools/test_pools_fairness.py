"""Gaps between groups of rows over a pool, by their definition."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.data import make_design
from milpscore.formulations import risk_score, slim, survival_score
from milpscore.pools import fairest, group_gaps, pool
from milpscore.scorecard.certified import shown_card
from tests.survival_cases import small_times


def _table(seed=0, rows=90, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, 4)).astype(float)
    y = (rng.random(rows) < 1 / (1 + np.exp(1.2 - X @ [1.2, 0.9, 0.6, 0.0]))).astype(int)
    by = np.where(rng.random(rows) < 0.3 + 0.4 * X[:, 0], "a", np.where(X[:, 1] > 0, "b", "c"))
    weight = rng.choice([1.0, 2.0], rows) if weighted else None
    return X, y, by, weight


@pytest.mark.parametrize("weighted", [False, True])
def test_gaps_are_those_of_the_printed_cards(weighted):
    X, y, by, weight = _table(weighted=weighted)
    design = make_design(X, y, sample_weight=weight)
    program = risk_score(design, max_terms=2, coef_min=-3, coef_max=3)
    found = pool(program, epsilon=0.05, progress=False)
    assert found.complete
    assert len(found) > 3
    table = group_gaps(found, by)
    assert table["loss"].to_numpy() == pytest.approx(found.losses)
    own = np.ones(len(y)) if weight is None else weight
    for k, card in enumerate(found.cards):
        printed = shown_card(program.statement, card)
        frame = pd.DataFrame(X, columns=design.names)
        answer, risk = printed.predict(frame), printed.predict_proba(frame)[:, 1]
        rates: dict[str, list[float]] = {"selection": [], "tpr": [], "fpr": [], "off": []}
        for group in np.unique(by):
            for name, rows in (
                ("selection", by == group),
                ("tpr", (by == group) & (y == 1)),
                ("fpr", (by == group) & (y == 0)),
            ):
                rates[name].append(np.average(answer[rows], weights=own[rows]))
            rows = by == group
            rates["off"].append(abs(np.average((risk - y)[rows], weights=own[rows])))
        for name in ("selection", "tpr", "fpr"):
            assert table[name][k] == pytest.approx(np.ptp(rates[name]), abs=1e-12)
        assert table["calibration"][k] == pytest.approx(max(rates["off"]), abs=1e-9)


@pytest.mark.parametrize("gap", ["selection", "tpr", "fpr", "calibration"])
def test_the_fairest_has_the_least_gap(gap):
    X, y, by, _ = _table(1)
    found = pool(risk_score(make_design(X, y), max_terms=3), epsilon=0.05, progress=False)
    table, best = group_gaps(found, by), fairest(found, by, gap)
    assert best.gap == table[gap].min() <= best.best_gap == table[gap][0]
    assert best.place == np.flatnonzero(table[gap] <= best.gap + 1e-12)[0]
    assert best.proved
    assert best.loss >= best.best_loss


def test_cards_without_risks_have_no_calibration():
    X, y, by, _ = _table(2)
    found = pool(slim(make_design(X, y), max_terms=2), epsilon=0.1, progress=False)
    table = group_gaps(found, by)
    assert table["calibration"].isna().all()
    assert not table["tpr"].isna().any()
    with pytest.raises(OptionError, match="calibration"):
        fairest(found, by, "calibration")


def test_a_group_without_positives_has_no_rate_of_them():
    X, y, by, _ = _table(3)
    by = np.where(y == 0, "only negatives", by)
    table = group_gaps(pool(risk_score(make_design(X, y), max_terms=1), progress=False), by)
    assert table["fpr"].isna().all()  # one group alone has any
    assert not table["tpr"].isna().any()
    missing = group_gaps(
        pool(risk_score(make_design(X, y), max_terms=1), progress=False),
        np.where(X[:, 0] > 0, math.nan, 1.0),
    )
    assert (missing["selection"] >= 0).all()


def test_bad_groups_are_refused():
    X, y, by, _ = _table()
    found = pool(risk_score(make_design(X, y), max_terms=1), progress=False)
    with pytest.raises(DataError, match="one group each"):
        group_gaps(found, by[:-1])
    with pytest.raises(DataError, match="one group"):
        group_gaps(found, np.zeros(len(y)))
    with pytest.raises(OptionError, match="must be one of"):
        fairest(found, by, "f1")
    timed = pool(survival_score(small_times(0), max_terms=1, times=3), progress=False)
    with pytest.raises(NotApplicableError, match="times"):
        group_gaps(timed, np.arange(40) % 2)
