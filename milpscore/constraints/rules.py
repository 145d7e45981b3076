"""The constraints: on points, on what is used, on totals, on the errors of a subgroup."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np

from milpscore.constraints.parts import (
    Constraint,
    Group,
    Ordered,
    Part,
    Points,
    Totals,
    Used,
    as_names,
    columns_of,
    feature_columns,
    features_of,
    from_to,
    groups_of,
    listed,
    near,
    require_in_order,
    union_of,
    whole_number,
)
from milpscore.core.design import (
    Design,
    as_fraction,
    common_step,
    on_grid,
)
from milpscore.core.errors import FormulationError, is_number

# ------------------------------------------------------------------ points of single columns


@dataclass(frozen=True)
class _OfColumns(Constraint):
    """A constraint on the columns of a list of names."""

    columns: str | Sequence[str]

    def __post_init__(self) -> None:
        self._store(columns=as_names(self.columns, self.title))

    def _within(self, design: Design, lower: int | None, upper: int | None) -> tuple[Part, ...]:
        """Put the points of every column into one range."""
        groups = groups_of(design, self.columns, self.title)
        return tuple(Points(group, lower, upper) for group in groups)


@dataclass(frozen=True)
class Sign(_OfColumns):
    """Points of one sign: never below 0, or never above it.

    Parameters
    ----------
    columns : str or sequence of str
        For a feature, all its columns.
    sign : {"positive", "negative"} or {"+", "-"}
        0 points stay allowed either way; add :class:`Include` if the term must be used.
    name : str, optional
    """

    kind: ClassVar[str] = "sign"
    phrase: ClassVar[str] = "{sign} points for {columns}"
    sign: str

    def __post_init__(self) -> None:
        super().__post_init__()
        words = {"+": "positive", "-": "negative"}
        sign = words.get(self.sign, self.sign) if isinstance(self.sign, str) else self.sign
        if sign not in ("positive", "negative"):
            raise FormulationError(
                f"Sign: sign must be 'positive' or 'negative', got {self.sign!r}"
            )
        self._store(sign=sign)

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Limit every column to a range that ends at 0."""
        return self._within(design, *((0, None) if self.sign == "positive" else (None, 0)))


@dataclass(frozen=True)
class Range(_OfColumns):
    """Points between two whole numbers.

    Parameters
    ----------
    columns : str or sequence of str
        For a feature, all its columns.
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
        """Limit every column to the range."""
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
    phrase: ClassVar[str] = "no points for {columns}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Limit every column to [0, 0]."""
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
    phrase: ClassVar[str] = "points for {columns}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Require each of them to be used."""
        return tuple(
            Used((columns_of(design, name, "Include"),), (1,), 1, None, f"{name} must have points")
            for name in self.columns
        )


