"""The tree search under smooth losses: the best card with its bound, or every card near it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.cluster import one_thread
from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.jit import heeding_interrupts
from milpscore.core.result import TracePoint
from milpscore.core.statement import Statement
from milpscore.solvers.engine import Listener
from milpscore.solvers.trees.risk.heuristics import Best, Cards
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.limit_prices import card_bounds
from milpscore.solvers.trees.risk.policy import POLICY
from milpscore.solvers.trees.risk.relaxation import IN, OPEN, OUT, Node, Relaxation
from milpscore.solvers.trees.risk.side_bounds import Sides
from milpscore.solvers.trees.risk.support_bounds import Enumeration
from milpscore.solvers.trees.shared.answer import (
    POLICY as SHARED,
    Answer,
    Limits,
    SearchClock,
    check_cutoff,
    check_start,
)
from milpscore.solvers.trees.shared.best_first import BestFirst, Crew, OpenNodes, crew


def search(
    statement: Statement, limits: Limits | None = None, *, start: Card | None = None,
    listeners: Sequence[Listener] = (), jobs: int = 1, client: Any = None,
) -> Answer:  # fmt: skip
    """Minimise a smooth convex loss over integer cards, with a bound that holds at every moment."""
    # a KeyboardInterrupt from a listener ends it, as Ctrl-C does; ``jobs`` processes, or the
    # workers of a Dask ``client``, search parts
    if jobs < 1:
        raise OptionError(f"jobs must be >= 1, got {jobs!r}")
    check_start(statement, start)
    clock = SearchClock(limits or Limits(), listeners)
    tree = RiskTree(Arrays(statement), clock)
    if start is not None:
        tree.cards.take(start)
    with crew(Arrays, statement, jobs, client) as tree.crew:
        return tree.run()


def search_all(
    statement: Statement, limits: Limits | None = None, *, cutoff: float, most_cards: int = 10_000
) -> Answer:
    """Find every card whose objective is at most ``cutoff``, or the first ``most_cards`` w."""
    # A node is closed, a choice dropped, only where a line proves that no such card is lost. Where
    # the intercept is real, only the best one of each w counts.
    check_cutoff(cutoff, most_cards)
    return AllCards(Arrays(statement), limits or Limits(), cutoff, most_cards).run()


class RiskTree(BestFirst):
    """The search over boxes, in turns with supports; what these leave takes the boxes' place."""

    def __init__(self, arrays: Arrays, clock: SearchClock) -> None:
        self.arrays, self.limits, self.clock = arrays, clock.limits, clock
        self.relaxation = Relaxation(arrays, self.clock.deadline, self.report)
        self.sides = Sides(arrays, self.relaxation.limits)
        self.looked: set[tuple[int, ...]] = set()
        self.root = Node.root(arrays)
        size = self.root, *(getattr(self.root, name) for name in Node.__slots__)
        self.open: OpenNodes[Node] = OpenNodes(clock.limits.most_of(*size))
        self.open.active = [self.root]
        self.cards = Cards(arrays, self.relaxation, self.root)
        self.supports: Enumeration | None = None
        # supports that were left by their enumeration, the least bound last
        self.waiting: list[tuple[float, tuple[int, ...]]] = []
        self.floor = math.inf
        self.solved = self.expanded = self.depth = 0
        self.prices: FloatArray | None = None  # of limits on errors, as the root has them
        self.limited = arrays.statement.limits_errors
        self.each = self.relaxation.each

    @property
    def cutoff(self) -> float:
        """Nodes with this bound need no search; never rises."""
        return self.limits.cutoff(self.cards.best.objective)

    @property
    def nodes(self) -> int:
        """Relaxations solved."""
        return self.solved

    @property
    def pending(self) -> float:
        """The least bound of boxes that are open and supports that wait."""
        return min(self.open.least, self.waiting[-1][0] if self.waiting else math.inf)

    @property
    def ceiling(self) -> float:
        """The cutoff, or what the cards at closed leaves cost where that is less."""
        return min(self.floor, self.cutoff)

    @property
    def unfinished(self) -> bool:
        """Whether boxes are open, supports wait, or others search parts."""
        return bool(self.open or self.waiting or self.open.active)

    @property
    def shares(self) -> bool:
        """Whether the search has gone on long enough."""
        return bool(self.nodes * self.each >= POLICY.alone)

    def run(self) -> Answer:
        """Search until proved, or stopped."""
        self.cards.end = self.clock.deadline
        self.cards.deadline = self.cards.end.part(POLICY.start_share)
        # an infinite loss is a fair answer: such a card is never the best
        with (
            one_thread,
            heeding_interrupts(self.clock.interrupted),
            np.errstate(over="ignore", invalid="ignore"),
        ):
            self.begin()
            self._take_turns()
            self.search()
        objective, card = self.cards.best
        seen, opened = 0, 0
        if self.supports is not None:
            seen, opened = self.supports.visited, len(self.supports.found)
        return self.answer(card, objective, supports=seen, opened=opened)

    def begin(self) -> None:
        """Look for a first card, then bound the root: a node is solved to what the card asks."""
        if self.root.sure > self.arrays.terms:
            self.open.active = []
            return
        self.cards.empty()
        if self.clock.remaining > 0:
            self.cards.first()
            self.cards.work = 0.0
        card = self.cards.best.card
        if self.relaxation.wide and card is not None:  # gradient steps are many from afar
            scale = float(card.scale or 1)
            self.root.w = card.coefficients / (scale * self.root.s_hi)
            self.root.b = float(card.intercept) / scale
        self.report()
        late = self.clock.remaining <= 0 or self.limits.nodes <= 0
        if late or self.consider(self.root):
            self.open.keep([self.root])
        self.open.active = []
        self.report()

    def _price_boxes(self) -> None:
        """Have the open boxes pay for errors beyond the limits, where supports do not take over."""
        if self.prices is not None or not self.sides.known:
            return
        before = self.relaxation.solved
        root, clock = self.root.child(), self.clock.deadline.part(POLICY.price_share)
        found = self.relaxation.priced(root, self.cutoff, clock)
        self.solved += self.relaxation.solved - before
        self.prices = np.zeros(len(self.relaxation.limits))
        if found.prices is None:
            return
        self.prices = found.prices
        self.proved = max(self.proved, min(found.bound, self.cutoff))
        if found.bound >= self.cutoff:
            self.open.clear()
        for node in self.open:
            node.prices = found.prices

    def _take_turns(self) -> None:
        """Search boxes and supports in turns of equal work, until either is through."""
        # which of the two is faster is seldom known before; supports that are left take the boxes'
        # place: they hold every card that may be better than the best
        each = self.each / (1 if self.crew is None else self.crew.jobs)
        few = 1 if self.relaxation.wide else POLICY.turn_nodes
        before, due = self.nodes, 0.0
        turn = 0.0 if self.sides.known else max(few, POLICY.first_turn / each)
        while self.search(turn):
            turn = few
            if not math.isfinite(self.cutoff):
                self._price_boxes()
                continue
            self.supports = supports = self.supports or Enumeration(
                self.arrays, self.root, self.limits.memory, self.relaxation.limits,
                self.cards.best.card,
            )  # fmt: skip
            favour = self._favour(supports)
            if not supports.applies or favour == 0.0:
                self._price_boxes()
                return
            due += favour * each * max(self.nodes - before, 1)
            before = self.nodes
            # a turn of many columns is long: its end is guessed anew, and the clock read, within it
            while supports.work < due and self.clock.remaining > 0 and self._favour(supports):
                if supports.advance(self.cutoff, min(due, supports.work + POLICY.glance)):
                    self._replace(supports)
                    return
            self._look_into(supports)

    def _look_into(self, supports: Enumeration) -> None:
        """Look for a card on the most promising support there is so far."""
        if not (self.sides.known and supports.found):
            return
        bound, support = min(supports.found)
        if bound < self.cutoff and support not in self.looked:
            self.looked.add(support)
            node = supports.node(bound, support)
            if self.consider(node):
                self._round_sided(node)

    def _round_sided(self, node: Node) -> None:
        """Look for a card within the limits on errors: multiples of a node's weights, rounded."""
        a, columns = self.arrays, np.flatnonzero(node.status == OPEN)
        multiples = node.w * (np.array(POLICY.multiples)[:, None] if a.scaled else 1.0)
        ends = a.points[np.arange(a.p), node.lo], a.points[np.arange(a.p), node.hi]
        points = np.unique(np.clip(np.rint(multiples), *ends).astype(np.int64), axis=0)
        points = points[a.statement.allows(points)]
        if len(columns) and len(points):
            bounds = card_bounds(a, self.relaxation.limits, points, (node.s_lo, node.s_hi))
            best = int(np.argmin(bounds))
            if bounds[best] < self.cutoff:
                self.cards.take(a.statement.with_best_intercept(points[best]))

    def _replace(self, supports: Enumeration) -> None:
        """Put the supports that are left in the place of the open boxes."""
        self.proved = max(self.proved, supports.bound)
        if supports.floor >= self.cutoff:
            self.waiting = sorted(supports.found, reverse=True)
            self.open.clear()
            if self.crew is not None:
                self.crew.dismiss()
                self.open.active = []
        self.report()

    def _favour(self, supports: Enumeration) -> float:
        """How much work supports take beside the boxes: none where there is no time for all."""
        limit = self.limits.time_limit * 1e9
        if supports.work < POLICY.glance:
            return POLICY.limited_favour if self.sides.known else 1.0
        if supports.work > max(supports.share * limit * POLICY.give_up_factor, POLICY.judged_after):
            return 0.0
        in_sight = supports.work < supports.share * limit
        if self.sides.known and (in_sight or supports.work < POLICY.judged_after):
            return POLICY.limited_favour
        return POLICY.favour if in_sight and self.bound < POLICY.little_bound * self.cutoff else 1.0

    def _admit(self) -> None:
        """Open the next support where it is the most promising of what is left."""
        if self.open.deep or self.open.first < self.waiting[-1][0]:
            return
        bound, support = self.waiting[-1]
        if bound >= self.cutoff:
            self.waiting = []
            return
        assert self.supports is not None
        node = self.supports.node(bound, support)
        self._open([node if node.prices is not None else replace(node, prices=self.prices)])
        self.waiting.pop()
        self.open.active = []

    def step(self) -> None:
        """Split the most promising node, or the latest one where too many are open."""
        # 1) Open the next support where its bound is the lowest.
        if self.waiting:
            self._admit()
        if not self.open:
            return
        # 2) Take the node with the lowest bound; the best card may have improved since.
        node = self.open.take()
        self.depth = node.depth
        # 3) Drop the choices that the node's line rules out, then round it and split the rest.
        if node.bound < self.cutoff and self.relaxation.tighten(node, self.cutoff):
            self._expand(node)
        self.open.active = []

    def _expand(self, node: Node) -> None:
        """Round a node, and bound its parts, or close it where one card is left."""
        if self.arrays.scaled and len(self.relaxation.limits) and self._finish_few(node):
            return
        spare = POLICY.first_turn + POLICY.rounding_share * self.nodes * self.each - self.cards.work
        if spare > 0.0 and (
            self.expanded < POLICY.round_all or self.expanded % POLICY.round_every == 0
        ):
            self.round(node)
        self.expanded += 1
        if parts := _halve_slope(node, self.cutoff) or split(self.arrays, node):
            self._open(parts)
        else:
            self._finish(node)

    def _open(self, parts: list[Node]) -> None:
        """Bound the parts of a node; keep those that stay open."""
        self.open.active = parts
        for part in parts:
            part.depth += 1
        self.open.keep([part for part in parts if self.consider(part)])

    def round(self, node: Node) -> None:
        """Look for a card near a node's relaxation."""
        self.cards.round(node)

    def consider(self, node: Node) -> bool:
        """Bound a new node; whether it stays open."""
        a = self.arrays
        groups = a.without_room(node.lo, node.hi) if a.at_most else []
        for group in groups or ():
            node.status[group] = OUT
            node.lo[group] = node.hi[group] = a.zero[group]
        if groups is None or not a.may_be_allowed(node.status) or not node.narrow(a):
            node.bound = math.inf
            return False
        self.solved += self.sides.applies_to(node)
        if (sided := self.sides.bound(node, self.cutoff)) is not None:
            return sided
        before = self.relaxation.solved
        stays = self.relaxation.solve(node, self.cutoff)
        self.solved += self.relaxation.solved - before
        return stays

    def _finish(self, node: Node) -> None:
        """Close a node with a single choice of w (and b, unless it is real)."""
        a, rule = self.arrays, self.arrays.statement.intercept
        w = a.points[np.arange(a.p), node.lo].astype(np.int64)
        if int(np.count_nonzero(w)) > a.terms:
            node.bound = math.inf
            return
        lines = a.lines((a.X @ w.astype(np.float64))[:, None], a.rows)
        if a.scaled:
            b = _at_end(float(lines.intercepts[0]), float(rule.lower), float(rule.upper))
            card = self.cards.card(w, b, float(lines.slopes[0]))
            bound = a.leaf_bound(w, node.s_lo, node.s_hi)
            held = card.intercept in (rule.lower, rule.upper)
            if self.limited and a.statement.violations(card):
                card, held = a.statement.with_best_intercept(w), True
            if held:
                bound = max(bound, a.limited_bound(card, node.s_lo, node.s_hi))
            self.take(node, card, bound)
            return
        real = a.b_step is None and node.b_lo < node.b_hi
        b = float(lines.intercepts[0]) / a.unit if real else node.b_lo
        bound = a.objective(w, b) - (a.intercept_slack(w, b) if real else 0.0)
        if real and bound < self.cutoff and not self.limited:
            # where exponentials are huge, Newton's steps are too short for them
            b = float(a.statement.with_best_intercept(w).intercept)
            bound = max(bound, a.objective(w, b) - a.intercept_slack(w, b))
        self.take(node, self.cards.card(w, b), bound)

    def _finish_few(self, node: Node) -> bool:
        """Whether bounds on each card of a node of few, within the limits on errors, close it."""
        a = self.arrays
        if math.prod((node.hi - node.lo + 1).tolist()) > POLICY.few_cards:
            return False
        ranges = [a.points[j, node.lo[j] : node.hi[j] + 1] for j in range(a.p)]
        wide = [j for j, values in enumerate(ranges) if len(values) > 1]
        some = np.array(list(itertools.product(*(ranges[j] for j in wide))), dtype=np.int64)
        first = np.array([values[0] for values in ranges], dtype=np.int64)
        points = np.repeat(first[None, :], len(some), axis=0)
        points[:, wide] = some
        points = points[a.statement.allows(points)]
        if not len(points):
            return True
        bounds = card_bounds(a, self.relaxation.limits, points, (node.s_lo, node.s_hi))
        bounds += np.array([a.l0 * np.count_nonzero(w) + a.penalised(w) for w in points])
        bounds -= a.table_slack
        for k in np.argsort(bounds, kind="stable").tolist():
            if bounds[k] >= self.cutoff:
                break
            self.cards.take(a.statement.with_best_intercept(points[k]))
            if bounds[k] < self.cutoff:
                return False  # loose, as where a range of intercepts binds: its parts know more
        return True

    def take(self, node: Node, card: Card, bound: float) -> None:
        """Close a node by its card, no slope and intercept of the node being below ``bound``."""
        if not self.cards.take(card):
            node.bound = math.inf
            return
        node.bound = max(node.bound, bound)
        # over many slopes the bound of a card may lie far below its best one's objective
        if node.bound < self.cutoff and (parts := _parted_slopes(node)):
            self._open(parts)
        else:
            self.floor = min(self.floor, node.bound)

    def report(self) -> None:
        """Record and show where the search stands, if that has changed."""
        best, bound, trace = self.cards.best.objective, self.bound, self.clock.trace
        if bound == math.inf:
            return  # that no card is allowed is the answer's to say, once that was checked
        if not trace or (best, bound) != (trace[-1].objective, trace[-1].dual_bound):
            counts = self.nodes, len(self.open), self.depth
            self.clock.tell(TracePoint(self.clock.seconds, best, bound, *counts))

    def share(self, crew: Crew) -> None:
        """Send parts of the tree out, which count as open, and take the oldest one's answer."""
        limits, fair = self.limits, len(self.open) // (SHARED.parts_ahead * crew.jobs)
        room = limits.nodes - self.nodes - sum(most for *_, (_, most) in crew.out)
        full = 0 if self.open.deep else limits.most_open
        within = replace(limits, time_limit=self.clock.remaining, node_limit=None, most_open=full)
        while crew.wants and room >= 1 and (nodes := self._part(min(fair, POLICY.part_nodes))):
            # few open nodes come back soon, as more
            most = min(
                room, max(1.0, SHARED.part_work / self.each / (1 if fair else POLICY.short_parts))
            )
            room -= most
            given = within, nodes, self.cards.best, most, self.expanded
            crew.send((len(nodes), most), search_part, *given)
        if not crew.out:
            return
        try:
            (best, floor, solved, expanded, left), (count, _) = crew.take(self.clock.remaining)
        except TimeoutError:
            return  # as the clock is about to say
        self.solved += solved
        self.expanded += expanded
        self.floor = min(self.floor, floor)
        if best.objective < self.cards.best.objective:
            self.cards.best = best
        self.open.keep(left)
        self.open.active = self.open.active[count:]

    def _part(self, most: int) -> list[Node]:
        """The most promising open nodes, which are active from now on."""
        nodes: list[Node] = []
        while len(nodes) < max(1, most) and (self.open or self.waiting):
            waits = not self.open.deep and self.waiting and self.waiting[-1][0] <= self.open.first
            if waits:
                assert self.supports is not None
                node = self.supports.node(*self.waiting[-1])
                node.primal = math.inf  # not solved yet
            else:
                node = self.open.peek()
            if node.bound < self.cutoff:
                self.open.active.append(node)
                nodes.append(node)
            if waits:
                self.waiting.pop()
            else:
                self.open.drop()
        return nodes


