"""The risk score estimator: what it optimises, its probabilities, and its calibration table."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score
from typer.testing import CliRunner

import milpscore
from milpscore.cli.app import app
from milpscore.core.errors import DataError, FormulationError, OptionError
from milpscore.data import Binner, make_design
from milpscore.estimators import (
    ESTIMATORS,
    OneStandardErrorCV,
    RiskScoreClassifier,
    SlimClassifier,
)
from milpscore.fitting import fit_card
from milpscore.formulations import risk_score
from milpscore.scorecard import Scorecard
from milpscore.verify import check

KNOWN = {
    "haberman": 0.57796757,
    "bankruptcy": 0.01239852,
    "mammo": 0.46855923,
    "breastcancer": 0.11336465,
}
"""Least objectives at five terms, points in [-5, 5] and an L0 penalty of 1e-6."""


def patients(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Whole-number features whose labels follow a logistic model."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{j}": rng.integers(0, 4, n) for j in range(4)})
    chance = 1 / (1 + np.exp(-(2 * X["x0"] - X["x1"] - 1.5)))
    return X, (rng.random(n) < chance).to_numpy().astype(int)


RAW: dict[str, Any] = {"binner": None, "heuristic": True}


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, Any]:
    return patients()


@pytest.fixture(scope="module")
def model(data: Any) -> RiskScoreClassifier:
    return RiskScoreClassifier(binner=None, max_terms=2, time_limit=300).fit(*data)


# ------------------------------------------------------------------ what is optimised


def test_the_loss_is_scikit_learns_log_loss(data: Any, model: Any) -> None:
    X, y = data
    chances = model.predict_proba(X)
    assert model.result_.verified
    assert model.result_.loss == pytest.approx(log_loss(y, chances), abs=1e-12)
    terms = np.count_nonzero(model.coef_)
    assert model.result_.objective == pytest.approx(model.result_.loss + 1e-6 * terms, abs=1e-12)
    assert model.result_.dual_bound <= model.result_.objective
    assert model.score(X, y) == 1 - model.scorecard_.certificate["errors"] / len(y)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_the_scale_divides_the_total(data: Any, scale: float) -> None:
    X, y = data
    found = RiskScoreClassifier(binner=None, scale=scale, heuristic=True, time_limit=300).fit(X, y)
    totals = X.to_numpy() @ found.coef_[0] + float(found.scorecard_.intercept)
    np.testing.assert_allclose(found.predict_proba(X)[:, 1], 1 / (1 + np.exp(-totals / scale)))
    assert found.result_.loss == pytest.approx(log_loss(y, found.predict_proba(X)), abs=1e-12)


def test_a_finer_scale_of_points_fits_closer(data: Any) -> None:
    losses = [
        RiskScoreClassifier(
            binner=None, scale=scale, heuristic=True, intercept="real", coef_min=-20, coef_max=20
        )
        .fit(*data)
        .result_.loss
        for scale in (1.0, 8.0)
    ]
    assert losses[1] < losses[0]


@pytest.mark.filterwarnings(
    "ignore:.*not proved to be the best:sklearn.exceptions.ConvergenceWarning"
)
@pytest.mark.parametrize("name", KNOWN)
def test_the_known_optima_are_found(name: str, uci: Any) -> None:
    X, y = uci(name)
    fast = RiskScoreClassifier(binner=None, scale=1.0, max_terms=5, heuristic=True, polish=True)
    found = fast.fit(X, y)
    assert found.result_.objective == pytest.approx(KNOWN[name], abs=1e-8)
    proved = RiskScoreClassifier(binner=None, scale=1.0, max_terms=5, time_limit=300).fit(X, y)
    assert proved.result_.objective <= KNOWN[name] + 1e-8
    assert proved.result_.dual_bound <= KNOWN[name] + 1e-8


def test_weights_count_rows_and_classes(data: Any) -> None:
    X, y = data
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    fast = RiskScoreClassifier(binner=None, heuristic=True)
    weighted = clone(fast).fit(X, y, sample_weight=weight)
    repeated = clone(fast).fit(X.iloc[rows], y[rows])
    assert weighted.result_.objective == pytest.approx(repeated.result_.objective, abs=1e-12)
    columns = ["total", "risk", "observed"]
    pd.testing.assert_frame_equal(weighted.risk_table_[columns], repeated.risk_table_[columns])
    balanced = clone(fast).set_params(class_weight="balanced").fit(X, y)
    share = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    mean = np.average(balanced.predict_proba(X)[:, 1], weights=share)
    assert mean == pytest.approx(0.5, abs=0.05)  # the risks are those of the balanced classes
    assert balanced.result_.loss == pytest.approx(
        log_loss(y, balanced.predict_proba(X), sample_weight=share), abs=1e-12
    )


def test_penalties_reach_the_program(data: Any) -> None:
    plain = RiskScoreClassifier(**RAW).fit(*data)
    for penalty in ("l1", "l2", "facets"):
        small = RiskScoreClassifier(binner=None, heuristic=True, penalty=penalty, lam=0.2).fit(
            *data
        )
        assert np.abs(small.coef_).sum() < np.abs(plain.coef_).sum()
        w = np.abs(small.coef_).astype(float)
        size = {"l1": w, "l2": w**2 / 2, "facets": (w**2 + w) / 2}[penalty].sum()
        expected = 0.2 * size + 1e-6 * np.count_nonzero(w)
        assert small.result_.penalty == pytest.approx(expected, abs=1e-12)
    known = RiskScoreClassifier(
        binner=None, heuristic=True, penalty="eye", lam=0.05, expert=["x1"]
    ).fit(*data)
    assert known.result_.verified


# ------------------------------------------------------------------ the fast mode


def test_the_heuristic_claims_no_more_than_it_knows(data: Any) -> None:
    X, y = data
    found = RiskScoreClassifier(binner=None, max_terms=2, heuristic=True).fit(X, y)
    result = found.result_
    assert (str(result.claim), str(result.termination)) == ("feasible", "heuristic")
    assert result.dual_bound == -np.inf
    assert result.solver == "heuristic"
    assert "nothing is proved about better cards" in str(found.scorecard_)
    program = risk_score(X, y, max_terms=2)
    assert check(program, result.card).objective == result.objective
    again = RiskScoreClassifier(binner=None, max_terms=2, heuristic=True).fit(X, y)
    assert again.scorecard_.card == found.scorecard_.card


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(4))
def test_a_proof_that_is_cut_short_answers_no_worse_than_fast_mode(seed: int) -> None:
    X, y = patients(300, seed)
    fast = RiskScoreClassifier(heuristic=True).fit(X, y)
    short = RiskScoreClassifier(node_limit=1).fit(X, y)
    assert short.result_.objective <= fast.result_.objective + 1e-9


def test_the_heuristic_is_for_exact_programs_only(data: Any) -> None:
    with pytest.raises(OptionError, match="leave heuristic out"):
        fit_card(make_design(*data), "convex_rounding", heuristic=True)
    with pytest.raises(OptionError, match="time_limit"):
        fit_card(make_design(*data), "risk_score", heuristic=True, time_limit=-1)
    _, result = fit_card(
        make_design(*data), "slim", heuristic=True, coef_min=1, max_terms=1, time_limit=300
    )
    assert result.card is None
    assert str(result.claim) == "none"
    assert "no card that meets every constraint" in result.message


# ------------------------------------------------------------------ probabilities


@pytest.mark.parametrize("scale", [1.0, "auto"])
def test_probabilities_agree_with_every_other_answer(data: Any, scale: Any) -> None:
    X, y = data
    model = RiskScoreClassifier(
        binner=None, max_terms=2, time_limit=300, scale=scale, threshold_by="net-benefit=50%"
    ).fit(X, y)
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), 2)
    np.testing.assert_array_equal(model.classes_[np.argmax(chances, axis=1)], model.predict(X))
    np.testing.assert_array_equal(chances[:, 1] > 0.5, model.decision_function(X) > 0)
    np.testing.assert_array_equal(chances, model.scorecard_.predict_proba(X))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(chances))
    order = roc_auc_score(data[1], chances[:, 1])
    assert order == roc_auc_score(data[1], model.decision_function(X))
    if scale == 1.0:  # ties occur
        assert (model.scorecard_.score(X) == float(model.scorecard_.threshold)).any()


def test_only_likelihoods_have_probabilities(data: Any) -> None:
    for loss in ("logistic", "probit"):
        assert hasattr(RiskScoreClassifier(binner=None, loss=loss), "predict_proba")
    for loss in ("squared", "squared_hinge", "poisson"):
        found = RiskScoreClassifier(binner=None, loss=loss, heuristic=True, time_limit=300)
        assert not hasattr(found, "predict_proba")
        assert not hasattr(OneStandardErrorCV(found), "predict_proba")
        found.fit(*data)
        assert found.scorecard_.risk is None
        assert found.risk_table_["risk"].isna().all()
        assert found.risk_table_["observed"].between(0, 1).all()
    assert hasattr(OneStandardErrorCV(RiskScoreClassifier()), "predict_proba")
    assert not hasattr(OneStandardErrorCV(SlimClassifier()), "predict_proba")


def test_probit_risks_fit_the_probit_loss(data: Any) -> None:
    X, y = data
    found = RiskScoreClassifier(binner=None, loss="probit", heuristic=True, scale=2.0).fit(X, y)
    assert found.result_.loss == pytest.approx(log_loss(y, found.predict_proba(X)), abs=1e-12)


def test_text_labels_and_bins(data: Any) -> None:
    X, y = data
    labels = np.where(y == 1, "ill", "healthy")
    found = RiskScoreClassifier(binner=Binner(3, encoding="onehot"), heuristic=True, max_terms=3)
    with pytest.warns(UserWarning, match="scores 'ill', the last label in order"):
        found.fit(X, labels)
    assert found.classes_.tolist() == ["healthy", "ill"]
    assert found.predict_proba(X)[labels == "ill", 1].mean() > 0.6
    assert "Risk: the probability of ill" in str(found.scorecard_)


# ------------------------------------------------------------------ the calibration table


def test_the_table_is_the_grouped_training_data(data: Any, model: Any) -> None:
    X, y = data
    totals = X.to_numpy() @ model.coef_[0]
    grouped = pd.Series(y).groupby(totals).agg(["mean", "size", "sum"])
    table = model.risk_table_
    assert table["total"].tolist() == grouped.index.tolist()
    np.testing.assert_allclose(table["observed"], grouped["mean"])
    assert table["rows"].tolist() == grouped["size"].tolist()
    assert table["positives"].tolist() == grouped["sum"].tolist()
    assert (table["lower"] <= table["observed"]).all()
    assert (table["observed"] <= table["upper"]).all()
    scale = model.scorecard_.risk.scale
    expected = 1 / (1 + np.exp(-(table["total"] + float(model.scorecard_.intercept)) / scale))
    np.testing.assert_allclose(table["risk"], expected, rtol=1e-12)
    # slope and intercept are free: mean risk and mean total are those of the positives
    mean = np.average(table["risk"], weights=table["rows"])
    assert mean == pytest.approx(y.mean(), abs=1e-8)
    assert table["total"] @ (table["risk"] * table["rows"]) == pytest.approx(
        table["total"] @ table["positives"], abs=1e-5
    )


def test_a_real_intercept_calibrates_in_the_large(data: Any) -> None:
    X, y = data
    found = RiskScoreClassifier(binner=None, intercept="real", heuristic=True).fit(X, y)
    assert found.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=1e-8)


def test_held_out_rows_have_a_table_too(model: Any) -> None:
    X, y = patients(80, seed=9)
    table = model.calibration_table(X, y)
    assert table["rows"].sum() == 80
    np.testing.assert_array_equal(
        model.calibration_table(*patients())["observed"], model.risk_table_["observed"]
    )
    with pytest.raises(DataError, match="labels other than"):
        model.calibration_table(X, np.where(y == 1, 2, 0))


# ------------------------------------------------------------------ cross-validation


def test_cross_validation_chooses_by_the_log_likelihood(data: Any) -> None:
    X, y = data
    search = OneStandardErrorCV(
        RiskScoreClassifier(binner=None, heuristic=True, time_limit=300),
        grid={"max_terms": (0, 1, 2)},
        cv=3,
    ).fit(X, y)
    assert search.best_params_["max_terms"] in (1, 2)
    by_hand = cross_val_score(
        RiskScoreClassifier(binner=None, heuristic=True, time_limit=300, max_terms=2), X, y,
        cv=search._folds(), scoring="neg_log_loss",
    )  # fmt: skip
    assert search.cv_results_["mean_test_score"][2] == pytest.approx(by_hand.mean())
    np.testing.assert_array_equal(search.predict_proba(X), search.best_estimator_.predict_proba(X))
    assert (search.predict_log_proba(X) <= 0).all()


def test_registry_and_refusals(data: Any) -> None:
    assert ESTIMATORS["risk-score"] is RiskScoreClassifier
    with pytest.raises(FormulationError, match="two classes"):
        RiskScoreClassifier(binner=None, loss="multinomial").fit(*data)
    with pytest.raises(FormulationError, match="needs a penalty"):
        RiskScoreClassifier(binner=None, lam=0.1).fit(*data)


# ------------------------------------------------------------------ command line, comparison


@pytest.fixture
def csv(tmp_path: Path, data: Any) -> Path:
    X, y = data
    path = tmp_path / "patients.csv"
    X.assign(ill=np.where(y == 1, "yes", "no")).to_csv(path, index=False)
    return path


def run(*arguments: object) -> Any:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done


FIT = ("--target", "ill", "--formulation", "risk-score", "--max-terms", 2, "--time-limit", 300)


def test_fit_prints_risks_and_predict_gives_them(csv: Path, tmp_path: Path, data: Any) -> None:
    out = tmp_path / "card.json"
    shown = run("fit", csv, *FIT, "--set", "scale=2", "--out", out).stdout
    for text in ("Risk     |", "Observed |", "Risk: the probability of yes", "mean logistic loss"):
        assert text in shown
    assert "Training errors" not in shown
    card = Scorecard.load(out)
    assert card.risk is not None
    assert card.risk.scale == 2.0
    answers = pd.read_csv(io.StringIO(run("predict", out, csv, "--scores").stdout))
    assert list(answers.columns) == ["total", "prediction", "risk"]
    np.testing.assert_allclose(answers["risk"], card.predict_proba(data[0])[:, 1], rtol=1e-15)
    assert ((answers["risk"] > 0.5) == (answers["prediction"] == "yes")).all()


def test_the_json_report_has_the_loss(csv: Path, data: Any) -> None:
    report = json.loads(run("fit", csv, *FIT, "--json").stdout)
    X, y = data
    w = pd.Series(report["coefficients"])
    z = (Binner().fit_design(X, y).X @ w.to_numpy() + report["intercept"]) / report["scale"]
    loss = np.mean(np.log1p(np.exp(-np.where(y == 1, z, -z))))
    assert report["loss"] == pytest.approx(loss, abs=1e-12)
    assert report["bound"] <= report["objective"]


def test_list_and_compare_know_it(csv: Path) -> None:
    listed = run("list").stdout
    assert "risk-score" in listed
    assert "scale" in listed
    shown = run(
        "compare", csv, "--target", "ill", "--formulations", "risk-score", "--max-terms", 2,
        "--time-limit", 300, "--cv", 0,
    ).stdout  # fmt: skip
    assert "risk-score" in shown
    assert "exact" in shown


def test_compare_keeps_its_order(data: Any) -> None:
    table = milpscore.compare(
        *data, formulations=["risk_score", "hinge"], max_terms=2, cv=None, time_limit=300
    ).table.set_index(["formulation", "kind"])
    rows = table.loc["risk_score"]
    assert rows.loc[["exact", "randomised", "nearest"], "verified"].all()
    assert rows.loc["relaxed", "bound"] <= rows.loc["exact", "objective"] + 1e-9
    for rounded in ("randomised", "nearest"):
        assert rows.loc["exact", "objective"] <= rows.loc[rounded, "objective"] + 1e-9
    result = milpscore.compare(
        *data, formulations=["risk_score"], max_terms=2, cv=None, time_limit=300
    ).results["risk_score", "exact"]
    figures = check(risk_score(Binner().fit_design(*data), max_terms=2), result.card)
    assert figures.feasible
    assert figures.objective == pytest.approx(result.objective, abs=1e-12)
