"""What a conic solver answers, and the residuals of its answer, recomputed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.cone_form import ConeForm, cone_distance
from milpscore.core.design import FloatArray
from milpscore.core.result import Termination


@dataclass(frozen=True, eq=False)
class ConeOutcome:
    """The answer of one run on a standard conic form.

    Attributes
    ----------
    termination : Termination
    status : str
        The solver's own word.
    x : ndarray of shape (q,), or None without a point
    z : ndarray of shape (m,), or None
        Duals of the rows: c + A'z = 0 and z in the dual cone at an optimum.
    iterations : int
    seconds : float
    """

    termination: Termination
    status: str
    x: FloatArray | None = None
    z: FloatArray | None = None
    iterations: int = 0
    seconds: float = 0.0


def residuals(form: ConeForm, outcome: ConeOutcome) -> dict[str, float]:
    """Relative residuals and both objectives of the solver's own point.

    Parameters
    ----------
    form : ConeForm
    outcome : ConeOutcome
        With a point.

    Returns
    -------
    dict
        ``primal``: how far b - A x lies outside the cones, over 1 + max |b|. ``dual``: the larger
        of max |c + A'z| over 1 + max |c| and how far z lies outside the dual cones.
        ``primal_objective``, ``dual_objective``.
    """
    assert outcome.x is not None
    assert outcome.z is not None
    x, z = outcome.x, outcome.z
    outside = cone_distance(form, form.b - form.A @ x)
    slope = float(np.abs(form.c + form.A.T @ z).max(initial=0.0))
    return {
        "primal": outside / (1.0 + float(np.abs(form.b).max(initial=0.0))),
        "dual": max(
            slope / (1.0 + float(np.abs(form.c).max(initial=0.0))),
            cone_distance(form, z, dual=True) / (1.0 + float(np.abs(z).max(initial=0.0))),
        ),
        "primal_objective": float(form.c @ x) + form.offset,
        "dual_objective": -float(form.b @ z) + form.offset,
    }


def solver_bound(form: ConeForm, outcome: ConeOutcome) -> float:
    """The dual objective, lowered by what its residual can be worth at the point found.

    For x in the feasible set c.x >= -b.z + (c + A'z).x: exact only up to the size of x.
    """
    assert outcome.x is not None
    assert outcome.z is not None
    slope = np.abs(form.c + form.A.T @ outcome.z)
    return -float(form.b @ outcome.z) + form.offset - float(slope @ np.abs(outcome.x))
