"""SGD with lazy penalties: near the optimum, the same answer for a seed, penalties paid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sequence_cases import make_random_crf

from milpscore.core.clock import Clock
from milpscore.core.result import Termination
from milpscore_sequence import (
    Prepared,
    SequenceData,
    TrainResult,
    make_chunking,
    make_letters_to_phonemes,
    train,
)
from milpscore_sequence.coding import Coding
from milpscore_sequence.epochs import Epochs
from milpscore_sequence.training import Objective


def sgd(data: Any, rho1: float, rho2: float = 0.0, **options: Any) -> TrainResult:
    return train(data, "sgd", rho1=rho1, rho2=rho2, **options)


def owlqn(data: Any, rho1: float, rho2: float = 0.0, **options: Any) -> TrainResult:
    return train(data, rho1=rho1, rho2=rho2, **options)


@pytest.fixture(scope="module")
def problem():
    data, _ = make_random_crf(400, n_labels=4, density=0.4, scale=1.5, random_state=1)
    return Prepared(data)


@pytest.mark.parametrize(("rho1", "rho2"), [(2.0, 0.0), (1.0, 1.0), (0.0, 2.0)])
def test_comes_near_the_optimum(problem, rho1, rho2):
    best = owlqn(problem, rho1, rho2, tol=1e-6)
    found = sgd(problem, rho1, rho2, max_iterations=60, random_state=0)
    assert best.objective * (1 - 1e-9) <= found.objective <= 1.01 * best.objective
    assert found.objective == min(row.objective for row in found.trace)
    if rho1:
        assert 0 < found.active < problem.layout.n_parameters
        assert found.active <= best.active + 0.2 * problem.layout.n_parameters


def test_a_seed_decides_all(problem):
    one, same, other = (
        sgd(problem, 1.0, max_iterations=3, random_state=seed) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(one.theta, same.theta)
    assert [row.objective for row in one.trace] == [row.objective for row in same.trace]
    assert (one.theta != other.theta).any()


def test_an_interrupt_keeps_the_best(problem):
    def interrupt(row):
        if row.iteration == 3:
            raise KeyboardInterrupt

    result = sgd(problem, 1.0, callback=interrupt, random_state=0)
    assert result.termination is Termination.INTERRUPTED
    assert len(result.trace) == 4
    assert result.objective == min(row.objective for row in result.trace)


@pytest.mark.parametrize("rho1", [0.0, 0.2])
def test_a_step_is_the_gradient_of_a_sequence(problem, rho1):
    data = problem.data.subset([7])
    objective = Objective(Prepared(data), rho1, 0.0)
    start = np.random.default_rng(0).normal(size=data.layout.n_parameters)
    _, gradient = objective.smooth(start)
    epochs = Epochs(objective, start, 0.25)
    epochs.run(np.array([0]), Clock())
    rates = 0.25 / np.sqrt(epochs.squares)
    gradient[np.abs(gradient) < 1e-15] = 0.0
    assert ((epochs.squares > 1.0) == (gradient != 0.0)).all()
    stepped = start - rates * gradient
    shrunk = np.sign(stepped) * np.maximum(np.abs(stepped) - rates * rho1, 0.0)
    np.testing.assert_allclose(epochs.theta, shrunk, atol=1e-12)


def test_rates_fall_with_the_squared_gradients():
    # each symbol stands once in the sequence: an occurrence's gradient is the sequence's
    data = SequenceData(
        offsets=[0, 3],
        unigram_ptr=[0, 1, 2, 3],
        unigram_ids=[1, 0, 2],
        bigram_ptr=[0, 0, 1, 2],
        bigram_ids=[0, 1],
        n_unigrams=3,
        n_bigrams=2,
        n_labels=2,
        labels=[0, 1, 1],
    )
    objective = Objective(Prepared(data), 0.0, 0.0)
    epochs = Epochs(objective, data.layout.zeros(), 1.0)
    squares = np.ones(data.layout.n_parameters)
    for _ in range(3):
        _, gradient = objective.smooth(epochs.theta)
        epochs.run(np.array([0]), Clock())
        squares += gradient**2
        np.testing.assert_allclose(epochs.squares, squares, rtol=1e-12)


def test_another_rate_leaves_the_parameters(problem):
    epochs = Epochs(Objective(problem, 1.0, 0.5), problem.layout.zeros(), 1.0)
    epochs.run(epochs.full, Clock())
    held = epochs.theta.copy()
    assert 0 < np.count_nonzero(held) < len(held)
    epochs.change_rate(0.3)
    epochs.pay()
    np.testing.assert_allclose(epochs.theta, held, atol=1e-12)


def test_all_penalties_are_paid_at_the_end_of_an_epoch(problem):
    data = problem.data.subset(np.arange(20))
    # two symbols that no sequence holds: they owe the whole epoch, paid at once
    wide = SequenceData(
        **{**vars(data), "n_unigrams": data.n_unigrams + 2},
    )
    theta = wide.layout.zeros()
    mu, _ = wide.layout.split(theta)
    mu[-2], mu[-1] = 0.01, 5.0
    mu[-1, 0] = -5.0
    epochs = Epochs(Objective(Prepared(wide), 3.0, 0.5), theta, 0.1)
    epochs.run(epochs.full, Clock())
    after, _ = wide.layout.split(epochs.theta)
    reached = (5.0 - 0.1 * 3.0) / (1.0 + 0.1 * 0.5)
    np.testing.assert_array_equal(after[-2], 0.0)
    np.testing.assert_allclose(after[-1, 1:], reached)
    assert after[-1, 0] == pytest.approx(-reached)


@pytest.mark.parametrize("name", ["chunking", "letters"])
def test_thirty_epochs_on_generated_text(name):
    if name == "chunking":
        made = make_chunking(600, 0)
        problem = Prepared(Coding.learn(made.rows, made.labels)[1])
    else:
        problem = Prepared(make_letters_to_phonemes(150, 0, n_observations=8, n_labels=26).data)
    best = owlqn(problem, 0.5, tol=1e-4, max_iterations=150).objective
    found = sgd(problem, 0.5, max_iterations=30, random_state=0)
    assert found.objective <= 1.001 * best


def test_says_where_epochs_are_no_more_use(problem):
    found = sgd(problem, 1.0, tol=0.0, delta=0.5, random_state=0)
    assert found.termination is Termination.FLAT
    assert found.trace[-1].iteration < 400
    assert "last iterations" in found.summary()


def test_short_and_empty_sequences():
    data = SequenceData(
        offsets=[0, 1, 1, 2],
        unigram_ptr=[0, 1, 2],
        unigram_ids=[0, 0],
        bigram_ptr=[0, 0, 0],
        bigram_ids=np.zeros(0, dtype=int),
        n_unigrams=1,
        n_bigrams=1,
        n_labels=2,
        labels=[0, 0],
    )
    best = owlqn(data, 0.1, 0.1, tol=1e-8).objective
    found = sgd(data, 0.1, 0.1, max_iterations=200, random_state=0)
    assert found.objective == pytest.approx(best, rel=1e-2)
    assert sgd(data.subset([1]), 0.1).objective == 0.0
