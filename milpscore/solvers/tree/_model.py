"""The compiled kernels of the risk tree; they load numba, so import them where they are used."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.jit import compiled, inner

SWEEPS = 60
TRIALS = 40
"""Of the multiplier that keeps to the limit on terms."""

CLOSE = 1e-9
"""Sweeps end once no coordinate's derivative has moved by more."""


class Choices(NamedTuple):
    """What m coefficients may be: coefficient j is one of ``points[j, lo[j] : hi[j] + 1]``.

    ``points`` and ``table``, of shape (m, K), hold values and what a penalty charges for them;
    ``zero`` is the place of 0, and ``inside`` says which ones are terms already.
    """

    points: FloatArray
    table: FloatArray
    lo: IntArray
    hi: IntArray
    zero: IntArray
    inside: BoolArray


class Hulls(NamedTuple):
    """Convex envelopes of what m coefficients cost, each piecewise linear over its range.

    Hull j passes through (``knots[j, k]``, ``values[j, k]``) for k = 0..``last[j]`` and has slope
    ``slopes[j, k]`` behind knot k; arrays of shape (m, K). An undecided coefficient pays for being
    a term: its hull runs straight from 0 to ``ends[j]`` = (left, right), and |w| over that end is
    the share of a term it uses.
    """

    knots: FloatArray
    values: FloatArray
    slopes: FloatArray
    last: IntArray
    ends: FloatArray


def new_hulls(m: int, width: int) -> Hulls:
    """Room for the hulls of m coefficients of at most ``width`` choices."""
    return Hulls(
        np.zeros((m, width)),
        np.zeros((m, width)),
        np.zeros((m, width)),
        np.zeros(m, np.int64),
        np.zeros((m, 2)),
    )


@inner
def lay_hulls(choices: Any, kappa: float, hulls: Any) -> None:
    """Fill ``hulls`` for :class:`Choices` where an undecided nonzero coefficient pays ``kappa``."""
    points, table = choices.points, choices.table
    knots, values, slopes = hulls.knots, hulls.values, hulls.slopes
    for j in range(len(choices.lo)):
        lo, hi, zero = choices.lo[j], choices.hi[j], choices.zero[j]
        # a hull is the table itself from lo to left and from right to hi, and straight between 0
        # and these two; of a term it is all table, so that left = lo and right = lo leave no gap
        left, right, charge = lo, lo, 0.0
        if not choices.inside[j]:
            left, right, charge = zero, zero, kappa
            least = np.inf
            for k in range(zero + 1, hi + 1):
                cost = (table[j, k] + kappa) / points[j, k]
                if cost <= least:
                    least, right = cost, k
            least = np.inf
            for k in range(zero - 1, lo - 1, -1):
                cost = -(table[j, k] + kappa) / points[j, k]
                if cost <= least:
                    least, left = cost, k
        hulls.ends[j, 0], hulls.ends[j, 1] = points[j, left], points[j, right]
        last = -1
        for k in range(lo, hi + 1):
            if left < k < right and k != zero:
                continue
            last += 1
            knots[j, last] = points[j, k]
            values[j, last] = table[j, k] + (0.0 if k == zero else charge)
            if last > 0:
                rise = values[j, last] - values[j, last - 1]
                slopes[j, last - 1] = rise / (knots[j, last] - knots[j, last - 1])
        hulls.last[j] = last


