"""Convex and sparse rounding: the hinge-loss LP over the hull of binary weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyomo.environ as pyo

from milpscore.constraints import apply_constraints
from milpscore.core.card import Card
from milpscore.core.design import Design, IntArray
from milpscore.core.errors import FormulationError
from milpscore.core.program import Program, relax_integrality
from milpscore.core.statement import Statement
from milpscore.formulations._constraint_rows import Constraints
from milpscore.formulations._hinge import hinge_intercept, weight_range
from milpscore.formulations.building import (
    IntegerKind,
    allowed,
    as_design,
    builder,
    check_positive,
    linear,
    refuse_if_too_large,
)
from milpscore.formulations.model import CardModel
from milpscore.losses import Hinge

Weights = Literal["ternary", "binary"]


@builder
def convex_rounding(
    X: Any,
    y: Any = None,
    *,
    margin: float = 1.0,
    weights: Weights = "ternary",
    intercept: IntegerKind = "integer",
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
    margin : float
        The paper's gamma, > 0. At a vertex no more weights are fractional than rows lie exactly
        at the margin; large ones leave few such rows, without falling step by step.
    weights : {"ternary", "binary"}
    intercept : {"integer", "zero", "real"}
        The intercept of the rounded card; in the LP it is real within its bounds.

    Returns
    -------
    Program
        Relaxed; ``exact()`` is the program over {0,1}^d.

    Notes
    -----
    Reference: Chevaleyre, Koriche & Zucker (2013), Figure 1 step (1) and sec. 3.1. Proposition 1
    bounds the expectation over the rounding: E L(c) <= L(c*) + X_1/(2 gamma) on the mean loss (the
    print has a factor n on the sum); its proof gives the tighter X_2, the largest Euclidean norm of
    a doubled row.
    """
    design = as_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    options = (margin, weights, intercept, intercept_bounds, constraints)
    return _hull("convex_rounding", design, None, *options)


@builder
def sparse_rounding(
    X: Any,
    y: Any = None,
    *,
    max_terms: int | None = None,
    margin: float = 1.0,
    weights: Weights = "ternary",
    intercept: IntegerKind = "integer",
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
    max_terms : int
        The paper's k.
    weights : {"ternary", "binary"}
    intercept : {"integer", "zero", "real"}
        The intercept of the rounded card; in the LP it is real within its bounds.

    Returns
    -------
    Program
        Relaxed; ``exact()`` is the k-sparse program over {0,1}^d.

    Notes
    -----
    Reference: Chevaleyre, Koriche & Zucker (2013), sec. 3.2. Erratum: Proposition 2 holds as
    E ||c||_1 <= k, with equality only where the constraint binds; a single draw can exceed k.
    """
    if max_terms is None:
        raise FormulationError(
            "sparse_rounding needs max_terms=k; without a limit use convex_rounding"
        )
    design = as_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    options = (margin, weights, intercept, intercept_bounds, constraints)
    return _hull("sparse_rounding", design, max_terms, *options)


def _hull(
    name: str,
    design: Design,
    max_terms: int | None,
    margin: float,
    weights: Weights,
    intercept: IntegerKind,
    intercept_bounds: Sequence[float] | None,
    constraints: Constraints,
) -> Program:
    """The LP over the convex hull, as a relaxed Program whose ``exact()`` is the 0-1 program."""
    check_positive(margin=margin)
    low, high = weight_range(weights)
    ranges = allowed(design, low, high, max_terms=max_terms)
    signs = (1.0, -1.0) if weights == "ternary" else (1.0,)
    rows = design.merged
    refuse_if_too_large(name, len(rows.y), design.shape[1] * len(signs))
    totals = ranges.totals(rows.X)
    statement = Statement(
        formulation=name,
        design=design,
        loss=Hinge(margin),
        penalties=(),
        intercept=hinge_intercept(intercept, intercept_bounds, totals, margin),
        constraints=apply_constraints(constraints, design),
        **vars(ranges),
    )
    model = CardModel(statement)
    m = model.m

    def sides(card: Card) -> IntArray:
        # c' = 1 on the side of w's sign
        return np.asarray(card.coefficients[:, None] * np.array(signs) > 0, dtype=np.int64).ravel()

    m.D = pyo.RangeSet(0, design.shape[1] * len(signs) - 1)
    c = model.variable("c", sides, m.D, domain=pyo.Binary)
    model.hold_points("c", [c[d] for d in m.D], signs)
    model.add_hinge_loss(totals)
    if statement.max_terms is not None:
        used = linear([c[d] for d in m.D], np.ones(len(m.D)))
        m.at_most_k_terms = pyo.Constraint(expr=used <= statement.max_terms)
    program = model.program(0.0, kind="relaxed")
    relax_integrality(m)
    return program
