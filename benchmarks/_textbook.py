"""The textbook programs, as arrays for highspy: no row is merged, every big-M is global."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from milpscore.core.design import FloatArray, IntArray


@dataclass(frozen=True)
class Textbook:
    """min cost.x over rows; the columns are w (p), alpha (p), b, and one z or xi a row."""

    cost: FloatArray
    column_lower: FloatArray
    column_upper: FloatArray
    matrix: Any
    row_lower: FloatArray
    row_upper: FloatArray
    integers: int
    """How many of the first columns are integer."""

    def load(self) -> Any:
        """A HiGHS that holds the program, handed over in one call."""
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = self.matrix.shape
        lp.col_cost_ = self.cost
        lp.col_lower_, lp.col_upper_ = self.column_lower, self.column_upper
        lp.row_lower_, lp.row_upper_ = self.row_lower, self.row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = self.matrix.indptr
        lp.a_matrix_.index_ = self.matrix.indices
        lp.a_matrix_.value_ = self.matrix.data
        whole, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        lp.integrality_ = [whole] * self.integers + [real] * (len(self.cost) - self.integers)
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        if highs.passModel(lp) == highspy.HighsStatus.kError:
            raise RuntimeError("HiGHS refused the textbook program")
        return highs


def slim(X: FloatArray, y: IntArray, *, reach: int, max_terms: int, l0_penalty: float) -> Textbook:
    """Ustun & Rudin (2016), eq. 2: y_i (w.x_i + b) >= 1 - M z_i, without the L1 tie-break.

    M = 1 + largest |w.x| over the whole box + largest |b|, b ranging as far as any total can.
    """
    n, p = X.shape
    box = reach * np.abs(X).max(axis=0).sum()
    largest_b = np.ceil(box) + 1
    big_m = 1 + box + largest_b
    return _program(
        X,
        y,
        slack=big_m * sparse.identity(n),
        cost=np.r_[np.zeros(p), np.full(p, l0_penalty), 0.0, np.full(n, 1 / n)],
        slack_upper=1.0,
        intercept=(-largest_b, largest_b),
        reach=reach,
        max_terms=max_terms,
        integers=2 * p + 1 + n,
    )


def hinge(
    X: FloatArray, y: IntArray, *, reach: int, max_terms: int, intercept: tuple[float, float]
) -> Textbook:
    """Mean of xi_i >= max(0, 1 - y_i (w.x_i + b)), the slacks without upper bounds."""
    n, p = X.shape
    return _program(
        X,
        y,
        slack=sparse.identity(n),
        cost=np.r_[np.zeros(2 * p + 1), np.full(n, 1 / n)],
        slack_upper=np.inf,
        intercept=intercept,
        reach=reach,
        max_terms=max_terms,
        integers=2 * p + 1,
    )


def _program(
    X: FloatArray,
    y: IntArray,
    *,
    slack: Any,
    cost: FloatArray,
    slack_upper: float,
    intercept: tuple[float, float],
    reach: int,
    max_terms: int,
    integers: int,
) -> Textbook:
    """Rows y_i (w.x_i + b) + slack >= 1, the links |w_j| <= reach alpha_j, and sum alpha <= k."""
    n, p = X.shape
    signs = y.astype(np.float64)
    unit, none = sparse.identity(p), sparse.csr_matrix((p, 1 + n))
    data = sparse.hstack(
        [sparse.csr_matrix(X * signs[:, None]), sparse.csr_matrix((n, p)), signs[:, None], slack]
    )
    above = sparse.hstack([unit, -reach * unit, none])
    below = sparse.hstack([unit, reach * unit, none])
    count = sparse.csr_matrix(np.r_[np.zeros(p), np.ones(p), np.zeros(1 + n)])
    return Textbook(
        cost=cost,
        column_lower=np.r_[np.full(p, -reach), np.zeros(p), intercept[0], np.zeros(n)],
        column_upper=np.r_[np.full(p, reach), np.ones(p), intercept[1], np.full(n, slack_upper)],
        matrix=sparse.vstack([data, above, below, count]).tocsr(),
        row_lower=np.r_[np.ones(n), np.full(p, -np.inf), np.zeros(p), -np.inf],
        row_upper=np.r_[np.full(n, np.inf), np.zeros(p), np.full(p, np.inf), max_terms],
        integers=integers,
    )
