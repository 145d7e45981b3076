"""Total variation inside the ordered bins of each raw feature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from milpscore.core.design import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class BlockTV:
    """lam * sum over blocks of sum_j weights_{j+1} |w_j - w_{j+1}|.

    ``weights`` has shape (p,), as :class:`milpscore.penalties.Binarsity` takes them: the weight of
    the jump *into* a column, that of a block's first column having no meaning; None is 1 each.

    References
    ----------
    Sokolovska, Chevaleyre & Zucker, fused-lasso scores, eq. 1. The print's constraint (4) puts
    lambda on the wrong side and would give (1/lambda) times the total variation.
    """

    lam: float
    blocks: tuple[tuple[int, ...], ...]
    weights: FloatArray | None = None
    name: str = "lam"

    def value(self, w: FloatArray | IntArray) -> float:
        """lam times the weighted total variation of a vector of shape (p,)."""
        left, right = self._neighbours
        jumps = np.abs(w[left] - w[right])
        total = jumps.sum() if self.weights is None else self.weights[right] @ jumps
        return float(self.lam) * float(total)

    @property
    def step(self) -> float:
        """What the least jump that counts costs; 0 where none does."""
        if self.weights is None:
            return float(self.lam)
        _, right = self._neighbours
        counting = self.weights[right][self.weights[right] > 0]
        return float(self.lam) * float(counting.min()) if len(counting) else 0.0

    @cached_property
    def _neighbours(self) -> tuple[IntArray, IntArray]:
        """Every bin that has a next one in its block, and that next one."""
        pairs = [pair for block in self.blocks for pair in pairwise(block)]
        positions = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return positions[:, 0], positions[:, 1]
