"""The tree search behind ``solve``: what it takes, what it refuses, and what it claims."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from designs import design
from tree_cases import set_policy

from milpscore.constraints import AtMost, Exclude, Include, MaxFPR, Sign
from milpscore.core.card import Card
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Claim, Termination, TracePoint
from milpscore.formulations import hinge, risk_score, slim
from milpscore.solvers import load, solve
from milpscore.solvers.trees.risk import tree as risk
from milpscore.solvers.trees.zero_one import tree as zero_one
from milpscore.verify import evaluate


def table(seed: int = 0, n: int = 60, p: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, p))
    y = (X @ np.array([2, -1, 0, 1])[:p] + rng.normal(size=n) > 1).astype(int)
    return X, y


def program(seed: int = 0, **arguments: Any) -> Any:
    return risk_score(*table(seed), **{"scale": 1.0, "coef_min": -2, "coef_max": 2, **arguments})


def brute(made: Any) -> float:
    """The least objective over every card, the best intercept by the loss itself."""
    statement = made.statement
    ranges = [range(a, b + 1) for a, b in zip(statement.coef_min, statement.coef_max, strict=True)]
    cards = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(ranges))
    if statement.max_terms is not None:
        cards = cards[(cards != 0).sum(axis=1) <= statement.max_terms]
    rows = statement.design.merged
    _, losses = statement.loss.best_intercepts(
        rows.X @ cards.T.astype(float), rows.y, rows.weight, statement.intercept
    )
    penalties = np.array([statement.penalty(w) for w in cards])
    return float((losses + penalties).min())


CASES: list[dict[str, Any]] = [
    {},
    {"max_terms": 2},
    {"scale": 2.5},
    {"loss": "squared"},
    {"loss": "poisson"},
    {"intercept": "real"},
    {"intercept": "zero"},
    {"penalty": "l1", "lam": 0.02},
    {"penalty": "l2", "lam": 0.02},
    {"penalty": "facets", "lam": 0.02},
    {"penalty": "eye", "lam": 0.05, "expert": [1, 0, 0, 1]},
    {"l0_penalty": 0.05},
    {"class_weight": "balanced", "max_terms": 3},
]


@pytest.mark.parametrize("arguments", CASES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_brute_force(seed: int, arguments: dict[str, Any]) -> None:
    made = program(seed, **arguments)
    result = solve(made, "tree")
    assert result.claim is Claim.OPTIMAL
    assert result.solver == "tree"
    assert result.bound_source == "evidence"
    assert result.verified
    best = brute(made)
    assert result.objective == pytest.approx(best, abs=1e-7)
    assert result.dual_bound <= best + 1e-9
    assert result.objective == evaluate(made.statement, result.card).objective  # type: ignore[arg-type]


def test_a_start_is_taken_or_refused_with_the_reason() -> None:
    made = program(max_terms=2)
    first = solve(made, "tree")
    again = solve(made, "tree", warm_start=first)
    assert again.warm_start == "accepted"
    assert again.objective == first.objective
    too_many = solve(made, "tree", warm_start=Card(np.array([1, 1, 1, 0]), 0))  # type: ignore[arg-type]
    assert too_many.warm_start.startswith("rejected: 3 terms")
    assert too_many.objective == first.objective


def test_no_time_gives_the_empty_card() -> None:
    result = solve(program(), "tree", time_limit=0)
    assert result.termination is Termination.TIME_LIMIT
    assert result.claim is Claim.FEASIBLE
    assert result.terms == 0


def test_a_node_limit_leaves_a_valid_bound() -> None:
    made = program(2)
    result = solve(made, "tree", node_limit=1)
    assert result.termination is Termination.NODE_LIMIT or result.claim is Claim.OPTIMAL
    assert result.dual_bound <= brute(made) + 1e-9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.add_component("mine", pyo.Constraint(expr=m.w[0] >= 1)), "mine was added"),
        (lambda m: m.w[1].fix(0), r"w\[1\] is fixed"),
        (lambda m: m.w[1].setub(1), r"bounds of w\[1\] were changed"),
        (lambda m: m.objective.deactivate(), "objective was taken away"),
    ],
)
def test_what_a_user_changed_is_refused_by_name(change: Any, said: str) -> None:
    made = program()
    change(made.model)
    with pytest.raises(NotApplicableError, match=said):
        solve(made, "tree")


def test_other_losses_and_relaxations_are_refused() -> None:
    X, y = table()
    with pytest.raises(NotApplicableError, match="hinge loss"):
        solve(hinge(X, y), "tree")
    with pytest.raises(NotApplicableError, match="exact programs"):
        solve(program().relaxed(), "tree")


def test_a_session_is_read_as_its_program() -> None:
    made = program(max_terms=2)
    assert solve(load(made), "tree").objective == solve(made, "tree").objective


def test_weights_changed_in_place_are_those_of_the_search() -> None:
    made = program(l0_penalty=0.01, penalty="l2", lam=0.01)
    made.set(lam=0.5, l0_penalty=0.2)
    fresh = program(l0_penalty=0.2, penalty="l2", lam=0.5)
    assert solve(made, "tree").objective == pytest.approx(solve(fresh, "tree").objective)


@pytest.mark.parametrize("rules", [[], [AtMost(1, ["x1", "x2"])]], ids=["free", "constrained"])
def test_processes_find_the_same_card(rules: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    set_policy(monkeypatch, risk, alone=0.0)
    made = program(3, max_terms=3, penalty="l2", lam=0.01, constraints=rules)
    alone = solve(made, "tree")
    shared, again = (solve(made, "tree", threads=2) for _ in range(2))
    assert alone.claim is shared.claim is Claim.OPTIMAL
    assert shared.card == alone.card
    assert shared.objective == alone.objective
    assert (again.card, again.dual_bound, again.nodes) == (
        shared.card,
        shared.dual_bound,
        shared.nodes,
    )


def test_processes_count_the_same_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    set_policy(monkeypatch, zero_one, alone=0.0)
    made = slim(*table(), max_terms=2)
    alone, shared = (solve(made, "tree", threads=k) for k in (1, 2))
    assert alone.claim is shared.claim is Claim.OPTIMAL
    assert (shared.card, shared.nodes) == (alone.card, alone.nodes)


def test_the_zero_one_tree_stops_at_the_gap_asked_for() -> None:
    X, y = table(5, n=200)
    made = slim(X, np.random.default_rng(0).permutation(y), coef_min=-4, coef_max=4)
    whole, part = solve(made, "tree"), solve(made, "tree", mip_gap=0.4)
    assert whole.claim is Claim.OPTIMAL
    assert part.nodes < whole.nodes
    assert part.claim is Claim.GAP
    assert (whole.termination, part.termination) == (
        Termination.COMPLETED,
        Termination.GAP_REACHED,
    )
    assert solve(made, "tree", mip_gap_abs=0.1).termination is Termination.GAP_REACHED
    assert solve(made, "tree", mip_gap=1e-9).termination is Termination.COMPLETED
    assert 0 < part.gap <= 0.4
    assert part.dual_bound <= whole.objective <= part.objective


def test_interrupts_keep_the_best_card() -> None:
    def stop(point: Any) -> None:
        raise KeyboardInterrupt

    result = solve(program(1), "tree", callback=stop)
    assert result.termination is Termination.INTERRUPTED
    assert result.verified


@pytest.mark.parametrize("name", ["tree", "highs", "support_tree", "outer_approximation"])
def test_a_callback_that_returns_true_stops_the_solve(name: str) -> None:
    seen: list[Any] = []

    def enough(point: Any) -> bool:
        seen.append(point)
        return len(seen) >= 2

    X, y = table(5, n=200)
    y = np.random.default_rng(0).permutation(y)
    form = risk_score if name == "outer_approximation" else slim
    result = solve(form(X, y, max_terms=4), name, callback=enough)
    assert result.termination is Termination.INTERRUPTED
    assert result.message.endswith("the solve was interrupted")
    assert result.verified
    assert result.dual_bound <= result.objective
    stopped = solve(program(1), "tree", callback=lambda point: np.True_)
    assert stopped.termination is Termination.INTERRUPTED
    # a number does not stop a solve
    assert solve(program(1), "tree", callback=lambda point: 1).claim is Claim.OPTIMAL


@pytest.mark.parametrize("form", [risk_score, slim])
def test_the_tree_writes_a_log(form: Any, tmp_path: Path) -> None:
    path = tmp_path / "tree.log"
    points: list[TracePoint] = []
    made = form(*table(1), coef_min=-2, coef_max=2)
    result = solve(made, "tree", log_file=path, callback=points.append)
    head, *lines = path.read_text().splitlines()
    assert head.split() == ["seconds", "nodes", "open", "depth", "best", "bound", "gap"]
    assert max(point.depth for point in points) > 1
    assert all(int(line.split()[3]) >= 0 for line in lines)
    best = [float(line.split()[4]) for line in lines]
    assert best == sorted(best, reverse=True)
    assert best[-1] == pytest.approx(result.objective, rel=1e-6)
    assert all(float(line.split()[5]) <= float(line.split()[4]) + 1e-9 for line in lines)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"max_terms": 2, "l0_penalty": 0.01},
        {"l1_penalty": 0.003},
        {"class_weight": "balanced", "max_terms": 3},
        {"coef_sets": {"x0": [0, 1, 3]}},
    ],
    ids=str,
)
def test_slim_by_the_tree_is_slim_by_highs(seed: int, arguments: dict[str, Any]) -> None:
    X, y = table(seed, n=40, p=4)
    made = slim(X, y, **{"coef_min": -2, "coef_max": 2, **arguments})
    tree, highs = solve(made, "tree"), solve(made, "highs")
    assert tree.claim is Claim.OPTIMAL
    assert highs.claim is Claim.OPTIMAL
    assert tree.objective == pytest.approx(highs.objective, abs=1e-9)
    assert tree.bound_source == "evidence"


@pytest.mark.parametrize("seed", range(12))
def test_slim_on_a_grid_too_fine_for_highs(seed: int) -> None:
    """Decimals are compared exactly: the bound is over all cards, whatever HiGHS tells apart."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 16))
    X = np.column_stack([rng.normal(0, 500, n).round(4), rng.integers(-9, 9, n) / 10_000])
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    bounds = None if seed % 3 else sorted(rng.normal(0, 300, 2).tolist())
    made = slim(design(X, y), coef_min=-2, coef_max=2, l0_penalty=0.01, intercept_bounds=bounds)
    rule = made.statement.intercept
    assert rule.kind == "real"
    least = math.inf
    for w in itertools.product(range(-2, 3), repeat=2):
        totals = [sum(Fraction(repr(v)) * c for v, c in zip(x, w, strict=True)) for x in X.tolist()]
        cuts = {-rule.lower, -rule.upper, *(t + d for t in totals for d in (0, Fraction(1, 10**6)))}
        for cut in cuts:
            if rule.allows(-cut):
                wrong = sum((t >= cut) != (label > 0) for t, label in zip(totals, y, strict=True))
                least = min(least, wrong / n + 0.01 * np.count_nonzero(w))
    result = solve(made, "tree", time_limit=60)
    assert (result.claim, result.caveat) == (Claim.OPTIMAL, "")
    assert result.objective == pytest.approx(least, abs=1e-12)
    assert rule.allows(result.card.intercept)


