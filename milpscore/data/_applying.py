"""Design columns recomputed from raw data: the one place that says what a column's value is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from milpscore.core.column import Column
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError
from milpscore.data._checking import (
    as_frame,
    check_size,
    listing,
    modalities,
    refuse_missing,
    to_numbers,
)

Unseen = Literal["error", "zero"]


def apply_columns(
    columns: Sequence[Column],
    X: Any,
    *,
    feature_names: Sequence[str] | None = None,
    unseen: Unseen = "error",
) -> FloatArray:
    """Evaluate design columns on raw data.

    Parameters
    ----------
    columns : sequence of Column, length p
        All columns of a design; a modality is known only through its column.
    X : DataFrame, array, sparse matrix or list of rows, n rows
        Raw data. Columns that no design column reads are ignored; n may be 0.
    feature_names : sequence of str, optional
        Names of the raw columns where X has none; ``x0, x1, ...`` by default.
    unseen : {"error", "zero"}
        What a value means that no column foresees (a modality without a column, or a missing
        value where the feature has no ``missing`` column): an error, or 0 in every column of the
        feature. A missing value of a feature used as a number is always an error.

    Returns
    -------
    ndarray of float64, shape (n, p)
        Where a feature has a ``missing`` column, a missing value is 1 there and 0 in all other
        columns of the feature.

    Raises
    ------
    DataError
        A feature is absent, or holds text where numbers are needed, infinite values, missing
        values, or an unseen modality.
    """
    if unseen not in {"error", "zero"}:
        raise OptionError(f"unseen={unseen!r} is unknown; use 'error' or 'zero'.")
    members: dict[str, list[int]] = {}
    for j, column in enumerate(columns):
        members.setdefault(column.feature, []).append(j)
    frame = as_frame(X, feature_names, only=members, min_rows=0)
    check_size(len(frame), len(columns), "the design")
    values = np.zeros((len(frame), len(columns)), order="F")
    missing: dict[str, int] = {}
    for feature, places in members.items():
        count = _fill(values, frame[feature], columns, places, unseen)
        if count:
            missing[feature] = count
    refuse_missing(missing)
    return np.ascontiguousarray(values)


def _fill(
    values: FloatArray,
    series: pd.Series[Any],
    columns: Sequence[Column],
    places: Sequence[int],
    unseen: Unseen,
) -> int:
    """Write the columns of one feature; return how many missing values have no stated result."""
    kinds = {columns[j].kind for j in places}
    if "category" in kinds and not kinds <= {"category", "missing"}:
        raise DataError(
            f"feature {series.name!r} has columns by modality and columns by number;"
            " use one or the other."
        )
    if "category" in kinds:
        _fill_modalities(values, series, columns, places, unseen)
    elif kinds != {"missing"}:
        _fill_numbers(values, series, columns, places)
    absent = series.isna().to_numpy()
    for j in places:
        if columns[j].kind == "missing":
            values[:, j] = absent
    foreseen = "missing" in kinds or (unseen == "zero" and "numeric" not in kinds)
    return 0 if foreseen else int(absent.sum())


def _fill_numbers(
    values: FloatArray, series: pd.Series[Any], columns: Sequence[Column], places: Sequence[int]
) -> None:
    numbers = to_numbers(series)
    for j in places:
        column = columns[j]
        if column.kind == "numeric":
            values[:, j] = np.where(np.isnan(numbers), 0.0, numbers)
        elif column.kind in {"interval", "step"}:
            # A step's upper bound is infinite; a missing value compares false with everything.
            values[:, j] = (numbers >= column.lower) & (numbers < column.upper)


def _fill_modalities(
    values: FloatArray,
    series: pd.Series[Any],
    columns: Sequence[Column],
    places: Sequence[int],
    unseen: Unseen,
) -> None:
    known = {columns[j].category: j for j in places if columns[j].kind == "category"}
    codes, texts = modalities(series)
    strange = [k for k, text in enumerate(texts) if text not in known]
    if strange and unseen == "error":
        # A categorical may declare modalities that do not occur.
        present = [texts[k] for k in np.intersect1d(codes, strange)]
        if present:
            raise DataError(
                f"column {series.name!r} holds {listing(present)}, unseen in fitting (known:"
                f" {listing(known)}). Recode these rows, or let unseen values score nothing with"
                ' unseen="zero".'
            )
    for k, text in enumerate(texts):
        if text in known:
            values[:, known[text]] = codes == k
