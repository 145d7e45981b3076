"""Convex losses of a score with a derivative: value, gradient, Hessian and conjugate, row by row.

What each method takes and returns is said once, in :class:`milpscore.core.statement.SmoothLoss`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.statement import LossTask

_STEPS = 60
_LEAST = 1e-300


def sigmoid(z: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """1 / (1 + exp(-z)) for any z, exact to rounding on both sides; ``out`` may be ``z``."""
    # exp of a negative number never overflows, and 1/(1+e) loses nothing where e is small
    positive = z >= 0
    e = np.abs(z, out=out)
    np.negative(e, out=e)
    np.exp(e, out=e)
    top = np.where(positive, 1.0, e)
    e += 1.0
    return np.divide(top, e, out=e)


def normal_distribution(z: FloatArray) -> FloatArray:
    """The distribution function of the standard normal at z."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z), dtype=np.float64)


class _Margin(ABC):
    """A loss f(t) of the margin t = y z, y in {-1, 1}: what is said of f is turned by the sign.

    ``least`` is the lower end of the domain of f's conjugate; the upper one is 0.
    """

    task: ClassVar[LossTask] = "classification"
    least: ClassVar[float] = -np.inf

    @abstractmethod
    def _at(self, t: FloatArray) -> FloatArray:
        """f(t); may overwrite t."""

    @abstractmethod
    def _slope(self, t: FloatArray) -> FloatArray:
        """f'(t), in the room of t."""

    @abstractmethod
    def _bend(self, t: FloatArray) -> FloatArray:
        """f''(t)."""

    @abstractmethod
    def _dual(self, s: FloatArray) -> FloatArray:
        """f*(s) for s in [least, 0]."""

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses of scores of shape (n,)."""
        return self._at(y * z)

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Derivative in z, shape (n,); written to ``out`` where given."""
        slope = self._slope(np.multiply(y, z, out=out))
        slope *= y
        return slope

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Second derivative in z, shape (n,); at a corner one of the generalised ones."""
        return self._bend(y * z)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Row conjugates; infinite outside the domain."""
        s = y * u
        inside = (s >= self.least) & (s <= 0.0)
        return np.where(inside, self._dual(np.clip(s, self.least, 0.0)), np.inf)


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
        # where 1 + s is 0 the product is 0 whatever the logarithm is taken of
        return _entropy(-s) + (1.0 + s) * np.log1p(np.where(s > -1.0, s, 0.0))


@dataclass(frozen=True)
class Probit(_Margin):
    """-log Phi(y z), Phi the normal distribution function.

    With h(t) = phi(t)/Phi(t) the derivative is -y h(y z) and the second one h (t + h), which grows
    to 1 as t falls. The conjugate at a = -y u > 0 is -a t + log Phi(t) where h(t) = a; it has no
    closed form and t is found by Newton's method on log h, which is concave and decreasing.
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

        t = _inverse_mills(np.maximum(-s, _LEAST))
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
        """Row losses of scores of shape (n,)."""
        row = z - y
        np.multiply(row, row, out=row)
        row *= 0.5
        return row

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Derivative z - y, shape (n,)."""
        return np.subtract(z, y, out=out)

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Second derivative 1, shape (n,)."""
        return np.ones_like(z)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Row conjugates, finite everywhere; shape (n,)."""
        return u * y + 0.5 * u * u


@dataclass(frozen=True)
class Poisson:
    """exp(z) - y z; with a = u + y >= 0 its conjugate is a log a - a."""

    name: ClassVar[str] = "poisson"
    task: ClassVar[LossTask] = "count"
    curvature: ClassVar[float] = float("inf")

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses of scores of shape (n,); infinite where exp(z) overflows."""
        with np.errstate(over="ignore"):
            row = np.exp(z)
        row -= y * z
        return row

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Derivative exp(z) - y, shape (n,)."""
        with np.errstate(over="ignore"):
            row = np.exp(z, out=out)
        row -= y
        return row

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Second derivative exp(z), shape (n,)."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(z))

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Row conjugates; infinite where u < -y."""
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
        """Row losses of scores of shape (n, K); shape (n,)."""
        top = z.max(axis=1)
        return np.asarray(top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[_own(z, y)])

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Class probabilities minus the indicator of the own class, shape (n, K)."""
        probability = _softmax(z, out)
        probability[_own(z, y)] -= 1.0
        return probability

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Diagonal p (1 - p) of the second derivative, shape (n, K)."""
        probability = _softmax(z)
        return probability * (1.0 - probability)

    def mean_hessian(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Weighted sum over the rows of diag(p) - p p', shape (K, K)."""
        p = _softmax(z)
        return np.asarray(np.diag(weight @ p) - (p * weight[:, None]).T @ p)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Row conjugates, shape (n,); infinite where u + e_y leaves the simplex."""
        a = u.copy()
        a[_own(u, y)] += 1.0
        # rounding moves a sum of K probabilities by a few units in the last place
        inside = (a.min(axis=1) >= -1e-14) & (np.abs(a.sum(axis=1) - 1.0) <= 1e-12)
        a = np.maximum(a, 0.0)
        return np.where(inside, _entropy(a).sum(axis=1), np.inf)


def _entropy(a: FloatArray) -> FloatArray:
    """a log a for a >= 0, with 0 log 0 = 0."""
    return np.asarray(a * np.log(np.where(a > 0.0, a, 1.0)))


def _softmax(z: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Class probabilities of scores of shape (n, K)."""
    p: FloatArray = np.subtract(z, z.max(axis=1, keepdims=True), out=out)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return p


def _own(z: FloatArray, y: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (row, own class) in an array of shape (n, K)."""
    return np.arange(len(z)), y.astype(np.int64)


def _mills(t: FloatArray) -> FloatArray:
    """phi(t) / Phi(t) without cancellation or overflow."""
    from scipy.special import erfcx

    return np.asarray(np.sqrt(2.0 / np.pi) / erfcx(-t / np.sqrt(2.0)))


def _log_mills(t: FloatArray) -> FloatArray:
    """log(phi(t) / Phi(t)), finite where phi underflows."""
    from scipy.special import log_ndtr

    return np.asarray(-0.5 * t * t - 0.5 * np.log(2.0 * np.pi) - log_ndtr(t))


def _inverse_mills(a: FloatArray) -> FloatArray:
    """The t with phi(t)/Phi(t) = a > 0."""
    wanted = np.log(a)
    # both ends of the curve: about -t for large a, a parabola in log a for small a
    t = np.where(a > 1.0, -a, np.sqrt(np.maximum(-2.0 * wanted - np.log(2 * np.pi), 0.0)))
    for _ in range(_STEPS):
        step = (_log_mills(t) - wanted) / (t + _mills(t))
        t = t + step
        if np.all(np.abs(step) <= 1e-14 * (1.0 + np.abs(t))):
            break
    return t
