"""Convex rounding: the hinge-loss LP over the hull of binary or ternary weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from milpscore.core.program import Program
from milpscore.formulations._constraints import Constraints
from milpscore.formulations._doubled import rounding_program
from milpscore.formulations.building import builder


@builder
def convex_rounding(
    X: Any,
    y: Any = None,
    *,
    margin: float = 1.0,
    weights: Literal["binary", "ternary"] = "ternary",
    intercept: Literal["zero", "integer", "real"] = "integer",
    intercept_bounds: Sequence[float] | None = None,
    constraints: Constraints = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Program:
    r"""The LP whose solution is rounded to binary or ternary weights.

    .. math::

        \min_{c \in [0,1]^d,\, b}\ \tfrac{1}{S\gamma} \sum_i s_i
        \max(0,\ \gamma - y_i (c \cdot x'_i + b))

    with :math:`x' = (x_1, -x_1, \dots, x_p, -x_p)` and :math:`w_j = c_{2j-1} - c_{2j}` for ternary
    weights, :math:`x' = x` for binary ones.

    Parameters
    ----------
    X : array, DataFrame of shape (n, p), or Design
    y : array of shape (n,), two labels; None with a Design
    margin : float
        The paper's gamma, > 0. At a vertex no more weights are fractional than rows lie exactly
        at the margin; large ones leave few such rows, without falling step by step.
    weights : {"ternary", "binary"}
    intercept : {"integer", "zero", "real"}
        The intercept of the rounded card; in the LP it is real within its bounds.
    intercept_bounds : (float, float), optional
    constraints : sequence of :class:`milpscore.constraints.Constraint`
        What else the card must meet, say ``[Sign("Age", "+"), MaxFPR(0.2)]``.
    sample_weight, class_weight, positive :
        As in :func:`slim`.

    Returns
    -------
    Program
        Relaxed; ``exact()`` is the program over {0,1}^d.

    Raises
    ------
    DataError, FormulationError, SizeError

    Notes
    -----
    Reference: Chevaleyre, Koriche & Zucker (2013), Figure 1 step (1) and sec. 3.1. Proposition 1
    bounds the expectation over the rounding: E L(c) <= L(c*) + X_1/(2 gamma) on the mean loss (the
    print has a factor n on the sum); its proof gives the tighter X_2, the largest Euclidean norm of
    a doubled row.
    """
    return rounding_program(
        "convex_rounding",
        X,
        y,
        margin=margin,
        weights=weights,
        max_terms=None,
        intercept=intercept,
        intercept_bounds=intercept_bounds,
        constraints=constraints,
        sample_weight=sample_weight,
        class_weight=class_weight,
        positive=positive,
    )
