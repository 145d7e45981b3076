"""One clock a call: started at its first line, handed down, stopped while kernels are made."""

from __future__ import annotations

import itertools
import json
import math
import pickle

import numpy as np
import pytest

from milpscore import fitting
from milpscore.core.clock import Clock
from milpscore.core.jit import making
from milpscore.data import make_design
from milpscore.formulations import risk_score, slim
from milpscore.solvers import solve
from milpscore.solvers.options import Options
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.zero_one.rows import Patterns


@pytest.fixture
def hand(monkeypatch):
    """A clock face whose hand the test moves."""

    class Hand:
        at = 100.0

    monkeypatch.setattr(Clock, "now", staticmethod(lambda: Hand.at))
    return Hand


def test_a_clock_is_the_number_and_counts_from_where_it_was_made(hand):
    clock = Clock.of(10)
    hand.at += 4
    assert (clock, clock.seconds, clock.left, clock.is_up) == (10.0, 4.0, 6.0, False)
    assert Clock.of(clock) is clock
    hand.at += 7
    assert (clock.left, clock.is_up) == (0.0, True)
    assert json.dumps({"time_limit": clock}) == '{"time_limit": 10.0}'


def test_a_part_starts_now_and_never_outlasts_the_whole(hand):
    clock = Clock(10)
    hand.at += 2
    tenth, most = clock.part(0.1), clock.part(0.9)
    assert (tenth, most) == (1.0, 8.0)
    hand.at += 1
    assert tenth.is_up
    assert most.left == clock.left == 7.0
    assert math.isinf(Clock().part(0.1))


def test_making_kernels_stands_outside(hand, monkeypatch):
    clock = Clock(10)
    hand.at += 5
    monkeypatch.setattr(making, "seconds", making.seconds + 4)
    assert clock.seconds == pytest.approx(1.0)


def test_options_start_the_clock_or_go_on_with_the_callers(hand):
    clock = Clock(10)
    hand.at += 3
    assert Options(time_limit=clock).clock.left == 7.0
    assert Options(time_limit=10).clock.left == 10.0
    told = Options(time_limit=clock).as_dict()["time_limit"]
    assert (told, type(told)) == (10.0, float)


def test_another_process_gets_the_number_alone():
    assert type(pickle.loads(pickle.dumps(Clock(3)))) is float
    assert np.float64(Clock(3)) == 3.0


def test_fast_card_and_start_of_a_fit_leave_the_most_of_its_limit_to_the_proof(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 30)).astype(float)
    y = (X[:, :6] @ [3, 2, 2, -1, -2, 1] + rng.normal(0, 2, 200) > 2).astype(int)
    reads = itertools.count()
    left = []

    def asked(program, solver, *, warm_start, time_limit, **options):
        left.append(time_limit.left)
        assert warm_start.nonzeros
        return "an answer"

    monkeypatch.setattr(fitting, "solve", asked)
    # each look at the clock takes a hundredth of a second
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: next(reads) / 100))
    fitting.fit_card(make_design(X, y), max_terms=5, time_limit=1, progress=False)
    assert left[0] > 0.75


@pytest.mark.parametrize(("formulation", "rows"), [(risk_score, Arrays), (slim, Patterns)])
def test_a_tree_counts_the_seconds_in_which_rows_are_read(formulation, rows, hand, monkeypatch):
    read = rows.__init__

    def slow(self, *arguments, **options):
        hand.at += 70
        read(self, *arguments, **options)

    monkeypatch.setattr(rows, "__init__", slow)
    X = np.random.default_rng(0).integers(0, 2, (30, 3)).astype(float)
    program = formulation(X, X[:, 0] > 0, max_terms=1)
    result = solve(program, "tree", time_limit=1000, progress=False)
    # seconds in which kernels are loaded are taken off
    assert min(point.seconds for point in result.trace) > 30
    assert result.solve_seconds > 30


def test_a_tree_looks_at_the_clock_while_it_moves_points_beside_many_rows(hand, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 5)).round(2)
    y = (X @ [2, -1.5, 1, 1, -0.5] + rng.logistic(size=30_000) > 0).astype(int)
    solve(risk_score(X[:50], y[:50], max_terms=1), "tree")  # kernels are loaded by another clock
    lines, began = Arrays.lines, hand.at

    def slow(self, totals, *given, **options):
        hand.at += totals.size / 1e6  # a second for a million of totals
        return lines(self, totals, *given, **options)

    monkeypatch.setattr(Arrays, "lines", slow)
    result = solve(risk_score(X, y, max_terms=5), "tree", time_limit=2)
    assert result.card.nonzeros
    assert hand.at - began <= 2 + 1


def test_a_fast_card_takes_no_longer_than_its_fit(hand, monkeypatch):
    def made(statement, work, least):
        hand.at += 4
        monkeypatch.setattr(making, "seconds", making.seconds + 4)
        return statement.empty_card(), statement.empty_card()

    monkeypatch.setattr(fitting, "fast_cards", made)
    design = make_design([[0], [1], [1], [0]], [0, 1, 1, 0])
    _, result = fitting.fit_card(design, "slim", heuristic=True)
    assert result.solve_seconds == 0.0
