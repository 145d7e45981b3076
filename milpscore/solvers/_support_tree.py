"""Best-first search over supports: which terms are in, which are out, an LP bound at every node.

Where a big-M model's own branching proves little (thousands of rows, a limit on terms), deciding
the terms first does: each node is the program's LP with some terms fixed in or out, its bound is
recomputed from the duals, and a node whose terms are all decided is a small MILP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.jit import heeding_interrupts
from milpscore.core.result import CLAIM_TOLERANCE, Termination
from milpscore.solvers.engine import Outcome, Task
from milpscore.solvers.finish import absolute_gap
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY
from milpscore.solvers.running import (
    add_rows,
    configure,
    is_feasible,
    run_here,
    set_option,
    termination_of,
)
from milpscore.solvers.session import Session, SessionSolver
from milpscore.solvers.trees.shared.answer import Limits, SearchClock
from milpscore.solvers.trees.shared.best_first import BestFirst, OpenNodes
from milpscore.verify import check, evaluate


@dataclass(eq=False)
class _Node:
    """Terms decided so far."""

    bound: float
    inside: tuple[int, ...]
    outside: frozenset[int]
    size: FloatArray
    basis: Any = None


class SupportTree(SessionSolver):
    """Best-first search over the supports; ``node_limit`` counts LPs."""

    ROWS, INTEGERS = 2000, 0.1
    checks = True

    @classmethod
    def suits(cls, session: Session) -> bool:
        """Whether there are many rows, few integers and a limit on terms."""
        # there each LP is large and branching on big-M terms proves little; adult (hinge, 9,787
        # distinct rows): proved in 29 s, where HiGHS has a gap of 14 % after 60 s. With few rows
        # HiGHS's own cuts and heuristics are faster
        program = session.program
        if session.own is not None:
            return False
        decides_terms = program.statement.max_terms is not None and program.switches_terms
        few_integers = session.integral.sum() <= cls.INTEGERS * len(session.integral)
        many_rows = len(session.rows) >= cls.ROWS
        return bool(session.kind == "exact" and decides_terms and few_integers and many_rows)

    def refuse(self, task: Task) -> None:
        """Refuse relaxations, objectives of one's own, and models that switch no terms."""
        if task.loaded.own is not None:
            name = task.loaded.own.name
            raise NotApplicableError(
                f"support_tree minimises what was stated, not {name}: use {{solver}}",
                solver="highs",
            )
        if task.kind != "exact" or not task.program.switches_terms:
            raise NotApplicableError(
                "support_tree decides which terms are used: it needs an exact program with "
                "{max_terms} or {l0_penalty}; use {solver} for this one",
                max_terms=...,
                l0_penalty=...,
                solver="highs",
            )

    def solve(self, task: Task) -> Outcome:
        """Search; the bound is the least over the open nodes."""
        return _Tree(task).run()


