"""The hinge with its corner rounded off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.terms import LossTask


@dataclass(frozen=True)
class SmoothedHinge:
    """max(0, 1 - y z) with a parabola of width ``smoothing`` below the margin.

    With t = y z and s the smoothing: 0 for t >= 1, (1-t)^2 / (2s) for 1-s < t < 1, and 1-t-s/2
    below. It lies at most s/2 under the hinge. The conjugate is y u + s u^2 / 2 for -1 <= y u <= 0.

    References
    ----------
    Nesterov, "Smooth minimization of non-smooth functions", Math. Program. 103 (2005); Rennie and
    Srebro, "Loss functions for preference levels" (2005), for s = 1.

    Raises
    ------
    OptionError
        ``smoothing`` is not a positive number.
    """

    smoothing: float = 1.0
    name: str = "smoothed_hinge"
    task: LossTask = "classification"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.smoothing) and self.smoothing > 0):
            raise OptionError(
                f"smoothing={self.smoothing!r}; use a positive number, or the loss 'hinge' for the"
                " corner itself."
            )

    @property
    def curvature(self) -> float:
        """1 / smoothing."""
        return 1.0 / self.smoothing

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses of scores of shape (n,)."""
        short = np.maximum(0.0, 1.0 - y * z)
        inside = np.minimum(short, self.smoothing)
        return np.asarray(inside * (0.5 * inside / self.smoothing) + (short - inside))

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Derivative -y min(1, max(0, 1 - y z) / smoothing), shape (n,)."""
        slope = np.multiply(y, z, out=out)
        np.subtract(1.0, slope, out=slope)
        slope /= self.smoothing
        np.clip(slope, 0.0, 1.0, out=slope)
        slope *= y
        return np.negative(slope, out=slope)

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """1 / smoothing on the parabola, else 0."""
        short = 1.0 - y * z
        return np.where((short > 0.0) & (short < self.smoothing), 1.0 / self.smoothing, 0.0)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Row conjugates; infinite unless -1 <= y u <= 0."""
        signed = y * u
        inside = (signed <= 0.0) & (signed >= -1.0)
        return np.where(inside, signed + 0.5 * self.smoothing * u * u, np.inf)

    def project_dual(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """Y u clipped to [-1, 0]."""
        return np.asarray(y * np.clip(y * u, -1.0, 0.0))
