"""What a notebook shows of a program and of a result; everything in it is escaped."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milpscore.core.program import Program
    from milpscore.core.result import Result

_LEFT = ' style="text-align: left"'
_RIGHT = ' style="text-align: right"'


def algebra_in(docstring: str | None) -> tuple[str, ...]:
    """The displayed formulas of a docstring, as LaTeX."""
    blocks: list[list[str]] = []
    inside = False
    for line in inspect.cleandoc(docstring or "").splitlines():
        if line.startswith(".. math::"):
            blocks.append([])
            inside = True
        elif inside and line.strip() and not line.startswith(" "):
            inside = False
        elif inside:
            blocks[-1].append(line.strip())
    return tuple("\n".join(block).strip() for block in blocks)


def program_html(program: Program) -> str:
    """Kind, shape and size of a program, and its algebra as a notebook's MathJax reads it."""
    rows, columns = program.statement.shape
    size = program.size
    figures = {
        "data": f"{rows:,} rows, {columns:,} columns",
        "program": f"{size.rows:,} rows, {size.columns:,} columns, {size.integers:,} of them "
        f"integer, {size.nonzeros:,} nonzeros",
        "changed by hand": program.added_by_user() or "nothing",
    }
    formulas = "\n".join(
        f"<div>$$\\begin{{aligned}}\n{escape(formula)}\n\\end{{aligned}}$$</div>"
        for formula in program.algebra
    )
    return _box(f"{program.formulation}, {program.kind}", figures, [formulas])


def result_html(result: Result) -> str:
    """The certificate of a result as a small table, its claim in words below."""
    figures = {
        "claim": str(result.claim),
        "objective": f"{result.objective:.6g} = loss {result.loss:.6g} + penalty "
        f"{result.penalty:.6g}",
        "bound": f"{result.dual_bound:.6g} ({result.bound_source})",
        "gap": f"{result.gap:.2%}",
        "terms": f"{result.terms}",
        "solver": f"{result.solver} {result.solver_version}".strip(),
        "stopped": f"{result.termination}, {result.solve_seconds:.2f} s, {result.nodes:,} nodes",
    }
    words = (result.claim.sentence, result.termination.sentence, result.message, result.caveat)
    said = [f"<p>{escape(sentence)}</p>" for sentence in words if sentence]
    return _box(f"{result.formulation}, {result.kind}", figures, said)


def _box(caption: str, figures: Mapping[str, str], below: Sequence[str]) -> str:
    """A captioned table of names and values, and what stands below it."""
    body = "\n".join(
        f'<tr><th scope="row"{_LEFT}>{escape(name)}</th><td{_RIGHT}>{escape(value)}</td></tr>'
        for name, value in figures.items()
    )
    return (
        f'<div class="milpscore-summary">\n<table>\n<caption{_LEFT}>{escape(caption)}</caption>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n{chr(10).join(below)}\n</div>"
    )
