"""Pools against every card of tiny programs; their limits, interrupts and figures."""

from __future__ import annotations

import itertools
import math
import signal
import threading
from dataclasses import replace
from functools import partial
from typing import Any

import constraint_cases
import numpy as np
import pool_cases
import pytest
from designs import design, noisy
from pool_cases import MAKERS, TIE, Case, raise_at, risk_case, slim_case
from tree_cases import best_real, random_problem, values_of

from milpscore.constraints import MaxErrors
from milpscore.core.card import Card
from milpscore.core.errors import NotApplicableError, OptionError, SolverError
from milpscore.core.result import Termination
from milpscore.formulations import hinge, risk_score, slim
from milpscore.pools import Pool, pareto, pool
from milpscore.pools.nearly_best import recheck
from milpscore.scorecard.certified import shown_card
from milpscore.solvers.trees.risk import tree as risk
from milpscore.solvers.trees.risk.relaxation import Relaxation
from milpscore.solvers.trees.shared.answer import Limits
from milpscore.solvers.trees.zero_one.weight_walk import Walk
from milpscore.verify.cards import mean_loss

EPSILONS = (0.0, 0.01, 0.05, 0.3, 1.0)


def points(found: Pool) -> list[tuple[int, ...]]:
    return [tuple(card.coefficients.tolist()) for card in found.cards]


def check_pool(case: Case, found: Pool, epsilon: float) -> None:
    """A complete pool is the set that enumeration finds."""
    least = case.best().min()
    most = (1 + epsilon) * least
    held = points(found)
    assert (found.complete, found.proved) == (True, True)
    assert found.optimum == pytest.approx(least, abs=1e-9)
    assert case.within(most - TIE) <= set(held) <= case.within(most + TIE)
    if not found.every_intercept or case.program.statement.intercept.step is None:
        assert len(held) == len(set(held))
        by_points = dict(zip(map(tuple, case.w.tolist()), case.best(), strict=True))
        assert found.objectives == pytest.approx([by_points[w] for w in held], abs=1e-9)


@pytest.mark.parametrize(("name", "first"), [
    ("risk_score", 0), ("risk_score", 16), ("slim", 0), ("slim", 16), ("slim", 32),
])  # fmt: skip
def test_a_pool_is_every_card_within_the_threshold(name: str, first: int) -> None:
    cards = 0
    for seed in range(first, first + 16):
        case = MAKERS[name](seed)
        if not np.isfinite(case.best()).any():
            continue
        rng = np.random.default_rng(seed)
        epsilon, every = float(rng.choice(EPSILONS)), bool(rng.random() < 0.4)
        found = pool(case.program, epsilon=epsilon, every_intercept=every, progress=False)
        check_pool(case, found, epsilon)
        if every and name == "risk_score" and case.program.statement.intercept.step is not None:
            most = (1 + epsilon) * case.best().min()
            pairs = [(*card.coefficients.tolist(), int(card.intercept)) for card in found.cards]
            assert len(pairs) == len(set(pairs))
            assert case.pairs_within(most - TIE) <= set(pairs) <= case.pairs_within(most + TIE)
        cards += len(found)
    assert cards > 16


def test_every_threshold_that_errs_on_other_rows_stands_once() -> None:
    tried = 0
    for seed in range(5):
        case = slim_case(seed)
        if not np.isfinite(case.best()).any():
            continue
        d = case.program.statement.design
        found = pool(case.program, epsilon=0.5, every_intercept=True, progress=False)
        most = 1.5 * case.best().min()
        wanted, held = set(), set()
        for i, k in zip(*np.nonzero(case.objective <= most - TIE), strict=True):
            wanted.add((*case.w[i], round(float(case.objective[i, k]), 9)))
        for card, value in zip(found.cards, found.objectives, strict=True):
            held.add((*card.coefficients, round(float(value), 9)))
        answers = [(d.X @ c.coefficients + float(c.intercept) >= 0).tobytes() for c in found.cards]
        keys = list(zip(points(found), answers, strict=True))
        assert wanted <= held
        assert len(keys) == len(set(keys))
        tried += len(found)
    assert tried > 40


def test_thresholds_part_rows_whose_classes_cancel() -> None:
    """The rows at 1 are of both classes: a threshold errs on the one or on the other."""
    program = slim([[0], [1], [1], [2]], [0, 0, 1, 1], coef_min=1, coef_max=1)
    found = pool(program, epsilon=0.0, every_intercept=True, progress=False)
    assert sorted(card.threshold for card in found.cards) == [1, 2]


