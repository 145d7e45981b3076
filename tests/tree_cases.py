"""Tiny statements for the trees, and their optima by trying every card."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from designs import design

from milpscore.core.card import Card
from milpscore.core.statement import InterceptRule, Statement
from milpscore.losses import (
    Logistic,
    Poisson,
    Probit,
    RiskLoss,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)
from milpscore.penalties import EYE, L0, L1, L2, OWL, ElasticNet, WeightedL1
from milpscore.penalties.points import IntegerFacets
from milpscore.solvers.trees.risk import tree as risk
from milpscore.solvers.trees.shared.answer import Answer, Limits

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


class Term:
    """A penalty of a statement, under the argument name ``lam``."""

    name, lam = "lam", 1.0

    def __init__(self, base: Any) -> None:
        self.base = base
        self.value = base.value


class Rule:
    """A requirement of cards (w, b), and what it says of features that are surely out."""

    name = key = "rule"
    limits_answers = True
    limits = ()

    def __init__(
        self,
        accept: Callable[[Any, float], bool],
        possible: Callable[[Collection[int]], bool] = lambda out: True,
    ) -> None:
        self.accept, self.possible = accept, possible

    def violation(self, statement: Statement, card: Card) -> str:
        fine = self.accept(card.coefficients, float(card.intercept))
        return "" if fine else "it breaks the rule"

    def allows(self, points: Any) -> Any:
        return np.ones(len(points), dtype=bool)

    def allows_support(self, included: Collection[int], excluded: Collection[int]) -> bool:
        return self.possible(excluded)

    def allows_answers(self, positive: Any) -> Any:
        return np.ones(positive.shape[1], dtype=bool)

    def allows_cuts(self, cuts: Any) -> Any:
        return np.ones(len(cuts), dtype=bool)

    def tightened(self, lower: Any, upper: Any) -> Any:
        return lower, upper

    def narrowed(self, reach: Any) -> Any:
        return reach

    def excess(self, points: Any) -> Any:
        return np.zeros(len(points))


def with_sets(problem: Any) -> tuple[Any, Any]:
    """The ranges of a problem, sets included."""
    lower, upper = (np.array(each, dtype=np.int64) for each in (problem.lower, problem.upper))
    for j, values in problem.sets.items():
        lower[j], upper[j] = min(values, default=0), max(values, default=0)
    return lower, upper


@dataclass(frozen=True, eq=False)
class Problem:
    """What a statement under a smooth loss is made of; y -1 or +1."""

    X: Any
    y: Any
    loss: Any
    lower: Any
    upper: Any
    sample_weight: Any = None
    sets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    max_terms: int | None = None
    l0_penalty: float = 0.0
    penalty: Any = None
    scale: float = 1.0
    b_lower: float = 0.0
    b_upper: float = 0.0
    b_step: float | None = None
    rule: Rule | None = None

    @property
    def terms(self) -> int:
        p = int(self.X.shape[1])
        return p if self.max_terms is None else min(self.max_terms, p)

    @property
    def answers(self) -> Any:
        return RiskLoss(self.loss, 1.0).answers(self.y.astype(np.int64))

    @property
    def statement(self) -> Statement:
        step = None if self.b_step is None else Fraction(self.b_step)
        penalty = () if self.penalty is None else (Term(self.penalty),)
        zero = self.b_lower == self.b_upper == 0
        lower, upper = with_sets(self)
        return Statement(
            formulation="test",
            design=design(self.X, self.y, self.sample_weight),
            loss=RiskLoss(self.loss, self.scale),
            penalties=(L0(self.l0_penalty), *penalty),
            coef_min=lower,
            coef_max=upper,
            intercept=InterceptRule(
                "zero" if zero else "real" if step is None else "integer",
                Fraction(str(self.b_lower)),
                Fraction(str(self.b_upper)),
                Fraction(1) if zero else step,
            ),
            coef_sets={j: tuple(sorted(values)) for j, values in self.sets.items()},
            max_terms=self.max_terms,
            constraints=() if self.rule is None else (self.rule,),
        )

    def choices(self, j: int) -> Any:
        values = self.sets.get(j, range(int(self.lower[j]), int(self.upper[j]) + 1))
        return np.array(sorted(values), dtype=np.int64)

    def intercepts(self) -> tuple[float, float]:
        rule = self.statement.intercept
        return float(rule.nearest(rule.lower)), float(rule.nearest(rule.upper))


def search(problem: Problem, start: Any = None, listener: Any = None, jobs: int = 1,
           gap_rel: float = 1e-6, **limits: Any) -> Answer:  # fmt: skip
    """The risk tree's answer to a problem; a start is (w, b)."""
    card = None if start is None else Card(start[0], start[1])
    listeners = () if listener is None else (listener,)
    return risk.search(problem.statement, Limits(gap_rel=gap_rel, **limits), start=card,
                       listeners=listeners, jobs=jobs)  # fmt: skip


