"""The decision rule of a card in floating point: when a total counts as positive."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray

TIE_SHARE = Fraction(1, 1000)
"""A total within this share of a step of a grid point is that grid point."""

RELATIVE_ROUNDING = 1e-9
"""Without a grid, a total this close to the threshold (relative to the summands) is a tie."""


def as_fraction(value: Any) -> Fraction:
    """An exact number: integers and fractions as they are, floats as the decimal they print as.

    Parameters
    ----------
    value : int, Fraction, finite float, NumPy scalar, or text such as ``"3/10"``

    Returns
    -------
    Fraction
        ``Fraction(3, 10)`` for ``0.3``, not the binary number nearest to it.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    return Fraction(repr(plain)) if isinstance(plain, float) else Fraction(plain)


@dataclass(frozen=True)
class DecisionRule:
    """Positive iff the total reaches the threshold; a tie is positive.

    Floating-point sums such as 0.1 + 0.1 + 0.1 miss the grid point they mean. Totals are therefore
    put back on the grid of ``step`` where they lie within a thousandth of a step of it, and only
    there: a row whose values are off the grid keeps its own total.

    Attributes
    ----------
    threshold : Fraction
        T; positive iff total >= T.
    step : Fraction or None
        The grid of the data. None where there is no usable one; a total within 1e-9 of the
        threshold, relative to the size of its summands, then is a tie.
    """

    threshold: Fraction
    step: Fraction | None

    @property
    def cut(self) -> Fraction:
        """The number a computed total is compared with.

        A thousandth of a step below the threshold, but above the last grid point below it (which
        matters where the threshold itself lies off the grid). Without a grid, the threshold.
        """
        if self.step is None:
            return self.threshold
        rounding = TIE_SHARE * self.step
        below = self.step * (-((-self.threshold) // self.step) - 1)
        return max(self.threshold - rounding, below + rounding)

    @property
    def offset(self) -> float:
        """What a tie scores in :meth:`decision`: step/2, or 1e-9 max(1, abs(T)) without a grid."""
        if self.step is None:
            return RELATIVE_ROUNDING * max(1.0, abs(float(self.threshold)))
        return float(self.step / 2)

    def totals(self, X: npt.ArrayLike, points: npt.ArrayLike) -> FloatArray:
        """Totals w.x of the rows of X, put back on the grid where rounding left it.

        Parameters
        ----------
        X : array of shape (n, p)
        points : array of shape (p,)

        Returns
        -------
        ndarray of shape (n,)
        """
        values = np.asarray(X, dtype=np.float64)
        weights = np.asarray(points, dtype=np.float64)
        raw = values @ weights
        if self.step is None:
            target = float(self.threshold)
            size = np.abs(values) @ np.abs(weights) + abs(target)
            return np.where(np.abs(raw - target) <= RELATIVE_ROUNDING * size, target, raw)
        multiple = np.rint(raw * (self.step.denominator / self.step.numerator))
        nearest = multiple * self.step.numerator / self.step.denominator
        return np.where(np.abs(raw - nearest) <= float(TIE_SHARE * self.step), nearest, raw)

    def positive(self, totals: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether each total of :meth:`totals` is answered positive, shape (n,)."""
        return np.asarray(totals, dtype=np.float64) >= float(self.cut)

    def decision(self, totals: FloatArray) -> FloatArray:
        """A value that is > 0 exactly where the total is positive, and never 0.

        On the grid it is total - T + step/2. Off the grid a total between T - step/2 and T gets
        half its (negative) distance to T instead, which keeps both the sign and the order.

        Parameters
        ----------
        totals : ndarray of shape (n,), from :meth:`totals`

        Returns
        -------
        ndarray of shape (n,)
        """
        distance = np.asarray(totals, dtype=np.float64) - float(self.threshold)
        shifted = distance + self.offset
        # A threshold off the grid may lie above a total by less than floats can tell.
        below_zero = -np.finfo(np.float64).tiny
        negative = np.minimum(np.minimum(shifted, distance / 2), below_zero)
        return np.where(self.positive(totals), shifted, negative)
