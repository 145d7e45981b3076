"""A card as plain text for a terminal."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from milpscore.scorecard._rows import printable
from milpscore.scorecard._sentences import decision_sentence, notes

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

_HEADER = ("Variable", "Thresholds", "Points")


def card_text(card: Scorecard) -> str:
    """Title, table, decision rule and certificate as lines of text without a final line break."""
    lines = [printable(card.title), "", *_table(card), "", decision_sentence(card), *notes(card)]
    return "\n".join(lines)


def _table(card: Scorecard) -> list[str]:
    """The table; a rule stands between two features."""
    groups = [
        [("" if k else row.feature, row.condition(), row.points_text) for k, row in enumerate(rows)]
        for rows in card.rows
    ]
    cells = [_HEADER, *(cell for group in groups for cell in group)]
    widths = [max(_width(line[k]) for line in cells) for k in range(3)]
    rule = "-+-".join("-" * width for width in widths)
    lines = [_line(_HEADER, widths)]
    for group in groups:
        lines += [rule, *(_line(cell, widths) for cell in group)]
    return lines if groups else [*lines, rule]


def _line(cells: tuple[str, str, str], widths: list[int]) -> str:
    """One line of the table, points flush right."""
    gaps = [" " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)]
    return f"{cells[0]}{gaps[0]} | {cells[1]}{gaps[1]} | {gaps[2]}{cells[2]}"


def _width(text: str) -> int:
    """Columns the text takes in a terminal: wide signs take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(mark) else 1 + (unicodedata.east_asian_width(mark) in "WF")
        for mark in text
    )
