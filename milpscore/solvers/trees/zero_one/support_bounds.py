"""The supports of a 0-1 problem by size, with the errors that no card of a support avoids."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, inner
from milpscore.solvers.trees.shared.cell_counts import ZERO_ONE, Losses, number_of
from milpscore.solvers.trees.shared.support_enumeration import ColumnChoices, asked_for
from milpscore.solvers.trees.zero_one.policy import POLICY
from milpscore.solvers.trees.zero_one.rows import Patterns

Bounded = list[tuple[float, tuple[int, ...], tuple[int, ...]]]
"""Supports: (bound, columns, signs of their weights, where these are decided)."""

Part = tuple[int, list[tuple[tuple[int, ...], int, int]]]
"""Supports of one size still to be bounded: those of (prefix, first, end)."""


def _combinations(count: int, size: int) -> float:
    """Return how many subsets of a size there are, infinite beyond the largest float."""
    found = math.comb(count, size)
    return float(found) if found.bit_length() < sys.float_info.max_exp else math.inf


class Prefix(NamedTuple):
    """Candidates chosen so far, the patterns grouped by them, and what they cost at least."""

    chosen: tuple[int, ...]
    labels: IntArray
    groups: int
    charge: float


class Supports:
    """Supports, smallest first: no card of one not yet ``seen`` is below ``floor``."""

    def __init__(self, patterns: Patterns) -> None:
        self.patterns = p = patterns
        self.seen = self.nodes = self.size = 0
        self.visits = self.passed = 0.0
        self.spare = min(p.terms - len(p.forced), len(p.candidates))
        self.fixed = p.least + p.forced_penalty
        self.cheapest = np.cumsum(np.sort(p.penalty[p.candidates]))
        self._finished = False
        self._lay_out_columns()
        self.forced = Prefix((), np.zeros(len(p.net), dtype=np.int64), 1, 0.0)
        for j in p.parting.tolist():
            self.forced = self._refined(self.forced, (), p.codes[j], int(p.cards[j]), 0.0)
        self.counted = Counted(p, self.forced)
        count = len(self.columns.cards)
        self.worst = sum(
            self.counted.number((), 0, size) * self.counted.visits(size)
            if self.counted.applies(size)
            else _combinations(count, size - 1) * self._each
            for size in range(1, self.spare + 1)
        )
        self.limit = math.inf
        self._tasks: Iterator[tuple[Prefix, int, int]] = iter(())
        self._task: Iterator[tuple[Bounded, float]] = iter(())  # of one task, begun or through
        self.begun = False
        self.floor = self._floor() if self.spare >= 0 else math.inf

    def _lay_out_columns(self) -> None:
        """The candidates, indicators of their values where there are not too many, and scratch."""
        p = self.patterns
        columns, m = p.candidates, len(p.net)
        slots = np.r_[0, np.cumsum(p.cards[columns] - 1)].astype(np.int64)
        width = int(slots[-1])
        if not m or width > POLICY.flags_per_column * len(columns) or width * m > POLICY.most_flags:
            width = 0
        flags = np.zeros((m, width), dtype=np.int8)
        for at, j in enumerate(columns.tolist() if width else []):
            codes = np.arange(int(p.cards[j]) - 1)
            flags[:, slots[at] : slots[at + 1]] = p.codes[j][:, None] == codes
        place = {-1: -1, **{int(j): at for at, j in enumerate(columns)}}
        twin = np.array([place[int(p.twin[j])] for j in columns], dtype=np.int64)
        self.columns = CandidateColumns(
            p.codes[columns], p.cards[columns], p.penalty[columns], twin, flags, slots, p.net
        )
        table = np.zeros((min(POLICY.table_entries // max(width, 1), m), width), p.net.dtype)
        slots_of_keys = np.empty((2, 1 << (2 * m + 1).bit_length()), np.int64)
        cell, weights, own = np.zeros((3, m), np.int64)
        agreed = np.zeros(len(columns), np.int64)
        self.scratch = Scratch(table, slots_of_keys, cell, weights, agreed, own)
        self.weight = int(np.abs(p.net.astype(np.int64)).sum())
        self._each = max(1, m) * (1 + len(columns) // 8)  # visits of a pair of last columns

    @property
    def effort(self) -> float:
        """Pattern visits that all of them would take, going by those so far; 0 of too few."""
        return 0.0 if self.visits < POLICY.effort_visits else self.visits * self.worst / self.passed

    def _refined(
        self, prefix: Prefix, chosen: tuple[int, ...], codes: Any, cards: int, charge: float
    ) -> Prefix:
        """A prefix of one more column."""
        labels = np.empty_like(prefix.labels)
        groups = refine(prefix.labels, codes, cards, self.scratch.slots, labels)
        return Prefix(chosen, labels, groups, charge)

    def _floor(self) -> float:
        """Return for supports of at least this size: rows of both classes, and the penalty."""
        return self.fixed + (float(self.cheapest[self.size - 1]) if self.size else 0.0)

    def more(self, limit: float) -> Bounded:
        """The next supports whose bound is below ``limit``; :meth:`commit` then moves the floor."""
        if self.size == 0:
            self._finished = True
            return self._smallest()
        found: Bounded = []
        visits, self.limit = 0.0, limit
        while visits <= POLICY.visits and len(found) <= POLICY.supports_written:
            piece = next(self._task, None)
            if piece is not None:
                found += piece[0]
                visits += piece[1]
            elif (task := next(self._tasks, None)) is not None:
                self._task = self._below(*task)
            else:
                self._finished = True
                break
        self.visits += visits
        self.begun = not self._finished
        return found

    def rest(self, limit: float) -> Bounded:
        """Go on with the task that :meth:`more` has begun: :meth:`part` takes whole ones."""
        tasks, self._tasks = self._tasks, iter(())
        found = self.more(limit)
        self._tasks, self._finished = tasks, False
        return found

    def part(self, visits: float) -> Part | None:
        """Return tasks of these visits for :meth:`bounded` elsewhere; None once all are out."""
        tasks: list[tuple[tuple[int, ...], int, int]] = []
        while visits > 0 and (task := next(self._tasks, None)) is not None:
            prefix, first, end = task
            tasks.append((prefix.chosen, first, end))
            visits -= self._expected(prefix.chosen, first, end)
        self._finished = not tasks
        return (self.size, tasks) if tasks else None

    def bounded(self, part: Part, limit: float) -> Bounded:
        """The supports of a part whose bound is below ``limit``."""
        (self.size, tasks), self.limit = part, limit
        counts = self.counted.applies(self.size)
        found: Bounded = []
        prefix = self.forced
        for chosen, first, end in tasks:
            if chosen != prefix.chosen:
                prefix = self.forced._replace(chosen=chosen if counts else ())
                for at in () if counts else chosen:
                    prefix = self._longer(prefix, at)
            for some, _ in self._below(prefix, first, end):
                found += some
        return found

    def commit(self) -> None:
        """Say that what :meth:`more` gave is kept: the floor may rise over it."""
        if not self._finished:
            return
        self._finished = False
        self.size += 1
        self.floor = self._floor() if self.size <= self.spare else math.inf
        self._tasks = self._all_tasks()

    def _smallest(self) -> Bounded:
        """The support of the forced columns; without any, the card of no points is its only one."""
        self.seen += 1
        p = self.patterns
        if not len(p.forced):
            return []
        cells = np.zeros(self.forced.groups, dtype=np.int64)
        np.add.at(cells, self.forced.labels, p.net)
        lost = (self.weight - int(np.abs(cells).sum())) // 2
        return [(self.fixed + lost * p.unit, tuple(p.forced.tolist()), ())]

    def _all_tasks(self) -> Iterator[tuple[Prefix, int, int]]:
        """Yield (prefix, first, end) as :func:`write_supports` takes them, for this size."""
        # where supports are counted, columns are in the counter's order, and any later may follow
        count = len(self.columns.cards)
        counts = self.counted.applies(self.size)
        if self.size == 1 or (counts and self.size == 3):
            yield self.forced, -1, 0
            return
        if counts:
            more = min(self.size, POLICY.columns_per_task)
            for chosen in itertools.combinations(range(count), self.size - more):
                for first in range(chosen[-1] + 1 if chosen else 0, count - more + 1):
                    yield self.forced._replace(chosen=chosen), first, first + 1
            return
        step = max(1, min(POLICY.visits // self._each, POLICY.supports_written // count))
        for prefix in self._prefixes(self.size - 2, self.forced):
            begin = prefix.chosen[-1] + 1 if prefix.chosen else 0
            for first in range(begin, count - 1, step):
                yield prefix, first, min(first + step, count - 1)

    def _prefixes(self, more: int, prefix: Prefix) -> Iterator[Prefix]:
        """The prefixes of ``more`` further candidates, in lexicographic order."""
        if not more:
            yield prefix
            return
        columns, chosen = self.columns, prefix.chosen
        for at in range(chosen[-1] + 1 if chosen else 0, len(columns.cards) - more - 1):
            if columns.twin[at] < 0 or int(columns.twin[at]) in chosen:
                yield from self._prefixes(more - 1, self._longer(prefix, at))

    def _longer(self, prefix: Prefix, at: int) -> Prefix:
        """A prefix of one more candidate."""
        columns = self.columns
        charge = prefix.charge + float(columns.penalty[at])
        codes, cards = columns.codes[at], int(columns.cards[at])
        return self._refined(prefix, (*prefix.chosen, at), codes, cards, charge)

    def _expected(self, chosen: tuple[int, ...], first: int, end: int) -> float:
        """Pattern visits that a task takes at most."""
        if not self.counted.applies(self.size):
            return float(max(1, end - first) * self._each)
        base = chosen if first < 0 else (*chosen, first)
        every = self.counted.number(base, end, self.size)
        return every * self.counted.visits(self.size)

    def _below(self, prefix: Prefix, first: int, end: int) -> Iterator[tuple[Bounded, float]]:
        """The supports of a task whose bound is below the limit, and the pattern visits it took."""
        expected = self._expected(prefix.chosen, first, end)
        if self.counted.applies(self.size):
            base = prefix.chosen if first < 0 else (*prefix.chosen, first)
            passed = self.passed
            for piece in self.counted.below(base, self.size, self):
                self.passed = passed + self.counted.share * expected
                yield piece
            self.passed = passed + expected
            self.seen += self.counted.number(base, end, self.size)
            return
        p, count, limit = self.patterns, len(self.columns.cards), self.limit - self.fixed
        present = np.zeros(count, dtype=np.bool_)
        present[list(prefix.chosen)] = True
        room = (end - first) * count
        offer = Offer(p.unit, limit, self.weight, np.empty((room, 2), np.int64), np.empty(room))
        written, seen, visits = write_supports(
            *prefix[1:], present, first, end, self.columns, self.scratch, offer
        )
        self.seen += seen
        self.passed += expected
        head = (*p.forced.tolist(), *p.candidates[list(prefix.chosen)].tolist())
        tails = p.candidates[offer.out[:written, int(self.size == 1) :]].tolist()
        bounds = (self.fixed + offer.bounds[:written]).tolist()
        each = zip(bounds, tails, strict=True)
        yield [(bound, (*head, *tail), ()) for bound, tail in each], visits


class Counted(ColumnChoices):
    """Supports of three and more candidates of two values, their rows counted as bits."""

    ns_word, ns_cell = 0.6, 5.0
    lanes = 1

    def __init__(self, patterns: Patterns, forced: Prefix) -> None:
        super().__init__()
        self.patterns, self.groups = patterns, forced.groups
        p = patterns
        self.columns = np.minimum(p.codes[p.candidates], 1).astype(np.uint8)
        copies = np.abs(p.net.astype(np.int64))
        whole = max(1, int(np.gcd.reduce(copies)))
        few = int(copies.sum()) <= whole * (POLICY.most_copies * len(copies) + POLICY.few_copies)
        two = bool((p.cards[p.candidates] == 2).all())
        self._fitting = few and two and len(p.candidates) >= 3
        if not self._fitting:
            return
        self.rows = np.repeat(np.arange(len(copies)), copies // whole)
        self.is_positive = p.net[self.rows] > 0
        self.losses = Losses(ZERO_ONE, 1.0, 1.0, np.zeros(0), np.zeros(0), np.zeros(0))
        ends = [(points.max(), points.min()) for points in (p.points[j] for j in p.candidates)]
        self.ways = (np.array(ends, float) * (1, -1) > 0).astype(float)
        self.group, self.unit = forced.labels, whole * p.unit
        self.charge = p.penalty[p.candidates] / self.unit
        self._limit, self._found = math.inf, [(np.zeros((0, 0), np.int64), np.zeros(0))]
        # those that part most come first: what is left to later ones closes early
        gain = self.parting((), np.arange(len(self.columns)))[2]
        asked = asked_for(p.statement, p.candidates)
        if asked.sum() > POLICY.most_asked:
            asked[:] = False
        order = np.lexsort((-gain, ~asked))
        self.asked = asked[order] if asked.any() else self.asked
        self.columns, self.charge = self.columns[order], self.charge[order]
        self.names, self.ways = p.candidates[order], self.ways[order]

    def _cells(self, size: int) -> int:
        """Cells of both classes that the columns of a support but three may make."""
        return min(2 * self.groups << (size - 3), len(self.rows))

    def applies(self, size: int) -> bool:
        """Return whether supports of this number of candidates are counted here."""
        if not self._fitting or size < 3:
            return False
        return len(self.columns) ** 2 * self._cells(size) <= POLICY.most_cells

    def allowed(self, base: tuple[int, ...], columns: IntArray) -> bool:
        """Whether rules leave any support of a base and some of these columns."""
        if not self.patterns.constrained:
            return True
        forced, own = self.patterns.forced.tolist(), self.names[list(base)].tolist()
        inside = forced, own, self.names[columns].tolist()
        others = set(range(len(self.patterns.points))).difference(*inside)
        rules = self.patterns.statement.constraints
        return all(each.allows_support({*forced, *own}, others) for each in rules)

    def number(self, base: tuple[int, ...], end: int, size: int) -> int:
        """How many supports of this size hold a base and later columns, as rules ask for them."""
        count = len(self.patterns.candidates)
        later = np.arange(end, count)
        if not len(self.asked):
            return math.comb(count - end, size - len(base))
        asked, rest = later[self.asked[later]].tolist(), later[~self.asked[later]]
        return sum(
            math.comb(len(rest), size - len(base) - more)
            for more in range(min(len(asked), size - len(base)) + 1)
            for some in itertools.combinations(asked, more)
            if self.allowed((*base, *some), rest)
        )

    def visits(self, size: int) -> float:
        """What one support of this size takes at most, in pattern visits."""
        cells = self._cells(size)
        words = len(self.rows) / 64 + cells
        return POLICY.visit_rate * (self.ns_word * words + self.ns_cell * cells)

    @property
    def limit(self) -> float:
        """Copies that the cells of a support may lose, for it to matter."""
        return self._limit + POLICY.limit_slack * max(1.0, abs(self._limit))

    def take(self, choices: IntArray, lost: FloatArray) -> Iterator[None]:
        """Keep supports for :meth:`below`."""
        self._found.append((choices, lost.copy()))
        yield

    def below(
        self, base: tuple[int, ...], size: int, supports: Supports
    ) -> Iterator[tuple[Bounded, float]]:
        """In slices, supports of a base and later columns below the limit, and pattern visits."""
        p, self._found = self.patterns, []
        columns = np.arange(base[-1] + 1 if base else 0, len(self.columns))
        self._limit = (supports.limit - supports.fixed) / self.unit
        work, self.share = self.work, 0.0
        for _ in self.visit(base, columns, size - len(base), 0.0, 1.0):
            found: Bounded = []
            for choices, lost in self._found:
                bounds, names = lost * self.unit + supports.fixed, np.sort(self.names[choices])
                twin = p.twin[names]
                alone = (twin >= 0) & (twin[:, :, None] != names[:, None, :]).all(axis=2)
                kept = (bounds < supports.limit) & ~alone.any(axis=1)
                if len(self.asked):
                    kept[kept] = [p.may_use([*p.forced.tolist(), *each]) for each in names[kept]]
                forced = p.forced.tolist()
                found += [
                    (bound, (*forced, *each), ())
                    for bound, each in zip(bounds[kept].tolist(), names[kept].tolist(), strict=True)
                ]
            self._found = []
            yield found, POLICY.visit_rate * (self.work - work)
            self._limit, work = (supports.limit - supports.fixed) / self.unit, self.work


class CandidateColumns(NamedTuple):
    """The candidates as the enumeration reads them: c of them, m patterns."""

    codes: NDArray[np.int32]  # (c, m): numbers of their values
    cards: IntArray  # (c,): how many these are
    penalty: FloatArray  # (c,): what each costs at least
    twin: IntArray  # (c,): which other one must be in the support as well, or -1
    # (m, W): indicators of all values but each candidate's last; W is 0 where they are too many
    flags: NDArray[np.int8]
    slots: IntArray  # (c + 1,): where those of each candidate begin
    net: NDArray[Any]  # (m,): the patterns' net weight


class Scratch(NamedTuple):
    """What :func:`agree` and :func:`refine` write to."""

    table: NDArray[Any]  # (G, W): weights of the values of up to G groups
    slots: IntArray  # (2, a power of two above 2 m): hash table of labels and their keys
    cell: IntArray  # (m,): labels of patterns
    weights: IntArray  # (m,): of each cell or group
    agreed: IntArray  # (c,)
    own: IntArray  # (m,): labels of patterns


class Offer(NamedTuple):
    """Where pairs of candidates are written whose bound is below ``limit``."""

    unit: float  # of bound and limit
    limit: float
    weight: int  # the sum of all |net|
    out: IntArray
    bounds: FloatArray


@compiled
def refine(labels: Any, codes: Any, cards: int, slots: Any, out: Any) -> int:
    """Number groups of patterns split by one more column; return how many there are."""
    for slot in range(slots.shape[1]):
        slots[0, slot] = -1
    count = 0
    for i in range(len(labels)):
        out[i] = number_of(labels[i] * cards + codes[i], slots, count)
        count += out[i] == count
    return count


@inner
def agree(labels: Any, groups: int, begin: int, columns: Any, scratch: Any) -> int:
    """Sum |net weight| over the cells of each candidate from ``begin`` on; return the visits."""
    codes, net, flags, slots = columns.codes, columns.net, columns.flags, columns.slots
    table, weights, out = scratch.table, scratch.weights, scratch.agreed
    m, left = len(net), len(columns.cards) - begin
    if flags.shape[1] > 0 and groups <= len(table) and left > 0:
        # all candidates in one pass: net weight of the cells of every value but the last, which
        # has what is left of its group
        start, width = slots[begin], flags.shape[1] - slots[begin]
        for g in range(groups):
            weights[g] = 0
            row = table[g, :width]
            for c in range(width):
                row[c] = 0
        for i in range(m):
            weight = net[i]
            weights[labels[i]] += weight
            row, flag = table[labels[i], :width], flags[i, start:]
            for c in range(width):
                row[c] += weight * flag[c]
        for at in range(begin, len(slots) - 1):
            total = 0
            for g in range(groups):
                last = weights[g]
                for c in range(slots[at] - start, slots[at + 1] - start):
                    last -= table[g, c]
                    total += abs(table[g, c])
                total += abs(last)
            out[at] = total
        return m * (1 + left // 8)
    cell = scratch.cell
    for at in range(begin, left + begin):
        cells = refine(labels, codes[at], columns.cards[at], scratch.slots, cell)
        for c in range(cells):
            weights[c] = 0
        for i in range(m):
            weights[cell[i]] += net[i]
        total = 0
        for c in range(cells):
            total += abs(weights[c])
        out[at] = total
    return m * left


@compiled
def write_supports(
    labels: Any, groups: int, charge: float, present: Any, first: int, end: int, columns: Any,
    scratch: Any, offer: Any,
) -> Any:  # fmt: skip
    """Write supports of a prefix, a candidate from first..end-1 (-1: none) and a later one."""
    # The bound is what no classifier of the cells avoids, half of (all |net| - the cells' |net|),
    # plus the least penalty. ``present`` marks the prefix's candidates. Returns how many are
    # written, how many were looked at, and the pattern visits.
    twin, penalty, agreed, own = columns.twin, columns.penalty, scratch.agreed, scratch.own
    written, seen, visits = 0, 0, 0
    for i in range(len(labels)):
        own[i] = labels[i]
    for at in range(first, end):
        paid = charge
        if at >= 0:
            if twin[at] >= 0 and not present[twin[at]]:
                continue  # its twin is never worse
            groups = refine(labels, columns.codes[at], columns.cards[at], scratch.slots, own)
            paid += penalty[at]
        visits += agree(own, groups, at + 1, columns, scratch)
        for last in range(at + 1, len(penalty)):
            if twin[last] < 0 or twin[last] == at or present[twin[last]]:
                seen += 1
                bound = ((offer.weight - agreed[last]) // 2) * offer.unit + paid + penalty[last]
                if bound < offer.limit:
                    offer.out[written, 0], offer.out[written, 1] = at, last
                    offer.bounds[written] = bound
                    written += 1
    return written, seen, visits
