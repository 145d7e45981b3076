"""Optima by enumeration, written from the definitions and sharing no code with the package."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

Rows = Sequence[Sequence[Fraction]]


@dataclass(frozen=True)
class Optimum:
    """The least objective and one card that has it."""

    objective: float
    w: tuple[int, ...]
    b: Fraction


def decimals(X: Iterable[Iterable[float]]) -> list[list[Fraction]]:
    """Floats as the decimals they print as."""
    return [[Fraction(repr(float(v))) for v in row] for row in X]


@functools.cache
def _whole_weights(s: tuple[float, ...]) -> tuple[list[int], int]:
    """Weights as whole numbers in a common unit, and their sum."""
    exact = list(map(Fraction, s))
    unit = math.lcm(*(w.denominator for w in exact))
    whole = [w.numerator * (unit // w.denominator) for w in exact]
    return whole, sum(whole)


def _scores(totals: Sequence[Fraction], b: Fraction, *others: Fraction) -> tuple[list[int], int]:
    """total + b as whole numbers over a common denominator, which divides ``others`` as well."""
    q = math.lcm(b.denominator, *(part.denominator for part in (*totals, *others)))
    shift = b.numerator * (q // b.denominator)
    return [t.numerator * (q // t.denominator) + shift for t in totals], q


def zero_one(
    totals: Sequence[Fraction], y: Sequence[int], s: Sequence[float], b: Fraction
) -> float:
    """Mean weight of rows where (total >= -b) and (y = 1) disagree."""
    weights, whole = _whole_weights(tuple(s))
    least = -b
    wrong = sum(w for t, c, w in zip(totals, y, weights, strict=True) if (t >= least) != (c == 1))
    return float(Fraction(wrong, whole))


def hinge(margin: float) -> Callable[..., float]:
    """Mean weighted max(0, margin - y (total + b)) / margin."""
    m = Fraction(repr(margin))

    def loss(
        totals: Sequence[Fraction], y: Sequence[int], s: Sequence[float], b: Fraction
    ) -> float:
        weights, whole = _whole_weights(tuple(s))
        scores, q = _scores(totals, b, m)
        most = m.numerator * (q // m.denominator)
        short = [max(0, most - int(c) * z) for z, c in zip(scores, y, strict=True)]
        lost = sum(w * row for w, row in zip(weights, short, strict=True))
        return float(Fraction(lost, most * whole))

    return loss


def logistic(scale: float) -> Callable[..., float]:
    """Mean weighted log(1 + exp(-y (total + b) / scale))."""

    def loss(
        totals: Sequence[Fraction], y: Sequence[int], s: Sequence[float], b: Fraction
    ) -> float:
        scores, q = _scores(totals, b)
        signed = [int(c) * z / q / scale for z, c in zip(scores, y, strict=True)]
        rows = [max(-z, 0.0) + math.log1p(math.exp(-abs(z))) for z in signed]
        return math.fsum(w * row for w, row in zip(s, rows, strict=True)) / math.fsum(s)

    return loss


def by_bisection(
    loss: Callable[..., float], y: Sequence[int], s: Sequence[float], reach: float = 60.0
) -> Callable[[Sequence[Fraction]], list[Fraction]]:
    """The real intercept where a smooth convex loss stops falling, up to 1e-12."""

    def intercepts(totals: Sequence[Fraction]) -> list[Fraction]:
        low, high = -reach, reach
        for _ in range(60):
            third = (high - low) / 3
            left, right = Fraction(low + third), Fraction(high - third)
            if loss(totals, y, s, left) <= loss(totals, y, s, right):
                high = float(right)
            else:
                low = float(left)
        return [Fraction((low + high) / 2)]

    return intercepts


def every_threshold(totals: Sequence[Fraction]) -> list[Fraction]:
    """Intercepts that realise every way to cut the totals, all-negative included."""
    return [-t for t in {*totals, max(totals) + 1}]


def whole_numbers(low: int, high: int) -> Callable[[Sequence[Fraction]], list[Fraction]]:
    """All whole intercepts of a range."""
    return lambda totals: [Fraction(b) for b in range(low, high + 1)]


def kinks(margin: float, y: Sequence[int]) -> Callable[[Sequence[Fraction]], list[Fraction]]:
    """Where a hinge loss can have its minimum over a real intercept."""
    m = Fraction(repr(margin))
    return lambda totals: [c * m - t for t, c in zip(totals, y, strict=True)]


def best_card(
    X: Rows,
    y: Sequence[int],
    s: Sequence[float],
    *,
    loss: Callable[..., float],
    values: Sequence[Sequence[int]],
    intercepts: Callable[[Sequence[Fraction]], list[Fraction]],
    penalty: Callable[[Sequence[int]], float] = lambda w: 0.0,
    max_terms: int | None = None,
    allowed: Callable[[Sequence[int], Fraction], bool] = lambda w, b: True,
) -> Optimum:
    """Enumerate every card."""
    best = Optimum(float("inf"), (), Fraction(0))
    for w in itertools.product(*values):
        if max_terms is not None and sum(v != 0 for v in w) > max_terms:
            continue
        totals = [sum((x * v for x, v in zip(row, w, strict=True)), Fraction(0)) for row in X]
        for b in intercepts(totals):
            if not allowed(w, b):
                continue
            objective = loss(totals, y, s, b) + penalty(w)
            if objective < best.objective - 1e-12:
                best = Optimum(objective, w, b)
    return best


COSTS: dict[str, Callable[[int], int]] = {
    "absolute": abs,
    "squared": lambda off: off**2,
    "zero_one": lambda off: int(off != 0),
}
"""What an answer so many levels off costs."""


def best_ordinal(
    X: Sequence[Sequence[float]],
    levels: Sequence[int],
    s: Sequence[float],
    cost: str,
    *,
    margin: float | None = None,
    spacing: int = 1,
    l0: float = 0.01,
    reach: int = 2,
    allowed: Callable[[Sequence[int]], object] = lambda w: True,
) -> float:
    """The least objective over points up to ``reach`` and all ordered thresholds, of whole data."""
    codes = [int(c) for c in levels]
    most, charge, best = max(codes) + 1, COSTS[cost], math.inf
    sides = [[abs(charge(c - k) - charge(c - k + 1)) for k in range(1, most)] for c in codes]
    whole = sum(each * sum(own) for own, each in zip(sides, s, strict=True))
    room = most * spacing + math.ceil(margin or 0)

    def lost(t: int, i: int, T: Sequence[int]) -> float:
        if margin is None:  # the cost of the answer itself
            return charge(codes[i] - sum(t >= each for each in T))
        return sum(
            side * max(0.0, margin - (1 if codes[i] >= k else -1) * (t - each)) / margin
            for k, (each, side) in enumerate(zip(T, sides[i], strict=True), 1)
        )

    for w in itertools.product(range(-reach, reach + 1), repeat=len(X[0])):
        if not allowed(w):
            continue
        totals = [sum(int(x) * v for x, v in zip(row, w, strict=True)) for row in X]
        places = range(min(totals) - room, max(totals) + room + 1)
        for T in itertools.combinations(places, most - 1):
            if all(b - a >= spacing for a, b in itertools.pairwise(T)):
                value = sum(
                    each * lost(t, i, T) for i, (t, each) in enumerate(zip(totals, s, strict=True))
                )
                best = min(best, value / whole + l0 * (sum(map(bool, w)) + most - 2))
    return best
