"""What a card's features decide, against enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from milpscore.core.card import Card
from milpscore.core.design import Column, Design
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.scorecard import Scorecard, Voter, VotingGame
from milpscore.scorecard.powers import told_once
from milpscore.scorecard.rendering import attainable_totals


def game_of(levels, quota):
    """A vote of voters a, b, ... with some levels."""
    voters = [
        Voter(chr(97 + i), tuple(map(Fraction, own)), tuple((f"{i}@{v}",) for v in own))
        for i, own in enumerate(levels)
    ]
    return VotingGame(tuple(voters), Fraction(quota))


def profiles(game):
    return itertools.product(*(range(len(voter.levels)) for voter in game.voters))


def drawn_game(random, n, most_levels):
    levels = [
        sorted(random.choice(np.arange(-4, 7), random.integers(2, most_levels + 1), replace=False))
        for _ in range(n)
    ]
    levels = [[int(v) for v in own] for own in levels]
    low, high = sum(own[0] for own in levels), sum(own[-1] for own in levels)
    return game_of(levels, int(random.integers(low - 1, high + 2)))


def roll_call(game):
    """Shapley's value by all orders and levels: who settles the answer."""
    n = len(game.voters)
    pivots, calls = [0] * n, 0
    levels = [voter.levels for voter in game.voters]
    for profile in profiles(game):
        for order in itertools.permutations(range(n)):
            calls += 1
            low, high = sum(own[0] for own in levels), sum(own[-1] for own in levels)
            for i in order:
                if low >= game.quota or high < game.quota:
                    break
                low += levels[i][profile[i]] - levels[i][0]
                high += levels[i][profile[i]] - levels[i][-1]
                if low >= game.quota or high < game.quota:
                    pivots[i] += 1
    return tuple(Fraction(count, calls) for count in pivots)


def swings(game):
    """Banzhaf's value by all combinations of the others."""
    found = []
    for i, voter in enumerate(game.voters):
        others = [p for p in profiles(game) if p[i] == 0]
        top = len(voter.levels) - 1
        moved = sum(game.answers(p) != game.answers((*p[:i], top, *p[i + 1 :])) for p in others)
        found.append(Fraction(moved, len(others)))
    return tuple(found)


def pivots_of_coalitions(weights, quota):
    """Shapley and Shubik's own definition: who turns a losing coalition into a winning one."""
    n = len(weights)
    found = [0] * n
    for order in itertools.permutations(range(n)):
        total = 0
        for i in order:
            total += weights[i]
            if total >= quota:
                found[i] += 1
                break
    return tuple(Fraction(count, math.factorial(n)) for count in found)


@pytest.mark.parametrize("most_levels", [2, 4])
def test_power_is_that_of_all_orders_and_combinations(most_levels):
    random = np.random.default_rng(most_levels)
    decided = 0
    for _ in range(25):
        game = drawn_game(random, int(random.integers(1, 5)), most_levels)
        shapley, banzhaf = game.indices
        assert shapley == roll_call(game)
        assert banzhaf == swings(game)
        decided += game.constant is None
        assert sum(shapley) == (1 if game.constant is None else 0)
    assert decided > 10


def test_power_of_two_levels_is_shapley_and_shubiks():
    random = np.random.default_rng(3)
    for _ in range(10):
        weights = random.integers(1, 9, size=5).tolist()
        quota = int(random.integers(1, sum(weights) + 1))
        game = VotingGame.from_weights(weights, -quota)
        assert game.indices[0] == pivots_of_coalitions(weights, quota)


def test_power_in_the_council_of_ministers_of_1958():
    """A published one: Germany, France and Italy 14/60 each, the Benelux 9/60, Luxembourg none."""
    votes = {"D": 4, "F": 4, "I": 4, "B": 2, "N": 2, "L": 1}
    game = VotingGame.from_weights([*votes.values()], -12, [*votes])
    assert game.indices[0] == (*[Fraction(14, 60)] * 3, *[Fraction(9, 60)] * 2, 0)
    assert game.indices[1] == (*[Fraction(10, 32)] * 3, *[Fraction(6, 32)] * 2, 0)
    assert game.sentence.endswith("L never matters.")
    assert game.power.index[-1] == "L"


def test_power_of_25_voters_adds_up_to_one():
    game = VotingGame.from_weights(list(range(1, 26)), -150)
    shapley, banzhaf = game.indices
    assert sum(shapley) == 1
    assert list(shapley) == sorted(shapley)
    assert list(banzhaf) == sorted(banzhaf)


