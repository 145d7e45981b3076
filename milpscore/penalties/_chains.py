"""Total variation along chains of coefficients: one chain, or one for each block of bins.

The subdifferential's points are D'u with |u_k| <= width_k, so a point z is one of them for the
dual variables -cumsum(z). A width of 0 (the end of every chain has one) asks for a sum of zero; a
gradient sums to zero only as far as the intercept is fitted, so sums within 1e-9 of its size pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.penalties import checks
from milpscore.penalties.checks import Vector, prox_arguments
from milpscore.penalties.ramps import ROUNDING, Term, per_feature, shrink


class _Chains(Term, ABC):
    """lam * sum_k jumps_k |v_{k+1} - v_k| of v, the coefficients in the order of the chains."""

    lam: float

    @abstractmethod
    def _line(self, w: Vector) -> FloatArray:
        """Return the coefficients chain by chain, shape (p,)."""

    @abstractmethod
    def _jumps(self, p: int) -> FloatArray:
        """Return the weights of jumps between neighbours, (p - 1,): 0 between two chains."""

    def _centred(self, v: FloatArray) -> FloatArray:
        """Return v projected on the penalty's constraint on sums, if it has one."""
        return v

    def conjugate(self, z: Vector) -> float:
        """Return 0 if each centred chain has |cumsum(z)_k| <= lam weights_k, else infinity."""
        v = self._centred(self._line(z))
        widths, size = self.lam * self._jumps(len(v)), float(np.abs(z).sum())
        limits = np.append(widths, 0.0)
        slack = np.where(limits == 0, _nothing(size, widths), ROUNDING * size)
        inside = np.all(_lengths(np.cumsum(v, axis=0)) <= limits * (1 + ROUNDING) + slack)
        return 0.0 if inside else np.inf

    def chains(self, p: int) -> tuple[IntArray, FloatArray, list[list[int]]]:
        """Return the columns in order, weights of the jumps between, and columns that sum to 0."""
        order = self._line(np.arange(p)).astype(np.int64)
        return order, self._jumps(p), self._summed()

    def _summed(self) -> list[list[int]]:
        """Return the sets of columns whose sum must be 0."""
        return []

    def dual_scale(self, z: Vector) -> float:
        """Return the largest t in [0, 1] with conjugate(t z) finite; 0 if a sum must vanish."""
        return shrink(1.0, self._gauge(z, self.lam))

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Return the distance of -grad to the subdifferential at w; infinite if w is outside."""
        # the norm of a prox at -grad, that of the directional derivative at w: jumps give a linear
        # part, and total variation remains where neighbours are equal
        if not np.isfinite(self.value(w)):
            return np.inf
        v, push = self._line(w), -self._line(grad)
        jumps, widths = np.diff(v, axis=0), self.lam * self._jumps(len(v))
        lengths = _lengths(jumps)
        pull = np.zeros((len(v) + 1, *v.shape[1:]))
        directions = jumps / per_feature(np.where(lengths == 0, 1.0, lengths), jumps)
        pull[1:-1] = per_feature(widths, jumps) * directions
        rest = push + np.diff(pull, axis=0)
        residual = _tv_prox(rest, np.where(lengths == 0, widths, 0.0), np.empty_like(v))
        return float(np.linalg.norm(self._centred(residual)))

    def lambda_max(self, grad0: Vector) -> float:
        """Return max_k |cumsum(centred grad0)_k| / weights_k; infinite if a sum must vanish."""
        return self._gauge(grad0, 1.0)

    @abstractmethod
    def value(self, w: Vector) -> float:
        """Return lam * Omega(w) of a vector of shape (p,)."""

    def _gauge(self, z: Vector, lam: float) -> float:
        """Return the least t with |cumsum(z)_k| <= t lam weights_k everywhere, the last width 0."""
        v = self._centred(self._line(z))
        widths = lam * self._jumps(len(v))
        sums = _lengths(np.cumsum(v, axis=0))
        ends = np.append(widths == 0, True)
        if np.any(sums[ends] > _nothing(float(np.abs(z).sum()), widths)):
            return np.inf
        inner = ~ends
        return float((sums[inner] / widths[inner[:-1]]).max(initial=0.0))


def _lengths(rows: FloatArray) -> FloatArray:
    """Return the sizes of the entries, or of the rows of a matrix."""
    return np.abs(rows) if rows.ndim == 1 else np.linalg.norm(rows, axis=1)


def _nothing(size: float, widths: FloatArray) -> float:
    """Return what a sum that must vanish may come to: little beside z, or beside the widths."""
    return 1e-9 * size + ROUNDING * float(widths.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class WeightedTV(_Chains):
    """lam * sum_k weights_k |w_{k+1} - w_k|, the fused lasso's penalty of jumps.

    Parameters
    ----------
    lam : float
    weights : array of shape (p - 1,), optional
        >= 0; all 1 by default. A weight of 0 parts the chain.

    Notes
    -----
    A constant costs nothing, so gradients in the conjugate's domain sum to zero over the chain
    (they do where the chain holds all columns of a one-hot block and the intercept is fitted); sums
    within 1e-9 of the gradient's size count as zero.

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018). Its Algorithm 1
    is wrong as printed on most weighted cases, and quadratic on a ramp; the taut string is exact
    and O(n) on everything.
    """

    lam: float
    weights: FloatArray | None = None
    name: ClassVar[str] = "weighted_tv"

    def _check(self) -> None:
        if self.weights is not None:
            self._store("weights", checks.vector("weights", self.weights))

    def value(self, w: Vector) -> float:
        """Return lam times the weighted total variation of a vector of shape (p,)."""
        v = self._line(w)
        return float(self.lam * self._jumps(len(v)) @ np.abs(np.diff(v)))

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the prox of step * penalty at a vector, in O(p); ``out`` may be ``w``."""
        y, target = prox_arguments(w, step, out)
        self._line(y)
        weights = np.ones(1) if self.weights is None else self.weights
        return _tv_prox(y, weights, target, step * self.lam)

    def _line(self, w: Vector) -> FloatArray:
        checks.one_dimension(w)
        if self.weights is not None:
            checks.length(w, len(self.weights) + 1, "weights, one for every jump,")
        return np.asarray(w, dtype=np.float64)

    def _jumps(self, p: int) -> FloatArray:
        return np.ones(p - 1) if self.weights is None else self.weights


