"""What all constraints share: a name, and how they are bound to a design."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from milpscore.constraints.parts import AppliedConstraint, Part
from milpscore.core.card import Card
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError
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
        (bound,) = apply_constraints([self], statement.design)
        return bound.violation(statement, card)

    def as_mapping(self) -> dict[str, Any]:
        """The entry of a file of constraints that makes it; see :func:`read_constraints`."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {key: _plain(value) for key, value in given.items() if value is not None}
        return {"type": self.kind, **plain}


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
    bound: list[AppliedConstraint] = []
    taken: set[str] = set()
    for at, constraint in enumerate(constraints):
        if not isinstance(constraint, Constraint):
            raise FormulationError(
                f"constraints must hold milpscore.constraints, say AtMost(3, columns), got "
                f"{constraint!r}"
            )
        parts = constraint.parts(design)
        name = _fresh(constraint.name or constraint.sentence, taken)
        taken.add(name)
        key = f"{constraint.kind}_{at}_{re.sub(r'[^A-Za-z0-9]+', '_', name)[:40].strip('_')}"
        bound.append(AppliedConstraint(constraint, design, name, key, parts))
    return tuple(bound)


def _fresh(name: str, taken: set[str]) -> str:
    """The name, numbered where another constraint has it."""
    number = 2
    fresh = name
    while fresh in taken:
        fresh, number = f"{name} ({number})", number + 1
    return fresh


def _plain(value: Any) -> Any:
    """A field as JSON, TOML and YAML hold it; a mask only by its size."""
    if isinstance(value, tuple) and value and isinstance(value[0], bool):
        return f"a mask of {sum(value)} of {len(value)} rows"
    return list(value) if isinstance(value, tuple) else value


def require_count(value: Any, argument: str) -> int:
    """A whole number >= 0.

    Raises
    ------
    FormulationError
        For anything else.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 0:
        raise FormulationError(f"{argument} must be a whole number >= 0, got {value!r}")
    return int(value)
