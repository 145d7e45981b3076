"""The linear-chain CRF at given parameters: likelihood, gradient, posteriors, decoding.

p(y | x) = exp(sum_t [sum_u mu_{u, y_t} + sum_b lambda_{b, y_{t-1}, y_t}]) / Z(x), u and b over the
observations that hold at position t. The objective of the trainers is a sum, not a mean:
sum_i -log p(y_i | x_i) + rho1 |theta|_1 + rho2/2 |theta|_2^2.

References
----------
Sokolovska, "Feature selection; interpretable models" (slides). Errata heeded here: Z sums over
Y^T, the gradient of log Z is the pairwise posterior, and the penalty is (rho2/2) |theta|^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore_sequence._data import IdArray, Part, Prepared, SequenceData, pointer, prepare

# |mu| + |lambda| at a position up to which exp, its products and quotients stay in range: the
# scaled vectors then differ by at most exp(300) within, their products by exp(600).
STEEP = 150.0
# Entries of the matrix that a gathered entry of the sparse form must save, as measured: products of
# small matrices are plain loops, those of large ones BLAS.
_SAVED_SMALL, _SAVED_LARGE, _LARGE = 40, 100, 32


def negative_log_likelihood(
    data: SequenceData | Prepared, theta: FloatArray, form: str = "auto"
) -> float:
    """Sum over the sequences of -log p(y | x).

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    theta : ndarray of shape (n_parameters,)
    form : {"auto", "dense", "sparse"}
        See :func:`value_and_gradient`.

    Raises
    ------
    DataError
        Labels are missing or were never seen in training, or theta is of another model.
    OptionError
        An unknown form.
    """
    ready, theta = _checked(data, theta)
    index, count = ready.observed
    return float(log_partition(ready, theta, form).sum() - count @ theta[index])


def value_and_gradient(
    data: SequenceData | Prepared, theta: FloatArray, form: str = "auto"
) -> tuple[float, FloatArray]:
    """Sum over the sequences of -log p(y | x), and its gradient.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels. Prepare once what is evaluated often.
    theta : ndarray of shape (n_parameters,)
    form : {"auto", "dense", "sparse"}
        How a step of the recursions is made: by the matrix exp(lambda) of its observation set, by
        the nonzero entries of exp(lambda) - 1, or by whichever is quicker.

    Returns
    -------
    value : float
    gradient : ndarray of shape (n_parameters,)
        Expected minus observed counts.

    Raises
    ------
    DataError
        Labels are missing or were never seen in training, or theta is of another model.
    OptionError
        An unknown form.
    """
    ready, theta = _checked(data, theta)
    index, count = ready.observed
    total, gradient = expected_counts(ready, theta, form)
    gradient[index] -= count
    return total - float(count @ theta[index]), gradient


def expected_counts(
    data: SequenceData | Prepared, theta: FloatArray, form: str = "auto"
) -> tuple[float, FloatArray]:
    """The sum of log Z over the sequences, and its gradient; no labels are needed."""
    ready, theta = _checked(data, theta)
    gradient = np.zeros(len(theta))
    mu, lam = ready.layout.split(theta)
    mu_gradient, lam_gradient = ready.layout.split(gradient)
    total = 0.0
    for part in ready.parts:
        done = sweep(part, mu, lam, form)
        total += float(done.log_partition().sum())
        done.add_gradient(mu_gradient, lam_gradient)
    return total, gradient


def log_partition(
    data: SequenceData | Prepared, theta: FloatArray, form: str = "auto"
) -> FloatArray:
    """Log Z of each sequence (N,), 0 for an empty one; `form` as in `value_and_gradient`."""
    return np.concatenate([done.log_partition() for done in _swept(data, theta, form)])


def posterior_marginals(data: SequenceData | Prepared, theta: FloatArray) -> FloatArray:
    """p(y_t = y | x) at every position.

    Parameters
    ----------
    data : SequenceData or Prepared
    theta : ndarray of shape (n_parameters,)

    Returns
    -------
    ndarray of shape (T, L)
        Each row sums to 1.

    Raises
    ------
    DataError
        theta is of another model.
    """
    return np.concatenate([done.marginals() for done in _swept(data, theta)])


@dataclass(frozen=True, eq=False)
class Labelling:
    """One labelling of a sequence: labels (n,), and log p(y | x), at most 0 up to rounding."""

    labels: IdArray
    log_probability: float

    @property
    def probability(self) -> float:
        """p(y | x)."""
        return float(np.exp(min(self.log_probability, 0.0)))


def viterbi(data: SequenceData | Prepared, theta: FloatArray) -> IdArray:
    """The most probable labels of each sequence; ties go to the lower label, from the end on.

    Parameters
    ----------
    data : SequenceData or Prepared
    theta : ndarray of shape (n_parameters,)

    Returns
    -------
    int32 array of shape (T,)

    Raises
    ------
    DataError
        theta is of another model.
    """
    from milpscore_sequence import _kernels

    whole = data.data if isinstance(data, Prepared) else data
    labels = np.empty(whole.n_positions, dtype=np.int32)
    room = np.empty((int(whole.lengths.max(initial=0)), whole.n_labels))
    _kernels.best_labels(*_to_decode(whole, _finite(theta)), labels, room)
    return labels


def _to_decode(whole: SequenceData, theta: FloatArray) -> tuple[Any, Any, Any, Any, Any]:
    """What the kernels that decode read: positions, observations, parameters that are not zero."""
    from milpscore_sequence import _kernels

    whole.layout.split(theta)
    n_mu, L = whole.layout.n_mu, whole.n_labels
    active = np.flatnonzero(theta)
    mu, lam = np.split(active, [np.searchsorted(active, n_mu)])
    of_mu, of_lam = (
        _kernels.Active(pointer(np.bincount(places // size, minlength=n)), places % size, weights)
        for places, size, n, weights in (
            (mu, L, whole.n_unigrams, theta[mu]),
            (lam - n_mu, L**2, whole.n_bigrams, theta[lam]),
        )
    )
    unigrams = whole.unigram_ptr, whole.unigram_ids
    return whole.offsets, unigrams, (whole.bigram_ptr, whole.bigram_ids), of_mu, of_lam


def n_best(data: SequenceData | Prepared, theta: FloatArray, k: int) -> list[list[Labelling]]:
    """The ``k`` most probable labellings of each sequence, exactly (list Viterbi).

    Parameters
    ----------
    data : SequenceData or Prepared
    theta : ndarray of shape (n_parameters,)
    k : int

    Returns
    -------
    list of list of Labelling
        For each sequence, best first; fewer than ``k`` where there are no more. An empty sequence
        has the one empty labelling.

    Raises
    ------
    DataError
        theta is of another model.
    OptionError
        ``k`` is below 1.
    """
    if k < 1:
        raise OptionError(f"k must be at least 1, got {k}")
    from milpscore_sequence import _kernels

    ready, theta = _checked(data, theta)
    whole, offsets = ready.data, ready.data.offsets
    labels = np.zeros((k, whole.n_positions), dtype=np.int32)
    scores = np.full((k, whole.n_sequences), -np.inf)
    came = np.empty((int(whole.lengths.max(initial=0)), whole.n_labels, k), dtype=np.int32)
    _kernels.best_paths(*_to_decode(whole, theta), labels, scores, came)
    logs = scores - log_partition(ready, theta)
    return [
        [
            Labelling(labels[place, offsets[i] : offsets[i + 1]].copy(), float(logs[place, i]))
            for place in np.flatnonzero(logs[:, i] > -np.inf)
        ]
        for i in range(whole.n_sequences)
    ]


def decoding_errors(data: SequenceData | Prepared, theta: FloatArray) -> tuple[float, float]:
    """Shares of tokens, and of sequences, that the most probable labels get wrong.

    A label never seen in training is always wrong; without positions both are 0.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    theta : ndarray of shape (n_parameters,)

    Raises
    ------
    DataError
        The data has no labels.
    """
    whole = data.data if isinstance(data, Prepared) else data
    if whole.labels is None:
        raise DataError("errors need labels: give labelled sequences, or leave them out")
    wrong = viterbi(whole, theta) != whole.labels
    if not len(wrong):
        return 0.0, 0.0
    missed = np.unique(whole.sequence_of[wrong])
    return float(wrong.mean()), len(missed) / whole.n_sequences


def _checked(data: SequenceData | Prepared, theta: FloatArray) -> tuple[Prepared, FloatArray]:
    """The data prepared and theta as numbers; DataError where these are not finite."""
    return prepare(data), _finite(theta)


def _swept(data: SequenceData | Prepared, theta: FloatArray, form: str = "auto") -> Iterator[Sweep]:
    """Sweep the parts of the data, one after the other."""
    ready, theta = _checked(data, theta)
    mu, lam = ready.layout.split(theta)
    return (sweep(part, mu, lam, form) for part in ready.parts)


def _finite(theta: FloatArray) -> FloatArray:
    """Theta as numbers; DataError where these are not finite."""
    theta = np.ascontiguousarray(theta, dtype=np.float64)
    if not np.isfinite(theta.sum()) and not np.isfinite(theta).all():
        raise DataError("theta holds numbers that are not finite: fit again, or mend the file")
    return theta


class LogSweep(NamedTuple):
    """One sequence's log Z, posteriors (n, L), and those of pairs (n, L, L), zero at the first."""

    log_z: float
    singles: FloatArray
    pairs: FloatArray


