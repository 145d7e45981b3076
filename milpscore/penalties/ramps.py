r"""Every even penalty that is a sum over the coefficients, in one form, and what penalties share.

.. math:: \Omega(w) = \sum_j a_j \phi(|w_j|) + c_j w_j^2 / 2

where phi is convex and piecewise linear with kinks at the multiples of a unit gamma: its slope on
piece k, between k gamma and (k + 1) gamma, is A_k. The lasso has one slope, Facets the slopes
1, 2, 3, ...; value, prox, conjugate and subdifferential are each written once, for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.penalties import checks
from milpscore.penalties.checks import Vector

EPS = float(np.finfo(np.float64).eps)
# a dual point on the border of a domain is computed to a few units in the last place
ROUNDING = 1e-12


class Term:
    """Base of the penalties: checks ``lam``; core.statement.ProxPenalty explains the methods."""

    separable: ClassVar[bool] = False
    is_norm: Any = False

    def __post_init__(self) -> None:
        """Check lam, then the other fields."""
        lam = checks.number("lam", self.lam, least=0.0)  # type: ignore[attr-defined]
        if "lam" in vars(self):  # of some penalties it is fixed
            self._store("lam", lam)
        self._check()

    def _check(self) -> None:
        """Check and normalise the fields beyond lam."""

    def _store(self, name: str, value: Any) -> None:
        """Set a frozen field to its normalised value."""
        if name not in [field.name for field in fields(self)]:  # type: ignore[arg-type]
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        object.__setattr__(self, name, value)


def shrink(limit: float, size: float) -> float:
    """Return min(1, limit / size), a hair less below 1: the scaled point is surely inside."""
    return 1.0 if size <= limit else limit / size * (1 - 4 * EPS)


def per_feature(values: FloatArray, w: Vector) -> FloatArray:
    """Return ``values`` (p,) shaped to multiply w of shape (p,) or (p, K)."""
    return values.reshape((-1, *(1,) * (np.ndim(w) - 1)))


_HUGE = 1e300  # stands for infinity where a product with zero must be zero


@dataclass(frozen=True, eq=False)
class Ramps:
    """sum_j weight_j phi(|w_j|) + ridge_j w_j^2 / 2, in the notation of the module."""

    weight: Any  # a number or (p,), not negative; infinite: the coefficient is held at zero
    ridge: Any  # a number or (p,), not negative
    slopes: FloatArray  # A_0, ..., A_{m-1}, m >= 1, not decreasing
    growth: float = 0.0  # slopes beyond the table rise by it at every kink; 0: no kinks (lasso)
    gamma: float = 1.0  # positive and finite

    @cached_property
    def _lasso(self) -> bool:
        """Whether the only kink is at zero, without a square."""
        return len(self.slopes) == 1 and not self.growth and not np.any(self.ridge)

    @cached_property
    def _finite(self) -> bool:
        """Whether no infinite weight holds a coefficient at zero."""
        return bool(np.isfinite(self.weight).all())

    @property
    def for_kernels(self) -> tuple[Any, Any, tuple[FloatArray, float, float]]:
        """The penalty as kernels read it: one type per entry, or they compile again."""
        return self.weight, self.ridge, (self.slopes, float(self.growth), float(self.gamma))

    def wide(self, p: int) -> Ramps:
        """Return the penalty with one finite weight and ridge per coefficient of p."""
        weight, ridge = np.full(p, self.weight), np.full(p, self.ridge)
        return replace(self, weight=np.minimum(weight, _HUGE, out=weight), ridge=ridge)

    def some(self, index: IntArray) -> Ramps:
        """Return the penalty of some of the coefficients."""
        return replace(self, weight=self.weight[index], ridge=self.ridge[index])

    def value(self, w: Vector) -> float:
        """Return the penalty of w, (p,) or (p, K); exact sums at whole multiples of gamma."""
        size = np.abs(w)
        if self._lasso and self._finite and size.ndim == 1:
            weighted = self.shaped(self.weight, w) * size
            return float(self.slopes[0] * weighted.sum())
        phi = self._phi(size)
        weight, ridge = self.shaped(self.weight, w), self.shaped(self.ridge, w)
        if isinstance(weight, np.ndarray):
            with np.errstate(invalid="ignore"):
                total = (weight * phi).sum()
            if np.isnan(total):  # infinity times a coefficient of zero must be zero
                total = np.multiply(weight, phi, out=np.zeros(size.shape), where=phi != 0).sum()
        else:
            total = weight * phi.sum()
        if isinstance(ridge, np.ndarray) or ridge:
            total += 0.5 * (ridge * size * size).sum()
        return float(total)

    def _phi(self, size: Any) -> FloatArray:
        """Return phi at sizes >= 0."""
        total = self.slopes[0] * size
        for k in range(1, len(self.slopes)):
            rise = self.slopes[k] - self.slopes[k - 1]
            total = total + rise * np.maximum(size - k * self.gamma, 0.0)
        if self.growth:
            # kinks m, m + 1, ...: with r = size / gamma - (m - 1) and k = floor(r) they add
            # sum_{i = 1..k} (r - i) = k (r - (k + 1) / 2)
            r = size / self.gamma
            if len(self.slopes) > 1:
                r = np.maximum(r - (len(self.slopes) - 1), 0.0)
            k = np.floor(r)
            series = k * (r - 0.5 * (k + 1.0))
            total = total + (self.growth * self.gamma) * series
        return np.asarray(total)

    def prox(self, y: FloatArray, step: float, out: FloatArray) -> None:
        """Write the prox of step > 0 times the penalty at C-contiguous y (n,) into ``out``."""
        straight = len(self.slopes) == 1 and self.growth == 0
        weight = _line(self.weight * self.slopes[0] if straight else self.weight)
        # microseconds of NumPy, to the same values, where loading a kernel takes half a second
        if straight and y.size <= 4096:
            clipped = np.minimum(np.maximum(y, -step * weight), step * weight)
            np.divide(y - clipped, 1.0 + step * _line(self.ridge), out=out)
            return
        from milpscore.penalties import kernels

        if straight:
            kernels.soft(y, out, float(step), weight, _line(self.ridge))
        elif len(self.slopes) == 1 and np.ndim(self.weight) == np.ndim(self.ridge) == 0:
            # plateaus are found by one division; the general kernel walks through the table
            push = min(step * self.weight * self.slopes[0] / self.gamma, _HUGE)
            bend = 1.0 + step * self.ridge
            pitch = bend + push * (self.growth / self.slopes[0])
            kernels.grid(y, out, float(self.gamma), float(push), float(pitch), float(bend))
        else:
            kernels.ramps(y, out, float(step), weight, _line(self.ridge), self.for_kernels[2])

    def conjugate(self, z: Vector) -> float:
        """Return the sum over j of sup over x of z_j x - weight_j phi(|x|) - ridge_j x^2 / 2."""
        # The maximiser stands still while |z_j| crosses a kink and rises with slope 1 / ridge_j, by
        # gamma, on each piece: rise k begins at B_k = weight A_k + ridge k gamma, and the conjugate
        # is the sum of what the rises contribute.
        a, c = self.shaped(self.weight, z), self.shaped(self.ridge, z)
        size, top = np.abs(z), len(self.slopes) - 1
        if self._lasso:
            beyond = (size > (1 + 4 * EPS) * (a * self.slopes[0])).any()
            return np.inf if beyond else 0.0
        width = c * self.gamma
        total = 0.0
        for k in range(top):
            total += float(self._rise(size - (a * self.slopes[k] + k * width), c).sum())
        limit = a * self.slopes[top]
        rest = size - (limit + top * width)
        if not self.growth:  # the last rise has no end
            rest = np.maximum(rest, 0.0)
            if np.any((c == 0) & (rest > 4 * EPS * limit)):
                return np.inf
            return total + float((rest * rest / np.where(c == 0, 1.0, 2 * c)).sum())
        # the maximiser stands still for a growth between two rises
        period = a * self.growth + width
        if not np.all(period):
            if np.any((period == 0) & (size > 0)):
                return np.inf
            period = np.where(period == 0, 1.0, period)
        # rises that are whole, and the one that has begun
        whole = np.maximum(np.floor((rest - width) / period) + 1.0, 0.0)
        sums = self.gamma * (whole * (rest - 0.5 * width - 0.5 * period * (whole - 1.0)))
        if isinstance(c, np.ndarray) or c:
            sums += self._rise(rest - whole * period, c)
        return total + float(sums.sum())

    def _rise(self, r: FloatArray, c: Any) -> FloatArray:
        """Return what a rise that began r ago contributes: r^2 / (2 c), straight after c gamma."""
        r = np.maximum(r, 0.0)
        if not isinstance(c, np.ndarray) and c == 0:
            return np.asarray(self.gamma * r)
        bent = np.minimum(r, c * self.gamma)
        return np.asarray(bent * bent / np.where(c == 0, 1.0, 2 * c) + self.gamma * (r - bent))

    def dual_scale(self, z: Vector) -> float:
        """Return the largest t in [0, 1] with conjugate(t z) finite."""
        if self._lasso:
            size, limit = np.abs(z), self.shaped(self.weight, z) * self.slopes[0]
            beyond = size > limit
            if not beyond.any():
                return 1.0
            limit = limit[beyond] if isinstance(limit, np.ndarray) else limit
            return float((limit / size[beyond]).min())
        positive = np.all(self.weight) if isinstance(self.weight, np.ndarray) else self.weight > 0
        if self.growth > 0 and positive:
            return 1.0
        a, c = (np.broadcast_to(self.shaped(f, z), np.shape(z)) for f in (self.weight, self.ridge))
        size, limit = np.abs(z), a * self.slopes[-1]
        beyond = (c == 0) & (size > limit) & ((a == 0) | (self.growth == 0))
        return float((limit[beyond] / size[beyond]).min(initial=1.0))

    def distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Return the distance of -grad_j to the subdifferential at w_j, by coefficient."""
        # at x > 0 that is [weight A_{k-1} + ridge x, weight A_k + ridge x] on kink k, a point
        # between two kinks, and at 0 it is weight A_0 [-1, 1]
        if self._lasso and self._finite:
            limit = self.shaped(self.weight, w) * self.slopes[0]
            beyond = np.maximum(np.abs(grad) - limit, 0.0)
            return np.asarray(np.where(w == 0, beyond, np.abs(grad + np.sign(w) * limit)))
        size = np.abs(w)
        weight, ridge = self.shaped(self.weight, w), self.shaped(self.ridge, w)
        pull = np.where(size == 0, np.abs(grad), -np.sign(w) * grad)
        if len(self.slopes) == 1 and not self.growth:
            upper = weight * self.slopes[0] + ridge * size
            away = np.abs(pull - upper)
        else:
            k, on = on_grid(size / self.gamma)
            piece = np.floor(k)
            bend = ridge * size
            upper = weight * self._slope(piece) + bend
            away = np.maximum(weight * self._slope(piece - on) + bend - pull, pull - upper)
        return np.asarray(np.maximum(np.where(size == 0, pull - upper, away), 0.0))

    def between_kinks(self, w: FloatArray) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Return the coefficients between two kinks, these kinks, and the penalty's slope."""
        size = np.abs(w)
        k, on = on_grid(size / self.gamma)
        kinks = len(self.slopes) > 1 or self.growth > 0
        free = np.flatnonzero((size > 0) & ~(on & kinks))
        size, piece = size[free], np.floor(k[free]) if kinks else np.zeros(len(free))
        last = (piece >= len(self.slopes) - 1) & (self.growth == 0)
        near, far = piece * self.gamma, np.where(last, np.inf, (piece + 1.0) * self.gamma)
        slope = self.weight[free] * self._slope(piece) + self.ridge[free] * size
        turned = w[free] < 0
        low, high = np.where(turned, -far, near), np.where(turned, -near, far)
        return free, low, high, np.where(turned, -slope, slope)

    def _slope(self, piece: FloatArray) -> FloatArray:
        """Return A_k for whole numbers k >= -1; A_{-1} is not read."""
        last = len(self.slopes) - 1
        if last == 0:
            return np.asarray(self.slopes[0] + self.growth * np.maximum(piece, 0.0))
        inside = self.slopes[np.clip(piece, 0, last).astype(np.int64)]
        return np.asarray(inside + self.growth * np.maximum(piece - last, 0.0))

    def lambda_max(self, grad0: Vector) -> float:
        """Return max_j |grad0_j| / (weight_j A_0): infinite if a free one has a gradient."""
        size = np.abs(grad0)
        limit = np.broadcast_to(self.shaped(self.weight, grad0) * self.slopes[0], size.shape)
        moved = size > 0
        if np.any(limit[moved] == 0):
            return np.inf
        return float((size[moved] / limit[moved]).max(initial=0.0))

    def shaped(self, factor: Any, w: Vector) -> Any:
        """Return a factor () or (p,) shaped for w of shape (p,) or (p, K)."""
        if not isinstance(factor, np.ndarray) or (np.ndim(w) == 1 and len(w) == len(factor)):
            return factor
        if np.ndim(w) == 0 or len(w) != len(factor):
            checks.length(w, len(factor), "the penalty")
        return per_feature(factor, w)


