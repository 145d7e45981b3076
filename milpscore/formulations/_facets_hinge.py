"""Hinge loss and the Facets penalty over the grid: the integer program that Facets relaxes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from milpscore.constraints import apply_constraints
from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import FormulationError
from milpscore.core.program import Program
from milpscore.core.statement import LAM, InterceptRule, Statement
from milpscore.formulations._constraint_rows import Constraints, refuse_unless_empty_allowed
from milpscore.formulations._hinge import hinge_intercept
from milpscore.formulations.building import (
    MAX_COEFFICIENT,
    IntegerKind,
    PerColumn,
    Ranges,
    as_design,
    builder,
    check_max_terms,
    check_non_negative,
    check_positive,
    column_index,
    per_column,
    refuse_crossed,
    refuse_if_too_large,
)
from milpscore.formulations.model import CardModel
from milpscore.losses import Hinge
from milpscore.penalties.ramps import IntegerFacets


@builder
def facets_hinge(
    X: Any,
    y: Any = None,
    *,
    lam: float = LAM,
    gamma: float = 1.0,
    margin: float = 1.0,
    coef_min: PerColumn | None = None,
    coef_max: PerColumn | None = None,
    max_terms: int | None = None,
    intercept: IntegerKind = "real",
    intercept_bounds: Sequence[float] | None = None,
    constraints: Constraints = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Program:
    r"""Whole multiples of gamma under the hinge loss and the penalty that Facets relaxes.

    .. math::

        \min_{w \in \gamma \mathbb Z^p,\, b}\ \tfrac{1}{S m} \sum_i s_i
            \max(0,\ m - y_i (w \cdot x_i + b))
            + \tfrac{\lambda}{2} \left( \|w / \gamma\|_2^2 + \|w / \gamma\|_1 \right)

    with m the ``margin``. The points of the card are :math:`k = w / \gamma`, its intercept is
    :math:`\beta = b / \gamma`, and :math:`\mu = m / \gamma` the margin of its totals, so that no
    objective changes:

    .. math::

        \min\ & \tfrac{1}{S \mu} \sum_i s_i \xi_i
            + \lambda \sum_j \Bigl( a_j + \sum_{i=1}^{K_j - 1} r_{ji} \Bigr) \\
        & \xi_i \ge \mu - y_i (k \cdot x_i + \beta), \quad \xi_i \ge 0 \\
        & -a_j \le k_j \le a_j, \qquad r_{ji} \ge a_j - i, \quad r_{ji} \ge 0 \\
        & k_j \in \mathbb Z, \quad |k_j| \le K_j

    At whole points the ramps are :math:`\sum_{i \ge 0} \max(0, |k| - i) = (k^2 + |k|) / 2`;
    without integrality they are the Facets penalty, and the program its hinge-loss LP.

    Parameters
    ----------
    lam : float
    gamma : float
        The unit of the coefficient grid, > 0: w = gamma * (points of the card).
    margin : float
        Of w.x + b, > 0.
    coef_min, coef_max : int, sequence of length p, or mapping from column name, optional
        Ranges of the points k. By default, and for columns a mapping leaves out, the least K for
        which one column of K points alone costs what the empty card loses: no card, whole or
        real, that is better than the empty one has more. (With constraints of your own that the
        empty card does not meet, give ranges.)
    intercept : {"real", "integer", "zero"}
        Of the card: b itself is gamma times as large.
    intercept_bounds : (float, float), optional
        Range of b / gamma; default: every intercept that can matter.

    Returns
    -------
    Program
        ``program.set(lam=)`` changes lam in place; where a default range was derived from it,
        not to less. ``relaxed()`` is the LP of the Facets penalty under the hinge loss.

    Notes
    -----
    Reference: Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using
    soft integrity constraints" (2020): eqs 2, 3, 16 and Proposition 2. Erratum: that proposition
    says the envelope of w^2 on the integers, but Facets with weights (1, 1, ...) is that of
    (w^2 + \|w\|) / 2.
    """
    design = as_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    check_positive(margin=margin, gamma=gamma)
    check_positive(**{"margin / gamma": margin / gamma})
    check_non_negative(lam=lam)
    limit = check_max_terms(max_terms, design.shape[1])
    rows, loss = design.merged, Hinge(margin / gamma)
    nothing = np.zeros(1)
    rule = hinge_intercept(intercept, intercept_bounds, (nothing, nothing), loss.margin)
    lower, upper, least = _ranges(design, coef_min, coef_max, lam, loss, rule)
    ranges = Ranges(lower, upper, {}, limit)
    ramps = sum(max(most - 1, 0) for most in ranges.reach)
    refuse_if_too_large("facets_hinge", len(rows.y), design.shape[1], further=2 * ramps)
    totals = ranges.totals(rows.X)
    statement = Statement(
        formulation="facets_hinge",
        design=design,
        loss=loss,
        penalties=(IntegerFacets(lam),),
        intercept=hinge_intercept(intercept, intercept_bounds, totals, loss.margin),
        arguments={"lam": lam, "gamma": gamma, "margin": margin},
        constraints=apply_constraints(constraints, design),
        **vars(ranges),
    )
    if least:
        refuse_unless_empty_allowed(statement)
    return _program(statement, totals, least)


def _program(
    statement: Statement, totals: tuple[FloatArray, FloatArray], least: dict[str, float]
) -> Program:
    """The algebra over the merged rows; a ramp is indexed by its column and its kink."""
    model = CardModel(statement)
    m = model.m
    model.add_points()
    model.add_terms()
    lam = model.weight("lam", statement.penalties[0].lam)
    largest = model.add_sizes()
    kinks = [(j, i) for j, most in enumerate(largest) for i in range(1, most)]

    def ramps(card: Card) -> dict[tuple[int, int], int]:
        sizes = np.abs(card.coefficients).tolist()
        return {(j, i): max(sizes[j] - i, 0) for j, i in kinks}

    m.kinks = pyo.Set(dimen=2, initialize=kinks)
    model.variable("ramp", ramps, m.kinks, bounds=lambda m, j, i: (0, largest[j] - i))

    @m.Constraint(m.kinks)
    def ramp_rows(m: Any, j: int, i: int) -> Any:
        return m.ramp[j, i] - m.size[j] >= -i

    model.add_hinge_loss(totals)
    steps = sum(m.size[j] for j in m.J) + sum(m.ramp[kink] for kink in m.kinks)
    return model.program(lam * steps, least=least)


def _ranges(
    design: Design,
    coef_min: PerColumn | None,
    coef_max: PerColumn | None,
    lam: float,
    loss: Hinge,
    rule: InterceptRule,
) -> tuple[IntArray, IntArray, dict[str, float]]:
    """Bounds of every column's points, and the least lam they hold for where derived from it.

    ``rule`` holds the intercepts among which the empty card has its best one.
    """
    reaches, least = 0, {}
    if not (_for_all(design, coef_min, "coef_min") and _for_all(design, coef_max, "coef_max")):
        reaches, least = _default_reach(design, lam, loss, rule), {"lam": float(lam)}
    lower = per_column(design, -reaches if coef_min is None else coef_min, "coef_min", -reaches)
    upper = per_column(design, reaches if coef_max is None else coef_max, "coef_max", reaches)
    for j in np.flatnonzero((lower > 0) | (upper < 0))[:1] if least else ():
        raise FormulationError(
            f"{design.names[j]}: its range excludes 0, and default ranges follow from the empty "
            "card: give both coef_min and coef_max, for every column"
        )
    refuse_crossed(design, lower, upper)
    return lower, upper, least


def _for_all(design: Design, given: PerColumn | None, name: str) -> bool:
    """Whether a bound is given for every column."""
    if isinstance(given, Mapping):
        named = {column_index(design, column, name) for column in given}
        return len(named) == design.shape[1]
    return given is not None


def _default_reach(design: Design, lam: float, loss: Hinge, rule: InterceptRule) -> int:
    """The least K with lam K (K + 1) / 2 >= the empty card's loss.

    A better card's penalty is below that loss, and one column of K points alone costs as much; so
    does one real coefficient of size K, hence the relaxation loses nothing either.
    """
    if lam == 0:
        raise FormulationError(
            "lam = 0 leaves the points without a default range: give coef_min and coef_max"
        )
    rows = design.merged
    _, losses = loss.best_intercepts(np.zeros((len(rows.y), 1)), rows.y, rows.weight, rule)
    goal = math.ceil(2 * Fraction(float(losses[0])) / Fraction(float(lam)))  # K (K + 1) >= goal
    below = (math.isqrt(4 * goal + 1) - 1) // 2
    reaches = below if below * (below + 1) >= goal else below + 1
    if reaches > MAX_COEFFICIENT:
        raise FormulationError(
            f"lam={lam!r} is so small that its default range reaches {reaches:.2g} points: give "
            "coef_min and coef_max, or a larger lam"
        )
    return reaches
