"""Decoding: the most probable labels of each sequence, and the k most probable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.jit import has_numba
from milpscore.sequence._data import IdArray, SequenceData
from milpscore.sequence._log_domain import pair_scores
from milpscore.sequence._model import checked, log_partition
from milpscore.sequence._prepared import Part, Prepared


@dataclass(frozen=True, eq=False)
class Labelling:
    """One labelling of a sequence.

    Attributes
    ----------
    labels : int32 array of shape (n,)
    log_probability : float
        log p(y | x), at most 0 up to rounding.
    """

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
    ready, theta = checked(data, theta)
    mu, lam = ready.layout.split(theta)
    found = [_best(part, mu, lam, 1)[0][0] for part in ready.parts]
    return np.concatenate(found)


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
    ready, theta = checked(data, theta)
    mu, lam = ready.layout.split(theta)
    found = [_best(part, mu, lam, k) for part in ready.parts]
    labels = np.concatenate([part[0] for part in found], axis=1)
    logs = np.concatenate([part[1] for part in found], axis=1) - log_partition(ready, theta)
    offsets = ready.data.offsets
    return [
        [
            Labelling(labels[place, offsets[i] : offsets[i + 1]].copy(), float(logs[place, i]))
            for place in np.flatnonzero(logs[:, i] > -np.inf)
        ]
        for i in range(ready.data.n_sequences)
    ]


def _best(part: Part, mu: FloatArray, lam: FloatArray, k: int) -> tuple[IdArray, FloatArray]:
    """Labels (k, T) and scores (k, N) of the best labellings; -inf where there is none."""
    data = part.data
    labels = np.zeros((k, data.n_positions), dtype=np.int32)
    scores = np.full((k, data.n_sequences), -np.inf)
    unigram_scores = part.incidence @ mu
    if has_numba():
        from milpscore.sequence._kernels_viterbi import best_paths

        best_paths(
            data.offsets,
            unigram_scores,
            part.unigrams.of_position,
            part.bigrams.of_position,
            part.bigrams.ptr,
            part.bigrams.ids,
            lam,
            k,
            labels,
            scores,
        )
    else:
        for index in range(data.n_sequences):
            at = slice(data.offsets[index], data.offsets[index + 1])
            own = unigram_scores[part.unigrams.of_position[at]]
            _best_of_one(data, index, own, lam, labels[:, at], scores[:, index])
    return labels, scores


def _best_of_one(
    data: SequenceData,
    index: int,
    own: FloatArray,
    lam: FloatArray,
    labels: IdArray,
    scores: FloatArray,
) -> None:
    """The same for one sequence in NumPy, with the same ties; slow, a step a position."""
    k, n = labels.shape
    if n == 0:
        scores[0] = 0.0
        return
    value = np.full((data.n_labels, k), -np.inf)
    value[:, 0] = own[0]
    origin = np.zeros((n, data.n_labels, k), dtype=np.int64)
    for t in range(1, n):
        moves = pair_scores(data, lam, int(data.offsets[index]) + t)
        candidates = (value[:, :, None] + moves[:, None, :]).reshape(-1, data.n_labels)
        origin[t] = np.argsort(-candidates, axis=0, kind="stable")[:k].T
        value = np.take_along_axis(candidates.T, origin[t], axis=1) + own[t][:, None]
    final = value.reshape(-1)
    for place, chosen in enumerate(np.argsort(-final, kind="stable")[:k]):
        if final[chosen] == -np.inf:
            break
        scores[place] = final[chosen]
        at = chosen
        for t in range(n - 1, -1, -1):
            labels[place, t] = at // k
            at = origin[t].reshape(-1)[at]
