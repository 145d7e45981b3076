"""Whom the rows describe: their features by class, what is missing, and subgroups of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.errors import DataError, near_matches
from milpscore.core.writing import printable
from milpscore.scorecard.rendering import number, signed
from milpscore_show.report.subject import Subject

MOST_LEVELS, MOST_GROUPS = 8, 12
_FEW = 6
"""A number with more values is described by quartiles, and parted in thirds for subgroups."""

Cells: TypeAlias = list[str]
Sides: TypeAlias = list[tuple[Subject, BoolArray]]


def sides_of(subjects: Sequence[Subject]) -> Sides:
    """Each set of data's rows of positive weight, positive ones first."""
    return [(s, s.counted & hit) for s in subjects for hit in (s.positive, ~s.positive)]


def characteristics(subjects: Sequence[Subject], features: Sequence[str]) -> Iterator[Cells]:
    """Lines of a table of features by class: name, level, then a figure for each side."""
    sides = sides_of(subjects)
    raw = all(each.raw is not None for each in subjects)
    for feature in features:
        lines = list(_of_table(sides, feature) if raw else _of_columns(sides, feature))
        words = subjects[0].card.words.get(feature, {})
        unit = f", {words['unit']}" if words.get("unit") else ""
        for k, (level, *cells) in enumerate(lines):
            yield ["" if k else f"{words.get('name', feature)}{unit}", level, *cells]


def _of_table(sides: Sides, feature: str) -> Iterator[Cells]:
    """A raw feature: quartiles of a number, else the share of each level; and what is missing."""
    tables = [subject.raw for subject, _ in sides if subject.raw is not None]
    frames = [each for raw in tables if (each := _column(raw, feature)) is not None]
    if len(frames) < len(sides):
        return
    parts = [each[side] for each, (_, side) in zip(frames, sides, strict=True)]
    first = frames[0].dropna()
    if pd.api.types.is_numeric_dtype(first) and first.nunique() > _FEW:
        numbers = [pd.to_numeric(each, errors="coerce").dropna().to_numpy(float) for each in parts]
        cells = [quartiles(each, np.ones(len(each), np.int64)) for each in numbers]
        yield ["median (quartiles)", *cells]
    else:
        texts = [each.dropna().map(level_text) for each in parts]
        common = first.map(level_text).value_counts()
        levels = in_order(common.index[:MOST_LEVELS], first.dtype)
        if set(levels) == {"0", "1"}:
            levels = ["1"]
        for level in levels:
            yield [level, *(_part(int((each == level).sum()), len(each)) for each in texts)]
        if len(common) > MOST_LEVELS:
            others = [int((~each.isin(levels)).sum()) for each in texts]
            counts = zip(others, texts, strict=True)
            yield ["all others", *(_part(count, len(each)) for count, each in counts)]
    gone = [int(each.isna().sum()) for each in parts]
    if any(gone):
        yield ["missing", *(_part(n, len(each)) for n, each in zip(gone, parts, strict=True))]


def _of_columns(sides: Sides, feature: str) -> Iterator[Cells]:
    """The design columns of a feature: the share of ones, or quartiles."""
    for column in sides[0][0].card.columns:
        if column.feature != feature:
            continue
        places = [subject.place(column.name) for subject, _ in sides]
        if any(place is None for place in places):
            return
        values = [s.design.X[side, j] for (s, side), j in zip(sides, places, strict=True)]
        counts = [s.design.rows[side] for s, side in sides]
        pairs = list(zip(values, counts, strict=True))
        if all(np.isin(each, (0.0, 1.0)).all() for each in values):
            cells = [_part(int(rows @ each), int(rows.sum())) for each, rows in pairs]
        else:
            cells = [quartiles(*pair) for pair in pairs]
        binary = column.is_indicator or all(np.isin(v, (0.0, 1.0)).all() for v in values)
        yield [column.name if binary else f"{column.name}, median (quartiles)", *cells]


def _column(table: pd.DataFrame, feature: str) -> pd.Series[Any] | None:
    """A raw column by its clean name."""
    names = {str(name).strip(): k for k, name in enumerate(table.columns)}
    return table.iloc[:, names[feature]] if feature in names else None


_RANKS = [
    "absent", "no", "none", "never", "minimal", "low", "mild", "light", "small", "slight", "former",
    "young", "medium", "moderate", "middle", "normal", "current", "high", "severe", "heavy",
    "large", "old", "critical", "extreme", "yes", "present", "always",
]  # fmt: skip
_ROMAN = re.compile(r"(?=[ivx])x{0,3}(ix|iv|v?i{0,3})")


def in_order(levels: Iterable[str], dtype: Any) -> list[str]:
    """Levels in the order of an ordered column, else as numbers, numerals and ranks in them say."""
    if getattr(dtype, "ordered", False):
        place = {level_text(level): k for k, level in enumerate(dtype.categories)}
        return sorted(levels, key=lambda text: place.get(text, len(place)))

    def key(text: str) -> list[tuple[int, float, str]]:
        plain = text.lower().replace("\u2212", "-")
        parts = re.findall(r"(?<!\w)-?\d+(?:\.\d+)?|\d+|[<≤>≥+]|[^\W\d]+", plain)
        return [_place(part) for part in parts if part not in "+>≥"]

    return sorted(levels, key=lambda text: (key(text), len(text), text))


