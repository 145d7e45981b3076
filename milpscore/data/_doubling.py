"""Doubled features: binary weights on (x, -x) are ternary weights on x."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError


def double_features(X: npt.ArrayLike) -> FloatArray:
    """Double every feature: (x_1, -x_1, ..., x_p, -x_p).

    Chevaleyre, Koriche and Zucker (2013), section 2: a learner of weights in {0, 1} on the doubled
    features learns weights in {-1, 0, 1} on the features; :func:`undouble` reads them back.

    Parameters
    ----------
    X : array of numbers, shape (n, p)

    Returns
    -------
    ndarray of float64, shape (n, 2p)

    Raises
    ------
    DataError
        X is not a matrix.
    """
    values: FloatArray = np.asarray(X, dtype=np.float64)
    if values.ndim != 2:
        raise DataError(f"X has {values.ndim} dimension(s), not 2; pass one row per sample.")
    doubled = np.empty((values.shape[0], 2 * values.shape[1]))
    doubled[:, 0::2] = values
    doubled[:, 1::2] = -values
    return doubled


def undouble(weights: npt.ArrayLike) -> npt.NDArray[Any]:
    """Weights on the features from weights on the doubled features: c_i = c'_{2i-1} - c'_{2i}.

    Parameters
    ----------
    weights : array of shape (2p,) or (..., 2p)

    Returns
    -------
    ndarray of shape (p,) or (..., p)
        Whole numbers stay whole.

    Raises
    ------
    DataError
        The last dimension is odd.
    """
    doubled = np.asarray(weights)
    if doubled.ndim == 0 or doubled.shape[-1] % 2:
        raise DataError(
            f"weights have shape {doubled.shape}; their last dimension must be even,"
            " two weights for each feature."
        )
    if doubled.dtype.kind in "bu":
        doubled = doubled.astype(np.int64)  # unsigned differences would wrap around
    return np.asarray(doubled[..., 0::2] - doubled[..., 1::2])