@inner
def descend(gram: Any, grad: Any, w: Any, hulls: Any) -> None:
    """Coordinate descent on grad'd + d'gram d/2 + hulls; moves ``w``, and ``grad`` with it."""
    m = len(w)
    flattest = 1e-300
    for j in range(m):
        flattest = max(flattest, 1e-13 * gram[j, j])
    for _ in range(SWEEPS):
        worst = 0.0
        for j in range(m):
            h = max(gram[j, j], flattest)
            new = hulls.knots[j, 0]
            if hulls.last[j] > 0:
                # min h/2 (x - a)^2 + hull(x): the first piece whose right end slopes upwards
                a = w[j] - grad[j] / h
                k, beyond = 0, hulls.last[j] - 1
                while k < beyond:
                    middle = (k + beyond) // 2
                    if h * (hulls.knots[j, middle + 1] - a) + hulls.slopes[j, middle] >= 0.0:
                        beyond = middle
                    else:
                        k = middle + 1
                new = a - hulls.slopes[j, k] / h
                new = min(max(new, hulls.knots[j, k]), hulls.knots[j, k + 1])
            step = new - w[j]
            if step != 0.0:
                for i in range(m):
                    grad[i] += step * gram[j, i]
                w[j] = new
                worst = max(worst, abs(step) * h)
        if worst <= CLOSE:
            break


@compiled
def hull_cost(w: Any, inside: Any, hulls: Any) -> Any:
    """(sum of the hulls at w, sum of the undecided coefficients' shares of a term)."""
    total, used = 0.0, 0.0
    for j in range(len(w)):
        x = w[j]
        if not inside[j] and x != 0.0:
            used += min(1.0, x / hulls.ends[j, 1 if x > 0.0 else 0])
        k = 0
        while k < hulls.last[j] - 1 and hulls.knots[j, k + 1] < x:
            k += 1
        total += hulls.values[j, k]
        if hulls.last[j] > 0:
            total += hulls.slopes[j, k] * (x - hulls.knots[j, k])
    return total, used


@compiled
def solve_model(
    gram: Any, grad: Any, w: Any, choices: Any, hulls: Any, l0: float, budget: float, mu: float
) -> float:
    """Minimise grad'd + d'gram d/2 + hulls over w + d, using at most ``budget`` shares of terms.

    The limit on terms is priced by a multiplier, found by regula falsi from ``mu`` on. ``w`` and
    ``grad`` are moved to the minimiser, ``hulls`` are those of the multiplier, which is returned.
    """
    undecided = 0
    for j in range(len(w)):
        undecided += not choices.inside[j]
    if undecided <= budget:
        lay_hulls(choices, l0, hulls)
        descend(gram, grad, w, hulls)
        return 0.0
    # the multiplier lies in (low, high), where more and less than the budget is used
    low, used_low, high, used_high = 0.0, np.inf, np.inf, 0.0
    price = mu
    for _ in range(TRIALS):
        mu = price
        lay_hulls(choices, l0 + mu, hulls)
        descend(gram, grad, w, hulls)
        used = hull_cost(w, choices.inside, hulls)[1]
        if abs(used - budget) <= 1e-3 * max(budget, 0.1) or (mu == 0.0 and used <= budget):
            break
        if used > budget:
            low, used_low = mu, used
        else:
            high, used_high = mu, used
        if high < np.inf and high - low <= 1e-9 * high:
            break
        if high == np.inf:
            price = max(2.0 * mu, 1e-6)
        elif used_low == np.inf:
            price = 0.5 * mu if mu > 1e-9 else 0.0
        else:
            part = (used_low - budget) / (used_low - used_high)
            price = low + (high - low) * min(max(part, 0.1), 0.9)
    return mu


@compiled
def number_keys(keys: Any, table: Any, labels: Any, first: Any) -> int:
    """Number equal keys alike, in the order of their first places; returns how many there are.

    ``labels`` (n,) gets the numbers and ``first`` (n or more,) a place of each. ``table`` (2, a
    power of two above 2 n) is scratch: an open hash table of numbers, and of the keys they have.
    """
    mask = table.shape[1] - 1
    for slot in range(table.shape[1]):
        table[0, slot] = -1
    found = 0
    for i in range(len(keys)):
        key = keys[i]
        slot = ((key ^ (key >> 17) ^ (key >> 31)) * 40503) & mask
        while table[0, slot] >= 0 and table[1, slot] != key:
            slot = (slot + 1) & mask
        if table[0, slot] < 0:
            table[0, slot], table[1, slot] = found, key
            first[found] = i
            found += 1
        labels[i] = table[0, slot]
    return found
