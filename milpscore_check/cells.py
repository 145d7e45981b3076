"""Cells that are written otherwise than as plain numbers and words, and header names used twice."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any

MARKS = frozenset(
    ["-", "--", "?", ".", "n/a", "n.a.", "n/k", "n/d", "na", "none", "unknown", "missing"]
)
"""What stands for no value in a column of numbers, in small letters."""

_MONEY = r"(?:US|A|C)?[€$£¥₹]|EUR|USD|GBP|CHF|JPY|Rs\.?|kr\.?"
_UNIT = r"[%‰°A-Za-zµμ€$£¥₹][^\d<>]{0,15}?"


@cache
def pattern(signs: str) -> str:
    """The cells that are numbers by these signs: before the decimals, and between thousands.

    Groups: mark, money, number, unit.
    """
    point, between = re.escape(signs[0]), re.escape(signs[1:])
    whole = rf"\d{{1,3}}(?:{between}\d{{3}})+|\d+" if between else r"\d+"
    number = rf"[+−–-]?(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d{{1,2}})?"
    return rf"([<>≤≥~]=?)?\s*({_MONEY})?\s*({number})\s*(\+|{_UNIT})?"


def number_in(cell: str, signs: str) -> tuple[Decimal, str] | None:
    """The number in a cell and its unit; half of it behind "<", None where it is not one."""
    if (found := re.fullmatch(pattern(signs), " ".join(cell.split()))) is None:
        return None
    mark, money, number, unit = (part or "" for part in found.groups())
    plain = re.sub("[−–]", "-", number.replace(signs[1:], "") if signs[1:] else number)
    value = Decimal(plain.replace(signs[0], "."))
    return value / 2 if mark == "<" else value, (money + unit.strip("+ ")).casefold()


def same_number(cell: str, marks: Sequence[str]) -> bool:
    """Return whether a cell is one of some marks; numbers are compared by value."""
    cell = cell.strip()
    if cell in marks:
        return True
    try:
        value = Decimal(cell)
        return any(value == Decimal(mark) for mark in marks if re.fullmatch(r"[-+.\d]+", mark))
    except InvalidOperation:
        return False


def folded(text: str) -> str:
    """Return a text in small letters with single blanks."""
    return " ".join(text.split()).casefold()


def plain_cell(cell: str, cells: Mapping[str, Any]) -> str | None:
    """A cell as its column is read: empty where missing, None where it is not a number as asked."""
    if same_number(cell, cells["na"]):
        return ""
    if cells["signs"]:
        if not cell.strip() or cell.strip().casefold() in MARKS:
            return ""
        found = number_in(cell, cells["signs"])
        return f"{found[0]:f}" if found and found[1] in ("", cells["unit"]) else None
    return str(dict(cells["spelt"]).get(cell, cell))


def tidy_names(names: Sequence[str]) -> list[str]:
    """Names of a header: a column without one by its place, #8; one used again numbered, SBP.2."""
    stripped = [name.strip() for name in names]
    taken, made = {*stripped}, dict[str, None]()  # in order
    for place, name in enumerate(stripped, 1):
        wanted, count = name or f"#{place}", 1
        while wanted in made or (count > 1 and wanted in taken):
            count += 1
            wanted = f"{name}.{count}"
        made[wanted] = None
    return [*made]
