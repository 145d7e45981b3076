"""The likelihood and the gradient of the linear-chain CRF, and the data it is stated on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sequence_cases import enumerated, make_random_crf, small_chains

from milpscore.core.errors import DataError, OptionError
from milpscore_sequence import (
    Layout,
    Prepared,
    SequenceData,
    make_letters_to_phonemes,
    negative_log_likelihood,
    value_and_gradient,
)
from milpscore_sequence.inference import log_partition

FORMS = ("dense", "sparse", "auto")


def one_chain(length: int, n_labels: int = 2) -> SequenceData:
    """One observation of each kind, at every position that may have it."""
    return SequenceData(
        offsets=np.array([0, length]),
        unigram_ptr=np.arange(length + 1),
        unigram_ids=np.zeros(length, dtype=int),
        bigram_ptr=np.r_[0, np.arange(length)],
        bigram_ids=np.zeros(length - 1, dtype=int),
        n_unigrams=1,
        n_bigrams=1,
        n_labels=n_labels,
        labels=np.zeros(length, dtype=int),
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_likelihood_is_that_of_all_labellings(form, scale):
    data, theta = small_chains(scale)
    assert {0, 1} <= set(data.lengths.tolist())
    assert (np.diff(data.bigram_ptr) == 0).sum() > (data.lengths > 0).sum()
    truth = enumerated(data, theta)
    np.testing.assert_allclose(
        log_partition(data, theta, form), [log_z for _, _, log_z in truth], rtol=1e-12, atol=1e-12
    )
    logs = [
        log[(labels == data.labels[data.offsets[i] : data.offsets[i + 1]]).all(axis=1)][0]
        for i, (labels, log, _) in enumerate(truth)
    ]
    value = negative_log_likelihood(data, theta, form)
    assert value == pytest.approx(-sum(logs), rel=1e-10, abs=1e-9 * scale)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1.0, 200.0])
def test_gradient_against_finite_differences(form, scale):
    data, theta = small_chains(scale)
    ready = Prepared(data)
    value, gradient = value_and_gradient(ready, theta, form)
    assert value == pytest.approx(negative_log_likelihood(data, theta), rel=1e-12)
    h = 1e-5
    for j in range(len(theta)):
        step = np.zeros(len(theta))
        step[j] = h
        ahead = negative_log_likelihood(ready, theta + step, form)
        behind = negative_log_likelihood(ready, theta - step, form)
        assert (ahead - behind) / (2 * h) == pytest.approx(gradient[j], abs=1e-7 * scale)


def test_sparse_and_dense_agree_on_many_labels():
    generated = make_letters_to_phonemes(60, 1, n_labels=40, density=0.004)
    data, theta = generated.data, generated.theta
    dense, ahead = value_and_gradient(data, theta, "dense")
    for form in ("sparse", "auto"):
        value, gradient = value_and_gradient(data, theta, form)
        assert value == pytest.approx(dense, rel=1e-12)
        np.testing.assert_allclose(gradient, ahead, rtol=0, atol=1e-12 * np.abs(ahead).max())


def test_sparse_form_keeps_its_digits_where_transitions_are_nearly_forbidden():
    data = one_chain(40, 3)
    theta = data.layout.zeros()
    lam = data.layout.split(theta)[1]
    lam[0, :, 0] = -36.0  # 1 + (exp(-36) - 1) has lost all of exp(-36)
    lam[0, 0, 0] = 40.0
    dense = log_partition(data, theta, "dense")
    np.testing.assert_allclose(log_partition(data, theta, "sparse"), dense, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 60.0, 500.0])
def test_ten_thousand_positions(scale):
    length = 10_000
    data = one_chain(length)
    theta = np.random.default_rng(5).normal(scale=scale, size=data.layout.n_parameters)
    value, gradient = value_and_gradient(data, theta)
    # log Z by powers of the one matrix, in logarithms
    mu, lam = data.layout.split(theta)
    log_z = mu[0].copy()
    for _ in range(length - 1):
        log_z = np.logaddexp.reduce(log_z[:, None] + lam[0], axis=0) + mu[0]
    observed = length * mu[0, 0] + (length - 1) * lam[0, 0, 0]
    truth = np.logaddexp.reduce(log_z) - observed
    assert value == pytest.approx(truth, rel=1e-10, abs=1e-6)
    sums = [part.sum() for part in data.layout.split(gradient)]
    np.testing.assert_allclose(sums, 0.0, atol=1e-7)


def test_parts_add_up():
    data, theta = make_random_crf(30, n_bigrams=9, random_state=8)
    whole, cut = Prepared(data), Prepared(data, part_bytes=8 * 9 * 9)
    assert len(whole.parts) == 1
    assert len(cut.parts) > 3
    value, gradient = value_and_gradient(whole, theta)
    other, other_gradient = value_and_gradient(cut, theta)
    assert value == pytest.approx(other, rel=1e-13)
    np.testing.assert_allclose(gradient, other_gradient, atol=1e-12)
    np.testing.assert_allclose(log_partition(whole, theta), log_partition(cut, theta), rtol=1e-12)


def test_uniform_model():
    data = one_chain(6, 5)
    assert negative_log_likelihood(data, data.layout.zeros()) == pytest.approx(6 * np.log(5))


def test_no_positions_at_all():
    data, theta = make_random_crf(3, mean_length=0.0, random_state=0)
    value, gradient = value_and_gradient(data, theta)
    assert value == 0.0
    assert not gradient.any()


def test_one_kind_of_observation_alone():
    data, theta = make_random_crf(8, n_bigrams=0, mean_length=2.5, random_state=2)
    mu = data.layout.split(theta)[0]
    scores = np.array(
        [
            mu[data.unigram_ids[data.unigram_ptr[t] : data.unigram_ptr[t + 1]]].sum(axis=0)
            for t in range(data.n_positions)
        ]
    )
    # positions are independent: a sum of logistic losses
    each = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(scores)), data.labels]
    value, gradient = value_and_gradient(data, theta)
    assert value == pytest.approx(each.sum(), rel=1e-12)
    assert len(gradient) == 5 * 3
    bare = replace(
        one_chain(4), unigram_ptr=[0] * 5, unigram_ids=np.zeros(0, dtype=int), n_unigrams=0
    )
    theta = np.array([0.3, -1.0, 0.2, 2.0])
    truth = enumerated(bare, theta)[0][2]
    assert log_partition(bare, theta)[0] == pytest.approx(truth, rel=1e-13)
    assert value_and_gradient(bare, theta)[1].sum() == pytest.approx(0.0, abs=1e-12)


def test_subset_takes_sequences_in_the_order_asked():
    data, theta = small_chains()
    logs = log_partition(data, theta)
    chosen = [5, 0, 0, 3]
    part = data.subset(chosen)
    np.testing.assert_array_equal(part.lengths, data.lengths[chosen])
    np.testing.assert_allclose(log_partition(part, theta), logs[chosen])
    pieces = [data.labels[data.offsets[i] : data.offsets[i + 1]] for i in chosen]
    np.testing.assert_array_equal(part.labels, np.concatenate(pieces))
    with pytest.raises(OptionError, match="numbered 0 to 6"):
        data.subset([7])


def test_layout():
    layout = Layout(2, 3, 4)
    assert layout.n_parameters == 2 * 4 + 3 * 16
    mu, lam = layout.split(np.arange(56.0))
    assert mu[1, 2] == 6
    assert lam[2, 1, 3] == 8 + 2 * 16 + 4 + 3
    with pytest.raises(DataError, match="56 parameters"):
        layout.split(np.zeros(55))


def test_labels_that_cannot_be_trained_on():
    data, theta = small_chains()
    with pytest.raises(DataError, match="no labels"):
        negative_log_likelihood(replace(data, labels=None), theta)
    labels = data.labels.copy()
    labels[3] = -1
    with pytest.raises(DataError, match="never seen in training"):
        value_and_gradient(replace(data, labels=labels), theta)
    assert np.isfinite(log_partition(replace(data, labels=labels), theta)).all()


def test_unusable_arguments():
    data, theta = small_chains()
    with pytest.raises(OptionError, match="form must be"):
        value_and_gradient(data, theta, "thin")
    with pytest.raises(DataError, match="not finite"):
        value_and_gradient(data, np.full(len(theta), np.nan))
    with pytest.raises(DataError, match="same vocabulary"):
        value_and_gradient(data, theta[:-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": [0, 2, 1, 4]}, "never fall"),
        ({"offsets": [1, 4]}, "start at 0"),
        ({"unigram_ptr": [0, 1, 2, 3]}, "one start for each position"),
        ({"unigram_ids": [0, 0, 0]}, "last pointer"),
        ({"unigram_ids": [0, 0, 1, 0]}, r"unigram_ids\[2\] is 1"),
        ({"unigram_ids": [0.0, 0.0, 0.0, 0.0]}, "vector of integers"),
        ({"bigram_ptr": [0, 1, 1, 2, 3]}, "opens a sequence"),
        ({"labels": [0, 1]}, "2 labels for 4 positions"),
        ({"labels": [0, 1, 2, 0]}, r"labels\[2\] is 2"),
        ({"labels": [0, 2**40, 0, 0]}, "beyond int32"),
        ({"n_labels": 0}, "at least one label"),
    ],
)
def test_arrays_that_do_not_fit_together(change, message):
    with pytest.raises(DataError, match=message):
        replace(one_chain(4), **change)
