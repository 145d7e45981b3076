"""Weighted total variation along the columns as a linear program's rows."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from milpscore.core.conic import Cone, ConicProgram, RowLoss
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.formulations._conic import (
    Arguments,
    ConicData,
    conic_data,
    conic_program,
)
from milpscore.formulations._jumps import whole_points
from milpscore.formulations.building import builder
from milpscore.penalties import WeightedTV


@builder
def weighted_fused_lasso(
    X: Any,
    y: Any = None,
    *,
    lam: float = 0.1,
    weights: Any = None,
    loss: str | RowLoss = "logistic",
    margin: float | None = None,
    intercept: bool = True,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicProgram:
    r"""Neighbouring columns with equal coefficients, all columns being one chain.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \sum_{j=1}^{p-1} \lambda v_j |w_{j+1} - w_j|

    lam times the weights v is one Parameter, ``lam_weights``. Where features are binned,
    :func:`milpscore.formulations.binarsity` keeps them apart.

    Parameters
    ----------
    X, y, loss, margin, intercept, sample_weight, class_weight, positive :
        As in :func:`milpscore.formulations.eye`.
    lam : float
    weights : array of shape (p - 1,), optional
        >= 0; all 1 by default. A weight of 0 parts the chain.

    Returns
    -------
    ConicProgram
        ``program.set(lam=, weights=)`` changes both in place; ``program.exact()`` is the fused
        lasso over whole points that it relaxes: under the hinge loss, for a Design whose blocks of
        bins follow each other, the weights between blocks being 0.

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    References: Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), the
    weighted total variation. The whole points are those of Sokolovska, Chevaleyre & Zucker,
    fused-lasso scores, eqs. 1-5.
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
    if len(data.columns) < 2:
        raise FormulationError("weighted_fused_lasso needs two columns or more: one has no jump")
    return conic_program(
        "weighted_fused_lasso",
        data,
        _cone,
        {"lam": lam, "weights": weights},
        intercept=intercept,
        exact_form=_exact if data.loss.name == "hinge" else None,
    )


def _cone(w: Any, data: ConicData) -> Cone:
    jumps = len(data.columns) - 1
    slopes = cp.Parameter(jumps, nonneg=True, name="lam_weights")

    def fill(arguments: Arguments) -> WeightedTV:
        penalty = WeightedTV(arguments["lam"], arguments["weights"])
        if penalty.weights is not None and len(penalty.weights) != jumps:
            raise OptionError(
                f"weights has {len(penalty.weights)} entries for {jumps} jumps between "
                f"{jumps + 1} columns: give one a jump"
            )
        given = 1.0 if penalty.weights is None else penalty.weights
        slopes.value = penalty.lam * given * np.ones(jumps)
        return penalty

    return Cone(slopes @ cp.abs(cp.diff(w)), [], fill)


def _exact(program: ConicProgram) -> Program:
    """The fused lasso over whole points, where jumps are inside features only.

    Raises
    ------
    NotApplicableError
        Where they are not.
    """
    statement = program.statement
    penalty, p = statement.penalty, len(statement.columns)
    assert isinstance(penalty, WeightedTV)
    blocks = () if statement.design is None else statement.design.blocks
    if [column for block in blocks for column in block] != list(range(p)):
        raise NotApplicableError(
            "weighted_fused_lasso has an integer program where its columns are the ordered bins "
            "of features: bin the data first (milpscore.data.Binner)"
        )
    into = np.ones(p)
    into[1:] = 1.0 if penalty.weights is None else penalty.weights
    for j in [block[0] for block in blocks[1:]]:
        if into[j] > 0:
            raise NotApplicableError(
                f"the jump into {statement.columns[j].name} leaves a feature, and fused_lasso has "
                "jumps inside features only: give it the weight 0, or state binarsity"
            )
    return whole_points(program, blocks, into)
