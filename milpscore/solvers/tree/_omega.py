"""A penalty that is no sum over the coefficients, seen as a line below it and a local model."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.penalties import EYE

_ROUNDING = 1e-11
"""Conjugates answer 0 up to 1e-12 relative outside their domain."""


class Omega:
    """Lines below a convex penalty, and |w| and w^2 terms that resemble it nearby."""

    def __init__(self, penalty: Any, most: FloatArray) -> None:
        self.penalty, self.most = penalty, most

    def line(self, w: FloatArray, slope: FloatArray) -> tuple[FloatArray, float]:
        """(s, c) with penalty(v) >= s.v + c for every v in the ranges.

        Parameters
        ----------
        w : ndarray of shape (p,)
            Where the line should touch.
        slope : ndarray of shape (p,)
            The loss's gradient: of the subgradients at w one that nearly cancels it is taken.

        Returns
        -------
        (ndarray of shape (p,), float)
        """
        if hasattr(self.penalty, "prox"):
            step = 1.0 / (1.0 + float(np.abs(slope).max(initial=0.0)))
            moved = w - step * slope
            s = (moved - self.penalty.prox(moved, step)) / step
            s *= self.penalty.dual_scale(s)
            constant = -float(self.penalty.conjugate(s))
        else:
            s = np.asarray(self.penalty.subgradient(w), dtype=np.float64)
            constant = float(self.penalty.value(w) - s @ w)
        slack = _ROUNDING * float(np.abs(s) @ (self.most + np.abs(w)) + abs(constant))
        return s, constant - slack

    def nearby(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(weight, ridge) of sum_j weight_j |w_j| + ridge_j w_j^2 / 2, both of shape (p,)."""
        if isinstance(self.penalty, EYE):
            return _eye_nearby(self.penalty, w)
        if hasattr(self.penalty, "nearby"):
            weight, ridge = self.penalty.nearby(w)
            return np.asarray(weight, dtype=np.float64), np.asarray(ridge, dtype=np.float64)
        s, _ = self.line(w, np.zeros(len(w)))
        return np.abs(s), np.zeros(len(w))


def _eye_nearby(penalty: EYE, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a + sqrt(a^2 + b^2) linearised in a and in b^2; rounded off where both are small."""
    sparse = 1.0 - penalty.expert
    a = float(sparse @ np.abs(w))
    root = float(np.hypot(np.hypot(a, np.linalg.norm(penalty.expert * w)), 0.3))
    return penalty.lam * sparse * (1.0 + a / root), penalty.lam * penalty.expert**2 / root
