"""Artificial data with an expert: correlated groups of features, some of them marked as known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError

TENTHS = tuple(i / 10 for i in range(10))


@dataclass(frozen=True, eq=False)
class CredibleData:
    """Features (n, p), labels 0/1 (n,), and what an expert says of the features.

    ``expert`` (p,) is the paper's r: 1 marks a feature the expert knows to matter. ``groups`` holds
    the positions of each correlated group, ``theta`` (p,) the true coefficients; no intercept.
    """

    X: FloatArray
    y: IntArray
    expert: FloatArray
    groups: tuple[IntArray, ...]
    theta: FloatArray


def make_twins(n_samples: int = 100, *, random_state: Any = None) -> CredibleData:
    """Two equal features, uniform on [-2.5, 1.5], the first known; y = 1 where theta.x > 0.

    Sec. 4.3.1 of the paper, theta = (1, 1).
    """
    _check_samples(n_samples)
    v = np.random.default_rng(random_state).uniform(-2.5, 1.5, n_samples)
    X = np.column_stack([v, v])
    theta = np.ones(2)
    y = (X @ theta > 0).astype(np.int64)
    return CredibleData(X, y, np.array([1.0, 0.0]), (np.arange(2),), theta)


def make_collinearity_sweep(
    n_samples: int = 5000,
    *,
    correlations: Sequence[float] = TENTHS,
    group_size: int = 30,
    n_known: int = 15,
    random_state: Any = None,
) -> CredibleData:
    """A group of features for each correlation inside it; the expert knows half of each.

    Sec. 4.3.2 leaves open the number of rows, theta and the labels. Here they are the authors' own,
    from their published code: 5000 rows, theta = 1 and y = 1 where theta.x plus noise of deviation
    5 is positive. Which features of a group are known is drawn.
    """
    _check_samples(n_samples)
    if not 0 <= n_known <= group_size or group_size < 1:
        raise OptionError(f"n_known={n_known}; use 0 to group_size={group_size}.")
    known = [n_known] * len(correlations)
    return _even(n_samples, correlations, group_size, known, len(known), 5.0, random_state)


def make_known_share_sweep(
    n_samples: int = 5000,
    *,
    group_size: int = 10,
    correlation: float = 0.99,
    random_state: Any = None,
) -> CredibleData:
    """Groups of alike features of which the expert knows none, one, two, ... all (sec. 4.3.3).

    The print says that the features of a group are equal, and shows no others. In the authors'
    published code they correlate by 0.99, as many groups follow that have no part in the label, the
    expert knowing the same shares of them, theta is 1 in the others and the noise of the label has
    a deviation of 15. With copies, correlation 1, only the sum of theta over a group has a meaning.
    """
    _check_samples(n_samples)
    if group_size < 1:
        raise OptionError(f"group_size={group_size}; use at least 1.")
    known = [*range(group_size + 1)]
    rho = [correlation] * 2 * len(known)
    return _even(n_samples, rho, group_size, 2 * known, len(known), 15.0, random_state)


def make_random_groups(
    n_samples: int = 5000,
    *,
    mean_groups: float = 10.0,
    mean_size: float = 20.0,
    correlation: float = 0.95,
    random_state: Any = None,
) -> CredibleData:
    """Groups of random number, size and weight; the expert does not know the weights (sec. 4.3.4).

    The number of groups is Poisson(mean_groups), the size of each Poisson(mean_size) (a draw of 0
    is drawn again), its weight N(0, 1), each mark of the expert Bernoulli(1/2). The weight of a
    group is shared evenly by its known features, or by all where none is known, so that the group
    stays relevant. P(y = 1) = 1 / (1 + exp(-theta.x)).
    """
    _check_samples(n_samples)
    if not (mean_groups > 0 and mean_size > 0):
        raise OptionError("mean_groups and mean_size must be positive, say 10 and 20.")
    _check_correlations([correlation])
    rng = np.random.default_rng(random_state)
    n_groups = int(_positive_poisson(rng, mean_groups, 1)[0])
    weights = rng.normal(size=n_groups)
    sizes = _positive_poisson(rng, mean_size, n_groups)
    marks = [rng.integers(0, 2, size).astype(np.float64) for size in sizes.tolist()]
    theta = np.concatenate([w * even_shares(r) for w, r in zip(weights, marks, strict=True)])
    X = _correlated(rng, n_samples, sizes, np.full(n_groups, correlation))
    return CredibleData(X, _labels(rng, X @ theta), np.concatenate(marks), places(sizes), theta)


def _even(
    n_samples: int,
    correlations: Sequence[float],
    group_size: int,
    known: Sequence[int],
    relevant: int,
    noise: float,
    random_state: Any,
) -> CredibleData:
    """Groups of one size; theta is 1 in the relevant ones, which come first, and 0 in the rest."""
    _check_correlations(correlations)
    rng = np.random.default_rng(random_state)
    rho = np.asarray(correlations, dtype=np.float64)
    sizes = np.full(len(rho), group_size)
    theta = np.repeat(np.arange(len(rho)) < relevant, group_size).astype(np.float64)
    # known features first would be what an algorithm that breaks ties by position picks
    expert = np.concatenate([rng.permutation(np.arange(group_size) < count) for count in known])
    X = _correlated(rng, n_samples, sizes, rho)
    y = (X @ theta + noise * rng.normal(size=n_samples) > 0).astype(np.int64)
    return CredibleData(X, y, expert.astype(np.float64), places(sizes), theta)


def _correlated(
    rng: np.random.Generator, n_samples: int, sizes: IntArray, correlations: FloatArray
) -> FloatArray:
    """Standard normal columns; those of one group share a part that makes their correlation."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    rho = correlations[group]
    shared = rng.normal(size=(n_samples, len(sizes)))[:, group]
    X: FloatArray = np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.normal(size=shared.shape)
    return X


def _labels(rng: np.random.Generator, scores: FloatArray) -> IntArray:
    """Labels drawn with P(y = 1) = 1 / (1 + exp(-score))."""
    labels: IntArray = (rng.random(len(scores)) < expit(scores)).astype(np.int64)
    return labels


def _positive_poisson(rng: np.random.Generator, mean: float, count: int) -> IntArray:
    """Poisson draws, those of 0 drawn again."""
    drawn: IntArray = rng.poisson(mean, count)
    while not drawn.all():
        zero = drawn == 0
        drawn[zero] = rng.poisson(mean, int(zero.sum()))
    return drawn


def even_shares(marks: FloatArray) -> FloatArray:
    """Even shares of the known features, or of all where none is known."""
    takers = marks if marks.any() else np.ones_like(marks)
    shares: FloatArray = takers / takers.sum()
    return shares


def places(sizes: IntArray | list[int]) -> tuple[IntArray, ...]:
    """Positions of the columns of every group, which follow one another."""
    return tuple(np.split(np.arange(int(np.sum(sizes))), np.cumsum(sizes)[:-1]))


def _check_samples(n_samples: int) -> None:
    if n_samples < 2:
        raise OptionError(f"n_samples={n_samples}; use at least 2: one per class is needed.")


def _check_correlations(correlations: Sequence[float]) -> None:
    if not len(correlations) or not all(0 <= rho <= 1 for rho in correlations):
        raise OptionError("correlations must be numbers in [0, 1], at least one.")
