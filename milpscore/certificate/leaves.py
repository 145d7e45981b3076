"""Grows the evidence for a bound: a tree of boxes of cards, and a line that closes each leaf.

The tree has a node for every split, in preorder: ``[column, value]`` parts the cards with at most
that value from those above (null: those without points on the column from the others), the number
of columns names the intercept, the next one 1 / scale. A leaf is the number of the point where its
line is drawn, -1 where the statement's own limits leave no card, or -2 where rows that are alike in
the columns with points lose enough, as the checker counts for itself. Boxes are no part of it: they
follow from the splits, so that no card can be left out. What is written is checked by
``milpscore_check``, which shares no code with this module.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from milpscore.certificate.policy import POLICY
from milpscore.certificate.tangents import ScoreTangent, TangentRows
from milpscore.constraints.parts import AppliedConstraint, Ordered
from milpscore.core.clock import Clock, WorkClock
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.statement import InterceptRule, Statement
from milpscore.losses import Hinge, ZeroOne
from milpscore.penalties.points import point_prices
from milpscore_check.proof import CELLS

if TYPE_CHECKING:
    from milpscore.certificate.supports import Missed


@dataclass
class CardBox:
    """Cards with w_j between two of its allowed values, b and 1 / scale in intervals."""

    low: IntArray  # positions among the allowed values
    high: IntArray
    used: BoolArray  # whether 0 is ruled out
    b: tuple[float, float]
    slope: tuple[float, float]


Split = tuple[int, float | None]
Report = Callable[[str], None]


class Space:
    """Every card a statement allows."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        p = self.p = statement.design.shape[1]
        low, high = statement.ranges
        choices = [
            np.array(
                [v for v in statement.coef_sets[j] if low[j] <= v <= high[j]]
                if j in statement.coef_sets
                else range(int(low[j]), int(high[j]) + 1)
            )
            for j in range(p)
        ]
        width = max(map(len, choices), default=1) or 1
        # each coefficient's allowed values, ascending, padded
        self.values, self.real = np.zeros((p, width)), np.zeros((p, width), dtype=bool)
        for j, allowed in enumerate(choices):
            self.values[j, : len(allowed)], self.real[j, : len(allowed)] = allowed, True
        self.count = self.real.sum(axis=1)
        self.is_zero = self.real & (self.values == 0)
        self.terms = p if statement.max_terms is None else min(statement.max_terms, p)
        self.cost = self._costs()
        self.at = np.arange(width)
        rule = statement.intercept
        self.step = None if rule.step is None else float(rule.step)
        self.b = float(rule.lower), float(rule.upper)
        if rule.step is not None:
            self.b = (
                float(math.ceil(rule.lower / rule.step) * rule.step),
                float(math.floor(rule.upper / rule.step) * rule.step),
            )
        scales = statement.scales
        fixed = 1.0 / float(getattr(statement.loss, "scale", 1.0)) if scales is None else 0.0
        self.slope = (fixed, fixed) if scales is None else (1 / scales.upper, 1 / scales.lower)
        # at a free slope the checker itself finds where the best intercept can be
        self.free = scales is not None and self.b != (0.0, 0.0)
        self.most = np.abs(self.values).max(axis=1, initial=0.0)
        self.ordered = np.array(
            [
                pair
                for rule in cast("tuple[AppliedConstraint, ...]", statement.constraints)
                for part in rule.parts
                if isinstance(part, Ordered)
                for pair in part.pairs
            ],
            dtype=np.int64,
        ).reshape(-1, 2)

    def _costs(self) -> FloatArray:
        """Return what single coefficients cost: terms, and penalties that are sums."""
        cost = np.zeros_like(self.values)
        for term in self.statement.penalties:
            separable = getattr(getattr(term, "base", term), "separable", False)
            if term.name != "l0_penalty" and not separable:
                continue
            if (prices := point_prices(term, self.p)) is not None:
                cost += prices[:, None] * np.abs(self.values)
                continue
            largest = int(np.abs(self.values).max(initial=0.0))
            table = np.array([float(term.value(np.array([k]))) for k in range(largest + 1)])
            cost += table[np.abs(self.values).astype(np.int64)]
        return cost

    def all_cards(self) -> CardBox:
        """Return the box of every card."""
        first, last = np.zeros(self.p, dtype=np.int64), (self.count - 1).astype(np.int64)
        return CardBox(first, last, np.zeros(self.p, dtype=bool), self.b, self.slope)

    def halves(self, box: CardBox, split: Split) -> tuple[CardBox, CardBox]:
        """Part the cards of a box at a split; none is lost."""
        j, value = split
        if j >= self.p:
            assert value is not None
            name, step = ("slope", 0.0) if j > self.p else ("b", self.step or 0.0)
            low, high = getattr(box, name)
            ends: list[Any] = [(low, min(high, value)), (max(low, value + step), high)]
            below, above = (replace(box, **{name: part}) for part in ends)
            return below, above
        below = replace(box, low=box.low.copy(), high=box.high.copy())
        above = replace(box, low=box.low.copy(), high=box.high.copy(), used=box.used.copy())
        if value is None:
            zero = int(self.is_zero[j].argmax())
            below.low[j] = below.high[j] = zero
            above.used[j] = True
            return below, above
        last = int(np.searchsorted(self.values[j, : self.count[j]], value, side="right")) - 1
        below.high[j], above.low[j] = min(box.high[j], last), max(box.low[j], last + 1)
        return below, above

    def inside(self, box: CardBox) -> BoolArray:
        """Mark the values that a box holds, shape (p, K)."""
        within = (self.at >= box.low[:, None]) & (self.at <= box.high[:, None])
        return np.asarray(within & ~(box.used[:, None] & self.is_zero))

    def empty(self, box: CardBox) -> bool:
        """Return whether ranges, the limit on terms and constraints leave no card."""
        inside = self.inside(box)
        if box.b[0] > box.b[1] or box.slope[0] > box.slope[1] or not inside.any(axis=1).all():
            return True
        must = ~(inside & self.is_zero).any(axis=1)
        if must.sum() > self.terms:
            return True
        return bool(self.statement.constraints) and self._forbidden(box, inside, must)

    def _forbidden(self, box: CardBox, inside: BoolArray, must: BoolArray) -> bool:
        """Return whether the constraints rule out a whole box."""
        left, right = self.ordered.T
        if (self.values[left, box.low[left]] > self.values[right, box.high[right]]).any():
            return True
        never = (inside & ~self.is_zero).sum(axis=1) == 0
        included, excluded = np.flatnonzero(must).tolist(), np.flatnonzero(never).tolist()
        if not all(c.allows_support(included, excluded) for c in self.statement.constraints):
            return True
        if not (inside.sum(axis=1) == 1).all():
            return False
        w = self.values[inside].astype(np.int64)
        return not self.statement.allows(w[None, :])[0]

    def cuts(self, line: Any, box: CardBox, goal: float) -> tuple[bool, list[tuple[Split, int]]]:
        """Return whether a line closes a box; if not, splits and the side (0 or 1) it closes."""
        ends = box.slope[:1] if box.slope[0] == box.slope[1] else box.slope
        if not math.isfinite(line.constant):
            return False, []
        inside, bounds, totals = self.inside(box), [], []
        for slope in ends:
            price = line.prices(slope, self.values) + self.cost
            base = line.constant
            if not self.free:
                base += min(slope * line.slope_b * box.b[0], slope * line.slope_b * box.b[1])
            least, with_value = self._least(price, inside)
            bounds.append(base + least)
            totals.append(base + with_value)
        if min(bounds) >= goal:
            return True, []
        open_values = inside & ~np.logical_and.reduce([total >= goal for total in totals])
        cuts = self._cuts_of_points(inside, open_values)
        if len(ends) > 1 and max(bounds) > goal:
            share = (max(bounds) - goal) / (max(bounds) - min(bounds)) * (1.0 - 1e-6)
            if share > 0.1:
                at = share if bounds[0] > bounds[1] else 1.0 - share
                value = ends[0] + at * (ends[1] - ends[0])
                cuts.append(((self.p + 1, value), 0 if bounds[0] > bounds[1] else 1))
        elif len(ends) == 1 and not self.free and box.b[0] < box.b[1]:
            cuts += self._cuts_of_intercept(ends[0] * line.slope_b, box, goal - bounds[0])
        return False, cuts

    def _cuts_of_points(self, inside: BoolArray, opened: BoolArray) -> list[tuple[Split, int]]:
        """Return splits that part open values from closed ones, at the ends and at 0."""
        cuts: list[tuple[Split, int]] = []
        for j in np.flatnonzero((inside & ~opened).any(axis=1)).tolist():
            here, left = np.flatnonzero(inside[j]), np.flatnonzero(opened[j])
            if not len(left):  # no value is open: either side of any split is closed
                cuts.append(((j, float(self.values[j, here[0]])), 0))
                continue
            if left[0] > here[0]:
                below = here[here < left[0]][-1]
                cuts.append(((j, float(self.values[j, below])), 0))
            if left[-1] < here[-1]:
                cuts.append(((j, float(self.values[j, left[-1]])), 1))
            zero = int(self.is_zero[j].argmax())
            if left[0] < zero < left[-1] and inside[j, zero] and not opened[j, zero]:
                cuts.append(((j, None), 0))
        return cuts

    def _cuts_of_intercept(
        self, slope: float, box: CardBox, room: float
    ) -> list[tuple[Split, int]]:
        """Return the split that moves the intercept's dearer end in to where a line leaves room."""
        if slope == 0.0:
            return []
        reach = room / abs(slope) * (1.0 + 1e-9)
        if self.step is not None:
            reach = math.floor(reach / self.step + 1e-9) * self.step
        if reach > 0.9 * (box.b[1] - box.b[0]) and self.step is None:
            return []
        if slope > 0 and box.b[0] + reach < box.b[1]:
            return [((self.p, box.b[0] + reach), 1)]
        if slope < 0 and box.b[1] - reach > box.b[0]:
            return [((self.p, box.b[1] - reach - (self.step or 0.0)), 0)]
        return []

    def _least(self, price: FloatArray, inside: BoolArray) -> tuple[float, FloatArray]:
        """Return the least sum of prices over the cards of a box, and that with any one value."""
        nonzero = np.where(inside & ~self.is_zero, price, np.inf).min(axis=1, initial=np.inf)
        may = (inside & self.is_zero).any(axis=1)
        room = self.terms - int((~may).sum())
        gain = np.where(may, np.minimum(nonzero, 0.0), 0.0)
        order = np.sort(gain[may])
        least = float(nonzero[~may].sum() + order[:room].sum())
        last = float(order[room - 1]) if 0 < room <= len(order) else 0.0
        following = float(order[room]) if 0 < room < len(order) else 0.0
        # a value of w_j takes the place of what w_j itself, or the last one counted, contributes
        replaced = np.where(may, np.minimum(gain, last), nonzero)
        totals = least - replaced[:, None] + price
        without = np.where(gain <= last, least - gain + min(following, 0.0), least)
        if room == 0:
            totals[may], without = np.inf, np.full(len(gain), least)
        return least, np.where(self.is_zero, without[:, None], totals)


