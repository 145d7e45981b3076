"""Jumps that classes have in common: the prox by definition, fits by cones, every door."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.core.errors import OptionError
from milpscore.estimators import BinarsityClassifier, OneStandardErrorCV
from milpscore.penalties import Binarsity
from milpscore.proximal import fit_proximal, path

BLOCKS = ((0, 1, 2, 3), (4, 5), (6, 7, 8))
P = 9


def cases(seed: int) -> tuple[Binarsity, np.ndarray]:
    """A penalty, some jumps of it free, and a matrix."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.2, 2.0, P) * (rng.random(P) > 0.1)
    lam = 10.0 ** rng.uniform(-2, 1)
    rows = rng.normal(size=(P, int(rng.integers(2, 5)))).round(seed % 3)
    return Binarsity(lam, blocks=BLOCKS, weights=weights, shared=True), rows


def as_cones(penalty: Binarsity, W: cp.Variable) -> tuple[cp.Expression, list[Any]]:
    """The penalty and its rows by definition."""
    weights = np.ones(P) if penalty.weights is None else penalty.weights
    jumps = [weights[b] * cp.norm(W[b] - W[a]) for block in BLOCKS for a, b in pairwise(block)]
    return penalty.lam * sum(jumps), [cp.sum(W[list(block)], axis=0) == 0 for block in BLOCKS]


@pytest.mark.parametrize("seed", range(12))
def test_the_prox_is_that_of_the_definition(seed: int) -> None:
    penalty, Y = cases(seed)
    found = penalty.prox(Y, 0.7)
    W = cp.Variable(Y.shape)
    cost, rows = as_cones(penalty, W)
    cp.Problem(cp.Minimize(cp.sum_squares(W - Y) / 2 + 0.7 * cost), rows).solve(
        solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9
    )
    np.testing.assert_allclose(found, W.value, atol=1e-4)
    # what the prox took away is a subgradient there, to rounding
    slope = (Y - found) / 0.7
    assert penalty.subdiff_distance(found, -slope) <= 1e-10
    assert penalty.conjugate(slope * (1 - 1e-9)) == 0
    assert penalty.value(found) == pytest.approx(float((slope * found).sum()), abs=1e-9)
    same = Y.copy()
    assert penalty.prox(same, 0.7, out=same) is same
    np.testing.assert_array_equal(same, found)


def test_long_chains_of_all_sizes_are_optimal_to_rounding() -> None:
    """The dual rows lie in their balls, and on the border towards every jump."""
    rng = np.random.default_rng(3)
    for _ in range(120):
        n = int(rng.integers(2, 40))
        Y = 10 ** rng.uniform(-3, 3) * rng.normal(size=(n, 3))
        Y = np.cumsum(Y, axis=0) if rng.random() < 0.5 else Y
        widths = np.abs(Y).max() * 10 ** rng.uniform(-4, 1) * rng.uniform(0.1, 1, n)
        penalty = Binarsity(1.0, blocks=(tuple(range(n)),), weights=widths, shared=True)
        X, size = penalty.prox(Y, 1.0), np.abs(Y).max()
        U = -np.cumsum(Y - Y.mean(axis=0) - X, axis=0)[:-1]
        lengths, jumps = np.linalg.norm(U, axis=1), np.diff(X, axis=0)
        far = np.linalg.norm(jumps, axis=1)
        assert (lengths <= widths[1:] + 1e-11 * size).all()
        at = far > 0
        along = widths[1:][at, None] * jumps[at] / far[at, None]
        np.testing.assert_allclose(U[at], along, atol=1e-10 * size)


def test_widths_of_many_powers_of_ten_leave_no_duality_gap() -> None:
    """Equal rows and whole numbers among them: what Newton steps alone did not solve."""
    rng = np.random.default_rng(0)
    for trial in range(150):
        n, scale = int(rng.integers(2, 40)), 10.0 ** rng.choice([-100, 0, 100])
        Y = rng.normal(size=(n, 2)).round(trial % 3)
        widths = 10.0 ** rng.uniform(-14, 1, n) * (rng.random(n) > 0.1 * (trial % 2))
        penalty = Binarsity(1.0, blocks=(tuple(range(n)),), weights=scale * widths, shared=True)
        X = penalty.prox(scale * Y, 1.0) / scale + Y.mean(axis=0)
        U = -np.cumsum(Y - X, axis=0)[:-1]
        lengths = np.linalg.norm(U, axis=1)
        U *= np.minimum(1.0, widths[1:] / np.maximum(lengths, 1e-300))[:, None]
        from_dual = Y + np.diff(np.vstack([np.zeros(2), U, np.zeros(2)]), axis=0)
        jumps = widths[1:] @ np.linalg.norm(np.diff(X, axis=0), axis=1)
        value = 0.5 * ((Y - X) ** 2).sum() + jumps
        bound = 0.5 * (Y**2).sum() - 0.5 * (from_dual**2).sum()
        assert value - bound <= 1e-12 * max((Y**2).sum(), 1.0)


