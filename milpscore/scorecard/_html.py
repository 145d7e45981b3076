"""A card as HTML: a table for notebooks and reports, and a sheet to print and fill in."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from milpscore.scorecard._risk import risk_lines
from milpscore.scorecard._rows import Row, Style, printable
from milpscore.scorecard._sentences import decision_sentence, exact_number, notes

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


def card_sheet(card: Scorecard, foot: Sequence[str] = ()) -> str:
    """The card as a form: a box beside every line for the points that apply, and one for the total.

    It carries classes instead of styles: ``card-lines``, ``card-total``, ``card-rule``,
    ``card-risks`` and ``card-foot``; tables stand in boxes of the class ``scroll``.

    Parameters
    ----------
    card : Scorecard
    foot : sequence of str
        Plain sentences below it.

    Returns
    -------
    str
        A fragment in which everything is escaped.
    """
    lines = "\n".join(
        f'<tbody class="feature">\n{chr(10).join(_feature_lines(rows, form=True))}\n</tbody>'
        for rows in card.rows
    )
    if not lines:
        lines = '<tbody><tr><td colspan="4">No variable has points.</td></tr></tbody>'
    negative, positive = (escape(printable(str(label))) for label in card.classes)
    threshold = exact_number(card.threshold)
    said = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in foot)
    return (
        '<div class="scroll card-lines" role="region" tabindex="0" aria-label="Points"><table>\n'
        "<caption>Add up the points of every line that applies"
        f"{_per_unit_hint(card)}.</caption>\n"
        '<thead><tr><th scope="col">Variable</th><th scope="col">Applies if</th>'
        '<th scope="col" class="figure">Points</th><th scope="col" class="box">Yours</th></tr>'
        f"</thead>\n{lines}\n</table></div>\n"
        '<p class="card-total">Total <span class="box" aria-hidden="true"></span></p>\n'
        f'<p class="card-rule"><strong>{positive}</strong> if the total is {threshold} or more, '
        f"otherwise <strong>{negative}</strong>.</p>\n"
        f'{_sheet_risks(card)}<div class="card-foot">\n{said}</div>\n'
    )


def _per_unit_hint(card: Scorecard) -> str:
    """What "per unit" means, where it stands on the card."""
    numeric = any(row.kind == "numeric" for rows in card.rows for row in rows)
    return "; “per unit” means points times the value" if numeric else ""


def _sheet_risks(card: Scorecard) -> str:
    """The risks of the totals, a line each, for the sheet; empty without risks."""
    lines = risk_lines(card, HTML)
    if not lines:
        return ""
    label, *cells = lines[0]
    head = "".join(f'<th scope="col" class="figure">{name}</th>' for name, *_ in lines[1:])
    body = "\n".join(
        f'<tr><th scope="row">{cell}</th>'
        + "".join(f'<td class="figure">{line[k]}</td>' for line in lines[1:])
        + "</tr>"
        for k, cell in enumerate(cells, start=1)
    )
    positive = escape(printable(str(card.classes[1])))
    return (
        '<div class="scroll card-risks" role="region" tabindex="0" aria-label="Risks"><table>\n'
        f"<caption>Risk: the probability of {positive} at each total</caption>\n"
        f'<thead><tr><th scope="col">{label}</th>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>\n"
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


def _feature_lines(rows: tuple[Row, ...], form: bool = False) -> list[str]:
    """The rows of one feature under a name that spans them; a form's have a box to fill in."""
    span = f' rowspan="{len(rows)}"' if len(rows) > 1 else ""
    style = "" if form else ' style="text-align: left; vertical-align: top"'
    name = f'<th scope="rowgroup"{span}{style}>{escape(rows[0].feature)}</th>'
    left, right = ("", ' class="figure"') if form else (_LEFT, _RIGHT)
    box = '<td class="box"></td>' if form else ""
    return [
        f"<tr>{'' if k else name}<td{left}>{row.condition(HTML)}</td>"
        f"<td{right}>{row.points_text}</td>{box}</tr>"
        for k, row in enumerate(rows)
    ]
