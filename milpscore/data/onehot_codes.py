"""One-hot designs held as one-byte bin codes and never written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.design import Column, FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.data.cells import read_cells
from milpscore.data.checking import refuse_missing, to_numbers
from milpscore.data.columns import Unseen, apply_columns

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Codes = npt.NDArray[np.uint8]

MAX_BINS = 255
"""Bins a feature may have: one code is kept for "in no bin"."""

_ROWS_A_THREAD = 1 << 15


@dataclass(frozen=True, eq=False)
class BinnedDesign:
    """A one-hot matrix X of n rows, held as the bin of each feature: n x p bytes.

    Feature f has ``n_bins[f]`` columns in X, in order, after those of the features before it. A row
    whose code equals ``n_bins[f]`` lies in no bin of f: its columns are all 0. ``X w`` is a gather,
    ``X' r`` a count by bins; the columns themselves are never built.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n, p)
        Kept feature by feature (Fortran order); given in another order it is copied.
    n_bins : tuple of int, length p
        Columns of each feature, 1 to 255; by default one more than its largest code.
    threads : int
        Threads that share the rows of a product. Their sums are added in the order of the rows: the
        answer is the same in every run with as many threads.

    Raises
    ------
    DataError
        The codes are no table of whole numbers in 0..255, or a code exceeds its feature's bins.
    OptionError
        ``threads`` is not a whole number from 1 on.

    References
    ----------
    Alaya, Bussy, Gaiffas, Guilloux (2019), "Binarsity: a penalization for one-hot encoded
    features", JMLR 20, section 2.

    Examples
    --------
    >>> design = BinnedDesign([[0, 1], [1, 0], [2, 1]])
    >>> design.shape
    (3, 5)
    >>> design.matvec([1.0, 2.0, 3.0, 10.0, 20.0])
    array([21., 12., 23.])
    """

    codes: Codes
    n_bins: tuple[int, ...] = ()
    threads: int = 1

    def __post_init__(self) -> None:
        codes = _checked(self.codes)
        largest = codes.max(axis=0, initial=0).astype(int) if len(codes) else np.zeros(0, int)
        n_bins = tuple(int(k) for k in (self.n_bins or (largest + 1)))
        if len(n_bins) != codes.shape[1]:
            raise DataError(
                f"{codes.shape[1]} features but n_bins has {len(n_bins)} numbers; give one each."
            )
        for feature, bins in enumerate(n_bins):
            if not 1 <= bins <= MAX_BINS:
                raise DataError(
                    f"feature {feature} has {bins} bins; 1 to {MAX_BINS} fit into one byte. Merge"
                    " bins, or use a SciPy sparse matrix."
                )
            if len(codes) and largest[feature] > bins:
                raise DataError(
                    f"feature {feature} has the code {largest[feature]} but {bins} bins; codes are"
                    f" 0..{bins - 1}, and {bins} for a row in no bin."
                )
        if not (isinstance(self.threads, int | np.integer) and self.threads >= 1):
            raise OptionError(f"threads={self.threads!r}; use a whole number from 1 on.")
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "n_bins", n_bins)

    @classmethod
    def from_onehot(cls, X: Any, blocks: Sequence[Sequence[int]]) -> BinnedDesign:
        """Codes of a one-hot matrix.

        Parameters
        ----------
        X : array of shape (n, P), values 0 and 1
        blocks : sequence of sequences of int
            The columns of each feature. Together they must be 0..P-1 in order.

        Returns
        -------
        BinnedDesign

        Raises
        ------
        DataError
            A column stands in no block or out of order, or a row has two ones in a block.
        """
        X = np.asarray(X)
        flat = [j for block in blocks for j in block]
        if flat != list(range(X.shape[1])):
            raise DataError(
                "the blocks must hold all columns in order; bin every feature (Binner) first."
            )
        codes = np.empty((len(X), len(blocks)), dtype=np.uint8, order="F")
        for f, block in enumerate(blocks):
            part = X[:, list(block)]
            ones = part.sum(axis=1)
            if not np.isin(part, (0, 1)).all() or (ones > 1).any() or len(block) > MAX_BINS:
                raise DataError(
                    f"block {f} is not one-hot with at most {MAX_BINS} columns: each row has at"
                    " most a single 1 in it."
                )
            codes[:, f] = np.where(ones > 0, part.argmax(axis=1), len(block))
        return cls(codes, tuple(len(block) for block in blocks))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the one-hot matrix."""
        return len(self.codes), int(self.offsets[-1])

    @cached_property
    def offsets(self) -> IntArray:
        """First column of each feature, and the number of columns; shape (p + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_bins)]).astype(np.int64)

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each feature."""
        ends = self.offsets.tolist()
        return tuple(tuple(range(a, b)) for a, b in pairwise(ends))

    def matvec(self, w: npt.ArrayLike) -> FloatArray:
        """X w.

        Parameters
        ----------
        w : array of shape (P,) or (P, K)

        Returns
        -------
        ndarray of shape (n,) or (n, K)
        """
        return _by_column(self._gather, w, "w", self.shape[1])

    def rmatvec(self, r: npt.ArrayLike) -> FloatArray:
        """X' r.

        Parameters
        ----------
        r : array of shape (n,) or (n, K)

        Returns
        -------
        ndarray of shape (P,) or (P, K)
        """
        return _by_column(self._count, r, "r", self.shape[0])

    def take(self, rows: IntArray) -> BinnedDesign:
        """The same columns on some of the rows."""
        return replace(self, codes=np.asfortranarray(self.codes[rows]))

    def gram(self, weight: FloatArray) -> FloatArray:
        """X' diag(weight) X, shape (P, P): one count by pairs of bins for each pair of features."""
        table = np.zeros((self.shape[1], self.shape[1]))
        features = len(self.n_bins)
        for f in range(features):
            wide = self.codes[:, f].astype(np.int64)
            for h in range(f, features):
                rows, columns = self.n_bins[f] + 1, self.n_bins[h] + 1
                pairs = wide * columns + self.codes[:, h]
                counts = np.bincount(pairs, weights=weight, minlength=rows * columns)
                part = counts.reshape(rows, columns)[:-1, :-1]
                a, b = self.offsets[f], self.offsets[h]
                table[a : a + rows - 1, b : b + columns - 1] = part
                table[b : b + columns - 1, a : a + rows - 1] = part.T
        return table

    def tosparse(self) -> csr_array:
        """The one-hot matrix as a SciPy sparse array."""
        from scipy.sparse import csr_array

        present = self.codes < np.asarray(self.n_bins)
        columns = (self.codes + self.offsets[:-1])[present]
        starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return csr_array((np.ones(len(columns)), columns, starts), shape=self.shape)

    def toarray(self) -> FloatArray:
        """The one-hot matrix written out; for small designs."""
        dense: FloatArray = self.tosparse().toarray()
        return dense

    @cached_property
    def _slots(self) -> IntArray:
        """First place of each feature in a table with one more place for "in no bin"."""
        return np.concatenate([[0], np.cumsum(np.asarray(self.n_bins) + 1)]).astype(np.int64)

    @cached_property
    def _places(self) -> IntArray:
        """Place of each column in that table, shape (P,)."""
        shift = np.repeat(np.arange(len(self.n_bins)), self.n_bins)
        return np.arange(self.shape[1]) + shift

    @cached_property
    def _groups(self) -> tuple[IntArray, IntArray]:
        """Which features are looked up together, and how many places each has."""
        from milpscore.data.kernels import grouped

        places = np.asarray(self.n_bins, dtype=np.int64)
        if len(self.codes):  # one more where some row lies in no bin
            places = np.maximum(places, self.codes.max(axis=0).astype(np.int64) + 1)
        return grouped(places, len(self.codes))

    def _gather(self, w: FloatArray) -> FloatArray:
        from milpscore.data.kernels import gather

        table, out = np.zeros(int(self._slots[-1])), np.empty(self.shape[0])
        table[self._places] = w
        self._by_rows(
            lambda a, b: gather(self.codes.T, *self._groups, self._slots, table, out, a, b)
        )
        return out

    def _count(self, r: FloatArray) -> FloatArray:
        from milpscore.data.kernels import count

        r = np.ascontiguousarray(r)
        found = self._by_rows(lambda a, b: count(self.codes.T, *self._groups, self._slots, r, a, b))
        return np.asarray(sum(found[1:], found[0])[self._places])

    def _by_rows(self, job: Callable[[int, int], Any]) -> list[Any]:
        """The answers of a job for the first rows, the next ones, ..., as many as threads."""
        n = len(self.codes)
        threads = max(min(self.threads, n // _ROWS_A_THREAD), 1)
        cuts = [n * k // threads for k in range(threads + 1)]
        if threads == 1:
            return [job(0, n)]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(job, cuts[:-1], cuts[1:]))


def _by_column(
    product: Callable[[FloatArray], FloatArray], given: Any, name: str, rows: int
) -> FloatArray:
    """A product of a vector, shape (rows,), or of each column of a matrix, shape (rows, K)."""
    values = np.asarray(given, dtype=np.float64)
    if values.shape[:1] != (rows,):
        raise DataError(f"{name} must have {rows} rows, not the shape {values.shape}.")
    if values.ndim == 2:
        return np.stack([product(column) for column in values.T], axis=1)
    return product(values)


def _checked(codes: Any) -> Codes:
    """Codes as a table of bytes, feature by feature."""
    table = np.asarray(codes)
    if table.ndim != 2 or not (np.issubdtype(table.dtype, np.integer) or table.dtype == bool):
        raise DataError("codes must be a two-dimensional array of whole numbers, n rows by p.")
    if table.dtype != np.uint8:
        if table.size and (table.min() < 0 or table.max() > 255):
            raise DataError("a code lies outside 0..255 and does not fit into one byte.")
        table = table.astype(np.uint8)
    return np.asfortranarray(table)


def bin_codes(
    columns: Sequence[Column], frame: pd.DataFrame, unseen: Unseen, rows: int = 1 << 16
) -> npt.NDArray[Any]:
    """The bin of each row in one feature; the number of bins where a row lies in none."""
    series = frame.iloc[:, 0]
    if all(column.kind == "interval" for column in columns):
        numbers = to_numbers(read_cells(series, columns[0].cells))
        found = np.searchsorted([column.lower for column in columns[1:]], numbers, side="right")
        absent = np.isnan(numbers)
        if absent.any() and unseen == "error":
            refuse_missing({str(series.name): int(absent.sum())})
        return np.where(absent, len(columns), found)
    block = [tuple(range(len(columns)))]
    parts = [
        BinnedDesign.from_onehot(
            apply_columns(columns, frame.iloc[start : start + rows], unseen=unseen), block
        ).codes[:, 0]
        for start in range(0, len(frame), rows)
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8)
