"""Points and supports a statement allows: all, the nearest, the repaired, and the card of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import FormulationError
from milpscore.core.statement import Statement, best_losses
from milpscore.penalties import L0
from milpscore.search.policy import POLICY
from milpscore.verify import Evaluation, evaluate

Support = tuple[int, ...]


def within_ranges(statement: Statement, w: npt.ArrayLike) -> FloatArray:
    """Real weights, shape (p,), moved into the ranges, or FormulationError if not p finite ones."""
    given = np.asarray(w, dtype=np.float64)
    p = statement.design.shape[1]
    if given.shape != (p,):
        raise FormulationError(
            f"rounding needs one weight per design column ({p}), got shape {given.shape}: pass "
            "the coefficients of the relaxed result of this very program"
        )
    if not np.isfinite(given).all():
        raise FormulationError("rounding needs finite weights: solve the relaxed program first")
    return np.clip(given, *statement.ranges)


def neighbours(statement: Statement, w: npt.ArrayLike) -> tuple[IntArray, IntArray, FloatArray]:
    """The allowed values below and above each weight, and the share of the way up; each (p,)."""
    values = within_ranges(statement, w)
    whole = np.rint(values)
    values = np.where(np.abs(values - whole) <= POLICY.snap, whole, values)
    low, high = np.floor(values), np.ceil(values)
    for j, allowed in statement.coef_sets.items():
        value = min(max(values[j], allowed[0]), allowed[-1])
        at = int(np.searchsorted(allowed, value))
        high[j] = allowed[at]
        low[j] = allowed[at] if allowed[at] == value else allowed[at - 1]
        values[j] = value
    width = high - low
    fraction = np.divide(values - low, width, out=np.zeros_like(values), where=width > 0)
    return low.astype(np.int64), high.astype(np.int64), fraction


def nearest_points(statement: Statement, w: npt.ArrayLike) -> IntArray:
    """Return the allowed value closest to each weight, before any limit on terms; shape (p,)."""
    low, high, fraction = neighbours(statement, w)
    tie = np.abs(fraction - 0.5) <= POLICY.snap
    upwards = np.where(tie, np.abs(high) < np.abs(low), fraction > 0.5)
    return np.where(upwards, high, low)


def limit_terms(
    statement: Statement, points: IntArray, w: npt.ArrayLike
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return points (N, p) without their terms of least |w| (p,) beyond the limit; which hold."""
    # of equal weights the later column is dropped first
    limit = statement.max_terms
    fine = np.ones(len(points), dtype=bool)
    if limit is not None:
        lower, upper = statement.ranges
        forced = (lower > 0) | (upper < 0)
        for j, allowed in statement.coef_sets.items():
            forced[j] = 0 not in allowed
        order = np.lexsort((-np.abs(np.asarray(w, dtype=np.float64)), ~forced))
        used = points[:, order] != 0
        kept = used & ((np.cumsum(used, axis=1) <= limit) | forced[order])
        limited = np.zeros_like(points)
        limited[:, order] = np.where(kept, points[:, order], 0)
        points, fine = limited, np.count_nonzero(limited, axis=1) <= limit
    for constraint in statement.constraints:
        fine &= constraint.allows(points)
    return points, fine


def repaired(statement: Statement, points: IntArray) -> Card | None:
    """A card near some points, shape (p,), that meets every requirement; None without one."""
    w = repaired_points(statement, points)
    if w is None:
        return None
    card = statement.with_best_intercept(w)
    return None if statement.violations(card) else card


def repaired_points(statement: Statement, points: IntArray) -> IntArray | None:
    """Points near the given ones, shape (p,), that meet everything but limits on errors.

    One coefficient at a time takes the value that brings the points closest to what the
    constraints demand; of equal ones the least change. None where no single change helps any more.
    """
    lower, upper = statement.ranges
    w = np.clip(points, lower, upper)
    for j, allowed in statement.coef_sets.items():
        w[j] = min(allowed, key=lambda value: abs(value - int(w[j])))
    over = float(_excess(statement, w[None, :])[0])
    for _ in range(POLICY.repair_steps):
        if over == 0:
            break
        trials = _single_changes(statement, w)
        found = _excess(statement, trials)
        changes = np.abs(trials - w).sum(axis=1)
        k = int(np.lexsort((changes, found))[0])
        if found[k] >= over:
            return None
        w, over = trials[k], float(found[k])
    return w if over == 0 else None


