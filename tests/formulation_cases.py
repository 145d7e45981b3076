"""Designs of every kind, and each formulation's optimum by enumeration of its definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import brute
import numpy as np

from milpscore.core.design import Column, Design
from milpscore.data import OrdinalDesign
from milpscore.data.ordinal import by_boundaries

SLIM_CASES: dict[str, dict[str, Any]] = {
    "free": {"coef_min": -3, "coef_max": 3, "max_terms": 2},
    "uncounted": {"coef_min": -2, "coef_max": 2, "l0_penalty": 0.0},
    "signs": {"coef_min": [0, -3, -2], "coef_max": [3, 0, 2], "max_terms": 2},
    "forced": {"coef_min": [1, -3, -2], "coef_max": [3, -1, 2]},
    "sets": {"coef_sets": {"x1": [-4, 0, 3], "x2": [-1, 1]}, "max_terms": 3},
    "uncounted signs": {"coef_min": [0, -3, 1], "coef_max": [3, 0, 2], "l0_penalty": 0.0},
}
"""Arguments of slim for three columns: what its points may be, and what they cost."""


def points_of(statement: Any) -> list[Any]:
    """The values of each coefficient."""
    ends = zip(*(end.tolist() for end in statement.ranges), strict=True)
    ranges = (range(low, high + 1) for low, high in ends)
    return [statement.coef_sets.get(j, values) for j, values in enumerate(ranges)]


def random_design(rng: np.random.Generator, n: int, p: int, values: list[float]) -> Design:
    """A small design with both classes and some repeated rows."""
    X = rng.choice(values, size=(n, p))
    X[n // 2 :] = X[rng.integers(0, n // 2, size=n - n // 2)]  # duplicates and contradictions
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[0], y[1] = 1, -1
    weight = rng.integers(1, 4, size=n).astype(float)
    columns = tuple(Column(f"x{j}", f"x{j}") for j in range(p))
    return Design(X, y.astype(np.int64), weight, columns)


def binned_design(rng: np.random.Generator, n: int, bins: tuple[int, ...]) -> Design:
    """One-hot blocks."""
    columns, blocks, parts = [], [], []
    for f, size in enumerate(bins):
        chosen = rng.integers(0, size, size=n)
        parts.append(np.eye(size)[chosen])
        start = len(columns)
        blocks.append(tuple(range(start, start + size)))
        columns += [Column(f"f{f}b{k}", f"f{f}", "interval", k, k + 1) for k in range(size)]
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[0], y[1] = 1, -1
    return Design(np.hstack(parts), y.astype(np.int64), np.ones(n), tuple(columns), tuple(blocks))


def ordered_design(rng: np.random.Generator, cost: Any) -> OrdinalDesign:
    """Three levels."""
    base, levels = random_design(rng, 8, 2, [0, 1, 2]), rng.integers(0, 3, 8)
    levels[:3] = 0, 1, 2
    return by_boundaries(base, levels, (0, 1, 2), cost)


def enumerate_slim(d: Design, a: dict[str, Any]) -> brute.Optimum:
    low, high = a.get("coef_min", -5), a.get("coef_max", 5)
    values = [a.get("coef_sets", {}).get(name, range(low, high + 1)) for name in d.names]
    c0, c1 = a.get("l0_penalty", 1e-3), a.get("l1_penalty", 0.0)
    return brute.best_card(
        brute.decimals(d.X),
        d.y,
        d.weight,
        loss=brute.zero_one,
        values=values,
        intercepts=brute.every_threshold,
        max_terms=a.get("max_terms"),
        penalty=lambda w: c0 * sum(v != 0 for v in w) + c1 * sum(map(abs, w)),
    )


def enumerate_auc(d: Design, a: dict[str, Any]) -> brute.Optimum:
    """The least 1 - AUC and price of terms, pair by pair, a tie counting half."""
    rows, c0 = brute.decimals(d.X), a.get("l0_penalty", 1e-3)
    sides = [[k for k, y in enumerate(d.y) if y == side] for side in (1, -1)]
    pairs = [(i, k, Fraction(d.weight[i]) * Fraction(d.weight[k])) for i, k in product(*sides)]
    whole = sum(weight for *_, weight in pairs)

    def objective(w: tuple[int, ...]) -> float:
        totals = [sum(v * x for v, x in zip(w, row, strict=True)) for row in rows]
        wrong = ((totals[k] > totals[i], totals[k] == totals[i], s) for i, k, s in pairs)
        lost = sum(s * (2 * above + level) for above, level, s in wrong)
        return float(lost / (2 * whole)) + c0 * sum(v != 0 for v in w)

    every = product(range(a["coef_min"], a["coef_max"] + 1), repeat=d.shape[1])
    few = [w for w in every if sum(v != 0 for v in w) <= a.get("max_terms", len(w))]
    best = min(few, key=objective)
    return brute.Optimum(objective(best), best, Fraction(0))


def enumerate_ordered(d: Design, a: dict[str, Any]) -> brute.Optimum:
    assert isinstance(d, OrdinalDesign)
    base, reach = d.base, a["coef_max"]
    given = (base.X.tolist(), d.codes.tolist(), base.weight.tolist(), d.cost)
    return brute.Optimum(brute.best_ordinal(*given, l0=1e-3, reach=reach), (), Fraction(0))


def enumerate_hinge(d: Design, a: dict[str, Any]) -> brute.Optimum:
    low, high = a.get("coef_min", -5), a.get("coef_max", 5)
    if "weights" in a:
        low, high = {"binary": (0, 1), "ternary": (-1, 1)}[a["weights"]]
    margin, kind = a.get("margin", 1.0), a.get("intercept", "integer")
    cuts = {
        "integer": brute.whole_numbers(-40, 40),
        "zero": brute.whole_numbers(0, 0),
        "real": brute.kinks(margin, d.y),
    }[kind]
    c0 = a.get("l0_penalty", 0.0)
    return brute.best_card(
        brute.decimals(d.X),
        d.y,
        d.weight,
        loss=brute.hinge(margin),
        values=[range(low, high + 1)] * d.shape[1],
        intercepts=cuts,
        max_terms=a.get("max_terms"),
        penalty=lambda w: c0 * sum(v != 0 for v in w),
    )


def enumerate_facets(d: Design, a: dict[str, Any]) -> brute.Optimum:
    low, high = a.get("coef_min", -4), a.get("coef_max", 4)
    lam, gamma, kind = a.get("lam", 0.1), a.get("gamma", 1.0), a.get("intercept", "real")
    margin = a.get("margin", 1.0) / gamma  # of the card's own totals
    cuts = {
        "integer": brute.whole_numbers(-40, 40),
        "zero": brute.whole_numbers(0, 0),
        "real": brute.kinks(margin, d.y),
    }[kind]
    return brute.best_card(
        brute.decimals(d.X),
        d.y,
        d.weight,
        loss=brute.hinge(margin),
        values=[range(low, high + 1)] * d.shape[1],
        intercepts=cuts,
        max_terms=a.get("max_terms"),
        penalty=lambda k: lam * sum(v * v + abs(v) for v in k) / 2,
    )


def enumerate_fused(d: Design, a: dict[str, Any]) -> brute.Optimum:
    firsts = {block[0] for block in d.blocks}
    low, high = a.get("coef_min", -5), a.get("coef_max", 5)
    values = [range(1) if j in firsts else range(low, high + 1) for j in range(d.shape[1])]

    def tv(w: Any) -> float:
        return a["lam"] * sum(abs(w[i] - w[k]) for b in d.blocks for i, k in pairwise(b))

    return brute.best_card(
        brute.decimals(d.X),
        d.y,
        d.weight,
        loss=brute.hinge(a.get("margin", 1.0)),
        values=values,
        intercepts=brute.whole_numbers(-8, 8),
        penalty=tv,
    )


def enumerate_risk(d: Design, a: dict[str, Any]) -> brute.Optimum:
    low, high = a.get("coef_min", -5), a.get("coef_max", 5)
    loss = brute.logistic(a.get("scale", 1.0))
    cuts = {
        "integer": brute.whole_numbers(-15, 15),
        "zero": brute.whole_numbers(0, 0),
        "real": brute.by_bisection(loss, d.y, d.weight),
    }[a.get("intercept", "integer")]
    c0, lam = a.get("l0_penalty", 1e-6), a.get("lam", 0.0)
    size = {
        "none": lambda v: 0.0,
        "l1": abs,
        "l2": lambda v: v * v / 2,
        "facets": lambda v: (v * v + abs(v)) / 2,
    }[a.get("penalty", "none")]
    return brute.best_card(
        brute.decimals(d.X),
        d.y,
        d.weight,
        loss=loss,
        values=[range(low, high + 1)] * d.shape[1],
        intercepts=cuts,
        max_terms=a.get("max_terms"),
        penalty=lambda w: c0 * sum(v != 0 for v in w) + lam * sum(map(size, w)),
    )


def integers(rng: np.random.Generator) -> Design:
    return random_design(rng, 11, 3, [-2, -1, 0, 1, 2, 3])


def tenths(rng: np.random.Generator) -> Design:
    return random_design(rng, 10, 2, [0.1, 0.2, 0.3, 0.5, 0.7, -0.4])


def bits(rng: np.random.Generator) -> Design:
    return random_design(rng, 12, 4, [0, 1])
