"""Constraints on the points of a card: their sign and range, which are used, their totals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from milpscore.constraints._base import (
    Constraint,
    as_names,
    columns_of,
    feature_columns,
    features_of,
    from_to,
    groups_of,
    listed,
    require_in_order,
    union_of,
    whole_number,
)
from milpscore.constraints.parts import Group, Ordered, Part, Points, Totals, Used
from milpscore.core.design import Design, as_fraction, on_grid
from milpscore.core.errors import FormulationError

# ------------------------------------------------------------------ points of single columns

_SIGNS = {"+": "positive", "-": "negative", "positive": "positive", "negative": "negative"}


@dataclass(frozen=True)
class _OfColumns(Constraint):
    """What constraints on the columns of a list of names share."""

    columns: str | Sequence[str]

    def __post_init__(self) -> None:
        self._store(columns=as_names(self.columns, self.title))

    def _within(self, design: Design, lower: int | None, upper: int | None) -> tuple[Part, ...]:
        """Every column's points in one range."""
        groups = groups_of(design, self.columns, self.title)
        return tuple(Points(group, lower, upper) for group in groups)


@dataclass(frozen=True)
class Sign(_OfColumns):
    """Points of one sign: never below 0, or never above it.

    Parameters
    ----------
    columns : str or sequence of str
        Of a feature, each column.
    sign : {"positive", "negative"} or {"+", "-"}
        0 points stay allowed either way; add :class:`Include` where the term must be used.
    name : str, optional
    """

    kind: ClassVar[str] = "sign"
    sign: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sign, str) or self.sign not in _SIGNS:
            raise FormulationError(
                f"Sign: sign must be 'positive' or 'negative', got {self.sign!r}"
            )
        self._store(sign=_SIGNS[self.sign])

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"{self.sign} points for {listed(self.columns)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A range that ends at 0."""
        return self._within(design, *((0, None) if self.sign == "positive" else (None, 0)))


@dataclass(frozen=True)
class Range(_OfColumns):
    """Points between two whole numbers.

    Parameters
    ----------
    columns : str or sequence of str
        Of a feature, each column.
    lower, upper : int, optional
        At least one of them.
    name : str, optional
    """

    kind: ClassVar[str] = "range"
    lower: int | None = None
    upper: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for end in ("lower", "upper"):
            if getattr(self, end) is not None:
                self._store(**{end: whole_number(getattr(self, end), f"Range: {end}")})
        require_in_order("Range", self.lower, self.upper)

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"points {from_to(self.lower, self.upper)} for {listed(self.columns)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """The range of each column."""
        return self._within(design, self.lower, self.upper)


@dataclass(frozen=True)
class Exclude(_OfColumns):
    """No points for some columns or features.

    Parameters
    ----------
    columns : str or sequence of str
    name : str, optional
    """

    kind: ClassVar[str] = "exclude"

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"no points for {listed(self.columns)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """The range [0, 0]."""
        return self._within(design, 0, 0)


@dataclass(frozen=True)
class Include(_OfColumns):
    """Columns or features that must have points.

    Parameters
    ----------
    columns : str or sequence of str
        Each of them; a feature needs points on any of its columns.
    name : str, optional
    """

    kind: ClassVar[str] = "include"

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"points for {listed(self.columns)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Each of them used."""
        return tuple(
            Used((columns_of(design, each, "Include"),), (1,), 1, None, f"{each} must have points")
            for each in self.columns
        )


