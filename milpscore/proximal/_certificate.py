"""The certificate of a point: its objective, a dual bound below every objective, the distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import ProxPenalty
from milpscore.proximal._problem import Primal, Smooth
from milpscore.proximal._result import relative


@dataclass(frozen=True, eq=False)
class Certificate:
    """A point with what it proves about one penalty.

    Attributes
    ----------
    at : Primal
    penalty, dual : float
    scale : float
        How far the dual point had to be shrunk into the conjugate's domain; 1: not at all.
    distance : ndarray
        Of minus the gradient to the subdifferential, by coefficient or a single number.
    """

    at: Primal
    penalty: float
    dual: float
    scale: float
    distance: FloatArray

    @property
    def objective(self) -> float:
        """Mean loss plus penalty."""
        return self.at.loss + self.penalty

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative(self.objective, self.dual)

    @property
    def worst(self) -> float:
        """The largest distance."""
        return float(np.max(self.distance, initial=0.0))


def certify(
    smooth: Smooth, penalty: ProxPenalty, at: Primal, best_dual: float = -np.inf
) -> Certificate:
    """Bound the optimum from below by Fenchel duality.

    With u_i = loss'(z_i) and g = X'(weight u), for every t in [0, 1]

        min over w, b of the objective >= -sum_i weight_i loss*(t u_i) - penalty*(-t g),

    because the weighted sum of u is zero (the intercept is free and at its best). t is 1, or the
    largest factor that keeps -t g in the domain of the penalty's conjugate; every loss's conjugate
    is finite at 0 and has a convex domain, so t u stays in that.

    Parameters
    ----------
    smooth : Smooth
    penalty : ProxPenalty
    at : Primal
    best_dual : float
        A bound known already; the better one is kept.

    Returns
    -------
    Certificate
    """
    scale = float(penalty.dual_scale(-at.gradient))
    conjugate = float(penalty.conjugate(-scale * at.gradient))
    finite = conjugate < np.inf
    dual = smooth.dual(at.u if scale == 1.0 else scale * at.u) - conjugate if finite else -np.inf
    return Certificate(
        at=at,
        penalty=float(penalty.value(at.w)),
        dual=max(dual, best_dual),
        scale=scale if finite else 0.0,
        distance=np.asarray(penalty.subdiff_distance(at.w, at.gradient), dtype=np.float64),
    )
