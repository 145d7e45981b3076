"""Tiny instances with constraints, and their optima by enumeration in plain whole numbers.

What a constraint means is written here once more, from its words, sharing no code with the package.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore import constraints as c
from milpscore.core.design import Column, Design

Points = Callable[[Any], bool]
Errors = Callable[[Any], Any]


@dataclass(frozen=True)
class Rule:
    """A constraint and what it means: of points w, and of wrong rows (..., n)."""

    constraint: c.Constraint
    points: Points = lambda w: True
    errors: Errors = lambda wrong: np.ones(wrong.shape[:-1], dtype=bool)


def labels(rng: np.random.Generator, n: int) -> Any:
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[0], y[1] = 1, -1
    return y.astype(np.int64)


def plain(rng: np.random.Generator, n: int = 9) -> Design:
    """Feature A as two cuts, B and C as numbers; repeated and contradicting rows, weights."""
    a, b = rng.integers(0, 3, n), rng.integers(-1, 3, n)
    third = rng.integers(0, 2, n)
    X = np.column_stack([a >= 1, a >= 2, b, third]).astype(float)
    X[n - 2 :] = X[:2]
    columns = (
        Column("A >= 1", "A", "step", 1),
        Column("A >= 2", "A", "step", 2),
        Column("B", "B"),
        Column("C", "C"),
    )
    return Design(X, labels(rng, n), rng.integers(1, 4, n).astype(float), columns)


def binned(rng: np.random.Generator, n: int = 9) -> Design:
    """Three bins of A, two of B."""
    a, b = rng.integers(0, 3, n), rng.integers(0, 2, n)
    a[:3], b[:2] = (0, 1, 2), (0, 1)
    X = np.hstack([np.eye(3)[a], np.eye(2)[b]])
    columns = [Column(f"A{k}", "A", "interval", k, k + 1) for k in range(3)]
    columns += [Column(f"B{k}", "B", "interval", k, k + 1) for k in range(2)]
    weight = rng.integers(1, 4, n).astype(float)
    return Design(X, labels(rng, n), weight, tuple(columns), ((0, 1, 2), (3, 4)))


def groups(d: Design) -> dict[str, list[int]]:
    """Columns of every name, features included."""
    found = {column.name: [j] for j, column in enumerate(d.columns)}
    for column in d.columns:
        own = [j for j, other in enumerate(d.columns) if other.feature == column.feature]
        found.setdefault(column.feature, own)
    return found


def used(w: Any, group: list[int]) -> bool:
    return any(w[j] != 0 for j in group)


def some(rng: np.random.Generator, names: list[str], most: int = 3) -> list[str]:
    size = int(rng.integers(1, min(most, len(names)) + 1))
    return [str(name) for name in rng.choice(names, size=size, replace=False)]


def make_sign(rng: np.random.Generator, d: Design) -> Rule:
    g = groups(d)
    names, sign = some(rng, list(g)), str(rng.choice(["positive", "-"]))
    way = 1 if sign == "positive" else -1
    own = [j for name in names for j in g[name]]
    return Rule(c.Sign(names, sign), lambda w: all(way * w[j] >= 0 for j in own))


def make_range(rng: np.random.Generator, d: Design) -> Rule:
    g = groups(d)
    names = some(rng, list(g), 2)
    low = int(rng.integers(-2, 2))
    high = int(rng.integers(low, 3))
    own = [j for name in names for j in g[name]]
    if rng.random() < 0.3:
        return Rule(c.Range(names, upper=high), lambda w: all(w[j] <= high for j in own))
    return Rule(c.Range(names, low, high), lambda w: all(low <= w[j] <= high for j in own))


def make_exclude(rng: np.random.Generator, d: Design) -> Rule:
    g = groups(d)
    names = some(rng, list(g), 2)
    return Rule(c.Exclude(names), lambda w: not any(used(w, g[name]) for name in names))


def make_include(rng: np.random.Generator, d: Design) -> Rule:
    g = groups(d)
    names = some(rng, list(g), 2)
    return Rule(c.Include(names), lambda w: all(used(w, g[name]) for name in names))


def counting(kind: Any, fits: Callable[[int, int], bool]) -> Any:
    def make(rng: np.random.Generator, d: Design) -> Rule:
        g = groups(d)
        names: Any = some(rng, list(g), 4)
        own = [g[name] for name in names]
        if rng.random() < 0.3:
            names, own = "A", [[j] for j in g["A"]]
        k = int(rng.integers(0, len(own) + 1))
        return Rule(kind(k, names), lambda w: fits(sum(used(w, group) for group in own), k))

    return make


def make_either(rng: np.random.Generator, d: Design) -> Rule:
    g = groups(d)
    first, second = some(rng, list(g), 2), some(rng, list(g), 2)
    neither, both = [(False, False), (True, False), (False, True)][int(rng.integers(3))]

    def fits(w: Any) -> bool:
        sides = [any(used(w, g[name]) for name in names) for names in (first, second)]
        return sum(sides) == 1 or (neither and not any(sides)) or (both and all(sides))

    return Rule(c.EitherOr(first, second, neither=neither, both=both), fits)


def make_implies(rng: np.random.Generator, d: Design) -> Rule:
    g = groups(d)
    first, then = some(rng, list(g), 2), some(rng, list(g), 2)
    need = str(rng.choice(["all", "any"]))

    def fits(w: Any) -> bool:
        if not any(used(w, g[name]) for name in first):
            return True
        return (all if need == "all" else any)(used(w, g[name]) for name in then)

    return Rule(c.Implies(first, then, need), fits)


def make_max_features(rng: np.random.Generator, d: Design) -> Rule:
    own = {column.feature: groups_of_feature(d, column.feature) for column in d.columns}
    k = int(rng.integers(0, len(own)))
    return Rule(c.MaxFeatures(k), lambda w: sum(used(w, group) for group in own.values()) <= k)


def make_budget(rng: np.random.Generator, d: Design) -> Rule:
    own = {column.feature: groups_of_feature(d, column.feature) for column in d.columns}
    prices = {name: float(rng.choice([0.0, 0.1, 0.25, 1.0, 3.0])) for name in own}
    limit = float(rng.choice([0.0, 0.1, 0.35, 1.0, 3.2]))

    def fits(w: Any) -> bool:
        spent = sum(Fraction(str(prices[name])) for name, group in own.items() if used(w, group))
        return spent <= Fraction(str(limit))

    return Rule(c.Budget(limit, prices), fits)


def make_max_points(rng: np.random.Generator, d: Design) -> Rule:
    g, limit = groups(d), int(rng.integers(0, 8))
    columns = some(rng, list(g))
    counted = {j for name in columns for j in g[name]}
    if rng.random() < 0.5:
        return Rule(c.MaxPoints(limit), lambda w: sum(map(abs, w)) <= limit)
    return Rule(c.MaxPoints(limit, columns), lambda w: sum(abs(w[j]) for j in counted) <= limit)


def groups_of_feature(d: Design, feature: str) -> list[int]:
    return [j for j, column in enumerate(d.columns) if column.feature == feature]


def make_monotone(rng: np.random.Generator, d: Design) -> Rule:
    feature = str(rng.choice(["A", "B"]))
    direction = str(rng.choice(["increasing", "decreasing"]))
    way = 1 if direction == "increasing" else -1
    own = groups_of_feature(d, feature)

    def fits(w: Any) -> bool:
        if d.columns[own[0]].kind == "interval":
            return all(way * (w[b] - w[a]) >= 0 for a, b in itertools.pairwise(own))
        return all(way * w[j] >= 0 for j in own)

    return Rule(c.Monotone(feature, direction), fits)


def make_span(rng: np.random.Generator, d: Design) -> Rule:
    binned = {column.feature for column in d.columns if column.kind != "numeric"}
    feature, most = str(rng.choice(sorted(binned))), int(rng.integers(0, 3))
    own = groups_of_feature(d, feature)
    cuts = d.columns[own[0]].kind == "step"

    def fits(w: Any) -> bool:
        points = [w[j] for j in own]
        return bool(np.ptp(np.cumsum([0, *points]) if cuts else points) <= most)

    return Rule(c.Span(most, feature), fits)


def make_fpr(rng: np.random.Generator, d: Design) -> Rule:
    share = float(rng.choice([0, 0.1, 0.25, 1 / 3, 0.5]))
    negative = d.y < 0

    def fits(wrong: Any) -> Any:
        return wrong[..., negative] @ d.weight[negative] <= share * d.weight[negative].sum()

    return Rule(c.MaxFPR(share), errors=fits)


def make_tpr(rng: np.random.Generator, d: Design) -> Rule:
    tenths = int(rng.choice([5, 7, 9, 10]))
    positive = d.y > 0

    def fits(wrong: Any) -> Any:
        right = ~wrong[..., positive] @ d.weight[positive]
        return 10 * right >= tenths * d.weight[positive].sum()

    return Rule(c.MinTPR(tenths / 10), errors=fits)


def make_errors(rng: np.random.Generator, d: Design) -> Rule:
    step = d.columns[0].kind == "step"
    where: Any
    if rng.random() < 0.4:
        inside = rng.random(len(d.y)) < 0.6
        inside[int(rng.integers(len(d.y)))] = True
        where = inside
    else:
        where = str(rng.choice(["A >= 1", "A < 2"]))
        columns = {("A >= 1", True): [0], ("A >= 1", False): [1, 2], ("A < 2", False): [0, 1]}
        if (where, step) in columns:
            inside = d.X[:, columns[where, step]].any(axis=1)
        else:
            inside = d.X[:, 1] == 0
        if not inside.any():
            return make_errors(rng, d)
    if rng.random() < 0.5:
        count = int(rng.integers(0, 4))
        return Rule(
            c.MaxErrors(where, count=count),
            errors=lambda wrong: wrong[..., inside].sum(-1) <= count,
        )
    fifths = int(rng.integers(0, 4))
    weight = d.weight[inside]
    return Rule(
        c.MaxErrors(where, share=fifths / 5),
        errors=lambda wrong: 5 * (wrong[..., inside] @ weight) <= fifths * weight.sum(),
    )


def make_total(rng: np.random.Generator, d: Design) -> Rule:
    low = None if rng.random() < 0.3 else int(rng.integers(-4, 2))
    high = None if low is not None and rng.random() < 0.3 else int(rng.integers(low or 0, 6))
    parts = [
        (own, sorted({tuple(row) for row in d.X[:, own].tolist()}))
        for own in {f: groups_of_feature(d, f) for f in (k.feature for k in d.columns)}.values()
    ]

    def fits(w: Any) -> bool:
        sums = [
            [sum(x * w[j] for x, j in zip(row, own, strict=True)) for row in rows]
            for own, rows in parts
        ]
        every = [sum(chosen) for chosen in itertools.product(*sums)]
        return (low is None or min(every) >= low) and (high is None or max(every) <= high)

    return Rule(c.TotalRange(low, high), fits)


def make_gap(rng: np.random.Generator, d: Design) -> Rule:
    rate = str(rng.choice(["tpr", "fpr", "selection"]))
    labels = rng.integers(0, int(rng.integers(2, 4)), len(d.y))
    labels[:4] = 0, 0, 1, 1  # the first two rows are of two classes
    y, tenths = d.y, int(rng.choice([0, 1, 3, 5]))
    counted = {"tpr": y > 0, "fpr": y < 0, "selection": y != 0}[rate]
    groups = [counted & (labels == label) for label in np.unique(labels)]
    groups = [rows for rows in groups if rows.any()]
    if len(groups) < 2:
        return make_gap(rng, d)

    def fits(wrong: Any) -> Any:
        taken = wrong != (y > 0)
        shares = [taken[..., g] @ d.weight[g] / d.weight[g].sum() for g in groups]
        return np.max(shares, axis=0) - np.min(shares, axis=0) <= tenths / 10 + 1e-9

    return Rule(c.MaxGap(rate, labels.tolist(), tenths / 10), errors=fits)


MAKERS: dict[str, Callable[[np.random.Generator, Design], Rule]] = {
    "AtLeast": counting(c.AtLeast, lambda count, k: count >= k),
    "AtMost": counting(c.AtMost, lambda count, k: count <= k),
    "Budget": make_budget,
    "MaxPoints": make_max_points,
    "EitherOr": make_either,
    "Exactly": counting(c.Exactly, lambda count, k: count == k),
    "Exclude": make_exclude,
    "Implies": make_implies,
    "Include": make_include,
    "MaxErrors": make_errors,
    "MaxFPR": make_fpr,
    "MaxFeatures": make_max_features,
    "MaxGap": make_gap,
    "MinTPR": make_tpr,
    "Monotone": make_monotone,
    "Range": make_range,
    "Sign": make_sign,
    "Span": make_span,
    "TotalRange": make_total,
}


@dataclass(frozen=True)
class Formulation:
    """How to build a program, and what enumeration has to know of it."""

    arguments: dict[str, Any]
    low: int
    high: int
    loss: Callable[[Any, Any], Any]
    penalty: Callable[[Design, Any], float]
    design: Callable[[np.random.Generator], Design] = plain
    first_bin: bool = False


def zero_one(scores: Any, y: Any) -> Any:
    return (scores >= 0) != (y > 0)


def hinge(scores: Any, y: Any) -> Any:
    return np.maximum(0.0, 1.0 - y * scores)


def logistic(scores: Any, y: Any) -> Any:
    return np.logaddexp(0.0, -y * scores)


def jumps(d: Design, w: Any) -> float:
    pairs = [pair for block in d.blocks for pair in itertools.pairwise(block)]
    return 0.05 * sum(abs(w[i] - w[k]) for i, k in pairs)


FORMULATIONS: dict[str, Formulation] = {
    "slim": Formulation(
        {"coef_min": -2, "coef_max": 2},
        -2,
        2,
        zero_one,
        lambda d, w: 1e-3 * np.count_nonzero(w),
    ),
    "hinge": Formulation(
        {"coef_min": -2, "coef_max": 2, "l0_penalty": 0.01},
        -2,
        2,
        hinge,
        lambda d, w: 0.01 * np.count_nonzero(w),
    ),
    "facets_hinge": Formulation(
        {"coef_min": -2, "coef_max": 2, "lam": 0.02, "intercept": "integer"},
        -2,
        2,
        hinge,
        lambda d, w: 0.01 * sum(int(v) ** 2 + abs(int(v)) for v in w),
    ),
    "fused_lasso": Formulation(
        {"coef_min": -2, "coef_max": 2, "lam": 0.05}, -2, 2, hinge, jumps, binned, True
    ),
    "convex_rounding": Formulation({}, -1, 1, hinge, lambda d, w: 0.0),
    "risk_score": Formulation(
        {"scale": 1.0, "coef_min": -1, "coef_max": 1, "l0_penalty": 0.01},
        -1,
        1,
        logistic,
        lambda d, w: 0.01 * np.count_nonzero(w),
    ),
}


@dataclass(frozen=True)
class Table:
    """Objective and errors of every card, so that several sets of rules can be asked."""

    points: list[tuple[int, ...]]
    objective: Any
    wrong: Any

    def best(self, rules: list[Rule]) -> float:
        """The least objective of a card that obeys; infinite where there is none."""
        fine = np.array([all(rule.points(w) for rule in rules) for w in self.points])[:, None]
        for rule in rules:
            fine = fine & rule.errors(self.wrong)
        return float(np.where(fine, self.objective, math.inf).min(initial=math.inf))


def every_card(name: str, d: Design) -> Table:
    """Every card of a formulation on whole-number data."""
    form = FORMULATIONS[name]
    fixed = {block[0] for block in d.blocks} if form.first_bin else set()
    values = [(0,) if j in fixed else range(form.low, form.high + 1) for j in range(len(d.columns))]
    points = list(itertools.product(*values))
    totals = np.array(points) @ d.X.T
    reach = int(np.abs(totals).max()) + 4
    intercepts = np.arange(-reach, reach + 1)
    scores = totals[:, None, :] + intercepts[None, :, None]
    mean = form.loss(scores, d.y) @ d.weight / d.weight.sum()
    penalty = np.array([form.penalty(d, np.array(w)) for w in points])
    return Table(points, mean + penalty[:, None], (scores >= 0) != (d.y > 0))
