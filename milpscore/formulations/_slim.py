"""SLIM-like program: 0-1 loss, integer points, L0 penalty and limit on terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from milpscore.core.card import RELATIVE_ROUNDING, Card
from milpscore.core.design import Design, FloatArray, IntArray, MergedRows, on_grid
from milpscore.core.errors import FormulationError
from milpscore.core.program import Program
from milpscore.core.statement import InterceptRule, Statement
from milpscore.data.designs import in_steps
from milpscore.formulations.building import (
    LEAST,
    MOST,
    Constraints,
    PerColumn,
    Ranges,
    RowTotals,
    as_design,
    builder,
    check_non_negative,
    divide_by_gcd,
    intercept_range,
    later,
    refuse_if_too_large,
)
from milpscore.formulations.cuts import JUMPS, MaxCuts, jump_penalty, within
from milpscore.formulations.policy import POLICY
from milpscore.losses import ZeroOne
from milpscore.penalties import L0, L1


@dataclass(frozen=True)
class _Units:
    """The unit of totals, and the gap in units that negative rows stay below T."""

    unit: Fraction
    gap: float
    on_grid: bool
    paired: bool = False

    def scale(self, X: FloatArray) -> FloatArray:
        """Return the rows in these units."""
        return on_grid(X, self.unit).astype(np.float64) if self.on_grid else X

    @property
    def caveat(self) -> str:
        """The cards that the bound covers if there is no grid."""
        if self.on_grid:
            return ""
        where = f"whose negative totals stay {self.gap:g} below T"
        if self.paired:
            where = (
                f"whose totals differ between the classes by {self.gap:g} or more, or not at all"
            )
        return (
            f"among cards {where}; "
            "bin the columns, or round decimals (X.round(2)), for a bound over all cards"
        )


@builder
def slim(
    X: Any,
    y: Any = None,
    *,
    coef_min: PerColumn = LEAST,
    coef_max: PerColumn = MOST,
    coef_sets: Mapping[str, Sequence[int]] | None = None,
    max_terms: int | None = None,
    max_cuts: MaxCuts = None,
    l0_penalty: float = 1e-3,
    l1_penalty: float = 0.0,
    penalty: Literal["none", "tv", "binarsity"] = "none",
    lam: float = 0.0,
    intercept_bounds: Sequence[float] | None = None,
    threshold_gap: float | None = None,
    big_m: Literal["joint", "row"] = "joint",
    pair_covers: bool = True,
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
        & z_i + z_{i'} + \sum_{x_{ij} > x_{i'j}} \alpha^+_j
          + \sum_{x_{ij} < x_{i'j}} \alpha^-_j \ge 1  & y_i = +1,\ y_{i'} = -1 \\
        & w_j \in \mathbb Z,\ T \in \delta \mathbb Z,\ z_i, \alpha_j \in \{0, 1\}

    with :math:`\alpha_j = \alpha^+_j + \alpha^-_j` for the signs of the points, :math:`\delta` the
    grid step of the data (1 for integer data; the model counts totals in units of it), :math:`s_i`
    the weight of the merged row i, and :math:`M_i` the smallest number that frees row i for all
    allowed w, and for the thresholds T that are next to a row's total.

    Parameters
    ----------
    penalty : {"none", "tv", "binarsity"}
        Besides C_0 and C_1: lam times the total variation of the points along every feature, as in
        :func:`risk_score`; a block of bins is then stated by its cuts.
    lam : float
        Its weight.
    big_m : {"joint", "row"}
        "joint": a card loses nothing by a threshold between the least total of a positive row and
        :math:`\delta` above the largest of a negative one, for the same w, and :math:`M_i` frees
        row i for these alone. Where rules limit errors, ``intercept_bounds`` are given, decimals
        have no grid, or pairs of rows are too many, it is that of "row": over every w and T.
        Rows of your own on T need "row".
    pair_covers : bool
        Whether nearby rows of opposite classes get the row that one of them is an error, or some
        points tell them apart: of each row with the three nearest ones. They change no card and
        raise the bound of the relaxation. Equal rows have theirs always.
    threshold_gap : float, optional
        For data on no usable grid: how far negative totals stay below T.

    Notes
    -----
    References: Ustun & Rudin, "Supersparse linear integer models for optimized medical scoring
    systems", Machine Learning 102 (2016), eqs. 2 and 6. The paper's symmetric margin counts a
    total of zero as an error in both classes and so loses cards, and its objective carries a small
    L1 term that makes weights coprime; here rows are counted as the printed card decides, and a
    card is divided by its greatest common divisor after the solve.
    """
    design = as_design(X, y, sample_weight, class_weight, positive)
    check_non_negative(l0_penalty=l0_penalty, l1_penalty=l1_penalty, lam=lam)
    if penalty not in ("none", *JUMPS):
        raise FormulationError(f"penalty must be one of none, {', '.join(JUMPS)}, got {penalty!r}")
    if lam and penalty == "none":
        raise FormulationError(f"{{lam}} needs a penalty: {', '.join(JUMPS)}", lam=lam)
    design = in_steps(design) if penalty in JUMPS else design
    limits = (coef_min, coef_max, coef_sets, max_terms, max_cuts, constraints)
    ranges, rules = within(design, penalty, *limits)
    penalties = (
        L0(l0_penalty),
        L1(l1_penalty),
        *([] if penalty == "none" else [jump_penalty(design, penalty, lam)]),
    )
    return errors_program(
        "slim", design, ranges, rules, penalties, intercept_bounds=intercept_bounds,
        threshold_gap=threshold_gap, big_m=big_m, pair_covers=pair_covers,
        arguments={"penalty": penalty},
    )  # fmt: skip


