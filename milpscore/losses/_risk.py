"""A smooth loss of an integer card: what risk scores minimise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from milpscore.core.card import FloatTotals, GridTotals, Totals
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.terms import InterceptRange, SmoothLoss

_STEPS = 60
_TOLERANCE = 1e-13


@dataclass(frozen=True)
class RiskLoss:
    """base((w.x + b) / scale, y): the loss of a risk score.

    Parameters
    ----------
    base : SmoothLoss
        Logistic, squared, ... of y in {-1, 1}; a loss of counts reads 0 and 1.
    scale : float
        Points in one unit of the score: a risk is 1 / (1 + exp(-(w.x + b) / scale)).
    """

    base: SmoothLoss
    scale: float = 1.0

    @property
    def name(self) -> str:
        """The base loss's name."""
        return self.base.name

    def answers(self, y: IntArray) -> FloatArray:
        """The classes -1/+1 as the base loss reads them."""
        values = y.astype(np.float64)
        return (values + 1.0) / 2.0 if self.base.task == "count" else values

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Row losses in floating point, shape (n,)."""
        z = (totals.values + float(intercept)) / self.scale
        return self.base.value(z, self.answers(y))

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> Fraction:
        """The allowed intercept of least mean loss.

        Parameters
        ----------
        totals : Totals of shape (n,)
        y, weight : arrays of shape (n,)
        allowed : InterceptRange

        Returns
        -------
        Fraction
        """
        if isinstance(totals, GridTotals):
            values = totals.counts.astype(np.float64) * float(totals.unit)
        else:
            values = totals.values
        best, _ = self.best_intercepts(values[:, None], y, weight, allowed)
        value = Fraction(float(best[0]))
        if allowed.step is None:
            return min(max(value, allowed.lower), allowed.upper)
        return round(value / allowed.step) * allowed.step

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> tuple[FloatArray, FloatArray]:
        """The minimising intercept of each column of totals, and its mean loss.

        Parameters
        ----------
        totals : ndarray of shape (n, V)
        y, weight : arrays of shape (n,)
        allowed : InterceptRange

        Returns
        -------
        (intercepts, losses) : ndarrays of shape (V,)
        """
        share = weight / weight.sum()
        answers = np.broadcast_to(self.answers(y)[:, None], totals.shape)
        best = self._minimisers(totals, answers, share, allowed)
        if allowed.step is None:
            return best, self._mean(totals, best, answers, share)
        step = float(allowed.step)
        least = float(math.ceil(allowed.lower / allowed.step) * allowed.step)
        most = float(math.floor(allowed.upper / allowed.step) * allowed.step)
        below = np.clip(np.floor(best / step + 1e-9) * step, least, most)
        above = np.minimum(below + step, most)
        low = self._mean(totals, below, answers, share)
        high = self._mean(totals, above, answers, share)
        return np.where(low <= high, below, above), np.minimum(low, high)

    def _minimisers(
        self, totals: FloatArray, answers: FloatArray, share: FloatArray, allowed: InterceptRange
    ) -> FloatArray:
        """Newton's method in a shrinking bracket, all columns at once: the slope never falls."""
        columns = totals.shape[1]
        lower = np.full(columns, float(allowed.lower))
        upper = np.full(columns, float(allowed.upper))
        b = np.clip(-(share @ totals), lower, upper)
        open_ = np.arange(columns)
        for _ in range(_STEPS):
            z = (totals[:, open_] + b[open_]) / self.scale
            given = answers[:, open_]
            slope = share @ self.base.gradient(z, given)
            bend = share @ self.base.hessian(z, given)
            size = share @ np.abs(self.base.gradient(z, given))
            rising = slope > 0
            upper[open_] = np.where(rising, b[open_], upper[open_])
            lower[open_] = np.where(rising, lower[open_], b[open_])
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = b[open_] - self.scale * slope / bend
            middle = 0.5 * (lower[open_] + upper[open_])
            inside = (moved > lower[open_]) & (moved < upper[open_])
            new = np.where(inside, moved, middle)
            settled = (np.abs(slope) <= _TOLERANCE * size) | (
                upper[open_] - lower[open_] <= 1e-14 * (1.0 + np.abs(b[open_]))
            )
            b[open_] = np.where(settled, b[open_], new)
            open_ = open_[~settled]
            if not len(open_):
                break
        return b

    def _mean(
        self, totals: FloatArray, intercepts: FloatArray, answers: FloatArray, share: FloatArray
    ) -> FloatArray:
        """Mean loss of each column."""
        z = (totals + intercepts) / self.scale
        return np.asarray(share @ self.base.value(z, answers))
