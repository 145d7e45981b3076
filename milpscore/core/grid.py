"""The grid data lie on: the step that makes every total of an integer card exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

MAX_GRID_POINTS = 10**9
"""A grid finer than this across the data's range cannot be told from no grid at all."""

_EXACT_DIGITS = 15
"""Every decimal of up to 15 digits is the shortest text of the double nearest to it."""

_SAMPLE = 64


def common_step(values: npt.ArrayLike) -> Fraction | None:
    """Greatest common divisor of all values, each read as the decimal it prints as."""
    array = np.abs(np.asarray(values, dtype=np.float64)).ravel()
    if not array.any():
        return Fraction(1)
    largest = Fraction(repr(float(array.max())))
    # The step of a part is at least the step of the whole: measured data are refused at once.
    if _fraction_step(array[:_SAMPLE], largest) is None:
        return None
    scaled = _scaled(array)
    if scaled is None:
        return _fraction_step(np.unique(array), largest)
    numbers, decimals = scaled
    step = Fraction(int(np.gcd.reduce(numbers)), 10**decimals)
    return step if largest / step <= MAX_GRID_POINTS else None


def _scaled(array: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], int] | None:
    """Non-negative values as whole multiples of a power of ten, and its number of decimals.

    None where some value has too many digits for this to be exact.
    """
    pending = array
    for decimals in range(_EXACT_DIGITS + 1):
        power = 10.0**decimals
        if array.max() * power >= 10.0**_EXACT_DIGITS:
            return None
        pending = pending[np.rint(pending * power) / power != pending]
        if not pending.size:
            return np.rint(array * power).astype(np.int64), decimals
    return None


def _fraction_step(array: npt.NDArray[np.float64], largest: Fraction) -> Fraction | None:
    """Step of non-negative values one by one, given up as soon as it is too fine; 0 if all are."""
    step = Fraction(0)
    for value in array.tolist():
        step = _gcd(step, Fraction(repr(value)))
        if step and largest / step > MAX_GRID_POINTS:
            return None
    return step


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    """Greatest common divisor of two non-negative rationals."""
    denominator = math.lcm(a.denominator, b.denominator)
    return Fraction(
        math.gcd(
            a.numerator * (denominator // a.denominator),
            b.numerator * (denominator // b.denominator),
        ),
        denominator,
    )


def on_grid(values: npt.ArrayLike, step: Fraction) -> npt.NDArray[np.int64]:
    """The values as whole multiples of ``step``."""
    array = np.asarray(values, dtype=np.float64)
    # The grid is bounded, so value * denominator / numerator is a few ulps from an integer.
    return np.rint(array * (step.denominator / step.numerator)).astype(np.int64)


def as_fraction(value: Any) -> Fraction:
    """An exact number: integers and fractions as they are, floats as the decimal they print as."""
    plain = value.item() if isinstance(value, np.generic) else value
    return Fraction(repr(plain)) if isinstance(plain, float) else Fraction(plain)
