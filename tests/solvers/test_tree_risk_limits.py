"""The tree search when it is stopped, shared, started from a card, and asked for its evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from tree_cases import TIGHT, Rule, card_of, hard_problem, search, set_policy, value_at

from milpscore.core.card import Card
from milpscore.core.design import IntArray
from milpscore.core.errors import OptionError
from milpscore.core.result import Termination, TracePoint
from milpscore.losses import Logistic
from milpscore.solvers.trees.shared import answer as shared_answer


def test_limits_leave_a_card_and_a_bound() -> None:
    problem = hard_problem()
    full = search(problem)
    assert full.termination is Termination.COMPLETED
    assert full.nodes > 20
    for limit in (0, 1, 5, 20):
        part = search(problem, node_limit=limit)
        assert part.termination is Termination.NODE_LIMIT
        assert limit <= part.nodes <= limit + 2
        assert part.bound <= full.objective <= part.objective
    none = search(problem, time_limit=0.0)
    assert none.termination is Termination.TIME_LIMIT
    assert not card_of(none)[0].any()
    assert none.bound == -np.inf


def test_what_mends_a_card_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = hard_problem()
    odd = np.zeros(problem.X.shape[1], dtype=np.int64)
    odd[:2] = problem.lower[0], problem.upper[1]

    def accept(w: IntArray, b: float) -> bool:
        return np.array_equal(w, odd)

    limited = replace(problem, rule=Rule(accept))
    home = "milpscore.solvers.trees.risk.heuristics"
    monkeypatch.setattr(f"{home}.repaired", lambda statement, w: None)
    assert search(limited, node_limit=0).card is None
    monkeypatch.setattr(f"{home}.coordinate_descent", lambda statement, card, **_: Card(-odd, 0))
    for mended, found in ((odd, True), (-odd, False)):
        monkeypatch.setattr(f"{home}.repaired", lambda statement, w, m=mended: Card(m, 0))
        answer = search(limited, node_limit=0)
        assert (answer.card is not None) is found
        assert not found or np.array_equal(card_of(answer)[0], odd)


def test_depth_first_proves_the_same() -> None:
    problem = hard_problem()
    full = search(problem, **TIGHT)
    for most in (0, 3):
        deep = search(problem, most_open=most, **TIGHT)
        assert deep.objective == full.objective
        assert deep.objective - deep.bound <= 1e-9


def test_interrupts_leave_a_valid_answer() -> None:
    problem = hard_problem()
    full = search(problem)
    bounds = []
    for moment in range(0, len(full.trace), 7):
        calls = []

        def stop(state: TracePoint, calls: list[Any] = calls, moment: int = moment) -> None:
            calls.append(state)
            if len(calls) > moment:
                raise KeyboardInterrupt

        part = search(problem, listener=stop)
        assert part.termination is Termination.INTERRUPTED
        assert part.bound <= full.objective <= part.objective
        assert part.objective == calls[-1].objective
        assert part.bound == calls[-1].dual_bound
        assert part.nodes == calls[-1].nodes
        bounds.append(part.bound)
    assert bounds == sorted(bounds)
    assert len(bounds) > 5


class Interrupting(Logistic):
    """A loss during whose n-th evaluation the user presses Ctrl-C."""

    left: ClassVar[list[int]] = [0]

    def value(self, z: Any, y: Any) -> Any:
        self.left[0] -= 1
        if self.left[0] == 0:
            raise KeyboardInterrupt
        return super().value(z, y)


def test_interrupts_in_the_middle_of_a_step_lose_nothing() -> None:
    problem = hard_problem()
    full = search(problem)
    rng = np.random.default_rng(0)
    found = 0
    for moment in rng.integers(1, 1500, 15):
        Interrupting.left[0] = int(moment)
        part = search(replace(problem, loss=Interrupting()))
        found += part.termination is Termination.INTERRUPTED
        assert part.bound <= full.objective <= part.objective
        if part.card is not None:
            value = value_at(problem, *card_of(part))
            assert value == pytest.approx(part.objective, abs=1e-12)
    assert found > 5


def test_a_gap_is_enough_where_it_is_asked_for() -> None:
    problem = hard_problem()
    best = search(problem, **TIGHT).objective
    for options in ({"gap_rel": 0.2}, {"gap_abs": 0.05, "gap_rel": 0.0}):
        answer = search(problem, **options)
        allowed = max(options.get("gap_abs", 0.0), options["gap_rel"] * answer.objective)
        assert answer.bound <= best <= answer.objective <= answer.bound + allowed


def test_processes_share_the_tree() -> None:
    problem = hard_problem()
    alone, shared = search(problem), search(problem, jobs=2)
    assert shared.objective == alone.objective
    assert shared.bound <= alone.objective
    assert shared.objective - shared.bound <= 1e-6 * shared.objective
    again = search(problem, jobs=2)
    assert (again.objective, again.bound, again.nodes) == (
        shared.objective,
        shared.bound,
        shared.nodes,
    )


def test_processes_stop_at_limits() -> None:
    problem = hard_problem()
    best = search(problem).objective
    part = search(problem, jobs=2, node_limit=30)
    assert part.termination is Termination.NODE_LIMIT
    assert part.nodes < 60
    assert part.bound <= best <= part.objective
    none = search(problem, jobs=2, time_limit=0.0)
    assert none.termination is Termination.TIME_LIMIT


def test_a_long_trace_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = hard_problem()
    full = search(problem).trace
    set_policy(monkeypatch, shared_answer, most_trace=10)
    thin = search(problem).trace
    assert len(thin) <= 10 < len(full)
    seen = {(point.objective, point.dual_bound, point.nodes) for point in full}
    assert all((point.objective, point.dual_bound, point.nodes) in seen for point in thin)
    assert thin[-1].dual_bound == full[-1].dual_bound


def test_a_start_is_used_or_refused() -> None:
    problem = hard_problem()
    best = search(problem)
    points, intercept = card_of(best)
    answer = search(problem, start=(points, intercept), time_limit=0.0)
    assert answer.objective == best.objective
    wide = np.full(12, 1)
    for w, b in ((wide, 0), (points * 9, intercept), (points, 0.5), (points, 99)):
        with pytest.raises(OptionError, match="start"):
            search(problem, start=(w, b))
    with pytest.raises(OptionError, match="the rule"):
        search(replace(problem, rule=Rule(lambda w, b: False)), start=(points, intercept))
