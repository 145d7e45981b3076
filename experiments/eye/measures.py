"""How sparse a model is (sec. 4.1), and which of many models to keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError


def gini(w: npt.ArrayLike) -> float:
    """Gini coefficient of the absolute values: 0 where all are equal, 1 - 1/p for a single one.

    With |w|_(1) <= ... <= |w|_(p): 1 - 2 sum_k |w|_(k) / ||w||_1 * (p - k + 1/2) / p, after Hurley
    & Rickard, IEEE Transactions on Information Theory 55 (2009).
    """
    size = np.sort(np.abs(_vector(w)))
    total = size.sum()
    if not total > 0:
        return 0.0
    p = len(size)
    return float(1 - 2 * (size / total) @ (p - np.arange(1, p + 1) + 0.5) / p)


def near_zero_share(w: npt.ArrayLike, tol: float = 0.01) -> float:
    """Share of the coefficients below ``tol`` times the largest (Table 3); 1 where all are zero."""
    if not 0 < tol <= 1:
        raise OptionError(f"tol={tol!r}; use a share in (0, 1], say 0.01.")
    size = np.abs(_vector(w))
    largest = size.max(initial=0.0)
    return float(np.mean(size < tol * largest)) if largest > 0 else 1.0


def log_ratio(w: npt.ArrayLike, expert: npt.ArrayLike) -> float:
    """Logarithm of the known features' sum of |w| over the unknown ones'; NaN for 0 over 0."""
    weights, marks = _pair(w, expert)
    known, unknown = np.abs(weights[marks > 0]).sum(), np.abs(weights[marks <= 0]).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.log(known) - np.log(unknown))


def bootstrap_auc(
    y: npt.ArrayLike, scores: npt.ArrayLike, n_bootstrap: int = 100, random_state: Any = 0
) -> FloatArray:
    """AUCs of many models on the same bootstrap samples of the rows, shape (n_bootstrap, M).

    A sample without one of the classes has no AUC and is drawn again. Rows are positive where
    y > 0; scores have the shape (n, M), a column a model; equal scores count one half.
    """
    positive = np.asarray(y, dtype=np.float64) > 0
    columns = _columns(scores, len(positive))
    if positive.all() or not positive.any():
        raise DataError("the AUC needs rows of both classes; only one class is present")
    if n_bootstrap < 1:
        raise OptionError(f"n_bootstrap={n_bootstrap}; use at least 1, say 100.")
    counts = _samples(positive, n_bootstrap, np.random.default_rng(random_state))
    upper, lower = counts * positive, counts * ~positive
    pairs = upper.sum(axis=1) * lower.sum(axis=1)
    return np.stack([_won(upper, lower, column) / pairs for column in columns.T], axis=1)


def sparsest_accurate(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    coefficients: npt.ArrayLike,
    *,
    n_bootstrap: int = 100,
    level: float = 0.05,
    random_state: Any = 0,
) -> tuple[int, npt.NDArray[np.bool_]]:
    """Choose the sparsest of the models that are not significantly worse than the best.

    The best model has the highest mean AUC over the bootstrap samples. Another is significantly
    worse if its one-sided paired p-value lies below ``level``: p = (1 + number of samples in which
    its AUC is at least the best one's) / (1 + n_bootstrap). Among the rest, the best
    included, the largest Gini coefficient is chosen; among equals the higher mean AUC, then the
    first. Sec. 4.1, criterion (ii); the paper does not name its test.

    Scores (n, M) are those of the validation rows, coefficients have the shape (M, p). The answer
    is the chosen model, and which ones (M,) are not significantly worse than the best.
    """
    if not 0 < level < 1 or level * (1 + n_bootstrap) <= 1:
        raise OptionError(
            f"level={level} with n_bootstrap={n_bootstrap}: use a level in (0, 1) and more than "
            "1 / level - 1 samples, say 0.05 and 100."
        )
    w = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
    aucs = bootstrap_auc(y, scores, n_bootstrap, random_state)
    if len(w) != aucs.shape[1]:
        raise DataError(f"{aucs.shape[1]} columns of scores need as many models, got {len(w)}")
    mean = aucs.mean(axis=0)
    as_good = (aucs >= aucs[:, [int(mean.argmax())]]).sum(axis=0)
    kept = (1 + as_good) / (1 + n_bootstrap) >= level
    order = np.lexsort((-mean, -np.array([gini(row) for row in w]), ~kept))
    return int(order[0]), kept


def _columns(scores: npt.ArrayLike, n: int) -> FloatArray:
    """Scores as a finite (n, M) array."""
    values = np.asarray(scores, dtype=np.float64)
    values = values[:, np.newaxis] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != n:
        raise DataError(f"{n} classes need scores of shape ({n}, M), got {np.shape(scores)}")
    if not np.isfinite(values).all():
        raise DataError("scores hold numbers that are not finite; drop such models")
    return values


def _samples(
    positive: npt.NDArray[np.bool_], n_bootstrap: int, rng: np.random.Generator
) -> IntArray:
    """How often each row stands in each sample, shape (n_bootstrap, n); both classes in each."""
    n = len(positive)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=n_bootstrap)
    while True:
        held = counts[:, positive].sum(axis=1)
        lacking = (held == 0) | (held == n)
        if not lacking.any():
            return counts
        counts[lacking] = rng.multinomial(n, np.full(n, 1 / n), size=int(lacking.sum()))


def _won(upper: IntArray, lower: IntArray, scores: FloatArray) -> FloatArray:
    """Pairs (positive, negative) in the right order, ties one half, in each sample."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(scores[order]) > 0])
    ups = np.add.reduceat(upper[:, order], starts, axis=1)
    downs = np.add.reduceat(lower[:, order], starts, axis=1)
    below = np.cumsum(downs, axis=1) - downs / 2
    return np.asarray((ups * below).sum(axis=1), dtype=np.float64)


def _pair(w: npt.ArrayLike, expert: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Coefficients and marks of one length."""
    weights, marks = _vector(w), _vector(expert)
    if weights.shape != marks.shape:
        raise DataError(f"{weights.size} coefficients need as many marks, got {marks.size}")
    return weights, marks


def _vector(w: npt.ArrayLike) -> FloatArray:
    return np.asarray(w, dtype=np.float64).ravel()
