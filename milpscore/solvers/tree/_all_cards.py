"""Every card below a fixed objective: the same nodes and bounds, and no incumbent."""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.errors import OptionError
from milpscore.core.jit import is_interrupt
from milpscore.core.result import Termination
from milpscore.solvers.tree._branching import split
from milpscore.solvers.tree._cards import best_intercept
from milpscore.solvers.tree._node import IN, Node
from milpscore.solvers.tree._problem import TreeProblem
from milpscore.solvers.tree._tree import Tree

Stopped = Literal["complete", "time_limit", "node_limit", "card_limit", "interrupted"]

STOPPED: dict[Termination, Stopped] = {
    Termination.COMPLETED: "complete",
    Termination.INFEASIBLE: "complete",
    Termination.TIME_LIMIT: "time_limit",
    Termination.NODE_LIMIT: "node_limit",
    Termination.INTERRUPTED: "interrupted",
}
"""The terminations a tree knows."""

_MARGIN = 1e-9
"""Nodes are closed only so far above the cutoff, relatively: rounding must not lose a card."""


@dataclass(frozen=True, eq=False)
class Found:
    """An accepted card at or below the cutoff."""

    objective: float
    w: IntArray
    b: float


@dataclass(frozen=True, eq=False)
class AllAnswer:
    """The cards of a search, and up to where none is missing.

    Attributes
    ----------
    cards : list of Found
        In no order; a w stands once for each of its whole intercepts, once with its best real one.
    bound : float
        Every accepted card below it is among them; the cutoff or more where nothing is left open.
    nodes : int
        Nodes whose relaxation was solved.
    stopped : str
        "complete", or which limit ended the search.
    """

    cards: list[Found]
    bound: float
    nodes: int
    stopped: Stopped


def search_all(
    problem: TreeProblem,
    *,
    cutoff: float,
    most_cards: int = 10_000,
    time_limit: float = math.inf,
    node_limit: int | None = None,
    most_open: int = 50_000,
) -> AllAnswer:
    """Find every card whose objective is at most ``cutoff``.

    The tree of :func:`search` with its cutoff held: a node is closed, and a choice dropped, only
    where a line proves that no card at or below the cutoff is lost.

    Parameters
    ----------
    problem : TreeProblem
        Where the intercept is real, only the best one of each w counts.
    cutoff : float
        An objective.
    most_cards : int
        The search ends once it has so many different w and more may follow.
    time_limit : float
        Seconds; looked at between nodes.
    node_limit : int, optional
        Relaxations solved.
    most_open : int
        Open nodes beyond which the search goes depth first.

    Returns
    -------
    AllAnswer

    Raises
    ------
    OptionError
        A cutoff that is not finite, or a limit below its least value.
    """
    if not math.isfinite(cutoff):
        raise OptionError(
            f"cutoff must be a finite number, got {cutoff!r}: search for a card first"
        )
    if min(time_limit, most_open, node_limit or 0) < 0 or most_cards < 1:
        raise OptionError("time_limit, node_limit and most_open must be >= 0, most_cards >= 1")
    tree = _AllCards(problem, cutoff, most_cards, most_open)
    return tree.collect(time_limit, math.inf if node_limit is None else node_limit)


class _AllCards(Tree):
    """A tree that keeps its cutoff and every card at its leaves."""

    def __init__(
        self, problem: TreeProblem, cutoff: float, most_cards: int, most_open: int
    ) -> None:
        super().__init__(problem, (0.0, 0.0), None, False, most_open, 0)
        self.most, self.most_cards = cutoff, most_cards
        self.found: list[Found] = []
        self.different: set[bytes] = set()

    @property
    def cutoff(self) -> float:
        """A hair above the objective asked for."""
        return self.most + _MARGIN * max(1.0, abs(self.most))

    def collect(self, time_limit: float, node_limit: float) -> AllAnswer:
        """Search until nothing is left at or below the cutoff, or stopped."""
        self.time_limit, self.node_limit = time_limit, node_limit
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._open_root()
                stopped = self._walk()
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            stopped = "interrupted"
        return AllAnswer(self.found, self.bound, self.nodes, stopped)

    def _open_root(self) -> None:
        """Bound the root, unless its must-be-in features alone are too many."""
        few = int((self.root.status == IN).sum()) <= self.arrays.terms
        self.keep([self.root] if few and self._consider(self.root) else [])
        self.active = []

    def _walk(self) -> Stopped:
        """Split open nodes; why it ended."""
        while self.open or self.stack:
            if time.perf_counter() - self.started >= self.time_limit:
                return "time_limit"
            if self.nodes >= self.node_limit:
                return "node_limit"
            if len(self.different) >= self.most_cards:
                return "card_limit"
            self._take()
        return "complete"

    def _take(self) -> None:
        """Split the most promising node, or collect its card."""
        node = self.stack[-1] if self.stack else self.open[0][2]
        # named before it is taken: an interrupt in between must not lose it
        self.active = [node]
        if self.stack:
            self.stack.pop()
        else:
            heapq.heappop(self.open)
        parts = split(self.arrays, node)
        if parts:
            self.active = parts
            self.keep([part for part in parts if self._consider(part)])
        else:
            self._finish(node)
        self.active = []

    def _finish(self, node: Node) -> None:
        """Collect the card of a node with a single choice of w (and b, unless it is real)."""
        a = self.arrays
        w = a.points[np.arange(a.p), node.lo].astype(np.int64)
        if int(np.count_nonzero(w)) > a.terms:
            return
        real = a.b_step is None and node.b_lo < node.b_hi
        b = best_intercept(a, w, node.b) if real else node.b_lo
        objective = a.objective(w, b)
        accept = self.problem.accept
        if objective <= self.most and (accept is None or accept(w.copy(), b)):
            self.found.append(Found(objective, w, float(b)))
            self.different.add(w.tobytes())
