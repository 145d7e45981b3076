"""What somebody registers out of the tree is found by every door."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import brute
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.certificate import certify, verify_certificate
from milpscore.cli.app import app
from milpscore.comparison import compare
from milpscore.constraints import (
    CONSTRAINTS,
    Constraint,
    apply_constraints,
    make_constraint,
    read_constraints,
)
from milpscore.constraints.parts import Part, Points
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError
from milpscore.core.program import Program
from milpscore.core.result import Claim, Termination
from milpscore.core.statement import Statement
from milpscore.data import make_design
from milpscore.estimators import FormulationClassifier, PenalisedClassifier, SlimClassifier
from milpscore.fitting import fit_card
from milpscore.formulations import FORMULATIONS, hinge
from milpscore.formulations.building import allowed, as_design, builder, intercept_rule
from milpscore.formulations.card_model import CardModel
from milpscore.losses import LINKS, LOSSES, Hinge, Logistic
from milpscore.penalties import L1, PENALTIES
from milpscore.penalties.ramps import Ramps, Separable
from milpscore.pools import pareto
from milpscore.proximal import path
from milpscore.solvers import SOLVERS, Outcome, Solver, solve
from milpscore.verify import evaluate

# ------------------------------------------------------------------ what somebody writes


@dataclass(frozen=True)
class Priced:
    """lam * sum_j price_j |w_j|."""

    lam: float
    prices: tuple[int, ...]
    name: ClassVar[str] = "lam"

    def value(self, w: Any) -> float:
        return self.lam * float(np.abs(w) @ np.array(self.prices))


@builder
def priced_points(
    X: Any,
    y: Any = None,
    *,
    lam: float = 0.05,
    prices: Any = 1,
    coef_min: Any = -2,
    coef_max: Any = 2,
    max_terms: int | None = None,
    constraints: Any = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Program:
    r"""Points that cost what their columns cost.

    .. math::

        \min\ \tfrac1S \sum_i s_i \max(0, 1 - y_i (w \cdot x_i + b)) + \lambda \sum_j v_j |w_j|

    Parameters
    ----------
    prices : int, or sequence of length p
        v, one for each column.

    Notes
    -----
    Reference: this test.
    """
    design = as_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    ranges = allowed(design, coef_min, coef_max, max_terms=max_terms)
    smallest, largest = ranges.totals(design.merged.X)
    every = tuple(np.broadcast_to(prices, design.shape[1]).tolist())
    statement = Statement(
        formulation="priced_points",
        design=design,
        loss=Hinge(1.0),
        penalties=(Priced(lam, every),),
        intercept=intercept_rule("integer", None, -1 - largest.max(), 1 - smallest.min()),
        constraints=apply_constraints(constraints, design),
        **vars(ranges),
    )
    model = CardModel(statement)
    m = model.m
    model.add_points()
    model.add_terms()
    weight = model.weight("lam", lam)
    model.add_sizes()
    model.add_hinge_loss((smallest, largest))
    return model.program(weight * sum(every[j] * m.size[j] for j in m.J))


@dataclass(frozen=True)
class AtLeastPoints(Constraint):
    """At least so many points on a column."""

    kind: ClassVar[str] = "at_least_points"
    column: str
    points: int

    @property
    def sentence(self) -> str:
        return f"at least {self.points} points for {self.column}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        return (Points((design.index(self.column),), self.points, None),)


@dataclass(frozen=True)
class Halved(Separable):
    """lam/2 sum_j |w_j|."""

    lam: float
    name: ClassVar[str] = "halved"

    def form(self, lam: float) -> Ramps:
        return Ramps(lam / 2, 0.0, np.ones(1))


class Steep(Logistic):
    """log(1 + exp(-2 y z)): the logistic loss of twice the score."""

    name: ClassVar[str] = "steep"
    curvature: ClassVar[float] = 1.0

    def value(self, z: Any, y: Any) -> Any:
        return super().value(2.0 * z, y)

    def gradient(self, z: Any, y: Any, out: Any = None) -> Any:
        return np.multiply(2.0, super().gradient(2.0 * z, y), out=out)

    def hessian(self, z: Any, y: Any) -> Any:
        return 4.0 * super().hessian(2.0 * z, y)

    def conjugate(self, u: Any, y: Any) -> Any:
        return super().conjugate(u / 2.0, y)


def steep_link(z: Any) -> Any:
    """The probability of the class +1 that the loss stands for."""
    return LINKS["logistic"](2.0 * z)


class BruteForce(Solver):
    """Every card."""

    def solve(self, task: Any) -> Outcome:
        statement = task.program.statement
        ranges = zip(*statement.ranges, strict=True)
        points = product(*(range(low, high + 1) for low, high in ranges))
        cards = [statement.with_best_intercept(np.array(w)) for w in points]
        cards = [card for card in cards if not statement.violations(card)]
        costs = [evaluate(statement, card).objective for card in cards]
        best = int(np.argmin(costs))
        return Outcome(Termination.COMPLETED, card=cards[best], dual_bound=costs[best])


# ------------------------------------------------------------------ what finds it

PRICES = (3, 1, 2)


OWN: tuple[tuple[Any, str, Any], ...] = (
    (FORMULATIONS, "priced_points", priced_points),
    (CONSTRAINTS, "AtLeastPoints", AtLeastPoints),
    (PENALTIES, "halved", Halved),
    (LOSSES, "steep", Steep),
    (LINKS, "steep", steep_link),
    (SOLVERS, "brute_force", BruteForce),
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for registry, name, thing in OWN:
        registry.register(name, thing)
    yield
    for registry, name, _ in OWN:
        registry.remove(name)


@pytest.fixture
def csv(tmp_path: Path) -> str:
    X, y = table()
    X.assign(ill=y).to_csv(tmp_path / "table.csv", index=False)
    return str(tmp_path / "table.csv")


def told(*arguments: Any) -> str:
    """What a command prints."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def table(seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 3, (24, 3)), columns=["a", "b", "c"])
    return X, np.where(X["a"] - X["b"] + rng.normal(size=24) > 0, 1, 0)


