"""What the algorithms share: the clock, the trace, and the question whether to stop."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from milpscore.proximal._certificate import Certificate
from milpscore.proximal._problem import Smooth
from milpscore.proximal._result import ProximalPoint, ProximalResult, Stop

_SHRUNK = 0.9


@dataclass(eq=False)
class Run:
    """One run of an algorithm on one problem.

    Attributes
    ----------
    tol : float
        Relative gap wanted.
    scale : float
        Sup norm of the gradient at w = 0, the unit of distances.
    """

    algorithm: str
    tol: float
    scale: float
    started: float = field(default_factory=time.perf_counter)
    trace: list[ProximalPoint] = field(default_factory=list)
    iterations: int = 0
    stop: Stop = Stop.ITERATION_LIMIT
    step: float = 0.0

    def look(self, iteration: int, point: Certificate) -> Stop | None:
        """Note the point; say whether it is good enough."""
        self.trace.append(
            ProximalPoint(iteration, time.perf_counter() - self.started, point.objective, point.gap)
        )
        if point.gap <= self.tol:
            return Stop.GAP_REACHED
        # Where the penalty leaves a direction free its conjugate is finite on a thin set, which a
        # gradient in floating point misses: the dual point shrinks to nothing however good w is.
        if point.scale < _SHRUNK and point.worst <= self.tol * self.scale:
            return Stop.DISTANCE_REACHED
        return None

    def end(self, iterations: int, stop: Stop, step: float = 0.0) -> Run:
        """Note how the run ended."""
        self.iterations, self.stop, self.step = iterations, stop, step
        return self

    def result(self, point: Certificate) -> ProximalResult:
        """The answer, in the user's shapes."""
        b = point.at.b
        return ProximalResult(
            coefficients=point.at.w,
            intercept=float(b) if b.ndim == 0 else b,
            objective=point.objective,
            loss=point.at.loss,
            penalty=point.penalty,
            dual_objective=point.dual,
            gap=point.gap,
            distance=point.worst,
            trace=tuple(self.trace),
            iterations=self.iterations,
            termination=self.stop,
            algorithm=self.algorithm,
            seconds=time.perf_counter() - self.started,
            step=self.step,
        )


def start_run(smooth: Smooth, algorithm: str, tol: float) -> Run:
    """A run with its clock started."""
    started = time.perf_counter()
    scale = float(np.abs(smooth.null.gradient).max(initial=0.0))
    return Run(algorithm, tol, max(scale, 1e-12), started)
