"""Programs: sizes, files, golden texts, relaxing and restoring, editing in place.

The golden LP files say what each formulation states, so that no change of it goes unseen. Write
them anew, and read the difference, with

    MILPSCORE_WRITE_GOLDEN=1 python -m pytest tests/formulations/test_program.py -k golden
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
from designs import binned, card_of, design, noisy
from pyomo.core.expr.visitor import identify_variables

from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError
from milpscore.core.labels import safe_labels, write_model
from milpscore.core.program import Program, Size
from milpscore.core.result import Claim, Result
from milpscore.data import make_design
from milpscore.formulations import (
    FORMULATIONS,
    auc,
    convex_rounding,
    facets_hinge,
    fused_lasso,
    hinge,
    ordinal,
    risk_score,
    slim,
    sparse_rounding,
)
from milpscore.solvers import load, solve
from milpscore.verify import check

GOLDEN = Path(__file__).parents[1] / "golden"


def five_rows() -> Design:
    """Five rows, two of them contradicting each other, one of weight 2."""
    return design([[0, 1], [1, 1], [1, 0], [1, 0], [2, 0]], [-1, 1, 1, -1, 1], [1, 1, 1, 1, 2])


def two_features() -> Design:
    """Four rows over blocks of three and two bins."""
    X = np.hstack([np.eye(3)[[0, 1, 2, 1]], np.eye(2)[[0, 0, 1, 1]]])
    made = design(X, [-1, 1, 1, -1])
    columns = tuple(
        type(c)(f"{f}{k}", f, "interval", k, k + 1)
        for c, (f, k) in zip(
            made.columns, [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)], strict=True
        )
    )
    return Design(X, made.y, made.weight, columns, ((0, 1, 2), (3, 4)))


TINY: dict[str, Callable[[], Program]] = {
    "auc": lambda: auc(five_rows(), coef_min=-2, coef_max=3, max_terms=1),
    "convex_rounding": lambda: convex_rounding(five_rows()),
    "facets_hinge": lambda: facets_hinge(five_rows(), lam=0.05, coef_min=-2, coef_max=3, gamma=0.5),
    "fused_lasso": lambda: fused_lasso(two_features(), lam=0.05, coef_min=-2, coef_max=3),
    "hinge": lambda: hinge(
        five_rows(), coef_min=-2, coef_max=3, margin=2.0, max_terms=1, l1_penalty=0.01
    ),
    "ordinal": lambda: ordinal(
        [[0, 1], [1, 1], [1, 0], [1, 0], [2, 0]],
        [0, 1, 1, 0, 2],
        coef_min=-2,
        coef_max=3,
        max_terms=1,
    ),
    "risk_score": lambda: risk_score(
        five_rows(), scale=1.0, coef_min=-2, coef_max=3, max_terms=1, penalty="l2", lam=0.05
    ),
    "slim": lambda: slim(
        five_rows(), coef_min=-2, coef_max=3, coef_sets={"x1": [-4, 0, 2]}, max_terms=1
    ),
    "sparse_rounding": lambda: sparse_rounding(five_rows(), max_terms=1, intercept="real"),
}


BY_TANGENTS = {"risk_score"}
"""Their model alone says nothing of the loss: tangents come while solving, and are written then."""


def text_of(program: Program, path: Path) -> str:
    """The model as LP text; that of a smooth loss without its tangents, as it was built."""
    write_model(program.model, program.statement.design.names, path)
    return path.read_text()


def sound(program: Program) -> Result:
    """The solution, proved and re-checked."""
    result = solve(program)
    assert result.claim is Claim.OPTIMAL
    return result


# ------------------------------------------------------------------ every registered formulation


def test_every_formulation_is_covered_here() -> None:
    assert set(TINY) == set(FORMULATIONS)
    assert {path.stem for path in GOLDEN.glob("*.lp")} == set(FORMULATIONS)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_formulation_names_its_source(name: str) -> None:
    text = FORMULATIONS[name].__doc__ or ""
    assert "Reference" in text
    assert "Parameters" in text
    assert "Returns" in text


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_formulation_has_a_relaxation(name: str) -> None:
    program = TINY[name]()
    exact, relaxed = program.exact(), program.relaxed()
    assert (exact.kind, relaxed.kind) == ("exact", "relaxed")
    assert relaxed.size.integers == 0 < exact.size.integers
    assert relaxed.size.columns == exact.size.columns
    above, below = sound(exact), sound(relaxed)
    assert above.verified
    assert below.objective <= above.objective + 1e-9


@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_text_equals_the_golden_file(name: str, tmp_path: Path) -> None:
    text = text_of(TINY[name]().exact(), tmp_path / f"{name}.lp")
    kept = GOLDEN / f"{name}.lp"
    if os.environ.get("MILPSCORE_WRITE_GOLDEN"):
        kept.write_text(text)
    assert text == kept.read_text()


def test_hyphens_name_a_formulation_and_unknown_ones_are_refused() -> None:
    assert FORMULATIONS["fused-lasso"] is FORMULATIONS["fused_lasso"]
    with pytest.raises(
        FormulationError, match=r"no formulation 'slimm'; did you mean slim\? there are auc, convex"
    ):
        FORMULATIONS["slimm"]


# ------------------------------------------------------------------ sizes and files


def test_sizes_are_what_the_page_says() -> None:
    # 2 points, T, 2 alphas, 5 errors; the rows hold 6 data, 5 T, 5 z, the links 8, the pair 2
    plain = slim(five_rows(), coef_min=-2, coef_max=3, pair_covers=False)
    assert plain.size == Size(rows=5 + 1 + 4, columns=10, integers=10, nonzeros=26)
    program = slim(five_rows(), coef_min=-2, coef_max=3)
    m = program.model
    # two signs a column, three rows of three entries each; the pairs' own rows
    differing = sum(len(list(identify_variables(row.body))) for row in m.pair_covers.values())
    assert len(m.pair_covers) == 5
    assert program.size == Size(10 + 6 + 5, 10 + 4, 10 + 4, 26 + 18 + differing)
    assert len(m.positive_rows) + len(m.negative_rows) == 5
    assert len(m.contradictions) == 1
    assert hinge(five_rows()).size.integers == 3
    assert convex_rounding(five_rows()).size == Size(5, 4 + 1 + 5, 0, 5 + 5 + 12)


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_written_file_has_the_same_optimum(name: str, ending: str, tmp_path: Path) -> None:
    program = TINY[name]().exact()
    if name in BY_TANGENTS:
        with pytest.raises(FormulationError, match="it yet; solve it with"):
            program.write(tmp_path / f"model.{ending}")
        solve(program, "outer_approximation")
    path = program.write(str(tmp_path / f"model.{ending}"))
    assert path == tmp_path / f"model.{ending}"
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    assert other.readModel(str(path)) != highspy.HighsStatus.kError
    other.run()
    value, best = other.getInfo().objective_function_value, solve(program).objective
    if name in BY_TANGENTS:  # they lie below the loss
        assert 0.0 < value <= best + 1e-9
    else:
        assert value == pytest.approx(best, abs=1e-9)


def test_a_free_scale_is_written_with_its_tangents_too(tmp_path: Path) -> None:
    program = risk_score(five_rows(), coef_min=-1, coef_max=1)
    with pytest.raises(FormulationError, match="it yet; solve it with"):
        program.write(tmp_path / "model.lp")
    best = solve(program, "outer_approximation").objective
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    # at its default of 1e-6 HiGHS 1.16 calls a bound what lies 9e-7 above a card
    other.setOptionValue("mip_feasibility_tolerance", 1e-9)
    assert other.readModel(str(program.write(tmp_path / "model.lp"))) != highspy.HighsStatus.kError
    other.run()
    assert 0.0 < other.getInfo().mip_dual_bound <= best + 1e-9


def test_labels_are_safe_unique_and_told() -> None:
    names = [
        "Age >= 40",
        "Age ge 40",
        "age_GE_40",
        "ünï = 1",
        "a\nb",
        "µ",
        "%",
        "x" * 300,
        "x" * 300,
    ]
    labels = safe_labels(names)
    assert labels[:6] == ["Age_ge_40", "Age_ge_40_2", "age_GE_40_3", "u_ni_eq_1", "a_b", "column"]
    assert len({label.lower() for label in labels}) == len(names)
    assert all(len(label) <= 103 and re.fullmatch(r"[0-9A-Za-z_.]+", label) for label in labels)


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("weights", ["ternary", "binary"])
def test_a_written_file_speaks_of_columns_by_name(
    weights: str, ending: str, tmp_path: Path
) -> None:
    odd = pd.DataFrame({"worst texture, µm": [0, 1, 1, 2], "b\nc": [1, 1, 0, 1]})
    made = make_design(odd, [0, 1, 0, 1])
    program = slim(made) if weights == "binary" else sparse_rounding(made, max_terms=1)
    path = program.write(tmp_path / f"named.{ending}")
    mark = "\\" if ending == "lp" else "*"
    head = path.read_text(encoding="utf-8").splitlines()[:3]
    assert head[1:] == [f"{mark} worst_texture_m is worst texture, µm", f"{mark} b_c is b c"]
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    assert other.readModel(str(path)) == highspy.HighsStatus.kOk
    wanted = {"binary": "w(b_c)", "ternary": "c(worst_texture_m_minus)"}[weights]
    assert wanted in other.getLp().col_names_


def test_only_lp_and_mps_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"must end in \.lp, \.mps or \.nl"):
        slim(five_rows()).write(tmp_path / "model.txt")


# ------------------------------------------------------------------ points by name


@pytest.mark.parametrize("name", FORMULATIONS)
def test_points_are_found_by_column_and_feature(name: str) -> None:
    program = TINY[name]().exact()
    columns = program.statement.design.columns
    assert list(program.points) == list(program.statement.design.names)
    card = card_of([1, 0, 0, 0, 0][: len(columns)], 0)
    program.fill(card)
    for j, column in enumerate(columns):
        named, numbered = program.points[column.name], program.points[j]
        assert pyo.value(named) == pyo.value(numbered)
        # of an ordinal card the gaps are those of thresholds next to rows
        assert pyo.value(named) == card.coefficients[j] or column.name.startswith("gap")
    first = columns[0].feature
    own = [column for column in columns if column.feature == first]
    found = program.points[first]
    assert len(own) == 1 or (isinstance(found, tuple) and len(found) == len(own))
    assert first in program.points
    assert "zz" not in program.points


def test_a_rule_by_name_binds_and_an_unknown_name_is_met_with_the_nearest() -> None:
    program = slim(make_design(pd.DataFrame({"worst texture": [0, 1, 1, 2]}), [0, 1, 0, 1]))
    program.model.own = pyo.Constraint(expr=program.points["worst texture"] <= 0)
    answer = solve(program, "highs")
    assert answer.card is not None
    assert answer.card.coefficients[0] <= 0
    assert program.relaxed().points["worst texture"] is not program.points["worst texture"]
    with pytest.raises(FormulationError, match="did you mean 'worst texture'"):
        program.points["worst textur"]


# ------------------------------------------------------------------ coefficients and cards


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_card_put_in_is_read_back(name: str) -> None:
    program = TINY[name]().exact()
    with pytest.raises(NotApplicableError):
        program.coefficients()
    w = np.zeros(program.statement.design.shape[1], dtype=np.int64)
    w[1] = 0 if name == "slim" else 1
    w = np.maximum(w, (program.statement.coef_min > 0).astype(np.int64))  # gaps are never 0
    card = program.statement.with_best_intercept(w)
    program.fill(card)
    assert program.card() == card
    assert check(program).feasible


def test_a_solution_lies_in_the_model() -> None:
    program = slim(noisy())
    result = solve(program)
    m = program.model
    assert pyo.value(m.objective) == pytest.approx(result.objective, abs=1e-12)
    assert pyo.value(m.loss) == pytest.approx(result.loss, abs=1e-12)
    assert pyo.value(m.penalty) == pytest.approx(result.penalty, abs=1e-12)
    assert program.card() == result.card
    np.testing.assert_array_equal(program.coefficients()[0], result.coefficients)


def test_coprime_points_answer_the_same() -> None:
    result = solve(slim(design([[2], [4], [6]], [-1, 1, 1]), coef_sets={"x0": [0, 3, 6]}))
    assert result.card is not None
    assert result.card.coefficients.tolist() in ([3], [6])  # 1 is not in the set
    result = solve(slim(design([[2], [4], [6]], [-1, 1, 1])))
    assert result.card == card_of([1], -4)


# ------------------------------------------------------------------ relaxed and exact


def extended(name: str) -> Program:
    """A program with a constraint, an integer and a real variable of the user's."""
    program = TINY[name]()
    m = program.model
    points = next(m.component(part) for part in ("w", "theta", "c") if m.component(part))
    m.own_whole = pyo.Var(domain=pyo.Integers, bounds=(0, 3))
    m.own_real = pyo.Var(bounds=(0, 9.5))
    m.own = pyo.Constraint(expr=points[1] + 0.5 <= m.own_whole)
    m.own_too = pyo.Constraint(expr=m.own_real >= m.own_whole)
    return program


