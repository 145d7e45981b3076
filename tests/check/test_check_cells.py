"""The checker's cells: the choices of columns they leave, against every choice counted by itself.

The oracle parts the rows by hand and takes each cell's least loss from its formula.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from milpscore.certificate import certify, verify_certificate
from milpscore.formulations import risk_score
from milpscore.solvers import solve
from milpscore_check.cards import Box, Cards, floor
from milpscore_check.proof import CELLS, Cells, Data, prove

LEAST = {
    "logistic": lambda n, p: sum(v * math.log((n + p) / v) for v in (n, p) if v),
    "hinge": lambda n, p: 2.0 * min(n, p),
    "zero_one": lambda n, p: float(min(n, p)),
}
COST = Fraction(1, 50)


def drawn(
    seed: int, loss: str, terms: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Data, Cards]:
    """Rows of columns of two to four values, weighted, and all cards of some terms at most."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(5, 120)), 6
    X = rng.integers(0, rng.integers(2, 5, size=p), size=(n, p))
    X[:, 1] = X[:, 0] if seed % 3 == 0 else X[:, 1]
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(size=n) > 1.5, 1, -1)
    weight = rng.integers(0, 3, size=n) if seed % 2 else np.ones(n, dtype=int)
    weight[y == 1] *= 1 + seed % 4
    weight[[0, 1]], y[[0, 1]] = 1, (1, -1)
    columns = [[Fraction(v) for v in column] for column in X.T.tolist()]
    data = Data(columns, y.tolist(), [Fraction(w) for w in weight.tolist()])
    given: dict[str, Any] = {
        "loss": loss, "rules": [], "other": [], "values": [[[-1, 1]]] * p, "max_terms": terms,
        "points": ["0", str(COST)], "jumps": [], "intercept": ["-9", "9", "1"],
        "scale": ["1", "1"], "gap": "0",
    }  # fmt: skip
    return X, y, weight, data, Cards(given, p)


def lost(X: np.ndarray, y: np.ndarray, weight: np.ndarray, support: Any, loss: str) -> float:
    """The mean loss that rows alike in some columns have at least, and what terms cost."""
    cells: dict[tuple[int, ...], list[int]] = {}
    for x, label, share in zip(X[:, list(support)].tolist(), y, weight, strict=True):
        cells.setdefault(tuple(x), [0, 0])[int(label > 0)] += int(share)
    total = math.fsum(LEAST[loss](n, p) for n, p in cells.values())
    return total / int(weight.sum()) + float(COST) * len(support)


@pytest.mark.parametrize("terms", [3, 6])  # of six columns
@pytest.mark.parametrize("loss", LEAST)
@pytest.mark.parametrize("seed", range(12))
def test_choices_left_are_those_whose_cells_lose_less(seed: int, loss: str, terms: int) -> None:
    """None is left out on the way to it, and none is left that is proved; errors are walked on."""
    X, y, weight, data, cards = drawn(seed, loss, terms)
    every = {
        support: lost(X, y, weight, support, loss)
        for size in range(terms + 1)
        for support in itertools.combinations(range(6), size)
    }
    box = Box(cards.values, cards.b, (Fraction(1), Fraction(1)))
    for share in (0.02, 0.2, 0.6):
        goal = float(np.quantile(list(every.values()), share)) + 1e-7
        counted = Cells(data, cards, lambda done, of: None)
        counted._walked = lambda used, cells: False  # type: ignore[method-assign]
        missed = [tuple(sorted(each)) for each in counted.missed(box, floor(Fraction(goal)))]
        assert len(missed) == len(set(missed))
        assert set(missed) == {each for each, value in every.items() if value < goal}
        assert counted.done <= len(every)


def test_a_price_leaves_as_little_to_count_as_the_limit_it_implies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gain, looks = Cells._gain, []

    def counted(self: Cells, mixed: Any, j: int) -> int:
        looks[-1] += 1
        return gain(self, mixed, j)

    monkeypatch.setattr(Cells, "_gain", counted)
    monkeypatch.setattr(Cells, "_walked", lambda self, used, cells: True)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 24))
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(scale=0.7, size=200) > 1.5, 1, -1)
    columns = [[Fraction(v) for v in column] for column in X.T.tolist()]
    data = Data(columns, y.tolist(), [Fraction(1)] * len(y))
    for terms in (24, 3):  # four terms cost more than the goal
        looks.append(0)
        given: dict[str, Any] = {
            "loss": "zero_one", "rules": [], "other": [], "values": [[[-1, 1]]] * 24,
            "max_terms": terms, "points": ["0", "1/20"], "jumps": [],
            "intercept": ["-9", "9", "1"], "scale": ["1", "1"], "gap": "0",
        }  # fmt: skip
        cards = Cards(given, 24)
        box = Box(cards.values, cards.b, cards.scale)
        missed = Cells(data, cards, lambda done, of: None).missed(box, floor(Fraction(19, 100)))
        assert not [*missed]
    assert looks[0] == looks[1] > 0


