"""The proximal path as a solver of conic programs."""

from __future__ import annotations

import math

import numpy as np

from milpscore._version import __version__
from milpscore.core.conic import ConicProgram
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.result import Termination
from milpscore.proximal import fit_proximal
from milpscore.proximal._result import Stop
from milpscore.solvers._cone_outcome import ConeOutcome
from milpscore.solvers._conic_options import ConicOptions

TERMINATIONS: dict[Stop, Termination] = {
    Stop.GAP_REACHED: Termination.COMPLETED,
    Stop.DISTANCE_REACHED: Termination.COMPLETED,
    Stop.STALLED: Termination.INACCURATE,
    Stop.ITERATION_LIMIT: Termination.ITERATION_LIMIT,
}


def version() -> str:
    """The package's own version."""
    return __version__


def run_program(
    program: ConicProgram, options: ConicOptions
) -> tuple[ConeOutcome, tuple[FloatArray, float], float]:
    """Fit the statement to the gap ``options.tol``.

    Parameters
    ----------
    program : ConicProgram
    options : ConicOptions

    Returns
    -------
    (ConeOutcome, (w, b), float)
        The third is the dual bound.

    Raises
    ------
    NotApplicableError
        Where constraints were added, or the loss is not smooth: it is never solved without them.
    OptionError
        For a time limit.
    """
    statement = program.statement
    if math.isfinite(options.time_limit):
        raise OptionError(
            "the proximal path cannot be stopped by the clock: use max_iter, or solver='clarabel', "
            "which knows a time_limit"
        )
    if program.added:
        raise NotApplicableError(
            f"the proximal path cannot hold the constraint {program.added[0]}: use "
            "solver='ecos' or 'clarabel'"
        )
    if not hasattr(statement.loss, "gradient"):
        raise NotApplicableError(
            f"the {statement.loss.name} loss has no derivative, which the proximal path needs: "
            "use solver='ecos' or 'clarabel'"
        )
    rows = statement.rows
    found = fit_proximal(
        rows.X,
        rows.y,
        loss=statement.loss,  # type: ignore[arg-type]
        penalty=statement.penalty,
        sample_weight=rows.weight,
        intercept=statement.intercept,
        tol=options.tol,
        max_iter=options.max_iter,
    )
    outcome = ConeOutcome(
        TERMINATIONS[found.termination],
        str(found.termination),
        x=found.coefficients,
        z=np.empty(0),
        iterations=found.iterations,
        seconds=found.seconds,
    )
    return outcome, (found.coefficients, float(found.intercept)), found.dual_objective
