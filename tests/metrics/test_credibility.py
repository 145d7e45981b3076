"""Measures of credibility against plain formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
        (([1, 2], [1]), {}, DataError, "one mark per weight"),
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