def errors_program(
    formulation: str, design: Design, ranges: Ranges, rules: tuple[Any, ...],
    penalties: tuple[Any, ...], *, intercept_bounds: Sequence[float] | None,
    threshold_gap: float | None, big_m: str, pair_covers: bool,
    arguments: Mapping[str, Any] | None = None,
) -> Program:  # fmt: skip
    """State cards of the fewest errors on the rows of a design."""
    rows = design.merged
    units = _choose_units(design, ranges.totals(rows.X), threshold_gap)
    units = replace(units, paired=design.unpaired is not design)
    grid_rows = units.scale(rows.X)
    smallest, largest = ranges.totals(grid_rows)
    rule = _intercept_rule(rows, smallest, largest, units, intercept_bounds)
    freeing = _big_m(rows, smallest, largest, rule, units)
    freeing[freeing <= 0] = -1.0  # no card errs there, whatever its threshold
    joint = _is_joint(big_m, rows, units, rules, intercept_bounds)

    def tightened() -> FloatArray:
        # a row that is right at every threshold next to a row keeps the others away: its M is 0
        least = np.minimum(freeing, _joint_big_m(rows.y, grid_rows, ranges))
        return np.where(freeing < 0, freeing, np.maximum(least, 0.0))

    most = units.gap / 2 / POLICY.integrality_tolerance
    if freeing.max(initial=0.0) >= most and not (joint and tightened().max() < most):
        raise FormulationError(
            f"{{big_m}} {freeing.max():.3g} times the integrality tolerance reaches half of the "
            f"threshold gap {units.gap:g}: bin the columns, narrow the coefficients, or raise "
            "{threshold_gap}",
            big_m=...,
            threshold_gap=...,
        )
    statement = Statement(
        formulation=formulation,
        design=design,
        loss=ZeroOne(),
        penalties=penalties,
        intercept=rule,
        caveat=units.caveat,
        arguments=arguments or {},
        constraints=rules,
        **vars(ranges),
    )
    return later(
        statement,
        lambda: _program(  # a search needs no model, and no big-M
            statement,
            grid_rows,
            tightened() if joint else freeing,
            units,
            joint=joint,
            pair_covers=pair_covers,
        ),
        counts=True,
        simplify=divide_by_gcd,
    )