@dataclass(frozen=True)
class Monotone(Constraint):
    """Points that never fall, or never rise, with a feature's value.

    Along one-hot bins neighbours are in order; of columns "value >= cut" each adds, or takes away,
    points; a numeric column has one sign. A column for missing values is left out.

    Parameters
    ----------
    features : str or sequence of str
        Raw features.
    direction : {"increasing", "decreasing"}
    name : str, optional
    """

    kind: ClassVar[str] = "monotone"
    features: str | Sequence[str]
    direction: str = "increasing"

    def __post_init__(self) -> None:
        self._store(features=as_names(self.features, "Monotone"))
        if self.direction not in ("increasing", "decreasing"):
            raise FormulationError(
                f"Monotone: direction must be 'increasing' or 'decreasing', got {self.direction!r}"
            )

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"{self.direction} points along {listed(self.features)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """The order of neighbouring bins, and the sign of what is a cut or a number."""
        return tuple(part for feature in self.features for part in self._of(design, feature))

    def _of(self, design: Design, feature: str) -> list[Part]:
        """The parts of one feature."""
        rises = self.direction == "increasing"
        kinds = {j: design.columns[j].kind for j in feature_columns(design, feature, "Monotone")}
        for j in [j for j, kind in kinds.items() if kind == "category"][:1]:
            raise FormulationError(
                f"Monotone: the values of {feature} have no order (column {design.names[j]}): "
                "give its categories numbers, or leave it out"
            )
        signed = tuple(j for j, kind in kinds.items() if kind in ("numeric", "step"))
        bins = [j for j, kind in kinds.items() if kind == "interval"]
        bins.sort(key=lambda j: design.columns[j].lower)
        parts: list[Part] = []
        if signed:
            parts.append(Points(signed, *((0, None) if rises else (None, 0))))
        if len(bins) > 1:
            pairs = tuple((a, b) if rises else (b, a) for a, b in pairwise(bins))
            parts.append(Ordered(pairs))
        return parts


# ------------------------------------------------------------------ how many are used


@dataclass(frozen=True)
class _SoMany(Constraint):
    """So many of a group are used: what the three public constraints share."""

    phrase: ClassVar[str]
    ends: ClassVar[tuple[bool, bool]]
    k: int
    columns: str | Sequence[str]

    def __post_init__(self) -> None:
        self._store(k=whole_number(self.k, f"{self.title}: k", 0))
        if not isinstance(self.columns, str):
            self._store(columns=as_names(self.columns, self.title))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        if isinstance(self.columns, str):
            return f"{self.phrase} {self.k} of the columns of {self.columns}"
        return f"{self.phrase} {self.k} of {listed(self.columns)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A bound from below, from above, or both."""
        groups: tuple[Group, ...]
        if isinstance(self.columns, str):
            groups = tuple((j,) for j in feature_columns(design, self.columns, self.title))
        else:
            groups = groups_of(design, self.columns, self.title)
        lower, upper = (self.k if end else None for end in self.ends)
        if lower is not None and lower > len(groups):
            raise FormulationError(f"{self.sentence}: there are {len(groups)}; lower k")
        return (Used(groups, (1,) * len(groups), lower, upper, self.sentence),)


@dataclass(frozen=True)
class AtMost(_SoMany):
    """At most k of a group are used.

    Parameters
    ----------
    k : int
    columns : sequence of str, or str
        Each entry counts once, a feature where any of its columns has points. A single text names
        a feature whose columns are counted one by one: ``AtMost(3, "Age")`` allows three cuts.
    name : str, optional
    """

    kind: ClassVar[str] = "at_most"
    phrase: ClassVar[str] = "at most"
    ends: ClassVar[tuple[bool, bool]] = (False, True)


@dataclass(frozen=True)
class AtLeast(_SoMany):
    """At least k of a group are used.

    Parameters
    ----------
    k, columns, name :
        As in :class:`AtMost`.
    """

    kind: ClassVar[str] = "at_least"
    phrase: ClassVar[str] = "at least"
    ends: ClassVar[tuple[bool, bool]] = (True, False)


@dataclass(frozen=True)
class Exactly(_SoMany):
    """Exactly k of a group are used.

    Parameters
    ----------
    k, columns, name :
        As in :class:`AtMost`.
    """

    kind: ClassVar[str] = "exactly"
    phrase: ClassVar[str] = "exactly"
    ends: ClassVar[tuple[bool, bool]] = (True, True)


@dataclass(frozen=True)
class MaxFeatures(Constraint):
    """At most k raw features are used (group sparsity): any points on a column use its feature.

    ``terms`` of a result is never more: it leaves out features all of whose bins have the same
    points.

    Parameters
    ----------
    k : int
    features : sequence of str, optional
        Count only these; by default all of them.
    name : str, optional
    """

    kind: ClassVar[str] = "max_features"
    k: int
    features: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        self._store(k=whole_number(self.k, "MaxFeatures: k", 0))
        if self.features is not None:
            self._store(features=as_names(self.features, "MaxFeatures"))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        among = "" if self.features is None else f" of {listed(self.features)}"
        return f"at most {self.k} features{among}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A bound on the used groups of columns."""
        named = features_of(design) if self.features is None else self.features
        groups = tuple(feature_columns(design, feature, "MaxFeatures") for feature in named)
        return (Used(groups, (1,) * len(groups), None, self.k, self.sentence),)


# ------------------------------------------------------------------ one term and another


