"""The elastic net: the lasso and ridge in one second-order cone program."""

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
from milpscore.formulations.building import builder
from milpscore.penalties import ElasticNet


@builder
def elastic_net(
    X: Any,
    y: Any = None,
    *,
    lam: float = 0.1,
    l1_ratio: float,
    loss: str | RowLoss = "logistic",
    margin: float | None = None,
    intercept: bool = True,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicProgram:
    r"""A blend of the lasso and ridge.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \lambda \bigl( \rho \|w\|_1 + (1 - \rho) \tfrac12 \|w\|_2^2 \bigr)

    with rho the ``l1_ratio``. The data enter through the Parameters ``lam_l1`` and ``root_l2``,
    the root of lam (1 - rho) / 2, which stands inside the square.

    Parameters
    ----------
    X, y, loss, margin, intercept, sample_weight, class_weight, positive :
        As in :func:`milpscore.formulations.eye`.
    lam : float
    l1_ratio : float
        In [0, 1]: 1 is the lasso, 0 ridge.

    Returns
    -------
    ConicProgram
        ``program.set(lam=, l1_ratio=)`` changes both in place.

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 1, whose beta is
    ``l1_ratio``.
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
    arguments = {"lam": lam, "l1_ratio": l1_ratio}
    return conic_program("elastic_net", data, _cone, arguments, intercept=intercept)


def _cone(w: Any, data: ConicData) -> Cone:
    slope = cp.Parameter(nonneg=True, name="lam_l1")
    root = cp.Parameter(nonneg=True, name="root_l2")

    def fill(arguments: Arguments) -> ElasticNet:
        penalty = ElasticNet(arguments["lam"], l1_ratio=arguments["l1_ratio"])
        slope.value = penalty.lam * penalty.l1_ratio
        root.value = math.sqrt(penalty.lam * (1.0 - penalty.l1_ratio) / 2)
        return penalty

    return Cone(slope * cp.norm1(w) + cp.sum_squares(root * w), [], fill)
