"""What every penalty of the form sum_j a_j |w_j| + c_j w_j^2 / 2 has in common."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import Ramps
from milpscore.penalties._base import (
    EPS,
    Term,
    Vector,
    check_length,
    per_feature,
    prox_arguments,
)
from milpscore.penalties._elementwise import BLOCK, elementwise, soft_block

Factor = float | FloatArray


class AbsoluteQuadratic(Term):
    """lam * sum_j (a_j |w_j| + c_j w_j^2 / 2), separable.

    A subclass gives the factors a and c as one number or one a feature. An infinite a_j holds w_j
    at zero, whatever lam; a feature with a_j = c_j = 0 is free, and then no multiple of a gradient
    that moves it lies in the conjugate's domain (``dual_scale`` is 0).
    """

    lam: float
    separable: ClassVar[bool] = True

    def _factors(self) -> tuple[Factor, Factor]:
        """The factors (a, c) of Omega, without lam."""
        raise TypeError(f"{type(self).__name__} must define _factors")  # pragma: no cover

    @property
    def is_norm(self) -> bool:
        """Whether Omega is a norm: no square, and every a_j positive and finite."""
        a, c = self._factors()
        return not np.any(c) and bool(np.all(a)) and bool(np.all(np.isfinite(a)))

    def value(self, w: Vector) -> float:
        """lam * Omega(w) for w of shape (p,), or (p, K) column by column."""
        a, c = self._weighted(w)
        size = np.abs(w)
        return float(_times(a, size).sum() + (0.5 * c * size * size).sum())

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """sign(w) (|w| - step lam a)_+ / (1 + step lam c), entry by entry.

        Parameters
        ----------
        w : ndarray of shape (p,) or (p, K)
        step : float
        out : ndarray, optional
            Where the answer goes; may be ``w``.

        Returns
        -------
        ndarray
        """
        a, c = self._weighted(w)
        if np.ndim(a) == 0 and np.ndim(c) == 0:
            parameters = (step * float(a), 1.0 / (1.0 + step * float(c)))
            return elementwise(w, step, out, "soft", soft_block, parameters)
        y, target = prox_arguments(w, step, out)
        # an infinite factor stands back for a step of 0
        threshold = np.asarray(step * a if step > 0 else 0.0)
        growth = np.asarray(1.0 + step * c)
        smooth = bool(np.any(growth > 1.0))
        for start in range(0, len(y), BLOCK):
            rows = slice(start, start + BLOCK)
            t = threshold[rows] if threshold.ndim else threshold
            np.subtract(y[rows], np.clip(y[rows], -t, t), out=target[rows])
            if smooth:
                target[rows] /= growth[rows] if growth.ndim else growth
        return target

    def conjugate(self, z: Vector) -> float:
        """Sum of (|z_j| - lam a_j)_+^2 / (2 lam c_j); where c_j = 0, infinite beyond lam a_j."""
        a, c = (np.broadcast_to(f, np.shape(z)) for f in self._weighted(z))
        excess = np.abs(z) - a
        smooth = c > 0
        if np.any(excess[~smooth] > 4 * EPS * a[~smooth]):
            return np.inf
        return float((np.maximum(excess[smooth], 0.0) ** 2 / (2 * c[smooth])).sum())

    def dual_scale(self, z: Vector) -> float:
        """The largest t in [0, 1] with conjugate(t z) finite."""
        a, c = (np.broadcast_to(f, np.shape(z)) for f in self._weighted(z))
        size = np.abs(z)
        beyond = (c == 0) & (size > a)
        return float((a[beyond] / size[beyond]).min(initial=1.0))

    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Distance of -grad_j to the subdifferential at w_j, entry by entry."""
        a, c = self._weighted(w)
        with np.errstate(invalid="ignore"):  # an infinite factor at a nonzero entry: infinite
            inside = np.maximum(np.abs(grad) - a, 0.0)
            at = np.abs(grad + a * np.sign(w) + c * w)
        return np.asarray(np.where(np.asarray(w) == 0, inside, at))

    def lambda_max(self, grad0: Vector) -> float:
        """max_j |grad0_j| / a_j; infinite where a feature without a_j has a gradient."""
        a, _ = self._factors()
        a = per_feature(a, grad0) if isinstance(a, np.ndarray) else a
        return _largest_ratio(np.abs(grad0), np.broadcast_to(a, np.shape(grad0)))

    def dual_norm(self, z: Vector) -> float:
        """The dual norm max_j |z_j| / a_j, where Omega is a norm."""
        return self.lambda_max(z)

    def ramps(self, p: int) -> Ramps:
        """The penalty of p coefficients in the form of the coordinate algorithms."""
        a, c = (np.broadcast_to(factor, p) for factor in self._weighted(np.zeros(p)))
        # infinity times a coefficient of zero must be zero
        return Ramps(np.minimum(a, 1e300), np.array(c), np.ones(1))

    def _weighted(self, w: Vector) -> tuple[Factor, Factor]:
        """lam times the factors, shaped for w."""
        a, c = self._factors()
        return self._shaped(a, w), self._shaped(c, w)

    def _shaped(self, factor: Factor, w: Vector) -> Factor:
        if not isinstance(factor, np.ndarray):
            return self.lam * factor
        if np.ndim(w) == 0 or len(w) != len(factor):
            check_length(w, len(factor), "the penalty")
        if self.lam == 0:  # an infinite factor stays infinite
            return per_feature(np.where(np.isinf(factor), np.inf, 0.0), w)
        return per_feature(np.asarray(self.lam * factor), w)


def _times(factor: Any, values: FloatArray) -> FloatArray:
    """factor * values with infinity times zero being zero."""
    product = np.zeros(np.shape(values))
    np.multiply(factor, values, out=product, where=values != 0)
    return product


def _largest_ratio(size: FloatArray, limit: FloatArray) -> float:
    """max size / limit with 0 / 0 = 0 and any / 0 = any / inf = what a limit gives."""
    moved = size > 0
    if np.any(limit[moved] == 0):
        return np.inf
    return float((size[moved] / limit[moved]).max(initial=0.0))
