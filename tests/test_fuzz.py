"""A fixed share of the fuzzer, and that it finds what is wrong: faults are planted by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fuzz import running
from fuzz.__main__ import KINDS, Failed, main
from fuzz.cases import RULES
from fuzz.meaning import Case, enumerate_cards, figures
from fuzz.running import Counts, Wrong, check
from fuzz.shrinking import script, shrink
from milpscore.constraints import CONSTRAINTS
from milpscore.formulations import FORMULATIONS

CASES = 10
"""Turns of every kind that are tried here; ``make fuzz`` tries as many as there is time for."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "files"])
def test_a_fixed_share_finds_nothing(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--kind", kind, "--cases", str(CASES), "--seconds", "1e9", "--shrink", "5"]
    assert main(arguments) == 0, capsys.readouterr().out


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


def test_a_wrong_claim_ends_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(rng: Any, counts: Counts) -> None:
        raise Failed(Wrong("planted", "by hand"), None)

    monkeypatch.setitem(KINDS, "prox", wrong)
    assert main(["--kind", "prox", "--cases", "1"]) == 1
