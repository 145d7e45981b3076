"""Wide relaxations by gradient steps: bounds that hold, soon, and the same optimum."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tree_cases import set_policy

from milpscore.core.clock import Clock
from milpscore.core.program import Program
from milpscore.core.result import Claim, Termination
from milpscore.formulations import risk_score
from milpscore.solvers import solve
from milpscore.solvers.trees.risk import hulls, relaxation, tree
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.relaxation import Node, Relaxation
from milpscore.solvers.trees.risk.support_bounds import Enumeration


def table(n: int, p: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of 0 and 1, of which three matter."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p))
    chance = 1.0 / (1.0 + np.exp(1.0 - 2.0 * X[:, 0] + 1.5 * X[:, 1] - X[:, 2]))
    y = np.where(rng.uniform(size=n) < chance, 1, -1)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(p)]), y


CASES: dict[str, dict[str, Any]] = {
    "any scale": {},
    "scale 2": {"scale": 2},
    "forced": {"coef_sets": {"x3": [-2, -1, 1, 2]}},
    "priced": {"l0_penalty": 0.01},
    "poisson": {"loss": "poisson"},
    "no intercept": {"intercept": "zero"},
    "few intercepts": {"scale": 2, "intercept_bounds": (0, 1)},
}


def program_of(case: str, seed: int, away: float = 0.0) -> Program:
    """A program of eight columns, which may lie away from 0."""
    X, y = table(60, 8, seed)
    return risk_score(X + away, y, max_terms=2, coef_min=-2, coef_max=2, **CASES[case])


@pytest.mark.parametrize(
    ("case", "away"), [*((case, 0.0) for case in CASES), ("any scale", 1e4), ("scale 2", 1e3)]
)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_and_newton_have_the_same_optimum(
    case: str, away: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = solve(program_of(case, seed, away), "tree", progress=False)
    set_policy(monkeypatch, relaxation, newton_columns=3)
    again = solve(program_of(case, seed, away), "tree", progress=False)
    assert first.claim is again.claim is Claim.OPTIMAL
    assert again.objective == pytest.approx(first.objective, rel=2e-6)
    assert again.dual_bound <= first.objective * (1 + 1e-9)


@pytest.mark.parametrize("card", [True, False])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_and_newton_bound_the_root_alike(
    case: str, seed: int, card: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = program_of(case, seed)
    best = solve(program, "tree", progress=False).objective
    cutoff = best if card else math.inf
    bounds, values, solved = [], [], []
    descend = Relaxation._descend_by_gradients

    def counted(*arguments: Any) -> None:
        solved.append(arguments)
        descend(*arguments)

    monkeypatch.setattr(Relaxation, "_descend_by_gradients", counted)
    for columns in (300, 3):
        set_policy(monkeypatch, relaxation, newton_columns=columns)
        arrays = Arrays(program.statement)
        root = Node.root(arrays)
        with np.errstate(over="ignore"):
            Relaxation(arrays).solve(root, cutoff)
        bounds.append(root.bound)
        values.append(root.primal)
        assert columns == 3 or not solved
    assert solved or "scale" in CASES[case]  # at scale 2 three columns may be enough
    assert max(bounds) <= best * (1 + 1e-9)
    # each ends once a tenth of the room or less is missed, at slopes of its own choice
    if card:
        assert bounds[1] >= bounds[0] - 0.25 * (best - bounds[0])
    else:  # gradient steps end with a rough line while no card asks for more
        assert bounds[1] >= (1.0 - relaxation.POLICY.rough_share) * values[1] - 1e-9


def test_a_wide_root_has_a_bound_above_0() -> None:
    X, y = table(900, 320, 0)
    program = risk_score(X, y, max_terms=3, coef_min=-5, coef_max=5, scale="auto")
    result = solve(program, "tree", node_limit=1, progress=False)
    assert 0.2 * result.objective < result.dual_bound <= result.objective


@pytest.mark.parametrize("seed", range(3))
def test_the_first_line_of_a_tall_table_bounds_every_scale(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = risk_score(*table(600, 12, seed), max_terms=3, coef_min=-5, coef_max=5)
    best = solve(program, "tree", progress=False).objective
    set_policy(monkeypatch, relaxation, rounds=1, temperings=0)
    arrays = Arrays(program.statement)
    root = Node.root(arrays)
    assert Relaxation(arrays).solve(root, math.inf)
    assert 0.9 * best <= root.bound <= best


@pytest.mark.parametrize("seed", range(3))
def test_gradient_steps_heed_the_spread_of_columns(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as many steps of one length for all columns end far from the optimum
    X, y = table(300, 12, seed)
    program = risk_score(
        X * (1 + 19 * (np.arange(12) % 3 == 2)), y, max_terms=3, coef_min=-5, coef_max=5
    )
    best = solve(program, "tree", progress=False).objective
    set_policy(monkeypatch, relaxation, newton_columns=3, gradient_steps=60)
    root = Node.root(Arrays(program.statement))
    assert Relaxation(Arrays(program.statement)).solve(root, best)
    assert 0.9 * best <= root.bound <= best


def test_a_wide_root_starts_at_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    set_policy(monkeypatch, relaxation, newton_columns=3)
    program = risk_score(*table(200, 8, 0), max_terms=3, coef_min=-5, coef_max=5, scale="auto")
    starts: list[tuple[Node, Any]] = []
    consider = tree.RiskTree.consider

    def seen(self: Any, node: Node) -> bool:
        if not starts:
            starts.append((node.child(), self.cards.best.card))
        return consider(self, node)

    monkeypatch.setattr(tree.RiskTree, "consider", seen)
    solve(program, "tree", node_limit=1, progress=False)
    (root, card), X = starts[0], program.statement.design.X
    scores = (X @ card.coefficients + float(card.intercept)) / float(card.scale)
    np.testing.assert_allclose(root.s_hi * (X @ root.w) + root.b, scores, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tables_are_stored_by_columns(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(50, 7))
    middle = X.mean(axis=0)
    set_policy(monkeypatch, hulls, dense_entries=20)  # blocks of three rows
    by_columns = hulls.by_columns(X, dtype, middle)
    assert by_columns.flags.f_contiguous
    assert by_columns.dtype == dtype
    np.testing.assert_array_equal(by_columns, (X - middle).astype(dtype))


def test_separable_rows_end() -> None:
    # there is no bound above 0, and steps of single precision gain nothing at last
    X, y = table(60, 320, 0)
    program = risk_score(X, y, max_terms=3, coef_min=-5, coef_max=5, scale="auto")
    result = solve(program, "tree", node_limit=3, progress=False)
    assert result.verified
    assert 0.0 <= result.dual_bound <= result.objective


def test_a_long_turn_of_supports_reads_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    # a node of many columns may take many seconds, and supports have as long a turn
    seconds, asked = [0.0], []
    advance = Enumeration.advance

    def slow(self: Enumeration, cutoff: float, work: float) -> bool:
        asked.append(work - self.work)
        seconds[0] += 10.0 * len(asked)
        return advance(self, cutoff, work)

    monkeypatch.setattr(Clock, "now", staticmethod(lambda: seconds[0]))
    monkeypatch.setattr(Enumeration, "advance", slow)
    set_policy(monkeypatch, relaxation, entry_cost=1e9)
    X, y = table(400, 40, 0)
    program = risk_score(X, y, max_terms=5, coef_min=-5, coef_max=5, scale="auto")
    result = solve(program, "tree", time_limit=25, progress=False)
    assert result.termination is Termination.TIME_LIMIT
    assert len(asked) == 2
    assert max(asked) <= tree.POLICY.glance
