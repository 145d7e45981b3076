"""Leaves under the 0-1 loss: the supports whose errors the checker counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.certificate.leaves import MARGIN, Grown, Space
from milpscore.core.design import IntArray
from milpscore.core.statement import Statement


def grow_supports(
    statement: Statement, bound: float, time_limit: float, most_bytes: int
) -> dict[str, Any]:
    """A tree of used and unused columns; its leaves are closed by counting errors.

    A column not used merges the rows that differ in it alone. Leaves that merging does not close
    are walked by the checker, value by value.
    """
    space = Space(statement)
    goal = bound + MARGIN * max(1.0, abs(bound))
    rows = statement.design.merged
    codes = np.array([np.unique(x, return_inverse=True)[1] for x in rows.X.T], dtype=np.int64)
    charge = np.where(space.real & ~space.is_zero, space.cost, np.inf).min(axis=1, initial=np.inf)
    signed = rows.weight * rows.y
    # columns that tell the classes apart are decided first
    apart = np.abs((rows.X - rows.X.mean(axis=0)).T @ signed) / (rows.X.std(axis=0) + 1e-300)
    order = np.argsort(-apart, kind="stable")
    grown = Grown(time_limit, most_bytes)
    pending: list[tuple[int, Any, int]] = [(0, space.all_cards(), 0)]
    while pending:
        grown.check(len(pending))
        node, box, at = pending.pop()
        if space.empty(box):
            grown.nodes[node] = -1
            continue
        inside = space.inside(box)
        may, used = (inside & space.is_zero).any(axis=1), (inside & ~space.is_zero).any(axis=1)
        must = ~may
        if must.sum() == space.terms:
            used = must
        least = _errors(codes[used], rows.weight, rows.y) + float(charge[must].sum())
        undecided = [j for j in order[at:].tolist() if may[j] and used[j]]
        if least >= goal or not undecided:
            grown.nodes[node] = 0
            continue
        j = undecided[0]
        nothing, something = space.halves(box, (j, None))
        parts = grown.split(node, (j, None))
        after = order.tolist().index(j) + 1
        pending += [(parts[1], something, after), (parts[0], nothing, after)]
    return {"points": [], "tree": grown.entries()}


def _errors(codes: IntArray, weight: Any, y: Any) -> float:
    """The share of weight that no rule over some columns answers rightly."""
    cell = np.zeros(len(y), dtype=np.int64)
    if len(codes):
        cell = np.unique(codes, axis=1, return_inverse=True)[1].ravel()
    each = [np.bincount(cell, weights=weight * (y == sign)) for sign in (-1, 1)]
    return float(np.minimum(*each).sum() / weight.sum())
