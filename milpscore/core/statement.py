"""The statement of a scoring problem: what is minimised over which cards, free of any solver."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from milpscore.core.card import Card, FloatTotals, GridTotals, TotalCuts, Totals, card_totals
from milpscore.core.design import BoolArray, Design, FloatArray, IntArray

LAM = 0.01
"""The weight of a penalty where none is given, in builders and estimators alike."""

LossTask: TypeAlias = Literal["classification", "regression", "count", "multinomial"]
InterceptKind = Literal["zero", "integer", "real", "grid"]


@dataclass(frozen=True)
class InterceptRule:
    """The intercepts a program allows: multiples of ``step``, or all, within finite bounds.

    The kind "grid" has the data's own step, so that every threshold that can matter is allowed.
    """

    kind: InterceptKind
    lower: Fraction
    upper: Fraction
    step: Fraction | None  # None for a real intercept

    def nearest(self, value: float | Fraction) -> Fraction:
        """Return the allowed intercept closest to ``value``."""
        exact = Fraction(value)
        if self.step is not None:
            exact = round(exact / self.step) * self.step
            low = -((-self.lower) // self.step) * self.step
            high = (self.upper // self.step) * self.step
        else:
            low, high = self.lower, self.upper
        return min(max(exact, low), high)

    def allows(self, value: Fraction) -> bool:
        """Whether ``value`` lies within the bounds and on the step."""
        on_step = self.step is None or value % self.step == 0
        return on_step and self.lower <= value <= self.upper


class Named(Protocol):
    """What has a name, for tables and registries."""

    @property
    def name(self) -> str:
        """The name; a penalty's in an integer program is the argument that carries its weight."""


class Loss(Named, Protocol):
    """A loss of the score s = w.x + b, evaluated row by row, for any card, exactly."""

    def exact_rows(
        self, totals: GridTotals, intercept: Fraction, y: IntArray
    ) -> tuple[IntArray, Fraction]:
        """Whole numbers k and a unit u so that row i's loss is exactly ``k[i] * u``."""

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Row losses in floating point, for data on no grid."""

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> Fraction:
        """Return the allowed intercept that minimises the weighted loss of these totals."""

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> tuple[FloatArray, FloatArray]:
        """(intercepts, mean losses), both (V,), of V cards, totals (n, V), in floating point."""


class RowLoss(Named, Protocol):
    """A convex loss of the score z = w.x + b, row by row, with its conjugate: hinge, or smooth.

    ``z`` has shape (n,), or (n, K) where ``task`` is "multinomial"; ``y`` holds the answers, shape
    (n,): -1/+1 for "classification", real for "regression", non-negative for "count", 0..K-1 for
    "multinomial". Every method works row by row and knows no row weights.
    """

    @property
    def task(self) -> LossTask:
        """What kind of answers it reads."""

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses, shape (n,)."""

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """sup over z of <u, z> - value(z), shape (n,); infinite outside its domain."""


class SmoothLoss(RowLoss, Protocol):
    """A convex loss with a derivative, for the proximal algorithms."""

    @property
    def curvature(self) -> float:
        """The largest second derivative; infinite where there is none."""

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Derivative in z, of the shape of z; written to ``out`` where given."""

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Second derivative in z (its diagonal, for "multinomial"), of the shape of z."""


class Penalty(Named, Protocol):
    """A penalty lam * Omega of the coefficients, its weight included.

    One whose values at whole points lie closer together than ``lam`` says how close in ``step``.
    """

    @property
    def lam(self) -> float:
        """The weight."""

    def value(self, w: FloatArray | IntArray) -> float:
        """lam * Omega(w)."""


