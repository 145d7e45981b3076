"""The prox and the dual norm of EYE: not in the paper."""

from __future__ import annotations

import math

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.penalties._base import EPS

# Newton from below takes at most seven steps; the bound only guards the loop.
_NEWTON_STEPS = 60


def _soft(y: FloatArray, threshold: float | FloatArray) -> FloatArray:
    return np.asarray(y - np.clip(y, -threshold, threshold))


def prox_of_known(y: FloatArray, known: np.ndarray, mu: float) -> FloatArray:
    """Prox of mu (a + sqrt(a^2 + b^2)) for r in {0, 1}.

    With B = ||y_known||, T = a / b and tau(T) = mu (1 + T / sqrt(1 + T^2)), the unknown part is
    soft(y, tau) and T is the root of F(T) = sum (|y_unknown| - tau)_+ + mu T / sqrt(1 + T^2) - B T.
    F is convex and decreasing from T0 on, so Newton from T0 is monotone.

    Parameters
    ----------
    y : ndarray of shape (p,)
    known : boolean ndarray of shape (p,)
    mu : float > 0

    Returns
    -------
    ndarray of shape (p,)
    """
    out = np.zeros_like(y)
    unknown, expert = y[~known], y[known]
    size = float(np.linalg.norm(expert))
    if size == 0:
        out[~known] = _soft(unknown, 2 * mu)
        return out
    largest = np.abs(unknown)
    # T0 = sqrt(mu^2 - B^2) / B where B < mu, written so that no square overflows or cancels
    ratio = mu / size
    start = math.sqrt((ratio - 1) * (ratio + 1)) if ratio > 1 else 0.0
    if not np.any(largest > mu * (1 + start / math.hypot(1.0, start))):
        out[known] = max(0.0, 1 - ratio) * expert
        return out
    root = _newton(largest, size, mu, start)
    long = math.hypot(1.0, root)
    out[~known] = _soft(unknown, mu * (1 + root / long))
    z = size * long - mu
    if z > 0:
        out[known] = expert * (z / (z + mu))
    return out


def _newton(largest: FloatArray, size: float, mu: float, start: float) -> float:
    """The root T >= start of F, from below."""
    t = start
    for _ in range(_NEWTON_STEPS):
        long = math.hypot(1.0, t)
        excess = largest - mu * (1 + t / long)
        active = excess > 0
        value = float(excess[active].sum()) + mu * t / long - size * t
        slope = mu * (1 - int(active.sum())) / long**3 - size
        if slope >= 0:
            break
        step = -value / slope
        if step <= 2 * EPS * max(t, 1e-300):
            break
        t += step
    return t


def fractional_prox(y: FloatArray, r: FloatArray, mu: float) -> FloatArray:
    """Prox of mu (a + sqrt(a^2 + b^2)) for r in [0, 1].

    sqrt(q) is the least of (q / Z + Z) / 2 over Z > 0. For fixed Z the minimiser is, with
    s = a / Z, the vector sign(y) (|y| - mu (1 - r)(1 + s))_+ / (1 + mu r^2 / Z), where s solves a
    piecewise-linear equation; then (a^2 + b^2) / Z^2 falls with Z and is 1 at the answer.

    Parameters
    ----------
    y, r : ndarrays of shape (p,)
    mu : float > 0

    Returns
    -------
    ndarray of shape (p,)
    """
    from scipy.optimize import brentq

    if dual_norm(y, r) <= mu:
        return np.zeros_like(y)
    size, sparse = np.abs(y), mu * (1 - r)
    with np.errstate(divide="ignore"):
        leaves = np.where(sparse > 0, size / np.where(sparse > 0, sparse, 1.0), np.inf) - 1.0
    order = np.argsort(-leaves, kind="stable")
    sorted_leaves = leaves[order]

    def minimiser(z: float) -> FloatArray:
        """The inner minimiser for this Z."""
        shrink = 1.0 / (1.0 + mu * r * r / z)
        # a(s) = sum over the first k of (1 - r)(|y| - sparse (1 + s)) shrink; a(s) = Z s
        at_zero = np.cumsum(((1 - r) * (size - sparse) * shrink)[order])
        fall = np.cumsum(((1 - r) * sparse * shrink)[order])
        candidates = at_zero / (z + fall)
        # coefficient k + 1 is active only while s lies below the s at which it leaves
        k = int(np.count_nonzero(np.r_[0.0, candidates[:-1]] < sorted_leaves))
        s = float(candidates[k - 1]) if k else 0.0
        return np.asarray(np.maximum(size - sparse * (1 + max(s, 0.0)), 0.0) * shrink)

    def excess(log_z: float) -> float:
        """log of sqrt(a^2 + b^2) / Z: 0 at the answer, falling."""
        z = math.exp(log_z)
        v = minimiser(z)
        length = math.hypot(float(((1 - r) * v).sum()), float(np.linalg.norm(r * v)))
        return math.log(length) - log_z if length > 0 else -math.inf

    top = math.hypot(float(((1 - r) * size).sum()), float(np.linalg.norm(r * size)))
    high, low = math.log(top) + 1e-9, math.log(top) - 1.0
    while excess(low) < 0:
        if low < high - 40:  # 1e-17 of y: the dual norm is mu but for rounding
            return np.zeros_like(y)
        low -= 1.0
    root = brentq(lambda x: max(excess(x), -1e3), low, high, xtol=1e-15, rtol=4 * EPS)
    return np.copysign(minimiser(math.exp(root)), y)


def dual_norm(z: FloatArray, r: FloatArray) -> float:
    """The dual norm of a + sqrt(a^2 + b^2) at z.

    z lies in t times the dual ball iff for some c in [t, 2 t]: |z_j| <= c where r_j = 0, and
    Q(c) = sum over r_j > 0 of ((|z_j| - (1 - r_j) c)_+ / r_j)^2 <= c (2 t - c). So the norm is the
    least of (c + Q(c) / c) / 2 over c >= A = max |z_j| with r_j = 0; without that bound the
    minimiser solves c^2 = sum ((|z_j|^2 - (1 - r_j)^2 c^2)_+ / r_j^2), piecewise linear in c^2.
    For r in {0, 1} and B = ||z_known||: B if A <= B, else (A^2 + B^2) / (2 A).

    Parameters
    ----------
    z, r : ndarrays of shape (p,)

    Returns
    -------
    float
    """
    size = np.abs(z)
    scale = float(size.max(initial=0.0))
    if scale == 0:
        return 0.0
    size = size / scale  # squares neither overflow nor vanish
    some = r > 0
    floor = float(size[~some].max(initial=0.0))
    v, q = size[some] / r[some], (1 - r[some]) / r[some]
    c = max(floor, _free_minimiser(v, q))
    rest = float((np.maximum(v - q * c, 0.0) ** 2).sum())
    return scale * (c + rest / c) / 2


def _free_minimiser(v: FloatArray, q: FloatArray) -> float:
    """The c > 0 with c^2 = sum (v^2 - q^2 c^2)_+."""
    if not v.any():
        return 0.0
    with np.errstate(divide="ignore"):
        leaves = np.where(q > 0, v / np.where(q > 0, q, 1.0), np.inf)
    order = np.argsort(-leaves, kind="stable")
    squares = np.cumsum(v[order] ** 2) / (1 + np.cumsum(q[order] ** 2))
    c = np.sqrt(squares)
    k = int(np.count_nonzero(np.r_[0.0, c[:-1]] < leaves[order]))
    return float(c[k - 1])
