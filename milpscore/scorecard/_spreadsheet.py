"""A workbook of one sheet that adds up: a line per row of the card, and a cell per value."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milpscore.core.card import RELATIVE_ROUNDING
from milpscore.core.errors import optional, require_ending
from milpscore.core.writing import printable, replacing
from milpscore.scorecard._calculator import Decisions, Field, card_fields, options
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import (
    Row,
    answers,
    least_positive,
)

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

HEAD = ("Variable", "Value", "Points", "Your value", "What to enter", "Counts", "Check")
"""Headings of the columns A to G; the choices stand from column I on."""

RESULTS = {"total": 3, "risk": 4, "decision": 5}
"""Rows of the results, in column D; risks at stated times take those from "risk" on."""

_FIRST, _CHOICES = 8, 9  # the first row of the lines, the first column of the choices
_NEEDED = "needed"
_PERCENT = f'[<{POLICY.certain}]"< 0.1%";[>={1 - POLICY.certain}]"> 99.9%";0.0%'


def write_spreadsheet(card: Scorecard, decisions: Decisions, path: str | Path) -> Path:
    """Write the workbook described at :meth:`milpscore.Scorecard.spreadsheet`."""
    path = Path(path)
    require_ending(path.name, (".xlsx",))
    need = "a spreadsheet is written by openpyxl: pip install 'milpscore[excel]'"
    book = optional("openpyxl", need).Workbook()
    sheet = book.active
    sheet.title = "Card"
    book.calculation.fullCalcOnLoad = True
    _Sheet(card, decisions, sheet).fill()
    with replacing(path) as part:
        book.save(part)
    return path


@dataclass
class _Sheet:
    """Fills a sheet from the top; ``row`` is the next one of the lines, ``column`` of choices."""

    card: Scorecard
    decisions: Decisions
    sheet: Any
    column: int = _CHOICES

    def __post_init__(self) -> None:
        stated = self.decisions.stated
        # a heading, and a line apart from the results
        self.first = _FIRST if stated is None else RESULTS["risk"] + len(stated.names) + 2
        self.row = self.first

    def fill(self) -> None:
        """Write title, results, lines, what the formulas read, and the card's sentences."""
        from openpyxl.worksheet.properties import PageSetupProperties

        self.text("A1", printable(self.card.title), bold=True)
        for letter, name in zip("ABCDEFG", HEAD, strict=True):
            self.text(f"{letter}{self.first - 1}", name, bold=True)
        for field in card_fields(self.card):
            self.field(field)
        self.results(self.row - 1)
        self.row += 1
        for sentence in self.decisions.notes:
            self.text(f"A{self.row}", sentence)
            self.row += 1
        for letter, width in zip("ABCDEFG", (28, 28, 9, 18, 34, 9, 9), strict=True):
            self.sheet.column_dimensions[letter].width = width
        self.sheet.freeze_panes = f"A{self.first}"
        self.sheet.print_area = f"A1:H{self.row}"
        self.sheet.page_setup.orientation = "landscape"
        self.sheet.page_setup.fitToHeight = 0
        self.sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)

    def text(self, cell: str, text: str, bold: bool = False) -> None:
        """Write text as text, also where it begins as a formula does."""
        own = self.sheet[cell]
        own.value = text
        own.data_type = "s"
        if bold:
            font = copy(own.font)
            font.bold = True
            own.font = font

    def field(self, field: Field) -> None:
        """Write the lines of a value, the cell for it and the check of it."""
        given, first = f"$D${self.row}", self.row
        known = f"ISNUMBER({given})"
        tests = [[self.numeric(row, given) for row in rows] for rows in field.groups]
        if field.chosen:
            known, tests = self.choices(field, given)
        lines = [
            each
            for rows, own, full in zip(field.groups, tests, field.in_full, strict=True)
            for each in zip(rows, own, strict=True)
            if full or each[0].points
        ]
        if field.base and not field.chosen and not _covers(field.groups[0]):
            other = Row(field.label, "interval", field.base, text="any other value")
            lines.append((other, f"AND({known},NOT(OR({','.join(tests[0])})))"))
        if field.missing is not None:
            lines.append((field.missing, f"ISBLANK({given})"))
            known = f"OR({known},ISBLANK({given}))"
        for row, test in lines:
            self.text(f"A{self.row}", field.label if self.row == first else "")
            self.text(f"B{self.row}", row.condition)
            self.sheet[f"C{self.row}"] = row.points
            worth = f"C{self.row}*{given}" if row.kind == "numeric" else f"C{self.row}"
            self.sheet[f"F{self.row}"] = f"=IF({test},{worth},0)"
            self.row += 1
        self.input(field, first)
        self.sheet[f"G{first}"] = f'=IF({known},"","{_NEEDED}")'

    def input(self, field: Field, line: int) -> None:
        """Mark the cell for a value, and say what to enter."""
        from openpyxl.styles import Border, PatternFill, Side

        cell, edge = self.sheet[f"D{line}"], Side(style="thin")
        cell.fill = PatternFill("solid", fgColor="FFF8DC")
        cell.border = Border(left=edge, right=edge, top=edge, bottom=edge)
        flags = {row.kind for rows in field.groups for row in rows} == {"flag"}
        wanted = ("1 or 0" if flags else "one of the list") if field.chosen else "a number"
        unit = f" ({field.unit})" if field.unit else ""
        empty = ", empty if missing" if field.missing is not None else ""
        self.text(f"E{line}", f"{wanted}{unit}{empty}")

    def numeric(self, row: Row, given: str) -> str:
        """Return the test of a line for a number; an empty cell would be 0."""
        tests = [f"ISNUMBER({given})"]
        if row.kind == "flag":
            tests.append(f"{given}={row.lower:g}")
        elif row.kind == "interval":
            tests += [f"{given}>={_literal(row.lower)}"] if math.isfinite(row.lower) else []
            tests += [f"{given}<{_literal(row.upper)}"] if math.isfinite(row.upper) else []
        return f"AND({','.join(tests)})"

    def choices(self, field: Field, given: str) -> tuple[str, list[list[str]]]:
        """List what can be chosen; return the test of any of it, and of each line."""
        from openpyxl.utils import get_column_letter
        from openpyxl.worksheet.datavalidation import DataValidation

        letter, row = get_column_letter(self.column), self.first
        tests: list[str] = []
        self.text(f"{letter}{self.first - 1}", f"Choices: {field.label}", bold=True)
        (lines,) = field.groups

        def among(first: int, last: int) -> str:
            # EXACT sets upper and lower case apart, and reads a number as its text
            return f"SUMPRODUCT(--EXACT({given},${letter}${first}:${letter}${last}))>0"

        for line in lines:
            start = row
            for text, _ in options(line):
                self.text(f"{letter}{row}", text)
                row += 1
            tests.append(among(start, row - 1))
        self.column += 1
        self.sheet[given.replace("$", "")].number_format = "@"  # what is typed stays as it is
        listed = DataValidation("list", f"=${letter}${self.first}:${letter}${row - 1}")
        listed.add(given.replace("$", ""))
        self.sheet.add_data_validation(listed)
        return among(self.first, row - 1), [tests]

    def results(self, last: int) -> None:
        """Write total, risk and decision, and beside them the figures they are made of."""
        card, sheet = self.card, self.sheet
        total, risk, decision = (f"D{row}" for row in RESULTS.values())
        lines = last >= self.first
        summed = f"SUM(F{self.first}:F{last})" if lines else "0"
        short = f'COUNTIF(G{self.first}:G{last},"{_NEEDED}")' if lines else "0"
        self.text("A3", "Total", bold=True)
        sheet[total] = f'=IF({short}=0,{summed},"")'
        sheet["E3"] = f'=IF({short}=0,"","values are needed below")'
        if self.decisions.stated is not None:
            self.risks_at_times(total)
            return
        if card.risk is not None:
            self.text("A4", f"Risk of {answers(card)[1]}", bold=True)
            self.figure(4, 5, "Risk of 1/2 at a total of", float(card.fitted_rule.threshold))
            self.figure(4, 7, "scale", card.risk.scale)
            sheet[risk] = f'=IF({total}="","",{_LINKS[card.risk.link](f"({total}-F4)/H4")})'
            sheet[risk].number_format = _PERCENT
        self.text("A5", "Decision", bold=True)
        sheet[decision] = f'=IF({total}="","",{self.decided(total)})'

    def risks_at_times(self, total: str) -> None:
        """Write the risk at each stated time, and its hazards beside the choices."""
        from openpyxl.utils import get_column_letter

        stated = self.decisions.stated
        assert stated is not None
        self.figure(RESULTS["total"], 7, "scale", stated.scale)
        grown = f"EXP(MIN(700,{total}/$H${RESULTS['total']}))"
        for k, (name, steps) in enumerate(zip(stated.names, stated.steps, strict=True)):
            letter, row = get_column_letter(self.column + k), RESULTS["risk"] + k
            self.text(f"{letter}{self.first - 1}", f"{name}: {'odds' if stated.odds else 'hazard'}",
                      bold=True)  # fmt: skip
            for i, step in enumerate(steps):
                self.number(f"{letter}{self.first + i}", step)
            cells = f"${letter}${self.first}:${letter}${self.first + max(len(steps), 1) - 1}"
            power = f"LN(1+{cells}*{grown})" if stated.odds else f"{cells}*{grown}"
            self.text(f"A{row}", name, bold=True)
            cell = self.sheet[f"D{row}"]
            cell.value = f'=IF({total}="","",1-EXP(-SUMPRODUCT({power})))'
            cell.number_format = _PERCENT

    def decided(self, total: str) -> str:
        """Write each decision with its least total beside the choices; return their formula."""
        from openpyxl.utils import get_column_letter

        name, least = map(get_column_letter, (self.column, self.column + 1))
        self.text(f"{name}{self.first - 1}", "Decision", bold=True)
        self.text(f"{least}{self.first - 1}", "From a total of", bold=True)
        self.text(f"{name}{self.first}", self.decisions.names[0])
        formula = f"${name}${self.first}"
        for row, said in enumerate(self.decisions.names[1:], self.first + 1):
            cut = self.decisions.cuts[row - self.first - 1]
            self.text(f"{name}{row}", said)
            self.number(f"{least}{row}", float(least_positive(cut)))
            slack = 0.0 if cut.counts_whole else _slack(cut)
            below = f"{-slack:+}".upper() if slack else ""
            formula = f"IF({total}>=${least}${row}{below},${name}${row},{formula})"
        return formula

    def figure(self, row: int, column: int, name: str, value: float) -> None:
        """Write a figure that formulas read, and its name before it."""
        cell = self.sheet.cell(row, column)
        self.text(cell.coordinate, name)
        self.number(self.sheet.cell(row, column + 1).coordinate, value)

    def number(self, cell: str, value: float) -> None:
        """Write a number, a whole one as such."""
        self.sheet[cell].value = int(value) if float(value).is_integer() else value


_LINKS: dict[str, Callable[[str], str]] = {
    # EXP must not overflow
    "logistic": lambda score: f"1/(1+EXP(MIN(700,-{score})))",
    "probit": lambda score: f"NORMSDIST({score})",
}


def _literal(value: float) -> str:
    """Return a number as formulas have it."""
    return repr(float(value)).removesuffix(".0").upper()


def _slack(card: Scorecard) -> float:
    """Return what rounding may take from a total without losing a tie."""
    rule = card.rule
    if rule.step is None:
        return RELATIVE_ROUNDING * max(1.0, abs(float(rule.threshold)))
    return float(rule.threshold - rule.cut)


def _covers(rows: tuple[Row, ...]) -> bool:
    """Return whether every number has its line: intervals without a gap, or a number by unit."""
    if rows[0].kind != "interval":
        return True
    ends = sorted((row.lower, row.upper) for row in rows)
    inner = all(a[1] == b[0] for a, b in pairwise(ends))
    return inner and math.isinf(ends[0][0]) and math.isinf(ends[-1][1])
