"""Tiny risk problems, their optima by trying every card, and a replay of a search's evidence."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.losses import Logistic, Poisson, Probit, SmoothedHinge, Squared, SquaredHinge
from milpscore.penalties import (
    EYE,
    L1,
    L2,
    OWL,
    ElasticNet,
    WeightedL1,
)
from milpscore.penalties.cards import IntegerFacets
from milpscore.solvers.tree import Step, TreeProblem

LOSSES: list[Any] = [
    Logistic(),
    Squared(),
    Poisson(),
    SquaredHinge(),
    SmoothedHinge(0.5),
    Probit(),
]
PENALTIES = ["none", "l1", "l2", "elastic", "weighted", "facets", "eye", "eye_fraction", "owl"]


def penalty_of(name: str, p: int, rng: np.random.Generator) -> Any:
    """A penalty by name, its weight random."""
    lam = float(rng.choice([0.003, 0.03, 0.3]))
    return {
        "none": lambda: None,
        "l1": lambda: L1(lam),
        "l2": lambda: L2(lam),
        "elastic": lambda: ElasticNet(lam, l1_ratio=0.5),
        "weighted": lambda: WeightedL1(lam, weights=rng.uniform(0.1, 2.0, p)),
        "facets": lambda: IntegerFacets(lam),
        "eye": lambda: EYE(lam, expert=rng.integers(0, 2, p).astype(float)),
        "eye_fraction": lambda: EYE(lam, expert=rng.uniform(0.0, 1.0, p)),
        "owl": lambda: OWL(lam, weights=np.sort(rng.uniform(0.1, 2.0, p))[::-1]),
    }[name]()


def random_problem(seed: int, **forced: Any) -> TreeProblem:
    """One of many kinds of tiny problems: losses, penalties, ranges, sets, intercepts, weights."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(1, 5)), int(rng.integers(3, 15))
    loss = forced.pop("loss", LOSSES[seed % len(LOSSES)])
    X = rng.integers(0, 2, (n, p)) if rng.random() < 0.5 else rng.integers(-2, 4, (n, p))
    y = rng.integers(0, 4, n) if loss.task == "count" else rng.choice([-1, 1], n)
    lower, upper = -rng.integers(0, 4, p), rng.integers(0, 4, p)
    if rng.random() < 0.1:
        lower[0], upper[0] = 1, 3
    sets = {0: (-4, -1, 0, 2)} if rng.random() < 0.15 else {}
    if rng.random() < 0.05:
        sets = {0: (-2, 3)}
    kind = int(rng.integers(0, 4))
    intercept: dict[str, Any] = [
        {"b_lower": 0.0, "b_upper": 0.0},
        {"b_lower": -4.0, "b_upper": 3.0, "b_step": 1.0},
        {"b_lower": -2.3, "b_upper": 3.0},
        {"b_lower": -1.2, "b_upper": 2.0, "b_step": 0.5},
    ][kind]
    penalty = PENALTIES[int(rng.integers(len(PENALTIES)))]
    values: dict[str, Any] = {
        "X": X.astype(float),
        "y": y.astype(float),
        "loss": loss,
        "lower": lower,
        "upper": upper,
        "sample_weight": rng.uniform(0.0, 2.0, n) if rng.random() < 0.4 else None,
        "sets": sets,
        "max_terms": int(rng.integers(0 if lower[0] <= 0 and not sets else 1, p + 1))
        if rng.random() < 0.7
        else None,
        "l0_penalty": float(rng.choice([0.0, 1e-6, 0.01, 0.1])),
        "penalty": penalty_of(penalty, p, rng),
        "scale": float(rng.choice([1.0, 1.0, 2.5])),
        **intercept,
    }
    return TreeProblem(**{**values, **forced})


TIGHT: dict[str, Any] = {"gap_abs": 1e-10, "gap_rel": 0.0}
"""A search to the optimum."""


