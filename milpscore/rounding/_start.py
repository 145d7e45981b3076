"""A verified warm start for an exact program, found without a solver."""

from __future__ import annotations

from milpscore.core.card import Card
from milpscore.core.program import Program
from milpscore.rounding._coordinate_descent import coordinate_descent
from milpscore.verify import evaluate


def start_card(program: Program, *, time_limit: float = 5.0) -> Card | None:
    """The best card integer coordinate descent finds from no points.

    Parameters
    ----------
    program : Program
    time_limit : float
        Seconds.

    Returns
    -------
    Card or None
        None where the empty card itself breaks the statement (say, ranges without 0).
    """
    statement = program.statement
    empty = statement.empty_card()
    if not evaluate(statement, empty).feasible:
        return None
    return coordinate_descent(statement, empty, time_limit=time_limit)