@pytest.mark.parametrize("seed", range(8))
def test_slim_on_no_grid_at_all(seed: int) -> None:
    """Floats are compared to their last digit, where many totals differ in that alone."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 14))
    value = rng.normal(size=n) * 10.0 ** rng.integers(-6, 3)
    near = value * (1.0 + rng.integers(-2, 3, n) * 2.0**-52) if seed % 2 else rng.normal(size=n)
    X = np.column_stack([value, near, rng.integers(0, 2, n)])
    X[rng.random(X.shape) < 0.2] = value[0]
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    least = math.inf
    for w in itertools.product(range(-2, 3), repeat=3):
        rows = zip(X.tolist(), y.tolist(), strict=True)
        totals = [(sum(Fraction(v) * c for v, c in zip(x, w, strict=True)), t) for x, t in rows]
        for cut in (*(total for total, _ in totals), math.inf):
            wrong = sum((total >= cut) != (label > 0) for total, label in totals)
            least = min(least, wrong / n + 0.01 * np.count_nonzero(w))
    made = slim(design(X, y), coef_min=-2, coef_max=2, l0_penalty=0.01)
    answer = zero_one.search(made.statement)
    assert answer.termination is Termination.COMPLETED
    assert answer.bound == pytest.approx(least, abs=1e-9)
    assert answer.objective == pytest.approx(least, abs=1e-12)


def test_slim_of_too_many_digits_is_refused() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)) * (1.0, 1e-60), rng.integers(0, 2, 30)
    with pytest.raises(NotApplicableError, match="digit"):
        solve(slim(X, y, threshold_gap=1e-3), "tree")


RULES = [
    AtMost(1, ["x0", "x1"]),
    Include(["x2"]),
    Sign(["x1"], "positive"),
    MaxFPR(0.1),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("build", [slim, risk_score])
def test_constraints_are_kept_and_proved(build: Any, rule: Any) -> None:
    X, y = table(3, n=40, p=3)
    made = build(X, y, coef_min=-2, coef_max=2, constraints=[rule])
    other = "highs" if build is slim else "outer_approximation"
    tree, second = solve(made, "tree"), solve(made, other)
    assert tree.claim is Claim.OPTIMAL
    assert tree.card is not None
    assert not made.statement.violations(tree.card)
    assert tree.objective == pytest.approx(second.objective, abs=2e-6)


def test_a_conflict_is_named() -> None:
    X, y = table(n=40, p=3)
    made = risk_score(X, y, constraints=[Include(["x2"]), Exclude(["x2"])])
    result = solve(made, "tree")
    assert result.claim is Claim.NONE
    assert "smallest conflicting subset" in result.message
    assert "x2 must have points" in result.message


def test_auto_takes_the_tree_unless_the_model_was_changed() -> None:
    made = program(max_terms=2)
    assert solve(made).solver == "tree"
    made.model.mine = pyo.Constraint(expr=made.model.w[0] >= 1)
    changed = solve(made)
    assert changed.solver == "outer_approximation"
    assert changed.card is not None
    assert changed.card.coefficients[0] >= 1


@pytest.mark.parametrize("solver", ["tree", "outer_approximation"])
def test_the_engines_are_each_others_second_opinion(solver: str) -> None:
    made = program(max_terms=2)
    result = solve(made, solver, second_opinion=True)
    assert result.second_opinion is not None
    assert {result.solver, result.second_opinion.solver} == {"tree", "outer_approximation"}
    assert result.second_opinion.relative_difference <= 1e-6
    assert result.claim is Claim.OPTIMAL
    assert made.card() == result.card
