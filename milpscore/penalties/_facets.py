"""The Facets penalty: the convex envelope of a quadratic on the integer grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import Ramps
from milpscore.penalties._base import Term, Vector, check_number
from milpscore.penalties._elementwise import elementwise, grid_block
from milpscore.penalties._grid import distance_to_interval, on_grid, ramp_sum


@dataclass(frozen=True)
class Facets(Term):
    """lam * sum_j f(w_j / gamma) with f(w) = sum_{i >= 0} max(0, |w| - i).

    Parameters
    ----------
    lam : float
    gamma : float
        The unit of the coefficient grid: integers where gamma = 1.

    Notes
    -----
    Errata of the paper: eq. 3 holds for |w|; Proposition 2 names the envelope of w^2 on the
    integers, but Facets is the envelope of (w^2 + |w|) / 2; hence "Facets >= ||w||^2" in sec. 4.1
    holds for ||w||^2 / 2 only; eq. 11 lacks lambda.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020): Def. 1, eqs 2, 3, 12 and 16.
    """

    lam: float
    gamma: float = 1.0
    name: ClassVar[str] = "facets"
    separable: ClassVar[bool] = True
    is_norm: ClassVar[bool] = False

    def _check(self) -> None:
        check_number("gamma", self.gamma, least=0.0, strict=True)

    def value(self, w: Vector) -> float:
        """lam * Omega(w / gamma), eq. 3: k (k + 1) / 2 + (k + 1)(|w| - k), k = floor |w|."""
        return self.lam * float(ramp_sum(np.abs(w) / self.gamma).sum())

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The prox of step * penalty, eqs 12 and 16, exact on the grid.

        Eq. 12 as printed misses the integers by rounding at the edges of its plateaus; here what
        lies within rounding of a grid point is that point.
        """
        push = min(step * self.lam / self.gamma / self.gamma, 1e300)
        parameters = (float(self.gamma), push, 1.0)
        return elementwise(w, step, out, "grid", grid_block, parameters)

    def conjugate(self, z: Vector) -> float:
        """lam * sum_j f*(gamma z_j / lam), f*(s) = f((|s| - 1)_+); for lam = 0 only z = 0 is in."""
        if self.lam == 0:
            return np.inf if np.any(z) else 0.0
        slope = np.abs(z) * (self.gamma / self.lam)
        return self.lam * float(ramp_sum(np.maximum(slope - 1.0, 0.0)).sum())

    def dual_scale(self, z: Vector) -> float:
        """1: the conjugate is finite everywhere (for lam = 0 only at z = 0)."""
        return 1.0 if self.lam > 0 or not np.any(z) else 0.0

    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Distance of -grad_j to the subdifferential at w_j, eq. 2, entry by entry."""
        k, on = on_grid(np.abs(w) / self.gamma)
        lower, upper = np.where(on, k, np.floor(k) + 1), np.floor(k) + 1
        scale = self.lam / self.gamma
        return distance_to_interval(w, grad, scale * lower, scale * upper)

    def ramps(self, p: int) -> Ramps:
        """The penalty of p coefficients in the form of the coordinate algorithms."""
        weight = np.full(p, self.lam / self.gamma)
        return Ramps(weight, np.zeros(p), np.ones(1), 1.0, self.gamma)

    def lambda_max(self, grad0: Vector) -> float:
        """gamma max_j |grad0_j|: w = 0 is optimal where lam / gamma is at least the sup norm."""
        return self.gamma * float(np.abs(grad0).max(initial=0.0))
