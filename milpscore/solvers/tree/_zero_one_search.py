"""Best-first search over supports, and over the weights of those their cells cannot rule out."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.errors import OptionError
from milpscore.core.jit import has_numba, is_interrupt
from milpscore.core.result import Termination, TracePoint
from milpscore.solvers.tree._zero_one_cards import Cards
from milpscore.solvers.tree._zero_one_patterns import Patterns
from milpscore.solvers.tree._zero_one_problem import ZeroOneAnswer, ZeroOneProblem
from milpscore.solvers.tree._zero_one_start import Descent
from milpscore.solvers.tree._zero_one_support import Walk
from milpscore.solvers.tree._zero_one_supports import Supports

Callback = Callable[[float, float, float, int], None]

_WALK = 30_000_000
"""Curve entries between two looks at the clock."""

_SLOWER = 100
"""Without numba a slice of the walk is so much smaller."""

_ALL = 1 << 62
_SURELY = 1e-9
"""Errors are whole units: a bound so small a part of one below the best card is level with it."""

_SHAVED = 1e-12
"""Of a bound, against sums that round differently by the order of their terms."""

_HAIR = 0.999
"""The search ends a little within the gap, so that rounding never leaves it just beyond."""

_TRIFLE = 1e-3
"""Bounds risen by less, relatively, are not worth a line of the trace."""

_SIGN_OF_LIFE = 1.0
"""Seconds."""


def search_zero_one(
    problem: ZeroOneProblem,
    *,
    start: tuple[IntArray, int] | None = None,
    time_limit: float = math.inf,
    node_limit: int | None = None,
    gap_rel: float = 0.0,
    callback: Callback | None = None,
    random_state: int = 0,
    most_open: int = 200_000,
) -> ZeroOneAnswer:
    """Minimise the 0-1 loss over integer cards, with a bound that holds at every moment.

    Supports are bounded by the errors no classifier of their cells avoids, and taken in the order
    of that bound. Within one, weights are decided column by column: rows that agree on the
    undecided columns keep their order whatever is decided next, so the sum over such groups of the
    least errors any threshold of their own leaves is a bound; with all decided it is exact.

    Parameters
    ----------
    problem : ZeroOneProblem
    start : (w, T), optional
        A card to begin with.
    time_limit : float
        Seconds; looked at every few hundredths of one.
    node_limit : int, optional
        Partial and complete weight vectors bounded.
    gap_rel : float
        The search ends once objective - bound <= gap_rel |objective|; 0 asks for the proof.
    callback : callable, optional
        Called with (seconds, objective, bound, nodes) whenever the objective or the bound has
        moved, and every second; a KeyboardInterrupt from it ends the search, as Ctrl-C does.
    random_state : int
        Of the shaken starts of the local search.
    most_open : int
        Supports kept; beyond it the most promising are walked before more are seen.

    Returns
    -------
    ZeroOneAnswer

    Raises
    ------
    OptionError
        A negative limit or gap, or a start that is no card of the problem.
    """
    if min(time_limit, node_limit or 0, gap_rel) < 0 or most_open < 1:
        raise OptionError("time_limit, node_limit and gap_rel must be >= 0, most_open >= 1")
    search = _Search(problem, callback, most_open, time_limit, node_limit, gap_rel)
    if start is not None:
        search.cards.take_start(*start)
    return search.run(random_state)


class _Search:
    """The open supports, the best card, and what has been proved."""

    def __init__(
        self,
        problem: ZeroOneProblem,
        callback: Callback | None,
        most_open: int,
        time_limit: float,
        node_limit: int | None,
        gap_rel: float,
    ) -> None:
        self.started = time.perf_counter()
        self.problem, self.callback, self.most_open = problem, callback, most_open
        self.time_limit, self.node_limit, self.gap_rel = time_limit, node_limit, gap_rel
        self.patterns = Patterns(problem)
        self.cards = Cards(self.patterns)
        self.supports = Supports(self.patterns)
        self.open: list[tuple[float, tuple[int, ...]]] = []
        self.active: tuple[float, Walk | None] = (math.inf, None)
        self.walked = self.opened = 0
        self.proved = -math.inf
        self.shown = 0.0
        self.trace: list[TracePoint] = []
        self.termination = Termination.COMPLETED

    @property
    def nodes(self) -> int:
        """Weight vectors bounded so far."""
        walk = self.active[1]
        return self.walked + (walk.nodes if walk is not None else 0)

    @property
    def _pending(self) -> float:
        """The least bound over the supports unseen, open or being walked."""
        return min(self.supports.floor, self.active[0], self.open[0][0] if self.open else math.inf)

    @property
    def _limit(self) -> float:
        """What reaches it is given up: the best card, less the gap asked for. Never rises."""
        lowest = self.cards.best.lowest
        return lowest - _HAIR * self.gap_rel * abs(lowest) if math.isfinite(lowest) else lowest

    def _prove(self) -> float:
        """No accepted card is below it; never falls."""
        most = min(self._limit, self.cards.best.objective)
        if self._unfinished():
            most = min(most, self._pending - _SHAVED * abs(self._pending))
        self.proved = max(self.proved, most)
        return self.proved

    def run(self, random_state: int) -> ZeroOneAnswer:
        """Search until proved, or stopped."""
        try:
            self._look_for_cards(random_state)
            self._report()
            while self._unfinished() and not self._stopped():
                self._step()
                self._report()
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            self.termination = Termination.INTERRUPTED
        return self._answer()

    def _look_for_cards(self, random_state: int) -> None:
        """The cards of no optional term, and a local search."""
        if len(self.patterns.forced) > self.problem.terms:
            return
        first = self.patterns.smallest_card()
        self.cards.offer(first)
        best = self.cards.best.w
        starts = [first] if best is None or np.array_equal(best, first) else [best, first]
        descent = Descent(self.patterns, self.cards.offer, self._need_no_card, random_state)
        descent.run(starts)

    def _need_no_card(self) -> bool:
        """Whether the local search should end: no time, or nothing left to improve."""
        return self._out_of_time() or not self._unfinished()

    def _out_of_time(self) -> bool:
        return time.perf_counter() - self.started >= self.time_limit

    def _stopped(self) -> bool:
        """Whether a limit was reached; sets the termination."""
        if self._out_of_time():
            self.termination = Termination.TIME_LIMIT
        elif self.node_limit is not None and self.nodes >= self.node_limit:
            self.termination = Termination.NODE_LIMIT
        else:
            return False
        return True

    def _unfinished(self) -> bool:
        """Whether anything left could beat the best card."""
        return self._pending < self._limit - _SURELY * self.patterns.unit

    def _step(self) -> None:
        """Walk on, see more supports, or open the most promising one."""
        if self.active[1] is not None:
            self._walk_on(self.active[1])
            return
        best = self.open[0][0] if self.open else math.inf
        limit, floor = self._limit, self.supports.floor
        if floor <= best and (len(self.open) < self.most_open or best >= limit):
            if best >= limit:
                self.open = []
            for item in self.supports.more(limit):
                heapq.heappush(self.open, item)
            self.supports.commit()
            return
        bound, columns = self.open[0]
        self.active = bound, None
        heapq.heappop(self.open)
        self.active = bound, Walk(self.patterns, np.array(columns, dtype=np.int64))
        self.opened += 1

    def _walk_on(self, walk: Walk) -> None:
        """A slice of the walk through the active support."""
        from milpscore.solvers.tree._zero_one_kernels import FINISHED, FOUND

        most = _ALL if self.node_limit is None else self.node_limit - self.walked
        slice_ = _WALK if has_numba() else _WALK // _SLOWER
        status = walk.run(self._limit, slice_, most)
        if status == FOUND:
            self.cards.offer(walk.w)
        elif status == FINISHED:
            self.walked += walk.nodes
            self.active = math.inf, None

    def _report(self) -> None:
        """Record what has moved, and show it; without news a sign of life now and then."""
        point = self._now()
        if self._is_news(point):
            self.trace.append(point)
        elif point.seconds < self.shown + _SIGN_OF_LIFE:
            return
        self.shown = point.seconds
        if self.callback is not None:
            self.callback(point.seconds, point.objective, point.dual_bound, point.nodes)

    def _now(self) -> TracePoint:
        seconds = time.perf_counter() - self.started
        return TracePoint(seconds, self.cards.best.objective, self._prove(), self.nodes)

    def _is_news(self, point: TracePoint) -> bool:
        """Whether the objective has moved, or the bound by more than a trifle."""
        if not self.trace or point.objective != self.trace[-1].objective:
            return True
        return point.dual_bound >= self.trace[-1].dual_bound + _TRIFLE * abs(point.dual_bound)

    def _answer(self) -> ZeroOneAnswer:
        """What was found and proved so far."""
        best, point, termination = self.cards.best, self._now(), self.termination
        if best.w is None and termination is Termination.COMPLETED:
            termination = Termination.INFEASIBLE
        self.trace.append(point)
        return ZeroOneAnswer(
            w=best.w,
            threshold=best.threshold,
            objective=best.objective,
            error_weight=best.error_weight,
            bound=point.dual_bound,
            nodes=point.nodes,
            supports=self.supports.seen,
            opened=self.opened,
            termination=termination,
            trace=self.trace,
        )
