"""Pairs of rows: errors at the threshold 0 are 1 - AUC, and the best card is the best of all."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.metrics import roc_auc_score

import milpscore.data.pairs as module
from milpscore.core.card import Card
from milpscore.core.errors import DataError, SizeError
from milpscore.core.result import Claim
from milpscore.data import make_design, make_pair_design
from milpscore.formulations import hinge, slim
from milpscore.solvers import solve
from milpscore.verify import evaluate

HELD: dict[str, Any] = {"intercept_bounds": (0, 0), "l0_penalty": 0.0}


def table(seed: int, decimals: bool = False) -> tuple[pd.DataFrame, Any, Any]:
    """Rows with repeats and ties, labels, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(30, 3)) / (10.0 if decimals else 1.0)
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=30) > 0, "yes", "no")
    y[:2] = "no", "yes"
    return pd.DataFrame(X, columns=["a", "b", "c"]), y, rng.integers(1, 4, size=30)


@pytest.mark.parametrize("decimals", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_errors_are_one_minus_the_auc(seed: int, decimals: bool) -> None:
    X, y, weight = table(seed, decimals)
    made = make_pair_design(X, y, sample_weight=weight)
    statement = slim(made, coef_min=-2, coef_max=2, **HELD).statement
    for w in product(range(-2, 3), repeat=3):
        card = Card(np.array(w), statement.intercept.nearest(0.0))
        # whole multiples of the grid: rounding must not part totals that are equal
        totals = np.rint(10 * (X.to_numpy() @ w))
        auc = roc_auc_score(y == "yes", totals, sample_weight=weight)
        assert evaluate(statement, card).loss == pytest.approx(1.0 - auc, abs=1e-12)


@pytest.mark.parametrize("engine", ["tree", "highs"])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_card_has_the_largest_auc_of_all(seed: int, engine: str) -> None:
    X, y, weight = table(seed)
    made = make_pair_design(make_design(X, y, sample_weight=weight))
    assert made.classes == ("no", "yes")
    result = solve(slim(made, coef_min=-2, coef_max=2, max_terms=2, **HELD), engine, progress=False)
    best = max(
        roc_auc_score(y == "yes", X.to_numpy() @ w, sample_weight=weight)
        for w in product(range(-2, 3), repeat=3)
        if np.count_nonzero(w) <= 2
    )
    assert result.claim is Claim.OPTIMAL
    assert 1.0 - result.loss == pytest.approx(best, abs=1e-12)
    # its points score the rows themselves, with the threshold of the fewest errors
    rows = slim(X, y, sample_weight=weight, coef_min=-2, coef_max=2).statement
    assert evaluate(rows, rows.with_best_intercept(result.card.coefficients)).violations == ()


def test_differences_of_decimals_are_decimals() -> None:
    X = [[0.1, 0.3], [0.3, 0.1], [0.7, 0.4]]
    made = make_pair_design(X, [0, 1, 1])
    assert made.X[:2].tolist() == [[0.2, -0.2], [0.6, 0.1]]
    assert made.step == Fraction(1, 10)
    # equal totals of the first two rows are a tie
    statement = slim(made, **HELD).statement
    assert evaluate(statement, Card(np.array([1, 1]), Fraction(0))).loss == 0.25


def test_the_relaxed_hinge_is_the_buffered_program() -> None:
    X, y, _ = table(4)
    made = make_pair_design(X, y)
    program = hinge(made, coef_min=-3, coef_max=3, intercept_bounds=(0, 0), l0_penalty=0.0)
    D = made.X[made.y > 0]
    n, p = D.shape
    # min mean t: t >= 1 - w.d, t >= 0, -3 <= w <= 3, over the pairs one way round
    lp = linprog(
        np.r_[np.zeros(p), made.weight[:n] / made.weight[:n].sum()],
        A_ub=np.hstack([-D, -np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(-3, 3)] * p + [(0, None)] * n,
    )
    found = solve(program.relaxed(), "highs", progress=False)
    assert found.objective == pytest.approx(lp.fun, abs=1e-7)
    assert found.objective >= solve(slim(made, **HELD), "tree").objective - 1e-9


def test_what_cannot_be_paired_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = table(0)
    with pytest.raises(DataError, match="pass it alone"):
        make_pair_design(make_design(X, y), y)
    monkeypatch.setattr(module, "POLICY", replace(module.POLICY, pair_cells=10))
    with pytest.raises(SizeError, match=r"pairs of 3 columns, above 10 numbers: bin"):
        make_pair_design(X, y)
