"""Ordered classes by one total and several thresholds, under the 0-1 or the hinge loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray, IntArray, on_grid
from milpscore.core.errors import DataError, FormulationError
from milpscore.core.program import Program
from milpscore.core.statement import InterceptRule, Statement
from milpscore.data.ordinal import OrdinalDesign, by_boundaries, make_ordinal_design
from milpscore.formulations.building import (
    LEAST,
    MOST,
    Constraints,
    PerColumn,
    Ranges,
    allowed,
    applied,
    builder,
    check_non_negative,
    check_positive,
    divide_by_gcd,
    later,
    refuse_if_too_large,
)
from milpscore.formulations.policy import POLICY
from milpscore.losses import Hinge, ZeroOne
from milpscore.penalties import L0

if TYPE_CHECKING:
    from milpscore.formulations.card_model import CardModel

OrdinalLoss = Literal["zero_one", "hinge"]


@builder
def ordinal(
    X: Any,
    y: Any = None,
    *,
    loss: OrdinalLoss = "zero_one",
    margin: float = 1.0,
    coef_min: PerColumn = LEAST,
    coef_max: PerColumn = MOST,
    coef_sets: Mapping[str, Sequence[int]] | None = None,
    max_terms: int | None = None,
    l0_penalty: float = 1e-3,
    spacing: int = 1,
    big_m: Literal["joint", "row"] = "joint",
    pair_covers: bool = True,
    constraints: Constraints = (),
    sample_weight: Any = None,
    class_weight: Any = None,
) -> Program:
    r"""Ordered classes by one integer score and a threshold between each two of them.

    A row of total :math:`w \cdot x` is answered with the number of thresholds it reaches,
    :math:`d = \#\{k : w \cdot x \ge T_k\}`, of the K levels 0 .. K - 1. With :math:`s_{ik}` what
    the wrong side of threshold k costs row i of level :math:`c_i`, and S their sum:

    .. math::

        \min\ & \tfrac1S \sum_{i, k} s_{ik} z_{ik} + C_0 \sum_j \alpha_j \\
        & w \cdot x_i \ge T_k - M_{ik} z_{ik}                    & k \le c_i \\
        & w \cdot x_i \le T_k - \delta + M_{ik} z_{ik}           & k > c_i \\
        & z_{ik} \le z_{i,k+1}\ (k < c_i), \quad z_{ik} \ge z_{i,k+1}\ (k > c_i) \\
        & z_{ik} + z_{i'k} + \sum_{x_{ij} > x_{i'j}} \alpha^+_j
          + \sum_{x_{ij} < x_{i'j}} \alpha^-_j \ge 1             & c_{i'} < k \le c_i \\
        & T_{k+1} \ge T_k + g\, \delta                             & 1 \le k < K - 1 \\
        & l_j \alpha_j \le w_j \le u_j \alpha_j, \quad \sum_j \alpha_j \le h \\
        & w_j \in \mathbb Z,\ T_k \in \delta \mathbb Z,\ z_{ik}, \alpha_j \in \{0, 1\}

    with :math:`\delta` the grid step of the data, g the ``spacing`` and
    :math:`\alpha_j = \alpha^+_j + \alpha^-_j` for the signs of the points. As thresholds are
    ordered, the wrong sides of a row are those between its level and its answer, so that

    .. math:: \sum_k s_{ik} z_{ik} = s_i\, C(c_i, d_i), \qquad
        s_{ik} = s_i\, | C(c_i, k) - C(c_i, k - 1) |

    for every cost C that grows with the distance: nothing is approximated. The cost |c - d| makes
    all :math:`s_{ik} = s_i`; the share of wrong answers leaves the two thresholds next to a level.

    Under ``loss="hinge"`` a side costs what its total lacks of the margin,

    .. math:: \tfrac{1}{S\gamma} \sum_{i, k} s_{ik}
        \max(0,\ \gamma - y_{ik} (w \cdot x_i - T_k)), \qquad y_{ik} = \pm 1,

    the all-threshold loss of the cost |c - d|, the immediate-threshold loss of "zero_one".

    Parameters
    ----------
    X : array, DataFrame of shape (n, p), Design of two classes, or OrdinalDesign
        :func:`milpscore.data.make_ordinal_design` sets the order of text labels and the cost C.
    y : array of shape (n,), labels in order; None with a Design
        C is the distance |c - d| in levels.
    loss : {"zero_one", "hinge"}
    max_terms : int, optional
        Limit h on nonzero coefficients.
    l0_penalty : float
        C_0, for each term; the K - 2 gaps between thresholds count as terms of the objective (not
        of ``max_terms``), a constant.
    spacing : int
        g >= 1, in steps of the data: each level but the ends keeps at least that many totals.
    big_m : {"joint", "row"}
        "joint": a card loses nothing by thresholds that lie near the totals of the rows on either
        side, for the same w, and :math:`M_{ik}` frees row i for these alone. Where pairs of rows
        are too many, it is that of "row": over every w and T. Rows of your own on T or on gaps
        need "row"; the hinge loss has no M.
    pair_covers : bool
        Whether nearby rows on either side of a threshold get the row that one of them is wrong
        there, or some points tell them apart, as in :func:`slim`; not under the hinge loss.
    constraints : sequence of :class:`milpscore.constraints.Constraint`
        What else the points must meet; limits on errors need two classes and are refused.
    class_weight : "balanced" or mapping from label to weight, optional
        Of the levels.

    Returns
    -------
    Program
        Of the cards over :class:`milpscore.data.OrdinalDesign`, whose last K - 2 points are the
        gaps :math:`(T_k - T_{k-1}) / \delta`, and whose threshold is T_1. With two classes it is
        that of :func:`slim` (of :func:`hinge`).

    Notes
    -----
    References: Shashua & Levin, "Ranking with large margin principle: two approaches", NIPS 15
    (2003), for fixed w and several thresholds; Rennie & Srebro, "Loss functions for preference
    levels: regression with discrete ordered labels", IJCAI workshop (2005), for all-threshold and
    immediate-threshold losses; Li & Lin, "Ordinal regression by extended binary classification",
    NIPS 19 (2006), for the weights of a cost. They fit real weights; points, the 0-1 loss and the
    bound are ours. A threshold beyond all totals (by its place among the others) loses nothing
    by being moved to where it is next to them, which bounds every T_k and makes M small.
    """
    if loss not in get_args(OrdinalLoss):
        raise FormulationError(f"loss must be one of zero_one, hinge, got {loss!r}")
    if big_m not in ("joint", "row"):
        raise FormulationError(f"{{big_m}} must be joint or row, got {big_m!r}", big_m=...)
    check_positive(margin=margin, spacing=spacing)
    check_non_negative(l0_penalty=l0_penalty)
    if spacing != int(spacing):
        raise FormulationError(
            f"{{spacing}} must be a whole number of steps, got {spacing!r}", spacing=...
        )
    design = _as_ordinal(X, y, sample_weight, class_weight)
    base, gaps = design.base, design.gaps
    ranges = allowed(base, coef_min, coef_max, coef_sets, max_terms)
    merged = base.merged
    refuse_if_too_large("ordinal", (gaps + 1) * len(merged.y), base.shape[1])
    rules = applied(constraints, base)
    if any(rule.limits_answers for rule in rules):
        raise FormulationError(
            "limits on errors speak of two classes: an ordinal card takes rules of points alone; "
            "make the errors dearer by {class_weight}, or {cost}",
            class_weight=...,
            cost="squared",
        )
    unit = base.step
    if unit is None:
        raise DataError(
            "an ordinal card needs totals on a grid, and these decimals have none: bin the "
            "columns, or round them (X.round(2))"
        )
    smallest, largest = ranges.totals(on_grid(merged.X, unit).astype(np.float64))
    beyond = (0, 1) if loss == "zero_one" else (math.ceil(margin / unit),) * 2
    low, high = int(smallest.min(initial=0)) - beyond[0], int(largest.max(initial=0)) + beyond[1]
    ends = _Ends(low, high, int(spacing), gaps + 1, unit)
    reach = max(ends.span, *ranges.reach)
    if reach > POLICY.max_coefficient or reach * POLICY.integrality_tolerance >= 0.25:
        raise FormulationError(
            f"totals reach over {ends.span} steps of the data's grid, {unit}: bin the columns, "
            "round the data, or narrow the coefficients"
        )
    limit = ranges.max_terms
    statement = Statement(
        formulation="ordinal",
        design=design,
        loss=ZeroOne() if loss == "zero_one" else Hinge(margin),
        penalties=(L0(l0_penalty),),
        coef_min=np.append(ranges.coef_min, np.full(gaps, spacing)).astype(np.int64),
        coef_max=np.append(ranges.coef_max, np.full(gaps, ends.span)).astype(np.int64),
        coef_sets=ranges.coef_sets,
        max_terms=None if limit is None else limit + gaps,
        intercept=InterceptRule("grid", -ends.most(1) * unit, -ends.least(1) * unit, unit),
        constraints=rules,
    )
    return later(
        statement, lambda: _program(statement, ends, big_m, pair_covers), counts=loss == "zero_one",
        simplify=divide_by_gcd if loss == "zero_one" else lambda statement, card: card,
    )  # fmt: skip


def _as_ordinal(X: Any, y: Any, sample_weight: Any, class_weight: Any) -> OrdinalDesign:
    """Return the design itself, make one from a table, or restate one of two classes."""
    if not isinstance(X, Design):
        return make_ordinal_design(X, y, sample_weight=sample_weight, class_weight=class_weight)
    if any(part is not None for part in (y, sample_weight, class_weight)):
        raise DataError(
            "a Design already holds classes and weights: pass y and weights to make_ordinal_design"
        )
    if isinstance(X, OrdinalDesign):
        return X
    return by_boundaries(X, (X.y > 0).astype(np.int64), X.classes)


@dataclass(frozen=True)
class _Ends:
    """The ends of thresholds, in steps of the grid: T_k from ``least(k)`` to ``most(k)``."""

    low: int  # all rows reach it
    high: int  # none does
    spacing: int
    count: int
    unit: Fraction

    def least(self, k: int) -> int:
        """Return the least T_k: the thresholds above it still have room below all totals."""
        return self.low - (self.count - k) * self.spacing

    def most(self, k: int) -> int:
        """Return the largest T_k: the thresholds below it still have room above all totals."""
        return self.high + (k - 1) * self.spacing

    @property
    def span(self) -> int:
        """The largest gap."""
        return self.most(2) - self.least(1)

    def clipped(self, card: Card, gaps: int) -> IntArray:
        """Return a card's thresholds, those beyond all totals moved next to them, (count,)."""
        first = int(card.threshold / self.unit)
        steps = card.coefficients[len(card.coefficients) - gaps :]
        thresholds = first + np.append(0, np.cumsum(steps))
        k = range(1, self.count + 1)
        least, most = [self.least(i) for i in k], [self.most(i) for i in k]
        return np.asarray(np.clip(thresholds, least, most))


@dataclass(frozen=True)
class _Sides:
    """The distinct rows above and below each boundary, at any boundary they count at.

    A threshold above the least total of the rows above it, and above all totals of those below it,
    errs less the lower it is; below both it errs less the higher it is. Both ends rise with the
    boundary, as its rows above become fewer and those below more: so they do moved apart by the
    spacing for every neighbour, and thresholds cut off at these ends keep their distances.
    """

    above: list[FloatArray]
    below: list[FloatArray]
    ends: _Ends

    @classmethod
    def of(cls, X: FloatArray, at: IntArray, y: IntArray, ends: _Ends) -> _Sides | None:
        """Sort rows (m, p) about the boundaries ``at`` (m,), on the sides y.

        None if a side has no rows, or if they make too many pairs.
        """
        k = range(1, ends.count + 1)
        above = [np.unique(X[(y > 0) & (at >= i)], axis=0) for i in k]
        below = [np.unique(X[(y < 0) & (at <= i)], axis=0) for i in k]
        entries = [len(a) * b.size for a, b in zip(above, below, strict=True)]
        few = min(entries) > 0 and sum(entries) <= POLICY.joint_entries
        return cls(above, below, ends) if few else None

    def big_m(self, X: FloatArray, at: IntArray, y: IntArray, ranges: Ranges) -> FloatArray:
        """Return per row the least M that frees it for all w, and thresholds up to the ends."""
        found = np.zeros(len(y))
        for k, sides in enumerate(zip(self.above, self.below, strict=True), 1):
            for sign, others in ((1, sides[1]), (-1, sides[0])):
                own = (at == k) & (y == sign)
                lead = np.maximum(1.0 + ranges.ahead(X[own], others, sign), 0.0)
                found[own] = lead + self._room(k)[sign > 0]
        return found

    def clipped(self, thresholds: IntArray, w: IntArray) -> IntArray:
        """Return thresholds (count,) cut off at the ends for points w (p,)."""
        points, moved = w.astype(np.float64), thresholds.copy()
        for k, (above, below) in enumerate(zip(self.above, self.below, strict=True), 1):
            low, high = sorted((int((above @ points).min()), int((below @ points).max()) + 1))
            room = self._room(k)
            moved[k - 1] = min(max(thresholds[k - 1], low - room[0]), high + room[1])
        return moved

    def _room(self, k: int) -> tuple[int, int]:
        """The places of the neighbours below and above an end of T_k."""
        return (self.ends.count - k) * self.ends.spacing, (k - 1) * self.ends.spacing


def _program(statement: Statement, ends: _Ends, big_m: str, pair_covers: bool) -> Program:
    """The algebra; a merged row of the statement's design is a row and a boundary."""
    import pyomo.environ as pyo

    from milpscore.formulations.card_model import CardModel, linear
    from milpscore.formulations.pair_covers import add_pair_covers

    design, rows = statement.design, statement.design.merged
    assert isinstance(design, OrdinalDesign)
    p, gaps, unit = design.features, design.gaps, ends.unit
    X = on_grid(rows.X[:, :p], unit).astype(np.float64)
    at = 1 + np.count_nonzero(rows.X[:, p:], axis=1)  # the boundary of each row
    limit = None if statement.max_terms is None else statement.max_terms - gaps
    ranges = Ranges(statement.coef_min[:p], statement.coef_max[:p], {}, limit)
    smallest, largest = ranges.totals(X)
    model, y = CardModel(statement), rows.y
    m = model.m
    joint = big_m == "joint" and not isinstance(statement.loss, Hinge)
    beside = _Sides.of(X, at, y, ends) if joint else None

    def thresholds(card: Card) -> IntArray:
        found = ends.clipped(card, gaps)
        return found if beside is None else beside.clipped(found, card.coefficients[:p])

    # Sets: merged rows I with a boundary each, boundaries K
    m.I = pyo.RangeSet(0, len(y) - 1)
    m.K = pyo.RangeSet(1, gaps + 1)

    # Variables: points w (the gaps last), thresholds T in grid units
    model.add_points()

    def points(card: Card) -> IntArray:
        inside = np.diff(thresholds(card))
        return np.append(card.coefficients[:p], inside).astype(np.int64)

    model.implied["w"] = points
    model.variable(
        "T",
        lambda card: dict(zip(m.K, thresholds(card).tolist(), strict=True)),
        m.K,
        domain=pyo.Integers,
        bounds=lambda m, k: (ends.least(k), ends.most(k)),
    )
    penalty = model.add_terms()

    # (1) the gaps are what lies between thresholds; their ranges keep the order and the spacing
    m.ordered = pyo.Constraint(
        range(2, gaps + 2), rule=lambda m, k: m.T[k] - m.T[k - 1] - m.w[p + k - 2] == 0
    )

    def lead(i: int) -> Any:
        return model.points.linear(np.append(X[i], np.zeros(gaps))) - m.T[k[i]]

    def slack(card: Card) -> FloatArray:
        """Return how far each row lies above its threshold."""
        reached = X @ card.coefficients[:p].astype(np.float64)
        return np.asarray(reached - ends.clipped(card, gaps)[at - 1])

    share, sign, k = rows.weight / float(rows.weight.sum()), y.tolist(), at.tolist()
    # how far a row can lie on the wrong side of its threshold
    above = np.array([ends.most(boundary) for boundary in k]) - smallest
    below = largest - np.array([ends.least(boundary) for boundary in k])
    worst = np.where(y > 0, above, below)
    if isinstance(statement.loss, Hinge):
        gamma = float(Fraction(statement.loss.margin) / unit)
        model.variable(
            "xi", lambda card: np.maximum(0.0, gamma - y * slack(card)), m.I,
            bounds=lambda m, i: (0.0, gamma + max(float(worst[i]), 0.0)),
        )  # fmt: skip
        m.loss = pyo.Expression(expr=linear([m.xi[i] for i in m.I], share / gamma))
        m.margin_rows = pyo.Constraint(m.I, rule=lambda m, i: sign[i] * lead(i) + m.xi[i] >= gamma)
    else:
        freeing = np.where(y > 0, worst, worst + 1)
        if beside is not None:
            freeing = np.minimum(freeing, beside.big_m(X, at, y, ranges))
            # variables that no other row may speak of
            held = [*m.T.values(), *list(m.w.values())[p:]]
            m.beside_rows = pyo.Set(initialize=[variable.name for variable in held])
        _add_errors(model, X, at, lead, freeing.tolist(), slack)
        # (5) rows on either side of a threshold: one is wrong, or points tell them apart
        if pair_covers:
            add_pair_covers(model, X, 1.0, at)

    # (6) what else the points must meet
    first = float(unit)
    return model.program(penalty, intercept=lambda m: -float(m.T[1].value) * first)


def _add_errors(
    model: CardModel, X: FloatArray, at: IntArray, lead: Callable[[int], Any],
    big_m: list[float], slack: Callable[[Card], FloatArray],
) -> None:  # fmt: skip
    """Add a binary for each row on the wrong side of its threshold, which it leads by that far."""
    import pyomo.environ as pyo

    from milpscore.formulations.card_model import linear

    m, rows = model.m, model.statement.design.merged
    model.variable(
        "z", lambda card: ((slack(card) >= 0) != (rows.y > 0)).astype(np.int64), m.I,
        domain=pyo.Binary,
    )  # fmt: skip
    share = rows.weight / float(rows.weight.sum())
    m.loss = pyo.Expression(expr=linear([m.z[i] for i in m.I], share))
    sign = rows.y.tolist()

    # (2) rows above a boundary reach its threshold, (3) those below stay a step below it
    @m.Constraint(m.I)
    def sides(m: Any, i: int) -> Any:
        if sign[i] > 0:
            return lead(i) + big_m[i] * m.z[i] >= 0
        return lead(i) - big_m[i] * m.z[i] <= -1

    # (4) equal rows are on one side of a boundary, and no total reaches the higher of two
    # thresholds alone: answers a = 1 - z above, a = z below, fall with k
    m.chains = pyo.ConstraintList()
    for one, other, same in _neighbours(X, at, rows.y):
        answers = [m.z[i] if sign[i] < 0 else 1 - m.z[i] for i in (one, other)]
        rule = answers[0] - answers[1]
        m.chains.add(rule == 0 if same else rule >= 0)


def _neighbours(X: FloatArray, at: IntArray, y: IntArray) -> list[tuple[int, int, bool]]:
    """Return rows of equal features that follow each other, and whether at one boundary."""
    _, group = np.unique(X, axis=0, return_inverse=True)
    group = group.ravel()
    order = np.lexsort((y, at, group))
    pairs = zip(order[:-1].tolist(), order[1:].tolist(), strict=True)
    return [(a, b, bool(at[a] == at[b])) for a, b in pairs if group[a] == group[b]]