# ------------------------------------------------------------------ growing a tree


@dataclass
class Drawn:
    """A line, the point it is drawn at, and its number where a leaf names it."""

    line: Any
    entry: list[Any]
    number: int = -1


@dataclass
class Grown:
    """A tree as it grows: nodes by number, splits with their parts, and the leaves' points."""

    clock: Clock
    most_bytes: int
    report: Report
    nodes: list[Any] = field(default_factory=lambda: [None])
    points: list[Any] = field(default_factory=list)
    size: int = 0

    def split(self, node: int, split: Split) -> tuple[int, int]:
        """Make a node a split; return its two parts."""
        self.nodes += [None, None]
        parts = len(self.nodes) - 2, len(self.nodes) - 1
        j, value = split
        # whole values as whole numbers: shorter, and exact
        whole = value is not None and value == int(value)
        self.nodes[node] = [j, int(value) if value is not None and whole else value, *parts]
        self.size += 2 * POLICY.bytes_per_number
        return parts

    def point(self, drawn: Drawn) -> int:
        """Return the number of a point; it gets one when a leaf first names it."""
        if drawn.number < 0:
            drawn.number = len(self.points)
            self.points.append(drawn.entry)
            self.size += len(str(drawn.entry))
        return drawn.number

    def check(self, pending: int) -> None:
        """Report progress; NotApplicableError if time or room is used up."""
        if len(self.nodes) % POLICY.report_every < 2:
            self.report(f"evidence, {len(self.nodes) // 2} nodes, {pending} parts open")
        if self.clock.is_up:
            raise NotApplicableError(
                f"its leaves were not grown within {self.clock:.3g} s of CPU time "
                f"({len(self.nodes) // 2} nodes stand, {pending} parts are open): raise the time "
                "limit"
            )
        if self.size > self.most_bytes:
            raise NotApplicableError(
                f"its leaves would take more than {self.most_bytes / 1e6:g} MB"
            )

    def entries(self) -> list[Any]:
        """Return the tree in preorder."""
        entries, pending = [], [0]
        while pending:
            node = self.nodes[pending.pop()]
            if isinstance(node, list):
                pending += [node[3], node[2]]
                node = node[:2]
            entries.append(node)
        return entries


