"""From a design to a verified card: the one road that estimators and the command line share."""

from __future__ import annotations

from typing import Any

from milpscore.core.design import Design
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.formulations import builder
from milpscore.rounding import round_program, start_card
from milpscore.rounding._start import work_within
from milpscore.solvers import solve


def fit_card(
    design: Design,
    formulation: str = "slim",
    *,
    warm_start: bool = True,
    progress: bool | None = None,
    n_draws: int = 100,
    solver: str = "auto",
    time_limit: float = 60.0,
    random_state: int = 0,
    options: dict[str, Any] | None = None,
    **arguments: Any,
) -> tuple[Program, Result]:
    """Build a formulation, solve it and return the best verified card.

    Exact programs are solved from a heuristic start; relaxed ones (convex and sparse rounding) are
    solved as LPs and rounded, the LP's optimum being the bound.

    Parameters
    ----------
    design : Design
    formulation : str
        A name of :data:`milpscore.formulations.FORMULATIONS`; hyphens count as underscores.
    warm_start : bool
        Hand a card found by integer coordinate descent to the solver.
    progress : bool, optional
        Show a progress line; default: in a terminal.
    n_draws : int
        Draws of the randomised rounding.
    solver, time_limit, random_state :
        As in :func:`milpscore.solvers.solve`.
    options : dict, optional
        Further solver options.
    **arguments :
        The builder's own arguments.

    Returns
    -------
    (Program, Result)
    """
    program = builder(formulation)(design, **arguments)
    chosen = {"time_limit": time_limit, "random_state": random_state, **(options or {})}
    if program.kind == "relaxed":
        return program, round_program(
            program, solver=solver, n_draws=n_draws, progress=progress, **chosen
        )
    start = start_card(program, max_work=work_within(time_limit)) if warm_start else None
    return program, solve(program, solver, warm_start=start, progress=progress, **chosen)
