"""A penalised linear model as the algorithms see it: checked data, weights that sum to 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.core.statement import LossTask, ProxPenalty, SmoothLoss
from milpscore.losses import smooth_loss
from milpscore.proximal.operators import Operator, as_operator, merge

_NEWTON_STEPS = 100
_NEWTON_TOLERANCE = 1e-13


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
        if z.ndim == 2:  # the Hessian of a row is not diagonal
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
        return self.settled(w, np.zeros((self.X.shape[0], *w.shape[1:])), np.zeros(w.shape[1:]))

    def settled(self, w: FloatArray, eta: FloatArray, start: FloatArray) -> Primal:
        """The point ``w`` with the best intercept, for scores eta = X w."""
        if not self.intercept:
            b, u = np.zeros(w.shape[1:]), self.loss.gradient(eta, self.y)
        elif eta.ndim == 2:
            b, u = _best_intercepts(self, eta, start)
        else:
            b, u = _best_intercept(self, eta, float(start))
        return Primal(w, eta, b, u, self.X.rmatvec(u * self._row(u)), self.value(eta + b))

    def take(self, rows: IntArray) -> Smooth:
        """The same on some of the rows, their weights again adding to 1."""
        weight = self.weight[rows]
        return replace(
            self, X=self.X.take(rows), y=self.y[rows], weight=weight / float(weight.sum())
        )

    def _row(self, rows: FloatArray) -> FloatArray:
        """The weights, shaped to multiply an array of rows."""
        return self.weight if rows.ndim == 1 else self.weight[:, None]


def _best_intercept(smooth: Smooth, eta: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
    """The b of least mean loss, and loss'(eta + b): its weighted sum is zero to rounding.

    Newton's method inside a shrinking bracket: the derivative in b never decreases.
    """
    lower, upper = -np.inf, np.inf
    reach = 1.0
    for _ in range(_NEWTON_STEPS):
        z = eta + b
        u = smooth.loss.gradient(z, smooth.y)
        slope = float(smooth.weight @ u)
        if not abs(slope) > _NEWTON_TOLERANCE * float(smooth.weight @ np.abs(u)):
            return np.asarray(b), u
        if slope > 0:
            upper = b
        else:
            lower = b
        bend = float(smooth.row_hessian(z).sum())
        # a loss like the hinge's may be straight here, and exp may overflow far out
        newton = b - slope / bend if 0 < bend < np.inf else np.nan
        if lower < newton < upper and abs(newton - b) <= 10.0 * reach:
            following = newton
        elif np.isinf(upper):
            following = lower + reach
        elif np.isinf(lower):
            following = upper - reach
        else:
            following = 0.5 * (lower + upper)
        reach = max(2.0 * reach, 2.0 * abs(following - b))
        if following == b or not lower < following < upper:
            return np.asarray(b), u  # the bracket is one rounding wide
        b = following
    if np.isinf(lower) or np.isinf(upper):
        raise NotApplicableError(
            "the loss falls without end as the intercept grows; fix it at 0 with intercept=False."
        )
    return np.asarray(b), smooth.loss.gradient(eta + b, smooth.y)


def _best_intercepts(
    smooth: Smooth, eta: FloatArray, b: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The same for the K intercepts of the multinomial loss, their mean kept at 0.

    Damped Newton steps; moving all K together changes nothing.
    """
    value = smooth.value(eta + b)
    for _ in range(_NEWTON_STEPS):
        z = eta + b
        rows = smooth.row_gradient(z)
        slope = rows.sum(axis=0)
        if np.abs(slope).max() <= _NEWTON_TOLERANCE * np.abs(rows).sum():
            break
        bend = smooth.loss.mean_hessian(z, smooth.y, smooth.weight)  # type: ignore[attr-defined]
        # the common direction, along which the loss is flat, gets a curvature of its own
        move = -np.linalg.solve(bend + 1.0 / len(b), slope)
        length = 1.0
        while length > 1e-10:
            following = b + length * (move - move.mean())
            reached = smooth.value(eta + following)
            if reached <= value + 1e-15 * abs(value):
                break
            length *= 0.5
        else:
            break
        b, value = following, reached
    return b, smooth.loss.gradient(eta + b, smooth.y)


