"""A convex penalty of an integer card, under the argument name ``lam``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.terms import ProxPenalty


@dataclass(frozen=True)
class PointPenalty:
    """lam * Omega(w) at whole points, Omega one of the proximal path's penalties.

    Parameters
    ----------
    lam : float
    make : lam -> ProxPenalty
        ``L1``, ``L2``, or EYE of an expert's marks.
    """

    lam: float
    make: Callable[[float], ProxPenalty]
    name: str = "lam"

    @cached_property
    def base(self) -> ProxPenalty:
        """The penalty itself, its weight included."""
        return self.make(self.lam)

    def value(self, w: FloatArray | IntArray) -> float:
        """lam * Omega(w)."""
        return float(self.base.value(w))
