"""Points under constraints: from what was found to points the statement allows, and downhill."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.statement import Statement
from milpscore.search._risk_allowed import AllowedPoints
from milpscore.search.points import repaired_points

_BETTER = 1e-9
_NEAR = 2
_MOST_MOVES = 4000


def allowed_descent(
    statement: Statement,
    allowed: AllowedPoints,
    starts: Iterable[IntArray],
    objective: Callable[[IntArray], float],
    *,
    max_sweeps: int = 20,
) -> list[tuple[float, IntArray]]:
    """Change one coefficient, or exchange two terms, while that is allowed and helps.

    Parameters
    ----------
    statement : Statement
        Its constraints decide what is allowed.
    allowed : AllowedPoints
    starts : ndarrays of shape (p,)
        Best first. Where the statement allows none of them, what one or two changes make of them.
    objective : callable
    max_sweeps : int

    Returns
    -------
    list of (objective, points)
        Every stop on the way down, the best first; empty where no allowed points were found.
    """
    pool = np.array(list(starts), dtype=np.int64)
    for _ in range(2):
        fine = pool[statement.allows(pool)]
        if len(fine):
            break
        pool = np.concatenate([_moves(w, allowed) for w in pool[:20]])
    if not len(fine):
        return []
    best = min((objective(w), tuple(w.tolist())) for w in fine[:50])
    stops = [best]
    for _ in range(max_sweeps):
        moves = _moves(np.array(best[1]), allowed)
        trials = [(objective(w), tuple(w.tolist())) for w in moves[statement.allows(moves)]]
        found = min(trials, default=best)
        if found[0] >= best[0] - _BETTER:
            break
        best = found
        stops.append(best)
    return [(value, np.array(w, dtype=np.int64)) for value, w in reversed(stops)]


def mended_points(statement: Statement, starts: Iterable[IntArray]) -> list[IntArray]:
    """The allowed points nearest to each start, as far as one change at a time leads to them.

    Parameters
    ----------
    statement : Statement
    starts : ndarrays of int64, shape (p,)

    Returns
    -------
    list of ndarrays of int64, shape (p,)
        Each once, in the order of the starts.
    """
    found: dict[tuple[int, ...], IntArray] = {}
    for start in starts:
        w = repaired_points(statement, start)
        if w is not None and statement.allows(w[None, :])[0]:
            found.setdefault(tuple(w.tolist()), w)
    return list(found.values())


def _moves(w: IntArray, allowed: AllowedPoints) -> IntArray:
    """Points that differ in one coefficient, or have one term exchanged for another one."""
    found = []
    usable = np.flatnonzero(allowed.usable).tolist()
    for j in usable:
        for value in allowed.of_column(j) - {int(w[j])}:
            moved = w.copy()
            moved[j] = value
            found.append(moved)
    for j in np.flatnonzero(w).tolist():
        for i in usable:
            near = [v for v in (w[j], -w[j], *range(-_NEAR, _NEAR + 1)) if v]
            for value in {int(v) for v in near} & allowed.of_column(i):
                if i != j and w[i] == 0 and len(found) < _MOST_MOVES:
                    moved = w.copy()
                    moved[j], moved[i] = 0, value
                    found.append(moved)
    return np.array(found, dtype=np.int64).reshape(-1, len(w))
