"""The penalties that are sums of one function of each coefficient.

Each class states its form for a weight lam; all else follows from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.penalties._base import check_number, check_vector
from milpscore.penalties.ramps import Ramps, Separable

_ONE = np.ones(1)


@dataclass(frozen=True)
class L1(Separable):
    """lam * sum |w_j|, the lasso.

    Its name is the argument that carries its weight in the integer programs.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1.
    """

    lam: float
    name: ClassVar[str] = "l1_penalty"

    def form(self, lam: float) -> Ramps:
        """Weight lam."""
        return Ramps(lam, 0.0, _ONE)


@dataclass(frozen=True)
class L2(Separable):
    """lam * ||w||_2^2 / 2, ridge. No finite lam sets a coefficient to zero.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1.
    """

    lam: float
    name: ClassVar[str] = "l2"

    def form(self, lam: float) -> Ramps:
        """Ridge lam."""
        return Ramps(0.0, lam, _ONE)


@dataclass(frozen=True)
class ElasticNet(Separable):
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

    def form(self, lam: float) -> Ramps:
        """Weight and ridge by the ratio."""
        return Ramps(lam * self.l1_ratio, lam * (1.0 - self.l1_ratio), _ONE)


@dataclass(frozen=True, eq=False)
class WeightedL1(Separable):
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

    def form(self, lam: float) -> Ramps:
        """Weights lam weights_j."""
        return Ramps(lam * self.weights, 0.0, _ONE)


@dataclass(frozen=True, eq=False)
class WeightedL2(Separable):
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

    def form(self, lam: float) -> Ramps:
        """Ridges lam weights_j^2."""
        return Ramps(0.0, lam * self.weights**2, _ONE)


@dataclass(frozen=True, eq=False)
class AdaptiveL1(Separable):
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

    def form(self, lam: float) -> Ramps:
        """Weights lam / |initial_j|, infinite whatever lam where that is not finite."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            weight = 1.0 / np.abs(self.initial)
            return Ramps(np.where(np.isinf(weight), np.inf, lam * weight), 0.0, _ONE)


@dataclass(frozen=True, eq=False)
class NaiveCredibility(Separable):
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

    def form(self, lam: float) -> Ramps:
        """Weights on what is unknown, ridges on what the expert knows."""
        weight = 2 * self.beta * (1 - self.expert)
        return Ramps(lam * weight, lam * (2 * (1 - self.beta) * self.expert**2), _ONE)


@dataclass(frozen=True)
class Facets(Separable):
    """lam * sum_j f(w_j / gamma) with f(w) = sum_{i >= 0} max(0, |w| - i).

    Parameters
    ----------
    lam : float
    gamma : float
        The unit of the coefficient grid: integers where gamma = 1.

    Notes
    -----
    Errata of the paper: eq. 3 holds for |w|; Proposition 2 names the envelope of w^2 on the
    integers, but Facets is the envelope of (w^2 + |w|) / 2; hence "Facets >= ||w||^2" in sec. 4.1
    holds for ||w||^2 / 2 only; eq. 11 lacks lambda; eq. 12 misses the integers by rounding at the
    edges of its plateaus.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020): Def. 1, eqs 2, 3, 12 and 16.
    """

    lam: float
    gamma: float = 1.0
    name: ClassVar[str] = "facets"

    def _check(self) -> None:
        check_number("gamma", self.gamma, least=0.0, strict=True)

    def form(self, lam: float) -> Ramps:
        """Slopes 1, 2, 3, ..."""
        return Ramps(lam / self.gamma, 0.0, _ONE, 1.0, self.gamma)


@dataclass(frozen=True)
class AlphaFacets(Separable):
    """lam * sum_j f(w_j / gamma) with f(w) = sum_i alpha_i max(0, |w| - i), alpha_i > 0.

    Parameters
    ----------
    lam : float
    alpha : sequence of float
        alpha_0, alpha_1, ...; the last one repeats without end. (1,) is Facets; (1, 2) is the
        convex envelope of w^2 on the integers.
    gamma : float
        The unit of the coefficient grid.

    Notes
    -----
    Erratum: Def. 1 asks for positive integers; positive reals suffice.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020), Def. 1 and Proposition 3.
    """

    lam: float
    _: KW_ONLY
    alpha: Sequence[float]
    gamma: float = 1.0
    name: ClassVar[str] = "alpha_facets"

    def _check(self) -> None:
        check_number("gamma", self.gamma, least=0.0, strict=True)
        alpha = check_vector("alpha", self.alpha)
        if not alpha.all():
            raise OptionError("every entry of alpha must be > 0: drop the zeros or use Facets")
        self._store("alpha", tuple(alpha.tolist()))

    def form(self, lam: float) -> Ramps:
        """Slopes alpha_0, alpha_0 + alpha_1, ..."""
        return Ramps(lam / self.gamma, 0.0, np.cumsum(self.alpha), self.alpha[-1], self.gamma)


@dataclass(frozen=True)
class StronglyConvexFacets(Separable):
    """lam * sum_j f(w_j / gamma) with f = (1 - eps) Facets + eps (|w| + w^2 / 2).

    Parameters
    ----------
    lam : float
    eps : float
        In (0, 1]; f is eps-strongly convex, so that the minimiser is unique. 0 would be Facets.
    gamma : float
        The unit of the coefficient grid.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020), eqs 13-16.
    """

    lam: float
    _: KW_ONLY
    eps: float = 0.01
    gamma: float = 1.0
    name: ClassVar[str] = "scf"

    def _check(self) -> None:
        check_number("eps", self.eps, least=0.0, most=1.0, strict=True)
        check_number("gamma", self.gamma, least=0.0, strict=True)

    def form(self, lam: float) -> Ramps:
        """Slopes 1, 1 + (1 - eps), ..., and a ridge."""
        weight = lam / self.gamma
        return Ramps(weight, weight * self.eps / self.gamma, _ONE, 1.0 - self.eps, self.gamma)
