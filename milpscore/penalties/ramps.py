r"""Every even penalty that is a sum over the coefficients, in one form, and what penalties share.

.. math:: \Omega(w) = \sum_j a_j \phi(|w_j|) + c_j w_j^2 / 2

where phi is convex and piecewise linear with kinks at the multiples of a unit gamma: its slope on
piece k, between k gamma and (k + 1) gamma, is A_k. The lasso has one slope, Facets the slopes
1, 2, 3, ...; value, prox, conjugate and subdifferential are each written once, for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError, is_number

Vector = FloatArray | IntArray
"""Coefficients may be whole numbers: cards are penalised too."""

EPS = float(np.finfo(np.float64).eps)
# a dual point on the border of a domain is computed to a few units in the last place
ROUNDING = 1e-12


class Term:
    """Base of the penalties: the check of ``lam`` and of the fields beyond it.

    What the methods of a penalty mean is said once, in ``milpscore.core.statement.ProxPenalty``.
    """

    separable: ClassVar[bool] = False
    is_norm: Any = False

    def __post_init__(self) -> None:
        """Check lam, then the fields of the penalty itself."""
        lam = check_number("lam", self.lam, least=0.0)  # type: ignore[attr-defined]
        if "lam" in vars(self):  # of some penalties it is fixed
            self._store("lam", lam)
        self._check()

    def _check(self) -> None:
        """Check and normalise the fields beyond lam; nothing by default."""

    def _store(self, name: str, value: Any) -> None:
        """Put a normalised value into a frozen field."""
        if name not in [field.name for field in fields(self)]:  # type: ignore[arg-type]
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        object.__setattr__(self, name, value)


def shrink(limit: float, size: float) -> float:
    """min(1, limit / size), a hair less below 1 so that the scaled point is surely inside."""
    return 1.0 if size <= limit else limit / size * (1 - 4 * EPS)


def check_number(
    name: str, value: Any, *, least: float, most: float = np.inf, strict: bool = False
) -> float:
    """A finite number of [least, most], or of (least, most] where ``strict``; else OptionError."""
    number = float(value) if is_number(value) else np.nan
    above = number > least if strict else number >= least
    if not (np.isfinite(number) and above and number <= most):
        wanted = f"{'>' if strict else '>='} {least:g}"
        wanted += f" and <= {most:g}" if most < np.inf else ""
        raise OptionError(f"{name} must be a finite number {wanted}, got {value!r}")
    return number


def check_vector(name: str, value: Any, *, least: float = 0.0, most: float = np.inf) -> FloatArray:
    """A read-only copy of a vector of finite entries of [least, most]; else OptionError."""
    try:
        vector = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(f"{name} must be a sequence of numbers: {error}") from error
    if vector.ndim != 1 or vector.size == 0:
        raise OptionError(f"{name} must be a non-empty vector, got shape {vector.shape}")
    wrong = ~((vector >= least) & (vector <= most) & np.isfinite(vector))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        limits = f"in [{least:g}, {most:g}]" if most < np.inf else f">= {least:g}"
        raise OptionError(f"{name}[{at}] is {vector[at]}: every entry must be {limits}")
    vector.setflags(write=False)
    return vector


def check_blocks(blocks: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The blocks as tuples, where they part the columns 0, ..., p - 1; else OptionError."""
    found = tuple(tuple(int(column) for column in block) for block in blocks)
    columns = sorted(column for block in found for column in block)
    if not columns or not all(found) or columns != list(range(len(columns))):
        raise OptionError(
            "blocks must hold each column 0, 1, ..., p - 1 exactly once, and no block may be "
            "empty: the penalty is defined for designs whose columns all lie in blocks"
        )
    return found


def check_length(w: Vector, wanted: int, what: str) -> None:
    """Refuse a vector that is not of shape (wanted,), naming what sets the length."""
    if np.shape(w) != (wanted,):
        raise OptionError(
            f"the coefficients have shape {np.shape(w)}, but {what} fixes them at ({wanted},): "
            "make the penalty from the same columns as the design"
        )


