"""All cards within a relative epsilon of the optimum, by a tree whose cutoff is held there."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from milpscore.core.card import Card
from milpscore.core.errors import OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result, Termination
from milpscore.core.statement import Statement
from milpscore.pools._answer import Pool, by_objective
from milpscore.pools._enumeration import cards_within, refuse, with_better_intercepts
from milpscore.pools._recheck import recheck
from milpscore.solvers import solve
from milpscore.solvers.options import is_number, is_whole

if TYPE_CHECKING:
    from milpscore.solvers.tree import AllAnswer

_ROUNDING = 1e-11
"""Cards so little above the threshold, relatively, belong to it: sums round."""


def pool(
    program: Program,
    *,
    epsilon: float = 0.01,
    max_cards: int = 10_000,
    time_limit: float = 60.0,
    node_limit: int | None = None,
    every_intercept: bool = False,
    progress: bool | None = None,
) -> Pool:
    """Find every card whose objective is at most (1 + epsilon) times the best one.

    The optimum is found first (half of the seconds at most), then every card up to the threshold,
    lowest bounds first: whatever stops the search, all cards below ``complete_up_to`` are there.
    Cards that are as good as others in every way (multiples, twins of a column) are not left out.

    Parameters
    ----------
    program : Program
        Exact: under a smooth loss (:func:`milpscore.formulations.risk_score`), or under the 0-1
        loss of data on a grid (:func:`milpscore.formulations.slim`).
    epsilon : float
        Relative to the optimum, >= 0; 0 asks for every optimal card.
    max_cards : int
        The search ends once it has so many different points.
    time_limit : float
        Seconds in all.
    node_limit : int, optional
        Relaxations solved (under the 0-1 loss weight vectors bounded), for the optimum and for the
        pool each.
    every_intercept : bool
        Keep points w once for each intercept within the threshold: for each whole one under a
        smooth loss, for each that errs on other rows under the 0-1 loss. By default each w stands
        once, with its best intercept. A real intercept is always the best one.
    progress : bool, optional
        Of the search for the optimum; default: where standard error is a terminal.

    Returns
    -------
    Pool
        An interrupt (Ctrl-C) ends the search, and what was found is kept. Without cards where none
        meets every constraint, or none was found in time.

    Raises
    ------
    NotApplicableError
        For another loss, a relaxation, or a model that a user changed.
    OptionError
        For an option that makes no sense.
    SolverError
        Where the search and the raw data disagree on a card.
    """
    from milpscore.solvers.tree._all_cards import STOPPED

    _check_options(epsilon, max_cards, time_limit)
    refuse(program)
    started = time.perf_counter()
    best = _optimum(program, time_limit / 2, node_limit, progress)
    statement = program.statement
    if best.card is None:
        stopped = STOPPED[best.termination]
        proved = math.inf if stopped == "complete" else best.dual_bound
        return Pool(
            statement, (), epsilon, math.inf, proved, stopped, every_intercept,
            int(best.nodes or 0), time.perf_counter() - started,
        )  # fmt: skip
    answer = _search(
        statement,
        best,
        _threshold(best.objective, epsilon),
        max_cards,
        time_limit - (time.perf_counter() - started),
        node_limit,
    )
    # the search for the optimum may know its card, and a bound, where this one ended early
    try:
        cards, threshold = _chosen(statement, answer, best.card, epsilon, every_intercept)
    except KeyboardInterrupt:  # once more: the cards are there, and only have to be sorted
        cards, threshold = _chosen(statement, answer, best.card, epsilon, every_intercept)
    return Pool(
        statement=statement,
        cards=tuple(cards),
        epsilon=epsilon,
        threshold=threshold,
        complete_up_to=min(max(answer.bound, best.dual_bound), threshold),
        stopped=answer.stopped,
        every_intercept=every_intercept,
        nodes=int(best.nodes or 0) + answer.nodes,
        seconds=time.perf_counter() - started,
    )


def _optimum(
    program: Program, time_limit: float, node_limit: int | None, progress: bool | None
) -> Result:
    """The best card; after an interrupt outside the search the verified empty one."""
    from milpscore.core.jit import is_interrupt

    try:
        return solve(
            program, "tree", time_limit=time_limit, node_limit=node_limit, progress=progress
        )
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        result = solve(program, "tree", time_limit=0, progress=False)
        return replace(result, termination=Termination.INTERRUPTED)


def _search(
    statement: Statement,
    best: Result,
    cutoff: float,
    max_cards: int,
    seconds: float,
    node_limit: int | None,
) -> AllAnswer:
    """Every card up to the cutoff; none but the best is looked for after an interrupt."""
    from milpscore.core.jit import is_interrupt
    from milpscore.solvers.tree import AllAnswer

    nothing = AllAnswer([], -math.inf, 0, "interrupted")
    if best.termination is Termination.INTERRUPTED:
        return nothing
    try:
        return cards_within(statement, cutoff, max_cards, max(0.0, seconds), node_limit)
    except (KeyboardInterrupt, SystemError) as error:
        # before or after the search itself, which would have kept its cards
        if not is_interrupt(error):
            raise
        return nothing


def _check_options(epsilon: float, max_cards: int, time_limit: float) -> None:
    """Numbers within their ranges."""
    if not (is_number(epsilon) and math.isfinite(epsilon) and epsilon >= 0):
        raise OptionError(f"epsilon must be a finite number >= 0, got {epsilon!r}")
    if not is_whole(max_cards, 1):
        raise OptionError(f"max_cards must be a whole number >= 1, got {max_cards!r}")
    if not (is_number(time_limit) and time_limit >= 0):
        raise OptionError(f"time_limit must be a number of seconds >= 0, got {time_limit!r}")


def _threshold(objective: float, epsilon: float) -> float:
    """The largest objective of the pool."""
    return (1.0 + epsilon) * objective + _ROUNDING * max(1.0, abs(objective))


def _chosen(
    statement: Statement, answer: AllAnswer, best: Card, epsilon: float, every_intercept: bool
) -> tuple[list[Card], float]:
    """The cards within the threshold of the best, the best first, and the threshold."""
    cards = [Card(each.w, statement.intercept.nearest(each.b)) for each in answer.cards]
    known = {card.coefficients.tobytes() for card in cards}
    if best.coefficients.tobytes() not in known:
        cards.append(best)
    each_once = not every_intercept or statement.intercept.step is None
    if each_once and answer.stopped != "complete":
        cards += with_better_intercepts(statement, cards)
    cards, values = by_objective(statement, list(dict.fromkeys(cards)))
    threshold = _threshold(float(values[0]), epsilon)
    kept = [i for i, value in enumerate(values) if value <= threshold]
    if each_once:
        first: dict[bytes, int] = {}
        for i in kept:
            first.setdefault(cards[i].coefficients.tobytes(), i)
        kept = list(first.values())
    chosen = [cards[i] for i in kept]
    recheck(statement, chosen, values[kept])
    return chosen, threshold