def cheapest(d: Design, at_least: int = -2) -> float:
    """The optimum by trying every card whose first column has enough points."""
    return brute.best_card(
        brute.decimals(d.X),
        d.y,
        d.weight,
        loss=brute.hinge(1.0),
        values=[range(at_least, 3), range(-2, 3), range(-2, 3)],
        intercepts=brute.whole_numbers(-12, 12),
        penalty=lambda w: 0.05 * sum(p * abs(v) for p, v in zip(PRICES, w, strict=True)),
    ).objective


def test_a_name_is_taken_once_and_can_be_given_back() -> None:
    with pytest.raises(FormulationError, match="there is a formulation called 'priced-points'"):
        FORMULATIONS.register("priced-points", hinge)
    FORMULATIONS.remove("priced_points")
    assert "priced_points" not in FORMULATIONS
    FORMULATIONS.register("priced_points", f"{__name__}:priced_points")
    assert FORMULATIONS["priced-points"].__name__ == "priced_points"


@pytest.mark.parametrize("at_least", [-2, 1])
def test_both_hold_against_brute_force(at_least: int) -> None:
    d = make_design(*table())
    rules = [] if at_least < 0 else [AtLeastPoints("a", at_least)]
    program = FORMULATIONS["priced_points"](d, prices=PRICES, constraints=rules)
    result = solve(program, time_limit=300)
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(cheapest(d, at_least), abs=1e-9)
    assert solve(program.relaxed()).objective <= result.objective + 1e-9


def test_the_program_knows_itself() -> None:
    d = make_design(*table())
    program = priced_points(d, prices=PRICES)
    assert program.arguments["prices"] == PRICES
    assert "lambda" in program.algebra[0]
    text = priced_points.__doc__ or ""
    for name in ("X :", "prices :", "coef_min, coef_max :", "constraints :", "Raises"):
        assert name in text
    program.set(lam=0.2)
    again = FORMULATIONS["priced_points"](d, **program.arguments)
    assert solve(again).objective == pytest.approx(solve(program).objective, abs=1e-9)


def test_a_certificate_restates_it() -> None:
    X, y = table()
    program, result = fit_card(
        make_design(X, y), "priced-points", prices=PRICES, constraints=[AtLeastPoints("a", 1)],
        progress=False, time_limit=300,
    )  # fmt: skip
    found = verify_certificate(certify(program, result), X, y)
    assert found.proved, found.to_text()


def test_a_front_and_a_comparison_state_it() -> None:
    d = make_design(*table())
    front = pareto(priced_points(d, prices=PRICES), [0, 1, 2], progress=False)
    assert list(front.results) == [0, 1, 2]
    assert front.certificate(1).statement["arguments"]["max_terms"] == 1
    table_of = compare(d, formulations=["priced_points"], time_limit=300)
    assert "priced_points" in str(table_of)


def test_files_name_the_constraint(tmp_path: Path) -> None:
    rule = AtLeastPoints("a", 2)
    assert make_constraint(rule.as_mapping()) == rule
    file = tmp_path / "rules.toml"
    file.write_text('[[constraints]]\ntype = "at_least_points"\ncolumn = "a"\npoints = 2\n')
    assert read_constraints(file) == (rule,)