@dataclass(frozen=True)
class EitherOr(Constraint):
    """Exactly one of two: a card uses the first or the second, not both and not none.

    Parameters
    ----------
    first, second : str or sequence of str
        A sequence is used where any of its columns has points.
    neither : bool
        Allow none of the two ("not both").
    both : bool
        Allow both ("one of them at least").
    name : str, optional

    Raises
    ------
    FormulationError
        Where both are allowed: nothing is demanded then.
    """

    kind: ClassVar[str] = "either_or"
    first: str | Sequence[str]
    second: str | Sequence[str]
    neither: bool = False
    both: bool = False

    def __post_init__(self) -> None:
        for side in ("first", "second"):
            self._store(**{side: as_names(getattr(self, side), f"EitherOr: {side}")})
        if not isinstance(self.neither, bool) or not isinstance(self.both, bool):
            raise FormulationError("EitherOr: neither and both are True or False")
        if self.neither and self.both:
            raise FormulationError("EitherOr with neither and both allowed demands nothing")

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        sides = f"{listed(self.first)} or {listed(self.second)}"
        if self.neither:
            return f"{sides}, not both"
        return f"{sides}, or both" if self.both else f"either {sides}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A sum of two."""
        groups = tuple(union_of(design, side, "EitherOr") for side in (self.first, self.second))
        least, most = None if self.neither else 1, None if self.both else 1
        return (Used(groups, (1, 1), least, most, self.sentence),)


@dataclass(frozen=True)
class Implies(Constraint):
    """A term that needs others (hierarchy): where the first is used, so are the others.

    Parameters
    ----------
    first : str or sequence of str
        Used where any of its columns has points.
    then : str or sequence of str
        What it needs.
    need : {"all", "any"}
        All of ``then``, or any of it.
    name : str, optional
    """

    kind: ClassVar[str] = "implies"
    first: str | Sequence[str]
    then: str | Sequence[str]
    need: str = "all"

    def __post_init__(self) -> None:
        for side in ("first", "then"):
            self._store(**{side: as_names(getattr(self, side), f"Implies: {side}")})
        if self.need not in ("all", "any"):
            raise FormulationError(f"Implies: need must be 'all' or 'any', got {self.need!r}")

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        joined = (" and " if self.need == "all" else " or ").join(self.then)
        return f"{listed(self.first)} only with {joined}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """used(then) - used(first) >= 0, for each of ``then`` or for all together."""
        first = union_of(design, self.first, "Implies")
        needed = groups_of(design, self.then, "Implies")
        if self.need == "any":
            needed = (union_of(design, self.then, "Implies"),)
        return tuple(Used((group, first), (1, -1), 0, None, self.sentence) for group in needed)


# ------------------------------------------------------------------ totals


@dataclass(frozen=True)
class TotalRange(Constraint):
    """A range of every total a card can give, whatever combination of values a person has.

    A feature adds what its columns have together in some row, so of one-hot bins the points of a
    single bin; features combine freely. Totals that occur in the data lie within as well.

    Parameters
    ----------
    lower, upper : float, optional
        At least one of them, in points times the data's units, as the card prints totals.
    name : str, optional
    """

    kind: ClassVar[str] = "total_range"
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        for end in ("lower", "upper"):
            value: Any = getattr(self, end)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if value is not None and not (number and math.isfinite(value)):
                raise FormulationError(f"TotalRange: {end} must be a finite number, got {value!r}")
        require_in_order("TotalRange", self.lower, self.upper)

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"totals {from_to(self.lower, self.upper)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """The distinct values of each feature, in steps of the data where there is a grid."""
        rows, step = design.merged.X, design.step
        found = []
        for feature in features_of(design):
            columns = feature_columns(design, feature, "TotalRange")
            values = np.unique(rows[:, list(columns)] + 0.0, axis=0)  # -0.0 and 0.0 are one value
            if len(columns) == 1:
                values = values[[0, -1]]  # a product is largest at an end
            found.append((columns, values if step is None else on_grid(values, step)))
        low, high = (None if e is None else as_fraction(e) for e in (self.lower, self.upper))
        if step is None:
            ends = [None if end is None else float(end) for end in (low, high)]
            return (Totals(tuple(found), ends[0], ends[1], None),)
        lower = None if low is None else math.ceil(low / step)
        upper = None if high is None else math.floor(high / step)
        return (Totals(tuple(found), lower, upper, step),)