@pytest.mark.parametrize("seed", range(4))
def test_a_leaf_of_cells_proves_what_they_lose_and_no_more(seed: int) -> None:
    X, y, weight, data, cards = drawn(seed, "logistic")
    least = min(
        lost(X, y, weight, support, "logistic")
        for size in range(4)
        for support in itertools.combinations(range(6), size)
    )
    evidence = {"points": [], "tree": [CELLS]}
    assert prove(data, cards, evidence, Fraction(least - 1e-9))[0]
    held, said = prove(data, cards, evidence, Fraction(least + 1e-9))
    assert not held
    assert "misses it at the columns" in said


@pytest.mark.parametrize("kind", ["hinders", "helps", "mixed", "varies"])
@pytest.mark.parametrize("seed", range(6))
def test_a_column_that_only_hinders_is_counted_as_it_is(seed: int, kind: str) -> None:
    """Against every card and threshold: what is proved is true, and the least is proved."""
    rng = np.random.default_rng(seed)
    n, p = 24, 3
    X = rng.integers(0, 3, (n, p))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=n) > 0.3, 1, -1)
    X[:, 2] = {"hinders": y < 0, "helps": y > 0, "mixed": rng.integers(0, 2, n), "varies": y < 0}[
        kind
    ]
    values = [[[-2, 2]], [[-2, 2]], [[1, 2]] if kind == "varies" else [[1, 1]]]
    columns = [[Fraction(v) for v in column] for column in X.T.tolist()]
    data = Data(columns, y.tolist(), [Fraction(1)] * n)
    given: dict[str, Any] = {
        "loss": "zero_one", "rules": [], "other": [], "values": values, "max_terms": 3,
        "points": ["0", str(COST), str(COST)], "jumps": [], "intercept": ["-20", "20", "1"],
        "scale": ["1", "1"], "gap": "0",
    }  # fmt: skip
    cards = Cards(given, p)
    best = math.inf
    for w in itertools.product(range(-2, 3), range(-2, 3), (1, 2) if kind == "varies" else (1,)):
        totals = X @ np.array(w)
        wrong = min(int(((totals >= t) != (y > 0)).sum()) for t in range(-9, 12))
        best = min(best, wrong / n + float(COST) * np.count_nonzero(w))
    counted = Cells(data, cards, lambda done, of: None)
    box = Box(cards.values, cards.b, (Fraction(1), Fraction(1)))
    assert list(counted.missed(box, floor(Fraction(best - 1e-9)))) == []
    assert bool(counted.aside) == (kind == "hinders")
    evidence: dict[str, Any] = {"points": [], "tree": []}
    assert prove(data, cards, evidence, Fraction(best - 1e-9))[0]
    assert not prove(data, cards, evidence, Fraction(best + 1e-9))[0]


def test_cells_and_lines_prove_a_card_at_a_free_scale_together() -> None:
    rng = np.random.default_rng(3)
    X = (rng.random((400, 12)) < rng.uniform(0.1, 0.6, size=12)).astype(float)
    score = X[:, ::4] @ np.array([9.0, -6.0, 12.0]) - 4.0
    y = (score + 2.0 * rng.logistic(size=len(X)) > 0).astype(int)
    program = risk_score(X, y, max_terms=3)
    result = solve(program, time_limit=60.0)
    made = certify(program, result, time_limit=200.0)
    tree = made.evidence["tree"]
    assert CELLS in tree
    assert any(isinstance(entry, int) and entry >= 0 for entry in tree)
    assert verify_certificate(made, program.statement.design).proved
    for k in [k for k, entry in enumerate(tree) if entry != CELLS][:6]:
        forged = type(made)(
            **{**vars(made), "evidence": {**made.evidence, "tree": [*tree[:k], CELLS]}}
        ).sealed()
        assert not verify_certificate(forged, program.statement.design).proved
