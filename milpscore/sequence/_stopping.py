"""The penalised objective, and the one rule by which every trainer says it is done."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.sequence._model import value_and_gradient
from milpscore.sequence._prepared import Prepared


class Status(StrEnum):
    """Why a trainer stopped."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration_limit"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    STALLED = "stalled"
    FLAT = "flat"

    @property
    def sentence(self) -> str:
        """What the member means."""
        return _SENTENCES[self]


_SENTENCES = {
    Status.CONVERGED: "The relative distance of 0 to the subdifferential fell to tol.",
    Status.ITERATION_LIMIT: "max_iterations were made; the distance is above tol.",
    Status.TIME_LIMIT: "The time limit was reached; the distance is above tol.",
    Status.INTERRUPTED: "Interrupted from the keyboard; this is the best model until then.",
    Status.STOPPED: "The callback asked to stop; this is the best model until then.",
    Status.STALLED: "No step lowers the objective any more in floating point.",
    Status.FLAT: "The last twenty epochs hardly lowered the objective; the distance is above tol. "
    "Another trainer (owlqn, sbcd) started from here goes on.",
}


def least_subgradient(theta: FloatArray, gradient: FloatArray, rho1: float) -> FloatArray:
    """The element of least norm of the subdifferential of smooth + rho1 |.|_1.

    The pseudo-gradient of Andrew & Gao (2007, eq. 4).

    Parameters
    ----------
    theta, gradient : ndarray of shape (n_parameters,)
        Where, and the gradient of the smooth part there.
    rho1 : float
    """
    if rho1 == 0.0:
        return gradient
    least: FloatArray = gradient - np.clip(gradient, -rho1, rho1)
    held = np.flatnonzero(theta != 0.0)  # of floats themselves it takes twice as long
    least[held] = gradient[held] + rho1 * np.sign(theta[held])
    return least


class Objective:
    """sum_i -log p(y_i | x_i) + rho1 |theta|_1 + rho2/2 |theta|_2^2 on one data set.

    Parameters
    ----------
    prepared : Prepared
    rho1, rho2 : float

    Attributes
    ----------
    evaluations : int
        Gradients computed so far.
    """

    def __init__(self, prepared: Prepared, rho1: float, rho2: float) -> None:
        self.prepared, self.rho1, self.rho2 = prepared, rho1, rho2
        self.evaluations = 0

    def smooth(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient of all but the L1 norm."""
        if not theta.any():
            return self._at_zero[0], self._at_zero[1].copy()
        return self._evaluated(theta)

    def penalised(self, theta: FloatArray, smooth_value: float) -> float:
        """The objective, from the value of its smooth part."""
        return smooth_value + self.rho1 * float(np.abs(theta).sum())

    def distance(self, theta: FloatArray, gradient: FloatArray) -> float:
        """Relative distance of 0 to the subdifferential at ``theta``.

        The norm of its least element, over the same at theta = 0. Where theta = 0 is optimal the
        unit is the norm of the gradient there.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        gradient : ndarray of shape (n_parameters,)
            Of the smooth part at ``theta``.
        """
        return self.relative(least_subgradient(theta, gradient, self.rho1))

    def relative(self, subgradient: FloatArray) -> float:
        """The same from the least subgradient."""
        return float(np.linalg.norm(subgradient)) / self._unit

    @cached_property
    def _at_zero(self) -> tuple[float, FloatArray]:
        return self._evaluated(self.prepared.layout.zeros())

    @cached_property
    def _unit(self) -> float:
        gradient = self._at_zero[1]
        least = gradient - np.clip(gradient, -self.rho1, self.rho1)
        unit = float(np.linalg.norm(least)) or float(np.linalg.norm(gradient))
        return unit or 1.0

    def _evaluated(self, theta: FloatArray) -> tuple[float, FloatArray]:
        self.evaluations += 1
        value, gradient = value_and_gradient(self.prepared, theta)
        if self.rho2:
            value += 0.5 * self.rho2 * float(theta @ theta)
            gradient += self.rho2 * theta
        return value, gradient
