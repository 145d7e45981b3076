"""What the penalties share: checked arguments, and the answers that follow from a dual norm."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError

Vector = FloatArray | IntArray
"""Coefficients may be whole numbers: cards are penalised too."""

EPS = float(np.finfo(np.float64).eps)
# a dual point on the border of a domain is computed to a few units in the last place
ROUNDING = 1e-12


class Term:
    """Base of the penalties: the check of ``lam`` and of the fields beyond it.

    What the methods of a penalty mean is said once, in ``milpscore.core.statement.ProxPenalty``.
    """

    separable: ClassVar[bool] = False
    is_norm: Any = False

    def __post_init__(self) -> None:
        """Check lam, then the fields of the penalty itself."""
        check_number("lam", self.lam, least=0.0)  # type: ignore[attr-defined]
        self._check()

    def _check(self) -> None:
        """Check and normalise the fields beyond lam; nothing by default."""

    def _store(self, name: str, value: Any) -> None:
        """Put a normalised value into a frozen field."""
        if name not in [field.name for field in fields(self)]:  # type: ignore[arg-type]
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        object.__setattr__(self, name, value)


class Norm(Term, ABC):
    """Base of the penalties lam * Omega with Omega a norm, from its dual norm."""

    lam: float
    is_norm = True

    @abstractmethod
    def dual_norm(self, z: Vector) -> float:
        """The dual norm of Omega (without lam) at z."""

    def conjugate(self, z: Vector) -> float:
        """0 where the dual norm of z is at most lam (to 1e-12 relative), else infinite."""
        return 0.0 if self.dual_norm(z) <= self.lam * (1 + ROUNDING) else np.inf

    def dual_scale(self, z: Vector) -> float:
        """The largest t in [0, 1] with conjugate(t z) finite: min(1, lam / dual_norm(z))."""
        return shrink(self.lam, self.dual_norm(z))

    def lambda_max(self, grad0: Vector) -> float:
        """The least lam for which w = 0 is optimal where the loss has gradient ``grad0`` there."""
        return self.dual_norm(grad0)


def shrink(limit: float, size: float) -> float:
    """min(1, limit / size), a hair less below 1 so that the scaled point is surely inside."""
    return 1.0 if size <= limit else limit / size * (1 - 4 * EPS)


def check_number(
    name: str, value: Any, *, least: float, most: float = np.inf, strict: bool = False
) -> float:
    """A finite number of [least, most], or of (least, most] where ``strict``; else OptionError."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number = float(value) if real else np.nan
    above = number > least if strict else number >= least
    if not (np.isfinite(number) and above and number <= most):
        wanted = f"{'>' if strict else '>='} {least:g}"
        wanted += f" and <= {most:g}" if most < np.inf else ""
        raise OptionError(f"{name} must be a finite number {wanted}, got {value!r}")
    return number


def check_vector(name: str, value: Any, *, least: float = 0.0, most: float = np.inf) -> FloatArray:
    """A read-only copy of a vector of finite entries of [least, most]; else OptionError."""
    try:
        vector = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{name} must be a sequence of numbers: {error}") from error
    if vector.ndim != 1 or vector.size == 0:
        raise OptionError(f"{name} must be a non-empty vector, got shape {vector.shape}")
    wrong = ~((vector >= least) & (vector <= most) & np.isfinite(vector))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        limits = f"in [{least:g}, {most:g}]" if most < np.inf else f">= {least:g}"
        raise OptionError(f"{name}[{at}] is {vector[at]}: every entry must be {limits}")
    vector.setflags(write=False)
    return vector


def check_blocks(blocks: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The blocks as tuples, where they part the columns 0, ..., p - 1; else OptionError."""
    found = tuple(tuple(int(column) for column in block) for block in blocks)
    columns = sorted(column for block in found for column in block)
    if not columns or not all(found) or columns != list(range(len(columns))):
        raise OptionError(
            "blocks must hold each column 0, 1, ..., p - 1 exactly once, and no block may be "
            "empty: the penalty is defined for designs whose columns all lie in blocks"
        )
    return found


def check_length(w: Vector, wanted: int, what: str) -> None:
    """Refuse a vector that is not of shape (wanted,), naming what sets the length."""
    if np.shape(w) != (wanted,):
        raise OptionError(
            f"the coefficients have shape {np.shape(w)}, but {what} fixes them at ({wanted},): "
            "make the penalty from the same columns as the design"
        )


def check_one_dimension(w: Vector) -> None:
    """Refuse anything but a vector."""
    if np.ndim(w) != 1:
        raise OptionError(
            f"this penalty takes a vector of coefficients, got shape {np.shape(w)}: apply it to "
            "one column at a time"
        )


def prox_arguments(w: Any, step: float, out: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """``w`` as floats and the array the answer goes to; they may be one and the same."""
    check_number("step", step, least=0.0)
    y = np.asarray(w, dtype=np.float64)
    if out is None:
        return y, np.empty_like(y, order="C")
    if not isinstance(out, np.ndarray) or out.shape != y.shape or out.dtype != np.float64:
        raise OptionError(f"out must be a float64 array of shape {y.shape}")
    return y, out


def per_feature(values: FloatArray, w: Vector) -> FloatArray:
    """``values`` of shape (p,) shaped to multiply w of shape (p,) or (p, K)."""
    return values.reshape((-1, *(1,) * (np.ndim(w) - 1)))