def check_one_dimension(w: Vector) -> None:
    """Refuse anything but a vector."""
    if np.ndim(w) != 1:
        raise OptionError(
            f"this penalty takes a vector of coefficients, got shape {np.shape(w)}: apply it to "
            "one column at a time"
        )


def prox_arguments(w: Any, step: float, out: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """``w`` as floats and the array the answer goes to; they may be one and the same."""
    check_number("step", step, least=0.0)
    y = np.asarray(w, dtype=np.float64)
    if not np.isfinite(y).all():
        raise OptionError("a prox is taken at finite numbers, and the point holds NaN or inf")
    if out is None:
        return y, np.empty_like(y, order="C")
    if not isinstance(out, np.ndarray) or out.shape != y.shape or out.dtype != np.float64:
        raise OptionError(f"out must be a float64 array of shape {y.shape}")
    return y, out


def per_feature(values: FloatArray, w: Vector) -> FloatArray:
    """``values`` of shape (p,) shaped to multiply w of shape (p,) or (p, K)."""
    return values.reshape((-1, *(1,) * (np.ndim(w) - 1)))


# microseconds of NumPy, to the same values, where loading a compiled kernel takes half a second
_SHORT = 4096
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
        """Whether there is no kink but at zero and no square."""
        return len(self.slopes) == 1 and not self.growth and not np.any(self.ridge)

    @cached_property
    def _finite(self) -> bool:
        """Whether no coefficient is held at zero by an infinite weight."""
        return bool(np.isfinite(self.weight).all())

    def wide(self, p: int) -> Ramps:
        """The same with one finite weight and ridge for each of p coefficients."""
        weight, ridge = np.full(p, self.weight), np.full(p, self.ridge)
        return self._with(np.minimum(weight, _HUGE, out=weight), ridge)

    def some(self, index: IntArray) -> Ramps:
        """The penalty of some of the coefficients."""
        return self._with(self.weight[index], self.ridge[index])

    def _with(self, weight: Any, ridge: Any) -> Ramps:
        return Ramps(weight, ridge, self.slopes, self.growth, self.gamma)

    def value(self, w: Vector) -> float:
        """The penalty of w, of shape (p,) or (p, K); exact sums at whole multiples of gamma."""
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
        """phi at sizes >= 0."""
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
        """The prox of step > 0 times the penalty, from C-contiguous y of shape (n,) into out."""
        straight = len(self.slopes) == 1 and self.growth == 0
        weight = _line(self.weight * self.slopes[0] if straight else self.weight)
        if straight and y.size <= _SHORT:
            held = np.minimum(np.maximum(y, -step * weight), step * weight)
            np.divide(y - held, 1.0 + step * _line(self.ridge), out=out)
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
            shape = self.slopes, float(self.growth), float(self.gamma)
            kernels.ramps(y, out, float(step), weight, _line(self.ridge), *shape)

    def conjugate(self, z: Vector) -> float:
        """The sum over j of sup over x of z_j x - weight_j phi(|x|) - ridge_j x^2 / 2.

        The maximiser stands still while |z_j| crosses a kink and rises with slope 1 / ridge_j, by
        gamma, on each piece: rise k begins at B_k = weight A_k + ridge k gamma, and the conjugate
        is the sum of what the rises contribute.
        """
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
        """What a rise that began r ago contributes: r^2 / (2 c), straight after c gamma."""
        r = np.maximum(r, 0.0)
        if not isinstance(c, np.ndarray) and c == 0:
            return np.asarray(self.gamma * r)
        bent = np.minimum(r, c * self.gamma)
        return np.asarray(bent * bent / np.where(c == 0, 1.0, 2 * c) + self.gamma * (r - bent))

    def dual_scale(self, z: Vector) -> float:
        """The largest t in [0, 1] with conjugate(t z) finite."""
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
        """Distance of -grad_j to the subdifferential at w_j, entry by entry.

        At x > 0 that is [weight A_{k-1} + ridge x, weight A_k + ridge x] on kink k, a point between
        two kinks, and at 0 it is weight A_0 [-1, 1].
        """
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
        """The coefficients that lie on no kink, the kinks on both sides of each, and the slope."""
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
        """A_k of whole numbers k >= -1; A_{-1} is not read."""
        last = len(self.slopes) - 1
        if last == 0:
            return np.asarray(self.slopes[0] + self.growth * np.maximum(piece, 0.0))
        inside = self.slopes[np.clip(piece, 0, last).astype(np.int64)]
        return np.asarray(inside + self.growth * np.maximum(piece - last, 0.0))

    def lambda_max(self, grad0: Vector) -> float:
        """max_j |grad0_j| / (weight_j A_0): infinite where a free coefficient has a gradient."""
        size = np.abs(grad0)
        limit = np.broadcast_to(self.shaped(self.weight, grad0) * self.slopes[0], size.shape)
        moved = size > 0
        if np.any(limit[moved] == 0):
            return np.inf
        return float((size[moved] / limit[moved]).max(initial=0.0))

    def shaped(self, factor: Any, w: Vector) -> Any:
        """A factor of shape () or (p,) shaped for w of shape (p,) or (p, K)."""
        if not isinstance(factor, np.ndarray) or (np.ndim(w) == 1 and len(w) == len(factor)):
            return factor
        if np.ndim(w) == 0 or len(w) != len(factor):
            check_length(w, len(factor), "the penalty")
        return per_feature(factor, w)


class Separable(Term, ABC):
    """A sum over the coefficients, every answer from its ``Ramps``."""

    lam: float
    separable: ClassVar[bool] = True

    @abstractmethod
    def form(self, lam: float) -> Ramps:
        """The penalty of weight lam; its factors may be numbers or have one entry a coefficient."""

    @cached_property
    def _own(self) -> Ramps:
        """The penalty of its own weight."""
        return self.form(self.lam)

    @property
    def is_norm(self) -> bool:
        """Whether Omega is a norm: no square, no kink but at zero, every weight in (0, inf)."""
        one = self.form(1.0)
        straight = len(one.slopes) == 1 and one.growth == 0 and not np.any(one.ridge)
        return straight and bool(np.all(one.weight) and np.all(np.isfinite(one.weight)))

    def value(self, w: Vector) -> float:
        """lam * Omega(w) for w of shape (p,), or (p, K) column by column."""
        return self._own.value(w)

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The prox of step * penalty at w of shape (p,) or (p, K); ``out`` may be ``w``.

        Exact on the grid: what lies within rounding of a grid point is that point.
        """
        y, target = prox_arguments(w, step, out)
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
        """The penalty of the entries of y row by row."""
        found = self._own
        a, c = found.shaped(found.weight, y), found.shaped(found.ridge, y)
        if y.ndim == 1:
            return found
        a, c = (np.broadcast_to(f, y.shape).reshape(-1) if np.ndim(f) else f for f in (a, c))
        return Ramps(a, c, found.slopes, found.growth, found.gamma)

    def conjugate(self, z: Vector) -> float:
        """sup over w of <z, w> - lam * Omega(w); infinite outside its domain."""
        return self._own.conjugate(z)

    def dual_scale(self, z: Vector) -> float:
        """The largest t in [0, 1] with conjugate(t z) finite."""
        return self._own.dual_scale(z)

    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Distance of -grad_j to the subdifferential at w_j, entry by entry."""
        return self._own.distance(w, grad)

    def lambda_max(self, grad0: Vector) -> float:
        """The least lam for which w = 0 is optimal; infinite where a free one has a gradient."""
        return self.form(1.0).lambda_max(grad0)

    def dual_norm(self, z: Vector) -> float:
        """The dual norm of Omega, where that is a norm."""
        return self.lambda_max(z)

    def ramps(self, p: int) -> Ramps:
        """The penalty of p coefficients in the form of the coordinate algorithms."""
        return self._own.wide(p)


def _line(factor: Any) -> FloatArray:
    """A number, or one for each coefficient, as the contiguous array the kernels read."""
    return np.ascontiguousarray(np.atleast_1d(factor), dtype=np.float64)


def on_grid(size: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Which sizes are whole numbers up to rounding; those are returned as such, the rest as is."""
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
