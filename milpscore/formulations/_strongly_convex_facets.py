"""Strongly convex Facets: the rows of Facets and one second-order cone."""

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
from milpscore.formulations._facets import FIRST_LEVELS, larger, ramp_rows, slope_of
from milpscore.formulations.building import builder
from milpscore.penalties import StronglyConvexFacets


@builder
def strongly_convex_facets(
    X: Any,
    y: Any = None,
    *,
    lam: float = 0.1,
    eps: float = 0.01,
    gamma: float = 1.0,
    loss: str | RowLoss = "logistic",
    margin: float | None = None,
    intercept: bool = True,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicProgram:
    r"""Facets with some ridge blended in, so that the minimiser is unique.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \tfrac{\lambda}{\gamma} \sum_j \Bigl( (1 - \epsilon) \sum_{i=0}^{K-1} s_{ij}
            + \epsilon s_{0j} \Bigr) + \tfrac{\lambda \epsilon}{2 \gamma^2} \|w\|_2^2 \\
        & s_{0j} \ge |w_j|, \qquad s_{ij} \ge s_{0j} - i \gamma, \qquad s_{ij} \ge 0

    which is :math:`\lambda \sum_j f(w_j / \gamma)` with f = (1 - eps) Facets + eps (\|w\| +
    w^2 / 2), as long as no :math:`|w_j|` exceeds :math:`K \gamma`; K grows as in
    :func:`milpscore.formulations.facets`.

    Parameters
    ----------
    X, y, loss, margin, intercept, sample_weight, class_weight, positive :
        As in :func:`milpscore.formulations.eye`.
    lam : float
    eps : float
        In (0, 1]; 0 would be Facets.
    gamma : float
        The unit of the coefficient grid, > 0.

    Returns
    -------
    ConicProgram
        ``program.set(lam=, eps=, gamma=)`` changes all three in place.

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    Reference: Belahcene, Sokolovska, Chevaleyre & Zucker (2020), eqs 13, 14 and 16.
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
    arguments = {"lam": lam, "eps": eps, "gamma": gamma}
    return conic_program("strongly_convex_facets", data, _cone, arguments, intercept=intercept)


def _cone(w: Any, data: ConicData) -> Cone:
    steep = cp.Parameter(nonneg=True, name="lam_ramps")
    flat = cp.Parameter(nonneg=True, name="lam_eps")
    root = cp.Parameter(nonneg=True, name="root_eps")
    gamma = cp.Parameter(pos=True, name="gamma")

    def fill(arguments: Arguments) -> StronglyConvexFacets:
        penalty = StronglyConvexFacets(
            arguments["lam"], eps=arguments["eps"], gamma=arguments["gamma"]
        )
        slope = slope_of(penalty.lam, penalty.gamma)
        steep.value, flat.value = (1.0 - penalty.eps) * slope, penalty.eps * slope
        root.value = math.sqrt(penalty.lam * penalty.eps / 2) / penalty.gamma
        gamma.value = penalty.gamma
        return penalty

    def cone(levels: int) -> Cone:
        ramps, constraints = ramp_rows(w, gamma, levels)
        return Cone(
            steep * cp.sum(ramps) + flat * cp.sum(ramps[0]) + cp.sum_squares(root * w),
            constraints,
            fill,
            outgrown=lambda at, arguments: larger(at, arguments["gamma"], levels, cone),
            growth=f"the grid was extended to {levels} units of gamma",
        )

    return cone(FIRST_LEVELS)
