"""The best intercept for given scores, so exactly that the row derivatives add to zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError

if TYPE_CHECKING:
    from milpscore.proximal._problem import Smooth

_STEPS = 100
_TOLERANCE = 1e-13


def best_intercept(
    smooth: Smooth, eta: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Minimise the mean loss over b.

    Parameters
    ----------
    smooth : Smooth
    eta : ndarray of shape (n,) or (n, K)
        Scores without an intercept.
    start : ndarray of shape () or (K,)

    Returns
    -------
    b : ndarray of shape () or (K,)
    u : ndarray of the shape of eta
        The rows' derivatives loss'(eta + b), their weighted sum zero.

    Raises
    ------
    NotApplicableError
        The loss falls without end in b.
    """
    if eta.ndim == 2:
        return _many(smooth, eta, start)
    b, u = _one(smooth, eta, float(start))
    return np.asarray(b), u


def _one(smooth: Smooth, eta: FloatArray, b: float) -> tuple[float, FloatArray]:
    """Newton's method inside a shrinking bracket: the derivative in b never decreases."""
    lower, upper = -np.inf, np.inf
    reach = 1.0
    for _ in range(_STEPS):
        z = eta + b
        u = smooth.loss.gradient(z, smooth.y)
        slope = float(smooth.weight @ u)
        if not abs(slope) > _TOLERANCE * float(smooth.weight @ np.abs(u)):
            return b, u
        if slope > 0:
            upper = b
        else:
            lower = b
        bend = float(smooth.row_hessian(z).sum())
        # a loss like the hinge's may be straight here, and exp may overflow far out
        newton = b - slope / bend if 0 < bend < np.inf else np.nan
        if lower < newton < upper and abs(newton - b) <= 10.0 * reach:
            following = newton
        elif np.isinf(upper):
            following = lower + reach
        elif np.isinf(lower):
            following = upper - reach
        else:
            following = 0.5 * (lower + upper)
        reach = max(2.0 * reach, 2.0 * abs(following - b))
        if following == b or not lower < following < upper:
            return b, u  # the bracket is one rounding wide
        b = following
    if np.isinf(lower) or np.isinf(upper):
        raise NotApplicableError(
            "the loss falls without end as the intercept grows; fix it at 0 with intercept=False."
        )
    return b, smooth.loss.gradient(eta + b, smooth.y)


def _many(smooth: Smooth, eta: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Damped Newton steps for the K intercepts of the multinomial loss, their mean kept at 0."""
    value = smooth.value(eta + b)
    for _ in range(_STEPS):
        z = eta + b
        rows = smooth.row_gradient(z)
        slope = rows.sum(axis=0)
        if np.abs(slope).max() <= _TOLERANCE * np.abs(rows).sum():
            break
        bend = smooth.loss.mean_hessian(z, smooth.y, smooth.weight)  # type: ignore[attr-defined]
        # moving all K together changes nothing: that direction gets a curvature of its own
        move = -np.linalg.solve(bend + 1.0 / len(b), slope)
        length = 1.0
        while length > 1e-10:
            following = b + length * (move - move.mean())
            reached = smooth.value(eta + following)
            if reached <= value + 1e-15 * abs(value):
                break
            length *= 0.5
        else:
            break
        b, value = following, reached
    return b, smooth.loss.gradient(eta + b, smooth.y)
