"""Every measure against its definition written out row by row."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from milpscore import metrics
from milpscore.core.errors import DataError


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    X = rng.integers(-3, 4, size=(40, 3)).astype(float)
    y = np.where(rng.random(40) < 0.5, -1, 1)
    return X, y, rng.integers(0, 4, size=40).astype(float)


def test_integrity_is_the_share_of_whole_coefficients():
    assert metrics.integrity([0, 1, -2.0, 0.5, 1.5]) == pytest.approx(3 / 5)
    assert metrics.integrity([1.0000001, 2]) == 1.0
    assert metrics.integrity([1.0000001, 2], tol=1e-9) == 0.5
    assert metrics.integrity([]) == 1.0


def test_magnitude_is_a_norm():
    w = [3, 0, -4]
    assert [metrics.magnitude(w, ord) for ord in (1, 2, np.inf)] == [7, 5, 4]
    assert metrics.magnitude([], np.inf) == 0
    with pytest.raises(DataError, match="norms 1, 2 and inf"):
        metrics.magnitude(w, 3)


def test_terms_counts_what_is_not_zero():
    assert metrics.nonzeros([0, 1, -2, 1e-9]) == 2
    assert metrics.nonzeros([0, 1e-3], tol=1e-2) == 0


def test_total_variation_stays_inside_blocks():
    w = [1, 4, 4, -2, 9]
    assert metrics.total_variation(w, [(0, 1, 2), (3, 4)]) == 3 + 0 + 11
    assert metrics.total_variation(w, []) == 0
    assert metrics.total_variation(w, [(2,)]) == 0


def test_zero_one_loss_counts_as_the_card_decides(rows):
    X, y, weight = rows
    w, b = [2, -1, 1], Fraction(-2)
    wrong = [
        (1 if Fraction(int(x @ np.array(w))) >= -b else -1) != label
        for x, label in zip(X, y, strict=True)
    ]
    assert 0 < sum(wrong) < 40
    assert metrics.zero_one_loss(w, b, X, y, weight) == pytest.approx(
        sum(s for s, bad in zip(weight, wrong, strict=True) if bad) / weight.sum()
    )


def test_zero_one_loss_takes_a_tie_for_positive_on_decimal_data():
    X = np.array([[0.1, 0.1, 0.1], [0.1, 0.1, 0.0], [0.1, 0.2, 0.0]])
    assert (X[0].sum(), X[2].sum()) != (0.3, 0.3)
    assert metrics.zero_one_loss([1, 1, 1], -0.3, X, [1, -1, 1]) == 0
    assert metrics.zero_one_loss([-1, -1, -1], 0.3, X, [1, 1, 1]) == 0


def test_hinge_loss_is_the_mean_over_weighted_rows(rows):
    X, y, weight = rows
    w, b, margin = np.array([0.5, -1, 0.25]), 0.3, 2.5
    terms = [
        s * max(0.0, margin - label * (x @ w + b)) / margin
        for x, label, s in zip(X, y, weight, strict=True)
    ]
    value = metrics.hinge_loss(w, b, X, y, weight, margin)
    assert value == pytest.approx(sum(terms) / weight.sum())
    assert metrics.hinge_loss([0, 0, 0], 0, X, y, margin=margin) == 1.0
    with pytest.raises(DataError, match="margin"):
        metrics.hinge_loss(w, b, X, y, margin=0)


def test_weights_are_as_good_as_repeated_rows(rows):
    X, y, weight = rows
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    scores = X @ [1, -1, 2]
    predicted = np.where(scores >= 1, 1, -1)
    assert metrics.accuracy(y, predicted, weight) == pytest.approx(
        metrics.accuracy(y[copies], predicted[copies])
    )
    assert metrics.auc(y, scores, weight) == pytest.approx(metrics.auc(y[copies], scores[copies]))


def test_auc_is_the_share_of_ordered_pairs(rows):
    X, y, _ = rows
    scores = X @ [1, -1, 2]
    pairs = [
        1.0 if up > down else 0.5 if up == down else 0.0
        for up in scores[y > 0]
        for down in scores[y < 0]
    ]
    assert metrics.auc(y, scores) == pytest.approx(np.mean(pairs))


def test_measures_without_a_meaning_are_refused(rows):
    X, y, _ = rows
    with pytest.raises(DataError, match="both classes"):
        metrics.auc(np.ones(3), [1, 2, 3])
    with pytest.raises(DataError, match="both classes"):
        metrics.auc(y, X[:, 0], weight=(y > 0).astype(float))
    with pytest.raises(DataError, match="every sample_weight is zero"):
        metrics.accuracy(y, y, np.zeros(40))
    with pytest.raises(DataError, match="one weight a row"):
        metrics.accuracy(y, y, np.ones(39))


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [(0, 0, 0), (2, 1, 0.5), (1, -1, 2), (-1, -2, 1), (1e-12, 0, 1e-2), (1, -np.inf, np.inf)],
)
def test_gap_is_relative_to_the_objective(objective, bound, expected):
    assert metrics.gap(objective, bound) == pytest.approx(expected)