def _program(
    statement: Statement, X: FloatArray, big_m: FloatArray, units: _Units, *, joint: bool,
    pair_covers: bool,
) -> Program:  # fmt: skip
    """The algebra; X holds the merged rows in grid units, shape (m, p), big_m one M per row."""
    import pyomo.environ as pyo

    from milpscore.formulations.card_model import CardModel, linear
    from milpscore.formulations.pair_covers import add_pair_covers

    refuse_if_too_large(statement.formulation, *X.shape)
    model, rows = CardModel(statement), statement.design.merged
    m, y = model.m, rows.y

    # Sets: merged rows I = I+ and I-, design columns J, contradicting pairs Q
    m.I = pyo.RangeSet(0, len(y) - 1)
    m.I_pos = pyo.Set(initialize=np.flatnonzero(y > 0).tolist(), within=m.I)
    m.I_neg = pyo.Set(initialize=np.flatnonzero(y < 0).tolist(), within=m.I)
    m.Q = pyo.RangeSet(0, len(rows.conflicts) - 1)
    if joint:
        m.beside_rows = pyo.Set(initialize=["T"])  # variables that no other row may speak of

    # Variables: points w, threshold T in grid units, errors z
    model.add_points()

    def thresholds(statement: Statement) -> tuple[float, float]:
        rule = statement.intercept
        return float(-rule.upper / units.unit), float(-rule.lower / units.unit)

    model.variable(
        "T",
        lambda card: (_beside_rows if joint else _threshold)(card, X, y, units),
        domain=pyo.Integers if units.on_grid else pyo.Reals,
        bounds=thresholds(statement),
    )
    model.cut = "T", thresholds
    model.variable("z", lambda card: _errors(card, X, y, units), m.I, domain=pyo.Binary)
    idle = frozenset(np.flatnonzero(big_m < 0).tolist())
    for i in sorted(idle):
        m.z[i].setub(0)  # no allowed card errs on this row
    penalty = model.add_terms() + model.add_l1()
    for jumps in statement.penalties[2:]:
        penalty += model.weight("lam", jumps.lam) * model.sizes(jumps)

    # (1) mean weighted errors
    errors = [m.z[i] for i in m.I]
    m.loss = pyo.Expression(expr=linear(errors, rows.weight / float(rows.weight.sum())))

    # (2) positive rows reach T, (3) negative rows stay delta below T, unless z_i = 1
    M = big_m.tolist()

    @m.Constraint(m.I_pos)
    def positive_rows(m: Any, i: int) -> Any:
        if i in idle:
            return pyo.Constraint.Skip
        return model.points.linear(X[i]) - m.T + M[i] * m.z[i] >= 0

    @m.Constraint(m.I_neg)
    def negative_rows(m: Any, i: int) -> Any:
        if i in idle:
            return pyo.Constraint.Skip
        return model.points.linear(X[i]) - m.T - M[i] * m.z[i] <= -units.gap

    # (4) a card errs on one row of a contradicting pair; off the grid, where the threshold may lie
    # within the gap above the pair's total, the model counts both
    pairs = rows.conflicts.tolist()

    @m.Constraint(m.Q)
    def contradictions(m: Any, q: int) -> Any:
        positive, negative = pairs[q]
        both = m.z[positive] + m.z[negative]
        return both == 1 if units.on_grid else both >= 1

    # (5) two rows of either class: an error, or points that tell them apart
    if pair_covers:
        add_pair_covers(model, X, units.gap)

    # (6) what else the card must meet
    return model.program(
        penalty,
        wrong="z",
        intercept=lambda m: -float(m.T.value) * float(units.unit),
    )


