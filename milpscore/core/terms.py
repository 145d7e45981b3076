"""What a loss and a penalty must offer so that any card's objective can be recomputed exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.totals import FloatTotals, GridTotals, Totals


class InterceptRange(Protocol):
    """Where an intercept may lie; see :class:`milpscore.core.statement.InterceptRule`."""

    @property
    def lower(self) -> Fraction:
        """The least intercept."""
        ...

    @property
    def upper(self) -> Fraction:
        """The largest intercept."""
        ...

    @property
    def step(self) -> Fraction | None:
        """Intercepts are multiples of it; None where they are real."""
        ...


class Loss(Protocol):
    """A loss of the score s = w.x + b, evaluated row by row."""

    @property
    def name(self) -> str:
        """The loss's name in tables and registries."""
        ...

    def exact_rows(
        self, totals: GridTotals, intercept: Fraction, y: IntArray
    ) -> tuple[IntArray, Fraction]:
        """Whole numbers k and a unit u so that row i's loss is exactly ``k[i] * u``."""
        ...

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Row losses in floating point, for data on no grid."""
        ...

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> Fraction:
        """The allowed intercept that minimises the weighted loss of these totals."""
        ...

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> tuple[FloatArray, FloatArray]:
        """The same for V cards at once, in floating point: (intercepts, mean losses).

        ``totals`` has shape (n, V), one card a column; both answers have shape (V,).
        """
        ...


class Penalty(Protocol):
    """A penalty Omega of the coefficients, its weight included."""

    @property
    def name(self) -> str:
        """The argument that carries its weight (``lam``, ``l0_penalty``, ``l1_penalty``)."""
        ...

    @property
    def lam(self) -> float:
        """The weight."""
        ...

    def value(self, w: FloatArray | IntArray) -> float:
        """lam * Omega(w)."""
        ...
