"""The losses: of real scores, with derivative and conjugate, and of integer cards, exactly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from milpscore.core.card import FloatTotals, GridTotals, TotalCuts, Totals
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import InterceptRule, LossTask, ScaleRange, SmoothLoss
from milpscore.losses.registry import EXACT_ONLY, LINKS, LOSSES

if TYPE_CHECKING:
    from milpscore.losses.lines import Lines, LossOfScores


def sigmoid(z: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return 1 / (1 + exp(-z)) for any z, exact to rounding; ``out`` may be ``z``."""
    # nothing cancels: exp(-z) is small where the answer is 1, and 1 is lost beside it where that is
    # the smaller one; where exp overflows the answer is below the smallest normal number
    e = np.negative(z, out=out)
    with np.errstate(over="ignore"):
        np.exp(e, out=e)
    e += 1.0
    return np.divide(1.0, e, out=e)


def normal_distribution(z: FloatArray) -> FloatArray:
    """Return the distribution function of the standard normal at z."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z), dtype=np.float64)


class _Margin(ABC):
    """A loss f(t) of the margin t = y z, y in {-1, 1}."""

    task: ClassVar[LossTask] = "classification"
    least: ClassVar[float] = -np.inf  # lower end of the domain of f's conjugate; the upper is 0

    @abstractmethod
    def _at(self, t: FloatArray) -> FloatArray:
        """Return f(t); may overwrite t."""

    @abstractmethod
    def _slope(self, t: FloatArray) -> FloatArray:
        """Return f'(t), in the room of t."""

    @abstractmethod
    def _bend(self, t: FloatArray) -> FloatArray:
        """Return f''(t)."""

    @abstractmethod
    def _dual(self, s: FloatArray) -> FloatArray:
        """Return f*(s) for s in [least, 0]."""

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return row losses of scores of shape (n,)."""
        return self._at(y * z)

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return the derivative in z, shape (n,); written to ``out`` if there is one."""
        slope = self._slope(np.multiply(y, z, out=out))
        slope *= y
        return slope

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return the second derivative in z, shape (n,); at a corner a generalised one."""
        return self._bend(y * z)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Return row conjugates; infinite outside the domain."""
        s = y * u
        inside = np.minimum(np.maximum(s, self.least), 0.0)
        return np.where(s == inside, self._dual(inside), np.inf)


@dataclass(frozen=True)
class Logistic(_Margin):
    """log(1 + exp(-y z)); with a = -y u in [0, 1] its conjugate is a log a + (1-a) log(1-a)."""

    name: ClassVar[str] = "logistic"
    curvature: ClassVar[float] = 0.25
    least: ClassVar[float] = -1.0

    def _at(self, t: FloatArray) -> FloatArray:
        row = np.abs(t)
        np.negative(row, out=row)
        np.exp(row, out=row)
        np.log1p(row, out=row)
        row -= np.minimum(t, 0.0, out=t)
        return row

    def _slope(self, t: FloatArray) -> FloatArray:
        np.negative(t, out=t)
        return np.negative(sigmoid(t, out=t), out=t)

    def _bend(self, t: FloatArray) -> FloatArray:
        # e / (1+e)^2 keeps its digits where sigmoid(t) rounds to 1
        e = np.exp(-np.abs(t))
        return np.asarray(e / np.square(1.0 + e))

    def _dual(self, s: FloatArray) -> FloatArray:
        # where 1 + s is 0 the product is 0, of any logarithm
        return _entropy(-s) + (1.0 + s) * np.log1p(np.where(s > -1.0, s, 0.0))