def _place(part: str) -> tuple[int, float, str]:
    """Where a part of a level stands: below a number, the number, a rank, a numeral, a word."""
    if part in "<≤":
        return 0, -math.inf, ""
    if part[-1].isdigit():
        return 0, float(part), ""
    if part in _RANKS:
        return 1, _RANKS.index(part), ""
    if _ROMAN.fullmatch(part):
        values = [{"i": 1, "v": 5, "x": 10}[mark] for mark in part]
        later = [*values[1:], 0]
        return 2, sum(-a if a < b else a for a, b in zip(values, later, strict=True)), ""
    return 3, 0.0, part


def level_text(value: Any) -> str:
    """A level as it is printed: 1.0 is 1."""
    if isinstance(value, float | np.floating):
        return number(float(value))
    return printable(str(value))


def quartiles(values: FloatArray, rows: IntArray) -> str:
    """Median and quartiles of values that stand for several rows each."""
    if not len(values):
        return "–"
    order = np.argsort(values, kind="stable")
    held = np.cumsum(rows[order])
    low, middle, high = values[order][np.searchsorted(held, held[-1] * np.array([0.25, 0.5, 0.75]))]
    said = [f"{v:.0f}" if 1e3 <= abs(v) < 1e15 else f"{v:.4g}" for v in (middle, low, high)]
    return signed("{} ({} to {})".format(*said))


def _part(count: int, whole: int) -> str:
    """A count and its share."""
    return f"{count} ({count / whole:.1%})" if whole else "–"


def missing_lines(subjects: Sequence[Subject]) -> list[Cells]:
    """Return per feature with points what is missing on each side, and how the card counts it."""
    found = []
    sides = sides_of(subjects)
    for lines in subjects[0].card.lines:
        counts = [_missing(subject, side, lines.name) for subject, side in sides]
        if not any(counts) and lines.missing is None:
            continue
        counted = "refused: it must be known"
        if lines.missing is not None:
            points = lines.missing.points
            counted = f"{lines.missing.points_text} point{'' if abs(points) == 1 else 's'}"
        cells = ["–" if count is None else str(count) for count in counts]
        found.append([lines.name, *cells, counted])
    return found


def _missing(subject: Subject, side: BoolArray, feature: str) -> int | None:
    """How many rows lack a feature; None where nobody can tell."""
    if subject.raw is not None:
        column = _column(subject.raw, feature)
        return None if column is None else int(column[side].isna().sum())
    foreseen = [c.name for c in subject.card.columns if (c.feature, c.kind) == (feature, "missing")]
    place = subject.place(foreseen[0]) if foreseen else None
    return None if place is None else int(subject.design.rows[side] @ subject.design.X[side, place])


# ---------------------------------------------------------------- subgroups


def named_values(
    by: Any, table: pd.DataFrame | None, rows: int, merged: bool = False
) -> tuple[str, pd.Series[Any]]:
    """What a column of a table, or values of these rows, are called, and each row's value."""
    if isinstance(by, str):
        if table is None:
            raise DataError(
                f"by={by!r} names a column of a table, and these rows are no table: give the "
                "values, one per row"
            )
        if (column := _column(table, by)) is None:
            known = [str(name) for name in table.columns]
            raise DataError(f"the data have no column {by!r}: {near_matches(by, known)}")
        return by, column.reset_index(drop=True)
    values = pd.Series(by).reset_index(drop=True)
    if len(values) != rows or merged:
        raise DataError(
            f"by has {len(values)} values for {rows} rows: give one per row, of rows that were not "
            "merged while they were read"
        )
    return str(getattr(by, "name", None) or "subgroup"), values


def splitter(values: pd.Series[Any]) -> Callable[[pd.Series[Any]], list[tuple[str, BoolArray]]]:
    """How values part rows: by level, or a number of many values in thirds, cut on these."""
    known = values.dropna()
    if not len(known):
        raise DataError("by has no value at all")
    if pd.api.types.is_numeric_dtype(known) and known.nunique() > _FEW:
        low, high = np.quantile(known.to_numpy(float), [1 / 3, 2 / 3], method="inverted_cdf")
        ends = (number(float(low)), number(float(high)))
        names = [f"≤ {ends[0]}", f"> {ends[0]} to {ends[1]}", f"> {ends[1]}"]
        names = names if low < high else [names[0], "", names[2]]

        def parted(own: pd.Series[Any]) -> pd.Series[Any]:
            third = np.searchsorted([low, high], own.to_numpy(float))
            return pd.Series(np.array(names, dtype=object)[third]).where(own.notna().to_numpy())
    else:
        common = known.map(level_text).value_counts().index
        kept = common if len(common) <= MOST_GROUPS else common[: MOST_GROUPS - 1]
        names = [*in_order(kept, known.dtype), "all others"]

        def parted(own: pd.Series[Any]) -> pd.Series[Any]:
            texts = own.map(level_text, na_action="ignore")
            return texts.where(texts.isin(kept) | texts.isna(), "all others")

    def split(own: pd.Series[Any]) -> list[tuple[str, BoolArray]]:
        of_row = parted(own)
        found = [(name, (of_row == name).to_numpy(bool)) for name in names]
        found.append(("missing", of_row.isna().to_numpy(bool)))
        return [(name, inside) for name, inside in found if inside.any()]

    return split
