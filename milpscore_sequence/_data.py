"""Sequences as a linear-chain CRF sees them, and made ready for many evaluations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError

if TYPE_CHECKING:
    from scipy import sparse

IdArray = npt.NDArray[np.integer[Any]]

# Bytes that the matrices exp(lambda) of one part may take before the sequences are cut in two.
_PART_BYTES = 1 << 29


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
            ``theta`` is not a vector of ``n_parameters`` numbers.
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
        """Bring the arrays into their types and check that they fit together."""
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
        opening = np.flatnonzero(np.diff(self.bigram_ptr)[self.first])
        if opening.size:
            raise DataError(
                f"position {self.first[opening[0]]} opens a sequence and has bigram observations: "
                "there is no earlier label there, leave them out"
            )
        if self.labels is not None:
            labels = _integers(self.labels, "labels", np.int32)
            if len(labels) != n:
                raise DataError(
                    f"{len(labels)} labels for {n} positions: give each position one label"
                )
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
    def first(self) -> IntArray:
        """First position of each sequence that is not empty."""
        return self.offsets[:-1][self.lengths > 0]

    @property
    def sequence_of(self) -> IntArray:
        """The sequence of each position, shape (T,)."""
        return np.repeat(np.arange(self.n_sequences), self.lengths)

    @property
    def layout(self) -> Layout:
        """Where the parameters of a model of these observations and labels stand."""
        return Layout(self.n_unigrams, self.n_bigrams, self.n_labels)

    def restricted(self, at: IntArray) -> tuple[SequenceData, IntArray]:
        """The data without labels and without observations that have none of the parameters ``at``.

        Also where these (sorted) stand among the parameters of what is left.
        """
        layout, L = self.layout, self.n_labels
        n_mu = int(np.searchsorted(at, layout.n_mu))
        restricted = []
        for ptr, ids, size, wanted in (
            (self.unigram_ptr, self.unigram_ids, self.n_unigrams, at[:n_mu] // L),
            (self.bigram_ptr, self.bigram_ids, self.n_bigrams, (at[n_mu:] - layout.n_mu) // L**2),
        ):
            number = np.full(size, -1, dtype=np.int64)
            number[wanted] = 0
            observations = np.flatnonzero(number == 0)
            number[observations] = np.arange(len(observations))
            numbered = number[ids]
            known = numbered >= 0
            restricted.append(
                (
                    pointer(known.astype(np.int64))[ptr],
                    numbered[known],
                    len(observations),
                    number[wanted],
                )
            )
        (u_ptr, u_ids, n_unigrams, u), (b_ptr, b_ids, n_bigrams, b) = restricted
        left = SequenceData(self.offsets, u_ptr, u_ids, b_ptr, b_ids, n_unigrams, n_bigrams, L)
        within = (at[n_mu:] - layout.n_mu) % L**2
        mu, lam = u * L + at[:n_mu] % L, left.layout.n_mu + b * L**2 + within
        return left, np.concatenate([mu, lam])

    def subset(self, indices: Any) -> SequenceData:
        """The sequences ``indices`` (integers in any order, repeats allowed) as a set of their own.

        Raises
        ------
        OptionError
            An index is not that of a sequence of this set.
        """
        chosen = np.asarray(indices, dtype=np.int64).reshape(-1)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_sequences):
            raise OptionError(
                f"sequences are numbered 0 to {self.n_sequences - 1}, got indices from "
                f"{chosen.min()} to {chosen.max()}"
            )
        at = runs(self.offsets, chosen)
        unigrams, bigrams = self.unigram_ptr, self.bigram_ptr
        return SequenceData(
            offsets=pointer(self.lengths[chosen]),
            unigram_ptr=pointer(np.diff(unigrams)[at]),
            unigram_ids=self.unigram_ids[runs(unigrams, at)],
            bigram_ptr=pointer(np.diff(bigrams)[at]),
            bigram_ids=self.bigram_ids[runs(bigrams, at)],
            n_unigrams=self.n_unigrams,
            n_bigrams=self.n_bigrams,
            n_labels=self.n_labels,
            labels=None if self.labels is None else self.labels[at],
        )


def pointer(counts: IntArray, empty: int = 0) -> IntArray:
    """Return starts and end of consecutive runs of these lengths, ``empty`` empty ones in front."""
    bounds = np.zeros(len(counts) + 1 + empty, dtype=np.int64)
    np.cumsum(counts, out=bounds[1 + empty :])
    return bounds


def first_seen(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Numbers of whole keys in the order in which they are first seen, and where that is."""
    n = len(keys)
    if n and keys.min() >= 0 and keys.max() < 4 * n:
        at = np.full(int(keys.max()) + 1, -1)
        at[keys[::-1]] = np.arange(n - 1, -1, -1)  # of several the last holds: the first key's
        first = np.sort(at[at >= 0])
        at[keys[first]] = np.arange(len(first))
        return at[keys], first
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[number], first[order]


