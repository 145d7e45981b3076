"""How well coefficients agree with an expert's marks: Wang et al. (2018), sec. 4.1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError

EPS = 0.01


def symmetric_kl(w_group: npt.ArrayLike, r_group: npt.ArrayLike, *, eps: float = EPS) -> float:
    """Return the symmetric Kullback-Leibler divergence of weights from the expert's marks.

    (KL(w' || r') + KL(r' || w')) / 2 with w' and r' the normalised |w| and r, natural logarithms;
    0 where the shapes are equal. The paper does not say how it treats zeros, where KL is infinite:
    here both are divided by their sums, ``eps`` is added to every share, and they are divided by
    their sums again. Dividing first keeps the measure free of the scale of w. Weights that are all
    zero count as even, as they do in the limit of any additive smoothing.

    Parameters
    ----------
    w_group, r_group : arrays of shape (m,)
        Coefficients of one group of correlated features, and the expert's marks in [0, 1].
    eps : float
        The default is the paper's own bound of a near-zero weight (its Table 3). It sets what a
        wrong zero costs, about log(1 / eps) / 2 times the share of weight that lies there, so
        values of different eps do not compare. 0 leaves out the infinite terms, as code that skips
        zeros does: it forgives a weight on a feature that should have none, and may be negative.

    Returns
    -------
    float
        If the marks are all zero, the least divergence from any one-hot vector: the weights
        should be sparse there.

    Raises
    ------
    DataError
        The lengths differ, a weight is not finite, or a mark lies outside [0, 1].
    OptionError
        ``eps`` is negative or not finite.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (KDD 2018), sec. 4.1.
    """
    if not (eps >= 0 and np.isfinite(eps)):
        raise OptionError(f"eps={eps!r}; use a number from 0 on, say {EPS}.")
    w, r = _vector(w_group), _vector(r_group)
    if not w.size or w.shape != r.shape:
        raise DataError(
            f"a group has {w.size} weights and {r.size} marks: one mark per weight is needed, at "
            "least one"
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
    """Return the symmetric KL of every group of correlated features; lower is more credible.

    Parameters
    ----------
    w, expert : arrays of shape (p,)
        Coefficients, and the expert's marks in [0, 1].
    groups : sequence of integer arrays
        Positions of each group's features. The paper's structure constraint is about relevant
        groups only; its Table 2 sums over all.
    eps : float
        As in :func:`symmetric_kl`.

    Returns
    -------
    ndarray of shape (len(groups),)

    Raises
    ------
    DataError, OptionError
        As :func:`symmetric_kl` does.
    """
    weights, marks = _pair(w, expert)
    places = [np.asarray(group, dtype=np.intp) for group in groups]
    return np.array([symmetric_kl(weights[at], marks[at], eps=eps) for at in places])


def average_precision(w: npt.ArrayLike, expert: npt.ArrayLike) -> float:
    """Return the average precision of |w| as a ranking of the features that the expert marks.

    Parameters
    ----------
    w : array of shape (p,)
    expert : array of shape (p,)
        Marks 0 and 1, at least one of them 1.

    Returns
    -------
    float
        In [0, 1]; 1 where all marked features come first.

    Raises
    ------
    DataError
        Other marks, or lengths that differ.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (KDD 2018), Table 3.
    """
    from sklearn.metrics import average_precision_score

    weights, marks = _pair(w, expert)
    if not np.isin(marks, (0, 1)).all() or not marks.any():
        raise DataError("average precision needs marks 0 and 1, at least one of them 1")
    return float(average_precision_score(marks, np.abs(weights)))


def _smoothed(rows: FloatArray, eps: float) -> FloatArray:
    """Return rows as shares, ``eps`` added to each, as shares again; rows of zeros are even."""
    sums = rows.sum(axis=1, keepdims=True)
    even = np.full_like(rows, 1 / rows.shape[1])
    shares = np.divide(rows, sums, out=even, where=sums > 0)
    return np.asarray((shares + eps) / (1 + eps * rows.shape[1]))


def _pair(w: npt.ArrayLike, expert: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and marks of one length."""
    weights, marks = _vector(w), _vector(expert)
    if weights.shape != marks.shape:
        raise DataError(f"{weights.size} coefficients need as many marks, got {marks.size}")
    return weights, marks


def _vector(w: npt.ArrayLike) -> FloatArray:
    return np.asarray(w, dtype=np.float64).ravel()
