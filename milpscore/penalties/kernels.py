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

_VISITS, _PATIENCE = 4, 1000
"""Second looks at an entry that total variation allows on average, and how many more at one time.

A look takes a nanosecond, and keeping a stack some five to ten an entry.
"""

_SHARES = 1.0 / np.maximum(np.arange(1024.0), 1.0)
"""1 / m of small m: read sooner than divided."""


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
    """argmin over x of ||y - x||^2 / 2 + scale sum_k width_k |x_{k+1} - x_k|; ``out`` is not ``y``.

    A segment begins behind a jump, where the dual u_k, the sum of y - x up to k, stands at one side
    of the tube |u_k| <= h_k = scale width_k. With one level v for m entries u_k is their sum and
    the first u less m v: v lies between ``low``, the largest (sum - h_k) / m so far, and ``high``,
    the least (sum + h_k) / m. Where a quotient crosses the other limit, the segment ends at the
    entry that gave this limit, and has it as its level. No quotient waits for the one before, and
    the processor has no branch to guess but the crossing: with running corrections in their place
    it takes three times as long.

    Entries behind the end of a segment are looked at again. After a turn that happens once: the
    limit on the other side was last met where the turn was seen. Only segments that jump the same
    way look at the same entries over and over (quadratic on a ramp); where such looks have come to
    more than ``_VISITS`` an entry, and ``_PATIENCE`` more, ``_climb`` goes on to the next turn.

    y, out (n,); width (n - 1,) or (1,) for one width everywhere; levels further apart than ``near``
    are no doubt two; room (2, n) to work in.

    Condat, "A direct algorithm for 1-D total variation denoising" (2013), here with weights.
    """
    # unsigned: no test for indices that count from the end
    zero, one, last = np.uint64(0), np.uint64(1), np.uint64(len(y) - 1)
    stride = zero if len(width) == 1 else one
    done = zero
    u, before = 0.0, np.nan  # the dual variable and the level of the entry before
    again: Any = 0  # looks at entries for another time, beyond those allowed
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
            level = total - u
            if abs(level - before) <= near:
                level = _joined(y, done, done + one, level, before, spread)
            total = u + y[done + one]
            out[done] = before = level
            done += one
            half = after
        at = at_low = at_high = done
        low, high = total - half, total + half
        crossed = falls = False
        while half != 0.0:  # else the tube is one point wide: a segment ends here
            at += one
            size = at - done + one
            share = _SHARES[size] if size < np.uint64(_SHARES.size) else 1.0 / np.float64(size)
            total += y[at]
            half = scale * width[at * stride] if at < last else 0.0
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
        spread, level, end = abs(u), low, at + one
        u = 0.0
        if crossed:
            level = low if falls else high
            end = (at_low if falls else at_high) + one
            half = scale * width[(end - one) * stride]
            u = half if falls else -half
        if abs(level - before) <= near:
            level = _joined(y, done, end, level, before, spread + abs(u))
        before = level
        again = max(again + np.int64(at - end) - _VISITS * np.int64(end - done), 0)
        # most segments are short: eight entries at once, whose number nobody has to guess
        if done + np.uint64(8) <= last:
            for k in range(8):
                out[done + np.uint64(k)] = level
            done += np.uint64(8)
        while done < end:
            out[done] = level
            done += one
        done = end
        if again > _PATIENCE and done < last and width[done * stride] != 0.0:
            done, before, u, again = _climb(y, width, scale, near, out, room, done, before, u)


@inner
def _joined(y: Any, begin: Any, end: Any, level: float, before: float, spread: float) -> float:
    """The level of ``y[begin:end]``, or that before it where rounding alone parts the two.

    ``spread`` is the size of what else their sum was made of.
    """
    size = spread / np.float64(end - begin)
    for k in range(begin, end):
        size = max(size, abs(y[k]))
    return before if abs(level - before) <= 4 * _ROUNDING * size else level


@inner
def _climb(  # noqa: PLR0915 - one loop; its state would be twenty arguments
    y: Any,
    width: Any,
    scale: float,
    near: float,
    out: Any,
    room: Any,
    done: Any,
    before: float,
    u: float,
) -> Any:
    """``total_variation`` from ``done`` on to where the string turns, each entry looked at once.

    The string S - u (S the cumulative sum of y) is taut in the tube S -+ h. It climbs, or falls
    and y is taken with its other sign, along the upper border from one corner of that border's
    greatest convex minorant to the next: a stack of segments (dx, dy), the last one not on it. Of
    the lower border the steepest slope from the string's last corner is enough. Where the border
    comes to lie above the first segment, that segment is final, and all points of the border before
    lie below it: the new slope is that to the point at hand. Where one segment is left and lies
    below the slope, the string turns; what is not final is left to the caller, as it is where the
    tube ends or is one point wide, and where long segments and few looks would serve it better.

    Segments hold differences, not sums from the start, so that rounding stays local. Davies &
    Kovac, "Local extremes, runs, strings and multiresolution" (2001), here with half the stacks.
    """
    zero, one, last = np.uint64(0), np.uint64(1), np.uint64(len(y) - 1)
    stride = zero if len(width) == 1 else one
    sign = -1.0 if u > 0.0 else 1.0
    chain_dx, chain_dy = room[0], room[1]
    first = top = zero  # [first, top) is on the stack
    limit = np.uint64(256)  # where it moves back to the front: it stays in the fastest memory
    at = done
    half = scale * width[at * stride]
    total = sign * (u + y[at])  # of the entries from done on, and the dual variable before
    dx, dy, size = 1.0, total + half, 1.0
    low_dx, low_dy = 1.0, total - half
    again: Any = _PATIENCE
    while True:
        at += one
        value = sign * y[at]
        growth = value - half
        half = scale * width[at * stride] if at < last else 0.0
        growth += half
        total += value
        size += 1.0
        lower = total - half
        if top == limit:
            limit += limit if np.uint64(2) * first < top else zero
            k = zero
            while first < top:
                chain_dx[k], chain_dy[k] = chain_dx[first], chain_dy[first]
                first += one
                k += one
            first, top = zero, k
        # the entry joins the last segment or begins one: no branch, and the two conditions, which
        # are one, keep the compiler from a longer way through its registers
        chain_dx[top], chain_dy[top] = dx, dy
        joins = growth * dx <= dy
        not_above = not (growth * dx > dy)
        dx = dx + 1.0 if joins else 1.0
        dy = dy + growth if not_above else growth
        while top > first and dy * chain_dx[top - one] <= chain_dy[top - one] * dx:
            top -= one
            dx += chain_dx[top]
            dy += chain_dy[top]
        top = top + one if dx == 1.0 else top
        if top > first and lower * chain_dx[first] > chain_dy[first] * size:
            while top > first and lower * chain_dx[first] > chain_dy[first] * size:
                level = sign * (chain_dy[first] / chain_dx[first])
                end = done + np.uint64(chain_dx[first])
                if abs(level - before) <= near:
                    level = _joined(y, done, end, level, before, 2.0 * half)
                before = level
                again += np.int64(at - end) - _VISITS * np.int64(end - done)
                out[done] = level
                done += one
                while done < end:
                    out[done] = level
                    done += one
                total -= chain_dy[first]
                size -= chain_dx[first]
                lower = total - half
                first += one
            low_dx, low_dy = size, lower
            if again < 0:
                break
        elif lower * low_dx >= low_dy * size:
            low_dx, low_dy = size, lower
        elif top == first and dy * low_dx < low_dy * dx:
            break
        if half == 0.0:
            break
    return done, before, -sign * scale * width[(done - one) * stride], max(again, 0)
