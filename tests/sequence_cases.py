"""Small chains, and everything about them by enumeration of all labellings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from milpscore.sequence import SequenceData
from milpscore.sequence.generators import make_random_crf


def small_chains(scale: float = 1.0, seed: int = 0) -> tuple[SequenceData, np.ndarray]:
    """Seven sequences of 0 to 6 positions; some positions have no, some repeated observations."""
    data, theta = make_random_crf(
        7, mean_length=2.4, density=0.7, scale=scale, random_state=seed + 178
    )
    return data, theta


def labellings(data: SequenceData, index: int, theta: np.ndarray) -> Iterator[tuple]:
    """Each labelling of a sequence with its score, by the definition."""
    mu, lam = data.layout.split(theta)
    start, end = data.offsets[index : index + 2]
    for labels in itertools.product(range(data.n_labels), repeat=int(end - start)):
        score = 0.0
        for t in range(start, end):
            held = data.unigram_ids[data.unigram_ptr[t] : data.unigram_ptr[t + 1]]
            score += mu[held, labels[t - start]].sum()
            held = data.bigram_ids[data.bigram_ptr[t] : data.bigram_ptr[t + 1]]
            if len(held):
                score += lam[held, labels[t - start - 1], labels[t - start]].sum()
        yield labels, score


def enumerated(data: SequenceData, theta: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Labellings (m, n), their log-probabilities (m,), and log Z of each sequence."""
    found = []
    for index in range(data.n_sequences):
        labels, scores = zip(*labellings(data, index, theta), strict=True)
        log_z = float(np.logaddexp.reduce(scores))
        shape = (len(scores), int(data.lengths[index]))
        found.append((np.array(labels).reshape(shape), np.array(scores) - log_z, log_z))
    return found
