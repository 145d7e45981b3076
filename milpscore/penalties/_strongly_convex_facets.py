"""Facets with some ridge blended in, so that the minimiser is unique."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import Ramps
from milpscore.penalties._base import Term, Vector, check_number
from milpscore.penalties._elementwise import elementwise, grid_block
from milpscore.penalties._grid import distance_to_interval, on_grid, ramp_sum


@dataclass(frozen=True)
class StronglyConvexFacets(Term):
    """lam * sum_j f(w_j / gamma) with f = (1 - eps) Facets + eps (|w| + w^2 / 2).

    Parameters
    ----------
    lam : float
    eps : float
        In (0, 1]; f is eps-strongly convex. 0 would be Facets.
    gamma : float
        The unit of the coefficient grid.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020), eqs 13-16.
    """

    lam: float
    _: KW_ONLY
    eps: float = 0.01
    gamma: float = 1.0
    name: ClassVar[str] = "scf"
    separable: ClassVar[bool] = True
    is_norm: ClassVar[bool] = False

    def _check(self) -> None:
        check_number("eps", self.eps, least=0.0, most=1.0, strict=True)
        check_number("gamma", self.gamma, least=0.0, strict=True)

    def value(self, w: Vector) -> float:
        """lam * Omega(w / gamma), eq. 14."""
        size = np.abs(w) / self.gamma
        smooth = size + size * size / 2
        return self.lam * float(((1 - self.eps) * ramp_sum(size) + self.eps * smooth).sum())

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The prox of step * penalty, eqs 15 and 16, exact on the grid."""
        push = min(step * self.lam / self.gamma / self.gamma, 1e300)
        parameters = (float(self.gamma), push, 1.0 + push * self.eps)
        return elementwise(w, step, out, "grid", grid_block, parameters)

    def conjugate(self, z: Vector) -> float:
        """lam * sum_j f*(gamma z_j / lam).

        The slope of f* at s = m + r (m >= 1 whole, r in [0, 1)) is m - 1 + min(r / eps, 1): f*
        has the integral m (m - 1) / 2 - (m - 1) eps / 2 up to m.
        """
        if self.lam == 0:
            return np.inf if np.any(z) else 0.0
        slope = np.maximum(np.abs(z) * (self.gamma / self.lam), 1.0)
        m = np.floor(slope)
        r = slope - m
        curved = np.minimum(r, self.eps)
        last = (m - 1) * r + curved * curved / (2 * self.eps) + (r - curved)
        return self.lam * float(((m - 1) * (m - self.eps) / 2 + last).sum())

    def dual_scale(self, z: Vector) -> float:
        """1: the conjugate is finite everywhere (for lam = 0 only at z = 0)."""
        return 1.0 if self.lam > 0 or not np.any(z) else 0.0

    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Distance of -grad_j to the subdifferential at w_j, entry by entry."""
        k, on = on_grid(np.abs(w) / self.gamma)
        above = np.floor(k) + 1
        upper = (1 - self.eps) * above + self.eps * (1 + k)
        lower = np.where(on, upper - (1 - self.eps), upper)
        scale = self.lam / self.gamma
        return distance_to_interval(w, grad, scale * lower, scale * upper)

    def ramps(self, p: int) -> Ramps:
        """The penalty of p coefficients in the form of the coordinate algorithms."""
        weight = np.full(p, self.lam / self.gamma)
        ridge = np.full(p, self.lam * self.eps / self.gamma**2)
        return Ramps(weight, ridge, np.ones(1), 1.0 - self.eps, self.gamma)

    def lambda_max(self, grad0: Vector) -> float:
        """gamma max_j |grad0_j|, as for Facets."""
        return self.gamma * float(np.abs(grad0).max(initial=0.0))
