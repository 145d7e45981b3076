"""The family of Facets with other weights on its kinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.terms import Ramps
from milpscore.penalties._base import EPS, Term, Vector, check_number, check_vector, prox_arguments
from milpscore.penalties._elementwise import BLOCK
from milpscore.penalties._grid import distance_to_interval, on_grid, ramp_sum


@dataclass(frozen=True)
class AlphaFacets(Term):
    """lam * sum_j f(w_j / gamma) with f(w) = sum_i alpha_i max(0, |w| - i), alpha_i > 0.

    Parameters
    ----------
    lam : float
    alpha : sequence of float
        alpha_0, alpha_1, ...; the last one repeats without end. (1,) is Facets; (1, 2) is the
        convex envelope of w^2 on the integers.
    gamma : float
        The unit of the coefficient grid.

    Notes
    -----
    Erratum: Def. 1 asks for positive integers; positive reals suffice.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020), Def. 1 and Proposition 3.
    """

    lam: float
    _: KW_ONLY
    alpha: Sequence[float]
    gamma: float = 1.0
    name: ClassVar[str] = "alpha_facets"
    separable: ClassVar[bool] = True
    is_norm: ClassVar[bool] = False

    def _check(self) -> None:
        check_number("gamma", self.gamma, least=0.0, strict=True)
        alpha = check_vector("alpha", self.alpha)
        if not alpha.all():
            raise OptionError("every entry of alpha must be > 0: drop the zeros or use Facets")
        self._store("alpha", tuple(alpha.tolist()))

    def value(self, w: Vector) -> float:
        """lam * Omega(w / gamma)."""
        size = np.abs(w) / self.gamma
        total = np.zeros(np.shape(size))
        for i, alpha in enumerate(self.alpha[:-1]):
            total += alpha * np.maximum(size - i, 0.0)
        rest = np.maximum(size - (len(self.alpha) - 1), 0.0)
        return self.lam * float((total + self.alpha[-1] * ramp_sum(rest)).sum())

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The prox of step * penalty, with plateaus of width step lam alpha_k / gamma^2.

        With slopes A_k = alpha_0 + ... + alpha_k, plateau k begins at |w| = k + mu A_{k-1} (mu =
        step lam, gamma = 1), and |prox| = max(k, |w| - mu A_k). On the plateaus' edges the answer
        is the integer itself.
        """
        y, target = prox_arguments(w, step, out)
        mu = min(step * self.lam / self.gamma / self.gamma, 1e300)
        for start in range(0, len(y), BLOCK):
            rows = slice(start, start + BLOCK)
            size = np.abs(y[rows]) / self.gamma
            rounding = 8 * EPS * size
            k = self._plateau(size + rounding, mu)
            part = size - (k + mu * self._slope(k))
            part[part <= rounding] = 0.0
            part[part >= 1.0 - rounding] = 1.0
            np.copysign(self.gamma * (k + part), y[rows], out=target[rows])
        return target

    def conjugate(self, z: Vector) -> float:
        """lam * sum_j f*(gamma z_j / lam) with f*(s) = sum_k max(0, |s| - A_k)."""
        if self.lam == 0:
            return np.inf if np.any(z) else 0.0
        slope = np.abs(z) * (self.gamma / self.lam)
        head = np.cumsum(self.alpha)
        total = np.maximum(slope[..., None] - head[:-1], 0.0).sum(axis=-1)
        rest = np.maximum(slope - head[-1], 0.0) / self.alpha[-1]
        return self.lam * float((total + self.alpha[-1] * ramp_sum(rest)).sum())

    def dual_scale(self, z: Vector) -> float:
        """1: the conjugate is finite everywhere (for lam = 0 only at z = 0)."""
        return 1.0 if self.lam > 0 or not np.any(z) else 0.0

    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Distance of -grad_j to the subdifferential at w_j, entry by entry."""
        k, on = on_grid(np.abs(w) / self.gamma)
        upper = self._slope(np.floor(k))
        lower = np.where(on, self._slope(k - 1), upper)
        scale = self.lam / self.gamma
        return distance_to_interval(w, grad, scale * lower, scale * upper)

    def ramps(self, p: int) -> Ramps:
        """The penalty of p coefficients in the form of the coordinate algorithms."""
        weight = np.full(p, self.lam / self.gamma)
        return Ramps(weight, np.zeros(p), np.cumsum(self.alpha), self.alpha[-1], self.gamma)

    def lambda_max(self, grad0: Vector) -> float:
        """gamma max_j |grad0_j| / alpha_0."""
        return self.gamma * float(np.abs(grad0).max(initial=0.0)) / self.alpha[0]

    def _slope(self, k: FloatArray) -> FloatArray:
        """A_k for whole k >= -1, A_{-1} = 0."""
        head = np.cumsum([0.0, *self.alpha])
        last = len(self.alpha) - 1
        slope = head[np.clip(k + 1, 0, last + 1).astype(np.int64)]
        return np.asarray(slope + self.alpha[-1] * np.maximum(k - last, 0.0))

    def _plateau(self, size: FloatArray, mu: float) -> FloatArray:
        """The largest k whose plateau begins at or before ``size``."""
        known = np.arange(len(self.alpha) + 1.0)
        starts = known + mu * np.cumsum([0.0, *self.alpha])
        k = np.searchsorted(starts, size, side="right") - 1.0
        beyond = np.floor((size - starts[-1]) / (1.0 + mu * self.alpha[-1]))
        return np.asarray(k + np.maximum(beyond, 0.0))
