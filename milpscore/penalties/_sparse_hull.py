"""The convex hull of the sparse ternary (or binary) weights."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.penalties._base import Term, Vector, check_one_dimension, prox_arguments
from milpscore.penalties._clipped_sum import budget_multiplier


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
    separable: ClassVar[bool] = False
    is_norm: ClassVar[bool] = False

    def _check(self) -> None:
        whole = isinstance(self.max_terms, int | np.integer)
        if not whole or isinstance(self.max_terms, bool) or self.max_terms < 0:
            raise OptionError(f"max_terms must be a whole number >= 0, got {self.max_terms!r}")
        if self.weights not in ("ternary", "binary"):
            raise OptionError(f'weights must be "ternary" or "binary", got {self.weights!r}')

    def value(self, w: Vector) -> float:
        """0 in the hull (to 1e-12), else infinite."""
        check_one_dimension(w)
        size = self._size(w)
        inside = np.all((size >= -1e-12) & (size <= 1 + 1e-12))
        return 0.0 if inside and size.sum() <= self.max_terms + 1e-12 * len(size) else np.inf

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The nearest point of the hull: |w_j| less one multiplier, held to [0, 1]."""
        check_one_dimension(w)
        y, target = prox_arguments(w, step, out)
        size = self._size(y)
        tau = budget_multiplier(size, np.zeros(len(y)), np.ones(len(y)), float(self.max_terms))
        sign = np.sign(y) if self.weights == "ternary" else 1.0
        np.multiply(sign, np.clip(size - tau, 0.0, 1.0), out=target)
        return target

    def conjugate(self, z: Vector) -> float:
        """The support function: the sum of the k largest |z_j| (binary: positive z_j)."""
        check_one_dimension(z)
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
        tau = budget_multiplier(along, lower, upper, 0.0) if tight else 0.0
        return float(np.linalg.norm(np.clip(along - tau, lower, upper)))

    def lambda_max(self, grad0: Vector) -> float:
        """0 where w = 0 solves the problem at once, infinite where it does not."""
        return 0.0 if self.subdiff_distance(np.zeros(np.shape(grad0)), grad0) == 0 else np.inf

    def _size(self, w: Vector) -> FloatArray:
        """What is held to [0, 1] and summed."""
        w = np.asarray(w, dtype=np.float64)
        return np.abs(w) if self.weights == "ternary" else w