def runs(ptr: IntArray, rows: IntArray) -> IntArray:
    """The indices ptr[k]:ptr[k+1] of all rows k, one run after the other."""
    counts = ptr[rows + 1] - ptr[rows]
    bounds = pointer(counts)
    return np.arange(bounds[-1], dtype=np.int64) + np.repeat(ptr[rows] - bounds[:-1], counts)


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
            "one start for each position, and the end"
        )
    return int(ptr[-1])


def _check_range(values: IdArray, name: str, lower: int, stop: int) -> None:
    """Refuse values outside lower:stop, naming the first."""
    wrong = np.flatnonzero((values < lower) | (values >= stop))
    if wrong.size:
        raise DataError(
            f"{name}[{wrong[0]}] is {values[wrong[0]]}, allowed are {lower} to {stop - 1}: "
            "number by the vocabulary, and leave out observations it does not have"
        )


@dataclass(frozen=True, eq=False)
class ObservationSets:
    """Distinct sets of observations at positions: CSR ptr, ids; of_position (T,); 0 is empty."""

    ptr: IntArray
    ids: IdArray
    of_position: IntArray

    @property
    def n_sets(self) -> int:
        """Number of distinct sets, the empty one included."""
        return len(self.ptr) - 1

    def incidence(self, n_observations: int) -> sparse.csr_matrix:
        """How often each observation is in each set, shape (n_sets, n_observations)."""
        from scipy import sparse

        shape = (self.n_sets, n_observations)
        return sparse.csr_matrix((np.ones(len(self.ids)), self.ids, self.ptr), shape=shape)


def observation_sets(ptr: IntArray, ids: IdArray) -> ObservationSets:
    """Group positions by the observations (CSR) held there; one held twice counts twice."""
    # a set is identified by the sum of random numbers of its members, which a second sum checks
    rng = np.random.default_rng(0)
    while True:
        drawn = rng.integers(1, 2**63, (2, int(ids.max(initial=0)) + 1), dtype=np.int64)
        sums = np.zeros((2, len(ids) + 1), dtype=np.int64)
        np.cumsum(drawn[:, ids], axis=1, out=sums[:, 1:])  # modulo 2^64, as the differences
        # the empty set goes in front: it is number 0
        key, check = (np.append(0, each[ptr[1:]] - each[ptr[:-1]]) for each in sums)
        number, first = first_seen(key)
        if np.array_equal(check[first][number], check):
            break
    at = first[1:] - 1
    members = ids[runs(ptr, at)].astype(np.int32)
    return ObservationSets(pointer(np.diff(ptr)[at], 1), members, number[1:])


ROW = np.dtype([("unigrams", np.int64), ("after", np.int64), ("before", np.int64)])
"""A position: its set of unigram observations, the row of the next, the row of the one before."""

