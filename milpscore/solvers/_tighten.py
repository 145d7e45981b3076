"""Ranges tightened from the incumbent: what a better card's coefficients can still be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from milpscore.solvers._master import Master

_SLACK = 1e-5
"""Kept between an LP's value and the range taken from it, relative."""

_TANGENTS = (3, 20)
"""Most tangents taken to find one end of one range: at first, and where that moved enough."""

_WORTH = 0.25
"""Ends moved by a point at which a closer look is worth its LPs."""

_FRUITLESS = 24
"""Ends looked at in vain after which the rest is left alone: the gap is too wide yet."""


def tighten(master: Master, cutoff: float, remaining: Callable[[], float]) -> int | None:
    """Shrink the range of every point to what the tangents allow at a cost below the cutoff.

    Each end is an LP over the level set of the cutoff, whose tangents are taken where the LP's
    answer leaves that set.

    Parameters
    ----------
    master : Master
    cutoff : float
        Only points that cost at most this are of interest.
    remaining : () -> seconds

    Returns
    -------
    int or None
        Ends moved; None where nothing costs so little.

    Raises
    ------
    TimeIsUpError
    """
    master.cut_off(cutoff)
    moved = 0
    try:
        for most in _TANGENTS:
            points = np.flatnonzero((master.where >= 0) & (master.low < master.high)).tolist()
            now = 0
            for looked, (j, sign) in enumerate(itertools.product(points, (1.0, -1.0))):
                if looked >= _FRUITLESS and not now:
                    return moved
                change = _end(master, j, sign, cutoff, most, remaining)
                if change is None:
                    return None
                now += change
            moved += now
            if now < _WORTH * len(points):
                break
    finally:
        master.direct()
    return moved


def _end(
    master: Master,
    j: int,
    sign: float,
    cutoff: float,
    most: int,
    remaining: Callable[[], float],
) -> int | None:
    """Move one end (1.0 the lower, -1.0 the upper) of one range; None where nothing is left."""
    column, first, moved = int(master.where[j]), len(master.cuts), 0
    master.direct(column, sign)
    for _ in range(most):
        x, value = master.relax(remaining())
        if x is None:
            return None
        if not len(x):
            break
        moved |= _move(master, j, sign, sign * value)
        if master.low[j] > master.high[j]:
            return None
        v = master.point(x)
        if master.objective(x, v) <= cutoff + 1e-3 * abs(cutoff):
            break
        if not master.add(v, "path", above=x):
            break
    else:
        master.relax(remaining())
    master.forget(0.0, first)
    return moved


def _move(master: Master, j: int, sign: float, end: float) -> int:
    """Take an LP's end of the range, whole where the point is."""
    column = int(master.where[j])
    slack = _SLACK * (1.0 + abs(end))
    if master.session.integral[column]:
        end = math.ceil(end - slack) if sign > 0 else math.floor(end + slack)
    else:
        end -= sign * slack
    low, high = master.low[j], master.high[j]
    if sign > 0 and end > low:
        master.narrow(j, float(end), high)
    elif sign < 0 and end < high:
        master.narrow(j, low, float(end))
    else:
        return 0
    return 1