def search_part(
    arrays: Arrays, limits: Limits, nodes: list[Node], best: Best, most: float, expanded: int
) -> tuple[Best, float, int, int, list[Node]]:
    """By a worker: (best card, floor, nodes solved, nodes expanded, nodes left open)."""
    tree = RiskTree(arrays, SearchClock(limits))
    tree.open.active, tree.cards.best, tree.expanded = [], best, expanded
    with one_thread, np.errstate(over="ignore", invalid="ignore"):
        tree.open.keep([node for node in nodes if node.primal < math.inf or tree.consider(node)])
        tree.search(most)
    return tree.cards.best, tree.floor, tree.nodes, tree.expanded - expanded, [*tree.open]


class AllCards(RiskTree):
    """A tree that keeps its cutoff, and every card at its leaves."""

    def __init__(self, arrays: Arrays, limits: Limits, cutoff: float, most_cards: int) -> None:
        super().__init__(arrays, SearchClock(limits))
        self.most, self.most_cards = cutoff, most_cards
        self.met: list[Card] = []
        self.found: set[bytes] = set()  # their different w

    @property
    def cutoff(self) -> float:
        """A hair above the objective asked for: rounding must not lose a card."""
        return self.most + POLICY.cutoff_margin * max(1.0, abs(self.most))

    def run(self) -> Answer:
        """Search until nothing is left at or below the cutoff, or stopped."""
        with (
            one_thread,
            heeding_interrupts(self.clock.interrupted),
            np.errstate(over="ignore", invalid="ignore"),
        ):
            self.begin()
            self.search()
        return Answer(
            None, math.inf, self.bound, self.nodes, self.clock.termination, cards=self.met
        )

    def begin(self) -> None:
        """Bound the root, unless the features that must be in are too many."""
        few = self.root.sure <= self.arrays.terms
        self.open.keep([self.root] if few and self.consider(self.root) else [])
        self.open.active = []

    def _finish_few(self, node: Node) -> bool:
        """Every card is met at its leaf."""
        return False

    def round(self, node: Node) -> None:
        """No card is looked for: every one is met at its leaf."""

    def take(self, node: Node, card: Card, bound: float) -> None:
        """Keep a leaf's card where it is low enough and allowed."""
        key, statement = card.coefficients.tobytes(), self.arrays.statement
        if self.arrays.scaled and key in self.found:
            return  # nodes of several slopes may end in the same points
        low = self.arrays.objective_of(card) <= self.most
        if not low and bound <= self.cutoff:
            # far from 0 the search for an intercept may end early; the exact one decides
            card = statement.with_best_intercept(card.coefficients)
            low = self.arrays.objective_of(card) <= self.most
        if low and not (statement.constraints and statement.violations(card)):
            self.met.append(card)
            self.found.add(key)

    def report(self) -> None:
        """Nobody looks on."""


