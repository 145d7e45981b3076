"""Real weights of no particular unit, scaled into the coefficient range and rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import FormulationError, OptionError
from milpscore.core.statement import Statement, best_losses
from milpscore.rounding._allowed import limit_terms
from milpscore.rounding._nearest import nearest_points
from milpscore.rounding._outcome import RoundedCard, completed, read_only

_TRIALS = 4_000_000


@dataclass(frozen=True, eq=False)
class ScaledRounding(RoundedCard):
    """Real weights times the best of many scales, rounded to the nearest allowed values.

    ``trace[k]`` is the objective at ``scales[k]`` with the best allowed intercept, infinite where
    the statement does not allow the points.

    Attributes
    ----------
    weights : ndarray of float64, shape (p,), read-only
        The real weights.
    intercept : float
        Their intercept, which the card does not use: its own is the best one for its points.
    scales : ndarray of float64, read-only
        Rising.
    scale : float
        The one used; NaN where the weights are all 0 and there is nothing to scale.
    """

    weights: FloatArray
    intercept: float
    scales: FloatArray
    scale: float


def scaled_rounding(
    statement: Statement,
    w: npt.ArrayLike,
    *,
    intercept: float = float("nan"),
    n_scales: int = 200,
    method: str = "scaled",
    random_state: Any = None,
) -> ScaledRounding:
    """Multiply by the scale whose nearest rounding has the least objective.

    The scales run evenly from where the largest weight becomes 1/2 (below it every weight rounds to
    0) to where the first weight meets the end of its range.

    Parameters
    ----------
    statement : Statement
    w : array of shape (p,)
        Real weights; only their direction matters.
    intercept : float
        Kept beside the weights, for the record.
    n_scales : int
        At least 1; with 1 the largest scale alone.
    method : str
        What the result is called.
    random_state : int, optional
        The seed the weights came from, for the record.

    Returns
    -------
    ScaledRounding
        Of equal objectives the smallest scale is taken. Too many terms are dropped by least weight;
        scales that break a constraint are passed over where another one keeps to all.

    Raises
    ------
    OptionError
        Where ``n_scales`` is no whole number >= 1.
    FormulationError
        For weights of another shape, or not finite.
    """
    if isinstance(n_scales, bool) or not hasattr(n_scales, "__index__") or n_scales < 1:
        raise OptionError(f"n_scales must be a whole number >= 1, got {n_scales!r}")
    weights = np.asarray(w, dtype=np.float64)
    if weights.shape != (statement.design.shape[1],) or not np.isfinite(weights).all():
        raise FormulationError(
            f"rounding needs {statement.design.shape[1]} finite weights, one per design column, "
            f"got shape {weights.shape}"
        )
    scales = _scales(statement, weights, int(n_scales))
    tried = scales if len(scales) else np.zeros(1)
    rounded = np.stack([nearest_points(statement, s * weights) for s in tried.tolist()])
    limited, feasible = limit_terms(statement, rounded, weights)
    objectives = np.where(feasible, _objectives(statement, limited), np.inf)
    k = int(np.argmin(objectives))
    return ScaledRounding(
        method=method,
        **completed(statement, rounded[k], weights, objectives, random_state),
        weights=read_only(weights),
        intercept=float(intercept),
        scales=read_only(tried if len(scales) else []),
        scale=float(scales[k]) if len(scales) else float("nan"),
    )


def _scales(statement: Statement, weights: FloatArray, n_scales: int) -> FloatArray:
    """Rising scales, none where no scale gives a weight room."""
    lower, upper = statement.ranges
    ends = np.where(weights > 0, upper, np.where(weights < 0, -lower, 0)).astype(np.float64)
    free = (weights != 0) & (ends > 0)
    if not free.any():
        return np.empty(0)
    most = float((ends[free] / np.abs(weights[free])).min())
    least = min(0.5 / float(np.abs(weights[free]).max()), most)
    return np.linspace(most, least, n_scales)[::-1]


def _objectives(statement: Statement, points: IntArray) -> FloatArray:
    """Objective of each vector of points with its best allowed intercept, shape (V,)."""
    distinct, inverse = np.unique(points, axis=0, return_inverse=True)
    X = statement.design.merged.X
    chunk = max(1, _TRIALS // max(len(X), 1))
    parts = [
        best_losses(statement, X @ part.T.astype(np.float64), part)
        for part in np.split(distinct, range(chunk, len(distinct), chunk))
    ]
    penalties = np.array([statement.penalty(row) for row in distinct], dtype=np.float64)
    found: FloatArray = (np.concatenate(parts) + penalties)[inverse.ravel()]
    return found
