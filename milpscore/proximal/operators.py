"""Designs known by their products: arrays, compressed columns and bin codes; rows merged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from milpscore.core.design import FloatArray, IntArray, unmasked
from milpscore.core.errors import DataError

if TYPE_CHECKING:
    from milpscore.data.onehot_codes import BinnedDesign


@dataclass(frozen=True)
class ProblemPolicy:
    """Sizes and tolerances that algorithms share, measured by bench_prox.py."""

    # a product gathers the columns first above these cells, up to this share of the columns
    small_cells: int = 20_000
    sparse_share: float = 0.25
    # a sparse matrix this full, up to these cells, is quicker as an array
    dense_share: float = 0.1
    dense_cells: int = 20_000_000
    # merging is worth its time if at most this share of the rows remains; rows compared at a time,
    # and rows looked at first
    merged_share: float = 0.8
    chunk_rows: int = 1 << 16
    glance_rows: int = 4096
    part_rows: int = 1 << 14  # rows of a sum at a time: they stay in the cache
    # Newton's method for the best intercept: the slope at which it ends, relative; the relative
    # fall below which rounding has the last word; a slope that falls to ``kept_bend`` in a step
    # leaves the second derivative as it is
    intercept_steps: int = 100
    intercept_tolerance: float = 1e-13
    intercept_fall: float = 1e-15
    kept_bend: float = 1e-3
    # a dual point shrunk below this proves nothing about a point that may be optimal all the same
    shrunk_scale: float = 0.9
    # out of core: rows of the sample, multiplications for its Gram matrix, gap of its models
    sample_rows: int = 100_000
    sample_work: float = 2e9
    sample_least: int = 20_000
    sample_gap: float = 1e-4
    most_passes: int = 40  # over all rows
    most_looks: int = 5  # at the gap of a model, after which it is done
    sure_share: float = 0.05  # of the gap wanted: looked at if a step may save no more than this
    curvier: float = 4.0  # factor on the curvature after a step that did not lower the objective


POLICY = ProblemPolicy()


@dataclass(frozen=True, eq=False)
class DenseOperator:
    """An array of shape (n, p), kept column by column."""

    X: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape[0], self.X.shape[1]

    def matvec(self, w: FloatArray) -> FloatArray:
        """Return X w for w of shape (p,) or (p, K); columns without weight are not read if most."""
        if self.X.size > POLICY.small_cells:
            used = np.flatnonzero(w if w.ndim == 1 else w.any(axis=1))
            if len(used) < POLICY.sparse_share * len(w):
                return np.asarray(self.X.T[used].T @ w[used])
        return np.asarray(self.X @ w)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        """Return X' r for r of shape (n,) or (n, K)."""
        return np.asarray(self.X.T @ r)

    def squares(self, weight: FloatArray) -> FloatArray:
        """Return the diagonal of X' diag(weight) X."""
        return np.asarray(np.einsum("ij,ij,i->j", self.X, self.X, weight, optimize=False))

    def cross(self, index: IntArray, weight: FloatArray) -> FloatArray:
        """Return the rows ``index`` of X' diag(weight) X."""
        return np.asarray((self.columns(index).X * weight[:, None]).T @ self.X)

    def gram(self, weight: FloatArray) -> FloatArray:
        """Return X' diag(weight) X by one symmetric product."""
        scaled = self.X * np.sqrt(weight)[:, None]
        return np.asarray(scaled.T @ scaled)

    def columns(self, index: IntArray) -> DenseOperator:
        """Return some of the columns, copied unless they are all."""
        if len(index) == self.shape[1]:
            return self
        return DenseOperator(self.X.T[index].T)  # rows of a C array: copied in one piece each

    def take(self, rows: IntArray) -> DenseOperator:
        """Return some of the rows."""
        return DenseOperator(np.asfortranarray(self.X[rows]))


