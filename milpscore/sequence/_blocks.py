"""Blocks of parameters, one an observation symbol, and where the data hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.sequence._data import IdArray, pointer
from milpscore.sequence._prepared import ObservationSets, Prepared, observation_sets

# A set with more entries than this share of L^2 is multiplied as a whole matrix.
_FULL_SHARE = 6
# ... and one with a score below: 1 + (exp(score) - 1) would lose digits.
_LOWEST_LISTED = -6.0


@dataclass(frozen=True, eq=False)
class Held:
    """Where observations of one kind stand, in the order of their ids.

    Attributes
    ----------
    ptr : ndarray of shape (n + 1,)
        The occurrences of id k are ptr[k]:ptr[k+1].
    position, times : ndarray
        Ascending positions, and how often the id holds there.
    """

    ptr: IntArray
    position: IntArray
    times: IntArray


def held(ptr: IntArray, ids: IdArray, n_ids: int) -> Held:
    """Turn a CSR over rows into one over ids; an id held twice in a row counts two times."""
    rows = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    key, times = np.unique(ids.astype(np.int64) * max(len(ptr) - 1, 1) + rows, return_counts=True)
    number, position = np.divmod(key, max(len(ptr) - 1, 1))
    return Held(np.searchsorted(number, np.arange(n_ids + 1)), position, times)


def same_symbols(data: Any, unigrams: Held, bigrams: Held) -> tuple[IntArray, IntArray]:
    """Unigram and bigram ids that hold at the same positions, sequence starts apart.

    Found by sums of random numbers, one a position; a pair whose sums agree by chance is dropped.

    Returns
    -------
    unigram, bigram : ndarray
        Pairs; each id stands in one pair at most.
    """
    opens = np.zeros(data.n_positions, dtype=bool)
    opens[data.offsets[:-1][data.lengths > 0]] = True
    mark = np.random.default_rng(0).integers(1, 2**62, data.n_positions, dtype=np.uint64)
    mark[opens] = 0
    sums = []
    for kind in (unigrams, bigrams):
        running = np.zeros(len(kind.position) + 1, dtype=np.uint64)
        np.cumsum(mark[kind.position] * kind.times.astype(np.uint64), out=running[1:])
        sums.append(running[kind.ptr[1:]] - running[kind.ptr[:-1]])
    _, u, b = np.intersect1d(sums[0], sums[1], return_indices=True)
    seen = sums[0][u] != 0
    u, b = u[seen], b[seen]
    at = _runs(unigrams.ptr, u)
    at = at[~opens[unigrams.position[at]]]
    other = _runs(bigrams.ptr, b)
    equal = len(at) == len(other) and bool(
        (unigrams.position[at] == bigrams.position[other]).all()
        and (unigrams.times[at] == bigrams.times[other]).all()
    )
    return (u, b) if equal else (u[:0], b[:0])


class Blocks:
    """The blocks of a data set, and an index from each to what it touches.

    A block is an observation symbol: its row of mu, its matrix of lambda where the symbol is a
    bigram observation too. They are sorted by their first position: neighbours in a sweep are
    then neighbours in the text, and little of a sequence lies between two steps.

    Attributes
    ----------
    unigram, bigram : ndarray of shape (n,)
        The ids of each block, -1 for none.
    arrays : tuple
        (group_ptr, group_seq, group_occ, position, times, pair, mu_ptr, mu_set, mu_times, lam_ptr,
        lam_set, lam_times): the sequences of block k are groups group_ptr[k]:group_ptr[k+1], the
        occurrences of group g are group_occ[g]:group_occ[g+1]; ``pair`` is the number of the
        (bigram block, set) at an occurrence, -1 where lambda has no say; the sets of unigram, and
        of bigram observations with a block are in mu_set and lam_set.
    most : int
        Sequences of the most frequent block.
    """

    def __init__(self, prepared: Prepared) -> None:
        data = prepared.data
        self.data = data
        if len(prepared.parts) == 1:
            self.unigrams, self.bigrams = prepared.parts[0].unigrams, prepared.parts[0].bigrams
        else:
            self.unigrams = observation_sets(data.unigram_ptr, data.unigram_ids)
            self.bigrams = observation_sets(data.bigram_ptr, data.bigram_ids)
        one = held(data.unigram_ptr, data.unigram_ids, data.n_unigrams)
        two = held(data.bigram_ptr, data.bigram_ids, data.n_bigrams)
        u, b = same_symbols(data, one, two)
        rest_u = np.setdiff1d(np.arange(data.n_unigrams), u)
        rest_b = np.setdiff1d(np.arange(data.n_bigrams), b)
        unigram = np.concatenate([u, rest_u, np.full(len(rest_b), -1)])
        bigram = np.concatenate([b, np.full(len(rest_u), -1), rest_b])
        first = [_first(one, unigram, data.n_positions), _first(two, bigram, data.n_positions)]
        order = np.argsort(np.minimum(*first), kind="stable")
        self.unigram, self.bigram = unigram[order], bigram[order]
        self.arrays = self._index(one, two)
        self.most = int(np.diff(self.arrays[0]).max(initial=0))

    def _index(self, one: Held, two: Held) -> tuple[Any, ...]:
        data = self.data
        by_mu = self.unigram >= 0
        counts = np.zeros(len(by_mu), dtype=np.int64)
        counts[by_mu] = np.diff(one.ptr)[self.unigram[by_mu]]
        counts[~by_mu] = np.diff(two.ptr)[self.bigram[~by_mu]]
        of_mu = np.repeat(by_mu, counts)
        position, times = (np.empty(len(of_mu), dtype=np.int64) for _ in range(2))
        for kind, where, ids in (
            (one, of_mu, self.unigram[by_mu]),
            (two, ~of_mu, self.bigram[~by_mu]),
        ):
            at = _runs(kind.ptr, ids)
            position[where], times[where] = kind.position[at], kind.times[at]
        block = np.repeat(np.arange(len(counts)), counts)
        sequence = np.searchsorted(data.offsets, position, side="right") - 1
        new = np.ones(len(block), dtype=bool)
        new[1:] = (np.diff(block) != 0) | (np.diff(sequence) != 0)
        group = np.flatnonzero(new)
        group_ptr = np.searchsorted(block[group], np.arange(len(counts) + 1))
        mu = _of_blocks(self.unigrams, data.n_unigrams, self.unigram)
        lam = _of_blocks(self.bigrams, data.n_bigrams, self.bigram)
        n_sets = self.bigrams.n_sets
        lam_block = np.repeat(np.arange(len(counts)), np.diff(lam[0]))
        wanted = block * n_sets + self.bigrams.of_position[position]
        lam_key = lam_block * n_sets + lam[1]
        pair = np.searchsorted(lam_key, wanted)
        pair[np.append(lam_key, -1)[pair] != wanted] = -1
        group_occ = np.append(group, len(block))
        return (group_ptr, sequence[group], group_occ, position, times, pair, *mu, *lam)


class Working:
    """The parameters that may move, and the entries of exp(lambda) that depend on them.

    Parameters
    ----------
    blocks : Blocks
    theta : ndarray of shape (n_parameters,)
    at : ndarray
        Working parameters, ascending; all that are not zero must be among them.

    Attributes
    ----------
    theta : ndarray of shape (len(at),)
        Theirs, moved in place by the kernels.
    order : ndarray
        The blocks that have any.
    widest : int
        The most that any block has.
    arrays : tuple
        (map_ptr, entry, later, earlier): entry[map_ptr[e]:] tells where the block's lambda stand
        among the entries of the set of pair e; the labels of each parameter.
    ranges : tuple of two ndarrays of shape (n, 2)
        First and end of each block's mu, and of its lambda.
    sets : tuple
        (weights, ptr, earlier, later, values), see :mod:`._kernels_blocks`.
    """

    def __init__(self, blocks: Blocks, theta: FloatArray, at: IntArray) -> None:
        layout = blocks.data.layout
        labels, n_mu = layout.n_labels, layout.n_mu
        self.at, self.theta = at, theta[at]
        mu_range = _ranges_of(at, blocks.unigram, labels, 0)
        lam_range = _ranges_of(at, blocks.bigram, labels**2, n_mu)
        sizes = np.diff(lam_range)[:, 0] + np.diff(mu_range)[:, 0]
        self.order, self.widest = np.flatnonzero(sizes), int(sizes.max(initial=0))
        is_mu = at < n_mu
        within = np.where(is_mu, at % labels, (at - n_mu) % labels**2)
        later, earlier = within % labels, within // labels
        entries, map_ptr, entry = self._entries(blocks, lam_range, within)
        self.ranges = (mu_range, lam_range)
        self.arrays = (map_ptr, entry, later, earlier)
        mu, _ = layout.split(theta)
        weights = np.exp(blocks.unigrams.incidence(layout.n_unigrams) @ mu)
        self.sets = (weights, *entries)

    def _entries(
        self, blocks: Blocks, lam_range: IntArray, within: IntArray
    ) -> tuple[tuple[Any, ...], IntArray, IntArray]:
        """Lay out the entries of all sets; say where each block's lambda stand in each."""
        area, n_sets = blocks.data.n_labels**2, blocks.bigrams.n_sets
        lam_ptr, lam_set, lam_held = blocks.arrays[9:]
        counts = np.repeat(np.diff(lam_range)[:, 0], np.diff(lam_ptr))
        starts = np.repeat(lam_range[:, 0], np.diff(lam_ptr))
        map_ptr = pointer(counts)
        number = np.repeat(starts - map_ptr[:-1], counts) + np.arange(map_ptr[-1])
        where, of_set = within[number], np.repeat(lam_set, counts)
        score = np.repeat(lam_held, counts) * self.theta[number]
        full = np.zeros(n_sets, dtype=bool)
        full[lam_set[counts * _FULL_SHARE > area]] = True
        # no sum of a set's scores is below the least of them times their number
        together = np.diff(blocks.bigrams.ptr)[of_set]
        full[of_set[score * together < _LOWEST_LISTED]] = True
        listed = ~full[of_set]
        # where a list grows to all L^2 entries it is the whole matrix
        keys, of_key = np.unique((of_set * area + where)[listed], return_inverse=True)
        size = np.bincount(keys // area, minlength=n_sets)
        size[full] = area
        ptr = pointer(size)
        start = pointer(np.where(full, 0, size))
        target = ptr[keys // area] + np.arange(len(keys)) - start[keys // area]
        entry = np.empty(len(where), dtype=np.int64)
        entry[~listed] = ptr[of_set[~listed]] + where[~listed]
        entry[listed] = target[of_key]
        values = np.exp(np.bincount(entry, score, ptr[-1]))
        labels = np.zeros(ptr[-1], dtype=np.int64)
        labels[target] = keys % area
        earlier, later = np.divmod(labels, blocks.data.n_labels)
        return (ptr, earlier, later, values), map_ptr, entry


def _runs(ptr: IntArray, rows: IntArray) -> IntArray:
    """The indices ptr[k]:ptr[k+1] of all rows k, one after the other."""
    counts = ptr[rows + 1] - ptr[rows]
    bounds = pointer(counts)
    return np.arange(bounds[-1]) + np.repeat(ptr[rows] - bounds[:-1], counts)


def _first(kind: Held, ids: IntArray, never: int) -> IntArray:
    """First position of each id; ``never`` where it does not occur, or the id is -1."""
    first = np.full(len(kind.ptr), never, dtype=np.int64)
    seen = np.flatnonzero(np.diff(kind.ptr))
    first[seen] = kind.position[kind.ptr[seen]]
    return np.where(ids >= 0, first[ids], never)


def _of_blocks(
    sets: ObservationSets, n_ids: int, ids: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """CSR from blocks to the sets their observation is in, and how often it is."""
    kind = held(sets.ptr, sets.ids, n_ids)
    # id -1 is nowhere
    ptr = np.append(kind.ptr, kind.ptr[-1])
    known = np.where(ids >= 0, ids, n_ids)
    at = _runs(ptr, known)
    return pointer(ptr[known + 1] - ptr[known]), kind.position[at], kind.times[at]


def _ranges_of(at: IntArray, ids: IntArray, width: int, start: int) -> IntArray:
    """Where in ``at`` the ``width`` parameters of each observation stand; nowhere for id -1."""
    first = start + ids * width
    ranges = np.searchsorted(at, np.column_stack([first, first + width]))
    ranges[ids < 0] = 0
    return ranges
