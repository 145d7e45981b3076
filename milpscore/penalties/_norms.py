"""Penalties of the whole vector: sorted weights, groups, the expert's EYE, and two sets."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.penalties import checks
from milpscore.penalties.checks import Vector, prox_arguments
from milpscore.penalties.ramps import EPS, ROUNDING, Term, per_feature, shrink


class Norm(Term, ABC):
    """Base of the penalties lam * Omega with Omega a norm, from its dual norm."""

    lam: float
    is_norm = True

    @abstractmethod
    def dual_norm(self, z: Vector) -> float:
        """Return the dual norm of Omega (without lam) at z."""

    def conjugate(self, z: Vector) -> float:
        """Return 0 if the dual norm of z is at most lam (to 1e-12 relative), else infinity."""
        return 0.0 if self.dual_norm(z) <= self.lam * (1 + ROUNDING) else np.inf

    def dual_scale(self, z: Vector) -> float:
        """Return the largest t in [0, 1] with conjugate(t z) finite: min(1, lam / dual_norm(z))."""
        return shrink(self.lam, self.dual_norm(z))

    def lambda_max(self, grad0: Vector) -> float:
        """Return the least lam for which w = 0 is optimal, the loss having gradient grad0 there."""
        return self.dual_norm(grad0)


@dataclass(frozen=True, eq=False)
class OWL(Norm):
    """lam * sum_i weights_i |w|_[i], |w|_[1] >= |w|_[2] >= ... the sorted sizes.

    Parameters
    ----------
    lam : float
    weights : array of shape (p,)
        Non-increasing, >= 0, the first > 0. All equal: L1. (1, 0, ..., 0): the sup norm, see
        :meth:`sup_norm`.

    References
    ----------
    Wang et al., "Learning credible models" (2018), Table 1, after Figueiredo & Nowak, "Sparse
    estimation with strongly correlated variables using ordered weighted l1 regularization" (2014).
    """

    lam: float
    _: KW_ONLY
    weights: FloatArray
    name: ClassVar[str] = "owl"

    def _check(self) -> None:
        weights = checks.vector("weights", self.weights)
        if np.any(np.diff(weights) > 0) or weights[0] == 0:
            raise OptionError(
                "OWL's weights must not increase and must begin above 0: sort them downwards"
            )
        self._store("weights", weights)

    @classmethod
    def sup_norm(cls, lam: float, n_features: int) -> OWL:
        """Return lam * max_j |w_j|."""
        return cls(lam, weights=np.eye(1, n_features)[0])

    def value(self, w: Vector) -> float:
        """Return lam * Omega(w) of a vector of shape (p,)."""
        checks.length(w, len(self.weights), "OWL's weights")
        return self.lam * float(self.weights @ np.sort(np.abs(w))[::-1])

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the prox of step * penalty: isotonic regression of sorted |w|."""
        checks.length(w, len(self.weights), "OWL's weights")
        y, target = prox_arguments(w, step, out)
        size = np.abs(y)
        order = np.argsort(-size, kind="stable")
        pooled = _pool(size[order] - step * self.lam * self.weights)
        sign = np.sign(y)
        target[order] = np.maximum(pooled, 0.0)
        target *= sign
        return target

    def dual_norm(self, z: Vector) -> float:
        """Return max_k (sum of the k largest |z|) / (sum of the first k weights)."""
        checks.length(z, len(self.weights), "OWL's weights")
        top = np.cumsum(np.sort(np.abs(z))[::-1])
        return float((top / np.cumsum(self.weights)).max())

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Return the Euclidean distance of -grad to the subdifferential at w."""
        return float(np.linalg.norm(self.distance(w, grad)))

    def distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Return the distance by coefficient, from the nearest point of the subdifferential."""
        # the prox, at -grad, of the directional derivative at w, which falls apart into one sorted
        # form for every group of equal |w_j|
        checks.length(w, len(self.weights), "OWL's weights")
        order, _, pull = self.pulls(w, grad)
        distance = np.empty(len(order))
        distance[order] = np.abs(pull)
        return distance

    def pulls(self, w: Vector, grad: Vector) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the order of falling |w_j|, these, and how fast each |w_j| would begin to grow."""
        # along minus the subgradient of least norm of a loss with gradient ``grad`` and the
        # penalty: neighbours of one size that are pulled alike stay together
        from milpscore.penalties.kernels import pooled

        size = np.abs(w)
        slope = np.where(size > 0, -np.sign(w) * grad, np.abs(grad))
        order = np.lexsort((-slope, -size))
        sizes = size[order]
        pull = np.asarray(pooled(slope[order] - self.lam * self.weights, sizes))
        return order, sizes, np.where(sizes > 0, pull, np.maximum(pull, 0.0))

    def some(self, index: IntArray) -> OWL:
        """Return the penalty of some of the coefficients while all others are zero."""
        return OWL(self.lam, weights=self.weights[: len(index)])


def _pool(values: FloatArray) -> FloatArray:
    """Return the non-increasing vector nearest to ``values``."""
    if len(values) == 1:
        return values
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, increasing=False).x)


@dataclass(frozen=True, eq=False)
class GroupL1(Norm):
    """lam * sum over blocks B of weights_B ||w_B||_2. Whole blocks become zero, or none of it.

    Parameters
    ----------
    lam : float
    blocks : sequence of sequences of int
        The columns of each group; every column lies in exactly one.
    weights : array of shape (number of blocks,), optional
        > 0; the square root of each block's size by default.

    References
    ----------
    Yuan & Lin, "Model selection and estimation in regression with grouped variables" (2006), the
    rival of Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018).
    """

    lam: float
    _: KW_ONLY
    blocks: Sequence[Sequence[int]]
    weights: FloatArray | None = None
    name: ClassVar[str] = "group_l1"

    def _check(self) -> None:
        blocks = checks.partition(self.blocks)
        self._store("blocks", blocks)
        if self.weights is not None:
            weights = checks.vector("weights", self.weights)
            if len(weights) != len(blocks) or not weights.all():
                raise OptionError(
                    f"weights needs one number > 0 for each of the {len(blocks)} blocks, got "
                    f"{weights.tolist()}"
                )
            self._store("weights", weights)

    def value(self, w: Vector) -> float:
        """Return lam * Omega(w) of a vector of shape (p,)."""
        return self.lam * float(self.block_weights @ self._lengths(w))

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return (1 - step lam weights_B / ||w_B||)_+ w_B, block by block."""
        y, target = prox_arguments(w, step, out)
        lengths = self._lengths(y)
        shrunk = np.maximum(lengths - step * self.lam * self.block_weights, 0.0)
        target[...] = y * self._spread(_ratio(shrunk, lengths))
        return target

    def dual_norm(self, z: Vector) -> float:
        """Return max over blocks of ||z_B||_2 / weights_B."""
        return float((self._lengths(z) / self.block_weights).max())

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Return the Euclidean distance of -grad to the subdifferential at w."""
        # that of a zero block is a ball of radius lam weights_B, that of any other a point
        lengths, pushes = self._lengths(w), self._lengths(grad)
        limits = self.lam * self.block_weights
        beyond = np.maximum(pushes - limits, 0.0)
        directions = np.asarray(w, dtype=np.float64) * self._spread(_ratio(limits, lengths))
        at = self._lengths(np.asarray(grad, dtype=np.float64) + directions)
        return float(np.linalg.norm(np.where(lengths == 0, beyond, at)))

    @cached_property
    def _member(self) -> IntArray:
        """The block of every column."""
        member = np.empty(sum(len(block) for block in self.blocks), dtype=np.int64)
        for at, block in enumerate(self.blocks):
            member[list(block)] = at
        return member

    @cached_property
    def block_weights(self) -> FloatArray:
        sizes = np.array([len(block) for block in self.blocks], dtype=np.float64)
        return np.sqrt(sizes) if self.weights is None else self.weights

    def _lengths(self, w: Vector) -> FloatArray:
        """Return ||w_B||_2 of every block."""
        checks.length(w, len(self._member), "blocks")
        values = np.asarray(w, dtype=np.float64)
        # divided by the largest entry first: squares of tiny ones would vanish
        top = np.zeros(len(self.blocks))
        np.maximum.at(top, self._member, np.abs(values))
        part = values * self._spread(_ratio(np.ones(len(top)), top))
        squares = np.bincount(self._member, weights=part * part, minlength=len(top))
        return np.asarray(top * np.sqrt(squares))

    def _spread(self, values: FloatArray) -> FloatArray:
        """Return one number per block as one per column."""
        return np.asarray(values[self._member])


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return above / below, 0 where below is 0."""
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)