def grow_tree(
    statement: Statement,
    bound: float,
    time_limit: float,
    most_bytes: int,
    report: Report = lambda text: None,
    objective: float | None = None,
) -> dict[str, Any]:
    """Return the ``points`` and the ``tree`` that prove a bound, below a card's objective."""
    # An engine's own leaves do not cover all cards: between splits it drops what some inner line
    # puts above the best card. Here every such step is a split, one side of which is a leaf.
    clock, space = WorkClock.of(time_limit), Space(statement)
    if isinstance(statement.loss, ZeroOne):
        return _of_errors(space, bound, clock, most_bytes, report)
    grown, everything = Grown(clock, most_bytes, report), (0, space.all_cards(), None)
    goal, engine = _above(bound), _source(statement, space)
    # boxes are solved as closely as the search solves them, whose room is that below its best card
    aim = goal if objective is None else max(goal, objective)
    missed = _by_the_engine(space, engine, goal)
    # the checker's own way counts prices too; where many choices are left the engine is quicker
    listed = _missed_by_cells(
        space, grown, bound, math.inf if missed is None else POLICY.few_choices
    )
    if listed is not None:
        ways = [_closed(space, grown, _beside_cells(space, grown, listed), engine, goal, aim)]
    else:
        ways = [_closed(space, grown, [everything], engine, goal, aim)]
        if missed is not None:
            beside = Grown(clock, most_bytes, report)
            ways.append(_by_choices(space, beside, missed, engine, goal, aim))
    return _first_of(ways)


