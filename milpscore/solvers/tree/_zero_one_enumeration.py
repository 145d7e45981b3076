"""The compiled enumeration of supports and of the errors their cells cannot avoid.

Import it where it is used, see :mod:`milpscore.solvers.tree._zero_one_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled
from milpscore.solvers.tree._zero_one_kernels import FINISHED, PAUSED, add_multiple, refine


@compiled
def agreement(labels: Any, groups: int, codes: Any, cards: int, net: Any) -> Any:
    """Sum over the cells (label, code) of |net weight|."""
    cells = np.empty(len(labels), np.int64)
    weight = np.zeros(refine(labels, groups, codes, cards, cells), np.int64)
    for i in range(len(labels)):
        weight[cells[i]] += net[i]
    return np.abs(weight).sum()


@compiled
def agreements(
    labels: Any, groups: int, flags: Any, slots: Any, from_: int, net: Any, table: Any, out: Any
) -> None:
    """What :func:`agreement` says of every candidate from ``from_`` on, in one pass of the rows.

    Parameters
    ----------
    flags : array of shape (m, W)
        Indicators of every candidate's values but its last, side by side; ``slots`` where each
        candidate's begin.
    table : array of shape (groups or more, W)
        Scratch.
    out : int array of shape (candidates,)
    """
    begin, end = slots[from_], slots[len(slots) - 1]
    width = end - begin
    whole = np.zeros(groups, np.int64)
    for g in range(groups):
        table[g, :width] = 0
    for i in range(len(labels)):
        weight = net[i]
        whole[labels[i]] += weight
        add_multiple(table[labels[i], :width], flags[i, begin:end], weight)
    for at in range(from_, len(slots) - 1):
        total = 0
        for g in range(groups):
            last = whole[g]
            for c in range(slots[at] - begin, slots[at + 1] - begin):
                last -= table[g, c]
                total += abs(table[g, c])
            total += abs(last)
        out[at] = total


@compiled
def extend(
    labels: Any,
    groups: int,
    begin: int,
    candidates: Any,
    codes: Any,
    cards: Any,
    net: Any,
    flags: Any,
    slots: Any,
    table: Any,
    out: Any,
) -> int:
    """:func:`agreement` with each candidate from ``begin`` on; how many pattern visits it took."""
    left = len(candidates) - begin
    if flags.shape[1] > 0 and groups <= len(table) and left > 0:
        agreements(labels, groups, flags, slots, begin, net, table, out)
        return len(net) * (1 + left // 8)
    for at in range(begin, len(candidates)):
        j = candidates[at]
        out[at] = agreement(labels, groups, codes[j], cards[j], net)
    return len(net) * left


@compiled
def enumerate_supports(
    size: int,
    chosen: Any,
    candidates: Any,
    twin: Any,
    codes: Any,
    cards: Any,
    net: Any,
    labels: Any,
    groups: Any,
    flags: Any,
    slots: Any,
    table: Any,
    unit: float,
    penalty: Any,
    limit: float,
    budget: int,
    out: Any,
    bounds: Any,
) -> Any:
    """Supports of ``size`` >= 1 candidates in lexicographic order, from where ``chosen`` stands.

    Only those whose bound stays below ``limit`` are written. The bound is what no classifier of
    the support's cells avoids, half of (all |net| - the cells' |net|), plus the least penalty.

    Parameters
    ----------
    chosen : int array of shape (size + 1,)
        Positions among the candidates, and last the depth; -1 and depth 0 to begin with.
    twin : int array of shape (p,)
        A column that must be in the support for this one to be; -1 for none.
    labels, groups : arrays of shape (size, m), (size,)
        Row 0 holds the groups by the forced columns.
    flags, slots, table
        See :func:`agreements`; ``flags`` without columns where they would be too many.
    penalty : ndarray of shape (p,)
        The least penalty of each column in the support.
    budget : int
        Pattern visits before pausing.
    out, bounds : arrays of shape (N, size), (N,)
        N at least twice the number of candidates.

    Returns
    -------
    (status, written, looked at)
    """
    last = size - 1
    weight = np.abs(net).sum()
    agreed = np.zeros(len(candidates), np.int64)
    written = 0
    spent = 0
    seen = 0
    depth = chosen[size]
    while depth >= 0:
        if written + len(candidates) > len(bounds) or spent > budget:
            chosen[size] = depth
            return PAUSED, written, seen
        if depth < last:
            chosen[depth] += 1
            at = chosen[depth]
            if at > len(candidates) - (size - depth):
                depth -= 1
                continue
            j = candidates[at]
            if not_alone(twin[j], candidates, chosen, depth):
                spent += len(net)
                groups[depth + 1] = refine(
                    labels[depth], groups[depth], codes[j], cards[j], labels[depth + 1]
                )
                depth += 1
                chosen[depth] = at
            continue
        begin = chosen[last] + 1
        spent += extend(
            labels[last],
            groups[last],
            begin,
            candidates,
            codes,
            cards,
            net,
            flags,
            slots,
            table,
            agreed,
        )
        before = 0.0
        for e in range(last):
            before += penalty[candidates[chosen[e]]]
        for at in range(begin, len(candidates)):
            j = candidates[at]
            if not_alone(twin[j], candidates, chosen, last):
                seen += 1
                bound = ((weight - agreed[at]) // 2) * unit + before + penalty[j]
                if bound < limit:
                    out[written, :last] = candidates[chosen[:last]]
                    out[written, last] = j
                    bounds[written] = bound
                    written += 1
        depth -= 1
    chosen[size] = depth
    return FINISHED, written, seen


@compiled
def not_alone(twin: int, candidates: Any, chosen: Any, depth: int) -> bool:
    """Whether a column's twin is among the first ``depth`` chosen ones, or it has none."""
    present = twin < 0
    for e in range(depth):
        present = present or candidates[chosen[e]] == twin
    return present
