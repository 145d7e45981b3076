"""Data with an expert: groups, marks, correlations and labels are those asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from experiments.eye.data import (
    CredibleData,
    make_collinearity_sweep,
    make_known_share_sweep,
    make_random_groups,
    make_twins,
)

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