def _above(bound: float) -> float:
    """Return what leaves are closed at: the checker rounds downwards."""
    return bound * (1.0 + POLICY.margin)


def _of_errors(
    space: Space, bound: float, clock: Clock, most_bytes: int, report: Report
) -> dict[str, Any]:
    """Return an empty tree if counting proves the bound, or one of lines of pairs."""
    # which of the two is faster is not known before: each gets a share of the time, then counting
    # what is left
    from milpscore.certificate.pairs import PairLines

    try:
        return _counted(space.statement, bound, clock.part(POLICY.count_share), report)
    except _UnfinishedError:
        pass
    grown, goal = Grown(clock.part(POLICY.pairs_share), most_bytes, report), _above(bound)
    try:
        engine = PairLines(space, bound, grown.clock)
        return _first_of(
            [_closed(space, grown, [(0, space.all_cards(), None)], engine, goal, goal)]
        )
    except NotApplicableError as error:
        lines = error
    try:
        return _counted(space.statement, bound, clock, report)
    except _UnfinishedError as error:
        raise NotApplicableError(f"{error}; by pairs of rows: {lines}") from lines


Way = Generator[float, None, dict[str, Any] | None]


def _first_of(ways: list[Way]) -> dict[str, Any]:
    """Return what the first of several ways to go ends with, taking steps of equal work."""
    # which one is faster is not known before; the work that each of them yields decides, no clock
    work, failed = dict.fromkeys(range(len(ways)), 0.0), None
    while work:
        k = min(work, key=lambda k: work[k])
        try:
            work[k] += next(ways[k])
        except StopIteration as end:
            if end.value is not None:
                return cast("dict[str, Any]", end.value)
            del work[k]
        except NotApplicableError as error:
            failed = failed or error
            del work[k]
    assert failed is not None
    raise failed


