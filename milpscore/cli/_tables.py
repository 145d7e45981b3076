"""One printer for every table of the command line, and what a person reads of each answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from milpscore.cli.groups import spelt

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console
    from rich.table import Table

WIDTH = 96
"""Columns used where standard output is not a terminal."""

LEGEND = (
    "'right' is the share of rows answered rightly, 'whole' that of coefficients that are integers."
)


@dataclass(frozen=True)
class Column:
    """A printed column: its head, and how a row's value becomes text."""

    head: str
    form: str | Callable[[Any], str] = "{}"
    words: bool = False  # words stand at the left, and may be folded

    def cell(self, value: Any) -> str:
        """The value as text that rich prints as it is; a dash where there is none."""
        if not isinstance(self.form, str):
            return _plain(self.form(value))
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return "-"
        try:
            text = self.form.format(value)
        except (TypeError, ValueError):  # a missing value of pandas
            return "-"
        zero = not any(digit in text for digit in "123456789")
        return _plain(text.removeprefix("-") if zero else text)


def output() -> Console:
    """Standard output, at most :data:`WIDTH` columns wide and without colours in a file."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def table(
    rows: Iterable[Mapping[Any, Any]],
    columns: Mapping[str, Column],
    *,
    title: str | None = None,
    green: Callable[[Mapping[Any, Any]], bool] = lambda row: False,
    section: str | None = None,
    gap: int = 1,
) -> Table:
    """Rows under their heads; with ``section`` a line of its own opens each of its values."""
    from rich import box
    from rich.table import Table

    made = Table(
        box=box.SIMPLE_HEAD, padding=(0, gap, 0, 0), pad_edge=False, show_edge=False,
        title=title, title_justify="left",
    )  # fmt: skip
    for column in columns.values():
        side = "left" if column.words else "right"
        made.add_column(column.head, justify=side, no_wrap=not column.words)  # type: ignore[arg-type]
    opened = None
    for row in rows:
        if section is not None and row[section] != opened:
            if opened is not None:
                made.add_section()
            opened = row[section]
            made.add_row(f"[bold]{_plain(spelt(opened))}[/bold]")
        cells = [column.cell(row[name]) for name, column in columns.items()]
        made.add_row(*cells, style="green" if green(row) else "")
    return made


def plain_table(frame: DataFrame) -> Table:
    """Every column of a frame: names at the left, numbers to four digits at the right."""
    columns = {}
    for name in frame.columns:
        kind = frame[name].dtype.kind
        form = "{:.4g}" if kind == "f" else "{}"
        head = str(name).replace("_", " ")
        columns[name] = Column(head, form, words=kind not in "fiu")
    return table(frame.to_dict("records"), columns)


def labelled(lines: Iterable[tuple[str, str]]) -> Table:
    """Labels at the left, their folded texts at the right."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    for label, text in lines:
        grid.add_row(Text(label), Text(text))
    return grid


def _plain(text: str) -> str:
    """Text that rich prints as it is."""
    from rich.markup import escape

    return escape(text)


# ---------------------------------------------------------------- comparisons


def comparison(frame: DataFrame, width: int = WIDTH) -> Table:
    """The rows of a comparison with the columns a person reads first; narrow where it must be."""
    last = (
        {"cv_accuracy": Column("held out", "{:.1%}")}
        if frame["cv_accuracy"].notna().any()
        else {"solve_seconds": Column("time", "{:.2f} s")}
    )
    columns = {
        "program": Column("program"),
        "said": Column("claim"),
        "objective": Column("objective", "{:.5f}"),
        "bound": Column("bound", "{:.5f}"),
        "distance": Column("gap", lambda gap: gap),
        "integrity": Column("whole", "{:.0%}"),
        "terms": Column("terms", "{:.0f}"),
        "train_accuracy": Column("right", "{:.1%}"),
        **last,
    }
    gap = Column("", "{:.1%}")
    rows = []
    for row in frame.to_dict("records"):
        card = row["kind"] != "relaxed"  # the one kind of row that is no card
        rows.append(
            {
                **row,
                "program": f"  {spelt(row['kind']) if card else 'LP relaxation'}",
                "said": str(row["claim"]) if card else "bound",
                "distance": gap.cell(row["gap"]) if card else "",
            }
        )
    made = table(
        rows,
        columns,
        green=lambda row: row["claim"] == "optimal" and row["kind"] == "exact",
        section="formulation",
        gap=1 if width >= WIDTH else 0,
    )
    made.columns[0].justify = made.columns[1].justify = "left"
    return made


def notes(frame: DataFrame) -> Sequence[str]:
    """Why a formulation has no card, or a rounding that was asked for by name."""
    from milpscore.comparison.answers import KINDS

    told = (frame["kind"] == "exact") | ~frame["kind"].isin(KINDS)
    without = frame[(frame["claim"] == "none") & told & (frame["message"] != "")]
    said = []
    for row in without.to_dict("records"):
        kind = "" if row["kind"] == "exact" else f", {spelt(row['kind'])}"
        said.append(f"{spelt(row['formulation'])}{kind}: {row['message']}")
    return said


# ---------------------------------------------------------------- paths and grids

_PATH = {
    "lam": Column("lam", "{:.4g}"),
    "alpha": Column("alpha", "{:.4g}"),
    "gamma": Column("gamma", "{:.4g}"),
    "terms": Column("terms", "{:d}"),
    "integrity": Column("whole", "{:.0%}"),
    "loss": Column("loss", "{:.5f}"),
    "objective": Column("objective", "{:.5f}"),
    "gap": Column("gap", "{:.1e}"),
    "cv_accuracy": Column("held out", "{:.1%}"),
    "cv_auc": Column("AUC", "{:.3f}"),
    "seconds": Column("seconds", "{:.3f}"),
}
_BEST = 10


def path_table(frame: DataFrame, title: str | None = None) -> Table:
    """One line a model; whole models are green."""
    columns = {name: column for name, column in _PATH.items() if name in frame}
    rows = frame.to_dict("records")
    return table(rows, columns, title=title, green=lambda row: bool(row["integral"]))


def grid_table(frame: DataFrame) -> Table:
    """The best models of a grid with whole coefficients only; of all where no model is whole.

    Best held out where there was a cross-validation, else of least loss.
    """
    whole = frame[frame["integral"]]
    chosen = whole if len(whole) else frame[~frame["null"]]
    held_out = "cv_accuracy" in frame
    by = ["cv_accuracy", "terms"] if held_out else ["loss", "terms"]
    best = chosen.sort_values(by, ascending=[not held_out, True], kind="stable").head(_BEST)
    title = f"The best {len(best)} of them" if len(whole) else f"The best {len(best)} models"
    return path_table(best, title)
