"""The naive credibility penalty as a second-order cone program."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp

from milpscore.core.conic import Cone, ConicProgram, RowLoss
from milpscore.data.columns import expert_vector
from milpscore.formulations._conic import (
    Arguments,
    ConicData,
    conic_data,
    conic_program,
)
from milpscore.formulations.building import builder
from milpscore.penalties import NaiveCredibility


@builder
def naive_credibility(
    X: Any,
    y: Any = None,
    *,
    expert: Any,
    beta: float,
    lam: float = 0.1,
    loss: str | RowLoss = "logistic",
    margin: float | None = None,
    intercept: bool = True,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicProgram:
    r"""Ridge on what the expert knows, the lasso on the rest.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \lambda \bigl( (1 - \beta) \|r \odot w\|_2^2
            + 2 \beta \|(1 - r) \odot w\|_1 \bigr)

    The data enter through the Parameters ``root_r``, the root of lam (1 - beta) times r, inside the
    square, and ``lam_1_r``. The penalty is not homogeneous: which features it favours changes with
    lam, the fault that EYE cures.

    Parameters
    ----------
    X, y, loss, margin, intercept, sample_weight, class_weight, positive :
        As in :func:`milpscore.formulations.eye`.
    expert : array of shape (p,), names, or mapping of name to number
        r in [0, 1], as in :func:`milpscore.formulations.eye`.
    beta : float
        In [0, 1].
    lam : float

    Returns
    -------
    ConicProgram
        ``program.set(lam=, beta=, expert=)`` changes all three in place.

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 3.2, the penalty q.
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

    def restate(given: Arguments) -> dict[str, Any]:
        if "expert" not in given:
            return dict(given)
        return {**given, "expert": expert_vector(given["expert"], data.columns, data.features)}

    arguments = restate({"lam": lam, "beta": beta, "expert": expert})
    return conic_program(
        "naive_credibility", data, _cone, arguments, intercept=intercept, restate=restate
    )


def _cone(w: Any, data: ConicData) -> Cone:
    p = len(data.columns)
    known = cp.Parameter(p, nonneg=True, name="root_r")
    unknown = cp.Parameter(p, nonneg=True, name="lam_1_r")

    def fill(arguments: Arguments) -> NaiveCredibility:
        penalty = NaiveCredibility(
            arguments["lam"], expert=arguments["expert"], beta=arguments["beta"]
        )
        known.value = math.sqrt(penalty.lam * (1.0 - penalty.beta)) * penalty.expert
        unknown.value = 2.0 * penalty.lam * penalty.beta * (1.0 - penalty.expert)
        return penalty

    return Cone(cp.sum_squares(cp.multiply(known, w)) + unknown @ cp.abs(w), [], fill)
