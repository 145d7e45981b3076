"""The logistic loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import LossTask
from milpscore.losses._sigmoid import sigmoid


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(-y z)); with a = -y u in [0, 1] its conjugate is a log a + (1-a) log(1-a)."""

    name: str = "logistic"
    task: LossTask = "classification"
    curvature: float = 0.25

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses of scores of shape (n,)."""
        against = -(y * z)
        row = np.abs(against)
        np.negative(row, out=row)
        np.exp(row, out=row)
        np.log1p(row, out=row)
        row += np.maximum(against, 0.0, out=against)
        return row

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Derivative -y / (1 + exp(y z)), shape (n,)."""
        chance = np.multiply(z, y, out=out)
        np.negative(chance, out=chance)
        sigmoid(chance, out=chance)
        chance *= y
        return np.negative(chance, out=chance)

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Second derivative, at most 1/4, shape (n,)."""
        # e / (1+e)^2 keeps its digits where sigmoid(z) rounds to 1
        e = np.exp(-np.abs(z))
        return np.asarray(e / np.square(1.0 + e))

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Row conjugates; infinite unless 0 <= -y u <= 1."""
        a = -(y * u)
        inside = (a >= 0.0) & (a <= 1.0)
        a = np.clip(a, 0.0, 1.0)
        # 0 log 0 is 0; where a is 0 the product is 0 whatever the logarithm is taken of
        row = a * np.log(np.where(a > 0.0, a, 1.0)) + (1.0 - a) * np.log1p(
            -np.where(a < 1.0, a, 0.0)
        )
        return np.where(inside, row, np.inf)

    def project_dual(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """-y u clipped to [0, 1]."""
        return -y * np.clip(-(y * u), 0.0, 1.0)
