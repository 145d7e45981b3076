"""Design columns: where they are cut, how they are named, and their values on raw data."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from math import floor
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from msgspec import Struct

from milpscore.core.design import BoolArray, CellRules, Column, ColumnKind, FloatArray
from milpscore.core.errors import DataError, OptionError, listing, near_matches
from milpscore.data.cells import read_cells
from milpscore.data.checking import (
    as_frame,
    categories_of,
    category_text,
    check_size,
    not_surely_numbers,
    raw_kind,
    refuse_missing,
    to_numbers,
)
from milpscore_check.cells import folded

_EXACT = 2.0**53
"""Below it floats hold every whole number."""


class ColumnFile(Struct, forbid_unknown_fields=True, kw_only=True):
    """A column in a file; an open end is null."""

    name: str
    feature: str
    kind: ColumnKind
    lower: float | None
    upper: float | None
    category: str | None
    others: tuple[str, ...]
    cells: CellRules | None = None

    def made(self) -> Column:
        """Return the column; DataError if its parts contradict each other."""
        named = self.category is not None
        if named != (self.kind == "category") or (self.others and not named):
            raise DataError(
                f"the file is damaged ({self.name!r} and its categories do not agree): "
                "save it again"
            )
        if self.kind == "total":
            raise DataError(f"the file is damaged ({self.name!r} is of no feature): save it again")
        lower = -math.inf if self.lower is None else self.lower
        upper = math.inf if self.upper is None else self.upper
        ends = (lower, upper, self.category, self.others, self.cells)
        return Column(self.name, self.feature, self.kind, *ends)


def column_content(column: Column) -> dict[str, Any]:
    """Return a column as files have it; see :class:`ColumnFile`."""
    return {
        **{name: value for name, value in vars(column).items() if name not in ("cells", "points")},
        "lower": column.lower if math.isfinite(column.lower) else None,
        "upper": column.upper if math.isfinite(column.upper) else None,
        **({} if column.cells is None else {"cells": vars(column.cells)}),
    }


def numeric_column(feature: str) -> Column:
    """The raw value itself."""
    return Column(feature, feature)


def missing_column(feature: str) -> Column:
    """1 where the value is missing."""
    return _named(Column("", feature, "missing"))


def category_columns(series: pd.Series[Any]) -> list[Column]:
    """One column a category, in their order."""
    feature = str(series.name)
    _, texts = categories_of(series)
    return [_named(Column("", feature, "category", category=text)) for text in texts]


def bin_columns(feature: str, cuts: Sequence[float]) -> list[Column]:
    """The intervals between ascending cuts, the outer ones unbounded: each value lies in one."""
    edges = [-math.inf, *map(float, cuts), math.inf]
    return [
        _named(Column("", feature, "interval", lower=lower, upper=upper))
        for lower, upper in pairwise(edges)
    ]


def step_columns(feature: str, cuts: Sequence[float]) -> list[Column]:
    """One column a cut, 1 from the cut on."""
    return [
        Column(f"{feature} >= {category_text(float(cut))}", feature, "step", lower=float(cut))
        for cut in cuts
    ]


def raw_columns(frame: pd.DataFrame) -> list[Column]:
    """Numbers as they are, text, categorical and boolean columns one-hot by category."""
    columns: list[Column] = []
    unsure = set(not_surely_numbers(frame))
    for name in frame.columns:
        if name not in unsure or raw_kind(frame[name]) == "numeric":
            columns.append(numeric_column(str(name)))
        else:
            columns.extend(category_columns(frame[name]))
    return columns


def renamed(column: Column, feature: str) -> Column:
    """The same column of a feature with another name."""
    return _named(replace(column, feature=feature))


def refuse_equal_names(columns: Iterable[Column]) -> None:
    """Raise a DataError where two columns would print alike."""
    counts = Counter(column.name for column in columns)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise DataError(
            f"two design columns would both be called {listing(twice)}."
            " Rename a feature so that no name reads like a condition on another feature."
        )


def _named(column: Column) -> Column:
    """Name a column after what it says about its feature."""
    feature, kind = column.feature, column.kind
    lower, upper = category_text(column.lower), category_text(column.upper)
    if kind in ("numeric", "total"):
        name = feature
    elif kind == "missing":
        name = f"{feature} missing"
    elif kind == "category":
        name = f"{feature} = {column.category}"
    elif math.isinf(column.lower) and math.isinf(column.upper):
        name = f"{feature} (any value)"
    elif math.isinf(column.lower):
        name = f"{feature} < {upper}"
    elif math.isinf(column.upper):
        name = f"{feature} >= {lower}"
    else:
        name = f"{lower} <= {feature} < {upper}"
    return replace(column, name=name)


Unseen = Literal["error", "zero"]


def apply_columns(
    columns: Sequence[Column],
    X: Any,
    *,
    feature_names: Sequence[str] | None = None,
    unseen: Unseen | Literal["nan"] = "error",
) -> FloatArray:
    """Evaluate design columns on raw data.

    Parameters
    ----------
    columns : sequence of Column, length p
        All columns of a design; a category is known only through its column.
    X : DataFrame, array, sparse matrix or list of rows, n rows
        Raw data. Columns that no design column reads are ignored; n may be 0.
    feature_names : sequence of str, optional
        Names of the raw columns where X has none; ``x0, x1, ...`` by default.
    unseen : {"error", "zero", "nan"}
        What a value means that no column foresees (a category without a column, or a missing
        value where the feature has no ``missing`` column): an error, or 0 or NaN in every column of
        the feature. A missing value of a feature used as a number is always an error.

    Returns
    -------
    ndarray of float64, shape (n, p)
        Where a feature has a ``missing`` column, a missing value is 1 there and 0 in all other
        columns of the feature.

    Raises
    ------
    DataError
        A feature is absent, or holds text where numbers are needed, infinite values, missing
        values, or an unseen category.
    """
    if unseen not in {"error", "zero", "nan"}:
        raise OptionError(f"unseen={unseen!r} is unknown; use 'error', 'zero' or 'nan'.")
    members = dict.fromkeys(column.feature for column in columns if column.kind != "total")
    frame = as_frame(X, feature_names, only=members, min_rows=0)
    return column_values(columns, frame, unseen)


def column_values(
    columns: Sequence[Column],
    frame: pd.DataFrame,
    unseen: Unseen | Literal["nan"] = "error",
) -> FloatArray:
    """What :func:`apply_columns` gives for a table whose names are clean and hold all features."""
    members: dict[str, list[int]] = {}
    for j, column in enumerate(columns):
        if column.kind != "total":
            members.setdefault(column.feature, []).append(j)
    check_size(len(frame), len(columns), "the design")
    plain = all(column.kind == "numeric" and column.cells is None for column in columns)
    if plain and len(members) == len(columns):
        given = frame if list(frame.columns) == [*members] else frame[[*members]]
        if all(dtype.kind in "fiub" for dtype in given.dtypes):
            numbers = given.to_numpy(dtype=np.float64)
            if np.isfinite(numbers).all():
                large = np.abs(numbers).max(axis=0, initial=0.0) >= _EXACT
                for place in np.flatnonzero(large).tolist():
                    _refuse_rounded(given.iloc[:, place], numbers[:, place])
                return np.array(numbers, order="C")
    values = np.zeros((len(frame), len(columns)), order="F")
    missing: dict[str, int] = {}
    for feature, places in members.items():
        series = read_cells(frame[feature], columns[places[0]].cells)
        count = _fill(values, series, columns, places, unseen)
        if count:
            missing[feature] = count
    refuse_missing(missing)
    for j, column in enumerate(columns):
        if column.kind == "total":
            values[:, j] = total_of(np.nan_to_num(values[:, :j]), column.points)
    return np.ascontiguousarray(values)


def total_of(values: FloatArray, points: Sequence[int]) -> FloatArray:
    """Return the sums of columns (n, p) times points, (n,); DataError unless there are p of them.

    Column by column, so that equal values give equal sums however they lie in memory.
    """
    if len(points) != values.shape[1]:
        raise DataError(f"a total of {values.shape[1]} columns has {len(points)} points: damaged")
    total = np.zeros(len(values))
    for column, w in zip(values.T, points, strict=True):
        total += float(w) * column
    return total


def _fill(
    values: FloatArray,
    series: pd.Series[Any],
    columns: Sequence[Column],
    places: Sequence[int],
    unseen: Unseen | Literal["nan"],
) -> int:
    """Write the columns of one feature; return how many missing values have no stated result."""
    kinds = {columns[j].kind for j in places}
    if "category" in kinds and not kinds <= {"category", "missing"}:
        raise DataError(
            f"feature {series.name!r} has columns by category and columns by number;"
            " use one or the other."
        )
    strange = np.zeros(len(series), dtype=bool)
    if "category" in kinds:
        strange = _fill_categories(values, series, columns, places, unseen == "error")
    numbers = np.empty(0) if kinds <= {"category", "missing"} else to_numbers(series)
    absent = np.isnan(numbers) if numbers.size else series.isna().to_numpy()
    # a missing value compares false with everything
    if steps := [j for j in places if columns[j].kind == "step"]:
        values[:, steps] = numbers[:, None] >= np.array([columns[j].lower for j in steps])
    for j in places:
        column = columns[j]
        if column.kind == "missing":
            values[:, j] = absent
        elif column.kind == "numeric":
            _refuse_rounded(series, numbers)
            values[:, j] = np.where(absent, 0.0, numbers)
        elif column.kind == "interval":
            values[:, j] = (numbers >= column.lower) & (numbers < column.upper)
    if unseen == "nan":
        gone = strange if "missing" in kinds else strange | absent
        values[np.ix_(gone, np.array(places))] = np.nan
    foreseen = "missing" in kinds or (unseen != "error" and "numeric" not in kinds)
    return 0 if foreseen else int(absent.sum())


def _refuse_rounded(series: pd.Series[Any], values: FloatArray) -> None:
    """Raise a DataError where ``values``, the column as floats, are not its whole numbers."""
    kind = series.dtype.kind
    if kind not in "iu" or not (np.abs(values) >= _EXACT).any():
        return
    exact = series.dropna().to_numpy(dtype=f"{kind}8")
    with np.errstate(invalid="ignore"):
        odd = exact[values[~np.isnan(values)].astype(exact.dtype) != exact]
    if len(odd):
        raise DataError(
            f"column {series.name!r} holds whole numbers beyond 2^53 ({listing(odd[:1].tolist())})"
            " that are rounded as floating-point numbers. Subtract a constant from the column, or"
            " leave it out if it names rows."
        )


def _fill_categories(
    values: FloatArray,
    series: pd.Series[Any],
    columns: Sequence[Column],
    places: Sequence[int],
    refuse: bool,
) -> BoolArray:
    """Write the columns by category; mark rows of categories unknown, unless they are refused."""
    known = {columns[j].category: j for j in places if columns[j].kind == "category"}
    others = {text for j in places for text in columns[j].others}
    codes, texts = categories_of(series)
    texts = _as_known(texts, {*filter(None, known), *others})
    strange = [k for k, text in enumerate(texts) if text not in known and text not in others]
    if strange and refuse:
        # A categorical may declare categories that do not occur.
        present = [texts[k] for k in np.intersect1d(codes, strange)]
        if present:
            raise DataError(
                f"column {series.name!r} holds {listing(present)}, unseen in fitting (known:"
                f" {listing([*known, *others])}). Recode these rows, or let unseen values score"
                " nothing with {unseen}.",
                unseen="zero",
            )
    for k, text in enumerate(texts):
        if text in known:
            values[codes == k, known[text]] = 1.0
    return np.isin(codes, strange)


def _as_known(texts: list[str], known: set[str]) -> list[str]:
    """Categories as they are known, where one alone differs in blanks or capitals."""
    if known.issuperset(texts):
        return texts
    alike = Counter(map(folded, known))
    spelt = {folded(text): text for text in known}
    return [
        spelt[folded(text)] if text not in known and alike[folded(text)] == 1 else text
        for text in texts
    ]


Expert: TypeAlias = "Sequence[str] | Mapping[str, float] | Sequence[float] | FloatArray | None"


def expert_vector(expert: Expert, columns: Sequence[Column], features: Sequence[str]) -> FloatArray:
    """What the expert knows of each design column, shape (p,); by name, by feature or by column."""
    if expert is None:
        return np.zeros(len(columns))
    if isinstance(expert, str):
        raise OptionError("{expert} is a single text; pass a list of names.", expert=expert)
    if isinstance(expert, Mapping):
        return _by_name({str(name): float(known) for name, known in expert.items()}, columns)
    given = list(expert)
    if any(isinstance(entry, str) for entry in given):
        return _by_name(dict.fromkeys(map(str, given), 1.0), columns)
    if len(given) == len(columns):
        return np.asarray(given)
    if len(given) == len(features):
        by_feature = dict(zip(features, given, strict=True))
        return np.array([by_feature[c.feature] for c in columns])
    raise OptionError(
        f"expert has {len(given)} numbers for {len(features)} features and {len(columns)} design"
        " columns; give one per feature or one per column, or names."
    )


def _by_name(known: Mapping[str, float], columns: Sequence[Column]) -> FloatArray:
    """A column's own name goes before that of its feature."""
    names = {column.name for column in columns} | {column.feature for column in columns}
    strange = [name for name in known if name not in names]
    if strange:
        raise DataError(f"expert names {strange[0]!r}; {near_matches(strange[0], sorted(names))}")
    return np.array([known.get(c.name, known.get(c.feature, 0.0)) for c in columns])


