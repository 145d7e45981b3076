"""Programs under the hinge loss: whole points, roundings over the hull, Facets' integer form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import Design, IntArray
from milpscore.core.errors import FormulationError
from milpscore.core.program import Program, relax_integrality
from milpscore.core.statement import LAM, InterceptRule, Statement
from milpscore.formulations.building import (
    LEAST,
    MOST,
    Constraints,
    IntegerKind,
    PerColumn,
    Ranges,
    RowTotals,
    allowed,
    applied,
    as_design,
    builder,
    check_max_terms,
    check_non_negative,
    check_positive,
    column_index,
    intercept_rule,
    later,
    per_column,
    refuse_crossed,
    refuse_if_too_large,
)
from milpscore.formulations.policy import POLICY
from milpscore.losses import Hinge
from milpscore.penalties import L0, L1
from milpscore.penalties.points import IntegerFacets

Weights = Literal["ternary", "binary"]


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
    design = as_design(X, y, sample_weight, class_weight, positive)
    check_positive(margin=margin)
    check_non_negative(l0_penalty=l0_penalty, l1_penalty=l1_penalty)
    if weights is not None:
        coef_min, coef_max = _weight_range(weights)
    ranges = allowed(design, coef_min, coef_max, max_terms=max_terms)
    statement, totals = hinge_statement(
        "hinge", design, Hinge(margin), (L0(l0_penalty), L1(l1_penalty)), ranges,
        intercept, intercept_bounds, constraints,
    )  # fmt: skip
    return later(statement, lambda: _program(statement, totals))


def hinge_statement(
    formulation: str, design: Design, loss: Hinge, penalties: tuple[Any, ...], ranges: Ranges,
    intercept: IntegerKind, intercept_bounds: Sequence[float] | None, constraints: Constraints,
    *, columns: int | None = None, further: int = 0, **fields: Any,
) -> tuple[Statement, RowTotals]:  # fmt: skip
    """State cards under the hinge loss, with the totals they reach; SizeError if too large."""
    rows = design.merged
    refuse_if_too_large(formulation, len(rows.y), columns or design.shape[1], further)
    totals = ranges.totals(rows.X)
    statement = Statement(
        formulation=formulation,
        design=design,
        loss=loss,
        penalties=penalties,
        intercept=_intercept_rule(intercept, intercept_bounds, totals, loss.margin),
        constraints=applied(constraints, design),
        **vars(ranges),
        **fields,
    )
    return statement, totals


def _program(statement: Statement, totals: RowTotals) -> Program:
    """The algebra over the merged rows, whose totals reach from the first to the second."""
    from milpscore.formulations.card_model import CardModel

    model = CardModel(statement)
    model.add_points()
    penalty = model.add_terms() + model.add_l1()
    model.add_hinge_loss(totals)
    return model.program(penalty)


def _weight_range(weights: str) -> tuple[int, int]:
    """Return the range of binary or ternary weights."""
    known = {"binary": (0, 1), "ternary": (-1, 1)}
    if not isinstance(weights, str) or weights not in known:
        raise FormulationError(f"weights must be one of {sorted(known)}, got {weights!r}")
    return known[weights]


def _intercept_rule(
    kind: IntegerKind, bounds: Sequence[float] | None, totals: RowTotals, margin: float
) -> InterceptRule:
    """Return the allowed intercepts; by default every b that can be a minimiser."""
    # the loss is convex and piecewise linear in b with kinks at y_i margin - w.x_i, so a minimiser
    # lies within the margin plus the largest total
    smallest, largest = float(totals[0].min(initial=0.0)), float(totals[1].max(initial=0.0))
    return intercept_rule(kind, bounds, -margin - largest, margin - smallest)


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
    design = as_design(X, y, sample_weight, class_weight, positive)
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
            "sparse_rounding needs {max_terms}=k; without a limit use convex_rounding",
            max_terms=...,
        )
    design = as_design(X, y, sample_weight, class_weight, positive)
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
    """State the LP over the convex hull; ``exact()`` of the program is the 0-1 program."""
    check_positive(margin=margin)
    ranges = allowed(design, *_weight_range(weights), max_terms=max_terms)
    signs = (1.0, -1.0) if weights == "ternary" else (1.0,)
    statement, totals = hinge_statement(
        name, design, Hinge(margin), (), ranges, intercept, intercept_bounds, constraints,
        columns=design.shape[1] * len(signs),
    )  # fmt: skip
    return later(statement, lambda: _hull_program(statement, totals, signs), kind="relaxed")


def _hull_program(statement: Statement, totals: RowTotals, signs: tuple[float, ...]) -> Program:
    """The algebra over the hull: c_d for each column and sign."""
    import pyomo.environ as pyo

    from milpscore.formulations.card_model import CardModel, linear

    model = CardModel(statement)
    m = model.m

    def sides(card: Card) -> IntArray:
        # c' = 1 on the side of w's sign
        return np.asarray(card.coefficients[:, None] * np.array(signs) > 0, dtype=np.int64).ravel()

    m.D = pyo.RangeSet(0, statement.shape[1] * len(signs) - 1)
    c = model.variable("c", sides, m.D, domain=pyo.Binary)
    model.hold_points("c", [c[d] for d in m.D], signs)
    model.add_hinge_loss(totals)
    if statement.max_terms is not None:
        used = linear([c[d] for d in m.D], np.ones(len(m.D)))
        m.at_most_k_terms = pyo.Constraint(expr=used <= statement.max_terms)
    program = model.program(0.0, kind="relaxed")
    relax_integrality(m)
    return program


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
        Ranges of the points k. By default, and for columns that a mapping leaves out, the least K
        for which one column of K points alone costs what the empty card loses: no card, whole or
        real, that beats the empty one has more. (If your constraints exclude the empty card, give
        ranges.)
    intercept : {"real", "integer", "zero"}
        Of the card: b itself is gamma times as large.
    intercept_bounds : (float, float), optional
        Range of b / gamma; default: every intercept that can matter.

    Returns
    -------
    Program
        ``program.set(lam=)`` changes lam in place, but not to less than a default range was
        derived from. ``relaxed()`` is the LP of the Facets penalty under the hinge loss.

    Notes
    -----
    Reference: Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using
    soft integrity constraints" (2020): eqs 2, 3, 16 and Proposition 2. Erratum: that proposition
    says the envelope of w^2 on the integers, but Facets with weights (1, 1, ...) is that of
    (w^2 + \|w\|) / 2.
    """
    design = as_design(X, y, sample_weight, class_weight, positive)
    check_positive(margin=margin, gamma=gamma)
    check_positive(**{"margin / gamma": margin / gamma})
    check_non_negative(lam=lam)
    limit = check_max_terms(max_terms, design.shape[1])
    loss, nothing = Hinge(margin / gamma), np.zeros(1)
    rule = _intercept_rule(intercept, intercept_bounds, (nothing, nothing), loss.margin)
    lower, upper, least = _ranges(design, coef_min, coef_max, lam, loss, rule)
    ranges = Ranges(lower, upper, {}, limit)
    ramps = sum(max(most - 1, 0) for most in ranges.reach)
    statement, totals = hinge_statement(
        "facets_hinge", design, loss, (IntegerFacets(lam),), ranges,
        intercept, intercept_bounds, constraints,
        further=2 * ramps, arguments={"lam": lam, "gamma": gamma, "margin": margin},
    )  # fmt: skip
    if least:
        _refuse_unless_empty_allowed(statement)
    return later(statement, lambda: _facets_program(statement, totals, least))