def test_the_command_line_lists_everything() -> None:
    listed = told("list")
    for name in ("priced-points", "AtLeastPoints", "halved", "steep", "brute_force"):
        assert name in listed


def test_the_command_line_fits_and_exports_it(csv: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[constraints]]\ntype = "at_least_points"\ncolumn = "a"\npoints = 1\n')
    asked = ("--target", "ill", "--formulation", "priced-points", "--raw")
    fitted = told("fit", csv, *asked, "--set", "lam=0.05", "--constraints", rules)
    assert "optimal" in fitted
    assert "brute_force" in told("fit", csv, *asked, "--solver", "brute-force")
    told("export", csv, tmp_path / "program.lp", *asked)
    assert (tmp_path / "program.lp").stat().st_size > 0
    assert "priced-points" in told("compare", csv, "--target", "ill", "--raw", "--formulations",
                                   "priced_points", "--cv", 0)  # fmt: skip


def test_an_estimator_keeps_certifies_and_reports_it(tmp_path: Path) -> None:
    X, y = table()
    given = {"prices": PRICES, "constraints": [AtLeastPoints("a", 1)]}
    model = FormulationClassifier(formulation="priced_points", arguments=given, binner=None).fit(
        X, y
    )
    assert model.result_.objective == pytest.approx(cheapest(make_design(X, y), 1), abs=1e-9)
    again = pickle.loads(pickle.dumps(model))
    for each in (model, again):
        assert verify_certificate(each.certificate(), X, y).proved
        page = each.report(tmp_path / "page.html", bootstraps=2)
        assert page == (tmp_path / "page.html").read_text("utf-8")
        assert "was made again on 2 bootstrap samples" in page


def test_a_solver_is_one_name_more_by_every_door() -> None:
    X, y = table()
    small: dict[str, Any] = {"coef_min": -1, "coef_max": 1}
    by = SlimClassifier(solver="Brute-Force", **small).fit(X, y)
    usual = SlimClassifier(**small).fit(X, y)
    assert by.result_.solver == "brute_force"
    assert by.result_.objective == pytest.approx(usual.result_.objective, abs=1e-9)
    rows = compare(make_design(X, y), formulations=["slim"], cv=None, solver="highs", **small)
    assert rows.results["slim", "exact"].objective == pytest.approx(by.result_.objective, abs=1e-9)


def test_a_penalty_is_one_name_more_by_every_door(csv: str) -> None:
    X, y = table()
    mine = PenalisedClassifier("halved", lam=0.04).fit(X, y)
    usual = PenalisedClassifier("l1", lam=0.02).fit(X, y)
    np.testing.assert_allclose(mine.coef_, usual.coef_, atol=1e-4)
    lams = [0.1, 0.02]
    found = path(X.to_numpy(float), 2 * y - 1, penalty=Halved, lams=lams)
    same = path(X.to_numpy(float), 2 * y - 1, penalty=L1, lams=[lam / 2 for lam in lams])
    np.testing.assert_allclose(found.coefficients, same.coefficients, atol=1e-4)
    asked = ("path", csv, "--target", "ill", "--lams", "0.1,0.02", "--json", "--penalty")
    printed = json.loads(told(*asked, "halved"))
    assert printed["penalty"] == "halved"
    np.testing.assert_allclose(printed["coefficients"], found.coefficients, atol=1e-4)


def test_a_loss_is_one_name_more_by_every_door(csv: str) -> None:
    X, y = table()
    mine = PenalisedClassifier(lam=0.04, loss="steep").fit(X, y)
    usual = PenalisedClassifier(lam=0.02).fit(X, y)
    assert mine.result_.gap <= 1e-6
    np.testing.assert_allclose(2.0 * mine.coef_, usual.coef_, atol=5e-3)
    np.testing.assert_allclose(mine.predict_proba(X), usual.predict_proba(X), atol=5e-3)
    printed = json.loads(told("path", csv, "--target", "ill", "--penalty", "l1", "--loss", "steep",
                              "--n-lams", 3, "--json"))  # fmt: skip
    assert printed["loss"] == "steep"
    assert printed["worst_gap"] <= 1e-6


def test_every_card_the_toy_constraint_allows_is_known() -> None:
    d = make_design(*table())
    (rule,) = apply_constraints([AtLeastPoints("a", 1)], d)
    points = np.array(list(product(range(-2, 3), repeat=3)))
    np.testing.assert_array_equal(rule.allows(points), points[:, 0] >= 1)
