"""Exponential and logarithm of rational numbers, enclosed by two whole multiples of 2^-GRID.

``python-flint`` (Arb's balls) where there is a wheel of it, else the intervals of ``mpmath``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

GRID = 96
"""Bounds are whole multiples of 2^-GRID, rounded outwards."""

Pair = tuple[int, int]
"""Lower and upper end."""

_PRECISION = 192

try:
    from flint import arb, ctx
except ImportError:
    from mpmath import iv
    from mpmath.libmp import mpf_shift, to_int

    ENGINE = "mpmath.iv"
    iv.prec = _PRECISION
    _exp, _log = iv.exp, iv.log

    def _number(q: Fraction) -> Any:
        return iv.mpf(q.numerator) / iv.mpf(q.denominator)

    def _pair(x: Any) -> Pair:
        low, high = x._mpi_
        return to_int(mpf_shift(low, GRID), "f"), to_int(mpf_shift(high, GRID), "c")
else:
    ENGINE = "python-flint"
    ctx.prec = _PRECISION

    def _exp(x: Any) -> Any:
        return x.exp()

    def _log(x: Any) -> Any:
        return x.log()

    def _number(q: Fraction) -> Any:
        return arb(q.numerator) / arb(q.denominator)

    def _pair(x: Any) -> Pair:
        scaled = x * arb(2) ** GRID
        low, high = scaled.lower().floor().unique_fmpz(), scaled.upper().ceil().unique_fmpz()
        if low is None or high is None:
            raise ArithmeticError("a number is too large to be enclosed")
        return int(low), int(high)


def _of(function: Callable[[Any], Any]) -> Callable[[Fraction], Pair]:
    """The enclosure of a function at a rational number."""
    return lambda q: _pair(function(_number(q)))


exp = _of(_exp)
log = _of(_log)
softplus = _of(lambda x: _log(1 + _exp(x)))
"""log(1 + exp(x))."""