@dataclass(frozen=True)
class Monotone(Constraint):
    """Points that never fall, or never rise, with a feature's value.

    Neighbouring one-hot bins are in order; every column "value >= cut" adds points, or takes them
    away; a numeric column has one sign. A column for missing values is left out.

    Parameters
    ----------
    features : str or sequence of str
        Raw features.
    direction : {"increasing", "decreasing"}
    name : str, optional
    """

    kind: ClassVar[str] = "monotone"
    ignores_shifts: ClassVar[bool] = True
    phrase: ClassVar[str] = "{direction} points along {features}"
    features: str | Sequence[str]
    direction: str = "increasing"

    def __post_init__(self) -> None:
        self._store(features=as_names(self.features, "Monotone"))
        if self.direction not in ("increasing", "decreasing"):
            raise FormulationError(
                f"Monotone: direction must be 'increasing' or 'decreasing', got {self.direction!r}"
            )

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Order neighbouring bins, and give cuts and numbers their sign."""
        return tuple(part for feature in self.features for part in self._of(design, feature))

    def _of(self, design: Design, feature: str) -> list[Part]:
        """Return the parts of one feature."""
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


@dataclass(frozen=True)
class Span(Constraint):
    """A largest difference between the points of a feature's bins, or categories.

    It applies to one-hot bins and to columns "value >= cut" alike. A column for missing values is
    left out.

    Parameters
    ----------
    most : int
        The largest difference.
    features : str or sequence of str
        Raw features.
    name : str, optional
    """

    kind: ClassVar[str] = "span"
    phrase: ClassVar[str] = "points of {features} at most {most} apart"
    ignores_shifts: ClassVar[bool] = True
    most: int
    features: str | Sequence[str]

    def __post_init__(self) -> None:
        self._store(
            most=whole_number(self.most, "Span: most", 0),
            features=as_names(self.features, "Span"),
        )

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Limit the difference of every two bins; between cuts it is a sum of jumps."""
        return tuple(part for feature in self.features for part in self._of(design, feature))

    def _of(self, design: Design, feature: str) -> list[Part]:
        """Return the parts of one feature."""
        kinds = {j: design.columns[j].kind for j in feature_columns(design, feature, "Span")}
        for j in [j for j, kind in kinds.items() if kind == "numeric"][:1]:
            raise FormulationError(
                f"Span: {design.names[j]} counts by the unit and has no bins: cut it, or limit its "
                "points with Range"
            )
        steps = [j for j, kind in kinds.items() if kind == "step"]
        steps.sort(key=lambda j: design.columns[j].lower)
        columns = steps or [j for j, kind in kinds.items() if kind != "missing"]
        width = len(columns)
        # one row per bin, of the columns it has: if the columns are cuts, the first bin has none
        bins = np.tri(width + 1, width, -1) if steps else np.eye(width)
        if not steps and any(design.columns[j].others for j in columns):
            bins = np.vstack([np.zeros(width), bins])
        pairs = [above - below for below, above in combinations(bins.astype(np.int64), 2)]
        if not pairs:
            return []
        if width == 1:
            return [Points(tuple(columns), -self.most, self.most)]
        return [Totals(((tuple(columns), np.array(pairs)),), -self.most, self.most, Fraction(1))]


@dataclass(frozen=True)
class MaxPoints(Constraint):
    """The sizes of the points add up to no more than a limit: points -2 count as 2.

    Parameters
    ----------
    limit : int
    columns : str or sequence of str, optional
        Count only these; by default all of them.
    name : str, optional
    """

    kind: ClassVar[str] = "max_points"
    limit: int
    columns: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        self._store(limit=whole_number(self.limit, "MaxPoints: limit", 0))
        if self.columns is not None:
            self._store(columns=as_names(self.columns, "MaxPoints"))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        where = "" if self.columns is None else f" on {listed(self.columns)}"
        return f"at most {self.limit} points{where}, signs apart"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Bound every total of the points with signs of one's own choice."""
        columns: Sequence[int] = range(design.shape[1])
        if self.columns is not None:
            columns = union_of(design, self.columns, "MaxPoints")
        signs = np.array([[-1], [1]])
        each = tuple(((j,), signs) for j in columns)
        return (Totals(each, -self.limit, self.limit, Fraction(1), self.sentence),)


# ------------------------------------------------------------------ how many are used


@dataclass(frozen=True)
class _NumberUsed(Constraint):
    """A constraint on the number of a group's members that are used."""

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
        """Bound the number used from below, from above, or both."""
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
class AtMost(_NumberUsed):
    """At most k of a group are used.

    Parameters
    ----------
    k : int
    columns : sequence of str, or str
        Each entry counts once, a feature if any of its columns has points. A single text names a
        feature whose columns are counted one by one: ``AtMost(3, "Age")`` allows three cuts.
    name : str, optional
    """

    kind: ClassVar[str] = "at_most"
    phrase: ClassVar[str] = "at most"
    ends: ClassVar[tuple[bool, bool]] = (False, True)


@dataclass(frozen=True)
class AtLeast(_NumberUsed):
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
class Exactly(_NumberUsed):
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
        """Bound the number of groups used."""
        named = features_of(design) if self.features is None else self.features
        groups = tuple(feature_columns(design, feature, "MaxFeatures") for feature in named)
        return (Used(groups, (1,) * len(groups), None, self.k, self.sentence),)