@dataclass(frozen=True, eq=False)
class EYE(Norm):
    """lam * (a + sqrt(a^2 + b^2)), a = ||(1 - r) * w||_1, b = ||r * w||_2, r = ``expert``.

    A norm that favours what the expert knows, and among that groups what is correlated; it is
    sparse in the rest. r = 0 everywhere gives 2 ||w||_1, r = 1 gives ||w||_2.

    Parameters
    ----------
    lam : float
        The mean loss's weight: the paper's n lambda belongs to a sum of losses.
    expert : array of shape (p,)
        r in [0, 1]: 1 marks a feature the expert knows to matter, 0 one of which nothing is known.

    Notes
    -----
    Errata of the paper's sec. 7.4: "Z != 0" is false (y = (.3, .4), r = (0, 1), mu = 1 has prox 0),
    and eqs 15-16 misplace the factor ||(1 - r) * theta||_1 / Z.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), eq. 2.
    """

    lam: float
    _: KW_ONLY
    expert: FloatArray
    name: ClassVar[str] = "eye"

    def _check(self) -> None:
        self._store("expert", checks.vector("expert", self.expert, most=1.0))

    def value(self, w: Vector) -> float:
        """Return lam * Omega(w) of a vector of shape (p,), eq. 2."""
        a, z = self._parts(w)
        return self.lam * (a + z)

    def nearby(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return weights of |w| and w^2 / 2 that resemble it near w, smooth where w is small."""
        # a + sqrt(a^2 + b^2) linearised in a and in b^2
        sparse = 1.0 - self.expert
        a = float(sparse @ np.abs(w))
        root = float(np.hypot(np.hypot(a, np.linalg.norm(self.expert * w)), 0.3))
        return self.lam * sparse * (1.0 + a / root), self.lam * self.expert**2 / root

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the prox of step * penalty: monotone Newton for r in {0, 1}, else a root in Z."""
        checks.length(w, len(self.expert), "expert")
        y, target = prox_arguments(w, step, out)
        mu = step * self.lam
        if mu == 0:
            target[...] = y
        elif self._binary:
            target[...] = _prox_of_known(y, self.expert == 1, mu)
        else:
            target[...] = _fractional_prox(y, self.expert, mu)
        return target

    def dual_norm(self, z: Vector) -> float:
        """Return the dual norm of Omega: the least mu with a prox of mu Omega at z that is 0."""
        checks.length(z, len(self.expert), "expert")
        return _eye_dual_norm(np.asarray(z, dtype=np.float64), self.expert)

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Return the Euclidean distance of -grad to the subdifferential at w."""
        # At w = 0 that is lam times the dual ball, and the distance is the norm of a prox.
        # Elsewhere only coefficients at 0 leave a choice, each an interval.
        a, z = self._parts(w)
        if z == 0:
            return float(np.linalg.norm(self.prox(-np.asarray(grad, dtype=np.float64), 1.0)))
        r = self.expert
        sparse = self.lam * (1 - r) * (1 + a / z)
        w = np.asarray(w, dtype=np.float64)
        at = np.abs(grad + sparse * np.sign(w) + self.lam * r * r * w / z)
        distance = np.where(w == 0, np.maximum(np.abs(grad) - sparse, 0.0), at)
        return float(np.linalg.norm(distance))

    @cached_property
    def _binary(self) -> bool:
        return bool(np.isin(self.expert, (0.0, 1.0)).all())

    def _parts(self, w: Vector) -> tuple[float, float]:
        """Return a = ||(1 - r) * w||_1 and sqrt(a^2 + b^2)."""
        checks.length(w, len(self.expert), "expert")
        a = float(((1 - self.expert) * np.abs(w)).sum())
        return a, float(np.hypot(a, np.linalg.norm(self.expert * w)))


def _soft(y: FloatArray, threshold: float | FloatArray) -> FloatArray:
    return np.asarray(y - np.clip(y, -threshold, threshold))


def _prox_of_known(y: FloatArray, known: np.ndarray, mu: float) -> FloatArray:
    """Return the prox of mu (a + sqrt(a^2 + b^2)) for r in {0, 1}."""
    # With B = ||y_known||, T = a / b and tau(T) = mu (1 + T / sqrt(1 + T^2)), the unknown part is
    # soft(y, tau) and T the root of F(T) = sum (|y_unknown| - tau)_+ + mu T / sqrt(1 + T^2) - B T.
    # F is convex and decreasing from T0 on, so Newton from T0 is monotone.
    out = np.zeros_like(y)
    unknown, expert = y[~known], y[known]
    size = float(np.linalg.norm(expert))
    if size == 0:
        out[~known] = _soft(unknown, 2 * mu)
        return out
    largest = np.abs(unknown)
    # T0 = sqrt(mu^2 - B^2) / B where B < mu, written so that no square overflows or cancels
    ratio = mu / size
    start = math.sqrt((ratio - 1) * (ratio + 1)) if ratio > 1 else 0.0
    if not np.any(largest > mu * (1 + start / math.hypot(1.0, start))):
        out[known] = max(0.0, 1 - ratio) * expert
        return out
    root = _newton(largest, size, mu, start)
    long = math.hypot(1.0, root)
    out[~known] = _soft(unknown, mu * (1 + root / long))
    z = size * long - mu
    if z > 0:
        out[known] = expert * (z / (z + mu))
    return out


def _newton(largest: FloatArray, size: float, mu: float, start: float) -> float:
    """Return the root T >= start of F, from below."""
    t = start
    for _ in range(60):  # at most seven are needed from below; the bound only guards the loop
        long = math.hypot(1.0, t)
        excess = largest - mu * (1 + t / long)
        active = excess > 0
        value = float(excess[active].sum()) + mu * t / long - size * t
        slope = mu * (1 - int(active.sum())) / long**3 - size
        if slope >= 0:
            break
        step = -value / slope
        if step <= 2 * EPS * max(t, 1e-300):
            break
        t += step
    return t


def _fractional_prox(y: FloatArray, r: FloatArray, mu: float) -> FloatArray:
    """Return the prox of mu (a + sqrt(a^2 + b^2)) for r in [0, 1]."""
    # sqrt(q) is the least of (q / Z + Z) / 2 over Z > 0. For fixed Z the minimiser is, with
    # s = a / Z, the vector sign(y) (|y| - mu (1 - r)(1 + s))_+ / (1 + mu r^2 / Z), where s solves a
    # piecewise-linear equation; then (a^2 + b^2) / Z^2 falls with Z and is 1 at the answer.
    from scipy.optimize import brentq

    if _eye_dual_norm(y, r) <= mu:
        return np.zeros_like(y)
    size, sparse = np.abs(y), mu * (1 - r)
    with np.errstate(divide="ignore"):
        leaves = np.where(sparse > 0, size / np.where(sparse > 0, sparse, 1.0), np.inf) - 1.0
    order = np.argsort(-leaves, kind="stable")
    sorted_leaves = leaves[order]

    def minimiser(z: float) -> FloatArray:
        """Return the inner minimiser for this Z."""
        shrink = 1.0 / (1.0 + mu * r * r / z)
        # a(s) = sum over the first k of (1 - r)(|y| - sparse (1 + s)) shrink; a(s) = Z s
        at_zero = np.cumsum(((1 - r) * (size - sparse) * shrink)[order])
        fall = np.cumsum(((1 - r) * sparse * shrink)[order])
        candidates = at_zero / (z + fall)
        # coefficient k + 1 is active only while s lies below the s at which it leaves
        k = int(np.count_nonzero(np.r_[0.0, candidates[:-1]] < sorted_leaves))
        s = float(candidates[k - 1]) if k else 0.0
        return np.asarray(np.maximum(size - sparse * (1 + max(s, 0.0)), 0.0) * shrink)

    def excess(log_z: float) -> float:
        """Return log of sqrt(a^2 + b^2) / Z: 0 at the answer, falling."""
        z = math.exp(log_z)
        v = minimiser(z)
        length = math.hypot(float(((1 - r) * v).sum()), float(np.linalg.norm(r * v)))
        return math.log(length) - log_z if length > 0 else -math.inf

    top = math.hypot(float(((1 - r) * size).sum()), float(np.linalg.norm(r * size)))
    high, low = math.log(top) + 1e-9, math.log(top) - 1.0
    while excess(low) < 0:
        if low < high - 40:  # 1e-17 of y: the dual norm is mu but for rounding
            return np.zeros_like(y)
        low -= 1.0
    root = brentq(lambda x: max(excess(x), -1e3), low, high, xtol=1e-15, rtol=4 * EPS)
    return np.copysign(minimiser(math.exp(root)), y)


def _eye_dual_norm(z: FloatArray, r: FloatArray) -> float:
    """Return the dual norm of a + sqrt(a^2 + b^2) at z."""
    # z lies in t times the dual ball iff for some c in [t, 2 t]: |z_j| <= c where r_j = 0, and
    # Q(c) = sum over r_j > 0 of ((|z_j| - (1 - r_j) c)_+ / r_j)^2 <= c (2 t - c). So the norm is
    # the least of (c + Q(c) / c) / 2 over c >= A = max |z_j| with r_j = 0; without that bound the
    # minimiser solves c^2 = sum ((|z_j|^2 - (1 - r_j)^2 c^2)_+ / r_j^2), piecewise linear in c^2.
    # For r in {0, 1} and B = ||z_known||: B if A <= B, else (A^2 + B^2) / (2 A).
    size = np.abs(z)
    scale = float(size.max(initial=0.0))
    if scale == 0:
        return 0.0
    size = size / scale  # squares neither overflow nor vanish
    some = r > 0
    floor = float(size[~some].max(initial=0.0))
    v, q = size[some] / r[some], (1 - r[some]) / r[some]
    c = max(floor, _free_minimiser(v, q))
    rest = float((np.maximum(v - q * c, 0.0) ** 2).sum())
    return scale * (c + rest / c) / 2


def _free_minimiser(v: FloatArray, q: FloatArray) -> float:
    """Return the c > 0 with c^2 = sum (v^2 - q^2 c^2)_+."""
    if not v.any():
        return 0.0
    with np.errstate(divide="ignore"):
        leaves = np.where(q > 0, v / np.where(q > 0, q, 1.0), np.inf)
    order = np.argsort(-leaves, kind="stable")
    squares = np.cumsum(v[order] ** 2) / (1 + np.cumsum(q[order] ** 2))
    c = np.sqrt(squares)
    k = int(np.count_nonzero(np.r_[0.0, c[:-1]] < leaves[order]))
    return float(c[k - 1])


class _Indicator(Term, ABC):
    """Base of the sets, whose lam is 1: a multiple of an indicator is itself."""

    lam: ClassVar[float] = 1.0

    @abstractmethod
    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray | float:
        """Return the distance of -grad to the normal cone at w."""

    def lambda_max(self, grad0: Vector) -> float:
        """Return 0 if w = 0 solves the problem, infinity if not: no weight can make it so."""
        return np.inf if np.any(self.subdiff_distance(np.zeros(np.shape(grad0)), grad0)) else 0.0


@dataclass(frozen=True, eq=False)
class Box(_Indicator):
    """0 where lower <= w <= upper, infinite elsewhere.

    Parameters
    ----------
    lower, upper : float or array of shape (p,)
        -inf and inf leave a side open. Its ``lam`` is 1: a multiple of an indicator is itself.
    """

    lower: float | FloatArray
    upper: float | FloatArray
    name: ClassVar[str] = "box"
    separable: ClassVar[bool] = True

    def _check(self) -> None:
        for side in ("lower", "upper"):
            bound = np.array(getattr(self, side), dtype=np.float64)
            if bound.ndim > 1 or np.isnan(bound).any():
                raise OptionError(f"{side} must be a number or a vector of numbers")
            bound.setflags(write=False)
            self._store(side, bound)
        try:
            crossed = np.any(self.lower > self.upper)
        except ValueError as error:
            raise OptionError(f"lower and upper differ in length: {error}") from error
        if crossed or np.any(self.lower == np.inf) or np.any(self.upper == -np.inf):
            raise OptionError("a box needs lower <= upper, lower < inf and upper > -inf everywhere")

    def value(self, w: Vector) -> float:
        """Return 0 inside the box (up to 1e-12 of its ends), else infinity."""
        lower, upper = self.ends(w)
        slack = 1e-12 * np.maximum(np.abs(w), 1.0)
        return 0.0 if np.all((w >= lower - slack) & (w <= upper + slack)) else np.inf

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the nearest point of the box, for any step."""
        y, target = prox_arguments(w, step, out)
        lower, upper = self.ends(y)
        return np.clip(y, lower, upper, out=target)

    def conjugate(self, z: Vector) -> float:
        """Return the support function sum_j max(lower_j z_j, upper_j z_j)."""
        z = np.asarray(z, dtype=np.float64)
        far = np.where(z > 0, *reversed(self.ends(z)))
        return float(np.multiply(far, z, out=np.zeros_like(z), where=z != 0).sum())

    def dual_scale(self, z: Vector) -> float:
        """Return 1 if the support function is finite, else 0: scaling does not bound it."""
        return 1.0 if np.isfinite(self.conjugate(z)) else 0.0

    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Return the distance of -grad_j to the normal cone at w_j; infinite outside the box."""
        lower, upper = self.ends(w)
        push = -np.asarray(grad, dtype=np.float64)
        push = np.where(w == lower, np.maximum(push, 0.0), push)
        push = np.where(w == upper, np.minimum(push, 0.0), push)
        # where both ends meet the cone is the whole line
        push = np.where(lower == upper, 0.0, np.abs(push))
        return np.asarray(np.where((w < lower) | (w > upper), np.inf, push))

    def ends(self, w: Vector) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends, of the shape of w."""
        shaped = []
        for side in (np.asarray(self.lower), np.asarray(self.upper)):
            if side.ndim == 1 and len(side) != np.shape(w)[0]:
                raise OptionError(
                    f"the box has {len(side)} ends, the coefficients shape {np.shape(w)}: give "
                    "one for each feature, or one number"
                )
            shaped.append(np.broadcast_to(per_feature(side, w) if side.ndim else side, np.shape(w)))
        return shaped[0], shaped[1]


@dataclass(frozen=True)
class SparseHull(_Indicator):
    """0 on the hull of the weights with at most ``max_terms`` nonzeros, infinite elsewhere.

    Parameters
    ----------
    max_terms : int
        k >= 0.
    weights : {"ternary", "binary"}
        "ternary": conv{w in {-1, 0, 1}^p, at most k nonzeros} = {|w_j| <= 1, sum |w_j| <= k}.
        "binary": conv{w in {0, 1}^p, at most k ones} = {0 <= w_j <= 1, sum w_j <= k}.
        Both polytopes have whole vertices only, so they are the hulls.

    Notes
    -----
    Its ``lam`` is 1: a multiple of an indicator is itself.

    References
    ----------
    Chevaleyre, Koriche & Zucker, "Learning linear classifiers with ternary weights from
    metagenomic data" (2013), sparse convex rounding: the feasible set of its linear program.
    """

    max_terms: int
    _: KW_ONLY
    weights: Literal["ternary", "binary"] = "ternary"
    name: ClassVar[str] = "sparse_hull"

    def _check(self) -> None:
        whole = isinstance(self.max_terms, int | np.integer)
        if not whole or isinstance(self.max_terms, bool) or self.max_terms < 0:
            raise OptionError(
                f"{{max_terms}} must be a whole number >= 0, got {self.max_terms!r}", max_terms=...
            )
        if self.weights not in ("ternary", "binary"):
            raise OptionError(f'weights must be "ternary" or "binary", got {self.weights!r}')

    def value(self, w: Vector) -> float:
        """Return 0 in the hull (to 1e-12), else infinity."""
        size = self._size(w)
        inside = np.all((size >= -1e-12) & (size <= 1 + 1e-12))
        return 0.0 if inside and size.sum() <= self.max_terms + 1e-12 * len(size) else np.inf

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the nearest point of the hull: |w_j| less one multiplier, held to [0, 1]."""
        y, target = prox_arguments(w, step, out)
        size = self._size(y)
        tau = budget_multiplier(size, np.zeros(len(y)), np.ones(len(y)), float(self.max_terms))
        sign = np.sign(y) if self.weights == "ternary" else 1.0
        np.multiply(sign, np.clip(size - tau, 0.0, 1.0), out=target)
        return target

    def conjugate(self, z: Vector) -> float:
        """Return the support function: the sum of the k largest |z_j| (binary: positive z_j)."""
        size = np.sort(np.maximum(self._size(z), 0.0))
        return float(size[max(len(size) - self.max_terms, 0) :].sum())

    def dual_scale(self, z: Vector) -> float:
        """Return 1: the hull is bounded, so its support function is finite."""
        checks.one_dimension(z)
        return 1.0

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Return the distance of -grad to the normal cone at w; infinite outside the hull."""
        # the norm of the point nearest to -grad in the tangent cone, with one multiplier if the
        # budget binds
        if not np.isfinite(self.value(w)):
            return np.inf
        w, push = np.asarray(w, dtype=np.float64), -np.asarray(grad, dtype=np.float64)
        size = self._size(w)
        zero = size <= 0
        ternary = self.weights == "ternary"
        along = np.where(zero, np.abs(push) if ternary else push, np.sign(w) * push)
        lower = np.where(zero, 0.0, -np.inf)
        upper = np.where(size >= 1, 0.0, np.inf)
        tight = size.sum() >= self.max_terms - 1e-12 * max(self.max_terms, 1)
        tau = budget_multiplier(along, lower, upper, 0.0) if tight else 0.0
        return float(np.linalg.norm(np.clip(along - tau, lower, upper)))

    def _size(self, w: Vector) -> FloatArray:
        """Return what of a vector is held to [0, 1] and summed."""
        checks.one_dimension(w)
        w = np.asarray(w, dtype=np.float64)
        return np.abs(w) if self.weights == "ternary" else w


def budget_multiplier(
    values: FloatArray, lower: FloatArray, upper: FloatArray, budget: float
) -> float:
    """Return the least tau >= 0 with sum_j clip(values_j - tau, lower_j, upper_j) <= budget."""
    # All of shape (p,), the ends may be infinite, budget >= the sum of ``lower``. The sum falls
    # piecewise linearly in tau: one sort of the breakpoints finds it exactly.
    if np.clip(values, lower, upper).sum() <= budget:
        return 0.0
    starts, stops = np.maximum(values - upper, 0.0), np.maximum(values - lower, 0.0)
    points = np.unique(np.concatenate([[0.0], starts[np.isfinite(starts)],
                                       stops[np.isfinite(stops)]]))  # fmt: skip
    low, high = 0, len(points)  # the sum at points[low] is above the budget
    while high - low > 1:
        middle = (low + high) // 2
        if np.clip(values - points[middle], lower, upper).sum() > budget:
            low = middle
        else:
            high = middle
    tau = float(points[low])
    end = float(points[high]) if high < len(points) else tau + 2.0
    middle_values = values - (tau + end) / 2  # off the breakpoints, where rounding cannot mislead
    moving = int(((middle_values > lower) & (middle_values < upper)).sum())
    excess = float(np.clip(values - tau, lower, upper).sum()) - budget
    exact = tau + excess / max(moving, 1)
    return min(exact, end) if high < len(points) else exact
