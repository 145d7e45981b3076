"""The tree for the 0-1 loss against every card of tiny problems, its bounds, limits, interrupts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from designs import design
from tree_cases import Rule, set_policy, with_sets

from milpscore.constraints import (
    AtLeast,
    EitherOr,
    Exactly,
    Implies,
    MaxErrors,
    MaxFeatures,
    MaxFPR,
    MinTPR,
)
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.errors import OptionError
from milpscore.core.result import Termination, TracePoint
from milpscore.core.statement import InterceptRule, Statement
from milpscore.formulations import slim
from milpscore.losses import ZeroOne
from milpscore.penalties import L0, L1
from milpscore.solvers import solve
from milpscore.solvers.trees.shared.answer import Answer, Limits
from milpscore.solvers.trees.zero_one import pair_bounds, tree as zero_one
from milpscore.solvers.trees.zero_one.pair_bounds import IN, OPEN, OUT, SignedSupports, clip
from milpscore.solvers.trees.zero_one.rows import Patterns
from milpscore.solvers.trees.zero_one.support_bounds import Counted, Supports
from milpscore.solvers.trees.zero_one.weight_walk import FINISHED, FOUND, Walk
from milpscore.verify import evaluate

ROUNDING = 1e-9
"""Weights on no grid are rounded down, bounds with them."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What a statement under the 0-1 loss is made of; whole X, thresholds None for no limit."""

    X: Any
    y: Any
    lower: Any
    upper: Any
    sample_weight: Any = None
    sets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    max_terms: int | None = None
    l0_penalty: float = 0.0
    l1_penalty: float = 0.0
    t_lower: int | None = None
    t_upper: int | None = None
    rule: Rule | None = None

    @property
    def terms(self) -> int:
        p = self.X.shape[1]
        return int(p if self.max_terms is None else min(self.max_terms, p))

    @property
    def weight(self) -> Any:
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight

    def choices(self, j: int) -> Any:
        values = self.sets.get(j, range(int(self.lower[j]), int(self.upper[j]) + 1))
        return np.array(sorted(values), dtype=np.int64)

    @property
    def threshold_range(self) -> tuple[int, int]:
        sizes = np.maximum(*(np.abs(end) for end in with_sets(self)))
        most = int((np.abs(self.X).max(axis=0, initial=0) * sizes).sum()) + 3
        return (
            -most if self.t_lower is None else self.t_lower,
            most if self.t_upper is None else self.t_upper,
        )

    @property
    def statement(self) -> Statement:
        low, high = self.threshold_range
        lower, upper = with_sets(self)
        return Statement(
            formulation="test",
            design=design(self.X, self.y, self.sample_weight),
            loss=ZeroOne(),
            penalties=(L0(self.l0_penalty), L1(self.l1_penalty)),
            coef_min=lower,
            coef_max=upper,
            intercept=InterceptRule("grid", Fraction(-high), Fraction(-low), Fraction(1)),
            coef_sets=dict(self.sets),
            max_terms=self.max_terms,
            constraints=() if self.rule is None else (self.rule,),
        )

    def allows(self, w: Any, threshold: int) -> bool:
        fine = all(int(v) in self.choices(j) for j, v in enumerate(w))
        low, high = self.threshold_range
        return fine and int(np.count_nonzero(w)) <= self.terms and low <= threshold <= high

    def error_weight(self, w: Any, threshold: int) -> float:
        answer = np.where(self.X @ w >= threshold, 1, -1)
        return math.fsum(self.weight[answer != self.y])

    def objective(self, w: Any, threshold: int) -> float:
        penalty = self.l0_penalty * np.count_nonzero(w) + self.l1_penalty * np.abs(w).sum()
        return self.error_weight(w, threshold) / math.fsum(self.weight) + float(penalty)


def search_zero_one(problem: Problem, start: Any = None, listener: Any = None,
                    **limits: Any) -> Answer:  # fmt: skip
    """The tree's answer to a problem; a start is (w, T)."""
    card = None if start is None else Card(start[0], -start[1])
    listeners = () if listener is None else (listener,)
    return zero_one.search(problem.statement, Limits(**limits), start=card, listeners=listeners)


def card_of(answer: Answer) -> tuple[Any, int]:
    """The coefficients and the threshold found."""
    assert answer.card is not None
    return answer.card.coefficients, int(answer.card.threshold)


