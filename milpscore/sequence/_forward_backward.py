"""Forward-backward over a part of the data: scaled, with exp(lambda) cached per observation set."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.core.jit import has_numba
from milpscore.sequence._log_domain import LogSweep, log_sweep, pair_ids
from milpscore.sequence._prepared import Part

# |mu| + |lambda| at a position up to which exp, its products and quotients stay in range: the
# scaled vectors then differ by at most exp(300) within, their products by exp(600).
STEEP = 150.0
# Entries of the matrix that a gathered entry of the sparse form must save, as measured: products of
# small matrices are plain loops, those of large ones BLAS.
_SAVED_SMALL, _SAVED_LARGE, _LARGE = 40, 100, 32


def kernels() -> ModuleType:
    """The compiled recursions, or the same in NumPy where numba is absent."""
    if has_numba():
        from milpscore.sequence import _kernels

        return _kernels
    from milpscore.sequence import _kernels_numpy

    return _kernels_numpy


def most_entries(form: str, n_labels: int) -> int:
    """How many nonzero entries of lambda a set may have to be worked on sparsely, -1 for none.

    Raises
    ------
    OptionError
        An unknown form.
    """
    saved = _SAVED_LARGE if n_labels >= _LARGE else _SAVED_SMALL
    most = {"auto": n_labels**2 // saved, "dense": -1, "sparse": n_labels**2}
    if form not in most:
        raise OptionError(f'form must be "auto", "dense" or "sparse", got {form!r}')
    return most[form]


@dataclass(eq=False)
class Sweep:
    """The forward recursion over one part, made; the backward one on request.

    Sequences in ``steep`` go by logarithms instead. The arrays are the part's own: they hold until
    its next sweep.
    """

    part: Part
    mu: FloatArray
    lam: FloatArray
    engine: ModuleType
    unigram_scores: FloatArray
    weights: FloatArray
    entries: tuple[Any, ...]
    scale: FloatArray
    room: FloatArray
    steep: IntArray
    returned: bool = False

    def log_partition(self) -> FloatArray:
        """Log Z of each sequence, 0 for an empty one."""
        data, schedule = self.part.data, self.part.schedule
        of_position = np.repeat(np.arange(data.n_sequences), data.lengths)
        logs = np.log(self.scale)
        sums = np.bincount(of_position[schedule.position], logs, data.n_sequences)
        total = sums.astype(np.float64)
        for index, sequence in self.by_logarithms:
            total[index] = sequence.log_z
        return total

    @cached_property
    def by_logarithms(self) -> list[tuple[int, LogSweep]]:
        """The steep sequences, swept."""
        data, sets = self.part.data, self.part.unigrams.of_position
        spans = [(int(i), slice(data.offsets[i], data.offsets[i + 1])) for i in self.steep]
        return [(i, log_sweep(data, i, self.unigram_scores[sets[at]], self.lam)) for i, at in spans]

    def steep_rows(self) -> IntArray:
        """Rows of the sequences that go by logarithms."""
        lost = np.zeros(self.part.data.n_sequences, dtype=bool)
        lost[self.steep] = True
        of_position = np.repeat(lost, self.part.data.lengths)
        return np.flatnonzero(of_position[self.part.schedule.position])

    def back(self) -> None:
        """Run the backward recursion, once."""
        if self.returned:
            return
        part, schedule = self.part, self.part.schedule
        part.leaving[schedule.last] = 1.0
        with _silence(self.steep):
            self.engine.backward(
                part.matrices,
                self.entries,
                self.weights,
                part.unigram_of_row,
                schedule.group_ptr,
                schedule.group_set,
                schedule.before,
                part.leaving,
                self.scale,
                self.room,
            )
        if len(self.steep):
            rows = self.steep_rows()
            part.arriving[rows] = 0.0
            part.leaving[rows] = 0.0
        self.returned = True

    def add_gradient(self, mu_gradient: FloatArray, lam_gradient: FloatArray) -> None:
        """Add the gradient of log Z, summed over the sequences, to arrays like mu and lambda."""
        self.back()
        part, schedule, data = self.part, self.part.schedule, self.part.data
        self.engine.add_pairs(
            part.matrices,
            self.entries,
            part.bigrams.ptr,
            part.bigrams.ids,
            schedule.set_rows,
            part.arriving,
            part.leaving,
            lam_gradient.reshape(data.n_bigrams, data.n_labels**2),
        )
        sums = np.zeros((part.unigrams.n_sets, data.n_labels))
        self.engine.add_singles(
            self.weights,
            part.unigram_of_row,
            schedule.after,
            part.arriving,
            part.leaving,
            self.scale,
            sums,
        )
        for index, sequence in self.by_logarithms:
            start = data.offsets[index]
            singles = sequence.singles()
            np.add.at(sums, part.unigrams.of_position[start : start + len(singles)], singles)
            for t in range(1, len(singles)):
                np.add.at(lam_gradient, pair_ids(data, start + t), sequence.pair(t))
        mu_gradient += part.scatter @ sums

    def marginals(self) -> FloatArray:
        """p(y_t = y | x) at every position, shape (T, L)."""
        self.back()
        part, schedule, data = self.part, self.part.schedule, self.part.data
        factor = self.scale[:, None] / self.weights[part.unigram_of_row]
        posterior = np.empty_like(part.leaving)
        posterior[schedule.position] = part.arriving[schedule.after] * part.leaving * factor
        for index, sequence in self.by_logarithms:
            posterior[data.offsets[index] : data.offsets[index + 1]] = sequence.singles()
        return posterior

    def pairs(self) -> FloatArray:
        """p(y_{t-1} = y', y_t = y | x), shape (T, L, L); needs a dense sweep.

        Zero at first positions.
        """
        self.back()
        part, schedule, data = self.part, self.part.schedule, self.part.data
        sets = part.bigrams.of_position[schedule.position]
        joint = np.empty((data.n_positions, data.n_labels, data.n_labels))
        joint[schedule.position] = (
            part.arriving[:, :, None] * part.matrices[sets] * part.leaving[:, None, :]
        )
        joint[data.offsets[:-1][data.lengths > 0]] = 0.0
        for index, sequence in self.by_logarithms:
            for t in range(1, len(sequence.alpha)):
                joint[data.offsets[index] + t] = sequence.pair(t)
        return joint


def sweep(part: Part, mu: FloatArray, lam: FloatArray, form: str = "auto") -> Sweep:
    """Run the forward recursion over the sequences of ``part``.

    Parameters
    ----------
    mu : ndarray of shape (n_unigrams, L)
    lam : ndarray of shape (n_bigrams, L, L)
    form : {"auto", "dense", "sparse"}
        Whether a step multiplies by exp(lambda), or adds the nonzero entries of exp(lambda) - 1
        (slide "Sparse Forward-Backward"); "auto" chooses for each observation set.
    """
    engine, schedule = kernels(), part.schedule
    unigram_scores, weights = _weights(part, mu)
    entries, steep = _entries(part, lam, form, engine, unigram_scores)
    scale = np.ones(part.data.n_positions)
    widest = int((schedule.group_ptr[:, 1] - schedule.group_ptr[:, 0]).max(initial=0))
    room = np.empty((widest, part.data.n_labels))
    with _silence(steep):
        engine.forward(
            part.matrices,
            entries,
            weights,
            part.unigram_of_row,
            schedule.group_ptr,
            schedule.group_set,
            schedule.after,
            part.arriving,
            scale,
            room,
        )
    done = Sweep(part, mu, lam, engine, unigram_scores, weights, entries, scale, room, steep)
    if len(steep):
        scale[done.steep_rows()] = 1.0
    return done


def _silence(steep: IntArray) -> Any:
    """No floating-point warnings where steep sequences are swept too: those rows are dropped."""
    return np.errstate(all="ignore") if len(steep) else nullcontext()


def _weights(part: Part, mu: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The sums of mu, and their exponentials, of each set of unigram observations."""
    scores = part.incidence @ mu
    return scores, np.exp(np.clip(scores, -STEEP, STEEP))


def _entries(
    part: Part, lam: FloatArray, form: str, engine: ModuleType, unigram_scores: FloatArray
) -> tuple[tuple[Any, ...], IntArray]:
    """Fill the matrices of the sets; say which sequences are too steep for them."""
    data, sets = part.data, part.bigrams
    most = most_entries(form, data.n_labels)
    room = sets.n_sets * max(most, 0)
    counts = np.zeros(sets.n_sets, dtype=np.int64)
    where, excess = np.empty(room, dtype=np.int64), np.empty(room)
    biggest = np.zeros(sets.n_sets)
    rows = lam.reshape(data.n_bigrams, data.n_labels**2)
    out = (counts, where, excess, biggest)
    engine.fill_sets(rows, sets.ptr, sets.ids, most, STEEP, part.matrices, out)
    if most < 0:
        np.exp(part.matrices[1:], out=part.matrices[1:])
        counts[0] = 0
    steep = np.zeros(0, dtype=np.int64)
    if biggest.max() + np.abs(unigram_scores).max(initial=0.0) > STEEP:
        height = np.abs(unigram_scores).max(axis=1)[part.unigrams.of_position]
        beyond = np.flatnonzero(height + biggest[sets.of_position] > STEEP)
        steep = np.unique(np.searchsorted(data.offsets, beyond, side="right") - 1)
    return (counts, where, excess, max(most, 0)), steep
