"""The CSV file as exact numbers: labels, weights, columns rebuilt from their stated cuts."""

from __future__ import annotations

import csv
import hashlib
import math
import re
import struct
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

MISSING = frozenset(
    (
        " #N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|"
        "n/a|nan|null|"
    )
    .lstrip()
    .split("|")
)
"""Fields that say there is no value."""

_TRUTH = {"true": "True", "false": "False"}
_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?(/\d{1,800})?")
_MOST_BYTES = 2_000_000_000


class Refused(Exception):  # noqa: N818
    """The table or the certificate is not what it has to be; the text says where."""


DAMAGE = (
    Refused, KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError,
    RecursionError,
)  # fmt: skip
"""What reading an entry of another layout raises."""


@cache
def number(text: Any) -> Fraction:
    """A rational number from its text, such as 12, -0.5, 1e-06 or 7/3."""
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise Refused(f"{text!r} is no number written as text")
    plain = str(text).strip()
    if not _NUMBER.fullmatch(plain):
        raise Refused(f"{plain[:40]!r} is no number")
    head, _, below = plain.partition("/")
    if below and not int(below):
        raise Refused(f"{plain[:40]!r} is no number")
    return Fraction(head) / (int(below) if below else 1)


class Table:
    """The fields of a CSV file, feature by feature.

    One header line; commas, semicolons or tabs between fields (whichever is most frequent in the
    header); blank lines are left out; names lose blanks at either end.
    """

    def __init__(self, path: Path, *, encoding: str = "utf-8", decimal: str = ".") -> None:
        self.decimal = decimal
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise Refused(f"{path.name} is larger than {_MOST_BYTES} bytes")
            codec = "utf-8-sig" if encoding.lower().replace("_", "-") == "utf-8" else encoding
            with path.open(encoding=codec, newline="") as lines:
                first = lines.readline()
                lines.seek(0)
                separator = max(",;\t", key=first.count)
                header, *rows = [row for row in csv.reader(lines, delimiter=separator) if row]
        except (OSError, ValueError, LookupError, csv.Error) as error:
            raise Refused(f"{path.name} cannot be read as CSV: {error}") from error
        names = [name.strip() for name in header]
        if len(set(names)) < len(names) or any(len(row) > len(names) for row in rows) or not rows:
            raise Refused(f"{path.name} repeats a name, has no rows, or has too long ones")
        fields = zip(*(row + [""] * (len(names) - len(row)) for row in rows), strict=True)
        self.fields = dict(zip(names, fields, strict=True))
        self.rows = len(rows)

    def field(self, name: Any) -> Sequence[str]:
        """The texts of a feature."""
        if name not in self.fields:
            raise Refused(f"the table has no column {name!r}")
        return self.fields[name]

    def numbers(self, name: Any) -> list[Fraction | None]:
        """A feature's values as the decimals they are written as; None where missing."""
        known: dict[str, Fraction | None] = dict.fromkeys(MISSING)
        for text in set(self.field(name)) - MISSING:
            own = _TRUTH.get(text.strip().lower(), text).replace(self.decimal, ".")
            known[text] = number({"True": "1", "False": "0"}.get(own, own))
        return [known[text] for text in self.field(name)]

    def categories(self, name: Any) -> list[str | None]:
        """A feature's values as text, numbers and truth values spelt in one way."""
        texts = {text: text.strip() for text in self.field(name) if text not in MISSING}
        if all(text.lower() in _TRUTH for text in texts.values()):
            texts = {text: _TRUTH[own.lower()] for text, own in texts.items()}
        elif all(_NUMBER.fullmatch(own) and "/" not in own for own in texts.values()):
            texts = {text: plain(float(own)) for text, own in texts.items()}
        else:
            texts = {text: text for text in texts}
        return [texts.get(text) for text in self.field(name)]


def plain(label: Any) -> str:
    """A number as a name shows it, a label as text."""
    if type(label) not in (int, float):
        return str(label)
    return str(int(label)) if math.isfinite(label) and label == int(label) else str(label)


def name_of(column: Mapping[str, Any]) -> str:
    """What a column must be called by what it reads."""
    feature, kind = column["feature"], column["kind"]
    low, high = plain(float(column["lower"])), plain(float(column["upper"]))
    ending = {"numeric": "", "missing": " missing", "category": f" = {column['category']}"}
    if kind in ending:
        return f"{feature}{ending[kind]}"
    if low == "-inf":
        return f"{feature} (any value)" if high == "inf" else f"{feature} < {high}"
    return f"{feature} >= {low}" if high == "inf" else f"{low} <= {feature} < {high}"


