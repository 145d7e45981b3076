"""The conic formulations, each with each loss: what they state, and that the solvers agree."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from conic_cases import (
    ARGUMENTS,
    BLOCKS,
    CHANGED,
    COLUMNS,
    LOSSES,
    SMOOTH,
    compiled_once,
    make,
    stated_value,
    table,
)
from designs import binned
from scipy.optimize import minimize

from milpscore.core.errors import DataError, FormulationError, OptionError
from milpscore.core.result import Claim
from milpscore.formulations import CONIC_FORMULATIONS, FORMULATIONS, binarsity
from milpscore.solvers import solve
from milpscore.verify.cards import check_conic

every = pytest.mark.parametrize("name", CONIC_FORMULATIONS)
with_losses = pytest.mark.parametrize("loss", LOSSES)


def close(one: float, other: float, tolerance: float = 1e-7) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def test_every_registered_formulation_is_tested() -> None:
    assert set(ARGUMENTS) == set(CHANGED) == set(CONIC_FORMULATIONS)
    assert not set(CONIC_FORMULATIONS) & set(FORMULATIONS)


def test_the_registry_finds_builders_by_name() -> None:
    assert CONIC_FORMULATIONS["weighted-l1"] is CONIC_FORMULATIONS["weighted_l1"]
    with pytest.raises(FormulationError, match="no conic formulation 'slim'; there are binarsity"):
        CONIC_FORMULATIONS["slim"]


# ------------------------------------------------------------------ what is stated


@every
@with_losses
def test_the_problem_is_convex_and_its_parameters_compile_once(name: str, loss: str) -> None:
    program = make(name, loss)
    assert program.model.is_dcp()
    assert program.model.is_dcp(dpp=True)
    assert program.model.parameters()
    for part in (*program.model.parameters(), *program.model.variables()):
        assert not part.name().startswith(("param", "var")), "a part without a name"


@every
@with_losses
def test_the_model_states_the_loss_plus_the_penalty(name: str, loss: str) -> None:
    program, rng = make(name, loss), np.random.default_rng(1)
    for _ in range(3):
        w, b = rng.normal(scale=0.4, size=COLUMNS).clip(-0.95, 0.95), float(rng.normal())
        w = program.statement.penalty.prox(w, 0.0)  # into the domain: binarsity's sums of 0
        expected = program.statement.mean_loss(w, b) + program.statement.penalty.value(w)
        assert close(stated_value(program, w, b), expected)


@every
def test_weights_on_rows_and_equal_rows_state_the_same_mean(name: str) -> None:
    X, y = table(name, "squared")
    arguments = {"lam": 0.05, **ARGUMENTS[name]}
    build: Any = CONIC_FORMULATIONS[name]
    twice = build(np.vstack([X, X[:7]]), np.append(y, y[:7]), loss="squared", **arguments)
    weights = np.ones(len(y))
    weights[:7] = 2.0
    weighted = build(X, y, loss="squared", sample_weight=weights, **arguments)
    one, other = solve(twice), solve(weighted)
    assert one.verified
    assert close(one.objective, other.objective)


@every
@with_losses
def test_the_solvers_agree(name: str, loss: str) -> None:
    program = make(name, loss)
    solvers = ["ecos", "clarabel", *(["proximal"] if loss in SMOOTH else [])]
    results = [solve(program, solver) for solver in solvers]
    for result in results:
        assert result.verified
        assert result.kind == "relaxed"
        assert result.dual_bound <= result.objective
        assert result.dual_bound >= result.objective - 1e-6
        assert close(result.objective, results[0].objective)
        assert result.claim is (
            Claim.GAP if str(result.termination) == "inaccurate" else Claim.OPTIMAL
        )


@every
def test_the_values_left_in_the_model_are_those_of_the_result(name: str) -> None:
    program = make(name)
    result = solve(program)
    w, b = program.coefficients()
    np.testing.assert_array_equal(w, result.coefficients)
    assert b == result.intercept
    assert check_conic(program).objective == result.objective


@every
def test_an_intercept_fixed_at_zero_stays_there(name: str) -> None:
    results = [solve(make(name, intercept=False), s) for s in ("ecos", "clarabel", "proximal")]
    assert [result.intercept for result in results] == [0.0] * 3
    assert all(close(result.objective, results[0].objective) for result in results)
    assert results[0].objective > solve(make(name)).objective


# ------------------------------------------------------------------ another judge

SMOOTH_PENALTIES: dict[str, dict[str, Any]] = {
    "elastic_net": {"l1_ratio": 0.0},
    "eye": {"expert": np.ones(COLUMNS)},  # a Euclidean norm: smooth away from 0
    "naive_credibility": {"expert": [1.0, 0.5, 1.0, 0.2, 1.0, 0.25], "beta": 0.0},
    "weighted_l2": {"weights": [1.0, 2.0, 0.3, 0.5, 1.0, 1.5]},
}


def penalty_by_hand(name: str, w: Any, arguments: dict[str, Any]) -> float:
    """The formula as the paper prints it, without lam."""
    if name == "elastic_net":
        return float(w @ w) / 2
    if name == "eye":
        return float(np.linalg.norm(w))
    if name == "naive_credibility":
        return float(((np.asarray(arguments["expert"]) * w) ** 2).sum())
    return float(((np.asarray(arguments["weights"]) * w) ** 2).sum()) / 2


@pytest.mark.parametrize("name", SMOOTH_PENALTIES)
@pytest.mark.parametrize("loss", SMOOTH)
def test_a_general_minimiser_finds_no_better_point(name: str, loss: str) -> None:
    X, y = table(name, loss)
    arguments = SMOOTH_PENALTIES[name]

    def objective(at: Any) -> float:
        z = X @ at[:-1] + at[-1]
        row = {
            "squared": lambda: (y - z) ** 2 / 2,
            "logistic": lambda: np.logaddexp(0.0, -y * z),
            "poisson": lambda: np.exp(z) - y * z,
        }[loss]()
        return float(row.mean()) + 0.05 * penalty_by_hand(name, at[:-1], arguments)

    start = np.full(COLUMNS + 1, 0.1)
    best = minimize(objective, start, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    result = solve(make(name, loss, **arguments))
    assert close(result.objective, best.fun, 1e-7)
    np.testing.assert_allclose(result.coefficients, best.x[:-1], atol=1e-3)


# ------------------------------------------------------------------ changing in place


@every
@with_losses
def test_set_equals_a_new_program_and_compiles_nothing(name: str, loss: str) -> None:
    program = make(name, loss)
    solve(program)
    kept = compiled_once(program)
    program.set(**CHANGED[name])
    changed = solve(program)
    if "extended" not in changed.message:
        assert compiled_once(program) is kept
    fresh = solve(make(name, loss, **CHANGED[name]))
    assert changed.verified
    assert close(changed.objective, fresh.objective)
    assert close(changed.penalty, fresh.penalty, 1e-4)
    assert not close(changed.objective, solve(make(name, loss)).objective, 1e-3)


@every
def test_a_refused_change_leaves_the_program_as_it_was(name: str) -> None:
    program = make(name)
    before = {part.name(): np.copy(part.value) for part in program.model.parameters()}
    statement = program.statement
    with pytest.raises(OptionError, match="lam must be a finite number >= 0"):
        program.set(lam=-1.0)
    with pytest.raises(FormulationError, match="cannot change 'lamda' in place; it can change"):
        program.set(lam=1.0, lamda=3.0)
    assert program.statement is statement
    for part in program.model.parameters():
        np.testing.assert_array_equal(part.value, before[part.name()])


@pytest.mark.parametrize(
    "name", ["owl", "weighted_fused_lasso", "weighted_l1", "weighted_l2", "binarsity"]
)
@pytest.mark.parametrize("weights", [[1.0, 0.5], [1.0, np.nan] * 3, [2.0, -1.0] * 3, "dta", 3.0])
def test_weights_of_another_length_or_value_are_refused(name: str, weights: Any) -> None:
    with pytest.raises(OptionError, match="weights"):
        make(name, weights=weights)
    program = make(name)
    with pytest.raises(OptionError, match="weights"):
        program.set(weights=weights)


def test_owl_refuses_a_drop_it_was_not_built_with() -> None:
    program = make("owl", weights=[2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
    program.set(weights=[5.0, 5.0, 5.0, 0.0, 0.0, 0.0])
    with pytest.raises(FormulationError, match=r"drop after the 2 largest.*after 3, 6.*new"):
        program.set(weights=[2.0, 2.0, 1.0, 1.0, 1.0, 1.0])


@every
def test_lam_may_be_zero(name: str) -> None:
    free = {"l0_penalty": 0.0} if name == "perspective" else {}
    result = solve(make(name, "squared", lam=0.0, **free))
    X, y = table(name, "squared")
    residual = (
        y
        - np.column_stack([X, np.ones(len(y))])
        @ np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0]
    )
    assert result.verified
    assert close(result.objective, float((residual**2).mean()) / 2, 1e-6)


# ------------------------------------------------------------------ blocks of bins


def test_binarsity_needs_blocks_of_every_column() -> None:
    X, y = table("binarsity")
    with pytest.raises(FormulationError, match=r"ordered one-hot bins: bin the data first.*Binner"):
        binarsity(X, y)
    with pytest.raises(FormulationError, match="blocks that hold every column"):
        binarsity(X, y, blocks=[(0, 1, 2)])
    with pytest.raises(OptionError, match="exactly once"):
        binarsity(X, y, blocks=[(0, 1, 2), (2, 3, 4, 5)])
    with pytest.raises(FormulationError, match="a single bin"):
        binarsity(X, y, blocks=[(j,) for j in range(6)])


def test_binarsity_takes_the_blocks_of_a_design() -> None:
    made = binned(40, seed=3)
    result = solve(binarsity(made, lam=0.01))
    assert made.blocks == BLOCKS
    assert result.verified
    assert np.abs(np.add.reduceat(result.coefficients, [0, 3])).max() < 1e-12
    assert result.terms == 2


def test_a_chain_needs_two_columns() -> None:
    _, y = table()
    with pytest.raises(FormulationError, match="two columns or more"):
        CONIC_FORMULATIONS["weighted_fused_lasso"](np.arange(40.0)[:, None], y)


# ------------------------------------------------------------------ bad arguments


@pytest.mark.parametrize("name", ["eye", "naive_credibility"])
@pytest.mark.parametrize(
    ("expert", "said"),
    [
        ([1.0, 0.5, np.nan, 0, 0, 0], r"expert\[2\] is nan"),
        ([1.0, 0.5, 1.5, 0, 0, 0], r"expert\[2\] is 1.5"),
        ([-0.1, 0.5, 1.0, 0, 0, 0], r"expert\[0\] is -0.1"),
        ([1.0, 0.0], "expert has 2 numbers for 6 features"),
        (np.ones((6, 2)), r"expert must be a non-empty vector, got shape \(6, 2\)"),
        ("x0", "a single text"),
    ],
)
def test_what_an_expert_cannot_say(name: str, expert: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        make(name, expert=expert)
    program = make(name)
    with pytest.raises(OptionError, match=said):
        program.set(expert=expert)


def test_an_expert_names_columns() -> None:
    by_name = solve(make("eye", expert={"x0": 1.0, "x1": 0.5, "x4": 1.0, "x5": 0.25}))
    assert close(by_name.objective, solve(make("eye")).objective)
    with pytest.raises(DataError, match="expert names 'x9'"):
        make("eye", expert=["x9"])


@pytest.mark.parametrize(
    ("name", "bad", "said"),
    [
        ("elastic_net", {"l1_ratio": 1.1}, "l1_ratio"),
        ("naive_credibility", {"beta": -0.1}, "beta"),
        ("facets", {"gamma": 0.0}, "gamma"),
        ("strongly_convex_facets", {"eps": 0.0}, "eps"),
        ("strongly_convex_facets", {"gamma": np.inf}, "gamma"),
        ("owl", {"weights": [1.0, 2.0, 0, 0, 0, 0]}, "must not increase"),
        ("eye", {"lam": np.nan}, "lam"),
        ("eye", {"lam": "0.1"}, "lam"),
        ("eye", {"loss": "probit"}, "no conic form of the loss 'probit'"),
    ],
)
def test_arguments_out_of_range_are_named(name: str, bad: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        make(name, **bad)


def test_a_margin_belongs_to_the_hinge_loss() -> None:
    with pytest.raises(FormulationError, match="belongs to the hinge loss"):
        make("eye", margin=2.0)
    with pytest.raises(FormulationError, match="margin"):
        make("eye", "hinge", margin=0.0)
    narrow = solve(make("eye", "hinge", margin=0.5))
    assert narrow.objective < solve(make("eye", "hinge")).objective


def test_parameters_can_be_read_and_dumped() -> None:
    program = make("eye")
    known = {part.name(): part for part in program.model.parameters()}
    np.testing.assert_allclose(known["lam_r"].value, 0.05 * np.array(ARGUMENTS["eye"]["expert"]))
    assert repr(program) == "<Program eye, logistic loss, conic, of 40 rows x 6 columns>"
    assert isinstance(program.model, cp.Problem)
    assert program.size.integers == 0
    assert program.size.rows > 40


@every
def test_a_parameter_set_by_hand_is_named(name: str) -> None:
    program = make(name, "logistic")
    first = solve(program)
    assert "by hand" not in first.message
    parameter = program.model.parameters()[0]
    parameter.value = np.asarray(parameter.value) + 0.25
    again = solve(program)
    assert f"Parameter {parameter.name()} had been set by hand" in again.message
    assert again.objective == pytest.approx(first.objective, abs=1e-6)
    assert "by hand" not in solve(program).message