def quantile_cuts(values: FloatArray, n_bins: int, weight: FloatArray | None = None) -> FloatArray:
    """Cut points that part the values into bins of about equal weight.

    A cut is a value that occurs, so that it prints as it was written and no bin is empty. Among all
    places between two neighbouring values, the one whose share below comes nearest to ``k/n_bins``
    is taken (the lower one of two equally near); places taken twice count once.
    """
    distinct, inverse = np.unique(values + 0.0, return_inverse=True)
    if len(distinct) < 2:
        return distinct[:0]
    below = np.cumsum(np.bincount(inverse, weights=weight))
    goals = below[-1] * np.arange(1, n_bins) / n_bins
    shares = below[:-1]
    after = np.clip(np.searchsorted(shares, goals), 0, len(shares) - 1)
    before = np.maximum(after - 1, 0)
    nearer_before = goals - shares[before] <= np.abs(shares[after] - goals)
    chosen = np.where(nearer_before, before, after)
    return np.asarray(distinct[1:][np.unique(chosen)])


def short_cut(below: float, at: float, digits: int) -> float:
    """The number in (below, at] of the fewest significant digits: ``at``, or nearest the middle.

    If all of these need more than ``digits``, take the nearest number with that many, which parts
    other rows than those between the two.
    """
    if below < 0.0 <= at:
        return 0.0
    # decimals, as the numbers print: 4.8 / 0.1 is below 48 in floats
    low, high = Decimal(repr(float(below))), Decimal(repr(float(at)))
    middle, size = (low + high) / 2, max(abs(low), abs(high))
    for count in range(1, digits + 1):
        unit = Decimal(1).scaleb(size.adjusted() - count + 1)
        least, most = floor(low / unit) + 1, floor(high / unit)
        if least <= most:
            exact = most * unit == high
            return float((most if exact else min(max(round(middle / unit), least), most)) * unit)
    return float(round(middle / unit) * unit) + 0.0


