"""Two searches under the 0-1 loss in turns: long walks, and supports with signs."""

from __future__ import annotations

import math
from typing import Any

import pytest
from test_tree_zero_one import (
    check,
    optimum,
    random_problem,
    search_zero_one,
    without_local_search,
)
from tree_cases import set_policy

from milpscore.solvers.trees.zero_one import tree as zero_one
from milpscore.solvers.trees.zero_one.pair_bounds import SignedSupports
from milpscore.solvers.trees.zero_one.support_bounds import Supports


@pytest.mark.parametrize("group", range(3))
def test_two_searches_in_turns_find_the_optimum(
    group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long walks and supports with signs, a few entries at a time; a pool loses no card."""
    without_local_search(monkeypatch)
    set_policy(monkeypatch, zero_one, turns_after=-1.0, turn_entries=0.0, turns_below=math.inf)
    set_policy(monkeypatch, zero_one, clock_interval=20)
    turns: list[Any] = []
    step = zero_one.ZeroOneSearch.step
    monkeypatch.setattr(
        zero_one.ZeroOneSearch,
        "step",
        lambda s: (turns.append(type(s.lane.supports)) if s.lanes[1:] else None, step(s))[1],
    )
    pools = 0
    for seed in range(9000 + 25 * group, 9025 + 25 * group):
        problem = random_problem(seed)
        best = optimum(problem)
        check(problem, search_zero_one(problem), best)
        if math.isfinite(best) and seed % 5 == 0:
            found = []
            for walked in (-1.0, math.inf):
                set_policy(monkeypatch, zero_one, turns_after=walked)
                cards = zero_one.search_all(problem.statement, cutoff=best + 0.06).cards
                found.append({(*c.coefficients.tolist(), float(c.threshold)) for c in cards})
            set_policy(monkeypatch, zero_one, turns_after=-1.0)
            assert found[0] == found[1]
            pools += len(found[0])
    assert {Supports, SignedSupports} == set(turns)
    assert pools > 5
