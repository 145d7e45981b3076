"""The few forms that every constraint is made of, which judge a card; names made columns."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from milpscore.core.card import Card, GridTotals, TotalCuts, card_totals
from milpscore.core.design import BoolArray, Design, FloatArray, IntArray
from milpscore.core.errors import FormulationError, is_whole, near_matches
from milpscore.core.statement import Reach, Statement

Group = tuple[int, ...]

ROUNDING = 1e-9
"""Relative slack of a limit on sums of weights and values that lie on no grid."""


def near(end: int) -> int:
    """Clip the end of a range of whole numbers to 64 bits: no points or totals reach as far."""
    return max(-(10**18), min(10**18, end))


def _ends(lower: float | None, upper: float | None) -> tuple[float, float]:
    """Return a range as two numbers, open ends infinite."""
    return (-np.inf if lower is None else lower, np.inf if upper is None else upper)


def _beyond(least: Any, most: Any, ends: tuple[float, float]) -> FloatArray:
    """Return how far intervals [least, most] reach outside a range, both sides together."""
    return np.asarray(np.maximum(ends[0] - least, 0.0) + np.maximum(most - ends[1], 0.0))


class _OfPoints(ABC):
    """A part that needs no intercept; by default it limits neither supports nor ranges."""

    @abstractmethod
    def excess(self, points: IntArray) -> FloatArray:
        """Return how far rows of points (V, p) are from meeting it; 0 if they do."""

    def allows(self, points: IntArray) -> BoolArray:
        """Return which rows of points meet it."""
        return np.asarray(self.excess(points) == 0)

    def allows_support(self, included: Collection[int], excluded: Collection[int]) -> bool:
        """Return whether a card with points on ``included``, none on ``excluded``, may meet it."""
        return True

    def narrowed(self, reach: Reach) -> Reach:
        """Return tighter ranges for the same cards, so far as it implies them by itself."""
        return reach


@dataclass(frozen=True, eq=False)
class Points(_OfPoints):
    """lower <= w_j <= upper for some columns; None if that end is open."""

    columns: Group
    lower: int | None
    upper: int | None

    def broken(self, design: Design, card: Card) -> str:
        """Say how a card breaks it; empty if it does not."""
        low, high = _ends(self.lower, self.upper)
        for j in self.columns:
            w = int(card.coefficients[j])
            if not low <= w <= high:
                return f"{design.names[j]} has {w} points, outside [{low:g}, {high:g}]"
        return ""

    def excess(self, points: IntArray) -> FloatArray:
        """Add up the points outside."""
        w = points[:, list(self.columns)]
        return np.asarray(_beyond(w, w, _ends(self.lower, self.upper)).sum(axis=1))

    def allows_support(self, included: Collection[int], excluded: Collection[int]) -> bool:
        """Return whether 0 is allowed on ``excluded``, and another number on ``included``."""
        low, high = _ends(self.lower, self.upper)
        must, never = low > 0 or high < 0, low == high == 0
        return not any((must and j in excluded) or (never and j in included) for j in self.columns)

    def narrowed(self, reach: Reach) -> Reach:
        """Cut the ranges down to these."""
        lower, upper = self.tightened(reach.lower, reach.upper)
        return reach._replace(lower=lower, upper=upper)

    def tightened(self, lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
        """Cut the ranges down to these."""
        lower, upper, columns = lower.copy(), upper.copy(), list(self.columns)
        if self.lower is not None:
            lower[columns] = np.maximum(lower[columns], self.lower)
        if self.upper is not None:
            upper[columns] = np.minimum(upper[columns], self.upper)
        return lower, upper


@dataclass(frozen=True, eq=False)
class Ordered(_OfPoints):
    """w_a <= w_b for each pair (a, b)."""

    pairs: tuple[tuple[int, int], ...]

    def broken(self, design: Design, card: Card) -> str:
        """Say how a card breaks it; empty if it does not."""
        for a, b in self.pairs:
            low, high = int(card.coefficients[a]), int(card.coefficients[b])
            if low > high:
                return f"{design.names[a]} has {low} points and {design.names[b]} only {high}"
        return ""

    def excess(self, points: IntArray) -> FloatArray:
        """Add up the steps in the wrong direction."""
        ends = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        wrong = np.maximum(points[:, ends[:, 0]] - points[:, ends[:, 1]], 0)
        return np.asarray(wrong.sum(axis=1), dtype=np.float64)

    def narrowed(self, reach: Reach) -> Reach:
        """Raise lower ends to those before them, and cut upper ends to those after them."""
        lower, upper = reach.lower.copy(), reach.upper.copy()
        for a, b in self.pairs:
            lower[b], upper[a] = max(lower[b], lower[a]), min(upper[a], upper[b])
        return reach._replace(lower=lower, upper=upper)


@dataclass(frozen=True, eq=False)
class Used(_OfPoints):
    """lower <= sum_g factor_g [some column of g has points] <= upper."""

    groups: tuple[Group, ...]
    factors: tuple[int, ...]
    lower: int | None
    upper: int | None
    sentence: str
    unit: Fraction = Fraction(1)  # what messages call a factor of 1

    def _sums(self, points: IntArray) -> IntArray:
        used = points != 0
        columns = [used[:, list(group)].any(axis=1) for group in self.groups]
        factors = np.array(self.factors, dtype=np.int64)
        return np.asarray(np.stack(columns, axis=1).astype(np.int64) @ factors)

    def broken(self, design: Design, card: Card) -> str:
        """Say how a card breaks it; empty if it does not."""
        if self.allows(card.coefficients[None, :])[0]:
            return ""
        if min(self.factors) < 0 or len(self.groups) == 1:
            return self.sentence
        sums = int(self._sums(card.coefficients[None, :])[0]) * self.unit
        return f"{self.sentence}, the card uses {float(sums):g}"

    def excess(self, points: IntArray) -> FloatArray:
        """Return how many are used too few or too many."""
        sums = self._sums(points)
        return _beyond(sums, sums, _ends(self.lower, self.upper))

    def allows_support(self, included: Collection[int], excluded: Collection[int]) -> bool:
        """Return whether the sums that are still possible reach into the range."""
        least = most = 0
        for group, factor in zip(self.groups, self.factors, strict=True):
            surely = any(j in included for j in group)
            never = all(j in excluded for j in group)
            ends = {factor} if surely else {0} if never else {0, factor}
            least, most = least + min(ends), most + max(ends)
        low, high = _ends(self.lower, self.upper)
        return most >= low and least <= high

    def narrowed(self, reach: Reach) -> Reach:
        """Narrow columns that must or cannot be used, and the number of terms."""
        may = (reach.lower != 0) | (reach.upper != 0)
        low, high = _ends(self.lower, self.upper)
        factors = [
            factor if may[list(group)].any() else 0
            for group, factor in zip(self.groups, self.factors, strict=True)
        ]
        least, most = sum(min(f, 0) for f in factors), sum(max(f, 0) for f in factors)
        lower, upper, used = reach.lower.copy(), reach.upper.copy(), reach.used.copy()
        for group, factor in zip(self.groups, factors, strict=True):
            if len(group) == 1 and (most - max(factor, 0) < low or least - min(factor, 0) > high):
                used[group[0]] = True
            if factor and (least + max(factor, 0) > high or most + min(factor, 0) < low):
                columns = list(group)
                lower[columns] = np.maximum(lower[columns], 0)
                upper[columns] = np.minimum(upper[columns], 0)
        terms = reach.terms
        members = [j for group in self.groups for j in group]
        if set(self.factors) == {1} and self.upper is not None and len(members) == len({*members}):
            sizes = sorted((int(may[list(group)].sum()) for group in self.groups), reverse=True)
            free = int(may.sum()) - sum(sizes)
            terms = min(terms, free + sum(sizes[: max(self.upper, 0)]))
        return Reach(lower, upper, used, terms)


@dataclass(frozen=True, eq=False)
class Answers:
    """sum over the rows answered negative of paid_i <= limit.

    A row that errs if it is answered positive is paid less than 0, and the limit less the same.
    """

    paid: IntArray | FloatArray  # by the raw rows: whole where the weights lie on a grid
    limit: float
    sentence: str
    unit: float  # what messages call one unit of what is paid
    of: str = ""
    before: float = 0.0  # what messages add: all that is paid if every row is answered negative

    @property
    def allowed(self) -> float:
        """The limit, with what rounding may add to sums of floats."""
        if np.issubdtype(self.paid.dtype, np.integer):
            return self.limit
        return self.limit + ROUNDING * float(np.abs(self.paid).sum())

    def broken(self, design: Design, card: Card) -> str:
        """Say by how much a card breaks it, from the exact totals of the raw rows."""
        # a row of which no answer is certain pays more
        sides = np.where(self.paid < 0, -1, 1)
        dear = wrong_rows(design.X, sides, design.step, card)
        spent = self.paid[dear == (self.paid >= 0)].sum().item()
        if spent <= self.allowed:
            return ""
        return f"{self.sentence}, the card has {(spent + self.before) * self.unit:.6g}{self.of}"

    def allows_answers(self, design: Design, positive: BoolArray) -> BoolArray:
        """Return which columns of answers to the merged rows keep to the limit."""
        return np.asarray(design.merged.sums(self.paid) @ ~positive <= self.allowed)

    def allows_cuts(self, cuts: TotalCuts) -> BoolArray:
        """Return which cuts of the raw rows' totals keep to the limit."""
        return np.asarray(cuts.below(self.paid) <= self.allowed)


