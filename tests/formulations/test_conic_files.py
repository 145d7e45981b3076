"""The .cbf files: golden texts, and an independent reading of them that is solved again.

Write the golden files anew, and read the difference, with

    MILPSCORE_WRITE_GOLDEN=1 python -m pytest tests/formulations/test_conic_files.py -k golden
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import clarabel
import numpy as np
import pytest
from conic_cases import LOSSES, make
from designs import design
from scipy import sparse

from milpscore.core.conic import ConicProgram
from milpscore.core.errors import FormulationError
from milpscore.formulations import CONIC_FORMULATIONS, binarsity, eye, facets
from milpscore.solvers import solve

GOLDEN = Path(__file__).parents[1] / "golden"


def tiny(name: str) -> ConicProgram:
    """Five rows, two of them contradicting each other, one of weight 2."""
    made = design([[0, 1], [1, 1], [1, 0], [1, 0], [2, 0]], [-1, 1, 1, -1, 1], [1, 1, 1, 1, 2])
    if name == "eye":
        return eye(made, expert=[1.0, 0.5], lam=0.125)
    if name == "facets":
        return facets(made, lam=0.125, gamma=0.5, loss="hinge")
    one_hot = np.hstack([np.eye(3)[[0, 1, 2, 1]], np.eye(2)[[0, 0, 1, 1]]])
    blocks, weights = [(0, 1, 2), (3, 4)], [0.0, 1.0, 2.0, 0.0, 0.5]
    return binarsity(
        one_hot, [0.5, 1, 2, 0], blocks=blocks, weights=weights, lam=0.125, loss="squared"
    )


def records(path: Path) -> Iterator[list[str]]:
    """The lines with something in them, split."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.split()


def same(one: str, other: str) -> bool:
    """Whether two fields are the same text, or numbers within rounding."""
    if one == other:
        return True
    try:
        return abs(float(one) - float(other)) <= 1e-12 * max(1.0, abs(float(one)))
    except ValueError:
        return False


@pytest.mark.parametrize("name", ["binarsity", "eye", "facets"])
def test_the_text_equals_the_golden_file(name: str, tmp_path: Path) -> None:
    written = tiny(name).write(tmp_path / f"{name}.cbf")
    kept = GOLDEN / f"{name}.cbf"
    if os.environ.get("MILPSCORE_WRITE_GOLDEN"):
        kept.write_text(written.read_text())
    new, old = list(records(written)), list(records(kept))
    assert len(new) == len(old)
    for one, other in zip(new, old, strict=True):
        assert len(one) == len(other)
        assert all(same(a, b) for a, b in zip(one, other, strict=True)), (one, other)


# ------------------------------------------------------------------ read back


def optimum_of_file(path: Path) -> float:
    """The optimum of a .cbf file of free variables, read by the format's own definition.

    CBF 3: rows A x + b in the cones listed; Q is {(t, v): t >= ||v||}; EXP is {(t, s, r):
    t >= s exp(r / s), s >= 0}, which is Clarabel's (r, s, t) backwards.
    """
    fields = records(path)
    numbers: dict[str, list[list[str]]] = {}
    cones: list[tuple[str, int]] = []
    columns = rows = 0
    offset = 0.0
    for record in fields:
        key = record[0]
        if key == "VER":
            assert next(fields) == ["3"]
        elif key == "OBJSENSE":
            assert next(fields) == ["MIN"]
        elif key in ("VAR", "CON"):
            size, groups = map(int, next(fields))
            listed = [(kind, int(count)) for kind, count in (next(fields) for _ in range(groups))]
            assert sum(count for _, count in listed) == size
            if key == "VAR":
                assert listed == [("F", size)]
                columns = size
            else:
                rows, cones = size, listed
        elif key == "OBJBCOORD":
            offset = float(next(fields)[0])
        else:
            numbers[key] = [next(fields) for _ in range(int(next(fields)[0]))]
    cost, shift = np.zeros(columns), np.zeros(rows)
    for j, value in numbers["OBJACOORD"]:
        cost[int(j)] = float(value)
    for i, value in numbers["BCOORD"]:
        shift[int(i)] = float(value)
    i, j, values = zip(*numbers["ACOORD"], strict=True)
    matrix = sparse.csr_array(
        (np.array(values, dtype=float), (np.array(i, dtype=int), np.array(j, dtype=int))),
        shape=(rows, columns),
    )
    order, kinds, at = [], [], 0
    for kind, size in cones:
        here = list(range(at, at + size))
        at += size
        order += here[::-1] if kind == "EXP" else here
        kinds.append(
            {
                "L=": clarabel.ZeroConeT,
                "L+": clarabel.NonnegativeConeT,
                "Q": clarabel.SecondOrderConeT,
                "EXP": lambda size: clarabel.ExponentialConeT(),
            }[kind](size)
        )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix((columns, columns)),
        cost,
        sparse.csc_matrix(-matrix[order]),
        shift[order],
        kinds,
        settings,
    ).solve()
    assert str(answer.status) == "Solved"
    return float(answer.obj_val) + offset


@pytest.mark.parametrize("name", CONIC_FORMULATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_file_has_the_optimum_of_the_program(name: str, loss: str, tmp_path: Path) -> None:
    program = make(name, loss)
    path = program.write(tmp_path / "program.cbf")
    assert optimum_of_file(path) == pytest.approx(solve(program).objective, rel=1e-6)


def test_the_file_holds_added_constraints_and_changed_arguments(tmp_path: Path) -> None:
    program = make("eye", "poisson")
    program.subject_to(program.w[0] >= 0.9, program.w[1] + program.w[2] == 0.1)
    program.set(lam=0.2)
    path = program.write(tmp_path / "program.cbf")
    result = solve(program)
    assert result.coefficients[0] == pytest.approx(0.9, abs=1e-6)
    assert optimum_of_file(path) == pytest.approx(result.objective, rel=1e-6)


def test_the_golden_files_have_the_optimum_of_their_programs() -> None:
    for name in ("binarsity", "eye", "facets"):
        expected = solve(tiny(name)).objective
        assert optimum_of_file(GOLDEN / f"{name}.cbf") == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("ending", ["lp", "mps", "txt"])
def test_other_endings_are_refused(ending: str, tmp_path: Path) -> None:
    with pytest.raises(FormulationError, match=r"a conic program is written as \.cbf"):
        make("eye").write(tmp_path / f"program.{ending}")
