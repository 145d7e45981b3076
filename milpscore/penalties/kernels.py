"""The compiled kernels of the penalties; imported where they are used.

Each is one loop over the coefficients. Measured at 1e6 entries: the soft threshold and the grid
run at the pace of a copy, and total variation would take 400 ns an entry in Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.jit import compiled, inner

_ROUNDING = 4 * float(np.finfo(np.float64).eps)


@compiled
def soft(
    y: FloatArray, out: FloatArray, step: float, weight: FloatArray, ridge: FloatArray
) -> None:
    """sign(y) (|y| - step weight)_+ / (1 + step ridge), entry by entry; ``out`` may be ``y``.

    ``weight`` and ``ridge`` have one entry for all or one for each.
    """
    # strides of 0 or 1, written so that the compiler makes a loop of its own for each
    by_weight = 0 if len(weight) == 1 else 1
    by_ridge = 0 if len(ridge) == 1 else 1
    for i in range(y.size):
        value = y[i]
        threshold = step * weight[i * by_weight]
        # y less its clipped part needs no sign
        kept = value - min(max(value, -threshold), threshold)
        out[i] = kept / (1.0 + step * ridge[i * by_ridge])


@compiled
def grid(
    y: FloatArray, out: FloatArray, unit: float, push: float, pitch: float, bend: float
) -> None:
    """The prox of Facets and its strongly convex form, on a grid of step ``unit``.

    In units of the grid plateau k, where the answer is k, ends at |y| = push + k pitch; then the
    answer rises with slope 1 / bend to k + 1. What lies within rounding of a grid point becomes
    that point.
    """
    per_unit, per_bend = 1.0 / unit, 1.0 / bend
    # a whole quotient must not be cut to the number below it
    per_pitch = (1.0 + 2 * _ROUNDING) / pitch
    for i in range(y.size):
        size = abs(y[i]) * per_unit
        above = max(size - push, 0.0)
        k = np.floor(above * per_pitch)
        part = above - k * pitch
        part = part * per_bend if part > _ROUNDING * size else 0.0
        part = part if part < 1.0 - _ROUNDING * size else 1.0
        out[i] = np.copysign((k + part) * unit, y[i])


@inner
def least(
    pull: float, bend: float, weight: float, slopes: Any, growth: float, gamma: float
) -> float:
    """The x >= 0 that minimises bend x^2 / 2 - pull x + weight phi(x), phi as in ``Ramps``.

    Plateau k >= 1 (the answer is k gamma) begins at pull = bend k gamma + weight A_{k-1} and ends
    at bend k gamma + weight A_k; within rounding of it the answer is k gamma itself.
    """
    if pull <= weight * slopes[0]:
        return 0.0
    slack = 2 * _ROUNDING * pull
    top = len(slopes) - 1
    k = 0
    while k < top and pull + slack >= bend * (k + 1) * gamma + weight * slopes[k]:
        k += 1
    plateau, slope, end = k * gamma, slopes[k], np.inf
    if k < top:
        end = plateau + gamma
    elif growth > 0.0 and weight > 0.0:
        # plateaus beyond the table follow each other at one distance
        start = bend * (k + 1) * gamma + weight * slope
        more = np.floor((pull + slack - start) / (weight * growth + bend * gamma)) + 1.0
        if more > 0.0:
            slope += more * growth
            plateau = (k + more) * gamma
        end = plateau + gamma
    rise = pull - weight * slope - bend * plateau
    if rise <= slack:
        return plateau
    x = plateau + rise / bend
    return end if x >= end * (1.0 - _ROUNDING) else x


@compiled
def ramps(
    y: FloatArray,
    out: FloatArray,
    step: float,
    weight: FloatArray,
    ridge: FloatArray,
    slopes: FloatArray,
    growth: float,
    gamma: float,
) -> None:
    """The prox of step times any ``Ramps``, entry by entry; ``out`` may be ``y``."""
    by_weight = 0 if len(weight) == 1 else 1
    by_ridge = 0 if len(ridge) == 1 else 1
    for i in range(y.size):
        bend, push = 1.0 + step * ridge[i * by_ridge], step * weight[i * by_weight]
        out[i] = np.copysign(least(abs(y[i]), bend, push, slopes, growth, gamma), y[i])


@inner
def _filled(y: Any, out: Any, done: Any, dx: float, dy: float, size: Any) -> Any:
    """Write the level dy / dx of a final segment dx times from ``done`` on; return the next.

    A level within rounding of the one before is that one: plateaus that meet are fused. ``size[0]``
    is the size of the entries before; ``out`` may be ``y``.
    """
    level, largest = dy / dx, 0.0
    for k in range(int(dx)):
        largest = max(largest, abs(y[done + np.uint64(k)]))
    if done > 0 and abs(level - out[done - np.uint64(1)]) <= 4 * _ROUNDING * max(largest, size[0]):
        level = out[done - np.uint64(1)]
    size[0] = max(largest, 0.5 * size[0])  # what a segment was cut from still rounds it
    for _ in range(int(dx)):
        out[done] = level
        done += np.uint64(1)
    return done


@compiled
def taut_string(y: Any, width: Any, scale: float, out: Any, room: Any) -> None:
    """The shortest path through the tube S_k -+ scale width_k about the cumulative sums S of y.

    A funnel walks along the tube: from its apex the least concave majorant of the lower border
    and the greatest convex minorant of the upper one, each a chain of segments (dx, dy). Where
    the new end of one chain crosses the first segment of the other, that segment is final and
    its end is the new apex. Every segment is made once and removed once: O(n), where Condat's
    method is quadratic on a ramp. Segments hold differences, not sums from the start, so that
    rounding stays local.

    y, out (n,); width (n - 1,) or (1,) for one width everywhere; room (4, n) to work in.

    Davies & Kovac, "Local extremes, runs, strings and multiresolution" (2001); the weighted
    problem is that of Alaya's seminar on binarsity, whose Algorithm 1 is wrong as printed.
    """
    low_dx, low_dy, up_dx, up_dy = room[0], room[1], room[2], room[3]
    # unsigned: no test for indices that count from the end
    zero, one = np.uint64(0), np.uint64(1)
    stride = zero if len(width) == 1 else one
    last = len(y) - 1
    done = at = zero  # entries of out that are final; the entry at hand
    # [first, end) is the chain of segments still open, below and above
    low_first = low_end = up_first = up_end = zero
    before, size = 0.0, np.zeros(1)
    for k in range(last + 1):
        half = scale * width[at * stride] if k < last else 0.0
        value = y[at]
        at += one
        narrowing = before - half  # first: wide tubes would swamp the value
        # the lower border: slopes of its chain must fall
        dx = 1.0
        dy = value + narrowing
        while low_end > low_first and low_dy[low_end - one] * dx <= dy * low_dx[low_end - one]:
            low_end -= one
            dx += low_dx[low_end]
            dy += low_dy[low_end]
        if low_end == low_first:
            while up_end > up_first and dy * up_dx[up_first] > up_dy[up_first] * dx:
                done = _filled(y, out, done, up_dx[up_first], up_dy[up_first], size)
                dx -= up_dx[up_first]
                dy -= up_dy[up_first]
                up_first += one
            low_first = low_end = zero
        low_dx[low_end] = dx
        low_dy[low_end] = dy
        low_end += one
        # the upper border: slopes of its chain must rise
        dx = 1.0
        dy = value - narrowing
        while up_end > up_first and up_dy[up_end - one] * dx >= dy * up_dx[up_end - one]:
            up_end -= one
            dx += up_dx[up_end]
            dy += up_dy[up_end]
        if up_end == up_first:
            # the last lower segment ends below the new upper point: it is never crossed
            while low_end > low_first + one and dy * low_dx[low_first] < low_dy[low_first] * dx:
                done = _filled(y, out, done, low_dx[low_first], low_dy[low_first], size)
                dx -= low_dx[low_first]
                dy -= low_dy[low_first]
                low_first += one
            up_first = up_end = zero
        up_dx[up_end] = dx
        up_dy[up_end] = dy
        up_end += one
        before = half
        if half == 0.0:  # the tube is one point wide: both chains are the string
            while low_first < low_end:
                done = _filled(y, out, done, low_dx[low_first], low_dy[low_first], size)
                low_first += one
            low_first = low_end = up_first = up_end = zero
