"""The sum of absolute coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray, IntArray


@dataclass(frozen=True)
class L1:
    """lam * sum |w_j|."""

    lam: float
    name: str = "l1_penalty"

    def value(self, w: FloatArray | IntArray) -> float:
        """lam * ||w||_1 of a vector of shape (p,)."""
        return float(self.lam) * float(np.abs(w).sum())
