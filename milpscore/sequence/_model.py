"""The linear-chain CRF: likelihood, gradient and posteriors at given parameters.

p(y | x) = exp(sum_t [sum_u mu_{u, y_t} + sum_b lambda_{b, y_{t-1}, y_t}]) / Z(x), u and b over the
observations that hold at position t. The objective of the trainers is a sum, not a mean:
sum_i -log p(y_i | x_i) + rho1 |theta|_1 + rho2/2 |theta|_2^2.

References
----------
Sokolovska, "Feature selection; interpretable models" (slides). Errata heeded here: Z sums over
Y^T, the gradient of log Z is the pairwise posterior, and the penalty is (rho2/2) |theta|^2.
"""

from __future__ import annotations

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError
from milpscore.sequence._data import SequenceData
from milpscore.sequence._forward_backward import sweep
from milpscore.sequence._prepared import Prepared, prepare


def negative_log_likelihood(
    data: SequenceData | Prepared, theta: FloatArray, form: str = "auto"
) -> float:
    """Sum over the sequences of -log p(y | x).

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    theta : ndarray of shape (n_parameters,)
    form : {"auto", "dense", "sparse"}

    Raises
    ------
    DataError
        Labels are missing or were never seen in training, or theta is of another model.
    OptionError
        An unknown form.
    """
    ready, theta = checked(data, theta)
    index, count = ready.observed
    return float(log_partition(ready, theta, form).sum() - count @ theta[index])


def value_and_gradient(
    data: SequenceData | Prepared, theta: FloatArray, form: str = "auto"
) -> tuple[float, FloatArray]:
    """Sum over the sequences of -log p(y | x), and its gradient.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels. Prepare once what is evaluated often.
    theta : ndarray of shape (n_parameters,)
    form : {"auto", "dense", "sparse"}
        How a step of the recursions is made: by the matrix exp(lambda) of its observation set, by
        the nonzero entries of exp(lambda) - 1, or by whichever is quicker.

    Returns
    -------
    value : float
    gradient : ndarray of shape (n_parameters,)
        Expected minus observed counts.

    Raises
    ------
    DataError
        Labels are missing or were never seen in training, or theta is of another model.
    OptionError
        An unknown form.
    """
    ready, theta = checked(data, theta)
    index, count = ready.observed
    gradient = np.zeros(len(theta))
    mu, lam = ready.layout.split(theta)
    mu_gradient, lam_gradient = ready.layout.split(gradient)
    value = -float(count @ theta[index])
    for part in ready.parts:
        done = sweep(part, mu, lam, form)
        value += float(done.log_partition().sum())
        done.add_gradient(mu_gradient, lam_gradient)
    gradient[index] -= count
    return value, gradient


def log_partition(
    data: SequenceData | Prepared, theta: FloatArray, form: str = "auto"
) -> FloatArray:
    """Log Z of each sequence, shape (N,); 0 for an empty one.

    Raises
    ------
    DataError
        theta is of another model.
    OptionError
        An unknown form.
    """
    ready, theta = checked(data, theta)
    mu, lam = ready.layout.split(theta)
    return np.concatenate([sweep(part, mu, lam, form).log_partition() for part in ready.parts])


def posterior_marginals(data: SequenceData | Prepared, theta: FloatArray) -> FloatArray:
    """p(y_t = y | x) at every position.

    Returns
    -------
    ndarray of shape (T, L)
        Each row sums to 1.

    Raises
    ------
    DataError
        theta is of another model.
    """
    ready, theta = checked(data, theta)
    mu, lam = ready.layout.split(theta)
    return np.concatenate([sweep(part, mu, lam).marginals() for part in ready.parts])


def pair_posteriors(data: SequenceData | Prepared, theta: FloatArray) -> FloatArray:
    """p(y_{t-1} = y', y_t = y | x) at every position, zero at the first ones.

    8 T L^2 bytes: take a subset of the sequences where that is much.

    Returns
    -------
    ndarray of shape (T, L, L)
        Indexed [t, y', y].

    Raises
    ------
    DataError
        theta is of another model.
    """
    ready, theta = checked(data, theta)
    mu, lam = ready.layout.split(theta)
    return np.concatenate([sweep(part, mu, lam, "dense").pairs() for part in ready.parts])


def checked(data: SequenceData | Prepared, theta: FloatArray) -> tuple[Prepared, FloatArray]:
    """Compile the data where they are not yet, and look at theta.

    Raises
    ------
    DataError
        theta holds numbers that are not finite.
    """
    theta = np.ascontiguousarray(theta, dtype=np.float64)
    if not np.isfinite(theta.sum()) and not np.isfinite(theta).all():
        raise DataError("theta holds numbers that are not finite: fit again, or mend the file")
    return prepare(data), theta
