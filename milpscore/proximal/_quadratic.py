"""The inner problem of a Newton step: a quadratic in some columns plus a separable penalty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import has_numba
from milpscore.core.terms import Ramps
from milpscore.proximal._operators import (
    BinnedOperator,
    DenseOperator,
    Operator,
    SparseOperator,
)

_GRAM_COLUMNS = 400
_GRAM_COLUMNS_UNCOMPILED = 3000
_STALE = 0.1


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Columns of a design with row curvatures; an intercept, if any, follows at its optimum.

    Attributes
    ----------
    X : Operator of shape (n, m)
    curvature : ndarray of shape (n,)
        Positive.
    intercept : bool
    """

    X: Operator
    curvature: FloatArray
    intercept: bool

    @cached_property
    def mass(self) -> float:
        """Sum of the curvatures."""
        return float(self.curvature.sum())

    @cached_property
    def means(self) -> FloatArray:
        """Column means under the curvature, or zeros without an intercept."""
        if not self.intercept:
            return np.zeros(self.X.shape[1])
        return self.X.rmatvec(self.curvature) / self.mass

    @property
    def by_gram(self) -> bool:
        """Whether X' diag(curvature) X is formed: for few columns, or where rows are slow."""
        most = _GRAM_COLUMNS if has_numba() else _GRAM_COLUMNS_UNCOMPILED
        return self.X.shape[1] <= most or isinstance(self.X, BinnedOperator)

    def near(self, curvature: FloatArray) -> bool:
        """Whether these curvatures can stand for others; a Gram matrix is worth keeping.

        Row by row: a column that few rows have sees little of a sum over all.
        """
        change = np.abs(curvature - self.curvature)
        return self.by_gram and bool(np.all(change <= _STALE * self.curvature))

    @cached_property
    def gram(self) -> FloatArray:
        """X' diag(curvature) X with the intercept eliminated."""
        table = self.X.gram(self.curvature)
        if self.intercept:
            table -= np.multiply.outer(self.means * self.mass, self.means)
        return np.ascontiguousarray(table)


def descend(
    quadratic: Quadratic,
    rows: FloatArray,
    gradient: FloatArray,
    w: FloatArray,
    ramps: Ramps,
    tol: float,
    max_sweeps: int,
) -> FloatArray:
    """Minimise the quadratic model plus the penalty by coordinate descent.

    Parameters
    ----------
    quadratic : Quadratic of m columns
    rows : ndarray of shape (n,)
        Row derivatives of the loss at ``w``.
    gradient : ndarray of shape (m,)
        X' rows.
    w : ndarray of shape (m,)
    ramps : Ramps of m coefficients
    tol : float
        In units of the gradient.
    max_sweeps : int

    Returns
    -------
    ndarray of shape (m,)
        The minimiser; the intercept moves by -means.(w_new - w) - rows.sum() / mass.
    """
    from milpscore.proximal import _kernels

    means = quadratic.means
    new = w.copy()
    # one type for each argument, or the kernels are compiled once more
    unit, growth = float(ramps.gamma), float(ramps.growth)
    rest = (ramps.weight, ramps.ridge, ramps.slopes, growth, unit, float(tol), max_sweeps)
    if quadratic.by_gram:
        slope = gradient - means * float(rows.sum()) if quadratic.intercept else gradient.copy()
        _kernels.descend_gram(quadratic.gram, slope, new, *rest)
        return new
    bends = quadratic.X.squares(quadratic.curvature) - means**2 * quadratic.mass
    bends = np.maximum(bends, 1e-14 * float(bends.max()) + 1e-300)
    shared = (quadratic.curvature, rows.copy(), float(rows.sum()), means, bends)
    if isinstance(quadratic.X, DenseOperator):
        _kernels.descend_dense(quadratic.X.X, *shared, new, *rest)
    elif isinstance(quadratic.X, SparseOperator):
        X = quadratic.X.X
        _kernels.descend_sparse(X.data, X.indices, X.indptr, *shared, new, *rest)
    return new


def some(ramps: Ramps, index: IntArray) -> Ramps:
    """The penalty of some of the coefficients."""
    return Ramps(ramps.weight[index], ramps.ridge[index], ramps.slopes, ramps.growth, ramps.gamma)


def ramps_value(ramps: Ramps, w: FloatArray) -> float:
    """The penalty's value from its ramps, by definition: for line searches and tests."""
    size = np.abs(w)
    m = len(ramps.slopes)
    total = ramps.slopes[0] * size
    for i in range(1, m):
        step = ramps.slopes[i] - ramps.slopes[i - 1]
        total += step * np.maximum(size - i * ramps.gamma, 0.0)
    if ramps.growth > 0:
        # kinks m, m+1, ... up to |w|: an arithmetic series
        k = np.maximum(np.floor(size / ramps.gamma) - m + 1.0, 0.0)
        first = size - m * ramps.gamma
        total += ramps.growth * (k * first - ramps.gamma * k * (k - 1.0) / 2.0)
    return float(ramps.weight @ total + 0.5 * ramps.ridge @ (w * w))