@dataclass(frozen=True, eq=False)
class SparseOperator:
    """A SciPy array in CSC form without repeated entries."""

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, their rows, and where each column starts."""
        return self.X.data, self.X.indices, self.X.indptr

    def matvec(self, w: FloatArray) -> FloatArray:
        """Return X w."""
        return np.asarray(self.X @ w)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        """Return X' r."""
        return np.asarray(self._transposed @ r)

    def squares(self, weight: FloatArray) -> FloatArray:
        """Return the diagonal of X' diag(weight) X."""
        return np.asarray(self._transposed.power(2) @ weight)

    def cross(self, index: IntArray, weight: FloatArray) -> FloatArray:
        """Return the rows ``index`` of X' diag(weight) X, dense."""
        some = self.X[:, index]
        some.data *= weight[some.indices]
        return np.asarray((some.T @ self.X).toarray())

    def gram(self, weight: FloatArray) -> FloatArray:
        """Return X' diag(weight) X, dense."""
        scaled = self.X.copy()
        scaled.data *= weight[scaled.indices]
        return np.asarray((self._transposed @ scaled).toarray())

    def columns(self, index: IntArray) -> SparseOperator:
        """Return some of the columns."""
        return self if len(index) == self.shape[1] else SparseOperator(self.X[:, index])

    def take(self, rows: IntArray) -> SparseOperator:
        """Return some of the rows."""
        return SparseOperator(self.X[rows].tocsc())

    @cached_property
    def _transposed(self) -> Any:
        """X' in CSR form, the same memory."""
        return self.X.T


@dataclass(frozen=True, eq=False)
class BinnedOperator:
    """One-byte bin codes, all columns or some of them."""

    X: BinnedDesign
    index: IntArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, p = self.X.shape
        return n, p if self.index is None else len(self.index)

    def matvec(self, w: FloatArray) -> FloatArray:
        """Return X w by a gather."""
        if self.index is None:
            return self.X.matvec(w)
        whole = np.zeros((self.X.shape[1], *w.shape[1:]))
        whole[self.index] = w
        return self.X.matvec(whole)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        """Return X' r by a count."""
        counts = self.X.rmatvec(r)
        return counts if self.index is None else np.asarray(counts[self.index])

    def squares(self, weight: FloatArray) -> FloatArray:
        """Return the weight in each bin: the entries are 0 and 1."""
        return self.rmatvec(weight)

    def gram(self, weight: FloatArray) -> FloatArray:
        """Return the weight in each pair of bins."""
        table = self.X.gram(weight)
        return table if self.index is None else np.asarray(table[np.ix_(self.index, self.index)])

    def columns(self, index: IntArray) -> BinnedOperator:
        """Return some of the columns, by name: nothing is copied."""
        if len(index) == self.shape[1]:
            return self
        return BinnedOperator(self.X, index if self.index is None else self.index[index])

    def take(self, rows: IntArray) -> BinnedOperator:
        """Return some of the rows."""
        return BinnedOperator(self.X.take(rows), self.index)


Operator: TypeAlias = DenseOperator | SparseOperator | BinnedOperator
"""A design X of shape (n, p) known by its products."""


def as_operator(X: Any) -> Operator:
    """Return an array, DataFrame of numbers, SciPy sparse matrix or BinnedDesign as operator."""
    if isinstance(X, DenseOperator | SparseOperator | BinnedOperator):
        return X
    if hasattr(X, "n_bins"):  # a BinnedDesign; to import its class would import pandas
        operator: Operator = BinnedOperator(X)
    elif hasattr(X, "tocsc"):
        operator = _sparse(X)
    else:
        operator = _dense(X)
    if 0 in operator.shape:
        raise DataError(f"X has the shape {operator.shape}; at least one row and one column.")
    return operator


