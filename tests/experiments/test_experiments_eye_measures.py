"""Credibility, sparsity and the rule of selection against plain formulas and scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from experiments.eye.measures import (
    bootstrap_auc,
    gini,
    log_ratio,
    near_zero_share,
    sparsest_accurate,
)
from milpscore.core.errors import DataError, OptionError
from milpscore.metrics import average_precision, credibility_by_group, symmetric_kl


def plain_symmetric_kl(w: list[float], r: list[float], eps: float) -> float:
    """Both directions of KL written out."""

    def shares(values: list[float]) -> list[float]:
        total = sum(values)
        first = [value / total for value in values]
        return [(share + eps) / (1 + eps * len(first)) for share in first]

    def kl(p: list[float], q: list[float]) -> float:
        return float(sum(a * np.log(a / b) for a, b in zip(p, q, strict=True) if a > 0 and b > 0))

    p, q = shares([abs(value) for value in w]), shares(r)
    return (kl(p, q) + kl(q, p)) / 2


@pytest.mark.parametrize("eps", [0.0, 1e-6, 0.01, 0.3])
def test_symmetric_kl_is_both_directions_of_kl(eps: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        w = (rng.normal(size=6) * rng.integers(0, 2, 6)).tolist()
        w[0] = -0.5
        r = rng.integers(0, 2, 6).astype(float).tolist()
        r[5] = 0.5
        found = symmetric_kl(w, r, eps=eps)
        assert found == pytest.approx(plain_symmetric_kl(w, r, eps), abs=1e-12)


def test_symmetric_kl_sees_shapes_only() -> None:
    assert symmetric_kl([0, 3, -3], [0, 1, 1]) == pytest.approx(0)
    assert symmetric_kl([1, 2, 3], [0, 1, 1]) == pytest.approx(
        symmetric_kl([-10, 20, -30], [0, 1, 1])
    )
    good, even, bad = (
        symmetric_kl(w, [1, 1, 0, 0]) for w in ([1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1])
    )
    assert good < even < bad
    # without a shape: as even ones
    assert symmetric_kl([0, 0, 0, 0], [1, 1, 0, 0]) == pytest.approx(even)


def test_a_wrong_zero_costs_what_eps_says() -> None:
    """Two features, all weight on the unknown one: log((1 + eps) / eps) (1 / (1 + 2 eps))."""
    for eps in (1e-8, 1e-4, 0.01):
        wanted = np.log((1 + eps) / eps) / (1 + 2 * eps)
        assert symmetric_kl([0, 1], [1, 0], eps=eps) == pytest.approx(wanted)
    # what eps=0 forgives
    assert symmetric_kl([0, 1], [1, 0], eps=0) == 0


def test_without_known_features_the_nearest_one_hot_vector_counts() -> None:
    w = [0.1, -2.0, 0.3]
    by_hand = min(plain_symmetric_kl(w, np.eye(3)[j].tolist(), 0.01) for j in range(3))
    assert symmetric_kl(w, [0, 0, 0]) == pytest.approx(by_hand)
    assert symmetric_kl([0, 5, 0], [0, 0, 0]) == pytest.approx(0)
    assert symmetric_kl([1.0], [0]) == 0


def test_credibility_by_group_takes_each_group_alone() -> None:
    w, r = np.array([1.0, 0, 2, 3, 0.5]), np.array([1.0, 0, 0, 0, 1])
    groups = [[0, 1], [3, 2], [4]]
    found = credibility_by_group(w, r, groups, eps=0.02)
    wanted = [symmetric_kl(w[at], r[at], eps=0.02) for at in groups]
    np.testing.assert_allclose(found, wanted)
    assert credibility_by_group(w, r, []).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "extra", "error", "words"),
    [
        (([], []), {}, DataError, "at least one"),
        (([1, 2], [1]), {}, DataError, "one mark a weight"),
        (([1, np.nan], [1, 0]), {}, DataError, "finite"),
        (([1, 2], [1, 2]), {}, DataError, "lie in"),
        (([1, 2], [1, 0]), {"eps": -1}, OptionError, "from 0 on"),
    ],
)
def test_symmetric_kl_refuses(
    arguments: Any, extra: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        symmetric_kl(*arguments, **extra)


def test_average_precision_is_the_mean_precision_at_the_known_features() -> None:
    w, r = [0.1, -5, 3, 2, 0.5], [0, 1, 0, 1, 1]
    # order: 1 (known), 2, 3 (known), 4 (known), 0
    assert average_precision(w, r) == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 3)
    # equal sizes enter together: precision 2/4 for both known ones
    assert average_precision([1, -1, 1, 1], [1, 1, 0, 0]) == pytest.approx(0.5)
    for wrong in ([0, 0, 0, 0, 0], [0, 0.5, 0, 1, 1]):
        with pytest.raises(DataError, match="marks 0 and 1"):
            average_precision(w, wrong)
    with pytest.raises(DataError, match="as many marks"):
        average_precision(w, [1])


def test_gini_is_half_the_relative_mean_difference() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 9):
        w = rng.normal(size=size)
        a = np.abs(w)
        wanted = np.abs(a[:, None] - a).sum() / (2 * size * a.sum())
        assert gini(w) == pytest.approx(wanted)
    assert gini([3, -3, 3]) == pytest.approx(0)
    assert gini([0, 0, 0, 7]) == pytest.approx(3 / 4)
    assert gini([0, 0]) == 0
    assert gini([]) == 0


def test_near_zero_share() -> None:
    assert near_zero_share([100, -1, 0.99, 0]) == pytest.approx(2 / 4)
    assert near_zero_share([100, -1, 0.99, 0], tol=0.02) == pytest.approx(3 / 4)
    assert near_zero_share([0, 0]) == 1
    with pytest.raises(OptionError, match="tol"):
        near_zero_share([1], tol=0)


def test_log_ratio() -> None:
    assert log_ratio([-4, 1, 1], [1, 0, 0]) == pytest.approx(np.log(2))
    assert log_ratio([1, 0], [1, 0]) == np.inf
    assert log_ratio([0, 1], [1, 0]) == -np.inf
    assert np.isnan(log_ratio([0, 0], [1, 0]))


@pytest.mark.parametrize("round_to", [None, 1])
def test_bootstrap_aucs_are_those_of_the_repeated_rows(round_to: int | None) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 40)
    scores = rng.normal(size=(40, 3)) + y[:, None] * np.array([0.0, 1.0, 2.0])
    if round_to is not None:
        # many ties
        scores = scores.round(0)
    found = bootstrap_auc(y, scores, 5, random_state=7)
    counts = np.random.default_rng(7).multinomial(40, np.full(40, 1 / 40), size=5)
    for sample, row in zip(counts, found, strict=True):
        rows = np.repeat(np.arange(40), sample)
        wanted = [roc_auc_score(y[rows], scores[rows, k]) for k in range(3)]
        np.testing.assert_allclose(row, wanted)
    one = bootstrap_auc(np.where(y, 1, -1), scores[:, 1], 5, random_state=7)
    np.testing.assert_allclose(one, found[:, [1]])


def test_a_sample_of_one_class_is_drawn_again() -> None:
    found = bootstrap_auc([0, 1, 1], [[0.0], [1.0], [2.0]], 200, random_state=0)
    assert (found == 1).all()


def test_bootstrap_auc_refuses() -> None:
    with pytest.raises(DataError, match="both classes"):
        bootstrap_auc([1, 1], [0, 1])
    with pytest.raises(DataError, match="shape"):
        bootstrap_auc([0, 1], np.zeros((3, 2)))
    with pytest.raises(DataError, match="not finite"):
        bootstrap_auc([0, 1], [0, np.inf])
    with pytest.raises(OptionError, match="at least 1"):
        bootstrap_auc([0, 1], [0, 1], 0)


@pytest.fixture
def three() -> tuple[Any, Any]:
    """Labels, and scores of a good, an equally good and a bad model."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 400)
    good = y + rng.normal(size=400)
    return y, np.column_stack([good, good + 0.05 * rng.normal(size=400), rng.normal(size=400)])


