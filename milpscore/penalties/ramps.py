r"""Every even penalty that is a sum over the coefficients, in one form, and what follows from it.

.. math:: \Omega(w) = \sum_j a_j \phi(|w_j|) + c_j w_j^2 / 2

where phi is convex and piecewise linear with kinks at the multiples of a unit gamma: its slope on
piece k, between k gamma and (k + 1) gamma, is A_k. The lasso has one slope, Facets the slopes
1, 2, 3, ...; value, prox, conjugate and subdifferential are each written once, for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.penalties._base import EPS, Term, Vector, check_length, per_feature, prox_arguments

_HUGE = 1e300  # stands for infinity where a product with zero must be zero


@dataclass(frozen=True, eq=False)
class Ramps:
    """sum_j weight_j phi(|w_j|) + ridge_j w_j^2 / 2, in the notation of the module.

    Attributes
    ----------
    weight, ridge : float, or ndarray of shape (p,), not negative
        An infinite weight holds its coefficient at zero.
    slopes : ndarray of shape (m,), m >= 1, not decreasing
        A_0, ..., A_{m-1}.
    growth : float
        Slopes beyond the last of the table rise by it at every kink; 0 where there are no kinks
        (the lasso: slopes (1,), growth 0).
    gamma : float
        Positive and finite.
    """

    weight: Any
    ridge: Any
    slopes: FloatArray
    growth: float = 0.0
    gamma: float = 1.0

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
        """The prox of step > 0 times the penalty, from C-contiguous y of shape (n,) into out.

        ``weight`` and ``ridge`` are numbers or of shape (n,). Where they are numbers and there is
        one slope, plateaus are found by one division; the general kernel walks through the table.
        """
        from milpscore.penalties import kernels

        if len(self.slopes) == 1 and self.growth == 0:
            weight = _line(self.weight * self.slopes[0])
            kernels.soft(y, out, float(step), weight, _line(self.ridge))
        elif len(self.slopes) == 1 and np.ndim(self.weight) == np.ndim(self.ridge) == 0:
            push = min(step * self.weight * self.slopes[0] / self.gamma, _HUGE)
            bend = 1.0 + step * self.ridge
            pitch = bend + push * (self.growth / self.slopes[0])
            kernels.grid(y, out, float(self.gamma), float(push), float(pitch), float(bend))
        else:
            shape = self.slopes, float(self.growth), float(self.gamma)
            kernels.ramps(y, out, float(step), _line(self.weight), _line(self.ridge), *shape)

    def conjugate(self, z: Vector) -> float:
        """The sum over j of sup over x of z_j x - weight_j phi(|x|) - ridge_j x^2 / 2.

        The maximiser stands still while |z_j| crosses a kink and rises with slope 1 / ridge_j, by
        gamma, on each piece: rise k begins at B_k = weight A_k + ridge k gamma, and the conjugate
        is the sum of what the rises contribute.
        """
        a, c = self.shaped(self.weight, z), self.shaped(self.ridge, z)
        size, top = np.abs(z), len(self.slopes) - 1
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
        if not isinstance(factor, np.ndarray):
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
