"""A card as a Markdown table (CommonMark with the pipe-table extension)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from milpscore.scorecard._risk import risk_lines
from milpscore.scorecard._rows import Style, printable
from milpscore.scorecard._sentences import decision_sentence, notes

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#$~&])")


def escape_markdown(text: str) -> str:
    """The text with every sign that Markdown could read as markup behind a backslash."""
    return _SPECIAL.sub(r"\\\1", text)


MARKDOWN = Style(escape=escape_markdown, less="\\<", more="\\>", at_most="≤", at_least="≥")


def card_markdown(card: Scorecard) -> str:
    """Bold title, pipe tables, decision rule and certificate as Markdown text."""
    table = ["| Variable | Thresholds | Points |", "|:---|:---|---:|"]
    for rows in card.rows:
        for k, row in enumerate(rows):
            name = "" if k else escape_markdown(row.feature)
            table.append(f"| {name} | {row.condition(MARKDOWN)} | {row.points_text} |")
    said = "\n".join(f"- {escape_markdown(note)}" for note in notes(card))
    title = escape_markdown(printable(card.title))
    lines = "\n".join([*table, *_risk_table(risk_lines(card, MARKDOWN))])
    return f"**{title}**\n\n{lines}\n\n**{decision_sentence(card, MARKDOWN)}**\n\n{said}\n"


def _risk_table(lines: Sequence[Sequence[str]]) -> list[str]:
    """The risks of the totals as a second pipe table, after an empty line; empty without risks."""
    if not lines:
        return []
    head, *rest = (f"| {' | '.join(line)} |" for line in lines)
    return ["", head, f"|:---|{'---:|' * (len(lines[0]) - 1)}", *rest]
