"""A blend of the lasso and ridge."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from milpscore.penalties._absolute_quadratic import AbsoluteQuadratic
from milpscore.penalties._base import check_number


@dataclass(frozen=True)
class ElasticNet(AbsoluteQuadratic):
    """lam * (l1_ratio ||w||_1 + (1 - l1_ratio) ||w||_2^2 / 2), l1_ratio in [0, 1].

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1, whose beta is ``l1_ratio``.
    """

    lam: float
    _: KW_ONLY
    l1_ratio: float
    name: ClassVar[str] = "elastic_net"

    def _check(self) -> None:
        check_number("l1_ratio", self.l1_ratio, least=0.0, most=1.0)

    def _factors(self) -> tuple[float, float]:
        return self.l1_ratio, 1.0 - self.l1_ratio
