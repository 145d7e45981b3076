"""The integer card: whole-number points and the intercept, nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import FormulationError
from milpscore.core.rule import as_fraction

Exact = int | Fraction


@dataclass(frozen=True, eq=False)
class Card:
    """Integer coefficients and an intercept.

    Attributes
    ----------
    coefficients : ndarray of int64, shape (p,)
        The points w.
    intercept : Fraction
        b; the card answers positive iff ``w.x >= -b``. A tie is positive. A float is read as the
        decimal it prints as.

    Raises
    ------
    FormulationError
        Where the coefficients are no vector of whole numbers.
    """

    coefficients: IntArray
    intercept: Fraction

    def __post_init__(self) -> None:
        given = np.asarray(self.coefficients)
        whole = given.dtype.kind in "iufb" and bool(np.isfinite(given).all())
        if given.ndim != 1 or not whole or np.any(np.rint(given) != given):
            raise FormulationError(
                "a card's coefficients are a vector of whole numbers; round them first"
            )
        object.__setattr__(self, "coefficients", np.rint(given).astype(np.int64))
        object.__setattr__(self, "intercept", as_fraction(self.intercept))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Card):
            return NotImplemented
        return self.intercept == other.intercept and np.array_equal(
            self.coefficients, other.coefficients
        )

    def __hash__(self) -> int:
        return hash((self.coefficients.tobytes(), self.intercept))

    @property
    def threshold(self) -> Fraction:
        """T = -b: the smallest total that is answered positive."""
        return -self.intercept

    @property
    def nonzeros(self) -> int:
        """Number of nonzero coefficients."""
        return int(np.count_nonzero(self.coefficients))

    def totals(self, X: FloatArray) -> FloatArray:
        """Totals w.x of the rows of X in floating point, shape (n,)."""
        return np.asarray(X, dtype=np.float64) @ self.coefficients.astype(np.float64)
