"""The trees behind a pool, asked from a statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import IntArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Program
from milpscore.core.statement import Statement
from milpscore.losses import RiskLoss, ZeroOne
from milpscore.pools._figures import points_of, scores_in_parts

if TYPE_CHECKING:
    from milpscore.solvers.tree import AllAnswer


def refuse(program: Any) -> None:
    """Refuse by name what no tree with a held cutoff can treat.

    Raises
    ------
    NotApplicableError
    """
    if not isinstance(program, Program) or program.kind != "exact":
        raise NotApplicableError(
            "a pool is enumerated from an exact program of whole points: build one with "
            "risk_score(...) or slim(...)"
        )
    statement = program.statement
    if isinstance(statement.loss, ZeroOne) and statement.intercept.kind != "grid":
        raise NotApplicableError(
            "a pool under the 0-1 loss counts totals on the data's grid, and these columns have "
            "none: bin them, or round decimals"
        )
    if not isinstance(statement.loss, RiskLoss | ZeroOne):
        raise NotApplicableError(
            f"a pool is enumerated under a smooth loss or the 0-1 loss, and {program.formulation} "
            f"has the {statement.loss.name} loss: build risk_score(...) on the same data "
            "(loss='squared_hinge' is nearest to hinge), or slim(...)"
        )
    change = program.added_by_user()
    if change:
        raise NotApplicableError(
            f"a pool is enumerated from the statement, which cannot say that {change}: pass the "
            f"rule as {program.formulation}(..., constraints=[...])"
        )


def cards_within(
    statement: Statement, cutoff: float, most_cards: int, seconds: float, node_limit: int | None
) -> AllAnswer:
    """Every card of a statement with an objective of at most ``cutoff``, b in the data's units."""
    from milpscore.solvers._tree import tree_problem, zero_one_problem
    from milpscore.solvers.tree import search_all, search_all_zero_one

    limits: dict[str, Any] = {
        "cutoff": cutoff,
        "most_cards": int(most_cards),
        "time_limit": seconds,
        "node_limit": node_limit,
    }
    if not isinstance(statement.loss, ZeroOne):
        return search_all(tree_problem(statement), **limits)

    def allowed(w: IntArray) -> bool:
        return bool(statement.allows(w[None, :])[0])

    answer = search_all_zero_one(zero_one_problem(statement), allowed=allowed, **limits)
    step = statement.intercept.step
    assert step is not None
    cards = [replace(each, b=float(int(each.b) * step)) for each in answer.cards]
    return replace(answer, cards=cards)


def with_better_intercepts(statement: Statement, cards: Sequence[Card]) -> list[Card]:
    """The best intercept of each w: a search that ended early may have met another one first.

    Under the 0-1 loss a w is met with all its thresholds; and where errors are limited, one that
    was not met may be out of bounds.
    """
    limited = any(each.limits_answers for each in statement.constraints)
    if limited or isinstance(statement.loss, ZeroOne):
        return []
    rows, loss, rule = statement.design.merged, statement.loss, statement.intercept
    each = {card.coefficients.tobytes(): card for card in cards}
    points = points_of(list(each.values()), statement.design.shape[1])
    found: list[Card] = []
    for part, totals in scores_in_parts(statement, points, np.zeros(len(points))):
        intercepts, _ = loss.best_intercepts(totals, rows.y, rows.weight, rule)
        found += [
            Card(w, rule.nearest(float(b))) for w, b in zip(points[part], intercepts, strict=True)
        ]
    return found
