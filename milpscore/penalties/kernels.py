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

_VISITS = 8
"""Looks at an entry that total variation allows on average; the taut string costs some ten."""


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


@compiled
def pooled(values: Any, keys: Any) -> Any:
    """The nearest vectors to ``values`` that do not increase, one for each run of equal ``keys``.

    Pool adjacent violators; neighbours within a run that are equal in the answer are one block.
    """
    n = len(values)
    out, level, count = np.empty(n), np.empty(n), np.empty(n, np.int64)
    begin = 0
    while begin < n:
        end, top = begin, 0  # top blocks of this run so far
        while end < n and keys[end] == keys[begin]:
            mean, size = values[end], 1
            while top > 0 and level[top - 1] <= mean:
                top -= 1
                mean += (level[top] - mean) * (count[top] / (count[top] + size))
                size += count[top]
            level[top], count[top] = mean, size
            top += 1
            end += 1
        for block in range(top):
            out[begin : begin + count[block]] = level[block]
            begin += count[block]
    return out


@compiled
def total_variation(  # noqa: PLR0915 - one loop; its state would be ten arguments
    y: Any, width: Any, scale: float, near: float, out: Any, room: Any
) -> None:
    """argmin over x of ||y - x||^2 / 2 + scale sum_k width_k |x_{k+1} - x_k|; ``out`` may be ``y``.

    A segment begins behind a jump, where the dual u_k, the sum of y - x up to k, stands at one side
    of the tube |u_k| <= h_k = scale width_k. With one level v for m entries u_k is their sum and
    the first u less m v: v lies between ``low``, the largest (sum - h_k) / m so far, and ``high``,
    the least (sum + h_k) / m. Where a quotient crosses the other limit, the segment ends at the
    entry that gave this limit, and has it as its level. No quotient waits for the one before, and
    the processor has no branch to guess but the crossing: with running corrections in their place
    it takes three times as long.

    Entries behind the end of a segment are looked at again, which is quadratic on a ramp: beyond
    ``_VISITS`` looks for each final entry the taut string does the rest.

    y, out (n,); width (n - 1,) or (1,) for one width everywhere; levels further apart than ``near``
    are no doubt two; room (4, n) to work in.

    Condat, "A direct algorithm for 1-D total variation denoising" (2013), here with weights.
    """
    # unsigned: no test for indices that count from the end
    zero, one, last = np.uint64(0), np.uint64(1), np.uint64(len(y) - 1)
    stride = zero if len(width) == 1 else one
    done = visits = zero
    u, before = 0.0, np.nan  # the dual variable and the level of the entry before
    while done <= last:
        total = u + y[done]
        half = scale * width[done * stride] if done < last else 0.0
        # one entry alone: its tube and the next one's leave the next entry no common level
        while done < last:
            after = scale * width[(done + one) * stride] if done + one < last else 0.0
            fall = total - y[done + one]
            if not abs(fall) > after + 2.0 * half:
                break
            spread = abs(u) + half
            u = np.copysign(half, fall)
            before = _joined(y, done, done + one, total - u, before, spread, near)
            total = u + y[done + one]
            out[done] = before
            done += one
            half = after
        at = at_low = at_high = done
        low, high, size = total - half, total + half, 1.0
        crossed = falls = False
        while half != 0.0:  # else the tube is one point wide: a segment ends here
            at += one
            size += 1.0
            total += y[at]
            half = scale * width[at * stride] if at < last else 0.0
            share = 1.0 / size
            least, most = (total - half) * share, (total + half) * share
            falls = most < low
            crossed = falls | (least > high)
            if crossed:
                break
            rises = least >= low
            low = least if rises else low
            at_low = at if rises else at_low
            sinks = most <= high
            high = most if sinks else high
            at_high = at if sinks else at_high
        visits += at - done
        spread, level, end = abs(u), low, at
        u = 0.0
        if crossed:
            level = low if falls else high
            end = at_low if falls else at_high
            half = scale * width[end * stride]
            u = half if falls else -half
        spread = (spread + abs(u)) / np.float64(end - done + one)
        before = _joined(y, done, end + one, level, before, spread, near)
        while done <= end:
            out[done] = before
            done += one
        if visits > np.uint64(_VISITS) * (done + np.uint64(_VISITS)):
            _taut_string(y, width, scale, out, room, done, u)
            return


@inner
def _joined(
    y: Any, begin: Any, end: Any, level: float, before: float, spread: float, near: float
) -> float:
    """The level of ``y[begin:end]``, or that before it where rounding alone parts the two.

    ``spread`` is the size of what else the level was made of than these entries.
    """
    if not abs(level - before) <= near:
        return level
    for k in range(begin, end):
        spread = max(spread, abs(y[k]))
    return before if abs(level - before) <= 4 * _ROUNDING * spread else level


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


@inner
def _taut_string(
    y: Any, width: Any, scale: float, out: Any, room: Any, done: Any, carried: float
) -> None:
    """The shortest path through the tube S_k -+ scale width_k about the cumulative sums S of y.

    It starts at the entry ``done``, with a dual variable of ``carried`` before it.

    A funnel walks along the tube: from its apex the least concave majorant of the lower border
    and the greatest convex minorant of the upper one, each a chain of segments (dx, dy). Where
    the new end of one chain crosses the first segment of the other, that segment is final and
    its end is the new apex. Every segment is made once and removed once: O(n), where Condat's
    method is quadratic on a ramp. Segments hold differences, not sums from the start, so that
    rounding stays local.

    Davies & Kovac, "Local extremes, runs, strings and multiresolution" (2001); the weighted
    problem is that of Alaya's seminar on binarsity, whose Algorithm 1 is wrong as printed.
    """
    low_dx, low_dy, up_dx, up_dy = room[0], room[1], room[2], room[3]
    # unsigned: no test for indices that count from the end
    zero, one = np.uint64(0), np.uint64(1)
    stride = zero if len(width) == 1 else one
    last = len(y) - 1
    at = done  # entries of out that are final; the entry at hand
    # [first, end) is the chain of segments still open, below and above
    low_first = low_end = up_first = up_end = zero
    before, size = 0.0, np.zeros(1)
    for k in range(np.int64(done), last + 1):
        half = scale * width[at * stride] if k < last else 0.0
        value, carried = y[at] + carried, 0.0
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
