"""What may be called optimal: a relative gap, or a grid that leaves no objective between."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore.certificate import Certificate, certify, verify_certificate
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result, Termination, claim_of
from milpscore.formulations import hinge, risk_score, slim
from milpscore.scorecard import certified_card
from milpscore.scorecard.claims import certificate_sentences
from milpscore.solvers import solve
from milpscore.solvers.engine import Outcome, Solver, Task
from milpscore.solvers.finish import objective_step
from milpscore.solvers.options import SOLVERS, Options
from milpscore.verify import evaluate
from milpscore_check import check, proved


def parted(seed: int = 0, rows: int = 40) -> tuple[pd.DataFrame, Any]:
    """Three columns whose sum parts the classes: with three terms the loss is almost 0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, 3))
    X[:8] = list(itertools.product((0, 1), repeat=3))
    return pd.DataFrame(X, columns=list("abc")), (X.sum(axis=1) >= 2).astype(int)


# ------------------------------------------------------------------ the relative gap


@pytest.mark.data
def test_the_bankruptcy_card_is_not_called_optimal_at_a_gap_of_16_percent(uci: Any) -> None:
    X, y = uci("bankruptcy")
    program = risk_score(X, y)
    result = solve(program, progress=False, time_limit=60)
    assert result.claim is Claim.OPTIMAL
    assert result.objective < 1e-5
    assert result.gap <= 1e-6


@pytest.mark.parametrize("solver", ["tree", "outer_approximation"])
@pytest.mark.parametrize("l0_penalty", [1e-6, 1e-4])
def test_a_loss_of_almost_0_is_proved_to_the_last_term(solver: str, l0_penalty: float) -> None:
    X, y = parted()
    scale = "auto" if solver == "tree" else 0.05
    program = risk_score(X, y, scale=scale, l0_penalty=l0_penalty)
    result = solve(program, solver, progress=False, time_limit=60)
    assert result.objective == pytest.approx(3 * l0_penalty, rel=0.01)
    assert result.claim is Claim.OPTIMAL
    assert 0.0 <= result.gap <= 1e-6


def test_few_errors_of_many_rows_are_proved() -> None:
    """A price of a term is then less than a millionth, and far more than the gap of a claim."""
    X, y = parted(rows=3000)
    X, y = X.assign(d=np.arange(3000) % 7 == 0), y.copy()
    y[:2] = 1 - y[:2]
    for solver in ("tree", "highs"):
        program = slim(X, y, l0_penalty=3e-7, max_terms=3)
        result = solve(program, solver, progress=False, time_limit=120)
        assert result.loss == pytest.approx(2 / 3000)
        assert result.claim is Claim.OPTIMAL, (solver, result)
        assert result.objective == pytest.approx(2 / 3000 + 3 * 3e-7, abs=1e-12)


def test_a_claim_is_relative() -> None:
    assert claim_of(True, 3e-6, 2.5e-6, 0.0) is Claim.GAP
    assert claim_of(True, 3e-6, 3e-6 * (1 - 0.9e-6), 0.0) is Claim.OPTIMAL
    assert claim_of(True, 5e-7, 0.0, 0.0) is Claim.FEASIBLE
    assert claim_of(True, 0.0, 0.0, 0.0) is Claim.OPTIMAL
    assert claim_of(True, np.inf, 0.5, 0.0) is Claim.GAP
    assert claim_of(True, -2.0, -2.000001, -np.inf) is Claim.OPTIMAL


def test_claims_and_terminations_equal_their_text() -> None:
    assert Claim.OPTIMAL == "optimal" != Claim.GAP
    assert Termination.TIME_LIMIT in {"time_limit"}
    assert (repr(Claim.GAP), f"{Claim.GAP:>4}") == ("<Claim.GAP: 'gap'>", " gap")
    assert Claim("optimal") is pickle.loads(pickle.dumps(Claim.OPTIMAL)) is Claim.OPTIMAL


