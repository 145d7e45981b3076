"""Tree search from the statement alone: smooth losses, and the 0-1 loss on a grid."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import IntArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.grid import on_grid
from milpscore.core.result import TracePoint
from milpscore.core.statement import Statement
from milpscore.losses import RiskLoss, ZeroOne
from milpscore.search._coordinate_descent import coordinate_descent
from milpscore.search.points import repaired
from milpscore.solvers.engine import Outcome, Solver, Task
from milpscore.solvers.finish import absolute_gap
from milpscore.solvers.options import Options

_DESCENT = 1e6
"""Row totals a descent from a mended card may compute."""


class Tree(Solver):
    """Tree search, of exact programs from the statement alone.

    Under a smooth loss (:func:`milpscore.formulations.risk_score`), or under the 0-1 loss of data
    on a grid (:func:`milpscore.formulations.slim`). ``node_limit`` counts nodes; ``threads`` are
    processes that share the open nodes, under a smooth loss only. The bound is recomputed at every
    node.
    """

    def refuse(self, task: Task) -> None:
        """Refuse by name what the tree cannot see or hold: other losses, a changed model."""
        program = task.program
        statement = program.statement
        if isinstance(statement.loss, ZeroOne) and statement.intercept.kind != "grid":
            raise NotApplicableError(
                "the tree search counts totals on the data's grid, and these columns have none: "
                "bin them, round decimals, or use solver='highs'"
            )
        if not isinstance(statement.loss, RiskLoss | ZeroOne):
            raise NotApplicableError(
                f"the tree search has no bounds for the {statement.loss.name} loss: use "
                "solver='highs'"
            )
        change = program.added_by_user()
        if change:
            other = "highs" if isinstance(statement.loss, ZeroOne) else "outer_approximation"
            raise NotApplicableError(
                f"the tree search works from the statement and cannot see that {change}: use "
                f"solver='{other}'"
            )

    def solve(self, task: Task) -> Outcome:
        """Search the merged rows."""
        statement, started = task.program.statement, time.perf_counter()
        listeners = task.listeners

        def tell(seconds: float, objective: float, bound: float, nodes: int) -> None:
            for receive in listeners:
                receive(TracePoint(seconds, objective, bound, nodes))

        limits: dict[str, Any] = {
            "time_limit": task.options.time_limit,
            "node_limit": task.options.node_limit,
            "callback": tell if listeners else None,
        }
        zero_one = isinstance(statement.loss, ZeroOne)
        of_loss = _zero_one if zero_one else _smooth
        answer, own = of_loss(statement, task.options, task.start, limits)
        alone = "the 0-1 tree searches in one process, whatever threads says"
        return Outcome(
            answer.termination,
            card=own,
            dual_bound=answer.bound,
            bound_source="evidence",
            nodes=answer.nodes,
            seconds=time.perf_counter() - started,
            remarks=(alone,) if zero_one and task.options.threads > 1 else (),
            trace=answer.trace,
        )


def _smooth(
    statement: Statement, options: Options, start: Card | None, limits: dict[str, Any]
) -> tuple[Any, Card | None]:
    """The search under a smooth loss, and its card."""
    from milpscore.solvers.tree import search

    answer = search(
        tree_problem(statement),
        start=None if start is None else (start.coefficients, float(start.intercept)),
        gap_abs=absolute_gap(statement),
        gap_rel=options.mip_gap,
        jobs=options.threads,
        **limits,
    )
    if answer.w is None or answer.b is None:
        return answer, None
    return answer, Card(answer.w, statement.intercept.nearest(answer.b))


def _zero_one(
    statement: Statement, options: Options, start: Card | None, limits: dict[str, Any]
) -> tuple[Any, Card | None]:
    """The search under the 0-1 loss, and its card."""
    from milpscore.solvers.tree import search_zero_one

    step = statement.intercept.step
    assert step is not None
    given = None
    if start is not None:
        given = (start.coefficients, math.ceil(start.threshold / step))
    answer = search_zero_one(
        zero_one_problem(statement),
        start=given,
        gap_rel=options.mip_gap,
        random_state=options.random_state,
        **limits,
    )
    if answer.w is None or answer.threshold is None:
        return answer, None
    return answer, Card(answer.w, -answer.threshold * step)


def zero_one_problem(statement: Statement) -> Any:
    """A statement under the 0-1 loss as whole numbers, totals counted in the grid's step."""
    from milpscore.solvers.tree import ZeroOneProblem

    rows, rule = statement.design.merged, statement.intercept
    step = rule.step
    assert step is not None
    weights = {term.name: term.lam for term in statement.penalties}

    def accept(w: IntArray, threshold: int) -> bool:
        return not statement.violations(Card(w, -threshold * step))

    return ZeroOneProblem(
        X=on_grid(rows.X, step),
        y=rows.y,
        lower=statement.coef_min,
        upper=statement.coef_max,
        sample_weight=rows.weight,
        sets=statement.coef_sets,
        max_terms=statement.max_terms,
        l0_penalty=weights.get("l0_penalty", 0.0),
        l1_penalty=weights.get("l1_penalty", 0.0),
        t_lower=math.ceil(-rule.upper / step),
        t_upper=math.floor(-rule.lower / step),
        accept=accept if statement.constraints else None,
    )


def tree_problem(statement: Statement) -> Any:
    """The statement as arrays."""
    from milpscore.solvers.tree import TreeProblem

    loss, rows, rule = statement.loss, statement.design.merged, statement.intercept
    assert isinstance(loss, RiskLoss)
    weights = {term.name: term for term in statement.penalties}
    omega = weights.get("lam")

    def accept(w: IntArray, b: float) -> bool:
        exact = rule.nearest(Fraction(b))
        return not statement.violations(Card(w, exact))

    lower, upper = statement.ranges
    nothing = (lower == 0) & (upper == 0)

    def possible(status: IntArray) -> bool:
        # "in" may still have 0 points: only what is out is certain
        out = np.flatnonzero((status < 0) | nothing).tolist()
        return all(c.allows_support((), out) for c in statement.constraints)

    def mend(w: IntArray, b: float) -> tuple[IntArray, float] | None:
        card = repaired(statement, w)
        return None if card is None else (card.coefficients, float(card.intercept))

    def descend(w: IntArray, b: float) -> tuple[IntArray, float]:
        start = Card(w, rule.nearest(Fraction(b)))
        card = coordinate_descent(statement, start, max_work=_DESCENT)
        return card.coefficients, float(card.intercept)

    limited = bool(statement.constraints)
    return TreeProblem(
        X=np.ascontiguousarray(rows.X),
        y=loss.answers(rows.y),
        loss=loss.base,
        lower=lower,
        upper=upper,
        sample_weight=rows.weight,
        sets=statement.coef_sets,
        max_terms=statement.max_terms,
        l0_penalty=weights["l0_penalty"].lam,
        penalty=getattr(omega, "base", omega),
        scale=loss.scale,
        b_lower=float(rule.lower),
        b_upper=float(rule.upper),
        b_step=None if rule.step is None else float(rule.step),
        accept=accept if limited else None,
        possible=possible if limited else None,
        mend=mend if limited else None,
        descend=descend if limited else None,
    )
