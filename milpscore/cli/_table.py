"""The table of a comparison, as wide as a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from milpscore.cli._options import spelt

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console
    from rich.table import Table

WIDTH = 96
"""Columns used where standard output is no terminal."""

LEGEND = (
    "'right' is the share of rows answered rightly, 'whole' that of coefficients that are integers."
)

_RELAXED = "relaxed"
"""The one kind of row that is no card."""


def output() -> Console:
    """Standard output, at most :data:`WIDTH` columns wide and without colours in a file."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def comparison(frame: DataFrame, width: int = WIDTH) -> Table:
    """A table of :func:`milpscore.compare` with the columns a person reads first.

    Parameters
    ----------
    frame : DataFrame
        Rows of one formulation must stand together.
    width : int
        Columns of the terminal; narrow ones get narrow gaps.
    """
    from rich import box
    from rich.table import Table

    cross_validated = bool(frame["cv_accuracy"].notna().any())
    gap = 1 if width >= WIDTH else 0
    table = Table(box=box.SIMPLE_HEAD, padding=(0, gap, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("program", no_wrap=True)
    heads = ["claim", "objective", "bound", "gap", "whole", "terms", "right"]
    for head in [*heads, "held out" if cross_validated else "time"]:
        table.add_column(head, justify="left" if head == "claim" else "right", no_wrap=True)
    for name in dict.fromkeys(frame["formulation"]):
        rows = frame[frame["formulation"] == name].to_dict("records")
        table.add_row(f"[bold]{spelt(name)}[/bold]")
        for row in rows:
            table.add_row(*_cells(row, cross_validated), style=_style(row))
        table.add_section()
    return table


def labelled(lines: Iterable[tuple[str, str]]) -> Table:
    """Labels at the left, their folded texts at the right."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    for label, text in lines:
        grid.add_row(Text(label), Text(text))
    return grid


def notes(frame: DataFrame) -> Sequence[str]:
    """Why a formulation has no card, or a rounding that was asked for by name."""
    from milpscore.comparison.answers import KINDS

    told = (frame["kind"] == "exact") | ~frame["kind"].isin(KINDS)
    without = frame[(frame["claim"] == "none") & told & (frame["message"] != "")]
    return [f"{_place(row)}: {row['message']}" for row in without.to_dict("records")]


def _place(row: Mapping[Any, Any]) -> str:
    """A row's formulation, and its rounding where it is one."""
    name = spelt(row["formulation"])
    return name if row["kind"] == "exact" else f"{name}, {spelt(row['kind'])}"


def _cells(row: dict[str, Any], cross_validated: bool) -> list[str]:
    """One row of the frame as text."""
    is_card = row["kind"] != _RELAXED
    cells = [
        f"  {spelt(row['kind']) if is_card else 'LP relaxation'}",
        str(row["claim"]) if is_card else "bound",
        _figure(row["objective"], "{:.5f}"),
        _figure(row["bound"], "{:.5f}"),
        _figure(row["gap"], "{:.1%}") if is_card else "",
        _figure(row["integrity"], "{:.0%}"),
        _figure(row["terms"], "{:.0f}"),
        _figure(row["train_accuracy"], "{:.1%}"),
    ]
    last = ("cv_accuracy", "{:.1%}") if cross_validated else ("solve_seconds", "{:.2f} s")
    return [*cells, _figure(row[last[0]], last[1])]


def _figure(value: Any, form: str) -> str:
    """A number in its form, a dash where there is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return "-"
    if not math.isfinite(number):
        return "-"
    text = form.format(number)
    return text if any(digit in text for digit in "123456789") else text.removeprefix("-")


def _style(row: dict[str, Any]) -> str:
    return "green" if row["claim"] == "optimal" and row["kind"] == "exact" else ""