def _closed(
    space: Space, grown: Grown, parts: list[Part], engine: Any, goal: float, aim: float
) -> Way:
    """Close parts of a tree by lines, one draw a step; the evidence is returned at the end."""
    pending: list[tuple[int, CardBox, Drawn | None, Any]] = [(*part, None) for part in parts]
    while pending:
        # 1) Take a part, and cut off what its parent's line closes.
        grown.check(len(pending))
        number, box, drawn, parent = pending.pop()
        left = _cut(space, grown, number, box, drawn, goal)
        if left is None:
            continue
        number, box = left

        # 2) Draw a line for the box itself, and cut again.
        w, b, slope, drawn, node = engine.draw(parent, box, aim)
        yield engine.each
        left = _cut(space, grown, number, box, drawn, goal)
        if left is None:
            continue
        number, box = left

        # 3) Split what no cells close; a single card waits for the line at its own points.
        if engine.closes(box):
            grown.nodes[number] = CELLS
        elif (box.low == box.high).all() and (w != space.values[np.arange(space.p), box.low]).any():
            pending.append((number, box, None, node))
        else:
            split = engine.parting(node, box, goal) or _choose(
                space, box, w, b, slope, drawn.line, engine.spread
            )
            halves = zip(grown.split(number, split), space.halves(box, split), strict=True)
            pending += [(part, half, drawn, node) for part, half in halves][::-1]
    return {"points": grown.points, "tree": grown.entries()}


def _cut(
    space: Space, grown: Grown, number: int, box: CardBox, drawn: Drawn | None, goal: float
) -> tuple[int, CardBox] | None:
    """Cut off what a line closes until nothing changes; return the node and box left, if any."""
    while True:
        if space.empty(box):
            grown.nodes[number] = -1
            return None
        if drawn is None:
            return number, box
        closed, cuts = space.cuts(drawn.line, box, goal)
        if closed:
            grown.nodes[number] = grown.point(drawn)
            return None
        if not cuts:
            return number, box
        for split, side in cuts:
            parts, halves = grown.split(number, split), space.halves(box, split)
            gone = space.empty(halves[side])
            grown.nodes[parts[side]] = -1 if gone else grown.point(drawn)
            number, box = parts[1 - side], halves[1 - side]


Part = tuple[int, CardBox, Drawn | None]


def _beside_cells(space: Space, grown: Grown, listed: list[list[int]]) -> list[Part]:
    """Close what cells of two-valued columns close; return the parts of the tree that are left."""
    left: list[Part] = []
    pending = [(0, space.all_cards(), listed)]
    while pending:
        number, box, choices = pending.pop()
        undecided = Counter(j for columns in choices for j in columns if not box.used[j])
        if not choices:
            grown.nodes[number] = CELLS
        elif not undecided:
            left.append((number, box, None))
        else:
            j = undecided.most_common(1)[0][0]
            parts, (out, used) = grown.split(number, (j, None)), space.halves(box, (j, None))
            pending.append((parts[0], out, [columns for columns in choices if j not in columns]))
            pending.append((parts[1], used, [columns for columns in choices if j in columns]))
    return left


def _by_the_engine(space: Space, engine: Any, goal: float) -> Missed | None:
    """Return the engine's list of what cells leave, yet to be made; None where it has none."""
    if space.statement.loss.name != "logistic" or not 0 < space.terms < space.p:
        return None
    from milpscore.certificate.supports import Missed

    missed = Missed(engine.arrays, goal)
    return missed if missed.applies and not space.statement.constraints else None


def _by_choices(
    space: Space, grown: Grown, missed: Missed, engine: Any, goal: float, aim: float
) -> Way:
    """Close what cells close by the engine's list of choices, and the rest by lines."""
    if not (yield from missed.listed(lambda: grown.check(0))):
        return None
    parts = yield from _beside_choices(space, grown, missed, engine)
    return (yield from _closed(space, grown, parts, engine, goal, aim))