@pytest.mark.parametrize("name", FORMULATIONS)
def test_there_and_back_keeps_what_was_added(name: str, tmp_path: Path) -> None:
    program = extended(name).exact()
    plain = text_of(program, tmp_path / "plain.lp")
    assert "own_whole" in plain
    back = program.relaxed().exact().relaxed().exact()
    assert text_of(back, tmp_path / "back.lp") == plain
    assert program.relaxed().size.integers == 0
    assert program.kind == "exact"
    assert text_of(program, tmp_path / "again.lp") == plain  # the original is untouched
    late = program.relaxed()
    late.model.later = pyo.Var(domain=pyo.Binary)
    late.model.later_row = pyo.Constraint(expr=late.model.own_real >= late.model.later)
    assert late.exact().size.integers == program.size.integers + 1
    first, second = sound(program), sound(back)
    assert first.claim is second.claim
    assert first.objective == pytest.approx(second.objective, abs=1e-12, nan_ok=True)


def test_an_added_variable_may_be_deleted_again() -> None:
    program = extended("slim").relaxed()
    for part in ("own", "own_too", "own_whole"):
        program.model.del_component(part)
    assert solve(program.exact()).claim is Claim.OPTIMAL


# ------------------------------------------------------------------ editing in place


def test_set_changes_the_statement_and_the_model() -> None:
    program = slim(noisy(), l0_penalty=1e-3, l1_penalty=1e-3)
    program.set(l0_penalty=0.05, l1_penalty=0)
    rebuilt = solve(slim(noisy(), l0_penalty=0.05))
    result = solve(program)
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(rebuilt.objective, abs=1e-12)
    assert program.statement.penalty(np.array([1, 0, 2])) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"gamma": 1.0},
            r"slim cannot change 'gamma' in place; it can change \['big_m', 'coef_max'",
        ),
        ({"lam": 1.0}, "lam=1.0 needs a penalty"),
        ({"l0_penalty": -1.0}, "l0_penalty must be a finite number >= 0"),
        ({"l0_penalty": "much"}, "l0_penalty must be a finite number >= 0"),
        ({"l0_penalty": float("nan")}, "l0_penalty must be a finite number >= 0"),
    ],
)
def test_set_refuses_and_changes_nothing(values: dict[str, Any], message: str) -> None:
    program = slim(noisy(), l0_penalty=1e-3)
    with pytest.raises(FormulationError, match=message):
        program.set(**values)
    with pytest.raises(FormulationError, match=message):
        program.set(**{"l0_penalty": 0.5, **values})
    assert pyo.value(program.model.l0_penalty) == 1e-3
    assert program.statement.penalty(np.array([1, 0, 0])) == 1e-3


