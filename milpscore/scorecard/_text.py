"""A card as plain text for a terminal."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from milpscore.scorecard._risk import risk_lines
from milpscore.scorecard._rows import printable
from milpscore.scorecard._sentences import decision_sentence, notes

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

_HEADER = ("Variable", "Thresholds", "Points")
_WIDTH = 79


def card_text(card: Scorecard) -> str:
    """Title, tables, decision rule and certificate as lines of text without a final line break."""
    lines = [printable(card.title), "", *_table(card), "", *_risk_table(card)]
    return "\n".join([*lines, decision_sentence(card), *notes(card)])


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


def _risk_table(card: Scorecard) -> list[str]:
    """The risks of the totals, in bands no wider than a terminal; empty without risks."""
    found = risk_lines(card)
    if not found:
        return []
    labels, columns = (
        [line[0] for line in found],
        list(zip(*(line[1:] for line in found), strict=True)),
    )
    head = max(map(len, labels))
    lines: list[str] = []
    while columns:
        widths = [max(map(_width, column)) for column in columns]
        taken = head + np.cumsum([width + 3 for width in widths])
        fits = max(int((taken <= _WIDTH).sum()), 1)
        for k, label in enumerate(labels):
            cells = [
                " " * (width - _width(column[k])) + column[k]
                for column, width in zip(columns[:fits], widths, strict=False)
            ]
            lines.append(" | ".join([f"{label:{head}}", *cells]))
            if not k:
                lines.append("-+-".join("-" * width for width in (head, *widths[:fits])))
        lines.append("")
        columns = columns[fits:]
    return lines


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