def test_minimal_ways_are_those_of_enumeration():
    random = np.random.default_rng(5)
    for _ in range(30):
        game = drawn_game(random, int(random.integers(1, 5)), 3)
        positive = {p for p in profiles(game) if game.answers(p)}
        below = {p: [(*p[:i], p[i] - 1, *p[i + 1 :]) for i in range(len(p))] for p in positive}
        lower = [p for p in positive if positive.isdisjoint(below[p])]
        assert sorted(game._minimal_ways()) == sorted(lower)


@pytest.mark.parametrize(
    ("weights", "intercept", "said"),
    [
        ((0.49, 0.49, 0.02), -0.5, "Positive where at least two of three hold: x1; x2; x3."),
        ((1, 2, 3), -1, "Positive where any of three holds: x1; x2; x3."),
        ((1, 2, 3), -6, "Positive where all three hold: x1; x2; x3."),
        ((5, 5, 1, 1), -11, "Positive where x1 and x2 hold, and any of two holds: x3; x4."),
        ((5, 2), -7, "Positive where both hold: x1; x2."),
        ((5, 1, 1), -5, "Positive where x1 holds. x2, x3 never matter."),
        ((3, 1, 1, 1), -3, "Positive where x1 holds, or all three hold: x2; x3; x4."),
        ((3, 1, 1), -4, "Positive where x1 holds, and any of two holds: x2; x3."),
        ((-2, 1, 1), 0, "Positive where not x1 holds, or both hold: x2; x3."),
        ((4, 3, 2, 1), -6, "Positive where (x1 and x2) or (x1 and x3) or (x2 and x3 and x4)."),
        ((1, 1), -3, "Never positive, whatever the voters say."),
        ((1, 1), 0, "Always positive, whatever the voters say."),
    ],
)
def test_sentence(weights, intercept, said):
    assert VotingGame.from_weights(weights, intercept).sentence == said


def test_the_printed_example_is_two_of_three():
    """Belahcene and others: (.49, .49, .02), b = -.5 answers as (1, 1, 1), -2."""
    game = VotingGame.from_weights((0.49, 0.49, 0.02), -0.5)
    assert not game.differences(VotingGame.from_weights((1, 1, 1), -2))
    assert game.differences(VotingGame.from_weights((1, 1, 1), -1))


def test_differences_are_found_where_there_are_any():
    random = np.random.default_rng(8)
    told = 0
    for _ in range(60):
        game = drawn_game(random, 3, 3)
        levels = [[int(v) for v in random.permutation(9)[: len(each.levels)]]
                  for each in game.voters]  # fmt: skip
        other = game_of(levels, int(random.integers(0, 16)))
        differ = {p for p in profiles(game) if game.answers(p) != other.answers(p)}
        found = game.differences(other)
        assert set(found) <= differ
        assert bool(found) == bool(differ)
        told += not differ
    assert 0 < told < 60
    with pytest.raises(DataError, match="same voters"):
        game.differences(game_of([[0, 1]], 1))


def test_points_of_thirty_voters_and_their_37_fold_answer_alike():
    small = np.random.default_rng(0).integers(1, 4, size=30)
    game = VotingGame.from_weights((37 * small).tolist(), -37 * 15 + 20)
    assert not game.differences(VotingGame.from_weights(small.tolist(), -15))
    assert game.differences(VotingGame.from_weights(small.tolist(), -16))


def card_of(columns, points, threshold, blocks=(), X=None):
    X = np.zeros((2, len(columns))) if X is None else X
    design = Design(X, np.array([-1, 1]), np.ones(2), tuple(columns), tuple(blocks))
    return Scorecard.from_card(Card(np.array(points), Fraction(-threshold)), design)


BINS = (
    Column("age < 40", "age", "interval", upper=40.0),
    Column("40 <= age < 60", "age", "interval", lower=40.0, upper=60.0),
    Column("age >= 60", "age", "interval", lower=60.0),
    Column("smoker", "smoker", "numeric"),
    Column("drug = a", "drug", "category", category="a"),
)


def test_bins_flags_and_categories_are_voters():
    X = np.array([[1, 0, 0, 0, 1], [0, 0, 1, 1, 0]], dtype=float)
    card = card_of(BINS, (0, 20, 50, 10, -20), 30, ((0, 1, 2),), X)
    assert attainable_totals(card) == list(range(-20, 61, 10))
    game = VotingGame.of_card(card)
    assert {v.name: v.levels for v in game.voters} == {
        "age": (0, 20, 50), "smoker": (0, 10), "drug": (-20, 0),
    }  # fmt: skip
    assert game.quota == 30
    assert "age" in game.sentence


