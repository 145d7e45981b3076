"""Plain Python values out of whatever NumPy or a caller put into a card."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore.core.errors import DataError


def plain_label(label: Any) -> bool | int | float | str:
    """A class label as a plain Python value.

    Raises
    ------
    DataError
        For anything but text, a truth value or a finite number.
    """
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise DataError(
        f"a card cannot carry the label {label!r} of type {type(label).__name__}; "
        "recode the target as text, whole numbers or true/false"
    )


def plain_points(points: Any) -> tuple[int, ...]:
    """Points as Python integers.

    Raises
    ------
    DataError
        If one of them is not a whole number.
    """
    given = tuple(points)
    try:
        whole = tuple(int(value) for value in given)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"points must be whole numbers: {error}") from error
    if any(a != b for a, b in zip(whole, given, strict=True)):
        raise DataError("points must be whole numbers; round the coefficients first")
    return whole


def plain_value(value: Any) -> Any:
    """A certificate entry as plain Python: NumPy scalars and arrays, tuples and enums unpacked.

    Raises
    ------
    DataError
        For a type that cannot be saved.
    """
    if isinstance(value, np.generic):
        return plain_value(value.item())
    if isinstance(value, Enum):
        return plain_value(value.value)
    if isinstance(value, Mapping):
        return {str(key): plain_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_value(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float | str | Fraction):
        return value
    raise DataError(
        f"a certificate cannot carry a value of type {type(value).__name__}; "
        "give it as a number, text, list or mapping"
    )
