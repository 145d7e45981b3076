"""How credible and how sparse the coefficients of a linear model are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError

EPS = 0.01


def symmetric_kl(w_group: npt.ArrayLike, r_group: npt.ArrayLike, *, eps: float = EPS) -> float:
    """Symmetric Kullback-Leibler divergence of the shape of weights from the expert's marks.

    (KL(w' || r') + KL(r' || w')) / 2 with w' and r' the normalised |w| and r, natural logarithms;
    0 where the shapes are equal. Both hold zeros where KL is infinite, so both are smoothed: they
    are divided by their sums, ``eps`` is added to every share, and they are divided by their sums
    again. Dividing first keeps the measure free of the scale of w. Weights that are all zero have
    no shape; they count as even, as they do in the limit of any additive smoothing.

    The default eps is the paper's own bound of a near-zero weight (its Table 3). ``eps=0`` leaves
    out the infinite terms, as code that skips zeros does: it forgives a weight on a feature that
    should have none, and may even be negative.

    Where the marks are all zero, the weights should be sparse, and the least divergence from any
    one-hot vector is returned.

    Parameters
    ----------
    w_group : array of shape (m,)
        Coefficients of one group of correlated features.
    r_group : array of shape (m,)
        Marks in [0, 1].
    eps : float
        It sets what a wrong zero costs, about log(1 / eps) / 2 times the share of weight that lies
        there, so values of different eps do not compare.

    Returns
    -------
    float

    Raises
    ------
    DataError
        The group is empty, the lengths differ, or a number is not finite or a mark outside [0, 1].
    OptionError
        ``eps`` is negative.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.1. The paper does not say how
    it treats zeros.
    """
    if not (eps >= 0 and np.isfinite(eps)):
        raise OptionError(f"eps={eps!r}; use a number from 0 on, say {EPS}.")
    w, r = as_vector(w_group), as_vector(r_group)
    if not w.size or w.shape != r.shape:
        raise DataError(
            f"a group of {w.size} weights and {r.size} marks: give one mark a weight, at least one"
        )
    if not np.isfinite(w).all() or not ((r >= 0) & (r <= 1)).all():
        raise DataError("weights must be finite and the expert's marks must lie in [0, 1]")
    wanted = r[np.newaxis] if r.any() else np.eye(len(r))
    shape = _smoothed(np.abs(w)[np.newaxis], eps)
    target = _smoothed(wanted, eps)
    # log(shape / target) where both are positive, which with eps > 0 is everywhere
    positive = (shape > 0) & (target > 0)
    ratio = np.divide(shape, target, out=np.ones_like(target), where=positive)
    return float(0.5 * ((shape - target) * np.log(ratio)).sum(axis=1).min())


def credibility_by_group(
    w: npt.ArrayLike,
    expert: npt.ArrayLike,
    groups: Sequence[npt.ArrayLike],
    *,
    eps: float = EPS,
) -> FloatArray:
    """Symmetric KL of every group of correlated features; the lower, the more credible.

    Parameters
    ----------
    w : array of shape (p,)
    expert : array of shape (p,)
        Marks in [0, 1].
    groups : sequence of sequences of int
        The positions of each group's features. The paper's structure constraint is about relevant
        groups only; its Table 2 sums over all.
    eps : float
        As for :func:`symmetric_kl`.

    Returns
    -------
    ndarray of shape (number of groups,)

    Raises
    ------
    DataError, OptionError
        As :func:`symmetric_kl`.
    """
    weights, marks = _pair(w, expert)
    places = [np.asarray(group, dtype=np.intp) for group in groups]
    return np.array([symmetric_kl(weights[at], marks[at], eps=eps) for at in places])


def average_precision(w: npt.ArrayLike, expert: npt.ArrayLike) -> float:
    """Average precision of |w| as a ranking that should bring the expert's features first.

    Parameters
    ----------
    w : array of shape (p,)
    expert : array of shape (p,)
        0 or 1; at least one 1.

    Returns
    -------
    float
        In (0, 1]; features of equal |w| enter together.

    Raises
    ------
    DataError
        The marks are not 0 and 1, or none is 1.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.1.
    """
    from sklearn.metrics import average_precision_score

    weights, marks = _pair(w, expert)
    if not np.isin(marks, (0, 1)).all() or not marks.any():
        raise DataError("average precision needs marks 0 and 1, at least one of them 1")
    return float(average_precision_score(marks, np.abs(weights)))


def gini(w: npt.ArrayLike) -> float:
    """Gini coefficient of the absolute values: 0 where all are equal, 1 - 1/p for a single one.

    With |w|_(1) <= ... <= |w|_(p): 1 - 2 sum_k |w|_(k) / ||w||_1 * (p - k + 1/2) / p.

    Parameters
    ----------
    w : array of shape (p,)

    Returns
    -------
    float
        0 where all coefficients are zero, which are equal too.

    References
    ----------
    Hurley & Rickard, "Comparing measures of sparsity", IEEE Transactions on Information Theory 55
    (2009).
    """
    size = np.sort(np.abs(as_vector(w)))
    total = size.sum()
    if not total > 0:
        return 0.0
    p = len(size)
    return float(1 - 2 * (size / total) @ (p - np.arange(1, p + 1) + 0.5) / p)


def near_zero_share(w: npt.ArrayLike, tol: float = 0.01) -> float:
    """Share of the coefficients below ``tol`` times the largest in absolute value.

    Parameters
    ----------
    w : array of shape (p,)
    tol : float
        In (0, 1].

    Returns
    -------
    float
        1 where all coefficients are zero, and for a model without any.

    Raises
    ------
    OptionError
        ``tol`` lies outside its range.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 3.
    """
    if not 0 < tol <= 1:
        raise OptionError(f"tol={tol!r}; use a share in (0, 1], say 0.01.")
    size = np.abs(as_vector(w))
    largest = size.max(initial=0.0)
    return float(np.mean(size < tol * largest)) if largest > 0 else 1.0


def log_ratio(w: npt.ArrayLike, expert: npt.ArrayLike) -> float:
    """Logarithm of the known features' sum of |w| over the unknown features'.

    Parameters
    ----------
    w : array of shape (p,)
    expert : array of shape (p,)
        Known where > 0.

    Returns
    -------
    float
        Infinite where one of the sums is 0, NaN where both are.

    Raises
    ------
    DataError
        The lengths differ.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.1 (for two features).
    """
    weights, marks = _pair(w, expert)
    known = float(np.abs(weights[marks > 0]).sum())
    unknown = float(np.abs(weights[marks == 0]).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.log(known) - np.log(unknown))


def _smoothed(rows: FloatArray, eps: float) -> FloatArray:
    """Rows as shares, ``eps`` added to each, as shares again; rows of zeros are even."""
    sums = rows.sum(axis=1, keepdims=True)
    even = np.full_like(rows, 1 / rows.shape[1])
    shares = np.divide(rows, sums, out=even, where=sums > 0)
    return np.asarray((shares + eps) / (1 + eps * rows.shape[1]))


def _pair(w: npt.ArrayLike, expert: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Coefficients and marks of one length."""
    weights, marks = as_vector(w), as_vector(expert)
    if weights.shape != marks.shape:
        raise DataError(f"{weights.size} coefficients need as many marks, got {marks.size}")
    return weights, marks


def as_vector(w: npt.ArrayLike) -> FloatArray:
    """Coefficients as a float vector."""
    return np.asarray(w, dtype=np.float64).ravel()
