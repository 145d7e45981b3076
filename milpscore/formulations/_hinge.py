"""Hinge loss with a margin over whole-number coefficients: the exact program of the roundings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from milpscore.constraints import apply_constraints
from milpscore.core.design import FloatArray
from milpscore.core.errors import FormulationError
from milpscore.core.program import Program
from milpscore.core.statement import InterceptRule, Statement
from milpscore.formulations._constraint_rows import Constraints
from milpscore.formulations.building import (
    LEAST,
    MOST,
    IntegerKind,
    PerColumn,
    allowed,
    as_design,
    builder,
    check_non_negative,
    check_positive,
    intercept_rule,
    refuse_if_too_large,
)
from milpscore.formulations.model import CardModel
from milpscore.losses import Hinge
from milpscore.penalties import L0, L1

WEIGHTS: Mapping[str, tuple[int, int]] = {"binary": (0, 1), "ternary": (-1, 1)}


@builder
def hinge(
    X: Any,
    y: Any = None,
    *,
    margin: float = 1.0,
    weights: Literal["binary", "ternary"] | None = None,
    coef_min: PerColumn = LEAST,
    coef_max: PerColumn = MOST,
    max_terms: int | None = None,
    l0_penalty: float = 0.0,
    l1_penalty: float = 0.0,
    intercept: IntegerKind = "integer",
    intercept_bounds: Sequence[float] | None = None,
    constraints: Constraints = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Program:
    r"""The exact integer score under the hinge loss.

    .. math::

        \min\ & \tfrac{1}{S\gamma} \sum_i s_i \xi_i + C_0 \sum_j \alpha_j + C_1 \sum_j |w_j| \\
        & \xi_i \ge \gamma - y_i (w \cdot x_i + b), \quad \xi_i \ge 0 \\
        & l_j \alpha_j \le w_j \le u_j \alpha_j, \quad \sum_j \alpha_j \le k \\
        & w_j \in \mathbb Z

    with :math:`\gamma` the ``margin``. Only w (and an integer b) is integer: the slacks follow.

    Parameters
    ----------
    weights : {"binary", "ternary"}, optional
        {0, 1} or {-1, 0, 1} in place of [coef_min, coef_max].
    intercept : {"integer", "zero", "real"}
        ``zero`` is the ternary paper's class.

    Returns
    -------
    Program
        ``relaxed()`` is the LP of convex rounding (with ``max_terms``, of sparse rounding).

    Notes
    -----
    Reference: Chevaleyre, Koriche & Zucker, "Learning linear classifiers with ternary weights from
    metagenomic data" (2013), sec. 2: the loss l_gamma and the combinatorial problem it defines.
    """
    design = as_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    check_positive(margin=margin)
    check_non_negative(l0_penalty=l0_penalty, l1_penalty=l1_penalty)
    if weights is not None:
        coef_min, coef_max = weight_range(weights)
    ranges = allowed(design, coef_min, coef_max, max_terms=max_terms)
    refuse_if_too_large("hinge", len(design.merged.y), design.shape[1])
    totals = ranges.totals(design.merged.X)
    statement = Statement(
        formulation="hinge",
        design=design,
        loss=Hinge(margin),
        penalties=(L0(l0_penalty), L1(l1_penalty)),
        intercept=hinge_intercept(intercept, intercept_bounds, totals, margin),
        constraints=apply_constraints(constraints, design),
        **vars(ranges),
    )
    model = CardModel(statement)
    model.add_points()
    penalty = model.add_terms() + model.add_l1()
    model.add_hinge_loss(totals)
    return model.program(penalty)


def weight_range(weights: str) -> tuple[int, int]:
    """The range of binary or ternary weights; FormulationError for any other name."""
    if not isinstance(weights, str) or weights not in WEIGHTS:
        raise FormulationError(f"weights must be one of {sorted(WEIGHTS)}, got {weights!r}")
    return WEIGHTS[weights]


def hinge_intercept(
    kind: IntegerKind,
    bounds: Sequence[float] | None,
    totals: tuple[FloatArray, FloatArray],
    margin: float,
) -> InterceptRule:
    """The allowed intercepts; by default every b that can be a minimiser.

    The loss is convex and piecewise linear in b with kinks at y_i margin - w.x_i, so a minimiser
    lies within margin plus the largest total.
    """
    smallest, largest = (float(totals[0].min(initial=0.0)), float(totals[1].max(initial=0.0)))
    return intercept_rule(kind, bounds, -margin - largest, margin - smallest)
