"""Trainers of the sparse CRF: they reach the same optimum, and say so by the same rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, minimize
from sequence_cases import make_random_crf, small_chains

from milpscore.core.clock import Clock
from milpscore.core.errors import DataError, OptionError
from milpscore.core.result import Termination
from milpscore_sequence import (
    TRAINERS,
    Prepared,
    TrainOptions,
    negative_log_likelihood,
    posterior_marginals,
    train,
    value_and_gradient,
)
from milpscore_sequence.generators import sample_labels
from milpscore_sequence.training import Objective, least_subgradient

PENALTIES = [(0.5, 0.0), (0.3, 0.2), (0.0, 0.5)]
# SGD comes near the optimum, not to it: test_sequence_sgd.py says how near
EXACT = sorted(set(TRAINERS) - {"sgd"})


@pytest.fixture(scope="module")
def problem():
    data, _ = make_random_crf(60, n_labels=4, density=0.4, scale=1.5, random_state=1)
    return Prepared(data)


@pytest.mark.parametrize(("rho1", "rho2"), PENALTIES)
@pytest.mark.parametrize("name", EXACT)
def test_zero_lies_in_the_subdifferential(problem, name, rho1, rho2):
    result = train(problem, name, rho1=rho1, rho2=rho2, tol=1e-5)
    assert result.termination is Termination.CONVERGED
    assert result.converged
    theta = result.theta
    value, gradient = value_and_gradient(problem, theta)
    penalty = rho1 * np.abs(theta).sum() + rho2 / 2 * theta @ theta
    assert result.objective == pytest.approx(value + penalty, rel=1e-12)
    assert result.active == np.count_nonzero(theta)
    gradient = gradient + rho2 * theta
    unit = np.linalg.norm(
        least_subgradient(np.zeros_like(theta), value_and_gradient(problem, 0 * theta)[1], rho1)
    )
    active = theta != 0
    residual = np.where(
        active, gradient + rho1 * np.sign(theta), np.maximum(np.abs(gradient) - rho1, 0.0)
    )
    assert result.distance == pytest.approx(np.linalg.norm(residual) / unit, rel=1e-9)
    assert result.distance <= 1e-5


@pytest.mark.parametrize(("rho1", "rho2"), PENALTIES)
def test_the_optimum_is_that_of_bounds_on_parted_parameters(problem, rho1, rho2):
    """SciPy's L-BFGS-B over u, v >= 0 with theta = u - v knows nothing of orthants."""
    one = train(problem, rho1=rho1, rho2=rho2, tol=1e-6)
    n = problem.layout.n_parameters

    def value_and_slope(x):
        theta = x[:n] - x[n:]
        value, gradient = value_and_gradient(problem, theta)
        gradient = gradient + rho2 * theta
        value += rho1 * x.sum() + rho2 / 2 * theta @ theta
        return value, np.concatenate([gradient + rho1, rho1 - gradient])

    found = minimize(
        value_and_slope, np.zeros(2 * n), jac=True, method="L-BFGS-B",
        bounds=Bounds(0.0, np.inf), options={"maxiter": 3000, "maxfun": 10**6, "ftol": 1e-12},
    )  # fmt: skip
    other = found.x[:n] - found.x[n:]
    assert one.objective <= found.fun * (1 + 1e-9)
    assert one.objective == pytest.approx(found.fun, rel=1e-5)
    if rho1:
        assert 0 < one.active < n
    # without rho2 a constant moves freely within an observation's block: compare what is predicted
    np.testing.assert_allclose(
        posterior_marginals(problem, one.theta), posterior_marginals(problem, other), atol=1e-2
    )


def test_objective_falls_and_the_trace_is_a_table(problem):
    result = train(problem, rho1=0.5, errors_every=5, dev=problem.data.subset(np.arange(10)))
    table = pd.DataFrame(result.trace)
    assert table["iteration"].tolist() == list(range(len(table)))
    assert (np.diff(table["objective"]) < 0).all()
    assert (np.diff(table["seconds"]) >= 0).all()
    measured = table["token_error"].notna()
    assert measured[::5].all()
    assert measured.iloc[-1]
    assert measured.sum() < len(table)
    assert table["dev_sequence_error"][measured].notna().all()
    assert table["token_error"].iloc[-1] < table["token_error"].iloc[0]
    assert "converged" not in result.summary()
    assert Termination.CONVERGED.sentence in result.summary()


@pytest.mark.parametrize("name", EXACT)
def test_warm_start(problem, name):
    first = train(problem, name, rho1=0.5, tol=1e-5)
    again = train(problem, name, rho1=0.5, tol=1e-4, start=first.theta)
    assert len(again.trace) == 1
    near = train(problem, name, rho1=0.45, tol=1e-4, start=first.theta)
    cold = train(problem, name, rho1=0.45, tol=1e-4)
    assert near.objective == pytest.approx(cold.objective, rel=1e-5)
    assert len(near.trace) < len(cold.trace)


@pytest.mark.parametrize("name", sorted(TRAINERS))
def test_limits_and_the_callback(problem, name):
    short = train(problem, name, rho1=0.5, tol=0.0, max_iterations=3)
    assert short.termination is Termination.ITERATION_LIMIT
    assert short.trace[-1].iteration == 3
    assert train(problem, name, rho1=0.5, time_limit=0.0).termination is Termination.TIME_LIMIT
    seen = []

    def stop_at_two(row):
        seen.append(row)
        return row.iteration == 2

    stopped = train(problem, name, rho1=0.5, callback=stop_at_two)
    assert stopped.termination is Termination.STOPPED
    assert [row.iteration for row in seen] == [0, 1, 2]


