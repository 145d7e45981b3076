"""The CSV file as exact numbers: labels, weights, columns rebuilt from their stated cuts."""

import codecs
import csv
import math
import sys
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from milpscore_check.values import NUMBER, Refused, double, entries, number, string

MISSING = frozenset(  # fields that say there is no value
    " #N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|"
    "n/a|nan|null|".lstrip().split("|")
)
_ESCAPING = {"utf-7", "unicode_escape", "raw_unicode_escape", "idna", "punycode"}


class Table:
    """The fields of a CSV file, feature by feature; names lose blanks at either end."""

    def __init__(self, path: Path, encoding: str, decimal: str) -> None:
        self.decimal = decimal
        try:
            codec = codecs.lookup(encoding).name
            if codec in _ESCAPING:
                raise Refused(f"the encoding {encoding!r} makes other letters of plain ones")
            codec = "utf-8-sig" if codec == "utf-8" else codec
            if path.stat().st_size > 500_000_000 or decimal not in (".", ","):
                raise Refused(f"{path.name} is too large, or {decimal!r} is no decimal point")
            with path.open(encoding=codec, newline="") as lines:
                separator = max(",;\t", key=lines.readline().count)
                lines.seek(0)
                header, *rows = [row for row in csv.reader(lines, delimiter=separator) if row]
        except (OSError, ValueError, LookupError, csv.Error) as error:
            raise Refused(f"{path.name} cannot be read as CSV: {error}") from error
        names = [name.strip() for name in header]
        if len(set(names)) < len(names) or any(len(row) > len(names) for row in rows) or not rows:
            raise Refused(f"{path.name} repeats a name, has no rows, or has too long ones")
        fields = zip(*(row + [""] * (len(names) - len(row)) for row in rows), strict=True)
        self.fields, self.rows = dict(zip(names, fields, strict=True)), len(rows)

    def field(self, name: str) -> Sequence[str]:
        """The texts of a feature."""
        if name not in self.fields:
            raise Refused(f"the table has no column {name!r}")
        return self.fields[name]

    def numbers(self, name: str) -> dict[str, Fraction | None]:
        """What each text of a feature is as the decimal it is written as; None where missing."""
        return {text: self._number(text) for text in set(self.field(name))}

    def _number(self, text: str) -> Fraction | None:
        truth = {"true": "1", "false": "0"}.get(text.strip().lower())
        return None if text in MISSING else number(truth or self._decimal(text))

    def categories(self, name: str) -> tuple[dict[str, Hashable], Callable[[Any], Hashable]]:
        """What each text of a feature is, None where missing, and what a label would be among them.

        Texts are compared as texts, but as truth values or as exact numbers where all are such.
        """
        texts = set(self.field(name)) - MISSING
        read: Callable[[str], Hashable] = str
        label: Callable[[Any], Hashable] = plain
        if all(text.strip().lower() in ("true", "false") for text in texts):
            read = label = lambda value: str(value).strip().lower()
        elif all(NUMBER.fullmatch(self._decimal(text)) for text in texts):
            read = self._number

            def label(value: Any) -> Hashable:
                written = repr(value) if type(value) is float else str(value).strip()
                return number(written) if NUMBER.fullmatch(written) else written

        return {**{text: read(text) for text in texts}, **dict.fromkeys(MISSING)}, label

    def _decimal(self, text: str) -> str:
        """A field with a decimal point; one that is no number under the table's stays none."""
        foreign = "/" in text or (self.decimal == "," and "." in text)
        return "" if foreign else text.strip().replace(self.decimal, ".")


def plain(label: Any) -> str:
    """A number as a name shows it, a label as text."""
    whole = type(label) in (int, float) and math.isfinite(label) and label == int(label)
    return str(int(label)) if whole else str(label)


def rebuilt(table: Table, columns: Sequence[Any]) -> list[list[Fraction]]:
    """The columns from their stated cuts and categories, each a list over the rows."""
    if len(columns) > max(1000, 20 * len(table.fields)):
        raise Refused(f"{len(columns)} columns are more than are made of a table like this")
    layout = "feature kind lower upper category others"
    specs = [entries(column, layout) for column in columns]
    foreseen = {string(c["feature"]) for c in specs if c["kind"] == "missing"}
    numbers, categories, made = cache(table.numbers), cache(table.categories), []
    for column in specs:
        feature, kind, wanted = string(column["feature"]), column["kind"], column["category"]
        low, high = _end(column["lower"], "-inf"), _end(column["upper"], "inf")
        cut = {
            "numeric": low is high is None, "missing": low is high is None,
            "category": low is high is None, "step": high is None,
            "interval": low is None or high is None or low < high,
        }.get(string(kind))  # fmt: skip
        if not cut or type(wanted) is not (str if kind == "category" else type(None)):
            ends = [column["lower"], column["upper"], wanted]
            raise Refused(f"{kind!r} is not a kind of column, or not with {ends}")
        read: dict[str, Fraction] = {}
        if kind in ("category", "missing"):
            texts, label = categories(feature)
            one = label(wanted) if kind == "category" else ()
            read = {text: Fraction(v == one) for text, v in texts.items()}
        else:
            for text, x in numbers(feature).items():
                if x is not None:
                    inside = (low is None or x >= low) and (high is None or x < high)
                    read[text] = x if kind == "numeric" else Fraction(inside)
        read |= dict.fromkeys(MISSING, Fraction(kind == "missing"))
        if feature not in foreseen and not MISSING.isdisjoint(table.field(feature)):
            raise Refused(f"{feature!r} has missing values, which no column foresees")
        made.append([read[text] for text in table.field(feature)])
    return made


def _end(written: Any, open_end: str) -> Fraction | None:
    """An end of a cut: a number that a double can hold, or None where the cut has no such end."""
    if written == open_end:
        return None
    end = number(string(written))
    if abs(end) > sys.float_info.max:
        raise Refused(f"the end {written!r} lies beyond doubles")
    return end


def answers(table: Table, target: str, classes: Sequence[Any]) -> list[int]:
    """Each row's class, -1 or +1."""
    against, positive = classes
    values, label = table.categories(target)
    texts = [values[text] for text in table.field(target)]
    others = set(texts) - {label(positive)}
    if None in others or (against != f"not {plain(positive)}" and others != {label(against)}):
        raise Refused(f"the labels are {sorted(map(str, set(texts)))[:8]}, not {list(classes)}")
    return [1 if text == label(positive) else -1 for text in texts]


def weights_of(
    table: Table, column: str | None, class_weight: Any, y: Sequence[int], classes: Sequence[Any]
) -> list[Fraction]:
    """The weight of each row: the named column's, times that of its class."""
    known = {} if column is None else table.numbers(column)
    own = [known[text] for text in table.field(column)] if column else [Fraction(1)] * table.rows
    each = {c: sum(w or 0 for w, k in zip(own, y, strict=True) if k == c) for c in (-1, 1)}
    if any(w is None or w < 0 for w in own) or not all(each.values()):
        raise Refused(f"{column!r} holds what is no weight, or a class has no row that counts")
    factor = {c: Fraction(1) for c in each}
    if class_weight == "balanced":
        factor = {c: Fraction(sum(each.values()), 2 * each[c]) for c in each}
    elif class_weight is not None:
        place = {plain(label): c for c, label in zip(factor, classes, strict=True)}
        factor |= {place[label]: number(repr(double(w))) for label, w in class_weight.items()}
    if min(factor.values()) <= 0:
        raise Refused("a class weighs nothing, or less")
    return [(w or 0) * factor[c] for w, c in zip(own, y, strict=True)]
