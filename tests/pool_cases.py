"""Every card of tiny programs, by enumeration: what a pool has to be, and a front."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import constraint_cases
import numpy as np
import pytest
from constraint_cases import Rule
from risk_cases import LOSSES, omega

from milpscore.core.design import Design
from milpscore.core.program import Program
from milpscore.formulations import risk_score, slim

TIE = 1e-10
"""Objectives so close to a threshold may fall on either side."""


@dataclass(frozen=True)
class Case:
    """A program, and what its cards cost: w of shape (V, p), b of shape (B,), objective (V, B)."""

    program: Program
    w: Any
    b: Any
    objective: Any

    def best(self) -> Any:
        """Each w with its best intercept, shape (V,)."""
        return self.objective.min(axis=1)

    def within(self, most: float) -> set[tuple[int, ...]]:
        """The points of the cards of at most so much."""
        return {tuple(w) for w in self.w[self.best() <= most].tolist()}

    def pairs_within(self, most: float) -> set[tuple[Any, ...]]:
        """The points with each whole intercept."""
        rows, columns = np.nonzero(self.objective <= most)
        return {(*self.w[i].tolist(), int(self.b[k])) for i, k in zip(rows, columns, strict=True)}


def some_design(rng: np.random.Generator) -> Design:
    """Cuts and numbers, or bins; weights, repeated and contradicting rows, at times twins."""
    if rng.random() < 0.3:
        return constraint_cases.binned(rng)
    d = constraint_cases.plain(rng)
    kind = int(rng.integers(4))
    X = d.X.copy()
    if kind == 0:
        X[:, 3] = X[:, 0]
    elif kind == 1:
        X[:, 3] = 1.0
    elif kind == 2:
        X[:, 2] = 2.0 - X[:, 1]
    return Design(X, d.y, d.weight, d.columns, d.blocks)


def some_rules(rng: np.random.Generator, d: Design, most: int = 2) -> list[Rule]:
    """None, one or two constraints of any kind."""
    makers = list(constraint_cases.MAKERS.values())
    chosen = rng.choice(len(makers), size=int(rng.integers(0, most + 1)), replace=False)
    return [makers[int(k)](rng, d) for k in chosen]


def some_arguments(rng: np.random.Generator, d: Design) -> dict[str, Any]:
    """Ranges, sets, limits and term costs both formulations have."""
    p = d.shape[1]
    low, high = [(-2, 2), (-1, 1), (0, 2), (-2, 1)][int(rng.integers(4 if p < 5 else 2))]
    if p == 5:
        low, high = max(low, -1), min(high, 1)
    given: dict[str, Any] = {"coef_min": low, "coef_max": high}
    if rng.random() < 0.2:
        values = [[-2, 0, 1], [0, 3], [-1, 2]][int(rng.integers(3))]
        given["coef_sets"] = {d.names[0]: values}
    if rng.random() < 0.6:
        given["max_terms"] = int(rng.integers(1, p + 1))
    given["l0_penalty"] = float(rng.choice([0.0, 1e-6, 0.01, 0.05]))
    return given


def points_of(d: Design, given: dict[str, Any]) -> Any:
    """Every w of a program, shape (V, p)."""
    sets = {d.names.index(name): values for name, values in given.get("coef_sets", {}).items()}
    values = range(given["coef_min"], given["coef_max"] + 1)
    w = np.array(list(itertools.product(*(sets.get(j, values) for j in range(d.shape[1])))))
    most = given.get("max_terms")
    return w if most is None else w[np.count_nonzero(w, axis=1) <= most]


def obeying(rules: list[Rule], d: Design, w: Any, b: Any) -> Any:
    """Which (w, b) meet all rules, shape (V, B)."""
    positive = (w @ d.X.T)[:, None, :] + b[None, :, None] >= 0
    wrong = positive != (d.y > 0)
    fine = np.array([all(rule.points(row) for rule in rules) for row in w])[:, None]
    fine = np.repeat(fine, len(b), axis=1)
    for rule in rules:
        fine &= rule.errors(wrong)
    return fine


def risk_case(seed: int, **forced: Any) -> Case:
    """A random risk score with every one of its cards."""
    rng = np.random.default_rng(seed)
    d = some_design(rng)
    given = some_arguments(rng, d)
    given["loss"] = list(LOSSES)[seed % 4]
    given["scale"] = float(rng.choice([1.0, 2.0]))
    given["penalty"] = str(rng.choice(["none", "none", "l1", "l2", "facets", "eye"]))
    known = rng.integers(0, 2, d.shape[1]).astype(float)
    if given["penalty"] != "none":
        given["lam"] = float(rng.choice([0.002, 0.03]))
    given["intercept"] = str(rng.choice(["integer", "integer", "zero", "real"]))
    rules = [] if rng.random() < 0.4 else some_rules(rng, d)
    given.update(forced)
    if given["intercept"] == "real":
        rules = [rule for rule in rules if rule.errors is Rule.errors]
    if given["penalty"] == "eye":
        given["expert"] = known
    program = risk_score(d, **given, constraints=[rule.constraint for rule in rules])
    w = points_of(d, given)
    b = _intercepts(program, given, w, d)
    mean = _risk_loss(given, d, w, b)
    objective = mean + np.array([_charge(given, row, known) for row in w])[:, None]
    if given["intercept"] == "real":
        b = np.zeros(1)
    return Case(program, w, b, np.where(obeying(rules, d, w, b), objective, math.inf))


def _charge(given: dict[str, Any], w: Any, known: Any) -> float:
    cost = given.get("lam", 0.0) * omega(given["penalty"], w, known)
    return float(given["l0_penalty"] * np.count_nonzero(w) + cost)


def _intercepts(program: Program, given: dict[str, Any], w: Any, d: Design) -> Any:
    rule = program.statement.intercept
    if given["intercept"] == "zero":
        return np.zeros(1)
    return np.arange(math.ceil(rule.lower), math.floor(rule.upper) + 1)


def _risk_loss(given: dict[str, Any], d: Design, w: Any, b: Any) -> Any:
    """Mean losses, shape (V, B); for a real intercept the least one, shape (V, 1)."""
    value, totals = LOSSES[given["loss"]], w @ d.X.T
    share = d.weight / d.weight.sum()

    def mean(at: Any) -> Any:
        return value((totals[:, None, :] + at[..., None]) / given["scale"], d.y) @ share

    if given["intercept"] != "real":
        return mean(np.broadcast_to(b, (len(w), len(b))))
    low, high = np.full((len(w), 1), -40.0), np.full((len(w), 1), 40.0)
    for _ in range(100):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        left = mean(first) <= mean(second)
        low, high = np.where(left, low, first), np.where(left, second, high)
    return mean((low + high) / 2)


def slim_case(seed: int, **forced: Any) -> Case:
    """A random program under the 0-1 loss with every one of its cards."""
    rng = np.random.default_rng(seed)
    d = some_design(rng)
    given = some_arguments(rng, d)
    given["l1_penalty"] = float(rng.choice([0.0, 0.0, 0.003]))
    rules = [] if rng.random() < 0.4 else some_rules(rng, d)
    given.update(forced)
    program = slim(d, **given, constraints=[rule.constraint for rule in rules])
    w = points_of(d, given)
    rule = program.statement.intercept
    b = np.arange(math.ceil(rule.lower), math.floor(rule.upper) + 1)
    wrong = ((w @ d.X.T)[:, None, :] + b[None, :, None] >= 0) != (d.y > 0)
    charge = given["l0_penalty"] * np.count_nonzero(w, axis=1)
    charge = charge + given["l1_penalty"] * np.abs(w).sum(axis=1)
    objective = wrong @ d.weight / d.weight.sum() + charge[:, None]
    return Case(program, w, b, np.where(obeying(rules, d, w, b), objective, math.inf))


def raise_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int) -> None:
    """Let one call of a method end as Ctrl-C does."""
    original, calls = getattr(owner, name), itertools.count()

    def interrupted(*given: Any, **extra: Any) -> Any:
        if next(calls) == call:
            raise KeyboardInterrupt
        return original(*given, **extra)

    monkeypatch.setattr(owner, name, interrupted)


MAKERS = {"risk_score": risk_case, "slim": slim_case}
