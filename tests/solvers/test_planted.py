"""Scores planted without noise: both tree searches reach and prove what was planted, or better."""

from __future__ import annotations

import numpy as np
import pytest

from milpscore.core.result import Claim
from milpscore.data import make_design, make_planted_score
from milpscore.formulations import FORMULATIONS
from milpscore.solvers import solve
from milpscore.verify import evaluate


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("formulation", ["risk_score", "slim"])
def test_the_planted_objective_is_reached_and_proved(formulation: str, seed: int) -> None:
    X, y, planted = make_planted_score(500, 20, noise=0.0, random_state=seed)
    program = FORMULATIONS[formulation](make_design(X, y), max_terms=5, coef_min=-5, coef_max=5)
    result = solve(program, "tree", time_limit=300, progress=False)
    beside = evaluate(
        program.statement, program.statement.with_best_intercept(planted.coefficients)
    )
    assert beside.feasible
    assert result.objective <= beside.objective + 1e-9
    assert result.claim is Claim.OPTIMAL


@pytest.mark.parametrize("seed", range(3))
def test_without_noise_the_best_card_errs_nowhere(seed: int) -> None:
    X, y, planted = make_planted_score(500, 20, noise=0.0, random_state=seed)
    program = FORMULATIONS["slim"](make_design(X, y), max_terms=5, coef_min=-5, coef_max=5)
    card = solve(program, "tree", time_limit=300, progress=False).card
    assert card is not None
    values = X.to_numpy()
    found = values @ card.coefficients >= card.threshold
    assert np.array_equal(found, y.to_numpy() == 1)
    assert np.array_equal(found, values @ planted.coefficients >= planted.threshold)