def columns(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Bits, small numbers or wide ones, at times with a constant, equal or mirrored column."""
    low, high = [(0, 2), (-2, 3), (0, 8), (-50, 50_000)][rng.integers(4)]
    X = rng.integers(low, high, size=(n, p))
    if p and rng.random() < 0.2:
        X[:, rng.integers(p)] = rng.integers(-2, 3)
    if p > 1 and rng.random() < 0.3:
        a, b = rng.integers(p, size=2)
        X[:, a] = rng.integers(-3, 4) + rng.choice([-1, 1]) * X[:, b]
    return X


def ranges(rng: np.random.Generator, p: int) -> dict[str, Any]:
    """Signed, one-sided, forced and fixed ranges, and sets with or without 0."""
    most = 3 if p < 4 else 2
    kinds = [(-most, most), (-most, most), (0, most), (-most, 0), (1, 4), (0, 0)]
    chosen = np.array([kinds[rng.integers(6)] for _ in range(p)], dtype=np.int64).reshape(p, 2)
    sets = {
        j: tuple(sorted(set(rng.integers(-6, 7, rng.integers(1, 5)).tolist())))
        for j in range(p)
        if rng.random() < 0.15
    }
    return {"lower": chosen[:, 0], "upper": chosen[:, 1], "sets": sets}


def weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """None, whole (some 0), decimal, or on no grid."""
    kind = rng.integers(5)
    if kind < 2:
        return None
    drawn = [rng.integers(0, 4, n), rng.integers(1, 90, n) / 100, rng.random(n)][kind - 2]
    return np.asarray(drawn, dtype=float) if drawn.sum() > 0 else None


def random_problem(seed: int, **given: Any) -> Problem:
    """One of many kinds of tiny problems."""
    rng = np.random.default_rng(seed)
    n, p = (
        int(rng.integers(1, 22)),
        int(rng.choice([0, 1, 2, 3, 3, 3, 4], p=[0.02, *[0.98 / 6] * 6])),
    )
    values = {
        "X": columns(rng, n, p),
        "y": rng.choice([-1, 1], n),
        **ranges(rng, p),
        "sample_weight": weights(rng, n),
        "max_terms": int(rng.integers(0, p + 1)) if rng.random() < 0.5 else None,
        "l0_penalty": float(rng.choice([0.0, 1e-3, 0.05])),
        "l1_penalty": float(rng.choice([0.0, 0.0, 1e-3, 0.05])),
    }
    kind = rng.integers(6)
    if kind == 0:
        values["t_lower"], values["t_upper"] = sorted(rng.integers(-9, 10, 2).tolist())
    elif kind == 1:
        values["t_lower"] = int(rng.integers(-5, 5))
    elif kind == 2:
        values["t_upper"] = int(rng.integers(-5, 5))
    return Problem(**{**values, **given})


def optimum(problem: Problem) -> float:
    """The least objective over every w and T that can matter; infinite where no card is allowed."""
    choices = [problem.choices(j) for j in range(problem.X.shape[1])]
    shape = (math.prod(len(values) for values in choices), len(choices))
    cards = np.array(list(itertools.product(*choices)), dtype=np.int64).reshape(shape)
    cards = cards[np.count_nonzero(cards, axis=1) <= problem.terms]
    if not len(cards):
        return math.inf
    low, high = problem.threshold_range
    totals = cards @ problem.X.T
    ends = np.tile([low, high], (len(cards), 1))
    cuts = np.c_[totals, totals.max(axis=1) + 1, ends]
    if problem.rule is not None:
        cuts = np.tile(np.arange(low, high + 1), (len(cards), 1))
    wrong = (totals[:, None, :] >= cuts[:, :, None]) != (problem.y > 0)
    penalty = problem.l0_penalty * np.count_nonzero(cards, axis=1)
    penalty = penalty + problem.l1_penalty * np.abs(cards).sum(axis=1)
    objectives = wrong @ problem.weight / problem.weight.sum() + penalty[:, None]
    allowed = (cuts >= low) & (cuts <= high)
    if problem.rule is not None:
        asked = [[problem.rule.accept(w, -float(cut)) for cut in cuts[0]] for w in cards]
        allowed &= np.array(asked, dtype=bool)
    return float(objectives[allowed].min(initial=math.inf))


def check(problem: Problem, answer: Answer, best: float) -> None:
    """The answer is an optimum, its own figures agree, and no moment's bound passes the optimum."""
    if math.isinf(best):
        assert answer.card is None
        assert answer.termination is Termination.INFEASIBLE
        return
    assert answer.termination is Termination.COMPLETED
    assert problem.allows(*card_of(answer))
    assert answer.objective == pytest.approx(problem.objective(*card_of(answer)), abs=1e-15)
    assert best - ROUNDING <= answer.bound <= answer.objective <= best + ROUNDING
    bounds_hold(answer, best)


def bounds_hold(answer: Answer, best: float) -> None:
    """At every moment bound <= optimum <= objective, and bounds never fall."""
    bounds = [point.dual_bound for point in answer.trace]
    assert bounds == sorted(bounds)
    assert max([*bounds, answer.bound]) <= best + 1e-12
    assert min([point.objective for point in answer.trace] + [answer.objective]) >= best - 1e-12


@pytest.mark.parametrize("group", range(10))
def test_optimum_equals_every_card_tried(group: int) -> None:
    for seed in range(40 * group, 40 * group + 40):
        problem = random_problem(seed)
        check(problem, search_zero_one(problem), optimum(problem))


def without_local_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """No card but those that the tree meets."""
    monkeypatch.setattr(zero_one.CoordinateDescent, "run", lambda *_: None)
    monkeypatch.setattr(zero_one, "fast_cards", lambda *_: (None, None))


@pytest.mark.parametrize("group", range(5))
def test_optimum_without_a_local_search(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree finds every card itself, opening supports before all are seen."""
    without_local_search(monkeypatch)
    walked = 0
    for seed in range(1000 + 40 * group, 1040 + 40 * group):
        problem = random_problem(seed)
        answer = search_zero_one(problem, most_open=1 + seed % 3)
        check(problem, answer, optimum(problem))
        walked += answer.nodes
    assert walked > 500


@pytest.mark.parametrize("group", range(10))
def test_signed_supports_find_the_optimum(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the start, from or up to a change of supports; with weights on a grid or none."""
    without_local_search(monkeypatch)
    set_policy(monkeypatch, zero_one, pairs_share=0.0)
    seen, begun = 0, []
    again = zero_one.ZeroOneSearch._begin_again
    monkeypatch.setattr(
        zero_one.ZeroOneSearch,
        "_begin_again",
        lambda s, new: (begun.append(type(new.supports)), again(s, new)),
    )
    for seed in range(5000 + 40 * group, 5040 + 40 * group):
        rng = np.random.default_rng(seed)
        rule = Rule(lambda w, b: (int(w.sum()) - int(b)) % 2 == 0)
        limited = {"t_lower": -12, "t_upper": 12, "rule": rule} if rng.random() < 0.2 else {}
        problem = random_problem(seed, **limited)
        always, weak = 1e9 if seed % 4 == 0 else -1.0, math.inf if seed % 4 == 1 else -1.0
        set_policy(monkeypatch, zero_one, many_open=0)
        set_policy(monkeypatch, zero_one, enumerate_always=always, enumerate_if_pairs_weak=weak)
        answer = search_zero_one(problem, most_open=1 + seed % 30)
        check(problem, answer, optimum(problem))
        seen += answer.supports
    assert seen > 30
    assert {Supports, SignedSupports} == set(begun)


def two_valued(seed: int) -> Problem:
    """A problem on columns of two values, some equal, mirrored or without a choice."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 60)), int(rng.integers(3, 7))
    X = rng.choice([-1, 2], (n, p)) if seed % 3 else (rng.random((n, p)) < 0.3).astype(np.int64)
    X[0], X[1] = X.min(axis=0), X.max(axis=0)
    if seed % 4 == 0:
        X[:, 1] = X[:, 2] if seed % 8 else X.max() + X.min() - X[:, 2]
    forced = np.arange(p) == (p - 1 if seed % 5 == 0 else -1)
    return Problem(
        X,
        np.where(X @ rng.normal(size=p) + rng.logistic(size=n) > 0.3, 1, -1),
        np.where(forced, 1, -1),
        np.ones(p, np.int64),
        sample_weight=[None, 2.0 * rng.integers(1, 4, n), weights(rng, n)][seed % 3],
        max_terms=int(rng.integers(3, p + 1)),
        l0_penalty=[0.0, 0.01][seed % 2],
        l1_penalty=[0.0, 0.003][seed // 2 % 2],
    )


def supports_of(problem: Problem, limit: float, parts: bool) -> dict[tuple[int, ...], float]:
    """The supports below a limit, with their bounds; or those of the parts of a shared search."""
    supports, other = (Supports(Patterns(problem.statement)) for _ in range(2))
    found: list[Any] = []
    floors: list[tuple[int, float]] = []
    while supports.floor < math.inf:
        if parts and supports.size:
            while (part := supports.part(1)) is not None:
                found += other.bounded(part, limit)
        else:
            found += supports.more(limit)
        supports.commit()
        # what is seen from now on is not below the floor
        floors.append((len(found), supports.floor))
    for first, floor in floors:
        assert all(bound >= min(floor, limit) - 1e-12 for bound, *_ in found[first:])
    assert len({columns for _, columns, _ in found}) == len(found)
    return {tuple(sorted(columns)): bound for bound, columns, _ in found}


@pytest.mark.parametrize("seed", range(6))
def test_a_walk_stops_at_cards_within_the_limits_alone(seed: int) -> None:
    """Priced errors below the cutoff are not enough: a threshold keeps to limits and cutoff."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (30, 2)).astype(float)
    y = np.where(X @ [1.0, -1.0] + rng.normal(size=30) > 0.3, 1, -1)
    rules = [MaxFPR(0.2)] if seed % 2 else [MinTPR(0.8), MaxErrors("x0 >= 1", share=0.3)]
    data = design(X, y, rng.choice([0.5, 1.0, 2.0], 30) if seed < 3 else None)
    statement = slim(data, coef_min=-3, coef_max=3, constraints=rules, l0_penalty=0.01).statement
    truth = Patterns(statement)
    priced = Patterns(statement, prices=[0.5] * len(truth.limits))
    for cutoff in (0.25, 0.5):
        walk, found = Walk(priced, np.arange(2), truth=truth), set()
        while walk.run(cutoff, 1 << 40, 1 << 40) == FOUND:
            found.add(tuple(walk.w.tolist()))
        expected = set()
        for w in itertools.product((-3, -2, -1, 1, 2, 3), repeat=2):
            totals = X @ w
            cards = [Card(np.array(w), -Fraction(t)) for t in {*totals, totals.max() + 1}]
            kept = [card for card in cards if not statement.violations(card)]
            if any(evaluate(statement, card).objective < cutoff - 1e-9 for card in kept):
                expected.add(w)
        assert expected == found


@pytest.mark.parametrize("group", range(4))
def test_counted_supports_are_those_that_rules_leave(
    group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None other of five or more columns is looked at, and none of those is lost."""
    rules = [AtLeast(2, ["x3", "x5", "x6"]), Exactly(2, ["x3", "x5", "x6"]),
             EitherOr("x2", "x6", both=True), MaxFeatures(3)]  # fmt: skip
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = (rng.random((40, 8)) < rng.uniform(0.3, 0.7, 8)).astype(float)
        y = np.where(X @ rng.integers(-2, 3, 8) + rng.normal(size=40) > 0.5, 1, -1)
        statement = slim(
            design(X, y), max_terms=5, constraints=[rules[group]], l0_penalty=0.0
        ).statement
        patterns = Patterns(statement)
        limit = 0.35 if seed % 2 else 1.0
        found, seen = [], []
        for counts in (True, False):
            with monkeypatch.context() as patch:
                if not counts:
                    patch.setattr(Counted, "applies", lambda *_: False)
                supports = Supports(patterns)
                assert supports.counted.applies(5) == counts
                some: Any = {}
                while supports.floor < math.inf:
                    some |= {tuple(sorted(each[1])): each[0] for each in supports.more(limit)}
                    supports.commit()
            found.append({each: bound for each, bound in some.items() if patterns.may_use(each)})
            seen.append(supports.seen)
            if counts and group < 3:
                assert all(patterns.may_use(each) for each in some if len(each) > 2)
        assert found[0] == pytest.approx(found[1], abs=1e-12)
        assert (seen[0] < seen[1]) == (group < 3)


@pytest.mark.parametrize("group", range(4))
def test_supports_are_counted_as_they_are_sorted(
    group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By bits and pattern by pattern the same supports have the same bound, below any card's."""
    counted = closed = 0
    for seed in range(30 * group, 30 * group + 30):
        problem = two_valued(seed)
        limit = math.inf if seed % 2 else optimum(problem) + 0.03
        found, parted = (supports_of(problem, limit, parts) for parts in (False, True))
        with monkeypatch.context() as patch:
            patch.setattr(Counted, "applies", lambda *_: False)
            expected = supports_of(problem, limit, False)
        assert found == parted
        assert found == pytest.approx(expected, abs=1e-12)
        patterns = Patterns(problem.statement)
        counted += Counted(patterns, Supports(patterns).forced).applies(3)
        closed += len(found) < len(supports_of(problem, math.inf, False))
        for card in itertools.product(*(problem.choices(j) for j in range(problem.X.shape[1]))):
            w = np.array(card)
            used = tuple(np.flatnonzero(w).tolist())
            if used in found:
                totals = problem.X @ w
                least = min(problem.objective(w, int(t)) for t in {*totals, totals.max() + 1})
                assert found[used] <= least + 1e-12
    assert counted > 10
    assert closed > 2


@pytest.mark.parametrize("group", range(4))
def test_signed_supports_lose_no_card_of_a_pool(
    group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = 0
    for seed in range(7000 + 20 * group, 7020 + 20 * group):
        problem = random_problem(seed)
        best = optimum(problem)
        if math.isinf(best):
            continue
        found = []
        for few, looks in ((4e9, 1 << 30), (-1.0, 1 << 30), (-1.0, 0)):
            set_policy(monkeypatch, zero_one, enumerate_always=few, enumerate_if_pairs_weak=-1.0)
            set_policy(monkeypatch, pair_bounds, pair_looks=looks)
            answer = zero_one.search_all(problem.statement, cutoff=best + 0.06)
            cards = {(*card.coefficients.tolist(), float(card.threshold)) for card in answer.cards}
            assert len(cards) == len(answer.cards)
            found.append(cards)
        assert found[0] == found[1] == found[2]
        met += len(found[0])
    assert met > 50


def least_of(problem: Problem, patterns: Patterns, state: Any) -> tuple[float, float]:
    """The least objectives of a node's cards: of those with more than what is in, and just that."""
    used = [*patterns.forced.tolist(), *patterns.candidates.tolist()]
    choices = [problem.choices(j) if j in used else [0] for j in range(problem.X.shape[1])]
    least = [math.inf, math.inf]
    for card in itertools.product(*choices):
        w = np.array(card, dtype=np.int64)
        free = w[patterns.candidates]
        literals = np.stack([free > 0, free < 0], axis=1)
        if np.count_nonzero(w) > problem.terms or (literals & (state == OUT)).any():
            continue
        if (literals | (state != IN)).all():
            totals = problem.X @ w
            value = min(problem.objective(w, int(t)) for t in {*totals, totals.max() + 1})
            just = not (literals & (state == OPEN)).any()
            least[just] = min(least[just], value)
    return least[0], least[1]


@pytest.mark.parametrize("group", range(10))
def test_pairs_of_rows_bound_every_card_of_a_node(group: int) -> None:
    """Whatever the pairs weigh, no card that has some literals and lacks others is below."""
    rng = np.random.default_rng(group)
    raised = closed = 0
    for seed in range(6000 + 40 * group, 6040 + 40 * group):
        problem = random_problem(seed, t_lower=None, t_upper=None)
        patterns = Patterns(problem.statement)
        supports = SignedSupports(patterns)
        if supports.spare < 1:
            continue
        pairs, state = supports.pairs, supports.root.copy()
        for turn in range(5):
            if turn < 3:
                pairs.solve(state, 3)
            else:  # any weights that leave no row with more than its own
                pairs.shares = rng.integers(0, 3 * pairs.parts, len(pairs.a))
                clip(pairs.a, pairs.b, pairs.weight * pairs.parts, pairs.shares)
            more, just = least_of(problem, patterns, state)
            bound = supports.bound(state, math.inf)[0]
            assert bound <= more + ROUNDING
            assert supports.exact(state) <= just + ROUNDING
            raised += bound > supports.fixed + supports.cost.max() + ROUNDING
            # literals are given up only where no card with them is below the limit
            limit = bound + 0.05 * rng.random() ** 2
            left = supports.bound(state, limit)[1]
            closed += int((left != state).sum())
            if more < limit - ROUNDING:
                assert least_of(problem, patterns, left)[0] == pytest.approx(more, abs=1e-12)
            c, side = rng.integers(len(state)), rng.integers(2)
            if state[c, side] == OPEN and (state == IN).sum() < supports.spare:
                state[c] = OUT if rng.random() < 0.7 else state[c]
                state[c, side] = IN if (state[c] == OUT).all() else OUT
    assert raised > 5
    assert closed > 0


@pytest.mark.parametrize(
    "rule",
    [AtLeast(2, ["x0", "x1", "x2"]), EitherOr("x3", "x4", both=True), Exactly(1, ["x0", "x3"]),
     Implies("x1", "x4"), MaxFeatures(2)],
    ids=str,
)  # fmt: skip
def test_supports_with_signs_keep_to_rules(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What rules ask for is decided first, nodes without it are dropped, the best card stays."""
    rng = np.random.default_rng(3)
    X = (rng.random((60, 5)) < 0.4).astype(float)
    y = X @ [0.0, 2.0, -1.0, 1.0, -2.0] + rng.logistic(size=60) > 0.3
    program = slim(X, y.astype(int), max_terms=3, coef_min=-2, coef_max=2, constraints=[rule])
    statement = program.statement
    points = (np.array(w) for w in itertools.product(range(-2, 3), repeat=5))
    cards = [
        statement.with_best_intercept(w)
        for w in points
        if np.count_nonzero(w) <= 3 and statement.allows(w[None, :])[0]
    ]
    best = min(evaluate(statement, card).objective for card in cards)
    set_policy(monkeypatch, zero_one, enumerate_always=-1.0, enumerate_if_pairs_weak=-1.0)
    result = solve(program, "tree", progress=False)
    assert str(result.claim) == "optimal"
    assert result.objective == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("group", range(3))
def test_user_constraints_hold(group: int) -> None:
    for seed in range(30 * group, 30 * group + 30):
        modulus = 2 + seed % 3
        problem = random_problem(
            2000 + seed,
            t_lower=-12,
            t_upper=12,
            rule=Rule(lambda w, b, modulus=modulus: (int(w.sum()) - int(b)) % modulus == 0),
        )
        answer = search_zero_one(problem)
        check(problem, answer, optimum(problem))
        if answer.card is not None:
            w, threshold = card_of(answer)
            assert (int(w.sum()) + threshold) % modulus == 0


def test_nothing_accepted_is_infeasible() -> None:
    problem = random_problem(3, t_lower=-3, t_upper=3, rule=Rule(lambda *_: False))
    answer = search_zero_one(problem)
    assert answer.termination is Termination.INFEASIBLE
    assert answer.card is None
    assert math.isinf(answer.objective)


def test_totals_that_span_too_much_are_sorted() -> None:
    """Values far apart take the road without curves, to the same optimum."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 10**9, (25, 3))
    y = np.where(X @ [2, -1, 3] + rng.integers(0, 10**9, 25) > 3 * 10**9, 1, -1)
    problem = Problem(X, y, np.full(3, -3), np.full(3, 3), l0_penalty=1e-3)
    assert Walk(Patterns(problem.statement), np.arange(3)).curves is None
    check(problem, search_zero_one(problem), optimum(problem))


@pytest.mark.parametrize("seed", range(6))
def test_a_walk_counts_the_errors_that_its_columns_cannot_part(seed: int) -> None:
    """Once it left them out, and met every card of a support that was none below the cutoff."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (40, 5)), rng.choice([-1, 1], 40)
    patterns = Patterns(Problem(X, y, np.full(5, -3), np.full(5, 3)).statement)
    columns = np.array([0, 2])
    cards = zero_one.CardKeeper(patterns)
    for w in itertools.product([-3, -2, -1, 1, 2, 3], repeat=2):
        cards.offer(np.array([w[0], 0, w[1], 0, 0]))
    walk = Walk(patterns, columns)
    assert walk.run(cards.best.lowest, 10**9, 10**9) == FINISHED
    walk = Walk(patterns, columns)
    assert walk.run(cards.best.lowest + 0.5 * patterns.unit, 10**9, 10**9) == FOUND


def planted(seed: int = 0, n: int = 300, **given: Any) -> Problem:
    """Six columns of few values, a rule of four of them, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, 6))
    score = X @ [3, -2, 1, 0, 2, 0] + rng.normal(0, 3, n)
    y = np.where(score > np.median(score), 1, -1)
    arguments = {"lower": np.full(6, -4), "upper": np.full(6, 4), "max_terms": 4}
    return Problem(**{"X": X, "y": y, **arguments, "l0_penalty": 2e-3, **given})


def test_order_and_repetition_of_rows_change_nothing() -> None:
    problem = planted()
    first = search_zero_one(problem)
    order = np.random.default_rng(1).permutation(len(problem.y))
    shuffled = planted()
    twice = np.r_[order, order]
    for rows in (order, twice):
        other = Problem(
            shuffled.X[rows],
            shuffled.y[rows],
            shuffled.lower,
            shuffled.upper,
            max_terms=4,
            l0_penalty=2e-3,
        )
        answer = search_zero_one(other)
        assert answer.objective == pytest.approx(first.objective, abs=1e-15)
        assert (answer.nodes, answer.supports) == (first.nodes, first.supports)
        assert answer.card == first.card


def test_order_and_mirror_of_columns_change_no_optimum() -> None:
    problem = planted()
    optimal = search_zero_one(problem).objective
    for X in (problem.X[:, ::-1], 4 - problem.X, 3 * problem.X - 7):
        assert search_zero_one(planted(X=X)).objective == pytest.approx(optimal, abs=1e-12)


def test_runs_repeat() -> None:
    first, second = search_zero_one(planted()), search_zero_one(planted())
    assert (first.nodes, first.opened, first.card) == (second.nodes, second.opened, second.card)


def test_an_equal_or_constant_column_costs_no_support() -> None:
    problem = planted()
    seen = search_zero_one(problem).supports
    X = np.c_[problem.X, 4 - problem.X[:, 0], np.full(len(problem.y), 7)]
    limits = {"lower": np.full(8, -4), "upper": np.full(8, 4)}
    wider = search_zero_one(planted(X=X, **limits))
    assert wider.objective == pytest.approx(search_zero_one(problem).objective, abs=1e-12)
    # of the 6 + C(6,2) + C(6,3) + C(6,4) supports at most those with both twins are added
    assert seen <= 57
    assert wider.supports <= 57 + 1 + 5 + 10


def test_columns_that_force_a_term_beyond_the_limit_are_infeasible() -> None:
    problem = planted(lower=np.array([1, 1, 1, 1, 1, -4]), max_terms=4)
    assert search_zero_one(problem).termination is Termination.INFEASIBLE


def test_a_start_is_counted_as_the_card_answers() -> None:
    """Ties are positive in the units the search compares, as in the raw rows."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        w, cut = rng.integers(-4, 5, 6) * (np.arange(6) < 4), int(rng.integers(-9, 10))
        cards = zero_one.CardKeeper(Patterns(planted(t_lower=cut, t_upper=cut).statement))
        cards.take_start(Card(w, -cut))
        assert cards.best.threshold == cut
        assert cards.best.lowest == pytest.approx(cards.best.objective, abs=1e-14)


def test_weights_on_no_grid_are_rounded_down() -> None:
    for seed in range(20):
        weight = np.random.default_rng(seed).random(50)
        y = np.where(np.arange(50) % 3 > 0, 1, -1)
        X = np.arange(50)[:, None]
        patterns = Patterns(Problem(X, y, np.array([-1]), np.array([1]), weight).statement)
        share = np.abs(patterns.net) * patterns.unit
        assert (share <= weight / weight.sum()).all()
        assert share.sum() == pytest.approx(1, abs=1e-11)


def test_node_limit_leaves_a_valid_bound() -> None:
    optimal = search_zero_one(planted())
    for limit in (0, 1, 7, optimal.nodes // 2):
        answer = search_zero_one(planted(), node_limit=limit)
        assert answer.termination is Termination.NODE_LIMIT
        assert answer.nodes == limit
        bounds_hold(answer, optimal.objective)
        assert answer.bound < optimal.objective


@pytest.mark.parametrize("gap", [1e-4, 0.1, 0.5, 2.0])
def test_a_gap_ends_the_search_within_it(gap: float) -> None:
    """The bound stays below the optimum, and the gap reached is the one asked for or less."""
    for seed in range(60):
        problem = random_problem(seed)
        best, answer = optimum(problem), search_zero_one(problem, gap_rel=gap)
        if answer.card is None:
            assert math.isinf(best)
            continue
        assert answer.termination is Termination.COMPLETED
        assert answer.bound <= best + ROUNDING
        assert answer.objective >= best - ROUNDING
        assert answer.objective - answer.bound <= gap * abs(answer.objective) + ROUNDING
        assert all(point.dual_bound <= best + ROUNDING for point in answer.trace)


def test_a_gap_saves_work() -> None:
    whole, part = search_zero_one(planted()), search_zero_one(planted(), gap_rel=0.3)
    assert part.nodes < whole.nodes
    assert part.bound < whole.objective
    assert part.gap <= 0.3
    with pytest.raises(OptionError, match="gap_rel"):
        search_zero_one(planted(), gap_rel=-0.1)


def test_no_time_gives_the_empty_card_or_the_start() -> None:
    problem = planted()
    empty = search_zero_one(problem, time_limit=0)
    assert empty.termination is Termination.TIME_LIMIT
    assert not card_of(empty)[0].any()
    best = search_zero_one(problem)
    kept = search_zero_one(problem, start=card_of(best), time_limit=0)
    assert kept.objective == best.objective
    bounds_hold(kept, best.objective)


def test_time_limit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem far too large to finish stops in time, with a card and a bound below it."""
    looks = itertools.count()  # a look at the clock takes a hundredth of its seconds
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: next(looks) / 100))
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (400, 12))
    y = rng.choice([-1, 1], 400)
    problem = Problem(X, y, np.full(12, -9), np.full(12, 9), l0_penalty=1e-4)
    answer = search_zero_one(problem, time_limit=0.5)
    assert answer.termination is Termination.TIME_LIMIT
    assert 0 <= answer.bound < answer.objective < 0.5
    assert answer.trace[-1].seconds < 5  # compiling comes before the clock


