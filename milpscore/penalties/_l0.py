"""The number of nonzero coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray, IntArray


@dataclass(frozen=True)
class L0:
    """lam * (number of nonzero coefficients)."""

    lam: float
    name: str = "l0_penalty"

    def value(self, w: FloatArray | IntArray) -> float:
        """lam * ||w||_0 of a vector of shape (p,)."""
        return float(self.lam) * int(np.count_nonzero(w))
