"""Constraints between terms: either-or, and one that needs another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from milpscore.constraints._base import Constraint
from milpscore.constraints._names import Group, as_names, groups_of, listed
from milpscore.constraints.parts import Part, Used
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError


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
            object.__setattr__(self, side, as_names(getattr(self, side), f"EitherOr: {side}"))
        if not isinstance(self.neither, bool) or not isinstance(self.both, bool):
            raise FormulationError("EitherOr: neither and both are True or False")
        if self.neither and self.both:
            raise FormulationError("EitherOr with neither and both allowed demands nothing")

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        sides = f"{listed(tuple(self.first))} or {listed(tuple(self.second))}"
        if self.neither:
            return f"{sides}, not both"
        return f"{sides}, or both" if self.both else f"either {sides}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A sum of two."""
        groups = (_union(design, self.first, "EitherOr"), _union(design, self.second, "EitherOr"))
        least = None if self.neither else 1
        return (Used(groups, (1, 1), least, None if self.both else 1, self.sentence),)


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
            object.__setattr__(self, side, as_names(getattr(self, side), f"Implies: {side}"))
        if self.need not in ("all", "any"):
            raise FormulationError(f"Implies: need must be 'all' or 'any', got {self.need!r}")

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        joined = (" and " if self.need == "all" else " or ").join(tuple(self.then))
        return f"{listed(tuple(self.first))} only with {joined}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """used(then) - used(first) >= 0, for each of ``then`` or for all together."""
        first = _union(design, self.first, "Implies")
        needed = groups_of(design, tuple(self.then), "Implies")
        if self.need == "any":
            needed = (_union(design, self.then, "Implies"),)
        return tuple(Used((group, first), (1, -1), 0, None, self.sentence) for group in needed)


def _union(design: Design, names: str | Sequence[str], argument: str) -> Group:
    """All columns of several names."""
    groups = groups_of(design, tuple(names), argument)
    return tuple(dict.fromkeys(j for group in groups for j in group))