def _by_logarithms(data: SequenceData, index: int, scores: FloatArray, lam: FloatArray) -> LogSweep:
    """Forward-backward in the log domain: slow, for scores (n, L) beyond the range of floats."""
    n = len(scores)
    moves = np.zeros((n, *lam.shape[1:]))
    for t in range(1, n):
        moves[t] = lam[_bigrams_at(data, int(data.offsets[index]) + t)].sum(axis=0)
    alpha, beta, pairs = scores.copy(), np.zeros_like(scores), np.zeros_like(moves)
    log_z = 0.0
    for t in range(n):
        if t:
            alpha[t] += np.logaddexp.reduce(alpha[t - 1][:, None] + moves[t], axis=0)
        norm = np.logaddexp.reduce(alpha[t])
        alpha[t] -= norm
        log_z += float(norm)
    for t in range(n - 1, 0, -1):
        leaving = moves[t] + (scores[t] + beta[t])
        joint = alpha[t - 1][:, None] + leaving
        pairs[t] = np.exp(joint - np.logaddexp.reduce(joint, axis=None))
        beta[t - 1] = np.logaddexp.reduce(leaving, axis=1)
        beta[t - 1] -= beta[t - 1].max()
    joint = alpha + beta
    return LogSweep(log_z, np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None]), pairs)


