"""Indicators of sets: a box, and the hull of the sparse weights. Their ``lam`` is 1."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.penalties._base import Term, Vector, check_one_dimension, per_feature, prox_arguments


@dataclass(frozen=True, eq=False)
class Box(Term):
    """0 where lower <= w <= upper, infinite elsewhere.

    Parameters
    ----------
    lower, upper : float or array of shape (p,)
        -inf and inf leave a side open. Its ``lam`` is 1: a multiple of an indicator is itself.
    """

    lower: float | FloatArray
    upper: float | FloatArray
    lam: ClassVar[float] = 1.0
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
        """0 inside the box (up to 1e-12 of its ends), else infinite."""
        lower, upper = self._ends(w)
        slack = 1e-12 * np.maximum(np.abs(w), 1.0)
        return 0.0 if np.all((w >= lower - slack) & (w <= upper + slack)) else np.inf

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The nearest point of the box, whatever the step."""
        y, target = prox_arguments(w, step, out)
        lower, upper = self._ends(y)
        return np.clip(y, lower, upper, out=target)

    def conjugate(self, z: Vector) -> float:
        """The support function sum_j max(lower_j z_j, upper_j z_j)."""
        z = np.asarray(z, dtype=np.float64)
        far = np.where(z > 0, *reversed(self._ends(z)))
        return float(np.multiply(far, z, out=np.zeros_like(z), where=z != 0).sum())

    def dual_scale(self, z: Vector) -> float:
        """1 where the support function is finite, else 0: a scaled direction stays unbounded."""
        return 1.0 if np.isfinite(self.conjugate(z)) else 0.0

    def subdiff_distance(self, w: Vector, grad: Vector) -> FloatArray:
        """Distance of -grad_j to the normal cone at w_j; infinite outside the box."""
        lower, upper = self._ends(w)
        push = -np.asarray(grad, dtype=np.float64)
        push = np.where(w == lower, np.maximum(push, 0.0), push)
        push = np.where(w == upper, np.minimum(push, 0.0), push)
        # where both ends meet the cone is the whole line
        push = np.where(lower == upper, 0.0, np.abs(push))
        return np.asarray(np.where((w < lower) | (w > upper), np.inf, push))

    def lambda_max(self, grad0: Vector) -> float:
        """0 where w = 0 solves the problem at once, infinite where no weight can make it so."""
        distance = self.subdiff_distance(np.zeros(np.shape(grad0)), grad0)
        return 0.0 if not distance.any() else np.inf

    def _ends(self, w: Vector) -> tuple[FloatArray, FloatArray]:
        """The lower and upper ends, of the shape of w."""
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
class SparseHull(Term):
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
    lam: ClassVar[float] = 1.0
    name: ClassVar[str] = "sparse_hull"

    def _check(self) -> None:
        whole = isinstance(self.max_terms, int | np.integer)
        if not whole or isinstance(self.max_terms, bool) or self.max_terms < 0:
            raise OptionError(f"max_terms must be a whole number >= 0, got {self.max_terms!r}")
        if self.weights not in ("ternary", "binary"):
            raise OptionError(f'weights must be "ternary" or "binary", got {self.weights!r}')

    def value(self, w: Vector) -> float:
        """0 in the hull (to 1e-12), else infinite."""
        size = self._size(w)
        inside = np.all((size >= -1e-12) & (size <= 1 + 1e-12))
        return 0.0 if inside and size.sum() <= self.max_terms + 1e-12 * len(size) else np.inf

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The nearest point of the hull: |w_j| less one multiplier, held to [0, 1]."""
        y, target = prox_arguments(w, step, out)
        size = self._size(y)
        tau = _budget_multiplier(size, np.zeros(len(y)), np.ones(len(y)), float(self.max_terms))
        sign = np.sign(y) if self.weights == "ternary" else 1.0
        np.multiply(sign, np.clip(size - tau, 0.0, 1.0), out=target)
        return target

    def conjugate(self, z: Vector) -> float:
        """The support function: the sum of the k largest |z_j| (binary: positive z_j)."""
        size = np.sort(np.maximum(self._size(z), 0.0))
        return float(size[max(len(size) - self.max_terms, 0) :].sum())

    def dual_scale(self, z: Vector) -> float:
        """1: the hull is bounded, so its support function is finite."""
        check_one_dimension(z)
        return 1.0

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Euclidean distance of -grad to the normal cone at w; infinite outside the hull.

        It is the norm of the nearest point to -grad in the tangent cone, found with one
        multiplier where the budget binds.
        """
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
        tau = _budget_multiplier(along, lower, upper, 0.0) if tight else 0.0
        return float(np.linalg.norm(np.clip(along - tau, lower, upper)))

    def lambda_max(self, grad0: Vector) -> float:
        """0 where w = 0 solves the problem at once, infinite where it does not."""
        return 0.0 if self.subdiff_distance(np.zeros(np.shape(grad0)), grad0) == 0 else np.inf

    def _size(self, w: Vector) -> FloatArray:
        """What is held to [0, 1] and summed, of a vector."""
        check_one_dimension(w)
        w = np.asarray(w, dtype=np.float64)
        return np.abs(w) if self.weights == "ternary" else w


def _budget_multiplier(
    values: FloatArray, lower: FloatArray, upper: FloatArray, budget: float
) -> float:
    """The least tau >= 0 with sum_j clip(values_j - tau, lower_j, upper_j) <= budget.

    All of shape (p,), the ends may be infinite, budget >= the sum of ``lower``. The sum falls
    piecewise linearly in tau: one sort of the breakpoints finds it exactly.
    """
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
