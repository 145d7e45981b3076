"""The bound under the hinge loss that needs no model: below every card, and close to the LP's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from formulation_cases import random_design

from milpscore.core.clock import Clock
from milpscore.core.design import Design
from milpscore.core.result import Claim
from milpscore.fitting import fit_card
from milpscore.formulations import building, facets_hinge, hinge, slim
from milpscore.formulations.policy import FormulationPolicy
from milpscore.solvers import solve
from milpscore.solvers.hinge_bound import _Dual, hinge_bound

PROGRAMS: dict[str, Any] = {
    "plain": hinge,
    "priced": lambda d: hinge(d, l0_penalty=0.02, l1_penalty=0.01, margin=3),
    "limited": lambda d: hinge(d, max_terms=1, coef_min=-2, coef_max=2),
    "demanded": lambda d: hinge(d, max_terms=2, coef_min={"x0": 2}, coef_max=4),
    "real": lambda d: hinge(d, max_terms=2, intercept="real"),
    "narrow": lambda d: hinge(d, intercept_bounds=(1, 2), max_terms=2),
    "facets": lambda d: facets_hinge(d, lam=0.01, gamma=0.5, max_terms=2),
}


def drawn(seed: int) -> Design:
    """Rows whose labels follow a score, a few of them not."""
    rng = np.random.default_rng(seed)
    made = random_design(rng, 30, 3, [-1.0, 0.0, 0.5, 1.0, 2.0])
    score = made.X @ [2.0, -1.0, 0.5] + rng.normal(0, 1, 30)
    return replace(made, y=np.where(score > np.median(score), 1, -1))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_card_lies_below_it_and_the_relaxation_little_above(name: str, seed: int) -> None:
    program = PROGRAMS[name](drawn(seed))
    bound = hinge_bound(program.statement, Clock(60))
    best = solve(program, "highs")
    assert best.claim is Claim.OPTIMAL
    assert bound <= best.objective + 1e-9
    if name != "facets":  # whose prices are convex, and taken as straight
        assert bound >= 0.97 * solve(program.relaxed(), "highs").objective


def test_any_slopes_give_a_bound() -> None:
    rng = np.random.default_rng(4)
    program = PROGRAMS["demanded"](drawn(4))
    best, dual = solve(program, "highs").objective, _Dual(program.statement)
    bounds = [dual.bound(dual.most * rng.random(len(dual.most))) for _ in range(200)]
    assert max(bounds) <= best


def test_ranges_too_wide_to_list_and_other_losses_have_none() -> None:
    assert hinge_bound(hinge(drawn(0), coef_max=5000).statement, Clock(60)) == 0.0
    assert hinge_bound(slim(drawn(0)).statement, Clock(60)) == 0.0


def test_a_program_too_large_for_its_time_has_a_card_and_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    design = drawn(5)
    whole = solve(hinge(design, max_terms=2), "highs")
    monkeypatch.setattr(building, "POLICY", FormulationPolicy(seconds_per_row=1e4))
    _, found = fit_card(design, "hinge", max_terms=2, time_limit=60)
    assert "making and compiling the model takes about" in found.message
    assert found.bound_source == "evidence"
    assert found.verified
    assert 0 < found.dual_bound <= whole.objective <= found.objective
