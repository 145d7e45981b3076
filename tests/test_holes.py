"""Imputed tables as one program, patients drawn together, Rubin's rules, lines for the missing."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore import RiskScoreClassifier, solve
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.core.result import Claim
from milpscore.data import make_design
from milpscore.data.checking import patient_codes
from milpscore.formulations import risk_score
from milpscore.holes import Imputed, missing_products, stack_imputations
from milpscore.metrics import auc, auc_variance, rubin
from milpscore.penalties import L1
from milpscore.pools import risk_intervals, stability
from milpscore.pools.redraws import resampled
from milpscore.scorecard import certified_card
from milpscore.worth import _patient_folds, card_worth


def imputed(rows: int = 80, count: int = 3, seed: int = 0) -> tuple[Imputed, Any]:
    """A table of three columns with holes that are filled by chance."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, (rows, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] + rng.logistic(size=rows) > 1).astype(int)
    holes = rng.random((rows, 3)) < 0.3
    tables = [X.where(~holes, rng.integers(0, 2, (rows, 3))) for _ in range(count)]
    return stack_imputations(tables, y), y


def test_the_card_of_the_stack_has_the_least_mean_loss_over_the_tables() -> None:
    made, y = imputed()
    program = risk_score(
        make_design(made.X, made.y, sample_weight=made.weight), scale=1.0, intercept="integer",
        coef_min=-2, coef_max=2, l0_penalty=0,
    )  # fmt: skip
    result = solve(program, "tree")

    def mean_loss(w: Any, b: int) -> float:
        signs = 2 * np.asarray(y) - 1
        losses = [
            np.logaddexp(0, -signs * (table.to_numpy() @ w + b)).mean() for table in made.tables
        ]
        return float(np.mean(losses))

    cards = itertools.product(*[range(-2, 3)] * 3, range(-8, 9))
    best = min(mean_loss(np.array(w), b) for *w, b in cards)
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(best, abs=1e-9)
    assert made.weight.sum() == pytest.approx(80)
    model = RiskScoreClassifier(max_terms=3).fit(made.X, made.y, sample_weight=made.weight)
    assert model.result_.verified


def test_the_rows_of_a_patient_are_drawn_and_left_out_together() -> None:
    made, _ = imputed()
    design = make_design(made.X, made.y, sample_weight=made.weight)
    codes = patient_codes(design, made.patients)
    assert codes is not None
    seen = []
    for seed in range(30):
        sample = resampled(design, np.random.default_rng(seed), codes)
        # the weight of all samples' patients together is theirs in the table
        seen.append(float(sample.weight.sum()))
        assert sample.rows.sum() == 3 * round(sample.weight.sum())
    assert np.mean(seen) == pytest.approx(80)
    program = risk_score(design, max_terms=2)
    result = solve(program, "tree")
    alone, together = (card_worth(program, result, patients=own) for own in (None, made.patients))
    assert together.rows == alone.rows == 240
    assert together.auc_new != alone.auc_new
    folds, _ = _patient_folds(design, np.random.default_rng(0), codes)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == [*range(240)]
    for train, test in folds:
        assert not {*codes[train].tolist()} & {*codes[test].tolist()}
    card = certified_card(design, result, statement=program.statement)
    wide = risk_intervals(program, card, patients=made.patients, bootstraps=30, progress=False)
    thin = risk_intervals(program, card, bootstraps=30, progress=False)
    width = [(table["upper"] - table["lower"]).mean() for table in (wide.totals, thin.totals)]
    assert width[0] > width[1]  # 80 patients know less than 240 rows would
    found = stability(program, patients=made.patients, bootstraps=3, progress=False)
    assert len(found.samples.made) == 3


def test_rubins_rules_by_their_definition() -> None:
    estimates, variances = np.array([0.70, 0.72, 0.75]), np.array([0.0010, 0.0012, 0.0011])
    found = rubin(estimates, variances)
    between = (1 + 1 / 3) * estimates.var(ddof=1)
    assert found.value == pytest.approx(estimates.mean())
    assert found.variance == pytest.approx(variances.mean() + between)
    assert found.missing_information == pytest.approx(between / found.variance)
    from scipy.stats import t

    freedom = 2 * (1 + variances.mean() / between) ** 2
    half = t.ppf(0.975, freedom) * np.sqrt(found.variance)
    assert (found.lower, found.upper) == pytest.approx((found.value - half, found.value + half))
    same = rubin([0.7, 0.7], [0.01, 0.01])
    assert same.upper - same.lower == pytest.approx(2 * 1.959964 * 0.1, rel=1e-6)
    assert rubin([0.7, 0.7], [0.0, 0.0]) == (0.7, 0.0, 0.7, 0.7, 0.0)