def test_an_interrupt_at_any_report_leaves_a_valid_answer() -> None:
    optimal = search_zero_one(planted()).objective
    stopped = 0
    for stop in range(1, 8):
        calls = itertools.count(1)

        def interrupt(_: TracePoint, stop: int = stop, calls: Any = calls) -> None:
            if next(calls) == stop:
                raise KeyboardInterrupt

        answer = search_zero_one(planted(), listener=interrupt)
        stopped += answer.termination is Termination.INTERRUPTED
        assert answer.objective == pytest.approx(planted().objective(*card_of(answer)))
        bounds_hold(answer, optimal)
    assert stopped >= 2


def test_an_interrupt_that_compiled_code_wrapped_is_one() -> None:
    # what numba raises where Ctrl-C comes as a kernel returns
    def interrupt(_: TracePoint) -> None:
        raise SystemError("wrapped") from KeyboardInterrupt()

    assert search_zero_one(planted(), listener=interrupt).termination is Termination.INTERRUPTED

    def fail(_: TracePoint) -> None:
        raise SystemError("not an interrupt")

    with pytest.raises(SystemError, match="not an interrupt"):
        search_zero_one(planted(), listener=fail)


def test_other_exceptions_of_a_callback_are_not_swallowed() -> None:
    def fail(_: TracePoint) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        search_zero_one(planted(), listener=fail)


