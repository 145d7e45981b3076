"""Hinge loss with a margin over whole-number coefficients: the exact program of the roundings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyomo.environ as pyo

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, MergedRows
from milpscore.core.errors import FormulationError
from milpscore.core.program import Layout, Program
from milpscore.core.statement import InterceptKind, InterceptRule, Statement
from milpscore.formulations._constraints import (
    Constraints,
    PointVariables,
    add_constraints,
    bound_constraints,
    constrained,
)
from milpscore.formulations._terms import add_l1, add_terms, changeable, fill_sizes, fill_terms
from milpscore.formulations.building import (
    PerColumn,
    as_design,
    builder,
    check_margin,
    check_max_terms,
    check_non_negative,
    coefficient_bounds,
    intercept_range,
    linear,
    refuse_if_too_large,
    total_range,
)
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
    coef_min: PerColumn = -5,
    coef_max: PerColumn = 5,
    max_terms: int | None = None,
    l0_penalty: float = 0.0,
    l1_penalty: float = 0.0,
    intercept: Literal["zero", "integer", "real"] = "integer",
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
    X : array, DataFrame of shape (n, p), or Design
    y : array of shape (n,), two labels; None with a Design
    margin : float
        The papers' gamma, > 0.
    weights : {"binary", "ternary"}, optional
        {0, 1} or {-1, 0, 1} in place of [coef_min, coef_max].
    coef_min, coef_max : int, sequence of length p, or mapping from column name
    max_terms : int, optional
        Limit k on nonzero coefficients.
    l0_penalty, l1_penalty : float
        C_0 and C_1.
    intercept : {"integer", "zero", "real"}
        ``zero`` is the ternary paper's class.
    intercept_bounds : (float, float), optional
        Bounds on b; default: every intercept that can matter.
    constraints : sequence of :class:`milpscore.constraints.Constraint`
        What else the card must meet, say ``[Sign("Age", "+"), MaxFPR(0.2)]``.
    sample_weight, class_weight, positive :
        As in :func:`slim`.

    Returns
    -------
    Program
        ``relaxed()`` is the LP of convex rounding (with ``max_terms``, of sparse rounding).

    Raises
    ------
    DataError, FormulationError, SizeError

    Notes
    -----
    Reference: Chevaleyre, Koriche & Zucker, "Learning linear classifiers with ternary weights from
    metagenomic data" (2013), sec. 2: the loss l_gamma and the combinatorial problem it defines.
    """
    design = as_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    check_margin(margin)
    check_non_negative(l0_penalty=l0_penalty, l1_penalty=l1_penalty)
    if weights is not None:
        coef_min, coef_max = weight_range(weights)
    lower, upper = coefficient_bounds(design, coef_min, coef_max)
    limit = check_max_terms(max_terms, design.shape[1])
    rows = design.merged
    refuse_if_too_large("hinge", len(rows.y), design.shape[1])
    ranges = total_range(rows.X, lower, upper, limit)
    statement = Statement(
        formulation="hinge",
        design=design,
        loss=Hinge(margin),
        penalties=(L0(l0_penalty), L1(l1_penalty)),
        coef_min=lower,
        coef_max=upper,
        intercept=hinge_intercept(intercept, intercept_bounds, ranges, margin),
        max_terms=limit,
        constraints=bound_constraints(constraints, design),
    )
    model = _model(statement, rows, ranges)
    layout = constrained(Layout(read=read_points, fill=_fill), statement)
    return Program(statement, model, layout, parameters=changeable(statement))


def _model(
    statement: Statement, rows: MergedRows, ranges: tuple[FloatArray, FloatArray]
) -> pyo.ConcreteModel:
    """The algebra over the merged rows."""
    m = pyo.ConcreteModel(name="hinge")
    add_points(m, statement)
    add_terms(m, statement)
    add_l1(m, statement)
    add_hinge_rows(m, statement, rows, [m.w[j] for j in m.J], rows.X, ranges)
    add_constraints(m, statement, PointVariables([m.w[j] for j in m.J]))
    m.penalty = pyo.Expression(expr=m.l0_term + m.l1_term)
    m.objective = pyo.Objective(expr=m.loss + m.penalty, sense=pyo.minimize)
    return m


def add_points(m: Any, statement: Statement) -> None:
    """The columns ``m.J`` and their whole points ``m.w`` within the statement's ranges."""
    m.J = pyo.RangeSet(0, len(statement.coef_min) - 1)
    m.w = pyo.Var(
        m.J,
        domain=pyo.Integers,
        bounds=lambda m, j: (int(statement.coef_min[j]), int(statement.coef_max[j])),
    )