def rebuilt(table: Table, columns: Sequence[Mapping[str, Any]]) -> list[list[Fraction]]:
    """The columns from their stated cuts and categories, each a list over the rows."""
    foreseen = {c["feature"] for c in columns if c["kind"] == "missing"}
    made = []
    for column in columns:
        feature, kind = column["feature"], column["kind"]
        own = [c for c in columns if c["feature"] == feature]
        values: Sequence[Any]
        if kind in ("category", "missing"):
            values = table.categories(feature)
            known = {c["category"] for c in own}.union(*(c["others"] for c in own))
            strange = {str(v) for v in values if v is not None} - known
            if kind == "category" and strange:
                raise Refused(f"{feature!r} holds {min(strange)!r}, which no column foresees")
            wanted = column["category"] if kind == "category" else None
            read: dict[Any, Fraction] = {v: Fraction(v == wanted) for v in values}
        elif kind in ("numeric", "interval", "step"):
            values = table.numbers(feature)
            ends = [column["lower"], column["upper"]]
            low, high = (None if math.isinf(float(end)) else number(end) for end in ends)
            read = {None: Fraction(0)}
            for value in {v for v in values if v is not None}:
                inside = (low is None or value >= low) and (high is None or value < high)
                read[value] = value if kind == "numeric" else Fraction(inside)
        else:
            raise Refused(f"{kind!r} is no kind of column")
        if None in values and feature not in foreseen:
            raise Refused(f"{feature!r} has missing values, which no column foresees")
        made.append([read[value] for value in values])
    return made


def answers(table: Table, target: str, classes: Sequence[Any]) -> list[int]:
    """Each row's class, -1 or +1."""
    against, label = classes
    texts = table.categories(target)
    found = {text: 1 if text == plain(label) else -1 for text in set(texts)}
    both = {plain(against), plain(label)}
    if None in found or (str(against) != f"not {label}" and set(found) != both):
        raise Refused(f"the labels are {sorted(map(str, found))[:8]}, not {[against, label]}")
    return [found[text] for text in texts]


def weights_of(
    table: Table, column: str | None, class_weight: Any, y: Sequence[int], classes: Sequence[Any]
) -> tuple[list[Fraction], list[float]]:
    """The weight of each row, the named column's times that of its class; and as doubles."""
    rows = [Fraction(1)] * table.rows if column is None else table.numbers(column)
    own = [w for w in rows if w is not None and w >= 0]
    if len(own) < len(rows):
        raise Refused(f"{column!r} holds what is no weight")
    each = {
        c: sum((w for w, k in zip(own, y, strict=True) if k == c), Fraction(0)) for c in (-1, 1)
    }
    if not all(each.values()):
        raise Refused("a class has no row of positive weight")
    factor = {-1: Fraction(1), 1: Fraction(1)}
    if class_weight == "balanced":
        factor = {c: sum(each.values()) / (2 * each[c]) for c in factor}
    elif isinstance(class_weight, Mapping):
        for label, given in class_weight.items():
            factor[1 if str(label) == plain(classes[1]) else -1] = number(repr(given))
    elif class_weight is not None:
        raise Refused(f"{class_weight!r} is no way to weigh classes")
    rounded = {c: float(f) for c, f in factor.items()}
    pairs = list(zip(own, y, strict=True))
    return [w * factor[c] for w, c in pairs], [float(w) * rounded[c] for w, c in pairs]


def fingerprint(
    columns: Sequence[Sequence[Fraction]],
    y: Sequence[int],
    weight: Sequence[float],
    names: Sequence[str],
) -> str:
    """SHA-256 of the rows as doubles, the classes as 64-bit integers, the weights and the names."""
    digest = hashlib.sha256()
    known: dict[Fraction, float] = {}
    for row in zip(*columns, strict=True):
        values = [known.setdefault(v, float(v)) for v in row]
        digest.update(struct.pack(f"<{len(values)}d", *values))
    digest.update(struct.pack(f"<{len(y)}q", *y))
    digest.update(struct.pack(f"<{len(y)}d", *weight))
    digest.update("\x00".join(names).encode())
    return digest.hexdigest()