def test_steps_are_levels_of_one_voter():
    columns = [
        Column("x >= 1", "x", "step", lower=1.0),
        Column("x >= 2", "x", "step", lower=2.0),
        Column("flag", "flag", "numeric"),
    ]
    X = np.array([[0, 0, 1], [1, 1, 0]], dtype=float)
    game = VotingGame.of_card(card_of(columns, (4, 4, 5), 8, X=X))
    assert [voter.levels for voter in game.voters] == [(0, 4, 8), (0, 5)]
    assert game.quota == 8


@pytest.mark.parametrize("seed", range(6))
def test_one_row_of_bins_for_intervals_that_add_up_keeps_every_answer(seed):
    rng = np.random.default_rng(seed)
    columns = [
        *(Column(f"x in [{a}, {b})", "x", "interval", lower=a, upper=b)
          for a, b in ((-np.inf, 20.0), (20.0, 40.0), (40.0, np.inf))),
        *(Column(f"x near {a}", "x", "interval", lower=a, upper=b)
          for a, b in ((-np.inf, 30.0), (30.0, np.inf))),
        Column("x >= 35", "x", "step", lower=35.0),
        Column("x missing", "x", "missing"),
        Column("flag", "flag", "numeric"),
    ]  # fmt: skip
    X = np.zeros((2, 8))
    X[0, 7] = 1
    points = rng.integers(-9, 10, 8)
    points[7] = rng.integers(1, 10)
    card = card_of(columns, points, int(rng.integers(-5, 12)), ((0, 1, 2), (3, 4)), X)
    once = told_once(card)
    rows = pd.DataFrame(
        itertools.product((10, 20, 25, 30, 33, 35, 38, 40, 50, np.nan), (0, 1)),
        columns=["x", "flag"],
    )
    answers = card.rule.positive(card.score(rows))
    assert np.array_equal(once.rule.positive(once.score(rows)), answers)
    # what the feature decides is what its values count, and nothing that no value does
    totals = card.score(rows[rows["flag"] == 0])
    voter = VotingGame.of_card(card).voters[0] if len(set(totals)) > 1 else None
    assert voter is None or set(map(int, voter.levels)) == set(totals.astype(int))


@pytest.mark.parametrize("seed", range(4))
def test_two_features_of_intervals_that_add_up_keep_every_answer(seed):
    rng = np.random.default_rng(seed)
    columns = [
        Column(f"{name} in [{a}, {b})", name, "interval", lower=a, upper=b)
        for name in ("x", "z")
        for a, b in ((-np.inf, 20.0), (20.0, 40.0), (40.0, np.inf), (-np.inf, 30.0), (30.0, np.inf))
    ]
    columns.append(Column("flag", "flag", "numeric"))
    X = np.zeros((2, 11))
    X[0, 10] = 1
    points = rng.integers(-9, 10, 11)
    points[10] = 4
    blocks = ((0, 1, 2), (3, 4), (5, 6, 7), (8, 9))
    card = card_of(columns, points, int(rng.integers(-5, 12)), blocks, X)
    once = told_once(card)
    values = (10, 20, 25, 30, 35, 40, 50)
    rows = pd.DataFrame(itertools.product(values, values, (0, 1)), columns=["x", "z", "flag"])
    answers = card.rule.positive(card.score(rows))
    assert np.array_equal(once.rule.positive(once.score(rows)), answers)


def test_a_feature_that_counts_by_the_unit_is_no_voter():
    columns = [Column("x", "x", "numeric")]
    card = card_of(columns, (2,), 3, X=np.array([[0.0], [2.5]]))
    with pytest.raises(NotApplicableError, match="counts by the unit"):
        VotingGame.of_card(card)


def test_points_of_too_many_totals_are_refused():
    game = VotingGame.from_weights([Fraction(1, p) for p in (*range(97, 117), 1009)], -1)
    with pytest.raises(NotApplicableError, match="different totals"):
        _ = game.indices


@pytest.mark.parametrize(("intercept", "said"), [(0, "Always"), (-1, "Never")])
def test_a_card_without_points_has_no_voters(intercept, said):
    game = VotingGame.from_weights((0, 0), intercept)
    assert game.sentence.startswith(said)
    assert game.power.empty


def test_lines_of_one_feature_stand_in_brackets_of_their_own() -> None:
    ends = (-math.inf, 50.0, 70.0, math.inf)
    columns = (
        *(Column(f"age from {a}", "age", "interval", a, b) for a, b in itertools.pairwise(ends)),
        Column("crp >= 40", "crp", "step", lower=40.0),
        Column("male", "male"),
    )
    card = Scorecard(columns, (0, 2, 5, 2, 1), Fraction(4), ((0, 1, 2),), flags=(4,))
    said = VotingGame.of_card(card).sentence
    assert said.startswith(
        "Positive where (age ≥ 70) or ((age 50 to < 70 or age ≥ 70) and crp ≥ 40)"
    )