def weight_range(weights: str) -> tuple[int, int]:
    """Bounds of binary or ternary weights.

    Raises
    ------
    FormulationError
        For any other name.
    """
    if not isinstance(weights, str) or weights not in WEIGHTS:
        raise FormulationError(f"weights must be one of {sorted(WEIGHTS)}, got {weights!r}")
    return WEIGHTS[weights]


def hinge_intercept(
    kind: InterceptKind,
    bounds: Sequence[float] | None,
    ranges: tuple[FloatArray, FloatArray],
    margin: float,
) -> InterceptRule:
    """The allowed intercepts; by default every b that can be a minimiser.

    The loss is convex and piecewise linear in b with kinks at y_i margin - w.x_i, so a minimiser
    lies within margin plus the largest total.
    """
    if kind == "zero":
        return InterceptRule("zero", Fraction(0), Fraction(0), Fraction(1))
    if kind not in ("integer", "real"):
        raise FormulationError(f"intercept must be 'integer', 'zero' or 'real', got {kind!r}")
    smallest, largest = ranges
    lower = Fraction(math.floor(-margin - float(largest.max(initial=0.0))))
    upper = Fraction(math.ceil(margin - float(smallest.min(initial=0.0))))
    step = Fraction(1) if kind == "integer" else None
    lower, upper = intercept_range(bounds, lower, upper, step)
    return InterceptRule(kind, lower, upper, step)


def add_hinge_rows(
    m: Any,
    statement: Statement,
    rows: MergedRows,
    variables: Sequence[Any],
    X: FloatArray,
    ranges: tuple[FloatArray, FloatArray],
) -> None:
    """b, the slacks xi and the mean hinge loss of rows X over the given variables.

    Adds ``m.I``, ``m.b``, ``m.xi``, ``m.margin_rows`` and the expression ``m.loss``.
    """
    loss, rule = statement.loss, statement.intercept
    assert isinstance(loss, Hinge)
    gamma, y = float(loss.margin), rows.y
    smallest, largest = ranges
    # the largest slack: margin minus the worst score in the row's direction
    worst = np.where(y > 0, smallest + float(rule.lower), -largest - float(rule.upper))
    xi_max = np.maximum(gamma - worst, 0.0).tolist()
    signs = y.astype(np.float64)

    m.I = pyo.RangeSet(0, len(y) - 1)
    m.b = pyo.Var(
        domain=pyo.Reals if rule.step is None else pyo.Integers,
        bounds=(float(rule.lower), float(rule.upper)),
    )
    m.xi = pyo.Var(m.I, bounds=lambda m, i: (0.0, xi_max[i]))
    share = rows.weight / (float(rows.weight.sum()) * gamma)
    m.loss = pyo.Expression(expr=linear([m.xi[i] for i in m.I], share))
    sign = signs.tolist()

    @m.Constraint(m.I)
    def margin_rows(m: Any, i: int) -> Any:
        return linear(variables, X[i] * sign[i]) + sign[i] * m.b + m.xi[i] >= gamma


def fill_hinge_rows(m: Any, statement: Statement, card: Card, total: FloatArray) -> None:
    """b and the slacks, from the merged rows' totals of shape (m,)."""
    loss = statement.loss
    assert isinstance(loss, Hinge)
    b = float(card.intercept)
    m.b.set_value(b, skip_validation=True)
    slack = np.maximum(0.0, loss.margin - statement.design.merged.y * (total + b))
    for i, value in enumerate(slack.tolist()):
        m.xi[i].set_value(value, skip_validation=True)


def read_points(m: Any) -> tuple[FloatArray, float]:
    """Points and intercept from the model's values."""
    return np.array([m.w[j].value for j in m.J], dtype=np.float64), float(m.b.value)


def fill_points(m: Any, card: Card) -> None:
    """The points with what counts and measures them: alpha and the sizes, where there are any."""
    for j in m.J:
        m.w[j].set_value(int(card.coefficients[j]), skip_validation=True)
    fill_terms(m, card.coefficients)
    fill_sizes(m, card.coefficients)


def _fill(m: Any, statement: Statement, card: Card) -> None:
    """Every variable as the card implies it."""
    fill_points(m, card)
    fill_hinge_rows(m, statement, card, card.totals(statement.design.merged.X))