def test_an_open_gap_is_told_relatively_and_absolutely() -> None:
    X, y = parted()
    program = risk_score(X, y)
    result = solve(program, progress=False)
    short = replace(result, dual_bound=2.5e-6, claim=Claim.GAP)
    card = certified_card(program.statement.design, short, statement=program.statement)
    assert "; gap 16.67%, in all 5e-07." in " ".join(certificate_sentences(card.certificate))


def test_the_checker_refutes_an_optimum_with_a_gap(tmp_path: Path) -> None:
    X, y = parted()
    program = risk_score(X, y, scale=0.2, l0_penalty=1e-4)
    made = certify(program, solve(program, progress=False), source={"target": "y"})
    X.assign(y=y).to_csv(tmp_path / "data.csv", index=False)

    def answers(certificate: Certificate) -> tuple[Any, Any]:
        file = certificate.sealed().to_json(tmp_path / "made.json")
        return check(tmp_path / "data.csv", file), verify_certificate(certificate.sealed(), X, y)

    assert made.claim == "optimal"
    theirs, ours = answers(made)
    assert proved(theirs), theirs
    assert ours.proved
    assert made.bound is not None
    assert made.objective - made.bound < 1e-6
    theirs, ours = answers(replace(made, bound=made.objective - 5e-7))
    assert theirs[-1][:2] == ("claim", "refuted")
    assert ours["claim"].status == "refuted"


# ------------------------------------------------------------------ the grid of objectives


def tiny(seed: int) -> Program:
    """A tiny program whose objectives lie on a grid."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 3, (9, 2)), columns=["a", "b"])
    y = rng.integers(0, 2, 9)
    y[:2] = 0, 1
    common: dict[str, Any] = {
        "coef_min": -2, "coef_max": 2, "l0_penalty": float(rng.choice([0, 0.003, 0.05])),
        "sample_weight": rng.choice([1.0, 0.5, 2.25], 9) if seed % 3 else None,
        "class_weight": "balanced" if seed % 2 else None,
    }  # fmt: skip
    if seed % 5 == 4:
        return hinge(X, y, margin=float(rng.choice([1, 2, 3])), **common)
    return slim(X, y, l1_penalty=float(rng.choice([0, 0.0007])), **common)


@pytest.mark.parametrize("seed", range(30))
def test_no_two_objectives_are_less_than_a_step_apart(seed: int) -> None:
    statement = tiny(seed).statement
    step = objective_step(statement)
    assert step > 0
    found = set()
    for w in itertools.product(range(-2, 3), repeat=2):
        first = statement.with_best_intercept(np.array(w))
        for b in range(-6, 7):
            card = replace(first, intercept=Fraction(b))
            found.add(evaluate(statement, card).objective)
    multiples = np.array(sorted(found)) / step
    assert multiples == pytest.approx(np.rint(multiples), abs=1e-6)


def test_a_price_beside_a_row_makes_a_finer_grid() -> None:
    """One error of 40 less and eight terms more are 0.001 apart: less than the least price."""
    X, y = parted()
    assert objective_step(slim(X, y, l0_penalty=0.003).statement) == pytest.approx(0.001)
    assert objective_step(slim(X, y, l0_penalty=0).statement) == pytest.approx(1 / 40)
    assert objective_step(risk_score(X, y, scale=1.0).statement) == 0.0
    assert objective_step(hinge(X + 0.1234567890123, y).statement) == 0.0


class _Claims(Solver):
    """Answers with the card it is given, and a bound this far from its objective."""

    away = 0.0

    def solve(self, task: Task) -> Outcome:
        card = task.start
        assert card is not None
        objective = evaluate(task.program.statement, card).objective
        return Outcome(Termination.GAP_REACHED, card=card, dual_bound=objective - self.away)


def answer(program: Program, away: float, monkeypatch: Any) -> Result:
    """The result of an engine whose bound is this far below its card's objective."""
    monkeypatch.setattr(_Claims, "away", away)
    if "claims" not in SOLVERS:
        SOLVERS.register("claims", _Claims)
    best = solve(program, progress=False).card
    return solve(program, "claims", warm_start=best, progress=False, second_opinion=False)


