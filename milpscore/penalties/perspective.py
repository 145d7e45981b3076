"""The closed convex hull of ridge with a price, or a limit, of nonzero coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError, is_whole
from milpscore.penalties import checks
from milpscore.penalties._norms import budget_multiplier
from milpscore.penalties.checks import Vector, prox_arguments
from milpscore.penalties.ramps import Term


@dataclass(frozen=True)
class Perspective(Term):
    r"""min over z of sum_j lam * w_j^2 / (2 z_j) + l0_penalty * z_j, with |w_j| <= bound * z_j.

    z lies in [0, 1]^p with sum at most ``max_terms``: the hull of ridge plus a price of each
    nonzero coefficient, at most ``max_terms`` of them. With ``whole`` it is the hull over integer
    coefficients, whose squares grow along the chords between integers: w_j^2 / z_j is then
    max over v = 1, 2, ... of ((2 v - 1) |w_j| - v (v - 1) z_j), and at least z_j.

    Parameters
    ----------
    lam : float
    bound : float
        The largest coefficient; a whole number where ``whole``.
    max_terms : int or None
    l0_penalty : float
        The price of a nonzero coefficient.
    whole : bool

    Notes
    -----
    At a price a of z_j and without a limit each coefficient pays the reverse Huber function:
    s |w_j| up to r, then lam w_j^2 / 2 + a, with r = min(sqrt(2 a / lam), bound) and
    s = a / r + lam r / 2; over integers r is the v of least a / v + lam v / 2. A limit adds one
    multiplier to all prices.

    References
    ----------
    Frangioni & Gentile, "Perspective cuts for a class of convex 0-1 mixed integer programs",
    Mathematical Programming 106 (2006); Pilanci, Wainwright & El Ghaoui, "Sparse learning via
    Boolean relaxations", Mathematical Programming 151 (2015), whose bound is that of
    ``max_terms`` without a price.
    """

    lam: float
    _: KW_ONLY
    bound: float
    max_terms: int | None
    l0_penalty: float = 0.0
    whole: bool = False
    name: ClassVar[str] = "perspective"

    def _check(self) -> None:
        checks.number("l0_penalty", self.l0_penalty, least=0.0)
        checks.number("bound", self.bound, least=0.0, strict=True)
        if self.whole and self.bound != math.floor(self.bound):
            raise OptionError(f"bound must be a whole number over integers, got {self.bound!r}")
        if self.max_terms is not None and not is_whole(self.max_terms, 0):
            raise OptionError(
                f"{{max_terms}} must be a whole number >= 0, got {self.max_terms!r}", max_terms=...
            )

    def value(self, w: Vector) -> float:
        """Return what a vector of shape (p,) pays; infinite beyond bound and limit."""
        size = self._size(w)
        if size.max(initial=0.0) > self.bound * (1 + 1e-12):
            return math.inf
        size = np.minimum(size, self.bound)
        most = math.inf if self.max_terms is None else float(self.max_terms)
        if size.sum() > self.bound * most * (1 + 1e-12):
            return math.inf

        def bound_at(multiplier: float) -> float:
            return float(self._paid(size, self.l0_penalty + multiplier).sum()) - (
                multiplier * most if multiplier else 0.0
            )

        # above lam bound^2 / 2 all z are |w| / bound
        ends = self._multiplier(
            lambda at: float(self._used(size, self.l0_penalty + at).sum()),
            self.lam * self.bound**2 / 2,
        )
        return max(map(bound_at, ends))

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the prox of step * penalty: that of one price, which meets the limit."""
        y, target = prox_arguments(w, step, out)
        size = np.abs(y)
        sign = np.sign(y)
        if not step:  # the nearest point of the domain
            room = np.zeros(len(size)), np.full(len(size), self.bound)
            most = math.inf if self.max_terms is None else self.bound * self.max_terms
            np.multiply(
                sign, np.clip(size - budget_multiplier(size, *room, most), *room), out=target
            )
            return target

        def used(multiplier: float) -> float:
            price = self.l0_penalty + multiplier
            return float(self._used(self._shrunk(size, step, price), price).sum())

        # at the last price nothing is left
        last = self.bound * (float(size.max(initial=0.0)) / step + self.lam * self.bound)
        _, multiplier = self._multiplier(used, last)
        np.multiply(sign, self._shrunk(size, step, self.l0_penalty + multiplier), out=target)
        return target

    def conjugate(self, z: Vector) -> float:
        """Return the sum of the largest gains of a coefficient, ``max_terms`` of them."""
        gain = np.sort(np.maximum(self._gain(self._size(z)) - self.l0_penalty, 0.0))[::-1]
        return float(gain[: self.max_terms].sum())

    def dual_scale(self, z: Vector) -> float:
        """Return 1: coefficients are bounded, so the conjugate is finite."""
        checks.one_dimension(z)
        return 1.0

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Return ||w - prox(w - grad)||: below the distance of -grad, and 0 only together."""
        w = np.asarray(w, dtype=np.float64)
        return float(np.linalg.norm(w - self.prox(w - np.asarray(grad), 1.0)))

    def lambda_max(self, grad0: Vector) -> float:
        """Return the least lam for which w = 0 is optimal, the loss having gradient grad0 there."""
        slope, price = float(self._size(grad0).max(initial=0.0)), self.l0_penalty
        if not slope or self.max_terms == 0:
            return 0.0
        if self.whole:
            v = np.arange(1.0, self.bound + 1)
            return max(float((2 * (slope - price / v) / v).max()), 0.0)
        chord = 2 * (slope - price / self.bound) / self.bound  # where bound is the cheapest size
        if chord <= 2 * price / self.bound**2:
            return max(chord, 0.0)
        return slope**2 / (2 * price) if price else math.inf

    def _size(self, w: Vector) -> FloatArray:
        checks.one_dimension(w)
        return np.abs(np.asarray(w, dtype=np.float64))

    def _first(self, price: float) -> tuple[float, float]:
        """Return r and s: what a coefficient pays grows by s up to r."""
        if self.whole:
            v = np.arange(self.bound, 0.0, -1.0)  # ties go to the largest v, whose z is least
            slopes = price / v + self.lam * v / 2
            least = int(np.argmin(slopes))
            return float(v[least]), float(slopes[least])
        r = min(math.sqrt(2 * price / self.lam), self.bound) if self.lam else self.bound
        return r, price / r + self.lam * r / 2 if r else 0.0

    def _paid(self, size: FloatArray, price: float) -> FloatArray:
        """Return what coefficients of these sizes pay."""
        r, slope = self._first(price)
        square = size**2
        if self.whole:
            low = np.floor(size)
            square = (2 * low + 1) * size - low * (low + 1)
        return np.where(size <= r, slope * size, self.lam * square / 2 + price)

    def _used(self, size: FloatArray, price: float) -> FloatArray:
        """Return their z."""
        r, _ = self._first(price)
        return np.minimum(size / r, 1.0) if r else (size > 0).astype(float)

    def _shrunk(self, size: FloatArray, step: float, price: float) -> FloatArray:
        """Return the sizes after a prox step at a price."""
        r, slope = self._first(price)
        shrunk, t = size - step * slope, step * self.lam
        if self.whole:
            found = np.clip(shrunk, 0.0, r)
            for v in np.arange(r, self.bound):  # chords, each steeper than the one before
                found += np.clip(size - t * (v + 0.5) - v, 0.0, 1.0)
            return found
        beyond = np.clip(size / (1 + t), r, self.bound)
        return np.where(shrunk > r, beyond, np.maximum(shrunk, 0.0))

    def _gain(self, slope: FloatArray) -> FloatArray:
        """Return sup over u in [0, bound] of slope u - lam u^2 / 2, over integers if whole."""
        best = np.where(slope > 0, self.bound, 0.0)
        np.divide(slope, self.lam, out=best, where=slope < self.lam * self.bound)
        best = np.clip(np.rint(best) if self.whole else best, 0.0, self.bound)
        return best * (slope - self.lam * best / 2)

    def _multiplier(self, used: Callable[[float], float], last: float) -> tuple[float, float]:
        """Return neighbours between which the sum of z falls to the limit; 0 twice without need."""
        if self.max_terms is None or used(0.0) <= self.max_terms:
            return 0.0, 0.0
        low, high = 0.0, last
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (middle, high) if used(middle) > self.max_terms else (low, middle)
        return low, high
