"""A penalised intercept is the coefficient of a column of ones, on every kind of design."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.linear_model import LogisticRegression

from milpscore.core.errors import OptionError
from milpscore.data import BinnedDesign
from milpscore.penalties import L1, L2, Facets
from milpscore.proximal import fit_proximal


def planted(n: int = 80, p: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, np.where(X @ np.arange(p) + 1.0 + rng.normal(size=n) > 0, 1, -1)


def test_liblinear_penalises_its_intercept_too() -> None:
    X, y = planted()
    lam = 0.05
    ours = fit_proximal(X, y, penalty=L2(lam), intercept="penalised", tol=1e-12)
    theirs = LogisticRegression(C=1 / (lam * len(y)), solver="liblinear", tol=1e-12).fit(X, y)
    assert ours.coefficients == pytest.approx(theirs.coef_[0], abs=1e-5)
    assert ours.intercept == pytest.approx(theirs.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("penalty", [L1(0.03), Facets(0.02, gamma=0.5)])
def test_it_is_a_column_of_ones(penalty: L1 | Facets) -> None:
    X, y = planted()
    ours = fit_proximal(X, y, penalty=penalty, intercept="penalised", tol=1e-9)
    ones = np.column_stack([X, np.ones(len(X))])
    other = fit_proximal(ones, y, penalty=penalty, intercept=False, tol=1e-9)
    assert np.r_[ours.coefficients, ours.intercept] == pytest.approx(other.coefficients, abs=1e-6)
    assert ours.objective == pytest.approx(other.objective, abs=1e-9)
    assert ours.gap <= 1e-9


def test_sparse_and_binned_designs_agree_with_dense() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, size=(60, 2)).astype(np.uint8)
    binned = BinnedDesign(codes)
    y = np.where(codes[:, 0] + rng.random(60) > 1.2, 1, -1)
    dense = fit_proximal(binned.toarray(), y, penalty=L1(0.02), intercept="penalised")
    one_hot = fit_proximal(binned, y, penalty=L1(0.02), intercept="penalised")
    assert one_hot.objective == pytest.approx(dense.objective, rel=1e-5)
    wide = random_array((60, 400), density=0.02, rng=rng, format="csr")
    sparse = fit_proximal(csr_array(wide), y, penalty=L1(0.02), intercept="penalised")
    full = fit_proximal(wide.toarray(), y, penalty=L1(0.02), intercept="penalised")
    assert sparse.objective == pytest.approx(full.objective, rel=1e-5)
    assert sparse.coefficients.shape == (400,)


def test_it_warm_starts_from_its_own_answer() -> None:
    X, y = planted()
    first = fit_proximal(X, y, penalty=L1(0.03), intercept="penalised", tol=1e-9)
    again = fit_proximal(X, y, penalty=L1(0.03), intercept="penalised", tol=1e-8, start=first)
    assert again.iterations <= first.iterations
    assert again.objective == pytest.approx(first.objective, rel=1e-8)


def test_other_words_are_refused() -> None:
    X, y = planted()
    with pytest.raises(OptionError, match="penalised"):
        fit_proximal(X, y, penalty=L1(0.1), intercept="free")  # type: ignore[arg-type]
