"""Measures of the coefficients alone: size, integrity, changes inside a feature's bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError


def integrity(w: npt.ArrayLike, tol: float = 1e-6) -> float:
    """Share of the coefficients that are integers, zeros included.

    Parameters
    ----------
    w : array of shape (p,)
    tol : float
        Largest distance to the nearest integer that still counts as integer.

    Returns
    -------
    float
        In [0, 1]; 1 for a model without coefficients.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre, Zucker (2020), "Learning interpretable models using soft
    integrity constraints", ACML, section 2.
    """
    values = as_vector(w)
    if values.size == 0:
        return 1.0
    return float(np.mean(np.abs(values - np.rint(values)) <= tol))


def magnitude(w: npt.ArrayLike, ord: float = 1) -> float:
    """Norm of the coefficients.

    Parameters
    ----------
    w : array of shape (p,)
    ord : {1, 2, inf}
        Which norm.

    Returns
    -------
    float

    Raises
    ------
    DataError
        If ``ord`` is not 1, 2 or infinity.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre, Zucker (2020), ACML, section 2.
    """
    if ord not in (1, 2, np.inf):
        raise DataError(f"magnitude knows the norms 1, 2 and inf, not {ord!r}")
    values = as_vector(w)
    return float(np.linalg.norm(values, ord=ord)) if values.size else 0.0


def nonzeros(w: npt.ArrayLike, tol: float = 1e-6) -> int:
    """Number of coefficients further than ``tol`` from zero.

    Parameters
    ----------
    w : array of shape (p,)
    tol : float

    Returns
    -------
    int
    """
    return int(np.count_nonzero(np.abs(as_vector(w)) > tol))


def total_variation(w: npt.ArrayLike, blocks: Sequence[Sequence[int]]) -> float:
    """Sum of the absolute differences of neighbours inside each block.

    Parameters
    ----------
    w : array of shape (p,)
    blocks : sequence of sequences of int
        The ordered bins of each binned feature, as positions in ``w``.

    Returns
    -------
    float
    """
    values = as_vector(w)
    return float(sum(np.abs(np.diff(values[list(block)])).sum() for block in blocks))


def as_vector(w: npt.ArrayLike) -> FloatArray:
    """Coefficients as a float vector."""
    return np.asarray(w, dtype=np.float64).ravel()