@pytest.mark.parametrize("name", sorted(TRAINERS))
def test_an_interrupt_keeps_the_best_model(problem, name):
    def interrupt(row):
        if row.iteration == 4:
            raise KeyboardInterrupt

    result = train(problem, name, rho1=0.5, callback=interrupt)
    assert result.termination is Termination.INTERRUPTED
    assert result.objective == min(row.objective for row in result.trace)
    value = negative_log_likelihood(problem, result.theta) + 0.5 * np.abs(result.theta).sum()
    assert result.objective == pytest.approx(value)


def test_strong_penalty_leaves_nothing(problem):
    gradient = value_and_gradient(problem, problem.layout.zeros())[1]
    result = train(problem, rho1=1.01 * np.abs(gradient).max())
    assert result.active == 0
    assert result.converged
    assert result.distance == 0.0
    assert train(problem, rho1=0.99 * np.abs(gradient).max()).active > 0


@pytest.mark.parametrize("name", sorted(TRAINERS))
def test_stops_where_ten_iterations_bring_little(problem, name):
    flat = train(problem, name, rho1=0.5, tol=0.0, delta=0.9, random_state=0)
    assert flat.termination is Termination.FLAT
    assert flat.trace[-1].iteration >= 10
    assert flat.trace[-11].objective - flat.objective <= 0.9 * flat.objective


@pytest.mark.parametrize("name", ["owlqn"])
def test_a_clock_stops_within_an_iteration(problem, monkeypatch, name):
    # a tick at each look: the limit is met between two steps, not after all of an iteration
    ticks = iter(range(10**6))
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: float(next(ticks))))
    short = train(problem, name, rho1=0.1, tol=0.0, time_limit=20.0)
    assert short.termination is Termination.TIME_LIMIT
    assert len(short.trace) <= 8
    assert short.seconds < 30


@pytest.mark.parametrize("name", ["owlqn", "sbcd"])
def test_an_iteration_that_time_ends_before_its_first_step_is_no_stall(problem, monkeypatch, name):
    found = set()
    for limit in range(2, 9):
        ticks = iter(range(10**6))
        monkeypatch.setattr(Clock, "now", staticmethod(lambda ticks=ticks: float(next(ticks))))
        found.add(train(problem, name, rho1=0.1, tol=0.0, time_limit=float(limit)).termination)
    assert found == {Termination.TIME_LIMIT}


def test_stalls_where_tol_cannot_be_reached(problem):
    result = train(problem, rho1=0.5, tol=0.0, max_iterations=5000)
    assert result.termination is Termination.STALLED
    assert result.distance < 1e-6


def test_a_sparse_crf_is_recovered_from_its_samples():
    data, truth = make_random_crf(
        3000, n_unigrams=4, n_bigrams=3, mean_length=6.0, density=0.25, scale=2.0, random_state=6
    )
    result = train(data, rho1=12.0)
    refit = train(data, rho1=0.0, rho2=1e-3)
    assert result.active < 0.8 * len(truth)
    held, _ = make_random_crf(
        400, n_unigrams=4, n_bigrams=3, mean_length=6.0, density=0.25, scale=2.0, random_state=7
    )
    held = replace(held, labels=sample_labels(held, truth, random_state=0))
    best = negative_log_likelihood(held, truth)
    null = negative_log_likelihood(held, 0 * truth)
    for fitted in (result, refit):
        assert negative_log_likelihood(held, fitted.theta) - best < 0.03 * (null - best)
    strong = np.abs(truth) > 1.5
    assert (np.sign(result.theta[strong]) == np.sign(truth[strong])).mean() > 0.9


def test_unusable_arguments(problem):
    with pytest.raises(OptionError, match="rho1 must be"):
        train(problem, rho1=-1.0)
    with pytest.raises(OptionError, match="tol must be"):
        TrainOptions(tol=np.nan)
    with pytest.raises(OptionError, match="there are"):
        train(problem, "newton")
    with pytest.raises(DataError, match="same vocabulary"):
        train(problem, start=np.zeros(3))
    assert train(problem, "OWL-QN", max_iterations=1).trace[-1].iteration == 1


def test_the_distance_has_a_unit_of_its_own():
    data, theta = small_chains()
    objective = Objective(Prepared(data), 0.1, 0.3)
    zero = np.zeros_like(theta)
    _, gradient = objective.smooth(zero)
    assert objective.distance(zero, gradient) == pytest.approx(1.0)
    assert objective.evaluations == 1


def test_an_algorithm_of_ones_own_is_trained_by_name(problem, monkeypatch):
    def descent(objective, start, recorder):
        theta, iteration = start, 0
        while True:
            smooth, gradient = objective.smooth(theta)
            value = objective.penalised(theta, smooth)
            stop = recorder.note(iteration, theta, value, objective.distance(theta, gradient))
            if stop is not None:
                return stop
            theta, iteration = theta - 0.01 * gradient, iteration + 1

    monkeypatch.setattr(TRAINERS, "_homes", dict(TRAINERS._homes))
    TRAINERS.register("descent", descent)
    result = train(problem, "descent", rho2=1.0, max_iterations=300, tol=1e-3)
    assert result.converged
    best = train(problem, rho2=1.0).objective
    assert result.objective == pytest.approx(best, rel=1e-4)
    with pytest.raises(OptionError, match="did you mean descent"):
        train(problem, "decent")