def split(arrays: Arrays, node: Node) -> list[Node]:
    """Return the node's two parts; none where a single card (or a single w) is left."""
    undecided = node.status == OPEN
    size = np.where(undecided, np.abs(node.w) * arrays.spread, 0.0)
    if size.any():
        return _decide(arrays, node, int(np.argmax(size)))
    distance = _distances(arrays, node)
    off_b = 0.0  # how far the intercept lies from its step, as a share of it
    if arrays.b_step is not None and node.b_lo < node.b_hi:
        off_b = abs(node.b / arrays.b_step - round(node.b / arrays.b_step))
    if max(float(distance.max(initial=0.0)), off_b) > POLICY.whole_tolerance:
        if distance.max(initial=0.0) >= off_b:
            return _halve(arrays, node, int(np.argmax(distance)))
        return _halve_intercept(arrays, node)
    # the relaxation is a card
    if undecided.any():
        size = np.where(undecided, np.abs(node.slope) * arrays.most, -1.0)
        return _decide(arrays, node, int(np.argmax(size)))
    width = node.hi - node.lo
    wide = bool(width.any())
    return _halve(arrays, node, int(np.argmax(width))) if wide else _halve_intercept(arrays, node)


def _decide(arrays: Arrays, node: Node, j: int) -> list[Node]:
    """Return the parts with feature j in by the sign it has, and without that sign."""
    # against "in or out": a tenth of the nodes on breast cancer, half on mammo
    zero = int(arrays.zero[j])
    positive = bool(node.w[j] > 0 or (node.w[j] == 0 and node.slope[j] < 0))
    positive = zero == node.lo[j] or (positive and zero < node.hi[j])
    rest, inside = node.child(), node.child()
    inside.status[j] = IN
    if positive:
        rest.hi[j], inside.lo[j] = zero, zero + 1
    else:
        rest.lo[j], inside.hi[j] = zero, zero - 1
    if rest.lo[j] == rest.hi[j]:
        rest.status[j] = OUT
    return [rest, inside]


