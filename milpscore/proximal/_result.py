"""What a proximal fit answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from milpscore.core.design import FloatArray

GAP_FLOOR = 1e-12


class Stop(Enum):
    """Why an algorithm stopped."""

    GAP_REACHED = "gap_reached"
    DISTANCE_REACHED = "distance_reached"
    STALLED = "stalled"
    ITERATION_LIMIT = "iteration_limit"

    @property
    def sentence(self) -> str:
        """What the member means."""
        return _SENTENCES[self]

    def __str__(self) -> str:
        return str(self.value)


_SENTENCES = {
    Stop.GAP_REACHED: "The duality gap fell below tol: the objective is that close to the optimum.",
    Stop.DISTANCE_REACHED: (
        "Minus the gradient lies within tol of the subdifferential; the penalty's conjugate is not"
        " finite there, so no duality gap can be that small."
    ),
    Stop.STALLED: "No step lowers the objective any more in floating point; the gap is above tol.",
    Stop.ITERATION_LIMIT: "max_iter iterations were made; the gap is above tol.",
}


@dataclass(frozen=True)
class ProximalPoint:
    """One look at a fit: iterations so far, seconds, objective, relative duality gap."""

    iteration: int
    seconds: float
    objective: float
    gap: float


@dataclass(frozen=True, eq=False)
class ProximalResult:
    """A fitted penalised linear model with its certificate.

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
    termination : Stop
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
    termination: Stop
    algorithm: str
    seconds: float
    step: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether ``tol`` was reached, by the gap or by the distance."""
        return self.termination in {Stop.GAP_REACHED, Stop.DISTANCE_REACHED}

    def summary(self) -> str:
        """One line: objective, gap, iterations, why it stopped."""
        return (
            f"objective {self.objective:.6g} (loss {self.loss:.6g}, penalty {self.penalty:.6g}),"
            f" gap {self.gap:.1e}, {self.iterations} iterations of {self.algorithm} in"
            f" {self.seconds:.3g} s. {self.termination.sentence}"
        )


def relative(primal: float, dual: float) -> float:
    """(primal - dual) / max(|primal|, 1e-12); rounding below zero is 0."""
    gap = (primal - dual) / max(abs(primal), GAP_FLOOR)
    return 0.0 if -1e-13 <= gap < 0.0 else gap
