"""The CSV file as exact numbers: labels, weights, columns rebuilt from their stated cuts."""

import codecs
import csv
from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from milpscore_check.cells import plain_cell, tidy_names
from milpscore_check.values import LARGEST, NUMBER, Refused, number

MISSING = frozenset(  # fields that say there is no value
    " #N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|"
    "n/a|nan|null|".lstrip().split("|")
)
TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_MOST_COLUMNS = 1000  # or 20 of each feature
_BOTH = Fraction(0), Fraction(1)
_ESCAPING = {"utf-7", "unicode_escape", "raw_unicode_escape", "idna", "punycode"}


class Table:
    """The fields of a CSV file, feature by feature; names lose blanks at either end."""

    def __init__(self, path: Path, encoding: str, decimal: str) -> None:
        self.decimal = decimal
        try:
            codec = codecs.lookup(encoding).name
            if codec in _ESCAPING or decimal not in (".", ","):
                raise Refused(f"{encoding!r} is not read, or {decimal!r} is not a decimal point")
            if path.stat().st_size > 500_000_000:
                raise Refused(f"{path.name} is too large")
            with path.open(encoding=codec.replace("utf-8", "utf-8-sig"), newline="") as lines:
                separator = max(",;\t", key=lines.readline().count)
                lines.seek(0)
                header, *rows = [row for row in csv.reader(lines, delimiter=separator) if row]
        except (OSError, ValueError, LookupError, csv.Error) as error:
            raise Refused(f"{path.name} cannot be read as CSV: {error}") from error
        names = tidy_names(header)
        if any(len(row) > len(names) for row in rows) or not rows:
            raise Refused(f"{path.name} has no rows, or too long ones")
        fields = zip(*(row + [""] * (len(names) - len(row)) for row in rows), strict=True)
        self.fields, self.rows = dict(zip(names, fields, strict=True)), len(rows)
        self.numbers, self.categories = cache(self._numbers), cache(self._categories)

    def read(self, name: str, cells: Mapping[str, Any]) -> None:
        """Write the cells of a feature as plain numbers and categories."""
        if len(cells["signs"]) > 2 or name not in self.fields:
            raise Refused(f"the cells of {name!r} are not read")
        plain_of = {
            field: "" if field in MISSING else plain_cell(field, cells)
            for field in set(self.fields[name])
        }
        if None in plain_of.values():
            raise Refused(f"a cell of {name!r} is not a number as the others are")
        numbers = bool(cells["signs"]) and self.decimal == ","
        made = [str(plain_of[field]) for field in self.fields[name]]
        self.fields[name] = tuple(t.replace(".", ",") if numbers else t for t in made)

    def _distinct(self, name: str) -> tuple[list[str], list[int]]:
        """The texts of a feature that are values, and each row's place among them; -1: missing."""
        if name not in self.fields:
            raise Refused(f"the table has no column {name!r}")
        texts = sorted(set(self.fields[name]) - MISSING)
        place = {text: k for k, text in enumerate(texts)}
        return texts, [place.get(text, -1) for text in self.fields[name]]

    def _exact(self, field: str) -> Fraction | None:
        """The number a field is written as; None if it is not one."""
        written = field.strip(" \t")
        foreign = "/" in written or (self.decimal == "," and "." in written)
        written = written.replace(self.decimal, ".")
        return None if foreign or not NUMBER.fullmatch(written) else Fraction(written)

    def _numbers(self, name: str) -> tuple[list[Fraction], list[int]]:
        """A feature's numbers in order, those of truth values 0 and 1; and each row's place."""
        texts, places = self._distinct(name)
        truth = all(text in TRUTH for text in texts)
        found = [Fraction(TRUTH[t]) if truth else self._exact(t) for t in texts]
        if None in found:
            raise Refused(f"{texts[found.index(None)][:40]!r} in {name!r} is not a number")
        values = sorted({v for v in found if v is not None})
        place = {v: k for k, v in enumerate(values)}
        rank = [*(place[v] for v in found if v is not None), -1]
        return values, [rank[k] for k in places]

    def _categories(self, name: str) -> tuple[list[Hashable], list[int], Callable[[Any], Hashable]]:
        """A feature's values by text, and each row's place; and which value a label is.

        All truth values are compared as such, all numbers as exact numbers, others as texts.
        """
        texts, places = self._distinct(name)
        if all(text in TRUTH for text in texts):
            return [TRUTH[t] for t in texts], places, lambda label: TRUTH.get(str(label))
        numbers = [self._exact(text) for text in texts]
        if None in numbers:
            return [*texts], places, plain
        return (
            [*numbers],
            places,
            lambda label: number(str(label)) if NUMBER.fullmatch(str(label)) else None,
        )


