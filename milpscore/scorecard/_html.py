"""A card as an HTML table for notebooks and reports."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from milpscore.scorecard._risk import risk_lines
from milpscore.scorecard._rows import Row, Style, printable
from milpscore.scorecard._sentences import decision_sentence, notes

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

HTML = Style(escape=escape, less="&lt;", more="&gt;", at_most="≤", at_least="≥")

_LEFT = ' style="text-align: left"'
_RIGHT = ' style="text-align: right"'
_CELL = ' style="text-align: right; white-space: nowrap; padding-left: 0.8em"'


def card_html(card: Scorecard) -> str:
    """One ``div`` with the tables, the decision rule and the certificate; everything is escaped."""
    head = f"<tr><th{_LEFT}>Variable</th><th{_LEFT}>Thresholds</th><th{_RIGHT}>Points</th></tr>"
    body = "\n".join(line for rows in card.rows for line in _feature_lines(rows))
    foot = "<br>\n".join(escape(note) for note in notes(card))
    return (
        '<div class="milpscore-card">\n<table>\n'
        f'<caption style="text-align: left">{escape(printable(card.title))}</caption>\n'
        f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n{_risk_table(card)}"
        f"<p><strong>{decision_sentence(card, HTML)}</strong></p>\n"
        f"<p>{foot}</p>\n</div>"
    )


def _risk_table(card: Scorecard) -> str:
    """The risks of the totals as a table of their own; empty without risks."""
    lines = risk_lines(card, HTML)
    if not lines:
        return ""
    head, *rest = (_risk_line(line, "td" if k else "th") for k, line in enumerate(lines))
    body = "\n".join(rest)
    return (
        f'<table style="margin-top: 1em">\n<thead>{head}</thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n"
    )


def _risk_line(line: tuple[str, ...], kind: str) -> str:
    """A label and cells of one kind as a row."""
    cells = "".join(f"<{kind}{_CELL}>{cell}</{kind}>" for cell in line[1:])
    return f'<tr><th scope="row"{_LEFT}>{line[0]}</th>{cells}</tr>'


def _feature_lines(rows: tuple[Row, ...]) -> list[str]:
    """The rows of one feature under a name that spans them."""
    span = f' rowspan="{len(rows)}"' if len(rows) > 1 else ""
    name = (
        f'<th scope="rowgroup"{span} style="text-align: left; vertical-align: top">'
        f"{escape(rows[0].feature)}</th>"
    )
    return [
        f"<tr>{'' if k else name}<td{_LEFT}>{row.condition(HTML)}</td>"
        f"<td{_RIGHT}>{row.points_text}</td></tr>"
        for k, row in enumerate(rows)
    ]