@dataclass(frozen=True)
class Probit(_Margin):
    """-log Phi(y z), Phi the normal distribution function.

    With h(t) = phi(t)/Phi(t) the derivative is -y h(y z) and the second one h (t + h), which grows
    to 1 as t falls. The conjugate at a = -y u > 0 is -a t + log Phi(t) where h(t) = a.
    """

    name: ClassVar[str] = "probit"
    curvature: ClassVar[float] = 1.0

    def _at(self, t: FloatArray) -> FloatArray:
        from scipy.special import log_ndtr

        return np.asarray(-log_ndtr(t))

    def _slope(self, t: FloatArray) -> FloatArray:
        return np.negative(_mills(t), out=t)

    def _bend(self, t: FloatArray) -> FloatArray:
        # far below zero t + h is about -1/t, so h (t + h) cancels; there it is 1 up to 3/t^2
        far = t < -1e4
        h = _mills(np.where(far, 0.0, t))
        return np.where(far, 1.0, h * (np.where(far, 0.0, t) + h))

    def _dual(self, s: FloatArray) -> FloatArray:
        from scipy.special import log_ndtr

        t = _inverse_mills(np.maximum(-s, 1e-300))
        return np.where(s < 0.0, s * t + log_ndtr(t), 0.0)


@dataclass(frozen=True)
class SquaredHinge(_Margin):
    """max(0, 1 - y z)^2 / 2; its conjugate is y u + u^2 / 2 where y u <= 0."""

    name: ClassVar[str] = "squared_hinge"
    curvature: ClassVar[float] = 1.0

    def _at(self, t: FloatArray) -> FloatArray:
        short = np.maximum(0.0, 1.0 - t)
        return np.asarray(0.5 * short * short)

    def _slope(self, t: FloatArray) -> FloatArray:
        return np.minimum(np.subtract(t, 1.0, out=t), 0.0, out=t)

    def _bend(self, t: FloatArray) -> FloatArray:
        return (t < 1.0).astype(np.float64)

    def _dual(self, s: FloatArray) -> FloatArray:
        return s + 0.5 * s * s


@dataclass(frozen=True)
class SmoothedHinge(_Margin):
    """max(0, 1 - y z) with a parabola of width ``smoothing`` below the margin.

    With t = y z and s the smoothing: 0 for t >= 1, (1-t)^2 / (2s) for 1-s < t < 1, and 1-t-s/2
    below. It lies at most s/2 under the hinge. The conjugate is y u + s u^2 / 2 for -1 <= y u <= 0.

    References
    ----------
    Nesterov, "Smooth minimization of non-smooth functions", Math. Program. 103 (2005); Rennie and
    Srebro, "Loss functions for preference levels" (2005), for s = 1.

    Raises
    ------
    OptionError
        ``smoothing`` is not a positive number.
    """

    smoothing: float = 1.0
    name: ClassVar[str] = "smoothed_hinge"
    least: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.smoothing) and self.smoothing > 0):
            raise OptionError(
                f"smoothing={self.smoothing!r}; use a positive number, or the loss 'hinge' for the"
                " corner itself."
            )

    @property
    def curvature(self) -> float:
        """1 / smoothing."""
        return 1.0 / self.smoothing

    def _at(self, t: FloatArray) -> FloatArray:
        short = np.maximum(0.0, 1.0 - t)
        inside = np.minimum(short, self.smoothing)
        return np.asarray(inside * (0.5 * inside / self.smoothing) + (short - inside))

    def _slope(self, t: FloatArray) -> FloatArray:
        np.subtract(t, 1.0, out=t)
        t /= self.smoothing
        return np.clip(t, -1.0, 0.0, out=t)

    def _bend(self, t: FloatArray) -> FloatArray:
        short = 1.0 - t
        return np.where((short > 0.0) & (short < self.smoothing), 1.0 / self.smoothing, 0.0)

    def _dual(self, s: FloatArray) -> FloatArray:
        return s + 0.5 * self.smoothing * s * s


@dataclass(frozen=True)
class Squared:
    """(y - z)^2 / 2; its conjugate is u y + u^2 / 2."""

    name: ClassVar[str] = "squared"
    task: ClassVar[LossTask] = "regression"
    curvature: ClassVar[float] = 1.0

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return row losses of scores of shape (n,)."""
        row = z - y
        np.multiply(row, row, out=row)
        row *= 0.5
        return row

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return the derivative z - y, shape (n,)."""
        return np.subtract(z, y, out=out)

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return the second derivative 1, shape (n,)."""
        return np.ones_like(z)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Return row conjugates, finite everywhere; shape (n,)."""
        return u * y + 0.5 * u * u


