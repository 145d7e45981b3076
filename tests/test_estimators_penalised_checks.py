"""scikit-learn's own battery on every penalised linear estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from milpscore.core.errors import OptionError
from milpscore.estimators import (
    EXPECTED_FAILED_CHECKS,
    PENALISED,
    BinarsityClassifierCV,
    EyeClassifierCV,
    FacetsClassifier,
    FacetsClassifierCV,
    FacetsRegressorCV,
    PenalisedClassifier,
    PenalisedClassifierCV,
    PenalisedModel,
    PenalisedRegressor,
    penalised_class,
)

TASKS: tuple[Any, ...] = ("classifier", "regressor")
PLAIN = [penalised_class(name, task)() for name in PENALISED for task in TASKS]
SHORT: dict[str, Any] = {"n_lams": 2, "ratio": 0.1, "cv": 2}
CANDIDATES = [
    *PLAIN,
    FacetsClassifier(eps=0.1),
    PenalisedClassifier(loss="multinomial"),
    PenalisedRegressor(loss="poisson"),
    PenalisedClassifierCV(**SHORT),
    FacetsClassifierCV(**SHORT),
    EyeClassifierCV(**SHORT),
    BinarsityClassifierCV(**SHORT),
    FacetsRegressorCV(**SHORT),
]


def expected(estimator: Any) -> dict[str, str]:
    return EXPECTED_FAILED_CHECKS.get(type(estimator).__name__, {})


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CANDIDATES, expected_failed_checks=expected)
def test_scikit_learn_check(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_the_registry() -> None:
    assert all(isinstance(model, PenalisedModel) for model in PLAIN)
    assert penalised_class("facets") is FacetsClassifier
    for name in PENALISED:
        for task in TASKS:
            search: Any = penalised_class(name, task, cv=True)
            assert search.template is penalised_class(name, task)
    with pytest.raises(OptionError, match="there are any, binarsity, eye, facets"):
        penalised_class("owl")
