"""One statement, its realisations side by side."""

from __future__ import annotations

import numpy as np
import pytest
from conic_cases import make, table

import milpscore
from milpscore.comparison.answers import REALISATION_COLUMNS
from milpscore.core.errors import OptionError
from milpscore.formulations import facets, slim


def hinge_program(gamma: float = 0.5):
    X, y = table("hinge")
    return facets(X, y, loss="hinge", lam=0.05, gamma=gamma)


def test_integer_linear_and_conic_agree() -> None:
    found = milpscore.compare_realisations(hinge_program()).table
    assert tuple(found.columns) == REALISATION_COLUMNS
    by = found.set_index(["realisation", "solver"])
    assert list(found["realisation"]) == ["integer", "linear", "conic", "conic", "proximal"]
    relaxed = by.loc[[("linear", "highs"), ("conic", "ecos"), ("conic", "clarabel")]]
    assert relaxed["verified"].all()
    assert (relaxed["difference"] <= 1e-7).all()
    integer = by.loc[("integer", "highs")]
    assert integer["claim"] == "optimal"
    assert integer["integrality_gap"] >= -1e-9
    assert integer["objective"] >= relaxed["objective"].max() - 1e-9
    assert integer["integrity"] == 1.0
    assert by.loc[("proximal", "proximal"), "claim"] == "none"
    assert "derivative" in by.loc[("proximal", "proximal"), "message"]


def test_points_of_the_card_times_gamma_are_coefficients() -> None:
    program = hinge_program(gamma=0.25)
    results = milpscore.compare_realisations(program).results
    linear, conic = results["linear", "highs"], results["conic", "ecos"]
    # optima need not be unique, their objectives are; so is what each answer says of itself
    evaluated = program.statement.penalty.value(0.25 * linear.coefficients)
    assert evaluated == pytest.approx(linear.penalty, abs=1e-7)
    assert linear.objective == pytest.approx(conic.objective, rel=1e-7)


@pytest.mark.parametrize("name", ["eye", "facets", "elastic_net"])
def test_smooth_losses_have_a_proximal_row_and_no_integer_one(name: str) -> None:
    found = milpscore.compare_realisations(make(name, "logistic")).table
    by = found.set_index(["realisation", "solver"])
    assert by.loc[("integer", "highs"), "claim"] == "none"
    assert "no integer program" in by.loc[("integer", "highs"), "message"]
    three = by.loc[[("conic", "ecos"), ("conic", "clarabel"), ("proximal", "proximal")]]
    assert (three["difference"].abs() <= 1e-7).all()
    assert np.isnan(by["integrality_gap"].astype(float)).all()


def test_a_constraint_keeps_out_whoever_cannot_hold_it() -> None:
    program = make("eye", "logistic")
    program.subject_to(program.w[0] >= 0.3)
    by = milpscore.compare_realisations(program).table.set_index(["realisation", "solver"])
    assert by.loc[("conic", "ecos"), "verified"]
    assert by.loc[("proximal", "proximal"), "claim"] == "none"
    assert "cannot hold the constraint" in by.loc[("proximal", "proximal"), "message"]


def test_a_pyomo_program_is_refused() -> None:
    X, y = table("hinge")
    with pytest.raises(OptionError, match=r"milpscore\.compare"):
        milpscore.compare_realisations(slim(X, y))  # type: ignore[arg-type]
