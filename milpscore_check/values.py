"""The one reader of certificates: every value has the type its entry states, or it is refused.

A layout is a function that reads a single value, a tuple (a list of just these), a list (of values
of its one layout), or a dict (an object of these entries; a name that ends in ? may be left out).
"""

import json
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

MOST_BYTES = 8_000_000
_MOST_SIGNS = {b"[": 300_000, b"{": 20_000, b'"': 300_000, b",": 1_500_000}
_DEEPEST = 40
LARGEST = int(sys.float_info.max)
NUMBER = re.compile(
    r"[+-]?(\d{1,400}/[1-9]\d{0,799}|(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?)",
    re.ASCII,
)


class Refused(Exception):  # noqa: N818
    """The table or the certificate is not what it has to be; the text says where."""


def parsed(data: bytes) -> Any:
    """Return the content of a JSON file, no key of which stands twice in an object."""
    if len(data) > MOST_BYTES:
        raise Refused(f"it has more than {MOST_BYTES / 1e6:g} MB, the most that is read")
    for sign, most in _MOST_SIGNS.items():
        if data.count(sign) > most:
            raise Refused(f"it holds more than {most} signs {sign.decode()}, the most that is read")
    content = json.loads(data.decode(), object_pairs_hook=_object, parse_constant=int)
    level = [content]
    for _ in range(_DEEPEST):
        lists = (each.values() if type(each) is dict else each for each in level)
        level = [v for own in lists for v in own if type(v) in (dict, list)]
    if level:
        raise Refused(f"it is nested deeper than {_DEEPEST}")
    return content


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise Refused("an object holds an entry twice")
    return entries


def read(value: Any, layout: Any) -> Any:
    """Return a value of a layout, rational numbers as fractions."""
    if isinstance(layout, dict):
        names = {name.rstrip("?"): name for name in layout}
        if type(value) is not dict or not value.keys() <= names.keys():
            raise Refused(f"{shown(value)} holds other entries than {', '.join(names)}")
        if left := [name for name in layout if name[-1] != "?" and name not in value]:
            raise Refused(f"the entry {left[0]!r} is missing")
        return {name: _entry(name, own, layout[names[name]]) for name, own in value.items()}
    if not isinstance(layout, list | tuple):
        return layout(value)
    if type(value) is not list or (isinstance(layout, tuple) and len(value) != len(layout)):
        raise Refused(f"{shown(value)} is not a list, or not of that length")
    if isinstance(layout, tuple):
        return tuple(map(read, value, layout))
    one = layout[0]
    return [one(v) for v in value] if callable(one) else [read(v, one) for v in value]


def _entry(name: str, value: Any, layout: Any) -> Any:
    """An entry of an object, which is named where it is refused."""
    try:
        return read(value, layout)
    except Refused as error:
        raise Refused(f"{name}: {error}") from error


def shown(value: Any) -> str:
    """Return a value in few letters, however large it is."""
    short = type(value) in (str, float, bool, type(None)) or (
        type(value) is int and abs(value) < LARGEST
    )
    return repr(value if type(value) is not str else value[:40]) if short else type(value).__name__


def maybe(layout: Any) -> Callable[[Any], Any]:
    """Return the layout of a value that may be null."""
    return lambda value: None if value is None else read(value, layout)


def of(*kinds: type) -> Callable[[Any], Any]:
    """Return the layout of a value of certain types, whose parts are not looked at."""

    def reader(value: Any) -> Any:
        if type(value) not in kinds:
            raise Refused(f"{shown(value)} is not {' or '.join(kind.__name__ for kind in kinds)}")
        return value

    return reader


def by_kind(layouts: dict[str, Any]) -> Callable[[Any], Any]:
    """Return the layout of an object whose entry ``kind`` names one of several layouts."""

    def reader(value: Any) -> Any:
        kind = value.get("kind") if type(value) is dict else None
        if type(kind) is not str or kind not in layouts:
            raise Refused(f"{shown(kind)} is not a kind of {' or '.join(layouts)}")
        return read(value, {"kind": text, **layouts[kind]})

    return reader


text = of(str)


def whole(value: Any, least: int = -(10**12), most: int = 10**12) -> int:
    """Return a whole number from ``least`` to ``most``; true, 1.0 and "1" are none."""
    if type(value) is not int or not least <= value <= most:
        raise Refused(f"{shown(value)} is not a whole number from {least} to {most}")
    return value


def count(value: Any) -> int:
    """Return a whole number that is not below 0."""
    return whole(value, 0)


def double(value: Any) -> float:
    """Return a JSON number that a double holds exactly."""
    if type(value) not in (int, float) or not -LARGEST <= value <= LARGEST:
        raise Refused(f"{shown(value)} is not a finite number")
    if float(value) != value:
        raise Refused(f"{shown(value)} has more digits than a double holds")
    return float(value)


def label(value: Any) -> bool | int | float | str:
    """Return what a class is called."""
    return double(value) if type(value) is float else of(str, bool, int)(value)


def class_weight(value: Any) -> Any:
    """Read null, "balanced", or the weight of each class by its name."""
    return value if value in (None, "balanced") else [*map(double, of(dict)(value).values())]


@lru_cache(1 << 16, typed=True)  # 1, 1.0 and true are three different values
def number(value: Any) -> Fraction:
    """Return a rational number: a whole one, or text such as 12, -0.5, 1e-06 or 7/3."""
    if type(value) is not int and not NUMBER.fullmatch(text(value)):
        raise Refused(f"{shown(value)} is not a number written as text")
    return Fraction(whole(value) if type(value) is int else value)


def cost(value: Any) -> Fraction:
    """Return a rational number that is not below 0."""
    if number(value) < 0:
        raise Refused(f"{shown(value)} is below 0")
    return number(value)


def printable(line: str) -> str:
    """Return a line with everything escaped that would move a cursor or reorder the text."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line
    )
