"""What a solver is asked in its own words, where it stops, and what it writes down."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import highspy
import pyomo.environ as pyo
import pytest
from designs import binned, noisy

from milpscore.constraints import Sign
from milpscore.core.errors import NotApplicableError, OptionError, SolverError
from milpscore.core.program import Program
from milpscore.core.result import Claim, Termination
from milpscore.formulations import fused_lasso, hinge, ordinal, risk_score, slim, sparse_rounding
from milpscore.solvers import conflict, load, solve


def test_highs_takes_its_own_options_for_one_run() -> None:
    session = load(slim(noisy()))
    own = {"HiGHS": {"mip_heuristic_effort": 0.25}}
    result = solve(session, "highs", options=own)
    assert result.claim is Claim.OPTIMAL
    assert result.options["options"] == own
    assert session.highs.getOptionValue("mip_heuristic_effort")[1] == 0.25
    solve(session, "highs")
    assert session.highs.getOptionValue("mip_heuristic_effort")[1] != 0.25


@pytest.mark.parametrize(
    ("solver", "options", "error", "message"),
    [
        ("highs", {"highs": {"mip_rel_gap": 0.1}}, OptionError, "set by milpscore: use mip_gap"),
        ("highs", {"highs": {"mip_feasibility_tolerance": 1e-3}}, OptionError, "claims unsafe"),
        ("highs", {"highs": {"no_such": 1}}, SolverError, "HiGHS refused option no_such=1"),
        ("highs", {"cbc": {"cuts": "off"}}, NotApplicableError, "those of cbc, and highs was"),
        ("tree", {"tree": {"fast": 1}}, NotApplicableError, "tree has no options of its own"),
        ("auto", {"hihgs": {}}, OptionError, "did you mean highs"),
        ("auto", {"highs": 3}, OptionError, "options must be a mapping like"),
        ("auto", [1], OptionError, "options must be a mapping like"),
    ],
)
def test_options_that_nobody_hears_are_refused(
    solver: str, options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        solve(slim(noisy()), solver, options=options)


def test_options_that_auto_has_no_use_for_are_named() -> None:
    result = solve(risk_score(noisy(), max_terms=2), options={"highs": {"mip_heuristic_effort": 0}})
    assert result.claim is Claim.OPTIMAL
    assert "the options of highs were not used: tree ran" in result.message


@pytest.mark.skipif(shutil.which("cbc") is None, reason="CBC is not installed")
def test_cbc_takes_its_own_options_and_the_clock_of_all() -> None:
    result = solve(hinge(noisy()), "cbc", options={"cbc": {"cuts": "off"}}, time_limit=60)
    assert result.claim is Claim.OPTIMAL
    with pytest.raises(OptionError, match="cbc's ratio is set by milpscore"):
        solve(hinge(noisy()), "cbc", options={"cbc": {"ratio": 0.1}})


@pytest.mark.parametrize("solver", ["tree", "highs"])
def test_a_search_stops_where_nothing_is_better_than_the_cutoff(solver: str) -> None:
    program = slim(noisy(80, 4), l0_penalty=0.005)
    best = solve(program, "tree", time_limit=300).objective
    result = solve(program, solver, cutoff=0.5 * best, time_limit=300)
    assert result.termination in (Termination.CUTOFF, Termination.COMPLETED)
    assert 0.5 * best <= result.dual_bound <= best
    said = "the bound reached the cutoff: no card is better than that" in result.message
    assert said == (result.termination is Termination.CUTOFF and result.claim is not Claim.OPTIMAL)
    above = solve(program, solver, cutoff=2.0 * best, time_limit=300)
    assert above.objective == pytest.approx(best, abs=1e-12)


def test_a_log_ends_with_what_was_proved(tmp_path: Path) -> None:
    log = tmp_path / "tree.log"
    result = solve(risk_score(noisy(200, 6), max_terms=3), log_file=str(log), time_limit=300)
    head, *lines = log.read_text().splitlines()
    assert head.split() == ["seconds", "nodes", "open", "depth", "best", "bound", "gap"]
    assert [float(word) for word in lines[-1].split()[4:6]] == pytest.approx(
        [result.objective, result.dual_bound], rel=1e-6
    )


def test_rows_of_ones_own_are_part_of_a_conflict() -> None:
    program = slim(noisy(), constraints=[Sign("x1", "+")])
    program.model.much = pyo.Constraint(expr=program.points["x0"] >= 2)
    program.model.few = pyo.Constraint(expr=program.points["x0"] <= 1)
    program.model.free = pyo.Constraint(expr=program.points["x2"] <= 1)
    found = conflict(program)
    assert found is not None
    assert found.names == ("much", "few")
    assert found.smallest
    assert "no card meets 'much', 'few' together" in solve(program).message
    program.model.few.deactivate()
    program.model.against = pyo.Constraint(expr=program.points["x1"] <= -1)
    found = conflict(program)
    assert found is not None
    assert set(found.names) == {"sign of x1: +", "against"} or "against" in found.names
    program.model.against.deactivate()
    assert conflict(program) is None


WRITTEN: dict[str, Program] = {
    "slim": slim(noisy(), l0_penalty=0.01),
    "hinge": hinge(noisy(), max_terms=2),
    "sparse_rounding": sparse_rounding(noisy(), max_terms=2).exact(),
    "ordinal": ordinal(noisy()),
    "fused_lasso": fused_lasso(binned(), lam=0.1),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_files_are_read_by_other_solvers(name: str, tmp_path: Path) -> None:
    program = WRITTEN[name]
    best = solve(program, "highs").objective
    path = program.write(tmp_path / "model.mps")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(best, abs=1e-9)
    if shutil.which("glpsol") is not None:
        report = tmp_path / "glpk.txt"
        ran = ["glpsol", "--freemps", str(path), "-o", str(report)]
        subprocess.run(ran, check=True, capture_output=True)
        (line,) = [each for each in report.read_text().splitlines() if "Objective:" in each]
        assert float(line.split("=")[1].split()[0]) == pytest.approx(best, rel=1e-6)
    program.write(tmp_path / "model.nl")
    columns = (tmp_path / "model.col").read_text().splitlines()
    rows = (tmp_path / "model.row").read_text().splitlines()
    counts = (tmp_path / "model.nl").read_text().splitlines()[1].split()
    assert [len(columns), len(rows)] == [int(counts[0]), int(counts[1])]
    assert set(columns) <= set(program.labels)


def test_nl_files_say_what_to_branch_on_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sets = {"x1": (0, 2)}  # Pyomo's presolve takes their points out of the file
    program = slim(noisy(), coef_min=-2, coef_max=2, coef_sets=sets, max_terms=2)
    program.model.w[0].fix(1)
    order = {"alpha": 2, "above_zero": 2, "below_zero": 2, "choice": 2, "w": 1, "T": 1}

    def ranks(program: Program) -> dict[str, int]:
        lines = program.write(tmp_path / "model.nl").read_text().splitlines()
        (start,) = [k for k, line in enumerate(lines) if line.endswith(" priority")]
        columns = (tmp_path / "model.col").read_text().splitlines()
        pairs = [
            line.split() for line in lines[start + 1 : start + 1 + int(lines[start].split()[1])]
        ]
        return {columns[int(place)]: int(rank) for place, rank in pairs}

    found = ranks(program)
    columns = (tmp_path / "model.col").read_text().splitlines()
    assert "w(x0)" not in columns
    wanted = {label: order.get(label.split("(")[0], 0) for label in columns}
    assert found == {label: rank for label, rank in wanted.items() if rank}
    assert {"T", "w(x2)", "alpha(x2)", "above_zero(x2)"} <= set(found)
    assert ranks(program.exact()) == found
    program.write(tmp_path / "model.lp")
    assert caplog.text == ""
    # Pyomo's own writer writes the same of a suffix that it is asked to export
    plain = slim(noisy(), coef_min=-2, coef_max=2)
    written = plain.write(tmp_path / "model.nl").read_text()
    plain.model.priority.direction = pyo.Suffix.EXPORT
    assert plain.write(tmp_path / "model.nl").read_text() == written
    assert len(slim(noisy()).relaxed().model.priority) == len(plain.model.priority)
    assert hinge(noisy()).model.component("priority") is None


def test_components_say_what_they_are() -> None:
    for program in WRITTEN.values():
        for part in program.model.component_objects([pyo.Var, pyo.Objective]):
            assert part.doc, f"{program.formulation}: {part.name}"


def test_a_limit_of_0_names_itself_and_no_model() -> None:
    said = solve(hinge(noisy()), time_limit=0).message
    assert said.startswith("a limit of 0 s leaves nothing to be searched: raise time_limit")
    assert "making" not in said


def test_no_cutoff_is_none() -> None:
    assert solve(slim(noisy()), "highs").options["cutoff"] is None
    with pytest.raises(OptionError, match="cutoff must be a number or None"):
        solve(slim(noisy()), cutoff="low")
    assert not math.isnan(solve(slim(noisy()), cutoff=-1.0).dual_bound)