def _bigrams_at(data: SequenceData, position: int) -> IdArray:
    """The bigram observations that hold at a position."""
    return data.bigram_ids[data.bigram_ptr[position] : data.bigram_ptr[position + 1]]


@dataclass(eq=False)
class Sweep:
    """The forward recursion over one part, made; the backward one on request."""

    # The arrays of ``chain`` are the part's own: they hold until its next sweep. Sequences in
    # ``steep`` go by logarithms instead, and their rows of the chain are blank.
    part: Part
    lam: FloatArray
    scores: FloatArray  # (unigram sets, L): sums of mu
    chain: Any  # a _kernels.Chain
    steep: IntArray
    returned: bool = False

    @cached_property
    def by_logarithms(self) -> list[tuple[int, LogSweep]]:
        """The steep sequences, swept."""
        data, sets = self.part.data, self.part.unigrams.of_position
        spans = [(int(i), slice(data.offsets[i], data.offsets[i + 1])) for i in self.steep]
        return [(i, _by_logarithms(data, i, self.scores[sets[at]], self.lam)) for i, at in spans]

    def steep_rows(self) -> IntArray:
        """Rows of the sequences that go by logarithms."""
        lost = np.isin(self.part.data.sequence_of, self.steep)
        return np.flatnonzero(lost[self.part.schedule.position])

    def log_partition(self) -> FloatArray:
        """Log Z of each sequence (N,), 0 for an empty one."""
        data, position = self.part.data, self.part.schedule.position
        logs = np.log(self.chain.scale)
        total = np.bincount(data.sequence_of[position], logs, data.n_sequences).astype(np.float64)
        for index, found in self.by_logarithms:
            total[index] = found.log_z
        return total

    def back(self) -> None:
        """Run the backward recursion, once."""
        from milpscore_sequence import _kernels

        if self.returned:
            return
        self.chain.leaving[self.part.schedule.last] = 1.0
        _kernels.backward(self.chain)
        if len(self.steep):
            rows = self.steep_rows()
            self.chain.arriving[rows] = 0.0
            self.chain.leaving[rows] = 0.0
        self.returned = True

    def add_gradient(self, mu_gradient: FloatArray, lam_gradient: FloatArray) -> None:
        """Add the gradient of log Z, summed over the sequences, to arrays like mu and lambda."""
        from milpscore_sequence import _kernels

        self.back()
        part, data, sets = self.part, self.part.data, self.part.bigrams
        rows = lam_gradient.reshape(data.n_bigrams, data.n_labels**2)
        _kernels.add_pairs(sets.ptr, sets.ids, part.schedule.set_rows, self.chain, rows)
        sums = np.zeros((part.unigrams.n_sets, data.n_labels))
        _kernels.add_singles(self.chain, sums)
        for index, found in self.by_logarithms:
            start = data.offsets[index]
            held = part.unigrams.of_position[start : start + len(found.singles)]
            np.add.at(sums, held, found.singles)
            for t in range(1, len(found.pairs)):
                np.add.at(lam_gradient, _bigrams_at(data, start + t), found.pairs[t])
        mu_gradient += part.scatter @ sums

    def marginals(self) -> FloatArray:
        """p(y_t = y | x) at every position, shape (T, L)."""
        self.back()
        chain, data, rows = self.chain, self.part.data, self.part.schedule.rows
        factor = chain.scale[:, None] / chain.weights[rows["unigrams"]]
        posterior: FloatArray = np.empty_like(chain.leaving)
        posterior[self.part.schedule.position] = (
            chain.arriving[rows["after"]] * chain.leaving * factor
        )
        for index, found in self.by_logarithms:
            posterior[data.offsets[index] : data.offsets[index + 1]] = found.singles
        return posterior