class _Tree(BestFirst):
    """The search over terms that are in or out; one LP is edited from node to node."""

    def __init__(self, task: Task) -> None:
        self.session = task.loaded
        self.options: Options = task.options
        program, session = task.program, task.loaded
        limits = Limits(self.options.time_limit, self.options.node_limit)
        self.clock = SearchClock(limits, task.listeners)
        self.statement = program.statement
        self.limit = self.statement.max_terms
        model = program.model
        self.alpha = np.array([session.position(model.alpha[j]) for j in model.J], dtype=np.int32)
        self.w = np.array([session.position(model.w[j]) for j in model.J], dtype=np.int32)
        self._decided = np.concatenate([self.alpha, self.w])
        self.spread = self.statement.design.X.std(axis=0) + 1e-9
        self.lp = _LazyLP(session, self.options)
        self.mip = session.copy(relaxed=False)
        options = session.without_loops(self.options)
        self.gap_abs = absolute_gap(task.program, self.options)
        configure(self.mip, options, self.gap_abs * session.scale)
        self.tried: set[frozenset[int]] = set()
        self.open: OpenNodes[_Node] = OpenNodes()
        self.closed_bound = math.inf
        self.solved = 0
        self.expanded = 0
        self.values: FloatArray | None = None
        self.best = math.inf
        if task.start is not None:
            self.best = evaluate(self.statement, task.start).objective

    @property
    def nodes(self) -> int:
        """LPs solved."""
        return self.solved

    @property
    def pending(self) -> float:
        """The least bound of the nodes that are open."""
        return self.open.least

    @property
    def ceiling(self) -> float:
        """The incumbent, or the least bound of a closed node."""
        return min(self.closed_bound, self.best)

    @property
    def unfinished(self) -> bool:
        """Whether a node is open."""
        return bool(self.open)

    def run(self) -> Outcome:
        """Search until proved, or stopped."""
        root = _Node(-math.inf, (), frozenset(), np.empty(0))
        self.open.active = [root]
        with heeding_interrupts(self.clock.interrupted):
            if self._relax(root):
                self.open.keep([root])
            self.open.active = []
            self.search()
        self.report()
        return self._outcome()

    def step(self) -> None:
        """Take the node with the lowest bound: close it, or look for a card and split it."""
        node = self.open.take()
        if not self._closes(node):
            if self.expanded % POLICY.dive_every == 0:
                self._dive(node)
            self.expanded += 1
            self._expand(node)
        self.open.active = []

    def stopped(self) -> bool:
        """Whether a limit was reached, or the gap asked for; sets the termination."""
        if super().stopped():
            return True
        wanted = self.options.loose_gap * max(abs(self.best), 1e-10)
        if self.best - self.bound <= wanted and self.bound < self._cutoff:
            self.clock.termination = Termination.GAP_REACHED
            return True
        return False

    @property
    def _cutoff(self) -> float:
        """A node of this bound is closed: what it may still hold cannot change the claim."""
        if not math.isfinite(self.best):
            return math.inf
        near = POLICY.claim_share * CLAIM_TOLERANCE * self.best
        return self.best - max(near, self.gap_abs, 0.1 * POLICY.mip_tolerance)

    def _closes(self, node: _Node) -> bool:
        """Whether nothing in the node can beat the incumbent."""
        if node.bound < self._cutoff:
            return False
        self.closed_bound = min(self.closed_bound, node.bound)
        return True

    def _expand(self, node: _Node) -> None:
        """Split on the undecided term that moves totals most, or finish a decided node."""
        decided = {*node.inside, *node.outside}
        undecided = [j for j in range(len(self.w)) if j not in decided]
        full = self.limit is not None and len(node.inside) >= self.limit
        if full or not undecided:
            self._finish(node)
            return
        weight = node.size * self.spread + 1e-9 * self.spread
        j = max(undecided, key=lambda k: (weight[k], -k))
        out, in_ = (node.inside, node.outside | {j}), ((*node.inside, j), node.outside)
        for inside, outside in (out, in_):
            child = _Node(node.bound, inside, outside, node.size, node.basis)
            if self._relax(child) and not self._closes(child):
                self.open.keep([child])

    def _ranges(
        self, inside: tuple[int, ...], outside: frozenset[int]
    ) -> tuple[FloatArray, FloatArray]:
        """Column ranges where some terms are in and some are out; all others, at the limit."""
        low, high = self.session.col_lower.copy(), self.session.col_upper.copy()
        low[self.alpha[list(inside)]] = 1.0
        full = self.limit is not None and len(inside) >= self.limit
        out = list(outside) if not full else [j for j in range(len(self.w)) if j not in inside]
        high[self.alpha[out]] = 0.0
        low[self.w[out]] = np.maximum(low[self.w[out]], 0.0)
        high[self.w[out]] = np.minimum(high[self.w[out]], 0.0)
        return low, high

    def _relax(self, node: _Node) -> bool:
        """Solve a node's LP and raise its bound; False where no point of it is feasible."""
        low, high = self._ranges(node.inside, node.outside)
        if np.any(low > high):
            return False
        seconds = max(self.clock.remaining, 0.1)
        answer = self.lp.solve(self._decided, low, high, seconds, node.basis)
        self.solved += 1
        if answer.termination is Termination.INFEASIBLE:
            return False
        node.bound = max(node.bound, answer.dual_bound)
        node.basis = self.lp.basis()
        if answer.values is not None:
            node.size = np.abs(answer.values[self.w])
        elif not len(node.size):
            node.size = np.zeros(len(self.w))
        return True

    def _finish(self, node: _Node) -> None:
        """Close a node of decided terms by its small MILP, or keep it open with its bound."""
        solved, bound = self._solve_support(node.inside)
        if solved:
            self.closed_bound = min(self.closed_bound, max(node.bound, bound))
        else:  # stopped by the time limit: it stays open with what was proved
            node.bound = max(node.bound, bound)
            self.open.keep([node])

    def _solve_support(self, inside: tuple[int, ...]) -> tuple[bool, float]:
        """The MILP that uses exactly these terms: (whether it is settled, its bound)."""
        out = frozenset(range(len(self.w))) - frozenset(inside)
        low, high = self._ranges(inside, out)
        decided = self._decided
        self.mip.changeColsBounds(len(decided), decided, low[decided], high[decided])
        set_option(self.mip, "time_limit", max(self.clock.remaining, 0.1))
        run_here(self.mip)
        self.solved += 1
        ended, info = termination_of(self.mip), self.mip.getInfo()
        if ended is Termination.INFEASIBLE:
            return True, math.inf
        if is_feasible(info):
            self._consider(np.asarray(self.mip.getSolution().col_value, dtype=np.float64))
        bound = float(info.mip_dual_bound) / self.session.scale
        settled = ended is Termination.COMPLETED or bound >= self._cutoff
        return settled, bound

    def _dive(self, node: _Node) -> None:
        """Look for a better card with the terms the node's LP uses most."""
        if self.limit is None or not len(node.size):
            return
        weight = node.size * self.spread
        weight[list(node.outside)] = 0.0
        weight[list(node.inside)] = np.inf
        support = np.argsort(-weight, kind="stable")[: self.limit]
        chosen = frozenset(int(j) for j in support if weight[j] > 0)
        if chosen and chosen not in self.tried:
            self.tried.add(chosen)
            self._solve_support(tuple(sorted(chosen)))

    def _consider(self, values: FloatArray) -> None:
        """Take a solution as the incumbent where its re-checked card is better."""
        self.session.load_values(values)
        card = self.session.program.card()
        # off the grid a solver's threshold may sit exactly on a total, and the answer be another
        for form in dict.fromkeys((card, self.statement.with_best_intercept(card.coefficients))):
            if evaluate(self.statement, form).objective >= self.best:
                continue
            evaluation = check(self.session.program, form, form=self.session.form)
            if evaluation.feasible:
                self.best, self.values = evaluation.objective, self.session.vector()

    def report(self) -> None:
        """Record and show where the search stands."""
        self.clock.note(self.best, self.bound, self.nodes)

    def _outcome(self) -> Outcome:
        """What the search found, in the form every engine answers."""
        ended, bound = self.clock.termination, self.bound
        remarks: tuple[str, ...] = ()
        if ended is Termination.COMPLETED and not math.isfinite(self.best):
            ended = Termination.INFEASIBLE
            if math.isfinite(self.closed_bound):  # a solver has points, and no card stands for one
                ended, remarks = Termination.INACCURATE, ("every point of the solver was refused",)
        return Outcome(
            ended, values=self.values, dual_bound=bound if math.isfinite(bound) else -math.inf,
            nodes=self.nodes, seconds=self.clock.seconds, trace=self.clock.trace,
            remarks=remarks,
        )  # fmt: skip