def test_bad_problems_are_refused_by_name() -> None:
    for given, text in (
        ({"lower": np.full(6, 5)}, "no value"),
        ({"sets": {0: ()}}, "no value"),
        ({"upper": np.full(6, 10**7)}, "narrow"),
        ({"X": np.full((300, 6), 1 << 58)}, "larger unit"),
    ):
        with pytest.raises(OptionError, match=text):
            search_zero_one(planted(**given))


def test_bad_starts_are_refused() -> None:
    for w, cut in (([5, 0, 0, 0, 0, 0], 1), ([1, 1, 1, 1, 1, 0], 1), ([1], 1)):
        with pytest.raises(OptionError, match="start"):
            search_zero_one(planted(), start=(np.array(w), cut))
    with pytest.raises(OptionError, match="the rule"):
        search_zero_one(
            planted(t_lower=0, t_upper=9, rule=Rule(lambda w, _: bool(w.any()))),
            start=(np.zeros(6, np.int64), 1),
        )


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "max_terms", "errors"),
    [("haberman", 5, 67), ("breastcancer", 4, 15), ("mammo", 5, 184), ("bankruptcy", 5, 0)],
)
def test_known_optima_are_proved(uci: Any, name: str, max_terms: int, errors: int) -> None:
    X, y = uci(name)
    p = X.shape[1]
    problem = Problem(
        X.to_numpy(dtype=np.int64),
        np.where(y > 0, 1, -1),
        np.full(p, -5),
        np.full(p, 5),
        max_terms=max_terms,
        l0_penalty=1e-3,
    )
    answer = search_zero_one(problem)
    assert answer.termination is Termination.COMPLETED
    assert problem.error_weight(*card_of(answer)) == errors
    assert answer.bound == answer.objective
