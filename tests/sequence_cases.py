"""Small chains, and everything about them by enumeration of all labellings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from milpscore_sequence import SequenceData
from milpscore_sequence.generators import sample_labels


def make_random_crf(
    n_sequences: int = 20,
    *,
    n_labels: int = 3,
    n_unigrams: int = 5,
    n_bigrams: int = 4,
    mean_length: float = 5.0,
    density: float = 1.0,
    scale: float = 1.0,
    random_state: Any = None,
) -> tuple[SequenceData, np.ndarray]:
    """Make a small CRF with normal parameters (data, theta) and sequences drawn from it.

    A position holds 0, 1 or 2 observations of each kind, so that sets overlap and some are empty;
    lengths are Poisson, so that sequences are empty where ``mean_length`` is small; ``density`` is
    the share of parameters that are not zero, ``scale`` their standard deviation.
    """
    rng = np.random.default_rng(random_state)
    offsets = _pointer(rng.poisson(mean_length, n_sequences))
    counts = rng.integers(0, 3, (2, offsets[-1]))
    counts[1, offsets[:-1][np.diff(offsets) > 0]] = 0
    if n_bigrams == 0:
        counts[1] = 0
    ptr = [_pointer(count) for count in counts]
    data = SequenceData(
        offsets=offsets,
        unigram_ptr=ptr[0],
        unigram_ids=rng.integers(0, n_unigrams, ptr[0][-1]),
        bigram_ptr=ptr[1],
        bigram_ids=rng.integers(0, max(n_bigrams, 1), ptr[1][-1]),
        n_unigrams=n_unigrams,
        n_bigrams=n_bigrams,
        n_labels=n_labels,
    )
    size = data.layout.n_parameters
    theta = rng.normal(scale=scale, size=size) * (rng.random(size) < density)
    return replace(data, labels=sample_labels(data, theta, random_state=rng)), theta


def _pointer(counts: np.ndarray) -> np.ndarray:
    """Starts and end of consecutive runs of these lengths."""
    return np.append(0, np.cumsum(counts))


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
