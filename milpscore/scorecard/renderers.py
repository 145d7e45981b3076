"""A card as text for a terminal, Markdown, LaTeX and HTML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from milpscore.scorecard.risks import risk_lines
from milpscore.scorecard.rows import Row, Style, decision_sentence, exact_number, notes, printable

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard


_HEADER = ("Variable", "Thresholds", "Points")
_WIDTH = 79


def card_text(card: Scorecard) -> str:
    """Title, tables, decision rule and certificate as lines of text without a final line break."""
    lines = [printable(card.title), "", *_text_table(card), "", *_text_risk_table(card)]
    return "\n".join([*lines, decision_sentence(card), *notes(card)])


def _text_table(card: Scorecard) -> list[str]:
    """The table; a rule stands between two features."""
    groups = [
        [("" if k else row.feature, row.condition(), row.points_text) for k, row in enumerate(rows)]
        for rows in card.rows
    ]
    columns = zip(_HEADER, *(cells for group in groups for cells in group), strict=True)
    widths = [max(map(_text_width, column)) for column in columns]
    rule = "-+-".join("-" * width for width in widths)
    lines = [_text_line(_HEADER, widths, left=2)]
    for group in groups:
        lines += [rule, *(_text_line(cells, widths, left=2) for cells in group)]
    return lines if groups else [*lines, rule]


def _text_risk_table(card: Scorecard) -> list[str]:
    """The risks of the totals, in bands no wider than a terminal; empty without risks."""
    labels, *columns = zip(*risk_lines(card), strict=True) if card.risk else ((),)
    lines: list[str] = []
    while columns:
        widths = [max(map(_text_width, column)) for column in (labels, *columns)]
        fits = max(int((np.cumsum(np.add(widths, 3)) - 3 <= _WIDTH).sum()), 2)
        band = [labels, *columns[: fits - 1]]
        head, *rest = (_text_line(cells, widths, left=1) for cells in zip(*band, strict=True))
        lines += [head, "-+-".join("-" * width for width in widths[:fits]), *rest, ""]
        columns = columns[fits - 1 :]
    return lines


def _text_line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    """One line of a table, all but the first ``left`` cells flush right."""
    gaps = [" " * (width - _text_width(cell)) for cell, width in zip(cells, widths, strict=False)]
    padded = [f"{cell}{gap}" for cell, gap in zip(cells[:left], gaps, strict=False)]
    padded += [f"{gap}{cell}" for cell, gap in zip(cells[left:], gaps[left:], strict=True)]
    return " | ".join(padded)


def _text_width(text: str) -> int:
    """Columns the text takes in a terminal: wide signs take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(mark) else 1 + (unicodedata.east_asian_width(mark) in "WF")
        for mark in text
    )


_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#$~&])")


