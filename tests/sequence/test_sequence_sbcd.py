"""SBCD: derivatives of blocks, descent of every step, the others' optimum; the path of rho1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numba import njit
from sequence_cases import enumerated, make_random_crf, small_chains

from milpscore.core.clock import Clock
from milpscore.core.errors import OptionError
from milpscore.core.result import Termination
from milpscore_sequence import (
    Prepared,
    SequenceData,
    TrainResult,
    crf_path,
    make_letters_to_phonemes,
    rho1_max,
    train,
    value_and_gradient,
)
from milpscore_sequence.block_kernels import best_shift, derivatives, sweep_blocks
from milpscore_sequence.blocks import BlockDescent, Blocks, Working
from milpscore_sequence.generators import sample_labels
from milpscore_sequence.training import Objective


@njit(error_model="numpy")
def called(block, span, world):
    """A kernel that kernels alone call."""
    derivatives(block, span, world)


PENALTIES = [(0.5, 0.0), (0.3, 0.2), (0.0, 0.5)]


@pytest.fixture(scope="module")
def problem():
    data, _ = make_random_crf(60, n_labels=4, density=0.4, scale=1.5, random_state=1)
    return Prepared(data)


def sbcd(data: Any, rho1: float = 0.0, rho2: float = 0.0, **options: Any) -> TrainResult:
    return train(data, "sbcd", rho1=rho1, rho2=rho2, **options)


def owlqn(data: Any, rho1: float = 0.0, rho2: float = 0.0, **options: Any) -> TrainResult:
    return train(data, rho1=rho1, rho2=rho2, **options)


def make_descent(data, theta, rho1=0.0, rho2=0.0):
    descent = BlockDescent(Objective(Prepared(data), rho1, rho2), theta.copy())
    return descent, at_work(descent)


def at_work(descent):
    """What is not zero, or wants to leave it."""
    _, gradient = descent.objective.smooth(descent.theta)
    rho1 = descent.objective.rho1
    wanted = (descent.theta != 0) | (np.abs(gradient) > rho1) | (rho1 == 0)
    return Working(descent, np.flatnonzero(wanted))


def block_derivatives(data, theta):
    """Working first and second derivatives of all blocks, by the kernel."""
    _, working = make_descent(data, theta)
    first, second = (np.full(len(theta), np.nan) for _ in range(2))
    world = working.world
    for block in working.order:
        (a, m), b = world.ranges[block], world.ranges[block + 1, 0]
        called(block, (a, m, b), world)
        first[working.at[a:b]], second[working.at[a:b]] = world.steps[:2, : b - a]
    return first, second


def features(data, index, labels):
    """Counts of each parameter at each position of a labelled sequence, shape (n, n_parameters)."""
    start = data.offsets[index]
    counts = np.zeros((len(labels), data.layout.n_parameters))
    for r, row in enumerate(counts):
        mu, lam = data.layout.split(row)
        t = start + r
        for u in data.unigram_ids[data.unigram_ptr[t] : data.unigram_ptr[t + 1]]:
            mu[u, labels[r]] += 1
        for b in data.bigram_ids[data.bigram_ptr[t] : data.bigram_ptr[t + 1]]:
            lam[b, labels[r - 1], labels[r]] += 1
    return counts


def brute_derivatives(data, theta):
    """The same by enumeration: variances a position, and the exact diagonal of the Hessian."""
    first, second, exact = (np.zeros(len(theta)) for _ in range(3))
    for index, (labels, log_p, _) in enumerate(enumerated(data, theta)):
        p = np.exp(log_p)
        counts = np.array([features(data, index, each) for each in labels])
        mean = np.einsum("m,mtj->tj", p, counts)
        first += mean.sum(axis=0)
        second += (np.einsum("m,mtj->tj", p, counts**2) - mean**2).sum(axis=0)
        whole = counts.sum(axis=1)
        exact += p @ whole**2 - (p @ whole) ** 2
    return first, second, exact


def test_derivatives_of_blocks_by_enumeration():
    data, theta = small_chains()
    first, second = block_derivatives(data, theta)
    g, h, _ = brute_derivatives(data, theta)
    held = ~np.isnan(first)
    np.testing.assert_allclose(first[held], g[held], atol=1e-12)
    np.testing.assert_allclose(second[held], h[held], atol=1e-12)
    assert not g[~held].any()


def test_second_derivatives_are_exact_for_a_symbol_seen_once_a_sequence():
    rng = np.random.default_rng(3)
    # three positions, symbols 0, 1, 2 in some order
    ids = np.concatenate([rng.permutation(3) for _ in range(8)])
    opens = np.arange(24) % 3 == 0
    data = SequenceData(
        offsets=np.arange(0, 25, 3),
        unigram_ptr=np.arange(25),
        unigram_ids=ids,
        bigram_ptr=np.r_[0, np.cumsum(~opens)],
        bigram_ids=ids[~opens],
        n_unigrams=3,
        n_bigrams=3,
        n_labels=3,
    )
    theta = rng.normal(size=data.layout.n_parameters)
    data = replace(data, labels=sample_labels(data, theta, random_state=0))
    assert (Blocks(Prepared(data)).unigram >= 0).sum() == 3
    assert (Blocks(Prepared(data)).bigram >= 0).sum() == 3
    assert len(Blocks(Prepared(data)).unigram) == 3
    _, second = block_derivatives(data, theta)
    exact = brute_derivatives(data, theta)[2]
    np.testing.assert_allclose(second, exact, atol=1e-12)


@pytest.mark.parametrize(("rho1", "rho2"), PENALTIES)
def test_every_step_lowers_the_objective(problem, rho1, rho2):
    data = problem.data
    start = np.random.default_rng(0).normal(size=data.layout.n_parameters)
    descent, working = make_descent(data, start, rho1, rho2)
    objective = descent.objective

    def value():
        theta = working.theta()
        return objective.penalised(theta, objective.smooth(theta)[0])

    now = value()
    for block in list(working.order) * 3:
        fell = sweep_blocks(np.array([block]), 0.0, working.world)[1]
        after = value()
        assert fell >= 0.0
        assert now - after == pytest.approx(fell, abs=1e-9)
        now = after


def test_a_column_shift_is_the_least_of_all_on_a_grid():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = rng.integers(1, 6)
        kinks = rng.integers(-3, 4, n) / 2.0
        held = kinks.copy()
        slope, (curvature, rho1, rho2) = rng.normal(), rng.uniform(0.1, 1.0, 3)

        def cost(c, at=held, slope=slope, curvature=curvature, rho1=rho1, rho2=rho2):
            apart = c - at[:, None]
            smooth = slope * c + curvature / 2 * c**2 + rho2 / 2 * (apart**2).sum(axis=0)
            return smooth + rho1 * np.abs(apart).sum(axis=0)

        found = best_shift(slope, curvature, kinks, rho1, rho2)
        assert cost(np.array([found]))[0] <= cost(np.linspace(-8, 8, 3201)).min() + 1e-12


@pytest.mark.parametrize(("rho1", "rho2"), PENALTIES)
def test_meets_owlqn(problem, rho1, rho2):
    one = sbcd(problem, rho1, rho2, tol=1e-7)
    other = owlqn(problem, rho1, rho2, tol=1e-7)
    assert one.converged
    assert one.objective == pytest.approx(other.objective, rel=1e-8)
    assert (np.diff([row.objective for row in one.trace]) < 1e-9).all()
    if rho1 and rho2:
        np.testing.assert_array_equal(one.theta != 0, other.theta != 0)


def test_meets_owlqn_on_letters():
    data = make_letters_to_phonemes(150, 0, n_observations=8, n_labels=26).data
    one, other = sbcd(data, 0.3, tol=1e-5), owlqn(data, 0.3, tol=1e-5)
    assert one.objective == pytest.approx(other.objective, rel=1e-6)
    assert one.converged
    assert other.converged


def test_a_start_elsewhere_and_features_never_seen(problem):
    data = replace(problem.data, n_unigrams=problem.data.n_unigrams + 2)
    start = np.random.default_rng(0).normal(scale=3.0, size=data.layout.n_parameters)
    warm = sbcd(data, 0.5, tol=1e-6, start=start)
    assert warm.objective == pytest.approx(owlqn(problem, 0.5, tol=1e-6).objective, rel=1e-7)
    mu, _ = data.layout.split(warm.theta)
    assert not mu[-2:].any()


def test_short_and_empty_sequences():
    data = SequenceData(
        offsets=[0, 1, 1, 2, 4],
        unigram_ptr=[0, 1, 2, 3, 4],
        unigram_ids=[0, 0, 0, 1],
        bigram_ptr=[0, 0, 0, 0, 1],
        bigram_ids=[0],
        n_unigrams=2,
        n_bigrams=1,
        n_labels=2,
        labels=[0, 0, 0, 1],
    )
    one, other = sbcd(data, 0.1, 0.1, tol=1e-8), owlqn(data, 0.1, 0.1, tol=1e-8)
    assert one.objective == pytest.approx(other.objective, rel=1e-9)
    alone = sbcd(data.subset([0, 2]), 0.1, 0.1, tol=1e-8)
    # one parameter a label: their difference d solves 2 (1 - p(d)) = 0.1 + 0.05 d
    mu, _ = data.layout.split(alone.theta)
    assert mu[0, 0] == pytest.approx(-mu[0, 1])
    d = mu[0, 0] - mu[0, 1]
    assert 2 / (1 + np.exp(d)) == pytest.approx(0.1 + 0.05 * d, abs=1e-6)
    nothing = sbcd(data.subset([1]), 0.1)
    assert nothing.objective == 0.0
    assert nothing.converged


def test_strong_penalty_and_a_tol_out_of_reach(problem):
    assert sbcd(problem, 1.01 * rho1_max(problem)).active == 0
    stalled = sbcd(problem, 0.5, tol=0.0, max_iterations=3000)
    assert stalled.termination is Termination.STALLED
    assert stalled.distance < 1e-6


def test_sweeps_go_on_right_after_a_move_of_all_parameters(problem):
    objective = Objective(problem, 0.5, 0.1)

    def value(theta):
        return objective.penalised(theta, objective.smooth(theta)[0])

    rng = np.random.default_rng(0)
    descent = BlockDescent(objective, rng.normal(size=problem.layout.n_parameters))
    for _ in range(4):
        # sweeps begin at the joint step's end: a kept vector from before it would mislead them
        descent.go_to(descent.theta + 0.1 * rng.normal(size=len(descent.theta)))
        before = value(descent.theta)
        assert descent.descend(at_work(descent), 1.0, Clock())
        assert value(descent.theta) < before


@pytest.mark.parametrize("solver", ["sbcd", "owlqn"])
def test_a_warm_path_is_the_cold_one(problem, solver):
    path = crf_path(problem, 5, ratio=0.03, solver=solver, tol=1e-6)
    assert path.table["active"].iloc[0] == 0
    assert path.rho1s[0] == pytest.approx(
        np.abs(value_and_gradient(problem, problem.layout.zeros())[1]).max()
    )
    for rho1, warm in zip(path.rho1s, path.results, strict=True):
        assert warm.objective == pytest.approx(owlqn(problem, rho1, tol=1e-6).objective, rel=1e-7)
    table = path.table
    assert (table["active"] == table["active_mu"] + table["active_lambda"]).all()
    change = table["active"].diff().fillna(table["active"].iloc[0])
    assert (change == table["new"] - table["gone"]).all()
    assert table["objective"].is_monotonic_decreasing


def test_paths_of_given_values(problem):
    path = crf_path(problem, [0.5, 2.0], 0.1, solver="sbcd", max_iterations=2)
    assert path.rho1s.tolist() == [2.0, 0.5]
    for wrong in ([], [-1.0], [np.nan], 0):
        with pytest.raises(OptionError):
            crf_path(problem, wrong)
    with pytest.raises(OptionError, match="ratio"):
        crf_path(problem, 3, ratio=1.0)
