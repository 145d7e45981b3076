"""The sum of absolute coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from milpscore.penalties._absolute_quadratic import AbsoluteQuadratic


@dataclass(frozen=True)
class L1(AbsoluteQuadratic):
    """lam * sum |w_j|, the lasso.

    Its name is the argument that carries its weight in the integer programs.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1.
    """

    lam: float
    name: ClassVar[str] = "l1_penalty"

    def _factors(self) -> tuple[float, float]:
        return 1.0, 0.0
