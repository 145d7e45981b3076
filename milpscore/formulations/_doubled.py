"""The hull of binary weights on doubled features, shared by convex and sparse rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from milpscore.core.algebra import relax_integrality
from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.program import Layout, Program
from milpscore.core.statement import Statement
from milpscore.formulations._constraints import (
    Constraints,
    PointVariables,
    add_constraints,
    bound_constraints,
    constrained,
)
from milpscore.formulations._hinge import (
    add_hinge_rows,
    fill_hinge_rows,
    hinge_intercept,
    weight_range,
)
from milpscore.formulations.building import (
    as_design,
    check_margin,
    check_max_terms,
    linear,
    refuse_if_too_large,
    total_range,
)
from milpscore.losses import Hinge


def rounding_program(
    name: str,
    X: Any,
    y: Any,
    *,
    margin: float,
    weights: str,
    max_terms: int | None,
    intercept: str,
    intercept_bounds: Sequence[float] | None,
    constraints: Constraints,
    sample_weight: Any,
    class_weight: Any,
    positive: Any,
) -> Program:
    """The LP over the convex hull, as a relaxed Program whose ``exact()`` is the 0-1 program.

    Parameters
    ----------
    name : str
        The formulation's name; the other parameters are those of :func:`convex_rounding`.
    """
    design = as_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    check_margin(margin)
    low, high = weight_range(weights)
    p = design.shape[1]
    limit = check_max_terms(max_terms, p)
    rows = design.merged
    refuse_if_too_large(name, len(rows.y), p * (2 if weights == "ternary" else 1))
    lower, upper = np.full(p, low, dtype=np.int64), np.full(p, high, dtype=np.int64)
    ranges = total_range(rows.X, lower, upper, limit)
    statement = Statement(
        formulation=name,
        design=design,
        loss=Hinge(margin),
        penalties=(),
        coef_min=lower,
        coef_max=upper,
        intercept=hinge_intercept(intercept, intercept_bounds, ranges, margin),  # type: ignore[arg-type]
        max_terms=limit,
        constraints=bound_constraints(constraints, design),
    )
    signs = np.array([1.0, -1.0]) if weights == "ternary" else np.array([1.0])
    model = _model(statement, signs, ranges)
    layout = Layout(
        read=lambda m: _read(m, signs), fill=lambda m, s, card: _fill(m, s, card, signs)
    )
    relax_integrality(model)
    return Program(statement, model, constrained(layout, statement), kind="relaxed")


def _model(
    statement: Statement, signs: FloatArray, ranges: tuple[FloatArray, FloatArray]
) -> pyo.ConcreteModel:
    """c in {0,1}^d with x' = (x_1, -x_1, ..., x_p, -x_p) where weights are ternary."""
    m = pyo.ConcreteModel(name=statement.formulation)
    rows = statement.design.merged
    doubled = np.repeat(rows.X, len(signs), axis=1) * np.tile(signs, rows.X.shape[1])
    m.D = pyo.RangeSet(0, doubled.shape[1] - 1)
    m.c = pyo.Var(m.D, domain=pyo.Binary)
    add_hinge_rows(m, statement, rows, [m.c[d] for d in m.D], doubled, ranges)
    if statement.max_terms is not None:
        m.at_most_k_terms = pyo.Constraint(
            expr=linear([m.c[d] for d in m.D], np.ones(len(m.D))) <= statement.max_terms
        )
    add_constraints(m, statement, PointVariables([m.c[d] for d in m.D], signs))
    m.penalty = pyo.Expression(expr=0.0)
    m.objective = pyo.Objective(expr=m.loss + m.penalty, sense=pyo.minimize)
    return m


def _read(m: Any, signs: FloatArray) -> tuple[FloatArray, float]:
    """w_j = c'_{2j-1} - c'_{2j}, and b."""
    c = np.array([m.c[d].value for d in m.D], dtype=np.float64)
    return c.reshape(-1, len(signs)) @ signs, float(m.b.value)


def _fill(m: Any, statement: Statement, card: Card, signs: FloatArray) -> None:
    """Every variable as the card implies it: c' = 1 on the side of w's sign."""
    c = (card.coefficients[:, None] * signs[None, :] > 0).ravel()
    for d, value in enumerate(c.tolist()):
        m.c[d].set_value(int(value), skip_validation=True)
    fill_hinge_rows(m, statement, card, card.totals(statement.design.merged.X))
