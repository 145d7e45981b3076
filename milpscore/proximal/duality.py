"""How near a point is to the optimum, and what a fit answers.

A dual bound lies below every objective; a run looks at it from time to time to decide when to stop.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.result import Termination
from milpscore.core.statement import ProxPenalty
from milpscore.proximal.problem import Primal, Smooth

GAP_FLOOR = 1e-12
# a dual point shrunk below this share proves nothing about a point that may be optimal all the same
_SHRUNK = 0.9


@dataclass(frozen=True, eq=False)
class DualityGap:
    """A point with what duality proves about it under one penalty.

    ``dual`` lies below every objective; ``scale`` in [0, 1] is how far the dual point was shrunk
    into the conjugate's domain; ``distance`` that of minus the gradient to the subdifferential, by
    coefficient or a single number.
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
        """(objective - dual) / max(|objective|, 1e-12); rounding below zero is 0."""
        gap = (self.objective - self.dual) / max(abs(self.objective), GAP_FLOOR)
        return 0.0 if -1e-13 <= gap < 0.0 else gap

    @property
    def worst(self) -> float:
        """The largest distance."""
        return float(np.max(self.distance, initial=0.0))


def duality_gap(
    smooth: Smooth, penalty: ProxPenalty, at: Primal, best_dual: float = -np.inf
) -> DualityGap:
    """Bound the optimum from below by Fenchel duality; a better bound known already is kept.

    With u_i = loss'(z_i) and g = X'(weight u), for every t in [0, 1]

        min over w, b of the objective >= -sum_i weight_i loss*(t u_i) - penalty*(-t g),

    because the weighted sum of u is zero (the intercept is free and at its best). t is 1, or the
    largest factor that keeps -t g in the domain of the penalty's conjugate; every loss's conjugate
    is finite at 0 and has a convex domain, so t u stays in that.
    """
    scale = float(penalty.dual_scale(-at.gradient))
    conjugate = float(penalty.conjugate(-scale * at.gradient))
    finite = conjugate < np.inf
    dual = smooth.dual(at.u if scale == 1.0 else scale * at.u) - conjugate if finite else -np.inf
    return DualityGap(
        at=at,
        penalty=float(penalty.value(at.w)),
        dual=max(dual, best_dual),
        scale=scale if finite else 0.0,
        distance=np.asarray(penalty.subdiff_distance(at.w, at.gradient), dtype=np.float64),
    )


@dataclass(frozen=True)
class ProximalPoint:
    """One look at a fit: iterations so far, seconds, objective, relative duality gap."""

    iteration: int
    seconds: float
    objective: float
    gap: float


@dataclass(frozen=True, eq=False)
class ProximalResult:
    """A fitted penalised linear model and how near to optimal it is.

    Attributes
    ----------
    coefficients : ndarray of shape (p,), or (p, K) for the multinomial loss
    intercept : float, or ndarray of shape (K,)
    objective, loss, penalty : float
        Weighted mean loss plus penalty.
    dual_objective : float
        No coefficients have a smaller objective than this.
    gap : float
        (objective - dual_objective) / max(|objective|, 1e-12).
    distance : float
        Largest entry of the distance of minus the gradient to the penalty's subdifferential.
    trace : tuple of ProximalPoint
    iterations : int
        Newton steps of "working_set" and "newton", proximal steps of the others.
    termination : Termination
        GAP_REACHED; CONVERGED, where the penalty's conjugate is not finite so that no gap can
        become small, but the distance is; STALLED; or ITERATION_LIMIT.
    algorithm : str
        "working_set", "newton", "fista" or "ista".
    seconds : float
    step : float
        The last step length of FISTA and ISTA, 0 else; a warm start takes it up.
    """

    coefficients: FloatArray
    intercept: float | FloatArray
    objective: float
    loss: float
    penalty: float
    dual_objective: float
    gap: float
    distance: float
    trace: tuple[ProximalPoint, ...]
    iterations: int
    termination: Termination
    algorithm: str
    seconds: float
    step: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether ``tol`` was reached, by the gap or by the distance."""
        return self.termination in {Termination.GAP_REACHED, Termination.CONVERGED}

    def summary(self) -> str:
        """One line: objective, gap, iterations, why it stopped."""
        return (
            f"objective {self.objective:.6g} (loss {self.loss:.6g}, penalty {self.penalty:.6g}),"
            f" gap {self.gap:.1e}, {self.iterations} iterations of {self.algorithm} in"
            f" {self.seconds:.3g} s. {self.termination.sentence}"
        )


@dataclass(eq=False)
class Run:
    """One run of an algorithm: its clock, its trace, and whether a point is good enough.

    ``tol`` is the relative gap wanted; distances are measured in units of the sup norm of the
    gradient at w = 0. ``iterations`` are those done at the last look.
    """

    smooth: Smooth
    penalty: ProxPenalty
    algorithm: str
    tol: float
    started: float = field(default_factory=time.perf_counter)
    trace: list[ProximalPoint] = field(default_factory=list)
    iterations: int = 0
    step: float = 0.0
    stop: Termination | None = None
    point: DualityGap | None = None

    def look(self, iteration: int, at: Primal) -> DualityGap:
        """Bound the gap at a point and note it; ``stop`` says whether the point is good enough."""
        best = -np.inf if self.point is None else self.point.dual
        point = self.point = duality_gap(self.smooth, self.penalty, at, best)
        self.iterations = iteration
        seconds = time.perf_counter() - self.started
        self.trace.append(ProximalPoint(iteration, seconds, point.objective, point.gap))
        if point.gap <= self.tol:
            self.stop = Termination.GAP_REACHED
        # Where the penalty leaves a direction free its conjugate is finite on a thin set, which a
        # gradient in floating point misses: the dual point shrinks to nothing however good w is.
        elif point.scale < _SHRUNK and point.worst <= self.tol * self._unit:
            self.stop = Termination.CONVERGED
        return point

    @property
    def _unit(self) -> float:
        """The sup norm of the gradient at w = 0."""
        return max(float(np.abs(self.smooth.null.gradient).max(initial=0.0)), GAP_FLOOR)

    def result(self) -> ProximalResult:
        """The answer at the last point looked at, in the user's shapes."""
        assert self.point is not None
        at = self.point.at
        return ProximalResult(
            coefficients=at.w,
            intercept=float(at.b) if at.b.ndim == 0 else at.b,
            objective=self.point.objective,
            loss=at.loss,
            penalty=self.point.penalty,
            dual_objective=self.point.dual,
            gap=self.point.gap,
            distance=self.point.worst,
            trace=tuple(self.trace),
            iterations=self.iterations,
            termination=self.stop or Termination.ITERATION_LIMIT,
            algorithm=self.algorithm,
            seconds=time.perf_counter() - self.started,
            step=self.step,
        )
