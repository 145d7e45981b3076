"""scikit-learn's own battery on every penalised linear estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from milpscore.estimators import (
    BinarsityClassifier,
    BinarsityRegressor,
    EyeClassifier,
    EyeRegressor,
    FacetsClassifier,
    FacetsRegressor,
    OneStandardErrorCV,
    PenalisedClassifier,
    PenalisedRegressor,
)

SHORT: dict[str, Any] = {"n_lams": 2, "ratio": 0.1, "cv": 2}
CANDIDATES = [
    PenalisedClassifier(),
    PenalisedRegressor(),
    FacetsClassifier(),
    FacetsRegressor(),
    EyeClassifier(),
    EyeRegressor(),
    BinarsityClassifier(),
    BinarsityRegressor(),
    FacetsClassifier(eps=0.1),
    PenalisedClassifier(loss="multinomial", tol=1e-10),  # rows are to count alike to 1e-7
    PenalisedRegressor(loss="poisson"),
    OneStandardErrorCV(PenalisedClassifier(), **SHORT),
    OneStandardErrorCV(BinarsityClassifier(), **SHORT),
    OneStandardErrorCV(FacetsRegressor(), **SHORT),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CANDIDATES)
def test_scikit_learn_check(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
