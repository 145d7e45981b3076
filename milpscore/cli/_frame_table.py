"""A small table of numbers and names, as wide as a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.table import Table


_SPREAD = "_stdev"
_SENTENCE = 40


def frame_table(frame: DataFrame) -> Table:
    """All rows of a table, numbers to four digits; a column and its stdev stand as one."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    names = [name for name in frame.columns if not name.endswith(_SPREAD)]
    cells = {name: _cells(frame, name) for name in names}
    for name in names:
        number = frame[name].dtype.kind in "fiu"
        head = name.replace("_", " ")
        longest = max((len(cell) for cell in cells[name]), default=0)
        # heads may fold, and sentences; names and numbers below them may not
        table.add_column(
            head,
            justify="right" if number else "left",
            min_width=longest if number else min(longest, _SENTENCE),
            overflow="fold",
        )
    for row in zip(*(cells[name] for name in names), strict=True):
        table.add_row(*row)
    return table


def _cells(frame: DataFrame, name: str) -> list[str]:
    """A column as texts."""
    spread = frame.get(name + _SPREAD)
    spreads = [None] * len(frame) if spread is None else spread.tolist()
    return [_cell(*pair) for pair in zip(frame[name].tolist(), spreads, strict=True)]


def _cell(value: Any, spread: float | None) -> str:
    """A number as short as it may be, with its standard deviation; a dash where there is none."""
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "-"
    if spread is None or math.isnan(spread):
        return f"{value:.4g}"
    return f"{value:.3f}±{spread:.3f}"
