"""A card as an HTML table for notebooks and reports."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from milpscore.scorecard._rows import Row, Style, printable
from milpscore.scorecard._sentences import decision_sentence, notes

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

HTML = Style(escape=escape, less="&lt;", at_least="≥")

_LEFT = ' style="text-align: left"'
_RIGHT = ' style="text-align: right"'


def card_html(card: Scorecard) -> str:
    """One ``div`` with the table, the decision rule and the certificate; everything is escaped."""
    head = f"<tr><th{_LEFT}>Variable</th><th{_LEFT}>Thresholds</th><th{_RIGHT}>Points</th></tr>"
    body = "\n".join(line for rows in card.rows for line in _feature_lines(rows))
    foot = "<br>\n".join(escape(note) for note in notes(card))
    return (
        '<div class="milpscore-card">\n<table>\n'
        f'<caption style="text-align: left">{escape(printable(card.title))}</caption>\n'
        f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        f"<p><strong>{decision_sentence(card, HTML)}</strong></p>\n"
        f"<p>{foot}</p>\n</div>"
    )


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
