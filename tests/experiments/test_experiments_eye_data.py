"""Data with an expert: groups, marks, correlations and labels are those asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from experiments.eye import data as module
from experiments.eye.data import (
    CredibleData,
    make_collinearity_sweep,
    make_known_share_sweep,
    make_random_groups,
    make_twins,
)
from milpscore.core.errors import OptionError

MAKERS: list[Callable[..., CredibleData]] = [
    make_twins,
    make_collinearity_sweep,
    make_known_share_sweep,
    make_random_groups,
]


@pytest.mark.parametrize("make", MAKERS)
def test_shapes_fit_and_the_seed_decides(make: Callable[..., CredibleData]) -> None:
    one, same, other = (make(200, random_state=seed) for seed in (3, 3, 4))
    n, p = one.X.shape
    assert (n, one.y.shape, one.expert.shape, one.theta.shape) == (200, (200,), (p,), (p,))
    assert set(one.y.tolist()) == {0, 1}
    assert set(one.expert.tolist()) <= {0, 1}
    np.testing.assert_array_equal(np.concatenate(one.groups), np.arange(p))
    assert min(map(len, one.groups)) >= 1
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    assert not np.array_equal(one.X[:, 0], other.X[:, 0])


def test_twins_are_equal_and_labelled_without_noise() -> None:
    data = make_twins(5000, random_state=0)
    np.testing.assert_array_equal(data.X[:, 0], data.X[:, 1])
    assert data.X.min() >= -2.5
    assert data.X.max() <= 1.5
    assert data.X.mean() == pytest.approx(-0.5, abs=0.05)
    np.testing.assert_array_equal(data.y, data.X[:, 0] > 0)
    assert data.expert.tolist() == [1, 0]


def test_collinearity_sweep() -> None:
    data = make_collinearity_sweep(40_000, random_state=0)
    assert data.X.shape[1] == 300
    assert [int(data.expert[group].sum()) for group in data.groups] == [15] * 10
    # which ones are known differs from group to group
    assert len({tuple(data.expert[group]) for group in data.groups}) > 1
    together = np.corrcoef(data.X.T)
    for rho, group in zip(np.arange(10) / 10, data.groups, strict=True):
        inside = together[np.ix_(group, group)][np.triu_indices(30, 1)]
        assert inside.mean() == pytest.approx(rho, abs=0.01)
        assert np.ptp(inside) < 0.06
    assert np.abs(together[:30, 270:]).max() < 0.03
    assert data.X.std(axis=0).max() == pytest.approx(1, abs=0.03)
    assert (data.theta == 1).all()
    assert_labelled_through_noise(data, 5.0)


def assert_labelled_through_noise(data: CredibleData, deviation: float) -> None:
    """P(y = 1) is the normal distribution of theta.x / deviation."""
    chance = norm.cdf(data.X @ data.theta / deviation)
    part = np.digitize(chance, [0.2, 0.4, 0.6, 0.8])
    for bucket in range(5):
        rows = part == bucket
        assert data.y[rows].mean() == pytest.approx(chance[rows].mean(), abs=0.02)


def test_known_share_sweep() -> None:
    data = make_known_share_sweep(20_000, random_state=0)
    assert [int(data.expert[group].sum()) for group in data.groups] == [*range(11)] * 2
    for group in data.groups:
        inside = np.corrcoef(data.X[:, group].T)[np.triu_indices(10, 1)]
        assert inside == pytest.approx(0.99, abs=0.001)
    assert data.theta.tolist() == [1.0] * 110 + [0.0] * 110
    assert_labelled_through_noise(data, 15.0)
    copies = make_known_share_sweep(100, group_size=3, correlation=1.0, random_state=0)
    np.testing.assert_array_equal(np.ptp(copies.X[:, :3], axis=1), 0)


def test_random_groups_follow_their_distributions() -> None:
    draws = [make_random_groups(2, random_state=seed) for seed in range(300)]
    counts = np.array([len(data.groups) for data in draws])
    sizes = np.concatenate([[len(group) for group in data.groups] for data in draws])
    weights = np.concatenate([[d.theta[g].sum() for g in d.groups] for d in draws])
    marks = np.concatenate([data.expert for data in draws])
    assert counts.mean() == pytest.approx(10, abs=0.6)
    assert counts.var() == pytest.approx(10, rel=0.3)
    assert sizes.mean() == pytest.approx(20, abs=0.3)
    assert sizes.var() == pytest.approx(20, rel=0.15)
    assert weights.mean() == pytest.approx(0, abs=0.06)
    assert weights.std() == pytest.approx(1, abs=0.05)
    assert marks.mean() == pytest.approx(0.5, abs=0.01)


def test_a_groups_weight_is_shared_by_its_known_features() -> None:
    data = make_random_groups(20_000, random_state=5)
    for group in data.groups:
        theta, known = data.theta[group], data.expert[group] == 1
        assert np.ptp(theta[known]) == pytest.approx(0)
        assert not theta[~known].any()
    first, second = data.groups[:2]
    together = np.corrcoef(data.X.T)
    assert together[first[0], first[1:]] == pytest.approx(0.95, abs=0.01)
    assert together[first[0], second] == pytest.approx(0, abs=0.03)


def test_labels_are_drawn_from_the_logistic_model() -> None:
    data = make_random_groups(100_000, mean_groups=3, mean_size=3, random_state=1)
    chance = 1 / (1 + np.exp(-data.X @ data.theta))
    part = np.digitize(chance, [0.2, 0.4, 0.6, 0.8])
    for bucket in range(5):
        rows = part == bucket
        assert data.y[rows].mean() == pytest.approx(chance[rows].mean(), abs=0.02)


def test_poisson_draws_of_zero_are_drawn_again() -> None:
    for seed in range(50):
        data = make_random_groups(5, mean_groups=0.1, mean_size=0.1, random_state=seed)
        assert len(data.groups) >= 1
        assert min(map(len, data.groups)) >= 1


def test_a_group_without_known_features_keeps_its_weight() -> None:
    np.testing.assert_allclose(module.even_shares(np.zeros(4)), 0.25)
    np.testing.assert_allclose(module.even_shares(np.array([0.0, 1, 1, 0])), [0, 0.5, 0.5, 0])


@pytest.mark.parametrize(
    ("make", "arguments", "words"),
    [
        (make_twins, {"n_samples": 1}, "n_samples=1"),
        (make_random_groups, {"mean_size": 0}, "positive"),
        (make_random_groups, {"correlation": 1.5}, "correlations"),
        (make_collinearity_sweep, {"n_known": 31}, "n_known=31"),
        (make_collinearity_sweep, {"correlations": []}, "at least one"),
        (make_known_share_sweep, {"group_size": 0}, "group_size=0"),
    ],
)
def test_refusals(make: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        make(**arguments)
