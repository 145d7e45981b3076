"""A penalty of vectors applied to each class's coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.terms import ProxPenalty


@dataclass(frozen=True)
class PerClass:
    """sum_k penalty(W[:, k]) for coefficients W of shape (p, K)."""

    base: ProxPenalty

    @property
    def lam(self) -> float:
        """The weight of the penalty."""
        return self.base.lam

    @property
    def name(self) -> str:
        """The name of the penalty."""
        return self.base.name

    @property
    def separable(self) -> bool:
        """Whether the penalty is a sum over the coefficients."""
        return self.base.separable

    @property
    def is_norm(self) -> bool:
        """A sum of norms over the classes is one, but its dual norm is not needed here."""
        return False

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
