"""A fixed share of the fuzzer, and that it finds what is wrong: faults are planted by hand."""

from __future__ import annotations

import math
import random
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuzz import certificates, forging, running
from fuzz.__main__ import KINDS, Failed, main
from fuzz.cases import RULES
from fuzz.meaning import Case, enumerate_cards, figures
from fuzz.running import Counts, Wrong, check
from fuzz.shrinking import script, shrink
from milpscore.constraints import CONSTRAINTS
from milpscore.formulations import FORMULATIONS
from milpscore_check import report

SHARE = {
    "files": 1, "prox": 3, "front": 5, "pool": 6, "verify": 6, "certificate": 3, "free_scale": 6,
    "cells": 8, "limits": 6, "shared": 4, "survival": 4,
}  # fmt: skip
"""Turns of a kind that are always tried, 10 where none are named; ``make fuzz`` tries as many as
there is time for."""

MORE = 2
"""Times as many are among the slow tests."""


def turns_of(kind: str, count: int, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Some turns of a kind, without a wrong claim."""
    asked = ["--kind", kind, "--cases", str(count), "--seconds", "1e9", "--shrink", "5"]
    assert main([*asked, "--seed", str(seed)]) == 0, capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "files"])
def test_a_fixed_share_finds_nothing(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    turns_of(kind, SHARE.get(kind, 10), 0, capsys)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_a_larger_share_finds_nothing(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    turns_of(kind, MORE * SHARE.get(kind, 10), 1, capsys)


def found(form: str, X: Any, y: tuple[int, ...], engine: str = "highs", **given: Any) -> Case:
    """A case as the fuzzer shrank it; ``rules``, ``weight``, ``task`` and such are not given."""
    rows = tuple(tuple(map(float, row)) for row in X)
    columns = tuple((f"x{j}", f"x{j}", "numeric", -math.inf, math.inf) for j in range(len(X[0])))
    fields = {name: given.pop(name) for name in ("rules", "task", "options") if name in given}
    weight = given.pop("weight", (1.0,) * len(y))
    return Case(form, rows, y, weight, columns, given, engine=engine, **fields)


STEP = [[-1_999_999, 0], [0, 0], [2_000_000, 0], [-999_999, 1], [-999_999, 0], [1_000_000, 0]]
ERRORS = (("MaxErrors", {"share": 0.2}),)
FOUND = {
    **{
        f"no card said where every allowed one's loss overflows, {engine}": found(
            "risk_score", [[2000001, -0.05], [-999999, -1.43]], (-1, 1), engine, coef_min=-4,
            coef_max=6, loss="poisson", scale=1.0, intercept="zero",
            rules=(("Include", {"columns": ["x1", "x0"]}),),
        )
        for engine in ("tree", "outer_approximation")
    },
    **{
        f"totals beside a threshold of {name} are no errors": found(
            "slim", rows, answers, "tree", coef_min=low, coef_max=high, rules=rules,
        )
        for name, rows, answers, low, high, rules in (
            ("a million", [[1e6, 1.8e-9], [1e6, 0.0], [0.0, 0.0]], (1, -1, 1), [-1, 1], [0, 1],
             (("MinTPR", {"value": 0.9}),)),
            ("a billion", [[1e9], [1000000001.0]], (1, -1), -1, 0, (("MinTPR", {"value": 1.0}),)),
            ("two billions", [[-1.0, -2e9], [0.0, -2e9]], (1, -1), [-1, 1], [0, 1],
             (("MaxFPR", {"value": 0.1}),)),
            ("either sign", [[-1999999999.0, -2.0], [-999999999.0, 3.0], [-999999999.0, -2.0]],
             (1, 1, -1), [-1, 2], [0, 2], ()),
        )
    },
    "a simplex that breaks down without presolve": found(
        "risk_score", [[1.0, 0.0], [0.0, 0.819973], [1.0, 0.469342], [2.0, 0.221294]],
        (1, -1, 1, -1), "outer_approximation", coef_min=-1, coef_max=0, coef_sets={"x0": [2, 3]},
        scale=[1.0, 30.0],
    ),
    "a slope that is no number where a loss overflows at every slope": found(
        "risk_score", [[-20_000, -1.8], [20_000, -0.9], [-10_000, -0.4]], (1, -1, -1),
        "outer_approximation", coef_min=-3, coef_max=7, max_terms=1, l0_penalty=0.2,
        loss="poisson", scale=[1.0, 30.0], intercept="zero",
    ),
    "a crash where a norm has tangents and a loss that overflows has none": found(
        "risk_score", [[-1_999_999, 1, 0], [1_000_001, 1, 1], [-1_999_999, 1, 0]], (1, -1, 1),
        "outer_approximation", coef_min=-3, coef_max=1, coef_sets={"x0": [1, 2, 3]}, max_terms=3,
        loss="poisson", scale=2.0, penalty="eye", lam=0.01, expert=[1.0, 0.0, 0.4],
        intercept="zero", options={"node_limit": 1},
    ),
    "a card left open whose best intercept lies hundreds of units away": found(
        "risk_score", [[-600, 1], [-300, -1], [600, -1], [600, 0], [-300, -1], [-600, 1]],
        (1, -1, 1, 1, 1, -1), "tree", weight=(0.1, 0.1, 0.0, 2.0, 2.0, 1.0), coef_min=-9,
        coef_max=1, l0_penalty=1e-5, loss="poisson", scale=1.0, penalty="l1", lam=1e-4,
        intercept="real", rules=(("Include", {"columns": ["x1"]}),),
    ),
    "a bound of 1e-7 beside totals of 1e6, where nobody need be believed": found(
        "facets_hinge", [[1e6], [-1e6], [1e6]], (1, -1, 1), coef_min=-185, coef_max=514, lam=1e-12,
        margin=0.7,
    ),
    "nothing left said below a card, beside totals of 2e6 and no empty card": found(
        "risk_score", [[0, 1], [2e6, 0]], (1, -1), "outer_approximation", coef_min=0, coef_max=1,
        loss="logistic", scale=[1.0, 30.0],
        rules=(("Range", {"columns": ["x0"], "lower": 1, "upper": 3}),),
    ),
    "a start handed out beside the bound of a better point": found(
        "convex_rounding", [[0, 0.1], [-1, 0.3], [-1, 0.5], [-1, 0.5]], (1, -1, -1, 1),
        weight=(0.1, 2.0, 0.0, 1.0), weights="ternary", margin=100.0,
        rules=(
            ("Sign", {"columns": ["x1", "x0"], "sign": "negative"}),
            ("AtMost", {"k": 1, "columns": "x0"}),
            ("MinTPR", {"value": 1.0, "where": [False, True, False, True]}),
        ),
    ),
    "a start called optimal where presolve leaves points of equal cost": found(
        "slim", [[0, -1, 0], [0, -1, 0], [0, 1, 0], [0, -1, 1], [0, -1, 0], [0, -1, 0], [0, 1, 0],
                 [0, -1, 1]],
        (-1, 1, -1, -1, 1, 1, 1, -1), coef_min=[-2, 0, -1], coef_max=[1, 2, 3], max_terms=3,
        coef_sets={"x0": [-4, 2, 6]}, l0_penalty=0.0, intercept_bounds=[-2, 0],
        rules=(("MinTPR", {"value": 0.5}),), options={"second_opinion": False},
    ),
    "a crash of supports with signs where all rows cancel": found(
        "slim", [[0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]], (1, -1, 1, -1, 1, -1), "tree",
        task="shared", coef_min=-1, coef_max=1, l0_penalty=0.0,
    ),
    "a start that misled HiGHS's second run as well, beside entries of 2e4": found(
        "sparse_rounding",
        [
            [-20000, 3, -0.411147249705161],
            [20000, 2, -0.66661877452149],
            [20000, 1, -0.165472019472026],
        ],
        (1, -1, 1), weights="ternary", max_terms=1,
    ),
    "a false optimum of HiGHS at a tolerance of 1e-7, with nobody else asked": found(
        "sparse_rounding",
        [
            [-20000, 3, -0.411147249705161],
            [20000, 2, -0.66661877452149],
            [20000, 1, -0.165472019472026],
        ],
        (1, -1, 1), weights="ternary", max_terms=1,
        rules=(("Monotone", {"features": "x0", "direction": "decreasing"}),),
        options={"random_state": 21, "second_opinion": False},
    ),
    "a pool of totals in steps of 9e-10": found(
        "slim", [[9e-10], [0], [9e-10]], (1, -1, 1), task="pool", coef_min=-1, coef_max=1,
        l0_penalty=0.01, options={"epsilon": 40.0},
    ),
    "no card said where HiGHS drops an entry and a slack's range counts on it": found(
        "sparse_rounding", [[1.8e-09]] * 5 + [[-9e-10], [1.8e-09]], (1, -1, 1, 1, 1, -1, 1),
        weights="binary", max_terms=1, intercept="zero",
        rules=(("Include", {"columns": ["x0"]}),),
    ),
    "no card said where a slack's range divided by 1e-7 rounds": found(
        "sparse_rounding", [[0], [-1e-07], [0], [-1e-07], [1e-07], [0]], (1, -1, 1, 1, 1, -1),
        weights="binary", max_terms=1, margin=2.5, intercept="zero",
        rules=(("Range", {"columns": ["x0"], "lower": 1}),),
    ),
    "the support of no column lost under a limit on errors": found(
        "risk_score", [[0], [0], [0], [-5]], (1, -1, -1, 1), "auto", weight=(0.3, 0.3, 1.1, 0.3),
        task="limits", coef_min=[-2], coef_max=[1], loss="logistic", scale=30.0, penalty="l2",
        lam=0.2, rules=(("MinTPR", {"value": 2 / 3}),),
    ),
    "a loss that is no number where a row of no weight overflows": found(
        "risk_score",
        [[-1e6, -2, 1, 1, 1], [1e6, 1, 1, 1, 0], [-1e6, 3, 1, 1, 0], [-1e6, -2, 1, 1, 1]],
        (1, -1, -1, 1), "tree", weight=(2.0, 1.0, 0.0, 1.0), coef_min=[-1, 0, -1, -2, -2],
        coef_max=[0, 1, -1, 1, -1], l0_penalty=1e-6, loss="poisson", scale=30.0,
    ),
    "columns that presolve fixed for reduced costs of 2.5e-8": found(
        "convex_rounding",
        [[1, 2e-05, -1e-05, 1, 1], [1, -1e-05, 2e-05, 0, 0], [0, 1e-05, -1e-05, 0, 0],
         [1, 2e-05, -1e-05, 1, 1]],
        (1, -1, -1, -1), weights="ternary", margin=100.0, intercept="real",
        intercept_bounds=[-1, 3], rules=(("MaxFeatures", {"k": 2}),),
        options={"node_limit": 0, "second_opinion": False},
    ),
    "totals of 6e8 beside a margin of 2.5": found(
        "facets_hinge", [[1e6], [-1e6], [2e6], [1e6], [-1e6], [2e6]], (1, -1, 1, -1, 1, 1),
        weight=(1.0, 0.1, 2.0, 1.0, 1.0, 1.0), coef_min=-300, coef_max=100, lam=0.03, gamma=1.0,
        margin=2.5, intercept="real", rules=(("Include", {"columns": ["x0"]}),),
    ),
    "entries of 1e-7 that HiGHS's tolerances hide": found(
        "sparse_rounding",
        [[-1e-07, 1.8e-09], [-1e-07, 1.8e-09], [0, 9e-10], [1e-07, 1.8e-09], [-1e-07, 1.8e-09]],
        (1, -1, 1, 1, 1), weight=(1.1,) * 5, weights="binary", max_terms=1, margin=0.5,
        intercept="integer",
    ),
    "a threshold gap of 1e4 beside totals of 1, 20 digits apart": found(
        "slim", [[-999_999_999, 1.560796265984652]], (1,), coef_min=-1, coef_max=3,
        rules=(("Exclude", {"columns": ["x0"]}),),
    ),
    "no card said where a solver's threshold lies on a total": found(
        "slim", [[0.160288286962837, 0], [1, 0], [-2.365094725446594, 1], [1.527218457218963, 0],
                 [1.319664500808793, 0.531518], [2.006789289073027, 0.706646]],
        (1, -1, -1, -1, 1, 1), "support_tree", coef_min=-2, coef_max=1,
        rules=(("Exactly", {"k": 0, "columns": ["x1"]}), ("MaxErrors", {"count": 2})),
    ),
    "a solver that runs on where presolve makes columns of 4e9 whole": replace(
        found(
            "hinge",
            [[0, 0.2, 1, 1, 0], [0, 0.2, 1, 1, 0], [1, 0.5, -999_999_999, 1, 1],
             [3, 0.1, 2_000_000_001, 0, 0], [0, 0.7, 2_000_000_001, 0, 0],
             [1, 0.2, 1_000_000_001, 0, 0]],
            (1, -1, -1, -1, -1, -1), weight=(1.1, 1.1, 1.4, 2.8, 0.7, 1.1), coef_min=0, coef_max=2,
            max_terms=4, intercept="zero", rules=(("Include", {"columns": ["a", "x0"]}),),
        ),
        columns=(
            *((f"x{j}", f"x{j}", "numeric", -math.inf, math.inf) for j in range(3)),
            ("a >= 1", "a", "step", 1.0, math.inf), ("a >= 2", "a", "step", 2.0, math.inf),
        ),
    ),
    "a false optimum at a margin of 1e-5 beside totals of 1e9": found(
        "facets_hinge", [[1e9], [-999_999_999], [-999_999_999]], (-1, -1, 1), "auto",
        weight=(2.5, 0.3, 1.1), coef_min=-2, coef_max=2, lam=0.03, gamma=1e5,
    ),
    "a loss 3e-8 off beside totals of 1e9": found(
        "hinge", [[-999_999_999, 0], [-999_999_999, -0.649703]], (1, -1), coef_min=[1, 0],
        coef_max=[2, 0], margin=0.7, intercept="real",
    ),
    "a bound that numbers HiGHS drops would lower": found(
        "hinge", [[0], [9e-10]], (-1, 1), coef_min=0, coef_max=3
    ),
    "the same of facets": found(
        "facets_hinge", [[9e-10], [-9e-10]], (1, -1), coef_min=0, coef_max=2, lam=1e-12
    ),
    "a bound 1e-9 high beside totals of 1e9": found(
        "facets_hinge", [[0, 1, 0], [2, -1e9, 1], [1, -1e9, 1], [-2, -1e9, 0]], (1, -1, 1, -1),
        "auto", coef_min=-1, coef_max=1, lam=0.03, margin=0.7,
    ),
    "a gap's bound 1.5e-6 high at a margin of 1e-5": found(
        "facets_hinge", STEP, (-1, 1, -1, 1, 1, -1), coef_min=-1, coef_max=2, lam=1e-12, gamma=1e5
    ),
    "eye over columns whose curve is masked": found(
        "risk_score", [[0.0], [0.5]], (-1, 1), "tree", coef_min=-1, coef_max=0, scale="auto",
        penalty="eye", lam=1e-4, expert=[1.0],
    ),
    "no card said where one keeps to the limit": found(
        "slim", [[-2], [1]], (-1, 1), "support_tree", rules=ERRORS, coef_min=-18, coef_max=7,
        l0_penalty=0.2, intercept_bounds=[-3, -1],
    ),
    "a card left out of a pool whose intercept lies at 2e9": found(
        "risk_score", [[-2e9]], (1,), "tree", task="pool", coef_min=0, coef_max=2, loss="poisson",
        scale=2.0, intercept="real",
    ),
    "multiples left out of a pool whose smaller forms no range allows": found(
        "risk_score", [[0.0]], (-1,), "tree", task="pool", coef_min=-2, coef_max=0, scale="auto",
        intercept_bounds=[2, 4],
    ),
    "an intercept of 1e9 printed with too few digits for its scale": found(
        "risk_score", [[-0.4, -999_999_999], [0.1, -999_999_999]], (-1, 1), "tree", task="pool",
        coef_min=0, coef_max=1, scale=[0.1, 0.3],
    ),
    "a margin of 9e-11 that no unit brings above the tolerances": found(
        "facets_hinge", [[0.0], [0.5]], (1, -1), coef_min=-1, coef_max=0, lam=1e-4, gamma=1e5,
        margin=9e-6,
    ),
    "a slope a solver returns as 0": found(
        "risk_score", [[2, 0, 0], [1, -1e6, 300]], (1, -1), "outer_approximation",
        rules=(("Include", {"columns": ["x0"]}),), coef_min=-1, coef_max=0, loss="poisson",
        scale="auto", penalty="facets", lam=0.2,
    ),
    "a bound 2e-8 high beside entries of 2e-7": found(
        "sparse_rounding", [[2e-7], [-1e-7], [2e-7], [-1e-7]], (-1, 1, 1, 1), "auto",
        weights="ternary", max_terms=1, margin=2.5,
    ),
    "no card said where all intercepts lie beyond every total": found(
        "risk_score", [[0.0]], (-1,), "outer_approximation", coef_min=-1, coef_max=-1,
        loss="poisson", scale=[1.0, 30.0],
    ),
    "tangents drawn in below the best card of given points": found(
        "risk_score", [[1], [-2], [0]], (1, 1, -1), "outer_approximation", task="front",
        coef_min=0, coef_max=0, coef_sets={"x0": [-1, 2, 3]}, scale=1.0,
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name: str) -> None:
    check(FOUND[name], Counts())


def test_every_formulation_and_every_constraint_is_drawn() -> None:
    assert set(FORMULATIONS) <= set(KINDS)
    assert set(RULES) == set(CONSTRAINTS)


def small() -> Case:
    """Three weighted rows, one of them against the others: two errors in seven at best."""
    return Case(
        "slim",
        ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (1.0, 1.0)),
        (1, -1, 1, -1),
        (1.0, 1.0, 3.0, 2.0),
        (
            ("x0", "x0", "numeric", -math.inf, math.inf),
            ("x1", "x1", "numeric", -math.inf, math.inf),
        ),
        {"coef_min": -1, "coef_max": 1, "l0_penalty": 0.01},
    )


def test_enumeration_counts_what_the_card_answers() -> None:
    truth = enumerate_cards(small())
    assert truth.best == pytest.approx(2 / 7 + 0.01)
    own = figures(small(), [0, 1], Fraction(-1), None, ties=False)
    assert (own.least, own.penalty, own.broken) == (2 / 7, 0.01, ())
    with_rule = replace(small(), rules=(("MaxFPR", {"value": 0.0}),))
    # no negative row is answered positive, so its positive twin, of weight 3, is lost
    assert enumerate_cards(with_rule).best == pytest.approx(3 / 7 + 0.01)
    assert figures(with_rule, [0, 1], Fraction(-1), None, ties=False).broken


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"dual_bound": 0.3}, "bound above the optimum"),
        ({"objective": 0.29, "loss": 0.28}, "another objective than the card's"),
        ({"card": None}, "a claim without a card"),
    ],
)
def test_a_false_result_is_found(
    change: dict[str, Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = running.solve
    monkeypatch.setattr(
        running, "solve", lambda *a, **k: replace(honest(*a, **k), **change), raising=True
    )
    with pytest.raises(Wrong, match=kind):
        check(small(), Counts())


def test_a_failing_case_is_shrunk_and_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = running.solve

    def careless(program: Any, *args: Any, **options: Any) -> Any:
        """Say of every program with an l0_penalty that its bound is higher."""
        result = honest(program, *args, **options)
        wrong = program.arguments["l0_penalty"] > 0 and math.isfinite(result.objective)
        return replace(result, dual_bound=result.objective + 1e-5) if wrong else result

    monkeypatch.setattr(running, "solve", careless)
    twice = {"X": small().X * 2, "y": small().y * 2, "weight": small().weight * 2}
    case = replace(small(), **twice, rules=(("AtMost", {"k": 1, "columns": ["x0", "x1"]}),))
    with pytest.raises(Wrong) as found:
        check(case, Counts())
    least = shrink(case, found.value.kind)
    assert len(least.y) <= 2
    assert (len(least.columns), least.rules) == (1, ())
    text = script(least, found.value)
    compile(text, "script", "exec")
    assert "solve(program.exact()" in text


@pytest.fixture(scope="module")
def forgery() -> forging.File:
    """A true certificate under the 0-1 loss."""
    drawn = (forging.draw(random.Random(seed)) for seed in count())
    return next(
        each for each in drawn if each.content["cards"]["loss"] == "zero_one" and each.raised
    )


def test_a_true_certificate_is_accepted_and_judged_true(
    forgery: forging.File, tmp_path: Path
) -> None:
    text = forging.written(forgery.content)
    assert forging.Desk(tmp_path, Counts()).answer(text, forgery.table)[0] == "accepted"
    assert certificates.falsehood(text, forgery.table) is None


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (("loss",), 0.123, "false: loss"),
        (("objective",), 0.123, "false: objective"),
        (("data", "rows"), 1, "false: 1 rows"),
        (("card", "intercept"), "99", "false: the card is none"),
        (("cards", "max_terms"), 2.0, "malformed"),
        (("cards", "gap"), "@raw0@", "malformed"),
        (("cards", "other"), ["Ridge"], "malformed"),
        (("data", "columns", 0, "lower"), "1e400", "malformed"),
        (("data", "columns", 0, "kind"), "missing and more", "malformed"),
        (("data", "@twice@rows"), 1, "malformed: a key"),
        (("more",), 1, "malformed: entries"),
    ],
)
def test_the_judge_of_forgeries_sees_what_is_false(
    forgery: forging.File, place: tuple[Any, ...], value: Any, why: str
) -> None:
    content = deepcopy(forgery.content)
    forging.at(content, place[:-1])[place[-1]] = value
    found = certificates.falsehood(forging.written(content), forgery.table)
    assert found is not None
    assert found.startswith(why), found


def test_a_bound_is_held_against_every_card(forgery: forging.File) -> None:
    found = certificates.falsehood(forging.written(forgery.raised[-1]), forgery.table)
    assert found is not None
    assert "has the objective" in found


def test_a_checker_that_believes_every_bound_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "prove", lambda *given: (True, "believed"))
    found = {wrong.kind for wrong in forging.batch(np.random.default_rng(3), Counts(), 60)}
    assert any(kind.startswith("accepted, false") for kind in found), found


def test_a_hang_is_found_though_the_checker_refuses_what_it_cannot_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def busy(*given: Any, **more: Any) -> None:
        try:
            while True:
                pass
        except Exception as error:
            raise forging.Refused("unreadable") from error

    monkeypatch.setattr(forging, "SECONDS", 0.01)
    monkeypatch.setattr(forging, "check", busy)
    with pytest.raises(Wrong, match="hang"):
        forging.Desk(tmp_path, Counts()).answer("{}", b"")


def test_a_wrong_claim_ends_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(rng: Any, counts: Counts) -> None:
        raise Failed(Wrong("planted", "by hand"), None)

    monkeypatch.setitem(KINDS, "prox", wrong)
    assert main(["--kind", "prox", "--cases", "1"]) == 1
