"""The ordered weighted L1 norm (sorted L1)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.penalties._base import Norm, Vector, check_length, check_vector, prox_arguments


@dataclass(frozen=True, eq=False)
class OWL(Norm):
    """lam * sum_i weights_i |w|_[i], |w|_[1] >= |w|_[2] >= ... the sorted sizes.

    Parameters
    ----------
    lam : float
    weights : array of shape (p,)
        Non-increasing, >= 0, the first > 0. All equal: L1. (1, 0, ..., 0): the sup norm, see
        :meth:`sup_norm`.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1, after Figueiredo & Nowak, "Sparse
    estimation with strongly correlated variables using ordered weighted l1 regularization" (2014).
    """

    lam: float
    _: KW_ONLY
    weights: FloatArray
    name: ClassVar[str] = "owl"
    separable: ClassVar[bool] = False
    is_norm: ClassVar[bool] = True

    def _check(self) -> None:
        weights = check_vector("weights", self.weights)
        if np.any(np.diff(weights) > 0) or weights[0] == 0:
            raise OptionError(
                "OWL's weights must not increase and must begin above 0: sort them downwards"
            )
        self._store("weights", weights)

    @classmethod
    def sup_norm(cls, lam: float, n_features: int) -> OWL:
        """lam * max_j |w_j|."""
        return cls(lam, weights=np.eye(1, n_features)[0])

    def value(self, w: Vector) -> float:
        """lam * Omega(w) of a vector of shape (p,)."""
        check_length(w, len(self.weights), "OWL's weights")
        return self.lam * float(self.weights @ np.sort(np.abs(w))[::-1])

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The prox of step * penalty: isotonic regression (pool adjacent violators) of sorted |w|.

        Pooled coefficients get one and the same absolute value.
        """
        check_length(w, len(self.weights), "OWL's weights")
        y, target = prox_arguments(w, step, out)
        size = np.abs(y)
        order = np.argsort(-size, kind="stable")
        pooled = _pool(size[order] - step * self.lam * self.weights)
        sign = np.sign(y)
        target[order] = np.maximum(pooled, 0.0)
        target *= sign
        return target

    def dual_norm(self, z: Vector) -> float:
        """max_k (sum of the k largest |z|) / (sum of the first k weights)."""
        check_length(z, len(self.weights), "OWL's weights")
        top = np.cumsum(np.sort(np.abs(z))[::-1])
        return float((top / np.cumsum(self.weights)).max())

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Euclidean distance of -grad to the subdifferential at w.

        It is the norm of the prox, at -grad, of the directional derivative at w, which falls apart
        into one sorted form for every group of equal |w_j|.
        """
        check_length(w, len(self.weights), "OWL's weights")
        size = np.abs(w)
        slope = np.where(size > 0, -np.sign(w) * grad, np.abs(grad))
        order = np.lexsort((-slope, -size))
        rest = slope[order] - self.lam * self.weights
        ends = np.flatnonzero(np.diff(size[order])) + 1
        squares = 0.0
        for group, where in zip(np.split(rest, ends), np.split(size[order], ends), strict=True):
            pooled = _pool(group)
            pooled = pooled if where[0] > 0 else np.maximum(pooled, 0.0)
            squares += float(pooled @ pooled)
        return float(np.sqrt(squares))


def _pool(values: FloatArray) -> FloatArray:
    """The non-increasing vector nearest to ``values``."""
    if len(values) == 1:
        return values
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, increasing=False).x)
