"""The lasso weighted by the inverse of a first estimate."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.penalties._absolute_quadratic import AbsoluteQuadratic
from milpscore.penalties._base import check_vector


@dataclass(frozen=True, eq=False)
class AdaptiveL1(AbsoluteQuadratic):
    """lam * sum_j |w_j| / |initial_j|, the adaptive lasso.

    ``initial`` of shape (p,) holds the coefficients of a first fit. A coefficient that was zero
    there has an infinite weight and stays zero at every lam.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1, after Zou, "The adaptive lasso and its
    oracle properties" (2006), with exponent 1.
    """

    lam: float
    _: KW_ONLY
    initial: FloatArray
    name: ClassVar[str] = "adaptive_l1"

    def _check(self) -> None:
        self._store("initial", check_vector("initial", self.initial, least=-np.inf))

    def _factors(self) -> tuple[FloatArray, float]:
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / np.abs(self.initial), 0.0
