"""Which model of many to keep: bootstrapped AUCs, and the sparsest of those as good as the best."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.eye.measures import gini
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError


def bootstrap_auc(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    n_bootstrap: int = 100,
    random_state: Any = 0,
) -> FloatArray:
    """AUCs of many models on bootstrap samples of the rows, the same samples for every model.

    A sample without one of the classes has no AUC and is drawn again.

    Parameters
    ----------
    y : array of shape (n,)
        Classes; positive where > 0.
    scores : array of shape (n, M), or (n,) for one model
        Decision values, a column a model; equal scores count one half.
    n_bootstrap : int
    random_state : int, Generator or None

    Returns
    -------
    ndarray of shape (n_bootstrap, M)

    Raises
    ------
    DataError
        Only one class is present, or the shapes do not fit.
    OptionError
        ``n_bootstrap`` is below 1.
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
    its AUC is at least the best one's) / (1 + n_bootstrap). Of the rest, the best among them, the
    one with the largest Gini coefficient of its absolute coefficients is chosen; of equal ones the
    one with the higher mean AUC, then the first.

    Parameters
    ----------
    y : array of shape (n,)
        Classes of the validation rows; positive where > 0.
    scores : array of shape (n, M)
        Decision values on the validation rows.
    coefficients : array of shape (M, p)
    n_bootstrap : int
        p cannot fall below 1 / (1 + n_bootstrap): level 0.05 needs at least 20.
    level : float in (0, 1)
    random_state : int, Generator or None

    Returns
    -------
    chosen : int
    kept : ndarray of bool, shape (M,)
        The models that are not significantly worse than the best.

    Raises
    ------
    DataError
        Only one class is present, or the shapes do not fit.
    OptionError
        ``level`` lies outside its range, or no p-value can fall below it.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.1, criterion (ii). The paper
    does not name its test.
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
    best = int(mean.argmax())
    as_good = (aucs >= aucs[:, [best]]).sum(axis=0)
    kept = (1 + as_good) / (1 + n_bootstrap) >= level
    sparse = np.array([gini(row) for row in w])
    order = np.lexsort((-mean, -sparse, ~kept))
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
