"""Table 1 of the Facets paper: learners chosen on inner folds, measured on outer ones."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from experiments.facets.grid import FacetsTable2
from experiments.facets.table1 import (
    FacetsPrinted,
    FacetsTable1,
    every_learner,
)
from milpscore.penalties import StronglyConvexFacets
from milpscore.proximal import fit_proximal

QUICK = ("golovin", "ridge", "facets", "facets_whole")


def planted(seed: int = 0, n: int = 120) -> tuple[Any, Any]:
    """Four columns of 0..2; the label is a score of two of them, a tenth of the labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 4))
    y = (2 * X[:, 0] - X[:, 1] >= 1) ^ (rng.random(n) < 0.1)
    return X, y.astype(int)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One set under a name of the paper's."""
    where = tmp_path_factory.mktemp("sets")
    X, y = planted(n=90)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "label", y)
    frame.to_csv(where / "haberman.csv", index=False)
    return str(where)


def table1(folder: str, learners: tuple[str, ...] = QUICK) -> FacetsTable1:
    return FacetsTable1(
        data=folder, sets=("haberman",), outer=3, inner=2, grid=(8, 4), learners=learners
    )


@pytest.mark.slow
def test_every_learner_is_measured(folder: str) -> None:
    found = table1(folder, ()).run()
    rows = found.summary.set_index("learner")
    assert list(rows.index) == list(every_learner(FacetsTable1(), 0))
    strong = ["slim", "risk_score", "lasso", "ridge", "logistic", "facets", "facets_whole"]
    assert (rows.loc[strong, "accuracy"] > 0.8).all()
    cards = ["convex_rounding", "golovin", "slim", "risk_score", "facets_whole"]
    assert (rows.loc[cards, "whole"] == 3).all()


def test_the_printed_model_is_the_best_integral_one_on_inner_folds() -> None:
    """By single fits without an intercept, columns standardised on the rows they are fitted to."""
    X, y = planted(3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    alphas, betas = (0.3, 0.1, 0.03), (0.1, 1.0, 5.0)
    protocol = FacetsTable2(sets=(), alphas=alphas, betas=betas)
    found = FacetsPrinted(inner=3, protocol=protocol).fit(X, y)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=1).split(X, y))

    def fitted(rows: Any, labels: Any, alpha: float, beta: float) -> Any:
        penalty = StronglyConvexFacets(alpha * alpha / beta, gamma=alpha / beta)
        return fit_proximal(rows, labels, penalty=penalty, intercept=False, tol=1e-9).coefficients

    held = {}
    for alpha, beta in product(alphas, betas):
        multiples = fitted(X, y, alpha, beta) * beta / alpha
        if multiples.any() and np.allclose(multiples, np.rint(multiples), atol=1e-6):
            right = []
            for train, test in folds:
                mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
                w = fitted((X[train] - mean) / spread, y[train], alpha, beta)
                right.append((((X[test] - mean) / spread @ w >= 0) == y[test]).mean())
            held[alpha, beta] = np.mean(right)
    assert 2 <= len(held) < 9
    alpha, beta = max(held, key=lambda cell: held[cell])
    assert found.unit_ == pytest.approx(alpha / beta)
    np.testing.assert_allclose(found.coef_, fitted(X, y, alpha, beta), atol=1e-6)
    nothing = FacetsPrinted(protocol=FacetsTable2(sets=(), alphas=(9.0,), betas=(1.0,))).fit(X, y)
    assert not nothing.coef_.any()
