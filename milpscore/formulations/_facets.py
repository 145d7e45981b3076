"""The Facets penalty as a linear program's rows: soft integrity on the grid of gamma."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from milpscore.core.conic import Cone, ConicProgram, RowLoss
from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError, SizeError
from milpscore.core.program import Program
from milpscore.formulations._conic import (
    Arguments,
    ConicData,
    conic_data,
    conic_program,
)
from milpscore.formulations.building import builder
from milpscore.penalties import Facets

MAX_RAMPS = 200_000
"""Kinks times columns, beyond which the program takes minutes and gigabytes."""

FIRST_LEVELS = 4
"""Kinks stated at first; more where an answer lies beyond them."""


@builder
def facets(
    X: Any,
    y: Any = None,
    *,
    lam: float = 0.1,
    gamma: float = 1.0,
    loss: str | RowLoss = "logistic",
    margin: float | None = None,
    intercept: bool = True,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicProgram:
    r"""Soft integrity: coefficients are drawn to whole multiples of gamma.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \tfrac{\lambda}{\gamma} \sum_j \sum_{i=0}^{K-1} s_{ij} \\
        & s_{0j} \ge |w_j|, \qquad s_{ij} \ge s_{0j} - i \gamma, \qquad s_{ij} \ge 0

    which is :math:`\lambda \sum_j \sum_i \max(0, |w_j| / \gamma - i)` as long as no
    :math:`|w_j|` exceeds :math:`K \gamma`. After a solve that is checked; where it fails, K grows,
    the program is solved again, and the result says so.

    Parameters
    ----------
    X, y, loss, margin, intercept, sample_weight, class_weight, positive :
        As in :func:`milpscore.formulations.eye`.
    lam : float
    gamma : float
        The unit of the coefficient grid, > 0.

    Returns
    -------
    ConicProgram
        ``program.set(lam=, gamma=)`` changes both in place; ``program.exact()`` is the integer
        program it relaxes (hinge loss).

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    References: Belahcene, Sokolovska, Chevaleyre & Zucker (2020), eqs 3 and 16. Errata: eq. 3
    holds for \|w\|; Proposition 2 says the envelope of w^2 on the integers, but Facets with
    weights (1, 1, ...) is the envelope of (w^2 + \|w\|) / 2.
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
    arguments = {"lam": lam, "gamma": gamma}
    exact_form = integer_facets if data.loss.name == "hinge" else None
    return conic_program(
        "facets", data, _cone, arguments, intercept=intercept, exact_form=exact_form
    )


def _cone(w: Any, data: ConicData) -> Cone:
    slope = cp.Parameter(nonneg=True, name="lam_per_gamma")
    gamma = cp.Parameter(pos=True, name="gamma")

    def fill(arguments: Arguments) -> Facets:
        penalty = Facets(arguments["lam"], gamma=arguments["gamma"])
        slope.value, gamma.value = slope_of(penalty.lam, penalty.gamma), penalty.gamma
        return penalty

    def cone(levels: int) -> Cone:
        ramps, constraints = ramp_rows(w, gamma, levels)
        return Cone(
            slope * cp.sum(ramps),
            constraints,
            fill,
            outgrown=lambda at, arguments: larger(at, arguments["gamma"], levels, cone),
            growth=f"the grid was extended to {levels} units of gamma",
        )

    return cone(FIRST_LEVELS)


def ramp_rows(w: Any, gamma: Any, levels: int) -> tuple[Any, list[Any]]:
    """The ramps s_ij, i = 0, ..., levels - 1, shape (levels, p), and their rows.

    Parameters
    ----------
    w : cvxpy.Variable of shape (p,)
    gamma : cvxpy.Parameter
    levels : int

    Returns
    -------
    (cvxpy.Expression, list of cvxpy.Constraint)
    """
    p = w.shape[0]
    size = cp.Variable(p, name="size")
    if levels == 1:
        return cp.reshape(size, (1, p), order="C"), [cp.abs(w) <= size]
    ramp = cp.Variable((levels - 1, p), nonneg=True, name="ramp")
    steps = np.arange(1.0, levels)[:, None] @ np.ones((1, p))
    above = np.ones((levels - 1, 1)) @ cp.reshape(size, (1, p), order="C")
    return cp.vstack([cp.reshape(size, (1, p), order="C"), ramp]), [
        cp.abs(w) <= size,
        above - gamma * steps <= ramp,
    ]


def larger(w: FloatArray, gamma: float, levels: int, cone: Any) -> Cone | None:
    """The cone with enough levels for coefficients w of shape (p,); None where these suffice.

    Raises
    ------
    SizeError
        Where it would be too large to state.
    """
    reach = float(np.abs(w).max(initial=0.0)) / gamma
    if reach <= levels * (1 + 1e-9):
        return None
    wanted = max(2 * levels, int(min(np.ceil(reach), 1e9)) + 1)
    if wanted * len(w) > MAX_RAMPS:
        raise SizeError(
            f"coefficients reach {reach:.3g} units of gamma = {gamma:g}: {wanted} kinks for each "
            f"of {len(w)} columns are more than the {MAX_RAMPS:.0e} ramps a cone program can "
            "hold here; raise gamma or lam, scale the columns, or use solver='proximal'"
        )
    grown: Cone = cone(wanted)
    return grown


def slope_of(lam: float, gamma: float) -> float:
    """lam / gamma, the first slope of the penalty.

    Raises
    ------
    OptionError
        Where it is no finite number.
    """
    slope = lam / gamma
    if not np.isfinite(slope):
        raise OptionError(f"lam / gamma = {lam!r} / {gamma!r} is beyond floating point")
    return slope


def integer_facets(program: ConicProgram) -> Program:
    """The program over whole multiples of gamma that Facets under the hinge loss relaxes."""
    from milpscore.formulations._facets_hinge import facets_hinge
    from milpscore.losses import Hinge

    statement = program.statement
    assert isinstance(statement.loss, Hinge)
    return facets_hinge(
        statement.design,
        lam=statement.arguments["lam"],
        gamma=statement.arguments["gamma"],
        margin=statement.loss.margin,
        intercept="real" if statement.intercept else "zero",
    )
