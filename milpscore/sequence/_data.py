"""Sequences as a linear-chain CRF sees them: which observations hold at each position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError

IdArray = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Layout:
    """Where each parameter of a linear-chain CRF stands in the one vector theta.

    theta = [mu, lambda]: mu row-major by unigram observation, lambda by bigram observation, then
    the earlier label y', then the later label y.

    Attributes
    ----------
    n_unigrams, n_bigrams, n_labels : int
    """

    n_unigrams: int
    n_bigrams: int
    n_labels: int

    @property
    def n_mu(self) -> int:
        """Number of unigram parameters, the length of theta's first part."""
        return self.n_unigrams * self.n_labels

    @property
    def n_parameters(self) -> int:
        """|X_1| |Y| + |X_2| |Y|^2, the length of theta."""
        return self.n_mu + self.n_bigrams * self.n_labels**2

    def zeros(self) -> FloatArray:
        """The parameters of the uniform model."""
        return np.zeros(self.n_parameters)

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views of theta: mu of shape (|X_1|, |Y|), lambda of shape (|X_2|, |Y|, |Y|) [x, y', y].

        Raises
        ------
        DataError
            ``theta`` is no vector of ``n_parameters`` numbers.
        """
        if theta.shape != (self.n_parameters,):
            raise DataError(
                f"theta has shape {theta.shape} where this model has {self.n_parameters} "
                f"parameters ({self.n_unigrams} unigram and {self.n_bigrams} bigram observations, "
                f"{self.n_labels} labels): give the vector fitted with the same vocabulary"
            )
        labels = self.n_labels
        mu = theta[: self.n_mu].reshape(self.n_unigrams, labels)
        return mu, theta[self.n_mu :].reshape(self.n_bigrams, labels, labels)


@dataclass(frozen=True, eq=False)
class SequenceData:
    """Sequences of positions, the observations that hold there, and the labels where known.

    Attributes
    ----------
    offsets : int64 array of shape (N + 1,)
        The positions of sequence i are offsets[i]:offsets[i+1]; a sequence may be empty.
    unigram_ptr : int64 array of shape (T + 1,)
    unigram_ids : int32 array
        CSR: the unigram observations that hold at position t are
        unigram_ids[unigram_ptr[t]:unigram_ptr[t+1]].
    bigram_ptr : int64 array of shape (T + 1,)
    bigram_ids : int32 array
        The same for the bigram observations that hold at position t, for the transition from t-1
        to t; none at the first position of a sequence.
    n_unigrams, n_bigrams, n_labels : int
        Sizes of the three vocabularies.
    labels : int32 array of shape (T,) or None
        -1 is a label never seen in training.

    Raises
    ------
    DataError
        The arrays do not fit together; the message says which, and where.
    """

    offsets: IntArray
    unigram_ptr: IntArray
    unigram_ids: IdArray
    bigram_ptr: IntArray
    bigram_ids: IdArray
    n_unigrams: int
    n_bigrams: int
    n_labels: int
    labels: IdArray | None = None

    def __post_init__(self) -> None:
        if self.n_labels < 1 or self.n_unigrams < 0 or self.n_bigrams < 0:
            raise DataError(
                f"a CRF needs at least one label and no negative sizes, got {self.n_labels} "
                f"labels, {self.n_unigrams} unigram and {self.n_bigrams} bigram observations"
            )
        offsets = _integers(self.offsets, "offsets", np.int64)
        n = _checked_pointer(offsets, "offsets", None)
        object.__setattr__(self, "offsets", offsets)
        for kind, size in (("unigram", self.n_unigrams), ("bigram", self.n_bigrams)):
            ptr = _integers(getattr(self, f"{kind}_ptr"), f"{kind}_ptr", np.int64)
            total = _checked_pointer(ptr, f"{kind}_ptr", n)
            ids = _integers(getattr(self, f"{kind}_ids"), f"{kind}_ids", np.int32)
            if len(ids) != total:
                raise DataError(
                    f"{kind}_ptr ends at {total} but there are {len(ids)} {kind}_ids: "
                    "the last pointer must be the number of ids"
                )
            _check_range(ids, f"{kind}_ids", 0, size)
            object.__setattr__(self, f"{kind}_ptr", ptr)
            object.__setattr__(self, f"{kind}_ids", ids)
        first = offsets[:-1][np.diff(offsets) > 0]
        held = np.flatnonzero(np.diff(self.bigram_ptr)[first])
        if held.size:
            raise DataError(
                f"position {first[held[0]]} opens a sequence and has bigram observations: "
                "there is no earlier label there, leave them out"
            )
        if self.labels is not None:
            labels = _integers(self.labels, "labels", np.int32)
            if len(labels) != n:
                raise DataError(f"{len(labels)} labels for {n} positions: give one a position")
            _check_range(labels, "labels", -1, self.n_labels)
            object.__setattr__(self, "labels", labels)

    @property
    def n_sequences(self) -> int:
        """Number of sequences, empty ones included."""
        return len(self.offsets) - 1

    @property
    def n_positions(self) -> int:
        """Number of positions of all sequences together."""
        return int(self.offsets[-1])

    @property
    def lengths(self) -> IntArray:
        """Length of each sequence, shape (N,)."""
        return np.diff(self.offsets)

    @property
    def layout(self) -> Layout:
        """Where the parameters of a model of these observations and labels stand."""
        return Layout(self.n_unigrams, self.n_bigrams, self.n_labels)

    def positions(self, indices: Any) -> IntArray:
        """The positions of the sequences ``indices``, in that order."""
        return _ranges(self.offsets[:-1][indices], self.lengths[indices])

    def subset(self, indices: Any) -> SequenceData:
        """The sequences ``indices`` (integers in any order, repeats allowed) as a set of their own.

        Raises
        ------
        OptionError
            An index is no sequence of this set.
        """
        chosen = np.asarray(indices, dtype=np.int64).reshape(-1)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_sequences):
            raise OptionError(
                f"sequences are numbered 0 to {self.n_sequences - 1}, got indices from "
                f"{chosen.min()} to {chosen.max()}"
            )
        at = self.positions(chosen)
        unigram_ptr, unigram_ids = _taken(self.unigram_ptr, self.unigram_ids, at)
        bigram_ptr, bigram_ids = _taken(self.bigram_ptr, self.bigram_ids, at)
        return SequenceData(
            offsets=pointer(self.lengths[chosen]),
            unigram_ptr=unigram_ptr,
            unigram_ids=unigram_ids,
            bigram_ptr=bigram_ptr,
            bigram_ids=bigram_ids,
            n_unigrams=self.n_unigrams,
            n_bigrams=self.n_bigrams,
            n_labels=self.n_labels,
            labels=None if self.labels is None else self.labels[at],
        )


def pointer(counts: IntArray) -> IntArray:
    """Starts and end of consecutive runs of these lengths."""
    bounds = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=bounds[1:])
    return bounds


def _ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """The concatenation of start, start + 1, ... over all runs."""
    bounds = pointer(counts)
    return np.arange(bounds[-1], dtype=np.int64) + np.repeat(starts - bounds[:-1], counts)


def _taken(ptr: IntArray, ids: IdArray, rows: IntArray) -> tuple[IntArray, IdArray]:
    """These rows of a CSR structure."""
    counts = np.diff(ptr)[rows]
    return pointer(counts), ids[_ranges(ptr[:-1][rows], counts)]


def _integers(values: Any, name: str, dtype: Any) -> Any:
    """A contiguous integer vector, refused where the values are of another kind."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise DataError(
            f"{name} must be a vector of integers, got shape {array.shape} of {array.dtype}"
        )
    if array.size and max(array.max(), -array.min()) > np.iinfo(dtype).max:
        raise DataError(f"{name} holds numbers beyond {np.dtype(dtype)}: number from 0 upwards")
    return np.ascontiguousarray(array, dtype=dtype)


def _checked_pointer(ptr: IntArray, name: str, rows: int | None) -> int:
    """The end of a pointer that starts at 0 and never falls."""
    if len(ptr) == 0 or ptr[0] != 0 or (np.diff(ptr) < 0).any():
        raise DataError(f"{name} must start at 0 and never fall: it holds starts and the last end")
    if rows is not None and len(ptr) != rows + 1:
        raise DataError(
            f"{name} has {len(ptr)} entries where {rows} positions need {rows + 1}: "
            "one start a position and the end"
        )
    return int(ptr[-1])


def _check_range(values: IdArray, name: str, lower: int, stop: int) -> None:
    wrong = np.flatnonzero((values < lower) | (values >= stop))
    if wrong.size:
        raise DataError(
            f"{name}[{wrong[0]}] is {values[wrong[0]]}, allowed are {lower} to {stop - 1}: "
            "number by the vocabulary, and leave out observations it does not have"
        )
