"""Half the squared residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import LossTask


@dataclass(frozen=True)
class Squared:
    """(y - z)^2 / 2; its conjugate is u y + u^2 / 2."""

    name: str = "squared"
    task: LossTask = "regression"
    curvature: float = 1.0

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

    def project_dual(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Every u is allowed."""
        return u