@dataclass(frozen=True)
class Poisson:
    """exp(z) - y z; with a = u + y >= 0 its conjugate is a log a - a."""

    name: ClassVar[str] = "poisson"
    task: ClassVar[LossTask] = "count"
    curvature: ClassVar[float] = float("inf")

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return row losses of scores of shape (n,); infinite where exp(z) overflows."""
        with np.errstate(over="ignore"):
            row = np.exp(z)
        row -= y * z
        return row

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return the derivative exp(z) - y, shape (n,)."""
        with np.errstate(over="ignore"):
            row = np.exp(z, out=out)
        row -= y
        return row

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return the second derivative exp(z), shape (n,)."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(z))

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Return row conjugates; infinite where u < -y."""
        a = u + y
        inside = np.maximum(a, 0.0)
        return np.where(a >= 0.0, _entropy(inside) - inside, np.inf)


@dataclass(frozen=True)
class Multinomial:
    """log sum_k exp(z_k) - z_y for scores of shape (n, K) and classes y in 0..K-1.

    With a = u + e_y on the simplex the conjugate is sum_k a_k log a_k. All second derivatives
    diag(p) - p p' have norm at most 1/2.
    """

    name: ClassVar[str] = "multinomial"
    task: ClassVar[LossTask] = "multinomial"
    curvature: ClassVar[float] = 0.5

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return row losses of scores of shape (n, K); shape (n,)."""
        top = z.max(axis=1)
        return np.asarray(top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[_of_class(z, y)])

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return class probabilities minus the indicator of the row's class, shape (n, K)."""
        probability = _softmax(z, out)
        probability[_of_class(z, y)] -= 1.0
        return probability

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return the diagonal p (1 - p) of the second derivative, shape (n, K)."""
        probability = _softmax(z)
        return probability * (1.0 - probability)

    def mean_hessian(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the weighted sum over the rows of diag(p) - p p', shape (K, K)."""
        p = _softmax(z)
        return np.asarray(np.diag(weight @ p) - (p * weight[:, None]).T @ p)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Return row conjugates, shape (n,); infinite where u + e_y leaves the simplex."""
        a = u.copy()
        a[_of_class(u, y)] += 1.0
        # rounding moves a sum of K probabilities by a few units in the last place
        inside = (a.min(axis=1) >= -1e-14) & (np.abs(a.sum(axis=1) - 1.0) <= 1e-12)
        a = np.maximum(a, 0.0)
        return np.where(inside, _entropy(a).sum(axis=1), np.inf)


def _entropy(a: FloatArray) -> FloatArray:
    """Return a log a for a >= 0, with 0 log 0 = 0."""
    return np.asarray(a * np.log(np.where(a > 0.0, a, 1.0)))


def _softmax(z: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return class probabilities of scores of shape (n, K)."""
    p: FloatArray = np.subtract(z, z.max(axis=1, keepdims=True), out=out)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return p


