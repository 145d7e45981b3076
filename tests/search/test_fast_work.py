"""The fast card is made by work, not by seconds; what a limit cuts short says so."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from milpscore.constraints import AtMost
from milpscore.core.clock import Clock
from milpscore.core.result import Claim, Termination
from milpscore.data import make_design
from milpscore.estimators import RiskScoreClassifier
from milpscore.fitting import fit_card
from milpscore.formulations import slim
from milpscore.scorecard import certified_card
from milpscore.search import fast_risk_card
from milpscore.solvers import solve

TERMS = 8


def table(n: int = 400, p: int = 14, seed: int = 0) -> tuple[Any, Any]:
    """Columns of 0 and 1, and labels that lean on all of them."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, p)) < 0.4).astype(float)
    score = X @ np.linspace(2.5, -2.0, p)
    return X, (score + rng.logistic(size=n) > np.median(score)).astype(int)


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which everything is late: its hand jumps by days at every look."""
    looks = itertools.count()
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: 1e6 * next(looks)))


@pytest.mark.parametrize("name", ["risk_score", "slim", "hinge"])
@pytest.mark.parametrize("rules", [(), (AtMost(3, ["x0", "x1", "x2", "x3", "x4"]),)])
def test_a_late_clock_costs_the_fast_mode_nothing(
    name: str, rules: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"heuristic": True, "max_terms": TERMS, "constraints": rules}
    design = make_design(*table())
    _, timely = fit_card(design, name, **given)
    looks = itertools.count()
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: 1e6 * next(looks)))
    _, result = fit_card(design, name, **given)
    assert result.card == timely.card
    assert (result.termination, result.message) == (Termination.HEURISTIC, "")
    if name != "hinge":  # which has little use for more columns
        assert result.terms == TERMS


@pytest.mark.parametrize("solver", ["auto", "highs"])
@pytest.mark.parametrize("name", ["risk_score", "slim", "hinge"])
@pytest.mark.usefixtures("late")
def test_however_late_it_is_a_fit_is_no_worse_than_the_fast_card(name: str, solver: str) -> None:
    design = make_design(*table(seed=3))
    given: dict[str, Any] = {"max_terms": TERMS, "progress": False}
    _, fast = fit_card(design, name, heuristic=True, **given)
    solver = "outer_approximation" if (name, solver) == ("risk_score", "highs") else solver
    _, result = fit_card(design, name, solver=solver, **given)
    assert result.verified
    assert fast.card.nonzeros
    assert result.objective <= fast.objective
    _, nothing = fit_card(design, name, time_limit=0, **given)
    assert (nothing.claim, nothing.card.nonzeros) == (Claim.FEASIBLE, 0)


@pytest.mark.usefixtures("late")
def test_however_late_it_is_the_0_1_tree_begins_with_the_fast_card() -> None:
    design = make_design(*table(seed=3))
    _, fast = fit_card(design, "slim", heuristic=True, max_terms=TERMS)
    result = solve(slim(design, max_terms=TERMS), "tree", progress=False)
    assert result.objective <= fast.objective


def test_work_that_runs_out_costs_width_before_it_costs_terms() -> None:
    """From none at all on: the terms reached never fall, nor does a cut go unsaid."""
    design = make_design(*table(n=2000))
    whole = fast_risk_card(design, TERMS)
    reached, refits, said = [], [], []
    for seconds in (0.0, 1e-4, 1e-3, 4e-3, 8e-3, 1.0):
        found = fast_risk_card(design, TERMS, time_limit=seconds)
        reached.append(found.card.nonzeros)
        refits.append(found.refits)
        said.append(found.cut)
    assert reached == sorted(reached)
    assert (reached[0], reached[-1]) == (0, TERMS)
    narrow = [r for r, n in zip(refits, reached, strict=True) if n == TERMS]
    assert narrow[0] < 0.6 * whole.refits
    assert "one set of columns per size" in said[reached.index(TERMS)]
    assert f"of {TERMS} terms" in said[0]
    assert said[-1] == whole.cut == ""


def test_more_terms_than_the_fast_search_looks_at_are_named() -> None:
    X, y = table(n=900, p=40, seed=5)
    found = fast_risk_card(make_design(X, y), 35, -50, 50)
    if found.card.nonzeros >= 30:
        assert "at most 30 terms" in found.cut
    assert fast_risk_card(make_design(X, y), 4).cut == ""


def test_a_cut_is_said_in_the_message_on_the_card_and_by_a_warning() -> None:
    X, y = table(n=2000)
    program, result = fit_card(make_design(X, y), heuristic=True, max_terms=TERMS, time_limit=0.004)
    assert result.termination is Termination.WORK_LIMIT
    assert "raise time_limit" in result.message
    text = certified_card(program.statement.design, result, statement=program.statement).to_text()
    assert "Cut short: the fast search" in text
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        RiskScoreClassifier(heuristic=True, binner=None, max_terms=TERMS, time_limit=0.004).fit(
            X, y
        )
