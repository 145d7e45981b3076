"""Every penalty, loss and kind of hard columns reaches its gap in few steps, or says why not."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pytest
from harsh_cases import FORMS, Harsh, bank

from milpscore.core.errors import OptionError
from milpscore.penalties import EYE, PENALTIES, Facets, WeightedL2
from milpscore.penalties.cones import cone_form
from milpscore.proximal import fit_proximal

BANK = bank()
# those of 50 x 20; first-order steps end what Newton steps bring near the optimum
STEPS = {"newton": 120, "working_set": 300, "fista": 200}


def solved(case: Harsh) -> Any:
    with np.errstate(all="ignore"):
        return fit_proximal(case.X, case.y, loss=case.loss, penalty=case.penalty)


def held(case: Harsh) -> None:
    fit = solved(case)
    assert fit.algorithm in STEPS, case.name
    assert fit.iterations <= STEPS[fit.algorithm], (case.name, fit)
    assert fit.converged, (case.name, fit)


def test_the_bank_holds_every_penalty_and_five_hundred_cases() -> None:
    assert set(FORMS) == set(PENALTIES)
    assert len(BANK) >= 500
    assert len({case.name for case in BANK}) == len(BANK)


@pytest.mark.parametrize("case", BANK[::31], ids=lambda case: case.name)
def test_a_sample_of_the_bank(case: Harsh) -> None:
    held(case)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FORMS))
def test_the_whole_bank(name: str) -> None:
    by_name = groupby(BANK, key=lambda case: case.name.split("-")[0])
    cases = next(list(found) for each, found in by_name if each == name)
    assert len(cases) >= 21
    for case in cases:
        held(case)


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        ("logistic", EYE(1e-3, expert=np.tile([1.0, 0.3, 0.0], 3))),
        ("poisson", Facets(1e-3, 0.5)),
        ("poisson", WeightedL2(1e-4, weights=np.linspace(0, 1, 9))),
    ],
    ids=["EYE", "Facets", "weighted_l2"],
)
def test_collinear_columns_once_took_seconds(loss: str, penalty: Any) -> None:
    """Four rows of nine columns, five of which say the same as others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 9))
    X[:, 4:8] = X[:, :4] * [1.0, -2.0, 1e3, 1e-3]
    X[:, 8] = X[:, :4].sum(axis=1)
    y = np.where(rng.random(9) < 0.5, 0.0, 1.0)
    y[:2] = 0.0, 1.0
    fit = fit_proximal(X, y, loss=loss, penalty=penalty)
    assert fit.converged
    assert fit.iterations <= 60


@pytest.mark.parametrize(
    "name", ["eye", "group_l1", "owl", "sparse_hull", "weighted_tv", "binarsity"]
)
def test_cones_state_the_penalty(name: str) -> None:
    """The least cost of a form at a point is the penalty's value there."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(1)
    for draw in FORMS[name]:
        arguments = draw(rng)
        penalty = PENALTIES[name](*(() if name == "sparse_hull" else (0.7,)), **arguments)
        form = cone_form(penalty, 20)
        assert form is not None
        for _ in range(3):
            w = penalty.prox(rng.normal(size=20) * rng.choice([0.2, 1.0, 5.0]), 0.1)
            fixed = {j: float(w[j]) for j in range(20)}
            # lengths are no rows of a linear program: with the coefficients fixed each is a number
            # unless it holds auxiliary variables, whose least values these are
            size = dict.fromkeys(form.like, 0.0)
            for t in form.like:
                size[t] = max(
                    (abs(w[j]) for j in form.like[t]) if len(form.like[t]) == 1 else [0.0]
                )
            total = 0.0
            if form.lengths:
                for row in form.lengths:
                    known = {**fixed, **size}
                    parts = [sum(a * known[j] for j, a in r.items()) for r, _ in row[1:]]
                    (t,) = row[0][0]
                    size[t] = float(np.linalg.norm(parts))
                total = sum(cost * size[t] for t, cost in form.cost.items())
            elif form.extra:
                rows = np.zeros((len(form.signs), form.extra))
                least = np.zeros(len(form.signs))
                for i, (row, offset) in enumerate(form.signs):
                    least[i] = offset + sum(a * w[j] for j, a in row.items() if j < 20)
                    for j, a in row.items():
                        if j >= 20:
                            rows[i, j - 20] = a
                cost = [form.cost[j] for j in sorted(form.like)]
                answer = linprog(cost, -rows, least + 1e-9, bounds=(None, None))
                assert answer.status == 0, answer.message
                total = answer.fun
            for row, offset in form.zero:
                assert abs(offset + sum(a * w[j] for j, a in row.items())) < 1e-9
            assert total == pytest.approx(penalty.value(w), rel=1e-6, abs=1e-6)


def test_the_multinomial_loss_takes_newton_steps() -> None:
    case = next(case for case in BANK if case.name == "group_l1-0-multinomial-collinear")
    fit = solved(case)
    slow = fit_proximal(
        case.X, case.y, loss=case.loss, penalty=case.penalty, algorithm="fista", max_iter=3000
    )
    assert fit.algorithm == "newton"
    assert fit.converged
    assert slow.objective >= fit.objective - 1e-6 * abs(fit.objective)
    with pytest.raises(OptionError, match="multinomial"):
        fit_proximal(case.X, case.y, loss=case.loss, penalty=case.penalty, algorithm="working_set")
