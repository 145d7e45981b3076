"""The bound from the leaves of a tree: every split covers its box, every leaf has a line.

A proof lists the nodes of a tree in preorder. A node is null where its parent's line (or the
statement's constraints) already closes it, else ``[columns, values, b, split]``: the point where
its line touches the loss, and ``[column, value]`` where it is split into the cards with at most
that value and those above, or null for a leaf. Boxes are no part of it: they follow from the
splits, so that no card can be left out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from milpscore.certificate._lines import Lines, Rows
from milpscore.certificate._space import INTERCEPT, Box, Line, Space
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError
from milpscore.core.statement import Statement

_BATCH = 4096


def prove_by_leaves(statement: Statement, nodes: list[Any], goal: float) -> tuple[bool, str]:
    """Whether a tree proves that no card of the statement has an objective below ``goal``.

    Parameters
    ----------
    statement : Statement
        Of a risk score.
    nodes : list
        In preorder.
    goal : float

    Returns
    -------
    (bool, str)
        And a sentence.

    Raises
    ------
    DataError
        For nodes that are no such list.
    NotApplicableError
        For a loss or a penalty without lines.
    """
    space, rows = Space(statement), Rows(statement)
    lines = _LinesOf(rows, nodes)
    pending: list[tuple[Box | None, Line | None]] = [(space.all_cards(), None)]
    leaves = 0
    for number, node in enumerate(nodes):
        if not pending:
            return False, f"the tree ends before its node {number}"
        box, line = pending.pop()
        closed = box is None or _closed(space, box, line, goal)
        if node is not None:
            line = lines[number]
            closed = closed or _closed(space, box, line, goal)
        split = None if node is None else node[3]
        if split is None:
            leaves += 1
            if not closed:
                return False, f"leaf {leaves} (node {number}) does not prove the bound {goal:.9g}"
            continue
        j, value = _split(split, len(space.values))
        halves = (None, None) if closed or box is None else space.halves(box, j, value)
        pending += [(halves[1], line), (halves[0], line)]
    if pending:
        return False, f"{len(pending)} parts of the tree are missing: cards are left out"
    return True, (
        f"{leaves} leaves cover every card, and each one's line, re-derived from the data, proves "
        f"{goal:.9g}"
    )


def _closed(space: Space, box: Box | None, line: Line | None, goal: float) -> bool:
    """Whether nothing below the goal is left in the box, which is shortened."""
    if box is None:
        return True
    return space.empty(box) if line is None else space.tighten(line, box, goal)


class _LinesOf:
    """The lines of a list of nodes, computed a batch at a time."""

    def __init__(self, rows: Rows, nodes: list[Any]) -> None:
        self.rows, self.nodes, self.first = rows, nodes, -_BATCH
        self.lines: Lines | None = None

    def __getitem__(self, number: int) -> Line:
        """The line of one node."""
        if self.lines is None or not 0 <= number - self.first < _BATCH:
            self.first = number
            batch = self.nodes[number : number + _BATCH]
            points = [_point(node, self.rows.X.shape[1]) for node in batch]
            w, b = np.array([p for p, _ in points]), np.array([p for _, p in points])
            self.lines = self.rows.lines(w, b)
        k = number - self.first
        return Line(
            float(self.lines.constant[k]), self.lines.slope[k], float(self.lines.slope_b[k])
        )


def _point(node: Any, columns: int) -> tuple[FloatArray, float]:
    """Where a node's line touches; 0 for a node without one."""
    w = np.zeros(columns)
    if node is None:
        return w, 0.0
    try:
        where, values, b, _ = node
        at = np.array(where, dtype=np.int64)
        if len(at) != len(values) or (len(at) and not 0 <= at.min() <= at.max() < columns):
            raise ValueError("columns and values do not match")
        w[at] = np.array(values, dtype=np.float64)
        if not (math.isfinite(b) and np.isfinite(w).all()):
            raise ValueError("a point is not finite")
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise DataError(f"the evidence is damaged ({error}): make the certificate again") from error
    return w, float(b)


def _split(split: Any, columns: int) -> tuple[int, float]:
    """Column and value of a split."""
    try:
        j, value = int(split[0]), float(split[1])
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        raise DataError(f"the evidence is damaged ({error}): make the certificate again") from error
    if not INTERCEPT <= j < columns or not math.isfinite(value):
        raise DataError(f"the evidence is damaged (split {split!r}): make the certificate again")
    return j, value
