"""The open nodes, the best card, and what has been proved so far."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.errors import OptionError
from milpscore.core.jit import is_interrupt
from milpscore.core.result import Termination, TracePoint
from milpscore.solvers.tree._arrays import Arrays
from milpscore.solvers.tree._branching import split
from milpscore.solvers.tree._cards import Cards, best_intercept
from milpscore.solvers.tree._log import Log
from milpscore.solvers.tree._node import IN, OUT, Node
from milpscore.solvers.tree._problem import TreeAnswer, TreeProblem
from milpscore.solvers.tree._relax import Relaxation

Callback = Callable[[float, float, float, int], None]

_ROUND_ALL = 200
_ROUND_EVERY = 10
_START = 0.3
"""Share of the time limit for a first card: the rest goes to the proof."""

_MOST_TRACE = 10_000
"""Moments kept; beyond it every second one is forgotten."""

_HAIR = 0.999
"""Nodes are closed a little before the gap, so that rounding never leaves it just unproved."""


class Tree:
    """Best first while memory lasts, depth first beyond."""

    def __init__(
        self,
        problem: TreeProblem,
        gaps: tuple[float, float],
        callback: Callback | None,
        record: bool,
        most_open: int,
        most_steps: int,
    ) -> None:
        self.started = time.perf_counter()
        self.problem, self.callback, self.most_open = problem, callback, most_open
        self.gap_abs, self.gap_rel = gaps
        self.arrays = Arrays(problem)
        self.log = Log(self.arrays, most_steps) if record else None
        self.relaxation = Relaxation(self.arrays, record)
        self.root = self._root()
        self.cards = Cards(self.arrays, self.relaxation, self.root)
        self.open: list[tuple[float, int, Node]] = []
        self.stack: list[Node] = []
        self.active: list[Node] = [self.root]
        self.floor, self._proved = math.inf, -math.inf
        self.age = self.nodes = self.expanded = 0
        self.trace: list[TracePoint] = []
        self.time_limit, self.node_limit = math.inf, math.inf

    def _root(self) -> Node:
        """Nothing decided but what the ranges decide, and no line yet."""
        a = self.arrays
        status = np.zeros(a.p, np.int8)
        status[a.zero < 0] = IN
        status[(a.zero >= 0) & (a.hi == 0)] = OUT
        return Node(
            status=status,
            lo=a.lo.copy(),
            hi=a.hi.copy(),
            b_lo=a.b_lower,
            b_hi=a.b_upper,
            bound=-math.inf,
            w=np.zeros(a.p),
            b=min(max(0.0, a.b_lower), a.b_upper),
            mu=0.0,
            constant=-math.inf,
            slope=np.zeros(a.p),
            slope_b=0.0,
            primal=math.inf,
        )

    def take_start(self, w: IntArray, b: float) -> None:
        """Offer the caller's card.

        Raises
        ------
        OptionError
            Where it is no card of the problem.
        """
        w = np.asarray(w)
        a = self.arrays
        whole = w.shape == (a.p,) and bool(np.all(w == np.round(w)))
        if not whole or not self.cards.allowed(w) or not a.b_lower <= b <= a.b_upper:
            raise OptionError("start is no card of this problem: check ranges, terms, intercept")
        if a.b_step is not None and abs(b / a.b_step - round(b / a.b_step)) > 1e-9:
            raise OptionError(f"start's intercept {b} is no multiple of b_step={a.b_step}")
        if not self.cards.offer(w.astype(np.int64), float(b)):
            raise OptionError("start breaks a constraint: pass one that is accepted, or none")

    @property
    def cutoff(self) -> float:
        """Nodes with this bound need no search; never rises."""
        best = self.cards.objective
        if not math.isfinite(best):
            return math.inf
        return best - _HAIR * max(self.gap_abs, self.gap_rel * abs(best))

    @property
    def bound(self) -> float:
        """The least bound over what is open or was closed; what was proved once stays proved."""
        pending = [self.open[0][0]] if self.open else []
        pending += [node.bound for node in (*self.stack, *self.active)]
        self._proved = max(self._proved, min([*pending, self.floor, self.cutoff]))
        return self._proved

    @property
    def remaining(self) -> float:
        """Seconds left."""
        return self.time_limit - (time.perf_counter() - self.started)

    def run(self, time_limit: float, node_limit: int | None, jobs: int) -> TreeAnswer:
        """Search until proved, or stopped."""
        self.time_limit = time_limit
        self.cards.deadline = self.started + _START * time_limit
        self.node_limit = math.inf if node_limit is None else node_limit
        termination = Termination.COMPLETED
        try:
            # an infinite loss is a fair answer: such a card is never the best
            with np.errstate(over="ignore", invalid="ignore"):
                self._begin()
                termination = self.drain(math.inf) if jobs == 1 else self._share(jobs)
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            termination = Termination.INTERRUPTED
        return self._answer(termination)

    def drain(self, most: float, fill: float = math.inf) -> Termination:
        """Search on for ``most`` nodes, or until ``fill`` are open."""
        until = self.nodes + most
        while self.open or self.stack:
            if self.remaining <= 0:
                return Termination.TIME_LIMIT
            if self.nodes >= min(self.node_limit, until) or len(self.open) >= fill:
                return Termination.NODE_LIMIT
            self._step()
            self.report()
        return Termination.COMPLETED

    def _share(self, jobs: int) -> Termination:
        """Search with several processes."""
        from milpscore.solvers.tree._parallel import drain_shared

        return drain_shared(self, jobs)

    def _begin(self) -> None:
        """Look for a first card, then bound the root: a node is solved to what the card asks."""
        if int((self.root.status == IN).sum()) > self.arrays.terms:
            self.active = []
            return
        self.cards.empty()
        if self.remaining > 0:
            self.cards.start()
        self.report()
        if self.log is not None:
            self.log.add(self.root, None)
        if self.remaining > 0 and self.node_limit > 0:
            self.keep([self.root] if self._consider(self.root) else [])
        else:
            self.keep([self.root])
        self.active = []
        self.report()

    def _step(self) -> None:
        """Split the most promising node, or the latest one where too many are open."""
        node = self.stack[-1] if self.stack else self.open[0][2]
        # named before it is taken: an interrupt in between must not lose it
        self.active = [node]
        if self.stack:
            self.stack.pop()
        else:
            heapq.heappop(self.open)
        if self._still_open(node):
            if self.expanded < _ROUND_ALL or self.expanded % _ROUND_EVERY == 0:
                self.cards.round(node)
            self.expanded += 1
            self._expand(node)
        self.active = []

    def _expand(self, node: Node) -> None:
        """Bound a node's parts, or close it where one card is left."""
        parts = split(self.arrays, node)
        if not parts:
            self._finish(node)
            return
        if self.log is not None:
            for part in parts:
                self.log.add(part, node)
            self.log.close(node, "split")
        self.active = parts
        self.keep([part for part in parts if self._consider(part)])

    def _still_open(self, node: Node) -> bool:
        """Whether the node's last line leaves something below the cutoff."""
        if node.bound < self.cutoff and self.relaxation.tighten(node, self.cutoff):
            return True
        if self.log is not None:
            self.log.close(node, "bound")
        return False

    def _consider(self, node: Node) -> bool:
        """Bound a new node; whether it stays open."""
        possible = self.problem.possible
        if possible is not None and not possible(node.status.astype(np.int64)):
            node.bound = math.inf
            if self.log is not None:
                self.log.close(node, "rule")
            return False
        before = self.relaxation.solved
        stays = self.relaxation.solve(node, self.cutoff)
        self.nodes += self.relaxation.solved - before
        if not stays and self.log is not None:
            self.log.close(node, "bound")
        return stays

    def keep(self, nodes: list[Node]) -> None:
        """Put nodes where the next one is taken from."""
        if self.stack or len(self.open) >= self.most_open:
            self.stack += sorted(nodes, key=lambda node: -node.bound)
            return
        for node in nodes:
            self.age += 1
            heapq.heappush(self.open, (node.bound, self.age, node))

    def _finish(self, node: Node) -> None:
        """Close a node with a single choice of w (and b, unless it is real)."""
        a = self.arrays
        w = a.points[np.arange(a.p), node.lo].astype(np.int64)
        real = a.b_step is None and node.b_lo < node.b_hi
        b = best_intercept(a, w, node.b) if real else node.b_lo
        if int(np.count_nonzero(w)) > a.terms or not self.cards.offer(w, b):
            node.bound = math.inf
        else:
            below = a.intercept_slack(w, b) if real else 0.0
            node.bound = max(node.bound, a.objective(w, b) - below)
            self.floor = min(self.floor, node.bound)
        if self.log is not None:
            self.log.close(node, "card" if math.isfinite(node.bound) else "rule")

    def report(self) -> None:
        """Record and show where the search stands."""
        seconds = time.perf_counter() - self.started
        best, bound = self.cards.objective, self.bound
        if self.trace and (best, bound) == (self.trace[-1].objective, self.trace[-1].dual_bound):
            return
        if len(self.trace) >= _MOST_TRACE:
            del self.trace[1:-1:2]
        self.trace.append(TracePoint(seconds, best, bound, self.nodes))
        if self.callback is not None:
            self.callback(seconds, best, bound, self.nodes)

    def _answer(self, termination: Termination) -> TreeAnswer:
        """What was found and proved so far."""
        objective, w, b = self.cards.best
        if w is None and termination is Termination.COMPLETED:
            termination = Termination.INFEASIBLE
        steps = []
        if self.log is not None:
            left = [*(node for _, _, node in self.open), *self.stack, *self.active]
            steps = self.log.finished(left)
        return TreeAnswer(
            w=w,
            b=b,
            objective=objective,
            bound=self.bound,
            nodes=self.nodes,
            termination=termination,
            trace=self.trace,
            steps=steps,
            complete=self.log is not None and not self.log.dropped,
        )
