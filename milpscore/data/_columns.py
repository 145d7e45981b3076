"""How the columns of a design are made and named from the columns of a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pandas as pd

from milpscore.core.column import Column
from milpscore.core.errors import DataError
from milpscore.data._checking import listing, modalities, modality_text, raw_kind


def numeric_column(feature: str) -> Column:
    """The raw value itself."""
    return Column(feature, feature)


def missing_column(feature: str) -> Column:
    """1 where the value is missing."""
    return _named(Column("", feature, "missing"))


def category_columns(series: pd.Series[Any]) -> list[Column]:
    """One column a modality, in their order."""
    feature = str(series.name)
    _, texts = modalities(series)
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
    return [_named(Column("", feature, "step", lower=float(cut))) for cut in cuts]


def raw_columns(frame: pd.DataFrame) -> list[Column]:
    """Numbers as they are, text, categorical and boolean columns one-hot by modality."""
    columns: list[Column] = []
    for name in frame.columns:
        if raw_kind(frame[name]) == "numeric":
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
    lower, upper = modality_text(column.lower), modality_text(column.upper)
    if kind == "numeric":
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
