"""One statement, up to three realisations: integer, conic or linear, proximal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pandas as pd

from milpscore.comparison.answers import REALISATION_COLUMNS, Comparison, figures_of, no_answer
from milpscore.core.conic import ConicProgram
from milpscore.core.errors import MissingDependencyError, NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result, relative_gap
from milpscore.search import start_card
from milpscore.solvers import load, solve
from milpscore.solvers.options import Options

CONIC = ("ecos", "clarabel", "proximal")
"""The solvers of the relaxation, in the order of their rows."""


def compare_realisations(
    program: ConicProgram,
    *,
    time_limit: float = Options.time_limit,
    tol: float = 1e-9,
    random_state: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Solve every realisation of a conic program's statement and lay them side by side.

    Rows, in this order: ``integer``, the program over whole numbers, solved by HiGHS; ``linear``,
    its LP relaxation; ``conic`` by ECOS and by Clarabel; ``proximal``. A realisation that there is
    not, or that cannot hold a constraint that was added, is a row with claim "none" and the reason.
    The last four speak of one convex problem: ``difference`` is their objective beside the least
    of them, relative to it. The integer optimum lies ``integrality_gap`` above.

    Parameters
    ----------
    program : ConicProgram
    time_limit : float
        Seconds for the integer program.
    tol : float
        Of the conic and proximal solves.
    random_state : int
        Seed of the integer solve.
    progress : bool, optional
        As in :func:`milpscore.solvers.solve`.

    Returns
    -------
    Comparison
        Its table has ``REALISATION_COLUMNS``. Coefficients of the integer and the linear row are
        card points: times ``gamma`` they are those of the others.

    Raises
    ------
    FormulationError
        Where the program was changed into another one.
    """
    if not isinstance(program, ConicProgram):
        raise OptionError(
            f"{program.formulation} is a Pyomo program: milpscore.compare lays its exact, relaxed "
            "and rounded answers side by side"
        )
    rows: list[dict[str, Any]] = []
    results: dict[tuple[str, str], Result] = {}
    for realisation, solver, found, of in chain(
        _integer_and_linear(program, time_limit, random_state, progress), _convex(program, tol)
    ):
        if isinstance(found, str):
            rows.append(no_answer(found, realisation=realisation, solver=solver))
        else:
            results[realisation, solver] = found
            rows.append(_row(realisation, solver, found, of))
    table = pd.DataFrame(_with_differences(rows), columns=list(REALISATION_COLUMNS))
    counts = ("terms", "rows", "columns", "integers", "nonzeros")
    table = table.astype(dict.fromkeys(counts, "Int64"))
    design = program.statement.design
    return Comparison(table, results, () if design is None else design.names)


def _integer_and_linear(
    program: ConicProgram, time_limit: float, random_state: int, progress: bool | None
) -> list[tuple[str, str, Any, Any]]:
    """The exact program's answer and its LP's, or the reason why there is none."""
    try:
        exact = program.exact()
    except NotApplicableError as error:
        return [("integer", "highs", str(error), None), ("linear", "highs", str(error), None)]
    session = load(exact)
    session.relax()
    limits: dict[str, Any] = {"time_limit": time_limit, "random_state": random_state}
    linear = solve(session, progress=progress, **limits)
    session.restore()
    start = start_card(exact)
    integer = solve(session, warm_start=start, progress=progress, **limits)
    relaxed = exact.relaxed()
    return [
        ("integer", integer.solver, integer, exact),
        ("linear", linear.solver, replace(linear, build_seconds=0.0), relaxed),
    ]


def _convex(program: ConicProgram, tol: float) -> Iterator[tuple[str, str, Any, Any]]:
    """Every solver's answer to the relaxation, or the reason why there is none."""
    for solver in CONIC:
        realisation = "proximal" if solver == "proximal" else "conic"
        try:
            yield realisation, solver, solve(program, solver, tol=tol), program
        except (NotApplicableError, MissingDependencyError) as error:
            yield realisation, solver, str(error), None


def _row(realisation: str, solver: str, result: Result, program: Program) -> dict[str, Any]:
    """One answer's figures."""
    conic = isinstance(program, ConicProgram)
    unit = float(getattr(program.statement.penalty, "gamma", 1.0)) if conic else 1.0
    row = figures_of(result, REALISATION_COLUMNS, unit)
    row |= {"realisation": realisation, "solver": solver}
    if realisation != "proximal":
        size = program.size
        row |= {"rows": size.rows, "columns": size.columns, "nonzeros": size.nonzeros}
        row |= {} if conic else {"integers": size.integers}
    return row


def _with_differences(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Differences among the relaxations, and the integer optimum above the least of them."""
    relaxed = [row for row in rows if row["realisation"] != "integer" and row["verified"]]
    least = min((row["objective"] for row in relaxed), default=math.nan)
    for row in rows:
        if not row["verified"]:
            continue
        if row["realisation"] == "integer":
            row["integrality_gap"] = relative_gap(row["objective"], least)
        else:
            row["difference"] = relative_gap(row["objective"], least)
    return rows
