"""Two labels of any type become the classes -1 and +1; class weights become row weights."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import DataConversionWarning

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError
from milpscore.data.checking import category_text, listing


def encode_labels(y: Any, positive: Any = None) -> tuple[IntArray, tuple[Any, Any]]:
    """Code two labels as -1 and +1.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of any type, two distinct ones.
    positive : label, optional
        The label to code as +1, as it is or as text. By default the label 1 or True if there is
        one, else the last of the two in sorted order.

    Returns
    -------
    y : ndarray of int64, shape (n,)
        -1 or +1.
    classes : (negative label, positive label)
        As plain Python values where the labels are NumPy scalars.

    Raises
    ------
    DataError
        y is absent, not one-dimensional, has missing labels, has not exactly two distinct labels,
        or ``positive`` is none of them.
    """
    column = _one_dimensional(y)
    try:
        codes, uniques = pd.factorize(column)
    except TypeError as error:
        raise DataError(
            f"Unknown label type: the labels cannot be compared ({error}). Use numbers or text."
        ) from error
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        raise DataError(
            f"y has {missing.size} missing label(s) (NaN), first at row(s)"
            f" {listing(missing.tolist())}. Drop these rows."
        )
    labels = [label.item() if isinstance(label, np.generic) else label for label in uniques]
    _check_two(labels, column)
    chosen = _positive_label(labels, positive)
    y_signed = np.where(codes == chosen, 1, -1).astype(np.int64)
    return y_signed, (labels[1 - chosen], labels[chosen])


def _one_dimensional(y: Any) -> pd.Series[Any]:
    if y is None:
        raise DataError(
            "a score requires y to be passed, but the target y is None. Pass one label a row."
        )
    if isinstance(y, pd.Series):
        return y.reset_index(drop=True)
    array = np.asarray(y)
    if array.dtype.kind in "US" and not hasattr(y, "dtype"):
        array = np.asarray(y, dtype=object)  # a list of 1 and "1" must not turn into text
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Pass y.ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    return pd.Series(array)


def _check_two(labels: list[Any], column: pd.Series[Any]) -> None:
    if len(labels) > 2:
        floating = any(isinstance(label, float) and not label.is_integer() for label in labels)
        kind = "continuous" if floating else "multiclass"
        unknown = "Unknown label type: continuous. " if floating else ""
        raise DataError(
            f"{unknown}Only binary classification is supported. The type of the target is {kind}:"
            f" {len(labels)} distinct labels ({listing(labels)}). Choose one label to score, for"
            " example y == label, or keep the rows of two labels."
        )
    if len(labels) < 2:
        found = listing(labels) if labels else "none"
        raise DataError(
            f"y has {len(column)} row(s) and {len(labels)} class(es) ({found}); a score needs both"
            " classes. Check the target column, or the filter the rows come from."
        )
    if any(isinstance(label, float) and np.isinf(label) for label in labels):
        raise DataError("Input y contains infinity (inf). Use two finite labels.")


def _positive_label(labels: list[Any], positive: Any) -> int:
    """Position of the positive label among the two."""
    texts = [category_text(label) for label in labels]
    if positive is not None:
        chosen = _find(positive, labels)
        if chosen is None:
            raise DataError(f"positive={positive!r} is not a label of y; choose one of {labels}.")
        return chosen
    for name in ("1", "True"):
        if name in texts:
            return texts.index(name)
    try:
        return 0 if labels[0] > labels[1] else 1
    except TypeError:
        return 0 if texts[0] > texts[1] else 1


def _find(wanted: Any, labels: Sequence[Any]) -> int | None:
    """Position of a label given as itself (1 and True are one label) or as text."""
    texts, text = [category_text(label) for label in labels], category_text(wanted)
    same = next((k for k, label in enumerate(labels) if bool(label == wanted)), None)
    return texts.index(text) if same is None and texts.count(text) == 1 else same


def class_weights(
    class_weight: Mapping[Any, float] | str | None,
    codes: IntArray,
    weight: FloatArray,
    classes: Sequence[Any],
) -> FloatArray:
    """Multiply class weights into sample weights; a code is a place in ``classes``."""
    totals = np.array([weight[codes == k].sum() for k in range(len(classes))])
    factors = np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise DataError(
                f"class_weight={class_weight!r} is unknown; use None, 'balanced', or a dict"
                " from label to weight."
            )
        _check_weighted(totals, classes)
        factors = totals.sum() / (len(classes) * totals)
    elif class_weight is not None:
        factors = _factors(class_weight, classes)
    _check_weighted(totals * factors, classes)
    weighted: FloatArray = weight * factors[codes]
    return weighted


def _factors(class_weight: Mapping[Any, float], classes: Sequence[Any]) -> FloatArray:
    if not isinstance(class_weight, Mapping):
        raise DataError("class_weight must be None, 'balanced', or a dict from label to weight.")
    factors = np.ones(len(classes))
    for label, value in class_weight.items():
        place = _find(label, classes)
        if place is None:
            raise DataError(f"class_weight names {label!r}; the labels are {list(classes)}.")
        try:
            factors[place] = value
        except (TypeError, ValueError) as error:
            raise DataError(f"class_weight of {label!r} is {value!r}; use a number.") from error
        if not np.isfinite(factors[place]) or factors[place] < 0:
            raise DataError(
                f"class_weight of {label!r} is {value!r}; use a finite number that is not negative."
            )
    return factors


def _check_weighted(totals: FloatArray, classes: Sequence[Any]) -> None:
    for total, label in zip(totals, classes, strict=True):
        if not total > 0:
            raise DataError(
                f"class {label!r} has no row of positive weight; a score needs both classes."
                " Change sample_weight or class_weight."
            )