@dataclass(frozen=True, eq=False)
class Binarsity(_Chains):
    """lam * sum over blocks of sum_{k >= 2} weights_k |w_k - w_{k-1}|, every block summing to 0.

    Parameters
    ----------
    lam : float
    blocks : sequence of sequences of int
        The columns of each raw feature, in the order of its bins. Every column lies in exactly
        one block.
    weights : array of shape (p,), optional
        >= 0, one per column: the weight of the jump *into* that column, as in the source. The entry
        of a block's first column has no meaning. All 1 by default; see
        :func:`data_driven_weights`.
    shared : bool
        Of the coefficients of several classes, shape (p, K) (the multinomial loss), a jump is the
        length ||W_k - W_{k-1}||_2 of a row, so that the classes have their cuts in common. By
        default each class has its own.

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), and its
    Algorithm 2: the prox of total variation, then centring, is exact since total variation does
    not see a constant. Jumps of rows: Bleakley & Vert, "The group fused lasso for multiple
    change-point detection" (2011).
    """

    lam: float
    _: KW_ONLY
    blocks: Sequence[Sequence[int]]
    weights: FloatArray | None = None
    shared: bool = False
    name: ClassVar[str] = "binarsity"

    def _check(self) -> None:
        if not isinstance(self.shared, bool):
            raise OptionError("{shared}; use True (cuts in common) or False", shared=self.shared)
        blocks = checks.partition(self.blocks)
        columns = sum(len(block) for block in blocks)
        self._store("blocks", blocks)
        if self.weights is not None:
            weights = checks.vector("weights", self.weights)
            if len(weights) != columns:
                raise OptionError(
                    f"weights has {len(weights)} entries for {columns} columns: one per column is "
                    "needed (that of a block's first is not used)"
                )
            self._store("weights", weights)

    def value(self, w: Vector) -> float:
        """Return lam * Omega(w); infinite if a block does not sum to zero."""
        # sums within 1e-9 of the largest block's size (or of 1, coefficients being log odds) pass:
        # centring a block leaves the rounding of its mean
        v = self._line(w)
        sums, sizes = np.add.reduceat(v, self._starts), np.add.reduceat(np.abs(v), self._starts)
        if np.any(np.abs(sums) > 1e-9 * max(1.0, float(sizes.max()))):
            return np.inf
        return self.lam * float(self._jump_weights @ _lengths(np.diff(v, axis=0)))

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """Return the prox of step * penalty: all blocks as one chain with free ends, centred."""
        y, target = prox_arguments(w, step, out)
        v = self._line(y)
        smooth = _tv_prox(v, self._jump_weights, v, step * self.lam)
        target[self._order] = self._centred(smooth)
        return target

    def _summed(self) -> list[list[int]]:
        return [list(block) for block in self.blocks]

    @cached_property
    def _order(self) -> IntArray:
        """Columns block by block."""
        return np.array([column for block in self.blocks for column in block], dtype=np.int64)

    @cached_property
    def _sizes(self) -> IntArray:
        """Bins of each block."""
        return np.array([len(block) for block in self.blocks], dtype=np.int64)

    @cached_property
    def _starts(self) -> IntArray:
        """Where each block begins in that order."""
        return np.cumsum(self._sizes) - self._sizes

    @cached_property
    def _jump_weights(self) -> FloatArray:
        """Weights between neighbours of the one long chain, 0 between blocks."""
        order = self._order
        weights = np.ones(len(order)) if self.weights is None else self.weights[order]
        weights[self._starts] = 0.0
        return np.asarray(weights[1:])

    def _line(self, w: Vector) -> FloatArray:
        checks.length(w[:, 0] if self.shared and np.ndim(w) == 2 else w, len(self._order), "blocks")
        return np.asarray(w, dtype=np.float64)[self._order]

    def _jumps(self, p: int) -> FloatArray:
        return self._jump_weights

    def _centred(self, v: FloatArray) -> FloatArray:
        """Return each block less its mean; a block of equal entries becomes exactly zero."""
        means = np.add.reduceat(v, self._starts) / per_feature(self._sizes.astype(np.float64), v)
        lowest = np.minimum.reduceat(v, self._starts)
        level = np.maximum.reduceat(v, self._starts) == lowest
        return np.asarray(v - np.repeat(np.where(level, lowest, means), self._sizes, axis=0))