def test_the_sparsest_of_the_accurate_models_is_chosen(three: tuple[Any, Any]) -> None:
    y, scores = three
    dense, sparse, sparsest = [1, 1, 1, 1], [5, 1, 0, 0], [1, 0, 0, 0]
    chosen, kept = sparsest_accurate(y, scores, [dense, sparse, sparsest])
    assert kept.tolist() == [True, True, False]
    assert chosen == 1
    chosen, _ = sparsest_accurate(y, scores, [sparse, dense, sparsest])
    assert chosen == 0


def test_a_model_is_dropped_by_its_p_value(three: tuple[Any, Any]) -> None:
    y, scores = three
    aucs = bootstrap_auc(y, scores, 60, random_state=3)
    best = int(aucs.mean(axis=0).argmax())
    p = [(1 + sum(aucs[b, k] >= aucs[b, best] for b in range(60))) / 61 for k in range(3)]
    for level in (0.02, 0.05, 0.3, 0.6, 0.9):
        _, kept = sparsest_accurate(
            y, scores, np.eye(3), n_bootstrap=60, level=level, random_state=3
        )
        assert kept.tolist() == [value >= level for value in p]
    assert p[best] == 1


def test_sparsest_accurate_refuses(three: tuple[Any, Any]) -> None:
    y, scores = three
    refused: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (OptionError, "n_bootstrap=10", lambda: choose(n_bootstrap=10)),
        (OptionError, "level=1.5", lambda: choose(level=1.5)),
        (DataError, "as many models", lambda: sparsest_accurate(y, scores, np.eye(2))),
    ]

    def choose(**extra: Any) -> object:
        return sparsest_accurate(y, scores, np.eye(3), **extra)

    for error, words, call in refused:
        with pytest.raises(error, match=words):
            call()
