"""Constraints on the points themselves: sign, range, no points, order along bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from milpscore.constraints._base import Constraint
from milpscore.constraints._names import as_names, feature_columns, groups_of, listed
from milpscore.constraints.parts import Ordered, Part, Points
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError

_SIGNS = {"+": "positive", "-": "negative", "positive": "positive", "negative": "negative"}


@dataclass(frozen=True)
class Sign(Constraint):
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
    columns: str | Sequence[str]
    sign: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", as_names(self.columns, "Sign"))
        if not isinstance(self.sign, str) or self.sign not in _SIGNS:
            raise FormulationError(
                f"Sign: sign must be 'positive' or 'negative', got {self.sign!r}"
            )
        object.__setattr__(self, "sign", _SIGNS[self.sign])

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"{self.sign} points for {listed(as_names(self.columns, 'Sign'))}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A range that ends at 0."""
        ends = (0, None) if self.sign == "positive" else (None, 0)
        return tuple(Points(g, *ends) for g in groups_of(design, tuple(self.columns), "Sign"))


@dataclass(frozen=True)
class Range(Constraint):
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
    columns: str | Sequence[str]
    lower: int | None = None
    upper: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", as_names(self.columns, "Range"))
        for end in ("lower", "upper"):
            value = getattr(self, end)
            if value is not None:
                object.__setattr__(self, end, _whole(value, f"Range: {end}"))
        if self.lower is None and self.upper is None:
            raise FormulationError("Range needs lower, upper, or both")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise FormulationError(f"Range: lower {self.lower} is larger than upper {self.upper}")

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        ends = [f"{word} {end}" for word, end in (("from", self.lower), ("to", self.upper))
                if end is not None]  # fmt: skip
        return f"points {' '.join(ends)} for {listed(as_names(self.columns, 'Range'))}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """The range of each column."""
        groups = groups_of(design, tuple(self.columns), "Range")
        return tuple(Points(group, self.lower, self.upper) for group in groups)


@dataclass(frozen=True)
class Exclude(Constraint):
    """No points for some columns or features.

    Parameters
    ----------
    columns : str or sequence of str
    name : str, optional
    """

    kind: ClassVar[str] = "exclude"
    columns: str | Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", as_names(self.columns, "Exclude"))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"no points for {listed(as_names(self.columns, 'Exclude'))}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """The range [0, 0]."""
        groups = groups_of(design, tuple(self.columns), "Exclude")
        return tuple(Points(group, 0, 0) for group in groups)


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
        object.__setattr__(self, "features", as_names(self.features, "Monotone"))
        if self.direction not in ("increasing", "decreasing"):
            raise FormulationError(
                f"Monotone: direction must be 'increasing' or 'decreasing', got {self.direction!r}"
            )

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"{self.direction} points along {listed(as_names(self.features, 'Monotone'))}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """The order of neighbouring bins, and the sign of what is a cut or a number."""
        return tuple(part for feature in self.features for part in self._of(design, feature))

    def _of(self, design: Design, feature: str) -> list[Part]:
        rises = self.direction == "increasing"
        own = feature_columns(design, feature, "Monotone")
        kinds = {j: design.columns[j].kind for j in own}
        for j in own:
            if kinds[j] == "category":
                raise FormulationError(
                    f"Monotone: the values of {feature} have no order (column {design.names[j]}): "
                    "give its categories numbers, or leave it out"
                )
        signed = tuple(j for j in own if kinds[j] in ("numeric", "step"))
        bins = sorted((j for j in own if kinds[j] == "interval"), key=_lower_end(design))
        parts: list[Part] = []
        if signed:
            parts.append(Points(signed, *((0, None) if rises else (None, 0))))
        if len(bins) > 1:
            pairs = tuple((a, b) if rises else (b, a) for a, b in pairwise(bins))
            parts.append(Ordered(pairs))
        return parts


def _lower_end(design: Design) -> Any:
    """Sorts bins by where they begin."""
    return lambda j: design.columns[j].lower


def _whole(value: Any, argument: str) -> int:
    """A whole number of any sign."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise FormulationError(f"{argument} must be a whole number, got {value!r}")
    return int(value)