def _beside_choices(
    space: Space, grown: Grown, missed: Missed, engine: Any
) -> Generator[float, None, list[Part]]:
    """Part the cards by classes of columns until cells close a part, or one choice is left.

    That part gets the line at the real weights of its columns, which is level along them.
    """
    left: list[Part] = []
    pending = [(0, space.all_cards(), missed.choices)]
    while pending:
        grown.check(len(pending))
        number, box, choices = pending.pop()
        yield POLICY.choice_cost * len(choices)
        used = np.flatnonzero(box.used)
        if not choices:
            grown.nodes[number] = CELLS
            continue
        c = missed.frequent(choices, {missed.of_column[j] for j in used.tolist()})
        if c is None:
            line = _level_line(space, missed.weights(used), used, engine.rows)
            left.append((number, box, line))
            yield engine.each
            continue
        for j in missed.classes[c].tolist():
            parts, (out, within) = grown.split(number, (j, None)), space.halves(box, (j, None))
            pending.append((parts[1], within, {each for each in choices if c in each}))
            number, box = parts[0], out
        pending.append((number, box, missed.without(choices, c)))
    return left


def _level_line(space: Space, weights: FloatArray, used: IntArray, rows: TangentRows) -> Drawn:
    """Return the line at real weights on some columns, the intercept last."""
    w, values = np.zeros(space.p), [short(v, 15) for v in weights.tolist()]
    w[used] = values[:-1]
    return Drawn(rows.tangent(w, values[-1], 1.0), [used.tolist(), values[:-1], values[-1], 1.0])


def _missed_by_cells(
    space: Space, grown: Grown, bound: float, most: float = math.inf
) -> list[list[int]] | None:
    """Return the choices of columns on which cells may lose less than the bound, unless many.

    At most about ``most`` choices are looked at.
    """
    from milpscore.certificate.cards import SMOOTH, exact_rows, plain_cards
    from milpscore_check.cards import Box as Whole, Cards, floor
    from milpscore_check.proof import Cells
    from milpscore_check.values import Refused

    statement, X = space.statement, space.statement.design.merged.X
    two_valued = ((X.min(axis=0) == X) | (X.max(axis=0) == X)).all()
    known = isinstance(statement.loss, Hinge) or statement.loss.name in SMOOTH
    if not (known and two_valued and space.terms < space.p):
        return None
    cards = Cards(plain_cards(statement), space.p)
    try:
        watch = _watched(POLICY.cells_share * float(grown.clock), grown.report, most)
        cells = Cells(exact_rows(statement.design), cards, watch)
        everything = Whole(cards.values, cards.b, cards.scale)
        choices = cells.missed(everything, -floor(-Fraction(bound)))
        missed = list(islice(choices, POLICY.most_left + 1))
    except (Refused, NotApplicableError):
        return None  # then lines must close everything
    return missed if len(missed) <= POLICY.most_left else None


def _watched(
    time_limit: float, report: Report, most: float = math.inf
) -> Callable[[int, int], None]:
    """Return the progress callback of the checker's counting; it ends when time or room is up."""
    clock = WorkClock.of(time_limit)

    def watch(done: int, of: int) -> None:
        if done % POLICY.report_every == 0:
            report(f"evidence, {done:,} choices of columns")
        if done > most or clock.is_up:
            raise _UnfinishedError(
                f"its cells were not counted within {time_limit:.3g} s of CPU time (after {done:,} "
                "choices of columns): raise the time limit"
            )

    watch(0, 0)
    return watch


def _counted(
    statement: Statement, bound: float, time_limit: float, report: Report
) -> dict[str, Any]:
    """Return an empty tree if the checker proves the bound by counting errors itself."""
    from milpscore.certificate.cards import exact_rows, plain_cards
    from milpscore_check.cards import Cards
    from milpscore_check.proof import prove
    from milpscore_check.values import Refused

    watch = _watched(time_limit, report)
    evidence: dict[str, Any] = {"points": [], "tree": []}
    cards = Cards(plain_cards(statement), statement.shape[1])
    try:
        proved, why = prove(exact_rows(statement.design), cards, evidence, Fraction(bound), watch)
    except Refused as error:
        raise NotApplicableError(str(error)) from error
    if not proved:
        raise NotApplicableError(f"counting does not prove it ({why}): a single card reaches it")
    return evidence


