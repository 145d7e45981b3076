"""The multinomial (softmax) loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import LossTask


@dataclass(frozen=True)
class Multinomial:
    """log sum_k exp(z_k) - z_y for scores of shape (n, K) and classes y in 0..K-1.

    With a = u + e_y on the simplex the conjugate is sum_k a_k log a_k. All second derivatives
    diag(p) - p p' have norm at most 1/2.
    """

    name: str = "multinomial"
    task: LossTask = "multinomial"
    curvature: float = 0.5

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses of scores of shape (n, K); shape (n,)."""
        top = z.max(axis=1)
        return np.asarray(top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[_own(z, y)])

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Class chances minus the indicator of the own class, shape (n, K)."""
        chance: FloatArray = np.subtract(z, z.max(axis=1, keepdims=True), out=out)
        np.exp(chance, out=chance)
        chance /= chance.sum(axis=1, keepdims=True)
        chance[_own(z, y)] -= 1.0
        return chance

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Diagonal p (1 - p) of the second derivative, shape (n, K)."""
        chance = self._chances(z, y)
        return chance * (1.0 - chance)

    def mean_hessian(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Weighted sum over the rows of diag(p) - p p', shape (K, K)."""
        chance = self._chances(z, y)
        return np.asarray(np.diag(weight @ chance) - (chance * weight[:, None]).T @ chance)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Row conjugates, shape (n,); infinite where u + e_y leaves the simplex."""
        a = u.copy()
        a[_own(u, y)] += 1.0
        # rounding moves a sum of K chances by a few units in the last place
        inside = (a.min(axis=1) >= -1e-14) & (np.abs(a.sum(axis=1) - 1.0) <= 1e-12)
        a = np.maximum(a, 0.0)
        row = (a * np.log(np.where(a > 0.0, a, 1.0))).sum(axis=1)
        return np.where(inside, row, np.inf)

    def project_dual(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """``u + e_y`` clipped to be positive and divided by its sum, minus e_y."""
        a = u.copy()
        a[_own(u, y)] += 1.0
        np.maximum(a, 0.0, out=a)
        total = a.sum(axis=1, keepdims=True)
        a = np.where(total > 0.0, a / np.where(total > 0.0, total, 1.0), 1.0 / a.shape[1])
        a[_own(u, y)] -= 1.0
        return a

    def _chances(self, z: FloatArray, y: FloatArray) -> FloatArray:
        chance = self.gradient(z, y)
        chance[_own(z, y)] += 1.0
        return chance


def _own(z: FloatArray, y: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (row, own class) in an array of shape (n, K)."""
    return np.arange(len(z)), y.astype(np.int64)
