"""The weighted lasso as a linear program's rows."""

from __future__ import annotations

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
from milpscore.penalties import WeightedL1


@builder
def weighted_l1(
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
    r"""The lasso with a weight for every column.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b) + \lambda \sum_j v_j |w_j|

    with v the ``weights``; lam v is one Parameter, ``lam_weights``.

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
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 1 (weighted LASSO).
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
    return conic_program("weighted_l1", data, _cone, arguments, intercept=intercept)


def _cone(w: Any, data: ConicData) -> Cone:
    slopes = cp.Parameter(len(data.columns), nonneg=True, name="lam_weights")

    def fill(arguments: Arguments) -> WeightedL1:
        penalty = WeightedL1(arguments["lam"], weights=arguments["weights"])
        one_per_column(penalty.weights, data)
        slopes.value = penalty.lam * penalty.weights
        return penalty

    return Cone(slopes @ cp.abs(w), [], fill)