def _source(statement: Statement, space: Space) -> Any:
    """Return what draws lines under the statement's loss."""
    if isinstance(statement.loss, Hinge):
        from milpscore.certificate.hinges import HingeLines

        return HingeLines(statement, space)
    return _RiskLines(statement, space)


class Source:
    """What draws the lines of boxes, and says how to part what they leave."""

    each = 1.0  # nanoseconds of a line, where other ways are compared with it

    def closes(self, box: CardBox) -> bool:
        """Return whether cells close a box that its line does not."""
        return False

    def parting(self, node: Any, box: CardBox, goal: float) -> Split | None:
        """Return where to split a box, None for where its point says."""
        return None


class _UnfinishedError(NotApplicableError):
    """Counting took too long."""


class _RiskLines(Source):
    """The relaxations of the tree search, as a source of points: nothing rests on them."""

    def __init__(self, statement: Statement, space: Space) -> None:
        from milpscore.solvers.trees.risk.hulls import Arrays
        from milpscore.solvers.trees.risk.relaxation import Relaxation

        self.statement, self.space, self.rows = statement, space, TangentRows(statement)
        self.arrays = Arrays(statement)
        self.relaxation = Relaxation(self.arrays)
        self.spread = self.rows.X.std(axis=0) if self.rows.X.size else np.zeros(self.arrays.p)
        self.each = self.relaxation.each / POLICY.lines_favour

    def draw(
        self, parent: Any, box: CardBox, goal: float
    ) -> tuple[FloatArray, float, float, Drawn, Any]:
        """Return a box's minimiser (w, b, 1 / scale), the line there, and the engine's node."""
        w, b, slope, node = self._point(parent, box, goal)
        where = np.flatnonzero(w)
        entry = [where.tolist(), w[where].tolist(), b, slope]
        return w, b, slope, Drawn(self.rows.tangent(w, b, slope), entry), node

    def _point(
        self, parent: Any, box: CardBox, goal: float
    ) -> tuple[FloatArray, float, float, Any]:
        """Return the minimiser of a box's relaxation, and its node of the tree search."""
        from milpscore.solvers.trees.risk.relaxation import IN, OPEN, OUT, Node

        a, space = self.arrays, self.space
        node = Node.root(a) if parent is None else parent.child()
        inside = space.inside(box)
        may = (inside & space.is_zero).any(axis=1)
        low = space.values[np.arange(len(may)), box.low]
        high = space.values[np.arange(len(may)), box.high]
        node.lo, node.hi = self._positions(low), self._positions(high)
        node.status = np.where(may, np.where(low == high, OUT, OPEN), IN).astype(np.int8)
        if a.scaled:
            node.s_lo, node.s_hi = box.slope
        else:
            node.b_lo, node.b_hi = box.b
        # without the parent's line, by which the engine would close the node and keep its point
        node.bound = node.constant = -math.inf
        if (low == high).all():
            w, (b, slope) = low, self._best(low, box, fixed=False)
            return w, b, slope, node
        self.relaxation.solve(node, goal)
        w = np.array([short(v) for v in np.clip(node.w, low, high)])
        w = np.clip(w, low, high)
        if not a.scaled:
            b = short(min(max(node.b, box.b[0]), box.b[1]))
            return w, min(max(b, box.b[0]), box.b[1]), box.slope[0], node
        slope = min(max(short(node.s), box.slope[0]), box.slope[1])
        return w, *self._best(w, replace(box, slope=(slope, slope)), fixed=True), node

    def _best(self, w: FloatArray, box: CardBox, fixed: bool) -> tuple[float, float]:
        """Return the intercept and slope of a box at which points w cost least."""
        rows, loss = self.statement.design.merged, self.statement.loss
        totals = (rows.X @ w)[:, None]
        if self.arrays.scaled:
            lines = self.arrays.lines(totals, self.arrays.rows, box.slope)
            slope = box.slope[0] if fixed else float(lines.slopes[0])
            return float(lines.intercepts[0]) / slope, slope
        real = InterceptRule("real", Fraction(box.b[0]), Fraction(box.b[1]), None)
        best, _ = loss.best_intercepts(totals, rows.y, rows.weight, real)
        return float(best[0]), box.slope[0]

    def parting(self, node: Any, box: CardBox, goal: float) -> Split | None:
        """Return the split of slopes of a box whose value reaches the goal, as no line does."""
        low, high = box.slope
        narrow, single = high <= POLICY.wide_slopes * low, (box.low == box.high).all()
        if narrow or single or node.primal < goal:
            return None
        return self.space.p + 1, short(math.sqrt(low * high))

    def _positions(self, values: FloatArray) -> Any:
        """Return where the engine's tables hold these values."""
        return (self.arrays.points >= values[:, None]).argmax(axis=1).astype(np.int64)


