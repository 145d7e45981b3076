"""Tables of a study's file, key by key: unknown ones, wrong types, values out of range."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from milpscore.core.errors import OptionError

REQUIRED = object()
"""The default of a key that has none."""

_KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "a whole number": (int,),
    "a number": (int, float),
    "true or false": (bool,),
    "a table": (dict,),
    "a list": (list,),
    "a list of tables in double brackets": (list,),
    "text, a number, or true or false": (str, int, float, bool),
}


@dataclass(frozen=True)
class Key:
    """What may stand under a key.

    Attributes
    ----------
    kind : str
        What it is, in words; see ``_KINDS``.
    default : object
        Where the key is absent; ``REQUIRED``: it must be there.
    least : float, optional
        Of a number.
    choices : tuple of str
        Of a text; empty for any.
    """

    kind: str
    default: Any = None
    least: float | None = None
    choices: tuple[str, ...] = ()


def checked(table: Any, keys: Mapping[str, Key], where: str) -> dict[str, Any]:
    """A table's values, defaults filled in.

    Parameters
    ----------
    table : object
        What the file holds there.
    keys : mapping of str to Key
    where : str
        The place, for messages: ``study.toml, limits``.

    Raises
    ------
    OptionError
        It is no table, a key is unknown or missing, or a value is of the wrong kind; the message
        names the place, the key and the nearest key or value.
    """
    if not isinstance(table, Mapping):
        raise OptionError(f"{where}: must be a table, got {table!r}")
    refuse_unknown(table, keys, where)
    for name, key in keys.items():
        if key.default is REQUIRED and name not in table:
            raise OptionError(f"{where}: {name} is missing; it is {key.kind}")
    return {
        name: checked_value(table[name], key, f"{where}, {name}") if name in table else key.default
        for name, key in keys.items()
    }


def checked_value(value: Any, key: Key, where: str) -> Any:
    """A value of the right kind.

    Raises
    ------
    OptionError
    """
    allowed = _KINDS[key.kind]
    # true is a whole number to Python, and to nobody else
    fits = isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool))
    if not fits:
        raise OptionError(f"{where}: must be {key.kind}, got {value!r}")
    if key.choices and value not in key.choices:
        raise OptionError(f"{where}: {unknown(value, key.choices)}")
    if key.least is not None and value < key.least:
        raise OptionError(f"{where}: must be at least {key.least:g}, got {value!r}")
    refuse_not_finite(value, where)
    return value


def refuse_not_finite(value: Any, where: str) -> None:
    """Refuse nan and inf, however deep: settings are kept as JSON, which has neither.

    Raises
    ------
    OptionError
    """
    if isinstance(value, Mapping):
        for name, entry in value.items():
            refuse_not_finite(entry, f"{where}, {name}")
    elif isinstance(value, list):
        for at, entry in enumerate(value, start=1):
            refuse_not_finite(entry, f"{where} {at}" if isinstance(entry, Mapping) else where)
    elif isinstance(value, float) and not math.isfinite(value):
        raise OptionError(f"{where}: must be a finite number, got {value!r}")


def refuse_unknown(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse a key that is not known, naming the nearest.

    Raises
    ------
    OptionError
    """
    names = list(known)
    for key in given:
        if key not in names:
            raise OptionError(f"{where}: no key {unknown(key, names)}")


def unknown(name: str, known: Iterable[str]) -> str:
    """A name that is not known, the nearest that is, and all of them."""
    names = list(known)
    close = get_close_matches(str(name), names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{name!r}; {hint}known are {', '.join(names)}"


def chosen(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> str:
    """Which one of several keys a table has.

    Raises
    ------
    OptionError
        None, or several.
    """
    there = [name for name in names if table.get(name) is not None]
    if len(there) != 1:
        found = f"got {' and '.join(there)}" if there else "got none"
        raise OptionError(f"{where}: needs one of {', '.join(names)}, {found}")
    return there[0]


def whole_numbers(values: Any, where: str) -> tuple[int, ...]:
    """Distinct whole numbers from 0 on.

    Raises
    ------
    OptionError
    """
    fine = isinstance(values, list) and values and len(set(map(repr, values))) == len(values)
    if not fine or not all(
        isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in values
    ):
        raise OptionError(f"{where}: must be a list of distinct whole numbers >= 0, got {values!r}")
    return tuple(values)


def refuse_twins(names: list[str], where: str) -> None:
    """Refuse a name that two entries share.

    Raises
    ------
    OptionError
    """
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OptionError(
            f"{where}: {len(names)} entries, and two of them are called {twice[0]!r}: give each a "
            "name of its own"
        )
