"""What penalties check of their arguments; each raises OptionError."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError, is_number

Vector = FloatArray | IntArray
"""Coefficients may be whole numbers: cards are penalised too."""


def number(
    name: str, value: Any, *, least: float, most: float = np.inf, strict: bool = False
) -> float:
    """Return a finite number of [least, most], of (least, most] if ``strict``; else raise."""
    checked = float(value) if is_number(value) else np.nan
    above = checked > least if strict else checked >= least
    if not (np.isfinite(checked) and above and checked <= most):
        wanted = f"{'>' if strict else '>='} {least:g}"
        wanted += f" and <= {most:g}" if most < np.inf else ""
        raise OptionError(
            f"{{argument}} must be a finite number {wanted}, got {value!r}", argument=name
        )
    return checked


def vector(name: str, value: Any, *, least: float = 0.0, most: float = np.inf) -> FloatArray:
    """Return a read-only copy of a vector of finite entries of [least, most]; else raise."""
    try:
        entries = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(
            f"{{argument}} must be a sequence of numbers: {error}", argument=name
        ) from error
    if entries.ndim != 1 or entries.size == 0:
        raise OptionError(
            f"{{argument}} must be a non-empty vector, got shape {entries.shape}", argument=name
        )
    wrong = ~((entries >= least) & (entries <= most) & np.isfinite(entries))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        limits = f"in [{least:g}, {most:g}]" if most < np.inf else f">= {least:g}"
        raise OptionError(f"{name}[{at}] is {entries[at]}: every entry must be {limits}")
    entries.setflags(write=False)
    return entries


def partition(blocks: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the blocks as tuples if they partition the columns 0, ..., p - 1; else raise."""
    parts = tuple(tuple(int(column) for column in block) for block in blocks)
    columns = sorted(column for block in parts for column in block)
    if not columns or not all(parts) or columns != list(range(len(columns))):
        raise OptionError(
            "blocks must hold each column 0, 1, ..., p - 1 exactly once, and no block may be "
            "empty: the penalty is defined for designs whose columns all lie in blocks"
        )
    return parts


def length(w: Vector, wanted: int, what: str) -> None:
    """Refuse a vector that is not of shape (wanted,); ``what`` sets the length."""
    if np.shape(w) != (wanted,):
        raise OptionError(
            f"the coefficients have shape {np.shape(w)}, but {what} fixes them at ({wanted},): "
            "make the penalty from the same columns as the design"
        )


def one_dimension(w: Vector) -> None:
    """Refuse anything but a vector."""
    if np.ndim(w) != 1:
        raise OptionError(
            f"this penalty takes a vector of coefficients, got shape {np.shape(w)}: apply it to "
            "one column at a time"
        )


def prox_arguments(w: Any, step: float, out: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return ``w`` as floats and the array for the answer; they may be one and the same."""
    number("step", step, least=0.0)
    y = np.asarray(w, dtype=np.float64)
    if not np.isfinite(y).all():
        raise OptionError("a prox is taken at finite numbers, and the point holds NaN or inf")
    if out is None:
        return y, np.empty_like(y, order="C")
    if not isinstance(out, np.ndarray) or out.shape != y.shape or out.dtype != np.float64:
        raise OptionError(f"out must be a float64 array of shape {y.shape}")
    return y, out
