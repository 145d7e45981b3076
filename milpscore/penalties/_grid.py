"""Scalar functions of penalties with kinks on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray
from milpscore.penalties._base import EPS, Vector


def ramp_sum(t: FloatArray) -> FloatArray:
    """sum_{i >= 0} max(0, t - i) for t >= 0 (Facets paper, eq. 3)."""
    k = np.floor(t)
    return np.asarray(k * (k + 1) / 2 + (k + 1) * (t - k))


def on_grid(size: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Which sizes are whole numbers up to rounding; those are returned as such, the rest as is."""
    whole = np.rint(size)
    on = np.abs(size - whole) <= 8 * EPS * np.maximum(whole, 1.0)
    return np.where(on, whole, size), on


def distance_to_interval(w: Vector, grad: Vector, lower: Any, upper: Any) -> FloatArray:
    """Distance of -grad_j to the subdifferential of an even function at w_j.

    Parameters
    ----------
    w, grad : arrays of one shape
    lower, upper : arrays
        The subdifferential at |w_j| > 0 is [lower_j, upper_j]; at 0 it is [-upper_j, upper_j].
    """
    slope = -np.where(np.asarray(w) < 0, -1.0, 1.0) * grad
    lower = np.where(np.asarray(w) == 0, -np.asarray(upper), lower)
    return np.asarray(np.maximum(np.maximum(lower - slope, slope - upper), 0.0))
