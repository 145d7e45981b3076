"""The EYE penalty (expert yielded estimates): the lasso and a Euclidean norm in one norm."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.penalties._base import Norm, Vector, check_length, check_vector, prox_arguments
from milpscore.penalties._eye_prox import dual_norm, fractional_prox, prox_of_known


@dataclass(frozen=True, eq=False)
class EYE(Norm):
    """lam * (a + sqrt(a^2 + b^2)), a = ||(1 - r) * w||_1, b = ||r * w||_2, r = ``expert``.

    A norm that favours what the expert knows, and among that groups what is correlated; it is
    sparse in the rest. r = 0 everywhere gives 2 ||w||_1, r = 1 gives ||w||_2.

    Parameters
    ----------
    lam : float
        The mean loss's weight: the paper's n lambda belongs to a sum of losses.
    expert : array of shape (p,)
        r in [0, 1]: 1 marks a feature the expert knows to matter, 0 one of which nothing is known.

    Notes
    -----
    Errata of the paper's sec. 7.4: "Z != 0" is false (y = (.3, .4), r = (0, 1), mu = 1 has prox 0),
    and eqs 15-16 misplace the factor ||(1 - r) * theta||_1 / Z.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), eq. 2.
    """

    lam: float
    _: KW_ONLY
    expert: FloatArray
    name: ClassVar[str] = "eye"
    separable: ClassVar[bool] = False
    is_norm: ClassVar[bool] = True

    def _check(self) -> None:
        self._store("expert", check_vector("expert", self.expert, most=1.0))

    def value(self, w: Vector) -> float:
        """lam * Omega(w) of a vector of shape (p,), eq. 2."""
        a, z = self._parts(w)
        return self.lam * (a + z)

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The prox of step * penalty: monotone Newton for r in {0, 1}, else one root in Z.

        Parameters
        ----------
        w : ndarray of shape (p,)
        step : float
        out : ndarray, optional
            Where the answer goes; may be ``w``.

        Returns
        -------
        ndarray
        """
        check_length(w, len(self.expert), "expert")
        y, target = prox_arguments(w, step, out)
        mu = step * self.lam
        if mu == 0:
            target[...] = y
        elif self._binary:
            target[...] = prox_of_known(y, self.expert == 1, mu)
        else:
            target[...] = fractional_prox(y, self.expert, mu)
        return target

    def dual_norm(self, z: Vector) -> float:
        """The dual norm of Omega: the least mu for which the prox of mu Omega at z is 0."""
        check_length(z, len(self.expert), "expert")
        return dual_norm(np.asarray(z, dtype=np.float64), self.expert)

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Euclidean distance of -grad to the subdifferential at w.

        At w = 0 that is lam times the dual ball, and the distance is the norm of a prox. Elsewhere
        only coefficients at 0 leave a choice, each one its own interval.
        """
        a, z = self._parts(w)
        if z == 0:
            return float(np.linalg.norm(self.prox(-np.asarray(grad, dtype=np.float64), 1.0)))
        r = self.expert
        sparse = self.lam * (1 - r) * (1 + a / z)
        w = np.asarray(w, dtype=np.float64)
        at = np.abs(grad + sparse * np.sign(w) + self.lam * r * r * w / z)
        distance = np.where(w == 0, np.maximum(np.abs(grad) - sparse, 0.0), at)
        return float(np.linalg.norm(distance))

    @cached_property
    def _binary(self) -> bool:
        return bool(np.isin(self.expert, (0.0, 1.0)).all())

    def _parts(self, w: Vector) -> tuple[float, float]:
        """A = ||(1 - r) * w||_1 and sqrt(a^2 + b^2)."""
        check_length(w, len(self.expert), "expert")
        a = float(((1 - self.expert) * np.abs(w)).sum())
        return a, float(np.hypot(a, np.linalg.norm(self.expert * w)))
