"""A risk score whose scale is left to the card: the tree against enumeration, and what a card says.

The oracle knows nothing of the package's lines: every allowed w is tried, and slope and intercept
are searched by SciPy in one dimension inside the other.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from milpscore.core.statement import Statement
from milpscore.formulations import risk_score
from milpscore.solvers import solve

_FAR = 300.0
"""Beyond these scores every loss here is far above the best one, or flat."""

LOSSES = ("logistic", "squared", "squared_hinge", "poisson")
EXACT = {"mip_gap": 0.0, "time_limit": 60.0, "node_limit": 20_000}


def case(seed: int) -> dict[str, Any]:
    """The arguments of a tiny random program."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 16)), int(rng.integers(1, 4))
    X = rng.integers(-2, 3, size=(n, p)).astype(float)
    if seed % 3 == 0:
        X = (X > 0).astype(float)
    if seed % 7 == 0:
        X = X * rng.choice([0.01, 0.5, 300.0], size=p)
    true = rng.normal(size=p) * rng.choice([0.5, 3.0])
    noise = 0.0 if seed % 5 == 0 else rng.logistic(size=n)  # of five one is separable
    y = X / (np.abs(X).max(axis=0) + 1e-9) @ true + noise > 0.3 * rng.normal()
    y[0], y[1] = True, False
    low, high = int(rng.integers(-3, 1)), int(rng.integers(1, 4))
    loss = LOSSES[seed % 4] if seed % 2 else "logistic"
    arguments: dict[str, Any] = {
        "X": X,
        "y": y.astype(int),
        "scale": "auto",
        "coef_min": low,
        "coef_max": high,
        "loss": loss,
        "l0_penalty": float(rng.choice([1e-6, 0.01, 0.1])),
    }
    if seed % 4 == 1:
        arguments["sample_weight"] = rng.integers(0, 5, size=n) + rng.choice([0.0, 0.3])
        arguments["sample_weight"][:2] = 1.0
    if seed % 3 == 1:
        arguments["max_terms"] = int(rng.integers(seed % 11 == 3, p + 1))
    if seed % 6 == 2:
        arguments |= {"penalty": str(rng.choice(["l1", "l2", "facets"])), "lam": 0.02}
    if seed % 11 == 3:
        arguments["coef_sets"] = {"x0": [-2, 1, 3]}
        arguments["coef_min"], arguments["coef_max"] = -2, 3
    if seed % 8 == 4:
        arguments["intercept"] = "zero"
    return arguments


def least(statement: Statement) -> float:
    """The least objective over all w, slopes and intercepts, by SciPy."""
    rows, scales = statement.design.merged, statement.scales
    loss: Any = statement.loss
    assert scales is not None
    y, share = loss.answers(rows.y), rows.weight / rows.weight.sum()
    ends = zip(statement.coef_min.tolist(), statement.coef_max.tolist(), strict=True)
    values = [
        statement.coef_sets.get(j, range(low, high + 1)) for j, (low, high) in enumerate(ends)
    ]
    best = math.inf
    for points in itertools.product(*values):
        w = np.array(points)
        if not statement.allows(w[None, :])[0]:
            continue
        totals = rows.X @ w

        def at(log_slope: float, totals: Any = totals) -> float:
            def value(c: float) -> float:
                z = np.clip(math.exp(log_slope) * totals + c, -_FAR, _FAR)
                return float(share @ loss.base.value(z, y))

            if statement.intercept.kind == "zero":
                return value(0.0)
            reach = math.exp(log_slope) * np.abs(totals).max() + 40.0
            return float(minimize_scalar(value, bounds=(-reach, reach), method="bounded").fun)

        # where scores barely matter the loss is flat in the slope: the ends and a grid first
        grid = np.linspace(-math.log(scales.upper), -math.log(scales.lower), 30)
        found = [at(each) for each in grid]
        k = int(np.argmin(found))
        near = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
        least = min(found[k], minimize_scalar(at, bounds=near, method="bounded").fun)
        best = min(best, least + statement.penalty(w))
    return best


@pytest.mark.parametrize("seed", range(120))
def test_the_tree_finds_what_enumeration_finds(seed: int) -> None:
    program = risk_score(**case(seed))
    result = solve(program, "tree", **EXACT)
    wanted = least(program.statement)
    tolerance = 1e-6 * max(1.0, abs(wanted))
    assert result.card is not None
    assert result.dual_bound <= wanted + 1e-9  # every card there is lies above the bound
    assert result.objective <= wanted + tolerance
    assert result.objective - result.dual_bound <= tolerance
    assert str(result.claim) == "optimal"


@pytest.mark.parametrize("seed", [seed for seed in range(0, 120, 6) if seed % 5])
def test_a_norm_of_the_points_is_bounded_over_all_slopes(seed: int) -> None:
    arguments = {**case(seed), "penalty": "eye", "lam": 0.02}
    arguments["expert"] = (np.arange(arguments["X"].shape[1]) % 2).tolist()
    program = risk_score(**arguments)
    result = solve(program, "tree", **EXACT)
    wanted = least(program.statement)
    assert result.dual_bound is not None
    assert result.objective is not None
    assert result.dual_bound <= wanted + 1e-9
    assert result.objective <= wanted + 1e-6 * max(1.0, abs(wanted))
    assert result.objective - result.dual_bound <= 1e-4  # as bent lines are near such a penalty
