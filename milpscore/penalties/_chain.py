"""Dual answers of weighted total variation, shared by one chain and by blocks of bins.

The subdifferential's points are D'u with |u_k| <= width_k, so a point z is one of them for the
dual variables -cumsum(z). A width of 0 (the end of every chain has one) asks for a sum of zero; a
gradient sums to zero only as far as the intercept is fitted, so sums within 1e-9 of its size pass.
"""

from __future__ import annotations

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.penalties._base import ROUNDING
from milpscore.penalties._taut_string import tv_prox

_LOOSE = 1e-9


def chain_gauge(z: FloatArray, widths: FloatArray, size: float) -> float:
    """The least t with |cumsum(z)_k| <= t width_k everywhere, the last width being 0.

    Parameters
    ----------
    z : ndarray of shape (p,)
    widths : ndarray of shape (p - 1,)
        >= 0; 0 where a chain ends.
    size : float
        Sum of the absolute values that z was computed from: what its rounding is measured by.

    Returns
    -------
    float
        Infinite where a sum that must vanish does not.
    """
    sums = np.abs(np.cumsum(z))
    ends = np.append(widths == 0, True)
    if np.any(sums[ends] > _nothing(size, widths)):
        return np.inf
    inner = ~ends
    return float((sums[inner] / widths[inner[:-1]]).max(initial=0.0))


def in_chain_domain(z: FloatArray, widths: FloatArray, size: float) -> bool:
    """Whether the gauge of z is at most 1, up to the rounding of the cumulative sums."""
    sums = np.abs(np.cumsum(z))
    limits = np.append(widths, 0.0)
    slack = np.where(limits == 0, _nothing(size, widths), ROUNDING * size)
    return bool(np.all(sums <= limits * (1 + ROUNDING) + slack))


def _nothing(size: float, widths: FloatArray) -> float:
    """What a sum that must vanish may come to: little beside z, or beside the widths."""
    return _LOOSE * size + ROUNDING * float(widths.max(initial=0.0))


def chain_residual(w: FloatArray, z: FloatArray, widths: FloatArray) -> FloatArray:
    """z less its projection on the subdifferential of sum_k width_k |w_{k+1} - w_k| at w.

    It is the prox, at z, of the directional derivative: jumps give a linear part, and total
    variation remains where neighbours are equal.
    """
    jumps = np.diff(w)
    pull = np.r_[0.0, widths * np.sign(jumps), 0.0]
    rest = z + np.diff(pull)
    return tv_prox(rest, np.where(jumps == 0, widths, 0.0), np.empty(len(w)))
