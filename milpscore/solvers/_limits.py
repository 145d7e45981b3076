"""Limits on errors: a card that keeps to one, or a proof that none does, before any search.

An objective over all rows leads no search to the few cards a subgroup's limit allows. So where no
card is known, the limited rows alone are searched, for the least that they can cost.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray
from milpscore.core.program import Program
from milpscore.core.statement import InterceptRule, Statement
from milpscore.losses import ZeroOne
from milpscore.search.starts import first_card
from milpscore.solvers.engine import Task
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY
from milpscore.verify import evaluate


def keeping_limits(program: Program, time_limit: float) -> tuple[Card | None, str]:
    """Return a card that keeps to the limits on errors, why there is none, or neither."""
    # the rows of one limit are searched at a time, among all cards the other rules allow
    statement, clock = program.statement, Clock.of(time_limit)
    limits = [limit for each in statement.constraints for limit in each.limits]
    card = first_card(statement) if limits else None
    if not limits or card is not None or program.kind != "exact":
        return card, ""
    best: Card | None = None
    for paid, allowed, name in limits:
        alone = _of_errors(statement, np.asarray(paid, dtype=np.float64))
        if alone is None:
            continue
        # what pays if it is answered negative, or positive, is wrong where it does; of a gap these
        # are rows of both groups
        share = (allowed - float(paid[paid < 0].sum())) / float(np.abs(paid).sum())
        bound, found = _least(alone, share, clock.part(POLICY.limit_share))
        if bound > share + 1e-9:
            return None, (
                f"no card meets '{name}' within the ranges and max_terms: every card answers at "
                f"least {bound:.4g} of that weight wrongly, where {share:.4g} is allowed; loosen it"
            )
        if found is not None:
            mended = statement.with_best_intercept(found.coefficients)
            best = best if statement.violations(mended) else mended
    return best, ""


def _of_errors(statement: Statement, paid: FloatArray) -> Statement | None:
    """The least that rows pay over the cards of a statement; None off the data's grid."""
    sides = np.where(paid == 0.0, statement.design.y, np.where(paid < 0.0, -1, 1))
    design = replace(statement.design, weight=np.abs(paid), y=sides)
    step = design.step
    if step is None:
        return None
    # every threshold between totals, whatever intercepts the statement allows
    ends = np.maximum(np.abs(statement.coef_min), np.abs(statement.coef_max))
    most = Fraction(float((np.abs(design.merged.X) @ ends).max(initial=0.0)))
    reach = (most // step + 1) * step
    return replace(
        statement, formulation="slim", design=design, loss=ZeroOne(), penalties=(),
        intercept=InterceptRule("grid", -reach, reach, step),
        constraints=tuple(each for each in statement.constraints if not each.limits_answers),
    )  # fmt: skip


def _least(statement: Statement, enough: float, clock: Clock) -> tuple[float, Card | None]:
    """The tree's bound on the least cost, and its card; a card that costs ``enough`` ends it."""
    from milpscore.solvers.trees.shared.answer import Tree  # loads numba

    bound, found = 0.0, None
    program = Program(statement, None, None)  # type: ignore[arg-type]  # the tree needs no model
    for nodes in (1, None):
        options = Options(time_limit=clock, node_limit=nodes)
        outcome = Tree().solve(Task(program, options, start=found))
        bound, found = max(bound, outcome.dual_bound), outcome.card or found
        if found is not None and evaluate(statement, found).loss <= enough:
            break
    return bound, found
