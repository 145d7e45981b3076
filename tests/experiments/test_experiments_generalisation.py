"""Bounds on the errors of new rows: counted classes, exact tails, and what happens on new rows."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom

from experiments.generalisation.bounds import complexities, generalisation, inverted_tail
from milpscore.core.card import Card
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.data import make_design
from milpscore.formulations import slim
from milpscore.scorecard import Scorecard


def program_of(X, y, **arguments):
    return slim(make_design(np.asarray(X, float), np.asarray(y)), **arguments)


def drawn(n, p, seed, noise=0.1):
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, size=(n, p))
    y = (X[:, 0] + X[:, 1] >= 1) ^ (random.random(n) < noise)
    return X, y.astype(int)


@pytest.mark.parametrize(("errors", "rows"), [(0, 20), (3, 20), (19, 20), (40, 1000), (20, 20)])
@pytest.mark.parametrize("unlikely", [1.5, 3.0, 40.0])
def test_the_tail_is_inverted_as_clopper_and_pearson_do(errors, rows, unlikely):
    p = inverted_tail(errors, rows, unlikely)
    exact = 1.0 if errors == rows else beta.isf(math.exp(-unlikely), errors + 1, rows - errors)
    assert p == pytest.approx(exact, rel=1e-9)
    if errors < rows:
        assert binom.cdf(errors, rows, min(1.0, p * (1 + 1e-9))) <= math.exp(-unlikely) * (1 + 1e-6)


def test_the_tail_of_very_many_cards_does_not_underflow():
    p = inverted_tail(100, 10_000, 5000.0)
    log_tail = binom.logpmf(100, 10_000, p)
    assert log_tail == pytest.approx(-5000, abs=1)
    assert inverted_tail(0, 100, 2000.0) == pytest.approx(-math.expm1(-20), rel=1e-12)


def enumerated(statement):
    """(number of terms, points) of every card's points, and of all the priors of all cards."""
    ranges = [range(int(a), int(b) + 1) for a, b in zip(*statement.ranges, strict=True)]
    most = len(ranges) if statement.max_terms is None else statement.max_terms
    points = [w for w in itertools.product(*ranges) if np.count_nonzero(w) <= most]
    return [w for w in points if all(w[j] in own for j, own in statement.coef_sets.items())]


@pytest.mark.parametrize(
    "arguments",
    [
        {"coef_min": -1, "coef_max": 2, "max_terms": 2},
        {"coef_min": -2, "coef_max": 1},
        {"coef_min": -2, "coef_max": 2, "coef_sets": {"x1": [-2, 2]}, "intercept_bounds": (-3, 1)},
    ],
)
def test_every_card_is_counted_and_its_length_is_a_code(arguments):
    program = program_of(*drawn(30, 3, 0), **arguments)
    statement = program.statement
    points = enumerated(statement)
    rule = statement.intercept
    intercepts = [b for b in range(-30, 31) if rule.allows(Fraction(b))]
    rows = np.array(list(itertools.product((0, 1), repeat=3)))
    weight, told, found = 0.0, set(), None
    for w in points:
        totals = rows @ np.array(w)
        own = {}
        for b in intercepts:
            card = Card(np.array(w), Fraction(b))
            own.setdefault(tuple(totals + b >= 0), card)
        for answers, card in own.items():
            found = generalisation(Scorecard.from_card(card, statement.design), program)
            weight += 2.0**-found.length
            told.add(answers)
    assert found.cards == len(points) * len(intercepts)
    assert 0.2 < weight <= 1 + 1e-9


def test_bounds_hold_on_a_population_and_occam_is_the_sharper():
    population = np.array(list(itertools.product((0, 1), repeat=4)))
    chance = np.where(population[:, 0] + population[:, 1] >= 1, 0.9, 0.1)
    random, failed = np.random.default_rng(3), 0
    for _ in range(20):
        place = random.integers(0, len(population), size=300)
        y = (random.random(300) < chance[place]).astype(int)
        program = program_of(population[place], y, coef_min=-2, coef_max=2)
        # the worst card for a bound: the one of fewest errors here
        cards = [program.statement.with_best_intercept(np.array(w))
                 for w in ((1, 1, 0, 0), (2, 2, 1, -1), (1, 2, 0, 1))]  # fmt: skip
        for bare in cards:
            card = Scorecard.from_card(bare, program.statement.design)
            found = generalisation(card, program)
            answers = card.rule.positive(card.score_design(population))
            true = float(np.where(answers, 1 - chance, chance).mean())
            failed += found.occam < true
            assert true <= min(found.margin_l1, found.margin_l2)
            assert found.errors / 300 < found.occam < found.hoeffding
            assert found.occam < min(found.margin_l1, found.margin_l2)
    assert failed <= 1


def test_rademachercomplexities_bound_those_of_drawn_signs():
    random = np.random.default_rng(1)
    X = random.integers(-2, 3, size=(200, 5)).astype(float)
    norms = np.array([2.0, 1.0, 0.0, 1.0, 0.0, 0.5])
    (first, by_sum), (second, by_squares) = complexities(X, norms, 200)
    assert (first, second) == (5, 7)
    signs = random.choice([-1.0, 1.0], size=(2000, 200))
    means = signs @ np.hstack([X, np.ones((200, 1))]) / 200
    # eq (5): of the L1 ball the supremum is the largest coordinate, of the L2 ball the length
    assert first * np.abs(means).max(axis=1).mean() < by_sum
    assert math.sqrt(second) * np.linalg.norm(means, axis=1).mean() < by_squares
    assert by_sum == pytest.approx(2 * 5 * math.sqrt(2 * math.log(12) / 200))


def test_vacuous_bounds_are_called_so():
    program = program_of(*drawn(40, 6, 2), coef_min=-5, coef_max=5)
    card = program.statement.with_best_intercept(np.array([1, 1, 0, 0, 0, 0]))
    found = generalisation(Scorecard.from_card(card, program.statement.design), program)
    assert found.margin_l1 > 1
    assert "vacuous" in found.sentences[1]
    guess = generalisation(Scorecard.from_card(program.statement.empty_card(),
                                               program.statement.design), program)  # fmt: skip
    assert guess.occam >= guess.guess == guess.errors / guess.rows
    assert "no less than always giving one answer" in guess.sentences[0]
    assert len(found.assumptions) == 3


def test_rows_count_by_number_and_not_by_weight():
    X, y = drawn(60, 3, 4)
    plain = program_of(X, y)
    weighted = slim(make_design(X.astype(float), y, class_weight={0: 1, 1: 7}))
    w = np.array([1, 1, 0])
    found = [
        generalisation(
            Scorecard.from_card(Card(w, Fraction(-1)), program.statement.design), program
        )
        for program in (plain, weighted)
    ]
    assert found[0] == found[1]
    assert found[0].rows == 60


def test_what_cannot_be_counted_is_refused():
    X, y = drawn(30, 2, 5)
    program = program_of(X, y, coef_min=-1, coef_max=1)
    card = Scorecard.from_card(Card(np.array([1, 1]), Fraction(-1)), program.statement.design)
    with pytest.raises(OptionError, match="delta"):
        generalisation(card, program, delta=0)
    other = program_of(X, y, coef_min=-1, coef_max=1, max_terms=1)
    with pytest.raises(NotApplicableError, match="does not allow"):
        generalisation(card, other)
