"""What every rounding needs: the allowed values around a weight, and the limit on terms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import FormulationError
from milpscore.core.statement import Statement

SNAP = 1e-9
"""A weight this close to an allowed value is that value: an LP solution carries such noise."""


def within_ranges(statement: Statement, w: npt.ArrayLike) -> FloatArray:
    """Real weights moved into the ranges of coefficients, those of constraints included.

    Parameters
    ----------
    statement : Statement
    w : array of shape (p,)

    Returns
    -------
    ndarray of shape (p,)

    Raises
    ------
    FormulationError
        For another shape, or weights that are not finite.
    """
    given = np.asarray(w, dtype=np.float64)
    p = statement.design.shape[1]
    if given.shape != (p,):
        raise FormulationError(
            f"rounding needs one weight per design column ({p}), got shape {given.shape}: pass "
            "the coefficients of the relaxed result of this very program"
        )
    if not np.isfinite(given).all():
        raise FormulationError("rounding needs finite weights: solve the relaxed program first")
    return np.clip(given, *statement.ranges)


def neighbours(statement: Statement, w: npt.ArrayLike) -> tuple[IntArray, IntArray, FloatArray]:
    """The allowed values next to each weight, and where between them it lies.

    Parameters
    ----------
    statement : Statement
    w : array of shape (p,)

    Returns
    -------
    low, high : ndarrays of int64, shape (p,)
        Largest allowed value <= w and smallest allowed value >= w.
    fraction : ndarray of shape (p,)
        (w - low) / (high - low), 0 where both are one value.
    """
    values = within_ranges(statement, w)
    whole = np.rint(values)
    values = np.where(np.abs(values - whole) <= SNAP, whole, values)
    low, high = np.floor(values), np.ceil(values)
    for j, allowed in statement.coef_sets.items():
        value = min(max(values[j], allowed[0]), allowed[-1])
        at = int(np.searchsorted(allowed, value))
        high[j] = allowed[at]
        low[j] = allowed[at] if allowed[at] == value else allowed[at - 1]
        values[j] = value
    width = high - low
    fraction = np.divide(values - low, width, out=np.zeros_like(values), where=width > 0)
    return low.astype(np.int64), high.astype(np.int64), fraction


def limit_terms(
    statement: Statement, points: IntArray, w: npt.ArrayLike
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Drop terms of the least absolute LP weight until the limit on terms holds.

    Parameters
    ----------
    statement : Statement
    points : ndarray of int64, shape (N, p)
        One vector of points a row.
    w : array of shape (p,)
        The LP weights. Of equal ones the later column is dropped first.

    Returns
    -------
    points : ndarray of int64, shape (N, p)
    feasible : ndarray of bool, shape (N,)
        False where more columns than allowed cannot be 0, or a constraint is broken.
    """
    limit = statement.max_terms
    if limit is None:
        return points, _constraints_met(statement, points)
    lower, upper = statement.ranges
    forced = (lower > 0) | (upper < 0)
    for j, allowed in statement.coef_sets.items():
        forced[j] = 0 not in allowed
    order = np.lexsort((-np.abs(np.asarray(w, dtype=np.float64)), ~forced))
    used = points[:, order] != 0
    kept = used & ((np.cumsum(used, axis=1) <= limit) | forced[order])
    limited = np.zeros_like(points)
    limited[:, order] = np.where(kept, points[:, order], 0)
    few = np.count_nonzero(limited, axis=1) <= limit
    return limited, few & _constraints_met(statement, limited)


def _constraints_met(statement: Statement, points: IntArray) -> npt.NDArray[np.bool_]:
    """Which vectors of points meet every constraint that needs no intercept; shape (N,)."""
    met = np.ones(len(points), dtype=bool)
    for constraint in statement.constraints:
        met &= constraint.allows(points)
    return met
