"""SLIM-like program: 0-1 loss, integer points, L0 penalty and limit on terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from milpscore.core.card import RELATIVE_ROUNDING, Card
from milpscore.core.design import Design, FloatArray, MergedRows
from milpscore.core.errors import FormulationError
from milpscore.core.grid import on_grid
from milpscore.core.program import Layout, Program
from milpscore.core.statement import InterceptRule, Statement
from milpscore.formulations._constraints import (
    Constraints,
    PointVariables,
    add_constraints,
    bound_constraints,
    constrained,
)
from milpscore.formulations._terms import add_l1, add_terms, changeable, fill_sizes, fill_terms
from milpscore.formulations.building import (
    INTEGRALITY_TOLERANCE,
    PerColumn,
    as_design,
    builder,
    check_max_terms,
    check_non_negative,
    coefficient_bounds,
    coefficient_sets,
    divide_by_gcd,
    intercept_range,
    linear,
    refuse_if_too_large,
    total_range,
)
from milpscore.losses import ZeroOne
from milpscore.penalties import L0, L1


@dataclass(frozen=True)
class _Units:
    """Totals are counted in ``unit``; a negative row must stay ``gap`` units below T."""

    unit: Fraction
    gap: float
    on_grid: bool

    def scale(self, X: FloatArray) -> FloatArray:
        """The rows in these units."""
        return on_grid(X, self.unit).astype(np.float64) if self.on_grid else X


@builder
def slim(
    X: Any,
    y: Any = None,
    *,
    coef_min: PerColumn = -5,
    coef_max: PerColumn = 5,
    coef_sets: Mapping[str, Sequence[int]] | None = None,
    max_terms: int | None = None,
    l0_penalty: float = 1e-3,
    l1_penalty: float = 0.0,
    intercept_bounds: Sequence[float] | None = None,
    threshold_gap: float | None = None,
    constraints: Constraints = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Program:
    r"""The exact integer score under the 0-1 loss.

    .. math::

        \min\ & \tfrac1S \sum_i s_i z_i + C_0 \sum_j \alpha_j + C_1 \sum_j |w_j| \\
        & w \cdot x_i \ge T - M_i z_i              & y_i = +1 \\
        & w \cdot x_i \le T - \delta + M_i z_i     & y_i = -1 \\
        & l_j \alpha_j \le w_j \le u_j \alpha_j, \quad \sum_j \alpha_j \le k \\
        & z_i + z_{i'} = 1                         & x_i = x_{i'},\ y_i \ne y_{i'} \\
        & w_j \in \mathbb Z,\ T \in \delta \mathbb Z,\ z_i, \alpha_j \in \{0, 1\}

    with :math:`\delta` the grid step of the data (1 for integer data; the model counts totals in
    units of it), :math:`s_i` the weight of the merged row i, and :math:`M_i` the smallest number
    that frees row i whatever w and T are.

    Parameters
    ----------
    X : array, DataFrame of shape (n, p), or Design
    y : array of shape (n,), two labels; None with a Design
    coef_min, coef_max : int, sequence of length p, or mapping from column name
        Inclusive bounds of each coefficient.
    coef_sets : mapping from column name to allowed values, optional
        For example ``{"Age": [0, 1, 2, 5, 10]}``; without a 0 the term is always used.
    max_terms : int, optional
        Limit k on nonzero coefficients.
    l0_penalty, l1_penalty : float
        C_0 and C_1, per term and per point.
    intercept_bounds : (float, float), optional
        Bounds on b = -T; default: every threshold that can matter.
    threshold_gap : float, optional
        For data on no usable grid: negative totals stay so far below T.
    constraints : sequence of :class:`milpscore.constraints.Constraint`
        What else the card must meet, say ``[Sign("Age", "+"), MaxFPR(0.2)]``.
    sample_weight : array of shape (n,), optional
    class_weight : "balanced" or mapping from label to weight, optional
    positive : label, optional
        The positive label; default 1 / True / the last in order.

    Returns
    -------
    Program

    Raises
    ------
    DataError, FormulationError, SizeError

    Notes
    -----
    References: Ustun & Rudin, "Supersparse linear integer models for optimized medical scoring
    systems", Machine Learning 102 (2016), eqs. 2 and 6. The paper's symmetric margin counts a
    total of zero as an error in both classes and so loses cards, and its objective carries a small
    L1 term that makes weights coprime; here rows are counted as the printed card decides, and a
    card is divided by its greatest common divisor after the solve.
    """
    design = as_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    check_non_negative(l0_penalty=l0_penalty, l1_penalty=l1_penalty)
    lower, upper = coefficient_bounds(design, coef_min, coef_max)
    sets = coefficient_sets(design, coef_sets or {})
    for j, values in sets.items():
        lower[j], upper[j] = values[0], values[-1]
    limit = check_max_terms(max_terms, design.shape[1])
    rows = design.merged
    refuse_if_too_large("slim", len(rows.y), design.shape[1])

    ranges = total_range(rows.X, lower, upper, limit)
    units = _choose_units(design, ranges, threshold_gap)
    grid_rows = units.scale(rows.X)
    smallest, largest = total_range(grid_rows, lower, upper, limit)
    rule = _intercept_rule(rows, smallest, largest, units, intercept_bounds)
    statement = Statement(
        formulation="slim",
        design=design,
        loss=ZeroOne(),
        penalties=(L0(l0_penalty), L1(l1_penalty)),
        coef_min=lower,
        coef_max=upper,
        coef_sets=sets,
        intercept=rule,
        max_terms=limit,
        caveat=""
        if units.on_grid
        else (
            f"among cards whose negative totals stay {units.gap:g} below T; "
            "bin the columns, or round decimals (X.round(2)), for a bound over all cards"
        ),
        constraints=bound_constraints(constraints, design),
    )
    big_m = _big_m(rows, smallest, largest, rule, units)
    if (big_m.max(initial=0.0) * INTEGRALITY_TOLERANCE) >= units.gap / 2:
        raise FormulationError(
            f"big_m {big_m.max():.3g} times the integrality tolerance reaches half of the "
            f"threshold gap {units.gap:g}: bin the columns, narrow the coefficients, or raise "
            "threshold_gap"
        )
    model = _model(statement, rows, grid_rows, big_m, units)
    layout = Layout(
        read=lambda m: _read(m, units), fill=lambda m, s, card: _fill(m, s, card, grid_rows, units)
    )
    program = Program(
        statement,
        model,
        constrained(layout, statement),
        simplify=divide_by_gcd,
        parameters=changeable(statement),
    )
    return program


def _model(
    statement: Statement, rows: MergedRows, X: FloatArray, big_m: FloatArray, units: _Units
) -> pyo.ConcreteModel:
    """The algebra; X holds the merged rows in grid units."""
    m = pyo.ConcreteModel(name="slim")
    total_weight = float(rows.weight.sum())
    y, rule = rows.y, statement.intercept

    # Sets: merged rows I = I+ and I-, design columns J, contradicting pairs Q
    m.I = pyo.RangeSet(0, len(y) - 1)
    m.I_pos = pyo.Set(initialize=np.flatnonzero(y > 0).tolist(), within=m.I)
    m.I_neg = pyo.Set(initialize=np.flatnonzero(y < 0).tolist(), within=m.I)
    m.J = pyo.RangeSet(0, len(statement.coef_min) - 1)
    m.Q = pyo.RangeSet(0, len(rows.conflicts) - 1)

    # Variables: points w, threshold T in grid units, errors z
    m.w = pyo.Var(
        m.J,
        domain=pyo.Integers,
        bounds=lambda m, j: (int(statement.coef_min[j]), int(statement.coef_max[j])),
    )
    m.T = pyo.Var(
        domain=pyo.Integers if units.on_grid else pyo.Reals,
        bounds=(float(-rule.upper / units.unit), float(-rule.lower / units.unit)),
    )
    m.z = pyo.Var(m.I, domain=pyo.Binary)
    for i in np.flatnonzero(big_m <= 0).tolist():
        m.z[i].setub(0)  # no allowed card errs on this row
    add_terms(m, statement)
    add_l1(m, statement)

    # (1) mean weighted errors + C_0 terms + C_1 points
    m.loss = pyo.Expression(expr=linear([m.z[i] for i in m.I], rows.weight / total_weight))
    m.penalty = pyo.Expression(expr=m.l0_term + m.l1_term)
    m.objective = pyo.Objective(expr=m.loss + m.penalty, sense=pyo.minimize)

    # (2) positive rows reach T, (3) negative rows stay delta below T, unless z_i = 1
    w = [m.w[j] for j in m.J]
    M = big_m.tolist()

    @m.Constraint(m.I_pos)
    def positive_rows(m: Any, i: int) -> Any:
        if M[i] <= 0:
            return pyo.Constraint.Skip
        return linear(w, X[i]) - m.T + M[i] * m.z[i] >= 0

    @m.Constraint(m.I_neg)
    def negative_rows(m: Any, i: int) -> Any:
        if M[i] <= 0:
            return pyo.Constraint.Skip
        return linear(w, X[i]) - m.T - M[i] * m.z[i] <= -units.gap

    # (4) a card errs on exactly one row of a contradicting pair
    pairs = rows.conflicts.tolist()

    @m.Constraint(m.Q)
    def contradictions(m: Any, q: int) -> Any:
        positive, negative = pairs[q]
        return m.z[positive] + m.z[negative] == 1

    # (5) what else the card must meet
    add_constraints(m, statement, PointVariables(w), [m.z[i] for i in m.I])
    return m


def _choose_units(
    design: Design,
    ranges: tuple[FloatArray, FloatArray],
    threshold_gap: float | None,
) -> _Units:
    """The data's grid where a solver can tell its points apart, else a threshold gap."""
    reach = float(ranges[1].max(initial=0) - ranges[0].min(initial=0))
    if threshold_gap is not None:
        check_non_negative(threshold_gap=threshold_gap)
        if threshold_gap == 0:
            raise FormulationError("threshold_gap must be > 0: a zero gap proves nothing")
        return _Units(Fraction(1), float(threshold_gap), on_grid=False)
    step = design.step
    if step is not None and (reach / float(step) + 1) * INTEGRALITY_TOLERANCE < 0.5:
        return _Units(step, 1.0, on_grid=True)
    gap = max(reach, 1.0) * 10 * INTEGRALITY_TOLERANCE
    if 0 < reach <= gap:
        raise FormulationError(
            f"no two totals differ by more than {reach:.2g}, and a solver tells apart no less than "
            f"{gap:.0e}: give the columns a smaller unit, or bin them"
        )
    return _Units(Fraction(1), gap, on_grid=False)


def _intercept_rule(
    rows: MergedRows,
    smallest: FloatArray,
    largest: FloatArray,
    units: _Units,
    intercept_bounds: Sequence[float] | None,
) -> InterceptRule:
    """Bounds on b = -T that keep every distinct way to cut the rows.

    Above the largest negative total nothing is gained by raising T, below the smallest positive
    total nothing by lowering it: wider bounds of the user's would only weaken the big-M.
    """
    positive, negative = rows.y > 0, rows.y < 0
    low_T = Fraction(float(smallest[positive].min(initial=0.0))) * units.unit
    high_T = Fraction(float(largest[negative].max(initial=0.0) + units.gap)) * units.unit
    step = units.unit if units.on_grid else None
    lower, upper = intercept_range(intercept_bounds, -high_T, -low_T, step)
    if max(lower, -high_T) <= min(upper, -low_T):
        lower, upper = max(lower, -high_T), min(upper, -low_T)
    return InterceptRule("grid" if units.on_grid else "real", lower, upper, step)


def _big_m(
    rows: MergedRows, smallest: FloatArray, largest: FloatArray, rule: InterceptRule, units: _Units
) -> FloatArray:
    """Per row, the least M that frees it for every allowed w and T; 0 or less: it never errs."""
    T_min, T_max = float(-rule.upper / units.unit), float(-rule.lower / units.unit)
    return np.where(rows.y > 0, T_max - smallest, largest - T_min + units.gap)


def _read(m: Any, units: _Units) -> tuple[FloatArray, float]:
    """Points and intercept from the model's values."""
    return np.array([m.w[j].value for j in m.J], dtype=np.float64), -float(m.T.value) * float(
        units.unit
    )


def _fill(m: Any, statement: Statement, card: Card, X: FloatArray, units: _Units) -> None:
    """Every variable as the card implies it."""
    w = card.coefficients
    for j in m.J:
        m.w[j].set_value(int(w[j]), skip_validation=True)
    threshold = card.threshold / units.unit
    m.T.set_value(float(threshold), skip_validation=True)
    total = X @ w.astype(np.float64)
    positive = statement.design.merged.y > 0
    slack = total - float(threshold)
    # off the grid T may sit exactly on a total, or gap above one, and rounding must not tip it
    rounding = 0.0 if units.on_grid else RELATIVE_ROUNDING * max(1.0, float(np.abs(total).max()))
    errs = np.where(positive, slack < -rounding, slack > rounding - units.gap)
    for i, wrong in enumerate(errs.tolist()):
        m.z[i].set_value(int(wrong), skip_validation=True)
    fill_terms(m, w)
    fill_sizes(m, w)