def plain(label: Any) -> str:
    """A number as a name shows it, a label as text."""
    return str(int(label)) if type(label) is float and label.is_integer() else str(label)


def cut(column: Mapping[str, Any]) -> tuple[Fraction | None, Fraction | None]:
    """The ends of what a column reads, None for none; Refused where they are not its kind's."""
    kind, ends = column["kind"], [(column["lower"], "-inf"), (column["upper"], "inf")]
    low, high = (None if end == none else number(end) for end, none in (*ends,))
    endless = low is high is None
    fits = {
        "numeric": endless, "missing": endless, "category": endless, "step": high is None,
        "interval": low is None or high is None or low < high,
    }  # fmt: skip
    beyond = any(abs(end) > LARGEST for end in (low, high) if end is not None)
    if beyond or not fits.get(kind) or (kind == "category") != (column["category"] is not None):
        raise Refused(f"{kind!r} is not a kind of column, or not with these ends or category")
    return low, high


def rebuilt(table: Table, columns: Sequence[Mapping[str, Any]]) -> list[list[Fraction]]:
    """The columns from their stated cuts and categories, each a list over the rows."""
    if len(columns) > max(_MOST_COLUMNS, 20 * len(table.fields)):
        raise Refused(f"{len(columns)} columns are more than are made of such a table")
    for feature in {c["feature"]: None for c in columns}:
        cells, *other = [c.get("cells") for c in columns if c["feature"] == feature]
        if any(own != cells for own in other):
            raise Refused(f"the columns of {feature!r} read its cells in several ways")
        if cells:
            table.read(feature, cells)
    foreseen = {c["feature"] for c in columns if c["kind"] == "missing"}
    made = []
    for column in columns:
        (low, high), feature, kind = cut(column), column["feature"], column["kind"]
        values: Sequence[Any]
        if kind in ("category", "missing"):
            values, places, value_of = table.categories(feature)
            one = value_of(column["category"])
            read = [_BOTH[kind == "category" and v == one] for v in values]
        else:
            values, places = table.numbers(feature)
            first = 0 if low is None else bisect_left(values, low)
            last = len(values) if high is None else bisect_left(values, high)
            inside = [_BOTH[first <= k < last] for k in range(len(values))]
            read = [*values] if kind == "numeric" else inside
        if -1 in places and feature not in foreseen:
            raise Refused(f"{feature!r} has missing values, which no column foresees")
        read.append(_BOTH[kind == "missing"])
        made.append([read[k] for k in places])
    return made


def answers(table: Table, target: str, classes: Sequence[Any]) -> list[int]:
    """Each row's class, -1 or +1."""
    values, places, value_of = table.categories(target)
    against, label = classes
    others = {v for v in values if v != value_of(label)}
    if -1 in places or (against != f"not {label}" and others != {value_of(against)}):
        said = sorted(set(table.fields[target]))[:8]
        raise Refused(f"the labels are {said}, not {list(classes)}")
    return [1 if values[k] == value_of(label) else -1 for k in places]


def weights_of(
    table: Table, column: str | None, class_weight: Any, y: Sequence[int], classes: Sequence[Any]
) -> list[Fraction]:
    """The weight of each row: the named column's, times that of its class."""
    own = [Fraction(1)] * table.rows
    if column is not None:
        values, places = table.numbers(column)
        if -1 in places or values[0] < 0:
            raise Refused(f"{column!r} holds what is not a weight")
        own = [values[k] for k in places]
    each = {c: sum(w for w, k in zip(own, y, strict=True) if k == c) for c in (-1, 1)}
    if not all(each.values()):
        raise Refused("a class has no row that counts")
    factor = {c: Fraction(1) for c in each}
    if class_weight == "balanced":
        factor = {c: Fraction(sum(each.values()), 2 * each[c]) for c in each}
    elif class_weight is not None:
        place = {plain(label): c for c, label in zip(factor, classes, strict=True)}
        factor |= {place[label]: number(repr(given)) for label, given in class_weight.items()}
    if min(factor.values()) <= 0:
        raise Refused("a class weighs nothing, or less")
    return [w * factor[c] for w, c in zip(own, y, strict=True)]
