"""Dense, sparse and binned designs behind the four products the algorithms need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError
from milpscore.data.binned import BinnedDesign

# a product with few of the columns gathers these first
_SPARSE_SHARE = 0.25
# a sparse matrix this full and this small is quicker as an array
_DENSE_SHARE = 0.1
_DENSE_CELLS = 20_000_000


class Operator(Protocol):
    """A design X of shape (n, p) known by its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    def matvec(self, w: FloatArray) -> FloatArray:
        """X w for w of shape (p,) or (p, K)."""
        ...

    def rmatvec(self, r: FloatArray) -> FloatArray:
        """X' r for r of shape (n,) or (n, K)."""
        ...

    def squares(self, weight: FloatArray) -> FloatArray:
        """Diagonal of X' diag(weight) X, shape (p,)."""
        ...

    def gram(self, weight: FloatArray) -> FloatArray:
        """X' diag(weight) X, shape (p, p)."""
        ...

    def columns(self, index: IntArray) -> Operator:
        """Some of the columns."""
        ...

    def take(self, rows: IntArray) -> Operator:
        """Some of the rows."""
        ...


@dataclass(frozen=True, eq=False)
class DenseOperator:
    """An array of shape (n, p), kept column by column."""

    X: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape[0], self.X.shape[1]

    def matvec(self, w: FloatArray) -> FloatArray:
        """X w; columns without weight are not read where they are most."""
        used = np.flatnonzero(w if w.ndim == 1 else w.any(axis=1))
        if len(used) < _SPARSE_SHARE * len(w):
            return np.asarray(self.X[:, used] @ w[used])
        return np.asarray(self.X @ w)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        """X' r."""
        return np.asarray(self.X.T @ r)

    def squares(self, weight: FloatArray) -> FloatArray:
        """Diagonal of X' diag(weight) X."""
        return np.asarray(np.einsum("ij,ij,i->j", self.X, self.X, weight, optimize=False))

    def gram(self, weight: FloatArray) -> FloatArray:
        """X' diag(weight) X by one symmetric product."""
        scaled = self.X * np.sqrt(weight)[:, None]
        return np.asarray(scaled.T @ scaled)

    def columns(self, index: IntArray) -> DenseOperator:
        """Some of the columns, copied; all of them without a copy."""
        if len(index) == self.shape[1]:
            return self
        return DenseOperator(np.asfortranarray(self.X[:, index]))

    def take(self, rows: IntArray) -> DenseOperator:
        """Some of the rows."""
        return DenseOperator(np.asfortranarray(self.X[rows]))


@dataclass(frozen=True, eq=False)
class SparseOperator:
    """A SciPy array in CSC form without repeated entries."""

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def matvec(self, w: FloatArray) -> FloatArray:
        """X w."""
        return np.asarray(self.X @ w)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        """X' r."""
        return np.asarray(self._transposed @ r)

    def squares(self, weight: FloatArray) -> FloatArray:
        """Diagonal of X' diag(weight) X."""
        return np.asarray(self._transposed.power(2) @ weight)

    def gram(self, weight: FloatArray) -> FloatArray:
        """X' diag(weight) X, dense."""
        scaled = self.X.copy()
        scaled.data *= weight[scaled.indices]
        return np.asarray((self._transposed @ scaled).toarray())

    def columns(self, index: IntArray) -> SparseOperator:
        """Some of the columns."""
        if len(index) == self.shape[1]:
            return self
        return SparseOperator(self.X[:, index])

    def take(self, rows: IntArray) -> SparseOperator:
        """Some of the rows."""
        return SparseOperator(self.X[rows].tocsc())

    @cached_property
    def _transposed(self) -> Any:
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
        """X w by a gather."""
        if self.index is None:
            return self.X.matvec(w)
        whole = np.zeros((self.X.shape[1], *w.shape[1:]))
        whole[self.index] = w
        return self.X.matvec(whole)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        """X' r by a count."""
        found = self.X.rmatvec(r)
        return found if self.index is None else np.asarray(found[self.index])

    def squares(self, weight: FloatArray) -> FloatArray:
        """Weight in each bin: the entries are 0 and 1."""
        return self.rmatvec(weight)

    def gram(self, weight: FloatArray) -> FloatArray:
        """Weight in each pair of bins."""
        table = self.X.gram(weight)
        return table if self.index is None else np.asarray(table[np.ix_(self.index, self.index)])

    def columns(self, index: IntArray) -> BinnedOperator:
        """Some of the columns, by name: nothing is copied."""
        if len(index) == self.shape[1]:
            return self
        return BinnedOperator(self.X, index if self.index is None else self.index[index])

    def take(self, rows: IntArray) -> BinnedOperator:
        """Some of the rows."""
        return BinnedOperator(self.X.take(rows), self.index)


def as_operator(X: Any) -> Operator:
    """Any supported design, checked.

    Parameters
    ----------
    X : array, DataFrame of numbers, SciPy sparse matrix or array, or BinnedDesign, shape (n, p)

    Returns
    -------
    Operator

    Raises
    ------
    DataError
        X is no table of finite numbers, or is empty.
    """
    if isinstance(X, DenseOperator | SparseOperator | BinnedOperator):
        return X
    if isinstance(X, BinnedDesign):
        found: Operator = BinnedOperator(X)
    elif hasattr(X, "tocsc"):
        found = _sparse(X)
    else:
        found = _dense(X)
    if 0 in found.shape:
        raise DataError(f"X has the shape {found.shape}; at least one row and one column.")
    return found


def with_ones(X: Any) -> Operator:
    """The design with a last column of ones, whose coefficient is a penalised intercept.

    Parameters
    ----------
    X : as for :func:`as_operator`, shape (n, p)

    Returns
    -------
    Operator of shape (n, p + 1)
    """
    operator = as_operator(X)
    n = operator.shape[0]
    if isinstance(operator, DenseOperator):
        return DenseOperator(np.asfortranarray(np.column_stack([operator.X, np.ones(n)])))
    if isinstance(operator, SparseOperator):
        from scipy.sparse import csc_array, hstack

        return SparseOperator(csc_array(hstack([operator.X, np.ones((n, 1))], format="csc")))
    assert isinstance(operator, BinnedOperator)
    binned = operator.X  # a feature of one bin that every row lies in
    codes = np.column_stack([binned.codes, np.zeros(n, dtype=np.uint8)])
    return BinnedOperator(BinnedDesign(codes, (*binned.n_bins, 1)))


def _sparse(X: Any) -> Operator:
    """Columns in compressed form; written out where that is small and hardly larger."""
    from scipy.sparse import csc_array

    columns = csc_array(X).astype(np.float64)
    columns.sum_duplicates()
    if not np.isfinite(columns.data).all():
        raise DataError("X holds missing or infinite values; fill them, or drop these rows.")
    cells = columns.shape[0] * columns.shape[1]
    if _DENSE_SHARE * cells < columns.nnz and cells <= _DENSE_CELLS:
        return DenseOperator(columns.toarray(order="F"))
    return SparseOperator(columns)


def _dense(X: Any) -> DenseOperator:
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"X is no table of numbers ({error}); bin or encode text first (Binner, make_design)."
        ) from error
    if values.ndim != 2:
        raise DataError(f"X has {values.ndim} dimension(s); two are needed, rows and columns.")
    if not np.isfinite(values).all():
        raise DataError("X holds missing or infinite values; fill them, or drop these rows.")
    return DenseOperator(np.asfortranarray(values))