def allowed_start(statement: Statement, points: IntArray) -> IntArray:
    """Points, shape (p,), repaired where the statement does not allow them and that succeeds."""
    if statement.allows(points[None, :])[0]:
        return points
    mended = repaired_points(statement, points)
    return points if mended is None else mended


def merged_totals(statement: Statement, points: IntArray) -> Iterator[tuple[slice, FloatArray]]:
    """Which rows of points (V, p), and their totals (m, some of V), by products of bounded size."""
    X = statement.design.merged.X
    weights = points.T.astype(np.float64)
    chunk = max(1, POLICY.total_entries // max(len(X), 1))
    for start in range(0, len(points), chunk):
        part = slice(start, min(start + chunk, len(points)))
        yield part, X @ weights[:, part]


def best_objectives(statement: Statement, points: IntArray) -> tuple[FloatArray, FloatArray]:
    """Loss with the best allowed intercept, and objective, of rows of points (V, p); each (V,)."""
    losses = np.empty(len(points))
    for part, totals in merged_totals(statement, points):
        losses[part] = best_losses(statement, totals, points[part])
    return losses, losses + np.array([statement.penalty(w) for w in points], dtype=np.float64)


def _excess(statement: Statement, points: IntArray) -> FloatArray:
    """How far rows of points, shape (V, p), are from meeting everything; shape (V,)."""
    over = np.zeros(len(points))
    if statement.max_terms is not None:
        over += np.maximum(np.count_nonzero(points, axis=1) - statement.max_terms, 0)
    for constraint in statement.constraints:
        over += constraint.excess(points)
    return over


def shifts_within(low: int, high: int, home: int) -> IntArray:
    """Whole shifts in [low, high], home (to 0) among them; of a wide range the ones near 0."""
    if high - low <= POLICY.wide_range:
        return np.arange(low, high + 1)
    near = np.r_[1:11, 15, 20, 30, 50, 100, 1000]
    return np.unique(np.clip(np.r_[-near, 0, near, home], low, high))


def changed(w: IntArray, columns: IntArray, shifts: IntArray) -> IntArray:
    """w, shape (p,), with the v-th shift added to the v-th column alone; shape (V, p)."""
    points = np.repeat(w[None, :], len(columns), axis=0)
    points[np.arange(len(columns)), columns] += shifts
    return points


def _single_changes(statement: Statement, w: IntArray) -> IntArray:
    """w, shape (p,), itself first, and with one coefficient at another allowed value; (V, p)."""
    shifts = [np.empty(0, dtype=np.int64)]
    for j, (low, high) in enumerate(zip(*(w - end for end in statement.ranges), strict=True)):
        own = shifts_within(-int(low), -int(high), -int(w[j]))
        if j in statement.coef_sets:
            own = np.array(statement.coef_sets[j]) - w[j]
            own = own[(own >= -low) & (own <= -high)]
        shifts.append(own[own != 0])
    columns = np.repeat(np.arange(len(w)), [len(own) for own in shifts[1:]])
    return np.concatenate([w[None, :], changed(w, columns, np.concatenate(shifts))])


@dataclass(frozen=True, eq=False)
class RoundedCard:
    """A card found by rounding or search, re-checked; it can start an exact solve.

    Attributes
    ----------
    method : str
        The method's name in :data:`milpscore.rounding.ROUNDINGS`.
    card : Card or None
        None where the points can be made to meet the statement in no way that was tried.
    evaluation : Evaluation or None
        The card's exact figures, recomputed from the raw rows.
    trace : ndarray of float64, read-only
        What the method drives down, from its start on; each method says what an entry is.
    points : ndarray of int64, shape (p,)
        As the method left them, before any repair.
    repaired : bool
        Whether points had to be changed for ``max_terms`` or a constraint.
    refusal : str
        The first requirement that is broken where there is no card; empty otherwise.
    random_state : int or None
        None for a method without chance, or where a Generator was given.
    figures : dict
        What the method proves, under the names of a comparison's columns; most prove nothing.
    details : dict
        What else the method's function names under "Returns"; each can be read as an attribute.
    """

    method: str
    card: Card | None
    evaluation: Evaluation | None
    trace: FloatArray
    points: IntArray
    repaired: bool
    refusal: str
    random_state: int | None = None
    figures: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        details = vars(self).get("details", {})  # none yet while a copy is made
        if name not in details:
            raise AttributeError(f"no {name!r}; of this method there are {', '.join(details)}")
        return details[name]

    @property
    def objective(self) -> float:
        """Objective of the card, NaN without one."""
        return float("nan") if self.evaluation is None else self.evaluation.objective

    @property
    def cards(self) -> tuple[Card, ...]:
        """The card, or nothing."""
        return () if self.card is None else (self.card,)


def rounded_card(
    method: str,
    statement: Statement,
    points: IntArray,
    w: npt.ArrayLike,
    trace: Any,
    *,
    random_state: Any = None,
    figures: dict[str, Any] | None = None,
    **details: Any,
) -> RoundedCard:
    """Return the card of the points (p,) a method ended at, its best intercept, and the record."""
    # too many terms are cut by dropping those of least absolute weight w (p,); points that still
    # break a constraint are changed one at a time until they meet it
    limited, fine = limit_terms(statement, points[None, :], w)
    final: IntArray | None = limited[0]
    if not fine[0]:
        final = repaired_points(statement, limited[0])
    card = statement.with_best_intercept(limited[0] if final is None else final)
    evaluation = evaluate(statement, card)
    return RoundedCard(
        method=method,
        card=card if evaluation.feasible else None,
        evaluation=evaluation if evaluation.feasible else None,
        trace=read_only(trace),
        points=points,
        repaired=final is not None and not np.array_equal(final, points),
        refusal="" if evaluation.feasible else evaluation.violations[0],
        random_state=seed_of(random_state),
        figures=figures or {},
        details=details,
    )


def seed_of(random_state: Any) -> int | None:
    """Return the seed, for the record; None where a Generator was given."""
    return None if isinstance(random_state, np.random.Generator) else random_state


def read_only(values: Any) -> FloatArray:
    """Return the values as a float64 array nobody can write to."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


# -- all points, and supports before any points are known ---------------------------------------


class Choices(NamedTuple):
    """Allowed points of t columns in rising order."""

    values: Any  # (t, V)
    prices: Any  # (t, V)
    counts: Any  # (t,): how many of the V entries are meant


@dataclass(frozen=True, eq=False)
class AllowedPoints:
    """The points each column may have, and the scale they are of."""

    # a price is the penalty of one column's points alone: the final choice among the cards found
    # looks at the penalties of whole cards
    choices: Choices
    scale: float  # 0: free,
    least: float = 0.0  # and at least this

    @classmethod
    def of(cls, statement: Statement, scale: float, least: float = 0.0) -> AllowedPoints:
        """Return the points a statement allows."""
        ends = zip(*(bound.tolist() for bound in statement.ranges), strict=True)
        listed = cache(_points)
        lists = [
            listed(low, high, statement.coef_sets.get(j)) for j, (low, high) in enumerate(ends)
        ]
        counts = np.array([len(points) for points in lists], dtype=np.int64)
        values = np.full((len(lists), int(counts.max(initial=1))), np.inf)
        for j, points in enumerate(lists):
            values[j, : len(points)] = points
        inside = np.arange(values.shape[1]) < counts[:, None]
        return cls(Choices(values, _prices(statement, values, inside), counts), scale, least)

    @cached_property
    def _nonzero(self) -> npt.NDArray[np.bool_]:
        """Which of the entries are meant and not 0, shape (p, V)."""
        values, _, counts = self.choices
        return np.asarray((np.arange(values.shape[1]) < counts[:, None]) & (values != 0))

    @cached_property
    def nothing(self) -> IntArray:
        """Positions of the points closest to 0, shape (p,)."""
        return np.asarray(np.abs(self.choices.values).argmin(axis=1), dtype=np.int64)

    @property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Columns that may have points other than 0, shape (p,)."""
        return np.asarray(self._nonzero.any(axis=1))

    @property
    def forced(self) -> Support:
        """Columns that may not have 0 points."""
        return tuple(np.flatnonzero(self._nonzero.sum(axis=1) == self.choices.counts).tolist())

    @property
    def least_price(self) -> FloatArray:
        """The cheapest points other than 0 of each column, shape (p,)."""
        return np.asarray(np.where(self._nonzero, self.choices.prices, np.inf).min(axis=1))

    def price(self, w: IntArray) -> float:
        """Return the prices of points w, shape (p,), added up."""
        values, prices, counts = self.choices
        used = np.flatnonzero(w).tolist()
        return float(sum(prices[j, np.searchsorted(values[j, : counts[j]], w[j])] for j in used))

    @property
    def real_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds on real weights: points / scale, or their signs where any scale will do."""
        low, high = self._ends
        if self.scale > 0:
            return low / self.scale, high / self.scale
        if self.least > 0:
            return np.minimum(low, 0.0) / self.least, np.maximum(high, 0.0) / self.least
        return np.where(low < 0, -np.inf, 0.0), np.where(high > 0, np.inf, 0.0)

    @property
    def reach(self) -> FloatArray:
        """The most points of either sign; infinite where the scale is fixed; shape (p,)."""
        low, high = self._ends
        most = np.maximum(np.maximum(-low, high), 1.0)
        return np.full(len(most), np.inf) if self.scale > 0 else most

    @property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        values, counts = self.choices.values, self.choices.counts
        return values[:, 0], values[np.arange(len(counts)), counts - 1]


def _points(low: int, high: int, chosen: tuple[int, ...] | None) -> list[int]:
    """Whole numbers of a range, or the chosen ones."""
    if chosen is not None:
        return [v for v in chosen if low <= v <= high]
    if high - low <= 2 * POLICY.widest_range:
        return list(range(low, high + 1))
    return sorted(
        {low, high, *range(max(low, -POLICY.widest_range), min(high, POLICY.widest_range) + 1)}
    )


def _prices(statement: Statement, values: FloatArray, inside: npt.NDArray[np.bool_]) -> FloatArray:
    """What each point alone costs, shape (p, V)."""
    prices, w = np.zeros_like(values), np.zeros(len(values))
    used = inside & (values != 0)
    for term in statement.penalties:
        if isinstance(term, L0):
            prices += np.where(used, term.lam, 0.0)
            continue
        nothing = term.value(w)
        for j, i in np.argwhere(used).tolist():
            w[j] = values[j, i]
            prices[j, i] += term.value(w) - nothing
            w[j] = 0.0
    return prices


@dataclass(frozen=True, eq=False)
class SupportRules:
    """What the constraints of a statement say of supports before any points are known."""

    statement: Statement

    def demanded(self) -> Support:
        """Columns without which no card meets the constraints."""
        p = self.statement.design.shape[1] if self.statement.constraints else 0
        return tuple(j for j in range(p) if not self._fine((), (j,)))

    def first(self, keyed: Iterator[tuple[int, Support]], most: int) -> dict[int, Support]:
        """By column the first supports that may grow into allowed ones, and that may be one."""
        if not self.statement.constraints:
            return dict(islice(keyed, most))
        fine = [pair for pair in keyed if self._fine(pair[1], ())]
        whole = (pair for pair in fine if self._fine(pair[1], self._rest(pair[1])))
        return dict([*fine[:most], *islice(whole, most)])

    def holds(self, key: Support) -> bool:
        """Whether points on these columns alone, some of them 0 perhaps, may be allowed."""
        return not self.statement.constraints or self._fine((), self._rest(key))

    def _fine(self, used: Support, unused: Support) -> bool:
        return all(c.allows_support(used, unused) for c in self.statement.constraints)

    def _rest(self, key: Support) -> Support:
        """Return the columns outside."""
        outside = np.ones(self.statement.design.shape[1], dtype=bool)
        outside[list(key)] = False
        return tuple(np.flatnonzero(outside).tolist())
