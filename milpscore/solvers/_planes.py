"""Before the mixed-integer rounds: cutting planes, and supports grown term by term."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.solvers._master import Master
from milpscore.solvers._master_rows import TOLERANCE


def anchor(master: Master) -> None:
    """Set the master's anchor, the continuous optimum within the ranges, and its first tangents."""
    constant = np.zeros(len(master.low))
    constant[-1] = float(master.session.program.statement.empty_card().intercept)
    start = np.clip(constant, master.low, master.high)
    master.anchor = master.loss.minimiser(master.low, master.high, start)
    level = master.loss.value(start)
    master.ceiling = level if math.isfinite(level) else math.inf
    for share in (1.0, 0.5, 0.0):
        master.add(master.anchor + (1.0 - share) * (start - master.anchor), "support")


def cutting_planes(
    master: Master, tolerance: float, most: int, remaining: Callable[[], float]
) -> tuple[FloatArray | None, float, float]:
    """Cutting planes on the linear relaxation.

    Tangents are taken halfway between the LP's point and the best point so far, which is
    feasible too: that is steadier than at the LP's point itself.

    Parameters
    ----------
    master : Master
    tolerance : float
        Distance of the best point from the LP's value at which to stop.
    most : int
        Most tangents.
    remaining : () -> seconds

    Returns
    -------
    (vector or None, float, float)
        The best point, its true objective, and the LP's value.
    """
    center: FloatArray | None = None
    best, value = math.inf, -math.inf
    for _ in range(most):
        x, scaled = master.relax(remaining())
        if x is None or not len(x):
            break
        value = (scaled - TOLERANCE) * master.level
        center = x if center is None else center
        for trial in (x, 0.5 * (x + center)):
            objective = master.objective(trial, master.point(trial))
            if objective < best:
                center, best = trial, objective
        if best - value <= tolerance:
            break
        middle = master.point(0.5 * (x + center))
        if not master.add(middle, "path", above=x) and not master.add(
            master.point(x), "path", above=x
        ):
            break
    return center, best, value


def with_true_heights(master: Master, x: FloatArray | None) -> FloatArray | None:
    """A vector with every curve's variable at its curve's true value."""
    if x is None:
        return None
    full, v = x.copy(), master.point(x)
    for curve, top in zip(master.curves, master.top, strict=True):
        if top >= 0:
            full[top] = curve.value(v)
    return full if np.isfinite(full).all() else None


def greedy_support(master: Master, limit: int | None) -> list[int]:
    """A support grown by the term that promises most, the loss re-fitted each time."""
    chosen: list[int] = []
    v = np.clip(np.zeros(len(master.low)), master.low, master.high)
    for _ in range(len(v) - 1 if limit is None else limit):
        v = master.loss.minimiser(*ranges_of(master, tuple(chosen)), v)
        _, gradient, hessian = master.loss.expansion(v)
        bend = np.maximum(np.diag(hessian)[:-1], 1e-12)
        gain = np.square(gradient[:-1]) / bend
        gain[chosen] = -1.0
        if not np.isfinite(gain).all() or gain.max(initial=-1.0) <= 0:
            break
        chosen.append(int(gain.argmax()))
    return chosen


def ranges_of(master: Master, support: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """The present ranges, everything outside the support held at 0 where 0 is allowed."""
    low, high = master.low.copy(), master.high.copy()
    outside = np.ones(len(low), dtype=bool)
    outside[[*support, len(low) - 1]] = False
    low[outside] = np.clip(0.0, low[outside], high[outside])
    high[outside] = low[outside]
    return low, high
