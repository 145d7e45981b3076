"""A verified warm start for an exact program, found without a solver."""

from __future__ import annotations

import numpy as np

from milpscore.core.card import Card
from milpscore.core.program import Program
from milpscore.rounding._proximal import find_start
from milpscore.rounding._request import WORK_PER_SECOND, work_within
from milpscore.solvers._coordinate_descent import coordinate_descent
from milpscore.solvers._repair import repaired
from milpscore.verify import evaluate

__all__ = ["WORK_PER_SECOND", "coordinate_descent", "start_card", "work_within"]


def start_card(program: Program, *, max_work: float = 1e8) -> Card | None:
    """The better of two cards: integer descent from no points, and one from a proximal path.

    Where constraints do not allow a card without points, the descent begins at a few that they do.

    On most data sets the second one is better: the path sees all columns at once, the descent one
    at a time. Each has half of the work.

    Parameters
    ----------
    program : Program
    max_work : float
        Most row totals to compute; 1e8 take some ten seconds, and few data sets need as many.

    Returns
    -------
    Card or None
        None where no card was found that the statement allows.

    See Also
    --------
    milpscore.rounding.proximal_start : the second card alone.
    """
    statement = program.statement
    cards = []
    empty = statement.empty_card()
    first: Card | None = empty
    if not evaluate(statement, empty).feasible:
        nothing = np.zeros(statement.design.shape[1], dtype=np.int64)
        first = repaired(statement, nothing) if statement.constraints else None
    if first is not None:
        cards.append(coordinate_descent(statement, first, max_work=max_work / 2))
    proximal = find_start(statement, max_work=max_work / 2)
    if proximal is not None:
        cards.append(proximal.card)
    return min(cards, key=lambda card: evaluate(statement, card).objective, default=None)
