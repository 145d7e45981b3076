"""Columns by their own name or by that of their raw feature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from milpscore.core.design import Design
from milpscore.core.errors import FormulationError

Group = tuple[int, ...]


def as_names(given: Any, argument: str) -> tuple[str, ...]:
    """One name or several as a tuple of names.

    Raises
    ------
    FormulationError
        For anything but text, or none at all.
    """
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise FormulationError(f"{argument} needs the names of columns or features, got {given!r}")
    found = tuple(names)
    if not found or not all(isinstance(name, str) for name in found):
        raise FormulationError(f"{argument} needs the names of columns or features, got {given!r}")
    return found


def columns_of(design: Design, name: str, argument: str) -> Group:
    """The columns a name stands for: the design column of this name, else those of the feature.

    Raises
    ------
    FormulationError
        Where there is neither; the message names the nearest.
    """
    own = tuple(j for j, column in enumerate(design.columns) if column.name == name)
    found = own or tuple(j for j, column in enumerate(design.columns) if column.feature == name)
    if not found:
        raise FormulationError(f"{argument} names {name!r}; {nearest(name, known_names(design))}")
    return found


def groups_of(design: Design, names: Sequence[str], argument: str) -> tuple[Group, ...]:
    """The columns of each name."""
    return tuple(columns_of(design, name, argument) for name in names)


def feature_columns(design: Design, feature: str, argument: str) -> Group:
    """The columns of a raw feature.

    Raises
    ------
    FormulationError
        Where there is no such feature; the message names the nearest.
    """
    found = tuple(j for j, column in enumerate(design.columns) if column.feature == feature)
    if not found:
        raise FormulationError(
            f"{argument} names {feature!r}; {nearest(feature, features(design))}"
        )
    return found


def features(design: Design) -> list[str]:
    """The raw features in the order of the columns."""
    return list(dict.fromkeys(column.feature for column in design.columns))


def known_names(design: Design) -> list[str]:
    """Every name a column answers to."""
    return list(dict.fromkeys([*design.names, *features(design)]))


def nearest(name: str, known: Sequence[str]) -> str:
    """Which of the known names was perhaps meant."""
    from milpscore.data.checking import near_matches

    return near_matches(name, known)


def listed(names: Sequence[str]) -> str:
    """Names for a sentence, the many cut short."""
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
