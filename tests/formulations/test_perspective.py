"""The perspective relaxation and its penalty: against CVXPY by hand, every card, and theorems."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from designs import design, noisy

from milpscore import compare_realisations
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError
from milpscore.core.result import Claim
from milpscore.formulations import perspective, risk_score
from milpscore.penalties import Perspective
from milpscore.solvers import solve

TIGHT = {"progress": False, "time_limit": 60.0}


def drawn(seed: int) -> tuple[Perspective, np.ndarray, float, np.random.Generator]:
    """A penalty, a point and a step; every bound, price, limit and kind in turn."""
    rng = np.random.default_rng(seed)
    whole = bool(seed % 2)
    bound = float(rng.integers(1, 6)) if whole else float(rng.uniform(0.3, 5))
    price, most = rng.choice([0.0, 0.1, 1.0, 3.0, 20.0]), [None, 0, 1, 2, 3][seed % 5]
    lam = 0.0 if seed % 7 == 6 else rng.uniform(0.1, 2)
    penalty = Perspective(
        lam, l0_penalty=lam * float(price), bound=bound, max_terms=most, whole=whole
    )
    return (
        penalty,
        rng.normal(size=6) * rng.choice([0.3, 2.0, 6.0]),
        rng.choice([0.1, 1.0, 3.0]),
        rng,
    )


def by_hand(penalty: Perspective, w: Any) -> tuple[Any, list[Any]]:
    """The penalty as the docstring states it, each column by itself."""
    z, t = cp.Variable(6), cp.Variable(6)
    rows = [z >= 0, z <= 1, cp.abs(w) <= penalty.bound * z, t >= 0]
    if penalty.max_terms is not None:
        rows.append(cp.sum(z) <= penalty.max_terms)
    for j in range(6):
        if penalty.whole:
            rows.append(t[j] >= z[j])
            for v in range(1, int(penalty.bound) + 1):
                for sign in (1, -1):
                    rows.append(t[j] >= sign * (2 * v - 1) * w[j] - v * (v - 1) * z[j])
        else:
            rows.append(cp.SOC(t[j] + z[j], cp.hstack([2 * w[j], t[j] - z[j]])))
    return penalty.lam * cp.sum(t) / 2 + penalty.l0_penalty * cp.sum(z), rows


def least(objective: Any, rows: list[Any]) -> float:
    return float(cp.Problem(cp.Minimize(objective), rows).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("seed", range(40))
def test_value_prox_and_conjugate_by_hand(seed: int) -> None:
    penalty, y, step, rng = drawn(seed)
    w = cp.Variable(6)
    expression, rows = by_hand(penalty, w)
    x = penalty.prox(y, step)
    got = (x - y) @ (x - y) / 2 + step * penalty.value(x)
    wanted = least(cp.sum_squares(w - y) / 2 + step * expression, rows)
    assert got == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    held, held_rows = by_hand(penalty, cp.Constant(x * 0.999))
    assert penalty.value(x * 0.999) == pytest.approx(least(held, held_rows), rel=1e-6, abs=1e-6)
    slope = rng.normal(size=6) * 3
    assert penalty.conjugate(slope) == pytest.approx(-least(expression - slope @ w, rows), abs=1e-5)


@pytest.mark.parametrize("seed", range(40))
def test_fenchel_and_young_meet_at_a_prox(seed: int) -> None:
    penalty, y, step, _ = drawn(seed)
    x = penalty.prox(y, step)
    z = (y - x) / step
    assert penalty.value(x) + penalty.conjugate(z) - x @ z == pytest.approx(
        0.0, abs=1e-9 * (1 + y @ y / step)
    )
    assert penalty.subdiff_distance(x, -z) <= 1e-9 * (1 + np.abs(y).max() / step)
    assert penalty.value(np.zeros(6)) == 0.0
    # a step of 0 is the nearest point of the domain
    inside = penalty.prox(y, 0.0)
    assert math.isfinite(penalty.value(inside))
    assert penalty.prox(inside, 0.0) == pytest.approx(inside, abs=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_the_hull_of_points(seed: int) -> None:
    """At a card the penalty is what the card pays; between cards, the cheapest mixture's price."""
    rng = np.random.default_rng(seed)
    most = [None, 1, 2][seed % 3]
    penalty = Perspective(0.4, l0_penalty=0.28, bound=3.0, max_terms=most, whole=True)
    cards = np.array(list(itertools.product(range(-3, 4), repeat=3)))
    if most is not None:
        cards = cards[np.count_nonzero(cards, axis=1) <= most]
    paid = 0.2 * (cards**2).sum(axis=1) + 0.28 * np.count_nonzero(cards, axis=1)
    for w, pays in zip(cards[::7], paid[::7], strict=True):
        assert penalty.value(w) == pytest.approx(pays, abs=1e-12)
    # the hull: the least mean of what cards pay, over all mixtures with mean w
    for _ in range(6):
        share = rng.dirichlet(np.full(len(cards), 0.02))
        w = share @ cards
        mix = cp.Variable(len(cards), nonneg=True)
        hull = least(paid @ mix, [cp.sum(mix) == 1, cards.T @ mix == w])
        assert penalty.value(w) == pytest.approx(hull, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("seed", range(4))
def test_no_relaxation_is_above_the_best_card(seed: int, loss: str) -> None:
    d = noisy(40, 4, seed=seed)
    given: dict[str, Any] = {"lam": 0.02, "l0_penalty": 0.01, "max_terms": 2, "coef_max": 3}
    loose, tight = (perspective(d, loss=loss, whole=whole, **given) for whole in (False, True))
    exact = tight.exact()
    bounds = [solve(program, **TIGHT).dual_bound for program in (loose, tight)]
    best = solve(exact, **TIGHT)
    assert best.claim is Claim.OPTIMAL
    weights = d.weight / d.weight.sum()
    every = math.inf
    for w in itertools.product(range(-3, 4), repeat=4):
        if np.count_nonzero(w) <= 2:
            card = exact.statement.with_best_intercept(np.array(w))
            score = d.X @ np.array(w) + float(card.intercept)
            rows = np.logaddexp(0, -d.y * score) if loss == "logistic" else (d.y - score) ** 2 / 2
            pays = 0.01 * (np.dot(w, w)) + 0.01 * np.count_nonzero(w)
            every = min(every, float(weights @ rows) + pays)
    assert best.objective == pytest.approx(every, abs=2e-6)
    ridge = solve(exact.relaxed(), **TIGHT).dual_bound
    assert bounds[0] <= bounds[1] + 1e-7
    assert ridge <= bounds[1] + 1e-6
    assert bounds[1] <= best.objective + 1e-9


def test_the_bound_is_that_of_the_boolean_relaxation() -> None:
    """Pilanci, Wainwright & El Ghaoui: min over z of ridge with columns scaled by z."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + rng.normal(size=30) * 0.3
    lam, k = 0.3, 2
    program = perspective(X, y, loss="squared", lam=lam, max_terms=k, coef_max=100, intercept=False)
    z = cp.Variable(5, nonneg=True)
    scaled = np.eye(30) + sum(z[j] * np.outer(X[:, j], X[:, j]) / (30 * lam) for j in range(5))
    value = least(cp.matrix_frac(y, scaled) / 60, [z <= 1, cp.sum(z) <= k])
    found = solve(program, **TIGHT)
    assert found.objective == pytest.approx(value, rel=1e-6)
    assert found.dual_bound <= value * (1 + 1e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
@pytest.mark.parametrize("whole", [False, True])
def test_against_a_program_by_hand(loss: str, whole: bool) -> None:
    d = noisy(50, 6, seed=1)
    program = perspective(d, loss=loss, lam=0.05, l0_penalty=0.01, max_terms=3, whole=whole)
    w, b = cp.Variable(6), cp.Variable()
    expression, rows = by_hand(program.statement.penalty, w)
    score = cp.multiply(d.y, d.X @ w + b)
    losses = {
        "logistic": cp.sum(cp.logistic(-score)), "squared": cp.sum_squares(1 - score) / 2,
        "hinge": cp.sum(cp.pos(1 - score)),
    }  # fmt: skip
    wanted = least(losses[loss] / len(d.y) + expression, rows)
    found = solve(program, **TIGHT)
    assert found.claim is Claim.OPTIMAL
    assert found.objective == pytest.approx(wanted, abs=1e-6)
    assert found.dual_bound <= wanted + 1e-6


def test_four_realisations_agree() -> None:
    program = perspective(noisy(60, 5, seed=2), lam=0.03, l0_penalty=0.01, max_terms=2, whole=True)
    found = compare_realisations(program).table
    pairs = found[found["realisation"] == "pairwise"]  # under the logistic loss there is none
    assert pairs["message"].str.contains("squared").all()
    table = found.drop(pairs.index).set_index("solver")
    assert np.ptp(table.loc[["ecos", "clarabel", "proximal"], "objective"]) < 1e-6
    assert table.loc["tree", "objective"] >= table.loc["ecos", "bound"] - 1e-9
    assert program.exact().statement.max_terms == 2


def test_what_is_refused() -> None:
    d = noisy(20, 3)
    with pytest.raises(OptionError, match="lam must be a finite number >= 0"):
        perspective(d, lam=-1.0)
    with pytest.raises(FormulationError, match="coef_max"):
        perspective(d, coef_max=0)
    with pytest.raises(OptionError, match="whole number over integers"):
        perspective(d, coef_max=2.5, whole=True)
    with pytest.raises(OptionError, match="max_terms"):
        perspective(d, max_terms=-1)
    with pytest.raises(NotApplicableError, match="no integer program here"):
        perspective(d, loss="hinge").exact()
    with pytest.raises(NotApplicableError, match="whole coef_max"):
        perspective(d, coef_max=2.5).exact()
    assert math.isinf(Perspective(1.0, bound=1.0, max_terms=1).value(np.array([0.8, 0.8])))


@pytest.mark.parametrize("seed", range(30))
def test_lambda_max_is_sharp(seed: int) -> None:
    penalty, _, _, rng = drawn(seed)
    slope = rng.normal(size=6)
    least = penalty.lambda_max(slope)
    if math.isinf(least):
        assert not penalty.whole
        assert penalty.l0_penalty == 0.0
        assert replace(penalty, lam=1e9).prox(slope, 1.0).any()
        return
    above = replace(penalty, lam=least * (1 + 1e-9))
    assert np.abs(above.prox(slope, 1.0)).max() <= 1e-9
    assert least == 0.0 or replace(penalty, lam=0.99 * least).prox(slope, 1.0).any()


def test_set_changes_the_program_in_place() -> None:
    d = design([[0, 1], [1, 0], [1, 1], [0, 0], [2, 1], [1, 2]], [1, -1, 1, -1, 1, -1])
    program = perspective(d, lam=0.1, l0_penalty=0.02)
    program.set(l0_penalty=0.05, lam=0.2)
    fresh = perspective(d, lam=0.2, l0_penalty=0.05)
    assert solve(program, **TIGHT).objective == pytest.approx(
        solve(fresh, **TIGHT).objective, abs=1e-7
    )
    assert isinstance(risk_score(d), type(program.exact()))
