"""The constraints by name and from files; adding one is a new class and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milpscore.core.errors import (
    DataError,
    FormulationError,
    Registry,
    did_you_mean,
    homes,
)

if TYPE_CHECKING:  # the names alone are read by the command line, which must start at once
    from milpscore.constraints.parts import Constraint

CONSTRAINTS: Registry[type[Constraint]] = Registry(
    "constraint",
    homes(
        "milpscore.constraints",
        "AtLeast AtMost Budget EitherOr Exactly Exclude Implies Include MaxErrors MaxFPR "
        "MaxFeatures MaxGap MaxPoints MinTPR Monotone Range Sign Span TotalRange",
    ),
    FormulationError,
)
"""Names as files write them count too: ``at_most`` is ``AtMost``."""


def read_constraints(path: str | Path) -> tuple[Constraint, ...]:
    """Read the constraints that a file lists.

    The file holds one list, ``constraints``; each entry has a ``type``, the name of a constraint
    (``at_most`` or ``AtMost``), and that constraint's own arguments. In TOML::

        [[constraints]]
        type = "monotone"
        features = "Age"

        [[constraints]]
        type = "max_fpr"
        value = 0.2
        where = "Age >= 40"
        name = "few false alarms from 40 on"

    and in YAML, which needs PyYAML::

        constraints:
          - {type: at_most, k: 2, columns: [BMI, Weight, Waist]}
          - {type: include, columns: Age}

    Parameters
    ----------
    path : str or Path
        Ends in ``.toml``, ``.yaml`` or ``.yml``.

    Returns
    -------
    tuple of Constraint

    Raises
    ------
    DataError
        The file cannot be read as what its name says.
    FormulationError
        An unknown type or argument, named with the nearest known one, or a bad value.
    MissingDependencyError
        A YAML file, and PyYAML is not installed.
    """
    from milpscore.core.reading import settings_of

    path = Path(path)
    if path.suffix not in (".toml", ".yaml", ".yml"):
        raise DataError(f"{path.name}: constraints are read from .toml, .yaml or .yml")
    try:
        content = settings_of(path)
    except FileNotFoundError as error:
        raise DataError(f"there is no file {str(path)!r}: check --constraints") from error
    if not isinstance(content, Mapping) or not isinstance(content.get("constraints"), list):
        raise DataError(
            f"{path.name} needs a list called constraints: [[constraints]] tables in TOML, a list "
            "of mappings in YAML"
        )
    _refuse_unknown(content, ["constraints"], path.name)
    constraints = []
    for number, entry in enumerate(content["constraints"], start=1):
        try:
            constraints.append(make_constraint(entry))
        except FormulationError as error:
            raise FormulationError(f"{path.name}, constraint {number}: {error}") from error
    return tuple(constraints)


def make_constraint(entry: Any) -> Constraint:
    """Make a constraint from one entry of a file: the inverse of ``Constraint.as_mapping``.

    Parameters
    ----------
    entry : mapping
        ``type`` and the constraint's arguments.

    Returns
    -------
    Constraint

    Raises
    ------
    FormulationError
        For a missing or unknown type or argument, or a bad value.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("type"), str):
        raise FormulationError(f"an entry needs a type, say type = 'at_most', got {entry!r}")
    rule = CONSTRAINTS[entry["type"]]
    arguments = {str(key): value for key, value in entry.items() if key != "type"}
    known = [field for field in fields(rule) if field.init]
    _refuse_unknown(arguments, [field.name for field in known], rule.__name__)
    missing = [f.name for f in known if f.default is MISSING and f.name not in arguments]
    if missing:
        raise FormulationError(f"{rule.__name__} needs {', '.join(missing)}")
    if arguments.get("name") is not None and not isinstance(arguments["name"], str):
        raise FormulationError(f"{rule.__name__}: name must be text, got {arguments['name']!r}")
    return rule(**arguments)


def _refuse_unknown(entries: Mapping[str, Any], known: list[str], owner: str) -> None:
    """Refuse a key that is not known, naming the nearest."""
    for key in entries:
        if key not in known:
            hint = did_you_mean(str(key), known)
            raise FormulationError(
                f"{owner} has no key {key!r}; {hint}known are {', '.join(known)}"
            )
