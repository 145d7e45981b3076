"""The ordered weighted L1 norm as sums of largest entries."""

from __future__ import annotations

from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np

from milpscore.core.conic import Cone, ConicProgram, RowLoss
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import FormulationError
from milpscore.formulations._conic import (
    Arguments,
    ConicData,
    conic_data,
    conic_program,
)
from milpscore.formulations._conic_weights import one_per_column
from milpscore.formulations.building import builder, refuse_if_too_large
from milpscore.penalties import OWL


@builder
def owl(
    X: Any,
    y: Any = None,
    *,
    weights: Any,
    lam: float = 0.1,
    loss: str | RowLoss = "logistic",
    margin: float | None = None,
    intercept: bool = True,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicProgram:
    r"""The ordered weighted L1 norm: the largest coefficients weigh most.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \sum_k \lambda (v_k - v_{k+1}) \sum_{i \le k} a_{[i]} \\
        & |w_j| \le a_j

    with v the ``weights``, :math:`v_{p+1} = 0`, and :math:`a_{[1]} \ge a_{[2]} \ge \ldots` the
    sorted sizes: summed by parts it is :math:`\lambda \sum_i v_i |w|_{[i]}`. The sum of the k
    largest is the linear program :math:`\min_q k q + \sum_j \max(0, a_j - q)`; there is one for
    every k at which the weights drop, its factor in the Parameter ``lam_drops``.

    Parameters
    ----------
    X, y, loss, margin, intercept, sample_weight, class_weight, positive :
        As in :func:`milpscore.formulations.eye`.
    weights : array of shape (p,)
        Non-increasing, >= 0, the first > 0. All equal: L1; (1, 0, ..., 0): the sup norm.
    lam : float

    Returns
    -------
    ConicProgram
        ``program.set(lam=, weights=)`` changes both in place, to weights that drop nowhere but
        where the first ones do.

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 1, after Figueiredo
    & Nowak, "Sparse estimation with strongly correlated variables using ordered weighted l1
    regularization" (2014).
    """
    data = conic_data(
        X,
        y,
        loss=loss,
        margin=margin,
        sample_weight=sample_weight,
        class_weight=class_weight,
        positive=positive,
    )
    first = OWL(lam, weights=weights)
    one_per_column(first.weights, data)
    lengths = np.flatnonzero(_drops(first.weights)) + 1
    p = len(data.columns)
    refuse_if_too_large("owl", len(data.merged.y), p, further=3 * p * len(lengths))
    make_cone = partial(_cone, lengths=lengths)
    arguments = {"lam": lam, "weights": first.weights}
    return conic_program("owl", data, make_cone, arguments, intercept=intercept)


def _cone(w: Any, data: ConicData, lengths: IntArray) -> Cone:
    drops = cp.Parameter(len(lengths), nonneg=True, name="lam_drops")
    size = cp.Variable(len(data.columns), name="size")

    def fill(arguments: Arguments) -> OWL:
        penalty = OWL(arguments["lam"], weights=arguments["weights"])
        one_per_column(penalty.weights, data)
        fall = _drops(penalty.weights)
        _refuse_other_drops(fall, lengths)
        drops.value = penalty.lam * fall[lengths - 1]
        return penalty

    largest = [cp.sum_largest(size, int(k)) for k in lengths]
    return Cone(drops @ cp.hstack(largest), [cp.abs(w) <= size], fill)


def _drops(weights: FloatArray) -> FloatArray:
    """By how much the weights fall after each position, the last to 0."""
    return -np.diff(weights, append=0.0)


def _refuse_other_drops(fall: FloatArray, lengths: IntArray) -> None:
    """Refuse a drop for which the program has no sum of largest entries.

    Raises
    ------
    FormulationError
        Naming the first.
    """
    for k in np.setdiff1d(np.flatnonzero(fall) + 1, lengths)[:1]:
        raise FormulationError(
            f"these weights drop after the {k} largest, where those the program was built with "
            f"do not (they drop after {', '.join(map(str, lengths))}): build a new program"
        )