def data_driven_weights(
    counts: Sequence[Sequence[float]] | Sequence[FloatArray], blocks: Sequence[Sequence[int]]
) -> FloatArray:
    """Return Binarsity's weights sqrt((log d / n) pi_jk), from the rows in each bin.

    pi_jk is the share of rows in bins k, ..., d_j of feature j and d the number of columns.
    Erratum: the slide deletes k columns where it should be k - 1 (its last jump would cost
    nothing).

    Parameters
    ----------
    counts : sequence of arrays
        For each block, the (weighted) number of rows in each of its bins.
    blocks : sequence of sequences of int
        As for :class:`Binarsity`.

    Returns
    -------
    ndarray of shape (p,)
        To be given as ``weights``; the theory fixes them up to a constant, which is ``lam``.

    Raises
    ------
    OptionError
        Counts and blocks do not match, or a block has no rows.

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018).
    """
    columns = sum(len(block) for block in blocks)
    weights = np.zeros(columns)
    if len(counts) != len(blocks):
        raise OptionError(f"{len(counts)} lists of counts for {len(blocks)} blocks: give one each")
    for rows, block in zip(counts, blocks, strict=True):
        in_bins = checks.vector("counts", rows)
        n = float(in_bins.sum())
        if len(in_bins) != len(block) or n == 0:
            raise OptionError(
                f"counts {in_bins.tolist()} do not fit a block of {len(block)} bins: give the "
                "rows in each bin, at least one row in all"
            )
        share = np.cumsum(in_bins[::-1])[::-1] / n
        weights[list(block)] = np.sqrt(np.log(columns) / n * share)
    return weights


def _tv_prox(y: FloatArray, width: FloatArray, out: FloatArray, scale: float = 1.0) -> FloatArray:
    """Write argmin over x of ||y - x||^2 / 2 + scale * sum_k width_k |x_{k+1} - x_k| to ``out``."""
    # y, out (n,), may be one; width (n - 1,), or (1,) for one width everywhere: a zero parts the
    # vector into independent chains, infinity joins two entries; the rows of a matrix (n, K) jump
    # together
    if y.ndim == 2:
        from milpscore.penalties.shared import shared_variation

        shared_variation(np.ascontiguousarray(y), scale * np.ascontiguousarray(width), out)
        return out
    from milpscore.penalties import kernels

    largest = max(float(y.max(initial=0.0)), -float(y.min(initial=0.0)))
    width, scale = _binding(y, width, scale, largest)
    near = ROUNDING * (largest + scale * float(width.max(initial=0.0)))
    # one memory layout, so that one compiled form serves
    apart = out.flags.c_contiguous and not np.may_share_memory(y, out)
    solid = out if apart else np.empty(y.size)
    y, width = np.ascontiguousarray(y), np.array(width, order="C")
    kernels.total_variation(y, width, float(scale), near, solid, np.empty((2, y.size)))
    if solid is not out:
        out[:] = solid
    return out


def _binding(
    y: FloatArray, width: FloatArray, scale: float, largest: float
) -> tuple[FloatArray, float]:
    """Return the widths, none far beyond the value from which it does not bind, and the scale."""
    # 1e4 times the data is not yet swamped in rounding; beyond, a bound on the dual variable is
    # worth its extra pass
    if scale * float(width.max(initial=0.0)) <= 1e4 * max(largest, 1e-300):
        return width, scale
    # The dual variable, cumsum(y - x), never leaves the range of cumsum(y - mean(y)): where the
    # string touches one side of the tube it is bent, so it lies beyond the chord between its last
    # and next touches of the other side.
    path = np.cumsum(y - y.mean())
    reach = max(float(path.max()), 0.0) - min(float(path.min()), 0.0)
    return np.minimum(scale * width, reach + 1e-300), 1.0