def _of_class(z: FloatArray, y: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions (row, its class) in an array of shape (n, K)."""
    return np.arange(len(z)), y.astype(np.int64)


def _mills(t: FloatArray) -> FloatArray:
    """Return phi(t) / Phi(t) without cancellation or overflow."""
    from scipy.special import erfcx

    return np.asarray(np.sqrt(2.0 / np.pi) / erfcx(-t / np.sqrt(2.0)))


def _log_mills(t: FloatArray) -> FloatArray:
    """Return log(phi(t) / Phi(t)), finite where phi underflows."""
    from scipy.special import log_ndtr

    return np.asarray(-0.5 * t * t - 0.5 * np.log(2.0 * np.pi) - log_ndtr(t))


def _inverse_mills(a: FloatArray) -> FloatArray:
    """Return the t with phi(t)/Phi(t) = a > 0, by Newton's method on the concave log of it."""
    wanted = np.log(a)
    # both ends of the curve: about -t for large a, a parabola in log a for small a
    t = np.where(a > 1.0, -a, np.sqrt(np.maximum(-2.0 * wanted - np.log(2 * np.pi), 0.0)))
    for _ in range(60):
        step = (_log_mills(t) - wanted) / (t + _mills(t))
        t = t + step
        if np.all(np.abs(step) <= 1e-14 * (1.0 + np.abs(t))):
            break
    return t


def _stepped(
    best: FloatArray, allowed: InterceptRule, mean: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the better allowed neighbour of each minimiser of a convex mean loss, and its loss."""
    if allowed.step is None:
        return best, mean(best)
    step = float(allowed.step)
    least = float(math.ceil(allowed.lower / allowed.step) * allowed.step)
    most = float(math.floor(allowed.upper / allowed.step) * allowed.step)
    below = np.clip(np.floor(best / step + 1e-9) * step, least, most)
    above = np.minimum(below + step, most)
    low, high = mean(below), mean(above)
    return np.where(low <= high, below, above), np.minimum(low, high)


@dataclass(frozen=True)
class Hinge:
    """max(0, margin - y (w.x + b)) / margin.

    References
    ----------
    Chevaleyre, Koriche & Zucker, "Learning linear classifiers with ternary weights from
    metagenomic data" (2013), sec. 2; the paper's gamma is ``margin``.
    """

    margin: float = 1.0
    name: ClassVar[str] = "hinge"
    task: ClassVar[LossTask] = "classification"

    def value(self, z: FloatArray, y: FloatArray | IntArray) -> FloatArray:
        """Return row losses of real scores of shape (n,)."""
        return np.asarray(np.maximum(0.0, self.margin - y * z) / self.margin)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Return u y margin where 0 <= -y u margin <= 1, else infinity."""
        share = -(y * u) * self.margin
        return np.where((share >= 0.0) & (share <= 1.0), -share, np.inf)

    def exact_rows(
        self, totals: GridTotals, intercept: Fraction, y: IntArray
    ) -> tuple[IntArray, Fraction]:
        """Return whole multiples of a unit, one over the denominators' common multiple."""
        margin = Fraction(repr(float(self.margin)))
        unit = totals.unit
        # math.lcm: a real intercept's denominator takes the product beyond 64 bits
        grain = Fraction(1, math.lcm(margin.denominator, intercept.denominator, unit.denominator))
        scale, shift, goal = int(unit / grain), int(intercept / grain), int(margin / grain)
        counts = totals.counts
        reach = int(np.abs(counts).max(initial=1)) * scale + abs(shift) + goal
        if reach >= 2**62:
            counts = counts.astype(object)
        slack = goal - y * (counts * scale + shift)
        return np.maximum(slack, 0), grain / margin

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Return row losses in floating point."""
        return self.value(totals.scores(intercept), y)

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> Fraction:
        """Return the exact minimiser of a piecewise-linear loss with kinks at y margin - total."""
        margin = Fraction(repr(float(self.margin)))
        values, unit = totals.in_units
        kinks = y * float(margin / unit) - values
        order = np.argsort(kinks, kind="stable")
        # the slope starts at -(weight of positives) and rises by each row's weight at its kink
        slope = np.cumsum(weight[order]) - weight[y > 0].sum()
        at = int(order[min(int(np.searchsorted(slope, 0.0)), len(order) - 1)])
        kink = int(y[at]) * margin - totals.exact(at)
        best = min(max(kink, allowed.lower), allowed.upper)
        if allowed.step is None:
            return best
        below = (best // allowed.step) * allowed.step
        near = [b for b in (below, below + allowed.step) if allowed.lower <= b <= allowed.upper]
        losses = [float(weight @ self.rows(totals.floats, b, y)) for b in near]
        return near[int(np.argmin(losses))]

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> tuple[FloatArray, FloatArray]:
        """Return (intercepts, mean losses), both of shape (V,), for totals of shape (n, V)."""
        kinks = self.margin * y[:, None] - totals
        order = np.argsort(kinks, axis=0)
        slope = np.cumsum(weight[order], axis=0) - weight[y > 0].sum()
        at = np.argmax(slope >= 0, axis=0)[None, :]
        best = np.take_along_axis(kinks, np.take_along_axis(order, at, axis=0), axis=0)[0]

        def mean(b: FloatArray) -> FloatArray:
            slack = np.maximum(0.0, self.margin - y[:, None] * (totals + b))
            return np.asarray(weight @ slack / (self.margin * weight.sum()))

        return _stepped(np.clip(best, float(allowed.lower), float(allowed.upper)), allowed, mean)


@dataclass(frozen=True)
class ZeroOne:
    """1 where the card errs: positive iff w.x >= T with T = -b, a tie is positive.

    References
    ----------
    Ustun & Rudin, "Supersparse linear integer models for optimized medical scoring systems",
    Machine Learning 102 (2016), eq. 1. The paper's margin counts a total of zero as an error in
    both classes; here a card is charged only for what it answers.
    """

    name: ClassVar[str] = "zero_one"
    task: ClassVar[LossTask] = "classification"

    def exact_rows(
        self, totals: GridTotals, intercept: Fraction, y: IntArray
    ) -> tuple[IntArray, Fraction]:
        """Return errors as 0/1, and the unit 1."""
        least_positive = math.ceil(-intercept / totals.unit)
        answer = np.where(totals.counts >= least_positive, 1, -1)
        return (answer != y).astype(np.int64), Fraction(1)

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Return errors as 0.0/1.0; a total closer to T than its rounding error is one."""
        distance = totals.scores(intercept)
        answer = np.where(distance >= 0, 1, -1)
        undecided = np.abs(distance) <= totals.error + 2.0**-52 * abs(float(intercept))
        wrong: FloatArray = ((answer != y) | undecided).astype(np.float64)
        return wrong

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> Fraction:
        """Sweep the sorted totals; among equals take the threshold in the middle of the gap."""
        counted = weight > 0  # a row of weight 0 must not move the middle of a gap
        raw, unit = totals.in_units
        cuts = TotalCuts.of(raw[counted])
        distinct, errors = cuts.distinct, cuts.wrong(weight[counted], y[counted] > 0)
        for k in np.argsort(errors, kind="stable"):
            threshold = _threshold(distinct, int(k), unit, isinstance(totals, GridTotals))
            intercept = _within(-threshold, allowed)
            if _cut(distinct, unit, intercept) == k:
                return intercept
        return _within(Fraction(0), allowed)

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> tuple[FloatArray, FloatArray]:
        """Return (intercepts, mean losses), both of shape (V,), for totals of shape (n, V).

        Thresholds outside the allowed range are left out; a column with none inside has an
        infinite loss.
        """
        order = np.argsort(totals, axis=0)
        ranked = np.take_along_axis(totals, order, axis=0)
        signed = (weight * y)[order]
        negatives = weight[y < 0].sum()
        # a threshold at ranked[k] takes every row from k on: raising it past a row trades that row
        errors = negatives + np.vstack([np.zeros(totals.shape[1]), np.cumsum(signed, axis=0)])
        gap = 1.0 if allowed.step is None else float(allowed.step)
        thresholds = np.vstack([ranked, ranked[-1:] + gap])
        tied = np.zeros(thresholds.shape, dtype=bool)
        tied[1:-1] = ranked[1:] <= ranked[:-1] + 1e-9
        outside = (-thresholds < float(allowed.lower) - 1e-9) | (
            -thresholds > float(allowed.upper) + 1e-9
        )
        errors = np.where(tied | outside, np.inf, errors)
        at = np.argmin(errors, axis=0)[None, :]
        best = np.take_along_axis(thresholds, at, axis=0)[0]
        return -best, np.take_along_axis(errors, at, axis=0)[0] / weight.sum()


def _threshold(distinct: np.ndarray, k: int, unit: Fraction, grid: bool) -> Fraction:
    """Return a threshold that answers positive exactly from ``distinct[k]`` on."""
    if k == 0:
        # without a grid a total that equals the threshold is undecided
        return Fraction(distinct[0].item()) * unit if grid else Fraction(distinct[0].item()) - 1
    if k == len(distinct):
        return (Fraction(distinct[-1].item()) + 1) * unit
    low, high = Fraction(distinct[k - 1].item()), Fraction(distinct[k].item())
    return high * unit if grid else (low + high) / 2


def _within(intercept: Fraction, allowed: InterceptRule) -> Fraction:
    """Return ``intercept`` moved into the bounds and, if there is a step, down to it."""
    value = min(max(intercept, allowed.lower), allowed.upper)
    if allowed.step is None:
        return value
    down = (value // allowed.step) * allowed.step
    return down if down >= allowed.lower else down + allowed.step


def _cut(distinct: np.ndarray, unit: Fraction, intercept: Fraction) -> int:
    """Return how many of the distinct totals lie below the threshold."""
    threshold = -intercept / unit
    if np.issubdtype(distinct.dtype, np.integer):
        return int(np.searchsorted(distinct, math.ceil(threshold)))
    return int(np.searchsorted(distinct, float(threshold)))


@dataclass(frozen=True)
class RiskLoss:
    """base((w.x + b) / scale, y): the loss of a risk score.

    Parameters
    ----------
    base : SmoothLoss
        Logistic, squared, ... of y in {-1, 1}; a loss of counts reads 0 and 1.
    scale : float or ScaleRange
        Points in one unit of the score: a risk is 1 / (1 + exp(-(w.x + b) / scale)). For a range
        each card chooses its own, and :meth:`at` gives the loss of one of them.
    """

    coupled: ClassVar[bool] = False  # whether rows lose together, and have no loss of their own
    base: SmoothLoss
    scale: float | ScaleRange

    @property
    def name(self) -> str:
        """The base loss's name."""
        return self.base.name

    def at(self, scale: float) -> RiskLoss:
        """Return the loss at one scale."""
        return RiskLoss(self.base, scale)

    @property
    def fixed(self) -> float:
        """The scale; NotApplicableError if it is left to the card."""
        if isinstance(self.scale, ScaleRange):
            raise NotApplicableError(
                "this works at one scale only, and the statement leaves the scale to the card: "
                "give {scale}, or another number",
                scale=1.0,
            )
        return self.scale

    def answers(self, y: IntArray) -> FloatArray:
        """Return the classes -1/+1 as the base loss reads them."""
        values = y.astype(np.float64)
        return (values + 1.0) / 2.0 if self.base.task == "count" else values

    def mean_rows(self, y: IntArray, weight: FloatArray) -> LossOfScores:
        """Return the mean loss of rows as a function of their scores over the scale."""
        from milpscore.losses.lines import LossRows

        return LossRows(self.base, weight / weight.sum(), self.answers(y))

    def _distinct(
        self, totals: FloatArray, y: IntArray, weight: FloatArray
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return one row per class in the place of all, if no card can tell two rows apart."""
        alike = len(y) > 2 and np.array_equal(totals[0], totals[-1])
        if not (alike and (totals == totals[0]).all()):
            return totals, y, weight
        classes = np.unique(y)
        mass = np.array([weight[y == label].sum() for label in classes])
        return totals[: len(classes)], classes, mass

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Return row losses in floating point, shape (n,)."""
        return self.base.value(totals.scores(intercept) / self.fixed, self.answers(y))

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> Fraction:
        """Return the allowed intercept of least mean loss."""
        best, _ = self.best_intercepts(totals.floats.values[:, None], y, weight, allowed)
        value = Fraction(float(best[0]))
        if allowed.step is None:
            return min(max(value, allowed.lower), allowed.upper)
        return round(value / allowed.step) * allowed.step

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> tuple[FloatArray, FloatArray]:
        """Return (intercepts, mean losses), both of shape (V,), for totals of shape (n, V)."""
        totals, y, weight = self._distinct(totals, y, weight)
        if isinstance(self.scale, ScaleRange):
            lines = self.best_lines(totals, y, weight, allowed)
            return lines.intercepts / lines.slopes, lines.losses
        scale, share = self.scale, weight / weight.sum()
        answers = np.broadcast_to(self.answers(y)[:, None], totals.shape)

        def mean(b: FloatArray) -> FloatArray:
            return np.asarray(share @ self.base.value((totals + b) / scale, answers))

        return _stepped(self._minimisers(totals, answers, share, allowed), allowed, mean)

    def best_lines(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> Lines:
        """Return slopes, intercepts of the score and mean losses, for totals of shape (n, V)."""
        from milpscore.losses.lines import best_lines

        assert isinstance(self.scale, ScaleRange)
        totals, y, weight = self._distinct(totals, y, weight)
        slopes = 1.0 / self.scale.upper, 1.0 / self.scale.lower
        ends = float(allowed.lower), float(allowed.upper)
        return best_lines(self.mean_rows(y, weight), totals, slopes, ends)

    def held_losses(self, scores: FloatArray, y: IntArray, weight: FloatArray) -> FloatArray:
        """Return mean losses (V,) of totals with intercepts, (n, V), each at its best slope."""
        from milpscore.losses.lines import held_slopes

        rows = self.mean_rows(y, weight)
        if isinstance(self.scale, ScaleRange):
            ends = 1.0 / self.scale.upper, 1.0 / self.scale.lower
            return np.asarray(rows.mean(scores * held_slopes(rows, scores, ends)))
        return np.asarray(rows.mean(scores / self.scale))

    def _minimisers(
        self, totals: FloatArray, answers: FloatArray, share: FloatArray, allowed: InterceptRule
    ) -> FloatArray:
        """Minimise by Newton's method in a shrinking bracket, all columns at once."""
        columns, scale = totals.shape[1], self.fixed
        lower = np.full(columns, float(allowed.lower))
        upper = np.full(columns, float(allowed.upper))
        b = np.clip(-(share @ totals), lower, upper)
        open_ = np.arange(columns)  # columns whose minimiser is not found yet
        for step in range(60):
            at, low, high = b[open_], lower[open_], upper[open_]
            # 1) The slope, which never falls in b, halves the bracket.
            labels = answers[:, open_]
            z = (totals[:, open_] + at) / scale
            rows = self.base.gradient(z, labels)
            slope, size = share @ rows, share @ np.abs(rows)
            bend = share @ self.base.hessian(z, labels)
            rising = slope > 0
            high, low = np.where(rising, at, high), np.where(rising, low, at)
            # 2) Newton's step, or the middle of the bracket.
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = at - scale * slope / bend
            inside = (moved > low) & (moved < high)
            if step % 3 == 2:  # where the loss is exponential, Newton walks one unit at a time
                inside &= np.abs(moved - at) <= 0.1 * scale
            settled = (np.abs(slope) <= 1e-13 * np.nan_to_num(size, posinf=0.0)) | (
                high - low <= 1e-14 * (1.0 + np.abs(at))
            )
            b[open_] = np.where(settled, at, np.where(inside, moved, 0.5 * (low + high)))
            lower[open_], upper[open_] = low, high
            open_ = open_[~settled]
            if not len(open_):
                break
        return b


def smooth_loss(loss: str | SmoothLoss, **options: Any) -> SmoothLoss:
    """Return the loss with a derivative that a name or an instance stands for.

    Parameters
    ----------
    loss : str or SmoothLoss
    **options
        Parameters of the class (``smoothing=``), for a name only.

    Returns
    -------
    SmoothLoss

    Raises
    ------
    OptionError
        The name is unknown, or the loss has no derivative.
    """
    chosen = LOSSES[loss](**options) if isinstance(loss, str) else loss
    if not hasattr(chosen, "gradient"):
        raise OptionError(
            f"the loss {getattr(chosen, 'name', chosen)!r} has no derivative; use one of"
            f" {', '.join(sorted(set(LOSSES) - EXACT_ONLY))}."
        )
    smooth: SmoothLoss = chosen
    return smooth


def link_of(loss: Any) -> str | None:
    """Return the key of LINKS for a loss, a risk loss or a name; None if it has none."""
    base = getattr(loss, "base", loss)
    name = base if isinstance(base, str) else str(getattr(base, "name", None))
    return LINKS.name_of(name) if name in LINKS else None
