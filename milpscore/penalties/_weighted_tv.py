"""Weighted total variation along one chain of coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.penalties._base import (
    Term,
    Vector,
    check_length,
    check_one_dimension,
    check_vector,
    prox_arguments,
    shrink,
)
from milpscore.penalties._chain import chain_gauge, chain_residual, in_chain_domain
from milpscore.penalties._taut_string import tv_prox


@dataclass(frozen=True, eq=False)
class WeightedTV(Term):
    """lam * sum_k weights_k |w_{k+1} - w_k|, the fused lasso's penalty of jumps.

    Parameters
    ----------
    lam : float
    weights : array of shape (p - 1,), optional
        >= 0; all 1 by default. A weight of 0 parts the chain.

    Notes
    -----
    A constant costs nothing, so gradients in the conjugate's domain sum to zero over the chain;
    sums within 1e-9 of the gradient's size count as zero.

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018). Its Algorithm 1
    is wrong as printed on most weighted cases, and quadratic on a ramp; the taut string is exact
    and O(n) on everything.
    """

    lam: float
    weights: FloatArray | None = None
    name: ClassVar[str] = "weighted_tv"
    separable: ClassVar[bool] = False
    is_norm: ClassVar[bool] = False

    def _check(self) -> None:
        if self.weights is not None:
            self._store("weights", check_vector("weights", self.weights))

    def value(self, w: Vector) -> float:
        """lam times the weighted total variation of a vector of shape (p,)."""
        return float(self._widths(w) @ np.abs(np.diff(w)))

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The prox of step * penalty, in O(p).

        Parameters
        ----------
        w : ndarray of shape (p,)
        step : float
        out : ndarray, optional
            Where the answer goes; may be ``w``.

        Returns
        -------
        ndarray
        """
        y, target = prox_arguments(w, step, out)
        self._check_length(y)
        weights = np.ones(1) if self.weights is None else self.weights
        return tv_prox(y, weights, target, step * self.lam)

    def conjugate(self, z: Vector) -> float:
        """0 where |cumsum(z)_k| <= lam weights_k and z sums to zero, else infinite."""
        inside = in_chain_domain(np.asarray(z), self._widths(z), float(np.abs(z).sum()))
        return 0.0 if inside else np.inf

    def dual_scale(self, z: Vector) -> float:
        """The largest t in [0, 1] with conjugate(t z) finite: 0 where z does not sum to zero."""
        return shrink(1.0, self._gauge(z))

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Euclidean distance of -grad to the subdifferential at w, by one more prox."""
        w, push = np.asarray(w, dtype=np.float64), -np.asarray(grad, dtype=np.float64)
        return float(np.linalg.norm(chain_residual(w, push, self._widths(w))))

    def lambda_max(self, grad0: Vector) -> float:
        """max_k |cumsum(grad0)_k| / weights_k; infinite where grad0 does not sum to zero.

        It does where the chain holds all columns of a one-hot block and the intercept is fitted.
        """
        return WeightedTV(1.0, self.weights)._gauge(grad0)

    def _gauge(self, z: Vector) -> float:
        return chain_gauge(np.asarray(z), self._widths(z), float(np.abs(z).sum()))

    def _widths(self, w: Vector) -> FloatArray:
        """lam times the weights, for w's length."""
        self._check_length(w)
        weights = np.ones(np.size(w) - 1) if self.weights is None else self.weights
        return self.lam * weights

    def _check_length(self, w: Vector) -> None:
        check_one_dimension(w)
        if self.weights is not None:
            check_length(w, len(self.weights) + 1, "weights, one for every jump,")