def test_a_limit_on_errors_takes_no_allowed_card_from_a_pool() -> None:
    """However dear it is to break it: all cards as good as the best are found."""
    X = [
        [1, 0, -1, 2], [0, 0, -1, 1], [0, 1, -1, 2], [0, 0, 1, 2], [1, 1, 1, 1], [1, 1, -1, 2],
        [0, 0, 1, 1],
    ]  # fmt: skip
    y = [1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0]
    given: dict[str, Any] = {
        "coef_min": [0, -1, -1, -3], "coef_max": [3, 1, 1, 2], "max_terms": 3, "l0_penalty": 0.0,
    }  # fmt: skip
    plain, limited = (
        pool(slim([*X, *X], y, constraints=rules, **given), epsilon=0.0, progress=False)
        for rules in ([], [MaxErrors(share=0.3)])
    )
    assert len(plain) == len(limited) == 21
    assert plain.threshold == limited.threshold


def test_the_tree_holds_its_cutoff() -> None:
    """Losses, penalties, steps and sets beyond those of a formulation; depth first as well."""
    for seed in range(48):
        problem = random_problem(seed)
        choices = [problem.choices(j) for j in range(problem.X.shape[1])]
        w = np.array(list(itertools.product(*choices)), dtype=np.int64)
        w = w[np.count_nonzero(w, axis=1) <= problem.terms]
        low, high = problem.intercepts()
        real = problem.b_step is None and low < high
        if real:
            b = best_real(problem, w)
        else:
            step = problem.b_step or 1.0
            grid = low + step * np.arange(round((high - low) / step) + 1)
            w, b = np.repeat(w, len(grid), axis=0), np.tile(grid, len(w))
        values = values_of(problem, w, b)
        cutoff = float(np.quantile(values, [0.0, 0.01, 0.1][seed % 3])) + 1e-7
        limits = Limits(most_open=[0, None][seed % 2])
        answer = risk.search_all(problem.statement, limits, cutoff=cutoff)
        held = [
            (*card.coefficients, 0.0 if real else round(float(card.intercept), 9))
            for card in answer.cards
        ]
        chosen = np.flatnonzero(values <= cutoff)
        wanted = {(*w[i], 0.0 if real else round(float(b[i]), 9)) for i in chosen}
        near = np.abs(values - cutoff).min() < TIE
        assert answer.termination is Termination.COMPLETED
        assert answer.bound >= cutoff
        assert len(held) == len(set(held))
        assert near or set(held) == wanted


@pytest.mark.parametrize("name", MAKERS)
def test_no_card_below_the_stated_bound_is_missing(name: str) -> None:
    """Whatever stops the search; a later stop never proves less."""
    unfinished = moved = 0
    for seed in range(200, 210):
        case = MAKERS[name](seed)
        if not np.isfinite(case.best()).any():
            continue
        known = -math.inf
        for limits in ({"node_limit": 1}, {"node_limit": 6}, {"node_limit": 30}, {"max_cards": 3}):
            found = pool(case.program, epsilon=0.4, progress=False, **limits)
            if not found.cards:  # no card was met so early
                assert found.complete_up_to <= case.best().min()
                continue
            assert case.within(found.complete_up_to - TIE) <= set(points(found))
            assert found.objectives.max() <= found.threshold
            unfinished += not found.complete
            if "node_limit" in limits:
                assert found.complete_up_to >= known - TIE or found.complete
                moved += found.complete_up_to > max(known, 0.0)
                known = min(found.complete_up_to, case.best().min())
    assert unfinished > 8
    assert moved > 4


def test_limits_say_what_stopped_the_search() -> None:
    program = risk_score(noisy(60, 6, seed=2), max_terms=4)
    full = pool(program, epsilon=0.2, progress=False)
    few = pool(program, epsilon=0.2, max_cards=4, progress=False)
    none = pool(program, epsilon=0.2, time_limit=0, progress=False)
    assert (full.complete, full.termination) == (True, Termination.COMPLETED)
    assert len(full) > 50
    assert "no card is missing" in full.missing
    assert (few.termination, few.complete, few.proved) == (Termination.CARD_LIMIT, False, True)
    assert "raise max_cards" in few.missing
    below = [w for w, v in zip(points(full), full.objectives, strict=True)
             if v < few.complete_up_to - TIE]  # fmt: skip
    assert set(below) <= set(points(few))
    assert (none.termination, none.complete, none.proved) == (Termination.TIME_LIMIT, False, False)
    assert points(none) == [(0,) * 6]
    assert "nothing is proved" in none.missing or "may be missing" in none.missing


