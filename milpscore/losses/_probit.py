"""The probit loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import LossTask

_STEPS = 60
_LEAST = 1e-300


@dataclass(frozen=True)
class Probit:
    """-log Phi(y z), Phi the normal distribution function.

    With h(t) = phi(t)/Phi(t) the derivative is -y h(y z) and the second one h (t + h), which grows
    to 1 as t falls. The conjugate at a = -y u > 0 is -a t + log Phi(t) where h(t) = a; it has no
    closed form and t is found by Newton's method on log h, which is concave and decreasing.
    """

    name: str = "probit"
    task: LossTask = "classification"
    curvature: float = 1.0

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses of scores of shape (n,)."""
        from scipy.special import log_ndtr

        return np.asarray(-log_ndtr(y * z))

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Derivative -y phi(y z) / Phi(y z), shape (n,)."""
        return np.multiply(-y, _mills(y * z), out=out)

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Second derivative, in [0, 1), shape (n,)."""
        t = y * z
        # far below zero t + h is about -1/t, so h (t + h) cancels; there it is 1 up to 3/t^2
        far = t < -1e4
        h = _mills(np.where(far, 0.0, t))
        return np.where(far, 1.0, h * (np.where(far, 0.0, t) + h))

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Row conjugates; infinite where y u > 0, 0 at u = 0."""
        from scipy.special import log_ndtr

        a = -(y * u)
        t = _inverse_mills(np.maximum(a, _LEAST))
        row = -np.maximum(a, 0.0) * t + log_ndtr(t)
        return np.where(a > 0.0, row, np.where(a == 0.0, 0.0, np.inf))

    def project_dual(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Y u clipped to at most 0."""
        return np.asarray(y * np.minimum(y * u, 0.0))


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
