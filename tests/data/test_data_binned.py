"""One-byte bin codes act like the one-hot matrix they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from milpscore.core.errors import DataError, OptionError
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


def sums_of(design: BinnedDesign, r: np.ndarray) -> np.ndarray:
    """X' r, feature by feature."""
    counted = (
        np.bincount(codes, weights=r, minlength=bins + 1)[:bins]
        for codes, bins in zip(design.codes.T, design.n_bins, strict=True)
    )
    return np.concatenate(list(counted))


def totals_of(design: BinnedDesign, w: np.ndarray) -> np.ndarray:
    """X w, feature by feature."""
    parts = np.split(w, np.cumsum(design.n_bins)[:-1])
    found = np.zeros(len(design.codes))
    for codes, part in zip(design.codes.T, parts, strict=True):
        found += np.append(part, 0.0)[codes]
    return found


@pytest.mark.parametrize("features", range(1, 12))
def test_features_looked_up_together(features: int) -> None:
    # from tables of one feature to tables of eight, four at a time and one by one
    rng = np.random.default_rng(features)
    for rows in (0, 1, 50, 2047, 2049, 40_000):
        bins = rng.choice([1, 2, 5, 50, 255], size=features)
        absent = rng.integers(0, 2, size=features)  # whether some row lies in no bin
        codes = rng.integers(0, bins + absent, size=(rows, features))
        design = BinnedDesign(codes, tuple(bins.tolist()))
        w, r = rng.normal(size=bins.sum()), rng.normal(size=rows)
        np.testing.assert_allclose(design.matvec(w), totals_of(design, w), atol=1e-13)
        np.testing.assert_allclose(design.rmatvec(r), sums_of(design, r), atol=1e-11)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_the_rows(threads: int) -> None:
    rng = np.random.default_rng(threads)
    codes = rng.integers(0, 6, size=(100_001, 7))
    design = BinnedDesign(codes, (5,) * 7, threads=threads)
    w, r = rng.normal(size=35), rng.normal(size=100_001)
    np.testing.assert_allclose(design.matvec(w), totals_of(design, w), atol=1e-13)
    first = design.rmatvec(r)
    np.testing.assert_allclose(first, sums_of(design, r), atol=1e-10)
    for _ in range(5):
        np.testing.assert_array_equal(design.rmatvec(r), first)
    assert design.take(np.arange(9)).threads == threads
    with pytest.raises(OptionError, match="threads=0"):
        BinnedDesign(codes, (5,) * 7, threads=0)


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