class Separable(Term, ABC):
    """A sum over the coefficients, every answer from its ``Ramps``."""

    lam: float
    separable: ClassVar[bool] = True

    @abstractmethod
    def form(self, lam: float) -> Ramps:
        """Return the penalty of weight lam; factors are numbers or one per coefficient."""

    @cached_property
    def _weighted(self) -> Ramps:
        """The penalty at its weight lam."""
        return self.form(self.lam)

    @property
    def is_norm(self) -> bool:
        """Whether Omega is a norm: no square, no kink but at zero, every weight in (0, inf)."""
        one = self.form(1.0)
        straight = len(one.slopes) == 1 and one.growth == 0 and not np.any(one.ridge)
        return straight and bool(np.all(one.weight) and np.all(np.isfinite(one.weight)))

    def value(self, w: Vector) -> float:
        """Return lam * Omega(w) for w of shape (p,), or (p, K) column by column."""
        return self._weighted.value(w)

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the prox of step * penalty at w of shape (p,) or (p, K); ``out`` may be ``w``."""
        y, target = checks.prox_arguments(w, step, out)
        flat = np.ascontiguousarray(y).reshape(-1)
        answer = target.reshape(-1) if target.flags.c_contiguous else np.empty_like(flat)
        if step == 0:  # an infinite weight stands back
            answer[:] = flat
        else:
            self._flat(y).prox(flat, float(step), answer)
        if not target.flags.c_contiguous:
            target[...] = answer.reshape(target.shape)
        return target

    def _flat(self, y: FloatArray) -> Ramps:
        """Return the penalty of the entries of y row by row."""
        ramps = self._weighted
        factors = ramps.shaped(ramps.weight, y), ramps.shaped(ramps.ridge, y)
        if y.ndim == 1:
            return ramps
        a, c = (np.broadcast_to(f, y.shape).reshape(-1) if np.ndim(f) else f for f in factors)
        return replace(ramps, weight=a, ridge=c)

    def conjugate(self, z: Vector) -> float:
        """Return sup over w of <z, w> - lam * Omega(w); infinite outside its domain."""
        return self._weighted.conjugate(z)

    def dual_scale(self, z: Vector) -> float:
        """Return the largest t in [0, 1] with conjugate(t z) finite."""
        return self._weighted.dual_scale(z)

    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Return the distance of -grad_j to the subdifferential at w_j, by coefficient."""
        return self._weighted.distance(w, grad)

    def lambda_max(self, grad0: Vector) -> float:
        """Return the least lam for which w = 0 is optimal; infinite if a free one has a slope."""
        return self.form(1.0).lambda_max(grad0)

    def dual_norm(self, z: Vector) -> float:
        """Return the dual norm of Omega at z, if Omega is a norm."""
        return self.lambda_max(z)

    def ramps(self, p: int) -> Ramps:
        """Return the penalty of p coefficients as the coordinate algorithms read it."""
        return self._weighted.wide(p)