def _choose_units(design: Design, totals: RowTotals, threshold_gap: float | None) -> _Units:
    """Choose the data's grid if a solver can tell its points apart, else a threshold gap."""
    reach = float(totals[1].max(initial=0) - totals[0].min(initial=0))
    if threshold_gap is not None:
        check_non_negative(threshold_gap=threshold_gap)
        if threshold_gap == 0:
            raise FormulationError(
                "{threshold_gap} must be > 0: a zero gap proves nothing", threshold_gap=...
            )
        return _Units(Fraction(1), float(threshold_gap), on_grid=False)
    step = design.step
    if step is not None and (reach / float(step) + 1) * POLICY.integrality_tolerance < 0.5:
        return _Units(step, 1.0, on_grid=True)
    gap = max(reach, 1.0) * 10 * POLICY.integrality_tolerance
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
    """Return bounds on b = -T that keep every distinct way to cut the rows."""
    # above the largest negative total nothing is gained by raising T, below the smallest positive
    # total nothing by lowering it: wider bounds of the user's would only weaken the big-M
    positive, negative = rows.y > 0, rows.y < 0
    # off the grid a total on the threshold is undecided: T must be able to stay clear of the least
    clear = 0.0 if units.on_grid else units.gap
    low_T = Fraction(float(smallest[positive].min(initial=0.0) - clear)) * units.unit
    high_T = Fraction(float(largest[negative].max(initial=0.0) + units.gap)) * units.unit
    step = units.unit if units.on_grid else None
    lower, upper = intercept_range(intercept_bounds, -high_T, -low_T, step)
    if max(lower, -high_T) <= min(upper, -low_T):
        lower, upper = max(lower, -high_T), min(upper, -low_T)
    return InterceptRule("grid" if units.on_grid else "real", lower, upper, step)


def _big_m(
    rows: MergedRows, smallest: FloatArray, largest: FloatArray, rule: InterceptRule, units: _Units
) -> FloatArray:
    """Return per row the least M that frees it for all allowed w and T; 0 or less: no error."""
    T_min, T_max = float(-rule.upper / units.unit), float(-rule.lower / units.unit)
    return np.where(rows.y > 0, T_max - smallest, largest - T_min + units.gap)


def _is_joint(
    asked: str, rows: MergedRows, units: _Units, rules: Sequence[Any], bounds: Any
) -> bool:
    """Whether big-M that are joint are asked for, valid, and made in time."""
    if asked not in ("joint", "row"):
        raise FormulationError(f"{{big_m}} must be joint or row, got {asked!r}", big_m=...)
    positive = int(np.count_nonzero(rows.y > 0))
    entries = positive * (len(rows.y) - positive) * rows.X.shape[1]
    held = bounds is not None or any(rule.limits_answers for rule in rules)
    return asked == "joint" and units.on_grid and not held and entries <= POLICY.joint_entries


def _joint_big_m(y: IntArray, X: FloatArray, ranges: Ranges) -> FloatArray:
    """Return per row the least M that frees it for all allowed w, and T next to a row for it."""
    # T is at most 1 above a negative row's total for the same w, at least a positive one's
    least = np.zeros(len(y))
    for sign in (1, -1):
        least[y == sign] = 1.0 + ranges.ahead(X[y == sign], X[y == -sign], sign)
    return least


def _threshold(card: Card, X: FloatArray, y: IntArray, units: _Units) -> float:
    """Return a card's threshold in grid units."""
    return float(card.threshold / units.unit)


def _beside_rows(card: Card, X: FloatArray, y: IntArray, units: _Units) -> float:
    """Return the nearest threshold next to a row's total, in grid units: none errs on more."""
    total = X @ card.coefficients.astype(np.float64)
    # between the two no row is an error if they part the classes, else each is next to a row
    ends = sorted((float(total[y > 0].min()), float(total[y < 0].max()) + units.gap))
    return min(max(_threshold(card, X, y, units), ends[0]), ends[1])


def _errors(card: Card, X: FloatArray, y: IntArray, units: _Units) -> IntArray:
    """Return 1 for each merged row on which the card errs, else 0; shape (m,)."""
    total = X @ card.coefficients.astype(np.float64)
    slack = total - _threshold(card, X, y, units)
    # off the grid T may sit exactly on a total, or gap above one, and rounding must not tip it
    rounding = 0.0 if units.on_grid else RELATIVE_ROUNDING * max(1.0, float(np.abs(total).max()))
    return np.where(y > 0, slack < -rounding, slack > rounding - units.gap).astype(np.int64)
