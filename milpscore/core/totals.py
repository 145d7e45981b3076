"""Totals w.x of a card on raw rows, exact wherever the data lie on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.grid import on_grid

_EXACT_LIMIT = 2.0**53


@dataclass(frozen=True)
class GridTotals:
    """Exact totals: row i's total is ``counts[i] * unit``.

    Attributes
    ----------
    counts : ndarray of int64, shape (n,)
    unit : Fraction
        The grid step of the data.
    """

    counts: IntArray
    unit: Fraction


@dataclass(frozen=True)
class FloatTotals:
    """Totals in extended precision, for data on no usable grid.

    Attributes
    ----------
    values : ndarray of shape (n,)
    error : float
        A bound on the rounding error of any of them.
    """

    values: FloatArray
    error: float


Totals = GridTotals | FloatTotals


def card_totals(X: FloatArray, step: Fraction | None, card: Card) -> Totals:
    """Totals of a card on rows X.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    step : Fraction or None
        Grid step of X (``Design.step``); None where there is no usable grid.
    card : Card

    Returns
    -------
    GridTotals or FloatTotals
        Exact in the first case: every product and partial sum is a whole number below 2^53.
    """
    used = np.flatnonzero(card.coefficients)
    w = card.coefficients[used]
    if not len(used):  # no points: every total is exactly 0, whatever the data
        return GridTotals(np.zeros(len(X), dtype=np.int64), step or Fraction(1))
    if step is not None:
        counts = on_grid(X[:, used], step)
        reach = float(np.abs(counts).max(initial=0)) * float(np.abs(w).sum())
        if reach < _EXACT_LIMIT:
            exact = counts.astype(np.float64) @ w.astype(np.float64)
            return GridTotals(exact.astype(np.int64), step)
    extended = X[:, used].astype(np.longdouble) @ w.astype(np.longdouble)
    magnitude = float((np.abs(X[:, used]) @ np.abs(w).astype(np.float64)).max(initial=0.0))
    # float64 storage of the result dominates the error of the extended-precision sum.
    return FloatTotals(extended.astype(np.float64), 2.0**-52 * (magnitude + 1.0))
