"""Constraints on which terms are used: so many of a group, raw features, must have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from milpscore.constraints._base import Constraint, require_count
from milpscore.constraints._names import (
    Group,
    as_names,
    feature_columns,
    features,
    groups_of,
    listed,
)
from milpscore.constraints.parts import Part, Used
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError


@dataclass(frozen=True)
class _SoMany(Constraint):
    """So many of a group are used: what the three public constraints share."""

    phrase: ClassVar[str]
    k: int
    columns: str | Sequence[str]

    def __post_init__(self) -> None:
        title = type(self).__name__
        object.__setattr__(self, "k", require_count(self.k, f"{title}: k"))
        if not isinstance(self.columns, str):
            object.__setattr__(self, "columns", as_names(self.columns, title))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        if isinstance(self.columns, str):
            return f"{self.phrase} {self.k} of the columns of {self.columns}"
        return f"{self.phrase} {self.k} of {listed(tuple(self.columns))}"

    def _groups(self, design: Design) -> tuple[Group, ...]:
        title = type(self).__name__
        if isinstance(self.columns, str):
            return tuple((j,) for j in feature_columns(design, self.columns, title))
        return groups_of(design, tuple(self.columns), title)

    def _used(self, design: Design, lower: int | None, upper: int | None) -> tuple[Part, ...]:
        groups = self._groups(design)
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

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A bound from above."""
        return self._used(design, None, self.k)


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

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A bound from below."""
        return self._used(design, self.k, None)


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

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A bound from both sides."""
        return self._used(design, self.k, self.k)


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
        object.__setattr__(self, "k", require_count(self.k, "MaxFeatures: k"))
        if self.features is not None:
            object.__setattr__(self, "features", as_names(self.features, "MaxFeatures"))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        among = "" if self.features is None else f" of {listed(tuple(self.features))}"
        return f"at most {self.k} features{among}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A bound on the used groups of columns."""
        named = features(design) if self.features is None else tuple(self.features)
        groups = tuple(feature_columns(design, feature, "MaxFeatures") for feature in named)
        return (Used(groups, (1,) * len(groups), None, self.k, self.sentence),)


@dataclass(frozen=True)
class Include(Constraint):
    """Columns or features that must have points.

    Parameters
    ----------
    columns : str or sequence of str
        Each of them; a feature needs points on any of its columns.
    name : str, optional
    """

    kind: ClassVar[str] = "include"
    columns: str | Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", as_names(self.columns, "Include"))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"points for {listed(tuple(self.columns))}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Each of them used."""
        names = tuple(self.columns)
        groups = groups_of(design, names, "Include")
        return tuple(
            Used((group,), (1,), 1, None, f"{name} must have points")
            for name, group in zip(names, groups, strict=True)
        )
