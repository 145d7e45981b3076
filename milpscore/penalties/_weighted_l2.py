"""Ridge with a weight for every feature."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from milpscore.core.design import FloatArray
from milpscore.penalties._absolute_quadratic import AbsoluteQuadratic
from milpscore.penalties._base import check_vector


@dataclass(frozen=True, eq=False)
class WeightedL2(AbsoluteQuadratic):
    """lam * sum_j (weights_j w_j)^2 / 2, weights >= 0 of shape (p,).

    The weight stands inside the square, as in the source: a weight of 2 counts four times.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1 (weighted ridge).
    """

    lam: float
    _: KW_ONLY
    weights: FloatArray
    name: ClassVar[str] = "weighted_l2"

    def _check(self) -> None:
        self._store("weights", check_vector("weights", self.weights))

    def _factors(self) -> tuple[float, FloatArray]:
        return 0.0, self.weights**2
