"""A penalised linear model as the algorithms see it, and how near a point is to its optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray, unmasked
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.core.result import Termination
from milpscore.core.statement import LossTask, ProxPenalty, SmoothLoss
from milpscore.losses import smooth_loss
from milpscore.proximal.operators import POLICY, BinnedOperator, Operator, as_operator, merge


def parts(n: int) -> list[slice]:
    """Return slices of all rows, small enough that a loss finds its arrays in the cache."""
    return [slice(a, a + POLICY.part_rows) for a in range(0, max(n, 1), POLICY.part_rows)]


@dataclass(frozen=True, eq=False)
class Primal:
    """Coefficients and their loss, under any penalty."""

    w: FloatArray  # (p,) or (p, K)
    eta: FloatArray  # X w, (n,) or (n, K)
    b: FloatArray  # the best intercept for w, () or (K,)
    u: FloatArray  # loss'(z_i), as eta; their weighted sum is zero where the intercept is free
    gradient: FloatArray  # X' (weight u), as w
    loss: float  # weighted mean


@dataclass(frozen=True, eq=False)
class Smooth:
    """The smooth part of a problem: sum_i weight_i loss(y_i, x_i.w + b)."""

    X: Operator  # (n, p)
    y: FloatArray  # (n,)
    weight: FloatArray  # (n,), positive, their sum is 1
    loss: SmoothLoss
    intercept: bool  # False fixes b at 0
    n_classes: int = 0  # K for the multinomial loss, 0 for all others

    @property
    def coefficient_shape(self) -> tuple[int, ...]:
        """Return (p,), or (p, K)."""
        p = self.X.shape[1]
        return (p, self.n_classes) if self.n_classes else (p,)

    def value(self, eta: FloatArray, b: FloatArray | float = 0.0) -> float:
        """Return the mean loss of the scores eta + b."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._mean(self.loss.value, eta, b)

    def value_and_rows(self, eta: FloatArray, b: FloatArray, out: FloatArray) -> float:
        """Return the mean loss of the scores eta + b and write weight_i loss'(z_i), in one pass."""
        value, weight = 0.0, self._row(eta)
        with np.errstate(over="ignore", invalid="ignore"):
            for k in parts(len(eta)):
                z = eta[k] + b
                value += float(self.weight[k] @ self.loss.value(z, self.y[k]))
                np.multiply(self.loss.gradient(z, self.y[k], out=z), weight[k], out=out[k])
        return value

    def slopes(self, z: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return loss'(z_i), of the shape of z."""
        rows = np.empty_like(z) if out is None else out
        for k in parts(len(z)):
            rows[k] = self.loss.gradient(z[k], self.y[k], out=rows[k])
        return rows

    def slope(self, eta: FloatArray, b: float, out: FloatArray) -> tuple[float, float]:
        """Write loss'(eta_i + b) to ``out``; return weighted sums of them and of their sizes."""
        total = size = 0.0
        for k in parts(len(eta)):
            u = np.add(eta[k], b, out=out[k])
            u[:] = self.loss.gradient(u, self.y[k], out=u)
            total += float(self.weight[k] @ u)
            size += float(self.weight[k] @ np.abs(u))
        return total, size

    def row_gradient(self, z: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return weight_i loss'(z_i), of the shape of z."""
        rows = self.slopes(z, out)
        return np.multiply(rows, self._row(rows), out=rows)

    def row_hessian(self, z: FloatArray) -> FloatArray:
        """Return weight_i loss''(z_i), of the shape of z."""
        rows, weight = np.empty_like(z), self._row(z)
        for k in parts(len(z)):
            np.multiply(self.loss.hessian(z[k], self.y[k]), weight[k], out=rows[k])
        return rows

    def curvature(self, eta: FloatArray, b: float) -> float:
        """Return the sum of weight_i loss''(eta_i + b), without an array of its terms."""
        hessian = self.loss.hessian
        return sum(float(self.weight[k] @ hessian(eta[k] + b, self.y[k])) for k in parts(len(eta)))

    def bend(self, z: FloatArray, change: FloatArray) -> float:
        """Return the mean loss's second derivative along a change of the scores, or a bound."""
        if z.ndim == 2:  # the Hessian of a row is not diagonal
            return self.loss.curvature * float(self.weight @ (change * change).sum(axis=1))
        return float(self.row_hessian(z) @ (change * change))

    def dual(self, u: FloatArray) -> float:
        """Return -sum_i weight_i conjugate(u_i)."""
        return -self._mean(self.loss.conjugate, u)

    @cached_property
    def means(self) -> FloatArray:
        """Weighted column means, shape (p,)."""
        return self.X.rmatvec(self.weight)

    @cached_property
    def squares(self) -> FloatArray:
        """Weighted means of the columns' squares, shape (p,)."""
        # the entries of bins are 0 and 1
        return self.means if isinstance(self.X, BinnedOperator) else self.X.squares(self.weight)

    @cached_property
    def null(self) -> Primal:
        """The point w = 0 with its best intercept."""
        w = np.zeros(self.coefficient_shape)
        eta, b = np.zeros((self.X.shape[0], *w.shape[1:])), np.zeros(w.shape[1:])
        if self.loss.task == "classification" and self.intercept:
            # all rows of a class are alike: the problem of two rows
            positive = self.y > 0
            mass = float(self.weight @ positive)
            sides = replace(self, y=np.array([-1.0, 1.0]), weight=np.array([1.0 - mass, mass]))
            b, slopes = _best_intercept(sides, np.zeros(2), 0.0)
            u = np.where(positive, slopes[1], slopes[0])
            loss = sides.value(np.zeros(2), b)
            return Primal(w, eta, b, u, self.X.rmatvec(u * self.weight), loss)
        return self.settled(w, eta, b)

    def settled(self, w: FloatArray, eta: FloatArray, start: FloatArray) -> Primal:
        """Return the point ``w`` with the best intercept, for scores eta = X w."""
        if not self.intercept:
            b, u = np.zeros(w.shape[1:]), self.slopes(eta)
        elif eta.ndim == 2:
            b, u = _best_intercepts(self, eta, start)
        else:
            b, u = _best_intercept(self, eta, float(start))
        return Primal(w, eta, b, u, self.X.rmatvec(u * self._row(u)), self.value(eta, b))

    def take(self, rows: IntArray) -> Smooth:
        """Return the problem of some of the rows, their weights again adding to 1."""
        weight = self.weight[rows]
        return replace(
            self, X=self.X.take(rows), y=self.y[rows], weight=weight / float(weight.sum())
        )

    def _mean(
        self,
        of: Callable[[FloatArray, FloatArray], FloatArray],
        z: FloatArray,
        b: FloatArray | float = 0.0,
    ) -> float:
        """Return sum_i weight_i of(z_i + b, y_i)."""
        if len(z) <= POLICY.part_rows:
            return float(self.weight @ of(z + b, self.y))
        return sum(float(self.weight[k] @ of(z[k] + b, self.y[k])) for k in parts(len(z)))

    def _row(self, rows: FloatArray) -> FloatArray:
        """Return the weights, shaped to multiply an array of rows."""
        return self.weight if rows.ndim == 1 else self.weight[:, None]


def _best_intercept(smooth: Smooth, eta: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
    """Return the b of least mean loss and loss'(eta + b), by Newton in a shrinking bracket."""
    lower, upper = -np.inf, np.inf
    reach, bend, before = 1.0, np.nan, 0.0
    u = np.empty_like(eta)
    for _ in range(POLICY.intercept_steps):
        # 1) Narrow the bracket by the sign of the slope; end if it is rounding.
        slope, size = smooth.slope(eta, b, out=u)
        if not abs(slope) > POLICY.intercept_tolerance * size:
            return np.asarray(b), u
        if slope > 0:
            upper = b
        else:
            lower = b
        # 2) Take Newton's step if it stays inside, else go outwards, or halve the bracket.
        if not abs(slope) <= POLICY.kept_bend * before:
            bend = smooth.curvature(eta, b)
        before = abs(slope)
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
            "the loss falls without end as the intercept grows; fix it at 0 with {intercept}.",
            intercept=False,
        )
    return np.asarray(b), smooth.slopes(eta + b)


def _best_intercepts(
    smooth: Smooth, eta: FloatArray, b: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the K best intercepts of the multinomial loss, of mean 0, by damped Newton steps."""
    value, least = smooth.value(eta + b), np.inf
    for _ in range(POLICY.intercept_steps):
        # 1) Find Newton's step; end if the slopes are rounding.
        rows = smooth.row_gradient(z := eta + b)
        slope = rows.sum(axis=0)
        if (size := float(np.abs(slope).max())) <= POLICY.intercept_tolerance * np.abs(rows).sum():
            break
        bend = smooth.loss.mean_hessian(z, smooth.y, smooth.weight)  # type: ignore[attr-defined]
        # the common direction, along which the loss is flat, gets a curvature of its own
        move = -np.linalg.lstsq(bend + 1.0 / len(b), slope)[0]
        if size > 0.5 * least and -slope @ move <= POLICY.intercept_fall * abs(value):
            break  # less than the loss is rounded by
        # 2) Halve it until the loss falls.
        least, length = min(size, least), 1.0
        while length > 1e-10:
            following = b + length * (move - move.mean())
            reached = smooth.value(eta + following)
            if reached <= value + POLICY.intercept_fall * abs(value):
                break
            length *= 0.5
        else:
            break
        b, value = following, reached
    return b, smooth.loss.gradient(eta + b, smooth.y)


def prepare(
    X: Any, y: Any, loss: str | SmoothLoss, *, sample_weight: Any = None, intercept: bool = True
) -> Smooth:
    """Check the data as ``fit_proximal`` takes it, drop rows of weight 0, and merge equal rows."""
    chosen = smooth_loss(loss)
    if not isinstance(intercept, bool | np.bool_):
        raise OptionError(
            "{intercept}; use {True} (free) or {False} (fixed at 0).", intercept=intercept
        )
    operator = as_operator(X)
    n = operator.shape[0]
    answers, n_classes = row_answers(y, n, chosen.task)
    weight = _weights(sample_weight, n)
    if not weight.all():
        rows = np.flatnonzero(weight)
        operator, answers, weight = operator.take(rows), answers[rows], weight[rows]
    if intercept:
        _refuse_one_class(answers, chosen.task, n_classes)
    operator, answers, weight = merge(operator, answers, weight)
    return Smooth(
        operator, answers, weight / float(weight.sum()), chosen, bool(intercept), n_classes
    )


def row_answers(y: Any, n: int, task: LossTask) -> tuple[FloatArray, int]:
    """Return answers as floats, and the number of classes of the multinomial loss."""
    try:
        values = np.array(unmasked(y), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"y holds no numbers ({error}); encode labels first.") from error
    if values.shape != (n,):
        raise DataError(
            f"X has {n} rows but y has the shape {values.shape}: one number per row is needed"
        )
    if not np.isfinite(values).all():
        raise DataError("y holds missing or infinite values; drop these rows.")
    if task == "classification":
        if not ((np.abs(values) == 1.0).all() and (values < 0).any()):
            if not np.isin(values, (0.0, 1.0)).all():
                raise DataError("y must hold -1 and 1, or 0 and 1, for a classification loss.")
            values = 2.0 * values - 1.0
    elif task == "count" and (values < 0).any():
        raise DataError("y holds negative numbers; the Poisson loss needs counts.")
    elif task == "multinomial":
        if (values < 0).any() or (values != np.rint(values)).any():
            raise DataError("y must hold the classes as whole numbers 0..K-1.")
        return values, max(int(values.max()) + 1, 2)
    return values, 0


def _weights(sample_weight: Any, n: int) -> FloatArray:
    """Return row weights of shape (n,), all 1 by default."""
    if sample_weight is None:
        return np.ones(n)
    from milpscore.data.checking import row_weights

    return row_weights(sample_weight, n)


def _refuse_one_class(y: FloatArray, task: LossTask, n_classes: int) -> None:
    """Refuse data of one class, whose best intercept is infinite."""
    if task == "count" and not y.any():
        raise DataError("all counts are 0, so the best intercept is -infinity; fit other data.")
    if task == "classification" and (y == y[0]).all():
        raise DataError("only one class has rows of positive weight; two are needed.")
    if task == "multinomial" and len(np.unique(y)) < n_classes:
        raise DataError(
            f"some of the classes 0..{n_classes - 1} have no row of positive weight; number the"
            " classes that occur."
        )


def shaped(penalty: ProxPenalty, smooth: Smooth) -> ProxPenalty:
    """Return the penalty for coefficients of the problem's shape, once its length is checked."""
    kind, needed = type(penalty), (
        "name", "separable", "is_norm", "value", "prox", "conjugate", "dual_scale",
        "subdiff_distance",
    )  # fmt: skip
    # the class first: a property may be dear
    lacking = [name for name in needed if not (hasattr(kind, name) or hasattr(penalty, name))]
    if lacking:
        raise OptionError(
            f"{penalty!r} is not a penalty with a prox and a gap (it lacks {', '.join(lacking)});"
            " use one of milpscore.penalties, say L1(lam), or derive from one."
        )
    apart = smooth.n_classes and not getattr(penalty, "shared", False)
    whole = PerClass(penalty) if apart else penalty
    whole.value(np.zeros(smooth.coefficient_shape))
    return whole


class PerClass:
    """sum_k penalty(W[:, k]) for coefficients W of shape (p, K): column by column."""

    is_norm = False  # it is one where the penalty is, but its dual norm is not needed here

    def __init__(self, base: ProxPenalty) -> None:
        self.base = base
        self.name, self.lam, self.separable = base.name, base.lam, base.separable

    def value(self, w: FloatArray | IntArray) -> float:
        """Return the sum of the classes' penalties."""
        return float(sum(self.base.value(column) for column in w.T))

    def prox(self, w: FloatArray, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the classes' proximal points, side by side."""
        columns = [self.base.prox(np.ascontiguousarray(column), step) for column in w.T]
        return np.stack(columns, axis=1, out=out)

    def conjugate(self, z: FloatArray) -> float:
        """Return the sum of the classes' conjugates."""
        return float(sum(self.base.conjugate(column) for column in z.T))

    def dual_scale(self, z: FloatArray) -> float:
        """Return the least of the classes' factors."""
        return min(self.base.dual_scale(column) for column in z.T)

    def subdiff_distance(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Return the classes' distances, side by side."""
        pairs = zip(w.T, grad.T, strict=True)
        return np.stack([np.atleast_1d(self.base.subdiff_distance(a, g)) for a, g in pairs], axis=1)

    def lambda_max(self, grad0: FloatArray) -> float:
        """Return the largest of the classes' values."""
        return max(self.base.lambda_max(column) for column in grad0.T)


GAP_FLOOR = 1e-12
ENDLESS = Clock()


@dataclass(frozen=True, eq=False)
class DualityGap:
    """A point and its duality gap under one penalty."""

    at: Primal
    of: ProxPenalty
    penalty: float
    dual: float  # below every objective
    scale: float  # in [0, 1]: how far the dual point was shrunk into the conjugate's domain

    @cached_property
    def distance(self) -> FloatArray:
        """Return the distance of -gradient to the subdifferential, per coefficient or in all."""
        distance = self.of.subdiff_distance(self.at.w, self.at.gradient)
        return np.asarray(distance, dtype=np.float64)

    @property
    def objective(self) -> float:
        """Mean loss plus penalty."""
        return self.at.loss + self.penalty

    @property
    def gap(self) -> float:
        """(objective - dual) / max(|objective|, 1e-12); rounding below zero is 0."""
        gap = (self.objective - self.dual) / max(abs(self.objective), GAP_FLOOR)
        return 0.0 if -1e-13 <= gap < 0.0 else gap

    @cached_property
    def worst(self) -> float:
        """The largest distance."""
        return float(self.distance.max(initial=0.0))


def duality_gap(
    smooth: Smooth, penalty: ProxPenalty, at: Primal, best_dual: float = -np.inf
) -> DualityGap:
    """Bound the optimum from below by Fenchel duality, at least by the best bound known."""
    # With u_i = loss'(z_i) and g = X'(weight u), for every t in [0, 1]
    #
    #     min over w, b of the objective >= -sum_i weight_i loss*(t u_i) - penalty*(-t g),
    #
    # because the weighted sum of u is zero (the intercept is free and at its best). t is 1, or the
    # largest factor that keeps -t g in the domain of the penalty's conjugate; every loss's
    # conjugate is finite at 0 and has a convex domain, so t u stays in that.
    scale = float(penalty.dual_scale(-at.gradient))
    conjugate = float(penalty.conjugate(-scale * at.gradient))
    finite = conjugate < np.inf
    dual = smooth.dual(at.u if scale == 1.0 else scale * at.u) - conjugate if finite else -np.inf
    return DualityGap(
        at=at,
        of=penalty,
        penalty=float(penalty.value(at.w)),
        dual=max(dual, best_dual),
        scale=scale if finite else 0.0,
    )


@dataclass(frozen=True)
class ProximalPoint:
    """One look at a fit: iterations so far, seconds, objective, relative duality gap."""

    iteration: int
    seconds: float
    objective: float
    gap: float


@dataclass(frozen=True, eq=False)
class ProximalResult:
    """A fitted penalised linear model and how near to optimal it is.

    Attributes
    ----------
    coefficients : ndarray of shape (p,), or (p, K) for the multinomial loss
    intercept : float, or ndarray of shape (K,)
    objective, loss, penalty : float
        Weighted mean loss plus penalty.
    dual_objective : float
        No coefficients have a smaller objective than this.
    gap : float
        (objective - dual_objective) / max(|objective|, 1e-12).
    distance : float
        Largest entry of the distance of minus the gradient to the penalty's subdifferential.
    trace : tuple of ProximalPoint
    iterations : int
        Newton steps of "working_set" and "newton", proximal steps of the others.
    termination : Termination
        GAP_REACHED; CONVERGED, where the penalty's conjugate is not finite so that no gap can
        become small, but the distance is; STALLED; ITERATION_LIMIT; or TIME_LIMIT.
    algorithm : str
        "working_set", "newton", "fista" or "ista".
    seconds : float
    step : float
        The last step length of FISTA and ISTA, 0 else; a warm start takes it up.
    """

    coefficients: FloatArray
    intercept: float | FloatArray
    objective: float
    loss: float
    penalty: float
    dual_objective: float
    gap: float
    distance: float
    trace: tuple[ProximalPoint, ...]
    iterations: int
    termination: Termination
    algorithm: str
    seconds: float
    step: float = 0.0

    def __repr__(self) -> str:
        used, size = np.count_nonzero(self.coefficients), self.coefficients.size
        return (
            f"<ProximalResult {self.algorithm}: objective {self.objective:.6g}, gap "
            f"{self.gap:.1e}, {used} of {size} coefficients, {self.termination}>"
        )

    @property
    def converged(self) -> bool:
        """Whether ``tol`` was reached, by the gap or by the distance."""
        return self.termination in {Termination.GAP_REACHED, Termination.CONVERGED}

    def summary(self) -> str:
        """Return one line: objective, gap, iterations, why it stopped."""
        return (
            f"objective {self.objective:.6g} (loss {self.loss:.6g}, penalty {self.penalty:.6g}),"
            f" gap {self.gap:.1e}, {self.iterations} iterations of {self.algorithm} in"
            f" {self.seconds:.3g} s. {self.termination.sentence}"
        )


@dataclass(eq=False)
class Run:
    """One run of an algorithm: its clock, its trace, and whether a point is good enough."""

    smooth: Smooth
    penalty: ProxPenalty
    algorithm: str
    tol: float  # the relative gap wanted
    clock: Clock = ENDLESS
    watch: Clock = field(default_factory=Clock)
    trace: list[ProximalPoint] = field(default_factory=list)
    iterations: int = 0  # at the last look
    step: float = 0.0
    stop: Termination | None = None
    point: DualityGap | None = None

    def look(self, iteration: int, at: Primal) -> DualityGap:
        """Bound the gap at a point, note it, and set ``stop`` if the run is over."""
        best = -np.inf if self.point is None else self.point.dual
        point = self.point = duality_gap(self.smooth, self.penalty, at, best)
        self.iterations = iteration
        seconds = self.watch.seconds
        self.trace.append(ProximalPoint(iteration, seconds, point.objective, point.gap))
        if point.gap <= self.tol:
            self.stop = Termination.GAP_REACHED
        # Where the penalty leaves a direction free its conjugate is finite on a thin set, which a
        # gradient in floating point misses: the dual point shrinks to nothing however good w is.
        # A norm leaves none free, unless it weighs nothing.
        elif (
            point.scale < POLICY.shrunk_scale
            and point.worst <= self.tol * self._unit
            and not (getattr(self.penalty, "is_norm", False) and getattr(self.penalty, "lam", 1))
        ):
            self.stop = Termination.CONVERGED
        elif self.clock.is_up:
            self.stop = Termination.TIME_LIMIT
        return point

    @property
    def _unit(self) -> float:
        """The sup norm of the gradient at w = 0."""
        return max(float(np.abs(self.smooth.null.gradient).max(initial=0.0)), GAP_FLOOR)

    def followed(self, last: Run) -> Run:
        """Append a run that went on from this one's point; return both as one."""
        since = self.watch.seconds - last.watch.seconds
        self.trace += [
            replace(at, iteration=self.iterations + at.iteration, seconds=since + at.seconds)
            for at in last.trace[1:]  # the first is this one's last
        ]
        self.iterations += last.iterations
        self.step, self.stop, self.point = last.step, last.stop, last.point
        return self

    def result(self) -> ProximalResult:
        """Return the answer at the last point looked at, in the user's shapes."""
        assert self.point is not None
        at = self.point.at
        return ProximalResult(
            coefficients=at.w,
            intercept=float(at.b) if at.b.ndim == 0 else at.b,
            objective=self.point.objective,
            loss=at.loss,
            penalty=self.point.penalty,
            dual_objective=self.point.dual,
            gap=self.point.gap,
            distance=self.point.worst,
            trace=tuple(self.trace),
            iterations=self.iterations,
            termination=self.stop or Termination.ITERATION_LIMIT,
            algorithm=self.algorithm,
            seconds=self.watch.seconds,
            step=self.step,
        )
