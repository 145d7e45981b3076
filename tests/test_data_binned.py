"""One-byte bin codes act like the one-hot matrix they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from milpscore.core.errors import DataError
from milpscore.data import BinnedDesign, Binner


@pytest.fixture(name="design")
def made() -> BinnedDesign:
    rng = np.random.default_rng(0)
    bins = (3, 1, 7, 255)
    # the largest code stands for "in no bin"
    codes = np.stack([rng.integers(0, k + 1, 500) for k in bins], axis=1)
    return BinnedDesign(codes, bins)


def onehot(design: BinnedDesign) -> np.ndarray:
    parts = [
        design.codes[:, [f]] == np.arange(bins)[None, :] for f, bins in enumerate(design.n_bins)
    ]
    return np.concatenate(parts, axis=1).astype(float)


def test_products_are_those_of_the_matrix(design: BinnedDesign) -> None:
    X = onehot(design)
    rng = np.random.default_rng(1)
    w, r = rng.normal(size=X.shape[1]), rng.normal(size=len(X))
    W, R = rng.normal(size=(X.shape[1], 3)), rng.normal(size=(len(X), 3))
    assert design.shape == X.shape
    np.testing.assert_array_equal(design.toarray(), X)
    np.testing.assert_allclose(design.matvec(w), X @ w, atol=1e-13)
    np.testing.assert_allclose(design.rmatvec(r), X.T @ r, atol=1e-12)
    np.testing.assert_allclose(design.matvec(W), X @ W, atol=1e-13)
    np.testing.assert_allclose(design.rmatvec(R), X.T @ R, atol=1e-12)
    np.testing.assert_allclose(design.gram(r**2), X.T @ (X * r[:, None] ** 2), atol=1e-12)
    np.testing.assert_array_equal(design.take(np.array([3, 1, 3])).toarray(), X[[3, 1, 3]])


def test_long_designs_are_treated_in_stretches() -> None:
    rng = np.random.default_rng(2)
    design = BinnedDesign(rng.integers(0, 5, (70_001, 2)))
    X = design.tosparse()
    w, r = rng.normal(size=10), rng.normal(size=70_001)
    np.testing.assert_allclose(design.matvec(w), X @ w)
    np.testing.assert_allclose(design.rmatvec(r), X.T @ r, atol=1e-10)


def test_codes_take_a_byte_each_and_are_not_copied() -> None:
    codes = np.zeros((100, 3), dtype=np.uint8, order="F")
    design = BinnedDesign(codes)
    assert np.shares_memory(design.codes, codes)
    assert design.codes.nbytes == 300
    assert design.n_bins == (1, 1, 1)


def test_from_onehot_reads_a_binned_table() -> None:
    rng = np.random.default_rng(3)
    raw = rng.normal(size=(200, 3))
    binner = Binner(n_bins=5, max_distinct=0, encoding="onehot").fit(raw)
    X = np.asarray(binner.transform(raw), dtype=float)
    design = BinnedDesign.from_onehot(X, binner.blocks_)
    np.testing.assert_array_equal(design.toarray(), X)
    assert design.blocks == binner.blocks_
    X[0] = 0  # in no bin
    np.testing.assert_array_equal(BinnedDesign.from_onehot(X, binner.blocks_).toarray(), X)


@pytest.mark.parametrize(
    ("codes", "n_bins", "text"),
    [
        ([[0.5]], (), "whole numbers"),
        ([0, 1], (), "two-dimensional"),
        ([[300]], (), "one byte"),
        ([[-1]], (), "one byte"),
        ([[0, 1]], (2,), "n_bins has 1"),
        ([[3]], (2,), "the code 3 but 2 bins"),
        ([[0]], (256,), "256 bins"),
        ([[0]], (0,), "0 bins"),
    ],
)
def test_bad_codes_are_refused(codes: object, n_bins: tuple[int, ...], text: str) -> None:
    with pytest.raises(DataError, match=text):
        BinnedDesign(codes, n_bins)  # type: ignore[arg-type]


def test_bad_products_and_tables_are_refused(design: BinnedDesign) -> None:
    with pytest.raises(DataError, match="w must have 266 rows"):
        design.matvec(np.zeros(3))
    with pytest.raises(DataError, match="r must have 500 rows"):
        design.rmatvec(np.zeros(3))
    with pytest.raises(DataError, match="in order"):
        BinnedDesign.from_onehot(np.zeros((2, 3)), [(0, 1)])
    with pytest.raises(DataError, match="not one-hot"):
        BinnedDesign.from_onehot(np.ones((2, 2)), [(0, 1)])