EDITS: dict[str, tuple[Callable[..., Program], str]] = {
    "slim": (lambda v: slim(noisy(), l0_penalty=v), "l0_penalty"),
    "hinge": (lambda v: hinge(noisy(), l1_penalty=v), "l1_penalty"),
    "facets_hinge": (lambda v: facets_hinge(noisy(), lam=v, coef_min=-4, coef_max=4), "lam"),
    "fused_lasso": (lambda v: fused_lasso(binned(), lam=v), "lam"),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_session_edited_in_place_equals_a_new_program(name: str) -> None:
    build, weight = EDITS[name]
    session = load(build(0.01))
    for value in (0.01, 0.2, 0.003, 0.05):
        session.set(**{weight: value})
        edited, rebuilt = solve(session), solve(build(value))
        assert edited.claim is rebuilt.claim is Claim.OPTIMAL
        assert edited.objective == pytest.approx(rebuilt.objective, abs=1e-9)
        session.relax()
        edited, rebuilt = solve(session), solve(build(value).relaxed())
        assert edited.kind == "relaxed"
        assert edited.claim is rebuilt.claim is Claim.OPTIMAL
        assert edited.objective == pytest.approx(rebuilt.objective, abs=1e-9)
        session.restore()
    again = solve(session)
    assert (again.kind, again.claim) == ("exact", Claim.OPTIMAL)


def test_an_edit_hands_nothing_over_again() -> None:
    session = load(slim(noisy(300, 8, values=(0, 1, 2, 3, 4, 5))))
    highs, seconds = session.highs, session.load_seconds
    session.set(l0_penalty=0.1)
    session.relax()
    session.restore()
    assert (session.highs, session.load_seconds) == (highs, seconds)


def test_a_relaxed_program_has_no_integers_to_restore() -> None:
    with pytest.raises(NotApplicableError, match=r"load program\.exact\(\)"):
        load(slim(noisy()).relaxed()).restore()


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_program_knows_the_arguments_it_was_built_with(name: str) -> None:
    program = TINY[name]()
    design = program.statement.design
    again = FORMULATIONS[name](design, **program.arguments)
    assert again.size == program.size
    assert program.exact().arguments == program.relaxed().arguments == program.arguments
    for weight in program.parameters:
        program.set(**{weight: 0.75})
        assert program.arguments[weight] == 0.75


def test_a_model_is_made_where_it_is_first_asked_for() -> None:
    program = slim(np.array([[0, 1], [1, 0], [1, 1], [0, 0]]), [0, 1, 1, 0], max_terms=1)
    result = solve(program, "tree")
    assert not program.is_built  # the tree searches the statement, the re-check reads the rows
    assert program.added_by_user() == ""
    assert result.card is not None
    assert program.card() == result.card  # loaded as the model was made
    assert program.is_built
    assert check(program).objective == result.objective
