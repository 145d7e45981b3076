"""Wide relaxations by gradient steps: bounds that hold, soon, and the same optimum."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from milpscore.formulations import risk_score
from milpscore.solvers import solve
from milpscore.solvers.trees.risk import relaxation, tree
from milpscore.solvers.trees.risk.policy import POLICY


def table(n: int, p: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of 0 and 1, of which three matter."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p))
    chance = 1.0 / (1.0 + np.exp(1.0 - 2.0 * X[:, 0] + 1.5 * X[:, 1] - X[:, 2]))
    y = np.where(rng.uniform(size=n) < chance, 1, -1)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(p)]), y


@pytest.fixture
def by_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradient steps from the fourth column on."""
    for module in (relaxation, tree):
        policy = replace(POLICY, newton_columns=3)
        monkeypatch.setattr(module, "POLICY", policy)


CASES = {
    "any scale": {"scale": "auto"},
    "scale 2": {"scale": 2},
    "forced": {"scale": "auto", "coef_sets": {"x3": [-2, -1, 1, 2]}},
    "priced": {"scale": "auto", "l0_penalty": 0.01},
    "poisson": {"scale": "auto", "loss": "poisson"},
    "no intercept": {"scale": "auto", "intercept": "zero"},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_optimum(case: str, seed: int, request: pytest.FixtureRequest) -> None:
    X, y = table(60, 8, seed)
    options = {"max_terms": 2, "coef_min": -2, "coef_max": 2, **CASES[case]}
    first = solve(risk_score(X, y, **options), "tree", progress=False)
    request.getfixturevalue("by_gradients")
    again = solve(risk_score(X, y, **options), "tree", progress=False)
    assert str(first.claim) == str(again.claim) == "optimal"
    assert again.objective == pytest.approx(first.objective, rel=2e-6)
    assert again.dual_bound <= first.objective * (1 + 1e-9)


def test_a_wide_root_has_a_bound_above_0() -> None:
    X, y = table(900, 320, 0)
    program = risk_score(X, y, max_terms=3, coef_min=-5, coef_max=5, scale="auto")
    result = solve(program, "tree", node_limit=1, progress=False)
    assert 0.2 * result.objective < result.dual_bound <= result.objective


def test_separable_rows_end() -> None:
    # there is no bound above 0, and steps of single precision gain nothing at last
    X, y = table(60, 320, 0)
    program = risk_score(X, y, max_terms=3, coef_min=-5, coef_max=5, scale="auto")
    result = solve(program, "tree", node_limit=3, progress=False)
    assert result.verified
    assert 0.0 <= result.dual_bound <= result.objective