def wrong_rows(X: FloatArray, y: IntArray, step: Fraction | None, card: Card) -> BoolArray:
    """Return whether the card errs on each row, counted as the 0-1 loss does; shape (n,)."""
    from milpscore.losses import ZeroOne

    totals = card_totals(X, step, card)
    if isinstance(totals, GridTotals):
        return ZeroOne().exact_rows(totals, card.intercept, y)[0] > 0
    return ZeroOne().rows(totals, card.intercept, y) > 0


@dataclass(frozen=True, eq=False)
class Totals(_OfPoints):
    """lower <= every total that the features' values can add up to <= upper."""

    # the columns of a feature, and the distinct values they have together: (k, columns), in whole
    # steps of the data's grid where there is one, as are the ends
    features: tuple[tuple[Group, IntArray | FloatArray], ...]
    lower: float | None
    upper: float | None
    unit: Fraction | None  # the data's step
    sentence: str = ""  # what messages say; by default that totals reach too far

    def ends(self, points: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest total of each row of points, in units; shapes (V,)."""
        # on a grid every product and sum is a whole number, exact in floating point
        least, most = np.zeros(len(points)), np.zeros(len(points))
        for columns, values in self.features:
            parts = np.asarray(values @ points[:, list(columns)].T, dtype=np.float64)
            least += parts.min(axis=0)
            most += parts.max(axis=0)
        return least, most

    def broken(self, design: Design, card: Card) -> str:
        """Say how a card breaks it; empty if it does not."""
        points = card.coefficients[None, :]
        if self.allows(points)[0]:
            return ""
        unit = float(self.unit or 1)
        least, most = (float(end[0]) * unit for end in self.ends(points))
        if self.sentence:
            return f"{self.sentence}, the card has {most:g}"
        low, high = (end * unit for end in _ends(self.lower, self.upper))
        return f"totals reach from {least:g} to {most:g}, outside [{low:g}, {high:g}]"

    def allows(self, points: IntArray) -> BoolArray:
        """Return which rows of points keep every total within."""
        slack = 0.0 if self.unit is not None else ROUNDING
        room = (slack * max(1.0, abs(end or 0.0)) for end in (self.lower, self.upper))
        low, high = _ends(self.lower, self.upper)
        least, most = self.ends(points)
        return np.asarray((least >= low - next(room)) & (most <= high + next(room)))

    def excess(self, points: IntArray) -> FloatArray:
        """Return how far the totals reach outside."""
        beyond = _beyond(*self.ends(points), _ends(self.lower, self.upper))
        return np.where(self.allows(points), 0.0, beyond)

    def narrowed(self, reach: Reach) -> Reach:
        """Narrow each column to what any value leaves it, the others at their best."""
        if self.unit is None:  # sums on no grid are rounded
            return reach
        ends = np.stack([reach.lower, reach.upper])
        for sign, limit in ((1, self.upper), (-1, self.lower)):
            if limit is not None:
                self._cut(ends, sign, sign * int(limit))
        terms = reach.terms
        if self.lower is not None and self.upper is not None:
            # the spans of the features add up
            room, spans = int(self.upper - self.lower), np.zeros(ends.shape[1], dtype=np.int64)
            for columns, values in self.features:
                if len(columns) == 1:
                    spans[columns[0]] = np.ptp(values)
            most = np.where(spans > 0, room // np.maximum(spans, 1), np.iinfo(np.int64).max)
            ends = np.stack([np.maximum(ends[0], -most), np.minimum(ends[1], most)])
            may = (ends != 0).any(axis=0)
            terms = min(terms, int((np.cumsum(np.sort(spans[may])) <= room).sum()))
        return reach._replace(lower=ends[0], upper=ends[1], terms=terms)

    def _cut(self, ends: IntArray, sign: int, limit: int) -> None:
        """Cut ranges (2, p) to points with which sign * total can stay within the limit."""
        parts = []
        # a feature adds at least what any one of its values adds
        for columns, values in self.features:
            v, (low, high) = sign * values, ends[:, list(columns)]
            terms = np.minimum(v * low, v * high)
            least = int(terms.sum(axis=1).max())
            if len(columns) == 1:  # convex in its points: least at an end or at 0
                least = min((v * w).max() for w in (low, high, np.clip(0, low, high)))
            parts.append((list(columns), v, terms, int(least)))
        total, far = sum(least for *_, least in parts), np.iinfo(np.int64).max
        for at, v, terms, least in parts:
            # per value and column, v_j w_j <= what the other columns and features leave
            room = limit - (total - least) - (terms.sum(axis=1, keepdims=True) - terms)
            most = room // np.where(v == 0, 1, np.abs(v))
            ends[1, at] = np.minimum(ends[1, at], np.where(v > 0, most, far).min(axis=0))
            ends[0, at] = np.maximum(ends[0, at], np.where(v < 0, -most, -far).max(axis=0))


Part: TypeAlias = Points | Ordered | Used | Answers | Totals


@dataclass(frozen=True, eq=False)
class AppliedConstraint:
    """A constraint on a design; the :class:`milpscore.core.statement.Requirement` of it."""

    constraint: Any
    design: Design
    name: str
    key: str
    parts: tuple[Part, ...]

    @property
    def limits_answers(self) -> bool:
        """Whether it limits what rows are answered, errors as a rule."""
        return bool(self._limits)

    def violation(self, statement: Statement, card: Card) -> str:
        """Say how the card breaks the first part it breaks; empty if it breaks none."""
        for part in self.parts:
            if text := part.broken(self.design, card):
                return text if text.startswith(self.name) else f"{self.name}: {text}"
        return ""

    @property
    def limits(self) -> list[tuple[IntArray | FloatArray, float, str]]:
        """Per limit: what the raw rows pay if answered negative, the most allowed, a name."""
        return [(part.paid, part.allowed, self.name) for part in self._limits]

    @cached_property
    def _limits(self) -> list[Answers]:
        return [part for part in self.parts if isinstance(part, Answers)]

    @cached_property
    def _of_points(self) -> list[_OfPoints]:
        return [part for part in self.parts if isinstance(part, _OfPoints)]

    def allows(self, points: IntArray) -> BoolArray:
        """Return which rows of points meet every part that needs no intercept."""
        return _all([part.allows(points) for part in self._of_points], len(points))

    def allows_answers(self, positive: BoolArray) -> BoolArray:
        """Return which columns of answers to the merged rows keep to the limits on errors."""
        fine = [part.allows_answers(self.design, positive) for part in self._limits]
        return _all(fine, positive.shape[1])

    def allows_cuts(self, cuts: TotalCuts) -> BoolArray:
        """Return which cuts of the raw rows' totals keep to the limits on errors."""
        return _all([part.allows_cuts(cuts) for part in self._limits], len(cuts))

    def allows_support(self, included: Collection[int], excluded: Collection[int]) -> bool:
        """Return whether a card with points on ``included``, none on ``excluded``, may meet it."""
        inside, outside = frozenset(included), frozenset(excluded)
        return all(part.allows_support(inside, outside) for part in self._of_points)

    def tightened(self, lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
        """Cut the ranges of all points down to what it allows one by one."""
        for part in self.parts:
            if isinstance(part, Points):
                lower, upper = part.tightened(lower, upper)
        return lower, upper

    def narrowed(self, reach: Reach) -> Reach:
        """Return tighter ranges for the same cards."""
        for part in self._of_points:
            reach = part.narrowed(reach)
        return reach

    def excess(self, points: IntArray) -> FloatArray:
        """Return how far rows of points are from meeting it; 0 if they do."""
        over = sum(part.excess(points) for part in self._of_points)
        return np.zeros(len(points)) + over

    def as_mapping(self) -> dict[str, Any]:
        """Return the entry of a file that demands it, under the name messages use."""
        return {**self.constraint.as_mapping(), "name": self.name}


def _all(masks: list[BoolArray], size: int) -> BoolArray:
    """Return where every mask of a size holds."""
    return np.asarray(np.logical_and.reduce([np.ones(size, dtype=bool), *masks]))


@dataclass(frozen=True, kw_only=True)
class Constraint(ABC):
    """A requirement on the cards a program may return.

    Columns are named by design column or by raw feature; a feature is used if any of its columns
    has points.

    Parameters
    ----------
    name : str, optional
        Its name in messages; by default a sentence of what it demands.
    """

    kind: ClassVar[str]
    phrase: ClassVar[str]
    ignores_shifts: ClassVar[bool] = False  # points added to all bins of a feature alike
    name: str | None = None

    @property
    def sentence(self) -> str:
        """What it demands, in words: ``phrase``, its arguments filled in."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        words = {k: listed(v) if isinstance(v, tuple) else v for k, v in values.items()}
        return self.phrase.format(**words)

    @abstractmethod
    def parts(self, design: Design) -> tuple[Part, ...]:
        """Restate it in terms of a design's columns.

        Raises
        ------
        FormulationError
            If it names what the design does not have.
        """

    def violation(self, statement: Statement, card: Card) -> str:
        """Say how the card breaks it; empty if it does not."""
        (applied,) = apply_constraints([self], statement.design)
        return applied.violation(statement, card)

    def as_mapping(self) -> dict[str, Any]:
        """Return the entry of a file that makes it; see :func:`read_constraints`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {key: _plain(value) for key, value in values.items() if value is not None}
        return {"type": self.kind, **plain}

    @property
    def title(self) -> str:
        """The class's name, for messages."""
        return type(self).__name__

    def _store(self, **values: Any) -> None:
        """Replace fields by their checked form."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def apply_constraints(
    constraints: Iterable[Constraint], design: Design
) -> tuple[AppliedConstraint, ...]:
    """Apply constraints to a design: every name resolved, no two called the same.

    Parameters
    ----------
    constraints : iterable of Constraint
    design : Design

    Returns
    -------
    tuple of AppliedConstraint

    Raises
    ------
    FormulationError
        For anything but constraints, or names that the design does not have.
    """
    if isinstance(constraints, Constraint):
        constraints = (constraints,)
    if not isinstance(constraints, Iterable) or isinstance(constraints, str | dict):
        raise FormulationError(
            f"constraints must be a list of milpscore.constraints, got {constraints!r}; a file of "
            "them is read by milpscore.constraints.read_constraints"
        )
    by_name: dict[str, AppliedConstraint] = {}
    for at, constraint in enumerate(constraints):
        if not isinstance(constraint, Constraint):
            raise FormulationError(
                f"constraints must hold milpscore.constraints, say AtMost(3, columns), got "
                f"{constraint!r}"
            )
        name = wanted = constraint.name or constraint.sentence
        number = 2
        while name in by_name:
            name, number = f"{wanted} ({number})", number + 1
        key = f"{constraint.kind}_{at}_{re.sub(r'[^A-Za-z0-9]+', '_', name)[:40].strip('_')}"
        parts = constraint.parts(design)
        by_name[name] = AppliedConstraint(constraint, design, name, key, parts)
    return tuple(by_name.values())


def _plain(value: Any) -> Any:
    """Return a field as JSON, TOML and YAML hold it; a mask only by its size."""
    if isinstance(value, tuple) and value and isinstance(value[0], bool):
        return f"a mask of {sum(value)} of {len(value)} rows"
    return list(value) if isinstance(value, tuple) else value


# ------------------------------------------------------------------ arguments


def whole_number(value: Any, argument: str, least: int | None = None) -> int:
    """Return a whole number, clipped to 64 bits; FormulationError if it is none, or too small."""
    if not is_whole(value, -math.inf if least is None else least):
        more = "" if least is None else f" >= {least}"
        raise FormulationError(f"{argument} must be a whole number{more}, got {value!r}")
    return near(int(value))


def require_in_order(title: str, lower: Any, upper: Any) -> None:
    """Refuse a range without ends, or with ends that cross."""
    if lower is None and upper is None:
        raise FormulationError(f"{title} needs lower, upper, or both")
    if lower is not None and upper is not None and lower > upper:
        raise FormulationError(f"{title}: lower {lower} is larger than upper {upper}")


def from_to(lower: Any, upper: Any) -> str:
    """Put a range into words."""
    ends = (("from", lower), ("to", upper))
    return " ".join(f"{word} {end:g}" for word, end in ends if end is not None)


# ------------------------------------------------------------------ names of columns and features


def as_names(value: Any, argument: str) -> tuple[str, ...]:
    """Return one name or several as a tuple; FormulationError for anything but text, or none."""
    listable = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    names = (value,) if isinstance(value, str) else tuple(value) if listable else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise FormulationError(f"{argument} needs the names of columns or features, got {value!r}")
    return names


def columns_of(design: Design, name: str, argument: str) -> Group:
    """Return the design column of this name, else the columns of the feature."""
    named = tuple(j for j, column in enumerate(design.columns) if column.name == name)
    columns = named or _columns_of_feature(design, name)
    if not columns:
        raise FormulationError(
            f"{argument} names {name!r}; {near_matches(name, known_names(design))}"
        )
    return columns


def _columns_of_feature(design: Design, feature: str) -> Group:
    """Return the columns of a raw feature, none if there is no such feature."""
    return tuple(j for j, column in enumerate(design.columns) if column.feature == feature)


def groups_of(design: Design, names: Iterable[str], argument: str) -> tuple[Group, ...]:
    """Return the columns of each name."""
    return tuple(columns_of(design, name, argument) for name in names)


def union_of(design: Design, names: Iterable[str], argument: str) -> Group:
    """Return the columns of several names, each once."""
    groups = groups_of(design, names, argument)
    return tuple(dict.fromkeys(j for group in groups for j in group))


def feature_columns(design: Design, feature: str, argument: str) -> Group:
    """Return the columns of a raw feature; FormulationError, naming the nearest, if none."""
    columns = _columns_of_feature(design, feature)
    if not columns:
        raise FormulationError(
            f"{argument} names {feature!r}; {near_matches(feature, features_of(design))}"
        )
    return columns


def features_of(design: Design) -> list[str]:
    """Return the raw features in the order of the columns."""
    return list(dict.fromkeys(column.feature for column in design.columns))


def known_names(design: Design) -> list[str]:
    """Return the names of all columns and features."""
    return list(dict.fromkeys([*design.names, *features_of(design)]))


def listed(names: Iterable[str]) -> str:
    """List names for a sentence, more than four cut short."""
    every = list(names)
    shown = ", ".join(every[:4])
    return shown if len(every) <= 4 else f"{shown} and {len(every) - 4} more"
