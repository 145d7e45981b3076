"""The Poisson loss of the log rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import LossTask


@dataclass(frozen=True)
class Poisson:
    """exp(z) - y z; with a = u + y >= 0 its conjugate is a log a - a."""

    name: str = "poisson"
    task: LossTask = "count"
    curvature: float = float("inf")

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
        row = a * np.log(np.where(a > 0.0, a, 1.0)) - a
        return np.where(a >= 0.0, row, np.inf)

    def project_dual(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """``u`` raised to at least -y."""
        return np.maximum(u, -y)
