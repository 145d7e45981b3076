"""Penalties of whole points, as the integer programs charge them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import ProxPenalty
from milpscore.penalties.ramps import L1, Facets, WeightedL1


@dataclass(frozen=True)
class L0:
    """lam * (number of nonzero coefficients)."""

    lam: float
    name: ClassVar[str] = "l0_penalty"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", float(self.lam))  # NumPy refuses whole numbers of any size

    def value(self, w: FloatArray | IntArray) -> float:
        """Return lam * ||w||_0 of a vector of shape (p,)."""
        return self.lam * int(np.count_nonzero(w))


@dataclass(frozen=True)
class IntegerFacets(Facets):
    """lam * (||k||_2^2 + ||k||_1) / 2 of whole points k; on real ones its convex envelope."""

    # Facets on the grid of the whole numbers equals it at every whole k, exactly up to the product
    # with lam: every sum of halves of k (k + 1) below 2^53 is. Belahcene, Sokolovska, Chevaleyre &
    # Zucker (2020), Proposition 2, whose erratum Facets notes.

    gamma: float = field(default=1.0, init=False)
    name: ClassVar[str] = "lam"


@dataclass(frozen=True)
class PointPenalty:
    """lam * Omega(w) at whole points, Omega one of the proximal path's penalties."""

    lam: float
    make: Callable[[float], ProxPenalty]  # L1, WeightedL1, L2, or EYE with its expert's marks
    name: ClassVar[str] = "lam"

    @cached_property
    def base(self) -> ProxPenalty:
        """The penalty, its weight included."""
        return self.make(self.lam)

    def value(self, w: FloatArray | IntArray) -> float:
        """Return lam * Omega(w)."""
        return float(self.base.value(w))


def point_prices(term: Any, p: int) -> FloatArray | None:
    """Return what a point of each column costs, (p,), under (weighted) L1; None under others."""
    base = getattr(term, "base", term)
    sums = isinstance(base, L1 | WeightedL1)
    return np.full(p, float(base.lam)) * getattr(base, "weights", 1.0) if sums else None


def neighbours(blocks: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Return every bin that has a next one in its block, and that next one."""
    pairs = [pair for block in blocks for pair in pairwise(block)]
    positions = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return positions[:, 0], positions[:, 1]


@dataclass(frozen=True, eq=False)
class BlockTV:
    """lam * sum over blocks of sum_j weights_{j+1} |w_j - w_{j+1}|."""

    # Sokolovska, Chevaleyre & Zucker, fused-lasso scores, eq. 1. The print's constraint (4) puts
    # lambda on the wrong side and would give (1/lambda) times the total variation.
    lam: float
    blocks: tuple[tuple[int, ...], ...]
    weights: FloatArray | None = None  # (p,), of the jump into a column, as Binarsity takes them
    name: ClassVar[str] = "lam"

    def value(self, w: FloatArray | IntArray) -> float:
        """Return lam times the weighted total variation of a vector of shape (p,)."""
        left, right = self._neighbours
        jumps = np.abs(w[left] - w[right])
        total = jumps.sum() if self.weights is None else self.weights[right] @ jumps
        return float(self.lam) * float(total)

    @cached_property
    def _neighbours(self) -> tuple[IntArray, IntArray]:
        return neighbours(self.blocks)
