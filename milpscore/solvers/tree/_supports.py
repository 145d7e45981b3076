"""The supports of a 0-1 problem by size, each with the errors its cells cannot avoid."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, prepare
from milpscore.solvers.tree.patterns import Patterns

VISITS = 30_000_000
"""Pattern visits between two looks at the clock."""

_CHUNK = 20_000
_MOST_FLAGS = 1 << 25
_FLAGS_EACH = 12
"""Indicators of the values of columns that have more each cost more than they save."""

_TABLE = 1 << 20


class Supports:
    """Enumerates supports, smallest first.

    Attributes
    ----------
    floor : float
        No card of a support not yet seen is below it; infinite once all are seen.
    seen : int
        Supports bounded.
    """

    def __init__(self, patterns: Patterns) -> None:
        self.patterns = patterns
        self.seen = 0
        self.size = 0
        self.spare = min(patterns.terms - len(patterns.forced), len(patterns.candidates))
        self.fixed = patterns.base * patterns.unit + patterns.forced_penalty
        self.cheapest = np.cumsum(np.sort(patterns.penalty[patterns.candidates]))
        self._finished = False
        self._forced_groups()
        self._lay_out_columns()
        self.floor = self._floor() if self.spare >= 0 else math.inf

    def _forced_groups(self) -> None:
        """Patterns grouped by the columns every support has."""
        p = self.patterns
        self.slots = np.empty((2, 1 << (2 * len(p.net) + 1).bit_length()), np.int64)
        self.labels = np.zeros((1, len(p.net)), dtype=np.int64)
        self.groups = np.ones(1, dtype=np.int64)
        for j in p.forced.tolist():
            labels = np.zeros_like(self.labels)
            self.groups[0] = refine(
                self.labels[0], p.codes[j], int(p.cards[j]), self.slots, labels[0]
            )
            self.labels = labels

    def _lay_out_columns(self) -> None:
        """The candidates, and indicators of their values where there are not too many."""
        p = self.patterns
        columns, m = p.candidates, len(p.net)
        slots = np.r_[0, np.cumsum(p.cards[columns] - 1)].astype(np.int64)
        width = int(slots[-1])
        if not m or width > _FLAGS_EACH * len(columns) or width * m > _MOST_FLAGS:
            width = 0
        flags = np.zeros((m, width), dtype=np.int8)
        for at, j in enumerate(columns.tolist() if width else []):
            codes = np.arange(int(p.cards[j]) - 1)
            flags[:, slots[at] : slots[at + 1]] = p.codes[j][:, None] == codes
        self.scratch = Scratch(
            np.zeros((min(_TABLE // max(width, 1), m), width), dtype=p.net.dtype),
            self.slots,
            np.zeros(m, np.int64),
            np.zeros(m, np.int64),
            np.zeros(len(columns), np.int64),
        )
        place = {-1: -1, **{int(j): at for at, j in enumerate(columns)}}
        twin = np.array([place[int(p.twin[j])] for j in columns], dtype=np.int64)
        self.columns = Columns(
            p.codes[columns], p.cards[columns], p.penalty[columns], twin, flags, slots, p.net
        )

    def _floor(self) -> float:
        """Of the supports of this size and above: rows of both classes, and the penalty."""
        return self.fixed + (float(self.cheapest[self.size - 1]) if self.size else 0.0)

    def more(self, limit: float) -> list[tuple[float, tuple[int, ...]]]:
        """The next supports whose bound is below ``limit``; :meth:`commit` then moves the floor.

        Parameters
        ----------
        limit : float
            Objective to beat.

        Returns
        -------
        list of (bound, columns)
        """
        if self.size == 0:
            self._finished = True
            return self._smallest()
        return self._slice(limit)

    def commit(self) -> None:
        """Say that what :meth:`more` gave is kept: the floor may rise over it."""
        if not self._finished:
            return
        self._finished = False
        self.size += 1
        if self.size > self.spare:
            self.floor = math.inf
            return
        self.floor = self._floor()
        m = len(self.patterns.net)
        labels, groups = self.labels[:1], self.groups[:1]
        self.labels = np.zeros((self.size, m), dtype=np.int64)
        self.groups = np.ones(self.size, dtype=np.int64)
        self.labels[:1], self.groups[:1] = labels, groups
        self._chosen = np.full(self.size + 1, -1, dtype=np.int64)
        self._chosen[-1] = 0

    def _smallest(self) -> list[tuple[float, tuple[int, ...]]]:
        """The support of the forced columns; without any, the card of no points is its only one."""
        self.seen += 1
        if not len(self.patterns.forced):
            return []
        cells = np.zeros(int(self.groups[0]), dtype=np.int64)
        np.add.at(cells, self.labels[0], self.patterns.net)
        lost = int(np.abs(self.patterns.net.astype(np.int64)).sum() - np.abs(cells).sum()) // 2
        bound = self.fixed + lost * self.patterns.unit
        return [(bound, tuple(self.patterns.forced.tolist()))]

    def _slice(self, limit: float) -> list[tuple[float, tuple[int, ...]]]:
        """Some supports of the present size."""
        p = self.patterns
        room = max(_CHUNK, 2 * len(p.candidates))
        out, bounds = np.zeros((room, self.size), dtype=np.int64), np.zeros(room)
        finished, written, looked_at = enumerate_supports(
            self.columns,
            self._chosen,
            self.labels,
            self.groups,
            self.scratch,
            Offer(p.unit, limit - self.fixed, out, bounds),
            VISITS,
        )
        self.seen += looked_at
        self._finished = finished
        forced = p.forced.tolist()
        return [
            (self.fixed + bound, (*forced, *columns))
            for bound, columns in zip(
                bounds[:written].tolist(), p.candidates[out[:written]].tolist(), strict=True
            )
        ]


class Columns(NamedTuple):
    """The candidates as the enumeration reads them: c of them, m patterns.

    ``codes`` (c, m) numbers each one's values, ``cards`` (c,) says how many there are, ``penalty``
    (c,) what it costs at least, and ``twin`` (c,) which other candidate must be in the support for
    it to be, -1 for none. ``flags`` (m, W) holds indicators of all values but each candidate's last
    side by side, those of c from ``slots[c]`` to ``slots[c + 1]``; W is 0 where they would be too
    many. ``net`` (m,) is the patterns' net weight.
    """

    codes: NDArray[np.int32]
    cards: IntArray
    penalty: FloatArray
    twin: IntArray
    flags: NDArray[np.int8]
    slots: IntArray
    net: NDArray[Any]


class Scratch(NamedTuple):
    """What :func:`agree` and :func:`refine` write to.

    ``table`` (G, W) weighs the values of up to G groups; ``slots`` (2, a power of two above 2 m) is
    an open hash table of labels, and of the keys they have; ``cell``, ``weights`` and ``agreed``
    have an entry for each pattern, cell (or group) and candidate.
    """

    table: NDArray[Any]
    slots: IntArray
    cell: IntArray
    weights: IntArray
    agreed: IntArray


class Offer(NamedTuple):
    """Where supports are written whose bound, in units of size ``unit``, is below ``limit``."""

    unit: float
    limit: float
    out: IntArray
    bounds: FloatArray


@compiled
def refine(labels: Any, codes: Any, cards: int, slots: Any, out: Any) -> int:
    """Split groups of patterns by one more column: equal (label, code) get equal new labels.

    Returns how many there are; ``slots`` is that of :class:`Scratch`.
    """
    mask = slots.shape[1] - 1
    for slot in range(slots.shape[1]):
        slots[0, slot] = -1
    found = 0
    for i in range(len(labels)):
        key = labels[i] * cards + codes[i]
        slot = (key ^ (key >> 17)) & mask  # the key itself, where there are few
        while slots[0, slot] >= 0 and slots[1, slot] != key:
            slot = (slot + 1) & mask
        if slots[0, slot] < 0:
            slots[0, slot], slots[1, slot] = found, key
            found += 1
        out[i] = slots[0, slot]
    return found


@compiled
def agree(labels: Any, groups: int, begin: int, columns: Any, scratch: Any) -> int:
    """What patterns agree on in the cells of (label, value of a candidate), for each candidate.

    ``scratch.agreed`` gets the sum over the cells of |net weight| for the candidates from ``begin``
    on. Returns how many pattern visits it took.
    """
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
def enumerate_supports(
    columns: Any, chosen: Any, labels: Any, groups: Any, scratch: Any, offer: Any, budget: int
) -> Any:
    """Supports in lexicographic order, from where ``chosen`` stands, as far as the budget goes.

    Those below the offer's limit are written. The bound is what no classifier of the support's
    cells avoids, half of (all |net| - the cells' |net|), plus the least penalty.

    Parameters
    ----------
    columns : Columns
    chosen : int array of shape (size + 1,)
        Positions among the candidates, and last the depth; -1 and depth 0 to begin with.
    labels, groups : int arrays of shape (size, m), (size,)
        Row d holds the patterns grouped by the forced columns and the first d chosen ones.
    scratch : Scratch
    offer : Offer
        With room for at least twice as many supports as candidates.
    budget : int
        Pattern visits before pausing.

    Returns
    -------
    (finished, written, looked at)
    """
    size, count, m = len(labels), len(columns.cards), len(columns.net)
    last = size - 1
    weight = 0
    for i in range(m):
        weight += abs(columns.net[i])
    codes, cards, penalty, twin = columns.codes, columns.cards, columns.penalty, columns.twin
    agreed, out, bounds = scratch.agreed, offer.out, offer.bounds
    written, seen, spent = 0, 0, 0
    depth = chosen[size]
    while depth >= 0 and written + count <= len(bounds) and spent <= budget:
        if depth < last:
            chosen[depth] += 1
            at = chosen[depth]
            if at > count - (size - depth):
                depth -= 1
            elif _has_twin(twin[at], chosen, depth):
                spent += m
                groups[depth + 1] = refine(
                    labels[depth], codes[at], cards[at], scratch.slots, labels[depth + 1]
                )
                depth += 1
                chosen[depth] = at
            continue
        begin = chosen[last] + 1
        spent += agree(labels[last], groups[last], begin, columns, scratch)
        before = 0.0
        for e in range(last):
            before += penalty[chosen[e]]
        for at in range(begin, count):
            if not _has_twin(twin[at], chosen, last):
                continue
            seen += 1
            bound = ((weight - agreed[at]) // 2) * offer.unit + before + penalty[at]
            if bound < offer.limit:
                for e in range(last):
                    out[written, e] = chosen[e]
                out[written, last] = at
                bounds[written] = bound
                written += 1
        depth -= 1
    chosen[size] = depth
    return depth < 0, written, seen


@compiled
def _has_twin(twin: int, chosen: Any, depth: int) -> bool:
    """Whether a candidate's twin is among the first ``depth`` chosen ones, or it has none."""
    present = twin < 0
    for e in range(depth):
        present = present or chosen[e] == twin
    return present


def prepare_enumeration(weight: npt.DTypeLike) -> None:
    """Have :func:`enumerate_supports` ready for net weights of this type."""
    whole, real, net = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, weight)
    labels, flags = np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int8)
    columns = Columns(np.zeros((1, 1), np.int32), whole, real, whole, flags, whole, net)
    scratch = Scratch(np.zeros((1, 1), weight), labels, whole, whole, whole)
    offer = Offer(1.0, 0.0, labels, real)
    prepare(enumerate_supports, columns, whole, labels, whole, scratch, offer, 0)
