"""Artificial data: shapes, classes, and the planted rule classifying without error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore.core.card import Card
from milpscore.core.design import common_step, on_grid
from milpscore.core.errors import OptionError
from milpscore.data import make_design, make_planted_score, make_ternary


def decisions(card: Card, X: pd.DataFrame) -> np.ndarray:
    """Decide exactly, in whole multiples of the data's step."""
    step = common_step(X.to_numpy())
    assert step is not None
    bound = card.threshold / step
    assert bound.denominator == 1
    return np.asarray(on_grid(X.to_numpy(), step) @ card.coefficients >= bound.numerator)


@pytest.mark.parametrize("seed", range(10))
def test_ternary_set(seed: int) -> None:
    X, y, card = make_ternary(noise=0, random_state=seed)
    assert X.shape == (38, 69)
    assert (X.to_numpy() >= 0).all()
    assert (X.to_numpy() == 0).any()
    assert set(card.coefficients.tolist()) <= {-1, 0, 1}
    assert card.nonzeros == 6
    assert card.threshold >= 0
    np.testing.assert_array_equal(decisions(card, X), y == 1)
    assert y.sum() == 19


@pytest.mark.parametrize("seed", range(10))
def test_planted_score(seed: int) -> None:
    X, y, card = make_planted_score(200, 8, max_points=3, noise=0, random_state=seed)
    assert X.shape == (200, 8)
    assert set(X["x1"]) == {0, 1}
    assert 2 <= X["x2"].max() <= 5
    assert X["x2"].min() == 0
    assert card.nonzeros == 5
    assert np.abs(card.coefficients).max() <= 3
    np.testing.assert_array_equal(decisions(card, X), y == 1)
    assert 60 <= y.sum() <= 140
    assert make_design(X, y).step == 1


@pytest.mark.parametrize("make", [make_ternary, make_planted_score])
def test_noise_flips_about_its_share(make: Any) -> None:
    clean = make(2000, 6, noise=0, random_state=1)
    noisy = make(2000, 6, noise=0.2, random_state=1)
    pd.testing.assert_frame_equal(clean[0], noisy[0])
    assert (clean[1] != noisy[1]).mean() == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("make", [make_ternary, make_planted_score])
@pytest.mark.parametrize("noise", [0, 0.9])
def test_both_classes_always_occur(make: Any, noise: float) -> None:
    for seed in range(40):
        arguments: dict[str, Any] = {"n_terms": 1, "noise": noise, "random_state": seed}
        _, y, *_ = make(2, 1, **arguments)
        assert sorted(y) == [0, 1]


def test_the_seed_decides() -> None:
    for make in (make_ternary, lambda **k: make_planted_score(38, 69, **k)):
        one, same, other = (make(random_state=seed) for seed in (3, 3, 4))
        pd.testing.assert_frame_equal(one[0], same[0])
        pd.testing.assert_series_equal(one[1], same[1])
        assert not one[0].equals(other[0])
    X, *_ = make_ternary(random_state=np.random.default_rng(3))
    pd.testing.assert_frame_equal(X, make_ternary(random_state=3)[0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_samples": 1},
        {"n_features": 0},
        {"n_terms": 0},
        {"n_terms": 5},
        {"noise": 1},
        {"noise": -0.1},
    ],
)
@pytest.mark.parametrize("make", [make_ternary, make_planted_score])
def test_refused_arguments(make: Any, wrong: dict[str, Any]) -> None:
    arguments = {"n_samples": 20, "n_features": 4, "n_terms": 2, **wrong}
    with pytest.raises(OptionError, match=f"{next(iter(wrong))}="):
        make(**arguments)


def test_refused_points() -> None:
    with pytest.raises(OptionError, match="max_points=0"):
        make_planted_score(20, 5, max_points=0)
