"""Fronts against every card of tiny programs: bounds, interrupts, certificates, added rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import constraint_cases
import numpy as np
import pytest
from designs import noisy
from pool_cases import MAKERS, TIE, Case, raise_at

from milpscore.certificate import verify_certificate
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.result import Termination
from milpscore.formulations import FORMULATIONS, risk_score, slim
from milpscore.pools import Front, pareto
from milpscore.solvers.trees.risk.relaxation import Relaxation


def check_front(case: Case, front: Front) -> None:
    """Every size has the optimum of enumeration, and says so."""
    terms = np.count_nonzero(case.w, axis=1)
    for k, result in front.results.items():
        least = case.best()[terms <= k].min(initial=math.inf)
        if math.isinf(least):
            assert result.card is None
            continue
        assert result.objective == pytest.approx(least, abs=1e-9)
        assert str(result.claim) == "optimal"
        assert result.dual_bound <= least + 1e-9
        fewer = case.best()[terms < (result.card.nonzeros if result.card else 0)]
        assert front.dominated[k] or fewer.min(initial=math.inf) > least + 1e-7


@pytest.mark.parametrize("name", MAKERS)
def test_a_front_has_the_best_card_of_every_size(name: str) -> None:
    sizes = 0
    for seed in range(600, 606):
        case = MAKERS[name](seed, l0_penalty=0.01)
        if not np.isfinite(case.best()).any():
            continue
        front = pareto(case.program, progress=False)
        check_front(case, front)
        assert front.complete
        sizes += len(front)
    assert sizes > 10


@pytest.mark.parametrize("name", ["hinge", "facets_hinge"])
def test_a_front_of_other_formulations_keeps_their_rules(name: str) -> None:
    rng = np.random.default_rng(3)
    form = constraint_cases.FORMULATIONS[name]
    d = form.design(rng)
    rules = [constraint_cases.make_sign(rng, d)]
    arguments = {**form.arguments, "max_terms": 4}
    program = FORMULATIONS[name](d, **arguments, constraints=[rule.constraint for rule in rules])
    cards = constraint_cases.every_card(name, d)
    front = pareto(program, [0, 2, 3], progress=False)
    for k, result in front.results.items():
        few = constraint_cases.Rule(rules[0].constraint,
                                    lambda w, k=k: sum(v != 0 for v in w) <= k)  # fmt: skip
        assert result.objective == pytest.approx(cards.best([*rules, few]), abs=1e-6)
    made = front.certificate(2, time_limit=300.0)
    assert made.objective == pytest.approx(front.results[2].objective)
    assert made.statement["arguments"]["max_terms"] == 2


def test_a_front_keeps_what_a_user_added() -> None:
    d = noisy(30, 4, seed=1)
    program = slim(d, max_terms=3)
    program.model.sure = constraint_cases_row(program)
    free, held = pareto(slim(d, max_terms=3), progress=False), pareto(program, progress=False)
    used = [result.card.coefficients[3] for result in held.results.values() if result.card]
    assert held.results[0].card is None
    assert [bool(points) for points in used] == [True] * 3
    assert free.results[2].objective <= held.results[2].objective + TIE
    assert program.statement.max_terms == 3  # the program itself is left as it was
    assert program.model.at_most_k_terms.upper == 3


def constraint_cases_row(program: Any) -> Any:
    """A row that makes the last column count."""
    import pyomo.environ as pyo

    return pyo.Constraint(expr=program.model.w[3] >= 1)


def test_bounds_of_more_terms_hold_for_fewer_and_sizes_can_be_certified() -> None:
    front = pareto(risk_score(noisy(60, 6, seed=4), max_terms=4), node_limit=4, progress=False)
    bounds = [result.dual_bound for result in front.results.values()]
    assert bounds == sorted(bounds, reverse=True)
    table = front.table
    assert (table["gap"] >= 0).all()
    assert table["objective"].is_monotonic_decreasing
    assert "not dominated" in repr(front)
    whole = pareto(risk_score(noisy(60, 6, seed=4), max_terms=3), progress=False)
    made = whole.certificate(2)
    assert made.evidence["kind"] == "leaves"
    assert verify_certificate(made, whole.programs[2].statement.design).proved
    with pytest.raises(OptionError, match="was not solved"):
        whole.certificate(4)


def test_certificates_of_fewer_terms_keep_to_the_ranges_of_their_builder() -> None:
    """Fewer terms leave fewer thresholds that can matter; the card moves in, as good."""
    d = noisy(40, 4, seed=3)
    front = pareto(slim(d, max_terms=3), progress=False)
    for k in front.best:
        made = front.certificate(k)
        assert made.objective == pytest.approx(front.results[k].objective)
        assert made.statement["arguments"]["max_terms"] == k
    changed = slim(d, max_terms=2)
    changed.model.sure = constraint_cases_row(changed)
    with pytest.raises(NotApplicableError, match="sure"):
        pareto(changed, [2], progress=False).certificate(2)


def test_an_interrupted_front_keeps_its_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    program = risk_score(noisy(60, 6, seed=4), max_terms=5)
    whole = pareto(program, progress=False)
    counts = set()
    for call in (0, 5, 15, 40):
        with monkeypatch.context() as patched:
            raise_at(patched, Relaxation, "solve", call)
            front = pareto(program, progress=False)
        assert not front.complete
        for k, result in list(front.results.items())[:-1]:
            assert result.objective == pytest.approx(whole.results[k].objective)
        last = list(front.results.values())[-1]
        assert last.termination is Termination.INTERRUPTED
        counts.add(len(front))
    assert len(counts) > 1


def test_dominated_sizes_are_those_another_card_equals() -> None:
    front = pareto(risk_score(noisy(40, 3, seed=0), max_terms=3, l0_penalty=0.05), progress=False)
    first = front.results[1]
    assert (front.dominated[0], front.dominated[3]) == (False, True)
    swapped = {0: front.results[0], 1: replace(first, objective=first.objective + 0.01), 3: first}
    programs = {k: front.programs[k] for k in swapped}
    again = Front(
        program=front.program, programs=programs, results=swapped, complete=True, seconds=0.0
    )
    assert again.dominated == {0: False, 1: True, 3: False}


@pytest.mark.parametrize("sizes", [-1, 2.5, [], ["2"], 9, [1, 9], "3"])
def test_sizes_that_make_no_sense_are_refused(sizes: Any) -> None:
    with pytest.raises(OptionError, match="max_terms"):
        pareto(risk_score(noisy(), max_terms=3), sizes)


def test_a_front_of_what_has_no_sizes_is_refused() -> None:
    with pytest.raises(NotApplicableError, match="variable w"):
        pareto(FORMULATIONS["convex_rounding"](noisy()).exact())
    with pytest.raises(NotApplicableError, match="exact"):
        pareto(slim(noisy(), max_terms=2).relaxed())
    with pytest.raises(OptionError, match="time_limit"):
        pareto(slim(noisy(), max_terms=2), time_limit=-1.0)
