"""Without a time limit, a node limit ends a run at the same point however fast its clock runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from designs import noisy

from milpscore.constraints import MaxFPR
from milpscore.core.clock import Clock
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result
from milpscore.formulations import hinge, risk_score, slim
from milpscore.solvers import engine, minimax, solve

DATA, WIDE = noisy(40, 3), noisy(60, 8, seed=1)
GROUPS = np.arange(40) % 3
SMALL: dict[str, Any] = {"coef_min": -2, "coef_max": 2}

RUNS: dict[str, tuple[str, Callable[[], Program]]] = {
    "tree, errors": ("tree", lambda: slim(WIDE, max_terms=4)),
    "tree, errors, limited": ("tree", lambda: slim(WIDE, constraints=[MaxFPR(0.3)])),
    "tree, risks": ("tree", lambda: risk_score(WIDE, max_terms=4)),
    "auto, errors": ("auto", lambda: slim(WIDE)),
    "highs, errors": ("highs", lambda: slim(DATA, **SMALL)),
    "highs, hinge": ("highs", lambda: hinge(WIDE, max_terms=3)),
    "highs, own": ("highs", lambda: minimax(slim(DATA, **SMALL), GROUPS)),
    "support tree": ("support_tree", lambda: hinge(WIDE, max_terms=3)),
    "tangents": ("outer_approximation", lambda: risk_score(WIDE, scale=1.0, max_terms=4)),
    "tangents, own": (
        "outer_approximation",
        lambda: minimax(risk_score(DATA, scale=1.0, **SMALL), GROUPS),
    ),
}


@pytest.mark.parametrize("nodes", [0, 3, 40])
@pytest.mark.parametrize("name", RUNS)
def test_a_node_limit_alone_leaves_nothing_to_the_clock(
    name: str, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver, state = RUNS[name]
    limits: dict[str, Any] = {"node_limit": nodes, "time_limit": math.inf}

    def facts() -> tuple[Any, ...]:
        result = solve(state(), solver, **limits)
        return (
            result.objective, result.dual_bound, result.nodes, result.claim, result.termination,
            result.card, result.message, result.bound_source, result.origin,
        )  # fmt: skip

    usual = facts()
    hand = itertools.count(0.0, 1000.0)
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: next(hand)))
    assert facts() == usual


def test_a_second_run_has_nodes_in_the_place_of_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> Result:
        program = hinge(WIDE, max_terms=3)
        return solve(program, "support_tree", node_limit=500, time_limit=math.inf)

    assert (run().claim, run().bound_source) == (Claim.OPTIMAL, "second")
    monkeypatch.setattr(engine, "POLICY", replace(engine.POLICY, again_share=0.0, again_nodes=0))
    alone = run()
    assert (alone.claim, alone.bound_source) == (Claim.OPTIMAL, "solver")
    assert alone.message.endswith("in 0 nodes")
