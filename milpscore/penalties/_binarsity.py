"""Binarsity: total variation inside each one-hot block, each block summing to zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.penalties._base import (
    Term,
    Vector,
    check_blocks,
    check_length,
    check_vector,
    prox_arguments,
    shrink,
)
from milpscore.penalties._chain import chain_gauge, chain_residual, in_chain_domain
from milpscore.penalties._taut_string import tv_prox


@dataclass(frozen=True, eq=False)
class Binarsity(Term):
    """lam * sum over blocks of sum_{k >= 2} weights_k |w_k - w_{k-1}|, every block summing to 0.

    Parameters
    ----------
    lam : float
    blocks : sequence of sequences of int
        The columns of each raw feature, in the order of its bins. Every column lies in exactly
        one block.
    weights : array of shape (p,), optional
        >= 0, one a column: the weight of the jump *into* that column, as in the source. The entry
        of a block's first column has no meaning. All 1 by default; see
        :func:`data_driven_weights`.

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), and its
    Algorithm 2: the prox of total variation, then centring, is exact since total variation does
    not see a constant.
    """

    lam: float
    _: KW_ONLY
    blocks: Sequence[Sequence[int]]
    weights: FloatArray | None = None
    name: ClassVar[str] = "binarsity"
    separable: ClassVar[bool] = False
    is_norm: ClassVar[bool] = False

    def _check(self) -> None:
        blocks = check_blocks(self.blocks)
        columns = sum(len(block) for block in blocks)
        self._store("blocks", blocks)
        if self.weights is not None:
            weights = check_vector("weights", self.weights)
            if len(weights) != columns:
                raise OptionError(
                    f"weights has {len(weights)} entries for {columns} columns: give one a "
                    "column (that of a block's first is not used)"
                )
            self._store("weights", weights)

    def value(self, w: Vector) -> float:
        """lam * Omega(w); infinite where a block does not sum to zero.

        Sums within 1e-9 of the largest block's size (or of 1, coefficients being log odds) pass:
        centring a block leaves the rounding of its mean.
        """
        v = self._chained(w)
        sums, sizes = np.add.reduceat(v, self._starts), np.add.reduceat(np.abs(v), self._starts)
        if np.any(np.abs(sums) > 1e-9 * max(1.0, float(sizes.max()))):
            return np.inf
        return self.lam * float(self._jump_weights @ np.abs(np.diff(v)))

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """The prox of step * penalty: all blocks as one chain with free ends, then centred.

        Parameters
        ----------
        w : ndarray of shape (p,)
        step : float
        out : ndarray, optional
            Where the answer goes; may be ``w``.

        Returns
        -------
        ndarray
        """
        v = self._chained(w)
        _, target = prox_arguments(w, step, out)
        smooth = tv_prox(v, self._jump_weights, v, step * self.lam)
        target[self._order] = self._centred(smooth)
        return target

    def conjugate(self, z: Vector) -> float:
        """0 where each centred block has |cumsum(z)_k| <= lam weights_k, else infinite."""
        widths, size = self.lam * self._jump_weights, float(np.abs(z).sum())
        inside = in_chain_domain(self._centred(self._chained(z)), widths, size)
        return 0.0 if inside else np.inf

    def dual_scale(self, z: Vector) -> float:
        """The largest t in [0, 1] with conjugate(t z) finite."""
        return shrink(1.0, self._gauge(z, self.lam))

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Euclidean distance of -grad to the subdifferential at w; infinite off the sums of 0."""
        if not np.isfinite(self.value(w)):
            return np.inf
        v, push = self._chained(w), -self._chained(grad)
        residual = chain_residual(v, push, self.lam * self._jump_weights)
        return float(np.linalg.norm(self._centred(residual)))

    def lambda_max(self, grad0: Vector) -> float:
        """max over blocks of |cumsum(centred grad0)_k| / weights_k."""
        return self._gauge(grad0, 1.0)

    def _gauge(self, z: Vector, lam: float) -> float:
        centred = self._centred(self._chained(z))
        return chain_gauge(centred, lam * self._jump_weights, float(np.abs(z).sum()))

    @cached_property
    def _order(self) -> IntArray:
        """Columns block by block."""
        return np.array([column for block in self.blocks for column in block], dtype=np.int64)

    @cached_property
    def _starts(self) -> IntArray:
        """Where each block begins in that order."""
        return np.cumsum([0, *(len(block) for block in self.blocks[:-1])])

    @cached_property
    def _sizes(self) -> IntArray:
        return np.array([len(block) for block in self.blocks], dtype=np.int64)

    @cached_property
    def _jump_weights(self) -> FloatArray:
        """Weights between neighbours of the one long chain, 0 between blocks."""
        given = np.ones(len(self._order)) if self.weights is None else self.weights[self._order]
        given[self._starts] = 0.0
        return np.asarray(given[1:])

    def _chained(self, w: Vector) -> FloatArray:
        """The coefficients block by block."""
        check_length(w, len(self._order), "blocks")
        return np.asarray(w, dtype=np.float64)[self._order]

    def _centred(self, v: FloatArray) -> FloatArray:
        """Each block less its mean; a block of equal entries becomes exactly zero."""
        means = np.add.reduceat(v, self._starts) / self._sizes
        lowest = np.minimum.reduceat(v, self._starts)
        level = np.maximum.reduceat(v, self._starts) == lowest
        return np.asarray(v - np.repeat(np.where(level, lowest, means), self._sizes))


def data_driven_weights(
    counts: Sequence[Sequence[float]] | Sequence[FloatArray], blocks: Sequence[Sequence[int]]
) -> FloatArray:
    """Binarsity's weights sqrt((log d / n) pi_jk), from the rows in each bin.

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
        Where counts and blocks do not match, or a block has no rows.

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018).
    """
    columns = sum(len(block) for block in blocks)
    weights = np.zeros(columns)
    if len(counts) != len(blocks):
        raise OptionError(f"{len(counts)} lists of counts for {len(blocks)} blocks: give one each")
    for rows, block in zip(counts, blocks, strict=True):
        in_bins = check_vector("counts", rows)
        n = float(in_bins.sum())
        if len(in_bins) != len(block) or n == 0:
            raise OptionError(
                f"counts {in_bins.tolist()} do not fit a block of {len(block)} bins: give the "
                "rows in each bin, at least one row in all"
            )
        share = np.cumsum(in_bins[::-1])[::-1] / n
        weights[list(block)] = np.sqrt(np.log(columns) / n * share)
    return weights
