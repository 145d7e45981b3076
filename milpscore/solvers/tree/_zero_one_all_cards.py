"""Every card below a fixed objective under the 0-1 loss: the same search, its cutoff held."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from milpscore.core.design import IntArray
from milpscore.core.errors import OptionError
from milpscore.core.jit import is_interrupt
from milpscore.core.result import Termination
from milpscore.solvers.tree._all_cards import STOPPED, AllAnswer, Found
from milpscore.solvers.tree._zero_one_cards import Best, Cards
from milpscore.solvers.tree._zero_one_patterns import Patterns
from milpscore.solvers.tree._zero_one_problem import ZeroOneProblem
from milpscore.solvers.tree._zero_one_search import _Search

_MARGIN = 1e-8
"""Supports are closed so far above the cutoff, as a share of 1: more than the search rounds off."""


def search_all_zero_one(
    problem: ZeroOneProblem,
    *,
    cutoff: float,
    most_cards: int = 10_000,
    time_limit: float = math.inf,
    node_limit: int | None = None,
    allowed: Callable[[IntArray], bool] | None = None,
    most_open: int = 200_000,
) -> AllAnswer:
    """Find every card under the 0-1 loss whose objective is at most ``cutoff``.

    The search of :func:`search_zero_one` with its cutoff held, and without what it leaves out
    because some other card is as good: multiples of a card, twin columns, constant ones.

    Parameters
    ----------
    problem : ZeroOneProblem
        With bounds on T.
    cutoff : float
        An objective.
    most_cards : int
        The search ends once it has so many different w and more may follow.
    time_limit : float
        Seconds; looked at every few hundredths of one.
    node_limit : int, optional
        Partial and complete weight vectors bounded.
    allowed : callable, optional
        Whether a w can be accepted with some T: asked before ``problem.accept`` is asked of every
        T.
    most_open : int
        Supports kept.

    Returns
    -------
    AllAnswer
        ``b`` is -T, in the problem's units; thresholds that err on the same rows stand once.

    Raises
    ------
    OptionError
        A cutoff that is not finite, a limit below its least value, or no bounds on T.
    """
    if not math.isfinite(cutoff):
        raise OptionError(
            f"cutoff must be a finite number, got {cutoff!r}: search for a card first"
        )
    if min(time_limit, node_limit or 0) < 0 or min(most_cards, most_open) < 1:
        raise OptionError("time_limit and node_limit must be >= 0, most_cards and most_open >= 1")
    if problem.t_lower is None or problem.t_upper is None:
        raise OptionError("every threshold counts: give t_lower and t_upper")
    if problem.accept is None:
        # with something to ask, nothing is left out because another card is as good
        problem = replace(problem, accept=_always)
    search = _AllSearch(problem, cutoff, most_cards, most_open, time_limit, node_limit, allowed)
    return search.collect()


def _always(w: IntArray, threshold: int) -> bool:
    return True


class _Held(Cards):
    """In place of a best card: every accepted card at or below the cutoff."""

    def __init__(
        self, patterns: Patterns, most: float, allowed: Callable[[IntArray], bool] | None
    ) -> None:
        super().__init__(patterns)
        self.most, self.allowed = most, allowed
        above = most + _MARGIN * max(1.0, abs(most))
        self.best = Best(lowest=above, objective=above)
        self.found: dict[bytes, list[Found]] = {}

    def offer(self, w: IntArray) -> None:
        """Keep w with every threshold that is low enough and accepted."""
        if self.allowed is not None and not self.allowed(w.copy()):
            return
        cards = list(self._accepted(w))
        if cards:
            self.found[w.tobytes()] = cards

    def _accepted(self, w: IntArray) -> Iterator[Found]:
        """The cards of w, one for each way to cut the totals."""
        problem = self.patterns.problem
        assert problem.accept is not None
        beyond = int((self.patterns.X @ w).max()) + 1
        for units, low, high in self._cuts(w):
            if self.patterns.objective(self.patterns.base + units, w) > self.best.lowest:
                return
            # beyond the largest total the least threshold is the plainest, else the largest
            order = range(low, high + 1) if low >= beyond else range(high, low - 1, -1)
            objective = problem.objective(w, order[0])
            if objective > self.most:
                continue
            threshold = next((t for t in order if problem.accept(w.copy(), t)), None)
            if threshold is not None:
                yield Found(objective, w.copy(), -float(threshold))


class _AllSearch(_Search):
    """The search whose best card never gets better."""

    def __init__(
        self,
        problem: ZeroOneProblem,
        cutoff: float,
        most_cards: int,
        most_open: int,
        time_limit: float,
        node_limit: int | None,
        allowed: Callable[[IntArray], bool] | None,
    ) -> None:
        super().__init__(problem, None, most_open, time_limit, node_limit, gap_rel=0.0)
        self.most_cards = most_cards
        self.cards: _Held = _Held(self.patterns, cutoff, allowed)
        self.full = False

    def collect(self) -> AllAnswer:
        """Search until nothing is left at or below the cutoff, or stopped."""
        try:
            answer = self.run(0)
        except SystemError as error:
            if not is_interrupt(error):
                raise
            self.termination = Termination.INTERRUPTED
            answer = self._answer()
        stopped = "card_limit" if self.full else STOPPED[answer.termination]
        found = [card for cards in self.cards.found.values() for card in cards]
        return AllAnswer(found, answer.bound, answer.nodes, stopped)

    def _look_for_cards(self, random_state: int) -> None:
        """The card of no points, which no support holds; a walk meets every other one."""
        if not len(self.patterns.forced):
            self.cards.offer(self.patterns.smallest_card())

    def _stopped(self) -> bool:
        """Whether a limit was reached, that on cards among them."""
        self.full = len(self.cards.found) >= self.most_cards
        if self.full:
            # any other termination than a completed one: the bound is that of what is open
            self.termination = Termination.NODE_LIMIT
        return self.full or super()._stopped()
