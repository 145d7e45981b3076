"""Doubled features and the weights read back from them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from milpscore.core.errors import DataError
from milpscore.data import double_features, undouble


def test_the_layout_of_the_paper() -> None:
    X = np.array([[1.0, 2.0], [0.0, -3.0]])
    assert double_features(X).tolist() == [[1, -1, 2, -2], [0, 0, -3, 3]]
    assert double_features(pd.DataFrame(X)).tolist() == double_features(X).tolist()


def test_binary_weights_on_doubled_features_are_ternary_weights() -> None:
    X = np.random.default_rng(0).normal(size=(5, 3))
    reached = set()
    for binary in product([0, 1], repeat=6):
        ternary = undouble(binary)
        np.testing.assert_allclose(double_features(X) @ binary, X @ ternary, atol=1e-12)
        reached.add(tuple(ternary.tolist()))
    assert reached == set(product([-1, 0, 1], repeat=3))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, float])
def test_differences_never_wrap(dtype: type) -> None:
    assert undouble(np.array([0, 1, 1, 0], dtype=dtype)).tolist() == [-1, 1]


def test_several_draws_at_once() -> None:
    draws = np.random.default_rng(0).integers(0, 2, (7, 8))
    np.testing.assert_array_equal(undouble(draws), [undouble(draw) for draw in draws])


def test_refusals() -> None:
    with pytest.raises(DataError, match="1 dimension"):
        double_features([1.0, 2.0])
    for odd in ([1, 2, 3], 5):
        with pytest.raises(DataError, match="must be even"):
            undouble(odd)
