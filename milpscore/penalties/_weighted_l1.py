"""The lasso with a weight for every feature."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from milpscore.core.design import FloatArray
from milpscore.penalties._absolute_quadratic import AbsoluteQuadratic
from milpscore.penalties._base import check_vector


@dataclass(frozen=True, eq=False)
class WeightedL1(AbsoluteQuadratic):
    """lam * sum_j weights_j |w_j|, weights >= 0 of shape (p,); a weight of 0 frees its feature.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1 (weighted LASSO).
    """

    lam: float
    _: KW_ONLY
    weights: FloatArray
    name: ClassVar[str] = "weighted_l1"

    def _check(self) -> None:
        self._store("weights", check_vector("weights", self.weights))

    def _factors(self) -> tuple[FloatArray, float]:
        return self.weights, 0.0
