"""Clarabel: the second opinion on cones, and the first where ECOS is absent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from milpscore.core.cone_form import ConeForm
from milpscore.core.result import Termination
from milpscore.solvers._cone_outcome import ConeOutcome
from milpscore.solvers._conic_options import ConicOptions

PACKAGE = "clarabel"

# Statuses of Clarabel: every member is here, and an unknown one is an error.
TERMINATIONS: dict[str, Termination] = {
    "Unsolved": Termination.ERROR,
    "Solved": Termination.COMPLETED,
    "PrimalInfeasible": Termination.INFEASIBLE,
    "DualInfeasible": Termination.UNBOUNDED,
    "AlmostSolved": Termination.INACCURATE,
    "AlmostPrimalInfeasible": Termination.INACCURATE,
    "AlmostDualInfeasible": Termination.INACCURATE,
    "MaxIterations": Termination.ITERATION_LIMIT,
    "MaxTime": Termination.TIME_LIMIT,
    "NumericalError": Termination.ERROR,
    "InsufficientProgress": Termination.INACCURATE,
    "CallbackTerminated": Termination.INTERRUPTED,
}

_NO_POINT = (
    "Unsolved",
    "PrimalInfeasible",
    "DualInfeasible",
    "AlmostPrimalInfeasible",
    "AlmostDualInfeasible",
)


def version() -> str:
    """The installed version."""
    import clarabel

    return str(clarabel.__version__)


def run(form: ConeForm, options: ConicOptions) -> ConeOutcome:
    """Solve a standard form.

    Parameters
    ----------
    form : ConeForm
    options : ConicOptions

    Returns
    -------
    ConeOutcome
    """
    import clarabel

    columns = len(form.c)
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((columns, columns)),
        form.c,
        form.A,
        form.b,
        _cones(form),
        _settings(options),
    )
    answer = solver.solve()
    status = str(answer.status)
    x, z = np.asarray(answer.x, dtype=np.float64), np.asarray(answer.z, dtype=np.float64)
    has_point = status not in _NO_POINT and bool(np.isfinite(x).all() and np.isfinite(z).all())
    return ConeOutcome(
        TERMINATIONS.get(status, Termination.ERROR),
        status,
        x if has_point else None,
        z if has_point else None,
        iterations=int(answer.iterations),
        seconds=float(answer.solve_time),
    )


def _settings(options: ConicOptions) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = options.verbose
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = options.tol
    if options.max_iter is not None:
        settings.max_iter = options.max_iter
    if math.isfinite(options.time_limit):
        settings.time_limit = options.time_limit
    return settings


def _cones(form: ConeForm) -> list[Any]:
    import clarabel

    cones: list[Any] = []
    if form.zero:
        cones.append(clarabel.ZeroConeT(form.zero))
    if form.nonneg:
        cones.append(clarabel.NonnegativeConeT(form.nonneg))
    cones += [clarabel.SecondOrderConeT(size) for size in form.soc]
    return [*cones, *(clarabel.ExponentialConeT() for _ in range(form.exp))]
