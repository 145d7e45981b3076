"""The estimator of times to an event."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from milpscore.constraints import Sign
from milpscore.core.errors import DataError, MissingDependencyError
from milpscore.data import survival_target
from milpscore.estimators import SurvivalScoreEstimator
from tests.survival_cases import small_times


def _cohort(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(30, 90, rows), "ward": rng.choice(["A", "B"], rows)})
    hazard = np.exp(0.04 * (X["age"] - 60) + 0.8 * (X["ward"] == "B"))
    time, lost = rng.exponential(1 / hazard), rng.uniform(0.5, 3.0, rows)
    return X, survival_target(time <= lost, np.minimum(time, lost) + 0.01)


@pytest.mark.parametrize("exposure", ["time", "discrete"])
def test_fit_and_predict(exposure):
    X, y = _cohort()
    given = {"exposure": exposure, "times": 8 if exposure == "discrete" else 20}
    model = SurvivalScoreEstimator(max_terms=3, at=[0.5, 1.0], **given).fit(X, y)
    assert str(model.result_.claim) == "optimal"
    assert model.predict(X) == pytest.approx(model.card_.score(X) / model.card_.scale)
    risks = model.predict_risk(X)
    assert risks.shape == (200, 2)
    curves = model.predict_survival_function(X, return_array=True)
    assert curves.shape == (200, len(model.unique_times_))
    assert (np.diff(curves, axis=1) <= 0).all()
    hazards = model.predict_cumulative_hazard_function(X, return_array=True)
    assert np.exp(-hazards) == pytest.approx(curves)
    # who is stated to be at higher risk has events earlier
    order = np.argsort(model.predict(X))
    assert y["event"][order[-50:]].mean() > y["event"][order[:50]].mean()
    assert model.coef_.shape == model.get_feature_names_out().shape
    assert model.certificate(progress=False).evidence["kind"] == "leaves"


def test_copies_and_pickles_answer_alike():
    X, y = _cohort()
    model = SurvivalScoreEstimator(max_terms=2, constraints=[Sign("age", "+")]).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(X) == pytest.approx(model.predict(X))
    assert again.program_.formulation == "survival_score"
    assert clone(model).fit(X, y).card_.to_text() == model.card_.to_text()


def test_designs_and_entries():
    design = small_times(1, late=True)
    held = SurvivalScoreEstimator(max_terms=2, binner=None).fit(design)
    y = survival_target(design.event, design.time)
    given = SurvivalScoreEstimator(max_terms=2, binner=None).fit(design.X, y, entry=design.entry)
    assert held.result_.objective == pytest.approx(given.result_.objective)
    with_entry = survival_target(design.event, design.time, design.entry)
    third = SurvivalScoreEstimator(max_terms=2, binner=None).fit(design.X, with_entry)
    assert third.result_.objective == pytest.approx(given.result_.objective)
    assert held.predict(design) == pytest.approx(given.predict(design.X))
    with pytest.raises(DataError, match="already holds"):
        SurvivalScoreEstimator().fit(design, y)


def test_what_is_not_proved_is_said():
    X, y = _cohort()
    with pytest.warns(ConvergenceWarning, match="not proved"):
        SurvivalScoreEstimator(max_terms=4, node_limit=1, use_start=False).fit(X, y)
    fast = SurvivalScoreEstimator(heuristic=True).fit(X, y)
    assert str(fast.result_.claim) == "feasible"


@pytest.mark.parametrize(
    "y", [None, np.arange(200), np.zeros(200, dtype=[("a", "f8"), ("b", "f8")])]
)
def test_other_targets_are_refused(y):
    X, _ = _cohort()
    with pytest.raises(DataError, match="structured array"):
        SurvivalScoreEstimator().fit(X, y)


@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_a_time_that_is_not_finite_is_refused(odd):
    X, y = _cohort()
    y["time"][3] = odd
    with pytest.raises(
        DataError, match=r"no finite number as time \(first (nan|inf)\), row\(s\) 3"
    ):
        SurvivalScoreEstimator().fit(X, y)


def test_concordance_is_that_of_scikit_survival():
    X, y = _cohort()
    model = SurvivalScoreEstimator(max_terms=2).fit(X, y)
    try:
        from sksurv import metrics
    except ModuleNotFoundError:
        with pytest.raises(MissingDependencyError, match=r"milpscore\[survival\]"):
            model.score(X, y)
        return
    expected = metrics.concordance_index_censored(y["event"], y["time"], model.predict(X))[0]
    assert model.score(X, y) == pytest.approx(expected)
    curves = model.predict_survival_function(X)
    array = model.predict_survival_function(X, return_array=True)
    assert curves[3](model.unique_times_) == pytest.approx(array[3])
