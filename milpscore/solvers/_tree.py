"""Tree search from the statement alone: smooth losses, and the 0-1 loss on a grid."""

from __future__ import annotations

from milpscore.core.errors import NotApplicableError
from milpscore.core.statement import Statement
from milpscore.losses import RiskLoss, ZeroOne
from milpscore.solvers.engine import Outcome, Solver, Task
from milpscore.solvers.finish import absolute_gap
from milpscore.solvers.tree import risk, zero_one
from milpscore.solvers.tree.answer import Answer, Limits


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
        statement, options = task.program.statement, task.options
        zero = isinstance(statement.loss, ZeroOne)
        limits = Limits(
            options.time_limit,
            options.node_limit,
            gap_abs=0.0 if zero else absolute_gap(statement),
            gap_rel=options.mip_gap,
        )
        answer = _search(statement, limits, task)
        alone = "the 0-1 tree searches in one process, whatever threads says"
        return Outcome(
            answer.termination,
            card=answer.card,
            dual_bound=answer.bound,
            bound_source="evidence",
            nodes=answer.nodes,
            seconds=answer.seconds,
            remarks=(alone,) if zero and options.threads > 1 else (),
            trace=answer.trace,
        )


def _search(statement: Statement, limits: Limits, task: Task) -> Answer:
    """Run the tree that the loss asks for."""
    if isinstance(statement.loss, ZeroOne):
        seed = task.options.random_state
        return zero_one.search(
            statement, limits, start=task.start, listeners=task.listeners, random_state=seed
        )
    return risk.search(
        statement, limits, start=task.start, listeners=task.listeners, jobs=task.options.threads
    )
