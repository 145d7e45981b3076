"""The prox of weighted total variation by the taut string, in O(n) whatever the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.jit import has_numba

# Widths beyond this many times the data would swamp them in rounding: there, the bound is worth
# its extra pass.
_WIDE = 1e4


def tv_prox(y: FloatArray, width: FloatArray, out: FloatArray, scale: float = 1.0) -> FloatArray:
    """argmin over x of ||y - x||^2 / 2 + scale * sum_k width_k |x_{k+1} - x_k|.

    Parameters
    ----------
    y : ndarray of shape (n,)
    width : ndarray of shape (n - 1,), or (1,) for one width everywhere
        At least 0; a zero parts the vector into independent chains, infinity joins two entries.
    out : ndarray of shape (n,)
        May be ``y``.
    scale : float
        At least 0.

    Returns
    -------
    ndarray
        ``out``.
    """
    n = y.size
    width, scale = _held(y, width, scale)
    stride = 0 if len(width) == 1 else 1
    if has_numba():
        from milpscore.penalties import _kernels

        # one memory layout, so that one compiled form serves
        solid = out if out.flags.c_contiguous else np.empty(n)
        y, width = np.ascontiguousarray(y), np.ascontiguousarray(width)
        index = np.uint64(stride), scale, np.uint64(0), np.uint64(1)
        _kernels.taut_string(y, width, *index, solid, *np.empty((4, n)))
        if solid is not out:
            out[:] = solid
    else:  # lists: a scalar of an array is a new object at every access
        answer, *room = ([0.0] * n for _ in range(5))
        taut_string(y.tolist(), width.tolist(), stride, scale, 0, 1, answer, *room)
        out[:] = answer
    return out


def _held(y: FloatArray, width: FloatArray, scale: float) -> tuple[FloatArray, float]:
    """The widths held to a value beyond which none of them binds.

    The dual variable, cumsum(y - x), never leaves the range of cumsum(y - mean(y)): where the
    string touches one side of the tube it is bent, so it lies beyond the chord between its last
    and next touches of the other side.
    """
    if y.size == 0:
        return width, scale
    largest = max(float(y.max()), -float(y.min()))
    if scale * float(width.max(initial=0.0)) <= _WIDE * max(largest, 1e-300):
        return width, scale
    path = np.cumsum(y - y.mean())
    reach = max(float(path.max()), 0.0) - min(float(path.min()), 0.0)
    return np.minimum(scale * width, reach + 1e-300), 1.0


def taut_string(  # noqa: PLR0915 one loop: a helper would have to pass every head and tail
    y: Any,
    width: Any,
    stride: Any,
    scale: float,
    zero: Any,
    one: Any,
    out: Any,
    low_dx: Any,
    low_dy: Any,
    up_dx: Any,
    up_dy: Any,
) -> None:
    """The shortest path through the tube S_k -+ scale width_k about the cumulative sums S of y.

    A funnel walks along the tube: from its apex the least concave majorant of the lower border
    and the greatest convex minorant of the upper one, each a chain of segments (dx, dy). Where
    the new end of one chain crosses the first segment of the other, that segment is final and
    its end is the new apex. Every segment is made once and removed once: O(n), where Condat's
    method is quadratic on a ramp. Segments hold differences, not sums from the start, so that
    rounding stays local.

    Parameters
    ----------
    y, out : sequences of length n
    width : sequence
        That of jump k stands at k * stride: a stride of 0 is one width for all.
    stride : int
    scale : float
    zero, one : int
        0 and 1 in the type of an index: an unsigned one spares compiled code the test for
        indices that count from the end.
    low_dx, low_dy, up_dx, up_dy : sequences of length n
        Room to work in. Arrays for the compiled form, lists for the plain one.

    References
    ----------
    Davies & Kovac, "Local extremes, runs, strings and multiresolution" (2001); the weighted
    problem is that of Alaya's seminar on binarsity, whose Algorithm 1 is wrong as printed.
    """
    last = len(y) - 1
    done = at = zero  # entries of out that are final; the entry at hand
    low_first = low_end = up_first = up_end = zero
    before = 0.0
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
                level = up_dy[up_first] / up_dx[up_first]
                for _ in range(int(up_dx[up_first])):
                    out[done] = level
                    done += one
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
                level = low_dy[low_first] / low_dx[low_first]
                for _ in range(int(low_dx[low_first])):
                    out[done] = level
                    done += one
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
                level = low_dy[low_first] / low_dx[low_first]
                for _ in range(int(low_dx[low_first])):
                    out[done] = level
                    done += one
                low_first += one
            low_first = low_end = up_first = up_end = zero