def prepare(
    X: Any, y: Any, loss: str | SmoothLoss, *, sample_weight: Any = None, intercept: bool = True
) -> Smooth:
    """Check the data as ``fit_proximal`` takes it, drop rows of weight 0, and merge equal rows.

    Raises DataError where shapes differ, values are missing or of the wrong kind, or one class
    alone has weight; OptionError where the loss is unknown or has no derivative.
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


def _answers(y: Any, n: int, task: LossTask) -> tuple[FloatArray, int]:
    """Answers as floats, and the number of classes of the multinomial loss."""
    values = _vector("y", y, n, "encode labels first (encode_labels)")
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
    """Row weights of shape (n,), all 1 where none are given."""
    if sample_weight is None:
        return np.ones(n)
    weight = _vector("sample_weight", sample_weight, n, "give one number a row")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise DataError("sample_weight must be finite and not negative, and not all zero.")
    return weight


def _vector(name: str, values: Any, n: int, hint: str) -> FloatArray:
    """A copy of the values as floats, one for each of n rows."""
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} holds no numbers ({error}); {hint}.") from error
    if vector.shape != (n,):
        raise DataError(f"X has {n} rows but {name} has the shape {vector.shape}: one number a row")
    return vector


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


_NEEDED = (
    "name", "separable", "is_norm", "value", "prox", "conjugate", "dual_scale", "subdiff_distance",
)  # fmt: skip
"""What a fit reads of a penalty, see :class:`milpscore.core.statement.ProxPenalty`."""


def shaped(penalty: ProxPenalty, smooth: Smooth) -> ProxPenalty:
    """The penalty for coefficients of the problem's shape; tried once, so that lengths agree.

    Raises OptionError where it has no prox, or was made for another number of columns.
    """
    lacking = [name for name in _NEEDED if not hasattr(penalty, name)]
    if lacking:
        raise OptionError(
            f"{penalty!r} is not a penalty with a prox and a gap (it lacks {', '.join(lacking)});"
            " use one of milpscore.penalties, say L1(lam), or derive from one."
        )
    made = PerClass(penalty) if smooth.n_classes else penalty
    made.value(np.zeros(smooth.coefficient_shape))
    return made


class PerClass:
    """sum_k penalty(W[:, k]) for coefficients W of shape (p, K): column by column."""

    is_norm = False  # it is one where the penalty is, but its dual norm is not needed here

    def __init__(self, base: ProxPenalty) -> None:
        self.base = base
        self.name, self.lam, self.separable = base.name, base.lam, base.separable

    def value(self, w: FloatArray | IntArray) -> float:
        """Sum of the classes' penalties."""
        return float(sum(self.base.value(column) for column in w.T))

    def prox(self, w: FloatArray, step: float, out: FloatArray | None = None) -> FloatArray:
        """The classes' proximal points, side by side."""
        columns = [self.base.prox(np.ascontiguousarray(column), step) for column in w.T]
        return np.stack(columns, axis=1, out=out)

    def conjugate(self, z: FloatArray) -> float:
        """Sum of the classes' conjugates."""
        return float(sum(self.base.conjugate(column) for column in z.T))

    def dual_scale(self, z: FloatArray) -> float:
        """The least of the classes' factors."""
        return min(self.base.dual_scale(column) for column in z.T)

    def subdiff_distance(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """The classes' distances, side by side."""
        pairs = zip(w.T, grad.T, strict=True)
        return np.stack([np.atleast_1d(self.base.subdiff_distance(a, g)) for a, g in pairs], axis=1)

    def lambda_max(self, grad0: FloatArray) -> float:
        """The largest of the classes' values."""
        return max(self.base.lambda_max(column) for column in grad0.T)
