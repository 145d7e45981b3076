"""A verified warm start for an exact program, found without a solver."""

from __future__ import annotations

from milpscore.core.card import Card
from milpscore.core.program import Program
from milpscore.rounding._coordinate_descent import coordinate_descent
from milpscore.verify import evaluate

WORK_PER_SECOND = 2e6
"""Row totals a start may compute for each second of a solve: less than a tenth of its time."""


def work_within(time_limit: float) -> float:
    """The work a start may do before a solve of so many seconds; the same on every machine."""
    return WORK_PER_SECOND * time_limit


def start_card(program: Program, *, max_work: float = 1e8) -> Card | None:
    """The best card integer coordinate descent finds from no points.

    Parameters
    ----------
    program : Program
    max_work : float
        Most row totals to compute; 1e8 take some ten seconds, and few data sets need as many.

    Returns
    -------
    Card or None
        None where the empty card itself breaks the statement (say, ranges without 0).
    """
    statement = program.statement
    empty = statement.empty_card()
    if not evaluate(statement, empty).feasible:
        return None
    return coordinate_descent(statement, empty, max_work=max_work)
