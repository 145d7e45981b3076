"""One multiplier for a budget on a sum of clipped entries."""

from __future__ import annotations

import numpy as np

from milpscore.core.design import FloatArray


def budget_multiplier(
    values: FloatArray, lower: FloatArray, upper: FloatArray, budget: float
) -> float:
    """The least tau >= 0 with sum_j clip(values_j - tau, lower_j, upper_j) <= budget.

    The sum falls piecewise linearly in tau: one sort of the breakpoints finds it exactly.

    Parameters
    ----------
    values, lower, upper : ndarrays of shape (p,)
        lower may be -inf, upper may be inf; lower <= upper.
    budget : float
        At least the sum of ``lower``.
    """
    if np.clip(values, lower, upper).sum() <= budget:
        return 0.0
    starts, stops = np.maximum(values - upper, 0.0), np.maximum(values - lower, 0.0)
    points = np.unique(np.concatenate([[0.0], starts[np.isfinite(starts)],
                                       stops[np.isfinite(stops)]]))  # fmt: skip
    low, high = 0, len(points)  # the sum at points[low] is above the budget
    while high - low > 1:
        middle = (low + high) // 2
        if np.clip(values - points[middle], lower, upper).sum() > budget:
            low = middle
        else:
            high = middle
    tau = float(points[low])
    end = float(points[high]) if high < len(points) else tau + 2.0
    middle_values = values - (tau + end) / 2  # off the breakpoints, where rounding cannot mislead
    moving = int(((middle_values > lower) & (middle_values < upper)).sum())
    excess = float(np.clip(values - tau, lower, upper).sum()) - budget
    exact = tau + excess / max(moving, 1)
    return min(exact, end) if high < len(points) else exact
