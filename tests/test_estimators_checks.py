"""scikit-learn's own battery on every estimator, and the minute it may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from milpscore.estimators import (
    ESTIMATORS,
    ConvexRoundingClassifier,
    FacetsHingeClassifier,
    FusedLassoClassifier,
    HingeClassifier,
    OneStandardErrorCV,
    RiskScoreClassifier,
    SlimClassifier,
    SparseRoundingClassifier,
)

# Node limits stop at the same point on every machine; all other parameters are the defaults.
CANDIDATES = [
    SlimClassifier(node_limit=50),
    HingeClassifier(),
    RiskScoreClassifier(node_limit=50),
    RiskScoreClassifier(heuristic=True, scale=2.0),
    FacetsHingeClassifier(),
    ConvexRoundingClassifier(),
    SparseRoundingClassifier(),
    FusedLassoClassifier(),
    OneStandardErrorCV(SlimClassifier(node_limit=1), grid={"max_terms": (1, 2)}, cv=2),
    OneStandardErrorCV(RiskScoreClassifier(heuristic=True), grid={"max_terms": (1, 2)}, cv=2),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CANDIDATES)
def test_scikit_learn_check(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_every_formulation_goes_through_the_battery() -> None:
    assert set(ESTIMATORS.values()) <= {type(candidate) for candidate in CANDIDATES}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_default_limits_keep_the_battery_under_a_minute() -> None:
    # Of all estimators only slim meets checks whose data it cannot prove optimal in seconds.
    started = time.perf_counter()
    verdicts = check_estimator(SlimClassifier(time_limit=4), on_fail=None, on_skip=None)
    assert time.perf_counter() - started < 60
    assert not [v["check_name"] for v in verdicts if v["status"] == "failed"]