@pytest.mark.parametrize(("name", "owner", "method"), [
    ("risk_score", Relaxation, "solve"), ("risk_score", risk.AllCards, "_finish"),
    ("slim", Walk, "run"),
])  # fmt: skip
def test_an_interrupt_between_nodes_leaves_a_valid_pool(
    name: str, owner: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(c for c in map(MAKERS[name], range(300, 400)) if c.best().min() < math.inf
                and len(c.within(1.3 * c.best().min())) > 8)  # fmt: skip
    stopped = []
    for call in (0, 3, 8, 20, 60):
        with monkeypatch.context() as patched:
            raise_at(patched, owner, method, call)
            found = pool(case.program, epsilon=0.3, progress=False)
        assert case.within(found.complete_up_to - TIE) <= set(points(found))
        assert set(points(found)) <= case.within(found.threshold + TIE)
        stopped.append(found.termination)
    assert stopped[0] is Termination.INTERRUPTED


@pytest.mark.skipif(
    not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread(),
    reason="signals after fractions of a second need setitimer and the main thread",
)
def test_a_signal_at_any_moment_leaves_a_valid_pool() -> None:
    """Under a smooth loss: numpy.unique(axis=0), where slim begins, turns Ctrl-C to TypeErrors."""
    program = risk_score(noisy(60, 5, seed=3), max_terms=3)
    full = pool(program, epsilon=0.15, progress=False)
    objective = dict(zip(points(full), full.objectives, strict=True))

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    ended = []
    try:
        for moment in np.random.default_rng(0).uniform(0.001, full.seconds, 8):
            signal.setitimer(signal.ITIMER_REAL, moment)
            try:
                found = pool(program, epsilon=0.15, progress=False)
            except KeyboardInterrupt:  # before the search began
                continue
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            ended.append(found.termination)
            below = {w for w, v in objective.items() if v < found.complete_up_to - TIE}
            assert below <= set(points(found))
            assert found.optimum >= full.optimum - TIE
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert Termination.INTERRUPTED in ended


# how steep a free scale may be rises with the rows
@pytest.mark.parametrize("build", [partial(risk_score, scale=(0.05, 100.0)), slim])
def test_order_and_repetition_of_rows_and_columns_do_not_matter(build: Any) -> None:
    d, rng = noisy(24, 4, seed=5), np.random.default_rng(0)
    rows, columns = rng.permutation(24), rng.permutation(4)
    first = pool(build(d, coef_min=-2, coef_max=2), epsilon=0.1, progress=False)
    for other in (design(d.X[rows], d.y[rows]), design(np.repeat(d.X, 3, axis=0), d.y.repeat(3))):
        again = pool(build(other, coef_min=-2, coef_max=2), epsilon=0.1, progress=False)
        assert points(again) == points(first)
        assert again.objectives == pytest.approx(first.objectives, abs=1e-12)
    moved = design(d.X[:, columns], d.y)
    again = pool(build(moved, coef_min=-2, coef_max=2), epsilon=0.1, progress=False)
    back = {tuple(np.array(w)[np.argsort(columns)].tolist()) for w in points(again)}
    assert back == set(points(first))
    assert len(first) > 2


def test_epsilon_0_gives_all_optimal_cards() -> None:
    """Under the 0-1 loss without a cost of terms multiples and twins are optimal too."""
    X = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1]])
    found = pool(slim(design(X, [-1, 1, -1, 1]), coef_min=-1, coef_max=1, l0_penalty=0.0),
                 epsilon=0.0, progress=False)  # fmt: skip
    right = {w for w in itertools.product((-1, 0, 1), repeat=3) if w[0] + w[1] > 0}
    assert set(points(found)) == right
    assert found.optimum == 0.0
    assert found.complete


def test_a_pool_without_cards_says_so() -> None:
    d = noisy(20, 3)
    rules = [constraint_cases.c.Include("x0"), constraint_cases.c.Exclude("x0")]
    found = pool(risk_score(d, max_terms=2, coef_min=-1, coef_max=1, constraints=rules),
                 progress=False)  # fmt: skip
    assert (len(found), found.complete, found.missing) == (0, True, "no card is allowed")
    assert found.optimum == math.inf
    for table in (found.table, found.importance, found.feature_importance):
        assert table.empty


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_tables_say_what_the_cards_have(loss: str) -> None:
    case = risk_case(7, loss=loss, intercept="integer", penalty="l1", lam=0.002)
    found, d = pool(case.program, epsilon=0.6, progress=False), case.program.statement.design
    table = found.table
    assert len(table) == len(found) > 5
    assert table["objective"].is_monotonic_increasing
    assert table["objective"].to_numpy() == pytest.approx(table["loss"] + table["penalty"])
    assert table[list(d.names)].to_numpy().tolist() == [list(w) for w in points(found)]
    printed = [shown_card(case.program.statement, card) for card in found.cards]
    signs = [tuple(card.rule.positive(card.score_design(d.X))) for card in printed]
    scores = [tuple(d.X @ c.coefficients + float(c.intercept)) for c in found.cards]
    assert table["decisions"].nunique() == len(set(signs)) == len(found.distinct())
    assert table["scores"].nunique() == len(set(scores)) == len(found.distinct("scores"))