def _facets_program(statement: Statement, totals: RowTotals, least: dict[str, float]) -> Program:
    """The algebra over the merged rows; a ramp is indexed by its column and its kink."""
    import pyomo.environ as pyo

    from milpscore.formulations.card_model import CardModel

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

    m.ramp_rows = pyo.Constraint(m.kinks, rule=lambda m, j, i: m.ramp[j, i] - m.size[j] >= -i)

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
    """Return the bounds of every column's points, and the least lam that derived ones hold for."""
    reach, least = 0, {}
    if not (_for_all(design, coef_min, "coef_min") and _for_all(design, coef_max, "coef_max")):
        reach, least = _default_reach(design, lam, loss, rule), {"lam": float(lam)}
    lower = per_column(design, -reach if coef_min is None else coef_min, "coef_min", -reach)
    upper = per_column(design, reach if coef_max is None else coef_max, "coef_max", reach)
    for j in np.flatnonzero((lower > 0) | (upper < 0))[:1] if least else ():
        raise FormulationError(
            f"{design.names[j]}: its range excludes 0, and default ranges follow from the empty "
            "card: give both {coef_min} and {coef_max}, for every column",
            coef_min=...,
            coef_max=...,
        )
    refuse_crossed(design, lower, upper)
    return lower, upper, least


def _for_all(design: Design, bound: PerColumn | None, name: str) -> bool:
    """Return whether an argument bounds every column."""
    if isinstance(bound, Mapping):
        named = {column_index(design, column, name) for column in bound}
        return len(named) == design.shape[1]
    return bound is not None


def _default_reach(design: Design, lam: float, loss: Hinge, rule: InterceptRule) -> int:
    """Return the least K with lam K (K + 1) / 2 >= the empty card's loss."""
    # a better card's penalty is below that loss, and one column of K points alone costs as much; so
    # does one real coefficient of size K, hence the relaxation loses nothing either
    if lam == 0:
        raise FormulationError(
            "lam = 0 leaves the points without a default range: give {coef_min} and {coef_max}",
            coef_min=...,
            coef_max=...,
        )
    rows = design.merged
    _, losses = loss.best_intercepts(np.zeros((len(rows.y), 1)), rows.y, rows.weight, rule)
    goal = math.ceil(2 * Fraction(float(losses[0])) / Fraction(float(lam)))  # K (K + 1) >= goal
    below = (math.isqrt(4 * goal + 1) - 1) // 2
    reach = below if below * (below + 1) >= goal else below + 1
    if reach > POLICY.max_coefficient:
        raise FormulationError(
            f"{{lam}} is so small that its default range reaches {reach:.2g} points: give "
            "{coef_min} and {coef_max}, or a larger lam",
            lam=lam,
            coef_min=...,
            coef_max=...,
        )
    return reach


def _refuse_unless_empty_allowed(statement: Statement) -> None:
    """Refuse ranges derived from the empty card if a constraint forbids that card."""
    empty = replace(statement, constraints=()).empty_card()
    for constraint in statement.constraints:
        if broken := constraint.violation(statement, empty):
            raise FormulationError(
                f"default ranges follow from the empty card, which breaks a constraint ({broken}): "
                "give {coef_min} and {coef_max}",
                coef_min=...,
                coef_max=...,
            )
