"""The risk score's master: what it states, its default ranges, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from designs import card_of, noisy
from risk_cases import LOSSES, omega, small

from milpscore.core.errors import FormulationError, OptionError
from milpscore.formulations import risk_score
from milpscore.solvers import solve
from milpscore.verify import check, evaluate

KNOWN = np.array([1.0, 0.0, 0.5])


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("penalty", ["none", "l1", "l2", "facets", "eye"])
@pytest.mark.parametrize("seed", range(3))
def test_a_card_costs_what_the_formulas_say(loss: str, penalty: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = small(seed)
    lam = 0.0 if penalty == "none" else 0.07
    further = {"expert": KNOWN} if penalty == "eye" else {}
    program = risk_score(
        data,
        loss=loss,
        penalty=penalty,
        lam=lam,
        scale=2.0,
        l0_penalty=0.01,
        **further,  # type: ignore[arg-type]
    )
    w, b = rng.integers(-2, 3, size=3), int(rng.integers(-2, 3))
    found = check(program, card_of(w, b))
    share = data.weight / data.weight.sum()
    z = (data.X @ w + b) / 2.0
    expected = float(share @ LOSSES[loss](z, data.y))
    assert found.feasible
    assert found.loss == pytest.approx(expected, rel=1e-12)
    charge = 0.01 * np.count_nonzero(w) + lam * omega(penalty, w, KNOWN)
    assert found.penalty == pytest.approx(charge, abs=1e-12)
    assert pyo.value(program.model.objective) == pytest.approx(expected + charge, abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, "auto"])
@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge"])
@pytest.mark.parametrize("seed", range(4))
def test_widening_the_default_intercepts_never_helps(loss: str, seed: int, scale: Any) -> None:
    data = noisy(25, 3, seed)
    box: dict[str, Any] = {"coef_min": -2, "coef_max": 2, "loss": loss, "scale": scale}
    default = risk_score(data, **box)
    rule = default.statement.intercept
    wide = risk_score(
        data, intercept_bounds=(float(rule.lower) - 20, float(rule.upper) + 20), **box
    )
    best, wider = (solve(program, "outer_approximation") for program in (default, wide))
    assert wider.objective == pytest.approx(best.objective, abs=1.1e-6)
    assert rule.allows(wider.card.intercept)  # type: ignore[union-attr]


def test_the_master_without_tangents_is_bounded_and_says_so() -> None:
    program = risk_score(small(0), max_terms=2)
    assert len(program.model.cuts) == 0
    result = solve(program, "highs")
    assert result.verified
    assert 0 <= result.dual_bound <= result.objective


def test_weights_change_in_place() -> None:
    program = risk_score(small(1), scale=1.0, penalty="l1", lam=0.1, l0_penalty=0.1)
    card = card_of([1, 0, -2])
    before = evaluate(program.statement, card).penalty
    program.set(lam=0.2, l0_penalty=0.3)
    assert before == pytest.approx(0.3 + 0.2)
    assert evaluate(program.statement, card).penalty == pytest.approx(0.6 + 0.6)
    assert check(program, card).feasible


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"loss": "hinge"}, OptionError, "derivative"),
        ({"loss": "no such loss"}, OptionError, "no such loss"),
        ({"loss": "multinomial"}, FormulationError, "two classes"),
        ({"scale": 0}, FormulationError, "scale"),
        ({"scale": float("nan")}, FormulationError, "scale"),
        ({"penalty": "ridge"}, FormulationError, "penalty"),
        ({"penalty": "eye"}, FormulationError, "expert"),
        ({"expert": [1, 0, 0]}, FormulationError, "expert"),
        ({"lam": 0.1}, FormulationError, "needs a penalty"),
        ({"penalty": "l1", "lam": -1}, FormulationError, "lam"),
        ({"intercept": "grid"}, FormulationError, "intercept"),
        ({"intercept_bounds": (0.2, 0.8), "scale": 1}, FormulationError, "intercept_bounds"),
        ({"intercept": "integer"}, FormulationError, "needs a fixed scale"),
        ({"coef_min": 3, "coef_max": 2}, FormulationError, "larger than coef_max"),
        ({"max_terms": -1}, FormulationError, "max_terms"),
        ({"coef_sets": {"nope": [1]}}, FormulationError, "nope"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        risk_score(small(2), **arguments)
