"""The compiled walk over the weights of one support, depth first, that can pause anywhere.

Import it where it is used, see :mod:`milpscore.solvers.tree._zero_one_kernels`.
"""

from __future__ import annotations

from typing import Any

from milpscore.core.jit import compiled
from milpscore.solvers.tree._zero_one_kernels import (
    FINISHED,
    FOUND,
    PAUSED,
    common_divisor,
    rest_of,
    shift_curves,
    sweep,
    window,
)

_SURELY = 1e-9
"""Error weights are whole units: so little below the limit is at the limit."""


@compiled
def dive(
    weights: Any,
    counts: Any,
    offset: Any,
    first: Any,
    value: Any,
    negative: Any,
    cell_label: Any,
    cell_net: Any,
    extremes: Any,
    curve_at: Any,
    stride: Any,
    curves: Any,
    least: Any,
    rest: Any,
    totals: Any,
    walk: Any,
    points: Any,
    tail: Any,
    l1: float,
    primitive: bool,
    t_low: int,
    t_high: int,
    unit: float,
    cutoff: float,
    budget: int,
    most_nodes: int,
) -> int:
    """Walk on until a card below ``cutoff`` is met, all are seen, or the budget is spent.

    A node's groups keep their order whatever is decided next, so the sum over them of the least
    errors any threshold of their own leaves is a bound; with all columns decided it is exact.

    Parameters
    ----------
    weights, counts : int arrays of shape (k, C), (k,)
        The nonzero weights of each column in the order they are decided.
    offset, first, value, negative, cell_label, cell_net
        See :func:`~milpscore.solvers.tree._zero_one_kernels.group_levels`.
    extremes : int array of shape (k, 2)
        Least and largest value of each column.
    curve_at, stride, curves
        Level d's curves (groups, stride) in one flat array; ``curves`` empty where totals span too
        much: bounds then come from sorting ``totals`` (k + 1, cells).
    least, rest : arrays
        Scratch per group.
    walk : int array of shape (5, k + 1)
        Next position, least total, curve length, divisor; last the level and the nodes so far.
    points, tail : ndarrays of shape (k + 1,)
        Sum of |w| decided before a level, and the least one of the columns from it on.
    cutoff : float
        Objective to beat, less the penalty of the support's terms and the unavoidable errors.
    budget, most_nodes : int
        Curve entries of this call, and nodes of all calls, before pausing.

    Returns
    -------
    FINISHED, FOUND (weights at the positions before ``walk[0]``), or PAUSED
    """
    k = len(counts)
    dense = len(curves) > 0
    spent = 0
    d = walk[4, 0]
    while d >= 0:
        if spent > budget or walk[4, 1] >= most_nodes:
            walk[4, 0] = d
            return PAUSED
        if walk[0, d] >= counts[d]:
            d -= 1
            continue
        weight = weights[d, walk[0, d]]
        walk[0, d] += 1
        divisor = common_divisor(walk[3, d], weight)
        leaf = d == k - 1
        if leaf and primitive and divisor > 1:
            continue
        size = points[d] + abs(weight)
        limit = (cutoff - l1 * (size + tail[d + 1])) / unit - _SURELY
        if limit <= 0.0:
            continue
        walk[4, 1] += 1
        here, new, end = offset[d], offset[d + 1], offset[d + 2]
        if dense:
            lowest = min(weight * extremes[d, 0], weight * extremes[d, 1])
            new_low = walk[1, d] + lowest
            new_length = walk[2, d] + abs(weight) * (extremes[d, 1] - extremes[d, 0])
            a, b = window(t_low, t_high, new_low, new_length) if leaf else (0, new_length - 1)
            errors = shift_curves(
                curves[curve_at[d] : curve_at[d + 1]].reshape((new - here, stride[d])),
                walk[2, d],
                value[here:new],
                first[new + d + 1 : end + d + 2],
                negative[new:end],
                rest[new:end],
                weight,
                lowest,
                curves[curve_at[d + 1] : curve_at[d + 2]].reshape((end - new, stride[d + 1])),
                new_length,
                a,
                b,
                limit,
                least[new:end],
            )
            walk[1, d + 1], walk[2, d + 1] = new_low, new_length
            spent += (end - new) * new_length
        else:
            for cell in range(len(cell_net)):
                totals[d + 1, cell] = totals[d, cell] + weight * value[here + cell_label[d, cell]]
            errors = sweep(
                totals[d + 1],
                cell_label[d + 1],
                cell_net,
                negative[new:end],
                t_low if leaf else -(1 << 60),
                t_high if leaf else 1 << 60,
                least[new:end],
            )
            spent += 16 * len(cell_net)
        if errors >= limit:
            continue
        if leaf:
            walk[4, 0] = d
            return FOUND
        d += 1
        walk[0, d] = 0
        walk[3, d] = divisor
        points[d] = size
        rest_of(
            least[new:end],
            first[offset[d + 1] + d + 1 : offset[d + 2] + d + 2],
            rest[offset[d + 1] : offset[d + 2]],
        )
    walk[4, 0] = -1
    return FINISHED
