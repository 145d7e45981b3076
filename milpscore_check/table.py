"""The CSV file as exact numbers: labels, weights, columns rebuilt from their stated cuts."""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

MISSING = frozenset(  # fields that say there is no value
    " #N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|"
    "n/a|nan|null|".lstrip().split("|")
)
_NUMBER = re.compile(
    r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?(/[1-9]\d{0,800})?"
)


class Refused(Exception):  # noqa: N818
    """The table or the certificate is not what it has to be; the text says where."""


@cache
def number(text: Any) -> Fraction:
    """A rational number from its text, such as 12, -0.5, 1e-06 or 7/3."""
    written = str(text).strip() if type(text) in (str, int) else ""
    if not _NUMBER.fullmatch(written):
        raise Refused(f"{str(text)[:40]!r} is no number written as text")
    return Fraction(written)


class Table:
    """The fields of a CSV file, feature by feature; names lose blanks at either end."""

    def __init__(self, path: Path, encoding: str, decimal: str) -> None:
        self.decimal = decimal
        codec = "utf-8-sig" if encoding.lower().replace("_", "-") == "utf-8" else encoding
        try:
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

    def field(self, name: Any) -> Sequence[str]:
        """The texts of a feature."""
        if name not in self.fields:
            raise Refused(f"the table has no column {name!r}")
        return self.fields[name]

    def numbers(self, name: Any) -> list[Fraction | None]:
        """A feature's values as the decimals they are written as; None where missing."""
        known: dict[str, Fraction | None] = dict.fromkeys(MISSING)
        for text in set(self.field(name)) - MISSING:
            truth = {"true": "1", "false": "0"}.get(text.strip().lower())
            known[text] = number(truth or text.replace(self.decimal, "."))
        return [known[text] for text in self.field(name)]

    def categories(self, name: Any) -> list[str | None]:
        """A feature's values as text; where all are numbers or truth values, spelt in one way."""
        texts = set(self.field(name)) - MISSING
        spelt = {text: text for text in texts}
        if all(text.strip().lower() in ("true", "false") for text in texts):
            spelt = {text: text.strip().capitalize() for text in texts}
        elif all(_NUMBER.fullmatch(text.strip()) and "/" not in text for text in texts):
            spelt = {text: plain(float(text)) for text in texts}
        return [spelt.get(text) for text in self.field(name)]


def plain(label: Any) -> str:
    """A number as a name shows it, a label as text."""
    whole = type(label) in (int, float) and math.isfinite(label) and label == int(label)
    return str(int(label)) if whole else str(label)


def rebuilt(table: Table, columns: Sequence[Mapping[str, Any]]) -> list[list[Fraction]]:
    """The columns from their stated cuts and categories, each a list over the rows."""
    foreseen = {c["feature"] for c in columns if c["kind"] == "missing"}
    made = []
    for column in columns:
        feature, kind, wanted = column["feature"], column["kind"], column["category"]
        ends = [column["lower"], column["upper"]]
        fits = {"category": type(wanted) is str, "interval": float(ends[0]) < float(ends[1])}
        if not {"missing": True, "numeric": True, "step": ends[1] == "inf", **fits}.get(kind):
            raise Refused(f"{kind!r} is no kind of column, or not with {[*ends, wanted]}")
        text = kind in ("category", "missing")
        values: Sequence[Any] = table.categories(feature) if text else table.numbers(feature)
        low, high = (None if math.isinf(float(end)) else number(end) for end in ends)
        read = {None: Fraction(kind == "missing")}
        for v in (v for v in set(values) if v is not None):
            inside = text or ((low is None or v >= low) and (high is None or v < high))
            read[v] = v if kind == "numeric" else Fraction(v == wanted if text else inside)
        if None in values and feature not in foreseen:
            raise Refused(f"{feature!r} has missing values, which no column foresees")
        made.append([read[v] for v in values])
    return made


def answers(table: Table, target: str, classes: Sequence[Any]) -> list[int]:
    """Each row's class, -1 or +1."""
    against, label = classes
    texts = table.categories(target)
    others = set(texts) - {plain(label)}
    if None in others or (str(against) != f"not {label}" and others != {plain(against)}):
        raise Refused(f"the labels are {sorted(map(str, set(texts)))[:8]}, not {list(classes)}")
    return [1 if text == plain(label) else -1 for text in texts]


def weights_of(
    table: Table, column: str | None, class_weight: Any, y: Sequence[int], classes: Sequence[Any]
) -> list[Fraction]:
    """The weight of each row: the named column's, times that of its class."""
    own = [Fraction(1)] * table.rows if column is None else table.numbers(column)
    each = {c: sum(w or 0 for w, k in zip(own, y, strict=True) if k == c) for c in (-1, 1)}
    if any(w is None or w < 0 for w in own) or not all(each.values()):
        raise Refused(f"{column!r} holds what is no weight, or a class has no row that counts")
    factor = {c: Fraction(1) for c in each}
    if class_weight == "balanced":
        factor = {c: Fraction(sum(each.values()), 2 * each[c]) for c in each}
    elif class_weight is not None:
        place = {plain(label): c for c, label in zip(factor, classes, strict=True)}
        factor |= {place[label]: number(repr(given)) for label, given in class_weight.items()}
    if min(factor.values()) <= 0:
        raise Refused("a class weighs nothing, or less")
    return [(w or 0) * factor[c] for w, c in zip(own, y, strict=True)]
