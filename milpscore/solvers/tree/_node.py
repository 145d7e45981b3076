"""A node: what is decided, where each coefficient may lie, and the last line below the loss."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from milpscore.core.design import FloatArray, IntArray
from milpscore.solvers.tree._problem import Point

IN, OPEN, OUT = 1, 0, -1
"""What a node's ``status`` says of a feature; one in may still have 0 points."""


@dataclass(slots=True, eq=False)
class Node:
    """Decisions, box, bound, and what its children start from.

    The line says: every card (v, b) has loss + (a penalty that is no sum) >= ``constant`` +
    ``slope``.v + ``slope_b`` b, everywhere and not only in this node. ``lo`` and ``hi`` are
    positions among the choices, ``primal`` is the relaxation's value at (w, b), ``mu`` the
    multiplier of the limit on terms, and ``points`` where lines were drawn for this node.
    """

    status: NDArray[np.int8]
    lo: IntArray
    hi: IntArray
    b_lo: float
    b_hi: float
    bound: float
    w: FloatArray
    b: float
    mu: float
    constant: float
    slope: FloatArray
    slope_b: float
    primal: float
    key: int = 0
    points: list[Point] = field(default_factory=list)

    def child(self) -> Node:
        """A copy to decide something more in; the line is shared, never written to."""
        return Node(
            status=self.status.copy(),
            lo=self.lo.copy(),
            hi=self.hi.copy(),
            b_lo=self.b_lo,
            b_hi=self.b_hi,
            bound=self.bound,
            w=self.w.copy(),
            b=self.b,
            mu=self.mu,
            constant=self.constant,
            slope=self.slope,
            slope_b=self.slope_b,
            primal=self.primal,
        )
