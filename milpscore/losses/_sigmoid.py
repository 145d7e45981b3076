"""The logistic function without overflow."""

from __future__ import annotations

import numpy as np

from milpscore.core.design import FloatArray


def sigmoid(z: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """1 / (1 + exp(-z)) for any finite or infinite z; exact to rounding on both sides.

    Parameters
    ----------
    z : ndarray
    out : ndarray of the same shape, optional
        May be ``z`` itself.

    Returns
    -------
    ndarray
    """
    # exp of a negative number never overflows, and 1/(1+e) loses nothing where e is small
    positive = z >= 0
    e = np.abs(z, out=out)
    np.negative(e, out=e)
    np.exp(e, out=e)
    top = np.where(positive, 1.0, e)
    e += 1.0
    return np.divide(top, e, out=e)
