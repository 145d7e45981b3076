"""What every rounding hands back: the verified card, how it came about, and its trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import Statement
from milpscore.rounding._allowed import limit_terms
from milpscore.solvers._repair import repaired_points
from milpscore.verify import Evaluation, evaluate


@dataclass(frozen=True, eq=False)
class RoundedCard:
    """A card found by rounding or search, re-checked; it can start an exact solve.

    Attributes
    ----------
    method : str
        The method's name in :data:`milpscore.rounding.ROUNDINGS`.
    card : Card or None
        None where the points can be made to meet the statement in no way that was tried.
    evaluation : Evaluation or None
        The card's exact figures, recomputed from the raw rows.
    trace : ndarray of float64, read-only
        What the method drives down, from its start on; each method says what an entry is.
    points : ndarray of int64, shape (p,)
        As the method left them, before any repair.
    repaired : bool
        Whether points had to be changed for ``max_terms`` or a constraint.
    refusal : str
        The first requirement that is broken where there is no card; empty otherwise.
    random_state : int or None
        None for a method without chance, or where a Generator was given.
    """

    method: str
    card: Card | None
    evaluation: Evaluation | None
    trace: FloatArray
    points: IntArray
    repaired: bool
    refusal: str
    random_state: int | None

    @property
    def objective(self) -> float:
        """Objective of the card, NaN without one."""
        return float("nan") if self.evaluation is None else self.evaluation.objective

    @property
    def cards(self) -> tuple[Card, ...]:
        """The card, or nothing."""
        return () if self.card is None else (self.card,)

    @property
    def figures(self) -> dict[str, float]:
        """What the method proves, under the names of a comparison's columns; most prove nothing."""
        return {}


def completed(
    statement: Statement, points: IntArray, w: npt.ArrayLike, trace: Any, random_state: Any = None
) -> dict[str, Any]:
    """The fields of a :class:`RoundedCard` but its method, from the points a method ended at.

    Too many terms are cut by dropping those of least absolute weight; points that still break a
    constraint are changed one at a time until they meet it.

    Parameters
    ----------
    statement : Statement
    points : ndarray of int64, shape (p,)
    w : array of shape (p,)
        Real weights that say which terms matter least.
    trace : array of numbers
    random_state : int, Generator or None

    Returns
    -------
    dict
    """
    limited, fine = limit_terms(statement, points[None, :], w)
    final: IntArray | None = limited[0]
    if not fine[0]:
        final = repaired_points(statement, limited[0])
    attempt = statement.with_best_intercept(limited[0] if final is None else final)
    figures = evaluate(statement, attempt)
    given = isinstance(random_state, np.random.Generator)
    return {
        "card": attempt if figures.feasible else None,
        "evaluation": figures if figures.feasible else None,
        "trace": read_only(trace),
        "points": points,
        "repaired": final is not None and not np.array_equal(final, points),
        "refusal": "" if figures.feasible else figures.violations[0],
        "random_state": None if given else random_state,
    }


def read_only(values: Any) -> FloatArray:
    """The values as a float64 array nobody can write to."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
