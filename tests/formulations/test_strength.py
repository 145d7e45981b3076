"""Five programs of one 0-1 statement: equal optima, growing bounds, valid cuts."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import brute
import numpy as np
import pytest

from experiments.strength.slim import slim_strength
from milpscore.core.card import Card
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.data import make_design
from milpscore.formulations.strength import STRENGTHS, slim_program
from milpscore.solvers import solve
from milpscore.verify import check


def tiny(seed: int, n: int = 14, p: int = 2) -> tuple[Any, Any]:
    """Rows with repeats and contradictions."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, p))
    y = (X[:, 0] - X[:, -1] + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    return X, y


def optimum(X: Any, y: Any, low: int, high: int, l0_penalty: float) -> float:
    """By enumeration of all points and thresholds."""
    rows, signs = brute.decimals(X.tolist()), np.where(y > 0, 1, -1).tolist()
    weights = [1.0] * len(signs)
    best = np.inf
    for w in np.ndindex(*[high - low + 1] * X.shape[1]):
        points = [low + step for step in w]
        totals = [
            sum((k * v for k, v in zip(points, row, strict=True)), Fraction(0)) for row in rows
        ]
        cuts = {-total for total in totals} | {-max(totals) - 1}
        loss = min(brute.zero_one(totals, signs, weights, b) for b in cuts)
        best = min(best, loss + l0_penalty * sum(k != 0 for k in points))
    return float(best)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("low", "high"), [(-2, 2), (0, 2)])
def test_every_strength_finds_the_optimum_of_enumeration(seed: int, low: int, high: int) -> None:
    X, y = tiny(seed)
    table = slim_strength(
        X, y, switches=[(True, True), (False, False)], seeds=(0, 3), coef_min=low, coef_max=high,
        l0_penalty=0.01,
    )  # fmt: skip
    assert len(table) == len(STRENGTHS) * 2 * 2
    best = optimum(X, y, low, high, 0.01)
    assert (table["claim"] == "optimal").all()
    np.testing.assert_allclose(table["objective"], best, atol=1e-9)
    assert (table["lp_bound"] <= best + 1e-9).all()
    assert all(result.verified for result in table.attrs["results"].values())


@pytest.mark.parametrize("low", [-3, 0])
def test_lp_bounds_grow_from_strength_to_strength(low: int) -> None:
    X, y = tiny(5, n=60, p=3)
    design = make_design(X, y)
    bounds = [
        solve(
            slim_program(design, name, coef_min=low, coef_max=3, max_terms=2).relaxed(), "highs"
        ).dual_bound
        for name in STRENGTHS
    ]
    assert all(a <= b + 1e-9 for a, b in pairwise(bounds))
    assert bounds[-1] > 1.5 * bounds[0]


@pytest.mark.parametrize("seed", range(3))
def test_no_card_breaks_a_cut(seed: int) -> None:
    X, y = tiny(seed, n=40, p=3)
    program = slim_program(make_design(X, y), coef_min=[0, -2, -3], coef_max=[2, 0, 3])
    assert len(program.model.clashes) + len(program.model.implications) > 0
    rng = np.random.default_rng(seed)
    for _ in range(30):
        w = rng.integers([0, -2, -3], [3, 1, 4])
        threshold = int(rng.integers((X @ w).min(), (X @ w).max() + 2))
        card = program.statement.with_best_intercept(w)
        for each in (card, Card(w, program.statement.intercept.nearest(-threshold))):
            assert check(program, each).feasible


def test_sizes_say_what_was_merged() -> None:
    X, y = tiny(1, n=60)
    design = make_design(X, y)
    sizes = {name: len(slim_program(design, name).model.z) for name in STRENGTHS}
    assert sizes["textbook"] == sizes["row_big_m"] == 60
    assert sizes["merged"] == sizes["conflicts"] == sizes["covers"] == len(design.merged.y) < 60


def test_unknown_strengths_and_data_off_the_grid_are_refused() -> None:
    X, y = tiny(0)
    with pytest.raises(OptionError, match="there are textbook"):
        slim_program(make_design(X, y), "weak")
    with pytest.raises(NotApplicableError, match="grid"):
        slim_program(make_design(X + np.sqrt(2) * y[:, None], y), "merged")
