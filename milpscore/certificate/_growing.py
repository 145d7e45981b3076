"""Growing a tree whose leaves prove a bound: the engine proposes points, the verifier decides."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore.certificate._lines import Rows
from milpscore.certificate._space import INTERCEPT, Box, Line, Space
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.statement import InterceptRule, Statement

MARGIN = 1e-9
"""Leaves are closed this much above the bound they are to prove: other machines round otherwise."""

_BYTES_A_NUMBER = 12
_WHOLE = 1e-7


def grow_tree(statement: Statement, bound: float, time_limit: float, most_bytes: int) -> list[Any]:
    """The nodes of a tree that proves ``bound``, in the form of :func:`prove_by_leaves`.

    An engine's own leaves do not cover all cards: between splits it drops what some inner line
    puts above the best card. Here the points of its relaxations are kept at every node, and each
    box is the verifier's own.

    Parameters
    ----------
    statement : Statement
    bound : float
    time_limit : float
        Seconds.
    most_bytes : int
        About as large the nodes may become as text.

    Returns
    -------
    list

    Raises
    ------
    NotApplicableError
        Where time or size do not suffice, or the bound is no bound; the message says which.
    """
    space, rows, engine = Space(statement), Rows(statement), _Engine(statement)
    goal = bound + MARGIN * max(1.0, abs(bound))
    spread = rows.X.std(axis=0) if rows.X.size else np.zeros(rows.X.shape[1])
    started, size = time.perf_counter(), 0
    nodes: list[Any] = []
    pending: list[tuple[Box, Line | None, Any]] = [(space.all_cards(), None, None)]
    while pending:
        if time.perf_counter() - started > time_limit:
            raise NotApplicableError(f"its leaves were not found within {time_limit:g} s")
        if size > most_bytes:
            raise NotApplicableError(f"its leaves would take more than {most_bytes / 1e6:g} MB")
        box, line, parent = pending.pop()
        if space.empty(box) if line is None else space.tighten(line, box, goal):
            nodes.append(None)
            continue
        w, b, node = engine.point(parent, space, box, goal)
        made = rows.lines(w[None, :], np.array([b]))
        line = Line(float(made.constant[0]), made.slope[0], float(made.slope_b[0]))
        where = np.flatnonzero(w)
        split = None
        if not space.tighten(line, box, goal):
            split = _choose(space, box, w, b, line, spread)
            low, high = space.halves(box, *split)
            pending += [(high, line, node), (low, line, node)]
        nodes.append([where.tolist(), w[where].tolist(), b, None if split is None else [*split]])
        size += _BYTES_A_NUMBER * (2 * len(where) + 3)
    return nodes


class _Engine:
    """The relaxations of the tree search, as a source of points: nothing rests on them."""

    def __init__(self, statement: Statement) -> None:
        from milpscore.solvers.tree.arrays import Arrays
        from milpscore.solvers.tree.relaxation import Relaxation

        self.statement = statement
        self.arrays = Arrays(statement)
        self.relaxation = Relaxation(self.arrays)

    def point(
        self, parent: Any, space: Space, box: Box, goal: float
    ) -> tuple[FloatArray, float, Any]:
        """The minimiser of a box's relaxation in nine digits, and the node it was found at."""
        from milpscore.solvers.tree.relaxation import IN, OPEN, OUT, Node

        node = Node.root(self.arrays) if parent is None else parent.child()
        inside = space.inside(box)
        may = (inside & space.is_zero).any(axis=1)
        low = space.values[np.arange(len(may)), box.low]
        high = space.values[np.arange(len(may)), box.high]
        node.lo, node.hi = self._positions(low), self._positions(high)
        node.status = np.where(may, np.where(low == high, OUT, OPEN), IN).astype(np.int8)
        node.b_lo, node.b_hi = box.b_low, box.b_high
        # without the parent's line, by which the engine would close the node and keep its point
        node.bound = node.constant = -math.inf
        self.relaxation.solve(node, goal)
        if (low == high).all():
            node.w, node.b = low.copy(), self._best_intercept(low, box)
        w = np.array([float(f"{v:.9g}") for v in np.clip(node.w, low, high)])
        b = float(f"{min(max(node.b, box.b_low), box.b_high):.9g}")
        return np.clip(w, low, high), min(max(b, box.b_low), box.b_high), node

    def _best_intercept(self, w: FloatArray, box: Box) -> float:
        """The intercept of a box, on its step or not, where points w cost least."""
        statement = self.statement
        rows, loss = statement.design.merged, statement.loss
        real = InterceptRule("real", Fraction(box.b_low), Fraction(box.b_high), None)
        best, _ = loss.best_intercepts((rows.X @ w)[:, None], rows.y, rows.weight, real)
        return float(best[0])

    def _positions(self, values: FloatArray) -> Any:
        """Where the engine's tables hold these values."""
        return (self.arrays.points >= values[:, None]).argmax(axis=1).astype(np.int64)


