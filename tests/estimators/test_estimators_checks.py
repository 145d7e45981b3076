"""scikit-learn's own battery on every estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from milpscore.estimators import (
    ESTIMATORS,
    ConvexRoundingClassifier,
    FacetsHingeClassifier,
    FusedLassoClassifier,
    HingeClassifier,
    OneStandardErrorCV,
    OrdinalScoreClassifier,
    RiskScoreClassifier,
    SlimClassifier,
    SparseRoundingClassifier,
)

# Node limits stop at the same point on every machine; all other parameters are the defaults.
QUICK = [
    SlimClassifier(node_limit=1),
    HingeClassifier(node_limit=10),
    RiskScoreClassifier(heuristic=True, scale=2.0),
    OrdinalScoreClassifier(node_limit=1),
    ConvexRoundingClassifier(),
    SparseRoundingClassifier(),
    OneStandardErrorCV(SparseRoundingClassifier(), grid={"max_terms": (1, 2)}, cv=2),
]
LONG = [
    RiskScoreClassifier(node_limit=3),
    FacetsHingeClassifier(node_limit=10),
    FusedLassoClassifier(node_limit=10),
    OneStandardErrorCV(RiskScoreClassifier(heuristic=True), grid={"max_terms": (1, 2)}, cv=2),
]


def odd(estimator: Any) -> dict[str, str]:
    """Checks that do not fit an estimator: of more classes scores have one column a class."""
    ordered = isinstance(estimator, OrdinalScoreClassifier)
    why = "takes more classes, in order, and scores them by one total"
    return {"check_classifier_not_supporting_multiclass": why} if ordered else {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(QUICK, expected_failed_checks=odd)
def test_scikit_learn_check(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(LONG)
def test_long_scikit_learn_check(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_every_formulation_goes_through_the_battery() -> None:
    assert set(ESTIMATORS.values()) <= {type(candidate) for candidate in [*QUICK, *LONG]}
