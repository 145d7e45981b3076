"""Sequences made ready for many evaluations: distinct observation sets and an order of the work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.sequence._data import IdArray, Layout, SequenceData

# Bytes that the matrices exp(lambda) of one part may take before the sequences are cut in two.
_PART_BYTES = 1 << 29


@dataclass(frozen=True, eq=False)
class ObservationSets:
    """The distinct sets of observations that hold together at some position; set 0 is empty.

    Attributes
    ----------
    ptr, ids : integer arrays
        CSR: the observations of each set, ascending.
    of_position : ndarray of shape (T,)
        The set that holds at each position.
    """

    ptr: IntArray
    ids: IdArray
    of_position: IntArray

    @property
    def n_sets(self) -> int:
        """Number of distinct sets, the empty one included."""
        return len(self.ptr) - 1

    def incidence(self, n_observations: int) -> sparse.csr_matrix:
        """The matrix (sets x observations) of ones where an observation is in a set."""
        shape = (self.n_sets, n_observations)
        return sparse.csr_matrix((np.ones(len(self.ids)), self.ids, self.ptr), shape=shape)


def observation_sets(ptr: IntArray, ids: IdArray) -> ObservationSets:
    """Group positions by the set of observations that holds there; an id held twice counts twice.

    Parameters
    ----------
    ptr, ids : integer arrays
        CSR over positions.
    """
    counts = np.diff(ptr)
    ordered = ids[np.lexsort((ids, np.repeat(np.arange(len(counts)), counts)))]
    of_position = np.zeros(len(counts), dtype=np.int64)
    lengths, members, n_sets = [np.zeros(1, dtype=np.int64)], [], 1
    for size in np.unique(counts[counts > 0]):
        at = np.flatnonzero(counts == size)
        rows = ordered[ptr[at][:, None] + np.arange(size)]
        if size == 1:
            distinct, inverse = np.unique(rows[:, 0], return_inverse=True)
        else:
            distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        of_position[at] = n_sets + inverse.reshape(-1)
        lengths.append(np.full(len(distinct), size, dtype=np.int64))
        members.append(distinct.reshape(-1))
        n_sets += len(distinct)
    bounds = np.zeros(n_sets + 1, dtype=np.int64)
    np.cumsum(np.concatenate(lengths), out=bounds[1:])
    together = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
    return ObservationSets(bounds, together.astype(np.int32), of_position)


@dataclass(frozen=True, eq=False)
class Schedule:
    """The order in which positions are worked on.

    Rows are the positions sorted by bigram set, then by step (their number in the sequence), the
    first positions of all sequences in front: the rows of one set lie together, which makes its
    gradient one matrix product, and so do those of one set at one step, which makes a step one.

    Attributes
    ----------
    position : ndarray of shape (T,)
        Position of each row.
    after : ndarray of shape (T,)
        Row of the next position in the sequence; of a last position, the row of the first.
    before : ndarray of shape (T,)
        Row of the position before; of a first position, its own.
    last : ndarray
        Rows of last positions.
    set_rows : ndarray of shape (n_sets + 1,)
        Rows of set s are set_rows[s]:set_rows[s+1]; those of first positions come before.
    group_ptr : ndarray of shape (G, 2)
        First row and end of each (set, step), sorted by step.
    group_set : ndarray of shape (G,)
        Its set, -1 for the first positions.
    """

    position: IntArray
    after: IntArray
    before: IntArray
    last: IntArray
    set_rows: IntArray
    group_ptr: IntArray
    group_set: IntArray


def make_schedule(offsets: IntArray, set_of_position: IntArray, n_sets: int) -> Schedule:
    """Sort the positions, see :class:`Schedule`."""
    n = int(offsets[-1])
    lengths = np.diff(offsets)
    full = lengths > 0
    first, last = offsets[:-1][full], offsets[1:][full] - 1
    step = np.arange(n) - np.repeat(offsets[:-1], lengths)
    key = set_of_position.copy()
    key[first] = -1
    position = np.lexsort((step, key))
    row = np.empty(n, dtype=np.int64)
    row[position] = np.arange(n)
    after = np.arange(n) + 1
    after[last] = first
    before = np.arange(n) - 1
    before[first] = first
    key, step = key[position], step[position]
    new = np.ones(n, dtype=bool)
    new[1:] = (np.diff(key) != 0) | (np.diff(step) != 0)
    start = np.flatnonzero(new)
    by_step = np.argsort(step[start], kind="stable")
    ends = np.append(start, n)[1:]
    return Schedule(
        position=position,
        after=row[after][position],
        before=row[before][position],
        last=row[last],
        set_rows=np.searchsorted(key, np.arange(n_sets + 1)),
        group_ptr=np.column_stack([start, ends])[by_step],
        group_set=key[start][by_step],
    )


class Part:
    """Sequences whose matrices fit in memory together, with the arrays an evaluation works in."""

    def __init__(self, data: SequenceData, bigrams: ObservationSets | None = None) -> None:
        self.data = data
        if bigrams is None:
            bigrams = observation_sets(data.bigram_ptr, data.bigram_ids)
        self.bigrams = bigrams
        self.unigrams = observation_sets(data.unigram_ptr, data.unigram_ids)
        self.incidence = self.unigrams.incidence(data.n_unigrams)
        self.scatter = self.incidence.T.tocsr()
        self.schedule = make_schedule(data.offsets, bigrams.of_position, bigrams.n_sets)
        self.unigram_of_row = self.unigrams.of_position[self.schedule.position]

    @cached_property
    def matrices(self) -> FloatArray:
        """Room for exp(lambda) of each set, shape (n_sets, L, L); overwritten by evaluations."""
        labels = self.data.n_labels
        return np.ones((self.bigrams.n_sets, labels, labels))

    @cached_property
    def arriving(self) -> FloatArray:
        """Room for the forward vectors of the positions before, a line a row, shape (T, L)."""
        return np.zeros((self.data.n_positions, self.data.n_labels))

    @cached_property
    def leaving(self) -> FloatArray:
        """Room for the backward vectors times exp(mu), a line a row, shape (T, L)."""
        return np.zeros((self.data.n_positions, self.data.n_labels))


class Prepared:
    """A data set compiled for likelihoods, gradients and decoding.

    Evaluations share its working arrays: use one object in one thread at a time.

    Parameters
    ----------
    data : SequenceData
    part_bytes : int
        Sequences are cut into parts worked on one after the other where the matrices of all
        distinct sets of bigram observations, 8 L^2 bytes each, would take more.

    Attributes
    ----------
    data : SequenceData
    layout : Layout
    parts : list of Part
    """

    def __init__(self, data: SequenceData, *, part_bytes: int = _PART_BYTES) -> None:
        if part_bytes < 1:
            raise OptionError(f"part_bytes must be positive, got {part_bytes}")
        self.data = data
        self.layout: Layout = data.layout
        self.parts = _cut(data, part_bytes)

    @cached_property
    def observed(self) -> tuple[IntArray, FloatArray]:
        """Parameters that the labelled sequences count, and their counts.

        Raises
        ------
        DataError
            The data has no labels, or some that were never seen in training.
        """
        data, L = self.data, self.layout.n_labels
        labels = known_labels(data).astype(np.int64)
        at = np.repeat(np.arange(data.n_positions), np.diff(data.unigram_ptr))
        unigrams = data.unigram_ids.astype(np.int64) * L + labels[at]
        at = np.repeat(np.arange(data.n_positions), np.diff(data.bigram_ptr))
        pairs = (data.bigram_ids.astype(np.int64) * L + labels[at - 1]) * L + labels[at]
        index, count = np.unique(
            np.concatenate([unigrams, self.layout.n_mu + pairs]), return_counts=True
        )
        return index, count.astype(np.float64)


def known_labels(data: SequenceData) -> IdArray:
    """The labels, where every position has one of the training vocabulary.

    Raises
    ------
    DataError
        It has not.
    """
    if data.labels is None:
        raise DataError(
            "these sequences have no labels, so they have no likelihood: give labels, or ask for "
            "what needs none (viterbi, n_best, posterior_marginals, log_partition)"
        )
    unknown = np.flatnonzero(data.labels < 0)
    if unknown.size:
        i = int(np.searchsorted(data.offsets, unknown[0], side="right")) - 1
        raise DataError(
            f"position {unknown[0] - data.offsets[i]} of sequence {i} has a label never seen in "
            f"training ({unknown.size} such in all): no parameter stands for it; drop these "
            "sequences, or read the labels with the vocabulary of the training data"
        )
    return data.labels


def prepare(data: SequenceData | Prepared) -> Prepared:
    """Compile a data set once for many evaluations; one that is prepared is returned as it is."""
    return data if isinstance(data, Prepared) else Prepared(data)


def _cut(data: SequenceData, part_bytes: int) -> list[Part]:
    bigrams = observation_sets(data.bigram_ptr, data.bigram_ids)
    if 8 * bigrams.n_sets * data.n_labels**2 <= part_bytes or data.n_sequences < 2:
        return [Part(data, bigrams)]
    half = int(np.searchsorted(data.offsets, data.n_positions / 2))
    half = min(max(half, 1), data.n_sequences - 1)
    return [
        *_cut(data.subset(np.arange(half)), part_bytes),
        *_cut(data.subset(np.arange(half, data.n_sequences)), part_bytes),
    ]
