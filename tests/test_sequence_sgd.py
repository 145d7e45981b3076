"""SGD with the cumulative penalty: near the optimum, the same answer for a seed, penalties paid."""

from __future__ import annotations

import numpy as np
import pytest

from milpscore.sequence import Objective, Prepared, SequenceData, make_random_crf, owlqn, sgd
from milpscore.sequence._sgd import _Epochs as Epochs


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
    assert result.status == "interrupted"
    assert len(result.trace) == 4
    assert result.objective == min(row.objective for row in result.trace)


def test_a_step_is_the_gradient_of_a_sequence(problem):
    data = problem.data.subset([7])
    objective = Objective(Prepared(data), 0.0, 0.0)
    theta = np.random.default_rng(0).normal(size=data.layout.n_parameters)
    _, gradient = objective.smooth(theta)
    after = Epochs(objective).run(theta, np.array([0]), np.array([0.25]))
    np.testing.assert_allclose(after, theta - 0.25 * gradient, atol=1e-12)


def test_all_penalties_are_paid_at_the_end_of_an_epoch(problem):
    data = problem.data.subset(np.arange(20))
    # two symbols that no sequence holds: they owe the whole epoch, paid at once
    wide = SequenceData(
        **{**vars(data), "n_unigrams": data.n_unigrams + 2},
    )
    objective = Objective(Prepared(wide), 3.0, 0.5)
    epochs = Epochs(objective)
    theta = wide.layout.zeros()
    mu, _ = wide.layout.split(theta)
    mu[-2], mu[-1] = 0.01, 5.0
    mu[-1, 0] = -5.0
    n = len(epochs.full)
    after, _ = wide.layout.split(epochs.run(theta, epochs.full, np.full(n, 0.1)))
    owed, faded = 3.0 * 0.1, np.exp(-0.5 * 0.1)
    np.testing.assert_array_equal(after[-2], 0.0)
    np.testing.assert_allclose(after[-1, 1:], 5.0 * faded - owed)
    assert after[-1, 0] == pytest.approx(-5.0 * faded + owed)


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
