"""Risk scores: integer points under a smooth convex loss, the master of its outer approximation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray
from milpscore.core.errors import FormulationError, is_number
from milpscore.core.program import Program
from milpscore.core.statement import InterceptRule, ScaleRange, SmoothLoss, Statement
from milpscore.data.designs import in_steps
from milpscore.data.survival import SurvivalDesign
from milpscore.formulations.building import (
    LEAST,
    MOST,
    Constraints,
    IntegerKind,
    PerColumn,
    Ranges,
    RowTotals,
    as_design,
    builder,
    check_non_negative,
    check_positive,
    intercept_rule,
    later,
    refuse_if_too_large,
)
from milpscore.formulations.cuts import JUMPS, MaxCuts, jump_penalty, within
from milpscore.formulations.policy import POLICY
from milpscore.losses import RiskLoss, smooth_loss
from milpscore.penalties import L0, L1, L2
from milpscore.penalties.points import IntegerFacets, PointPenalty

if TYPE_CHECKING:
    from milpscore.formulations.card_model import CardModel

PenaltyKind = Literal["none", "l1", "l2", "facets", "eye", "tv", "binarsity"]

BEYOND = math.log1p(math.exp(-POLICY.steepest / 2))
"""The most that slopes steeper than the range's steepest can take off a mean loss."""


