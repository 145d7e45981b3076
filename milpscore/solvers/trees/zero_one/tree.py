"""The tree search under the 0-1 loss: over supports, then over the weights of what is left."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from milpscore.core.card import Card, TotalCuts
from milpscore.core.design import FloatArray, IntArray, common_step
from milpscore.core.jit import heeding_interrupts
from milpscore.core.result import TracePoint
from milpscore.core.statement import Statement
from milpscore.search.moves import coordinate_descent
from milpscore.search.starts import fast_cards
from milpscore.solvers.engine import Listener
from milpscore.solvers.trees.shared.answer import (
    POLICY as SHARED,
    Answer,
    Limits,
    SearchClock,
    check_cutoff,
    check_start,
    most_terms,
)
from milpscore.solvers.trees.shared.best_first import BestFirst, Crew, crew
from milpscore.solvers.trees.zero_one.descent import CoordinateDescent
from milpscore.solvers.trees.zero_one.policy import POLICY
from milpscore.solvers.trees.zero_one.rows import Patterns
from milpscore.solvers.trees.zero_one.support_bounds import Bounded, Part, Supports
from milpscore.solvers.trees.zero_one.weight_walk import FINISHED, FOUND, PAUSED, Place, Walk

if TYPE_CHECKING:
    from milpscore.solvers.trees.zero_one.pair_bounds import SignedSupports

Item = tuple[float, tuple[int, ...], tuple[int, ...]]
Piece = tuple[Item, Place]
"""A support with its bound and signs, and what of its weights is left: no place is all of them."""


def search(
    statement: Statement, limits: Limits | None = None, *, start: Card | None = None,
    listeners: Sequence[Listener] = (), random_state: int = 0, jobs: int = 1, client: Any = None,
) -> Answer:  # fmt: skip
    """Minimise the 0-1 loss over integer cards, with a bound that holds at every moment."""
    # a KeyboardInterrupt from a listener ends it, as Ctrl-C does; ``jobs`` processes, or the
    # workers of a Dask ``client``, search parts
    check_start(statement, start)
    clock = SearchClock(limits or Limits(), listeners)
    tree = ZeroOneSearch(Patterns(statement), clock)
    if start is not None:
        tree.cards.take_start(start)
    tree.jobs, tree.client = jobs, client
    return tree.run(random_state)


def search_all(
    statement: Statement, limits: Limits | None = None, *, cutoff: float, most_cards: int = 10_000
) -> Answer:
    """Find every card whose objective is at most ``cutoff``, or the first ``most_cards`` w."""
    # The same search with its cutoff held, and without what it leaves out because some other card
    # is as good: multiples, twin columns. Thresholds that err on the same rows stand once.
    check_cutoff(cutoff, most_cards)
    patterns = Patterns(statement, every_card=True)
    return _AllSearch(patterns, limits or Limits(), cutoff, most_cards).collect()


class Incumbent(NamedTuple):
    """A card, its objective in whole units of weight (``lowest``) and from the weights."""

    w: IntArray | None = None
    threshold: int = 0
    lowest: float = math.inf
    objective: float = math.inf


class CardKeeper:
    """Keeps the best allowed card."""

    def __init__(self, patterns: Patterns) -> None:
        self.patterns = patterns
        self.best = Incumbent()

    def take_start(self, card: Card) -> None:
        """Begin with the caller's card."""
        p = self.patterns
        w, threshold = card.coefficients, math.ceil(card.threshold / p.step)
        wrong = np.where(p.totals(w) >= threshold, p.net < 0, p.net > 0)
        self._take(w, threshold, int(np.abs(p.net[wrong].astype(np.int64)).sum()))
        self.offer(w)

    def offer(self, w: IntArray) -> None:
        """Take w with its best allowed threshold where that is better than the best card."""
        p = self.patterns
        if p.constrained and not p.statement.allows(w[None, :])[0]:
            return
        for units, low, high in self._cuts(w, p.limits):
            if p.objective(p.base + units, w) >= self.best.lowest:
                return
            real = p.statement.intercept.step is None
            # a real threshold is best clear of the totals
            tried = ((low + high) // 2, high, low) if real else range(high, low - 1, -1)
            for threshold in tried:
                if p.allowed(w, threshold):
                    self._take(w, threshold, units)
                    return

    def _take(self, w: IntArray, threshold: int, units: int) -> None:
        """Make a card the best one, in one assignment that no interrupt can part."""
        p = self.patterns
        lowest = p.objective(p.base + units, w)
        self.best = Incumbent(w.copy(), threshold, lowest, p.exact_objective(w, threshold))

    def outcomes(self, w: IntArray) -> FloatArray:
        """Return per way to cut w's totals the objective, and the cost beyond each limit."""
        p = self.patterns
        cuts, positive = TotalCuts.of(p.totals(w, True)), p.y > 0
        beyond = [cuts.below(paid) - allowed for paid, allowed in p.limits]
        share = cuts.wrong(p.weight, positive) / math.fsum(p.weight) + p.charge(w)
        return np.column_stack([share, *beyond])

    def _cuts(
        self, w: IntArray, limits: Sequence[tuple[FloatArray, float]] = (), apart: bool = False
    ) -> Iterator[tuple[int, int, int]]:
        """Yield (net errors in units, least T, largest T) of ways to cut the totals, best first."""
        # ``apart``, and limits on errors, also part rows whose classes cancel
        p = self.patterns
        merged = apart or bool(limits)
        net, base = (p.signed, p.base) if merged else (p.net, 0)
        cuts = TotalCuts.of(p.totals(w, merged))
        distinct, net = cuts.distinct, net.astype(np.int64)
        errors = cuts.below(net) - net[net < 0].sum() - base
        beyond = int(distinct[-1]) + 1
        last = max(beyond, p.t_low) if p.thrifty else p.t_high
        low = np.maximum(np.concatenate([[p.t_low], distinct + 1]), p.t_low)
        high = np.minimum(np.concatenate([distinct, [last]]), p.t_high)
        fine = np.logical_and.reduce(
            [low <= high, *(cuts.below(paid) <= allowed for paid, allowed in limits)]
        )
        kept = np.flatnonzero(fine)
        for i in kept[np.argsort(errors[kept], kind="stable")].tolist():
            yield int(errors[i]), int(low[i]), int(high[i])


@dataclass(eq=False)
class Lane:
    """One search: its supports, those open, the bound and the walk of the one that is active."""

    supports: Supports | SignedSupports
    open: Bounded = field(default_factory=list)
    active: tuple[float, Walk | None] = (math.inf, None)
    item: Item = (math.inf, (), ())  # the support that is walked


class ZeroOneSearch(BestFirst):
    """The open supports, the best card, and what has been proved."""

    def __init__(self, patterns: Patterns, clock: SearchClock) -> None:
        self.patterns, self.limits, self.clock = patterns, clock.limits, clock
        self.bounds = patterns  # the same, with what limits on errors are priced at
        # beyond it the most promising are walked before more are seen
        item = math.inf, tuple(range(patterns.terms)), ()
        self.most_open = max(1, clock.limits.most_of(item, *item))
        self.cards = CardKeeper(patterns)
        cells = Supports(patterns)
        self.effort = cells.worst
        # the search that goes on and, of two in turns, the one that rests
        self.lanes: tuple[Lane, ...] = (Lane(cells),)
        self.walked = self.opened = 0
        self.shown = 0.0
        self.settled = False  # which kind of supports is searched
        self.aside: Lane | None = None  # what the other kind was begun with
        self.since = 0.0  # the work when the last turn ended
        self.steps: list[tuple[float, float]] = []  # work and floor of supports with signs
        self.jobs, self.client = 1, None
        self.prices: list[float] = []
        # what is left of walks that others paused, and the entries of those finished here
        self.paused: list[Piece] = []
        self.entries = 0

    @property
    def lane(self) -> Lane:
        """The search that goes on."""
        return self.lanes[0]

    @property
    def nodes(self) -> int:
        """Weight vectors bounded, and programs over pairs solved, so far."""
        walks = sum(walk.nodes for lane in self.lanes if (walk := lane.active[1]) is not None)
        return self.walked + walks + sum(lane.supports.nodes for lane in self.lanes)

    @property
    def _least(self) -> float:
        """The least bound over the supports unseen, open or being walked."""
        opened = self.lane.open[0][0] if self.lane.open else math.inf
        paused = self.paused[0][0][0] if self.paused else math.inf
        return min(self.lane.supports.floor, self.lane.active[0], opened, paused)

    @property
    def _limit(self) -> float:
        """What reaches it is given up: the best card, less the gap asked for. Never rises."""
        return self.limits.cutoff(self.cards.best.lowest)

    @property
    def unfinished(self) -> bool:
        """Whether anything left could beat the best card."""
        return self._least < self._limit - self.bounds.level

    @property
    def pending(self) -> float:
        """The least bound of what could beat the best card, less what rounding leaves open."""
        least = self._least
        return least - POLICY.rounding_slack * abs(least) if self.unfinished else math.inf

    @property
    def ceiling(self) -> float:
        """The best card, less the gap asked for."""
        return min(self._limit, self.cards.best.objective)

    @property
    def shares(self) -> bool:
        """Whether the search has gone on long enough."""
        return self.lane.supports.visits + self.entries >= POLICY.alone

    def run(self, random_state: int = 0) -> Answer:
        """Search until proved, or stopped."""
        with heeding_interrupts(self.clock.interrupted):
            self._look_for_cards(random_state)
            if self._fewer_terms():
                cells = Supports(self.patterns)
                self.lanes, self.effort = (Lane(cells),), cells.worst
            self.report()
            if self.patterns.limits:
                self._price_limits(random_state)
                self._descend_within_limits()
            if self.effort > POLICY.give_up_factor * POLICY.enumerate_always and self.unfinished:
                self._take_signed()
            problem = self.patterns.statement, self.prices
            with crew(_problem, problem, self.jobs, self.client) as self.crew:
                self.search()
        best = self.cards.best
        self.clock.trace.append(self._now())
        card = None if best.w is None else self.patterns.card(best.w, best.threshold)
        seen = self.lane.supports.seen
        return self.answer(card, best.objective, supports=seen, opened=self.opened)

    def _look_for_cards(self, random_state: int) -> None:
        """The cards of no optional term, and a local search."""
        if len(self.patterns.forced) > self.patterns.terms:
            return
        first, starts = self.patterns.smallest_card(), []
        if self.cards.best.w is not None:
            starts = [self.cards.best.w]
        elif self.patterns.terms > len(self.patterns.forced):
            # where changes of single columns say little a smooth loss sees further
            starts = [] if self._fast is None else [self._fast.coefficients]
        for w in (*starts, first):
            self.cards.offer(w)
        if not any(np.array_equal(first, w) for w in starts):
            starts.append(first)
        CoordinateDescent(self.patterns, self.cards.offer, self._enough, random_state).run(starts)

    @cached_property
    def _fast(self) -> Card | None:
        """The card that a smooth loss finds, if any."""
        within = self.clock.deadline.part(POLICY.fast_share)
        return fast_cards(self.patterns.statement, within)[0]

    def _fewer_terms(self) -> bool:
        """Lower the limit of terms to what prices leave the best card; whether that is less."""
        before, most = self.bounds.terms, most_terms(self.patterns.statement, self._limit)
        for patterns in (self.patterns, self.bounds):
            patterns.terms = min(patterns.terms, max(most, len(patterns.forced)))
        return bool(self.bounds.terms < before)

    def _enough(self) -> bool:
        """Report; whether there is no time, or nothing left to improve."""
        self.report()
        return self.clock.remaining <= 0 or not self.unfinished

    def _price_limits(self, random_state: int) -> None:
        """Price what limits on errors allow, where that bounds more than the errors alone."""
        # any prices >= 0 give bounds; the best maximise the least priced objective of all cards, or
        # here of those a descent finds at the last prices, round by round
        p = self.patterns
        step = float(common_step(p.weight) or 0.0) / POLICY.price_steps
        most = [max(1.0, float(np.abs(paid).max() / p.weight.max())) for paid, _ in p.limits]
        steps = step / np.array(most)
        prices = np.zeros(len(p.limits))
        best = self.cards.best.w
        w = p.smallest_card() if best is None else best
        seen = [self.cards.outcomes(w), self.cards.outcomes(p.smallest_card())]
        for _ in range(POLICY.price_rounds):
            if self.clock.remaining <= 0 or not self.unfinished:
                return
            found = _best_prices(np.concatenate(seen), p)
            found = np.rint(found / steps) * steps if step else found
            if np.array_equal(found, prices) and len(seen) > 2:
                break
            prices = found
            self.prices = prices.tolist()
            self.bounds = Patterns(p.statement, prices=self.prices)
            enough = lambda: self.clock.remaining <= 0  # noqa: E731
            descent = CoordinateDescent(self.bounds, self.cards.offer, enough, random_state)
            w = descent.descend(w)[1]
            seen.append(self.cards.outcomes(w))
        if not prices.any():
            self.bounds, self.prices = p, []
            return
        self._fewer_terms()
        self.lanes = (Lane(Supports(self.bounds)),)

    def _descend_within_limits(self) -> None:
        """Look for cards within the limits from the best one, a fast one and none."""
        p = self.patterns
        best = self.cards.best
        starts = [] if best.w is None else [p.card(best.w, best.threshold)]
        if self._fast is not None:
            starts.append(p.statement.with_best_intercept(self._fast.coefficients))
        starts += [p.card(p.smallest_card(), t) for t in (p.t_low, p.t_high)]
        for start in starts:
            if self.clock.remaining <= 0 or not self.unfinished:
                return
            if not p.statement.violations(start):
                within = self.clock.deadline.part(POLICY.fast_share)
                card = coordinate_descent(p.statement, start, time_limit=within)
                self.cards.offer(card.coefficients)

    def _take_turns(self) -> None:
        """Search supports with signs as well where cells, and long walks, say little."""
        walk = self.lane.active[1]
        walked = self.entries + (0 if walk is None else walk.spent)
        if len(self.lanes) == 1:
            little = (
                self.proved < POLICY.turns_below * self._limit and len(self.patterns.candidates) > 0
            )
            if isinstance(self.lane.supports, Supports) and little and walked > POLICY.turns_after:
                cells = self.lane
                self._take_signed()
                self.settled, self.since = True, float(self.entries)
                self.lanes = (self.lane, cells)
            return
        if (
            walked + self.lane.supports.visits / POLICY.visit_rate
            > self.since + POLICY.turn_entries
        ):
            self.lanes = self.lanes[::-1]
            # each counts its own supports' work, and both the entries of all walks
            walk = self.lane.active[1]
            self.since = self.entries + self.lane.supports.visits / POLICY.visit_rate
            self.since += 0 if walk is None else walk.spent

    def step(self) -> None:
        """Walk on, see more supports, or open the most promising one."""
        if self.crew is None:
            self._take_turns()
            if not self.unfinished:
                return  # better cards since then leave nothing of it
        if self.lane.active[1] is not None:
            self._walk_on(self.lane.active[1])
            return
        limit = self._limit
        if self._sees_more():
            if self.lane.open and self.lane.open[0][0] >= limit:
                self.lane.open = []
            for item in self.lane.supports.more(limit):
                heapq.heappush(self.lane.open, item)
            self.lane.supports.commit()
            self._change_supports()
            self._descend_from_pairs()
            return
        self.lane.item = bound, columns, signs = self.lane.open[0]
        self.lane.active = bound, None
        heapq.heappop(self.lane.open)
        if not self.patterns.may_use(columns):
            self.lane.active = math.inf, None
            return
        truth = self.patterns if self.prices else None
        chosen = np.array(columns, dtype=np.int64)
        self.lane.active = bound, Walk(self.bounds, chosen, signs or None, truth)
        self.opened += 1

    def _change_supports(self) -> None:
        """Take supports with signs in place of all supports if these are too many, or say less."""
        # pairs of rows say much where few columns part them; what they closed of late is what they
        # will close
        supports = self.lane.supports
        if self.settled:
            return
        if isinstance(supports, Supports):
            self.effort = supports.effort
            self.settled = len(self.lane.open) > POLICY.many_open
            if self.settled or self.effort > POLICY.enumerate_always:
                self._take_signed()
            return
        work, floor = supports.visits, supports.floor
        self.steps.append((work, floor))
        if (
            not POLICY.pairs_share * self.effort < work
            or self.effort > POLICY.enumerate_if_pairs_weak
        ):
            return
        before = max((s for s in self.steps if s[0] <= work / 2), default=(0.0, supports.fixed))
        if self._limit - floor > self.effort * (floor - before[1]) / (work - before[0]):
            self.settled = True
            self.walked += supports.nodes
            self._begin_again(self.aside or Lane(Supports(self.bounds)))

    def _descend_from_pairs(self) -> None:
        """Now and then, a descent from the literals that settle most pairs."""
        supports = self.lane.supports
        if isinstance(supports, Supports) or supports.nodes not in POLICY.descent_programs:
            return
        descent = CoordinateDescent(self.patterns, self.cards.offer, self._enough, 0)
        descent.descend(supports.rounded())

    def _take_signed(self) -> None:
        """Search supports with signs from now on."""
        from milpscore.solvers.trees.zero_one.pair_bounds import SignedSupports

        # what is out is not open: then all supports are seen once more
        whole = not self.paused and (self.crew is None or not self.crew.out)
        if isinstance(self.lane.supports, Supports) and whole:
            self.aside = self.lane
        self._fewer_terms()
        signed = SignedSupports(self.bounds, lambda: max(self.clock.remaining, 0.0))
        self._begin_again(Lane(signed))

    def _begin_again(self, lane: Lane) -> None:
        """Forget the supports that are open, or out, for others that hold them as well."""
        self.lanes, self.paused = (lane, *self.lanes[1:]), []
        if self.crew is not None:
            self.crew.dismiss()

    def _sees_more(self) -> bool:
        """Whether supports not seen yet are as promising as those that are open."""
        best, limit = self.lane.open[0][0] if self.lane.open else math.inf, self._limit
        room = len(self.lane.open) < self.most_open or best >= limit
        return self.lane.supports.floor <= best and self.lane.supports.floor < limit and room

    def _walk_on(self, walk: Walk) -> None:
        """A slice of the walk through the active support."""
        most = self.limits.nodes - self.nodes + walk.nodes
        status = walk.run(self._limit, POLICY.clock_interval, most)
        if status == FOUND:
            self.cards.offer(walk.w)
        elif status == FINISHED:
            self.walked += walk.nodes
            self.entries += walk.spent
            self.lane.active = math.inf, None

    def share(self, crew: Crew) -> None:
        """Send parts out, which still count as open, and take the oldest one's answer."""
        cells = self.lane.supports if isinstance(self.lane.supports, Supports) else None
        if cells is not None and cells.size == 0:
            self.step()
            return
        if cells is not None and cells.begun:
            self.lane.open += cells.rest(self._limit)
            heapq.heapify(self.lane.open)
            return
        if (walk := self.lane.active[1]) is not None:
            self.paused += [(self.lane.item, place) for place in walk.places()]
            self.walked += walk.nodes
            self.lane.active = math.inf, None
        self._send(crew, cells)
        if cells is None and crew.wants and self._sees_more():
            self.step()  # programs over pairs are solved here, while others walk
            return
        if not crew.out:
            if cells is not None:
                cells.commit()  # all of a size has been seen
            return
        try:
            answer, (_, _, part) = crew.take(self.clock.remaining)
        except TimeoutError:
            return  # as the clock is about to say
        if part:
            found, seen = answer
            self.lane.supports.seen += seen
            for item in found:
                heapq.heappush(self.lane.open, item)
            self._change_supports()
        else:
            best, nodes, opened, left = answer
            if best.lowest < self.cards.best.lowest:
                self.cards.best = best
            self.walked += nodes
            self.opened += opened
            for piece in left:
                heapq.heappush(self.paused, piece)
        self.lane.active = min((bound for *_, (bound, *_) in crew.out), default=math.inf), None

    def _send(self, crew: Crew, cells: Supports | None) -> None:
        """Have enough supports out, to be bounded or walked through."""
        room = self.limits.nodes - self.nodes - sum(most for *_, (_, most, _) in crew.out)
        while crew.wants and room >= 1:
            if self._sees_more():
                if cells is None or (part := cells.part(POLICY.part_visits)) is None:
                    break
                crew.send((cells.floor, 0.0, part), bound_part, part, self._limit)
                continue
            pieces = self._pieces(len(self.lane.open) // (SHARED.parts_ahead * crew.jobs))
            if not pieces:
                break
            most = room if math.isinf(room) else max(1.0, room // crew.jobs)
            room -= most
            given = pieces, self.cards.best, self.limits, most
            crew.send((pieces[0][0][0], most, None), walk_part, *given)

    def _pieces(self, most: int) -> list[Piece]:
        """Supports to walk through, or pieces of them, the most promising first."""
        lane, pieces = self.lane, list[Piece]()
        while len(pieces) < min(max(1, most), POLICY.part_supports) and (lane.open or self.paused):
            paused = bool(self.paused) and (not lane.open or self.paused[0][0] <= lane.open[0])
            piece = self.paused[0] if paused else (lane.open[0], Place((), ()))
            if piece[0][0] < self._limit:
                lane.active = min(lane.active[0], piece[0][0]), None
                pieces.append(piece)
            heapq.heappop(self.paused) if paused else heapq.heappop(lane.open)
        return pieces

    def report(self) -> None:
        """Record what has moved, and show it; without news a sign of life now and then."""
        point, trace = self._now(), self.clock.trace
        news = not trace or point.objective != trace[-1].objective
        if not news:
            risen = point.dual_bound - trace[-1].dual_bound
            news = risen >= POLICY.trace_rise * abs(point.dual_bound)
        if news or point.seconds >= self.shown + POLICY.trace_seconds:
            self.shown = point.seconds
            self.clock.tell(point, news)

    def _now(self) -> TracePoint:
        left = len(self.lane.open) + len(self.paused)
        best = self.cards.best.objective
        depth = len(self.lane.item[1])
        return TracePoint(self.clock.seconds, best, self.bound, self.nodes, left, depth)


class Problem(NamedTuple):
    """What a worker needs: the patterns, those with what limits are priced at, their supports."""

    patterns: Patterns
    bounds: Patterns
    supports: Supports


def _problem(given: tuple[Statement, list[float]]) -> Problem:
    """In a worker: the problem, made once."""
    statement, prices = given
    patterns = Patterns(statement)
    bounds = Patterns(statement, prices=prices) if prices else patterns
    return Problem(patterns, bounds, Supports(bounds))


def bound_part(problem: Problem, part: Part, limit: float) -> tuple[list[Item], int]:
    """By a worker: the supports of a part that are below the limit, and how many there are."""
    before = problem.supports.seen
    return problem.supports.bounded(part, limit), problem.supports.seen - before


def walk_part(
    problem: Problem, pieces: list[Piece], best: Incumbent, limits: Limits, most: float
) -> tuple[Incumbent, int, int, list[Piece]]:
    """By a worker: (best card, nodes, supports opened, pieces that are left) of a part."""
    patterns, bounds, _ = problem
    truth = None if bounds is patterns else patterns
    cards = CardKeeper(patterns)
    cards.best = best
    nodes = opened = work = 0
    left: list[Piece] = []
    for item, place in pieces:
        if work > POLICY.part_entries or nodes >= most:
            left.append((item, place))
        elif item[0] < (limit := limits.cutoff(cards.best.lowest)) and patterns.may_use(item[1]):
            walk = Walk(bounds, np.array(item[1], dtype=np.int64), item[2] or None, truth)
            opened += not place.nexts
            if place.nexts:
                walk.resume(place, limit)
            ended = FOUND
            while ended == FOUND:
                budget = max(0, POLICY.part_entries - work - walk.spent)
                ended = walk.run(limit, budget, most - nodes)
                if ended == FOUND:
                    cards.offer(walk.w)
                    limit = limits.cutoff(cards.best.lowest)
            nodes += walk.nodes
            work += walk.spent + POLICY.layout_entries * len(bounds.net) * len(item[1])
            left += [(item, each) for each in walk.places()] if ended == PAUSED else []
    return cards.best, nodes, opened, left


def _best_prices(seen: FloatArray, patterns: Patterns) -> FloatArray:
    """Prices >= 0, in weight, under which the cheapest of these outcomes is dearest."""
    from scipy.optimize import linprog

    total, limits = math.fsum(patterns.weight), seen.shape[1] - 1
    scale = np.abs(seen[:, 1:]).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    # max t: t - sum_k price_k beyond_k <= objective
    rows = np.column_stack([np.ones(len(seen)), -seen[:, 1:] / scale])
    ends = [(None, None), *([(0.0, POLICY.highest_price)] * limits)]
    found = linprog(np.r_[-1.0, np.zeros(limits)], rows, seen[:, 0], bounds=ends)
    prices = np.zeros(limits) if found.x is None else found.x[1:]
    return np.asarray(prices / scale * total)


class _Held(CardKeeper):
    """In place of a best card: every allowed card at or below the cutoff."""

    def __init__(self, patterns: Patterns, most: float) -> None:
        super().__init__(patterns)
        self.most = most
        above = most + POLICY.cutoff_margin * max(1.0, abs(most))
        self.best = Incumbent(lowest=above, objective=above)
        self.found: dict[bytes, list[Card]] = {}

    def offer(self, w: IntArray) -> None:
        """Keep w with every threshold that is low enough and allowed."""
        if self.patterns.statement.allows(w[None, :])[0] and (cards := list(self._allowed(w))):
            self.found[w.tobytes()] = cards

    def _allowed(self, w: IntArray) -> Iterator[Card]:
        """The cards of w, one for each way to cut the totals."""
        p = self.patterns
        beyond = int(p.totals(w, True).max()) + 1
        for units, low, high in self._cuts(w, apart=True):
            if p.objective(p.base + units, w) > self.best.lowest:
                return
            # beyond the largest total the least threshold is the plainest, else the largest
            order = range(low, high + 1) if low >= beyond else range(high, low - 1, -1)
            if p.exact_objective(w, order[0]) <= self.most:
                threshold = next((t for t in order if p.allowed(w, t)), None)
                if threshold is not None:
                    yield p.card(w, threshold)


class _AllSearch(ZeroOneSearch):
    """The search whose best card never gets better."""

    def __init__(self, patterns: Patterns, limits: Limits, cutoff: float, most_cards: int) -> None:
        super().__init__(patterns, SearchClock(limits))
        self.most_cards = most_cards
        self.cards = held = _Held(patterns, cutoff)
        self.found: dict[bytes, list[Card]] = held.found

    def collect(self) -> Answer:
        """Search until nothing is left at or below the cutoff, or stopped."""
        self.run()
        found = [card for cards in self.found.values() for card in cards]
        return Answer(None, math.inf, self.proved, self.nodes, self.clock.termination, cards=found)

    def _look_for_cards(self, random_state: int) -> None:
        """The card of no points, which no support holds; a walk meets every other one."""
        if not len(self.patterns.forced):
            self.cards.offer(self.patterns.smallest_card())