def test_one_class_has_cuts_of_its_own() -> None:
    shared, Y = cases(4)
    plain = Binarsity(shared.lam, blocks=BLOCKS, weights=shared.weights)
    for y in (Y[:, 0], Y[:, :1]):
        np.testing.assert_allclose(
            shared.prox(y, 0.5).ravel(), plain.prox(y.ravel(), 0.5), atol=1e-12
        )
        assert shared.lambda_max(y) == pytest.approx(plain.lambda_max(y.ravel()))
        assert shared.dual_scale(y) == pytest.approx(plain.dual_scale(y.ravel()))
    with pytest.raises(OptionError, match="shared="):
        Binarsity(1.0, blocks=BLOCKS, shared=1)  # type: ignore[arg-type]


def classes(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes whose chances change at 3 of one feature and nowhere of another."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.integers(0, 6, n), "b": rng.integers(0, 4, n)})
    chance = np.where((frame["a"] < 3).to_numpy()[:, None], [0.7, 0.2, 0.1], [0.1, 0.3, 0.6])
    return frame, (rng.random(n)[:, None] > chance.cumsum(axis=1)).sum(axis=1)


def test_a_fit_is_that_of_the_conic_program() -> None:
    rng = np.random.default_rng(1)
    X = np.hstack([np.eye(len(block))[rng.integers(0, len(block), 80)] for block in BLOCKS])
    y = (X[:, [2, 3, 7]] @ [1.5, 1.5, 1.0] + rng.normal(size=80) > 1).astype(int)
    y += (rng.random(80) < 0.3).astype(int)
    penalty = Binarsity(0.02, blocks=BLOCKS, shared=True)
    found = fit_proximal(X, y, loss="multinomial", penalty=penalty, tol=1e-9)
    assert found.gap <= 1e-9
    W, b = cp.Variable((P, 3)), cp.Variable((1, 3))
    scores = X @ W + np.ones((80, 1)) @ b
    loss = cp.sum(cp.log_sum_exp(scores, axis=1)) - cp.sum(cp.multiply(scores, np.eye(3)[y]))
    cost, rows = as_cones(penalty, W)
    problem = cp.Problem(cp.Minimize(loss / 80 + cost), rows)
    assert problem.solve(solver="CLARABEL") == pytest.approx(found.objective, abs=1e-6)
    np.testing.assert_allclose(found.coefficients, W.value, atol=1e-3)
    beginning = path(X, y, loss="multinomial", penalty=penalty, n_lams=2, ratio=0.9)
    assert beginning.table["null"].tolist() == [True, False]


def test_estimator_and_command_line_share_cuts(tmp_path: Path) -> None:
    frame, y = classes()
    search = OneStandardErrorCV(
        BinarsityClassifier(loss="multinomial", shared=True), n_lams=6, cv=3
    ).fit(frame, y)
    jumps = np.diff(search.coef_[:, :6], axis=1) != 0
    assert (jumps == jumps[0]).all()
    assert jumps[0, 2]
    assert search.best_estimator_.complexity() == jumps[0].sum()
    single = BinarsityClassifier(loss="multinomial", lam=0.02).fit(frame, y)
    apart = [np.diff(single.coef_[:, part], axis=1) != 0 for part in (slice(6), slice(6, 10))]
    assert single.complexity() == sum(int(each.sum()) for each in apart)
    place = tmp_path / "classes.csv"
    frame.assign(kind=np.array(["low", "mid", "top"])[y]).to_csv(place, index=False)
    asked = ["path", str(place), "--target", "kind", "--loss", "multinomial", "--bins", "6"]
    asked += ["--penalty", "binarsity", "--set", "shared=true", "--n-lams", "3", "--json"]
    found = json.loads(CliRunner().invoke(app, [*asked, "--cv", "2"]).stdout)
    assert found["worst_gap"] <= 1e-6
    for w in np.array(found["coefficients"]):
        moved = np.diff(w[:6], axis=0) != 0
        assert (moved == moved[:, :1]).all()
