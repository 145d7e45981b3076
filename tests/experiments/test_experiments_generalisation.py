"""Bounds on the errors of new rows: counted classes, exact tails, and what happens on new rows."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom

from experiments.generalisation.bounds import complexities, generalisation, inverted_tail
from milpscore.core.card import Card
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
