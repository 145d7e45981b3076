"""The compiled kernels of the penalties; imported where they are used."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.jit import compiled, inlined, inner

_ROUNDING = 4 * float(np.finfo(np.float64).eps)

# second looks per entry that total variation allows on average, and how many more at one time: a
# look takes a nanosecond, keeping a stack some five to ten per entry
_VISITS, _PATIENCE = 4, 1000

_SHARES = 1.0 / np.maximum(np.arange(1024.0), 1.0)  # 1 / m of small m: read sooner than divided


@compiled
def soft(
    y: FloatArray, out: FloatArray, step: float, weight: FloatArray, ridge: FloatArray
) -> None:
    """Write sign(y) (|y| - step weight)_+ / (1 + step ridge), by entry; ``out`` may be ``y``."""
    # ``weight`` and ``ridge`` have one entry for all or one for each: strides of 0 or 1, written so
    # that the compiler makes a loop of its own for each
    by_weight = 0 if len(weight) == 1 else 1
    by_ridge = 0 if len(ridge) == 1 else 1
    for i in range(y.size):
        value = y[i]
        threshold = step * weight[i * by_weight]
        # y less its clipped part needs no sign
        rest = value - min(max(value, -threshold), threshold)
        out[i] = rest / (1.0 + step * ridge[i * by_ridge])


@compiled
def grid(
    y: FloatArray, out: FloatArray, unit: float, push: float, pitch: float, bend: float
) -> None:
    """Write the prox of Facets and its strongly convex form, on a grid of step ``unit``."""
    # in units of the grid plateau k, where the answer is k, ends at |y| = push + k pitch; then the
    # answer rises with slope 1 / bend to k + 1; within rounding of a grid point it is that point
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
def least(pull: float, bend: float, weight: float, shape: Any) -> Any:
    """Return the x >= 0 that minimises bend x^2 / 2 - pull x + weight phi(x), phi of ``shape``."""
    # plateau k >= 1 (the answer is k gamma) begins at pull = bend k gamma + weight A_{k-1} and ends
    # at bend k gamma + weight A_k; within rounding of it the answer is k gamma itself
    slopes, growth, gamma = shape  # of a ``Ramps``
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
    y: FloatArray, out: FloatArray, step: float, weight: FloatArray, ridge: FloatArray, shape: Any
) -> None:
    """Write the prox of step times any ``Ramps``, entry by entry; ``out`` may be ``y``."""
    by_weight = 0 if len(weight) == 1 else 1
    by_ridge = 0 if len(ridge) == 1 else 1
    for i in range(y.size):
        bend, push = 1.0 + step * ridge[i * by_ridge], step * weight[i * by_weight]
        out[i] = np.copysign(least(abs(y[i]), bend, push, shape), y[i])


@compiled
def pooled(values: Any, keys: Any) -> Any:
    """Return the nearest vectors to ``values`` that do not increase, one per run of ``keys``."""
    # pool adjacent violators; neighbours within a run that are equal in the answer are one block
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
def total_variation(y: Any, width: Any, scale: float, near: float, out: Any, room: Any) -> None:
    """Write argmin over x of ||y - x||^2 / 2 + scale sum_k width_k |x_{k+1} - x_k| into ``out``."""
    # y, out (n,), two arrays; width (n - 1,) or (1,) for one width everywhere; levels further apart
    # than ``near`` are two; room (2, n) to work in.
    #
    # A segment begins behind a jump, where the dual u_k, the sum of y - x up to k, stands at one
    # side of the tube |u_k| <= h_k = scale width_k. With one level v for m entries u_k is their sum
    # and the first u less m v: v lies between ``low``, the largest (sum - h_k) / m so far, and
    # ``high``, the least (sum + h_k) / m. Where a quotient crosses the other limit, the segment
    # ends at the entry that gave this limit, and has it as its level.
    #
    # Entries behind the end of a segment are looked at again. After a turn that happens once: the
    # limit on the other side was last met where the turn was seen. Only segments that jump the same
    # way look at the same entries over and over (quadratic on a ramp): ``_climb`` goes on to the
    # next turn after more than ``_VISITS`` such looks per entry, and ``_PATIENCE`` more.
    #
    # Condat, "A direct algorithm for 1-D total variation denoising" (2013), here with weights.

    # unsigned: no test for indices that count from the end
    zero, one, last = np.uint64(0), np.uint64(1), np.uint64(len(y) - 1)
    stride = zero if len(width) == 1 else one
    done = zero
    u, before = 0.0, np.nan  # the dual variable and the level of the entry before
    again: Any = 0  # looks at entries for another time, beyond those allowed
    while done <= last:
        # 1) Entries alone: their tube and the next one's leave the next entry no common level.
        total = u + y[done]
        half = scale * width[done * stride] if done < last else 0.0
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
        # 2) The longest segment with one level.
        level, end, at, side = _segment(y, width, scale, done, total, half)
        spread = abs(u)
        u = side * scale * width[(end - one) * stride] if side != 0.0 else 0.0
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
        # 3) Where entries are looked at over and over, one pass to the next turn.
        if again > _PATIENCE and done < last and width[done * stride] != 0.0:
            done, before, u, again = _climb(y, width, scale, near, out, room, done, before, u)


@inlined
def _segment(y: Any, width: Any, scale: float, done: Any, total: float, half: float) -> Any:
    """Return the segment from ``done`` on: level, end, last entry seen, side (0: none)."""
    # No quotient waits for the one before, and the processor has no branch to guess but the
    # crossing: with running corrections in their place it takes three times as long.
    one, last = np.uint64(1), np.uint64(len(y) - 1)
    stride = np.uint64(0) if len(width) == 1 else one
    at = at_low = at_high = done
    low, high = total - half, total + half
    while half != 0.0:  # else the tube is one point wide: a segment ends here
        at += one
        size = at - done + one
        share = _SHARES[size] if size < np.uint64(_SHARES.size) else 1.0 / np.float64(size)
        total += y[at]
        half = scale * width[at * stride] if at < last else 0.0
        least, most = (total - half) * share, (total + half) * share
        falls = most < low
        if falls | (least > high):
            return (low, at_low + one, at, 1.0) if falls else (high, at_high + one, at, -1.0)
        rises = least >= low
        low = least if rises else low
        at_low = at if rises else at_low
        sinks = most <= high
        high = most if sinks else high
        at_high = at if sinks else at_high
    return low, at + one, at, 0.0


@inner
def _joined(y: Any, begin: Any, end: Any, level: float, before: float, spread: float) -> float:
    """Return the level of ``y[begin:end]``, or the one before it if only rounding parts the two."""
    size = spread / np.float64(end - begin)  # ``spread``: of what else their sum was made
    for k in range(begin, end):
        size = max(size, abs(y[k]))
    return before if abs(level - before) <= 4 * _ROUNDING * size else level


@inner
def _climb(
    y: Any, width: Any, scale: float, near: float, out: Any, room: Any, done: Any, before: float,
    u: float,
) -> Any:  # fmt: skip
    """Continue ``total_variation`` to where the string turns, looking at each entry once."""
    # The string S - u (S the cumulative sum of y) is taut in the tube S -+ h. It climbs, or falls
    # and y is taken with its other sign, along the upper border from one corner of that border's
    # greatest convex minorant to the next: a stack of segments (dx, dy), the last one not on it. Of
    # the lower border the steepest slope from the string's last corner is enough. Where the border
    # comes to lie above the first segment, that segment is final, and all points of the border
    # before lie below it: the new slope is that to the point at hand. Where one segment is left and
    # lies below the slope, the string turns; what is not final is left to the caller, as it is
    # where the tube ends or is one point wide, and where long segments and few looks would serve it
    # better. Segments hold differences, not sums from the start, so that rounding stays local.
    #
    # Davies & Kovac, "Local extremes, runs, strings and multiresolution" (2001), here with half the
    # stacks.
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
        # 1) The next entry.
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
            first, top = _to_front(chain_dx, chain_dy, first, top)
        # 2) It joins the last segment or begins one; neighbours that are not convex become one.
        top, dx, dy = _push(chain_dx, chain_dy, first, top, dx, dy, growth)
        # 3) Segments that the lower border has passed are final.
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
        # 4) A steeper lower border, or the turn.
        elif lower * low_dx >= low_dy * size:
            low_dx, low_dy = size, lower
        elif top == first and dy * low_dx < low_dy * dx:
            break
        if half == 0.0 or again < 0:
            break
    return done, before, -sign * scale * width[(done - one) * stride], max(again, 0)


@inlined
def _push(
    chain_dx: Any, chain_dy: Any, first: Any, top: Any, dx: float, dy: float, growth: float
) -> Any:
    """Add an entry behind the last segment (dx, dy) and restore convexity; return top, dx, dy."""
    # no branch, and the two conditions, which are one, keep the compiler from a longer way through
    # its registers
    chain_dx[top], chain_dy[top] = dx, dy
    joins = growth * dx <= dy
    not_above = not (growth * dx > dy)
    dx = dx + 1.0 if joins else 1.0
    dy = dy + growth if not_above else growth
    while top > first and dy * chain_dx[top - np.uint64(1)] <= chain_dy[top - np.uint64(1)] * dx:
        top -= np.uint64(1)
        dx += chain_dx[top]
        dy += chain_dy[top]
    return (top + np.uint64(1) if dx == 1.0 else top), dx, dy


@inner
def _to_front(chain_dx: Any, chain_dy: Any, first: Any, top: Any) -> Any:
    """Move the stack [first, top) to the front; return its new ends."""
    k = np.uint64(0)
    while first < top:
        chain_dx[k], chain_dy[k] = chain_dx[first], chain_dy[first]
        first += np.uint64(1)
        k += np.uint64(1)
    return np.uint64(0), k