def _distances(arrays: Arrays, node: Node) -> FloatArray:
    """Return how far each coefficient in lies from its choices, by their gap, times its spread."""
    distance = np.zeros(arrays.p)
    for j in np.flatnonzero((node.status == IN) & (node.lo < node.hi)):
        values = arrays.points[j, node.lo[j] : node.hi[j] + 1]
        k = min(max(int(np.searchsorted(values, node.w[j])), 1), len(values) - 1)
        part = (node.w[j] - values[k - 1]) / (values[k] - values[k - 1])
        distance[j] = max(0.0, min(part, 1.0 - part))
    return distance * arrays.spread


def _halve(arrays: Arrays, node: Node, j: int) -> list[Node]:
    """The choices below and above the coefficient."""
    values = arrays.points[j, : node.hi[j] + 1]
    k = int(np.searchsorted(values, node.w[j] + POLICY.whole_tolerance, side="right")) - 1
    k = min(max(k, int(node.lo[j])), int(node.hi[j]) - 1)
    low, high = node.child(), node.child()
    low.hi[j], high.lo[j] = k, k + 1
    return [low, high]


def _at_end(b: float, *ends: float) -> float:
    """The intercept, or the end of its range that it is but for rounding."""
    return next((end for end in ends if abs(b - end) <= 1e-12 * max(abs(end), 1.0)), b)


def _halve_slope(node: Node, cutoff: float) -> list[Node]:
    """Part the slopes where the line says little of a range so wide."""
    lost = node.primal - node.bound > POLICY.missed_share * (cutoff - node.bound)
    return _parted_slopes(node) if lost else []


def _parted_slopes(node: Node) -> list[Node]:
    """The slopes below and above their middle; none where they are few."""
    if node.s_hi <= POLICY.narrow_slopes * node.s_lo:
        return []
    low, high = node.child(), node.child()
    low.s_hi = high.s_lo = math.sqrt(node.s_lo * node.s_hi)
    return [low, high]


def _halve_intercept(arrays: Arrays, node: Node) -> list[Node]:
    """The intercepts below and above the node's; none where one is left, or it is real."""
    step = arrays.b_step
    if step is None or node.b_lo == node.b_hi:
        return []
    first, last = round(node.b_lo / step), round(node.b_hi / step)
    k = min(max(math.floor(node.b / step + POLICY.whole_tolerance), first), last - 1)
    low, high = node.child(), node.child()
    low.b_hi, high.b_lo = k * step, (k + 1) * step
    return [low, high]