def test_a_bound_within_half_a_step_is_the_objective(monkeypatch: Any) -> None:
    X, y = parted()
    y[0] = 1
    program = slim(X, y, l0_penalty=0)
    for away, claim in ((0.49 / 40, Claim.OPTIMAL), (0.6 / 40, Claim.GAP)):
        result = answer(program, away, monkeypatch)
        assert result.claim is claim
        assert result.objective == pytest.approx(1 / 40)
        low = result.objective if claim is Claim.OPTIMAL else result.objective - away
        assert result.dual_bound == pytest.approx(low)


def test_a_bound_above_its_card_is_believed_no_further_than_it_errs(monkeypatch: Any) -> None:
    X, y = parted()
    program = risk_score(X, y, scale=0.5)
    result = answer(program, -5e-7, monkeypatch)
    assert result.dual_bound == pytest.approx(result.objective - 5e-7, rel=1e-9)
    assert result.claim is Claim.GAP


def test_an_absolute_gap_is_asked_of_every_engine() -> None:
    X, y = parted()
    X = X.assign(d=np.arange(40) % 3, e=np.arange(40) % 4)
    program = risk_score(X, 1 - y, scale=1.0)
    for solver in ("tree", "outer_approximation"):
        whole = solve(program, solver, progress=False)
        loose = solve(program, solver, progress=False, mip_gap_abs=0.05)
        assert whole.claim is Claim.OPTIMAL
        assert loose.objective <= whole.objective + 0.05
        assert loose.nodes <= whole.nodes
        assert loose.dual_bound <= whole.dual_bound + 1e-9
    assert Options.of({"mip_gap": 1e-9}).loose_gap == 0.0
    assert Options.of({"mip_gap": 0.1}).loose_gap == 0.1


# ------------------------------------------------------------------ balanced classes


@pytest.mark.parametrize("seed", range(10))
def test_balanced_slim_cards_have_evidence(seed: int, tmp_path: Path) -> None:
    """A class weight n / (2 n_c) has no last digit, as a decimal it took too many."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(30, 300))
    X = pd.DataFrame(rng.integers(0, 4, (rows, 3)), columns=list("abc"))
    y = (X["a"] - X["b"] + rng.normal(0, 1.5, rows) > 1.3).astype(int)
    own = {"weights_column": "s"} if seed % 2 else {}
    weight = rng.integers(1, 3, rows) if own else None
    given: dict[str, Any] = {"sample_weight": weight, "class_weight": "balanced"}
    program = slim(X, y, max_terms=2, **given)
    result = solve(program, progress=False, time_limit=60)
    source = {"target": "y", "class_weight": "balanced", **own}
    made = certify(program, result, source=source)
    assert made.claim == "optimal"
    assert made.evidence["kind"] == "leaves", made.evidence
    table = X.assign(y=y) if weight is None else X.assign(y=y, s=weight)
    table.to_csv(tmp_path / "data.csv", index=False)
    parts = check(tmp_path / "data.csv", made.to_json(tmp_path / "made.json"))
    assert proved(parts), parts
    assert verify_certificate(made, X, y, **given).proved


def test_weights_are_the_numbers_that_were_meant() -> None:
    y = [0, 0, 0, 0, 0, 0, 1]
    weight = [0.1, 0.2, 0.7, 1, 1, 1, 3]
    design = slim(
        np.zeros((7, 1)), y, sample_weight=weight, class_weight="balanced"
    ).statement.design
    factor = Fraction(7, 2 * 4), Fraction(7, 2 * 3)
    exact = [design.exact_weight[pair] for pair in zip(design.y, design.weight, strict=True)]
    wanted = [Fraction(str(s)) * factor[side] for s, side in zip(weight, y, strict=True)]
    assert exact == wanted
    assert design.exact_sum == 7