def card_of(answer: Answer) -> tuple[Any, float]:
    """The coefficients and the intercept found."""
    assert answer.card is not None
    return answer.card.coefficients, float(answer.card.intercept)


def random_problem(seed: int, **forced: Any) -> Problem:
    """One of many kinds of tiny problems: losses, penalties, ranges, sets, intercepts, weights."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(1, 5)), int(rng.integers(3, 15))
    loss = forced.pop("loss", LOSSES[seed % len(LOSSES)])
    X = rng.integers(0, 2, (n, p)) if rng.random() < 0.5 else rng.integers(-2, 4, (n, p))
    y = rng.choice([-1, 1], n)
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
        "y": y,
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
    return Problem(**{**values, **forced})


TIGHT: dict[str, Any] = {"gap_abs": 1e-10, "gap_rel": 0.0}
"""A search to the optimum."""


def hard_problem() -> Problem:
    """A problem of some hundred nodes."""
    rng = np.random.default_rng(0)
    X = (rng.random((80, 12)) < 0.4).astype(float)
    X[:, 1] = X[:, 0] * (rng.random(80) < 0.8)
    y = np.where(X @ rng.normal(size=12) + rng.normal(size=80) * 2 > 0.5, 1, -1)
    return Problem(
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


def value_at(problem: Problem, w: np.ndarray, b: float) -> float:
    """A card's objective, from the rows as given."""
    weight = problem.sample_weight
    weight = np.ones(len(problem.y)) if weight is None else weight
    z = (problem.X @ w + b) / problem.scale
    value = float(weight @ problem.loss.value(z, problem.answers) / weight.sum())
    value += problem.l0_penalty * int(np.count_nonzero(w))
    return value + (0.0 if problem.penalty is None else float(problem.penalty.value(w)))


def values_of(problem: Problem, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Objectives of V cards, w of shape (V, p) and b of shape (V,), from the rows as given."""
    weight = problem.sample_weight
    weight = np.ones(len(problem.y)) if weight is None else weight
    z = (problem.X @ w.T + b) / problem.scale
    y = np.broadcast_to(problem.answers[:, None], z.shape)
    value = weight @ problem.loss.value(z, y) / weight.sum()
    value += problem.l0_penalty * np.count_nonzero(w, axis=1)
    if problem.penalty is not None:
        value += np.array([problem.penalty.value(row) for row in w])
    return np.asarray(value)


def best_real(problem: Problem, w: np.ndarray) -> np.ndarray:
    """The best real intercept of each w by ternary search: the objective is convex in it."""
    low, high = np.full(len(w), problem.b_lower), np.full(len(w), problem.b_upper)
    for _ in range(90):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        fall = values_of(problem, w, left) <= values_of(problem, w, right)
        low, high = np.where(fall, low, left), np.where(fall, right, high)
    return 0.5 * (low + high)


def brute(problem: Problem) -> float:
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
    if problem.rule is not None:
        fine = [problem.rule.accept(row, float(at)) for row, at in zip(w, b, strict=True)]
        values = np.where(fine, values, np.inf)
    return float(values.min())


def set_policy(patch: pytest.MonkeyPatch, module: Any, name: str = "POLICY", **fields: Any) -> None:
    """Tune a search otherwise, until the test ends."""
    patch.setattr(module, name, replace(getattr(module, name), **fields))