@builder
def risk_score(
    X: Any,
    y: Any = None,
    *,
    loss: str | SmoothLoss = "logistic",
    scale: float | Literal["auto"] | Sequence[float] = "auto",
    coef_min: PerColumn = LEAST,
    coef_max: PerColumn = MOST,
    coef_sets: Mapping[str, Sequence[int]] | None = None,
    max_terms: int | None = None,
    max_cuts: MaxCuts = None,
    l0_penalty: float = 1e-6,
    penalty: PenaltyKind = "none",
    lam: float = 0.0,
    expert: Any = None,
    intercept: IntegerKind | None = None,
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
    loss : str or SmoothLoss
        "logistic", "squared" or "squared_hinge" of the classes -1/+1; "poisson" of 0/1.
    scale : float, "auto" or (float, float)
        Points in one unit of the score, sigma above, > 0. With a number it is fixed, and what is
        proved is proved at this scale. "auto" minimises over it too, and what is proved holds
        at every scale; a pair of numbers is the range of scales.
    penalty : {"none", "l1", "l2", "facets", "eye", "tv", "binarsity"}
        Omega: the sum of sizes, half the sum of squares, Facets' integer form (w^2 + \|w\|) / 2,
        EYE of the ``expert``'s features; or the total variation of the points along every feature,
        each jump weighted by the rows above it for "binarsity".
    lam : float
        Its weight.
    expert : names, mapping or array
        As in :func:`eye`; for ``penalty="eye"`` only.
    intercept : {"integer", "zero", "real"}, optional
        Default: "integer" at a fixed scale, "real" where the scale is free, which takes no integer.

    Notes
    -----
    The range of a free scale: at its lower end a point moves the score by at least 40 across the
    narrowest column; at its upper end the scores of no two rows differ by more than 0.001. If
    totals separate the classes, as they can when rows are few, the loss falls to 0 with the scale,
    and :func:`over_gentle_scales` states a better lower end. If totals lie on a grid whose steps
    move the score by 40, the lower end changes no loss; :func:`any_scale` derives when a claim
    holds beyond both ends. Otherwise, and if the best card lies at the lower end, the claim names
    the range. Points (2 w, 2 b) at a scale of 2 sigma give the same risks as (w, b) at sigma: the
    answer's points have no common divisor if the ranges allow that.

    Under "tv" and "binarsity" a block of bins is stated by its cuts
    (:func:`milpscore.data.in_steps`), so that bins and points are found together: neighbouring bins
    of equal points are one bin, ``max_terms`` and ``l0_penalty`` count cuts, and constraints name
    cuts, too (``"age >= 40"``). Jumps ignore a constant added to all bins of a feature, so
    ``coef_min`` and ``coef_max`` say how far its points may lie apart: ``coef_max - coef_min``.
    Without integrality and ranges that bind, this is the problem of
    :class:`milpscore.penalties.Binarsity` (Alaya et al.).

    Without integrality ``penalty="l2"`` charges the chords of w^2/2 between whole points, which is
    more than ridge does and a better bound. The model has no tangents of the loss until a solver
    adds them, so ``size`` lacks the intercept before.

    Reference: Ustun & Rudin, "Learning optimized risk scores", JMLR 20 (2019), whose program this
    is for logistic loss, scale 1 and an L0 penalty.
    """
    design = as_design(X, y, sample_weight, class_weight, positive)
    check_non_negative(l0_penalty=l0_penalty, lam=lam)
    design = in_steps(design) if penalty in JUMPS else design
    limits = (coef_min, coef_max, coef_sets, max_terms, max_cuts, constraints)
    ranges, rules = within(design, penalty, *limits)
    # no row of the data is one of the program's: only the points and their curves are
    curved = 2 * sum(ranges.reach) if penalty in ("l2", "facets") else 0
    curved += 0 if is_number(scale) else 8 * int((ranges.coef_max - ranges.coef_min + 1).sum())
    refuse_if_too_large("risk_score", 0, design.shape[1], 8 * design.shape[1] + curved)
    totals = ranges.totals(design.merged.X)
    risk = RiskLoss(smooth_loss(loss), scale_of(scale, design, ranges, totals))
    if risk.base.task == "multinomial":
        raise FormulationError("a risk score separates two classes: choose another loss")
    fixed = not isinstance(risk.scale, ScaleRange)
    if intercept is None:
        intercept = "integer" if fixed else "real"
    if intercept == "integer" and not fixed:
        raise FormulationError(
            "{intercept} needs a fixed scale: give {scale}, or take 'real'",
            intercept="integer",
            scale=1.0,
        )
    statement = Statement(
        formulation="risk_score",
        design=design,
        loss=risk,  # type: ignore[arg-type]
        penalties=(L0(l0_penalty), *penalty_of(design, penalty, lam, expert)),
        intercept=_intercept_rule(design, risk, intercept, intercept_bounds, totals),
        arguments={
            "loss": risk.name,
            "scale": scale,
            "penalty": penalty,
            "lam": lam,
            "intercept_bounds": intercept_bounds,
        },
        constraints=rules,
        **vars(ranges),
    )
    if statement.limits_errors:
        rule = _reach_every_cut(statement.intercept, totals, intercept_bounds)
        statement = replace(statement, intercept=rule)
    return later(statement, lambda: tangent_program(statement), holds_rows=False)


def over_gentle_scales(program: Program, card: Card | None) -> Program:
    """Restate the program over gentle scales if a good card's scale is steeper.

    If totals separate the classes, any slope can be made steeper still, and few rows do not support
    the risks it states. At the lower end of the gentle scales the most points of a line add 5 to
    the score across the narrowest column (they multiply the odds by 148), and 5 more for every 500
    rows of the rarer class, and the scale is 1 or less. Cards that separate rows widely are then
    preferred, and what is proved is proved at such scales.

    Parameters
    ----------
    program : Program
        Only a risk score or a survival score with ``scale="auto"`` is stated anew.
    card : Card or None
        The best card known, if there is one.

    Returns
    -------
    Program
    """
    least = gentle_scale(program)
    if card is None or card.nonzeros == 0 or card.scale is None or card.scale >= least:
        return program
    scales = program.statement.scales
    assert scales is not None  # or else the least gentle scale were 0
    arguments = {**program.arguments, "scale": (least, scales.upper)}
    assert program.restated is not None  # both builders are recorded
    return program.restated(arguments)


def gentle_scale(program: Program) -> float:
    """Return the lower end of the gentle scales of :func:`over_gentle_scales`; 0 if none.

    Parameters
    ----------
    program : Program

    Returns
    -------
    float
    """
    statement = program.statement
    known = statement.formulation in ("risk_score", "survival_score")
    free = known and statement.arguments.get("scale") == "auto"
    if not free or statement.scales is None:
        return 0.0
    design, (lower, upper) = statement.design, statement.ranges
    reach = np.maximum(np.abs(lower), np.abs(upper))
    widths = design.widths[reach > 0]
    narrowest = float(widths[widths > 0].min(initial=math.inf))
    if not math.isfinite(narrowest):
        return 0.0  # no points move any score
    least = min(_two_digits(int(reach.max()) * narrowest / _steepest(design), ROUND_CEILING), 1.0)
    return least if least < statement.scales.upper else 0.0


def any_scale(statement: Statement, bound: float) -> bool:
    r"""Return whether a bound over a range of scales holds at every scale, less :data:`BEYOND`.

    *Steeper slopes.* Let totals lie on a grid of step :math:`\delta`, and let the steepest slope
    of the range be :math:`S \ge 40/\delta`. Take a card of slope :math:`s > S` and the total
    :math:`t` of the grid that is nearest to its cut :math:`-b`, so that
    :math:`|t + b| \le \delta/2`. At slope S choose the intercept :math:`b'` for which the score
    of :math:`t` is the same, or 20 in size where it was larger. All other totals keep their side,
    at a score of 20 or more: rows answered rightly there lose at most :math:`\log(1 + e^{-20})`,
    rows answered wrongly lose less than before. The card of slope S is thus at most
    :data:`BEYOND` = 2.1e-9 worse.

    It must be allowed. :math:`b'` lies in the same half step as b, between :math:`-t` and
    :math:`-t \pm \delta/2`. Bounds of the user's that are whole multiples of
    :math:`\delta/2` therefore allow it, and others may not: within (0.01, 0.02) the rows at a
    total of 0 have a score of 0.8 at slope 40, and any score at a steeper one. The default
    bounds hold the best intercept of all points at slope S.

    Times to an event have no intercept. Among the exposures in an interval those at totals below
    that of a row i with an event count :math:`e^{-40}` of it at slope S at most, those at
    higher totals less than at s, the others the same: the card of slope S is at most
    :math:`\log(1 + e^{-40} \sum_x e_{xk} / e_{ik})` worse, and that has to be at most
    :data:`BEYOND`. In discrete time each interval has an intercept that nothing bounds, and is a
    table of two classes as above.

    *Flatter slopes.* All scores of such a card lie within 0.001 of each other. At the best
    constant score the derivatives of the rows sum to 0, and are at most 2 in size on average; the
    loss, being convex, is at least that of the constant less 0.001, for any intercept. So
    ``bound`` must lie that far below.

    Parameters
    ----------
    statement : Statement
    bound : float
        A bound proved over the statement's range of scales.

    Returns
    -------
    bool
    """
    step, scales, rule = statement.design.step, statement.scales, statement.intercept
    if scales is None or step is None or not bound > BEYOND:
        return False
    bounded = statement.arguments.get("intercept_bounds") is not None
    movable = not bounded or all(
        (2 * end / step).denominator == 1 for end in (rule.lower, rule.upper)
    )
    steep = scales.lower * POLICY.steepest <= float(step) * (1 + 1e-9)
    if (loss := statement.loss).name == "survival":
        steep &= loss.base.spread * math.exp(-POLICY.steepest) <= BEYOND  # type: ignore[attr-defined]
    least = _best_constant(statement.design, statement.loss.at(1.0))[1]  # type: ignore[attr-defined]
    return movable and steep and bound <= least - POLICY.flattest


def _best_constant(design: Design, loss: RiskLoss) -> tuple[float, float]:
    """Return the best score without points, in points of the loss's scale, and its mean loss."""
    rows, far = design.merged, InterceptRule("real", Fraction(-(10**6)), Fraction(10**6), None)
    best, losses = loss.best_intercepts(np.zeros((len(rows.y), 1)), rows.y, rows.weight, far)
    return float(best[0]), float(losses[0])


def penalty_of(design: Design, kind: str, lam: float, expert: Any) -> tuple[Any, ...]:
    """Return Omega with its weight; nothing for "none"."""
    kinds = get_args(PenaltyKind)
    if kind not in kinds:
        raise FormulationError(f"penalty must be one of {', '.join(kinds)}, got {kind!r}")
    if (kind == "eye") != (expert is not None):
        raise FormulationError("expert belongs to {penalty}, which needs it", penalty="eye")
    if kind == "none":
        if lam:
            raise FormulationError(f"{{lam}} needs a penalty: {', '.join(kinds[1:])}", lam=lam)
        return ()
    if kind == "facets":
        return (IntegerFacets(lam),)
    if kind in JUMPS:
        return (jump_penalty(design, kind, lam),)
    if kind == "eye":
        from milpscore.data.columns import expert_vector
        from milpscore.penalties import EYE

        features = tuple(dict.fromkeys(column.feature for column in design.columns))
        known = expert_vector(expert, design.columns, features)
        return (PointPenalty(lam, lambda weight: EYE(weight, expert=known)),)
    return (PointPenalty(lam, L1 if kind == "l1" else L2),)


def _intercept_rule(
    design: Design,
    loss: RiskLoss,
    kind: IntegerKind,
    bounds: Sequence[float] | None,
    totals: RowTotals,
) -> InterceptRule:
    """Return the allowed intercepts; by default every b that can be a minimiser."""
    # Row derivatives rise with the score. If all scores exceed z0, the best constant score, the
    # mean derivative is positive; so at the best b some total + b lies at or below scale * z0, and
    # some at or above it.
    rows, (smallest, largest) = design.merged, totals
    scales = loss.scale if isinstance(loss.scale, ScaleRange) else ScaleRange(1.0, 1.0)
    at_one = loss.at(1.0) if isinstance(loss.scale, ScaleRange) else loss
    up, down = (float(rows.weight[rows.y * sign > 0].sum()) for sign in (1, -1))
    if loss.name == "logistic" and min(up, down) > 0:
        middle = at_one.fixed * (math.log(up) - math.log(down))
    else:
        middle = _best_constant(design, at_one)[0]
    ends = middle * scales.lower, middle * scales.upper
    lower = min(ends) - float(largest.max(initial=0.0))
    upper = max(ends) - float(smallest.min(initial=0.0))
    return intercept_rule(kind, bounds, lower, upper)


def scale_of(scale: Any, design: Design, ranges: Ranges, totals: RowTotals) -> float | ScaleRange:
    """Return the fixed scale, or the scales a card may have."""
    if isinstance(scale, str) and scale == "auto":
        widths = design.widths[np.array(ranges.reach) > 0]
        narrowest = float(widths[widths > 0].min(initial=math.inf))
        span = float(totals[1].max(initial=0.0) - totals[0].min(initial=0.0))
        if not math.isfinite(narrowest) or span <= 0:
            return ScaleRange(1.0, 1.0)  # no points move any score
        step = float(design.step or 0)
        finest = step if 20 * step >= narrowest else narrowest
        return ScaleRange(
            _two_digits(finest / POLICY.steepest, ROUND_FLOOR),
            10.0 ** math.ceil(math.log10(span / POLICY.flattest)),
        )
    if isinstance(scale, Sequence) and not isinstance(scale, str) and len(scale) == 2:
        low, high = scale
        check_positive(scale=low)
        check_positive(scale=high)
        if low > high:
            raise FormulationError("{scale}: give the smaller number first", scale=scale)
        return ScaleRange(float(low), float(high))
    if isinstance(scale, str):
        raise FormulationError(
            f"scale must be a finite number > 0, 'auto' or a pair of numbers, got {scale!r}"
        )
    check_positive(scale=scale)
    return float(scale)


def _steepest(design: Design) -> float:
    """Return what the most points of a line may add to the score."""
    # of times to an event the events count: rows without one may be few
    sides = (True,) if isinstance(design, SurvivalDesign) else (False, True)
    weights = [design.weight[(design.y > 0) == side] for side in sides]
    # a row of weight 2 counts as two, and weights that add up to 1 do not count as one
    rarer = min(max(float(w.sum()), float((w > 0).sum())) for w in weights)
    return POLICY.gentle_line * (1.0 + rarer / POLICY.gentle_rows)


def _two_digits(number: float, rounding: str) -> float:
    """Round a number > 0 to two significant digits."""
    exact = Decimal(repr(float(number)))  # as it prints: 0.05 is above 0.05 in floats
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), rounding))


