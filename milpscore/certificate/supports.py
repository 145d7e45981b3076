"""Choices of two-valued columns whose cells do not reach a bound, from the engine's enumeration.

Cells of more columns lose less, so that the largest choices are enough: one that lies in none of
them reaches the bound, as the checker counts for itself. Columns that part the rows alike are one
class, and a choice is one of classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator

import numpy as np
from scipy.special import expit, xlogy

from milpscore.certificate.policy import POLICY
from milpscore.core.design import FloatArray, IntArray
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.relaxation import Node
from milpscore.solvers.trees.risk.support_bounds import Enumeration

Choice = frozenset[int]


class Missed(Enumeration):
    """The choices of classes whose cells lose less than a goal."""

    def __init__(self, arrays: Arrays, goal: float) -> None:
        super().__init__(arrays, Node.root(arrays))
        self.goal, self.choices = goal, set[Choice]()
        self.known: dict[Choice, bool] = {}
        if self.applies:
            self.charge[:] = 0.0  # without prices a larger choice loses less
            members = [(int(j), c) for c, own in enumerate(self.classes) for j in own]
            self.of_column = dict(members)

    def take(self, choices: IntArray, lost: FloatArray) -> Iterator[None]:
        """Keep those that the goal is above."""
        self.choices |= {choice for each in choices.tolist() if self.short(choice := Choice(each))}
        yield

    def listed(self, pause: Callable[[], None]) -> Generator[float, None, bool]:
        """List all choices, some work a step and a pause after it; return whether they are few."""
        while not self.advance(self.goal, self.work + POLICY.listing_slice):
            pause()
            yield POLICY.listing_slice
            if len(self.choices) > POLICY.most_missed:
                return False
        return self.floor > 0.0 and len(self.choices) <= POLICY.most_missed

    def short(self, choice: Choice) -> bool:
        """Return whether the cells of a choice lose less than the goal."""
        if choice not in self.known:
            sides = self._weigh(sorted(choice))
            lost = xlogy(sides, sides.sum(axis=0)).sum() - xlogy(sides, sides).sum()
            self.known[choice] = bool(lost < self.goal)
        return self.known[choice]

    def without(self, choices: set[Choice], c: int) -> set[Choice]:
        """Return the choices left without a class."""
        rest = {choice - {c} for choice in choices if c in choice}
        return {choice for choice in choices if c not in choice} | {
            choice for choice in rest if self.short(choice)
        }

    def frequent(self, choices: set[Choice], used: set[int]) -> int | None:
        """Return the class most choices have, of those not used yet; None if there is none."""
        counts = Counter(c for choice in choices for c in choice if c not in used)
        return min(counts, key=lambda c: (-counts[c], c)) if counts else None

    def weights(self, columns: IntArray) -> FloatArray:
        """Return the real weights on some columns that lose least, the intercept last."""
        a = self.arrays
        keys = self.cells(self.of_column[int(j)] for j in columns)
        _, first, cell = np.unique(keys, return_index=True, return_inverse=True)
        sides = [np.bincount(cell, w, len(first)) for w in (self.positive, self.negative)]
        both = sides[0] + sides[1]
        X = np.column_stack([a.X[first][:, columns], np.ones(len(first))])
        w = np.zeros(X.shape[1])
        for _ in range(POLICY.most_newton):
            risk = expit(X @ w)
            gradient, bend = X.T @ (both * risk - sides[0]), both * risk * (1.0 - risk)
            hessian = X.T @ (bend[:, None] * X) + POLICY.ridge * np.eye(len(w))
            step = np.linalg.solve(hessian, gradient)
            w -= step * min(1.0, POLICY.longest_step / max(float(np.abs(step).max()), 1e-300))
            if np.abs(step).max() < POLICY.newton_step:
                break
        return w
