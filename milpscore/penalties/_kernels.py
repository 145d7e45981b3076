"""Sequential and elementwise kernels, compiled where numba is there; imported where used."""

from __future__ import annotations

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.jit import compiled
from milpscore.penalties import _taut_string

_ROUNDING = 4 * float(np.finfo(np.float64).eps)

taut_string = compiled(_taut_string.taut_string)


@compiled
def soft(y: FloatArray, out: FloatArray, threshold: float, shrinkage: float) -> None:
    """See :func:`milpscore.penalties._elementwise.soft_block`."""
    for i in range(y.size):
        value = y[i]
        out[i] = shrinkage * (value - min(max(value, -threshold), threshold))


@compiled
def grid(y: FloatArray, out: FloatArray, unit: float, push: float, slope: float) -> None:
    """See :func:`milpscore.penalties._elementwise.grid_block`."""
    pitch = 1.0 + push
    per_unit, per_pitch, per_slope = 1.0 / unit, 1.0 / pitch, 1.0 / slope
    for i in range(y.size):
        value = y[i] * per_unit
        thresholded = value - min(max(value, -push), push)
        k = np.trunc(thresholded * per_pitch)
        part = min(max((thresholded - k * pitch) * per_slope, -1.0), 1.0)
        answer = k + part
        whole = np.rint(answer)
        near = abs(answer - whole) <= _ROUNDING * abs(value)
        out[i] = (whole if near else answer) * unit
