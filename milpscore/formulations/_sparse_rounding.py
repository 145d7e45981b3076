"""Sparse convex rounding: convex rounding over the hull of weights with at most k terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from milpscore.core.errors import FormulationError
from milpscore.core.program import Program
from milpscore.formulations._constraints import Constraints
from milpscore.formulations._doubled import rounding_program
from milpscore.formulations.building import builder


@builder
def sparse_rounding(
    X: Any,
    y: Any = None,
    *,
    max_terms: int | None = None,
    margin: float = 1.0,
    weights: Literal["binary", "ternary"] = "ternary",
    intercept: Literal["zero", "integer", "real"] = "integer",
    intercept_bounds: Sequence[float] | None = None,
    constraints: Constraints = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Program:
    r"""Convex rounding over the hull of weights with at most k terms.

    .. math::

        \min_{c \in [0,1]^d,\, b}\ & \tfrac{1}{S\gamma} \sum_i s_i
        \max(0,\ \gamma - y_i (c \cdot x'_i + b)) \\
        & \textstyle\sum_l c_l \le k

    with x' and the weights w as in :func:`convex_rounding`.

    Parameters
    ----------
    X : array, DataFrame of shape (n, p), or Design
    y : array of shape (n,), two labels; None with a Design
    max_terms : int
        The paper's k.
    margin, weights, intercept, intercept_bounds, constraints :
        As in :func:`convex_rounding`.
    sample_weight, class_weight, positive :
        As in :func:`slim`.

    Returns
    -------
    Program
        Relaxed; ``exact()`` is the k-sparse program over {0,1}^d.

    Raises
    ------
    DataError, FormulationError, SizeError

    Notes
    -----
    Reference: Chevaleyre, Koriche & Zucker (2013), sec. 3.2. Erratum: Proposition 2 holds as
    E ||c||_1 <= k, with equality only where the constraint binds; a single draw can exceed k.
    """
    if max_terms is None:
        raise FormulationError(
            "sparse_rounding needs max_terms=k; without a limit use convex_rounding"
        )
    return rounding_program(
        "sparse_rounding",
        X,
        y,
        margin=margin,
        weights=weights,
        max_terms=max_terms,
        intercept=intercept,
        intercept_bounds=intercept_bounds,
        constraints=constraints,
        sample_weight=sample_weight,
        class_weight=class_weight,
        positive=positive,
    )