def _line(factor: Any) -> FloatArray:
    """Return a number, or one per coefficient, as the contiguous array that kernels read."""
    return np.ascontiguousarray(np.atleast_1d(factor), dtype=np.float64)


def on_grid(size: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return the sizes, whole if they are up to rounding, and which are."""
    whole = np.rint(size)
    on = np.abs(size - whole) <= 8 * EPS * np.maximum(whole, 1.0)
    return np.where(on, whole, size), on


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
        """Return the form of weight lam."""
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
        """Return the form of ridge lam."""
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
        checks.number("l1_ratio", self.l1_ratio, least=0.0, most=1.0)

    def form(self, lam: float) -> Ramps:
        """Return the form of weight and ridge by the ratio."""
        return Ramps(lam * self.l1_ratio, lam * (1.0 - self.l1_ratio), _ONE)


@dataclass(frozen=True, eq=False)
class _Weighted(Separable):
    """A penalty with one weight per coefficient."""

    lam: float
    _: KW_ONLY
    weights: FloatArray

    def _check(self) -> None:
        self._store("weights", checks.vector("weights", self.weights))


@dataclass(frozen=True, eq=False)
class WeightedL1(_Weighted):
    """lam * sum_j weights_j |w_j|, weights >= 0 of shape (p,); a weight of 0 frees its feature.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1 (weighted LASSO).
    """

    name: ClassVar[str] = "weighted_l1"

    def form(self, lam: float) -> Ramps:
        """Return the form of weights lam weights_j."""
        return Ramps(lam * self.weights, 0.0, _ONE)


@dataclass(frozen=True, eq=False)
class WeightedL2(_Weighted):
    """lam * sum_j (weights_j w_j)^2 / 2, weights >= 0 of shape (p,).

    The weight stands inside the square, as in the source: a weight of 2 counts four times.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1 (weighted ridge).
    """

    name: ClassVar[str] = "weighted_l2"

    def form(self, lam: float) -> Ramps:
        """Return the form of ridges lam weights_j^2."""
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
        self._store("initial", checks.vector("initial", self.initial, least=-np.inf))

    def form(self, lam: float) -> Ramps:
        """Return the form of weights lam / |initial_j|, infinite at every lam if initial_j is 0."""
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
        checks.number("beta", self.beta, least=0.0, most=1.0)
        self._store("expert", checks.vector("expert", self.expert, most=1.0))

    def form(self, lam: float) -> Ramps:
        """Return the form of weights on what is unknown, ridges on what the expert knows."""
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
    holds for ||w||^2 / 2 only; eq. 11 lacks lambda. Eq. 12 is exact: it misses the integers only
    by the rounding of floats at the edges of its plateaus.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020): Def. 1, eqs 2, 3, 12 and 16.
    """

    lam: float
    gamma: float = 1.0
    name: ClassVar[str] = "facets"

    def _check(self) -> None:
        checks.number("gamma", self.gamma, least=0.0, strict=True)

    def form(self, lam: float) -> Ramps:
        """Return the form of slopes 1, 2, 3, ..."""
        return Ramps(lam / self.gamma, 0.0, _ONE, 1.0, self.gamma)


@dataclass(frozen=True)
class AlphaFacets(Separable):
    """lam * sum_j f(w_j / gamma) with f(w) = sum_i alpha_i max(0, |w| - i), alpha_i > 0.

    Parameters
    ----------
    lam : float
    alpha : sequence of float
        alpha_0, alpha_1, ...; the last one repeats without end. The default 1, 2, 2, ... is the
        convex envelope of w^2 on the integers, which the paper's Proposition 2 means; (1,) is
        Facets.
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
    alpha: Sequence[float] = (1.0, 2.0)
    gamma: float = 1.0
    name: ClassVar[str] = "alpha_facets"

    def _check(self) -> None:
        checks.number("gamma", self.gamma, least=0.0, strict=True)
        alpha = checks.vector("alpha", self.alpha)
        if not alpha.all():
            raise OptionError("every entry of alpha must be > 0: drop the zeros or use Facets")
        self._store("alpha", tuple(alpha.tolist()))

    def form(self, lam: float) -> Ramps:
        """Return the form of slopes alpha_0, alpha_0 + alpha_1, ..."""
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
        checks.number("eps", self.eps, least=0.0, most=1.0, strict=True)
        checks.number("gamma", self.gamma, least=0.0, strict=True)

    def form(self, lam: float) -> Ramps:
        """Return the form of slopes 1, 1 + (1 - eps), ..., and a ridge."""
        weight = lam / self.gamma
        return Ramps(weight, weight * self.eps / self.gamma, _ONE, 1.0 - self.eps, self.gamma)