def short_cuts(values: FloatArray, cuts: FloatArray, digits: int) -> FloatArray:
    """Cuts of few digits in the place of cuts at values; those that part no rows left out."""
    distinct = np.unique(values + 0.0)
    places = np.searchsorted(distinct, cuts)
    short = {short_cut(distinct[k - 1], distinct[k], digits) for k in places.tolist()}
    return np.array(sorted(cut for cut in short if distinct[0] < cut <= distinct[-1]))


def check_thresholds(thresholds: Mapping[str, Any]) -> dict[str, list[float]]:
    """Check cut points by feature: finite numbers, sorted, each once."""
    if not isinstance(thresholds, Mapping):
        raise DataError("thresholds must map a feature to its cut points, as {'Age': [30, 45]}.")
    return {
        str(feature).strip(): _ascending(str(feature), cuts) for feature, cuts in thresholds.items()
    }


def _ascending(feature: str, cuts: Any) -> list[float]:
    if isinstance(cuts, (str, bytes)) or not isinstance(cuts, Iterable):
        raise DataError(f"thresholds of {feature!r} must be a list of numbers, not {cuts!r}.")
    numbers = [_number(feature, cut) for cut in cuts]
    if not numbers:
        raise DataError(f"thresholds of {feature!r} are empty; give a cut point or drop the entry.")
    return sorted(set(numbers))


