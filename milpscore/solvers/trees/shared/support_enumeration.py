"""Choices of two-valued columns, depth first, as far as the cells they make of the rows may matter.

A prefix is left as soon as the pairs of rows that the next columns can part at most leave too much
(``counts.gains``); what is left at the end is bounded by its cells, three columns at a time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from milpscore.constraints.parts import Used
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import Statement
from milpscore.solvers.trees.shared.answer import POLICY
from milpscore.solvers.trees.shared.cell_counts import (
    ZERO_ONE,
    CellLayout,
    KnownPairs,
    Losses,
    gains,
    know_pairs,
    lanes_of,
    lay,
    pack,
    write_triples,
)


class ColumnChoices(ABC):
    """Choices of columns whose cells lose less than a limit.

    ``columns`` (c, n) hold 0 and 1, ``charge`` (c,) what each costs at least; ``rows`` are copies
    of the n rows, of one weight a label (``is_positive``, ``losses``), and ``group`` (n,) is the
    cell that each row begins in. ``ways`` (c, 2) are those of :func:`counts.gains`. ``work`` is a
    deterministic guess of the nanoseconds spent, ``share`` of all choices those visited so far.
    """

    ns_word, ns_cell = 1.5, 15.0  # nanoseconds of a triple a word and a segment
    lanes = 8  # words of one column that are counted at once

    columns: NDArray[np.uint8]
    rows: IntArray
    is_positive: NDArray[np.bool_]
    group: IntArray
    ways: FloatArray
    losses: Losses

    def __init__(self) -> None:
        self.work = self.share = 0.0
        self.visited = self.counted = 0
        self.charge = np.zeros(0)
        # columns that rules ask for, some of them: they are decided first
        self.asked = np.zeros(0, np.bool_)

    def allowed(self, base: tuple[int, ...], columns: IntArray) -> bool:
        """Whether rules leave a choice of a base and some of these columns."""
        return True

    @property
    @abstractmethod
    def limit(self) -> float:
        """What the cells of a choice may lose at most, with its charges, for it to matter."""

    @abstractmethod
    def take(self, choices: IntArray, lost: FloatArray) -> Iterator[None]:
        """Keep choices with what their cells lose, charges included."""

    def visit(
        self, base: tuple[int, ...], columns: IntArray, more: int, begin: float, end: float
    ) -> Iterator[None]:
        """Choices of a base and ``more`` of these columns; the share of all rises to ``end``."""
        if len(columns) < more or not self.allowed(base, columns):
            return
        layout, lost, gain = self.parting(base, columns)
        order = np.argsort(-gain, kind="stable")
        ranked = gain[order]
        # the best company for each column: of those that part most
        best = np.cumsum(ranked)
        with_it = np.where(np.arange(len(ranked)) < more, best[more - 1], best[more - 2] + ranked)
        kept = lost - with_it < self.limit
        order, ranked = order[kept], ranked[kept]
        if len(order) < more:
            yield
            return
        columns = columns[order]
        if more == 3:
            yield from self.triples(base, columns, layout._replace(bits=layout.bits[order]))
            return
        first = 0
        if len(self.asked):
            asked = self.asked[columns]
            again, first = np.argsort(~asked, kind="stable"), int(asked.sum())
            columns, ranked = columns[again], ranked[again]
        m = len(columns)
        for i in range(m - more + 1):
            if i >= first and lost - ranked[i : i + more].sum() >= self.limit:
                break
            after = end - (end - begin) * math.comb(m - i - 1, more) / math.comb(m, more)
            head = (*base, int(columns[i]))
            yield from self.visit(head, columns[i + 1 :], more - 1, self.share, after)
            self.share = after

    def cells(self, base: Iterable[int]) -> IntArray:
        """Return the number of each row's cell by the columns of a base."""
        key = self.group
        for c in base:
            key = 2 * key + self.columns[c]
        return key

    def parting(
        self, base: tuple[int, ...], columns: IntArray
    ) -> tuple[CellLayout, float, FloatArray]:
        """A base's layout, what it loses, and how much of that each column takes off at most."""
        layout = self._lay_out(base, columns)
        gain = np.empty(len(columns))
        lost = gains(layout, self.losses, self.ways[columns], gain)
        paid = float(self.charge[list(base)].sum())
        return layout, lost + paid, gain - self.charge[columns]

    def _lay_out(self, base: tuple[int, ...], columns: IntArray) -> CellLayout:
        """These columns' rows by the cells of a base."""
        rows, n = self.rows, len(self.rows)
        cell = self.cells(base)[rows] * 2 + ~self.is_positive
        most = (int(self.group.max(initial=0)) + 1) << len(base)
        sizes = np.bincount(cell, minlength=2 * most).reshape(-1, 2)
        impure = np.flatnonzero(sizes.min(axis=1) > 0)
        impure = impure[np.argsort(-sizes[impure].min(axis=1), kind="stable")]
        size = sizes[impure].ravel()
        words = -(-size // 64)
        words += (words > self.lanes // 2) * (-words % self.lanes)
        segments = np.concatenate([[0], np.cumsum(words)])
        laid = np.full(64 * int(segments[-1]), -1, np.int64)
        place = np.full(sizes.size, -1)
        place[(2 * impure[:, None] + (0, 1)).ravel()] = 64 * segments[:-1]
        lay(rows, cell, place, laid)
        bits = np.empty((len(columns), int(segments[-1])), np.uint64)
        pack(self.columns[columns], laid, bits)
        self.work += 3e4 + 20.0 * n + 0.5 * len(columns) * len(laid)
        return CellLayout(bits, segments, size.astype(np.uint64))

    def triples(
        self, base: tuple[int, ...], columns: IntArray, layout: CellLayout
    ) -> Iterator[None]:
        """Choices of a base and three of these columns."""
        m, words, cells = len(columns), layout.bits.shape[1], len(layout.size)
        pairs, parted = np.empty((m, m, cells), np.uint32), np.empty((2, m, m))
        known = KnownPairs(pairs, np.empty(m), *parted)
        know_pairs(layout, self.losses, self.ways[columns], known)
        lanes = lanes_of(layout, pairs) if self.losses.kind == ZERO_ONE else None
        self.work += 2e4 + m * m * (0.2 * words + 6.0 * cells)
        room, charge = POLICY.triples_written + m, self.charge[columns]
        out, bounds, state = np.empty((room, 3), np.int64), np.empty(room), np.array([0, 1, 0, 0])
        paid = float(self.charge[list(base)].sum())
        while state[0] < m:
            before = state.copy()
            limit = self.limit - paid
            most = int(before[3]) + POLICY.triples_counted
            count = write_triples(
                layout, known, lanes, self.losses, charge, limit, most, state, out, bounds
            )
            looked, counted = (state - before)[2:].tolist()
            self.visited += looked
            self.counted += counted
            self.work += 2.0 * looked + counted * (self.ns_word * words + self.ns_cell * cells)
            if m < 3:
                break
            head = np.broadcast_to(np.array(base, np.int64), (count, len(base)))
            choices = np.concatenate([head, columns[out[:count]]], axis=1)
            yield from self.take(choices, bounds[:count] + paid)


def asked_for(statement: Statement, columns: IntArray) -> NDArray[np.bool_]:
    """Return the columns of which a rule asks for some: without them no bound knows of the rule."""
    rules = statement.constraints
    groups = [
        {j for group in part.groups for j in group}
        for each in rules
        for part in getattr(each, "parts", ())  # a rule of somebody's own has none
        if isinstance(part, Used)
    ]
    every = set(columns.tolist())
    asked = [
        group
        for group in groups
        if not all(each.allows_support((), group & every) for each in rules)
    ]
    return np.isin(columns, [*set().union(*asked)])
