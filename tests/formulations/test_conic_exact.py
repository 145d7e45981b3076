"""Conic programs and the integer programs they relax, by way of HiGHS's LP of the latter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conic_cases import LOSSES, make, table
from designs import binned, noisy

from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.result import Claim
from milpscore.data import Binner
from milpscore.formulations import CONIC_FORMULATIONS, binarsity, facets, weighted_fused_lasso
from milpscore.solvers import solve

SEEDS = range(4)


def objectives(program: Any) -> tuple[float, float, float]:
    """The conic optimum, the LP of the integer program, the integer optimum."""
    conic, whole = solve(program), program.exact()
    relaxed, exact = solve(whole.relaxed()), solve(whole, mip_gap=0.0, time_limit=60)
    assert conic.claim is exact.claim is Claim.OPTIMAL
    assert relaxed.verified
    return conic.objective, relaxed.objective, exact.objective


def assert_in_order(program: Any) -> None:
    """conic == LP <= integer optimum."""
    conic, relaxed, exact = objectives(program)
    assert conic == pytest.approx(relaxed, rel=1e-7, abs=1e-9)
    assert conic <= exact + 1e-7


# ------------------------------------------------------------------ Facets


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("lam", "gamma", "margin"), [(0.02, 1.0, 1.0), (0.05, 0.5, 1.0), (0.003, 0.1, 0.5)]
)
def test_facets_is_the_relaxation_of_whole_multiples_of_gamma(
    seed: int, lam: float, gamma: float, margin: float
) -> None:
    made = noisy(24, 3, seed)
    assert_in_order(facets(made, lam=lam, gamma=gamma, margin=margin, loss="hinge"))


def test_the_points_of_the_exact_card_times_gamma_are_coefficients() -> None:
    program = facets(noisy(24, 3), lam=0.02, gamma=0.25, loss="hinge")
    exact = solve(program.exact(), mip_gap=0.0)
    w, b = 0.25 * exact.card.coefficients, 0.25 * float(exact.card.intercept)
    statement = program.statement
    assert statement.mean_loss(w, b) == pytest.approx(exact.loss, abs=1e-9)
    assert statement.penalty.value(w) == pytest.approx(exact.penalty, abs=1e-9)
    assert np.any(w)


def test_facets_without_an_intercept() -> None:
    assert_in_order(facets(noisy(24, 3), lam=0.02, gamma=0.5, loss="hinge", intercept=False))


def test_the_arguments_set_last_are_those_of_the_integer_program() -> None:
    program = facets(noisy(24, 3), lam=0.02, gamma=0.5, loss="hinge")
    program.set(lam=0.06, gamma=0.25)
    fresh = facets(noisy(24, 3), lam=0.06, gamma=0.25, loss="hinge")
    assert objectives(program) == pytest.approx(objectives(fresh), rel=1e-7)


# ------------------------------------------------------------------ binarsity


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weights", [None, "data", [0.0, 0.5, 2.0, 0.0, 1.0, 0.3]])
@pytest.mark.parametrize("margin", [1.0, 2.0])
def test_binarsity_is_the_relaxation_of_the_fused_lasso(
    seed: int, weights: Any, margin: float
) -> None:
    lam = 0.1 if weights == "data" else 0.02
    assert_in_order(binarsity(binned(24, seed), lam=lam, weights=weights, margin=margin,
                              loss="hinge"))  # fmt: skip


def test_binarsity_of_binned_numbers() -> None:
    X, y = table()
    made = Binner(n_bins=4, encoding="onehot").fit_design(X[:, :2], y)
    assert_in_order(binarsity(made, lam=0.05, weights="data", loss="hinge"))


def test_ranges_hold_every_better_card() -> None:
    """Wider ranges give nothing better, and those that were derived are not wider than needed."""
    from milpscore.formulations import fused_lasso

    made = binned(24, 1)
    program = binarsity(made, lam=0.02, loss="hinge")
    whole = program.exact()
    lost = solve(binarsity(made, lam=100.0, loss="hinge")).objective
    assert np.all(whole.statement.coef_max[[0, 3]] == 0)
    assert np.all(whole.statement.coef_max[[1, 2, 4, 5]] == np.ceil(lost / 0.02))
    wide = fused_lasso(made, lam=0.02, coef_min=-500, coef_max=500, intercept="real")
    for one, other in ((whole, wide), (whole.relaxed(), wide.relaxed())):
        assert solve(one).objective == pytest.approx(solve(other).objective, abs=1e-9)


def test_bins_without_rows_at_the_end_bound_nothing_and_hide_nothing() -> None:
    made = binned(24, 2)
    kept = made.X[:, 2] == 0
    empty = Design(
        made.X[kept], made.y[kept], made.weight[kept], made.columns, made.blocks
    )  # the last bin of the first feature has no row: its data-driven weight is 0
    program = binarsity(empty, lam=0.1, weights="data", loss="hinge")
    assert program.statement.penalty.weights[2] == 0.0
    assert_in_order(program)


def test_smaller_lam_would_need_wider_ranges() -> None:
    whole = binarsity(binned(24), lam=0.02, loss="hinge").exact()
    whole.set(lam=0.05)
    with pytest.raises(FormulationError, match=r"lies below 0\.02"):
        whole.set(lam=0.01)


def test_what_has_no_ranges_is_refused() -> None:
    made = binned(24)
    with pytest.raises(FormulationError, match=r"the jump into f0b1 costs nothing.*coef_min"):
        binarsity(made, lam=0.0, loss="hinge").exact()
    free = [0.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    with pytest.raises(FormulationError, match="the jump into f0b2 costs nothing"):
        binarsity(made, lam=0.1, weights=free, loss="hinge").exact()
    with pytest.raises(FormulationError, match=r"points reach .*: raise lam"):
        binarsity(made, lam=1e-6, loss="hinge").exact()


def test_a_fixed_intercept_has_no_fused_lasso() -> None:
    program = binarsity(binned(24), loss="hinge", intercept=False)
    with pytest.raises(NotApplicableError, match="intercept=True"):
        program.exact()


def test_rows_outside_every_bin_have_no_fused_lasso() -> None:
    made = binned(24)
    X = made.X.copy()
    X[5, :3] = 0.0
    broken = Design(X, made.y, made.weight, made.columns, made.blocks)
    with pytest.raises(NotApplicableError, match="a row lies in no bin"):
        binarsity(broken, loss="hinge").exact()


# ------------------------------------------------------------------ a chain


@pytest.mark.parametrize("seed", SEEDS)
def test_a_chain_parted_between_features_is_binarsity(seed: int) -> None:
    made = binned(24, seed)
    chain = weighted_fused_lasso(made, lam=0.02, weights=[1.0, 2, 0, 0.5, 1], loss="hinge")
    assert_in_order(chain)
    blocks = binarsity(made, lam=0.02, weights=[0, 1.0, 2, 0, 0.5, 1], loss="hinge")
    assert solve(chain).objective == pytest.approx(solve(blocks).objective, rel=1e-7)


def test_a_chain_across_features_has_no_fused_lasso() -> None:
    with pytest.raises(NotApplicableError, match="the jump into f1b0 leaves a feature"):
        weighted_fused_lasso(binned(24), loss="hinge").exact()
    X, y = table()
    with pytest.raises(NotApplicableError, match="the ordered bins of features"):
        weighted_fused_lasso(X, y, loss="hinge").exact()


# ------------------------------------------------------------------ refused


WITHOUT = [
    (name, loss)
    for name in CONIC_FORMULATIONS
    for loss in LOSSES
    if (name, loss) not in (("facets", "hinge"), ("weighted_fused_lasso", "hinge"))
    and (name != "perspective" or loss in ("hinge", "poisson"))
]  # of binarsity the small table is no Design


@pytest.mark.parametrize(("name", "loss"), WITHOUT)
def test_the_others_say_that_they_have_none(name: str, loss: str) -> None:
    with pytest.raises(NotApplicableError, match="has no integer program"):
        make(name, loss).exact()


def test_added_constraints_are_not_lost_in_silence() -> None:
    program = facets(noisy(), loss="hinge")
    program.subject_to(program.w[0] >= 0.5)
    with pytest.raises(NotApplicableError, match=r"0.5.*call exact\(\) first"):
        program.exact()