def escape_markdown(text: str) -> str:
    """The text with every sign that Markdown could read as markup behind a backslash."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", text)


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
    if risks := risk_lines(card, MARKDOWN):
        head, *rest = (f"| {' | '.join(line)} |" for line in risks)
        table += ["", head, f"|:---|{'---:|' * (len(risks[0]) - 1)}", *rest]
    lines = "\n".join(table)
    return f"**{title}**\n\n{lines}\n\n**{decision_sentence(card, MARKDOWN)}**\n\n{said}\n"


_LATEX_SPECIAL = str.maketrans(
    {sign: f"\\{sign}" for sign in "{}$&#%_"}
    # a bracket after a line break would be read as its optional argument
    | {sign: f"{{{sign}}}" for sign in "[]*"}
    | {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        '"': r"\textquotedblright{}",
    }
)


_BAND = 7
"""Columns of totals side by side on a page."""

# LaTeX joins two hyphens, quotes or commas into one sign.
_JOINED = re.compile(r"([-',])(?=\1)")


def escape_latex(text: str) -> str:
    """The text with every special character of LaTeX written as the character itself."""
    return _JOINED.sub(r"\1{}", text.translate(_LATEX_SPECIAL))


LATEX = Style(escape=escape_latex, less="$<$", more="$>$", at_most=r"$\leq$", at_least=r"$\geq$")


def card_latex(card: Scorecard) -> str:
    """A ``table`` environment with plain horizontal rules; booktabs is not needed.

    Letters beyond ASCII are kept, as LaTeX reads UTF-8; scripts beyond the document's font need
    XeLaTeX or LuaLaTeX.
    """
    body = "\n\\hline\n".join(_latex_feature_lines(rows) for rows in card.rows)
    said = "\\\\\n".join(escape_latex(note) for note in notes(card))
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            r"\centering",
            rf"\caption{{{escape_latex(printable(card.title))}}}",
            r"\begin{tabular}{llr}",
            r"\hline",
            r"Variable & Thresholds & Points \\",
            r"\hline",
            *([body, r"\hline"] if body else []),
            rf"\multicolumn{{3}}{{l}}{{{decision_sentence(card, LATEX)}}} \\",
            r"\hline",
            r"\end{tabular}",
            "",
            *_latex_risk_table(risk_lines(card, LATEX)),
            r"\medskip",
            r"\begin{minipage}{0.9\linewidth}\footnotesize\raggedright",
            said,
            r"\end{minipage}",
            r"\end{table}",
            "",
        ]
    )


def _latex_risk_table(lines: Sequence[Sequence[str]]) -> list[str]:
    """The risks of the totals as a second tabular, in bands that fit a page; empty without them."""
    columns = np.arange(1, len(lines[0])) if lines else np.arange(0)
    parts: list[str] = []
    for band in np.array_split(columns, -(-len(columns) // _BAND) or 1) if lines else ():
        # the leading hyphen of a number prints as a minus sign
        head, *rest = (
            " & ".join([line[0], *(re.sub(r"-(?=\d)", "$-$", line[k]) for k in band)]) + r" \\"
            for line in lines
        )
        parts += [
            r"\medskip",
            rf"\begin{{tabular}}{{l{'r' * len(band)}}}",
            *(r"\hline", head, r"\hline", *rest, r"\hline"),
            r"\end{tabular}",
            "",
        ]
    return parts


def _latex_feature_lines(rows: tuple[Row, ...]) -> str:
    """The lines of one feature, its name in the first; in $ a hyphen prints as a minus sign."""
    names = [escape_latex(rows[0].feature), *[""] * (len(rows) - 1)]
    return "\n".join(
        f"{name} & {row.condition(LATEX)} & ${row.points_text}$ \\\\"
        for name, row in zip(names, rows, strict=True)
    )


HTML = Style(escape=escape, less="&lt;", more="&gt;", at_most="≤", at_least="≥")

_LEFT = ' style="text-align: left"'
_RIGHT = ' style="text-align: right"'
_CELL = ' style="text-align: right; white-space: nowrap; padding-left: 0.8em"'


def card_html(card: Scorecard) -> str:
    """One ``div`` with the tables, the decision rule and the certificate; everything is escaped."""
    head = f"<tr><th{_LEFT}>Variable</th><th{_LEFT}>Thresholds</th><th{_RIGHT}>Points</th></tr>"
    body = "\n".join(line for rows in card.rows for line in _html_feature_lines(rows))
    foot = "<br>\n".join(escape(note) for note in notes(card))
    return (
        '<div class="milpscore-card">\n<table>\n'
        f'<caption style="text-align: left">{escape(printable(card.title))}</caption>\n'
        f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n{_html_risk_table(card)}"
        f"<p><strong>{decision_sentence(card, HTML)}</strong></p>\n"
        f"<p>{foot}</p>\n</div>"
    )


def card_sheet(card: Scorecard, foot: Sequence[str] = ()) -> str:
    """The card as a form: a box beside every line for the points that apply, and one for the total.

    It carries classes instead of styles: ``card-lines``, ``card-total``, ``card-rule``,
    ``card-risks`` and ``card-foot``; tables stand in boxes of the class ``scroll``.
    """
    lines = "\n".join(
        f'<tbody class="feature">\n{chr(10).join(_html_feature_lines(rows, form=True))}\n</tbody>'
        for rows in card.rows
    )
    if not lines:
        lines = '<tbody><tr><td colspan="4">No variable has points.</td></tr></tbody>'
    negative, positive = (escape(printable(str(label))) for label in card.classes)
    threshold = exact_number(card.threshold)
    said = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in foot)
    numeric = any(row.kind == "numeric" for rows in card.rows for row in rows)
    hint = "; “per unit” means points times the value" if numeric else ""
    return (
        '<div class="scroll card-lines" role="region" tabindex="0" aria-label="Points"><table>\n'
        f"<caption>Add up the points of every line that applies{hint}.</caption>\n"
        '<thead><tr><th scope="col">Variable</th><th scope="col">Applies if</th>'
        '<th scope="col" class="figure">Points</th><th scope="col" class="box">Yours</th></tr>'
        f"</thead>\n{lines}\n</table></div>\n"
        '<p class="card-total">Total <span class="box" aria-hidden="true"></span></p>\n'
        f'<p class="card-rule"><strong>{positive}</strong> if the total is {threshold} or more, '
        f"otherwise <strong>{negative}</strong>.</p>\n"
        f'{_sheet_risks(card)}<div class="card-foot">\n{said}</div>\n'
    )


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


def _html_risk_table(card: Scorecard) -> str:
    """The risks of the totals as a table of their own; empty without risks."""
    if not (lines := risk_lines(card, HTML)):
        return ""
    head, *rest = (
        f'<tr><th scope="row"{_LEFT}>{label}</th>'
        + "".join(f"<{kind}{_CELL}>{cell}</{kind}>" for cell in cells)
        + "</tr>"
        for kind, (label, *cells) in zip(["th", *["td"] * len(lines)], lines, strict=False)
    )
    body = "\n".join(rest)
    return (
        f'<table style="margin-top: 1em">\n<thead>{head}</thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n"
    )


def _html_feature_lines(rows: tuple[Row, ...], form: bool = False) -> list[str]:
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
