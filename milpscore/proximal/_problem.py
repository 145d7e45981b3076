"""A penalised linear model as the algorithms see it: checked data, weights that sum to 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.core.terms import LossTask, ProxPenalty, SmoothLoss
from milpscore.losses import smooth_loss
from milpscore.proximal._intercept import best_intercept
from milpscore.proximal._merging import merge
from milpscore.proximal._operators import Operator, as_operator
from milpscore.proximal._per_class import PerClass


@dataclass(frozen=True, eq=False)
class Primal:
    """Coefficients and what their loss says, whatever the penalty.

    Attributes
    ----------
    w : ndarray of shape (p,) or (p, K)
    eta : ndarray of shape (n,) or (n, K)
        X w.
    b : ndarray of shape () or (K,)
        The best intercept for w.
    u : ndarray of the shape of eta
        Derivatives loss'(z_i); their weighted sum is zero where the intercept is free.
    gradient : ndarray of the shape of w
        X' (weight u).
    loss : float
        Weighted mean.
    """

    w: FloatArray
    eta: FloatArray
    b: FloatArray
    u: FloatArray
    gradient: FloatArray
    loss: float


@dataclass(frozen=True, eq=False)
class Smooth:
    """The smooth part of a problem: sum_i weight_i loss(y_i, x_i.w + b).

    Attributes
    ----------
    X : Operator of shape (n, p)
    y : ndarray of shape (n,)
    weight : ndarray of shape (n,)
        Positive, their sum is 1.
    loss : SmoothLoss
    intercept : bool
        False fixes b at 0.
    n_classes : int
        K for the multinomial loss, 0 for all others.
    """

    X: Operator
    y: FloatArray
    weight: FloatArray
    loss: SmoothLoss
    intercept: bool
    n_classes: int = 0

    @property
    def coefficient_shape(self) -> tuple[int, ...]:
        """(p,), or (p, K)."""
        p = self.X.shape[1]
        return (p, self.n_classes) if self.n_classes else (p,)

    def zero_intercept(self) -> FloatArray:
        """An intercept of 0, of shape () or (K,)."""
        return np.zeros(self.n_classes) if self.n_classes else np.zeros(())

    def value(self, z: FloatArray) -> float:
        """Mean loss of the scores."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.weight @ self.loss.value(z, self.y))

    def row_gradient(self, z: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """weight_i loss'(z_i), of the shape of z."""
        rows = self.loss.gradient(z, self.y, out=out)
        return np.multiply(rows, self._row(rows), out=rows)

    def row_hessian(self, z: FloatArray) -> FloatArray:
        """weight_i loss''(z_i), of the shape of z."""
        rows = self.loss.hessian(z, self.y)
        return np.multiply(rows, self._row(rows))

    def bend(self, z: FloatArray, change: FloatArray) -> float:
        """Second derivative of the mean loss along a change of the scores, or a bound on it."""
        if z.ndim == 2:  # the Hessian of a row is no diagonal
            return self.loss.curvature * float(self.weight @ (change * change).sum(axis=1))
        return float(self.row_hessian(z) @ (change * change))

    def dual(self, u: FloatArray) -> float:
        """-sum_i weight_i conjugate(u_i)."""
        return -float(self.weight @ self.loss.conjugate(u, self.y))

    @cached_property
    def means(self) -> FloatArray:
        """Weighted column means, shape (p,)."""
        return self.X.rmatvec(self.weight)

    @cached_property
    def null(self) -> Primal:
        """The point w = 0 with its best intercept."""
        w = np.zeros(self.coefficient_shape)
        return self.settled(w, np.zeros((self.X.shape[0], *w.shape[1:])), self.zero_intercept())

    def settled(self, w: FloatArray, eta: FloatArray, start: FloatArray) -> Primal:
        """The point ``w`` with the best intercept, for scores eta = X w."""
        if self.intercept:
            b, u = best_intercept(self, eta, start)
        else:
            b, u = self.zero_intercept(), self.loss.gradient(eta, self.y)
        return Primal(w, eta, b, u, self.X.rmatvec(u * self._row(u)), self.value(eta + b))

    def take(self, rows: IntArray) -> Smooth:
        """The same on some of the rows, their weights again adding to 1."""
        weight = self.weight[rows]
        return replace(
            self, X=self.X.take(rows), y=self.y[rows], weight=weight / float(weight.sum())
        )

    def _row(self, rows: FloatArray) -> FloatArray:
        return self.weight if rows.ndim == 1 else self.weight[:, None]


def prepare(
    X: Any,
    y: Any,
    loss: str | SmoothLoss,
    *,
    sample_weight: Any = None,
    intercept: bool = True,
) -> Smooth:
    """Check the data, drop rows of weight 0, and merge equal rows of a dense design.

    Parameters
    ----------
    X : array, DataFrame of numbers, SciPy sparse, or BinnedDesign, shape (n, p)
    y : array of shape (n,)
        -1/+1 or 0/1 for classification, counts, real numbers, or classes 0..K-1 ("multinomial").
    loss : str or SmoothLoss
    sample_weight : array of shape (n,), optional
    intercept : bool

    Returns
    -------
    Smooth

    Raises
    ------
    DataError
        Shapes differ, values are missing or of the wrong kind, or one class alone has weight.
    OptionError
        The loss is unknown or has no derivative.
    """
    chosen = smooth_loss(loss)
    if not isinstance(intercept, bool | np.bool_):
        raise OptionError(f"intercept={intercept!r}; use True (free) or False (fixed at 0).")
    operator = as_operator(X)
    n = operator.shape[0]
    answers, n_classes = _answers(y, n, chosen.task)
    weight = _weights(sample_weight, n)
    if not weight.all():
        kept = np.flatnonzero(weight)
        operator, answers, weight = operator.take(kept), answers[kept], weight[kept]
    if intercept:
        _refuse_one_class(answers, chosen.task, n_classes)
    operator, answers, weight = merge(operator, answers, weight)
    return Smooth(
        operator, answers, weight / float(weight.sum()), chosen, bool(intercept), n_classes
    )


_NEEDED = (
    "name", "separable", "is_norm", "value", "prox", "conjugate", "dual_scale", "subdiff_distance",
)  # fmt: skip
"""What a fit reads of a penalty, see :class:`milpscore.core.terms.ProxPenalty`."""


def shaped(penalty: ProxPenalty, smooth: Smooth) -> ProxPenalty:
    """The penalty for coefficients of the problem's shape; tried once, so that lengths agree.

    Raises
    ------
    OptionError
        The penalty has no prox, or was made for another number of columns.
    """
    lacking = [name for name in _NEEDED if not hasattr(penalty, name)]
    if lacking:
        raise OptionError(
            f"{penalty!r} is no penalty with a prox and a gap (it lacks {', '.join(lacking)}); use "
            "one of milpscore.penalties, say L1(lam), or derive from one."
        )
    made = penalty
    if smooth.n_classes:
        made = PerClass(penalty)
    made.prox(np.zeros(smooth.coefficient_shape), 1.0)
    return made


def _answers(y: Any, n: int, task: LossTask) -> tuple[FloatArray, int]:
    """Answers as floats, and the number of classes of the multinomial loss."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"y holds no numbers ({error}); encode labels first (encode_labels)."
        ) from error
    if values.shape != (n,):
        raise DataError(f"X has {n} rows but y has the shape {values.shape}; one number a row.")
    if not np.isfinite(values).all():
        raise DataError("y holds missing or infinite values; drop these rows.")
    if task == "classification":
        if np.isin(values, (0.0, 1.0)).all():
            values = 2.0 * values - 1.0
        elif not np.isin(values, (-1.0, 1.0)).all():
            raise DataError("y must hold -1 and 1, or 0 and 1, for a classification loss.")
    elif task == "count" and (values < 0).any():
        raise DataError("y holds negative numbers; the Poisson loss needs counts.")
    elif task == "multinomial":
        if (values < 0).any() or (values != np.rint(values)).any():
            raise DataError("y must hold the classes as whole numbers 0..K-1.")
        return values, max(int(values.max()) + 1, 2)
    return values, 0


def _weights(sample_weight: Any, n: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight holds no numbers ({error}).") from error
    if weight.shape != (n,):
        raise DataError(f"{n} rows need {n} weights, not an array of shape {weight.shape}.")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise DataError("sample_weight must be finite and not negative, and not all zero.")
    return weight


def _refuse_one_class(y: FloatArray, task: LossTask, n_classes: int) -> None:
    """Where one class alone has weight, the best intercept is infinite."""
    if task == "count" and not y.any():
        raise DataError("all counts are 0, so the best intercept is -infinity; fit other data.")
    if task == "classification" and (y == y[0]).all():
        raise DataError("only one class has rows of positive weight; two are needed.")
    if task == "multinomial" and len(np.unique(y)) < n_classes:
        raise DataError(
            f"some of the classes 0..{n_classes - 1} have no row of positive weight; number the"
            " classes that occur."
        )