GROUP = np.dtype([("start", np.int64), ("end", np.int64), ("bigrams", np.int64)])
"""Rows start:end, which share step and set of bigram observations (-1: first positions)."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """The order in which positions are worked on."""

    # Rows are the positions sorted by bigram set, then by step (their number in the sequence), the
    # first positions of all sequences in front: the rows of one set lie together, which makes its
    # gradient one matrix product, and so do those of one set at one step, which makes a step one.
    position: IntArray  # (T,): position of each row
    rows: npt.NDArray[Any]  # (T,) of ROW; a last position's next is the first, a first's before it
    last: IntArray  # rows of last positions
    set_rows: IntArray  # (n_sets + 1,): rows of set s are set_rows[s]:set_rows[s+1]
    groups: npt.NDArray[Any]  # (G,) of GROUP, sorted by step

    @classmethod
    def of(
        cls, data: SequenceData, unigrams: ObservationSets, bigrams: ObservationSets
    ) -> Schedule:
        """Sort the positions."""
        n, offsets, first = data.n_positions, data.offsets, data.first
        last = offsets[1:][data.lengths > 0] - 1
        step = np.arange(n) - offsets[data.sequence_of]
        key = bigrams.of_position.copy()
        key[first] = -1
        position = np.lexsort((step, key))
        row = np.empty(n, dtype=np.int64)
        row[position] = np.arange(n)
        after, before = np.arange(n) + 1, np.arange(n) - 1
        after[last], before[first] = first, first
        rows = np.empty(n, dtype=ROW)
        rows["unigrams"] = unigrams.of_position[position]
        rows["after"], rows["before"] = row[after][position], row[before][position]
        key, step = key[position], step[position]
        new = np.ones(n, dtype=bool)
        new[1:] = (np.diff(key) != 0) | (np.diff(step) != 0)
        start = np.flatnonzero(new)
        groups = np.empty(len(start), dtype=GROUP)
        groups["start"], groups["end"] = start, np.append(start, n)[1:]
        groups["bigrams"] = key[start]
        groups = groups[np.argsort(step[start], kind="stable")]
        set_rows = np.searchsorted(key, np.arange(bigrams.n_sets + 1))
        return cls(position, rows, row[last], set_rows, groups)


class Part:
    """Sequences whose matrices fit in memory together, with the arrays an evaluation works in."""

    def __init__(self, data: SequenceData, bigrams: ObservationSets) -> None:
        self.data, self.bigrams = data, bigrams
        self.unigrams = observation_sets(data.unigram_ptr, data.unigram_ids)
        self.incidence = self.unigrams.incidence(data.n_unigrams)
        self.scatter = self.incidence.T.tocsr()
        self.schedule = Schedule.of(data, self.unigrams, bigrams)

    @cached_property
    def matrices(self) -> FloatArray:
        """Room for exp(lambda) of each set, shape (n_sets, L, L); overwritten by evaluations."""
        labels = self.data.n_labels
        return np.ones((self.bigrams.n_sets, labels, labels))

    @cached_property
    def arriving(self) -> FloatArray:
        """Room for the forward vectors of the positions before, by row, shape (T, L)."""
        return np.zeros((self.data.n_positions, self.data.n_labels))

    @cached_property
    def leaving(self) -> FloatArray:
        """Room for the backward vectors times exp(mu), by row, shape (T, L)."""
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

    Raises
    ------
    OptionError
        ``part_bytes`` is not positive.
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
    """The labels (T,); DataError where a position has none of the training vocabulary."""
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
    """Halve the sequences until the matrices of each part fit."""
    bigrams = observation_sets(data.bigram_ptr, data.bigram_ids)
    if 8 * bigrams.n_sets * data.n_labels**2 <= part_bytes or data.n_sequences < 2:
        return [Part(data, bigrams)]
    half = int(np.searchsorted(data.offsets, data.n_positions / 2))
    half = min(max(half, 1), data.n_sequences - 1)
    return [
        *_cut(data.subset(np.arange(half)), part_bytes),
        *_cut(data.subset(np.arange(half, data.n_sequences)), part_bytes),
    ]
