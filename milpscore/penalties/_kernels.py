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
    pitch, per_unit, per_slope = 1.0 + push, 1.0 / unit, 1.0 / slope
    # a whole quotient must not be cut to the number below it
    per_pitch = (1.0 + 2 * _ROUNDING) / pitch
    if slope == 1.0:
        for i in range(y.size):
            size = abs(y[i]) * per_unit
            k = np.floor(size * per_pitch)
            part = size - k * pitch - push
            part = part if part > _ROUNDING * size else 0.0
            out[i] = np.copysign((k + part) * unit, y[i])
    else:
        for i in range(y.size):
            size = abs(y[i]) * per_unit
            above = max(size - push, 0.0)
            k = np.floor(above * per_pitch)
            part = above - k * pitch
            part = part * per_slope if part > _ROUNDING * size else 0.0
            part = part if part < 1.0 - _ROUNDING * size else 1.0
            out[i] = np.copysign((k + part) * unit, y[i])