def _coprime(statement: Statement, card: Card) -> Card:
    """Divide points, intercept and scale by the points' common divisor if that is allowed."""
    if (smaller := card.coprime) is card:
        return card
    cheaper = statement.penalty(smaller.coefficients) <= statement.penalty(card.coefficients)
    return smaller if cheaper and not statement.violations(smaller) else card


def tangent_program(statement: Statement) -> Program:
    """The master program: no tangent yet but the least loss there can be."""
    import pyomo.environ as pyo

    from milpscore.formulations.card_model import CardModel
    from milpscore.verify.cards import mean_loss

    model = CardModel(statement)
    m = model.m
    model.add_points()
    terms = model.add_terms()
    model.add_intercept()
    options: dict[str, Any] = {}
    if statement.scales is not None:
        _add_scores(model)
        options["simplify"] = _coprime
    # no loss is negative
    model.variable("eta", lambda card: mean_loss(statement, card)[0], bounds=(0, None))
    m.cuts = pyo.ConstraintList()
    m.loss = pyo.Expression(expr=1.0 * m.eta)
    program = model.program(terms + _penalty_term(model), **options)
    if statement.scales is not None:
        # without integrality w says little: the weights of the scores over the slope do
        program.layout = replace(
            program.layout,
            read=_read_scores,
            fill=partial(_fill_scores, program.layout.fill),
            narrow=partial(_narrow_scores, program.layout.narrow),
        )
    return program