def _number(feature: str, cut: Any) -> float:
    refused = isinstance(cut, (bool, np.bool_))
    try:
        number = float(cut) + 0.0
    except (TypeError, ValueError, OverflowError):
        refused, number = True, math.nan
    if refused or not math.isfinite(number):
        raise DataError(f"threshold {cut!r} of {feature!r} is not a finite number; correct it.")
    return number


def read_thresholds(path: str | PathLike[str]) -> dict[str, list[float]]:
    """Read cut points from a file.

    Parameters
    ----------
    path : path
        Either JSON, an object from feature to list of numbers, ``{"Age": [30, 45]}``; or CSV with
        the header ``feature,threshold`` and one cut point a line.

    Returns
    -------
    dict of feature name to ascending cut points

    Raises
    ------
    DataError
        The file cannot be read, has another form, or holds a cut that is not a finite number.
    """
    from milpscore.core.reading import text_of

    place = Path(path)
    try:
        text = text_of(place, encoding="utf-8-sig")
    except (OSError, DataError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise DataError(
            f"cannot read thresholds from {str(place)!r}: {why}. Check the path, and save the file "
            "in UTF-8."
        ) from error
    is_json = place.suffix.lower() == ".json" or text.lstrip()[:1] in {"{", "["}
    try:
        found = _from_json(text) if is_json else _from_csv(text)
        if not found:
            raise DataError("there is not one cut point in it.")
        return check_thresholds(found)
    except DataError as error:
        raise DataError(f"thresholds file {str(place)!r}: {error}") from error


def _from_json(text: str) -> dict[str, Any]:
    from milpscore.core.reading import refuse_bulk

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = sorted(key for key, count in Counter(k for k, _ in pairs).items() if count > 1)
        if twice:
            raise DataError(f"feature(s) {listing(twice)} occur twice; join their lists.")
        return dict(pairs)

    refuse_bulk(text.encode(), "this")
    try:
        found = json.loads(text, object_pairs_hook=unique)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"this is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise DataError('an object is expected, as {"Age": [30, 45]}.')
    return found


def _from_csv(text: str) -> dict[str, list[str]]:
    lines = list(csv.reader(text.splitlines()))
    header = [cell.strip().lower() for cell in lines[0]] if lines else []
    if header != ["feature", "threshold"]:
        raise DataError("the first line must be feature,threshold; one cut point a line follows.")
    cuts: dict[str, list[str]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        if len(line) != 2:
            raise DataError(f"line {number} has {len(line)} fields; two are needed.")
        cuts.setdefault(line[0].strip(), []).append(line[1])
    return cuts