def test_the_variance_of_an_auc_is_that_of_its_placements() -> None:
    rng = np.random.default_rng(1)
    y, scores = rng.integers(0, 2, 60), rng.integers(0, 5, 60)
    positive, negative = scores[y == 1], scores[y == 0]
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    assert wins.mean() == pytest.approx(auc(y, scores))
    expected = wins.mean(1).var(ddof=1) / len(positive) + wins.mean(0).var(ddof=1) / len(negative)
    assert auc_variance(y, scores) == pytest.approx(expected)
    with pytest.raises(DataError, match="two rows of each class"):
        auc_variance([1, 0, 0], [1, 2, 3])


def test_a_product_of_the_missing_is_chosen_beside_its_parents_alone() -> None:
    rng = np.random.default_rng(2)
    n = 600
    age, hole = rng.integers(20, 90, n), rng.random(n) < 0.4
    lactate = np.where(hole, np.nan, rng.integers(1, 9, n))
    score = 2.5 * (hole & (age >= 60)) + 0.8 * (age >= 60) + 0.8 * hole - 1.2
    y = (score + rng.logistic(size=n) > 0).astype(int)
    table = pd.DataFrame({"Age": age, "Lactate": lactate})
    products = missing_products(table, {"Age": [60, 80]})
    wide, rules = products.added_to(table), products.constraints
    assert list(wide.columns) == [
        "Age", "Lactate", "Lactate missing and Age >= 60", "Lactate missing and Age >= 80"
    ]  # fmt: skip
    assert wide.iloc[:, 2].tolist() == (hole & (age >= 60)).astype(int).tolist()
    cuts = {"Age": [60], "Lactate": [4]}
    from milpscore.data import Binner

    design = Binner(thresholds=cuts, missing="bin").fit_design(wide, y)
    result = solve(risk_score(design, constraints=rules, max_terms=4), "tree")
    used = {design.names[j] for j in np.flatnonzero(result.card.coefficients)}
    assert "Lactate missing and Age >= 60" in used
    assert "Lactate missing" in used
    assert any(name.startswith("Age") for name in used)
    few = solve(risk_score(design, constraints=rules, max_terms=2), "tree")
    assert not any("missing and" in design.names[j] for j in np.flatnonzero(few.card.coefficients))
    assert missing_products(table, {"Age": [200]}).names == []
    new = products.added_to(table.head(5))
    pd.testing.assert_frame_equal(new, wide.head(5))


def test_holes_that_cannot_be_filled_so_are_refused() -> None:
    X = pd.DataFrame({"a": [0, 1, 1], "b": [1, 0, 1]})
    with pytest.raises(DataError, match="no imputed table"):
        stack_imputations([], [0, 1, 1])
    with pytest.raises(DataError, match="table 2 has 3 rows"):
        stack_imputations([X, X[["b", "a"]]], [0, 1, 1])
    with pytest.raises(DataError, match="missing values in b"):
        stack_imputations([X, X.assign(b=[1, np.nan, 0])], [0, 1, 1])
    with pytest.raises(DataError, match="must be text"):
        missing_products(pd.DataFrame({0: [1.0]}), {})
    with pytest.raises(DataError, match="no column Aeg"):
        missing_products(X, {"Aeg": [1]})
    taken = pd.DataFrame({"a": [np.nan] * 30 + [1.0] * 30, "b": [0, 1] * 30})
    with pytest.raises(DataError, match="already"):
        missing_products(taken, {"b": [1]}, min_rows=1).added_to(
            taken.assign(**{"a missing and b >= 1": 0})
        )
    with pytest.raises(DataError, match="no column a"):
        missing_products(taken, {"b": [1]}, min_rows=1).added_to(taken[["b"]])
    with pytest.raises(DataError, match="two tables at least"):
        rubin([0.7], [0.1])
    with pytest.raises(OptionError, match="level"):
        rubin([0.7, 0.8], [0.1, 0.1], level=2.0)
    design = make_design(X, [0, 1, 1])
    with pytest.raises(DataError, match="one patient each"):
        patient_codes(design, [1, 2])
    with pytest.raises(NotApplicableError, match="pass the program"):
        stability(L1(0.1), X.to_numpy(float), np.array([0, 1, 1]), patients=[0, 0, 1])


def test_one_imputation_is_the_table_itself() -> None:
    made, y = imputed(count=1)
    assert made.weight.tolist() == [1.0] * 80
    designs = make_design(made.X, made.y, sample_weight=made.weight), make_design(made.X, y)
    cards = [solve(risk_score(each, max_terms=2), "tree") for each in designs]
    assert designs[0].fingerprint == designs[1].fingerprint
    assert cards[0].objective == cards[1].objective
