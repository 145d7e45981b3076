"""The EYE penalty as a second-order cone program."""

from __future__ import annotations

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
from milpscore.penalties import EYE


@builder
def eye(
    X: Any,
    y: Any = None,
    *,
    expert: Any,
    lam: float = 0.1,
    loss: str | RowLoss = "logistic",
    margin: float | None = None,
    intercept: bool = True,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicProgram:
    r"""A credible linear model: sparse where nothing is known, dense where an expert knows.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b) + a + z \\
        & \textstyle \sum_j \lambda (1 - r_j) |w_j| \le a \\
        & \| (a,\ \lambda r_1 w_1, \ldots, \lambda r_p w_p) \|_2 \le z

    At the optimum :math:`a + z = \lambda (\|(1-r) \odot w\|_1 + \sqrt{\|(1-r) \odot w\|_1^2 +
    \|r \odot w\|_2^2})`. The norm of a convex expression is no convex composition by CVXPY's
    rules; with the variable :math:`a \ge 0` it is. The data enter through the Parameters
    ``lam_r`` and ``lam_1_r``: a product of ``lam`` with ``r`` would be compiled at every change.

    Parameters
    ----------
    X : array, DataFrame of shape (n, q), or Design
    y : array of shape (n,): two labels (logistic, hinge), numbers (squared) or counts (poisson);
        None with a Design
    expert : array of shape (p,), names, or mapping of name to number
        r in [0, 1]: 1 marks a feature the expert knows to matter. Names may be those of raw
        features or of design columns.
    lam : float
        Weight of the penalty on the mean loss; the paper's n lambda belongs to a sum.
    loss : {"logistic", "squared", "hinge", "poisson"}
    margin : float, optional
        Of the hinge loss, default 1.
    intercept : bool
        False fixes b at 0.
    sample_weight, class_weight, positive :
        As in :func:`milpscore.data.make_design`; the last two for two classes only.

    Returns
    -------
    ConicProgram
        ``program.set(lam=, expert=)`` changes both in place.

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), eq. 2.
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

    arguments = restate({"lam": lam, "expert": expert})
    return conic_program("eye", data, _cone, arguments, intercept=intercept, restate=restate)


def _cone(w: Any, data: ConicData) -> Cone:
    p = len(data.columns)
    known = cp.Parameter(p, nonneg=True, name="lam_r")
    unknown = cp.Parameter(p, nonneg=True, name="lam_1_r")
    a = cp.Variable(nonneg=True, name="a")
    z = cp.Variable(nonneg=True, name="z")

    def fill(arguments: Arguments) -> EYE:
        penalty = EYE(arguments["lam"], expert=arguments["expert"])
        known.value = penalty.lam * penalty.expert
        unknown.value = penalty.lam * (1.0 - penalty.expert)
        return penalty

    constraints = [
        unknown @ cp.abs(w) <= a,
        cp.SOC(z, cp.hstack([a, cp.multiply(known, w)])),
    ]
    return Cone(a + z, constraints, fill)