def sweep(part: Part, mu: FloatArray, lam: FloatArray, form: str = "auto") -> Sweep:
    """Run the forward recursion at mu (n_unigrams, L), lambda (n_bigrams, L, L)."""
    from milpscore_sequence import _kernels

    L, sets, schedule = part.data.n_labels, part.bigrams, part.schedule
    most = _most_entries(form, L)
    scores = part.incidence @ mu
    groups = schedule.groups
    chain = _kernels.Chain(
        rows=schedule.rows,
        groups=groups,
        weights=np.exp(np.clip(scores, -STEEP, STEEP)),
        matrices=part.matrices,
        counts=np.zeros(sets.n_sets, dtype=np.int64),
        entries=np.empty((sets.n_sets, most), dtype=_kernels.ENTRY),
        arriving=part.arriving,
        leaving=part.leaving,
        scale=np.ones(part.data.n_positions),
        room=np.empty((int((groups["end"] - groups["start"]).max(initial=0)), L)),
    )
    dense = form == "dense"
    rows = lam.reshape(len(lam), L**2)
    biggest = _kernels.fill_sets(rows, sets.ptr, sets.ids, STEEP, dense, chain)
    if dense:
        np.exp(part.matrices[1:], out=part.matrices[1:])
    steep = _steep_sequences(part, scores, biggest)
    _kernels.forward(chain)
    done = Sweep(part, lam, scores, chain, steep)
    if len(steep):
        chain.scale[done.steep_rows()] = 1.0
    return done


def _most_entries(form: str, n_labels: int) -> int:
    """How many nonzero entries of lambda a set may have to be worked on sparsely."""
    saved = _SAVED_LARGE if n_labels >= _LARGE else _SAVED_SMALL
    most = {"auto": n_labels**2 // saved, "dense": 0, "sparse": n_labels**2}
    if form not in most:
        raise OptionError(f'form must be "auto", "dense" or "sparse", got {form!r}')
    return most[form]


def _steep_sequences(part: Part, scores: FloatArray, biggest: FloatArray) -> IntArray:
    """The sequences with a position where |mu| + |lambda| is beyond STEEP."""
    height = np.abs(scores).max(axis=1, initial=0.0)
    if biggest.max() + height.max(initial=0.0) <= STEEP:
        return np.zeros(0, dtype=np.int64)
    at = height[part.unigrams.of_position] + biggest[part.bigrams.of_position]
    return np.unique(part.data.sequence_of[at > STEEP])