def hard_problem() -> TreeProblem:
    """A problem of some hundred nodes."""
    rng = np.random.default_rng(0)
    X = (rng.random((80, 12)) < 0.4).astype(float)
    X[:, 1] = X[:, 0] * (rng.random(80) < 0.8)
    y = np.where(X @ rng.normal(size=12) + rng.normal(size=80) * 2 > 0.5, 1.0, -1.0)
    return TreeProblem(
        X=X,
        y=y,
        loss=Logistic(),
        lower=np.full(12, -4),
        upper=np.full(12, 4),
        max_terms=4,
        l0_penalty=1e-3,
        b_lower=-20.0,
        b_upper=20.0,
        b_step=1.0,
    )


def value_at(problem: TreeProblem, w: np.ndarray, b: float) -> float:
    """A card's objective, from the rows as given."""
    weight = problem.sample_weight
    weight = np.ones(len(problem.y)) if weight is None else weight
    z = (problem.X @ w + b) / problem.scale
    value = float(weight @ problem.loss.value(z, problem.y) / weight.sum())
    value += problem.l0_penalty * int(np.count_nonzero(w))
    return value + (0.0 if problem.penalty is None else float(problem.penalty.value(w)))


def values_of(problem: TreeProblem, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Objectives of V cards, w of shape (V, p) and b of shape (V,), from the rows as given."""
    weight = problem.sample_weight
    weight = np.ones(len(problem.y)) if weight is None else weight
    z = (problem.X @ w.T + b) / problem.scale
    y = np.broadcast_to(problem.y[:, None], z.shape)
    value = weight @ problem.loss.value(z, y) / weight.sum()
    value += problem.l0_penalty * np.count_nonzero(w, axis=1)
    if problem.penalty is not None:
        value += np.array([problem.penalty.value(row) for row in w])
    return np.asarray(value)


def best_real(problem: TreeProblem, w: np.ndarray) -> np.ndarray:
    """The best real intercept of each w by ternary search: the objective is convex in it."""
    low, high = np.full(len(w), problem.b_lower), np.full(len(w), problem.b_upper)
    for _ in range(90):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        fall = values_of(problem, w, left) <= values_of(problem, w, right)
        low, high = np.where(fall, low, left), np.where(fall, right, high)
    return 0.5 * (low + high)


def brute(problem: TreeProblem) -> float:
    """The least objective of all accepted cards, infinite where there is none."""
    choices = [problem.choices(j) for j in range(problem.X.shape[1])]
    w = np.array(list(itertools.product(*choices)), dtype=np.int64)
    w = w[np.count_nonzero(w, axis=1) <= problem.terms]
    if not len(w):
        return np.inf
    low, high = problem.intercepts()
    if problem.b_step is None and low < high:
        b = best_real(problem, w)
    else:
        step = problem.b_step or 1.0
        grid = low + step * np.arange(round((high - low) / step) + 1)
        w, b = np.repeat(w, len(grid), axis=0), np.tile(grid, len(w))
    values = values_of(problem, w, b)
    if problem.accept is not None:
        fine = [problem.accept(row, float(at)) for row, at in zip(w, b, strict=True)]
        values = np.where(fine, values, np.inf)
    return float(values.min())


@dataclass
class Box:
    """What a node still allows, value by value, and its last line (constant, slope, slope_b)."""

    values: list[list[int]]
    inside: list[bool]
    b: list[float]
    line: tuple[float, np.ndarray, float] | None = None

    def least(self, problem: TreeProblem) -> float:
        """The least of the line plus l0 and a separable penalty over the node's cards."""
        assert self.line is not None
        constant, slope, slope_b = self.line
        if not self.b or not all(self.values) or sum(self.inside) > problem.terms:
            return np.inf
        total = constant + min(slope_b * b for b in self.b)
        optional = []
        for j, values in enumerate(self.values):
            unit = np.zeros(len(self.values))
            costs = []
            for v in values:
                unit[j] = v
                cost = slope[j] * v
                cost += 0.0 if problem.penalty is None else problem.penalty.value(unit)
                costs.append(cost + problem.l0_penalty * (self.inside[j] or v != 0))
            if self.inside[j]:
                total += min(costs)
            else:
                optional.append(min(costs))
        chosen = sorted(optional)[: problem.terms - sum(self.inside)]
        return float(total + sum(min(cost, 0.0) for cost in chosen))

    def forced(self, **changes: Any) -> Box:
        """A copy with some parts replaced."""
        box = copy.deepcopy(self)
        for name, value in changes.items():
            setattr(box, name, value)
        return box

    def tighten(self, problem: TreeProblem, cutoff: float) -> bool:
        """Drop every value whose cards reach the cutoff; whether anything is left."""
        while self.least(problem) < cutoff:
            before = (copy.deepcopy(self.values), list(self.inside), list(self.b))
            self.b = [b for b in self.b if self.forced(b=[b]).least(problem) < cutoff]
            for j in range(len(self.values)):
                self.values[j] = [
                    v for v in self.values[j] if self._with(j, v).least(problem) < cutoff
                ]
                self.inside[j] = self.inside[j] or 0 not in self.values[j]
            if before == (self.values, self.inside, self.b):
                return True
        return False

    def _with(self, j: int, v: int) -> Box:
        values, inside = list(self.values), list(self.inside)
        values[j], inside[j] = [v], inside[j] or v != 0
        return self.forced(values=values, inside=inside)


def line_at(problem: TreeProblem, w: np.ndarray, b: float) -> tuple[float, np.ndarray, float]:
    """The tangent of the mean loss at (w, b), from the rows as given."""
    weight = problem.sample_weight
    weight = np.ones(len(problem.y)) if weight is None else weight
    share = weight / weight.sum() / problem.scale
    z = (problem.X @ w + b) / problem.scale
    u = share * problem.loss.gradient(z, problem.y)
    value = float((share * problem.scale) @ problem.loss.value(z, problem.y))
    slope, slope_b = problem.X.T @ u, float(u.sum())
    return float(value - slope @ w - slope_b * b), slope, slope_b


def replay(problem: TreeProblem, steps: list[Step], cutoff: float) -> int:
    """Check that the steps prove: no card is below ``cutoff``; returns how many nodes they close.

    Independent of the search: rows, lines, bounds and fixings are computed anew, the slow way.
    """
    p = problem.X.shape[1]
    low, high = problem.intercepts()
    step = problem.b_step or 1.0
    root = Box(
        [[int(v) for v in problem.choices(j)] for j in range(p)],
        [0 not in problem.choices(j) for j in range(p)],
        [low + step * k for k in range(round((high - low) / step) + 1)],
    )
    boxes: dict[int, Box] = {-1: root}
    parts: dict[int, list[tuple[int, list[float]]]] = {}
    closed = 0
    for item in steps:
        box = copy.deepcopy(boxes[item.parent])
        if item.feature >= 0:
            kept = [v for v in box.values[item.feature] if item.lower <= v <= item.upper]
            parts.setdefault(item.parent, []).append((item.feature, list(kept)))
            box.values[item.feature] = kept
            box.inside[item.feature] |= item.inside
        elif item.feature == -1:
            box.b = [b for b in box.b if item.lower <= b <= item.upper]
            parts.setdefault(item.parent, []).append((-1, box.b))
        alive = box.line is None or box.tighten(problem, cutoff)
        for point in item.points:
            w = np.zeros(p)
            w[point.columns] = point.values
            box.line = line_at(problem, w, point.b)
            alive = alive and box.tighten(problem, cutoff)
        boxes[item.node] = box
        closed += item.outcome == "bound"
        assert item.outcome in {"split", "bound", "card"}
        assert item.outcome != "bound" or not alive
        if item.outcome == "card" and alive:
            w = np.array([values[0] for values in box.values])
            assert all(len(values) == 1 for values in (*box.values, box.b))
            assert value_at(problem, w, box.b[0]) >= cutoff
    for item in steps:
        if item.outcome == "split":
            box = boxes[item.node]
            feature = parts[item.node][0][0]
            whole = box.b if feature < 0 else box.values[feature]
            assert {v for _, kept in parts[item.node] for v in kept} >= set(whole)
            assert {at for at, _ in parts[item.node]} == {feature}
    return closed
