"""What all constraints share: a name, the columns they speak of, how they apply to a design."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from milpscore.constraints.parts import AppliedConstraint, Group, Part
from milpscore.core.card import Card
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, is_whole
from milpscore.core.statement import Statement


@dataclass(frozen=True, kw_only=True)
class Constraint(ABC):
    """A requirement on the cards a program may return.

    Columns are named by design column or by raw feature; a feature is used where any of its
    columns has points.

    Parameters
    ----------
    name : str, optional
        What messages call it; by default a sentence of what it demands.
    """

    kind: ClassVar[str]
    name: str | None = None

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What it demands, in words."""

    @abstractmethod
    def parts(self, design: Design) -> tuple[Part, ...]:
        """What it comes down to on a design.

        Raises
        ------
        FormulationError
            Where it names what the design does not have.
        """

    def violation(self, statement: Statement, card: Card) -> str:
        """A sentence where the card breaks it, empty where it does not."""
        (applied,) = apply_constraints([self], statement.design)
        return applied.violation(statement, card)

    def as_mapping(self) -> dict[str, Any]:
        """The entry of a file of constraints that makes it; see :func:`read_constraints`."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {key: _plain(value) for key, value in given.items() if value is not None}
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
    """Constraints on a design, every name resolved, no two called the same.

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
        For anything else than constraints, or names the design does not have.
    """
    if isinstance(constraints, Constraint):
        constraints = (constraints,)
    if not isinstance(constraints, Iterable) or isinstance(constraints, str | dict):
        raise FormulationError(
            f"constraints must be a list of milpscore.constraints, got {constraints!r}; a file of "
            "them is read by milpscore.constraints.read_constraints"
        )
    found: dict[str, AppliedConstraint] = {}
    for at, constraint in enumerate(constraints):
        if not isinstance(constraint, Constraint):
            raise FormulationError(
                f"constraints must hold milpscore.constraints, say AtMost(3, columns), got "
                f"{constraint!r}"
            )
        name = wanted = constraint.name or constraint.sentence
        number = 2
        while name in found:
            name, number = f"{wanted} ({number})", number + 1
        key = f"{constraint.kind}_{at}_{re.sub(r'[^A-Za-z0-9]+', '_', name)[:40].strip('_')}"
        parts = constraint.parts(design)
        found[name] = AppliedConstraint(constraint, design, name, key, parts)
    return tuple(found.values())


def _plain(value: Any) -> Any:
    """A field as JSON, TOML and YAML hold it; a mask only by its size."""
    if isinstance(value, tuple) and value and isinstance(value[0], bool):
        return f"a mask of {sum(value)} of {len(value)} rows"
    return list(value) if isinstance(value, tuple) else value


# ------------------------------------------------------------------ arguments


def whole_number(value: Any, argument: str, least: int | None = None) -> int:
    """A whole number, not below ``least``; FormulationError for anything else."""
    if not is_whole(value, -math.inf if least is None else least):
        more = "" if least is None else f" >= {least}"
        raise FormulationError(f"{argument} must be a whole number{more}, got {value!r}")
    return int(value)


def require_in_order(title: str, lower: Any, upper: Any) -> None:
    """Refuse a range without ends, or with ends that cross."""
    if lower is None and upper is None:
        raise FormulationError(f"{title} needs lower, upper, or both")
    if lower is not None and upper is not None and lower > upper:
        raise FormulationError(f"{title}: lower {lower} is larger than upper {upper}")


def from_to(lower: Any, upper: Any) -> str:
    """A range in words."""
    ends = (("from", lower), ("to", upper))
    return " ".join(f"{word} {end:g}" for word, end in ends if end is not None)


# ------------------------------------------------------------------ names of columns and features


def as_names(given: Any, argument: str) -> tuple[str, ...]:
    """One name or several as a tuple of names; FormulationError for anything but text, or none."""
    names = (given,) if isinstance(given, str) else given
    listable = isinstance(names, Iterable) and not isinstance(names, bytes)
    found = tuple(names) if listable else ()
    if not found or not all(isinstance(name, str) for name in found):
        raise FormulationError(f"{argument} needs the names of columns or features, got {given!r}")
    return found


def columns_of(design: Design, name: str, argument: str) -> Group:
    """The columns a name stands for: the design column of this name, else those of the feature."""
    own = tuple(j for j, column in enumerate(design.columns) if column.name == name)
    found = own or tuple(j for j, column in enumerate(design.columns) if column.feature == name)
    if not found:
        raise FormulationError(f"{argument} names {name!r}; {nearest(name, known_names(design))}")
    return found


def groups_of(design: Design, names: Iterable[str], argument: str) -> tuple[Group, ...]:
    """The columns of each name."""
    return tuple(columns_of(design, name, argument) for name in names)


def union_of(design: Design, names: Iterable[str], argument: str) -> Group:
    """All columns of several names, each once."""
    groups = groups_of(design, names, argument)
    return tuple(dict.fromkeys(j for group in groups for j in group))


def feature_columns(design: Design, feature: str, argument: str) -> Group:
    """The columns of a raw feature; FormulationError, naming the nearest, where there is none."""
    found = tuple(j for j, column in enumerate(design.columns) if column.feature == feature)
    if not found:
        raise FormulationError(
            f"{argument} names {feature!r}; {nearest(feature, features_of(design))}"
        )
    return found


def features_of(design: Design) -> list[str]:
    """The raw features in the order of the columns."""
    return list(dict.fromkeys(column.feature for column in design.columns))


def known_names(design: Design) -> list[str]:
    """Every name a column answers to."""
    return list(dict.fromkeys([*design.names, *features_of(design)]))


def nearest(name: str, known: Sequence[str]) -> str:
    """Which of the known names was perhaps meant."""
    from milpscore.data.checking import near_matches

    return near_matches(name, known)


def listed(names: Iterable[str]) -> str:
    """Names for a sentence, the many cut short."""
    every = list(names)
    shown = ", ".join(every[:4])
    return shown if len(every) <= 4 else f"{shown} and {len(every) - 4} more"
