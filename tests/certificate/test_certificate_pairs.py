"""Lines of pairs of rows: evidence under the 0-1 loss where choices of columns are too many."""

from __future__ import annotations

import copy
import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tree_cases import set_policy

from milpscore.certificate import certify, leaves, verify_certificate
from milpscore.certificate.cards import exact_rows, plain_cards
from milpscore.constraints import AtMost
from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Program
from milpscore.data import make_design, read_patterns
from milpscore.formulations import slim
from milpscore.solvers import solve
from milpscore_check import Refused, check, proved
from milpscore_check.cards import GRID, Box, Cards
from milpscore_check.proof import Data, Lines, prove

CASES: dict[str, dict[str, Any]] = {
    "limit": {"max_terms": 3},
    "price": {"l0_penalty": 0.03},
    "both": {"max_terms": 3, "l0_penalty": 0.01, "l1_penalty": 0.002},
    "forced": {"coef_sets": {"x0": [-2, -1, 1, 2]}, "max_terms": 3},
    "hinders": {"coef_sets": {"x7": [1]}, "l0_penalty": 0.02},
    "one sign": {"coef_min": 0, "max_terms": 4},
    "rule": {"constraints": [AtMost(1, ["x0", "x1", "x2"])], "max_terms": 3},
}


def program_of(case: str, seed: int, rows: int = 60) -> Program:
    """Columns of few values and noisy weighted rows; x7 is 1 on rows of class -1 alone."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2 + seed % 2, (rows, 8))
    score = X[:, :4] @ [2, -2, 1, 1] + rng.normal(0, 1, rows)
    y = np.where(score > np.median(score), 1, -1)
    X[:, 7] = y < 0
    if case != "hinders":
        X = X[:, :7]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    weight = rng.integers(1, 4, rows) if seed % 3 == 0 else np.ones(rows)
    design = make_design(frame, y, sample_weight=weight.astype(float))
    return slim(design, **{"coef_min": -2, "coef_max": 2, **CASES[case]})


def proves(program: Program, evidence: dict[str, Any], bound: float) -> tuple[bool, str]:
    """What the checker makes of evidence."""
    cards = Cards(plain_cards(program.statement), program.statement.shape[1])
    return prove(exact_rows(program.statement.design), cards, evidence, Fraction(bound))


@pytest.fixture
def lines_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting the errors of all choices gets no time."""
    set_policy(monkeypatch, leaves, count_share=0.0)


@pytest.mark.usefixtures("lines_only")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(6))
def test_the_checker_believes_them_and_no_higher_bound(case: str, seed: int) -> None:
    program = program_of(case, seed)
    result = solve(program, "tree", progress=False)
    bound = result.objective * (1 - 5e-7)
    evidence = leaves.grow_tree(program.statement, bound, 120.0, 8_000_000)
    assert evidence["tree"]
    assert proves(program, evidence, bound)[0]
    assert not proves(program, evidence, result.objective * (1 + 1e-6))[0]
    with pytest.raises(NotApplicableError, match=r"counting does not prove it|reaches below"):
        leaves.grow_tree(program.statement, result.objective * (1 + 1e-6), 120.0, 8_000_000)


@pytest.mark.usefixtures("lines_only")
@pytest.mark.parametrize("merged", [False, True])
def test_a_file_of_them_is_believed(merged: bool, tmp_path: Path) -> None:
    program = program_of("both", 1)
    design = program.statement.design
    table = pd.DataFrame(design.X, columns=design.names).assign(y=design.y)
    table.to_csv(tmp_path / "rows.csv", index=False)
    if merged:  # rows go by their order then
        given = {"columns": design.columns, "blocks": design.blocks}
        design = read_patterns(tmp_path / "rows.csv", "y", positive=1, **given)
        program = slim(design, coef_min=-2, coef_max=2, **CASES["both"])
    result = solve(program, "tree", progress=False)
    certificate = certify(program, result, source={"target": "y"})
    tree = certificate.evidence["tree"]
    assert certificate.bound_source == "evidence"
    assert any(type(entry) is int and entry >= 0 for entry in tree)
    assert verify_certificate(certificate, program.statement.design).proved
    certificate.to_json(tmp_path / "proof.json")
    assert proved(check(tmp_path / "rows.csv", tmp_path / "proof.json"))


@pytest.mark.usefixtures("lines_only")
def test_rows_with_no_weight_and_equal_rows_are_named() -> None:
    X = np.repeat(np.random.default_rng(3).integers(0, 2, (30, 4)), 3, axis=0)
    y = np.where(X[:, 0] + X[:, 1] > X[:, 2], 1, -1)
    y[::7] *= -1
    weight = np.where(np.arange(90) % 3 == 0, 0.0, 1.5)
    program = slim(make_design(X, y, sample_weight=weight), l0_penalty=0.01, coef_max=2)
    result = solve(program, "tree", progress=False)
    evidence = certify(program, result).evidence
    assert proves(program, dict(evidence), result.objective * (1 - 5e-7))[0]


