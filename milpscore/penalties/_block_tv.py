"""Total variation inside the ordered bins of each raw feature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from milpscore.core.design import FloatArray, IntArray


@dataclass(frozen=True)
class BlockTV:
    """lam * sum over blocks of sum_j |w_j - w_{j+1}|.

    References
    ----------
    Sokolovska, Chevaleyre & Zucker, fused-lasso scores, eq. 1. The print's constraint (4) puts
    lambda on the wrong side and would give (1/lambda) times the total variation.
    """

    lam: float
    blocks: tuple[tuple[int, ...], ...]
    name: str = "lam"

    def value(self, w: FloatArray | IntArray) -> float:
        """lam times the total variation of a vector of shape (p,)."""
        left, right = self._neighbours
        return float(self.lam) * float(np.abs(w[left] - w[right]).sum())

    @cached_property
    def _neighbours(self) -> tuple[IntArray, IntArray]:
        """Every bin that has a next one in its block, and that next one."""
        pairs = [pair for block in self.blocks for pair in pairwise(block)]
        positions = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return positions[:, 0], positions[:, 1]
