"""Weighted ridge as one second-order cone."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp

from milpscore.core.conic import Cone, ConicProgram, RowLoss
from milpscore.formulations._conic import (
    Arguments,
    ConicData,
    conic_data,
    conic_program,
)
from milpscore.formulations._conic_weights import one_per_column
from milpscore.formulations.building import builder
from milpscore.penalties import WeightedL2


@builder
def weighted_l2(
    X: Any,
    y: Any = None,
    *,
    weights: Any,
    lam: float = 0.1,
    loss: str | RowLoss = "logistic",
    margin: float | None = None,
    intercept: bool = True,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicProgram:
    r"""Ridge with a weight for every column.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \tfrac{\lambda}{2} \sum_j (v_j w_j)^2

    with v the ``weights``, inside the square as in the source: a weight of 2 counts four times.
    The Parameter ``root_weights`` is the root of lam / 2 times v.

    Parameters
    ----------
    X, y, loss, margin, intercept, sample_weight, class_weight, positive :
        As in :func:`milpscore.formulations.eye`.
    weights : array of shape (p,)
        >= 0, one a design column; a weight of 0 frees its column.
    lam : float

    Returns
    -------
    ConicProgram
        ``program.set(lam=, weights=)`` changes both in place.

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 1 (weighted ridge).
    """
    data = conic_data(
        X,
        y,
        loss=loss,
        margin=margin,
        sample_weight=sample_weight,
        class_weight=class_weight,
        positive=positive,
    )
    arguments = {"lam": lam, "weights": weights}
    return conic_program("weighted_l2", data, _cone, arguments, intercept=intercept)


def _cone(w: Any, data: ConicData) -> Cone:
    roots = cp.Parameter(len(data.columns), nonneg=True, name="root_weights")

    def fill(arguments: Arguments) -> WeightedL2:
        penalty = WeightedL2(arguments["lam"], weights=arguments["weights"])
        one_per_column(penalty.weights, data)
        roots.value = math.sqrt(penalty.lam / 2) * penalty.weights
        return penalty

    return Cone(cp.sum_squares(cp.multiply(roots, w)), [], fill)
