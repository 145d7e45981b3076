"""The supports of a 0-1 problem by size, each with the errors its cells cannot avoid."""

from __future__ import annotations

import math

import numpy as np

from milpscore.core.jit import has_numba
from milpscore.solvers.tree._zero_one_patterns import Patterns

_VISITS = 30_000_000
"""Pattern visits between two looks at the clock."""

_SLOWER = 100
"""Without numba a slice of the enumeration is so much smaller."""

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
        self.spare = min(patterns.problem.terms - len(patterns.forced), len(patterns.candidates))
        self.fixed = patterns.base * patterns.unit + patterns.forced_penalty
        self.cheapest = np.cumsum(np.sort(patterns.penalty[patterns.candidates]))
        self._finished = False
        self._forced_groups()
        self._flag_values()
        self.floor = self._floor() if self.spare >= 0 else math.inf

    def _forced_groups(self) -> None:
        """Patterns grouped by the columns every support has."""
        from milpscore.solvers.tree._zero_one_kernels import refine

        p = self.patterns
        self.labels = np.zeros((1, len(p.net)), dtype=np.int64)
        self.groups = np.ones(1, dtype=np.int64)
        for j in p.forced.tolist():
            labels = np.zeros_like(self.labels)
            self.groups[0] = refine(
                self.labels[0], int(self.groups[0]), p.codes[j], int(p.cards[j]), labels[0]
            )
            self.labels = labels

    def _flag_values(self) -> None:
        """Indicators of the candidates' values, side by side, where there are not too many."""
        p = self.patterns
        columns, m = p.candidates, len(p.net)
        self.slots = np.r_[0, np.cumsum(p.cards[columns] - 1)].astype(np.int64)
        width = int(self.slots[-1])
        if not m or width > _FLAGS_EACH * len(columns) or width * m > _MOST_FLAGS:
            width = 0
        self.flags = np.zeros((m, width), dtype=np.int8)
        for at, j in enumerate(columns.tolist() if width else []):
            codes = np.arange(int(p.cards[j]) - 1)
            self.flags[:, self.slots[at] : self.slots[at + 1]] = p.codes[j][:, None] == codes
        self.table = np.zeros((min(_TABLE // max(width, 1), m), width), dtype=p.net.dtype)

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
        from milpscore.solvers.tree._zero_one_enumeration import enumerate_supports
        from milpscore.solvers.tree._zero_one_kernels import FINISHED

        p = self.patterns
        room = max(_CHUNK, 2 * len(p.candidates))
        out = np.zeros((room, self.size), dtype=np.int64)
        bounds = np.zeros(room)
        status, written, looked_at = enumerate_supports(
            self.size,
            self._chosen,
            p.candidates,
            p.twin,
            p.codes,
            p.cards,
            p.net,
            self.labels,
            self.groups,
            self.flags,
            self.slots,
            self.table,
            p.unit,
            p.penalty,
            limit - self.fixed,
            _VISITS if has_numba() else _VISITS // _SLOWER,
            out,
            bounds,
        )
        self.seen += looked_at
        self._finished = status == FINISHED
        forced = p.forced.tolist()
        return [
            (self.fixed + bound, (*forced, *columns))
            for bound, columns in zip(
                bounds[:written].tolist(), out[:written].tolist(), strict=True
            )
        ]
