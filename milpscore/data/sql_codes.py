"""Rows of a table as codes in SQL, many packed in one whole number, and codes as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from milpscore.core.design import Column, FloatArray
from milpscore.core.errors import DataError
from milpscore.data.checking import check_size, refuse_missing
from milpscore.data.columns import column_values
from milpscore.data.sources import literal, quoted
from milpscore_check.table import TRUTH

MAX_CODES = 255
"""Values of a feature that a byte tells apart, one more kept for a missing one."""

_WORD = 2**62
_SPAN = 2**10


class Scan(Protocol):
    """What is known of the rows, and how they are read in SQL."""

    clean: set[str]
    few: dict[str, list[float]]

    def kind_of(self, name: str) -> str:
        """What a column holds."""

    def number_of(self, name: str) -> str:
        """A column of numbers, NULL where it is missing."""

    def key_of(self, name: str) -> str:
        """A column as a key of groups."""

    def is_whole(self, name: str) -> bool:
        """Whether it holds whole numbers by its type."""


def case_of(read: str, values: Sequence[Any]) -> str:
    """The place of a value among some, behind them where it is none, in SQL."""
    said = [literal(v) if isinstance(v, str) else str(v) for v in values]
    steps = " ".join(f"WHEN {text} THEN {k}" for k, text in enumerate(said))
    return f"CASE {read} {steps} ELSE {len(values)} END"


def plain_values(values: pd.Series[Any]) -> pd.Series[Any]:
    """Values as pandas would read them: whole numbers, truth values."""
    if values.dtype.kind == "f" and (values % 1.0 == 0.0).all():
        return values.astype(np.int64)
    if values.dtype.kind in "biufM":
        return values
    texts = [None if pd.isna(value) else value for value in values.tolist()]
    there = [text for text in texts if text is not None]
    if there and all(isinstance(text, str) and text in TRUTH for text in there):
        texts = [None if text is None else TRUTH[text] for text in texts]
    made_of = pd.Series(texts, dtype=object)
    return made_of.infer_objects() if all(isinstance(text, bool) for text in texts) else made_of


@dataclass
class _Part:
    """How one feature is read: its SQL, the value behind each code, the places of its columns."""

    text: str
    size: int  # of its codes, 0 where the value itself is the key
    values: pd.Series[Any] | None
    columns: list[int]
    key: int = 0
    unit: int = 1


@dataclass
class Reading:
    """How rows become codes, many of them packed in one whole number, and codes columns."""

    columns: Sequence[Column]
    parts: dict[str, _Part]
    keys: list[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, columns: Sequence[Column], scan: Scan) -> Reading:
        """The reading of some columns."""
        places: dict[str, list[int]] = {}
        for j, column in enumerate(columns):
            places.setdefault(column.feature, []).append(j)
        numbers = frozenset(name for name in places if scan.kind_of(name) == "number")
        parts = {name: _part_of(name, own, columns, scan) for name, own in places.items()}
        keys: list[str] = []
        packed, unit = -1, _WORD
        for part in parts.values():
            if not part.size:
                part.key = len(keys)
                keys.append(part.text)
                continue
            if unit * part.size > _WORD:
                packed, unit = len(keys), 1
                keys.append("")
            part.key, part.unit = packed, unit
            unit *= part.size
            term = f"{part.unit} * ({part.text})::BIGINT"
            keys[packed] = f"{keys[packed]} + {term}" if keys[packed] else term
        return cls(columns, parts, keys, numbers)

    def values(self, found: pd.DataFrame) -> FloatArray:
        """The columns of the patterns, shape (m, p)."""
        check_size(len(found), len(self.columns), "the design")
        X = np.empty((len(found), len(self.columns)))
        for name, part in self.parts.items():
            keys, own = found[f"k{part.key}"], [self.columns[j] for j in part.columns]
            if part.values is not None:
                values, codes = part.values, keys.to_numpy(np.int64) // part.unit % part.size
            else:
                codes, distinct = pd.factorize(keys)
                raw = pd.Series(distinct)
                values = raw.astype(np.float64) if name in self.numbers else plain_values(raw)
                codes = np.where(codes < 0, len(raw), codes)
            absent = codes == len(values)
            if absent.any():
                if all(column.kind != "missing" for column in own):
                    refuse_missing({name: int(found["v0"][absent].sum())})
                gap = pd.Series([np.nan]) if name in self.numbers else pd.Series([None])
                values = pd.concat([values.astype(gap.dtype), gap], ignore_index=True)
            made = column_values(own, pd.DataFrame({name: values}), "error")
            X[:, part.columns] = made[codes]
        return X


def _part_of(name: str, places: list[int], columns: Sequence[Column], scan: Scan) -> _Part:
    """The reading of one feature: by its cuts, or by its values."""
    own = [columns[j] for j in places]
    kinds = {column.kind for column in own}
    if scan.kind_of(name) != "number":
        if not kinds <= {"category", "missing"}:
            raise DataError(f"column {name!r} holds no numbers, which its cuts are for.")
        return _Part(scan.key_of(name), 0, None, places)
    read = scan.number_of(name)
    if "numeric" in kinds:
        if name not in scan.few:
            return _Part(read, 0, None, places)
        below = scan.few[name] or [0.0]
        cuts = below[1:]
    else:
        ends = {end for column in own for end in (column.lower, column.upper)}
        cuts = sorted(end for end in ends if math.isfinite(end))
        below = [np.nextafter(cuts[0], -np.inf), *cuts] if cuts else [0.0]
    few = scan.few.get(name, ())
    if few and name in scan.clean and scan.is_whole(name) and few[-1] - few[0] < _SPAN:
        least, most = int(few[0]), int(few[-1])
        if len(set(np.searchsorted(cuts, few, side="right").tolist())) == len(few):
            # a bin for each value: half the time of comparing it with the cuts
            whole = pd.Series(np.arange(least, most + 1, dtype=np.float64))
            return _Part(f"{quoted(name)}::BIGINT - {least}", len(whole) + 1, whole, places)
    text = _compared(read, cuts, name in scan.clean)
    return _Part(text, len(cuts) + 2, pd.Series(below), places)


def _compared(read: str, cuts: Sequence[float], clean: bool) -> str:
    """Return the SQL of the number of cuts at or below a value; a missing one has a code beyond."""
    steps = " ".join(f"WHEN {read} < {cut!r}::DOUBLE THEN {k}" for k, cut in enumerate(cuts))
    absent = "" if clean else f"WHEN {read} IS NULL THEN {len(cuts) + 1} "
    return f"CASE {absent}{steps} ELSE {len(cuts)} END" if absent or cuts else "0"