@pytest.mark.parametrize("seed", range(30))
def test_a_line_is_what_no_sign_takes_off_and_below_every_card(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p, terms, one = 12, 3, int(rng.integers(1, 4)), 840
    X, y = rng.integers(-1, 3, (n, p)), np.where(np.arange(n) < 6, 1, -1)
    columns = [[Fraction(int(v)) for v in column] for column in X.T]
    data = Data(columns, y.tolist(), [Fraction(1)] * n)
    given: dict[str, Any] = {
        "loss": "zero_one", "rules": [], "other": [], "values": [[[-2, 2]]] * p,
        "max_terms": terms, "points": ["0", "1/30", "1/20"], "jumps": [],
        "intercept": ["-9", "9", "1"], "scale": ["1", "1"], "gap": "0",
    }  # fmt: skip
    cards = Cards(given, p)
    # each row of class +1 shares its weight among the others
    mates = [(a, b) for a, b in zip(range(6), 6 + rng.permutation(6), strict=True)]
    mates += [(a, 6 + (b + 1) % 6) for a, b in mates]
    weights = [int(rng.integers(0, one // n // 2 + 1)) for _ in mates]
    point = [[a for a, _ in mates], [int(b) for _, b in mates], weights, one]
    own = [sorted(rng.choice(5, int(rng.integers(1, 6)), replace=False) - 2) for _ in range(p)]
    values = tuple(tuple(map(int, each)) for each in own)
    box = Box(values, cards.b, cards.scale)
    lines = Lines(data, cards, [point])
    found = Fraction(lines.least(box, 0), 2**GRID)
    never = Fraction(lines.unsettled(box, 0), 2**GRID)
    price = {0: Fraction(0), 1: Fraction(1, 30), 2: Fraction(1, 20)}

    def line(w: tuple[int, ...]) -> Fraction:
        total = Fraction(0)
        for (a, b), weight in zip(mates, weights, strict=True):
            ordering = sum(v * (X[a, j] - X[b, j]) > 0 for j, v in enumerate(w))
            total += Fraction(weight, one) * (1 - int(ordering))
        return total + sum((price[abs(v)] for v in w), Fraction(0))

    def objective(w: tuple[int, ...]) -> Fraction:
        totals = X @ np.array(w)
        errors = min(int(((totals >= cut) != (y > 0)).sum()) for cut in range(-20, 21))
        return Fraction(errors, n) + sum((price[abs(v)] for v in w), Fraction(0))

    every = [*itertools.product(*values)]
    kept = [weight for (a, b), weight in zip(mates, weights, strict=True)
            if all(int(np.array(w) @ (X[a] - X[b])) <= 0
                   for w in itertools.product(*((own[0], own[-1]) for own in values)))]  # fmt: skip
    paid = sum((min(map(price.__getitem__, map(abs, own))) for own in values), Fraction(0))
    exactly = Fraction(sum(kept), one) + paid
    assert exactly - Fraction(1, 2**55) <= never <= exactly
    assert never <= min(map(objective, every))
    allowed = [w for w in every if sum(map(bool, w)) <= terms]
    if allowed:
        least = min(map(line, allowed))
        assert least - Fraction(1, 2**55) <= found <= least
        assert found <= min(map(objective, allowed))


def test_without_time_both_ways_say_how_far_they_came() -> None:
    program = program_of("price", 2)
    with pytest.raises(NotApplicableError, match=r"not counted within 0 s.*by pairs of rows: its"):
        leaves.grow_tree(program.statement, 0.1, 0.0, 8_000_000)


CHANGES: dict[str, Any] = {
    "more than its rows weigh": lambda point: point[2].__setitem__(0, point[2][0] + point[3]),
    "a pair of one class": lambda point: point[0].__setitem__(0, point[1][0]),
    "classes the wrong way round": lambda point: point.__setitem__(slice(2), point[1::-1]),
    "no unit": lambda point: point.__setitem__(3, 0),
    "a weight below 0": lambda point: point[2].__setitem__(0, -1),
    "a row too few": lambda point: point[0].pop(),
    "a unit too small": lambda point: point.__setitem__(3, max(1, point[3] // 2)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_pairs_that_are_none_are_refused(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_policy(monkeypatch, leaves, count_share=0.0)
    program = program_of("price", 2)
    bound = solve(program, "tree", progress=False).objective * (1 - 5e-7)
    evidence = copy.deepcopy(leaves.grow_tree(program.statement, bound, 120.0, 8_000_000))
    assert proves(program, evidence, bound)[0]
    for point in evidence["points"]:
        CHANGES[change](point)
    with pytest.raises((Refused, ValueError)):
        proves(program, evidence, bound)


@pytest.mark.usefixtures("lines_only")
def test_ranges_of_points_are_halved_where_signs_are_decided() -> None:
    # measured columns: pairs are put in order by how large points are, not by their signs
    rng = np.random.default_rng(5)
    X = rng.integers(1, 11, (120, 4))
    y = X @ [3, 2, -1, 0] + rng.normal(0, 4, 120) > 25
    program = slim(X, y, max_terms=3, coef_min=-10, coef_max=10)
    result = solve(program, "tree", progress=False)
    evidence = certify(program, result, time_limit=1e4).evidence
    halved = [entry for entry in evidence["tree"] if isinstance(entry, list) and entry[1]]
    assert any(abs(value) > 1 for _, value in halved)
    assert -2 not in evidence["tree"]
    held, said = proves(program, dict(evidence), result.objective * (1 - 5e-7))
    assert held, said


@pytest.mark.usefixtures("lines_only")
def test_a_price_alone_has_evidence_beside_many_columns() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((200, 24)) < 0.4).astype(float)
    score = X[:, :5] @ [3.0, 2.0, -2.0, 1.0, -1.0] + rng.normal(0, 0.6, 200)
    program = slim(X, score > 1.0, l0_penalty=0.03, coef_min=-3, coef_max=3)
    result = solve(program, "tree", progress=False)
    evidence = certify(program, result, time_limit=1e4).evidence
    assert evidence["kind"] == "leaves"
    assert len(evidence["points"]) < 60  # of 2^24 choices of columns
    held, said = proves(program, dict(evidence), result.objective * (1 - 5e-7))
    assert held, said
