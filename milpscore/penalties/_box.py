"""Bounds on the coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.penalties._base import Term, Vector, per_feature, prox_arguments


@dataclass(frozen=True, eq=False)
class Box(Term):
    """0 where lower <= w <= upper, infinite elsewhere.

    Parameters
    ----------
    lower, upper : float or array of shape (p,)
        -inf and inf leave a side open. Its ``lam`` is 1: a multiple of an indicator is itself.
    """

    lower: float | FloatArray
    upper: float | FloatArray
    lam: ClassVar[float] = 1.0
    name: ClassVar[str] = "box"
    separable: ClassVar[bool] = True
    is_norm: ClassVar[bool] = False

    def _check(self) -> None:
        for side in ("lower", "upper"):
            bound = np.array(getattr(self, side), dtype=np.float64)
            if bound.ndim > 1 or np.isnan(bound).any():
                raise OptionError(f"{side} must be a number or a vector of numbers")
            bound.setflags(write=False)
            self._store(side, bound)
        try:
            crossed = np.any(self.lower > self.upper)
        except ValueError as error:
            raise OptionError(f"lower and upper differ in length: {error}") from error
        if crossed or np.any(self.lower == np.inf) or np.any(self.upper == -np.inf):
            raise OptionError("a box needs lower <= upper, lower < inf and upper > -inf everywhere")

    def value(self, w: Vector) -> float:
        """0 inside the box (up to 1e-12 of its bounds), else infinite."""
        lower, upper = self._bounds(w)
        slack = 1e-12 * np.maximum(np.abs(w), 1.0)
        return 0.0 if np.all((w >= lower - slack) & (w <= upper + slack)) else np.inf

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The nearest point of the box, whatever the step."""
        y, target = prox_arguments(w, step, out)
        lower, upper = self._bounds(y)
        return np.clip(y, lower, upper, out=target)

    def conjugate(self, z: Vector) -> float:
        """The support function sum_j max(lower_j z_j, upper_j z_j)."""
        z = np.asarray(z, dtype=np.float64)
        far = np.where(z > 0, *reversed(self._bounds(z)))
        return float(np.multiply(far, z, out=np.zeros_like(z), where=z != 0).sum())

    def dual_scale(self, z: Vector) -> float:
        """1 where the support function is finite, else 0: a scaled direction stays unbounded."""
        return 1.0 if np.isfinite(self.conjugate(z)) else 0.0

    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Distance of -grad_j to the normal cone at w_j; infinite outside the box."""
        lower, upper = self._bounds(w)
        push = -np.asarray(grad, dtype=np.float64)
        push = np.where(w == lower, np.maximum(push, 0.0), push)
        push = np.where(w == upper, np.minimum(push, 0.0), push)
        # at both bounds the cone is the whole line
        push = np.where(lower == upper, 0.0, np.abs(push))
        return np.asarray(np.where((w < lower) | (w > upper), np.inf, push))

    def lambda_max(self, grad0: Vector) -> float:
        """0 where w = 0 solves the problem at once, infinite where no weight can make it so."""
        distance = self.subdiff_distance(np.zeros(np.shape(grad0)), grad0)
        return 0.0 if not distance.any() else np.inf

    def _bounds(self, w: Vector) -> tuple[FloatArray, FloatArray]:
        shaped = []
        for side in (np.asarray(self.lower), np.asarray(self.upper)):
            if side.ndim == 1 and len(side) != np.shape(w)[0]:
                raise OptionError(
                    f"the box has {len(side)} bounds, the coefficients shape {np.shape(w)}: give "
                    "one bound a feature, or one number"
                )
            shaped.append(np.broadcast_to(per_feature(side, w) if side.ndim else side, np.shape(w)))
        return shaped[0], shaped[1]
