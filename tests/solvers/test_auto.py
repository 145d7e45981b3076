"""The engine that "auto" takes is never far behind one that can be named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from milpscore.constraints import AtMost
from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.data import make_design
from milpscore.formulations import FORMULATIONS
from milpscore.solvers import solve

ENGINES = ("tree", "highs", "support_tree", "outer_approximation")
NODES = 2_000
CARD, BOUND = 1.1, 0.5
"""Auto's objective is at most, its bound at least this multiple of the best engine's."""


def drawn(seed: int) -> Program:
    """A small program: limits, prices, both or neither, every third with a group of columns."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(20, 80)), int(rng.integers(4, 7))
    X = rng.integers(0, int(rng.integers(2, 5)), (rows, columns))
    z = X @ rng.integers(-3, 4, columns) + rng.normal(0, 2, rows)
    arguments: dict[str, Any] = {"l0_penalty": (0.0, 1e-3, 0.02)[seed % 3]}
    if seed % 2:
        arguments["max_terms"] = int(rng.integers(2, 6))
    if seed % 3 == 1:
        arguments["constraints"] = [AtMost(1, ["x0", "x1", "x2"])]
    form = ("slim", "hinge", "risk_score")[seed // 10]
    made = make_design(X, (z > np.median(z)).astype(int))
    return FORMULATIONS[form](made, coef_min=-3, coef_max=3, **arguments)


def answer(seed: int, solver: str) -> Result | None:
    """The answer of one engine on a program of its own; None where it does not apply."""
    limits: dict[str, Any] = {"node_limit": NODES, "time_limit": 600}
    try:
        return solve(drawn(seed), solver, second_opinion=False, progress=False, **limits)
    except NotApplicableError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_auto_is_never_far_behind_an_engine_that_can_be_named(seed: int) -> None:
    auto = answer(seed, "auto")
    named = [found for solver in ENGINES if (found := answer(seed, solver)) is not None]
    assert auto is not None
    assert auto.verified
    assert auto.objective <= CARD * min(found.objective for found in named) + 1e-9
    assert auto.dual_bound >= BOUND * max(found.dual_bound for found in named) - 1e-9


@pytest.mark.parametrize(("solver", "claim"), [("auto", "optimal"), ("highs", "feasible")])
def test_terms_beyond_what_highs_holds_end(solver: str, claim: str) -> None:
    # its presolve of 1.16.0 never ends beside a coefficient of 2e9
    made = make_design(np.array([[2000000001.0], [1.0], [1.0]]), np.array([1, -1, 1]))
    program = FORMULATIONS["slim"](made, coef_min=-100, coef_max=300, intercept_bounds=[-2, -1])
    found = solve(program, solver, time_limit=60, progress=False)
    assert found.claim.value == claim
    assert found.objective == pytest.approx(1 / 3 + 1e-3)
