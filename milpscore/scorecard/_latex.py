"""A card as a LaTeX table that needs no package."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from milpscore.scorecard._risk import risk_lines
from milpscore.scorecard._rows import Row, Style, printable
from milpscore.scorecard._sentences import decision_sentence, notes

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        '"': r"\textquotedblright{}",
        # A bracket after a line break would be read as its optional argument.
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
    }
)


_BAND = 7
"""Columns of totals side by side on a page."""

# LaTeX joins two hyphens, quotes or commas into one sign.
_JOINED = re.compile(r"([-',])(?=\1)")


def escape_latex(text: str) -> str:
    """The text with every special character of LaTeX written as the character itself."""
    return _JOINED.sub(r"\1{}", text.translate(_SPECIAL))


LATEX = Style(escape=escape_latex, less="$<$", more="$>$", at_most=r"$\leq$", at_least=r"$\geq$")


def card_latex(card: Scorecard) -> str:
    """A ``table`` environment with plain horizontal rules; booktabs is not needed.

    Letters beyond ASCII are kept, as LaTeX reads UTF-8; scripts beyond the document's font need
    XeLaTeX or LuaLaTeX.
    """
    body = "\n\\hline\n".join(_feature_lines(rows) for rows in card.rows)
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
            *_risk_table(risk_lines(card, LATEX)),
            r"\medskip",
            r"\begin{minipage}{0.9\linewidth}\footnotesize\raggedright",
            said,
            r"\end{minipage}",
            r"\end{table}",
            "",
        ]
    )


def _risk_table(lines: Sequence[Sequence[str]]) -> list[str]:
    """The risks of the totals as a second tabular, in bands that fit a page; empty without them."""
    parts: list[str] = []
    columns = len(lines[0]) - 1 if lines else 0
    bands = -(-columns // _BAND)
    for band in np.array_split(np.arange(1, columns + 1), bands) if bands else ():
        body = [" & ".join([line[0], *(_signed(line[k]) for k in band)]) + r" \\" for line in lines]
        parts += [
            r"\medskip",
            rf"\begin{{tabular}}{{l{'r' * len(band)}}}",
            r"\hline",
            "\n\\hline\n".join([body[0], "\n".join(body[1:])]),
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    return parts


def _signed(cell: str) -> str:
    """A cell whose leading hyphens print as minus signs."""
    return re.sub(r"-(?=\d)", "$-$", cell)


def _feature_lines(rows: tuple[Row, ...]) -> str:
    """The lines of one feature; its name stands in the first."""
    return "\n".join(
        f"{'' if k else escape_latex(row.feature)} & {row.condition(LATEX)} & {_points(row)} \\\\"
        for k, row in enumerate(rows)
    )


def _points(row: Row) -> str:
    """Points in mathematics mode, where a hyphen prints as a minus sign."""
    return f"${row.points_text}$"
