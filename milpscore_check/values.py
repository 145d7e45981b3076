"""The values of a JSON file, each read as the one type the format gives it, or refused."""

import json
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

NUMBER = re.compile(
    r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?(/[1-9]\d{0,400})?", re.ASCII
)


class Refused(Exception):  # noqa: N818
    """The table or the certificate is not what it has to be; the text says where."""


def parsed(text: str) -> Any:
    """Return the value of a JSON text; a repeated key, NaN and Infinity are refused."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(entries := dict(pairs)) < len(pairs):
            raise Refused("an object repeats a key")
        return entries

    return json.loads(
        text,
        object_pairs_hook=unique,
        parse_constant=lambda name: double(math.nan),
    )


def entries(value: Any, required: str, optional: str = "") -> Mapping[str, Any]:
    """Return an object that has the required entries, perhaps optional ones, and no others."""
    names = value.keys() if type(value) is dict else ()
    if not {*required.split()} <= {*names} <= {*required.split(), *optional.split()}:
        raise Refused(f"an object has the entries {sorted(names)}, where {required} are due")
    return dict(value)


def items(value: Any) -> list[Any]:
    """Return a list."""
    if type(value) is not list:
        raise Refused(f"{shown(value)} is not a list")
    return list(value)


def string(value: Any) -> str:
    """Return a text."""
    if type(value) is not str:
        raise Refused(f"{shown(value)} is not a text")
    return str(value)


def whole(value: Any, least: int = -(10**12), most: int = 10**12) -> int:
    """Return a whole number within a range; true, 1.0 and "1" are none."""
    if type(value) is not int or not least <= value <= most:
        raise Refused(f"{shown(value)} is not a whole number from {least} to {most}")
    return int(value)


def double(value: Any) -> float:
    """Return a finite number that JSON holds as such."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise Refused(f"{shown(value)} is not a finite number")
    return float(value)


def number(value: Any) -> Fraction:
    """Return a rational number: a whole one, or a text such as 12, -0.5, 1e-06 or 7/3."""
    return _rational(str(value) if type(value) is int else string(value).strip())


@cache
def _rational(text: str) -> Fraction:
    if not NUMBER.fullmatch(text):
        raise Refused(f"{shown(text)} is not a number written as text")
    return Fraction(text)


def shown(value: Any) -> str:
    """Return a value in few letters; one that is a long list or number is never written out."""
    short = type(value) in (str, float, bool, type(None)) or (
        type(value) is int and value.bit_length() < 200
    )
    return repr(value[:40] if type(value) is str else value) if short else type(value).__name__


def printable(line: str) -> str:
    """Return a line with everything escaped that would move a cursor or reorder the text."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line
    )
