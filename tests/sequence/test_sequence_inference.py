"""Posteriors, decoding and sampling of the linear-chain CRF."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sequence_cases import enumerated, make_random_crf, small_chains

from milpscore.core.errors import OptionError
from milpscore_sequence import (
    Prepared,
    decoding_errors,
    make_chunking,
    make_letters_to_phonemes,
    n_best,
    posterior_marginals,
    viterbi,
)
from milpscore_sequence.generators import sample_labels


def enumerated_posteriors(data, theta):
    """p(y_t) and p(y_{t-1}, y_t), zero at first positions, by enumeration."""
    L = data.n_labels
    singles, pairs = np.zeros((data.n_positions, L)), np.zeros((data.n_positions, L, L))
    for index, (labels, logs, _) in enumerate(enumerated(data, theta)):
        start = data.offsets[index]
        for t in range(data.lengths[index]):
            np.add.at(singles[start + t], labels[:, t], np.exp(logs))
            if t:
                np.add.at(pairs[start + t], (labels[:, t - 1], labels[:, t]), np.exp(logs))
    return singles, pairs


@pytest.mark.parametrize("scale", [1.0, 30.0, 400.0])
def test_marginals_are_sums_over_all_labellings(scale):
    data, theta = small_chains(scale)
    singles, _ = enumerated_posteriors(data, theta)
    np.testing.assert_allclose(posterior_marginals(data, theta), singles, atol=1e-10)


@pytest.mark.parametrize("k", [1, 4, 500])
def test_n_best_is_the_sorted_enumeration(k):
    data, theta = small_chains()
    theta += np.random.default_rng(0).normal(scale=1e-3, size=len(theta))  # no ties
    for found, (labels, logs, _) in zip(
        n_best(data, theta, k), enumerated(data, theta), strict=True
    ):
        order = np.argsort(-logs)[:k]
        assert len(found) == len(order)
        np.testing.assert_allclose([one.log_probability for one in found], logs[order], atol=1e-10)
        held = {one.labels.tobytes() for one in found}
        assert len(held) == len(found)
        for one in found:
            at = np.flatnonzero((labels == one.labels).all(axis=1))
            assert one.log_probability == pytest.approx(logs[at[0]], abs=1e-10)
            assert one.probability == pytest.approx(np.exp(logs[at[0]]))


def test_viterbi_is_the_most_probable():
    data, theta = small_chains(2.0, seed=4)
    found = viterbi(data, theta)
    for index, (labels, logs, _) in enumerate(enumerated(data, theta)):
        own = found[data.offsets[index] : data.offsets[index + 1]]
        at = np.flatnonzero((labels == own).all(axis=1))
        assert logs[at[0]] == pytest.approx(logs.max(), abs=1e-12)


def test_ties_go_to_the_lower_label_from_the_end_on():
    data, theta = make_random_crf(30, n_labels=4, density=0.1, mean_length=2.0, random_state=2)
    theta = np.sign(theta)  # whole numbers: many labellings tie
    best = viterbi(data, theta)
    tied = 0
    for index, (labels, logs, _) in enumerate(enumerated(data, theta)):
        first = labels[np.isclose(logs, logs.max(), atol=1e-9)]
        tied += len(first) > 1
        wanted = min(first.tolist(), key=lambda each: each[::-1])
        assert best[data.offsets[index] : data.offsets[index + 1]].tolist() == wanted
    assert tied > 5


def test_viterbi_is_the_first_of_the_n_best():
    for seed in range(3):
        data, theta = make_random_crf(30, n_labels=4, density=0.4, random_state=seed)
        theta = np.sign(theta) if seed == 2 else theta  # with ties
        best = np.concatenate([ranked[0].labels for ranked in n_best(data, theta, 1)])
        np.testing.assert_array_equal(viterbi(data, theta), best)


def test_more_parts_change_nothing():
    data, theta = make_random_crf(30, n_bigrams=9, random_state=8)
    cut = Prepared(data, part_bytes=8 * 9 * 9)
    np.testing.assert_array_equal(viterbi(data, theta), viterbi(cut, theta))
    np.testing.assert_allclose(posterior_marginals(data, theta), posterior_marginals(cut, theta))
    first, second = n_best(data, theta, 3), n_best(cut, theta, 3)
    assert [len(one) for one in first] == [len(one) for one in second]


def test_unseen_observations_leave_the_transitions_to_speak():
    data, theta = small_chains()
    blank = replace(
        data,
        unigram_ptr=np.zeros_like(data.unigram_ptr),
        unigram_ids=data.unigram_ids[:0],
        bigram_ptr=np.zeros_like(data.bigram_ptr),
        bigram_ids=data.bigram_ids[:0],
    )
    np.testing.assert_allclose(posterior_marginals(blank, theta), 1 / data.n_labels)
    assert n_best(blank, theta, 1)[0][0].log_probability == pytest.approx(
        -data.lengths[0] * np.log(data.n_labels)
    )


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_samples_agree_with_the_posteriors(scale):
    data, theta = small_chains(scale, seed=1)
    copies = 4000
    many = Prepared(data.subset(np.tile(np.arange(data.n_sequences), copies if scale < 9 else 20)))
    drawn = sample_labels(many, theta, random_state=0).reshape(-1, data.n_positions)
    L, n = data.n_labels, len(drawn)
    shares = np.stack([(drawn == y).mean(axis=0) for y in range(L)], axis=1)
    truth, pairs = enumerated_posteriors(data, theta)
    bound = 5 * np.sqrt(truth * (1 - truth) / n) + 1e-9
    assert (np.abs(shares - truth) <= bound).all()
    inner = np.setdiff1d(np.arange(data.n_positions), data.offsets[:-1])
    for t in inner:
        seen = np.zeros((L, L))
        np.add.at(seen, (drawn[:, t - 1], drawn[:, t]), 1 / n)
        bound = 5 * np.sqrt(pairs[t] * (1 - pairs[t]) / n) + 1e-9
        assert (np.abs(seen - pairs[t]) <= bound).all()


def test_errors_count_tokens_and_sequences():
    data, theta = small_chains()
    best = viterbi(data, theta)
    assert decoding_errors(replace(data, labels=best), theta) == (0.0, 0.0)
    wrong = best.copy()
    wrong[data.offsets[3]] = -1
    token, sequence = decoding_errors(replace(data, labels=wrong), theta)
    assert token == pytest.approx(1 / data.n_positions)
    assert sequence == pytest.approx(1 / data.n_sequences)


def test_letters_to_phonemes():
    made = make_letters_to_phonemes(50, 0, n_observations=5, n_labels=8, density=0.2)
    data = made.data
    assert data.layout.n_parameters == 5 * 8 + 5 * 64 == len(made.theta)
    assert [len(word) for word in made.rows] == data.lengths.tolist()
    letters = sorted({row[0] for word in made.rows for row in word})
    assert letters == ["a", "b", "c", "d", "e"]
    flat = [letters.index(row[0]) for word in made.rows for row in word]
    np.testing.assert_array_equal(flat, data.unigram_ids)
    read = [int(label[1:]) for word in made.labels for label in word]
    np.testing.assert_array_equal(read, data.labels)
    again = make_letters_to_phonemes(50, 0, n_observations=5, n_labels=8, density=0.2)
    np.testing.assert_array_equal(again.data.labels, data.labels)
    share = np.count_nonzero(data.layout.split(made.theta)[1]) / (5 * 64)
    assert 0.1 < share < 0.3


def test_chunking():
    made = make_chunking(3000, 0)
    assert sum(len(rows) for rows in made.rows) >= 3000
    labels = {label for sentence in made.labels for label in sentence}
    assert len(labels) <= 17
    assert "O" in labels
    for rows, sentence in zip(made.rows, made.labels, strict=True):
        assert len(rows) == len(sentence)
        assert {len(row) for row in rows} == {2}
        for before, label in zip(["O", *sentence], sentence, strict=False):
            if label.startswith("I-"):
                assert before[2:] == label[2:]
    words = [row[0] for rows in made.rows for row in rows]
    counts = np.sort(np.unique(words, return_counts=True)[1])[::-1]
    assert counts[0] > 40
    assert (counts == 1).mean() > 0.3


def test_options_out_of_range():
    data, theta = small_chains()
    with pytest.raises(OptionError, match="k must be"):
        n_best(data, theta, 0)
    with pytest.raises(OptionError, match="density"):
        make_letters_to_phonemes(5, 0, density=0.0)
    with pytest.raises(OptionError, match="n_labels"):
        make_letters_to_phonemes(5, 0, n_labels=0)
    with pytest.raises(OptionError, match="n_words"):
        make_chunking(100, 0, n_words=3)
    with pytest.raises(OptionError, match="part_bytes"):
        Prepared(data, part_bytes=0)
