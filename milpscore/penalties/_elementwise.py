"""Elementwise prox steps: compiled where numba is there, else in-place NumPy block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.jit import has_numba
from milpscore.penalties._base import prox_arguments

# Two or three blocks of float64 must lie in the first- and second-level caches together.
BLOCK = 16_384
# Below it, loading compiled code costs more than it saves.
COMPILED_FROM = 65_536
# The bits of a double's exponent.
_EXPONENT = np.int64(0x7FF0_0000_0000_0000)


def elementwise(
    w: Any,
    step: float,
    out: FloatArray | None,
    name: str,
    block: Callable[..., None],
    parameters: tuple[float, ...],
) -> FloatArray:
    """Apply a scalar prox to every entry.

    Parameters
    ----------
    w : array of any shape
    step : float
        Only checked; ``parameters`` hold what depends on it.
    out : ndarray or None
        Where the answer goes; may be ``w`` itself.
    name : str
        The kernel in :mod:`milpscore.penalties._kernels`.
    block : callable
        ``block(y, out, buffers, *parameters)``, the same in NumPy on a short vector, with four
        buffers of its length. ``out`` may be ``y``.
    parameters : tuple of float

    Returns
    -------
    ndarray
        ``out``, or a new array.
    """
    y, target = prox_arguments(w, step, out)
    flat = y.reshape(-1)
    answer = target.reshape(-1) if target.flags.c_contiguous else np.empty_like(flat)
    if flat.size >= COMPILED_FROM and has_numba():
        from milpscore.penalties import _kernels

        getattr(_kernels, name)(np.ascontiguousarray(flat), answer, *parameters)
    else:
        buffers = np.empty((4, min(BLOCK, flat.size)))
        for start in range(0, flat.size, BLOCK):
            part = flat[start : start + BLOCK]
            block(part, answer[start : start + BLOCK], buffers[:, : len(part)], *parameters)
    if not target.flags.c_contiguous:
        target[...] = answer.reshape(target.shape)
    return target


def soft_block(
    y: FloatArray, out: FloatArray, buffers: FloatArray, threshold: float, shrinkage: float
) -> None:
    """shrinkage * sign(y) (|y| - threshold)_+ ; y less its clipped part needs no sign."""
    clipped = np.clip(y, -threshold, threshold, out=buffers[0])
    np.subtract(y, clipped, out=out)
    if shrinkage != 1.0:
        np.multiply(out, shrinkage, out=out)


def grid_block(
    y: FloatArray,
    out: FloatArray,
    buffers: FloatArray,
    unit: float,
    push: float,
    slope: float,
) -> None:
    """The prox of Facets (``slope`` 1) and of its strongly convex form, on a grid of step ``unit``.

    In units of the grid, with s = sign(y) (|y| - push)_+ and k = s / (1 + push) cut to a whole
    number, it is k + (s - k (1 + push)) / slope, the second part held to [-1, 1]. For slope 1 the
    threshold may come after the cut (eq. 12), which leaves out one step. What lies within rounding
    of a grid point becomes that point: adding and taking away a power of two above 8 |y| leaves
    multiples of 8 units in the last place of y.
    """
    part, k, spare, scaled = buffers
    pitch = 1.0 + push
    if unit != 1.0:
        y = np.multiply(y, 1.0 / unit, out=scaled)
    if slope == 1.0:
        np.multiply(y, 1.0 / pitch, out=k)
        np.trunc(k, out=k)
        np.multiply(k, pitch, out=part)
        np.subtract(y, part, out=part)
        np.clip(part, -push, push, out=spare)
        np.subtract(part, spare, out=part)
    else:
        np.clip(y, -push, push, out=part)
        np.subtract(y, part, out=part)
        np.multiply(part, 1.0 / pitch, out=k)
        np.trunc(k, out=k)
        np.multiply(k, pitch, out=spare)
        np.subtract(part, spare, out=part)
        np.multiply(part, 1.0 / slope, out=part)
        np.clip(part, -1.0, 1.0, out=part)
    np.add(k, part, out=k)
    # 12 times the power of two below |y|: sums with it stay in one binade
    np.bitwise_and(y.view(np.int64), _EXPONENT, out=spare.view(np.int64))
    np.multiply(spare, 12.0, out=spare)
    np.add(k, spare, out=k)
    if unit != 1.0:
        np.subtract(k, spare, out=k)
        np.multiply(k, unit, out=out)
    else:
        np.subtract(k, spare, out=out)
