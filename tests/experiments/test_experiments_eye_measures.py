"""Credibility, sparsity and the rule of selection against plain formulas and scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from experiments.eye.measures import (
    bootstrap_auc,
    gini,
    sparsest_accurate,
)


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


@pytest.fixture
def three() -> tuple[Any, Any]:
    """Labels, and scores of a good, an equally good and a bad model."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 400)
    good = y + rng.normal(size=400)
    return y, np.column_stack([good, good + 0.05 * rng.normal(size=400), rng.normal(size=400)])


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