@pytest.mark.parametrize("name", MAKERS)
def test_importance_is_what_removing_a_feature_costs(name: str) -> None:
    case = next(c for c in map(MAKERS[name], range(500, 600))
                if c.best().min() < math.inf and not c.program.statement.constraints
                and not c.program.statement.coef_sets
                and c.program.statement.intercept.kind in ("integer", "grid")
                and 5 < len(c.within(1.2 * c.best().min())) < 200)  # fmt: skip
    found, statement = pool(case.program, epsilon=0.2, progress=False), case.program.statement
    for table, key in ((found.importance, "name"), (found.feature_importance, "feature")):
        for label, row in table.iterrows():
            own = [j for j, c in enumerate(statement.design.columns) if getattr(c, key) == label]
            used = [any(w[j] for j in own) for w in points(found)]
            ends = [w[j] for w in points(found) for j in own]
            rises = []
            for card, loss, uses in zip(found.cards, found.losses, used, strict=True):
                bare = card.coefficients.copy()
                bare[own] = 0
                again = statement.with_best_intercept(bare)
                rises.append(mean_loss(statement, again)[0] - loss if uses else 0.0)
            assert row["share"] == pytest.approx(np.mean(used))
            assert (row["min_points"], row["max_points"]) == (min(ends), max(ends))
            assert row["min_reliance"] == pytest.approx(min(rises), abs=1e-9)
            assert row["max_reliance"] == pytest.approx(max(rises), abs=1e-9)


def test_a_wrong_card_or_objective_is_noticed() -> None:
    found = pool(risk_score(noisy(30, 3), max_terms=2), progress=False)
    statement = found.statement
    with pytest.raises(SolverError, match="on the raw ones"):
        recheck(statement, found.cards, found.objectives + 1e-6)
    wide = Card(np.array([9, 0, 0]), found.cards[0].intercept)
    with pytest.raises(SolverError, match="not allowed"):
        recheck(statement, [*found.cards, wide], np.append(found.objectives, 1.0))


@pytest.mark.parametrize("options", [
    {"epsilon": -0.1}, {"epsilon": math.nan}, {"epsilon": "1 %"}, {"epsilon": True},
    {"max_cards": 0}, {"max_cards": 2.5}, {"time_limit": -1}, {"time_limit": math.nan},
    {"node_limit": -1},
])  # fmt: skip
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        pool(risk_score(noisy(), max_terms=1), **options)


def test_what_cannot_be_enumerated_is_refused_by_name() -> None:
    d = noisy()
    with pytest.raises(NotApplicableError, match=r"hinge.*risk score"):
        pool(hinge(d, max_terms=2))
    with pytest.raises(NotApplicableError, match="exact"):
        pool(slim(d, max_terms=2).relaxed())
    with pytest.raises(NotApplicableError, match="grid"):
        pool(slim(design(d.X + math.pi / 7 * d.X**2, d.y), threshold_gap=1e-3))
    changed = slim(d, max_terms=2)
    changed.model.w[0].fix(1)
    with pytest.raises(NotApplicableError, match="constraints="):
        pool(changed)
    found = pool(risk_score(d, max_terms=1), progress=False)
    with pytest.raises(OptionError, match="decisions"):
        found.distinct("points")  # type: ignore[arg-type]


def test_figures_show_ranges_and_bounds() -> None:
    from matplotlib.figure import Figure

    from milpscore_show.plots import loss_against_terms, points_over_pool

    d = noisy(40, 3, seed=2)
    found = pool(risk_score(d, max_terms=2), epsilon=0.2, progress=False)
    front = pareto(risk_score(d, max_terms=3), progress=False)
    left, right = Figure().subplots(1, 2)
    assert points_over_pool(found, left, max_columns=2) is left
    assert {label.get_text() for label in left.get_yticklabels()} <= set(d.names)
    assert str(len(found)) in left.get_title(loc="left")
    assert loss_against_terms(front, right) is right
    drawn = {line.get_label(): line.get_ydata() for line in right.get_lines()}
    assert list(drawn["best card"]) == pytest.approx(front.table["objective"].tolist())
    with pytest.raises(OptionError, match="column"):
        points_over_pool(found, by="row")  # type: ignore[arg-type]
    nothing = replace(found, cards=(), threshold=math.inf)
    with pytest.raises(NotApplicableError, match="no card"):
        points_over_pool(nothing)


def test_the_brute_force_knows_constraints() -> None:
    """The cases must hold what they are for: rules that bind, all losses, all intercepts."""
    cases = [risk_case(seed) for seed in range(40)]
    assert {c.program.statement.intercept.kind for c in cases} == {"integer", "real", "zero"}
    assert sum(np.isinf(c.objective).any() for c in cases) > 10
    assert len({c.program.statement.loss.name for c in cases}) == 4
    assert pool_cases.TIE < 1e-9
