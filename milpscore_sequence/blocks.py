"""SBCD: sparse blockwise coordinate descent, a block for each observation symbol.

A block is a symbol's row of mu and, where it is a bigram observation, its matrix of lambda. All of
its parameters step to S(theta H - g, rho1) / (H + rho2) at once, g and H being the first and the
diagonal second derivatives of the loss at the block's turn: mu first, then lambda, then a shift of
each mu_y against its column of lambda. A line search along each step makes it lower the objective.
H takes occurrences of a symbol in one sequence as independent: it is exact where there is one.

Only sequences that hold the symbol are touched, and of them only the positions between this step
and the last one: forward and backward vectors are kept, and a step at a position leaves those
before it, or those behind it, as they were. Between two looks at the whole gradient the sweeps are
over the parameters that are not zero or want to leave zero, two of them or fewer. Blocks that hold
at the same positions (a word and its part of speech) follow each other but slowly: after the sweeps
come steps of OWL-QN, whose memory holds the sweeps too. An iteration is all of these. Sweeps come
near the optimum sooner than whole gradients do, and to its last digits later: from where they lower
the objective by less than a tenth of itself, OWL-QN goes on alone.

Import it where it is used: its kernels bring numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.result import Termination
from milpscore_sequence import block_kernels as kernels
from milpscore_sequence._data import Prepared, SequenceData, observation_sets, pointer
from milpscore_sequence._whole_gradient import (
    Face,
    Iterate,
    Memory,
    descended,
    finished,
    working_set,
)
from milpscore_sequence.training import Objective, Recorder

# Maximal sweeps over the working parameters between two looks at all of them, and
# none once the violation met has fallen to this share of the one at the last look.
_SWEEPS = 2
_ENOUGH = 0.2
# Blocks swept between two looks at the clock.
_AT_ONCE = 1000
# Steps of all parameters together after the sweeps.
_JOINT_STEPS = 20
# Sweeps that lowered the objective by less than this share of itself do not pay any more.
_PAYS = 0.1
# Sums of losses are known to some such share of themselves.
_ROUNDING = 1e-15
# A set with more entries than this share of L^2 is multiplied as a whole matrix.
_FULL_SHARE = 6
# ... and one with a score below: 1 + (exp(score) - 1) would lose digits.
_LOWEST_LISTED = -6.0


def _held(ptr: IntArray, ids: npt.NDArray[Any], n_ids: int) -> sparse.csc_matrix:
    """How often each row holds each id, by columns of ids; the last column is empty, for id -1."""
    counts = np.ones(len(ids), dtype=np.int64)
    # a copy: duplicates are summed in place
    rows = sparse.csr_matrix((counts, ids, ptr), shape=(len(ptr) - 1, n_ids + 1), copy=True)
    rows.sum_duplicates()
    return rows.tocsc()


def _same_symbols(
    data: SequenceData, unigrams: sparse.csc_matrix, bigrams: sparse.csc_matrix
) -> tuple[IntArray, IntArray]:
    """Pairs of unigram and bigram ids that hold at the same positions, sequence starts apart."""
    # Found by sums of random numbers, one for each position. Each id stands in one pair at most.
    inner = np.ones(data.n_positions, dtype=np.int64)
    inner[data.first] = 0
    unigrams = (sparse.diags(inner, dtype=np.int64) @ unigrams).tocsc()
    unigrams.eliminate_zeros()
    mark = np.random.default_rng(0).integers(1, 2**62, data.n_positions, dtype=np.uint64)
    sums = [kind.T.astype(np.uint64) @ mark for kind in (unigrams, bigrams)]
    _, u, b = np.intersect1d(*sums, return_indices=True)
    seen = sums[0][u] != 0
    u, b = u[seen], b[seen]
    if (unigrams[:, u] != bigrams[:, b]).nnz:  # two sums agree by chance
        return u[:0], b[:0]
    return u, b


class Blocks:
    """The blocks of a data set, and an index from each to what it touches."""

    # Sorted by their first position: neighbours in a sweep are then neighbours in the text, and
    # little of a sequence lies between two steps. ``unigram`` and ``bigram`` (B,) are the ids of
    # each block, -1 for none; ``index`` is the kernels'; ``most`` the most sequences of a block.
    def __init__(self, prepared: Prepared) -> None:
        data = self.data = prepared.data
        if len(prepared.parts) == 1:
            self.unigrams, self.bigrams = prepared.parts[0].unigrams, prepared.parts[0].bigrams
        else:
            self.unigrams = observation_sets(data.unigram_ptr, data.unigram_ids)
            self.bigrams = observation_sets(data.bigram_ptr, data.bigram_ids)
        one = _held(data.unigram_ptr, data.unigram_ids, data.n_unigrams)
        two = _held(data.bigram_ptr, data.bigram_ids, data.n_bigrams)
        u, b = _same_symbols(data, one, two)
        rest_u = np.setdiff1d(np.arange(data.n_unigrams), u)
        rest_b = np.setdiff1d(np.arange(data.n_bigrams), b)
        unigram = np.concatenate([u, rest_u, np.full(len(rest_b), -1)])
        bigram = np.concatenate([b, np.full(len(rest_u), -1), rest_b])
        # where a block holds: where its unigram does, or its bigram where it has no unigram
        at = sparse.hstack([one, two], format="csc")
        at = at[:, np.where(unigram >= 0, unigram, data.n_unigrams + 1 + bigram)]
        first = np.append(at.indices, data.n_positions)[at.indptr[:-1]]
        first[np.diff(at.indptr) == 0] = data.n_positions
        order = np.argsort(first, kind="stable")
        self.unigram, self.bigram = unigram[order], bigram[order]
        self.index = self._index(at[:, order])
        self.most = int(np.diff(self.index.blocks["group"]).max(initial=0))

    def _index(self, at: sparse.csc_matrix) -> kernels.Index:
        """Lay out occurrences (positions x blocks), groups of them by sequence, and members."""
        n_blocks = len(self.unigram)
        mu = _held(self.unigrams.ptr, self.unigrams.ids, self.data.n_unigrams)[:, self.unigram]
        lam = _held(self.bigrams.ptr, self.bigrams.ids, self.data.n_bigrams)[:, self.bigram]
        block = np.repeat(np.arange(n_blocks), np.diff(at.indptr))
        sequence = self.data.sequence_of[at.indices]
        new = np.ones(len(block), dtype=bool)
        new[1:] = (np.diff(block) != 0) | (np.diff(sequence) != 0)
        start = np.flatnonzero(new)
        blocks = np.empty(n_blocks + 1, dtype=kernels.BLOCK)
        blocks["group"] = np.searchsorted(block[start], np.arange(n_blocks + 1))
        blocks["mu_set"], blocks["lam_set"] = mu.indptr, lam.indptr
        groups = np.zeros(len(start) + 1, dtype=kernels.GROUP)
        groups["occurrence"] = np.append(start, len(block))
        groups["sequence"][:-1] = sequence[start]
        occurrences = np.empty(len(block), dtype=kernels.OCCURRENCE)
        occurrences["position"], occurrences["times"] = at.indices, at.data
        # the number of (block, bigram set at the occurrence) among lambda's members
        n_sets = self.bigrams.n_sets
        wanted = block * n_sets + self.bigrams.of_position[at.indices]
        member_block = np.repeat(np.arange(n_blocks), np.diff(lam.indptr))
        key = np.append(member_block * n_sets + lam.indices, -1)
        pair = np.searchsorted(key[:-1], wanted)
        occurrences["pair"] = np.where(key[pair] == wanted, pair, -1)
        return kernels.Index(blocks, groups, occurrences, _members(mu), _members(lam))


def _members(sets: sparse.csc_matrix) -> npt.NDArray[Any]:
    """The sets (rows) that hold each block (columns), and how often."""
    members = np.empty(len(sets.indices), dtype=kernels.MEMBER)
    members["set"], members["times"] = sets.indices, sets.data
    return members


class BlockDescent:
    """The state of one run from parameters ``theta``: kept vectors, step lengths."""

    def __init__(self, objective: Objective, theta: FloatArray) -> None:
        prepared, data = objective.prepared, objective.prepared.data
        self.objective, self.theta = objective, theta
        self.blocks = Blocks(prepared)
        self.positions = np.empty(data.n_positions, dtype=kernels.POSITION)
        self.positions["unigrams"] = self.blocks.unigrams.of_position
        self.positions["bigrams"] = self.blocks.bigrams.of_position
        self.sequences = np.empty(data.n_sequences, dtype=kernels.SEQUENCE)
        self.ahead, self.behind = np.ones((2, data.n_positions, data.n_labels))
        self.lengths = np.ones((len(self.blocks.unigram), 2))
        self._block_of = np.empty(data.n_unigrams + data.n_bigrams, dtype=np.int64)
        for ids, first in ((self.blocks.unigram, 0), (self.blocks.bigram, data.n_unigrams)):
            self._block_of[first + ids[ids >= 0]] = np.flatnonzero(ids >= 0)
        self.go_to(theta)

    def go_to(self, theta: FloatArray) -> None:
        """Go on from these parameters: of kept vectors only the last backward ones, ones, hold."""
        self.theta = theta
        offsets = self.blocks.data.offsets
        self.sequences["ready"] = offsets[:-1]
        self.sequences["opened"] = np.maximum(offsets[1:] - 1, offsets[:-1])
        self.behind[offsets[1:][np.diff(offsets) > 0] - 1] = 1.0

    def block_of(self, at: IntArray) -> IntArray:
        """The block of each of these parameters."""
        layout = self.objective.prepared.layout
        later = (at - layout.n_mu) // layout.n_labels**2
        of_mu = at < layout.n_mu
        return self._block_of[np.where(of_mu, at // layout.n_labels, layout.n_unigrams + later)]

    def descend(self, working: Working, wanted: float, clock: Clock) -> bool:
        """Sweep until the least subgradient met has a norm as wanted; whether any step was."""
        # The parameters are taken over, and the kept vectors are theirs.
        quiet = (0.1 * wanted) ** 2 / max(len(working.order), 1)
        parts = np.array_split(working.order, -(-len(working.order) // _AT_ONCE) or 1)
        moved = False
        for _ in range(_SWEEPS):
            met, fall = 0.0, 0.0
            for part in parts:
                if not clock.is_up:
                    some, fell = kernels.sweep_blocks(part, quiet, working.world)
                    met, fall = met + some, fall + fell
            moved = moved or fall > 0.0
            if fall == 0.0 or met <= wanted**2:
                break
        self.theta = working.theta()
        return moved


class Working:
    """The parameters ``at`` that may move, by block, mu before lambda; ``order``: the blocks."""

    # All parameters of the descent that are not zero must be among them. ``world`` holds the arrays
    # of the kernels: parameters, exp(mu) of the unigram sets, exp(lambda) of the bigram sets.
    def __init__(self, descent: BlockDescent, at: IntArray) -> None:
        blocks, layout = descent.blocks, descent.objective.prepared.layout
        L, n_blocks = layout.n_labels, len(blocks.unigram)
        block = descent.block_of(at)
        order = np.argsort(block, kind="stable")
        self.descent, self.at, block = descent, at[order], block[order]
        of_mu = self.at < layout.n_mu
        within = np.where(of_mu, self.at % L, (self.at - layout.n_mu) % L**2)
        ranges = np.empty((n_blocks + 1, 2), dtype=np.int64)
        ranges[:, 0] = np.searchsorted(block, np.arange(n_blocks + 1))
        ranges[:, 1] = ranges[:, 0] + np.bincount(block[of_mu], minlength=n_blocks + 1)
        sizes = np.diff(ranges[:, 0])
        self.order = np.flatnonzero(sizes)
        parameters = np.empty(len(at), dtype=kernels.PARAMETER)
        parameters["theta"] = descent.theta[self.at]
        parameters["count"] = descent.objective.counts[self.at]
        parameters["earlier"], parameters["later"] = within // L, within % L
        mu, _ = layout.split(descent.theta)
        set_ptr, entries, values, member_ptr, entry_of = self._entries(
            ranges[:-1, 1], ranges[1:, 0], within, parameters["theta"]
        )
        self.world = kernels.World(
            held=blocks.index,
            positions=descent.positions,
            sequences=descent.sequences,
            ahead=descent.ahead,
            behind=descent.behind,
            weights=np.exp(blocks.unigrams.incidence(layout.n_unigrams) @ mu),
            set_ptr=set_ptr,
            entries=entries,
            values=values,
            member_ptr=member_ptr,
            entry_of=entry_of,
            ranges=ranges,
            parameters=parameters,
            by_label=np.lexsort((parameters["later"], block)),
            violations=np.full((n_blocks, 2), np.inf),
            lengths=descent.lengths,
            rho1=float(descent.objective.rho1),
            rho2=float(descent.objective.rho2),
            steps=np.empty((4, int(sizes.max(initial=0)))),
            columns=np.empty((3, L)),
            logs=np.empty((2, blocks.most)),
            room=np.empty(L),
        )

    def theta(self) -> FloatArray:
        """All parameters, these as they are now."""
        theta = self.descent.theta.copy()
        theta[self.at] = self.world.parameters["theta"]
        return theta

    def _entries(
        self, first: IntArray, end: IntArray, within: IntArray, theta: FloatArray
    ) -> tuple[Any, ...]:
        """Lay out the entries of all bigram sets; say where each block's lambda stand in each."""
        # ``first``:``end`` (B,) are the working lambda of each block, ``within`` (P,) their y' L +
        # y. Answers (set_ptr, entries, values, member_ptr, entry_of) of `kernels.World`.
        bigrams, index = self.descent.blocks.bigrams, self.descent.blocks.index
        L, n_sets, members = self.descent.blocks.data.n_labels, bigrams.n_sets, index.lam_members
        area = L**2
        sets_of_block = np.diff(index.blocks["lam_set"])
        # one line for each (member, working lambda of its block): which lambda, which set
        counts = np.repeat(end - first, sets_of_block)
        member_ptr = pointer(counts)
        shift = np.repeat(first, sets_of_block) - member_ptr[:-1]
        number = np.repeat(shift, counts) + np.arange(member_ptr[-1])
        where, of_set = within[number], np.repeat(members["set"], counts)
        score = np.repeat(members["times"], counts) * theta[number]
        full = np.zeros(n_sets, dtype=bool)
        full[members["set"][counts * _FULL_SHARE > area]] = True
        # no sum of a set's scores is below the least of them times their number
        full[of_set[score * np.diff(bigrams.ptr)[of_set] < _LOWEST_LISTED]] = True
        listed = ~full[of_set]
        # the distinct (set, y', y) that are listed; where all L^2 are it is the whole matrix
        keys, of_key = np.unique((of_set * area + where)[listed], return_inverse=True)
        size = np.bincount(keys // area, minlength=n_sets)
        start = pointer(size)
        size[full] = area
        set_ptr = pointer(size)
        target = set_ptr[keys // area] + np.arange(len(keys)) - start[keys // area]
        entry_of = np.empty(len(where), dtype=np.int64)
        entry_of[~listed] = set_ptr[of_set[~listed]] + where[~listed]
        entry_of[listed] = target[of_key]
        values = np.exp(np.bincount(entry_of, score, set_ptr[-1]))
        entries = np.zeros(set_ptr[-1], dtype=kernels.LABELS)
        entries["earlier"][target] = keys % area // L
        entries["later"][target] = keys % L
        return set_ptr, entries, values, member_ptr, entry_of


def sbcd(objective: Objective, start: FloatArray, recorder: Recorder) -> Termination:
    """Train by sweeps over the blocks and joint steps; see the module."""
    descent, memory = BlockDescent(objective, start), Memory()
    now = Iterate.at(objective, start)
    iteration, fallen = 0, math.inf
    while fallen > _PAYS * abs(now.value):
        distance = objective.distance(now.theta, now.gradient)
        stop = recorder.note(iteration, now.theta, now.value, distance)
        if stop is not None:
            return stop
        face = Face(objective, working_set(objective, now))
        memory.move_to(face.at)
        wanted = objective.unit * max(_ENOUGH * distance, 0.5 * recorder.options.tol)
        descent.go_to(now.theta)
        if not descent.descend(Working(descent, face.at), wanted, recorder.clock):
            return recorder.stalled()
        swept = face.look(descent.theta[face.at])
        fallen = now.value - swept.value
        memory.add(swept.theta - now.theta[face.at], swept.gradient - now.gradient[face.at])
        here = descended(face, swept, memory, recorder, wanted, _JOINT_STEPS)
        theta = np.zeros_like(start)
        theta[face.at] = here.theta
        before, now = now, Iterate.at(objective, theta)
        if before.value - now.value <= _ROUNDING * abs(before.value):
            return recorder.stalled()
        iteration += 1
    return finished(objective, now, recorder, iteration)
