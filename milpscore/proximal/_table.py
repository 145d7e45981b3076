"""Measures of the models on a path or grid, one row a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.metrics import integrity, magnitude
from milpscore.proximal._result import ProximalResult

INTEGRAL_TOLERANCE = 1e-6


def model_row(result: ProximalResult, unit: float) -> dict[str, Any]:
    """The measures of one model.

    Parameters
    ----------
    result : ProximalResult
    unit : float
        The grid's unit: a coefficient counts as integer where w / unit is.

    Returns
    -------
    dict
        ``null``: every coefficient is zero; ``integral``: none of them is off the grid, and not
        all are zero.
    """
    w = result.coefficients
    null = not w.any()
    share = integrity(w / unit, INTEGRAL_TOLERANCE)
    return {
        "terms": int(np.count_nonzero(w)),
        "integrity": share,
        "magnitude": magnitude(w),
        "loss": result.loss,
        "penalty": result.penalty,
        "objective": result.objective,
        "gap": result.gap,
        "null": null,
        "integral": share == 1.0 and not null,
        "iterations": result.iterations,
        "termination": str(result.termination),
        "seconds": result.seconds,
    }


def held_out(
    scores: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[list[float], list[float]]:
    """Accuracy and area under the curve of many models on rows they have not seen.

    Parameters
    ----------
    scores : ndarray of shape (n, m)
    y : ndarray of shape (n,), values -1 and +1
    weight : ndarray of shape (n,)
    """
    from milpscore.metrics import accuracy, auc

    positive = y > 0
    columns: Sequence[FloatArray] = list(scores.T)
    hits = [accuracy(positive, column >= 0, weight) for column in columns]
    areas = [
        auc(y, column, weight) if positive.any() and not positive.all() else np.nan
        for column in columns
    ]
    return hits, areas