class ProxPenalty(Penalty, Protocol):
    """A convex penalty for the proximal algorithms; ``w`` has shape (p,).

    Separable penalties may also offer ``ramps(p)``, the :class:`milpscore.penalties.ramps.Ramps`
    that coordinate descent reads.
    """

    @property
    def separable(self) -> bool:
        """Whether the penalty is a sum over the coefficients."""

    @property
    def is_norm(self) -> bool:
        """Whether Omega is a norm; there is a ``dual_norm`` then."""

    def prox(self, w: FloatArray, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the x that minimises ||x - w||^2 / 2 + step * lam * Omega(x)."""

    def conjugate(self, z: FloatArray) -> float:
        """sup over w of <z, w> - lam * Omega(w); infinite outside its domain."""

    def dual_scale(self, z: FloatArray) -> float:
        """Return the largest t in [0, 1] with ``conjugate(t z)`` finite."""

    def subdiff_distance(self, w: FloatArray, grad: FloatArray) -> FloatArray | float:
        """Distance of -grad to the subdifferential at w, by coefficient or as one number."""

    def lambda_max(self, grad0: FloatArray) -> float:
        """Return the least lam for which w = 0 is optimal, the loss having gradient grad0 there."""


class Reach(NamedTuple):
    """Where the points of all allowed cards lie.

    ``lower``, ``upper`` (p,): their ranges; ``used`` (p,): columns of which none is 0; ``terms``:
    limits the number of the others.
    """

    lower: IntArray
    upper: IntArray
    used: BoolArray
    terms: int


RULES = "rules"
"""The block of a model that holds the rows of the requirements, each under its ``key``."""


class Requirement(Protocol):
    """A requirement bound to a design; see :mod:`milpscore.constraints` for those there are."""

    @property
    def name(self) -> str:
        """What messages call it; no two of a statement share one."""

    @property
    def key(self) -> str:
        """The component of the model's block ``rules`` that holds its rows."""

    @property
    def limits_answers(self) -> bool:
        """Whether the intercept matters to it, as it does to a limit on errors."""

    @property
    def limits(self) -> Sequence[tuple[IntArray | FloatArray, float, str]]:
        """Return per limit on errors: costs of the raw rows if wrong, the most allowed, a name."""

    def violation(self, statement: Statement, card: Card) -> str:
        """A sentence where the card breaks it, from exact totals of the raw rows; else empty."""

    def allows(self, points: IntArray) -> BoolArray:
        """Which rows of ``points``, shape (V, p), meet whatever needs no intercept; shape (V,)."""

    def allows_answers(self, positive: BoolArray) -> BoolArray:
        """Which columns of answers to merged rows, shape (m, V), keep to the limits on errors."""

    def allows_cuts(self, cuts: TotalCuts) -> BoolArray:
        """Which of the ways to cut the raw rows' totals keep to the limits on errors."""

    def allows_support(self, included: Collection[int], excluded: Collection[int]) -> bool:
        """Whether a card with points on ``included`` and none on ``excluded`` may meet it.

        A column whose points are still free, 0 among them, belongs to neither.
        """

    def tightened(self, lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
        """Return the ranges of all points, shape (p,), cut down to what it allows one by one."""

    def narrowed(self, reach: Reach) -> Reach:
        """A part of a reach that holds every card in it that meets this, as small as is seen."""

    def excess(self, points: IntArray) -> FloatArray:
        """How far rows of points, shape (V, p), are from meeting it: 0 where they do."""

    def as_mapping(self) -> dict[str, Any]:
        """What it demands, as the entry of a file of constraints."""


@dataclass(frozen=True)
class ScaleRange:
    """The scales a card may have: points in one unit of the score, from ``lower`` to ``upper``."""

    lower: float
    upper: float

    def allows(self, scale: Fraction | None) -> bool:
        """Whether a card of this scale has one, and within the range."""
        return scale is not None and self.lower <= scale <= self.upper


@dataclass(frozen=True, eq=False)
class Statement:
    """min mean weighted loss + penalties over the integer cards allowed."""

    formulation: str  # the builder's name
    design: Design
    loss: Loss
    penalties: tuple[Penalty, ...]
    coef_min: IntArray  # (p,), finite, as coef_max
    coef_max: IntArray
    intercept: InterceptRule
    coef_sets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # sorted, by column
    max_terms: int | None = None  # maximal number of nonzero coefficients
    caveat: str = ""  # what a bound speaks of where that is less than "all cards"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    constraints: tuple[Requirement, ...] = ()  # what else a card must meet, bound to the design

    def __repr__(self) -> str:
        """Name, loss, shape and limits; the data stay out."""
        (rows, columns), lower, upper = self.shape, self.coef_min, self.coef_max
        points = f"points {min(lower, default=0)} to {max(upper, default=0)}"
        terms = "" if self.max_terms is None else f", at most {self.max_terms} terms"
        rules = f", {len(self.constraints)} constraints" if self.constraints else ""
        return (
            f"<Statement {self.formulation}, {self.loss.name} loss, of {rows} rows x {columns} "
            f"columns: {points}{terms}{rules}>"
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Raw rows and columns, (n, p)."""
        return self.design.shape

    @property
    def limits_errors(self) -> bool:
        """Whether a constraint limits errors, so that the intercept matters to it."""
        return any(each.limits_answers for each in self.constraints)

    @property
    def scales(self) -> ScaleRange | None:
        """The scales a card may choose from; None where the loss has its own, or none."""
        scale = getattr(self.loss, "scale", None)
        return scale if isinstance(scale, ScaleRange) else None

    def loss_of(self, card: Card) -> Loss:
        """Return the loss at a card's own scale, where the statement leaves that to the card."""
        if self.scales is None:
            return self.loss
        assert card.scale is not None, "a card without a scale: see `violations`"
        return self.loss.at(float(card.scale))  # type: ignore[attr-defined,no-any-return]

    def penalty(self, w: Any) -> float:
        """Sum of the penalties of coefficients w (real or whole)."""
        return sum(term.value(w) for term in self.penalties)

    def empty_card(self) -> Card:
        """No points at all, with the better of "always positive" and "always negative"."""
        return self._empty

    @cached_property
    def _empty(self) -> Card:
        """The empty card, which start, solve and certificate all ask for."""
        return self.with_best_intercept(np.zeros(self.design.shape[1], dtype=np.int64))

    def with_best_intercept(self, w: IntArray) -> Card:
        """The card of whole coefficients w, shape (p,), with the best intercept and scale allowed.

        Limits on errors are kept where an intercept that keeps them was found.
        """
        design = self.design
        return best_card(self, w, card_totals(design.X, design.step, Card(w, Fraction(0))))

    @cached_property
    def ranges(self) -> tuple[IntArray, IntArray]:
        """Bounds on every coefficient, those that constraints put on single ones included.

        Without these where they leave some coefficient nothing: then no card is allowed.
        """
        lower, upper = self.coef_min, self.coef_max
        for constraint in self.constraints:
            lower, upper = constraint.tightened(lower, upper)
        return (self.coef_min, self.coef_max) if np.any(lower > upper) else (lower, upper)

    def narrowed(self) -> Statement | None:
        """The same cards by narrower ranges, sets and terms; None where constraints leave none.

        For a search: the constraints themselves stay.
        """
        p = self.shape[1]
        terms = p if self.max_terms is None else min(self.max_terms, p)
        reach = Reach(self.coef_min, self.coef_max, np.zeros(p, dtype=bool), terms)
        for _ in range(20):  # rounds: a constraint narrows what others left
            before = reach
            for constraint in self.constraints:
                reach = constraint.narrowed(reach)
            if np.any(reach.lower > reach.upper) or reach.terms < 0:
                return None
            if all(np.array_equal(a, b) for a, b in zip(before[:2], reach[:2], strict=True)):
                break
        sets = {
            j: tuple(v for v in values if reach.lower[j] <= v <= reach.upper[j])
            for j, values in self.coef_sets.items()
        }
        short = reach.upper - reach.lower < 10_000  # a range of more values is not listed
        for j in np.flatnonzero(reach.used & short).tolist():
            values = sets.get(j, range(int(reach.lower[j]), int(reach.upper[j]) + 1))
            sets[j] = tuple(v for v in values if v != 0)
        if not all(sets.values()):
            return None
        limit = reach.terms if reach.terms < terms else self.max_terms
        return replace(
            self, coef_min=reach.lower, coef_max=reach.upper, coef_sets=sets, max_terms=limit
        )

    def allows(self, points: IntArray) -> BoolArray:
        """Which rows of points, shape (V, p), some intercept may complete to an allowed card.

        Ranges, sets, terms and constraints are looked at, limits on errors are not.
        """
        fine = np.asarray(((points >= self.coef_min) & (points <= self.coef_max)).all(axis=1))
        if self.max_terms is not None:
            fine &= np.count_nonzero(points, axis=1) <= self.max_terms
        for j, values in self.coef_sets.items():
            fine &= np.isin(points[:, j], values)
        for constraint in self.constraints:
            if fine.any():
                fine[fine] = constraint.allows(points[fine])
        return fine

    def violations(self, card: Card) -> tuple[str, ...]:
        """Sentences naming each requirement of the statement that the card breaks."""
        columns, w = self.design.columns, card.coefficients
        broken = []
        if len(w) != len(columns):
            return (f"the card has {len(w)} coefficients, the design {len(columns)} columns",)
        outside: list[int] = np.flatnonzero((w < self.coef_min) | (w > self.coef_max)).tolist()
        for j in outside:
            broken.append(
                f"{columns[j].name}: {w[j]} lies outside [{self.coef_min[j]}, {self.coef_max[j]}]"
            )
        for j, values in self.coef_sets.items():
            if int(w[j]) not in values:
                broken.append(f"{columns[j].name}: {w[j]} is not one of {list(values)}")
        if self.max_terms is not None and card.nonzeros > self.max_terms:
            broken.append(f"{card.nonzeros} terms where at most {self.max_terms} are allowed")
        if not self.intercept.allows(card.intercept):
            broken.append(
                f"intercept {card.intercept} is not an allowed {self.intercept.kind} value in "
                f"[{self.intercept.lower}, {self.intercept.upper}]"
            )
        scales = self.scales
        if scales is None and card.scale is not None:
            broken.append(f"the card has a scale of {card.scale} where none is asked for")
        if scales is not None and not scales.allows(card.scale):
            given = "no scale" if card.scale is None else f"scale {float(card.scale):g}"
            broken.append(f"{given} where one in [{scales.lower:g}, {scales.upper:g}] is needed")
        broken += [text for each in self.constraints if (text := each.violation(self, card))]
        return tuple(broken)


def best_card(statement: Statement, w: IntArray, totals: Totals) -> Card:
    """The card of whole coefficients w with the best intercept the limits on errors allow."""
    rule = statement.intercept
    limits = [each for each in statement.constraints if each.limits_answers]
    first = _fitted(statement, w, totals, rule)
    if not any(limit.violation(statement, first) for limit in limits):
        return first
    best, least = first, np.inf
    smooth = hasattr(statement.loss, "held_losses")  # of each side's runs the nearest is best
    for side in _near(_runs(statement, totals, limits), first.intercept):
        for allowed in side:
            card = _fitted(statement, w, totals, allowed)
            if any(limit.violation(statement, card) for limit in limits):
                continue  # a total on no grid may be too close to the threshold to tell
            lost = _mean_loss(statement, totals, card)
            if lost < least:
                best, least = card, lost
            if smooth:
                break
    return best


def _fitted(statement: Statement, w: IntArray, totals: Totals, rule: InterceptRule) -> Card:
    """The card of whole coefficients w with the best intercept of a rule, and the best scale."""
    design, scales, loss = statement.design, statement.scales, statement.loss
    if scales is None:
        return Card(w, loss.best_intercept(totals, design.y, design.weight, rule))
    values = totals.floats.values[:, None]
    lines = loss.best_lines(values, design.y, design.weight, rule)  # type: ignore[attr-defined]
    return scaled_card(statement, w, float(lines.slopes[0]), float(lines.intercepts[0]), rule)


def scaled_card(
    statement: Statement,
    w: IntArray,
    slope: float,
    intercept: float,
    rule: InterceptRule | None = None,
) -> Card:
    """Return the card of risks link(slope * w.x + intercept), its scale and intercept in points.

    Both are cut to ten digits, which readers can copy and no loss feels: an intercept of many
    scales keeps more.
    """
    scales = statement.scales
    assert scales is not None
    rule = statement.intercept if rule is None else rule
    short = Fraction(f"{1.0 / slope:.10g}")
    scale = min(max(short, Fraction(scales.lower)), Fraction(scales.upper))
    digits = 10 + max(0, min(7, math.frexp(intercept)[1] // 3 - 4))
    return Card(w, rule.nearest(Fraction(f"{intercept / slope:.{digits}g}")), scale)


def best_losses(
    statement: Statement, totals: FloatArray, points: IntArray, below: FloatArray | None = None
) -> FloatArray:
    """Mean loss of many cards, each with the best intercept the limits on errors allow."""
    rows, rule = statement.design.merged, statement.intercept
    found, losses = statement.loss.best_intercepts(totals, rows.y, rows.weight, rule)
    limits = [each for each in statement.constraints if each.limits_answers]
    if not limits:
        return losses
    nothing = 1e-9 * (1.0 + np.abs(totals).max(initial=0.0))
    positive = totals + found >= -nothing
    fine = np.logical_and.reduce([limit.allows_answers(positive) for limit in limits])
    limited, broken = losses.copy(), np.flatnonzero(~fine)
    limited[broken] = np.inf
    if below is not None:
        broken = broken[losses[broken] < below[broken]]
    if hasattr(statement.loss, "held_losses"):
        limited[broken] = _held_losses(statement, totals[:, broken], found[broken])
        return limited
    if statement.loss.name == "zero_one" and statement.design.step is not None:
        limited[broken] = [_cut_loss(statement, total) for total in totals[:, broken].T]
        return limited
    for k in broken.tolist():
        card = statement.with_best_intercept(points[k])
        if not any(limit.violation(statement, card) for limit in limits):
            merged = FloatTotals(totals[:, k], 0.0)
            mean = statement.loss_of(card).rows(merged, card.intercept, rows.y) @ rows.weight
            limited[k] = float(mean) / float(rows.weight.sum())
    return limited


def _cut_loss(statement: Statement, totals: FloatArray) -> float:
    """Return the least share of errors of a card's cuts within the limits on errors."""
    rows, rule, limits = statement.design.merged, statement.intercept, _merged_limits(statement)
    cuts = TotalCuts.of(totals)
    low, high = -float(rule.upper), -float(rule.lower)
    thresholds = np.append(cuts.distinct, cuts.distinct[-1] + float(statement.design.step or 1))
    fine = (low <= thresholds) & (thresholds <= high)
    for paid, allowed in limits:
        fine &= cuts.below(paid) <= allowed
    wrong = cuts.wrong(rows.weight, rows.y > 0)[fine]
    return float(wrong.min(initial=np.inf)) / float(rows.weight.sum())


def _merged_limits(statement: Statement) -> list[tuple[FloatArray, float]]:
    """Return per limit on errors what merged rows pay if answered negative, and the most."""
    sums = statement.design.merged.sums
    return [
        (sums(np.asarray(paid, dtype=np.float64)), allowed)
        for each in statement.constraints
        for paid, allowed, _ in each.limits
    ]


def _held_losses(statement: Statement, totals: FloatArray, unlimited: FloatArray) -> FloatArray:
    """Mean losses where limits on errors hold intercepts back from the unlimited best ones, (V,).

    Smooth losses rise from there on both sides, so that of each side's intercepts the nearest one
    counts. In floating point, and as if a threshold could lie on a total of the other side.
    """
    rows, rule = statement.design.merged, statement.intercept
    _, ends = held_thresholds(totals, _merged_limits(statement), -unlimited)
    held = np.stack([-ends[0], -ends[1] - (0.0 if rule.step is None else float(rule.step))])
    allowed = (held >= float(rule.lower)) & (held <= float(rule.upper))
    losses = np.full(ends.shape, np.inf)
    for side in (0, 1):
        some = np.flatnonzero(allowed[side])
        if len(some):
            shifted = totals[:, some] + held[side, some]
            losses[side, some] = statement.loss.held_losses(  # type: ignore[attr-defined]
                shifted, rows.y, rows.weight
            )
    return np.asarray(losses.min(axis=0))


def held_thresholds(
    totals: FloatArray, limits: Sequence[tuple[FloatArray, float]], unlimited: FloatArray
) -> tuple[BoolArray, FloatArray]:
    """(whether a threshold keeps to limits on errors, the nearest on both sides that do).

    ``totals`` (n, V), ``unlimited`` (V,); a limit is what each row pays if it is answered negative,
    and the most allowed. The nearest ones (2, V) below and above are totals, from above never
    reached: NaN where there are none.
    """
    ends, kept = np.full((2, totals.shape[1]), np.nan), np.zeros(totals.shape[1], dtype=bool)
    slack = [1e-12 * (abs(allowed) + float(np.abs(paid).sum())) for paid, allowed in limits]
    for k, column in enumerate(totals.T):
        cuts = TotalCuts.of(column)
        distinct = cuts.distinct
        fine = np.ones(len(cuts), dtype=bool)
        for (paid, allowed), more in zip(limits, slack, strict=True):
            fine &= cuts.below(paid) <= allowed + more
        at = int(np.searchsorted(distinct, unlimited[k]))
        kept[k] = fine[at]
        lower, upper = np.flatnonzero(fine[:at]), np.flatnonzero(fine[at:])
        if len(lower):
            ends[0, k] = distinct[lower[-1]]
        if len(upper) and at + upper[0] > 0:
            ends[1, k] = distinct[at + upper[0] - 1]
    return kept, ends


def _mean_loss(statement: Statement, totals: Totals, card: Card) -> float:
    """Mean weighted loss over the raw rows, in floating point."""
    design = statement.design
    rows = statement.loss_of(card).rows(totals.floats, card.intercept, design.y)
    return float(rows @ design.weight) / float(design.weight.sum())


def _near(runs: Iterator[InterceptRule], b: Fraction) -> Iterator[list[InterceptRule]]:
    """Yield the four ranges closest to the unlimited best intercept on each side: losses rise."""

    def distance(rule: InterceptRule) -> Fraction:
        return max(rule.lower - b, b - rule.upper, Fraction(0))

    order = sorted(runs, key=distance)
    yield [rule for rule in order if rule.upper < b][:4]
    yield [rule for rule in order if rule.upper >= b][:4]


def _runs(statement: Statement, totals: Totals, limits: list[Any]) -> Iterator[InterceptRule]:
    """Yield every longest range of intercepts that keeps to the limits."""
    grid, (values, unit) = isinstance(totals, GridTotals), totals.in_units
    cuts = TotalCuts.of(values)
    distinct = cuts.distinct
    fine = np.logical_and.reduce([limit.allows_cuts(cuts) for limit in limits])
    changes = np.flatnonzero(np.diff(np.r_[False, fine, False].astype(np.int8)))
    for first, last in zip(changes[::2].tolist(), (changes[1::2] - 1).tolist(), strict=True):
        lower, upper = statement.intercept.lower, statement.intercept.upper
        if last < len(distinct):  # a tie is positive: b = -total takes the row
            lower = max(lower, -Fraction(distinct[last].item()) * unit)
        if first > 0:
            beyond = -Fraction(distinct[first - 1].item()) * unit
            upper = min(upper, _below(statement.intercept, beyond, unit, lower, grid))
        if lower <= upper and _holds_step(statement.intercept.step, lower, upper):
            yield replace(statement.intercept, lower=lower, upper=upper)


def _below(
    rule: InterceptRule, end: Fraction, unit: Fraction, lower: Fraction, grid: bool
) -> Fraction:
    """Return the largest intercept below ``end``; without a step one a little below it."""
    if rule.step is not None:
        return (-((-end) // rule.step) - 1) * rule.step
    return end - unit / 2**30 if grid else (end + max(lower, end - 1)) / 2


def _holds_step(step: Fraction | None, lower: Fraction, upper: Fraction) -> bool:
    """Whether a multiple of the step lies between the ends."""
    return step is None or -((-lower) // step) * step <= upper