def _choose(
    space: Space, box: Box, w: FloatArray, b: float, line: Line, spread: FloatArray
) -> tuple[int, float]:
    """Where to split a box: an undecided feature at 0, else the most fractional coordinate."""
    width = box.high - box.low
    undecided = (space.inside(box) & space.is_zero).any(axis=1) & (width > 0)
    size = np.where(undecided, np.abs(w) * spread, 0.0)
    if size.any():
        j = int(size.argmax())
        return j, _beside_zero(space, box, j, w[j] > 0)
    off = np.array([_off(space, box, j, w[j]) for j in range(len(w))]) * spread
    free_b = space.step is not None and box.b_low < box.b_high
    off_b = abs(b / space.step - round(b / space.step)) if free_b and space.step else 0.0
    if max(float(off.max(initial=0.0)), off_b) <= _WHOLE:
        if undecided.any():
            j = int(np.where(undecided, np.abs(line.slope) * space.most, -1.0).argmax())
            return j, _beside_zero(space, box, j, line.slope[j] < 0)
        if width.any():
            return _below(space, box, int(width.argmax()), w)
        card = space.values[np.arange(len(w)), box.low]
        if (w != card).any() or not box.b_low <= b <= box.b_high:
            return INTERCEPT, box.b_high  # one card is left, and its own line was not drawn yet
        if not free_b or space.step is None:
            raise NotApplicableError("a single card reaches below it")
        off_b = 1.0
    if off.max(initial=0.0) >= off_b:
        return _below(space, box, int(off.argmax()), w)
    assert space.step is not None
    value = math.floor(b / space.step + _WHOLE) * space.step
    return INTERCEPT, float(min(max(value, box.b_low), box.b_high - space.step))


def _beside_zero(space: Space, box: Box, j: int, positive: bool) -> float:
    """The value after which to split so that the points of one sign are parted from 0."""
    zero = int(space.is_zero[j].argmax())
    positive = (positive and zero < box.high[j]) or zero == box.low[j]
    return float(space.values[j, zero if positive else zero - 1])


def _off(space: Space, box: Box, j: int, value: float) -> float:
    """How far a coefficient lies from its allowed values, as a share of their gap."""
    values = space.values[j, box.low[j] : box.high[j] + 1]
    if len(values) < 2:
        return 0.0
    k = min(max(int(np.searchsorted(values, value)), 1), len(values) - 1)
    part = float((value - values[k - 1]) / (values[k] - values[k - 1]))
    return max(0.0, min(part, 1.0 - part))


def _below(space: Space, box: Box, j: int, w: FloatArray) -> tuple[int, float]:
    """The split of a coefficient at its own value."""
    values = space.values[j, : box.high[j]]
    k = int(np.searchsorted(values, w[j] + _WHOLE, side="right")) - 1
    return j, float(values[max(k, int(box.low[j]))])
