"""Pairs of columns: below every card, above one column at a time, and the program by hand."""

from __future__ import annotations

import itertools
import warnings

import cvxpy as cp
import numpy as np
import pytest

from milpscore.comparison import compare_realisations
from milpscore.core.errors import NotApplicableError
from milpscore.data import make_design
from milpscore.formulations import _pairwise as module, owl, pairwise_bound, perspective
from milpscore.solvers import solve
from tests.tree_cases import set_policy


def program(seed: int = 0, columns: int = 3, loss: str = "squared", **options):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (40, columns)).astype(float)
    y = (X @ rng.normal(size=columns) + rng.normal(size=40) > 0.5).astype(int)
    y[:2] = 0, 1
    weight = rng.integers(1, 4, 40) / 2.0
    given = {"lam": 0.05, "l0_penalty": 0.02, "max_terms": 2, "coef_max": 2, **options}
    return perspective(make_design(X, y, sample_weight=weight), loss=loss, **given)


def best_card(made) -> float:
    """The least objective over whole points, the intercept at its best."""
    rows, penalty = made.statement.merged, made.statement.penalty
    share = rows.weight / rows.weight.sum()
    least = np.inf
    for w in itertools.product(range(-2, 3), repeat=rows.X.shape[1]):
        points = np.array(w)
        used = np.count_nonzero(points)
        if penalty.max_terms is not None and used > penalty.max_terms:
            continue
        rest = rows.y - rows.X @ points
        rest = rest - share @ rest
        value = 0.5 * share @ rest**2 + 0.5 * penalty.lam * points @ points
        least = min(least, value + penalty.l0_penalty * used)
    return float(least)


def by_hand(made) -> float:
    """The same relaxation as its formula reads, in CVXPY."""
    rows, penalty = made.statement.merged, made.statement.penalty
    share = rows.weight / rows.weight.sum()
    X, y = rows.X - share @ rows.X, rows.y - share @ rows.y
    p, u = X.shape[1], penalty.bound
    half = 0.5 * (X.T * share) @ X + 0.5 * penalty.lam * np.eye(p)
    w, z, W = cp.Variable(p), cp.Variable(p), cp.Variable((p, p), symmetric=True)
    whole = cp.bmat([[np.ones((1, 1)), cp.reshape(w, (1, p), order="C")],
                     [cp.reshape(w, (p, 1), order="C"), W]])  # fmt: skip
    held = [whole >> 0, z <= 1, cp.abs(w) <= u * z, cp.diag(W) <= u * u * z]
    if penalty.max_terms is not None:
        held.append(cp.sum(z) <= penalty.max_terms)
    for i, j in itertools.combinations(range(p), 2):
        v = cp.Variable()
        held += [v <= 1, v <= z[i] + z[j],
                 cp.bmat([[v, w[i], w[j]], [w[i], W[i, i], W[i, j]],
                          [w[j], W[i, j], W[j, j]]]) >> 0]  # fmt: skip
    for j in range(p):
        held.append(cp.bmat([[z[j], w[j]], [w[j], W[j, j]]]) >> 0)
        if penalty.whole:
            held += [W[j, j] >= 3 * cp.abs(w[j]) - 2 * z[j], W[j, j] >= z[j]]
    cost = 0.5 * share @ y**2 - (X.T @ (share * y)) @ w + cp.trace(half @ W)
    problem = cp.Problem(cp.Minimize(cost + penalty.l0_penalty * cp.sum(z)), held)
    with warnings.catch_warnings():  # near the end of its accuracy, which is compared below
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        return float(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_it_lies_between_one_column_at_a_time_and_every_card(seed, whole):
    made = program(seed, whole=whole, max_terms=[2, None][seed % 2])
    found = pairwise_bound(made)
    assert found.bound <= best_card(made) + 1e-9
    assert found.bound >= solve(made).dual_bound - 1e-6
    assert found.bound <= found.objective + 1e-7
    assert found.bound == pytest.approx(found.objective, abs=1e-5)
    assert found.bound == pytest.approx(by_hand(made), abs=1e-5)
    assert found.pairs == 3


def test_fewer_pairs_say_less_and_never_too_much():
    made = program(3, columns=5, whole=True)
    bounds = [pairwise_bound(made, max_pairs=k).bound for k in (0, 3, 10)]
    assert bounds[0] - 1e-7 <= bounds[1] <= bounds[2] + 1e-7
    assert bounds[2] <= best_card(made)


@pytest.mark.parametrize("spoil", [0.0, 0.5, 3.0], ids=str)
def test_the_bound_holds_whatever_the_multipliers_are(spoil, monkeypatch):
    made, plain = program(1, whole=True), module._Blocks.in_cone
    rng = np.random.default_rng(0)
    monkeypatch.setattr(
        module._Blocks, "in_cone", lambda own, y: plain(own, y + spoil * rng.normal(size=len(y)))
    )
    assert pairwise_bound(made).bound <= best_card(made) + 1e-9


def test_multipliers_are_put_into_their_cones():
    made = module._Blocks(2, np.array([[0, 1]]))
    made.row({0: 1.0})
    made.block([[-1, 0, 1], [0, made.at(0, 0), made.at(0, 1)], [1, made.at(0, 1), made.at(1, 1)]])
    rng = np.random.default_rng(2)
    for _ in range(20):
        y = made.in_cone(rng.normal(size=7))
        matrix = np.zeros((3, 3))
        places = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
        for (i, k), value in zip(places, y[1:], strict=True):
            matrix[i, k] = matrix[k, i] = value if i == k else value / np.sqrt(2.0)
        assert y[0] >= 0
        assert np.linalg.eigvalsh(matrix).min() >= 0


def test_the_realisations_show_it():
    table = compare_realisations(program(2, whole=True)).table.set_index("realisation")
    assert table["bound"]["pairwise"] >= table["bound"]["conic"].max() - 1e-6
    assert table["bound"]["pairwise"] <= table["objective"]["integer"] + 1e-9
    row = compare_realisations(program(2, loss="logistic")).table.set_index("realisation")
    assert "squared" in row["message"]["pairwise"]


def test_other_programs_and_too_many_columns_are_refused(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    with pytest.raises(NotApplicableError, match="Hessian"):
        pairwise_bound(owl(make_design(X, y), weights=[3.0, 2.0, 1.0]))
    with pytest.raises(NotApplicableError, match="Hessian"):
        pairwise_bound(program(loss="logistic"))
    set_policy(monkeypatch, module, most_paired_columns=2)
    with pytest.raises(NotApplicableError, match="too many pairs"):
        pairwise_bound(program())