def with_ones(X: Any) -> Operator:
    """Return the design with a last column of ones, whose coefficient is the intercept."""
    operator = as_operator(X)
    n = operator.shape[0]
    if isinstance(operator, DenseOperator):
        return DenseOperator(np.asfortranarray(np.column_stack([operator.X, np.ones(n)])))
    if isinstance(operator, SparseOperator):
        from scipy.sparse import csc_array, hstack

        return SparseOperator(csc_array(hstack([operator.X, np.ones((n, 1))], format="csc")))
    binned = operator.X  # a feature of one bin that every row lies in
    codes = np.column_stack([binned.codes, np.zeros(n, dtype=np.uint8)])
    return BinnedOperator(replace(binned, codes=codes, n_bins=(*binned.n_bins, 1)))


def _sparse(X: Any) -> Operator:
    """Return compressed columns; an array if that is small and hardly larger."""
    from scipy.sparse import csc_array

    columns = csc_array(X).astype(np.float64)
    columns.sum_duplicates()
    _check_finite(columns.data)
    cells = columns.shape[0] * columns.shape[1]
    if POLICY.dense_share * cells < columns.nnz and cells <= POLICY.dense_cells:
        return DenseOperator(columns.toarray(order="F"))
    return SparseOperator(columns)


def _dense(X: Any) -> DenseOperator:
    """Return an array of numbers of two dimensions."""
    try:
        values = np.asarray(unmasked(X), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"X is not a table of numbers ({error}); bin or encode text first: Binner, make_design."
        ) from error
    if values.ndim != 2:
        raise DataError(f"X has {values.ndim} dimension(s); two are needed, rows and columns.")
    _check_finite(values)
    return DenseOperator(np.asfortranarray(values))


def _check_finite(values: FloatArray) -> None:
    """Refuse missing and infinite entries."""
    if not np.isfinite(values).all():
        raise DataError("X holds missing or infinite values; fill them, or drop these rows.")


def merge(
    X: Operator, y: FloatArray, weight: FloatArray
) -> tuple[Operator, FloatArray, FloatArray]:
    """Merge rows of equal x and y if that saves a fifth of them; dense and binned only."""
    table: np.ndarray
    if isinstance(X, DenseOperator):
        table = X.X
    elif isinstance(X, BinnedOperator) and X.index is None:
        table = X.X.codes
    else:
        return X, y, weight
    # a glance at the first rows spares most designs the sorting
    few = POLICY.glance_rows
    if (len(y) > few and _hash(table[:few], y[:few]) is None) or (key := _hash(table, y)) is None:
        return X, y, weight
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    if (y[first][inverse] != y).any() or not _equal(table, first[inverse]):
        return X, y, weight  # two different rows share a hash
    summed = np.asarray(np.bincount(inverse, weights=weight), dtype=np.float64)
    return X.take(first), y[first], summed


def _hash(table: np.ndarray, y: FloatArray) -> np.ndarray | None:
    """Return a 64-bit hash of each row with its answer; None if too many differ to be merged."""
    random = np.random.default_rng(0)
    columns = table.shape[1]
    factors = random.integers(1, 2**63, size=columns + 1, dtype=np.uint64) * 2 + 1
    key = _bits(y) * factors[-1]
    for j in range(columns):
        column = table[:, j]
        bits = column.astype(np.uint64) if table.dtype == np.uint8 else _bits(column)
        # doubles of small integers differ in their high bits alone, which a product would lose
        key += (bits ^ (bits >> np.uint64(32))) * factors[j]
        # after 1, 2, 4, ... columns, and all: most tables need few to tell their rows apart
        look = j & (j + 1) == 0 or j == columns - 1
        if look and len(np.unique(key)) > POLICY.merged_share * len(y):
            return None
    return np.asarray(key)


def _bits(column: FloatArray) -> np.ndarray:
    """Return the bits of each number; -0.0 and 0.0 are one value."""
    return np.asarray(np.ascontiguousarray(column + 0.0).view(np.uint64))


def _equal(table: np.ndarray, source: np.ndarray) -> bool:
    """Whether every row equals its source row; in chunks, which bounds the memory."""
    size = POLICY.chunk_rows
    return all(
        np.array_equal(table[a : a + size], table[source[a : a + size]])
        for a in range(0, len(table), size)
    )
