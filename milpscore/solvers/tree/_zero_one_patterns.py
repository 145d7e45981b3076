"""The distinct rows of a 0-1 problem, its weights in whole units, and what its columns allow."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.grid import common_step
from milpscore.solvers.tree._zero_one_problem import ZeroOneProblem

_EXACT = 1 << 53
_UNITS = 1 << 44
"""Weights on no grid are rounded down to the 2^-44th part of their sum: bounds stay below."""

_MOST_DIVIDED = 1000
_MOST = 1 << 60


class Patterns:
    """A problem seen by its distinct rows x.

    Attributes
    ----------
    X : int64 ndarray of shape (m, p)
        Distinct rows whose classes do not cancel.
    net : int32 or int64 ndarray of shape (m,)
        Positive minus negative weight of each, in units.
    base : int
        The units any card errs on: rows of both classes.
    unit : float
        The share of all weight that one unit is.
    codes : int32 ndarray of shape (p, m)
        Each column's values by number.
    cards : int64 ndarray of shape (p,)
        How many values each column takes.
    values : int64 ndarray of shape (p, max cards)
    points : list of int64 ndarray
        The nonzero values each coefficient may take.
    forced, candidates : int64 ndarrays
        Columns that cannot be 0; others that may help.
    twin : int64 ndarray of shape (p,)
        An equal or mirrored column without which this one is never needed; -1 for none.
    primitive : bool
        Whether some best card has weights without a common divisor.
    penalty : float64 ndarray of shape (p,)
        The least penalty of each column once it is used.
    """

    def __init__(self, problem: ZeroOneProblem) -> None:
        self.problem = problem
        self._merge_rows()
        self._number_values()
        self._read_choices()
        free = problem.accept is None
        self.every_cut = free and self._has_every_cut()
        self.candidates = self._find_candidates()
        self.twin = self._find_twins()
        self.primitive = free and self._is_divisible()

    def smallest_card(self) -> IntArray:
        """The card of fewest and smallest points, shape (p,)."""
        w = np.zeros(len(self.points), dtype=np.int64)
        for j in self.forced.tolist():
            w[j] = min(self.points[j].tolist(), key=abs)
        return w

    @property
    def forced_penalty(self) -> float:
        """The least penalty of the columns that cannot be 0."""
        return float(self.penalty[self.forced].sum())

    def objective(self, units: int, w: IntArray) -> float:
        """The objective of a card that errs on so many units."""
        problem = self.problem
        penalty = problem.l0_penalty * np.count_nonzero(w) + problem.l1_penalty * np.abs(w).sum()
        return units * self.unit + float(penalty)

    def _merge_rows(self) -> None:
        """Distinct rows with whole weights; those whose classes cancel only raise ``base``."""
        problem = self.problem
        X = np.ascontiguousarray(problem.X, dtype=np.int64)
        counts, self.unit = _whole_units(problem.weight)
        if X.shape[1]:
            X, inverse = np.unique(X, axis=0, return_inverse=True)
        else:
            X, inverse = X[:1], np.zeros(len(X), dtype=np.int64)
        positive, negative = np.zeros(len(X), np.int64), np.zeros(len(X), np.int64)
        np.add.at(positive, inverse.ravel(), np.where(problem.y > 0, counts, 0))
        np.add.at(negative, inverse.ravel(), np.where(problem.y < 0, counts, 0))
        self.base = int(np.minimum(positive, negative).sum())
        net = positive - negative
        kept = net != 0
        kept[0] |= not kept.any()  # nothing is left to decide: one row of no weight stands for it
        small = int(np.abs(net).sum()) < np.iinfo(np.int32).max
        self.X = X[kept]
        self.net = net[kept].astype(np.int32 if small else np.int64)

    def _number_values(self) -> None:
        """Codes of the columns' values."""
        m, p = self.X.shape
        self.codes = np.zeros((p, m), dtype=np.int32)
        taken = []
        for j in range(p):
            distinct, code = np.unique(self.X[:, j], return_inverse=True)
            self.codes[j] = code
            taken.append(distinct)
        self.cards = np.array([len(distinct) for distinct in taken], dtype=np.int64)
        self.values = np.zeros((p, int(self.cards.max(initial=0))), dtype=np.int64)
        for j, distinct in enumerate(taken):
            self.values[j, : len(distinct)] = distinct

    def _read_choices(self) -> None:
        """Nonzero points, forced columns, and what each column costs at least."""
        problem = self.problem
        choices = [problem.choices(j) for j in range(problem.X.shape[1])]
        self.points = [values[values != 0] for values in choices]
        self.forced = np.array([j for j, v in enumerate(choices) if 0 not in v], dtype=np.int64)
        smallest = [float(np.abs(values).min(initial=_MOST)) for values in self.points]
        self.penalty = problem.l0_penalty + problem.l1_penalty * np.array(smallest, dtype=float)

    def _has_every_cut(self) -> bool:
        """Whether the bounds on T leave out no cut of any allowed totals that can be best."""
        low, high = self.problem.threshold_range
        if self.problem.t_lower is None and self.problem.t_upper is None:
            return True
        smallest, largest = self._extreme_totals()
        least = int(smallest[self.net > 0].min(initial=0))
        most = int(largest[self.net < 0].max(initial=0)) + 1
        return low <= least and high >= most

    def _extreme_totals(self) -> tuple[IntArray, IntArray]:
        """The least and the largest total of each pattern over the allowed cards."""
        forced = np.zeros(len(self.points), dtype=bool)
        forced[self.forced] = True
        spare = max(self.problem.terms - len(self.forced), 0)
        ends = np.array([[v.min(initial=0), v.max(initial=0)] for v in self.points], dtype=np.int64)
        for j in self.forced.tolist():
            ends[j] = self.points[j][[0, -1]]
        if not len(ends):
            return np.zeros(len(self.X), np.int64), np.zeros(len(self.X), np.int64)
        both = np.stack([self.X * ends[:, 0], self.X * ends[:, 1]])

        def extreme(contribution: IntArray) -> IntArray:
            optional = np.sort(np.maximum(contribution[:, ~forced], 0), axis=1)
            best = optional[:, max(optional.shape[1] - spare, 0) :].sum(axis=1)
            total: IntArray = best + contribution[:, forced].sum(axis=1)
            return total

        return -extreme(-both.min(axis=0)), extreme(both.max(axis=0))

    def _find_candidates(self) -> IntArray:
        """Columns that may be 0, may be something else, and do not only move the threshold."""
        forced = set(self.forced.tolist())
        kept = []
        for j, points in enumerate(self.points):
            moot = self.cards[j] <= 1 and (
                self.every_cut or (self.problem.accept is None and not self.values[j].any())
            )
            if j not in forced and len(points) and not moot:
                kept.append(j)
        return np.array(kept, dtype=np.int64)

    def _find_twins(self) -> IntArray:
        """For each candidate the previous one that is equal, shifted or mirrored, with its points.

        Swapping the two then only moves the threshold, so supports with the later one alone are
        left out.
        """
        twin = np.full(len(self.points), -1, dtype=np.int64)
        if not self.every_cut:
            return twin
        seen: dict[Any, int] = {}
        for j in self.candidates.tolist():
            column = self.X[:, j] - self.X[:, j].min()
            mirrored = column.max() - column
            points = self.points[j]
            keys = [(column.tobytes(), points.tobytes())]
            keys.append((mirrored.tobytes(), np.ascontiguousarray(-points[::-1]).tobytes()))
            key = min(keys)
            twin[j] = seen.get(key, -1)
            seen[key] = j
        return twin

    def _is_divisible(self) -> bool:
        """Whether a card divided by a common divisor of its weights always stays allowed."""
        low, high = self.problem.threshold_range
        if low > 1 or high < 0:
            return False
        for points in self.points:
            if not len(points):
                continue
            largest = int(np.abs(points).max())
            if largest > _MOST_DIVIDED:
                return False
            for g in range(2, largest + 1):
                if not np.isin(points[points % g == 0] // g, points).all():
                    return False
        return True


def _whole_units(weight: FloatArray) -> tuple[IntArray, float]:
    """Weights as whole numbers of a unit, and the share of their sum that the unit is.

    Exact where the weights lie on a grid; else rounded down by less than a unit each.
    """
    total = math.fsum(weight)
    step = common_step(weight)
    if step is not None:
        counts = np.rint(weight * (step.denominator / step.numerator)).astype(np.int64)
        if float(total) / float(step) < _EXACT:
            return counts, float(step / Fraction(total))
    return np.floor(weight / total * _UNITS).astype(np.int64), 1.0 / _UNITS