class _LazyLP:
    """The relaxation under changing column bounds, its rows brought in when they are broken."""

    # a row left out only relaxes the LP, so every bound stays valid; with thousands of data rows a
    # few hundred usually suffice

    def __init__(self, session: Session, options: Options) -> None:
        self.session = session
        self.matrix = sparse.csr_array(session.matrix)
        self.present = np.zeros(self.matrix.shape[0], dtype=bool)
        # order[i]: the session's row that is row i of this HiGHS
        self.order = np.empty(0, dtype=np.int64)
        self.highs = session.copy(relaxed=True)
        configure(self.highs, options, 0.0, POLICY.lp_tolerance)
        self.highs.deleteRows(len(self.present), np.arange(len(self.present), dtype=np.int32))

    def basis(self) -> Any:
        """The final basis of the last solve, to start a later one from."""
        return self.highs.getBasis()

    def solve(
        self, columns: Any, low: FloatArray, high: FloatArray, seconds: float, basis: Any = None
    ) -> Outcome:
        """Solve under column bounds that differ from the last ones at ``columns`` only."""
        self.highs.changeColsBounds(len(columns), columns, low[columns], high[columns])
        if basis is not None and basis.valid:
            missing = len(self.order) - len(basis.row_status)
            # rows added since that solve are basic
            basis.row_status = [*basis.row_status, *[highspy.HighsBasisStatus.kBasic] * missing]
            self.highs.setBasis(basis)
        outcome = Outcome(Termination.COMPLETED)
        deadline = self.highs.getRunTime() + seconds
        while True:
            set_option(self.highs, "time_limit", deadline)
            run_here(self.highs)
            if self.highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
                return Outcome(Termination.INFEASIBLE, dual_bound=math.inf)
            answer = self.highs.getSolution()
            if not answer.value_valid or not answer.dual_valid:
                return outcome
            outcome.values = np.asarray(answer.col_value, dtype=np.float64)
            dual = np.zeros(len(self.present))
            dual[self.order] = np.asarray(answer.row_dual, dtype=np.float64) / self.session.scale
            bound = self.session.dual_bound_of(dual, low, high)
            outcome.dual_bound = max(outcome.dual_bound, bound)
            if self.highs.getRunTime() > deadline or not self._add_broken(outcome.values):
                return outcome

    def _add_broken(self, values: FloatArray) -> bool:
        """Add the rows the point breaks most; whether there were any."""
        activity = self.matrix @ values
        excess = np.maximum(self.session.row_lower - activity, activity - self.session.row_upper)
        excess[self.present] = 0.0
        broken = np.flatnonzero(excess > POLICY.row_tolerance)
        if not len(broken):
            return False
        if len(broken) > POLICY.rows_added:
            worst = np.argsort(-excess[broken], kind="stable")[: POLICY.rows_added]
            broken = np.sort(broken[worst])
        lower, upper = self.session.row_lower[broken], self.session.row_upper[broken]
        add_rows(self.highs, self.matrix[broken], lower, upper)
        self.present[broken] = True
        self.order = np.concatenate([self.order, broken])
        return True
