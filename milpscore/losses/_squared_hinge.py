"""Half the squared hinge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import LossTask


@dataclass(frozen=True)
class SquaredHinge:
    """max(0, 1 - y z)^2 / 2; its conjugate is y u + u^2 / 2 where y u <= 0."""

    name: str = "squared_hinge"
    task: LossTask = "classification"
    curvature: float = 1.0

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses of scores of shape (n,)."""
        short = np.maximum(0.0, 1.0 - y * z)
        return np.asarray(0.5 * short * short)

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Derivative -y max(0, 1 - y z), shape (n,)."""
        short = np.multiply(y, z, out=out)
        np.subtract(1.0, short, out=short)
        np.maximum(short, 0.0, out=short)
        short *= y
        return np.negative(short, out=short)

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """1 below the margin, else 0 (one of the generalised second derivatives at it)."""
        return (y * z < 1.0).astype(np.float64)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Row conjugates; infinite where y u > 0."""
        signed = y * u
        return np.where(signed <= 0.0, signed + 0.5 * u * u, np.inf)

    def project_dual(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Y u clipped to at most 0."""
        return np.asarray(y * np.minimum(y * u, 0.0))