def short(value: float, digits: int = 9) -> float:
    """Round a number to a few significant digits: files stay small."""
    return float(f"{value:.{digits}g}")


def _choose(
    space: Space,
    box: CardBox,
    w: FloatArray,
    b: float,
    slope: float,
    line: ScoreTangent,
    spread: FloatArray,
) -> Split:
    """Choose where to split a box: an undecided feature at 0, else the most fractional number."""
    width = box.high - box.low
    undecided = (space.inside(box) & space.is_zero).any(axis=1) & (width > 0)
    size = np.where(undecided, np.abs(w) * spread, 0.0)
    if size.any():
        j = int(size.argmax())
        return j, _beside_zero(space, box, j, w[j] > 0)
    off = np.array([_off(space, box, j, w[j]) for j in range(len(w))]) * spread
    free_b = space.step is not None and box.b[0] < box.b[1]
    off_b = abs(b / space.step - round(b / space.step)) if free_b and space.step else 0.0
    if max(float(off.max(initial=0.0)), off_b) <= POLICY.whole:
        if undecided.any():
            j = int(np.where(undecided, np.abs(line.slope) * space.most, -1.0).argmax())
            return j, _beside_zero(space, box, j, line.slope[j] < 0)
        if width.any():
            return _below(space, box, int(width.argmax()), w)
        low, high = box.slope
        if high - low > POLICY.narrowest_slopes * high:
            # beside its own best slope a card's line holds less far than the box
            return space.p + 1, slope if low < slope < high else (low + high) / 2.0
        if not free_b or space.step is None:
            raise NotApplicableError("a single card reaches below it")
        off_b = 1.0
    if off.max(initial=0.0) >= off_b:
        return _below(space, box, int(off.argmax()), w)
    assert space.step is not None
    value = math.floor(b / space.step + POLICY.whole) * space.step
    return space.p, float(min(max(value, box.b[0]), box.b[1] - space.step))


def _beside_zero(space: Space, box: CardBox, j: int, positive: bool) -> float:
    """Return the value after which a split parts the points of one sign from 0."""
    zero = int(space.is_zero[j].argmax())
    positive = (positive and zero < box.high[j]) or zero == box.low[j]
    return float(space.values[j, zero if positive else zero - 1])


def _off(space: Space, box: CardBox, j: int, value: float) -> float:
    """Return how far a coefficient lies from its allowed values, as a share of their gap."""
    values = space.values[j, box.low[j] : box.high[j] + 1]
    if len(values) < 2:
        return 0.0
    k = min(max(int(np.searchsorted(values, value)), 1), len(values) - 1)
    part = float((value - values[k - 1]) / (values[k] - values[k - 1]))
    return max(0.0, min(part, 1.0 - part))


def _below(space: Space, box: CardBox, j: int, w: FloatArray) -> Split:
    """Return the split of a coefficient at its value."""
    values = space.values[j, : box.high[j]]
    k = int(np.searchsorted(values, w[j] + POLICY.whole, side="right")) - 1
    return j, float(values[max(k, int(box.low[j]))])
