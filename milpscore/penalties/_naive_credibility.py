"""The naive credibility penalty: ridge on what the expert knows, the lasso on the rest."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from milpscore.core.design import FloatArray
from milpscore.penalties._absolute_quadratic import AbsoluteQuadratic
from milpscore.penalties._base import check_number, check_vector


@dataclass(frozen=True, eq=False)
class NaiveCredibility(AbsoluteQuadratic):
    """lam * ((1 - beta) ||r * w||_2^2 + 2 beta ||(1 - r) * w||_1), r = ``expert``.

    It is not homogeneous: which features it favours changes with lam, the fault that EYE cures.

    Parameters
    ----------
    lam : float
    expert : array of shape (p,)
        r in [0, 1]: 1 marks a feature the expert knows to matter.
    beta : float
        In [0, 1].

    References
    ----------
    Wang et al., "Learning credible models" (2018), sec. 3.2, the penalty q.
    """

    lam: float
    _: KW_ONLY
    expert: FloatArray
    beta: float
    name: ClassVar[str] = "naive_credibility"

    def _check(self) -> None:
        check_number("beta", self.beta, least=0.0, most=1.0)
        self._store("expert", check_vector("expert", self.expert, most=1.0))

    def _factors(self) -> tuple[FloatArray, FloatArray]:
        absolute = 2 * self.beta * (1 - self.expert)
        return absolute, 2 * (1 - self.beta) * self.expert**2