def _read_scores(m: Any) -> tuple[FloatArray, float]:
    """Return coefficients and intercept, in points, from those of the scores."""
    slope = max(m.slope.value, m.slope.lb)  # a solver may return 0 for a tiny one
    return np.array([v.value for v in m.v.values()], dtype=np.float64) / slope, m.c.value / slope


def _fill_scores(fill: Any, m: Any, statement: Statement, card: Card) -> None:
    """Fill a model, whose b is the cut of the totals alone: c is the score's intercept."""
    from milpscore.formulations._constraint_rows import cut_range

    fill(m, statement, card)
    if (step := statement.design.step) is not None and statement.intercept.step is None:
        low, high = cut_range(statement)
        cut = float(card.intercept // step * step)
        m.b.set_value(min(max(cut, low), high), skip_validation=True)


def _narrow_scores(
    narrow: Any, m: Any, old: Statement, new: Statement, arguments: Mapping[str, Any]
) -> frozenset[str] | None:
    """Narrow a model, and the intercepts of its scores."""
    from milpscore.formulations.card_model import move_ends

    parts: frozenset[str] | None = narrow(m, old, new, arguments)
    if parts is None:
        return None
    move_ends(m, [m.c], [_score_ends(old)], [_score_ends(new)])
    m.c_above.set_value(m.c - float(new.intercept.upper) * m.slope <= 0)
    m.c_below.set_value(m.c - float(new.intercept.lower) * m.slope >= 0)
    if old.max_terms is not None and new.max_terms is not None:
        fewer = old.max_terms - new.max_terms
        m.at_most_k_slopes.set_value(m.at_most_k_slopes.body + fewer * m.slope <= 0)
    return parts


def _score_ends(statement: Statement) -> tuple[float, float]:
    """Return the ends of the intercept times the slope."""
    # the best intercept leaves scores on both sides of the best constant one
    rule, scales = statement.intercept, statement.scales
    assert scales is not None
    slopes = 1.0 / scales.upper, 1.0 / scales.lower
    lower, upper = (float(end) for end in (rule.lower, rule.upper))
    return min(lower * slope for slope in slopes), max(upper * slope for slope in slopes)


def _reach_every_cut(
    rule: InterceptRule, totals: RowTotals, bounds: Sequence[float] | None
) -> InterceptRule:
    """Widen the intercepts to every way to cut the rows, unless a user bounds them."""
    # if errors are limited, the best intercept may lie far from the one of least loss
    if bounds is not None or rule.kind == "zero":
        return rule
    smallest, largest = totals
    lower = min(rule.lower, Fraction(math.floor(-float(largest.max(initial=0.0))) - 1))
    upper = max(rule.upper, Fraction(math.ceil(-float(smallest.min(initial=0.0)))))
    return replace(rule, lower=lower, upper=upper)


def _add_scores(model: CardModel) -> None:
    """The slope s and the score v.x + c: v_j = s w_j, one-hot over the values w_j may take."""
    # part_jk is s where w_j = k and 0 elsewhere, so that v_j = sum_k k part_jk without a product
    import pyomo.environ as pyo

    from milpscore.formulations._constraint_rows import cut_range

    m, statement, scales = model.m, model.statement, model.statement.scales
    assert scales is not None
    low, high = cut_range(statement)
    model.cut = "b", cut_range
    m.b.setlb(low)
    m.b.setub(high)
    least, most = 1.0 / scales.upper, 1.0 / scales.lower
    ends = list(zip(statement.coef_min.tolist(), statement.coef_max.tolist(), strict=True))
    values = {j: statement.coef_sets.get(j, range(ends[j][0], ends[j][1] + 1)) for j in m.J}

    def slope(card: Card) -> float:
        return 1.0 / float(card.scale or 1)

    def at_points(card: Card, value: float) -> dict[Any, float]:
        w = card.coefficients
        return {(j, k): value if w[j] == k else 0.0 for j in values for k in values[j]}

    m.JK = pyo.Set(dimen=2, initialize=[(j, k) for j in m.J for k in values[j]])
    model.variable("slope", slope, bounds=(least, most))
    model.variable("pick", lambda card: at_points(card, 1), m.JK, domain=pyo.Binary)
    model.variable("part", lambda card: at_points(card, slope(card)), m.JK, bounds=(0, most))
    reach = {j: (min(0, *values[j]) * most, max(0, *values[j]) * most) for j in m.J}
    model.variable(
        "v", lambda card: card.coefficients * slope(card), m.J, bounds=lambda m, j: reach[j]
    )
    rule = statement.intercept
    model.variable(
        "c", lambda card: float(card.intercept) * slope(card), bounds=_score_ends(statement)
    )

    m.one_pick = pyo.Constraint(m.J, rule=lambda m, j: sum(m.pick[j, k] for k in values[j]) == 1)
    m.picked = pyo.Constraint(
        m.J, rule=lambda m, j: m.w[j] - sum(k * m.pick[j, k] for k in values[j]) == 0
    )
    m.whole_slope = pyo.Constraint(
        m.J, rule=lambda m, j: sum(m.part[j, k] for k in values[j]) - m.slope == 0
    )
    m.part_above = pyo.Constraint(
        m.JK, rule=lambda m, j, k: m.part[j, k] - most * m.pick[j, k] <= 0
    )
    m.part_below = pyo.Constraint(
        m.JK, rule=lambda m, j, k: m.part[j, k] - least * m.pick[j, k] >= 0
    )
    m.scores = pyo.Constraint(
        m.J, rule=lambda m, j: m.v[j] - sum(k * m.part[j, k] for k in values[j]) == 0
    )
    m.c_above = pyo.Constraint(expr=m.c - float(rule.upper) * m.slope <= 0)
    m.c_below = pyo.Constraint(expr=m.c - float(rule.lower) * m.slope >= 0)
    if statement.max_terms is not None:
        # the limit on terms, times the slope
        used = sum(m.part[j, k] for j in m.J for k in values[j] if k)
        m.at_most_k_slopes = pyo.Constraint(expr=used - statement.max_terms * m.slope <= 0)


def _penalty_term(model: CardModel) -> Any:
    """lam Omega(w) as rows that are exact at whole points; EYE, a norm, by tangents."""
    import pyomo.environ as pyo

    m, statement = model.m, model.statement
    if len(statement.penalties) == 1:
        return 0.0
    term: Any = statement.penalties[1]
    lam, kind = model.weight("lam", term.lam), statement.arguments["penalty"]
    if kind == "eye":
        unit = term.make(1.0)
        model.variable("norm", lambda card: float(unit.value(card.coefficients)), bounds=(0, None))
        m.norm_cuts = pyo.ConstraintList()
        return lam * m.norm
    if kind == "l1" or kind in JUMPS:
        return lam * model.sizes(term)
    largest = model.add_sizes()
    # w^2 / 2 and (w^2 + |w|) / 2 are piecewise linear between whole points: |w| <= k + 1 and
    # >= k gives the chord through both, which lies below the function at every other whole point
    m.chords = pyo.Set(dimen=2, initialize=[(j, k) for j in m.J for k in range(largest[j])])
    model.variable(
        "curve", lambda card: _curve(kind, np.abs(card.coefficients)), m.J, bounds=(0, None)
    )

    @m.Constraint(m.chords)
    def curve_rows(m: Any, j: int, k: int) -> Any:
        low, high = _curve(kind, k), _curve(kind, k + 1)
        return m.curve[j] - (high - low) * m.size[j] >= low - (high - low) * k

    return lam * sum(m.curve[j] for j in m.J)


def _curve(kind: str, k: Any) -> Any:
    """Omega of coefficients of k points each."""
    return k * k / 2 if kind == "l2" else k * (k + 1) / 2
