"""The table, read in passes: what the texts of a column are, and the columns of stated cuts."""

import codecs
import csv
import gzip
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from milpscore_check.cells import plain_cell, tidy_names
from milpscore_check.values import LARGEST, NUMBER, Refused, number

MISSING = frozenset(  # fields that say there is no value
    " #N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|"
    "n/a|nan|null|".lstrip().split("|")
)
TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_BLOCK = 50_000  # rows that are held at once, and texts of a feature
_BOTH = Fraction(0), Fraction(1)
_ESCAPING = {"utf-7", "unicode_escape", "raw_unicode_escape", "idna", "punycode"}
_PARQUET = ".parquet", ".pq"


class Table:
    """A CSV file, packed by gzip or not, or Parquet; names lose blanks at either end."""

    def __init__(self, path: Path, encoding: str, decimal: str) -> None:
        self.path = path
        self.files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        self.parquet = all(file.suffix.lower() in _PARQUET for file in self.files)
        self.missing = frozenset([""]) if self.parquet else MISSING
        self.decimal = "." if self.parquet else decimal
        if not self.files:
            raise Refused(f"{path.name} holds no Parquet files")
        with self._reading():
            self.codec = codecs.lookup(encoding).name.replace("utf-8", "utf-8-sig")
            if self.codec in _ESCAPING or decimal not in (".", ","):
                raise Refused(f"{encoding!r} is not read, or {decimal!r} is not a decimal point")
            self.header = next(self._packed([]) if self.parquet else self._lines())
        self.names = tidy_names(self.header)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Say which file it is that cannot be read."""
        try:
            yield
        except (OSError, EOFError, ValueError, LookupError, StopIteration, csv.Error) as error:
            kind = "Parquet" if self.parquet else "CSV"
            raise Refused(f"{self.path.name} cannot be read as {kind}: {error}") from error
        except ImportError as error:
            raise Refused("reading Parquet takes pyarrow: pip install pyarrow") from error

    def _lines(self) -> Iterator[list[str]]:
        """The lines of a CSV file that are not empty, the header first."""
        packed = gzip.open if self.path.suffix.lower() == ".gz" else open
        with packed(self.path, "rt", encoding=self.codec, newline="") as lines:
            separator = max(",;\t", key=lines.readline().count)
            lines.seek(0)
            yield from filter(None, csv.reader(lines, delimiter=separator))

    def _packed(self, places: Sequence[int]) -> Iterator[Any]:
        """The header of Parquet files, and then rows of some columns, block by block."""
        from pyarrow.parquet import ParquetFile

        for k, file in enumerate(self.files):
            with ParquetFile(file) as rows:
                names = rows.schema_arrow.names
                if not k:
                    yield names
                elif names != self.header:
                    raise Refused(f"{file.name} has other columns than {self.files[0].name}")
                for batch in rows.iter_batches(_BLOCK, columns=[names[j] for j in {*places}]):
                    columns = (batch.column(names[j]).to_pylist() for j in places)
                    yield [*zip(*(map(_text, column) for column in columns), strict=True)]

    def blocks(self, wanted: Sequence[str]) -> Iterator[list[tuple[str, ...]]]:
        """The texts of two columns or more, some rows at a time."""
        if away := [name for name in wanted if name not in self.names]:
            raise Refused(f"the table has no column {away[0]!r}")
        places, width = [self.names.index(name) for name in wanted], len(self.names)
        with self._reading():
            rows = self._packed(places) if self.parquet else self._lines()
            next(rows)
            while self.parquet and (block := next(rows, None)) is not None:
                yield block
            while block := [*islice(rows, _BLOCK)]:
                if any(len(row) > width for row in block):
                    raise Refused(f"{self.path.name} has rows that are too long")
                padded = (row + [""] * (width - len(row)) for row in block)
                yield [*map(itemgetter(*places), padded)]


def _text(value: Any) -> str:
    """A value of a Parquet file as text."""
    if value is None or value != value:  # noqa: PLR0124  (not a number)
        return ""
    if not isinstance(value, str | bool | int | float | Decimal):
        raise Refused(f"a value of type {type(value).__name__} is neither a number nor a text")
    return str(value)


class Feature:
    """What a column's texts are: all truth values, all numbers, or neither."""

    def __init__(self, table: Table, name: str, cells: Mapping[str, Any] | None = None) -> None:
        self.name, self.cells = name, cells
        self.decimal, self.missing = table.decimal, table.missing
        if cells and len(cells["signs"]) > 2:
            raise Refused(f"the cells of {name!r} are not read")
        self.truth, self.holes, self.odd, self.seen = True, False, "", set[str]()
        self.columns: list[Callable[[Any], Fraction]] = []
        self.codes, self.made = dict[str, int](), dict[tuple[Fraction, ...], int]()

    def plain(self, text: str) -> str | None:
        """A text as it is read; None where it is missing."""
        if text in self.missing or not self.cells:
            return None if text in self.missing else text
        if (plain := plain_cell(text, self.cells)) is None:
            raise Refused(f"a cell of {self.name!r} is not a number as the others are")
        commas = self.cells["signs"] and self.decimal == ","
        return None if plain in self.missing else plain.replace(".", ",") if commas else plain

    def exact(self, text: str) -> Fraction | None:
        """The number a text is written as; None if it is not one."""
        written = text.strip(" \t")
        foreign = "/" in written or (self.decimal == "," and "." in written)
        written = written.replace(self.decimal, ".")
        return None if foreign or not NUMBER.fullmatch(written) else Fraction(written)

    def look(self, texts: Collection[str]) -> None:
        """Take note of what some texts are."""
        for text in {*texts} - self.seen:
            if (plain := self.plain(text)) is None:
                self.holes = True
            else:
                self.truth = self.truth and plain in TRUTH
                self.odd = self.odd or ("" if self.exact(plain) is not None else plain)
            if len(self.seen) < _BLOCK:
                self.seen.add(text)

    @property
    def words(self) -> bool:
        """Whether the texts are neither all numbers nor all truth values."""
        return bool(self.odd) and not self.truth

    def value(self, text: str) -> Any:
        """The value of a text: a truth value, a number or a text as the others; None if missing."""
        plain = self.plain(text)
        if plain is None or self.words:
            return plain
        return TRUTH[plain] if self.truth else self.exact(plain)

    def label(self, label: Any) -> Any:
        """The value that a stated label or category is; None if it is none of these."""
        if self.truth:
            return TRUTH.get(str(label))
        if self.words:
            return named(label)
        return number(str(label)) if NUMBER.fullmatch(str(label)) else None

    def numbers(self) -> None:
        """Refuse a column of numbers that holds others."""
        if self.words:
            raise Refused(f"{self.odd[:40]!r} in {self.name!r} is not a number")

    def add(self, column: Mapping[str, Any]) -> None:
        """Make one more column of it."""
        (low, high), kind = cut(column), column["kind"]
        one = self.label(column["category"]) if kind == "category" else None
        if kind not in ("category", "missing"):
            self.numbers()

        def read(value: Any) -> Fraction:
            if value is None or kind == "missing":
                return _BOTH[value is None and kind == "missing"]
            if kind == "numeric":
                return Fraction(value)
            if kind == "category":
                return _BOTH[value == one]
            return _BOTH[(low is None or value >= low) and (high is None or value < high)]

        self.columns.append(read)

    def code(self, text: str) -> int:
        """Which of the rows of its columns a text makes."""
        if (known := self.codes.get(text)) is None:
            if len(self.codes) == _BLOCK:
                self.codes.clear()
            value = self.value(text)
            row = tuple(read(value) for read in self.columns)
            known = self.codes[text] = self.made.setdefault(row, len(self.made))
        return known


def named(label: Any) -> str:
    """A number as a name shows it, a label as text."""
    return str(int(label)) if type(label) is float and label.is_integer() else str(label)


def cut(column: Mapping[str, Any]) -> tuple[Fraction | None, Fraction | None]:
    """The ends of what a column reads, None for none; Refused where they are not its kind's."""
    kind, ends = column["kind"], [(column["lower"], "-inf"), (column["upper"], "inf")]
    low, high = (None if end == none else number(end) for end, none in (*ends,))
    endless = low is high is None
    fits = {
        "numeric": endless, "total": endless, "missing": endless, "category": endless,
        "step": high is None, "interval": low is None or high is None or low < high,
    }  # fmt: skip
    beyond = any(abs(end) > LARGEST for end in (low, high) if end is not None)
    if beyond or not fits.get(kind) or (kind == "category") != (column["category"] is not None):
        raise Refused(f"{kind!r} is not a kind of column, or not with these ends or category")
    return low, high