@dataclass(frozen=True)
class Budget(Constraint):
    """What a card uses costs no more than a limit: the prices of tests, minutes, questions.

    Parameters
    ----------
    limit : number
        >= 0.
    prices : mapping of str to number
        By feature or column, >= 0; each is paid once, if any of its columns has points. What is
        not named is free. Decimals count as they are printed.
    name : str, optional
    """

    kind: ClassVar[str] = "budget"
    limit: float
    prices: Mapping[str, float] | Sequence[tuple[str, float]]

    def __post_init__(self) -> None:
        try:
            prices = dict(self.prices)
        except (TypeError, ValueError):
            raise FormulationError(
                f"Budget: prices needs a price by name, got {self.prices!r}"
            ) from None
        as_names(list(prices), "Budget: prices")
        for what, value in (("limit", self.limit), *prices.items()):
            if not is_number(value) or not 0 <= value < math.inf:
                raise FormulationError(f"Budget: {what} must be a number >= 0, got {value!r}")
        self._store(prices=tuple(prices.items()))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"at most {self.limit:g} for what is used of {listed(list(dict(self.prices)))}"

    def as_mapping(self) -> dict[str, Any]:
        """Return the entry of a file that makes it, its prices by name."""
        return {**super().as_mapping(), "prices": dict(self.prices)}

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Bound the sum of prices, in whole steps of them."""
        prices = dict(self.prices)
        groups = groups_of(design, prices, "Budget")
        step = common_step([*prices.values()]) if any(prices.values()) else Fraction(1)
        if step is None:
            raise FormulationError("Budget: the prices have no common step: round them")
        factors = tuple(int(as_fraction(price) / step) for price in prices.values())
        most = near(math.floor(as_fraction(self.limit) / step))
        return (Used(groups, factors, None, most, self.sentence, step),)


# ------------------------------------------------------------------ one term and another


@dataclass(frozen=True)
class EitherOr(Constraint):
    """Exactly one of two: a card uses either the first or the second.

    Parameters
    ----------
    first, second : str or sequence of str
        A sequence is used if any of its columns has points.
    neither : bool
        Allow none of the two ("not both").
    both : bool
        Allow both ("one of them at least").
    name : str, optional

    Raises
    ------
    FormulationError
        If both are allowed: nothing is demanded then.
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
        """Bound the number used of the two."""
        groups = tuple(union_of(design, side, "EitherOr") for side in (self.first, self.second))
        least, most = None if self.neither else 1, None if self.both else 1
        return (Used(groups, (1, 1), least, most, self.sentence),)


@dataclass(frozen=True)
class Implies(Constraint):
    """A term that needs others (hierarchy): if the first is used, so are the others.

    Parameters
    ----------
    first : str or sequence of str
        Used if any of its columns has points.
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
        """Require used(then) - used(first) >= 0, for each of ``then`` or for all together."""
        first = union_of(design, self.first, "Implies")
        needed = groups_of(design, self.then, "Implies")
        if self.need == "any":
            needed = (union_of(design, self.then, "Implies"),)
        return tuple(Used((group, first), (1, -1), 0, None, self.sentence) for group in needed)


# ------------------------------------------------------------------ totals


@dataclass(frozen=True)
class TotalRange(Constraint):
    """A range of every total a card can give, for every combination of values.

    A feature adds what its columns have together in some row: with one-hot bins, the points of one
    bin. Features combine freely. Totals that occur in the data lie within as well.

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
            if value is not None and not (is_number(value) and math.isfinite(value)):
                raise FormulationError(f"TotalRange: {end} must be a finite number, got {value!r}")
        require_in_order("TotalRange", self.lower, self.upper)

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"totals {from_to(self.lower, self.upper)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Collect each feature's distinct values, in steps of the data's grid if there is one."""
        rows, step = design.merged.X, design.step
        parts = []
        for feature in features_of(design):
            columns = feature_columns(design, feature, "TotalRange")
            values = np.unique(rows[:, list(columns)] + 0.0, axis=0)  # -0.0 and 0.0 are one value
            if len(columns) == 1:
                values = values[[0, -1]]  # a product is largest at an end
            parts.append((columns, values if step is None else on_grid(values, step)))
        low, high = (None if e is None else as_fraction(e) for e in (self.lower, self.upper))
        if step is None:
            ends = [None if end is None else float(end) for end in (low, high)]
            return (Totals(tuple(parts), ends[0], ends[1], None),)
        lower = None if low is None else near(math.ceil(low / step))
        upper = None if high is None else near(math.floor(high / step))
        return (Totals(tuple(parts), lower, upper, step),)
