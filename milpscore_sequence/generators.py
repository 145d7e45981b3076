"""Artificial sequences: drawn exactly from a known CRF, or like the chunks of a text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore_sequence._data import IdArray, Layout, Prepared, SequenceData, pointer, prepare
from milpscore_sequence.inference import Sweep, sweep

_CHUNKS = ("NP", "VP", "PP", "ADVP", "SBAR", "ADJP", "PRT", "CONJP")
_TAGS = {
    "NP": ("DT", "NN", "NNS", "NNP", "JJ", "PRP", "CD"),
    "VP": ("VB", "VBD", "VBZ", "MD", "TO", "RB"),
    "PP": ("IN", "TO"),
    "ADVP": ("RB", "RBR"),
    "SBAR": ("IN", "WP"),
    "ADJP": ("JJ", "JJR", "RB"),
    "PRT": ("RP",),
    "CONJP": ("CC", "RB"),
    "O": (".", ",", "CC", "''"),
}
_CHUNK_SHARES = (0.52, 0.2, 0.18, 0.04, 0.02, 0.02, 0.01, 0.01)


@dataclass(frozen=True, eq=False)
class GeneratedSequences:
    """Sequences as a reader would give them (columns of each position), and their labels.

    ``data`` are the same in numbers, ``theta`` the true parameters: None without a true CRF.
    """

    rows: list[list[list[str]]]
    labels: list[list[str]]
    data: SequenceData | None = None
    theta: FloatArray | None = None


def sample_labels(
    data: SequenceData | Prepared, theta: FloatArray, *, random_state: Any = None
) -> IdArray:
    """Draw labels (T,) from p(y | x): backward filtering, forward sampling, exactly."""
    ready, rng = prepare(data), np.random.default_rng(random_state)
    mu, lam = ready.layout.split(np.ascontiguousarray(theta, dtype=np.float64))
    return np.concatenate([_sampled(sweep(part, mu, lam, "dense"), rng) for part in ready.parts])


def make_letters_to_phonemes(
    n_sequences: int = 1000,
    random_state: Any = None,
    *,
    n_observations: int = 26,
    n_labels: int = 53,
    density: float = 0.05,
) -> GeneratedSequences:
    """Make words whose letters are read aloud: few observations, many labels, a sparse CRF.

    A word has 2 + Poisson(5.3) letters, of uneven frequency. Each letter has a few sounds of its
    own (mu near 7, 5, 3, then 1), and of its lambda the share ``density`` is not zero (normal,
    standard deviation 2); the labels are drawn from exactly this CRF.

    Parameters
    ----------
    n_sequences : int
    random_state : int, Generator or None
    n_observations : int
        Letters, the sole unigram and bigram observations.
    n_labels : int
    density : float
        Share of parameters that are not zero (each letter has one sound at least).

    Returns
    -------
    GeneratedSequences
        With ``data`` and the true ``theta``.

    Raises
    ------
    OptionError
        A size below 1 or a density outside (0, 1].

    References
    ----------
    Sokolovska (slides), phonetisation: 26 letters, 53 phonemes, 75 000 parameters.
    """
    _check_sizes(n_sequences=n_sequences, n_observations=n_observations, n_labels=n_labels)
    if not 0.0 < density <= 1.0:
        raise OptionError(f"density must lie in (0, 1], got {density}")
    rng = np.random.default_rng(random_state)
    layout = Layout(n_observations, n_observations, n_labels)
    theta = layout.zeros()
    mu, lam = layout.split(theta)
    n_sounds = max(1, round(density * n_labels))
    sounds = rng.permuted(np.tile(np.arange(n_labels), (n_observations, 1)), axis=1)[:, :n_sounds]
    habit = np.maximum(7.0 - 2.0 * np.arange(n_sounds), 1.0)
    np.put_along_axis(mu, sounds, habit + rng.uniform(-0.5, 0.5, sounds.shape), axis=1)
    lam += rng.normal(scale=2.0, size=lam.shape) * (rng.random(lam.shape) < density)
    offsets = pointer(2 + rng.poisson(5.3, n_sequences))
    letters = rng.choice(n_observations, offsets[-1], p=rng.dirichlet(np.full(n_observations, 2.0)))
    inner = np.ones(offsets[-1], dtype=np.int64)
    inner[offsets[:-1]] = 0
    data = SequenceData(
        offsets=offsets,
        unigram_ptr=np.arange(offsets[-1] + 1),
        unigram_ids=letters,
        bigram_ptr=pointer(inner),
        bigram_ids=letters[inner > 0],
        n_unigrams=n_observations,
        n_bigrams=n_observations,
        n_labels=n_labels,
    )
    labels = sample_labels(data, theta, random_state=rng)
    # a, b, ..., z, then a1, b1, ...
    names = [chr(97 + i % 26) + (str(i // 26) if i >= 26 else "") for i in range(n_observations)]
    sounds_read = np.char.add("p", np.char.zfill(labels.astype(str), 2))
    cuts = offsets[1:-1]
    return GeneratedSequences(
        rows=[
            [[name] for name in word.tolist()] for word in np.split(np.array(names)[letters], cuts)
        ],
        labels=[word.tolist() for word in np.split(sounds_read, cuts)],
        data=replace(data, labels=labels),
        theta=theta,
    )


def make_chunking(
    n_tokens: int = 20_000, random_state: Any = None, *, n_words: int = 9_000, zipf: float = 1.0
) -> GeneratedSequences:
    """Make sentences with a word and a part-of-speech column and the 17 labels of text chunking.

    Chunks (B- and I- of eight kinds) and tokens outside follow each other at random; a chunk kind
    has its parts of speech, each of these its own words, of Zipf frequency.

    Parameters
    ----------
    n_tokens : int
        At least; the last sentence is finished.
    random_state : int, Generator or None
    n_words : int
        Size of the language; some half of it is seen in 20 000 tokens.
    zipf : float
        Exponent of the words' frequencies.

    Returns
    -------
    GeneratedSequences
        ``data`` and ``theta`` are None: these are not drawn from a CRF.

    Raises
    ------
    OptionError
        A size below 1, or fewer words than parts of speech.
    """
    tags = sorted({tag for group in _TAGS.values() for tag in group})
    _check_sizes(n_tokens=n_tokens)
    if n_words < len(tags):
        raise OptionError(f"n_words must be at least {len(tags)}, one for each part of speech")
    rng = np.random.default_rng(random_state)
    labels, kinds, ends = _chunk_labels(n_tokens, rng)
    tag = np.empty(len(labels), dtype=np.int64)
    for kind, group in _TAGS.items():
        at = np.flatnonzero(kinds == kind)
        shares = rng.dirichlet(np.full(len(group), 2.0))
        tag[at] = np.array([tags.index(name) for name in group])[
            rng.choice(len(group), at.size, p=shares)
        ]
    # word w belongs to tag w mod (number of tags); its rank there sets its frequency
    word = np.empty(len(labels), dtype=np.int64)
    for number in range(len(tags)):
        at = np.flatnonzero(tag == number)
        ranks = np.arange(1, (n_words - number - 1) // len(tags) + 2)
        share = ranks**-zipf
        word[at] = number + len(tags) * (rng.choice(ranks, at.size, p=share / share.sum()) - 1)
    # one word in twelve is also used where another part of speech stands
    odd = rng.random(len(labels)) < 1 / 12
    word[odd] = rng.permutation(word[odd])
    rows = [[f"w{w}", tags[k]] for w, k in zip(word.tolist(), tag.tolist(), strict=True)]
    bounds = list(zip([0, *ends[:-1]], ends, strict=True))
    return GeneratedSequences(
        rows=[rows[start:end] for start, end in bounds],
        labels=[labels[start:end] for start, end in bounds],
    )


def _chunk_labels(n_tokens: int, rng: np.random.Generator) -> tuple[list[str], Any, list[int]]:
    """Labels, the chunk kind of each token, and the ends of sentences."""
    labels: list[str] = []
    ends: list[int] = []
    while len(labels) < n_tokens:
        wanted = len(labels) + 5 + int(rng.poisson(18))
        while len(labels) < wanted:
            if rng.random() < 0.15:
                labels.append("O")
                continue
            kind = _CHUNKS[rng.choice(len(_CHUNKS), p=_CHUNK_SHARES)]
            labels += [f"B-{kind}"] + [f"I-{kind}"] * (int(rng.geometric(0.55)) - 1)
        labels.append("O")
        ends.append(len(labels))
    return labels, np.array([label.split("-")[-1] for label in labels]), ends


def _sampled(done: Sweep, rng: np.random.Generator) -> IdArray:
    """One draw for every sequence of a dense sweep, all sequences step by step."""
    part, data = done.part, done.part.data
    first, starts = data.offsets[:-1], data.first
    labels = np.zeros(data.n_positions, dtype=np.int64)
    labels[starts] = _drawn(done.marginals()[starts], rng)
    row_of = np.empty(data.n_positions, dtype=np.int64)
    row_of[part.schedule.position] = np.arange(data.n_positions)
    mild = np.setdiff1d(np.arange(data.n_sequences), done.steep)
    for step in range(1, int(data.lengths[mild].max(initial=0))):
        mild = mild[data.lengths[mild] > step]
        at = first[mild] + step
        moves = part.matrices[part.bigrams.of_position[at], labels[at - 1]]
        labels[at] = _drawn(moves * done.chain.leaving[row_of[at]], rng)
    for index, by_logs in done.by_logarithms:
        for t in range(1, len(by_logs.pairs)):
            at = data.offsets[index] + t
            labels[at] = _drawn(by_logs.pairs[t, labels[at - 1]][None], rng)[0]
    return labels.astype(np.int32)


def _drawn(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """A column of each row, drawn in proportion to its weight."""
    total = np.cumsum(weights, axis=1)
    level = rng.random(len(weights)) * total[:, -1]
    chosen = (total <= level[:, None]).sum(axis=1)
    return np.asarray(np.minimum(chosen, weights.shape[1] - 1))


def _check_sizes(**sizes: int) -> None:
    """Refuse sizes below 1."""
    for name, size in sizes.items():
        if size < 1:
            raise OptionError(f"{name} must be at least 1, got {size}")
