"""Risk scores: integer points under a smooth convex loss, the master of its outer approximation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyomo.environ as pyo

from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray
from milpscore.core.errors import FormulationError
from milpscore.core.program import Layout, Program
from milpscore.core.statement import InterceptRule, Statement
from milpscore.core.terms import ProxPenalty, SmoothLoss
from milpscore.formulations._constraints import (
    Constraints,
    PointVariables,
    add_constraints,
    bound_constraints,
    constrained,
    limits_errors,
    reach_every_cut,
)
from milpscore.formulations._hinge import add_points, fill_points, read_points
from milpscore.formulations._terms import add_sizes, add_terms, changeable, reach
from milpscore.formulations.building import (
    PerColumn,
    as_design,
    builder,
    check_max_terms,
    check_non_negative,
    check_positive,
    coefficient_bounds,
    coefficient_sets,
    intercept_range,
    refuse_if_too_large,
    total_range,
)
from milpscore.losses import RiskLoss, smooth_loss
from milpscore.penalties import EYE, L0, L1, L2
from milpscore.penalties.cards import IntegerFacets, PointPenalty

PENALTIES = ("none", "l1", "l2", "facets", "eye")


@builder
def risk_score(
    X: Any,
    y: Any = None,
    *,
    loss: str | SmoothLoss = "logistic",
    scale: float = 1.0,
    coef_min: PerColumn = -5,
    coef_max: PerColumn = 5,
    coef_sets: Mapping[str, Sequence[int]] | None = None,
    max_terms: int | None = None,
    l0_penalty: float = 1e-6,
    penalty: Literal["none", "l1", "l2", "facets", "eye"] = "none",
    lam: float = 0.0,
    expert: Any = None,
    intercept: Literal["zero", "integer", "real"] = "integer",
    intercept_bounds: Sequence[float] | None = None,
    constraints: Constraints = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Program:
    r"""The integer score of least smooth loss, for risks rather than decisions.

    .. math::

        \min\ & \eta + C_0 \sum_j \alpha_j + \lambda\,\Omega(w) \\
        & \eta \ge f(w^t, b^t) + \nabla f(w^t, b^t) \cdot (w - w^t,\ b - b^t) & t = 1, 2, \ldots \\
        & l_j \alpha_j \le w_j \le u_j \alpha_j, \quad \sum_j \alpha_j \le k \\
        & f(w, b) = \tfrac1S \sum_i s_i\, \ell((w \cdot x_i + b)/\sigma, y_i), \quad
        w_j \in \mathbb Z

    The loss f is convex: every tangent lies below it, and the program with the tangents found so
    far is a mixed-integer linear one whose optimum bounds the true one from below. The solver
    ``outer_approximation`` adds tangents until the bound meets the best card; ``tree`` needs
    none. Under another solver the bound speaks of the tangents there are.

    Parameters
    ----------
    X : array, DataFrame of shape (n, p), or Design
    y : array of shape (n,), two labels; None with a Design
    loss : str or SmoothLoss
        "logistic", "squared" or "squared_hinge" of the classes -1/+1; "poisson" of 0/1.
    scale : float
        Points in one unit of the score, > 0; fixed: what is proved is proved for this scale.
    coef_min, coef_max, coef_sets, max_terms, l0_penalty :
        As in :func:`slim`.
    penalty : {"none", "l1", "l2", "facets", "eye"}
        Omega: the sum of sizes, half the sum of squares, Facets' integer form (w^2 + \|w\|) / 2,
        or EYE of the ``expert``'s features.
    lam : float
        Its weight.
    expert : names, mapping or array
        As in :func:`eye`; for ``penalty="eye"`` only.
    intercept : {"integer", "real", "zero"}
    intercept_bounds : (float, float), optional
        Bounds on b; default: every intercept that can be a minimiser.
    constraints : sequence of :class:`milpscore.constraints.Constraint`
        What else the card must meet, say ``[Sign("Age", "+"), MaxFPR(0.2)]``.
    sample_weight, class_weight, positive :
        As in :func:`slim`.

    Returns
    -------
    Program

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    Without integrality ``penalty="l2"`` charges the chords of w^2/2 between whole points, which is
    more than ridge does and a better bound. The model has no tangents of the loss until a solver
    adds them, so ``size`` lacks the intercept before.

    Reference: Ustun & Rudin, "Learning optimized risk scores", JMLR 20 (2019), whose program this
    is for logistic loss, scale 1 and an L0 penalty.
    """
    design = as_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    check_non_negative(l0_penalty=l0_penalty, lam=lam)
    check_positive(scale=scale)
    lower, upper = coefficient_bounds(design, coef_min, coef_max)
    sets = coefficient_sets(design, coef_sets or {})
    for j, values in sets.items():
        lower[j], upper[j] = values[0], values[-1]
    limit = check_max_terms(max_terms, design.shape[1])
    # no row of the data is one of the program's: only the points and their curves are
    chords = int(np.maximum(np.abs(lower), np.abs(upper)).sum())
    curved = 2 * chords if penalty in ("l2", "facets") else 0
    refuse_if_too_large("risk_score", 0, design.shape[1], 8 * design.shape[1] + curved)
    risk = RiskLoss(smooth_loss(loss), float(scale))
    if risk.base.task == "multinomial":
        raise FormulationError("a risk score tells two classes apart: choose another loss")
    ranges = total_range(design.merged.X, lower, upper, limit)
    statement = Statement(
        formulation="risk_score",
        design=design,
        loss=risk,  # type: ignore[arg-type]
        penalties=(L0(l0_penalty), *_penalty(design, penalty, lam, expert)),
        coef_min=lower,
        coef_max=upper,
        coef_sets=sets,
        intercept=_intercept_rule(design, risk, intercept, intercept_bounds, ranges),
        max_terms=limit,
        arguments={"loss": risk.name, "scale": scale, "penalty": penalty, "lam": lam},
        constraints=bound_constraints(constraints, design),
    )
    if limits_errors(statement):
        rule = reach_every_cut(statement.intercept, ranges, intercept_bounds)
        statement = replace(statement, intercept=rule)
    layout = constrained(Layout(read=read_points, fill=_fill), statement)
    return Program(statement, _model(statement), layout, parameters=changeable(statement))


def _penalty(design: Design, kind: str, lam: float, expert: Any) -> tuple[Any, ...]:
    """Omega with its weight; nothing for "none"."""
    if kind not in PENALTIES:
        raise FormulationError(f"penalty must be one of {', '.join(PENALTIES)}, got {kind!r}")
    if (kind == "eye") != (expert is not None):
        raise FormulationError("expert belongs to penalty='eye', which needs it")
    if kind == "none":
        if lam:
            raise FormulationError(f"lam={lam!r} needs a penalty: {', '.join(PENALTIES[1:])}")
        return ()
    if kind == "facets":
        return (IntegerFacets(lam),)
    if kind == "eye":
        from milpscore.data.columns import expert_vector

        features = tuple(dict.fromkeys(column.feature for column in design.columns))
        known = expert_vector(expert, design.columns, features)
        return (PointPenalty(lam, lambda weight: EYE(weight, expert=known)),)
    return (PointPenalty(lam, L1 if kind == "l1" else _half_squares),)


def _half_squares(lam: float) -> ProxPenalty:
    """lam ||w||^2 / 2."""
    return L2(lam)


def _intercept_rule(
    design: Design,
    loss: RiskLoss,
    kind: str,
    bounds: Sequence[float] | None,
    ranges: tuple[FloatArray, FloatArray],
) -> InterceptRule:
    """The allowed intercepts; by default every b that can be a minimiser.

    Row derivatives rise with the score. Where all scores exceed z0, the best constant score, the
    mean derivative is positive; so at the best b some total + b lies at or below scale * z0, and
    some at or above it.
    """
    if kind == "zero":
        return InterceptRule("zero", Fraction(0), Fraction(0), Fraction(1))
    if kind not in ("integer", "real"):
        raise FormulationError(f"intercept must be 'integer', 'zero' or 'real', got {kind!r}")
    rows, (smallest, largest) = design.merged, ranges
    far = InterceptRule("real", Fraction(-(10**6)), Fraction(10**6), None)
    best, _ = loss.best_intercepts(np.zeros((len(rows.y), 1)), rows.y, rows.weight, far)
    lower = Fraction(math.floor(float(best[0]) - float(largest.max(initial=0.0))))
    upper = Fraction(math.ceil(float(best[0]) - float(smallest.min(initial=0.0))))
    step = Fraction(1) if kind == "integer" else None
    lower, upper = intercept_range(bounds, lower, upper, step)
    return InterceptRule("integer" if kind == "integer" else "real", lower, upper, step)


def _model(statement: Statement) -> pyo.ConcreteModel:
    """The master program: no tangent yet but the least loss there can be."""
    m = pyo.ConcreteModel(name="risk_score")
    add_points(m, statement)
    add_terms(m, statement)
    rule = statement.intercept
    m.b = pyo.Var(
        domain=pyo.Reals if rule.step is None else pyo.Integers,
        bounds=(float(rule.lower), float(rule.upper)),
    )
    m.eta = pyo.Var(bounds=(0, None))  # no loss is negative
    m.cuts = pyo.ConstraintList()
    m.loss = pyo.Expression(expr=1.0 * m.eta)
    add_constraints(m, statement, PointVariables([m.w[j] for j in m.J]))
    m.penalty = pyo.Expression(expr=m.l0_term + _penalty_term(m, statement))
    m.objective = pyo.Objective(expr=m.loss + m.penalty, sense=pyo.minimize)
    return m


def _penalty_term(m: Any, statement: Statement) -> Any:
    """lam Omega(w) as rows that are exact at whole points; EYE, a norm, by tangents."""
    if len(statement.penalties) == 1:
        return 0.0
    term = statement.penalties[1]
    m.lam = pyo.Param(initialize=term.lam, mutable=True, within=pyo.NonNegativeReals)
    kind = statement.arguments["penalty"]
    largest = reach(statement)
    if kind == "eye":
        m.norm = pyo.Var(bounds=(0, None))
        m.norm_cuts = pyo.ConstraintList()
        return m.lam * m.norm
    add_sizes(m, largest)
    if kind == "l1":
        return m.lam * sum(m.size[j] for j in m.J)
    # w^2 / 2 and (w^2 + |w|) / 2 are piecewise linear between whole points: |w| <= k + 1 and
    # >= k gives the chord through both, which lies below the function at every other whole point
    chords = [(j, k) for j, most in enumerate(largest) for k in range(most)]
    m.chords = pyo.Set(dimen=2, initialize=chords)
    m.curve = pyo.Var(m.J, bounds=(0, None))

    @m.Constraint(m.chords)
    def curve_rows(m: Any, j: int, k: int) -> Any:
        low, high = _curve(kind, k), _curve(kind, k + 1)
        return m.curve[j] - (high - low) * m.size[j] >= low - (high - low) * k

    return m.lam * sum(m.curve[j] for j in m.J)


def _curve(kind: str, k: int) -> float:
    """Omega of one coefficient of k points."""
    return k * k / 2 if kind == "l2" else k * (k + 1) / 2


def _fill(m: Any, statement: Statement, card: Card) -> None:
    """Every variable as the card implies it."""
    from milpscore.verify.cards import mean_loss

    fill_points(m, card)
    m.b.set_value(float(card.intercept), skip_validation=True)
    m.eta.set_value(mean_loss(statement, card)[0], skip_validation=True)
    if m.component("curve") is not None:
        kind = statement.arguments["penalty"]
        for j in m.J:
            size = abs(int(card.coefficients[j]))
            m.curve[j].set_value(_curve(kind, size), skip_validation=True)
    if m.component("norm") is not None:
        unit = statement.penalties[1].make(1.0)  # type: ignore[attr-defined]
        m.norm.set_value(float(unit.value(card.coefficients)), skip_validation=True)
