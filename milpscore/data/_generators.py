"""Artificial data with a planted integer rule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.data.columns import quantile_cuts

_ZERO_SHARE = 0.3
_DECIMALS = 100


def make_ternary(
    n_samples: int = 38,
    n_features: int = 69,
    *,
    n_terms: int = 6,
    noise: float = 0.05,
    random_state: Any = None,
) -> tuple[pd.DataFrame, pd.Series[Any], Card]:
    """Make a set of the shape of the gene-activity data of Chevaleyre et al. (2013), section 6.

    The activities are non-negative, skewed, with many zeros, on different scales and written with
    two decimals. A planted concept (c, r), c in {-1, 0, 1} and r >= 0, labels them about evenly
    (section 2 of the paper: positive iff <c, x> >= r); then labels are flipped.

    Parameters
    ----------
    n_samples, n_features : int
        38 individuals and 69 genes by default.
    n_terms : int
        Genes that take part in the rule, at most ``n_features``.
    noise : float in [0, 1)
        Probability that a label is flipped. One row of each class never is, so both classes occur.
    random_state : int, Generator or None

    Returns
    -------
    X : DataFrame of shape (n_samples, n_features)
    y : Series of 0 and 1, shape (n_samples,)
    card : Card
        The planted rule; it classifies the labels before the flips without error.

    Raises
    ------
    OptionError
        A parameter lies outside its range.
    """
    _check_sizes(n_samples, n_features, n_terms, noise)
    rng = np.random.default_rng(random_state)
    scale = rng.lognormal(0.0, 0.5, n_features)
    activity = rng.lognormal(0.0, 1.0, (n_samples, n_features)) * scale
    activity[rng.random(activity.shape) < _ZERO_SHARE] = 0.0
    hundredths = np.rint(_DECIMALS * activity).astype(np.int64)
    weights = _planted(rng, n_features, n_terms, 1)
    if not np.ptp(hundredths @ weights):
        hundredths[0, np.argmax(weights != 0)] += _DECIMALS
    threshold = _median_cut(hundredths @ weights)
    if threshold < 0:
        # Mirrored, the same gap between totals lies above zero: the paper's r is not negative.
        weights = -weights
        threshold = _median_cut(hundredths @ weights)
    y = _flipped(rng, hundredths @ weights >= threshold, noise)
    X = pd.DataFrame(hundredths / _DECIMALS, columns=[f"gene{j}" for j in range(1, n_features + 1)])
    return X, y, Card(weights, Fraction(-threshold, _DECIMALS))


def make_planted_score(
    n_samples: int,
    n_features: int,
    *,
    n_terms: int = 5,
    max_points: int = 5,
    noise: float = 0.05,
    random_state: Any = None,
) -> tuple[pd.DataFrame, pd.Series[Any], Card]:
    """Make data labelled by an integer score, with label noise.

    Half of the features are 0/1, the others take the values 0 to at most 5. The threshold is set
    so that the classes are about even.

    Parameters
    ----------
    n_samples, n_features : int
    n_terms : int
        Features with points, at most ``n_features``.
    max_points : int
        Points lie in [-max_points, max_points].
    noise : float in [0, 1)
        Probability that a label is flipped. One row of each class never is, so both classes occur.
    random_state : int, Generator or None

    Returns
    -------
    X : DataFrame of integers, shape (n_samples, n_features)
    y : Series of 0 and 1, shape (n_samples,)
    card : Card
        The planted score; it classifies the labels before the flips without error.

    Raises
    ------
    OptionError
        A parameter lies outside its range.
    """
    _check_sizes(n_samples, n_features, n_terms, noise)
    if max_points < 1:
        raise OptionError(f"max_points={max_points}; use at least 1.")
    rng = np.random.default_rng(random_state)
    highest = np.where(np.arange(n_features) % 2 == 0, 1, rng.integers(2, 6, n_features))
    values = rng.integers(0, highest + 1, (n_samples, n_features))
    weights = _planted(rng, n_features, n_terms, max_points)
    if not np.ptp(values @ weights):
        # Too few rows to differ by themselves: two of them become the extreme ones.
        values[0] = np.where(weights < 0, highest, 0)
        values[1] = np.where(weights > 0, highest, 0)
    totals = values @ weights
    threshold = _median_cut(totals)
    y = _flipped(rng, totals >= threshold, noise)
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(1, n_features + 1)])
    return X, y, Card(weights, Fraction(-threshold))


def _check_sizes(n_samples: int, n_features: int, n_terms: int, noise: float) -> None:
    if n_samples < 2:
        raise OptionError(f"n_samples={n_samples}; use at least 2: one per class is needed.")
    if n_features < 1:
        raise OptionError(f"n_features={n_features}; use at least 1.")
    if not 1 <= n_terms <= n_features:
        raise OptionError(f"n_terms={n_terms}; use 1 to n_features={n_features}.")
    if not 0 <= noise < 1:
        raise OptionError(f"noise={noise}; use a probability in [0, 1).")


def _planted(rng: np.random.Generator, count: int, terms: int, largest: int) -> IntArray:
    """Nonzero points of either sign at random places."""
    weights = np.zeros(count, dtype=np.int64)
    places = rng.choice(count, size=terms, replace=False)
    weights[places] = rng.integers(1, largest + 1, terms) * rng.choice([-1, 1], terms)
    return weights


def _median_cut(totals: IntArray) -> int:
    """The total that parts the rows most evenly, with rows on both sides."""
    values: FloatArray = totals.astype(np.float64)
    return int(quantile_cuts(values, 2)[0])


def _flipped(rng: np.random.Generator, positive: Any, noise: float) -> pd.Series[Any]:
    """Labels 0/1 with some flipped, but never the protected row of each class."""
    flip = rng.random(len(positive)) < noise
    for side in (positive, ~positive):
        flip[rng.choice(np.flatnonzero(side))] = False
    return pd.Series((positive ^ flip).astype(np.int64), name="y")
