"""Half the squared Euclidean norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from milpscore.penalties._absolute_quadratic import AbsoluteQuadratic


@dataclass(frozen=True)
class L2(AbsoluteQuadratic):
    """lam * ||w||_2^2 / 2, ridge. No finite lam sets a coefficient to zero.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1.
    """

    lam: float
    name: ClassVar[str] = "l2"

    def _factors(self) -> tuple[float, float]:
        return 0.0, 1.0
