"""The group lasso: Euclidean norms of blocks of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.penalties._base import (
    Norm,
    Vector,
    check_blocks,
    check_length,
    check_vector,
    prox_arguments,
)


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
    separable: ClassVar[bool] = False
    is_norm: ClassVar[bool] = True

    def _check(self) -> None:
        blocks = check_blocks(self.blocks)
        self._store("blocks", blocks)
        if self.weights is not None:
            weights = check_vector("weights", self.weights)
            if len(weights) != len(blocks) or not weights.all():
                raise OptionError(
                    f"weights needs one number > 0 for each of the {len(blocks)} blocks, got "
                    f"{weights.tolist()}"
                )
            self._store("weights", weights)

    def value(self, w: Vector) -> float:
        """lam * Omega(w) of a vector of shape (p,)."""
        return self.lam * float(self._block_weights @ self._lengths(w))

    def prox(self, w: Vector, step: float, out: FloatArray | None = None) -> FloatArray:
        """(1 - step lam weights_B / ||w_B||)_+ w_B, block by block.

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
        y, target = prox_arguments(w, step, out)
        lengths = self._lengths(y)
        kept = np.maximum(lengths - step * self.lam * self._block_weights, 0.0)
        target[...] = y * self._spread(_ratio(kept, lengths))
        return target

    def dual_norm(self, z: Vector) -> float:
        """max over blocks of ||z_B||_2 / weights_B."""
        return float((self._lengths(z) / self._block_weights).max())

    def subdiff_distance(self, w: Vector, grad: Vector) -> float:
        """Euclidean distance of -grad to the subdifferential at w.

        That of a zero block is a ball of radius lam weights_B, that of any other a point.
        """
        lengths, pushes = self._lengths(w), self._lengths(grad)
        limits = self.lam * self._block_weights
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
    def _block_weights(self) -> FloatArray:
        sizes = np.array([len(block) for block in self.blocks], dtype=np.float64)
        return np.sqrt(sizes) if self.weights is None else self.weights

    def _lengths(self, w: Vector) -> FloatArray:
        """||w_B||_2 of every block."""
        check_length(w, len(self._member), "blocks")
        values = np.asarray(w, dtype=np.float64)
        # divided by the largest entry first: squares of tiny ones would vanish
        top = np.zeros(len(self.blocks))
        np.maximum.at(top, self._member, np.abs(values))
        part = values * self._spread(_ratio(np.ones(len(top)), top))
        squares = np.bincount(self._member, weights=part * part, minlength=len(top))
        return np.asarray(top * np.sqrt(squares))

    def _spread(self, each: FloatArray) -> FloatArray:
        """A number for every block as one for every column."""
        return np.asarray(each[self._member])


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """above / below, 0 where below is 0."""
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)
